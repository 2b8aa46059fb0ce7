// SPDX-License-Identifier: Apache-2.0
// kernels_cuda [--only NAME] FOLDER...: the kernels of these folders become plans, without a GPU.
//   by NVRTC  the file and each of its twins: a plan for every workload of its task (small, full, ragged), checked
//             against the task's tensors and the target's limits, and the same after it was written and read; the
//             compiler does not say that it makes the tensor core's products one after another
//   by nvcc   the file as it is: the same plans from its host code, step by step
// Nothing runs, so only the file by NVRTC is optimised as for a judgement; the twins and nvcc compile in haste where
// the compilers can (CUDA 12.8), in less than half the time. Files are shared out to as many processes as there are
// CPUs, two at least, each with a warmed builder. Exit code 77 when neither compiler is installed.
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assay/judge.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "compute/nvrtc.h"
#include "judge/directives.h"
#include "judge/planning.h"
#include "same_plan.h"
#include "sandbox/sandbox.h"
#include "task/task.h"
#include "toolchain/cc.h"

enum { SKIPPED = 77, LEAST_WORKERS = 2, MOST_WORKERS = 16 };
enum { MAX_FILES = 1024, MAX_WORKLOADS = 32, MAX_SOURCE_BYTES = 4 << 20 };
static const char target[] = "sm_90a";

// Shared by the workers.
struct tally {
  atomic_int next, files, plans, compared, problems;
};

struct worker {
  const struct assay_judge_options *options;
  struct tally *tally;
  struct builder *builder; // NULL: no NVRTC
  bool have_nvcc;
  bool hasty;      // the compilers know how
  struct buf page; // what is said of the file in hand
  int problems;    // ... and found wrong with it
};

// A file and its task's workloads.
struct subject {
  const char *path, *name;
  char *source;
  size_t n;
  struct arena arena;
  struct directives directives;
  struct task task;
  int n_layouts;
  struct layout layouts[MAX_WORKLOADS];
};

struct plans {
  bool made[MAX_WORKLOADS];
  struct plan of[MAX_WORKLOADS];
};

__attribute__((format(printf, 3, 4))) static void problem(struct worker *w, const char *where, const char *fmt, ...) {
  char text[2048];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  buf_printf(&w->page, "  %s: %s\n", where, text);
  w->problems++;
}

// ---- the file

static enum assay_status subject_open(const char *path, struct subject *s, struct assay_error *err) {
  char *task_path = NULL;
  memset(s, 0, sizeof *s);
  s->path = path;
  s->name = strrchr(path, '/') + 1;
  enum assay_status status = file_read(path, MAX_SOURCE_BYTES, &s->source, &s->n, err);
  if (!status)
    status = directives_read(s->source, s->n, &s->arena, &s->directives, err);
  if (!status && s->directives.malformed)
    status = error_set(err, ASSAY_ERR_SYNTAX, "%s", s->directives.malformed);
  if (!status && !s->directives.task)
    status = error_set(err, ASSAY_ERR_INVALID, "does not say which task it is for");
  if (!status)
    status = task_find(ASSAY_SOURCE_DIR "/tasks", s->directives.task, &task_path, err);
  if (!status)
    status = task_read(task_path, false, &s->task, err);
  for (int i = 0; i < s->task.n_workloads && i < MAX_WORKLOADS && !status; i++) {
    status = layout_make(&s->task, &s->task.workloads[i], &s->layouts[i], err);
    s->n_layouts += !status;
  }
  base_free(task_path);
  return status;
}

static void subject_close(struct subject *s) {
  for (int i = 0; i < s->n_layouts; i++)
    layout_release(&s->layouts[i]);
  task_release(&s->task);
  arena_release(&s->arena);
  base_free(s->source);
}

// ---- plans

// A plan survives being written and read.
static void check_file_form(struct worker *w, const char *where, const struct plan *p) {
  struct buf first, second;
  struct plan read;
  struct assay_error err = {0};
  buf_init(&first);
  buf_init(&second);
  if (plan_print_json(p, &first, &err) != ASSAY_OK || plan_parse(buf_str(&first), first.len, &read, &err) != ASSAY_OK) {
    problem(w, where, "%s", err.message);
  } else {
    if (plan_print_json(&read, &second, &err) != ASSAY_OK || strcmp(buf_str(&first), buf_str(&second)) != 0)
      problem(w, where, "the plan is another after it was read");
    plan_release(&read);
  }
  buf_release(&first);
  buf_release(&second);
}

// Some wrong twins are so wrong that they give no plan.
static bool may_have_none(const struct twin *twin) {
  static const char *const reasons[] = {"invalid_plan", "unrecordable", "build_failed", "launch_failed"};
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (twin->expect && strstr(twin->expect, reasons[i]))
      return true;
  return false;
}

static void make_plans(struct worker *w, const struct subject *s, const struct twin *twin, struct program *program,
                       const char *form, struct plans *out) {
  for (int i = 0; i < s->n_layouts; i++) {
    struct plan_report report = {0};
    struct assay_error err = {0};
    char where[256];
    snprintf(where, sizeof where, "%s%s%s, workload %s", form, twin->define ? " -D" : "",
             twin->define ? twin->define : "", s->layouts[i].workload->name);
    if (planning_make(program, &s->task, &s->layouts[i], &out->of[i], &report, &err) != ASSAY_OK)
      problem(w, where, "%s", err.message);
    else if (report.outcome == PLAN_MADE)
      out->made[i] = true;
    else if (!may_have_none(twin))
      problem(w, where, "no plan: %s", report.detail);
    plan_report_release(&report);
    if (out->made[i] && !twin->define)
      check_file_form(w, where, &out->of[i]);
    w->tally->plans += out->made[i];
  }
}

static void plans_release(struct plans *p) {
  for (int i = 0; i < MAX_WORKLOADS; i++)
    if (p->made[i])
      plan_release(&p->of[i]);
  memset(p, 0, sizeof *p);
}

// ---- builds

struct build {
  const char *defines[2];
  char *folder;
  struct assay_judge_options options;
  struct program_build *at_work; // NULL: could not be started
};

static void build_start_form(struct worker *w, const struct subject *s, const struct twin *twin, const char *form,
                             struct build *b) {
  struct program_options po;
  struct arena arena = {0};
  struct assay_error err = {0};
  memset(b, 0, sizeof *b);
  b->options = *w->options;
  b->options.candidate = s->path;
  b->options.toolchain = form;
  b->options.defines = b->defines;
  b->defines[0] = twin->define;
  enum assay_status status = sandbox_folder_make(w->options->paths->temporary, &b->folder, &err);
  if (!status)
    status = planning_options(
        &b->options,
        &(struct planning_build){
            .source = s->source, .n = s->n, .builder = w->builder, .folder = b->folder, .target = target},
        &arena, &po, &err);
  po.hasty = w->hasty && (twin != &s->directives.twins[0] || strcmp(form, "nvcc") == 0);
  if (!status)
    status = program_start(&po, s->source, s->n, &b->at_work, &err);
  arena_release(&arena);
  if (status)
    problem(w, form, "%s", err.message);
}

// ptxas says so of wgmma whose registers are touched, or whose wait it cannot place: correct, and at a fraction of the
// tensor core's rate. It says it in as many words for each reason (C7510, C7511, C7520 and others).
static void check_speed(struct worker *w, const char *form, const char *diagnostics) {
  const char *said = strstr(diagnostics, "wgmma.mma_async instructions are serialized");
  if (said)
    problem(w, form, "%.*s", (int)strcspn(said, "\n"), said);
}

// Waits for the build and makes all plans.
static void build_finish_form(struct worker *w, const struct subject *s, const struct twin *twin, struct build *b,
                              struct plans *out) {
  struct program *program = NULL;
  struct build_result r = {0};
  struct assay_error err = {0};
  const char *form = b->options.toolchain;
  if (b->at_work && program_finish(b->at_work, &r, &program, &err) != ASSAY_OK)
    problem(w, form, "%s", err.message);
  else if (program)
    make_plans(w, s, twin, program, form, out);
  else if (b->at_work && !may_have_none(twin))
    problem(w, form, "does not build%s%s:\n%.1500s", twin->define ? " with -D" : "", twin->define ? twin->define : "",
            r.diagnostics);
  if (program && !twin->define && strcmp(form, "nvrtc") == 0) // in haste nothing is said
    check_speed(w, form, r.diagnostics);
  program_release(program);
  build_result_release(&r);
  if (b->folder)
    sandbox_folder_remove(b->folder);
  base_free(b->folder);
}

static void compare(struct worker *w, const struct subject *s, const struct plans *a, const struct plans *b) {
  char what[512], where[64];
  for (int i = 0; i < s->n_layouts; i++) {
    snprintf(where, sizeof where, "launch lines and host code, workload %s", s->layouts[i].workload->name);
    if (!a->made[i] || !b->made[i])
      continue;
    w->tally->compared++;
    if (!same_plan(&a->of[i], &b->of[i], what, sizeof what))
      problem(w, where, "%s", what);
  }
}

static void check_subject(struct worker *w, const struct subject *s) {
  const struct twin *twins = s->directives.twins;
  const struct toolchain *by_itself;
  struct build host;
  struct plans *lines = base_calloc(3, sizeof *lines), *twin_lines = lines + 1, *entry = lines + 2;
  struct assay_error err = {0};
  if (!lines || toolchain_of(s->path, s->source, s->n, &by_itself, &err) != ASSAY_OK) {
    problem(w, s->name, "%s", lines ? err.message : "out of memory");
    return;
  }
  bool has_entry = w->have_nvcc && strstr(s->source, "assay_cuda_kernel");
  if (has_entry)
    build_start_form(w, s, &twins[0], "nvcc", &host); // runs at the same time as the other form
  for (int i = 0; i < s->directives.n_twins && w->builder && by_itself == &toolchain_nvrtc; i++) {
    struct build b;
    struct plans *to = i ? twin_lines : lines;
    build_start_form(w, s, &twins[i], "nvrtc", &b);
    build_finish_form(w, s, &twins[i], &b, to);
    plans_release(twin_lines);
  }
  if (has_entry) {
    build_finish_form(w, s, &twins[0], &host, entry);
    compare(w, s, lines, entry);
  }
  plans_release(lines);
  plans_release(entry);
  base_free(lines);
}

// ---- workers

static void check_file(struct worker *w, const char *path) {
  struct subject s;
  struct assay_error err = {0};
  int64_t begin = clock_monotonic_ns();
  buf_init(&w->page);
  w->problems = 0;
  if (subject_open(path, &s, &err) != ASSAY_OK)
    problem(w, path, "%s", err.message);
  else
    check_subject(w, &s);
  printf("%s  %s, %d twins, %.1f s\n%s", w->problems ? "WRONG" : "ok   ", s.name, s.directives.n_twins - 1,
         (double)(clock_monotonic_ns() - begin) * 1e-9, buf_str(&w->page));
  fflush(stdout);
  w->tally->files++;
  w->tally->problems += w->problems;
  subject_close(&s);
  buf_release(&w->page);
}

static int work(struct worker *w, char *const *files, int n) {
  const struct assay_judge_options *o = w->options;
  struct assay_error err = {0};
  if (w->builder == NULL && builder_open(o->paths, &w->builder, &err) != ASSAY_OK)
    fprintf(stderr, "no NVRTC: %s\n", err.message);
  for (int i; (i = w->tally->next++) < n;)
    check_file(w, files[i]);
  builder_close(w->builder);
  return 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// Adds the folder's .cu files after the n that are there already. The paths live as long as the program.
static int list_files(const char *folder, const char *only, char **files, int n) {
  DIR *d = opendir(folder);
  int first = n;
  if (!d) {
    fprintf(stderr, "cannot read the folder %s: %s\n", folder, strerror(errno));
    exit(1);
  }
  for (struct dirent *e; (e = readdir(d)) && n < MAX_FILES;) {
    const char *end = strrchr(e->d_name, '.');
    if (end && strcmp(end, ".cu") == 0 && (!only || strcmp(e->d_name, only) == 0) &&
        asprintf(&files[n], "%s/%s", folder, e->d_name) > 0)
      n++;
  }
  closedir(d);
  qsort(files + first, (size_t)(n - first), sizeof *files, by_name);
  return n;
}

static int run(const struct assay_judge_options *o, struct tally *tally, char *const *files, int n, bool have_nvcc,
               bool hasty) {
  int failed = 0, n_workers = parallel_cpus();
  pid_t workers[MOST_WORKERS];
  n_workers = n_workers < LEAST_WORKERS ? LEAST_WORKERS : n_workers > MOST_WORKERS ? MOST_WORKERS : n_workers;
  for (int i = 0; i < n_workers; i++) {
    workers[i] = fork();
    if (workers[i] == 0) {
      struct worker w = {.options = o, .tally = tally, .have_nvcc = have_nvcc, .hasty = hasty};
      exit(work(&w, files, n));
    }
  }
  for (int i = 0, how; i < n_workers; i++)
    failed += workers[i] < 0 || waitpid(workers[i], &how, 0) < 0 || how != 0;
  return failed;
}

static bool nvrtc_is_hasty(const struct nvrtc *n) {
  int major = 0, minor = 0;
  nvrtc_version(n, &major, &minor);
  return major > 12 || (major == 12 && minor >= 8);
}

static bool nvcc_is_hasty(const char *path_env) {
  char *path = NULL, *version = NULL;
  int major = 0, minor = 0;
  const char *release = toolchain_ask_nvcc(path_env, "/tmp", &path, &version, NULL) == ASSAY_OK && version
                            ? strstr(version, "release ")
                            : NULL;
  if (release && sscanf(release, "release %d.%d", &major, &minor) != 2)
    major = 0;
  base_free(path);
  base_free(version);
  return major > 12 || (major == 12 && minor >= 8);
}

int main(int argc, char **argv) {
  static char *files[MAX_FILES];
  const char *only = NULL;
  int n = 0;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      n = list_files(argv[i], only, files, n);

  struct assay_judge_options o;
  assay_judge_defaults(&o);
  o.device = "cuda";
  const struct assay_paths paths = {.builder = ASSAY_BINARY_DIR "/assay-builder",
                                    .recorder = ASSAY_BINARY_DIR "/assay-recorder",
                                    .include = ASSAY_SOURCE_DIR "/include",
                                    .temporary = "/tmp",
                                    .nvrtc = getenv("ASSAY_NVRTC"),
                                    .path_env = getenv("PATH")};
  o.paths = &paths;
  o.build_timeout_ns = 300 * INT64_C(1000000000);
  o.load_timeout_ns = 60 * INT64_C(1000000000);

  struct nvrtc *nvrtc = NULL;
  struct arena arena = {0};
  struct assay_error err = {0};
  char *found = NULL;
  bool have_nvrtc = nvrtc_open(paths.nvrtc, &nvrtc, &err) == ASSAY_OK;
  bool have_nvcc = compiler_find("nvcc", paths.path_env, &arena, &found, NULL) == ASSAY_OK ||
                   compiler_find("/usr/local/cuda/bin/nvcc", paths.path_env, &arena, &found, NULL) == ASSAY_OK;
  bool hasty = (!have_nvrtc || nvrtc_is_hasty(nvrtc)) && (!have_nvcc || nvcc_is_hasty(paths.path_env));
  nvrtc_close(nvrtc);
  arena_release(&arena);
  if (!have_nvrtc || !have_nvcc)
    printf("left out: %s%s\n", have_nvcc ? "" : "what needs nvcc (there is none on the PATH); ",
           have_nvrtc ? "" : err.message);
  if (!have_nvrtc && !have_nvcc)
    return SKIPPED;
  struct tally *tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (n == 0 || tally == MAP_FAILED)
    return fprintf(stderr, "usage: kernels_cuda [--only NAME.cu] FOLDER...\n"), 2;
  int failed = run(&o, tally, files, n, have_nvcc, hasty);
  printf("%d of %d files, %d plans, %d made both ways, %d problems\n", tally->files, n, tally->plans, tally->compared,
         tally->problems);
  return failed || tally->problems || tally->files != n || tally->plans == 0;
}
