/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * machine.c - what Xen defines elsewhere: maps, memory, boot.
 *
 * Design
 *
 * Memory is a range at a fixed address, one part for each node; static data
 * counts as node 0's.  Small blocks are packed as Xen's xmalloc() does it (16
 * bytes of header, multiples of 16), so what shares a line here does there.
 *
 * Boot: options, per-CPU areas, presmp initcalls, then Xen's own cpu_up() with
 * its notifiers for each CPU, then the ordinary initcalls.  Accesses cost
 * nothing until fs_run().
 */
#include "fs.h"
#include "sim-globals.h"
#include "sim-path.h"

#include <sys/mman.h>

struct fs_topo fs_topo;

unsigned long __per_cpu_offset[NR_CPUS] __read_mostly;
DEFINE_SPINLOCK(fs_other_lock);   /* the host has more locks than one */
__thread struct sim_self sim_self = { .irq_on = true };
struct sim_watch sim_watch;

/* ---- failure, console ---- */
void fs_fail(const char *fmt, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "flushsim: CPU%u: ", sim_self.cpu);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void sim_bug(const char *file, int line, const char *what)
{
    fs_fail("%s at %s:%d", what, file, line);
}

void sim_panic(const char *fmt, ...)
{
    fs_fail("panic: %s", fmt);
}

void printk(const char *fmt, ...)
{
}

void warning_add(const char *text)
{
}

size_t sim_strlcpy(char *to, const char *from, size_t size)
{
    return snprintf(to, size, "%s", from);
}

unsigned int get_random(void)
{
    return fs_rand(fs_cur);
}

/* ---- memory ---- */
static uintptr_t next_free[FS_NODES];

unsigned int fs_node_of(unsigned int cpu)
{
    return fs_cpu[cpu].socket;
}

static void reserve_memory(void)
{
    unsigned int node;

    if ( mmap((void *)FS_ARENA, FS_NODES * FS_NODE_SIZE,
              PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
              MAP_FIXED_NOREPLACE, -1, 0) != (void *)FS_ARENA )
        fs_fail("the simulated memory's address is taken");
    for ( node = 0; node < FS_NODES; node++ )
        next_free[node] = FS_ARENA + node * FS_NODE_SIZE;
}

void *fs_alloc_on(unsigned int node, size_t size, size_t align)
{
    uintptr_t p = ROUNDUP(next_free[node], align);

    next_free[node] = p + size;
    if ( next_free[node] > FS_ARENA + (node + 1) * FS_NODE_SIZE )
        fs_fail("node %u is out of memory", node);
    return (void *)p;
}

void *sim_alloc(size_t size, size_t align, bool zero, unsigned int memflags)
{
    unsigned int node = memflags ? (memflags >> 8) - 1 : 0;
    char *p;

    if ( align >= PAGE_SIZE )
        return fs_alloc_on(node, size, align);
    p = fs_alloc_on(node, 16 + ROUNDUP(size, 16), 16);
    p += 16;
    if ( align > 16 )
        p = (char *)ROUNDUP((uintptr_t)p, align);
    next_free[node] = (uintptr_t)p + ROUNDUP(size, 16);
    return p;
}

void sim_free(void *p)
{
}

/* ---- topology: CPU numbers by socket, core, thread ---- */
static unsigned int cpus_per_socket(void)
{
    return fs_topo.cores * fs_topo.threads;
}

static unsigned int apic_ids_per_socket(void)
{
    unsigned int n = 16;

    while ( n < cpus_per_socket() )
        n *= 2;
    return n;
}

static void place_cpus(void)
{
    unsigned int cpu, per = cpus_per_socket(), core;

    fs_nr_cpus = fs_topo.sockets * per;
    if ( fs_nr_cpus > NR_CPUS || fs_topo.sockets > FS_NODES )
        fs_fail("at most %u CPUs on %u sockets", NR_CPUS, FS_NODES);
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
    {
        core = cpu / fs_topo.threads;
        fs_cpu[cpu].id = cpu;
        fs_cpu[cpu].core = core;
        /* No CCX spans sockets, however many cores they have. */
        fs_cpu[cpu].ccx = cpu / per * fs_topo.cores +
                          core % fs_topo.cores / fs_topo.ccx_cores;
        fs_cpu[cpu].socket = cpu / per;
        fs_cpu[cpu].tick = FS_NEVER;
    }
}

static void firmware_tables(void)
{
    unsigned int cpu, per = cpus_per_socket();

    memset(apicid_to_node, NUMA_NO_NODE, sizeof(apicid_to_node));
    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
    {
        u32 apicid = cpu / per * apic_ids_per_socket() + cpu % per;

        x86_cpu_to_apicid[cpu] = apicid;
        apicid_to_node[apicid] = fs_node_of(cpu);
        cpu_to_node[cpu] = fs_node_of(cpu);
        cpumask_set_cpu(cpu, &node_to_cpumask[fs_node_of(cpu)]);
        cpumask_set_cpu(cpu, &cpu_present_map);
    }
}

/* ---- per-CPU areas ---- */
static char percpu_template[65536];

static void percpu_setup(void)
{
    size_t size = __stop_sim_percpu - __start_sim_percpu;
    unsigned int cpu;

    if ( size > sizeof(percpu_template) )
        fs_fail("per-CPU data is too large");
    memcpy(percpu_template, __start_sim_percpu, size);
    for ( cpu = 1; cpu < fs_nr_cpus; cpu++ )
    {
        char *p = fs_alloc_on(fs_node_of(cpu), ROUNDUP(size, PAGE_SIZE),
                              PAGE_SIZE);

        memcpy(p, percpu_template, size);
        __per_cpu_offset[cpu] = p - __start_sim_percpu;
    }
}

/* ---- hot plug: only up ---- */
int __cpu_up(unsigned int cpu)
{
    unsigned int was = sim_self.cpu;

    fs_become(cpu);
    sim_self.irq_on = false;
    sim_x2apic.init_cluster();
    notify_cpu_starting(cpu);
    cpumask_set_cpu(cpu, &cpu_online_map);
    sim_self.irq_on = true;
    fs_become(was);
    return 0;
}

void __cpu_disable(void)
{
    fs_fail("no CPU goes offline here");
}

void __cpu_die(unsigned int cpu)
{
}

int stop_machine_run(int (*fn)(void *), void *data, unsigned int cpu)
{
    return -EBUSY;
}

void on_selected_cpus(const cpumask_t *mask, void (*fn)(void *), void *data,
                      int wait)
{
    fs_fail("no CPU goes offline here");
}

int hypervisor_flush_tlb(const cpumask_t *mask, const void *va,
                         unsigned int flags)
{
    return -EOPNOTSUPP;
}

int __sync_local_execstate(void)
{
    return 0;
}

void init_apic_ldr_phys(void)
{
}

static int prepare_ipi_mask(struct notifier_block *nfb, unsigned long action,
                            void *hcpu)
{
    unsigned int cpu = (unsigned long)hcpu;

    if ( action == CPU_UP_PREPARE &&
         !cond_zalloc_cpumask_var(&per_cpu(send_ipi_cpumask, cpu)) )
        return notifier_from_errno(-ENOMEM);
    return NOTIFY_DONE;
}
static struct notifier_block ipi_mask_nfb = {
    .notifier_call = prepare_ipi_mask
};

/* ---- boot ---- */
int xen_parse_params(const char *cmdline, const struct kernel_param *start,
                     const struct kernel_param *end);
extern const struct kernel_param __start_sim_setup[], __stop_sim_setup[];
static const struct kernel_param no_param __used __aligned(8)
    __section("sim_setup") = { .name = "sim", .type = OPT_IGNORE };
static int init_nothing(void)
{
    return 0;
}
presmp_initcall(init_nothing);
__initcall(init_nothing);
extern const initcall_t __start_sim_presmp[], __stop_sim_presmp[];
extern const initcall_t __start_sim_initcall[], __stop_sim_initcall[];

static void initcalls(const initcall_t *from, const initcall_t *to)
{
    for ( ; from < to; from++ )
        (*from)();
}

static void setup_apic(void)
{
    genapic.send_IPI_mask = fs_topo.physical ? sim_x2apic.send_phys
                                             : sim_x2apic.send_cluster;
    genapic.init_apic_ldr = fs_topo.physical ? init_apic_ldr_phys
                                             : sim_x2apic.init_cluster;
    register_cpu_notifier(sim_x2apic.notifier);
    register_cpu_notifier(&ipi_mask_nfb);
    sim_x2apic.notifier->notifier_call(sim_x2apic.notifier, CPU_UP_PREPARE,
                                       (void *)0);
    prepare_ipi_mask(&ipi_mask_nfb, CPU_UP_PREPARE, (void *)0);
    sim_x2apic.init_cluster();
}

static void start_cpus(void)
{
    unsigned int cpu;

    for ( cpu = 1; cpu < fs_nr_cpus; cpu++ )
        if ( cpu_up(cpu) )
            fs_fail("CPU%u does not come up", cpu);
}

void fs_boot(const char *cmdline)
{
    place_cpus();
    nr_cpu_ids = fs_nr_cpus;
#ifndef nr_cpumask_bits
    nr_cpumask_bits = ROUNDUP(nr_cpu_ids, BITS_PER_LONG);
#endif
    reserve_memory();
    percpu_setup();
    fs_become(0);
    cpumask_set_cpu(0, &cpu_online_map);
    xen_parse_params(cmdline ?: "", __start_sim_setup, __stop_sim_setup);
    firmware_tables();
    setup_apic();
    system_state = SYS_STATE_smp_boot;
    initcalls(__start_sim_presmp, __stop_sim_presmp);
    start_cpus();
    initcalls(__start_sim_initcall, __stop_sim_initcall);
    system_state = SYS_STATE_active;
    unaccounted_cpus = fs_topo.no_shorthand;
    spin_debug_enable();
    fs_lines_init();
}
