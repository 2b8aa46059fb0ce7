// SPDX-License-Identifier: Apache-2.0
// Noting what is known when a signal kills the process.
#include "base/last_words.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool last_words_install(last_words_fn *handler, bool arithmetic, void *stack, size_t stack_bytes) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGSYS, SIGFPE};
  const size_t n = sizeof signals / sizeof *signals - (arithmetic ? 0 : 1);
  const stack_t own = {.ss_sp = stack, .ss_size = stack_bytes};
  if (stack && sigaltstack(&own, NULL) != 0)
    return false;
  for (size_t i = 0; i < n; i++) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (sigaction(signals[i], &action, NULL) != 0)
      return false;
  }
  return true;
}

uint32_t last_words_system_call(int number, const siginfo_t *info) {
  return number == SIGSYS ? (uint32_t)info->si_syscall : 0;
}

bool last_words_memory_exhausted(void) {
  return mmap(NULL, (size_t)16 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

void last_words_die(int number) {
  signal(number, SIG_DFL);
  // The instruction that crashed is tried again and crashes again. A forbidden system call would merely fail when the
  // handler returned; it ends the process instead.
  if (number == SIGSYS || number == SIGABRT) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
  }
}
