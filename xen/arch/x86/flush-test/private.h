/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the self test share; main.c has the design.
 */
#ifndef FLUSH_TEST_PRIVATE_H
#define FLUSH_TEST_PRIVATE_H

#include <xen/atomic.h>
#include <xen/cache.h>
#include <xen/cpumask.h>
#include <xen/lib.h>
#include <xen/mm.h>
#include <xen/smp.h>
#include <xen/tasklet.h>
#include <xen/time.h>

/* All console output: TAP, each line with this prefix. */
#define tap(fmt, args...) printk("flush-test: " fmt "\n", ## args)
#define note(fmt, args...) tap("# " fmt, ## args)

/*
 * A CPU's part in the test.  Everything is its own, but for
 *   active    set by whoever starts a part, cleared by who takes it out
 *   paused    set by its CPU, cleared by the pacer
 *   request   (torture.c) read by the CPUs that it asks to flush
 *   excused   (torture.c) counted up by others, down by its CPU
 */
struct worker {
    unsigned int cpu;
    bool active;
    bool paused;
    struct tasklet tasklet;
    uint64_t random;

    /* Of the current part; begin() finds them all zero. */
    bool present;               /* has begun */
    unsigned long done;         /* requests */
    s_time_t time;              /* they took, in ns: bench.c */

    unsigned int rank;          /* among the CPUs of its node: bench.c */
    cpumask_var_t mask;         /* whom a request names */
    cpumask_var_t named;        /* and who of them was online before */
    struct request *request;
    atomic_t excused;           /* interrupts in vain that are no strays */
};

/* By CPU number; NULL for CPUs that were not there when the test was set up. */
extern struct worker **workers;

/* The first worker of CPU number @cpu or higher; NULL if there is none. */
struct worker *next_worker(unsigned int cpu);

#define for_each_worker(w) \
    for ( (w) = next_worker(0); (w); (w) = next_worker((w)->cpu + 1) )

/* What came of a part. */
enum verdict {
    PART_OK,
    PART_FAILED,
    PART_AGAIN,                 /* begin() once more */
};

/*
 * A part of the test.  Each online CPU calls step() over and over; the last
 * one to stop calls end().
 */
struct part {
    const char *name;
    unsigned int amount;        /* of requests or rounds; 0: until stopped */
    bool joinable;              /* CPUs that come online take part */
    /* Returns an error code; called on one CPU, with no step() running. */
    int (*begin)(struct part *part);
    /* Returns whether this CPU has more to do. */
    bool (*step)(struct part *part, struct worker *w);
    /* Prints diagnostics, and the result in @text. */
    enum verdict (*end)(struct part *part, char *text, size_t size);
    bool wanted;
};

extern struct part torture_part, order_part, oracle_part, fairness_part,
                   bench_part;

/* Memory of the parts, by worker.  Return an error code; freed never. */
int torture_init(struct worker *w);
int oracle_init(void);

/* Takes one from the part's amount; false when none is left or on a stop. */
bool take_one(const struct part *part);

/* Whether all are taken, or a stop was asked for. */
bool is_over(const struct part *part);

/* Whether domains run, too. */
bool in_background(void);

/* How many were taken, at most the amount. */
unsigned int taken(const struct part *part);

/* A random number below @n, which is not 0. */
unsigned int random_below(struct worker *w, unsigned int n);

/* Wait for a moment of random length, mostly none. */
void random_delay(struct worker *w);

#endif /* FLUSH_TEST_PRIVATE_H */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
