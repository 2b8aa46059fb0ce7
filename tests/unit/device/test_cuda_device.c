// SPDX-License-Identifier: Apache-2.0
// The CUDA device against a driver that only remembers: memory with nothing around it, the order of what is queued, and
// what happens after refusals. What only a GPU can say is in tests/gpu/device.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/made_plan.h"
#include "fake_cuda.h"

enum { MIB = 1 << 20 };

static struct made_plan made;
static struct device device;
static volatile struct cuda_gate gate;

static CUfunction letter_function(char c) {
  return (CUfunction)(uintptr_t)(unsigned char)c;
}

static CUevent letter_event(char c) {
  return (CUevent)(uintptr_t)(unsigned char)c;
}

// One input of 8 MiB (descriptor 8), one output of 2 MiB (descriptor 2).
static const struct device_buffer input = {.fd = 8, .map_bytes = 8 * MIB, .offset = 8 * MIB - 4096, .bytes = 4096};
static const struct device_buffer output = {
    .fd = 2, .map_bytes = 2 * MIB, .offset = 2 * MIB - 1024, .bytes = 1000, .writable = 1};

static int fresh(void **state) {
  (void)state;
  memset(&fake, 0, sizeof fake);
  fake.fail_create = fake.fail_launch = fake.fail_sync_after = -1;
  fake.stack = 1024;
  fake.next_address = (uint64_t)1 << 40;
  fake.kernel_parameters[0] = fake.kernel_parameters[1] = 8;
  gate = (struct cuda_gate){0};
  fake.opens_at = 1000000;
  fake.ended = 1260000;
  device = (struct device){.cu = &fake_driver, .granule = FAKE_GRANULE, .facts = {.processors = 4}};
  device.gate = &gate;
  device.read = letter_function('R');
  device.empty = letter_function('E');
  device.leave = letter_function('g');
  device.hold = letter_function('h');
  device.stamp = letter_function('t');
  device.confirm = letter_function('c');
  device.start = letter_event('<');
  device.end = letter_event('>');
  device.prepare_start = letter_event('p');
  device.prepare_end = letter_event('q');
  fake.device = &device;
  made_begin(&made, "good", 4, "sm_90a");
  made_buffer(&made, PLAN_INPUT, 0, input.bytes, NULL);
  made_buffer(&made, PLAN_OUTPUT, 0, output.bytes, NULL);
  return 0;
}

static void nothing_is_left(void) {
  assert_int_equal(fake.handles, 0);
  for (int i = 0; i < fake.n_mappings; i++) {
    assert_false(fake.mappings[i].live);
    assert_int_equal(fake.mappings[i].bytes, 0);
  }
}

static const struct device_work work = {&made.plan, 1, 1, &input, &output};

static struct device_report load(void) {
  struct device_report report;
  struct assay_error err = {0};
  assert_int_equal(cuda_load(&device, &work, &report, &err), ASSAY_OK);
  if (report.event == DEVICE_OK) {
    assert_non_null(device.loaded);
  } else {
    assert_null(device.loaded);
    nothing_is_left();
  }
  return report;
}

static struct device_report call(enum device_mode mode) {
  struct device_report report;
  struct assay_error err = {0};
  fake.n_log = 0;
  assert_int_equal(cuda_call(&device, mode, &report, &err), ASSAY_OK);
  return report;
}

static struct plan_step *launch(void) {
  struct plan_step *s = made_launch(&made, "kernel", 1, 32);
  made_pointer(&made, s, 0, 16);
  made_pointer(&made, s, 1, 8);
  return s;
}

// ---- memory

static void nothing_lies_around_a_buffer(void **state) {
  (void)state;
  launch();
  assert_int_equal(load().event, DEVICE_OK);
  for (int i = 0; i < 2; i++) {
    const struct fake_mapping *m = &fake.mappings[i];
    assert_int_equal(m->access, i == 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    assert_int_equal(m->bytes, i == 0 ? input.map_bytes : output.map_bytes);
    assert_true(m->address >= m->reserved + FAKE_GRANULE);
    assert_true(m->address + m->bytes + FAKE_GRANULE <= m->reserved + m->reserved_bytes);
    assert_int_equal(device.loaded->addresses[i], m->address + (i == 0 ? input.offset : output.offset));
  }
  cuda_unload(&device);
  assert_null(device.loaded);
  nothing_is_left();
}

static void scratch_and_constants_end_where_their_mapping_ends(void **state) {
  (void)state;
  static const uint8_t data[3000000];
  int scratch = made_buffer(&made, PLAN_SCRATCH, 0, 5000, NULL);
  int aligned = made_buffer(&made, PLAN_SCRATCH, 0, 5000, NULL);
  made.buffers[aligned].alignment = MIB;
  int constant = made_buffer(&made, PLAN_CONSTANT, 0, sizeof data, data);
  assert_int_equal(load().event, DEVICE_OK);
  const uint64_t *a = device.loaded->addresses;
  const struct fake_mapping *m = fake_find(a[scratch]);
  assert_true(m->address + m->bytes - (a[scratch] + 5000) < 256);
  assert_int_equal(a[scratch] % 256, 0);
  assert_int_equal(m->access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  m = fake_find(a[aligned]);
  assert_int_equal(a[aligned] % MIB, 0);
  assert_true(a[aligned] + 5000 <= m->address + m->bytes);
  m = fake_find(a[constant]);
  assert_int_equal(m->bytes, 4 * MIB);
  assert_true(m->address + m->bytes - (a[constant] + sizeof data) < 256);
  assert_int_equal(m->access, CU_MEM_ACCESS_FLAGS_PROT_READ); // after the upload, which needed more
  cuda_unload(&device);
  nothing_is_left();
}

// So a write in front of them faults as well.
static void at_every_other_load_they_begin_where_it_begins(void **state) {
  (void)state;
  int scratch = made_buffer(&made, PLAN_SCRATCH, 0, 5000, NULL);
  int constant = made_buffer(&made, PLAN_CONSTANT, 0, 4, (const uint8_t *)"abc");
  for (int i = 0; i < 4; i++) {
    assert_int_equal(load().event, DEVICE_OK);
    const uint64_t *a = device.loaded->addresses;
    const struct fake_mapping *m = fake_find(a[scratch]), *n = fake_find(a[constant]);
    assert_int_equal(a[scratch] == m->address, i % 2);
    assert_int_equal(a[constant] == n->address, i % 2);
    cuda_unload(&device);
  }
  nothing_is_left();
}

static void many_scratch_buffers_share_a_mapping(void **state) {
  (void)state;
  for (int i = 0; i < 100; i++)
    made_buffer(&made, PLAN_SCRATCH, 0, 1 + (uint64_t)i * 777, NULL);
  made.buffers[50].alignment = MIB;
  assert_int_equal(load().event, DEVICE_OK);
  assert_int_equal(device.loaded->n_mappings, 3);
  const uint64_t *a = device.loaded->addresses;
  const struct fake_mapping *m = fake_find(a[2]);
  for (int i = 2; i < 102; i++) {
    assert_int_equal(a[i] % (i == 50 ? MIB : 256), 0);
    assert_true(a[i] >= m->address && a[i] + made.buffers[i].bytes <= m->address + m->bytes);
    assert_true(i == 2 || a[i] >= a[i - 1] + made.buffers[i - 1].bytes);
  }
  cuda_unload(&device);
  nothing_is_left();
}

static void memory_that_is_not_there(void **state) {
  for (int i = 0; i < 4; i++) {
    fresh(state);
    made_buffer(&made, PLAN_SCRATCH, 0, 5000, NULL);
    made_buffer(&made, PLAN_SCRATCH, 0, 5000, NULL);
    made_buffer(&made, PLAN_CONSTANT, 0, 4, (const uint8_t *)"abc");
    fake.fail_create = i;
    assert_int_equal(load().event, i < 3 ? DEVICE_OUT_OF_MEMORY : DEVICE_OK);
  }
  cuda_unload(&device);
}

static void the_judges_buffers_must_fit_the_plan(void **state) {
  (void)state;
  struct device_report report;
  struct assay_error err = {0};
  made.buffers[0].bytes = 4097;
  assert_int_equal(cuda_load(&device, &work, &report, &err), ASSAY_ERR_INVALID);
  made.buffers[0].bytes = 4096;
  made.buffers[0].index = 1;
  assert_int_equal(cuda_load(&device, &work, &report, &err), ASSAY_ERR_INVALID);
  assert_null(device.loaded);
  nothing_is_left();
}

// ---- what cannot be loaded

static void pointers_are_in_their_place(void **state) {
  (void)state;
  launch();
  assert_int_equal(load().event, DEVICE_OK);
  assert_int_equal(call(DEVICE_COLD).event, DEVICE_OK);
  assert_int_equal(fake.last_pointer, fake.mappings[0].address + input.offset + 16);
  cuda_unload(&device);
}

static void parameters_are_those_of_the_kernel(void **state) {
  static const size_t sizes[][4] = {{8}, {8, 4}, {8, 8, 8}};
  for (int i = 0; i < 3; i++) {
    fresh(state);
    launch();
    memcpy(fake.kernel_parameters, sizes[i], sizeof sizes[i]);
    struct device_report report = load();
    assert_int_equal(report.event, DEVICE_LOAD_FAILED);
    assert_non_null(strstr(report.detail, "step 0, kernel: "));
  }
}

static void loads_that_fail(void **state) {
  (void)state;
  launch()->kernel = "missing";
  assert_int_equal(load().event, DEVICE_LOAD_FAILED);
  fresh(state);
  made.module.bytes = (const uint8_t *)"bad";
  struct device_report report = load();
  assert_int_equal(report.event, DEVICE_LOAD_FAILED);
  assert_non_null(strstr(report.detail, "ptxas fatal: it is bad"));
  assert_null(strstr(report.detail, "more"));
  fresh(state);
  launch()->shared_bytes = 232449;
  report = load();
  assert_int_equal(report.event, DEVICE_LAUNCH_FAILED);
  assert_non_null(strstr(report.detail, "232449"));
  fresh(state);
  struct plan_step *s = made_step(&made, PLAN_SET_SYMBOL);
  s->symbol = "table";
  s->to.offset = 8;
  s->bytes = 8;
  fake.symbol_bytes = 15;
  assert_int_equal(load().event, DEVICE_LOAD_FAILED);
  fake.symbol_bytes = 16;
  assert_int_equal(load().event, DEVICE_OK);
  cuda_unload(&device);
}

static void room_is_made_for_local_memory(void **state) {
  (void)state;
  launch();
  fake.local_bytes = 5000;
  assert_int_equal(load().event, DEVICE_OK);
  assert_int_equal(fake.stack, 5000);
  cuda_unload(&device);
  fake.local_bytes = 100;
  assert_int_equal(load().event, DEVICE_OK);
  assert_int_equal(fake.stack, 5000);
  cuda_unload(&device);
}

// ---- the order of a call

static void order(enum device_mode mode, const char *log) {
  struct device_report report = call(mode);
  assert_int_equal(report.event, DEVICE_OK);
  assert_string_equal(fake.log, log);
  assert_false(gate_is_closed());
  assert_true(mode == DEVICE_AS_CALLED || mode == DEVICE_PREPARE || report.times.device_ns == 250000);
}

static void every_mode_in_its_order(void **state) {
  (void)state;
  launch();
  launch();
  assert_int_equal(load().event, DEVICE_OK);
  order(DEVICE_COLD, "srRgh<LL>tscs"); // the first call alone finds numbers in shared memory
  assert_int_equal(fake.launches_while_closed, 2);
  order(DEVICE_COLD, "srRh<LL>tscs");
  order(DEVICE_HOT, "sRh<LL>tscs"); // inputs are read by us: a second execution would find its answer done
  order(DEVICE_AS_CALLED, "srRsLLs");
  order(DEVICE_NULL, "srRh<>tscs");
  order(DEVICE_EMPTY, "srRh<E>tscs");
  cuda_unload(&device);
  order(DEVICE_NULL, "srRh<>tscs"); // needs no plan
}

static void preparation_is_timed_apart(void **state) {
  (void)state;
  launch();
  launch();
  made.plan.n_prepare = 1;
  assert_int_equal(load().event, DEVICE_OK);
  order(DEVICE_PREPARE, "pLqs");
  order(DEVICE_NULL, "srRh<>tscs");
  order(DEVICE_COLD, "srRgh<L>tscs");
  order(DEVICE_HOT, "sRh<L>tscs");
  assert_int_equal(call(DEVICE_PREPARE).times.prepare_ns, 500000);
  assert_int_equal(call(DEVICE_COLD).times.prepare_ns, 0);
  cuda_unload(&device);
}

// By the stamps around a timed part, of which none that was there before is believed.
static void stamps_outside_of_kernels_reach(void **state) {
  (void)state;
  launch();
  assert_int_equal(load().event, DEVICE_OK);
  assert_int_equal(call(DEVICE_COLD).times.outside_ns, 260000);
  assert_int_equal(call(DEVICE_NULL).times.outside_ns, 260000);
  assert_int_equal(call(DEVICE_AS_CALLED).times.outside_ns, 0);
  fake.ended = fake.opens_at; // the clock went backwards
  assert_int_equal(call(DEVICE_COLD).times.outside_ns, 0);
  fake.ended = 1260000;
  fake.opens_at = 0; // not seen in time; what an earlier kernel left is not taken for it
  gate.opens_at = 1259000;
  assert_int_equal(call(DEVICE_COLD).times.outside_ns, 0);
  assert_int_equal(call(DEVICE_COLD).times.device_ns, 250000);
  cuda_unload(&device);
}

static void the_gate_opens_before_the_queue_is_full(void **state) {
  (void)state;
  for (int i = 0; i < 600; i++)
    made_launch(&made, "kernel", 1, 32);
  fake.kernel_parameters[0] = 0;
  assert_int_equal(load().event, DEVICE_OK);
  assert_int_equal(call(DEVICE_COLD).event, DEVICE_OK);
  assert_int_equal(fake.launches, 600);
  assert_int_equal(fake.launches_while_closed, 512);
  assert_null(strchr(fake.log, '!'));
  cuda_unload(&device);
}

static void a_hold_that_failed_is_repeated(void **state) {
  (void)state;
  launch();
  assert_int_equal(load().event, DEVICE_OK);
  fake.holds_that_fail = 1;
  order(DEVICE_COLD, "srRgh<L>tscssrRh<L>tscs");
  fake.holds_that_fail = 1;
  assert_int_equal(call(DEVICE_COLD).times.repeated, 1);
  assert_int_equal(call(DEVICE_COLD).times.repeated, 0);
  fake.holds_that_fail = 100; // a device on which it never works is timed too
  assert_int_equal(call(DEVICE_COLD).event, DEVICE_OK);
  assert_int_equal(fake.holds_that_fail, 97);
  cuda_unload(&device);
}

static void the_clock_starts_before_anything_programmatic(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++)
    launch()->programmatic = true;
  made.plan.n_prepare = 1;
  assert_int_equal(load().event, DEVICE_OK);
  assert_int_equal(device.loaded->steps[0].config.n_attrs, 0);
  assert_int_equal(device.loaded->steps[1].config.n_attrs, 0);
  assert_int_equal(device.loaded->steps[2].config.n_attrs, 1);
  assert_int_equal(device.loaded->steps[2].attributes[0].id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  cuda_unload(&device);
}

static void refusals_and_faults(void **state) {
  (void)state;
  launch();
  launch();
  assert_int_equal(load().event, DEVICE_OK);
  fake.fail_launch = 1;
  struct device_report report = call(DEVICE_COLD);
  assert_int_equal(report.event, DEVICE_LAUNCH_FAILED);
  assert_non_null(strstr(report.detail, "step 1, kernel: too many threads"));
  assert_int_equal(fake.log[fake.n_log - 1], 's'); // and not '!': the stream was let go
  fake.fail_launch = -1;
  assert_int_equal(call(DEVICE_COLD).event, DEVICE_OK);
  fake.fail_sync_after = 1;
  report = call(DEVICE_COLD);
  assert_int_equal(report.event, DEVICE_FAULT);
  assert_non_null(strstr(report.detail, "kernel: a kernel touched memory that is not its own"));
  assert_int_equal(report.times.device_ns, 0);
  cuda_unload(&device);
}

static void results_have_their_events(void **state) {
  (void)state;
  static const struct {
    int result;
    enum device_event waiting, launching;
  } cases[] = {
      {0, DEVICE_OK, DEVICE_OK},
      {1, DEVICE_LOST, DEVICE_LAUNCH_FAILED},
      {2, DEVICE_OUT_OF_MEMORY, DEVICE_OUT_OF_MEMORY},
      {46, DEVICE_LOST, DEVICE_LOST},
      {700, DEVICE_FAULT, DEVICE_FAULT},
      {701, DEVICE_FAULT, DEVICE_LAUNCH_FAILED},
      {702, DEVICE_FAULT, DEVICE_FAULT},
      {715, DEVICE_FAULT, DEVICE_FAULT},
      {716, DEVICE_FAULT, DEVICE_FAULT},
      {717, DEVICE_FAULT, DEVICE_FAULT},
      {718, DEVICE_FAULT, DEVICE_FAULT},
      {719, DEVICE_FAULT, DEVICE_FAULT},
      {720, DEVICE_FAULT, DEVICE_LAUNCH_FAILED},
      {912, DEVICE_LOST, DEVICE_LAUNCH_FAILED},
      {999, DEVICE_LOST, DEVICE_LOST},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(cuda_event_of((enum cu_result)cases[i].result, false), cases[i].waiting);
    assert_int_equal(cuda_event_of((enum cu_result)cases[i].result, true), cases[i].launching);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(nothing_lies_around_a_buffer, fresh),
      cmocka_unit_test_setup(scratch_and_constants_end_where_their_mapping_ends, fresh),
      cmocka_unit_test_setup(at_every_other_load_they_begin_where_it_begins, fresh),
      cmocka_unit_test_setup(many_scratch_buffers_share_a_mapping, fresh),
      cmocka_unit_test(memory_that_is_not_there),
      cmocka_unit_test_setup(the_judges_buffers_must_fit_the_plan, fresh),
      cmocka_unit_test_setup(pointers_are_in_their_place, fresh),
      cmocka_unit_test(parameters_are_those_of_the_kernel),
      cmocka_unit_test_setup(loads_that_fail, fresh),
      cmocka_unit_test_setup(room_is_made_for_local_memory, fresh),
      cmocka_unit_test_setup(every_mode_in_its_order, fresh),
      cmocka_unit_test_setup(preparation_is_timed_apart, fresh),
      cmocka_unit_test_setup(stamps_outside_of_kernels_reach, fresh),
      cmocka_unit_test_setup(the_gate_opens_before_the_queue_is_full, fresh),
      cmocka_unit_test_setup(a_hold_that_failed_is_repeated, fresh),
      cmocka_unit_test_setup(the_clock_starts_before_anything_programmatic, fresh),
      cmocka_unit_test_setup(refusals_and_faults, fresh),
      cmocka_unit_test(results_have_their_events),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
