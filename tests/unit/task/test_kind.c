// SPDX-License-Identifier: Apache-2.0
// Tasks' kinds and categories, as a person who knows them would name them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "task/kind.h"

static void read_by_name(const char *name, struct task *t) {
  struct assay_error err = {0};
  char *path = NULL;
  assert_int_equal(task_find(ASSAY_SOURCE_DIR "/tasks", name, &path, &err), ASSAY_OK);
  assert_int_equal(task_read(path, false, t, &err), ASSAY_OK);
  base_free(path);
}

static void test_kinds(void **state) {
  (void)state;
  static const struct {
    const char *name, *kind;
  } known[] = {
      {"kernelbench/1/1", "matmul"},         {"kernelbench/1/12", "elementwise"}, // a diagonal matrix times another
      {"kernelbench/1/19", "activation"},    {"kernelbench/1/23", "softmax"},
      {"kernelbench/1/36", "normalization"}, // RMS norm, written out
      {"kernelbench/1/40", "normalization"}, {"kernelbench/1/42", "pooling"},
      {"kernelbench/1/47", "reduction"},     {"kernelbench/1/51", "reduction"}, // argmax
      {"kernelbench/1/63", "convolution"},   {"kernelbench/1/89", "scan"},
      {"kernelbench/1/94", "loss"}, // mean squared error, written out
      {"kernelbench/1/95", "loss"},          {"kernelbench/1/97", "attention"},
      {"kernelbench/2/1", "convolution"},    {"kernelbench/2/9", "matmul"},
      {"kernelbench/3/9", "convolution"}, // ResNet-18
      {"kernelbench/3/33", "matmul"},     // a vanilla RNN's step
      {"kernelbench/3/36", "rnn"},        // LSTM
      {"kernelbench/3/43", "attention"},  // GPT's, written out
      {"kernelbench/4/7", "attention"}};  // GPT-2, all of it
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct task t;
    read_by_name(known[i].name, &t);
    if (strcmp(task_kind(&t), known[i].kind) != 0)
      fail_msg("%s: %s in place of %s", known[i].name, task_kind(&t), known[i].kind);
    task_release(&t);
  }
}

// No published task computes nothing but movement, and every level has the tasks that it has.
static void test_all_have_one(void **state) {
  (void)state;
  struct assay_error err = {0};
  char **paths = NULL;
  int n = 0;
  assert_int_equal(task_list(ASSAY_SOURCE_DIR "/tasks", "kernelbench", &paths, &n, &err), ASSAY_OK);
  assert_true(n >= 270);
  for (int i = 0; i < n; i++) {
    struct task t;
    assert_int_equal(task_read(paths[i], false, &t, &err), ASSAY_OK);
    if (strcmp(task_kind(&t), "movement") == 0)
      fail_msg("%s has no kind", paths[i]);
    task_release(&t);
  }
  task_list_release(paths, n);
}

static void test_categories(void **state) {
  (void)state;
  char text[TASK_CATEGORY_BYTES];
  assert_string_equal(task_category("kernelbench/1/19", text), "single operator");
  assert_string_equal(task_category("kernelbench/2/9", text), "fusion");
  assert_string_equal(task_category("kernelbench/3/9", text), "architecture");
  assert_string_equal(task_category("kernelbench/4/16", text), "language model");
  assert_string_equal(task_category("kernelbenchx/Reduce/sum", text), "Reduce");
  assert_string_equal(task_category("kernelbenchx/sum", text), "");
  assert_string_equal(task_category("my/task.onnxtxt", text), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_all_have_one),
      cmocka_unit_test(test_categories),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
