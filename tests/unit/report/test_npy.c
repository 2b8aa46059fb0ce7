// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// NumPy's files: one written by numpy.save, every type written and read back, and every kind of wrong file.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "oracle/oracle.h"
#include "report/npy.h"

static long fail_at, calls; // the fail_at-th allocation from now on fails; 0: none

void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  calls++;
  return calls == fail_at ? NULL : __real_base_realloc(p, n);
}

// A version 1.0 file with this header (padded to 118 bytes, as NumPy pads) and these bytes after it.
static size_t make_file(const char *header, const void *data, size_t data_bytes, char *file) {
  memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
  memset(file + 10, ' ', 118);
  memcpy(file + 10, header, strlen(header));
  file[127] = '\n';
  memcpy(file + 128, data, data_bytes);
  return 128 + data_bytes;
}

static enum assay_status read_made(const char *header, size_t data_bytes, struct array *out, struct assay_error *err) {
  static const char zeros[256];
  char file[512];
  return npy_read(file, make_file(header, zeros, data_bytes, file), "f.npy", out, err);
}

static void numpys_own_file(void **state) {
  (void)state;
  const float data[6] = {1.5f, -2, 0.25f, 0, 3, 4};
  char file[256];
  size_t len = make_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, sizeof data, file);
  struct array a;
  struct buf again = {0};
  struct assay_error err = {0};
  assert_int_equal(npy_read(file, len, "f.npy", &a, &err), ASSAY_OK);
  assert_int_equal(a.dtype, DTYPE_FLOAT);
  assert_int_equal(a.shape.rank, 2);
  assert_int_equal(a.shape.dims[1], 3);
  for (int i = 0; i < 6; i++)
    assert_true(a.f64[i] == (double)data[i]);
  assert_int_equal(npy_write(&a, DTYPE_FLOAT, &again, &err), ASSAY_OK);
  assert_int_equal(again.len, len); // bytes as NumPy writes them
  assert_memory_equal(again.data, file, len);
  buf_release(&again);
  array_release(&a);
}

// A header's length decides where the elements begin, so they have any alignment (UBSan watches).
static void elements_at_an_odd_place(void **state) {
  (void)state;
  static const struct {
    const char *descr;
    size_t bytes;
  } types[] = {{"<f2", 2}, {"<f4", 4}, {"<f8", 8}, {"<i2", 2}, {"<i4", 4}, {"<i8", 8}};
  for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
    for (size_t pad = 0; pad < 8; pad++) {
      char header[128], file[512] = {0};
      int len = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }%*s",
                         types[k].descr, (int)pad, "");
      memcpy(file, "\x93NUMPY\x01\x00", 8);
      file[8] = (char)len;
      memcpy(file + 10, header, (size_t)len);
      struct array a;
      struct assay_error err = {0};
      assert_int_equal(npy_read(file, 10 + (size_t)len + 3 * types[k].bytes, "f.npy", &a, &err), ASSAY_OK);
      assert_int_equal(shape_count(&a.shape), 3);
      array_release(&a);
    }
}

static void every_type(void **state) {
  (void)state;
  static const enum dtype all[] = {DTYPE_FLOAT16, DTYPE_FLOAT, DTYPE_DOUBLE, DTYPE_BOOL,   DTYPE_INT8,   DTYPE_INT16,
                                   DTYPE_INT32,   DTYPE_INT64, DTYPE_UINT8,  DTYPE_UINT16, DTYPE_UINT32, DTYPE_UINT64};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int rank = 0; rank <= 3; rank++) {
      const int64_t dims[3] = {2, 1, 3};
      struct shape shape = shape_of(rank, dims);
      struct array a, b;
      struct buf file = {0};
      struct assay_error err = {0};
      assert_int_equal(array_create(all[i], &shape, &a, &err), ASSAY_OK);
      for (int64_t k = 0; k < shape_count(&shape); k++)
        if (dtype_is_float(all[i]))
          a.f64[k] = 0.5 * (double)k;
        else
          a.i64[k] = all[i] == DTYPE_BOOL ? k % 2 : k;
      assert_int_equal(npy_write(&a, npy_dtype(all[i]), &file, &err), ASSAY_OK);
      assert_int_equal(file.len % 64, (size_t)shape_count(&shape) * dtype_bytes(all[i]) % 64);
      assert_int_equal(npy_read(file.data, file.len, "f", &b, &err), ASSAY_OK);
      assert_int_equal(b.dtype, all[i]);
      assert_true(shape_equal(&a.shape, &b.shape));
      assert_memory_equal(a.bits, b.bits, (size_t)shape_count(&shape) * sizeof *a.bits);
      buf_release(&file);
      array_release(&a);
      array_release(&b);
    }
  assert_int_equal(npy_dtype(DTYPE_BFLOAT16), DTYPE_FLOAT);
}

static void wrong_files(void **state) {
  (void)state;
  static const struct {
    const char *header;
    size_t data_bytes;
    enum assay_status status;
    const char *says;
  } rows[] = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 20, ASSAY_ERR_SYNTAX, "6 elements need 24 bytes"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8, ASSAY_ERR_UNSUPPORTED, "little-endian"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8, ASSAY_ERR_UNSUPPORTED, "records"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}", 8, ASSAY_ERR_UNSUPPORTED, "ascontiguousarray"},
      {"{'descr': '<f4', 'fortran_order': False}", 8, ASSAY_ERR_SYNTAX, "lacks"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", 8, ASSAY_ERR_SYNTAX, "does not end"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,-3)}", 8, ASSAY_ERR_SYNTAX, "extent"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999,)}", 8, ASSAY_ERR_SYNTAX, "extent"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1048576,1048576,2)}", 8, ASSAY_ERR_LIMIT, ""},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4, ASSAY_ERR_LIMIT, "dimensions"},
      {"{'descr': '<f4', 'order': False, 'shape': (2,)}", 8, ASSAY_ERR_SYNTAX, "'order'"},
      {"(1, 2)", 8, ASSAY_ERR_SYNTAX, "lacks"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), ", 8, ASSAY_ERR_SYNTAX, "dictionary"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct array a;
    struct assay_error err = {0};
    assert_int_equal(read_made(rows[i].header, rows[i].data_bytes, &a, &err), rows[i].status);
    assert_non_null(strstr(err.message, "f.npy: "));
    if (!strstr(err.message, rows[i].says))
      fail_msg("'%s' does not say '%s'", err.message, rows[i].says);
  }
  struct array a;
  struct assay_error err = {0};
  assert_int_equal(npy_read("\x93NUMPY\x04\x00\x00\x00\x00\x00\x00", 13, "f", &a, &err), ASSAY_ERR_UNSUPPORTED);
  assert_int_equal(npy_read("\x93NUMPY\x01\x00\xff\xff{}", 12, "f", &a, &err), ASSAY_ERR_SYNTAX);
  assert_int_equal(npy_read("PK\x03\x04 a zip file", 15, "f", &a, &err), ASSAY_ERR_SYNTAX);
  assert_int_equal(npy_read("", 0, "f", &a, &err), ASSAY_ERR_SYNTAX);
}

static void kinds_do_not_mix(void **state) {
  (void)state;
  double number = 1;
  struct array a = {.dtype = DTYPE_FLOAT, .f64 = &number};
  struct buf file = {0};
  struct assay_error err = {0};
  assert_int_equal(npy_write(&a, DTYPE_INT64, &file, &err), ASSAY_ERR_UNSUPPORTED);
  assert_int_equal(npy_write(&a, DTYPE_BFLOAT16, &file, &err), ASSAY_ERR_UNSUPPORTED);
  buf_release(&file);
}

static void no_memory(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    double numbers[3] = {1, 2, 3};
    struct array a = {.dtype = DTYPE_DOUBLE, .shape = {1, {3}}, .f64 = numbers}, b = {0};
    struct buf file = {0};
    struct assay_error err = {0};
    calls = 0;
    fail_at = n;
    enum assay_status status = npy_write(&a, DTYPE_DOUBLE, &file, &err);
    if (!status)
      status = npy_read(file.data, file.len, "f", &b, &err);
    fail_at = 0;
    array_release(&b);
    buf_release(&file);
    if (calls < n) {
      assert_int_equal(status, ASSAY_OK);
      assert_true(n > 3);
      return;
    }
    assert_int_equal(status, ASSAY_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numpys_own_file), cmocka_unit_test(elements_at_an_odd_place), cmocka_unit_test(every_type),
      cmocka_unit_test(wrong_files),     cmocka_unit_test(kinds_do_not_mix),         cmocka_unit_test(no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
