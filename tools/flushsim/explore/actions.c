/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * actions.c - what the programs of the cases do to memory.
 *
 * Design: compiled like the code under test, so that each access counts.  A
 * request changes its own page table entry, then flushes.  The mask that
 * changes is a domain's dirty mask: a CPU adds itself, then walks the tables.
 */
#include "explore.h"

#include "sim.h"

/* Each in a granule of its own; 0 is the old value. */
static unsigned long pte[MAX_REQUESTS];
static unsigned long reports[MAX_REQUESTS][MAX_VCPUS];
static cpumask_t dirty_mask;
static cpumask_t masks[MAX_VCPUS];

void action_boot(uint64_t dirty)
{
    dirty_mask.bits[0] = dirty;
}

void action_set_pte(unsigned int request)
{
    write_atomic(&pte[request], 1);
}

void action_xchg_pte(unsigned int request)
{
    (void)xchg(&pte[request], 1);
}

bool action_pte_is_old(unsigned int request)
{
    return !read_atomic(&pte[request]);
}

void action_report(unsigned int request, unsigned int cpu)
{
    reports[request][cpu] = 1;
}

bool action_reported(unsigned int request, unsigned int cpu)
{
    return reports[request][cpu];
}

void action_enter(unsigned int cpu)
{
    cpumask_set_cpu(cpu, &dirty_mask);
}

void action_leave(unsigned int cpu)
{
    cpumask_clear_cpu(cpu, &dirty_mask);
}

void action_flush(uint64_t mask, const void *va, unsigned int flags)
{
    cpumask_t *m = &masks[smp_processor_id()];

    m->bits[0] = mask;
    flush_area_mask(m, va, flags);
}

void action_flush_dirty(const void *va, unsigned int flags)
{
    flush_area_mask(&dirty_mask, va, flags);
}

/* For sim.c, as __cpu_up() and __cpu_disable() do it. */
void action_set_online(unsigned int cpu, bool online)
{
    if ( online )
        cpumask_set_cpu(cpu, &cpu_online_map);
    else
        cpumask_clear_cpu(cpu, &cpu_online_map);
}
