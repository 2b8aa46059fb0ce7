// SPDX-License-Identifier: Apache-2.0
// Chains of 2 to 8 operators in half precision. A kernel of plain C computes inside operators in single precision and
// rounds what goes from one to the next to the storage type: everywhere as PyTorch does, nowhere as a fused kernel
// does, or here and there. All of these are right. What sums in the storage type, leaves terms out or rounds to the
// next lower precision is not. Each is judged as the exam judges it, second look included.
//
// Without arguments some hundred verdicts; `test_half_chains N [FIRST]` makes N chains of each contract from seed FIRST
// on and prints the table of docs/evidence/numerics.md.
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
#include "base/buf.h"
#include "base/parallel.h"
#include "judge/question.h"

enum { WRONG_EACH = 4 }; // of as many chains one is given to wrong kernels
enum { REPLICAS = 16, NODES = 16, VALUES = 40, LEAST = 2, MOST = 8 };

// ---- graphs

enum kind {
  MATMUL,
  ADD,
  SUB,
  MUL,
  DIV,
  GELU,
  GELU_TANH,
  RELU,
  SIGMOID,
  TANH,
  SOFTPLUS,
  EXP,
  SQRT,
  SOFTMAX,
  LAYER_NORM,
  ROW_MEAN,
  ROW_MAX,
};
static const char *const kind_names[] = {
    "MatMul",   "Add",  "Sub",      "Mul", "Div",  "Gelu",    "Gelu<approximate = \"tanh\">", "Relu",
    "Sigmoid",  "Tanh", "Softplus", "Exp", "Sqrt", "Softmax", "LayerNormalization",           "ReduceMean",
    "ReduceMax"};

enum shape_kind {
  ROWS,
  COLUMN,
  VECTOR,
  SQUARE,
  FIRST_WEIGHT,
  FIRST_INPUT,
  NUMBER
}; // [M,N] [M,1] [N] [N,N] [K,N] [M,K] []

struct chain_value {
  enum shape_kind shape;
  bool input;
  float number; // of a NUMBER
};

struct chain_node {
  enum kind kind;
  int in[3], n_in, out;
};

struct chain {
  struct chain_value values[VALUES];
  struct chain_node nodes[NODES];
  int n_values, n_nodes;
};

static int add_value(struct chain *c, enum shape_kind shape, bool input, float number) {
  assert_true(c->n_values < VALUES);
  c->values[c->n_values] = (struct chain_value){shape, input, number};
  return c->n_values++;
}

static int add_node(struct chain *c, enum kind kind, enum shape_kind shape, int a, int b, int third) {
  assert_true(c->n_nodes < NODES);
  int out = add_value(c, shape, false, 0);
  c->nodes[c->n_nodes++] = (struct chain_node){.kind = kind,
                                               .in = {a, b, third},
                                               .n_in = third >= 0 ? 3
                                                       : b >= 0   ? 2
                                                                  : 1,
                                               .out = out};
  return out;
}

// Each pattern takes the value so far and returns the next; `saved` is the value that a residual adds.
enum pattern {
  P_LINEAR,
  P_BIAS,
  P_SCALE,
  P_ACTIVATION,
  P_GATE,
  P_SOFTMAX,
  P_LAYER_NORM,
  P_CENTRE,
  P_RMS_NORM,
  P_SOFTMAX_PARTS,
  P_RESIDUAL,
  PATTERNS
};
static const int pattern_nodes[PATTERNS] = {1, 1, 1, 1, 2, 1, 1, 2, 5, 5, 1};

static int add_pattern(struct chain *c, enum pattern p, int x, int saved, struct noise *n) {
  static const enum kind activations[] = {GELU, GELU_TANH, RELU, SIGMOID, TANH, SOFTPLUS};
  int t;
  switch (p) {
  case P_LINEAR:
    return add_node(c, MATMUL, ROWS, x, add_value(c, SQUARE, true, 0), -1);
  case P_BIAS:
    return add_node(c, noise_next(n) % 4 ? ADD : SUB, ROWS, x, add_value(c, VECTOR, true, 0), -1);
  case P_SCALE:
    return add_node(c, MUL, ROWS, x, add_value(c, VECTOR, true, 0), -1);
  case P_ACTIVATION:
    return add_node(c, activations[noise_next(n) % 6], ROWS, x, -1, -1);
  case P_GATE: // SiLU from its parts
    t = add_node(c, SIGMOID, ROWS, x, -1, -1);
    return add_node(c, MUL, ROWS, x, t, -1);
  case P_SOFTMAX:
    return add_node(c, SOFTMAX, ROWS, x, -1, -1);
  case P_LAYER_NORM:
    t = add_value(c, VECTOR, true, 0);
    return add_node(c, LAYER_NORM, ROWS, x, t, add_value(c, VECTOR, true, 0));
  case P_CENTRE:
    t = add_node(c, ROW_MEAN, COLUMN, x, -1, -1);
    return add_node(c, SUB, ROWS, x, t, -1);
  case P_RMS_NORM:
    t = add_node(c, MUL, ROWS, x, x, -1);
    t = add_node(c, ROW_MEAN, COLUMN, t, -1, -1);
    t = add_node(c, ADD, COLUMN, t, add_value(c, NUMBER, false, 0.0078125f), -1);
    t = add_node(c, SQRT, COLUMN, t, -1, -1);
    return add_node(c, DIV, ROWS, x, t, -1);
  case P_SOFTMAX_PARTS:
    t = add_node(c, ROW_MAX, COLUMN, x, -1, -1);
    x = add_node(c, SUB, ROWS, x, t, -1);
    x = add_node(c, EXP, ROWS, x, -1, -1);
    t = add_node(c, ROW_MEAN, COLUMN, x, -1, -1);
    return add_node(c, DIV, ROWS, x, t, -1);
  default:
    return add_node(c, ADD, ROWS, x, saved, -1);
  }
}

// A chain begins with a product or with a normalisation, so that there is something to sum.
static void make_chain(struct chain *c, struct noise *n) {
  *c = (struct chain){0};
  int most = LEAST + (int)(noise_next(n) % (MOST - LEAST + 1)), x;
  if (noise_next(n) % 4) {
    int in = add_value(c, FIRST_INPUT, true, 0);
    x = add_node(c, MATMUL, ROWS, in, add_value(c, FIRST_WEIGHT, true, 0), -1);
  } else {
    x = add_pattern(c, noise_next(n) % 2 ? P_SOFTMAX : P_LAYER_NORM, add_value(c, ROWS, true, 0), -1, n);
  }
  int saved = x;
  while (c->n_nodes < most) {
    enum pattern p = (enum pattern)(noise_next(n) % PATTERNS);
    if (c->n_nodes + pattern_nodes[p] > MOST || (p == P_RESIDUAL && saved == x))
      continue;
    int next = add_pattern(c, p, x, saved, n);
    if (noise_next(n) % 3 == 0)
      saved = x;
    x = next;
  }
}

static const char *shape_text_of(enum shape_kind s) {
  static const char *const texts[] = {"[M,N]", "[M,1]", "[N]", "[N,N]", "[K,N]", "[M,K]", ""};
  return texts[s];
}

static bool weighs(enum shape_kind s) {
  return s == SQUARE || s == FIRST_WEIGHT;
}

static bool begins_with_product(const struct chain *c) {
  return c->nodes[0].kind == MATMUL;
}

static void make_task(const struct chain *c, bool bf16, double spread, struct task *t) {
  struct buf b;
  struct assay_error err = {0};
  const char *type = bf16 ? "bfloat16" : "float16", *separator = "";
  const char *sizes = begins_with_product(c) ? "M=2, N=2, K=2" : "M=2, N=2";
  buf_init(&b);
  buf_printf(&b,
             "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"test/chain\","
             " \"assay.contract\" : \"%s\", \"assay.workload.small\" : \"%s\", \"assay.workload.full\" : \"%s\"",
             bf16 ? "bf16" : "fp16", sizes, sizes);
  for (int v = 0; v < c->n_values; v++)
    if (c->values[v].input)
      buf_printf(&b, ", \"assay.input.v%d\" : \"normal(0, %g)\"", v, weighs(c->values[v].shape) ? spread : 1.0);
  buf_puts(&b, "]>\nchain (");
  for (int v = 0; v < c->n_values; v++)
    if (c->values[v].input) {
      buf_printf(&b, "%s%s%s v%d", separator, type, shape_text_of(c->values[v].shape), v);
      separator = ", ";
    }
  buf_printf(&b, ") => (%s[M,N] v%d)\n<int64[1] axis = {-1}", type, c->nodes[c->n_nodes - 1].out);
  for (int v = 0; v < c->n_values; v++)
    if (c->values[v].shape == NUMBER) {
      double number = (double)c->values[v].number;
      uint16_t bits;
      dtype_from_f64(bf16 ? DTYPE_BFLOAT16 : DTYPE_FLOAT16, &number, 1, &bits);
      buf_printf(&b, ", %s v%d = {%u}", type, v, (unsigned)bits);
    }
  buf_puts(&b, "> {\n");
  for (int i = 0; i < c->n_nodes; i++) {
    const struct chain_node *n = &c->nodes[i];
    buf_printf(&b, "v%d = %s(v%d", n->out, kind_names[n->kind], n->in[0]);
    for (int k = 1; k < n->n_in; k++)
      buf_printf(&b, ", v%d", n->in[k]);
    buf_puts(&b, n->kind == ROW_MEAN || n->kind == ROW_MAX ? ", axis)\n" : ")\n");
  }
  buf_puts(&b, "}\n");
  if (b.failed || task_parse(b.data, b.len, "chain.onnxtxt", false, t, &err) != ASSAY_OK)
    fail_msg("%s\n%s", buf_str(&b), err.message);
  buf_release(&b);
}

// ---- the kernel

enum way {
  EVERYWHERE,
  NOWHERE,
  SOMEWHERE,
  SOMEWHERE_ELSE,
  HONEST,
  SUMS_ROUNDED = HONEST, // to the storage type, after every term
  SUMS_ROUNDED_64,       // after every 64 terms
  TERM_LEFT_OUT,
  FEWER_BITS, // boundaries to the next lower precision
  WAYS
};
static const char *const way_names[WAYS] = {"rounded everywhere",       "rounded nowhere",
                                            "rounded here and there",   "the same, otherwise",
                                            "sums in the storage type", "sums stored every 64 terms",
                                            "the last term left out",   "the next lower precision"};

struct sizes {
  int64_t m, k, n;
};

struct kernel {
  const struct chain *chain;
  struct sizes s;
  bool bf16;
  enum way way;
  uint64_t key;
  float *values[VALUES];
};

static float *floats(int64_t n) {
  float *p = base_calloc((size_t)n + 1, sizeof *p);
  assert_non_null(p);
  return p;
}

static int64_t count_of(const struct kernel *k, int v) {
  const struct sizes s = k->s;
  const int64_t counts[] = {s.m * s.n, s.m, s.n, s.n * s.n, s.k * s.n, s.m * s.k, 1};
  return counts[k->chain->values[v].shape];
}

static float to_format(enum dtype t, float x) {
  double d = (double)x;
  uint16_t bits = 0;
  dtype_from_f64(t, &d, 1, &bits);
  dtype_to_f64(t, &bits, 1, &d);
  return (float)d;
}

static float stored(const struct kernel *k, float x) {
  return to_format(k->bf16 ? DTYPE_BFLOAT16 : DTYPE_FLOAT16, x);
}

// bfloat16 is what comes below float16, and eight bits below that.
static float fewer(const struct kernel *k, float x) {
  return to_format(k->bf16 ? DTYPE_FLOAT8E4M3FN : DTYPE_BFLOAT16, k->bf16 ? fminf(fmaxf(x, -448), 448) : x);
}

// Whether node `at` reads value v rounded. The maximum that a softmax takes off is one of the numbers that it is taken
// off: of others all may be so far below it that nothing is left.
static bool reads_rounded(const struct kernel *k, int at, int v) {
  if (k->way != SOMEWHERE && k->way != SOMEWHERE_ELSE)
    return k->way != NOWHERE;
  for (int i = 0; i < k->chain->n_nodes; i++) {
    const struct chain_node *n = &k->chain->nodes[i];
    if (n->kind == ROW_MAX && (n->in[0] == v || n->out == v)) {
      at = NODES;
      v = n->in[0];
    }
  }
  struct noise noise = noise_at(k->key + (uint64_t)k->way, (uint64_t)(at * VALUES + v));
  return noise_next(&noise) & 1;
}

// The value as node `at` reads it.
static float *read_value(const struct kernel *k, int at, int v) {
  int64_t n = count_of(k, v);
  float *x = floats(n);
  bool rounds = reads_rounded(k, at, v);
  for (int64_t i = 0; i < n; i++) {
    float y = k->values[v][i];
    bool own = k->chain->values[v].input || k->chain->values[v].shape == NUMBER;
    x[i] = own || !rounds ? y : k->way == FEWER_BITS ? fewer(k, y) : stored(k, y);
  }
  return x;
}

// The sum of n terms, as the way says.
static float sum(const struct kernel *k, const float *t, int64_t n) {
  float s = 0, part = 0;
  if (k->way == TERM_LEFT_OUT)
    n--;
  int64_t every = k->way == SUMS_ROUNDED ? 1 : k->way == SUMS_ROUNDED_64 ? 64 : n;
  for (int64_t i = 0; i < n; i++) {
    part += t[i];
    if ((i + 1) % every == 0 || i + 1 == n) {
      s = every < n ? stored(k, s + part) : s + part;
      part = 0;
    }
  }
  return s;
}

static void matmul(const struct kernel *k, const float *a, const float *b, int64_t inner, float *y) {
  float *t = floats(inner);
  for (int64_t i = 0; i < k->s.m; i++)
    for (int64_t j = 0; j < k->s.n; j++) {
      for (int64_t p = 0; p < inner; p++)
        t[p] = a[i * inner + p] * b[p * k->s.n + j];
      y[i * k->s.n + j] = sum(k, t, inner);
    }
  base_free(t);
}

static float one(enum kind kind, float x) {
  switch (kind) {
  case GELU:
    return 0.5f * x * (1 + erff(x * 0.70710678f));
  case GELU_TANH:
    return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
  case RELU:
    return x > 0 || isnan(x) ? x : 0;
  case SIGMOID:
    return 1 / (1 + expf(-x));
  case TANH:
    return tanhf(x);
  case SOFTPLUS:
    return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x));
  case EXP:
    return expf(x);
  default:
    return sqrtf(x);
  }
}

static float two(enum kind kind, float x, float y) {
  return kind == ADD ? x + y : kind == SUB ? x - y : kind == MUL ? x * y : x / y;
}

static int64_t place_of(const struct kernel *k, int v, int64_t i, int64_t columns) {
  enum shape_kind s = k->chain->values[v].shape;
  return s == ROWS ? i : s == COLUMN ? i / columns : s == VECTOR ? i % columns : 0;
}

static float largest(const float *x, int64_t n) {
  float most = -INFINITY;
  for (int64_t i = 0; i < n; i++)
    most = x[i] > most || isnan(x[i]) ? x[i] : most;
  return most;
}

static void softmax_row(const struct kernel *k, const float *x, float *y) {
  float most = largest(x, k->s.n);
  for (int64_t i = 0; i < k->s.n; i++)
    y[i] = expf(x[i] - most);
  float by = sum(k, y, k->s.n);
  for (int64_t i = 0; i < k->s.n; i++)
    y[i] /= by;
}

static void norm_row(const struct kernel *k, const float *x, const float *scale, const float *bias, float *y) {
  int64_t n = k->s.n;
  float *t = floats(n), mean = sum(k, x, n) / (float)n;
  for (int64_t i = 0; i < n; i++)
    t[i] = (x[i] - mean) * (x[i] - mean);
  float by = 1 / sqrtf(sum(k, t, n) / (float)n + 1e-5f);
  for (int64_t i = 0; i < n; i++)
    y[i] = (x[i] - mean) * by * scale[i] + bias[i];
  base_free(t);
}

static void run_node(const struct kernel *k, int at) {
  const struct chain_node *n = &k->chain->nodes[at];
  float *in[3] = {0}, *y = k->values[n->out];
  int64_t m = k->s.m, columns = k->s.n, count = count_of(k, n->out);
  int64_t width = k->chain->values[n->out].shape == COLUMN ? 1 : columns;
  for (int i = 0; i < n->n_in; i++)
    in[i] = read_value(k, at, n->in[i]);
  switch (n->kind) {
  case MATMUL:
    matmul(k, in[0], in[1], k->chain->values[n->in[0]].shape == FIRST_INPUT ? k->s.k : columns, y);
    break;
  case SOFTMAX:
    for (int64_t r = 0; r < m; r++)
      softmax_row(k, in[0] + r * columns, y + r * columns);
    break;
  case LAYER_NORM:
    for (int64_t r = 0; r < m; r++)
      norm_row(k, in[0] + r * columns, in[1], in[2], y + r * columns);
    break;
  case ROW_MEAN:
    for (int64_t r = 0; r < m; r++)
      y[r] = sum(k, in[0] + r * columns, columns) / (float)columns;
    break;
  case ROW_MAX:
    for (int64_t r = 0; r < m; r++)
      y[r] = largest(in[0] + r * columns, columns);
    break;
  default:
    for (int64_t i = 0; i < count; i++)
      y[i] = n->n_in == 1
                 ? one(n->kind, in[0][i])
                 : two(n->kind, in[0][place_of(k, n->in[0], i, width)], in[1][place_of(k, n->in[1], i, width)]);
  }
  for (int i = 0; i < n->n_in; i++)
    base_free(in[i]);
}

// The inputs are in place; the last value is the output.
static void run_kernel(const struct kernel *k, uint16_t *y) {
  for (int i = 0; i < k->chain->n_nodes; i++)
    run_node(k, i);
  int out = k->chain->nodes[k->chain->n_nodes - 1].out;
  for (int64_t i = 0; i < count_of(k, out); i++) {
    double d = (double)(k->way == FEWER_BITS ? fewer(k, k->values[out][i]) : k->values[out][i]);
    dtype_from_f64(k->bf16 ? DTYPE_BFLOAT16 : DTYPE_FLOAT16, &d, 1, &y[i]);
  }
}

// ---- one verdict: a chain at one shape, asked every probe

static const enum probe probes[] = {PROBE_DECLARED, PROBE_ZERO_MEAN, PROBE_ROW_SCALES, PROBE_HEAVY_MEAN,
                                    PROBE_INTEGERS};
enum { PROBES = sizeof probes / sizeof *probes };

struct judged {
  int asked, failed, again;
  double z, rms; // largest of those that pass, as parts of what is allowed
  struct sizes s;
  char where[96];
};

struct trial {
  bool bf16, large; // large: long sums and many elements, where wrong kernels must show
  uint64_t seed;
};

struct exam {
  struct task task;
  struct chain chain;
  struct layout layout;
  struct workload workload;
  struct binding bindings[3];
  struct sizes s;
  struct question questions[PROBES];
  bool bf16;
  uint64_t seed;
};

static void exam_make(const struct trial *r, struct exam *e) {
  static const int64_t rows[] = {1, 3, 8, 16}, lengths[] = {5, 64, 333, 1024}, widths[] = {4, 16, 33, 64};
  struct assay_error err = {0};
  struct noise n = noise_at(r->seed, 3);
  *e = (struct exam){.bf16 = r->bf16, .seed = r->seed};
  make_chain(&e->chain, &n);
  e->s = r->large ? (struct sizes){16, 1024, 64}
                  : (struct sizes){rows[noise_next(&n) % 4], lengths[noise_next(&n) % 4], widths[noise_next(&n) % 4]};
  make_task(&e->chain, r->bf16, noise_next(&n) % 2 ? 1 / sqrt((double)e->s.n) : 1, &e->task);
  e->bindings[0] = (struct binding){"M", e->s.m};
  e->bindings[1] = (struct binding){"N", e->s.n};
  e->bindings[2] = (struct binding){"K", e->s.k};
  e->workload =
      (struct workload){.name = "small", .n = begins_with_product(&e->chain) ? 3 : 2, .bindings = e->bindings};
  if (layout_make(&e->task, &e->workload, &e->layout, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  for (int p = 0; p < PROBES; p++) {
    e->questions[p] =
        (struct question){.layout = &e->layout, .probe = probes[p], .key = rng_derive(r->seed, (uint64_t)p)};
    assert_int_equal(question_answer(&e->task, &e->questions[p], REPLICAS, 1, &err), ASSAY_OK);
  }
}

static void exam_release(struct exam *e) {
  for (int p = 0; p < PROBES; p++)
    question_release(&e->questions[p]);
  layout_release(&e->layout);
  task_release(&e->task);
}

static void draw(const struct exam *e, const struct question *q, struct kernel *k) {
  void *in[VALUES];
  struct assay_error err = {0};
  int n = 0;
  for (int v = 0; v < e->chain.n_values; v++) {
    k->values[v] = floats(count_of(k, v));
    if (e->chain.values[v].shape == NUMBER)
      k->values[v][0] = e->chain.values[v].number;
    if (e->chain.values[v].input)
      in[n++] = floats(count_of(k, v));
  }
  assert_int_equal(task_make_inputs(&e->task, &e->workload, q->probe, q->key, 1, in, &err), ASSAY_OK);
  n = 0;
  for (int v = 0; v < e->chain.n_values; v++) {
    if (!e->chain.values[v].input)
      continue;
    for (int64_t i = 0; i < count_of(k, v); i++) {
      double d;
      dtype_to_f64(e->bf16 ? DTYPE_BFLOAT16 : DTYPE_FLOAT16, (const uint16_t *)in[n] + i, 1, &d);
      k->values[v][i] = (float)d;
    }
    base_free(in[n++]);
  }
}

static struct assay_check look(const struct exam *e, struct question *q, const uint16_t *y, bool *doubtful) {
  struct assay_error err = {0};
  const struct assay_judge_options o = {.rule = ASSAY_RULE_CONTRACT, .threads = 1};
  struct assay_check c = {0};
  const void *out[1] = {y};
  assert_int_equal(question_check(&e->task, q, out, POISON_NAN, &o, &c, &err), ASSAY_OK);
  struct assay_check seen = c;
  *doubtful = question_drop_doubtful(&o, &c, 1);
  base_free(c.description);
  seen.description = NULL;
  return seen;
}

// As check_twice of judge/exam.c.
static void ask(struct exam *e, int p, enum way way, struct judged *j) {
  struct question *q = &e->questions[p];
  struct kernel k = {.chain = &e->chain, .s = e->s, .bf16 = e->bf16, .way = way, .key = e->seed};
  struct assay_error err = {0};
  bool doubtful;
  if (!question_is_asked(q))
    return;
  uint16_t *y = base_calloc((size_t)(e->s.m * e->s.n) + 1, sizeof *y);
  assert_non_null(y);
  draw(e, q, &k);
  run_kernel(&k, y);
  struct assay_check c = look(e, q, y, &doubtful);
  if (doubtful) {
    struct question second = {.layout = q->layout, .probe = q->probe, .key = q->key, .again = true};
    assert_int_equal(question_answer(&e->task, &second, QUESTION_MORE, 1, &err), ASSAY_OK);
    c = look(e, &second, y, &doubtful);
    question_release(&second);
    j->again++;
  }
  j->asked++;
  j->s = e->s;
  if (c.reason != ASSAY_REASON_PASS) {
    j->failed++;
    snprintf(j->where, sizeof j->where, "%s: %s %.3g of %.3g", c.probe, c.gate, c.gate_z, c.gate_limit);
  } else {
    j->z = fmax(j->z, c.z_max / c.z_limit);
    j->rms = e->s.m * e->s.n > 64 ? fmax(j->rms, c.z_rms) : j->rms;
  }
  for (int v = 0; v < e->chain.n_values; v++)
    base_free(k.values[v]);
  base_free(y);
}

struct work {
  struct trial first;
  struct judged (*all)[WAYS];
};

static void judge_range(void *arg, int64_t begin, int64_t end) {
  const struct work *w = arg;
  for (int64_t i = begin; i < end; i++) {
    struct trial r = w->first;
    struct exam e;
    r.seed = rng_derive(r.seed, (uint64_t)i);
    for (int large = 0; large < (i % WRONG_EACH == 0 ? 2 : 1); large++) {
      r.large = large;
      exam_make(&r, &e);
      for (int way = large ? HONEST : 0; way < (large ? WAYS : HONEST); way++)
        for (int p = 0; p < PROBES; p++)
          ask(&e, p, (enum way)way, &w->all[i][way]);
      exam_release(&e);
    }
  }
}

struct count {
  int64_t verdicts, refused, questions, failed, again;
  double z, rms;
};

static int64_t trials = 12;
static uint64_t first_seed = 1;
static bool table;

static void print_chain(const struct trial *r, int64_t i) {
  struct exam e;
  struct trial own = *r;
  own.seed = rng_derive(r->seed, (uint64_t)i);
  exam_make(&own, &e);
  for (int n = 0; n < e.chain.n_nodes; n++)
    print_message(" %s", kind_names[e.chain.nodes[n].kind]);
  print_message("\n");
  exam_release(&e);
}

static struct count count_way(const struct work *w, enum way way) {
  struct count c = {0};
  for (int64_t i = 0; i < trials; i++) {
    const struct judged *j = &w->all[i][way];
    c.verdicts += j->asked > 0;
    c.refused += j->failed > 0;
    c.questions += j->asked;
    c.failed += j->failed;
    c.again += j->again;
    c.z = fmax(c.z, j->z);
    c.rms = fmax(c.rms, j->rms);
    if (j->asked > 0 && (way < HONEST) == (j->failed > 0) && (way < HONEST || table)) {
      print_message("%s, %s, chain %lld: %s, M=%lld K=%lld N=%lld;", w->first.bf16 ? "bf16" : "fp16", way_names[way],
                    (long long)i, way < HONEST ? j->where : "passes", (long long)j->s.m, (long long)j->s.k,
                    (long long)j->s.n);
      print_chain(&w->first, i);
    }
  }
  return c;
}

static void test_chains(void **state) {
  (void)state;
  int64_t wrong = 0, found = 0;
  if (table)
    printf("| contract | kernel | verdicts | refused | questions | failed | looked at again | largest z, of allowed | "
           "largest rms |\n|---|---|---|---|---|---|---|---|---|\n");
  for (int half = 0; half < 2; half++) {
    struct work w = {.first = {.bf16 = half == 0, .seed = first_seed * 1000 + (uint64_t)half}};
    w.all = base_calloc((size_t)trials, sizeof *w.all);
    assert_non_null(w.all);
    parallel_for(parallel_cpus(), trials, 1, judge_range, &w);
    for (int way = 0; way < WAYS; way++) {
      struct count c = count_way(&w, (enum way)way);
      if (table)
        printf("| %s | %s | %lld | %lld | %lld | %lld | %lld | %.2f | %.2f |\n", half ? "fp16" : "bf16", way_names[way],
               (long long)c.verdicts, (long long)c.refused, (long long)c.questions, (long long)c.failed,
               (long long)c.again, c.z, c.rms);
      if (table)
        continue;
      if (way < HONEST)
        assert_int_equal(c.failed, 0);
      else if (way != SUMS_ROUNDED_64) { // too few roundings for some chains to tell
        wrong += c.verdicts;
        found += c.refused;
      }
    }
    base_free(w.all);
  }
  assert_true(table || (wrong > 0 && 5 * found >= 4 * wrong));
}

int main(int argc, char **argv) {
  table = argc > 1;
  trials = argc > 1 ? atoll(argv[1]) : trials;
  first_seed = argc > 2 ? strtoull(argv[2], NULL, 0) : first_seed;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
