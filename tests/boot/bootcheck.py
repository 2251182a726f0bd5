# SPDX-License-Identifier: GPL-2.0-only
"""What the boot tests have in common: boot, look, and judge what was seen.

A test calls boot() once or more and expect() on what it returns, then
passed().  The first thing that is not as it must be ends the test with one
line and status 1.  Logs: BUILD/test/TEST-NAME.serial.log.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "automation", "scripts"))
import bootlib      # noqa: E402
import stormtable   # noqa: E402

NAME = os.path.basename(sys.argv[0])
LOOK_FILES = ("dmesg", "before", "reset", "ours", "stock", "keys",
              "latency-reset")
BOOT_SECONDS = 420


def say(text):
    print("%s: %s" % (NAME, text), flush=True)


def fail(text):
    print("FAIL: %s: %s" % (NAME, text), flush=True)
    sys.exit(1)


def expect(condition, text):
    if not condition:
        fail(text)


def passed():
    print("PASS: " + NAME, flush=True)
    sys.exit(0)


def boot(topology_name, command, xen_args, timeout=BOOT_SECONDS):
    """One boot; dom0's command must end with 0.  All lines seen."""
    topology = bootlib.Topology(topology_name)
    label = "%s-%s-%s" % (NAME, topology_name, re.sub(r"[^\w]+", "-",
                                                      xen_args).strip("-"))
    log = os.path.join(bootlib.BUILD, "test", label + ".serial.log")
    lines = []
    say("booting %s with '%s', log %s" % (topology_name, xen_args,
                                          os.path.relpath(log)))
    seconds = [0]

    def on_line(line):
        if line is not None:
            lines.append(line)
        if machine.elapsed() - seconds[0] > 15:
            seconds[0] = machine.elapsed()
            say("%3d s, %d lines" % (seconds[0], len(lines)))

    bootlib.exit_on_signals()
    try:
        with bootlib.Machine(topology, log, command, xen_args) as machine:
            status = machine.run(timeout, on_line)
    except bootlib.BootError as error:
        fail(str(error))
    say("ended after %d s with status %d" % (machine.elapsed(), status))
    expect(status == 0, "the command in dom0 ended with status %d; see %s"
           % (status, os.path.relpath(log)))
    return topology, lines


def files(lines, names=LOOK_FILES):
    try:
        return stormtable.sent_files(lines, names)
    except stormtable.Missing as error:
        fail(str(error))


def matching(lines, pattern):
    return [line for line in lines if re.search(pattern, line)]


def xen_lines(lines, pattern):
    """Lines of Xen's own, not those that dom0 shows again."""
    return matching([line for line in lines if line.startswith("(XEN)")],
                    pattern)


# --- what every boot with look must show -----------------------------------

def check_grouping(lines, sent, setting, groups):
    text = r"Flush groups: %s, %d group\(s\)$" % (setting, groups)
    for where, seen in (("serial console", xen_lines(lines, "Flush groups:")),
                        ("xl dmesg", matching(sent["dmesg"],
                                              "Flush groups:"))):
        expect(len(seen) == 1 and re.search(text, seen[0]),
               "%s: not one line '%s', but %s" % (where, text, seen))


def check_warning(lines, sent, value=None, used=None):
    """Exactly one warning for a bad value, none for a good one."""
    wanted = [] if value is None else [
        "WARNING: flush-group=%s is not known, using %s" % (value, used)]
    for where, seen in (("serial console", xen_lines(lines,
                                                     "WARNING: flush-group")),
                        ("xl dmesg", matching(sent["dmesg"],
                                              "WARNING: flush-group"))):
        found = [line[line.index("WARNING"):] for line in seen]
        expect(found == wanted, "%s: expected %s, found %s"
               % (where, wanted, found))


def check_locks(sent, setting, nodes):
    """The right record types in all three ways to see the profile."""
    wanted = {"global"} if setting == "host" else set(nodes)
    for name in ("before", "ours", "stock"):
        locks = stormtable.flush_locks(sent[name])
        expect(set(locks) == wanted, "%s: flush locks of %s, expected %s"
               % (name, stormtable.names(locks), wanted))
        idle = [key for key in wanted if not locks[key].taken]
        expect(not idle, "%s: never taken: flush lock of %s" % (name, idle))
    unknown = matching(sent["stock"], r"^unknown type\(2\) \d+ lock flush_lock")
    expect(len(unknown) == (0 if setting == "host" else len(nodes)),
           "stock xenlockprof: %d records of the unknown type" % len(unknown))
    expect(not matching(sent["ours"], "unknown type"),
           "our xenlockprof does not know a type")
    total = matching(sent["ours"], r"^total profiling time: *[\d.]+s$")
    expect(total and float(total[0].split()[-1].rstrip("s")) > 0,
           "our xenlockprof shows no profiling time")
    shown = {"global" if "lobal" in line else
             int(re.search(r"NUMA node (\d+)", line).group(1))
             for line in matching(sent["keys"],
                                  r"(lobal|NUMA node \d+) flush_lock:")}
    expect(shown == wanted, "debug key l shows flush locks of %s" % shown)


def check_lock_reset(sent):
    def taken(name):
        return sum(lock.taken for lock in
                   stormtable.flush_locks(sent[name]).values())
    expect(taken("reset") < taken("before"),
           "debug key L: %d acquisitions before, %d after"
           % (taken("before"), taken("reset")))


def check_latency(sent, nodes):
    before = stormtable.latencies(sent["keys"])
    after = stormtable.latencies(sent["latency-reset"])
    for name, found in (("keys", before), ("latency-reset", after)):
        expect(set(found) == set(stormtable.CLASSES),
               "%s: debug key f shows %s" % (name, sorted(found)))
    busy = before["one-node" if nodes == 1 else "multi-node"]
    expect(busy.count and 0 < busy.mean <= busy.max and busy.p99,
           "debug key f: no flush was measured")
    expect(nodes > 1 or not before["multi-node"].count,
           "debug key f: flushes of more nodes than there are")
    left = sum(latency.count for latency in after.values())
    count = sum(latency.count for latency in before.values())
    expect(left < count, "debug key F: %d flushes before, %d after"
           % (count, left))


def check_emulation(lines):
    """Without this, programs crash now and then: see bootlib.py."""
    expect(xen_lines(lines, r"Support for PV VMs:.*\bEAGER_FPU\b"),
           "Xen does not switch the FPU eagerly")
    crashed = matching(lines, r"^Segmentation fault|segfault at|general prot"
                       r"ection fault")
    expect(not crashed, "a program crashed: %s" % crashed[:1])


def check_all(topology, lines, setting, value=None):
    """All checks on a boot whose command began with look."""
    sent = files(lines)
    check_emulation(lines)
    nodes = topology.nodes_with_cpus()
    check_grouping(lines, sent, setting,
                   1 if setting == "host" else len(nodes))
    check_warning(lines, sent, value, setting)
    check_locks(sent, setting, nodes)
    check_lock_reset(sent)
    check_latency(sent, len(nodes))
    return sent
