// SPDX-License-Identifier: Apache-2.0
// plan TASK FILE [PREFIX]: what a .cu or .cl kernel launches, as JSON; needs no GPU.
#include <assay/assay.h>
#include <stdio.h>

int main(int argc, char **argv) {
  struct assay_settings where = {.size = sizeof where, .prefix = argc > 3 ? argv[3] : NULL};
  struct assay_request request = {.size = sizeof request, .task = argv[1], .candidate = argv[2], .workload = "full"};
  struct assay_session *session = NULL;
  struct assay_planned *plan = NULL;
  struct assay_error err = {0};
  if (argc < 3)
    return 2;
  if (assay_session_open(&where, &session, &err) || assay_session_plan(session, &request, "sm_90a", &plan, &err))
    fprintf(stderr, "%s\n", err.message);
  else if (assay_planned_json(plan))
    puts(assay_planned_json(plan));
  else
    printf("no plan: %s\n%s", assay_planned_why(plan), assay_planned_diagnostics(plan));
  int code = !plan ? 3 : !assay_planned_json(plan);
  assay_planned_free(plan);
  assay_session_close(session);
  return code;
}
