// SPDX-License-Identifier: Apache-2.0
// Plans of Python candidates (lifted.h): the source is looked at by the interpreter, and a worker that has imported
// PyTorch by then runs it.
#include <string.h>

#include "base/alloc.h"
#include "toolchain/lifted.h"
#include "toolchain/python_worker.h"

struct python_program {
  struct lifted_program lifted;
  struct python_place python;
  struct python_standby *standby;
  struct lift_worker *worker; // without a standby: begins while the source is built; NULL when it was used
};

struct python_lift_build {
  struct program_build base;
  struct python_build *build;
  struct python_program *program; // in the making
};

static struct python_worker_options worker_options(const struct python_program *p) {
  return (struct python_worker_options){.python = &p->python,
                                        .paths = p->lifted.paths,
                                        .device_index = p->lifted.device_index,
                                        .without_landlock = p->lifted.without_landlock};
}

// ---- the worker

static enum assay_status start_worker(struct lifted_program *lifted, struct lift_worker **out,
                                      struct assay_error *err) {
  struct python_program *p = (struct python_program *)lifted;
  const struct python_worker_options o = worker_options(p);
  *out = p->worker;
  p->worker = NULL;
  return *out ? ASSAY_OK : python_worker_start(p->standby, &o, out, err);
}

static void worker_is_gone(struct lifted_program *lifted) {
  struct python_program *p = (struct python_program *)lifted;
  const struct python_worker_options o = worker_options(p);
  if (p->standby)
    python_standby_fill(p->standby, &o);
}

static enum assay_status cannot_start(const struct lifted_program *lifted, const char *printed,
                                      struct assay_error *err) {
  const struct python_program *p = (const struct python_program *)lifted;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "the Python worker cannot use the GPU: %s\n(%s; it needs PyTorch for CUDA, and CUPTI)", printed,
                   p->python.interpreter);
}

static void release(struct lifted_program *lifted) {
  lift_worker_end(((struct python_program *)lifted)->worker);
}

static const struct lifted_kind kind = {
    .source_file = "candidate.py",
    .call = "forward",
    .nothing = "forward launches nothing: what it returns is from an earlier call",
    .start_worker = start_worker,
    .worker_is_gone = worker_is_gone,
    .cannot_start = cannot_start,
    .release = release,
};

// ---- the build

static struct python_program *make_program(const struct program_options *o, const char *source, size_t n) {
  struct python_program *p = base_calloc(1, sizeof *p);
  if (!p)
    return NULL;
  bool good = lifted_init(&p->lifted, &kind, &toolchain_python, o, source, n);
  struct arena *a = &p->lifted.arena;
  p->python = (struct python_place){.interpreter = arena_strdup(a, o->python.interpreter),
                                    .script = arena_strdup(a, o->python.script),
                                    .worker = arena_strdup(a, o->python.worker),
                                    .lift = arena_strdup(a, o->python.lift),
                                    .path_env = arena_strdup(a, o->python.path_env),
                                    .environment = lifted_copy_list(o->python.environment, a),
                                    .settings = arena_strdup(a, o->python.settings),
                                    .read_paths = lifted_copy_list(o->python.read_paths, a)};
  p->standby = o->standby;
  const struct python_place *place = &p->python;
  if (good && place->interpreter && place->script && place->worker && place->lift && place->path_env &&
      place->environment && place->settings && place->read_paths)
    return p;
  lifted_release(&p->lifted.base);
  return NULL;
}

static enum assay_status start(const struct program_options *o, const char *source, size_t n,
                               struct program_build **out, struct assay_error *err) {
  const struct build_options options = {.path_env = o->paths->path_env,
                                        .folder = o->folder,
                                        .defines = o->defines,
                                        .timeout_ns = o->timeout_ns,
                                        .file_bytes = o->file_bytes};
  struct python_lift_build *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a build");
  b->base.toolchain = &toolchain_python;
  b->program = make_program(o, source, n);
  enum assay_status status = b->program ? ASSAY_OK : error_nomem(err, "a build");
  // Extensions are compiled where the device is: their source may ask what it is.
  if (!status)
    status = python_build_start(&o->python, &options, false, source, n, &b->build, err);
  if (!status) {
    const struct python_worker_options w = worker_options(b->program);
    if (o->standby)
      python_standby_fill(o->standby, &w);
    else
      status = python_worker_start(NULL, &w, &b->program->worker, err);
  }
  if (status) {
    python_build_cancel(b->build);
    if (b->program)
      lifted_release(&b->program->lifted.base);
    base_free(b);
    return status;
  }
  *out = &b->base;
  return ASSAY_OK;
}

static void cancel(struct python_lift_build *b) {
  python_build_cancel(b->build);
  if (b->program)
    lifted_release(&b->program->lifted.base);
  base_free(b);
}

static enum assay_status finish(struct program_build *base, struct build_result *result, struct program **program,
                                struct assay_error *err) {
  struct python_lift_build *b = (struct python_lift_build *)base;
  struct build_result r = {0};
  enum assay_status status = python_build_finish(b->build, &r, err);
  b->build = NULL;
  if (!status && r.outcome == BUILD_OK) {
    struct python_program *p = b->program;
    p->lifted.toolchain = arena_printf(&p->lifted.arena, "python (%.100s)", r.compiler_version);
    if (p->lifted.toolchain) {
      *program = &p->lifted.base;
      b->program = NULL;
    } else {
      status = error_nomem(err, "a program");
    }
  }
  base_free(r.library);
  r.library = NULL;
  if (!status)
    *result = r;
  else
    build_result_release(&r);
  cancel(b);
  return status;
}

static void cancel_build(struct program_build *base) {
  cancel((struct python_lift_build *)base);
}

const struct toolchain_ops toolchain_ops_python = {
    .uses_device = true,
    .start = start,
    .finish = finish,
    .cancel = cancel_build,
    .plan = lifted_plan,
    .expect = lifted_expect,
    .release = lifted_release,
};
