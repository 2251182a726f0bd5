#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The simulator's own tests; run-tests builds what they need.

Usage:   test.py
Reads:   build/flushsim/
Exit:    0 if all hold, else 1 with a line for each that does not

Each check is also made on something that must fail it. That every request
completes exactly once, with each target flushed within the call, is checked
by the program itself in each run (load.c); here it is run on all engines, and
on an engine that forgets a target.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.environ.get('OUT', os.path.join(TOP, 'build', 'flushsim'))
ENGINES = {'upstream': ('upstream', 'ideal', 'callq'),
           'group': ('host', 'node', 'cluster')}
TABLE = os.path.join(HERE, 'machines', 'intel-2s.cost')

failed = []


def check(what, holds):
    print(f'{"ok" if holds else "not ok"} - {what}', flush=True)
    if not holds:
        failed.append(what)


def run(engine, *args, program=None, table=TABLE, env=None):
    group = next(g for g, names in ENGINES.items()
                 if engine in names or g == program)
    return subprocess.run(
        [os.path.join(OUT, f'flushsim-{group}'), '--machine', table,
         '--engine', engine, '--flushes', '300', *args],
        capture_output=True, text=True, check=False, env=env)


def outcome(engine, *args, **options):
    result = run(engine, *args, **options)
    if result.returncode:
        print(result.stderr.strip())
        return {}
    return json.loads(result.stdout)


def determinism():
    """Same seed, same text, whatever the environment looks like."""
    args = ('--lines', '8', '--cores', '16', '--cross', '30', '--targets', '5')
    first = run('node', *args)
    again = run('node', *args, env={'A': 'x' * 5000})
    other = run('node', *args, '--seed', '2')
    check('same seed, same output',
          first.returncode == 0 and first.stdout == again.stdout)
    check('another seed, another output', first.stdout != other.stdout)


def conservation():
    """All engines on several workloads; the programs check each request."""
    loads = (('--scope', 'node'), ('--scope', 'all'),
             ('--scope', 'cluster', '--physical'),
             ('--cross', '50', '--targets', '3', '--think', '3000'),
             ('--tick', '20000,5000', '--cross', '20'))
    for engines in ENGINES.values():
        for engine in engines:
            outs = [outcome(engine, '--cores', '12', '--sockets', '2', *load)
                    for load in loads]
            check(f'{engine}: every request completes, once',
                  all(out.get('flushes') == 300 for out in outs))
    result = run('forgetful', '--cores', '4', program='upstream')
    check('an engine that forgets a target is noticed',
          result.returncode == 1 and 'did not flush' in result.stderr)


def counts():
    """What hardware would count."""
    for option, writes in (((), 7), (('--physical',), 101)):
        out = outcome('host', '--initiators', '1', '--scope', 'next',
                      '--targets', '101', *option)
        check(f'101 targets in 7 clusters: {writes} ICR writes '
              f'{" ".join(option)}',
              out.get('icr_writes') == 300 * writes)
    out = outcome('node', '--initiators', '1', '--scope', 'all')
    check('all others: one shorthand', out.get('shorthands') == 300
          and out.get('icr_writes') == 300)
    out = outcome('node', '--initiators', '1', '--scope', 'all', '--without',
                  'shorthand')
    check('without: one write per cluster', out.get('icr_writes') == 300 * 8)


def lock_profile():
    """Xen's own counters agree with what is known from outside."""
    out = outcome('host', '--cores', '4')
    locks = out.get('locks', [])
    check('host: one lock', len(locks) == 1)
    check('held as often as was flushed',
          300 <= out.get('locked', 0) <= 300 + 16)
    out = outcome('node', '--cores', '4')
    check('node: one lock for each', len(out.get('locks', [])) == 2)
    out = outcome('host', '--cores', '4', '--initiators', '1')
    check('alone: never blocked', out.get('blocked') == 0)


def switches():
    """Left out is left out, and nothing else."""
    args = ('--cores', '8', '--lines', '20')
    names = {line[0] for line in outcome('node', *args).get('lines', ())}
    check('the clock is waited for', 'tlbflush_clock' in names)
    lines = outcome('node', *args, '--without', 'maps,clock').get('lines')
    check('left out: nobody waits for it', bool(lines) and not any(
        line[0] == 'tlbflush_clock' and line[1] for line in lines))


def units():
    program = os.path.join(OUT, 'test-units')
    for what in ('scripts', '30', '60', '80'):
        for fault in ((), ('fault',)):
            result = subprocess.run([program, TABLE, what, *fault], text=True,
                                    capture_output=True, check=False)
            good = result.returncode == (1 if fault else 0)
            check(f'units: {what} {"seen to fail" if fault else ""}', good)
            if not good:
                print(result.stdout + result.stderr)


def broken_table():
    path = os.path.join(OUT, 'broken.cost')
    with open(TABLE, encoding='utf-8') as file:
        text = file.read()
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text.replace('icr ', 'icx '))
    result = run('host', table=path)
    check('a table with a wrong name is refused',
          result.returncode == 1 and 'no such cost' in result.stderr)


def main():
    for part in (units, determinism, conservation, counts, lock_profile,
                 switches, broken_table):
        part()
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
