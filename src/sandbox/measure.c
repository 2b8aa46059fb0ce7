// SPDX-License-Identifier: Apache-2.0
// What isolation this machine grants, found by trying.
#include "sandbox/sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/isolate.h"

static bool have_seccomp(void) {
  unsigned action = SECCOMP_RET_TRAP;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int do_nothing(void *arg) {
  (void)arg;
  return 0;
}

// The namespaces that a builder gets here; those of a runner are the same but for the pid namespace.
static int granted_namespaces(void) {
  int granted = 0;
  pid_t pid = child_clone(role_namespaces(SANDBOX_BUILDER), do_nothing, NULL, &granted);
  if (pid < 0)
    return 0;
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return granted;
}

static void append(struct sandbox_strength *s, const char *word) {
  size_t n = strlen(s->text);
  snprintf(s->text + n, sizeof s->text - n, "%s%s", n ? " " : "", word);
}

void sandbox_measure(struct sandbox_strength *out) {
  struct sandbox_strength s = {.landlock_abi = landlock_abi(), .seccomp = have_seccomp()};
  int granted = granted_namespaces();
  s.user_namespace = granted & CLONE_NEWUSER;
  s.pid_namespace = granted & CLONE_NEWPID;
  s.network_namespace = granted & CLONE_NEWNET;
  s.ipc_namespace = granted & CLONE_NEWIPC;
  char landlock[32];
  snprintf(landlock, sizeof landlock, "landlock-%d", s.landlock_abi);
  const struct {
    bool have;
    const char *word, *name;
  } parts[] = {
      {s.landlock_abi > 0, landlock, "landlock (kernel 5.13, lsm=landlock)"},
      {s.seccomp, "seccomp", "seccomp"},
      {s.user_namespace, "userns", "userns"},
      {s.pid_namespace, "pidns", "pidns"},
      {s.network_namespace, "netns", "netns"},
      {s.ipc_namespace, "ipcns", "ipcns"},
  };
  enum { N_PARTS = sizeof parts / sizeof *parts };
  int missing = 0;
  for (int i = 0; i < N_PARTS; i++)
    if (parts[i].have)
      append(&s, parts[i].word);
  append(&s, "rlimits");
  for (int i = 0; i < N_PARTS; i++)
    if (!parts[i].have) {
      append(&s, missing++ ? "and" : "without");
      append(&s, parts[i].name);
    }
  *out = s;
}
