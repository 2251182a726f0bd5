# SPDX-License-Identifier: GPL-2.0-only
"""The machines of config/topologies/: what QEMU makes, what Xen must see.

A file has lines "key = value"; # begins a comment.

The machine:
    description       what it is; shows: what it is good for
    cpus, memory      CPUs and MiB of each of QEMU's nodes; either may be 0
    threads-per-core  1 unless given
    cpu               QEMU's -cpu; max,+x2apic unless given, which is an AMD
    qemu              further arguments for QEMU
    qemu-thread       single (default) or multi; see QEMU_THREAD in boot
    xen               Xen arguments that belong to the machine

What Xen must make of it, by reasoning and not by what a boot printed:
    online      CPUs online after the boot, NODE:CPUS for each of Xen's nodes
    parked      how many CPUs Xen parked; 0 unless given
    has-memory  Xen's nodes with memory
    node        nodes with a flush lock when groups are nodes
    cluster     NODE:CLUSTER of each group when groups are clusters, CLUSTER
                being APIC ID >> 4; "node" where Xen falls back
    auto        what flush-group=auto is: node or cluster
    torture     requests a second that the self test manages here, about; by
                this, tests choose how many they ask for

What the numbers follow from:
 - QEMU's APIC ID is socket, core and thread, each in as many bits as the
   largest number of its kind needs: 20 cores take 5 bits, so a second socket
   begins with 32. smp() says what is a socket.
 - Xen numbers nodes as SRAT mentions them; QEMU puts CPUs first, in order, and
   then memory.
"""

import math
import os
import re
import shlex

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TOPOLOGIES = os.path.join(TOP, "config", "topologies")

DEFAULTS = {"shows": "", "threads-per-core": "1", "cpu": "max,+x2apic",
            "qemu": "", "qemu-thread": "single", "xen": "", "parked": "0"}
REQUIRED = ("description", "cpus", "memory", "online", "has-memory", "node",
            "cluster", "auto", "torture")


class BootError(Exception):
    """Told to the user in one line; status is the exit status to use."""

    def __init__(self, text, status=125):
        super().__init__(text)
        self.status = status


def topology_names():
    names = [n for n in os.listdir(TOPOLOGIES) if not n.startswith(".")]
    return sorted(names, key=lambda n: [
        (0, int(p), "") if p.isdigit() else (1, 0, p)
        for p in re.split(r"(\d+)", n) if p])


def read_fields(lines):
    """ValueError for what is no line of such a file."""
    fields = dict(DEFAULTS)
    for number, line in enumerate(lines, 1):
        line = line.split("#")[0].strip()
        key, equals, value = map(str.strip, line.partition("="))
        if not line:
            continue
        if not equals or key not in DEFAULTS and key not in REQUIRED:
            raise ValueError("line %d: not one of %s = ..." % (
                number, ", ".join((*REQUIRED, *DEFAULTS))))
        fields[key] = value
    missing = [key for key in REQUIRED if key not in fields]
    if missing:
        raise ValueError("no line %s = ..." % missing[0])
    return fields


def numbers(text):
    return [int(word) for word in text.split()]


def cpu_list(text):
    """0,4-6 to [0, 4, 5, 6]"""
    cpus = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def choice(text, *words):
    if text not in words:
        raise ValueError("'%s' is not %s" % (text, " or ".join(words)))
    return text


class Grouping:
    """What one value of flush-group= must lead to.

    line     what Xen prints about them
    warning  what it says about the value, or None
    locks    {(owner, name)} in the lock profile; owner: "global" or a node
    busy     those of them that have been taken after a while
    """

    def __init__(self, line, warning, locks, busy):
        self.line, self.warning = line, warning
        self.locks, self.busy = locks, busy


class Expected:
    """What Xen must make of the machine."""

    def __init__(self, fields):
        self.online = {}
        for word in fields["online"].split():
            node, _, cpus = word.partition(":")
            self.online[int(node)] = cpu_list(cpus)
        self.parked = int(fields["parked"])
        self.memory = set(numbers(fields["has-memory"]))
        self.node = numbers(fields["node"])
        self.cluster = None
        if fields["cluster"] != "node":
            self.cluster = [tuple(map(int, word.split(":")))
                            for word in fields["cluster"].split()]
            if any(len(pair) != 2 for pair in self.cluster):
                raise ValueError("cluster must be NODE:CLUSTER ... or node")
        self.auto = choice(fields["auto"], "node", "cluster")
        self.torture = int(fields["torture"])

    def cpus(self):
        return sorted(cpu for cpus in self.online.values() for cpu in cpus)

    def count(self):
        return len(self.cpus())

    def grouping(self, value=None):
        """For flush-group=value; None: the option is not there."""
        warning = None
        setting = "node" if value is None else value
        if setting not in ("host", "node", "cluster", "auto"):
            warning = "WARNING: flush-group=%s is not known, using node" % value
            setting = "node"
        elif setting == "cluster" and self.cluster is None:
            warning = "WARNING: flush-group=cluster needs x2APIC, using node"
            setting = "node"
        used = self.auto if setting == "auto" else setting
        locks = self.locks(used)
        line = "Flush groups: %s%s, %d group(s)" % (
            used, " (auto)" if setting == "auto" else "", len(locks))
        return Grouping(line, warning, locks, self.busy(locks))

    def locks(self, used):
        if used == "host":
            return {("global", "flush_lock")}
        if used == "cluster":
            return {(node, "flush_lock_cluster%d" % cluster)
                    for node, cluster in self.cluster}
        return {(node, "flush_lock") for node in self.node}

    def busy(self, locks):
        """A lock is for other CPUs, and one without CPUs is nobody's."""
        if self.count() < 2:
            return set()
        return {(owner, name) for owner, name in locks
                if owner == "global" or owner in self.online}


class Topology:
    """Nodes, each with CPUs and memory (MiB); either may be none."""

    def __init__(self, name):
        if name not in topology_names():
            raise BootError("no topology '%s'; known: %s"
                            % (name, " ".join(topology_names())), 2)
        self.name = name
        try:
            with open(os.path.join(TOPOLOGIES, name)) as file:
                self.take(read_fields(file))
        except ValueError as error:
            raise BootError("config/topologies/%s: %s" % (name, error),
                            2) from None

    def take(self, fields):
        self.description, self.shows = fields["description"], fields["shows"]
        self.cpus = numbers(fields["cpus"])
        self.memory = numbers(fields["memory"])
        if len(self.cpus) != len(self.memory):
            raise ValueError("cpus and memory name a different number of nodes")
        self.threads = int(fields["threads-per-core"])
        if not any(self.cpus) or math.gcd(*self.cpus) % self.threads:
            raise ValueError("cpus must be multiples of threads-per-core, and "
                             "not all 0")
        self.cpu = fields["cpu"]
        self.qemu = shlex.split(fields["qemu"])
        self.thread = choice(fields["qemu-thread"], "single", "multi")
        self.xen = fields["xen"]
        self.expected = Expected(fields)

    def smp(self):
        """The largest sockets that fit in every node."""
        total, size = sum(self.cpus), math.gcd(*self.cpus)
        return "%d,sockets=%d,cores=%d,threads=%d" % (
            total, total // size, size // self.threads, self.threads)

    def qemu_args(self):
        args = ["-cpu", self.cpu, "-smp", self.smp(),
                "-m", str(sum(self.memory))]
        first = 0
        for node, (cpus, memory) in enumerate(zip(self.cpus, self.memory)):
            numa = "node,nodeid=%d" % node
            if cpus:
                numa += ",cpus=%d-%d" % (first, first + cpus - 1)
            if memory:
                numa += ",memdev=m%d" % node
                args += ["-object", "memory-backend-ram,id=m%d,size=%dM"
                         % (node, memory)]
            args += ["-numa", numa]
            first += cpus
        return args + self.qemu
