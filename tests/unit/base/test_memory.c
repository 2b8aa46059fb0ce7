// SPDX-License-Identifier: Apache-2.0
// What memory there is, from files as Linux writes them: a machine alone, cgroup v2 in a container and nested, cgroup
// v1.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"

#define GIB ((int64_t)1 << 30)

static int setup(void **state) {
  static char folder[64];
  snprintf(folder, sizeof folder, "/tmp/test_memory.XXXXXX");
  *state = mkdtemp(folder);
  return *state ? 0 : -1;
}

static int teardown(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
  return system(command);
}

static void put(const char *root, const char *name, const char *text) {
  char path[512], folder[512];
  snprintf(path, sizeof path, "%s%s", root, name);
  snprintf(folder, sizeof folder, "%s", path);
  *strrchr(folder, '/') = '\0';
  assert_int_equal(file_make_folders(folder, NULL), ASSAY_OK);
  assert_int_equal(file_write(path, text, strlen(text), NULL), ASSAY_OK);
}

static void put_machine(const char *root) { // 24 GiB, 20 of them to be had
  put(root, "/proc/meminfo",
      "MemTotal:       25165824 kB\nMemFree:         1048576 kB\nMemAvailable:   20971520 kB\nBuffers: 0 kB\n");
}

static void test_a_machine(void **state) {
  int64_t total;
  put_machine(*state);
  assert_int_equal(memory_available(*state, &total), 20 * GIB);
  assert_int_equal(total, 24 * GIB);
}

static void test_a_container(void **state) { // cgroup v2, the container's own namespace: it sees itself as the root
  int64_t total;
  put_machine(*state);
  put(*state, "/proc/self/cgroup", "0::/\n");
  put(*state, "/sys/fs/cgroup/memory.max", "4294967296\n");
  put(*state, "/sys/fs/cgroup/memory.current", "3221225472\n");
  put(*state, "/sys/fs/cgroup/memory.stat", "anon 1073741824\nfile 2147483648\ninactive_file 1073741824\n");
  assert_int_equal(memory_available(*state, &total), 2 * GIB); // 1 GiB, and 1 GiB of pages that are given back
  assert_int_equal(total, 4 * GIB);
}

static void test_the_narrowest_group_counts(void **state) {
  int64_t total;
  put_machine(*state);
  put(*state, "/proc/self/cgroup", "0::/user.slice/job.scope\n");
  put(*state, "/sys/fs/cgroup/user.slice/memory.max", "2147483648\n");
  put(*state, "/sys/fs/cgroup/user.slice/memory.current", "1073741824\n");
  put(*state, "/sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n");
  put(*state, "/sys/fs/cgroup/user.slice/job.scope/memory.current", "4096\n");
  assert_int_equal(memory_available(*state, &total), 1 * GIB);
  assert_int_equal(total, 2 * GIB);
}

static void test_version_1(void **state) {
  int64_t total;
  put_machine(*state);
  put(*state, "/proc/self/cgroup", "11:cpu,cpuacct:/\n5:memory:/box\n1:name=systemd:/\n");
  put(*state, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); // none
  put(*state, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "8589934592\n");
  put(*state, "/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "8589934592\n");
  put(*state, "/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "2147483648\n");
  assert_int_equal(memory_available(*state, &total), 6 * GIB);
  assert_int_equal(total, 8 * GIB);
}

static void test_a_limit_of_address_space(void **state) { // ulimit -v 4194304
  int64_t total;
  put_machine(*state);
  put(*state, "/proc/self/status", "Name:\tassay\nVmPeak:\t 2097152 kB\nVmSize:\t 1048576 kB\n");
  put(*state, "/proc/self/limits",
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max cpu time              unlimited            unlimited            seconds   \n"
      "Max address space         4294967296           unlimited            bytes     \n");
  assert_int_equal(memory_available(*state, &total), 3 * GIB);
  assert_int_equal(total, 4 * GIB);
  put(*state, "/proc/self/limits", "Max address space         unlimited            4294967296           bytes     \n");
  assert_int_equal(memory_available(*state, &total), 20 * GIB);
  assert_int_equal(total, 24 * GIB);
}

static void test_nothing_known(void **state) {
  int64_t total;
  assert_int_equal(memory_available(*state, &total), INT64_MAX);
  assert_int_equal(total, INT64_MAX);
}

static void test_this_machine(void **state) {
  int64_t total, available = memory_available("", &total);
  (void)state;
  assert_true(available > 0 && available <= total && total < INT64_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_machine, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_container, setup, teardown),
      cmocka_unit_test_setup_teardown(test_the_narrowest_group_counts, setup, teardown),
      cmocka_unit_test_setup_teardown(test_version_1, setup, teardown),
      cmocka_unit_test_setup_teardown(test_a_limit_of_address_space, setup, teardown),
      cmocka_unit_test_setup_teardown(test_nothing_known, setup, teardown),
      cmocka_unit_test(test_this_machine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
