// SPDX-License-Identifier: Apache-2.0
#include "judge/planning.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "judge/form.h"
#include "judge/library_call.h"
#include "judge/python.h"
#include "judge/subject.h"
#include "sandbox/sandbox.h"
#include "task/task.h"

enum assay_status planning_options(const struct assay_judge_options *o, const struct planning_build *b,
                                   struct arena *arena, struct program_options *out, struct assay_error *err) {
  const char *slash = strrchr(o->candidate, '/');
  *out = (struct program_options){.target = b->target,
                                  .defines = o->defines,
                                  .name = slash ? slash + 1 : o->candidate,
                                  .builder = b->builder,
                                  .paths = o->paths,
                                  .compiler = o->compiler ? o->compiler : "nvcc",
                                  .device_index = o->device_index,
                                  .folder = b->folder,
                                  .timeout_ns = o->build_timeout_ns,
                                  .record_timeout_ns = o->load_timeout_ns,
                                  .budget_ns = o->budget_ns,
                                  .memory_bytes = o->build_memory_bytes,
                                  .file_bytes = (size_t)256 << 20};
  struct form_choice choice;
  enum assay_status status = form_choose(o, &choice, err);
  if (!status && choice.form->subject != &subject_plan)
    status = error_set(err, ASSAY_ERR_USAGE, "%s does not become a launch plan on device %s", o->candidate, o->device);
  if (!status && choice.toolchain)
    out->toolchain = choice.toolchain;
  else if (!status)
    status = toolchain_of(o->candidate, b->source, b->n, &out->toolchain, err);
  if (!status && out->toolchain == &toolchain_python)
    status = python_find(o->paths, arena, &out->python, err);
  else if (!status && out->toolchain == &toolchain_library)
    status = library_find(o->paths, arena, &out->library, err);
  return status;
}

// What lives in the arena, in the task and in the layout.
static enum assay_status make_subject(const struct task *t, const struct layout *l, struct arena *arena,
                                      struct plan_subject *out, struct assay_error *err) {
  enum assay_status status = judge_describe(t, l->workload, arena, out, err);
  out->inputs = l->in;
  out->outputs = l->out;
  return status;
}

// What a library is asked for, or why it is not.
static enum assay_status add_library_call(const struct task *t, const struct layout *l, struct arena *arena,
                                          struct plan_subject *s, struct assay_error *err) {
  struct library_call call;
  struct assay_error why = {0};
  struct buf text = {0};
  const char **to = &s->library_refusal;
  enum assay_status status = library_call_of(t, l->workload, &call, &why);
  if (status == ASSAY_ERR_UNSUPPORTED) {
    buf_puts(&text, why.message);
    status = buf_status(&text, err);
  } else if (!status) {
    status = library_call_print(&call, &text, err);
    to = &s->library_call;
  } else {
    return error_set(err, status, "%s", why.message);
  }
  if (!status && !(*to = arena_strdup(arena, buf_str(&text))))
    status = error_nomem(err, "the call of a library");
  buf_release(&text);
  return status;
}

enum assay_status planning_make(struct program *program, const struct task *t, const struct layout *l, struct plan *out,
                                struct plan_report *report, struct assay_error *err) {
  struct arena arena = {0};
  struct plan_subject subject;
  enum assay_status status = make_subject(t, l, &arena, &subject, err);
  if (!status && toolchain_wants_library_call(program_toolchain(program)))
    status = add_library_call(t, l, &arena, &subject, err);
  if (!status)
    status = program_plan(program, &subject, out, report, err);
  arena_release(&arena);
  return status;
}

enum assay_status planning_expect(struct program *program, const struct task *t, const struct layout *layouts, int n,
                                  struct assay_error *err) {
  struct arena arena = {0};
  struct plan_subject *subjects = arena_calloc(&arena, (size_t)n + 1, sizeof *subjects);
  enum assay_status status = subjects ? ASSAY_OK : error_nomem(err, "plans' subjects");
  for (int i = 0; i < n && !status; i++) {
    status = make_subject(t, &layouts[i], &arena, &subjects[i], err);
    if (!status && toolchain_wants_library_call(program_toolchain(program)))
      status = add_library_call(t, &layouts[i], &arena, &subjects[i], err);
  }
  if (!status)
    status = program_expect(program, subjects, n, err);
  arena_release(&arena);
  return status;
}

// Builds, and says what the compiler said when it refused.
static enum assay_status build(const struct program_options *po, const char *source, size_t n, struct program **program,
                               char why[512], char **diagnostics, struct assay_error *err) {
  struct program_build *b;
  struct build_result r;
  enum assay_status status = program_start(po, source, n, &b, err);
  if (!status)
    status = program_finish(b, &r, program, err);
  if (status)
    return status;
  static const char *const words[] = {[BUILD_OK] = "",
                                      [BUILD_REJECTED] = "the compiler rejected the source",
                                      [BUILD_TIMED_OUT] = "the compiler did not finish in its time",
                                      [BUILD_HIT_LIMIT] = "the compiler ran into its limits"};
  snprintf(why, 512, "%s", words[r.outcome]);
  *diagnostics = r.diagnostics;
  r.diagnostics = NULL;
  build_result_release(&r);
  return ASSAY_OK;
}

enum assay_status planning_save(const struct assay_judge_options *o, const char *target, struct plan *out, bool *made,
                                char why[512], char **diagnostics, struct assay_error *err) {
  struct arena arena = {0};
  struct task task = {0};
  struct workload workload;
  struct layout layout = {0};
  struct program_options po;
  struct program *program = NULL;
  struct plan_report report = {0};
  char *source = NULL, *folder = NULL;
  size_t n = 0;
  *made = false;
  *diagnostics = NULL;
  enum assay_status status = task_read(o->task, o->as_published, &task, err);
  if (!status)
    status = task_take_contract(&task, o->contract, err);
  if (!status)
    status = task_parse_workload(&task, o->workload, &arena, &workload, err);
  if (!status)
    status = layout_make(&task, &workload, &layout, err);
  if (!status)
    status = file_read(o->candidate, FORM_MOST_BYTES, &source, &n, err);
  if (!status)
    status = sandbox_folder_make(o->paths->temporary, &folder, err);
  if (!status)
    status = planning_options(o, &(struct planning_build){.source = source, .n = n, .folder = folder, .target = target},
                              &arena, &po, err);
  if (!status)
    status = build(&po, source, n, &program, why, diagnostics, err);
  if (!status && program) {
    status = planning_make(program, &task, &layout, out, &report, err);
    *made = !status && report.outcome == PLAN_MADE;
    snprintf(why, 512, "%s", report.detail);
    if (report.log && !*made) { // what host code said may explain it
      base_free(*diagnostics);
      *diagnostics = report.log;
      report.log = NULL;
    }
    plan_report_release(&report);
  }
  program_release(program);
  if (folder) {
    sandbox_folder_remove(folder);
    base_free(folder);
  }
  base_free(source);
  layout_release(&layout);
  task_release(&task);
  arena_release(&arena);
  return status;
}
