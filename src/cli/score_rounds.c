// SPDX-License-Identifier: Apache-2.0
// assay score RUN RUN... --rounds: what became of each task from one run to the next; --devices: one kernel's speeds on
// several devices.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/score.h"
#include "cli/table.h"
#include "report/report.h"
#include "score/spread.h"

static const char *interval_text(const struct interval *i, char *text, size_t size) {
  if (isnan(i->low))
    text[0] = '\0';
  else
    snprintf(text, size, " [%.3g, %.3g]", i->low, i->high);
  return text;
}

const char *score_spread_text(const struct score_spread *s, char *text, size_t size) {
  char mean[48], geomean[48];
  if (s->n == 0)
    snprintf(text, size, "none");
  else
    snprintf(text, size, "%d: mean %.4f%s, median %.4g, geometric mean %.4g%s, %d below 1", s->n, s->mean,
             interval_text(&s->mean_interval, mean, sizeof mean), s->median, s->geomean,
             interval_text(&s->geomean_interval, geomean, sizeof geomean), s->slower);
  return text;
}

static json_t *interval_json(const struct interval *i) {
  return isnan(i->low) ? json_null() : json_pack("[f, f]", i->low, i->high);
}

json_t *score_spread_json(const struct score_spread *s) {
  return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o}", "n", s->n, "mean", cli_json_real(s->mean),
                   "mean_interval", interval_json(&s->mean_interval), "median", cli_json_real(s->median), "geomean",
                   cli_json_real(s->geomean), "geomean_interval", interval_json(&s->geomean_interval), "slower",
                   s->slower, "least", cli_json_real(s->least), "most", cli_json_real(s->most));
}

// ---- the tasks of a run

struct outcome {
  const char *task, *hash; // hash and setting: of what `value` is of
  const struct score_setting *setting;
  bool right;
  double value; // the highest speed; without a baseline the least time in ns
};

struct outcomes {
  struct outcome *items;
  int n;
};

static bool is_better(const char *baseline, double value, double than) {
  return !isnan(value) && (isnan(than) || (baseline ? value > than : value < than));
}

static double value_of(const struct score_row *row, const char *baseline, bool *right) {
  struct score_question q = {.ask = baseline ? SCORE_ASK_SPEED : SCORE_ASK_TIME, .baseline = baseline};
  *right = score_is_right(row) && !row->suspicious;
  if (score_eligible(row, &q) != SCORE_ELIGIBLE)
    return NAN;
  return baseline ? score_baseline_of(row, baseline)->speedup : row->time_ns;
}

// The same kernel, asked the same: times at two sizes, or of two forms, are no times of two devices.
static bool pairs(const struct outcome *a, const struct outcome *b) {
  const struct score_setting *s = a->setting, *t = b->setting;
  return strcmp(a->task, b->task) == 0 && strcmp(a->hash, b->hash) == 0 && strcmp(s->workload, t->workload) == 0 &&
         strcmp(s->form, t->form) == 0 && strcmp(s->contract, t->contract) == 0;
}

static bool is_same(const struct outcome *a, const struct outcome *b, bool apart) {
  if (!apart)
    return strcmp(a->task, b->task) == 0;
  return pairs(a, b) && strcmp(a->setting->device, b->setting->device) == 0;
}

// One outcome a task, or with `apart` one a task, kernel and setting. Strings are the rows'. The array has room for
// all.
static void gather(const struct report_rows *rows, const char *baseline, bool apart, struct outcomes *out) {
  for (int i = 0; i < rows->n; i++) {
    const struct score_row *row = &rows->items[i];
    bool right;
    double value = value_of(row, baseline, &right);
    const struct outcome fresh = {row->task, row->candidate_hash, &row->setting, false, NAN};
    int k = 0;
    while (k < out->n && !is_same(&out->items[k], &fresh, apart))
      k++;
    struct outcome *o = &out->items[k];
    if (k == out->n)
      out->items[out->n++] = fresh;
    o->right = o->right || right;
    o->value = is_better(baseline, value, o->value) ? value : o->value;
  }
}

static enum assay_status read_outcomes(struct store *store, const char *run, const struct score_options *o, bool apart,
                                       struct report_rows *rows, struct outcomes *out, struct assay_error *err) {
  int before = rows->n;
  enum assay_status status = score_read(store, run, o, rows, err);
  if (status)
    return status;
  struct outcome *more = base_realloc(out->items, ((size_t)out->n + (size_t)(rows->n - before) + 1) * sizeof *more);
  if (!more)
    return error_nomem(err, "outcomes");
  out->items = more;
  const struct report_rows fresh = {.items = rows->items + before, .n = rows->n - before};
  gather(&fresh, o->baseline, apart, out);
  return ASSAY_OK;
}

// ---- from one run to the next

struct step {
  const char *from, *to;
  int only_one; // tasks that one of both runs has
  struct score_transitions t;
};

static bool compare_rounds(const struct outcomes *a, const struct outcomes *b, bool speeds, struct step *out) {
  struct score_change *changes = base_calloc((size_t)a->n + 1, sizeof *changes);
  int n = 0;
  for (int i = 0; i < a->n && changes; i++)
    for (int k = 0; k < b->n; k++)
      if (strcmp(a->items[i].task, b->items[k].task) == 0)
        changes[n++] = (struct score_change){a->items[i].right, b->items[k].right, speeds ? a->items[i].value : NAN,
                                             speeds ? b->items[k].value : NAN};
  out->only_one = a->n + b->n - 2 * n;
  bool ok = changes && score_transitions_of(changes, n, &out->t);
  base_free(changes);
  return ok;
}

static json_t *step_json(const struct step *s) {
  const struct score_transitions *t = &s->t;
  json_t *speeds = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "rescued", score_spread_json(&t->rescued_speed),
                             "persistent_before", score_spread_json(&t->persistent_before), "persistent_after",
                             score_spread_json(&t->persistent_after), "lost", score_spread_json(&t->lost_speed),
                             "before", score_spread_json(&t->before), "after", score_spread_json(&t->after));
  return cli_json_of("rounds", json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:o}", "from", s->from, "to", s->to,
                                         "tasks", t->n, "only_one", s->only_one, "rescued", t->rescued, "persistent",
                                         t->persistent, "lost", t->lost, "failing", t->failing, "speed", speeds));
}

static void print_step(const struct step *s, bool speeds) {
  const struct score_transitions *t = &s->t;
  const struct {
    const char *name;
    const struct score_spread *spread;
  } lines[] = {{"rescued", &t->rescued_speed},
               {"persistent, before", &t->persistent_before},
               {"persistent, after", &t->persistent_after},
               {"lost", &t->lost_speed},
               {"all right before", &t->before},
               {"all right after", &t->after}};
  char text[200];
  printf("%s to %s: of %d tasks %d rescued, %d persistent, %d lost, %d failing", s->from, s->to, t->n, t->rescued,
         t->persistent, t->lost, t->failing);
  printf(s->only_one ? "; %d tasks are in one of both\n" : "\n", s->only_one);
  for (size_t i = 0; i < sizeof lines / sizeof *lines && speeds; i++)
    printf("  speed of %-19s %s\n", lines[i].name, score_spread_text(lines[i].spread, text, sizeof text));
}

enum assay_status score_rounds(struct store *store, char *const *runs, int n, const struct score_options *o,
                               bool as_json, struct assay_error *err) {
  struct report_rows rows[2] = {0};
  struct outcomes outcomes[2] = {0};
  json_t *list = as_json ? json_array() : NULL;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n && !status; i++) {
    struct outcomes *now = &outcomes[i % 2], *before = &outcomes[(i + 1) % 2];
    rows_release(&rows[i % 2]);
    rows[i % 2] = (struct report_rows){0};
    now->n = 0;
    status = read_outcomes(store, runs[i], o, false, &rows[i % 2], now, err);
    if (status || i == 0)
      continue;
    struct step s = {.from = runs[i - 1], .to = runs[i]};
    if (!compare_rounds(before, now, o->baseline != NULL, &s))
      status = error_nomem(err, "rounds");
    else if (as_json)
      json_array_append_new(list, step_json(&s));
    else
      print_step(&s, o->baseline != NULL);
  }
  if (!status && as_json)
    cli_json_print(list);
  else
    json_decref(list);
  for (int i = 0; i < 2; i++) {
    base_free(outcomes[i].items);
    rows_release(&rows[i]);
  }
  return status;
}

// ---- on one device and on another

// The kernel's largest value over its least, on all devices; NaN: it has been on one only.
static double ratio_of(const struct outcomes *o, int first, int *devices) {
  double least = NAN, most = NAN;
  *devices = 0;
  for (int i = 0; i < o->n; i++) {
    const struct outcome *x = &o->items[i], *of = &o->items[first];
    if (!pairs(x, of) || isnan(x->value))
      continue;
    if (i < first)
      return NAN; // an earlier one has told it
    ++*devices;
    least = isnan(least) || x->value < least ? x->value : least;
    most = isnan(most) || x->value > most ? x->value : most;
  }
  return *devices > 1 && least > 0 ? most / least : NAN;
}

static void print_devices(const struct outcomes *o, const double *ratios, const struct score_spread *s,
                          const char *what) {
  static const char *const headers[] = {"task", "kernel", "workload", "largest over least"};
  struct table *t = table_create(headers, 4, "lllr");
  char text[200];
  for (int i = 0; i < o->n && t; i++) {
    char hash[16], ratio[32];
    if (isnan(ratios[i]))
      continue;
    snprintf(hash, sizeof hash, "%.12s", o->items[i].hash);
    snprintf(ratio, sizeof ratio, "%.3f", ratios[i]);
    table_row(t, (const char *const[]){o->items[i].task, hash, o->items[i].setting->workload, ratio});
  }
  if (t && s->n > 0)
    table_print(t, stdout);
  table_destroy(t);
  printf("largest %s over least across devices, by kernel: %s\n", what, score_spread_text(s, text, sizeof text));
}

enum assay_status score_devices(struct store *store, char *const *runs, int n, const struct score_options *o,
                                bool as_json, struct assay_error *err) {
  struct report_rows rows[SCORE_MOST_RUNS] = {0};
  struct outcomes all = {0};
  const char *what = o->baseline ? "speed" : "time";
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n && !status; i++)
    status = read_outcomes(store, runs[i], o, true, &rows[i], &all, err);
  double *ratios = status ? NULL : base_calloc((size_t)all.n + 1, sizeof *ratios);
  json_t *list = json_array();
  for (int i = 0; i < all.n && ratios; i++) {
    int devices;
    ratios[i] = ratio_of(&all, i, &devices);
    if (!isnan(ratios[i]))
      json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:f}", "task", all.items[i].task, "candidate_sha256",
                                            all.items[i].hash, "workload", all.items[i].setting->workload, "devices",
                                            devices, "ratio", ratios[i]));
  }
  if (!status && !ratios)
    status = error_nomem(err, "ratios of devices");
  if (!status) {
    struct score_spread s = score_spread_of(ratios, all.n);
    if (as_json)
      cli_json_print(cli_json_of(
          "devices", json_pack("{s:s, s:O, s:o}", "of", what, "kernels", list, "spread", score_spread_json(&s))));
    else
      print_devices(&all, ratios, &s, what);
  }
  json_decref(list);
  base_free(ratios);
  base_free(all.items);
  for (int i = 0; i < n; i++)
    rows_release(&rows[i]);
  return status;
}
