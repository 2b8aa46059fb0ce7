// SPDX-License-Identifier: Apache-2.0
// An exported plan compiles on its own without a warning, and does what the plan says: it is linked with a driver that
// is written here, has no GPU, and notes what it is asked to do. Where the toolkit's stub of libcuda is there, it links
// with that too.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "plan_sample.h"

static const char stub[] = "/usr/local/cuda/lib64/stubs/libcuda.so";

static int run(const char *fmt, ...) {
  char command[4096];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(command, sizeof command, fmt, ap);
  va_end(ap);
  return system(command);
}

static char *read_text(const char *folder, const char *name) {
  char path[512], *text;
  size_t n;
  struct assay_error err = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (file_read(path, 1 << 24, &text, &n, &err))
    fail_msg("%s", err.message);
  return text;
}

static void export(const char *folder, struct plan *p) {
  struct assay_error err = {0};
  if (plan_check(p, NULL, NULL, &err) || plan_export(p, folder, "sample", &err))
    fail_msg("%s", err.message);
}

static void check_lines(const char *text, const char *const *lines) {
  const char *at = text;
  for (; *lines; lines++) {
    const char *found = strstr(at, *lines);
    if (!found)
      fail_msg("\"%s\" is missing, or out of order, in\n%s", *lines, text);
    at = found;
  }
}

static void test_export(void **state) {
  (void)state;
  // What the driver is asked to do: first to load, then one run of the preparation, then 3 + 2 runs.
  static const char *const log[] = {
      "load ELF",
      "alloc 384",
      "alloc 384",
      "alloc 4608",
      "alloc 272",
      "global coef",
      "function scale",
      "function turn",
      "set 8 = 1024",
      "function tile",
      "map type 7 rank 2 at partial+0 dims 16 64 strides 64 box 16 8 elements 1 1 rest 0 2 2 0",
      "copy coef+0 < table+0 16\n",
      "event",
      "fill partial+0 ff x 4096 width 1\n",
      "launch scale grid 1 1 1 block 128 1 1 shared 0: x+0 partial+512 20000000\n",
      "launch turn grid 1 1 1 block 64 1 1 shared 1024 6=1: {partial+512 y+0 20000000 00000000}\n",
      "launch tile grid 2 1 1 block 32 1 1 shared 0 4=2,1,1 2=1 14=50: map partial+0\n",
      "copy y+64 < partial+512 64\n",
      NULL};
  char folder[] = "/tmp/test_plan_export.XXXXXX";
  struct plan p;
  sample_plan(&p);
  // Names that would break out of strings and comments.
  p.buffers[SAMPLE_X].name = "x";
  p.steps[3].label = "*/ \\\n?\?/\n#error \"escaped\"";
  p.task = "a\\";
  p.workload = "?\?/";
  assert_non_null(mkdtemp(folder));
  export(folder, &p);
  assert_int_equal(run("cd %s && cp %s/tests/unit/support/fake_cuda.c . && "
                       "cc -std=c17 -Wall -Wextra -Wpedantic -Werror -fPIC -shared fake_cuda.c -o libcuda.so && "
                       "cc -std=c17 -Wall -Wextra -Wpedantic -Werror -g sample.c -L. -lcuda -o sample",
                       folder, ASSAY_SOURCE_DIR),
                   0);
  // All of it from another folder: the program finds its files in its own folder.
  assert_int_equal(run("cd / && head -c 128 /dev/zero | tr '\\0' 'A' > %s/x.bin && LD_LIBRARY_PATH=%s %s/sample "
                       "-i 0=%s/x.bin -o 0=%s/y.bin -n 2 > %s/out 2> %s/log",
                       folder, folder, folder, folder, folder, folder, folder),
                   0);
  char *text = read_text(folder, "log");
  check_lines(text, log);
  int launches = 0;
  for (const char *s = text; (s = strstr(s, "launch scale")); s++)
    launches++;
  assert_int_equal(launches, 5);
  base_free(text);
  text = read_text(folder, "out");
  check_lines(text, (const char *const[]){"prepared in 7.00 us", "7.00 us a run: the median of 2", NULL});
  base_free(text);
  // The driver's scale copies x to partial+512; the plan's copy takes 64 bytes of that to the second half of y.
  text = read_text(folder, "y.bin");
  assert_int_equal((unsigned char)text[63], 0xa5);
  for (int i = 64; i < 128; i++)
    assert_int_equal(text[i], 'A');
  base_free(text);
  text = read_text(folder, "README.md");
  check_lines(text, (const char *const[]){"# sample", "cc -std=c17", "    modules", "scale<<<1, 128>>>", NULL});
  base_free(text);
  // Failures have an error message: a file of the wrong size, a call that fails.
  assert_int_not_equal(run("cd %s && LD_LIBRARY_PATH=. ./sample -i 0=log 2> err", folder), 0);
  text = read_text(folder, "err");
  assert_non_null(strstr(text, "128 are needed"));
  base_free(text);
  assert_int_not_equal(run("cd %s && FAKE_CUDA_FAIL=launch LD_LIBRARY_PATH=. ./sample > out 2> err", folder), 0);
  text = read_text(folder, "err");
  assert_non_null(strstr(text, "cuLaunchKernelEx(&c, function, arguments, NULL): CUDA_ERROR_FAKE (on purpose)"));
  base_free(text);
  if (access(stub, R_OK) == 0)
    assert_int_equal(run("cd %s && cc -std=c17 -Wall -Wextra -Werror sample.c %s -o real", folder, stub), 0);
  assert_int_equal(run("rm -r %s", folder), 0);
  plan_release(&p);
}

static void test_refusals(void **state) {
  (void)state;
  struct plan p;
  struct assay_error err = {0};
  sample_plan(&p);
  static const char *const names[] = {"", "../x", "a b", ".hidden", "-o", "a/b", "a\"b"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_int_equal(plan_export(&p, "/tmp", names[i], &err), ASSAY_ERR_USAGE);
  assert_int_equal(plan_export(&p, "/nonexistent/folder", "a", &err), ASSAY_ERR_IO);
  p.device = &plan_device_opencl;
  assert_int_equal(plan_export(&p, "/tmp", "a", &err), ASSAY_ERR_UNSUPPORTED);
  plan_release(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_export), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
