// SPDX-License-Identifier: Apache-2.0
// Letters for makers, each from one number and one rule that stand next to it. All of it follows from the verdicts and
// trials in the store.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/json.h"
#include "cli/side.h"
#include "judge/form.h"
#include "stats/stats.h"

enum { LETTERS = 4 }; // A to D have a bound; E is what is left

// A criterion: a maker's number (NaN: not measured) and the bounds of its letters.
struct criterion {
  const char *name, *rule;
  bool less; // smaller is better
  double bounds[LETTERS];
  double (*number)(const struct side *s, int maker);
};

// Lines of the candidates that somebody wrote: none where the maker wrote them for one shape (baselines).
static double lines_of(const struct side *s, int maker) {
  double lines[256];
  int n = 0;
  for (size_t i = 0; i < s->n && n < 256; i++) {
    const struct side_result *r = &s->shapes[i].results[maker];
    char *text = NULL;
    size_t size = 0;
    struct assay_error ignored = {0};
    if (!r->asked || r->refusal)
      continue;
    lines[n] = 0;
    if (!cli_is_baseline(r->label) && file_read(r->file, FORM_MOST_BYTES, &text, &size, &ignored) == ASSAY_OK)
      for (size_t k = 0; k < size; k++)
        lines[n] += text[k] == '\n' && k > 0 && text[k - 1] != '\n';
    base_free(text);
    n++;
  }
  return n > 0 ? stats_median(lines, n) : NAN;
}

static double right_part(const struct side *s, int maker) {
  int asked = 0, right = 0;
  for (size_t i = 0; i < s->n; i++) {
    const struct side_result *r = &s->shapes[i].results[maker];
    asked += r->asked;
    right += r->asked && !r->refusal && r->reason == ASSAY_REASON_PASS;
  }
  return asked > 0 ? (double)right / asked : NAN;
}

// Geometric mean of the fastest time of all makers over its own, where it is right.
static double speed_part(const struct side *s, int maker) {
  double *parts = base_calloc(s->n + 1, sizeof *parts), mean = NAN;
  int n = 0;
  for (size_t i = 0; i < s->n && parts; i++) {
    const struct side_shape *shape = &s->shapes[i];
    double own = shape->results[maker].time_ns;
    if (shape->winner >= 0 && own > 0)
      parts[n++] = shape->results[shape->winner].time_ns / own;
  }
  if (n > 0)
    mean = stats_geomean(parts, n);
  base_free(parts);
  return mean;
}

struct devices {
  int n, right[8], asked[8];
  char names[8][64];
};

static bool count_device(void *arg, const struct store_verdict *v) {
  struct devices *d = arg;
  int i = 0;
  while (i < d->n && strcmp(d->names[i], v->device) != 0)
    i++;
  if (i == d->n && d->n < 8)
    snprintf(d->names[d->n++], sizeof d->names[0], "%.60s", v->device);
  if (i < 8) {
    d->asked[i]++;
    d->right[i] += v->reason == ASSAY_REASON_PASS;
  }
  return true;
}

// On the worst of the devices that the maker's run has verdicts of, of two at least.
static double portable_part(const struct side *s, int maker) {
  char run[SIDE_RUN_BYTES];
  struct devices d = {0};
  struct assay_error ignored = {0};
  double worst = 1;
  side_run_of(s, maker, run);
  if (store_each(s->store, run, count_device, &d, &ignored) != ASSAY_OK || d.n < 2)
    return NAN;
  for (int i = 0; i < d.n; i++)
    worst = fmin(worst, (double)d.right[i] / d.asked[i]);
  return worst;
}

static double making_s(const struct side *s, int maker) {
  double sum = 0;
  int n = 0;
  for (size_t i = 0; i < s->n; i++) {
    const struct side_result *r = &s->shapes[i].results[maker];
    n += r->asked && !r->refusal;
    sum += r->asked && !r->refusal ? r->making_s : 0;
  }
  return n > 0 ? sum / n : NAN;
}

static const struct criterion criteria[] = {
    {"ease",
     "lines that somebody wrote, median over shapes: A none, B to 50, C to 200, D to 800",
     true,
     {0, 50, 200, 800},
     lines_of},
    {"correctness",
     "part of the shapes that are right: A all, B 95 %, C 90 %, D 75 %",
     false,
     {1, 0.95, 0.90, 0.75},
     right_part},
    {"performance",
     "the fastest maker's time over its own, geometric mean: A 95 %, B 80 %, C 60 %, D 40 %",
     false,
     {0.95, 0.80, 0.60, 0.40},
     speed_part},
    {"portability",
     "part that is right on the worst of its devices, two at least: A all, B 95 %, C 90 %, D 75 %",
     false,
     {1, 0.95, 0.90, 0.75},
     portable_part},
    {"cost", "seconds of making or tuning a shape: A below 1, B 10, C 100, D 1000", true, {1, 10, 100, 1000}, making_s},
};
enum { N_CRITERIA = sizeof criteria / sizeof *criteria };

static char letter_of(const struct criterion *c, double x) {
  if (isnan(x))
    return '-';
  for (int i = 0; i < LETTERS; i++)
    if (c->less ? x <= c->bounds[i] : x >= c->bounds[i])
      return (char)('A' + i);
  return 'E';
}

void scorecard_print(const struct side *s, FILE *to) {
  const char *headers[N_CRITERIA + 1] = {"maker"};
  for (int c = 0; c < N_CRITERIA; c++)
    headers[c + 1] = criteria[c].name;
  struct table *t = table_create(headers, N_CRITERIA + 1, "llllll");
  for (int m = 0; m < s->n_makers && t; m++) {
    const char *row[N_CRITERIA + 1] = {s->makers[m].name};
    char cells[N_CRITERIA][48];
    for (int c = 0; c < N_CRITERIA; c++) {
      double x = criteria[c].number(s, m);
      snprintf(cells[c], sizeof cells[c], "-");
      if (!isnan(x))
        snprintf(cells[c], sizeof cells[c], "%c (%.3g)", letter_of(&criteria[c], x), x);
      row[c + 1] = cells[c];
    }
    table_row(t, row);
  }
  fprintf(to, "\n");
  if (t)
    table_print(t, to);
  table_destroy(t);
  for (int c = 0; c < N_CRITERIA; c++)
    fprintf(to, "%s%s: %s\n", c ? "" : "\n", criteria[c].name, criteria[c].rule);
}

json_t *scorecard_json(const struct side *s) {
  json_t *rows = json_array();
  for (int m = 0; m < s->n_makers; m++)
    for (int c = 0; c < N_CRITERIA; c++) {
      double x = criteria[c].number(s, m);
      char letter[2] = {letter_of(&criteria[c], x), '\0'};
      json_array_append_new(rows, json_pack("{s:s, s:s, s:o, s:o, s:s}", "maker", s->makers[m].name, "criterion",
                                            criteria[c].name, "letter", cli_json_text(isnan(x) ? NULL : letter),
                                            "number", cli_json_real(x), "rule", criteria[c].rule));
    }
  return rows;
}
