// SPDX-License-Identifier: Apache-2.0
// The worker's mapping of the judge's memory of a GPU, against a driver that only remembers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_cuda.h"
#include "runner/serve_cuda.h"

enum { MIB = 1 << 20 };

static CUcontext current;
static size_t granule;
static struct cuda_driver driver;

static enum cu_result get_current(CUcontext *context) {
  *context = current;
  return CUDA_SUCCESS;
}

static enum cu_result set_current(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

static enum cu_result get_device(CUdevice *device, int ordinal) {
  assert_int_equal(ordinal, 0); // CUDA_VISIBLE_DEVICES left one
  *device = 7;
  return CUDA_SUCCESS;
}

static enum cu_result get_granularity(size_t *bytes, const struct cu_mem_allocation_prop *prop,
                                      enum cu_mem_granularity option) {
  (void)option;
  assert_int_equal(prop->location.id, 7);
  *bytes = granule;
  return CUDA_SUCCESS;
}

static int fresh(void **state) {
  (void)state;
  memset(&fake, 0, sizeof fake);
  fake.fail_create = -1;
  fake.next_address = (uint64_t)1 << 40;
  current = (CUcontext)(uintptr_t)5;
  granule = FAKE_GRANULE;
  driver = fake_driver;
  driver.cuCtxGetCurrent = get_current;
  driver.cuCtxSetCurrent = set_current;
  driver.cuDeviceGet = get_device;
  driver.cuMemGetAllocationGranularity = get_granularity;
  return 0;
}

static struct serve_cuda opened(void) {
  struct serve_cuda c;
  struct assay_error err = {0};
  if (serve_cuda_open(&c, &driver, &err))
    fail_msg("%s", err.message);
  return c;
}

static void inputs_can_be_read_and_outputs_written(void **state) {
  (void)state;
  struct serve_cuda c = opened();
  struct serve_mapping in, out;
  char message[100] = "";
  current = (CUcontext)(uintptr_t)9; // the candidate's own doing
  assert_true(serve_cuda_map(&c, 8, 8 * MIB, false, &in, message, sizeof message));
  assert_ptr_equal(current, (void *)(uintptr_t)5);
  assert_true(serve_cuda_map(&c, 2, 2 * MIB, true, &out, message, sizeof message));
  assert_int_equal(in.bytes, 8 * MIB);
  assert_int_equal(in.base, in.reserved + FAKE_GRANULE); // nothing before it, and nothing after it
  assert_int_equal(in.reserved_bytes, 8 * MIB + 2 * FAKE_GRANULE);
  assert_int_equal(fake_find(in.base)->access, CU_MEM_ACCESS_FLAGS_PROT_READ);
  assert_int_equal(fake_find(out.base)->access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  assert_int_equal(fake.handles, 0);
  serve_cuda_unmap(&c, &in);
  serve_cuda_unmap(&c, &out);
  assert_int_equal(in.reserved, 0);
  for (int i = 0; i < fake.n_mappings; i++)
    assert_false(fake.mappings[i].live);
}

static void a_refusal_is_told(void **state) {
  (void)state;
  struct serve_cuda c = opened();
  struct serve_mapping m;
  char message[100] = "";
  assert_false(serve_cuda_map(&c, 2, 4 * MIB, true, &m, message, sizeof message)); // the file has 2 MiB
  assert_non_null(strstr(message, "mapping a buffer of 4194304 bytes: CUDA_ERROR_FAKE"));
  assert_int_equal(fake.handles, 0);
  assert_false(fake.mappings[0].live);
}

static void without_a_context_there_is_nothing_to_map_into(void **state) {
  (void)state;
  struct serve_cuda c;
  struct assay_error err = {0};
  current = NULL;
  assert_int_equal(serve_cuda_open(&c, &driver, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "no context"));
  current = (CUcontext)(uintptr_t)5;
  driver.cuMemMap = NULL;
  assert_int_equal(serve_cuda_open(&c, &driver, &err), ASSAY_ERR_ENVIRONMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(inputs_can_be_read_and_outputs_written, fresh),
      cmocka_unit_test_setup(a_refusal_is_told, fresh),
      cmocka_unit_test_setup(without_a_context_there_is_nothing_to_map_into, fresh),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
