// SPDX-License-Identifier: Apache-2.0
// Private to src/sandbox: what happens to a child between its birth and exec.
#ifndef SANDBOX_ISOLATE_H
#define SANDBOX_ISOLATE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "sandbox/sandbox.h"

// AddressSanitizer reserves terabytes of addresses, which no limit of addresses survives, and tracks every
// thread's stack, which a child that shares our memory would upset.
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANDBOX_UNDER_ASAN 1
#endif
#endif
#ifndef SANDBOX_UNDER_ASAN
#define SANDBOX_UNDER_ASAN 0
#endif

// The kernel's Landlock version, 0 when it has none.
int landlock_abi(void);

// A ruleset for this policy and program, -1 in *fd when the kernel has no Landlock. Made by the judge, enforced by the
// child, so that the child has nothing to allocate.
enum assay_status landlock_make(const struct sandbox_policy *p, const char *program, int *fd, struct assay_error *err);

// In the child, before the rules are in force: it may write to its own files in /proc, as NVIDIA's driver does when it
// starts (names of threads). System calls only. Returns 0, or -1 with errno.
int landlock_allow_self(int ruleset);

// Writes to a process's oom_score_adj that the kernel should end it first when memory runs out. Best effort, and system
// calls only. The child does so before exec. That fails when the judge is not root and hides itself
// (sandbox_hide_self): until exec the child is as undumpable as the judge, and its files in /proc belong to root. So
// the judge repeats it after exec. Returns false when the file is another user's.
bool offer_to_oom_killer(const char *path);

// Starts a child with as many of the wanted namespaces as the machine grants (*granted: CLONE_NEW* flags). It shares
// our memory and we sleep until it executes a program or exits, as with vfork: forking a judge with gigabytes of
// tensors would copy its page tables. *granted is set before the child runs and is right in it too.
// Returns -1 and errno.
typedef int child_body(void *arg);
pid_t child_clone(int wanted, child_body *body, void *arg, int *granted);

// What the judge wants for a role.
int role_namespaces(enum sandbox_role role);

enum { SANDBOX_MAX_FDS = 16 };

// Everything the child needs, made before it starts: it may only make system calls.
struct child_plan {
  const struct sandbox_policy *policy;
  char *const *argv, *const *envp;
  const int *fds;
  int n_fds;
  int null_fd, output_fd, error_fd, error_read_fd, landlock_fd;
  int namespaces; // CLONE_NEW* flags in force
};

// What went wrong in the child, sent through error_fd.
enum child_step {
  STEP_DESCRIPTORS,
  STEP_FOLDER,
  STEP_LIMITS,
  STEP_PRIVILEGES,
  STEP_LANDLOCK,
  STEP_SECCOMP,
  STEP_EXEC,
};
struct child_failure {
  int step, code;
};
child_body child_main; // arg: const struct child_plan *

// For SANDBOX_BUILDER: no sockets, no tracing, no way out of the process group. Returns 0, or -1 with errno.
int seccomp_builder(void);

#endif
