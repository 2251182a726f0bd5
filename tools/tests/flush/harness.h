/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * harness.h - what hypervisor sources see instead of Xen's headers.
 *
 * Design
 *
 * The Makefile strips the #include lines of a hypervisor source and puts this
 * file in front, so the code under test is always the real text, never a
 * copy.  Xen's own headers that carry code which counts (bit maps, CPU masks,
 * ticket locks, reader-writer locks, notifiers) are treated the same way and
 * come in from gen/ below; what is left is small and written here from the
 * contract of each name.
 *
 * Two sets of primitives lie under the headers:
 *   SIM_REAL_ASM  Xen's own inline assembly (bitops.h, atomic.h, system.h):
 *                 for instruction counts and memory traces;
 *   otherwise     sim-atomic.h: compiler builtins with a hook in front, which
 *                 counts locked operations, lets the deterministic scheduler
 *                 switch CPUs, and which the thread sanitizer understands.
 *
 * A simulated CPU is what sim_self says it is; see sim.h for the machine.
 */
#ifndef FLUSH_TEST_HARNESS_H
#define FLUSH_TEST_HARNESS_H

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- configuration: what Kconfig would say ---- */
#ifndef CONFIG_NR_CPUS
# define CONFIG_NR_CPUS 256
#endif
#define NR_CPUS CONFIG_NR_CPUS
#define CONFIG_X86 1
#define CONFIG_HVM 1
#define CONFIG_PV 1
#define CONFIG_HAS_FAST_MULTIPLY 1
#if !defined(CONFIG_FLUSH_GROUP_HOST) && !defined(CONFIG_FLUSH_GROUP_NODE)
# define CONFIG_FLUSH_GROUP_NODE 1
#endif
#define BITS_PER_LONG 64
#define BYTES_PER_LONG 8
#define BITS_PER_BYTE 8
#define BITS_PER_LLONG 64
#define POINTER_ALIGN 8
#define __OS "q"
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define L1_CACHE_SHIFT 7
#define L1_CACHE_BYTES (1 << L1_CACHE_SHIFT)
#define SMP_CACHE_BYTES L1_CACHE_BYTES

/* ---- types ---- */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef bool bool_t;
typedef uint64_t paddr_t;
typedef int64_t s_time_t;
typedef u8 nodeid_t;
#define PRI_stime PRId64
#define uint64_aligned_t uint64_t

/* ---- compiler ---- */
#undef always_inline
#define always_inline inline __attribute__((__always_inline__))
#undef noinline
#define noinline __attribute__((__noinline__))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#ifdef SIM_EXPLORE                /* has a model of what it is good for */
void memory_barrier(void), memory_rmb(void), memory_wmb(void);
# define barrier() memory_barrier()
#else
# define barrier() __asm__ __volatile__ ( "" ::: "memory" )
#endif
#define __packed __attribute__((__packed__))
#define __used __attribute__((__used__))
#define __maybe_unused __attribute__((__unused__))
#define __must_check __attribute__((__warn_unused_result__))
#define __aligned(a) __attribute__((__aligned__(a)))
#define __cacheline_aligned __aligned(SMP_CACHE_BYTES)
#define __section(s) __attribute__((__section__(s)))
#define __used_section(s) __used __section("sim_lockprof")
#define noreturn __attribute__((__noreturn__))
#define cf_check
#define __init
#define __initdata
#define __initconst
#define __initconst_cf_clobber
#define __hwdom_init
#define __exit
/* Kept apart, as in Xen's image: the layout decides who shares a line. */
#define __read_mostly __section("sim_read_mostly")
#define __ro_after_init __section("sim_ro_after_init")
#define EXPORT_SYMBOL(sym)
#define EMIT_FILE
#define fallthrough __attribute__((__fallthrough__))
#define CLANG_DISABLE_WARN_GCC_COMPAT_START
#define CLANG_DISABLE_WARN_GCC_COMPAT_END
#define ASM_FLAG_OUT(yes, no) yes
#define RELOC_HIDE(ptr, off) \
    ({ unsigned long p_; __asm__ ( "" : "=r" (p_) : "0" (ptr)); \
       (typeof(ptr))(p_ + (off)); })
#define OPTIMIZER_HIDE_VAR(v) __asm__ ( "" : "+g" (v) )
#define ACCESS_ONCE(x) (*(volatile typeof(x) *)&(x))

/* ---- xen/lib.h and friends ---- */
#define PASTE_(a, b) a ## b
#define PASTE(a, b) PASTE_(a, b)
#define STR_(x...) #x
#define STR(x...) STR_(x)
#define BUILD_BUG_ON(c) ({ _Static_assert(!(c), "!(" #c ")"); })
#define BUILD_BUG_ON_ZERO(c) \
    sizeof(struct { char dummy; _Static_assert(!(c), "!(" #c ")"); }) * 0
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ROUNDUP(x, a) (((x) + (a) - 1) & ~((a) - 1))
#define IS_ALIGNED(v, a) (!((v) & ((a) - 1)))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define MASK_EXTR(v, m) (((v) & (m)) / ((m) & -(m)))
#define BITS_TO_LONGS(n) DIV_ROUND_UP(n, BITS_PER_LONG)
#define BIT_WORD(nr) ((nr) / BITS_PER_LONG)
#define BIT_MASK(nr) (1UL << ((nr) % BITS_PER_LONG))
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]
#define __LITTLE_ENDIAN_BITFIELD
#ifndef __LITTLE_ENDIAN
# define __LITTLE_ENDIAN 1234
#endif
#define min(a, b) ({ typeof(a) a_ = (a); typeof(b) b_ = (b); \
                     a_ < b_ ? a_ : b_; })
#define max(a, b) ({ typeof(a) a_ = (a); typeof(b) b_ = (b); \
                     a_ > b_ ? a_ : b_; })
#define min_t(t, a, b) ({ t a_ = (a); t b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(t, a, b) ({ t a_ = (a); t b_ = (b); a_ > b_ ? a_ : b_; })
#define container_of(ptr, type, member) \
    ((type *)((char *)(ptr) - offsetof(type, member)))
size_t sim_strlcpy(char *to, const char *from, size_t size);
#define strlcpy sim_strlcpy
#define safe_strcpy(d, s) ((void)sim_strlcpy(d, s, sizeof(d)))
#define sizeof_field(type, member) sizeof(((type *)0)->member)

void noreturn sim_bug(const char *file, int line, const char *what);
#define BUG() sim_bug(__FILE__, __LINE__, "BUG")
#define BUG_ON(c) do { if ( c ) sim_bug(__FILE__, __LINE__, #c); } while ( 0 )
#define WARN() sim_bug(__FILE__, __LINE__, "WARN")
#define WARN_ON(c) ({ bool w_ = (c); \
    if ( w_ ) sim_bug(__FILE__, __LINE__, #c); w_; })
void noreturn sim_panic(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
#define panic sim_panic
#ifdef NDEBUG
# define ASSERT(c) do { if ( 0 && (c) ) {} } while ( 0 )
# define ASSERT_UNREACHABLE() do { } while ( 0 )
#else
# define ASSERT(c) \
    do { if ( !(c) ) sim_bug(__FILE__, __LINE__, #c); } while ( 0 )
# define ASSERT_UNREACHABLE() sim_bug(__FILE__, __LINE__, "unreachable")
#endif

#define XENLOG_ERR "<0>"
#define XENLOG_WARNING "<1>"
#define XENLOG_INFO "<2>"
#define XENLOG_DEBUG "<3>"
void printk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define printk_once(fmt, args...) \
    do { static bool done_; if ( !done_ ) { done_ = true; \
         printk(fmt, ## args); } } while ( 0 )
void warning_add(const char *text);
unsigned int get_random(void);
s_time_t sim_now(void);
#define NOW() sim_now()
int cmdline_strcmp(const char *frag, const char *name);

/* ---- allocation (xen/xmalloc.h, xen/mm.h): injectable, see sim.h ---- */
#define MEMF_node(n) (((n) + 1U) << 8)
#define NUMA_NO_NODE 0xFF
void *sim_alloc(size_t size, size_t align, bool zero, unsigned int memflags);
void sim_free(void *p);
#define _xmalloc(size, align) sim_alloc(size, align, false, 0)
#define _xzalloc(size, align) sim_alloc(size, align, true, 0)
#define xfree(p) sim_free(p)
#define XFREE(p) do { sim_free(p); (p) = NULL; } while ( 0 )
#define xmalloc(t) ((t *)_xmalloc(sizeof(t), __alignof__(t)))
#define xzalloc(t) ((t *)_xzalloc(sizeof(t), __alignof__(t)))
#define xmalloc_array(t, n) ((t *)_xmalloc(sizeof(t) * (n), __alignof__(t)))
#define xzalloc_array(t, n) ((t *)_xzalloc(sizeof(t) * (n), __alignof__(t)))
#define xmalloc_bytes(n) _xmalloc(n, SMP_CACHE_BYTES)
#define xzalloc_bytes(n) _xzalloc(n, SMP_CACHE_BYTES)
#define xzalloc_flex_struct(t, f, n) \
    ((t *)_xzalloc(offsetof(t, f[n]), __alignof__(t)))
#define xmalloc_flex_struct(t, f, n) \
    ((t *)_xmalloc(offsetof(t, f[n]), __alignof__(t)))
#define alloc_xenheap_pages(order, memflags) \
    sim_alloc(PAGE_SIZE << (order), PAGE_SIZE, false, memflags)
#define alloc_xenheap_page() alloc_xenheap_pages(0, 0)
#define free_xenheap_pages(p, order) sim_free(p)
#define free_xenheap_page(p) sim_free(p)
#define FREE_XENHEAP_PAGES(p, order) XFREE(p)
#define clear_page(p) memset(p, 0, PAGE_SIZE)
static inline unsigned int get_order_from_bytes(unsigned long size)
{
    unsigned int order = 0;

    while ( (PAGE_SIZE << order) < size )
        order++;
    return order;
}

/* ---- the running CPU ---- */
struct sim_self {
    unsigned int cpu;
    bool irq_on;
    bool hooks;                   /* the scheduler wants to be called */
    bool counting;                /* locked operations are being counted */
    bool unfenced;                /* took a lock, no full barrier since */
    unsigned long offset;         /* of this CPU's per-CPU area */
    unsigned long locked_ops;
    unsigned long fences;         /* full barriers so far */
};
extern __thread struct sim_self sim_self;
#define smp_processor_id() (sim_self.cpu)
#define raw_smp_processor_id() (sim_self.cpu)

/* ---- per-CPU data: one section, copied for each CPU but CPU0 ---- */
extern char __start_sim_percpu[], __stop_sim_percpu[];
#define __per_cpu_start __start_sim_percpu
#define __per_cpu_data_end __stop_sim_percpu
extern unsigned long __per_cpu_offset[NR_CPUS];
void percpu_init_areas(void);
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) per_cpu__ ## name
#define DEFINE_PER_CPU(type, name) \
    __section("sim_percpu") __typeof__(type) per_cpu__ ## name
#define DEFINE_PER_CPU_READ_MOSTLY(type, name) DEFINE_PER_CPU(type, name)
#define get_per_cpu_var(name) (per_cpu__ ## name)
#define per_cpu(name, cpu) \
    (*RELOC_HIDE(&per_cpu__ ## name, __per_cpu_offset[cpu]))
#define this_cpu(name) (*RELOC_HIDE(&per_cpu__ ## name, sim_self.offset))
#define this_cpu_ptr(ptr) (*RELOC_HIDE(ptr, sim_self.offset))
#define per_cpu_ptr(ptr, cpu) (*RELOC_HIDE(ptr, __per_cpu_offset[cpu]))
DECLARE_PER_CPU(unsigned int, __preempt_count);

/* ---- interrupts of the running CPU ---- */
#ifdef SIM_BENCH                  /* nobody interrupts there */
# define sim_irq_window() ((void)0)
#else
void sim_irq_window(void);
#endif
static inline bool local_irq_is_enabled(void)
{
    return sim_self.irq_on;
}
#define local_irq_disable() ((void)(sim_self.irq_on = false))
#define local_irq_enable() \
    do { sim_self.irq_on = true; sim_irq_window(); } while ( 0 )
#define local_irq_save(f) \
    do { (f) = sim_self.irq_on; local_irq_disable(); } while ( 0 )
#define local_irq_restore(f) \
    do { if ( f ) local_irq_enable(); else local_irq_disable(); } while ( 0 )
#define local_save_flags(f) ((f) = sim_self.irq_on)

typedef struct {
    unsigned int local_irq_count, nmi_count, mce_count;
} __cacheline_aligned irq_cpustat_t;
extern irq_cpustat_t irq_stat[];
#define in_irq() (irq_stat[smp_processor_id()].local_irq_count != 0)
#define in_nmi_handler() (irq_stat[smp_processor_id()].nmi_count != 0)
#define in_mce_handler() (irq_stat[smp_processor_id()].mce_count != 0)
#define irq_enter() (irq_stat[smp_processor_id()].local_irq_count++)
#define irq_exit() (irq_stat[smp_processor_id()].local_irq_count--)

/* ---- real headers, their includes stripped ---- */
#define preempt_disable() do { this_cpu(__preempt_count)++; } while ( 0 )
#define preempt_enable() do { this_cpu(__preempt_count)--; } while ( 0 )
#define config_enabled_1 0,
#define config_enabled__(ignored, val, ...) val
#define config_enabled_(x) config_enabled__(x 1, 0)
#define config_enabled(v) config_enabled_(config_enabled_ ## v)
#define IS_ENABLED(option) config_enabled(option)

/* The libc has functions of these names. */
#define ffs xen_ffs
#define ffsl xen_ffsl

/*
 * What the code under test read of a mask, word by word: before and after the
 * first full barrier since the watch began.
 */
struct sim_watch {
    const void *mask;             /* NULL: nothing is watched */
    unsigned long start;          /* sim_self.fences at the beginning */
    struct {
        unsigned long early;      /* bits seen set in some early look */
        unsigned long all;        /* bits seen set in every ordered look */
        bool ordered;             /* there was an ordered look */
    } word[BITS_TO_LONGS(NR_CPUS)];
};
extern struct sim_watch sim_watch;

#include "xen/atomic.h"
#ifdef SIM_REAL_ASM
# define alternative_io(old, new, feature, output, input...) \
    __asm__ __volatile__ ( old : output : input )
# define X86_EFLAGS_IF 0x200
# define cpu_has_cx16 1
# define cpu_relax_asm() __asm__ __volatile__ ( "rep; nop" ::: "memory" )
# pragma push_macro("local_irq_disable")
# pragma push_macro("local_irq_enable")
# pragma push_macro("local_irq_save")
# pragma push_macro("local_irq_restore")
# pragma push_macro("local_save_flags")
# undef local_irq_disable
# undef local_irq_enable
# undef local_irq_save
# undef local_irq_restore
# undef local_save_flags
# define local_irq_is_enabled real_local_irq_is_enabled
# include "asm/x86_64/system.h"
# include "asm/system.h"
# undef local_irq_is_enabled
# pragma pop_macro("local_irq_disable")
# pragma pop_macro("local_irq_enable")
# pragma pop_macro("local_irq_save")
# pragma pop_macro("local_irq_restore")
# pragma pop_macro("local_save_flags")
# include "asm/atomic.h"
# include "asm/bitops.h"
#else
# include "sim-atomic.h"
#endif
#include "xen/bitops.h"
void cpu_relax(void);
struct xenctl_bitmap;
#include "xen/bitmap.h"
#include "xen/cpumask.h"
#include "xen/list.h"
#include "xen/notifier.h"

#define arch_block_lock_speculation() barrier()
#include "xen/nospec.h"
#include "asm/spinlock.h"
#ifdef SIM_EXPLORE                /* does not order later loads */
# undef arch_lock_release_barrier
# define arch_lock_release_barrier() memory_wmb()
#endif

/* Lock profiling: the ABI's numbers, and what spinlock.c does with them. */
#ifdef CONFIG_DEBUG_LOCK_PROFILE
# define __lock_profile_start __start_sim_lockprof
# define __lock_profile_end __stop_sim_lockprof
# define XEN_GUEST_HANDLE_64(type) type *
# define DEFINE_XEN_GUEST_HANDLE(type) struct sim_unused_ ## type
# include "lockprof-abi.h"
# ifndef LOCKPROF_TYPE_PERNODE
#  define LOCKPROF_TYPE_PERNODE 2
#  undef LOCKPROF_TYPE_N
#  define LOCKPROF_TYPE_N 3
# endif
# define XEN_SYSCTL_LOCKPROF_reset 1
# define XEN_SYSCTL_LOCKPROF_query 2
# define copy_to_guest_offset(hnd, off, ptr, nr) \
    (memcpy((hnd) + (off), ptr, sizeof(*(ptr)) * (nr)), 0)
#else
# define LOCKPROF_TYPE_GLOBAL 0
# define LOCKPROF_TYPE_PERDOM 1
# define LOCKPROF_TYPE_PERNODE 2
#endif
#include "xen/spinlock.h"
#include "xen/rwlock.h"

/* ---- initialisation: presmp and ordinary calls, parameters ---- */
typedef int (*initcall_t)(void);
#define presmp_initcall(fn) \
    static const initcall_t __used __section("sim_presmp") pre_ ## fn = fn
#define __initcall(fn) \
    static const initcall_t __used __section("sim_initcall") init_ ## fn = fn
struct kernel_param {
    const char *name;
    enum { OPT_STR, OPT_UINT, OPT_BOOL, OPT_SIZE, OPT_CUSTOM,
           OPT_IGNORE } type;
    unsigned int len;
    union { void *var; int (*func)(const char *); } par;
};
#define MAX_PARAM_SIZE 128
#define sim_param(fn) static const struct kernel_param __used \
    __aligned(8) __section("sim_setup") sim_setup_ ## fn
#define custom_param(n, fn) \
    sim_param(fn) = { .name = n, .type = OPT_CUSTOM, .par.func = fn }
#define boolean_param(n, v) \
    sim_param(v) = { .name = n, .type = OPT_BOOL, .len = sizeof(v), \
                     .par.var = &v }

/* ---- xen/cpu.h, smp.h, numa.h, acpi ---- */
enum system_state {
    SYS_STATE_early_boot, SYS_STATE_boot, SYS_STATE_smp_boot,
    SYS_STATE_active, SYS_STATE_suspend, SYS_STATE_resume
};
extern enum system_state system_state;
#include "xen/cpu.h"
#define NODES_SHIFT 6
#define MAX_NUMNODES (1 << NODES_SHIFT)
#define MAX_LOCAL_APIC 32768
#define BAD_APICID (~0U)
extern nodeid_t cpu_to_node[NR_CPUS];
extern nodeid_t apicid_to_node[MAX_LOCAL_APIC];
extern u32 x86_cpu_to_apicid[NR_CPUS];
extern cpumask_t node_to_cpumask[MAX_NUMNODES];
typedef struct { DECLARE_BITMAP(bits, MAX_NUMNODES); } nodemask_t;
extern nodemask_t node_online_map;
#define node_test_and_set(n, mask) test_and_set_bit(n, (mask).bits)
#define node_online(n) test_bit(n, node_online_map.bits)
#define cpu_to_node(cpu) (cpu_to_node[cpu])
#define node_to_cpumask(node) (node_to_cpumask[node])
#define cpu_physical_id(cpu) (x86_cpu_to_apicid[cpu])
extern bool park_offline_cpus, pv_shim, opt_dit;
extern unsigned int unaccounted_cpus, disabled_cpus;
DECLARE_PER_CPU(cpumask_var_t, send_ipi_cpumask);
DECLARE_PER_CPU(cpumask_var_t, scratch_cpumask);

/* ---- APIC ---- */
#define INVALIDATE_TLB_VECTOR 0xf8
#define APIC_DM_FIXED 0
#define APIC_DM_NMI 0x400
#define APIC_LDR 0xd0
#define APIC_ICR 0x300
#define APIC_ICR2 0x310
#define APIC_ICR_BUSY 0x1000
#define APIC_DEST_SELF 0x40000
#define APIC_DEST_ALLBUT 0xc0000
#define APIC_DEST_PHYSICAL 0
#define SET_xAPIC_DEST_FIELD(x) ((x) << 24)
extern bool x2apic_enabled;
struct genapic {
    void (*init_apic_ldr)(void);
    void (*send_IPI_mask)(const cpumask_t *mask, int vector);
    void (*send_IPI_self)(uint8_t vector);
};
extern struct genapic genapic;
void init_apic_ldr_phys(void);
#define alternative_vcall(fn, args...) (fn)(args)
uint32_t apic_read(unsigned long reg);
void apic_write(unsigned long reg, uint32_t val);
#ifdef SIM_BENCH
/* apic_write(APIC_EOI, 0) in x2APIC mode, a nop in place of the WRMSR. */
static inline void ack_APIC_irq(void)
{
    if ( x2apic_enabled )
        __asm__ __volatile__ ( "nop" :: "c" (0x80b), "a" (0), "d" (0)
                               : "memory" );
    else
        apic_write(0xb0, 0);
}
#else
void ack_APIC_irq(void);
#endif
void send_IPI_mask(const cpumask_t *mask, int vector);

/* ---- the flush interface ---- */
struct cpu_user_regs;
#include "flush-flags.h"
unsigned int flush_area_local(const void *va, unsigned int flags);
void flush_area_mask(const cpumask_t *mask, const void *va,
                     unsigned int flags);
#define flush_mask(mask, flags) flush_area_mask(mask, NULL, flags)
void invalidate_interrupt(struct cpu_user_regs *regs);
int hypervisor_flush_tlb(const cpumask_t *mask, const void *va,
                         unsigned int flags);
int __sync_local_execstate(void);
extern bool sim_has_hypervisor;
#define cpu_has_hypervisor sim_has_hypervisor
#ifndef perfc_incr
# define perfc_incr(x) ((void)0)
#endif

/* ---- hot plug's helpers (xen/common/cpu.c, arch/x86/percpu.c) ---- */
struct rcu_head { void (*func)(struct rcu_head *head); };
#define call_rcu(head, fn) (fn)(head)
#define rcu_barrier() ((void)0)
#define VIRQ_PCPU_STATE 9
#define send_global_virq(v) ((void)0)
int stop_machine_run(int (*fn)(void *), void *data, unsigned int cpu);
void on_selected_cpus(const cpumask_t *mask, void (*fn)(void *), void *data,
                      int wait);

/* ---- debug keys ---- */
typedef void keyhandler_fn_t(unsigned char key);
#define register_keyhandler(key, fn, desc, diag) ((void)(fn))

#include "asm/flush-test.h"
#ifdef HAVE_FLUSH_STATS
# include "asm/flush-stats.h"
#endif

#endif /* FLUSH_TEST_HARNESS_H */
