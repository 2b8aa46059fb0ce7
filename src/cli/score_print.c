// SPDX-License-Identifier: Apache-2.0
// The scores of a run as a row of the table and as JSON.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cli/json.h"
#include "cli/score.h"
#include "cli/table.h"

static json_t *interval_json(const struct interval *in) {
  return isnan(in->low) ? json_null() : json_pack("[f, f]", in->low, in->high);
}

static json_t *funnel_json(const struct score_funnel *f) {
  return json_pack("{s:i, s:i, s:i, s:o}", "asked", f->asked, "builds", f->built, "right", f->right, "faster",
                   f->baseline ? json_integer(f->faster) : json_null());
}

static void put_fast_p(json_t *row, const struct score_summary *s) {
  json_t *fast = json_object(), *intervals = json_object();
  for (int p = 0; p < SCORE_THRESHOLDS; p++) {
    char key[16];
    snprintf(key, sizeof key, "%.1f", score_thresholds[p]);
    json_object_set_new(fast, key, cli_json_real(s->fast_p[p]));
    json_object_set_new(intervals, key, interval_json(&s->fast_p_interval[p]));
  }
  json_object_set_new(row, "fast_p", fast);
  json_object_set_new(row, "fast_p_intervals", intervals);
}

json_t *score_json(const struct score *all) {
  const struct score_summary *s = &all->sum;
  const double *part = s->part_of_floor.q;
  json_t *row = json_pack(
      "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:[o,o,o], s:o, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:i, s:i}",
      "run", all->run, "group", all->group, "tasks", s->n_tasks, "correct", s->n_right, "verdicts",
      s->rows.asked - s->n_missing, "correct_verdicts", s->rows.right, "suspicious", s->n_suspicious, "unstable",
      s->n_unstable, "judged_shape_only", s->n_narrow, "pass_at_1", cli_json_real(s->pass_at_1),
      "part_of_floor_quartiles", cli_json_real(part[0]), cli_json_real(part[1]), cli_json_real(part[2]),
      "geomean_speedup", cli_json_real(s->geomean_speedup), "baseline_tasks", s->n_baseline, "missing", s->n_missing,
      "as_process", s->n_process, "cheats", s->n_cheats, "funnel", funnel_json(&s->tasks), "verdict_funnel",
      funnel_json(&s->rows), "geomean_speedup_interval", interval_json(&s->geomean_interval), "part_of_floor_tasks",
      s->part_of_floor.n, "speedup_tasks", s->n_speedups);
  put_fast_p(row, s);
  json_object_set_new(row, "level", json_string(all->level));
  json_object_set_new(row, "kind", all->kind[0] ? json_string(all->kind) : json_null());
#define SETTING_JSON(field) json_object_set_new(row, #field, cli_json_text(all->field));
  SCORE_SETTINGS(SETTING_JSON)
#undef SETTING_JSON
  return cli_json_of("score", row);
}

static const char *part_text(double x, char *text, size_t size) {
  snprintf(text, size, isnan(x) ? "-" : "%.3g", x);
  return text;
}

// "0.75 0.50 0.25 0.25 0.00 0.00", "0.75 - - - - -" where nothing is known of the speed; "-" without a baseline.
static const char *fast_text(const struct score_summary *s, char *text, size_t size) {
  size_t used = 0;
  snprintf(text, size, "-");
  for (int p = 0; p < SCORE_THRESHOLDS && s->n_baseline > 0 && used < size; p++)
    used +=
        (size_t)snprintf(text + used, size - used, isnan(s->fast_p[p]) ? "%s-" : "%s%.2f", p ? " " : "", s->fast_p[p]);
  return text;
}

// "40/100 (7 missing) (2 unstable)": all that a reader must know of the denominator and of the times.
static const char *correct_text(const struct score *all, bool stable, char *text, size_t size) {
  const struct score_summary *s = &all->sum;
  bool cpu = strncmp(all->device, "cpu", 3) == 0; // where everything is
  const struct {
    int n;
    const char *words;
  } notes[] = {{s->n_missing, "missing"},
               {s->n_cheats, "caught cheating"},
               {s->n_suspicious, "suspicious"},
               {s->n_unstable, stable ? "unstable, left out" : "unstable"},
               {cpu ? 0 : s->n_process, "as a process"}};
  size_t used = (size_t)snprintf(text, size, "%d/%d", s->n_right, s->n_tasks);
  if (s->n_narrow > 0)
    used += (size_t)snprintf(text + used, size - used, " +%d judged shape", s->n_narrow);
  for (size_t i = 0; i < sizeof notes / sizeof *notes && used < size; i++)
    if (notes[i].n > 0)
      used += (size_t)snprintf(text + used, size - used, " (%d %s)", notes[i].n, notes[i].words);
  return text;
}

// "1.52 (1.31 to 1.77)": the geometric mean, with the interval over tasks where there are enough of them.
static const char *speed_text(const struct score_summary *s, char *text, size_t size) {
  const struct interval *in = &s->geomean_interval;
  if (isnan(s->geomean_speedup) || isnan(in->low))
    return part_text(s->geomean_speedup, text, size);
  snprintf(text, size, "%.3g (%.3g to %.3g)", s->geomean_speedup, in->low, in->high);
  return text;
}

void score_row(struct table *t, const struct score *all, bool stable) {
  char correct[192], pass[32], floor_text[96], speed[64], fast[128], a[3][24];
  const struct score_summary *s = &all->sum;
  const double *part = s->part_of_floor.q;
  snprintf(floor_text, sizeof floor_text, "%s %s %s", part_text(part[0], a[0], sizeof a[0]),
           part_text(part[1], a[1], sizeof a[1]), part_text(part[2], a[2], sizeof a[2]));
  if (isnan(part[0]) && isnan(part[1]) && isnan(part[2]))
    snprintf(floor_text, sizeof floor_text, "-");
  table_row(t, (const char *const[]){all->run, all->group, correct_text(all, stable, correct, sizeof correct),
                                     part_text(s->pass_at_1, pass, sizeof pass), floor_text,
                                     speed_text(s, speed, sizeof speed), fast_text(s, fast, sizeof fast)});
}
