/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hooks.c - what the compiler calls at each access to memory.
 *
 * Design: -fsanitize=thread makes the compiler call these in front of plain
 * accesses and in place of atomic ones.  Here they are without the sanitizer:
 * an access to the memory that Xen's data is in goes to the directory, anything
 * else (stacks, the running CPU's own description) is free.  A locked operation
 * on the latter is how the harness writes smp_mb().
 */
#include "fs.h"

static inline void seen(const volatile void *p, enum fs_kind kind)
{
    if ( !fs_active )
        return;
    if ( fs_is_memory((uintptr_t)p) )
        fs_access((uintptr_t)p, kind);
    else if ( kind == FS_LOCKED )
        fs_fence();
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

#define PLAIN(name, kind) \
    void __tsan_##name(void *p); \
    void __tsan_##name(void *p) { seen(p, kind); }
PLAIN(read1, FS_READ)
PLAIN(read2, FS_READ)
PLAIN(read4, FS_READ)
PLAIN(read8, FS_READ)
PLAIN(read16, FS_READ)
PLAIN(unaligned_read2, FS_READ)
PLAIN(unaligned_read4, FS_READ)
PLAIN(unaligned_read8, FS_READ)
PLAIN(unaligned_read16, FS_READ)
PLAIN(write1, FS_WRITE)
PLAIN(write2, FS_WRITE)
PLAIN(write4, FS_WRITE)
PLAIN(write8, FS_WRITE)
PLAIN(write16, FS_WRITE)
PLAIN(unaligned_write2, FS_WRITE)
PLAIN(unaligned_write4, FS_WRITE)
PLAIN(unaligned_write8, FS_WRITE)
PLAIN(unaligned_write16, FS_WRITE)

#define RANGE(name, kind) \
    void __tsan_##name##_range(void *p, size_t n); \
    void __tsan_##name##_range(void *p, size_t n) { fs_range(p, n, kind); }
RANGE(read, FS_READ)
RANGE(write, FS_WRITE)

/* Memory order: on x86 only a sequentially consistent store is locked. */
#define STORE_KIND(mo) ((mo) == __ATOMIC_SEQ_CST ? FS_LOCKED : FS_WRITE)

#define FETCH(bits, type, op) \
    type __tsan_atomic##bits##_fetch_##op(volatile type *p, type v, int mo); \
    type __tsan_atomic##bits##_fetch_##op(volatile type *p, type v, int mo) \
    { \
        seen(p, FS_LOCKED); \
        return __atomic_fetch_##op(p, v, __ATOMIC_RELAXED); \
    }

#define ATOMIC(bits, type) \
    type __tsan_atomic##bits##_load(const volatile type *p, int mo); \
    type __tsan_atomic##bits##_load(const volatile type *p, int mo) \
    { \
        seen(p, FS_READ); \
        return *p; \
    } \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int mo); \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int mo) \
    { \
        seen(p, STORE_KIND(mo)); \
        *p = v; \
    } \
    type __tsan_atomic##bits##_exchange(volatile type *p, type v, int mo); \
    type __tsan_atomic##bits##_exchange(volatile type *p, type v, int mo) \
    { \
        type old; \
        seen(p, FS_LOCKED); \
        old = *p; \
        *p = v; \
        return old; \
    } \
    int __tsan_atomic##bits##_compare_exchange_strong( \
        volatile type *p, type *expected, type v, int mo, int fail); \
    int __tsan_atomic##bits##_compare_exchange_strong( \
        volatile type *p, type *expected, type v, int mo, int fail) \
    { \
        type old; \
        seen(p, FS_LOCKED); \
        old = *p; \
        if ( old == *expected ) \
        { \
            *p = v; \
            return 1; \
        } \
        *expected = old; \
        return 0; \
    } \
    FETCH(bits, type, add) FETCH(bits, type, sub) FETCH(bits, type, and) \
    FETCH(bits, type, or) FETCH(bits, type, xor)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int mo);
void __tsan_atomic_thread_fence(int mo)
{
    if ( mo == __ATOMIC_SEQ_CST )
        fs_fence();
}

void __tsan_atomic_signal_fence(int mo);
void __tsan_atomic_signal_fence(int mo)
{
}

void *fs_memset(void *p, int c, size_t n)
{
    fs_range(p, n, FS_WRITE);
    return memset(p, c, n);
}

void *fs_memcpy(void *to, const void *from, size_t n)
{
    fs_range(from, n, FS_READ);
    fs_range(to, n, FS_WRITE);
    return memcpy(to, from, n);
}

int fs_memcmp(const void *a, const void *b, size_t n)
{
    fs_range(a, n, FS_READ);
    fs_range(b, n, FS_READ);
    return memcmp(a, b, n);
}

/* The harness has a hook of its own, which nobody asks for here. */
void sim_sched_point(void);
void sim_sched_point(void)
{
}
