/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Self test of remote flushes: translations.
 *
 * Design
 * ------
 * There are two pages with different contents, and an address that is mapped
 * to one of them.  A CPU swaps the page table entry and has everybody flush
 * that translation.  After that nobody may read the old page's content through
 * the address.  Meanwhile the other CPUs read it all the time, such that they
 * do have the old translation.  There are a few such sets, so that several CPUs
 * flush at once.
 *
 * A set's `swaps` is odd while its entry is being swapped.  Readers judge only
 * what they read with the same, even, number before and after.
 */

#include <xen/domain_page.h>
#include <xen/init.h>
#include <xen/mm.h>
#include <xen/vmap.h>
#include <asm/flushtlb.h>
#include <asm/page.h>

#include "private.h"

#define SETS  4U
#define READS 20U                       /* per step */

struct set {
    unsigned long *va;
    mfn_t mfn[2];
    unsigned long content[2];
    unsigned int swaps;                 /* by the holder of `swapping` */
    unsigned long swapping;             /* bit 0 */
} __cacheline_aligned;

static struct set *__read_mostly sets;

static atomic_t stale, reads, told;

static void map(const struct set *set, unsigned int page)
{
    l1_pgentry_t *entry = virt_to_xen_l1e((unsigned long)set->va);

    l1e_write(entry, l1e_from_mfn(set->mfn[page], PAGE_HYPERVISOR));
    unmap_domain_page(entry);
}

static void swap(struct worker *w, struct set *set)
{
    unsigned int flags = FLUSH_TLB_GLOBAL | FLUSH_NO_ASSIST;

    if ( random_below(w, 2) )
        flags |= FLUSH_VA_VALID | FLUSH_ORDER(0);

    write_atomic(&set->swaps, set->swaps + 1);
    /* Pairs with the first smp_rmb() in read_set(). */
    smp_wmb();

    map(set, ((set->swaps + 1) / 2) & 1);
    flush_area_mask(&cpu_online_map, set->va, flags);

    /* Pairs with the second one. */
    smp_wmb();
    write_atomic(&set->swaps, set->swaps + 1);
}

static void read_set(const struct set *set)
{
    unsigned int before = read_atomic(&set->swaps), page = (before / 2) & 1;
    unsigned long content;

    smp_rmb();
    content = read_atomic(set->va);
    smp_rmb();

    if ( (before & 1) || read_atomic(&set->swaps) != before )
        return;

    atomic_inc(&reads);
    if ( content == set->content[page] )
        return;

    atomic_inc(&stale);
    if ( atomic_inc_return(&told) <= 8 )
        note("stale translation: CPU%u read %lx, not %lx",
             smp_processor_id(), content, set->content[page]);
}

static bool cf_check oracle_step(struct part *part, struct worker *w)
{
    struct set *set = &sets[random_below(w, SETS)];
    unsigned int i;
    bool taken_one;

    for ( i = 0; i < READS; i++ )
        read_set(set);
    cpu_relax();

    if ( random_below(w, 4) || test_and_set_bit(0, &set->swapping) )
        return !is_over(part);

    taken_one = take_one(part);
    if ( taken_one )
        swap(w, set);
    clear_bit(0, &set->swapping);

    return taken_one;
}

static int cf_check oracle_begin(struct part *part)
{
    atomic_set(&stale, 0);
    atomic_set(&reads, 0);
    atomic_set(&told, 0);

    return 0;
}

static enum verdict cf_check oracle_end(struct part *part, char *text,
                                        size_t size)
{
    unsigned int nr = atomic_read(&stale), nr_reads = atomic_read(&reads);

    snprintf(text, size, "%u swaps, %u reads, %u stale", taken(part), nr_reads,
             nr);

    return nr || !nr_reads || !taken(part) ? PART_FAILED : PART_OK;
}

struct part oracle_part = {
    .name = "oracle",
    .amount = 500,
    .joinable = true,
    .begin = oracle_begin,
    .step = oracle_step,
    .end = oracle_end,
};

static int __init make_page(struct set *set, unsigned int nr, unsigned int page)
{
    unsigned long *content = alloc_xenheap_page();

    if ( !content )
        return -ENOMEM;

    set->mfn[page] = _mfn(virt_to_mfn(content));
    set->content[page] = (nr + 1UL) << 32 | (page + 1);
    *content = set->content[page];

    return 0;
}

static int __init make_set(struct set *set, unsigned int nr)
{
    int rc = make_page(set, nr, 0) ?: make_page(set, nr, 1);

    if ( rc )
        return rc;

    set->va = vmap(&set->mfn[0], 1);

    return set->va ? 0 : -ENOMEM;
}

int __init oracle_init(void)
{
    unsigned int i;
    int rc = 0;

    sets = xzalloc_array(struct set, SETS);
    if ( !sets )
        return -ENOMEM;

    for ( i = 0; i < SETS && !rc; i++ )
        rc = make_set(&sets[i], i);

    return rc;
}

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
