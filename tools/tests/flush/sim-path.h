/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-path.h - what Xen's flushtlb.c needs, for the benchmark.
 *
 * Design: flush_area_local() is part of what a target does for a flush, so the
 * benchmark runs Xen's own.  Privileged instructions are nops with the same
 * operands; the CPU is one with PGE, without PCID and INVPCID.
 */
#ifndef FLUSH_TEST_SIM_PATH_H
#define FLUSH_TEST_SIM_PATH_H

#include "sim-cpu.h"

DECLARE_PER_CPU(unsigned long, sim_cr4);
extern bool use_invpcid, opt_xpti_hwdom, opt_xpti_domu, tlb_clk_enabled;

static inline unsigned long read_cr4(void)
{
    return this_cpu(sim_cr4);
}
static inline void write_cr4(unsigned long val)
{
    this_cpu(sim_cr4) = val;
    __asm__ __volatile__ ( "nop" :: "r" (val) : "memory" );
}
#define read_cr3() 0UL
#define write_cr3(val) __asm__ __volatile__ ( "nop" :: "r" (val) : "memory" )
#define invpcid_flush_all() ((void)0)
#define invpcid_flush_all_nonglobals() ((void)0)
#define invpcid_flush_one(pcid, addr) ((void)(addr))
#ifndef SIM_REAL_ASM
# define wbinvd() ((void)0)
#endif

#endif /* FLUSH_TEST_SIM_PATH_H */
