// SPDX-License-Identifier: Apache-2.0
#include "site/sweep.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/publish.h"
#include "report/view.h"
#include "store/trial.h"

// ---- which runs belong together

// Where the maker's name begins in "NAME, MAKER"; 0: it is no such run, or a tuner's.
static size_t maker_at(const char *run) {
  const char *comma = NULL;
  for (const char *at = strstr(run, ", "); at; at = strstr(at + 1, ", "))
    comma = at;
  if (!comma || comma == run || strncmp(comma + 2, "tuning", strlen("tuning")) == 0)
    return 0;
  return (size_t)(comma - run) + 2;
}

static struct site_sweep *find(struct site *site, const char *run, size_t n) {
  for (int i = 0; i < site->n_sweeps; i++)
    if (strlen(site->sweeps[i].name) == n && memcmp(site->sweeps[i].name, run, n) == 0)
      return &site->sweeps[i];
  return NULL;
}

static enum assay_status add_run(struct site *site, int run, struct assay_error *err) {
  const char *name = site->runs[run].name;
  size_t at = maker_at(name);
  if (at == 0 || site->runs[run].n == 0)
    return ASSAY_OK;
  struct site_sweep *s = find(site, name, at - 2);
  if (!s) {
    s = &site->sweeps[site->n_sweeps++];
    s->name = arena_strndup(&site->arena, name, at - 2);
    s->title = s->name ? publish_text(&site->arena, s->name) : NULL;
    if (!s->title)
      return error_nomem(err, "the site");
  }
  if (s->n == SITE_SWEEP_MAKERS)
    return ASSAY_OK;
  s->makers[s->n] = publish_text(&site->arena, name + at);
  s->runs[s->n++] = run;
  return s->makers[s->n - 1] ? ASSAY_OK : error_nomem(err, "the site");
}

enum assay_status sweeps_make(struct site *site, struct assay_error *err) {
  int kept = 0;
  site->sweeps = arena_calloc(&site->arena, (size_t)site->n_runs + 1, sizeof *site->sweeps);
  enum assay_status status = site->sweeps ? ASSAY_OK : error_nomem(err, "the site");
  for (int r = 0; r < site->n_runs && !status; r++)
    status = add_run(site, r, err);
  for (int i = 0; i < site->n_sweeps; i++) // one maker by itself is a run like any other
    if (site->sweeps[i].n > 1)
      site->sweeps[kept++] = site->sweeps[i];
  site->n_sweeps = kept;
  return status;
}

static bool digest_trial(void *arg, const struct store_trial *t) {
  buf_printf(arg, "%s %s %s %d %lld %.17g %.17g ", t->run, t->task, t->workload, (int)t->status, (long long)t->number,
             t->time_ns, t->tuner_ns);
  return true;
}

static bool digest_verdict(void *arg, const struct store_verdict *v) {
  buf_printf(arg, "%s %s %d %.17g %s ", v->task, v->workload, (int)v->reason, v->time_ns, v->candidate_hash);
  return true;
}

enum assay_status sweeps_digest(struct site *site, struct buf *all, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < site->n_sweeps && !status; i++)
    for (int m = 0; m < site->sweeps[i].n && !status; m++)
      status = store_each(site->store, site->runs[site->sweeps[i].runs[m]].name, digest_verdict, all, err);
  return status || site->n_sweeps == 0 ? status : store_each_trial(site->store, NULL, digest_trial, all, err);
}

// ---- verdicts

struct reading {
  struct sweep *sweep;
  int maker;
};

static bool same_cell(const struct sweep_cell *c, const struct store_verdict *v, const char *device, int maker) {
  return c->maker == maker && strcmp(c->workload, v->workload) == 0 && strcmp(c->task, v->task) == 0 &&
         strcmp(c->device, device) == 0 && strcmp(c->candidate, publish_candidate(v->candidate)) == 0;
}

// The place of the verdict: that of an older one of the same candidate, task, workload and device, or a new one.
static struct sweep_cell *place_of(struct sweep *s, const struct store_verdict *v, const char *device, int maker) {
  for (int i = s->n_cells - 1; i >= 0; i--)
    if (same_cell(&s->cells[i], v, device, maker))
      return &s->cells[i];
  if ((size_t)s->n_cells == s->capacity) {
    struct sweep_cell *more = arena_grow(&s->arena, s->cells, (size_t)s->n_cells, &s->capacity, sizeof *more);
    if (!more)
      return NULL;
    s->cells = more;
  }
  return &s->cells[s->n_cells++];
}

static bool take_verdict(void *arg, const struct store_verdict *v) {
  struct reading *r = arg;
  struct sweep *s = r->sweep;
  struct arena *a = &s->arena;
  struct verdict_view view;
  struct assay_error ignored = {0};
  char device[256];
  if (v->reason == ASSAY_REASON_JUDGE_FAILED || view_whole_from_store(v, &view, &ignored) != ASSAY_OK)
    return true;
  snprintf(device, sizeof device, "%.30s%s%.200s", v->device, view.device_name[0] ? " " : "", view.device_name);
  struct sweep_cell *c = place_of(s, v, device, r->maker);
  if (c)
    *c = (struct sweep_cell){.task = arena_strdup(a, v->task),
                             .workload = arena_strdup(a, v->workload),
                             .device = arena_strdup(a, device),
                             .candidate = arena_strdup(a, publish_candidate(v->candidate)),
                             .hash = arena_strdup(a, v->candidate_hash),
                             .detail = publish_text(a, v->detail),
                             .maker = r->maker,
                             .age = s->n_read++,
                             .reason = v->reason,
                             .right = v->reason == ASSAY_REASON_PASS && !v->suspicious,
                             .unstable = v->unstable,
                             .time_ns = view_ranked_ns(&view),
                             .floor_ns = v->floor_ns,
                             .flops = view.flops,
                             .bytes = view.bytes,
                             .making_s = view_compile_seconds(&view),
                             .cut = !json_object_get(view.evidence, "build_command"),
                             .time = {v->time_low_ns, v->time_high_ns}};
  s->failed = !c || !c->task || !c->workload || !c->device || !c->candidate || !c->hash || !c->detail;
  view_release(&view);
  return !s->failed;
}

double sweep_time(const struct sweep_cell *c) {
  return c && c->right && c->time_ns > 0 ? c->time_ns : NAN;
}

// ---- shapes

double sweep_best(const struct sweep_shape *s) {
  return s->winner < 0 ? NAN : sweep_time(s->cells[s->winner]);
}

bool sweep_is_fastest(const struct sweep_shape *s, int maker) {
  if (maker == s->winner || s->winner < 0 || isnan(sweep_time(s->cells[maker])))
    return maker == s->winner;
  const struct sweep_cell *best = s->cells[s->winner], *own = s->cells[maker];
  double high = best->time.high > best->time_ns ? best->time.high : best->time_ns;
  double low = own->time.low < own->time_ns ? own->time.low : own->time_ns;
  return !(high * (1 + score_resolution(s->device)) < low);
}

// Who is fastest at most shapes has the first look; of as many, who comes first.
static void give_looks(struct sweep *s) {
  int wins[SITE_SWEEP_MAKERS] = {0};
  for (int i = 0; i < s->n; i++)
    for (int m = 0; m < s->of->n; m++)
      wins[m] += sweep_is_fastest(&s->shapes[i], m);
  for (int m = 0; m < s->of->n; m++) {
    s->looks[m] = 1;
    for (int k = 0; k < s->of->n; k++)
      s->looks[m] += wins[k] > wins[m] || (wins[k] == wins[m] && k < m);
  }
}

static double known(double x) {
  return isfinite(x) ? x : 0;
}

static int by_size(const void *x, const void *y) {
  const struct sweep_cell *const *a = x, *const *b = y;
  double p = known((*a)->flops) + known((*a)->bytes), q = known((*b)->flops) + known((*b)->bytes);
  int order = strcmp((*a)->task, (*b)->task);
  if (!order)
    order = strcmp((*a)->device, (*b)->device);
  if (!order)
    order = (p > q) - (p < q);
  return order ? order : strcmp((*a)->workload, (*b)->workload);
}

static bool same_shape(const struct sweep_shape *s, const struct sweep_cell *c) {
  return strcmp(s->workload, c->workload) == 0 && strcmp(s->task, c->task) == 0 && strcmp(s->device, c->device) == 0;
}

static void take_cell(struct sweep *s, const struct sweep_cell *c) {
  struct sweep_shape *shape = s->n > 0 && same_shape(&s->shapes[s->n - 1], c) ? &s->shapes[s->n - 1] : NULL;
  if (!shape) {
    shape = &s->shapes[s->n++];
    *shape = (struct sweep_shape){.task = c->task,
                                  .workload = c->workload,
                                  .device = c->device,
                                  .flops = known(c->flops),
                                  .bytes = known(c->bytes),
                                  .winner = -1};
  }
  if (!shape->cells[c->maker] || c->age > shape->cells[c->maker]->age)
    shape->cells[c->maker] = c;
}

static enum assay_status make_shapes(struct sweep *s, struct assay_error *err) {
  const struct sweep_cell **sorted = arena_calloc(&s->arena, (size_t)s->n_cells + 1, sizeof *sorted);
  s->shapes = arena_calloc(&s->arena, (size_t)s->n_cells + 1, sizeof *s->shapes);
  if (!sorted || !s->shapes)
    return error_nomem(err, "a comparison's page");
  for (int i = 0; i < s->n_cells; i++)
    sorted[i] = &s->cells[i];
  qsort(sorted, (size_t)s->n_cells, sizeof *sorted, by_size);
  for (int i = 0; i < s->n_cells; i++)
    take_cell(s, sorted[i]);
  for (int i = 0; i < s->n; i++)
    for (int m = 0; m < s->of->n; m++)
      if (sweep_time(s->shapes[i].cells[m]) > 0 && !(sweep_time(s->shapes[i].cells[m]) >= sweep_best(&s->shapes[i])))
        s->shapes[i].winner = m;
  give_looks(s);
  return ASSAY_OK;
}

enum assay_status sweep_read(struct site *site, const struct site_sweep *of, struct sweep *out,
                             struct assay_error *err) {
  *out = (struct sweep){.of = of};
  enum assay_status status = ASSAY_OK;
  for (int m = 0; m < of->n && !status; m++) {
    struct reading r = {out, m};
    status = store_each(site->store, site->runs[of->runs[m]].name, take_verdict, &r, err);
  }
  if (!status && out->failed)
    status = error_nomem(err, "a comparison's page");
  return status ? status : make_shapes(out, err);
}

void sweep_release(struct sweep *s) {
  arena_release(&s->arena);
}
