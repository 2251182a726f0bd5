/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core.c - CPUs as coroutines, in order of virtual time.
 *
 * Design
 *
 * A binary heap holds the CPUs that are due, by (time, number); the running
 * one is not in it.  A CPU gives way
 *   - in fs_order(), called before each access that others could notice, if
 *     somebody is due earlier;
 *   - in cpu_relax(), until another CPU writes a line that it read since the
 *     last time, or an interrupt comes: spinning costs no host time;
 *   - in fs_work(), until a time, or an interrupt.
 * So accesses to shared lines happen in the order of virtual time.
 */
#include "fs.h"
#include "../tests/flush/sim-stack.h"

#include <sys/mman.h>

#define STACK_SIZE (128 * 1024UL)

struct fs_cpu fs_cpu[NR_CPUS], *fs_cur;
unsigned int fs_nr_cpus;
bool fs_active;
unsigned long fs_switches;

static struct fs_cpu *heap[NR_CPUS + 1];
static unsigned int heap_size;
static void *main_sp;
static void (*bodies[NR_CPUS])(void);
static unsigned int running;

/* ---- the queue ---- */
static bool before(const struct fs_cpu *a, const struct fs_cpu *b)
{
    return a->due != b->due ? a->due < b->due : a->id < b->id;
}

static void put_at(unsigned int pos, struct fs_cpu *c)
{
    heap[pos] = c;
    c->pos = pos;
}

static void sift_up(struct fs_cpu *c, unsigned int pos)
{
    while ( pos > 1 && before(c, heap[pos / 2]) )
    {
        put_at(pos, heap[pos / 2]);
        pos /= 2;
    }
    put_at(pos, c);
}

static void push(struct fs_cpu *c)
{
    sift_up(c, ++heap_size);
}

static struct fs_cpu *pop(void)
{
    struct fs_cpu *first = heap[1], *last = heap[heap_size--];
    unsigned int pos = 1, child;

    first->pos = 0;
    if ( first == last )
        return first;
    while ( (child = 2 * pos) <= heap_size )
    {
        if ( child < heap_size && before(heap[child + 1], heap[child]) )
            child++;
        if ( !before(heap[child], last) )
            break;
        put_at(pos, heap[child]);
        pos = child;
    }
    put_at(pos, last);
    return first;
}

/* Due at @when at the latest. */
void fs_wake(struct fs_cpu *c, fs_time when)
{
    if ( when < c->now )
        when = c->now;
    if ( !c->pos )
    {
        c->due = when;
        push(c);
    }
    else if ( when < c->due )
    {
        c->due = when;
        sift_up(c, c->pos);
    }
}

/* ---- switching ---- */
static void switch_to(struct fs_cpu *to)
{
    struct fs_cpu *from = fs_cur;

    if ( from == to )
        return;
    fs_switches++;
    from->self = sim_self;
    fs_cur = to;
    sim_self = to->self;
    sim_swap_stack(&from->sp, to->sp);
}

static void noreturn deadlock(void)
{
    static const char *const names[] = { "runs", "spins", "sleeps", "idle" };
    unsigned int cpu;

    fs_active = false;
    fs_cur->self = sim_self;
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
    {
        fprintf(stderr, "CPU%u %s at %"PRIu64" ns, interrupts %s, %u IPIs\n",
                cpu, names[fs_cpu[cpu].state], fs_cpu[cpu].now / 1000,
                fs_cpu[cpu].self.irq_on ? "on" : "off",
                fs_cpu[cpu].nr_arrivals);
        if ( fs_cpu[cpu].state == FS_RELAX )
            fs_show_watch(&fs_cpu[cpu]);
    }
    fs_fail("nobody can run: deadlock");
}

static void dispatch(void)
{
    struct fs_cpu *next;

    if ( !heap_size )
        deadlock();
    next = pop();
    if ( next->due > next->now )
        next->now = next->due;
    switch_to(next);
}

void fs_order(void)
{
    struct fs_cpu *c = fs_cur;

    if ( !heap_size )
        return;
    c->due = c->now;
    if ( before(c, heap[1]) )
        return;
    push(c);
    dispatch();
}

static void wait_for(enum fs_state state, fs_time until)
{
    struct fs_cpu *c = fs_cur;

    c->state = state;
    if ( until != FS_NEVER )
        fs_wake(c, until);
    dispatch();
    c->state = FS_RUN;
}

/* ---- what CPUs do ---- */
void cpu_relax(void)
{
    struct fs_cpu *c = fs_cur;
    fs_time irq;

    if ( !fs_active )
        return;
    if ( sim_self.irq_on && fs_irq_due(c) )
    {
        fs_pass(fs_cost.pause / 2);
        fs_take_irqs(c);
    }
    else if ( c->too_many || !fs_watch_arm(c) )
        fs_pass(fs_cost.pause);
    else
    {
        irq = sim_self.irq_on ? fs_next_irq(c) : FS_NEVER;
        wait_for(FS_RELAX, irq);
        fs_unwatch(c);
        if ( sim_self.irq_on && fs_irq_due(c) )
            fs_take_irqs(c);
    }
    c->nr_watch = 0;
    c->too_many = false;
}

static fs_time min_time(fs_time a, fs_time b)
{
    return a < b ? a : b;
}

/* Time in handlers, and the refill after a flush, come on top of @span. */
void fs_work(fs_time span)
{
    struct fs_cpu *c = fs_cur;
    fs_time end = c->now + span, start;

    c->in_guest = true;
    for ( ; ; )
    {
        end += c->refill;
        c->refill = 0;
        wait_for(FS_SLEEP, min_time(end, fs_next_irq(c)));
        if ( fs_irq_due(c) )
        {
            start = c->now;
            fs_take_irqs(c);
            end += c->now - start;
        }
        if ( c->now >= end )
            break;
    }
    c->in_guest = false;
    c->nr_watch = 0;
    c->too_many = false;
}

static void idle(void)
{
    struct fs_cpu *c = fs_cur;

    c->state = FS_DONE;
    if ( !--running )
    {
        c->self = sim_self;
        sim_swap_stack(&c->sp, main_sp);
    }
    for ( ; ; )
    {
        wait_for(FS_DONE, fs_next_irq(c));
        fs_take_irqs(c);
        c->nr_watch = 0;
    }
}

static void entry(void)
{
    bodies[fs_cur->id]();
    idle();
}

/* Not on the brk heap, which is among the addresses that are looked at. */
static char *new_stack(void)
{
    char *p = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if ( p == MAP_FAILED )
        fs_fail("no memory for a stack");
    return p;
}

void fs_spawn(unsigned int cpu, void (*fn)(void))
{
    struct fs_cpu *c = &fs_cpu[cpu];

    c->sp = sim_first_frame(new_stack(), STACK_SIZE, entry);
    c->self = (struct sim_self){ .cpu = cpu, .irq_on = true,
                                 .offset = __per_cpu_offset[cpu] };
    c->state = FS_RUN;
    c->now = 0;
    bodies[cpu] = fn;
    running++;
    fs_wake(c, 0);
}

void fs_run(void)
{
    struct sim_self saved = sim_self;

    fs_active = true;
    fs_cur = pop();
    sim_self = fs_cur->self;
    sim_swap_stack(&main_sp, fs_cur->sp);
    fs_active = false;
    sim_self = saved;
}

void fs_become(unsigned int cpu)
{
    fs_cur = &fs_cpu[cpu];
    sim_self.cpu = cpu;
    sim_self.offset = __per_cpu_offset[cpu];
}

/* ---- chance: a stream for each CPU (splitmix64) ---- */
uint64_t fs_rand(struct fs_cpu *c)
{
    uint64_t x = c->rng += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

fs_time fs_rand_below(struct fs_cpu *c, fs_time n)
{
    return n ? fs_rand(c) % n : 0;
}
