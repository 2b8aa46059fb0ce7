// SPDX-License-Identifier: Apache-2.0
// A worker that waits for its order: roused, settled, ordered, ended. worker.py's receive_order is at the other end.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "toolchain/lift_worker.h"

// What needs PyTorch and a GPU in worker.py is left out; its receive_order is used as it is.
static const char program[] = "import importlib.util, os, sys\n"
                              "spec = importlib.util.spec_from_file_location('worker', sys.argv[1])\n"
                              "worker = importlib.util.module_from_spec(spec)\n"
                              "spec.loader.exec_module(worker)\n"
                              "def come_up():\n"
                              "    with open('up', 'a') as file:\n"
                              "        file.write('x')\n"
                              "os.chdir(os.path.dirname(sys.argv[0]))\n"
                              "order = worker.receive_order(come_up)[0]\n"
                              "print('ordered', order['candidate'], len(order['workloads']))\n";
#define WORKER ASSAY_SOURCE_DIR "/src/runner/worker.py"

static struct lift_worker *start(void) {
  struct assay_error err;
  struct lift_worker *w;
  char script[4096];
  assert_int_equal(lift_worker_create("/tmp", &w, &err), ASSAY_OK);
  snprintf(script, sizeof script, "%s/waits.py", lift_worker_folder(w));
  assert_int_equal(file_write(script, program, strlen(program), &err), ASSAY_OK);
  char *argv[] = {(char *)"/usr/bin/python3", (char *)"-I", (char *)"-B", script, (char *)WORKER, NULL};
  char *envp[] = {(char *)"LC_ALL=C.UTF-8", NULL};
  const char *const paths[] = {WORKER,
                               ASSAY_SOURCE_DIR "/src/runner/worker_weights.py",
                               ASSAY_SOURCE_DIR "/src/runner/worker_call.py",
                               ASSAY_SOURCE_DIR "/src/runner/worker_error.py",
                               "/usr",
                               NULL};
  const struct lift_command c = {.argv = argv, .envp = envp, .read_paths = paths};
  if (lift_worker_spawn(w, &c, &err))
    fail_msg("%s", err.message);
  return w;
}

static long times_up(const struct lift_worker *w) {
  char path[4096], *text = NULL;
  size_t n = 0;
  struct assay_error ignored;
  snprintf(path, sizeof path, "%s/up", lift_worker_folder(w));
  long times = file_read(path, 100, &text, &n, &ignored) == ASSAY_OK ? (long)n : 0;
  free(text);
  return times;
}

static void order(struct lift_worker *w, const char *expected) {
  struct assay_error err;
  struct buf text = {0}, said;
  struct sandbox_end end;
  buf_init(&said);
  buf_puts(&text, "{\"candidate\": \"a.py\", \"workloads\": []}");
  assert_int_equal(lift_worker_order(w, &text, NULL, 0, &err), ASSAY_OK);
  assert_int_equal(lift_worker_wait(w, NULL, clock_monotonic_ns() + INT64_C(30000000000), &said, &end, &err), ASSAY_OK);
  if (!strstr(buf_str(&said), expected))
    fail_msg("\"%s\" is not \"%s\"", buf_str(&said), expected);
  assert_false(lift_worker_waits(w));
  buf_release(&text);
  buf_release(&said);
}

static void ordered_at_once(void **state) {
  (void)state;
  struct lift_worker *w = start();
  assert_true(lift_worker_waits(w));
  int64_t start_ns = clock_monotonic_ns();
  lift_worker_settle(w, INT64_C(30000000000)); // nothing to wait for
  assert_in_range(clock_monotonic_ns() - start_ns, 0, INT64_C(10000000000));
  order(w, "ordered a.py 0");
  assert_int_equal(times_up(w), 0);
  lift_worker_end(w);
}

static void roused(void **state) {
  (void)state;
  struct lift_worker *w = start();
  lift_worker_rouse(w);
  lift_worker_rouse(w); // once is enough
  lift_worker_settle(w, INT64_C(30000000000));
  assert_int_equal(times_up(w), 1);
  assert_true(lift_worker_waits(w));
  order(w, "ordered a.py 0");
  lift_worker_end(w);
}

// The order may come while it is not up yet.
static void ordered_while_it_comes_up(void **state) {
  (void)state;
  struct lift_worker *w = start();
  lift_worker_rouse(w);
  order(w, "ordered a.py 0");
  assert_int_equal(times_up(w), 1);
  lift_worker_end(w);
}

// A worker that has ended does not wait any more, roused or not.
static void gone(void **state) {
  (void)state;
  for (int is_roused = 0; is_roused < 2; is_roused++) {
    struct lift_worker *w = start();
    struct assay_error err;
    struct buf text;
    struct sandbox_end end;
    buf_init(&text);
    if (is_roused)
      lift_worker_rouse(w);
    assert_int_equal(lift_worker_wait(w, NULL, clock_monotonic_ns() + 1, &text, &end, &err), ASSAY_OK); // killed
    assert_true(end.deadline);
    int64_t start_ns = clock_monotonic_ns();
    lift_worker_settle(w, INT64_C(30000000000));
    assert_in_range(clock_monotonic_ns() - start_ns, 0, INT64_C(10000000000));
    assert_false(lift_worker_waits(w));
    buf_release(&text);
    lift_worker_end(w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ordered_at_once), cmocka_unit_test(roused),
                                     cmocka_unit_test(ordered_while_it_comes_up), cmocka_unit_test(gone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
