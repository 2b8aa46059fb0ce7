// Plans of Python candidates: a worker runs forward on the device, twice, with other tensors at other addresses, and
// assay-lift.so records what is launched (lift/lift.h). Two recordings that are the same plan are the plan: then what
// is launched depends neither on data nor on addresses nor on what was called before.
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "toolchain/cc.h"
#include "toolchain/plan_difference.h"
#include "toolchain/record_read.h"
#include "toolchain/record_run.h"

enum { LIFTS = 2, LOG_TEXT_BYTES = 64 << 10, MAX_PROCESSES = 512 };
// For compilers too: of extensions, and what Triton and torch.compile make.
static const int64_t LIFT_NS = 900000000000;

struct lifted_program {
  struct program base;
  struct arena arena;
  struct python_place python;
  const char *source, *folder, *path_env, *toolchain, *source_name;
  const char *const *defines;
  int device_index;
};

struct lifted_build {
  struct program_build base;
  struct python_build *build;
  struct lifted_program *program; // in the making
};

// ---- the build

static const char *const *copy_list(const char *const *list, struct arena *a) {
  size_t n = 0;
  while (list && list[n])
    n++;
  const char **copy = arena_calloc(a, n + 1, sizeof *copy);
  for (size_t i = 0; copy && i < n; i++)
    if (!(copy[i] = arena_strdup(a, list[i])))
      return NULL;
  return copy;
}

static void lifted_release(struct program *base) {
  struct lifted_program *p = (struct lifted_program *)base;
  arena_release(&p->arena);
  base_free(p);
}

static struct lifted_program *make_program(const struct program_options *o) {
  struct lifted_program *p = base_calloc(1, sizeof *p);
  if (!p)
    return NULL;
  struct arena *a = &p->arena;
  p->base.ops = &python_toolchain;
  memcpy(p->base.target, o->target, strnlen(o->target, sizeof p->base.target - 1));
  p->device_index = o->device_index;
  p->python = (struct python_place){.interpreter = arena_strdup(a, o->python.interpreter),
                                    .script = arena_strdup(a, o->python.script),
                                    .worker = arena_strdup(a, o->python.worker),
                                    .lift = arena_strdup(a, o->python.lift),
                                    .read_paths = copy_list(o->python.read_paths, a)};
  p->folder = arena_strdup(a, o->folder);
  p->path_env = arena_strdup(a, o->path_env ? o->path_env : "");
  p->source_name = arena_strdup(a, o->name ? o->name : "candidate.py");
  p->defines = copy_list(o->defines, a);
  const void *const needed[] = {p->python.interpreter, p->python.script,     p->python.worker,
                                p->python.lift,        p->python.read_paths, p->folder,
                                p->path_env,           p->source_name,       p->defines};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!needed[i]) {
      lifted_release(&p->base);
      return NULL;
    }
  return p;
}

static enum assay_status lifted_start(const struct program_options *o, const char *source, size_t n,
                                      struct program_build **out, struct assay_error *err) {
  const struct build_options options = {.path_env = o->path_env,
                                        .folder = o->folder,
                                        .defines = o->defines,
                                        .timeout_ns = o->timeout_ns,
                                        .file_bytes = o->file_bytes};
  struct lifted_build *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a build");
  b->base.ops = &python_toolchain;
  b->program = make_program(o);
  enum assay_status status = b->program ? ASSAY_OK : error_nomem(err, "a build");
  // Extensions are compiled where the device is: their source may ask what it is.
  if (!status)
    status = python_build_start(&o->python, &options, false, source, n, &b->build, err);
  if (status) {
    if (b->program)
      lifted_release(&b->program->base);
    base_free(b);
    return status;
  }
  *out = &b->base;
  return ASSAY_OK;
}

static void cancel(struct lifted_build *b) {
  python_build_cancel(b->build);
  if (b->program)
    lifted_release(&b->program->base);
  base_free(b);
}

static enum assay_status lifted_finish(struct program_build *base, struct build_result *result,
                                       struct program **program, struct assay_error *err) {
  struct lifted_build *b = (struct lifted_build *)base;
  struct build_result r = {0};
  enum assay_status status = python_build_finish(b->build, &r, err);
  b->build = NULL;
  if (!status && r.outcome == BUILD_OK) {
    struct lifted_program *p = b->program;
    p->source = arena_strdup(&p->arena, r.library);
    p->toolchain = arena_printf(&p->arena, "python (%.100s)", r.compiler_version);
    if (p->source && p->toolchain) {
      *program = &p->base;
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

static void lifted_cancel(struct program_build *base) {
  cancel((struct lifted_build *)base);
}

// ---- a run of the worker

struct lift_run {
  const struct lifted_program *program;
  struct arena arena;
  struct record_request *requests[LIFTS];
  size_t request_bytes[LIFTS];
  int fds[2 * LIFTS]; // request, log; request, log
  struct buf text;    // what it printed, cleaned
  struct sandbox_end end;
};

enum assay_status python_sheet(const struct plan_subject *s, struct buf *out, struct assay_error *err) {
  json_t *symbols = json_object(), *inputs = json_array(), *outputs = json_array();
  for (int i = 0; i < s->n_symbols; i++)
    json_object_set_new(symbols, s->symbols[i].name, json_integer(s->symbols[i].value));
  for (int i = 0; i < s->n_inputs; i++) {
    bool is_static = s->statics ? s->statics[i] : i < 32 && s->static_inputs >> i & 1;
    json_array_append_new(inputs, json_pack("{s:s, s:b}", "name", s->input_names[i], "static", is_static));
  }
  for (int i = 0; i < s->n_outputs; i++)
    json_array_append_new(outputs, json_string(s->output_names[i]));
  json_t *sheet = json_pack("{s:s, s:o, s:o, s:o, s:s?}", "task", s->task, "symbols", symbols, "inputs", inputs,
                            "outputs", outputs, "init", s->init_arguments);
  char *text = sheet ? json_dumps(sheet, JSON_COMPACT) : NULL;
  json_decref(sheet);
  if (!text)
    return error_nomem(err, "a worker's sheet");
  buf_puts(out, text);
  free(text);
  return buf_status(out, err);
}

// Two sets of tensors, one behind the other; what the program takes comes behind both.
static enum assay_status make_files(struct lift_run *r, const struct plan_subject *subject, struct assay_error *err) {
  struct record_device device;
  uint64_t address = RECORD_FIRST_ADDRESS;
  enum assay_status status = record_device_of_target(r->program->base.target, &device, err);
  for (int i = 0; i < LIFTS && !status; i++) {
    status = record_request_make_at(subject, &device, address, &r->arena, &r->requests[i], &r->request_bytes[i], err);
    address = status ? 0 : r->requests[i]->first_free;
  }
  for (int i = 0; i < LIFTS && !status; i++) {
    r->requests[i]->first_free = address;
    status = record_make_files(r->requests[i], r->request_bytes[i], &r->fds[2 * i], err);
  }
  return status;
}

static char *const *make_environment(const struct lifted_program *p, struct arena *a) {
  const char *slash = strrchr(p->python.interpreter, '/');
  int bin = slash ? (int)(slash - p->python.interpreter) : 0; // where an environment has its own ninja
  char *const all[] = {arena_strdup(a, "LC_ALL=C.UTF-8"),
                       arena_printf(a, "PATH=%.*s:%s", bin, p->python.interpreter, p->path_env),
                       arena_printf(a, "HOME=%s", p->folder),
                       arena_printf(a, "TMPDIR=%s", p->folder),
                       arena_strdup(a, "USER=assay"), // PyTorch names a folder after it
                       arena_printf(a, "TORCH_EXTENSIONS_DIR=%s/extensions", p->folder),
                       arena_printf(a, "TRITON_CACHE_DIR=%s/triton", p->folder),
                       arena_printf(a, "TORCHINDUCTOR_CACHE_DIR=%s/inductor", p->folder),
                       arena_printf(a, "CUDA_CACHE_PATH=%s/cuda", p->folder),
                       arena_printf(a, "CUDA_VISIBLE_DEVICES=%d", p->device_index)};
  enum { N_ALL = sizeof all / sizeof *all };
  char **envp = arena_calloc(a, N_ALL + 1, sizeof *envp);
  for (size_t i = 0; envp && i < N_ALL; i++)
    if (!(envp[i] = all[i]))
      return NULL;
  return envp;
}

// python -I -B worker.py lift LIFT_LIBRARY CANDIDATE BUILD SHEET DEFINE...
static char *const *make_arguments(const struct lifted_program *p, const char *sheet, struct arena *a) {
  const char *const front[] = {
      p->python.interpreter, "-I", "-B", p->python.script, "lift", p->python.lift, p->source, build_id, sheet};
  enum { N_FRONT = sizeof front / sizeof *front };
  size_t n = 0, n_defines = 0;
  while (p->defines[n_defines])
    n_defines++;
  char **argv = arena_calloc(a, N_FRONT + n_defines + 1, sizeof *argv);
  for (size_t i = 0; argv && i < N_FRONT; i++)
    argv[n++] = (char *)front[i];
  for (size_t i = 0; argv && i < n_defines; i++)
    argv[n++] = (char *)p->defines[i];
  return argv;
}

// The interpreter's, and what the device's driver and compilers need.
static const char *const *make_read_paths(const struct lifted_program *p, struct arena *a) {
  const char *const own[] = {p->python.script, p->python.lift, "/proc", "/sys", "/opt", "/etc/nvidia"};
  enum { N_OWN = sizeof own / sizeof *own };
  size_t n = 0, n_paths = 0;
  while (p->python.read_paths[n_paths])
    n_paths++;
  const char **paths = arena_calloc(a, n_paths + N_OWN + 1, sizeof *paths);
  for (size_t i = 0; paths && i < n_paths; i++)
    paths[n++] = p->python.read_paths[i];
  for (size_t i = 0; paths && i < N_OWN; i++)
    paths[n++] = own[i];
  return paths;
}

static enum assay_status run_worker(struct lift_run *r, const char *sheet, bool without_landlock,
                                    struct assay_error *err) {
  const struct lifted_program *p = r->program;
  char *const *argv = make_arguments(p, sheet, &r->arena), *const *envp = make_environment(p, &r->arena);
  const char *const *read_paths = make_read_paths(p, &r->arena);
  struct sandbox_child child;
  struct buf raw;
  glob_t files = {0};
  if (!argv || !envp || !read_paths)
    return error_nomem(err, "a worker's start");
  (void)glob("/dev/nvidia*", GLOB_NOSORT, NULL, &files);
  const struct sandbox_policy policy = {.role = SANDBOX_DEVICE,
                                        .folder = p->folder,
                                        .read_paths = read_paths,
                                        .device_paths = (const char *const *)files.gl_pathv,
                                        .without_landlock = without_landlock,
                                        .file_bytes = (size_t)1 << 32,
                                        .processes = MAX_PROCESSES};
  buf_init(&raw);
  buf_clear(&r->text);
  enum assay_status status = sandbox_spawn(&policy, argv, envp, r->fds, 2 * LIFTS, &child, err);
  if (!status)
    status = sandbox_wait(&child, clock_monotonic_ns() + LIFT_NS, &raw, LOG_TEXT_BYTES, &r->end, err);
  if (!status)
    diagnostics_clean(&raw, p->folder, NULL, &r->text);
  globfree(&files);
  buf_release(&raw);
  return status;
}

// ---- what came of it

// The text's last line that is not empty: of a traceback the one that says what happened.
static const char *last_line(const struct buf *b, int *length) {
  const char *text = buf_str(b), *end = text + strlen(text);
  while (end > text && end[-1] == '\n')
    end--;
  const char *begin = end;
  while (begin > text && begin[-1] != '\n')
    begin--;
  *length = (int)(end - begin > 300 ? 300 : end - begin);
  return begin;
}

// Says why there is nothing to read, and returns false; true when there is.
static bool returned(const struct lift_run *r, const struct record_header *h, struct plan_report *report) {
  int length;
  const char *line = last_line(&r->text, &length);
  if (r->end.deadline)
    plan_report_refuse(report, PLAN_HOST_TIMED_OUT, "the module was still at work after %.0f s",
                       (double)LIFT_NS * 1e-9);
  else if (!r->end.exited)
    plan_report_refuse(report, PLAN_HOST_CRASHED, "the worker was ended by signal %d (%s)%s%.*s", r->end.signal,
                       strsignal(r->end.signal), length ? ": " : "", length, line);
  else if (h->stage == RECORD_NOT_LOADED)
    plan_report_refuse(report, PLAN_RAISED, "%s", h->message);
  else if (h->stage == RECORD_REFUSED)
    plan_report_refuse(report, PLAN_REFUSED, "%s", h->message);
  else if (h->stage != RECORD_RETURNED)
    plan_report_refuse(report, PLAN_HOST_CRASHED, "the worker ended (exit code %d) before forward returned%s%.*s",
                       r->end.code, length ? ": " : "", length, line);
  else
    return true;
  return false;
}

static enum assay_status read_one(const struct lift_run *r, int i, const struct plan_subject *subject, struct plan *out,
                                  struct plan_report *report, struct assay_error *err) {
  const struct lifted_program *p = r->program;
  enum assay_status status = ASSAY_OK;
  struct record_header head;
  void *log = mmap(NULL, RECORD_LOG_BYTES, PROT_READ, MAP_SHARED, r->fds[2 * i + 1], 0);
  if (log == MAP_FAILED)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot map the recording: %s", strerror(errno));
  memcpy(&head, log, sizeof head);
  if (head.stage == RECORD_STARTED) { // nothing of the candidate was there yet
    munmap(log, RECORD_LOG_BYTES);
    enum { SHOWN = 800 }; // of a traceback the end
    const char *text = buf_str(&r->text);
    text += strlen(text) > SHOWN ? strlen(text) - SHOWN : 0;
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "the Python worker cannot use the GPU: %s\n(%s; it needs PyTorch for CUDA, and CUPTI)",
                     text[0] ? text : "it said nothing", p->python.interpreter);
  }
  for (size_t k = 0; k < sizeof head.message; k++) // one line of text, whatever it was
    head.message[k] = head.message[k] && (unsigned char)head.message[k] < ' ' ? ' ' : head.message[k];
  head.message[sizeof head.message - 1] = '\0';
  if (returned(r, &head, report))
    status = record_read(log, RECORD_LOG_BYTES, r->requests[i], subject, p->base.target, p->toolchain, p->source_name,
                         out, report, err);
  munmap(log, RECORD_LOG_BYTES);
  return status;
}

// Both plans, and that they are one.
static enum assay_status read_both(const struct lift_run *r, const struct plan_subject *subject, struct plan *out,
                                   struct plan_report *report, struct assay_error *err) {
  struct plan first = {0}, second = {0};
  struct plan_report again = {0};
  char difference[256];
  enum assay_status status = read_one(r, 0, subject, &first, report, err);
  if (status || report->outcome != PLAN_MADE)
    return status;
  status = read_one(r, 1, subject, &second, &again, err);
  if (status || again.outcome != PLAN_MADE) {
    report->outcome = again.outcome;
    memcpy(report->detail, again.detail, sizeof report->detail);
  } else if (plan_difference(&first, &second, difference, sizeof difference)) {
    plan_report_refuse(report, PLAN_REFUSED,
                       "what it launches depends on data, addresses or earlier calls: with other inputs %s",
                       difference);
  } else if (first.n_steps == 0) {
    plan_report_refuse(report, PLAN_REFUSED, "forward launches nothing: what it returns is from an earlier call");
  }
  plan_release(&second);
  plan_report_release(&again);
  if (!status && report->outcome == PLAN_MADE)
    *out = first;
  else
    plan_release(&first);
  return status;
}

// Whether the worker ended before it had the device, with nothing of the candidate there.
static bool never_started(const struct lift_run *r) {
  struct record_header head = {.stage = RECORD_RETURNED};
  return pread(r->fds[1], &head, sizeof head, 0) == (ssize_t)sizeof head && head.stage == RECORD_STARTED;
}

static enum assay_status lifted_plan(struct program *base, const struct plan_subject *subject, struct plan *out,
                                     struct plan_report *report, struct assay_error *err) {
  struct lift_run r = {.program = (struct lifted_program *)base, .fds = {-1, -1, -1, -1}};
  struct buf sheet = {0};
  buf_init(&r.text);
  enum assay_status status = make_files(&r, subject, err);
  if (!status)
    status = python_sheet(subject, &sheet, err);
  if (!status)
    status = run_worker(&r, buf_str(&sheet), false, err);
  // A driver may want files that the rules do not name; the plan is judged in another process anyway.
  if (!status && never_started(&r))
    status = run_worker(&r, buf_str(&sheet), true, err);
  if (!status)
    status = read_both(&r, subject, out, report, err);
  if (!status && r.text.len > 0 && !(report->log = base_strndup(buf_str(&r.text), r.text.len)))
    status = error_nomem(err, "what the worker printed");
  for (int i = 0; i < 2 * LIFTS; i++)
    if (r.fds[i] >= 0)
      close(r.fds[i]);
  buf_release(&sheet);
  buf_release(&r.text);
  arena_release(&r.arena);
  return status;
}

const struct toolchain_ops python_toolchain = {
    .name = "python",
    .start = lifted_start,
    .finish = lifted_finish,
    .cancel = lifted_cancel,
    .plan = lifted_plan,
    .release = lifted_release,
};
