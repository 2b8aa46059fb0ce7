// SPDX-License-Identifier: Apache-2.0
// assay plan save TASK FILE: the plan of a candidate for a workload, made without a device.
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/judging.h"
#include "judge/planning.h"
#include "plan/plan.h"
#include "task/task.h"

enum { KEY_OUT = 7000, KEY_TARGET };

struct arguments {
  struct cli_judging judging;
  const char *task, *candidate, *out, *target;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  struct plan_target gpu;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case KEY_OUT:
    a->out = arg;
    return 0;
  case KEY_TARGET:
    if (!plan_target_parse(arg, &gpu))
      argp_error(state, "--target takes a GPU such as sm_90a, not '%s'", arg);
    a->target = arg;
    return 0;
  case ARGP_KEY_ARG:
    if (!a->task)
      a->task = arg;
    else if (!a->candidate)
      a->candidate = arg;
    else
      argp_error(state, "one TASK and one FILE only");
    return 0;
  case ARGP_KEY_END:
    if (!a->candidate)
      argp_error(state, "name a task and a candidate: assay plan save kernelbench/1/19 relu.cu");
    if (!a->out && isatty(STDOUT_FILENO))
      argp_error(state,
                 "a plan holds binary modules, which are not for a terminal: name a file for it, --out FILE, and "
                 "look at that with `assay plan show FILE`");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"out", KEY_OUT, "FILE", 0, "the plan's file (default: standard output)", 0},
    {"target", KEY_TARGET, "sm_NN", 0, "the GPU it is for (default: sm_90a)", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "TASK FILE",
    .doc = "Builds a candidate (.cu or .cl) and writes its launch plan for a workload, as JSON. Needs no GPU.",
};

static const char *const taken[] = {"workload", "toolchain", "compiler", "as-published",
                                    "contract", "budget",    "define",   NULL};

static enum assay_status write_plan(const struct arguments *a, const struct plan *p, struct assay_error *err) {
  struct buf json = {0};
  if (a->out)
    return plan_write(a->out, p, err);
  enum assay_status status = plan_print_json(p, &json, err);
  if (!status)
    fputs(buf_str(&json), stdout);
  buf_release(&json);
  return status;
}

static void print_diagnostics(const char *diagnostics, const char *candidate) {
  struct buf text = {0};
  cli_own_paths(diagnostics ? diagnostics : "", candidate, &text);
  if (text.len > 0 && !text.failed)
    fprintf(stderr, "%s%s", text.data, text.data[text.len - 1] == '\n' ? "" : "\n");
  buf_release(&text);
}

int cli_plan_save(int argc, char **argv) {
  struct arguments a = {.target = "sm_90a"};
  struct assay_error err = {0};
  char *task_path = NULL, *diagnostics = NULL, why[512] = "";
  bool made = false;
  struct plan plan;
  struct argp options_too = argp;
  options_too.children = cli_judge_some(taken, cli_plan_child);
  if (cli_begin(&options_too, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_judging_finish(&a.judging, NULL);
  struct assay_judge_options *o = &a.judging.options;
  const struct form *form;
  if (cli_form_of(a.candidate, plan_device_cuda.name, &form, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (form->device->dialect == PLAN_NO_LAUNCHES) {
    fprintf(stderr, "assay: %s: %s files do not become launch plans\n", a.candidate, form->ending);
    return CLI_USAGE;
  }
  cli_note_directives(a.candidate);
  o->device = form->device->name;
  o->candidate = a.candidate;
  enum assay_status status = task_find(a.judging.paths.tasks, a.task, &task_path, &err);
  o->task = task_path;
  if (!status)
    status = planning_save(o, form->device->dialect == PLAN_CUDA_LAUNCHES ? a.target : "", &plan, &made, why,
                           &diagnostics, &err);
  if (!status && made) {
    status = write_plan(&a, &plan, &err);
    plan_release(&plan);
  }
  int code = status ? cli_fail(&err) : made ? CLI_PASS : CLI_FAIL;
  if (!status && !made)
    fprintf(stderr, "assay: no plan: %s\n", why);
  print_diagnostics(diagnostics, a.candidate);
  base_free(diagnostics);
  base_free(task_path);
  return code;
}
