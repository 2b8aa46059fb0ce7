// SPDX-License-Identifier: Apache-2.0
#include "score/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct place {
  const struct score_row *row;
  struct interval time;
  int at; // index of the row
};

static int by_time(const void *x, const void *y) {
  const struct place *a = x, *b = y;
  if (a->row->time_ns != b->row->time_ns)
    return a->row->time_ns < b->row->time_ns ? -1 : 1;
  int names = strcmp(a->row->candidate, b->row->candidate);
  return names ? names : (a->at > b->at) - (a->at < b->at);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// How many of the sorted values are below x.
static int count_below(const double *sorted, int n, double x) {
  int low = 0, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (sorted[middle] < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static struct interval interval_of(const struct score_row *r) {
  bool known = r->time.low > 0 && r->time.low <= r->time_ns && r->time.high >= r->time_ns && isfinite(r->time.high);
  return known ? r->time : (struct interval){r->time_ns, r->time_ns};
}

static int choose(const struct score_row *const *rows, int n, const struct score_question *q, struct score_rank *out,
                  struct place *places) {
  struct score_question asked = *q;
  int n_places = 0;
  asked.ask = SCORE_ASK_TIME;
  for (int i = 0; i < n; i++) {
    out[i] = (struct score_rank){.why = score_eligible(rows[i], &asked)};
    if (!out[i].why)
      places[n_places++] = (struct place){rows[i], interval_of(rows[i]), i};
  }
  return n_places;
}

enum assay_status score_rank(const struct score_row *const *rows, int n, const struct score_question *q,
                             struct score_rank *out, struct assay_error *err) {
  struct place *places = base_calloc((size_t)n + 1, sizeof *places);
  double *lows = base_calloc(2 * (size_t)n + 1, sizeof *lows), *highs = lows ? lows + n : NULL;
  if (!places || !lows) {
    base_free(places);
    base_free(lows);
    return error_nomem(err, "ranks");
  }
  int n_places = choose(rows, n, q, out, places), next = n_places;
  qsort(places, (size_t)n_places, sizeof *places, by_time);
  for (int i = 0; i < n_places; i++) {
    lows[i] = places[i].time.low;
    highs[i] = places[i].time.high;
  }
  qsort(lows, (size_t)n_places, sizeof *lows, by_value);
  qsort(highs, (size_t)n_places, sizeof *highs, by_value);
  for (int i = 0; i < n_places; i++) {
    const struct place *p = &places[i];
    double apart = 1 + score_resolution(p->row->setting.device);
    int slower = n_places - count_below(lows, n_places, nextafter(p->time.high * apart, INFINITY));
    out[p->at].first = 1 + count_below(highs, n_places, p->time.low / apart);
    out[p->at].last = n_places - slower;
    out[p->at].order = i;
  }
  for (int i = 0; i < n; i++)
    if (out[i].why)
      out[i].order = next++;
  base_free(places);
  base_free(lows);
  return ASSAY_OK;
}
