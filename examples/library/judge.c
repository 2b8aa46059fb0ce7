// SPDX-License-Identifier: Apache-2.0
// judge TASK FILE [PREFIX]: is this kernel right, and how fast?
#include <assay/assay.h>
#include <stdio.h>

int main(int argc, char **argv) {
  struct assay_settings where = {.size = sizeof where, .prefix = argc > 3 ? argv[3] : NULL};
  struct assay_request request = {.size = sizeof request, .task = argv[1], .candidate = argv[2]};
  struct assay_session *session = NULL;
  struct assay_judged *verdict = NULL;
  struct assay_error err = {0};
  if (argc < 3)
    return 2;
  if (assay_session_open(&where, &session, &err) || assay_session_judge(session, &request, &verdict, &err))
    fprintf(stderr, "%s\n", err.message); // the machine's fault, or the caller's: nothing about the kernel
  else
    printf("%s: %s\n", assay_reason_code(assay_judged_reason(verdict)), assay_judged_detail(verdict));
  if (verdict && assay_judged_time_ns(verdict) > 0) // NaN: it has none
    printf("%g ns\n", assay_judged_time_ns(verdict));
  int code = !verdict ? 3 : assay_judged_reason(verdict) != ASSAY_REASON_PASS;
  assay_judged_free(verdict);
  assay_session_close(session);
  return code;
}
