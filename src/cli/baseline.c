// Baselines by name: candidates that Assay writes itself (docs/baselines.md).
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "report/report.h"
#include "sandbox/sandbox.h"
#include "task/task.h"

static const struct named {
  const char *name, *compile; // a mode of torch.compile; NULL: eager
} baselines[] = {
    {"torch.eager", NULL},
    {"torch.compile", "default"},
    // Its other form adds CUDA graphs, which a plan has no use for: nothing of the host is in its time.
    {"torch.compile.max-autotune", "max-autotune-no-cudagraphs"},
};
enum { N_BASELINES = sizeof baselines / sizeof *baselines };
static const char names[] = "torch.eager, torch.compile, torch.compile.max-autotune";

static const struct named *find(const char *name) {
  for (int i = 0; i < N_BASELINES; i++)
    if (strcmp(baselines[i].name, name) == 0)
      return &baselines[i];
  return NULL;
}

bool cli_is_baseline(const char *name) {
  return find(name) != NULL;
}

void cli_check_baseline(const struct argp_state *state, const char *name) {
  if (!cli_is_baseline(name))
    argp_error(state, "there is no baseline '%s'; baselines: %s", name, names);
}

enum assay_status cli_baseline_text(const char *name, const char *task_path, bool as_published, const char *workload,
                                    struct buf *out, struct assay_error *err) {
  const struct named *b = find(name);
  struct task t;
  struct workload w;
  struct arena arena = {0};
  bool complete = false;
  if (!b)
    return error_set(err, ASSAY_ERR_USAGE, "there is no baseline '%s'; baselines: %s", name, names);
  enum assay_status status = task_read(task_path, as_published, &t, err);
  if (status)
    return status;
  status = task_parse_workload(&t, workload, &arena, &w, err);
  if (!status)
    status = report_pytorch_candidate(&t, &w, b->compile, out, &complete, err);
  if (!status && !complete)
    status =
        error_set(err, ASSAY_ERR_UNSUPPORTED,
                  "%s has no baseline %s: an operator of it has no translation to PyTorch (assay show %s --pytorch "
                  "says which); give a file with a ModelNew instead",
                  t.name, name, t.name);
  arena_release(&arena);
  task_release(&t);
  return status;
}

enum assay_status cli_baseline_write(const char *name, const char *task_path, bool as_published, const char *workload,
                                     const char *path, struct assay_error *err) {
  struct buf text = {0};
  enum assay_status status = cli_baseline_text(name, task_path, as_published, workload, &text, err);
  if (!status)
    status = file_write(path, buf_str(&text), text.len, err);
  buf_release(&text);
  return status;
}

enum assay_status cli_baseline_folder(struct cli_judging *j, struct assay_error *err) {
  return j->baseline_folder ? ASSAY_OK : sandbox_folder_make(j->paths.temporary, &j->baseline_folder, err);
}
