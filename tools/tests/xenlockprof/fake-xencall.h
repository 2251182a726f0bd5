/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hypervisor for xenlockprof to talk to: stands in for libxencall, and for
 * the lock profile behind it, at link time.
 */

#ifndef FAKE_XENCALL_H
#define FAKE_XENCALL_H

#include <stdbool.h>
#include <stdint.h>

#define __XEN_TOOLS__ 1
#include <xen/xen.h>
#include <xen/sysctl.h>

typedef struct xen_sysctl_lockprof_data record_t;

/*
 * What the fake does.  All zero: a hypervisor without any lock.  An errno
 * value makes the call in question fail with it.
 */
struct fake {
    int open_errno;
    int call_errno;             /* all hypercalls */
    unsigned int fail_alloc;    /* the n-th buffer fails (1: the first) */
    bool fail_calloc;           /* so does memory that is no buffer */
    uint64_t time;
    const record_t *record;
    uint32_t nr;                /* records at the first query ... */
    uint32_t grow;              /* ... more of them at each further one ... */
    unsigned int grow_percent;  /* ... and by so much, relative to before */
};

/* What the fake has seen. */
struct fake_seen {
    unsigned int opens, closes, allocs, frees;
    unsigned int queries, resets;
    uint32_t max_elem;          /* of the last query */
    char complaint[128];        /* misuse of the interface, empty if none */
};

extern struct fake fake;
extern struct fake_seen *fake_seen;

#endif /* FAKE_XENCALL_H */
