/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * engine-ideal.c - what physics leaves of a flush.
 *
 * Design: no lock, no queue, nobody else.  The slowest target decides: ICR
 * write, flight, interrupt entry, the request's line, EOI, flush, the line of
 * the answer.  Targets lose no time, so a storm of these is a limit no engine
 * can reach.
 */
#include "fs.h"

static fs_time line_way(const struct fs_cpu *a, const struct fs_cpu *b)
{
    unsigned int hops = fs_hops(a->socket, b->socket);

    return a->core == b->core ? fs_cost.line_smt :
           a->ccx == b->ccx ? fs_cost.line_near :
           !hops ? fs_cost.line_socket :
           hops == 1 || fs_topo.sockets == 2 ? fs_cost.line_hop1
                                             : fs_cost.line_hop2;
}

static fs_time one_target(const struct fs_cpu *from, struct fs_cpu *to,
                          fs_time sent, fs_time flush)
{
    fs_time line = line_way(from, to);
    fs_time flushed = sent + fs_cost.flight +
        fs_cost.flight_hop * fs_hops(from->socket, to->socket) +
        fs_cost.entry + line + fs_cost.eoi + flush;

    fs_flushed(to, from->now);
    return flushed + line;
}

void fs_ideal_flush(const cpumask_t *mask, const void *va, unsigned int flags)
{
    struct fs_cpu *c = fs_cur;
    fs_time flush = flags & FLUSH_ORDER_MASK ? fs_cost.flush_page
                                             : fs_cost.flush_all;
    bool all = bitmap_weight(mask->bits, fs_nr_cpus) >= fs_nr_cpus - 1;
    unsigned int cpu, cluster = ~0U;
    fs_time sent = c->now, end = c->now, t;

    if ( cpumask_test_cpu(c->id, mask) )
        sent = end = c->now + flush;
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
    {
        if ( cpu == c->id || !cpumask_test_cpu(cpu, mask) )
            continue;
        if ( cluster == ~0U ||
             (!all && cluster != x86_cpu_to_apicid[cpu] >> 4) )
            sent += fs_cost.icr;
        cluster = x86_cpu_to_apicid[cpu] >> 4;
        t = one_target(c, &fs_cpu[cpu], sent, flush);
        end = t > end ? t : end;
    }
    c->now = end;
    fs_order();
}

/* For the tests: leaves the first target out. */
void fs_forgetful_flush(const cpumask_t *mask, const void *va,
                        unsigned int flags)
{
    cpumask_t less = *mask;
    unsigned int cpu = cpumask_first(&less);

    less.bits[cpu / 64] &= ~(1UL << (cpu % 64));
    fs_ideal_flush(&less, va, flags);
}

void fs_ideal_handler(struct cpu_user_regs *regs)
{
    fs_fail("nobody is interrupted");
}
