/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self test of remote flushes: does everybody get a turn?
 *
 * Design
 * ------
 * All CPUs have all others flush, again and again and with no pause, until a
 * number of flushes is done.  Whoever waits should be served in order, so all
 * should have done about the same number.  The part fails if one has done more
 * than twice as many as another.  With domains running that is not judged: they
 * take time on some CPUs.
 *
 * CPUs do not begin at the same time, so the count starts when all are there.
 */

#include <xen/mm.h>
#include <asm/flushtlb.h>

#include "private.h"

#define PER_CPU 50U                     /* unless a number is given */
#define LIMIT   2U

static atomic_t present;
static unsigned int crew;
static bool automatic;                  /* no number was given */

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

    flush_area_mask(&cpu_online_map, NULL, FLUSH_TLB | FLUSH_NO_ASSIST);
    w->done += all;

    return true;
}

static int cf_check fairness_begin(struct part *part)
{
    atomic_set(&present, 0);
    crew = num_online_cpus();
    if ( automatic || !part->amount )
    {
        automatic = true;
        part->amount = crew * PER_CPU;
    }

    return 0;
}

static enum verdict cf_check fairness_end(struct part *part, char *text,
                                          size_t size)
{
    const struct worker *busiest = NULL, *idlest = NULL;
    unsigned int cpu;

    if ( taken(part) < part->amount )
    {
        snprintf(text, size, "# SKIP stopped");
        return PART_OK;
    }

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

    snprintf(text, size, "%u flushes, CPU%u did %lu, CPU%u %lu%s",
             taken(part), busiest->cpu, busiest->done, idlest->cpu,
             idlest->done, in_background() ? ", not judged" : "");

    return in_background() || busiest->done <= LIMIT * idlest->done
           ? PART_OK : PART_FAILED;
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
