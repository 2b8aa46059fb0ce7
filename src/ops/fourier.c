// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform, by Cooley and Tukey's decomposition into the extent's prime factors.
//
// What a contract pass errs: a transform of n = p1 p2 ... takes a sum of p terms at every stage, whose rounding errors
// are independent, so the spectrum errs by u sqrt(sum (p - 1)) times half its root mean square (power-of-two transforms
// of single precision: 0.51 to 0.64 of u sqrt(log2 n) over both parts); and where one coefficient stands out, as a mean
// makes the first, by as much of itself and more: terms that are alike make errors of 2/3 the variance that random
// terms with the same sum make (arith_sum_variance), and those make both parts. Where few numbers of the input outweigh
// the others, the errors of few roots of unity are all there is, and all coefficients share them: they are a few draws,
// not thousands, and may all be two deviations off.
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

enum { FEW = 4 }; // the variance of errors that all share, two deviations

struct transform {
  const struct op_eval *c;
  const double *x;
  int parts;                      // of an input's number: 1 or 2
  int64_t n, length, inner, kept; // extent of the transform and of the input; elements between neighbours; outputs
  bool inverse;
  double *roots; // cos and sin of 2 pi k / n
  atomic_bool failed;
};

static int64_t smallest_factor(int64_t n) {
  for (int64_t p = 2; p * p <= n; p++)
    if (n % p == 0)
      return p;
  return n;
}

// n numbers of `in`, `step` apart, to out; terms: room for the largest prime factor.
static void run(const struct transform *t, int64_t n, int64_t step, const double *in, double *out, double *terms) {
  if (n == 1) {
    memcpy(out, in, 2 * sizeof *out);
    return;
  }
  int64_t p = smallest_factor(n), m = n / p;
  for (int64_t r = 0; r < p; r++)
    run(t, m, step * p, in + 2 * r * step, out + 2 * r * m, terms);
  for (int64_t k = 0; k < m; k++) {
    for (int64_t r = 0; r < p; r++)
      memcpy(terms + 2 * r, out + 2 * (r * m + k), 2 * sizeof *terms);
    for (int64_t q = 0; q < p; q++) {
      double re = 0, im = 0;
      for (int64_t r = 0; r < p; r++) {
        int64_t at = r * (k + q * m) % n * step; // n * step is the extent of the whole
        double c = t->roots[2 * at], s = t->inverse ? t->roots[2 * at + 1] : -t->roots[2 * at + 1];
        re += terms[2 * r] * c - terms[2 * r + 1] * s;
        im += terms[2 * r] * s + terms[2 * r + 1] * c;
      }
      out[2 * (k + q * m)] = re;
      out[2 * (k + q * m) + 1] = im;
    }
  }
}

static double stages(int64_t n) {
  double sum = 0;
  while (n > 1) {
    int64_t p = smallest_factor(n);
    sum += (double)(p - 1);
    n /= p;
  }
  return sum;
}

// One over how many numbers of the input share its squares: 1 where one outweighs all others, 1/n where all are alike.
static double concentration(const double *in, int64_t n) {
  double squares = 0, fourths = 0, most = 0;
  for (int64_t k = 0; k < 2 * n; k++)
    most = fmax(most, fabs(in[k]));
  for (int64_t k = 0; k < n && most > 0; k++) {
    double re = in[2 * k] / most, im = in[2 * k + 1] / most, square = re * re + im * im;
    squares += square;
    fourths += square * square;
  }
  return most > 0 ? fourths / (squares * squares) : 0;
}

// A spectrum to the output, with the errors of a pass.
static void put(const struct transform *t, int64_t row, const double *in, const double *spectrum) {
  const struct arith *arith = &t->c->arith;
  struct noise noise = noise_at(arith->key, (uint64_t)row);
  double *y = t->c->out[0].f64 + 2 * (row / t->inner * t->kept * t->inner + row % t->inner), squares = 0;
  double factor = t->inverse ? 1 / (double)t->n : 1;
  for (int64_t k = 0; k < 2 * t->n; k++)
    squares += spectrum[k] * spectrum[k];
  double part = 0.5 * ldexp(1, -arith->bits) * sqrt(stages(t->n)),
         of_itself = part * sqrt(4.0 / 3 + FEW * concentration(in, t->n));
  double common = part * sqrt(squares / (double)t->n);
  for (int64_t k = 0; k < t->kept; k++) {
    double own = of_itself * hypot(spectrum[2 * k], spectrum[2 * k + 1]);
    for (int i = 0; i < 2; i++) {
      double v = spectrum[2 * k + i];
      if (!arith->exact)
        v += common * noise_normal(&noise) + own * noise_normal(&noise);
      y[2 * k * t->inner + i] = arith_round(arith, &noise, factor * v);
    }
  }
}

static void transform_rows(void *arg, int64_t begin, int64_t end) {
  struct transform *t = arg;
  double *memory = base_calloc((size_t)(6 * t->n), sizeof *memory);
  double *in = memory, *out = memory + 2 * t->n, *terms = memory + 4 * t->n;
  t->failed = t->failed || !memory;
  for (int64_t row = begin; row < end && memory; row++) {
    const double *x = t->x + t->parts * (row / t->inner * t->length * t->inner + row % t->inner);
    for (int64_t k = 0; k < t->n && k < t->length; k++)
      for (int i = 0; i < t->parts; i++)
        in[2 * k + i] = x[t->parts * k * t->inner + i];
    run(t, t->n, 1, in, out, terms);
    put(t, row, in, out);
  }
  base_free(memory);
}

// ---- what the node says

struct plan {
  int axis;
  int64_t n;
};

static enum assay_status scalar_of(const struct op_infer *c, int i, int64_t *out, struct assay_error *err) {
  if (!op_has(c, i))
    return ASSAY_OK;
  if (!c->in[i]->bits || shape_count(&c->in[i]->shape) != 1)
    return op_invalid(c->node, err, "input %d must be one constant integer", i);
  *out = c->in[i]->i64[0];
  return ASSAY_OK;
}

static enum assay_status read_plan(const struct op_infer *c, struct plan *p, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int64_t axis = c->node->op->since < 20 ? node_int(c->node, "axis", 1) : -2;
  enum assay_status status = loops_need_float(c, 0, err);
  if (!status && (x->rank < 2 || x->dims[x->rank - 1] < 1 || x->dims[x->rank - 1] > 2))
    return op_invalid(c->node, err, "input 0 must have real numbers, [..., 1], or complex ones, [..., 2]");
  if (!status)
    status = scalar_of(c, 2, &axis, err);
  if (!status)
    status = op_axis(c->node, axis, x->rank, &p->axis, err);
  if (!status && p->axis == x->rank - 1)
    return op_invalid(c->node, err, "the last dimension has the parts of a number, and no transform");
  if (!status) {
    p->n = x->dims[p->axis];
    status = scalar_of(c, 1, &p->n, err);
  }
  if (!status && (p->n < 1 || p->n > INT64_C(1) << 32))
    return op_invalid(c->node, err, "a transform of %lld numbers", (long long)p->n);
  if (!status && node_int(c->node, "onesided", 0) && node_int(c->node, "inverse", 0))
    return op_unsupported(c->node, err, "an inverse transform of one side");
  return status;
}

static enum assay_status infer(struct op_infer *c, struct assay_error *err) {
  struct plan p;
  enum assay_status status = read_plan(c, &p, err);
  if (status)
    return status;
  struct shape y = c->in[0]->shape;
  y.dims[p.axis] = node_int(c->node, "onesided", 0) ? p.n / 2 + 1 : p.n;
  y.dims[y.rank - 1] = 2;
  return op_output(c, 0, c->in[0]->dtype, y.rank, y.dims, err);
}

static enum assay_status eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  const struct shape *x = &c->in[0]->shape;
  struct plan p;
  enum assay_status status = read_plan(&as_infer, &p, err);
  if (status)
    return status;
  struct transform t = {.c = c,
                        .x = c->in[0]->f64,
                        .parts = (int)x->dims[x->rank - 1],
                        .n = p.n,
                        .length = x->dims[p.axis],
                        .inner = shape_span(x, p.axis + 1, x->rank - 1),
                        .kept = c->out[0].shape.dims[p.axis],
                        .inverse = node_int(c->node, "inverse", 0) != 0};
  int64_t rows = shape_span(x, 0, p.axis) * t.inner;
  t.roots = arena_calloc(c->scratch, (size_t)(2 * t.n), sizeof *t.roots);
  if (!t.roots)
    return error_nomem(err, "a Fourier transform");
  for (int64_t k = 0; k < t.n; k++) {
    double angle = 2 * 3.14159265358979323846 * (double)k / (double)t.n;
    t.roots[2 * k] = cos(angle);
    t.roots[2 * k + 1] = sin(angle);
  }
  parallel_for(c->threads, rows, 1 + 10000 / t.n, transform_rows, &t);
  return t.failed ? error_nomem(err, "a Fourier transform") : ASSAY_OK;
}

// As many operations as a transform by halves: 5 n log2 n.
static void cost(const struct op_infer *c, struct op_cost *cost) {
  const struct shape *y = &c->out[0].shape;
  struct plan p;
  if (read_plan(c, &p, NULL) == ASSAY_OK)
    cost->flops = 2.5 * (double)shape_count(y) * log2((double)p.n + 1);
}

static void pytorch_dft(struct pytorch_writer *w, const struct node *n) {
  bool complex = w->values[n->inputs[0]].shape.dims[pytorch_rank(w, n->inputs[0]) - 1] == 2;
  if (n->n_inputs > 1 || n->op->since < 20 || node_int(n, "onesided", 0))
    w->complete = false;
  buf_printf(w->out, "torch.view_as_real(torch.fft.%s(", node_int(n, "inverse", 0) ? "ifft" : "fft");
  pytorch_put_template(w, n, complex ? "torch.view_as_complex($0)" : "$0.squeeze(-1)");
  buf_puts(w->out, "))");
}

static const struct op_attr attrs17[] = {{"axis", ATTR_INT, false, "1"},
                                         {"inverse", ATTR_INT, false, "0"},
                                         {"onesided", ATTR_INT, false, "0"},
                                         {NULL, 0, false, NULL}};

#define DFT_ROW(SINCE, INPUTS, ATTRS, EXAMPLE)                                                                         \
  {                                                                                                                    \
    OP_ROW("DFT", SINCE, 1, INPUTS, 1, 1, OP_CONTRACTION),                                                             \
        .attrs = (ATTRS), .infer = infer, .eval = eval, .cost = cost,                                                  \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .pytorch = {.write = pytorch_dft}, .example = (EXAMPLE),  \
        .doc = DFT_DOC                                                                                                 \
  }
#define DFT_DOC                                                                                                        \
  "The discrete Fourier transform along an axis (input 2, before the last dimension without it), of numbers whose "    \
  "parts are the last dimension: real [..., 1] or complex [..., 2]. Input 1, where given, is the extent to which "     \
  "input 0 is cut or filled with zeros. An inverse transform is divided by its extent; with onesided = 1 only the "    \
  "first half of the coefficients, and the middle one, come out."

static const struct op_def rows[] = {
    DFT_ROW(17, 2, attrs17, NULL),
    DFT_ROW(20, 3, attrs17 + 1,
            "(float[2,6,2] x) => (float[2,6,2] y) { y = DFT(x) }\n"
            "(float[3,7,2,1] x) => (float[2,7,2,2] y) <int64 n = {3}, int64 axis = {0}>"
            " { y = DFT<onesided = 1>(x, n, axis) }"),
};

const struct op_family ops_fourier_family = {"Fourier transforms", rows, sizeof rows / sizeof rows[0]};
