/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test-handler.c - what a target does on INVALIDATE_TLB_VECTOR.
 *
 * Design
 *
 * Direct mode: the handler is run on chosen CPUs at chosen moments: with no
 * round, before, while and after a round is filled, with interrupts off.
 * sim_flush_hook looks around from inside a flush.
 */
#include "topologies.h"

static const struct sim_topo two_nodes = {
    .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 2
};

static cpumask_t mask;

static void boot(void)
{
    sim_boot(&two_nodes);
    cpumask_clear(&mask);
    __cpumask_set_cpu(2, &mask);
    __cpumask_set_cpu(5, &mask);
}

static void flush(void)
{
    flush_area_mask(&mask, (void *)0x1000, FLUSH_TLB);
}

/* A group lies in a page of its own, the lock in front. */
static const char *group_page(unsigned int cpu)
{
    unsigned int nr;
    struct sim_lock *l;

    sim_reset_counts();
    flush_area_mask(cpumask_of(cpu), NULL, FLUSH_TLB);
    l = sim_locks(&nr);
    CHECK(nr == 1, "%u locks", nr);
    return (const char *)((uintptr_t)l->lock & ~(PAGE_SIZE - 1));
}

/* No round, own bit not set: acknowledge, and nothing else. */
static void test_spurious(void)
{
    static char before[PAGE_SIZE];
    unsigned int cpu;

    boot();
    for ( cpu = 0; cpu < 8; cpu++ )
    {
        const char *page = group_page(cpu ?: 1);

        memcpy(before, page, PAGE_SIZE);
        sim_reset_counts();
        sim_spurious(cpu);
        CHECK(!memcmp(before, page, PAGE_SIZE), "CPU%u wrote", cpu);
        CHECK(!sim_cpu[cpu].flushes && !sim_cpu[cpu].syncs, "CPU%u", cpu);
        CHECK(sim_cpu[cpu].acks == 1, "CPU%u: %lu", cpu, sim_cpu[cpu].acks);
    }
}

/* A vector left over from a previous kernel, before there are groups. */
static void test_spurious_early(void)
{
    sim_boot_to_presmp(&two_nodes);
    sim_spurious(0);
    CHECK(sim_cpu[0].acks == 1, "%lu", sim_cpu[0].acks);
    sim_boot_rest();
    flush_area_mask(&cpu_online_map, NULL, FLUSH_TLB);
}

/* On everybody, as soon as the lock is taken: nothing is filled yet. */
static void spurious_everywhere(void)
{
    unsigned int cpu;

    for_each_online_cpu ( cpu )
        if ( cpu != sim_self.cpu )
            sim_spurious(cpu);
}

static void at_lock(spinlock_t *lock, enum sim_lock_op op)
{
    unsigned int cpu;

    if ( op == SIM_LOCK_WAIT )
        return;
    if ( op == SIM_LOCK_GOT )
        for_each_online_cpu ( cpu )
            CHECK(cpu == sim_self.cpu || !sim_cpu[cpu].flushes ||
                  cpumask_test_cpu(cpu, &mask), "CPU%u", cpu);
    spurious_everywhere();
}

static void check_each_once(void)
{
    unsigned int cpu;

    for_each_online_cpu ( cpu )
    {
        unsigned long want = cpumask_test_cpu(cpu, &mask) ? 1 : 0;

        CHECK(sim_cpu[cpu].flushes == want, "CPU%u: %lu", cpu,
              sim_cpu[cpu].flushes);
    }
}

static void test_spurious_at_lock(void)
{
    boot();
    sim_reset_counts();
    sim_lock_hook = at_lock;
    flush();
    check_each_once();
}

/* After the round is filled, before the IPI: it counts, once. */
static void at_ipi(const cpumask_t *targets)
{
    spurious_everywhere();
}

static void test_spurious_at_ipi(void)
{
    boot();
    sim_reset_counts();
    sim_ipi_hook = at_ipi;
    flush();
    check_each_once();
    /* All had acknowledged by then: nobody waits for the IPI. */
    spurious_everywhere();
    check_each_once();
}

static void test_spurious_at_relax(void)
{
    unsigned int i;

    boot();
    sim_relax_hook = spurious_everywhere;
    for ( i = 0; i < 50; i++ )
    {
        sim_reset_counts();
        flush();
        check_each_once();
    }
}

/* The ack comes last: while a target flushes, the round is still on. */
static void in_flush(unsigned int cpu, const void *va, unsigned int flags)
{
    unsigned int nr, i;
    struct sim_lock *l = sim_locks(&nr);
    bool held = false;

    for ( i = 0; i < nr; i++ )
        held |= l[i].lock->tickets.head != l[i].lock->tickets.tail;
    CHECK(held, "CPU%u flushes with no round on", cpu);
}

/*
 * The same, seen from the initiator: it must not get away while a target is
 * inside flush_area_local().
 */
static bool inside, stay_inside;

static void slow_flush(unsigned int cpu, const void *va, unsigned int flags)
{
    inside = true;
    while ( stay_inside )
        sim_yield();
    inside = false;
}

static void initiator(void *arg)
{
    flush_area_mask(&mask, NULL, FLUSH_TLB);
    CHECK(!inside, "returned while a target was flushing");
}

static void releaser(void *arg)
{
    unsigned int i;

    while ( !inside )
        sim_yield();
    for ( i = 0; i < 2000; i++ )
        sim_yield();
    stay_inside = false;
}

static void test_ack_last(void)
{
    boot();
    sim_reset_counts();
    sim_flush_hook = in_flush;
    flush();

    sim_flush_hook = slow_flush;
    cpumask_clear(&mask);
    __cpumask_set_cpu(6, &mask);
    stay_inside = true;
    sim_spawn(0, initiator, NULL);
    sim_spawn(1, releaser, NULL);
    sim_run(0, 1000000);
}

/* Online, but interrupts off: the IPI stays pending, the flush waits. */
static unsigned long relaxes;

static void late_irq_on(void)
{
    if ( ++relaxes == 300 )
        sim_cpu[5].irq_on = true;
    CHECK(relaxes >= 300 || !sim_cpu[5].flushes, "flushed with irqs off");
}

static void test_irqs_off(void)
{
    boot();
    sim_reset_counts();
    sim_cpu[5].irq_on = false;
    sim_relax_hook = late_irq_on;
    flush();
    CHECK(relaxes >= 300, "returned after %lu", relaxes);
    check_each_once();
}

/* Initiators serve others while they wait: for a lock and for acks. */
static void both_ways(void *arg)
{
    unsigned int i, peer = (uintptr_t)arg;

    for ( i = 0; i < 200; i++ )
        flush_area_mask(cpumask_of(peer), NULL, FLUSH_TLB);
}

static void test_both_ways(void)
{
    sim_boot(&two_nodes);
    sim_spawn(1, both_ways, (void *)6ul);
    sim_spawn(6, both_ways, (void *)1ul);
    sim_spawn(2, both_ways, (void *)1ul);
    sim_spawn(7, both_ways, (void *)2ul);
    sim_run(20, 2000000);
    CHECK(sim_cpu[1].flushes == 400, "%lu", sim_cpu[1].flushes);
}

static const struct check_case cases[] = {
    { "the ack comes last", test_ack_last },
    { "interrupts off: pending", test_irqs_off },
    { "initiators serve each other", test_both_ways },
    { "spurious, before the presmp initcalls", test_spurious_early },
#ifdef SUBJECT_ENGINE
    { "spurious, no round", test_spurious },
    { "spurious, the lock just taken", test_spurious_at_lock },
    { "spurious, just before the IPI", test_spurious_at_ipi },
    { "spurious, all the time", test_spurious_at_relax },
#endif
};
CHECK_MAIN("test-handler", cases)
