/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test-units.c - the directory and the queue, checked against arithmetic.
 *
 * Design
 *
 * A program of its own, linked with the simulator's core: small scripts on two
 * sockets of two cores with two threads, each access timed.  "queue" is a
 * machine with one server: CPUs that ask at random times for a line which is
 * busy for a fixed span, whose mean wait must be that of the M/D/1 queue.
 * With an argument "fault" a wrong figure is expected, and must be noticed.
 */
#include "fs.h"

#include <math.h>

const struct fs_engine fs_engines[1], *fs_engine = fs_engines;
static char *line;
static unsigned int failures;
static bool fault;

static void expect(const char *what, fs_time got, fs_time want)
{
    if ( fault )
        want++;
    if ( got == want )
        return;
    printf("%s: %lu ps, not %lu\n", what, got, want);
    failures++;
}

static fs_time timed(enum fs_kind kind, unsigned int offset)
{
    fs_time from = fs_cur->now;

    fs_access((uintptr_t)line + offset, kind);
    return fs_cur->now - from;
}

/* CPU 0 and 1: a core; 2: the same socket; 4: the other one. */
static void first(void)
{
    expect("cold read", timed(FS_READ, 0), fs_cost.line_memory);
    expect("read again", timed(FS_READ, 8), fs_cost.hit);
    expect("the only copy, locked", timed(FS_LOCKED, 0), fs_cost.locked);
    expect("the owner, locked", timed(FS_LOCKED, 0), fs_cost.locked);
    fs_work(20000000);
    /* Three others have read it meanwhile, one of them far away. */
    expect("locked, shared", timed(FS_LOCKED, 0), fs_cost.locked +
           fs_cost.line_hop1 * fs_cost.upgrade_pct / 100);
    expect("store that hits", timed(FS_WRITE, 0), fs_cost.hit);
}

static void sibling(void)
{
    fs_work(2000000);
    expect("from the core's other thread", timed(FS_READ, 0),
           fs_cost.line_smt);
}

static void neighbour(void)
{
    fs_work(4000000);
    expect("from the socket", timed(FS_READ, 0), fs_cost.line_near);
    fs_work(30000000);
    expect("store that misses", timed(FS_WRITE, 0), fs_cost.hit);
    expect("fence behind it", timed(FS_LOCKED, 0),
           fs_cost.line_near - fs_cost.hit + fs_cost.hit + fs_cost.locked);
}

static void remote(void)
{
    fs_work(6000000);
    expect("from the other socket", timed(FS_READ, 0), fs_cost.line_hop1);
}

static void nothing(void)
{
}

static void scripts(void)
{
    unsigned int cpu;

    line = fs_alloc_on(0, 64, 64);
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        fs_spawn(cpu, cpu == 0 ? first : cpu == 1 ? sibling :
                      cpu == 2 ? neighbour : cpu == 4 ? remote : nothing);
    fs_run();
}

/* ---- one server, fixed service time ---- */
#define ROUNDS 400000
static double waited;
static unsigned long arrivals;
static fs_time mean_gap;

static double uniform(struct fs_cpu *c)
{
    return (fs_rand(c) >> 11) * 0x1p-53;
}

static void customer(void)
{
    struct fs_cpu *c = fs_cur;
    unsigned int i;
    fs_time base;

    for ( i = 0; i < ROUNDS / fs_nr_cpus; i++ )
    {
        fs_work(-log(1 - uniform(c)) * mean_gap * fs_nr_cpus);
        fs_order();
        base = c->now;
        fs_access((uintptr_t)line, FS_LOCKED);
        waited += c->now - base;
        arrivals++;
    }
}

static void server(unsigned int load_pct)
{
    fs_time service = 100000;
    double rho, formula, got;
    unsigned int cpu;

    /* Every way and every turn is one service, and nothing else costs. */
    fs_cost = (struct fs_costs){
        .line_smt = service, .line_near = service, .line_socket = service,
        .line_hop1 = service, .line_memory = service, .busy_smt = service,
        .busy_near = service, .busy_socket = service, .busy_hop1 = service };
    mean_gap = service * 100 / load_pct;
    line = fs_alloc_on(0, 64, 64);
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
    {
        fs_cpu[cpu].rng = cpu + 1;
        fs_spawn(cpu, customer);
    }
    fs_run();
    got = waited / arrivals - service;
    /*
     * As loaded as it was: who waits does not ask again.  Queues of so many
     * customers are a little shorter still than those of infinitely many.
     */
    rho = fs_nr_cpus * service / (mean_gap * fs_nr_cpus + service + got);
    formula = service * rho / (2 * (1 - rho));
    printf("# load %u %%: mean wait %.0f ps, formula %.0f\n", load_pct, got,
           formula);
    if ( fault )
        formula *= 1.5;
    if ( fabs(got - formula) > 0.1 * formula )
    {
        printf("queue: not within 10 %%\n");
        failures++;
    }
}

int main(int argc, char **argv)
{
    if ( argc < 3 )
        fs_fail("usage: test-units TABLE scripts|LOAD [fault]");
    fault = argc > 3;
    fs_cost_read(argv[1]);
    fs_topo.cores = 2;
    if ( strcmp(argv[2], "scripts") )
        fs_topo.cores = 64;
    fs_boot(NULL);
    if ( !strcmp(argv[2], "scripts") )
        scripts();
    else
        server(atoi(argv[2]));
    puts(failures ? "units: FAIL" : "units: ok");
    return failures != 0;
}
