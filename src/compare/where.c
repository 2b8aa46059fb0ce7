// SPDX-License-Identifier: Apache-2.0
// The set of wrong elements as its extent and stride in every dimension, and as text.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/parallel.h"
#include "compare/sample.h"

enum { MAX_PIECES = 256 };

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return a < 0 ? -a : a;
}

struct search {
  const struct scorer *scorer;
  unsigned flag;
  int64_t n, pieces;
  struct where found[MAX_PIECES];
};

static void where_init(struct where *w) {
  memset(w, 0, sizeof *w);
}

static void add_coordinate(struct where *w, int d, int64_t at, int64_t reference) {
  if (w->count == 0 || at < w->low[d])
    w->low[d] = at;
  if (w->count == 0 || at > w->high[d])
    w->high[d] = at;
  // Most sets have no stride; the quick test keeps the division out of their way.
  if (w->strides[d] != 1)
    w->strides[d] = gcd(w->strides[d], at - reference);
}

static void coordinates(const struct shape *shape, int64_t index, int64_t *at) {
  for (int d = shape->rank - 1; d >= 0; d--) {
    at[d] = index % shape->dims[d];
    index /= shape->dims[d];
  }
}

static void add_element(struct where *w, const struct shape *shape, int64_t index) {
  int64_t at[SHAPE_MAX_RANK], first[SHAPE_MAX_RANK];
  coordinates(shape, index, at);
  coordinates(shape, w->count ? w->first : index, first);
  for (int d = 0; d < shape->rank; d++)
    add_coordinate(w, d, at[d], first[d]);
  if (w->count == 0)
    w->first = index;
  if (w->stride != 1)
    w->stride = gcd(w->stride, index - w->first);
  w->last = index;
  w->count++;
}

static void search_pieces(void *arg, int64_t begin, int64_t end) {
  struct search *s = arg;
  struct segment g;
  for (int64_t piece = begin; piece < end; piece++) {
    struct where *w = &s->found[piece];
    int64_t from = piece * (s->n / s->pieces), to = piece + 1 == s->pieces ? s->n : from + s->n / s->pieces;
    where_init(w);
    for (int64_t i = from; i < to; i += SCORE_SEGMENT) {
      score(s->scorer, i, (int)(to - i < SCORE_SEGMENT ? to - i : SCORE_SEGMENT), &g);
      for (int k = 0; k < g.n; k++)
        if (g.flags[k] & s->flag)
          add_element(w, &s->scorer->in->type.shape, i + k);
    }
  }
}

static void join(struct where *to, const struct where *w, const struct shape *shape) {
  int64_t a[SHAPE_MAX_RANK], b[SHAPE_MAX_RANK];
  if (w->count == 0)
    return;
  if (to->count == 0) {
    *to = *w;
    return;
  }
  coordinates(shape, to->first, a);
  coordinates(shape, w->first, b);
  for (int d = 0; d < shape->rank; d++) {
    to->low[d] = w->low[d] < to->low[d] ? w->low[d] : to->low[d];
    to->high[d] = w->high[d] > to->high[d] ? w->high[d] : to->high[d];
    to->strides[d] = gcd(gcd(to->strides[d], w->strides[d]), b[d] - a[d]);
  }
  to->stride = gcd(gcd(to->stride, w->stride), w->first - to->first);
  to->last = w->last;
  to->count += w->count;
}

void where_find(const struct scorer *sc, unsigned flag, struct where *out) {
  int64_t n = shape_count(&sc->in->type.shape);
  struct search s = {.scorer = sc, .flag = flag, .n = n};
  s.pieces = n / SCORE_SEGMENT < 1 ? 1 : n / SCORE_SEGMENT < MAX_PIECES ? n / SCORE_SEGMENT : MAX_PIECES;
  parallel_for(sc->in->threads, s.pieces, 1, search_pieces, &s);
  where_init(out);
  for (int64_t i = 0; i < s.pieces; i++)
    join(out, &s.found[i], &sc->in->type.shape);
}

// How much of dimension d the set spans, 1 for all of it; 1 too when that may be chance: so few elements, so wide.
static double span_part(const struct where *w, const struct shape *shape, int d) {
  double part = (double)(w->high[d] - w->low[d] + 1) / (double)shape->dims[d];
  return part > 0.5 || (double)w->count * log(part) > log(0.01) ? 1 : part;
}

static void say_span(const struct where *w, const struct shape *shape, int d, char *text, size_t size) {
  long long low = w->low[d], high = w->high[d], extent = shape->dims[d];
  if (high + 1 == extent && low == high)
    snprintf(text, size, "at the last index of dimension %d", d);
  else if (high + 1 == extent)
    snprintf(text, size, "in the last %lld of dimension %d", extent - low, d);
  else if (low == 0 && high == 0)
    snprintf(text, size, "at the first index of dimension %d", d);
  else if (low == 0)
    snprintf(text, size, "in the first %lld of dimension %d", high + 1, d);
  else if (low == high)
    snprintf(text, size, "at index %lld of dimension %d", low, d);
  else
    snprintf(text, size, "in %lld..%lld of dimension %d", low, high, d);
}

static enum compare_hint describe_single(const struct where *w, const struct shape *shape, char *text, size_t size) {
  enum compare_hint hint = HINT_REGION;
  int n = snprintf(text, size, "the only wrong element is [");
  for (int d = 0; d < shape->rank && n > 0 && (size_t)n < size; d++) {
    n += snprintf(text + n, size - (size_t)n, "%s%lld", d ? "," : "", (long long)w->low[d]);
    if (shape->dims[d] > 1 && w->low[d] + 1 == shape->dims[d])
      hint = HINT_LAST_TILE;
  }
  if (n > 0 && (size_t)n < size)
    snprintf(text + n, size - (size_t)n, "]");
  return hint;
}

// Confined to a part of some dimensions: the tightest first.
static enum compare_hint describe_region(const struct where *w, const struct shape *shape, char *text, size_t size) {
  int best = -1, second = -1;
  char a[64], b[64];
  for (int d = 0; d < shape->rank; d++) {
    double part = shape->dims[d] > 1 ? span_part(w, shape, d) : 1;
    if (part >= 1)
      continue;
    if (best < 0 || part < span_part(w, shape, best)) {
      second = best;
      best = d;
    } else if (second < 0 || part < span_part(w, shape, second)) {
      second = d;
    }
  }
  if (best < 0)
    return HINT_NONE;
  say_span(w, shape, best, a, sizeof a);
  if (second >= 0)
    say_span(w, shape, second, b, sizeof b);
  int n = snprintf(text, size, "all %lld wrong elements are", (long long)w->count);
  snprintf(text + n, size - (size_t)n, " %s%s%s", a, second >= 0 ? " and " : "", second >= 0 ? b : "");
  if (w->high[best] + 1 == shape->dims[best])
    return HINT_LAST_TILE;
  return w->low[best] == 0 ? HINT_FIRST_ROWS : HINT_REGION;
}

// Every stride-th index of a dimension, or of the flat order, and at least half of the elements that stride reaches.
static enum compare_hint describe_stride(const struct where *w, const struct shape *shape, char *text, size_t size) {
  double box = 1;
  for (int d = 0; d < shape->rank; d++)
    box *= (double)(w->high[d] - w->low[d] + 1);
  for (int d = shape->rank - 1; d >= 0; d--) {
    int64_t span = w->high[d] - w->low[d], stride = w->strides[d];
    if (stride < 2 || span < 2 * stride)
      continue;
    double reached = box / (double)(span + 1) * (double)(span / stride + 1);
    if ((double)w->count * 2 >= reached) {
      snprintf(text, size, "wrong elements repeat every %lld along dimension %d, beginning at %lld", (long long)stride,
               d, (long long)w->low[d]);
      return HINT_PERIODIC;
    }
  }
  if (w->stride >= 2 && w->last - w->first >= 2 * w->stride && w->count * 2 >= (w->last - w->first) / w->stride + 1) {
    snprintf(text, size, "wrong elements repeat every %lld elements, beginning at flat index %lld",
             (long long)w->stride, (long long)w->first);
    return HINT_PERIODIC;
  }
  return HINT_NONE;
}

enum compare_hint where_describe(const struct where *w, const struct shape *shape, char *text, size_t size) {
  text[0] = '\0';
  if (w->count == 0 || shape_count(shape) == 1)
    return HINT_NONE;
  if (w->count == 1)
    return describe_single(w, shape, text, size);
  enum compare_hint hint = describe_stride(w, shape, text, size);
  return hint ? hint : describe_region(w, shape, text, size);
}
