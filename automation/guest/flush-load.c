/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flush-load: a fixed, seedable amount of the work that makes an operating
 * system shoot down TLB entries.
 *
 * usage: flush-load [-t THREADS] [-r ROUNDS] [-s SEED]
 *
 * One process with a thread on each CPU (or on the first THREADS).  In each
 * round, each thread maps a few pages and writes them, takes the write
 * permission away and gives it back, unmaps them, and in every eighth round
 * forks a child, which writes to memory that it shares copy-on-write.  As the
 * threads share one address space, every step that takes rights away must
 * reach all of their CPUs.  What is read back is checked.
 *
 * The amount depends on the arguments alone, never on time or speed.
 *
 * writes: progress lines, and at the end one line "flush-load: done ..."
 * exit:   0 all done, 1 a call failed or memory held a wrong value, 2 usage
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS    512
#define MAX_PAGES      16
#define FORK_EVERY     8
#define SHARED_PAGES   8

struct worker {
    pthread_t thread;
    unsigned int cpu;
    uint64_t random;
    unsigned long maps, protects, forks;
    uint64_t sum;
};

static struct worker workers[MAX_THREADS];
static unsigned int nr_threads, nr_rounds = 100;
static uint64_t seed = 1;
static size_t page_size;
static pthread_barrier_t start;

static void fail(const char *what)
{
    fprintf(stderr, "flush-load: %s: %s\n", what, strerror(errno));
    _exit(1);
}

static void wrong_value(const char *where)
{
    fprintf(stderr, "flush-load: wrong value in memory %s\n", where);
    _exit(1);
}

/* Xorshift with 64 bits of state; zero is the one state it never leaves. */
static uint64_t next_random(struct worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;

    return w->random;
}

static void write_pages(uint64_t *area, unsigned int pages, uint64_t value)
{
    for ( unsigned int i = 0; i < pages; i++ )
        area[i * (page_size / sizeof(*area))] = value + i;
}

static void check_pages(const uint64_t *area, unsigned int pages,
                        uint64_t value, const char *where)
{
    for ( unsigned int i = 0; i < pages; i++ )
        if ( area[i * (page_size / sizeof(*area))] != value + i )
            wrong_value(where);
}

static void map_and_unmap(struct worker *w)
{
    uint64_t value = next_random(w);
    unsigned int pages = 1 + value % MAX_PAGES;
    uint64_t *area = mmap(NULL, pages * page_size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if ( area == MAP_FAILED )
        fail("mmap");

    write_pages(area, pages, value);
    if ( mprotect(area, pages * page_size, PROT_READ) )
        fail("mprotect");
    check_pages(area, pages, value, "after mprotect");
    if ( mprotect(area, pages * page_size, PROT_READ | PROT_WRITE) )
        fail("mprotect");
    write_pages(area, pages, value + 1);
    check_pages(area, pages, value + 1, "after a second mprotect");
    if ( munmap(area, pages * page_size) )
        fail("munmap");

    w->maps++;
    w->protects += 2;
    w->sum += value;
}

/* Only async-signal-safe calls in the child: other threads exist. */
static void fork_and_wait(struct worker *w, uint64_t *shared)
{
    uint64_t value = next_random(w);
    pid_t child;
    int status;

    write_pages(shared, SHARED_PAGES, value);
    child = fork();
    if ( child < 0 )
        fail("fork");
    if ( !child )
    {
        check_pages(shared, SHARED_PAGES, value, "in a child");
        write_pages(shared, SHARED_PAGES, ~value);
        check_pages(shared, SHARED_PAGES, ~value, "in a child, written");
        _exit(0);
    }

    write_pages(shared, SHARED_PAGES, value + 1);
    while ( waitpid(child, &status, 0) < 0 )
        if ( errno != EINTR )
            fail("waitpid");
    if ( !WIFEXITED(status) || WEXITSTATUS(status) )
        wrong_value("of a child");
    check_pages(shared, SHARED_PAGES, value + 1, "of the parent");

    w->forks++;
    w->sum += value;
}

static void pin(unsigned int cpu)
{
    cpu_set_t *set = CPU_ALLOC(MAX_THREADS);
    size_t size = CPU_ALLOC_SIZE(MAX_THREADS);

    if ( !set )
        fail("CPU_ALLOC");
    CPU_ZERO_S(size, set);
    CPU_SET_S(cpu, size, set);
    if ( sched_setaffinity(0, size, set) )
        fail("sched_setaffinity");
    CPU_FREE(set);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t *shared;

    pin(w->cpu);
    shared = mmap(NULL, SHARED_PAGES * page_size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ( shared == MAP_FAILED )
        fail("mmap");
    pthread_barrier_wait(&start);

    for ( unsigned int round = 1; round <= nr_rounds; round++ )
    {
        map_and_unmap(w);
        if ( round % FORK_EVERY == 0 )
            fork_and_wait(w, shared);
        if ( w == workers && round % ((nr_rounds + 9) / 10) == 0 )
            printf("flush-load: round %u of %u\n", round, nr_rounds);
    }

    return NULL;
}

static unsigned long number(const char *text, unsigned long most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 0);

    if ( *end || end == text || n < 1 || n > most )
    {
        fprintf(stderr, "flush-load: %s is not a number from 1 to %lu\n",
                text, most);
        exit(2);
    }

    return n;
}

static void parse(int argc, char **argv)
{
    int option;

    nr_threads = sysconf(_SC_NPROCESSORS_ONLN);
    while ( (option = getopt(argc, argv, "t:r:s:")) != -1 )
        switch ( option )
        {
        case 't':
            nr_threads = number(optarg, MAX_THREADS);
            break;

        case 'r':
            nr_rounds = number(optarg, 100000000);
            break;

        case 's':
            seed = number(optarg, UINT32_MAX);
            break;

        default:
            fprintf(stderr,
                    "usage: flush-load [-t THREADS] [-r ROUNDS] [-s SEED]\n");
            exit(2);
        }
    if ( nr_threads > MAX_THREADS )
        nr_threads = MAX_THREADS;
}

/* The CPUs this process may use, so that offline ones are left out. */
static void place_workers(void)
{
    cpu_set_t *set = CPU_ALLOC(MAX_THREADS);
    size_t size = CPU_ALLOC_SIZE(MAX_THREADS);
    unsigned int cpu = MAX_THREADS - 1;

    if ( !set || sched_getaffinity(0, size, set) )
        fail("sched_getaffinity");
    for ( unsigned int i = 0; i < nr_threads; i++ )
    {
        do
            cpu = (cpu + 1) % MAX_THREADS;
        while ( !CPU_ISSET_S(cpu, size, set) );
        workers[i].cpu = cpu;
        workers[i].random = (seed << 16) + i + 1;
    }
    CPU_FREE(set);
}

int main(int argc, char **argv)
{
    struct worker total = { 0 };

    setvbuf(stdout, NULL, _IOLBF, 0);
    page_size = sysconf(_SC_PAGESIZE);
    parse(argc, argv);
    place_workers();

    if ( pthread_barrier_init(&start, NULL, nr_threads) )
        fail("pthread_barrier_init");
    for ( unsigned int i = 0; i < nr_threads; i++ )
        if ( pthread_create(&workers[i].thread, NULL, work, &workers[i]) )
            fail("pthread_create");
    for ( unsigned int i = 0; i < nr_threads; i++ )
    {
        pthread_join(workers[i].thread, NULL);
        total.maps += workers[i].maps;
        total.protects += workers[i].protects;
        total.forks += workers[i].forks;
        total.sum += workers[i].sum;
    }

    printf("flush-load: done threads=%u rounds=%u seed=%lu maps=%lu "
           "protects=%lu forks=%lu sum=%016lx\n",
           nr_threads, nr_rounds, (unsigned long)seed, total.maps,
           total.protects, total.forks, (unsigned long)total.sum);

    return 0;
}
