# SPDX-License-Identifier: GPL-2.0-only
"""Read what a storm left behind, and show it as a table of 80 columns.

Knows nothing of QEMU: text in, text out.  run-storm uses it on a boot's serial
console, tests/boot/test-storm-table on made-up input.
"""

import re

SETTINGS = ("host", "node")
CLASSES = ("one-node", "multi-node")
FILES = ("lockprof", "lockprof-stock", "keys")


class Missing(Exception):
    """Something that must be there is not; the text says what."""


class Lock:
    """Acquisitions, times it was waited for, and seconds of waiting."""

    def __init__(self, taken=0, blocked=0, seconds=0.0):
        self.taken, self.blocked, self.seconds = taken, blocked, seconds

    def __add__(self, other):
        return Lock(self.taken + other.taken, self.blocked + other.blocked,
                    self.seconds + other.seconds)

    @property
    def average(self):
        """Seconds per wait; None where nobody waited."""
        return self.seconds / self.blocked if self.blocked else None


class Latency:
    """Of flush_area_mask(), in nanoseconds."""

    def __init__(self, count, mean, p99, most):
        self.count, self.mean, self.p99, self.max = count, mean, p99, most


# --- reading ----------------------------------------------------------------

def sent_files(lines, names=FILES):
    """Files that dom0 sent over the console ("send"), by line count."""
    found, done = {}, {}
    for line in lines:
        part = re.match(r"@([\w-]+)\|(.*)$", line)
        end = re.match(r"@([\w-]+) end (\d+)$", line)
        if part:
            found.setdefault(part.group(1), []).append(part.group(2))
        elif end:
            done[end.group(1)] = int(end.group(2))
    for name in names:
        if name not in done:
            raise Missing("dom0 did not send the file '%s'" % name)
        if done[name] != len(found.get(name, [])):
            raise Missing("the file '%s' came over the console with %d "
                          "lines of %d" % (name, len(found.get(name, [])),
                                           done[name]))
    return {name: found.get(name, []) for name in names}


RECORD = re.compile(r"(global lock|NUMA node (\d+) lock|unknown type\(2\) "
                    r"(\d+) lock) (\S+)\s*:\s*lock:\s*(\d+)\(\s*([\d.]+)s\),"
                    r"\s*block:\s*(\d+)\(\s*([\d.]+)s\)\s*$")


def flush_locks(lockprof):
    """From xenlockprof, ours or the stock one: {"global" or node: Lock}."""
    locks = {}
    for line in lockprof:
        found = RECORD.match(line)
        if not found or found.group(4) != "flush_lock":
            continue
        node = found.group(2) or found.group(3)
        locks["global" if node is None else int(node)] = Lock(
            int(found.group(5)), int(found.group(7)), float(found.group(8)))
    return locks


LATENCY = re.compile(r"flush latency (\S+): count (\d+) mean (\d+) "
                     r"p50 \d+ p99 (\d+) max (\d+)")


def latencies(keys):
    """From debug key f: {class: Latency}."""
    found = (LATENCY.search(line) for line in keys)
    return {m.group(1): Latency(*map(int, m.groups()[1:]))
            for m in found if m}


# --- what must be there -----------------------------------------------------

def check(setting, nodes, locks, latency):
    """Raise Missing unless the figures are those of the setting."""
    if not locks:
        raise Missing("%s: no flush_lock in the lock profile; Xen needs "
                      "CONFIG_DEBUG_LOCK_PROFILE" % setting)
    if setting == "host":
        if set(locks) != {"global"} or not locks["global"].taken:
            raise Missing("host: the lock profile must have just the global "
                          "flush_lock, taken; it has %s" % names(locks))
    else:
        if "global" in locks:
            raise Missing("node: flush_lock is still a global lock; is this "
                          "Xen patched?")
        idle = [n for n in nodes if n not in locks or not locks[n].taken]
        if idle:
            raise Missing("node: the flush lock of node %s was never taken"
                          % ", ".join(map(str, idle)))
    lack = [c for c in CLASSES if c not in latency]
    if lack:
        raise Missing("%s: debug key f shows no flush latency (%s); Xen "
                      "needs our patches and CONFIG_FLUSH_STATS"
                      % (setting, ", ".join(lack)))


def names(locks):
    return ", ".join(lock_name(key) for key in sorted_locks(locks)) or "none"


def lock_name(key):
    return "global" if key == "global" else "NUMA node %d" % key


def sorted_locks(locks):
    return sorted(locks, key=lambda key: -1 if key == "global" else key)


# --- the table --------------------------------------------------------------

def ratio(first, second):
    """A ratio with two or three digits that mean something."""
    if first is None or not second:
        return "-"
    value = first / second
    return "%.2f" % value if value < 10 else "%.0f" % value


def milliseconds(seconds):
    return "-" if seconds is None else "%.2f ms" % (seconds * 1e3)


LOCK_ROW = "%-10s %-12s %12s %10s %14s %15s"
LATENCY_ROW = "%-10s %-12s %12s %10s %14s %15s"


def lock_cells(lock):
    return ("{:,}".format(lock.taken), "{:,}".format(lock.blocked),
            "%.3f s" % lock.seconds, milliseconds(lock.average))


def lock_table(results):
    """results: {setting: {"locks": ..., "latency": ...}}"""
    rows = [LOCK_ROW % ("setting", "flush lock", "acquired", "blocked",
                        "blocked time", "average wait"), "-" * 78]
    totals = {}
    for setting in SETTINGS:
        locks = results[setting]["locks"]
        totals[setting] = sum(locks.values(), Lock())
        for number, key in enumerate(sorted_locks(locks)):
            rows.append(LOCK_ROW % (setting if not number else "",
                                    lock_name(key), *lock_cells(locks[key])))
        if len(locks) > 1:
            rows.append(LOCK_ROW % ("", "all of them",
                                    *lock_cells(totals[setting])))
    host, node = totals["host"], totals["node"]
    rows.append(LOCK_ROW % ("host/node", "ratio",
                            ratio(host.taken, node.taken),
                            ratio(host.blocked, node.blocked),
                            ratio(host.seconds, node.seconds),
                            ratio(host.average, node.average)))
    return rows


def latency_cells(latency):
    if not latency.count:
        return "0", "-", "-", "-"
    return ("{:,}".format(latency.count),
            *(milliseconds(ns / 1e9) for ns in (latency.mean, latency.p99,
                                                latency.max)))


def latency_table(results):
    rows = [LATENCY_ROW % ("setting", "targets on", "flushes", "mean", "p99",
                           "max"), "-" * 78]
    for setting in SETTINGS:
        for number, cls in enumerate(CLASSES):
            rows.append(LATENCY_ROW % (
                setting if not number else "", class_name(cls),
                *latency_cells(results[setting]["latency"][cls])))
    for number, cls in enumerate(CLASSES):
        host, node = (results[s]["latency"][cls] for s in SETTINGS)
        rows.append(LATENCY_ROW % (
            "host/node" if not number else "", class_name(cls),
            ratio(host.count, node.count), ratio(host.mean, node.mean),
            ratio(host.p99, node.p99), ratio(host.max, node.max)))
    return rows


def class_name(cls):
    return {"one-node": "one node", "multi-node": "more nodes"}[cls]


LIMITS = """\
How to read this: every figure is EMULATED. QEMU (TCG, all CPUs in one
thread) runs one CPU at a time, a slice each, so the counts of acquisitions
and of waits are real, and so is which lock they fell on; the times are those
of the emulation, and a wait often lasts until the CPU waited for gets its
next slice. A flush of more nodes is one round per node in node mode, and each
round can cost a slice here, which hardware does not charge. So this shows
that the locks are split and that nothing is lost; it does not show the speed
of either setting on a multi-socket host."""


def table(results, command):
    """All of what make run prints at the end."""
    lines = ["Flush locks during the storm (emulated: QEMU TCG, serial)", "",
             *lock_table(results), "",
             "Latency of flush_area_mask() (emulated), by the nodes of its "
             "targets", "", *latency_table(results), "",
             *LIMITS.split("\n"), "", "Command: " + command]
    return "\n".join(lines)
