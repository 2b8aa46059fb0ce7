// SPDX-License-Identifier: Apache-2.0
// Memory that judge and runner both hold, in ordinary memory: layout, seals, bands.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/shared.h"

enum { PATTERN = 0x7fc1a5e3 };

static struct shared_memory make(size_t bytes) {
  struct shared_memory m = {.fd = -1};
  struct assay_error err = {0};
  assert_int_equal(shared_create(NULL, bytes, &m, &err), ASSAY_OK);
  return m;
}

static bool intact(struct shared_memory *m, int64_t *distance) {
  bool yes = false;
  struct assay_error err = {0};
  *distance = 12345;
  assert_int_equal(shared_check_bands(m, PATTERN, &yes, distance, &err), ASSAY_OK);
  return yes;
}

static void layout(void **state) {
  (void)state;
  const size_t sizes[] = {1, 3, 255, 256, 257, 3840, 3841, 4096, 100000};
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct shared_memory m = make(sizes[i]);
    assert_int_equal(m.bytes, sizes[i]);
    assert_int_equal(m.map_bytes % page, 0);
    assert_int_equal(m.offset % SHARED_ALIGNMENT, 0);
    assert_true(m.offset >= SHARED_ALIGNMENT);
    assert_true(m.offset + m.bytes <= m.map_bytes);
    assert_true(m.map_bytes - m.offset - m.bytes < SHARED_ALIGNMENT); // no room to hide in after the data
    assert_true(m.offset < page + SHARED_ALIGNMENT);
    shared_release(&m);
    assert_int_equal(m.fd, -1);
  }
}

static void the_other_side_sees_it(void **state) {
  (void)state;
  struct shared_memory m = make(1000);
  struct assay_error err = {0};
  char text[1000], back[1000];
  memset(text, 'x', sizeof text);
  unsigned char *other = mmap(NULL, m.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
  assert_true(other != MAP_FAILED);
  assert_int_equal(shared_write(&m, text, &err), ASSAY_OK);
  assert_memory_equal(other + m.offset, text, sizeof text);
  other[m.offset + 999] = 'y';
  assert_int_equal(shared_read(&m, back, &err), ASSAY_OK);
  assert_memory_equal(back, text, 999);
  assert_int_equal(back[999], 'y');
  assert_int_not_equal(ftruncate(m.fd, 0), 0); // its size is sealed
  assert_int_not_equal(ftruncate(m.fd, (off_t)m.map_bytes * 2), 0);
  munmap(other, m.map_bytes);
  shared_release(&m);
}

static void poison_fills_words_of_the_data(void **state) {
  (void)state;
  const size_t sizes[] = {1, 2, 3, 4, 5, 1023, 1024};
  struct assay_error err = {0};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct shared_memory m = make(sizes[i]);
    uint32_t pattern = PATTERN;
    assert_int_equal(shared_poison(&m, PATTERN, true, &err), ASSAY_OK);
    for (size_t at = 0; at < m.map_bytes; at++)
      assert_int_equal(m.host[at], ((unsigned char *)&pattern)[(at - m.offset) % 4]);
    shared_release(&m);
  }
}

static void poison_can_leave_the_data(void **state) {
  (void)state;
  struct assay_error err = {0};
  for (size_t n = 1; n < 9; n++) {
    struct shared_memory m = make(n);
    unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8];
    int64_t distance;
    assert_int_equal(shared_poison(&m, 0x11223344, true, &err), ASSAY_OK);
    assert_int_equal(shared_write(&m, data, &err), ASSAY_OK);
    assert_false(intact(&m, &distance));
    assert_int_equal(shared_poison(&m, PATTERN, false, &err), ASSAY_OK);
    assert_true(intact(&m, &distance));
    assert_int_equal(shared_read(&m, back, &err), ASSAY_OK);
    assert_memory_equal(back, data, n);
    shared_release(&m);
  }
}

// Damage of one byte, at `at` in the mapping, reports `want`.
static void one_damaged(struct shared_memory *m, size_t at, int64_t want) {
  int64_t distance;
  assert_true(intact(m, &distance));
  assert_int_equal(distance, 0);
  m->host[at] ^= 0x10;
  assert_false(intact(m, &distance));
  assert_int_equal(distance, want);
  m->host[at] ^= 0x10;
}

static void every_band_byte_counts(void **state) {
  (void)state;
  struct assay_error err = {0};
  for (size_t n = 1021; n <= 1024; n++) {
    struct shared_memory m = make(n);
    assert_int_equal(shared_poison(&m, PATTERN, false, &err), ASSAY_OK);
    memset(m.host + m.offset, 0xee, n); // the data itself is not part of a band
    for (size_t at = 0; at < m.offset; at++)
      one_damaged(&m, at, (int64_t)at - (int64_t)m.offset);
    for (size_t at = m.offset + n; at < m.map_bytes; at++)
      one_damaged(&m, at, (int64_t)(at - m.offset - n) + 1);
    shared_release(&m);
  }
}

static void the_nearest_damage_is_named(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct shared_memory m = make(1001);
  int64_t distance;
  assert_int_equal(shared_poison(&m, PATTERN, true, &err), ASSAY_OK);
  m.host[0] ^= 1;
  m.host[m.offset - 7] ^= 1;
  m.host[m.offset + 1001 + 9] ^= 1;
  assert_false(intact(&m, &distance));
  assert_int_equal(distance, -7);
  m.host[m.offset + 1001 + 5] ^= 1;
  assert_false(intact(&m, &distance));
  assert_int_equal(distance, 6);
  shared_release(&m);
}

static void too_much_is_refused(void **state) {
  (void)state;
  struct shared_memory m = {.fd = -7};
  struct assay_error err = {0};
  assert_int_equal(shared_create(NULL, SIZE_MAX / 2, &m, &err), ASSAY_ERR_NOMEM);
  assert_non_null(strstr(err.message, "9223372036854775807"));
  assert_int_equal(shared_create(NULL, (size_t)1 << 61, &m, &err), ASSAY_ERR_NOMEM);
  assert_int_equal(m.fd, -7); // set on success only
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layout),
      cmocka_unit_test(the_other_side_sees_it),
      cmocka_unit_test(poison_fills_words_of_the_data),
      cmocka_unit_test(poison_can_leave_the_data),
      cmocka_unit_test(every_band_byte_counts),
      cmocka_unit_test(the_nearest_damage_is_named),
      cmocka_unit_test(too_much_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
