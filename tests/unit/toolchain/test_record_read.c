// SPDX-License-Identifier: Apache-2.0
// link: -Wl,--wrap=base_realloc
// modules: toolchain/record
// The reader of recordings: logs made by hand become the plans they mean, or are refused for the right reason, and
// logs that lie do no harm. The device code is tests/fuzz/corpus/cubin/small.cu: scale(x, y, n), turn(struct pair),
// tile(tensor map, y).
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "toolchain/record/read.h"

enum { N = 1000, LOG_BYTES = 1 << 20 };

static long allocations_left = LONG_MAX;
void *__real_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n);
void *__wrap_base_realloc(void *p, size_t n) {
  return allocations_left-- > 0 ? __real_base_realloc(p, n) : NULL;
}

struct fixture {
  struct arena arena;
  struct tensor_type tensor;
  struct plan_subject subject;
  struct record_request *request;
  uint8_t *log;
  struct plan plan;
  struct plan_report report;
  struct assay_error err;
  uint64_t x, y; // addresses of the input and the output
};

static const char *const input_names[] = {"x"}, *const output_names[] = {"y"};

static void setup(struct fixture *f) {
  struct record_device device;
  size_t bytes;
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
  assert_int_equal(record_request_make(&f->subject, &device, &f->arena, &f->request, &bytes, &f->err), ASSAY_OK);
  f->x = f->request->tensors[0].address;
  f->y = f->request->tensors[1].address;
  f->log = base_calloc(1, LOG_BYTES);
  assert_non_null(f->log);
  *(struct record_header *)(void *)f->log = (struct record_header){.magic = RECORD_MAGIC, .stage = RECORD_RETURNED};
}

static void teardown(struct fixture *f) {
  plan_release(&f->plan);
  plan_report_release(&f->report);
  arena_release(&f->arena);
  base_free(f->log);
}

static void add(struct fixture *f, uint32_t kind, const void *fixed, size_t fixed_bytes, const void *rest, size_t n) {
  struct record_header *h = (struct record_header *)(void *)f->log;
  uint8_t *to = f->log + sizeof *h + h->used;
  struct record_entry e = {kind, (uint32_t)(fixed_bytes + n)};
  memcpy(to, &e, sizeof e);
  memcpy(to + sizeof e, fixed, fixed_bytes);
  if (n)
    memcpy(to + sizeof e + fixed_bytes, rest, n);
  h->used += sizeof e + (fixed_bytes + n + 7) / 8 * 8;
}
#define ADD(f, kind, ...) add(f, kind, &__VA_ARGS__, sizeof __VA_ARGS__, NULL, 0)

// The device code and its kernels: 0 scale, 1 turn, 2 tile.
static void add_code(struct fixture *f) {
  static const char *const names[] = {"scale", "turn", "tile"};
  char *bytes;
  size_t n;
  assert_int_equal(
      file_read(ASSAY_SOURCE_DIR "/tests/fuzz/corpus/cubin/small_sm90a.cubin", 1 << 20, &bytes, &n, &f->err), ASSAY_OK);
  add(f, RECORD_MODULE, "", 0, bytes, n);
  for (size_t i = 0; i < 3; i++) {
    struct record_kernel k = {0};
    add(f, RECORD_KERNEL, &k, sizeof k, names[i], strlen(names[i]) + 1);
  }
  base_free(bytes);
}

struct scale_arguments {
  uint64_t x, y;
  int32_t n, nothing;
};
struct tile_arguments {
  char before[48]; // parameters begin at 0x210 of their bank, where a tensor map is not yet aligned
  char token[128];
  uint64_t y;
};

static void add_scale(struct fixture *f, uint32_t stream, uint64_t x, uint64_t y) {
  struct record_launch l = {.stream = stream, .grid = {4, 1, 1}, .block = {256, 1, 1}, .carveout = -1};
  struct scale_arguments a = {x, y, N, 0};
  add(f, RECORD_LAUNCH, &l, sizeof l, &a, 20);
}

static uint64_t add_alloc(struct fixture *f, uint64_t address, uint64_t bytes) {
  struct record_alloc e = {address, bytes, RECORD_NO_STREAM, 0};
  ADD(f, RECORD_ALLOC, e);
  return record_next_address(address, bytes);
}

static void add_free(struct fixture *f, uint64_t address) {
  struct record_free e = {address, RECORD_NO_STREAM, 0};
  ADD(f, RECORD_FREE, e);
}

static enum assay_status read_log(struct fixture *f) {
  const struct record_context context = {.reading = RECORD_ALONE,
                                         .request = f->request,
                                         .subject = &f->subject,
                                         .target = "sm_90a",
                                         .toolchain = "nvcc",
                                         .source_name = "a.cu"};
  return record_read(f->log, LOG_BYTES, &context, &f->plan, &f->report, &f->err);
}

static void expect_made(struct fixture *f) {
  if (read_log(f) != ASSAY_OK || f->report.outcome != PLAN_MADE)
    fail_msg("%s%s", f->err.message, f->report.detail);
}

static void expect_refused(struct fixture *f, const char *part) {
  assert_int_equal(read_log(f), ASSAY_OK);
  assert_int_equal(f->report.outcome, PLAN_REFUSED);
  if (!strstr(f->report.detail, part))
    fail_msg("\"%s\" says nothing of \"%s\"", f->report.detail, part);
}

static void test_launch(void **state) {
  (void)state;
  struct fixture f;
  struct plan_limits limits;
  setup(&f);
  add_code(&f);
  add_scale(&f, RECORD_ENTRY_STREAM, f.x, f.y + 8);
  expect_made(&f);
  assert_int_equal(f.plan.n_modules, 1);
  assert_string_equal(f.plan.modules[0].name, "a.cu");
  assert_int_equal(f.plan.n_buffers, 2);
  assert_string_equal(f.plan.buffers[0].name, "x");
  assert_int_equal(f.plan.buffers[1].role, PLAN_OUTPUT);
  assert_int_equal(f.plan.n_steps, 1);
  const struct plan_step *s = &f.plan.steps[0];
  assert_string_equal(s->kernel, "scale");
  assert_int_equal(s->grid[0], 4);
  assert_int_equal(s->block[0], 256);
  assert_int_equal(s->n_arguments, 3);
  assert_int_equal(s->arguments[0].n_pointers, 1);
  assert_int_equal(s->arguments[0].pointers[0].buffer, 0);
  assert_int_equal(s->arguments[1].pointers[0].buffer, 1);
  assert_int_equal(s->arguments[1].pointers[0].offset, 8);
  static const uint8_t zeros[8];
  assert_memory_equal(s->arguments[1].bytes, zeros, 8);
  assert_int_equal(s->arguments[2].size, 4);
  assert_int_equal(s->arguments[2].n_pointers, 0);
  int32_t n;
  memcpy(&n, s->arguments[2].bytes, 4);
  assert_int_equal(n, N);
  plan_limits_of_target("sm_90a", &limits);
  struct plan_expectation expected = {1, 1, &f.tensor, &f.tensor};
  if (plan_check(&f.plan, &limits, &expected, &f.err))
    fail_msg("%s", f.err.message);
  teardown(&f);
}

static void test_struct_and_tensor_map(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  add_code(&f);
  struct record_launch turn = {.kernel = 1, .stream = 1, .grid = {1, 1, 1}, .block = {64, 1, 1}, .carveout = -1};
  struct scale_arguments pair = {f.x + 4 * N, f.y, 64, 0}; // the end of x is a place to point to
  add(&f, RECORD_LAUNCH, &turn, sizeof turn, &pair, sizeof pair);
  struct record_tensor_map map = {.address = f.x + 16,
                                  .data_type = 7,
                                  .rank = 2,
                                  .dims = {10, 100},
                                  .strides = {40},
                                  .box = {8, 8},
                                  .element_strides = {1, 1},
                                  .swizzle = 3};
  ADD(&f, RECORD_TENSOR_MAP, map);
  struct tile_arguments arguments = {.token = RECORD_TOKEN "0", .y = f.y};
  struct record_launch tile = {.kernel = 2, .stream = 1, .grid = {2, 1, 1}, .block = {64, 1, 1}, .cluster = {2, 1, 1}};
  add(&f, RECORD_LAUNCH, &tile, sizeof tile, &arguments, sizeof arguments);
  expect_made(&f);
  const struct plan_argument *a = &f.plan.steps[0].arguments[0];
  assert_int_equal(a->n_pointers, 2);
  assert_int_equal(a->pointers[0].at, 0);
  assert_int_equal(a->pointers[0].offset, 4 * N);
  assert_int_equal(a->pointers[1].at, 8);
  assert_int_equal(a->pointers[1].buffer, 1);
  const struct plan_argument *m = &f.plan.steps[1].arguments[0];
  assert_int_equal(m->kind, PLAN_TENSOR_MAP);
  assert_int_equal(m->map->buffer, 0);
  assert_int_equal(m->map->offset, 16);
  assert_int_equal(m->map->dims[1], 100);
  assert_int_equal(m->map->swizzle, 3);
  assert_int_equal(f.plan.steps[1].cluster[0], 2);
  teardown(&f);
}

// A tensor map that is not there, and one whose address is none.
static void test_bad_tensor_maps(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    struct fixture f;
    setup(&f);
    add_code(&f);
    struct record_tensor_map map = {.address = 4096, .rank = 1};
    ADD(&f, RECORD_TENSOR_MAP, map);
    struct tile_arguments arguments = {.token = RECORD_TOKEN "0", .y = f.y};
    arguments.token[strlen(RECORD_TOKEN)] = i ? '1' : '0';
    struct record_launch l = {.kernel = 2, .stream = 1, .grid = {1, 1, 1}, .block = {64, 1, 1}};
    add(&f, RECORD_LAUNCH, &l, sizeof l, &arguments, sizeof arguments);
    expect_refused(&f, i ? "was not encoded" : "not an address of the device");
    teardown(&f);
  }
}

static void test_memory(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  add_code(&f);
  uint64_t a = f.request->first_free, b = add_alloc(&f, a, 512), c;
  struct record_fill fill = {a + 256, 256, 0xff, 1, 1, 0};
  ADD(&f, RECORD_FILL, fill);
  add_scale(&f, 1, f.x, a);
  add_free(&f, a);
  c = add_alloc(&f, b, 512); // the same scratch again
  add_alloc(&f, c, 1024);
  struct record_copy copy = {c, b, 512, 1, 0};
  ADD(&f, RECORD_COPY, copy);
  struct record_upload upload = {f.y, 1, 0};
  add(&f, RECORD_UPLOAD, &upload, sizeof upload, "abcdefgh", 8);
  struct record_symbol symbol = {.stream = 1, .offset = 4, .name_bytes = 5};
  add(&f, RECORD_SYMBOL, &symbol, sizeof symbol, "coef\0ABCD", 9);
  expect_made(&f);
  assert_int_equal(f.plan.n_buffers, 2 + 2 + 2);
  assert_int_equal(f.plan.n_steps, 5);
  const struct plan_step *s = f.plan.steps;
  assert_int_equal(s[0].kind, PLAN_FILL);
  assert_int_equal(s[0].to.offset, 256);
  assert_int_equal(s[0].value, 0xff);
  assert_int_equal(s[2].kind, PLAN_COPY);
  assert_int_equal(s[2].from.buffer, s[0].to.buffer);
  assert_int_equal(f.plan.buffers[s[2].to.buffer].bytes, 1024);
  assert_int_equal(f.plan.buffers[s[3].from.buffer].role, PLAN_CONSTANT);
  assert_memory_equal(f.plan.buffers[s[3].from.buffer].data, "abcdefgh", 8);
  assert_int_equal(s[4].kind, PLAN_SET_SYMBOL);
  assert_string_equal(s[4].symbol, "coef");
  assert_int_equal(s[4].to.offset, 4);
  assert_memory_equal(f.plan.buffers[s[4].from.buffer].data, "ABCD", 4);
  teardown(&f);
}

// What comes before the mark prepares, if it uses weights and scratch only, and brings nothing back.
static void test_prepared(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) {
    static const bool weight[] = {true}, no_weight[] = {false};
    struct fixture f;
    setup(&f);
    f.subject.statics = i == 1 ? no_weight : weight;
    add_code(&f);
    uint64_t a = f.request->first_free, b = record_next_address(a, N * sizeof(float));
    struct record_state restored = {b, 64, RECORD_STATE_RESTORED, 0}, constant = {b, 64, RECORD_STATE_CONSTANT, 0};
    if (i >= 3)
      add(&f, RECORD_STATE, i == 3 ? &restored : &constant, sizeof restored, (const char[64]){"as it was"}, 64);
    add_alloc(&f, a, N * sizeof(float));
    add_scale(&f, 1, f.x, i == 2 ? f.y : a);
    add(&f, RECORD_PREPARED, "", 0, NULL, 0);
    add_scale(&f, 1, i == 2 ? f.x : a, f.y);
    expect_made(&f);
    assert_int_equal(f.plan.n_steps, i == 3 ? 3 : 2);
    assert_int_equal(f.plan.n_prepare, i == 0 || i == 4);
    teardown(&f);
  }
}

// Entries that only recordings of running programs have, with numbers of nothing in them.
static void test_damaged_lifts(void **state) {
  (void)state;
  for (int i = 0; i < 6; i++) {
    static const char *const expected[] = {"an output that is not there", "a part is known",   "a name of nothing",
                                           "kernels of nobody",           "where none can be", "a name is not text"};
    struct fixture f;
    setup(&f);
    add_code(&f);
    struct record_output output = {f.request->first_free, 1, 0};
    struct record_state state_entry = {f.request->first_free, 64, RECORD_STATE_CONSTANT, 0};
    struct record_name name = {.module = 1};
    struct record_share share = {.origin = 3};
    if (i == 0)
      ADD(&f, RECORD_OUTPUT, output);
    else if (i == 1)
      add(&f, RECORD_STATE, &state_entry, sizeof state_entry, "eight...", 8);
    else if (i == 2)
      add(&f, RECORD_NAME, &name, sizeof name, "a", 2);
    else if (i == 3)
      ADD(&f, RECORD_SHARE, share);
    state_entry.address = f.x;
    name.module = 0;
    if (i == 4)
      ADD(&f, RECORD_STATE, state_entry);
    else if (i == 5)
      add(&f, RECORD_NAME, &name, sizeof name, "a", 1);
    add_scale(&f, 1, f.x, f.y);
    expect_refused(&f, expected[i]);
    teardown(&f);
  }
}

// Each is one mistake of host code, and what is said about it.
enum mistake {
  USE_AFTER_FREE,
  FREE_TWICE,
  FREE_INPUT,
  BEFORE_BUFFER,
  BEHIND_BUFFER,
  FILL_TOO_LONG,
  COPY_FROM_NOWHERE,
  UPLOAD_POINTER,
  UPLOAD_TOKEN,
  NOT_JOINED,
  RACE,
  RACE_ON_SYMBOL,
  N_MISTAKES,
};

static const char *make_mistake(struct fixture *f, enum mistake m) {
  uint64_t a = f->request->first_free;
  struct record_stream side = {2, 1, 0, 0};
  struct record_fill fill = {f->y, 4 * N + 1, 0, 1, 1, 0};
  struct record_copy copy = {f->y, 0x1000, 4, 1, 0};
  struct record_upload upload = {f->y, 1, 0};
  struct record_symbol symbol = {.stream = 1, .name_bytes = 5};
  switch (m) {
  case USE_AFTER_FREE:
    add_alloc(f, a, 4096);
    add_free(f, a);
    add_scale(f, 1, a, f->y);
    return "kernel argument 0 points into scratch 0, which was freed";
  case FREE_TWICE:
    add_alloc(f, a, 4096);
    add_free(f, a);
    add_free(f, a);
    return "freed twice";
  case FREE_INPUT:
    add_free(f, f->x);
    return "no cudaMalloc";
  case BEFORE_BUFFER:
    add_scale(f, 1, f->x, f->y - 4);
    return "launch of scale: kernel argument 1 points to y-4 bytes";
  case BEHIND_BUFFER:
    add_scale(f, 1, f->x + 4 * N + 4, f->y);
    return "kernel argument 0 points to x+4004 bytes";
  case FILL_TOO_LONG:
    ADD(f, RECORD_FILL, fill);
    return "4001 bytes";
  case COPY_FROM_NOWHERE:
    ADD(f, RECORD_COPY, copy);
    return "0x1000 is not the address";
  case UPLOAD_POINTER:
    add(f, RECORD_UPLOAD, &upload, sizeof upload, &f->x, 8);
    return "the address of x";
  case UPLOAD_TOKEN:
    add(f, RECORD_UPLOAD, &upload, sizeof upload, RECORD_TOKEN "0", sizeof RECORD_TOKEN);
    return "tensor map";
  case NOT_JOINED:
    ADD(f, RECORD_STREAM, side);
    add_scale(f, 2, f->x, f->y);
    return "launch of scale on another stream is not waited for";
  case RACE:
    ADD(f, RECORD_STREAM, side);
    fill.bytes = 4;
    ADD(f, RECORD_FILL, fill);
    add_scale(f, 2, f->x, f->y);
    return "memset of y and launch of scale use y on two streams";
  case RACE_ON_SYMBOL:
    ADD(f, RECORD_STREAM, side);
    add(f, RECORD_SYMBOL, &symbol, sizeof symbol, "coef\0ABCD", 9);
    add_scale(f, 2, f->x, f->y);
    return "global variables";
  case N_MISTAKES:
    break;
  }
  return NULL;
}

static void test_mistakes(void **state) {
  (void)state;
  for (int m = 0; m < N_MISTAKES; m++) {
    struct fixture f;
    setup(&f);
    add_code(&f);
    expect_refused(&f, make_mistake(&f, (enum mistake)m));
    teardown(&f);
  }
}

// Two streams with an event between them share a buffer lawfully; inputs need none.
static void test_lawful_streams(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  add_code(&f);
  uint64_t a = f.request->first_free;
  struct record_stream side = {2, 1, 0, 0};
  struct record_wait fork = {0, 1}, forked = {0, 2}, join = {1, 2}, joined = {1, 1};
  add_alloc(&f, a, 4 * N);
  ADD(&f, RECORD_STREAM, side);
  ADD(&f, RECORD_EVENT, fork);
  ADD(&f, RECORD_WAIT, forked);
  add_scale(&f, 2, f.x, a);
  add_scale(&f, 1, f.x, f.y);
  ADD(&f, RECORD_EVENT, join);
  ADD(&f, RECORD_WAIT, joined);
  add_scale(&f, 1, a, f.y);
  expect_made(&f);
  assert_int_equal(f.plan.n_steps, 3);
  teardown(&f);
}

// A log with everything in it, for the tests that spoil it.
static void add_everything(struct fixture *f) {
  uint64_t a = f->request->first_free;
  struct record_stream side = {2, 0, 0, 0};
  struct record_wait join = {1, 2}, joined = {1, 1};
  struct record_host_wait wait = {RECORD_AWAIT_DEVICE, 0};
  struct record_upload upload = {a, 1, 0};
  struct record_symbol symbol = {.stream = 1, .name_bytes = 5};
  struct record_fill fill = {f->y, 16, 0, 1, 1, 0};
  add_code(f);
  add_alloc(f, a, 4 * N);
  add(f, RECORD_UPLOAD, &upload, sizeof upload, "abcdefgh", 8);
  add(f, RECORD_SYMBOL, &symbol, sizeof symbol, "coef\0ABCD", 9);
  ADD(f, RECORD_FILL, fill);
  add_scale(f, 1, f->x, a);
  ADD(f, RECORD_HOST_WAIT, wait);
  ADD(f, RECORD_STREAM, side);
  add_scale(f, 2, a, f->y);
  ADD(f, RECORD_EVENT, join);
  ADD(f, RECORD_WAIT, joined);
  add_free(f, a);
}

static void test_damaged(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  add_everything(&f);
  struct record_header *h = (struct record_header *)(void *)f.log;
  uint64_t used = h->used;
  expect_made(&f);
  plan_release(&f.plan);
  // Every shorter log is either whole or says what is wrong; no status of ours.
  for (uint64_t n = 0; n < used; n += n < used - 1024 ? 37 : 1) {
    h->used = n;
    assert_int_equal(read_log(&f), ASSAY_OK);
    plan_release(&f.plan);
  }
  h->used = LOG_BYTES;
  expect_refused(&f, "damaged");
  h->used = used;
  h->magic = 1;
  expect_refused(&f, "damaged");
  teardown(&f);
}

static void test_spoilt_bytes(void **state) {
  (void)state;
  enum { ROUNDS = 20000 };
  struct fixture f;
  int made = 0, refused = 0;
  setup(&f);
  add_everything(&f);
  struct record_header *h = (struct record_header *)(void *)f.log;
  uint64_t random = 88172645463325252;
  for (int i = 0; i < ROUNDS; i++) {
    // xorshift64 (Marsaglia 2003): any bytes will do.
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    uint8_t *byte = f.log + sizeof *h + random % h->used, before = *byte;
    *byte ^= (uint8_t)(1u << (random >> 40) % 8);
    assert_int_equal(read_log(&f), ASSAY_OK);
    made += f.report.outcome == PLAN_MADE;
    refused += f.report.outcome == PLAN_REFUSED;
    plan_release(&f.plan);
    *byte = before;
  }
  assert_true(made > 0 && refused > 0);
  assert_int_equal(made + refused, ROUNDS);
  teardown(&f);
}

static void test_failing_allocations(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  add_everything(&f);
  int failures = 0;
  for (long n = 0;; n++, failures++) {
    allocations_left = n;
    enum assay_status status = read_log(&f);
    allocations_left = LONG_MAX;
    if (status == ASSAY_OK && f.report.outcome == PLAN_MADE)
      break;
    // Where an array of the plan cannot grow, the report may carry it; never a plan.
    assert_true(status == ASSAY_ERR_NOMEM || f.report.outcome == PLAN_REFUSED);
  }
  assert_true(failures >= 2); // arenas allocate seldom
  teardown(&f);
}

static void test_addresses(void **state) {
  (void)state;
  struct fixture f;
  char text[96];
  setup(&f);
  assert_true(record_describe_address(f.request, f.x + 16, text, sizeof text));
  assert_string_equal(text, "input 0 + 16 bytes");
  assert_true(record_describe_address(f.request, f.y, text, sizeof text));
  assert_string_equal(text, "output 0 + 0 bytes");
  assert_true(record_describe_address(f.request, f.request->first_free, text, sizeof text));
  assert_false(record_describe_address(f.request, 0, text, sizeof text));
  assert_false(record_describe_address(f.request, (uint64_t)(uintptr_t)text, text, sizeof text));
  assert_int_equal(f.x % 512, 256);
  assert_int_equal(f.y % 512, 256);
  struct record_device device;
  assert_int_equal(record_device_of_target("sm_35", &device, &f.err), ASSAY_ERR_UNSUPPORTED);
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_launch),
      cmocka_unit_test(test_struct_and_tensor_map),
      cmocka_unit_test(test_bad_tensor_maps),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_prepared),
      cmocka_unit_test(test_damaged_lifts),
      cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_lawful_streams),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_spoilt_bytes),
      cmocka_unit_test(test_failing_allocations),
      cmocka_unit_test(test_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
