/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * engine-upstream.c - upstream's own code, and what is no hypervisor's code.
 *
 * Design: two programs, as both sets of sources define flush_area_mask().
 * To add an engine: a line in a table like this one.
 */
#include "fs.h"

const struct fs_engine fs_engines[] = {
    { "upstream", NULL, NULL, flush_area_mask, invalidate_interrupt },
    { "ideal", NULL, NULL, fs_ideal_flush, fs_ideal_handler },
    { "callq", NULL, fs_callq_init, fs_callq_flush, fs_callq_handler },
    { "callq-gen", NULL, fs_callq_init_reading, fs_callq_flush,
      fs_callq_handler },
    { "forgetful", NULL, NULL, fs_forgetful_flush, fs_ideal_handler },
    { NULL, NULL, NULL, NULL, NULL }
};
