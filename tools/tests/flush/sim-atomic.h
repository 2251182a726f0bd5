/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-atomic.h - atomics, barriers and bit operations from builtins.
 *
 * Design
 *
 * Each name keeps the contract it has in Xen on x86: read_atomic() is an
 * acquire load, write_atomic() a release store (that is what TSO gives), and
 * every locked instruction is a full barrier.  sim_point() comes before each
 * access (and after a store): the deterministic scheduler (sim-sched.c) may
 * take an interrupt or switch CPUs there.  sim_locked() also counts one locked
 * operation.
 *
 * The explorer (tools/flushsim/explore) compiles this with the calls for the
 * thread sanitizer, and has functions of its own in place of the sanitizer's.
 *
 * The thread sanitizer knows no stand-alone fences; in its build smp_mb() is
 * an exchange on a word of the running CPU's own.
 */
#ifndef FLUSH_TEST_SIM_ATOMIC_H
#define FLUSH_TEST_SIM_ATOMIC_H

void sim_sched_point(void);

static always_inline void sim_point(void)
{
#ifndef SIM_EXPLORE               /* which sees the access itself */
    barrier();
    if ( unlikely(sim_self.hooks) )
        sim_sched_point();
#endif
}

static always_inline void sim_locked(void)
{
    sim_point();
    if ( unlikely(sim_self.counting) )
        sim_self.locked_ops++;
    sim_self.unfenced = false;
    sim_self.fences++;
}

/* Tests that want to know what a mask looked like when it was read last. */
static always_inline void sim_note_read(const volatile void *p,
                                        unsigned long value)
{
    size_t off = (const char *)p - (const char *)sim_watch.mask;

    if ( likely(!sim_watch.mask) || off >= BITS_TO_LONGS(NR_CPUS) * 8 )
        return;
    if ( sim_self.fences == sim_watch.start )
        sim_watch.word[off / 8].early |= value;
    else
    {
        if ( !sim_watch.word[off / 8].ordered )
            sim_watch.word[off / 8].all = ~0UL;
        sim_watch.word[off / 8].ordered = true;
        sim_watch.word[off / 8].all &= value;
    }
}

/* ---- barriers ---- */
static inline void smp_mb(void)
{
    sim_locked();
#if defined(__SANITIZE_THREAD__) && !defined(SIM_EXPLORE)
    static __thread int own;
    __atomic_exchange_n(&own, 0, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
#ifdef SIM_EXPLORE                /* nothing on x86, but it has weaker models */
# define smp_rmb() memory_rmb()
# define smp_wmb() memory_wmb()
#else
# define smp_rmb() sim_point()
# define smp_wmb() sim_point()
#endif
#define mb() smp_mb()
#define rmb() barrier()
#define wmb() barrier()
#define smp_mb__before_atomic() ((void)0)
#define smp_mb__after_atomic() ((void)0)

/* ---- plain-sized accesses ---- */
#define read_atomic(p) ({ sim_point(); \
    const typeof(*(p)) v_ = __atomic_load_n(p, __ATOMIC_ACQUIRE); \
    sim_note_read(p, (unsigned long)v_); (typeof(*(p)))v_; })
#define write_atomic(p, x) ({ typeof(*(p)) x_ = (x); sim_point(); \
    __atomic_store_n(p, x_, __ATOMIC_RELEASE); sim_point(); })
/* Not atomic as a whole: the one writer adds, others only read. */
#define add_sized(p, x) ({ typeof(*(p)) n_; sim_point(); \
    n_ = __atomic_load_n(p, __ATOMIC_RELAXED) + (x); \
    __atomic_store_n(p, n_, __ATOMIC_RELEASE); })

/* ---- locked operations ---- */
#define cmpxchg(p, o, n) ({ typeof(*(p)) o_ = (o), n_ = (n); sim_locked(); \
    __atomic_compare_exchange_n(p, &o_, n_, false, __ATOMIC_SEQ_CST, \
                                __ATOMIC_SEQ_CST); o_; })
#define xchg(p, n) ({ typeof(*(p)) n_ = (n); sim_locked(); \
    __atomic_exchange_n(p, n_, __ATOMIC_SEQ_CST); })
#define arch_fetch_and_add(p, v) ({ sim_locked(); \
    __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); })

static inline int atomic_read(const atomic_t *v)
{
    return read_atomic(&v->counter);
}
static inline void atomic_set(atomic_t *v, int i)
{
    write_atomic(&v->counter, i);
}
static inline int atomic_add_return(int i, atomic_t *v)
{
    return arch_fetch_and_add(&v->counter, i) + i;
}
static inline int atomic_sub_return(int i, atomic_t *v)
{
    return arch_fetch_and_add(&v->counter, -i) - i;
}
#define atomic_add(i, v) ((void)atomic_add_return(i, v))
#define atomic_sub(i, v) ((void)atomic_sub_return(i, v))
#define atomic_inc(v) atomic_add(1, v)
#define atomic_dec(v) atomic_sub(1, v)
#define atomic_inc_return(v) atomic_add_return(1, v)
#define atomic_dec_return(v) atomic_sub_return(1, v)
#define atomic_inc_and_test(v) (atomic_add_return(1, v) == 0)
#define atomic_dec_and_test(v) (atomic_sub_return(1, v) == 0)
#define atomic_sub_and_test(i, v) (atomic_sub_return(i, v) == 0)
static inline int atomic_cmpxchg(atomic_t *v, int old, int new)
{
    return cmpxchg(&v->counter, old, new);
}
static inline void atomic_and(int m, atomic_t *v)
{
    sim_locked();
    __atomic_fetch_and(&v->counter, m, __ATOMIC_SEQ_CST);
}

/* ---- bits: a 32-bit word at a time, as x86's bts and btr do it ---- */
#define sim_bit(nr) (1U << ((unsigned int)(nr) & 31))
static always_inline volatile uint32_t *sim_word(int nr,
                                                 const volatile void *addr)
{
    return (volatile uint32_t *)addr + (nr >> 5);
}
static inline void set_bit(int nr, volatile void *addr)
{
    sim_locked();
    __atomic_fetch_or(sim_word(nr, addr), sim_bit(nr), __ATOMIC_SEQ_CST);
}
static inline void clear_bit(int nr, volatile void *addr)
{
    sim_locked();
    __atomic_fetch_and(sim_word(nr, addr), ~sim_bit(nr), __ATOMIC_SEQ_CST);
}
static inline int test_and_set_bit(int nr, volatile void *addr)
{
    sim_locked();
    return !!(__atomic_fetch_or(sim_word(nr, addr), sim_bit(nr),
                                __ATOMIC_SEQ_CST) & sim_bit(nr));
}
static inline int test_and_clear_bit(int nr, volatile void *addr)
{
    sim_locked();
    return !!(__atomic_fetch_and(sim_word(nr, addr), ~sim_bit(nr),
                                 __ATOMIC_SEQ_CST) & sim_bit(nr));
}
static inline int test_bit(int nr, const volatile void *addr)
{
    sim_point();
    return !!(__atomic_load_n(sim_word(nr, addr), __ATOMIC_ACQUIRE) &
              sim_bit(nr));
}
static inline void __set_bit(int nr, volatile void *addr)
{
    uint32_t word = *sim_word(nr, addr);

    sim_point();
    *sim_word(nr, addr) = word | sim_bit(nr);
}
static inline void __clear_bit(int nr, volatile void *addr)
{
    uint32_t word = *sim_word(nr, addr);

    sim_point();
    *sim_word(nr, addr) = word & ~sim_bit(nr);
}
static inline int __test_and_set_bit(int nr, volatile void *addr)
{
    int old = !!(*sim_word(nr, addr) & sim_bit(nr));

    __set_bit(nr, addr);
    return old;
}
static inline int __test_and_clear_bit(int nr, volatile void *addr)
{
    int old = !!(*sim_word(nr, addr) & sim_bit(nr));

    __clear_bit(nr, addr);
    return old;
}

static inline unsigned int find_next_bit(const unsigned long *addr,
                                         unsigned int size, unsigned int off)
{
    while ( off < size )
    {
        unsigned long word = __atomic_load_n(&addr[off / 64],
                                             __ATOMIC_RELAXED) >> off % 64;

        if ( word )
        {
            off += __builtin_ctzl(word);
            return off < size ? off : size;
        }
        off = (off / 64 + 1) * 64;
    }
    return size;
}
#define find_first_bit(addr, size) find_next_bit(addr, size, 0)

static inline int ffs(unsigned int x)
{
    return __builtin_ffs(x);
}
static inline int ffsl(unsigned long x)
{
    return __builtin_ffsl(x);
}
static inline int fls(unsigned int x)
{
    return x ? 32 - __builtin_clz(x) : 0;
}
static inline int flsl(unsigned long x)
{
    return x ? 64 - __builtin_clzl(x) : 0;
}
#define find_first_set_bit(x) ((unsigned int)__builtin_ctzl(x))
#define hweight64(x) generic_hweight64(x)
#define hweight32(x) generic_hweight32(x)

#endif /* FLUSH_TEST_SIM_ATOMIC_H */
