// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc -Wl,--wrap=compute_alloc
// modules: onnx oracle/cuda sandbox
// The oracle on a device, run by the host backend: every operator's examples, every element type and kind of
// broadcasting of the elementwise operators, all casts, and whole graphs, compared with the oracle on the CPU.
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "compute/nvrtc.h"
#include "onnx/onnx.h"
#include "oracle/cuda/gpu.h"
#include "oracle/oracle.h"
#include "sandbox/sandbox.h"
#include "sanitized.h"
#include "skip.h"

enum { MAX_VALUES = 16, REPLICAS = 64 };

static struct compute *compute;
static char *folder;
static int fail_at = -1, allocations;

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return allocations++ == fail_at ? NULL : __real_base_realloc(p, n);
}

// The device's memory counts too: on a GPU it does not come from the host's.
enum assay_status __real_compute_alloc(struct compute *c, size_t bytes, device_ptr *out, struct assay_error *err);
enum assay_status __wrap_compute_alloc(struct compute *c, size_t bytes, device_ptr *out, struct assay_error *err);
enum assay_status __wrap_compute_alloc(struct compute *c, size_t bytes, device_ptr *out, struct assay_error *err) {
  if (allocations++ == fail_at)
    return error_nomem(err, "the test's device");
  return __real_compute_alloc(c, bytes, out, err);
}

#ifdef GPU_ORACLE_ON_CUDA
static int open_compute(void **state) {
  (void)state;
  struct assay_error err = {0};
  if (sandbox_folder_make("/tmp", &folder, &err) == ASSAY_OK &&
      compute_open_cuda(&(struct compute_options){.nvrtc = getenv("ASSAY_NVRTC")}, &compute, &err) == ASSAY_OK)
    return 0;
  print_error("%s\n", err.message);
  return -1;
}
#else
// The compiler is a script that keeps its input, for NVRTC to compile too, and calls gcc.
static int open_compute(void **state) {
  (void)state;
  struct assay_error err = {0};
  char script[600], text[1024];
  if (sandbox_folder_make("/tmp", &folder, &err) != ASSAY_OK)
    return -1;
  snprintf(script, sizeof script, "%s/cc", folder);
  int n = snprintf(text, sizeof text,
                   "#!/bin/sh\nfor a; do case $a in *.c) cp \"$a\" %s/$$.cu;; esac; done\nexec gcc \"$@\"\n", folder);
  struct compute_options o = {.compiler = script};
  if (file_write(script, text, (size_t)n, &err) == ASSAY_OK && chmod(script, 0700) == 0 &&
      compute_open_host(&o, &compute, &err) == ASSAY_OK)
    return 0;
  print_error("%s\n", err.message);
  return -1;
}
#endif

// Nothing that a test made may be left on the device.
static int close_compute(void **state) {
  (void)state;
  struct compute_memory m = {0};
  if (compute)
    compute_memory(compute, &m);
  if (m.in_use)
    print_error("%zu bytes of device memory were never freed\n", m.in_use);
  compute_close(compute);
  sandbox_folder_remove(folder);
  base_free(folder);
  return m.in_use ? -1 : 0;
}

// ---- both sides of a value

static void *raw_of(const struct array *a, size_t *bytes) {
  int64_t n = shape_count(&a->shape);
  *bytes = (size_t)n * dtype_bytes(a->dtype);
  void *raw = malloc(*bytes + 1);
  if (dtype_is_float(a->dtype))
    dtype_from_f64(a->dtype, a->f64, n, raw);
  else
    dtype_from_i64(a->dtype, a->i64, n, raw);
  return raw;
}

// The array on the device in its own type, as a candidate would see it.
static struct gpu_array to_device(const struct array *a) {
  struct assay_error err = {0};
  struct gpu_array g = {.dtype = a->dtype, .shape = a->shape, .owned = true};
  size_t bytes;
  void *raw = raw_of(a, &bytes);
  assert_int_equal(gpu_storage_of(a->dtype, &g.storage, &err), ASSAY_OK);
  assert_int_equal(gpu_storage_bytes(g.storage), dtype_bytes(a->dtype));
  assert_int_equal(compute_alloc(compute, bytes, &g.data, &err), ASSAY_OK);
  assert_int_equal(compute_upload(compute, g.data, raw, bytes, &err), ASSAY_OK);
  free(raw);
  return g;
}

static struct array from_device(const struct gpu_array *g) {
  struct assay_error err = {0};
  struct array a;
  assert_int_equal(g->storage, dtype_is_float(g->dtype) ? GPU_F64 : GPU_I64);
  assert_int_equal(array_create(g->dtype, &g->shape, &a, &err), ASSAY_OK);
  assert_int_equal(compute_download(compute, a.bits, g->data, (size_t)shape_count(&a.shape) * 8, &err), ASSAY_OK);
  return a;
}

static double pick(const double *from, int n, uint64_t word) {
  return from[word % (uint64_t)n];
}

// Numbers that the type holds. Ordinary ones lie in (low, 1), integers are 0 or 1 (valid indices everywhere); wild ones
// are whatever the type has.
static void fill(struct array *a, double low, bool wild, uint64_t seed) {
  static const double special[] = {0.0, -0.0, 1,    -1,     0.5,      -2.5,      1e-3,
                                   3e4, -7e4, 1e30, -1e-42, INFINITY, -INFINITY, NAN};
  struct noise n = noise_at(seed, 1);
  for (int64_t i = 0; i < shape_count(&a->shape); i++) {
    uint64_t word = noise_next(&n), more = noise_next(&n);
    if (dtype_is_float(a->dtype))
      a->f64[i] = wild && word % 3 == 0 ? pick(special, sizeof special / sizeof *special, more)
                                        : (low + (1 - low) * rng_unit(word)) * (wild ? 20 : 1);
    else
      a->i64[i] = !wild ? (int64_t)(word >> 63) : word % 3 == 0 ? (int64_t)more : (int64_t)(more % 13) - 6;
  }
  size_t bytes;
  void *raw = raw_of(a, &bytes); // to what the type holds, and back
  if (dtype_is_float(a->dtype))
    dtype_to_f64(a->dtype, raw, shape_count(&a->shape), a->f64);
  else
    dtype_to_i64(a->dtype, raw, shape_count(&a->shape), a->i64);
  free(raw);
}

static struct array make_input(const struct value *v, double low, bool wild, uint64_t seed) {
  struct array a;
  struct assay_error err = {0};
  struct shape s = {.rank = v->rank};
  for (int d = 0; d < v->rank; d++)
    s.dims[d] = v->dims[d].value;
  assert_int_equal(array_create(v->dtype, &s, &a, &err), ASSAY_OK);
  fill(&a, low, wild, seed);
  return a;
}

// ---- one graph, both ways

struct trial {
  const char *name;
  const struct graph *g;
  struct array in[MAX_VALUES];
  struct gpu_array gpu_in[MAX_VALUES];
};

static void trial_release(struct trial *t) {
  for (int i = 0; i < t->g->n_inputs; i++) {
    array_release(&t->in[i]);
    gpu_array_release(compute, &t->gpu_in[i]);
  }
}

static bool all_finite(const struct array *a) {
  for (int64_t i = 0; dtype_is_float(a->dtype) && i < shape_count(&a->shape); i++)
    if (!isfinite(a->f64[i]))
      return false;
  return true;
}

static void eval_cpu(const struct trial *t, struct arith arith, struct array *out) {
  struct assay_error err = {0};
  struct oracle_request r = {.graph = t->g, .inputs = t->in, .arith = arith, .threads = 1};
  if (oracle_eval(&r, out, &err) != ASSAY_OK)
    fail_msg("%s on the CPU: %s", t->name, err.message);
}

static void eval_gpu(const struct trial *t, struct arith arith, struct array *out) {
  struct assay_error err = {0};
  struct gpu_array g[MAX_VALUES];
  struct gpu_request r = {.compute = compute, .graph = t->g, .inputs = t->gpu_in, .arith = arith};
  if (gpu_oracle_eval(&r, g, &err) != ASSAY_OK)
    fail_msg("%s on the device: %s", t->name, err.message);
  for (int o = 0; o < t->g->n_outputs; o++) {
    out[o] = from_device(&g[o]);
    gpu_array_release(compute, &g[o]);
  }
}

// Inputs of both signs where the graph's outputs are finite then, else positive ones (a logarithm's).
static struct trial trial_make(const char *name, const struct graph *g, bool wild) {
  struct trial t = {.name = name, .g = g};
  struct array out[MAX_VALUES];
  bool ok = false;
  for (int attempt = 0; attempt < 2 && !ok; attempt++) {
    for (int i = 0; i < g->n_inputs; i++) {
      array_release(&t.in[i]);
      t.in[i] = make_input(&g->values[g->inputs[i]], attempt ? 0.1 : -1, wild, (uint64_t)i + 100);
    }
    eval_cpu(&t, arith_exact(), out);
    ok = true;
    for (int o = 0; o < g->n_outputs; o++) {
      ok &= wild || all_finite(&out[o]);
      array_release(&out[o]);
    }
  }
  for (int i = 0; i < g->n_inputs; i++)
    t.gpu_in[i] = to_device(&t.in[i]);
  return t;
}

// NaN, infinities and integers equal; numbers equal within 1e-12 of themselves and of what the output's largest leaves
// uncertain, or in every bit.
static void compare_exact(const struct trial *t, const struct array *want, const struct array *got, bool bits) {
  double largest = 0;
  assert_int_equal(want->dtype, got->dtype);
  assert_true(shape_equal(&want->shape, &got->shape));
  for (int64_t i = 0; dtype_is_float(want->dtype) && i < shape_count(&want->shape); i++)
    largest = isfinite(want->f64[i]) ? fmax(largest, fabs(want->f64[i])) : largest;
  for (int64_t i = 0; i < shape_count(&want->shape); i++) {
    if (!dtype_is_float(want->dtype)) {
      if (want->i64[i] != got->i64[i])
        fail_msg("%s: element %d is %lld, on the device %lld", t->name, (int)i, (long long)want->i64[i],
                 (long long)got->i64[i]);
      continue;
    }
    double w = want->f64[i], g = got->f64[i];
    bool same = want->bits[i] == got->bits[i] || (isnan(w) && isnan(g)) || (isinf(w) && w == g);
    if (!same && !bits)
      same = isfinite(w) && fabs(w - g) <= 1e-12 * fabs(w) + 1e-15 * largest;
    if (!same)
      fail_msg("%s: element %d is %.17g, on the device %.17g", t->name, (int)i, w, g);
  }
}

static void check_exact(const struct trial *t, bool bits) {
  struct array cpu[MAX_VALUES], gpu[MAX_VALUES];
  eval_cpu(t, arith_exact(), cpu);
  eval_gpu(t, arith_exact(), gpu);
  for (int o = 0; o < t->g->n_outputs; o++) {
    compare_exact(t, &cpu[o], &gpu[o], bits);
    array_release(&cpu[o]);
    array_release(&gpu[o]);
  }
}

static struct arith fp32(uint64_t key) {
  return (struct arith){
      .bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1, .key = key};
}

// A contract pass is finite wherever the CPU's is, and repeats itself.
static void check_contract(const struct trial *t) {
  struct array cpu[MAX_VALUES], gpu[MAX_VALUES], again[MAX_VALUES];
  eval_cpu(t, fp32(7), cpu);
  eval_gpu(t, fp32(7), gpu);
  eval_gpu(t, fp32(7), again);
  for (int o = 0; o < t->g->n_outputs; o++) {
    for (int64_t i = 0; i < shape_count(&cpu[o].shape); i++) {
      if (dtype_is_float(cpu[o].dtype) && isfinite(cpu[o].f64[i]) != isfinite(gpu[o].f64[i]))
        fail_msg("%s in fp32: element %d is %g, on the device %g", t->name, (int)i, cpu[o].f64[i], gpu[o].f64[i]);
      if (gpu[o].bits[i] != again[o].bits[i])
        fail_msg("%s in fp32: the same key gives other noise", t->name);
    }
    array_release(&cpu[o]);
    array_release(&gpu[o]);
    array_release(&again[o]);
  }
}

static double pooled(const float *sigma, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += (double)sigma[i] * (double)sigma[i];
  return n ? sqrt(sum / (double)n) : 0;
}

// Both are estimated from random passes: all together within a factor of 2, each within 4; where nothing is random,
// because nothing is computed, to a float's precision.
static void compare_sigma(const struct trial *t, const float *want, const float *got, int64_t n, bool exact) {
  double all_want = pooled(want, n), all_got = pooled(got, n);
  if (!(all_want == all_got || (all_got >= all_want / 2 && all_got <= all_want * 2)))
    fail_msg("%s: the error scale is %g, on the device %g", t->name, all_want, all_got);
  for (int64_t i = 0; i < n; i++) {
    double w = (double)want[i], g = (double)got[i], room = exact ? 1.0001 : 4;
    if (!(w == g || (g >= w / room && g <= w * room)))
      fail_msg("%s: the error scale of element %d is %g, on the device %g", t->name, (int)i, w, g);
  }
}

// The error scale has the size of the CPU's.
static void check_answer(const struct trial *t, struct arith contract, int replicas, bool exact) {
  struct oracle_answer cpu;
  struct gpu_answer gpu;
  struct assay_error err = {0};
  if (oracle_answer_make(t->g, t->in, &contract, replicas, 1, &cpu, &err) != ASSAY_OK)
    fail_msg("%s: %s", t->name, err.message);
  if (gpu_answer_make(compute, t->g, t->gpu_in, &contract, replicas, &gpu, &err) != ASSAY_OK)
    fail_msg("%s on the device: %s", t->name, err.message);
  assert_int_equal(cpu.representable, gpu.representable);
  for (int o = 0; o < t->g->n_outputs; o++) {
    int64_t n = shape_count(&cpu.y[o].shape);
    struct array y = from_device(&gpu.y[o]);
    compare_exact(t, &cpu.y[o], &y, false);
    array_release(&y);
    assert_int_equal(cpu.sigma[o] != NULL, gpu.sigma[o] != 0);
    if (!cpu.sigma[o])
      continue;
    float *sigma = malloc((size_t)n * sizeof *sigma + 1);
    assert_int_equal(compute_download(compute, sigma, gpu.sigma[o], (size_t)n * sizeof *sigma, &err), ASSAY_OK);
    compare_sigma(t, cpu.sigma[o], sigma, n, exact);
    free(sigma);
  }
  oracle_answer_release(&cpu);
  gpu_answer_release(compute, &gpu);
}

// ---- every operator's examples

static bool has_device_code(const struct graph *g) {
  for (int i = 0; i < g->n_nodes; i++)
    if (!gpu_find(g->nodes[i].op))
      return false;
  return true;
}

// Sums of several elements, which a GPU contracts to fused multiply-adds.
static bool interpolates(const struct node *n) {
  return node_attr(n, "mode") && strstr("bilinear bicubic", node_string(n, "mode", "nearest"));
}

// Operators that choose elements or make them from nothing do not calculate.
static bool moves_only(const struct graph *g) {
  for (int i = 0; i < g->n_nodes; i++) {
    enum op_class class = g->nodes[i].op->class;
    if ((class != OP_MOVEMENT && class != OP_GATHER && class != OP_CONSTANT) || interpolates(&g->nodes[i]))
      return false;
  }
  return true;
}

static int check_row(const struct op_def *d) {
  int count = 0;
  for (const char *at = d->example; at && *at;) {
    size_t len = strcspn(at, "\n");
    struct model m;
    struct assay_error err = {0};
    if (onnx_parse_graph(at, len, d->name, &m, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    if (has_device_code(&m.flat)) {
      struct trial t = trial_make(d->name, &m.flat, false);
      check_exact(&t, moves_only(&m.flat));
      check_contract(&t);
      check_answer(&t, fp32(3), REPLICAS, false);
      trial_release(&t);
      count++;
    }
    model_release(&m);
    at += len + (at[len] == '\n');
  }
  return count;
}

static void test_examples(void **state) {
  (void)state;
  int n, examples = 0;
  const struct op_family *const *families = op_families(&n);
  for (int f = 0; f < n; f++)
    for (int r = 0; r < families[f]->n_rows; r++)
      examples += check_row(&families[f]->rows[r]);
  print_message("%d examples\n", examples);
  assert_true(examples > 100);
}

// ---- elementwise operators and casts in every type

static void check_text(const char *text, bool wild, bool bits) {
  struct model m;
  struct assay_error err = {0};
  if (onnx_parse_graph(text, strlen(text), text, &m, &err) != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  struct trial t = trial_make(text, &m.flat, wild);
  check_exact(&t, bits);
  check_contract(&t);
  trial_release(&t);
  model_release(&m);
}

static const char *const float_types[] = {"float", "double", "float16", "bfloat16", "float8e4m3fn", "float8e5m2"};
static const char *const integer_types[] = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"};
enum { FLOAT_TYPES = 6, INTEGER_TYPES = 8 };

// Shapes that stretch in the middle, at both ends, that merge and that do not.
static const char *const shape_pairs[][3] = {
    {"[3,1,5]", "[4,1]", "[3,4,5]"}, {"[7]", "[2,3,1]", "[2,3,7]"}, {"[600]", "[]", "[600]"},
    {"[2,3,4]", "[3,4]", "[2,3,4]"}, {"[0,3]", "[1]", "[0,3]"},     {"[1,5]", "[4,5]", "[4,5]"},
};
enum { SHAPE_PAIRS = sizeof shape_pairs / sizeof *shape_pairs };

static void check_binary(const char *op, const char *type, const char *result, const char *const *shapes) {
  char text[256];
  const char *b = strcmp(shapes[1], "[]") == 0 ? "" : shapes[1];
  snprintf(text, sizeof text, "(%s%s a, %s%s b) => (%s%s c) { c = %s(a, b) }", type, shapes[0], type, b, result,
           shapes[2], op);
  check_text(text, true, strcmp(op, "Pow") != 0);
}

static void test_binary_types(void **state) {
  (void)state;
  static const char *const arithmetic[] = {"Add", "Sub", "Mul", "Div", "Mod<fmod = 1>", "Pow", "Max", "Min"};
  static const char *const comparisons[] = {"Less", "GreaterOrEqual", "Equal"};
  for (int t = 0; t < FLOAT_TYPES + INTEGER_TYPES; t++) {
    const char *type = t < FLOAT_TYPES ? float_types[t] : integer_types[t - FLOAT_TYPES];
    for (int s = 0; s < SHAPE_PAIRS; s++) {
      for (size_t o = 0; o < sizeof arithmetic / sizeof *arithmetic; o++)
        check_binary(arithmetic[o], type, type, shape_pairs[s]);
      for (size_t o = 0; o < sizeof comparisons / sizeof *comparisons; o++)
        check_binary(comparisons[o], type, "bool", shape_pairs[s]);
    }
  }
}

static void test_unary_functions(void **state) {
  (void)state;
  static const char *const exact[] = {"Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Relu"};
  static const char *const library[] = {"Exp",  "Log",     "Sin",      "Cos",  "Tan",   "Asin",  "Acos",
                                        "Atan", "Sinh",    "Cosh",     "Tanh", "Asinh", "Acosh", "Atanh",
                                        "Erf",  "Sigmoid", "Softplus", "Gelu", "Mish"};
  char text[256];
  for (size_t o = 0; o < sizeof exact / sizeof *exact; o++) {
    snprintf(text, sizeof text, "(float[501] a) => (float[501] b) { b = %s(a) }", exact[o]);
    check_text(text, true, true);
  }
  for (size_t o = 0; o < sizeof library / sizeof *library; o++) {
    snprintf(text, sizeof text, "(float16[501] a) => (float16[501] b) { b = %s(a) }", library[o]);
    check_text(text, true, false);
  }
  check_text("(bool[3,4] a, float[4] b, int8[3,1] c) => (float[3,4] d) { e = Cast<to = 1>(c) d = Where(a, b, e) }",
             true, true);
  check_text("(float[40] a, float b) => (float[40] c) { c = Clip(a, , b) }", true, true);
  check_text("(float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] d) { d = Mean(a, b, c) }", true, true);
}

static void test_casts(void **state) {
  (void)state;
  static const char *const types[] = {"float",      "double", "float16", "bfloat16", "float8e4m3fn",
                                      "float8e5m2", "int8",   "uint8",   "int16",    "uint16",
                                      "int32",      "uint32", "int64",   "uint64",   "bool"};
  static const int numbers[] = {1, 11, 10, 16, 17, 19, 3, 2, 5, 4, 6, 12, 7, 13, 9};
  char text[256];
  for (size_t from = 0; from < sizeof numbers / sizeof *numbers; from++)
    for (size_t to = 0; to < sizeof numbers / sizeof *numbers; to++)
      for (int saturate = 0; saturate < 2; saturate++) {
        snprintf(text, sizeof text, "(%s[500] a) => (%s[500] b) { b = Cast<to = %d, saturate = %d>(a) }", types[from],
                 types[to], numbers[to], saturate);
        check_text(text, true, true);
      }
  check_text("(float[500] a) => (int8[500] b, int8[500] c, bool[500] d) <float little = {1e-8}, double small = {1e-8}>"
             " { r = Round(a) s = Sub(r, little) b = Cast<to = 3>(s) d = Cast<to = 9>(s)"
             " w = Cast<to = 11>(r) v = Sub(w, small) c = Cast<to = 3>(v) }",
             true, true);
}

// Types that stand within graphs only: from floats and integers of all sizes, and back; and as constants.
static void test_inner_types(void **state) {
  (void)state;
  static const int numbers[] = {18, 20, 21, 22, 23, 24, 25, 26, 27, 28};
  static const char *const modes[] = {"up", "down", "nearest"};
  static const char *const from[] = {"float", "float16", "int16"};
  char text[512];
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    for (int k = 0; k < 18; k++) {
      const char *type = from[k / 6];
      snprintf(text, sizeof text,
               "(%s[500] a) => (float[500] b, int8[500] c) { n = Cast<to = %d, saturate = %d, round_mode = \"%s\">(a)"
               " b = Cast<to = 1>(n) c = Cast<to = 3>(n) }",
               type, numbers[i], k % 2, modes[k / 2 % 3]);
      check_text(text, true, true);
    }
  check_text("(float[3] a) => (float[3] b, float[3] c) <int4[3] w = {-8, 7, -1}, float4e2m1[3] f = {1, 10, 7}>"
             " { v = Cast<to = 1>(w) b = Mul(a, v) g = Cast<to = 1>(f) c = Mul(a, g) }",
             true, true);
}

// All ways to sample, with places inside, outside and far away.
static void test_grid_sample(void **state) {
  (void)state;
  static const char *const modes[] = {"nearest", "linear", "cubic"}, *const paddings[] = {"zeros", "border",
                                                                                          "reflection"};
  char text[512];
  for (int kind = 0; kind < 18; kind++) {
    snprintf(text, sizeof text,
             "(float[2,3,4,5] x, float16[2,6,7,2] g) => (float[2,3,6,7] y) { k = Constant<value_float = 3.0>()"
             " f = Cast<to = 1>(g) s = Mul(f, k)"
             " y = GridSample<mode = \"%s\", padding_mode = \"%s\", align_corners = %d>(x, s) }",
             modes[kind % 3], paddings[kind / 3 % 3], kind / 9);
    check_text(text, false, false);
  }
  check_text("(int16[1,2,5] x, float[1,9,1] g) => (int16[1,2,9] y) { y = GridSample(x, g) }", true, true);
}

// ---- graphs

// Shapes computed on the way, from inputs and from constants; an input, a constant and a value twice among the outputs.
static void test_graphs(void **state) {
  (void)state;
  check_text("(float[4,6] a) => (float[6,4] b, float[6,4] c)"
             " { s = Shape(a) i = Constant<value = int64[2] {1, 0}>() t = Gather(s, i) b = Reshape(a, t)"
             " k = Constant<value_float = 2.5>() c = Mul(b, k) }",
             false, true);
  // As task/steps.c writes logsumexp out.
  check_text("(bfloat16[5,40] x) => (bfloat16[5] y) <int64[1] axes = {1}>"
             " { m = ReduceMax(x, axes) e = IsInf(m) n = Constant<value_float = 0.0>() z = CastLike(n, m)"
             " t = Where(e, z, m) d = Sub(x, t) p = Exp(d) s = ReduceSum(p, axes) l = Log(s) a = Add(l, t)"
             " y = ReduceMax<keepdims = 0>(a, axes) }",
             true, false);
  // All but two updates go to one place, where the last one stays; what is picked stays in its order.
  check_text("(float[3] a, float[700] u) => (float[3] b, float[3] c)"
             " <int64[1] n = {700}, int64[2] at = {3, 650}, int64[2] to = {0, 1}, int64 two = {2}>"
             " { all = Expand(two, n) i = ScatterElements(all, at, to) b = ScatterElements(a, i, u)"
             " c = ScatterElements<reduction = \"max\">(a, i, u) }",
             false, true);
  // Every kind of number's bits, and back: NaNs of both signs with bits of their own, infinities, subnormals.
  check_text("(int32[1] s) => (int32[8] b, int64[4] d) <int32[8] bits = {2143289344, -4194304, 2143289999, -4190000,"
             " 2139095040, 1, -2147483648, 1078530011}, int64[4] wide = {9221120237041090560, -2251799813685248,"
             " 9221120237041099999, 1}>"
             " { z = Sub(s, s) i = Add(bits, z) f = BitCast<to = 1>(i) b = BitCast<to = 6>(f)"
             " w = Cast<to = 7>(z) j = Add(wide, w) g = BitCast<to = 11>(j) d = BitCast<to = 7>(g) }",
             false, true);
}

// A shape that is an input's value, which only the device has.
static void test_shape_is_input(void **state) {
  (void)state;
  static const char text[] = "(float16[4,6] a, int64[2] to) => (float16[8,3] b, int64[2] n)"
                             " { b = Reshape(a, to) n = Shape(b) }";
  struct model m;
  struct assay_error err = {0};
  if (onnx_parse_graph(text, strlen(text), "graph", &m, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  struct trial t = {.name = "a shape that is an input", .g = &m.flat};
  for (int i = 0; i < 2; i++)
    t.in[i] = make_input(&m.flat.values[m.flat.inputs[i]], -1, false, 1);
  memcpy(t.in[1].i64, (const int64_t[]){8, 3}, 16);
  for (int i = 0; i < 2; i++)
    t.gpu_in[i] = to_device(&t.in[i]);
  check_exact(&t, true);
  trial_release(&t);
  model_release(&m);
}

static void test_input_is_output(void **state) {
  (void)state;
  static const char text[] = "(bfloat16[5] a, uint8[3] b) => (bfloat16[5] a, bfloat16[5] c, uint8[3] b, bfloat16[5] c)"
                             " { c = Neg(a) }";
  struct model m;
  struct assay_error err = {0};
  if (onnx_parse_graph(text, strlen(text), "graph", &m, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  struct trial t = trial_make("an input that is an output", &m.flat, true);
  check_exact(&t, true);
  trial_release(&t);
  model_release(&m);
}

// Where nothing is computed, nothing is random: the scale is the rounding of the result, in every element.
static void test_scale_without_noise(void **state) {
  (void)state;
  static const char text[] = "(float[3,50] a, float16[7] b, int32[5] c) => (float[50,3] x, float16[7] y, int32[5] z)"
                             " { n = Neg(a) x = Transpose<perm = [1, 0]>(n) y = Abs(b) z = Neg(c) }";
  struct model m;
  struct assay_error err = {0};
  if (onnx_parse_graph(text, strlen(text), "graph", &m, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  struct trial t = trial_make("a scale without noise", &m.flat, true);
  check_answer(&t, fp32(1), 8, true);
  trial_release(&t);
  model_release(&m);
}

// Whole numbers have no scale, so no pass is run for one, however many are asked for.
static void test_whole_numbers_need_no_passes(void **state) {
  (void)state;
  static const char text[] = "(int32[40] a, int32[40] b) => (int32[40] c, bool[40] d)"
                             " { e = Mul(a, b) c = Sub(a, e) d = Less(c, e) }";
  struct model m;
  struct assay_error err = {0};
  int made[2];
  if (onnx_parse_graph(text, strlen(text), "graph", &m, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  struct trial t = trial_make("whole numbers", &m.flat, true);
  for (int many = 0; many < 2; many++) {
    struct gpu_answer a;
    struct arith contract = fp32(1);
    const int before = allocations;
    assert_int_equal(gpu_answer_make_unfused(compute, t.g, t.gpu_in, &contract, many ? 64 : 1, &a, &err), ASSAY_OK);
    made[many] = allocations - before;
    gpu_answer_release(compute, &a);
  }
  assert_int_equal(made[0], made[1]);
  check_answer(&t, fp32(1), 8, true);
  trial_release(&t);
  model_release(&m);
}

// A cast of what is whole has one result, so nothing is evaluated again to see.
static void test_casts_of_whole_numbers(void **state) {
  (void)state;
  static const char *const texts[] = {
      "(float[40] a, float[40] b) => (int32[40] d) { c = Less(a, b) d = Cast<to = 6>(c) }",
      "(float[40] a, float[40] b) => (int32[40] d) { c = Add(a, b) d = Cast<to = 6>(c) }"};
  int made[2];
  for (int i = 0; i < 2; i++) {
    struct model m;
    struct assay_error err = {0};
    struct gpu_answer a;
    struct arith contract = fp32(1);
    if (onnx_parse_graph(texts[i], strlen(texts[i]), "graph", &m, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    struct trial t = trial_make("casts", &m.flat, false);
    const int before = allocations;
    assert_int_equal(gpu_answer_make_unfused(compute, t.g, t.gpu_in, &contract, 8, &a, &err), ASSAY_OK);
    made[i] = allocations - before;
    gpu_answer_release(compute, &a);
    check_answer(&t, fp32(1), 8, true);
    trial_release(&t);
    model_release(&m);
  }
  assert_true(3 * made[0] < 2 * made[1]);
}

// An overflow in the contract where the truth is finite is seen on both sides.
static void test_not_representable(void **state) {
  (void)state;
  static const char text[] = "(float[40] a) => (float[40] b) { e = Exp(a) f = Mul(e, e) g = Mul(f, f) h = Log(g)"
                             " k = Constant<value_float = 0.25>() b = Mul(h, k) }";
  struct model m;
  struct assay_error err = {0};
  assert_int_equal(onnx_parse_graph(text, strlen(text), "graph", &m, &err), ASSAY_OK);
  for (int large = 0; large < 2; large++) {
    struct trial t = {.name = "overflow", .g = &m.flat};
    t.in[0] = make_input(&m.flat.values[m.flat.inputs[0]], -1, false, 1);
    t.in[0].f64[17] = large ? 60 : 2;
    t.gpu_in[0] = to_device(&t.in[0]);
    struct gpu_answer a;
    struct arith contract = fp32(1);
    assert_int_equal(gpu_answer_make(compute, t.g, t.gpu_in, &contract, 8, &a, &err), ASSAY_OK);
    assert_int_equal(a.representable, !large);
    gpu_answer_release(compute, &a);
    check_answer(&t, contract, REPLICAS, false);
    trial_release(&t);
  }
  model_release(&m);
}

// Casts of what an integer type cannot hold (wild values) have no answer to be asked for, unless nothing depends on
// them.
static void test_open_casts(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool wild, representable;
  } cases[] = {
      {"(float[500] a) => (int32[500] b) { b = Cast<to = 6>(a) }", true, false},
      {"(float[500] a) => (int32[500] b) { b = Cast<to = 6>(a) }", false, true},
      {"(float[500] a) => (uint64[500] b) { c = Abs(a) b = Cast<to = 13>(c) }", true, false},
      {"(float16[500] a) => (float[500] b, bool[500] c) { i = Cast<to = 3>(a) b = Cast<to = 1>(i) c = Cast<to = 9>(a) "
       "}",
       true, false},
      {"(float[500] a) => (bool[500] c) { c = Cast<to = 9>(a) }", true, true},
      {"(float[500] a) => (int32[500] c) { i = Cast<to = 6>(a) c = Sub(i, i) }", true, true},
      {"(float[8] a) => (float[8] b) { z = Sub(a, a) n = Div(z, z) u = Cast<to = 2>(n) i = Cast<to = 7>(u) "
       "b = Gather(a, i) }",
       false, false}, // other indices are out of the table
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct model m;
    struct assay_error err = {0};
    struct gpu_answer a;
    struct arith contract = fp32(3);
    if (onnx_parse_graph(cases[k].text, strlen(cases[k].text), "test", &m, &err) != ASSAY_OK)
      fail_msg("%s: %s", cases[k].text, err.message);
    struct trial t = trial_make(cases[k].text, &m.flat, cases[k].wild);
    if (gpu_answer_make(compute, t.g, t.gpu_in, &contract, 8, &a, &err) != ASSAY_OK)
      fail_msg("%s: %s", t.name, err.message);
    assert_int_equal(a.representable, cases[k].representable);
    gpu_answer_release(compute, &a);
    check_answer(&t, contract, 8, false);
    trial_release(&t);
    model_release(&m);
  }
}

enum { STORED = 4001 };

static void fill_stored(double *floats, int64_t *whole) {
  struct noise n = noise_at(8, 8);
  for (int i = 0; i < STORED; i++) {
    uint64_t word = noise_next(&n);
    double any;
    memcpy(&any, &word, sizeof any);
    floats[i] = i % 3 ? ldexp(rng_unit(word) - 0.5, (int)(word % 41) - 20) : any;
    whole[i] = (int64_t)(i % 2 ? word : word % 600) - 300;
  }
  floats[0] = 0x1.ffffffp127;
  floats[1] = -0x1.fffffe8p127;
  floats[2] = 0;
  floats[3] = NAN;
  floats[4] = -INFINITY;
  whole[0] = 0;
  whole[1] = 1;
  whole[2] = -1;
}

// A NaN's bits are free.
static bool same_element(enum dtype t, const unsigned char *a, const unsigned char *b) {
  double x = 0, y = 0;
  if (memcmp(a, b, dtype_bytes(t)) == 0)
    return true;
  if (dtype_is_float(t)) {
    dtype_to_f64(t, a, 1, &x);
    dtype_to_f64(t, b, 1, &y);
  }
  return isnan(x) && isnan(y);
}

// What is computed, as the bytes of any type that candidates are given; and others than those.
static void test_stored(void **state) {
  (void)state;
  static const enum dtype types[] = {DTYPE_FLOAT,      DTYPE_DOUBLE, DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT8E4M3FN,
                                     DTYPE_FLOAT8E5M2, DTYPE_INT8,   DTYPE_UINT8,   DTYPE_INT16,    DTYPE_UINT16,
                                     DTYPE_INT32,      DTYPE_UINT32, DTYPE_INT64,   DTYPE_UINT64,   DTYPE_BOOL};
  static double floats[STORED];
  static int64_t whole[STORED];
  static unsigned char want[8 * STORED], got[8 * STORED];
  fill_stored(floats, whole);
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    struct assay_error err = {0};
    const bool is_float = dtype_is_float(types[t]);
    const struct tensor_type type = {types[t], {.rank = 1, .dims = {STORED}}};
    const size_t each = dtype_bytes(types[t]), bytes = STORED * each;
    struct gpu_array a = {.dtype = types[t], .shape = type.shape, .storage = is_float ? GPU_F64 : GPU_I64};
    device_ptr to;
    assert_true(gpu_array_can_store(types[t]));
    assert_int_equal(compute_alloc(compute, sizeof floats, &a.data, &err), ASSAY_OK);
    assert_int_equal(compute_alloc(compute, bytes, &to, &err), ASSAY_OK);
    assert_int_equal(compute_upload(compute, a.data, is_float ? (void *)floats : (void *)whole, sizeof floats, &err),
                     ASSAY_OK);
    if (is_float)
      dtype_from_f64(types[t], floats, STORED, want);
    else
      dtype_from_i64(types[t], whole, STORED, want);
    for (int others = 0; others < 2; others++) {
      assert_int_equal(gpu_array_store(compute, &a, others != 0, &type, to, &err), ASSAY_OK);
      assert_int_equal(compute_download(compute, got, to, bytes, &err), ASSAY_OK);
      for (size_t i = 0; i < STORED; i++)
        if (same_element(types[t], want + i * each, got + i * each) != (others == 0))
          fail_msg("element %d as %s, others: %d", (int)i, dtype_name(types[t]), others);
    }
    compute_free(compute, a.data);
    compute_free(compute, to);
  }
  assert_false(gpu_array_can_store(DTYPE_FLOAT8E8M0));
  assert_false(gpu_array_can_store(DTYPE_INT4));
}

// ---- numbers of chance

static void test_numbers_of_chance(void **state) {
  (void)state;
  static const char *const wild[] = {"(int64[5] seeds, float[0,501] like) => (float[5,501] u)"
                                     " { u = ai.assay.SeededUniform(seeds, like) }",
                                     "(uint8[2] seeds, float16[3,1] like) => (float16[2,1] u)"
                                     " { u = ai.assay.SeededUniform(seeds, like) }",
                                     "(int32[0] seeds, float[3] like) => (float[0,3] u)"
                                     " { u = ai.assay.SeededUniform(seeds, like) }",
                                     "(int64[4] seeds, int16[900] n, float[900] p) => (float[4,900] k)"
                                     " { k = ai.assay.SeededBinomial(seeds, n, p) }"};
  for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
    check_text(wild[i], true, true);
  // A number of trials and its chance from one element each.
  check_text("(int64[4] seeds, float[900] x, double[900] y) => (double[4,900] k)"
             " { f = Constant<value_float = 30.0>() a = Abs(x) m = Mul(a, f) n = Cast<to = 7>(m) p = Abs(y)"
             " k = ai.assay.SeededBinomial(seeds, n, p) }",
             false, false);
  check_text("(float[4,900] z, int64[4] seeds, float[900] x, float[900] y) => (float[4,900] v, float[4,900] w)"
             " { f = Constant<value_float = 30.0>() a = Abs(x) m = Mul(a, f) n = Cast<to = 7>(m) p = Abs(y)"
             " b = Abs(z) c = Mul(b, m) k = Floor(c) v = ai.assay.BinomialPlace(k, seeds, n, p)"
             " w = ai.assay.BinomialPlace<rarer = 1>(k, seeds, n, p) }",
             false, false);
  check_text("(float[3,300] z, int64[3] seeds, int8[300] n, float[300] y) => (float[3,300] v)"
             " { v = ai.assay.BinomialPlace(z, seeds, n, y) }",
             true, false);
}

enum { SEEDS = 8 };

// Wrong in one way or another, so that each of the tests finds something.
enum of_chance {
  HONEST,
  SKEWED,
  NARROW,
  BITS_16,
  BITS_8,
  UNSEEDED,
  PERIODIC,
  STUTTER,
  EVEN,
  OUTSIDE,
  NO_REPLAY,
  KINDS
};

static double number_of_chance(enum of_chance kind, int64_t seed, int64_t row, int64_t place) {
  uint64_t key = rng_mix64((uint64_t)(kind == UNSEEDED ? 5 : kind == NO_REPLAY ? row : seed));
  if (kind == PERIODIC)
    place %= 1024;
  if (kind == STUTTER)
    place -= place & 1;
  if (kind == EVEN)
    return fmod((double)(key % 1000) + (double)place * 0.6180339887498949, 1);
  double u = ldexp((double)(rng_mix64(key + (uint64_t)place) >> 40), -24);
  switch (kind) {
  case SKEWED:
    return u * u;
  case NARROW:
    return 0.5 + 0.9 * (u - 0.5);
  case BITS_16:
    return ldexp(floor(ldexp(u, 16)), -16);
  case BITS_8:
    return ldexp(floor(ldexp(u, 8)), -8);
  case OUTSIDE:
    return place % 1000 == 7 ? 1 + u : u;
  default:
    return u;
  }
}

// With as many rows as there are seeds, or fewer.
static void check_tests_of_chance(enum of_chance kind, const char *type, int rows, int64_t columns, bool seen[16]) {
  static const int64_t seeds[SEEDS] = {5, 6, 7, 5, -9, INT64_C(1) << 40, 7, 11};
  char text[256];
  struct model m;
  struct assay_error err = {0};
  snprintf(text, sizeof text,
           "(%s[%d,%lld] u, int64[%d] seeds) => (int64[16] t, int64[16] c)"
           " { t = ai.assay.ChanceTests(u, seeds) c = ai.assay.ChanceTests<grid = 0>(u, seeds) }",
           type, rows, (long long)columns, rows);
  if (onnx_parse_graph(text, strlen(text), "graph", &m, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  struct trial t = {.name = text, .g = &m.flat};
  struct array out[2];
  for (int i = 0; i < 2; i++)
    t.in[i] = make_input(&m.flat.values[m.flat.inputs[i]], 0, false, 1);
  memcpy(t.in[1].i64, seeds, (size_t)rows * sizeof *seeds);
  for (int64_t i = 0; i < rows * columns; i++)
    t.in[0].f64[i] = (double)(float)number_of_chance(kind, seeds[i / columns], i / columns, i % columns);
  for (int i = 0; i < 2; i++)
    t.gpu_in[i] = to_device(&t.in[i]);
  check_exact(&t, true);
  eval_gpu(&t, arith_exact(), out);
  for (int i = 0; i < 16; i++) {
    seen[i] = seen[i] || out[0].i64[i] != 0;
    if (kind == HONEST && (out[0].i64[i] != 0 || out[1].i64[i] != 0))
      fail_msg("%s: honest numbers have %lld and %lld in test %d", text, (long long)out[0].i64[i],
               (long long)out[1].i64[i], i);
  }
  array_release(&out[0]);
  array_release(&out[1]);
  trial_release(&t);
  model_release(&m);
}

static void test_tests_of_chance(void **state) {
  (void)state;
  bool seen[16] = {false};
  for (int kind = 0; kind < KINDS; kind++) {
    check_tests_of_chance((enum of_chance)kind, "float", SEEDS, 16384, seen);
    check_tests_of_chance((enum of_chance)kind, "double", SEEDS, 2049, seen);
  }
  for (int i = 0; i < 16; i++)
    if (!seen[i])
      fail_msg("no numbers are wrong in test %d", i);
  for (int columns = 0; columns < 5; columns++)
    check_tests_of_chance(HONEST, "float", SEEDS, columns, seen);
  check_tests_of_chance(HONEST, "float", 2, (1 << 20) + 1024, seen); // all distances
}

#ifndef GPU_ORACLE_ON_CUDA
// ---- the same texts for a GPU

static void compile_for_gpu(struct nvrtc *n, const char *path) {
  static const char *const options[] = {"--gpu-architecture=sm_90", "--std=c++17", "--disable-warnings", NULL};
  struct assay_error err = {0};
  struct nvrtc_result r = {0};
  char *text;
  size_t len;
  assert_int_equal(file_read(path, 1 << 24, &text, &len, &err), ASSAY_OK);
  struct nvrtc_request q = {.source = text, .name = path, .options = options};
  if (nvrtc_compile(n, &q, &r, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  if (!r.compiled)
    fail_msg("%s", r.log);
  nvrtc_result_release(&r);
  base_free(text);
}

static void test_programs_compile_for_a_gpu(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct nvrtc *n = NULL;
  int count = 0;
  if (SANITIZED) {
    SKIP_BECAUSE("the compiler is not ours, and takes long with a sanitizer");
  }
  if (nvrtc_open(getenv("ASSAY_NVRTC"), &n, &err) != ASSAY_OK) {
    SKIP_BECAUSE("no NVRTC: %s", err.message);
  }
  DIR *d = opendir(folder);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (strstr(e->d_name, ".cu"))
      compile_for_gpu(n, path), count++;
  }
  closedir(d);
  nvrtc_close(n);
  print_message("%d programs\n", count);
  assert_true(count >= 3);
}
#endif

// Every allocation fails once: the answer says so and leaks nothing.
static void check_memory_fails(const char *text, int least) {
  struct model m;
  struct assay_error err = {0};
  struct compute_memory before, after;
  if (onnx_parse_graph(text, strlen(text), "graph", &m, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  struct trial t = trial_make("memory fails", &m.flat, false);
  struct arith contract = fp32(1);
  check_answer(&t, contract, 2, false); // everything is compiled
  compute_memory(compute, &before);
  int at = 0;
  for (;; at++) {
    struct gpu_answer a = {0};
    assert_true(at < 5000);
    allocations = 0;
    fail_at = at;
    enum assay_status status = gpu_answer_make(compute, t.g, t.gpu_in, &contract, 2, &a, &err);
    bool reached = allocations > at;
    fail_at = -1;
    gpu_answer_release(compute, &a);
    compute_memory(compute, &after);
    assert_int_equal(before.in_use, after.in_use);
    if (!reached) {
      assert_int_equal(status, ASSAY_OK);
      break;
    }
    assert_int_equal(status, ASSAY_ERR_NOMEM);
  }
  trial_release(&t);
  model_release(&m);
  assert_true(at > least);
}

static void test_memory_fails(void **state) {
  (void)state;
  check_memory_fails("(float[4,6] a, float16[6] b) => (float[6,4] c, float16[6] b, float[4,6] d)"
                     " { s = Shape(a) i = Constant<value = int64[2] {1, 0}>() t = Gather(s, i)"
                     " r = Reshape(a, t) k = Constant<value_float = 2.5>() c = Mul(r, k) d = Exp(a) }",
                     50); // about 70 with a GPU, 100 where its memory is the host's
  // In one launch, with a constant that is uploaded.
  check_memory_fails("(float[4,3] a) => (float[4,3] c, bool[4,3] d) <float[3] w = {0.5, 2, 3}>"
                     " { e = Exp(a) c = Mul(e, w) d = Less(a, c) }",
                     15);
}

static void count_waits(void *arg, bool waits) {
  int *told = arg;
  told[waits]++;
  assert_int_equal(told[true] - told[false], waits);
}

// What the host does for long, others may have the device for; and its passes share what they find.
static void test_host_lends_the_device(void **state) {
  (void)state;
  static const int sizes[] = {32, 1960};
  for (int i = 0; i < 2; i++) {
    const int n = sizes[i];
    char text[128];
    struct model m;
    struct array a;
    struct assay_error err = {0};
    const struct shape shape = {.rank = 2, .dims = {n, n}};
    const struct arith contract = fp32(1);
    struct gpu_answer answer;
    int told[2] = {0};
    snprintf(text, sizeof text, "g (float[%d,%d] a) => (float y) { y = Det(a) }", n, n);
    assert_int_equal(onnx_parse_graph(text, strlen(text), "graph", &m, &err), ASSAY_OK);
    assert_int_equal(array_create(DTYPE_FLOAT, &shape, &a, &err), ASSAY_OK);
    for (int64_t k = 0; k < shape_count(&shape); k++)
      a.f64[k] = k % (n + 1) == 0 ? 1 : (double)(float)(sin((double)k) / n);
    struct gpu_array in = to_device(&a);
    compute_tell(compute, count_waits, told);
    assert_int_equal(gpu_answer_make(compute, &m.flat, &in, &contract, 2, &answer, &err), ASSAY_OK);
    compute_tell(compute, NULL, NULL);
    assert_int_equal(told[true], i == 0 ? 0 : 3); // the truth and two passes
    assert_int_equal(told[false], told[true]);
    gpu_answer_release(compute, &answer);
    gpu_array_release(compute, &in);
    array_release(&a);
    model_release(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_host_lends_the_device),
      cmocka_unit_test(test_binary_types),
      cmocka_unit_test(test_unary_functions),
      cmocka_unit_test(test_casts),
      cmocka_unit_test(test_open_casts),
      cmocka_unit_test(test_inner_types),
      cmocka_unit_test(test_grid_sample),
      cmocka_unit_test(test_graphs),
      cmocka_unit_test(test_shape_is_input),
      cmocka_unit_test(test_input_is_output),
      cmocka_unit_test(test_scale_without_noise),
      cmocka_unit_test(test_whole_numbers_need_no_passes),
      cmocka_unit_test(test_casts_of_whole_numbers),
      cmocka_unit_test(test_not_representable),
      cmocka_unit_test(test_stored),
      cmocka_unit_test(test_numbers_of_chance),
      cmocka_unit_test(test_tests_of_chance),
      cmocka_unit_test(test_memory_fails),
      cmocka_unit_test(test_examples),
#ifndef GPU_ORACLE_ON_CUDA
      cmocka_unit_test(test_programs_compile_for_a_gpu), // after all that use them
#endif
  };
  return cmocka_run_group_tests(tests, open_compute, close_compute);
}
