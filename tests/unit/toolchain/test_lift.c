// SPDX-License-Identifier: Apache-2.0
// modules: toolchain toolchain/lift
// Lifting without a GPU: what CUPTI would report of a program is reported by hand, over a driver whose device memory is
// this process's, and the recording goes through the reader of recordings. The device code is
// tests/fuzz/corpus/cubin/small.cu.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "toolchain/lift/lift.h"
#include "toolchain/record/difference.h"
#include "toolchain/record/read.h"
#include "toolchain/record_run.h"

enum { N = 1000 };
#define CUBINS ASSAY_SOURCE_DIR "/tests/fuzz/corpus/cubin/"

// What worker.py calls; the library exports them and has no header for it.
void *assay_lift_malloc(ssize_t size, int device, CUstream stream);
void assay_lift_free(void *p, ssize_t size, int device, CUstream stream);
void assay_lift_record_stream(void *p, CUstream stream);
const char *assay_lift_open(int request_a, int log_a, int request_b, int log_b);
void assay_lift_look(int on);
void assay_lift_begin(int log);
void assay_lift_output(uint64_t address, uint32_t index);
const char *assay_lift_end(void);
int assay_lift_has_no_memory(void);
int assay_lift_is_new(uint64_t address, uint64_t bytes);
void assay_lift_time(int on);
int assay_lift_left_overs(int what);

// ---- the driver

static uint64_t moved; // by how much memory lies elsewhere than it was asked for
static bool crowded;   // others have the memory
static bool crowded_until_unmapped;

static enum cu_result reserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t hint, unsigned long long f) {
  (void)alignment, (void)f;
  void *p = MAP_FAILED;
  for (uint64_t further = 0; p == MAP_FAILED && further < 4; further++) // where somebody has the place, it is elsewhere
    p = mmap((void *)(uintptr_t)(hint + moved + (further << 42)), bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
  *address = (uint64_t)(uintptr_t)p;
  return p == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
static enum cu_result create(uint64_t *handle, size_t bytes, const struct cu_mem_allocation_prop *prop,
                             unsigned long long f) {
  (void)bytes, (void)prop, (void)f;
  *handle = 1;
  return crowded || crowded_until_unmapped ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
static enum cu_result map(uint64_t address, size_t bytes, size_t offset, uint64_t handle, unsigned long long f) {
  (void)address, (void)bytes, (void)offset, (void)handle, (void)f;
  return CUDA_SUCCESS;
}
static enum cu_result set_access(uint64_t address, size_t bytes, const struct cu_mem_access_desc *desc, size_t n) {
  (void)address, (void)bytes, (void)desc, (void)n;
  return CUDA_SUCCESS;
}
static int n_waits;                  // how often all of the device's work was waited for
static int n_waits_before_unmapping; // ... and had been when memory was unmapped last
// What has no memory stays reserved.
static enum cu_result unmap(uint64_t address, size_t bytes) {
  crowded_until_unmapped = false;
  n_waits_before_unmapping = n_waits;
  return mprotect((void *)(uintptr_t)address, bytes, PROT_NONE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
static enum cu_result release(uint64_t handle) {
  (void)handle;
  return CUDA_SUCCESS;
}
static bool lost; // the device is: nobody can wait for it
static enum cu_result synchronize(void) {
  n_waits++;
  return lost ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}
static enum cu_result stream_synchronize(CUstream stream) {
  (void)stream;
  return CUDA_SUCCESS;
}
static enum cu_result download(void *to, uint64_t from, size_t bytes, CUstream stream) {
  (void)stream;
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}
static enum cu_result upload(uint64_t to, const void *from, size_t bytes, CUstream stream) {
  (void)stream;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return CUDA_SUCCESS;
}
static enum cu_result fill_bytes(uint64_t to, unsigned char value, size_t bytes, CUstream stream) {
  (void)stream;
  memset((void *)(uintptr_t)to, value, bytes);
  return CUDA_SUCCESS;
}
static enum cu_result event_create(CUevent *event, unsigned int flags) {
  (void)flags;
  *event = NULL;
  return CUDA_SUCCESS;
}
static enum cu_result event_record(CUevent event, CUstream stream) {
  (void)event, (void)stream;
  return CUDA_SUCCESS;
}
static enum cu_result event_destroy(CUevent event) {
  (void)event;
  return CUDA_SUCCESS;
}
static enum cu_result elapsed(float *ms, CUevent start, CUevent end) {
  (void)start, (void)end;
  *ms = 0.5f;
  return CUDA_SUCCESS;
}
static enum cu_result flags_of(CUstream stream, unsigned int *flags) {
  (void)stream;
  *flags = CU_STREAM_NON_BLOCKING;
  return CUDA_SUCCESS;
}
// A function's handle says its module: 0xM01, 0xM02, ... are of module 0xM00.
static enum cu_result module_of(CUmodule *module, CUfunction function) {
  *module = (CUmodule)((uintptr_t)function & ~(uintptr_t)0xff);
  return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static const struct cuda_driver driver = {.cuMemAddressReserve = reserve,
                                          .cuMemCreate = create,
                                          .cuMemMap = map,
                                          .cuMemSetAccess = set_access,
                                          .cuMemUnmap = unmap,
                                          .cuMemRelease = release,
                                          .cuCtxSynchronize = synchronize,
                                          .cuStreamSynchronize = stream_synchronize,
                                          .cuMemcpyDtoHAsync = download,
                                          .cuMemcpyHtoDAsync = upload,
                                          .cuMemsetD8Async = fill_bytes,
                                          .cuEventCreate = event_create,
                                          .cuEventRecord = event_record,
                                          .cuEventDestroy = event_destroy,
                                          .cuEventElapsedTime = elapsed};

// ---- the program

static uint64_t correlation;

static void tell(enum cupti_site site, const char *name, const void *params, const char *symbol) {
  enum cu_result success = CUDA_SUCCESS;
  const struct cupti_call c = {.site = site,
                               .name = name,
                               .params = params,
                               .result = &success,
                               .symbol = symbol,
                               .correlation_data = &correlation};
  lift_on_callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, 0, &c);
}

static void call(const char *name, const void *params, const char *symbol) {
  tell(CUPTI_API_ENTER, name, params, symbol);
  tell(CUPTI_API_EXIT, name, params, symbol);
}

// A file of device code, loaded as a module with this handle.
static void load_code(const char *file, uintptr_t handle) {
  char path[512], *bytes;
  size_t n;
  struct assay_error err = {0};
  CUmodule module = (CUmodule)handle;
  const struct call_module params = {&module};
  snprintf(path, sizeof path, CUBINS "%s", file);
  assert_int_equal(file_read(path, 1 << 20, &bytes, &n, &err), ASSAY_OK);
  struct cupti_module m = {.bytes = n, .cubin = bytes};
  const struct cupti_resource r = {.descriptor = &m};
  tell(CUPTI_API_ENTER, "cuModuleLoadData", &params, NULL);
  lift_on_callback(NULL, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &r);
  tell(CUPTI_API_EXIT, "cuModuleLoadData", &params, NULL);
  base_free(bytes);
}

static void scale_on(uintptr_t handle, uint64_t x, uint64_t y, int n, CUstream stream) {
  void *arguments[] = {&x, &y, &n};
  const struct call_launch l = {
      .function = (CUfunction)handle, .grid = {4, 1, 1}, .block = {256, 1, 1}, .stream = stream, .params = arguments};
  call("cuLaunchKernel", &l, "scale");
}

static void scale(uint64_t x, uint64_t y) {
  scale_on(0x101, x, y, N, NULL);
}

static uint64_t take(size_t bytes) {
  return (uint64_t)(uintptr_t)assay_lift_malloc((ssize_t)bytes, 0, NULL);
}

// ---- the judge

// The session's state; nobody else is in this process.
static struct lift *lift;

static struct lift *find_state(void) {
  bool was_inside;
  lift = lift_enter(&was_inside);
  lift_leave(was_inside);
  return lift;
}

struct fixture {
  struct arena arena;
  struct tensor_type tensor;
  struct plan_subject subject;
  struct record_request *requests[LIFT_LOGS];
  struct record_header *logs[LIFT_LOGS];
  struct plan plan;
  struct plan_report report;
  struct assay_error err;
  uint64_t x, y;
};

static const char *const input_names[] = {"x"}, *const output_names[] = {"y"};

static void setup(struct fixture *f) {
  struct record_device device;
  size_t bytes;
  uint64_t address = find_state()->memory.next_address; // addresses of an earlier test's memory are never used again
  memset(f, 0, sizeof *f);
  f->tensor = (struct tensor_type){DTYPE_FLOAT, {1, {N}}};
  f->subject = (struct plan_subject){.task = "t",
                                     .workload = "N=1000",
                                     .n_inputs = 1,
                                     .n_outputs = 1,
                                     .input_names = input_names,
                                     .output_names = output_names,
                                     .inputs = &f->tensor,
                                     .outputs = &f->tensor};
  assert_int_equal(record_device_of_target("sm_90a", &device, &f->err), ASSAY_OK);
  *lift = (struct lift){.lock = PTHREAD_MUTEX_INITIALIZER,
                        .driver = {.cu = &driver, .cuStreamGetFlags = flags_of, .cuFuncGetModule = module_of}};
  for (int i = 0; i < LIFT_LOGS; i++) {
    assert_int_equal(record_request_make_at(&f->subject, &device, address, &f->arena, &f->requests[i], &bytes, &f->err),
                     ASSAY_OK);
    address = f->requests[i]->first_free;
    f->logs[i] =
        mmap(NULL, RECORD_LOG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(f->logs[i], MAP_FAILED);
    f->logs[i]->magic = RECORD_MAGIC;
    lift->requests[i] = f->requests[i];
    lift->logs[i] = f->logs[i];
    for (int k = 0; k < 2; k++)
      assert_true(lift_map_tensor(lift, &f->requests[i]->tensors[k], &lift->memory.tensors[i][k]));
    lift->memory.n_tensors[i] = 2;
  }
  lift->memory.next_address = address;
  f->x = lift->memory.tensors[0][0].real;
  f->y = lift->memory.tensors[0][1].real;
  load_code("small_sm90a.cubin", 0x100);
}

static void teardown(struct fixture *f) {
  plan_release(&f->plan);
  plan_report_release(&f->report);
  arena_release(&f->arena);
  for (int i = 0; i < LIFT_LOGS; i++)
    munmap(f->logs[i], RECORD_LOG_BYTES);
  address_map_release(&lift->memory);
  module_table_release(&lift->modules);
  stream_table_release(&lift->streams);
  tensor_map_table_release(&lift->maps);
  kernel_timer_release(&lift->timer);
  log_writer_release(&lift->writer);
}

static enum assay_status read_log(struct fixture *f, int log, struct plan *plan, struct plan_report *report) {
  const struct record_context context = {.reading = RECORD_ONE_OF_TWO,
                                         .request = f->requests[log],
                                         .subject = &f->subject,
                                         .target = "sm_90a",
                                         .toolchain = "python",
                                         .source_name = "a.py"};
  return record_read((const uint8_t *)f->logs[log], RECORD_LOG_BYTES, &context, plan, report, &f->err);
}

// The plan's steps, as plan_print writes them.
static void expect_steps(struct fixture *f, const char *steps) {
  struct buf text = {0};
  struct plan_limits limits;
  const struct plan_expectation expected = {1, 1, &f->tensor, &f->tensor};
  plan_limits_of_target("sm_90a", &limits);
  if (read_log(f, 0, &f->plan, &f->report) != ASSAY_OK || f->report.outcome != PLAN_MADE)
    fail_msg("%s%s", f->err.message, f->report.detail);
  if (plan_check(&f->plan, &limits, &expected, &f->err))
    fail_msg("%s", f->err.message);
  assert_int_equal(plan_print(&f->plan, &text, &f->err), ASSAY_OK);
  const char *at = strstr(buf_str(&text), "steps\n");
  if (!at || strcmp(at + strlen("steps\n"), steps) != 0)
    fail_msg("%s\nis not\n%s", at ? at : buf_str(&text), steps);
  buf_release(&text);
}

// What two recordings are, by the first's plan in the fixture; why not one plan, goes to `text`.
enum outcome { ONE_PLAN, TWO_PLANS, POINTS_OUTSIDE };
enum { TEXT_BYTES = 256 };
static enum outcome compare_logs(struct fixture *f, char text[TEXT_BYTES]) {
  struct plan second = {0};
  struct plan_report report = {0};
  text[0] = '\0';
  assert_int_equal(read_log(f, 0, &f->plan, &f->report), ASSAY_OK);
  assert_int_equal(read_log(f, 1, &second, &report), ASSAY_OK);
  if (f->report.outcome != PLAN_MADE || report.outcome != PLAN_MADE)
    fail_msg("%s%s", f->report.detail, report.detail);
  enum outcome outcome = plan_points_outside(&f->plan, &second, text, TEXT_BYTES) ? POINTS_OUTSIDE
                         : plan_difference(&f->plan, &second, text, TEXT_BYTES)   ? TWO_PLANS
                                                                                  : ONE_PLAN;
  plan_release(&second);
  plan_report_release(&report);
  return outcome;
}

static void expect_refused(struct fixture *f, const char *part) {
  const char *why = assay_lift_end();
  assert_int_equal(f->logs[0]->stage, RECORD_REFUSED);
  if (!why || !strstr(why, part) || !strstr(f->logs[0]->message, part))
    fail_msg("\"%s\" says nothing of \"%s\"", why ? why : "", part);
}

// ---- tests

static void a_fresh_result_is_the_output(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  scale(f.x, f.y); // not recorded
  assay_lift_begin(0);
  uint64_t between = take(4 * N);
  scale(f.x, between);
  uint64_t result = take(4 * N);
  scale(between, result);
  assay_lift_free((void *)(uintptr_t)between, 4 * N, 0, NULL);
  assert_true(assay_lift_is_new(result, 4 * N));
  assert_false(assay_lift_is_new(result, 4 * N - 4));
  assert_false(assay_lift_is_new(f.x, 4 * N));
  assay_lift_output(result, 0);
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  scale<<<4, 256>>>(x, scratch 0, 1000)\n"
                   "  1  scale<<<4, 256>>>(scratch 0, y, 1000)\n");
  assert_int_equal(f.plan.n_buffers, 3);
  assert_true(strncmp(f.plan.modules[0].name, "own: ", strlen("own: ")) == 0);
  teardown(&f);
}

// The driver may map memory where it likes.
// PyTorch gives multiples of 512 bytes, and cuDNN points into what was not asked for; an output stays as large as it
// is.
static void memory_is_rounded(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  assay_lift_begin(0);
  uint64_t between = take(4 * N + 120);
  uint64_t result = take(4 * N);
  scale(f.x, between);
  scale(between + 4 * N + 120 + 112, result);
  assay_lift_output(result, 0);
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  scale<<<4, 256>>>(x, scratch 0, 1000)\n"
                   "  1  scale<<<4, 256>>>(scratch 0+4232, y, 1000)\n");
  for (int i = 0; i < f.plan.n_buffers; i++)
    assert_int_equal(f.plan.buffers[i].bytes, f.plan.buffers[i].role == PLAN_SCRATCH ? 4608 : 4 * N);
  plan_release(&f.plan);
  f.plan = (struct plan){0};
  plan_report_release(&f.report);
  assay_lift_begin(0);
  between = take(4 * N + 120);
  scale(f.x, between + 4608 + 8);
  assert_null(assay_lift_end());
  assert_int_equal(read_log(&f, 0, &f.plan, &f.report), ASSAY_OK);
  assert_int_not_equal(f.report.outcome, PLAN_MADE);
  assert_non_null(strstr(f.report.detail, "outside of its 4608 bytes"));
  teardown(&f);
}

// PyTorch does not look whether it got memory. What fails long after is said to lack it.
static void memory_that_is_not_there_is_remembered(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  assert_false(assay_lift_has_no_memory());
  crowded = true;
  assert_int_equal(take(4 * N), 0);
  crowded = false;
  assert_int_not_equal(take(4 * N), 0);
  assert_true(assay_lift_has_no_memory());
  teardown(&f);
  setup(&f); // the next workload
  assert_false(assay_lift_has_no_memory());
  teardown(&f);
}

// A search for the fastest kernel allocates more often than the log has addresses: they begin again, where others have
// them.
static void a_search_before_the_recording(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  lift->memory.first_address = lift->memory.next_address; // as assay_lift_open
  uint64_t before[] = {take(4 * N), take(4 * N)};
  memset((void *)(uintptr_t)before[1], 5, 4 * N);
  lift->memory.next_address = RECORD_LAST_ADDRESS - 50 * RECORD_GAP_BYTES; // after some 65,000
  while (!lift->memory.wrapped)
    assay_lift_free((void *)(uintptr_t)take(4 * N), 4 * N, 0, NULL);
  assay_lift_begin(0);
  uint64_t result = take(4 * N);
  scale(before[1], result);
  assay_lift_output(result, 0);
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  scale<<<4, 256>>>(state 0, y, 1000)\n");
  teardown(&f);
}

static uint64_t take_and_free(size_t bytes) {
  uint64_t address = take(bytes);
  assay_lift_free((void *)(uintptr_t)address, (ssize_t)bytes, 0, NULL);
  return address;
}

// Mapping takes a millisecond: a warm-up's calls get the same memory again. What is recorded gets none twice.
static void memory_of_the_warm_up(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  lift->warming = true; // as assay_lift_open
  uint64_t a = take_and_free(4 * N), held = take(512), b = take_and_free(4 * N);
  assert_int_equal(a, b);
  assert_int_not_equal(take_and_free(4 * N + 4), a); // of another size
  assert_int_equal(take(4 * N), a);
  assert_int_not_equal(take(4 * N), a); // it is held
  assert_true(assay_lift_is_new(held, 512));
  size_t n = lift->memory.n_allocations;
  assay_lift_free((void *)(uintptr_t)a, 4 * N, 0, NULL);
  crowded = true;
  assert_int_equal(take(1 << 20), 0); // what was kept went first
  assert_true(lift->out_of_memory && lift->memory.n_allocations < n);
  crowded = lift->out_of_memory = false;
  (void)take_and_free(2048);
  crowded_until_unmapped = true;
  assert_int_not_equal(take(1 << 20), 0);
  assert_false(crowded_until_unmapped || lift->out_of_memory);
  assert_int_not_equal(take_and_free((size_t)513 << 20), 0); // others may need so much
  assert_int_equal(address_map_kept_bytes(&lift->memory), 0);
  b = take_and_free(4 * N);
  assert_int_equal(address_map_kept_bytes(&lift->memory), 4 * N);
  assay_lift_look(1);
  assert_int_not_equal(take(4 * N), b);
  assay_lift_look(0);
  b = take_and_free(4 * N);
  assert_int_not_equal(take_and_free(4 * N), b);
  assay_lift_begin(0);
  scale(f.x, f.y);
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  scale<<<4, 256>>>(x, y, 1000)\n");
  teardown(&f);
}

static uint64_t take_on(CUstream stream, size_t bytes) {
  return (uint64_t)(uintptr_t)assay_lift_malloc((ssize_t)bytes, 0, stream);
}

static void free_on(CUstream stream, uint64_t address, size_t bytes) {
  assay_lift_free((void *)(uintptr_t)address, (ssize_t)bytes, 0, stream);
}

static const CUstream stream_a = (CUstream)0x5000, stream_b = (CUstream)0x6000, stream_c = (CUstream)0x7000,
                      of_thread = (CUstream)2;

// What a stream freed comes after all that used it, so that it gets it again at once: a search for the fastest kernel
// would have every wait in its times. Another stream waits for the device; nothing is unmapped before that is done.
static void a_warm_up_does_not_wait(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  lift->warming = true;
  n_waits = 0;
  uint64_t a = take_on(stream_a, 4 * N), b = take_on(stream_a, 4 * N);
  for (int i = 0; i < 100; i++) {
    free_on(stream_a, a, 4 * N);
    assert_int_equal(take_on(stream_a, 4 * N), a);
  }
  free_on(stream_a, b, 4 * N);
  uint64_t c = take_on(stream_a, 2 * N), d = take_on(stream_b, 2 * N);
  assert_int_equal(n_waits, 0);
  lost = true;
  uint64_t e = take_on(stream_b, 4 * N); // where nobody can wait it is other memory
  assert_true(e != b && n_waits == 1);
  lost = false;
  for (int i = 0; i < 2; i++) { // and it is that one's from then on
    assert_int_equal(take_on(stream_b, 4 * N), b);
    free_on(stream_b, b, 4 * N);
  }
  assert_int_equal(take_on(stream_b, 4 * N), b);
  assert_int_equal(n_waits, 2);
  free_on(stream_a, c, 2 * N);
  free_on(stream_b, d, 2 * N);
  assert_int_equal(take_on(stream_a, 2 * N), c); // its own before others'
  assert_int_equal(n_waits, 2);
  free_on(stream_a, c, 2 * N);
  assert_int_equal(take_on(stream_c, 2 * N), d); // the device is waited for once, for all that was free then
  assert_int_equal(take_on(stream_c, 2 * N), c);
  assert_int_equal(n_waits, 3);
  free_on(stream_c, d, 2 * N); // and no longer than that
  free_on(stream_a, a, 4 * N);
  assert_int_equal(take_on(stream_a, 2 * N), d);
  assert_int_equal(n_waits, 4);
  free_on(stream_a, d, 2 * N);
  lost = crowded = true; // memory that may be in use does not go back
  n_waits_before_unmapping = 0;
  assert_int_equal(take_on(stream_a, 1 << 20), 0);
  assert_int_equal(n_waits_before_unmapping, 0);
  lost = false;
  assert_int_equal(take_on(stream_a, 1 << 20), 0);
  assert_int_equal(n_waits_before_unmapping, 6);
  crowded = false;
  free_on(stream_a, take_on(stream_a, (size_t)513 << 20), (size_t)513 << 20); // nor does what is much
  assert_int_equal(n_waits_before_unmapping, 7);
  teardown(&f);
}

// Nothing of the warm-up is at work, and nothing that it freed is left, when something is looked at or recorded.
static void the_warm_up_ends_with_a_wait(void **state) {
  (void)state;
  for (int look = 0; look < 2; look++) {
    struct fixture f;
    setup(&f);
    lift->warming = true;
    n_waits = n_waits_before_unmapping = 0;
    uint64_t a = take_and_free(4 * N);
    assert_int_equal(n_waits, 0);
    if (look)
      assay_lift_look(1);
    else
      assay_lift_begin(0);
    assert_true(n_waits > 0 && n_waits_before_unmapping > 0);
    assert_int_equal(lift->memory.n_allocations, 0);
    assert_int_not_equal(take(4 * N), a);
    n_waits = 0;
    free_on(NULL, take(512), 512); // from then on what is freed goes back
    assert_int_equal(n_waits, 1);
    assert_int_equal(n_waits_before_unmapping, 1);
    if (!look)
      assert_null(assay_lift_end());
    teardown(&f);
  }
}

// Where the order of one stream does not tell when memory is free, everybody waits.
static void memory_of_several_streams(void **state) {
  (void)state;
  enum { RECORDED, FREED, GONE, GONE_BEFORE, OF_THREAD, OWN, WAYS };
  for (int way = RECORDED; way < WAYS; way++) {
    struct fixture f;
    const CUstream stream = way == OF_THREAD ? of_thread : stream_a;
    const struct call_stream_end end = {stream_a};
    setup(&f);
    lift->warming = true;
    n_waits = 0;
    uint64_t a = take_on(stream, 4 * N);
    if (way == RECORDED || way == OWN)
      assay_lift_record_stream((void *)(uintptr_t)(a + 8), way == OWN ? stream_a : stream_b);
    if (way == GONE_BEFORE)
      call("cuStreamDestroy_v2", &end, NULL);
    free_on(way == FREED ? stream_b : stream, a, 4 * N);
    if (way == GONE)
      call("cuStreamDestroy_v2", &end, NULL);
    assert_int_equal(n_waits, 0);
    assert_int_equal(take_on(stream, 4 * N), a); // of a stream that is gone another one has the handle
    assert_int_equal(n_waits, way == OWN ? 0 : 1);
    free_on(stream, a, 4 * N);
    assert_int_equal(take_on(stream, 4 * N), a); // that one's, from here on
    assert_int_equal(n_waits, way == OWN ? 0 : way == OF_THREAD ? 2 : 1);
    teardown(&f);
  }
}

// A graph that is captured uses its memory whenever it is replayed, on any stream. Meanwhile nobody may wait.
static CUstream capturing; // NULL: none
static enum cu_result is_capturing(CUstream stream, int *status) {
  *status = stream && stream == capturing;
  return CUDA_SUCCESS;
}
static void memory_of_a_graph(void **state) {
  (void)state;
  struct fixture f;
  struct call_begin {
    CUstream stream;
    int mode;
  } begin = {stream_a, 0};
  setup(&f);
  lift->warming = true;
  lift->driver.cuStreamIsCapturing = is_capturing;
  uint64_t before = take_on(stream_a, 4 * N), other = take_on(stream_b, 4 * N),
           much = take_on(stream_b, (size_t)513 << 20);
  free_on(stream_a, before, 4 * N);
  capturing = stream_a;
  call("cuStreamBeginCapture_v2_ptsz", &begin, NULL);
  n_waits = 0;
  uint64_t of_graph = take_on(stream_a, 4 * N), output = take_on(stream_a, 4 * N), beside = take_on(stream_b, 4 * N);
  assert_true(of_graph != before && output != before && beside != before);
  free_on(stream_a, of_graph, 4 * N);
  free_on(stream_b, other, 4 * N); // the graph may have it, too
  free_on(stream_b, much, (size_t)513 << 20);
  crowded = true;
  assert_int_equal(take_on(stream_b, 1 << 20), 0);
  crowded = false;
  assert_int_equal(n_waits, 0);
  capturing = NULL;
  free_on(stream_a, output, 4 * N);
  assert_int_equal(take_on(stream_a, 4 * N), before);
  uint64_t fresh = take_on(stream_a, 4 * N);
  assert_true(fresh != of_graph && fresh != output && fresh != other && fresh != beside);
  assert_int_equal(n_waits, 0);
  assert_int_equal(lift->streams.n_captures, 0);
  capturing = stream_a;
  call("cuStreamBeginCapture_v2_ptsz", &begin, NULL);
  assert_int_equal(lift->streams.n_captures, 1);
  call("cuStreamDestroy_v2", &(struct call_stream_end){stream_a}, NULL); // nobody may ask about it any more
  assert_int_equal(lift->streams.n_captures, 0);
  capturing = NULL;
  teardown(&f);
}

static void memory_elsewhere(void **state) {
  moved = (uint64_t)1 << 44;
  a_fresh_result_is_the_output(state);
  moved = 0;
}

static void work_of_every_kind(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  assay_lift_begin(0);
  uint64_t a = take(4096);
  const struct call_fill32 fill = {a, 7, 16, NULL};
  call("cuMemsetD32Async", &fill, NULL);
  const struct call_fill8 bytes = {a + 64, 0xff, 64, NULL};
  call("cuMemsetD8_v2", &bytes, NULL);
  static const float table[4] = {1, 2, 3, 4};
  const struct call_copy up = {a + 128, (uint64_t)(uintptr_t)table, sizeof table, NULL};
  call("cuMemcpyHtoDAsync_v2", &up, NULL);
  const struct call_copy within = {f.y, f.x, 4 * N, NULL};
  call("cuMemcpyAsync", &within, NULL);
  struct {
    uint64_t x, y;
    int n, nothing; // a gap otherwise, with what the stack held
  } pair = {f.x, a + 256, 64, 0};
  size_t n = sizeof pair;
  void *extra[] = {(void *)1, &pair, (void *)2, &n, NULL};
  const struct call_launch turn = {
      .function = (CUfunction)0x102, .grid = {1, 1, 1}, .block = {64, 1, 1}, .shared_bytes = 1024, .extra = extra};
  call("cuLaunchKernel", &turn, "turn");
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  fill(scratch 0, 0x00000007, 64 bytes)\n"
                   "  1  fill(scratch 0+64, 0xff, 64 bytes)\n"
                   "  2  copy(scratch 0+128, constant 0, 16 bytes)\n"
                   "  3  copy(y, x, 4000 bytes)\n"
                   "  4  turn<<<1, 64, 1024>>>({x, scratch 0+256, 4000000000000000})\n");
  assert_memory_equal(f.plan.buffers[f.plan.steps[2].from.buffer].data, table, sizeof table);
  teardown(&f);
}

// What was there before: a table that stays what it is, a counter, and a large workspace.
static void memory_from_before(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  uint64_t unused = take(256), table = take(4 * N), counter = take(64), workspace = take(2 << 20);
  assert_true(unused != 0);
  memset((void *)(uintptr_t)table, 5, 4 * N);
  memset((void *)(uintptr_t)counter, 6, 64);
  assay_lift_begin(0);
  scale(table, workspace);
  scale(workspace, f.y);
  scale(counter, f.y);
  *(volatile char *)(uintptr_t)counter = 7;
  *(volatile char *)(uintptr_t)workspace = 7;
  assay_lift_free((void *)(uintptr_t)table, 4 * N, 0, NULL); // the module replaces it
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  copy(scratch 0, state 1, 64 bytes)\n"
                   "  1  scale<<<4, 256>>>(state 0, scratch 1, 1000)\n"
                   "  2  scale<<<4, 256>>>(scratch 1, y, 1000)\n"
                   "  3  scale<<<4, 256>>>(scratch 0, y, 1000)\n");
  const struct plan_buffer *constant = &f.plan.buffers[f.plan.steps[1].arguments[0].pointers[0].buffer];
  assert_int_equal(constant->role, PLAN_CONSTANT);
  assert_int_equal(constant->data[4 * N - 1], 5);
  assert_int_equal(f.plan.buffers[f.plan.steps[0].from.buffer].data[0], 6);
  teardown(&f);
}

// cudaMalloc of an extension, before and while it is recorded.
static void memory_of_others(void **state) {
  (void)state;
  struct fixture f;
  static float early[64], late[64];
  uint64_t address = (uint64_t)(uintptr_t)early;
  setup(&f);
  const struct call_alloc first = {&address, sizeof early};
  call("cuMemAlloc_v2", &first, NULL);
  assay_lift_begin(0);
  scale((uint64_t)(uintptr_t)(early + 4), f.y);
  address = (uint64_t)(uintptr_t)late;
  const struct call_alloc second = {&address, sizeof late};
  call("cuMemAllocAsync", &second, NULL);
  scale(f.x, (uint64_t)(uintptr_t)late);
  const struct call_free end = {(uint64_t)(uintptr_t)late};
  call("cuMemFreeAsync", &end, NULL);
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  scale<<<4, 256>>>(state 0+16, y, 1000)\n"
                   "  1  scale<<<4, 256>>>(x, scratch 0, 1000)\n");
  teardown(&f);
}

static void tensor_maps(void **state) {
  (void)state;
  struct fixture f;
  struct cu_tensor_map encoded;
  setup(&f);
  memset(&encoded, 0x5a, sizeof encoded);
  const uint64_t dims[] = {12, 80}, strides[] = {48};
  const uint32_t box[] = {8, 8}, steps[] = {1, 1};
  const struct call_tensor_map c = {.map = &encoded,
                                    .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                    .rank = 2,
                                    .address = (void *)(uintptr_t)f.x,
                                    .dims = dims,
                                    .strides = strides,
                                    .box = box,
                                    .element_strides = steps};
  call("cuTensorMapEncodeTiled", &c, NULL); // once, before
  assay_lift_begin(0);
  struct cu_launch_attribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.cluster_dim = {2, 1, 1}};
  void *arguments[] = {&encoded, &f.y};
  const struct cu_launch_config config = {.grid_x = 2,
                                          .grid_y = 1,
                                          .grid_z = 1,
                                          .block_x = 64,
                                          .block_y = 1,
                                          .block_z = 1,
                                          .attrs = &cluster,
                                          .n_attrs = 1};
  const struct call_launch_ex l = {.config = &config, .function = (CUfunction)0x103, .params = arguments};
  call("cuLaunchKernelEx_ptsz", &l, "tile");
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  tile<<<2, 64>>>(map(x, 80 x 12, box 8 x 8), y) cluster 2\n");
  teardown(&f);
}

static void streams(void **state) {
  (void)state;
  for (int joined = 0; joined < 2; joined++) {
    struct fixture f;
    CUstream side = (CUstream)0x5000;
    setup(&f);
    assay_lift_begin(0);
    const struct call_event record = {(CUevent)0x10, NULL}, back = {(CUevent)0x11, side};
    const struct call_wait wait = {side, (CUevent)0x10, 0}, join = {NULL, (CUevent)0x11, 0};
    call("cuEventRecord", &record, NULL);
    call("cuStreamWaitEvent", &wait, NULL);
    scale_on(0x101, f.x, f.y, N, side);
    call("cuEventRecord", &back, NULL);
    if (joined)
      call("cuStreamWaitEvent", &join, NULL);
    assert_null(assay_lift_end());
    assert_int_equal(read_log(&f, 0, &f.plan, &f.report), ASSAY_OK);
    assert_int_equal(f.report.outcome, joined ? PLAN_MADE : PLAN_REFUSED);
    assert_true(joined || strstr(f.report.detail, "not waited for"));
    teardown(&f);
  }
}

// Two streams at one buffer: a library is trusted with streams of its own, other code is not.
static void streams_of_libraries(void **state) {
  (void)state;
  static const struct {
    enum plan_origin kernel, stream;
    bool made;
  } cases[] = {{PLAN_LIBRARY, PLAN_LIBRARY, true},
               {PLAN_LIBRARY, PLAN_PYTORCH, false}, // a program's own stream
               {PLAN_OWN, PLAN_LIBRARY, false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct fixture f;
    CUstream side = (CUstream)0x5000;
    const struct call_event record = {(CUevent)0x10, NULL}, back = {(CUevent)0x11, side};
    const struct call_wait wait = {side, (CUevent)0x10, 0}, join = {NULL, (CUevent)0x11, 0};
    setup(&f);
    assay_lift_look(1);
    scale(f.x, f.y);
    assay_lift_look(0);
    lift->modules.kernels[0]->launched_by.origin = cases[k].kernel;
    stream_table_made(&lift->streams, side, cases[k].stream);
    assay_lift_begin(0);
    call("cuEventRecord", &record, NULL);
    call("cuStreamWaitEvent", &wait, NULL);
    scale_on(0x101, f.x, f.y, N, side);
    scale_on(0x101, f.x, f.y + 4 * (N / 2), N / 2, NULL);
    call("cuEventRecord", &back, NULL);
    call("cuStreamWaitEvent", &join, NULL);
    assert_null(assay_lift_end());
    assert_int_equal(read_log(&f, 0, &f.plan, &f.report), ASSAY_OK);
    assert_int_equal(f.report.outcome, cases[k].made ? PLAN_MADE : PLAN_REFUSED);
    assert_true(cases[k].made || strstr(f.report.detail, "which comes first"));
    teardown(&f);
  }
}

// Whose stream it is, is seen when it is made, and forgotten with it.
static void streams_are_made(void **state) {
  (void)state;
  struct fixture f;
  CUstream stream = (CUstream)0x5000, other = (CUstream)0x6000;
  const struct call_stream make = {&stream};
  const struct call_stream_end end = {stream};
  setup(&f);
  stream_table_made(&lift->streams, stream, PLAN_LIBRARY);
  stream_table_made(&lift->streams, other, PLAN_LIBRARY);
  assert_int_equal(lift->streams.n_of_libraries, 2);
  call("cuStreamDestroy_v2", &end, NULL);
  assert_int_equal(lift->streams.n_of_libraries, 1);
  stream_table_made(&lift->streams, stream, PLAN_LIBRARY);
  call("cuStreamCreateWithPriority", &make, NULL); // the same handle, from this program
  assert_int_equal(lift->streams.n_of_libraries, 1);
  assert_ptr_equal(lift->streams.of_libraries[0], other);
  teardown(&f);
}

static void modules_of_one_name(void **state) {
  (void)state;
  struct fixture f;
  struct plan_limits limits;
  setup(&f);
  load_code("small_sm90.cubin", 0x200);
  assay_lift_begin(0);
  scale_on(0x201, f.x, f.y, N, NULL);
  assert_null(assay_lift_end());
  assert_int_equal(read_log(&f, 0, &f.plan, &f.report), ASSAY_OK);
  plan_limits_of_target("sm_90a", &limits);
  struct cubin_info info;
  assert_int_equal(cubin_read(f.plan.modules[0].bytes, f.plan.modules[0].size, &f.arena, &info, &f.err), ASSAY_OK);
  assert_false(info.arch_specific); // the second file
  assay_lift_begin(0);
  scale_on(0x301, f.x, f.y, N, NULL); // of a module that nobody saw
  expect_refused(&f, "several modules");
  teardown(&f);
}

// The driver knows how many kernels a handle's module has: enough to distinguish modules that came from libraries.
static enum cu_result four_kernels(unsigned int *n, CUmodule module) {
  *n = module == (CUmodule)0x300 ? 4 : 3;
  return CUDA_SUCCESS;
}

static void modules_by_size(void **state) {
  (void)state;
  struct fixture f;
  struct cuda_driver more = driver;
  more.cuModuleGetFunctionCount = four_kernels;
  setup(&f);
  lift->driver.cu = &more;
  load_code("wide_sm90.cubin", 0x200);
  module_table_name(&lift->modules, NULL, 0); // as if a library had brought them
  assay_lift_begin(0);
  scale_on(0x401, f.x, f.y, N, NULL); // of three kernels: small_sm90a.cubin
  const char *why = assay_lift_end();
  if (why)
    fail_msg("%s", why);
  expect_steps(&f, "  0  scale<<<4, 256>>>(x, y, 1000)\n");
  teardown(&f);
}

// What the stack left: an address of memory that is gone means nothing.
static void stale_words(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  uint64_t gone = take(4096), lives = take(4096);
  assay_lift_free((void *)(uintptr_t)gone, 4096, 0, NULL);
  assay_lift_begin(0);
  scale(f.x, gone + 8);
  scale(f.x, f.y);
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  scale<<<4, 256>>>(x, 0, 1000)\n"
                   "  1  scale<<<4, 256>>>(x, y, 1000)\n");
  plan_release(&f.plan);
  f.plan = (struct plan){0};
  struct {
    uint64_t x, y;
    uint64_t n;
  } pair = {f.x, f.y, 0};
  void *arguments[] = {&pair};
  const struct call_launch turn = {
      .function = (CUfunction)0x102, .grid = {1, 1, 1}, .block = {64, 1, 1}, .params = arguments};
  const uint64_t granule = 2 << 20, start = lives / granule * granule;
  const uint64_t ends[] = {start, start + granule};
  assay_lift_begin(0); // ends of mappings, from the stack of who mapped them
  for (int i = 0; i < 2; i++) {
    pair.n = ends[i];
    call("cuLaunchKernel", &turn, "turn");
  }
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  turn<<<1, 64>>>({x, y, 0000000000000000})\n"
                   "  1  turn<<<1, 64>>>({x, y, 0000000000000000})\n");
  plan_release(&f.plan);
  f.plan = (struct plan){0};
  assay_lift_begin(0);
  scale(f.x, lives + 4096 + 512); // but a little after what lives is a mistake
  assert_null(assay_lift_end());
  assert_int_equal(read_log(&f, 0, &f.plan, &f.report), ASSAY_OK);
  assert_int_equal(f.report.outcome, PLAN_REFUSED);
  teardown(&f);
}

// What may begin before the launch before it has ended must have one.
static void programmatic_launches(void **state) {
  (void)state;
  struct fixture f;
  struct cu_launch_attribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                      .value.programmatic_stream_serialization_allowed = 1};
  int n = N;
  setup(&f);
  void *arguments[] = {&f.x, &f.y, &n};
  const struct cu_launch_config config = {
      .grid_x = 1, .grid_y = 1, .grid_z = 1, .block_x = 64, .block_y = 1, .block_z = 1, .attrs = &early, .n_attrs = 1};
  const struct call_launch_ex l = {.config = &config, .function = (CUfunction)0x101, .params = arguments};
  assay_lift_begin(0);
  call("cuLaunchKernelEx", &l, "scale");
  call("cuLaunchKernelEx", &l, "scale");
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  scale<<<1, 64>>>(x, y, 1000)\n"
                   "  1  scale<<<1, 64>>>(x, y, 1000) programmatic\n");
  teardown(&f);
}

static void what_no_plan_holds(void **state) {
  (void)state;
  static const struct {
    const char *name, *why;
  } calls[] = {{"cuMemcpyDtoHAsync_v2", "reads results back"},
               {"cuGraphLaunch_ptsz", "cuGraphLaunch"},
               {"cuEventElapsedTime_v2", "reads the time between two events"},
               {"cuMemcpy3D_v2", "cuMemcpy3D"},
               {"cuStreamBeginCapture_v2_ptsz", "cuStreamBeginCapture"},
               {"cuMemAllocManaged", "cuMemAllocManaged"},
               {"cuLaunchHostFunc", "cuLaunchHostFunc"}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    struct fixture f;
    setup(&f);
    const struct call_copy params = {0, f.x, 16, NULL};
    call(calls[i].name, &params, NULL); // not recorded: ignored
    assay_lift_begin(0);
    call(calls[i].name, &params, NULL);
    scale(f.x, f.y);
    expect_refused(&f, calls[i].why);
    teardown(&f);
  }
  struct fixture f;
  setup(&f);
  assay_lift_begin(0);
  const struct call_launch l = {.function = (CUfunction)0x101, .grid = {1, 1, 1}, .block = {1, 1, 1}};
  call("cuLaunchKernel", &l, "nobody");
  expect_refused(&f, "its device code is not known");
  assay_lift_begin(0);
  call("cuLaunchKernel", &l, "scale");
  expect_refused(&f, "parameters cannot be read");
  teardown(&f);
}

// Two recordings with other tensors are one plan, unless something depends on data, addresses or calls before.
static void two_recordings(void **state) {
  (void)state;
  static const char *const expected[] = {NULL, "argument 2 of step 0, launch of scale", "1 steps and not 2",
                                         "argument 0 of step 0", "is something else"};
  for (int change = 0; change < 5; change++) {
    struct fixture f;
    struct plan second = {0};
    struct plan_report report = {0};
    char text[256] = "";
    setup(&f);
    for (int i = 0; i < LIFT_LOGS; i++) {
      uint64_t x = lift->memory.tensors[i][0].real, y = lift->memory.tensors[i][1].real;
      uint32_t word = change == 4 ? (uint32_t)i : 0;
      assay_lift_begin(i);
      uint64_t a = take(4 * N);
      scale_on(0x101, change == 3 && i ? x + 16 : x, a, change == 1 ? N - i : N, NULL);
      const struct call_copy up = {a, (uint64_t)(uintptr_t)&word, 4, NULL};
      if (change == 4)
        call("cuMemcpyHtoD_v2", &up, NULL);
      if (change != 2 || i == 0)
        scale(a, y);
      assert_null(assay_lift_end());
    }
    assert_int_equal(read_log(&f, 0, &f.plan, &f.report), ASSAY_OK);
    assert_int_equal(read_log(&f, 1, &second, &report), ASSAY_OK);
    assert_int_equal(f.report.outcome, PLAN_MADE);
    assert_int_equal(report.outcome, PLAN_MADE);
    assert_int_equal(plan_difference(&f.plan, &second, text, sizeof text), change != 0);
    if (change && !strstr(text, expected[change]))
      fail_msg("\"%s\" says nothing of \"%s\"", text, expected[change]);
    plan_release(&second);
    teardown(&f);
  }
}

// turn<<<>>>({x, y, n, gap}) twice, with other tensors; and what the second recording had instead.
struct pair {
  uint64_t x, y;
  uint32_t n, gap;
};

static void turn(const struct pair *pair) {
  void *arguments[] = {(void *)pair};
  const struct call_launch l = {
      .function = (CUfunction)0x102, .grid = {1, 1, 1}, .block = {64, 1, 1}, .params = arguments};
  call("cuLaunchKernel", &l, "turn");
}

// Gaps in structs hold what the stack held.
static void gaps(void **state) {
  (void)state;
  static const struct {
    uint32_t gap[2];
    int y[2]; // 0: the output, 1: the input, 2: nothing
    uint32_t unsettled;
    const char *step; // NULL: they are two plans
  } cases[] = {
      {{7, 7}, {0, 0}, 0, "  0  turn<<<1, 64>>>({x, y, 4000000007000000})\n"},
      {{0x01020304, 0x01050304}, {0, 0}, 1, "  0  turn<<<1, 64>>>({x, y, 4000000004030001} ~1)\n"},
      {{7, 0x01020304}, {0, 0}, 4, "  0  turn<<<1, 64>>>({x, y, 4000000000000000} ~4)\n"},
      {{7, 7}, {0, 2}, 8, "  0  turn<<<1, 64>>>({x, 00000000000000004000000007000000} ~8)\n"},
      {{7, 7}, {2, 0}, 8, "  0  turn<<<1, 64>>>({x, 00000000000000004000000007000000} ~8)\n"},
      {{7, 7}, {0, 1}, 0, NULL},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct fixture f;
    struct plan second = {0}, again = {0};
    struct plan_report report = {0};
    struct buf shown = {0}, json = {0};
    char text[256] = "";
    setup(&f);
    for (int i = 0; i < LIFT_LOGS; i++) {
      const uint64_t places[] = {lift->memory.tensors[i][1].real, lift->memory.tensors[i][0].real,
                                 UINT64_C(0x1111111111111111) * (1 + (uint64_t)i)};
      assay_lift_begin(i);
      turn(&(struct pair){lift->memory.tensors[i][0].real, places[cases[k].y[i]], 64, cases[k].gap[i]});
      assert_null(assay_lift_end());
    }
    assert_int_equal(read_log(&f, 0, &f.plan, &f.report), ASSAY_OK);
    assert_int_equal(read_log(&f, 1, &second, &report), ASSAY_OK);
    assert_int_equal(plan_difference(&f.plan, &second, text, sizeof text), cases[k].step == NULL);
    if (!cases[k].step) {
      assert_non_null(strstr(text, "argument 0 of step 0, launch of turn"));
    } else {
      assert_int_equal(plan_print(&f.plan, &shown, &f.err), ASSAY_OK);
      if (!strstr(buf_str(&shown), cases[k].step))
        fail_msg("%s\nhas not\n%s", buf_str(&shown), cases[k].step);
      assert_int_equal(strstr(buf_str(&shown), "1 argument is marked ~N") != NULL, cases[k].unsettled > 0);
      assert_int_equal(plan_print_json(&f.plan, &json, &f.err), ASSAY_OK);
      assert_int_equal(plan_parse(buf_str(&json), json.len, &again, &f.err), ASSAY_OK);
      assert_int_equal(again.steps[0].arguments[0].unsettled, cases[k].unsettled);
      assert_int_equal(plan_unsettled(&again), cases[k].unsettled > 0);
    }
    plan_release(&second);
    plan_release(&again);
    plan_report_release(&report);
    buf_release(&shown);
    buf_release(&json);
    teardown(&f);
  }
}

// Memory that only the driver knows of, and what lies next to it.
static struct {
  uint64_t start;
  size_t bytes;
  unsigned int type;
} unseen;

static enum cu_result pointer_attribute(void *data, int attribute, uint64_t address) {
  if (address < unseen.start || address >= unseen.start + unseen.bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute == 2)
    memcpy(data, &unseen.type, sizeof unseen.type);
  else if (attribute == 11)
    memcpy(data, &unseen.start, sizeof unseen.start);
  else
    memcpy(data, &unseen.bytes, sizeof unseen.bytes);
  return CUDA_SUCCESS;
}

static uint64_t low_half(uint64_t word) {
  return word & UINT32_MAX;
}

// Two numbers of 32 bits side by side can look like an address, of memory that lives, that is gone, or next to it. An
// address is another in the second recording.
static void numbers_like_addresses(void **state) {
  (void)state;
  enum what { INSIDE, GONE, BEHIND, BEHIND_EACH, ELSEWHERE, GONE_EACH, BESIDE, HALF, HALF_SEEN, UNSEEN, UNSEEN_EACH };
  static float table[64];
  static const struct {
    enum what what;
    uint32_t unsettled;
    const char *why; // NULL: one plan, with the word as it was
  } cases[] = {{INSIDE, 0, NULL},
               {GONE, 0, NULL},
               {BEHIND, 0, NULL},
               {BEHIND_EACH, 0, "turn: kernel argument 0 points to x+70000 bytes, outside of its 4000 bytes"},
               {ELSEWHERE, 4, NULL}, // the upper halves are the same by chance
               {GONE_EACH, 4, NULL},
               {BESIDE, 0, "turn: kernel argument 0 points to state 0-512 bytes, outside of its 4096 bytes"},
               {HALF, 4, NULL},
               {HALF_SEEN, 4, NULL}, // in memory that has another address in the log
               {UNSEEN, 8, NULL},
               {UNSEEN_EACH, 0, "turn: kernel argument 0 points to 0x"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct fixture f;
    uint64_t word = 0, gone = 0;
    char text[TEXT_BYTES];
    setup(&f);
    unseen.start = (uint64_t)(uintptr_t)table;
    unseen.bytes = sizeof table;
    unseen.type = 2;
    lift->driver.cuPointerGetAttribute = pointer_attribute;
    uint64_t seen = unseen.start, before = take(4096);
    assay_lift_look(1);
    if (cases[k].what == HALF_SEEN)
      scale(seen, f.y);
    assay_lift_look(0);
    for (int i = 0; i < LIFT_LOGS; i++) {
      uint64_t x = lift->memory.tensors[i][0].real, y = lift->memory.tensors[i][1].real;
      assay_lift_begin(i);
      uint64_t temporary = take(4096);
      assay_lift_free((void *)(uintptr_t)temporary, 4096, 0, NULL);
      gone = i ? gone : temporary;
      const uint64_t words[] = {
          [INSIDE] = lift->memory.tensors[0][0].real + 24, // of the first recording's input: nothing in the second
          [GONE] = gone + 8,
          [GONE_EACH] = temporary + 8,
          [BESIDE] = before - 512, // of memory that both mention
          [BEHIND] = lift->memory.tensors[0][1].real + 70000,
          [BEHIND_EACH] = x + 70000,
          [ELSEWHERE] = i ? y + 70000 : x + 90000,
          [HALF_SEEN] = i ? low_half(seen + 16) : seen + 16,
          [UNSEEN] = i ? UINT64_C(0x123456789abcdef0) : seen + 16,
          [UNSEEN_EACH] = seen + 16,
          [HALF] =
              i ? low_half(lift->memory.tensors[0][0].real + 16) + ((uint64_t)7 << 32) : x + 16, // {a number, a gap}
      };
      word = words[cases[k].what];
      if (cases[k].what == HALF_SEEN)
        scale(seen, y);
      if (cases[k].what == BESIDE)
        scale(before, y);
      const uint64_t numbers[] = {x, y, word};
      void *arguments[] = {(void *)numbers};
      const struct call_launch l = {
          .function = (CUfunction)0x102, .grid = {1, 1, 1}, .block = {64, 1, 1}, .params = arguments};
      call("cuLaunchKernel", &l, "turn");
      assert_null(assay_lift_end());
    }
    if (compare_logs(&f, text) != (cases[k].why ? POINTS_OUTSIDE : ONE_PLAN))
      fail_msg("%zu: %s", k, text);
    if (cases[k].why) {
      if (!strstr(text, cases[k].why))
        fail_msg("\"%s\" says nothing of \"%s\"", text, cases[k].why);
    } else {
      const struct plan_argument *a = &f.plan.steps[f.plan.n_steps - 1].arguments[0];
      uint64_t kept;
      memcpy(&kept, a->bytes + 16, sizeof kept);
      assert_int_equal(a->n_pointers, 2);
      assert_int_equal(a->unsettled, cases[k].unsettled);
      uint64_t half = cases[k].what == UNSEEN ? 0 : low_half(word);
      bool upper = cases[k].what == ELSEWHERE || cases[k].what == GONE_EACH;
      uint64_t expected = upper ? word - low_half(word) : word;
      for (int i = 0; i < a->n_pointers; i++)
        assert_int_equal(a->pointers[i].doubt, PLAN_NO_DOUBT);
      assert_true(kept == (cases[k].what >= HALF ? half : expected));
    }
    teardown(&f);
  }
}

// Leftovers mention other memory in each recording, so that a buffer has another number: what points into it is still a
// pointer.
static void memory_of_another_number(void **state) {
  (void)state;
  struct fixture f;
  char text[TEXT_BYTES];
  setup(&f);
  uint64_t one = take(4096), two = take(4096), three = take(4096);
  for (int i = 0; i < LIFT_LOGS; i++) {
    uint64_t x = lift->memory.tensors[i][0].real;
    assay_lift_begin(i);
    turn(&(struct pair){x, i == 0 ? one : UINT64_C(0x1111111111111111), 64, 0});
    turn(&(struct pair){x, i == 1 ? three : UINT64_C(0x2222222222222222), 64, 0});
    scale(two, lift->memory.tensors[i][1].real);
    assert_null(assay_lift_end());
  }
  assert_int_equal(compare_logs(&f, text), TWO_PLANS);
  assert_non_null(strstr(text, "argument 0 of step 2, launch of scale"));
  teardown(&f);
}

// What a struct pointed to unseen in one recording is known in the next.
static void memory_seen_too_late(void **state) {
  (void)state;
  static float table[64];
  struct fixture f;
  char text[TEXT_BYTES];
  setup(&f);
  unseen.start = (uint64_t)(uintptr_t)table;
  unseen.bytes = sizeof table;
  unseen.type = 2;
  lift->driver.cuPointerGetAttribute = pointer_attribute;
  for (int i = 0; i < LIFT_LOGS; i++) {
    assay_lift_begin(i);
    turn(&(struct pair){lift->memory.tensors[i][0].real, unseen.start, 64, 0});
    scale(unseen.start, lift->memory.tensors[i][1].real);
    assert_null(assay_lift_end());
  }
  assert_int_equal(compare_logs(&f, text), POINTS_OUTSIDE);
  assert_non_null(strstr(text, "memory that nobody saw being allocated"));
  teardown(&f);
}

// Of 8 bytes, a functor with a number after it may have padding; a number that is another is another call.
static void numbers_and_functors(void **state) {
  (void)state;
  static const struct {
    uint64_t words[2];
    bool same;
  } cases[] = {
      {{UINT64_C(0x4000000000000011), UINT64_C(0x40000000000055aa)}, true},  // {functor, 2.0f}
      {{UINT64_C(0x1111111140000000), UINT64_C(0x5511111140000000)}, true},  // {2.0f, bool}
      {{1, 2}, false},                                                       // a count
      {{UINT64_C(0x3ff0000000000000), UINT64_C(0x4000000000000000)}, false}, // 1.0 and 2.0
      {{UINT64_C(0x123456789abcdef0), UINT64_C(0x0fedcba987654321)}, false}, // a seed
      {{UINT64_C(0x7fffabcd1000), UINT64_C(0x7ffe12342000)}, true},          // what the stack held
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    uint8_t bytes[2][8];
    struct plan plans[2] = {0};
    struct plan_argument arguments[2];
    struct plan_module modules[2] = {{.name = "m", .bytes = (const uint8_t *)"", .size = 1},
                                     {.name = "m", .bytes = (const uint8_t *)"", .size = 1}};
    struct plan_step steps[2];
    char text[256];
    for (int i = 0; i < 2; i++) {
      memcpy(bytes[i], &cases[k].words[i], 8);
      arguments[i] = (struct plan_argument){.kind = PLAN_BYTES, .size = 8, .bytes = bytes[i]};
      steps[i] = (struct plan_step){.kind = PLAN_LAUNCH, .kernel = "k", .n_arguments = 1, .arguments = &arguments[i]};
      plans[i].n_modules = plans[i].n_steps = 1;
      plans[i].modules = &modules[i];
      plans[i].steps = &steps[i];
    }
    assert_int_equal(plan_difference(&plans[0], &plans[1], text, sizeof text), !cases[k].same);
    assert_int_equal(plan_unsettled(&plans[0]), cases[k].same);
  }
}

// PyTorch's functor for powers is 8 bytes of what the stack held: pointers of other calls. Anywhere else that is two
// plans.
static void functors_of_pytorch(void **state) {
  (void)state;
  static const char power[] =
      "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS_29pow_tensor_scalar_kernel_implIffE_EEviT0_T1_";
  static const char complex_power[] =
      "_ZN2at6native29vectorized_elementwise_kernelILi4EZNS_24pow_tensor_scalar_kernelE_EEviT0_T1_";
  static const struct {
    const char *kernel;
    int at, to[2]; // which argument; the buffer that is pointed to, -1: none
    bool same;
  } cases[] = {
      {power, 1, {0, 1}, true},   {power, 1, {0, -1}, true},
      {power, 1, {-1, -1}, true}, {complex_power, 1, {-1, -1}, false},
      {power, 1, {-1, 0}, true},  {power, 2, {0, 1}, false},
      {power, 0, {0, 1}, false},  {"k", 1, {0, 1}, false},
      {"k", 1, {0, -1}, false},   {"_ZN2at6native13reduce_kernelE", 1, {0, 1}, false},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    uint8_t bytes[2][3][8] = {{{0}}};
    struct plan plans[2] = {0};
    struct plan_buffer buffers[2] = {{.name = "x", .role = PLAN_INPUT, .bytes = 64},
                                     {.name = "y", .role = PLAN_OUTPUT, .bytes = 64}};
    struct plan_argument arguments[2][3];
    struct plan_pointer pointers[2] = {{0}};
    struct plan_module module = {.name = "m", .bytes = (const uint8_t *)"", .size = 1};
    struct plan_step steps[2];
    char text[256];
    for (int i = 0; i < 2; i++) {
      pointers[i].buffer = cases[k].to[i];
      pointers[i].word = i ? UINT64_C(0x3a8e50000100) : UINT64_C(0x3a7d40000200);
      for (int j = 0; j < 3; j++)
        arguments[i][j] = (struct plan_argument){.kind = PLAN_BYTES, .size = 8, .bytes = bytes[i][j]};
      if (cases[k].to[i] >= 0) {
        arguments[i][cases[k].at].pointers = &pointers[i];
        arguments[i][cases[k].at].n_pointers = 1;
      } else {
        memset(bytes[i][cases[k].at], i ? 0x5a : 0xa5, 8);
      }
      steps[i] = (struct plan_step){
          .kind = PLAN_LAUNCH, .kernel = cases[k].kernel, .n_arguments = 3, .arguments = arguments[i]};
      plans[i] = (struct plan){.n_modules = 1, .modules = &module, .n_buffers = 2, .buffers = buffers, .n_steps = 1};
      plans[i].steps = &steps[i];
    }
    if (plan_difference(&plans[0], &plans[1], text, sizeof text) == cases[k].same)
      fail_msg("case %zu", k);
    if (cases[k].same) {
      const uint8_t nothing[8] = {0};
      assert_int_equal(arguments[0][1].n_pointers, 0);
      assert_memory_equal(arguments[0][1].bytes, nothing, 8);
      assert_int_equal(plan_unsettled(&plans[0]), 1);
    }
  }
}

static void memory_that_nobody_saw(void **state) {
  (void)state;
  static float table[64];
  for (int looked = 0; looked < 2; looked++)
    for (unsigned int type = 1; type <= 2; type++) {
      struct fixture f;
      setup(&f);
      table[3] = 2.5f;
      unseen.start = (uint64_t)(uintptr_t)table;
      unseen.bytes = sizeof table;
      unseen.type = type;
      lift->driver.cuPointerGetAttribute = pointer_attribute;
      if (looked) {
        assay_lift_look(1);
        scale((uint64_t)(uintptr_t)(table + 4), f.y);
        assay_lift_look(0);
      }
      assay_lift_begin(0);
      scale((uint64_t)(uintptr_t)(table + 4), f.y);
      scale(f.x, f.y);
      assert_null(assay_lift_end());
      // Looked at before, what it holds is known.
      expect_steps(&f, looked ? "  0  scale<<<4, 256>>>(state 0+16, y, 1000)\n"
                                "  1  scale<<<4, 256>>>(x, y, 1000)\n"
                              : "  0  scale<<<4, 256>>>(scratch 0+16, y, 1000)\n"
                                "  1  scale<<<4, 256>>>(x, y, 1000)\n");
      const struct plan_buffer *b = &f.plan.buffers[f.plan.steps[0].arguments[0].pointers[0].buffer];
      assert_int_equal(b->bytes, sizeof table);
      if (looked)
        assert_memory_equal(b->data, table, sizeof table);
      teardown(&f);
    }
}

// The end of one allocation is the beginning of the next: the next is meant, whichever was taken first.
static void neighbours(void **state) {
  (void)state;
  static float two[128];
  for (int order = 0; order < 2; order++) {
    struct fixture f;
    setup(&f);
    for (int i = 0; i < 2; i++) {
      uint64_t address = (uint64_t)(uintptr_t)(two + 64 * (order ? 1 - i : i));
      const struct call_alloc a = {&address, 256};
      call("cuMemAlloc_v2", &a, NULL);
    }
    two[64] = 3;
    assay_lift_begin(0);
    scale((uint64_t)(uintptr_t)(two + 64), f.y);
    assert_null(assay_lift_end());
    expect_steps(&f, "  0  scale<<<4, 256>>>(state 0, y, 1000)\n");
    const struct plan_buffer *b = &f.plan.buffers[f.plan.steps[0].arguments[0].pointers[0].buffer];
    assert_memory_equal(b->data, two + 64, 256);
    teardown(&f);
  }
}

// The driver puts memory of its own between the task's tensors. When that memory is gone, a word that pointed into it
// (in both recordings) is not an address of its neighbours. An address into memory that is there stays one.
static void memory_between(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  uint64_t later = take(4096), own = f.requests[1]->first_free - ((uint64_t)150 << 20);
  assert_true(later > own);
  const struct call_alloc a = {&own, 512};
  const struct call_free gone = {own};
  call("cuMemAlloc_v2", &a, NULL);
  call("cuMemFree_v2", &gone, NULL);
  for (int i = 0; i < LIFT_LOGS; i++) {
    uint64_t x = lift->memory.tensors[i][0].real;
    assay_lift_begin(i);
    scale(x, later);
    turn(&(struct pair){x, later, 64, 0});
    turn(&(struct pair){x, own + 16, 64, 0}); // a struct's unused part
    scale(x, lift->memory.tensors[i][1].real);
    assert_null(assay_lift_end());
  }
  struct buf shown = {0};
  char text[TEXT_BYTES];
  if (compare_logs(&f, text) != ONE_PLAN)
    fail_msg("%s", text);
  assert_int_equal(plan_print(&f.plan, &shown, &f.err), ASSAY_OK);
  assert_non_null(strstr(buf_str(&shown), "  0  scale<<<4, 256>>>(x, state 0, 1000)\n"
                                          "  1  turn<<<1, 64>>>({x, state 0, 4000000000000000})\n"
                                          "  2  turn<<<1, 64>>>({x, "));
  assert_int_equal(f.plan.steps[2].arguments[0].n_pointers, 1);
  assert_int_equal(plan_unsettled(&f.plan), 0);
  buf_release(&shown);
  teardown(&f);
}

// Memory that is mapped, or taken by rows, is memory like any other.
static void memory_of_other_ways(void **state) {
  (void)state;
  struct fixture f;
  static float mapped[64], rows[64];
  uint64_t address = (uint64_t)(uintptr_t)rows;
  size_t pitch = 64;
  setup(&f);
  const struct call_map map_call = {(uint64_t)(uintptr_t)mapped, sizeof mapped};
  const struct call_alloc_pitch by_rows = {&address, &pitch, 60, 4};
  call("cuMemMap", &map_call, NULL);
  call("cuMemAllocPitch_v2", &by_rows, NULL);
  assay_lift_begin(0);
  scale((uint64_t)(uintptr_t)(mapped + 4), f.y);
  scale((uint64_t)(uintptr_t)(rows + 8), f.y);
  assert_null(assay_lift_end());
  expect_steps(&f, "  0  scale<<<4, 256>>>(state 0+16, y, 1000)\n"
                   "  1  scale<<<4, 256>>>(state 1+32, y, 1000)\n");
  call("cuMemUnmap", &map_call, NULL);
  assert_null(address_map_find(&lift->memory, (uint64_t)(uintptr_t)mapped));
  teardown(&f);
}

// One process records one workload after another: what lives on is memory from before in the next, in its log's order.
static void workload_after_workload(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  uint64_t first_free = f.requests[1]->first_free, table = 0;
  static float foreign[64];
  uint64_t foreign_address = (uint64_t)(uintptr_t)foreign;
  for (int i = 0; i < LIFT_LOGS; i++) { // the fixture's are the test's own
    munmap(f.logs[i], RECORD_LOG_BYTES);
    lift->logs[i] = NULL;
    lift->requests[i] = NULL;
    lift->memory.n_tensors[i] = 0;
  }
  for (int workload = 0; workload < 2; workload++) {
    int fds[2 * LIFT_LOGS];
    moved = ((uint64_t)1 << 40) * (uint64_t)(1 + workload); // the first one's addresses are taken for ever
    for (int i = 0; i < LIFT_LOGS; i++) {
      f.requests[i]->first_free = first_free;
      assert_int_equal(record_make_files(f.requests[i], sizeof *f.requests[i] + 2 * sizeof(struct record_tensor),
                                         &fds[(size_t)2 * (size_t)i], &f.err),
                       ASSAY_OK);
    }
    assert_null(assay_lift_open(fds[0], fds[1], fds[2], fds[3]));
    for (int i = 0; i < 2 * LIFT_LOGS; i++)
      close(fds[i]);
    assert_int_equal(lift->logs[0]->stage, RECORD_LOADING);
    for (int i = 0; i < LIFT_LOGS; i++)
      f.logs[i] = lift->logs[i];
    f.x = lift->memory.tensors[0][0].real;
    f.y = lift->memory.tensors[0][1].real;
    if (workload == 0) {
      uint64_t gone = take(4096);
      const struct call_alloc a = {&foreign_address, sizeof foreign};
      table = take(4 * N);
      memset((void *)(uintptr_t)table, 5, 4 * N);
      call("cuMemAlloc_v2", &a, NULL);
      assay_lift_free((void *)(uintptr_t)gone, 4096, 0, NULL);
    }
    lift->driver.cuPointerGetAttribute = pointer_attribute; // of the tensors too
    unseen.start = f.x;
    unseen.bytes = 4 * N;
    unseen.type = 2;
    assay_lift_look(1);
    scale(f.x, f.y);
    assay_lift_look(0);
    assay_lift_begin(0);
    scale(table, f.y);
    scale(foreign_address, f.y);
    uint64_t between = take(64);
    scale(f.x, between);
    assert_null(assay_lift_end());
    expect_steps(&f, "  0  scale<<<4, 256>>>(state 0, y, 1000)\n"
                     "  1  scale<<<4, 256>>>(state 1, y, 1000)\n"
                     "  2  scale<<<4, 256>>>(x, scratch 0, 1000)\n");
    assert_int_equal(f.plan.buffers[f.plan.steps[0].arguments[0].pointers[0].buffer].data[17], 5);
    assay_lift_begin(1);
    assert_null(assay_lift_end());
    plan_release(&f.plan);
    f.plan = (struct plan){0};
  }
  moved = 0;
  teardown(&f);
}

// Memory from before that is as it was: a constant, unless the recording itself writes to it, or it is changed after
// the other recording. What is large and changes is workspace, and so is what is large and written to; where that is
// not empty, it is reported, can be emptied to see whether anybody reads it, and put back. So is what is so large that
// nobody looks at it.
static void workspaces(void **state) {
  (void)state;
  enum { UNTOUCHED = 0, FILLED, CHANGED, FILLED_TABLE, UNSEEN, WAYS };
  for (int way = 0; way < WAYS; way++) {
    const size_t bytes = way == UNSEEN ? (size_t)65 << 20 : (size_t)2 << 20;
    struct fixture f;
    struct plan second = {0};
    struct plan_report report = {0};
    char text[256] = "";
    setup(&f);
    uint64_t table = take(bytes);
    if (way == FILLED_TABLE || way == UNSEEN)
      memset((void *)(uintptr_t)(table + 4096), 7, 64);
    for (int i = 0; i < LIFT_LOGS; i++) {
      assay_lift_begin(i);
      if (way == FILLED || way == FILLED_TABLE) {
        const struct call_fill32 fill = {table, 0, 64, NULL}; // zero as it was
        call("cuMemsetD32Async", &fill, NULL);
      }
      scale(table, lift->memory.tensors[i][1].real);
      if (way == CHANGED && i == 1) // by a kernel
        memset((void *)(uintptr_t)table, 7, 64);
      assert_null(assay_lift_end());
    }
    const char *inside = (const char *)(uintptr_t)(table + 4096);
    const int n = way == FILLED_TABLE || way == UNSEEN, held = n ? 7 : 0;
    assert_int_equal(assay_lift_left_overs(0), n);
    assert_int_equal(f.logs[1]->stage, n ? RECORD_REFUSED : RECORD_RETURNED);
    assert_int_equal(inside[0], held);
    assert_int_equal(assay_lift_left_overs(1), n);
    assert_int_equal(inside[0], 0);
    assert_int_equal(assay_lift_left_overs(2), n);
    assert_int_equal(f.logs[0]->stage, n ? RECORD_REFUSED : RECORD_RETURNED);
    assert_int_equal(assay_lift_left_overs(3), 0);
    assert_int_equal(f.logs[0]->stage, RECORD_RETURNED);
    assert_int_equal(inside[0], held);
    assert_int_equal(assay_lift_left_overs(0), 0);
    assert_int_equal(read_log(&f, 0, &f.plan, &f.report), ASSAY_OK);
    assert_int_equal(read_log(&f, 1, &second, &report), ASSAY_OK);
    if (plan_difference(&f.plan, &second, text, sizeof text))
      fail_msg("way %d: %s", way, text);
    const struct plan_step *last = &f.plan.steps[f.plan.n_steps - 1];
    const struct plan_buffer *b = &f.plan.buffers[last->arguments[0].pointers[0].buffer];
    assert_int_equal(b->bytes, bytes);
    assert_int_equal(b->role, way == UNTOUCHED ? PLAN_CONSTANT : PLAN_SCRATCH);
    assert_int_equal(b->data != NULL, way == UNTOUCHED);
    assert_int_equal(b->zeroed, way != UNTOUCHED);
    struct plan_limits limits;
    const struct plan_expectation expected = {1, 1, &f.tensor, &f.tensor};
    plan_limits_of_target("sm_90a", &limits);
    if (plan_check(&f.plan, &limits, &expected, &f.err))
      fail_msg("way %d: %s", way, f.err.message);
    plan_release(&second);
    plan_report_release(&report);
    teardown(&f);
  }
}

static void shares(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  assay_lift_begin(0);
  scale(f.x, f.y);
  assert_null(assay_lift_end());
  assay_lift_time(1);
  scale(f.x, f.y);
  scale(f.x, f.y);
  assay_lift_time(0);
  expect_steps(&f, "  0  scale<<<4, 256>>>(x, y, 1000)\n");
  assert_true(f.report.shares.known);
  assert_int_equal(f.report.shares.launches[PLAN_OWN], 2);
  assert_int_equal(f.report.shares.ns[PLAN_OWN], 1000000);
  assert_int_equal(f.report.shares.launches[PLAN_PYTORCH], 0);
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fresh_result_is_the_output),
      cmocka_unit_test(work_of_every_kind),
      cmocka_unit_test(memory_elsewhere),
      cmocka_unit_test(memory_that_is_not_there_is_remembered),
      cmocka_unit_test(memory_is_rounded),
      cmocka_unit_test(memory_from_before),
      cmocka_unit_test(memory_of_others),
      cmocka_unit_test(tensor_maps),
      cmocka_unit_test(streams),
      cmocka_unit_test(streams_of_libraries),
      cmocka_unit_test(streams_are_made),
      cmocka_unit_test(modules_of_one_name),
      cmocka_unit_test(what_no_plan_holds),
      cmocka_unit_test(modules_by_size),
      cmocka_unit_test(stale_words),
      cmocka_unit_test(programmatic_launches),
      cmocka_unit_test(two_recordings),
      cmocka_unit_test(gaps),
      cmocka_unit_test(numbers_like_addresses),
      cmocka_unit_test(memory_of_another_number),
      cmocka_unit_test(memory_seen_too_late),
      cmocka_unit_test(numbers_and_functors),
      cmocka_unit_test(functors_of_pytorch),
      cmocka_unit_test(memory_that_nobody_saw),
      cmocka_unit_test(neighbours),
      cmocka_unit_test(memory_between),
      cmocka_unit_test(memory_of_other_ways),
      cmocka_unit_test(workload_after_workload),
      cmocka_unit_test(workspaces),
      cmocka_unit_test(shares),
      cmocka_unit_test(memory_of_the_warm_up),
      cmocka_unit_test(a_warm_up_does_not_wait),
      cmocka_unit_test(the_warm_up_ends_with_a_wait),
      cmocka_unit_test(memory_of_several_streams),
      cmocka_unit_test(memory_of_a_graph),
      cmocka_unit_test(a_search_before_the_recording),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
