/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load.c - initiators.
 *
 * Design: see load.h.  A tenth as many flushes again come first and are not
 * counted.  After each flush every target must have flushed between its begin
 * and its end, and in the end each CPU as often as it was a target: so every
 * request completed exactly once, or the run fails.
 */
#include "load.h"

static const struct fs_load *load;
static struct fs_result *result;
static unsigned long done, warm, last;
static fs_time begin;
static cpumask_t *masks[NR_CPUS];
static bool is_initiator[NR_CPUS];

/* ---- masks ---- */
static bool in_scope(const struct fs_cpu *c, unsigned int cpu)
{
    switch ( load->scope )
    {
    case FS_OWN_NODE:
        return fs_node_of(cpu) == fs_node_of(c->id);
    case FS_OWN_CLUSTER:
        return x86_cpu_to_apicid[cpu] >> 4 == x86_cpu_to_apicid[c->id] >> 4;
    case FS_INITIATORS:
        return is_initiator[cpu];
    default:
        return true;
    }
}

static void put(unsigned long *bits, unsigned int cpu)
{
    bits[cpu / 64] |= 1UL << (cpu % 64);
}

static bool has(const unsigned long *bits, unsigned int cpu)
{
    return (bits[cpu / 64] >> (cpu % 64)) & 1;
}

static void all_of_scope(struct fs_cpu *c, unsigned long *bits)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        if ( in_scope(c, cpu) )
            put(bits, cpu);
}

static void next_cpus(struct fs_cpu *c, unsigned long *bits)
{
    unsigned int i;

    for ( i = 1; i <= load->targets; i++ )
        put(bits, (c->id + i) % fs_nr_cpus);
}

/* Others than this CPU, drawn from the scope or from the host. */
static void draw(struct fs_cpu *c, unsigned long *bits, bool anywhere)
{
    unsigned int n = 0, cpu;

    while ( n < load->targets )
    {
        cpu = fs_rand_below(c, fs_nr_cpus);
        if ( cpu == c->id || has(bits, cpu) )
            continue;
        if ( !anywhere && !in_scope(c, cpu) )
            continue;
        put(bits, cpu);
        n++;
    }
}

/* Another node as a whole. */
static void add_node(struct fs_cpu *c, unsigned long *bits)
{
    unsigned int n = fs_topo.sockets, cpu, node;

    node = (fs_node_of(c->id) + 1 + fs_rand_below(c, n - 1)) % n;
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        if ( fs_node_of(cpu) == node )
            put(bits, cpu);
}

static void choose(struct fs_cpu *c)
{
    unsigned long *bits = masks[c->id]->bits;
    bool cross = fs_topo.sockets > 1 && load->cross_pct &&
                 fs_rand_below(c, 100) < load->cross_pct;

    memset(bits, 0, FS_WORDS * sizeof(*bits));
    if ( load->scope == FS_NEXT )
        next_cpus(c, bits);
    else if ( load->targets )
        draw(c, bits, cross);
    else
    {
        all_of_scope(c, bits);
        if ( cross )
            add_node(c, bits);
    }
}

/* ---- every target flushed, within the call ---- */
static bool flushed_between(const struct fs_cpu *c, fs_time from, fs_time to)
{
    unsigned int i;

    for ( i = 0; i < FS_STAMPS && i < c->flushes; i++ )
        if ( c->flushed_at[i] >= from && c->flushed_at[i] <= to )
            return true;
    return false;
}

static unsigned int check(struct fs_cpu *c, fs_time from)
{
    const unsigned long *bits = masks[c->id]->bits;
    unsigned int cpu, n = 0;

    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        if ( has(bits, cpu) && cpu != c->id )
        {
            n++;
            fs_cpu[cpu].expected++;
            if ( !flushed_between(&fs_cpu[cpu], from, c->now) )
                fs_fail("CPU%u did not flush for CPU%u", cpu, c->id);
        }
    return n;
}

static void check_totals(void)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        if ( fs_cpu[cpu].flushes != fs_cpu[cpu].expected )
            fs_fail("CPU%u was a target %lu times, and flushed %lu times",
                    cpu, fs_cpu[cpu].expected, fs_cpu[cpu].flushes);
}

/* ---- measuring ---- */
static void counters(struct fs_result *r, int sign)
{
    unsigned int cpu;

    r->ipis += sign * fs_ipis;
    r->icr_writes += sign * fs_icr_writes;
    r->shorthands += sign * fs_shorthands;
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
    {
        r->handled += sign * fs_cpu[cpu].handled;
        r->stolen += sign * fs_cpu[cpu].stolen;
    }
}

static void start_measuring(fs_time now)
{
    begin = now;
    counters(result, -1);
    fs_active = false;
    fs_lock_profile_reset();
    fs_active = true;
}

static void record(struct fs_cpu *c, fs_time from, unsigned int targets)
{
    if ( done >= warm && done < last )
    {
        result->latency[result->flushes++] = c->now - from;
        result->nr_targets += targets;
        result->per_cpu[c->id]++;
        result->span = c->now - begin;
    }
    if ( ++done == warm )
        start_measuring(c->now);
    else if ( done == last )
        counters(result, 1);
}

static void initiator(void)
{
    struct fs_cpu *c = fs_cur;
    unsigned int flags = load->one_page ? FLUSH_TLB | FLUSH_ORDER(0)
                                        : FLUSH_TLB;
    fs_time from;

    fs_work(fs_rand_below(c, 1000000));
    while ( done < last )
    {
        if ( load->think )
            fs_work(load->think / 2 + fs_rand_below(c, load->think));
        choose(c);
        fs_order();
        from = c->now;
        fs_engine->flush(masks[c->id], NULL, flags);
        fs_order();
        record(c, from, check(c, from));
    }
}

static void bystander(void)
{
}

/* ---- set-up ---- */
static void choose_initiators(void)
{
    unsigned int i, step = load->spread ? load->spread : 1, cpu = 0;
    unsigned int n = load->initiators ? load->initiators : fs_nr_cpus;

    for ( i = 0; i < n && cpu < fs_nr_cpus; i++, cpu += step )
        is_initiator[cpu] = true;
}

static void prepare(unsigned int cpu, uint64_t seed)
{
    struct fs_cpu *c = &fs_cpu[cpu];

    c->rng = seed * 1000003 + cpu;
    fs_rand(c);
    c->tick = fs_tick_period ? fs_rand_below(c, 2 * fs_tick_period)
                             : FS_NEVER;
    masks[cpu] = fs_alloc_on(fs_node_of(cpu), sizeof(cpumask_t), 64);
    fs_spawn(cpu, is_initiator[cpu] ? initiator : bystander);
}

void fs_load_run(const struct fs_load *l, struct fs_result *r, uint64_t seed)
{
    unsigned int cpu;

    load = l;
    result = r;
    warm = l->flushes / 10 + 1;
    last = warm + l->flushes;
    r->latency = calloc(l->flushes, sizeof(*r->latency));
    choose_initiators();
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        prepare(cpu, seed);
    fs_run();
    check_totals();
}
