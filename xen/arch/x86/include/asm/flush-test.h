/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the flush code tells the self test (flush-test/) what it did.  Without
 * CONFIG_FLUSH_TEST nothing of it is left.
 */
#ifndef ASM__X86__FLUSH_TEST_H
#define ASM__X86__FLUSH_TEST_H

#include <xen/stdbool.h>

#ifdef CONFIG_FLUSH_TEST

extern bool flush_test_running;

void flush_test_note_flush(const void *va, unsigned int flags);
void flush_test_note_stray(void);

/* flush_area_local() has done what @flags say, on this CPU. */
static inline void flush_test_flushed(const void *va, unsigned int flags)
{
    if ( unlikely(flush_test_running) )
        flush_test_note_flush(va, flags);
}

/* This CPU was interrupted, and there was nothing to flush. */
static inline void flush_test_stray(void)
{
    if ( unlikely(flush_test_running) )
        flush_test_note_stray();
}

#else /* !CONFIG_FLUSH_TEST */

static inline void flush_test_flushed(const void *va, unsigned int flags) {}
static inline void flush_test_stray(void) {}

#endif /* CONFIG_FLUSH_TEST */

#endif /* ASM__X86__FLUSH_TEST_H */

/*
 * Local variables:
 * mode: C
 * c-file-style: "BSD"
 * c-basic-offset: 4
 * indent-tabs-mode: nil
 * End:
 */
