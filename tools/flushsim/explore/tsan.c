/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tsan.c - what code compiled with -fsanitize=thread calls.
 *
 * Design: the compiler puts a call in front of each plain load and store, and
 * makes each __atomic builtin a call.  The code under test has the latter from
 * sim-atomic.h: relaxed and acquire loads and release stores are what
 * read_atomic() and write_atomic() do, all the rest are locked instructions.
 */
#include "explore.h"

#define HERE __builtin_return_address(0)

void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc)
{
}

void __tsan_func_exit(void)
{
}

#define PLAIN(size) \
    void __tsan_read ## size(void *p) \
    { memory_access(p, size, PLAIN_LOAD, HERE); } \
    void __tsan_write ## size(void *p) \
    { memory_access(p, size, PLAIN_STORE, HERE); } \
    void __tsan_unaligned_read ## size(void *p) \
    { memory_access(p, size, PLAIN_LOAD, HERE); } \
    void __tsan_unaligned_write ## size(void *p) \
    { memory_access(p, size, PLAIN_STORE, HERE); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)

/*
 * Of more than 8 bytes, which only the bookkeeping of hot plug does: what is
 * read is noted, what is written goes past the store buffer.
 */
static void big_read(void *p, size_t size, const void *pc)
{
    size_t i;

    for ( i = 0; i + 8 <= size; i += 8 )
        memory_access((char *)p + i, 8, LOAD, pc);
}

static void big_write(void *p, size_t size, const void *pc)
{
    size_t i;

    for ( i = 0; i + 8 <= size; i += 8 )
        memory_access((char *)p + i, 8, LOCKED, pc);
}

void __tsan_read16(void *p)
{
    big_read(p, 16, HERE);
}

void __tsan_write16(void *p)
{
    big_write(p, 16, HERE);
}

void __tsan_read_range(void *p, size_t size)
{
    big_read(p, size, HERE);
}

void __tsan_write_range(void *p, size_t size)
{
    big_write(p, size, HERE);
}

/* On x86 it is a locked instruction whatever it is called in C. */
static enum access rmw(int mo)
{
    return memory_model == MODEL_WEAK && mo == __ATOMIC_RELAXED ? RELAXED
                                                                : LOCKED;
}

#define RMW(bits, type, name, result) \
    type __tsan_atomic ## bits ## _ ## name(volatile type *p, type v, int mo) \
    { \
        type old; \
        \
        memory_access(p, sizeof(*p), rmw(mo), HERE); \
        old = *p; \
        *p = (result); \
        memory_locked(p, sizeof(*p), &old); \
        return old; \
    }

#define ATOMIC(bits, type) \
    type __tsan_atomic ## bits ## _load(const volatile type *p, int mo) \
    { \
        memory_access(p, sizeof(*p), LOAD, HERE); \
        return *p; \
    } \
    void __tsan_atomic ## bits ## _store(volatile type *p, type v, int mo) \
    { \
        memory_access(p, sizeof(*p), STORE, HERE); \
        memory_store(p, sizeof(*p), v); \
        if ( mo == __ATOMIC_SEQ_CST ) \
            memory_fence(); \
    } \
    RMW(bits, type, exchange, v) \
    RMW(bits, type, fetch_add, old + v) \
    RMW(bits, type, fetch_sub, old - v) \
    RMW(bits, type, fetch_and, old & v) \
    RMW(bits, type, fetch_or, old | v) \
    RMW(bits, type, fetch_xor, old ^ v) \
    int __tsan_atomic ## bits ## _compare_exchange_strong( \
        volatile type *p, type *expected, type v, int mo, int fail_mo) \
    { \
        type old; \
        \
        memory_access(p, sizeof(*p), LOCKED, HERE); \
        old = *p; \
        if ( old == *expected ) \
        { \
            *p = v; \
            memory_locked(p, sizeof(*p), &old); \
            return 1; \
        } \
        *expected = old; \
        return 0; \
    } \
    int __tsan_atomic ## bits ## _compare_exchange_weak( \
        volatile type *p, type *expected, type v, int mo, int fail_mo) \
    { \
        return __tsan_atomic ## bits ## _compare_exchange_strong( \
                   p, expected, v, mo, fail_mo); \
    }
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int mo)
{
    if ( mo == __ATOMIC_SEQ_CST )
        memory_fence();
}

void __tsan_atomic_signal_fence(int mo)
{
}
