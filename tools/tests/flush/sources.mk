# SPDX-License-Identifier: GPL-2.0-only
#
# The hypervisor's sources as the host tests and the simulator compile them.
#
# Design
#
# #include lines go, "harness.h" comes in front; of some files only a part is
# taken.  Whoever includes this says where to (GEN), from which pristine tree
# (BASE) and which engine (ENGINE), and gets the rules for $(gen-headers) and
# $(gen-sources).  flushtlb.c and x2apic.c are empty unless SIM_FLUSHTLB is
# defined, which needs a "sim-path.h" that stands for the privileged
# instructions.

SOURCES_MK := $(lastword $(MAKEFILE_LIST))
XEN     := $(BASE)/xen
OUR_ASM := $(TOP)/xen/arch/x86/include/asm
STATS_C := $(TOP)/xen/arch/x86/flush-stats.c

ifneq ($(MAKECMDGOALS),clean)
ifeq ($(wildcard $(XEN)/arch/x86/smp.c),)
$(error no Xen tree at $(BASE): fetch it first ("make deps" at the top), or \
        set BASE=/path/to/pristine/tree)
endif
endif

CCACHE := $(shell command -v ccache)
# For Xen's sources and for what is put around them.
WARN    := -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare \
           -Wno-unused-function -Wno-missing-field-initializers \
           -Wno-empty-body -Wno-old-style-declaration

HEADERS := include/xen/atomic.h include/xen/bitops.h include/xen/bitmap.h \
           include/xen/cpumask.h include/xen/list.h include/xen/notifier.h \
           include/xen/nospec.h include/xen/spinlock.h include/xen/rwlock.h \
           include/xen/cpu.h
ASMHDRS := atomic.h bitops.h spinlock.h system.h x86_64/system.h
SOURCES := spinlock rwlock bitmap cpu notifier percpu bitops params smp-ipi \
           smp-flush flush-group flush-stats flushtlb x2apic

gen-headers := $(addprefix $(GEN)/xen/,$(notdir $(HEADERS))) \
               $(addprefix $(GEN)/asm/,$(ASMHDRS)) \
               $(GEN)/asm/flush-stats.h $(GEN)/asm/flush-test.h \
               $(GEN)/flush-flags.h \
               $(GEN)/lockprof-abi.h
gen-sources := $(SOURCES:%=$(GEN)/%.c)

# Blanked, not deleted: line numbers stay.
STRIP := sed -e 's/^[ \t]*\#[ \t]*include.*//'
# A marker line keeps compiler messages pointing at the real file.
take = @mkdir -p $(@D); { echo '\#include "harness.h"'; \
       echo '\#line 1 "$(notdir $<)"'; $(STRIP) $< ; } > $@

$(GEN)/xen/%.h: $(XEN)/include/xen/%.h
	@mkdir -p $(@D); $(STRIP) $< > $@
$(GEN)/asm/flush-stats.h $(GEN)/asm/flush-test.h: $(GEN)/asm/%.h: $(OUR_ASM)/%.h
	@mkdir -p $(@D); $(STRIP) $< > $@
$(GEN)/asm/%.h: $(XEN)/arch/x86/include/asm/%.h
	@mkdir -p $(@D); $(STRIP) $< > $@
$(GEN)/flush-flags.h: $(XEN)/arch/x86/include/asm/flushtlb.h
	@mkdir -p $(@D); \
	sed -n '/^\/\* flush_\* flag fields/,/^\/\* Flush local TLBs/p' $< | \
	  sed -n '/^ *#/p' > $@
$(GEN)/lockprof-abi.h: $(XEN)/include/public/sysctl.h
	@mkdir -p $(@D); \
	sed -n -e '/^#define LOCKPROF_TYPE/p' \
	  -e '/^struct xen_sysctl_lockprof_data {/,/^};/p' \
	  -e '/^typedef struct xen_sysctl_lockprof_data /p' \
	  -e '/^struct xen_sysctl_lockprof_op {/,/^};/p' $< > $@

# The base has no name for the per-node type yet; the patched tree has.
NODE_NAME := [LOCKPROF_TYPE_PERNODE] = { .name = "NUMA node" },
$(GEN)/spinlock.c: $(XEN)/common/spinlock.c
	$(take)
	@grep -q PERNODE $@ || \
	  sed -i -e '/\[LOCKPROF_TYPE_PERDOM\]/a$(NODE_NAME)' $@
$(GEN)/rwlock.c: $(XEN)/common/rwlock.c ; $(take)
$(GEN)/notifier.c: $(XEN)/common/notifier.c ; $(take)
$(GEN)/percpu.c: $(XEN)/arch/x86/percpu.c ; $(take)
# Only for the real assembly: sim-atomic.h has these functions as well.
$(GEN)/bitops.c: $(XEN)/arch/x86/bitops.c
	@mkdir -p $(@D); { echo '#include "harness.h"'; \
	  echo '#ifdef SIM_REAL_ASM'; $(STRIP) $<; echo '#endif'; } > $@
$(GEN)/bitmap.c: $(XEN)/common/bitmap.c
	$(take)
	@sed -i -e '/^#ifdef __BIG_ENDIAN/,$$d' $@
$(GEN)/cpu.c: $(XEN)/common/cpu.c
	$(take)
	@echo 'void sim_cpu_remove(unsigned int cpu) { cpu_hotplug_begin();' \
	  'cpu_notifier_call_chain(cpu, CPU_REMOVE, NULL, true);' \
	  'cpu_hotplug_done(); }' >> $@
$(GEN)/params.c: $(XEN)/common/kernel.c
	@mkdir -p $(@D); { echo '#include "harness.h"'; \
	  echo '#include "sim-params.h"'; \
	  sed -n -e 's/^static int parse_params(/int xen_parse_params(/' \
	    -e '/^int xen_parse_params(/,/^}/p' \
	    -e '/^int cmdline_strcmp(/,/^}/p' $<; } > $@
$(GEN)/smp-ipi.c: $(XEN)/arch/x86/smp.c
	@mkdir -p $(@D); { echo '#include "harness.h"'; \
	  sed -n -e \
	    '/^\/\* Helper functions to prepare APIC/,/^void send_IPI_self(/p' \
	    $< | sed -e '$$d'; } > $@
$(GEN)/smp-flush.c: $(XEN)/arch/x86/smp.c
	@mkdir -p $(@D); { echo '#include "harness.h"'; \
	  sed -n -e \
	    '/^static DEFINE_SPINLOCK(flush_lock)/,/^\/\* Call with no locks/p' \
	    $< | sed -e '$$d'; } > $@
# From the flush clock to the end of flush_area_local().
$(GEN)/flushtlb.c: $(XEN)/arch/x86/flushtlb.c
	@mkdir -p $(@D); { echo '#include "harness.h"'; \
	  echo '#ifdef SIM_FLUSHTLB'; echo '#include "sim-path.h"'; \
	  sed -n -e '/^\/\* Debug builds: Wrap/,$$p' $< | \
	    sed -e '/^void cache_flush(/,$$d'; echo '#endif'; } > $@
# How IPIs go out in x2APIC mode, with names to call it by.
$(GEN)/x2apic.c: $(XEN)/arch/x86/genapic/x2apic.c
	@mkdir -p $(@D); { echo '#include "harness.h"'; \
	  echo '#ifdef SIM_FLUSHTLB'; echo '#include "sim-path.h"'; \
	  sed -n -e '/^static DEFINE_PER/,/^static const struct genapic/p' \
	    $< | sed -e '/^static const struct genapic/,$$d' \
	    -e '/^static const cpumask_t \*cf_check vector/,/^}/d' \
	    -e '/cpu_mask_to_apicid_x2apic_cluster(/,/^}/d' \
	    -e '/^static unsigned int cf_check$$/d'; \
	  sed -n -e '/^static int cf_check update_clusterinfo/,/^};/p' $<; \
	  echo 'const struct sim_x2apic sim_x2apic = {'; \
	  echo '    .init_cluster = init_apic_ldr_x2apic_cluster,'; \
	  echo '    .send_phys = send_IPI_mask_x2apic_phys,'; \
	  echo '    .send_cluster = send_IPI_mask_x2apic_cluster,'; \
	  echo '    .notifier = &x2apic_cpu_nfb };'; echo '#endif'; } > $@
$(GEN)/flush-group.c: $(ENGINE) ; $(take)
$(GEN)/flush-stats.c: $(STATS_C) ; $(take)

$(gen-headers) $(gen-sources): $(SOURCES_MK)
