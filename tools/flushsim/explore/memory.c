/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memory.c - what each CPU sees of memory.
 *
 * Design
 *
 * The code under test reads and writes real memory, so while a CPU runs memory
 * has to look as that CPU sees it: everything that is global, and its own
 * stores that are still in its store buffer on top.  When another CPU gets to
 * run the latter are taken off again, newest first, and put back later.
 *
 * A store leaves its buffer as late as possible: when its CPU needs it empty
 * (a locked operation, a fence, an interrupt's entry and return, no more room)
 * or when another CPU looks at the same bytes and the choice is that they are
 * out by then.  That loses nothing: when a store left is of no interest to
 * anybody until somebody looks.
 *
 * The value of a plain store is not known when the instrumentation announces
 * it, only when the CPU does the next thing (memory_settle()).
 *
 * Models:
 *   sc    no buffer
 *   tso   x86: first in, first out
 *   weak  stands for what the compiler, or a CPU that is no x86, may do: stores
 *         leave in any order but for smp_wmb() and the release of a lock;
 *         plain loads may be done early, i.e. find what was there at the latest
 *         smp_rmb(), acquire or interrupt entry; and an atomic operation that
 *         is relaxed by name orders nothing.  Not a load through a pointer to
 *         memory that was allocated meanwhile: it depends on that pointer.
 *
 * Only accesses that matter are forks: those to granules of 8 bytes that some
 * CPU writes and another one accesses.  Which those are is learnt while runs
 * go on; main.c starts over if that changes something.
 */
#include "explore.h"

#include "sim.h"

#include <string.h>

#define MAX_READS 256
#define MAX_OWN 512
#define MAX_COMMITS 8192
#define GRANULES 32768            /* hash table */

struct range {
    uintptr_t addr;
    unsigned int size;
};

struct entry {
    struct range at;
    unsigned int epoch;           /* smp_wmb() before it */
    uint8_t value[8], below[8];
};

struct mem_cpu {
    struct entry buffer[MAX_BUFFER];
    unsigned int nr, epoch;
    unsigned int barrier;         /* commits at the latest smp_rmb() */
    struct range plain;           /* a plain store that is being made */
    uint8_t plain_below[8];
    struct range early;           /* an early load that is being made */
    uint8_t early_now[8];
    struct range reads[MAX_READS];
    unsigned int nr_reads;
    uint64_t history;             /* hash of all it did and read since ... */
    uintptr_t own[MAX_OWN];       /* granules it wrote that are not shared */
    unsigned int nr_own;
};

struct commit {
    struct range at;
    int by;
    uint8_t before[8];
};

struct granule {
    uintptr_t nr;                 /* 0: free */
    uint8_t readers, writers;
    bool visible, shared;
};

enum model memory_model KEEP = MODEL_TSO;
unsigned int memory_buffer KEEP = 4;

static struct mem_cpu cpus[MAX_VCPUS] KEEP;
static struct commit *commits KEEP;
static unsigned int nr_commits KEEP;
static struct granule *granules KEEP;
static uintptr_t *visible KEEP;   /* granules, once learnt */
static unsigned int nr_visible KEEP;
static bool learning KEEP, grown KEEP;

void memory_init(void)
{
    commits = calloc(MAX_COMMITS, sizeof(*commits));
    granules = calloc(GRANULES, sizeof(*granules));
    visible = calloc(GRANULES, sizeof(*visible));
    learning = true;
}

void memory_run(void)
{
    memset(cpus, 0, sizeof(cpus));
    nr_commits = 0;
    grown = false;
}

static bool overlap(struct range a, struct range b)
{
    return a.addr < b.addr + b.size && b.addr < a.addr + a.size;
}

static bool covers(struct range a, struct range b)
{
    return a.addr <= b.addr && a.addr + a.size >= b.addr + b.size;
}

static void put(struct range at, const uint8_t *value)
{
    memcpy((void *)at.addr, value, at.size);
}

static void get(struct range at, uint8_t *value)
{
    memcpy(value, (void *)at.addr, at.size);
}

/* ---- which memory is shared ---- */
static struct granule *find_granule(uintptr_t nr)
{
    size_t i = (nr * 0x9e3779b97f4a7c15u >> 40) % GRANULES;

    while ( granules[i].nr && granules[i].nr != nr )
        i = (i + 1) % GRANULES;
    granules[i].nr = nr;
    return &granules[i];
}

static bool note_access(struct range at, bool reads, bool writes)
{
    struct granule *g = find_granule(at.addr / 8);

    if ( reads )
        g->readers |= 1u << running;
    if ( writes )
        g->writers |= 1u << running;
    if ( !g->shared && g->writers &&
         ((g->readers | g->writers) & ((g->readers | g->writers) - 1)) )
    {
        g->shared = true;
        grown |= !learning && !g->visible;
    }
    return learning || g->visible;
}

bool memory_learn(void)
{
    bool changed = learning || grown;
    unsigned int i;

    if ( changed )
        for ( i = 0; i < GRANULES; i++ )
            if ( granules[i].shared && !granules[i].visible )
                memory_see(granules[i].nr);
    learning = grown = false;
    return changed;
}

unsigned int memory_visible(uintptr_t *nrs, unsigned int max)
{
    unsigned int n = nr_visible < max ? nr_visible : max;

    memcpy(nrs, visible, n * sizeof(*nrs));
    return n;
}

void memory_see(uintptr_t nr)
{
    find_granule(nr)->visible = true;
    visible[nr_visible++] = nr;
    learning = false;
}

/* ---- views ---- */
void memory_leave(int vcpu)
{
    struct mem_cpu *c = &cpus[vcpu];
    unsigned int i;

    for ( i = c->nr; i-- > 0; )
        put(c->buffer[i].at, c->buffer[i].below);
}

void memory_enter(int vcpu)
{
    struct mem_cpu *c = &cpus[vcpu];
    unsigned int i;

    for ( i = 0; i < c->nr; i++ )
    {
        get(c->buffer[i].at, c->buffer[i].below);
        put(c->buffer[i].at, c->buffer[i].value);
    }
}

/* ---- the state of a run ---- */
void memory_event(unsigned int what)
{
    cpus[running].history = hash(cpus[running].history, what);
}

uint64_t memory_history(void)
{
    return cpus[running].history;
}

void memory_set_history(uint64_t h)
{
    cpus[running].history = h;
}

uint64_t memory_hash_own(uint64_t h)
{
    const struct mem_cpu *c = &cpus[running];
    unsigned int i;

    for ( i = 0; i < c->nr_own; i++ )
        h = hash(h, *(uint64_t *)(c->own[i] * 8));
    return h;
}

static void note_own(uintptr_t nr)
{
    struct mem_cpu *c = &cpus[running];
    unsigned int i;

    for ( i = 0; i < c->nr_own; i++ )
        if ( c->own[i] == nr )
            return;
    if ( c->nr_own == MAX_OWN )
        sim_fail("the explorer has no room for more than %u words", MAX_OWN);
    c->own[c->nr_own++] = nr;
}

static void note_history(struct range at, enum access access)
{
    uint64_t value = 0, *h = &cpus[running].history;

    get(at, (uint8_t *)&value);
    *h = hash(hash(*h, at.addr << 8 | at.size << 4 | access), value);
}

static uint64_t hash_commits(uint64_t h, unsigned int from)
{
    uint64_t before;

    for ( ; from < nr_commits; from++ )
    {
        before = 0;
        memcpy(&before, commits[from].before, commits[from].at.size);
        h = hash(hash(h, commits[from].at.addr * MAX_VCPUS +
                         commits[from].by), before);
    }
    return h;
}

static uint64_t hash_cpu(const struct mem_cpu *c)
{
    uint64_t h = c->history, value;
    unsigned int i;

    for ( i = 0; i < c->nr; i++ )
    {
        const struct entry *e = &c->buffer[i];

        value = 0;
        memcpy(&value, e->value, e->at.size);
        h = hash(hash(h, e->at.addr << 8 | (c->epoch - e->epoch)), value);
    }
    if ( memory_model == MODEL_WEAK )
        h = hash_commits(h, c->barrier);
    return h;
}

uint64_t memory_hash(void)
{
    uint64_t h = 0;
    unsigned int i;

    memory_leave(running);
    for ( i = 0; i < nr_visible; i++ )
        h = hash(h, *(uint64_t *)(visible[i] * 8));
    memory_enter(running);
    for ( i = 0; i < MAX_VCPUS; i++ )
        h = hash(h, hash_cpu(&cpus[i]));
    return h;
}

/* ---- stores becoming global ---- */
static void wake_readers(int by, struct range changed)
{
    unsigned int i, n;

    for ( i = 0; i < MAX_VCPUS; i++ )
    {
        if ( i == by && !sched_in_handler(by) )
            continue;
        for ( n = 0; n < cpus[i].nr_reads; n++ )
            if ( overlap(cpus[i].reads[n], changed) )
            {
                sched_woken(i);
                break;
            }
    }
}

/* Bytes in @at were @before, and are different now. */
static void note_commit(int by, struct range at, const uint8_t *before)
{
    const uint8_t *now = (const uint8_t *)at.addr;
    unsigned int first = 0, last = at.size;

    while ( first < last && before[first] == now[first] )
        first++;
    while ( last > first && before[last - 1] == now[last - 1] )
        last--;
    if ( first == last )
        return;
    at = (struct range){ at.addr + first, last - first };
    if ( nr_commits == MAX_COMMITS )
        sim_fail("livelock: %u stores", nr_commits);
    commits[nr_commits].at = at;
    commits[nr_commits].by = by;
    memcpy(commits[nr_commits++].before, before + first, at.size);
    wake_readers(by, at);
}

static void drain(int of, unsigned int i)
{
    struct mem_cpu *c = &cpus[of];
    struct entry e = c->buffer[i];
    uint8_t before[8];

    if ( running != NO_VCPU )
        memory_leave(running);
    get(e.at, before);
    put(e.at, e.value);
    note_commit(of, e.at, before);
    c->nr--;
    memmove(&c->buffer[i], &c->buffer[i + 1],
            (c->nr - i) * sizeof(c->buffer[0]));
    if ( running != NO_VCPU )
        memory_enter(running);
    if ( tracing )
        trace(NULL, "  store of CPU%d to %#lx, %u bytes, is global now", of,
              (unsigned long)e.at.addr, e.at.size);
}

/* Does @a, the earlier one, have to be out before @b can? */
static bool ordered(const struct entry *a, const struct entry *b)
{
    return memory_model != MODEL_WEAK || a->epoch != b->epoch ||
           overlap(a->at, b->at);
}

/* Drain entry @last and what has to go out before. */
static void drain_through(int of, unsigned int last)
{
    struct mem_cpu *c = &cpus[of];
    bool goes[MAX_BUFFER] = { };
    unsigned int i, j, gone = 0;

    for ( i = last + 1; i-- > 0; )
    {
        goes[i] = i == last;
        for ( j = i + 1; j <= last && !goes[i]; j++ )
            goes[i] = goes[j] && ordered(&c->buffer[i], &c->buffer[j]);
    }
    for ( i = 0; i <= last; i++ )
        if ( goes[i] )
            drain(of, i - gone++);
}

/*
 * The running CPU looks at @at, or is about to change it globally: how many of
 * the stores to it that others hold back are out?
 */
static void resolve(struct range at)
{
    unsigned int of, i, n, pick;
    unsigned int hit[MAX_BUFFER];

    for ( i = 0; i < cpus[running].nr; i++ )
        if ( covers(cpus[running].buffer[i].at, at) )
            return;
    for ( of = 0; of < MAX_VCPUS; of++ )
    {
        if ( of == running )
            continue;
        for ( i = n = 0; i < cpus[of].nr; i++ )
            if ( overlap(cpus[of].buffer[i].at, at) )
                hit[n++] = i;
        if ( !n )
            continue;
        pick = choose(FORK_STORE, n + 1, n + 1, NULL, 0);
        if ( pick && tracing )
            trace(NULL, "  a store of CPU%u to it is not seen", of);
        if ( pick < n )
            drain_through(of, hit[n - pick - 1]);
    }
}

/* Just those to @at, and what has to go out before. */
static void drain_own_to(struct range at)
{
    struct mem_cpu *c = &cpus[running];
    unsigned int i;

    for ( i = 0; i < c->nr; i++ )
        if ( overlap(c->buffer[i].at, at) )
        {
            drain_through(running, i);
            i = -1;               /* from the start */
        }
}

static void drain_own(void)
{
    struct mem_cpu *c = &cpus[running];

    while ( c->nr )
    {
        resolve(c->buffer[0].at);
        drain(running, 0);
    }
}

void memory_drain_all(void)
{
    unsigned int i;

    for ( i = 0; i < MAX_VCPUS; i++ )
        while ( cpus[i].nr )
            drain(i, 0);
}

void memory_wmb(void)
{
    if ( running == NO_VCPU )
        return;
    memory_settle();
    cpus[running].epoch++;
}

void memory_rmb(void)
{
    if ( running == NO_VCPU )
        return;
    memory_settle();
    cpus[running].barrier = nr_commits;
}

void memory_barrier(void)
{
    memory_wmb();
    memory_rmb();
}

void memory_empty(void)
{
    memory_settle();
    drain_own();
    memory_barrier();
}

void memory_fence(void)
{
    if ( running == NO_VCPU )
        return;
    memory_settle();
    if ( cpus[running].nr )
        sched_point();
    memory_empty();
}

static int first_read_by(int vcpu, int of)
{
    const struct mem_cpu *c = &cpus[vcpu];
    unsigned int i, n;

    for ( i = 0; i < cpus[of].nr; i++ )
        for ( n = 0; n < c->nr_reads; n++ )
            if ( overlap(c->reads[n], cpus[of].buffer[i].at) )
                return i;
    return -1;
}

bool memory_can_wake(int vcpu, int by)
{
    return vcpu != by && first_read_by(vcpu, by) >= 0;
}

void memory_wake(int vcpu, int by)
{
    drain_through(by, first_read_by(vcpu, by));
    sched_woken(vcpu);            /* even if it was the same value */
}

/* ---- accesses of the running CPU ---- */
static void hold_back(struct range at, const uint8_t *value)
{
    struct mem_cpu *c = &cpus[running];
    struct entry *e;

    if ( memory_model == MODEL_SC )
    {
        uint8_t before[8];

        get(at, before);
        put(at, value);
        note_commit(running, at, before);
        return;
    }
    if ( c->nr == memory_buffer )
    {
        resolve(c->buffer[0].at);
        drain(running, 0);
    }
    e = &c->buffer[c->nr++];
    *e = (struct entry){ .at = at, .epoch = c->epoch };
    memcpy(e->value, value, at.size);
    get(at, e->below);
    put(at, value);
}

void memory_settle(void)
{
    struct mem_cpu *c = &cpus[running];
    struct range at = c->plain;
    uint8_t value[8];

    if ( c->early.size )
    {
        put(c->early, c->early_now);
        c->early.size = 0;
    }
    if ( !at.size )
        return;
    c->plain.size = 0;
    get(at, value);
    put(at, c->plain_below);
    hold_back(at, value);
}

void memory_forget_reads(int vcpu)
{
    cpus[vcpu].nr_reads = 0;
}

static void note_read(struct range at)
{
    struct mem_cpu *c = &cpus[running];
    unsigned int n;

    /* What the handler reads is not what the CPU is waiting for. */
    if ( sched_in_handler(running) )
        return;
    for ( n = 0; n < c->nr_reads; n++ )
        if ( covers(c->reads[n], at) )
            return;
    if ( c->nr_reads == MAX_READS )
        sim_fail("livelock: it looks at everything");
    c->reads[c->nr_reads++] = at;
}

/* Could this load have been done earlier, with another outcome? */
static void load_early(struct range at)
{
    struct mem_cpu *c = &cpus[running];
    unsigned int i;
    const struct commit *first = NULL;

    for ( i = 0; i < c->nr; i++ )
        if ( overlap(c->buffer[i].at, at) )
            return;
    for ( i = c->barrier; i < nr_commits; i++ )
        if ( overlap(commits[i].at, at) )
        {
            if ( commits[i].by == running )
                return;
            first = first ?: &commits[i];
        }
    if ( !first || state_is_new((void *)at.addr) ||
         !choose(FORK_LOAD, 2, 2, NULL, 0) )
        return;
    c->early = at;
    get(at, c->early_now);
    for ( i = nr_commits; i-- > c->barrier; )
        if ( overlap(commits[i].at, at) && covers(at, commits[i].at) )
            put(commits[i].at, commits[i].before);
    if ( tracing )
        trace(NULL, "  done early, sees what was there before");
}

static const char *const access_names[] = {
    [PLAIN_LOAD] = "loads", [LOAD] = "reads", [PLAIN_STORE] = "stores",
    [STORE] = "writes", [LOCKED] = "locks",
    [RELAXED] = "changes",
};

static bool not_memory(const volatile void *p)
{
    const char *at = (const char *)p, *self = (const char *)&sim_self;

    return sched_own_stack(p) ||
           (at >= self && at < self + sizeof(sim_self));
}

void memory_access(const volatile void *p, unsigned int size,
                   enum access access, const void *pc)
{
    struct range at = { (uintptr_t)p, size };
    bool reads = access != PLAIN_STORE && access != STORE;
    bool writes = access >= PLAIN_STORE;

    if ( running == NO_VCPU )
        return;
    memory_settle();
    sched_step();
    if ( not_memory(p) || !note_access(at, reads, writes) )
    {
        if ( writes && !not_memory(p) )
            note_own(at.addr / 8);
        if ( access == LOCKED )
            memory_fence();
        return;
    }
    sched_point();
    if ( tracing )
        trace(pc, "%s %u bytes at %#lx", access_names[access], size,
              (unsigned long)at.addr);
    if ( access == LOCKED )
    {
        drain_own();
        memory_barrier();
    }
    if ( access == RELAXED )
        drain_own_to(at);
    if ( reads )
    {
        resolve(at);
        note_read(at);
    }
    if ( access == PLAIN_LOAD && memory_model == MODEL_WEAK )
        load_early(at);
    note_history(at, access);
    if ( access == PLAIN_STORE )
    {
        cpus[running].plain = at;
        get(at, cpus[running].plain_below);
    }
}

static bool is_visible(struct range at)
{
    return running != NO_VCPU && !not_memory((void *)at.addr) &&
           (learning || find_granule(at.addr / 8)->visible);
}

void memory_store(volatile void *p, unsigned int size, uint64_t value)
{
    struct range at = { (uintptr_t)p, size };

    if ( is_visible(at) )
        hold_back(at, (const uint8_t *)&value);
    else
        put(at, (const uint8_t *)&value);
}

/* A locked operation is a barrier on both sides; only its commit is between. */
void memory_locked(const volatile void *p, unsigned int size,
                   const void *before)
{
    struct range at = { (uintptr_t)p, size };

    if ( is_visible(at) )
        note_commit(running, at, before);
}
