/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * engine-callq.c - the other well-known way: a queue of calls per CPU.
 *
 * Design
 *
 * For validation: the published curve of a storm (docs/flushsim.md) was taken
 * on a kernel where initiators do not exclude each other.  Each (initiator,
 * target) has a request; it is put on the target's list, an IPI goes to those
 * whose list was empty, and the initiator polls each of its requests.  A
 * target takes its whole list at once.  Own writing, from the description of
 * the mechanism.
 */
#include "fs.h"

struct request {
    struct request *next;
    unsigned int flags, pending;
} __aligned(64);

struct queue {
    struct request *head;
} __aligned(64);

/*
 * Address spaces count their flushes.  Everybody flushes in one here, as the
 * threads of the published benchmark do; in the older of its two versions the
 * target reads the count for each request.
 */
static uint64_t generation __aligned(64);
static bool read_generation;
static struct { uint64_t generation; } __aligned(64) seen[NR_CPUS];

static struct queue *queues[NR_CPUS];
static struct request *requests[NR_CPUS];  /* by target, then initiator */

void fs_callq_init(void)
{
    unsigned int cpu, node;

    for ( cpu = 0; cpu < fs_nr_cpus; cpu++ )
    {
        node = fs_node_of(cpu);
        queues[cpu] = fs_alloc_on(node, sizeof(struct queue), 64);
        requests[cpu] = fs_alloc_on(node, fs_nr_cpus * sizeof(struct request),
                                    64);
    }
}

void fs_callq_init_reading(void)
{
    read_generation = true;
    fs_callq_init();
}

/* Returns whether the list was empty. */
static bool enqueue(struct request *r, struct queue *q)
{
    struct request *head = __atomic_load_n(&q->head, __ATOMIC_RELAXED);

    do
        r->next = head;
    while ( !__atomic_compare_exchange_n(&q->head, &head, r, false,
                                         __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST) );
    return !head;
}

static void wait_for(struct request *r)
{
    while ( __atomic_load_n(&r->pending, __ATOMIC_ACQUIRE) )
        cpu_relax();
}

void fs_callq_flush(const cpumask_t *mask, const void *va, unsigned int flags)
{
    unsigned int self = smp_processor_id(), cpu;
    cpumask_t *ipi = this_cpu(send_ipi_cpumask);

    __atomic_fetch_add(&generation, 1, __ATOMIC_SEQ_CST);
    cpumask_clear(ipi);
    for_each_cpu ( cpu, mask )
    {
        struct request *r = &requests[cpu][self];

        if ( cpu == self )
            continue;
        r->flags = flags;
        r->pending = 1;
        if ( enqueue(r, queues[cpu]) )
            __cpumask_set_cpu(cpu, ipi);
    }
    genapic.send_IPI_mask(ipi, INVALIDATE_TLB_VECTOR);
    if ( cpumask_test_cpu(self, mask) )
        fs_flush_now(flags);
    for_each_cpu ( cpu, mask )
        if ( cpu != self )
            wait_for(&requests[cpu][self]);
}

void fs_callq_handler(struct cpu_user_regs *regs)
{
    struct queue *q = queues[smp_processor_id()];
    struct request *r, *next;

    ack_APIC_irq();
    r = __atomic_exchange_n(&q->head, NULL, __ATOMIC_SEQ_CST);
    for ( ; r; r = next )
    {
        next = r->next;
        if ( read_generation )
            seen[smp_processor_id()].generation =
                __atomic_load_n(&generation, __ATOMIC_RELAXED);
        fs_flush_now(r->flags);
        __atomic_store_n(&r->pending, 0, __ATOMIC_RELEASE);
    }
}
