// SPDX-License-Identifier: Apache-2.0
// The child between clone and exec. It shares the judge's memory (see child_clone), so here are system calls and
// nothing else: no allocation, no locks, no stdio, no writes to anything but its own stack.
#include "sandbox/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/thread.h"

enum { BUILDER_FILES = 256, RUNNER_FILES = 64, DEVICE_FILES = 4096, CHILD_UMASK = 077 };

// Reports and ends the child. _exit, not exit: the judge's exit handlers are not ours to run.
static _Noreturn void fail(int error_fd, enum child_step step) {
  struct child_failure f = {step, errno};
  ssize_t n = write(error_fd, &f, sizeof f);
  (void)n;
  _exit(127);
}

// 0, 1, 2 are /dev/null, pipe, pipe; 3.. are the policy's; then two that exec closes: the error pipe and the Landlock
// ruleset. Nothing else stays open. All are first copied above these numbers, because one may have the number that
// another needs.
static int arrange_descriptors(const struct child_plan *plan, int *error_fd, int *landlock_fd) {
  int copies[3 + SANDBOX_MAX_FDS + 2];
  int n = 0, n_kept = 3 + plan->n_fds;
  copies[n++] = plan->null_fd;
  copies[n++] = plan->output_fd;
  copies[n++] = plan->output_fd;
  for (int i = 0; i < plan->n_fds; i++)
    copies[n++] = plan->fds[i];
  copies[n++] = *error_fd;
  if (*landlock_fd >= 0)
    copies[n++] = *landlock_fd;
  for (int i = 0; i < n; i++)
    if ((copies[i] = fcntl(copies[i], F_DUPFD_CLOEXEC, n)) < 0)
      return -1;
  *error_fd = copies[n_kept];
  for (int i = 0; i < n; i++)
    if (dup3(copies[i], i, i < n_kept ? 0 : O_CLOEXEC) < 0)
      return -1;
  *error_fd = n_kept;
  *landlock_fd = *landlock_fd < 0 ? -1 : n_kept + 1;
  // Linux 5.9 has close_range; before it, one by one.
  if (syscall(SYS_close_range, (unsigned)n, ~0u, 0) != 0)
    for (long fd = n, end = sysconf(_SC_OPEN_MAX); fd < end; fd++)
      close((int)fd);
  return 0;
}

static int limit(int resource, uint64_t soft, uint64_t hard) {
  struct rlimit now, r = {soft, hard};
  if (getrlimit((__rlimit_resource_t)resource, &now) != 0)
    return -1;
  // A limit that is already narrower stays: only root may raise it.
  if (r.rlim_max > now.rlim_max)
    r.rlim_max = now.rlim_max;
  if (r.rlim_cur > r.rlim_max)
    r.rlim_cur = r.rlim_max;
  return setrlimit((__rlimit_resource_t)resource, &r);
}

static int set_limits(const struct sandbox_policy *p, int namespaces) {
  static const uint64_t files_of[] = {BUILDER_FILES, RUNNER_FILES, DEVICE_FILES};
  uint64_t files = files_of[p->role];
  int bad = limit(RLIMIT_CORE, 0, 0) | limit(RLIMIT_NOFILE, files, files) | limit(RLIMIT_MSGQUEUE, 0, 0) |
            limit(RLIMIT_FSIZE, p->file_bytes, p->file_bytes) |
            limit(RLIMIT_STACK, THREAD_STACK_BYTES, RLIM_INFINITY); // the same whatever the shell has, of threads too
  // At the soft limit, SIGXCPU shows the reason; a process that ignores it is killed a second later.
  if (p->cpu_seconds > 0)
    bad |= limit(RLIMIT_CPU, (uint64_t)p->cpu_seconds, (uint64_t)p->cpu_seconds + 1);
  if (p->memory_bytes > 0 && !SANDBOX_UNDER_ASAN)
    bad |= limit(RLIMIT_AS, p->memory_bytes, p->memory_bytes);
  // Counted within the child's own user namespace; without one this counts all processes of the user, the judge and
  // its neighbours among them, and would fail honest builds at random.
  if (p->processes > 0 && (namespaces & CLONE_NEWUSER))
    bad |= limit(RLIMIT_NPROC, (uint64_t)p->processes, (uint64_t)p->processes);
  return bad;
}

bool offer_to_oom_killer(const char *path) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return errno != EACCES;
  ssize_t n = write(fd, "1000", 4);
  (void)n;
  close(fd);
  return true;
}

// The judge's handlers and masks are not for a child, which starts as if from a fresh shell. Ignored signals would
// otherwise stay ignored through exec.
static void reset_signals(void) {
  struct sigaction standard = {.sa_handler = SIG_DFL};
  sigset_t none;
  for (int s = 1; s < _NSIG; s++)
    (void)sigaction(s, &standard, NULL);
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

// Root and the owner of a new user namespace have capabilities. no_new_privs keeps exec from giving them back.
static int drop_privileges(void) {
  struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0}};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_capset, &h, none) != 0 ? -1 : 0;
}

// The kernel ends us when the judge's thread that started us ends. If it ended before we asked, nobody reads the
// error pipe any more (in a pid namespace getppid() cannot tell).
static void die_with_judge(int error_fd) {
  struct pollfd p = {.fd = error_fd};
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    fail(error_fd, STEP_PRIVILEGES);
  if (poll(&p, 1, 0) > 0 && (p.revents & POLLERR))
    _exit(127);
}

int child_main(void *arg) {
  const struct child_plan *plan = arg;
  const struct sandbox_policy *p = plan->policy;
  int error_fd = plan->error_fd, landlock_fd = plan->landlock_fd;
  close(plan->error_read_fd);
  reset_signals();
  (void)setsid(); // a new session and process group; fails only when we lead one already
  if (arrange_descriptors(plan, &error_fd, &landlock_fd) != 0)
    fail(error_fd, STEP_DESCRIPTORS);
  umask(CHILD_UMASK);
  if (chdir(p->folder) != 0)
    fail(error_fd, STEP_FOLDER);
  (void)offer_to_oom_killer("/proc/self/oom_score_adj");
  if (set_limits(p, plan->namespaces) != 0)
    fail(error_fd, STEP_LIMITS);
  if (drop_privileges() != 0)
    fail(error_fd, STEP_PRIVILEGES);
  die_with_judge(error_fd);
  if (landlock_fd >= 0 && p->role == SANDBOX_DEVICE && landlock_allow_self(landlock_fd) != 0)
    fail(error_fd, STEP_LANDLOCK);
  if (landlock_fd >= 0 && syscall(SYS_landlock_restrict_self, landlock_fd, 0) != 0)
    fail(error_fd, STEP_LANDLOCK);
  // EINVAL: a kernel without seccomp, which sandbox_measure says.
  if (p->role == SANDBOX_BUILDER && seccomp_builder() != 0 && errno != EINVAL)
    fail(error_fd, STEP_SECCOMP);
  execve(plan->argv[0], plan->argv, plan->envp);
  fail(error_fd, STEP_EXEC);
}
