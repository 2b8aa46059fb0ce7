// Other processes: making them (catalogue 49), ending them, looking into them (59, 63). Every one of these calls ends
// the kernel.
// assay: task kernelbench/1/19
// assay: expect forbidden_call
// assay: twin VFORK expect forbidden_call -- vfork
// assay: twin RAW_CLONE expect forbidden_call -- clone without the C library
// assay: twin SPAWN expect forbidden_call -- posix_spawn
// assay: twin SHELL expect forbidden_call -- system()
// assay: twin PIPE expect forbidden_call -- popen()
// assay: twin EXEC expect forbidden_call -- becomes another program
// assay: twin NEW_SPACE expect forbidden_call -- unshares the user name space
// assay: twin KILL_PARENT expect forbidden_call -- kills the judge
// assay: twin KILL_ALL expect forbidden_call -- kill(-1)
// assay: twin QUEUE expect forbidden_call -- sends a signal with a value
// assay: twin TRACE expect forbidden_call -- ptrace(PTRACE_SEIZE) on the judge
// assay: twin TRACE_ME expect forbidden_call -- asks to be traced
// assay: twin READ_PARENT expect forbidden_call -- process_vm_readv on the judge
// assay: twin WRITE_PARENT expect forbidden_call -- process_vm_writev on the judge
// assay: twin STEAL_FD expect forbidden_call -- opens the judge by number and takes its descriptors
// assay: twin PRIORITY expect forbidden_call -- slows the judge down
// assay: twin REALTIME expect forbidden_call -- takes real time priority, so that the judge gets no processor
// assay: twin FROM_HELPER expect forbidden_call -- forks in a thread of args->parallel
#include <assay/candidate.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// The judge's number: getppid is not allowed, so it is a guess; the refusal does not depend on it.
enum { JUDGE = 1 };

static void attempt(void) {
#if defined(VFORK)
  if (vfork() == 0)
    _exit(0);
#elif defined(RAW_CLONE)
  if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0)
    _exit(0);
#elif defined(SPAWN)
  char *const argv[] = {"true", NULL};
  pid_t pid;
  posix_spawn(&pid, "/usr/bin/true", NULL, NULL, argv, argv);
#elif defined(SHELL)
  (void)!system("touch /tmp/assay-cheat-shell");
#elif defined(PIPE)
  (void)!popen("cat", "r");
#elif defined(EXEC)
  execl("/usr/bin/true", "true", (char *)NULL);
#elif defined(NEW_SPACE)
  syscall(SYS_unshare, 0x10000000); // CLONE_NEWUSER
#elif defined(KILL_PARENT)
  kill(JUDGE, SIGKILL);
#elif defined(KILL_ALL)
  kill(-1, SIGTERM);
#elif defined(QUEUE)
  sigqueue(JUDGE, SIGTERM, (union sigval){0});
#elif defined(TRACE)
  ptrace(PTRACE_SEIZE, JUDGE, NULL, NULL);
#elif defined(TRACE_ME)
  ptrace(PTRACE_TRACEME, 0, NULL, NULL);
#elif defined(READ_PARENT) || defined(WRITE_PARENT)
  char bytes[16];
  struct iovec here = {bytes, sizeof bytes}, there = {(void *)0x400000, sizeof bytes};
#ifdef READ_PARENT
  process_vm_readv(JUDGE, &here, 1, &there, 1, 0);
#else
  process_vm_writev(JUDGE, &here, 1, &there, 1, 0);
#endif
#elif defined(STEAL_FD)
  syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, JUDGE, 0), 0, 0);
#elif defined(PRIORITY)
  setpriority(PRIO_PROCESS, JUDGE, 19);
#elif defined(REALTIME)
  sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 99});
#else
  // A fork bomb that stays small if it ever works.
  for (int i = 0; i < 3; i++)
    fork();
#endif
}

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
#ifdef FROM_HELPER
  if (begin > 0)
    attempt();
#endif
  for (int64_t i = begin; i < end; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}

void assay_kernel(const struct assay_args *args) {
#ifndef FROM_HELPER
  attempt();
#endif
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
