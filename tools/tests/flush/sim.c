/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim.c - the simulated machine: CPUs, IPIs, allocation, boot, hot plug.
 *
 * Design: see sim.h.  Boot follows the order that matters to the code under
 * test (xen/arch/x86/setup.c): options, per-CPU areas, nodes from firmware,
 * presmp initcalls with CPU0 alone, then one CPU after the other, then the
 * ordinary initcalls.  Hot plug is Xen's own cpu.c, notifier.c and percpu.c.
 */
#include "sim.h"
#include "sim-globals.h"

#include <sched.h>
#include <unistd.h>

/* Around what stands for hardware: the benchmark leaves it out (bench.c). */
#ifdef SIM_BENCH
void bench_hw_enter(void);
void bench_hw_exit(void);
# define HW_ENTER() bench_hw_enter()
# define HW_EXIT() bench_hw_exit()
#else
# define HW_ENTER() ((void)0)
# define HW_EXIT() ((void)0)
#endif

__thread struct sim_self sim_self = { .irq_on = true };
struct sim_cpu sim_cpu[NR_CPUS];
struct sim_watch sim_watch;
uint64_t sim_clock;
uint64_t sim_seed = 1, sim_seed0 = 1;
bool sim_threads;

static struct sim_topo topo;
/* CPU0 has static masks, like smpboot.c's. */
static cpumask_t ipi_cpu0mask, scratch_cpu0mask;

/* ---- randomness, failure ---- */
uint64_t sim_rand(void)
{
    static uint64_t lock_free_mix;
    uint64_t x;

    if ( sim_threads )
        x = __atomic_add_fetch(&lock_free_mix, 0x9e3779b97f4a7c15u,
                               __ATOMIC_RELAXED) + sim_seed;
    else
        x = sim_seed += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

unsigned int get_random(void)
{
    return sim_rand();
}

void (*sim_fail_hook)(const char *text);

void sim_fail(const char *fmt, ...)
{
    va_list args;

    if ( sim_fail_hook )
    {
        char text[400];

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        sim_fail_hook(text);
    }

    fflush(stdout);
    fprintf(stderr, "# FAILED on CPU%u (seed %"PRIu64"): ", sim_self.cpu,
            sim_seed0);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    fflush(stderr);
    _exit(1);
}

void sim_bug(const char *file, int line, const char *what)
{
    sim_fail("%s at %s:%d", what, file, line);
}

bool sim_panic_expected;

void sim_panic(const char *fmt, ...)
{
    if ( sim_panic_expected )
        _exit(0);
    sim_fail("panic: %s", fmt);
}

/* ---- console ---- */
static char log_text[16384];
static size_t log_len;

void printk(const char *fmt, ...)
{
    va_list args;
    size_t room = sizeof(log_text) - log_len;
    int n;

    va_start(args, fmt);
    n = vsnprintf(log_text + log_len, room, fmt, args);
    va_end(args);
    if ( n > 0 )
        log_len += (size_t)n < room ? (size_t)n : room - 1;
}

size_t sim_strlcpy(char *to, const char *from, size_t size)
{
    return snprintf(to, size, "%s", from);
}

void warning_add(const char *text)
{
    printk("%s", text);
}

const char *sim_log(void)
{
    return log_text;
}

unsigned int sim_log_count(const char *needle)
{
    unsigned int n = 0;
    const char *p = log_text;

    while ( (p = strstr(p, needle)) != NULL )
    {
        n++;
        p += strlen(needle);
    }
    return n;
}

s_time_t sim_now(void)
{
    return __atomic_add_fetch(&sim_clock, 1, __ATOMIC_RELAXED);
}

/* ---- allocation ---- */
void (*sim_alloc_hook)(void *p, size_t size, unsigned int memflags);
unsigned long sim_allocs, sim_fail_alloc, sim_fail_from, sim_live;
unsigned int sim_allocs_on[MAX_NUMNODES];

void *sim_alloc(size_t size, size_t align, bool zero, unsigned int memflags)
{
    void *p;

    sim_allocs++;
    if ( memflags )
        sim_allocs_on[((memflags >> 8) - 1) % MAX_NUMNODES]++;
    if ( sim_allocs == sim_fail_alloc ||
         (sim_fail_from && sim_allocs >= sim_fail_from) )
        return NULL;
    if ( align < sizeof(void *) )
        align = sizeof(void *);
    if ( posix_memalign(&p, align, size ?: 1) )
        sim_fail("the test itself is out of memory");
    /* Not zeroed means poisoned: nobody may rely on fresh memory. */
    memset(p, zero ? 0 : 0xa5, size);
    if ( sim_alloc_hook )
        sim_alloc_hook(p, size, memflags);
    sim_live++;
    return p;
}

void sim_free(void *p)
{
    if ( p )
        sim_live--;
    free(p);
}

/* ---- the running CPU ---- */
void sim_switch(unsigned int cpu)
{
    sim_cpu[sim_self.cpu].irq_on = sim_self.irq_on;
    sim_self.cpu = cpu;
    sim_self.offset = __per_cpu_offset[cpu];
    sim_self.irq_on = sim_cpu[cpu].irq_on;
}

void sim_as(unsigned int cpu, sim_fn_t *fn, void *arg)
{
    struct sim_self saved = sim_self;
    unsigned int was = sim_self.cpu;

    sim_switch(cpu);
    fn(arg);
    if ( cpu == was )
        return;
    sim_switch(was);
    /* Whoever ran there does not count for this CPU. */
    sim_self.unfenced = saved.unfenced;
}

bool sim_take_irq(void)
{
    struct sim_cpu *c = &sim_cpu[sim_self.cpu];
    bool unfenced = sim_self.unfenced;

    if ( !sim_self.irq_on || !__atomic_load_n(&c->pending, __ATOMIC_ACQUIRE) )
        return false;
    if ( !__atomic_exchange_n(&c->pending, false, __ATOMIC_SEQ_CST) )
        return false;

    sim_self.irq_on = false;
    c->in_handler = true;
    c->interrupts++;
    irq_enter();                  /* as do_IRQ() does */
    invalidate_interrupt(NULL);
    irq_exit();
    c->in_handler = false;
    sim_self.irq_on = true;
    sim_self.unfenced = unfenced;
    return true;
}

#ifndef SIM_BENCH
void sim_irq_window(void)
{
    if ( sim_threads || sim_scheduling )
        while ( sim_take_irq() )
            ;
}
#endif

static void run_handler(void *unused)
{
    sim_self.irq_on = false;
    invalidate_interrupt(NULL);
    sim_self.irq_on = true;
}

void sim_spurious(unsigned int cpu)
{
    sim_as(cpu, run_handler, NULL);
}

static void take_irq(void *unused)
{
    sim_take_irq();
}

/* Direct mode: serve the pending interrupts of one CPU drawn by lot. */
static void serve_some_cpu(void)
{
    unsigned int n = nr_cpu_ids, cpu = sim_below(n), i;

    for ( i = 0; i < n; i++, cpu = (cpu + 1) % n )
        if ( cpu != sim_self.cpu && sim_cpu[cpu].pending )
        {
            sim_as(cpu, take_irq, NULL);
            return;
        }
}

void (*sim_relax_hook)(void);
void sim_cpu_relax_sched(void);

void cpu_relax(void)
{
    static unsigned long spins;

    if ( sim_scheduling )
        sim_cpu_relax_sched();
    else if ( sim_threads )
    {
        static __thread unsigned int n;

        sim_take_irq();
        if ( ++n % 64 == 0 )
            sched_yield();
        else
            __builtin_ia32_pause();
    }
    else
    {
        if ( ++spins > 2000000 )
            sim_fail("hangs: no end of cpu_relax()");
        if ( sim_relax_hook )
            sim_relax_hook();
        sim_take_irq();
        if ( sim_below(4) )
            serve_some_cpu();
    }
}

/* ---- interrupts ---- */
struct sim_counts sim_counts;
void (*sim_ipi_hook)(const cpumask_t *mask);

static void post(unsigned int cpu)
{
    __atomic_add_fetch(&sim_counts.posted, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&sim_cpu[cpu].pending, true, __ATOMIC_SEQ_CST);
}

static void send_mask(const cpumask_t *mask, int vector)
{
    unsigned int cpu;

    HW_ENTER();
    __atomic_add_fetch(&sim_counts.sends, 1, __ATOMIC_RELAXED);
    if ( vector != INVALIDATE_TLB_VECTOR )
        sim_fail("vector %#x", vector);
    for_each_cpu ( cpu, mask )
        if ( cpu_online(cpu) && cpu != smp_processor_id() )
            post(cpu);
    HW_EXIT();
}

void apic_write(unsigned long reg, uint32_t val)
{
    unsigned int cpu;

    HW_ENTER();
    if ( reg != APIC_ICR || (val & APIC_DEST_ALLBUT) != APIC_DEST_ALLBUT ||
         (val & 0xff) != INVALIDATE_TLB_VECTOR )
        sim_fail("APIC register %#lx = %#x", reg, val);
    __atomic_add_fetch(&sim_counts.shorthands, 1, __ATOMIC_RELAXED);
    for_each_online_cpu ( cpu )
        if ( cpu != smp_processor_id() )
            post(cpu);
    HW_EXIT();
}

uint32_t apic_read(unsigned long reg)
{
    unsigned int cpu = sim_self.cpu, id = x86_cpu_to_apicid[cpu];

    if ( reg != APIC_LDR )
        return 0;
    if ( (topo.skewed && cpu == topo.skewed) || (topo.skewed_cpu0 && !cpu) )
        id += 16;
    return (id >> 4) << 16 | 1U << (id & 15);
}

static void init_apic_ldr_cluster(void)
{
}

void init_apic_ldr_phys(void)
{
}

#ifndef SIM_BENCH                 /* inline there, as in Xen */
void ack_APIC_irq(void)
{
    sim_cpu[sim_self.cpu].acks++;
}
#endif

#ifndef SIM_NOWRAP
void send_IPI_mask(const cpumask_t *mask, int vector)
{
    /* No CPU's bit may be seen set later than its IPI: see sim.h. */
    if ( sim_self.unfenced )
        __atomic_add_fetch(&sim_counts.unfenced, 1, __ATOMIC_RELAXED);
    if ( sim_ipi_hook )
        sim_ipi_hook(mask);
    sim_real_send_IPI_mask(mask, vector);
}
#endif

/* ---- flushing: recorders ---- */
int sim_sync_result;
unsigned int sim_local_strip;
int sim_assist_result = -EOPNOTSUPP;
void (*sim_flush_hook)(unsigned int cpu, const void *va, unsigned int flags);

#ifdef SIM_BENCH                  /* has Xen's own */
# include "sim-path.h"
DEFINE_PER_CPU(unsigned long, sim_cr4);
bool use_invpcid __read_mostly;
bool opt_xpti_hwdom __read_mostly, opt_xpti_domu __read_mostly;
struct cpuinfo_x86 current_cpu_data __read_mostly;
struct sim_cpu_info sim_cpu_info;
#else
unsigned int flush_area_local(const void *va, unsigned int flags)
{
    struct sim_cpu *c = &sim_cpu[sim_self.cpu];

    c->flushes++;
    c->va = va;
    c->flags = flags;
    c->stamp = sim_now();
    if ( sim_flush_hook )
        sim_flush_hook(sim_self.cpu, va, flags);
    return flags & ~sim_local_strip;
}
#endif

int hypervisor_flush_tlb(const cpumask_t *mask, const void *va,
                         unsigned int flags)
{
    sim_counts.assists++;
    return sim_assist_result;
}

int __sync_local_execstate(void)
{
    sim_cpu[sim_self.cpu].syncs++;
    return sim_sync_result;
}

/* ---- locks ---- */
#ifdef CONFIG_DEBUG_LOCK_PROFILE
DEFINE_SPINLOCK(sim_other_lock);  /* the host has more locks than one */
#endif
#define MAX_LOCKS 512
static struct sim_lock locks[MAX_LOCKS];
static unsigned int nr_locks, lock_order;
void (*sim_lock_hook)(spinlock_t *lock, enum sim_lock_op op);

struct sim_lock *sim_lock_of(spinlock_t *lock)
{
    unsigned int i;

    for ( i = 0; i < nr_locks; i++ )
        if ( locks[i].lock == lock )
            return &locks[i];
    if ( nr_locks == MAX_LOCKS )
        sim_fail("more than %u locks", MAX_LOCKS);
    locks[nr_locks].lock = lock;
    return &locks[nr_locks++];
}

struct sim_lock *sim_locks(unsigned int *nr)
{
    *nr = nr_locks;
    return locks;
}

unsigned int sim_locks_taken(void)
{
    unsigned int i, n = 0;

    for ( i = 0; i < nr_locks; i++ )
        n += locks[i].locks + locks[i].trylocks > 0;
    return n;
}

void sim_reset_counts(void)
{
    unsigned int cpu;

    memset(locks, 0, sizeof(locks));
    nr_locks = lock_order = 0;
    memset(&sim_counts, 0, sizeof(sim_counts));
    for ( cpu = 0; cpu < NR_CPUS; cpu++ )
    {
        sim_cpu[cpu].interrupts = sim_cpu[cpu].flushes = 0;
        sim_cpu[cpu].syncs = sim_cpu[cpu].acks = 0;
    }
}

#ifndef SIM_NOWRAP
static void locked(spinlock_t *lock)
{
#ifndef SIM_REAL_ASM              /* whose barriers nobody sees */
    sim_self.unfenced = true;
#endif
    if ( sim_lock_hook )
        sim_lock_hook(lock, SIM_LOCK_GOT);
}

static struct sim_lock *note(spinlock_t *lock)
{
    struct sim_lock *l = sim_lock_of(lock);

    if ( !l->order )
        l->order = ++lock_order;
    return l;
}

void _spin_lock(spinlock_t *lock)
{
    if ( sim_lock_hook )
        sim_lock_hook(lock, SIM_LOCK_WAIT);
    if ( !sim_threads )
        note(lock)->locks++;
    sim_real_spin_lock(lock);
    locked(lock);
}

void _spin_lock_cb(spinlock_t *lock, void (*cb)(void *), void *data)
{
    if ( sim_lock_hook )
        sim_lock_hook(lock, SIM_LOCK_WAIT);
    if ( !sim_threads )
        note(lock)->locks++;
    sim_real_spin_lock_cb(lock, cb, data);
    locked(lock);
}

int _spin_trylock(spinlock_t *lock)
{
    int ok = sim_real_spin_trylock(lock);

    if ( ok )
        locked(lock);
    if ( !sim_threads )
    {
        struct sim_lock *l = note(lock);

        if ( ok )
            l->trylocks++;
        else
            l->tryfails++;
    }
    return ok;
}

void _spin_unlock(spinlock_t *lock)
{
    if ( !sim_threads )
        note(lock)->unlocks++;
    if ( sim_lock_hook )
        sim_lock_hook(lock, SIM_LOCK_FREE);
    sim_real_spin_unlock(lock);
}
#endif

/* ---- options: parse_params() is Xen's, see params in the Makefile ---- */
int xen_parse_params(const char *cmdline, const struct kernel_param *start,
                     const struct kernel_param *end);
extern const struct kernel_param __start_sim_setup[], __stop_sim_setup[];
static const struct kernel_param no_param __used __aligned(8)
    __section("sim_setup") = {
    .name = "sim", .type = OPT_IGNORE
};

int sim_params(const char *cmdline)
{
    return xen_parse_params(cmdline, __start_sim_setup, __stop_sim_setup);
}

/* ---- hot plug ---- */
#ifdef SIM_EXPLORE                /* has to see these accesses */
void action_set_online(unsigned int cpu, bool online);
#else
static void action_set_online(unsigned int cpu, bool online)
{
    if ( online )
        cpumask_set_cpu(cpu, &cpu_online_map);
    else
        cpumask_clear_cpu(cpu, &cpu_online_map);
}
#endif

int sim_cpu_up_error;
unsigned long sim_notified[16];

static void start_cpu(void *arg)
{
    unsigned int cpu = sim_self.cpu;

    sim_self.irq_on = false;
    notify_cpu_starting(cpu);
    action_set_online(cpu, true);
    sim_self.irq_on = true;
}

int __cpu_up(unsigned int cpu)
{
    if ( sim_cpu_up_error )
        return sim_cpu_up_error;
    sim_as(cpu, start_cpu, NULL);
    if ( sim_scheduling )
        sim_sched_resume();
    return 0;
}

void __cpu_disable(void)
{
    action_set_online(smp_processor_id(), false);
}

void __cpu_die(unsigned int cpu)
{
    sim_cpu[cpu].pending = false;
}

struct stop_work {
    int (*fn)(void *);
    void *data;
};

static void stop_fn(void *arg)
{
    struct stop_work *work = arg;

    sim_self.irq_on = false;
    work->fn(work->data);
    sim_self.irq_on = true;
}

int stop_machine_run(int (*fn)(void *), void *data, unsigned int cpu)
{
    struct stop_work work = { fn, data };
    bool stopped = sim_scheduling && sim_sched_stop(cpu);

    sim_as(cpu, stop_fn, &work);
    if ( stopped )
        sim_sched_resume();
    return 0;
}

struct call_work {
    void (*fn)(void *);
    void *data;
};

static void call_fn(void *arg)
{
    struct call_work *work = arg;

    work->fn(work->data);
}

void on_selected_cpus(const cpumask_t *mask, void (*fn)(void *), void *data,
                      int wait)
{
    struct call_work work = { fn, data };

    sim_as(cpumask_first(mask), call_fn, &work);
}

/* The part of smpboot.c that the send path needs, with its priority. */
static int smpboot_callback(struct notifier_block *nfb, unsigned long action,
                            void *hcpu)
{
    unsigned int cpu = (unsigned long)hcpu;
    bool dead = action == CPU_UP_CANCELED || action == CPU_DEAD;

    if ( action == CPU_UP_PREPARE )
    {
        if ( cond_alloc_cpumask_var(&per_cpu(send_ipi_cpumask, cpu)) )
            return NOTIFY_DONE;
        return notifier_from_errno(-ENOMEM);
    }
    if ( (dead && !park_offline_cpus) || action == CPU_REMOVE )
        FREE_CPUMASK_VAR(per_cpu(send_ipi_cpumask, cpu));
    return NOTIFY_DONE;
}
static struct notifier_block smpboot_nfb = {
    .notifier_call = smpboot_callback
};

/*
 * The last but one on the way up, as some driver's would be.  The very last
 * one does not hear of CPU_UP_CANCELED: notifier_call_chain() goes back from
 * where it stopped.
 */
static int tail_callback(struct notifier_block *nfb, unsigned long action,
                         void *hcpu)
{
    sim_notified[action & 0xf]++;
    return NOTIFY_DONE;
}
static struct notifier_block tail_nfb = {
    .notifier_call = tail_callback, .priority = -100
};
static int last_callback(struct notifier_block *nfb, unsigned long action,
                         void *hcpu)
{
    return NOTIFY_DONE;
}
static struct notifier_block last_nfb = {
    .notifier_call = last_callback, .priority = -101
};

/* ---- boot ---- */
unsigned int sim_cpu_nr(unsigned int i)
{
    return i * (topo.stride ?: 1);
}

nodeid_t sim_node(unsigned int cpu)
{
    unsigned int i = cpu / (topo.stride ?: 1), nodes = topo.nr_nodes ?: 1;

    return topo.first_node +
           (topo.interleave ? i % nodes : i * nodes / topo.nr_cpus);
}

void sim_set_cpu(unsigned int cpu, u32 apicid, nodeid_t node)
{
    x86_cpu_to_apicid[cpu] = apicid;
    apicid_to_node[apicid] = node;
    cpumask_set_cpu(cpu, &cpu_present_map);
}

static void firmware_tables(void)
{
    unsigned int i;

    memset(apicid_to_node, NUMA_NO_NODE, sizeof(apicid_to_node));
    memset(cpu_to_node, NUMA_NO_NODE, sizeof(cpu_to_node));
    memset(x86_cpu_to_apicid, 0xff, sizeof(x86_cpu_to_apicid));
    for ( i = 0; i < topo.nr_cpus; i++ )
    {
        unsigned int cpu = sim_cpu_nr(i);
        bool known = !topo.no_nodes && !topo.shim;

        sim_set_cpu(cpu, topo.first_apicid + 2 * cpu,
                    known ? sim_node(cpu) : NUMA_NO_NODE);
    }
}

static void do_initcalls_between(const initcall_t *from, const initcall_t *to)
{
    for ( ; from < to; from++ )
        (*from)();
}

static int init_nothing(void)
{
    return 0;
}
presmp_initcall(init_nothing);
__initcall(init_nothing);
extern const initcall_t __start_sim_presmp[], __stop_sim_presmp[];
extern const initcall_t __start_sim_initcall[], __stop_sim_initcall[];

void sim_boot_to_presmp(const struct sim_topo *t)
{
    unsigned int cpu;

    topo = *t;
    nr_cpu_ids = topo.nr_ids;
#ifndef nr_cpumask_bits
    nr_cpumask_bits = ROUNDUP(nr_cpu_ids, BITS_PER_LONG);
#endif
    for ( cpu = 0; cpu < NR_CPUS; cpu++ )
        sim_cpu[cpu].irq_on = true;
    genapic.send_IPI_mask = send_mask;
    park_offline_cpus = topo.park;
    pv_shim = topo.shim;
    x2apic_enabled = !topo.xapic;
    genapic.init_apic_ldr = topo.xapic || topo.physical ? init_apic_ldr_phys
                                                        : init_apic_ldr_cluster;
    percpu_init_areas();
    cpumask_set_cpu(0, &cpu_online_map);
    sim_params(topo.cmdline ?: "");
    system_state = SYS_STATE_boot;
    firmware_tables();
    if ( NR_CPUS > 2 * BITS_PER_LONG )
    {
        *(cpumask_t **)&per_cpu(send_ipi_cpumask, 0) = &ipi_cpu0mask;
        *(cpumask_t **)&per_cpu(scratch_cpumask, 0) = &scratch_cpu0mask;
    }
    register_cpu_notifier(&smpboot_nfb);
    system_state = SYS_STATE_smp_boot;
}

/* srat_detect_node() and numa_add_cpu(). */
static void detect_node(unsigned int cpu)
{
    nodeid_t node = apicid_to_node[x86_cpu_to_apicid[cpu]];

    if ( node == NUMA_NO_NODE )
        node = 0;
    set_bit(node, node_online_map.bits);
    cpu_to_node[cpu] = node;
    cpumask_set_cpu(cpu, &node_to_cpumask[node]);
}

void sim_boot_rest(void)
{
    unsigned int i, cpu;

    do_initcalls_between(__start_sim_presmp, __stop_sim_presmp);
    register_cpu_notifier(&tail_nfb);
    register_cpu_notifier(&last_nfb);
    for ( i = 0; i < topo.nr_cpus; i++ )
    {
        int rc;

        cpu = sim_cpu_nr(i);
        if ( !topo.shim )
            detect_node(cpu);
        if ( !i || (topo.boot_cpus && i >= topo.boot_cpus) )
            continue;
        rc = cpu_up(cpu);
        if ( rc )
            sim_fail("CPU%u does not come up: %d", cpu, rc);
    }
    if ( topo.shim )
        node_to_cpumask[0] = *cpumask_of(0);
    do_initcalls_between(__start_sim_initcall, __stop_sim_initcall);
    system_state = SYS_STATE_active;
    spin_debug_enable();
    sim_reset_counts();
}

void sim_boot(const struct sim_topo *t)
{
    sim_boot_to_presmp(t);
    sim_boot_rest();
}
