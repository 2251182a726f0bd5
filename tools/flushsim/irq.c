/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irq.c - interrupts, and the instructions that take their own time.
 *
 * Design
 *
 * An ICR write costs the sender icr.  The interrupt is in the target's APIC
 * after the flight, and is taken once interrupts are on there: at the next
 * access, or at once if the CPU waits or works.  Interrupts of one vector that
 * arrive before one is taken are one.  The handler is the engine's own.
 *
 * Background load: each CPU has an interrupt every fs_tick_period on average,
 * which keeps interrupts off for fs_tick_span.
 */
#include "fs.h"
#include "sim-path.h"

unsigned long fs_icr_writes, fs_ipis, fs_shorthands;
fs_time fs_tick_period, fs_tick_span;
struct cpuinfo_x86 current_cpu_data;
struct sim_cpu_info sim_cpu_info;
DEFINE_PER_CPU(struct fs_perfc, fs_perfc);

/* ---- arrival ---- */
static void insert(struct fs_cpu *c, fs_time when)
{
    unsigned int i;

    if ( c->nr_arrivals == c->max_arrivals )
    {
        c->max_arrivals = c->max_arrivals ? 2 * c->max_arrivals : 16;
        c->arrivals = realloc(c->arrivals,
                              c->max_arrivals * sizeof(*c->arrivals));
        if ( !c->arrivals )
            fs_fail("no memory for interrupts");
    }
    for ( i = c->nr_arrivals++; i && c->arrivals[i - 1] > when; i-- )
        c->arrivals[i] = c->arrivals[i - 1];
    c->arrivals[i] = when;
}

fs_time fs_next_irq(const struct fs_cpu *c)
{
    fs_time ipi = c->nr_arrivals ? c->arrivals[0] : FS_NEVER;

    return ipi < c->tick ? ipi : c->tick;
}

void fs_post(struct fs_cpu *from, unsigned int cpu, fs_time when)
{
    struct fs_cpu *c = &fs_cpu[cpu];

    fs_ipis++;
    when += fs_cost.flight +
            fs_cost.flight_hop * fs_hops(from->socket, c->socket) +
            fs_rand_below(from, fs_cost.flight_jitter);
    insert(c, when);
    if ( c->state == FS_SLEEP || c->state == FS_DONE ||
         (c->state == FS_RELAX && c->self.irq_on) )
        fs_wake(c, when);
}

/* ---- taking them ---- */
static void forget(struct fs_cpu *c)
{
    unsigned int n = 0;

    while ( n < c->nr_arrivals && c->arrivals[n] <= c->now )
        n++;
    c->nr_arrivals -= n;
    memmove(c->arrivals, c->arrivals + n,
            c->nr_arrivals * sizeof(*c->arrivals));
}

static void handle(struct fs_cpu *c)
{
    c->now += fs_cost.entry + (c->in_guest ? fs_cost.exit_guest : 0);
    forget(c);
    c->handled++;
    irq_enter();
    fs_engine->handler(NULL);
    irq_exit();
    c->now += fs_cost.iret;
}

static void tick(struct fs_cpu *c)
{
    c->now += fs_cost.entry + fs_tick_span + fs_cost.iret;
    c->tick = c->now + fs_rand_below(c, 2 * fs_tick_period);
}

void fs_take_irqs(struct fs_cpu *c)
{
    bool handler = c->in_handler;
    fs_time start = c->now;

    c->in_handler = true;
    sim_self.irq_on = false;
    while ( fs_irq_due(c) )
    {
        if ( c->tick <= c->now )
            tick(c);
        else
            handle(c);
    }
    sim_self.irq_on = true;
    c->in_handler = handler;
    c->stolen += c->now - start;
}

void sim_irq_window(void)
{
    if ( fs_active && fs_irq_due(fs_cur) )
        fs_take_irqs(fs_cur);
}

/* ---- sending ---- */
static void icr_write(void)
{
    fs_icr_writes++;
    fs_pass(fs_cost.icr);
}

static void post_to_others(void)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        if ( cpu != fs_cur->id )
            fs_post(fs_cur, cpu, fs_cur->now);
}

void apic_write(unsigned long reg, uint32_t val)
{
    if ( reg != APIC_ICR || (val & APIC_DEST_ALLBUT) != APIC_DEST_ALLBUT )
        fs_fail("APIC register %#lx = %#x", reg, val);
    fs_shorthands++;
    icr_write();
    post_to_others();
}

static void post_cluster(unsigned int cluster, unsigned int bits)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        if ( x86_cpu_to_apicid[cpu] >> 4 == cluster &&
             (bits >> (x86_cpu_to_apicid[cpu] & 15)) & 1 )
            fs_post(fs_cur, cpu, fs_cur->now);
}

static void post_apicid(uint32_t apicid)
{
    unsigned int cpu;

    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
        if ( x86_cpu_to_apicid[cpu] == apicid )
            fs_post(fs_cur, cpu, fs_cur->now);
}

void apic_wrmsr(unsigned long reg, uint64_t val)
{
    uint32_t dest = val >> 32;

    if ( reg != APIC_ICR )
        fs_fail("APIC MSR %#lx", reg);
    icr_write();
    if ( val & APIC_DEST_LOGICAL )
        post_cluster(dest >> 16, dest & 0xffff);
    else
        post_apicid(dest);
}

uint32_t apic_read(unsigned long reg)
{
    uint32_t id = x86_cpu_to_apicid[sim_self.cpu];

    return reg == APIC_LDR ? (id >> 4) << 16 | 1U << (id & 15) : 0;
}

void ack_APIC_irq(void)
{
    fs_pass(fs_cost.eoi);
}

/* ---- other instructions ---- */
s_time_t sim_now(void)
{
    if ( !fs_active )
        return 1;
    fs_pass(fs_cost.rdtsc);
    /* The lock profile takes 0 for "not blocked". */
    return fs_cur->now / 1000 + 1;
}

void fs_flushed(struct fs_cpu *c, fs_time when)
{
    c->flushed_at[c->flushes++ % FS_STAMPS] = when;
}

void fs_flush_all(void)
{
    struct fs_cpu *c = fs_cur;

    if ( c->in_handler )
        fs_flushed(c, c->now);
    fs_pass(fs_cost.flush_all);
    c->refill = fs_cost.refill;
}

/* Xen flushes a page under two PCIDs: one request. */
void fs_flush_page(unsigned int pcid, unsigned long addr)
{
    struct fs_cpu *c = fs_cur;

    if ( c->in_handler && pcid == PCID_PV_USER )
        fs_flushed(c, c->now);
    fs_pass(fs_cost.flush_page);
}

void fs_flush_now(unsigned int flags)
{
    if ( flags & FLUSH_ORDER_MASK )
        fs_flush_page(PCID_PV_USER, 0);
    else
        fs_flush_all();
}
