// SPDX-License-Identifier: Apache-2.0
// Launch plans of a session.
#include "base/alloc.h"
#include "base/buf.h"
#include "judge/planning.h"
#include "api/session.h"
#include "plan/names.h"

struct assay_planned {
  struct buf json; // empty: there is no plan
  char why[512];
  char *diagnostics;
};

static enum assay_status make_plan(struct assay_session *s, const struct assay_request *r, const char *target,
                                   struct assay_planned **out, struct assay_error *err) {
  struct api_asked a;
  struct plan plan;
  struct plan_target gpu;
  char shown[PLAN_SHOWN_BYTES];
  bool made = false;
  enum assay_status status = api_ask(s, r, true, &a, err);
  if (status)
    return status;
  enum plan_dialect dialect = s->devices[a.device].device->dialect;
  struct assay_planned *p = base_calloc(1, sizeof *p);
  if (!p)
    status = error_nomem(err, "a plan");
  else if (dialect == PLAN_NO_LAUNCHES)
    status = error_set(err, ASSAY_ERR_USAGE, "%s: files for device %s do not become launch plans", r->candidate,
                       a.options.device);
  else if (dialect == PLAN_CUDA_LAUNCHES && target && !plan_target_parse(target, &gpu))
    status =
        error_set(err, ASSAY_ERR_USAGE, "a target is a GPU such as \"sm_90a\", not \"%s\"", plan_shown(target, shown));
  if (!status)
    status = planning_save(&a.options, dialect == PLAN_CUDA_LAUNCHES ? target ? target : "sm_90a" : "", &plan, &made,
                           p->why, &p->diagnostics, err);
  if (!status && made) {
    status = plan_print_json(&plan, &p->json, err);
    plan_release(&plan);
  }
  base_free(a.task_path);
  if (status)
    assay_planned_free(p);
  else
    *out = p;
  return status;
}

enum assay_status assay_session_plan(struct assay_session *s, const struct assay_request *r, const char *target,
                                     struct assay_planned **out, struct assay_error *err) {
  locale_t hosts = uselocale(s->plain);
  enum assay_status status = make_plan(s, r, target, out, err);
  uselocale(hosts);
  return status;
}

const char *assay_planned_json(const struct assay_planned *p) {
  return p->json.len > 0 ? p->json.data : NULL;
}

const char *assay_planned_why(const struct assay_planned *p) {
  return p->why;
}

const char *assay_planned_diagnostics(const struct assay_planned *p) {
  return p->diagnostics ? p->diagnostics : "";
}

void assay_planned_free(struct assay_planned *p) {
  if (!p)
    return;
  buf_release(&p->json);
  base_free(p->diagnostics);
  base_free(p);
}
