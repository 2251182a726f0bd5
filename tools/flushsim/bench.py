#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run the simulator's workloads; tables, CSV and plots in build/bench.

Usage:   bench.py [-s SEED] [-o DIR] [-n PERCENT] [EXPERIMENT...]
           EXPERIMENT   local cluster single cross all boot irq validate
                        sweep (default: all but sweep)
           -n PERCENT   of the flushes of each run (default 100)
Reads:   build/flushsim/flushsim-* (make -C tools/flushsim), machines/*.cost
Writes:  DIR/sim-EXPERIMENT.{txt,csv,svg,png}; plots need gnuplot
Exit:    0; 1 if a run failed; 2 wrong use

Every figure is simulated: see docs/flushsim.md. A table's first line has the
seed; --show prints the command of each run, which repeats its figures.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.environ.get('OUT', os.path.join(TOP, 'build', 'flushsim'))
UPSTREAM = ('upstream', 'ideal', 'callq', 'callq-gen')
ENGINES = ('upstream', 'host', 'node', 'cluster', 'ideal')
# Host-wide lines under the lock, left out or not.
LINES = (('with', ''), ('without', 'maps,clock'))
# More nodes: the eight-socket machine with fewer sockets.
MACHINES = {
    'intel-2s': ['--machine', 'intel-2s'],
    'amd-2s': ['--machine', 'amd-2s'],
    'intel-4s': ['--machine', 'intel-8s', '--sockets', '4'],
    'intel-8s': ['--machine', 'intel-8s'],
    'skylake-2s': ['--machine', 'skylake-2s'],
}
NODES = {'intel-2s': 2, 'amd-2s': 2, 'intel-4s': 4, 'intel-8s': 8}
COLUMNS = ('per_second', 'median', 'p99', 'max', 'blocked', 'block_us',
           'ipis', 'icr_writes', 'shorthands', 'least', 'most')
TIE = 0.02


class Bench:
    """Runs, with progress; the options they share."""

    def __init__(self, options):
        self.options = options
        self.done = 0
        self.began = time.monotonic()

    def command(self, machine, engine, args):
        group = 'upstream' if engine in UPSTREAM else 'group'
        words = [os.path.join(PROGRAMS, f'flushsim-{group}')]
        shape = MACHINES[machine]
        table = os.path.join(HERE, 'machines', f'{shape[1]}.cost')
        words += ['--machine', table, *shape[2:], '--engine', engine,
                  '--seed', str(self.options.seed)]
        return words + self.scaled(args)

    def scaled(self, args):
        words = [str(word) for word in args]
        if '--flushes' in words:
            at = words.index('--flushes') + 1
            count = int(words[at]) * self.options.percent // 100
            words[at] = str(max(count, 20))
        return words

    def run(self, machine, engine, *args):
        command = self.command(machine, engine, args)
        if self.options.show:
            print(' '.join(os.path.relpath(word) if '/' in word else word
                           for word in command), file=sys.stderr)
        result = subprocess.run(command, capture_output=True, text=True,
                                check=False)
        if result.returncode:
            print(f'bench.py: {" ".join(command)}: {result.stderr}',
                  file=sys.stderr)
            sys.exit(1)
        self.done += 1
        if sys.stderr.isatty() or self.done % 10 == 0:
            print(f'  run {self.done}, {time.monotonic() - self.began:.0f} s:'
                  f' {machine} {engine} {" ".join(str(a) for a in args)}',
                  file=sys.stderr)
        out = json.loads(result.stdout)
        out['block_us'] = out['block_ns'] // 1000
        return out


def without(words):
    return ['--without', words] if words else []


class Table:
    """Rows of one experiment: text, CSV, plot."""

    def __init__(self, name, title, keys, columns=COLUMNS):
        self.name = name
        self.title = title
        self.keys = keys
        self.columns = columns
        self.rows = []
        self.notes = []

    def add(self, key, out):
        self.rows.append([*key, *(out[column] for column in self.columns)])

    def get(self, column, *key):
        index = len(self.keys) + self.columns.index(column)
        for row in self.rows:
            if tuple(row[:len(key)]) == key:
                return row[index]
        return None

    def text(self, seed):
        head = [*self.keys, *self.columns]
        cells = [head] + [[str(cell) for cell in row] for row in self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
        lines = [f'{self.title} (simulated, seed {seed}; latencies in ns)']
        for row in cells:
            lines.append('  '.join(
                cell.ljust(width) if i < len(self.keys) else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
        return '\n'.join(lines + self.notes) + '\n'

    def write(self, options):
        base = os.path.join(options.out, f'sim-{self.name}')
        text = self.text(options.seed)
        print(text, flush=True)
        with open(base + '.txt', 'w', encoding='utf-8') as file:
            file.write(text)
        with open(base + '.csv', 'w', encoding='utf-8', newline='') as file:
            writer = csv.writer(file, lineterminator='\n')
            writer.writerow([*self.keys, *self.columns])
            writer.writerows(self.rows)


def plot(options, name, title, xlabel, ylabel, series, log=''):
    """@series: (label, [(x, y)...]) each."""
    if not shutil.which('gnuplot'):
        print('bench.py: no gnuplot, no plots', file=sys.stderr)
        return
    base = os.path.join(options.out, f'sim-{name}')
    script = [f'set title "{title} (simulated)"', f'set xlabel "{xlabel}"',
              f'set ylabel "{ylabel}"', 'set key outside', 'set grid',
              'set yrange [0:*]' if 'y' not in log else '']
    if log:
        script.append(f'set logscale {log}')
    for number, (_, points) in enumerate(series):
        script.append(f'$d{number} << EOD')
        script += [f'{x} {y}' for x, y in points]
        script.append('EOD')
    what = ', '.join(f'$d{number} using 1:2 with linespoints title "{label}"'
                     for number, (label, _) in enumerate(series))
    for kind, size in (('svg', '900,500'), ('pngcairo', '900,500')):
        ending = 'svg' if kind == 'svg' else 'png'
        script += [f'set terminal {kind} size {size}',
                   f'set output "{base}.{ending}"', f'plot {what}']
    result = subprocess.run(['gnuplot'], input='\n'.join(script) + '\n',
                            capture_output=True, text=True, check=False)
    if result.returncode:
        print(f'bench.py: gnuplot: {result.stderr}', file=sys.stderr)


def ratio_notes(table, column, keys, engines=('upstream', 'node', 'cluster')):
    for key in keys:
        host = table.get(column, *key, 'host')
        words = [f'{engine} {table.get(column, *key, engine) / host:.2f}'
                 for engine in engines if table.get(column, *key, engine)]
        table.notes.append(f'{column} over host, {" ".join(map(str, key))}: '
                           + ', '.join(words))


def storm(bench, name, title, scope, flushes):
    table = Table(name, title, ('machine', 'lines', 'engine'))
    for machine in NODES:
        for label, words in LINES:
            for engine in ENGINES:
                table.add((machine, label, engine), bench.run(
                    machine, engine, '--scope', scope, '--flushes', flushes,
                    *without(words)))
    ratio_notes(table, 'per_second', [(m, label) for m in NODES
                                      for label, _ in LINES])
    table.write(bench.options)
    nodes = [('intel-2s', 2), ('intel-4s', 4), ('intel-8s', 8)]
    plot(bench.options, name, title, 'nodes of 64 CPUs', 'flushes/s',
         [(f'{engine}, {label} host-wide lines',
           [(n, table.get('per_second', m, label, engine))
            for m, n in nodes])
          for engine in ENGINES[:4] for label, _ in LINES], 'y')


def local(bench):
    storm(bench, 'local', 'Every CPU flushes its own node', 'node', 3000)


def cluster(bench):
    storm(bench, 'cluster', 'Every CPU flushes its own cluster', 'cluster',
          3000)


def single(bench):
    table = Table('single', 'One initiator, latency by targets',
                  ('machine', 'lines', 'targets', 'engine'))
    series = []
    for machine in ('intel-2s', 'amd-2s', 'intel-8s'):
        last = {'intel-2s': 127, 'amd-2s': 255, 'intel-8s': 511}[machine]
        counts = [n for n in (1, 4, 8, 15, 31, 63, 64, 95, 127, 255, 511)
                  if n <= last]
        for label, words in LINES:
            for count in counts:
                for engine in ENGINES:
                    table.add((machine, label, count, engine), bench.run(
                        machine, engine, '--scope', 'next', '--targets',
                        count, '--initiators', 1, '--flushes', 60,
                        *without(words)))
            ratio_notes(table, 'median', [(machine, label, n)
                                          for n in counts])
            if machine == 'intel-8s':
                series += [(f'{engine}, {label} host-wide lines',
                            [(n, table.get('median', machine, label, n,
                                           engine)) for n in counts])
                           for engine in ENGINES]
    table.write(bench.options)
    plot(bench.options, 'single', 'One initiator, 8 sockets', 'targets',
         'median latency, ns', series, 'xy')


def cross(bench):
    table = Table('cross', 'Share of flushes that reach another node, 4 nodes',
                  ('lines', 'share', 'engine'))
    shares = (0, 10, 25, 50, 75, 100)
    for label, words in LINES:
        for share in shares:
            for engine in ENGINES:
                table.add((label, share, engine), bench.run(
                    'intel-4s', engine, '--cross', share, '--flushes', 2000,
                    *without(words)))
        ratio_notes(table, 'per_second', [(label, s) for s in shares])
    table.write(bench.options)
    plot(bench.options, 'cross', table.title, 'percent', 'flushes/s',
         [(f'{engine}, {label} host-wide lines',
           [(s, table.get('per_second', label, s, engine)) for s in shares])
          for engine in ENGINES[:4] for label, _ in LINES], 'y')


def every(bench):
    table = Table('all', 'Every CPU flushes all CPUs',
                  ('machine', 'lines', 'engine'))
    for machine in ('intel-2s', 'amd-2s', 'intel-4s'):
        for label, words in LINES:
            for engine in ENGINES:
                table.add((machine, label, engine), bench.run(
                    machine, engine, '--scope', 'all', '--flushes', 800,
                    *without(words)))
            ratio_notes(table, 'per_second', [(machine, label)])
    table.write(bench.options)


def boot(bench):
    table = Table('boot', 'Boot storm: 90 % of the flushes cross 2 nodes',
                  ('lines', 'targets', 'engine'), ('mean', *COLUMNS))
    for label, words in LINES:
        for targets, think in ((3, 4300000), (16, 6600000)):
            for engine in ENGINES[:4]:
                table.add((label, targets, engine), bench.run(
                    'intel-2s', engine, '--cross', 90, '--targets', targets,
                    '--think', think, '--flushes', 20000, *without(words)))
            ratio_notes(table, 'block_us', [(label, targets)])
    table.write(bench.options)


def irq(bench):
    table = Table('irq', 'Every CPU flushes its own node; other interrupts '
                  'of 5 us every 50 us', ('machine', 'lines', 'engine'))
    for machine in ('intel-2s', 'intel-4s'):
        for label, words in LINES:
            for engine in ENGINES[:4]:
                table.add((machine, label, engine), bench.run(
                    machine, engine, '--tick', '50000,5000', '--flushes',
                    2000, *without(words)))
            ratio_notes(table, 'per_second', [(machine, label)])
    table.write(bench.options)


# Published: threads, flushes/s of the two versions of that kernel.
CURVE = ((1, 159960, 160202), (5, 310808, 308378), (10, 479110, 490728),
         (20, 534495, 587316), (30, 579616, 666313), (40, 612288, 732967),
         (55, 614363, 778913))


def validate_curve(bench, table):
    for threads, *published in CURVE:
        for engine, figure in zip(('callq-gen', 'callq'), published):
            out = bench.run('skylake-2s', engine, '--initiators', threads,
                            '--scope', 'initiators', '--page', '--think',
                            6250, '--flushes', 4000)
            table.compare(f'storm, {threads} threads, {engine}', 'flushes/s',
                          figure, out['per_second'],
                          'calibration' if threads == 1 else 'check')


class Comparison(Table):
    """Published and simulated side by side."""

    def __init__(self):
        super().__init__('validate', 'Published and simulated', ('what',),
                         ('unit', 'published', 'simulated', 'error', 'use'))

    def compare(self, what, unit, published, simulated, use):
        self.rows.append([what, unit, published, simulated,
                          f'{100 * (simulated - published) / published:+.0f}%',
                          use])


def validate(bench):
    table = Comparison()
    validate_curve(bench, table)
    for option, figure in (((), 2390), (('--physical',), 2660)):
        out = bench.run('intel-2s', 'upstream', '--cores', 24, '--initiators',
                        1, '--scope', 'all', '--flushes', 100,
                        '--without', 'shorthand', *option)
        table.compare('flush_tlb_all, 96 CPUs, '
                      + ('physical' if option else 'cluster'), 'ns', figure,
                      out['median'], 'hint')
    out = bench.run('intel-2s', 'upstream', '--cross', 90, '--targets', 3,
                    '--think', 4300000, '--flushes', 20000)
    table.compare('boot storm, share blocked', '1/1000', 73,
                  1000 * out['blocked'] // out['locked'], 'calibration')
    table.compare('boot storm, blocked, each', 'ns', 3767,
                  out['block_ns'] // max(out['blocked'], 1), 'check')
    table.write(bench.options)
    plot(bench.options, 'validate', 'A storm without a lock, 56 CPUs',
         'threads', 'flushes/s',
         [('published, older', [(c[0], c[1]) for c in CURVE]),
          ('published, newer', [(c[0], c[2]) for c in CURVE])] +
         [(f'simulated, {engine}',
           [(c[0], row[3]) for c in CURVE for row in table.rows
            if row[0] == f'storm, {c[0]} threads, {engine}'])
          for engine in ('callq-gen', 'callq')])


# ---- sweep: does a ranking survive +-50 % of an estimate? ----
FINDINGS = {
    'local storm, with': ('per_second', ['--flushes', 600]),
    'local storm, without': ('per_second', [
        '--flushes', 600, '--without', 'maps,clock']),
    'cluster storm, without': ('per_second', [
        '--scope', 'cluster', '--flushes', 600, '--without', 'maps,clock']),
    'one initiator, 15 targets': ('median', [
        '--scope', 'next', '--targets', 15, '--initiators', 1,
        '--flushes', 40]),
    'one initiator, all, with': ('median', [
        '--scope', 'all', '--initiators', 1, '--flushes', 40]),
    'one initiator, all, without': ('median', [
        '--scope', 'all', '--initiators', 1, '--flushes', 40, '--without',
        'maps,clock']),
    'all flush all, with': ('per_second', [
        '--scope', 'all', '--flushes', 300]),
    'all flush all, without': ('per_second', [
        '--scope', 'all', '--flushes', 300, '--without', 'maps,clock']),
    'boot storm': ('block_ns', [
        '--cross', 90, '--targets', 3, '--think', 2000000, '--flushes',
        4000]),
}


def estimates(machine):
    path = os.path.join(HERE, 'machines', f'{machine}.cost')
    with open(path, encoding='utf-8') as file:
        rows = [line.split() for line in file if line.strip()]
    return [row[0] for row in rows if len(row) > 2 and row[2] == '[E]']


def ranking(bench, args, column, setting):
    """Node and cluster against host: -1, 0 (within 2 %) or 1 each."""
    values = {engine: bench.run(
        'intel-2s', engine, '--cores', 16, *args,
        *(['--set', setting] if setting else []))[column]
              for engine in ('host', 'node', 'cluster')}
    rank = []
    for engine in ('node', 'cluster'):
        ratio = values[engine] / values['host']
        rank.append(0 if abs(ratio - 1) <= TIE else 1 if ratio > 1 else -1)
    return tuple(rank), values


def sweep(bench):
    lines = [f'Sweep: every estimate at -50 % and +50 %, intel-2s with 16 '
             f'cores per socket (simulated, seed {bench.options.seed})',
             'node/cluster against host: < = > (= within 2 %)']
    sign = {-1: '<', 0: '=', 1: '>'}
    for name, (column, args) in FINDINGS.items():
        base, values = ranking(bench, args, column, None)
        changed = []
        for cost in estimates('intel-2s'):
            for percent in (50, 150):
                rank, _ = ranking(bench, args, column, f'{cost}={percent}')
                if rank != base:
                    changed.append(f'{cost} at {percent} %: '
                                   + ' '.join(sign[r] for r in rank))
        ratios = ' '.join(f'{engine} {values[engine] / values["host"]:.2f}'
                          for engine in ('node', 'cluster'))
        lines.append(f'{name} ({column}): {" ".join(sign[r] for r in base)} '
                     f'({ratios}); '
                     + ('survives' if not changed else 'changes with'))
        lines += [f'    {word}' for word in changed]
        print('\n'.join(lines[-1 - len(changed):]), flush=True)
    with open(os.path.join(bench.options.out, 'sim-sweep.txt'), 'w',
              encoding='utf-8') as file:
        file.write('\n'.join(lines) + '\n')


EXPERIMENTS = {
    'local': local, 'cluster': cluster, 'single': single, 'cross': cross,
    'all': every, 'boot': boot, 'irq': irq, 'validate': validate,
    'sweep': sweep,
}


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument('-s', '--seed', type=int, default=1)
    parser.add_argument('-o', '--out',
                        default=os.path.join(TOP, 'build', 'bench'))
    parser.add_argument('-n', '--percent', type=int, default=100)
    parser.add_argument('--show', action='store_true')
    parser.add_argument('experiments', nargs='*')
    options = parser.parse_args()
    names = options.experiments or [n for n in EXPERIMENTS if n != 'sweep']
    for name in names:
        if name not in EXPERIMENTS:
            parser.error(f'no experiment {name}')
    os.makedirs(options.out, exist_ok=True)
    bench = Bench(options)
    for name in names:
        EXPERIMENTS[name](bench)


if __name__ == '__main__':
    main()
