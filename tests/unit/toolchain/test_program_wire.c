// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// modules: toolchain/builder
// The messages between a judge and a builder. The judge trusts nothing in a reply: whatever the bytes are, it gets a
// consistent reply or an error.
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "toolchain/builder/wire.h"

static long allocations_left = LONG_MAX;

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return allocations_left-- > 0 ? __real_base_realloc(p, n) : NULL;
}

static const uint32_t sizes[] = {8, DIRECTIVE_SIZE_LOCAL, DIRECTIVE_SIZE_UNKNOWN};
static struct directive_kernel kernels[] = {{"_Z2mmv", -1, NULL}, {"sum", 3, sizes}};
static const struct builder_reply reply = {.outcome = BUILDER_COMPILED,
                                           .log = "a warning\n",
                                           .version = "NVRTC 13.0",
                                           .code = (const uint8_t *)"\x7f"
                                                                    "ELF\0\1\2",
                                           .code_bytes = 7,
                                           .n_kernels = 2,
                                           .kernels = kernels};

static void test_request(void **state) {
  (void)state;
  const char *const options[] = {"-DX=1", "--use_fast_math"}, *const names[] = {"mm<3>"};
  const struct builder_request r = {.language = BUILDER_OPENCL,
                                    .name = "a.cl",
                                    .source = "text",
                                    .source_bytes = 4,
                                    .architecture = 90,
                                    .n_options = 2,
                                    .n_kernels = 1,
                                    .options = options,
                                    .kernels = names};
  struct builder_request back;
  struct arena arena = {0};
  struct assay_error err = {0};
  struct buf b;
  buf_init(&b);
  builder_request_write(&r, &b);
  assert_int_equal(builder_request_read((uint8_t *)b.data, b.len, &arena, &back, &err), ASSAY_OK);
  assert_int_equal(back.language, BUILDER_OPENCL);
  assert_int_equal(back.architecture, 90);
  assert_string_equal(back.name, "a.cl");
  assert_string_equal(back.source, "text");
  assert_int_equal(back.n_options, 2);
  assert_string_equal(back.options[1], "--use_fast_math");
  assert_string_equal(back.kernels[0], "mm<3>");
  arena_release(&arena);
  buf_release(&b);
}

static void test_reply(void **state) {
  (void)state;
  struct builder_reply back;
  struct arena arena = {0};
  struct assay_error err = {0};
  struct buf b;
  buf_init(&b);
  builder_reply_write(&reply, &b);
  assert_int_equal(builder_reply_read((uint8_t *)b.data, b.len, 2, &arena, &back, &err), ASSAY_OK);
  assert_int_equal(back.outcome, BUILDER_COMPILED);
  assert_string_equal(back.log, reply.log);
  assert_string_equal(back.version, reply.version);
  assert_int_equal(back.code_bytes, 7);
  assert_memory_equal(back.code, reply.code, 7);
  assert_int_equal(back.kernels[0].n_parameters, -1);
  assert_string_equal(back.kernels[1].symbol, "sum");
  assert_int_equal(back.kernels[1].n_parameters, 3);
  assert_memory_equal(back.kernels[1].sizes, sizes, sizeof sizes);
  // A reply for another number of kernels than were asked about.
  assert_int_equal(builder_reply_read((uint8_t *)b.data, b.len, 3, &arena, &back, &err), ASSAY_ERR_PROTOCOL);
  assert_string_equal(err.message, "the builder's reply is damaged at its names");
  arena_release(&arena);
  buf_release(&b);
}

// Reads damaged bytes; in memory of their own size, so that reading beyond them is seen by a sanitizer.
static enum assay_status read_copy(const uint8_t *bytes, size_t n) {
  struct builder_reply back;
  struct arena arena = {.limit_bytes = (size_t)8 << 20};
  struct assay_error err = {0};
  uint8_t *copy = malloc(n ? n : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, n);
  enum assay_status status = builder_reply_read(copy, n, 2, &arena, &back, &err);
  if (status == ASSAY_OK) {
    assert_true(back.code_bytes <= n && strlen(back.log) <= n && strlen(back.version) <= n);
    for (int i = 0; i < back.n_kernels; i++)
      assert_true(strlen(back.kernels[i].symbol) <= n && back.kernels[i].n_parameters <= PLAN_MAX_ARGUMENTS);
  }
  free(copy);
  arena_release(&arena);
  return status;
}

static void test_damage(void **state) {
  (void)state;
  struct buf b;
  uint32_t seed = 1;
  int refused = 0;
  buf_init(&b);
  builder_reply_write(&reply, &b);
  for (size_t n = 0; n < b.len; n++) // cut short
    assert_int_equal(read_copy((uint8_t *)b.data, n), ASSAY_ERR_PROTOCOL);
  buf_append(&b, "x", 1); // too long
  assert_int_equal(read_copy((uint8_t *)b.data, b.len), ASSAY_ERR_PROTOCOL);
  b.len--;
  for (int i = 0; i < 100000; i++) {
    uint8_t bytes[512];
    assert_true(b.len <= sizeof bytes);
    memcpy(bytes, b.data, b.len);
    for (int flips = 0; flips < 1 + i % 4; flips++) {
      seed = seed * 1664525u + 1013904223u;
      bytes[(seed >> 8) % b.len] = (uint8_t)(seed >> 24);
    }
    refused += read_copy(bytes, b.len) != ASSAY_OK;
  }
  assert_true(refused > 1000);
  buf_release(&b);
}

static void test_allocations_fail(void **state) {
  (void)state;
  struct buf b;
  enum assay_status status = ASSAY_ERR_NOMEM;
  buf_init(&b);
  builder_reply_write(&reply, &b);
  for (long n = 0; status != ASSAY_OK; n++) {
    allocations_left = n;
    status = read_copy((uint8_t *)b.data, b.len);
    allocations_left = LONG_MAX;
    assert_true(status == ASSAY_OK || status == ASSAY_ERR_NOMEM);
    assert_true(n < 100);
  }
  buf_release(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_request), cmocka_unit_test(test_reply),
                                     cmocka_unit_test(test_damage), cmocka_unit_test(test_allocations_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
