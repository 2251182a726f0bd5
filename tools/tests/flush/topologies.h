/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * topologies.h - the machines that the tests boot.
 *
 * Design: numbers are chosen around the 64-bit words of a CPU mask, with gaps
 * in the numbers, nodes in blocks and interleaved, one node, as many nodes as
 * CPUs.  for_each_machine() runs a test on every one that this NR_CPUS can
 * hold, with every flush-group= setting, each in a process of its own.
 */
#ifndef FLUSH_TEST_TOPOLOGIES_H
#define FLUSH_TEST_TOPOLOGIES_H

#include "check.h"

static const struct sim_topo machines[] = {
    { .nr_ids = 1, .nr_cpus = 1 },
    { .nr_ids = 2, .nr_cpus = 2, .nr_nodes = 2 },
    { .nr_ids = 5, .nr_cpus = 5, .nr_nodes = 1 },
    { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4 },
    { .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 8 },
    { .nr_ids = 64, .nr_cpus = 64, .nr_nodes = 3, .interleave = true },
    { .nr_ids = 64, .nr_cpus = 4, .stride = 21, .nr_nodes = 2 },
    { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 4, .boot_cpus = 11 },
    { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 2, .no_nodes = true },
    { .nr_ids = 12, .nr_cpus = 12, .shim = true },
    { .nr_ids = 16, .nr_cpus = 16, .nr_nodes = 2, .park = true,
      .boot_cpus = 13 },
    { .nr_ids = 65, .nr_cpus = 65, .nr_nodes = 2 },
    { .nr_ids = 130, .nr_cpus = 3, .stride = 64, .nr_nodes = 3 },
    { .nr_ids = 128, .nr_cpus = 128, .nr_nodes = 4, .interleave = true },
    { .nr_ids = 200, .nr_cpus = 200, .nr_nodes = 4 },
    { .nr_ids = 200, .nr_cpus = 10, .stride = 21, .nr_nodes = 5 },
    { .nr_ids = 256, .nr_cpus = 256, .nr_nodes = 8, .interleave = true },
    { .nr_ids = 1024, .nr_cpus = 32, .stride = 33, .nr_nodes = 32 },
    { .nr_ids = 4095, .nr_cpus = 63, .stride = 65, .nr_nodes = 64 },
};

static const char *const settings[] = {
    "flush-group=node", "flush-group=host", "flush-group=cluster"
};

static inline void for_each_machine(void (*fn)(const void *))
{
    unsigned int m, s;

    for ( m = 0; m < ARRAY_SIZE(machines); m++ )
        for ( s = 0; s < (HAVE_GROUPS ? ARRAY_SIZE(settings) : 1); s++ )
        {
            struct sim_topo t = machines[m];
            char what[80];

            if ( t.nr_ids > NR_CPUS )
                continue;
            if ( HAVE_GROUPS )
                t.cmdline = settings[s];
            snprintf(what, sizeof(what), "machine %u (%u CPUs, %u nodes) %s",
                     m, t.nr_cpus, t.nr_nodes, t.cmdline ?: "");
            check_fork(fn, &t, what);
        }
}

static inline unsigned int random_online_cpu(void)
{
    unsigned int cpu;

    do {
        cpu = sim_below(nr_cpu_ids);
    } while ( !cpu_online(cpu) );
    return cpu;
}

/* Any CPUs, present or not; now and then none, one, or all of them. */
static inline void random_mask(cpumask_t *mask)
{
    unsigned int cpu, chance = sim_below(5) * 25;

    cpumask_clear(mask);
    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
        if ( sim_below(100) < chance )
            __cpumask_set_cpu(cpu, mask);
    if ( sim_below(4) == 0 )
        __cpumask_set_cpu(sim_below(nr_cpu_ids), mask);
}

#endif /* FLUSH_TEST_TOPOLOGIES_H */
