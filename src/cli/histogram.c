// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "score/figure.h"
#include "stats/stats.h"

enum { BINS = 12, BAR = 48 };

struct bins {
  int count[BINS + 1]; // the last: above all bins
  int n, most, above;
  double from, width;
};

static int known(const double *ns, int n, double less, double *out) {
  int count = 0;
  for (int i = 0; i < n; i++)
    if (isfinite(ns[i]))
      out[count++] = ns[i] - less;
  return count;
}

// The largest sample that is no outlier as box plots draw them (Tukey's far ones: three times the middle half above
// it): calls that were held up would make all others one line. Where half of the samples are equal, that of 95 %.
static double last_of_bins(const double *x, int n) {
  double low = stats_quantile(x, n, 0), high = stats_quantile(x, n, 1), last = low;
  double q1 = stats_quantile(x, n, 0.25), q3 = stats_quantile(x, n, 0.75), usual = stats_quantile(x, n, 0.95);
  double fence = q3 > q1 ? q3 + 3 * (q3 - q1) : high - low > 5 * (usual - low) && usual > low ? usual : high;
  for (int i = 0; i < n; i++)
    last = x[i] <= fence && x[i] > last ? x[i] : last;
  return last;
}

static void fill(const double *x, int n, struct bins *b) {
  double low = stats_quantile(x, n, 0), high = last_of_bins(x, n);
  b->from = low;
  b->n = high > low ? BINS : 1;
  b->width = (high - low) / b->n;
  for (int i = 0; i < n; i++) {
    int at = b->width > 0 ? (int)((x[i] - low) / b->width) : 0;
    if (x[i] > high)
      b->above++;
    else
      b->count[at < b->n ? at : b->n - 1]++;
  }
  for (int i = 0; i < b->n; i++)
    b->most = b->count[i] > b->most ? b->count[i] : b->most;
  b->most = b->above > b->most ? b->above : b->most;
}

static void put_line(struct buf *out, const char *begins, int count, int most) {
  char bar[BAR + 1];
  int length = (int)ceil((double)BAR * count / most); // one is never nothing
  memset(bar, '#', (size_t)length);
  bar[length] = 0;
  buf_printf(out, "%12s |%s%s%d\n", begins, bar, length ? " " : "", count);
}

void cli_histogram(const double *ns, int n, double less, struct buf *out) {
  double *x = base_calloc((size_t)(n > 0 ? n : 0) + 1, sizeof *x);
  int count = x ? known(ns, n, less, x) : 0;
  out->failed = out->failed || !x;
  if (count == 0) {
    buf_puts(out, "no samples: the candidate has no time\n");
    base_free(x);
    return;
  }
  struct bins b = {0};
  fill(x, count, &b);
  double median = stats_median(x, count);
  struct score_unit unit = score_time_unit(&median, 1);
  int decimals = score_decimals(NAN, b.width / unit.ns);
  decimals = b.width > 0 ? decimals : score_decimals(b.from / unit.ns, NAN);
  char text[48];
  buf_printf(out, "%d samples, %s from\n", count, unit.name);
  for (int i = 0; i < b.n; i++)
    put_line(out, score_number((b.from + i * b.width) / unit.ns, decimals, text, sizeof text), b.count[i], b.most);
  if (b.above > 0)
    put_line(out, "and more", b.above, b.most);
  base_free(x);
}
