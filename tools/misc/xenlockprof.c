/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * xenlockprof: show or reset the lock profile of the running hypervisor.
 *
 * The hypervisor counts, for each lock in the profile, how often the lock was
 * taken and for how long, and how often and for how long CPUs waited for it
 * (CONFIG_DEBUG_LOCK_PROFILE).  This tool fetches these records with
 * XEN_SYSCTL_lockprof_op and prints one line for each, in the order in which
 * the hypervisor keeps them, and totals.
 *
 * The operation is issued through libxencall, which is a stable library.
 * libxenctrl has a call for it too, but there are versions in the field which
 * drop the profiling time (see "Why not libxenctrl" in xenlockprof(8)).
 *
 * From top to bottom: errors, source (talks to the hypervisor), profile (a
 * copy of what was read; knows no hypercalls), output, command line.
 */

#ifndef __XEN_TOOLS__
#define __XEN_TOOLS__ 1   /* the sysctl interface is for tools only */
#endif

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xen/xen.h>
#include <xen/sysctl.h>

#include <xencall.h>
#include <xentoollog.h>

/* Installed headers may be older than the hypervisor. */
#ifndef LOCKPROF_TYPE_PERNODE
#define LOCKPROF_TYPE_PERNODE 2
#endif

typedef struct xen_sysctl_lockprof_data record_t;

/* Exit status.  Part of the interface: documented in xenlockprof(8). */
enum {
    STATUS_OK           = 0,
    STATUS_FAILED       = 1, /* anything not listed below */
    STATUS_USAGE        = 2, /* bad command line */
    STATUS_NO_XEN       = 3, /* no hypervisor to talk to */
    STATUS_NO_PRIVILEGE = 4, /* not allowed to talk to it */
    STATUS_NO_PROFILE   = 5, /* hypervisor built without lock profiling */
    STATUS_VERSION      = 6, /* hypervisor has another interface version */
};

/*
 * Errors
 */

/* One line on stderr.  Returns @status, so that callers can pass it on. */
static int __attribute__((format(printf, 2, 3)))
fail(int status, const char *fmt, ...)
{
    va_list args;

    fputs("xenlockprof: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);

    return status;
}

static int fail_open(int err)
{
    switch ( err )
    {
    case ENOENT:
    case ENODEV:
    case ENXIO:
        return fail(STATUS_NO_XEN,
                    "no Xen found: run this in dom0, with the kernel module "
                    "xen-privcmd loaded");

    case EACCES:
    case EPERM:
        return fail(STATUS_NO_PRIVILEGE,
                    "may not open /dev/xen/privcmd: run this as root");

    default:
        return fail(STATUS_FAILED, "cannot talk to Xen: %s", strerror(err));
    }
}

/* @what completes "cannot ...". */
static int fail_hypercall(int err, const char *what)
{
    switch ( err )
    {
    case EPERM:
        return fail(STATUS_NO_PRIVILEGE,
                    "Xen refuses to %s for this domain: run this in dom0 "
                    "(with XSM: allow it xen { lockprof })", what);

    case EACCES:
        return fail(STATUS_VERSION,
                    "Xen does not speak sysctl interface version %#x: use "
                    "the xenlockprof that was built with this Xen",
                    XEN_SYSCTL_INTERFACE_VERSION);

    case ENOSYS:
    case EOPNOTSUPP:
        return fail(STATUS_NO_PROFILE,
                    "this Xen has no lock profiling: build it with "
                    "CONFIG_DEBUG_LOCK_PROFILE=y");

    default:
        return fail(STATUS_FAILED, "cannot %s: %s", what, strerror(err));
    }
}

/*
 * Source: where the records come from
 */

struct source {
    xencall_handle *xcall;
    struct xen_sysctl *sysctl; /* in memory that Xen can access */
};

/* The library's messages would come on top of our one line. */
static void drop_message(xentoollog_logger *logger, xentoollog_level level,
                         int errnoval, const char *context,
                         const char *format, va_list args)
{
    (void)logger;
    (void)level;
    (void)errnoval;
    (void)context;
    (void)format;
    (void)args;
}

static xentoollog_logger quiet = { .vmessage = drop_message };

static void source_close(struct source *src)
{
    if ( src->sysctl )
        xencall_free_buffer(src->xcall, src->sysctl);
    if ( src->xcall )
        xencall_close(src->xcall);
}

static int source_open(struct source *src)
{
    src->sysctl = NULL;
    src->xcall = xencall_open(&quiet, XENCALL_OPENFLAG_NON_REENTRANT);
    if ( !src->xcall )
        return fail_open(errno);

    src->sysctl = xencall_alloc_buffer(src->xcall, sizeof(*src->sysctl));
    if ( !src->sysctl )
    {
        int status = fail(STATUS_FAILED, "cannot allocate memory: %s",
                          strerror(errno));

        source_close(src);
        return status;
    }

    return STATUS_OK;
}

/*
 * Issue one sub-operation.  @buf has room for @max records and came from
 * xencall_alloc_buffer(), or is NULL.  Returns -1 with errno set if it failed.
 */
static int source_op(struct source *src, uint32_t cmd, record_t *buf,
                     uint32_t max)
{
    struct xen_sysctl_lockprof_op *op = &src->sysctl->u.lockprof_op;

    memset(src->sysctl, 0, sizeof(*src->sysctl));
    src->sysctl->cmd = XEN_SYSCTL_lockprof_op;
    src->sysctl->interface_version = XEN_SYSCTL_INTERFACE_VERSION;
    op->cmd = cmd;
    op->max_elem = max;
    set_xen_guest_handle_raw(op->data, buf);

    return xencall1(src->xcall, __HYPERVISOR_sysctl,
                    (uintptr_t)src->sysctl) < 0 ? -1 : 0;
}

/*
 * Profile: a copy of all records, as of one moment
 */

struct profile {
    uint64_t time;    /* nanoseconds that the records cover */
    uint32_t nr;
    record_t *record;
};

#define FIRST_CAPACITY 256       /* enough for an idle host */
#define MAX_CAPACITY   (1U << 20) /* more than there are domains and locks */
#define MAX_READS      16

static void profile_free(struct profile *prof)
{
    free(prof->record);
}

/* Copies the @nr records in @buf, so that nobody needs to know of @buf. */
static int profile_fill(struct profile *prof, const record_t *buf, uint32_t nr,
                        uint64_t time)
{
    prof->record = calloc(nr ? nr : 1, sizeof(*prof->record));
    if ( !prof->record )
        return fail(STATUS_FAILED, "cannot allocate memory for %"PRIu32
                    " records", nr);

    memcpy(prof->record, buf, nr * sizeof(*buf));
    prof->nr = nr;
    prof->time = time;

    return STATUS_OK;
}

/*
 * One attempt, with room for @capacity records.  *@available tells how many
 * the hypervisor has; @prof was filled only if there was room for all.
 */
static int profile_try_read(struct source *src, struct profile *prof,
                            uint32_t capacity, uint32_t *available)
{
    const struct xen_sysctl_lockprof_op *op = &src->sysctl->u.lockprof_op;
    record_t *buf = xencall_alloc_buffer(src->xcall, capacity * sizeof(*buf));
    int status = STATUS_OK;

    if ( !buf )
        return fail(STATUS_FAILED, "cannot allocate memory for %"PRIu32
                    " records: %s", capacity, strerror(errno));

    if ( source_op(src, XEN_SYSCTL_LOCKPROF_query, buf, capacity) )
        status = fail_hypercall(errno, "read the lock profile");
    else
    {
        *available = op->nr_elem;
        if ( *available <= capacity )
            status = profile_fill(prof, buf, *available, op->time);
    }

    xencall_free_buffer(src->xcall, buf);

    return status;
}

/*
 * Domains come and go, and locks with them, so the number of records is known
 * only by the call that also returns them: repeat it with more room until all
 * of them fit.
 */
static int profile_read(struct source *src, struct profile *prof)
{
    uint32_t capacity = FIRST_CAPACITY, available = 0;
    unsigned int i;

    for ( i = 0; i < MAX_READS; i++ )
    {
        int status = profile_try_read(src, prof, capacity, &available);

        if ( status != STATUS_OK || available <= capacity )
            return status;

        if ( available > MAX_CAPACITY )
            return fail(STATUS_FAILED, "Xen reports %"PRIu32" locks, more "
                        "than the %u that can be shown", available,
                        MAX_CAPACITY);

        capacity = available + available / 8 + 32;
    }

    return fail(STATUS_FAILED, "the number of locks keeps growing (%"PRIu32
                " now): try again later", available);
}

/*
 * Output
 */

#define ESCAPED_NAME_LEN (4 * sizeof(((record_t *)NULL)->name) + 1)
#define LABEL_LEN        (ESCAPED_NAME_LEN + 64)
#define SECONDS_LEN      32

/*
 * The name as text that is safe to print: what is no printable ASCII becomes
 * \xNN.  A name that fills its field has no terminator.
 */
static void format_name(char out[ESCAPED_NAME_LEN], const record_t *rec)
{
    size_t i;

    for ( i = 0; i < sizeof(rec->name) && rec->name[i]; i++ )
    {
        unsigned char c = rec->name[i];

        if ( c >= ' ' && c <= '~' )
            *out++ = c;
        else
            out += sprintf(out, "\\x%02x", c);
    }
    *out = '\0';
}

/* Which lock of which object a record is about. */
static void format_label(char out[LABEL_LEN], const record_t *rec)
{
    char name[ESCAPED_NAME_LEN];

    format_name(name, rec);

    switch ( rec->type )
    {
    case LOCKPROF_TYPE_GLOBAL:
        snprintf(out, LABEL_LEN, "global lock %s", name);
        break;

    case LOCKPROF_TYPE_PERDOM:
        snprintf(out, LABEL_LEN, "domain %"PRId32" lock %s", rec->idx, name);
        break;

    case LOCKPROF_TYPE_PERNODE:
        snprintf(out, LABEL_LEN, "NUMA node %"PRId32" lock %s", rec->idx,
                 name);
        break;

    default:
        snprintf(out, LABEL_LEN, "unknown type(%"PRId32") %"PRId32" lock %s",
                 rec->type, rec->idx, name);
        break;
    }
}

/* Same text as "%20.9f", but exact for any number of nanoseconds. */
static const char *format_seconds(char out[SECONDS_LEN], uint64_t ns)
{
    snprintf(out, SECONDS_LEN, "%10"PRIu64".%09"PRIu64, ns / 1000000000,
             ns % 1000000000);

    return out;
}

static void print_record(const record_t *rec)
{
    char label[LABEL_LEN], held[SECONDS_LEN], blocked[SECONDS_LEN];

    format_label(label, rec);
    printf("%-50s: lock:%12"PRIu64"(%ss), block:%12"PRIu64"(%ss)\n", label,
           (uint64_t)rec->lock_cnt, format_seconds(held, rec->lock_time),
           (uint64_t)rec->block_cnt, format_seconds(blocked, rec->block_time));
}

static void print_total(const char *what, uint64_t ns)
{
    char seconds[SECONDS_LEN];

    printf("%-22s%ss\n", what, format_seconds(seconds, ns));
}

static void print_profile(const struct profile *prof)
{
    uint64_t held = 0, blocked = 0;
    uint32_t i;

    for ( i = 0; i < prof->nr; i++ )
    {
        print_record(&prof->record[i]);
        held += prof->record[i].lock_time;
        blocked += prof->record[i].block_time;
    }

    print_total("total profiling time:", prof->time);
    print_total("total locked time:", held);
    print_total("total blocked time:", blocked);
}

/* A full disk or a closed pipe shows up only now, output being buffered. */
static int finish_output(void)
{
    if ( fflush(stdout) || ferror(stdout) )
        return fail(STATUS_FAILED, "cannot write the output: %s",
                    strerror(errno));

    return STATUS_OK;
}

/*
 * Command line
 */

static int do_show(struct source *src)
{
    struct profile prof = { .nr = 0 };
    int status = profile_read(src, &prof);

    if ( status == STATUS_OK )
    {
        print_profile(&prof);
        status = finish_output();
    }
    profile_free(&prof);

    return status;
}

static int do_reset(struct source *src)
{
    if ( source_op(src, XEN_SYSCTL_LOCKPROF_reset, NULL, 0) )
        return fail_hypercall(errno, "reset the lock profile");

    return STATUS_OK;
}

static int do_help(void)
{
    fputs("Usage: xenlockprof [OPTION]\n"
          "Show how often and for how long the locks of the running Xen were "
          "held\n"
          "and waited for.\n"
          "\n"
          "  -r, --reset    start anew: set all counts and times to zero\n"
          "  -h, --help     show this text\n"
          "  -V, --version  show which interface this program is built for\n"
          "\n"
          "Exit status: 0 success, 1 failure, 2 bad command line, 3 no Xen,\n"
          "4 no privilege, 5 Xen without lock profiling, 6 other interface "
          "version.\n"
          "See xenlockprof(8) for what the columns mean.\n", stdout);

    return finish_output();
}

static int do_version(void)
{
    printf("xenlockprof, sysctl interface version %#x\n",
           XEN_SYSCTL_INTERFACE_VERSION);

    return finish_output();
}

static int with_source(int (*action)(struct source *))
{
    struct source src;
    int status = source_open(&src);

    if ( status != STATUS_OK )
        return status;

    status = action(&src);
    source_close(&src);

    return status;
}

static int fail_usage(const char *what, const char *arg)
{
    return fail(STATUS_USAGE, "%s '%s': see xenlockprof --help", what, arg);
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {
        { "reset",   no_argument, NULL, 'r' },
        { "help",    no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { NULL, 0, NULL, 0 },
    };
    bool reset = false;

    opterr = 0;
    for ( ; ; )
    {
        int word = optind;
        int opt = getopt_long(argc, argv, "+rhV", options, NULL);

        if ( opt == -1 )
            break;

        switch ( opt )
        {
        case 'r':
            reset = true;
            break;

        case 'h':
            return do_help();

        case 'V':
            return do_version();

        default:
            return fail_usage("bad option", argv[word]);
        }
    }

    if ( optind < argc )
        return fail_usage("unexpected argument", argv[optind]);

    return with_source(reset ? do_reset : do_show);
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * tab-width: 4
 * indent-tabs-mode: nil
 * End:
 */
