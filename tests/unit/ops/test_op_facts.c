// SPDX-License-Identifier: Apache-2.0
// Every row of the operator table says all of its facts, and says what it should: what an operator does to errors
// decides how much error a kernel is allowed, and a row that says nothing would get a wrong tolerance in silence.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "op_call.h"
#include "ops/expr.h"
#include "ops/expr_program.h"
#include "ops/pytorch.h"

typedef void row_fn(const struct op_def *d);

static void each_row(row_fn *fn) {
  int n;
  const struct op_family *const *families = op_families(&n);
  for (int f = 0; f < n; f++)
    for (int r = 0; r < families[f]->n_rows; r++)
      fn(&families[f]->rows[r]);
}

// ---- every fact is said

static void check_errors(const struct op_def *d) {
  const struct op_errors *e = &d->errors;
  if (e->rounding != OP_MAY_ROUND && e->rounding != OP_EXACT)
    fail_msg("%s %d does not say whether it rounds (op_def.errors.rounding)", d->name, d->since);
  if (e->kink != OP_SMOOTH && e->kink != OP_KINK && e->kink != OP_STEEP)
    fail_msg("%s %d does not say whether it has a kink (op_def.errors.kink)", d->name, d->since);
  if (e->sum < OP_NO_SUM || e->sum > OP_DIFFERENCE)
    fail_msg("%s %d does not say what it adds up (op_def.errors.sum)", d->name, d->since);
  if (e->rounding == OP_EXACT && e->sum != OP_NO_SUM)
    fail_msg("%s %d adds up and rounds nothing", d->name, d->since);
}

static void check_pytorch(const struct op_def *d) {
  const struct op_pytorch *p = &d->pytorch;
  bool says = p->text || p->write;
  if (says == (p->none != NULL))
    fail_msg("%s %d: op_def.pytorch must have a translation or the reason why there is none", d->name, d->since);
  if (p->none && (!*p->none || p->helper || p->takes_numbers || p->results != OP_PYTORCH_ONE))
    fail_msg("%s %d: op_def.pytorch says more of a translation that there is not", d->name, d->since);
}

// Attributes that a template names are the row's, and inputs that it names can be there.
static void check_template(const struct op_def *d) {
  for (const char *p = d->pytorch.write || !d->pytorch.text ? "" : d->pytorch.text; *p; p++) {
    if (*p == '$' && p[1] != '*' && (p[1] < '0' || p[1] > '9' || p[1] - '0' >= d->max_in))
      fail_msg("%s %d: no input %.2s of \"%s\"", d->name, d->since, p, d->pytorch.text);
    if (*p != '{')
      continue;
    bool found = false;
    for (const struct op_attr *a = d->attrs; a && a->name; a++)
      found = found || (strncmp(a->name, p + 1, strlen(a->name)) == 0 && p[1 + strlen(a->name)] == '}');
    if (!found)
      fail_msg("%s %d: no attribute %s", d->name, d->since, p);
  }
}

static void check_forms(const struct op_def *d) {
  if (d->expr_finish && d->max_in != OP_VARIADIC)
    fail_msg("%s %d: expr_finish is for operators of any number of inputs", d->name, d->since);
  if (d->expr_given && (d->min_in != 1 || d->max_in != 3))
    fail_msg("%s %d: expr_given is for inputs 1 and 2, which may be left out", d->name, d->since);
}

static void test_every_row_says_its_facts(void **state) {
  (void)state;
  each_row(check_forms);
  each_row(check_errors);
  each_row(check_pytorch);
  each_row(check_template);
}

// ---- and they agree with the row's expression

static enum expr_error error_of(int operation) {
  static const uint8_t errors[] = {
#define OPERATION_ERROR(name, spelling, arity, error, value, ...) EXPR_##error,
      EXPR_OPERATIONS(OPERATION_ERROR)};
  return errors[operation];
}

// Contract passes round parameters, and constants that are not small whole numbers.
static bool rounds_nothing(const struct expr *e) {
  for (int i = 0; i < e->n_constants; i++)
    if (e->constants[i] != rint(e->constants[i]) || fabs(e->constants[i]) > 4)
      return false;
  for (int i = 0; i < e->n_instructions; i++)
    if (error_of(e->code[i].operation) != EXPR_EXACT)
      return false;
  return true;
}

static bool is_one_operation(const struct expr *e, enum expr_operation operation) {
  const struct instruction *in = e->code;
  return e->n_instructions == 1 && in->operation == operation && in->from[0].kind == OPERAND_INPUT &&
         in->from[0].index == 0 && in->from[1].kind == OPERAND_INPUT && in->from[1].index == 1;
}

// Which inputs the result is, but for a factor and an addend.
static unsigned passed_on(const struct expr *e) {
  const struct instruction *in = e->code;
  if (is_one_operation(e, EXPR_ADD) || is_one_operation(e, EXPR_SUB) || is_one_operation(e, EXPR_MUL))
    return 3;
  const bool negates = e->n_instructions == 1 && in->operation == EXPR_NEG && in->from[0].kind == OPERAND_INPUT;
  return negates || is_one_operation(e, EXPR_DIV);
}

// An expression that names attributes does not parse without them: nothing is claimed of it.
static void check_expression(const struct op_def *d) {
  struct arena arena = {0};
  const struct expr *e;
  bool plain = d->expr && expr_parse(d->expr, NULL, 0, &arena, &e, NULL) == ASSAY_OK, fold = d->max_in == OP_VARIADIC;
  if (d->expr && (plain && rounds_nothing(e)) != (d->errors.rounding == OP_EXACT))
    fail_msg("%s %d: \"%s\" does not agree with op_def.errors.rounding", d->name, d->since, d->expr);
  if ((plain && !fold && is_one_operation(e, EXPR_ADD)) != (d->errors.sum == OP_SUM_OF_TWO) ||
      (plain && !fold && is_one_operation(e, EXPR_SUB)) != (d->errors.sum == OP_DIFFERENCE))
    fail_msg("%s %d does not agree with op_def.errors.sum", d->name, d->since);
  if ((plain && !fold ? passed_on(e) : 0) != d->passes)
    fail_msg("%s %d does not agree with op_def.passes", d->name, d->since);
  if ((plain && !fold && is_one_operation(e, EXPR_MUL)) != d->multiplies)
    fail_msg("%s %d does not agree with op_def.multiplies", d->name, d->since);
  arena_release(&arena);
}

static void test_facts_agree_with_expressions(void **state) {
  (void)state;
  each_row(check_expression);
}

// ---- and with what an operator does

// What an operator makes of all elements, by its defaults; NAN: it does not take one array, or does not reduce it to
// one number.
static double all_of(const struct op_def *d, const char *shape, const double *elements) {
  struct call c = {.threads = 1, .arith = {.exact = true, .key = 1}};
  c.node = (struct node){.name = "",
                         .op_type = d->name,
                         .domain = d->domain,
                         .opset = d->since,
                         .op = d,
                         .attrs = c.attrs,
                         .inputs = c.inputs};
  double made = NAN;
  if (d->min_in <= 1 && d->max_in >= 1 && d->min_out <= 1) {
    call_f(&c, shape, elements);
    if (call_infer(&c, 1) == ASSAY_OK && c.out[0].dtype == DTYPE_FLOAT && shape_count(&c.out[0].shape) == 1 &&
        call_eval(&c, 1) == ASSAY_OK)
      made = c.out[0].f64[0];
  }
  call_end(&c);
  return made;
}

static bool is_near(double x, double y) {
  return fabs(x - y) < 1e-12;
}

// No two of sum, mean, squares, magnitudes, product, extremes and their logarithms are near one another.
static enum op_total total_of(const struct op_def *d) {
  static const double elements[] = {0.5, -1.25, 3, 0.75, 2, -0.5};
  const double made = all_of(d, "1,1,2,3", elements), sum = 4.5, squares = 15.625;
  return is_near(made, sum)                                       ? OP_TOTAL_SUM
         : is_near(made, sum / 6)                                 ? OP_TOTAL_MEAN
         : is_near(made, squares) || is_near(made, sqrt(squares)) ? OP_TOTAL_SQUARES
                                                                  : OP_NO_TOTAL;
}

// A reduction that is one of these says so, for each of its versions: kernels may make what it is part of in one pass.
// Others say none: the global pools do not look at a mean that was made before (op_eval.centre), whatever they make.
static void check_total(const struct op_def *d) {
  const bool pool = strncmp(d->name, "Global", strlen("Global")) == 0;
  if (d->total != (pool ? OP_NO_TOTAL : total_of(d)))
    fail_msg("%s %d says that it makes %d of what it reduces (op_def.total), and makes %d", d->name, d->since, d->total,
             total_of(d));
}

static int totals[OP_TOTAL_SQUARES + 1];

static void count_total(const struct op_def *d) {
  totals[total_of(d)]++;
}

static void test_totals_agree_with_results(void **state) {
  (void)state;
  each_row(check_total);
  each_row(count_total);
  // Each reduction has a row with axes as an attribute and one with them as an input, and one pool is a mean.
  assert_int_equal(totals[OP_TOTAL_SUM], 2);
  assert_int_equal(totals[OP_TOTAL_MEAN], 3);
  assert_true(totals[OP_TOTAL_SQUARES] >= 4);
  assert_int_equal(total_of(op_find("", "ReduceSum", 13)), OP_TOTAL_SUM);
  assert_int_equal(total_of(op_find("", "ReduceSumSquare", 18)), OP_TOTAL_SQUARES);
  assert_int_equal(total_of(op_find("", "ReduceL2", 1)), OP_TOTAL_SQUARES);
  assert_int_equal(total_of(op_find("", "ReduceL1", 18)), OP_NO_TOTAL);
  assert_int_equal(total_of(op_find("", "ReduceLogSum", 18)), OP_NO_TOTAL);
}

// ---- what is expected of the operators that tasks use most; a new one needs no entry here

static bool in_list(const struct op_def *d, const char *list) {
  size_t len = strlen(d->name);
  for (const char *p = strstr(list, d->name); p; p = strstr(p + 1, d->name))
    if ((p == list || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
      return true;
  return false;
}

// Rows with an expression are checked against it; this is for the others.
static void check_exact(const struct op_def *d) {
  bool resamples = in_list(d, "Resize Upsample");
  bool same = in_list(d, "ArgMax ArgMin MaxPool ReduceMax ReduceMin") || (d->class == OP_MOVEMENT && !resamples);
  if (!d->expr && same && d->errors.rounding != OP_EXACT)
    fail_msg("%s %d rounds nothing", d->name, d->since);
  bool computes = resamples || d->errors.sum == OP_SUM_OF_MANY || in_list(d, "Cast CastLike CumProd ReduceProd");
  if (!d->expr && computes && d->errors.rounding == OP_EXACT)
    fail_msg("%s %d rounds", d->name, d->since);
}

// An expression has no kink where nothing in it chooses. Where something does, the row decides: Elu has none.
static bool chooses(const struct op_def *d) {
  return strpbrk(d->expr, "?<>") || strstr(d->expr, "min") || strstr(d->expr, "max") || strstr(d->expr, "abs");
}

static void check_kink(const struct op_def *d) {
  bool kink = d->errors.kink == OP_KINK;
  if (in_list(d, "Attention Exp Softmax") != (d->errors.kink == OP_STEEP))
    fail_msg("%s %d is steep, or is not", d->name, d->since);
  if (in_list(d, "QuantizeLinear DynamicQuantizeLinear")) { // what is out of range, and all between two steps
    if (!kink || !d->steps)
      fail_msg("%s %d has kinks and steps", d->name, d->since);
    return;
  }
  if (in_list(d, "Abs Clip HardSigmoid HardSwish LeakyRelu Max Min PRelu Relu Shrink ThresholdedRelu Where") && !kink)
    fail_msg("%s %d has a kink", d->name, d->since);
  if ((!d->expr || !chooses(d) || in_list(d, "Celu Elu Gelu Mish Mod Selu Softplus Softsign")) && kink)
    fail_msg("%s %d has no kink", d->name, d->since);
}

static void check_sum(const struct op_def *d) {
  static const char adds[] =
      "MatMul MatMulInteger Gemm Einsum Conv ConvTranspose CausalConvWithState Attention LinearAttention RNN LSTM GRU "
      "CumSum ReduceSum "
      "ReduceMean ReduceL1 "
      "ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp Softmax LogSoftmax AveragePool LpPool GlobalAveragePool "
      "GlobalLpPool BatchNormalization InstanceNormalization GroupNormalization LayerNormalization RMSNormalization "
      "MeanVarianceNormalization LpNormalization LRN NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss";
  static const char adds_not[] = "ReduceMax ReduceMin ReduceProd MaxPool GlobalMaxPool ArgMax ArgMin TopK CumProd "
                                 "Hardmax Gather GatherElements GatherND Compress NonZero OneHot Scatter";
  // Scattering adds since it has a reduction.
  bool scatters = in_list(d, "ScatterElements ScatterND"), many = d->errors.sum == OP_SUM_OF_MANY;
  if ((in_list(d, adds) || (scatters && d->since >= 16)) && !many)
    fail_msg("%s %d is a sum of many terms", d->name, d->since);
  bool moves = d->class == OP_ELEMENTWISE || d->class == OP_MOVEMENT || d->class == OP_CONSTANT;
  if ((moves || in_list(d, adds_not) || (scatters && d->since < 16)) && many)
    fail_msg("%s %d is not a sum of many terms", d->name, d->since);
}

static void check_translated(const struct op_def *d) {
  static const char translated[] =
      "Add Sub Mul Div Neg Abs Sqrt Exp Log Erf Pow Max Min Less Greater Equal Not Where Identity Relu LeakyRelu "
      "Sigmoid Tanh Elu Selu Gelu Softplus Softsign HardSigmoid HardSwish Mish Clip Flatten Attention Expand "
      "SpaceToDepth Softmax LogSoftmax MatMul Gemm Einsum Transpose Reshape Squeeze Unsqueeze Concat Cast Trilu Shape "
      "ConstantOfShape Conv ConvTranspose MaxPool AveragePool GlobalAveragePool ReduceSum ReduceMean ReduceMax "
      "ReduceMin ReduceL2 ReduceLogSumExp CumSum CumProd ArgMax ArgMin BatchNormalization InstanceNormalization "
      "GroupNormalization LayerNormalization Split Slice Gather Pad Constant RNN LSTM GRU SoftmaxCrossEntropyLoss";
  if (in_list(d, translated) && d->pytorch.none)
    fail_msg("%s %d has lost its translation to PyTorch", d->name, d->since);
  if (in_list(d, "Add Sub Mul Div Pow Less Greater Equal Where"))
    assert_true(d->pytorch.takes_numbers);
  if (in_list(d, "Split"))
    assert_int_equal(d->pytorch.results, OP_PYTORCH_OUTPUTS);
  if (in_list(d, "RNN LSTM GRU"))
    assert_true(d->pytorch.results == OP_PYTORCH_ALL && d->pytorch.helper);
}

static void test_facts_are_as_expected(void **state) {
  (void)state;
  each_row(check_exact);
  each_row(check_kink);
  each_row(check_sum);
  each_row(check_translated);
}

// ---- expressions of the inputs that are given

static const char *clip_of(int version, int low, int high) {
  int inputs[3] = {0, low, high};
  struct node n = {.op_type = "Clip", .op = op_find("", "Clip", version), .inputs = inputs, .n_inputs = 3};
  return op_expr(&n);
}

static void test_clip(void **state) {
  (void)state;
  assert_string_equal(clip_of(13, 1, 2), "min(max(x, y), z)");
  assert_string_equal(clip_of(13, 1, -1), "max(x, y)");
  assert_string_equal(clip_of(13, -1, 2), "min(x, y)");
  assert_string_equal(clip_of(13, -1, -1), "x");
  assert_string_equal(clip_of(6, -1, -1), "min(max(x, min), max)");
}

// ---- templates

static void check_text(const struct op_def *d, int high, const char *want) {
  struct tensor bound = {.type = {.dtype = DTYPE_FLOAT}, .data = &(float){0.5F}};
  struct value values[] = {{.name = "x"}, {.name = "low", .constant = &bound}, {.name = "high"}};
  struct graph g = {.n_values = 3, .values = values};
  struct buf out = {0};
  struct pytorch_writer w = {.g = &g, .out = &out, .complete = true};
  int inputs[] = {0, 1, high};
  struct node n = {.op_type = d->name, .op = d, .inputs = inputs, .n_inputs = d->max_in};
  pytorch_put_template(&w, &n, d->pytorch.text);
  assert_string_equal(buf_str(&out), want);
  buf_release(&out);
}

static void test_templates(void **state) {
  (void)state;
  check_text(op_find("", "Clip", 13), 2, "torch.clamp(x, min=0.5, max=high)");
  check_text(op_find("", "Clip", 13), -1, "torch.clamp(x, min=0.5, max=None)");
  check_text(op_find("", "Clip", 6), -1, "torch.clamp(x, min=-3.4028234663852886e+38, max=3.4028234663852886e+38)");
  check_text(op_find("", "Add", 14), -1, "x + 0.5");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_row_says_its_facts),
      cmocka_unit_test(test_facts_agree_with_expressions),
      cmocka_unit_test(test_totals_agree_with_results),
      cmocka_unit_test(test_facts_are_as_expected),
      cmocka_unit_test(test_clip),
      cmocka_unit_test(test_templates),
  };
  return cmocka_run_group_tests_name("operator facts", tests, NULL, NULL);
}
