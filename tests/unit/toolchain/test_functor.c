// SPDX-License-Identifier: Apache-2.0
// modules: toolchain
// Two recordings of one of PyTorch's elementwise kernels: what of its functor is meant and what the stack held.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "toolchain/record/difference.h"
#include "toolchain/record/functor.h"

#define VECTORIZED "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_"
#define LEGACY "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastI"

// Fields come after the host's copy of the lambda, or at once.
enum { SIZES_AT = 4, STRIDES_AT = 304, OPERANDS = 3, ADDRESSES_AT = 608, SIZE = 8 + ADDRESSES_AT + 8 * OPERANDS + 8 };

static const char group_norm[] = LEGACY "ZZZNS0_12_GLOBAL__N_119GroupNormKernelImplE24group_norm_affine_kernelE";

// Two plans of one launch of `kernel`, whose second argument is the one that is asked about.
struct pair {
  uint8_t count[8], bytes[2][SIZE];
  struct plan_pointer pointers[2][OPERANDS + 1];
  struct plan_argument arguments[2][2];
  struct plan_step steps[2];
  struct plan plans[2];
  struct plan_module module;
  struct plan_buffer buffers[3];
};

static void setup(struct pair *p, const char *kernel, uint32_t size) {
  *p = (struct pair){.module = {.name = "m", .bytes = (const uint8_t *)"", .size = 1}};
  p->buffers[0] = (struct plan_buffer){.name = "x", .role = PLAN_INPUT, .bytes = 64};
  p->buffers[1] = (struct plan_buffer){.name = "y", .role = PLAN_OUTPUT, .bytes = 64};
  p->buffers[2] = (struct plan_buffer){.name = "scratch 0", .role = PLAN_SCRATCH, .bytes = 64};
  for (int i = 0; i < 2; i++) {
    p->arguments[i][0] = (struct plan_argument){.kind = PLAN_BYTES, .size = 8, .bytes = p->count};
    p->arguments[i][1] =
        (struct plan_argument){.kind = PLAN_BYTES, .size = size, .bytes = p->bytes[i], .pointers = p->pointers[i]};
    p->steps[i] =
        (struct plan_step){.kind = PLAN_LAUNCH, .kernel = kernel, .n_arguments = 2, .arguments = p->arguments[i]};
    p->plans[i] = (struct plan){.n_modules = 1,
                                .modules = &p->module,
                                .n_buffers = 3,
                                .buffers = p->buffers,
                                .n_steps = 1,
                                .steps = &p->steps[i]};
  }
}

// Pointers stand in order.
static void point(struct pair *p, int i, uint32_t at, int buffer) {
  struct plan_argument *a = &p->arguments[i][1];
  int k = a->n_pointers++;
  for (; k > 0 && p->pointers[i][k - 1].at > at; k--)
    p->pointers[i][k] = p->pointers[i][k - 1];
  p->pointers[i][k] = (struct plan_pointer){
      .at = at, .buffer = buffer, .word = UINT64_C(0x3a7d40000200) + (uint64_t)i * 4096 + (uint64_t)buffer * 256};
}

// The functor of a normalisation with so many dimensions, whose fields begin at `base`.
static void setup_legacy(struct pair *p, uint32_t dims, uint32_t base) {
  setup(p, group_norm, SIZE);
  for (int i = 0; i < 2; i++) {
    uint8_t *fields = p->bytes[i] + base;
    const uint64_t copy = UINT64_C(0x345db6b0) + (uint64_t)i * 4096;
    memcpy(p->bytes[i], &copy, base);
    memcpy(fields, &dims, 4);
    memset(fields + SIZES_AT, 7, 12 * (size_t)dims);
    memset(fields + STRIDES_AT, 9, 4 * OPERANDS * (size_t)dims);
    for (uint32_t k = 0; k < OPERANDS; k++)
      point(p, i, base + ADDRESSES_AT + 8 * k, k == 0 ? 1 : 0);
  }
}

static bool differ(struct pair *p, char text[512]) {
  text[0] = '\0';
  return plan_points_outside(&p->plans[0], &p->plans[1], text, 512) ||
         plan_difference(&p->plans[0], &p->plans[1], text, 512);
}

// Room for dimensions that there are not may hold anything: pointers of other calls, to one place or to two.
static void dimensions_that_there_are_not(void **state) {
  (void)state;
  static const struct {
    uint32_t dims, at;
    bool same;
  } cases[] = {
      {2, 32, true},    {2, 296, true},   {2, 328, true},   {2, 592, true},  {5, 64, true},   // gaps
      {5, 56, false},   {2, 8, false},    {2, 24, false},   {2, 304, false}, {2, 320, false}, // dividers and strides
      {25, 296, false}, {25, 592, false}, {26, 296, false},                                   // no gap; no such functor
  };
  for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
    const uint32_t dims = cases[k / 2].dims, base = k % 2 ? 8 : 0;
    const bool same = cases[k / 2].same;
    struct pair p;
    char text[512];
    setup_legacy(&p, dims <= 25 ? dims : 2, base);
    for (int i = 0; i < 2; i++) {
      memcpy(p.bytes[i] + base, &dims, 4);
      point(&p, i, base + cases[k / 2].at, i ? 2 : 0);
    }
    if (differ(&p, text) == same)
      fail_msg("case %zu: %s", k, text);
    assert_true(same || strstr(text, " of GroupNormKernelImpl (byte "));
    assert_int_equal(p.arguments[0][1].n_pointers, same ? OPERANDS : OPERANDS + 1);
  }
}

// Addresses of operands are meant, and so is what lies outside of memory where there is no gap.
static void what_is_meant(void **state) {
  (void)state;
  struct pair p;
  char text[512];
  setup_legacy(&p, 3, 0);
  assert_false(differ(&p, text));
  setup_legacy(&p, 3, 0);
  p.pointers[1][OPERANDS - 1].buffer = 2;
  assert_true(differ(&p, text));
  assert_non_null(strstr(text, "points to x+0, and to scratch 0+0)"));
  for (int gap = 0; gap < 2; gap++) {
    setup_legacy(&p, 3, 0);
    for (int i = 0; i < 2; i++) {
      point(&p, i, gap ? 400 : SIZE - 8, 0);
      p.pointers[i][gap ? 0 : OPERANDS].doubt = PLAN_OUTSIDE;
      p.pointers[i][gap ? 0 : OPERANDS].offset = 4096;
    }
    assert_int_equal(differ(&p, text), !gap);
    assert_true(gap || strstr(text, "outside of its 64 bytes"));
  }
}

// Of 8 bytes: addresses of Python's heap are none that a kernel could use. Numbers are.
static void eight_bytes(void **state) {
  (void)state;
  static const struct {
    const char *kernel;
    uint64_t words[2];
    bool same;
  } cases[] = {
      {VECTORIZED "20isneginf_kernel_implE", {0x345db6b0, 0x349c6c30}, true},
      {VECTORIZED "20isneginf_kernel_implE", {0x345db6b0, 0x349c6c38}, false}, // no block of memory
      {VECTORIZED "20isneginf_kernel_implE", {0x345db6b0, 0x10}, false},
      {VECTORIZED "20isneginf_kernel_implE", {0x345db6b0, 0x1349c6c30}, false},
      {VECTORIZED "29pow_tensor_scalar_kernel_implE", {1, 2}, true},
      {"_ZN2at6native13reduce_kernelE", {0x345db6b0, 0x349c6c30}, false},
      {"mine", {0x345db6b0, 0x349c6c30}, false},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct pair p;
    char text[512];
    setup(&p, cases[k].kernel, 8);
    for (int i = 0; i < 2; i++)
      memcpy(p.bytes[i], &cases[k].words[i], 8);
    if (differ(&p, text) == cases[k].same)
      fail_msg("case %zu: %s", k, text);
    assert_true(cases[k].same || k >= 5 || strstr(text, " of isneginf_kernel_impl (0x00000000345db6b0, "));
  }
}

static void names(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {VECTORIZED "29pow_tensor_scalar_kernel_implIffE", "pow_tensor_scalar_kernel_impl"},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_11FillFunctorIlEESt5arrayIPcLm1EEEEviT0_T1_",
       "FillFunctor"},
      {group_norm, "GroupNormKernelImpl"},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8E", ""},
      {"_ZN2at6native29vectorized_elementwise_kernelILi8E99FillFunctor", ""},
      {"_ZN2at6native13reduce_kernelE11FillFunctor", ""},
      {"mine", ""},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[80];
    assert_string_equal(functor_name(cases[k][0], text, sizeof text), cases[k][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dimensions_that_there_are_not),
      cmocka_unit_test(what_is_meant),
      cmocka_unit_test(eight_bytes),
      cmocka_unit_test(names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
