// SPDX-License-Identifier: Apache-2.0
// A machine's name changes with the processors that a process may use, unless what counts is the whole machine. The
// models of its GPUs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "judge/machine.h"

static void processors_count_where_they_matter(void **state) {
  cpu_set_t all, one;
  (void)state;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2)
    skip();
  char *mine = machine_identity(false), *whole = machine_identity(true);
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) < 1; i++)
    if (CPU_ISSET(i, &all))
      CPU_SET(i, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  char *less = machine_identity(false), *same = machine_identity(true);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  assert_string_not_equal(mine, less);
  assert_string_equal(whole, same);
  base_free(mine);
  base_free(whole);
  base_free(less);
  base_free(same);
}

static void write_gpu(const char *proc, int number, const char *text) {
  char path[256];
  const char *parts[] = {"driver", "nvidia", "gpus", NULL};
  size_t n = (size_t)snprintf(path, sizeof path, "%s", proc);
  for (int i = 0; parts[i]; i++) {
    n += (size_t)snprintf(path + n, sizeof path - n, "/%s", parts[i]);
    (void)mkdir(path, 0700);
  }
  n += (size_t)snprintf(path + n, sizeof path - n, "/0000:%02d:00.0", number);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(path + n, sizeof path - n, "/information");
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void gpus_are_named_once(void **state) {
  (void)state;
  char proc[] = "/tmp/test-machine-XXXXXX", command[64];
  assert_non_null(mkdtemp(proc));
  char *none = machine_gpus(proc);
  assert_string_equal(none, "");
  write_gpu(proc, 1, "Model: \t\t NVIDIA H200 NVL\nIRQ:   \t\t 38\nGPU UUID: \t GPU-1\n");
  write_gpu(proc, 2, "Model: \t\t NVIDIA H200\n");
  write_gpu(proc, 3, "Model: \t\t NVIDIA H200 NVL\n");
  write_gpu(proc, 4, "");
  char *all = machine_gpus(proc);
  assert_string_equal(all, "NVIDIA H200 NVL\nNVIDIA H200\n");
  base_free(none);
  base_free(all);
  snprintf(command, sizeof command, "rm -r %s", proc);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(processors_count_where_they_matter),
                                     cmocka_unit_test(gpus_are_named_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
