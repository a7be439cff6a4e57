# Everything is meson's; this is the short way to it.
BUILD ?= build
BUILD_ASAN ?= build-asan
BUILD_TSAN ?= build-tsan
SOURCES = $(shell git ls-files '*.cpp' '*.hpp' '*.h' '*.cu' '*.cuh')

.PHONY: deps build run test test-asan test-tsan test-neon test-numa test-ipsec bench bench-lookup bench-ipsec format format-check clean

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

# hosts in namespaces, hectod between them, a full table, traffic
run: build
	@demo/run.py --build $(BUILD)

test: build
	@tests/run.py $(BUILD)

test-asan: $(BUILD_ASAN)/build.ninja
	@ninja -C $(BUILD_ASAN) --quiet
	@tests/run.py $(BUILD_ASAN)

# Threads are the unit tests' business: DPDK's own are not built for it.
test-tsan: $(BUILD_TSAN)/build.ninja
	@ninja -C $(BUILD_TSAN) --quiet
	@tests/run.py $(BUILD_TSAN) --unit-only

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

bench: build
	@bench/with-hugepages $(BUILD)/bench/hecto-bench forward --json $(BUILD)/bench/forward.json

bench-lookup: build
	@HUGEPAGES_MB=2304 bench/with-hugepages $(BUILD)/bench/hecto-bench lookup \
	  --json $(BUILD)/bench/lookup.json --plot $(BUILD)/bench/lookup.svg

bench-ipsec: build
	@HUGEPAGES_MB=1024 bench/with-hugepages $(BUILD)/bench/hecto-bench ipsec \
	  --json $(BUILD)/bench/ipsec.json

deps:
	@packaging/install-missing

format:
	@clang-format -i $(SOURCES)

format-check:
	@clang-format -n --Werror $(SOURCES)

clean:
	rm -rf $(BUILD) $(BUILD_ASAN) $(BUILD_TSAN) build-neon

$(BUILD)/build.ninja: | deps
	@meson setup $(BUILD) >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

$(BUILD_ASAN)/build.ninja: | deps
	@meson setup $(BUILD_ASAN) -Db_sanitize=address,undefined -Dbuildtype=debugoptimized \
	  -Db_lundef=false >/dev/null

$(BUILD_TSAN)/build.ninja: | deps
	@meson setup $(BUILD_TSAN) -Db_sanitize=thread -Dbuildtype=debugoptimized \
	  -Db_lundef=false >/dev/null
