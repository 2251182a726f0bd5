/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * check.c - runs test cases, see check.h.
 *
 * Design: the parent keeps no state of the code under test; the child runs one
 * case and exits 0.  alarm() in the child is the time limit.
 */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

unsigned int check_scale = 1;

void check_fork(void (*fn)(const void *arg), const void *arg,
                const char *what)
{
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if ( !pid )
    {
        alarm(20);
        fn(arg);
        fflush(stdout);
        _exit(0);
    }
    if ( pid < 0 || waitpid(pid, &status, 0) != pid )
        sim_fail("fork");
    if ( WIFSIGNALED(status) )
        sim_fail("%s: signal %d", what, WTERMSIG(status));
    if ( status )
        sim_fail("%s", what);
}

static int run_case(const struct check_case *c)
{
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if ( pid < 0 )
        return -1;
    if ( !pid )
    {
        alarm(c->limit ?: 20);
        c->fn();
        fflush(stdout);
        _exit(0);
    }
    if ( waitpid(pid, &status, 0) != pid )
        return -1;
    if ( WIFSIGNALED(status) )
        fprintf(stderr, "# %s: signal %d (%s), seed %"PRIu64"\n", c->name,
                WTERMSIG(status), strsignal(WTERMSIG(status)), sim_seed0);
    return status;
}

static int usage(const char *argv0)
{
    fprintf(stderr, "usage: %s [-f] [-s SEED] [-n NAME] [-x N]\n", argv0);
    return 2;
}

int check_main(int argc, char **argv, const char *program,
               const struct check_case *cases, unsigned int nr)
{
    unsigned int i, n = 0, failed = 0;
    const char *only = "";
    bool first = false;
    int opt;

    while ( (opt = getopt(argc, argv, "fs:n:x:")) != -1 )
        switch ( opt )
        {
        case 'f': first = true; break;
        case 's': sim_seed = sim_seed0 = strtoull(optarg, NULL, 0); break;
        case 'n': only = optarg; break;
        case 'x': check_scale = strtoul(optarg, NULL, 0); break;
        default: return usage(argv[0]);
        }

    printf("# %s of %s, NR_CPUS=%d, seed %"PRIu64"\n", program, VARIANT,
           NR_CPUS, sim_seed0);
    for ( i = 0; i < nr; i++ )
    {
        bool bad;

        if ( !strstr(cases[i].name, only) )
            continue;
        bad = run_case(&cases[i]) != 0;
        failed += bad;
        printf("%s %u - %s\n", bad ? "not ok" : "ok", ++n, cases[i].name);
        if ( bad && first )
            break;
    }
    printf("1..%u\n", n);
    if ( !n )
        failed = 1;
    printf("%s: %s of %s\n", failed ? "FAIL" : "PASS", program, VARIANT);
    return failed ? 1 : 0;
}
