/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-path.h - privileged instructions, for Xen's flushtlb.c.
 *
 * Design: the CPU has INVPCID, and PCIDs are in use, so a single page goes by
 * INVPCID as well.  Each instruction takes its time (irq.c).
 */
#ifndef FLUSHSIM_SIM_PATH_H
#define FLUSHSIM_SIM_PATH_H

#include "sim-cpu.h"
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
#define wbinvd() ((void)0)

#endif /* FLUSHSIM_SIM_PATH_H */
