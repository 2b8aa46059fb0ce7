// SPDX-License-Identifier: Apache-2.0
#include "ops/strided.h"

#include <stdbool.h>
#include <string.h>

#include "base/parallel.h"

enum { TILE = 32, GRAIN_ELEMENTS = 1 << 15 };

// A plan of the copy: `outer` dimensions to enumerate, and a plane of rows times columns that is copied in tiles, so
// that a transposition reads and writes whole cache lines.
struct plan {
  struct strided outer;
  int64_t n_outer, n_bands; // bands of TILE rows in a plane
  int64_t rows, row_to, row_from;
  int64_t columns, column_to, column_from;
  uint64_t *to;
  const uint64_t *from;
};

static void copy_band(const struct plan *p, int64_t first_row, int64_t end_row, uint64_t *to, const uint64_t *from) {
  if (p->column_to == 1 && p->column_from == 1) {
    for (int64_t r = first_row; r < end_row; r++)
      memcpy(to + r * p->row_to, from + r * p->row_from, (size_t)p->columns * sizeof *to);
    return;
  }
  for (int64_t c0 = 0; c0 < p->columns; c0 += TILE) {
    int64_t c1 = c0 + TILE < p->columns ? c0 + TILE : p->columns;
    for (int64_t r = first_row; r < end_row; r++) {
      uint64_t *t = to + r * p->row_to;
      const uint64_t *f = from + r * p->row_from;
      for (int64_t c = c0; c < c1; c++)
        t[c * p->column_to] = f[c * p->column_from];
    }
  }
}

static void copy_bands(void *arg, int64_t begin, int64_t end) {
  const struct plan *p = arg;
  for (int64_t unit = begin; unit < end; unit++) {
    int64_t rest = unit / p->n_bands, first = unit % p->n_bands * TILE, to = 0, from = 0;
    for (int d = p->outer.rank - 1; d >= 0; d--) {
      int64_t i = rest % p->outer.dims[d];
      rest /= p->outer.dims[d];
      to += i * p->outer.to[d];
      from += i * p->outer.from[d];
    }
    copy_band(p, first, first + TILE < p->rows ? first + TILE : p->rows, p->to + to, p->from + from);
  }
}

// Drops dimensions of one and merges neighbours that stride as one.
static struct strided simplify(const struct strided *s) {
  struct strided r = {0};
  for (int d = 0; d < s->rank; d++) {
    if (s->dims[d] == 1)
      continue;
    int last = r.rank - 1;
    if (last >= 0 && r.to[last] == s->to[d] * s->dims[d] && r.from[last] == s->from[d] * s->dims[d]) {
      r.dims[last] *= s->dims[d];
      r.to[last] = s->to[d];
      r.from[last] = s->from[d];
    } else {
      r.dims[r.rank] = s->dims[d];
      r.to[r.rank] = s->to[d];
      r.from[r.rank++] = s->from[d];
    }
  }
  return r;
}

// Takes dimension d out.
static void remove_dim(struct strided *s, int d) {
  s->rank--;
  for (int i = d; i < s->rank; i++) {
    s->dims[i] = s->dims[i + 1];
    s->to[i] = s->to[i + 1];
    s->from[i] = s->from[i + 1];
  }
}

void strided_copy(const struct strided *s, uint64_t *to, const uint64_t *from, int threads) {
  for (int d = 0; d < s->rank; d++)
    if (s->dims[d] == 0)
      return;
  struct plan p = {.outer = simplify(s), .rows = 1, .columns = 1, .to = to, .from = from};
  struct strided *o = &p.outer;
  if (o->rank > 0) {
    int d = o->rank - 1;
    p.columns = o->dims[d];
    p.column_to = o->to[d];
    p.column_from = o->from[d];
    remove_dim(o, d);
  }
  if (o->rank > 0) {
    // Rows run along the dimension in which the source is contiguous, if the columns do not.
    int d = o->rank - 1;
    for (int i = 0; i < o->rank && p.column_from != 1; i++)
      if (o->from[i] == 1)
        d = i;
    p.rows = o->dims[d];
    p.row_to = o->to[d];
    p.row_from = o->from[d];
    remove_dim(o, d);
  }
  p.n_bands = (p.rows + TILE - 1) / TILE;
  p.n_outer = 1;
  for (int d = 0; d < o->rank; d++)
    p.n_outer *= o->dims[d];
  int64_t unit = p.columns * (p.rows < TILE ? p.rows : TILE);
  parallel_for(threads, p.n_outer * p.n_bands, GRAIN_ELEMENTS / unit + 1, copy_bands, &p);
}

struct gather {
  const struct shape *target;
  const int64_t *const *map;
  uint64_t fill;
  uint64_t *to;
  const uint64_t *from;
};

// One row of the target is all indices of its last dimension.
static void gather_rows(void *arg, int64_t begin, int64_t end) {
  const struct gather *g = arg;
  int last = g->target->rank - 1;
  int64_t n = g->target->dims[last];
  for (int64_t row = begin; row < end; row++) {
    int64_t rest = row, source = 0;
    bool outside = false;
    for (int d = last - 1; d >= 0; d--) {
      int64_t offset = g->map[d][rest % g->target->dims[d]];
      rest /= g->target->dims[d];
      outside |= offset < 0;
      source += offset;
    }
    uint64_t *to = g->to + row * n;
    for (int64_t i = 0; i < n; i++) {
      int64_t offset = g->map[last][i];
      to[i] = outside || offset < 0 ? g->fill : g->from[source + offset];
    }
  }
}

void strided_gather(const struct shape *target, const int64_t *const *map, uint64_t fill, uint64_t *to,
                    const uint64_t *from, int threads) {
  if (target->rank == 0) {
    to[0] = from[0];
    return;
  }
  int64_t n = target->dims[target->rank - 1];
  if (shape_count(target) == 0)
    return;
  struct gather g = {target, map, fill, to, from};
  parallel_for(threads, shape_span(target, 0, target->rank - 1), GRAIN_ELEMENTS / n + 1, gather_rows, &g);
}
