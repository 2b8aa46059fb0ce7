#include "judge/planning.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "judge/library_call.h"
#include "judge/python.h"
#include "sandbox/sandbox.h"
#include "task/task.h"

enum { MAX_CANDIDATE_BYTES = 4 << 20 };

static enum assay_status find_library(const struct assay_judge_options *o, struct arena *a, struct library_place *out,
                                      struct assay_error *err) {
  const struct library_options l = {.program = o->library_program,
                                    .worker = o->worker_library,
                                    .cublaslt = o->cublaslt,
                                    .cudnn = o->cudnn,
                                    .cupti = o->cupti};
  return library_find(&l, a, out, err);
}

enum assay_status planning_options(const struct assay_judge_options *o, const char *source, size_t n,
                                   struct builder *builder, const char *folder, const char *target, struct arena *arena,
                                   struct program_options *out, struct assay_error *err) {
  const char *slash = strrchr(o->candidate, '/');
  bool cuda = strcmp(o->device, "cuda") == 0;
  *out = (struct program_options){
      .target = target,
      .defines = o->defines,
      .name = slash ? slash + 1 : o->candidate,
      .builder = builder,
      .builder_options = {.program = o->builder_program, .nvrtc = o->nvrtc, .temporary_dir = o->temporary_dir},
      .compiler = o->compiler ? o->compiler : "nvcc",
      .path_env = o->path_env,
      .include_dir = o->include_dir,
      .recorder = o->recorder_program,
      .device_index = o->device_index,
      .folder = folder,
      .timeout_ns = o->build_timeout_ns,
      .record_timeout_ns = o->load_timeout_ns,
      .memory_bytes = o->build_memory_bytes,
      .file_bytes = (size_t)256 << 20};
  enum assay_status status = toolchain_of(o->candidate, source, n, &out->toolchain, err);
  if (!status && out->toolchain == TOOLCHAIN_PYTHON)
    status = judge_find_python(o, arena, &out->python, err);
  else if (!status && out->toolchain == TOOLCHAIN_LIBRARY)
    status = find_library(o, arena, &out->library, err);
  else if (!status && o->toolchain && cuda)
    out->toolchain = strcmp(o->toolchain, "nvcc") == 0 ? TOOLCHAIN_NVCC : TOOLCHAIN_NVRTC;
  if (!status && cuda != (out->toolchain != TOOLCHAIN_OPENCL))
    status = error_set(err, ASSAY_ERR_USAGE,
                       "%s does not run on device %s: .cu, .py and .library files are for cuda, .cl files for opencl",
                       o->candidate, o->device);
  return status;
}

static struct plan_tensor plan_tensor_of(const struct runner_tensor *t) {
  struct plan_tensor p = {.dtype = (int32_t)t->dtype, .rank = t->shape.rank};
  for (int i = 0; i < t->shape.rank; i++)
    p.dims[i] = t->shape.dims[i];
  return p;
}

// What lives in the arena and in the task.
static enum assay_status make_subject(const struct task *t, const struct layout *l, struct arena *arena,
                                      struct plan_subject *out, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  const struct workload *w = l->workload;
  struct plan_symbol *symbols = arena_calloc(arena, (size_t)w->n + 1, sizeof *symbols);
  const char **in_names = arena_calloc(arena, (size_t)l->n_in + 1, sizeof *in_names);
  const char **out_names = arena_calloc(arena, (size_t)l->n_out + 1, sizeof *out_names);
  struct plan_tensor *in = arena_calloc(arena, (size_t)l->n_in + 1, sizeof *in);
  struct plan_tensor *outs = arena_calloc(arena, (size_t)l->n_out + 1, sizeof *outs);
  bool *statics = arena_calloc(arena, (size_t)l->n_in + 1, sizeof *statics);
  if (!symbols || !in_names || !out_names || !in || !outs || !statics)
    return error_nomem(err, "a plan's subject");
  *out = (struct plan_subject){.task = t->name,
                               .workload = w->name,
                               .n_symbols = w->n,
                               .n_inputs = l->n_in,
                               .n_outputs = l->n_out,
                               .symbols = symbols,
                               .input_names = in_names,
                               .output_names = out_names,
                               .inputs = in,
                               .outputs = outs,
                               .statics = statics};
  for (int i = 0; i < w->n; i++)
    symbols[i] = (struct plan_symbol){w->bindings[i].symbol, w->bindings[i].value};
  for (int i = 0; i < l->n_in; i++) {
    in_names[i] = g->values[g->inputs[i]].name;
    in[i] = plan_tensor_of(&l->in_tensors[i]);
    statics[i] = t->inputs[i].distribution.is_static;
    if (i < 32 && statics[i])
      out->static_inputs |= 1u << i;
  }
  for (int i = 0; i < l->n_out; i++) {
    out_names[i] = g->values[g->outputs[i]].name;
    outs[i] = plan_tensor_of(&l->out_tensors[i]);
  }
  return judge_init_arguments(t, arena, &out->init_arguments, err);
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
  if (!status && program_toolchain(program) == TOOLCHAIN_LIBRARY)
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
    if (!status && program_toolchain(program) == TOOLCHAIN_LIBRARY)
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
  static const char *const words[] = {"", "the compiler rejected the source", "the compiler did not finish in its time",
                                      "the compiler ran into its limits"};
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
    status = task_parse_workload(&task, o->workload, &arena, &workload, err);
  if (!status)
    status = layout_make(&task, &workload, &layout, err);
  if (!status)
    status = file_read(o->candidate, MAX_CANDIDATE_BYTES, &source, &n, err);
  if (!status)
    status = sandbox_folder_make(o->temporary_dir, &folder, err);
  if (!status)
    status = planning_options(o, source, n, NULL, folder, target, &arena, &po, err);
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
