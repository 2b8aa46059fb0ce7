// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// modules: compute sandbox
// The host backend of compute/compute.h: everything that a backend must do, its cache, and what it says when it fails.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "compute_selftest.h"
#include "compute/code_cache.h"
#include "sandbox/sandbox.h"

static int fail_at = -1, allocations;

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  // No test needs as much as this; some ask for it to see it refused.
  return allocations++ == fail_at || n > (size_t)1 << 50 ? NULL : __real_base_realloc(p, n);
}

static struct compute *open_host(const struct compute_options *o) {
  struct assay_error err = {0};
  struct compute *c = NULL;
  if (compute_open_host(o, &c, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return c;
}

static void test_selftest(void **state) {
  (void)state;
  struct selftest t = {.compute = open_host(&(struct compute_options){.compiler = "gcc", .threads = 3})};
  for (int i = 0; i < SELFTEST_CHECKS; i++) {
    const char *wrong = selftest_checks[i].run(&t);
    if (wrong)
      fail_msg("%s: %s", selftest_checks[i].name, wrong);
  }
  assert_false(compute_is_cuda(t.compute));
  compute_close(t.compute);
}

static void test_poison(void **state) {
  (void)state;
  struct compute *c = open_host(&(struct compute_options){.compiler = "gcc", .threads = 1});
  struct assay_error err = {0};
  device_ptr p;
  unsigned char bytes[100];
  assert_int_equal(compute_alloc(c, sizeof bytes, &p, &err), ASSAY_OK);
  assert_int_equal(compute_download(c, bytes, p, sizeof bytes, &err), ASSAY_OK);
  for (size_t i = 0; i < sizeof bytes; i++)
    assert_int_equal(bytes[i], 0xA5);
  compute_free(c, p);
  assert_int_equal(compute_map(c, 0, 4096, &p, &err), ASSAY_ERR_UNSUPPORTED);
  compute_close(c);
}

// The only file in a folder.
static void only_file(const char *folder, char *path, size_t bytes) {
  DIR *d = opendir(folder);
  int n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));)
    if (e->d_name[0] != '.') {
      snprintf(path, bytes, "%s/%s", folder, e->d_name);
      n++;
    }
  closedir(d);
  assert_int_equal(n, 1);
}

static const char *run_scale(const struct compute_options *o) {
  static struct selftest t;
  t = (struct selftest){.compute = open_host(o)};
  const char *wrong = selftest_scale(&t);
  compute_close(t.compute);
  return wrong;
}

static void test_cache(void **state) {
  (void)state;
  struct assay_error err = {0};
  char *base, folder[512], path[1024], *data;
  size_t n;
  assert_int_equal(sandbox_folder_make("/tmp", &base, &err), ASSAY_OK);
  snprintf(folder, sizeof folder, "%s/made/here", base);
  struct compute_options o = {.compiler = "gcc", .cache_folder = folder, .threads = 1};
  assert_null(run_scale(&o));
  only_file(folder, path, sizeof path);
  assert_int_equal(file_read(path, 1 << 24, &data, &n, &err), ASSAY_OK);

  // A hit needs no compiler: with the entry there, one that cannot run is never asked.
  char key[HASH_HEX_BYTES], *stored;
  size_t stored_n;
  snprintf(key, sizeof key, "%s", strrchr(path, '/') + 1);
  assert_int_equal(code_cache_read(folder, key, &stored, &stored_n, &err), ASSAY_OK);
  assert_int_equal(stored_n, n - HASH_HEX_BYTES);
  base_free(stored);

  // Damage in the middle, a cut end, nothing at all: made again each time, and sound afterwards.
  for (int damage = 0; damage < 3; damage++) {
    char *bad = base_alloc(n);
    memcpy(bad, data, n);
    bad[n / 2] ^= 1;
    assert_int_equal(file_write(path, bad, damage == 0 ? n : damage == 1 ? n - 9 : 0, &err), ASSAY_OK);
    base_free(bad);
    assert_int_equal(code_cache_read(folder, key, &stored, &stored_n, &err), ASSAY_ERR_NOT_FOUND);
    assert_null(run_scale(&o));
    assert_int_equal(code_cache_read(folder, key, &stored, &stored_n, &err), ASSAY_OK);
    base_free(stored);
  }
  base_free(data);
  sandbox_folder_remove(base);
  base_free(base);
}

static void test_cached_code_is_used(void **state) {
  (void)state;
  struct assay_error err = {0};
  char *folder, script[512], log[512], *data;
  size_t n;
  assert_int_equal(sandbox_folder_make("/tmp", &folder, &err), ASSAY_OK);
  // A compiler that notes every call.
  snprintf(script, sizeof script, "%s/cc.sh", folder);
  snprintf(log, sizeof log, "%s/calls", folder);
  char text[2048], cache[512];
  int len = snprintf(text, sizeof text, "#!/bin/sh\necho call >> %s\nexec gcc \"$@\"\n", log);
  assert_int_equal(file_write(script, text, (size_t)len, &err), ASSAY_OK);
  assert_int_equal(chmod(script, 0700), 0);
  snprintf(cache, sizeof cache, "%s/cache", folder);
  struct compute_options o = {.compiler = script, .cache_folder = cache, .threads = 1};
  assert_null(run_scale(&o));
  assert_null(run_scale(&o));
  assert_int_equal(file_read(log, 4096, &data, &n, &err), ASSAY_OK);
  assert_string_equal(data, "call\n");
  base_free(data);
  sandbox_folder_remove(folder);
  base_free(folder);
}

static void test_failures(void **state) {
  (void)state;
  struct assay_error err = {0};
  static const char *const wrong_texts[] = {"KERNEL(wrong, struct nothing) { this is no C }\n", NULL};
  static const struct device_code wrong = {"wrong-code", wrong_texts, false};
  struct compute *c = open_host(&(struct compute_options){.compiler = "gcc"});
  assert_int_equal(compute_prepare(c, &wrong, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "wrong-code"));
  assert_non_null(strstr(err.message, "error"));
  compute_close(c);
  c = open_host(&(struct compute_options){.compiler = "no-such-compiler"});
  assert_int_equal(compute_prepare(c, &selftest_code, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "no-such-compiler"));
  compute_close(c);
}

// Every allocation fails once; nothing leaks or crashes, and the message says so.
static void test_memory_fails(void **state) {
  (void)state;
  for (int at = 0; at < 200; at++) {
    struct assay_error err = {0};
    struct compute *c = NULL;
    device_ptr p = 0;
    allocations = 0;
    fail_at = at;
    enum assay_status status = compute_open_host(&(struct compute_options){.compiler = "gcc"}, &c, &err);
    if (!status)
      status = compute_alloc(c, 1000, &p, &err);
    if (!status)
      status = compute_prepare(c, &selftest_code, &err);
    bool reached = allocations > at;
    fail_at = -1;
    compute_close(c);
    if (!reached) {
      assert_int_equal(status, ASSAY_OK);
      assert_true(at > 5);
      return;
    }
    assert_int_equal(status, ASSAY_ERR_NOMEM);
  }
  fail_msg("the loop over allocations never ended");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_selftest), cmocka_unit_test(test_poison),
      cmocka_unit_test(test_cache),    cmocka_unit_test(test_cached_code_is_used),
      cmocka_unit_test(test_failures), cmocka_unit_test(test_memory_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
