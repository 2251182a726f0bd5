/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remote flushes by flush group.
 *
 * Design
 * ------
 * A remote flush makes other CPUs flush (TLB, paging caches, data cache or
 * lazy vCPU state) and returns once they all have.  The CPUs are partitioned
 * into flush groups.  Each group has one lock and the state of one round:
 *
 *   idle -> filled -> sent -> acked -> idle
 *
 *   filled  the initiator, holding the lock, stored what to flush and then
 *           the set of targets (pending);
 *   sent    INVALIDATE_TLB_VECTOR went out to every CPU in pending;
 *   acked   every target flushed and cleared its bit: pending is empty.
 *
 * A flush whose targets are all in one group is one round.  A flush that
 * spans groups is one round per group, and the rounds overlap: a first pass
 * fills every group whose lock is free, a second one queues for the others,
 * one after the other, and while queueing completes the rounds that are in
 * flight.
 *
 * Who writes what
 * ---------------
 *   flush_lock                       whoever wants to start a round
 *   va, flags, next_held             the holder of flush_lock
 *   pending                          bits set by the holder of flush_lock,
 *                                    each bit cleared by its own CPU
 *   members, next, node, cluster     CPU hotplug (cpu_add_remove_lock)
 *   flush_cpu.group, .members        CPU hotplug, while that CPU is offline
 *   flush_cpu.todo                   its CPU, inside flush_area_mask()
 *
 * Locking
 * -------
 * flush_lock is an ordinary (IRQ-unsafe) spinlock.  One CPU may hold several
 * of them, and there is no order among them: none is held longer than its
 * own round, whose end depends on nothing but its targets taking interrupts.
 * Initiators spin with interrupts enabled, hence are targets all the while.
 *
 * docs/designs/flush-groups.md has the whole argument, including memory
 * ordering and the life of a group.
 */

#include <xen/cpu.h>
#include <xen/cpumask.h>
#include <xen/init.h>
#include <xen/lib.h>
#include <xen/mm.h>
#include <xen/numa.h>
#include <xen/param.h>
#include <xen/perfc.h>
#include <xen/sched.h>
#include <xen/smp.h>
#include <xen/spinlock.h>
#include <xen/string.h>
#include <asm/apic.h>
#include <asm/flush-stats.h>
#include <asm/flush-test.h>
#include <asm/flushtlb.h>
#include <asm/genapic.h>
#include <asm/guest.h>
#include <asm/irq.h>
#include <asm/pv/shim.h>
#include <irq_vectors.h>

/* Words of a mask that can have a bit set. */
#define MASK_WORDS BITS_TO_LONGS(nr_cpu_ids)

/*
 * Layout, in units of SMP_CACHE_BYTES (128, i.e. a pair of lines):
 *
 *   unit 0    the lock: bounces between initiators
 *   unit 1    read-mostly, except when a CPU is added
 *   unit 2..  the round: 8 + 4 (+ 4) + 8 bytes of message, then pending.  The
 *             targets read the message and write pending, and yet they share
 *             a line on purpose: a target looks at its bit first, and with
 *             the message next to it fetches one line instead of two.  104
 *             bytes are left, so up to 832 CPUs add no further unit.
 *   behind    the mask that members points to, aligned to a unit of its own
 */
struct flush_group {
    spinlock_t flush_lock;

    cpumask_t *members __cacheline_aligned;
    struct flush_group *next;               /* ring of all groups */
    nodeid_t node;
    unsigned int cluster;                   /* 0 unless split by cluster */
    struct lock_profile_qhead profile_head;
#ifdef CONFIG_DEBUG_LOCK_PROFILE
    char lock_name[32];
#endif

    const void *va __cacheline_aligned;
    unsigned int flags;
    struct flush_group *next_held;          /* rounds of one initiator */
    unsigned long pending[];
};

/*
 * What a CPU needs in order to start and to answer rounds.  group is constant
 * while the CPU is online, so initiators and the handler agree on it.
 *
 * members usually repeats group->members.  While there is just one group it
 * names cpu_online_map, which every flush reads anyway: one group then touches
 * no shared line more than one host-wide mask and lock would.
 */
struct flush_cpu {
    struct flush_group *group;
    const cpumask_t *members;
    cpumask_var_t todo;                     /* targets not yet in a round */
};
static DEFINE_PER_CPU_READ_MOSTLY(struct flush_cpu, flush_cpu);

/*
 * The group of CPU0, and of every CPU that has no other.  Set by a presmp
 * initcall.  Before that CPU0 is alone, and no flush has a remote target.
 */
static struct flush_group *__ro_after_init boot_group;

static unsigned int __read_mostly nr_groups;

enum grouping { GROUP_HOST, GROUP_NODE, GROUP_CLUSTER, GROUP_AUTO };

static const char *const grouping_names[] = {
    [GROUP_HOST] = "host",
    [GROUP_NODE] = "node",
    [GROUP_CLUSTER] = "cluster",
    [GROUP_AUTO] = "auto",
};

#define GROUPING_DEFAULT                                       \
    (IS_ENABLED(CONFIG_FLUSH_GROUP_HOST) ? GROUP_HOST :        \
     IS_ENABLED(CONFIG_FLUSH_GROUP_CLUSTER) ? GROUP_CLUSTER :  \
     IS_ENABLED(CONFIG_FLUSH_GROUP_AUTO) ? GROUP_AUTO : GROUP_NODE)

/* What was asked for and, once groups exist, what is done: never "auto". */
static enum grouping __ro_after_init grouping = GROUPING_DEFAULT;

/* Whether it was "auto" that chose. */
static bool __initdata chosen;

/* Whether boot_group is the only group there will ever be. */
static bool __ro_after_init single_group;

/*
 * The group after @g in the ring, unless that is @start.
 *
 * Groups are only ever added, by publish_group(), which this pairs with.  The
 * new one is in the ring before its first CPU is started, and so for everybody
 * who sees that CPU in cpu_online_map.
 */
static struct flush_group *next_group(const struct flush_group *g,
                                      const struct flush_group *start)
{
    struct flush_group *next = read_atomic(&g->next);

    return next != start ? next : NULL;
}

#define for_each_group_from(g, start) \
    for ( (g) = (start); (g) != NULL; (g) = next_group(g, start) )

/* An option value nobody knows, kept until the console can show it. */
static char __initdata bad_grouping[128];
static bool __initdata bad_grouping_given;

static int __init cf_check parse_flush_group(const char *s)
{
    unsigned int i;

    bad_grouping_given = false;

    for ( i = 0; i < ARRAY_SIZE(grouping_names); i++ )
        if ( !strcmp(s, grouping_names[i]) )
        {
            grouping = i;
            return 0;
        }

    /* An error code would be reported, to the ring buffer only. */
    grouping = GROUPING_DEFAULT;
    bad_grouping_given = true;
    strlcpy(bad_grouping, s, sizeof(bad_grouping));

    return 0;
}
custom_param("flush-group", parse_flush_group);

/*
 * Rounds.  Each helper is one transition of the diagram at the top.
 */

static bool has_targets(const struct flush_group *g, const cpumask_t *todo)
{
    return cpumask_intersects(todo, g->members);
}

/* The targets in word @i of @mask: online, and not @cpu itself.  Read once. */
static unsigned long target_word(const cpumask_t *mask, unsigned int cpu,
                                 unsigned int i)
{
    unsigned long word = read_atomic(&cpumask_bits(mask)[i]);

    /* Most words of most masks are empty. */
    if ( !word )
        return 0;

    return word & read_atomic(&cpumask_bits(&cpu_online_map)[i]) &
           ~cpumask_bits(cpumask_of(cpu))[i];
}

/* idle -> filled, in two steps.  The caller holds flush_lock. */
static void fill_message(struct flush_group *g, const void *va,
                         unsigned int flags)
{
    g->va = va;
    g->flags = flags;

    /*
     * A target may look at its bit any time, as it may be running the handler
     * on behalf of an earlier IPI.  It must not find the bit set and an old
     * message.  Pairs with the smp_rmb() in invalidate_interrupt().
     */
    smp_wmb();
}

/*
 * All of pending is zero between rounds.  Each word is stored at most once:
 * from then on its bits belong to the targets.
 */
static void fill_word(struct flush_group *g, unsigned int i,
                      unsigned long word)
{
    if ( word )
        write_atomic(&g->pending[i], word);
}

static void fill_round(struct flush_group *g, const cpumask_t *todo,
                       const void *va, unsigned int flags)
{
    unsigned int i;

    fill_message(g, va, flags);

    for ( i = 0; i < MASK_WORDS; i++ )
        fill_word(g, i, cpumask_bits(todo)[i] & cpumask_bits(g->members)[i]);
}

/*
 * filled -> sent, for all rounds that have a bit in @targets.
 *
 * The message and pending must be visible before the IPI can arrive, or the
 * handler sees its bit clear, does nothing, and the round never ends.  Pairs
 * with the delivery of the interrupt, ahead of the handler's first load.  The
 * senders cannot be relied on: an x2APIC ICR write orders nothing, and the
 * shorthand path has no barrier.
 */
static void send_round(const cpumask_t *targets)
{
    smp_mb();
    send_IPI_mask(targets, INVALIDATE_TLB_VECTOR);
}

static void send_group(const struct flush_group *g)
{
    /*
     * Only the first nr_cpumask_bits of a cpumask_t are ever looked at.
     *
     * Targets clear bits while the senders read the mask, once they have got
     * the IPI or without it (see fill_message()).  A bit that went means a CPU
     * which needs no IPI.  A sender may look for the next bit, or work on a
     * copy; it may not rely on a bit to be still there.
     */
    send_round(container_of(&g->pending[0], const cpumask_t, bits[0]));
}

/* sent -> acked? */
static bool round_acked(const struct flush_group *g)
{
    unsigned int i;

    for ( i = 0; i < MASK_WORDS; i++ )
        if ( read_atomic(&g->pending[i]) )
            return false;

    return true;
}

/*
 * acked -> idle.
 *
 * What the targets read (the message) and wrote before they cleared their bits
 * comes before what this CPU, or the next holder of the lock, does now.  Pairs
 * with the clear_bit() in invalidate_interrupt().
 */
static void end_round(struct flush_group *g)
{
    smp_rmb();
    spin_unlock(&g->flush_lock);
}

/* End those rounds of this CPU, linked through next_held, that are acked. */
static void cf_check end_acked_rounds(void *data)
{
    struct flush_group **link = data, *g;

    while ( (g = *link) != NULL )
    {
        if ( round_acked(g) )
        {
            *link = g->next_held;
            end_round(g);
        }
        else
            link = &g->next_held;
    }
}

static void hold_round(struct flush_group **held, struct flush_group *g)
{
    g->next_held = *held;
    *held = g;
}

/* Wait for a round that was sent. */
static void finish_round(struct flush_group *g)
{
    while ( !round_acked(g) )
        cpu_relax();
    end_round(g);
}

/*
 * Fill a round in every group that nobody holds or waits for: spin_trylock()
 * fails when the ticket queue is not empty, so no waiter is overtaken.
 * Returns whether that was every group with a target.
 */
static bool fill_free_groups(struct flush_group *start, const cpumask_t *todo,
                             const void *va, unsigned int flags,
                             struct flush_group **held)
{
    struct flush_group *g;
    bool all = true;

    for_each_group_from ( g, start )
    {
        if ( !has_targets(g, todo) )
            continue;

        if ( !spin_trylock(&g->flush_lock) )
        {
            all = false;
            continue;
        }

        fill_round(g, todo, va, flags);
        hold_round(held, g);
    }

    return all;
}

/*
 * Send the rounds in @held, and take their targets off @todo.  If that is @all
 * of @todo one IPI serves everybody, and send_IPI_mask() may use a shorthand.
 */
static void send_held(const struct flush_group *held, cpumask_t *todo,
                      bool all)
{
    if ( all )
        send_round(todo);

    for ( ; held; held = held->next_held )
    {
        if ( !all )
            send_group(held);
        cpumask_andnot(todo, todo, held->members);
    }
}

/*
 * Wait in line for the groups of what is left in @todo, one after the other.
 * The callback ends the rounds in flight meanwhile: a group is never held for
 * the sake of another one.
 */
static void queue_for_groups(struct flush_group *start, cpumask_t *todo,
                             const void *va, unsigned int flags,
                             struct flush_group **held)
{
    struct flush_group *g;

    for_each_group_from ( g, start )
    {
        if ( !has_targets(g, todo) )
            continue;

        spin_lock_cb(&g->flush_lock, end_acked_rounds, held);
        fill_round(g, todo, va, flags);
        hold_round(held, g);
        send_group(g);
        cpumask_andnot(todo, todo, g->members);
    }
}

/*
 * Flush across groups.  @sent is a round on its way already, or NULL.
 *
 * Both passes go round the ring from the own group, such that initiators in
 * different groups queue in different places: with one order for all, the last
 * group would see convoys.
 */
static void flush_groups(struct flush_group *start, cpumask_t *todo,
                         const void *va, unsigned int flags,
                         struct flush_group *sent)
{
    struct flush_group *held = NULL;
    bool all = fill_free_groups(start, todo, va, flags, &held);

    send_held(held, todo, all);

    if ( sent )
        hold_round(&held, sent);

    if ( !all )
        queue_for_groups(start, todo, va, flags, &held);

    /* A CPU without a group would go on with what it should have flushed. */
    BUG_ON(!cpumask_empty(todo));

    for ( end_acked_rounds(&held); held; end_acked_rounds(&held) )
        cpu_relax();
}

/*
 * Looking at the mask
 *
 * The mask may be somebody's scratch mask, or change meanwhile, as a domain's
 * dirty mask does: what decides is one look, each word being read once.
 *
 * That look needs a full barrier between it and what the caller changed before
 * (a page table entry, say).  Otherwise the change can still be on its way
 * while the mask is read, and a CPU that adds itself to the mask then, and
 * walks the old entry, is missed.  Pairs with the atomic operation by which
 * CPUs add themselves to such masks, and to cpu_online_map.  Taking a lock is
 * such a barrier, so the look is taken under the lock of the group which a
 * first, unordered look suggests.
 *
 * A CPU that is seen online stays so until the flush is complete.  CPUs leave
 * cpu_online_map under stop_machine(), for which every CPU has to be outside
 * of flush_area_mask(), or in smp_send_stop().  After the latter the one CPU
 * left finds nobody online, and so needs no lock, not even one that was held
 * by those who were stopped or by what it was doing itself.
 */

/* Record all targets, in @fc->todo.  Returns whether there is any. */
static bool find_targets(struct flush_cpu *fc, const cpumask_t *mask,
                         unsigned int cpu)
{
    unsigned long any = 0;
    unsigned int i;

    /* Pairs as said above. */
    smp_mb();

    for ( i = 0; i < MASK_WORDS; i++ )
    {
        unsigned long word = target_word(mask, cpu, i);

        cpumask_bits(fc->todo)[i] = word;
        any |= word;
    }

    return any != 0;
}

/*
 * Fill a round of @peer's group, whose lock the caller took just now, with the
 * targets there.  Returns whether there are others.
 */
static bool find_and_fill(const struct flush_cpu *peer, const cpumask_t *mask,
                          unsigned int cpu, const void *va, unsigned int flags)
{
    unsigned long beyond = 0;
    unsigned int i;

    fill_message(peer->group, va, flags);

    for ( i = 0; i < MASK_WORDS; i++ )
    {
        unsigned long word = target_word(mask, cpu, i);

        if ( word )
        {
            const unsigned long *members = cpumask_bits(peer->members);
            unsigned long here = word & read_atomic(&members[i]);

            fill_word(peer->group, i, here);
            beyond |= word ^ here;
        }
    }

    return beyond != 0;
}

/*
 * A CPU in whose group all targets seem to be: the own one or, failing that,
 * the first target.  NULL if there is no such group, or no target.
 */
static const struct flush_cpu *guess_group(const struct flush_cpu *fc,
                                           const cpumask_t *mask,
                                           unsigned int cpu)
{
    const struct flush_cpu *peer = NULL;
    unsigned long any = 0, beyond = 0;
    unsigned int i;

    for ( i = 0; i < MASK_WORDS; i++ )
    {
        unsigned long word = target_word(mask, cpu, i);

        if ( !word )
            continue;

        /* With one group a target is all it takes. */
        if ( fc->members == &cpu_online_map )
            return fc;

        any |= word;
        beyond |= word & ~cpumask_bits(fc->members)[i];
    }

    if ( likely(!beyond) )
        return any ? fc : NULL;

    for ( i = 0; i < MASK_WORDS; i++ )
    {
        unsigned long word = target_word(mask, cpu, i);

        if ( word && !peer )
            peer = &per_cpu(flush_cpu,
                            i * BITS_PER_LONG + find_first_set_bit(word));
        if ( word && (word & ~cpumask_bits(peer->members)[i]) )
            return NULL;
    }

    return peer;
}

/* The guess was wrong: a round of @g was sent, and there are more targets. */
static void flush_beyond(struct flush_cpu *fc, struct flush_group *g,
                         const cpumask_t *mask, unsigned int cpu,
                         const void *va, unsigned int flags)
{
    /* Another look is as good as the one that was taken under the lock. */
    find_targets(fc, mask, cpu);
    cpumask_andnot(fc->todo, fc->todo, g->members);
    flush_groups(fc->group, fc->todo, va, flags, g);
}

/* Flush in one group, normally. */
static void flush_group(struct flush_cpu *fc, const struct flush_cpu *peer,
                        const cpumask_t *mask, unsigned int cpu,
                        const void *va, unsigned int flags)
{
    struct flush_group *g = peer->group;

    spin_lock(&g->flush_lock);

    if ( likely(!find_and_fill(peer, mask, cpu, va, flags)) )
    {
        send_group(g);
        finish_round(g);
    }
    else
    {
        send_group(g);
        flush_beyond(fc, g, mask, cpu, va, flags);
    }
}

/* Let the hypervisor below, if any, do what it is known to be able to. */
static bool assisted_flush(const cpumask_t *mask, const void *va,
                           unsigned int flags)
{
    return cpu_has_hypervisor &&
           !(flags & ~(FLUSH_TLB | FLUSH_TLB_GLOBAL | FLUSH_VA_VALID |
                       FLUSH_ORDER_MASK)) &&
           !hypervisor_flush_tlb(mask, va, flags);
}

static void flush_remote(const cpumask_t *mask, unsigned int cpu,
                         const void *va, unsigned int flags, s_time_t start)
{
    struct flush_cpu *fc = &this_cpu(flush_cpu);
    const struct flush_cpu *peer;
    unsigned int class;

    class = flush_stats_class(mask);
    peer = guess_group(fc, mask, cpu);

    if ( peer )
    {
        if ( assisted_flush(mask, va, flags) )
            return;
        flush_group(fc, peer, mask, cpu, va, flags);
    }
    /*
     * The local CPU alone has to be told apart before todo is touched: it is
     * fine in interrupt context, hence possibly in the middle of another call.
     * Without a group this is CPU0, before any other CPU: see boot_group.
     */
    else if ( !cpumask_subset(mask, cpumask_of(cpu)) && fc->group )
    {
        if ( assisted_flush(mask, va, flags) )
            return;
        if ( find_targets(fc, mask, cpu) )
            flush_groups(fc->group, fc->todo, va, flags, NULL);
    }

    flush_stats_record(class, start);
}

/*
 * Make all online CPUs in @mask flush what @flags says, and wait until they
 * have.  Not to be called from interrupt context when @mask names another CPU.
 */
void flush_area_mask(const cpumask_t *mask, const void *va, unsigned int flags)
{
    unsigned int cpu = smp_processor_id();
    s_time_t start = flush_stats_start();

    /*
     * With interrupts off two initiators could wait for each other.  An
     * interrupt handler could wait for the initiator it interrupted.
     */
    ASSERT((local_irq_is_enabled() && !in_irq()) ||
           cpumask_subset(mask, cpumask_of(cpu)));
    /* The local CPU's vCPU state is not this function's to flush. */
    ASSERT(!(flags & FLUSH_VCPU_STATE) || !cpumask_test_cpu(cpu, mask));

    if ( cpumask_test_cpu(cpu, mask) &&
         (flags & ~(FLUSH_ORDER_MASK | FLUSH_VCPU_STATE)) )
        flags = flush_area_local(va, flags);

    if ( !(flags & ~FLUSH_ORDER_MASK) )
        return;

    flush_remote(mask, cpu, va, flags, start);
}

/* What a target does on INVALIDATE_TLB_VECTOR. */
void cf_check invalidate_interrupt(struct cpu_user_regs *regs)
{
    struct flush_group *g = this_cpu(flush_cpu).group;
    unsigned int flags;

    ack_APIC_irq();
    perfc_incr(ipis);

    /*
     * The bit comes first.  A CPU is interrupted in vain when it served the
     * round already while handling an earlier IPI, or came back from being
     * parked with an IPI pending; the message is not meant for it then.  CPU0
     * has no group yet if the IPI is one left over from before a kexec.
     */
    if ( unlikely(!g) || !test_bit(smp_processor_id(), g->pending) )
    {
        flush_test_stray();
        return;
    }

    /* Pairs with the smp_wmb() in fill_message(). */
    smp_rmb();

    flags = g->flags;

    if ( flags & FLUSH_VCPU_STATE )
    {
        bool switched = __sync_local_execstate();

        flags = g->flags;
        if ( switched )
            flags &= ~(FLUSH_TLB | FLUSH_TLB_GLOBAL | FLUSH_ROOT_PGTBL);
    }

    if ( flags & ~(FLUSH_ORDER_MASK | FLUSH_VCPU_STATE) )
        flush_area_local(g->va, flags);

    /*
     * The ack: the initiator may return, and the group be reused, right after.
     * A full barrier on x86, so that nothing above is delayed past it; pairs
     * with the smp_rmb() in end_round().
     */
    clear_bit(smp_processor_id(), g->pending);
}

/*
 * Groups: which CPU belongs where, and how a group comes to be.
 */

/*
 * Firmware ties APIC IDs to nodes, so a CPU's node is known before it is
 * brought up, CPU0's before the presmp initcalls.  Same fallback as
 * srat_detect_node().
 */
static nodeid_t apic_node(unsigned int cpu)
{
    uint32_t apicid = x86_cpu_to_apicid[cpu];
    nodeid_t node = apicid < MAX_LOCAL_APIC ? apicid_to_node[apicid]
                                            : NUMA_NO_NODE;

    return node != NUMA_NO_NODE ? node : 0;
}

/*
 * The x2APIC cluster, if that matters.  An x2APIC in logical destination mode
 * is one bit of a 16-bit mask within a cluster, and both come from its APIC ID.
 */
static unsigned int apic_cluster(unsigned int cpu)
{
    return grouping == GROUP_CLUSTER ? x86_cpu_to_apicid[cpu] >> 4 : 0;
}

/* Locks of one node need names to tell them apart. */
static void name_lock(struct flush_group *g)
{
#ifdef CONFIG_DEBUG_LOCK_PROFILE
    if ( grouping != GROUP_CLUSTER || !g->flush_lock.profile )
        return;

    snprintf(g->lock_name, sizeof(g->lock_name), "flush_lock_cluster%u",
             g->cluster);
    g->flush_lock.profile->name = g->lock_name;
#endif
}

/*
 * One page per group, on its own node.  Not even half of it is used with the
 * largest NR_CPUS, but there is no NUMA-aware allocator of less than a page.
 * Groups stay forever: their number is bounded by those of nodes and clusters.
 */
static struct flush_group *alloc_group(nodeid_t node, unsigned int cluster)
{
    /* Users of a mask may read up to nr_cpumask_bits of it. */
    size_t members = ROUNDUP(offsetof(struct flush_group, pending) +
                             nr_cpumask_bits / 8, SMP_CACHE_BYTES);
    struct flush_group *g;

    BUILD_BUG_ON(offsetof(struct flush_group, members) != SMP_CACHE_BYTES);
    BUILD_BUG_ON(offsetof(struct flush_group, va) != 2 * SMP_CACHE_BYTES);
    BUILD_BUG_ON(offsetof(struct flush_group, pending) !=
                 2 * SMP_CACHE_BYTES + 24);
    BUILD_BUG_ON(sizeof(*g) + 2 * sizeof(cpumask_t) + SMP_CACHE_BYTES >
                 PAGE_SIZE);

    g = alloc_xenheap_pages(0, MEMF_node(node));
    if ( !g )
        return NULL;

    clear_page(g);
    g->node = node;
    g->cluster = cluster;
    g->members = (void *)g + members;

    /* Resets the lock, so it comes before the first use. */
    spin_lock_init_prof(g, flush_lock);
    name_lock(g);
    if ( grouping == GROUP_HOST )
        lock_profile_register_struct(LOCKPROF_TYPE_GLOBAL, g, 0);
    else
        lock_profile_register_struct(LOCKPROF_TYPE_PERNODE, g, node);

    nr_groups++;

    return g;
}

/* Other CPUs may be going round the ring. */
static void publish_group(struct flush_group *g)
{
    g->next = boot_group->next;
    /* Pairs with the address dependency in next_group(). */
    smp_wmb();
    write_atomic(&boot_group->next, g);
}

/*
 * Any CPU may be in any group, as long as everybody agrees.  So lack of memory
 * costs speed, not the CPU.
 */
static struct flush_group *find_group(unsigned int cpu)
{
    nodeid_t node = apic_node(cpu);
    unsigned int cluster = apic_cluster(cpu);
    struct flush_group *g;

    if ( single_group )
        return boot_group;

    for_each_group_from ( g, boot_group )
        if ( g->node == node && g->cluster == cluster )
            return g;

    g = alloc_group(node, cluster);
    if ( !g )
    {
        printk(XENLOG_WARNING
               "Flush groups: no memory for node %u, CPU%u joins node %u\n",
               node, cpu, boot_group->node);
        return boot_group;
    }

    publish_group(g);

    return g;
}

/*
 * Called while @cpu is offline, so no mask of targets can hold it.  It becomes
 * one only after it set its own bit in cpu_online_map, which comes after these
 * stores: it is started by the CPU that does them.
 */
static int join_group(unsigned int cpu)
{
    struct flush_cpu *fc = &per_cpu(flush_cpu, cpu);
    struct flush_group *g, *group = find_group(cpu);

    if ( !cond_zalloc_cpumask_var(&fc->todo) )
        return -ENOMEM;

    /* A CPU number may have been of another node before it was removed. */
    for_each_group_from ( g, boot_group )
        if ( g != group )
            cpumask_clear_cpu(cpu, g->members);
    cpumask_set_cpu(cpu, group->members);

    fc->group = group;
    fc->members = single_group ? &cpu_online_map : group->members;

    return 0;
}

/*
 * The per-CPU area is about to go away.  The bit in the group's members stays:
 * it means nothing while the CPU is not online.
 */
static void leave_group(unsigned int cpu)
{
    FREE_CPUMASK_VAR(per_cpu(flush_cpu, cpu).todo);
}

/*
 * Runs on a CPU that is about to be online.  Where IPIs go to clusters, a group
 * should be what one ICR write reaches.  Should hardware see it differently
 * then flushes take more writes; which group a CPU is in stays agreed.
 */
static void check_cluster(void)
{
    unsigned int cpu = smp_processor_id(), ldr;
    static bool __read_mostly warned;

    if ( grouping != GROUP_CLUSTER || warned ||
         genapic.init_apic_ldr == init_apic_ldr_phys )
        return;

    ldr = apic_read(APIC_LDR);
    if ( ldr >> 16 == apic_cluster(cpu) )
        return;

    warned = true;
    printk(XENLOG_WARNING
           "Flush groups: CPU%u has APIC ID %#x, but is in cluster %#x\n",
           cpu, x86_cpu_to_apicid[cpu], ldr >> 16);
}

/*
 * Default priority, so after the notifier that makes the per-CPU area (zeroed,
 * unless the CPU was parked) and before the one that frees it.
 */
static int cf_check cpu_callback(struct notifier_block *nfb,
                                 unsigned long action, void *hcpu)
{
    unsigned int cpu = (unsigned long)hcpu;
    int rc = 0;

    switch ( action )
    {
    case CPU_UP_PREPARE:
        rc = join_group(cpu);
        break;

    case CPU_STARTING:
        check_cluster();
        break;

    case CPU_UP_CANCELED:
    case CPU_DEAD:
        if ( !park_offline_cpus )
            leave_group(cpu);
        break;

    case CPU_REMOVE:
        if ( park_offline_cpus )
            leave_group(cpu);
        break;
    }

    return !rc ? NOTIFY_DONE : notifier_from_errno(rc);
}

static struct notifier_block cpu_nfb = {
    .notifier_call = cpu_callback,
};

/* Does any node have CPUs of more than one cluster? */
static bool __init clusters_split_nodes(void)
{
    static unsigned int __initdata cluster[MAX_NUMNODES];
    static nodemask_t __initdata seen;
    unsigned int cpu;

    for_each_present_cpu ( cpu )
    {
        nodeid_t node = apic_node(cpu);

        if ( !node_test_and_set(node, seen) )
            cluster[node] = x86_cpu_to_apicid[cpu] >> 4;
        else if ( cluster[node] != x86_cpu_to_apicid[cpu] >> 4 )
            return true;
    }

    return false;
}

/* Clusters are the x2APIC's. */
static void __init choose_grouping(void)
{
    if ( grouping == GROUP_CLUSTER && !x2apic_enabled )
    {
        printk(XENLOG_WARNING
               "WARNING: flush-group=cluster needs x2APIC, using node\n");
        grouping = GROUP_NODE;
    }
    else if ( grouping == GROUP_AUTO )
    {
        chosen = true;
        grouping = x2apic_enabled && clusters_split_nodes() ? GROUP_CLUSTER
                                                            : GROUP_NODE;
    }
}

/*
 * Nothing to split if all CPUs that firmware lists would share a group.  The
 * PV shim's vCPUs have no nodes.
 */
static bool __init one_group_suffices(void)
{
    unsigned int cpu;

    if ( grouping == GROUP_HOST || pv_shim )
        return true;

    for_each_present_cpu ( cpu )
        if ( apic_node(cpu) != apic_node(0) ||
             apic_cluster(cpu) != apic_cluster(0) )
            return false;

    return true;
}

static int __init cf_check flush_group_init(void)
{
    if ( bad_grouping_given )
        printk(XENLOG_WARNING
               "WARNING: flush-group=%s is not known, using %s\n",
               bad_grouping, grouping_names[grouping]);

    choose_grouping();
    single_group = one_group_suffices();

    boot_group = alloc_group(apic_node(0), apic_cluster(0));
    if ( !boot_group )
        panic("Flush groups: no memory\n");
    boot_group->next = boot_group;

    if ( join_group(0) )
        panic("Flush groups: no memory for CPU0\n");
    check_cluster();

    register_cpu_notifier(&cpu_nfb);

    return 0;
}
presmp_initcall(flush_group_init);

static int __init cf_check flush_group_report(void)
{
    printk(XENLOG_INFO "Flush groups: %s%s, %u group(s)\n",
           grouping_names[grouping], chosen ? " (auto)" : "", nr_groups);

    return 0;
}
__initcall(flush_group_report);

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
