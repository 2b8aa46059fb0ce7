// SPDX-License-Identifier: Apache-2.0
// What a verdict says of its own accord: kernels that multiply in TF32 where the contract is fp32.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "judge/verdict.h"
#include "plan/plan.h"

static struct assay_verdict failed(enum assay_reason reason, const char *kernel, bool library) {
  struct assay_verdict v = {.reason = reason};
  snprintf(v.detail, sizeof v.detail, "output 0 is off");
  snprintf(v.kernels.tf32, sizeof v.kernels.tf32, "%s", kernel);
  v.kernels.launches[library ? ASSAY_LIBRARY_KERNELS : ASSAY_OWN_KERNELS] = 1;
  return v;
}

static const char cudnn[] = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4";

static void test_a_library_in_tf32(void **state) {
  (void)state;
  struct assay_verdict v = failed(ASSAY_REASON_LOW_PRECISION, cudnn, true);
  verdict_explain_tf32(&v, "fp32");
  assert_non_null(strstr(v.detail, "output 0 is off; sm80_xmma_fprop"));
  assert_non_null(strstr(v.detail, "multiplies in TF32, as PyTorch has convolutions do"));
  assert_non_null(strstr(v.detail, "torch.backends.cudnn.allow_tf32 = False"));
  assert_non_null(strstr(v.detail, "in the file, or --contract tf32 allows it"));
  v = failed(ASSAY_REASON_WRONG_VALUE, "my_tf32_product", false);
  verdict_explain_tf32(&v, "fp32");
  assert_string_equal(v.detail, "output 0 is off; my_tf32_product multiplies in TF32; --contract tf32 allows it");
}

static void test_half_precision_on_a_path(void **state) {
  (void)state;
  static const struct {
    const char *source, *contract;
    enum assay_reason reason;
    const char *said;
  } cases[] = {
      {"import torch\ny = torch.mm(x.half(), w)\n", "fp32", ASSAY_REASON_WRONG_CLASS, "; line 2 names float16"},
      {"with torch.autocast('cpu', torch.float16):", "tf32", ASSAY_REASON_WRONG_CLASS, "; line 1 names float16"},
      {"x.to(torch.float16)", "fp16", ASSAY_REASON_WRONG_CLASS, NULL},
      {"x.to(torch.float16)", "fp32", ASSAY_REASON_WRONG_VALUE, NULL}, // its hint says which bits there are
      {"x.to(torch.bfloat16)  # not float16\n# .half()\n", "fp32", ASSAY_REASON_WRONG_CLASS, NULL},
      {"", "fp32", ASSAY_REASON_WRONG_CLASS, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct assay_verdict v = failed(cases[i].reason, "", true);
    verdict_explain_half(&v, cases[i].contract, cases[i].source, strlen(cases[i].source));
    if (cases[i].said)
      assert_non_null(strstr(v.detail, cases[i].said));
    else
      assert_string_equal(v.detail, "output 0 is off");
  }
}

static void test_what_is_not_explained(void **state) {
  (void)state;
  struct assay_verdict v = failed(ASSAY_REASON_LOW_PRECISION, "", true);
  verdict_explain_tf32(&v, "fp32"); // no such kernel
  assert_string_equal(v.detail, "output 0 is off");
  v = failed(ASSAY_REASON_LOW_PRECISION, cudnn, true);
  verdict_explain_tf32(&v, "tf32"); // allowed
  assert_string_equal(v.detail, "output 0 is off");
  v = failed(ASSAY_REASON_OUT_OF_BOUNDS, cudnn, true);
  verdict_explain_tf32(&v, "fp32"); // not an error of precision
  assert_string_equal(v.detail, "output 0 is off");
}

// Lines of the worker among what a module prints.
static void test_what_the_worker_says(void **state) {
  (void)state;
  static char said[] = "hello\nassay: kept: t, linear.weight\nassay: weights: w = weight (by order)\n";
  struct assay_verdict v = failed(ASSAY_REASON_WRONG_VALUE, "", false);
  v.diagnostics = said;
  verdict_take_weights(&v);
  verdict_take_kept(&v);
  assert_string_equal(v.weights, "w = weight (by order)");
  assert_string_equal(v.detail, "output 0 is off; paired: w = weight (by order); it keeps t, linear.weight "
                                "from an earlier call, when weights and first states were others: make it in forward");
  v = failed(ASSAY_REASON_OUT_OF_BOUNDS, "", false);
  v.diagnostics = said;
  verdict_take_kept(&v);
  assert_string_equal(v.detail, "output 0 is off");
  static char evaluation[] = "assay: evaluation: bn1, body.1 and 7 more\n";
  v = failed(ASSAY_REASON_WRONG_VALUE, "", false);
  v.diagnostics = evaluation;
  verdict_take_evaluation(&v);
  assert_string_equal(v.detail, "output 0 is off; in evaluation, as after eval(): bn1, body.1 and 7 more; the task "
                                "takes each batch's statistics, as in training");
  v = failed(ASSAY_REASON_RAISED, "", false);
  v.diagnostics = evaluation;
  verdict_take_evaluation(&v);
  assert_string_equal(v.detail, "output 0 is off");
}

static void test_reduced(void **state) {
  (void)state;
  static char said[] = "assay: reduced: a_switch\n";
  static const struct {
    enum assay_reason reason;
    const char *contract;
    bool told;
  } cases[] = {{ASSAY_REASON_WRONG_VALUE, "bf16", true},
               {ASSAY_REASON_LOW_PRECISION, "fp16", true},
               {ASSAY_REASON_WRONG_VALUE, "fp32", false},
               {ASSAY_REASON_RAISED, "bf16", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct assay_verdict v = failed(cases[i].reason, "", false);
    v.diagnostics = said;
    verdict_take_reduced(&v, cases[i].contract);
    assert_int_equal(strstr(v.detail,
                            "; it lets cuBLAS add parts of a product in 16 bits, which the contract does not: "
                            "set a_switch = False") != NULL,
                     cases[i].told);
  }
}

// A check of which so many elements are off by more than a hundredth, and `v` with it.
static void decide(struct assay_verdict *v, struct assay_check *c, int64_t far_off) {
  memset(c, 0, sizeof *c);
  c->allclose_loose_bad = far_off;
  v->checks = c;
  v->n_checks = 1;
  v->worst_check = 0;
}

// Errors of a hundredth are those of few digits, and not of other weights.
static void test_large_and_small(void **state) {
  (void)state;
  static char kept[] = "assay: kept: t\n", tf32[] = "assay: tf32: a_switch\n";
  static const struct {
    enum assay_reason reason;
    int64_t far_off;
    const char *mode, *contract;
    bool of_weights, of_tf32;
  } cases[] = {{ASSAY_REASON_WRONG_VALUE, 9, "process", "fp32", true, false},
               {ASSAY_REASON_WRONG_VALUE, 0, "process", "fp32", false, true},
               {ASSAY_REASON_WRONG_VALUE, 0, "process", "tf32", false, false},
               {ASSAY_REASON_WRONG_VALUE, 0, "plan", "fp32", false, false},
               {ASSAY_REASON_LOW_PRECISION, 3, "process", "fp32", false, true},
               {ASSAY_REASON_CHANGED_BEHAVIOUR, 0, "process", "fp32", true, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct assay_check c;
    struct assay_verdict v = failed(cases[i].reason, "", false);
    decide(&v, &c, cases[i].far_off);
    snprintf(v.mode, sizeof v.mode, "%s", cases[i].mode);
    v.diagnostics = kept;
    verdict_take_kept(&v);
    assert_int_equal(strstr(v.detail, "; it keeps t from") != NULL, cases[i].of_weights);
    v.diagnostics = tf32;
    verdict_take_tf32(&v, cases[i].contract);
    assert_int_equal(strstr(v.detail, "; PyTorch may multiply in TF32: set a_switch = False") != NULL,
                     cases[i].of_tf32);
  }
}

static void test_changed(void **state) {
  (void)state;
  static char said[] = "assay: changed: conv.bias (sub_)\n";
  struct assay_verdict v = failed(ASSAY_REASON_WRONG_VALUE, "", false);
  v.diagnostics = said;
  verdict_take_changed(&v);
  assert_string_equal(v.detail,
                      "output 0 is off; its __init__ changes conv.bias (sub_), which has the task's values after "
                      "that: let forward compute with another tensor, made of it");
  v = failed(ASSAY_REASON_LOW_PRECISION, "", false);
  v.diagnostics = said;
  verdict_take_changed(&v);
  assert_string_equal(v.detail, "output 0 is off");
}

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool tf32;
  } kernels[] = {{cudnn, true},
                 {"_ZN7cutlass6KernelI66cutlass_80_tensorop_s1688gemm_128x128_16x4_nt_align4EE", true},
                 {"ampere_sgemm_128x64_tn", false},
                 {"cutlass_80_simt_sgemm_256x128_8x4_nn_align1", false},
                 {"cutlass_80_tensorop_s16816gemm_bf16_256x128", false}};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    struct plan_step steps[] = {{.kind = PLAN_FILL}, {.kind = PLAN_LAUNCH, .kernel = kernels[i].name}};
    const struct plan p = {.steps = steps, .n_steps = 2};
    const char *found = plan_tf32_kernel(&p);
    assert_true(kernels[i].tf32 ? found == kernels[i].name : !found);
    steps[1].label = kernels[i].name; // where the linker's name is another
    steps[1].kernel = "kernel_7";
    found = plan_tf32_kernel(&p);
    assert_true(kernels[i].tf32 ? found == kernels[i].name : !found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_library_in_tf32),
      cmocka_unit_test(test_half_precision_on_a_path),
      cmocka_unit_test(test_what_is_not_explained),
      cmocka_unit_test(test_what_the_worker_says),
      cmocka_unit_test(test_reduced),
      cmocka_unit_test(test_large_and_small),
      cmocka_unit_test(test_changed),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
