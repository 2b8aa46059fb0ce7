// SPDX-License-Identifier: Apache-2.0
// Files of a bench that have no verdict: they could not be judged here, or are not for the device that was asked for.
// Each has a row; none of them ends the run.
#include <string.h>

#include "base/printable.h"
#include "cli/bench.h"

static enum assay_status add(struct bench *b, const struct bench_item *item, const struct bench_unjudged *like,
                             const char *why, struct assay_error *err) {
  if (b->n_unjudged == b->capacity_unjudged) {
    struct bench_unjudged *more =
        arena_grow(&b->arena, b->unjudged, b->n_unjudged, &b->capacity_unjudged, sizeof *more);
    if (!more)
      return error_nomem(err, "a list of candidates");
    b->unjudged = more;
  }
  struct bench_unjudged u = *like;
  u.task = arena_strdup(&b->arena, item->task ? item->task : "");
  u.label = arena_strdup(&b->arena, item->label ? item->label : item->path);
  u.expect = item->expect;
  u.workload = item->workload ? item->workload : b->judging.options.workload;
  char *text = arena_strdup(&b->arena, why);
  if (!u.task || !u.label || !text)
    return error_nomem(err, "a list of candidates");
  printable(text);
  u.why = text;
  b->unjudged[b->n_unjudged++] = u;
  return ASSAY_OK;
}

enum assay_status bench_leave_unjudged(struct bench *b, const struct bench_item *item, struct assay_error *why,
                                       struct assay_error *err) {
  const struct bench_unjudged like = {.status = why->status};
  enum assay_status status = add(b, item, &like, why->message, err);
  *why = (struct assay_error){0};
  b->n_failed_here += !status;
  return status;
}

enum assay_status bench_leave_to_device(struct bench *b, const struct bench_item *item, const char *device,
                                        struct assay_error *err) {
  const struct bench_unjudged like = {.other_device = true};
  char why[128];
  snprintf(why, sizeof why, "it is for the device %s, and --device %s asks for others", device, b->judging.device);
  return add(b, item, &like, why, err);
}

static const char *said(const struct bench_unjudged *u) {
  return u->other_device ? "not_judged" : assay_reason_code(ASSAY_REASON_JUDGE_FAILED);
}

void bench_unjudged_row(const struct bench *b, const struct bench_unjudged *u, struct table *table) {
  char place[256];
  bool sweep = u->task[0] && cli_is_workload_pattern(b->judging.options.workload);
  snprintf(place, sizeof place, "%s%s%s", u->task, sweep ? " " : "", sweep ? u->workload : "");
  cli_unjudged_row(table, b->judging.baselines.n > 0, place, u->label, said(u), u->why);
}

json_t *bench_unjudged_json(const struct bench *b, const struct bench_unjudged *u) {
  const struct cli_verdict_about about = {
      .run = b->run, .task = u->task, .candidate = u->label, .workload = u->workload};
  return cli_json_verdict(&about, NULL, said(u), u->why);
}

// Where nothing at all was judged, the command itself may be at fault: its code is that of the first error.
int bench_unjudged_code(const struct bench *b) {
  bool none = b->n_judged + b->n_done_before + b->n_elsewhere == 0;
  if (b->n_failed_here == 0)
    return none && b->n_unjudged > 0 ? CLI_USAGE : CLI_PASS;
  for (size_t i = 0; i < b->n_unjudged && none; i++)
    if (!b->unjudged[i].other_device)
      return cli_code(b->unjudged[i].status);
  return CLI_ENVIRONMENT;
}
