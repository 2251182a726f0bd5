/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs-cost.h - the figures of a machine.
 *
 * Design: FS_COSTS is the one list; a table (machines/NAME.cost) has to name
 * each of them once.  Values are in picoseconds here, in ns in the table,
 * except those that end in _pct.  Docs: docs/flushsim.md.
 */
#ifndef FLUSHSIM_FS_COST_H
#define FLUSHSIM_FS_COST_H

#include <stdint.h>

#define FS_COSTS(X)                                                     \
    X(hit)            /* an access to a line the CPU has, and its code */ \
    X(locked)         /* a locked operation on such a line, a fence */  \
    X(rdtsc)                                                            \
    X(pause)                                                            \
    X(line_smt)       /* a line from: the other thread of the core */   \
    X(line_near)      /* the same L3 (a CCX) */                         \
    X(line_socket)                                                      \
    X(line_hop1)                                                        \
    X(line_hop2)                                                        \
    X(line_memory)    /* from nobody: memory of the own node */         \
    X(upgrade_pct)    /* of a transfer: to take it from sharers */      \
    X(keep_pct)       /* of owners that can use a line twice in a queue */ \
    X(window)         /* loads that one arrival of a line serves */        \
    X(busy_read)      /* for how long a line is busy with: a read */    \
    X(busy_smt)       /* a change of owner, by distance */              \
    X(busy_near)                                                        \
    X(busy_socket)                                                      \
    X(busy_hop1)                                                        \
    X(busy_hop2)                                                        \
    X(icr)            /* an ICR write */                                \
    X(flight)         /* from there to the target's APIC */             \
    X(flight_jitter)  /* uniform, up to: no two arrive together */       \
    X(flight_hop)                                                       \
    X(entry)          /* recognition, to the handler's first line */    \
    X(exit_guest)     /* more if the target was in a guest */           \
    X(eoi)                                                              \
    X(iret)                                                             \
    X(flush_all)                                                        \
    X(flush_page)                                                       \
    X(refill)         /* the victim's later misses after a full flush */

struct fs_costs {
#define FS_FIELD(name) uint64_t name;
    FS_COSTS(FS_FIELD)
#undef FS_FIELD
};
extern struct fs_costs fs_cost;

/* Read a table; also sets fs_topo. */
void fs_cost_read(const char *path);
/* "NAME=PERCENT": change one figure. */
void fs_cost_scale(const char *setting);

#endif /* FLUSHSIM_FS_COST_H */
