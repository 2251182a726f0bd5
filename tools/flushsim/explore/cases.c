/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cases.c - what the CPUs do, and the oracle.
 *
 * Design
 *
 * A program is a list of steps:
 *   F<CPUs>  change a page table entry, flush those CPUs (digits)
 *   FD       the same with the mask that changes
 *   XD       the same, and the entry is changed by a locked instruction: when
 *            the mask is empty at first sight nothing else orders the two
 *   E, L     enter, leave that mask: add the own bit and walk the tables;
 *            forget translations and clear the bit
 *   U<CPU>, D<CPU>   bring a CPU up, take it down
 *   O        wait until the own CPU is online
 *
 * The oracle is a shadow TLB: does a CPU hold the old value of a request's
 * entry?  Those that a request names hold it when it begins.  A flush drops it
 * and walks the tables again at once, for a real CPU may.  When the request
 * returns, nobody it named may hold the old value; at the end nobody at all.
 *
 * Besides: each flush belongs to a request in progress that named this CPU,
 * with its address and flags (no torn message), and happens once; what the
 * handler wrote is seen after the return; a lock has one holder, and none when
 * flush_area_mask() returns.
 */
#include "explore.h"

#include "sim.h"

#define CHECK(cond, fmt, args...) \
    do { if ( !(cond) ) sim_fail(fmt, ## args); } while ( 0 )

struct request {
    unsigned int cpu;
    uint64_t named;               /* for the one mask: ever, while it ran */
    uint64_t must;
    bool dirty, locked, active;
    uint64_t old;                 /* CPUs that hold the old value */
    unsigned int flushed[MAX_VCPUS];
};

#define MAX_HELD 4

static const struct explore_case *the_case KEEP;
static struct request requests[MAX_REQUESTS] KEEP;
static unsigned int nr_requests KEEP;
static uint64_t entered KEEP;     /* CPUs in the mask that changes */
static spinlock_t *held[MAX_VCPUS][MAX_HELD] KEEP;

const struct explore_case explore_cases[] = {
    { "mutual", "two CPUs flush each other",
      .quick = 2, .thorough = 3,
      .nr_cpus = 2, .shorthand = true,
      .program = { "F1", "F0" } },
    { "mutual-twice", "the same, two requests each",
      .quick = 2, .thorough = 3,
      .nr_cpus = 2, .program = { "F1 F1", "F0 F0" } },
    { "mutual-nodes", "two CPUs in two groups, both in both masks",
      .quick = 2, .thorough = 3,
      .nr_cpus = 2, .nr_nodes = 2,
      .program = { "F01 F1", "F01" } },
    { "stray", "an IPI for nobody arrives at any time",
      .quick = 2, .thorough = 3,
      .nr_cpus = 2, .engine_only = true, .stray = 2,
      .program = { "F1 F1" } },
    { "leave-enter", "the target leaves the mask and comes back",
      .quick = 2, .thorough = 3,
      .nr_cpus = 2, .dirty = 2, .engine_only = true,
      .program = { "XD", "L E" } },
    { "three", "three CPUs, one group, everybody else",
      .quick = 1, .thorough = 2,
      .nr_cpus = 3, .program = { "F12", "F02", "F01" } },
    { "three-shorthand", "the same, IPIs go to all",
      .quick = 1, .thorough = 2,
      .nr_cpus = 3, .shorthand = true,
      .program = { "F12", "F02", "F01" } },
    { "three-groups-2", "the same, two groups",
      .quick = 0, .thorough = 1,
      .nr_cpus = 3, .nr_nodes = 2,
      .program = { "F12", "F02", "F01" } },
    { "three-groups-3", "the same, three groups",
      .not_quick = true, .thorough = 0,
      .nr_cpus = 3, .nr_nodes = 3,
      .program = { "F12", "F02", "F01" } },
    { "one-target", "two initiators, one target, a stray IPI",
      .quick = 2, .thorough = 3,
      .nr_cpus = 3, .engine_only = true, .stray = 4,
      .program = { "F2 F2", "F2" } },
    { "one-target-multi", "the same, each in a round of several groups",
      .quick = 1, .thorough = 2,
      .nr_cpus = 3, .nr_nodes = 3, .engine_only = true, .stray = 4,
      .program = { "F12", "F02" } },
    { "cross", "two initiators in two groups, both need both",
      .quick = 1, .thorough = 2,
      .nr_cpus = 4, .nr_nodes = 2,
      .program = { "F13", "", "F13" } },
    { "enter", "a CPU adds itself to the mask, then walks",
      .quick = 2, .thorough = 3,
      .nr_cpus = 3, .dirty = 2,
      .program = { "FD", "", "E" } },
    { "enter-beyond", "the same, from another group",
      .quick = 2, .thorough = 3,
      .nr_cpus = 3, .nr_nodes = 2, .dirty = 2,
      .program = { "FD", "", "E" } },
    { "enter-multi", "the same, and the mask spans groups before",
      .quick = 2, .thorough = 3,
      .nr_cpus = 4, .nr_nodes = 2, .dirty = 6,
      .program = { "FD", "", "", "E" } },
    { "down", "a CPU goes offline",
      .quick = 2, .thorough = 3,
      .nr_cpus = 3, .nr_nodes = 2,
      .program = { "D2", "F02 F02" } },
    { "up", "a CPU of a new group comes online, then flushes",
      .quick = 1, .thorough = 2,
      .nr_cpus = 3, .nr_nodes = 3, .boot_cpus = 2,
      .program = { "U2", "F02 F02", "O F1" } },
    { "up-ring", "a group joins the ring while somebody goes round it",
      .quick = 2, .thorough = 3,
      .nr_cpus = 4, .nr_nodes = 4, .boot_cpus = 3,
      .program = { "U3", "F02" } },
};
const unsigned int explore_nr_cases = ARRAY_SIZE(explore_cases);

/* ---- requests ---- */
static unsigned int flags_of(unsigned int k)
{
    return FLUSH_TLB | (k & 1 ? FLUSH_TLB_GLOBAL : 0) | (k + 1);
}

static const void *va_of(unsigned int k)
{
    return (const void *)((k + 1ul) << PAGE_SHIFT);
}

static uint64_t bit(unsigned int cpu)
{
    return 1ul << cpu;
}

static void walk(unsigned int cpu, struct request *r)
{
    unsigned int k = r - requests;

    r->old &= ~bit(cpu);
    if ( action_pte_is_old(k) )
        r->old |= bit(cpu);
}

static void on_flush(unsigned int cpu, const void *va, unsigned int flags)
{
    unsigned int k = ((uintptr_t)va >> PAGE_SHIFT) - 1;
    struct request *r = &requests[k];

    CHECK(k < nr_requests, "CPU%u flushed for nobody: va %p", cpu, va);
    CHECK(flags == flags_of(k), "CPU%u: flags %#x torn off request %u", cpu,
          flags, k);
    CHECK(r->active, "CPU%u flushed for request %u, which has ended", cpu, k);
    CHECK(r->named & bit(cpu), "CPU%u flushed, not in request %u", cpu, k);
    CHECK(!r->flushed[cpu]++, "CPU%u flushed twice for request %u", cpu, k);
    if ( tracing )
        trace(NULL, "flushes for request %u", k);
    if ( r->dirty && !(entered & bit(cpu)) )
        r->old &= ~bit(cpu);
    else
        walk(cpu, r);
    if ( tracing && (r->old & bit(cpu)) )
        trace(NULL, "walks, and finds the old entry");
    action_report(k, cpu);
}

static void begin_request(struct request *r)
{
    r->active = true;
    if ( r->dirty )
        r->named = entered;
    r->must = r->named & cpu_online_map.bits[0];
    if ( !r->dirty )
        r->old = r->must;
}

static void end_request(struct request *r)
{
    unsigned int k = r - requests, cpu;

    r->active = false;
    for ( cpu = 0; cpu < MAX_VCPUS; cpu++ )
    {
        CHECK(!(r->old & bit(cpu)),
              "request %u returned, CPU%u still has the old entry", k, cpu);
        CHECK(!r->flushed[cpu] || action_reported(k, cpu),
              "request %u returned, what CPU%u did is not seen", k, cpu);
        CHECK(r->dirty || !(r->must & bit(cpu)) || r->flushed[cpu],
              "request %u returned before CPU%u flushed", k, cpu);
    }
    for ( k = 0; k < MAX_HELD; k++ )
        CHECK(!held[r->cpu][k], "CPU%u still holds a lock", r->cpu);
}

static void do_flush(struct request *r)
{
    unsigned int k = r - requests;

    begin_request(r);
    sched_inside(true, k);
    if ( r->locked )
        action_xchg_pte(k);
    else
        action_set_pte(k);
    if ( tracing )
        trace(NULL, "request %u begins", k);
    if ( r->dirty )
        action_flush_dirty(va_of(k), flags_of(k));
    else
        action_flush(r->named, va_of(k), flags_of(k));
    sched_inside(false, k);
    if ( tracing )
        trace(NULL, "request %u returns", k);
    end_request(r);
}

static void do_enter(unsigned int cpu)
{
    unsigned int k;

    entered |= bit(cpu);
    for ( k = 0; k < nr_requests; k++ )
        if ( requests[k].dirty )
            requests[k].named |= bit(cpu);
    action_enter(cpu);
    for ( k = 0; k < nr_requests; k++ )
        if ( requests[k].dirty )
        {
            walk(cpu, &requests[k]);
            if ( tracing && (requests[k].old & bit(cpu)) )
                trace(NULL, "walks, and finds the old entry");
        }
}

static void do_leave(unsigned int cpu)
{
    unsigned int k;

    for ( k = 0; k < nr_requests; k++ )
        if ( requests[k].dirty )
            requests[k].old &= ~bit(cpu);
    action_leave(cpu);
    entered &= ~bit(cpu);
}

static bool own_cpu_online(int vcpu)
{
    return cpu_online_map.bits[0] & bit(vcpu);
}

static void hotplug(int rc, const char *what)
{
    CHECK(!rc, "%s: %d", what, rc);
}

static void run_program(unsigned int cpu)
{
    const char *p;
    unsigned int k = 0;

    for ( p = the_case->program[cpu]; *p; p += strcspn(p, " "),
                                           p += *p == ' ' )
        switch ( *p )
        {
        case 'F':
        case 'X':
            while ( requests[k].cpu != cpu )
                k++;
            do_flush(&requests[k++]);
            break;
        case 'E': do_enter(cpu); break;
        case 'L': do_leave(cpu); break;
        case 'U': hotplug(cpu_up(p[1] - '0'), "cpu_up"); break;
        case 'D': hotplug(cpu_down(p[1] - '0'), "cpu_down"); break;
        case 'O': sched_wait(own_cpu_online); break;
        }
}

/* ---- locks ---- */
static bool holds(unsigned int cpu, const spinlock_t *lock, bool change)
{
    unsigned int i;

    for ( i = 0; i < MAX_HELD; i++ )
        if ( held[cpu][i] == lock )
        {
            if ( change )
                held[cpu][i] = NULL;
            return true;
        }
    return false;
}

static void on_lock(spinlock_t *lock, enum sim_lock_op op)
{
    unsigned int cpu, i;

    if ( running == NO_VCPU || op == SIM_LOCK_WAIT )
        return;
    if ( op == SIM_LOCK_FREE )
    {
        CHECK(holds(running, lock, true), "CPU%d unlocks what it does not "
              "hold", running);
        return;
    }
    for ( cpu = 0; cpu < MAX_VCPUS; cpu++ )
        CHECK(!holds(cpu, lock, false), "CPU%u and CPU%d hold one lock", cpu,
              running);
    for ( i = 0; i < MAX_HELD; i++ )
        if ( !held[running][i] )
        {
            held[running][i] = lock;
            return;
        }
    CHECK(false, "CPU%d holds too many locks", running);
}

/* ---- a run ---- */
static void add_request(unsigned int cpu, const char *p)
{
    struct request *r = &requests[nr_requests++];

    *r = (struct request){
        .cpu = cpu, .locked = *p == 'X', .dirty = p[1] == 'D'
    };
    for ( p++; *p >= '0' && *p <= '9'; p++ )
        r->named |= bit(*p - '0');
    if ( r->dirty )
        r->old = the_case->dirty;
}

void case_begin(void)
{
    unsigned int cpu;
    const char *p;

    nr_requests = 0;
    memset(held, 0, sizeof(held));
    memset(requests, 0, sizeof(requests));
    entered = the_case->dirty;
    for ( cpu = 0; cpu < the_case->nr_cpus; cpu++ )
    {
        p = the_case->program[cpu] ?: "";
        sched_add(cpu, *p ? run_program : NULL);
        for ( ; (p = strpbrk(p, "FX")) != NULL; p++ )
            add_request(cpu, p);
        sim_cpu[cpu].pending = the_case->stray & bit(cpu);
    }
    for ( cpu = nr_requests; cpu < MAX_REQUESTS; cpu++ )
        requests[cpu].cpu = NR_CPUS;
}

uint64_t case_hash(void)
{
    uint64_t h = entered;
    unsigned int k, cpu, i;

    for ( k = 0; k < nr_requests; k++ )
    {
        const struct request *r = &requests[k];

        h = hash(h, r->old | r->named << 8 | r->must << 16 |
                    (uint64_t)r->active << 24);
        for ( cpu = 0; cpu < MAX_VCPUS; cpu++ )
            h = hash(h, r->flushed[cpu]);
    }
    for ( cpu = 0; cpu < MAX_VCPUS; cpu++ )
        for ( i = 0; i < MAX_HELD; i++ )
            h = hash(h, (uintptr_t)held[cpu][i]);
    return h;
}

const char *case_end(void)
{
    static char text[80] KEEP;
    unsigned int k;

    for ( k = 0; k < nr_requests; k++ )
        if ( requests[k].old )
        {
            snprintf(text, sizeof(text), "at the end a CPU still has the old "
                     "entry of request %u", k);
            return text;
        }
    return NULL;
}

/* As Xen's x2APIC functions are, which upstream's flush code relies on. */
#ifndef SUBJECT_ENGINE
static void (*send_unfenced)(const cpumask_t *mask, int vector) KEEP;

static void send_fenced(const cpumask_t *mask, int vector)
{
    memory_fence();
    send_unfenced(mask, vector);
}
#endif

void case_boot(const struct explore_case *c)
{
    struct sim_topo topo = {
        .nr_ids = c->nr_cpus, .nr_cpus = c->nr_cpus,
        .nr_nodes = c->nr_nodes, .boot_cpus = c->boot_cpus,
    };

    the_case = c;
    sim_fail_hook = sched_fail;
    sim_boot(&topo);
    /* Which makes send_IPI_mask() not try a shorthand, nor take its lock. */
    disabled_cpus = !c->shorthand;
    action_boot(c->dirty);
#ifndef SUBJECT_ENGINE
    send_unfenced = genapic.send_IPI_mask;
    genapic.send_IPI_mask = send_fenced;
#endif
    sim_flush_hook = on_flush;
    sim_lock_hook = on_lock;
}
