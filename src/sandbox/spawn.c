// SPDX-License-Identifier: Apache-2.0
// Starting a child.
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "sandbox/isolate.h"

static const char *step_text(int step) {
  switch ((enum child_step)step) {
  case STEP_DESCRIPTORS:
    return "cannot arrange its descriptors";
  case STEP_FOLDER:
    return "cannot enter its folder";
  case STEP_LIMITS:
    return "cannot set its resource limits";
  case STEP_PRIVILEGES:
    return "cannot give up privileges";
  case STEP_LANDLOCK:
    return "cannot enforce Landlock";
  case STEP_SECCOMP:
    return "cannot install its system call filter";
  case STEP_EXEC:
    return "cannot execute it";
  }
  return "failed";
}

// Reads why the child failed before exec. Nothing to read means success: exec closes the pipe's other end.
static enum assay_status hear(int fd, const struct child_plan *plan, struct assay_error *err) {
  struct child_failure f;
  ssize_t n;
  do
    n = read(fd, &f, sizeof f);
  while (n < 0 && errno == EINTR);
  if (n == 0)
    return ASSAY_OK;
  if (n != (ssize_t)sizeof f)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s: the child did not report its start", plan->argv[0]);
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s: the sandboxed child %s: %s (folder %s)%s", plan->argv[0],
                   step_text(f.step), strerror(f.code), plan->policy->folder,
                   f.step == STEP_EXEC && f.code == EACCES
                       ? "; check that every folder on its path may be entered without privileges"
                   : f.code == EMFILE ? "; raise the limit of open files, ulimit -n"
                                      : "");
}

static int open_pidfd(pid_t pid) {
  return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void close_fd(int fd) {
  if (fd >= 0)
    close(fd);
}

// A pipe whose read end does not block, or does.
static int make_pipe(int ends[2], bool blocking) {
  if (pipe2(ends, O_CLOEXEC) != 0) {
    ends[0] = ends[1] = -1;
    return -1;
  }
  return blocking ? 0 : fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

// The kernel tells us of the exec (the error pipe closes) a moment before the child's files in /proc are its own. A
// program that its user may not read stays root's, so the wait has an end.
static void offer_after_exec(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
  for (long us = 20; !offer_to_oom_killer(path) && us < 300000; us *= 2)
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

// How a child ended is lost where the process ignores SIGCHLD.
static enum assay_status can_collect(struct assay_error *err) {
  struct sigaction now;
  if (sigaction(SIGCHLD, NULL, &now) != 0 || (now.sa_handler != SIG_IGN && !(now.sa_flags & SA_NOCLDWAIT)))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "this process ignores SIGCHLD, so that nobody learns how a child ends: leave it at its default "
                   "(signal(SIGCHLD, SIG_DFL)), or handle it without SA_NOCLDWAIT");
}

// What a child would die of for want of a stack would be taken for its own failure.
enum assay_status sandbox_gives_stack(struct assay_error *err) {
  struct rlimit now;
  if (getrlimit(RLIMIT_STACK, &now) != 0 || now.rlim_max >= THREAD_STACK_BYTES)
    return ASSAY_OK;
  return error_set(
      err, ASSAY_ERR_ENVIRONMENT,
      "this process's stack limit (ulimit -Hs) is %llu KiB, where compilers and kernels have %zu: start it "
      "with ulimit -s %zu or more",
      (unsigned long long)now.rlim_max >> 10, THREAD_STACK_BYTES >> 10, THREAD_STACK_BYTES >> 10);
}

bool sandbox_is_narrower(const struct sandbox_policy *p, char text[static SANDBOX_NARROWER_BYTES]) {
  const struct {
    __rlimit_resource_t resource;
    const char *name, *unit;
    uint64_t bytes, wanted; // of a unit; 0 wanted: the policy does not say
  } limits[] = {{RLIMIT_CPU, "-t", "s", 1, (uint64_t)p->cpu_seconds},
                {RLIMIT_AS, "-v", "KiB", 1024, p->memory_bytes},
                {RLIMIT_DATA, "-d", "KiB", 1024, p->memory_bytes},
                {RLIMIT_FSIZE, "-f", "KiB", 1024, p->file_bytes}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct rlimit now;
    if (getrlimit(limits[i].resource, &now) != 0 || now.rlim_max >= limits[i].wanted)
      continue;
    snprintf(text, SANDBOX_NARROWER_BYTES, "ulimit %s is %llu %s, where %llu are allowed", limits[i].name,
             (unsigned long long)(now.rlim_max / limits[i].bytes), limits[i].unit,
             (unsigned long long)(limits[i].wanted / limits[i].bytes));
    return true;
  }
  return false;
}

enum assay_status sandbox_spawn(const struct sandbox_policy *p, char *const argv[], char *const envp[], const int *fds,
                                int n_fds, struct sandbox_child *out, struct assay_error *err) {
  enum assay_status status = can_collect(err);
  int output[2] = {-1, -1}, report[2] = {-1, -1};
  struct child_plan plan = {
      .policy = p, .argv = argv, .envp = envp, .fds = fds, .n_fds = n_fds, .null_fd = -1, .landlock_fd = -1};
  if (n_fds < 0 || n_fds > SANDBOX_MAX_FDS)
    return error_set(err, ASSAY_ERR_USAGE, "%s: %d descriptors for a child; at most %d", argv[0], n_fds,
                     SANDBOX_MAX_FDS);
  if (!status)
    status = sandbox_gives_stack(err);
  if (!status && !p->without_landlock)
    status = landlock_make(p, argv[0], &plan.landlock_fd, err);
  if (status != ASSAY_OK)
    return status;
  plan.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (plan.null_fd < 0 || make_pipe(output, false) != 0 || make_pipe(report, true) != 0) {
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s: cannot make pipes for a child: %s", argv[0], strerror(errno));
    goto out;
  }
  plan.output_fd = output[1];
  plan.error_fd = report[1];
  plan.error_read_fd = report[0];
  pid_t pid = child_clone(role_namespaces(p->role), child_main, &plan, &plan.namespaces);
  if (pid < 0) {
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s: cannot start a process: %s", argv[0], strerror(errno));
    goto out;
  }
  close(report[1]);
  report[1] = -1;
  status = hear(report[0], &plan, err);
  struct sandbox_child child = {
      .pid = pid, .pidfd = open_pidfd(pid), .output = output[0], .quota = p->quota, .folder = p->folder};
  output[0] = -1;
  if (status == ASSAY_OK) {
    offer_after_exec(pid);
    *out = child;
  } else
    sandbox_kill(&child, NULL);
out:
  close_fd(plan.landlock_fd);
  close_fd(plan.null_fd);
  close_fd(output[0]);
  close_fd(output[1]);
  close_fd(report[0]);
  close_fd(report[1]);
  return status;
}
