// SPDX-License-Identifier: Apache-2.0
// The builder's system call filter: a short list of what no compiler needs and a hostile source could want.
#include "sandbox/isolate.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "name this machine's AUDIT_ARCH constant here"
#endif

enum { X32_BIT = 0x40000000 };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, REFUSED)
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)
// Says that it worked, and does nothing: ninja gives each of its programs a group of its own, and gives up without.
#define PRETEND(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO)

// Written by hand and constant: libseccomp allocates, which the child of a threaded judge must not do. Leaving the
// session or the process group is refused because, where there is no pid namespace, killing the group is how a build
// is ended; a process that stays in it dies with it, for fork checks pending signals under the same lock. Shared
// memory, semaphores and queues of System V are refused because no limit counts what they hold, and because where there
// is no ipc namespace they outlive the build, and other programs' can be opened by their numbers.
int seccomp_builder(void) {
  static const struct sock_filter code[] = {
      LOAD(arch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      LOAD(nr),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, REFUSED),
      REFUSE(SYS_setsid),
      PRETEND(SYS_setpgid),
      REFUSE(SYS_socket),
      REFUSE(SYS_socketpair),
      REFUSE(SYS_ptrace),
      REFUSE(SYS_process_vm_readv),
      REFUSE(SYS_process_vm_writev),
      REFUSE(SYS_pidfd_getfd),
      REFUSE(SYS_unshare),
      REFUSE(SYS_setns),
      REFUSE(SYS_mount),
      REFUSE(SYS_keyctl),
      REFUSE(SYS_add_key),
      REFUSE(SYS_bpf),
      REFUSE(SYS_perf_event_open),
      REFUSE(SYS_io_uring_setup),
      REFUSE(SYS_userfaultfd),
      REFUSE(SYS_shmget),
      REFUSE(SYS_shmat),
      REFUSE(SYS_shmctl),
      REFUSE(SYS_semget),
      REFUSE(SYS_semop),
      REFUSE(SYS_semtimedop),
      REFUSE(SYS_semctl),
      REFUSE(SYS_msgget),
      REFUSE(SYS_msgsnd),
      REFUSE(SYS_msgrcv),
      REFUSE(SYS_msgctl),
      REFUSE(SYS_mq_open),
      REFUSE(SYS_mq_unlink),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, (struct sock_filter *)code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
