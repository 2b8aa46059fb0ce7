// The error scale: how far a straightforward implementation in the contract's precision lands from the truth, per
// element, measured by doing it several times with random rounding and order (ops/arith.h).
//
// R passes give each element an estimate s of the standard deviation, from its mean absolute deviation (squares of the
// deviations of small values would not fit a float). It is too noisy to divide by in a tensor of millions. Its square
// is therefore shrunk towards the mean p of its neighbours' in the same row, as if p were worth SHRINK_WEIGHT further
// passes; p counts at most SHRINK_CAP times the element's own variance, so that an element much smaller than its
// neighbours keeps a scale of its own. Never below the rounding of the result itself. Half of the passes have larger
// errors, for the sake of kinks: run_pass.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "oracle/run.h"

enum { WINDOW = 8, SHRINK_WEIGHT = 8, SHRINK_CAP = 64, GRAIN = 1 << 14 };

struct deviation {
  const double *y, *pass;
  float *sum;                 // of squared deviations
  struct float_format format; // of the output
  double part;                // what the pass counts
  _Atomic bool *broken;       // NULL: a pass of another class counts nothing
};

// Finite, infinite (signed) or NaN once it is stored in the output's format.
static int value_class(double x, double max) {
  if (isnan(x))
    return 3;
  if (fabs(x) > max)
    return x > 0 ? 1 : 2;
  return 0;
}

static void add_deviation(void *arg, int64_t begin, int64_t end) {
  const struct deviation *d = arg;
  bool broken = false;
  for (int64_t i = begin; i < end; i++) {
    int class = value_class(d->y[i], d->format.max);
    if (class != value_class(d->pass[i], d->format.max))
      broken = true;
    else if (class == 0)
      d->sum[i] += (float)fmin(d->part * fabs(d->pass[i] - d->y[i]), FLT_MAX / 64);
  }
  if (broken && d->broken)
    *d->broken = true;
}

struct shrink {
  const double *y;
  const float *sum; // of absolute deviations over the passes
  float *sigma;
  int64_t n, row;
  double replicas, unit; // unit: rounding of the result, relative
};

// The variance that a normal error with this mean absolute deviation has: E|e| = sigma sqrt(2/pi).
static double own_variance(const struct shrink *s, int64_t i) {
  double mean = (double)s->sum[i] / s->replicas;
  return mean * mean * 1.5707963267948966;
}

// Mean of s^2 over the neighbours of i, in its row when rows are long enough to have any. Those without an error, such
// as ReLU makes, say nothing of others.
static double pool(const struct shrink *s, int64_t i) {
  int64_t low = i - WINDOW, high = i + WINDOW + 1;
  if (s->row >= WINDOW) {
    int64_t first = i / s->row * s->row;
    low = low < first ? first : low;
    high = high > first + s->row ? first + s->row : high;
  }
  low = low < 0 ? 0 : low;
  high = high > s->n ? s->n : high;
  double sum = 0;
  int64_t n = 0;
  for (int64_t j = low; j < high; j++) {
    double own = own_variance(s, j);
    sum += own;
    n += own > 0;
  }
  return n > 0 ? sum / (double)n : 0;
}

static void shrink_range(void *arg, int64_t begin, int64_t end) {
  const struct shrink *s = arg;
  for (int64_t i = begin; i < end; i++) {
    double floor_variance = s->unit * s->unit * s->y[i] * s->y[i];
    double own = own_variance(s, i);
    double near = fmin(pool(s, i), SHRINK_CAP * (own + floor_variance));
    double variance = (s->replicas * own + SHRINK_WEIGHT * near) / (s->replicas + SHRINK_WEIGHT);
    s->sigma[i] = isfinite(s->y[i]) ? (float)sqrt(fmax(variance, floor_variance)) : 0;
  }
}

static enum assay_status finish_scale(const struct array *y, float **sum, const struct arith *contract, int replicas,
                                      int threads, struct assay_error *err) {
  int64_t n = shape_count(&y->shape);
  float *sigma = base_alloc((size_t)n * sizeof *sigma);
  if (!sigma)
    return error_nomem(err, "an error scale");
  struct shrink s = {.y = y->f64,
                     .sum = *sum,
                     .sigma = sigma,
                     .n = n,
                     .replicas = replicas,
                     .row = y->shape.rank ? y->shape.dims[y->shape.rank - 1] : 1,
                     .unit = ldexp(1, -contract->bits)};
  parallel_for(threads, n, GRAIN, shrink_range, &s);
  base_free(*sum);
  *sum = sigma;
  return ASSAY_OK;
}

// By how many bits a wide pass errs more. Rounded factors err much already.
enum { WIDER_BITS = 7, WIDER_BITS_OF_FACTORS = 5 };

struct run_pass run_pass(const struct arith *contract, int k, int replicas) {
  struct run_pass p = {.arith = *contract, .part = 1};
  int normal = replicas < 4 ? k + 1 : (replicas + 1) / 2;
  p.wide = k >= normal;
  // Two wide passes share a key.
  int own = p.wide ? normal + (k - normal) / 2 : k;
  p.arith.key = noise_derive(contract->key & ~NOISE_MIRRORED, (uint64_t)own);
  if (!p.wide)
    return p;
  if ((k - normal) % 2)
    p.arith.key |= NOISE_MIRRORED;
  int wider = contract->product_bits < 53 ? WIDER_BITS_OF_FACTORS : WIDER_BITS;
  p.arith.bits = (contract->bits < 52 ? contract->bits : 52) - wider;
  p.arith.product_bits -= contract->product_bits < 53 ? wider : 0;
  p.arith.cut_bits -= contract->cut_bits > 0 ? wider : 0;
  p.part = arith_pow2(-wider);
  return p;
}

// Operators with a place where errors vanish on one side, or all but vanish.
static bool bends(const struct op_def *op) {
  static const char *const names[] = {"Abs", "Clip",  "HardSigmoid", "HardSwish", "LeakyRelu",       "Max",
                                      "Min", "PRelu", "Relu",        "Shrink",    "ThresholdedRelu", "Where"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(op->name, names[i]) == 0 && !*op->domain)
      return true;
  return false;
}

int run_wide_replicas(const struct graph *g, int replicas) {
  enum { LEAST = 4, AS_MANY = 8 }; // pairs at least
  bool adds = false;
  for (int i = 0; i < g->n_nodes; i++) {
    if (adds && bends(g->nodes[i].op))
      return replicas < LEAST ? 0 : replicas + (replicas / 2 < AS_MANY ? AS_MANY : replicas / 2);
    adds = adds || g->nodes[i].op->adds;
  }
  return 0;
}

// One contract pass, its deviations added to a->sigma.
static enum assay_status add_pass(const struct oracle_request *r, const struct run_pass *kind, struct oracle_answer *a,
                                  struct array *pass, struct assay_error *err) {
  _Atomic bool broken = false;
  enum assay_status status = oracle_eval(r, pass, err);
  if (status)
    return status;
  for (int i = 0; i < a->n_outputs; i++) {
    if (a->sigma[i]) {
      struct deviation d = {.y = a->y[i].f64,
                            .pass = pass[i].f64,
                            .sum = a->sigma[i],
                            .part = kind->part,
                            .broken = kind->wide ? NULL : &broken};
      dtype_float_format(a->y[i].dtype, &d.format);
      parallel_for(r->threads, shape_count(&a->y[i].shape), GRAIN, add_deviation, &d);
    }
    array_release(&pass[i]);
  }
  a->representable = a->representable && !broken;
  return ASSAY_OK;
}

int run_closed_form_node(const struct graph *g) {
  int node = g->n_outputs == 1 ? g->values[g->outputs[0]].producer : -1;
  if (node < 0 || g->nodes[node].op->class != OP_CONTRACTION || g->nodes[node].n_outputs != 1)
    return -1;
  for (int i = 0; i < g->n_nodes; i++)
    if (i != node && g->nodes[i].op->class != OP_MOVEMENT)
      return -1;
  return node;
}

// Never below the rounding of the result, as in shrink_range.
static void floor_range(void *arg, int64_t begin, int64_t end) {
  const struct shrink *s = arg;
  for (int64_t i = begin; i < end; i++)
    s->sigma[i] = isfinite(s->y[i]) ? fmaxf(s->sigma[i], (float)(s->unit * fabs(s->y[i]))) : 0;
}

// One pass instead of many, where the scale has a closed form. *done is false when the graph or the operator has none.
static enum assay_status answer_closed(const struct graph *g, const struct array *inputs, const struct arith *contract,
                                       int threads, struct oracle_answer *a, bool *done, struct assay_error *err) {
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct oracle_request r = {.graph = g, .inputs = inputs, .arith = *contract, .threads = threads, .has_sigma = done};
  *done = false;
  r.sigma_node = run_closed_form_node(g);
  if (r.sigma_node < 0)
    return ASSAY_OK;
  enum assay_status status = oracle_infer(g, inputs, &arena, &shapes, err);
  int64_t n = status ? 0 : shape_count(&shapes.values[g->outputs[0]].shape);
  bool floating = !status && dtype_is_float(shapes.values[g->outputs[0]].dtype);
  arena_release(&arena);
  if (!floating)
    return status;
  r.sigma = base_alloc((size_t)n * sizeof *r.sigma);
  status = r.sigma ? oracle_eval(&r, a->y, err) : error_nomem(err, "an error scale");
  if (!status && *done) {
    a->sigma[0] = r.sigma;
    struct shrink s = {.y = a->y[0].f64, .sigma = r.sigma, .unit = ldexp(1, -contract->bits)};
    parallel_for(threads, n, GRAIN, floor_range, &s);
    return ASSAY_OK;
  }
  if (!status)
    array_release(&a->y[0]);
  base_free(r.sigma);
  return status;
}

// The truth, then as many contract passes as asked for.
static enum assay_status answer_sampled(const struct graph *g, const struct array *inputs, const struct arith *contract,
                                        int replicas, int threads, struct oracle_answer *a, struct assay_error *err) {
  struct oracle_request r = {.graph = g, .inputs = inputs, .arith = arith_exact(), .threads = threads};
  int wide = run_wide_replicas(g, replicas);
  replicas = wide ? wide : replicas;
  struct array *pass = base_calloc((size_t)g->n_outputs, sizeof *pass);
  enum assay_status status = pass ? oracle_eval(&r, a->y, err) : error_nomem(err, "the oracle's answer");
  for (int i = 0; i < g->n_outputs && !status; i++)
    if (dtype_is_float(a->y[i].dtype)) {
      a->sigma[i] = base_calloc((size_t)shape_count(&a->y[i].shape), sizeof *a->sigma[i]);
      if (!a->sigma[i])
        status = error_nomem(err, "an error scale");
    }
  for (int k = 0; k < replicas && !status; k++) {
    struct run_pass kind = run_pass(contract, k, wide);
    r.arith = kind.arith;
    status = add_pass(&r, &kind, a, pass, err);
  }
  for (int i = 0; i < g->n_outputs && !status; i++)
    if (a->sigma[i])
      status = finish_scale(&a->y[i], &a->sigma[i], contract, replicas, threads, err);
  base_free(pass);
  return status;
}

enum assay_status oracle_answer_make(const struct graph *g, const struct array *inputs, const struct arith *contract,
                                     int replicas, int threads, struct oracle_answer *out, struct assay_error *err) {
  struct oracle_answer a = {.n_outputs = g->n_outputs, .representable = true};
  bool done = false;
  enum assay_status status = ASSAY_OK;
  a.y = base_calloc((size_t)g->n_outputs, sizeof *a.y);
  a.sigma = base_calloc((size_t)g->n_outputs, sizeof *a.sigma);
  if (!a.y || !a.sigma)
    status = error_nomem(err, "the oracle's answer");
  if (!status)
    status = answer_closed(g, inputs, contract, threads, &a, &done, err);
  if (!status && !done)
    status = answer_sampled(g, inputs, contract, replicas, threads, &a, err);
  if (!status) {
    *out = a;
    memset(&a, 0, sizeof a);
  }
  oracle_answer_release(&a);
  return status;
}

void oracle_answer_release(struct oracle_answer *a) {
  for (int i = 0; i < a->n_outputs; i++) {
    if (a->y)
      array_release(&a->y[i]);
    if (a->sigma)
      base_free(a->sigma[i]);
  }
  base_free(a->y);
  base_free(a->sigma);
  memset(a, 0, sizeof *a);
}
