// SPDX-License-Identifier: Apache-2.0
#include "ops/loops.h"

#include <string.h>

struct total loops_total(const double *x, int64_t n) {
  double y[4] = {0}, t2[4] = {0};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int l = 0; l < 4; l++) {
      y[l] += x[i + l];
      t2[l] += x[i + l] * x[i + l];
    }
  for (int l = 0; i < n; i++, l++) {
    y[l] += x[i];
    t2[l] += x[i] * x[i];
  }
  return (struct total){.y = (y[0] + y[1]) + (y[2] + y[3]), .t2 = (t2[0] + t2[1]) + (t2[2] + t2[3])};
}

// Appends a dimension, or widens the last one when the two are one run in memory.
static void add_dim(int *n, int64_t *dims, int64_t *strides, int64_t dim, int64_t stride) {
  if (dim == 1)
    return;
  if (*n > 0 && strides[*n - 1] == dim * stride) {
    dims[*n - 1] *= dim;
    strides[*n - 1] = stride;
    return;
  }
  dims[*n] = dim;
  strides[*n] = stride;
  ++*n;
}

void rows_init(struct rows *r, const struct shape *s, unsigned axes, const int64_t *strides) {
  int64_t dense[SHAPE_MAX_RANK] = {0};
  memset(r, 0, sizeof *r);
  r->count = r->length = 1;
  shape_strides(s, dense);
  if (!strides)
    strides = dense;
  for (int i = 0; i < s->rank; i++)
    if (axes >> i & 1) {
      r->length *= s->dims[i];
      add_dim(&r->n_reduced, r->reduced, r->reduced_stride, s->dims[i], strides[i]);
    } else {
      r->count *= s->dims[i];
      add_dim(&r->n_kept, r->kept, r->kept_stride, s->dims[i], strides[i]);
    }
}

static int64_t inner_rows(const struct rows *r) {
  bool contiguous = r->n_reduced == 0 || r->reduced_stride[r->n_reduced - 1] == 1;
  bool neighbours = r->n_kept > 0 && r->kept_stride[r->n_kept - 1] == 1;
  return contiguous && r->n_reduced > 0 ? 1 : neighbours ? r->kept[r->n_kept - 1] : 1;
}

int64_t rows_tiles(const struct rows *r) {
  int64_t inner = inner_rows(r);
  return inner == 0 ? 0 : r->count / inner * ((inner + ROWS_WIDTH - 1) / ROWS_WIDTH);
}

void rows_tile(const struct rows *r, int64_t i, int64_t *row, int *width) {
  int64_t inner = inner_rows(r), per = (inner + ROWS_WIDTH - 1) / ROWS_WIDTH;
  int64_t at = i % per * ROWS_WIDTH;
  *row = i / per * inner + at;
  *width = (int)(inner - at < ROWS_WIDTH ? inner - at : ROWS_WIDTH);
}

static int64_t offset_of(int n, const int64_t *dims, const int64_t *strides, int64_t index) {
  int64_t offset = 0;
  for (int i = n - 1; i >= 0; i--) {
    offset += index % dims[i] * strides[i];
    index /= dims[i];
  }
  return offset;
}

int64_t rows_offset(const struct rows *r, int64_t row, int64_t at) {
  return offset_of(r->n_kept, r->kept, r->kept_stride, row) +
         offset_of(r->n_reduced, r->reduced, r->reduced_stride, at);
}

// Between positions that share all but the last dimension of a row: the stride, and how many there are from `at` on.
static int64_t run_length(const struct rows *r, int64_t at, int64_t *stride) {
  if (r->n_reduced == 0 || r->length == 0) {
    *stride = 1;
    return r->length - at;
  }
  int64_t last = r->reduced[r->n_reduced - 1];
  *stride = r->reduced_stride[r->n_reduced - 1];
  return last - at % last;
}

static int64_t row_step(const struct rows *r) {
  return r->n_kept > 0 ? r->kept_stride[r->n_kept - 1] : 0;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t rows_view(const struct rows *r, const double *x, struct rows_piece p, double *buffer, const double **lines) {
  enum { WORTH_POINTING = 64 };
  int64_t n = least(p.n, least(ROWS_CHUNK, r->length - p.at)), stride, step = row_step(r);
  int64_t run = run_length(r, p.at, &stride);
  if (stride == 1 && (run >= n || run >= WORTH_POINTING)) {
    const double *from = x + rows_offset(r, p.row, p.at);
    for (int t = 0; t < p.width; t++)
      lines[t] = from + t * step;
    return least(run, n);
  }
  for (int64_t done = 0; done < n;) {
    const double *from = x + rows_offset(r, p.row, p.at + done);
    run = least(run_length(r, p.at + done, &stride), n - done);
    for (int64_t i = 0; i < run; i++)
      for (int t = 0; t < p.width; t++)
        buffer[t * ROWS_CHUNK + done + i] = from[i * stride + t * step];
    done += run;
  }
  for (int t = 0; t < p.width; t++)
    lines[t] = buffer + t * ROWS_CHUNK;
  return n;
}

void rows_store(const struct rows *r, double *y, struct rows_piece p, const double *lines) {
  int64_t step = row_step(r);
  for (int64_t done = 0; done < p.n;) {
    int64_t stride, run = least(run_length(r, p.at + done, &stride), p.n - done);
    double *to = y + rows_offset(r, p.row, p.at + done);
    for (int64_t i = 0; i < run; i++)
      for (int t = 0; t < p.width; t++)
        to[i * stride + t * step] = lines[t * ROWS_CHUNK + done + i];
    done += run;
  }
}

int64_t loops_wrap(enum dtype t, uint64_t value) {
  int unused = 64 - dtype_bits(t);
  if (t == DTYPE_BOOL)
    return value != 0;
  return dtype_is_signed(t) ? (int64_t)(value << unused) >> unused : (int64_t)(value << unused >> unused);
}

enum assay_status loops_need_float(const struct op_infer *c, int i, struct assay_error *err) {
  if (op_has(c, i) && !dtype_is_float(c->in[i]->dtype))
    return op_invalid(c->node, err, "input %d must be of a floating type, not %s; insert a Cast", i,
                      dtype_name(c->in[i]->dtype));
  return ASSAY_OK;
}

enum assay_status loops_need_same(const struct op_infer *c, int i, struct assay_error *err) {
  if (op_has(c, i) && c->in[i]->dtype != c->in[0]->dtype)
    return op_invalid(c->node, err, "input %d is %s but input 0 is %s; insert a Cast", i, dtype_name(c->in[i]->dtype),
                      dtype_name(c->in[0]->dtype));
  return ASSAY_OK;
}
