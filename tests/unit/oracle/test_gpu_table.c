// SPDX-License-Identifier: Apache-2.0
// modules: oracle/cuda
// The operator table and the list of what runs on a device: every row has an implementation, every entry has a row.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/cuda/gpu_table.h"

// Operators that are judged on the CPU only: none so far. One that cannot run on a device goes here, with the reason.
static const char *const cpu_only[] = {NULL};

static bool is_cpu_only(const struct op_def *d) {
  for (const char *const *name = cpu_only; *name; name++)
    if (strcmp(*name, d->name) == 0)
      return true;
  return false;
}

static void test_every_row_has_an_implementation(void **state) {
  (void)state;
  int n;
  const struct op_family *const *families = op_families(&n);
  for (int f = 0; f < n; f++)
    for (int r = 0; r < families[f]->n_rows; r++) {
      const struct op_def *d = &families[f]->rows[r];
      if ((gpu_find(d) != NULL) == is_cpu_only(d))
        fail_msg("%s %d has no entry in oracle/cuda/gpu_table.h, or one that cpu_only denies", d->name, d->since);
    }
}

static void test_every_entry_has_a_row(void **state) {
  (void)state;
  int n;
  const struct gpu_entry *entries = gpu_entries(&n);
  for (int i = 0; i < n; i++) {
    const char *dot = strrchr(entries[i].name, '.');
    const struct op_def *d = op_find(dot ? "ai.assay" : "", dot ? dot + 1 : entries[i].name, INT32_MAX);
    if (!d || !gpu_entry_is_for(&entries[i], d))
      fail_msg("there is no operator %s", entries[i].name);
    if (d->expr)
      fail_msg("%s has an expression, and runs as that without an entry", d->name);
    for (int k = 0; k < i; k++)
      if (strcmp(entries[k].name, entries[i].name) == 0)
        fail_msg("%s stands twice in the list", entries[i].name);
  }
}

static void test_other_operators(void **state) {
  (void)state;
  const struct op_def plain = {.name = "Softmax", .domain = "ai.assay"};
  const struct op_def elementwise = {.name = "Softmax", .domain = "ai.assay", .expr = "x"};
  assert_null(gpu_find(&plain)); // not ONNX's
  assert_ptr_equal(gpu_find(&elementwise), gpu_pointwise_eval);
}

// What the host does next to a device counts as not on it.
static void test_graphs_that_run_on_a_device(void **state) {
  (void)state;
  const struct op_def elementwise = {.name = "Any", .domain = "ai.assay", .expr = "x"};
  const struct op_def unknown = {.name = "Any", .domain = "ai.assay"};
  struct node nodes[3] = {{.op = op_find("", "Softmax", INT32_MAX)}, {.op = &elementwise}};
  const struct graph g = {.nodes = nodes, .n_nodes = 3};
  const struct {
    const struct op_def *op;
    bool all;
  } cases[] = {{op_find("ai.assay", "ChanceTests", INT32_MAX), true},
               {op_find("ai.assay", "QR", INT32_MAX), false},
               {op_find("", "DFT", INT32_MAX), false},
               {&unknown, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nodes[2].op = cases[i].op;
    assert_int_equal(gpu_runs_all(&g), cases[i].all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_row_has_an_implementation),
      cmocka_unit_test(test_every_entry_has_a_row),
      cmocka_unit_test(test_other_operators),
      cmocka_unit_test(test_graphs_that_run_on_a_device),
  };
  return cmocka_run_group_tests_name("device table", tests, NULL, NULL);
}
