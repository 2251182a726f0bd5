/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * explore.h - every interleaving of a few CPUs that run the real flush code.
 *
 * Design
 *
 * The machine is that of tools/tests/flush (sim.h); this replaces its
 * scheduler.  Four parts, each knowing only the ones above it:
 *
 *   choose.c  the choice vector.  A run asks it at each fork; what it answers
 *             makes the run one of an exhaustive search, of PCT, of random
 *             ones, or a replay.
 *   memory.c  what each CPU sees of memory: store buffers.
 *   sched.c   CPUs as coroutines; interrupts, cpu_relax(), stop_machine().
 *   cases.c   what the CPUs do, and the oracle.
 *
 * tsan.c turns the compiler's instrumentation for the thread sanitizer into
 * calls to memory.c.  The sanitizer's own library is not linked.  main.c runs
 * it all, state.c takes the machine back to where it was before each run.
 *
 * State of the explorer itself lives in a section of its own (KEEP) or on the
 * heap, because everything else in the program is reset before each run.
 */
#ifndef FLUSH_EXPLORE_H
#define FLUSH_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEEP __attribute__((__section__("explore_keep")))
#define MAX_VCPUS 4
#define NO_VCPU (-1)

static inline uint64_t hash(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 29)) * 0x94d049bb133111ebu;
    return h ^ (h >> 32);
}

/* ---- choose.c ---- */
enum strategy { DFS, RANDOM, PCT, REPLAY };
enum fork_kind { FORK_CPU, FORK_STORE, FORK_LOAD };

/* A choice other than the default (0), by the number of the fork. */
struct deviation {
    uint32_t fork;
    uint32_t pick;
};
#define MAX_DEVIATIONS 4096
struct schedule {
    unsigned int nr;
    struct deviation dev[MAX_DEVIATIONS];
};

void choose_begin(enum strategy strategy, unsigned int bound, uint64_t seed);
void choose_replay(const struct schedule *schedule);
void choose_run(void);            /* before each run */
bool choose_next(void);           /* DFS: is there another one? */
/*
 * One of @nr options, of which the first @nr_free are within any bound, and
 * each other one uses up one of it.  @thread[i]: who runs then (FORK_CPU).
 */
unsigned int choose(enum fork_kind kind, unsigned int nr, unsigned int nr_free,
                    const uint8_t *thread, unsigned int running);
/*
 * Was this state met before, with no less of the bound left?  Then whatever can
 * come now has been, or will be, looked at from there.
 */
extern bool choose_merge;         /* default true: ask that at all */
bool choose_wants_state(void);
bool choose_known(uint64_t state);
unsigned long choose_cut(void);   /* runs that ended so */
const struct schedule *choose_taken(void);
unsigned int choose_forks(void);

/* ---- memory.c ---- */
enum model { MODEL_SC, MODEL_TSO, MODEL_WEAK };
enum access { PLAIN_LOAD, LOAD, PLAIN_STORE, STORE, LOCKED, RELAXED };
#define MAX_BUFFER 8

extern enum model memory_model;
extern unsigned int memory_buffer;        /* stores a CPU can hold back */

void memory_init(void);
void memory_run(void);
/* The running CPU is about to.  RELAXED is atomic, and orders nothing. */
void memory_access(const volatile void *p, unsigned int size,
                   enum access access, const void *pc);
void memory_store(volatile void *p, unsigned int size, uint64_t value);
void memory_locked(const volatile void *p, unsigned int size,
                   const void *before);
void memory_fence(void);          /* empty the running CPU's buffer */
void memory_empty(void);          /* the same, and nobody goes first */
void memory_settle(void);         /* the latest plain store has been made */
void memory_leave(int vcpu);      /* show what is global instead of its view */
void memory_enter(int vcpu);
void memory_drain_all(void);      /* at the end of a run */
bool memory_can_wake(int vcpu, int by);  /* a store of @by's would wake it */
void memory_wake(int vcpu, int by);      /* drain that */
void memory_forget_reads(int vcpu);
void memory_wmb(void);
void memory_rmb(void);
void memory_barrier(void);        /* both */
void memory_event(unsigned int what);    /* to be part of memory_hash() */
uint64_t memory_hash(void);
uint64_t memory_history(void);
void memory_set_history(uint64_t h);
uint64_t memory_hash_own(uint64_t h);    /* memory that is its alone */

/* Which memory is shared is learnt: true if that changed what is visible. */
bool memory_learn(void);
unsigned int memory_visible(uintptr_t *granules, unsigned int max);
void memory_see(uintptr_t granule);

/* ---- sched.c ---- */
extern int running;               /* the CPU whose coroutine runs, or NO_VCPU */
extern unsigned long sched_steps;
void sched_init(void);
void sched_add(unsigned int cpu, void (*fn)(unsigned int cpu));
void sched_reset(void);           /* before each run */
const char *sched_run(void);      /* what failed, or NULL */
bool sched_cut(void);             /* it got to a state that is known */
void sched_point(void);           /* others may go first */
void sched_step(void);
void sched_woken(int vcpu);
bool sched_in_handler(int vcpu);
bool sched_own_stack(const volatile void *p);
void sched_wait(bool (*until)(int vcpu));        /* the running CPU */
/* Goes into, comes out of flush_area_mask() for the time numbered @step. */
void sched_inside(bool inside, unsigned int step);
void sched_fail(const char *text);       /* ends the run */

/* ---- state.c ---- */
void state_save(void);
void state_restore(void);
bool state_is_new(const void *p); /* allocated since state_save() */

/* ---- cases.c ---- */
struct explore_case {
    const char *name;
    const char *what;
    unsigned int nr_cpus, nr_nodes, boot_cpus;
    bool shorthand;               /* may IPIs use one */
    bool engine_only;             /* upstream gets this wrong, as is known */
    unsigned int quick, thorough; /* bounds */
    bool not_quick;               /* just the latter, or when asked for */
    uint64_t stray;               /* CPUs with an IPI pending at the start */
    uint64_t dirty;               /* in the mask that changes, at the start */
    const char *program[MAX_VCPUS];
};
extern const struct explore_case explore_cases[];
extern const unsigned int explore_nr_cases;
void case_boot(const struct explore_case *c);
void case_begin(void);            /* after a restore */
uint64_t case_hash(void);         /* of the oracle's state */
const char *case_end(void);       /* last checks; what failed, or NULL */

/* ---- actions.c: what programs do to memory ---- */
#define MAX_REQUESTS 8
void action_boot(uint64_t dirty);
void action_set_pte(unsigned int request);       /* to the new value */
void action_xchg_pte(unsigned int request);
bool action_pte_is_old(unsigned int request);
/* The handler of @cpu writes something that the initiator has to see. */
void action_report(unsigned int request, unsigned int cpu);
bool action_reported(unsigned int request, unsigned int cpu);
void action_enter(unsigned int cpu);             /* the mask that changes */
void action_leave(unsigned int cpu);
void action_flush(uint64_t mask, const void *va, unsigned int flags);
void action_flush_dirty(const void *va, unsigned int flags);

/* ---- trace.c ---- */
extern bool tracing;
void trace(const void *pc, const char *fmt, ...)
    __attribute__((__format__(printf, 2, 3)));
void trace_show(void);

#endif /* FLUSH_EXPLORE_H */
