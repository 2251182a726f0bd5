/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * book.h - book-keeping of concurrent requests.
 *
 * Design
 *
 * Every request carries its initiator's slot and a sequence number in va, and
 * flags that follow from the number.  The flush hook looks the request up: it
 * must be in progress, name this CPU, and come with the right flags (no stale
 * and no torn message).  At its end every target must have been seen: no lost
 * flush.  Entries are written with atomics, so that threads may share them.
 */
#ifndef FLUSH_TEST_BOOK_H
#define FLUSH_TEST_BOOK_H

#include "topologies.h"

#define BOOK_SLOTS 32

extern unsigned long book_done[BOOK_SLOTS];      /* requests completed */

void book_init(void);
/* One request from start to end by the running CPU; @mask may hold it. */
void book_request(unsigned int slot, const cpumask_t *mask);

#endif /* FLUSH_TEST_BOOK_H */
