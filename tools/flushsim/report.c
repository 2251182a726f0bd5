/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * report.c - the outcome of a run as one JSON object.
 *
 * Design: integers and fixed decimals only, keys in a fixed order.  Locks are
 * what Xen's own lock profile has counted.  ns unless a key says otherwise.
 */
#include "report.h"

#define MAX_LOCKS 600

int spinlock_profile_control(struct xen_sysctl_lockprof_op *pc);

void fs_lock_profile_reset(void)
{
    struct xen_sysctl_lockprof_op op = { .cmd = XEN_SYSCTL_LOCKPROF_reset };

    spinlock_profile_control(&op);
}

static int by_size(const void *a, const void *b)
{
    fs_time x = *(const fs_time *)a, y = *(const fs_time *)b;

    return x < y ? -1 : x > y;
}

static fs_time quantile(const struct fs_result *r, unsigned int per_1000)
{
    unsigned long i = r->flushes * per_1000 / 1000;

    return r->latency[i < r->flushes ? i : r->flushes - 1] / 1000;
}

static void print_latency(struct fs_result *r)
{
    unsigned long i;
    fs_time sum = 0;

    qsort(r->latency, r->flushes, sizeof(*r->latency), by_size);
    for ( i = 0; i < r->flushes; i++ )
        sum += r->latency[i] / 1000;
    printf("  \"mean\": %"PRIu64", \"median\": %"PRIu64", \"p99\": %"PRIu64
           ", \"max\": %"PRIu64",\n", sum / r->flushes, quantile(r, 500),
           quantile(r, 990), quantile(r, 1000));
}

static void print_fairness(const struct fs_result *r)
{
    unsigned long least = ~0UL, most = 0;
    unsigned int cpu;

    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
    {
        if ( !r->per_cpu[cpu] )
            continue;
        if ( r->per_cpu[cpu] < least )
            least = r->per_cpu[cpu];
        if ( r->per_cpu[cpu] > most )
            most = r->per_cpu[cpu];
    }
    printf("  \"least\": %lu, \"most\": %lu,\n", least, most);
}

static void print_locks(void)
{
    static struct xen_sysctl_lockprof_data data[MAX_LOCKS];
    struct xen_sysctl_lockprof_op op = {
        .cmd = XEN_SYSCTL_LOCKPROF_query, .max_elem = MAX_LOCKS,
        .data = data };
    uint64_t locked = 0, blocked = 0, hold = 0, wait = 0;
    unsigned int i, n = 0;

    spinlock_profile_control(&op);
    printf("  \"locks\": [");
    for ( i = 0; i < op.nr_elem; i++ )
    {
        if ( strncmp(data[i].name, "flush_lock", 10) || !data[i].lock_cnt )
            continue;
        printf("%s\n    [\"%s\", %d, %"PRIu64", %"PRIu64", %"PRIu64", %"
               PRIu64"]", n++ ? "," : "", data[i].name, data[i].idx,
               data[i].lock_cnt, data[i].block_cnt, data[i].lock_time,
               data[i].block_time);
        locked += data[i].lock_cnt;
        blocked += data[i].block_cnt;
        hold += data[i].lock_time;
        wait += data[i].block_time;
    }
    printf("],\n  \"locked\": %"PRIu64", \"blocked\": %"PRIu64
           ", \"hold_ns\": %"PRIu64", \"block_ns\": %"PRIu64",\n", locked,
           blocked, hold, wait);
}

static void print_profile(unsigned int n)
{
    static struct fs_line_stats top[64];
    unsigned int i;

    n = fs_line_profile(top, n < 64 ? n : 64);
    printf("  \"lines\": [");
    for ( i = 0; i < n; i++ )
        printf("%s\n    [\"%s\", %lu, %lu, %"PRIu64", %"PRIu64"]",
               i ? "," : "", fs_name_of(top[i].addr), top[i].transfers,
               top[i].invalidations, top[i].waited / 1000,
               top[i].queued / 1000);
    printf("],\n");
}

void fs_report(struct fs_result *r, uint64_t seed, unsigned int lines)
{
    uint64_t us = r->span / 1000000;

    printf("{ \"engine\": \"%s\", \"seed\": %"PRIu64", \"cpus\": %u, "
           "\"nodes\": %u,\n", fs_engine->name, seed, fs_nr_cpus,
           fs_topo.sockets);
    printf("  \"flushes\": %lu, \"span_us\": %"PRIu64
           ", \"per_second\": %"PRIu64",\n", r->flushes, us,
           us ? r->flushes * 1000000 / us : 0);
    print_latency(r);
    print_fairness(r);
    print_locks();
    if ( lines )
        print_profile(lines);
    printf("  \"targets\": %lu, \"ipis\": %lu, \"icr_writes\": %lu, "
           "\"shorthands\": %lu, \"handled\": %lu, \"stolen_us\": %"PRIu64
           " }\n", r->nr_targets, r->ipis, r->icr_writes, r->shorthands,
           r->handled, r->stolen / 1000000);
}
