#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Small faults in the flush engine; the tests must find every one.

Usage:   mutants.py [--only NAME] OUT ENGINE CC-COMMAND [PROF-CC-COMMAND]
           OUT      build/tests/flush, with mutant and mutant-prof built
           ENGINE   generated engine source (OUT/gen/flush-group.c)
           CC-COMMAND, PROF-CC-COMMAND   how those two compile a source
Writes:  OUT/mutants/NAME/: the source, the programs, log
Exit:    0 every mutant was killed; 1 one survived, or its text is not in the
         engine any more (ERROR: mend this list), or one does not compile

A mutant replaces text in the engine at build time. The text has to be there
exactly once, so that the list cannot rot silently. A test kills a mutant by
failing, by a signal, or by its time limit.
"""

import argparse
import concurrent.futures
import os
import shlex
import subprocess
import sys
import time

TESTS = ('handler', 'protocol', 'semantics', 'lifecycle', 'sched')
PROF_TESTS = ('protocol',)
LIMIT_S = 60
DROP = ''

OWN_BIT = ('    if ( unlikely(!g) || '
           '!test_bit(smp_processor_id(), g->pending) )\n')
ACK = '    clear_bit(smp_processor_id(), g->pending);\n'

# name, [(text, replacement), ...]
MUTANTS = (
    # -- filling a round
    ('message-after-bits', [
        ('    fill_message(peer->group, va, flags);\n', DROP),
        ('    return beyond != 0;\n',
         '    fill_message(peer->group, va, flags);\n'
         '    return beyond != 0;\n')]),
    ('message-after-bits-multi', [
        ('    fill_message(g, va, flags);\n\n    for ( i = 0; i < MASK_WORDS;'
         ' i++ )\n        fill_word(g, i, cpumask_bits(todo)[i] & '
         'cpumask_bits(g->members)[i]);\n',
         '    for ( i = 0; i < MASK_WORDS; i++ )\n        fill_word(g, i, '
         'cpumask_bits(todo)[i] & cpumask_bits(g->members)[i]);\n'
         '    fill_message(g, va, flags);\n')]),
    ('no-barrier-before-ipi', [
        ('    smp_mb();\n    send_IPI_mask(', '    send_IPI_mask(')]),
    ('no-barrier-before-look', [
        ('    /* Pairs as said above. */\n    smp_mb();\n', DROP)]),
    ('va-forgotten', [('    g->va = va;\n', DROP)]),
    ('flags-forgotten', [('    g->flags = flags;\n', DROP)]),
    ('fill-first-word-only', [
        ('    if ( word )\n        write_atomic(',
         '    if ( word && !i )\n        write_atomic(')]),
    ('members-ignored', [
        ('word & read_atomic(&members[i]);', 'word;')]),
    ('members-ignored-multi', [
        ('cpumask_bits(todo)[i] & cpumask_bits(g->members)[i]);\n',
         'cpumask_bits(todo)[i]);\n')]),
    # -- looking at the mask
    ('offline-not-skipped', [
        ('    return word & read_atomic(&cpumask_bits(&cpu_online_map)[i]) &\n'
         '           ', '    return word &\n           ')]),
    ('self-not-skipped', [
        ('(&cpumask_bits(&cpu_online_map)[i]) &\n'
         '           ~cpumask_bits(cpumask_of(cpu))[i];',
         '(&cpumask_bits(&cpu_online_map)[i]);')]),
    ('send-to-callers-mask', [
        ('        send_group(g);\n        finish_round(g);',
         '        send_round(mask);\n        finish_round(g);')]),
    ('late-comers-elsewhere-ignored', [
        ('    return beyond != 0;\n', '    return false;\n')]),
    ('guess-always-own', [
        ('    if ( likely(!beyond) )\n', '    if ( true )\n')]),
    ('guess-never', [('    peer = guess_group(fc, mask, cpu);\n',
                      '    peer = NULL;\n')]),
    # -- sending
    ('shorthand-lost', [('    send_held(held, todo, all);\n',
                         '    send_held(held, todo, false);\n')]),
    ('send-to-unfilled', [('    if ( all )\n        send_round(todo);\n',
                           '    send_round(todo);\n    all = true;\n')]),
    ('second-pass-sends-nothing', [
        ('        hold_round(held, g);\n        send_group(g);\n',
         '        hold_round(held, g);\n')]),
    # -- waiting, locks
    ('poll-first-word-only', [
        ('    for ( i = 0; i < MASK_WORDS; i++ )\n        if ( read_atomic('
         '&g->pending[i]) )',
         '    for ( i = 0; i < 1; i++ )\n        if ( read_atomic('
         '&g->pending[i]) )')]),
    ('no-wait', [('    while ( !round_acked(g) )\n        cpu_relax();\n',
                  DROP)]),
    ('release-before-acks', [('        if ( round_acked(g) )\n',
                              '        if ( true )\n')]),
    ('wait-for-one-only', [
        ('    for ( end_acked_rounds(&held); held; end_acked_rounds(&held) )\n',
         '    while ( held && (end_acked_rounds(&held), held) && '
         'held->next_held )\n')]),
    ('lock-not-released', [('    smp_rmb();\n    spin_unlock(&g->flush_lock);',
                            '    smp_rmb();')]),
    ('wait-without-callback', [
        ('spin_lock_cb(&g->flush_lock, end_acked_rounds, held);',
         'spin_lock(&g->flush_lock);')]),
    ('trylock-loop', [
        ('        spin_lock_cb(&g->flush_lock, end_acked_rounds, held);\n',
         '        while ( !spin_trylock(&g->flush_lock) )\n        {\n'
         '            end_acked_rounds(held);\n            cpu_relax();\n'
         '        }\n')]),
    ('first-pass-waits', [
        ('        if ( !spin_trylock(&g->flush_lock) )\n        {\n'
         '            all = false;\n            continue;\n        }\n',
         '        spin_lock(&g->flush_lock);\n')]),
    ('callback-ends-first-only', [
        ('        else\n            link = &g->next_held;\n',
         '        else\n            break;\n')]),
    ('round-not-held', [
        ('        fill_round(g, todo, va, flags);\n        hold_round(held, g)'
         ';\n        send_group(g);\n',
         '        fill_round(g, todo, va, flags);\n        send_group(g);\n')]),
    ('sent-round-not-held', [
        ('    if ( sent )\n        hold_round(&held, sent);\n', DROP)]),
    ('lock-without-target', [
        ('        if ( !has_targets(g, todo) )\n            continue;\n\n'
         '        if ( !spin_trylock', '        if ( !spin_trylock')]),
    ('queue-without-target', [
        ('        if ( !has_targets(g, todo) )\n            continue;\n\n'
         '        spin_lock_cb', '        spin_lock_cb')]),
    ('forget-own-group', [
        ('        if ( !has_targets(g, todo) )\n            continue;\n\n'
         '        spin_lock_cb',
         '        if ( !has_targets(g, todo) || g == start )\n'
         '            continue;\n\n        spin_lock_cb')]),
    ('forget-last-group', [
        ('    return next != start ? next : NULL;',
         '    return next != start && read_atomic(&next->next) != start ? '
         'next : NULL;')]),
    ('todo-not-reduced', [
        ('        send_group(g);\n        cpumask_andnot(todo, todo, '
         'g->members);\n', '        send_group(g);\n')]),
    ('no-rotation', [
        ('flush_groups(fc->group, fc->todo, va, flags, NULL);',
         'flush_groups(boot_group, fc->todo, va, flags, NULL);')]),
    # -- entry
    ('self-alone-not-told-apart', [
        ('!cpumask_subset(mask, cpumask_of(cpu)) && fc->group', 'fc->group')]),
    ('assist-never', [('    return cpu_has_hypervisor &&\n',
                       '    return false && cpu_has_hypervisor &&\n')]),
    ('assist-failure-ignored', [
        ('           !hypervisor_flush_tlb(mask, va, flags);',
         '           (hypervisor_flush_tlb(mask, va, flags), true);')]),
    ('assist-for-any-flags', [
        ('           !(flags & ~(FLUSH_TLB | FLUSH_TLB_GLOBAL | '
         'FLUSH_VA_VALID |\n                       FLUSH_ORDER_MASK)) &&\n',
         DROP)]),
    ('assist-without-hypervisor', [('    return cpu_has_hypervisor &&\n',
                                    '    return\n')]),
    ('local-result-ignored', [
        ('        flags = flush_area_local(va, flags);',
         '        flush_area_local(va, flags);')]),
    ('order-alone-is-work', [('    if ( !(flags & ~FLUSH_ORDER_MASK) )\n',
                              '    if ( !flags )\n')]),
    # -- handler
    ('ack-before-flush', [
        ('    flags = g->flags;\n\n    if',
         '    flags = g->flags;\n' + ACK + '\n    if')]),
    ('no-ack', [('     */\n' + ACK + '}', '     */\n}')]),
    ('ack-not-atomic', [
        ('     */\n' + ACK + '}',
         '     */\n' + ACK.replace('clear_bit', '__clear_bit') + '}')]),
    ('own-bit-not-tested', [(OWN_BIT, '    if ( !g )\n')]),
    ('no-group-not-tested', [
        (OWN_BIT, OWN_BIT.replace('unlikely(!g) || ', ''))]),
    ('message-before-own-bit', [
        (OWN_BIT, '    if ( !g )\n        return;\n    flags = g->flags;\n' +
         OWN_BIT),
        ('    smp_rmb();\n\n    flags = g->flags;\n', '    smp_rmb();\n')]),
    ('no-eoi', [('    ack_APIC_irq();\n', DROP)]),
    ('sync-result-ignored', [
        ('        if ( switched )\n', '        if ( false && switched )\n')]),
    ('sync-always', [
        ('    if ( flags & FLUSH_VCPU_STATE )\n', '    if ( true )\n')]),
    ('flush-for-state-alone', [
        ('    if ( flags & ~(FLUSH_ORDER_MASK | FLUSH_VCPU_STATE) )\n'
         '        flush_area_local(g->va',
         '    if ( flags )\n        flush_area_local(g->va')]),
    # -- groups, options, hot plug
    ('option-default-kept', [
        ('    grouping = GROUPING_DEFAULT;\n    bad_grouping_given = true;\n',
         '    bad_grouping_given = true;\n')]),
    ('option-warning-kept', [
        ('    bad_grouping_given = false;\n\n', '\n')]),
    ('option-warning-lost', [('    bad_grouping_given = true;\n', DROP)]),
    ('option-error-code', [
        ('    strlcpy(bad_grouping, s, sizeof(bad_grouping));\n\n'
         '    return 0;',
         '    strlcpy(bad_grouping, s, sizeof(bad_grouping));\n\n'
         '    return -EINVAL;')]),
    ('unknown-node-is-own', [
        ('    return node != NUMA_NO_NODE ? node : 0;',
         '    return node != NUMA_NO_NODE ? node : cpu % MAX_NUMNODES;')]),
    ('memory-on-any-node', [('alloc_xenheap_pages(0, MEMF_node(node))',
                             'alloc_xenheap_pages(0, 0)')]),
    ('group-not-cleared', [('    clear_page(g);\n', DROP)]),
    ('profile-type', [
        ('lock_profile_register_struct(LOCKPROF_TYPE_PERNODE, g, node);',
         'lock_profile_register_struct(LOCKPROF_TYPE_GLOBAL, g, 0);')]),
    ('profile-lock', [('    spin_lock_init_prof(g, flush_lock);\n',
                       '    spin_lock_init(&g->flush_lock);\n')]),
    ('group-not-published', [('    publish_group(g);\n\n', DROP)]),
    ('published-before-linked', [
        ('    g->next = boot_group->next;\n',
         '    struct flush_group *next = boot_group->next;\n'),
        ('    write_atomic(&boot_group->next, g);\n',
         '    write_atomic(&boot_group->next, g);\n    smp_mb();\n'
         '    g->next = next;\n')]),
    ('no-memory-is-fatal', [
        ('               node, cpu, boot_group->node);\n'
         '        return boot_group;',
         '               node, cpu, boot_group->node);\n'
         '        return NULL;')]),
    ('old-membership-kept', [
        ('            cpumask_clear_cpu(cpu, g->members);\n',
         '            ;\n')]),
    ('old-group-kept', [
        ('    fc->group = group;\n',
         '    if ( !fc->group )\n        fc->group = group;\n')]),
    ('online-map-for-all', [
        ('single_group ? &cpu_online_map : group->members',
         '&cpu_online_map')]),
    ('chain-cut', [('    return !rc ? NOTIFY_DONE : notifier_from_errno(rc);',
                    '    return notifier_from_errno(rc);')]),
    ('not-left-when-dead', [
        ('    case CPU_UP_CANCELED:\n    case CPU_DEAD:\n',
         '    case CPU_UP_CANCELED:\n')]),
    ('not-left-when-canceled', [
        ('    case CPU_UP_CANCELED:\n    case CPU_DEAD:\n',
         '    case CPU_DEAD:\n')]),
    ('parking-ignored', [
        ('        if ( !park_offline_cpus )\n            leave_group(cpu);',
         '        if ( park_offline_cpus )\n            leave_group(cpu);')]),
    ('one-node-not-seen', [
        ('        if ( apic_node(cpu) != apic_node(0) )\n'
         '            return false;\n\n    return true;',
         '        if ( apic_node(cpu) != apic_node(0) )\n'
         '            return true;\n\n    return false;')]),
)


class Broken(Exception):
    """The list and the engine do not fit."""


def mutate(source, edits):
    for old, new in edits:
        count = source.count(old)
        if count != 1:
            raise Broken(f'its text occurs {count} times, not once: '
                         f'{old.strip().splitlines()[0]!r}')
        source = source.replace(old, new)
    return source


def build(out, folder, command, variant, tests):
    """Compile the mutant in place of the engine; {test: program}."""
    theirs = os.path.join(out, variant)
    mine = os.path.join(folder, f'{variant}.o')
    programs = {}
    # Mutants may leave something unused; that is not what is tested.
    run([*command, '-Wno-error', '-c', '-o', mine,
         os.path.join(folder, 'flush-group.c')])
    rest = [os.path.join(theirs, name) for name in sorted(os.listdir(theirs))
            if name.endswith('.o') and name != 'flush-group.o'
            and not name.startswith('test-')]
    for test in tests:
        program = os.path.join(folder, f'{variant}-test-{test}')
        run([*command, '-no-pie', '-pthread', '-o', program, mine,
             os.path.join(theirs, f'test-{test}.o'), *rest])
        programs[f'test-{test}{variant[6:]}'] = program
    return programs


def run(command):
    done = subprocess.run(command, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise Broken(f'does not build: {done.stderr[-600:]}')


def kills(program, log):
    """Did the test fail? And the first thing it complained about."""
    with open(log, 'wb') as file:
        try:
            status = subprocess.run([program], stdout=file, stderr=file,
                                    timeout=LIMIT_S, check=False).returncode
        except subprocess.TimeoutExpired:
            return True, f'no end in {LIMIT_S} s'
    if not status:
        return False, ''
    with open(log, encoding='utf-8', errors='replace') as file:
        for line in file:
            if line.startswith('not ok'):
                return True, line.split(' - ', 1)[-1].strip()
    return True, f'exit status {status}'


def judge(mutant, options):
    """(name, verdict, text, seconds)"""
    name, edits = mutant
    start = time.monotonic()
    folder = os.path.join(options.out, 'mutants', name)
    os.makedirs(folder, exist_ok=True)
    try:
        with open(options.engine, encoding='utf-8') as file:
            source = mutate(file.read(), edits)
        with open(os.path.join(folder, 'flush-group.c'), 'w',
                  encoding='utf-8') as file:
            file.write(source)
        for command, variant, tests in (
                (options.cc, 'mutant', TESTS),
                (options.prof_cc, 'mutant-prof', PROF_TESTS)):
            for test in tests:
                (title, program), = build(options.out, folder,
                                          shlex.split(command), variant,
                                          (test,)).items()
                killed, why = kills(program, os.path.join(folder, 'log'))
                os.unlink(program)
                if killed:
                    return (name, 'killed', f'{title}: {why}',
                            time.monotonic() - start)
    except Broken as broken:
        return name, 'ERROR', str(broken), time.monotonic() - start
    return name, 'SURVIVED', '', time.monotonic() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--only', default='')
    parser.add_argument('out')
    parser.add_argument('engine')
    parser.add_argument('cc')
    parser.add_argument('prof_cc')
    options = parser.parse_args()
    bad = 0
    chosen = [mutant for mutant in MUTANTS if options.only in mutant[0]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, verdict, text, seconds in pool.map(
                lambda mutant: judge(mutant, options), chosen):
            print(f'{verdict:8s} {name} ({seconds:.0f} s) {text}', flush=True)
            bad += verdict != 'killed'
    print(f'{len(chosen) - bad} of {len(chosen)} mutants killed')
    return 1 if bad or not chosen else 0


if __name__ == '__main__':
    sys.exit(main())
