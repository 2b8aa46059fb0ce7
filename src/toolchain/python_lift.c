// SPDX-License-Identifier: Apache-2.0
// Plans of Python candidates (lifted.h): the source is looked at by the interpreter, and a worker that has imported
// PyTorch by then runs it.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "toolchain/lifted.h"
#include "toolchain/python_keep.h"
#include "toolchain/python_worker.h"

enum { MOST_FAILURE = 4096 }; // what a worker writes of extensions that do not compile

struct python_program {
  struct lifted_program lifted;
  struct python_place python;
  struct python_standby *standby;
  struct lift_worker *worker; // without a standby: begins while the source is built; NULL when it was used
  const char *folder;         // of the build
  // Extensions in C++ and CUDA. They are kept if `key` is not "".
  char key[HASH_HEX_BYTES];
  bool kept;           // by an earlier judgement or this one, as far as they could be
  const char *failure; // of their compiler; NULL: none
  struct buf printed;  // with it
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

// ---- extensions

// Imports the source in a process that knows of no workload, and keeps what that compiled. Where it comes to nothing,
// the worker that records compiles them itself, and says what is wrong.
static enum assay_status compile_extensions(struct python_program *p, struct lift_worker *w, struct assay_error *err) {
  struct lifted_program *l = &p->lifted;
  const char *folder = lift_worker_folder(w);
  struct sandbox_end end = {0};
  struct buf order = {0};
  char path[4096], *failure = NULL;
  size_t n = 0;
  int64_t start_ns = clock_monotonic_ns();
  snprintf(path, sizeof path, "%s/%s", folder, l->kind->source_file);
  enum assay_status status = file_write(path, l->source, l->source_bytes, err);
  if (!status)
    status = lifted_make_order(l, path, &order, err);
  if (!status)
    status = lift_worker_order(w, &order, NULL, 0, err);
  if (!status)
    status = lift_worker_wait(w, l->pauses, lifted_deadline_ns(l), &p->printed, &end, err);
  if (!status)
    l->spent_ns += clock_monotonic_ns() - start_ns - end.starved_ns - end.paused_ns;
  snprintf(path, sizeof path, "%s/failed", folder);
  if (!status && python_is_file_of(path, 1, MOST_FAILURE) &&
      file_read(path, MOST_FAILURE, &failure, &n, NULL) == ASSAY_OK) {
    for (size_t i = 0; i < n; i++) // one line of text, whatever it was
      failure[i] = failure[i] && (unsigned char)failure[i] < ' ' ? ' ' : failure[i];
    p->failure = arena_strndup(&l->arena, failure, n);
  } else if (!status && end.exited && end.code == 0) {
    python_keep_store(p->python.cache, p->key, folder);
  }
  base_free(failure);
  buf_release(&order);
  return status;
}

static enum assay_status make_extensions(struct python_program *p, struct assay_error *err) {
  const struct python_worker_options o = worker_options(p);
  struct lift_worker *w = NULL;
  p->kept = true;
  enum assay_status status = python_worker_start(NULL, &o, &w, err); // one that records nothing
  if (!status)
    status = compile_extensions(p, w, err);
  lift_worker_end(w);
  return status;
}

// Before the first recording. What does not compile has no plan.
static bool takes(struct lifted_program *lifted, const struct plan_subject *s, struct plan_report *report) {
  struct python_program *p = (struct python_program *)lifted;
  struct assay_error ignored = {0};
  (void)s;
  if (p->key[0] && !p->kept)
    (void)make_extensions(p, &ignored);
  if (!p->failure)
    return true;
  plan_report_refuse(report, PLAN_RAISED, "%s", p->failure);
  if (!report->log && p->printed.len > 0)
    report->log = base_strndup(buf_str(&p->printed), p->printed.len);
  return false;
}

// ---- the worker

static enum assay_status start_worker(struct lifted_program *lifted, struct lift_worker **out,
                                      struct assay_error *err) {
  struct python_program *p = (struct python_program *)lifted;
  const struct python_worker_options o = worker_options(p);
  *out = p->worker;
  p->worker = NULL;
  enum assay_status status = *out ? ASSAY_OK : python_worker_start(p->standby, &o, out, err);
  if (!status && p->key[0])
    (void)python_keep_restore(p->python.cache, p->key, lift_worker_folder(*out));
  return status;
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
  struct python_program *p = (struct python_program *)lifted;
  lift_worker_end(p->worker);
  buf_release(&p->printed);
}

static const struct lifted_kind kind = {
    .source_file = "candidate.py",
    .call = "forward",
    .nothing = "forward launches nothing: what it returns is from an earlier call",
    .start_worker = start_worker,
    .worker_is_gone = worker_is_gone,
    .cannot_start = cannot_start,
    .takes = takes,
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
                                    .cache = o->python.cache ? arena_strdup(a, o->python.cache) : NULL,
                                    .path_env = arena_strdup(a, o->python.path_env),
                                    .environment = lifted_copy_list(o->python.environment, a),
                                    .settings = arena_strdup(a, o->python.settings),
                                    .read_paths = lifted_copy_list(o->python.read_paths, a)};
  p->standby = o->standby;
  p->folder = arena_strdup(a, o->folder);
  const struct python_place *place = &p->python;
  if (good && p->folder && place->interpreter && place->script && place->worker && place->lift && place->path_env &&
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
  const struct python_kept what = {source, n, o->defines, o->target};
  if (!status && o->python.cache && python_keep_asked(source, n))
    status = python_keep_key(&o->python, &what, b->program->key, err);
  if (!status)
    status = python_build_start(&o->python, &options, o->target, source, n, &b->build, err);
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
    p->kept = p->key[0] && python_keep_is_there(p->folder);
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
