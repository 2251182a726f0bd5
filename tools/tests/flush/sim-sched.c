/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-sched.c - CPUs as coroutines under a seeded scheduler.
 *
 * Design
 *
 * Every online CPU has a coroutine: the spawned function, or an idle loop
 * that takes interrupts.  sim_sched_point() is called in front of every atomic
 * access of the code under test (sim-atomic.h): with some probability it takes
 * a pending interrupt, then switches to another CPU.  cpu_relax() always
 * switches.  All choices come from the seed, so a failure can be replayed.
 *
 * The model is sequential consistency at the granularity of those accesses;
 * plain accesses between two of them are one step.
 *
 * Not chosen is an idle CPU with no interrupt pending, and one that waits in
 * sim_softirq() because the machine is stopped or the CPU is offline.
 */
#include "sim.h"
#include "sim-stack.h"

#if defined(__SANITIZE_ADDRESS__)
# define SIM_ASAN
#elif defined(__has_feature)
# if __has_feature(address_sanitizer)
#  define SIM_ASAN
# endif
#endif

#ifdef SIM_ASAN
# include <sanitizer/asan_interface.h>
# include <sanitizer/common_interface_defs.h>
#endif

#define STACK_SIZE (256 * 1024)

struct coroutine {
    void *sp;
    char *stack;
    void *fake_stack;
    sim_fn_t *fn;                 /* NULL: idle loop */
    void *arg;
    size_t stack_size;
    bool exists;
    bool stopped;                 /* in sim_softirq() */
    struct sim_self self;         /* while it does not run */
};

bool sim_scheduling;
unsigned long sim_steps;
static unsigned long max_steps;
static unsigned int preempt;
static struct coroutine *co, *current, main_co;
static unsigned int created[NR_CPUS], nr_created;
static unsigned int unfinished;
static bool stopping;

static void switch_to(struct coroutine *to)
{
    struct coroutine *from = current;

    if ( from == to )
        return;
    from->self = sim_self;
    current = to;
#ifdef SIM_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack,
                                   to->stack_size);
#endif
    sim_swap_stack(&from->sp, to->sp);
#ifdef SIM_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
    /* Back again, or here for the first time in entry(). */
    current = from;
    sim_self = from->self;
    sim_self.offset = __per_cpu_offset[sim_self.cpu];
}

/* The scheduler's own look: cpu_online() would call it again. */
static bool online(unsigned int cpu)
{
    return (cpu_online_map.bits[cpu / 64] >> (cpu % 64)) & 1;
}

static bool runnable(unsigned int cpu)
{
    const struct coroutine *c = &co[cpu];

    if ( !c->exists )
        return false;
    if ( c->fn && !c->stopped )
        return true;
    return sim_cpu[cpu].in_handler ||
           (sim_cpu[cpu].pending && online(cpu));
}

static struct coroutine *pick(void)
{
    unsigned int i, n = sim_below(nr_created);

    for ( i = 0; i < nr_created; i++, n = (n + 1) % nr_created )
        if ( runnable(created[n]) )
            return &co[created[n]];
    return &main_co;
}

static void dump_cpus(void)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
        if ( co[cpu].exists )
            fprintf(stderr, "# CPU%u:%s%s%s%s%s%s\n", cpu,
                online(cpu) ? " online" : "",
                co[cpu].fn ? " busy" : " idle",
                co[cpu].stopped ? " stopped" : "",
                co[cpu].self.irq_on ? "" : " irqs off",
                sim_cpu[cpu].pending ? " pending" : "",
                sim_cpu[cpu].in_handler ? " in handler" : "");
}

static void step(void)
{
    if ( ++sim_steps <= max_steps )
        return;
    dump_cpus();
    sim_fail("no end after %lu steps: hang or livelock", sim_steps);
}

void sim_yield(void)
{
    step();
    switch_to(unfinished ? pick() : &main_co);
}

static bool in_coroutine(void)
{
    return sim_scheduling && current != &main_co;
}

void sim_sched_point(void)
{
    if ( !in_coroutine() )
        return;
    step();
    if ( sim_cpu[sim_self.cpu].pending && sim_below(8) == 0 )
        sim_take_irq();
    if ( sim_below(1000) < preempt )
        sim_yield();
}

void sim_cpu_relax_sched(void)
{
    if ( sim_below(2) )
        sim_take_irq();
    sim_yield();
}

static void idle(void)
{
    for ( ; ; )
    {
        sim_take_irq();
        sim_yield();
    }
}

static void entry(void)
{
    struct coroutine *c = current;

#ifdef SIM_ASAN
    const void *bottom;
    size_t size;

    __sanitizer_finish_switch_fiber(NULL, &bottom, &size);
    if ( !main_co.stack )         /* the first switch of all is from there */
    {
        main_co.stack = (void *)bottom;
        main_co.stack_size = size;
    }
#endif
    sim_self = c->self;
    sim_self.offset = __per_cpu_offset[sim_self.cpu];
    if ( c->fn )
    {
        c->fn(c->arg);
        c->fn = NULL;
        unfinished--;
    }
    idle();
}

static void create(unsigned int cpu, sim_fn_t *fn, void *arg)
{
    struct coroutine *c = &co[cpu];

    c->exists = true;
    created[nr_created++] = cpu;
    c->fn = fn;
    c->arg = arg;
    /* Stacks are kept from run to run; abandoned frames may be on it. */
    if ( !c->stack )
        c->stack = malloc(STACK_SIZE);
#ifdef SIM_ASAN
    __asan_unpoison_memory_region(c->stack, STACK_SIZE);
#endif
    c->stack_size = STACK_SIZE;
    c->self = (struct sim_self){ .cpu = cpu, .irq_on = true, .hooks = true };
    c->sp = sim_first_frame(c->stack, STACK_SIZE, entry);
}

void sim_spawn(unsigned int cpu, sim_fn_t *fn, void *arg)
{
    if ( !co )
        co = calloc(NR_CPUS, sizeof(*co));
    create(cpu, fn, arg);
    unfinished++;
}

void sim_run(unsigned int chance, unsigned long steps)
{
    unsigned int cpu;

    for_each_present_cpu ( cpu )
        if ( !co[cpu].exists )
            create(cpu, NULL, NULL);
    preempt = chance;
    max_steps = steps;
    sim_steps = 0;
    sim_scheduling = true;
    current = &main_co;
    main_co.self = sim_self;
    while ( unfinished )
    {
        struct coroutine *next = pick();

        if ( next == &main_co )
            sim_fail("deadlock: no CPU can run");
        switch_to(next);
    }
    /* Handlers of spurious interrupts may still be on their way. */
    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
        while ( sim_cpu[cpu].in_handler )
            switch_to(&co[cpu]);
    sim_scheduling = false;
    while ( nr_created )
    {
        struct coroutine *c = &co[created[--nr_created]];

        *c = (struct coroutine){ .stack = c->stack };
    }
}

/*
 * stop_machine(): every other spawned CPU has to reach sim_softirq(), with
 * interrupts still on; then all but the caller stand still.
 */
void sim_softirq(void)
{
    struct coroutine *c = current;

    while ( stopping || !online(sim_self.cpu) )
    {
        c->stopped = true;
        sim_take_irq();
        sim_yield();
    }
    c->stopped = false;
}

bool sim_sched_stop(unsigned int victim)
{
    unsigned int n, cpu;

    if ( !in_coroutine() )
        return false;
    stopping = true;
    for ( n = 0; n < nr_created; n++ )
        while ( cpu = created[n], online(cpu) && &co[cpu] != current &&
                ((co[cpu].fn && !co[cpu].stopped) || sim_cpu[cpu].in_handler) )
        {
            sim_take_irq();
            sim_yield();
        }
    return true;
}

/* Also called when a CPU came online: they all look again. */
void sim_sched_resume(void)
{
    unsigned int cpu;

    stopping = false;
    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
        co[cpu].stopped = false;
}
