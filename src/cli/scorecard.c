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
#include "score/letters.h"
#include "stats/stats.h"

// The file that somebody wrote: what the label names, without a tuner's choice behind it, here or with the kernels that
// come with Assay; else the candidate as it was judged.
static enum assay_status read_author_file(const struct side *s, const struct side_result *r, char **text, size_t *n,
                                          struct assay_error *err) {
  static const char shipped[] = "/kernels/";
  char path[4096], own[8192];
  snprintf(path, sizeof path, "%s", r->label);
  char *choice = strstr(path, " ("), *kernels = strstr(path, shipped);
  if (choice)
    *choice = '\0';
  if (file_read(path, FORM_MOST_BYTES, text, n, err) == ASSAY_OK)
    return ASSAY_OK;
  snprintf(own, sizeof own, "%s/..%s", s->judging.paths.tasks, kernels ? kernels : "");
  return file_read(kernels ? own : r->file, FORM_MOST_BYTES, text, n, err);
}

// Lines of the candidates that somebody wrote: none where the maker wrote them for one shape (baselines). A file that
// is not here has no number of them.
static double lines_of(const struct side *s, int maker) {
  double *lines = base_calloc(s->n + 1, sizeof *lines), median = NAN;
  int n = 0;
  for (size_t i = 0; i < s->n && lines; i++) {
    const struct side_result *r = &s->shapes[i].results[maker];
    char *text = NULL;
    size_t size = 0;
    struct assay_error ignored = {0};
    if (!r->asked || r->refusal)
      continue;
    if (!cli_is_baseline(r->label) && read_author_file(s, r, &text, &size, &ignored) != ASSAY_OK)
      continue;
    for (size_t k = 0; k < size; k++)
      lines[n] += text[k] == '\n' && k > 0 && text[k - 1] != '\n';
    base_free(text);
    n++;
  }
  if (n > 0)
    median = stats_median(lines, n);
  base_free(lines);
  return median;
}

static double right_part(const struct side *s, int maker) {
  int asked = 0, right = 0;
  for (size_t i = 0; i < s->n; i++) {
    const struct side_result *r = &s->shapes[i].results[maker];
    asked += r->asked && !r->not_judged;
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

// A shape on one device, as the newest verdict says that a maker's run has of it.
struct device_shape {
  const char *device, *task, *workload;
  bool right;
};

struct device_shapes {
  struct arena arena;
  struct device_shape *all;
  size_t n, capacity;
};

static bool take_device_shape(void *arg, const struct store_verdict *v) {
  struct device_shapes *d = arg;
  size_t i = 0;
  if (v->reason == ASSAY_REASON_JUDGE_FAILED)
    return true;
  while (i < d->n && (strcmp(d->all[i].device, v->device) != 0 || strcmp(d->all[i].workload, v->workload) != 0 ||
                      strcmp(d->all[i].task, v->task) != 0))
    i++;
  if (i == d->n && i == d->capacity) {
    struct device_shape *more = arena_grow(&d->arena, d->all, d->n, &d->capacity, sizeof *more);
    if (!more)
      return false;
    d->all = more;
  }
  if (i == d->n)
    d->all[d->n++] = (struct device_shape){.device = arena_strdup(&d->arena, v->device),
                                           .task = arena_strdup(&d->arena, v->task),
                                           .workload = arena_strdup(&d->arena, v->workload)};
  struct device_shape *shape = &d->all[i];
  shape->right = v->reason == ASSAY_REASON_PASS;
  return shape->device && shape->task && shape->workload;
}

// The part of a device's shapes that is right.
static double right_on(const struct device_shapes *d, const char *device) {
  int asked = 0, right = 0;
  for (size_t i = 0; i < d->n; i++) {
    bool here = strcmp(d->all[i].device, device) == 0;
    asked += here;
    right += here && d->all[i].right;
  }
  return (double)right / asked;
}

// On the worst of the devices that the maker's run has verdicts of, of two at least. A kernel that was replaced counts
// as what replaced it.
static double portable_part(const struct side *s, int maker) {
  char run[SIDE_RUN_BYTES];
  struct device_shapes d = {0};
  struct assay_error ignored = {0};
  double worst = 1;
  bool several = false;
  side_run_of(s, maker, run);
  if (store_each(s->store, run, take_device_shape, &d, &ignored) != ASSAY_OK)
    d.n = 0;
  for (size_t i = 0; i < d.n; i++) {
    several = several || strcmp(d.all[i].device, d.all[0].device) != 0;
    worst = fmin(worst, right_on(&d, d.all[i].device));
  }
  arena_release(&d.arena);
  return several ? worst : NAN;
}

static double making_s(const struct side *s, int maker) {
  double sum = 0;
  int n = 0;
  for (size_t i = 0; i < s->n; i++) {
    const struct side_result *r = &s->shapes[i].results[maker];
    n += r->asked && !r->refusal;
    if (r->making_unknown)
      return NAN;
    sum += r->asked && !r->refusal ? r->making_s : 0;
  }
  return n > 0 ? sum / n : NAN;
}

// A maker's number of each criterion; NaN: not measured.
static double (*const numbers[LETTER_CRITERIA])(const struct side *s, int maker) = {
    [LETTER_EASE] = lines_of,          [LETTER_CORRECTNESS] = right_part,
    [LETTER_PERFORMANCE] = speed_part, [LETTER_PORTABILITY] = portable_part,
    [LETTER_COST] = making_s,
};

void scorecard_print(const struct side *s, FILE *to) {
  const char *headers[LETTER_CRITERIA + 1] = {"maker"};
  for (int c = 0; c < LETTER_CRITERIA; c++)
    headers[c + 1] = letter_rules[c].name;
  struct table *t = table_create(headers, LETTER_CRITERIA + 1, "llllll");
  for (int m = 0; m < s->n_makers && t; m++) {
    const char *row[LETTER_CRITERIA + 1] = {s->makers[m].name};
    char cells[LETTER_CRITERIA][48];
    for (int c = 0; c < LETTER_CRITERIA; c++) {
      double x = numbers[c](s, m);
      snprintf(cells[c], sizeof cells[c], "-");
      if (!isnan(x))
        snprintf(cells[c], sizeof cells[c], "%c (%.3g)", letter_of((enum letter_criterion)c, x), x);
      row[c + 1] = cells[c];
    }
    table_row(t, row);
  }
  fprintf(to, "\n");
  if (t)
    table_print(t, to);
  table_destroy(t);
  for (int c = 0; c < LETTER_CRITERIA; c++)
    cells_printf(to, "%s%s: %s\n", c ? "" : "\n", letter_rules[c].name, letter_rules[c].rule);
}

json_t *scorecard_json(const struct side *s) {
  json_t *rows = json_array();
  for (int m = 0; m < s->n_makers; m++)
    for (int c = 0; c < LETTER_CRITERIA; c++) {
      double x = numbers[c](s, m);
      char letter[2] = {letter_of((enum letter_criterion)c, x), '\0'};
      json_array_append_new(rows, json_pack("{s:s, s:s, s:o, s:o, s:s}", "maker", s->makers[m].name, "criterion",
                                            letter_rules[c].name, "letter", cli_json_text(isnan(x) ? NULL : letter),
                                            "number", cli_json_real(x), "rule", letter_rules[c].rule));
    }
  return rows;
}
