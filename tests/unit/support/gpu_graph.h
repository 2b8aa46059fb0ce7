// SPDX-License-Identifier: Apache-2.0
// A graph in ONNX's text on a device and on the CPU: the exact passes are the same to the rounding of sums,
// not-a-numbers and infinities included, and contract passes show the same spread. For tests of the oracle's families
// on the host backend, which runs the very text that a GPU runs.
#ifndef TEST_GPU_GRAPH_H
#define TEST_GPU_GRAPH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compute/compute.h"
#include "onnx/onnx.h"
#include "oracle/cuda/gpu.h"
#include "oracle/oracle.h"
#include "host_device.h"

enum { GRAPH_VALUES = 16, GRAPH_PASSES = 48 };

static struct compute *graph_device;

static int graph_open(void **state) {
  (void)state;
  struct compute_options o = host_device_options();
  struct assay_error err = {0};
  if (compute_open_host(&o, &graph_device, &err) != ASSAY_OK) {
    print_error("%s\n", err.message);
    return -1;
  }
  return 0;
}

static int graph_close(void **state) {
  (void)state;
  compute_close(graph_device);
  return 0;
}

// How inputs are drawn. Floats: (low, high), with a not-a-number or an infinity at each `special`-th place (0: none);
// integers: [0, below).
struct graph_draw {
  double low, high;
  int special;
  int64_t below;
};

static void graph_fill(struct array *a, const struct graph_draw *d, uint64_t seed) {
  static const double specials[] = {NAN, INFINITY, -INFINITY, INFINITY};
  struct noise n = noise_at(seed, 1);
  for (int64_t i = 0; i < shape_count(&a->shape); i++) {
    uint64_t word = noise_next(&n);
    if (!dtype_is_float(a->dtype))
      a->i64[i] = (int64_t)(word >> 8) % (a->dtype == DTYPE_BOOL ? 2 : d->below);
    else if (d->special && word % (uint64_t)d->special == 0)
      a->f64[i] = specials[(word >> 32) % 4];
    else
      a->f64[i] = d->low + (d->high - d->low) * rng_unit(word);
  }
}

// The input as the candidate sees it, on the device; the array then holds what its type could.
static struct gpu_array graph_upload(struct array *a) {
  struct assay_error err = {0};
  struct gpu_array g = {.dtype = a->dtype, .shape = a->shape, .owned = true};
  int64_t n = shape_count(&a->shape);
  size_t bytes = (size_t)n * dtype_bytes(a->dtype);
  unsigned char *p = base_alloc(bytes);
  assert_non_null(p);
  assert_int_equal(gpu_storage_of(a->dtype, &g.storage, &err), ASSAY_OK);
  if (dtype_is_float(a->dtype)) {
    dtype_from_f64(a->dtype, a->f64, n, p);
    dtype_to_f64(a->dtype, p, n, a->f64);
  } else {
    dtype_from_i64(a->dtype, a->i64, n, p);
    dtype_to_i64(a->dtype, p, n, a->i64);
  }
  assert_int_equal(compute_alloc(graph_device, bytes + 1, &g.data, &err), ASSAY_OK);
  if (bytes)
    assert_int_equal(compute_upload(graph_device, g.data, p, bytes, &err), ASSAY_OK);
  base_free(p);
  return g;
}

struct graph_case {
  const char *text;
  struct model model;
  struct array in[GRAPH_VALUES];
  struct gpu_array gpu_in[GRAPH_VALUES];
  struct array exact[GRAPH_VALUES];
};

static void graph_cpu(const struct graph_case *c, struct arith arith, struct array *out) {
  struct assay_error err = {0};
  struct oracle_request r = {.graph = &c->model.flat, .inputs = c->in, .arith = arith, .threads = 2};
  if (oracle_eval(&r, out, &err) != ASSAY_OK)
    fail_msg("%s: on the CPU: %s", c->text, err.message);
}

static enum assay_status graph_try(const struct graph_case *c, struct arith arith, struct gpu_array *out,
                                   struct assay_error *err) {
  struct gpu_request r = {.compute = graph_device, .graph = &c->model.flat, .inputs = c->gpu_in, .arith = arith};
  return gpu_oracle_eval(&r, out, err);
}

// The outputs on the host; array_release each.
static void graph_gpu(const struct graph_case *c, struct arith arith, struct array *out) {
  struct gpu_array got[GRAPH_VALUES];
  struct assay_error err = {0};
  if (graph_try(c, arith, got, &err) != ASSAY_OK)
    fail_msg("%s: on the device: %s", c->text, err.message);
  for (int o = 0; o < c->model.flat.n_outputs; o++) {
    assert_int_equal(array_create(got[o].dtype, &got[o].shape, &out[o], &err), ASSAY_OK);
    size_t bytes = (size_t)shape_count(&got[o].shape) * 8;
    if (bytes && compute_download(graph_device, out[o].bits, got[o].data, bytes, &err) != ASSAY_OK)
      fail_msg("%s: %s", c->text, err.message);
    gpu_array_release(graph_device, &got[o]);
  }
}

static void graph_release_outputs(const struct graph_case *c, struct array *out) {
  for (int o = 0; o < c->model.flat.n_outputs; o++)
    array_release(&out[o]);
}

static void graph_begin(struct graph_case *c, const char *text, const struct graph_draw *d) {
  struct assay_error err = {0};
  memset(c, 0, sizeof *c);
  c->text = text;
  enum assay_status status = text[0] == '<' ? onnx_parse_text(text, strlen(text), "case", &c->model, &err)
                                            : onnx_parse_graph(text, strlen(text), "case", &c->model, &err);
  if (status != ASSAY_OK)
    fail_msg("%s: %s", text, err.message);
  const struct graph *g = &c->model.flat;
  assert_true(g->n_inputs <= GRAPH_VALUES && g->n_outputs <= GRAPH_VALUES);
  for (int i = 0; i < g->n_inputs; i++) {
    const struct value *v = &g->values[g->inputs[i]];
    struct shape s = {.rank = v->rank};
    for (int k = 0; k < v->rank; k++)
      s.dims[k] = v->dims[k].value;
    assert_int_equal(array_create(v->dtype, &s, &c->in[i], &err), ASSAY_OK);
    graph_fill(&c->in[i], d, (uint64_t)i + 100);
    c->gpu_in[i] = graph_upload(&c->in[i]);
  }
}

static void graph_end(struct graph_case *c) {
  for (int i = 0; i < c->model.flat.n_inputs; i++) {
    array_release(&c->in[i]);
    gpu_array_release(graph_device, &c->gpu_in[i]);
  }
  graph_release_outputs(c, c->exact);
  model_release(&c->model);
}

static void graph_compare(const struct graph_case *c, int o, const struct array *want, const struct array *got) {
  double scale = 0;
  int64_t n = shape_count(&want->shape);
  assert_int_equal(want->dtype, got->dtype);
  assert_true(shape_equal(&want->shape, &got->shape));
  if (!dtype_is_float(want->dtype)) {
    for (int64_t i = 0; i < n; i++)
      if (want->i64[i] != got->i64[i])
        fail_msg("%s: output %d, element %lld is %lld, not %lld", c->text, o, (long long)i, (long long)got->i64[i],
                 (long long)want->i64[i]);
    return;
  }
  for (int64_t i = 0; i < n; i++)
    if (isfinite(want->f64[i]))
      scale = fmax(scale, fabs(want->f64[i]));
  for (int64_t i = 0; i < n; i++) {
    double w = want->f64[i], v = got->f64[i];
    bool same = isnan(w) ? isnan(v) : isinf(w) ? v == w : fabs(v - w) <= 1e-13 * scale + 1e-11 * fabs(w);
    if (!same)
      fail_msg("%s: output %d, element %lld is %.17g, not %.17g", c->text, o, (long long)i, v, w);
  }
}

// Sums of squared deviations from the exact outputs over passes, an element each.
static void graph_spread(const struct graph_case *c, bool device, int o, double *sum) {
  struct arith fp32 = {.bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1};
  struct array pass[GRAPH_VALUES];
  int64_t n = shape_count(&c->exact[o].shape);
  for (int p = 0; p < GRAPH_PASSES; p++) {
    fp32.key = (uint64_t)p * 7919 + 1;
    if (device)
      graph_gpu(c, fp32, pass);
    else
      graph_cpu(c, fp32, pass);
    for (int64_t i = 0; i < n; i++) {
      double d = pass[o].f64[i] - c->exact[o].f64[i];
      sum[i] += d * d;
    }
    graph_release_outputs(c, pass);
  }
}

// The share that the device has in both deviations together is a half on average, within four standard deviations of it
// if so many elements err independently (those of a row that is divided by one sum do not).
static void graph_contract(const struct graph_case *c, int o, int64_t independent) {
  int64_t n = shape_count(&c->exact[o].shape), counted = 0;
  double *cpu = base_calloc((size_t)n + 1, sizeof *cpu), *gpu = base_calloc((size_t)n + 1, sizeof *gpu), share = 0;
  assert_true(cpu && gpu);
  graph_spread(c, false, o, cpu);
  graph_spread(c, true, o, gpu);
  for (int64_t i = 0; i < n; i++)
    if (cpu[i] + gpu[i] > 0) {
      share += gpu[i] / (cpu[i] + gpu[i]);
      counted++;
    }
  double off = counted ? share / (double)counted - 0.5 : 0;
  double allowed = 0.02 + 0.28 / sqrt((double)independent);
  if (!(fabs(off) <= allowed))
    fail_msg("%s: output %d: the device's spread is %.3f of both, %.3f allowed around 0.5", c->text, o, off + 0.5,
             allowed);
  base_free(cpu);
  base_free(gpu);
}

// independent: of floating outputs contract passes are compared too, which have so many elements that err
// independently; 0: not.
static void graph_check(const char *text, struct graph_draw draw, int64_t independent) {
  struct graph_case c;
  struct array got[GRAPH_VALUES];
  graph_begin(&c, text, &draw);
  graph_cpu(&c, arith_exact(), c.exact);
  graph_gpu(&c, arith_exact(), got);
  for (int o = 0; o < c.model.flat.n_outputs; o++)
    graph_compare(&c, o, &c.exact[o], &got[o]);
  graph_release_outputs(&c, got);
  for (int o = 0; independent && o < c.model.flat.n_outputs; o++)
    if (dtype_is_float(c.exact[o].dtype))
      graph_contract(&c, o, independent);
  graph_end(&c);
}

// The device refuses the graph, with this text in its message.
static inline void graph_refused(const char *text, struct graph_draw draw, const char *message) {
  struct graph_case c;
  struct gpu_array out[GRAPH_VALUES];
  struct assay_error err = {0};
  graph_begin(&c, text, &draw);
  if (graph_try(&c, arith_exact(), out, &err) != ASSAY_ERR_INVALID || !strstr(err.message, message))
    fail_msg("%s: \"%s\", not \"%s\"", text, err.message, message);
  graph_end(&c);
}

#define SIGNED                                                                                                         \
  (struct graph_draw) {                                                                                                \
    .low = -1, .high = 1, .below = 2                                                                                   \
  }
#define POSITIVE                                                                                                       \
  (struct graph_draw) {                                                                                                \
    .low = 0.1, .high = 1, .below = 2                                                                                  \
  }
#define SPECIAL                                                                                                        \
  (struct graph_draw) {                                                                                                \
    .low = -3, .high = 3, .special = 29, .below = 2                                                                    \
  }

#endif
