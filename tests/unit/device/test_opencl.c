// SPDX-License-Identifier: Apache-2.0
// The OpenCL device itself, without a process around it: steps of every kind, places, modes, and refusals.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "device/opencl_api.h"
#include "device/shared.h"
#include "plan_draft.h"

enum { N = 777, F32 = sizeof(float), PATTERN = 0x7fc0dead };

static const char kernels[] =
    "__kernel void scale(__global const float *x, __global const float *w, float a, __global float *z, int n) {\n"
    "  int i = get_global_id(0);\n"
    "  if (i < n) z[i] = a * x[i] * w[i];\n"
    "}\n"
    "__kernel void add(__global const float *x, __global float *z, int n) {\n"
    "  int i = get_global_id(0);\n"
    "  if (i < n) z[i] += x[i];\n"
    "}\n"
    "__kernel void null(__global const float *x, __global float *z) { z[0] = x == 0 ? 1 : 2; }\n"
    "__kernel void pixels(read_only image2d_t x, __global float *z) { z[0] = get_image_width(x); }\n"
    "__kernel void sampled(__global float *z, sampler_t s) { z[0] = 1; }\n"
    "typedef sampler_t filter;\n"
    "__kernel void filtered(__global float *z, const filter s) { z[0] = 1; }\n"
    "typedef struct { float x[9]; } many;\n"
    "typedef ulong whole;\n"
    "__kernel void values(__global float *z, many m, whole n, float3 f) { z[0] = 1; }\n"
    "__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void eight(__global float *z) { z[0] = 1; }\n"
    "__kernel void three(__global float *z) {\n"
    "  z[get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2))] =\n"
    "    100 * get_group_id(2) + 10 * get_local_id(1) + get_group_id(0);\n"
    "}\n";

struct desk {
  struct device *device;
  struct shared_memory in, out;
  struct draft d;
  struct device_report report;
  struct assay_error err;
  float x[N], z[N];
};

static int setup(void **state) {
  static struct desk k;
  k = (struct desk){0};
  if (device_opencl.open(&(struct device_options){0}, &k.device, &k.err))
    return -1;
  for (int i = 0; i < 2; i++)
    assert_int_equal(shared_create(NULL, N * F32, i ? &k.out : &k.in, &k.err), ASSAY_OK);
  for (int i = 0; i < N; i++)
    k.x[i] = (float)(i % 31) - 7;
  draft_init(&k.d, kernels, "");
  draft_buffer(&k.d, PLAN_INPUT, "x", N, NULL);
  draft_buffer(&k.d, PLAN_OUTPUT, "z", N, NULL);
  *state = &k;
  return 0;
}

static int teardown(void **state) {
  struct desk *k = *state;
  device_opencl.close(k->device);
  shared_release(&k->in);
  shared_release(&k->out);
  return 0;
}

static struct device_buffer buffer_of(const struct shared_memory *m, bool writable) {
  return (struct device_buffer){
      .fd = m->fd, .map_bytes = m->map_bytes, .offset = m->offset, .bytes = m->bytes, .writable = writable};
}

static void load(struct desk *k) {
  struct device_buffer in = buffer_of(&k->in, false), out = buffer_of(&k->out, true);
  const struct device_work work = {&k->d.plan, 1, 1, &in, &out};
  if (device_opencl.load(k->device, &work, &k->report, &k->err))
    fail_msg("%s", k->err.message);
}

static void expect_ok(const struct desk *k) {
  if (k->report.event != DEVICE_OK)
    fail_msg("%s: %s", device_event_name(k->report.event), k->report.detail);
}

static void call(struct desk *k, enum device_mode mode) {
  assert_int_equal(shared_write(&k->in, k->x, &k->err), ASSAY_OK);
  assert_int_equal(shared_poison(&k->out, PATTERN, true, &k->err), ASSAY_OK);
  if (device_opencl.call(k->device, mode, &k->report, &k->err))
    fail_msg("%s", k->err.message);
  expect_ok(k);
  assert_int_equal(shared_read(&k->out, k->z, &k->err), ASSAY_OK);
}

// Weights are prepared by the first steps, then fills, copies and launches with places at odd offsets.
static void test_steps(void **state) {
  struct desk *k = *state;
  float ones[N];
  for (int i = 0; i < N; i++)
    ones[i] = (float)i;
  int w = draft_buffer(&k->d, PLAN_CONSTANT, "w", N, ones), s = draft_buffer(&k->d, PLAN_SCRATCH, "s", N, NULL);
  draft_copy(&k->d, s, 0, w, 0, N * F32);
  k->d.plan.n_prepare = 1;
  draft_launch(&k->d, "scale", 4, 256, "bbfbi", 0, s, 2.0, 1, N);
  draft_launch(&k->d, "add", 1, 3, "ooi", 0, 5 * F32, 1, 9 * F32, 3); // z[9..11] += x[5..7]
  draft_fill(&k->d, 1, 20 * F32, 2 * F32, 0x3f800000, 4);             // 1.0f
  draft_fill(&k->d, 1, 30 * F32 + 1, 3, 0, 1);
  draft_fill(&k->d, 1, 40 * F32 + 2, 2, 0xc000, 2);
  draft_copy(&k->d, 1, 50 * F32 + 4, 0, 8, 12); // z[51..53] = x[2..4]
  load(k);
  expect_ok(k);
  call(k, DEVICE_PREPARE);
  assert_true(k->report.times.prepare_ns > 0);
  for (int mode = DEVICE_COLD; mode <= DEVICE_AS_CALLED; mode++) {
    call(k, (enum device_mode)mode);
    assert_true(k->report.times.prepare_ns == 0 && k->report.times.called_ns > 0);
    assert_int_equal(mode != DEVICE_AS_CALLED, k->report.times.device_ns > 0);
    for (int i = 0; i < N; i++) {
      float want = 2 * k->x[i] * (float)i;
      if (i >= 9 && i < 12)
        want += k->x[i - 4];
      if (i == 20 || i == 21)
        want = 1;
      uint32_t bits;
      memcpy(&bits, &want, sizeof bits);
      bits = i == 30 ? bits & 0xff : i == 40 ? (bits & 0xffff) | 0xc0000000 : bits;
      memcpy(&want, &bits, sizeof bits);
      if (i >= 51 && i < 54)
        want = k->x[i - 49];
      if (memcmp(&want, &k->z[i], sizeof want) != 0)
        fail_msg("mode %d: element %d is %g, not %g", mode, i, (double)k->z[i], (double)want);
    }
  }
}

static void test_three_dimensions(void **state) {
  struct desk *k = *state;
  draft_launch(&k->d, "three", 3, 2, "b", 1);
  k->d.steps[0].grid[2] = 2;
  k->d.steps[0].block[1] = 4;
  load(k);
  expect_ok(k);
  call(k, DEVICE_COLD);
  for (int c = 0; c < 2; c++)
    for (int b = 0; b < 4; b++)
      for (int a = 0; a < 6; a++)
        assert_true(k->z[a + 6 * (b + 4 * c)] == (float)(100 * c + 10 * b + a / 2));
}

// Scratch holds something else at every call, so that nothing can be kept in it.
static void test_garbage(void **state) {
  struct desk *k = *state;
  float before[N];
  int s = draft_buffer(&k->d, PLAN_SCRATCH, "s", N, NULL);
  draft_copy(&k->d, 1, 0, s, 0, N * F32);
  draft_fill(&k->d, s, 0, N * F32, 0, 4);
  load(k);
  call(k, DEVICE_COLD);
  memcpy(before, k->z, sizeof before);
  call(k, DEVICE_COLD);
  int same = 0, zero = 0;
  for (int i = 0; i < N; i++) {
    same += memcmp(&before[i], &k->z[i], F32) == 0;
    zero += k->z[i] == 0;
  }
  assert_true(same < 3 && zero < 20);
}

// Of three calls one finds numbers from 1 to 2 there, and one large ones: what could be taken for a sum, and what not.
static void test_garbage_kinds(void **state) {
  struct desk *k = *state;
  int ordinary = 0, large = 0;
  int s = draft_buffer(&k->d, PLAN_SCRATCH, "s", N, NULL);
  draft_copy(&k->d, 1, 0, s, 0, N * F32);
  load(k);
  for (int i = 0; i < 3; i++) {
    int n_ordinary = 0, n_large = 0;
    call(k, DEVICE_COLD);
    for (int j = 0; j < N; j++) {
      n_ordinary += k->z[j] >= 1 && k->z[j] < 2;
      n_large += k->z[j] <= -1e29f && k->z[j] >= -2e30f;
    }
    ordinary += n_ordinary == N;
    large += n_large == N;
  }
  assert_int_equal(ordinary, 1);
  assert_int_equal(large, 1);
}

// One process may load one plan after the other.
static void test_loads_again(void **state) {
  struct desk *k = *state;
  for (int i = 0; i < 3; i++) {
    k->d.plan.n_steps = 0;
    draft_fill(&k->d, 1, 0, N * F32, 0, 4);
    for (int n = 0; n <= i; n++)
      draft_launch(&k->d, "add", 4, 256, "bbi", 0, 1, N);
    load(k);
    expect_ok(k);
    call(k, DEVICE_HOT);
    assert_true(k->z[N - 1] == (float)(i + 1) * k->x[N - 1]);
    device_opencl.unload(k->device);
  }
}

static void test_null_pointer(void **state) {
  struct desk *k = *state;
  draft_launch(&k->d, "null", 1, 1, "bb", 0, 1);
  k->d.arguments[0][0].n_pointers = 0; // eight bytes of zero: no buffer
  load(k);
  expect_ok(k);
  call(k, DEVICE_COLD);
  assert_true(k->z[0] == 1);
}

static void refused(struct desk *k, const char *words) {
  load(k);
  if (k->report.event != DEVICE_LOAD_FAILED || !strstr(k->report.detail, words))
    fail_msg("%s: %s, not \"%s\"", device_event_name(k->report.event), k->report.detail, words);
  k->d.plan.n_steps = 0;
}

// A driver that takes nothing for any value, and says of parameters what `asked_type` is.
static const char *asked_type;
static int asked;

static cl_int tell_info(cl_kernel kernel, cl_uint index, cl_uint what, size_t size, void *to, size_t *needed) {
  (void)kernel, (void)index, (void)needed;
  if (what == CL_KERNEL_ARG_TYPE_NAME)
    snprintf(to, size, "%s", asked_type);
  else if (what == CL_KERNEL_ARG_ADDRESS_QUALIFIER)
    *(cl_uint *)to = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  else
    *(cl_uint *)to = 0; // of no access
  return CL_SUCCESS;
}

static cl_int take_anything(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  (void)kernel, (void)index, (void)size, (void)value;
  asked++;
  return CL_SUCCESS;
}

static void test_lax_driver(void **state) {
  (void)state;
  static const char *const values[] = {"int", "uint", "float4", "uchar16", "half", "size_t", "unsigned int", "long3"},
                           *const others[] = {"filter", "float5", "int44", "half2", "bool2", "size_t2", "many", ""};
  const struct opencl_api api = {.GetKernelArgInfo = tell_info, .SetKernelArg = take_anything};
  char type[64];
  asked = 0;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    asked_type = values[i];
    assert_false(opencl_takes_object(&api, NULL, 0, type, sizeof type));
  }
  assert_int_equal(asked, 0);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    asked_type = others[i];
    assert_true(opencl_takes_object(&api, NULL, 0, type, sizeof type));
  }
}

static void test_refusals(void **state) {
  struct desk *k = *state;
  draft_launch(&k->d, "absent", 1, 1, "");
  refused(k, "absent: CL_INVALID_KERNEL_NAME");
  draft_launch(&k->d, "add", 1, 1, "bb", 0, 1);
  refused(k, "step 0: kernel add has 3 parameters, not 2");
  draft_launch(&k->d, "add", 1, 1, "bii", 0, 1, 1);
  refused(k, "parameter 1 of kernel add takes a buffer");
  draft_launch(&k->d, "add", 1, 1, "bbb", 0, 1, 1);
  refused(k, "parameter 2 of kernel add takes a value");
  draft_launch(&k->d, "add", 1, 1, "bli", 0, 64, 1);
  refused(k, "parameter 1 of kernel add takes a buffer");
  // A made-up address must never be taken for an object of the driver's.
  draft_launch(&k->d, "null", 1, 1, "bb", 0, 1);
  k->d.arguments[0][0].n_pointers = 0;
  k->d.bytes[0][0][3] = 0x7f;
  refused(k, "parameter 0 of kernel null takes a buffer");
  draft_launch(&k->d, "pixels", 1, 1, "bb", 0, 1);
  refused(k, "parameter 0 of kernel pixels takes an image");
  draft_launch(&k->d, "sampled", 1, 1, "bi", 1, 8);
  refused(k, "parameter 1 of kernel sampled takes an image, a sampler");
  draft_launch(&k->d, "filtered", 1, 1, "bi", 1, 8);
  refused(k, "parameter 1 of kernel filtered takes an image, a sampler");
  draft_launch(&k->d, "values", 1, 1, "biib", 1, 36, 8, 0); // the first of them that does not fit
  refused(k, "parameter 3 of kernel values takes a value");
  draft_launch(&k->d, "eight", 1, 4, "b", 1);
  refused(k, "step 0: kernel eight has reqd_work_group_size(8, 1, 1), and block is 4,1,1");
  draft_launch(&k->d, "null", 1, 1, "bb", 0, 1);
  k->d.steps[0].cooperative = true;
  refused(k, "cooperative");
  draft_fill(&k->d, 1, 0, 4, 0, 4);
  k->d.steps[0].kind = PLAN_SET_SYMBOL;
  refused(k, "variables");
  draft_fill(&k->d, 1, 0, 4, 0, 4);
  k->d.module.code = PLAN_PTX;
  refused(k, "OpenCL C only");
}

// A value of the wrong size is found when the step is queued.
static void test_refused_launch(void **state) {
  struct desk *k = *state;
  draft_launch(&k->d, "add", 1, 4, "bbi", 0, 1, N);
  k->d.arguments[0][2].size = 8;
  load(k);
  expect_ok(k);
  assert_int_equal(device_opencl.call(k->device, DEVICE_COLD, &k->report, &k->err), ASSAY_OK);
  if (k->report.event != DEVICE_LAUNCH_FAILED || strcmp(k->report.detail, "step 0, add: CL_INVALID_ARG_SIZE") != 0)
    fail_msg("%s: %s", device_event_name(k->report.event), k->report.detail);
}

static void test_no_such_device(void **state) {
  struct device *d = NULL;
  struct assay_error err = {0};
  (void)state;
  assert_int_equal(device_opencl.open(&(struct device_options){.index = 999}, &d, &err), ASSAY_ERR_ENVIRONMENT);
  assert_non_null(strstr(err.message, "no OpenCL device 999"));
  assert_null(d);
}

#if defined(__SANITIZE_ADDRESS__)
// A driver and its compiler are not our code, and leak much in libraries that are unloaded at the end.
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  return 1;
}
#endif

int main(void) {
  struct assay_error err = {0};
  struct device *probe = NULL;
  setenv("POCL_CACHE_DIR", ASSAY_BINARY_DIR "/pocl-cache", 1);
  if (device_opencl.open(&(struct device_options){0}, &probe, &err)) {
    print_message("skipped: %s\n", err.message);
    return 77;
  }
  device_opencl.close(probe);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
      cmocka_unit_test_setup_teardown(test_three_dimensions, setup, teardown),
      cmocka_unit_test_setup_teardown(test_garbage, setup, teardown),
      cmocka_unit_test_setup_teardown(test_garbage_kinds, setup, teardown),
      cmocka_unit_test_setup_teardown(test_loads_again, setup, teardown),
      cmocka_unit_test_setup_teardown(test_null_pointer, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refused_launch, setup, teardown),
      cmocka_unit_test(test_lax_driver),
      cmocka_unit_test(test_no_such_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
