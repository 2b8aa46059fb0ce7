// SPDX-License-Identifier: Apache-2.0
// A builder's child after it has narrowed its files: it reads what it was given, and writes and runs nothing.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/sandbox.h"
#include "skip.h"

// What the child finds; the exit code names the first thing that is not as it should be.
static int locked_child(const char *given, const char *file) {
  const char *const paths[] = {given, "/nowhere/at/all", NULL};
  char name[4096];
  int before = open("/etc/passwd", O_RDONLY);
  if (before < 0 || sandbox_lock_files(paths, NULL) != ASSAY_OK)
    return 1;
  if (open(file, O_RDONLY) < 0)
    return 2; // what was given can be read
  if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES)
    return 3;
  if (open(file, O_WRONLY) >= 0 || errno != EACCES)
    return 4;
  snprintf(name, sizeof name, "%s/new-file", given);
  if (open(name, O_WRONLY | O_CREAT, 0600) >= 0 || errno != EACCES)
    return 5;
  if (open("/tmp/assay-new-file", O_WRONLY | O_CREAT, 0600) >= 0 || errno != EACCES)
    return 6;
  if (unlink(file) == 0 || mkdir("/tmp/assay-new-folder", 0700) == 0)
    return 7;
  execl("/bin/true", "true", NULL);
  if (errno != EACCES)
    return 8;
  // A second lock does not undo the first.
  const char *const all[] = {"/", NULL};
  (void)sandbox_lock_files(all, NULL);
  return open("/etc/passwd", O_RDONLY) >= 0 ? 9 : 0;
}

static void test_lock(void **state) {
  struct sandbox_strength strength;
  char folder[] = "/tmp/assay-lock-XXXXXX", file[64];
  int status = 0;
  (void)state;
  sandbox_measure(&strength);
  if (!strength.landlock_abi)
    SKIP_BECAUSE("this kernel has no Landlock");
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/given", folder);
  int fd = open(file, O_WRONLY | O_CREAT, 0600);
  assert_true(fd >= 0);
  close(fd);
  pid_t pid = fork();
  // No new privileges: as every child of the sandbox; an ordinary user may not use Landlock otherwise.
  if (pid == 0)
    _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? 10 : locked_child(folder, file));
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(unlink(file), 0);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lock)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
