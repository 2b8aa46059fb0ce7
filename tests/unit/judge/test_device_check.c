// SPDX-License-Identifier: Apache-2.0
// Checks on a device that borrow the error scale of checks before them: what they let pass, what they do not, and when
// they are not used.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "judge/device_check.h"
#include "task/device_draw.h"
#include "task/task.h"
#include "host_device.h"

enum { MAX = 16, POISON = POISON_NAN };

static struct compute *compute;

static int open_compute(void **state) {
  (void)state;
  struct assay_error err = {0};
  struct compute_options o = host_device_options();
  if (compute_open_host(&o, &compute, &err) == ASSAY_OK)
    return 0;
  print_error("%s\n", err.message);
  return -1;
}

// Nothing may be left on the device.
static int close_compute(void **state) {
  (void)state;
  struct compute_memory m;
  compute_memory(compute, &m);
  if (m.in_use)
    print_error("%zu bytes of device memory were never freed\n", m.in_use);
  compute_close(compute);
  return m.in_use ? -1 : 0;
}

// A task at its small workload, its tensors on the device, and what is known of its scale.
struct trial {
  struct task t;
  struct layout layout;
  struct device_scales scales;
  device_ptr in[MAX], out[MAX];
  struct assay_judge_options o;
  struct assay_check checks[MAX];
  struct noise noise;
};

static void need(enum assay_status status, const struct assay_error *err) {
  if (status != ASSAY_OK)
    fail_msg("%s", err->message);
}

static void begin(struct trial *c, const char *name) {
  struct assay_error err = {0};
  char *path;
  memset(c, 0, sizeof *c);
  need(task_find(ASSAY_SOURCE_DIR "/tasks", name, &path, &err), &err);
  need(task_read(path, false, &c->t, &err), &err);
  base_free(path);
  need(layout_make(&c->t, task_workload(&c->t, "small"), &c->layout, &err), &err);
  assert_true(c->layout.n_in <= MAX && c->layout.n_out <= MAX);
  for (int i = 0; i < c->layout.n_in; i++) {
    need(compute_alloc(compute, tensor_type_bytes(&c->layout.in[i]), &c->in[i], &err), &err);
  }
  for (int i = 0; i < c->layout.n_out; i++)
    need(compute_alloc(compute, (size_t)layout_output_bytes(&c->layout, i), &c->out[i], &err), &err);
  c->o = (struct assay_judge_options){.rule = ASSAY_RULE_CONTRACT, .threads = 2};
  c->noise = noise_at(5, 5);
}

static void drop_checks(struct trial *c) {
  for (int i = 0; i < MAX; i++)
    base_free(c->checks[i].description);
  memset(c->checks, 0, sizeof c->checks);
}

static void end(struct trial *c) {
  device_scales_release(compute, &c->scales);
  for (int i = 0; i < MAX; i++) {
    compute_free(compute, c->in[i]);
    compute_free(compute, c->out[i]);
  }
  drop_checks(c);
  layout_release(&c->layout);
  task_release(&c->t);
}

// What an honest kernel leaves as output 0: the truth with errors of its scale, rounded.
static float *honest(struct trial *c, uint64_t key, float **sigma, int64_t *n) {
  struct assay_error err = {0};
  struct gpu_array in[MAX] = {0};
  struct gpu_answer a;
  struct arith contract = c->t.contract.arith;
  contract.key = key + 1;
  need(task_make_inputs_on_device(&c->t, c->layout.workload, PROBE_DECLARED, key, compute, c->in, &err), &err);
  for (int i = 0; i < c->layout.n_in; i++) {
    in[i] = (struct gpu_array){.dtype = c->layout.in[i].dtype, .shape = c->layout.in[i].shape, .data = c->in[i]};
    need(gpu_storage_of(in[i].dtype, &in[i].storage, &err), &err);
  }
  need(gpu_answer_make(compute, &c->t.model.flat, in, &contract, 8, &a, &err), &err);
  *n = shape_count(&a.y[0].shape);
  double *y = base_alloc((size_t)*n * sizeof *y);
  float *got = base_alloc((size_t)*n * sizeof *got);
  *sigma = base_alloc((size_t)*n * sizeof **sigma);
  need(compute_download(compute, y, a.y[0].data, (size_t)*n * sizeof *y, &err), &err);
  need(compute_download(compute, *sigma, a.sigma[0], (size_t)*n * sizeof **sigma, &err), &err);
  for (int64_t i = 0; i < *n; i++)
    got[i] = (float)(y[i] + noise_normal(&c->noise) * (double)(*sigma)[i] / 2);
  base_free(y);
  gpu_answer_release(compute, &a);
  return got;
}

enum harm { NOTHING, SMALL_ZEROED, ONE_FAR_OFF, COARSE, LAST_UNWRITTEN, ONE_A_LITTLE_OFF };

// A question with other inputs, and what the candidate's outputs are taken for.
static enum assay_reason ask(struct trial *c, enum question_scale scale, uint64_t key, enum harm harm) {
  struct assay_error err = {0};
  const uint32_t poison = POISON;
  int64_t n;
  float *sigma, *got = honest(c, key, &sigma, &n);
  for (int64_t i = 0; i < n && harm == SMALL_ZEROED; i++)
    if (fabsf(got[i]) < 1e-11f)
      got[i] = 0;
  if (harm == ONE_FAR_OFF)
    got[n / 3] += 1000 * sigma[n / 3];
  for (int64_t i = 0; i < n && harm == COARSE; i++)
    got[i] = ldexpf(rintf(ldexpf(got[i], 9 - ilogbf(got[i]))), ilogbf(got[i]) - 9);
  if (harm == ONE_A_LITTLE_OFF)
    got[n / 3] += 25 * sigma[n / 3];
  if (harm == LAST_UNWRITTEN)
    memcpy(&got[n - 1], &poison, sizeof poison);
  need(compute_upload(compute, c->out[0], got, (size_t)n * sizeof *got, &err), &err);
  base_free(got);
  base_free(sigma);
  struct question q = {.layout = &c->layout, .scale = scale, .in_place = true, .probe = PROBE_DECLARED, .key = key};
  drop_checks(c);
  const struct device_check_request request = {.compute = compute,
                                               .task = &c->t,
                                               .question = &q,
                                               .in = c->in,
                                               .out = c->out,
                                               .poison = poison,
                                               .options = &c->o,
                                               .scales = &c->scales};
  need(device_check(&request, c->checks, &err), &err);
  return c->checks[0].reason;
}

static void check_task(const char *name) {
  struct trial c;
  begin(&c, name);
  assert_int_equal(ask(&c, SCALE_BORROW, 1, NOTHING), ASSAY_REASON_PASS); // there is none to borrow
  assert_false(c.checks[0].borrowed_scale);
  assert_int_equal(c.scales.kept.n_answers, 0);
  for (uint64_t key = 2; key < 5; key++)
    assert_int_equal(ask(&c, SCALE_KEEP, key, NOTHING), ASSAY_REASON_PASS);
  assert_int_equal(c.scales.kept.n_answers, 3);
  for (uint64_t key = 5; key < 9; key++) {
    assert_int_equal(ask(&c, SCALE_BORROW, key, NOTHING), ASSAY_REASON_PASS);
    print_message("%s: %.3g of %.3g\n", name, c.checks[0].z_max, c.checks[0].z_limit);
    assert_true(c.checks[0].borrowed_scale);
    assert_false(c.checks[0].looked_again);
    assert_true(c.checks[0].n > 0 && c.checks[0].wrong == 0);
  }
  assert_int_equal(ask(&c, SCALE_OWN, 9, NOTHING), ASSAY_REASON_PASS);
  assert_false(c.checks[0].borrowed_scale);
  assert_int_equal(c.scales.unsettled, 0);
  end(&c);
}

static void honest_answers_pass_at_the_first_look(void **state) {
  (void)state;
  check_task("kernelbench/1/23"); // outputs of very different size, elsewhere in each draw
  check_task("kernelbench/1/40");
  check_task("kernelbench/1/63");
  check_task("kernelbench/1/89");
  check_task("kernelbench/1/94"); // one element
  check_task("kernelbench/2/99");
  check_task("kernelbench/3/1");
}

static void wrong_ones_are_looked_at_in_full(void **state) {
  (void)state;
  static const struct {
    const char *task;
    enum harm harm;
    enum assay_reason reason; // PASS: any but that
  } cases[] = {
      {"kernelbench/1/23", SMALL_ZEROED, ASSAY_REASON_PASS},
      {"kernelbench/1/23", COARSE, ASSAY_REASON_PASS},
      {"kernelbench/1/40", ONE_FAR_OFF, ASSAY_REASON_WRONG_VALUE},
      {"kernelbench/1/40", COARSE, ASSAY_REASON_PASS},
      {"kernelbench/1/40", LAST_UNWRITTEN, ASSAY_REASON_UNWRITTEN},
      {"kernelbench/2/99", ONE_FAR_OFF, ASSAY_REASON_WRONG_VALUE},
      {"kernelbench/2/99", COARSE, ASSAY_REASON_PASS},
      {"kernelbench/3/1", ONE_FAR_OFF, ASSAY_REASON_WRONG_VALUE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct trial c;
    begin(&c, cases[i].task);
    assert_int_equal(ask(&c, SCALE_KEEP, 1, NOTHING), ASSAY_REASON_PASS);
    for (int k = 0; k < 3; k++) {
      enum assay_reason reason = ask(&c, SCALE_BORROW, (uint64_t)(2 + k), cases[i].harm);
      assert_true(cases[i].reason ? reason == cases[i].reason : reason != ASSAY_REASON_PASS);
      assert_false(c.checks[0].borrowed_scale);
      assert_int_equal(c.scales.unsettled, k < 2 ? k + 1 : 2); // a third is not tried
    }
    assert_int_equal(ask(&c, SCALE_BORROW, 9, NOTHING), ASSAY_REASON_PASS);
    assert_false(c.checks[0].borrowed_scale);
    end(&c);
  }
}

// Where what was kept is too little, few passes are enough to see that an answer is right, and not to say that it is
// wrong.
static void few_passes_settle_what_is_right(void **state) {
  (void)state;
  struct trial c;
  struct assay_error err = {0};
  begin(&c, "kernelbench/1/40");
  assert_int_equal(ask(&c, SCALE_KEEP, 1, NOTHING), ASSAY_REASON_PASS);
  size_t bytes = (size_t)((c.scales.kept.n[0] + 63) / 64) * 2 * sizeof(float);
  void *nothing = base_calloc(1, bytes);
  need(compute_upload(compute, c.scales.kept.kept[0], nothing, bytes, &err), &err);
  base_free(nothing);
  for (int k = 0; k < 3; k++) {
    assert_int_equal(ask(&c, SCALE_BORROW, (uint64_t)(2 + k), NOTHING), ASSAY_REASON_PASS);
    assert_int_equal(c.scales.n_few, k + 1);
  }
  assert_int_equal(c.scales.unsettled, 2);
  assert_false(c.scales.uneven);
  assert_int_not_equal(ask(&c, SCALE_BORROW, 5, ONE_FAR_OFF), ASSAY_REASON_PASS);
  assert_true(c.scales.uneven);
  assert_int_equal(ask(&c, SCALE_BORROW, 6, NOTHING), ASSAY_REASON_PASS);
  assert_int_equal(c.scales.n_few, 3); // not tried again
  end(&c);
}

// What it costs: errors between what the contract allows and a few times that.
static void a_little_passes_in_timed_calls_alone(void **state) {
  (void)state;
  struct trial c;
  begin(&c, "kernelbench/1/40");
  assert_int_equal(ask(&c, SCALE_KEEP, 1, NOTHING), ASSAY_REASON_PASS);
  assert_int_not_equal(ask(&c, SCALE_OWN, 2, ONE_A_LITTLE_OFF), ASSAY_REASON_PASS);
  assert_int_equal(ask(&c, SCALE_BORROW, 2, ONE_A_LITTLE_OFF), ASSAY_REASON_PASS);
  end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(honest_answers_pass_at_the_first_look),
      cmocka_unit_test(few_passes_settle_what_is_right),
      cmocka_unit_test(wrong_ones_are_looked_at_in_full),
      cmocka_unit_test(a_little_passes_in_timed_calls_alone),
  };
  return cmocka_run_group_tests(tests, open_compute, close_compute);
}
