// SPDX-License-Identifier: Apache-2.0
#include "base/shape.h"

#include <stdio.h>
#include <string.h>

struct shape shape_of(int rank, const int64_t *dims) {
  struct shape s = {.rank = rank};
  for (int i = 0; i < rank; i++)
    s.dims[i] = dims[i];
  return s;
}

bool shape_equal(const struct shape *a, const struct shape *b) {
  if (a->rank != b->rank)
    return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i])
      return false;
  return true;
}

int64_t shape_span(const struct shape *s, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++)
    n *= s->dims[i];
  return n;
}

int64_t shape_count(const struct shape *s) {
  return shape_span(s, 0, s->rank);
}

enum assay_status shape_check(const struct shape *s, struct assay_error *err) {
  char text[SHAPE_TEXT_BYTES];
  if (s->rank < 0 || s->rank > SHAPE_MAX_RANK)
    return error_set(err, ASSAY_ERR_LIMIT, "rank %d is beyond the limit of %d dimensions", s->rank, SHAPE_MAX_RANK);
  int64_t n = 1;
  for (int i = 0; i < s->rank; i++) {
    int64_t d = s->dims[i];
    if (d < 0 || d > SHAPE_MAX_ELEMENTS || (d > 0 && n > SHAPE_MAX_ELEMENTS / d))
      return error_set(err, ASSAY_ERR_LIMIT, "shape %s is negative or has more than 2^40 elements",
                       shape_text(s, text));
    n *= d > 0 ? d : 1; // an extent of 0 must not hide an absurd one after it
  }
  return ASSAY_OK;
}

enum assay_status shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out,
                                  struct assay_error *err) {
  struct shape r = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (int i = 0; i < r.rank; i++) {
    int ia = i - (r.rank - a->rank), ib = i - (r.rank - b->rank);
    int64_t da = ia < 0 ? 1 : a->dims[ia], db = ib < 0 ? 1 : b->dims[ib];
    if (da != db && da != 1 && db != 1) {
      char ta[SHAPE_TEXT_BYTES], tb[SHAPE_TEXT_BYTES];
      return error_set(err, ASSAY_ERR_INVALID, "shapes %s and %s do not broadcast", shape_text(a, ta),
                       shape_text(b, tb));
    }
    r.dims[i] = da == 1 ? db : da;
  }
  *out = r;
  return ASSAY_OK;
}

void shape_strides(const struct shape *s, int64_t *strides) {
  int64_t step = 1;
  for (int i = s->rank - 1; i >= 0; i--) {
    strides[i] = step;
    step *= s->dims[i];
  }
}

void shape_broadcast_strides(const struct shape *s, const struct shape *to, int64_t *strides) {
  int64_t own[SHAPE_MAX_RANK] = {0};
  shape_strides(s, own);
  int missing = to->rank - s->rank;
  for (int i = 0; i < to->rank; i++)
    strides[i] = i < missing || s->dims[i - missing] == 1 ? 0 : own[i - missing];
}

const char *shape_text(const struct shape *s, char *text) {
  size_t n = 0;
  n += (size_t)snprintf(text, SHAPE_TEXT_BYTES, "[");
  for (int i = 0; i < s->rank && i < SHAPE_MAX_RANK && n < SHAPE_TEXT_BYTES; i++)
    n += (size_t)snprintf(text + n, SHAPE_TEXT_BYTES - n, i ? ",%lld" : "%lld", (long long)s->dims[i]);
  if (n < SHAPE_TEXT_BYTES)
    snprintf(text + n, SHAPE_TEXT_BYTES - n, "]");
  return text;
}

enum assay_status shape_axis(int64_t axis, int rank, int *out, struct assay_error *err) {
  if (axis < -rank || axis >= rank)
    return error_set(err, ASSAY_ERR_INVALID, "axis %lld is outside -%d..%d of a tensor of rank %d", (long long)axis,
                     rank, rank - 1, rank);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return ASSAY_OK;
}
