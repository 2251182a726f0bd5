/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test-protocol.c - which locks, in which order, for how long.
 *
 * Design
 *
 * Locks are observed, not known: a flush of one CPU from another one touches
 * the lock of the target's group.  Direct mode; other holders and waiters are
 * played by taking tickets by hand.  For upstream's code, everything is one
 * group.
 */
#include "topologies.h"

static const struct sim_topo four_nodes = {
    .nr_ids = NR_CPUS > 64 ? 80 : 64, .nr_cpus = 16,
    .stride = NR_CPUS > 64 ? 5 : 4, .nr_nodes = 4,
    .cmdline = "flush-group=node"
};

static cpumask_t mask;

static void flush_from(unsigned int cpu)
{
    sim_switch(cpu);
    sim_reset_counts();
    flush_area_mask(&mask, NULL, FLUSH_TLB);
}

static void check_once(const struct sim_lock *l)
{
    CHECK(l->locks + l->trylocks == 1 && l->unlocks == 1,
          "taken %lu + %lu times, released %lu", l->locks, l->trylocks,
          l->unlocks);
}

/* The lock of @cpu's group. */
static spinlock_t *lock_of(unsigned int cpu)
{
    cpumask_t saved = mask;
    unsigned int was = sim_self.cpu, nr;
    struct sim_lock *l;

    mask = *cpumask_of(cpu);
    flush_from(cpu ? 0 : sim_cpu_nr(1));
    l = sim_locks(&nr);
    CHECK(nr == 1, "%u locks for one CPU", nr);
    check_once(l);
    mask = saved;
    sim_switch(was);
    sim_lock_hook = NULL;
    return l->lock;
}

static void test_groups(void)
{
    unsigned int i, k;

    sim_boot(&four_nodes);
    for ( i = 0; i < 16; i++ )
        for ( k = 0; k < 16; k++ )
        {
            unsigned int a = sim_cpu_nr(i), b = sim_cpu_nr(k);
            bool same = !HAVE_GROUPS || sim_node(a) == sim_node(b);

            CHECK((lock_of(a) == lock_of(b)) == same, "CPU%u, CPU%u", a, b);
        }
}

/* A random subset of the CPUs of the nodes in @nodes. */
static void mask_of_nodes(unsigned int nodes)
{
    unsigned int cpu;

    cpumask_clear(&mask);
    for_each_online_cpu ( cpu )
        if ( ((nodes >> sim_node(cpu)) & 1) && sim_below(2) )
            __cpumask_set_cpu(cpu, &mask);
}

static unsigned int target_nodes(void)
{
    unsigned int cpu, nodes = 0;

    for_each_cpu ( cpu, &mask )
        if ( cpu != sim_self.cpu )
            nodes |= 1u << (HAVE_GROUPS ? sim_node(cpu) : 0);
    return nodes;
}

static void test_each_lock_once(void)
{
    unsigned int i, k, nr;

    sim_boot(&four_nodes);
    for ( i = 0; i < 400 * check_scale; i++ )
    {
        struct sim_lock *l;

        sim_switch(random_online_cpu());
        mask_of_nodes(sim_below(16));
        flush_from(sim_self.cpu);
        l = sim_locks(&nr);
        CHECK(nr == hweight32(target_nodes()), "%u locks for nodes %#x", nr,
              target_nodes());
        for ( k = 0; k < nr; k++ )
            check_once(&l[k]);
        /* In one group: in line, no matter whether it is free. */
        CHECK(nr != 1 || !l->trylocks, "try-lock for one group");
        CHECK(sim_counts.sends + sim_counts.shorthands == (nr ? 1 : 0),
              "%lu IPIs, all groups being free", sim_counts.sends);
    }
}

/* ---- somebody else holds a group's lock, or waits for it ---- */
static spinlock_t *group_lock[4], *busy;
static unsigned long relaxes, got_busy_at, all_free_at, all_acked_at;
static unsigned long release_at;

static void learn_locks(void)
{
    unsigned int n;

    for ( n = 0; n < 4; n++ )
        group_lock[n] = lock_of(sim_cpu_nr(4 * n + 1));
}

static bool is_held(spinlock_t *lock)
{
    return lock->tickets.head != lock->tickets.tail;
}

static void take_ticket(spinlock_t *lock)
{
    lock->tickets.tail++;
}

static void pass_on(spinlock_t *lock)
{
    lock->tickets.head++;
}

static bool others_acked(void)
{
    unsigned int cpu;

    for_each_cpu ( cpu, &mask )
        if ( group_lock[sim_node(cpu)] != busy &&
             cpu != sim_self.cpu && !sim_cpu[cpu].acks )
            return false;
    return true;
}

static bool others_free(void)
{
    unsigned int n;

    for ( n = 0; n < 4; n++ )
        if ( group_lock[n] != busy && is_held(group_lock[n]) )
            return false;
    return true;
}

static void watch_relax(void)
{
    relaxes++;
    if ( !all_acked_at && others_acked() )
        all_acked_at = relaxes;
    if ( all_acked_at && !all_free_at && others_free() )
        all_free_at = relaxes;
    if ( relaxes == release_at )
        pass_on(busy);
}

static void watch_lock(spinlock_t *lock, enum sim_lock_op op)
{
    if ( lock == busy && op == SIM_LOCK_GOT )
        got_busy_at = relaxes;
}

static void with_busy_group(unsigned int n, unsigned int initiator)
{
    unsigned int cpu;

    busy = group_lock[n];
    relaxes = got_busy_at = all_free_at = all_acked_at = 0;
    release_at = 500;
    take_ticket(busy);
    sim_relax_hook = watch_relax;
    sim_lock_hook = watch_lock;
    flush_from(initiator);
    sim_relax_hook = NULL;
    sim_lock_hook = NULL;

    CHECK(got_busy_at >= release_at, "got group %u's lock at %lu", n,
          got_busy_at);
    CHECK(all_acked_at && all_acked_at < release_at,
          "group %u busy: the others have to wait for it", n);
    CHECK(all_free_at && all_free_at <= all_acked_at + 2,
          "group %u busy: all acked at %lu, locks free at %lu", n,
          all_acked_at, all_free_at);
    for_each_cpu ( cpu, &mask )
        CHECK(cpu == initiator || (sim_cpu[cpu].flushes == 1 &&
                                   sim_cpu[cpu].interrupts == 1),
              "CPU%u: %lu flushes, %lu interrupts", cpu, sim_cpu[cpu].flushes,
              sim_cpu[cpu].interrupts);
    for ( cpu = 0; cpu < 4; cpu++ )
    {
        const struct sim_lock *l = sim_lock_of(group_lock[cpu]);

        CHECK(!is_held(group_lock[cpu]), "group %u still held", cpu);
        check_once(l);
    }
}

/* For flushes of everyone, on four nodes. */
static void set_up(void)
{
    sim_boot(&four_nodes);
    learn_locks();
    cpumask_copy(&mask, &cpu_online_map);
}

static void test_busy_group(void)
{
    unsigned int n, i;

    set_up();
    for ( n = 0; n < 4; n++ )
        for ( i = 0; i < 16; i++ )
            with_busy_group(n, sim_cpu_nr(i));
}

/*
 * A target is slow.  All groups were free, so all rounds are in flight; those
 * that are complete must be given back before the slow one is.
 */
static unsigned int slow_cpu;

static void slow_relax(void)
{
    watch_relax();
    if ( relaxes == 500 )
        sim_cpu[slow_cpu].irq_on = true;
}

static void test_slow_target(void)
{
    unsigned int n, i;

    set_up();
    for ( n = 0; n < 4; n++ )
        for ( i = 0; i < 16; i++ )
        {
            slow_cpu = sim_cpu_nr(4 * n + (i == 4 * n));
            busy = group_lock[n];
            relaxes = all_free_at = all_acked_at = 0;
            release_at = 0;
            sim_switch(sim_cpu_nr(i));
            sim_cpu[slow_cpu].irq_on = false;
            sim_relax_hook = slow_relax;
            flush_from(sim_cpu_nr(i));
            sim_relax_hook = NULL;
            CHECK(relaxes >= 500, "did not wait: %lu", relaxes);
            CHECK(all_free_at && all_free_at <= all_acked_at + 2,
                  "slow target in group %u: all acked at %lu, free at %lu", n,
                  all_acked_at, all_free_at);
        }
}

/* Two groups busy, released in either order; nobody depends on the other. */
static void release_both(void)
{
    relaxes++;
    if ( relaxes == 100 )
        pass_on(group_lock[sim_below(2) ? 1 : 3]);
    if ( relaxes == 300 )
    {
        if ( is_held(group_lock[1]) )
            pass_on(group_lock[1]);
    }
    if ( relaxes == 400 )
        if ( is_held(group_lock[3]) )
            pass_on(group_lock[3]);
}

static void test_two_busy_groups(void)
{
    unsigned int i, cpu;

    set_up();
    for ( i = 0; i < 16; i++ )
    {
        take_ticket(group_lock[1]);
        take_ticket(group_lock[3]);
        relaxes = 0;
        sim_relax_hook = release_both;
        flush_from(sim_cpu_nr(i));
        sim_relax_hook = NULL;
        for_each_cpu ( cpu, &mask )
            CHECK(sim_cpu[cpu].flushes == 1, "CPU%u: %lu", cpu,
                  sim_cpu[cpu].flushes);
    }
}

/* A waiter that came first gets the lock first. */
static void queue_relax(void)
{
    relaxes++;
    if ( relaxes == 200 )
        pass_on(busy);            /* to the waiter */
    if ( relaxes == 400 )
        pass_on(busy);            /* the waiter is done, too */
}

static void behind_waiter(const cpumask_t *m, unsigned int initiator)
{
    mask = *m;
    relaxes = got_busy_at = 0;
    take_ticket(busy);
    take_ticket(busy);
    sim_relax_hook = queue_relax;
    sim_lock_hook = watch_lock;
    flush_from(initiator);
    sim_relax_hook = NULL;
    sim_lock_hook = NULL;
    CHECK(got_busy_at >= 400, "overtook a waiter at %lu", got_busy_at);
}

static void test_no_overtaking(void)
{
    unsigned int n;

    sim_boot(&four_nodes);
    learn_locks();
    for ( n = 0; n < 4; n++ )
    {
        busy = group_lock[n];
        behind_waiter(cpumask_of(sim_cpu_nr(4 * n + 2)), sim_cpu_nr(5));
        behind_waiter(&cpu_online_map, sim_cpu_nr(7));
    }
}

/*
 * Somebody queues between the first pass and the wait: that one comes first,
 * and the callback goes on meanwhile.  A failed try-lock must not be retried.
 */
static void count_tries(spinlock_t *lock, enum sim_lock_op op)
{
    if ( lock == busy && op == SIM_LOCK_WAIT )
        relaxes = 0;
}

static void test_no_trylock_loop(void)
{
    unsigned int n, k, nr;
    struct sim_lock *l;

    sim_boot(&four_nodes);
    learn_locks();
    for ( n = 0; n < 4; n++ )
    {
        busy = group_lock[n];
        cpumask_copy(&mask, &cpu_online_map);
        take_ticket(busy);
        relaxes = 0;
        release_at = 300;
        all_acked_at = all_free_at = 0;
        sim_relax_hook = watch_relax;
        sim_lock_hook = count_tries;
        flush_from(0);
        sim_relax_hook = NULL;
        sim_lock_hook = NULL;
        l = sim_locks(&nr);
        for ( k = 0; k < nr; k++ )
            CHECK(l[k].tryfails <= 1, "%lu failed try-locks", l[k].tryfails);
    }
}

/* Queueing starts at the own group, then goes round. */
static spinlock_t *waited[8];
static unsigned int nr_waited;

static void note_wait(spinlock_t *lock, enum sim_lock_op op)
{
    if ( op != SIM_LOCK_WAIT )
        return;
    waited[nr_waited++ % 8] = lock;
    pass_on(lock);
}

static void test_rotation(void)
{
    unsigned int n, k, order[4][4];

    set_up();
    for ( n = 0; n < 4; n++ )
    {
        for ( k = 0; k < 4; k++ )
            take_ticket(group_lock[k]);
        nr_waited = 0;
        sim_lock_hook = note_wait;
        flush_from(sim_cpu_nr(4 * n + 3));
        sim_lock_hook = NULL;
        CHECK(nr_waited == 4, "waited for %u locks", nr_waited);
        CHECK(waited[0] == group_lock[n], "node %u did not start at home", n);
        for ( k = 0; k < 4; k++ )
            order[n][k] = waited[k] == group_lock[0] ? 0 :
                          waited[k] == group_lock[1] ? 1 :
                          waited[k] == group_lock[2] ? 2 : 3;
    }
    /* The same ring for all: whoever follows a in one order, does in all. */
    for ( n = 1; n < 4; n++ )
        for ( k = 0; k < 4; k++ )
        {
            unsigned int i;

            for ( i = 0; order[0][i] != order[n][k]; i++ )
                ;
            CHECK(order[0][(i + 1) % 4] == order[n][(k + 1) % 4],
                  "node %u goes another way round", n);
        }
}

#ifdef CONFIG_DEBUG_LOCK_PROFILE
/* ---- the lock profile shows every wait ---- */
int spinlock_profile_control(struct xen_sysctl_lockprof_op *pc);

static unsigned int query(struct xen_sysctl_lockprof_data *data,
                          unsigned int max)
{
    struct xen_sysctl_lockprof_op op = {
        .cmd = XEN_SYSCTL_LOCKPROF_query, .max_elem = max, .data = data
    };

    CHECK(!spinlock_profile_control(&op), "query");
    return op.nr_elem < max ? op.nr_elem : max;
}

/* The record of @node's flush lock; node -1: the global one. */
static struct xen_sysctl_lockprof_data *record(int node)
{
    static struct xen_sysctl_lockprof_data data[64];
    unsigned int i, n = query(data, 64);
    int type = node < 0 ? LOCKPROF_TYPE_GLOBAL : LOCKPROF_TYPE_PERNODE;

    for ( i = 0; i < n; i++ )
        if ( !strcmp(data[i].name, "flush_lock") && data[i].type == type &&
             (node < 0 || data[i].idx == node) )
            return &data[i];
    return NULL;
}

static void profiled(int first, int last)
{
    int n;

    for ( n = first; n <= last; n++ )
    {
        uint64_t locks, blocks;
        spinlock_t *lock = group_lock[n < 0 ? 0 : n];

        CHECK(record(n), "no record for node %d", n);
        locks = record(n)->lock_cnt;
        blocks = record(n)->block_cnt;
        flush_from(sim_cpu_nr(1));
        CHECK(record(n)->lock_cnt == locks + 1, "node %d", n);
        CHECK(record(n)->block_cnt == blocks, "node %d", n);
        busy = lock;
        relaxes = 0;
        release_at = 50;
        all_acked_at = all_free_at = 0;
        take_ticket(lock);
        sim_relax_hook = watch_relax;
        flush_from(sim_cpu_nr(1));
        sim_relax_hook = NULL;
        CHECK(record(n)->lock_cnt == locks + 2, "node %d", n);
        CHECK(record(n)->block_cnt == blocks + 1, "node %d: wait not shown",
              n);
    }
}

static void profile_of(const void *arg)
{
    struct sim_topo t = four_nodes;

    t.cmdline = arg;
    sim_boot(&t);
    learn_locks();
    cpumask_copy(&mask, &cpu_online_map);
    if ( HAVE_GROUPS && strstr(arg, "node") )
    {
        profiled(0, 3);
        CHECK(!record(-1), "a global flush lock with flush-group=node");
    }
    else
    {
        profiled(-1, -1);
        CHECK(!record(0), "a node's flush lock with flush-group=host");
    }
}

/* Two clusters a node: locks whose names tell them apart, used apart. */
static void profile_of_clusters(const void *arg)
{
    static const struct sim_topo t = {
        .nr_ids = 32, .nr_cpus = 32, .nr_nodes = 2,
        .cmdline = "flush-group=cluster"
    };
    static struct xen_sysctl_lockprof_data data[64];
    unsigned int cluster, i, n;

    sim_boot(&t);
    for ( cluster = 0; cluster < 4; cluster++ )
        flush_area_mask(cpumask_of(8 * cluster + 1), NULL, FLUSH_TLB);
    n = query(data, ARRAY_SIZE(data));
    for ( cluster = 0; cluster < 4; cluster++ )
    {
        unsigned int found = 0;
        char name[32];

        snprintf(name, sizeof(name), "flush_lock_cluster%u", cluster);
        for ( i = 0; i < n; i++ )
        {
            if ( strcmp(data[i].name, name) )
                continue;
            found++;
            CHECK(data[i].type == LOCKPROF_TYPE_PERNODE &&
                  data[i].idx == cluster / 2, "%s: type %d, node %d", name,
                  data[i].type, data[i].idx);
            CHECK(data[i].lock_cnt, "%s: never taken", name);
        }
        CHECK(found == 1, "%u records of %s", found, name);
    }
    CHECK(!record(0) && !record(-1), "a lock of a node or the host");
}

static void test_profile(void)
{
    check_fork(profile_of, HAVE_GROUPS ? "flush-group=host" : "", "host");
    if ( HAVE_GROUPS )
    {
        check_fork(profile_of, "flush-group=node", "node");
        check_fork(profile_of_clusters, NULL, "cluster");
    }
}
#endif

static const struct check_case cases[] = {
    { "one lock per group", test_groups },
    { "each touched group's lock once", test_each_lock_once },
    { "no overtaking of a waiter", test_no_overtaking },
#ifdef CONFIG_DEBUG_LOCK_PROFILE
    { "waits are in the lock profile", test_profile },
#endif
#ifdef SUBJECT_ENGINE
    { "a busy group holds nobody up", test_busy_group },
    { "a slow target holds no other group up", test_slow_target },
    { "two busy groups", test_two_busy_groups },
    { "no loop of try-locks", test_no_trylock_loop },
    { "rotation", test_rotation },
#endif
};
CHECK_MAIN("test-protocol", cases)
