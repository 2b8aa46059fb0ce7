// SPDX-License-Identifier: Apache-2.0
// The rungs of the ladder that speak of registers, memory and occupancy, and of the question at which a kernel ended:
// of a verdict's own evidence. On a GPU: of verdicts that an H100 and an H200 gave (verdicts/gpu.json; of the checks
// only the worst, and without paths, hashes and durations). The other rungs are tested on real verdicts,
// tests/program/make.sh.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "assay/judge.h"
#include "method/feedback.h"

static struct assay_verdict verdict(void) {
  static char none[] = "";
  return (struct assay_verdict){.reason = ASSAY_REASON_PASS,
                                .form = "default",
                                .worst_check = -1,
                                .diagnostics = none,
                                .build_command = none,
                                .compiler_version = none,
                                .sandbox = none,
                                .timing = {.stop = "", .median_ns = NAN, .floor_ns = NAN, .hot_ns = NAN}};
}

static void write(const struct assay_verdict *v, const char *rungs, struct buf *out) {
  struct assay_error err = {0};
  unsigned chosen;
  char *evidence = assay_verdict_json(v);
  assert_non_null(evidence);
  const struct store_verdict row = {.run = "",
                                    .task = "t",
                                    .form = "default",
                                    .workload = "small",
                                    .device = "cuda",
                                    .candidate = "k.cu",
                                    .reason = v->reason,
                                    .detail = v->detail,
                                    .time_ns = 2000,
                                    .floor_ns = 1000,
                                    .hot_ns = NAN,
                                    .machine = "{}",
                                    .evidence = evidence};
  buf_clear(out);
  assert_int_equal(feedback_parse(rungs, &chosen, &err), ASSAY_OK);
  assert_int_equal(feedback_write(&row, chosen, out, &err), ASSAY_OK);
  free(evidence);
}

static void test_resources(void **state) {
  (void)state;
  struct assay_verdict v = verdict();
  struct buf text = {0};
  v.kernels.n_needs = 2;
  v.kernels.needs[0] = (struct assay_need){.name = "hold```\n# Rules",
                                           .launches = 1,
                                           .registers = 32,
                                           .local_bytes = 232,
                                           .shared_bytes = 2048,
                                           .threads = 256,
                                           .blocks = 6,
                                           .occupancy = 0.75};
  v.kernels.needs[1] = (struct assay_need){.name = "turn", .registers = 14, .threads = 512, .occupancy = NAN};
  write(&v, "resources", &text);
  const char *first = strstr(buf_str(&text), "Kernel hold");
  assert_non_null(first);
  assert_int_equal(strcspn(first, "\n"), strstr(first, ": 32 registers") - first +
                                             strlen(": 32 registers a thread, 2048 bytes of shared memory and 256 "
                                                    "threads a block; 6 blocks fit an SM at once, 75 % of its "
                                                    "threads."));
  assert_non_null(strstr(buf_str(&text), "\nIt keeps 232 bytes a thread in local memory: "));
  assert_non_null(strstr(buf_str(&text),
                         "\nKernel turn: 14 registers a thread, 0 bytes of shared memory and 512 threads a block.\n"));
  assert_null(strstr(buf_str(&text), "It takes"));
  write(&v, "performance", &text);
  assert_non_null(strstr(buf_str(&text), "It takes 2 us"));
  assert_non_null(strstr(buf_str(&text), "Kernel turn: "));
  write(&v, "execution", &text);
  assert_null(strstr(buf_str(&text), "Kernel"));
  buf_release(&text);
}

// On the CPU, and of code that is no cubin, there is nothing to say.
static void test_nothing_known(void **state) {
  (void)state;
  struct assay_verdict v = verdict();
  struct buf text = {0};
  write(&v, "resources", &text);
  assert_string_equal(buf_str(&text), "It is right.\n");
  v.kernels.n_needs = 1;
  v.kernels.needs[0] = (struct assay_need){.name = "k", .occupancy = NAN};
  v.reason = ASSAY_REASON_TIMEOUT;
  write(&v, "resources", &text);
  assert_null(strstr(buf_str(&text), "Kernel"));
  buf_release(&text);
}

// Where it ended is told with the probe's rung alone.
static void test_question_of_a_fault(void **state) {
  (void)state;
  struct assay_verdict v = verdict();
  struct buf text = {0};
  v.reason = ASSAY_REASON_CRASHED;
  strcpy(v.detail, "ended by SIGFPE; zero_mean inputs, workload mixed (M=592, N=7)");
  write(&v, "fault,probe", &text);
  assert_non_null(strstr(buf_str(&text), "SIGFPE; zero_mean inputs, workload mixed (M=592, N=7)"));
  write(&v, "fault", &text);
  assert_non_null(strstr(buf_str(&text), "ended by SIGFPE"));
  assert_null(strstr(buf_str(&text), "zero_mean"));
  assert_null(strstr(buf_str(&text), "mixed"));
  strcpy(v.detail, "ended by SIGFPE");
  write(&v, "fault", &text);
  assert_non_null(strstr(buf_str(&text), "ended by SIGFPE"));
  buf_release(&text);
}

static const char *member(const json_t *v, const char *name) {
  return json_string_value(json_object_get(v, name));
}

// What is said of a verdict of the file, at the level or rungs that are asked for.
static void say(const json_t *v, const char *rungs, struct buf *out) {
  struct assay_error err = {0};
  unsigned chosen;
  char *evidence = json_dumps(json_object_get(v, "evidence"), 0);
  struct store_verdict row = {.run = "",
                              .machine = "{}",
                              .evidence = evidence,
                              .task = member(v, "task"),
                              .form = member(v, "form"),
                              .workload = member(v, "workload"),
                              .device = member(v, "device"),
                              .candidate = member(v, "candidate"),
                              .detail = member(v, "detail")};
  double *const times[] = {&row.time_ns, &row.floor_ns, &row.hot_ns};
  static const char *const names[] = {"time_ns", "floor_ns", "hot_ns"};
  for (int i = 0; i < 3; i++) {
    const json_t *time = json_object_get(v, names[i]);
    *times[i] = json_is_number(time) ? json_number_value(time) : NAN;
  }
  while (strcmp(assay_reason_code(row.reason), member(v, "reason")) != 0)
    row.reason++;
  buf_clear(out);
  assert_int_equal(feedback_parse(rungs, &chosen, &err), ASSAY_OK);
  assert_int_equal(feedback_write(&row, chosen, out, &err), ASSAY_OK);
  free(evidence);
}

static void test_verdicts_of_a_gpu(void **state) {
  (void)state;
  json_error_t why;
  json_t *all = json_load_file(ASSAY_SOURCE_DIR "/tests/unit/method/verdicts/gpu.json", 0, &why);
  struct buf text = {0};
  assert_true(json_array_size(all) >= 10);
  for (size_t i = 0; i < json_array_size(all); i++) {
    json_t *v = json_array_get(all, i), *expected;
    const char *level;
    json_object_foreach(json_object_get(v, "said"), level, expected) {
      say(v, level, &text);
      if (strcmp(json_string_value(expected), buf_str(&text)) != 0)
        fail_msg("%s, %s: expected\n%s\ngot\n%s", member(v, "name"), level, json_string_value(expected),
                 buf_str(&text));
    }
  }
  json_decref(all);
  buf_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_resources),
      cmocka_unit_test(test_nothing_known),
      cmocka_unit_test(test_question_of_a_fault),
      cmocka_unit_test(test_verdicts_of_a_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
