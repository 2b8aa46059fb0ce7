// SPDX-License-Identifier: Apache-2.0
// Making the child process itself, with as much isolation as the machine grants.
#include "sandbox/isolate.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/alloc.h"

// The compiler as process 1 of its own pid namespace: when it ends, the kernel ends all that it left, daemons
// and fork bombs included, before we can even collect it. It is our direct child all the same (clone, not unshare and
// fork). As process 1 it ignores signals that it does not handle unless the kernel forces them: SIGKILL, SIGSTOP from
// here and its own faults end it as usual, the CPU limit does so by SIGKILL, gcc reports a crash of cc1 normally.
//
// Not for the runner: abort() in process 1 would end in SIGSEGV instead of SIGABRT, and a process that can neither
// fork nor signal gains nothing from the namespace.
int role_namespaces(enum sandbox_role role) {
  const int common = CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC;
  return role == SANDBOX_BUILDER ? common | CLONE_NEWPID : common;
}

// From strong to weak. Root in a container may lack user namespaces but have the others; some kernels grant an
// ordinary user a user namespace but no rights in it.
static const int ladder[] = {
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC,
    CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC,
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC,
    CLONE_NEWUSER | CLONE_NEWPID,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    0,
};

enum { SHARE_MEMORY = SANDBOX_UNDER_ASAN ? 0 : CLONE_VM | CLONE_VFORK };
enum { CHILD_STACK_BYTES = 64 << 10 };

pid_t child_clone(int wanted, child_body *body, void *arg, int *granted) {
  char *stack = base_alloc(CHILD_STACK_BYTES);
  if (!stack)
    return errno = ENOMEM, -1;
  char *top = stack + (CHILD_STACK_BYTES & ~15);
  pid_t pid = -1;
  // A handler of the judge must not run in the child, on the judge's data.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (size_t i = 0, tried = 0; pid < 0 && i < sizeof ladder / sizeof *ladder; i++) {
    int flags = ladder[i] & wanted;
    if (tried && flags == *granted)
      continue;
    tried = 1;
    *granted = flags;
    pid = clone(body, top, flags | SHARE_MEMORY | SIGCHLD, arg);
    if (pid < 0 && (errno == ENOMEM || errno == EAGAIN))
      break;
  }
  int e = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  base_free(stack);
  errno = e;
  return pid;
}
