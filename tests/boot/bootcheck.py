# SPDX-License-Identifier: GPL-2.0-only
"""What the boot tests have in common: boot, look, and judge what was seen.

A test calls boot() once or more and expect() on what it returns, then
passed().  The first thing that is not as it must be ends the test with one
line and status 1.  Logs: BUILD/test/TEST-NAME.serial.log.
"""

import os
import re
import resource
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "automation", "scripts"))
import bootlib      # noqa: E402
import stormtable   # noqa: E402

# One script serves many tests; tests/run says which one it is.
NAME = os.environ.get("TEST") or os.path.basename(sys.argv[0])
LOOK_FILES = ("before", "reset", "ours", "stock", "keys", "latency-reset")
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


def log_name(*words):
    return "-".join(filter(None, (re.sub(r"[^\w]+", "-", word).strip("-")
                                  for word in (NAME, *words))))


def boot(topology_name, command, xen_args, timeout=BOOT_SECONDS, label=None,
         **machine):
    """One boot; dom0's command must end with 0.  All lines seen.

    machine: further arguments of bootlib.Machine
    """
    topology = bootlib.Topology(topology_name)
    label = label or log_name(topology_name, xen_args)
    log = os.path.join(bootlib.BUILD, "test", label + ".serial.log")
    lines = []
    say("booting %s with '%s', log %s" % (topology_name, xen_args,
                                          os.path.relpath(log)))
    seconds, begin = [0], [0]

    def on_line(line):
        if line is not None:
            lines.append(line)
            if "(XEN) flush-test: TAP" in line:
                begin[0] = running.elapsed()
            elif "(XEN) flush-test: result:" in line:
                say("self test: %.1f s" % (running.elapsed() - begin[0]))
        if running.elapsed() - seconds[0] > 15:
            seconds[0] = running.elapsed()
            say("%3d s, %d lines" % (seconds[0], len(lines)))

    bootlib.exit_on_signals()
    try:
        with bootlib.Machine(topology, log, command, xen_args,
                             **machine) as running:
            status = running.run(timeout, on_line)
    except bootlib.BootError as error:
        fail(str(error))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    say("ended after %d s (%d s of CPU time) with status %d" % (
        running.elapsed(), usage.ru_utime + usage.ru_stime, status))
    expect(status == 0, "the command in dom0 ended with status %d; see %s"
           % (status, os.path.relpath(log)))
    expect(running.powered_off and xen_lines(lines, "Entering ACPI S5 state"),
           "the machine did not power off; see %s" % os.path.relpath(log))
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

def check_grouping(lines, sent, grouping):
    """Exactly one line on the groups; a warning if there is a reason to."""
    for start, wanted in (("Flush groups: ", grouping.line),
                          ("WARNING: flush-group", grouping.warning)):
        for where, seen in (("serial console", xen_lines(lines, start)),
                            ("xl dmesg", matching(sent["messages"], start))):
            found = [line[line.index(start):] for line in seen]
            expect(found == ([wanted] if wanted else []),
                   "%s: expected %s, found %s" % (where, wanted, found))


LOCK = re.compile(r"(?:(global) lock|(?:NUMA node|unknown type\(2\)) (\d+)"
                  r" lock) (flush_lock(?:_cluster\d+)?) *: *lock: *(\d+)\(")
LOCK_BY_KEY = re.compile(r"(?:G(lobal)|NUMA node (\d+)) "
                         r"(flush_lock(?:_cluster\d+)?):")


def lock_id(found):
    """As in topology.Grouping."""
    return ("global" if found.group(1) else int(found.group(2)),
            found.group(3))


def locks_taken(lockprof):
    """{(owner, name): acquisitions} of the groups' locks."""
    found = list(filter(None, map(LOCK.match, lockprof)))
    taken = {lock_id(f): int(f.group(4)) for f in found}
    expect(len(taken) == len(found), "lock profile: two records of one name "
           "in %s" % [f.group(0) for f in found])
    return taken


def show(locks):
    return ", ".join("%s %s" % lock for lock in sorted(locks, key=str)) or "-"


def check_profile(where, lockprof, grouping):
    taken = locks_taken(lockprof)
    expect(set(taken) == grouping.locks, "%s: flush locks: %s; expected: %s"
           % (where, show(taken), show(grouping.locks)))
    idle = [lock for lock in grouping.busy if not taken[lock]]
    expect(not idle, "%s: never taken: %s" % (where, show(idle)))


def check_tools(sent, grouping):
    """The right record types in all ways to see the profile."""
    for name in ("before", "ours", "stock"):
        check_profile(name, sent[name], grouping)
    of_nodes = [lock for lock in grouping.locks if lock[0] != "global"]
    unknown = matching(sent["stock"], r"^unknown type\(2\) \d+ lock flush_lock")
    expect(len(unknown) == len(of_nodes),
           "stock xenlockprof: %d records of the unknown type" % len(unknown))
    expect(not matching(sent["ours"], "unknown type"),
           "our xenlockprof does not know a type")
    total = matching(sent["ours"], r"^total profiling time: *[\d.]+s$")
    expect(total and float(total[0].split()[-1].rstrip("s")) > 0,
           "our xenlockprof shows no profiling time")
    shown = {lock_id(f) for f in map(LOCK_BY_KEY.search, sent["keys"]) if f}
    expect(shown == grouping.locks, "debug key l shows flush locks: %s"
           % show(shown))


def check_lock_reset(sent):
    def taken(name):
        return sum(locks_taken(sent[name]).values())
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


def check_look(topology, lines, value=None):
    """What look adds to survey."""
    sent = files(lines)
    grouping = topology.expected.grouping(value)
    check_tools(sent, grouping)
    check_lock_reset(sent)
    check_latency(sent, len(topology.expected.online))


# --- what every boot with survey must show ---------------------------------

def check_brought_up(lines, expected):
    found = [re.search(r"(Brought up|Parked) \d+ CPUs", line).group(0)
             for line in xen_lines(lines, r"(Brought up|Parked) \d+ CPUs")]
    wanted = ["Brought up %d CPUs" % expected.count()]
    if expected.parked:
        wanted.append("Parked %d CPUs" % expected.parked)
    expect(found == wanted, "Xen says %s, expected %s" % (found, wanted))


def section(lines, start):
    """The table below a line of xl info -n that starts so."""
    starts = [n for n, line in enumerate(lines) if line.startswith(start)]
    expect(len(starts) == 1, "xl info -n: no '%s'" % start)
    rows = {}
    for line in lines[starts[0] + 2:]:
        found = re.match(r" *(\d+): +(.*)$", line)
        if not found:
            break
        rows[int(found.group(1))] = found.group(2).split()
    return rows


def check_cpus(sent, expected):
    """Which CPUs are online, and of which node is each."""
    pools = [line.split() for line in sent["pools"][1:]]
    expect(len(pools) == 1 and len(pools[0]) == 2, "xl cpupool-list -c: not "
           "one pool with a list of CPUs: %s" % pools)
    online = sorted(map(int, pools[0][1].split(",")))
    expect(online == expected.cpus(), "CPUs online: %s, expected %s"
           % (online, expected.cpus()))
    count = matching(sent["topology"], r"^nr_cpus *: %d$" % expected.count())
    expect(len(count) == 1, "xl info: nr_cpus is not %d" % expected.count())
    check_nodes_of_cpus(sent, expected)


def check_nodes_of_cpus(sent, expected):
    """xl leaves out an AMD CPU that is alone in its socket; key u does not."""
    shown = {}
    for line in sent["nodes"]:
        found = re.search(r"CPU(\d+)(?:\.\.\.(\d+))? -> NODE(\d+)", line)
        first, last, node = found.groups()
        cpus = range(int(first), int(last or first) + 1)
        shown.setdefault(int(node), []).extend(cpus)
    expect(shown == expected.online, "debug key u: CPUs of nodes: %s, "
           "expected %s" % (shown, expected.online))
    rows = section(sent["topology"], "cpu_topology")
    wrong = [cpu for node, cpus in expected.online.items() for cpu in cpus
             if rows.get(cpu, [str(node)])[-1] != str(node)]
    expect(not wrong, "xl info -n: CPUs of a wrong node: %s" % wrong)


def check_nodes(sent, expected):
    rows = section(sent["topology"], "numa_info")
    nodes = set(expected.online) | expected.memory
    if not expected.parked:
        expect(set(rows) == nodes, "xl info -n: nodes %s, expected %s"
               % (sorted(rows), sorted(nodes)))
    memory = {node for node, row in rows.items() if int(row[0])}
    expect(memory == expected.memory, "xl info -n: nodes with memory: %s, "
           "expected %s" % (sorted(memory), sorted(expected.memory)))


def check_vcpus(sent, count, expected):
    rows = [line.split() for line in sent["vcpus"][1:]]
    good = [row for row in rows
            if row[0] == "Domain-0" and re.fullmatch("[rb-]{3}", row[4])
            and (row[3] == "-" or int(row[3]) in expected.cpus())]
    expect(len(good) == len(rows) == count,
           "xl vcpu-list: not %d vCPUs of dom0 on CPUs online: %s"
           % (count, rows))


SURVEY_FILES = ("messages", "topology", "pools", "nodes", "vcpus", "lockprof")


def check_survey(topology, lines, value, vcpus):
    """All checks on a boot with flush-group=value that ran survey."""
    expected = topology.expected
    sent = files(lines, SURVEY_FILES)
    grouping = expected.grouping(value)
    check_emulation(lines)
    check_brought_up(lines, expected)
    check_grouping(lines, sent, grouping)
    check_profile("lock profile", sent["lockprof"], grouping)
    check_cpus(sent, expected)
    check_nodes(sent, expected)
    check_vcpus(sent, vcpus, expected)


# --- the self test that Xen runs at boot ------------------------------------

def flush_test_option(requests, seed):
    return "flush-test=torture:%d,oracle:%d,seed:%d" % (
        requests, oracle_swaps(requests), seed)


def oracle_swaps(requests):
    return max(min(requests // 50, 500), 1)


def check_flush_test(topology, lines, requests, seed):
    """One result, that of this seed, and the whole number of requests."""
    said = [line[line.index("flush-test: ") + 12:]
            for line in xen_lines(lines, "flush-test: ")]
    results = matching(said, "^result:")
    expect(results == ["result: PASS seed %d" % seed],
           "flush-test: not one 'result: PASS seed %d', but %s; also: %s"
           % (seed, results, matching(said, "^(not ok|# )")))
    parts = matching(said, "^(not )?ok ")
    torture = "ok 1 - torture: %d requests, 0 lost, 0 stray" % requests
    oracle = r"ok 2 - oracle: %d swaps, \d+ reads, 0 stale" \
        % oracle_swaps(requests)
    expect(len(parts) == 2 and parts[0] == torture
           and re.fullmatch(oracle, parts[1]),
           "flush-test: expected '%s' and '%s', found %s"
           % (torture, oracle, parts))
    count = "# seed %d, %d CPUs" % (seed, topology.expected.count())
    expect(len(matching(said, "^%s$" % count)) == 1,
           "flush-test: no line '%s'" % count)
    say("torture: %d requests, 0 lost, 0 stray, seed %d" % (requests, seed))
