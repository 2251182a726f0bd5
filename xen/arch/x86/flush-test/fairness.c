/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self test of remote flushes: does everybody get a turn?
 *
 * Design
 * ------
 * All CPUs flush, again and again and with no pause, until a number of flushes
 * is done.  Whoever waits should be served in order, so all should have done
 * about the same number.  The part fails if one has done more than twice as
 * many as another.  With domains running that is not judged: they take time on
 * some CPUs.
 *
 * That is done with one kind of targets after the other, as there is more than
 * one way to queue: for one group, and for several.  Two nodes are a kind of
 * their own: both rounds end at the same time, and whoever does not queue gets
 * both groups at once again.  With more groups, whose rounds end at different
 * times, others get in between even so.
 *
 * Flushes are of one page, any: a full flush ticks the TLB clock, and who
 * makes it wrap (each 1024 ticks in debug builds) has to flush all CPUs.  That
 * takes a turn in the queue, and can fall on the same CPU each time: on one of
 * 66, with 33 ticks a flush.
 *
 * CPUs do not begin at the same time, so the count starts when all are there.
 */

#include <xen/mm.h>
#include <xen/numa.h>
#include <asm/flushtlb.h>

#include "private.h"

#define PER_CPU 50U                     /* unless a number is given */
#define LIMIT   2U

enum kind { ONE_NODE, TWO_NODES, EVERYBODY, KINDS };

static const char *const kind_names[] = {
    [ONE_NODE] = "one node",
    [TWO_NODES] = "two nodes",
    [EVERYBODY] = "everybody",
};

static atomic_t present;
static unsigned int crew;
static bool automatic;                  /* no number was given */
static enum kind kind;

/* What was the least fair so far. */
static struct {
    enum kind kind;
    unsigned int busiest, idlest;       /* CPUs */
    unsigned long most, least;          /* flushes of theirs */
} worst;

static nodeid_t busy_node;              /* the one with the most CPUs */
static nodeid_t other_node;             /* one more, if there is any */

static unsigned int nr_cpus(nodeid_t node)
{
    unsigned int cpu, n = 0;

    for_each_online_cpu ( cpu )
        n += cpu_to_node(cpu) == node;

    return n;
}

static void choose_nodes(void)
{
    unsigned int cpu;

    busy_node = cpu_to_node(smp_processor_id());
    for_each_online_cpu ( cpu )
        if ( nr_cpus(cpu_to_node(cpu)) > nr_cpus(busy_node) )
            busy_node = cpu_to_node(cpu);

    other_node = busy_node;
    for_each_online_cpu ( cpu )
        if ( cpu_to_node(cpu) != busy_node )
            other_node = cpu_to_node(cpu);
}

static void choose_targets(cpumask_t *mask, unsigned int cpu)
{
    nodeid_t own = cpu_to_node(cpu);

    switch ( kind )
    {
    case ONE_NODE:
        cpumask_copy(mask, &node_to_cpumask(busy_node));
        break;

    case TWO_NODES:
        cpumask_or(mask, &node_to_cpumask(own),
                   &node_to_cpumask(own == busy_node ? other_node
                                                     : busy_node));
        break;

    default:
        cpumask_copy(mask, &cpu_online_map);
        break;
    }
}

static bool cf_check fairness_step(struct part *part, struct worker *w)
{
    bool all;

    if ( !w->present )
    {
        w->present = true;
        atomic_inc(&present);
    }

    all = atomic_read(&present) >= min_t(unsigned int, crew, num_online_cpus());
    if ( all ? !take_one(part) : is_over(part) )
        return false;

    choose_targets(w->mask, w->cpu);
    flush_area_mask(w->mask, w,
                    FLUSH_TLB | FLUSH_ORDER(0) | FLUSH_NO_ASSIST);
    w->done += all;

    return true;
}

static int cf_check fairness_begin(struct part *part)
{
    atomic_set(&present, 0);
    crew = num_online_cpus();
    choose_nodes();
    /* A CPU that is alone on its node would have nobody to flush there. */
    if ( kind == ONE_NODE && nr_cpus(busy_node) == 1 )
        kind = TWO_NODES;
    if ( automatic || !part->amount )
    {
        automatic = true;
        part->amount = crew * PER_CPU;
    }

    return 0;
}

/* Keeps the CPUs that differ most, if they do more than those kept so far. */
static void compare(void)
{
    const struct worker *busiest = NULL, *idlest = NULL;
    unsigned int cpu;

    for_each_online_cpu ( cpu )
    {
        const struct worker *w = workers[cpu];

        if ( !w )
            continue;
        if ( !busiest || w->done > busiest->done )
            busiest = w;
        if ( !idlest || w->done < idlest->done )
            idlest = w;
    }

    if ( worst.most &&
         busiest->done * worst.least <= worst.most * idlest->done )
        return;

    worst.kind = kind;
    worst.busiest = busiest->cpu;
    worst.idlest = idlest->cpu;
    worst.most = busiest->done;
    worst.least = idlest->done;
}

static void start_anew(void)
{
    kind = ONE_NODE;
    worst.most = 0;
}

static enum verdict cf_check fairness_end(struct part *part, char *text,
                                          size_t size)
{
    bool fair;

    if ( taken(part) < part->amount )
    {
        start_anew();
        snprintf(text, size, "# SKIP stopped");
        return PART_OK;
    }

    compare();
    if ( ++kind < KINDS )
        return PART_AGAIN;

    snprintf(text, size, "%u of each kind, %s: CPU%u %lu, CPU%u %lu%s",
             part->amount, kind_names[worst.kind], worst.busiest,
             worst.most, worst.idlest, worst.least,
             in_background() ? ", not judged" : "");

    fair = worst.most <= LIMIT * worst.least;
    start_anew();

    return in_background() || fair ? PART_OK : PART_FAILED;
}

struct part fairness_part = {
    .name = "fairness",
    .begin = fairness_begin,
    .step = fairness_step,
    .end = fairness_end,
};

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
