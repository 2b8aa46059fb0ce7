// SPDX-License-Identifier: Apache-2.0
// Inputs drawn by the device's code are the CPU's, bit for bit: every input of every task of level 1, at
// its small and ragged workloads, under every probe. tests/gpu/draw.c compiles this file for a GPU.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "task/device_draw.h"
#include "host_device.h"
#include "sanitized.h"

static struct compute *compute;

static enum assay_status open_backend(struct assay_error *err) {
#ifdef GPU_DRAW_ON_CUDA
  return compute_open_cuda(&(struct compute_options){.nvrtc = getenv("ASSAY_NVRTC")}, &compute, err);
#else
  struct compute_options o = host_device_options();
  return compute_open_host(&o, &compute, err);
#endif
}

static int open_compute(void **state) {
  struct assay_error err = {0};
  (void)state;
  if (open_backend(&err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return 0;
}

static int close_compute(void **state) {
  (void)state;
  compute_close(compute);
  return 0;
}

static void compare_inputs(const struct task *t, const struct workload *w, enum probe probe) {
  struct assay_error err = {0};
  struct array *inputs = base_calloc((size_t)t->n_inputs + 1, sizeof *inputs);
  unsigned char **want = base_calloc((size_t)t->n_inputs + 1, sizeof *want);
  device_ptr *got = base_calloc((size_t)t->n_inputs + 1, sizeof *got);
  assert_int_equal(task_input_shapes(t, w, inputs, &err), ASSAY_OK);
  for (int i = 0; i < t->n_inputs; i++) {
    size_t bytes = (size_t)shape_count(&inputs[i].shape) * dtype_bytes(inputs[i].dtype);
    want[i] = base_alloc(bytes);
    assert_int_equal(compute_alloc(compute, bytes, &got[i], &err), ASSAY_OK);
  }
  assert_int_equal(task_make_inputs(t, w, probe, 0x1234567 + (uint64_t)probe, 2, (void *const *)want, &err), ASSAY_OK);
  if (task_make_inputs_on_device(t, w, probe, 0x1234567 + (uint64_t)probe, compute, got, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  for (int i = 0; i < t->n_inputs; i++) {
    size_t bytes = (size_t)shape_count(&inputs[i].shape) * dtype_bytes(inputs[i].dtype);
    unsigned char *copy = base_alloc(bytes);
    assert_int_equal(compute_download(compute, copy, got[i], bytes, &err), ASSAY_OK);
    if (memcmp(copy, want[i], bytes) != 0)
      fail_msg("%s, workload %s, probe %s: input %d differs", t->name, w->name, probe_name(probe), i);
    base_free(copy);
    base_free(want[i]);
    compute_free(compute, got[i]);
  }
  base_free(inputs);
  base_free(want);
  base_free(got);
}

static void every_level(void **state) {
  struct assay_error err = {0};
  char **paths;
  int n, drawn = 0;
  (void)state;
  assert_int_equal(task_list(ASSAY_SOURCE_DIR "/tasks", "kernelbench", &paths, &n, &err), ASSAY_OK);
  assert_true(n == 270);
  for (int i = 0; i < n; i += SANITIZED ? 3 : 1) {
    struct task t;
    if (task_read(paths[i], false, &t, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    for (int w = 0; w < t.n_workloads; w++) {
      // Networks have millions of weights at `small`, which are drawn as the ragged ones are; language models have
      // many at the ragged ones too.
      bool network = strncmp(t.name, "kernelbench/3/", 14) == 0, model = strncmp(t.name, "kernelbench/4/", 14) == 0;
      const char *name = t.workloads[w].name;
      if (strcmp(name, "full") == 0 || (network && strcmp(name, "small") == 0) ||
          (model && strcmp(name, "ragged0") != 0))
        continue;
      for (int p = 0; p < PROBE_COUNT; p++)
        if (t.probes & 1u << p) {
          compare_inputs(&t, &t.workloads[w], (enum probe)p);
          drawn++;
        }
    }
    task_release(&t);
  }
  task_list_release(paths, n);
  print_message("%d sets of inputs\n", drawn);
  assert_true(drawn > 2000);
}

static const struct draw_scales *scales; // of the requests of draw_one

static void draw_one(const char *spec, enum dtype dtype, int rank, const int64_t *dims, enum probe probe) {
  struct assay_error err = {0};
  struct arena arena = {0};
  struct distribution d;
  if (distribution_parse(spec, &arena, &d, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  struct draw_request r = {.distribution = &d,
                           .a = d.a,
                           .b = d.b,
                           .type.dtype = dtype,
                           .probe = probe,
                           .key = 99,
                           .near_overflow = 1e30,
                           .scales = scales,
                           .input = 3,
                           .threads = 1};
  r.type.shape.rank = rank;
  memcpy(r.type.shape.dims, dims, (size_t)rank * sizeof *dims);
  size_t bytes = tensor_type_bytes(&r.type);
  unsigned char *want = base_alloc(bytes), *got = base_alloc(bytes);
  device_ptr p;
  assert_int_equal(compute_alloc(compute, bytes, &p, &err), ASSAY_OK);
  distribution_draw(&r, want);
  assert_int_equal(device_draw(compute, &r, p, &err), ASSAY_OK);
  assert_int_equal(compute_download(compute, got, p, bytes, &err), ASSAY_OK);
  if (memcmp(got, want, bytes) != 0)
    fail_msg("%s of %s under %s differs", spec, dtype_name(dtype), probe_name(probe));
  base_free(want);
  base_free(got);
  compute_free(compute, p);
  arena_release(&arena);
}

// With scales along some dimensions.
static void scaled_draws(void) {
  static const double factors[23] = {0x1p-12, 3.7, 0.1, 1, 0x1.8p9, 5e-4, 77, 1, 1, 0x1p12, 1.1, 0.3,
                                     0x1p3,   2,   6,   7, 1e-3,    1e3,  9,  8, 7, 0.6,    0.5};
  static const struct draw_scales rows[] = {{.n = 1, .along = {{1, 23, factors}}},
                                            {.n = 1, .along = {{23, 5, factors}}},
                                            {.n = 3, .along = {{115, 3, factors}, {23, 5, factors}, {1, 23, factors}}}};
  static const struct draw_scales both = {.n = 2, .along = {{17, 17, factors}, {1, 17, factors}}};
  static const int64_t ragged[] = {3, 5, 23}, square[] = {2, 17, 17};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    scales = &rows[i];
    draw_one("uniform(0, 1)", DTYPE_FLOAT, 3, ragged, PROBE_OPPOSED);
    draw_one("uniform(0, 1) static", DTYPE_FLOAT8E4M3FN, 3, ragged, PROBE_OPPOSED);
  }
  scales = &both;
  draw_one("uniform(0, 1) symmetric", DTYPE_FLOAT, 3, square, PROBE_OPPOSED);
  scales = NULL;
}

// Every distribution and modifier, in every type it can have.
static void every_distribution(void **state) {
  static const char *const floats[] = {"uniform(-3, 5)",
                                       "normal(1, 2)",
                                       "slash(0.5)",
                                       "constant(0.1)",
                                       "signs()",
                                       "bernoulli(0.3)",
                                       "integers(-7, 9)",
                                       "normal(0, 1) * uniform_scalar(0.5, 2)",
                                       "normal(0, 1) symmetric",
                                       "normal(0, 1) regular",
                                       "normal(0, 1) symmetric regular",
                                       "normal(0, 1) tril regular fixed",
                                       "uniform(-1, 1) definite fixed",
                                       "permutation(23)",
                                       "partition(1000)",
                                       "seeds()",
                                       "uniform(0, 1) triu",
                                       "uniform(0, 1) tril",
                                       "normal(0, 3) softmax",
                                       "uniform(2, 3) above(1.25)",
                                       "uniform(0, 1) between(0, 1)",
                                       "uniform(-70000, 70000)",
                                       "uniform(-1e-7, 1e-7)"};
  static const enum dtype float_types[] = {DTYPE_FLOAT,    DTYPE_DOUBLE,       DTYPE_FLOAT16,
                                           DTYPE_BFLOAT16, DTYPE_FLOAT8E4M3FN, DTYPE_FLOAT8E5M2};
  static const enum dtype integer_types[] = {DTYPE_INT8, DTYPE_UINT8, DTYPE_INT16, DTYPE_INT32, DTYPE_INT64};
  static const int64_t square[] = {2, 17, 17}, ragged[] = {3, 5, 23}, vector[] = {1021};
  (void)state;
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
    for (size_t t = 0; t < sizeof float_types / sizeof *float_types; t++)
      for (int p = 0; p < PROBE_COUNT; p++) {
        draw_one(floats[i], float_types[t], 3, square, (enum probe)p);
        draw_one(floats[i], float_types[t], 3, ragged, (enum probe)p);
      }
  scaled_draws();
  for (size_t t = 0; t < sizeof integer_types / sizeof *integer_types; t++)
    draw_one("integers(-7, 9)", integer_types[t], 3, ragged, PROBE_DECLARED);
  draw_one("uniform(0, 1)", DTYPE_FLOAT, 1, vector, PROBE_ROW_SCALES);
  draw_one("uniform(0, 1)", DTYPE_FLOAT, 1, ragged, PROBE_ROW_SCALES);
  draw_one("permutation(5)", DTYPE_INT64, 3, ragged, PROBE_DECLARED);
  draw_one("partition(77)", DTYPE_INT32, 3, ragged, PROBE_DECLARED);
  draw_one("seeds()", DTYPE_INT64, 3, ragged, PROBE_DECLARED);
  draw_one("bernoulli(0.5)", DTYPE_BOOL, 3, ragged, PROBE_DECLARED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_distribution), cmocka_unit_test(every_level)};
  return cmocka_run_group_tests(tests, open_compute, close_compute);
}
