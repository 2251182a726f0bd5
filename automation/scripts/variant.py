# SPDX-License-Identifier: GPL-2.0-only
"""What a variant of the hypervisor is; used by build-xen and warnings.

A variant is the name of a fragment in config/kconfig, or several with "+"
between them: the later ones win. "seed-N" among them lets Kconfig choose all
that the fragments do not say, at random from this seed.

Lines of a fragment: "CONFIG_NAME=VALUE" and "# CONFIG_NAME is not set" must
hold; "#make NAME=VALUE" goes to make; other lines are for the reader.
"""

import os
import re

KCONFIG = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))), 'config', 'kconfig')
LINES = (r'(?P<option>CONFIG_\w+)=.*',
         r'# (?P<option>CONFIG_\w+) is not set',
         r'#make (?P<option>\w+)=(?P<value>.*)')


class UnknownVariant(Exception):
    """What is known instead, in one line."""


class Variant:
    """The fragments of a variant, as one."""

    def __init__(self, name):
        self.name = name
        self.options = {}       # CONFIG_NAME: its line in .config
        self.make = {'CC': 'gcc'}
        self.seed = None
        for part in name.split('+'):
            seed = re.fullmatch(r'seed-(\d{1,9})', part)
            if seed:
                self.seed = seed.group(1)
            else:
                self.read(part)

    def read(self, part):
        path = os.path.join(KCONFIG, f'{part}.config')
        if '/' in part or not os.path.isfile(path):
            known = sorted(name[:-7] for name in os.listdir(KCONFIG)
                           if name.endswith('.config'))
            raise UnknownVariant(f'no variant {part!r}; known: '
                                 f'{" ".join(known)} (or some of them with '
                                 '"+" between)')
        with open(path, encoding='utf-8') as file:
            for line in file.read().splitlines():
                self.take(line)

    def take(self, line):
        for pattern in LINES:
            match = re.fullmatch(pattern, line)
            if match and line.startswith('#make'):
                self.make[match.group('option')] = match.group('value')
            elif match:
                self.options[match.group('option')] = line

    def text(self):
        """All of it, for a checksum."""
        return '\n'.join((f'seed {self.seed}', *self.options.values(),
                          *(f'#make {name}={value}'
                            for name, value in self.make.items())))
