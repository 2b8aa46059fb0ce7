// SPDX-License-Identifier: Apache-2.0
// modules: oracle/cuda
// Products on tensor cores, as far as a machine without a GPU can say: they compile for every architecture that NVRTC
// knows, the host backend refuses them and takes the others, and panels and splits fit the product. What they compute
// is for tests/gpu/product.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "compute/nvrtc.h"
#include "oracle/cuda/contraction.h"
#include "skip.h"

extern const char code_dialect[];

static void compile_for(struct nvrtc *n, const char *text, int architecture) {
  char option[64];
  struct assay_error err = {0};
  struct nvrtc_result r = {0};
  snprintf(option, sizeof option, "--gpu-architecture=sm_%d", architecture);
  const char *const options[] = {option, "--std=c++17", "--disable-warnings", NULL};
  struct nvrtc_request q = {.source = text, .name = "product.cu", .options = options};
  if (nvrtc_compile(n, &q, &r, &err) != ASSAY_OK)
    fail_msg("sm_%d: %s", architecture, err.message);
  if (!r.compiled)
    fail_msg("sm_%d: %s", architecture, r.log);
  nvrtc_result_release(&r);
}

// The oldest, one of each generation in between, and the newest: kinds of multiplication differ between them.
static void test_compiles_for_a_gpu(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct nvrtc *n = NULL;
  struct buf text = {0};
  int count;
  if (nvrtc_open(NULL, &n, &err) != ASSAY_OK) {
    SKIP_BECAUSE("no NVRTC: %s", err.message);
  }
  buf_puts(&text, code_dialect);
  for (int i = 0; product_mma_code.texts[i]; i++)
    buf_puts(&text, product_mma_code.texts[i]);
  assert_int_equal(buf_status(&text, &err), ASSAY_OK);
  const int *list = nvrtc_architectures(n, &count);
  assert_true(count > 0);
  for (int i = 0; i < count; i++)
    if (i == 0 || i == count - 1 || list[i] == 80 || list[i] == 90)
      compile_for(n, buf_str(&text), list[i]);
  buf_release(&text);
  nvrtc_close(n);
}

static void test_host_has_none(void **state) {
  (void)state;
  struct compute *c;
  struct assay_error err = {0};
  struct compute_options o = {.compiler = "cc", .threads = 1};
  if (compute_open_host(&o, &c, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_false(product_panels_for(c, false).mma);
  struct product_panels p = product_panels_make(true, false);
  struct product_tile_args a = {.m = 1, .n = 1, .k = 1, .a_panels = 1, .b_panels = 1, .batches = 1, .splits = 1};
  assert_int_equal(product_tiles(c, &p, &a, &err), ASSAY_ERR_UNSUPPORTED);
  assert_non_null(strstr(err.message, "product_mma"));
  compute_close(c);
}

// Every term is in one split, none is empty, and few tiles get more splits than many.
static void test_splits(void **state) {
  (void)state;
  static const int64_t depths[] = {1, 63, 64, 65, 1000, 4096, 524288};
  for (int way = 0; way < 4; way++) {
    struct product_panels p = product_panels_make(way & 1, way & 2);
    for (int64_t tiles = 1; tiles < 5000; tiles += 1 + tiles / 3)
      for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        int64_t k = depths[i], depth, splits = product_splits(&p, tiles, k, &depth);
        assert_true(splits >= 1 && splits * depth >= k);
        assert_true(splits == 1 || depth >= 64);
      }
    int64_t depth;
    assert_true(product_splits(&p, 4, 1 << 20, &depth) > 100);
    assert_int_equal(product_splits(&p, 100000, 1 << 20, &depth), 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_compiles_for_a_gpu), cmocka_unit_test(test_host_has_none),
                                     cmocka_unit_test(test_splits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
