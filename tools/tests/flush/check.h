/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * check.h - test cases, each in a process of its own.
 *
 * Design
 *
 * A test program lists its cases; check_main() forks for each, with a time
 * limit, and prints one TAP line a case and at the end one line
 *     PASS: <program>   or   FAIL: <program>
 * Silence, a signal or the time limit is a failure.  Options:
 *     -s SEED   seed of all random choices (printed when a case fails)
 *     -n NAME   only the cases whose name contains NAME
 *     -f        no more cases after the first that fails
 *     -x N      do N times as much in the randomised cases
 * Exit codes: 0 all passed, 1 a case failed, 2 wrong usage.
 */
#ifndef FLUSH_TEST_CHECK_H
#define FLUSH_TEST_CHECK_H

#include "sim.h"

#define CHECK(cond, fmt, args...) \
    do { if ( !(cond) ) sim_fail("%s:%d: %s: " fmt, __FILE__, __LINE__, \
                                 #cond, ## args); } while ( 0 )

struct check_case {
    const char *name;
    void (*fn)(void);
    unsigned int limit;           /* seconds; 0: 20 */
};

extern unsigned int check_scale;
/* Run fn(arg) in a process of its own; the case fails with it. */
void check_fork(void (*fn)(const void *arg), const void *arg,
                const char *what);
int check_main(int argc, char **argv, const char *program,
               const struct check_case *cases, unsigned int nr);
#define CHECK_MAIN(program, cases) \
    int main(int argc, char **argv) \
    { return check_main(argc, argv, program, cases, ARRAY_SIZE(cases)); }

#endif /* FLUSH_TEST_CHECK_H */
