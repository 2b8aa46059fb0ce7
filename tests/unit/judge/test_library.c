// SPDX-License-Identifier: Apache-2.0
// The libraries' baseline from a .library file to a plan, without a GPU: assay-library and assay-lift.so are the real
// ones, the driver, CUPTI, cuBLASLt and cuDNN are tests/fake_vendor, which print what they are asked.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "judge/planning.h"

#define FAKES ASSAY_BINARY_DIR "/fake_vendor/"
static const struct assay_paths fakes = {.library = ASSAY_BINARY_DIR "/assay-library",
                                         .temporary = "/tmp",
                                         .worker = ASSAY_BINARY_DIR "/assay-worker.so",
                                         .cublaslt = FAKES "libcublasLt.so.12",
                                         .cudnn = FAKES "libcudnn.so.9",
                                         .cupti = FAKES "libcupti.so"};

struct fixture {
  struct arena arena;
  struct task task;
  struct layout layouts[2]; // small, ragged3
  struct program_options options;
  struct build_result result;
  struct program *program;
  struct plan plan;
  struct plan_report report;
  enum assay_status status;
  struct assay_error err;
};

static void setup(struct fixture *f, const char *task, const char *source) {
  char *path;
  struct program_build *b;
  memset(f, 0, sizeof *f);
  assert_int_equal(task_find(ASSAY_SOURCE_DIR "/tasks", task, &path, &f->err), ASSAY_OK);
  assert_int_equal(task_read(path, false, &f->task, &f->err), ASSAY_OK);
  base_free(path);
  assert_int_equal(layout_make(&f->task, task_workload(&f->task, "small"), &f->layouts[0], &f->err), ASSAY_OK);
  assert_int_equal(layout_make(&f->task, task_workload(&f->task, "ragged3"), &f->layouts[1], &f->err), ASSAY_OK);
  f->options = (struct program_options){
      .toolchain = &toolchain_library, .target = "sm_90a", .name = "a.library", .paths = &fakes};
  if (library_find(&fakes, &f->arena, &f->options.library, &f->err) != ASSAY_OK)
    fail_msg("%s", f->err.message);
  assert_int_equal(program_start(&f->options, source, strlen(source), &b, &f->err), ASSAY_OK);
  assert_int_equal(program_finish(b, &f->result, &f->program, &f->err), ASSAY_OK);
}

static void make_plan(struct fixture *f, int layout) {
  plan_report_release(&f->report);
  plan_release(&f->plan);
  memset(&f->plan, 0, sizeof f->plan);
  f->status = planning_make(f->program, &f->task, &f->layouts[layout], &f->plan, &f->report, &f->err);
}

static void teardown(struct fixture *f) {
  plan_report_release(&f->report);
  plan_release(&f->plan);
  program_release(f->program);
  build_result_release(&f->result);
  for (int i = 0; i < 2; i++)
    layout_release(&f->layouts[i]);
  task_release(&f->task);
  arena_release(&f->arena);
}

static void expect_steps(struct fixture *f, const char *steps) {
  struct buf text = {0};
  if (f->status || f->report.outcome != PLAN_MADE)
    fail_msg("%s%s\n%s", f->err.message, f->report.detail, f->report.log ? f->report.log : "");
  assert_int_equal(plan_print(&f->plan, &text, &f->err), ASSAY_OK);
  const char *at = strstr(buf_str(&text), "steps\n");
  if (!at || strcmp(at + strlen("steps\n"), steps) != 0)
    fail_msg("%s\nis not\n%s", at ? at : buf_str(&text), steps);
  buf_release(&text);
}

static void expect_said(const struct fixture *f, const char *part) {
  if (!f->report.log || !strstr(f->report.log, part))
    fail_msg("\"%s\" is not in\n%s", part, f->report.log ? f->report.log : "(nothing)");
}

static void expect_refused(const struct fixture *f, const char *part) {
  assert_int_equal(f->status, ASSAY_OK);
  assert_int_equal(f->report.outcome, PLAN_REFUSED);
  if (!strstr(f->report.detail, part))
    fail_msg("\"%s\" says nothing of \"%s\"", f->report.detail, part);
}

// ---- plans

// The fastest algorithm that runs is number 1, with workspace: scratch of the plan, at the offset that makes it as
// aligned as scratch is.
static void a_product(void **state) {
  (void)state;
  struct fixture f;
  setup(&f, "kernelbench/1/17", "# assay: task kernelbench/1/17\n\ncublaslt\n");
  assert_int_equal(f.result.outcome, BUILD_OK);
  make_plan(&f, 0);
  expect_steps(&f, "  0  scale<<<1, 64>>>(b, scratch 0+256, 30720)\n"
                   "  1  turn<<<1, 64>>>({scratch 0+256, y, 0078000000000000})\n");
  expect_said(&f, "fake product: compute 68, transposed 1 0, epilogue 1, bias none, workspace 64 MiB\n"
                  "fake a: type 0, 256 x 192, ld 256, batch 1 by 0\n"
                  "fake b: type 0, 256 x 160, ld 256, batch 1 by 0\n"
                  "fake d: type 0, 192 x 160, ld 192, batch 1 by 0\n");
  expect_said(&f, "cuBLASLt 130000: m 192, n 160, k 256, batch 1: number 2 of 3, 250.0 us, 4096 bytes of workspace\n");
#if !defined(__SANITIZE_ADDRESS__) // whose own frame stands in front
  assert_true(strncmp(f.plan.modules[0].name, "library: libcublasLt", strlen("library: libcublasLt")) == 0);
#endif
  assert_string_equal(f.plan.toolchain, "library (cublaslt)");
  // Whose kernels they are is plain, and is not asked.
  assert_false(f.report.shares.known);
  teardown(&f);
}

static void a_batch(void **state) {
  (void)state;
  struct fixture f;
  setup(&f, "kernelbench/1/3", "");
  make_plan(&f, 0);
  assert_int_equal(f.report.outcome, PLAN_MADE);
  expect_said(&f, "fake a: type 0, 128 x 160, ld 128, batch 4 by 20480\n"
                  "fake b: type 0, 160 x 96, ld 160, batch 4 by 15360\n");
  teardown(&f);
}

static void contracts(void **state) {
  (void)state;
  static const char *const said[] = {"compute 68, ", "compute 77, ", "compute 68, ", "compute 68, "};
  static const char *const types[] = {"fake a: type 0,", "fake a: type 0,", "fake a: type 2,", "fake a: type 14,"};
  for (int i = 0; i < 4; i++) {
    struct fixture f;
    char name[32];
    snprintf(name, sizeof name, "contracts/1/%d", i + 1);
    setup(&f, name, "any\n");
    make_plan(&f, 0);
    assert_int_equal(f.report.outcome, PLAN_MADE);
    expect_said(&f, said[i]);
    expect_said(&f, types[i]);
    teardown(&f);
  }
}

static void a_convolution(void **state) {
  (void)state;
  struct fixture f;
  setup(&f, "kernelbench/1/50", "cudnn");
  make_plan(&f, 0);
  expect_steps(&f, "  0  scale<<<1, 64>>>(x, scratch 0+256, 64)\n"
                   "  1  turn<<<1, 64>>>({scratch 0+256, y, 4000000000000000})\n"
                   "  2  scale<<<1, 64>>>(b, y, 24)\n");
  expect_said(&f, "fake workspace: 512 MiB\n"
                  "fake forward: type 0, math 3, groups 1, x 2,3,64,64 w 24,3,11,11 y 2,24,15,15 pads 2,2 strides 4,4 "
                  "dilations 1,1\n");
  expect_said(&f, "fake bias 1,24,1,1\n");
  teardown(&f);
}

static void a_transposed_convolution(void **state) {
  (void)state;
  struct fixture f;
  setup(&f, "kernelbench/1/72", "any\n");
  make_plan(&f, 0);
  assert_int_equal(f.report.outcome, PLAN_MADE);
  expect_said(&f, "fake backward: type 0, math 3, groups 4, x 2,16,6,8,10 w 16,4,3,5,7 y 2,16,12,16,20 pads 1,2,3 "
                  "strides 2,2,2 dilations 1,1,1\n");
  teardown(&f);
}

// A product as well as a convolution: the word decides, or the clock.
static void two_ways(void **state) {
  (void)state;
  static const char *const words[] = {"any", "cublaslt", "cudnn"};
  for (int i = 0; i < 3; i++) {
    struct fixture f;
    setup(&f, "kernelbench/1/87", words[i]);
    make_plan(&f, 0);
    assert_int_equal(f.report.outcome, PLAN_MADE);
    bool product = strstr(f.report.log, "fake product") != NULL, search = strstr(f.report.log, "fake forward") != NULL;
    assert_int_equal(product, i != 2);
    assert_int_equal(search, i != 1);
    expect_said(&f, i == 2 ? "cuDNN: 250.0 us\n" : "cuBLASLt: 250.0 us\n");
    if (i == 1)
      expect_said(&f, "fake a: type 0, 1600 x 32, ld 1600, batch 2 by 51200\n"
                      "fake b: type 0, 32 x 64, ld 32, batch 2 by 0\n");
    teardown(&f);
  }
}

// One worker for all that are expected.
static void several_workloads(void **state) {
  (void)state;
  struct fixture f;
  setup(&f, "kernelbench/1/2", "any\n");
  assert_int_equal(planning_expect(f.program, &f.task, f.layouts, 2, &f.err), ASSAY_OK);
  make_plan(&f, 0);
  assert_int_equal(f.report.outcome, PLAN_MADE);
  expect_said(&f, "cuBLASLt 130000: m 192");
  expect_said(&f, "cuBLASLt 130000: m 97, n 61, k 7, batch 1");
  make_plan(&f, 1);
  assert_int_equal(f.report.outcome, PLAN_MADE);
  assert_null(f.report.log);
  teardown(&f);
}

// ---- none

static void files_that_say_something_else(void **state) {
  (void)state;
  static const char *const sources[] = {"cublas\n", "# fine\ncublaslt\n any\n", "cublaslt cudnn\n"};
  static const char *const lines[] = {"line 1: \"cublas\"", "line 3: \"any\"", "line 1: \"cublaslt cudnn\""};
  for (int i = 0; i < 3; i++) {
    struct fixture f;
    setup(&f, "kernelbench/1/1", sources[i]);
    assert_int_equal(f.result.outcome, BUILD_REJECTED);
    assert_null(f.program);
    assert_non_null(strstr(f.result.diagnostics, lines[i]));
    teardown(&f);
  }
}

static void tasks_that_are_no_call(void **state) {
  (void)state;
  struct fixture f;
  setup(&f, "kernelbench/1/19", "any");
  assert_int_equal(planning_expect(f.program, &f.task, f.layouts, 2, &f.err), ASSAY_OK);
  make_plan(&f, 0);
  expect_refused(&f, "the library baseline is for one matrix product or one convolution with one output; this task has "
                     "Relu");
  teardown(&f);
  setup(&f, "kernelbench/1/63", "cublaslt");
  make_plan(&f, 0);
  expect_refused(&f, "this task is a convolution, which is for cudnn");
  teardown(&f);
}

static void no_algorithm(void **state) {
  (void)state;
  struct fixture f;
  setup(&f, "kernelbench/1/3", "any");
  layout_release(&f.layouts[1]);
  assert_int_equal(layout_make(&f.task, task_workload(&f.task, "ragged1"), &f.layouts[1], &f.err), ASSAY_OK);
  make_plan(&f, 1);
  expect_refused(&f, "cuBLASLt has no algorithm for this product (m 7, n 5, k 17)");
  teardown(&f);
  setup(&f, "kernelbench/1/54", "any");
  make_plan(&f, 1);
  expect_refused(&f, "cuDNN has no algorithm for this convolution");
  teardown(&f);
}

// A part of the machine is not there: an error that says how to get it, and no verdict.
static void expect_missing(const char *task, void (*take_away)(struct library_place *), const char *what,
                           const char *how) {
  struct fixture f;
  struct program_build *b;
  setup(&f, task, "any");
  program_release(f.program);
  build_result_release(&f.result);
  take_away(&f.options.library);
  assert_int_equal(program_start(&f.options, "any", 3, &b, &f.err), ASSAY_OK);
  assert_int_equal(program_finish(b, &f.result, &f.program, &f.err), ASSAY_OK);
  make_plan(&f, 0);
  assert_int_equal(f.status, ASSAY_ERR_ENVIRONMENT);
  if (!strstr(f.err.message, what) || !strstr(f.err.message, how))
    fail_msg("%s", f.err.message);
  teardown(&f);
}

static void without_cublaslt(struct library_place *p) {
  p->cublaslt = FAKES "none/libcublasLt.so.12";
}
static void without_cudnn(struct library_place *p) {
  p->cudnn = FAKES "none/libcudnn.so.9";
}
static void without_cupti(struct library_place *p) {
  p->cupti = FAKES "none/libcupti.so";
}
static void with_something_else(struct library_place *p) {
  p->cublaslt = FAKES "libcupti.so";
}

static void missing_libraries(void **state) {
  (void)state;
  expect_missing("kernelbench/1/1", without_cublaslt, "cuBLASLt cannot be loaded", "point ASSAY_CUBLASLT");
  expect_missing("kernelbench/1/63", without_cudnn, "cuDNN cannot be loaded", "point ASSAY_CUDNN");
  expect_missing("kernelbench/1/1", without_cupti, "CUPTI", "point ASSAY_CUPTI");
  expect_missing("kernelbench/1/1", with_something_else, "has no cublasLtCreate", "of a release that the baseline");
}

static void facts(void **state) {
  (void)state;
  struct arena arena = {0};
  struct buf text = {0};
  struct library_place p;
  struct assay_error err = {0};
  bool all;
  assert_int_equal(library_find(&fakes, &arena, &p, &err), ASSAY_OK);
  if (library_ask(&p, "/tmp", &text, &all, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_string_equal(buf_str(&text), "cuBLASLt 130000, cuDNN 91900, CUPTI");
  assert_true(all);
  without_cudnn(&p);
  buf_clear(&text);
  assert_int_equal(library_ask(&p, "/tmp", &text, &all, &err), ASSAY_OK);
  assert_string_equal(buf_str(&text), "cuBLASLt 130000, no cuDNN, CUPTI");
  assert_false(all);
  buf_release(&text);
  arena_release(&arena);
}

static void places(void **state) {
  (void)state;
  struct arena arena = {0};
  struct library_place p;
  struct assay_error err = {0};
  struct assay_paths o = fakes;
  o.cublaslt = "/nowhere/libcublasLt.so.12";
  assert_int_equal(library_find(&o, &arena, &p, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "ASSAY_CUBLASLT"));
  o = fakes;
  o.library = "/nowhere/assay-library";
  assert_int_equal(library_find(&o, &arena, &p, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "install Assay whole"));
  o = (struct assay_paths){.library = fakes.library, .worker = fakes.worker};
  assert_int_equal(library_find(&o, &arena, &p, &err), ASSAY_OK);
  assert_string_equal(p.cublaslt, "");
  assert_non_null(strstr(p.search, "/usr/local/cuda/lib64"));
  arena_release(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product),
      cmocka_unit_test(a_batch),
      cmocka_unit_test(contracts),
      cmocka_unit_test(a_convolution),
      cmocka_unit_test(a_transposed_convolution),
      cmocka_unit_test(two_ways),
      cmocka_unit_test(several_workloads),
      cmocka_unit_test(files_that_say_something_else),
      cmocka_unit_test(tasks_that_are_no_call),
      cmocka_unit_test(no_algorithm),
      cmocka_unit_test(missing_libraries),
      cmocka_unit_test(facts),
      cmocka_unit_test(places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
