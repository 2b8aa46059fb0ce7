// SPDX-License-Identifier: Apache-2.0
// Time and memory of the oracle on a device: bench_oracle_device [OPTIONS] [TASK...]
//
// For every task named (default kernelbench/1), inputs are drawn on the device and the answer is made, truth and error
// scale. One line each: what the task's own tensors take, the most device memory in use at once (inputs included, the
// candidate's outputs, which lie next to them when a kernel is judged, not), and seconds: for the inputs, for the truth
// alone, for the whole answer at first (memory is allocated) and again (memory is kept, as from the second check of a
// candidate on). Device code is compiled before, at the task's small workload.
//
//   --workload W   full where left out
//   --replicas N   contract passes, 8
//   --root DIR     of the suites, tasks
//   --cache DIR    for compiled device code; without one it is compiled again for every task
//   --host         the host backend, to try this program without a GPU
//   --json         one object a line
//   --check        holds a sample against the oracle on the CPU, on the same inputs: a slice along one of the task's
//                  symbols where outputs of a slice depend on inputs of that slice alone (found at the small workload,
//                  by trying), else everything where that is small enough ("all"), else all of the truth without its
//                  scale where that fits in memory ("truth"), else nothing ("none", and why). Printed are the symbol,
//                  how many elements, how many of them lie apart (integers that differ, numbers of another class, or
//                  by more than a thousandth of the error scale) and the first of these, the largest difference of the
//                  truths in units of the scale, and the RMS of the device's scale over that of the CPU's where both
//                  made one. Exit 1 where any lies apart or the scales are more than a factor of 2 apart
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "oracle/cuda/gpu.h"
#include "task/device_draw.h"
#include "task/task.h"

static const double APART = 1e-3; // of the error scale: what a truth in double precision never comes near to

struct options {
  const char *workload, *root, *cache;
  int replicas;
  bool host, json, check;
};

// One task's figures.
struct figures {
  double input_bytes, output_bytes, peak_bytes, draw_s, exact_s, first_s, again_s;
  bool checked, scaled;                 // scaled: the scales were compared too
  int64_t compared, apart, first_apart; // elements; the first in its output, row-major
  int first_output;                     // the output that it is in
  char sample[32];                      // the symbol along which the sample was cut, "all", "truth", "none"
  char why_none[160];                   // where there is no sample
  double worst, ratio;                  // of the truths in units of the scale; of the device's scale to the CPU's, RMS
};

struct trial {
  const struct options *o;
  const struct task *t;
  const struct workload *w;
  struct compute *compute;
  struct gpu_array *in;
  struct gpu_answer answer;
  struct figures f;
};

static double seconds_since(int64_t start) {
  return (double)(clock_monotonic_ns() - start) / 1e9;
}

static enum assay_status open_device(const struct options *o, struct compute **out, struct assay_error *err) {
  struct compute_options c = {.cache_folder = o->cache, .compiler = "cc"};
  return o->host ? compute_open_host(&c, out, err) : compute_open_cuda(&c, out, err);
}

// ---- on the device

static enum assay_status draw_inputs(struct trial *r, struct assay_error *err) {
  const struct task *t = r->t;
  struct array *shapes = base_calloc((size_t)t->n_inputs + 1, sizeof *shapes);
  device_ptr *at = base_calloc((size_t)t->n_inputs + 1, sizeof *at);
  r->in = base_calloc((size_t)t->n_inputs + 1, sizeof *r->in);
  enum assay_status status = shapes && at && r->in ? ASSAY_OK : error_nomem(err, "a task's inputs");
  if (!status)
    status = task_input_shapes(t, r->w, shapes, err);
  for (int i = 0; i < t->n_inputs && !status; i++) {
    struct gpu_array *a = &r->in[i];
    *a = (struct gpu_array){.dtype = shapes[i].dtype, .shape = shapes[i].shape, .owned = true};
    status = gpu_storage_of(a->dtype, &a->storage, err);
    if (!status)
      status = compute_alloc(r->compute, (size_t)shape_count(&a->shape) * dtype_bytes(a->dtype), &a->data, err);
    at[i] = a->data;
  }
  int64_t start = clock_monotonic_ns();
  if (!status)
    status = task_make_inputs_on_device(t, r->w, PROBE_DECLARED, 1, r->compute, at, err);
  if (!status)
    status = compute_sync(r->compute, err);
  r->f.draw_s = seconds_since(start);
  base_free(shapes);
  base_free(at);
  return status;
}

static enum assay_status run_exact(struct trial *r, struct assay_error *err) {
  const struct graph *g = &r->t->model.flat;
  struct gpu_array *out = base_calloc((size_t)g->n_outputs + 1, sizeof *out);
  struct gpu_request q = {.compute = r->compute, .graph = g, .inputs = r->in, .arith = arith_exact()};
  int64_t start = clock_monotonic_ns();
  enum assay_status status = out ? gpu_oracle_eval(&q, out, err) : error_nomem(err, "a task's outputs");
  if (!status)
    status = compute_sync(r->compute, err);
  r->f.exact_s = seconds_since(start);
  for (int i = 0; out && i < g->n_outputs; i++)
    gpu_array_release(r->compute, &out[i]);
  base_free(out);
  return status;
}

static enum assay_status run_answer(struct trial *r, double *seconds, struct assay_error *err) {
  struct arith contract = r->t->contract.arith;
  contract.key = 2;
  gpu_answer_release(r->compute, &r->answer);
  int64_t start = clock_monotonic_ns();
  enum assay_status status =
      gpu_answer_make(r->compute, &r->t->model.flat, r->in, &contract, r->o->replicas, &r->answer, err);
  if (!status)
    status = compute_sync(r->compute, err);
  *seconds = seconds_since(start);
  return status;
}

static void release_device(struct trial *r) {
  gpu_answer_release(r->compute, &r->answer);
  for (int i = 0; r->in && i < r->t->n_inputs; i++)
    gpu_array_release(r->compute, &r->in[i]);
  base_free(r->in);
  r->in = NULL;
}

// ---- on the CPU

// A part of a tensor: [start, start + length) of one dimension, all of the others. dim < 0: all of it.
struct slice {
  int dim;
  int64_t start, length;
};

// Which parts belong together: what is in the outputs' slices depends on nothing but the inputs'.
struct sample {
  const char *symbol; // whose dimensions are cut; "" when the whole is the sample
  struct slice *in, *out;
};

static struct shape sliced(const struct shape *s, const struct slice *c) {
  struct shape result = *s;
  if (c->dim >= 0)
    result.dims[c->dim] = c->length;
  return result;
}

static int64_t span(const struct shape *s, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++)
    n *= s->dims[i];
  return n;
}

// The slice's elements, one after the other.
static enum assay_status download(struct trial *r, device_ptr p, size_t element, const struct shape *s,
                                  const struct slice *c, void **out, struct assay_error *err) {
  struct shape part = sliced(s, c);
  size_t bytes = (size_t)shape_count(&part) * element, done = 0;
  unsigned char *host = base_alloc(bytes + 1);
  enum assay_status status = host ? ASSAY_OK : error_nomem(err, "a tensor");
  int64_t runs = c->dim < 0 ? 1 : span(s, 0, c->dim);
  int64_t inner = c->dim < 0 ? shape_count(s) : span(s, c->dim + 1, s->rank);
  size_t run_bytes = (size_t)(c->dim < 0 ? inner : c->length * inner) * element;
  for (int64_t i = 0; i < runs && !status && run_bytes > 0; i++, done += run_bytes) {
    int64_t first = c->dim < 0 ? 0 : (i * s->dims[c->dim] + c->start) * inner;
    status = compute_download(r->compute, host + done, p + (uint64_t)first * element, run_bytes, err);
  }
  if (status)
    base_free(host);
  else
    *out = host;
  return status;
}

static enum assay_status host_inputs(struct trial *r, const struct sample *m, struct array *in,
                                     struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < r->t->n_inputs && !status; i++) {
    const struct gpu_array *a = &r->in[i];
    void *raw = NULL;
    status = download(r, a->data, dtype_bytes(a->dtype), &a->shape, &m->in[i], &raw, err);
    struct tensor view = {.type = {a->dtype, sliced(&a->shape, &m->in[i])}, .data = raw};
    if (!status)
      status = array_from_tensor(&view, &in[i], err);
    base_free(raw);
  }
  return status;
}

// Where in the whole tensor the slice's element i lies.
static int64_t element_at(const struct shape *s, const struct slice *c, int64_t i) {
  if (c->dim < 0)
    return i;
  int64_t inner = span(s, c->dim + 1, s->rank), run = c->length * inner;
  return (i / run * s->dims[c->dim] + c->start) * inner + i % run;
}

// off: the difference in units of the scale; not a number is worst of all.
static void note_element(struct figures *f, int output, int64_t at, double off) {
  f->worst = off <= f->worst ? f->worst : off;
  if (off <= APART)
    return;
  if (f->apart++ == 0) {
    f->first_output = output;
    f->first_apart = at;
  }
}

// scale: NULL where the CPU made the truth alone; the device's own is the unit then.
static enum assay_status compare_output(struct trial *r, const struct sample *m, int o, const struct array *want,
                                        const float *scale, struct assay_error *err) {
  const struct gpu_array *got = &r->answer.y[o];
  int64_t n = shape_count(&want->shape);
  double device = 0, host = 0;
  void *y = NULL, *sigma = NULL;
  enum assay_status status = download(r, got->data, 8, &got->shape, &m->out[o], &y, err);
  if (!status && r->answer.sigma[o])
    status = download(r, r->answer.sigma[o], 4, &got->shape, &m->out[o], &sigma, err);
  for (int64_t i = 0; i < n && !status; i++) {
    double off = 0;
    if (!sigma) {
      off = ((int64_t *)y)[i] == want->i64[i] ? 0 : HUGE_VAL;
    } else {
      double truth = want->f64[i], other = ((double *)y)[i], own = (double)((float *)sigma)[i];
      double s = scale ? (double)scale[i] : own;
      if (scale && isfinite(truth) && isfinite(s)) {
        device += own * own;
        host += s * s;
      }
      bool same = other == truth || (isnan(other) && isnan(truth));
      off = same ? 0 : s > 0 ? fabs(other - truth) / s : HUGE_VAL;
    }
    note_element(&r->f, o, element_at(&got->shape, &m->out[o], i), off);
  }
  if (!status && sigma && scale) {
    double ratio = device == host ? 1 : sqrt(device / host);
    // Of several outputs the one whose scales differ most.
    r->f.ratio = r->f.scaled && fabs(log(r->f.ratio)) > fabs(log(ratio)) ? r->f.ratio : ratio;
    r->f.scaled = true;
  }
  r->f.compared += n;
  base_free(y);
  base_free(sigma);
  return status;
}

// ---- which sample

enum { MOST_RUNS = 4096, REPLICAS_HERE = 16 };
// A slice is made as long as all its tensors together have SAMPLE_ELEMENTS, which the CPU answers in a second or two.
// One of length 1 may have more, and take a few seconds.
static const double SAMPLE_ELEMENTS = 1 << 22, MOST_ELEMENTS = 1 << 29, MOST_FLOPS = 3e11;
static const double WHOLE_ELEMENTS = 1 << 27;
static const double TRUTH_BYTES = 64e9; // of the CPU's memory, and never more than half of what is free

// The one dimension that a symbol's value cuts: where the shapes under `value` and under `other` differ. false: none or
// several, or one that is not the symbol alone.
static bool find_dim(const struct shape *a, const struct shape *b, int64_t value, int64_t other, int *dim) {
  *dim = -1;
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] == b->dims[i])
      continue;
    if (*dim >= 0 || a->dims[i] != value || b->dims[i] != other)
      return false;
    *dim = i;
  }
  return true;
}

static struct workload with_value(const struct workload *w, int symbol, int64_t value, struct binding *room) {
  memcpy(room, w->bindings, (size_t)w->n * sizeof *room);
  room[symbol].value = value;
  return (struct workload){.name = w->name, .n = w->n, .bindings = room};
}

// The slices that a symbol cuts out of inputs and outputs under a workload. *found: there are such.
static enum assay_status find_slices(const struct task *t, const struct workload *w, int symbol, struct sample *m,
                                     bool *found, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  int64_t value = w->bindings[symbol].value, other = value - 1;
  struct arena arena = {0};
  struct array *in[2] = {base_calloc((size_t)t->n_inputs + 1, sizeof **in),
                         base_calloc((size_t)t->n_inputs + 1, sizeof **in)};
  struct binding *room = base_calloc((size_t)w->n + 1, sizeof *room);
  struct graph_shapes shapes[2];
  enum assay_status status = in[0] && in[1] && room ? ASSAY_OK : error_nomem(err, "a task's shapes");
  *found = value > 1;
  for (int k = 0; k < 2 && !status && *found; k++) {
    struct workload bound = with_value(w, symbol, k ? other : value, room);
    status = task_input_shapes(t, &bound, in[k], err);
    // A value that the graph does not allow cuts nothing.
    if (!status && oracle_infer(g, in[k], &arena, &shapes[k], err) != ASSAY_OK)
      *found = false;
  }
  bool any = false;
  for (int i = 0; i < t->n_inputs && !status && *found; i++) {
    *found = find_dim(&in[0][i].shape, &in[1][i].shape, value, other, &m->in[i].dim);
    any = any || m->in[i].dim >= 0;
  }
  for (int o = 0; o < g->n_outputs && !status && *found; o++)
    *found = find_dim(&shapes[0].values[g->outputs[o]].shape, &shapes[1].values[g->outputs[o]].shape, value, other,
                      &m->out[o].dim) &&
             m->out[o].dim >= 0;
  *found = *found && any;
  arena_release(&arena);
  base_free(in[0]);
  base_free(in[1]);
  base_free(room);
  return status;
}

static void set_range(const struct task *t, struct sample *m, int64_t start, int64_t length) {
  for (int i = 0; i < t->n_inputs; i++)
    m->in[i].start = start, m->in[i].length = length;
  for (int o = 0; o < t->model.flat.n_outputs; o++)
    m->out[o].start = start, m->out[o].length = length;
}

// Whether the outputs of the cut inputs are the cut outputs, on the device at hand.
static enum assay_status holds(struct trial *r, const struct sample *m, bool *yes, struct assay_error *err) {
  const struct graph *g = &r->t->model.flat;
  struct array *in = base_calloc((size_t)r->t->n_inputs + 1, sizeof *in);
  struct array *out = base_calloc((size_t)g->n_outputs + 1, sizeof *out);
  enum assay_status status = in && out ? host_inputs(r, m, in, err) : error_nomem(err, "a check");
  struct oracle_request q = {.graph = g, .inputs = in, .arith = arith_exact(), .threads = parallel_cpus()};
  if (!status)
    status = oracle_eval(&q, out, err);
  for (int o = 0; o < g->n_outputs && !status && *yes; o++) {
    void *y = NULL;
    status = download(r, r->answer.y[o].data, 8, &r->answer.y[o].shape, &m->out[o], &y, err);
    for (int64_t i = 0, n = shape_count(&out[o].shape); i < n && !status && *yes; i++)
      *yes = dtype_is_float(out[o].dtype)
                 ? fabs(((double *)y)[i] - out[o].f64[i]) <= 1e-9 * (fabs(out[o].f64[i]) + 1e-30)
                 : ((int64_t *)y)[i] == out[o].i64[i];
    base_free(y);
  }
  for (int i = 0; in && i < r->t->n_inputs; i++)
    array_release(&in[i]);
  for (int o = 0; out && o < g->n_outputs; o++)
    array_release(&out[o]);
  base_free(in);
  base_free(out);
  return status;
}

// Tries a symbol at the task's small workload, whose answer lies in `small`: at two places.
static enum assay_status try_symbol(struct trial *small, int symbol, struct sample *m, bool *good,
                                    struct assay_error *err) {
  enum assay_status status = find_slices(small->t, small->w, symbol, m, good, err);
  int64_t value = small->w->bindings[symbol].value;
  for (int k = 0; k < 2 && !status && *good; k++) {
    set_range(small->t, m, k ? value / 2 : 0, 1);
    status = holds(small, m, good, err);
  }
  return status;
}

// How long a slice of the full tensors may be, 0: not even one, and whether it is to be had in few pieces.
static int64_t affordable(const struct trial *r, const struct sample *m, int64_t value, double flops) {
  double fixed = 0, each = 0;
  int64_t runs = 1;
  for (int k = 0; k < r->t->n_inputs + r->t->model.flat.n_outputs; k++) {
    bool input = k < r->t->n_inputs;
    const struct gpu_array *a = input ? &r->in[k] : &r->answer.y[k - r->t->n_inputs];
    const struct slice *c = input ? &m->in[k] : &m->out[k - r->t->n_inputs];
    double n = (double)shape_count(&a->shape);
    if (c->dim < 0) {
      fixed += n;
      continue;
    }
    each += n / (double)value;
    int64_t here = span(&a->shape, 0, c->dim);
    runs = here > runs ? here : runs;
  }
  double length = (SAMPLE_ELEMENTS - fixed) / each;
  length = length < 1 ? 1 : length > (double)value ? (double)value : floor(length);
  if (runs > MOST_RUNS || fixed + length * each > MOST_ELEMENTS || flops * length / (double)value > MOST_FLOPS)
    return 0;
  return (int64_t)length;
}

// The most bytes that the truth takes on the CPU, 8 an element: inputs, and what is alive at the same time; then the
// device's answer, downloaded.
static enum assay_status truth_bytes(const struct trial *r, double *bytes, struct assay_error *err) {
  const struct graph *g = &r->t->model.flat;
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct array *in = arena_calloc(&arena, (size_t)r->t->n_inputs + 1, sizeof *in);
  int *last_use = arena_calloc(&arena, (size_t)g->n_values + 1, sizeof *last_use);
  enum assay_status status = in && last_use ? task_input_shapes(r->t, r->w, in, err) : error_nomem(err, "a sample");
  if (!status)
    status = oracle_infer(g, in, &arena, &shapes, err);
  double live = 0, most = 0;
  for (int i = 0; i < g->n_nodes && !status; i++)
    for (int k = 0; k < g->nodes[i].n_inputs; k++)
      if (g->nodes[i].inputs[k] >= 0)
        last_use[g->nodes[i].inputs[k]] = i;
  for (int i = 0; i < g->n_outputs && !status; i++)
    last_use[g->outputs[i]] = g->n_nodes;
  for (int i = 0; i < r->t->n_inputs && !status; i++)
    live += 8 * (double)shape_count(&in[i].shape);
  for (int i = 0; i < g->n_nodes && !status; i++) {
    const struct node *n = &g->nodes[i];
    for (int k = 0; k < n->n_outputs; k++)
      live += n->outputs[k] >= 0 ? 8 * (double)shape_count(&shapes.values[n->outputs[k]].shape) : 0;
    most = live > most ? live : most;
    for (int v = 0; v < g->n_values; v++)
      if (g->values[v].producer >= 0 && g->values[v].producer <= i && last_use[v] == i)
        live -= 8 * (double)shape_count(&shapes.values[v].shape);
  }
  for (int o = 0; o < g->n_outputs && !status; o++)
    most += 12 * (double)shape_count(&shapes.values[g->outputs[o]].shape);
  *bytes = most;
  arena_release(&arena);
  return status;
}

// ---- the check

// The truth and its scale, or the truth alone: *out.sigma has NULLs then.
static enum assay_status host_answer(const struct trial *r, const struct array *in, bool scaled,
                                     struct oracle_answer *out, struct assay_error *err) {
  const struct graph *g = &r->t->model.flat;
  struct arith contract = r->t->contract.arith;
  contract.key = 3;
  if (scaled)
    return oracle_answer_make(g, in, &contract, REPLICAS_HERE, parallel_cpus(), out, err);
  struct oracle_answer a = {.n_outputs = g->n_outputs,
                            .y = base_calloc((size_t)g->n_outputs + 1, sizeof *a.y),
                            .sigma = base_calloc((size_t)g->n_outputs + 1, sizeof *a.sigma)};
  struct oracle_request q = {.graph = g, .inputs = in, .arith = arith_exact(), .threads = parallel_cpus()};
  enum assay_status status = a.y && a.sigma ? oracle_eval(&q, a.y, err) : error_nomem(err, "a check");
  if (status)
    oracle_answer_release(&a);
  else
    *out = a;
  return status;
}

static enum assay_status check_sample(struct trial *r, const struct sample *m, bool scaled, struct assay_error *err) {
  struct oracle_answer answer = {0};
  struct array *in = base_calloc((size_t)r->t->n_inputs + 1, sizeof *in);
  enum assay_status status = in ? host_inputs(r, m, in, err) : error_nomem(err, "a check");
  if (!status)
    status = host_answer(r, in, scaled, &answer, err);
  for (int i = 0; in && i < r->t->n_inputs; i++)
    array_release(&in[i]);
  base_free(in);
  for (int o = 0; o < r->t->model.flat.n_outputs && !status; o++)
    status = compare_output(r, m, o, &answer.y[o], answer.sigma[o], err);
  r->f.checked = !status;
  oracle_answer_release(&answer);
  return status;
}

// The first symbol that cuts the task at small, and affordably at full. *good: there is one.
static enum assay_status find_cut(struct trial *r, struct trial *small, double flops, struct sample *m, bool *good,
                                  struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  bool cuts = false;
  *good = false;
  for (int k = 0; small->w && k < small->w->n && !status && !*good; k++) {
    status = try_symbol(small, k, m, good, err);
    cuts = cuts || *good;
    int64_t value = 0;
    for (int i = 0; i < r->w->n; i++)
      if (strcmp(r->w->bindings[i].symbol, small->w->bindings[k].symbol) == 0)
        value = r->w->bindings[i].value;
    int64_t length = *good && value > 0 ? affordable(r, m, value, flops) : 0;
    *good = length > 0;
    if (*good) {
      set_range(r->t, m, (value - length) * 2 / 3, length);
      m->symbol = small->w->bindings[k].symbol;
    }
  }
  snprintf(r->f.why_none, sizeof r->f.why_none, "%s",
           cuts ? "every slice that stands alone is too large" : "no slice stands alone");
  return status;
}

static void take_all(const struct trial *r, struct sample *m, const char *symbol) {
  m->symbol = symbol;
  for (int i = 0; i < r->t->n_inputs; i++)
    m->in[i].dim = -1;
  for (int o = 0; o < r->t->model.flat.n_outputs; o++)
    m->out[o].dim = -1;
}

static double free_bytes(void) {
  return (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

// A slice, else the whole, else the truth of the whole.
static enum assay_status check(struct trial *r, struct trial *small, struct assay_error *err) {
  const struct task *t = r->t;
  struct task_cost cost;
  struct sample m = {.symbol = "none",
                     .in = base_calloc((size_t)t->n_inputs + 1, sizeof *m.in),
                     .out = base_calloc((size_t)t->model.flat.n_outputs + 1, sizeof *m.out)};
  bool good = false, scaled = true;
  double flops = 0, bytes = 0;
  enum assay_status status = m.in && m.out ? task_cost(t, r->w, &cost, err) : error_nomem(err, "a sample");
  if (!status) {
    flops = cost.flops + cost.contraction_flops;
    status = find_cut(r, small, flops, &m, &good, err);
  }
  if (!status && !good && flops <= MOST_FLOPS) {
    good = (cost.input_bytes + cost.output_bytes) / 4 <= WHOLE_ELEMENTS;
    if (good)
      take_all(r, &m, "all");
    else
      status = truth_bytes(r, &bytes, err);
    if (!status && !good && bytes <= TRUTH_BYTES && bytes <= free_bytes() / 2) {
      good = true;
      scaled = false;
      take_all(r, &m, "truth");
    }
  }
  size_t said = strlen(r->f.why_none);
  snprintf(r->f.why_none + said, sizeof r->f.why_none - said,
           bytes > 0 ? ", and the truth of the whole takes %.3g GB here" : ", and the whole takes %.3g operations",
           bytes > 0 ? bytes / 1e9 : flops);
  snprintf(r->f.sample, sizeof r->f.sample, "%s", m.symbol);
  if (!status && good)
    status = check_sample(r, &m, scaled, err);
  base_free(m.in);
  base_free(m.out);
  return status;
}

// ---- one task

static enum assay_status warm_up(struct trial *r, struct assay_error *err) {
  struct trial small = *r;
  double ignored;
  if (!(small.w = task_workload(r->t, "small")))
    return ASSAY_OK;
  enum assay_status status = draw_inputs(&small, err);
  if (!status)
    status = run_exact(&small, err);
  if (!status)
    status = run_answer(&small, &ignored, err);
  release_device(&small);
  compute_trim(r->compute);
  return status;
}

// The small workload, but extents of 1, which cannot be cut, are 2 where the graph allows that. Bindings in the arena.
static enum assay_status wider_small(const struct task *t, struct arena *arena, struct workload *out,
                                     struct assay_error *err) {
  const struct workload *small = task_workload(t, "small");
  struct graph_shapes shapes;
  struct assay_error ignored;
  *out = *small;
  struct workload wide = {
      .name = small->name, .n = small->n, .bindings = arena_calloc(arena, (size_t)small->n + 1, sizeof *wide.bindings)};
  struct array *in = arena_calloc(arena, (size_t)t->n_inputs + 1, sizeof *in);
  if (!wide.bindings || !in)
    return error_nomem(err, "a workload");
  for (int i = 0; i < small->n; i++) {
    wide.bindings[i] = small->bindings[i];
    if (wide.bindings[i].value == 1)
      wide.bindings[i].value = 2;
  }
  if (task_input_shapes(t, &wide, in, &ignored) == ASSAY_OK &&
      oracle_infer(&t->model.flat, in, arena, &shapes, &ignored) == ASSAY_OK)
    *out = wide;
  return ASSAY_OK;
}

// The check wants the answer at small too, of which it learns what depends on what.
static enum assay_status check_with_small(struct trial *r, struct assay_error *err) {
  struct trial small = *r;
  struct workload w;
  struct arena arena = {0};
  double ignored;
  small.in = NULL;
  small.answer = (struct gpu_answer){0};
  small.w = task_workload(r->t, "small") ? &w : NULL;
  enum assay_status status = small.w ? wider_small(r->t, &arena, &w, err) : ASSAY_OK;
  if (!status && small.w)
    status = draw_inputs(&small, err);
  if (!status && small.w)
    status = run_answer(&small, &ignored, err);
  if (!status)
    status = check(r, &small, err);
  release_device(&small);
  arena_release(&arena);
  return status;
}

static enum assay_status measure(struct trial *r, struct assay_error *err) {
  struct task_cost cost;
  struct compute_memory memory = {0};
  enum assay_status status = task_cost(r->t, r->w, &cost, err);
  if (!status)
    status = warm_up(r, err);
  if (status)
    return status;
  r->f.input_bytes = cost.input_bytes;
  r->f.output_bytes = cost.output_bytes;
  status = draw_inputs(r, err);
  if (!status)
    status = run_exact(r, err);
  if (!status)
    status = run_answer(r, &r->f.first_s, err);
  if (!status)
    status = run_answer(r, &r->f.again_s, err);
  compute_memory(r->compute, &memory);
  r->f.peak_bytes = (double)memory.peak;
  if (!status && r->o->check)
    status = check_with_small(r, err);
  release_device(r);
  return status;
}

static bool is_apart(const struct figures *f) {
  return f->checked && (f->apart > 0 || (f->scaled && !(f->ratio > 0.5 && f->ratio < 2)));
}

static void print_check(const struct figures *f, bool json) {
  if (!f->checked) {
    printf(json ? ", \"sample\": \"none\", \"why\": \"%s\"" : "  no sample: %s", f->why_none);
    return;
  }
  // JSON has no infinity.
  printf(json ? ", \"sample\": \"%s\", \"compared\": %lld, \"apart\": %lld, \"worst_over_scale\": %.3g"
              : "  along %s: %lld elements, apart %lld, worst %.2g",
         f->sample, (long long)f->compared, (long long)f->apart, fmin(f->worst, 1e300));
  if (f->apart)
    printf(json ? ", \"first_output\": %d, \"first_apart\": %lld" : " first in output %d at %lld", f->first_output,
           (long long)f->first_apart);
  if (f->scaled)
    printf(json ? ", \"scale_over_cpus\": %.3g" : " ratio %.3f", fmin(f->ratio, 1e300));
}

static void print(const struct trial *r) {
  const struct figures *f = &r->f;
  const char *line = r->o->json ? "{\"task\": \"%s\", \"workload\": \"%s\", \"input_bytes\": %.0f, \"output_bytes\": "
                                  "%.0f, \"peak_bytes\": %.0f, \"draw_s\": %.4f, \"exact_s\": %.4f, \"first_s\": "
                                  "%.4f, \"again_s\": %.4f"
                                : "%-24s %-8s in %12.0f out %12.0f peak %12.0f  draw %7.4f exact %7.4f first %7.4f "
                                  "again %7.4f";
  printf(line, r->t->name, r->w->name, f->input_bytes, f->output_bytes, f->peak_bytes, f->draw_s, f->exact_s,
         f->first_s, f->again_s);
  if (r->o->check)
    print_check(f, r->o->json);
  printf(r->o->json ? "}\n" : "\n");
  fflush(stdout);
}

// A device of its own for each task, so that its peak is the task's. *apart: the check found a difference.
static enum assay_status run_task(const struct options *o, const char *path, bool *apart, struct assay_error *err) {
  struct task t;
  struct workload w;
  struct arena arena = {0};
  enum assay_status status = task_read(path, false, &t, err);
  if (status)
    return status;
  struct trial r = {.o = o, .t = &t, .w = &w};
  status = task_parse_workload(&t, o->workload, &arena, &w, err);
  if (!status)
    status = open_device(o, &r.compute, err);
  if (!status)
    status = measure(&r, err);
  *apart = is_apart(&r.f);
  if (!status)
    print(&r);
  else
    status = error_prefix(err, status, "%s: ", t.name);
  compute_close(r.compute);
  arena_release(&arena);
  task_release(&t);
  return status;
}

static int run_pattern(const struct options *o, const char *pattern) {
  struct assay_error err = {0};
  char **paths;
  int count, failures = 0;
  if (task_list(o->root, pattern, &paths, &count, &err)) {
    fprintf(stderr, "bench_oracle_device: %s\n", err.message);
    return 1;
  }
  for (int i = 0; i < count; i++) {
    bool apart = false;
    enum assay_status status = run_task(o, paths[i], &apart, &err);
    if (status)
      fprintf(stderr, "bench_oracle_device: %s\n", err.message);
    failures += status || apart;
  }
  task_list_release(paths, count);
  return failures;
}

static bool take_option(struct options *o, char **argv, int *i) {
  const struct {
    const char *name;
    const char **text;
    bool *flag;
  } table[] = {{"--workload", &o->workload, NULL}, {"--root", &o->root, NULL}, {"--cache", &o->cache, NULL},
               {"--host", NULL, &o->host},         {"--json", NULL, &o->json}, {"--check", NULL, &o->check}};
  for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    if (strcmp(argv[*i], table[k].name) == 0) {
      if (table[k].flag)
        *table[k].flag = true;
      else if (argv[*i + 1])
        *table[k].text = argv[++*i];
      return true;
    }
  if (strcmp(argv[*i], "--replicas") == 0 && argv[*i + 1]) {
    o->replicas = atoi(argv[++*i]);
    return true;
  }
  return false;
}

int main(int argc, char **argv) {
  struct options o = {.workload = "full", .root = "tasks", .replicas = 8};
  int failures = 0, named = 0;
  for (int i = 1; i < argc; i++) {
    if (take_option(&o, argv, &i))
      continue;
    if (argv[i][0] == '-') {
      fprintf(stderr, "usage: bench_oracle_device [--workload W] [--replicas N] [--root DIR] [--cache DIR] [--host] "
                      "[--json] [--check] [TASK...]\n");
      return 2;
    }
    named++;
  }
  for (int i = 1; i < argc; i++) {
    struct options ignored;
    if (!take_option(&ignored, argv, &i))
      failures += run_pattern(&o, argv[i]);
  }
  if (!named)
    failures = run_pattern(&o, "kernelbench/1");
  return failures ? 1 : 0;
}
