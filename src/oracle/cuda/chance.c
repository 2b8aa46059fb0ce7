// SPDX-License-Identifier: Apache-2.0
// Numbers of chance on a device. The tests are those of ops/chance_tests.c: what reads all numbers is done here, and
// the host has counts and sums.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/chance_tests.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/rows.h"

#include "oracle/cuda/chance_args.h"

extern const char code_chance_math[], code_chance_args[], code_chance[];
static const struct device_code program = {
    "chance", (const char *const[]){GPU_COMMON_TEXTS, code_chance_math, code_chance_args, code_chance, NULL}, true};

// THREADS share the numbers; their sums are folded by TARGETS threads and then by the host. COUNTERS hold as many
// copies of the cells as there is room for.
enum { THREADS = 1 << 18, TARGETS = 512, COUNTERS = 1 << 16 };

static enum assay_status launch(struct compute *c, const char *kernel, int64_t n, const void *args, size_t bytes,
                                struct assay_error *err) {
  return compute_launch(c, &program, kernel, n, args, bytes, err);
}

// ---- drawing

static enum assay_status draw(struct gpu_eval *c, const char *kernel, struct chance_draw_args *a,
                              struct assay_error *err) {
  a->y = c->out[0].data;
  a->n = shape_count(&c->out[0].shape);
  a->columns = c->out[0].shape.dims[1];
  return launch(c->compute, kernel, a->n, a, sizeof *a, err);
}

enum assay_status gpu_seeded_uniform_eval(struct gpu_eval *c, struct assay_error *err) {
  struct chance_draw_args a = {.seeds = gpu_ref_of(c->in[0])};
  return draw(c, "chance_draw_uniform", &a, err);
}

enum assay_status gpu_seeded_binomial_eval(struct gpu_eval *c, struct assay_error *err) {
  struct chance_draw_args a = {
      .seeds = gpu_ref_of(c->in[0]), .counts = gpu_ref_of(c->in[1]), .chances = gpu_ref_of(c->in[2])};
  return draw(c, "chance_draw_binomial", &a, err);
}

enum assay_status gpu_binomial_place_eval(struct gpu_eval *c, struct assay_error *err) {
  struct chance_draw_args a = {.x = gpu_ref_of(c->in[0]),
                               .seeds = gpu_ref_of(c->in[1]),
                               .counts = gpu_ref_of(c->in[2]),
                               .chances = gpu_ref_of(c->in[3]),
                               .rarer = node_int(c->node, "rarer", 0) != 0};
  return draw(c, "chance_find_places", &a, err);
}

// ---- tests

struct reader {
  struct compute *compute;
  struct gpu_ref u;
  int64_t rows, columns;
  device_ptr counters, sums, folded, list, first; // list: rows of a look; first: where its first numbers go
};

static struct chance_look_args look_of(const struct reader *r, int64_t n, device_ptr out) {
  return (struct chance_look_args){
      .u = r->u, .out = out, .columns = r->columns, .n = n, .threads = n < THREADS ? n : THREADS};
}

static enum assay_status clear(const struct reader *r, int64_t n, struct assay_error *err) {
  return compute_set32(r->compute, r->counters, 0, (size_t)(2 * n), err);
}

static enum assay_status read_count(const struct reader *r, int64_t *count, struct assay_error *err) {
  return compute_download(r->compute, count, r->counters, sizeof *count, err);
}

static enum assay_status read_outside(void *of, int64_t *count, struct assay_error *err) {
  const struct reader *r = of;
  const struct chance_look_args a = look_of(r, r->rows * r->columns, r->counters);
  enum assay_status status = clear(r, 1, err);
  if (!status)
    status = launch(r->compute, "chance_outside", a.threads, &a, sizeof a, err);
  return status ? status : read_count(r, count, err);
}

static enum assay_status read_unlike(void *of, int64_t first, int64_t second, int64_t *count, struct assay_error *err) {
  const struct reader *r = of;
  const struct chance_pair_args a = {
      .look = look_of(r, r->columns, r->counters), .a = first * r->columns, .b = second * r->columns};
  enum assay_status status = clear(r, 1, err);
  if (!status)
    status = launch(r->compute, "chance_unlike", a.look.threads, &a, sizeof a, err);
  return status ? status : read_count(r, count, err);
}

static enum assay_status send_rows(const struct reader *r, const int64_t *rows, int64_t n, struct assay_error *err) {
  return compute_upload(r->compute, r->list, rows, (size_t)n * sizeof *rows, err);
}

static enum assay_status read_cells(void *of, const struct chance_cells *look, int64_t *cells,
                                    struct assay_error *err) {
  const struct reader *r = of;
  struct chance_list_args a = {.rows = r->list,
                               .scale = ldexp(1, look->skipped + look->bits),
                               .each = r->columns / look->tuple,
                               .cells = (int64_t)1 << (look->bits * look->tuple),
                               .tuple = look->tuple,
                               .bits = look->bits};
  a.look = look_of(r, a.each * look->n_rows, r->counters);
  a.copies = COUNTERS / a.cells;
  int64_t *counters = base_alloc(COUNTERS * sizeof *counters);
  enum assay_status status =
      counters ? send_rows(r, look->rows, look->n_rows, err) : error_nomem(err, "tests of chance");
  if (!status)
    status = clear(r, COUNTERS, err);
  if (!status)
    status = launch(r->compute, "chance_cells", a.look.threads, &a, sizeof a, err);
  if (!status)
    status = compute_download(r->compute, counters, r->counters, COUNTERS * sizeof *counters, err);
  memset(cells, 0, (size_t)a.cells * sizeof *cells);
  for (int64_t i = 0; i < a.copies * a.cells && !status; i++)
    cells[i % a.cells] += counters[i];
  base_free(counters);
  return status;
}

// Adds up what so many threads left in r->sums.
static enum assay_status fold(const struct reader *r, int64_t threads, double sums[CHANCE_SUMS],
                              struct assay_error *err) {
  double folded[TARGETS * CHANCE_SUMS];
  const struct chance_fold_args a = {.from = r->sums, .to = r->folded, .threads = threads, .targets = TARGETS};
  enum assay_status status = launch(r->compute, "chance_fold", TARGETS, &a, sizeof a, err);
  if (!status)
    status = compute_download(r->compute, folded, r->folded, sizeof folded, err);
  for (int k = 0; k < CHANCE_SUMS; k++)
    sums[k] = 0;
  for (int i = 0; i < TARGETS * CHANCE_SUMS && !status; i++)
    sums[i % CHANCE_SUMS] += folded[i];
  return status;
}

static enum assay_status read_moments(void *of, const int64_t *rows, int64_t n_rows, double sums[2],
                                      struct assay_error *err) {
  const struct reader *r = of;
  double all[CHANCE_SUMS];
  const struct chance_list_args a = {
      .look = look_of(r, n_rows * r->columns, r->sums), .rows = r->list, .each = r->columns};
  enum assay_status status = send_rows(r, rows, n_rows, err);
  if (!status)
    status = launch(r->compute, "chance_moments", a.look.threads, &a, sizeof a, err);
  if (!status)
    status = fold(r, a.look.threads, all, err);
  if (!status)
    memcpy(sums, all, 2 * sizeof *sums);
  return status;
}

static enum assay_status read_products(void *of, const struct chance_products *look, double *sums,
                                       struct assay_error *err) {
  const struct reader *r = of;
  enum assay_status status = ASSAY_OK;
  for (int k = 0; k < look->n && !status; k += CHANCE_SUMS) {
    double some[CHANCE_SUMS];
    struct chance_pair_args a = {.look = look_of(r, r->columns, r->sums),
                                 .a = look->a * r->columns,
                                 .b = look->b * r->columns,
                                 .n_shifts = look->n - k < CHANCE_SUMS ? look->n - k : CHANCE_SUMS};
    memcpy(a.shifts, look->shifts + k, (size_t)a.n_shifts * sizeof *a.shifts);
    status = launch(r->compute, "chance_multiply", a.look.threads, &a, sizeof a, err);
    if (!status)
      status = fold(r, a.look.threads, some, err);
    if (!status)
      memcpy(sums + k, some, (size_t)a.n_shifts * sizeof *sums);
  }
  return status;
}

static enum assay_status read_first(void *of, const int64_t *rows, int64_t n, double *out, struct assay_error *err) {
  struct reader *r = of;
  struct chance_list_args a = {.look = look_of(r, n, 0), .rows = r->list, .each = r->columns};
  enum assay_status status = send_rows(r, rows, (n + r->columns - 1) / r->columns, err);
  if (!status)
    status = compute_alloc(r->compute, (size_t)n * sizeof *out, &r->first, err);
  a.look.out = r->first;
  if (!status)
    status = launch(r->compute, "chance_first", n, &a, sizeof a, err);
  if (!status)
    status = compute_download(r->compute, out, r->first, (size_t)n * sizeof *out, err);
  compute_free(r->compute, r->first);
  r->first = 0;
  return status;
}

static const struct chance_reader device_reader = {.outside = read_outside,
                                                   .unlike = read_unlike,
                                                   .cells = read_cells,
                                                   .moments = read_moments,
                                                   .products = read_products,
                                                   .first = read_first};

static enum assay_status make_room(struct gpu_eval *c, struct reader *r, struct assay_error *err) {
  enum assay_status status = gpu_scratch(c, COUNTERS, &r->counters, err);
  if (!status)
    status = gpu_scratch(c, THREADS * CHANCE_SUMS, &r->sums, err);
  if (!status)
    status = gpu_scratch(c, TARGETS * CHANCE_SUMS, &r->folded, err);
  return status ? status : gpu_scratch(c, r->rows, &r->list, err);
}

enum assay_status gpu_chance_tests_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  struct reader r = {.compute = c->compute, .u = gpu_ref_of(c->in[0]), .rows = s->dims[0], .columns = s->dims[1]};
  int64_t out[CHANCE_COUNT];
  uint64_t *seeds = NULL;
  enum assay_status status = make_room(c, &r, err);
  if (!status)
    status = gpu_host_values(c, 1, &seeds, err);
  const struct chance_numbers u = {.rows = r.rows,
                                   .columns = r.columns,
                                   .seeds = (const int64_t *)seeds,
                                   .grid = node_int(c->node, "grid", 1) != 0,
                                   .reader = &device_reader,
                                   .of = &r};
  if (!status)
    status = chance_test_of(&u, out, err);
  if (!status)
    status = compute_upload(c->compute, c->out[0].data, out, sizeof out, err);
  base_free(seeds);
  return status;
}
