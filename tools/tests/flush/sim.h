/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim.h - the simulated machine under the code being tested.
 *
 * Design
 *
 * CPUs are numbers; which one runs is sim_self (harness.h).  Three ways to run
 * them, from most to least deterministic:
 *
 *   direct   one CPU runs and everything else happens in its cpu_relax():
 *            pending interrupts of other CPUs are served there, in an order
 *            drawn from the seed.  sim_relax_hook lets a test interfere.
 *   sched    one coroutine per CPU (sim-sched.c).  The scheduler may take an
 *            interrupt or switch CPUs in front of every atomic access.
 *   threads  one pthread per CPU (test-storm.c): real concurrency.
 *
 * An IPI sets the pending flag of its target; the target takes it when its
 * interrupts are on.  flush_area_local() and its like only record.  Every
 * spin lock operation of the code under test comes through a wrapper that
 * counts per lock.
 *
 * A failed check prints what, where and the seed, and ends the process: each
 * case runs in a process of its own (check.h), so statics start fresh.
 */
#ifndef FLUSH_TEST_SIM_H
#define FLUSH_TEST_SIM_H

#include "harness.h"

#ifdef SUBJECT_ENGINE
# define SUBJECT "engine"
# define HAVE_GROUPS true
#else
# define SUBJECT "upstream"
# define HAVE_GROUPS false
#endif

/* ---- topology and boot ---- */
struct sim_topo {
    unsigned int nr_ids;          /* nr_cpu_ids */
    unsigned int nr_cpus;         /* CPUs present */
    unsigned int stride;          /* CPU i has number i * stride (0: 1) */
    unsigned int nr_nodes;        /* 0: 1 */
    bool interleave;              /* neighbours on different nodes */
    bool no_nodes;                /* firmware does not tell the nodes */
    bool shim;                    /* PV shim: no NUMA at all */
    bool park;                    /* offlined CPUs are parked */
    bool xapic;                   /* no x2APIC */
    bool physical;                /* x2APIC in physical mode */
    unsigned int skewed;          /* CPU whose LDR names another cluster */
    bool skewed_cpu0;             /* that is CPU0 */
    unsigned int first_apicid;    /* CPU0's */
    unsigned int first_node;      /* CPU0's; none has a lower one */
    unsigned int boot_cpus;       /* brought up at boot (0: all) */
    const char *cmdline;
};
void sim_boot(const struct sim_topo *topo);
void sim_boot_to_presmp(const struct sim_topo *topo);
void sim_boot_rest(void);
unsigned int sim_cpu_nr(unsigned int i);         /* number of i-th CPU */
nodeid_t sim_node(unsigned int cpu);
void sim_set_cpu(unsigned int cpu, u32 apicid, nodeid_t node);
void sim_cpu_remove(unsigned int cpu);           /* CPU_REMOVE */
int sim_params(const char *cmdline);

extern int sim_cpu_up_error;      /* what __cpu_up() returns */
extern unsigned long sim_notified[16];     /* by action & 0xf, lowest prio */

/* ---- CPUs ---- */
struct sim_cpu {
    bool pending;                 /* INVALIDATE_TLB_VECTOR in its IRR */
    bool irq_on;                  /* while it is not the running CPU */
    bool in_handler;
    unsigned long interrupts, flushes, syncs, acks;
    const void *va;               /* of the latest flush_area_local() */
    unsigned int flags;
    uint64_t stamp;               /* sim_clock at that time */
};
extern struct sim_cpu sim_cpu[NR_CPUS];
extern uint64_t sim_clock;

typedef void sim_fn_t(void *arg);
void sim_switch(unsigned int cpu);                /* become that CPU */
void sim_as(unsigned int cpu, sim_fn_t *fn, void *arg);
bool sim_take_irq(void);                         /* on the running CPU */
void sim_spurious(unsigned int cpu);             /* run the handler there */

/* ---- what happened ---- */
struct sim_counts {
    unsigned long shorthands;     /* ALLBUT ICR writes */
    unsigned long sends;          /* genapic.send_IPI_mask() */
    unsigned long posted;         /* CPUs that got an IPI */
    unsigned long assists;        /* hypervisor_flush_tlb() */
    unsigned long unfenced;       /* send_IPI_mask() with no barrier before */
};
extern struct sim_counts sim_counts;
void sim_reset_counts(void);

struct sim_lock {
    spinlock_t *lock;
    unsigned long locks, trylocks, tryfails, unlocks;
    unsigned int order;           /* when first taken since the reset */
};
struct sim_lock *sim_lock_of(spinlock_t *lock);
struct sim_lock *sim_locks(unsigned int *nr);    /* touched since reset */
unsigned int sim_locks_taken(void);              /* distinct, since reset */

/* Called as the running CPU, with the lock not yet asked for / released. */
enum sim_lock_op { SIM_LOCK_WAIT, SIM_LOCK_GOT, SIM_LOCK_FREE };
extern void (*sim_lock_hook)(spinlock_t *lock, enum sim_lock_op op);
extern void (*sim_flush_hook)(unsigned int cpu, const void *va,
                              unsigned int flags);
extern void (*sim_relax_hook)(void);
extern void (*sim_ipi_hook)(const cpumask_t *mask);

extern int sim_sync_result;       /* of __sync_local_execstate() */
extern unsigned int sim_local_strip;    /* flags flush_area_local() drops */
extern int sim_assist_result;

/* ---- allocation ---- */
extern unsigned long sim_allocs;  /* so far */
extern unsigned long sim_fail_alloc;    /* number of the one to fail, or 0 */
extern unsigned long sim_fail_from;     /* this one and all later, or 0 */
extern unsigned long sim_live;    /* not freed yet */
extern void (*sim_alloc_hook)(void *p, size_t size, unsigned int memflags);
extern unsigned int sim_allocs_on[MAX_NUMNODES];  /* asked for by node */

/* ---- console ---- */
const char *sim_log(void);
unsigned int sim_log_count(const char *needle);

/* ---- randomness, failure ---- */
extern uint64_t sim_seed, sim_seed0;
uint64_t sim_rand(void);
static inline unsigned int sim_below(unsigned int n)
{
    return sim_rand() % n;
}
extern void (*sim_fail_hook)(const char *text);  /* may not return */
extern bool sim_panic_expected;   /* panic() ends the case, well */
void noreturn sim_fail(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* ---- sched mode ---- */
void sim_spawn(unsigned int cpu, sim_fn_t *fn, void *arg);
/* Run until all spawned ones returned; preempt: chance in 1000 per access. */
void sim_run(unsigned int preempt, unsigned long max_steps);
void sim_yield(void);
void sim_softirq(void);           /* where stop_machine() can catch a CPU */
extern bool sim_scheduling;
extern unsigned long sim_steps;
bool sim_sched_stop(unsigned int cpu);   /* stop the others; sched mode */
void sim_sched_resume(void);

/* ---- threads mode ---- */
extern bool sim_threads;

/* The functions behind the wrappers. */
void sim_real_spin_lock(spinlock_t *lock);
void sim_real_spin_lock_cb(spinlock_t *lock, void (*cb)(void *), void *data);
int sim_real_spin_trylock(spinlock_t *lock);
void sim_real_spin_unlock(spinlock_t *lock);
void sim_real_send_IPI_mask(const cpumask_t *mask, int vector);

#endif /* FLUSH_TEST_SIM_H */
