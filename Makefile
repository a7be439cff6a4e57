# Everything is meson's; this is the short way to it.
BUILD ?= build
BUILD_ASAN ?= build-asan
BUILD_TSAN ?= build-tsan
BUILD_COVERAGE ?= build-coverage
BUILD_FUZZ ?= build-fuzz
SOURCES = $(shell git ls-files '*.cpp' '*.hpp' '*.h' '*.cu' '*.cuh')
# Unit tests and end-to-end tests by name; seconds for each fuzz target; every file for lint.
T ?=
K ?=
S ?= 60
ALL ?=
# Minutes of the soak.
M ?= 30
# bench-gate: the commit to compare with, pairs of runs, 1 for a base that has no --cache.
BASE ?=
PAIRS ?=
LEGACY ?=
# Unit-test programs for unit-asan and unit-tsan: all, or names with commas.
SUITES ?=

.PHONY: help deps build run run-cluster house test test-asan test-tsan unit-asan unit-tsan test-neon test-numa \
  test-ipsec test-linux test-deb soak coverage lint fuzz bench bench-lookup bench-ipsec bench-gate gpu-report deb docs \
  format format-check clean

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

help:
	@echo 'make               builds hectod, hecto, hecto-bench and the tests (in $(BUILD))'
	@echo 'make run           two hosts, hectod between them, a full table, traffic'
	@echo 'make run-cluster   spines and leaves, each hectod with FRR, traffic; drains one, kills one (ARGS=--leaves 2)'
	@echo 'make test          the house, unit tests, end-to-end tests; counts in the last line'
	@echo '     T=Routing.*   unit tests by name only (GoogleTest filter); K=flap: end-to-end tests (pytest -k)'
	@echo 'make house         include arrows, sources, drop reasons against docs/house.txt; links and figures of documents: a second'
	@echo 'make docs          the documents as a site, in $(BUILD)/site (mkdocs)'
	@echo 'make lint          clang-tidy on what differs from main; ALL=1: on every file'
	@echo 'make format        clang-format; format-check says what it would change'
	@echo 'make fuzz S=60     every fuzz target for so many seconds each, from tests/fuzz/corpus'
	@echo 'make coverage      lines and branches that unit tests reach, by room; E2E=1: with end-to-end tests'
	@echo 'make test-asan     all tests with address and undefined-behaviour sanitizers; unit-asan: unit tests'
	@echo 'make test-tsan     unit tests with the thread sanitizer'
	@echo 'make test-neon     look-up tests for AArch64 under qemu'
	@echo 'make test-ipsec    IPsec against strongSwan and Linux in user-mode Linux: minutes'
	@echo 'make test-linux    VRFs, macvlans and bridges over the twins, in user-mode Linux: two minutes'
	@echo 'make test-numa     NICs on two sockets, played by QEMU: minutes'
	@echo 'make soak M=30     floods, churn, reloads, ports, rekeys and captures at once, so many minutes'
	@echo 'make bench         forwarding in memory; bench-lookup, bench-ipsec: the other two'
	@echo 'make bench-gate BASE=main   the data path of another commit against this one, in turn; PAIRS=7'
	@echo 'make gpu-report    registers, spills and occupancy of each GPU kernel; nvcc alone, no GPU'
	@echo 'make deb           Debian packages of the last commit, in build-deb; needs lintian and debhelper'
	@echo 'make test-deb      installs, upgrades, removes and purges them in a bare Debian 12, as root'
	@echo 'make deps          installs what is missing of packaging/debian-packages.txt; all others do it first'
	@echo 'make clean         removes the build folders'

# hosts in namespaces, hectod between them, a full table, traffic; only what that needs is built,
# without root that which replays packets in memory
RUN = $(if $(filter 0,$(shell id -u)),router/hectod router/cli/hecto,bench/hecto-bench)
run: $(BUILD)/build.ninja
	@echo 'building $(notdir $(RUN)) in $(BUILD); on two cores the first time takes about six minutes'
	@ninja -C $(BUILD) $(RUN)
	@demo/run.py --build $(BUILD)

# Spines and leaves in namespaces, FRR beside each hectod (docs/cluster.md). ARGS: --spines 3 --leaves 6
ARGS ?=
run-cluster: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet router/hectod router/cli/hecto
	@demo/cluster.py --build $(BUILD) $(ARGS)

house:
	@tests/house.py
	@tests/docs_links.py
	@bench/results_page.py

test: build | $(BUILD)/python/MLRsearch
	@tests/run.py $(BUILD) $(if $(T),-t '$(T)') $(if $(K),-k '$(K)')

test-asan: $(BUILD_ASAN)/build.ninja
	@ninja -C $(BUILD_ASAN) --quiet
	@tests/run.py $(BUILD_ASAN) $(if $(T),-t '$(T)') $(if $(K),-k '$(K)')

# Threads are the unit tests' business: DPDK's own are not built for it.
test-tsan: unit-tsan

# Unit tests with sanitizers alone, and of them $(SUITES) (names with commas): what CI has the time for.
unit-asan: $(BUILD_ASAN)/build.ninja
	@tests/run.py $(BUILD_ASAN) --unit-only --build $(if $(SUITES),--suites '$(SUITES)') $(if $(T),-t '$(T)')

unit-tsan: $(BUILD_TSAN)/build.ninja
	@tests/run.py $(BUILD_TSAN) --unit-only --build $(if $(SUITES),--suites '$(SUITES)') $(if $(T),-t '$(T)')

# The NEON kernels, cross-built and under qemu; says which packages it misses.
test-neon:
	@tests/neon.sh build-neon

# NICs on two sockets, played by QEMU: minutes. Says which packages it misses.
test-numa: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet router/hectod router/cli/hecto
	@tests/numa/run.py $(BUILD)

# IPsec against a real kernel and strongSwan in user-mode Linux: minutes. Says which packages it misses.
test-ipsec: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet router/hectod router/cli/hecto tests/unit/linux-test
	@tests/xfrm/run.py $(BUILD)

# Devices that this machine's kernel may lack, over the twins, in user-mode Linux. Says which packages it misses.
test-linux: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet router/hectod router/cli/hecto
	@tests/devices/run.py $(BUILD)

# Everything at once, and what must stay flat: memory, descriptors, mbufs, the balance.
soak: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet router/hectod router/cli/hecto
	@tests/soak.py $(BUILD) --minutes $(M)

coverage: $(BUILD_COVERAGE)/build.ninja
	@tests/coverage.py $(BUILD_COVERAGE) $(if $(E2E),--e2e)

lint: $(BUILD)/build.ninja
	@tests/lint.py $(BUILD) $(if $(ALL),--all)

fuzz: $(BUILD_FUZZ)/build.ninja
	@tests/fuzz/run.py $(BUILD_FUZZ) --seconds $(S) $(if $(T),--target '$(T)')

bench: build
	@HUGEPAGES_MB=1024 bench/with-hugepages $(BUILD)/bench/hecto-bench forward --json $(BUILD)/bench/forward.json

bench-lookup: build
	@HUGEPAGES_MB=2304 bench/with-hugepages $(BUILD)/bench/hecto-bench lookup \
	  --json $(BUILD)/bench/lookup.json --plot $(BUILD)/bench/lookup.svg

bench-ipsec: build
	@HUGEPAGES_MB=1024 bench/with-hugepages $(BUILD)/bench/hecto-bench ipsec \
	  --json $(BUILD)/bench/ipsec.json

# The program of commit BASE against this one in turn; fails on a loss beyond the spread.
bench-gate: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet bench/hecto-bench
	@HUGEPAGES_MB=1024 bench/with-hugepages bench/gate.py --build $(BUILD) $(if $(BASE),--base '$(BASE)') \
	  $(if $(PAIRS),--pairs $(PAIRS)) $(if $(LEGACY),--legacy) --json $(BUILD)/bench/gate.json

# The documents as pages, every link of them checked.
docs: | deps
	@tests/docs_links.py
	@docs/site.py $(BUILD)/site

# GPUs by architecture: ARCHS='sm_90'
gpu-report:
	@bench/offload/gpu_report.py $(ARCHS)

# Its own clone, and as long as a build from nothing takes; MESON_ARGS go to meson, too.
deb: | deps
	@packaging/make-deb build-deb $(MESON_ARGS)

test-deb: deb
	@packaging/check-deb build-deb

deps:
	@packaging/install-missing

format:
	@clang-format -i $(SOURCES)

format-check:
	@clang-format -n --Werror $(SOURCES)

clean:
	rm -rf $(BUILD) $(BUILD_ASAN) $(BUILD_TSAN) $(BUILD_COVERAGE) $(BUILD_FUZZ) build-neon build-deb

$(BUILD)/build.ninja: | deps
	@echo 'configuring $(BUILD) …'
	@meson setup $(BUILD) $(MESON_ARGS) >/dev/null || \
	  { cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

# MLRsearch's own search, beside which ours is tested (tests/e2e/test_search.py); without PyPI that is
# left out, and says so.
$(BUILD)/python/MLRsearch: | $(BUILD)/build.ninja
	@timeout 25 /usr/bin/python3 -m pip install --quiet --no-input --disable-pip-version-check \
	  --retries 0 --timeout 5 --root-user-action=ignore --only-binary :all: --no-deps --target $(BUILD)/python MLRsearch==1.2.1 || echo 'no MLRsearch: its test is left out'

$(BUILD_ASAN)/build.ninja: | deps
	@meson setup $(BUILD_ASAN) -Db_sanitize=address,undefined -Dbuildtype=debugoptimized \
	  -Db_lundef=false >/dev/null

$(BUILD_TSAN)/build.ninja: | deps
	@meson setup $(BUILD_TSAN) -Db_sanitize=thread -Dbuildtype=debugoptimized \
	  -Db_lundef=false >/dev/null

# Without optimization: a branch that the compiler merged would not be seen. Threads count at the same
# places: what they lose comes out as less than nothing, which gcovr refuses.
$(BUILD_COVERAGE)/build.ninja: | deps
	@meson setup $(BUILD_COVERAGE) -Db_coverage=true -Dbuildtype=debug -Ddebug=false \
	  -Dcpp_args=-fprofile-update=atomic >/dev/null

# clang 14 does not take all of libstdc++'s ranges where several files are one unit.
$(BUILD_FUZZ)/build.ninja: | deps
	@CC=clang CXX=clang++ meson setup $(BUILD_FUZZ) -Dfuzz=true -Dbuildtype=debugoptimized \
	  -Db_lundef=false -Dunity=off >/dev/null
