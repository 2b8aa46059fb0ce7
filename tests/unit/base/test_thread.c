// SPDX-License-Identifier: Apache-2.0
// Stacks do not depend on the shell's limit. The C library reads it as a program starts: this one starts itself again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/thread.h"

enum { SMALL = 192 << 10 };

// As deep as this many bytes.
static void *use_stack(void *bytes) {
  volatile char *p = __builtin_alloca(*(size_t *)bytes);
  for (size_t i = *(size_t *)bytes; i > 0; i -= i < 4096 ? i : 4096)
    p[i - 1] = 1;
  return bytes;
}

static void *ask(void *err) {
  return thread_has_stack(err) == ASSAY_OK ? err : NULL;
}

// Under a soft limit of SMALL. Returns what is wrong.
static int again(void) {
  size_t much = THREAD_STACK_BYTES - ((size_t)1 << 20);
  struct assay_error err = {0};
  struct rlimit now;
  pthread_t id;
  void *out = NULL;
  if (getrlimit(RLIMIT_STACK, &now) != 0 || now.rlim_cur != SMALL)
    return 1;
  if (thread_has_stack(&err) != ASSAY_ERR_ENVIRONMENT || !strstr(err.message, "(ulimit -s)"))
    return 2;
  if (thread_start(&id, use_stack, &much) != 0 || pthread_join(id, &out) != 0 || out != &much)
    return 3;
  if (thread_start(&id, ask, &err) != 0 || pthread_join(id, &out) != 0 || out != &err)
    return 4;
  if (pthread_create(&id, NULL, ask, &err) != 0 || pthread_join(id, &out) != 0 || out != NULL ||
      !strstr(err.message, "pthread_attr_setstacksize"))
    return 5;
  thread_raise_limit();
  if (thread_has_stack(&err) != ASSAY_OK)
    return 6;
  return use_stack(&much) == &much ? 0 : 7;
}

static void stacks_are_large_under_a_small_limit(void **state) {
  (void)state;
  const pid_t child = fork();
  if (child == 0) {
    struct rlimit narrow;
    getrlimit(RLIMIT_STACK, &narrow);
    narrow.rlim_cur = SMALL;
    setrlimit(RLIMIT_STACK, &narrow);
    execl("/proc/self/exe", "test_thread", "again", (char *)NULL);
    _exit(99);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void a_raised_limit_stays_within_the_hard_one(void **state) {
  (void)state;
  const pid_t child = fork();
  if (child == 0) {
    struct rlimit now = {1 << 20, 2 << 20};
    setrlimit(RLIMIT_STACK, &now);
    thread_raise_limit();
    _exit(getrlimit(RLIMIT_STACK, &now) == 0 && now.rlim_cur == 2 << 20 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "again") == 0)
    return again();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stacks_are_large_under_a_small_limit),
      cmocka_unit_test(a_raised_limit_stays_within_the_hard_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
