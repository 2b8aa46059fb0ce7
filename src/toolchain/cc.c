// C for the CPU to a shared library, by gcc or clang in a sandboxed builder.
//
// A thread of its own waits for the compiler: the judge makes inputs and computes the oracle meanwhile, and the
// compiler must not stand still on a full pipe, outlive its deadline, or have its time measured by when somebody looks.
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

enum {
  LOG_BYTES = 64 << 10,
  VERSION_BYTES = 4 << 10,
  BUILD_PROCESSES = 32, // gcc needs five at a time
};

static const char source_name[] = "candidate.c", library_name[] = "candidate.so";
static const char no_openmp_note[] = "[clang finds no OpenMP runtime here (libomp-dev): built without -fopenmp]\n";

struct build {
  struct arena arena;
  struct sandbox_policy policy;
  const char *name, *program, *include_dir, *library;
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
  bool openmp;
  int64_t end_ns, cpu_ns;
};

// The arguments of the compiler; NULL when memory fails.
static char **command(struct build *b, bool openmp) {
  size_t n = 0, n_defines = 0;
  while (b->defines && b->defines[n_defines])
    n_defines++;
  char **argv = arena_calloc(&b->arena, n_defines + 24, sizeof *argv);
  if (!argv)
    return NULL;
  bool clang = compiler_is_clang(b->program);
  const char *const front[] = {
      b->program, "-std=gnu17", "-O3", "-march=native", openmp ? "-fopenmp" : NULL, "-fPIC", "-shared", "-Wall",
      // A crash report of clang would compile everything once more; clang stops after 20 errors, gcc never.
      clang ? "-fno-crash-diagnostics" : "-fmax-errors=20", "-I", b->include_dir};
  const char *const back[] = {"-o", library_name, source_name, "-lm"};
  for (size_t i = 0; i < sizeof front / sizeof *front; i++)
    if (front[i])
      argv[n++] = (char *)front[i];
  for (size_t i = 0; i < n_defines; i++)
    if (!(argv[n++] = arena_printf(&b->arena, "-D%s", b->defines[i])))
      return NULL;
  for (size_t i = 0; i < sizeof back / sizeof *back; i++)
    argv[n++] = (char *)back[i];
  return argv;
}

// Starts a child whose life cancelling ends; at most one at a time.
static enum assay_status start_compiler(struct build *b, char *const argv[], struct sandbox_child *c) {
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

static void finish_compiler(struct build *b) {
  pthread_mutex_lock(&b->lock);
  if (b->kill_fd >= 0)
    close(b->kill_fd);
  b->kill_fd = -1;
  pthread_mutex_unlock(&b->lock);
}

// Compiles once. `version`, when not NULL, is asked of the compiler at the same time: it takes a millisecond or two.
static enum assay_status compile(struct build *b, bool openmp, struct buf *version) {
  char **argv = command(b, openmp);
  char *const version_argv[] = {(char *)b->program, "--version", NULL};
  struct sandbox_child compiler = {0}, teller = {0};
  if (!argv)
    return error_nomem(&b->err, "the compiler's command line");
  enum assay_status status = start_compiler(b, argv, &compiler);
  if (status != ASSAY_OK)
    return status;
  bool telling = version && sandbox_spawn(&b->policy, version_argv, b->envp, NULL, 0, &teller, NULL) == ASSAY_OK;
  status = sandbox_wait(&compiler, b->deadline_ns, &b->log, LOG_BYTES, &b->end, &b->err);
  b->end_ns = clock_monotonic_ns();
  b->cpu_ns += b->end.cpu_ns;
  finish_compiler(b);
  if (telling)
    (void)sandbox_wait(&teller, b->deadline_ns, version, VERSION_BYTES, NULL, NULL);
  return status;
}

static void *wait_for_compiler(void *arg) {
  struct build *b = arg;
  b->openmp = true;
  b->status = compile(b, true, &b->version);
  bool failed = b->status == ASSAY_OK && b->end.exited && b->end.code != 0;
  if (failed && compiler_is_clang(b->program) && diagnostics_lack_openmp(buf_str(&b->log))) {
    buf_clear(&b->log);
    buf_puts(&b->log, no_openmp_note);
    b->openmp = false;
    b->status = compile(b, false, NULL);
  }
  return NULL;
}

// Copies what the options lend, for the caller's strings may be gone before the compiler is.
static enum assay_status copy_options(struct build *b, const struct build_options *o, struct assay_error *err) {
  struct arena *a = &b->arena;
  size_t n = 0;
  char *program;
  enum assay_status status = compiler_find(o->compiler, o->path_env, a, &program, err);
  if (status != ASSAY_OK)
    return status;
  while (o->defines && o->defines[n])
    n++;
  const char **defines = arena_calloc(a, n + 1, sizeof *defines);
  const char **envp = arena_calloc(a, 5, sizeof *envp);
  const char *folder = arena_strdup(a, o->folder);
  b->name = arena_strdup(a, o->compiler);
  b->include_dir = arena_strdup(a, o->include_dir);
  b->library = arena_printf(a, "%s/%s", o->folder, library_name);
  bool complete = defines && envp && folder && b->name && b->include_dir && b->library;
  for (size_t i = 0; complete && i < n; i++)
    complete = (defines[i] = arena_strdup(a, o->defines[i])) != NULL;
  if (complete) {
    envp[0] = "LC_ALL=C";
    envp[1] = arena_printf(a, "PATH=%s", o->path_env ? o->path_env : "");
    envp[2] = arena_printf(a, "TMPDIR=%s", folder);
    envp[3] = arena_printf(a, "HOME=%s", folder);
    complete = envp[1] && envp[2] && envp[3];
  }
  const char *const *read_paths = complete ? compiler_read_paths(program, b->include_dir, a) : NULL;
  if (!read_paths)
    return error_nomem(err, "a build");
  b->program = program;
  b->defines = defines;
  b->envp = (char *const *)envp;
  b->policy = (struct sandbox_policy){
      .role = SANDBOX_BUILDER,
      .folder = folder,
      .read_paths = read_paths,
      // A second behind the deadline: it ends what the deadline somehow does not.
      .cpu_seconds = o->timeout_ns / 1000000000 + 1,
      .memory_bytes = o->memory_bytes,
      .file_bytes = o->file_bytes,
      .processes = BUILD_PROCESSES,
  };
  return ASSAY_OK;
}

// Not file_write: what is thrown away in a second needs no fsync.
static enum assay_status write_source(struct build *b, const char *source, size_t n, struct assay_error *err) {
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

// The waiter takes no signals: they are for the judge's own threads, which may be waiting to be interrupted.
static int start_waiter(struct build *b) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int e = pthread_create(&b->waiter, NULL, wait_for_compiler, b);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return e;
}

static void destroy(struct build *b) {
  arena_release(&b->arena);
  buf_release(&b->log);
  buf_release(&b->version);
  pthread_mutex_destroy(&b->lock);
  base_free(b);
}

enum assay_status build_start(const struct build_options *o, const char *source, size_t n, struct build **out,
                              struct assay_error *err) {
  struct build *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a build");
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
    *out = b;
  else
    destroy(b);
  return status;
}

static enum build_outcome outcome_of(const struct build *b, const char *diagnostics) {
  struct stat st;
  if (b->end.deadline)
    return BUILD_TIMED_OUT;
  if (b->end.exited && b->end.code == 0)
    return lstat(b->library, &st) == 0 && S_ISREG(st.st_mode) ? BUILD_OK : BUILD_REJECTED;
  // The driver itself was ended: nothing but a limit does that (a crash of the compiler is the source's doing).
  if (b->end.signal == SIGKILL || b->end.signal == SIGXFSZ)
    return BUILD_HIT_LIMIT;
  return diagnostics_outcome(diagnostics);
}

// The command as one would type it, with the compiler's name as it was given.
static void print_command(struct build *b, struct buf *out) {
  char **argv = command(b, b->openmp);
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

// Hands the text over, as heap memory and never NULL but for want of memory.
static char *take(const struct buf *b) {
  return b->failed ? NULL : base_strndup(buf_str(b), b->len);
}

static enum assay_status fill_result(struct build *b, struct build_result *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct build_result r = {0};
  struct buf clean, line, typed;
  buf_init(&clean);
  buf_init(&line);
  buf_init(&typed);
  diagnostics_clean(&b->log, b->policy.folder, b->include_dir, &clean);
  diagnostics_clean(&b->version, NULL, NULL, &line);
  print_command(b, &typed);
  r.outcome = outcome_of(b, buf_str(&clean));
  r.diagnostics = take(&clean);
  r.command = take(&typed);
  r.compiler_version = base_strndup(buf_str(&line), strcspn(buf_str(&line), "\n"));
  r.library = r.outcome == BUILD_OK ? base_strndup(b->library, strlen(b->library)) : NULL;
  r.elapsed_ns = b->end_ns - b->start_ns;
  r.cpu_ns = b->cpu_ns;
  if (!r.diagnostics || !r.command || !r.compiler_version || (r.outcome == BUILD_OK && !r.library)) {
    build_result_release(&r);
    status = error_nomem(err, "the result of a build");
  } else {
    *out = r;
  }
  buf_release(&clean);
  buf_release(&line);
  buf_release(&typed);
  return status;
}

enum assay_status build_finish(struct build *b, struct build_result *out, struct assay_error *err) {
  pthread_join(b->waiter, NULL);
  enum assay_status status = b->status;
  if (status == ASSAY_OK)
    status = fill_result(b, out, err);
  else if (err)
    *err = b->err;
  destroy(b);
  return status;
}

void build_cancel(struct build *b) {
  if (!b)
    return;
  pthread_mutex_lock(&b->lock);
  b->cancelled = true;
  // The waiter may be collecting the compiler just now; a pidfd names it safely even so. (Without pidfds, before
  // Linux 5.3, it is left to its deadline.)
  if (b->kill_fd >= 0)
    (void)syscall(SYS_pidfd_send_signal, b->kill_fd, SIGKILL, NULL, 0);
  pthread_mutex_unlock(&b->lock);
  pthread_join(b->waiter, NULL);
  destroy(b);
}

void build_result_release(struct build_result *r) {
  base_free(r->library);
  base_free(r->diagnostics);
  base_free(r->command);
  base_free(r->compiler_version);
  memset(r, 0, sizeof *r);
}
