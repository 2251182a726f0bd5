/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs.h - the flush simulator: CPUs in virtual time.
 *
 * Design
 *
 * The hypervisor's sources are compiled over tools/tests/flush/harness.h with
 * -fsanitize=thread, which makes the compiler call a function at each access
 * to memory; hooks.c has these functions, instead of the sanitizer's library.
 * So each load, store and atomic operation of the unchanged code is seen, and
 * costs time on the CPU that does it:
 *
 *   core.c   coroutines, one per CPU, each with its own clock.  The one with
 *            the smallest clock runs, until it comes to an access that others
 *            could notice and somebody else is due earlier.
 *   lines.c  a directory of cache lines: who has it, how far away, busy until.
 *   irq.c    ICR writes, flight, delivery when interrupts are on.
 *   machine.c  what Xen defines elsewhere, memory, boot.
 *   cost.c   one table of figures per machine (machines/NAME.cost).
 *   load.c   the workloads; report.c what is printed about them.
 *
 * Time is in picoseconds of virtual time.  Nothing depends on the host: no
 * pointer, host time or hash order reaches a decision or the output.
 */
#ifndef FLUSHSIM_FS_H
#define FLUSHSIM_FS_H

#include "harness.h"
#include "fs-cost.h"

#define FS_WORDS BITS_TO_LONGS(NR_CPUS)
#define FS_NEVER (~0UL)
#define FS_MAX_WATCH 128
#define FS_STAMPS 16

typedef uint64_t fs_time;

enum fs_state {
    FS_RUN,                       /* running, or due at its time */
    FS_RELAX,                     /* in cpu_relax(): until a line changes */
    FS_SLEEP,                     /* working or idle: until its time */
    FS_DONE
};

struct fs_watch {
    unsigned int line, version;
};

struct fs_cpu {
    unsigned int id, core, ccx, socket;
    enum fs_state state;
    fs_time now;
    fs_time due;                  /* key in the queue */
    unsigned int pos;             /* there; 0: not in it */
    fs_time stores_done;          /* when the store buffer is empty */

    fs_time *arrivals;            /* IPIs on their way or pending, sorted */
    unsigned int nr_arrivals, max_arrivals;
    fs_time tick;                 /* next background interrupt */
    bool in_handler, in_guest;

    struct fs_watch watch[FS_MAX_WATCH];
    unsigned int nr_watch;
    bool too_many;

    unsigned int filled;          /* the line that came last ... */
    fs_time fresh;                /* ... serves loads until then */

    uint64_t rng;
    void *sp;
    struct sim_self self;

    /* what happened */
    unsigned long handled, flushes, expected;
    fs_time flushed_at[FS_STAMPS];        /* begin of the latest ones */
    fs_time refill;               /* owed by its next piece of work */
    fs_time stolen;               /* time in handlers */
};
extern struct fs_cpu fs_cpu[NR_CPUS], *fs_cur;
extern unsigned int fs_nr_cpus;
extern bool fs_active;            /* accesses cost time */

void noreturn fs_fail(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* ---- core.c ---- */
void fs_spawn(unsigned int cpu, void (*fn)(void));
void fs_run(void);
void fs_order(void);              /* let those run who are due earlier */
void fs_wake(struct fs_cpu *c, fs_time when);
void fs_work(fs_time span);       /* pass time, interruptibly */
void fs_become(unsigned int cpu); /* outside of fs_run() */
uint64_t fs_rand(struct fs_cpu *c);
fs_time fs_rand_below(struct fs_cpu *c, fs_time n);
extern unsigned long fs_switches;

static inline void fs_pass(fs_time span)
{
    fs_cur->now += span;
}

/* ---- lines.c ---- */
enum fs_kind { FS_READ, FS_WRITE, FS_LOCKED };
void fs_lines_init(void);
void fs_access(uintptr_t addr, enum fs_kind kind);
void fs_fence(void);
void fs_range(const void *p, size_t size, enum fs_kind kind);
void fs_line_free(const void *p, size_t size);   /* costs nothing to share */
void fs_unwatch(struct fs_cpu *c);
bool fs_watch_arm(struct fs_cpu *c);
void fs_show_watch(const struct fs_cpu *c);
unsigned int fs_hops(unsigned int a, unsigned int b);     /* of sockets */

struct fs_line_stats {
    uintptr_t addr;
    unsigned long transfers, invalidations;
    fs_time waited, queued;
};
unsigned int fs_line_profile(struct fs_line_stats *top, unsigned int n);

/* Static data, and the simulated memory; not the heap, where sim_self is. */
#define FS_BASE 0x400000UL
#define FS_STATIC_SIZE 0x1000000UL
#define FS_ARENA 0x200000000UL
#define FS_NODE_SIZE 0x1000000UL
#define FS_NODES 8
extern char _end[];
static inline bool fs_is_memory(uintptr_t addr)
{
    return addr - FS_ARENA < FS_NODES * FS_NODE_SIZE ||
           addr - FS_BASE < (uintptr_t)_end - FS_BASE;
}

/* ---- irq.c ---- */
void fs_take_irqs(struct fs_cpu *c);
fs_time fs_next_irq(const struct fs_cpu *c);
void fs_post(struct fs_cpu *from, unsigned int cpu, fs_time when);
extern unsigned long fs_icr_writes, fs_ipis, fs_shorthands;
extern fs_time fs_tick_period, fs_tick_span;

static inline bool fs_irq_due(const struct fs_cpu *c)
{
    return (c->nr_arrivals && c->arrivals[0] <= c->now) || c->tick <= c->now;
}

/* ---- machine.c ---- */
struct fs_topo {
    unsigned int sockets, cores, threads, ccx_cores;
    bool physical;                /* IPIs one by one */
    bool no_shorthand;
};
extern struct fs_topo fs_topo;
void fs_boot(const char *cmdline);
unsigned int fs_node_of(unsigned int cpu);
void *fs_alloc_on(unsigned int node, size_t size, size_t align);

/* ---- engines ---- */
struct fs_engine {
    const char *name;
    const char *cmdline;          /* for its boot, or NULL */
    void (*init)(void);           /* or NULL */
    void (*flush)(const cpumask_t *mask, const void *va, unsigned int flags);
    void (*handler)(struct cpu_user_regs *regs);
};
extern const struct fs_engine fs_engines[];      /* of this program */
void fs_ideal_flush(const cpumask_t *mask, const void *va, unsigned int flags);
void fs_forgetful_flush(const cpumask_t *mask, const void *va,
                        unsigned int flags);
void fs_ideal_handler(struct cpu_user_regs *regs);
void fs_callq_init(void);
void fs_callq_init_reading(void);
void fs_callq_flush(const cpumask_t *mask, const void *va, unsigned int flags);
void fs_callq_handler(struct cpu_user_regs *regs);
void fs_flushed(struct fs_cpu *c, fs_time when);
void fs_flush_now(unsigned int flags);           /* without the flush clock */
extern const struct fs_engine *fs_engine;

/* ---- report.c, names.c ---- */
const char *fs_name_of(uintptr_t addr);
uintptr_t fs_addr_of(const char *name, size_t *size);

#endif /* FLUSHSIM_FS_H */
