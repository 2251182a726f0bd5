/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * engine-group.c - the engine with flush groups, in its settings.
 *
 * Design: see engine-upstream.c.
 */
#include "fs.h"

const struct fs_engine fs_engines[] = {
    { "host", "flush-group=host", NULL, flush_area_mask,
      invalidate_interrupt },
    { "node", "flush-group=node", NULL, flush_area_mask,
      invalidate_interrupt },
    { "cluster", "flush-group=cluster", NULL, flush_area_mask,
      invalidate_interrupt },
    { NULL, NULL, NULL, NULL, NULL }
};
