// SPDX-License-Identifier: Apache-2.0
// The tasks that a score is of, whether a run has them or not.
#include "cli/score.h"
#include "task/task.h"

static enum assay_status add_name(const char *path, struct score_expected *out, const char **names,
                                  struct assay_error *err) {
  struct task t;
  enum assay_status status = task_read(path, false, &t, err);
  if (status)
    return status;
  const char *name = arena_strdup(&out->arena, t.name);
  task_release(&t);
  if (!name)
    return error_nomem(err, "a list of tasks");
  names[out->names.n++] = name;
  return ASSAY_OK;
}

enum assay_status score_expect(const char *root, const char *suite, struct score_expected *out,
                               struct assay_error *err) {
  char **paths = NULL;
  int count = 0;
  enum assay_status status = task_list(root, suite, &paths, &count, err);
  const char **names = status ? NULL : arena_calloc(&out->arena, (size_t)count + 1, sizeof *names);
  if (!status && !names)
    status = error_nomem(err, "a list of tasks");
  for (int i = 0; i < count && !status; i++)
    status = add_name(paths[i], out, names, err);
  out->names.items = names;
  if (paths)
    task_list_release(paths, count);
  return status;
}

void score_expected_release(struct score_expected *e) {
  arena_release(&e->arena);
  *e = (struct score_expected){0};
}
