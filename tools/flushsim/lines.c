/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lines.c - cache lines: a directory with an owner, sharers and a queue.
 *
 * Design
 *
 * A line is with one owner (who may write it), with sharers, or with nobody.
 * A read that misses makes the owner a sharer; a store or a locked operation
 * takes the line from everybody else.  Either waits until the line is not busy
 * with somebody else's, keeps it busy for busy_*, and has it after line_*, by
 * distance to the owner or the nearest sharer.  Taking a line that one shares
 * moves no data and costs upgrade_pct of the way to the farthest sharer.
 *
 * Stores go through a store buffer: the CPU goes on, the line changes hands
 * later, and a locked operation or fence waits for that.  The value is in
 * memory at once, yet nobody can see it early: all other copies are gone, so a
 * reader queues for the line behind the store.
 *
 * A core has several loads in flight: those that come shortly after one that
 * missed, to the same line, are served by it even if the line is gone again.
 *
 * Lines that were touched by one CPU only, or never written since boot, are
 * "cold": their accesses are not put in order with those of other CPUs, which
 * is most of them.  The first access that makes a line "hot" is.
 *
 * cpu_relax() waits for a line that was read since the last one to be written
 * by another CPU.  version counts those writes.
 */
#include "fs.h"

#include <sys/mman.h>

#define LINE_SHIFT 6
#define NOBODY (~0U)
#define MAX_LINES (1U << 18)

struct line {
    uintptr_t addr;
    unsigned int owner;           /* CPU, or NOBODY */
    unsigned int last;            /* who took the last turn */
    unsigned int first;           /* who touched it first, or NOBODY */
    unsigned int version;
    bool shared, written, hot, is_free;
    fs_time busy;                 /* until then */
    unsigned long transfers, invalidations;
    fs_time waited, queued;
    unsigned long sharers[FS_WORDS];
    unsigned long watchers[FS_WORDS];
};

static struct line *lines;
static unsigned int nr_lines = 1;
static uint32_t *line_of;         /* by address, 0: none yet */

/* CPUs of one core, one CCX, one socket. */
static unsigned long core_mask[NR_CPUS][FS_WORDS], ccx_mask[NR_CPUS][FS_WORDS];
static unsigned long socket_mask[FS_NODES][FS_WORDS];
static unsigned int words;

static void *reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if ( p == MAP_FAILED )
        fs_fail("no memory for the directory");
    return p;
}

static void mark(unsigned long *mask, unsigned int cpu)
{
    mask[cpu / 64] |= 1UL << (cpu % 64);
}

static bool marked(const unsigned long *mask, unsigned int cpu)
{
    return (mask[cpu / 64] >> (cpu % 64)) & 1;
}

void fs_lines_init(void)
{
    unsigned int a, b;

    line_of = reserve(((FS_STATIC_SIZE + FS_NODES * FS_NODE_SIZE) >>
                       LINE_SHIFT) * sizeof(*line_of));
    lines = reserve(MAX_LINES * sizeof(*lines));
    words = (fs_nr_cpus + 63) / 64;
    for ( a = 0; a < fs_nr_cpus; a++ )
    {
        mark(socket_mask[fs_cpu[a].socket], a);
        for ( b = 0; b < fs_nr_cpus; b++ )
        {
            if ( fs_cpu[a].core == fs_cpu[b].core )
                mark(core_mask[a], b);
            if ( fs_cpu[a].ccx == fs_cpu[b].ccx )
                mark(ccx_mask[a], b);
        }
    }
}

static size_t line_index(uintptr_t addr)
{
    return (addr >= FS_ARENA ? FS_STATIC_SIZE + addr - FS_ARENA
                             : addr - FS_BASE) >> LINE_SHIFT;
}

static struct line *find_line(uintptr_t addr)
{
    uint32_t *slot = &line_of[line_index(addr)];
    struct line *l;

    if ( *slot )
        return &lines[*slot];
    if ( nr_lines == MAX_LINES )
        fs_fail("more than %u cache lines", MAX_LINES);
    *slot = nr_lines;
    l = &lines[nr_lines++];
    l->addr = addr & ~((1UL << LINE_SHIFT) - 1);
    l->owner = l->first = NOBODY;
    return l;
}

void fs_line_free(const void *p, size_t size)
{
    uintptr_t a = (uintptr_t)p & ~63UL;

    for ( ; a < (uintptr_t)p + size; a += 64 )
        find_line(a)->is_free = true;
}

/* ---- distance ---- */
enum dist { SMT, NEAR, SOCKET, HOP1, HOP2, MEMORY };

/* Two links from each of eight sockets: a cube whose far corners are linked. */
unsigned int fs_hops(unsigned int a, unsigned int b)
{
    return a == b ? 0 : __builtin_popcount(a ^ b) == 1 ? 1 : 2;
}

static enum dist far(unsigned int a, unsigned int b)
{
    return fs_topo.sockets <= 2 || fs_hops(a, b) == 1 ? HOP1 : HOP2;
}

static enum dist distance(const struct fs_cpu *a, const struct fs_cpu *b)
{
    return a->core == b->core ? SMT : a->ccx == b->ccx ? NEAR :
           a->socket == b->socket ? SOCKET : far(a->socket, b->socket);
}

static bool meets(const unsigned long *a, const unsigned long *b)
{
    unsigned int i;

    for ( i = 0; i < words; i++ )
        if ( a[i] & b[i] )
            return true;
    return false;
}

static bool beyond(const unsigned long *a, const unsigned long *b)
{
    unsigned int i;

    for ( i = 0; i < words; i++ )
        if ( a[i] & ~b[i] )
            return true;
    return false;
}

static enum dist nearest(const struct line *l, const struct fs_cpu *c)
{
    enum dist best = MEMORY;
    unsigned int s;

    if ( meets(l->sharers, core_mask[c->id]) )
        return SMT;
    if ( meets(l->sharers, ccx_mask[c->id]) )
        return NEAR;
    if ( meets(l->sharers, socket_mask[c->socket]) )
        return SOCKET;
    for ( s = 0; s < fs_topo.sockets; s++ )
        if ( meets(l->sharers, socket_mask[s]) && far(c->socket, s) < best )
            best = far(c->socket, s);
    return best;
}

static enum dist farthest(const struct line *l, const struct fs_cpu *c)
{
    enum dist worst = HOP1;
    unsigned int s;

    if ( !beyond(l->sharers, core_mask[c->id]) )
        return SMT;
    if ( !beyond(l->sharers, ccx_mask[c->id]) )
        return NEAR;
    if ( !beyond(l->sharers, socket_mask[c->socket]) )
        return SOCKET;
    for ( s = 0; s < fs_topo.sockets; s++ )
        if ( s != c->socket && meets(l->sharers, socket_mask[s]) &&
             far(c->socket, s) > worst )
            worst = far(c->socket, s);
    return worst;
}

static fs_time way(enum dist d)
{
    const fs_time t[] = {
        fs_cost.line_smt, fs_cost.line_near, fs_cost.line_socket,
        fs_cost.line_hop1, fs_cost.line_hop2, fs_cost.line_memory };

    return t[d];
}

static fs_time hold(enum dist d)
{
    const fs_time t[] = {
        fs_cost.busy_smt, fs_cost.busy_near, fs_cost.busy_socket,
        fs_cost.busy_hop1, fs_cost.busy_hop2, fs_cost.busy_socket };

    return t[d];
}

/* ---- misses ---- */
static bool has_copy(const struct line *l, const struct fs_cpu *c)
{
    return l->owner == c->id || marked(l->sharers, c->id);
}

static enum dist source(const struct line *l, const struct fs_cpu *c)
{
    return l->owner != NOBODY ? distance(&fs_cpu[l->owner], c)
                              : nearest(l, c);
}

/*
 * Wait for one's turn.  The line is taken only then: until that time whoever
 * has it can go on using it.  The next one's turn is @span later.
 */
static void take_turn(struct line *l, struct fs_cpu *c, fs_time span)
{
    fs_time start = l->busy > c->now ? l->busy : c->now;

    l->queued += start - c->now;
    l->busy = start + span;
    l->last = c->id;
    l->transfers++;
    if ( start == c->now )
        return;
    c->now = start;
    fs_order();
}

/* How far the line is when it is this CPU's turn: from the one before. */
static enum dist source_in_turn(const struct line *l, const struct fs_cpu *c)
{
    return l->busy > c->now ? distance(&fs_cpu[l->last], c) : source(l, c);
}

static void read_miss(struct line *l, struct fs_cpu *c)
{
    fs_time from = c->now;

    take_turn(l, c, fs_cost.busy_read);
    c->now += way(source(l, c));
    c->filled = l - lines;
    c->fresh = c->now + fs_cost.window;
    l->waited += c->now - from;
    if ( l->owner != NOBODY )
        mark(l->sharers, l->owner);
    l->owner = NOBODY;
    mark(l->sharers, c->id);
}

static bool only_sharer(const struct line *l, const struct fs_cpu *c)
{
    unsigned int i;

    if ( l->owner != NOBODY || !marked(l->sharers, c->id) )
        return false;
    for ( i = 0; i < words; i++ )
        if ( l->sharers[i] & ~(i == c->id / 64 ? 1UL << (c->id % 64) : 0) )
            return false;
    return true;
}

/* The way of the message that makes this CPU the owner. */
static fs_time way_to_own(const struct line *l, const struct fs_cpu *c)
{
    if ( marked(l->sharers, c->id) )
        return way(farthest(l, c)) * fs_cost.upgrade_pct / 100;
    return way(source(l, c));
}

/* Become the owner; returns how long that takes from now on. */
static fs_time own(struct line *l, struct fs_cpu *c)
{
    fs_time asked = c->now, span, needed;

    if ( only_sharer(l, c) && l->busy <= c->now )
        needed = 0;
    else
    {
        span = hold(source_in_turn(l, c));
        take_turn(l, c, span);
        needed = way_to_own(l, c);
        /* In a queue the line comes straight from the one before. */
        if ( c->now > asked && span < needed )
            needed = span;
    }
    l->invalidations++;
    l->owner = c->id;
    memset(l->sharers, 0, words * sizeof(*l->sharers));
    return needed;
}

static void wake_watchers(struct line *l, struct fs_cpu *c, fs_time when)
{
    unsigned int i;

    l->version++;
    for ( i = 0; i < words; i++ )
        while ( l->watchers[i] )
        {
            struct fs_cpu *w =
                &fs_cpu[i * 64 + __builtin_ctzl(l->watchers[i])];

            l->watchers[i] &= l->watchers[i] - 1;
            if ( w != c && w->state == FS_RELAX )
                fs_wake(w, (when > w->now ? when : w->now) +
                           fs_rand_below(w, fs_cost.pause));
        }
}

/* The CPU goes on as soon as it is the store's turn. */
static void do_write(struct line *l, struct fs_cpu *c)
{
    fs_time needed, from;

    c->now += fs_cost.hit;
    if ( l->owner == c->id )
        return;
    needed = own(l, c);
    from = c->now > c->stores_done ? c->now : c->stores_done;
    c->stores_done = from + needed;
    wake_watchers(l, c, c->stores_done);
}

/*
 * A failed compare-and-exchange is tried again at once.  Often enough (see
 * keep_pct) the line is still there; without that every success would cost
 * as many transfers as there are CPUs that try.
 */
static void keep_for_retry(struct line *l, struct fs_cpu *c)
{
    fs_time until = c->now + 3 * fs_cost.locked;

    if ( fs_rand_below(c, 100) < fs_cost.keep_pct && l->busy < until )
        l->busy = until;
}

static void do_locked(struct line *l, struct fs_cpu *c)
{
    fs_time from, needed;

    fs_fence();
    if ( l->owner == c->id )
        return;
    from = c->now;
    needed = own(l, c);
    c->now += needed;
    keep_for_retry(l, c);
    l->waited += c->now - from;
    wake_watchers(l, c, c->now);
}

static void do_read(struct line *l, struct fs_cpu *c)
{
    if ( has_copy(l, c) || (c->filled == l - lines && c->now <= c->fresh) )
        c->now += fs_cost.hit;
    else
        read_miss(l, c);
}

/* A line of a kind that is left out: as if each CPU had its own. */
static void free_access(struct fs_cpu *c, enum fs_kind kind)
{
    if ( kind == FS_LOCKED )
        fs_fence();
    else
        c->now += fs_cost.hit;
}

void fs_fence(void)
{
    struct fs_cpu *c = fs_cur;

    if ( !fs_active )
        return;
    if ( c->stores_done > c->now )
        c->now = c->stores_done;
    c->now += fs_cost.locked;
}

/* ---- watching: the first look counts, others may come after a change ---- */
static void note_read(struct line *l, struct fs_cpu *c)
{
    unsigned int nr = l - lines, i;

    for ( i = c->nr_watch; i-- > 0; )
        if ( c->watch[i].line == nr )
            return;
    if ( c->nr_watch == FS_MAX_WATCH )
    {
        c->too_many = true;
        return;
    }
    c->watch[c->nr_watch++] = (struct fs_watch){ nr, l->version };
}

void fs_unwatch(struct fs_cpu *c)
{
    unsigned int i;

    for ( i = 0; i < c->nr_watch; i++ )
        lines[c->watch[i].line].watchers[c->id / 64] &= ~(1UL << (c->id % 64));
}

/*
 * False if one of the lines was written meanwhile, or is not there any more
 * (see window): its owner's next store would go unnoticed.
 */
bool fs_watch_arm(struct fs_cpu *c)
{
    unsigned int i;

    for ( i = 0; i < c->nr_watch; i++ )
        if ( lines[c->watch[i].line].version != c->watch[i].version ||
             !has_copy(&lines[c->watch[i].line], c) )
            return false;
    for ( i = 0; i < c->nr_watch; i++ )
        mark(lines[c->watch[i].line].watchers, c->id);
    return true;
}

/* For a deadlock: what a CPU waits for. */
void fs_show_watch(const struct fs_cpu *c)
{
    unsigned int i;

    for ( i = 0; i < c->nr_watch; i++ )
        fprintf(stderr, "    %s%s\n", fs_name_of(lines[c->watch[i].line].addr),
                lines[c->watch[i].line].version != c->watch[i].version
                ? " (changed)" : "");
}

/* ---- an access ---- */
static void heat(struct line *l, const struct fs_cpu *c, enum fs_kind kind)
{
    if ( l->first == NOBODY )
        l->first = c->id;
    else if ( l->first != c->id )
        l->shared = true;
    if ( kind != FS_READ )
        l->written = true;
    l->hot = l->shared && l->written;
}

void fs_access(uintptr_t addr, enum fs_kind kind)
{
    struct fs_cpu *c = fs_cur;
    struct line *l;

    if ( sim_self.irq_on && fs_irq_due(c) )
        fs_take_irqs(c);
    l = find_line(addr);
    if ( l->is_free )
    {
        free_access(c, kind);
        return;
    }
    if ( !l->hot )
        heat(l, c, kind);
    if ( l->hot )
        fs_order();
    if ( kind == FS_READ )
    {
        note_read(l, c);
        do_read(l, c);
    }
    else if ( kind == FS_WRITE )
        do_write(l, c);
    else
        do_locked(l, c);
}

void fs_range(const void *p, size_t size, enum fs_kind kind)
{
    uintptr_t a = (uintptr_t)p & ~63UL, end = (uintptr_t)p + size;

    if ( !fs_active || !fs_is_memory((uintptr_t)p) )
        return;
    for ( ; a < end; a += 64 )
        fs_access(a, kind);
}

/* ---- who waited for which line ---- */
static int by_wait(const void *a, const void *b)
{
    const struct fs_line_stats *x = a, *y = b;

    if ( x->waited != y->waited )
        return x->waited < y->waited ? 1 : -1;
    return x->addr < y->addr ? -1 : 1;
}

unsigned int fs_line_profile(struct fs_line_stats *top, unsigned int n)
{
    struct fs_line_stats *all = calloc(nr_lines, sizeof(*all));
    unsigned int i;

    for ( i = 1; i < nr_lines; i++ )
        all[i - 1] = (struct fs_line_stats){
            lines[i].addr, lines[i].transfers, lines[i].invalidations,
            lines[i].waited, lines[i].queued };
    qsort(all, nr_lines - 1, sizeof(*all), by_wait);
    if ( n > nr_lines - 1 )
        n = nr_lines - 1;
    memcpy(top, all, n * sizeof(*top));
    free(all);
    return n;
}
