// Asks the system for more: limits, rights, identity, other interfaces. Most of it ends the kernel; what is refused
// with an error code leaves it as it was.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin RAISE_LIMITS expect crashed -- raises its limits, aborts when it cannot
// assay: twin RAISE_LIMITS_OLD expect forbidden_call -- the same by the older system call
// assay: twin DUMPABLE expect crashed -- PR_SET_DUMPABLE, so that it could be read or hide
// assay: twin NO_DEATH expect crashed -- outlives the judge by PR_SET_PDEATHSIG 0
// assay: twin NAME expect pass -- calls itself something else
// assay: twin SECCOMP expect crashed|forbidden_call -- a filter of its own over the judge's (catalogue 62)
// assay: twin PERSONALITY expect forbidden_call -- another personality
// assay: twin PIN expect pass -- pins itself to one processor
// assay: twin PIN_JUDGE expect crashed -- pins another process
// assay: twin IDLE expect forbidden_call -- SCHED_IDLE
// assay: twin USERFAULT expect forbidden_call -- userfaultfd, to stop others at its pages
// assay: twin URING expect forbidden_call -- io_uring, whose calls no filter sees
// assay: twin BPF expect forbidden_call -- loads a program into the kernel
// assay: twin PERF expect forbidden_call -- performance counters
// assay: twin KEYS expect forbidden_call -- the kernel's keyring
// assay: twin IDENTITY expect forbidden_call -- setuid(0)
// assay: twin ROOT expect forbidden_call -- chroot
// assay: twin MOUNT expect forbidden_call -- mounts /proc
// assay: twin PARENT expect forbidden_call -- asks who the judge is
// assay: twin LOCK_MEMORY expect forbidden_call -- mlockall
// assay: twin SHARED expect forbidden_call -- System V shared memory
// assay: twin QUEUE expect forbidden_call -- a message queue
// assay: twin REBOOT expect forbidden_call -- reboots
// assay: twin OLD_ABI expect forbidden_call|crashed -- fork by int 0x80, the 32-bit entry
// assay: twin X32_ABI expect forbidden_call|crashed -- fork by the x32 number
// assay: twin OLD_ABI_HELPER expect forbidden_call|crashed -- the same in a thread of args->parallel
// assay: twin NO_CALL expect forbidden_call|crashed|pass -- a system call that does not exist
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static void need(long result) {
  if (result < 0)
    abort();
}

static void attempt(void) {
  (void)need;
#if defined(RAISE_LIMITS)
  struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
  need(setrlimit(RLIMIT_AS, &most));
#elif defined(RAISE_LIMITS_OLD)
  struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
  need(syscall(SYS_setrlimit, RLIMIT_AS, &most));
#elif defined(DUMPABLE)
  need(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
#elif defined(NO_DEATH)
  need(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
#elif defined(NAME)
  need(prctl(PR_SET_NAME, "assay", 0, 0, 0));
#elif defined(SECCOMP)
  struct {
    unsigned short n;
    const void *code;
  } program = {0, NULL};
  need(syscall(SYS_seccomp, 1, 0, &program));
#elif defined(PERSONALITY)
  personality(0x0040000 /* no randomised addresses */);
#elif defined(PIN) || defined(PIN_JUDGE)
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
#ifdef PIN
  need(sched_setaffinity(0, sizeof one, &one));
#else
  need(sched_setaffinity(1, sizeof one, &one));
#endif
#elif defined(IDLE)
  sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
#elif defined(USERFAULT)
  syscall(SYS_userfaultfd, O_NONBLOCK);
#elif defined(URING)
  syscall(SYS_io_uring_setup, 8, NULL);
#elif defined(BPF)
  syscall(SYS_bpf, 0, NULL, 0);
#elif defined(PERF)
  syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
#elif defined(KEYS)
  syscall(SYS_keyctl, 0, 0);
#elif defined(IDENTITY)
  (void)!setuid(0);
#elif defined(ROOT)
  (void)!chroot(".");
#elif defined(MOUNT)
  mount("proc", ".", "proc", 0, NULL);
#elif defined(PARENT)
  (void)getppid();
#elif defined(LOCK_MEMORY)
  mlockall(MCL_CURRENT | MCL_FUTURE);
#elif defined(SHARED)
  shmget(IPC_PRIVATE, 4096, 0600);
#elif defined(QUEUE)
  mq_open("/assay-cheat", O_CREAT | O_RDWR, 0600, NULL);
#elif defined(REBOOT)
  syscall(SYS_reboot, 0, 0, 0, NULL); // with the wrong magic numbers, to be safe
#elif (defined(OLD_ABI) || defined(OLD_ABI_HELPER)) && defined(__x86_64__)
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(2L) : "memory");
  if (result == 0)
    _exit(0);
#elif defined(X32_ABI)
  if (syscall(0x40000000 + SYS_fork) == 0)
    _exit(0);
#elif defined(NO_CALL)
  syscall(9999);
#endif
}

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
#ifdef OLD_ABI_HELPER
  if (begin > 0)
    attempt();
#endif
  for (int64_t i = begin; i < end; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}

void assay_kernel(const struct assay_args *args) {
#ifndef OLD_ABI_HELPER
  attempt();
#endif
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
