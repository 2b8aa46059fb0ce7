# A thin front for CMake and Ninja. `make demo` and `make check` install what is missing on Debian (apt).
BUILD ?= build
ASSAY = $(BUILD)/assay
DEMO_STORE ?= $(BUILD)/demo.sqlite

.PHONY: all deps configure demo check install asan fuzz format clean

all: configure
	@ninja -C $(BUILD)

deps:
	@tools/install-dependencies

configure: deps
	@test -f $(BUILD)/build.ninja || cmake -S . -B $(BUILD) -G Ninja

demo: all
	@settings=$$(tools/install-cuda --present $(BUILD)/cuda); eval "$$settings"; tools/demo $(ASSAY) $(DEMO_STORE)

# Where there is no CUDA compiler, pip puts one into the build folder; where that fails, its tests are skipped.
check: all
	@settings=$$(tools/install-cuda $(BUILD)/cuda); eval "$$settings"; \
	  ctest --test-dir $(BUILD) -j"$$(nproc)" --output-on-failure --no-tests=error

install: all
	cmake --install $(BUILD)

asan: deps
	@test -f $(BUILD)-asan/build.ninja || cmake -S . -B $(BUILD)-asan -G Ninja -DASSAY_SANITIZE=ON
	@ninja -C $(BUILD)-asan
	@settings=$$(tools/install-cuda $(BUILD)/cuda); eval "$$settings"; \
	  ctest --test-dir $(BUILD)-asan -j"$$(nproc)" --output-on-failure --no-tests=error

# Every fuzz target for a minute, from its corpus.
fuzz: deps
	@test -f $(BUILD)-fuzz/build.ninja || CC=clang cmake -S . -B $(BUILD)-fuzz -G Ninja -DASSAY_FUZZ=ON
	@ninja -C $(BUILD)-fuzz
	@tools/fuzz $(BUILD)-fuzz

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz
