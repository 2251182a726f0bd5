/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * state.c - the machine as it was before each run.
 *
 * Design: all that the code under test and the shim change lies between
 * __data_start and _end, as the program is not position independent and its
 * allocations come from an array here.  What belongs to the explorer is in the
 * section explore_keep, or outside.
 */
#include "explore.h"

#include "sim.h"

#define ARENA_PAGES 64

extern char __data_start[], _end[];
extern char __start_explore_keep[], __stop_explore_keep[];
extern char __start_sim_percpu[], __start_sim_read_mostly[];

static char arena[ARENA_PAGES * PAGE_SIZE] __aligned(PAGE_SIZE) KEEP;
static size_t arena_used;         /* reset with the rest */
static size_t saved_used KEEP;
static char *saved KEEP, *saved_arena KEEP;
static struct sim_self saved_self KEEP;

/* Instead of the C library's, for sim.c. */
int explore_memalign(void **p, size_t align, size_t size)
{
    size_t at = ROUNDUP(arena_used, align);

    if ( at + size > sizeof(arena) )
        return ENOMEM;
    arena_used = at + size;
    *p = arena + at;
    return 0;
}

void explore_free(void *p)
{
}

static bool inside(const char *p)
{
    return p >= __data_start && p < _end;
}

/* Copy what lies around the explorer's own section. */
static void copy(bool save)
{
    size_t before = __start_explore_keep - __data_start;
    size_t after = _end - __stop_explore_keep;
    char *image = saved;

    if ( save )
    {
        memcpy(image, __data_start, before);
        memcpy(image + before, __stop_explore_keep, after);
    }
    else
    {
        memcpy(__data_start, image, before);
        memcpy(__stop_explore_keep, image + before, after);
    }
}

void state_save(void)
{
    if ( !inside(__start_explore_keep) || !inside(__stop_explore_keep) ||
         !inside(__start_sim_percpu) || !inside(__start_sim_read_mostly) )
        sim_fail("the linker laid out the program in another way");
    saved = malloc(_end - __data_start);
    saved_used = arena_used;
    saved_arena = malloc(saved_used);
    memcpy(saved_arena, arena, saved_used);
    saved_self = sim_self;
    copy(true);
}

void state_restore(void)
{
    size_t used = arena_used;

    copy(false);
    memcpy(arena, saved_arena, saved_used);
    if ( used > saved_used )      /* as it was when it was fresh */
        memset(arena + saved_used, 0, used - saved_used);
    sim_self = saved_self;
}

bool state_is_new(const void *p)
{
    return (const char *)p >= arena + saved_used &&
           (const char *)p < arena + sizeof(arena);
}
