# SPDX-License-Identifier: GPL-2.0-only
"""The mutants: small faults in the flush engine that tests must find.

This is the one list of record.  tools/tests/flush/mutants.py judges by the
unit tests, tools/flushsim/explore/explore-mutants by every interleaving of
small cases, tests/boot/boot-mutants by booting, and docs/mutants.md is made
from it.  A mutant exists only while it is being tested: its text is replaced
in a copy of xen/arch/x86/flush-group.c.  The text has to be there exactly
once, so that the list cannot rot silently.

Numbers are never used again.  Instruments, by words:

  host[:TEST]   the unit tests must kill it; TEST is likely to, so it is run
                first (mutants.py)
  boot[:KIND]   Xen's self test must kill it in QEMU; KIND is a machine and
                options, see MACHINES in tests/boot/boot-mutants
  must:WAY      ... and in this way: lost, stray, stale, disorder, unfair
  explore       the exploration of interleavings must find it.  With `host`
                for a barrier that x86 or an emulator of it does not need, the
                unit test counts barriers: it tells that one is missing, and
                not what breaks
  equivalent    no fault after all; `why` has the reason
"""

import collections
import json

Mutant = collections.namedtuple(
    'Mutant', 'number name fault instruments edits why', defaults=('',))
M = Mutant
DROP = ''
NOT_KILLED = ('', 'SURVIVED', 'ERROR')      # in results

OWN_BIT = ('    if ( unlikely(!g) || '
           '!test_bit(smp_processor_id(), g->pending) )\n')
ACK = '    clear_bit(smp_processor_id(), g->pending);\n'

MUTANTS = (
    # -- filling a round
    M(1, 'message-after-bits',
      'message stored after the bits, one group', 'host:sched explore', [
        ('    fill_message(peer->group, va, flags);\n', DROP),
        ('    return beyond != 0;\n',
         '    fill_message(peer->group, va, flags);\n'
         '    return beyond != 0;\n')]),
    M(2, 'message-after-bits-multi',
      'message stored after the bits, more groups', 'host:sched explore', [
        ('    fill_message(g, va, flags);\n\n    for ( i = 0; i < MASK_WORDS;'
         ' i++ )\n        fill_word(g, i, cpumask_bits(todo)[i] & '
         'cpumask_bits(g->members)[i]);\n',
         '    for ( i = 0; i < MASK_WORDS; i++ )\n        fill_word(g, i, '
         'cpumask_bits(todo)[i] & cpumask_bits(g->members)[i]);\n'
         '    fill_message(g, va, flags);\n')]),
    M(3, 'no-barrier-before-ipi',
      'barrier before the IPI dropped', 'host:semantics explore', [
        ('    smp_mb();\n    send_IPI_mask(', '    send_IPI_mask(')]),
    M(4, 'no-barrier-before-look',
      'barrier before the look at the mask dropped',
      'host:semantics explore', [
        ('    /* Pairs as said above. */\n    smp_mb();\n', DROP)]),
    M(5, 'va-forgotten',
      'address not stored', 'host:semantics boot', [
        ('    g->va = va;\n', DROP)]),
    M(6, 'flags-forgotten',
      'flags not stored', 'host boot', [
        ('    g->flags = flags;\n', DROP)]),
    M(7, 'fill-first-word-only',
      'bits of the first mask word only', 'host:protocol boot:2x33', [
        ('    if ( word )\n        write_atomic(',
         '    if ( word && !i )\n        write_atomic(')]),
    M(8, 'members-ignored',
      'bits of CPUs of other groups, one group', 'host:semantics', [
        ('word & read_atomic(&members[i]);', 'word;')]),
    M(9, 'members-ignored-multi',
      'bits of CPUs of other groups, more groups', 'host boot', [
        ('cpumask_bits(todo)[i] & cpumask_bits(g->members)[i]);\n',
         'cpumask_bits(todo)[i]);\n')]),
    # -- looking at the mask
    M(10, 'offline-not-skipped',
      'offline CPUs waited for', 'host:semantics boot:smt-off', [
        ('    return word & read_atomic(&cpumask_bits(&cpu_online_map)[i]) &\n'
         '           ', '    return word &\n           ')]),
    M(11, 'self-not-skipped',
      'own CPU included', 'host boot', [
        ('(&cpumask_bits(&cpu_online_map)[i]) &\n'
         '           ~cpumask_bits(cpumask_of(cpu))[i];',
         '(&cpumask_bits(&cpu_online_map)[i]);')]),
    M(12, 'send-to-callers-mask',
      "IPI to the caller's mask, not to pending", 'host:semantics', [
        ('        send_group(g);\n        finish_round(g);',
         '        send_round(mask);\n        finish_round(g);')]),
    M(13, 'late-comers-elsewhere-ignored',
      'targets that come later elsewhere are lost', 'host:semantics explore', [
        ('    return beyond != 0;\n', '    return false;\n')]),
    M(14, 'guess-always-own',
      'guess is always the own group', 'host', [
        ('    if ( likely(!beyond) )\n', '    if ( true )\n')]),
    M(15, 'guess-never',
      'one group never guessed', 'host:protocol', [
        ('    peer = guess_group(fc, mask, cpu);\n',
                      '    peer = NULL;\n')]),
    # -- sending
    M(16, 'shorthand-lost',
      'one IPI per group even if all are free', 'host:protocol', [
        ('    send_held(held, todo, all);\n',
                         '    send_held(held, todo, false);\n')]),
    M(17, 'send-to-unfilled',
      'IPI also to groups that were busy', 'host:protocol boot', [
        ('    if ( all )\n        send_round(todo);\n',
                           '    send_round(todo);\n    all = true;\n')]),
    M(18, 'second-pass-sends-nothing',
      'no IPI to groups that were busy', 'host:protocol boot explore', [
        ('        hold_round(held, g);\n        send_group(g);\n',
         '        hold_round(held, g);\n')]),
    # -- waiting, locks
    M(19, 'poll-first-word-only',
      'acks of the first mask word only', 'host:protocol boot:2x33', [
        ('    for ( i = 0; i < MASK_WORDS; i++ )\n        if ( read_atomic('
         '&g->pending[i]) )',
         '    for ( i = 0; i < 1; i++ )\n        if ( read_atomic('
         '&g->pending[i]) )')]),
    M(20, 'no-wait',
      'acks not waited for, one group', 'host boot explore', [
        ('    while ( !round_acked(g) )\n        cpu_relax();\n',
                  DROP)]),
    M(21, 'release-before-acks',
      'round ended before it is acked', 'host boot explore', [
        ('        if ( round_acked(g) )\n',
                              '        if ( true )\n')]),
    M(22, 'wait-for-one-only',
      'last round of several not waited for', 'host boot explore', [
        ('    for ( end_acked_rounds(&held); held; end_acked_rounds(&held) )\n',
         '    while ( held && (end_acked_rounds(&held), held) && '
         'held->next_held )\n')]),
    M(23, 'lock-not-released',
      'lock never released', 'host boot explore', [
        ('    smp_rmb();\n    spin_unlock(&g->flush_lock);',
                            '    smp_rmb();')]),
    M(24, 'wait-without-callback',
      'rounds in flight kept while waiting in line',
      'host:protocol boot explore', [
        ('spin_lock_cb(&g->flush_lock, end_acked_rounds, held);',
         'spin_lock(&g->flush_lock);')]),
    M(25, 'trylock-loop',
      'try-locks, not a place in line, second pass',
      'host:protocol boot must:unfair', [
        ('        spin_lock_cb(&g->flush_lock, end_acked_rounds, held);\n',
         '        while ( !spin_trylock(&g->flush_lock) )\n        {\n'
         '            end_acked_rounds(held);\n            cpu_relax();\n'
         '        }\n')]),
    M(26, 'first-pass-waits',
      'first pass waits for locks, holding others', 'host:protocol boot', [
        ('        if ( !spin_trylock(&g->flush_lock) )\n        {\n'
         '            all = false;\n            continue;\n        }\n',
         '        spin_lock(&g->flush_lock);\n')]),
    M(27, 'callback-ends-first-only',
      'callback stops at the first round not acked', 'host:protocol', [
        ('        else\n            link = &g->next_held;\n',
         '        else\n            break;\n')]),
    M(28, 'round-not-held',
      'round of the second pass never ended', 'host:protocol boot explore', [
        ('        fill_round(g, todo, va, flags);\n        hold_round(held, g)'
         ';\n        send_group(g);\n',
         '        fill_round(g, todo, va, flags);\n        send_group(g);\n')]),
    M(29, 'sent-round-not-held',
      'round on its way already never ended', 'host:semantics explore', [
        ('    if ( sent )\n        hold_round(&held, sent);\n', DROP)]),
    M(30, 'lock-without-target',
      'groups without a target locked, first pass', 'host:protocol', [
        ('        if ( !has_targets(g, todo) )\n            continue;\n\n'
         '        if ( !spin_trylock', '        if ( !spin_trylock')]),
    M(31, 'queue-without-target',
      'groups without a target locked, second pass', 'host:protocol', [
        ('        if ( !has_targets(g, todo) )\n            continue;\n\n'
         '        spin_lock_cb', '        spin_lock_cb')]),
    M(32, 'forget-own-group',
      'own group skipped by the second pass', 'host:protocol boot', [
        ('        if ( !has_targets(g, todo) )\n            continue;\n\n'
         '        spin_lock_cb',
         '        if ( !has_targets(g, todo) || g == start )\n'
         '            continue;\n\n        spin_lock_cb')]),
    M(33, 'forget-last-group',
      'last group of the ring skipped', 'host boot explore', [
        ('    return next != start ? next : NULL;',
         '    return next != start && read_atomic(&next->next) != start ? '
         'next : NULL;')]),
    M(34, 'todo-not-reduced',
      'targets of the second pass stay to be done', 'host:protocol boot', [
        ('        send_group(g);\n        cpumask_andnot(todo, todo, '
         'g->members);\n', '        send_group(g);\n')]),
    M(35, 'no-rotation',
      'all start at the same group', 'host:protocol', [
        ('flush_groups(fc->group, fc->todo, va, flags, NULL);',
         'flush_groups(boot_group, fc->todo, va, flags, NULL);')]),
    # -- entry
    M(36, 'self-alone-not-told-apart',
      'the local CPU alone takes the long way', 'host:semantics', [
        ('!cpumask_subset(mask, cpumask_of(cpu)) && fc->group', 'fc->group')]),
    M(37, 'assist-never',
      'hypervisor never asked', 'host:semantics', [
        ('    return cpu_has_hypervisor &&\n',
                       '    return false && cpu_has_hypervisor &&\n')]),
    M(38, 'assist-failure-ignored',
      "hypervisor's failure ignored", 'host:semantics', [
        ('           !hypervisor_flush_tlb(mask, va, flags);',
         '           (hypervisor_flush_tlb(mask, va, flags), true);')]),
    M(39, 'assist-for-any-flags',
      'hypervisor asked for any flags', 'host:semantics', [
        ('           !(flags & ~(FLUSH_TLB | FLUSH_TLB_GLOBAL | '
         'FLUSH_VA_VALID |\n                       FLUSH_ORDER_MASK)) &&\n',
         DROP)]),
    M(40, 'assist-without-hypervisor',
      'hypervisor asked where there is none', 'host:semantics', [
        ('    return cpu_has_hypervisor &&\n',
                                    '    return\n')]),
    M(41, 'local-result-ignored',
      'flags done by the local flush sent as well', 'host:semantics', [
        ('        flags = flush_area_local(va, flags);',
         '        flush_area_local(va, flags);')]),
    M(42, 'order-alone-is-work',
      'an order with no flags counts as work', 'host:semantics', [
        ('    if ( !(flags & ~FLUSH_ORDER_MASK) )\n',
                              '    if ( !flags )\n')]),
    # -- handler
    M(43, 'ack-before-flush',
      'ack before the flush', 'host boot explore', [
        ('    flags = g->flags;\n\n    if',
         '    flags = g->flags;\n' + ACK + '\n    if')]),
    M(44, 'no-ack',
      'no ack', 'host boot explore', [
        ('     */\n' + ACK + '}', '     */\n}')]),
    M(45, 'ack-not-atomic',
      'ack not atomic', 'host:lifecycle explore', [
        ('     */\n' + ACK + '}',
         '     */\n' + ACK.replace('clear_bit', '__clear_bit') + '}')]),
    M(46, 'own-bit-not-tested',
      'handler does not test its bit', 'host boot explore', [
        (OWN_BIT, '    if ( !g )\n')]),
    M(47, 'no-group-not-tested',
      'handler does not test for its group', 'host', [
        (OWN_BIT, OWN_BIT.replace('unlikely(!g) || ', ''))]),
    M(48, 'message-before-own-bit',
      'handler reads the message before its bit', 'host:sched explore', [
        (OWN_BIT, '    if ( !g )\n        return;\n    flags = g->flags;\n' +
         OWN_BIT),
        ('    smp_rmb();\n\n    flags = g->flags;\n', '    smp_rmb();\n')]),
    M(49, 'no-eoi',
      'handler does not acknowledge the interrupt', 'host boot', [
        ('    ack_APIC_irq();\n', DROP)]),
    M(50, 'sync-result-ignored',
      'result of the sync of state ignored', 'host:semantics', [
        ('        if ( switched )\n', '        if ( false && switched )\n')]),
    M(51, 'sync-always',
      'state synced whatever the flags say', 'host:semantics', [
        ('    if ( flags & FLUSH_VCPU_STATE )\n', '    if ( true )\n')]),
    M(52, 'flush-for-state-alone',
      'flush for state alone', 'host:semantics', [
        ('    if ( flags & ~(FLUSH_ORDER_MASK | FLUSH_VCPU_STATE) )\n'
         '        flush_area_local(g->va',
         '    if ( flags )\n        flush_area_local(g->va')]),
    # -- groups, options, hot plug
    M(53, 'option-default-kept',
      'unknown option: earlier value kept', 'host:lifecycle', [
        ('    grouping = GROUPING_DEFAULT;\n    bad_grouping_given = true;\n',
         '    bad_grouping_given = true;\n')]),
    M(54, 'option-warning-kept',
      'good option: earlier warning kept', 'host:lifecycle', [
        ('    bad_grouping_given = false;\n\n', '\n')]),
    M(55, 'option-warning-lost',
      'unknown option: no warning', 'host:lifecycle', [
        ('    bad_grouping_given = true;\n', DROP)]),
    M(56, 'option-error-code',
      'unknown option: error code', 'host:lifecycle', [
        ('    strlcpy(bad_grouping, s, sizeof(bad_grouping));\n\n'
         '    return 0;',
         '    strlcpy(bad_grouping, s, sizeof(bad_grouping));\n\n'
         '    return -EINVAL;')]),
    M(57, 'unknown-node-is-own',
      'CPU of no node gets a node of its own', 'host:lifecycle', [
        ('    return node != NUMA_NO_NODE ? node : 0;',
         '    return node != NUMA_NO_NODE ? node : cpu % MAX_NUMNODES;')]),
    M(58, 'memory-on-any-node',
      'group allocated on any node', 'host:lifecycle', [
        ('alloc_xenheap_pages(0, MEMF_node(node))',
                             'alloc_xenheap_pages(0, 0)')]),
    M(59, 'group-not-cleared',
      'memory of a group not cleared', 'host', [
        ('    clear_page(g);\n', DROP)]),
    M(60, 'profile-type',
      'lock profile: wrong type of record', 'host:protocol-prof', [
        ('lock_profile_register_struct(LOCKPROF_TYPE_PERNODE, g, node);',
         'lock_profile_register_struct(LOCKPROF_TYPE_GLOBAL, g, 0);')]),
    M(61, 'profile-lock',
      'lock profile: lock not in it', 'host:protocol-prof', [
        ('    spin_lock_init_prof(g, flush_lock);\n',
                       '    spin_lock_init(&g->flush_lock);\n')]),
    M(62, 'group-not-published',
      'new group not in the ring', 'host boot explore', [
        ('    publish_group(g);\n\n', DROP)]),
    M(63, 'published-before-linked',
      'new group in the ring before its link is set',
      'host:lifecycle explore', [
        ('    g->next = boot_group->next;\n',
         '    struct flush_group *next = boot_group->next;\n'),
        ('    write_atomic(&boot_group->next, g);\n',
         '    write_atomic(&boot_group->next, g);\n    smp_mb();\n'
         '    g->next = next;\n')]),
    M(64, 'no-memory-is-fatal',
      'no memory for a group: no group at all', 'host:lifecycle', [
        ('               node, cpu, boot_group->node);\n'
         '        return boot_group;',
         '               node, cpu, boot_group->node);\n'
         '        return NULL;')]),
    M(65, 'old-membership-kept',
      'CPU that moved stays member of its old group', 'host:lifecycle', [
        ('            cpumask_clear_cpu(cpu, g->members);\n',
         '            ;\n')]),
    M(66, 'old-group-kept',
      'CPU that moved keeps its old group', 'host:lifecycle', [
        ('    fc->group = group;\n',
         '    if ( !fc->group )\n        fc->group = group;\n')]),
    M(67, 'online-map-for-all',
      'all online CPUs are members of each group', 'host boot', [
        ('single_group ? &cpu_online_map : group->members',
         '&cpu_online_map')]),
    M(68, 'chain-cut',
      'notifier chain cut', 'host:lifecycle', [
        ('    return !rc ? NOTIFY_DONE : notifier_from_errno(rc);',
                    '    return notifier_from_errno(rc);')]),
    M(69, 'not-left-when-dead',
      'memory of a dead CPU kept', 'host:lifecycle', [
        ('    case CPU_UP_CANCELED:\n    case CPU_DEAD:\n',
         '    case CPU_UP_CANCELED:\n')]),
    M(70, 'not-left-when-canceled',
      'memory of a CPU that did not start kept', 'host:lifecycle', [
        ('    case CPU_UP_CANCELED:\n    case CPU_DEAD:\n',
         '    case CPU_DEAD:\n')]),
    M(71, 'parking-ignored',
      'memory of a CPU freed if it is parked', 'host:lifecycle', [
        ('        if ( !park_offline_cpus )\n            leave_group(cpu);',
         '        if ( park_offline_cpus )\n            leave_group(cpu);')]),
    M(72, 'one-node-not-seen',
      'one group where there are several, and vice versa',
      'host:protocol boot', [
        ('             apic_cluster(cpu) != apic_cluster(0) )\n'
         '            return false;\n\n    return true;',
         '             apic_cluster(cpu) != apic_cluster(0) )\n'
         '            return true;\n\n    return false;')]),
    # -- rounds, and groups as a whole
    M(73, 'group-skipped',
      'groups that are busy skipped, but the own', 'host:protocol boot', [
        ('        spin_lock_cb(&g->flush_lock, end_acked_rounds, held);\n',
         '        if ( g != start )\n        {\n'
         '            cpumask_andnot(todo, todo, g->members);\n'
         '            continue;\n        }\n'
         '        spin_lock_cb(&g->flush_lock, end_acked_rounds, held);\n')]),
    M(74, 'ipi-before-publish',
      'IPI before the bits are stored, and a pause', 'host:protocol boot', [
        ('    if ( likely(!find_and_fill(peer, mask, cpu, va, flags)) )\n',
         '    send_IPI_mask(mask, INVALIDATE_TLB_VECTOR);\n'
         '    cpu_relax();\n'
         '    if ( likely(!find_and_fill(peer, mask, cpu, va, flags)) )\n')]),
    M(75, 'ipi-before-publish-multi',
      'the same, more groups', 'host:protocol boot', [
        ('    fill_message(g, va, flags);\n\n    for ( i = 0; i < MASK_WORDS;',
         '    send_IPI_mask(todo, INVALIDATE_TLB_VECTOR);\n'
         '    cpu_relax();\n    fill_message(g, va, flags);\n\n'
         '    for ( i = 0; i < MASK_WORDS;')]),
    M(76, 'lock-released-early',
      'lock released before the acks, one group', 'host boot', [
        ('        finish_round(g);\n    }\n',
         '        spin_unlock(&g->flush_lock);\n'
         '        while ( !round_acked(g) )\n            cpu_relax();\n'
         '    }\n')]),
    M(77, 'lock-released-early-multi',
      'the same, more groups', 'host boot', [
        ('        cpumask_andnot(todo, todo, held->members);\n',
         '        cpumask_andnot(todo, todo, held->members);\n'
         '        spin_unlock(&((struct flush_group *)held)->flush_lock);\n'),
        ('            *link = g->next_held;\n            end_round(g);\n',
         '            *link = g->next_held;\n'
         '            if ( spin_is_locked(&g->flush_lock) )\n'
         '                end_round(g);\n')]),
    M(78, 'flags-of-previous-round',
      'flags of the previous round', 'host boot', [
        ('    g->flags = flags;\n',
         '    static unsigned int previous;\n\n'
         '    g->flags = previous;\n    previous = flags;\n')]),
    M(79, 'va-of-previous-round',
      'address of the previous round', 'host:semantics boot', [
        ('    g->va = va;\n',
         '    static const void *previous;\n\n'
         '    g->va = previous;\n    previous = va;\n')]),
    M(80, 'second-ipi',
      'a second IPI, after a pause', 'host:protocol boot', [
        ('    send_IPI_mask(targets, INVALIDATE_TLB_VECTOR);\n',
         '    cpumask_t again = *targets;\n\n'
         '    send_IPI_mask(&again, INVALIDATE_TLB_VECTOR);\n'
         '    cpu_relax();\n'
         '    send_IPI_mask(&again, INVALIDATE_TLB_VECTOR);\n')]),
    M(81, 'ipi-to-all',
      'IPI to all CPUs', 'host:protocol boot', [
        ('    send_IPI_mask(targets, INVALIDATE_TLB_VECTOR);\n',
         '    send_IPI_mask(&cpu_online_map, INVALIDATE_TLB_VECTOR);\n')]),
    M(82, 'flush-skipped',
      'handler acks without a flush', 'host boot', [
        ('        flush_area_local(g->va, flags);\n\n    /*\n     * The ack:',
         '        ;\n\n    /*\n     * The ack:')]),
    M(83, 'acks-for-others',
      'ack for all CPUs of the mask word', 'host:protocol boot', [
        ('     */\n' + ACK + '}',
         '     */\n    g->pending[smp_processor_id() / BITS_PER_LONG] = 0;\n'
         '}')]),
    M(84, 'gives-up-waiting',
      'waits for acks for a moment only, one group', 'host boot', [
        ('    while ( !round_acked(g) )\n        cpu_relax();\n    end_round',
         '    unsigned int n = 0;\n\n'
         '    while ( !round_acked(g) && n++ < 2 )\n'
         '        cpu_relax();\n    end_round')]),
    M(85, 'poll-from-second-word',
      'acks of the first mask word not looked at', 'host boot', [
        ('    for ( i = 0; i < MASK_WORDS; i++ )\n        if ( read_atomic('
         '&g->pending[i]) )',
         '    for ( i = 1; i < MASK_WORDS; i++ )\n        if ( read_atomic('
         '&g->pending[i]) )')]),
    M(86, 'words-rounded-down',
      'last word of masks not counted', 'host:protocol boot:2x33', [
        ('#define MASK_WORDS BITS_TO_LONGS(nr_cpu_ids)\n',
         '#define MASK_WORDS (nr_cpu_ids / BITS_PER_LONG ?: 1)\n')]),
    M(87, 'held-list-cut',
      'rounds in flight but the latest forgotten', 'host boot', [
        ('    g->next_held = *held;\n', '    g->next_held = NULL;\n')]),
    M(88, 'todo-shared',
      'one todo mask for all CPUs', 'host:semantics boot', [
        ('        cpumask_bits(fc->todo)[i] = word;\n',
         '        cpumask_bits(per_cpu(flush_cpu, 0).todo)[i] = word;\n'),
        ('            flush_groups(fc->group, fc->todo, va, flags, NULL);\n',
         '            flush_groups(fc->group, per_cpu(flush_cpu, 0).todo, va,\n'
         '                         flags, NULL);\n')]),
    M(89, 'trylock-loop-one-group',
      'try-locks, not a place in line, one group',
      'host:protocol boot must:unfair', [
        ('    spin_lock(&g->flush_lock);\n',
         '    while ( !spin_trylock(&g->flush_lock) )\n'
         '        cpu_relax();\n')]),
    # -- which group
    M(90, 'handler-group-by-node',
      'handler takes the group of cpu_to_node()', 'host:semantics boot:host', [
        ('    struct flush_group *g = this_cpu(flush_cpu).group;\n'
         '    unsigned int flags;\n',
         '    struct flush_group *g = boot_group;\n'
         '    unsigned int flags;\n\n'
         '    while ( g && g->node != cpu_to_node(smp_processor_id()) )\n'
         '        g = next_group(g, boot_group);\n')]),
    M(91, 'members-by-node',
      'members of a group by node_to_cpumask()', 'host:lifecycle', [
        ('    return cpumask_intersects(todo, g->members);\n',
         '    return cpumask_intersects(todo, &node_to_cpumask(g->node));\n')]),
    M(92, 'join-by-node',
      'group of a new CPU by cpu_to_node()', 'host:protocol', [
        ('    nodeid_t node = apic_node(cpu);\n'
         '    unsigned int cluster = apic_cluster(cpu);\n'
         '    struct flush_group *g;\n',
         '    nodeid_t node = cpu_to_node(cpu);\n'
         '    unsigned int cluster = apic_cluster(cpu);\n'
         '    struct flush_group *g;\n')]),
    M(93, 'handler-in-boot-group',
      'handler and senders in different groups', 'host boot', [
        ('    fc->group = group;\n', '    fc->group = boot_group;\n')]),
    # -- groups by cluster
    M(94, 'cluster-too-large',
      'cluster of 32 APIC IDs', 'host:lifecycle', [
        ('    return grouping == GROUP_CLUSTER ? x86_cpu_to_apicid[cpu] >> 4 '
         ': 0;',
         '    return grouping == GROUP_CLUSTER ? x86_cpu_to_apicid[cpu] >> 5 '
         ': 0;')]),
    M(95, 'cluster-by-cpu-number',
      'cluster of the CPU number, not of the APIC ID', 'host:lifecycle', [
        ('    return grouping == GROUP_CLUSTER ? x86_cpu_to_apicid[cpu] >> 4 '
         ': 0;',
         '    return grouping == GROUP_CLUSTER ? cpu >> 4 : 0;')]),
    M(96, 'cluster-always',
      'split by cluster whatever the option says', 'host:protocol', [
        ('    return grouping == GROUP_CLUSTER ? x86_cpu_to_apicid[cpu] >> 4 '
         ': 0;',
         '    return x86_cpu_to_apicid[cpu] >> 4;')]),
    M(97, 'cluster-not-compared',
      'group of any cluster of the node', 'host:lifecycle', [
        ('        if ( g->node == node && g->cluster == cluster )\n',
         '        if ( g->node == node )\n')]),
    M(98, 'node-not-compared',
      'group of the cluster on any node', 'host:protocol', [
        ('        if ( g->node == node && g->cluster == cluster )\n',
         '        if ( g->cluster == cluster )\n')]),
    M(99, 'cluster-not-kept',
      'cluster of a group not stored', 'host:lifecycle', [
        ('    g->cluster = cluster;\n', DROP)]),
    M(100, 'boot-group-of-cluster-0',
      "CPU0's group made for cluster 0", 'host:lifecycle', [
        ('    boot_group = alloc_group(apic_node(0), apic_cluster(0));\n',
         '    boot_group = alloc_group(apic_node(0), 0);\n')]),
    M(101, 'boot-group-of-node-0',
      "CPU0's group made for node 0", 'host:lifecycle', [
        ('    boot_group = alloc_group(apic_node(0), apic_cluster(0));\n',
         '    boot_group = alloc_group(0, apic_cluster(0));\n')]),
    M(102, 'clusters-of-one-node',
      'one group for one node of several clusters', 'host:lifecycle', [
        ('        if ( apic_node(cpu) != apic_node(0) ||\n'
         '             apic_cluster(cpu) != apic_cluster(0) )\n',
         '        if ( apic_node(cpu) != apic_node(0) )\n')]),
    M(103, 'nodes-of-one-cluster',
      'one group for one cluster on several nodes', 'host:protocol', [
        ('        if ( apic_node(cpu) != apic_node(0) ||\n'
         '             apic_cluster(cpu) != apic_cluster(0) )\n',
         '        if ( apic_cluster(cpu) != apic_cluster(0) )\n')]),
    M(104, 'host-is-split',
      'flush-group=host is split like node', 'host:lifecycle boot:host', [
        ('    if ( grouping == GROUP_HOST || pv_shim )\n',
         '    if ( pv_shim )\n')]),
    M(105, 'shim-is-split',
      'PV shim is split', 'host:lifecycle', [
        ('    if ( grouping == GROUP_HOST || pv_shim )\n',
         '    if ( grouping == GROUP_HOST )\n')]),
    M(106, 'lock-name-kept',
      'locks of clusters have no names of their own', 'host:protocol-prof', [
        ('    g->flush_lock.profile->name = g->lock_name;\n', DROP)]),
    M(107, 'lock-name-always',
      "a node's lock is named like a cluster's", 'host:protocol-prof', [
        ('    if ( grouping != GROUP_CLUSTER || !g->flush_lock.profile )\n',
         '    if ( !g->flush_lock.profile )\n')]),
    M(108, 'lock-name-unprofiled',
      'a lock named that is not in the lock profile', 'host:lifecycle-prof', [
        ('    if ( grouping != GROUP_CLUSTER || !g->flush_lock.profile )\n',
         '    if ( grouping != GROUP_CLUSTER )\n')]),
    M(109, 'lock-name-of-node',
      'a lock named after its node', 'host:protocol-prof', [
        ('"flush_lock_cluster%u",\n             g->cluster);',
         '"flush_lock_cluster%u",\n             g->node);')]),
    M(110, 'ldr-not-checked',
      'LDR not compared with the cluster', 'host:lifecycle', [
        ('    case CPU_STARTING:\n        check_cluster();\n',
         '    case CPU_STARTING:\n')]),
    M(111, 'ldr-of-cpu0-not-checked',
      "CPU0's LDR not compared with the cluster", 'host:lifecycle', [
        ('    check_cluster();\n\n    register_cpu_notifier',
         '    register_cpu_notifier')]),
    M(112, 'ldr-told-again',
      'wrong LDR told again and again', 'host:lifecycle', [
        ('    warned = true;\n', DROP)]),
    M(113, 'ldr-in-physical-mode',
      'LDR looked at where there is none', 'host:lifecycle', [
        ('    if ( grouping != GROUP_CLUSTER || warned ||\n'
         '         genapic.init_apic_ldr == init_apic_ldr_phys )\n',
         '    if ( grouping != GROUP_CLUSTER || warned )\n')]),
    M(114, 'ldr-for-nodes',
      'LDR looked at though groups are nodes', 'host:lifecycle', [
        ('    if ( grouping != GROUP_CLUSTER || warned ||\n',
         '    if ( warned ||\n')]),
    M(115, 'ldr-bits-compared',
      'LDR compared with its 16 bits of the CPU', 'host:lifecycle', [
        ('    if ( ldr >> 16 == apic_cluster(cpu) )\n',
         '    if ( ldr == apic_cluster(cpu) )\n')]),
    M(116, 'cluster-without-x2apic',
      'split by cluster without x2APIC', 'host:lifecycle', [
        ('    if ( grouping == GROUP_CLUSTER && !x2apic_enabled )\n',
         '    if ( false )\n')]),
    M(117, 'cluster-refused',
      'never split by cluster', 'host:lifecycle', [
        ('    if ( grouping == GROUP_CLUSTER && !x2apic_enabled )\n',
         '    if ( grouping == GROUP_CLUSTER )\n')]),
    M(118, 'fallback-to-host',
      'without x2APIC one group, not one per node', 'host:lifecycle', [
        ('needs x2APIC, using node\\n");\n        grouping = GROUP_NODE;\n',
         'needs x2APIC, using node\\n");\n        grouping = GROUP_HOST;\n')]),
    M(119, 'auto-without-x2apic',
      'auto chooses clusters without x2APIC', 'host:lifecycle', [
        ('x2apic_enabled && clusters_split_nodes() ? GROUP_CLUSTER',
         'clusters_split_nodes() ? GROUP_CLUSTER')]),
    M(120, 'auto-always-cluster',
      'auto chooses clusters of whole nodes', 'host:lifecycle', [
        ('x2apic_enabled && clusters_split_nodes() ? GROUP_CLUSTER',
         'x2apic_enabled ? GROUP_CLUSTER')]),
    M(121, 'auto-never-cluster',
      'auto never chooses clusters', 'host:lifecycle', [
        ('x2apic_enabled && clusters_split_nodes() ? GROUP_CLUSTER',
         'false && clusters_split_nodes() ? GROUP_CLUSTER')]),
    M(122, 'auto-not-told',
      'the console does not tell that auto chose', 'host:lifecycle', [
        ('        chosen = true;\n', DROP)]),
    M(123, 'auto-looks-at-node-0',
      'auto looks at the first node only', 'host:lifecycle', [
        ('        if ( !node_test_and_set(node, seen) )\n'
         '            cluster[node] = x86_cpu_to_apicid[cpu] >> 4;\n',
         '        if ( !node_test_and_set(node, seen) )\n'
         '            cluster[node] = x86_cpu_to_apicid[cpu] >> 4;\n'
         '        else if ( node )\n            continue;\n')]),
    M(124, 'auto-compares-nodes',
      'auto takes different clusters of nodes for a split', 'host:lifecycle', [
        ('        if ( !node_test_and_set(node, seen) )\n',
         '        if ( !cpu )\n')]),
    # -- order and progress that take more than the other instruments
    M(125, 'no-barrier-after-message',
      'barrier between message and bits dropped', 'explore', [
        ('invalidate_interrupt().\n     */\n    smp_wmb();\n',
         'invalidate_interrupt().\n     */\n')]),
    M(126, 'no-barrier-after-own-bit',
      'barrier between own bit and message dropped', 'explore', [
        ('    /* Pairs with the smp_wmb() in fill_message(). */\n'
         '    smp_rmb();\n', DROP)]),
    M(127, 'no-barrier-after-acks',
      'barrier between the acks and what follows dropped', 'explore', [
        ('    smp_rmb();\n    spin_unlock(&g->flush_lock);',
         '    spin_unlock(&g->flush_lock);')]),
    M(128, 'no-barrier-before-new-group',
      'barrier before a new group gets visible dropped', 'explore', [
        ('next_group(). */\n    smp_wmb();\n', 'next_group(). */\n')]),
    M(129, 'ack-not-ordered',
      'ack is no full barrier', 'explore', [
        ('     */\n' + ACK + '}',
         '     */\n    __atomic_and_fetch('
         '&g->pending[smp_processor_id() / BITS_PER_LONG],\n'
         '        ~(1UL << (smp_processor_id() % BITS_PER_LONG)),\n'
         '        __ATOMIC_RELAXED);\n}')]),
    M(130, 'look-before-lock',
      'mask read before the lock is taken', 'explore', [
        ('    spin_lock(&g->flush_lock);\n\n'
         '    if ( likely(!find_and_fill(peer, mask, cpu, va, flags)) )\n',
         '    cpumask_t early;\n    cpumask_copy(&early, mask);\n'
         '    spin_lock(&g->flush_lock);\n\n'
         '    if ( likely(!find_and_fill(peer, &early, cpu, va, flags)) )\n')]),
    M(131, 'bits-stored-twice',
      'bits of a word stored twice', 'explore', [
        ('        write_atomic(&g->pending[i], word);\n',
         '        write_atomic(&g->pending[i], word);\n'
         '    if ( word )\n        write_atomic(&g->pending[i], word);\n')]),
    M(132, 'no-relax',
      'wait for acks without cpu_relax()', 'explore', [
        ('    while ( !round_acked(g) )\n        cpu_relax();\n',
         '    while ( !round_acked(g) )\n        continue;\n')]),
)


class Broken(Exception):
    """The list and the engine do not fit."""


def words(mutant):
    """{instrument: what follows the colon, or ''}"""
    return dict((word + ':').split(':')[:2]
                for word in mutant.instruments.split())


def mutate(source, mutant):
    """The engine with the fault in it."""
    for old, new in mutant.edits:
        count = source.count(old)
        if count != 1:
            raise Broken(f'its text occurs {count} times, not once: '
                         f'{old.strip().splitlines()[0]!r}')
        source = source.replace(old, new)
    return source


def chosen(only, instrument):
    """Those of an instrument; only: a name's part or a number, or ''."""
    return [mutant for mutant in MUTANTS if instrument in words(mutant)
            and (not only or only == str(mutant.number)
                 or (only in mutant.name and not only.isdigit()))]


def save_results(path, found):
    """Add {name: what killed it} to what earlier runs found."""
    try:
        with open(path, encoding='utf-8') as file:
            found = {**json.load(file), **found}
    except (OSError, ValueError):
        pass
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(found, file, indent=1, sort_keys=True)
