// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose on the device. What attributes and shapes mean is ops/conv.c's, the geometry ops/window.h's.
#include "ops/conv_core.h"

#include <string.h>

#include "oracle/cuda/conv.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/rows.h"

#include "oracle/cuda/conv_args.h"

enum {
  DIRECT_THREADS = 1 << 17, // enough for the device; fewer are split along the channels
  CONV_DEPTH = 32,          // as in the kernels
  CONV_ROWS = 8,
  MEMORY_MOST = 8, // of one set
};

_Static_assert((int)CONV_DIMS >= (int)WINDOW_MAX_DIMS, "all spatial dimensions fit");

extern const char code_conv_args[], code_conv[];
static const struct device_code conv_code = {
    "conv", (const char *const[]){GPU_COMMON_TEXTS, code_conv_args, code_conv, NULL}, false};

// One set of outputs under way. Memory is freed at its end: all work is in one stream.
struct work {
  struct gpu_eval *c;
  const struct conv *conv;
  const struct product_budget *budget;
  struct arena arena;
  struct taps t[WINDOW_MAX_DIMS];
  struct conv_set set;
  int64_t k;   // terms of a sum
  bool direct; // few channels
  struct product_panels panels;
  device_ptr weights, norms; // norms: 0 where conv_allows_tiles says no
  device_ptr memory[MEMORY_MOST];
  int n_memory;
};

static int64_t min_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

static enum assay_status work_alloc(struct work *w, int64_t elements, device_ptr *out, struct assay_error *err) {
  enum assay_status status = compute_alloc(w->c->compute, (size_t)(elements > 0 ? elements : 1) * 8, out, err);
  if (!status)
    w->memory[w->n_memory++] = *out;
  return status;
}

// ---- a set's geometry

// How many sets a dimension has: one, or one for each residue modulo the stride that any output has.
static int64_t residues(const struct conv *c, int i) {
  const struct window_dim *d = &c->window.d[i];
  return !c->transposed ? 1 : d->stride < d->out ? d->stride : d->out;
}

static enum assay_status read_dims(struct work *w, int64_t index, struct assay_error *err) {
  struct conv_set *s = &w->set;
  const struct conv *c = w->conv;
  *s = (struct conv_set){.positions = 1,
                         .taps = 1,
                         .in_size = 1,
                         .out_size = 1,
                         .channels = c->c,
                         .all_channels = c->c * c->groups,
                         .n = c->window.n};
  for (int d = 0; d < CONV_DIMS; d++)
    s->count[d] = s->in[d] = s->out[d] = 1;
  for (int i = c->window.n - 1; i >= 0; i--) {
    const struct window_dim *dim = &c->window.d[i];
    int64_t residue = index % residues(c, i);
    index /= residues(c, i);
    struct taps *t = &w->t[i];
    if (!(c->transposed ? taps_transposed(dim, residue, &w->arena, t) : taps_forward(dim, &w->arena, t)))
      return error_nomem(err, "a convolution's taps");
    int d = CONV_DIMS - c->window.n + i;
    s->count[d] = t->count;
    s->start[d] = t->start;
    s->step[d] = t->step;
    s->in_step[d] = t->in_step;
    s->in[d] = t->in;
    s->out[d] = dim->out;
    for (int64_t k = 0; k < t->n; k++) {
      s->low[d] = k == 0 || t->offset[k] < s->low[d] ? t->offset[k] : s->low[d];
      s->high[d] = k == 0 || t->offset[k] > s->high[d] ? t->offset[k] : s->high[d];
    }
    s->positions *= t->count;
    s->taps *= t->n;
    s->in_size *= dim->in;
    s->out_size *= dim->out;
  }
  s->columns = c->batch * s->positions;
  w->k = c->c * s->taps;
  return ASSAY_OK;
}

// Tables for the kernels: [taps][CONV_DIMS] offsets, [taps] flat offsets, [k] offsets of weights, and for each
// dimension [count] how many taps read inside; in one piece of memory.
struct tables {
  int64_t *offsets, *flat, *weights, *inside, n;
};

static void fill_taps(const struct work *w, const struct tables *t) {
  const struct conv *c = w->conv;
  int n = c->window.n;
  int64_t kernel_size = 1;
  for (int i = 0; i < n; i++)
    kernel_size *= c->window.d[i].kernel;
  for (int64_t tap = 0; tap < w->set.taps; tap++) {
    int64_t rest = tap, kernel = 0, kernel_step = 1, step = 1;
    for (int i = n - 1; i >= 0; i--) {
      const struct taps *dim = &w->t[i];
      int64_t k = rest % dim->n;
      rest /= dim->n;
      t->offsets[tap * CONV_DIMS + CONV_DIMS - n + i] = dim->offset[k];
      t->flat[tap] += dim->offset[k] * step;
      step *= dim->in;
      kernel += dim->kernel[k] * kernel_step;
      kernel_step *= c->window.d[i].kernel;
    }
    for (int64_t channel = 0; channel < c->c; channel++)
      t->weights[channel * w->set.taps + tap] = channel * (c->transposed ? c->m : 1) * kernel_size + kernel;
  }
}

static enum assay_status make_tables(struct work *w, device_ptr *weights, struct assay_error *err) {
  struct conv_set *s = &w->set;
  int64_t counts = 0;
  for (int d = 0; d < CONV_DIMS; d++)
    counts += s->count[d];
  struct tables t = {.n = s->taps * (CONV_DIMS + 1) + w->k + counts};
  t.offsets = arena_calloc(&w->arena, (size_t)t.n + 1, sizeof *t.offsets);
  if (!t.offsets)
    return error_nomem(err, "a convolution's tables");
  t.flat = t.offsets + s->taps * CONV_DIMS;
  t.weights = t.flat + s->taps;
  t.inside = t.weights + w->k;
  fill_taps(w, &t);
  device_ptr at;
  enum assay_status status = work_alloc(w, t.n, &at, err);
  s->offsets = at;
  s->flat = at + (uint64_t)(s->taps * CONV_DIMS) * 8;
  *weights = s->flat + (uint64_t)s->taps * 8;
  uint64_t inside = *weights + (uint64_t)w->k * 8;
  int64_t *to = t.inside;
  for (int d = 0; d < CONV_DIMS; d++) {
    int i = d - (CONV_DIMS - s->n);
    s->inside[d] = inside + (uint64_t)(to - t.inside) * 8;
    for (int64_t q = 0; q < s->count[d]; q++)
      *to++ = i < 0 ? 1 : taps_inside(&w->t[i], q);
  }
  return status ? status : compute_upload(w->c->compute, at, t.offsets, (size_t)t.n * 8, err);
}

// Weights as panels, those of all groups.
static enum assay_status pack_weights(struct work *w, device_ptr table, struct assay_error *err) {
  const struct conv *c = w->conv;
  int64_t kernel_size = 1;
  int width = w->direct ? CONV_FEW : w->panels.a;
  for (int i = 0; i < c->window.n; i++)
    kernel_size *= c->window.d[i].kernel;
  struct product_source s = {.from = gpu_ref_of(w->c->in[1]),
                             .batch = {.stride = c->m * c->c * kernel_size},
                             .line = {.stride = (c->transposed ? 1 : c->c) * kernel_size},
                             .depth = {.table = table}};
  enum assay_status status = work_alloc(w, c->groups * ceil_div(c->m, width) * width * w->k, &w->weights, err);
  struct product_piece all = {.batches = c->groups, .lines = c->m, .k = w->k};
  return status ? status : product_pack(w->c->compute, &s, &all, width, w->weights, err);
}

static enum assay_status make_norms(struct work *w, struct assay_error *err) {
  const struct conv *c = w->conv;
  struct conv_norms_args a = {.w = gpu_ref_of(w->c->in[1]),
                              .groups = c->groups,
                              .m = c->m,
                              .channels = c->c,
                              .kernel = 1,
                              .transposed = c->transposed};
  for (int i = 0; i < c->window.n; i++)
    a.kernel *= c->window.d[i].kernel;
  const int64_t n = c->groups * c->m * c->c;
  enum assay_status status = work_alloc(w, n, &w->norms, err);
  a.to = w->norms;
  return status || n == 0 ? status : compute_launch(w->c->compute, &conv_code, "conv_norms", n, &a, sizeof a, err);
}

// ---- a set's work, in pieces

struct piece {
  int64_t first_group, groups, first_column, columns, splits, depth;
  device_ptr windows, y, t2;
};

static enum assay_status finish(const struct work *w, const struct piece *p, struct assay_error *err) {
  struct gpu_eval *c = w->c;
  struct conv_finish_args a = {.set = w->set,
                               .arith = gpu_arith_of(&c->arith),
                               .y = p->y,
                               .t2 = p->t2,
                               .out = c->out[0].data,
                               .sigma = c->sigma,
                               .splits = p->splits,
                               .m = w->conv->m,
                               .all_m = w->conv->m * w->conv->groups,
                               .first_group = p->first_group,
                               .groups = p->groups,
                               .first_column = p->first_column,
                               .columns = p->columns,
                               .x = gpu_ref_of(c->in[0]),
                               .norms = w->norms};
  if (w->norms)
    a.tile_scale = arith_tile_variance(c->arith.bits, 1, (double)w->conv->c, w->conv->window.n);
  gpu_start_init(&a.start, c, 1);
  if (c->n_in > 2 && c->in[2]) {
    struct shape channels = start_channels(a.all_m, c->out[0].shape.rank);
    a.bias = gpu_ref_of(c->in[2]);
    gpu_start_add(&a.start, c->in[2], &channels, 1);
  }
  return compute_launch(c->compute, &conv_code, "conv_finish", p->groups * ceil_div(a.m, CONV_ROWS) * p->columns, &a,
                        sizeof a, err);
}

static enum assay_status run_direct(const struct work *w, const struct piece *p, struct assay_error *err) {
  struct conv_direct_args a = {.set = w->set,
                               .x = gpu_ref_of(w->c->in[0]),
                               .w = w->weights,
                               .y = p->y,
                               .t2 = p->t2,
                               .first_group = p->first_group,
                               .groups = p->groups,
                               .first_column = p->first_column,
                               .columns = p->columns,
                               .m = w->conv->m,
                               .splits = p->splits,
                               .depth = p->depth};
  return compute_launch(w->c->compute, &conv_code, "conv_direct", p->splits * p->groups * p->columns, &a, sizeof a,
                        err);
}

static enum assay_status run_product(const struct work *w, const struct piece *p, struct assay_error *err) {
  int width = w->panels.b;
  struct conv_pack_args a = {.set = w->set,
                             .x = gpu_ref_of(w->c->in[0]),
                             .to = p->windows,
                             .first_group = p->first_group,
                             .groups = p->groups,
                             .first_column = p->first_column,
                             .columns = p->columns,
                             .panels = ceil_div(p->columns, width),
                             .width = width};
  struct product_tile_args t = {.b = p->windows,
                                .y = p->y,
                                .t2 = p->t2,
                                .m = w->conv->m,
                                .n = p->columns,
                                .k = w->k,
                                .a_panels = ceil_div(w->conv->m, w->panels.a),
                                .b_panels = a.panels,
                                .b_step = a.panels,
                                .batches = p->groups,
                                .splits = p->splits,
                                .depth = p->depth};
  t.a_step = t.a_panels;
  t.a = w->weights + (uint64_t)(p->first_group * t.a_panels * w->panels.a * w->k) * 8;
  enum assay_status status =
      compute_launch(w->c->compute, &conv_code, "conv_pack", p->groups * a.panels * ceil_div(w->k, CONV_DEPTH) * width,
                     &a, sizeof a, err);
  return status ? status : product_tiles(w->c->compute, &w->panels, &t, err);
}

// The extents of a piece: whole groups where they fit, else columns of one.
static void piece_make(const struct work *w, struct piece *p) {
  const struct conv *c = w->conv;
  int64_t columns = w->set.columns, k = w->k > 0 ? w->k : 1, fit = w->budget->part_elements / c->m;
  int width = w->panels.b;
  if (!w->direct)
    fit = min_of(fit, w->budget->pack_elements / k);
  fit = fit / width * width;
  fit = fit < width ? width : fit;
  p->columns = min_of(columns, fit);
  int64_t padded = ceil_div(p->columns, width) * width;
  p->groups = p->columns == columns ? min_of(c->groups, fit / padded) : 1;
  p->groups = p->groups < 1 ? 1 : p->groups;
  if (!w->direct) {
    p->splits = product_splits(&w->panels, p->groups * ceil_div(c->m, w->panels.a) * (padded / width), w->k, &p->depth);
    return;
  }
  int64_t splits = min_of(DIRECT_THREADS / (p->groups * p->columns), c->c);
  p->depth = splits > 1 ? ceil_div(c->c, splits) : c->c;
  p->splits = p->depth > 0 ? ceil_div(c->c, p->depth) : 1;
}

static enum assay_status piece_alloc(struct work *w, bool squares, struct piece *p, struct assay_error *err) {
  int64_t part = p->splits * p->groups * w->conv->m * p->columns;
  int64_t windows = p->groups * ceil_div(p->columns, w->panels.b) * w->panels.b * w->k;
  enum assay_status status = work_alloc(w, part, &p->y, err);
  if (!status && squares)
    status = work_alloc(w, part, &p->t2, err);
  if (!status && !w->direct)
    status = work_alloc(w, windows, &p->windows, err);
  return status;
}

static enum assay_status set_run(struct work *w, struct assay_error *err) {
  const struct conv *c = w->conv;
  bool squares = w->panels.squares;
  struct piece whole = {0};
  piece_make(w, &whole);
  enum assay_status status = piece_alloc(w, squares, &whole, err);
  for (int64_t g = 0; g < c->groups && !status; g += whole.groups)
    for (int64_t j = 0; j < w->set.columns && !status; j += whole.columns) {
      struct piece p = whole;
      p.first_group = g;
      p.groups = min_of(whole.groups, c->groups - g);
      p.first_column = j;
      p.columns = min_of(whole.columns, w->set.columns - j);
      status = w->direct ? run_direct(w, &p, err) : run_product(w, &p, err);
      if (!status)
        status = finish(w, &p, err);
    }
  return status;
}

static enum assay_status conv_set_run(struct gpu_eval *c, const struct conv *conv, int64_t index,
                                      const struct product_budget *budget, struct assay_error *err) {
  struct work w = {.c = c, .conv = conv, .budget = budget, .direct = conv->m <= CONV_FEW};
  w.panels = product_panels_for(c->compute, !c->arith.exact);
  device_ptr table = 0;
  enum assay_status status = read_dims(&w, index, err);
  bool empty = w.set.columns == 0 || conv->m == 0;
  if (!status && !empty)
    status = make_tables(&w, &table, err);
  if (!status && !empty)
    status = pack_weights(&w, table, err);
  if (!status && !empty && conv_allows_tiles(conv, &c->arith))
    status = make_norms(&w, err);
  if (!status && !empty)
    status = set_run(&w, err);
  for (int i = 0; i < w.n_memory; i++)
    compute_free(c->compute, w.memory[i]);
  arena_release(&w.arena);
  return status;
}

enum assay_status gpu_conv_run(struct gpu_eval *c, bool transposed, const struct product_budget *budget,
                               struct assay_error *err) {
  struct gpu_node_view v;
  struct conv conv;
  enum assay_status status = gpu_node_view_init(&v, c, 0, err);
  if (status)
    return status;
  status = conv_setup(&v.infer, transposed, &conv, err);
  int64_t sets = 1;
  for (int i = 0; !status && i < conv.window.n; i++)
    sets *= residues(&conv, i);
  for (int64_t index = 0; !status && index < sets; index++)
    status = conv_set_run(c, &conv, index, budget, err);
  c->has_sigma = c->sigma != 0;
  gpu_node_view_release(&v);
  return status;
}

enum assay_status gpu_conv_eval(struct gpu_eval *c, struct assay_error *err) {
  return gpu_conv_run(c, false, &product_budget, err);
}
enum assay_status gpu_conv_transpose_eval(struct gpu_eval *c, struct assay_error *err) {
  return gpu_conv_run(c, true, &product_budget, err);
}
