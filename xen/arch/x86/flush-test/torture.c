/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self test of remote flushes: every CPU asks random ones to flush.
 *
 * Design
 * ------
 * A request is told from all other flushes, and from the other requests, by
 * the address it gives: an initiator has a page of addresses of its own, and
 * uses the next one in it each time.  flush_area_local() passes the address
 * on.  So whoever flushes finds the request, checks that it was meant, and
 * replies with the request's number.  When the call returns the initiator
 * looks at the replies of those who had to flush: a reply with an older
 * number is a lost flush.  A CPU that was not named, a second flush, other
 * flags than those asked for, a flush after the call returned, and an interrupt
 * with nothing to flush are strays.
 *
 * The request is filled, and replies are made and read, with plain accesses
 * and no barrier: what makes them visible in time is the flush.  The part
 * "order" adds more data to both directions, on cache lines of their own.
 *
 * Those who flush take their time before they reply, now and then: an initiator
 * that does not wait for them has returned by then.
 *
 * In "order" CPUs are also interrupted in vain, which must not make them flush.
 * That cannot be told from an IPI too many, so as many strays are excused.  In
 * "torture" none are.
 *
 * Masks of one kind change while they are used, as a domain's dirty mask does:
 * each CPU adds and removes itself.  Only CPUs whose bit was set all the time
 * have to flush then, which the number of changes tells.
 */

#include <xen/mm.h>
#include <xen/nodemask.h>
#include <xen/numa.h>
#include <xen/vmap.h>
#include <asm/flush-test.h>
#include <asm/flushtlb.h>
#include <irq_vectors.h>

#include "private.h"

#define ADDRESSES 64U                   /* of one initiator */
#define STEP      (PAGE_SIZE / ADDRESSES)

#define ORDER_CPUS  8                   /* that ask others, in part "order" */
#define ORDER_LINES 4
#define IN_VAIN     8                   /* once in so many requests */

/* flush_area_local() may have cleared this one when it tells. */
#define UNCHECKED FLUSH_CACHE

/* Read by those who flush, written by the initiator. */
struct request {
    const void *va;
    unsigned int flags;
    uint32_t number;                    /* never 0 */
    bool moving;                        /* the mask is the moving one */

    struct {
        uint32_t number;
    } __cacheline_aligned line[ORDER_LINES];

    uint32_t *reply;                    /* by CPU; each writes its own */
    uint32_t *changes;                  /* as they were before the call */
    struct {
        uint32_t number;
    } __cacheline_aligned *back;        /* by CPU, in part "order" */
};

static void *__read_mostly arena;       /* a page for each CPU number */

/*
 * The moving mask, and how often each CPU changed its bit: twice the number,
 * and one more while it is at it.
 */
static cpumask_var_t __read_mostly moving;
static uint32_t *__read_mostly changes;

static atomic_t lost, strays, disorder;
static atomic_t told;                   /* lines printed of these */

static bool __read_mostly ordering;

static void diagnose(const char *what, unsigned int from, unsigned int to,
                     unsigned int flags)
{
    if ( atomic_inc_return(&told) <= 8 )
        note("%s: CPU%u asked, CPU%u, flags %#x", what, from, to, flags);
}

/*
 * Those who flush
 */

static void note_stray(const char *what, unsigned int from, unsigned int flags)
{
    atomic_inc(&strays);
    diagnose(what, from, smp_processor_id(), flags);
}

static void check_lines(const struct request *r, unsigned int from)
{
    unsigned int cpu = smp_processor_id(), i;

    for ( i = 0; i < ORDER_LINES; i++ )
        if ( r->line[i].number != r->number )
        {
            atomic_inc(&disorder);
            diagnose("old data at the target", from, cpu, r->flags);
        }

    r->back[cpu].number = r->number;
}

void flush_test_note_flush(const void *va, unsigned int flags)
{
    unsigned long offset = va - arena;
    unsigned int from = offset / PAGE_SIZE, cpu = smp_processor_id();
    struct worker *self = workers[cpu];
    const struct worker *w;
    const struct request *r;

    if ( !arena || va < arena || from >= nr_cpu_ids || !(w = workers[from]) )
        return;

    if ( self && !random_below(self, 4) )
        random_delay(self);

    r = w->request;
    if ( r->va != va )
        note_stray("flush for an earlier request", from, flags);
    else if ( (r->flags ^ flags) & ~UNCHECKED )
        note_stray("other flags", from, flags);
    else if ( !r->moving && !cpumask_test_cpu(cpu, w->mask) )
        note_stray("flush by a CPU not asked", from, flags);
    else if ( r->reply[cpu] == r->number )
        note_stray("second flush", from, flags);
    else if ( ordering )
        check_lines(r, from);

    r->reply[cpu] = r->number;
}

void flush_test_note_stray(void)
{
    struct worker *w = workers[smp_processor_id()];

    if ( !w || !atomic_add_unless(&w->excused, -1, 0) )
        note_stray("interrupt without a flush", smp_processor_id(), 0);
}

/*
 * Those who ask
 */

static void move_self(unsigned int cpu)
{
    write_atomic(&changes[cpu], changes[cpu] + 1);
    /* Whoever sees the new bit finds the count odd, or a later one. */
    smp_wmb();
    if ( cpumask_test_cpu(cpu, moving) )
        cpumask_clear_cpu(cpu, moving);
    else
        cpumask_set_cpu(cpu, moving);
    smp_wmb();
    write_atomic(&changes[cpu], changes[cpu] + 1);
}

static void some_cpus(struct worker *w, unsigned int chance)
{
    unsigned int cpu;

    for_each_present_cpu ( cpu )
        if ( random_below(w, 100) < chance )
            __cpumask_set_cpu(cpu, w->mask);
}

static void some_nodes(struct worker *w)
{
    unsigned int node;

    for_each_online_node ( node )
        if ( random_below(w, 2) )
            cpumask_or(w->mask, w->mask, &node_to_cpumask(node));
}

/* Around the ends of the words that a mask consists of. */
static void word_ends(struct worker *w)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < nr_cpu_ids; cpu += BITS_PER_LONG )
    {
        if ( cpu )
            __cpumask_set_cpu(cpu - 1, w->mask);
        __cpumask_set_cpu(cpu, w->mask);
    }
    if ( random_below(w, 2) )
        __cpumask_set_cpu(nr_cpu_ids - 1, w->mask);
}

/* Returns whether the moving mask is to be used. */
static bool choose_mask(struct worker *w)
{
    cpumask_clear(w->mask);

    switch ( random_below(w, 12) )
    {
    case 0: /* nobody */
        break;
    case 1: /* itself */
        __cpumask_set_cpu(w->cpu, w->mask);
        break;
    case 2:
    case 3: /* one */
        __cpumask_set_cpu(random_below(w, nr_cpu_ids), w->mask);
        break;
    case 4: /* its node */
        cpumask_copy(w->mask, &node_to_cpumask(cpu_to_node(w->cpu)));
        break;
    case 5:
        some_nodes(w);
        break;
    case 6: /* all, whether online or not */
        cpumask_setall(w->mask);
        break;
    case 7: /* all others */
        cpumask_copy(w->mask, &cpu_online_map);
        __cpumask_clear_cpu(w->cpu, w->mask);
        break;
    case 8:
        word_ends(w);
        break;
    case 9: /* a few */
        some_cpus(w, 10);
        break;
    case 10: /* many */
        some_cpus(w, 90);
        break;
    case 11:
        return true;
    }

    return false;
}

/*
 * A hypervisor below is kept out of it: it would not tell who flushed.
 *
 * FLUSH_VCPU_STATE comes with the cache only.  It makes other flags void on
 * CPUs that happen to have state to save.
 */
static unsigned int choose_flags(struct worker *w)
{
    static const unsigned int choices[] = {
        FLUSH_TLB,
        FLUSH_TLB | FLUSH_ORDER(0),
        FLUSH_TLB | FLUSH_VA_VALID | FLUSH_ORDER(0),
        FLUSH_TLB | FLUSH_ORDER(9),
        FLUSH_TLB_GLOBAL,
        FLUSH_TLB | FLUSH_TLB_GLOBAL,
        FLUSH_ROOT_PGTBL,
        FLUSH_TLB | FLUSH_ROOT_PGTBL,
#ifdef CONFIG_HVM
        FLUSH_HVM_ASID_CORE,
        FLUSH_TLB | FLUSH_HVM_ASID_CORE,
#endif
        FLUSH_CACHE | FLUSH_ORDER(0),
        FLUSH_CACHE | FLUSH_TLB | FLUSH_VA_VALID | FLUSH_ORDER(0),
        FLUSH_VCPU_STATE | FLUSH_CACHE | FLUSH_ORDER(0),
    };

    return choices[random_below(w, ARRAY_SIZE(choices))] | FLUSH_NO_ASSIST;
}

static void fill_request(struct worker *w, unsigned int flags)
{
    struct request *r = w->request;
    unsigned int i;

    if ( !++r->number )
        r->number = 1;
    r->flags = flags;
    for ( i = 0; ordering && i < ORDER_LINES; i++ )
        r->line[i].number = r->number;
    r->va = arena + w->cpu * PAGE_SIZE + (r->number % ADDRESSES) * STEP;
}

/* Was @cpu, which was named, so all the time? */
static bool had_to(const struct request *r, unsigned int cpu)
{
    return !r->moving || (!(r->changes[cpu] & 1) &&
                          read_atomic(&changes[cpu]) == r->changes[cpu]);
}

static void check_replies(const struct worker *w, const cpumask_t *named)
{
    const struct request *r = w->request;
    unsigned int cpu;

    for_each_cpu ( cpu, named )
    {
        if ( r->reply[cpu] != r->number && had_to(r, cpu) )
        {
            atomic_inc(&lost);
            diagnose("lost flush", w->cpu, cpu, r->flags);
        }
        else if ( ordering && r->back[cpu].number != r->number &&
                  had_to(r, cpu) )
        {
            atomic_inc(&disorder);
            diagnose("old data from the target", w->cpu, cpu, r->flags);
        }
    }
}

/*
 * A cache flush of a range reaches all CPUs from any: a CPU that is in the mask
 * does it alone.  And the own vCPU state is nobody else's business.
 */
static void leave_self_out(struct worker *w, unsigned int flags)
{
    if ( flags & (FLUSH_CACHE | FLUSH_VCPU_STATE) )
        __cpumask_clear_cpu(w->cpu, w->mask);
}

static void copy_changes(struct request *r)
{
    unsigned int cpu;

    for_each_present_cpu ( cpu )
        r->changes[cpu] = read_atomic(&changes[cpu]);
    /* Counts before bits: pairs with the smp_wmb()s in move_self(). */
    smp_rmb();
}

/* The moving mask, whose own bit is not to be taken out.  Returns the flags. */
static unsigned int take_moving_mask(struct worker *w, unsigned int flags)
{
    copy_changes(w->request);
    cpumask_copy(w->mask, moving);

    flags &= ~(FLUSH_CACHE | FLUSH_VCPU_STATE);
    if ( !(flags & ~(FLUSH_ORDER_MASK | FLUSH_NO_ASSIST)) )
        flags |= FLUSH_TLB;

    return flags;
}

static void ask(struct worker *w)
{
    struct request *r = w->request;
    bool move = choose_mask(w);
    unsigned int flags = choose_flags(w);

    r->moving = move;
    if ( move )
        flags = take_moving_mask(w, flags);
    leave_self_out(w, flags);
    fill_request(w, flags);
    cpumask_and(w->named, w->mask, &cpu_online_map);

    flush_area_mask(move ? moving : w->mask, r->va, flags);

    check_replies(w, w->named);
}

/* Interrupt a CPU that has nothing to flush, as far as this one knows. */
static void interrupt_in_vain(struct worker *w)
{
    unsigned int cpu = random_below(w, nr_cpu_ids);

    if ( cpu == w->cpu || !cpu_online(cpu) || !workers[cpu] )
        return;

    /* Before the IPI, for which the x2APIC's ICR would not wait. */
    atomic_inc(&workers[cpu]->excused);
    smp_mb();
    send_IPI_mask(cpumask_of(cpu), INVALIDATE_TLB_VECTOR);
}

static bool cf_check torture_step(struct part *part, struct worker *w)
{
    if ( ordering && w->cpu >= ORDER_CPUS )
        return false;
    if ( !take_one(part) )
        return false;

    if ( !random_below(w, 4) )
        move_self(w->cpu);
    if ( ordering && !random_below(w, IN_VAIN) )
        interrupt_in_vain(w);
    ask(w);
    w->done++;
    random_delay(w);

    return true;
}

static int begin(bool order)
{
    struct worker *w;

    ordering = order;
    atomic_set(&lost, 0);
    atomic_set(&strays, 0);
    atomic_set(&disorder, 0);
    atomic_set(&told, 0);
    /* An IPI in vain that met a flush left an excuse unused. */
    for_each_worker ( w )
        atomic_set(&w->excused, 0);

    return 0;
}

static int cf_check torture_begin(struct part *part)
{
    return begin(false);
}

static int cf_check order_begin(struct part *part)
{
    return begin(true);
}

static enum verdict cf_check torture_end(struct part *part, char *text,
                                         size_t size)
{
    unsigned int nr_lost = atomic_read(&lost);
    unsigned int nr_strays = atomic_read(&strays);
    unsigned int nr_disorder = atomic_read(&disorder);
    unsigned long done = 0;
    const struct worker *w;

    for_each_worker ( w )
        done += w->done;

    if ( ordering )
        snprintf(text, size, "%lu requests, %u lost, %u stray, %u out of order",
                 done, nr_lost, nr_strays, nr_disorder);
    else
        snprintf(text, size, "%lu requests, %u lost, %u stray", done, nr_lost,
                 nr_strays);

    return nr_lost || nr_strays || nr_disorder || !done ? PART_FAILED
                                                        : PART_OK;
}

struct part torture_part = {
    .name = "torture",
    .amount = 10000,
    .joinable = true,
    .begin = torture_begin,
    .step = torture_step,
    .end = torture_end,
};

struct part order_part = {
    .name = "order",
    .amount = 2000,
    .begin = order_begin,
    .step = torture_step,
    .end = torture_end,
};

static int shared_init(void)
{
    if ( arena )
        return 0;

    changes = xzalloc_array(uint32_t, nr_cpu_ids);
    /* A flush of a page's worth may begin anywhere in the last one. */
    arena = vzalloc((nr_cpu_ids + 1) * PAGE_SIZE);

    return changes && arena && zalloc_cpumask_var(&moving) ? 0 : -ENOMEM;
}

int torture_init(struct worker *w)
{
    struct request *r = xzalloc(struct request);
    int rc = shared_init();

    if ( rc || !r )
        return rc ?: -ENOMEM;

    r->reply = xzalloc_array(uint32_t, nr_cpu_ids);
    r->changes = xzalloc_array(uint32_t, nr_cpu_ids);
    if ( w->cpu < ORDER_CPUS )
        r->back = xzalloc_array(typeof(*r->back), nr_cpu_ids);
    w->request = r;

    return r->reply && r->changes && (r->back || w->cpu >= ORDER_CPUS)
           ? 0 : -ENOMEM;
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
