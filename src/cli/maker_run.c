// SPDX-License-Identifier: Apache-2.0
// What a run in the store has made: its fastest right kernel of the task, whatever workload it was judged at. This is
// how `assay make`, and every other method, takes part.
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cli/maker.h"

struct looking {
  const struct maker_request *r;
  struct maker_candidate *out;
  double best_ns;
};

static bool look(void *arg, const struct store_verdict *v) {
  struct looking *l = arg;
  bool twin = strstr(v->candidate, " -D") != NULL;
  if (strcmp(v->task, l->r->task_name) != 0 || v->reason != ASSAY_REASON_PASS || twin ||
      access(v->candidate, R_OK) != 0 || !(l->out->file[0] == '\0' || v->time_ns < l->best_ns))
    return true;
  snprintf(l->out->file, sizeof l->out->file, "%s", v->candidate);
  snprintf(l->out->label, sizeof l->out->label, "%s", v->candidate);
  l->best_ns = isnan(v->time_ns) ? INFINITY : v->time_ns;
  return true;
}

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  struct looking l = {.r = r, .out = out, .best_ns = INFINITY};
  enum assay_status status = store_each_standing(r->store, r->argument, NULL, look, &l, err);
  if (!status && !out->file[0])
    snprintf(out->refusal, sizeof out->refusal, "the run has no right kernel of this task whose file is there");
  return status;
}

static bool take_any(void *arg, const struct store_verdict *v) {
  (void)v;
  *(bool *)arg = true;
  return false;
}

static enum assay_status check(const char *argument, struct store *store, struct assay_error *err) {
  bool any = false;
  enum assay_status status = store_each_standing(store, argument, NULL, take_any, &any, err);
  if (status || any)
    return status;
  return error_set(err, ASSAY_ERR_USAGE, "run:%.200s: the store has no verdict of such a run; `assay runs` lists them",
                   argument);
}

const struct maker maker_run = {.name = "run",
                                .argument = "RUN",
                                .what = "the fastest right kernel of a run in the store (assay make)",
                                .check = check,
                                .yield = yield};
