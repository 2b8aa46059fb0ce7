// SPDX-License-Identifier: Apache-2.0
// Verdicts of a session.
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "api/session.h"

struct assay_judged {
  struct assay_verdict verdict;
  char *json;
};

static enum assay_status judge(struct assay_session *s, const struct assay_request *r, struct assay_judged **out,
                               struct assay_error *err) {
  struct api_asked a;
  enum assay_status status = api_ask(s, r, true, &a, err);
  if (status)
    return status;
  struct assay_workbench **workbench = &s->devices[a.device].workbench;
  struct assay_judged *v = base_calloc(1, sizeof *v);
  if (!v)
    status = error_nomem(err, "a verdict");
  if (!status && !*workbench && s->devices[a.device].device->dialect != PLAN_NO_LAUNCHES)
    status = assay_workbench_open(&a.options, true, workbench, err);
  a.options.workbench = *workbench;
  if (!status)
    status = assay_judge(&a.options, &v->verdict, err);
  if (!status && !(v->json = assay_verdict_json(&v->verdict))) {
    assay_verdict_release(&v->verdict);
    status = error_nomem(err, "a verdict");
  }
  base_free(a.task_path);
  if (status)
    base_free(v);
  else
    *out = v;
  return status;
}

enum assay_status assay_session_judge(struct assay_session *s, const struct assay_request *r, struct assay_judged **out,
                                      struct assay_error *err) {
  locale_t hosts = uselocale(s->plain);
  enum assay_status status = judge(s, r, out, err);
  uselocale(hosts);
  return status;
}

enum assay_reason assay_judged_reason(const struct assay_judged *v) {
  return v->verdict.reason;
}

const char *assay_judged_detail(const struct assay_judged *v) {
  return v->verdict.detail;
}

double assay_judged_error(const struct assay_judged *v, double *allowed) {
  const struct assay_check *c = v->verdict.worst_check >= 0 ? &v->verdict.checks[v->verdict.worst_check] : NULL;
  if (allowed)
    *allowed = c ? c->gate_limit : NAN;
  return c ? c->gate_z : NAN;
}

double assay_judged_time_ns(const struct assay_judged *v) {
  return v->verdict.timing.measured ? v->verdict.timing.median_ns : NAN;
}

double assay_judged_floor_ns(const struct assay_judged *v) {
  double floor = v->verdict.timing.floor_ns;
  return floor > 0 ? floor : NAN;
}

const char *assay_judged_json(const struct assay_judged *v) {
  return v->json;
}

void assay_judged_free(struct assay_judged *v) {
  if (!v)
    return;
  assay_verdict_release(&v->verdict);
  free(v->json);
  base_free(v);
}
