// SPDX-License-Identifier: Apache-2.0
// Plans of the libraries' baseline (lifted.h): nothing is built, and the worker is assay-library.
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "sandbox/gpu_visible.h"
#include "toolchain/lifted.h"

struct library_program {
  struct lifted_program lifted;
  struct library_place place;
  enum library_choice choice;
};

struct library_build {
  struct program_build base;
  struct library_program *program; // NULL: the source is none
  struct assay_error rejected;     // and why
};

// ---- the worker

static enum assay_status spawn(struct lift_worker *w, const struct library_program *p, struct assay_error *err) {
  struct arena *a = lift_worker_arena(w);
  const char *folder = lift_worker_folder(w);
  const struct library_place *place = &p->place;
  char *const argv[] = {(char *)place->program,
                        (char *)place->lift,
                        (char *)build_id,
                        (char *)place->cublaslt,
                        (char *)place->cudnn,
                        (char *)place->cupti,
                        (char *)library_choice_name(p->choice),
                        NULL};
  struct gpu_visible gpu;
  gpu_visible(p->lifted.device_index, &gpu);
  char *const envp[] = {arena_strdup(a, "LC_ALL=C.UTF-8"),
                        arena_printf(a, "HOME=%s", folder),
                        arena_printf(a, "TMPDIR=%s", folder),
                        arena_printf(a, "CUDA_CACHE_PATH=%s/cuda", folder),
                        arena_strdup(a, gpu.devices),
                        arena_strdup(a, gpu.order),
                        arena_printf(a, "LD_LIBRARY_PATH=%s", place->search),
                        NULL};
  for (size_t i = 0; i + 1 < sizeof envp / sizeof *envp; i++)
    if (!envp[i])
      return error_nomem(err, "a worker's start");
  const struct lift_command c = {
      .argv = argv, .envp = envp, .read_paths = place->read_paths, .without_landlock = p->lifted.without_landlock};
  return lift_worker_spawn(w, &c, err);
}

static enum assay_status start_worker(struct lifted_program *lifted, struct lift_worker **out,
                                      struct assay_error *err) {
  struct lift_worker *w = NULL;
  enum assay_status status = lift_worker_create(lifted->paths->temporary, &w, err);
  if (!status)
    status = spawn(w, (const struct library_program *)lifted, err);
  if (status)
    lift_worker_end(w);
  else
    *out = w;
  return status;
}

static enum assay_status cannot_start(const struct lifted_program *p, const char *printed, struct assay_error *err) {
  (void)p;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "the library baseline cannot be recorded: %s", printed);
}

// Products are cuBLASLt's, convolutions cuDNN's; some tasks are both.
static bool takes(struct lifted_program *lifted, const struct plan_subject *s, struct plan_report *report) {
  const struct library_program *p = (const struct library_program *)lifted;
  if (s->library_refusal || !s->library_call) {
    plan_report_refuse(report, PLAN_REFUSED, "%s",
                       s->library_refusal ? s->library_refusal : "nobody says what to call");
    return false;
  }
  json_t *call = json_loads(s->library_call, 0, NULL);
  bool product = json_object_get(call, "product") != NULL, convolution = json_object_get(call, "convolution") != NULL;
  json_decref(call);
  if (p->choice == LIBRARY_ANY || (p->choice == LIBRARY_CUBLASLT ? product : convolution))
    return true;
  const char *has_it = library_choice_name(product ? LIBRARY_CUBLASLT : LIBRARY_CUDNN);
  plan_report_refuse(report, PLAN_REFUSED, "this task is a %s, which is for %s: write %s or any in the file",
                     product ? "matrix product" : "convolution", has_it, has_it);
  return false;
}

static const struct lifted_kind kind = {
    .source_file = "candidate.library",
    .call = "the library's call",
    .nothing = "the library launches nothing",
    .start_worker = start_worker,
    .cannot_start = cannot_start,
    .takes = takes,
};

// ---- the build

static void cancel(struct program_build *base) {
  struct library_build *b = (struct library_build *)base;
  if (b->program)
    lifted_release(&b->program->lifted.base);
  base_free(b);
}

static bool copy_place(const struct library_place *from, struct arena *a, struct library_place *out) {
  *out = (struct library_place){.program = arena_strdup(a, from->program),
                                .lift = arena_strdup(a, from->lift),
                                .cublaslt = arena_strdup(a, from->cublaslt),
                                .cudnn = arena_strdup(a, from->cudnn),
                                .cupti = arena_strdup(a, from->cupti),
                                .search = arena_strdup(a, from->search),
                                .read_paths = lifted_copy_list(from->read_paths, a)};
  return out->program && out->lift && out->cublaslt && out->cudnn && out->cupti && out->search && out->read_paths;
}

static enum assay_status start(const struct program_options *o, const char *source, size_t n,
                               struct program_build **out, struct assay_error *err) {
  enum library_choice choice;
  struct library_build *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a build");
  b->base.toolchain = &toolchain_library;
  *out = &b->base;
  if (library_read(source, n, &choice, &b->rejected) != ASSAY_OK)
    return ASSAY_OK;
  struct library_program *p = b->program = base_calloc(1, sizeof *p);
  bool good = p && lifted_init(&p->lifted, &kind, &toolchain_library, o, source, n) &&
              copy_place(&o->library, &p->lifted.arena, &p->place);
  if (good) {
    p->choice = choice;
    p->lifted.toolchain = arena_printf(&p->lifted.arena, "library (%s)", library_choice_name(choice));
  }
  if (good && p->lifted.toolchain)
    return ASSAY_OK;
  cancel(&b->base);
  return error_nomem(err, "a build");
}

static char *copy_text(const char *text) {
  return base_strndup(text, strlen(text));
}

static enum assay_status finish(struct program_build *base, struct build_result *result, struct program **program,
                                struct assay_error *err) {
  struct library_build *b = (struct library_build *)base;
  struct build_result r = {.outcome = b->program ? BUILD_OK : BUILD_REJECTED,
                           .diagnostics = copy_text(b->rejected.message),
                           .command = copy_text("assay-library"),
                           .compiler_version = copy_text(b->program ? b->program->lifted.toolchain : "")};
  bool good = r.diagnostics && r.command && r.compiler_version;
  if (good) {
    *program = b->program ? &b->program->lifted.base : NULL;
    b->program = NULL;
    *result = r;
  } else {
    build_result_release(&r);
  }
  cancel(&b->base);
  return good ? ASSAY_OK : error_nomem(err, "the result of a build");
}

const struct toolchain_ops toolchain_ops_library = {
    .uses_device = true,
    .wants_library_call = true,
    .start = start,
    .finish = finish,
    .cancel = cancel,
    .plan = lifted_plan,
    .expect = lifted_expect,
    .release = lifted_release,
};
