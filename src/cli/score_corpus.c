// SPDX-License-Identifier: Apache-2.0
// assay score --corpus CHECKOUT: what KernelBench-X publishes of its runs, analysed, each figure next to the one that
// its paper states.
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/score.h"
#include "cli/table.h"
#include "report/kernelbenchx_corpus.h"
#include "score/spread.h"
#include "stats/success.h"

struct page {
  struct table *table; // NULL: JSON
  json_t *list;
};

static void put(const struct page *p, const char *figure, const struct score_spread *s, const char *published,
                const char *fmt, ...) ASSAY_PRINTF(5, 6);
// A figure; `s`: what it is of, or NULL. fmt: the figure as text.
static void put(const struct page *p, const char *figure, const struct score_spread *s, const char *published,
                const char *fmt, ...) {
  char here[320];
  va_list values;
  va_start(values, fmt);
  vsnprintf(here, sizeof here, fmt, values);
  va_end(values);
  if (p->table)
    table_row(p->table, (const char *const[]){figure, here, published});
  else
    json_array_append_new(
        p->list, cli_json_of("figure", json_pack("{s:s, s:s, s:s, s:o}", "figure", figure, "here", here, "published",
                                                 published, "spread", s ? score_spread_json(s) : json_null())));
}

static void put_spread(const struct page *p, const char *figure, const struct score_spread *s, const char *published) {
  char text[160];
  put(p, figure, s, published, "%s", score_spread_text(s, text, sizeof text));
}

// ---- the corpus

typedef bool choice(const struct kernelbenchx_record *r, const char *what);

static bool between(const struct kernelbenchx_record *r, const char *transition) {
  return !transition || strcmp(r->transition, transition) == 0;
}

static int count(const struct kernelbenchx_corpus *c, choice *chosen, const char *what, bool suite_only) {
  int n = 0;
  for (int i = 0; i < c->n; i++)
    n += (c->records[i].in_suite || !suite_only) && chosen(&c->records[i], what);
  return n;
}

static bool is_kind(const struct kernelbenchx_record *r, const char *kind) {
  return strstr(r->kind, kind) != NULL;
}

static bool has_same_code(const struct kernelbenchx_record *r, const char *kind) {
  return is_kind(r, kind) && r->has_code && r->same_code;
}

static int distinct_tasks(const struct kernelbenchx_corpus *c, bool suite_only) {
  int n = 0;
  for (int i = 0; i < c->n; i++) {
    bool seen = suite_only && !c->records[i].in_suite;
    for (int k = 0; k < i && !seen; k++)
      seen = strcmp(c->records[k].task, c->records[i].task) == 0;
    n += !seen;
  }
  return n;
}

// The records of a transition as changes. The array has room for all.
static int changes_of(const struct kernelbenchx_corpus *c, const char *transition, bool suite_only,
                      struct score_change *out) {
  int n = 0;
  for (int i = 0; i < c->n; i++) {
    const struct kernelbenchx_record *r = &c->records[i];
    if (between(r, transition) && (r->in_suite || !suite_only))
      out[n++] = (struct score_change){.before = r->before.exe,
                                       .after = r->after.exe,
                                       .speed_before = r->before.speedup,
                                       .speed_after = r->after.speedup};
  }
  return n;
}

static const char *const rounds[] = {"round_0_to_round_1", "round_1_to_round_2"};
enum { N_ROUNDS = sizeof rounds / sizeof *rounds };

static void put_transition(const struct page *p, const char *name, bool suite_only, const struct score_transitions *t) {
  bool first = strcmp(name, rounds[0]) == 0 && suite_only;
  char figure[128];
  const char *scope = suite_only ? "tasks of the suite" : "all tasks";
  snprintf(figure, sizeof figure, "%s, %s: rescued, persistent, lost", name, scope);
  put(p, figure, NULL, "", "%d, %d, %d", t->rescued, t->persistent, t->lost);
  snprintf(figure, sizeof figure, "%s, %s: speed of rescued", name, scope);
  put_spread(p, figure, &t->rescued_speed, first ? "1.16" : "");
  snprintf(figure, sizeof figure, "%s, %s: speed of persistent, before", name, scope);
  put_spread(p, figure, &t->persistent_before, first ? "1.58 of all persistent; the corpus has those that rose" : "");
  snprintf(figure, sizeof figure, "%s, %s: speed of persistent, after", name, scope);
  put_spread(p, figure, &t->persistent_after, "");
}

static bool put_transitions(const struct page *p, const struct kernelbenchx_corpus *c) {
  struct score_change *changes = base_calloc((size_t)c->n + 1, sizeof *changes);
  struct score_transitions t;
  bool ok = changes != NULL;
  for (int suite_only = 1; suite_only >= 0 && ok; suite_only--)
    for (int r = 0; r < N_ROUNDS && ok; r++) {
      int n = changes_of(c, rounds[r], suite_only, changes);
      ok = score_transitions_of(changes, n, &t);
      if (ok && n > 0)
        put_transition(p, rounds[r], suite_only, &t);
    }
  int n = ok ? changes_of(c, NULL, false, changes) : 0;
  ok = ok && score_transitions_of(changes, n, &t);
  if (ok) {
    put(p, "right kernels slower than eager", &t.after, "46.6 % of five methods", "%d of %d, %.1f %%", t.after.slower,
        t.after.n, t.after.n ? 100.0 * t.after.slower / t.after.n : 0);
    put_spread(p, "speed of all right after", &t.after, "");
  }
  base_free(changes);
  return ok;
}

// What the records' own kinds, and categories, say of success.
static bool put_deviance(const struct page *p, const struct kernelbenchx_corpus *c) {
  bool *y = base_calloc((size_t)c->n + 1, sizeof *y);
  int *groups = base_calloc(2 * (size_t)c->n + 1, sizeof *groups), n_categories = 0;
  for (int i = 0; i < c->n && y && groups; i++) {
    const char *slash = strchr(c->records[i].task, '/');
    size_t length = slash ? (size_t)(slash - c->records[i].task) + 1 : 0;
    y[i] = c->records[i].after.exe;
    groups[c->n + i] = strcmp(c->records[i].transition, rounds[0]) != 0;
    groups[i] = n_categories;
    for (int k = 0; k < i && groups[i] == n_categories; k++)
      if (strncmp(c->records[k].task, c->records[i].task, length) == 0)
        groups[i] = groups[k];
    n_categories += groups[i] == n_categories;
  }
  bool ok = y && groups;
  if (ok) {
    struct deviance by_category = stats_deviance_grouped(y, groups, c->n, n_categories);
    struct deviance by_round = stats_deviance_grouped(y, groups + c->n, c->n, 2);
    put(p, "deviance of right after, explained by category", NULL, "9.4 % of five methods on 176 tasks",
        "%.1f %% of %.2f, %d records", 100 * by_category.explained, by_category.null, c->n);
    put(p, "explained by transition", NULL, "", "%.1f %%", 100 * by_round.explained);
  }
  base_free(y);
  base_free(groups);
  return ok;
}

// ---- the timings

static const struct kernelbenchx_machine *machine_of(const struct kernelbenchx_timings *t, const char *name) {
  for (int i = 0; i < t->n; i++)
    if (strcmp(t->machines[i].name, name) == 0)
      return &t->machines[i];
  return NULL;
}

static const struct kernelbenchx_timing *timing_of_record(const struct kernelbenchx_machine *m, const char *task) {
  const char *slash = strrchr(task, '/'), *file = slash ? slash + 1 : task;
  char stem[128];
  snprintf(stem, sizeof stem, "%.*s", (int)strcspn(file, "."), file);
  return m ? kernelbenchx_timing_of(m, stem) : NULL;
}

struct reproduced {
  int n, within;
};

static void reproduce(const struct kernelbenchx_machine *m, const char *task, const struct kernelbenchx_outcome *o,
                      struct reproduced *r) {
  const struct kernelbenchx_timing *t = timing_of_record(m, task);
  if (!t || isnan(o->speedup) || isnan(o->runtime_ms))
    return;
  r->n++;
  r->within += fabs(o->speedup * o->runtime_ms / kernelbenchx_total_ms(t) - 1) < 0.002;
}

// The machine whose reference times the corpus' speeds are over: that which reproduces most of them.
static const struct kernelbenchx_machine *put_machine(const struct page *p, const struct kernelbenchx_corpus *c,
                                                      const struct kernelbenchx_timings *t) {
  const struct kernelbenchx_machine *best = NULL;
  struct reproduced most = {0};
  for (int i = 0; i < t->n; i++) {
    struct reproduced r = {0};
    for (int k = 0; k < c->n; k++) {
      reproduce(&t->machines[i], c->records[k].task, &c->records[k].before, &r);
      reproduce(&t->machines[i], c->records[k].task, &c->records[k].after, &r);
    }
    if (r.within > most.within && !t->machines[i].copy_of) {
      most = r;
      best = &t->machines[i];
    }
  }
  if (best)
    put(p, "speed times time is the reference's total", NULL, "", "of %s, in %d of %d timed outcomes (within 0.2 %%)",
        best->name, most.within, most.n);
  return best;
}

// One outcome is in two records where it is one's after and the next one's before: each (task, round) counts once.
static void put_rates(const struct page *p, const struct kernelbenchx_corpus *c, double peak) {
  int n = 0;
  double most = 0;
  const char *where = "";
  for (int i = 0; i < c->n; i++) {
    const struct kernelbenchx_record *r = &c->records[i];
    bool known = false; // its before is an after that was counted
    for (int k = 0; k < c->n && strcmp(r->transition, rounds[1]) == 0; k++)
      known = known || (strcmp(c->records[k].transition, rounds[0]) == 0 && strcmp(c->records[k].task, r->task) == 0 &&
                        c->records[k].after.gbs > peak);
    n += (r->before.gbs > peak && !known) + (r->after.gbs > peak);
    if (r->after.gbs > most) {
      most = r->after.gbs;
      where = r->task;
    }
  }
  put(p, "rates above the memory's peak (task and round)", NULL, "kept as measured",
      "%d of more than %.0f GB/s; the most is %.0f, %s", n, peak, most, where);
}

static void put_machines(const struct page *p, const struct kernelbenchx_timings *t) {
  for (int i = 0; i < t->n; i++) {
    const struct kernelbenchx_machine *m = &t->machines[i];
    char figure[96], copy[96] = "";
    snprintf(figure, sizeof figure, "reference times of %s", m->name);
    if (m->copy_of)
      snprintf(copy, sizeof copy, "; a copy of %s: %d of %d files have the same times", m->copy_of->name, m->n_copied,
               m->n);
    put(p, figure, NULL, m->copy_of ? "a machine of its own" : "",
        "%d tasks, %d rows, %d above %.0f GB/s, %d tasks lack rows%s", m->n, m->n_rows, m->rows_above_peak, m->peak_gbs,
        m->short_files, copy);
  }
}

static bool put_ratios(const struct page *p, const struct kernelbenchx_timings *t) {
  struct kernelbenchx_ratio *ratios = NULL;
  int n = 0;
  bool ok = kernelbenchx_machine_ratios(t, &ratios, &n);
  double *values = ok ? base_calloc((size_t)n + 1, sizeof *values) : NULL;
  for (int i = 0; i < n && values; i++)
    values[i] = ratios[i].ratio;
  if (values && n > 0) {
    struct score_spread s = score_spread_of(values, n);
    put_spread(p, "eager's slowest machine over its fastest, by task", &s, "21.4 for generated kernels");
    for (int i = 0; i < 3 && i < n; i++) {
      char figure[160];
      snprintf(figure, sizeof figure, "  %s", ratios[i].task);
      put(p, figure, NULL, "", "%.1f: %s over %s", ratios[i].ratio, ratios[i].slowest, ratios[i].fastest);
    }
  }
  base_free(values);
  base_free(ratios);
  return ok;
}

// ---- all of it

static bool put_all(const struct page *p, const struct kernelbenchx_corpus *c, const struct kernelbenchx_timings *t) {
  put(p, "records", NULL, "110",
      "%d: %d transitions of correctness, %d gains of speed, %d regressions, %d of call alone", c->n,
      count(c, is_kind, "exe_fail_to_pass", false), count(c, is_kind, "speedup_increase", false),
      count(c, is_kind, "regression", false),
      count(c, is_kind, "call_fail_to_pass", false) - count(c, is_kind, "exe_fail_to_pass,call_fail_to_pass", false));
  put(p, "tasks", NULL, "176", "%d, %d of them in the suite's list of %d", distinct_tasks(c, false),
      distinct_tasks(c, true), c->n_suite);
  put(p, "newly passing call, tasks of the suite", NULL, "29 (52.3 % to 68.8 % of 176)", "%d",
      count(c, is_kind, "call_fail_to_pass", true));
  bool ok = put_transitions(p, c) && put_deviance(p, c);
  put(p, "gains of speed with identical code", NULL, "counted as gains", "%d of %d",
      count(c, has_same_code, "speedup_increase", false), count(c, is_kind, "speedup_increase", false));
  const struct kernelbenchx_machine *reference = put_machine(p, c, t);
  reference = reference ? reference : machine_of(t, "5090");
  if (reference && !isnan(reference->peak_gbs))
    put_rates(p, c, reference->peak_gbs);
  put_machines(p, t);
  return ok && put_ratios(p, t);
}

enum assay_status score_corpus(const char *checkout, bool as_json, struct assay_error *err) {
  struct kernelbenchx_corpus corpus = {0};
  struct kernelbenchx_timings timings = {0};
  struct page page = {0};
  enum assay_status status = kernelbenchx_corpus_read(checkout, &corpus, err);
  if (!status)
    status = kernelbenchx_timings_read(checkout, &timings, err);
  if (!status && as_json)
    page.list = json_array();
  else if (!status)
    page.table = table_create((const char *const[]){"figure", "here", "published"}, 3, "lll");
  if (!status && ((!page.list && !page.table) || !put_all(&page, &corpus, &timings)))
    status = error_nomem(err, "an analysis");
  if (!status && as_json)
    cli_json_print(page.list);
  else if (!status)
    table_print(page.table, stdout);
  if (status)
    json_decref(page.list);
  table_destroy(page.table);
  kernelbenchx_corpus_release(&corpus);
  kernelbenchx_timings_release(&timings);
  return status;
}
