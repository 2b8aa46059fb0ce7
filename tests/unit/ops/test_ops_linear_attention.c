// SPDX-License-Identifier: Apache-2.0
// LinearAttention: every rule against the recurrence written out with matrices, shared heads, states handed on from one
// call to the next, and what does not fit.
#include "op_call.h"

enum { BATCH = 2, LENGTH = 5, Q_HEADS = 4, KV_HEADS = 2, KEY = 3, VALUE = 2 };

struct numbers {
  double q[BATCH * LENGTH * Q_HEADS * KEY], k[BATCH * LENGTH * KV_HEADS * KEY], v[BATCH * LENGTH * KV_HEADS * VALUE];
  double decay[BATCH * LENGTH * KV_HEADS * KEY], beta[BATCH * LENGTH * KV_HEADS];
  double past[BATCH * KV_HEADS * KEY * VALUE];
};

static void fill(double *x, size_t n, double seed) {
  for (size_t i = 0; i < n; i++)
    x[i] = sin(seed + 1.7 * (double)i);
}

static struct numbers make(void) {
  struct numbers n;
  fill(n.q, sizeof n.q / 8, 1);
  fill(n.k, sizeof n.k / 8, 2);
  fill(n.v, sizeof n.v / 8, 3);
  fill(n.decay, sizeof n.decay / 8, 4);
  fill(n.beta, sizeof n.beta / 8, 5);
  fill(n.past, sizeof n.past / 8, 6);
  return n;
}

// One position of one key head, as ONNX's documentation has it.
static void step(double s[KEY][VALUE], const double *k, const double *v, const double *g, const double *beta) {
  double new_v[VALUE];
  for (int m = 0; m < VALUE; m++) {
    double read = 0;
    for (int d = 0; d < KEY; d++)
      s[d][m] *= g ? exp(g[d]) : 1;
    for (int d = 0; d < KEY; d++)
      read += s[d][m] * k[d];
    new_v[m] = beta ? *beta * (v[m] - read) : v[m];
  }
  for (int d = 0; d < KEY; d++)
    for (int m = 0; m < VALUE; m++)
      s[d][m] += k[d] * new_v[m];
}

static void near(double got, double want) {
  if (!(fabs(got - want) <= 1e-12 * (1 + fabs(want))))
    fail_msg("%.17g, want %.17g", got, want);
}

static void call(struct call *c, const char *rule) {

  call_begin(c, "LinearAttention", 27);
  call_attr_int(c, "q_num_heads", Q_HEADS);
  call_attr_int(c, "kv_num_heads", KV_HEADS);
  call_attr_string(c, "update_rule", rule);
  c->threads = 2;
}

static void check_rule(const char *rule, bool decays, bool corrects, bool with_past) {
  struct numbers n = make();
  struct call c;
  call(&c, rule);
  call_f(&c, "2,5,12", n.q);
  call_f(&c, "2,5,6", n.k);
  call_f(&c, "2,5,4", n.v);
  if (with_past)
    call_f(&c, "2,2,3,2", n.past);
  else
    call_none(&c);
  if (decays)
    call_f(&c, "2,5,6", n.decay);
  else
    call_none(&c);
  if (corrects)
    call_f(&c, "2,5,2", n.beta);
  call_run(&c, 2);
  call_check_shape(&c, 0, "2,5,8");
  call_check_shape(&c, 1, "2,2,3,2");
  for (int b = 0; b < BATCH; b++)
    for (int h = 0; h < KV_HEADS; h++) {
      double s[KEY][VALUE] = {{0}};
      if (with_past)
        memcpy(s, n.past + (b * KV_HEADS + h) * KEY * VALUE, sizeof s);
      for (int t = 0; t < LENGTH; t++) {
        int at = (b * LENGTH + t) * KV_HEADS + h;
        step(s, n.k + at * KEY, n.v + at * VALUE, decays ? n.decay + at * KEY : NULL, corrects ? n.beta + at : NULL);
        for (int q = 2 * h; q < 2 * h + 2; q++)
          for (int m = 0; m < VALUE; m++) {
            int place = (b * LENGTH + t) * Q_HEADS + q;
            double want = 0;
            for (int d = 0; d < KEY; d++)
              want += s[d][m] * n.q[place * KEY + d];
            near(c.out[0].f64[place * VALUE + m], want / sqrt(KEY));
          }
      }
      for (int i = 0; i < KEY * VALUE; i++)
        near(c.out[1].f64[(b * KV_HEADS + h) * KEY * VALUE + i], s[i / VALUE][i % VALUE]);
    }
  call_end(&c);
}

static void test_rules(void **state) {
  (void)state;
  for (int past = 0; past < 2; past++) {
    check_rule("linear", false, false, past);
    check_rule("gated", true, false, past);
    check_rule("delta", false, true, past);
    check_rule("gated_delta", true, true, past);
  }
}

// One head, one decay for all of a key, one beta, a scale of its own; and no positions at all.
static void test_small_forms(void **state) {
  (void)state;
  struct call c;
  call_begin(&c, "LinearAttention", 27);
  call_attr_int(&c, "q_num_heads", 1);
  call_attr_int(&c, "kv_num_heads", 1);
  call_attr_float(&c, "scale", 10);
  call_f(&c, "1,2,2", D(1, 2, 3, 4));
  call_f(&c, "1,2,2", D(1, 0, 0, 1));
  call_f(&c, "1,2,1", D(5, 7));
  call_none(&c);
  call_f(&c, "1,2,1", D(0, log(2)));
  call_f(&c, "1,2,1", D(1, 0.5));
  call_run(&c, 1);
  call_check_f(&c, 0, "1,2,1", D(50, 10 * (3 * 10 + 4 * 3.5)));
  call_end(&c);
  call_begin(&c, "LinearAttention", 27);
  call_attr_int(&c, "q_num_heads", 1);
  call_attr_int(&c, "kv_num_heads", 1);
  call_attr_string(&c, "update_rule", "linear");
  call_f(&c, "1,0,2", D(0));
  call_f(&c, "1,0,2", D(0));
  call_f(&c, "1,0,1", D(0));
  call_f(&c, "1,1,2,1", D(3, 4));
  call_run(&c, 2);
  call_check_f(&c, 1, "1,1,2,1", D(3, 4));
  call_end(&c);
}

static void test_errors(void **state) {
  (void)state;
  struct numbers n = make();
  struct call c;
  call(&c, "gated");
  call_f(&c, "2,5,12", n.q);
  call_f(&c, "2,5,6", n.k);
  call_f(&c, "2,5,4", n.v);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "needs a decay");
  call(&c, "rotated");
  call_f(&c, "2,5,12", n.q);
  call_f(&c, "2,5,6", n.k);
  call_f(&c, "2,5,4", n.v);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "rotated");
  call(&c, "linear");
  call_f(&c, "2,5,12", n.q);
  call_f(&c, "2,5,4", n.k);
  call_f(&c, "2,5,4", n.v);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "keys and values");
  call(&c, "delta");
  call_f(&c, "2,5,12", n.q);
  call_f(&c, "2,5,6", n.k);
  call_f(&c, "2,5,4", n.v);
  call_f(&c, "2,2,2,3", n.past);
  call_none(&c);
  call_f(&c, "2,5,1", n.beta);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "not [2,2,3,2]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_small_forms),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests_name("LinearAttention", tests, NULL, NULL);
}
