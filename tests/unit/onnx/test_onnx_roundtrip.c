// SPDX-License-Identifier: Apache-2.0
// What was read is written, in both formats, such that reading it again gives the same model.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "onnx/onnx.h"
#include "onnx_samples.h"

static void must(enum assay_status status, const struct assay_error *err, const char *context) {
  if (status)
    fail_msg("%s: %s", context, err->message);
}

// Text -> model -> text must be a fixed point, and a detour through the binary format must not show.
static void round_trip(const char *text, size_t len, const char *name) {
  struct assay_error err = {0};
  struct model first, second, third;
  struct buf text1, text2, text3, binary1, binary2;
  buf_init(&text1), buf_init(&text2), buf_init(&text3), buf_init(&binary1), buf_init(&binary2);
  must(onnx_parse_text(text, len, name, &first, &err), &err, "first");
  must(onnx_print_text(&first, &text1, &err), &err, "print");
  must(onnx_parse_text(text1.data, text1.len, name, &second, &err), &err, text1.data);
  must(onnx_print_text(&second, &text2, &err), &err, "print");
  assert_string_equal(text1.data, text2.data);
  must(onnx_write_binary(&first, &binary1, &err), &err, "write");
  must(onnx_read_binary(binary1.data, binary1.len, name, &third, &err), &err, "read");
  must(onnx_print_text(&third, &text3, &err), &err, "print");
  must(onnx_write_binary(&third, &binary2, &err), &err, "write");
  // Values are numbered by first mention, which differs between the formats: compare texts of the same origin.
  struct model fourth;
  struct buf text4;
  buf_init(&text4);
  must(onnx_parse_text(text3.data, text3.len, name, &fourth, &err), &err, text3.data);
  must(onnx_print_text(&fourth, &text4, &err), &err, "print");
  assert_string_equal(text3.data, text4.data);
  assert_int_equal(text1.len, text3.len);
  assert_int_equal(binary1.len, binary2.len);
  assert_int_equal(first.flat.n_nodes, third.flat.n_nodes);
  assert_int_equal(first.graph.n_values, fourth.graph.n_values);
  buf_release(&text1), buf_release(&text2), buf_release(&text3), buf_release(&text4);
  buf_release(&binary1), buf_release(&binary2);
  model_release(&first), model_release(&second), model_release(&third), model_release(&fourth);
}

static void test_samples(void **state) {
  (void)state;
  for (size_t i = 0; i < N_ONNX_SAMPLES; i++)
    round_trip(onnx_samples[i], strlen(onnx_samples[i]), "sample");
}

// Bits, not numbers: -0, subnormals and the ends of every type survive the text.
static void test_constants_keep_their_bits(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct model a, b;
  struct buf text;
  buf_init(&text);
  must(onnx_parse_text(onnx_samples[1], strlen(onnx_samples[1]), "a", &a, &err), &err, "a");
  must(onnx_print_text(&a, &text, &err), &err, "print");
  must(onnx_parse_text(text.data, text.len, "b", &b, &err), &err, "b");
  int constants = 0;
  for (int i = 0; i < a.graph.n_values; i++)
    for (int k = 0; k < b.graph.n_values; k++) {
      const struct value *v = &a.graph.values[i], *w = &b.graph.values[k];
      if (!v->constant || strcmp(v->name, w->name) != 0)
        continue;
      assert_int_equal(v->dtype, w->dtype);
      assert_true(shape_equal(&v->constant->type.shape, &w->constant->type.shape));
      assert_memory_equal(v->constant->data, w->constant->data,
                          (size_t)shape_count(&v->constant->type.shape) * dtype_bytes(v->dtype));
      constants++;
    }
  assert_int_equal(constants, 29);
  buf_release(&text);
  model_release(&a), model_release(&b);
}

static void round_trip_folder(const char *folder, int *count) {
  char path[4096];
  DIR *d = opendir(folder);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    struct assay_error err = {0};
    char *text;
    size_t len;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (!strstr(e->d_name, ".onnxtxt"))
      continue;
    must(file_read(path, (size_t)1 << 24, &text, &len, &err), &err, path);
    round_trip(text, len, path);
    base_free(text);
    ++*count;
  }
  closedir(d);
}

static void test_tasks(void **state) {
  (void)state;
  int count = 0;
  round_trip_folder(ASSAY_SOURCE_DIR "/tasks/kernelbench/level1", &count);
  assert_int_equal(count, 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_samples),
      cmocka_unit_test(test_constants_keep_their_bits),
      cmocka_unit_test(test_tasks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
