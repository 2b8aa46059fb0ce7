// SPDX-License-Identifier: Apache-2.0
// modules: onnx oracle
// Every example of the operator table is a graph: it parses, its declared shapes are what inference finds, its exact
// pass is finite, and sixteen passes in fp32 stay close to it, though not all on it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "onnx/onnx.h"
#include "oracle/oracle.h"

enum { PASSES = 16, MAX_VALUES = 16 };

// Numbers in (low, 1) that floats hold; integers and bools 0 or 1, which are valid indices everywhere.
static void fill(struct array *a, double low, uint64_t seed) {
  struct noise n = noise_at(seed, 1);
  for (int64_t i = 0; i < shape_count(&a->shape); i++) {
    uint64_t word = noise_next(&n);
    if (dtype_is_float(a->dtype))
      a->f64[i] = (double)(float)(low + (1 - low) * rng_unit(word));
    else
      a->i64[i] = (int64_t)(word >> 63);
  }
}

static struct array make_input(const struct value *v, double low, uint64_t seed) {
  struct array a;
  struct assay_error err = {0};
  struct shape s = {.rank = v->rank};
  assert_true(v->rank >= 0);
  for (int d = 0; d < v->rank; d++) {
    assert_true(v->dims[d].value >= 0);
    s.dims[d] = v->dims[d].value;
  }
  assert_int_equal(array_create(v->dtype, &s, &a, &err), ASSAY_OK);
  fill(&a, low, seed);
  return a;
}

static void eval(const struct graph *g, const struct array *in, struct arith arith, struct array *out,
                 const char *name) {
  struct assay_error err = {0};
  struct oracle_request r = {.graph = g, .inputs = in, .arith = arith, .threads = 2};
  if (oracle_eval(&r, out, &err) != ASSAY_OK)
    fail_msg("%s: %s", name, err.message);
}

// The greatest deviation of a pass, relative to the greatest value of the output. Integers may differ where they come
// from comparing floats; the examples have none that do.
static double deviation(const struct array *exact, const struct array *pass, const char *name) {
  double scale = 0, worst = 0;
  for (int64_t i = 0; i < shape_count(&exact->shape); i++) {
    if (!dtype_is_float(exact->dtype)) {
      if (exact->i64[i] != pass->i64[i])
        fail_msg("%s: an integer output differs between passes", name);
      continue;
    }
    if (!isfinite(exact->f64[i]) || !isfinite(pass->f64[i]))
      fail_msg("%s: output %d is %g, in fp32 %g", name, (int)i, exact->f64[i], pass->f64[i]);
    scale = fmax(scale, fabs(exact->f64[i]));
    worst = fmax(worst, fabs(exact->f64[i] - pass->f64[i]));
  }
  return worst > 0 ? worst / scale : 0;
}

static bool all_finite(const struct array *a) {
  for (int64_t i = 0; dtype_is_float(a->dtype) && i < shape_count(&a->shape); i++)
    if (!isfinite(a->f64[i]))
      return false;
  return true;
}

static bool has_fractions(const struct array *a) {
  for (int64_t i = 0; dtype_is_float(a->dtype) && i < shape_count(&a->shape); i++)
    if (a->f64[i] != rint(a->f64[i]))
      return true;
  return false;
}

// Inputs of both signs where the example can take them, else positive ones (a logarithm's), and the exact outputs.
static void make_exact(const struct graph *g, struct array *in, struct array *exact, const char *name) {
  bool ok = false;
  for (int attempt = 0; attempt < 2 && !ok; attempt++) {
    double low = attempt == 0 ? -1 : 0.1;
    for (int i = 0; i < g->n_inputs; i++)
      in[i] = make_input(&g->values[g->inputs[i]], low, (uint64_t)i + 100);
    eval(g, in, arith_exact(), exact, name);
    ok = true;
    for (int o = 0; o < g->n_outputs; o++)
      ok &= all_finite(&exact[o]);
    for (int o = 0; o < g->n_outputs && !ok && attempt == 0; o++)
      array_release(&exact[o]);
    for (int i = 0; i < g->n_inputs && !ok && attempt == 0; i++)
      array_release(&in[i]);
  }
  if (!ok)
    fail_msg("%s: an output of the exact pass is not finite", name);
}

static void check_graph(const struct op_def *d, const struct graph *g, double *worst, bool *fractional) {
  struct array in[MAX_VALUES], exact[MAX_VALUES], pass[MAX_VALUES];
  struct arith fp32 = {.bits = 24, .min_exponent = -126, .max = 0x1.fffffep127, .product_bits = 53, .block = 1};
  assert_true(g->n_inputs <= MAX_VALUES && g->n_outputs <= MAX_VALUES);
  bool used = false;
  for (int n = 0; n < g->n_nodes; n++)
    used |= strcmp(g->nodes[n].op->name, d->name) == 0 && strcmp(g->nodes[n].op->domain, d->domain) == 0;
  if (!used)
    fail_msg("%s: the example does not use the operator", d->name);
  make_exact(g, in, exact, d->name);
  for (int p = 0; p < PASSES; p++) {
    fp32.key = (uint64_t)p + 1;
    eval(g, in, fp32, pass, d->name);
    for (int o = 0; o < g->n_outputs; o++) {
      *worst = fmax(*worst, deviation(&exact[o], &pass[o], d->name));
      array_release(&pass[o]);
    }
  }
  for (int o = 0; o < g->n_outputs; o++) {
    const struct value *v = &g->values[g->outputs[o]];
    assert_int_equal(exact[o].dtype, v->dtype);
    *fractional |= has_fractions(&exact[o]);
    assert_int_equal(exact[o].shape.rank, v->rank);
    for (int k = 0; k < v->rank; k++)
      assert_int_equal(exact[o].shape.dims[k], v->dims[k].value);
    array_release(&exact[o]);
  }
  for (int i = 0; i < g->n_inputs; i++)
    array_release(&in[i]);
}

static int check_row(const struct op_def *d) {
  int count = 0;
  double worst = 0;
  bool fractional = false;
  for (const char *at = d->example; at && *at;) {
    size_t len = strcspn(at, "\n");
    struct model m;
    struct assay_error err = {0};
    if (onnx_parse_graph(at, len, d->name, &m, &err) != ASSAY_OK)
      fail_msg("%s", err.message);
    check_graph(d, &m.flat, &worst, &fractional);
    model_release(&m);
    count++;
    at += len + (at[len] == '\n');
  }
  if (worst > 1e-3)
    fail_msg("%s: fp32 passes deviate by %g of the output's scale", d->name, worst);
  // Operators that calculate in floating point show it; those that choose, move or compare have nothing to show, nor
  // has a result in whole numbers.
  bool calculates = d->class == OP_CONTRACTION || d->class == OP_NORMALIZATION ||
                    (d->class == OP_ELEMENTWISE && d->expr && strpbrk(d->expr, "*/"));
  if (fractional && calculates && !(worst > 0))
    fail_msg("%s: fp32 passes do not deviate at all", d->name);
  return count;
}

static void test_examples(void **state) {
  (void)state;
  int n, rows = 0, examples = 0;
  const struct op_family *const *families = op_families(&n);
  for (int f = 0; f < n; f++)
    for (int r = 0; r < families[f]->n_rows; r++, rows++)
      examples += check_row(&families[f]->rows[r]);
  print_message("%d rows, %d examples\n", rows, examples);
  assert_true(examples > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
