/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * config.h - comes in front of everything that is compiled for the simulator.
 *
 * Design: what the harness leaves to its user.  The hypervisor's sources get
 * the C library's memory functions replaced, as the compiler reports no access
 * inside those; performance counters are per CPU, as in a build with them.
 */
#ifndef FLUSHSIM_CONFIG_H
#define FLUSHSIM_CONFIG_H

#define perfc_incr(x) ((void)this_cpu(fs_perfc).x++)

#ifdef FS_SUBJECT
# include <string.h>
# include <stddef.h>
void *fs_memset(void *p, int c, size_t n);
void *fs_memcpy(void *to, const void *from, size_t n);
int fs_memcmp(const void *a, const void *b, size_t n);
# define memset fs_memset
# define memcpy fs_memcpy
# define memcmp fs_memcmp
#endif

#include "harness.h"

struct fs_perfc { unsigned long ipis; };
DECLARE_PER_CPU(struct fs_perfc, fs_perfc);

#define APIC_SELF_IPI 0x3f0
#define APIC_DEST_LOGICAL 0x800
void apic_wrmsr(unsigned long reg, uint64_t val);
struct sim_x2apic {
    void (*init_cluster)(void);
    void (*send_phys)(const cpumask_t *mask, int vector);
    void (*send_cluster)(const cpumask_t *mask, int vector);
    struct notifier_block *notifier;
};
extern const struct sim_x2apic sim_x2apic;

#endif /* FLUSHSIM_CONFIG_H */
