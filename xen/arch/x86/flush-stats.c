/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long flush_area_mask() takes, from its entry until the last target has
 * flushed, when there is a remote target at all.
 *
 * Design
 * ------
 * A flush counts under one of two classes, by the NUMA nodes of its targets:
 * one node, or more than one.  That is a property of the request, not of how
 * it is served, so figures can be compared across flush-group= settings.
 *
 * Each CPU keeps a histogram per class and is the only one to write it, apart
 * from a reset.  Neither reading nor resetting stops the writers: a figure may
 * be off by the flushes that end at that very moment.
 *
 * Buckets: STEPS per power of two, so that a quantile is at most 1/STEPS above
 * the truth.  Values below STEPS have a bucket each.  With STEPS = 8:
 *
 *   ns        0..7   8..15   16..31 (2 each)   32..63 (4 each)  ...
 *   bucket    0..7   8..15   16..23            24..31           ...
 *
 * The last one starts at 2^LOG2_LIMIT ns, more than a minute, and takes all
 * that is longer.
 */

#include <xen/cpu.h>
#include <xen/init.h>
#include <xen/keyhandler.h>
#include <xen/lib.h>
#include <xen/numa.h>
#include <xen/percpu.h>
#include <xen/smp.h>
#include <xen/string.h>
#include <asm/flush-stats.h>

#define LOG2_STEPS 3
#define STEPS      (1U << LOG2_STEPS)
#define LOG2_LIMIT 36
#define BUCKETS    ((LOG2_LIMIT - LOG2_STEPS + 1) * STEPS + 1)

enum { ONE_NODE, MULTI_NODE, NR_CLASSES };

static const char *const class_names[NR_CLASSES] = {
    [ONE_NODE]   = "one-node",
    [MULTI_NODE] = "multi-node",
};

struct flush_stats {
    uint64_t count, total, max;             /* total and max in ns */
    uint32_t bucket[BUCKETS];
};

static DEFINE_PER_CPU(struct flush_stats, flush_stats[NR_CLASSES]);

/*
 * The counts of CPUs that went offline, written by CPU hotplug; and the sum of
 * everything, written by the key handler.  Too large for a stack.
 */
static struct flush_stats offline_stats[NR_CLASSES];
static struct flush_stats sum;

static unsigned int bucket_of(uint64_t ns)
{
    unsigned int log2;

    if ( ns < STEPS )
        return ns;

    log2 = flsl(ns) - 1;
    if ( log2 >= LOG2_LIMIT )
        return BUCKETS - 1;

    return (log2 - LOG2_STEPS) * STEPS + (ns >> (log2 - LOG2_STEPS));
}

/* The largest value, in ns, that bucket_of() maps to @bucket. */
static uint64_t bucket_top(unsigned int bucket)
{
    unsigned int shift = bucket / STEPS;

    if ( bucket < STEPS )
        return bucket;

    return ((uint64_t)(STEPS + bucket % STEPS + 1) << (shift - 1)) - 1;
}

unsigned int flush_stats_class(const cpumask_t *mask)
{
    unsigned int cpu, this = smp_processor_id(), class = NR_CLASSES;
    nodeid_t node = NUMA_NO_NODE;

    for_each_cpu ( cpu, mask )
    {
        if ( cpu == this || !cpu_online(cpu) )
            continue;

        if ( class == NR_CLASSES )
        {
            class = ONE_NODE;
            node = cpu_to_node(cpu);
        }
        else if ( cpu_to_node(cpu) != node )
            return MULTI_NODE;
    }

    return class;
}

void flush_stats_record(unsigned int class, s_time_t start)
{
    struct flush_stats *s;
    uint64_t ns = max(NOW() - start, (s_time_t)0);

    /* No remote target. */
    if ( class >= NR_CLASSES )
        return;

    s = &this_cpu(flush_stats)[class];
    s->count++;
    s->total += ns;
    s->max = max(s->max, ns);
    s->bucket[bucket_of(ns)]++;
}

static void add_stats(struct flush_stats *to, const struct flush_stats *from)
{
    unsigned int i;

    to->count += from->count;
    to->total += from->total;
    to->max = max(to->max, from->max);
    for ( i = 0; i < BUCKETS; i++ )
        to->bucket[i] += from->bucket[i];
}

/* The least value that @per_mille of the flushes did not exceed, in ns. */
static uint64_t quantile(const struct flush_stats *s, unsigned int per_mille)
{
    uint64_t rank = DIV_ROUND_UP(s->count * per_mille, 1000), seen = 0;
    unsigned int i;

    for ( i = 0; i < BUCKETS - 1; i++ )
    {
        seen += s->bucket[i];
        if ( seen >= rank )
            return min(bucket_top(i), s->max);
    }

    return s->max;
}

static void print_class(unsigned int class)
{
    unsigned int cpu;

    sum = offline_stats[class];
    for_each_online_cpu ( cpu )
        add_stats(&sum, &per_cpu(flush_stats, cpu)[class]);

    printk("flush latency %s: count %"PRIu64" mean %"PRIu64" p50 %"PRIu64
           " p99 %"PRIu64" max %"PRIu64"\n", class_names[class], sum.count,
           sum.count ? sum.total / sum.count : 0, quantile(&sum, 500),
           quantile(&sum, 990), sum.max);
}

static void cf_check print_stats(unsigned char key)
{
    unsigned int class;

    printk("flush latency (ns) since reset\n");
    for ( class = 0; class < NR_CLASSES; class++ )
        print_class(class);
}

static void cf_check reset_stats(unsigned char key)
{
    unsigned int cpu;

    memset(offline_stats, 0, sizeof(offline_stats));
    for_each_online_cpu ( cpu )
        memset(per_cpu(flush_stats, cpu), 0, sizeof(offline_stats));

    printk("flush latency reset\n");
}

/* The per-CPU area does not outlive the CPU, its counts do. */
static int cf_check cpu_callback(struct notifier_block *nfb,
                                 unsigned long action, void *hcpu)
{
    unsigned int class, cpu = (unsigned long)hcpu;

    if ( action != CPU_DEAD )
        return NOTIFY_DONE;

    for ( class = 0; class < NR_CLASSES; class++ )
    {
        struct flush_stats *s = &per_cpu(flush_stats, cpu)[class];

        add_stats(&offline_stats[class], s);
        memset(s, 0, sizeof(*s));
    }

    return NOTIFY_DONE;
}

static struct notifier_block cpu_nfb = {
    .notifier_call = cpu_callback,
};

static int __init cf_check flush_stats_init(void)
{
    register_cpu_notifier(&cpu_nfb);
    register_keyhandler('f', print_stats, "print flush latency", 1);
    register_keyhandler('F', reset_stats, "reset flush latency", 0);

    return 0;
}
__initcall(flush_stats_init);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
