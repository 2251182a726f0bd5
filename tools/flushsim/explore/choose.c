/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * choose.c - the choice vector.
 *
 * Design
 *
 * A run is a function of the answers to choose().  Forks are numbered as they
 * come up, with all options counted, so that a schedule - the answers other
 * than 0 - means the same whatever made it.
 *
 * DFS keeps the answers of the current run on a stack and goes to the next
 * leaf by raising the last one that can be raised.  Options that would go
 * beyond the bound are not there for it.  A run that gets to a state which was
 * met before ends there; so independent steps are not tried in every order.
 *
 * PCT gives each thread (a CPU, or the interrupt handler on it) a priority and
 * runs the highest; at a few points drawn before the run the one that runs
 * gets the lowest of all.
 */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FORKS 65536
#define PCT_CHANGES 3
#define MAX_STATES (1u << 25)

struct state {
    uint64_t hash;                /* 0: free; the low byte: bound left */
};

struct level {
    uint32_t fork;
    uint8_t nr, pick;
};

static struct {
    enum strategy strategy;
    unsigned int bound, left;
    unsigned int forks, depth, levels;
    uint64_t random;
    struct level *stack;
    struct schedule *taken;
    const struct schedule *replay;
    unsigned int replayed;
    unsigned int longest;         /* run so far, in forks */
    unsigned int priority[2 * MAX_VCPUS], lowest;
    unsigned int change[PCT_CHANGES];
    struct state *states;         /* hash table */
    unsigned int max_states, nr_states;
    unsigned long cut;
} me KEEP;

bool choose_merge KEEP = true;

static uint64_t draw(void)
{
    uint64_t x = me.random += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void choose_begin(enum strategy strategy, unsigned int bound, uint64_t seed)
{
    if ( !me.stack )
    {
        me.stack = calloc(MAX_FORKS, sizeof(*me.stack));
        me.taken = calloc(1, sizeof(*me.taken));
    }
    me.strategy = strategy;
    me.bound = bound;
    me.random = seed;
    me.levels = 0;
    me.longest = 64;
    free(me.states);
    me.states = NULL;
    me.max_states = me.nr_states = 0;
    me.cut = 0;
}

void choose_replay(const struct schedule *schedule)
{
    choose_begin(REPLAY, 0, 0);
    me.replay = schedule;
}

static void draw_priorities(void)
{
    unsigned int i;

    me.lowest = 1000;
    for ( i = 0; i < 2 * MAX_VCPUS; i++ )
        me.priority[i] = 1001 + draw() % 1000000;
    for ( i = 0; i < PCT_CHANGES; i++ )
        me.change[i] = draw() % me.longest;
}

void choose_run(void)
{
    me.left = me.bound;
    if ( me.forks > me.longest )
        me.longest = me.forks;
    me.forks = me.depth = me.replayed = 0;
    me.taken->nr = 0;
    if ( me.strategy == PCT )
        draw_priorities();
}

bool choose_next(void)
{
    if ( me.depth != me.levels )
    {
        fprintf(stderr, "explore: a run cannot be repeated\n");
        abort();
    }
    while ( me.levels )
    {
        struct level *top = &me.stack[me.levels - 1];

        if ( ++top->pick < top->nr )
            return true;
        me.levels--;
    }
    return false;
}

static unsigned int pick_dfs(unsigned int fork, unsigned int nr)
{
    struct level *l = &me.stack[me.depth];

    if ( nr < 2 )
        return 0;
    if ( me.depth == me.levels )
    {
        if ( me.levels == MAX_FORKS )
        {
            fprintf(stderr, "explore: too many forks in one run\n");
            abort();
        }
        *l = (struct level){ .fork = fork, .nr = nr };
        me.levels++;
    }
    else if ( l->fork != fork || l->nr != nr )
    {
        fprintf(stderr, "explore: fork %u became %u/%u\n", l->fork, fork, nr);
        abort();
    }
    me.depth++;
    return l->pick;
}

/* ---- states met before ---- */
static struct state *find_state(uint64_t h)
{
    unsigned int i = (h >> 16) & (me.max_states - 1);

    while ( me.states[i].hash && (me.states[i].hash ^ h) >> 8 )
        i = (i + 1) & (me.max_states - 1);
    return &me.states[i];
}

static void grow_states(void)
{
    struct state *old = me.states;
    unsigned int nr = me.max_states, i;

    me.max_states = nr ? 2 * nr : 1u << 16;
    me.states = calloc(me.max_states, sizeof(*me.states));
    for ( i = 0; i < nr; i++ )
        if ( old[i].hash )
            *find_state(old[i].hash) = old[i];
    free(old);
}

bool choose_wants_state(void)
{
    return choose_merge && me.strategy == DFS && me.depth == me.levels;
}

bool choose_known(uint64_t state)
{
    struct state *s;
    unsigned int left = me.left + 1;

    if ( 2 * me.nr_states >= me.max_states && me.max_states < MAX_STATES )
        grow_states();
    if ( 2 * me.nr_states >= me.max_states )
        return false;             /* no room: go on without */
    state &= ~0xfful;
    s = find_state(state);
    if ( s->hash && (s->hash & 0xff) >= left )
    {
        me.cut++;
        return true;
    }
    me.nr_states += !s->hash;
    s->hash = state | left;
    return false;
}

unsigned long choose_cut(void)
{
    return me.cut;
}

static unsigned int pick_random(enum fork_kind kind, unsigned int nr,
                                unsigned int nr_free)
{
    /* Where it could just go on it mostly does. */
    if ( kind == FORK_CPU && nr_free < nr && draw() % 8 )
        return draw() % nr_free;
    return draw() % nr;
}

static unsigned int pick_pct(enum fork_kind kind, unsigned int fork,
                             unsigned int nr, const uint8_t *thread,
                             unsigned int running_thread)
{
    unsigned int i, best = 0;

    if ( kind != FORK_CPU )
        return draw() % nr;
    for ( i = 0; i < PCT_CHANGES; i++ )
        if ( me.change[i] == fork )
            me.priority[running_thread] = me.lowest--;
    for ( i = 1; i < nr; i++ )
        if ( me.priority[thread[i]] > me.priority[thread[best]] )
            best = i;
    return best;
}

static unsigned int pick_replayed(unsigned int fork, unsigned int nr)
{
    unsigned int pick = 0;

    while ( me.replayed < me.replay->nr &&
            me.replay->dev[me.replayed].fork <= fork )
    {
        if ( me.replay->dev[me.replayed].fork == fork )
            pick = me.replay->dev[me.replayed].pick;
        me.replayed++;
    }
    return pick < nr ? pick : 0;
}

unsigned int choose(enum fork_kind kind, unsigned int nr, unsigned int nr_free,
                    const uint8_t *thread, unsigned int running_thread)
{
    unsigned int fork, pick = 0;

    if ( nr < 2 )
        return 0;
    fork = me.forks++;
    switch ( me.strategy )
    {
    case DFS:
        pick = pick_dfs(fork, me.left ? nr : nr_free);
        break;
    case RANDOM:
        pick = pick_random(kind, nr, nr_free);
        break;
    case PCT:
        pick = pick_pct(kind, fork, nr, thread, running_thread);
        break;
    case REPLAY:
        pick = pick_replayed(fork, nr);
        break;
    }
    if ( pick >= nr_free && me.left )
        me.left--;
    if ( pick && me.taken->nr < MAX_DEVIATIONS )
        me.taken->dev[me.taken->nr++] = (struct deviation){ fork, pick };
    return pick;
}

const struct schedule *choose_taken(void)
{
    return me.taken;
}

unsigned int choose_forks(void)
{
    return me.forks;
}
