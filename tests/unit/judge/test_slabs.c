// SPDX-License-Identifier: Apache-2.0
// Answers in slabs against whole ones: over all tasks whose graphs keep a batch apart, the facts are the same to the
// last bit, of right outputs and of such with one wrong element in the last slab.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "judge/slabs.h"

enum { MAX = 16, REPLICAS = 8, MANY = 1 << 19 };

struct trial {
  struct task t;
  struct workload w;
  struct binding bindings[64];
  struct layout l;
  void *out[MAX];
  struct assay_judge_options o;
};

static void need(enum assay_status status, const struct assay_error *err) {
  if (status != ASSAY_OK)
    fail_msg("%s", err->message);
}

// The task's small workload with a longer batch; false: there is none, or a larger one than this test has time for.
// contract: NULL for its own.
static bool begin(struct trial *c, const char *path, const char *contract) {
  struct assay_error err = {0};
  memset(c, 0, sizeof *c);
  need(task_read(path, false, &c->t, &err), &err);
  assert_true(!contract || contract_by_name(contract, &c->t.contract));
  assay_judge_defaults(&c->o);
  c->o.threads = 2;
  c->o.timing = false;
  c->w = *task_workload(&c->t, "small");
  need(layout_make(&c->t, &c->w, &c->l, &err), &err);
  const struct graph *g = task_oracle_graph(&c->t);
  const char *batch = NULL;
  for (int i = 0; i < c->l.n_in && c->l.apart.members > 0; i++)
    if (c->l.apart.inputs[i])
      batch = g->values[g->inputs[i]].dims[0].symbol;
  if (!batch || c->w.n > 64 || c->l.n_out > MAX)
    return false;
  memcpy(c->bindings, c->w.bindings, (size_t)c->w.n * sizeof *c->bindings);
  for (int i = 0; i < c->w.n; i++)
    if (strcmp(c->bindings[i].symbol, batch) == 0)
      c->bindings[i].value = 2 * (4 * c->l.apart.halo + 1) + 2;
  c->w.bindings = c->bindings;
  layout_release(&c->l);
  need(layout_make(&c->t, &c->w, &c->l, &err), &err);
  return c->l.apart.members > 0 && c->l.input_bytes + c->l.output_bytes < 16 * MANY;
}

static void end(struct trial *c) {
  for (int o = 0; o < MAX; o++)
    base_free(c->out[o]);
  layout_release(&c->l);
  task_release(&c->t);
}

// What a kernel in the contract's precision makes of the question's inputs.
static void call(struct trial *c, const struct question *q) {
  struct assay_error err = {0};
  struct array in[256] = {0}, y[MAX] = {0};
  struct oracle_request r = {.graph = task_oracle_graph(&c->t), .inputs = in, .threads = 2};
  r.arith = question_arith(&c->t, q->key + 1, false);
  assert_true(c->l.n_in <= 256);
  need(task_draw_inputs(&c->t, &c->w, q->probe, q->key, 2, in, &err), &err);
  need(oracle_eval(&r, y, &err), &err);
  for (int o = 0; o < c->l.n_out; o++) {
    c->out[o] = c->out[o] ? c->out[o] : base_alloc((size_t)layout_output_bytes(&c->l, o) + 1);
    if (dtype_is_float(y[o].dtype))
      dtype_from_f64(y[o].dtype, y[o].f64, shape_count(&y[o].shape), c->out[o]);
    else
      dtype_from_i64(y[o].dtype, y[o].i64, shape_count(&y[o].shape), c->out[o]);
    array_release(&y[o]);
  }
  for (int i = 0; i < c->l.n_in; i++)
    array_release(&in[i]);
}

static void drop(struct assay_check *checks) {
  for (int i = 0; i < MAX; i++)
    base_free(checks[i].description);
  memset(checks, 0, MAX * sizeof *checks);
}

static void same(double a, double b) {
  assert_memory_equal(&a, &b, sizeof a);
}

static void same_checks(const struct assay_check *a, const struct assay_check *b, int n) {
  for (int i = 0; i < n; i++) {
    assert_int_equal(a[i].reason, b[i].reason);
    assert_int_equal(a[i].n, b[i].n);
    assert_int_equal(a[i].wrong, b[i].wrong);
    assert_int_equal(a[i].allclose_bad, b[i].allclose_bad);
    assert_int_equal(a[i].allclose_loose_bad, b[i].allclose_loose_bad);
    assert_int_equal(a[i].doubtful, b[i].doubtful);
    assert_string_equal(a[i].gate, b[i].gate);
    same(a[i].z_max, b[i].z_max);
    same(a[i].z_limit, b[i].z_limit);
    same(a[i].z_rms, b[i].z_rms);
    same(a[i].gate_z, b[i].gate_z);
    same(a[i].gate_limit, b[i].gate_limit);
    same(a[i].max_abs, b[i].max_abs);
    same(a[i].max_rel, b[i].max_rel);
  }
}

// One question both ways. Returns the reason of output 0; PASS where nobody survives it.
static enum assay_reason both_ways(struct trial *c, struct question *q) {
  struct assay_check whole[MAX] = {0}, slabs[MAX] = {0};
  struct assay_error err = {0};
  const int64_t slab = c->l.slab;
  const struct slabs_call how = {(const void *const *)c->out, 0x7fc12345, &c->o, REPLICAS};
  need(slabs_check(&c->t, q, &how, slabs, &err), &err);
  c->l.slab = 0;
  need(question_answer(&c->t, q, REPLICAS, 2, &err), &err);
  c->l.slab = slab;
  const bool asked = q->answer.representable || q->probe == PROBE_DECLARED;
  if (asked)
    need(question_check(&c->t, q, (const void *const *)c->out, 0x7fc12345, &c->o, whole, &err), &err);
  question_release(q);
  for (int o = 0; o < c->l.n_out; o++)
    assert_int_equal(slabs[o].skipped, !asked);
  if (asked)
    same_checks(whole, slabs, c->l.n_out);
  enum assay_reason reason = whole[0].reason;
  drop(whole);
  drop(slabs);
  return reason;
}

// The last element of output 0, which is in the last slab.
static void spoil(struct trial *c) {
  unsigned char *y = c->out[0];
  y[(size_t)layout_output_bytes(&c->l, 0) - 1] ^= 0x40; // of a float the exponent
}

// Returns whether slabs were possible.
static bool check_task(const char *path, const char *contract) {
  struct trial c;
  struct assay_error err = {0};
  int64_t least = 0;
  if (begin(&c, path, contract))
    need(slabs_least_bytes(&c.t, &c.l, &c.o, &least, &err), &err);
  if (least > 0) // the limit that a machine with no more memory would give
    need(slabs_choose(&c.t, &c.l, &c.o, least, &err), &err);
  const bool sliced = c.l.slab > 0;
  for (int probe = 0; sliced && probe < PROBE_COUNT; probe++) {
    if (probe != PROBE_DECLARED && (!(c.t.probes & 1u << probe) || probe != PROBE_ROW_SCALES))
      continue;
    struct question q = {.layout = &c.l, .probe = (enum probe)probe, .key = 77 + (uint64_t)probe};
    call(&c, &q);
    both_ways(&c, &q);
    if (probe != PROBE_DECLARED)
      continue;
    spoil(&c);
    if (both_ways(&c, &q) == ASSAY_REASON_PASS)
      fail_msg("%s: a wrong last element passes", path);
  }
  if (sliced)
    print_message("%s: %lld of %lld members at a time\n", c.t.name, (long long)c.l.slab, (long long)c.l.apart.members);
  end(&c);
  return sliced;
}

static void check_suite(const char *suite) {
  struct assay_error err = {0};
  char **paths;
  int n, sliced = 0;
  need(task_list(ASSAY_SOURCE_DIR "/tasks", suite, &paths, &n, &err), &err);
  for (int i = 0; i < n; i++)
    sliced += check_task(paths[i], NULL);
  task_list_release(paths, n);
  print_message("%d of %d tasks of %s in slabs\n", sliced, n, suite);
}

static void check_tasks(const char *const *tasks, size_t n, const char *contract, bool want) {
  for (size_t i = 0; i < n; i++) {
    struct assay_error err = {0};
    char name[64], *path;
    snprintf(name, sizeof name, "kernelbench/%s", tasks[i]);
    need(task_find(ASSAY_SOURCE_DIR "/tasks", name, &path, &err), &err);
    if (check_task(path, contract) != want)
      fail_msg("%s: %s", tasks[i], want ? "not in slabs" : "it mixes its batch");
    base_free(path);
  }
}
#define TASKS(...) (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

// One or two of each kind of operator that keeps members apart; all tasks of a suite: build/test_slabs kernelbench/1.
static void test_each_kind(void **state) {
  (void)state;
  check_tasks(
      TASKS("1/3", "1/19", "1/23", "1/35", "1/36", "1/39", "1/46", "1/51", "1/57", "1/76", "1/89", "1/97", "1/9"), NULL,
      true);
}

// Passes round the factors of products, each member's as among all.
static void test_tensor_cores(void **state) {
  (void)state;
  check_tasks(TASKS("2/13", "2/21", "2/22", "2/26"), "tf32", true);
}

// A sum over the batch, and one that goes into every member.
static void test_mixed(void **state) {
  (void)state;
  check_tasks(TASKS("1/33", "1/94", "1/96", "1/100"), NULL, false);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_kind), cmocka_unit_test(test_tensor_cores),
                                     cmocka_unit_test(test_mixed)};
  for (int i = 1; i < argc; i++)
    check_suite(argv[i]);
  return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
