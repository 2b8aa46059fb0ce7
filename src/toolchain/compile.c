// SPDX-License-Identifier: Apache-2.0
// Starting a compiler, waiting for it, and what its end means.
#include "toolchain/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "toolchain/cc.h"

enum { LOG_BYTES = 64 << 10, VERSION_BYTES = 4 << 10 };

// All files of a build together. An extension of PyTorch takes some 50 MiB a source.
static const int64_t FOLDER_BYTES = (int64_t)1 << 30;

// Memory of all processes of a build together: three quarters of what there is, but no less and no more than these. A
// compiler takes a gigabyte and a half for a source with PyTorch's headers, and ninja starts compile_jobs() of them.
static const int64_t LEAST_TOGETHER_BYTES = (int64_t)4 << 30, MOST_TOGETHER_BYTES = (int64_t)32 << 30,
                     JOB_BYTES = (int64_t)3 << 29, PYTHON_BYTES = (int64_t)1 << 30;

// The control source takes less time than any candidate, but on a machine that is busy.
static const int64_t CONTROL_NS = 30000000000;

// Room that a compiler needs for one source's temporary files, with much to spare.
static const uint64_t LEAST_FREE_BYTES = (uint64_t)64 << 20;

void compile_init(struct compile *c, const struct compile_way *way, void *owner, int64_t timeout_ns) {
  *c = (struct compile){.way = way, .owner = owner, .kill_fd = -1, .start_ns = clock_monotonic_ns()};
  c->deadline_ns = c->start_ns + timeout_ns;
  pthread_mutex_init(&c->lock, NULL);
  buf_init(&c->log);
  buf_init(&c->version);
  buf_init(&c->control_log);
}

void compile_release(struct compile *c) {
  arena_release(&c->arena);
  buf_release(&c->log);
  buf_release(&c->version);
  buf_release(&c->control_log);
  pthread_mutex_destroy(&c->lock);
}

// ---- preparing

static size_t count(const char *const *list) {
  size_t n = 0;
  while (list && list[n])
    n++;
  return n;
}

static const char *const *copy_list(const char *const *list, struct arena *a) {
  size_t n = count(list);
  const char **copy = arena_calloc(a, n + 1, sizeof *copy);
  for (size_t i = 0; copy && i < n; i++)
    if (!(copy[i] = arena_strdup(a, list[i])))
      return NULL;
  return copy;
}

static bool sets_jobs(const char *const *environment) {
  for (; environment && *environment; environment++)
    if (strncmp(*environment, "MAX_JOBS=", strlen("MAX_JOBS=")) == 0)
      return true;
  return false;
}

static char *const *make_environment(const struct build_options *o, int64_t together_bytes, struct arena *a) {
  size_t n_more = count(o->environment);
  char **envp = arena_calloc(a, 4 + n_more + 2, sizeof *envp);
  if (!envp)
    return NULL;
  envp[0] = arena_strdup(a, "LC_ALL=C");
  envp[1] = arena_printf(a, "PATH=%s", o->path_env ? o->path_env : "");
  envp[2] = arena_printf(a, "TMPDIR=%s", o->folder);
  envp[3] = arena_printf(a, "HOME=%s", o->folder);
  for (size_t i = 0; i < n_more; i++)
    if (!(envp[4 + i] = arena_strdup(a, o->environment[i])))
      return NULL;
  // Else ninja starts a compiler for each processor, whatever memory there is for them.
  if (!sets_jobs(o->environment) &&
      !(envp[4 + n_more] = arena_printf(a, "MAX_JOBS=%d", compile_jobs(together_bytes, parallel_cpus()))))
    return NULL;
  return envp[0] && envp[1] && envp[2] && envp[3] ? envp : NULL;
}

int64_t compile_together_bytes(int64_t total, bool *machines) {
  const int64_t part = total / 4 * 3;
  *machines = part < MOST_TOGETHER_BYTES;
  return !*machines ? MOST_TOGETHER_BYTES : part > LEAST_TOGETHER_BYTES ? part : LEAST_TOGETHER_BYTES;
}

int compile_jobs(int64_t together_bytes, int cpus) {
  const int64_t fit = (together_bytes - PYTHON_BYTES) / JOB_BYTES;
  const int64_t most = fit < cpus ? fit : cpus;
  return (int)(most < 1 ? 1 : most < COMPILE_MOST_JOBS ? most : COMPILE_MOST_JOBS);
}

enum assay_status compile_prepare(struct compile *c, const struct build_options *o, const char *program,
                                  struct assay_error *err) {
  struct arena *a = &c->arena;
  const char *folder = arena_strdup(a, o->folder);
  int64_t total, together_bytes = o->together_bytes;
  (void)memory_available("", &total);
  if (!together_bytes)
    together_bytes = compile_together_bytes(total, &c->machines_limit);
  c->program = program;
  c->name = arena_strdup(a, o->compiler);
  c->include_dir = arena_strdup(a, o->include_dir);
  c->library = arena_printf(a, "%s/%s", o->folder, COMPILE_LIBRARY);
  c->defines = copy_list(o->defines, a);
  c->envp = make_environment(o, together_bytes, a);
  const char *const *read_paths = c->include_dir ? compiler_read_paths(program, c->include_dir, a) : NULL;
  if (!folder || !c->name || !c->library || !c->defines || !c->envp || !read_paths)
    return error_nomem(err, "a build");
  c->policy = (struct sandbox_policy){
      .role = SANDBOX_BUILDER,
      .folder = folder,
      .read_paths = read_paths,
      // A second after the deadline: it ends what the deadline did not.
      .cpu_seconds = o->timeout_ns / 1000000000 + 1,
      .memory_bytes = o->memory_bytes,
      .file_bytes = o->file_bytes,
      .processes = c->way->processes,
      .quota = {.folder_bytes = FOLDER_BYTES, .processes = c->way->processes, .memory_bytes = together_bytes},
  };
  return ASSAY_OK;
}

char **compile_command(struct compile *c, const char *const *front, size_t n_front, const char *const *back,
                       size_t n_back) {
  size_t n = 0, n_defines = count(c->defines);
  char **argv = arena_calloc(&c->arena, n_front + n_defines + n_back + 1, sizeof *argv);
  if (!argv)
    return NULL;
  for (size_t i = 0; i < n_front; i++)
    if (front[i])
      argv[n++] = (char *)front[i];
  for (size_t i = 0; i < n_defines; i++)
    if (!(argv[n++] = arena_printf(&c->arena, "-D%s", c->defines[i])))
      return NULL;
  for (size_t i = 0; i < n_back; i++)
    argv[n++] = (char *)back[i];
  return argv;
}

// ---- the waiting thread

// Starts a child whose life cancelling ends; at most one at a time.
static enum assay_status start_compiler(struct compile *c, char *const argv[], struct sandbox_child *child) {
  enum assay_status status;
  pthread_mutex_lock(&c->lock);
  if (c->cancelled)
    status = error_set(&c->err, ASSAY_ERR_INTERRUPTED, "the build was cancelled");
  else
    status = sandbox_spawn(&c->policy, argv, c->envp, NULL, 0, child, &c->err);
  if (status == ASSAY_OK)
    c->kill_fd = dup(child->pidfd);
  pthread_mutex_unlock(&c->lock);
  return status;
}

static void finish_compiler(struct compile *c) {
  pthread_mutex_lock(&c->lock);
  if (c->kill_fd >= 0)
    close(c->kill_fd);
  c->kill_fd = -1;
  pthread_mutex_unlock(&c->lock);
}

static enum assay_status start_teller(const struct compile *c, struct sandbox_child *teller, struct assay_error *err) {
  char *const argv[] = {(char *)c->program, "--version", NULL};
  return sandbox_spawn(&c->policy, argv, c->envp, NULL, 0, teller, err);
}

// Compiles once. `version`, when not NULL, is asked of the compiler at the same time: it takes a millisecond or two.
static enum assay_status compile(struct compile *c, struct buf *version) {
  char **argv = c->way->command(c);
  struct sandbox_child compiler = {0}, teller = {0};
  if (!argv)
    return error_nomem(&c->err, "the compiler's command line");
  enum assay_status status = start_compiler(c, argv, &compiler);
  if (status != ASSAY_OK)
    return status;
  bool telling = version && start_teller(c, &teller, NULL) == ASSAY_OK;
  status = sandbox_wait(&compiler, c->deadline_ns, &c->log, LOG_BYTES, &c->end, &c->err);
  c->end_ns = clock_monotonic_ns();
  c->cpu_ns += c->end.cpu_ns;
  finish_compiler(c);
  if (telling)
    (void)sandbox_wait(&teller, c->deadline_ns, version, VERSION_BYTES, NULL, NULL);
  return status;
}

// Compiles, and once more where the way knows another.
static enum assay_status compile_as_it_goes(struct compile *c, struct buf *version) {
  enum assay_status status = compile(c, version);
  bool failed = status == ASSAY_OK && c->end.exited && c->end.code != 0;
  return failed && c->way->again && c->way->again(c) ? compile(c, NULL) : status;
}

// Not file_write: what is thrown away in a second needs no fsync.
static enum assay_status write_source(struct compile *c, const char *source, size_t n, struct assay_error *err) {
  char *path = arena_printf(&c->arena, "%s/%s", c->policy.folder, c->way->source_name);
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
  return e ? file_write_error(err, path, e) : ASSAY_OK;
}

static bool is_built(const struct compile *c) {
  struct stat st;
  return c->end.exited && c->end.code == 0 && lstat(c->library, &st) == 0 && S_ISREG(st.st_mode);
}

// ---- whose fault a failure is

// Empties the build's folder of what the candidate left there: it may be what is in the way.
static enum assay_status empty_folder(struct compile *c, struct assay_error *err) {
  sandbox_folder_remove(c->policy.folder);
  if (mkdir(c->policy.folder, 0700) == 0)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_IO, "%s: cannot make the build's folder again: %s", c->policy.folder,
                   strerror(errno));
}

static bool has_room(const char *folder) {
  struct statvfs fs;
  return statvfs(folder, &fs) != 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= LEAST_FREE_BYTES;
}

// Compiles the control source where the candidate failed. What is known of the candidate's build stays.
static enum assay_status try_control(struct compile *c) {
  static const char *const no_defines[] = {NULL};
  struct buf log = c->log;
  const struct sandbox_end end = c->end;
  const int64_t end_ns = c->end_ns, cpu_ns = c->cpu_ns, deadline_ns = c->deadline_ns;
  const char *const *defines = c->defines;
  buf_init(&c->log);
  c->defines = no_defines;
  c->deadline_ns = clock_monotonic_ns() + CONTROL_NS;
  enum assay_status status = empty_folder(c, &c->err);
  if (!status && diagnostics_outcome(buf_str(&log)) == BUILD_HIT_LIMIT && !has_room(c->policy.folder)) {
    c->control_failed = true;
    buf_printf(&c->log, "No space left on device, or nearly none: the file system of %s has less than %d MiB",
               c->policy.folder, (int)(LEAST_FREE_BYTES >> 20));
  } else if (!status) {
    status = write_source(c, c->way->control, strlen(c->way->control), &c->err);
    if (!status)
      status = compile_as_it_goes(c, NULL);
    c->control_failed = !status && !is_built(c);
    if (c->control_failed && c->log.len == 0 && c->end.exited)
      buf_printf(&c->log, "it said nothing and ended with exit code %d", c->end.code);
  }
  diagnostics_clean(&c->log, c->policy.folder, c->include_dir, &c->control_log);
  buf_release(&c->log);
  c->log = log;
  c->end = end;
  c->end_ns = end_ns;
  c->cpu_ns = cpu_ns;
  c->deadline_ns = deadline_ns;
  c->defines = defines;
  return status;
}

static void *wait_for_compiler(void *arg) {
  struct compile *c = arg;
  c->status = compile_as_it_goes(c, &c->version);
  c->built = c->status == ASSAY_OK && is_built(c);
  if (c->status == ASSAY_OK && !c->built && !c->end.deadline && !c->end.quota[0] && c->way->control)
    c->status = try_control(c);
  return NULL;
}

// ---- starting and ending

enum assay_status compile_start(struct compile *c, const char *source, size_t n, struct assay_error *err) {
  enum assay_status status = write_source(c, source, n, err);
  if (status != ASSAY_OK)
    return status;
  // The waiter takes no signals: they are for the judge's own threads, which may be waiting to be interrupted.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int e = thread_start(&c->waiter, wait_for_compiler, c);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return e ? error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start a thread for the build: %s", strerror(e)) : ASSAY_OK;
}

void compile_cancel(struct compile *c) {
  pthread_mutex_lock(&c->lock);
  c->cancelled = true;
  // The waiter may be collecting the compiler just now; a pidfd names it safely even so. (Without pidfds, before
  // Linux 5.3, it is left to its deadline.)
  if (c->kill_fd >= 0)
    (void)syscall(SYS_pidfd_send_signal, c->kill_fd, SIGKILL, NULL, 0);
  pthread_mutex_unlock(&c->lock);
  pthread_join(c->waiter, NULL);
}

static enum build_outcome outcome_of(const struct compile *c, const char *diagnostics) {
  if (c->end.deadline)
    return BUILD_TIMED_OUT;
  if (c->end.quota[0])
    return BUILD_HIT_LIMIT;
  if (c->end.exited && c->end.code == 0)
    return c->built ? BUILD_OK : BUILD_REJECTED;
  // The driver itself was ended: nothing but a limit does that (a crash of the compiler is the source's doing).
  if (c->end.signal == SIGKILL || c->end.signal == SIGXFSZ)
    return BUILD_HIT_LIMIT;
  return diagnostics_outcome(diagnostics);
}

// The command as one would type it, with the compiler's name as it was given.
static void print_command(struct compile *c, struct buf *out) {
  char **argv = c->way->command(c);
  buf_puts(out, c->name);
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

// The text as heap memory; NULL only when memory is exhausted.
static char *take(const struct buf *b) {
  return b->failed ? NULL : base_strndup(buf_str(b), b->len);
}

// The line of the compiler's output that identifies it, as heap memory; NULL when memory is exhausted.
static char *version_line(const struct compile *c) {
  struct buf words;
  buf_init(&words);
  diagnostics_clean(&c->version, NULL, NULL, &words);
  const char *line = c->way->version_mark ? strstr(buf_str(&words), c->way->version_mark) : NULL;
  line = line ? line : buf_str(&words);
  char *copy = words.failed ? NULL : base_strndup(line, strcspn(line, "\n"));
  buf_release(&words);
  return copy;
}

enum assay_status compile_ask_version(struct compile *c, char **version, struct assay_error *err) {
  struct sandbox_child teller = {0};
  struct sandbox_end end = {0};
  enum assay_status status = start_teller(c, &teller, err);
  if (status == ASSAY_OK)
    status = sandbox_wait(&teller, c->deadline_ns, &c->version, VERSION_BYTES, &end, err);
  if (status != ASSAY_OK)
    return status;
  if (!end.exited || end.code != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s --version fails: %.200s", c->program, buf_str(&c->version));
  char *line = version_line(c);
  if (!line)
    return error_nomem(err, "a compiler's version");
  *version = line;
  return ASSAY_OK;
}

// Of a message; compilers begin with what matters most.
static int first_line(const char *text) {
  enum { MOST = 400 };
  size_t n = strcspn(text, "\n");
  return (int)(n < MOST ? n : MOST);
}

// A limit was hit that is not a build's own, but of whoever started this process.
static enum assay_status blame_limits(const struct compile *c, enum build_outcome outcome, const char *diagnostics,
                                      struct assay_error *err) {
  char which[SANDBOX_NARROWER_BYTES];
  const bool may = outcome == BUILD_HIT_LIMIT || outcome == BUILD_TIMED_OUT;
  if (c->machines_limit && quota_is_memory(c->end.quota))
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "not judged here: the build was ended, %s: three quarters of this machine's memory, at least %d "
                     "GiB, and a machine with more allows up to %d GiB: judge it there, or set MAX_JOBS=1 if it is an "
                     "extension of several sources",
                     c->end.quota, (int)(LEAST_TOGETHER_BYTES >> 30), (int)(MOST_TOGETHER_BYTES >> 30));
  if (!may || c->end.deadline || c->end.quota[0] || !sandbox_is_narrower(&c->policy, which))
    return ASSAY_OK;
  diagnostics += strspn(diagnostics, " \n");
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "not judged here: this process has a narrower limit than builds may have (%s), and the build ran "
                   "into one: raise it (the build said: %.*s)",
                   which, first_line(diagnostics), diagnostics);
}

enum assay_status compile_finish(struct compile *c, struct build_result *out, struct assay_error *err) {
  struct build_result r = {0};
  struct buf clean, typed;
  pthread_join(c->waiter, NULL);
  if (c->status != ASSAY_OK) {
    if (err)
      *err = c->err;
    return c->status;
  }
  if (c->control_failed)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "%s does not work here: it fails for a source of Assay's own, too, and so says nothing of the "
                     "candidate: %.*s",
                     c->program, first_line(buf_str(&c->control_log)), buf_str(&c->control_log));
  buf_init(&clean);
  buf_init(&typed);
  if (c->end.quota[0])
    buf_printf(&clean, "the build was ended: %s\n", c->end.quota);
  diagnostics_clean(&c->log, c->policy.folder, c->include_dir, &clean);
  print_command(c, &typed);
  r.outcome = outcome_of(c, buf_str(&clean));
  r.diagnostics = take(&clean);
  r.command = take(&typed);
  r.compiler_version = version_line(c);
  r.elapsed_ns = c->end_ns - c->start_ns;
  r.cpu_ns = c->cpu_ns;
  enum assay_status status = blame_limits(c, r.outcome, buf_str(&clean), err);
  if (!status && !(r.diagnostics && r.command && r.compiler_version))
    status = error_nomem(err, "the result of a build");
  if (status)
    build_result_release(&r);
  else
    *out = r;
  buf_release(&clean);
  buf_release(&typed);
  return status;
}

void build_result_release(struct build_result *r) {
  base_free(r->library);
  base_free(r->diagnostics);
  base_free(r->command);
  base_free(r->compiler_version);
  memset(r, 0, sizeof *r);
}
