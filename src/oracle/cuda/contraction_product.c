// SPDX-License-Identifier: Apache-2.0
// Sums of products on the device: which kernel takes them, and in which pieces.
#include <stdio.h>

#include "compute/cuda.h"
#include "base/dtype.h"
#include "oracle/cuda/contraction.h"

enum {
  B_WIDTH = 64,         // columns of a panel of B, as in contraction.cu,
  B_WIDTH_SQUARES = 32, // with squares too
  MMA_A_WIDTH = 64,     // as in product_mma.cu
  MMA_B_WIDTH = 128,
  MMA_B_WIDTH_SQUARES = 64,
  MMA_PAD = 4,
  MMA_STAGES = 3,
  MMA_DEPTH = 16,
  MMA_THREADS = 128,
  MMA_GROUP = 16,      // panels of A that blocks share at a time: about as many as columns, on a large device
  WARPS_ENOUGH = 2048, // wide: a few warps for each scheduler of a large device
  WARPS_WANTED = 4096,
  BLOCKS_ENOUGH = 512, // on tensor cores: two blocks for each multiprocessor, twice
  BLOCKS_WANTED = 1024,
  SPLIT_LEAST = 64,         // terms of a split
  NARROW_THREADS = 1 << 18, // narrow: every thread of a large device
  NARROW_LEAST = 16,
  NARROW_LANES = 32, // threads that read neighbouring terms
  SPLITS_MOST = 8192,
  MEMORY_MOST = 16, // of one product
};

// Half a gigabyte of each.
const struct product_budget product_budget = {
    .pack_elements = (int64_t)64 << 20, .part_elements = (int64_t)64 << 20, .columns = (int64_t)1 << 16};

const struct device_code product_code = {
    "contraction", (const char *const[]){GPU_COMMON_TEXTS, code_contraction_args, code_contraction, NULL}, false};

const struct device_code product_mma_code = {
    "product", (const char *const[]){GPU_COMMON_TEXTS, code_contraction_args, code_product_mma, NULL}, false};

struct product_group product_line(int64_t extent, int64_t stride) {
  return (struct product_group){.n = 1, .extent = {extent}, .stride = {stride}};
}

int64_t product_count(const struct product_group *g) {
  int64_t n = 1;
  for (int d = 0; d < g->n; d++)
    n *= g->extent[d];
  return n;
}

void product_wrap(enum dtype t, int32_t *bits, int32_t *is_signed) {
  *bits = t == DTYPE_BOOL ? 0 : dtype_bits(t);
  *is_signed = dtype_is_signed(t) && t != DTYPE_INT64;
}

struct product_panels product_panels_make(bool mma, bool squares) {
  struct product_panels p = {.a = mma ? MMA_A_WIDTH : PRODUCT_A_WIDTH, .mma = mma, .squares = squares};
  if (mma)
    p.b = squares ? MMA_B_WIDTH_SQUARES : MMA_B_WIDTH;
  else
    p.b = squares ? B_WIDTH_SQUARES : B_WIDTH;
  return p;
}

// Tensor cores multiply doubles from compute capability 8.0 on.
static bool has_mma(struct compute *c) {
  struct compute_cuda_part part;
  int architecture = 0;
  return compute_is_cuda(c) && compute_cuda_part(c, &part, NULL) == ASSAY_OK &&
         sscanf(part.target, "sm_%d", &architecture) == 1 && architecture >= 80;
}

struct product_panels product_panels_for(struct compute *c, bool squares) {
  return product_panels_make(has_mma(c), squares);
}

int64_t product_splits(const struct product_panels *p, int64_t tiles, int64_t k, int64_t *depth) {
  int64_t enough = p->mma ? BLOCKS_ENOUGH : WARPS_ENOUGH, wanted = p->mma ? BLOCKS_WANTED : WARPS_WANTED;
  int64_t splits = tiles >= enough || tiles < 1 ? 1 : wanted / tiles;
  if (splits > k / SPLIT_LEAST)
    splits = k / SPLIT_LEAST;
  if (splits < 1)
    splits = 1;
  *depth = (k + splits - 1) / splits;
  return splits;
}

static int64_t min_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

enum assay_status product_pack(struct compute *c, const struct product_source *s, const struct product_piece *p,
                               int width, device_ptr to, struct assay_error *err) {
  struct product_pack_args a = {.from = s->from,
                                .batch = s->batch,
                                .line = s->line,
                                .depth = s->depth,
                                .to = to,
                                .first_batch = p->first_batch,
                                .first_line = p->first_line,
                                .lines = p->lines,
                                .k = p->k,
                                .panels_per_batch = ceil_div(p->lines, width),
                                .width = width};
  a.panels = p->batches * a.panels_per_batch;
  enum { PACK_DEPTH = 8 }; // as in the kernel
  return compute_launch(c, &product_code, "product_pack", a.panels * ceil_div(p->k, PACK_DEPTH) * width, &a, sizeof a,
                        err);
}

// Blocks of threads, each with its stages in shared memory.
static enum assay_status run_mma(struct compute *c, const struct product_panels *p, struct product_tile_args *a,
                                 struct assay_error *err) {
  a->group = min_of(a->a_panels, MMA_GROUP);
  struct compute_blocks b = {.blocks =
                                 ceil_div(a->a_panels, a->group) * a->group * a->b_panels * a->batches * a->splits,
                             .threads = MMA_THREADS,
                             .shared_bytes = (size_t)(MMA_STAGES * MMA_DEPTH * (p->a + p->b + 2 * MMA_PAD)) * 8};
  return compute_launch_blocks(c, &product_mma_code, p->squares ? "product_mma_squares" : "product_mma", &b, a,
                               sizeof *a, err);
}

enum assay_status product_tiles(struct compute *c, const struct product_panels *p, const struct product_tile_args *t,
                                struct assay_error *err) {
  struct product_tile_args a = *t;
  if (p->mma)
    return run_mma(c, p, &a, err);
  // A block of eight warps covers about a square: neighbours share panels through the first cache.
  a.group = a.a_panels >= 3 ? 4 : a.a_panels;
  int64_t warps = ceil_div(a.a_panels, a.group) * a.group * a.b_panels * a.batches * a.splits;
  return compute_launch(c, &product_code, p->squares ? "product_tile_squares" : "product_tile", warps * 32, &a,
                        sizeof a, err);
}

// A product under way: where its operands' elements are, and its memory, freed at its end. (All work is in one stream,
// so memory may be freed as soon as its last use is launched.)
struct work {
  struct gpu_eval *c;
  const struct product *p;
  const struct product_budget *budget;
  struct product_source a, b;
  bool squares;
  device_ptr memory[MEMORY_MOST];
  int n_memory;
};

static enum assay_status work_alloc(struct work *w, int64_t elements, device_ptr *out, struct assay_error *err) {
  enum assay_status status = compute_alloc(w->c->compute, (size_t)(elements > 0 ? elements : 1) * 8, out, err);
  if (!status)
    w->memory[w->n_memory++] = *out;
  return status;
}

static void work_release(struct work *w) {
  for (int i = 0; i < w->n_memory; i++)
    compute_free(w->c->compute, w->memory[i]);
}

// One stride for the whole group, where it has one.
static bool one_stride(const struct product_group *g, int64_t *stride) {
  int64_t step = 0;
  bool first = true;
  *stride = 0;
  for (int d = g->n - 1; d >= 0; d--) {
    if (g->extent[d] == 1)
      continue;
    if (first)
      step = *stride = g->stride[d];
    else if (g->stride[d] != step)
      return false;
    first = false;
    step *= g->extent[d];
  }
  return true;
}

// Otherwise a table of offsets, made on the device.
static enum assay_status axis_make(struct work *w, const struct product_group *g, struct product_axis *out,
                                   struct assay_error *err) {
  *out = (struct product_axis){0};
  if (one_stride(g, &out->stride))
    return ASSAY_OK;
  struct product_table_args a = {.count = product_count(g), .n = g->n};
  for (int d = 0; d < g->n; d++) {
    a.extent[d] = g->extent[d];
    a.stride[d] = g->stride[d];
  }
  enum assay_status status = work_alloc(w, a.count, &out->table, err);
  a.table = out->table;
  return status ? status : compute_launch(w->c->compute, &product_code, "product_table", a.count, &a, sizeof a, err);
}

static enum assay_status work_begin(struct work *w, struct assay_error *err) {
  const struct product *p = w->p;
  const struct product_group *groups[] = {&p->a_batch, &p->a_line, &p->a_depth, &p->b_batch, &p->b_line, &p->b_depth};
  struct product_axis *axes[] = {&w->a.batch, &w->a.line, &w->a.depth, &w->b.batch, &w->b.line, &w->b.depth};
  w->a.from = p->a;
  w->b.from = p->b;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < 6 && !status; i++)
    status = axis_make(w, groups[i], axes[i], err);
  return status;
}

// A part of the output: rows, columns and batches of it.
struct piece {
  int64_t first_batch, batches, first_row, rows, first_column, columns;
};

static enum assay_status finish(struct work *w, const struct piece *at, int64_t splits, device_ptr y, device_ptr t2,
                                struct assay_error *err) {
  const struct product *p = w->p;
  struct product_finish_args a = {.arith = p->arith,
                                  .start = p->start,
                                  .c = p->c,
                                  .y = y,
                                  .t2 = t2,
                                  .out = p->out,
                                  .sigma = w->squares ? p->sigma : 0,
                                  .splits = splits,
                                  .batches = at->batches,
                                  .rows = at->rows,
                                  .columns = at->columns,
                                  .first_batch = at->first_batch,
                                  .first_row = at->first_row,
                                  .first_column = at->first_column,
                                  .m = p->m,
                                  .n = p->n,
                                  .c_row = p->c_row,
                                  .c_column = p->c_column,
                                  .terms = p->sums ? (double)p->k : 0,
                                  .alpha = p->alpha,
                                  .beta = p->beta,
                                  .products = p->products};
  return compute_launch(w->c->compute, &product_code, "product_finish", at->batches * at->rows * at->columns, &a,
                        sizeof a, err);
}

// ---- narrow products

static int64_t narrow_splits(const struct work *w, int64_t lines, int64_t narrow, bool by_depth) {
  const struct product *p = w->p;
  int64_t count = p->batches * lines, splits = NARROW_THREADS / count;
  if (splits > p->k / NARROW_LEAST)
    splits = p->k / NARROW_LEAST;
  if (by_depth && splits < NARROW_LANES)
    splits = min_of(NARROW_LANES, p->k);
  splits = min_of(min_of(splits, SPLITS_MOST), 2 * w->budget->part_elements / (count * narrow));
  return splits > 1 ? splits : 1;
}

static enum assay_status run_narrow(struct work *w, struct assay_error *err) {
  const struct product *p = w->p;
  bool turned = p->n > p->m; // columns of the output are lines of the long side
  const struct product_source *a = turned ? &w->b : &w->a, *b = turned ? &w->a : &w->b;
  struct product_narrow_args n = {.a = a->from,
                                  .b = b->from,
                                  .a_batch = a->batch,
                                  .a_line = a->line,
                                  .a_depth = a->depth,
                                  .b_batch = b->batch,
                                  .b_line = b->line,
                                  .b_depth = b->depth,
                                  .lines = turned ? p->n : p->m,
                                  .narrow = turned ? p->m : p->n,
                                  .k = p->k,
                                  .batches = p->batches,
                                  .out_line = turned ? 1 : p->n,
                                  .out_narrow = turned ? p->n : 1};
  n.by_depth = a->line.table || a->line.stride != 1;
  n.splits = narrow_splits(w, n.lines, n.narrow, n.by_depth);
  int64_t count = p->batches * p->m * p->n;
  enum assay_status status = work_alloc(w, n.splits * count, &n.y, err);
  if (!status && w->squares)
    status = work_alloc(w, n.splits * count, &n.t2, err);
  if (!status)
    status = compute_launch(w->c->compute, &product_code, "product_narrow", n.splits * p->batches * n.lines, &n,
                            sizeof n, err);
  struct piece all = {.batches = p->batches, .rows = p->m, .columns = p->n};
  return status ? status : finish(w, &all, n.splits, n.y, n.t2, err);
}

// ---- wide products

// Pieces' extents and the memory they need.
struct cut {
  int64_t batches, rows, columns, splits, depth;
  struct product_panels panels;
  bool a_shared, b_shared;
  device_ptr a, b, y, t2;
};

static bool is_shared(const struct product_axis *batch) {
  return !batch->table && batch->stride == 0;
}

static void cut_make(const struct work *w, struct cut *t) {
  const struct product *p = w->p;
  int64_t k = p->k > 0 ? p->k : 1, lines = w->budget->pack_elements / k, part = w->budget->part_elements;
  t->panels = product_panels_for(w->c->compute, w->squares);
  int64_t a_width = t->panels.a, b_width = t->panels.b;
  t->a_shared = is_shared(&w->a.batch);
  t->b_shared = is_shared(&w->b.batch);
  t->columns = min_of(p->n, min_of(w->budget->columns, lines / b_width * b_width));
  t->columns = t->columns < b_width ? min_of(p->n, b_width) : t->columns;
  t->rows = min_of(p->m, min_of(lines, part / t->columns) / a_width * a_width);
  t->rows = t->rows < a_width ? min_of(p->m, a_width) : t->rows;
  // Several batches at a time only as whole matrices.
  t->batches = 1;
  if (t->rows == p->m && t->columns == p->n) {
    int64_t larger = p->m > p->n ? p->m : p->n;
    t->batches = min_of(p->batches, min_of(lines / (larger + b_width), part / (p->m * p->n)));
    t->batches = t->batches < 1 ? 1 : t->batches;
  }
  int64_t tiles = t->batches * ceil_div(t->rows, a_width) * ceil_div(t->columns, b_width);
  t->splits = product_splits(&t->panels, tiles, p->k, &t->depth);
}

static enum assay_status cut_alloc(struct work *w, struct cut *t, struct assay_error *err) {
  int64_t k = w->p->k, rows = ceil_div(t->rows, t->panels.a) * t->panels.a;
  int64_t columns = ceil_div(t->columns, t->panels.b) * t->panels.b;
  int64_t part = t->splits * t->batches * t->rows * t->columns;
  enum assay_status status = work_alloc(w, (t->a_shared ? 1 : t->batches) * rows * k, &t->a, err);
  if (!status)
    status = work_alloc(w, (t->b_shared ? 1 : t->batches) * columns * k, &t->b, err);
  if (!status)
    status = work_alloc(w, part, &t->y, err);
  if (!status && w->squares)
    status = work_alloc(w, part, &t->t2, err);
  return status;
}

static enum assay_status run_piece(struct work *w, const struct cut *t, const struct piece *at,
                                   struct assay_error *err) {
  struct product_tile_args a = {.a = t->a,
                                .b = t->b,
                                .y = t->y,
                                .t2 = t->t2,
                                .m = at->rows,
                                .n = at->columns,
                                .k = w->p->k,
                                .a_panels = ceil_div(at->rows, t->panels.a),
                                .b_panels = ceil_div(at->columns, t->panels.b),
                                .batches = at->batches,
                                .splits = t->splits,
                                .depth = t->depth};
  a.a_step = t->a_shared ? 0 : a.a_panels;
  a.b_step = t->b_shared ? 0 : a.b_panels;
  enum assay_status status = product_tiles(w->c->compute, &t->panels, &a, err);
  return status ? status : finish(w, at, t->splits, t->y, t->t2, err);
}

// Panels are packed again only where they change: B's for every column piece, unless there is one.
static enum assay_status run_rows(struct work *w, const struct cut *t, struct piece at, bool pack_b,
                                  struct assay_error *err) {
  const struct product *p = w->p;
  struct compute *c = w->c->compute;
  enum assay_status status = ASSAY_OK;
  for (at.first_column = 0; at.first_column < p->n && !status; at.first_column += t->columns) {
    at.columns = min_of(t->columns, p->n - at.first_column);
    struct product_piece b = {.first_batch = t->b_shared ? 0 : at.first_batch,
                              .batches = t->b_shared ? 1 : at.batches,
                              .first_line = at.first_column,
                              .lines = at.columns,
                              .k = p->k};
    if (pack_b || t->columns < p->n)
      status = product_pack(c, &w->b, &b, t->panels.b, t->b, err);
    if (!status)
      status = run_piece(w, t, &at, err);
  }
  return status;
}

static enum assay_status run_wide(struct work *w, struct assay_error *err) {
  const struct product *p = w->p;
  struct cut t = {0};
  cut_make(w, &t);
  enum assay_status status = cut_alloc(w, &t, err);
  for (int64_t b = 0; b < p->batches && !status; b += t.batches)
    for (int64_t i = 0; i < p->m && !status; i += t.rows) {
      struct piece at = {.first_batch = b,
                         .batches = min_of(t.batches, p->batches - b),
                         .first_row = i,
                         .rows = min_of(t.rows, p->m - i)};
      struct product_piece a = {.first_batch = t.a_shared ? 0 : b,
                                .batches = t.a_shared ? 1 : at.batches,
                                .first_line = i,
                                .lines = at.rows,
                                .k = p->k};
      if (!t.a_shared || b == 0 || t.rows < p->m)
        status = product_pack(w->c->compute, &w->a, &a, t.panels.a, t.a, err);
      if (!status)
        status = run_rows(w, &t, at, i == 0 && (!t.b_shared || b == 0), err);
    }
  return status;
}

enum assay_status product_run(struct gpu_eval *c, const struct product *p, struct assay_error *err) {
  if (p->batches <= 0 || p->m <= 0 || p->n <= 0)
    return ASSAY_OK;
  struct work w = {
      .c = c, .p = p, .budget = p->budget ? p->budget : &product_budget, .squares = !p->arith.exact && p->sums};
  bool narrow = p->m <= PRODUCT_NARROW || p->n <= PRODUCT_NARROW || !p->b.data;
  enum assay_status status = work_begin(&w, err);
  if (!status)
    status = narrow ? run_narrow(&w, err) : run_wide(&w, err);
  work_release(&w);
  return status;
}
