/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sched.c - CPUs as coroutines, switched where it matters.
 *
 * Design
 *
 * memory.c calls sched_point() in front of each access that another CPU could
 * notice.  There the running CPU goes on (free), or something else happens
 * that costs one of the preemption bound: it takes a pending interrupt, or
 * another CPU gets to run, at its interrupt if it has one.  A CPU that waits
 * is not preempted, so who runs then is free.
 *
 * cpu_relax() waits for a store of another CPU to become global in a place
 * this CPU has read since its last cpu_relax(), or for an interrupt.  A store
 * that another CPU holds back can do so any time.  Thus a loop that spins is
 * one step, and when nobody can run this is a deadlock, not a long run.
 *
 * IPIs set a pending flag (sim.c) at once: an x2APIC's ICR write does not wait
 * for earlier stores.  Entry to the handler and its IRET empty the store
 * buffer.  stop_machine() is one step, possible when no other CPU is inside
 * flush_area_mask() or the handler.
 */
#include "explore.h"

#include "sim.h"
#include "sim-stack.h"

#include <sys/mman.h>

#define STACK_SIZE (64 * 1024)
#define STACKS_AT 0x100000000000ul
#define MAX_STEPS 100000
#define MAX_OPTIONS (3 * MAX_VCPUS)

struct vcpu {
    void *sp;
    char *stack;
    void (*fn)(unsigned int cpu);
    struct sim_self self;         /* while it does not run */
    bool exists, done;
    bool waits;                   /* in block(), unless in the handler */
    bool woken;
    bool relaxed;                 /* waits for a store, i.e. cpu_relax() */
    bool irq_first;               /* to be taken when it runs again */
    bool in_iret;
    bool inside;                  /* flush_area_mask() */
    bool (*until)(int vcpu);      /* waits for this */
};

struct option {
    int vcpu;
    bool irq;
    int drain_of;                 /* NO_VCPU, or whose store wakes it */
};

int running KEEP = NO_VCPU;
unsigned long sched_steps KEEP;
bool sim_scheduling KEEP;
unsigned long sim_steps KEEP;

static struct vcpu vcpus[MAX_VCPUS] KEEP;
static char *stacks KEEP;
static void *main_sp KEEP;
static struct sim_self main_self KEEP;
static char failure[512] KEEP;
static bool cut KEEP;             /* the run ended early, at a known state */
static bool stopped KEEP;         /* the machine, but for who did it */

void sched_init(void)
{
    /* Always the same place: addresses are part of what is hashed. */
    stacks = mmap((void *)STACKS_AT, MAX_VCPUS * STACK_SIZE,
                  PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if ( stacks == MAP_FAILED )
        abort();
}

bool sched_own_stack(const volatile void *p)
{
    return (const char *)p >= stacks &&
           (const char *)p < stacks + MAX_VCPUS * STACK_SIZE;
}

bool sched_in_handler(int vcpu)
{
    return sim_cpu[vcpu].in_handler;
}

void sched_woken(int vcpu)
{
    vcpus[vcpu].woken = true;
}

void sched_step(void)
{
    if ( ++sched_steps > MAX_STEPS )
        sim_fail("livelock: no end after %u steps", MAX_STEPS);
}

/* ---- switching ---- */
static void resume(int vcpu)
{
    running = vcpu;
    sim_self = vcpus[vcpu].self;
    sim_self.offset = __per_cpu_offset[sim_self.cpu];
    memory_enter(vcpu);
}

static void switch_to(int to)
{
    int from = running;

    if ( from == to )
        return;
    memory_leave(from);
    vcpus[from].self = sim_self;
    running = to;
    sim_swap_stack(&vcpus[from].sp, vcpus[to].sp);
    resume(from);
}

static void switch_to_main(void)
{
    int from = running;
    void *unused;

    memory_leave(from);
    running = NO_VCPU;
    sim_self = main_self;
    sim_swap_stack(&unused, main_sp);
}

void sched_fail(const char *text)
{
    if ( running == NO_VCPU )
        return;
    snprintf(failure, sizeof(failure), "%s", text);
    switch_to_main();
}

/* ---- what can happen next ---- */

/* Not cpu_online(): that is an access of the code under test. */
static bool online(unsigned int cpu)
{
    return cpu_online_map.bits[0] >> cpu & 1;
}

/* Does another coroutine play this CPU, which is being brought up? */
static bool played(int vcpu)
{
    unsigned int i;

    for ( i = 0; i < MAX_VCPUS; i++ )
        if ( i != vcpu && vcpus[i].exists && vcpus[i].self.cpu == vcpu &&
             i != running )
            return true;
    return running != vcpu && sim_self.cpu == vcpu;
}

static bool can_take_irq(int vcpu)
{
    const struct sim_self *self = vcpu == running ? &sim_self
                                                  : &vcpus[vcpu].self;

    return sim_cpu[vcpu].pending && self->irq_on && self->cpu == vcpu &&
           online(vcpu) && !sched_in_handler(vcpu) && !vcpus[vcpu].in_iret;
}

static bool can_run(int vcpu)
{
    const struct vcpu *v = &vcpus[vcpu];

    if ( !v->waits || sched_in_handler(vcpu) || v->in_iret )
        return true;
    return v->until ? v->until(vcpu) : v->relaxed && v->woken;
}

static unsigned int gather(struct option *o)
{
    unsigned int n = 0, i;
    int vcpu, by;

    for ( i = 0; i < MAX_VCPUS; i++ )
    {
        vcpu = (running + i) % MAX_VCPUS;
        if ( !vcpus[vcpu].exists || played(vcpu) ||
             (stopped && vcpu != running) )
            continue;
        if ( can_run(vcpu) )
            o[n++] = (struct option){ vcpu, false, NO_VCPU };
        else if ( vcpus[vcpu].relaxed )
            for ( by = 0; by < MAX_VCPUS; by++ )
                if ( memory_can_wake(vcpu, by) )
                    o[n++] = (struct option){ vcpu, false, by };
        if ( can_take_irq(vcpu) )
            o[n++] = (struct option){ vcpu, true, NO_VCPU };
    }
    return n;
}

static unsigned int thread(int vcpu, bool irq)
{
    return 2 * vcpu + irq;
}

/*
 * Everything that decides how the run goes on.  A CPU's registers, stack and
 * memory of its own follow from what it has read since some known point, which
 * memory.c keeps as its history.  Known points are the beginning of a request
 * and a look at all that itself, in cpu_relax().  The handler leaves nothing
 * behind there.
 */
static uint64_t hash_state(bool preempts)
{
    uint64_t h = hash(memory_hash(), thread(running, preempts));
    unsigned int i;

    for ( i = 0; i < MAX_VCPUS; i++ )
    {
        const struct vcpu *v = &vcpus[i];

        h = hash(h, v->waits | v->woken << 1 | v->relaxed << 2 |
                    v->irq_first << 3 | v->inside << 4 | v->done << 5 |
                    v->in_iret << 8 |
                    sim_cpu[i].pending << 6 | stopped << 7);
    }
    return hash(h, case_hash());
}

/* What the running CPU has on its stack, and in registers. */
static uint64_t __attribute__((__noinline__)) hash_stack(void)
{
    const uint64_t *top = (uint64_t *)(vcpus[running].stack + STACK_SIZE);
    const uint64_t *p;
    uint64_t h = 0;

    __builtin_unwind_init();      /* the registers are on the stack, too */
    __asm__ __volatile__ ( "mov %%rsp, %0" : "=r" (p) );
    for ( ; p < top; p++ )
        h = hash(h, *p);
    return memory_hash_own(h);
}

/* Frames to come find zeroes, not what was left there. */
static void __attribute__((__noinline__)) clean_stack(void)
{
    char *sp = __builtin_frame_address(0);
    char *bottom = vcpus[running].stack;

    sp -= 512;                    /* memset() is down there */
    bottom = bottom < sp - 4096 ? sp - 4096 : bottom;
    memset(bottom, 0, sp - bottom);
}

static struct option pick(bool preempts)
{
    struct option o[MAX_OPTIONS];
    uint8_t threads[MAX_OPTIONS];
    unsigned int n = gather(o), i;

    if ( !n )
        return (struct option){ NO_VCPU };
    if ( choose_wants_state() && choose_known(hash_state(preempts)) )
    {
        cut = true;
        switch_to_main();
    }
    for ( i = 0; i < n; i++ )
        threads[i] = thread(o[i].vcpu,
                            o[i].irq || sched_in_handler(o[i].vcpu));
    i = choose(FORK_CPU, n, preempts ? 1 : n, threads,
               thread(running, sched_in_handler(running)));
    return o[i];
}

static void take_irq(void)
{
    uint64_t history;

    memory_empty();
    if ( tracing )
        trace(NULL, "takes the interrupt");
    history = memory_history();
    memory_event(1);
    sim_take_irq();
    vcpus[running].in_iret = true;
    memory_fence();
    vcpus[running].in_iret = false;
    memory_set_history(history);
    if ( tracing )
        trace(NULL, "returns from it");
}

/* Make it so; returns when the running CPU is the one again. */
static void follow(struct option o)
{
    if ( o.drain_of != NO_VCPU )
        memory_wake(o.vcpu, o.drain_of);
    if ( o.irq && o.vcpu != running )
        vcpus[o.vcpu].irq_first = true;
    switch_to(o.vcpu);
}

/* Take the interrupt that the one who switched here wanted. */
static bool irq_first(void)
{
    bool first = vcpus[running].irq_first;

    vcpus[running].irq_first = false;
    if ( first )
        take_irq();
    return first;
}

void sched_point(void)
{
    struct option o;

    do {
        o = pick(true);
        if ( o.vcpu == running )
        {
            if ( !o.irq )
                return;
            take_irq();
            continue;
        }
        follow(o);
    } while ( irq_first() || o.vcpu == running );
}

static bool all_done(void)
{
    unsigned int i;

    for ( i = 0; i < MAX_VCPUS; i++ )
        if ( vcpus[i].exists && !vcpus[i].done )
            return false;
    return true;
}

static const char *state_of(int vcpu)
{
    const struct vcpu *v = &vcpus[vcpu];

    return !online(vcpu) ? "offline" : v->done ? "idle" :
           v->until ? "waits for others" : v->relaxed ? "spins" : "runs";
}

static void nobody_can_run(void)
{
    char text[200] = "";
    unsigned int i, len = 0;

    if ( all_done() )
        switch_to_main();
    for ( i = 0; i < MAX_VCPUS; i++ )
        if ( vcpus[i].exists )
            len += snprintf(text + len, sizeof(text) - len, "; CPU%u %s%s", i,
                            state_of(i), sim_cpu[i].pending ? ", IPI pending"
                                                            : "");
    sim_fail("deadlock%s", text);
}

/* Until can_run(), or for good. */
static void block(void)
{
    struct vcpu *v = &vcpus[running];
    struct option o;

    v->waits = true;
    for ( ; ; )
    {
        o = pick(false);
        if ( o.vcpu == NO_VCPU )
            nobody_can_run();
        else if ( o.vcpu != running )
        {
            follow(o);
            if ( !irq_first() )
                break;
        }
        else if ( o.irq )
            take_irq();
        else
        {
            follow(o);
            break;
        }
    }
    v->waits = false;
}

void sim_cpu_relax_sched(void)
{
    struct vcpu *v;

    memory_settle();
    sched_step();
    v = &vcpus[running];
    if ( sched_in_handler(running) )
        sim_fail("a handler waits");
    if ( !v->woken )
    {
        if ( tracing )
            trace(NULL, "waits");
        v->relaxed = true;
        block();
        v->relaxed = false;
        if ( tracing )
            trace(NULL, "goes on");
    }
    v->woken = false;
    memory_forget_reads(running);
    memory_set_history(hash_stack());
}

void sched_wait(bool (*until)(int vcpu))
{
    memory_settle();
    vcpus[running].until = until;
    block();
    vcpus[running].until = NULL;
    memory_event(4);
}

void sched_inside(bool inside, unsigned int step)
{
    memory_settle();
    vcpus[running].inside = inside;
    memory_set_history(2 * step + inside);
    if ( inside )
        clean_stack();
    else
    {
        vcpus[running].woken = false;
        memory_forget_reads(running);
    }
}

/* ---- stop_machine() ---- */
static bool others_outside(int vcpu)
{
    unsigned int i;

    for ( i = 0; i < MAX_VCPUS; i++ )
        if ( i != vcpu && (sched_in_handler(i) || vcpus[i].inside) )
            return false;
    return true;
}

bool sim_sched_stop(unsigned int victim)
{
    sched_wait(others_outside);
    memory_empty();
    return stopped = true;
}

void sim_sched_resume(void)
{
    stopped = false;
}

/* ---- a run ---- */
static void entry(void)
{
    int self = running;

    resume(self);
    irq_first();
    if ( vcpus[self].fn )
        vcpus[self].fn(self);
    memory_settle();
    memory_event(7);
    vcpus[self].done = true;
    /* What is in the store buffer stays there: nothing makes it leave. */
    block();
    __builtin_unreachable();
}

void sched_add(unsigned int cpu, void (*fn)(unsigned int cpu))
{
    struct vcpu *v = &vcpus[cpu];

    *v = (struct vcpu){ .exists = true, .fn = fn, .done = !fn };
    v->stack = stacks + cpu * STACK_SIZE;
    v->self = (struct sim_self){ .cpu = cpu, .irq_on = true };
    v->sp = sim_first_frame(v->stack, STACK_SIZE, entry);
    if ( !fn )
        v->waits = true;
}

bool sched_cut(void)
{
    return cut;
}

const char *sched_run(void)
{
    struct option o;

    failure[0] = 0;
    cut = false;
    sched_steps = 0;
    main_self = sim_self;
    sim_scheduling = true;
    running = 0;                  /* whose turn it would be */
    o = pick(false);
    running = o.vcpu;
    vcpus[o.vcpu].irq_first = o.irq;
    sim_swap_stack(&main_sp, vcpus[o.vcpu].sp);
    sim_scheduling = false;
    return failure[0] ? failure : NULL;
}

void sched_reset(void)
{
    memset(vcpus, 0, sizeof(vcpus));
    running = NO_VCPU;
    stopped = false;
}

void sim_sched_point(void)
{
}
