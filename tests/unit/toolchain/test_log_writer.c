// SPDX-License-Identifier: Apache-2.0
// modules: toolchain/lift
// The log of a recording, written by hand and read with the reader of recordings.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "toolchain/lift/log_writer.h"
#include "toolchain/record/read.h"

enum { N = 1000 };

struct fixture {
  struct arena arena;
  struct tensor_type tensor;
  struct plan_subject subject;
  struct record_request *request;
  struct record_header *log;
  struct log_writer writer;
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
  f->log = mmap(NULL, RECORD_LOG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_ptr_not_equal(f->log, MAP_FAILED);
  f->log->magic = RECORD_MAGIC;
}

static void teardown(struct fixture *f) {
  plan_release(&f->plan);
  plan_report_release(&f->report);
  log_writer_release(&f->writer);
  arena_release(&f->arena);
  munmap(f->log, RECORD_LOG_BYTES);
}

static void copy(struct log_writer *w, uint64_t to, uint64_t from, uint64_t bytes) {
  const struct record_copy e = {.to = to, .from = from, .bytes = bytes, .stream = RECORD_DEFAULT_STREAM};
  log_writer_put(w, RECORD_COPY, &e, sizeof e);
}

// The plan's steps, as plan_print writes them.
static void expect_steps(struct fixture *f, const char *steps) {
  struct buf text = {0};
  assert_int_equal(f->log->stage, RECORD_RETURNED);
  assert_string_equal(f->log->message, "");
  plan_release(&f->plan);
  f->plan = (struct plan){0};
  plan_report_release(&f->report);
  f->report = (struct plan_report){0};
  const struct record_context context = {.reading = RECORD_ALONE,
                                         .request = f->request,
                                         .subject = &f->subject,
                                         .target = "sm_90a",
                                         .toolchain = "python",
                                         .source_name = "a.py"};
  assert_int_equal(record_read((const uint8_t *)f->log, RECORD_LOG_BYTES, &context, &f->plan, &f->report, &f->err),
                   ASSAY_OK);
  if (f->report.outcome != PLAN_MADE)
    fail_msg("%s", f->report.detail);
  assert_int_equal(plan_print(&f->plan, &text, &f->err), ASSAY_OK);
  const char *at = strstr(buf_str(&text), "steps\n");
  if (!at || strcmp(at + strlen("steps\n"), steps) != 0)
    fail_msg("%s\nis not\n%s", at ? at : buf_str(&text), steps);
  buf_release(&text);
}

// Outputs and states are known last and come first; entries of odd sizes are padded.
static void order_of_the_log(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  struct log_writer *w = &f.writer;
  uint64_t before = f.request->first_free, fresh = record_next_address(before, 64);
  log_writer_begin(w);
  const struct record_alloc a = {.address = fresh, .bytes = 4 * N, .stream = RECORD_NO_STREAM};
  log_writer_put(w, RECORD_ALLOC, &a, sizeof a);
  const struct record_upload up = {.to = fresh, .stream = RECORD_DEFAULT_STREAM};
  log_writer_put_with(w, RECORD_UPLOAD, &up, sizeof up, "abcde", 5);
  copy(w, fresh + 8, before, 61);
  const struct record_state s = {.address = before, .bytes = 61, .kind = RECORD_STATE_CONSTANT};
  char content[61];
  memset(content, 7, sizeof content);
  log_writer_state(w, &s, content, sizeof content);
  log_writer_output(w, &(struct record_output){.address = fresh, .index = 0});
  log_writer_finish(w, f.log);
  assert_int_equal(f.log->used % 8, 0);
  expect_steps(&f, "  0  copy(y, constant 1, 5 bytes)\n"
                   "  1  copy(y+8, state 0, 61 bytes)\n");
  const struct plan_buffer *b = &f.plan.buffers[f.plan.steps[1].from.buffer];
  assert_int_equal(b->bytes, 61);
  assert_memory_equal(b->data, content, sizeof content);
  teardown(&f);
}

// A writer is used for one log after another, and keeps nothing of the one before.
static void log_after_log(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  for (int i = 0; i < 3; i++) {
    log_writer_begin(&f.writer);
    copy(&f.writer, f.y, f.x, i == 1 ? 8 : 16);
    if (i == 1)
      log_writer_refuse(&f.writer, "reason %d", i);
    log_writer_finish(&f.writer, f.log);
    if (i == 1) {
      assert_int_equal(f.log->stage, RECORD_REFUSED);
      assert_string_equal(f.log->message, "reason 1");
    } else {
      expect_steps(&f, "  0  copy(y, x, 16 bytes)\n");
    }
  }
  teardown(&f);
}

static void refusals(void **state) {
  (void)state;
  struct log_writer w = {0};
  struct record_header head;
  log_writer_begin(&w);
  assert_false(log_writer_refused(&w));
  log_writer_refuse(&w, "the %s", "first");
  log_writer_refuse(&w, "the second");
  assert_true(log_writer_refused(&w));
  copy(&w, 1, 2, 3);
  assert_int_equal(w.body.len, 0); // nothing more is recorded
  log_writer_finish(&w, &head);
  assert_int_equal(head.used, 0);
  assert_string_equal(head.message, "the first");
  log_writer_begin(&w);
  assert_false(log_writer_refused(&w));
  char text[2 * sizeof w.refusal];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  log_writer_refuse(&w, "%s", text);
  assert_int_equal(strlen(w.refusal), sizeof w.refusal - 1);
  log_writer_release(&w);
}

// A launch may overlap with the step before it only if that is a launch too; other entries do not count.
static void the_last_step(void **state) {
  (void)state;
  static const struct {
    enum record_kind kind;
    bool launched;
  } cases[] = {{RECORD_LAUNCH, true}, {RECORD_WORD, true},  {RECORD_FILL, false},  {RECORD_STREAM, false},
               {RECORD_LAUNCH, true}, {RECORD_COPY, false}, {RECORD_LAUNCH, true}, {RECORD_UPLOAD, false}};
  struct log_writer w = {0};
  const uint8_t bytes[128] = {0};
  log_writer_begin(&w);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    log_writer_put(&w, cases[i].kind, bytes, sizeof bytes);
    assert_int_equal(w.launched_last, cases[i].launched);
  }
  log_writer_begin(&w);
  assert_false(w.launched_last);
  log_writer_release(&w);
}

// What does not fit is refused before it is written.
static void too_large(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  void *large = mmap(NULL, RECORD_LOG_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_ptr_not_equal(large, MAP_FAILED);
  const struct record_upload e = {.to = f.y};
  log_writer_begin(&f.writer);
  copy(&f.writer, f.y, f.x, 16);
  log_writer_put_with(&f.writer, RECORD_UPLOAD, &e, sizeof e, large, RECORD_LOG_BYTES - (1 << 20));
  log_writer_finish(&f.writer, f.log);
  assert_int_equal(f.log->stage, RECORD_REFUSED);
  assert_non_null(strstr(f.log->message, "larger than 512 MiB"));
  munmap(large, RECORD_LOG_BYTES);
  teardown(&f);
}

// Shares go after the end of a finished log.
static void shares(void **state) {
  (void)state;
  struct fixture f;
  setup(&f);
  log_writer_begin(&f.writer);
  copy(&f.writer, f.y, f.x, 4 * N);
  log_writer_finish(&f.writer, f.log);
  for (uint32_t i = 0; i < PLAN_ORIGINS; i++)
    log_writer_share(f.log, &(struct record_share){.origin = i, .launches = 10 + i, .ns = 100 * i});
  expect_steps(&f, "  0  copy(y, x, 4000 bytes)\n");
  assert_true(f.report.shares.known);
  for (int i = 0; i < PLAN_ORIGINS; i++) {
    assert_int_equal(f.report.shares.launches[i], 10 + i);
    assert_int_equal(f.report.shares.ns[i], 100 * i);
  }
  teardown(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(order_of_the_log), cmocka_unit_test(log_after_log),
                                     cmocka_unit_test(refusals),         cmocka_unit_test(the_last_step),
                                     cmocka_unit_test(too_large),        cmocka_unit_test(shares)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
