/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Latency of remote flushes, see flush-stats.c.  Without CONFIG_FLUSH_STATS
 * nothing of it is left.
 */
#ifndef ASM__X86__FLUSH_STATS_H
#define ASM__X86__FLUSH_STATS_H

#include <xen/cpumask.h>
#include <xen/time.h>

#ifdef CONFIG_FLUSH_STATS

/* When flush_area_mask() was entered, in ns of system time. */
static inline s_time_t flush_stats_start(void)
{
    return NOW();
}

/* The class that a flush of @mask counts under. */
unsigned int flush_stats_class(const cpumask_t *mask);

/* Count a flush that began at @start and is complete. */
void flush_stats_record(unsigned int class, s_time_t start);

#else /* !CONFIG_FLUSH_STATS */

static inline s_time_t flush_stats_start(void)
{
    return 0;
}

static inline unsigned int flush_stats_class(const cpumask_t *mask)
{
    return 0;
}

static inline void flush_stats_record(unsigned int class, s_time_t start) {}

#endif /* CONFIG_FLUSH_STATS */

#endif /* ASM__X86__FLUSH_STATS_H */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
