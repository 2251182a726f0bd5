/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test-sched.c - many initiators, interleaved at every atomic access.
 *
 * Design
 *
 * Sched mode, many short runs with other seeds: workers on some CPUs send
 * random requests, spurious interrupts fly, the book (book.h) checks each
 * flush.  Preemption is drawn per run: rare switches reach deep interleavings,
 * frequent ones reach all the near ones.
 *
 * Fairness: everybody flushes all the time for a fixed number of steps; the
 * counts of completed requests by CPU must not be further apart than 2:1.
 */
#include "book.h"

static unsigned int requests;
static bool spurious;

static void random_targets(cpumask_t *m)
{
    random_mask(m);
    __cpumask_clear_cpu(sim_self.cpu, m);
    if ( sim_below(6) == 0 )
        cpumask_copy(m, &cpu_online_map);
    __cpumask_clear_cpu(sim_self.cpu, m);
}

static void worker(void *arg)
{
    static cpumask_t masks[BOOK_SLOTS];
    unsigned int slot = (uintptr_t)arg, i;

    for ( i = 0; i < requests; i++ )
    {
        random_targets(&masks[slot]);
        book_request(slot, &masks[slot]);
        if ( spurious )
            sim_cpu[random_online_cpu()].pending = true;
    }
}

static void storms(const struct sim_topo *t, unsigned int workers,
                   unsigned int runs)
{
    unsigned int run, w, chance, online = t->boot_cpus ?: t->nr_cpus;

    sim_boot(t);
    book_init();
    for ( run = 0; run < runs * check_scale; run++ )
    {
        sim_seed = sim_seed0 + run * 1000003ul;
        chance = (unsigned int[]){ 0, 5, 30, 100, 300, 600 }[sim_below(6)];
        requests = 4 + sim_below(12);
        /* Upstream's handler repeats the last message then. */
        spurious = HAVE_GROUPS && (run & 1);
        for ( w = 0; w < workers; w++ )
        {
            unsigned int cpu = sim_cpu_nr((w * 5 + run) % online);

            sim_spawn(cpu, worker, (void *)(uintptr_t)w);
        }
        /* A step is an atomic access, and each look at a mask is one a word. */
        sim_run(chance, 3000000ul * (1 + nr_cpu_ids / 512));
    }
}

static void storm_machine(const void *arg)
{
    const struct sim_topo *t = arg;
    unsigned int online = t->boot_cpus ?: t->nr_cpus;

    /* Workers sit on CPUs 5 apart, modulo the number of CPUs. */
    if ( online % 5 == 0 || online > 64 )
        return;
    storms(t, min(online, 6u), 30);
}

static void test_storms(void)
{
    for_each_machine(storm_machine);
}

/* Small machines, where every interleaving has a chance to come up. */
static void small_storm(const void *arg)
{
    struct sim_topo t = {
        .nr_ids = 4, .nr_cpus = 4, .nr_nodes = 2, .cmdline = arg
    };

    storms(&t, 4, 700);
}

static void test_small_storms(void)
{
    check_fork(small_storm, "", "default");
    if ( HAVE_GROUPS )
        check_fork(small_storm, "flush-group=host", "host");
}

/* ---- fairness ---- */
static unsigned long fair_steps;
static int pattern;

static void saturate(void *arg)
{
    static cpumask_t masks[BOOK_SLOTS];
    unsigned int slot = (uintptr_t)arg;
    cpumask_t *m = &masks[slot];

    while ( sim_steps < fair_steps )
    {
        switch ( pattern )
        {
        case 0:                   /* everybody, everyone else */
            cpumask_copy(m, &cpu_online_map);
            break;
        case 1:                   /* some of the own node */
            random_mask(m);
            cpumask_and(m, m, &node_to_cpumask[cpu_to_node(sim_self.cpu)]);
            break;
        case 2:                   /* anything */
            random_mask(m);
            break;
        case 3:                   /* two nodes, the first one always */
            cpumask_or(m, &node_to_cpumask[0],
                       &node_to_cpumask[cpu_to_node(sim_self.cpu)]);
            break;
        }
        __cpumask_clear_cpu(sim_self.cpu, m);
        if ( cpumask_empty(m) )
            __cpumask_set_cpu(slot ^ 1, m);     /* a neighbour */
        book_request(slot, m);
    }
}

static void fair(const void *arg)
{
    struct sim_topo t = {
        .nr_ids = 12, .nr_cpus = 12, .nr_nodes = 3, .cmdline = arg
    };
    unsigned int i;

    sim_boot(&t);
    book_init();
    fair_steps = 1500000;
    for ( pattern = 0; pattern < 4; pattern++ )
    {
        unsigned long least = ~0ul, most = 0;

        memset(book_done, 0, sizeof(book_done));
        for ( i = 0; i < 12; i++ )
            sim_spawn(i, saturate, (void *)(uintptr_t)i);
        sim_run(10, 3 * fair_steps);
        for ( i = 0; i < 12; i++ )
        {
            least = min(least, book_done[i]);
            most = max(most, book_done[i]);
        }
        printf("# fairness %s, pattern %d: %lu..%lu requests a CPU, "
               "ratio %.2f\n", *t.cmdline ? t.cmdline : SUBJECT, pattern,
               least, most, (double)most / (least ?: 1));
        CHECK(most <= 2 * least, "pattern %d: %lu..%lu", pattern, least, most);
    }
}

static void test_fairness(void)
{
    check_fork(fair, HAVE_GROUPS ? "flush-group=node" : "", "default");
    if ( HAVE_GROUPS )
        check_fork(fair, "flush-group=host", "host");
}

static const struct check_case cases[] = {
    { "storms on all machines", test_storms, 60 },
    { "small storms", test_small_storms, 60 },
    { "fairness", test_fairness, 60 },
};
CHECK_MAIN("test-sched", cases)
