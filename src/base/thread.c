// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int thread_start(pthread_t *id, void *(*body)(void *arg), void *arg) {
  pthread_attr_t attr;
  int e = pthread_attr_init(&attr);
  if (e)
    return e;
  e = pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
  if (!e)
    e = pthread_create(id, &attr, body, arg);
  pthread_attr_destroy(&attr);
  return e;
}

void thread_raise_limit(void) {
  struct rlimit now;
  if (getrlimit(RLIMIT_STACK, &now) != 0 || now.rlim_cur >= THREAD_STACK_BYTES)
    return;
  now.rlim_cur = now.rlim_max < THREAD_STACK_BYTES ? now.rlim_max : THREAD_STACK_BYTES;
  (void)setrlimit(RLIMIT_STACK, &now);
}

enum assay_status thread_has_stack(struct assay_error *err) {
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  pthread_attr_t attr;
  void *lowest = NULL;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attr) != 0)
    return ASSAY_OK; // nobody knows
  const bool known = pthread_attr_getstack(&attr, &lowest, &bytes) == 0;
  pthread_attr_destroy(&attr);
  // Coroutines of a host have stacks that the C library does not know.
  if (!known || here < (uintptr_t)lowest || here - (uintptr_t)lowest >= bytes)
    return ASSAY_OK;
  const size_t left = here - (uintptr_t)lowest;
  if (left >= THREAD_LEAST_STACK_BYTES)
    return ASSAY_OK;
  const bool first = syscall(SYS_gettid) == getpid();
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "this thread's stack has %zu KiB left, and judging takes up to %zu KiB: %s", left >> 10,
                   THREAD_LEAST_STACK_BYTES >> 10,
                   first ? "the stack limit (ulimit -s) is too low: set it to 8192 or more, the hard limit too"
                         : "start the thread with a larger one (pthread_attr_setstacksize)");
}
