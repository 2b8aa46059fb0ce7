// SPDX-License-Identifier: Apache-2.0
// modules: compute sandbox
// The CUDA backend over a driver that only counts (fake_driver.c): what it allocates and gives back, what it keeps on
// disk, how it launches, and what it says when the driver refuses. Whether kernels compute is for tests/gpu/compute.c.
#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "compute_selftest.h"
#include "compute/code_cache.h"
#include "compute/nvrtc.h"
#include "fake_driver.h"
#include "sandbox/sandbox.h"
#include "skip.h"

static char *folder;
static struct fake_driver *fake, fresh;

// The dynamic linker takes the first library of this name for every later one.
static int load_fake(void **state) {
  (void)state;
  struct assay_error err = {0};
  char command[4096], path[512];
  if (sandbox_folder_make("/tmp", &folder, &err) != ASSAY_OK)
    return -1;
  snprintf(command, sizeof command,
           "cd %s && cp %s/tests/unit/support/fake_driver.[ch] . && I='-w -std=c17 -fPIC -I. -I%s/src -I%s/include' && "
           "gcc $I -DREST -c fake_driver.c -o rest.o && "
           "gcc $I -shared -Wl,-soname,libcuda.so.1 fake_driver.c rest.o -o fake.so",
           folder, ASSAY_SOURCE_DIR, ASSAY_SOURCE_DIR, ASSAY_SOURCE_DIR);
  if (system(command) != 0)
    return -1;
  snprintf(path, sizeof path, "%s/fake.so", folder);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library || !(fake = dlsym(library, "fake_driver"))) {
    print_error("%s\n", dlerror());
    return -1;
  }
  fresh = *fake;
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  sandbox_folder_remove(folder);
  base_free(folder);
  return 0;
}

static int reset(void **state) {
  (void)state;
  *fake = fresh;
  return 0;
}

// Every test gives back what it took.
static int check_given_back(void **state) {
  (void)state;
  bool clean = !fake->contexts && !fake->streams && !fake->modules && !fake->handles && !fake->reservations &&
               !fake->mappings && !fake->used;
  if (!clean)
    print_error("left: %d contexts, %d streams, %d modules, %d handles, %d reservations, %d mappings, %zu bytes\n",
                fake->contexts, fake->streams, fake->modules, fake->handles, fake->reservations, fake->mappings,
                fake->used);
  return clean ? 0 : -1;
}

static void need_nvrtc(void) {
  struct nvrtc *n;
  struct assay_error err = {0};
  if (nvrtc_open(getenv("ASSAY_NVRTC"), &n, &err) != ASSAY_OK) {
    SKIP_BECAUSE("no NVRTC: %s", err.message);
  }
  nvrtc_close(n);
}

static struct compute *open_cuda(const struct compute_options *options) {
  struct assay_error err = {0};
  struct compute *c = NULL;
  struct compute_options o = *options;
  o.nvrtc = o.nvrtc ? o.nvrtc : getenv("ASSAY_NVRTC");
  if (compute_open_cuda(&o, &c, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_true(compute_is_cuda(c));
  return c;
}

// What is free and what is in use is all there is; kept memory is free.
static void check_books(struct compute *c) {
  struct compute_memory m;
  compute_memory(c, &m);
  assert_int_equal(m.available + m.in_use, fake->memory);
}

static void test_memory(void **state) {
  (void)state;
  struct selftest t = {.compute = open_cuda(&(struct compute_options){0})};
  const char *wrong = selftest_memory(&t);
  if (wrong)
    fail_msg("%s", wrong);
  device_ptr a, b, c;
  uint32_t words[4] = {1, 2, 3, 4}, back[4];
  int before = fake->allocations;
  assert_int_equal(compute_alloc(t.compute, 5 << 20, &a, &t.err), ASSAY_OK);
  compute_free(t.compute, a);
  assert_int_equal(compute_alloc(t.compute, (5 << 20) - 100, &b, &t.err), ASSAY_OK);
  assert_int_equal(a, b); // kept
  check_books(t.compute);
  assert_int_equal(fake->allocations, before + 1);
  assert_int_equal(compute_alloc(t.compute, 1 << 20, &c, &t.err), ASSAY_OK);
  assert_int_equal(fake->allocations, before + 2); // 6 MiB for 1 would be a waste
  assert_int_equal(compute_upload(t.compute, b, words, sizeof words, &t.err), ASSAY_OK);
  assert_int_equal(compute_copy(t.compute, c, b, sizeof words, &t.err), ASSAY_OK);
  assert_int_equal(compute_set32(t.compute, c + 4, 9, 2, &t.err), ASSAY_OK);
  assert_int_equal(compute_download(t.compute, back, c, sizeof back, &t.err), ASSAY_OK);
  assert_memory_equal(back, ((const uint32_t[]){1, 9, 9, 4}), sizeof back);
  check_books(t.compute);
  compute_free(t.compute, b);
  compute_free(t.compute, c);
  check_books(t.compute);

  // Kept memory makes room when the device has none left, and counts as available until then.
  struct compute_memory m;
  compute_memory(t.compute, &m);
  assert_true(m.available >= fake->memory - (1 << 20) && m.in_use == 0);
  assert_int_equal(compute_alloc(t.compute, fake->memory, &a, &t.err), ASSAY_OK);
  assert_int_equal(compute_alloc(t.compute, 1000, &b, &t.err), ASSAY_ERR_NOMEM);
  assert_non_null(strstr(t.err.message, "1000 bytes"));
  compute_free(t.compute, a);
  compute_close(t.compute);
}

static void launch_of(struct compute *c, int64_t n, unsigned block, unsigned grid) {
  struct assay_error err = {0};
  uint64_t args[5] = {0xabcdef};
  if (compute_launch(c, &selftest_code, "scale", n, args, sizeof args, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  assert_int_equal(fake->block, block);
  assert_int_equal(fake->grid, grid);
  assert_int_equal(fake->first_word, 0xabcdef);
}

static void test_launch(void **state) {
  (void)state;
  need_nvrtc();
  struct assay_error err = {0};
  struct compute *c = open_cuda(&(struct compute_options){.device = 1});
  uint64_t args[5] = {0};
  assert_int_equal(fake->device, 1);
  launch_of(c, 1, 32, 1);
  launch_of(c, 3200, 32, 100);
  launch_of(c, 25600, 256, 100);
  launch_of(c, 1000001, 256, 3907);
  launch_of(c, (int64_t)256 * INT32_MAX, 256, INT32_MAX);
  int launches = fake->launches;
  assert_int_equal(compute_launch(c, &selftest_code, "scale", 0, args, sizeof args, &err), ASSAY_OK);
  assert_int_equal(fake->launches, launches);
  assert_int_equal(compute_launch(c, &selftest_code, "scale", (int64_t)1 << 40, args, sizeof args, &err),
                   ASSAY_ERR_LIMIT);
  assert_int_equal(compute_launch(c, &selftest_code, "scale", 1, args, 32, &err), ASSAY_ERR_INVALID);
  assert_non_null(strstr(err.message, "40 bytes"));
  assert_int_equal(compute_launch(c, &selftest_code, "nowhere", 1, args, sizeof args, &err), ASSAY_ERR_NOT_FOUND);
  fake->fail_launch = 701;
  assert_int_equal(compute_launch(c, &selftest_code, "scale", 1, args, sizeof args, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "launch scale"));
  fake->fail_sync = 700;
  assert_int_equal(compute_sync(c, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "FAKE_700 (words)"));
  fake->fail_sync = 0;
  compute_close(c);

  fake->max_threads = 100; // a kernel of many registers
  fake->fail_launch = 0;
  c = open_cuda(&(struct compute_options){0});
  launch_of(c, 1 << 20, 64, 1 << 14);
  compute_close(c);
}

// The only entry of the cache.
static void entry_of(const char *cache, char key[HASH_HEX_BYTES]) {
  DIR *d = opendir(cache);
  int n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));)
    if (e->d_name[0] != '.') {
      snprintf(key, HASH_HEX_BYTES, "%.64s", e->d_name);
      n++;
    }
  closedir(d);
  assert_int_equal(n, 1);
}

static void prepare_with(const char *cache) {
  struct assay_error err = {0};
  struct compute *c = open_cuda(&(struct compute_options){.cache_folder = cache});
  if (compute_prepare(c, &selftest_code, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  compute_close(c);
}

static void test_cache(void **state) {
  (void)state;
  need_nvrtc();
  struct assay_error err = {0};
  char cache[512], key[HASH_HEX_BYTES], *data;
  size_t n;
  snprintf(cache, sizeof cache, "%s/cache", folder);
  prepare_with(cache);
  assert_memory_equal(fake->image, "\177ELF", 4);
  entry_of(cache, key);
  // What is kept is what is loaded.
  assert_int_equal(code_cache_write(cache, key, "\177ELFkept", 9, &err), ASSAY_OK);
  prepare_with(cache);
  assert_memory_equal(fake->image, "\177ELFkept", 8);
  // What the driver does not take is made again.
  assert_int_equal(code_cache_write(cache, key, "no code at all", 15, &err), ASSAY_OK);
  prepare_with(cache);
  assert_memory_equal(fake->image, "\177ELF", 4);
  assert_memory_not_equal(fake->image, "\177ELFkept", 8);
  assert_int_equal(code_cache_read(cache, key, &data, &n, &err), ASSAY_OK);
  assert_true(n > 1000);
  base_free(data);
}

static void test_architectures(void **state) {
  (void)state;
  need_nvrtc();
  struct assay_error err = {0};
  struct compute *c;
  static const int cubin[] = {80, 89, 90};
  for (size_t i = 0; i < sizeof cubin / sizeof *cubin; i++) {
    fake->capability = cubin[i];
    prepare_with(NULL);
    assert_memory_equal(fake->image, "\177ELF", 4);
  }
  fake->capability = 990; // 99.0, which nobody makes yet: PTX
  prepare_with(NULL);
  assert_memory_equal(fake->image, "//", 2);
  fake->capability = 20; // 2.0, which nobody compiles for any more
  c = open_cuda(&(struct compute_options){0});
  assert_int_equal(compute_prepare(c, &selftest_code, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "sm_20"));
  compute_close(c);
}

static void test_sharing(void **state) {
  (void)state;
  struct assay_error err = {0};
  device_ptr p = 0;
  struct compute *c = open_cuda(&(struct compute_options){0});
  assert_int_equal(compute_map(c, 5, 2 << 20, &p, &err), ASSAY_OK);
  assert_int_equal(fake->mappings, 1);
  assert_int_equal(fake->handles, 0);
  compute_unmap(c, p, 2 << 20);
  assert_int_equal(fake->mappings, 0);
  assert_int_equal(compute_map(c, 6, 2 << 20, &p, &err), ASSAY_ERR_ENVIRONMENT);
  fake->fail_access = 1;
  assert_int_equal(compute_map(c, 5, 2 << 20, &p, &err), ASSAY_ERR_ENVIRONMENT);
  assert_int_equal(fake->mappings + fake->reservations + fake->handles, 0);
  compute_close(c);
}

static void test_refused(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct compute *c = NULL;
  assert_int_equal(compute_open_cuda(&(struct compute_options){.device = 2}, &c, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "no GPU 2: this machine has 2"));
  c = open_cuda(&(struct compute_options){.nvrtc = "/nowhere/libnvrtc.so"});
  assert_int_equal(compute_prepare(c, &selftest_code, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "/nowhere/libnvrtc.so"));
  compute_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_memory, reset, check_given_back),
      cmocka_unit_test_setup_teardown(test_launch, reset, check_given_back),
      cmocka_unit_test_setup_teardown(test_cache, reset, check_given_back),
      cmocka_unit_test_setup_teardown(test_architectures, reset, check_given_back),
      cmocka_unit_test_setup_teardown(test_sharing, reset, check_given_back),
      cmocka_unit_test_setup_teardown(test_refused, reset, check_given_back),
  };
  return cmocka_run_group_tests(tests, load_fake, remove_folder);
}
