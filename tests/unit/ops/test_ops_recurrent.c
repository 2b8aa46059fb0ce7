// SPDX-License-Identifier: Apache-2.0
// RNN, LSTM and GRU against one number at a time, as their definitions are written, and against fp32 done so.
#include "op_case.h"
#include "ops/recurrent.h"

enum { T = 7, B = 3, I = 5, H = 6 };

// What a call of an operator asks for. activations: NULL for the default.
struct form {
  const char *op, *direction;
  bool batch_first, bias, lengths, initial, peepholes, coupled, linear;
  double clip;
  const char *activations[6];
  double alpha, beta; // of the first activation that takes one
};

static int directions_of(const struct form *f) {
  return strcmp(f->direction, "bidirectional") == 0 ? 2 : 1;
}
static int gates_of(const struct form *f) {
  return f->op[0] == 'L' ? 4 : f->op[0] == 'G' ? 3 : 1;
}
static int functions_of(const struct form *f) {
  return f->op[0] == 'L' ? 3 : f->op[0] == 'G' ? 2 : 1;
}

static const int64_t lengths[B] = {4, 7, 0};

static void optional(struct op_case *c, bool given, uint64_t seed, int rank, const int64_t *dims) {
  if (given)
    case_float_input(c, seed, -1, 1, rank, dims);
  else
    case_no_input(c);
}

static void form_case(const struct form *f, struct op_case *c) {
  int64_t d = directions_of(f), rows = gates_of(f) * H;
  case_begin(c, "", f->op, 22);
  if (f->batch_first)
    case_float_input(c, 1, -1, 1, DIMS(B, T, I));
  else
    case_float_input(c, 1, -1, 1, DIMS(T, B, I));
  case_float_input(c, 2, -1, 1, DIMS(d, rows, I));
  case_float_input(c, 3, -1, 1, DIMS(d, rows, H));
  optional(c, f->bias, 4, DIMS(d, 2 * rows));
  if (f->lengths)
    case_int64_input(c, B, lengths);
  else
    case_no_input(c);
  for (uint64_t i = 0; i < (f->op[0] == 'L' ? 2 : 1); i++)
    if (f->batch_first)
      optional(c, f->initial, 5 + i, DIMS(B, d, H));
    else
      optional(c, f->initial, 5 + i, DIMS(d, B, H));
  if (f->peepholes)
    case_float_input(c, 7, -1, 1, DIMS(d, 3 * H));
  case_string(c, "direction", f->direction);
  case_int(c, "layout", f->batch_first);
  if (f->coupled)
    case_int(c, "input_forget", 1);
  if (f->linear)
    case_int(c, "linear_before_reset", 1);
  if (f->clip > 0)
    case_float(c, "clip", f->clip);
  if (f->activations[0])
    case_attr(c, "activations", ATTR_STRINGS, (size_t)(d * functions_of(f)))->strings = f->activations;
  if (f->alpha != 0)
    case_attr(c, "activation_alpha", ATTR_FLOATS, 1)->floats = &f->alpha;
  if (f->beta != 0)
    case_attr(c, "activation_beta", ATTR_FLOATS, 1)->floats = &f->beta;
  c->node.n_outputs = f->op[0] == 'L' ? 3 : 2;
  c->outputs[1] = 1, c->outputs[2] = 2;
}

// ---- the definition

#define R(x) (n->single ? (double)(float)(x) : (double)(x))

// One direction of one batch.
struct naive {
  const struct form *f;
  const struct op_case *c;
  bool single; // every intermediate value in fp32
  int direction, batch, time;
  double h[H], cell[H];
};

static double activation(const struct naive *n, int i, double x) {
  static const char *const defaults[][3] = {{"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
  int each = functions_of(n->f);
  const char *name = n->f->activations[0] ? n->f->activations[n->direction * each + i] : defaults[each - 1][i];
  double a = n->f->alpha, b = n->f->beta;
  if (n->f->clip > 0)
    x = fmin(fmax(x, -n->f->clip), n->f->clip);
  if (strcmp(name, "Tanh") == 0)
    return R(tanh(x));
  if (strcmp(name, "Sigmoid") == 0)
    return R(1 / R(1 + R(exp(-x))));
  if (strcmp(name, "Relu") == 0)
    return x > 0 ? x : 0;
  if (strcmp(name, "Affine") == 0)
    return R(R(a * x) + b);
  if (strcmp(name, "LeakyRelu") == 0)
    return x < 0 ? R((double)0.01f * x) : x;
  if (strcmp(name, "ThresholdedRelu") == 0)
    return x > (a != 0 ? a : 1) ? x : 0;
  if (strcmp(name, "ScaledTanh") == 0)
    return R(a * R(tanh(R(b * x))));
  if (strcmp(name, "HardSigmoid") == 0)
    return fmax(0, fmin(1, R(R((double)0.2f * x) + 0.5)));
  if (strcmp(name, "Elu") == 0)
    return x < 0 ? R(exp(x) - 1) : x;
  if (strcmp(name, "Softsign") == 0)
    return R(x / R(1 + fabs(x)));
  assert_string_equal(name, "Softplus");
  return R(log1p(exp(x)));
}

static double from_x(const struct naive *n, int row) {
  const struct form *f = n->f;
  const double *x = n->c->in[0].f64 + (f->batch_first ? n->batch * T + n->time : n->time * B + n->batch) * I;
  const double *w = n->c->in[1].f64 + (n->direction * gates_of(f) * H + row) * I;
  double sum = f->bias ? n->c->in[3].f64[2 * n->direction * gates_of(f) * H + row] : 0;
  for (int i = 0; i < I; i++)
    sum = R(sum + R(x[i] * w[i]));
  return sum;
}

static double from_h(const struct naive *n, const double *h, int row) {
  const struct form *f = n->f;
  const double *w = n->c->in[2].f64 + (n->direction * gates_of(f) * H + row) * H;
  double sum = f->bias ? n->c->in[3].f64[(2 * n->direction + 1) * gates_of(f) * H + row] : 0;
  for (int i = 0; i < H; i++)
    sum = R(sum + R(h[i] * w[i]));
  return sum;
}

static double peephole(const struct naive *n, int gate, int j, double cell) {
  return n->f->peepholes ? R(n->c->in[7].f64[(3 * n->direction + gate) * H + j] * cell) : 0;
}

static void lstm_step(struct naive *n) {
  double h[H];
  for (int j = 0; j < H; j++) {
    double sums[4];
    for (int g = 0; g < 4; g++)
      sums[g] = R(from_x(n, g * H + j) + from_h(n, n->h, g * H + j));
    double i = activation(n, 0, R(sums[0] + peephole(n, 0, j, n->cell[j])));
    double forget = n->f->coupled ? R(1 - i) : activation(n, 0, R(sums[2] + peephole(n, 2, j, n->cell[j])));
    n->cell[j] = R(R(forget * n->cell[j]) + R(i * activation(n, 1, sums[3])));
    double o = activation(n, 0, R(sums[1] + peephole(n, 1, j, n->cell[j])));
    h[j] = R(o * activation(n, 2, n->cell[j]));
  }
  memcpy(n->h, h, sizeof h);
}

static void gru_step(struct naive *n) {
  double h[H], z[H], r[H], behind[H];
  for (int j = 0; j < H; j++) {
    z[j] = activation(n, 0, R(from_x(n, j) + from_h(n, n->h, j)));
    r[j] = activation(n, 0, R(from_x(n, H + j) + from_h(n, n->h, H + j)));
    behind[j] = R(r[j] * n->h[j]);
  }
  for (int j = 0; j < H; j++) {
    double state = n->f->linear ? R(r[j] * from_h(n, n->h, 2 * H + j)) : from_h(n, behind, 2 * H + j);
    double candidate = activation(n, 1, R(from_x(n, 2 * H + j) + state));
    h[j] = R(R(R(1 - z[j]) * candidate) + R(z[j] * n->h[j]));
  }
  memcpy(n->h, h, sizeof h);
}

static void rnn_step(struct naive *n) {
  double h[H];
  for (int j = 0; j < H; j++)
    h[j] = activation(n, 0, R(from_x(n, j) + from_h(n, n->h, j)));
  memcpy(n->h, h, sizeof h);
}

static void naive(const struct form *f, const struct op_case *c, bool single, double *y, double *last,
                  double *last_cell) {
  int dirs = directions_of(f);
  memset(y, 0, (size_t)(T * B * dirs * H) * sizeof *y);
  for (int d = 0; d < dirs; d++)
    for (int b = 0; b < B; b++) {
      struct naive n = {.f = f, .c = c, .single = single, .direction = d, .batch = b};
      int state = (f->batch_first ? b * dirs + d : d * B + b) * H;
      int steps = f->lengths ? (int)lengths[b] : T;
      for (int j = 0; j < H && f->initial; j++) {
        n.h[j] = c->in[5].f64[state + j];
        n.cell[j] = f->op[0] == 'L' ? c->in[6].f64[state + j] : 0;
      }
      for (int s = 0; s < steps; s++) {
        n.time = d == 1 || strcmp(f->direction, "reverse") == 0 ? steps - 1 - s : s;
        if (f->op[0] == 'L')
          lstm_step(&n);
        else if (f->op[0] == 'G')
          gru_step(&n);
        else
          rnn_step(&n);
        memcpy(y + (f->batch_first ? (b * T + n.time) * dirs + d : (n.time * dirs + d) * B + b) * H, n.h, sizeof n.h);
      }
      memcpy(last + state, n.h, sizeof n.h);
      memcpy(last_cell + state, n.cell, sizeof n.cell);
    }
}

// ---- tests

static const struct form forms[] = {
    {.op = "RNN", .direction = "forward"},
    {.op = "RNN", .direction = "reverse", .bias = true, .lengths = true, .initial = true},
    {.op = "RNN", .direction = "bidirectional", .bias = true, .batch_first = true, .activations = {"relu", "Elu"}},
    {.op = "RNN", .direction = "forward", .bias = true, .activations = {"Affine"}, .alpha = 0.25, .beta = 0.5},
    {.op = "RNN", .direction = "forward", .bias = true, .activations = {"ScaledTanh"}, .alpha = 1.5, .beta = 0.5},
    {.op = "RNN", .direction = "bidirectional", .activations = {"Softsign", "ThresholdedRelu"}, .alpha = 0.125},
    {.op = "RNN", .direction = "bidirectional", .clip = 0.75, .activations = {"Softplus", "LeakyRelu"}},
    {.op = "LSTM", .direction = "forward", .bias = true},
    {.op = "LSTM", .direction = "reverse", .bias = true, .lengths = true, .initial = true, .peepholes = true},
    {.op = "LSTM", .direction = "bidirectional", .batch_first = true, .lengths = true, .initial = true},
    {.op = "LSTM", .direction = "bidirectional", .bias = true, .peepholes = true, .coupled = true, .clip = 0.5},
    {.op = "LSTM", .direction = "forward", .bias = true, .activations = {"HardSigmoid", "Relu", "Softsign"}},
    {.op = "GRU", .direction = "forward", .bias = true},
    {.op = "GRU", .direction = "forward", .bias = true, .linear = true, .initial = true},
    {.op = "GRU", .direction = "reverse", .lengths = true, .initial = true, .clip = 0.5},
    {.op = "GRU",
     .direction = "bidirectional",
     .bias = true,
     .linear = true,
     .batch_first = true,
     .lengths = true,
     .initial = true},
    {.op = "GRU", .direction = "bidirectional", .activations = {"Sigmoid", "Softplus", "HardSigmoid", "Tanh"}},
};

// A function of the cell is tanh or the sigmoid, as all are where none is named.
static bool errs_as_libraries(const struct form *f) {
  bool any = !f->activations[0];
  for (size_t i = 0; i < sizeof f->activations / sizeof f->activations[0] && f->activations[i]; i++)
    any |= strcmp(f->activations[i], "Tanh") == 0 || strcmp(f->activations[i], "Sigmoid") == 0;
  return any;
}

static void test_forms(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    const struct form *f = &forms[i];
    struct form lower = *f;
    struct op_case c;
    double want[3][T * B * 2 * H];
    float honest[T * B * 2 * H];
    form_case(f, &c);
    if (f->activations[0] && strcmp(f->activations[0], "relu") == 0) // names are not sensitive to case
      lower.activations[0] = "Relu";
    case_run(&c, case_exact(), 2);
    for (int single = 0; single < 2; single++) {
      naive(&lower, &c, single, want[0], want[1], want[2]);
      for (int o = 0; o < c.node.n_outputs; o++) {
        int64_t n = shape_count(&c.out[o].shape);
        assert_int_equal(n, (o ? 1 : T) * B * directions_of(f) * H);
        for (int64_t k = 0; k < n; k++)
          honest[k] = (float)want[o][k];
        if (!single) {
          case_run(&c, case_exact(), 2);
          assert_close(c.out[o].f64, want[o], n, 1e-14);
          continue;
        }
        double ratio, z = case_honest_z(&c, o, honest, &ratio);
        if (z >= 6 || ratio > (errs_as_libraries(f) ? 2 * RECURRENT_LIBRARY_ULPS : 20)) // C's are right to an ulp
          fail_msg("form %d, output %d: z %g, ratio %g", (int)i, o, z, ratio);
      }
    }
    case_check_threads(&c);
    case_end(&c);
  }
}

// Outputs that are left out are not made, and the others are the same without them.
static void test_outputs_left_out(void **state) {
  (void)state;
  const struct form *f = &forms[8];
  struct op_case whole, last;
  form_case(f, &whole);
  case_run(&whole, case_exact(), 1);
  form_case(f, &last);
  last.outputs[0] = last.outputs[1] = -1;
  case_run(&last, case_exact(), 1);
  assert_memory_equal(last.out[2].f64, whole.out[2].f64, B * H * 8);
  case_end(&whole);
  case_end(&last);
}

// Wide enough for OpenBLAS and for several blocks of an expression.
static void test_wide(void **state) {
  (void)state;
  enum { S = 3, N = 9, W = 300 };
  struct op_case c;
  case_begin(&c, "", "RNN", 14);
  case_float_input(&c, 1, -1, 1, DIMS(S, N, W));
  case_float_input(&c, 2, -0.1, 0.1, DIMS(1, W, W));
  case_float_input(&c, 3, -0.1, 0.1, DIMS(1, W, W));
  case_run(&c, case_exact(), 2);
  double *h = arena_calloc(&c.arena, N * W, sizeof *h), *next = arena_calloc(&c.arena, N * W, sizeof *next);
  for (int s = 0; s < S; s++) {
    for (int i = 0; i < N * W; i++) {
      double sum = 0;
      for (int k = 0; k < W; k++)
        sum += c.in[0].f64[s * N * W + i / W * W + k] * c.in[1].f64[i % W * W + k] +
               h[i / W * W + k] * c.in[2].f64[i % W * W + k];
      next[i] = tanh(sum);
    }
    memcpy(h, next, N * W * sizeof *h);
    assert_close(c.out[0].f64 + s * N * W, h, N * W, 1e-13);
  }
  case_check_threads(&c);
  case_end(&c);
}

static void refused(struct op_case *c, const char *text) {
  assert_int_equal(case_try(c, case_exact(), 1), ASSAY_ERR_INVALID);
  if (!strstr(c->err.message, text))
    fail_msg("\"%s\" does not say \"%s\"", c->err.message, text);
  case_end(c);
}

static void test_errors(void **state) {
  (void)state;
  struct op_case c;
  struct form f = {.op = "GRU", .direction = "sideways"};
  form_case(&f, &c);
  refused(&c, "sideways");
  f = (struct form){.op = "GRU", .direction = "forward", .activations = {"Sigmoid", "Sine"}};
  form_case(&f, &c);
  refused(&c, "Sine");
  f = (struct form){.op = "RNN", .direction = "forward", .activations = {"ScaledTanh"}, .alpha = 1};
  form_case(&f, &c);
  refused(&c, "ScaledTanh has no defaults");
  f = (struct form){.op = "RNN", .direction = "forward", .alpha = 1};
  form_case(&f, &c);
  refused(&c, "more values");
  f = (struct form){.op = "LSTM", .direction = "bidirectional"};
  form_case(&f, &c);
  case_attr(&c, "activations", ATTR_STRINGS, 3)->strings = (const char *const[]){"Tanh", "Tanh", "Tanh"};
  refused(&c, "3 activations given");
  f = (struct form){.op = "RNN", .direction = "forward", .clip = -0.0};
  form_case(&f, &c);
  case_float(&c, "clip", -1);
  refused(&c, "negative");
  f = (struct form){.op = "LSTM", .direction = "forward"};
  form_case(&f, &c);
  case_int(&c, "hidden_size", H + 1);
  refused(&c, "hidden_size");
  f.lengths = true;
  form_case(&f, &c);
  c.in[4].i64[1] = T + 1;
  refused(&c, "sequence length 8 (element 1");
  form_case(&f, &c);
  c.in[1].shape.dims[1] = 3 * H;
  refused(&c, "the input's weights (input 1)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_outputs_left_out),
      cmocka_unit_test(test_wide),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
