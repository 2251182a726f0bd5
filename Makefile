# SPDX-License-Identifier: GPL-2.0-only
#
# The targets that a person uses; `make help` lists them. The work is done
# by automation/scripts, each of which finds out by itself what is out of
# date. Environment: XEN_TREE, XEN_DSC (another base), CACHE_DIR.

S := automation/scripts

# What is given on the command line reaches the scripts as it was typed,
# without make's expansion, and reaches no other Makefile.
VERBATIM := TOPOLOGY XEN_ARGS DOM0_ARGS DOM0_CMD TIMEOUT
define verbatim
ifneq ($$(origin $(1)),undefined)
override $(1) := $$(value $(1))
export $(1)
endif
endef
$(foreach name,$(VERBATIM),$(eval $(call verbatim,$(name))))
unexport MAKEFLAGS MFLAGS MAKELEVEL

.NOTPARALLEL:
.DEFAULT_GOAL := help

.PHONY: help all run boot check check-unit check-long check-mutants bench \
	bench-sim bench-boot export deps clean distclean known-boot known-check \
	known-check-long tree hypervisor tools dom0 deps-build deps-boot \
	deps-check

help: ## list the targets
	@echo 'Usage: make TARGET   (automation/run and automation/check set up'
	@echo '                      a new machine first)'
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1 @\2/p' Makefile | \
		while IFS=@ read -r name text; do \
			printf '  %-12s %s\n' $$name "$$text"; done

all: hypervisor ## build the hypervisor (debug) into build/xen-debug

run: deps-boot hypervisor tools dom0 ## boot 4 nodes, both group settings; compare
	$S/run-storm

boot: deps-boot known-boot hypervisor tools dom0 ## one boot: TOPOLOGY= XEN_ARGS= DOM0_CMD=
	@$S/boot

# A name that is not known is told before minutes of building.
CHECK = tests/run unit build boot $(T:%=--only %)
CHECK_LONG = tests/run unit build boot long $(T:%=--only %)

check: deps known-check hypervisor tools dom0 ## all tests but the long ones; T=NAME for one
	@$(CHECK)

check-unit: deps-build deps-check tree ## tests without QEMU and hypervisor builds
	@tests/run unit $(T:%=--only %)

check-long: deps known-check-long hypervisor tools dom0 ## all tests
	@$(CHECK_LONG)

check-mutants: deps hypervisor ## put faults into the engine; each must be found
	@tests/run build long --only flush-mutants --only explore-mutants \
		--only boot-mutants; status=$$?; \
		tools/tests/flush/mutant-table && exit $$status

BENCH_SIM = MAKEFLAGS= $(MAKE) --no-print-directory -C tools/flushsim bench

bench: deps-build deps-check tree ## cost of a flush: counted, and simulated
	@MAKEFLAGS= $(MAKE) --no-print-directory -C tools/tests/flush bench
	@$(BENCH_SIM)

bench-sim: deps-build deps-check tree ## simulated figures, into build/bench
	@$(BENCH_SIM)

bench-boot: deps-boot tree tools dom0 ## times of flushes, emulated: 8x8, 2x20
	@$S/build-xen bench
	@$S/bench-boot

export: tree ## the series as git commits and mails in build/export
	@$S/series export
	@$S/series verify

deps: deps-build deps-boot deps-check ## install the packages needed, or say which

clean: ## remove what was built; keep the base tree and the apt lists
	rm -rf build/xen-* build/base-* build/tree* build/export build/tools \
		build/tests build/test build/dom0 build/run build/boot

distclean: ## remove build/ (downloads stay in CACHE_DIR)
	rm -rf build

# --- steps ---

known-boot:
	@$S/boot --check

known-check:
	@$(CHECK) --check

known-check-long:
	@$(CHECK_LONG) --check

deps-build:
	@$S/deps build

deps-boot:
	@$S/deps build boot

deps-check:
	@$S/deps check

tree: deps-build
	@$S/fetch-base
	@$S/series apply

hypervisor: tree
	@$S/build-xen debug

tools: deps-build
	@$S/build-tools

dom0: tools
	@$S/make-dom0
