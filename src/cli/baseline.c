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
  const char *name, *ending;
  struct report_pytorch_mode mode;
} baselines[] = {
    {"torch.eager", ".py", {NULL, false}},
    {"torch.eager.benchmark", ".py", {NULL, true}},
    {"torch.compile", ".py", {"default", false}},
    // Its other form adds CUDA graphs, which a plan has no use for: nothing of the host is in its time.
    {"torch.compile.max-autotune", ".py", {"max-autotune-no-cudagraphs", true}},
    {"library", ".library", {NULL, false}},
};
enum { N_BASELINES = sizeof baselines / sizeof *baselines };
static const char names[] = "torch.eager, torch.eager.benchmark, torch.compile, torch.compile.max-autotune, library";

static const struct named *find(const char *name) {
  for (int i = 0; i < N_BASELINES; i++)
    if (strcmp(baselines[i].name, name) == 0)
      return &baselines[i];
  return NULL;
}

bool cli_is_baseline(const char *name) {
  return find(name) != NULL;
}

void cli_check_baseline(const struct argp_state *state, const char *name, bool or_file) {
  if (cli_is_baseline(name) || (or_file && cli_device_of(name, NULL)))
    return;
  argp_error(state, "there is no baseline '%s'; baselines: %s%s", name, names,
             or_file ? ", or a candidate's file (.c, .cu, .cl, .py, .library)" : "");
}

const char *cli_baseline_ending(const char *name) {
  return find(name)->ending;
}

static enum assay_status put_pytorch(const struct named *b, const struct task *t, const char *workload, struct buf *out,
                                     struct assay_error *err) {
  struct workload w;
  struct arena arena = {0};
  bool complete = false;
  enum assay_status status = task_parse_workload(t, workload, &arena, &w, err);
  if (!status)
    status = report_pytorch_candidate(t, &w, &b->mode, out, &complete, err);
  if (!status && !complete)
    status =
        error_set(err, ASSAY_ERR_UNSUPPORTED,
                  "%s has no baseline %s: an operator of it has no translation to PyTorch (assay show %s --pytorch "
                  "says which); give a file with a ModelNew instead",
                  t->name, b->name, t->name);
  arena_release(&arena);
  return status;
}

enum assay_status cli_baseline_text(const char *name, const char *task_path, bool as_published, const char *workload,
                                    struct buf *out, struct assay_error *err) {
  const struct named *b = find(name);
  struct task t;
  if (!b)
    return error_set(err, ASSAY_ERR_USAGE, "there is no baseline '%s'; baselines: %s", name, names);
  enum assay_status status = task_read(task_path, as_published, &t, err);
  if (status)
    return status;
  if (strcmp(b->ending, ".py") == 0) {
    status = put_pytorch(b, &t, workload, out, err);
  } else {
    buf_printf(out, "# assay: task %s\nany\n", t.name);
    status = buf_status(out, err);
  }
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
