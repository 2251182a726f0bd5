# SPDX-License-Identifier: GPL-2.0-only
"""Hypervisor images with a fault in the flush engine, made in seconds.

Only flush-group.o is compiled, by the command that the build of
build/xen-debug recorded for it.  It is linked with what is there: once all
objects before it and all behind it are linked into one file each (the order
matters: it is that of initcalls), and then for each image those two and the
new one.  No table of symbols is made, so a panic shows addresses only.

Nothing is written outside build/xen-mutant.  Every image has a mark in it
that tells which mutant it is.
"""

import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, 'tools', 'tests', 'flush'))
import mutantlist       # noqa: E402

OBJECT = 'arch/x86/flush-group.o'
MARK = 'flush-engine mutant: %s.'
IMG_OFFSET = '0x200000'


class ImageError(Exception):
    """What is wrong, in one line."""


def read(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except OSError:
        raise ImageError(f'no {path}: run make') from None


class Images:
    """Makes images from one build of the hypervisor."""

    def __init__(self, build):
        self.debug = os.path.join(build, 'xen-debug')
        self.out = os.path.join(build, 'xen-mutant')
        self.engine = read(os.path.join(build, 'tree', 'xen', 'arch', 'x86',
                                        'flush-group.c'))
        os.makedirs(self.out, exist_ok=True)
        self.linker = self.recorded('prelink.o')
        self.ends = self.link_ends()

    def recorded(self, target):
        """The words of the command that made a file, which ran in debug."""
        folder, name = os.path.split(target)
        text = read(os.path.join(self.debug, folder, f'.{name}.cmd'))
        found = re.match(r'cmd_\S+ := (.*)', text)
        if not found:
            raise ImageError(f'no command recorded for {target}')
        return shlex.split(found.group(1).split(';')[0])

    def run(self, command):
        done = subprocess.run(command, cwd=self.debug, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise ImageError(f'{command[0]}: {done.stderr.strip()[-400:]}')
        return done.stdout

    def path(self, name):
        return os.path.join(self.out, name)

    def link_ends(self):
        """Link what comes before flush-group.o, and what comes behind it."""
        inner = self.recorded('arch/x86/built_in.o')
        inner = inner[inner.index('-o') + 2:]
        outer = [word for word in self.linker if word.endswith('built_in.o')]
        at = outer.index('arch/x86/built_in.o')
        outer[at:at + 1] = inner
        at = outer.index(OBJECT)
        ends = []
        for name, objects in (('before.o', outer[:at]),
                              ('behind.o', outer[at + 1:])):
            self.run([*self.flags(), '-r', '-S', '-o', self.path(name),
                      *objects])
            ends.append(self.path(name))
        return ends

    def flags(self):
        """The linker with its options, up to -r."""
        return self.linker[:self.linker.index('-r')]

    def compile(self, source):
        words = self.recorded(OBJECT)
        for option in ('-MF', '-MQ'):
            at = words.index(option)
            del words[at:at + 2]
        words = [word for word in words if word not in ('-MMD', '-MP', '-g')]
        words[words.index('-c') + 1] = source
        words[words.index('-o') + 1] = self.path('flush-group.o')
        # A mutant may leave something unused; that is not what is tested.
        self.run([*words, '-Wno-error'])

    def link(self):
        before, behind = self.ends
        syms, image = self.path('xen-syms'), self.path('xen')
        self.run([*self.flags(), '-T', 'arch/x86/xen.lds', '-N', before,
                  self.path('flush-group.o'), behind, '--start-group',
                  'lib/lib.a', '--end-group', '--build-id=sha1',
                  'common/symbols-dummy.o', '-o', syms])
        found = re.search(r'^(\w+) . __2M_rwdata_end$',
                          self.run(['nm', syms]), re.MULTILINE)
        self.run(['arch/x86/boot/mkelf32', '--notes', syms, image, IMG_OFFSET,
                  '0x' + found.group(1)])
        return image

    def make(self, mutant):
        """The image of a mutant, or of the engine as it is (None)."""
        name = mutant.name if mutant else 'none'
        text = mutantlist.mutate(self.engine, mutant) if mutant \
            else self.engine
        mark = MARK % name
        source = self.path('flush-group.c')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(f'{text}\n#include <xen/compiler.h>\n'
                       f'static const char __used mark[] = "{mark}";\n')
        self.compile(source)
        image = self.link()
        if mark_of(image) != name:
            raise ImageError(f'{image} is not that of {name}')
        return image


def mark_of(image):
    """The name of the mutant in an image; None for a normal build."""
    with open(image, 'rb') as file:
        found = re.search(re.escape(MARK).replace('%s', r'([\w-]+)').encode(),
                          file.read())
    return found.group(1).decode() if found else None
