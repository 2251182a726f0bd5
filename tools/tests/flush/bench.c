/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.c - one uncontended flush after the other, for bench.py to measure.
 *
 * Design
 *
 * Direct mode with one difference: the targets run inside the IPI, so the
 * initiator finds its round complete when it comes to wait.  That makes all
 * figures exact and the same each time.  What stands for hardware (the ICR
 * write and genapic's sender) is left out: bench_hw_enter() and bench_hw_exit()
 * are around it.
 *
 * The same program serves three ways of measuring (see bench.py):
 *   callgrind  toggles collection at the names of functions, and writes one
 *              dump for each scenario (client request);
 *   lackey     prints every access; stores to bench_mark[] tell the phases;
 *   counting   built over sim-atomic.h, prints locked operations itself.
 *
 * usage: bench upstream|host|node MODE CPUS-PER-NODE
 *   run    all scenarios
 *   map    where things are, for the trace: "START END OWNER NAME" a line
 *   count  "SCENARIO initiator|handler N" a line
 */
#include "sim.h"
#include "sim-path.h"

#include <valgrind/callgrind.h>

#define NODES 4
#define INITIATOR 1

enum {
    MARK_INITIATOR, MARK_HANDLER, MARK_OFF, MARK_START, MARK_END, NR_MARKS
};
volatile char bench_mark[NR_MARKS * 64] __aligned(64);
cpumask_t bench_mask __aligned(64);

static unsigned int cpus_per_node, nr_cpus;

/* ---- phases: who is running ---- */
static int phase = MARK_OFF;
static unsigned long locked[2];
static bool measuring;

static void enter_phase(int next)
{
    if ( phase < MARK_OFF )
    {
        locked[phase] += sim_self.locked_ops;
        sim_self.locked_ops = 0;
    }
    phase = next;
    sim_self.counting = next < MARK_OFF;
    bench_mark[next * 64] = 1;
}

static int phase_stack[8];
static unsigned int depth;

static void serve(void *unused)
{
    if ( !sim_cpu[sim_self.cpu].pending )
        return;
    sim_cpu[sim_self.cpu].pending = false;
    enter_phase(MARK_HANDLER);
    invalidate_interrupt(NULL);
    enter_phase(MARK_OFF);
}

/* Not inlined: callgrind switches at their names. */
void noinline bench_hw_enter(void)
{
    if ( !measuring )
        return;
    phase_stack[depth++] = phase;
    enter_phase(MARK_OFF);
}

void noinline bench_hw_exit(void)
{
    unsigned int cpu;

    if ( !measuring )
        return;
    if ( depth == 1 )             /* an IPI just went out */
        for ( cpu = 0; cpu < nr_cpus; cpu++ )
            if ( sim_cpu[cpu].pending )
                sim_as(cpu, serve, NULL);
    enter_phase(phase_stack[--depth]);
}

/* ---- scenarios ---- */
struct scenario {
    const char *name;
    void (*fill)(void);
};

static void add(unsigned int node, unsigned int nr)
{
    unsigned int cpu = node * cpus_per_node;

    for ( ; nr; cpu++ )
        if ( cpu != INITIATOR )
        {
            __cpumask_set_cpu(cpu, &bench_mask);
            nr--;
        }
}

static void in_1(void) { add(0, 1); }
static void in_3(void) { add(0, 3); }
static void in_15(void) { add(0, 15); }
static void other_1(void) { add(2, 1); }
static void other_3(void) { add(2, 3); }
static void other_15(void) { add(2, 15); }
static void cross_3(void) { add(1, 1); add(2, 1); add(3, 1); }
static void cross_15(void) { add(0, 3); add(1, 4); add(2, 4); add(3, 4); }
static void all(void)
{
    cpumask_andnot(&bench_mask, &cpu_online_map, cpumask_of(INITIATOR));
}

static const struct scenario scenarios[] = {
    { "own-1", in_1 }, { "own-3", in_3 }, { "own-15", in_15 },
    { "other-1", other_1 }, { "other-3", other_3 }, { "other-15", other_15 },
    { "cross-3", cross_3 }, { "cross-15", cross_15 }, { "all", all },
};

static void one_flush(void)
{
    enter_phase(MARK_INITIATOR);
    flush_area_mask(&bench_mask, (void *)0x1000, FLUSH_TLB);
    enter_phase(MARK_OFF);
}

static void run_scenario(const struct scenario *s, bool count)
{
    cpumask_clear(&bench_mask);
    s->fill();
    measuring = true;
    one_flush();                  /* warm up: paths taken once */
    locked[0] = locked[1] = 0;
    bench_mark[MARK_START * 64] = 1;
    CALLGRIND_ZERO_STATS;
    one_flush();
    CALLGRIND_DUMP_STATS_AT(s->name);
    bench_mark[MARK_END * 64] = 1;
    measuring = false;
    if ( !count )
        return;
    printf("%s initiator %lu\n", s->name, locked[MARK_INITIATOR]);
    printf("%s handler %lu\n", s->name, locked[MARK_HANDLER]);
}

/* ---- the map ---- */
static bool mapping;

static void range(const void *start, size_t size, const char *owner,
                  const char *name, unsigned int nr)
{
    printf("%#lx %#lx %s %s", (unsigned long)start,
           (unsigned long)start + size, owner, name);
    if ( nr != ~0u )
        printf(".%u", nr);
    putchar('\n');
}

/*
 * Memory on a node is a group's.  Other memory, allocated while a CPU is
 * prepared, is that CPU's own.
 */
static unsigned int preparing;

static void on_alloc(void *p, size_t size, unsigned int memflags)
{
    char owner[16];

    if ( !mapping )
        return;
    snprintf(owner, sizeof(owner), "%u", preparing);
    if ( memflags )
        range(p, size, "shared", "group", (memflags >> 8) - 1);
    else
        range(p, size, owner, "memory", preparing);
}

static int on_prepare(struct notifier_block *nfb, unsigned long action,
                      void *hcpu)
{
    if ( action == CPU_UP_PREPARE )
        preparing = (unsigned long)hcpu;
    return NOTIFY_DONE;
}
static struct notifier_block prepare_nfb = {
    .notifier_call = on_prepare, .priority = 1000
};

static void print_map(void)
{
    unsigned int cpu;
    char owner[16];
    char *stack = __builtin_frame_address(0);

    range(&sim_self, sizeof(sim_self), "private", "registers", ~0u);
    range(stack - (1 << 20), (1 << 20) + (1 << 16), "private", "stack", ~0u);
    for ( cpu = 0; cpu < nr_cpus; cpu++ )
    {
        snprintf(owner, sizeof(owner), "%u", cpu);
        range(__per_cpu_start + __per_cpu_offset[cpu],
              __per_cpu_data_end - __per_cpu_start, owner, "percpu", cpu);
        range(&irq_stat[cpu], sizeof(irq_stat[cpu]), owner, "irq_stat", cpu);
    }
}

int main(int argc, char **argv)
{
    struct sim_topo t = { .nr_nodes = NODES };
    char cmdline[64];
    unsigned int i;

    if ( argc != 4 )
        return 2;
    cpus_per_node = atoi(argv[3]);
    nr_cpus = t.nr_ids = t.nr_cpus = NODES * cpus_per_node;
    mapping = !strcmp(argv[2], "map");
    if ( strcmp(argv[1], "upstream") )
    {
        snprintf(cmdline, sizeof(cmdline), "flush-group=%s", argv[1]);
        t.cmdline = cmdline;
    }
    sim_alloc_hook = on_alloc;
    sim_boot_to_presmp(&t);
    register_cpu_notifier(&prepare_nfb);
    sim_boot_rest();
    if ( mapping )
        print_map();
    for ( i = 0; i < nr_cpus; i++ )
        per_cpu(sim_cr4, i) = X86_CR4_PGE;
    sim_switch(INITIATOR);
    for ( i = 0; i < ARRAY_SIZE(scenarios); i++ )
        run_scenario(&scenarios[i], !strcmp(argv[2], "count"));
    return 0;
}
