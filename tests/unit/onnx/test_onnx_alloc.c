// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// Every allocation of the ONNX module fails once: the answer is always "out of memory", and nothing leaks (the
// sanitizer build sees to that).
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "fail_each.h"
#include "onnx/onnx.h"
#include "onnx_samples.h"

static enum assay_status parse_text(void *arg, struct assay_error *err) {
  const struct buf *b = arg;
  struct model m;
  enum assay_status status = onnx_parse_text(b->data, b->len, "t", &m, err);
  if (!status)
    model_release(&m);
  return status;
}

static enum assay_status read_binary(void *arg, struct assay_error *err) {
  const struct buf *b = arg;
  struct model m;
  enum assay_status status = onnx_read_binary(b->data, b->len, "b", &m, err);
  if (!status)
    model_release(&m);
  return status;
}

static enum assay_status print_text(void *arg, struct assay_error *err) {
  struct buf b;
  buf_init(&b);
  enum assay_status status = onnx_print_text(arg, &b, err);
  buf_release(&b);
  return status;
}

static enum assay_status write_binary(void *arg, struct assay_error *err) {
  struct buf b;
  buf_init(&b);
  enum assay_status status = onnx_write_binary(arg, &b, err);
  buf_release(&b);
  return status;
}

// Large enough that the arena needs many blocks: a constant of some size, a few hundred nodes, calls.
static void large_text(struct buf *b) {
  buf_puts(b, "<ir_version: 10, opset_import: [\"\" : 23]> g (float[2] x) => (float[2] y299) <float[9000] w = {0");
  for (int i = 1; i < 9000; i++)
    buf_printf(b, ", %d", i);
  buf_puts(b, "}> { y0 = Relu(x)\n");
  for (int i = 1; i < 300; i++)
    buf_printf(b, "  [n%d] y%d = %s<alpha = 0.5>(y%d)\n", i, i, i % 2 ? "LeakyRelu" : "f", i - 1);
  buf_puts(b, "}\n<opset_import: [\"\" : 23]> f <alpha> (x) => (y) { y = LeakyRelu<alpha: float = @alpha>(x) }\n");
}

static void try_all(const char *text, size_t len, int least_text, int least_binary) {
  struct buf source = {.data = (char *)(uintptr_t)text, .len = len}, binary;
  struct model m;
  struct assay_error err = {0};
  buf_init(&binary);
  assert_int_equal(onnx_parse_text(text, len, "t", &m, &err), ASSAY_OK);
  assert_int_equal(onnx_write_binary(&m, &binary, &err), ASSAY_OK);
  fail_each(parse_text, &source, least_text);
  fail_each(read_binary, &binary, least_binary);
  fail_each(print_text, &m, 2);
  fail_each(write_binary, &m, 2);
  buf_release(&binary);
  model_release(&m);
}

static void test_sample(void **state) {
  (void)state;
  try_all(onnx_samples[1], strlen(onnx_samples[1]), 1, 100);
}

static void test_large(void **state) {
  (void)state;
  struct buf b;
  buf_init(&b);
  large_text(&b);
  try_all(b.data, b.len, 5, 1000);
  buf_release(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sample), cmocka_unit_test(test_large)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
