// SPDX-License-Identifier: Apache-2.0
// Facts about a whole output, in one pass over it.
//
// The tensor is seen as a matrix, last dimension across, all others down. It is cut into panels by its shape alone, the
// panels into chunks, and the chunks' partial results are added in order: no fact depends on the number of threads.
// Within a panel the mean square of z is taken over rows, column blocks and tiles, so that no part of an output can
// hide a moderate error among many good elements.
//
// Gate C's limits. 1.5 over the tensor and 3 over a group presume many independent errors. Where a norm, a mean or a
// sum feeds many elements, they share one error, and the mean square fluctuates like a single draw:
//   * over the tensor: with G rows there may be as few as G draws; 1 + 4.4 / sqrt(G) bounds the root mean square of G
//     standard normal draws with probability 1 - 1e-6 for G = 1, and is below 1.5 from G = 78 on;
//   * an error common to all elements (one factor for all, one offset for all) is one draw whatever G is: it is taken
//     out of the root mean square and has its own limit, 5.4 (common_part says what is common);
//   * where the output has few elements (FEW_ELEMENTS), nothing averages: of a single element this gate and gate B see
//     the same number, and neither may be stricter than the other. So these limits have gate B's slack of 2 for errors
//     that are not as independent as the scale's: 2 (1 + 4.4 / sqrt(G)), which is gate B's own limit for one element,
//     and 2 x 5.4;
//   * over a group: a group is a single draw at worst, so among G groups the worst may lie Z(G) times above the
//     root mean square of all draws. Where that is small, as in most honest kernels, 3 remains. Elements without any
//     error are no draws: where a softmax has one large term, its weights are exactly 1 and 0, and whole rows of
//     attention are exact, next to rows in which the one error of one score moves every element. So the root mean
//     square is that of the elements that err (erring_rms). Where only some of the rows do so, their share is still
//     diluted by those that err by next to nothing, and a row that is three of its standard deviations off would be
//     wrong. In a second look at such a graph (in->single_draws) no limit is below what the worst of G single draws
//     reaches once in a million times, Z(G) without its slack.
//
// A normalization over a batch or over several dimensions feeds many rows with one mean and one variance, a norm at
// least one row. There G is how many of those there are (in->shared), in a second look; in a first one it only decides
// whether there is a second.
#include "compare/compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "compare/layout.h"
#include "compare/score.h"

static const double Z_CAP = 1e100; // its square can be added 2^40 times
static const double RMS_LIMIT = 1.5, COMMON_LIMIT = 5.4, GROUP_LIMIT = 3;
static const double SLACK = 2; // as in compare_z_limit
enum { FEW_ELEMENTS = 64 };

struct compare_steps {
  struct compare_input in; // with what there is of the answer
  struct scorer scorer;
  struct panels layout;
  struct partial *partials;
  int64_t n, done; // elements; chunks that are compared
};

static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

static int64_t min64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

void panels_init(struct panels *l, const struct shape *shape) {
  int64_t n = shape_count(shape), columns = 1;
  for (int d = shape->rank - 1; d >= 0 && columns == 1; d--) // trailing extents of 1 are not a dimension
    columns = shape->dims[d];
  *l = (struct panels){.rows = n / columns, .columns = columns};
  l->across = ceil_div(columns, PANEL_COLUMNS);
  l->panel_columns = ceil_div(columns, l->across);
  l->down = ceil_div(l->rows, max64(GROUP_MIN, PANEL_ELEMENTS / l->panel_columns));
  l->panel_rows = ceil_div(l->rows, l->down);
  l->chunks = min64(l->down * l->across, MAX_CHUNKS);
  // Few rows make wide tiles and pooled columns, few columns tall tiles and pooled rows.
  l->tile_rows = l->panel_columns < TILE ? TILE * TILE / l->panel_columns : TILE;
  l->tile_columns = l->panel_rows < TILE ? TILE * TILE / l->panel_rows : TILE;
  l->pooled_rows = l->panel_columns < GROUP_MIN ? ceil_div(GROUP_MIN, l->panel_columns) : 1;
  l->pooled_columns = l->panel_rows < GROUP_MIN ? ceil_div(GROUP_MIN, l->panel_rows) : 1;
}

// Class mismatches first, then by z, then by distance, then by place.
static bool worse(const struct compare_element *a, bool a_mismatch, const struct compare_element *b, bool b_mismatch) {
  if (a_mismatch != b_mismatch)
    return a_mismatch;
  if (a->z != b->z)
    return a->z > b->z;
  double da = fabs(a->got - a->want), db = fabs(b->got - b->want);
  if (!a_mismatch && da != db)
    return da > db;
  return a->index < b->index;
}

void keep_worst(struct partial *p, const struct compare_element *e, bool mismatch) {
  int at = p->n_worst;
  if (at == COMPARE_WORST) {
    if (!worse(e, mismatch, &p->worst[at - 1], p->worst_mismatch[at - 1]))
      return;
    at--;
  } else {
    p->n_worst++;
  }
  for (; at > 0 && worse(e, mismatch, &p->worst[at - 1], p->worst_mismatch[at - 1]); at--) {
    p->worst[at] = p->worst[at - 1];
    p->worst_mismatch[at] = p->worst_mismatch[at - 1];
  }
  p->worst[at] = *e;
  p->worst_mismatch[at] = mismatch;
}

// Bin i holds z < 2^(i - 4), read off z's exponent.
static int histogram_bin(double z) {
  uint64_t bits;
  memcpy(&bits, &z, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1022; // z < 2^exponent
  return z == 0 ? 0 : (int)max64(1, min64(exponent + 4, COMPARE_HISTOGRAM - 1));
}

static void note_over(struct partial *p, int64_t index) {
  p->n_over++;
  if (p->first_over < 0 || index < p->first_over)
    p->first_over = index;
  if (index > p->last_over)
    p->last_over = index;
}

// An element with an error beyond rounding, or of another class.
static void note_error(const struct scorer *s, struct partial *p, const struct segment *g, int i) {
  bool mismatch = g->flags[i] & (SCORE_NAN | SCORE_INF);
  double z = fabs(g->z[i]);
  p->n_nan += !!(g->flags[i] & SCORE_NAN);
  p->n_inf += !!(g->flags[i] & SCORE_INF);
  p->n_poison += !!(g->flags[i] & SCORE_POISON);
  if (g->flags[i] & SCORE_OVER)
    note_over(p, g->begin + i);
  p->histogram[histogram_bin(z)]++;
  if (!mismatch) {
    double capped = z < Z_CAP ? g->z[i] : copysign(Z_CAP, g->z[i]);
    p->z_max = p->z_max < z ? z : p->z_max;
    p->sum_z += capped;
    p->sum_z_outward += g->want[i] < 0 ? -capped : capped;
    p->sum_z_size += capped * g->size[i];
    p->infinite |= isinf(z);
  }
  if (p->n_worst == COMPARE_WORST && !mismatch && z < p->worst[COMPARE_WORST - 1].z)
    return; // as nearly all
  struct compare_element e = {.index = g->begin + i, .got = g->got[i], .want = g->want[i], .z = z};
  e.allowed = score_allowed(s, e.index);
  keep_worst(p, &e, mismatch);
}

// Takes in one stretch of a row; squares[i] receives z^2 (0 where classes differ, which another gate judges).
static void take(const struct scorer *s, struct partial *p, const struct segment *g, double *squares) {
  p->n += g->n;
  for (int i = 0; i < g->n; i++) {
    uint8_t flags = g->flags[i];
    double distance = g->distance[i];
    p->n_exact += !!(flags & SCORE_EXACT);
    p->n_not_close += !!(flags & SCORE_NOT_CLOSE);
    p->n_not_loose += !!(flags & SCORE_NOT_LOOSE);
    if (distance <= DBL_MAX) {
      if (distance > p->max_abs)
        p->max_abs = distance;
      if (distance > p->max_rel * fabs(g->want[i]) && g->want[i] != 0)
        p->max_rel = fmax(p->max_rel, distance / fabs(g->want[i]));
    }
    squares[i] = 0;
    p->sum_size2 += g->size[i] * g->size[i];
    if (g->z[i] == 0 && !(flags & SCORE_OVER)) {
      p->histogram[0]++;
      continue;
    }
    note_error(s, p, g, i);
    if (!(flags & (SCORE_NAN | SCORE_INF)))
      squares[i] = fabs(g->z[i]) < Z_CAP ? g->z[i] * g->z[i] : Z_CAP * Z_CAP;
  }
}

// A finished group: its mean square against the largest so far. Fewer than GROUP_MIN elements say little and count as
// that many.
static void close_group(struct partial *p, double *largest, double sum, int64_t count) {
  *largest = fmax(*largest, sum / (double)max64(count, GROUP_MIN));
  p->n_groups++;
}

static void close_columns(struct partial *p, double *largest, double *sums, int64_t columns, int64_t width,
                          int64_t rows) {
  for (int64_t c = 0; c < columns; c += width) {
    double sum = 0;
    int64_t count = min64(width, columns - c);
    for (int64_t k = c; k < c + count; k++)
      sum += sums[k];
    close_group(p, largest, sum, count * rows);
  }
  memset(sums, 0, (size_t)columns * sizeof *sums);
}

int64_t part_begin(int64_t n, int64_t parts, int64_t i) {
  return i * (n / parts) + min64(i, n % parts);
}

// The sums of z^2 that are open while a panel's rows go by.
struct sums {
  double row, columns[PANEL_COLUMNS], tiles[PANEL_COLUMNS];
};

static void add_row(struct sums *sums, const double *squares, int64_t width) {
  for (int64_t c = 0; c < width; c++) {
    sums->row += squares[c];
    sums->columns[c] += squares[c];
    sums->tiles[c] += squares[c];
  }
}

// After the done-th row of a panel: closes the row groups and tiles that end there.
static void close_rows(const struct panels *l, struct partial *p, struct sums *sums, int64_t done, int64_t width,
                       bool last) {
  if (done % l->pooled_rows == 0 || last) {
    p->sum_z2 += sums->row;
    close_group(p, &p->row2, sums->row, ((done - 1) % l->pooled_rows + 1) * width);
    sums->row = 0;
  }
  if (done % l->tile_rows == 0 || last)
    close_columns(p, &p->tile2, sums->tiles, width, l->tile_columns, (done - 1) % l->tile_rows + 1);
}

static void take_panel(const struct compare_steps *w, int64_t panel, struct partial *p) {
  const struct panels *l = &w->layout;
  int64_t down = panel / l->across, across = panel % l->across;
  int64_t top = part_begin(l->rows, l->down, down);
  int64_t rows = part_begin(l->rows, l->down, down + 1) - top;
  int64_t left = part_begin(l->columns, l->across, across);
  int64_t width = part_begin(l->columns, l->across, across + 1) - left;
  int64_t together = l->across == 1 ? SCORE_SEGMENT / width : 1; // short rows are scored several at once
  struct segment g;
  double squares[SCORE_SEGMENT];
  struct sums sums = {0};
  for (int64_t row = 0; row < rows; row += together) {
    int64_t n = min64(together, rows - row);
    score(&w->scorer, (top + row) * l->columns + left, (int)(n * width), &g);
    take(&w->scorer, p, &g, squares);
    for (int64_t k = 0; k < n; k++) {
      add_row(&sums, squares + k * width, width);
      close_rows(l, p, &sums, row + k + 1, width, row + k + 1 == rows);
    }
  }
  if (across == 0)
    p->n_rows += rows;
  close_columns(p, &p->column2, sums.columns, width, l->pooled_columns, rows);
}

// The scales near the worst elements: the rest of the answer may be gone when facts are made.
static void look_near(const struct compare_steps *w, struct partial *p) {
  for (int i = 0; i < p->n_worst && w->scorer.floating; i++) {
    struct near_range near = near_of(p->worst[i].index, w->n);
    for (int k = 0; k < near.n; k++)
      p->worst[i].near = fmax(p->worst[i].near, fabs((double)w->in.sigma[near.begin + k - w->in.first]));
  }
}

// Of all panels, the first of a chunk.
static int64_t chunk_panel(const struct panels *l, int64_t chunk) {
  return chunk * (l->down * l->across) / l->chunks;
}

static void take_chunks(void *arg, int64_t begin, int64_t end) {
  const struct compare_steps *w = arg;
  for (int64_t c = w->done + begin; c < w->done + end; c++) {
    struct partial *p = &w->partials[c];
    p->first_over = p->last_over = -1;
    for (int64_t i = chunk_panel(&w->layout, c); i < chunk_panel(&w->layout, c + 1); i++)
      take_panel(w, i, p);
    look_near(w, p);
  }
}

void merge_partial(struct partial *to, const struct partial *p) {
  to->n += p->n;
  to->n_nan += p->n_nan;
  to->n_inf += p->n_inf;
  to->n_poison += p->n_poison;
  to->n_exact += p->n_exact;
  to->n_not_close += p->n_not_close;
  to->n_not_loose += p->n_not_loose;
  to->n_groups += p->n_groups;
  to->n_rows += p->n_rows;
  if (p->n_over) {
    int64_t n_over = to->n_over + p->n_over;
    note_over(to, p->first_over);
    note_over(to, p->last_over);
    to->n_over = n_over;
  }
  to->max_abs = fmax(to->max_abs, p->max_abs);
  to->max_rel = fmax(to->max_rel, p->max_rel);
  to->z_max = fmax(to->z_max, p->z_max);
  to->sum_z2 += p->sum_z2;
  to->sum_z += p->sum_z;
  to->sum_z_outward += p->sum_z_outward;
  to->sum_z_size += p->sum_z_size;
  to->sum_size2 += p->sum_size2;
  to->row2 = fmax(to->row2, p->row2);
  to->column2 = fmax(to->column2, p->column2);
  to->tile2 = fmax(to->tile2, p->tile2);
  to->infinite |= p->infinite;
  for (int i = 0; i < COMPARE_HISTOGRAM; i++)
    to->histogram[i] += p->histogram[i];
  for (int i = 0; i < p->n_worst; i++)
    keep_worst(to, &p->worst[i], p->worst_mismatch[i]);
}

// The part of the errors that one draw explains, as a root mean square: all elements moved by as many units of their
// scales, or away from zero, or in proportion to their values, as an error of a norm that divides them does it.
static double common_part(const struct partial *t, double n) {
  double scaled = t->sum_size2 > 0 ? fabs(t->sum_z_size) / sqrt(t->sum_size2 * n) : 0;
  return fmax(scaled, fmax(fabs(t->sum_z), fabs(t->sum_z_outward)) / n);
}

// Gate C's limits over the output: see above.
static void limits_of_output(const struct scorer *s, double n, double rows, struct compare_facts *f) {
  double shared = s->in->shared > 0 ? fmin(rows, (double)s->in->shared) : rows;
  double draws = 1 + 4.4 / sqrt(s->in->single_draws ? shared : rows);
  bool few = n <= FEW_ELEMENTS;
  f->shared = s->in->shared > 0 && 1 + 4.4 / sqrt(shared) > RMS_LIMIT;
  f->z_rms_limit = few ? fmin(SLACK * draws, s->z_limit) : fmax(RMS_LIMIT, draws);
  f->z_common_limit = few ? fmin(SLACK * COMMON_LIMIT, s->z_limit) : COMMON_LIMIT;
  f->few_draws = few || draws > RMS_LIMIT;
}

// The root mean square of z where there is an error at all, if that is in one element of SPARSE at least: fewer show
// nothing of what is usual, and are what groups are looked at for.
static double erring_rms(const struct partial *t, double n) {
  enum { SPARSE = 8 };
  double erring = n - (double)t->histogram[0];
  return sqrt(t->sum_z2 / (erring >= n / SPARSE ? erring : n));
}

void facts_finish(const struct scorer *s, const struct partial *t, struct compare_facts *f) {
  double n = (double)(t->n > 0 ? t->n : 1), rows = (double)(t->n_rows > 0 ? t->n_rows : 1);
  int64_t groups = t->n_groups > 0 ? t->n_groups : 1;
  *f = (struct compare_facts){.n = t->n,
                              .rows = t->n_rows,
                              .n_nan_mismatch = t->n_nan,
                              .n_inf_mismatch = t->n_inf,
                              .n_poisoned = t->n_poison,
                              .n_exact = t->n_exact,
                              .n_over = t->n_over,
                              .max_abs = t->max_abs,
                              .max_rel = t->max_rel,
                              .z_max = t->z_max,
                              .z_rms = t->infinite ? INFINITY : sqrt(t->sum_z2 / n),
                              .z_row_rms = sqrt(t->row2),
                              .z_column_rms = sqrt(t->column2),
                              .z_tile_rms = sqrt(t->tile2),
                              .z_common = common_part(t, n),
                              .z_limit = s->z_limit,
                              .mean_z_signed = t->sum_z / sqrt(n),
                              .n_allclose_bad = t->n_not_close,
                              .n_loose_bad = t->n_not_loose,
                              .n_worst = t->n_worst,
                              .first_over = t->first_over,
                              .last_over = t->last_over};
  limits_of_output(s, n, rows, f);
  double least = s->in->single_draws ? fmax(GROUP_LIMIT, compare_z_limit(groups) / SLACK) : GROUP_LIMIT;
  f->z_group_limit = isinf(f->z_rms) ? least : fmax(least, erring_rms(t, n) * compare_z_limit(groups));
  // One- and two-byte elements meet the pattern by chance where values are wrong at random.
  if (s->bytes < 4 && 2 * f->n_poisoned < f->n_over)
    f->n_poisoned = 0;
  memcpy(f->histogram, t->histogram, sizeof f->histogram);
  memcpy(f->worst, t->worst, sizeof f->worst);
}

struct near_range near_of(int64_t index, int64_t n) {
  int64_t begin = max64(0, index - NEAR), end = min64(n, index + NEAR + 1);
  return (struct near_range){begin, (int)(end - begin)};
}

static void note_scale_near(struct compare_facts *f, const struct compare_element *e, double largest) {
  f->z_near = fmax(f->z_near, largest > 0 ? fabs(e->got - e->want) / largest : INFINITY);
}

void note_near(struct compare_facts *f, int worst, const float *sigma, int n) {
  double largest = 0;
  for (int i = 0; i < n && sigma; i++)
    largest = fmax(largest, fabs((double)sigma[i]));
  note_scale_near(f, &f->worst[worst], largest);
}

void take_hint(struct compare_facts *f, const struct compare_facts *part, int64_t begin, int64_t n) {
  f->hint = part->hint;
  if (n == f->n)
    snprintf(f->hint_text, sizeof f->hint_text, "%s", part->hint_text);
  else if (part->hint != HINT_NONE)
    snprintf(f->hint_text, sizeof f->hint_text, "elements %lld to %lld: %.110s", (long long)begin,
             (long long)(begin + n - 1), part->hint_text);
}

enum assay_status compare_begin(const struct compare_input *in, struct compare_steps **out, struct assay_error *err) {
  struct compare_steps *c = base_calloc(1, sizeof *c);
  if (!c)
    return error_nomem(err, "the facts of a comparison");
  c->in = *in;
  c->n = shape_count(&in->type.shape);
  scorer_init(&c->scorer, &c->in);
  if (c->n > 0)
    panels_init(&c->layout, &in->type.shape);
  c->partials = base_calloc((size_t)c->layout.chunks + 1, sizeof *c->partials);
  if (!c->partials) {
    base_free(c);
    return error_nomem(err, "the facts of a comparison");
  }
  *out = c;
  return ASSAY_OK;
}

void compare_end(struct compare_steps *c) {
  if (c)
    base_free(c->partials);
  base_free(c);
}

// The elements that a chunk needs, neighbours included.
static void chunk_range(const struct compare_steps *c, int64_t chunk, int64_t *begin, int64_t *end) {
  const struct panels *l = &c->layout;
  int64_t last = chunk_panel(l, chunk + 1) - 1;
  *begin = max64(0, part_begin(l->rows, l->down, chunk_panel(l, chunk) / l->across) * l->columns - NEAR);
  *end = min64(c->n, part_begin(l->rows, l->down, last / l->across + 1) * l->columns + NEAR);
}

bool compare_needs(const struct compare_steps *c, int64_t *begin, int64_t *end) {
  if (c->done == c->layout.chunks)
    return false;
  chunk_range(c, c->done, begin, end);
  return true;
}

void compare_some(struct compare_steps *c, const struct compare_answer *a) {
  int64_t begin, end, chunks = 0;
  while (c->done + chunks < c->layout.chunks) {
    chunk_range(c, c->done + chunks, &begin, &end);
    if (begin < a->first || end > a->end)
      break;
    chunks++;
  }
  c->in.want = a->want;
  c->in.want_int = a->want_int;
  c->in.sigma = a->sigma;
  c->in.first = a->first;
  parallel_for(c->in.threads, chunks, 1, take_chunks, c);
  c->done += chunks;
}

void compare_facts_of(const struct compare_steps *c, struct compare_facts *facts) {
  struct partial total = {.first_over = -1, .last_over = -1};
  for (int64_t i = 0; i < c->done; i++)
    merge_partial(&total, &c->partials[i]);
  facts_finish(&c->scorer, &total, facts);
  for (int i = 0; i < facts->n_worst && compare_gates_fail(facts); i++)
    note_scale_near(facts, &facts->worst[i], facts->worst[i].near);
}

enum assay_status compare_hint(const struct compare_steps *c, const struct compare_answer *a, int64_t first,
                               int64_t count, struct compare_facts *facts, struct assay_error *err) {
  struct compare_input in = c->in;
  struct compare_facts part;
  int64_t inner = shape_span(&in.type.shape, 1, in.type.shape.rank), begin = first * inner, at = begin - a->first;
  in.type.shape.dims[0] = count;
  in.got = (const uint8_t *)in.got + (size_t)begin * c->scorer.bytes;
  in.want = a->want ? a->want + at : NULL;
  in.want_int = a->want_int ? a->want_int + at : NULL;
  in.sigma = a->sigma ? a->sigma + at : NULL;
  in.first = 0;
  in.has_poison = in.has_poison && (size_t)begin * c->scorer.bytes % 4 == 0;
  enum assay_status status = compare_outputs(&in, &part, err);
  if (!status)
    take_hint(facts, &part, begin, count * inner);
  return status;
}

enum assay_status compare_outputs(const struct compare_input *in, struct compare_facts *facts,
                                  struct assay_error *err) {
  struct compare_steps *c;
  enum assay_status status = compare_begin(in, &c, err);
  if (status)
    return status;
  compare_some(c, &(struct compare_answer){in->want, in->want_int, in->sigma, 0, c->n});
  compare_facts_of(c, facts);
  if (compare_gates_fail(facts))
    hint_find(&c->scorer, facts);
  compare_end(c);
  return ASSAY_OK;
}

double compare_z_limit(int64_t n) {
  return 2 * sqrt(2 * log(2 * (double)(n > 0 ? n : 1) / 1e-6));
}
