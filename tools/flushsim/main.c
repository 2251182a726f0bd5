/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * main.c - one run: a machine, an engine, a workload.
 *
 * Design: everything comes from the command line, so that a line of it is all
 * it takes to repeat a figure.  bench.py puts runs together.
 */
#include "report.h"

#include <getopt.h>

const struct fs_engine *fs_engine;

static const char usage_text[] =
"usage: flushsim-PROGRAM --machine FILE --engine NAME [OPTION...]\n"
"machine:  --sockets N  --cores N  --threads N   instead of the table's\n"
"          --set COST=PERCENT        scale a figure of the table\n"
"          --physical                IPIs one by one, not by cluster\n"
"          --without WHAT,...        leave out: maps, clock, shorthand\n"
"          --tick PERIOD,SPAN        background interrupts, ns\n"
"workload: --scope SCOPE             whom a flush names: node, cluster (the\n"
"                                    own one), all, initiators, next (CPUs\n"
"                                    that follow)\n"
"          --targets N               that many of them (default all)\n"
"          --cross PERCENT           flushes that reach another node\n"
"          --initiators N            the first N CPUs (default all)\n"
"          --spread N                the initiators: every N-th CPU\n"
"          --think NS                work between flushes\n"
"          --page                    of one page, not of everything\n"
"          --flushes N               measured (default 20000)\n"
"          --seed N                  (default 1)\n"
"          --lines N                 show the N lines most waited for\n";

enum {
    O_MACHINE = 1, O_ENGINE, O_SOCKETS, O_CORES, O_THREADS, O_SET, O_PHYSICAL,
    O_WITHOUT, O_TICK, O_SCOPE, O_TARGETS, O_CROSS, O_INITIATORS, O_SPREAD,
    O_THINK, O_PAGE, O_FLUSHES, O_SEED, O_LINES, O_HELP
};

static const struct option options[] = {
    { "machine", 1, NULL, O_MACHINE }, { "engine", 1, NULL, O_ENGINE },
    { "sockets", 1, NULL, O_SOCKETS }, { "cores", 1, NULL, O_CORES },
    { "threads", 1, NULL, O_THREADS }, { "set", 1, NULL, O_SET },
    { "physical", 0, NULL, O_PHYSICAL }, { "without", 1, NULL, O_WITHOUT },
    { "tick", 1, NULL, O_TICK }, { "scope", 1, NULL, O_SCOPE },
    { "targets", 1, NULL, O_TARGETS }, { "cross", 1, NULL, O_CROSS },
    { "initiators", 1, NULL, O_INITIATORS }, { "spread", 1, NULL, O_SPREAD },
    { "think", 1, NULL, O_THINK }, { "page", 0, NULL, O_PAGE },
    { "flushes", 1, NULL, O_FLUSHES }, { "seed", 1, NULL, O_SEED },
    { "lines", 1, NULL, O_LINES }, { "help", 0, NULL, O_HELP },
    { NULL, 0, NULL, 0 }
};

static struct fs_load load = { .flushes = 20000 };
static uint64_t seed = 1;
static unsigned int lines, sockets, cores, threads;
static const char *machine, *without = "";

static void noreturn usage(int status)
{
    fputs(usage_text, status ? stderr : stdout);
    exit(status);
}

static unsigned long number(const char *s)
{
    char *end;
    unsigned long n = strtoul(s, &end, 0);

    if ( *end || end == s )
        usage(2);
    return n;
}

static void set_engine(const char *name)
{
    const struct fs_engine *e;

    for ( e = fs_engines; e->name; e++ )
        if ( !strcmp(e->name, name) )
            fs_engine = e;
    if ( !fs_engine )
        fs_fail("this program has no engine %s", name);
}

static void set_scope(const char *name)
{
    static const char *const names[] = {
        [FS_OWN_NODE] = "node", [FS_OWN_CLUSTER] = "cluster",
        [FS_ALL] = "all", [FS_INITIATORS] = "initiators",
        [FS_NEXT] = "next" };
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(names); i++ )
        if ( !strcmp(names[i], name) )
        {
            load.scope = i;
            return;
        }
    usage(2);
}

static void set_tick(const char *s)
{
    unsigned long period, span;

    if ( sscanf(s, "%lu,%lu", &period, &span) != 2 )
        usage(2);
    fs_tick_period = period * 1000;
    fs_tick_span = span * 1000;
}

static const char *scales[64];
static unsigned int nr_scales;

static void add_scale(const char *s)
{
    if ( nr_scales == ARRAY_SIZE(scales) )
        usage(2);
    scales[nr_scales++] = s;
}

static void parse(int option)
{
    switch ( option )
    {
    case O_MACHINE:    machine = optarg; break;
    case O_ENGINE:     set_engine(optarg); break;
    case O_SOCKETS:    sockets = number(optarg); break;
    case O_CORES:      cores = number(optarg); break;
    case O_THREADS:    threads = number(optarg); break;
    case O_SET:        add_scale(optarg); break;
    case O_PHYSICAL:   fs_topo.physical = true; break;
    case O_WITHOUT:    without = optarg; break;
    case O_TICK:       set_tick(optarg); break;
    case O_SCOPE:      set_scope(optarg); break;
    case O_TARGETS:    load.targets = number(optarg); break;
    case O_CROSS:      load.cross_pct = number(optarg); break;
    case O_INITIATORS: load.initiators = number(optarg); break;
    case O_SPREAD:     load.spread = number(optarg); break;
    case O_THINK:      load.think = number(optarg) * 1000; break;
    case O_PAGE:       load.one_page = true; break;
    case O_FLUSHES:    load.flushes = number(optarg); break;
    case O_SEED:       seed = number(optarg); break;
    case O_LINES:      lines = number(optarg); break;
    case O_HELP:       usage(0);
    default:           usage(2);
    }
}

static bool left_out(const char *what)
{
    size_t n = strlen(what);
    const char *p = without;

    while ( (p = strstr(p, what)) != NULL )
    {
        if ( (p == without || p[-1] == ',') && (p[n] == ',' || !p[n]) )
            return true;
        p += n;
    }
    return false;
}

static void free_variable(const char *name)
{
    size_t size;
    uintptr_t addr = fs_addr_of(name, &size);

    fs_line_free((void *)addr, size);
}

static void set_up(void)
{
    unsigned int i;

    fs_cost_read(machine);
    for ( i = 0; i < nr_scales; i++ )
        fs_cost_scale(scales[i]);
    fs_topo.sockets = sockets ? sockets : fs_topo.sockets;
    fs_topo.cores = cores ? cores : fs_topo.cores;
    fs_topo.threads = threads ? threads : fs_topo.threads;
    fs_topo.no_shorthand = left_out("shorthand");
    fs_boot(fs_engine->cmdline);
    if ( left_out("maps") )
        free_variable("cpu_add_remove_lock");
    if ( left_out("clock") )
        free_variable("tlbflush_clock");
    free_variable("sim_watch");   /* the harness's, not Xen's */
    if ( fs_engine->init )
        fs_engine->init();
}

int main(int argc, char **argv)
{
    static struct fs_result result;
    int option;

    while ( (option = getopt_long(argc, argv, "", options, NULL)) != -1 )
        parse(option);
    if ( !machine || !fs_engine || optind != argc || !load.flushes )
        usage(2);
    set_up();
    fs_load_run(&load, &result, seed);
    fs_report(&result, seed, lines);
    return 0;
}
