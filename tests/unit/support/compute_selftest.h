// SPDX-License-Identifier: Apache-2.0
// What every backend of compute/compute.h must do, for the host (test_compute_host.c) and for a GPU
// (tests/gpu/compute.c). Each check returns NULL, or what is wrong.
#ifndef TESTS_COMPUTE_SELFTEST_H
#define TESTS_COMPUTE_SELFTEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/compute.h"

static const char selftest_text[] =
    "struct scale_args { uint64_t x, y; double factor, offset; int64_t n; };\n"
    "KERNEL(scale, struct scale_args) {\n"
    "  int64_t i = THREAD;\n"
    "  if (i < a->n)\n"
    "    ((double *)a->y)[i] = ((const double *)a->x)[i] * a->factor + a->offset;\n"
    "}\n"
    "struct count_args { uint64_t counts, sum, low, high, mask; int64_t n; };\n"
    "KERNEL(count, struct count_args) {\n"
    "  int64_t i = THREAD;\n"
    "  if (i >= a->n)\n"
    "    return;\n"
    "  ATOMIC_ADD_U64(&((uint64_t *)a->counts)[i % 7], 1);\n"
    "  ATOMIC_ADD_F64((double *)a->sum, (double)i);\n"
    "  ATOMIC_MIN_U64((uint64_t *)a->low, (uint64_t)i + 5);\n"
    "  ATOMIC_MAX_U64((uint64_t *)a->high, (uint64_t)i + 5);\n"
    "  ATOMIC_OR_U32((uint32_t *)a->mask, 1u << (i % 31));\n"
    "}\n"
    "struct bits_args { uint64_t x, out; int64_t n; };\n"
    "KERNEL(bits, struct bits_args) {\n"
    "  int64_t i = THREAD;\n"
    "  if (i >= a->n)\n"
    "    return;\n"
    "  double x = ((const double *)a->x)[i];\n"
    "  uint64_t *out = (uint64_t *)a->out + 4 * i;\n"
    "  out[0] = F64_BITS(x);\n"
    "  out[1] = (IS_NAN(x) ? 1u : 0u) | (IS_FINITE(x) ? 2u : 0u) | (x == F64_INFINITY ? 4u : 0u);\n"
    "  out[2] = F32_BITS((float)x);\n"
    "  out[3] = MUL_HI_U32((uint32_t)F64_BITS(x), 0x9E3779B9u) + (F64_OF_BITS(F64_BITS(x)) == x ? 1u : 0u);\n"
    "}\n"
    "struct functions_args { uint64_t x, out; int64_t n; };\n"
    "KERNEL(functions, struct functions_args) {\n"
    "  int64_t i = THREAD;\n"
    "  if (i >= a->n)\n"
    "    return;\n"
    "  double x = ((const double *)a->x)[i];\n"
    "  double *out = (double *)a->out + 8 * i;\n"
    "  out[0] = exp(x); out[1] = log(fabs(x) + 1); out[2] = erf(x); out[3] = tanh(x);\n"
    "  out[4] = pow(fabs(x), 1.5); out[5] = sqrt(fabs(x)); out[6] = floor(x); out[7] = cos(x);\n"
    "}\n"
    "struct wide_args { uint64_t out; double values[200]; int64_t n; };\n"
    "KERNEL(wide, struct wide_args) {\n"
    "  int64_t i = THREAD;\n"
    "  if (i < a->n)\n"
    "    ((double *)a->out)[i] = a->values[i];\n"
    "}\n";

static const char *const selftest_texts[] = {selftest_text, NULL};
static const struct device_code selftest_code = {"selftest", selftest_texts, true};

struct selftest {
  struct compute *compute;
  struct assay_error err;
  char message[256];
};

#define SELFTEST_TRY(t, call)                                                                                          \
  do {                                                                                                                 \
    if ((call) != ASSAY_OK)                                                                                            \
      return (t)->err.message;                                                                                         \
  } while (0)

static inline const char *selftest_say(struct selftest *t, const char *what, double got, double want) {
  snprintf(t->message, sizeof t->message, "%s: got %.17g, want %.17g", what, got, want);
  return t->message;
}

// An odd number of threads, so that the last block is partly idle; a product and a sum that must round apart.
static inline const char *selftest_scale(struct selftest *t) {
  enum { N = 100003 };
  struct {
    uint64_t x, y;
    double factor, offset;
    int64_t n;
  } args = {.factor = 1 + 0x1p-30, .offset = -1, .n = N};
  double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
  for (int i = 0; i < N; i++)
    x[i] = 1 + i * 0x1p-30;
  SELFTEST_TRY(t, compute_alloc(t->compute, N * sizeof *x, &args.x, &t->err));
  SELFTEST_TRY(t, compute_alloc(t->compute, N * sizeof *x, &args.y, &t->err));
  if (args.x % 256 || args.y % 256)
    return "device memory is not aligned to 256 bytes";
  SELFTEST_TRY(t, compute_upload(t->compute, args.x, x, N * sizeof *x, &t->err));
  SELFTEST_TRY(t, compute_launch(t->compute, &selftest_code, "scale", N, &args, sizeof args, &t->err));
  SELFTEST_TRY(t, compute_download(t->compute, y, args.y, N * sizeof *y, &t->err));
  const char *wrong = NULL;
  for (int i = 0; i < N && !wrong; i++) {
    volatile double product = x[i] * args.factor;
    if (y[i] != product + args.offset)
      wrong = selftest_say(t, "scale", y[i], product + args.offset);
  }
  compute_free(t->compute, args.x);
  compute_free(t->compute, args.y);
  free(x);
  free(y);
  return wrong;
}

static inline const char *selftest_atomics(struct selftest *t) {
  enum { N = 70001 };
  struct {
    uint64_t counts, sum, low, high, mask;
    int64_t n;
  } args = {.n = N};
  device_ptr p;
  uint64_t words[16] = {0};
  double sum;
  SELFTEST_TRY(t, compute_alloc(t->compute, sizeof words, &p, &t->err));
  SELFTEST_TRY(t, compute_set32(t->compute, p, 0, sizeof words / 4, &t->err));
  SELFTEST_TRY(t, compute_set32(t->compute, p + 64, 0xffffffffu, 2, &t->err));
  args.counts = p;
  args.sum = p + 56;
  args.low = p + 64;
  args.high = p + 72;
  args.mask = p + 80;
  SELFTEST_TRY(t, compute_launch(t->compute, &selftest_code, "count", N, &args, sizeof args, &t->err));
  SELFTEST_TRY(t, compute_download(t->compute, words, p, sizeof words, &t->err));
  compute_free(t->compute, p);
  for (int i = 0; i < 7; i++)
    if (words[i] != (uint64_t)(N / 7 + (i < N % 7)))
      return selftest_say(t, "ATOMIC_ADD_U64", (double)words[i], N / 7 + (i < N % 7));
  memcpy(&sum, &words[7], sizeof sum);
  if (sum != (double)N * (N - 1) / 2)
    return selftest_say(t, "ATOMIC_ADD_F64", sum, (double)N * (N - 1) / 2);
  if (words[8] != 5)
    return selftest_say(t, "ATOMIC_MIN_U64", (double)words[8], 5);
  if (words[9] != N + 4)
    return selftest_say(t, "ATOMIC_MAX_U64", (double)words[9], N + 4);
  if ((uint32_t)words[10] != 0x7fffffffu)
    return selftest_say(t, "ATOMIC_OR_U32", (double)words[10], 0x7fffffff);
  return NULL;
}

static inline const char *selftest_bits(struct selftest *t) {
  enum { N = 6 };
  const double x[N] = {1.5, -0.0, INFINITY, -INFINITY, NAN, 0x1.23456789abcdep-300};
  const unsigned classes[N] = {2, 2, 4, 0, 1, 2};
  struct {
    uint64_t x, out;
    int64_t n;
  } args = {.n = N};
  uint64_t out[4 * N], bits[N];
  memcpy(bits, x, sizeof bits);
  SELFTEST_TRY(t, compute_alloc(t->compute, sizeof x, &args.x, &t->err));
  SELFTEST_TRY(t, compute_alloc(t->compute, sizeof out, &args.out, &t->err));
  SELFTEST_TRY(t, compute_upload(t->compute, args.x, x, sizeof x, &t->err));
  SELFTEST_TRY(t, compute_launch(t->compute, &selftest_code, "bits", N, &args, sizeof args, &t->err));
  SELFTEST_TRY(t, compute_download(t->compute, out, args.out, sizeof out, &t->err));
  compute_free(t->compute, args.x);
  compute_free(t->compute, args.out);
  for (int i = 0; i < N; i++) {
    float narrow = (float)x[i];
    uint32_t narrow_bits, high = (uint32_t)(((uint64_t)(uint32_t)bits[i] * 0x9E3779B9u) >> 32);
    memcpy(&narrow_bits, &narrow, sizeof narrow);
    if (out[4 * i] != bits[i] || out[4 * i + 1] != classes[i])
      return selftest_say(t, "bits and classes of a number", (double)out[4 * i + 1], classes[i]);
    if (x[i] == x[i] && (uint32_t)out[4 * i + 2] != narrow_bits)
      return selftest_say(t, "F32_BITS", (double)out[4 * i + 2], narrow_bits);
    if ((uint32_t)out[4 * i + 3] != (uint32_t)(high + (x[i] == x[i])))
      return selftest_say(t, "MUL_HI_U32", (double)out[4 * i + 3], high + (x[i] == x[i]));
  }
  return NULL;
}

static inline const char *selftest_functions(struct selftest *t) {
  enum { N = 4001 };
  struct {
    uint64_t x, out;
    int64_t n;
  } args = {.n = N};
  double *x = malloc(N * sizeof *x), *out = malloc(8 * N * sizeof *out);
  for (int i = 0; i < N; i++)
    x[i] = (i - N / 2) * 0.00471;
  SELFTEST_TRY(t, compute_alloc(t->compute, N * sizeof *x, &args.x, &t->err));
  SELFTEST_TRY(t, compute_alloc(t->compute, 8 * N * sizeof *x, &args.out, &t->err));
  SELFTEST_TRY(t, compute_upload(t->compute, args.x, x, N * sizeof *x, &t->err));
  SELFTEST_TRY(t, compute_launch(t->compute, &selftest_code, "functions", N, &args, sizeof args, &t->err));
  SELFTEST_TRY(t, compute_download(t->compute, out, args.out, 8 * N * sizeof *out, &t->err));
  const char *wrong = NULL;
  for (int i = 0; i < N && !wrong; i++) {
    double v = x[i];
    const double want[8] = {exp(v),        log(fabs(v) + 1), erf(v), tanh(v), pow(fabs(v), 1.5),
                            sqrt(fabs(v)), floor(v),         cos(v)};
    for (int k = 0; k < 8 && !wrong; k++)
      if (!(fabs(out[8 * i + k] - want[k]) <= 4e-15 * fabs(want[k]) + 1e-16))
        wrong = selftest_say(t, "a function of the mathematics library", out[8 * i + k], want[k]);
  }
  compute_free(t->compute, args.x);
  compute_free(t->compute, args.out);
  free(x);
  free(out);
  return wrong;
}

// A large argument, and copies on the device.
static inline const char *selftest_wide(struct selftest *t) {
  enum { N = 200 };
  struct {
    uint64_t out;
    double values[N];
    int64_t n;
  } args = {.n = N};
  double out[N];
  device_ptr copy;
  for (int i = 0; i < N; i++)
    args.values[i] = 3.25 * i;
  SELFTEST_TRY(t, compute_alloc(t->compute, sizeof out, &args.out, &t->err));
  SELFTEST_TRY(t, compute_alloc(t->compute, sizeof out, &copy, &t->err));
  SELFTEST_TRY(t, compute_launch(t->compute, &selftest_code, "wide", N, &args, sizeof args, &t->err));
  SELFTEST_TRY(t, compute_copy(t->compute, copy, args.out, sizeof out, &t->err));
  SELFTEST_TRY(t, compute_set32(t->compute, copy + 8, 0x40000000u, 2, &t->err));
  SELFTEST_TRY(t, compute_sync(t->compute, &t->err));
  SELFTEST_TRY(t, compute_download(t->compute, out, copy, sizeof out, &t->err));
  compute_free(t->compute, args.out);
  compute_free(t->compute, copy);
  for (int i = 0; i < N; i++) {
    double want = i == 1 ? 2.000000476837158 : 3.25 * i; // 0x4000000040000000
    if (out[i] != want)
      return selftest_say(t, "an argument of 1.6 kB", out[i], want);
  }
  return NULL;
}

// The accounting of memory: in use, the peak, and what is free again.
static inline const char *selftest_memory(struct selftest *t) {
  struct compute_memory before, during, after;
  device_ptr p, q;
  compute_memory(t->compute, &before);
  SELFTEST_TRY(t, compute_alloc(t->compute, 10 << 20, &p, &t->err));
  SELFTEST_TRY(t, compute_alloc(t->compute, 10 << 20, &q, &t->err));
  compute_memory(t->compute, &during);
  compute_free(t->compute, p);
  compute_free(t->compute, q);
  compute_trim(t->compute);
  compute_memory(t->compute, &after);
  if (p == q || during.in_use < before.in_use + (20 << 20) || during.peak < during.in_use)
    return "memory in use is not counted";
  if (after.in_use != before.in_use || after.peak < during.peak || after.total == 0)
    return "freed memory is counted as in use";
  if (compute_alloc(t->compute, (size_t)1 << 55, &p, &t->err) != ASSAY_ERR_NOMEM)
    return "an allocation beyond all memory did not say so";
  return NULL;
}

static inline const char *selftest_missing_kernel(struct selftest *t) {
  int args = 0;
  if (compute_launch(t->compute, &selftest_code, "nowhere", 1, &args, sizeof args, &t->err) != ASSAY_ERR_NOT_FOUND)
    return "a kernel that is not there was found";
  return strstr(t->err.message, "nowhere") ? NULL : "the message does not name the missing kernel";
}

struct selftest_check {
  const char *name;
  const char *(*run)(struct selftest *t);
};
static const struct selftest_check selftest_checks[] = {
    {"scale", selftest_scale},
    {"atomics", selftest_atomics},
    {"bits", selftest_bits},
    {"functions", selftest_functions},
    {"wide", selftest_wide},
    {"memory", selftest_memory},
    {"missing kernel", selftest_missing_kernel},
};
enum { SELFTEST_CHECKS = sizeof selftest_checks / sizeof *selftest_checks };

#endif
