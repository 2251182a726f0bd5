/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * book.c - book-keeping of concurrent requests, see book.h.
 *
 * Design: va = slot + 1 in bits 40.., sequence number in bits 12..39.
 */
#include "book.h"

struct request {
    uint32_t seq;
    bool active;
    cpumask_t mask;
    cpumask_t must;               /* those that were online at the start */
    uint32_t seen[NR_CPUS];       /* last seq flushed, by CPU */
};
static struct request book[BOOK_SLOTS];
unsigned long book_done[BOOK_SLOTS];

static unsigned int flags_of(uint32_t seq)
{
    return FLUSH_TLB | (seq & 1 ? FLUSH_TLB_GLOBAL : 0) | (seq % 200);
}

static void on_flush(unsigned int cpu, const void *va, unsigned int flags)
{
    uintptr_t v = (uintptr_t)va;
    unsigned int slot = (v >> 40) - 1;
    uint32_t seq = (v >> 12) & 0xfffffff;
    struct request *r = &book[slot];

    CHECK(slot < BOOK_SLOTS, "CPU%u flushed for nobody: va %p", cpu, va);
    CHECK(__atomic_load_n(&r->active, __ATOMIC_ACQUIRE) &&
          __atomic_load_n(&r->seq, __ATOMIC_ACQUIRE) == seq,
          "CPU%u flushed for request %u.%u, which has ended", cpu, slot, seq);
    CHECK(cpumask_test_cpu(cpu, &r->mask), "CPU%u flushed, not in %u.%u", cpu,
          slot, seq);
    CHECK(flags == flags_of(seq), "CPU%u: flags %#x torn off %u.%u", cpu,
          flags, slot, seq);
    __atomic_store_n(&r->seen[cpu], seq, __ATOMIC_RELEASE);
}

void book_init(void)
{
    sim_flush_hook = on_flush;
}

static void check_seen(const struct request *r, unsigned int slot,
                       uint32_t seq)
{
    unsigned int cpu;

    for_each_cpu ( cpu, &r->must )
        CHECK(__atomic_load_n(&r->seen[cpu], __ATOMIC_ACQUIRE) == seq,
              "request %u.%u returned before CPU%u flushed", slot, seq, cpu);
}

void book_request(unsigned int slot, const cpumask_t *mask)
{
    struct request *r = &book[slot];
    uint32_t seq = r->seq + 1;

    cpumask_copy(&r->mask, mask);
    cpumask_and(&r->must, mask, &cpu_online_map);
    __atomic_store_n(&r->seq, seq, __ATOMIC_RELEASE);
    __atomic_store_n(&r->active, true, __ATOMIC_RELEASE);
    flush_area_mask(&r->mask, (void *)(((uintptr_t)slot + 1) << 40 |
                                       (uintptr_t)seq << 12), flags_of(seq));
    __atomic_store_n(&r->active, false, __ATOMIC_RELEASE);
    check_seen(r, slot, seq);
    __atomic_add_fetch(&book_done[slot], 1, __ATOMIC_RELAXED);
}
