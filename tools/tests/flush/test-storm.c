/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test-storm.c - one thread per CPU: real concurrency, real memory ordering.
 *
 * Design
 *
 * Every thread is a CPU.  It sends a fixed number of random requests, then goes
 * on serving interrupts until everybody is done.  The book (book.h) checks each
 * flush.  With more CPUs than cores the host's scheduler adds the long delays
 * that make interrupts late; with two there is true concurrency.
 *
 * The thread sanitizer's build finds plain accesses that race: see the
 * Makefile for what it is told to leave out, and why.
 */
#include "book.h"

#include <pthread.h>
#include <sched.h>

static unsigned int nr_cpus, requests, running;

static void idle_until_all_done(void)
{
    while ( __atomic_load_n(&running, __ATOMIC_ACQUIRE) )
        if ( !sim_take_irq() )
            sched_yield();
}

static void *cpu_thread(void *arg)
{
    static cpumask_t masks[BOOK_SLOTS];
    unsigned int cpu = (uintptr_t)arg, i;

    sim_self = (struct sim_self){ .cpu = cpu, .irq_on = true,
                                  .offset = __per_cpu_offset[cpu] };
    for ( i = 0; i < requests; i++ )
    {
        random_mask(&masks[cpu]);
        if ( sim_below(4) == 0 )
            cpumask_copy(&masks[cpu], &cpu_online_map);
        __cpumask_clear_cpu(cpu, &masks[cpu]);
        book_request(cpu, &masks[cpu]);
        if ( HAVE_GROUPS && sim_below(8) == 0 )
            __atomic_store_n(&sim_cpu[sim_below(nr_cpus)].pending, true,
                             __ATOMIC_SEQ_CST);
    }
    __atomic_sub_fetch(&running, 1, __ATOMIC_ACQ_REL);
    idle_until_all_done();
    return NULL;
}

static void storm(const struct sim_topo *t, unsigned int nr_requests)
{
    pthread_t threads[BOOK_SLOTS];
    unsigned int i;

    sim_boot(t);
    book_init();
    nr_cpus = t->nr_cpus;
    requests = nr_requests * check_scale;
    running = nr_cpus;
    sim_threads = true;
    for ( i = 0; i < nr_cpus; i++ )
        if ( pthread_create(&threads[i], NULL, cpu_thread,
                            (void *)(uintptr_t)i) )
            sim_fail("pthread_create");
    for ( i = 0; i < nr_cpus; i++ )
        pthread_join(threads[i], NULL);
    for ( i = 0; i < nr_cpus; i++ )
        CHECK(book_done[i] == requests, "CPU%u: %lu requests", i,
              book_done[i]);
}

struct storm_case {
    struct sim_topo t;
    unsigned int requests;
};

static void one_storm(const void *arg)
{
    const struct storm_case *c = arg;

    storm(&c->t, c->requests);
}

static const struct storm_case list[] = {
    { { .nr_ids = 2, .nr_cpus = 2, .nr_nodes = 2 }, 15000 },
    { { .nr_ids = 2, .nr_cpus = 2, .nr_nodes = 1 }, 15000 },
    { { .nr_ids = 3, .nr_cpus = 3, .nr_nodes = 3 }, 2000 },
    { { .nr_ids = 4, .nr_cpus = 4, .nr_nodes = 2 }, 800 },
    { { .nr_ids = 4, .nr_cpus = 4, .nr_nodes = 2,
        .cmdline = "flush-group=host" }, 800 },
    { { .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 4 }, 150 },
    { { .nr_ids = 8, .nr_cpus = 8, .nr_nodes = 3, .interleave = true }, 150 },
};

static void test_storms(void)
{
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(list); i++ )
    {
        struct storm_case c = list[i];
        char what[32];

        if ( !HAVE_GROUPS )
            c.t.cmdline = NULL;
        snprintf(what, sizeof(what), "storm %u (%u CPUs)", i, c.t.nr_cpus);
        check_fork(one_storm, &c, what);
    }
}

static const struct check_case cases[] = {
    { "storms of threads", test_storms, 120 },
};
CHECK_MAIN("test-storm", cases)
