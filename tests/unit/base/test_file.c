// SPDX-License-Identifier: Apache-2.0
// Writing files: a regular file is replaced whole; what is something else stays what it is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static char folder[64];

static const char *in_folder(const char *name) {
  static char path[2][128];
  static int next;
  next = 1 - next;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/test_file.XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static void write_text(const char *name, const char *text) {
  struct assay_error err = {0};
  if (file_write(in_folder(name), text, strlen(text), &err) != ASSAY_OK)
    fail_msg("%s", err.message);
}

static void holds(const char *name, const char *text) {
  char *data = NULL;
  size_t n = 0;
  struct assay_error err = {0};
  assert_int_equal(file_read(in_folder(name), 1000, &data, &n, &err), ASSAY_OK);
  assert_string_equal(data, text);
  base_free(data);
}

static mode_t mode_of(const char *name) {
  struct stat st;
  assert_int_equal(lstat(in_folder(name), &st), 0);
  return st.st_mode;
}

static void a_file_is_replaced_and_keeps_its_rights(void **state) {
  (void)state;
  write_text("plain", "one");
  holds("plain", "one");
  assert_int_equal(chmod(in_folder("plain"), 0640), 0);
  write_text("plain", "2");
  holds("plain", "2");
  assert_int_equal(mode_of("plain") & 07777, 0640);
}

static void a_link_stays_and_its_target_is_written(void **state) {
  (void)state;
  assert_int_equal(mkdir(in_folder("there"), 0777), 0);
  write_text("there/target", "old");
  assert_int_equal(symlink("there/hop", in_folder("link")), 0);
  assert_int_equal(symlink("target", in_folder("there/hop")), 0);
  write_text("link", "new");
  assert_true(S_ISLNK(mode_of("link")) && S_ISLNK(mode_of("there/hop")));
  assert_true(S_ISREG(mode_of("there/target")));
  holds("there/target", "new");
}

static void the_target_of_a_link_need_not_exist(void **state) {
  (void)state;
  assert_int_equal(mkdir(in_folder("empty"), 0777), 0);
  assert_int_equal(symlink(in_folder("empty/fresh"), in_folder("dangling")), 0);
  write_text("dangling", "here");
  assert_true(S_ISLNK(mode_of("dangling")));
  holds("empty/fresh", "here");
  struct assay_error err = {0};
  assert_int_equal(symlink("loop", in_folder("loop")), 0);
  assert_int_equal(file_write(in_folder("loop"), "x", 1, &err), ASSAY_ERR_IO);
  assert_non_null(strstr(err.message, "loop: Too many levels"));
}

static void a_pipe_gets_the_bytes(void **state) {
  (void)state;
  char text[8] = "";
  assert_int_equal(mkfifo(in_folder("pipe"), 0666), 0);
  int fd = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  write_text("pipe", "bytes");
  assert_true(S_ISFIFO(mode_of("pipe")));
  assert_int_equal(read(fd, text, sizeof text), 5);
  assert_string_equal(text, "bytes");
  close(fd);
}

// By a link, so that a fault of file_write() harms no machine's device.
static void a_full_device_is_an_error(void **state) {
  (void)state;
  struct assay_error err = {0};
  assert_int_equal(symlink("/dev/full", in_folder("full")), 0);
  assert_int_equal(file_write(in_folder("full"), "x", 1, &err), ASSAY_ERR_IO);
  assert_non_null(strstr(err.message, "full: No space left"));
  assert_true(S_ISLNK(mode_of("full")));
  assert_int_equal(symlink("/dev/null", in_folder("null")), 0);
  write_text("null", "gone");
  assert_true(S_ISLNK(mode_of("null")));
}

static void the_file_behind_a_stream_is_appended_to(void **state) {
  (void)state;
  write_text("log", "before ");
  fflush(stdout);
  int kept = dup(STDOUT_FILENO), fd = open(in_folder("log"), O_WRONLY | O_APPEND | O_CLOEXEC);
  assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
  close(fd);
  struct assay_error err = {0};
  enum assay_status status = file_write("/dev/stdout", "after", 5, &err);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  assert_int_equal(status, ASSAY_OK);
  holds("log", "before after");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_is_replaced_and_keeps_its_rights),
      cmocka_unit_test(a_link_stays_and_its_target_is_written),
      cmocka_unit_test(the_target_of_a_link_need_not_exist),
      cmocka_unit_test(a_pipe_gets_the_bytes),
      cmocka_unit_test(a_full_device_is_an_error),
      cmocka_unit_test(the_file_behind_a_stream_is_appended_to),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
