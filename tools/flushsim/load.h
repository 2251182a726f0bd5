/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load.h - a workload, and what came out of it.
 *
 * Design: one kind of loop with parameters; the workloads that bench.py names
 * are sets of them.  Each initiator: work, choose a mask, flush, again, until
 * all of them together did their number.
 */
#ifndef FLUSHSIM_LOAD_H
#define FLUSHSIM_LOAD_H

#include "fs.h"

enum fs_scope {
    FS_OWN_NODE, FS_OWN_CLUSTER, FS_ALL, FS_INITIATORS,
    FS_NEXT                       /* the CPUs that follow */
};

struct fs_load {
    enum fs_scope scope;
    unsigned int targets;         /* that many of the scope; 0: all of it */
    unsigned int cross_pct;       /* flushes that reach another node */
    unsigned int initiators;      /* 0: all CPUs */
    unsigned int spread;          /* initiators: every n-th CPU (0: each) */
    fs_time think;                /* work between flushes, on average */
    unsigned long flushes;        /* measured */
    bool one_page;
};

struct fs_result {
    fs_time span;                 /* measured, virtual */
    unsigned long flushes;
    fs_time *latency;             /* sorted */
    unsigned long nr_targets;
    unsigned long per_cpu[NR_CPUS];
    unsigned long ipis, icr_writes, shorthands, handled;
    fs_time stolen;
};

void fs_load_run(const struct fs_load *load, struct fs_result *result,
                 uint64_t seed);
void fs_lock_profile_reset(void);

#endif /* FLUSHSIM_LOAD_H */
