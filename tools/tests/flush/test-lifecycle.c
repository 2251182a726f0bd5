/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test-lifecycle.c - from boot option to CPU hot plug.
 *
 * Design
 *
 * Xen's own cpu.c, notifier.c and percpu.c drive the notifier chain, so the
 * per-CPU area of an offlined CPU really goes away (the address sanitizer sees
 * a late use) and comes back zeroed.  After each step every CPU flushes every
 * other one (all_pairs()); the book (book.h) checks who flushed what.
 */
#include "book.h"

static cpumask_t mask;

/* Each online CPU flushes each, then everyone. */
static void all_pairs(void)
{
    unsigned int from, to;

    book_init();
    for_each_online_cpu ( from )
    {
        sim_switch(from);
        for_each_online_cpu ( to )
            book_request(0, cpumask_of(to));
        book_request(0, &cpu_online_map);
        cpumask_copy(&mask, &cpu_present_map);
        book_request(0, &mask);
    }
    sim_switch(0);
    sim_flush_hook = NULL;
}

/* How many locks a flush of everyone by everyone takes: the groups in use. */
static unsigned int groups_in_use(void)
{
    unsigned int from, nr;

    sim_reset_counts();
    for_each_online_cpu ( from )
    {
        sim_switch(from);
        flush_area_mask(&cpu_online_map, NULL, FLUSH_TLB);
    }
    sim_switch(0);
    sim_locks(&nr);
    return nr;
}

static spinlock_t *lock_of(unsigned int cpu)
{
    unsigned int nr;
    struct sim_lock *l;

    sim_reset_counts();
    sim_switch(cpu ? 0 : cpumask_next(0, &cpu_online_map));
    flush_area_mask(cpumask_of(cpu), NULL, FLUSH_TLB);
    sim_switch(0);
    l = sim_locks(&nr);
    CHECK(nr == 1, "%u locks", nr);
    return l->lock;
}

/* ---- boot ---- */
static void test_early(void)
{
    static const struct sim_topo t = {
        .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 2
    };

    sim_boot_to_presmp(&t);
    flush_area_mask(&cpu_online_map, NULL, FLUSH_TLB);
    flush_area_mask(cpumask_of(0), NULL, FLUSH_TLB);
    CHECK(sim_cpu[0].flushes == 2, "%lu", sim_cpu[0].flushes);
    flush_area_mask(&cpu_present_map, NULL, FLUSH_TLB);
    CHECK(sim_cpu[0].flushes == 3, "%lu", sim_cpu[0].flushes);
    CHECK(!sim_counts.posted, "%lu IPIs", sim_counts.posted);
    sim_boot_rest();
    all_pairs();
}

static void boot_machine(const void *arg)
{
    const struct sim_topo *t = arg;

    sim_boot(t);
    if ( t->nr_cpus <= 64 )
        all_pairs();
    CHECK(!strstr(sim_log(), "WARNING"), "%s", sim_log());
    CHECK(!strstr(sim_log(), "no memory"), "%s", sim_log());
}

static void test_machines(void)
{
    for_each_machine(boot_machine);
}

/* ---- how many groups ---- */
struct count_case {
    struct sim_topo t;
    unsigned int groups;
    const char *line;             /* on the console */
};

static void count_groups(const void *arg)
{
    const struct count_case *c = arg;
    unsigned int n;

    sim_boot(&c->t);
    n = groups_in_use();
    CHECK(n == c->groups, "%u groups, not %u", n, c->groups);
    CHECK(sim_log_count(c->line) == 1, "no '%s' in: %s", c->line, sim_log());
    CHECK(sim_log_count("Flush groups:") == 1, "%s", sim_log());
}

static void test_count(void)
{
    static const struct count_case list[] = {
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4,
            .cmdline = "flush-group=node" }, 4,
          "Flush groups: node, 4 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4,
            .cmdline = "flush-group=host" }, 1,
          "Flush groups: host, 1 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4, .interleave = true },
          4, "Flush groups: node, 4 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 1 }, 1,
          "Flush groups: node, 1 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4, .no_nodes = true }, 1,
          "Flush groups: node, 1 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4, .shim = true }, 1,
          "Flush groups: node, 1 group(s)" },
        { { .nr_ids = 2, .nr_cpus = 2, .nr_nodes = 2 }, 2,
          "Flush groups: node, 2 group(s)" },
        { { .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 60 }, 60,
          "Flush groups: node, 60 group(s)" },
        /* APIC IDs are even, so there are 8 CPUs to a cluster. */
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4,
            .cmdline = "flush-group=cluster" }, 4,
          "Flush groups: cluster, 4 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 1,
            .cmdline = "flush-group=cluster" }, 2,
          "Flush groups: cluster, 2 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .no_nodes = true, .nr_nodes = 4,
            .cmdline = "flush-group=cluster" }, 2,
          "Flush groups: cluster, 2 group(s)" },
        { { .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 1,
            .cmdline = "flush-group=cluster" }, 1,
          "Flush groups: cluster, 1 group(s)" },
        { { .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 3,
            .cmdline = "flush-group=cluster" }, 9,
          "Flush groups: cluster, 9 group(s)" },
        { { .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 3, .interleave = true,
            .cmdline = "flush-group=cluster" }, 24,
          "Flush groups: cluster, 24 group(s)" },
        { { .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 3, .physical = true,
            .cmdline = "flush-group=cluster" }, 9,
          "Flush groups: cluster, 9 group(s)" },
        { { .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 3, .shim = true,
            .cmdline = "flush-group=cluster" }, 1,
          "Flush groups: cluster, 1 group(s)" },
        { { .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 3, .xapic = true,
            .cmdline = "flush-group=cluster" }, 3,
          "Flush groups: node, 3 group(s)" },
        { { .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 3, .xapic = true,
            .cmdline = "flush-group=auto" }, 3,
          "Flush groups: node (auto), 3 group(s)" },
        { { .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 3,
            .cmdline = "flush-group=auto" }, 9,
          "Flush groups: cluster (auto), 9 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4,
            .cmdline = "flush-group=auto" }, 4,
          "Flush groups: node (auto), 4 group(s)" },
        /* CPU0 is not in cluster 0. */
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 1, .first_apicid = 32,
            .cmdline = "flush-group=cluster" }, 2,
          "Flush groups: cluster, 2 group(s)" },
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 1, .first_apicid = 32,
            .cmdline = "flush-group=auto" }, 2,
          "Flush groups: cluster (auto), 2 group(s)" },
        /* CPU0 is not on node 0, and no other CPU either. */
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4, .first_node = 2 }, 4,
          "Flush groups: node, 4 group(s)" },
        /* One cluster, several nodes. */
        { { .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 2,
            .cmdline = "flush-group=cluster" }, 2,
          "Flush groups: cluster, 2 group(s)" },
        /* Node 0 has CPUs of one cluster, node 1 of two. */
        { { .nr_ids = 12, .nr_cpus = 12, .nr_nodes = 2,
            .cmdline = "flush-group=auto" }, 3,
          "Flush groups: cluster (auto), 3 group(s)" },
        /* Each node is a cluster. */
        { { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 2,
            .cmdline = "flush-group=auto" }, 2,
          "Flush groups: node (auto), 2 group(s)" },
        /* One node with two clusters is enough: 8 to 11 are in the second. */
        { { .nr_ids = 12, .nr_cpus = 12, .nr_nodes = 3, .interleave = true,
            .cmdline = "flush-group=auto" }, 6,
          "Flush groups: cluster (auto), 6 group(s)" },
    };
    unsigned int i;
    char what[32];

    for ( i = 0; i < ARRAY_SIZE(list); i++ )
    {
        snprintf(what, sizeof(what), "machine %u", i);
        check_fork(count_groups, &list[i], what);
    }
}

/* No x2APIC, no clusters, and a line that says so; "auto" needs none. */
static void no_x2apic(const void *arg)
{
    struct sim_topo t = {
        .nr_ids = 60, .nr_cpus = 60, .nr_nodes = 3, .xapic = true,
        .cmdline = arg
    };
    bool cluster = strstr(arg, "cluster");

    sim_boot(&t);
    all_pairs();
    CHECK(sim_log_count("WARNING: flush-group=cluster needs x2APIC, "
                        "using node\n") == cluster, "%s", sim_log());
    CHECK(sim_log_count("WARNING") == cluster, "%s", sim_log());
}

static void test_no_x2apic(void)
{
    check_fork(no_x2apic, "flush-group=cluster", "cluster");
    check_fork(no_x2apic, "flush-group=auto", "auto");
    check_fork(no_x2apic, "flush-group=node", "node");
}

/* Hardware that sees clusters differently is reported, once, and harmless. */
struct skew_case {
    struct sim_topo t;
    const char *told;             /* NULL: nothing */
};

static void skewed(const void *arg)
{
    const struct skew_case *c = arg;

    sim_boot(&c->t);
    CHECK(!cpu_down(3) && !cpu_up(3), "CPU3");
    CHECK(!c->told || sim_log_count(c->told) == 1, "%s", sim_log());
    CHECK(sim_log_count("in cluster") == !!c->told, "%s", sim_log());
    all_pairs();
}

static void test_skewed(void)
{
    static const struct skew_case list[] = {
        { { .nr_ids = 16, .nr_cpus = 16, .skewed = 3,
            .cmdline = "flush-group=cluster" },
          "CPU3 has APIC ID 0x6, but is in cluster 0x1\n" },
        { { .nr_ids = 16, .nr_cpus = 16, .skewed_cpu0 = true,
            .cmdline = "flush-group=cluster" },
          "CPU0 has APIC ID 0, but is in cluster 0x1\n" },
        { { .nr_ids = 16, .nr_cpus = 16, .skewed = 3, .physical = true,
            .cmdline = "flush-group=cluster" } },
        { { .nr_ids = 16, .nr_cpus = 16, .skewed = 3,
            .cmdline = "flush-group=node" } },
        { { .nr_ids = 16, .nr_cpus = 16,
            .cmdline = "flush-group=cluster" } },
    };
    unsigned int i;
    char what[32];

    for ( i = 0; i < ARRAY_SIZE(list); i++ )
    {
        snprintf(what, sizeof(what), "machine %u", i);
        check_fork(skewed, &list[i], what);
    }
}

/* State is allocated on its own node. */
static void test_own_node(void)
{
    static const struct sim_topo t = {
        .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4
    };
    unsigned int n;

    sim_boot(&t);
    for ( n = 0; n < 4; n++ )
        CHECK(sim_allocs_on[n] > 0, "nothing allocated on node %u", n);
}

/* ---- options ---- */
struct option_case {
    const char *cmdline;
    unsigned int groups;          /* of 4 nodes */
    const char *value;            /* that the warning names; NULL: none */
};

static void one_option(const void *arg)
{
    const struct option_case *c = arg;
    struct sim_topo t = {
        .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 4, .cmdline = c->cmdline
    };
    char want[80];
    unsigned int n;

    sim_boot(&t);
    n = groups_in_use();
    CHECK(n == c->groups, "'%s': %u groups", c->cmdline, n);
    n = sim_log_count("WARNING");
    CHECK(n == (c->value ? 1 : 0), "'%s': %u warnings", c->cmdline, n);
    CHECK(!strstr(sim_log(), "invalid value"), "%s", sim_log());
    CHECK(!strstr(sim_log(), "unknown!"), "%s", sim_log());
    if ( !c->value )
        return;
    snprintf(want, sizeof(want), "WARNING: flush-group=%s", c->value);
    CHECK(strstr(sim_log(), want), "'%s' is not in: %s", want, sim_log());
    CHECK(strstr(sim_log(), "is not known, using node\n"), "%s", sim_log());
}

static void test_options(void)
{
    static const struct option_case list[] = {
        { "", 4, NULL },
        { "flush-group=host", 1, NULL },
        { "flush-group=node", 4, NULL },
        { "flush-group=bogus", 4, "bogus" },
        { "flush-group=", 4, "" },
        { "flush-group", 4, "" },
        { "no-flush-group", 4, "no" },
        { "flush-group=hos", 4, "hos" },
        { "flush-group=hostile", 4, "hostile" },
        { "flush-group=Node", 4, "Node" },
        { "flush-group=bogus flush-group=host", 1, NULL },
        { "flush-group=host flush-group=bogus", 4, "bogus" },
        { "flush-group=x flush-group=y", 4, "y" },
        { "flush-group=host flush-group=node", 4, NULL },
        { "flush-group=node flush-group=host", 1, NULL },
        { "flush-group=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
          4, "abcdefghijkl" },
        { "flush-group=%s%n%d", 4, "%s%n%d" },
    };
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(list); i++ )
        check_fork(one_option, &list[i], list[i].cmdline);
}

/* ---- hot plug ---- */
static void check_chain(unsigned int action, unsigned long before)
{
    CHECK(sim_notified[action & 0xf] == before + 1,
          "action %#x did not reach the end of the chain", action);
}

/* Nobody in the chain may keep an action from the ones behind it. */
static void test_chain(void)
{
    static const struct sim_topo t = {
        .nr_ids = 4, .nr_cpus = 4, .nr_nodes = 2, .boot_cpus = 3
    };
    unsigned long *n = sim_notified;

    sim_boot(&t);
    CHECK(n[CPU_UP_PREPARE & 0xf] == 2, "%lu", n[CPU_UP_PREPARE & 0xf]);
    CHECK(n[CPU_STARTING & 0xf] == 2, "%lu", n[CPU_STARTING & 0xf]);
    CHECK(n[CPU_ONLINE & 0xf] == 2, "%lu", n[CPU_ONLINE & 0xf]);

    CHECK(!cpu_down(2), "down");
    check_chain(CPU_DOWN_PREPARE, 0);
    check_chain(CPU_DYING, 0);
    check_chain(CPU_DEAD, 0);
    CHECK(__per_cpu_offset[2] == __per_cpu_offset[NR_CPUS - 1],
          "the per-CPU area was not freed");
    CHECK(!cpu_up(2), "up");
    check_chain(CPU_UP_PREPARE, 2);
    sim_cpu_up_error = -EIO;
    CHECK(cpu_up(3) == -EIO, "up");
    check_chain(CPU_UP_CANCELED, 0);
    CHECK(__per_cpu_offset[3] == __per_cpu_offset[NR_CPUS - 1],
          "the per-CPU area was not freed");
    sim_cpu_up_error = 0;
    CHECK(!cpu_up(3), "up");
    sim_cpu_remove(3);
    check_chain(CPU_REMOVE, 0);
}

/* Random ups and downs, failed ones among them; nothing leaks. */
static void ups_and_downs(const void *arg)
{
    struct sim_topo t = {
        .nr_ids = 12, .nr_cpus = 12, .nr_nodes = 3, .park = *(bool *)arg
    };
    unsigned long live;
    unsigned int i, cpu;

    sim_boot(&t);
    live = sim_live;
    for ( i = 0; i < 60 * check_scale; i++ )
    {
        cpu = 1 + sim_below(11);
        sim_cpu_up_error = sim_below(4) ? 0 : -EIO;
        if ( cpu_online(cpu) )
            CHECK(!cpu_down(cpu), "CPU%u", cpu);
        else if ( cpu_up(cpu) )
            CHECK(sim_cpu_up_error, "CPU%u", cpu);
        if ( num_online_cpus() > 1 && i % 6 == 0 )
            all_pairs();
    }
    sim_cpu_up_error = 0;
    for ( cpu = 1; cpu < 12; cpu++ )
        if ( !cpu_online(cpu) )
            CHECK(!cpu_up(cpu), "CPU%u", cpu);
    CHECK(sim_live == live, "%ld allocations leaked", sim_live - live);
    all_pairs();
}

static const bool parking[] = { false, true };

static void test_ups_and_downs(void)
{
    check_fork(ups_and_downs, &parking[0], "not parked");
    check_fork(ups_and_downs, &parking[1], "parked");
}

/* A CPU number comes back on another node, or on one that was not there. */
static void move_cpu(const void *arg)
{
    struct sim_topo t = {
        .nr_ids = 12, .nr_cpus = 12, .nr_nodes = 3, .park = *(bool *)arg
    };
    spinlock_t *old;

    sim_boot(&t);
    old = lock_of(1);
    CHECK(!cpu_down(1), "down");
    if ( t.park )
        sim_cpu_remove(1);
    sim_set_cpu(1, 1001, 2);
    CHECK(!cpu_up(1), "up");
    CHECK(lock_of(1) != old, "still in the old group");
    CHECK(lock_of(1) == lock_of(11), "not in its node's group");
    all_pairs();

    CHECK(!cpu_down(1), "down");
    if ( t.park )
        sim_cpu_remove(1);
    sim_set_cpu(1, 1002, 7);
    CHECK(!cpu_up(1), "up");
    all_pairs();
    CHECK(lock_of(1) != lock_of(11) && lock_of(1) != old, "no new group");
    CHECK(groups_in_use() == 4, "%u groups", groups_in_use());

    CHECK(!cpu_down(1), "down");
    if ( t.park )
        sim_cpu_remove(1);
    sim_set_cpu(1, 2, 0);
    CHECK(!cpu_up(1), "up");
    CHECK(lock_of(1) == old, "not back home");
    all_pairs();
}

static void test_move(void)
{
    check_fork(move_cpu, &parking[0], "not parked");
    check_fork(move_cpu, &parking[1], "parked");
}

/* The last CPU of a node goes; the group must not disturb anybody. */
static void test_empty_group(void)
{
    static const struct sim_topo t = {
        .nr_ids = 9, .nr_cpus = 9, .nr_nodes = 3
    };
    unsigned int cpu;

    sim_boot(&t);
    for ( cpu = 3; cpu < 6; cpu++ )
        CHECK(!cpu_down(cpu), "CPU%u", cpu);
    CHECK(groups_in_use() == 2, "%u groups", groups_in_use());
    all_pairs();
    for ( cpu = 3; cpu < 6; cpu++ )
        CHECK(!cpu_up(cpu), "CPU%u", cpu);
    CHECK(groups_in_use() == 3, "%u groups", groups_in_use());
    all_pairs();
}

/* S3: every CPU but CPU0 goes and comes back, some do not. */
static void suspend(const void *arg)
{
    struct sim_topo t = {
        .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 4, .park = *(bool *)arg
    };
    unsigned int round, cpu;

    sim_boot(&t);
    for ( round = 0; round < 3; round++ )
    {
        system_state = SYS_STATE_suspend;
        CHECK(!disable_nonboot_cpus(), "suspend");
        CHECK(num_online_cpus() == 1, "%u", num_online_cpus());
        flush_area_mask(&cpu_online_map, NULL, FLUSH_TLB);
        flush_area_mask(&cpu_present_map, NULL, FLUSH_TLB);
        system_state = SYS_STATE_resume;
        /*
         * Not parked, 4.17 frees such a CPU's area twice: CPU_UP_CANCELED,
         * then CPU_RESUME_FAILED.
         */
        sim_cpu_up_error = round == 1 && t.park ? -EIO : 0;
        enable_nonboot_cpus();
        sim_cpu_up_error = 0;
        system_state = SYS_STATE_active;
        for ( cpu = 1; cpu < 8; cpu++ )
            CHECK(cpu_online(cpu) || !cpu_up(cpu), "CPU%u", cpu);
        CHECK(num_online_cpus() == 8, "%u", num_online_cpus());
        all_pairs();
    }
}

static void test_suspend(void)
{
    check_fork(suspend, &parking[0], "not parked");
    check_fork(suspend, &parking[1], "parked");
}

/* ---- out of memory ---- */
/* The n-th allocation of the boot fails, or all from there on. */
struct oom_case {
    unsigned long nth;
    bool all;
    const char *cmdline;
};

static void oom_boot(const void *arg)
{
    const struct oom_case *c = arg;
    const struct sim_topo t = {
        .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 4, .boot_cpus = 1,
        .cmdline = c->cmdline
    };
    unsigned int cpu;

    sim_boot_to_presmp(&t);
    sim_panic_expected = true;    /* CPU0 cannot do without */
    if ( c->all )
        sim_fail_from = c->nth;
    else
        sim_fail_alloc = c->nth;
    sim_boot_rest();
    sim_panic_expected = false;
    for ( cpu = 1; cpu < 8; cpu++ )
    {
        int rc = cpu_up(cpu);

        CHECK(!rc || rc == -ENOMEM, "CPU%u: %d", cpu, rc);
        CHECK(!rc == cpu_online(cpu), "CPU%u: %d", cpu, rc);
    }
    all_pairs();
    sim_fail_alloc = sim_fail_from = 0;
    for ( cpu = 1; cpu < 8; cpu++ )
        if ( !cpu_online(cpu) )
            CHECK(!cpu_up(cpu), "CPU%u", cpu);
    all_pairs();
}

static void test_out_of_memory(void)
{
    unsigned long i;

    for ( i = 0; i < 120; i++ )
    {
        struct oom_case c = {
            .nth = 1 + i / 4, .all = i & 1,
            .cmdline = HAVE_GROUPS && (i & 2) ? "flush-group=cluster" : ""
        };
        char what[40];

        snprintf(what, sizeof(what), "allocation %lu fails", c.nth);
        check_fork(oom_boot, &c, what);
    }
}

/* No memory for a group: its CPUs go elsewhere, and may move later. */
static void test_no_memory_for_group(void)
{
    static const struct sim_topo t = {
        .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 4, .boot_cpus = 4
    };
    unsigned int cpu;

    sim_boot(&t);
    CHECK(groups_in_use() == 2, "%u groups", groups_in_use());
    sim_fail_alloc = sim_allocs + 1 + (NR_CPUS > 128 ? 2 : 1);
    cpu_up(4);
    sim_fail_alloc = 0;
    for ( cpu = 4; cpu < 8; cpu++ )
        if ( !cpu_online(cpu) )
            CHECK(!cpu_up(cpu), "CPU%u", cpu);
    all_pairs();
    CHECK(!cpu_down(4) && !cpu_up(4), "CPU4");
    all_pairs();
    CHECK(groups_in_use() == 4, "%u groups", groups_in_use());
}

/* ---- hot plug while everybody flushes ---- */
static unsigned int active;

static void flusher(void *arg)
{
    unsigned int slot = (uintptr_t)arg, i;
    static cpumask_t m[BOOK_SLOTS];

    for ( i = 0; active; i++ )
    {
        sim_softirq();
        random_mask(&m[slot]);
        __cpumask_clear_cpu(sim_self.cpu, &m[slot]);
        book_request(slot, &m[slot]);
    }
}

static void plugger(void *arg)
{
    unsigned int i, cpu;

    for ( i = 0; i < 20; i++ )
    {
        cpu = 1 + sim_below(7);
        if ( cpu_online(cpu) )
        {
            CHECK(!cpu_down(cpu), "CPU%u", cpu);
            /* Another one takes its place, on any node. */
            sim_set_cpu(cpu, 2 * cpu, sim_below(10));
        }
        else
            CHECK(!cpu_up(cpu), "CPU%u", cpu);
    }
    for ( cpu = 1; cpu < 8; cpu++ )
        if ( !cpu_online(cpu) )
            CHECK(!cpu_up(cpu), "CPU%u", cpu);
    active = 0;
}

static void plug_storm(const void *arg)
{
    struct sim_topo t = {
        .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 3, .park = *(bool *)arg
    };
    unsigned int round, cpu;

    sim_boot(&t);
    book_init();
    for ( round = 0; round < 10 * check_scale; round++ )
    {
        active = 1;
        sim_spawn(0, plugger, NULL);
        for ( cpu = 1; cpu < 8; cpu += 2 )
            sim_spawn(cpu, flusher, (void *)(uintptr_t)cpu);
        sim_run(round & 1 ? 40 : 250, 3000000);
    }
    printf("# %lu requests by CPU7\n", book_done[7]);
}

static void test_plug_storm(void)
{
    check_fork(plug_storm, &parking[0], "not parked");
    check_fork(plug_storm, &parking[1], "parked");
}

/* One CPU comes and goes, each time on a node that was not there before. */
static void newcomer(void *arg)
{
    unsigned int node;

    for ( node = 4; node < 60; node++ )
    {
        CHECK(!cpu_down(8), "CPU8");
        sim_set_cpu(8, 16, node);
        CHECK(!cpu_up(8), "CPU8");
    }
    active = 0;
}

static void test_new_groups(void)
{
    static const struct sim_topo t = {
        .nr_ids = 9, .nr_cpus = 9, .nr_nodes = 4
    };
    unsigned int cpu;

    sim_boot(&t);
    book_init();
    active = 1;
    sim_spawn(0, newcomer, NULL);
    for ( cpu = 1; cpu < 8; cpu++ )
        sim_spawn(cpu, flusher, (void *)(uintptr_t)cpu);
    sim_run(250, 20000000);
}

static const struct check_case cases[] = {
    { "before the presmp initcalls", test_early },
    { "boot of all machines", test_machines, 60 },
    { "nobody cuts the notifier chain", test_chain },
    { "ups and downs", test_ups_and_downs, 60 },
    { "suspend and resume", test_suspend },
    { "out of memory", test_out_of_memory, 60 },
    { "hot plug while everybody flushes", test_plug_storm, 60 },
#ifdef SUBJECT_ENGINE
    { "new groups while everybody flushes", test_new_groups, 60 },
    { "number of groups", test_count },
    { "no x2APIC", test_no_x2apic },
    { "cluster of APIC ID and LDR differ", test_skewed },
    { "state on its own node", test_own_node },
    { "flush-group= option", test_options },
    { "CPU moves to another node", test_move },
    { "group without CPUs", test_empty_group },
    { "no memory for a group", test_no_memory_for_group },
#endif
};
CHECK_MAIN("test-lifecycle", cases)
