/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-cpu.h - what Xen's flushtlb.c needs of a CPU, whatever CPU it is.
 *
 * Design: for the sim-path.h of those who compile flushtlb.c, which adds the
 * privileged instructions.
 */
#ifndef FLUSH_TEST_SIM_CPU_H
#define FLUSH_TEST_SIM_CPU_H

#define X86_CR4_PGE 0x80UL
#define X86_CR4_PCIDE 0x20000UL
#define X86_CR3_NOFLUSH (1UL << 63)
#define PCID_PV_PRIV 0
#define PCID_PV_XPTI 1
#define PCID_PV_USER 2
#define NEW_TLBFLUSH_CLOCK_PERIOD_SOFTIRQ 1
#define hvm_flush_guest_tlbs() ((void)0)
#define raise_softirq(nr) ((void)0)
#define cache_flush(va, size) ((void)(va))
struct sim_cpu_info { bool root_pgt_changed; };
struct cpuinfo_x86 { unsigned int x86_clflush_size, x86_cache_size; };
extern struct cpuinfo_x86 current_cpu_data;
extern struct sim_cpu_info sim_cpu_info;
#define get_cpu_info() (&sim_cpu_info)

#endif /* FLUSH_TEST_SIM_CPU_H */
