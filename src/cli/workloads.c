// SPDX-License-Identifier: Apache-2.0
// --workload with a pattern: several workloads of a task, of equal rank. A candidate has a verdict and a time at each.
#include <fnmatch.h>
#include <string.h>

#include "cli/judging.h"
#include "task/task.h"

bool cli_is_workload_pattern(const char *text) {
  return strcmp(text, CLI_EACH_WORKLOAD) == 0 || strpbrk(text, "*?[") != NULL;
}

// Those of a sweep: not the CPU's, the probes', and `full`, which is one of them or near to one.
static bool is_of_sweep(const char *name) {
  return strcmp(name, "small") != 0 && strcmp(name, "full") != 0 && strncmp(name, "ragged", strlen("ragged")) != 0;
}

static bool takes(const char *pattern, const char *name) {
  return strcmp(pattern, CLI_EACH_WORKLOAD) == 0 ? is_of_sweep(name) : fnmatch(pattern, name, 0) == 0;
}

enum assay_status cli_workloads_of(const char *task_path, const char *pattern, struct arena *arena,
                                   const char *const **names, struct assay_error *err) {
  struct task t;
  bool several = cli_is_workload_pattern(pattern);
  enum assay_status status = several ? task_read(task_path, false, &t, err) : ASSAY_OK;
  if (status)
    return status;
  int n = 0, most = several ? t.n_workloads : 1;
  const char **list = arena_calloc(arena, (size_t)most + 1, sizeof *list);
  bool failed = !list;
  if (!failed && !several)
    failed = !(list[n++] = arena_strdup(arena, task_workload_name(task_path, pattern, arena)));
  for (int i = 0; several && i < t.n_workloads && !failed; i++)
    if (takes(pattern, t.workloads[i].name))
      failed = !(list[n++] = arena_strdup(arena, t.workloads[i].name));
  if (failed)
    status = error_nomem(err, "a list of workloads");
  else if (n == 0)
    status = error_set(err, ASSAY_ERR_USAGE, "%s has no workload '%.60s': `assay show` lists them", t.name, pattern);
  if (several)
    task_release(&t);
  if (!status)
    *names = list;
  return status;
}
