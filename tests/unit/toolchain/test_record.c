// SPDX-License-Identifier: Apache-2.0
// CUDA files with host code, from source to plan: every tests/record/*.cu is built with nvcc and recorded, and its
// first lines say what must come of it:
//   // made: 2 steps           and then any number of   // plan: TEXT   which the plan's page must contain
//   // refused: TEXT           and so crashed, timed out, invalid (the report's detail contains the text)
//   // rejected: TEXT          the compiler's diagnostics contain it
// Exits with 77 (skipped) where nvcc is not installed.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "sandbox/sandbox.h"
#include "toolchain/cc.h"
#include "toolchain/program_private.h"

#define SECOND INT64_C(1000000000)
enum { SKIPPED = 77, N = 1000, MAX_FILES = 128 };
static const char *const outcome_names[] = {"made", "refused", "crashed", "timed out", "invalid"};

static glob_t samples;       // fixed before the tests begin
static char path_env[16384]; // ... and so is this: where nvcc and g++ are looked for
static const struct assay_paths paths = {
    .path_env = path_env, .include = ASSAY_SOURCE_DIR "/include", .recorder = ASSAY_BINARY_DIR "/assay-recorder"};

struct build {
  char *folder, *source;
  size_t n;
  struct program_options options;
  struct program_build *build;
  struct build_result result;
  struct program *program;
  struct assay_error err;
};

static void start(struct build *b, const char *path) {
  memset(b, 0, sizeof *b);
  if (file_read(path, 1 << 20, &b->source, &b->n, &b->err) || sandbox_folder_make("/tmp", &b->folder, &b->err))
    fail_msg("%s", b->err.message);
  b->options = (struct program_options){.toolchain = &toolchain_nvcc,
                                        .target = "sm_90a",
                                        .name = "sample.cu",
                                        .paths = &paths,
                                        .folder = b->folder,
                                        .timeout_ns = 300 * SECOND,
                                        .record_timeout_ns = 4 * SECOND,
                                        .memory_bytes = (size_t)8 << 30,
                                        .file_bytes = (size_t)256 << 20};
  if (program_start(&b->options, b->source, b->n, &b->build, &b->err))
    fail_msg("%s: %s", path, b->err.message);
}

static void finish(struct build *b) {
  program_release(b->program);
  build_result_release(&b->result);
  sandbox_folder_remove(b->folder);
  base_free(b->folder);
  base_free(b->source);
}

static const struct tensor_type tensor = {DTYPE_FLOAT, {1, {N}}};
static const char *const input_names[] = {"x"}, *const output_names[] = {"y"};
static const struct plan_subject subject = {.task = "sample",
                                            .workload = "N=1000",
                                            .n_inputs = 1,
                                            .n_outputs = 1,
                                            .input_names = input_names,
                                            .output_names = output_names,
                                            .inputs = &tensor,
                                            .outputs = &tensor};

// The text after "// key" on the line at p, or NULL; *next is the line after.
static const char *line_text(const char *p, const char *key, char *out, size_t size, const char **next) {
  size_t n = strcspn(p, "\n"), k = strlen(key);
  *next = p + n + (p[n] == '\n');
  if (n < 3 + k || strncmp(p, "// ", 3) != 0 || strncmp(p + 3, key, k) != 0)
    return NULL;
  snprintf(out, size, "%.*s", (int)(n - 3 - k), p + 3 + k);
  return out;
}

// What the plan must be: the number of steps, and lines of its page.
static int check_plan(const char *name, const struct build *b, const struct plan *plan) {
  char text[256];
  const char *p = b->source, *next;
  struct buf page;
  int bad = 0;
  buf_init(&page);
  assert_int_equal(plan_print(plan, &page, NULL), ASSAY_OK);
  if (line_text(p, "made: ", text, sizeof text, &next) && atoi(text) != plan->n_steps) {
    print_error("%s: %d steps\n%s\n", name, plan->n_steps, buf_str(&page));
    bad++;
  }
  for (p = next; line_text(p, "plan: ", text, sizeof text, &next); p = next)
    if (!strstr(buf_str(&page), text)) {
      print_error("%s: the plan lacks \"%s\"\n%s\n", name, text, buf_str(&page));
      bad++;
    }
  if (getenv("SHOW_PLANS"))
    print_message("%s:\n%s\n", name, buf_str(&page));
  buf_release(&page);
  return bad;
}

// A plan is made twice, and is the same: host code cannot remember anything.
static int check_same(const char *name, const struct build *b, const struct plan *plan) {
  struct plan again;
  struct plan_report report;
  struct buf first, second;
  buf_init(&first);
  buf_init(&second);
  assert_int_equal(program_plan(b->program, &subject, &again, &report, NULL), ASSAY_OK);
  assert_int_equal(report.outcome, PLAN_MADE);
  assert_int_equal(plan_print_json(plan, &first, NULL), ASSAY_OK);
  assert_int_equal(plan_print_json(&again, &second, NULL), ASSAY_OK);
  bool same = !strcmp(buf_str(&first), buf_str(&second));
  if (!same)
    print_error("%s: two plans differ\n", name);
  buf_release(&first);
  buf_release(&second);
  plan_release(&again);
  plan_report_release(&report);
  return !same;
}

static int check_outcome(const char *name, const struct build *b) {
  char key[32], text[256];
  const char *next;
  struct plan plan = {0};
  struct plan_report report = {0};
  struct assay_error err = {0};
  int bad = 0;
  int64_t begin_ns = clock_monotonic_ns();
  if (program_plan(b->program, &subject, &plan, &report, &err)) {
    print_error("%s: %s\n", name, err.message);
    return 1;
  }
  print_message("%-20s recorded in %.1f ms\n", name, (double)(clock_monotonic_ns() - begin_ns) * 1e-6);
  snprintf(key, sizeof key, "%s: ", outcome_names[report.outcome]);
  if (!line_text(b->source, key, text, sizeof text, &next) ||
      (report.outcome != PLAN_MADE && !strstr(report.detail, text))) {
    print_error("%s: %s%s (%s)\n", name, key, report.detail, report.log ? report.log : "");
    bad++;
  } else if (report.outcome == PLAN_MADE) {
    bad += check_plan(name, b, &plan) + check_same(name, b, &plan);
  }
  if (getenv("SHOW_PLANS"))
    print_message("%s: %s%s\n", name, key, report.detail);
  if (report.outcome == PLAN_MADE)
    plan_release(&plan);
  plan_report_release(&report);
  return bad;
}

static int check_build(const char *path, struct build *b) {
  char text[256];
  const char *next, *name = strrchr(path, '/') + 1;
  bool rejected = line_text(b->source, "rejected: ", text, sizeof text, &next) != NULL;
  if (program_finish(b->build, &b->result, &b->program, &b->err))
    fail_msg("%s: %s", name, b->err.message);
  print_message("%-20s built in %lld ms (processor %lld)\n", name, (long long)(b->result.elapsed_ns / 1000000),
                (long long)(b->result.cpu_ns / 1000000));
  if (b->result.outcome == BUILD_OK && !rejected)
    return check_outcome(name, b);
  if (b->result.outcome == BUILD_REJECTED && rejected && strstr(b->result.diagnostics, text))
    return 0;
  print_error("%s: outcome %d of the build\n%s\n%s\n", name, b->result.outcome, b->result.command,
              b->result.diagnostics);
  return 1;
}

// Two builds at a time.
static void test_samples(void **state) {
  (void)state;
  static struct build builds[MAX_FILES];
  int bad = 0;
  assert_in_range(samples.gl_pathc, 1, MAX_FILES);
  start(&builds[0], samples.gl_pathv[0]);
  for (size_t i = 0; i < samples.gl_pathc; i++) {
    if (i + 1 < samples.gl_pathc)
      start(&builds[i + 1], samples.gl_pathv[i + 1]);
    bad += check_build(samples.gl_pathv[i], &builds[i]);
    finish(&builds[i]);
  }
  assert_int_equal(bad, 0);
}

static void test_cancel(void **state) {
  (void)state;
  struct build b;
  start(&b, samples.gl_pathv[0]);
  program_cancel(b.build);
  finish(&b);
}

static void test_no_compiler(void **state) {
  (void)state;
  struct program_build *build = NULL;
  struct assay_error err = {0};
  struct program_options o = {
      .toolchain = &toolchain_nvcc, .target = "sm_90a", .paths = &paths, .folder = "/tmp", .timeout_ns = SECOND};
  o.compiler = "/nowhere/nvcc";
  assert_int_equal(program_start(&o, "", 0, &build, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "/nowhere/nvcc"));
  o.compiler = "clang";
  assert_int_equal(program_start(&o, "", 0, &build, &err), ASSAY_ERR_UNSUPPORTED);
  o.compiler = NULL;
  o.target = "gfx90a";
  assert_int_equal(program_start(&o, "", 0, &build, &err), ASSAY_ERR_UNSUPPORTED);
}

int main(int argc, char **argv) {
  struct arena arena = {0};
  char *program, pattern[512];
  const char *path = getenv("PATH");
  snprintf(path_env, sizeof path_env, "%s:/usr/local/cuda/bin:/usr/bin:/bin", path ? path : "");
  if (compiler_find("nvcc", path_env, &arena, &program, NULL) != ASSAY_OK) {
    puts("skipped: there is no nvcc");
    return SKIPPED;
  }
  arena_release(&arena);
  // With a name as argument: that sample alone.
  snprintf(pattern, sizeof pattern, ASSAY_SOURCE_DIR "/tests/record/%s.cu", argc > 1 ? argv[1] : "*");
  if (glob(pattern, 0, NULL, &samples) != 0)
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_samples),
      cmocka_unit_test(test_cancel),
      cmocka_unit_test(test_no_compiler),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  globfree(&samples);
  return failed;
}
