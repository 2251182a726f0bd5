/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calls of libxencall that xenlockprof makes, on top of a profile given
 * by the test (fake-xencall.h).
 *
 * Buffers are plain heap memory of the very size asked for, so the address
 * sanitizer sees any access beyond them.  As in Xen, a query fills records as
 * far as max_elem allows and counts all of them.
 *
 * Link with -Wl,--wrap=calloc, so that calloc() can be made to fail as well.
 */

#include "fake-xencall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xencall.h>
#include <xentoollog.h>

struct fake fake;
static struct fake_seen dummy;
struct fake_seen *fake_seen = &dummy;

static const char handle[] = "handle";

static void complain(const char *what)
{
    if ( !fake_seen->complaint[0] )
        snprintf(fake_seen->complaint, sizeof(fake_seen->complaint), "%s",
                 what);
}

static void check_handle(const xencall_handle *xcall)
{
    if ( (const void *)xcall != handle || fake_seen->closes )
        complain("call with a bad or closed handle");
}

xencall_handle *xencall_open(xentoollog_logger *logger, unsigned open_flags)
{
    (void)open_flags;

    if ( !logger )
        complain("no logger: the library would print errors of its own");

    if ( fake.open_errno )
    {
        errno = fake.open_errno;
        return NULL;
    }
    fake_seen->opens++;

    return (xencall_handle *)handle;
}

int xencall_close(xencall_handle *xcall)
{
    check_handle(xcall);
    fake_seen->closes++;

    return 0;
}

void *xencall_alloc_buffer(xencall_handle *xcall, size_t size)
{
    void *p;

    check_handle(xcall);
    if ( ++fake_seen->allocs == fake.fail_alloc )
    {
        fake_seen->allocs--;
        errno = ENOMEM;
        return NULL;
    }
    p = malloc(size);
    if ( p )
        memset(p, 0xa5, size);

    return p;
}

void xencall_free_buffer(xencall_handle *xcall, void *p)
{
    check_handle(xcall);
    fake_seen->frees++;
    free(p);
}

/* Record @i; there are more records than the test gave if they grow. */
static record_t record_at(uint32_t i)
{
    record_t rec = { .type = LOCKPROF_TYPE_GLOBAL };

    if ( fake.record )
        return fake.record[i];

    snprintf(rec.name, sizeof(rec.name), "lock%u", i);
    rec.lock_cnt = 1;
    rec.lock_time = 1;
    rec.block_cnt = 1;
    rec.block_time = 2;

    return rec;
}

/* How many records there are by now. */
static uint32_t nr_records(void)
{
    uint32_t nr = fake.nr;
    unsigned int i;

    for ( i = 0; i < fake_seen->queries; i++ )
        nr += fake.grow + nr * fake.grow_percent / 100;

    return nr;
}

static void query(struct xen_sysctl_lockprof_op *op)
{
    uint32_t nr = nr_records();
    uint32_t i;

    fake_seen->queries++;
    fake_seen->max_elem = op->max_elem;
    for ( i = 0; i < nr && i < op->max_elem; i++ )
    {
        record_t rec = record_at(i);

        memcpy(op->data.p + i, &rec, sizeof(rec));
    }
    op->nr_elem = nr;
    op->time = fake.time;
}

static int lockprof_op(struct xen_sysctl_lockprof_op *op)
{
    switch ( op->cmd )
    {
    case XEN_SYSCTL_LOCKPROF_reset:
        fake_seen->resets++;
        return 0;

    case XEN_SYSCTL_LOCKPROF_query:
        query(op);
        return 0;

    default:
        complain("unknown sub-operation");
        errno = EINVAL;
        return -1;
    }
}

void *__real_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size);

void *__wrap_calloc(size_t nr, size_t size)
{
    return fake.fail_calloc ? NULL : __real_calloc(nr, size);
}

int xencall1(xencall_handle *xcall, unsigned int op, uint64_t arg1)
{
    struct xen_sysctl *sysctl = (struct xen_sysctl *)(uintptr_t)arg1;

    check_handle(xcall);
    if ( op != __HYPERVISOR_sysctl || sysctl->cmd != XEN_SYSCTL_lockprof_op )
        complain("not the lock profile's hypercall");
    if ( sysctl->interface_version != XEN_SYSCTL_INTERFACE_VERSION )
        complain("interface version not given");

    if ( fake.call_errno )
    {
        errno = fake.call_errno;
        return -1;
    }

    return lockprof_op(&sysctl->u.lockprof_op);
}
