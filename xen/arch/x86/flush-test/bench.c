/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self test of remote flushes: how long do they take?
 *
 * Design
 * ------
 * A cell of the table is the mean time of a flush, in us, when 1, 2, 4 ... all
 * CPUs flush 1, 2, 4 ... all others at the same time, each of them without a
 * pause.  Targets are CPUs of the initiator's node ("local"), or of all other
 * nodes in turn ("cross"), or simply all others.  Initiators are spread over
 * the nodes.  Each cell is a run of the crew, in which CPUs that are neither
 * initiator nor busy as a target are idle.
 *
 * Flushes per second follow: initiators divided by the mean.
 */

#include <xen/mm.h>
#include <xen/nodemask.h>
#include <xen/numa.h>
#include <asm/flushtlb.h>

#include "private.h"

#define COLUMNS 13U                     /* 1, 2, 4 ... 4096 */

enum where { LOCAL, CROSS, ALL };

static const char *const where_names[] = { "local", "cross", "all" };

/* The row and the column in the making. */
static enum where where;
static unsigned int targets;
static unsigned int initiators;

static unsigned int cpus;               /* when the table was begun */
static atomic_t present;
static unsigned long means[COLUMNS], flushes;   /* means in ns; of a row */
static unsigned int column;

/* The next of 1, 2, 4 ... @last; 0 behind the last one. */
static unsigned int next_size(unsigned int n, unsigned int last)
{
    return n >= last ? 0 : min(2 * n, last);
}

static const cpumask_t *node_of(unsigned int cpu)
{
    return &node_to_cpumask(cpu_to_node(cpu));
}

static unsigned int online_in(const cpumask_t *mask)
{
    unsigned int cpu, n = 0;

    for_each_cpu ( cpu, mask )
        n += cpu_online(cpu);

    return n;
}

/* How many targets the longest row of a kind has: seen from CPU0. */
static unsigned int most_targets(void)
{
    unsigned int own = online_in(node_of(0));

    switch ( where )
    {
    case LOCAL: return own - 1;
    case CROSS: return cpus - own;
    default:    return cpus - 1;
    }
}

/* How many CPUs before it are on the node of each. */
static void rank_workers(void)
{
    unsigned int node, cpu;

    for_each_online_node ( node )
    {
        unsigned int n = 0;

        for_each_cpu ( cpu, &node_to_cpumask(node) )
            if ( cpu_online(cpu) && workers[cpu] )
                workers[cpu]->rank = n++;
    }
}

/* Spread over nodes: by rank, then by number. */
static bool is_initiator(const struct worker *w)
{
    unsigned int i, before = 0;

    for_each_online_cpu ( i )
        if ( workers[i] &&
             (workers[i]->rank < w->rank ||
              (workers[i]->rank == w->rank && i < w->cpu)) )
            before++;

    return before < initiators;
}

static bool may_be_target(const struct worker *w, unsigned int cpu)
{
    return cpu != w->cpu && workers[cpu] &&
           (where == ALL ||
            (cpu_to_node(cpu) == cpu_to_node(w->cpu)) == (where == LOCAL));
}

/* Cross: first of each node, second of each node, and so on. */
static unsigned int preference(const struct worker *w, unsigned int cpu)
{
    unsigned int near = (cpu + nr_cpu_ids - w->cpu) % nr_cpu_ids;

    return where == CROSS ? workers[cpu]->rank * nr_cpu_ids + near : near;
}

static void choose_targets(struct worker *w)
{
    unsigned int n, cpu;

    cpumask_clear(w->mask);
    for ( n = 0; n < targets; n++ )
    {
        unsigned int best = nr_cpu_ids;

        for_each_online_cpu ( cpu )
            if ( may_be_target(w, cpu) && !cpumask_test_cpu(cpu, w->mask) &&
                 (best == nr_cpu_ids ||
                  preference(w, cpu) < preference(w, best)) )
                best = cpu;
        if ( best < nr_cpu_ids )
            __cpumask_set_cpu(best, w->mask);
    }
}

static void flush_once(struct worker *w)
{
    s_time_t start = NOW();

    flush_area_mask(w->mask, NULL, FLUSH_TLB | FLUSH_NO_ASSIST);

    w->time += NOW() - start;
    w->done++;
}

static bool cf_check bench_step(struct part *part, struct worker *w)
{
    /* Nothing is ever taken: this is a stop. */
    if ( is_over(part) )
        return false;

    if ( !w->present )
    {
        if ( !is_initiator(w) )
            return false;
        choose_targets(w);
        w->present = true;
        atomic_inc(&present);
    }

    /* Others may not have started, and some never will if they go offline. */
    if ( atomic_read(&present) < min_t(unsigned int, initiators,
                                       num_online_cpus()) )
    {
        cpu_relax();
        return true;
    }

    flush_once(w);

    return w->done < part->amount;
}

static void print_header(void)
{
    char line[80];
    unsigned int n, len = 0;

    note("mean us of a flush, by targets and number of initiators");
    for ( n = 1; n && len < sizeof(line) - 8; n = next_size(n, cpus) )
        len += snprintf(line + len, sizeof(line) - len, " %7u", n);
    note("initiators  %s", line);
}

static void print_row(void)
{
    char line[COLUMNS * 12];
    unsigned int i, len = 0;

    for ( i = 0; i < column; i++ )
        len += snprintf(line + len, sizeof(line) - len, " %5lu.%lu",
                        means[i] / 1000, means[i] % 1000 / 100);
    note("%-5s %5u %s", where_names[where], targets, line);
}

/* The first row of the kind @where, or of the next one that has any. */
static void first_row(enum where first)
{
    column = 0;
    initiators = 1;
    for ( where = first; where < ALL; where++ )
        if ( most_targets() )
            break;
    targets = where == ALL ? most_targets() : 1;
}

static void next_row(void)
{
    print_row();
    column = 0;
    initiators = 1;
    targets = next_size(targets, most_targets());
    if ( !targets && where != ALL )
        first_row(where + 1);
}

static int cf_check bench_begin(struct part *part)
{
    atomic_set(&present, 0);
    if ( initiators )
        return 0;

    cpus = num_online_cpus();
    flushes = 0;
    rank_workers();
    print_header();
    first_row(LOCAL);

    return 0;
}

static bool mean_of_cell(unsigned long *mean)
{
    unsigned long done = 0;
    s_time_t time = 0;
    const struct worker *w;

    for_each_worker ( w )
    {
        done += w->done;
        time += w->time;
    }

    flushes += done;
    *mean = done ? time / done : 0;

    return done;
}

static enum verdict cf_check bench_end(struct part *part, char *text,
                                       size_t size)
{
    bool ok = mean_of_cell(&means[column]);

    if ( ok && !is_over(part) )
    {
        column++;
        initiators = next_size(initiators, cpus);
        if ( !initiators )
            next_row();
        if ( targets )
            return PART_AGAIN;
    }

    snprintf(text, size, "%lu flushes%s", flushes,
             is_over(part) ? " # SKIP stopped" : "");
    initiators = 0;

    return ok || is_over(part) ? PART_OK : PART_FAILED;
}

struct part bench_part = {
    .name = "bench",
    .amount = 10,
    .begin = bench_begin,
    .step = bench_step,
    .end = bench_end,
};

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
