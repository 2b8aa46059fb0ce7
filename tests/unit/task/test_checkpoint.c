// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// Weights in several files: which of them a tensor is read from, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "fail_each.h"
#include "task/checkpoint.h"

static const char *const names[] = {"model.safetensors", "model.safetensors.index.json", "one", "two", "archive"};
static char folder[64], path[128];

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/assay_checkpoint_XXXXXX");
  assert_non_null(mkdtemp(folder));
  return 0;
}

static const char *in_folder(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int empty_folder(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    unlink(in_folder(names[i]));
  return 0;
}

static int remove_folder(void **state) {
  empty_folder(state);
  rmdir(folder);
  return 0;
}

static void write_bytes(const char *name, const char *text, size_t bytes) {
  FILE *f = fopen(in_folder(name), "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, bytes, f), bytes);
  assert_int_equal(fclose(f), 0);
}

// A safetensors file of two numbers, each of one byte; names of one letter.
static void write_tensors(const char *name, const char *tensors, const char *values) {
  char text[256];
  const int n = snprintf(text + 8, sizeof text - 8,
                         "{\"%c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                         "\"%c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}%.2s",
                         tensors[0], tensors[1], values);
  for (int i = 0; i < 8; i++)
    text[i] = i == 0 ? (char)(n - 2) : 0;
  write_bytes(name, text, (size_t)n + 8);
}

static void write_index(const char *text) {
  write_bytes("model.safetensors.index.json", text, strlen(text));
}

static const char INDEX[] =
    "{\"metadata\":{\"total_size\":4},\"weight_map\":{\"b\":\"two\",\"a\":\"one\",\"c\":\"two\"}}";

// Each tensor's name and value, in the order of the files.
static void check_read(const char *of, const char *expected) {
  struct checkpoint c;
  struct assay_error err = {0};
  char read[16] = "";
  if (checkpoint_open(of, &c, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_true(c.of_all.n <= 7);
  for (int i = 0; i < c.of_all.n; i++) {
    read[2 * i] = c.of_all.tensors[i].name[0];
    assert_int_equal(checkpoint_read(&c, &c.of_all.tensors[i], 0, &read[2 * i + 1], 1, &err), ASSAY_OK);
  }
  assert_string_equal(read, expected);
  checkpoint_close(&c);
}

// "a" is in both files and "d" in neither's place: the index decides.
static void test_read(void **state) {
  (void)state;
  write_tensors("one", "ad", "14");
  write_tensors("two", "bc", "23");
  write_index(INDEX);
  check_read(folder, "b2c3a1");
  check_read(in_folder("model.safetensors.index.json"), "b2c3a1");
  check_read(in_folder("one"), "a1d4");
  write_index("{\"weight_map\":{\"a\":\"two\",\"d\":\"one\"}}");
  write_tensors("two", "ab", "56");
  check_read(folder, "a5d4");
  write_tensors("model.safetensors", "xy", "78"); // goes before an index
  check_read(folder, "x7y8");
}

static void hash_of(const char *of, char hex[HASH_HEX_BYTES]) {
  struct checkpoint c;
  struct assay_error err = {0};
  assert_int_equal(checkpoint_open(of, &c, &err), ASSAY_OK);
  assert_int_equal(checkpoint_hash(&c, hex, &err), ASSAY_OK);
  checkpoint_close(&c);
}

// A byte of any file makes another hash; one file has its own.
static void test_hash(void **state) {
  (void)state;
  char first[HASH_HEX_BYTES], again[HASH_HEX_BYTES];
  write_tensors("one", "ad", "14");
  write_tensors("two", "bc", "23");
  write_index(INDEX);
  hash_of(folder, first);
  hash_of(folder, again);
  assert_string_equal(first, again);
  write_tensors("two", "bc", "24");
  hash_of(folder, again);
  assert_string_not_equal(first, again);
  write_tensors("two", "bc", "23");
  write_index("{\"weight_map\":{\"b\":\"two\",\"a\":\"one\"}}");
  hash_of(folder, again);
  assert_string_not_equal(first, again);
  char bytes[256];
  FILE *f = fopen(in_folder("one"), "rb");
  assert_non_null(f);
  hash_sha256_hex(bytes, fread(bytes, 1, sizeof bytes, f), first);
  fclose(f);
  hash_of(in_folder("one"), again);
  assert_string_equal(first, again);
}

static void check_refused(const char *of, enum assay_status status, const char *why) {
  struct checkpoint c;
  struct assay_error err = {0};
  assert_int_equal(checkpoint_open(of, &c, &err), status);
  if (!strstr(err.message, why) || !strstr(err.message, folder))
    fail_msg("\"%s\" does not say \"%s\"", err.message, why);
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *index, *why;
    enum assay_status status;
  } rows[] = {
      {"{\"weight_map\":{\"a\":\"one\",\"b\":\"one\"}}", "the tensor 'b' is not in one, where the index has it",
       ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":{\"a\":\"three\"}}", "three, which", ASSAY_ERR_NOT_FOUND},
      {"{\"weight_map\":{\"a\":\"../one\"}}", "'a' has no name of a file next to the index", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "'a' has no name of a file next to the index", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":{\"a\":\"..\"}}", "'a' has no name of a file next to the index", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":{\"a\":7}}", "'a' has no name of a file next to the index", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":{}}", "it has no weight_map", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":[\"one\"]}", "it has no weight_map", ASSAY_ERR_SYNTAX},
      {"{\"model_type\":\"gpt2\"}", "it has no weight_map", ASSAY_ERR_SYNTAX},
      {"[]", "it has no weight_map", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":", "it has no weight_map", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":{\"a\":\"one\",\"a\":\"two\"}}", "duplicate", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":{\"a\":\"archive\"}}", "a file of torch.save", ASSAY_ERR_SYNTAX},
      {"{\"weight_map\":{\"a\":\"two\"}}", "cut short", ASSAY_ERR_SYNTAX},
  };
  empty_folder(NULL);
  check_refused(folder, ASSAY_ERR_NOT_FOUND, "has no model.safetensors and no model.safetensors.index.json");
  write_tensors("one", "ad", "14");
  write_bytes("two", "short", 5);
  write_bytes("archive", "PK\3\4 and so on", 12);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    write_index(rows[i].index);
    check_refused(folder, rows[i].status, rows[i].why);
  }
  check_refused(in_folder("archive"), ASSAY_ERR_SYNTAX, "a file of torch.save");
}

static enum assay_status open_again(void *arg, struct assay_error *err) {
  (void)arg;
  struct checkpoint c;
  char hex[HASH_HEX_BYTES];
  enum assay_status status = checkpoint_open(folder, &c, err);
  if (status)
    return status;
  status = checkpoint_hash(&c, hex, err);
  checkpoint_close(&c);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  write_tensors("one", "ad", "14");
  write_tensors("two", "bc", "23");
  write_index(INDEX);
  fail_each(open_again, NULL, 8);
}

// More files than a process may have open: each tensor is read, and one file that took another's place is seen.
static void test_many(void **state) {
  (void)state;
  enum { FILES = 1500, OPEN = 256, DIGITS = 10 };
  struct buf index = {0};
  struct rlimit before;
  struct checkpoint c;
  struct assay_error err = {0};
  char name[32];
  buf_puts(&index, "{\"weight_map\":{");
  for (int i = 0; i < FILES; i++) {
    char text[128];
    const int n = snprintf(text + 8, sizeof text - 8,
                           "{\"%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}%c", i, '0' + i % DIGITS);
    for (int k = 0; k < 8; k++)
      text[k] = k == 0 ? (char)(n - 1) : 0;
    snprintf(name, sizeof name, "shard%d", i);
    write_bytes(name, text, (size_t)n + 8);
    buf_printf(&index, "%s\"%d\":\"%s\"", i ? "," : "", i, name);
  }
  buf_puts(&index, "}}");
  write_index(buf_str(&index));
  buf_release(&index);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){OPEN, before.rlim_max}), 0);
  char hex[HASH_HEX_BYTES], value;
  if (checkpoint_open(folder, &c, &err) != ASSAY_OK || checkpoint_hash(&c, hex, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_int_equal(c.of_all.n, FILES);
  for (int i = 0; i < FILES; i++) {
    assert_int_equal(checkpoint_read(&c, &c.of_all.tensors[i], 0, &value, 1, &err), ASSAY_OK);
    assert_int_equal(value, '0' + atoi(c.of_all.tensors[i].name) % DIGITS);
  }
  snprintf(name, sizeof name, "shard%d", FILES - 1);
  write_bytes("two", "0123456789", 10);
  char other[sizeof path];
  memcpy(other, in_folder("two"), sizeof other);
  assert_int_equal(rename(other, in_folder(name)), 0);
  assert_int_equal(checkpoint_hash(&c, hex, &err), ASSAY_ERR_IO);
  assert_non_null(strstr(err.message, "shard1499: another file of weights took its place"));
  checkpoint_close(&c);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (int i = 0; i < FILES; i++) {
    snprintf(name, sizeof name, "shard%d", i);
    unlink(in_folder(name));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_read, empty_folder),
                                     cmocka_unit_test_teardown(test_hash, empty_folder), cmocka_unit_test(test_refused),
                                     cmocka_unit_test_teardown(test_no_memory, empty_folder),
                                     cmocka_unit_test_teardown(test_many, empty_folder)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
