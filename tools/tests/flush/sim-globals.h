/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim-globals.h - variables that Xen defines in files which are not taken.
 *
 * Design: for the one source file of a program that stands for the machine:
 * sim.c of the host tests, machine.c of flushsim.  The order is part of what
 * both measure: it decides which of them share a cache line.
 */
#ifndef FLUSH_TEST_SIM_GLOBALS_H
#define FLUSH_TEST_SIM_GLOBALS_H

enum system_state system_state = SYS_STATE_early_boot;
cpumask_t cpu_online_map __read_mostly;
cpumask_t cpu_present_map __read_mostly;
cpumask_t cpu_possible_map __read_mostly;
nodeid_t cpu_to_node[NR_CPUS] __read_mostly;
nodeid_t apicid_to_node[MAX_LOCAL_APIC];
u32 x86_cpu_to_apicid[NR_CPUS] __read_mostly;
cpumask_t node_to_cpumask[MAX_NUMNODES] __read_mostly;
nodemask_t node_online_map __read_mostly;
bool park_offline_cpus __read_mostly, pv_shim __read_mostly;
unsigned int unaccounted_cpus __read_mostly, disabled_cpus __read_mostly;
bool sim_has_hypervisor __read_mostly;
bool x2apic_enabled __read_mostly = true;
struct genapic genapic __read_mostly;
irq_cpustat_t irq_stat[NR_CPUS];
DEFINE_PER_CPU(unsigned int, __preempt_count);
DEFINE_PER_CPU(cpumask_var_t, send_ipi_cpumask);
DEFINE_PER_CPU(cpumask_var_t, scratch_cpumask);

#endif /* FLUSH_TEST_SIM_GLOBALS_H */
