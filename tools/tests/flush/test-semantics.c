/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test-semantics.c - what flush_area_mask() promises, for both subjects.
 *
 * Design
 *
 * One CPU calls, in direct mode: everybody else moves in its cpu_relax().
 * After each call the recorders are compared with what the mask asked for:
 * every target flushed once, with the caller's arguments, between start and
 * return; nobody else was interrupted; the mask was not written.
 */
#include "topologies.h"

static cpumask_t mask, ever, before;
static uint64_t start;

static const void *some_va(void)
{
    return (void *)(uintptr_t)(sim_rand() & ~(PAGE_SIZE - 1));
}

static bool is_target(unsigned int cpu, const cpumask_t *m)
{
    return cpu != sim_self.cpu && cpumask_test_cpu(cpu, m) && cpu_online(cpu);
}

/* Run the call as the current CPU, with the counters fresh. */
static void flush(const cpumask_t *m, const void *va, unsigned int flags)
{
    sim_reset_counts();
    cpumask_copy(&before, m);
    start = sim_clock;
    flush_area_mask(m, va, flags);
    CHECK(sim_self.irq_on || cpumask_subset(m, cpumask_of(sim_self.cpu)),
          "interrupts were left off");
    CHECK(!this_cpu(__preempt_count), "%u", this_cpu(__preempt_count));
}

static void check_untouched(unsigned int cpu)
{
    const struct sim_cpu *c = &sim_cpu[cpu];

    CHECK(!c->interrupts && !c->pending, "CPU%u was interrupted", cpu);
    CHECK(!c->syncs, "CPU%u synced", cpu);
    CHECK(!c->flushes || cpu == sim_self.cpu, "CPU%u flushed", cpu);
}

static void check_flushed(unsigned int cpu, const void *va, unsigned int flags)
{
    const struct sim_cpu *c = &sim_cpu[cpu];

    CHECK(c->interrupts == 1 && c->acks == 1, "CPU%u: %lu interrupts", cpu,
          c->interrupts);
    CHECK(!c->pending, "CPU%u", cpu);
    CHECK(c->flushes == 1, "CPU%u: %lu flushes", cpu, c->flushes);
    CHECK(c->stamp > start, "CPU%u flushed before the call", cpu);
    CHECK(c->va == va && c->flags == flags, "CPU%u: %p %#x, not %p %#x", cpu,
          c->va, c->flags, va, flags);
}

/* Every CPU did what @m and the arguments ask for. */
static void check_targets(const cpumask_t *m, const void *va,
                          unsigned int flags)
{
    unsigned int cpu;

    CHECK(cpumask_equal(m, &before), "the mask was written");
    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
        if ( is_target(cpu, m) )
            check_flushed(cpu, va, flags);
        else
            check_untouched(cpu);
}

static bool has_target(const cpumask_t *m)
{
    unsigned int cpu;

    for_each_cpu ( cpu, m )
        if ( is_target(cpu, m) )
            return true;
    return false;
}

static void random_masks(const void *arg)
{
    unsigned int i, n = 60 * check_scale;

    sim_boot(arg);
    for ( i = 0; i < n; i++ )
    {
        const void *va = some_va();
        unsigned int flags = FLUSH_TLB | FLUSH_ORDER(sim_below(10));

        sim_switch(random_online_cpu());
        random_mask(&mask);
        if ( sim_below(8) == 0 )
            cpumask_copy(&mask, &cpu_online_map);
        flush(&mask, va, flags);
        check_targets(&mask, va, flags);
        if ( HAVE_GROUPS )
        {
            CHECK((sim_locks_taken() > 0) == has_target(&mask), "%u locks",
                  sim_locks_taken());
            CHECK(!sim_counts.unfenced, "IPI without a barrier before it");
        }
    }
}

static void test_masks(void)
{
    for_each_machine(random_masks);
}

static const struct sim_topo small = {
    .nr_ids = 12, .nr_cpus = 12, .nr_nodes = 3, .boot_cpus = 9
};

static void boot_small(void)
{
    sim_boot(&small);
    cpumask_clear(&mask);
    __cpumask_set_cpu(2, &mask);
    __cpumask_set_cpu(5, &mask);
    __cpumask_set_cpu(8, &mask);
}

/* What the handler has to make of each combination of flags. */
static unsigned int handler_flags(unsigned int flags)
{
    if ( (flags & FLUSH_VCPU_STATE) && sim_sync_result )
        flags &= ~(FLUSH_TLB | FLUSH_TLB_GLOBAL | FLUSH_ROOT_PGTBL);
    return flags;
}

static void check_flags(unsigned int flags)
{
    static const unsigned int cpus[] = { 2, 5, 8 };
    const void *va = some_va();
    unsigned int i, want = handler_flags(flags);

    flush(&mask, va, flags);
    for ( i = 0; i < ARRAY_SIZE(cpus); i++ )
    {
        const struct sim_cpu *c = &sim_cpu[cpus[i]];

        CHECK(c->syncs == !!(flags & FLUSH_VCPU_STATE), "flags %#x", flags);
        CHECK(c->interrupts == 1, "flags %#x", flags);
        CHECK(c->flushes == !!(want & ~(FLUSH_VCPU_STATE | FLUSH_ORDER_MASK)),
              "flags %#x", flags);
        CHECK(!c->flushes || (c->flags == want && c->va == va),
              "flags %#x: %#x, not %#x", flags, c->flags, want);
    }
    check_untouched(3);
}

static void test_flags(void)
{
    unsigned int flags;

    boot_small();
    for ( sim_sync_result = 0; sim_sync_result < 2; sim_sync_result++ )
        for ( flags = 0x100; flags < 0x10000; flags += 0x100 )
            check_flags(flags | (sim_below(2) ? FLUSH_ORDER(4) : 0));
}

/* Nothing but an order is nothing to do. */
static void test_no_flags(void)
{
    boot_small();
    flush(&mask, NULL, FLUSH_ORDER(3));
    CHECK(!sim_counts.posted && !sim_locks_taken(), "%lu", sim_counts.posted);
    __cpumask_set_cpu(0, &mask);
    flush(&mask, NULL, FLUSH_ORDER(3));
    CHECK(!sim_counts.posted && !sim_cpu[0].flushes, "%lu", sim_counts.posted);
}

static void check_silent(void)
{
    CHECK(!sim_counts.posted && !sim_counts.sends && !sim_counts.shorthands,
          "%lu IPIs", sim_counts.posted);
    CHECK(!sim_locks_taken(), "%u locks", sim_locks_taken());
}

/* The local CPU alone: also with interrupts off, also from an interrupt. */
static void test_self(void)
{
    static const unsigned int flags = FLUSH_TLB | FLUSH_CACHE;
    unsigned int i;

    boot_small();
    sim_switch(4);
    for ( i = 0; i < 4; i++ )
    {
        sim_self.irq_on = i & 1;
        irq_stat[4].local_irq_count = i >> 1;
        flush(cpumask_of(4), (void *)0x5000, flags);
        CHECK(sim_cpu[4].flushes == 1 && sim_cpu[4].flags == flags &&
              sim_cpu[4].va == (void *)0x5000, "%#x", sim_cpu[4].flags);
        check_silent();
    }
}

static void test_empty(void)
{
    boot_small();
    cpumask_clear(&mask);
    flush(&mask, NULL, FLUSH_TLB);
    check_silent();
    CHECK(!sim_cpu[0].flushes, "%lu", sim_cpu[0].flushes);
}

/* CPUs 9..11 are present, not online. */
static void test_offline(void)
{
    boot_small();
    cpumask_clear(&mask);
    __cpumask_set_cpu(9, &mask);
    __cpumask_set_cpu(11, &mask);
    flush(&mask, NULL, FLUSH_TLB);
    CHECK(!sim_counts.posted, "%lu IPIs", sim_counts.posted);
    if ( HAVE_GROUPS )
        check_silent();
    __cpumask_set_cpu(0, &mask);
    flush(&mask, NULL, FLUSH_TLB);
    CHECK(sim_cpu[0].flushes == 1, "%lu", sim_cpu[0].flushes);
    CHECK(!sim_counts.posted, "%lu IPIs", sim_counts.posted);
    if ( HAVE_GROUPS )
        check_silent();
}

/* What the local flush did for everyone (cache lines) is not sent. */
static void test_local_result(void)
{
    boot_small();
    __cpumask_set_cpu(0, &mask);
    sim_local_strip = FLUSH_CACHE;
    flush(&mask, NULL, FLUSH_CACHE | FLUSH_ORDER(0));
    CHECK(sim_cpu[0].flushes == 1, "%lu", sim_cpu[0].flushes);
    check_silent();
    flush(&mask, NULL, FLUSH_CACHE | FLUSH_TLB);
    CHECK(sim_cpu[5].flags == FLUSH_TLB, "%#x", sim_cpu[5].flags);
    /* Not in the mask: the flags stay. */
    __cpumask_clear_cpu(0, &mask);
    flush(&mask, NULL, FLUSH_CACHE | FLUSH_TLB);
    CHECK(sim_cpu[0].flushes == 0, "%lu", sim_cpu[0].flushes);
    CHECK(sim_cpu[5].flags == (FLUSH_CACHE | FLUSH_TLB), "%#x",
          sim_cpu[5].flags);
}

/* Hypervisor-assisted flushes: for TLB-only requests, when it works. */
static void test_assist(void)
{
    static const unsigned int never[] = {
        FLUSH_CACHE, FLUSH_VCPU_STATE, FLUSH_ROOT_PGTBL, FLUSH_HVM_ASID_CORE,
        FLUSH_NO_ASSIST
    };
    unsigned int i;

    boot_small();
    flush(&mask, NULL, FLUSH_TLB);
    CHECK(!sim_counts.assists, "asked without a hypervisor");

    sim_has_hypervisor = true;
    sim_assist_result = 0;
    flush(&mask, NULL, FLUSH_TLB | FLUSH_TLB_GLOBAL | FLUSH_VA_VALID |
          FLUSH_ORDER(2));
    CHECK(sim_counts.assists == 1, "%lu", sim_counts.assists);
    check_silent();
    flush(cpumask_of(0), NULL, FLUSH_TLB);
    CHECK(!sim_counts.assists, "asked for the local CPU alone");

    for ( i = 0; i < ARRAY_SIZE(never); i++ )
    {
        flush(&mask, NULL, FLUSH_TLB | never[i]);
        CHECK(!sim_counts.assists, "flags %#x", never[i]);
        CHECK(sim_cpu[5].interrupts == 1, "flags %#x", never[i]);
    }

    sim_assist_result = -EOPNOTSUPP;
    flush(&mask, some_va(), FLUSH_TLB);
    CHECK(sim_counts.assists == 1, "%lu", sim_counts.assists);
    check_targets(&mask, sim_cpu[5].va, FLUSH_TLB);
}

/*
 * Somebody flips bits of the mask all the time.  No CPU may be interrupted
 * that was never in it, and the call has to end.
 */
static void flip(void)
{
    unsigned int cpu = sim_below(nr_cpu_ids);

    if ( cpumask_test_cpu(cpu, &ever) )
        mask.bits[cpu / 64] ^= 1UL << (cpu % 64);
}

static void flip_at_lock(spinlock_t *lock, enum sim_lock_op op)
{
    flip();
}

static void flip_at_ipi(const cpumask_t *m)
{
    flip();
}

static void flip_at_flush(unsigned int cpu, const void *va, unsigned int flags)
{
    flip();
}

/* What decides is an ordered look: whom it sees, every time, is flushed. */
static void check_looks(void)
{
    unsigned int cpu;

    for_each_online_cpu ( cpu )
    {
        unsigned int w = cpu / 64;
        unsigned long bit = 1UL << (cpu % 64);

        if ( cpu == sim_self.cpu )
            continue;
        CHECK(sim_watch.word[w].ordered || !(sim_watch.word[w].early & bit),
              "CPU%u: the mask was read before any full barrier only", cpu);
        CHECK(!sim_watch.word[w].ordered || !(sim_watch.word[w].all & bit) ||
              sim_cpu[cpu].flushes, "CPU%u was seen in the mask", cpu);
    }
}

static void watch_mask(bool on)
{
    memset(&sim_watch, 0, sizeof(sim_watch));
    sim_watch.mask = on ? &mask : NULL;
    sim_watch.start = sim_self.fences;
}

static void keep_node(nodeid_t node)
{
    unsigned int cpu;

    for_each_cpu ( cpu, &mask )
        if ( sim_node(cpu) != node )
            __cpumask_clear_cpu(cpu, &mask);
}

static void changing_mask(const void *arg)
{
    unsigned int i, cpu;

    sim_boot(arg);
    sim_relax_hook = flip;
    sim_lock_hook = flip_at_lock;
    sim_ipi_hook = flip_at_ipi;
    sim_flush_hook = flip_at_flush;
    for ( i = 0; i < 40 * check_scale; i++ )
    {
        sim_switch(random_online_cpu());
        random_mask(&mask);
        __cpumask_clear_cpu(sim_self.cpu, &mask);
        cpumask_copy(&ever, &mask);
        if ( sim_below(2) )       /* one node at first, others come */
            keep_node(sim_node(random_online_cpu()));
        sim_reset_counts();
        watch_mask(HAVE_GROUPS);
        flush_area_mask(&mask, NULL, FLUSH_TLB);
        check_looks();
        watch_mask(false);
        for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
            CHECK(!sim_cpu[cpu].interrupts || is_target(cpu, &ever),
                  "CPU%u was never in the mask", cpu);
        for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
            sim_cpu[cpu].pending = false;
    }
}

static void test_changing_mask(void)
{
    for_each_machine(changing_mask);
}

/* All others: one shorthand, in any mode, when nobody else flushes. */
static void all_others(const void *arg)
{
    const struct sim_topo *t = arg;
    unsigned int i, online;

    sim_boot(t);
    online = num_online_cpus();
    for ( i = 0; i < 2; i++ )
    {
        cpumask_copy(&mask, &cpu_online_map);
        sim_switch(random_online_cpu());
        if ( i )
            __cpumask_clear_cpu(sim_self.cpu, &mask);
        flush(&mask, NULL, FLUSH_TLB);
        check_targets(&mask, NULL, FLUSH_TLB);
        if ( online == 1 )
            check_silent();
        else if ( t->park || online == t->nr_cpus )
            CHECK(sim_counts.shorthands == 1 && !sim_counts.sends,
                  "%lu shorthands, %lu others", sim_counts.shorthands,
                  sim_counts.sends);
        else
            CHECK(!sim_counts.shorthands, "%lu", sim_counts.shorthands);
    }
    flush_area_mask(&cpu_online_map, NULL, FLUSH_TLB);
}

static void test_all_others(void)
{
    for_each_machine(all_others);
}

/* One CPU less, or a CPU map in use: an ordinary IPI, and it still works. */
static void all_but_one(const void *arg)
{
    sim_boot(arg);
    if ( num_online_cpus() < 3 )
        return;
    cpumask_copy(&mask, &cpu_online_map);
    __cpumask_clear_cpu(cpumask_last(&mask), &mask);
    flush(&mask, NULL, FLUSH_TLB);
    check_targets(&mask, NULL, FLUSH_TLB);
    CHECK(!sim_counts.shorthands, "%lu", sim_counts.shorthands);
}

static void test_all_but_one(void)
{
    for_each_machine(all_but_one);
}

/* Bits beyond nr_cpu_ids in the caller's mask mean nothing. */
static void test_stray_bits(void)
{
    boot_small();
    memset(&mask, 0xff, sizeof(mask));
    flush_area_mask(&mask, NULL, FLUSH_TLB);
    memset(&mask, 0, sizeof(mask));
    sim_reset_counts();
    mask.bits[0] = ~0UL << 12;
    flush_area_mask(&mask, NULL, FLUSH_TLB);
    CHECK(!sim_counts.posted, "%lu", sim_counts.posted);
}

static const struct check_case cases[] = {
    { "random masks on all machines", test_masks },
    { "all flags, va and flags unmodified", test_flags },
    { "no flags", test_no_flags },
    { "the local CPU alone", test_self },
    { "empty mask", test_empty },
    { "offline CPUs only", test_offline },
    { "result of the local flush", test_local_result },
    { "hypervisor-assisted flush", test_assist },
    { "mask that changes during the call", test_changing_mask },
    { "all others by one shorthand", test_all_others },
    { "all others but one", test_all_but_one },
    { "bits beyond nr_cpu_ids", test_stray_bits },
};
CHECK_MAIN("test-semantics", cases)
