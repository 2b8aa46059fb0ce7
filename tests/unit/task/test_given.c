// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// Weights from a safetensors file: which tensor an input gets, how its values are converted, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "task/given.h"
#include "task/task.h"

// Two weights, w of [3, 2] and b of [2].
static const char TASK[] = "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"t/1/1\", "
                           "\"assay.contract\" : \"fp32\", \"assay.workload.small\" : \"M=4\", "
                           "\"assay.workload.full\" : \"M=5\", \"assay.input.x\" : \"normal(0, 1)\", "
                           "\"assay.input.layer_0_w\" : \"normal(0, 1) static\", "
                           "\"assay.input.layer_0_b\" : \"normal(0, 1) static\"]> "
                           "g (float[M, 3] x, float[3, 2] layer_0_w, float[2] layer_0_b) => (float[M, 2] y) "
                           "{ p = MatMul(x, layer_0_w) y = Add(p, layer_0_b) }";
static const float W[6] = {1, -2, 0.5f, 4, 8, 0.25f}, B[2] = {3, -7};

static char path[64];

static int make_folder(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/assay_given_XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return 0;
}

static void write_file(const char *header, const void *data, size_t bytes) {
  FILE *f = fopen(path, "wb");
  uint64_t n = strlen(header);
  assert_non_null(f);
  for (int i = 0; i < 8; i++)
    fputc((int)(n >> (8 * i) & 0xff), f);
  fwrite(header, 1, n, f);
  fwrite(data, 1, bytes, f);
  assert_int_equal(fclose(f), 0);
}

static void read_task(struct task *t) {
  struct assay_error err = {0};
  if (task_parse(TASK, strlen(TASK), "given", false, t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
}

static enum assay_status take(struct task *t, struct assay_error *err) {
  read_task(t);
  return task_take_weights(t, path, task_workload(t, "small"), err);
}

// Draws the workload's inputs and returns the two weights.
static void draw(const struct task *t, enum probe probe, float w[6], float b[2]) {
  float x[12];
  struct assay_error err = {0};
  void *buffers[] = {x, w, b};
  assert_int_equal(task_make_inputs(t, task_workload(t, "small"), probe, 7, 1, buffers, &err), ASSAY_OK);
}

static void check_taken(const char *header, const void *data, size_t bytes) {
  struct task t;
  struct assay_error err = {0};
  float w[6], b[2];
  write_file(header, data, bytes);
  if (take(&t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  draw(&t, PROBE_DECLARED, w, b);
  assert_memory_equal(w, W, sizeof W);
  assert_memory_equal(b, B, sizeof B);
  draw(&t, PROBE_INTEGERS, w, b);
  assert_true(memcmp(w, W, sizeof W) != 0 && w[0] == (float)(int)w[0]);
  draw(&t, PROBE_OPPOSED, w, b);
  assert_true(memcmp(w, W, sizeof W) != 0); // a file's would not be scaled
  assert_int_equal(strlen(task_weights_hash(&t)), 64);
  char hash[65];
  assert_int_equal(given_hash(path, hash, &err), ASSAY_OK);
  assert_string_equal(hash, task_weights_hash(&t));
  task_release(&t);
}

static void test_taken(void **state) {
  (void)state;
  float floats[8];
  memcpy(floats, W, sizeof W);
  memcpy(floats + 6, B, sizeof B);
  check_taken("{\"layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
              "\"layer.0.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}",
              floats, sizeof floats);
  // Another model's prefix, or none of it, other tensors, and a header of odd length: nothing is aligned.
  check_taken("{\"0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
              "\"model.layer.0.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]},"
              "\"10.w\":{\"dtype\":\"F8_E8M0\",\"shape\":[1],\"data_offsets\":[0,1]}} ",
              floats, sizeof floats);
  // What safetensors.torch.save_model left out as the same as another tensor; a name's own tensor goes before that.
  check_taken("{\"__metadata__\":{\"layer.0.b\":\"table\",\"layer.0.w\":\"table\",\"format\":\"pt\"},"
              "\"layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
              "\"table\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}",
              floats, sizeof floats);
}

static void test_converted(void **state) {
  (void)state;
  enum { BYTES = 6 * 2 + 2 * 8 };
  unsigned char data[BYTES];
  double wide[6], b[2] = {B[0], B[1]};
  for (int i = 0; i < 6; i++)
    wide[i] = W[i];
  memcpy(data + 12, b, sizeof b);
  dtype_from_f64(DTYPE_BFLOAT16, wide, 6, data);
  check_taken("{\"layer.0.w\":{\"dtype\":\"BF16\",\"shape\":[3,2],\"data_offsets\":[0,12]},"
              "\"layer.0.b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[12,28]}}",
              data, BYTES);
  dtype_from_f64(DTYPE_FLOAT16, wide, 6, data);
  check_taken("{\"layer.0.w\":{\"dtype\":\"F16\",\"shape\":[3,2],\"data_offsets\":[0,12]},"
              "\"layer.0.b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[12,28]}}",
              data, BYTES);
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *header, *why;
  } rows[] = {
      {"{\"layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}}",
       "1 of the task's 2 weights have no tensor there: layer_0_b; among those there are is 'layer.0.w'"},
      {"{\"layer.0.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
       "\"tied\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[8,32]}}",
       "'tied' has the shape of layer_0_w: where the two are one"},
      {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
       "2 of the task's 2 weights have no tensor there: layer_0_w, layer_0_b;"},
      {"{\"layer.0.w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
       "\"layer.0.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}",
       "has the shape [2, 3], the input layer_0_w has [3, 2] at the workload small; try --workload full"},
      {"{\"layer.0.w\":{\"dtype\":\"I32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
       "\"layer.0.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}",
       "'layer.0.w' has the type int32, which is not converted to layer_0_w's float"},
      {"{\"layer.0.w\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[0,3]}}", "a type that is not computed with"},
      {"{\"a.layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
       "\"b.layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[8,32]}}",
       "there are the tensors"},
      // One tensor by two names, as tied ones are noted.
      {"{\"a.layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
       "\"__metadata__\":{\"b.layer.0.w\":\"a.layer.0.w\"}}",
       "1 of the task's 2 weights have no tensor there: layer_0_b"},
      {"{\"layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,40]}}", "do not lie within 32 bytes"},
      {"[]", "no JSON object"},
  };
  const char data[32] = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct task t;
    struct assay_error err = {0};
    write_file(rows[i].header, data, sizeof data);
    if (take(&t, &err) == ASSAY_OK || !strstr(err.message, rows[i].why) || !strstr(err.message, path))
      fail_msg("\"%s\" does not say \"%s\"", err.message, rows[i].why);
    assert_null(t.given);
    task_release(&t);
  }
  struct task t;
  struct assay_error err = {0};
  read_task(&t);
  assert_int_equal(task_take_weights(&t, "/nowhere/weights", task_workload(&t, "small"), &err), ASSAY_ERR_NOT_FOUND);
  task_release(&t);
}

// A file that becomes shorter while it is in use is an error: as it is, and where values are converted.
static void test_cut_short(void **state) {
  (void)state;
  static const char *const headers[] = {"{\"layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
                                        "\"layer.0.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}",
                                        "{\"layer.0.w\":{\"dtype\":\"BF16\",\"shape\":[3,2],\"data_offsets\":[0,12]},"
                                        "\"layer.0.b\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[12,28]}}"};
  const char data[32] = {0};
  float x[12], w[6], b[2];
  void *buffers[] = {x, w, b};
  for (int i = 0; i < 2; i++) {
    struct task t;
    struct assay_error err = {0};
    write_file(headers[i], data, i ? 28 : 32);
    assert_int_equal(take(&t, &err), ASSAY_OK);
    draw(&t, PROBE_DECLARED, w, b);
    assert_int_equal(truncate(path, 8), 0);
    assert_int_equal(task_make_inputs(&t, task_workload(&t, "small"), PROBE_DECLARED, 7, 1, buffers, &err),
                     ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, "was cut short while it was in use"));
    assert_non_null(strstr(err.message, path));
    task_release(&t);
  }
}

// Of what is allocated here; the task is read before.
static enum assay_status take_again(void *arg, struct assay_error *err) {
  struct task *t = arg;
  enum assay_status status = task_take_weights(t, path, task_workload(t, "small"), err);
  given_release(t->given);
  t->given = NULL;
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  struct task t;
  const char data[32] = {0};
  write_file("{\"layer.0.w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
             "\"layer.0.b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}",
             data, sizeof data);
  read_task(&t);
  fail_each(take_again, &t, 4);
  task_release(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken), cmocka_unit_test(test_converted),
                                     cmocka_unit_test(test_refused), cmocka_unit_test(test_cut_short),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
