# SPDX-License-Identifier: GPL-2.0-only
# "make help" lists the targets.

VERSION	:= $(file <VERSION)
KDIR	?= /lib/modules/$(shell uname -r)/build
PREFIX	?= /usr/local
BUILD	:= $(CURDIR)/build
# kselftest_harness.h comes from the kernel's source
KSRC	?= $(shell scripts/guest/kernel.sh --tools)

# In a container, or after an upgrade, the running kernel has no headers.
ifeq ($(wildcard $(KDIR)/Makefile),)
  STOCK_KDIR := $(lastword $(sort $(wildcard /usr/src/linux-headers-6.1.*-amd64)))
  ifneq ($(STOCK_KDIR),)
    ifneq ($(filter module modules_install all,$(or $(MAKECMDGOALS),all)),)
      $(info $(KDIR) does not exist, building for $(STOCK_KDIR))
    endif
    override KDIR := $(STOCK_KDIR)
  endif
endif

# W=1, C=1 and CHECK=... given to make reach the kernel's Makefile by
# themselves.
.PHONY: all module lib examples tools selftests
all: module lib examples tools

module:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

lib:
	$(MAKE) -C lib/libdxk BUILD=$(BUILD)

examples: lib
	$(MAKE) -C examples BUILD=$(BUILD)

tools: $(if $(wildcard tools/Makefile),lib)
	$(if $(wildcard tools/Makefile),$(MAKE) -C tools BUILD=$(BUILD))

# man pages and, in build/doc/html, the whole manual
.PHONY: doc
doc:
	$(MAKE) -C Documentation BUILD=$(BUILD)

selftests: lib
	$(MAKE) -C selftests BUILD=$(BUILD) KSRC=$(KSRC)

# libdxk's tests once more, with the sanitizers
.PHONY: selftests-asan
selftests-asan: selftests
	$(MAKE) -C selftests BUILD=$(BUILD) KSRC=$(KSRC) asan

# Documentation/installing.rst says what remains to be done after each.
.PHONY: install system_install examples_install modules_install dkms_install
install: lib tools system_install
	$(MAKE) -C lib/libdxk BUILD=$(BUILD) PREFIX=$(PREFIX) DESTDIR="$(DESTDIR)" install
	$(foreach d,$(wildcard tools/Makefile Documentation/Makefile), \
		$(MAKE) -C $(dir $d) BUILD=$(BUILD) PREFIX=$(PREFIX) \
			DESTDIR="$(DESTDIR)" install &&) :

# Group dxk, who may use the device, which modules are loaded at boot
system_install:
	install -D -m 644 dist/60-dxk.rules \
		"$(DESTDIR)$(PREFIX)/lib/udev/rules.d/60-dxk.rules"
	install -D -m 644 dist/sysusers.conf \
		"$(DESTDIR)$(PREFIX)/lib/sysusers.d/dxk.conf"
	install -D -m 644 dist/modules-load.conf \
		"$(DESTDIR)$(PREFIX)/lib/modules-load.d/dxk.conf"

examples_install: examples
	$(MAKE) -C examples BUILD=$(BUILD) PREFIX=$(PREFIX) DESTDIR="$(DESTDIR)" install

# What other modules build against goes along, see Documentation/in-kernel.rst.
# Debian's headers lack the key that modules_install would sign with, and what it
# wants before it runs depmod.
SRCDIR	:= $(DESTDIR)$(PREFIX)/src/dxk
MODROOT	:= $(or $(INSTALL_MOD_PATH),$(DESTDIR))
modules_install: module
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH="$(MODROOT)" \
		$(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=) \
		modules_install
	$(if $(MODROOT),,depmod $$($(MAKE) -s -C $(KDIR) kernelrelease))
	install -D -m 644 dxk/dxk_api.h "$(SRCDIR)/dxk/dxk_api.h"
	install -D -m 644 uapi/dxk.h "$(SRCDIR)/uapi/dxk.h"
	install -D -m 644 Module.symvers "$(SRCDIR)/Module.symvers"

# The source where DKMS looks for it
DKMSDIR	:= $(DESTDIR)/usr/src/dxk-$(VERSION)
dkms_install:
	install -D -m 644 -t "$(DKMSDIR)" VERSION Kbuild COPYING
	install -D -m 644 -t "$(DKMSDIR)/uapi" uapi/dxk.h
	install -D -m 644 -t "$(DKMSDIR)/dxk" dxk/Kbuild
	install -D -m 644 -t "$(DKMSDIR)/dxk/executors" dxk/executors/Kbuild
	$(foreach d,dxk $(patsubst %,dxk/%,engine services runtime abi executors), \
		install -D -m 644 -t "$(DKMSDIR)/$d" \
			$(filter-out %.mod.c,$(wildcard $d/*.[ch])) &&) :
	install -m 755 dist/keep-symvers.sh "$(DKMSDIR)"
	sed 's/#MODULE_VERSION#/$(VERSION)/' dist/dkms.conf.in >"$(DKMSDIR)/dkms.conf"
	chmod 644 "$(DKMSDIR)/dkms.conf"

# What the same install would put there now; the modules are for rm.
.PHONY: uninstall
uninstall:
	tmp=$$(mktemp -d) && trap "rm -rf $$tmp" EXIT && \
	$(MAKE) install examples_install DESTDIR=$$tmp >/dev/null && \
	find $$tmp ! -type d -printf '%P\n' | \
		while read -r f; do rm -fv "$(DESTDIR)/$$f"; done

.PHONY: setup check check-debug check-full check-changed check-matrix check-model \
	check-abi style \
	demo bench bench-gate bench-cores bench-remote fuzz coverage native mutants shell guest
setup:
	scripts/setup.sh

# TESTS='post tools-*': only these programs
check:
	scripts/check/check.sh $(if $(TESTS),--tests '$(TESTS)')

check-debug:
	scripts/check/check.sh debug $(if $(TESTS),--tests '$(TESTS)')

# what the change in the work tree touches; SINCE=COMMIT: all since then
check-changed:
	scripts/check/check-changed.py $(SINCE)

# all of it; takes a night
check-full:
	scripts/check/check-full.sh

# structs, constants and symbols against those kept; a release keeps what is new
check-abi: lib
	scripts/check/abi.py $(BUILD)

# spelling, and checkpatch.pl where the kernel's source is
style:
	scripts/check/style.sh

# all programs on all kernels
check-matrix:
	scripts/check/check.sh matrix

# a guest with the modules loaded and this tree: a terminal, or CMD='...'; SHARE=DIR
shared = $(if $(SHARE),--share '$(SHARE)')
shell:
	scripts/guest/shell.sh $(shared)

guest:
	scripts/guest/shell.sh $(shared) $(if $(CMD),,$(error which CMD='...'?)) \
		-c '$(subst ','\'',$(value CMD))'

# MODEL_ARGS=--full: larger ones
check-model:
	scripts/setup.sh
	BUILD=$(BUILD) model/check.sh $(MODEL_ARGS)

# FUZZ_ARGS='--seconds 3600 --seed 7', '--replay FILE', '--merge'
fuzz:
	scripts/setup.sh
	scripts/fuzz.sh $(FUZZ_ARGS)

# COVERAGE_ARGS='--min 95'
coverage:
	scripts/check/coverage.sh $(COVERAGE_ARGS)

# NATIVE_ARGS='--steps 1000000000 simulator', '--seconds 600 fuzz'
native:
	scripts/check/native.sh $(NATIVE_ARGS)

# MUTANTS_ARGS='--since HEAD', '--files lanes.c', '--sample 300', '--self-test'
mutants:
	scripts/setup.sh
	scripts/mutants/mutants.py $(MUTANTS_ARGS)

demo:
	scripts/demo.sh

bench:
	scripts/setup.sh --bench
	scripts/bench/bench.sh

# A target that is missed is the benchmarks' to tell.
bench-gate:
	scripts/setup.sh --bench
	rm -f $(BUILD)/bench/results.json
	scripts/bench/bench.sh --rounds 2 trip backlog post user-trip process || true
	scripts/bench/gate.py $(BUILD)/bench

bench-cores:
	scripts/setup.sh --bench
	$(MAKE) -s -C native BUILD=$(BUILD) cores
	scripts/bench/cores.py $(BUILD)/native/cores

bench-remote:
	scripts/setup.sh
	scripts/bench/remote.sh

# For editors
.PHONY: compile_commands.json
compile_commands.json:
	scripts/setup.sh
	$(MAKE) lib
	scripts/build-module.sh $(KDIR) $(BUILD)/kernels/editor >/dev/null
	scripts/compile-commands.py $(BUILD)/kernels/editor $(BUILD) $(KDIR)

# Works without the headers the module was built with.
.PHONY: clean
clean:
	rm -rf build .tmp_versions compile_commands.json
	find . -path ./.git -prune -o \( -name '*.o' -o -name '*.ko' -o \
		-name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' -o \
		-name '*.dwo' -o -name '*.gcno' -o -name '*.gcda' -o \
		-name 'Module.symvers' -o -name 'modules.order' -o \
		-name '.module-common.o' \) -type f -exec rm -f {} +

.PHONY: help
help:
	@echo 'all              module, library, examples and tools (the default)'
	@echo 'module           dxk.ko and its executors for KDIR; W=1 and C=1 work'
	@echo 'lib              build/lib/libdxk'
	@echo 'examples         build/examples'
	@echo 'selftests        build/selftests'
	@echo 'install          library, tools, man pages, udev rule: DESTDIR, PREFIX ($(PREFIX))'
	@echo 'examples_install the examples into PREFIX/bin'
	@echo 'modules_install  the modules below INSTALL_MOD_PATH'
	@echo 'dkms_install     the source of the modules into /usr/src for DKMS'
	@echo 'uninstall        removes what install and examples_install put there'
	@echo 'setup            the Debian packages that check and demo need'
	@echo 'demo             an example at work in a guest'
	@echo 'check            the tests, in a guest with Debian 6.1; TESTS="post next" only these'
	@echo 'check-changed    those that the change in the work tree touches'
	@echo 'style            spelling, and what checkpatch.pl says of the module'
	@echo 'check-abi        does what programs were built with still mean the same?'
	@echo 'check-debug      abuse, kills and races on a debug kernel, and what check left out'
	@echo 'check-full       everything there is, in a night'
	@echo 'check-matrix     all test programs on five kernels'
	@echo 'shell            a terminal in a guest with the modules loaded'
	@echo 'guest            CMD="..." is run in one; SHARE=DIR: it may write there'
	@echo 'check-model      the models of the engine, with Spin'
	@echo 'fuzz             new inputs for the calls, guided by what they reach'
	@echo 'coverage         which lines of the module the tests reach'
	@echo 'native           the engine in user space: suites, threads, simulator; seconds'
	@echo 'mutants          small changes of the engine that its native tests do not notice'
	@echo 'bench            the benchmarks; fails when a target is missed'
	@echo 'bench-gate       fails when dxk costs more than when figures were kept'
	@echo 'bench-cores      the engine on two CPUs, in real time; wants a quiet machine'
	@echo 'bench-remote     what dxkd costs beside librabbitmq alone'
	@echo 'doc              the manual: build/doc/html/index.html, build/doc/man'
	@echo 'compile_commands.json  how each file is compiled, for editors'
	@echo 'clean            removes what was built'
