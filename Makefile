# SPDX-License-Identifier: Apache-2.0
# A thin front for CMake and Ninja. `make demo` and `make check` install what is missing on Debian (apt).
BUILD ?= build
ASSAY = $(BUILD)/assay
PREFIX ?= /usr/local
DESTDIR ?=
DEMO_STORE ?= $(BUILD)/demo.sqlite
CUDA = settings=$$(tools/install/install-cuda $(BUILD)/cuda); eval "$$settings"
CTEST = ctest -j"$$(nproc)" --output-on-failure --no-tests=error --output-junit junit.xml --test-output-size-passed 100000 \
  --test-output-size-failed 100000

# Lines of src/ that stand in more than one place. Lower it when they become fewer.
MOST_DUPLICATES = 285

.PHONY: all programs deps configure demo site check install uninstall clang asan fuzz format format-check layers duplicates licences commits release prepare tag clean

all: configure
	@ninja -C $(BUILD)

deps:
	@tools/install/install-dependencies

# A folder that `make programs` configured gets the tests, too.
configure: deps
	@test -f $(BUILD)/build.ninja && grep -q '^ASSAY_TESTS:BOOL=ON' $(BUILD)/CMakeCache.txt || \
	  cmake -S . -B $(BUILD) -G Ninja -DASSAY_TESTS=ON

# What is installed, without tests and what they need.
programs:
	@tools/install/install-dependencies --programs
	@test -f $(BUILD)/build.ninja || cmake -S . -B $(BUILD) -G Ninja -DASSAY_TESTS=OFF
	@ninja -C $(BUILD) programs

demo: programs
	@settings=$$(tools/install/install-cuda --present $(BUILD)/cuda); eval "$$settings"; tools/demo $(ASSAY) $(DEMO_STORE)

# Where there is no CUDA compiler, pip puts one into the build folder; where that fails, its tests are skipped. At the end:
# what was left out and why.
check: all
	@$(CUDA); code=0; $(CTEST) --test-dir $(BUILD) || code=$$?; \
	  tools/gates/skipped.py $(BUILD)/junit.xml || code=1; exit $$code

install: programs
	DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"
	@test -n "$(DESTDIR)" || test "$$(id -u)" != 0 || { PATH="$$PATH:/usr/sbin:/sbin"; ! command -v ldconfig >/dev/null || \
	  ldconfig || echo "ldconfig failed: run it, for the loader does not know libassay yet" >&2; }

uninstall:
	@tools/install/uninstall "$(DESTDIR)" "$(PREFIX)"

# Everything by clang, with AddressSanitizer, UndefinedBehaviorSanitizer and what libFuzzer needs: one build for `make asan`
# and `make fuzz`.
clang: deps
	@test -f $(BUILD)-clang/build.ninja || CC=clang cmake -S . -B $(BUILD)-clang -G Ninja -DASSAY_FUZZ=ON \
	  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -gline-tables-only" \
	  -DASSAY_TEST_CODE_CACHE=$(abspath $(BUILD))/code_cache
	@ninja -C $(BUILD)-clang

# The unit tests and the fuzz targets' corpora with the sanitizers. `ctest --test-dir build-clang` runs everything so.
asan: clang
	@$(CUDA); code=0; $(CTEST) --test-dir $(BUILD)-clang -L unit || code=$$?; \
	  tools/gates/skipped.py $(BUILD)-clang/junit.xml || code=1; exit $$code

# All fuzz targets, together for a minute (FUZZ_SECONDS), from their corpora.
fuzz: clang
	@FUZZ_SEED=$(FUZZ_SEED) tools/fuzz $(BUILD)-clang

# The leaderboard of the results that lie in the repository: build/site/index.html.
site: programs
	@rm -f $(BUILD)/site.sqlite*
	@for lines in $(sort $(wildcard bench/results/*/leaderboard.jsonl bench/results/*/makers.jsonl bench/results/*/runs.jsonl \
	    bench/results/*/trials.jsonl)); do \
	  $(ASSAY) runs import $$lines --store $(BUILD)/site.sqlite || exit 1; done
	@$(ASSAY) trials --read tests/tuning/logs/published_results.csv --run published --store $(BUILD)/site.sqlite >/dev/null
	@bench/leaderboard.py --sources $(BUILD)/site_sources
	@$(ASSAY) report --html $(BUILD)/site --sources $(BUILD)/site_sources --store $(BUILD)/site.sqlite

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

format-check: deps
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror

layers:
	@tests/layers/layers.sh .

duplicates:
	@tools/gates/duplicates.py --most $(MOST_DUPLICATES) src

# A line of SPDX in every source file; tools/gates/spdx.py --write adds it.
licences:
	@tools/gates/spdx.py

commits:
	@tools/gates/commits.sh

# What is missing for a release, or how to tag it; `make prepare VERSION=X.Y.Z` writes what is missing, `make tag` tags.
release:
	@tools/gates/release.sh

prepare:
	@tools/gates/release.sh --prepare "$(VERSION)"

tag:
	@tools/gates/release.sh --tag

clean:
	rm -rf $(BUILD) $(BUILD)-clang
