// SPDX-License-Identifier: Apache-2.0
// ask TASK [PREFIX]: the first number of each input and of the right answer, in double precision.
#include <assay/assay.h>
#include <stdio.h>

static void show(const struct assay_array *a) {
  printf("%s: %s, %lld elements, %.17g ...\n", a->name, a->dtype, (long long)a->count,
         a->f64 ? *a->f64 : (double)*a->i64);
}

int main(int argc, char **argv) {
  struct assay_settings where = {.size = sizeof where, .prefix = argc > 2 ? argv[2] : NULL};
  struct assay_request request = {.size = sizeof request, .task = argv[1], .seed = 7};
  struct assay_session *session = NULL;
  struct assay_answered *answer = NULL;
  struct assay_error err = {0};
  if (assay_session_open(&where, &session, &err) || assay_session_ask(session, &request, &answer, &err))
    fprintf(stderr, "%s\n", err.message);
  for (int i = 0; answer && i < assay_answered_inputs(answer); i++)
    show(assay_answered_input(answer, i));
  for (int i = 0; answer && i < assay_answered_outputs(answer); i++)
    show(assay_answered_output(answer, i));
  int code = answer ? 0 : 3;
  assay_answered_free(answer);
  assay_session_close(session);
  return code;
}
