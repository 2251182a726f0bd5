/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unit test of xenlockprof: the real source, with its main() renamed, runs in
 * a child process against a fake hypervisor (fake-xencall.c).  Each case
 * states the command line, what the hypervisor does, and the exact output,
 * error line and exit status.
 *
 * Usage: test-xenlockprof [CASE...]    default: all cases
 * Last line "PASS: xenlockprof" and exit status 0, or 1 if a case failed.
 *
 * This test was seen to fail, each time in the case named, when xenlockprof
 * was changed in these ways (one at a time, by hand):
 *   room for one record too few                    just-fits
 *   retry with just the number that was reported   grows-within-slack
 *   no limit on the number of records              absurdly-many
 *   64 reads before giving up, not 16              grows-forever
 *   name read up to its NUL, which may be missing  odd-names
 *   last byte of a name that fills its field lost  odd-names
 *   DEL printed as it is                           odd-names
 *   bytes above 0x7f taken for negative            odd-names
 *   no room for escapes in the name's buffer       odd-names
 *   type of node locks is 3                        every-type
 *   seconds computed as a double                   large-numbers
 *   blocked time added to the held total           every-type
 *   profiling time not stored                      every-type
 *   interface version not passed                   every-type
 *   buffer for records, profile, or handle leaked  every-type
 *   buffer with room for one record only           every-type
 *   EPERM from the hypercall not told apart        query-refused
 *   status 1 for a wrong interface version         query-version
 *   messages of the library not silenced           no-device
 *   output's errors ignored, or not flushed first  disk-full
 *   reset in spite of an unexpected argument       argument
 *   options after an argument accepted             argument-first
 *   -r shows                                       reset
 *   failure of calloc() ignored                    no-memory-for-copy
 */

#define _GNU_SOURCE

#include "fake-xencall.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef LOCKPROF_TYPE_PERNODE
#define LOCKPROF_TYPE_PERNODE 2
#endif

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define TIMEOUT_S     20
#define MAX_ARGS      4

int xenlockprof_main(int argc, char *argv[]);

struct expect {
    const char *name;
    const char *arg[MAX_ARGS];
    struct fake fake;
    int status;
    const char *out;        /* NULL: not compared */
    const char *err;        /* one line without its prefix; "" for none */
    unsigned int queries, resets;
    const char *stdout_to;  /* file in place of a pipe */
};

struct result {
    int status;             /* of waitpid() */
    char *out, *err;
    size_t out_len, err_len;
    struct fake_seen *seen; /* shared with the child */
};

#define MIX_NR 5
static const record_t mix[MIX_NR] = {
    { "domlist_update_lock", LOCKPROF_TYPE_GLOBAL, 0, 12, 3, 4567, 89 },
    { "domain_lock", LOCKPROF_TYPE_PERDOM, 32753, 1, 0, 1000000000, 0 },
    { "flush_lock", LOCKPROF_TYPE_PERNODE, 0, 548000, 23856, 1234567890,
      51000000 },
    { "flush_lock", LOCKPROF_TYPE_PERNODE, 63, 7, 1, 10, 999999999 },
    { "odd", 9, -1, 2, 2, 2, 2 },
};

static const char mix_out[] =
    "global lock domlist_update_lock                   : "
    "lock:          12(         0.000004567s), "
    "block:           3(         0.000000089s)\n"
    "domain 32753 lock domain_lock                     : "
    "lock:           1(         1.000000000s), "
    "block:           0(         0.000000000s)\n"
    "NUMA node 0 lock flush_lock                       : "
    "lock:      548000(         1.234567890s), "
    "block:       23856(         0.051000000s)\n"
    "NUMA node 63 lock flush_lock                      : "
    "lock:           7(         0.000000010s), "
    "block:           1(         0.999999999s)\n"
    "unknown type(9) -1 lock odd                       : "
    "lock:           2(         0.000000002s), "
    "block:           2(         0.000000002s)\n"
    "total profiling time:       5400.000000001s\n"
    "total locked time:             2.234572469s\n"
    "total blocked time:            1.051000090s\n";

/* Not terminated; control characters; no ASCII; empty; more than fits. */
static const record_t odd_names[] = {
    { .name = { '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
                '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
                '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
                '0', '1', '2', '3', '4', '5', '6', '7', '8', 'x' },
      .type = -7, .idx = -2147483647 - 1 },
    { .name = "a\nb\t\x1b[31m\x7f", .type = LOCKPROF_TYPE_GLOBAL },
    { .name = "\xc3\xa4 %d %s~", .type = LOCKPROF_TYPE_PERDOM, .idx = 1 },
    { .name = "", .type = LOCKPROF_TYPE_PERNODE, .idx = 2 },
    { .name = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
      .type = -2147483647 - 1, .idx = -2147483647 - 1 },
};

#define ZEROES "lock:           0(         0.000000000s), " \
               "block:           0(         0.000000000s)\n"
#define X10 "\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01"

static const char odd_names_out[] =
    "unknown type(-7) -2147483648 lock "
    "012345678901234567890123456789012345678x: " ZEROES
    "global lock a\\x0ab\\x09\\x1b[31m\\x7f                : " ZEROES
    "domain 1 lock \\xc3\\xa4 %d %s~                     : " ZEROES
    "NUMA node 2 lock                                  : " ZEROES
    "unknown type(-2147483648) -2147483648 lock " X10 X10 X10 X10 ": " ZEROES
    "total profiling time:          0.000000000s\n"
    "total locked time:             0.000000000s\n"
    "total blocked time:            0.000000000s\n";

/* Beyond what a double can hold to the nanosecond, and beyond the widths. */
static const record_t large[] = {
    { "big", LOCKPROF_TYPE_GLOBAL, 0, 1234567890123, UINT64_MAX,
      9007199254740993, 18446744073709551615u },
};

static const char large_out[] =
    "global lock big                                   : "
    "lock:1234567890123(   9007199.254740993s), "
    "block:18446744073709551615(18446744073.709551615s)\n"
    "total profiling time:    9007199.254740995s\n"
    "total locked time:       9007199.254740993s\n"
    "total blocked time:   18446744073.709551615s\n";

static const char nothing_out[] =
    "total profiling time:          0.000000042s\n"
    "total locked time:             0.000000000s\n"
    "total blocked time:            0.000000000s\n";

#define NO_XEN "no Xen found: run this in dom0, with the kernel module " \
               "xen-privcmd loaded"
#define NO_ROOT "may not open /dev/xen/privcmd: run this as root"
#define NO_PROFILE "this Xen has no lock profiling: build it with " \
                   "CONFIG_DEBUG_LOCK_PROFILE=y"
#define REFUSES(what) "Xen refuses to " what " for this domain: run this in " \
                      "dom0 (with XSM: allow it xen { lockprof })"
#define VERSION "Xen does not speak sysctl interface version 0x15: use the " \
                "xenlockprof that was built with this Xen"

static const struct expect cases[] = {
    /* Output. */
    { .name = "every-type", .queries = 1, .out = mix_out, .err = "",
      .fake = { .record = mix, .nr = MIX_NR, .time = 5400000000001 } },
    { .name = "no-records", .queries = 1, .out = nothing_out, .err = "",
      .fake = { .time = 42 } },
    { .name = "odd-names", .queries = 1, .out = odd_names_out, .err = "",
      .fake = { .record = odd_names, .nr = ARRAY_SIZE(odd_names) } },
    { .name = "large-numbers", .queries = 1, .out = large_out, .err = "",
      .fake = { .record = large, .nr = 1, .time = 9007199254740995 } },

    /* Number of records: the first query has room for 256. */
    { .name = "just-fits", .queries = 1, .err = "", .fake = { .nr = 256 } },
    { .name = "one-too-many", .queries = 2, .err = "",
      .fake = { .nr = 257 } },
    { .name = "grows-within-slack", .queries = 2, .err = "",
      .fake = { .nr = 300, .grow = 69 } }, /* 300 / 8 + 32 = 69 */
    { .name = "grows-past-slack", .queries = 3, .err = "",
      .fake = { .nr = 300, .grow = 70 } },
    { .name = "many", .queries = 2, .err = "", .fake = { .nr = 100000 } },
    { .name = "most", .queries = 2, .err = "", .fake = { .nr = 1U << 20 },
      .stdout_to = "/dev/null" },
    { .name = "absurdly-many", .queries = 1, .out = "", .status = 1,
      .err = "Xen reports 1048577 locks, more than the 1048576 that can be "
             "shown", .fake = { .nr = (1U << 20) + 1 } },
    { .name = "grows-forever", .queries = 16, .out = "", .status = 1,
      .err = "the number of locks keeps growing (73010 now): try again later",
      .fake = { .nr = 2570, .grow_percent = 25 } },

    /* Options. */
    { .name = "reset", .arg = { "-r" }, .resets = 1, .out = "", .err = "" },
    { .name = "reset-long", .arg = { "--reset" }, .resets = 1, .out = "",
      .err = "" },
    { .name = "help-short", .arg = { "-h" }, .err = "" },
    { .name = "help-long", .arg = { "--help" }, .err = "" },
    { .name = "help-without-xen", .arg = { "--help" }, .err = "",
      .fake = { .open_errno = ENOENT } },
    { .name = "version", .arg = { "--version" }, .err = "",
      .out = "xenlockprof, sysctl interface version 0x15\n" },
    { .name = "bad-option", .arg = { "-x" }, .status = 2, .out = "",
      .err = "bad option '-x': see xenlockprof --help" },
    { .name = "bad-option-in-cluster", .arg = { "-rx" }, .status = 2,
      .out = "", .err = "bad option '-rx': see xenlockprof --help" },
    { .name = "bad-long-option", .arg = { "-r", "--rest" }, .status = 2,
      .out = "", .err = "bad option '--rest': see xenlockprof --help" },
    { .name = "option-with-value", .arg = { "--reset=now" }, .status = 2,
      .out = "", .err = "bad option '--reset=now': see xenlockprof --help" },
    { .name = "argument", .arg = { "-r", "now" }, .status = 2, .out = "",
      .err = "unexpected argument 'now': see xenlockprof --help" },
    { .name = "argument-first", .arg = { "r", "-x" }, .status = 2, .out = "",
      .err = "unexpected argument 'r': see xenlockprof --help" },

    /* Opening fails. */
    { .name = "no-device", .fake = { .open_errno = ENOENT }, .status = 3,
      .out = "", .err = NO_XEN },
    { .name = "no-driver", .fake = { .open_errno = ENODEV }, .status = 3,
      .out = "", .err = NO_XEN },
    { .name = "no-driver-2", .fake = { .open_errno = ENXIO }, .status = 3,
      .out = "", .err = NO_XEN },
    { .name = "reset-no-device", .arg = { "-r" }, .status = 3, .out = "",
      .fake = { .open_errno = ENOENT }, .err = NO_XEN },
    { .name = "not-root", .fake = { .open_errno = EACCES }, .status = 4,
      .out = "", .err = NO_ROOT },
    { .name = "not-permitted", .fake = { .open_errno = EPERM }, .status = 4,
      .out = "", .err = NO_ROOT },
    { .name = "open-other", .fake = { .open_errno = EMFILE }, .status = 1,
      .out = "", .err = "cannot talk to Xen: Too many open files" },

    /* The hypercall fails. */
    { .name = "query-refused", .fake = { .call_errno = EPERM }, .status = 4,
      .out = "", .err = REFUSES("read the lock profile") },
    { .name = "reset-refused", .fake = { .call_errno = EPERM }, .status = 4,
      .out = "", .arg = { "-r" }, .err = REFUSES("reset the lock profile") },
    { .name = "query-unknown", .fake = { .call_errno = ENOSYS }, .status = 5,
      .out = "", .err = NO_PROFILE },
    { .name = "query-unsupported", .fake = { .call_errno = EOPNOTSUPP },
      .status = 5, .out = "", .err = NO_PROFILE },
    { .name = "reset-unknown", .fake = { .call_errno = ENOSYS }, .status = 5,
      .out = "", .arg = { "-r" }, .err = NO_PROFILE },
    { .name = "query-version", .fake = { .call_errno = EACCES }, .status = 6,
      .out = "", .err = VERSION },
    { .name = "reset-version", .fake = { .call_errno = EACCES }, .status = 6,
      .out = "", .arg = { "-r" }, .err = VERSION },
    { .name = "query-other", .fake = { .call_errno = EFAULT }, .status = 1,
      .out = "", .err = "cannot read the lock profile: Bad address" },
    { .name = "reset-other", .fake = { .call_errno = EFAULT }, .status = 1,
      .out = "", .arg = { "-r" },
      .err = "cannot reset the lock profile: Bad address" },

    /* Memory and output. */
    { .name = "no-memory-for-call", .fake = { .fail_alloc = 1 }, .status = 1,
      .out = "", .err = "cannot allocate memory: Cannot allocate memory" },
    { .name = "no-memory-for-records", .fake = { .fail_alloc = 2 },
      .status = 1, .out = "", .err = "cannot allocate memory for 256 records: "
                                     "Cannot allocate memory" },
    { .name = "no-memory-for-retry", .queries = 1, .status = 1, .out = "",
      .fake = { .fail_alloc = 3, .nr = 800 },
      .err = "cannot allocate memory for 932 records: "
             "Cannot allocate memory" },
    { .name = "no-memory-for-copy", .queries = 1, .status = 1, .out = "",
      .fake = { .fail_calloc = true, .nr = 7 },
      .err = "cannot allocate memory for 7 records" },
    { .name = "disk-full", .queries = 1, .stdout_to = "/dev/full",
      .status = 1,
      .err = "cannot write the output: No space left on device" },
    { .name = "disk-full-long-output", .queries = 2, .status = 1,
      .stdout_to = "/dev/full", .fake = { .nr = 2000 },
      .err = "cannot write the output: No space left on device" },
    { .name = "disk-full-help", .arg = { "-h" }, .status = 1,
      .stdout_to = "/dev/full",
      .err = "cannot write the output: No space left on device" },
};

static void __attribute__((noreturn)) broken(const char *what)
{
    printf("ERROR: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* An anonymous file rather than a pipe, which could fill up. */
static int temp_file(void)
{
    int fd = memfd_create("output", 0);

    if ( fd < 0 )
        broken("memfd_create");

    return fd;
}

static char *read_all(int fd, size_t *len)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text;

    if ( size < 0 || !(text = calloc(size + 1, 1)) ||
         pread(fd, text, size, 0) != size )
        broken("reading output");
    close(fd);
    *len = size;

    return text;
}

static void __attribute__((noreturn))
child(const struct expect *e, int out, int err)
{
    char *argv[MAX_ARGS + 2] = { (char *)"xenlockprof" };
    int argc = 1;

    while ( argc <= MAX_ARGS && e->arg[argc - 1] )
    {
        argv[argc] = (char *)e->arg[argc - 1];
        argc++;
    }
    if ( dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0 )
        _exit(99);
    alarm(TIMEOUT_S);
    fake = e->fake;
    exit(xenlockprof_main(argc, argv));
}

static void run(const struct expect *e, struct result *r)
{
    int out = e->stdout_to ? open(e->stdout_to, O_WRONLY) : temp_file();
    int err = temp_file();
    pid_t pid;

    if ( out < 0 )
        broken(e->stdout_to);
    memset(r->seen, 0, sizeof(*r->seen));
    fake_seen = r->seen;
    fflush(NULL);

    pid = fork();
    if ( pid < 0 )
        broken("fork");
    if ( pid == 0 )
        child(e, out, err);
    if ( waitpid(pid, &r->status, 0) != pid )
        broken("waitpid");

    if ( e->stdout_to )
    {
        close(out);
        r->out = NULL;
    }
    else
        r->out = read_all(out, &r->out_len);
    r->err = read_all(err, &r->err_len);
}

/*
 * Checks.  Each prints what is wrong and returns the number of faults.
 */

/* Shows the first line that differs, as the whole may be very long. */
static unsigned int differs(const char *what, const char *got,
                            const char *want)
{
    size_t start = 0, i;

    if ( !strcmp(got, want) )
        return 0;

    for ( i = 0; got[i] && got[i] == want[i]; i++ )
        if ( got[i] == '\n' )
            start = i + 1;
    printf("  %s has the line\n'%.*s'\n  instead of\n'%.*s'\n", what,
           (int)strcspn(got + start, "\n"), got + start,
           (int)strcspn(want + start, "\n"), want + start);

    return 1;
}

static unsigned int check_number(const char *what, uint64_t got, uint64_t want)
{
    if ( got == want )
        return 0;

    printf("  %s: %"PRIu64" instead of %"PRIu64"\n", what, got, want);

    return 1;
}

static unsigned int check_status(const struct expect *e,
                                 const struct result *r)
{
    if ( !WIFEXITED(r->status) )
    {
        printf("  killed by signal %d\n", WTERMSIG(r->status));
        return 1;
    }

    return check_number("exit status", WEXITSTATUS(r->status), e->status);
}

static unsigned int check_text(const struct expect *e, const struct result *r)
{
    char want[256] = "";
    unsigned int faults = 0;

    if ( e->err[0] )
        snprintf(want, sizeof(want), "xenlockprof: %s\n", e->err);
    faults += differs("stderr", r->err, want);
    if ( e->out && r->out )
    {
        faults += differs("stdout", r->out, e->out);
        faults += check_number("bytes of output", r->out_len, strlen(e->out));
    }

    return faults;
}

static unsigned int check_seen(const struct expect *e,
                               const struct fake_seen *seen)
{
    unsigned int faults = 0;

    faults += differs("complaint of the fake", seen->complaint, "");
    faults += check_number("queries", seen->queries, e->queries);
    faults += check_number("resets", seen->resets, e->resets);
    faults += check_number("handles closed", seen->closes, seen->opens);
    faults += check_number("buffers freed", seen->frees, seen->allocs);

    return faults;
}

/* Generated records: all are there, in order, and the totals are right. */
static unsigned int check_generated(const struct expect *e,
                                    const struct result *r)
{
    uint64_t nr = e->fake.nr + (e->queries - 1) * (uint64_t)e->fake.grow;
    const char *p = r->out;
    char want[256];
    uint64_t i;

    for ( i = 0; i < nr; i++ )
    {
        char label[64];
        size_t len;

        snprintf(label, sizeof(label), "global lock lock%"PRIu64, i);
        len = snprintf(want, sizeof(want), "%-50s: "
                       "lock:           1(         0.000000001s), "
                       "block:           1(         0.000000002s)\n", label);
        if ( strncmp(p, want, len) )
        {
            printf("  record %"PRIu64" of %"PRIu64" is missing\n", i, nr);
            return 1;
        }
        p += len;
    }
    snprintf(want, sizeof(want),
             "total profiling time:          0.000000000s\n"
             "total locked time:    %10u.%09"PRIu64"s\n"
             "total blocked time:   %10u.%09"PRIu64"s\n", 0, nr, 0, 2 * nr);

    return differs("end of the output", p, want);
}

/* Lines of 80 columns; every option and every exit status is there. */
static unsigned int check_help(const struct result *r)
{
    static const char *const words[] = {
        "Usage: xenlockprof", "-r, --reset", "-h, --help", "-V, --version",
        "0 success", "1 failure", "2 bad", "3 no Xen", "4 no privilege",
        "5 Xen without", "6 other",
    };
    unsigned int faults = 0, i;
    const char *line, *end;

    for ( i = 0; i < ARRAY_SIZE(words); i++ )
        if ( !strstr(r->out, words[i]) )
        {
            printf("  the help text lacks '%s'\n", words[i]);
            faults++;
        }
    for ( line = r->out; (end = strchr(line, '\n')); line = end + 1 )
        if ( end - line > 80 )
        {
            printf("  wider than 80 columns: %.*s\n", (int)(end - line), line);
            faults++;
        }

    return faults;
}

static unsigned int check(const struct expect *e, const struct result *r)
{
    unsigned int faults = check_status(e, r) + check_text(e, r) +
                          check_seen(e, r->seen);

    if ( r->out && e->status == 0 && e->queries && !e->fake.record &&
         e->fake.nr )
        faults += check_generated(e, r);
    if ( r->out && !strncmp(e->name, "help", 4) )
        faults += check_help(r);

    return faults;
}

static unsigned int run_case(const struct expect *e, struct fake_seen *seen)
{
    struct result r = { .seen = seen };
    unsigned int faults;

    run(e, &r);
    faults = check(e, &r);
    printf("%s %s\n", faults ? "FAIL" : "ok  ", e->name);
    free(r.out);
    free(r.err);

    return faults ? 1 : 0;
}

static bool selected(const char *name, int argc, char *argv[])
{
    int i;

    for ( i = 1; i < argc; i++ )
        if ( !strcmp(argv[i], name) )
            return true;

    return argc == 1;
}

int main(int argc, char *argv[])
{
    unsigned int failed = 0, ran = 0, i;
    struct fake_seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if ( seen == MAP_FAILED )
        broken("mmap");

    for ( i = 0; i < ARRAY_SIZE(cases); i++ )
        if ( selected(cases[i].name, argc, argv) )
        {
            failed += run_case(&cases[i], seen);
            ran++;
        }
    if ( !ran )
    {
        printf("ERROR: no such case\n");
        return 1;
    }

    printf("%u cases, %u failed\n", ran, failed);
    printf("%s: xenlockprof\n", failed ? "FAIL" : "PASS");

    return failed ? 1 : 0;
}
