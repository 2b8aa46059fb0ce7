// SPDX-License-Identifier: Apache-2.0
// modules: toolchain/lift
// Which module's kernel a launch means, by handle and name, and what goes into the log of it. The device code is
// tests/fuzz/corpus/cubin/small.cu: scale, turn and tile.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "toolchain/lift/module_table.h"

#define CUBINS ASSAY_SOURCE_DIR "/tests/fuzz/corpus/cubin/"
#define MODULE(n) ((CUmodule)(uintptr_t)(n))
#define FUNCTION(n) ((CUfunction)(uintptr_t)(n))

static void add(struct module_table *t, const char *file, CUmodule module) {
  char path[512], *bytes;
  size_t n, since = t->n_cubins;
  struct assay_error err = {0};
  snprintf(path, sizeof path, CUBINS "%s", file);
  assert_int_equal(file_read(path, 1 << 20, &bytes, &n, &err), ASSAY_OK);
  module_table_add(t, bytes, n);
  base_free(bytes); // the table has its own copy
  assert_int_equal(t->n_cubins, since + 1);
  if (module)
    module_table_name(t, module, since);
}

static void by_name(void **state) {
  (void)state;
  struct module_table t = {0};
  struct module_match m = module_table_search(&t, NULL, "scale", -1);
  assert_null(m.cubin);
  add(&t, "small_sm90a.cubin", NULL);
  m = module_table_search(&t, NULL, "scale", -1);
  assert_ptr_equal(m.cubin, t.cubins[0]);
  assert_string_equal(m.kernel->name, "scale");
  assert_int_equal(m.kernel->n_parameters, 3);
  assert_false(m.several);
  assert_ptr_equal(module_table_search(&t, MODULE(0x900), "turn", -1).cubin, t.cubins[0]); // the handle says nothing
  static const char *const absent[] = {"scal", "scalee", "nobody", ""};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    assert_null(module_table_search(&t, NULL, absent[i], -1).cubin);
  char longest[PLAN_MAX_NAME + 64];
  memset(longest, 'k', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  assert_null(module_table_search(&t, NULL, longest, -1).cubin);
  module_table_release(&t);
}

// Several modules have the name: the handle's module is certain; otherwise equal code is one, other code is several.
static void by_module(void **state) {
  (void)state;
  struct module_table t = {0};
  add(&t, "small_sm90a.cubin", MODULE(0x100));
  add(&t, "small_sm90.cubin", MODULE(0x200));
  for (size_t i = 0; i < 2; i++) {
    struct module_match m = module_table_search(&t, MODULE(0x100 * (i + 1)), "scale", -1);
    assert_ptr_equal(m.cubin, t.cubins[i]);
    assert_false(m.several);
  }
  assert_true(module_table_search(&t, NULL, "scale", -1).several);
  assert_true(module_table_search(&t, MODULE(0x900), "scale", -1).several);
  add(&t, "small_sm90.cubin", MODULE(0x100)); // the handle is used again
  assert_ptr_equal(module_table_search(&t, MODULE(0x100), "scale", -1).cubin, t.cubins[2]);
  module_table_release(&t);
  add(&t, "small_sm90.cubin", NULL);
  add(&t, "small_sm90.cubin", NULL);
  struct module_match m = module_table_search(&t, NULL, "scale", -1);
  assert_false(m.several); // twice the same
  assert_ptr_equal(m.cubin, t.cubins[1]);
  module_table_release(&t);
}

static void by_count(void **state) {
  (void)state;
  struct module_table t = {0};
  add(&t, "small_sm90a.cubin", NULL);
  add(&t, "small_sm90.cubin", NULL);
  assert_true(module_table_search(&t, NULL, "scale", -1).several);
  assert_int_equal(t.cubins[1]->info.n_kernels, 3);
  t.cubins[1]->info.n_kernels = 2; // as if the last one were not there
  for (size_t i = 0; i < 2; i++) {
    struct module_match m = module_table_search(&t, NULL, "scale", t.cubins[i]->info.n_kernels);
    assert_ptr_equal(m.cubin, t.cubins[i]);
    assert_false(m.several);
  }
  assert_null(module_table_search(&t, NULL, "scale", 77).cubin);
  module_table_release(&t);
}

// What is not a cubin has no kernels, and does no harm.
static void not_device_code(void **state) {
  (void)state;
  struct module_table t = {0};
  static const char text[] = "\177ELF .text.scale\0 and nothing else";
  module_table_add(&t, text, sizeof text);
  module_table_add(&t, text, 0);
  assert_int_equal(t.n_cubins, 1);
  assert_null(module_table_search(&t, NULL, "scale", -1).cubin);
  assert_true(t.cubins[0]->parsed && !t.cubins[0]->readable);
  module_table_release(&t);
}

// A kernel is known by handle and name together: handles are used again.
static void kernels(void **state) {
  (void)state;
  struct module_table t = {0};
  const struct caller caller = {.origin = PLAN_LIBRARY, .object = "libcublas.so"};
  add(&t, "small_sm90a.cubin", NULL);
  assert_null(module_table_find(&t, FUNCTION(1), "scale"));
  for (int i = 0; i < 40; i++) { // beyond the first capacity
    const char *name = i % 2 ? "scale" : "turn";
    const struct module_match m = module_table_search(&t, NULL, name, -1);
    struct known_kernel *k = module_table_add_kernel(&t, FUNCTION(i / 2), &m, &caller);
    assert_ptr_equal(module_table_find(&t, FUNCTION(i / 2), name), k);
    assert_int_equal(k->launched_by.origin, PLAN_LIBRARY);
  }
  assert_string_equal(module_table_find(&t, FUNCTION(3), "turn")->kernel->name, "turn");
  assert_string_equal(module_table_find(&t, FUNCTION(3), "scale")->kernel->name, "scale");
  assert_null(module_table_find(&t, FUNCTION(20), "scale"));
  module_table_release(&t);
}

static size_t count_entries(const struct log_writer *w, uint32_t kind) {
  size_t n = 0;
  for (size_t at = 0; at < w->body.len;) {
    struct record_entry e;
    memcpy(&e, w->body.data + at, sizeof e);
    n += e.kind == kind;
    at += sizeof e + (e.bytes + 7) / 8 * 8;
  }
  return n;
}

// Numbers are given in the order of first use, and a kernel and its module are written once a log.
static void numbers(void **state) {
  (void)state;
  struct module_table t = {0};
  struct log_writer w = {0};
  const struct caller caller = {.origin = PLAN_OWN, .object = "candidate.so"};
  struct known_kernel *k[3];
  static const char *const names[] = {"scale", "turn", "tile"};
  add(&t, "small_sm90a.cubin", NULL);
  for (int i = 0; i < 3; i++) {
    const struct module_match m = module_table_search(&t, NULL, names[i], -1);
    k[i] = module_table_add_kernel(&t, FUNCTION(i + 1), &m, &caller);
  }
  for (int log = 0; log < 2; log++) {
    module_table_begin(&t);
    log_writer_begin(&w);
    static const int order[] = {2, 0, 2, 2, 0}, expected[] = {0, 1, 0, 0, 1};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
      assert_int_equal(module_table_number(&t, k[order[i]], &w), expected[i]);
    assert_int_equal(count_entries(&w, RECORD_MODULE), 1);
    assert_int_equal(count_entries(&w, RECORD_NAME), 1);
    assert_int_equal(count_entries(&w, RECORD_KERNEL), 2);
    assert_non_null(memmem(w.body.data, w.body.len, "own: candidate.so", sizeof "own: candidate.so"));
  }
  module_table_release(&t);
  log_writer_release(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_name),  cmocka_unit_test(by_module),
                                     cmocka_unit_test(by_count), cmocka_unit_test(not_device_code),
                                     cmocka_unit_test(kernels),  cmocka_unit_test(numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
