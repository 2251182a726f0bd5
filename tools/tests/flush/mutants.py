#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The unit tests must find every mutant of the flush engine.

Usage:   mutants.py [--only NAME] OUT ENGINE CC PROF-CC
           --only NAME  those with NAME in their name, or with that number
           OUT      build/tests/flush, with mutant and mutant-prof built
           ENGINE   generated engine source (OUT/gen/flush-group.c)
           CC, PROF-CC   how those two compile a source
Reads:   mutantlist.py
Writes:  OUT/mutants/NAME/: the source, the programs, log
         OUT/mutants/results.json: {name: what killed it}
Exit:    0 every mutant was killed; 1 one survived, or its text is not in the
         engine any more (ERROR: mend the list), or one does not compile

A test kills a mutant by failing, by a signal, or by its time limit.  The list
says which test is likely to (host:TEST): that one is run first.
"""

import argparse
import concurrent.futures
import os
import shlex
import subprocess
import sys
import time

import mutantlist

TESTS = (('handler', 'mutant'), ('protocol', 'mutant'),
         ('semantics', 'mutant'), ('lifecycle', 'mutant'),
         ('sched', 'mutant'), ('protocol', 'mutant-prof'),
         ('lifecycle', 'mutant-prof'))
LIMIT_S = 60


def title(test, variant):
    return f'{test}{variant[6:]}'


def in_order(hint):
    """The tests, the likely one first."""
    return sorted(TESTS, key=lambda test: title(*test) != hint)


class Mutant:
    """One of the list, with its objects and programs."""

    def __init__(self, mutant, options):
        self.mutant, self.options = mutant, options
        self.folder = os.path.join(options.out, 'mutants', mutant.name)
        self.source = os.path.join(self.folder, 'flush-group.c')
        self.built = set()
        os.makedirs(self.folder, exist_ok=True)
        with open(options.engine, encoding='utf-8') as file:
            text = mutantlist.mutate(file.read(), mutant)
        with open(self.source, 'w', encoding='utf-8') as file:
            file.write(text)

    def compile(self, variant, command):
        mine = os.path.join(self.folder, f'{variant}.o')
        if variant not in self.built:
            # It may leave something unused; that is not what is tested.
            run([*command, '-Wno-error', '-c', '-o', mine, self.source])
            self.built.add(variant)
        return mine

    def program(self, test, variant):
        """The test, linked with the mutant in place of the engine."""
        command = shlex.split(self.options.cc if variant == 'mutant'
                              else self.options.prof_cc)
        mine = self.compile(variant, command)
        theirs = os.path.join(self.options.out, variant)
        rest = [os.path.join(theirs, name)
                for name in sorted(os.listdir(theirs))
                if name.endswith('.o') and name != 'flush-group.o'
                and not name.startswith('test-')]
        path = os.path.join(self.folder, f'{variant}-test-{test}')
        run([*command, '-no-pie', '-pthread', '-o', path, mine,
             os.path.join(theirs, f'test-{test}.o'), *rest])
        return path

    def killed_by(self):
        """The first test that fails, and what it says; None if none does."""
        log = os.path.join(self.folder, 'log')
        hint = mutantlist.words(self.mutant).get('host', '')
        for test, variant in in_order(hint):
            program = self.program(test, variant)
            why = failure(program, log)
            os.unlink(program)
            if why:
                return f'{title(test, variant)}: {why}'
        return None


def run(command):
    done = subprocess.run(command, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise mutantlist.Broken(f'does not build: {done.stderr[-600:]}')


def failure(program, log):
    """What the test complained about first; '' if it passes."""
    with open(log, 'wb') as file:
        try:
            status = subprocess.run([program, '-f'], stdout=file, stderr=file,
                                    timeout=LIMIT_S, check=False).returncode
        except subprocess.TimeoutExpired:
            return f'no end in {LIMIT_S} s'
    if not status:
        return ''
    with open(log, encoding='utf-8', errors='replace') as file:
        for line in file:
            if line.startswith('not ok'):
                return line.split(' - ', 1)[-1].strip()
    return f'exit status {status}'


def judge(mutant, options):
    """(mutant, verdict, text, seconds)"""
    start = time.monotonic()
    try:
        text = Mutant(mutant, options).killed_by()
        verdict = 'killed' if text else 'SURVIVED'
    except mutantlist.Broken as broken:
        verdict, text = 'ERROR', str(broken)
    return mutant, verdict, text or '', time.monotonic() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--only', default='')
    parser.add_argument('out')
    parser.add_argument('engine')
    parser.add_argument('cc')
    parser.add_argument('prof_cc')
    options = parser.parse_args()
    chosen = mutantlist.chosen(options.only, 'host')
    counts, found = {}, {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, verdict, text, seconds in pool.map(
                lambda mutant: judge(mutant, options), chosen):
            print(f'{verdict:8s} {mutant.number:3d} {mutant.name} '
                  f'({seconds:.0f} s) {text}', flush=True)
            counts[verdict] = counts.get(verdict, 0) + 1
            found[mutant.name] = text if verdict == 'killed' else verdict
    mutantlist.save_results(
        os.path.join(options.out, 'mutants', 'results.json'), found)
    bad = counts.get('SURVIVED', 0) + counts.get('ERROR', 0)
    print(f'{counts.get("killed", 0)} of {len(chosen)} mutants killed')
    return 1 if bad or not chosen else 0


if __name__ == '__main__':
    sys.exit(main())
