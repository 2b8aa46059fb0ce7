// SPDX-License-Identifier: Apache-2.0
// What a candidate's file says of itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "judge/directives.h"

static struct directives read_text(struct arena *arena, const char *text) {
  struct directives d = {0};
  struct assay_error err = {0};
  assert_int_equal(directives_read(text, strlen(text), arena, &d, &err), ASSAY_OK);
  return d;
}

static void twins_are_read(void **state) {
  (void)state;
  struct arena arena = {0};
  struct directives d = read_text(&arena, "// assay: task suite/1/2\n# assay: expect pass\n// assay: launch whatever\n"
                                          "// assay: twin BAD at full expect crashed|timeout -- why\n");
  assert_null(d.malformed);
  assert_string_equal(d.task, "suite/1/2");
  assert_int_equal(d.n_twins, 2);
  assert_string_equal(d.twins[0].expect, "pass");
  assert_string_equal(d.twins[1].workload, "full");
  assert_string_equal(d.twins[1].expect, "crashed|timeout");
  arena_release(&arena);
}

// The same macro may make another verdict on another device; a device that there is none of would hide a twin in
// silence.
static void a_twin_may_be_for_one_device(void **state) {
  (void)state;
  struct arena arena = {0};
  struct directives d =
      read_text(&arena, "# assay: twin A on cpu expect pass -- x\n# assay: twin A on cuda expect raised\n"
                        "# assay: twin B at full on cuda expect crashed\n");
  assert_null(d.malformed);
  assert_int_equal(d.n_twins, 4);
  assert_null(d.twins[0].device);
  assert_ptr_equal(d.twins[1].device, &plan_device_cpu);
  assert_string_equal(d.twins[1].note, "x");
  assert_ptr_equal(d.twins[2].device, &plan_device_cuda);
  assert_string_equal(d.twins[2].expect, "raised");
  assert_string_equal(d.twins[3].workload, "full");
  assert_ptr_equal(d.twins[3].device, &plan_device_cuda);
  static const char *const wrong[] = {"# assay: twin A on gpu expect pass\n", "# assay: twin A on expect pass\n",
                                      "# assay: twin A on cpu\n", "# assay: twin A on cpu at full expect pass\n"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    d = read_text(&arena, wrong[i]);
    assert_int_equal(d.n_twins, 1);
    assert_string_equal(d.malformed,
                        "line 1: write `// assay: twin MACRO [at WORKLOAD] [on DEVICE] expect CODE -- note`");
  }
  arena_release(&arena);
}

// A malformed line is noted, the first one, and the rest is read.
static void a_malformed_line_ends_nothing(void **state) {
  (void)state;
  struct arena arena = {0};
  struct directives d = read_text(&arena, "\n// assay: twin BAD\n// assay: task\n// assay: twin GOOD expect pass\n"
                                          "// assay: task suite/1/2\n");
  assert_int_equal(strncmp(d.malformed, "line 2: write `// assay: twin MACRO", 35), 0);
  assert_string_equal(d.task, "suite/1/2");
  assert_int_equal(d.n_twins, 2);
  assert_string_equal(d.twins[1].define, "GOOD");
  d = read_text(&arena, "// assay: task\n");
  assert_null(d.task);
  assert_string_equal(d.malformed, "line 1: write `// assay: task SUITE/LEVEL/PROBLEM`");
  arena_release(&arena);
}

// A word that no directive begins with would count for nothing in silence. Other toolchains' words, and lines that go
// on from another, are none of it.
static void an_unknown_word_is_noted(void **state) {
  (void)state;
  struct arena arena = {0};
  struct directives d = read_text(&arena, "int x;\n// assay: tsk suite/1/2\n// assay: qqqqqqqq\n");
  assert_null(d.task);
  assert_string_equal(d.malformed, "line 2: there is no directive 'tsk'; did you mean task?");
  d = read_text(&arena, "# assay: qqqqqqqq\n");
  assert_string_equal(d.malformed, "line 1: there is no directive 'qqqqqqqq'");
  d = read_text(&arena, "// assay: launch k grid=1 block=1 \\ \n// assay: args=x, y\n// assay: tune N 1,2\n"
                        "// assay: constraint N < 3\n// assay: tensor_map t\n");
  assert_null(d.malformed);
  d = read_text(&arena, "// assay: launch k grid=1 \\\n// assay: block=1\n// assay: blok=1\n");
  assert_string_equal(d.malformed, "line 3: there is no directive 'blok=1'");
  arena_release(&arena);
}

// Blanks around the mark of a comment count for nothing, as in a launch line.
static void blanks_count_for_nothing(void **state) {
  (void)state;
  static const char *const texts[] = {"//assay: task suite/1/2\n", "  //  assay:task suite/1/2\n",
                                      "#assay: task suite/1/2\n", "#\tassay: task suite/1/2\r\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct arena arena = {0};
    struct directives d = read_text(&arena, texts[i]);
    assert_non_null(d.task);
    assert_string_equal(d.task, "suite/1/2");
    arena_release(&arena);
  }
  struct arena arena = {0};
  assert_string_equal(read_text(&arena, "//assay: tsk suite/1/2\n").malformed,
                      "line 1: there is no directive 'tsk'; did you mean task?");
  arena_release(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(twins_are_read),
      cmocka_unit_test(a_twin_may_be_for_one_device),
      cmocka_unit_test(a_malformed_line_ends_nothing),
      cmocka_unit_test(an_unknown_word_is_noted),
      cmocka_unit_test(blanks_count_for_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
