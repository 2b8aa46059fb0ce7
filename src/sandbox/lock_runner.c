// SPDX-License-Identifier: Apache-2.0
// The runner's system call filter: memory, threads, time, reading of files that Landlock allows, and nothing else.
//
// Installed before the candidate is loaded, so that its constructors run under it. Calls that an honest program (the
// C library, libgomp) tries and can live without return an error; everything else raises SIGSYS, and nobody can take
// that signal's handling away from the runner.
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CONTROL_FD = 3 };

static const int allowed[] = {
    // memory
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    // threads
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(membarrier),
    SCMP_SYS(getcpu),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(arch_prctl),
    SCMP_SYS(restart_syscall),
    // time
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(times),
    SCMP_SYS(getrusage),
    // reading; what is there to be read is Landlock's business
    SCMP_SYS(newfstatat),
    SCMP_SYS(fstat),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(statx),
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(lseek),
    SCMP_SYS(close),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(getcwd),
    SCMP_SYS(getdents64),
    // its own signals
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    // about itself and the machine
    SCMP_SYS(getrandom),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
};

struct refusal {
  int call, error;
};
static const struct refusal refused[] = {
    {SCMP_SYS(clone3), ENOSYS},  // its flags lie in memory, out of the filter's sight; the C library then uses clone
    {SCMP_SYS(openat2), ENOSYS}, // likewise
    {453, ENOSYS},               // map_shadow_stack, 462: mseal: newer C libraries try them
    {462, ENOSYS},
    {SCMP_SYS(ioctl), ENOTTY},
    {SCMP_SYS(mbind), ENOSYS}, // OpenBLAS asks where its buffers shall lie
    {SCMP_SYS(get_mempolicy), ENOSYS},
    {SCMP_SYS(set_mempolicy), ENOSYS},
};

// A condition on one argument of a call; only SCMP_CMP_MASKED_EQ (mask, value) takes both numbers.
static struct scmp_arg_cmp arg(unsigned index, enum scmp_compare op, uint64_t a, uint64_t b) {
  return (struct scmp_arg_cmp){index, op, a, b};
}

// Adds one rule whose conditions on arguments must all hold (the trailing arguments); keeps the first error in *bad.
// Conditions compare all 64 bits although the kernel often looks at 32 only, so they are written such that set upper
// bits can only lead to a refusal.
#define RULE(action, call, ...)                                                                                        \
  do {                                                                                                                 \
    const struct scmp_arg_cmp conditions[] = {__VA_ARGS__};                                                            \
    int error_ = seccomp_rule_add_array(f, action, call, sizeof conditions / sizeof *conditions, conditions);          \
    if (error_ != 0 && bad == 0)                                                                                       \
      bad = error_;                                                                                                    \
  } while (0)

static int plain_rules(scmp_filter_ctx f, bool timed) {
  // A thread that waits within a restartable sequence goes on at another place when the process is continued, and
  // nobody need wake it: with the inputs of the next call in place, and the clock not yet started.
  int bad = timed ? seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(rseq), 0)
                  : seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(rseq), 0);
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed && bad == 0; i++)
    bad = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
  for (size_t i = 0; i < sizeof refused / sizeof *refused && bad == 0; i++)
    bad = seccomp_rule_add_array(f, SCMP_ACT_ERRNO((uint32_t)refused[i].error), refused[i].call, 0, NULL);
  return bad;
}

// Opening for reading only; the usual ways to ask for more are refused politely, the rest is not.
static int file_rules(scmp_filter_ctx f) {
  const uint64_t others = 0xffffffffu & ~(uint64_t)(O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY | O_NONBLOCK | O_LARGEFILE |
                                                    0100000); // the kernel's O_LARGEFILE, 0 in the C library
  int bad = 0;
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(openat), arg(2, SCMP_CMP_MASKED_EQ, others, 0));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(open), arg(1, SCMP_CMP_MASKED_EQ, others, 0));
  static const int bits[] = {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND};
  for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
    uint64_t bit = (uint64_t)bits[i];
    RULE(SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), arg(2, SCMP_CMP_MASKED_EQ, bit, bit));
    RULE(SCMP_ACT_ERRNO(EACCES), SCMP_SYS(open), arg(1, SCMP_CMP_MASKED_EQ, bit, bit));
  }
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
    RULE(SCMP_ACT_ALLOW, SCMP_SYS(write), arg(0, SCMP_CMP_EQ, (uint64_t)fd, 0));
    RULE(SCMP_ACT_ALLOW, SCMP_SYS(writev), arg(0, SCMP_CMP_EQ, (uint64_t)fd, 0));
  }
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(fcntl), arg(1, SCMP_CMP_EQ, F_GETFD, 0));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(fcntl), arg(1, SCMP_CMP_EQ, F_GETFL, 0));
  // Python duplicates a source's descriptor to show a line of it next to an exception that nobody catches.
  RULE(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), arg(1, SCMP_CMP_EQ, F_DUPFD_CLOEXEC, 0));
  // Descriptors of buffers arrive on the runner's control socket.
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), arg(0, SCMP_CMP_EQ, CONTROL_FD, 0));
  return bad;
}

// All advice but one: MADV_REMOVE takes the memory of an output away, and what is read there next is zero. Whoever does
// that has zeros without writing them, and the judge makes the pages anew.
static int memory_rules(scmp_filter_ctx f) {
  enum { LAST_OF_OLD = 25 };                        // MADV_COLLAPSE
  static const uint64_t guard_pages[] = {102, 103}; // newer C libraries try them for stacks
  int bad = 0;
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(madvise), arg(2, SCMP_CMP_LT, MADV_REMOVE, 0));
  RULE(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(madvise), arg(2, SCMP_CMP_EQ, MADV_REMOVE, 0));
  for (uint64_t advice = MADV_REMOVE + 1; advice <= LAST_OF_OLD; advice++)
    RULE(SCMP_ACT_ALLOW, SCMP_SYS(madvise), arg(2, SCMP_CMP_EQ, advice, 0));
  for (size_t i = 0; i < sizeof guard_pages / sizeof *guard_pages; i++)
    RULE(SCMP_ACT_ALLOW, SCMP_SYS(madvise), arg(2, SCMP_CMP_EQ, guard_pages[i], 0));
  return bad;
}

static int thread_rules(scmp_filter_ctx f) {
  int bad = 0;
  // Threads as C libraries make them. One that waits until another has ended (CLONE_VFORK) could not be stopped.
  const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
                 more = CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |
                        CLONE_DETACHED;
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(clone), arg(0, SCMP_CMP_MASKED_EQ, ~more, thread));
  // Itself only: the judge belongs to the same user, and could be pinned to another processor from here.
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(sched_setaffinity), arg(0, SCMP_CMP_EQ, 0, 0));
  RULE(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(sched_setaffinity), arg(0, SCMP_CMP_NE, 0, 0));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), arg(0, SCMP_CMP_EQ, 0, 0), arg(2, SCMP_CMP_EQ, 0, 0));
  RULE(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), arg(2, SCMP_CMP_NE, 0, 0));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(prctl), arg(0, SCMP_CMP_EQ, PR_SET_NAME, 0));
  RULE(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), arg(0, SCMP_CMP_NE, PR_SET_NAME, 0));
  return bad;
}

// raise() and abort(), pthread_kill() and pthread_cancel(); but not the signals that stop a process (SIGCONT, SIGSTOP,
// SIGTSTP, SIGTTIN, SIGTTOU are 18 to 22): a stopped runner is how the judge knows that it has stopped it.
// Every signal may be handled but SIGSYS and those five. Code that handles SIGSYS could go on after a forbidden call,
// and hide it; a handler for SIGCONT would run when the judge lets the runner go on, with the inputs of the next call
// in place and the clock not yet started.
static int signal_rules(scmp_filter_ctx f) {
  const uint64_t self = (uint64_t)getpid();
  int bad = 0;
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(tgkill), arg(0, SCMP_CMP_EQ, self, 0), arg(2, SCMP_CMP_LT, SIGCONT, 0));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(tgkill), arg(0, SCMP_CMP_EQ, self, 0), arg(2, SCMP_CMP_MASKED_EQ, ~7ull, 24));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(tgkill), arg(0, SCMP_CMP_EQ, self, 0), arg(2, SCMP_CMP_MASKED_EQ, ~31ull, 32));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(rt_sigaction), arg(0, SCMP_CMP_LT, SIGCONT, 0));
  for (int s = SIGCONT; s <= SIGTTOU; s++)
    RULE(SCMP_ACT_ERRNO(EPERM), SCMP_SYS(rt_sigaction), arg(0, SCMP_CMP_EQ, (uint64_t)s, 0));
  for (int s = SIGTTOU + 1; s < SIGSYS; s++)
    RULE(SCMP_ACT_ALLOW, SCMP_SYS(rt_sigaction), arg(0, SCMP_CMP_EQ, (uint64_t)s, 0));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(rt_sigaction), arg(0, SCMP_CMP_MASKED_EQ, ~31ull, 32));
  RULE(SCMP_ACT_ALLOW, SCMP_SYS(rt_sigaction), arg(0, SCMP_CMP_EQ, 64, 0));
  return bad;
}
_Static_assert(SIGCONT == 18 && SIGTTOU == 22 && SIGSYS == 31, "the rules above are written for these numbers");

enum assay_status sandbox_lock_runner(bool timed, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  scmp_filter_ctx f = seccomp_init(SCMP_ACT_TRAP);
  if (!f)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a seccomp filter: out of memory, or no seccomp here");
  // A call by the 32-bit or the x32 entry ends the process; by default it would end one thread, silently.
  (void)seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  // Without this the kernel before 5.16 would slow every kernel down against speculative store bypass.
  (void)seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
  (void)seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
  (void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2); // a binary tree: threads make many futex calls
  int bad = plain_rules(f, timed);
  if (bad == 0)
    bad = file_rules(f);
  if (bad == 0)
    bad = memory_rules(f);
  if (bad == 0)
    bad = thread_rules(f);
  if (bad == 0)
    bad = signal_rules(f);
  if (bad == 0)
    bad = seccomp_load(f);
  if (bad != 0)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot install the seccomp filter: %s (the kernel needs seccomp)",
                       strerror(-bad));
  seccomp_release(f);
  return status;
}
