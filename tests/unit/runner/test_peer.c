// SPDX-License-Identifier: Apache-2.0
// What the judge's side of a runner does with a process that wants to hold it up.
// modules: runner
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "runner/peer.h"

// As many threads as write faster than one reads: there is always more.
static void output_without_end(void **state) {
  (void)state;
  struct buf log;
  buf_init(&log);
  const int endless = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  assert_true(endless >= 0);
  for (int i = 0; i < 3; i++) {
    peer_read_log(endless, &log);
    assert_true(log.len > 0 && log.len <= 64 << 10);
  }
  close(endless);
  peer_read_log(-1, &log); // there is none
  buf_release(&log);
}

static void what_was_printed(void **state) {
  (void)state;
  struct buf log;
  int ends[2];
  buf_init(&log);
  assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  peer_read_log(ends[0], &log);
  assert_int_equal(log.len, 0);
  assert_int_equal(write(ends[1], "one ", 4), 4);
  peer_read_log(ends[0], &log);
  assert_int_equal(write(ends[1], "two", 3), 3);
  close(ends[1]);
  peer_read_log(ends[0], &log);
  peer_read_log(ends[0], &log);
  assert_string_equal(buf_str(&log), "one two");
  close(ends[0]);
  buf_release(&log);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(output_without_end), cmocka_unit_test(what_was_printed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
