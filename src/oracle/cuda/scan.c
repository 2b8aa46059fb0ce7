// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd on a device. Where there are few long rows each is cut into chunks; the chunks' totals are scanned
// by the same means, level above level, before the elements are.
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/reduce.h"

#include "base/alloc.h"
#include "oracle/cuda/scan_args.h"

extern const char code_scan_args[], code_scan[];
static const struct device_code program = {
    "scan", (const char *const[]){GPU_ROWS_TEXTS, code_scan_args, code_scan, NULL}, false};

enum {
  BUSY = 1 << 18,        // threads that keep a large GPU busy
  CONTIGUOUS_CHUNK = 16, // neighbouring threads' chunks of a contiguous row share cache lines while these are at hand
  STRIDED_CHUNK = 64,    // the least where rows are side by side
  PRODUCT_CHUNK = 1 << 16,
  FAN = 16,
  LEVELS = 12, // 16^12 is beyond every row
};

static const char *const totals_kernels[] = {"scan_totals_sum", "scan_totals_product", "scan_totals_sum_integers",
                                             "scan_totals_product_integers"};
static const char *const element_kernels[] = {"scan_sum", "scan_product", "scan_sum_integers", "scan_product_integers"};

// Products of floats stay in one piece as long as that can be borne: the product of a chunk on its own may overflow, or
// vanish, where the running one does not.
static int64_t chunk_of(const struct gpu_rows *r, int kind) {
  int64_t each = r->count * (r->length / BUSY) + r->count * (r->length % BUSY) / BUSY + 1;
  if (kind == SCAN_PRODUCT)
    return PRODUCT_CHUNK;
  if (!gpu_rows_side_by_side(r))
    return r->length <= 2 * CONTIGUOUS_CHUNK ? 2 * CONTIGUOUS_CHUNK : CONTIGUOUS_CHUNK;
  return each > STRIDED_CHUNK ? each : STRIDED_CHUNK;
}

struct levels {
  int n;
  device_ptr totals[LEVELS];
  int64_t each[LEVELS]; // totals of a row
};

static enum assay_status levels_make(struct gpu_eval *c, const struct scan_args *a, struct levels *l,
                                     struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int64_t n = a->chunks; l->n < LEVELS && !status; n = (n + FAN - 1) / FAN) {
    l->each[l->n] = n;
    status = compute_alloc(c->compute, (size_t)(a->rows.count * n) * sizeof(struct scan_total), &l->totals[l->n], err);
    l->n++;
    if (n <= FAN)
      break;
  }
  return status;
}

static void levels_free(struct gpu_eval *c, struct levels *l) {
  for (int i = 0; i < l->n; i++)
    compute_free(c->compute, l->totals[i]);
}

// Turns the chunks' totals, the lowest level, into what lies before each chunk.
static enum assay_status levels_scan(struct gpu_eval *c, const struct scan_args *a, int kind, const struct levels *l,
                                     struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct scan_level_args s = {.count = a->rows.count, .fan = FAN, .row_fastest = a->row_fastest, .kind = kind};
  for (int up = 1, i = 0; i >= 0 && !status; i += up ? 1 : -1) {
    bool top = i == l->n - 1;
    if (top)
      up = 0;
    s.arith = gpu_arith_phase(c, (uint64_t)(1 + i));
    s.lower = l->totals[i];
    s.n_lower = l->each[i];
    s.upper = top ? 0 : l->totals[i + 1];
    s.n_upper = top ? 1 : l->each[i + 1];
    status = compute_launch(c->compute, &program, up ? "scan_up" : "scan_down", s.count * s.n_upper, &s, sizeof s, err);
  }
  return status;
}

static enum assay_status read_axis(struct gpu_eval *c, int *axis, struct assay_error *err) {
  uint64_t *value = NULL;
  enum assay_status status = gpu_host_values(c, 1, &value, err);
  if (!status)
    status = op_axis(c->node, (int64_t)value[0], c->in[0]->shape.rank, axis, err);
  base_free(value);
  return status;
}

static enum assay_status scan_run(struct gpu_eval *c, bool product, struct assay_error *err) {
  int axis = 0, kind = (product ? SCAN_PRODUCT : SCAN_SUM) + (dtype_is_integer(c->in[0]->dtype) ? 2 : 0);
  enum assay_status status = read_axis(c, &axis, err);
  if (status)
    return status;
  struct scan_args a = {.rows = gpu_rows_of(&c->in[0]->shape, 1u << axis, NULL),
                        .x = gpu_ref_of(c->in[0]),
                        .arith = gpu_arith_phase(c, 0),
                        .y = c->out[0].data,
                        .exclusive = node_int(c->node, "exclusive", 0) != 0,
                        .reverse = node_int(c->node, "reverse", 0) != 0,
                        .dtype = c->in[0]->dtype};
  if (a.rows.count == 0 || a.rows.length == 0)
    return ASSAY_OK;
  a.row_fastest = gpu_rows_side_by_side(&a.rows);
  a.chunk = chunk_of(&a.rows, kind);
  a.chunks = (a.rows.length + a.chunk - 1) / a.chunk;
  struct levels l = {0};
  if (a.chunks > 1) {
    status = levels_make(c, &a, &l, err);
    a.totals = l.totals[0];
    if (!status)
      status = compute_launch(c->compute, &program, totals_kernels[kind], a.rows.count * a.chunks, &a, sizeof a, err);
    if (!status)
      status = levels_scan(c, &a, kind, &l, err);
  }
  if (!status)
    status = compute_launch(c->compute, &program, element_kernels[kind], a.rows.count * a.chunks, &a, sizeof a, err);
  levels_free(c, &l);
  return status;
}

enum assay_status gpu_cum_sum_eval(struct gpu_eval *c, struct assay_error *err) {
  return scan_run(c, false, err);
}
enum assay_status gpu_cum_prod_eval(struct gpu_eval *c, struct assay_error *err) {
  return scan_run(c, true, err);
}
