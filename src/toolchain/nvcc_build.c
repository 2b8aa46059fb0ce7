// Ordinary CUDA files, with host code: nvcc in a sandboxed builder makes a shared library whose undefined symbols are
// the CUDA runtime; assay-recorder, which has them, runs its entry once for each workload (record_run.h).
//
// Two front ends and a host compiler read cuda_runtime.h anew for every build, which is most of the time: see
// docs/recording.md for figures. No flag of nvcc changes that, so the flags here are the plain ones.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "toolchain/cc.h"
#include "toolchain/record_run.h"

enum {
  LOG_BYTES = 64 << 10,
  VERSION_BYTES = 4 << 10,
  BUILD_PROCESSES = 64, // nvcc, a shell, a compiler's driver and what it runs
};

static const char source_name[] = "candidate.cu", library_name[] = "candidate.so";

struct nvcc_program {
  struct program base;
  struct arena arena;
  struct record_options record;
};

struct nvcc_build {
  struct program_build base;
  struct arena arena;
  struct sandbox_policy policy;
  struct record_options record; // the program's, in the making
  const char *name, *program, *host_compiler, *include_dir, *library;
  const char *const *defines;
  char *const *envp;
  int64_t start_ns, deadline_ns;

  pthread_t waiter;
  pthread_mutex_t lock; // of the two below
  bool cancelled;
  int kill_fd; // a pidfd of the compiler at work, or -1

  // The waiter's findings, ours after it has been joined.
  enum assay_status status;
  struct assay_error err;
  struct sandbox_end end;
  struct buf log, version;
  int64_t end_ns;
};

static struct nvcc_build *build_of(struct program_build *b) {
  return (struct nvcc_build *)b;
}

// The arguments of nvcc; NULL when memory fails. No -O: it is for host code, which runs once (device code is optimised
// without it). -no-compress, for the recorder reads the device code. -cudart none: the runtime is the recorder. Lazy
// binding: what the recorder does not have is named when it is called.
static char **command(struct nvcc_build *b) {
  size_t n = 0, n_defines = 0;
  while (b->defines && b->defines[n_defines])
    n_defines++;
  char **argv = arena_calloc(&b->arena, n_defines + 32, sizeof *argv);
  const char *target = b->record.target;
  char *arch = arena_printf(&b->arena, "arch=compute_%s,code=%s", target + strlen("sm_"), target);
  if (!argv || !arch)
    return NULL;
  const char *const front[] = {b->program,       "-std=c++17", "-shared",  "-cudart",    "none",
                               "-no-compress",   "-Xcompiler", "-fPIC",    "-Xcompiler", "-fmax-errors=20",
                               "-Xlinker",       "-z",         "-Xlinker", "lazy",       "-ccbin",
                               b->host_compiler, "-gencode",   arch,       "-I",         b->include_dir};
  const char *const back[] = {"-o", library_name, source_name};
  for (size_t i = 0; i < sizeof front / sizeof *front; i++)
    argv[n++] = (char *)front[i];
  for (size_t i = 0; i < n_defines; i++)
    if (!(argv[n++] = arena_printf(&b->arena, "-D%s", b->defines[i])))
      return NULL;
  for (size_t i = 0; i < sizeof back / sizeof *back; i++)
    argv[n++] = (char *)back[i];
  return argv;
}

// Starts the compiler, whose life cancelling ends.
static enum assay_status start_compiler(struct nvcc_build *b, char *const argv[], struct sandbox_child *c) {
  enum assay_status status;
  pthread_mutex_lock(&b->lock);
  if (b->cancelled)
    status = error_set(&b->err, ASSAY_ERR_INTERRUPTED, "the build was cancelled");
  else
    status = sandbox_spawn(&b->policy, argv, b->envp, NULL, 0, c, &b->err);
  if (status == ASSAY_OK)
    b->kill_fd = dup(c->pidfd);
  pthread_mutex_unlock(&b->lock);
  return status;
}

static enum assay_status compile(struct nvcc_build *b) {
  char **argv = command(b);
  char *const version_argv[] = {(char *)b->program, "--version", NULL};
  struct sandbox_child compiler = {0}, teller = {0};
  if (!argv)
    return error_nomem(&b->err, "the compiler's command line");
  enum assay_status status = start_compiler(b, argv, &compiler);
  if (status != ASSAY_OK)
    return status;
  bool telling = sandbox_spawn(&b->policy, version_argv, b->envp, NULL, 0, &teller, NULL) == ASSAY_OK;
  status = sandbox_wait(&compiler, b->deadline_ns, &b->log, LOG_BYTES, &b->end, &b->err);
  b->end_ns = clock_monotonic_ns();
  pthread_mutex_lock(&b->lock);
  if (b->kill_fd >= 0)
    close(b->kill_fd);
  b->kill_fd = -1;
  pthread_mutex_unlock(&b->lock);
  if (telling)
    (void)sandbox_wait(&teller, b->deadline_ns, &b->version, VERSION_BYTES, NULL, NULL);
  return status;
}

static void *wait_for_compiler(void *arg) {
  struct nvcc_build *b = arg;
  b->status = compile(b);
  return NULL;
}

// The toolkit is found from the program's place, through links: PREFIX/bin/nvcc needs PREFIX/nvvm and PREFIX/targets
// besides what compilers usually have.
static const char *const *toolkit_paths(struct nvcc_build *b, const char *program) {
  static const char *const parts[] = {"nvvm", "targets"};
  enum { N_PARTS = sizeof parts / sizeof *parts };
  const char *const *usual = compiler_read_paths(program, b->include_dir, &b->arena);
  size_t n = 0;
  while (usual && usual[n])
    n++;
  const char **all = usual ? arena_calloc(&b->arena, n + N_PARTS + 1, sizeof *all) : NULL;
  if (!all)
    return NULL;
  memcpy(all, usual, n * sizeof *all);
  // The usual ones are PREFIX/bin and so on, or none below /usr, which is readable as a whole.
  const char *bin = n > 1 ? all[1] : NULL;
  const char *slash = bin ? strrchr(bin, '/') : NULL;
  for (size_t i = 0; slash && i < N_PARTS; i++)
    if (!(all[n + i] = arena_printf(&b->arena, "%.*s/%s", (int)(slash - bin), bin, parts[i])))
      return NULL;
  return all;
}

static enum assay_status find_programs(struct nvcc_build *b, const struct program_options *o, char **program,
                                       struct assay_error *err) {
  char *host = NULL;
  const char *name = o->compiler ? o->compiler : "nvcc";
  if (compiler_is_clang(name))
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "%s: CUDA files with host code are compiled by nvcc only (clang needs a release that knows both "
                     "this toolkit and %s): name nvcc, or use launch directives",
                     name, o->target);
  enum assay_status status = compiler_find(name, o->path_env, &b->arena, program, NULL);
  if (status == ASSAY_ERR_NOT_FOUND && !strchr(name, '/')) // where toolkits put themselves without asking the PATH
    status = compiler_find("/usr/local/cuda/bin/nvcc", o->path_env, &b->arena, program, NULL);
  if (status == ASSAY_ERR_NOT_FOUND)
    return error_set(err, status,
                     "no compiler \"%s\" on the PATH (%s): CUDA files with host code need the CUDA toolkit's nvcc; "
                     "put its bin folder on the PATH, name it with its path, or use launch directives",
                     name, o->path_env ? o->path_env : "empty");
  if (status != ASSAY_OK)
    return error_nomem(err, "the compiler's path");
  status = compiler_find("g++", o->path_env, &b->arena, &host, err);
  b->host_compiler = host;
  return status;
}

// Copies what the options lend, for the caller's strings may be gone before the compiler is.
static enum assay_status copy_options(struct nvcc_build *b, const struct program_options *o, struct assay_error *err) {
  struct arena *a = &b->arena;
  size_t n = 0;
  char *program;
  if (strncmp(o->target, "sm_", 3) != 0 || strlen(o->target) >= sizeof((struct program *)0)->target)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "target \"%s\": nvcc's targets are called sm_90a, sm_80, ...",
                     o->target);
  enum assay_status status = find_programs(b, o, &program, err);
  if (status != ASSAY_OK)
    return status;
  while (o->defines && o->defines[n])
    n++;
  const char **defines = arena_calloc(a, n + 1, sizeof *defines);
  const char **envp = arena_calloc(a, 5, sizeof *envp);
  const char *folder = arena_strdup(a, o->folder);
  b->name = arena_strdup(a, o->compiler ? o->compiler : "nvcc");
  b->include_dir = arena_strdup(a, o->include_dir);
  b->library = arena_printf(a, "%s/%s", o->folder, library_name);
  b->record = (struct record_options){
      .recorder = o->recorder ? arena_strdup(a, o->recorder) : NULL,
      .library = b->library,
      .folder = folder,
      .target = arena_strdup(a, o->target),
      .source_name = arena_strdup(a, o->name ? o->name : source_name),
      .timeout_ns = o->record_timeout_ns,
      .memory_bytes = o->memory_bytes,
  };
  bool complete = defines && envp && folder && b->name && b->include_dir && b->library && b->record.target &&
                  b->record.source_name && (b->record.recorder || !o->recorder);
  for (size_t i = 0; complete && i < n; i++)
    complete = (defines[i] = arena_strdup(a, o->defines[i])) != NULL;
  if (complete) {
    envp[0] = "LC_ALL=C";
    envp[1] = arena_printf(a, "PATH=%s", o->path_env ? o->path_env : "");
    envp[2] = arena_printf(a, "TMPDIR=%s", folder);
    envp[3] = arena_printf(a, "HOME=%s", folder);
    complete = envp[1] && envp[2] && envp[3];
  }
  const char *const *read_paths = complete ? toolkit_paths(b, program) : NULL;
  if (!read_paths)
    return error_nomem(err, "a build");
  b->program = program;
  b->defines = defines;
  b->envp = (char *const *)envp;
  b->policy = (struct sandbox_policy){
      .role = SANDBOX_BUILDER,
      .folder = folder,
      .read_paths = read_paths,
      .cpu_seconds = o->timeout_ns / 1000000000 + 1,
      .memory_bytes = o->memory_bytes,
      .file_bytes = o->file_bytes,
      .processes = BUILD_PROCESSES,
  };
  return ASSAY_OK;
}

// Not file_write: what is thrown away in a second needs no fsync.
static enum assay_status write_source(struct nvcc_build *b, const char *source, size_t n, struct assay_error *err) {
  char *path = arena_printf(&b->arena, "%s/%s", b->policy.folder, source_name);
  if (!path)
    return error_nomem(err, "the source's path");
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int e = fd < 0 ? errno : 0;
  while (!e && n > 0) {
    ssize_t put = write(fd, source, n);
    if (put < 0 && errno != EINTR)
      e = errno;
    source += put > 0 ? put : 0;
    n -= put > 0 ? (size_t)put : 0;
  }
  if (fd >= 0 && close(fd) != 0 && !e)
    e = errno;
  return e ? error_set(err, ASSAY_ERR_IO, "cannot write %s: %s", path, strerror(e)) : ASSAY_OK;
}

// The waiter takes no signals: they are for the judge's own threads.
static int start_waiter(struct nvcc_build *b) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int e = pthread_create(&b->waiter, NULL, wait_for_compiler, b);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return e;
}

static void destroy(struct nvcc_build *b) {
  arena_release(&b->arena);
  buf_release(&b->log);
  buf_release(&b->version);
  pthread_mutex_destroy(&b->lock);
  base_free(b);
}

static enum assay_status nvcc_start(const struct program_options *o, const char *source, size_t n,
                                    struct program_build **out, struct assay_error *err) {
  struct nvcc_build *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a build");
  b->base.ops = &nvcc_toolchain;
  pthread_mutex_init(&b->lock, NULL);
  b->kill_fd = -1;
  b->start_ns = clock_monotonic_ns();
  b->deadline_ns = b->start_ns + o->timeout_ns;
  enum assay_status status = copy_options(b, o, err);
  if (status == ASSAY_OK)
    status = write_source(b, source, n, err);
  if (status == ASSAY_OK) {
    int e = start_waiter(b);
    if (e != 0)
      status = error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start a thread for the build: %s", strerror(e));
  }
  if (status == ASSAY_OK)
    *out = &b->base;
  else
    destroy(b);
  return status;
}

static enum build_outcome outcome_of(const struct nvcc_build *b, const char *diagnostics) {
  struct stat st;
  if (b->end.deadline)
    return BUILD_TIMED_OUT;
  if (b->end.exited && b->end.code == 0)
    return lstat(b->library, &st) == 0 && S_ISREG(st.st_mode) ? BUILD_OK : BUILD_REJECTED;
  if (b->end.signal == SIGKILL || b->end.signal == SIGXFSZ)
    return BUILD_HIT_LIMIT;
  return diagnostics_outcome(diagnostics);
}

// The command as one would type it, with the compiler's name as it was given.
static void print_command(struct nvcc_build *b, struct buf *out) {
  char **argv = command(b);
  buf_puts(out, b->name);
  for (size_t i = 1; argv && argv[i]; i++) {
    bool plain =
        strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:") == strlen(argv[i]);
    buf_puts(out, plain ? " " : " '");
    for (const char *p = argv[i]; *p; p++)
      if (*p == '\'')
        buf_puts(out, "'\\''");
      else
        buf_append(out, p, 1);
    buf_puts(out, plain ? "" : "'");
  }
}

// "Cuda compilation tools, release 13.0, V13.0.88": the line of nvcc's five that tells one from another.
static char *version_line(const char *text) {
  const char *line = strstr(text, "Cuda compilation tools");
  line = line ? line : text;
  return base_strndup(line, strcspn(line, "\n"));
}

static char *take(const struct buf *b) {
  return b->failed ? NULL : base_strndup(buf_str(b), b->len);
}

static enum assay_status fill_result(struct nvcc_build *b, struct build_result *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct build_result r = {0};
  struct buf clean, version, typed;
  buf_init(&clean);
  buf_init(&version);
  buf_init(&typed);
  diagnostics_clean(&b->log, b->policy.folder, b->include_dir, &clean);
  diagnostics_clean(&b->version, NULL, NULL, &version);
  print_command(b, &typed);
  r.outcome = outcome_of(b, buf_str(&clean));
  r.diagnostics = take(&clean);
  r.command = take(&typed);
  r.compiler_version = version.failed ? NULL : version_line(buf_str(&version));
  r.elapsed_ns = b->end_ns - b->start_ns;
  r.cpu_ns = b->end.cpu_ns;
  if (!r.diagnostics || !r.command || !r.compiler_version) {
    build_result_release(&r);
    status = error_nomem(err, "the result of a build");
  } else {
    *out = r;
  }
  buf_release(&clean);
  buf_release(&version);
  buf_release(&typed);
  return status;
}

// "nvcc 13.0", in the arena.
static const char *toolchain_title(struct nvcc_build *b) {
  static const char before[] = "release ";
  const char *p = strstr(buf_str(&b->version), before);
  p = p ? p + strlen(before) : "";
  return arena_printf(&b->arena, "nvcc%s%.*s", *p ? " " : "", (int)strspn(p, "0123456789."), p);
}

// The build's arena goes on as the program's.
static enum assay_status make_program(struct nvcc_build *b, struct program **out, struct assay_error *err) {
  struct nvcc_program *p = base_calloc(1, sizeof *p);
  if (!p)
    return error_nomem(err, "a program");
  p->base.ops = &nvcc_toolchain;
  memcpy(p->base.target, b->record.target, strlen(b->record.target) + 1);
  p->record = b->record;
  p->record.toolchain = toolchain_title(b);
  if (!p->record.toolchain) {
    base_free(p);
    return error_nomem(err, "a program");
  }
  p->arena = b->arena;
  b->arena = (struct arena){0};
  *out = &p->base;
  return ASSAY_OK;
}

static enum assay_status nvcc_finish(struct program_build *base, struct build_result *result, struct program **program,
                                     struct assay_error *err) {
  struct nvcc_build *b = build_of(base);
  struct build_result r = {0};
  pthread_join(b->waiter, NULL);
  enum assay_status status = b->status;
  if (status == ASSAY_OK)
    status = fill_result(b, &r, err);
  else if (err)
    *err = b->err;
  if (status == ASSAY_OK && r.outcome == BUILD_OK)
    status = make_program(b, program, err);
  if (status == ASSAY_OK)
    *result = r;
  else
    build_result_release(&r);
  destroy(b);
  return status;
}

static void nvcc_cancel(struct program_build *base) {
  struct nvcc_build *b = build_of(base);
  pthread_mutex_lock(&b->lock);
  b->cancelled = true;
  if (b->kill_fd >= 0)
    (void)syscall(SYS_pidfd_send_signal, b->kill_fd, SIGKILL, NULL, 0);
  pthread_mutex_unlock(&b->lock);
  pthread_join(b->waiter, NULL);
  destroy(b);
}

static enum assay_status nvcc_plan(struct program *base, const struct plan_subject *subject, struct plan *out,
                                   struct plan_report *report, struct assay_error *err) {
  struct nvcc_program *p = (struct nvcc_program *)base;
  if (!p->record.recorder)
    return error_set(err, ASSAY_ERR_USAGE, "the path of assay-recorder is not given");
  return record_run(&p->record, subject, out, report, err);
}

static void nvcc_release(struct program *base) {
  struct nvcc_program *p = (struct nvcc_program *)base;
  arena_release(&p->arena);
  base_free(p);
}

const struct toolchain_ops nvcc_toolchain = {
    .name = "nvcc",
    .start = nvcc_start,
    .finish = nvcc_finish,
    .cancel = nvcc_cancel,
    .plan = nvcc_plan,
    .release = nvcc_release,
};
