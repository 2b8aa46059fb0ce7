// SPDX-License-Identifier: Apache-2.0
// Baselines by name: candidates that Assay writes itself (docs/baselines.md).
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/nearest.h"
#include "cli/judging.h"
#include "judge/form.h"
#include "report/report.h"
#include "sandbox/sandbox.h"
#include "task/task.h"

static const struct named {
  const char *name;
  const struct toolchain *toolchain; // whose files it is written as
  struct report_pytorch_mode mode;
} baselines[] = {
    {.name = "torch.eager", .toolchain = &toolchain_python},
    {.name = "torch.eager.benchmark", .toolchain = &toolchain_python, .mode = {NULL, true}},
    {.name = "torch.compile", .toolchain = &toolchain_python, .mode = {"default", false}},
    // PyTorch's own max-autotune also uses CUDA graphs. A plan has no use for them: its time has no host part.
    {.name = "torch.compile.max-autotune",
     .toolchain = &toolchain_python,
     .mode = {"max-autotune-no-cudagraphs", true}},
    {.name = "library", .toolchain = &toolchain_library},
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

enum assay_status cli_baseline_check(const char *name, bool or_file, struct assay_error *err) {
  char forms[256], near[64];
  const struct form *form;
  struct assay_error ignored = {0};
  struct nearest nearest = {.word = name};
  if (cli_is_baseline(name) || (or_file && cli_form_of(name, NULL, &form, &ignored) == ASSAY_OK))
    return ASSAY_OK;
  for (int i = 0; i < N_BASELINES; i++)
    nearest_offer(&nearest, baselines[i].name);
  return error_set(err, ASSAY_ERR_USAGE, "there is no baseline '%.60s'%s (baselines: %s%s%s)", name,
                   nearest_text(&nearest, near, sizeof near), names, or_file ? ", or a candidate's file: " : "",
                   or_file ? form_names(NULL, forms, sizeof forms) : "");
}

const char *cli_baseline_ending(const char *name) {
  return find(name)->toolchain->ending;
}

static enum assay_status put_pytorch(const struct named *b, const struct task *t, const char *workload, struct buf *out,
                                     struct assay_error *err) {
  struct workload w;
  struct arena arena = {0};
  struct buf missing = {0};
  enum assay_status status = task_parse_workload(t, workload, &arena, &w, err);
  if (!status)
    status = report_pytorch_candidate(t, &w, &b->mode, out, &missing, err);
  if (!status && missing.len)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED,
                       "%s has no baseline %s: there is no translation to PyTorch of %s; give a file with a ModelNew "
                       "instead",
                       t->name, b->name, buf_str(&missing));
  buf_release(&missing);
  arena_release(&arena);
  return status;
}

enum assay_status cli_baseline_text(const struct cli_baseline_request *r, struct buf *out, struct assay_error *err) {
  const struct named *b = find(r->name);
  struct task t;
  if (!b)
    return error_set(err, ASSAY_ERR_USAGE, "there is no baseline '%s'; baselines: %s", r->name, names);
  enum assay_status status = task_read(r->task_path, r->as_published, &t, err);
  if (status)
    return status;
  status = task_take_contract(&t, r->contract, err);
  if (status) {
    task_release(&t);
    return status;
  }
  if (b->toolchain == &toolchain_python) {
    status = put_pytorch(b, &t, r->workload, out, err);
  } else {
    buf_printf(out, "# assay: task %s\nany\n", t.name);
    status = buf_status(out, err);
  }
  task_release(&t);
  return status;
}

struct cli_baseline_request cli_baseline_of(const char *name, const char *task_path,
                                            const struct assay_judge_options *o) {
  return (struct cli_baseline_request){.name = name,
                                       .task_path = task_path,
                                       .workload = o->workload,
                                       .as_published = o->as_published,
                                       .contract = o->contract};
}

enum assay_status cli_baseline_write(const struct cli_baseline_request *r, const char *path, struct assay_error *err) {
  struct buf text = {0};
  enum assay_status status = cli_baseline_text(r, &text, err);
  if (!status)
    status = file_write(path, buf_str(&text), text.len, err);
  buf_release(&text);
  return status;
}

enum assay_status cli_baseline_folder(struct cli_judging *j, struct assay_error *err) {
  return j->baseline_folder ? ASSAY_OK : sandbox_folder_make(j->paths.temporary, &j->baseline_folder, err);
}

// The file of a baseline (assay_baseline_file). One that has a name is written for the task and the workload.
static enum assay_status baseline_file(void *arg, const char *name, const struct assay_judge_options *o,
                                       const char **path, struct assay_error *err) {
  struct cli_judging *j = arg;
  bool named = cli_is_baseline(name);
  const char *file = named ? cli_baseline_ending(name) : name;
  const struct form *form;
  struct assay_error ignored = {0};
  *path = name;
  if (cli_form_of(file, o->device, &form, &ignored) != ASSAY_OK || strcmp(form->device->name, o->device) != 0)
    return error_set(err, ASSAY_ERR_USAGE, "the baseline %s does not run on device %s, as the candidate does", name,
                     o->device);
  if (!named)
    return ASSAY_OK;
  buf_clear(&j->baseline_path);
  enum assay_status status = cli_baseline_folder(j, err);
  if (!status) {
    buf_printf(&j->baseline_path, "%s/%s%s", j->baseline_folder, name, file);
    status = buf_status(&j->baseline_path, err);
  }
  if (!status) {
    const struct cli_baseline_request r = cli_baseline_of(name, o->task, o);
    status = cli_baseline_write(&r, buf_str(&j->baseline_path), err);
  }
  *path = buf_str(&j->baseline_path);
  return status;
}

enum assay_status cli_baselines_open(struct cli_judging *j, struct assay_error *err) {
  struct assay_judge_options *o = &j->options;
  if (j->baselines.n == 0 || o->baselines)
    return ASSAY_OK;
  return assay_baselines_open(j->baselines.items, baseline_file, j, &o->baselines, err);
}

void cli_baselines_close(struct cli_judging *j) {
  assay_baselines_close(j->options.baselines);
  j->options.baselines = NULL;
  buf_release(&j->baseline_path);
  if (j->baseline_folder)
    sandbox_folder_remove(j->baseline_folder);
  base_free(j->baseline_folder);
  j->baseline_folder = NULL;
}
