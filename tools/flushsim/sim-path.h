/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-path.h - privileged instructions, for Xen's flushtlb.c.
 *
 * Design: the CPU has INVPCID, and PCIDs are in use, so a single page goes by
 * INVPCID as well.  Each instruction takes its time (irq.c).
 */
#ifndef FLUSHSIM_SIM_PATH_H
#define FLUSHSIM_SIM_PATH_H

#define X86_CR4_PGE 0x80UL
#define X86_CR4_PCIDE 0x20000UL
#define X86_CR3_NOFLUSH (1UL << 63)
#define PCID_PV_PRIV 0
#define PCID_PV_XPTI 1
#define PCID_PV_USER 2
#define NEW_TLBFLUSH_CLOCK_PERIOD_SOFTIRQ 1
#define use_invpcid true
#define opt_xpti_hwdom false
#define opt_xpti_domu false
#define read_cr4() X86_CR4_PCIDE
#define write_cr4(val) ((void)(val))
#define read_cr3() 0UL
#define write_cr3(val) ((void)(val))
void fs_flush_all(void);
void fs_flush_page(unsigned int pcid, unsigned long addr);
#define invpcid_flush_all() fs_flush_all()
#define invpcid_flush_all_nonglobals() fs_flush_all()
#define invpcid_flush_one(pcid, addr) fs_flush_page(pcid, addr)
#define hvm_flush_guest_tlbs() ((void)0)
#define raise_softirq(nr) ((void)0)
#define cache_flush(va, size) ((void)(va))
#define wbinvd() ((void)0)
struct sim_cpu_info { bool root_pgt_changed; };
struct cpuinfo_x86 { unsigned int x86_clflush_size, x86_cache_size; };
extern struct cpuinfo_x86 current_cpu_data;
extern struct sim_cpu_info sim_cpu_info;
#define get_cpu_info() (&sim_cpu_info)

#endif /* FLUSHSIM_SIM_PATH_H */
