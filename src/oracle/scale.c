// SPDX-License-Identifier: Apache-2.0
// The error scale: how far a straightforward implementation in the contract's precision lands from the truth, per
// element, measured by doing it several times with random rounding and order (ops/arith.h).
//
// R passes give each element an estimate s of the standard deviation, from its mean absolute deviation (squares of the
// deviations of small values would not fit a float). It is too noisy to divide by in a tensor of millions. Its square
// is therefore shrunk towards the mean p of its neighbours' in the same row, as if p were worth SHRINK_WEIGHT further
// passes; p counts at most SHRINK_CAP times the element's own variance, so that an element much smaller than its
// neighbours keeps a scale of its own (unless passes overflow on the way to it, which count as zeros there and so say
// little where the value is small). Never below the rounding of the result itself. Half of the passes have larger
// errors, because of kinks: see run_pass. Where values may be rounded between operators, the scale is at last made as
// large as the deviations of a few more passes: see run_least_pass.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/wide.h"
#include "oracle/run.h"

enum { WINDOW = 8, SHRINK_WEIGHT = 8, SHRINK_CAP = 64, GRAIN = 1 << 14 };

struct deviation {
  const double *y, *pass;
  float *sum;                 // of absolute deviations; negative: a pass that rounds at boundaries overflowed
  struct float_format format; // of the output
  double part;                // what the pass counts
  _Atomic bool *broken;       // set where a pass is of another class; NULL: that does not matter
};

// Finite, infinite (signed) or NaN once it is stored in the output's format.
static int value_class(double x, double max) {
  if (isnan(x))
    return 3;
  if (fabs(x) > max)
    return x > 0 ? 1 : 2;
  return 0;
}

#define COUNTED_MOST ((double)FLT_MAX / 64)

static float counted(double part, double deviation) {
  return (float)fmin(part * deviation, COUNTED_MOST);
}

// Adds the deviations of what is finite in both. *finite: everything is.
WIDE_BODY add_finite_body(const struct deviation *d, int64_t begin, int64_t end, bool *finite) {
  const double *y = d->y, *pass = d->pass, max = d->format.max, part = d->part;
  float *sum = d->sum;
  uint64_t others = 0;
  for (int64_t i = begin; i < end; i++) {
    uint64_t other = (uint64_t) !(fabs(y[i]) <= max) | (uint64_t) !(fabs(pass[i]) <= max);
    double deviation = part * fabs(pass[i] - y[i]);
    float before = sum[i];
    float after = before + (float)wide_pick(deviation < COUNTED_MOST, deviation, COUNTED_MOST);
    sum[i] = (float)wide_pick(other != 0, before, after);
    others |= other;
  }
  *finite = others == 0;
}

WIDE_LOOP(add_finite, (const struct deviation *d, int64_t begin, int64_t end, bool *finite), (d, begin, end, finite))

static void add_deviation(void *arg, int64_t begin, int64_t end) {
  const struct deviation *d = arg;
  bool finite, broken = false;
  add_finite(d, begin, end, &finite);
  for (int64_t i = begin; i < end && !finite && !broken; i++)
    broken = value_class(d->y[i], d->format.max) != value_class(d->pass[i], d->format.max);
  if (broken && d->broken)
    *d->broken = true;
}

// The deviation of a pass that rounds at boundaries. One that overflows on the way counts as if it were zero, which is
// what dividing by infinity makes; and what is beyond the output's format is a number like others.
static double stored_deviation(double y, double pass, bool *overflows) {
  *overflows = isfinite(y) && !isfinite(pass);
  return !isfinite(y) ? 0 : *overflows ? fabs(y) : fabs(pass - y);
}

static void add_stored(void *arg, int64_t begin, int64_t end) {
  const struct deviation *d = arg;
  bool any = false;
  for (int64_t i = begin; i < end; i++) {
    bool overflows;
    float sum = fabsf(d->sum[i]) + counted(d->part, stored_deviation(d->y[i], d->pass[i], &overflows));
    d->sum[i] = overflows || signbit(d->sum[i]) ? -sum : sum;
    any = any || overflows;
  }
  if (any)
    *d->broken = true;
}

struct shrink {
  const double *y;
  const float *sum; // of absolute deviations over the passes
  float *sigma;
  int64_t n, row;
  double replicas, unit; // unit: rounding of the result, relative
};

// A stretch of elements at work: `own` and `near` are of the elements from `first - WINDOW` and from `first` on.
enum { STRETCH = 512 };
struct stretch {
  int64_t first;
  int n;
  double own[STRETCH + 2 * WINDOW], near[STRETCH];
};

// The variances that normal errors with these mean absolute deviations have: E|e| = sigma sqrt(2/pi).
WIDE_BODY own_variances_body(const float *sum, double replicas, int n, double *own) {
  for (int i = 0; i < n; i++) {
    double mean = (double)sum[i] / replicas;
    own[i] = mean * mean * 1.5707963267948966;
  }
}

WIDE_LOOP(own_variances, (const float *sum, double replicas, int n, double *own), (sum, replicas, n, own))

// Mean of s^2 over the neighbours of i, in its row when rows are long enough to have any. Neighbours without an error,
// such as the zeros of a ReLU, say nothing about others and are left out.
static double pool(const struct shrink *s, const struct stretch *t, int64_t i) {
  int64_t low = i - WINDOW, high = i + WINDOW + 1;
  if (s->row >= WINDOW) {
    int64_t first = i / s->row * s->row;
    low = low < first ? first : low;
    high = high > first + s->row ? first + s->row : high;
  }
  low = low < 0 ? 0 : low;
  high = high > s->n ? s->n : high;
  double sum = 0;
  int n = 0;
  for (int64_t j = low; j < high; j++) {
    double own = t->own[j - t->first + WINDOW];
    sum += own;
    n += own > 0;
  }
  return n > 0 ? sum / (double)n : 0;
}

// The same for elements [from, end) of a stretch that have all their neighbours, which are added in the same order.
WIDE_BODY pool_inner_body(struct stretch *t, int from, int end) {
  const double *own = t->own;
  double sum[STRETCH] = {0}, n[STRETCH] = {0};
  for (int j = 0; j <= 2 * WINDOW; j++)
    for (int i = from; i < end; i++) {
      sum[i] += own[i + j];
      n[i] += own[i + j] > 0 ? 1 : 0;
    }
  for (int i = from; i < end; i++)
    t->near[i] = sum[i] / (n[i] > 0 ? n[i] : 1);
}

WIDE_LOOP(pool_inner, (struct stretch * t, int from, int end), (t, from, end))

static void find_near(const struct shrink *s, struct stretch *t) {
  const int64_t end = t->first + t->n, row = s->row >= WINDOW ? s->row : s->n;
  for (int64_t i = t->first, next; i < end; i = next) {
    int64_t start = i / row * row, stop = start + row < end ? start + row : end;
    int64_t inner = start + WINDOW < i ? i : start + WINDOW, outer = start + row - WINDOW;
    outer = outer > stop ? stop : outer;
    next = stop;
    for (; i < stop && i < inner; i++)
      t->near[i - t->first] = pool(s, t, i);
    if (i < outer) {
      pool_inner(t, (int)(i - t->first), (int)(outer - t->first));
      i = outer;
    }
    for (; i < stop; i++)
      t->near[i - t->first] = pool(s, t, i);
  }
}

// A scale with the sign of `from`: negative where passes that round at boundaries overflow (compare.h).
static float may_overflow(float sigma, float from) {
  return signbit(from) ? -fmaxf(fabsf(sigma), FLT_TRUE_MIN) : sigma;
}

WIDE_BODY shrink_values_body(const struct shrink *s, const struct stretch *t) {
  const double *y = s->y + t->first, *owns = t->own + WINDOW, *nears = t->near, unit = s->unit, replicas = s->replicas;
  float *sigma = s->sigma + t->first;
  for (int i = 0; i < t->n; i++) {
    double floor_variance = unit * unit * y[i] * y[i], own = owns[i], near = nears[i];
    double most = SHRINK_CAP * (own + floor_variance);
    near = wide_pick(near > most, most, near);
    double variance = (replicas * own + SHRINK_WEIGHT * near) / (replicas + SHRINK_WEIGHT);
    double scale = sqrt(wide_pick(floor_variance > variance, floor_variance, variance));
    sigma[i] = (float)wide_pick(fabs(y[i]) <= DBL_MAX, scale, 0);
  }
}

WIDE_LOOP(shrink_values, (const struct shrink *s, const struct stretch *t), (s, t))

// Where passes that round at boundaries overflow, what is not finite is right, too: no use in being strict with finite
// values.
static void shrink_overflowing(const struct shrink *s, const struct stretch *t) {
  for (int64_t i = t->first; i < t->first + t->n; i++) {
    double floor_variance = s->unit * s->unit * s->y[i] * s->y[i];
    double own = t->own[i - t->first + WINDOW], near = t->near[i - t->first];
    if (!signbit(s->sum[i]))
      continue;
    double variance = (s->replicas * own + SHRINK_WEIGHT * near) / (s->replicas + SHRINK_WEIGHT);
    s->sigma[i] = may_overflow(isfinite(s->y[i]) ? (float)sqrt(fmax(variance, floor_variance)) : 0, s->sum[i]);
  }
}

static void shrink_stretch(const struct shrink *s, struct stretch *t) {
  int64_t low = t->first - WINDOW < 0 ? 0 : t->first - WINDOW, high = t->first + t->n + WINDOW;
  bool overflows = false;
  high = high > s->n ? s->n : high;
  own_variances(s->sum + low, s->replicas, (int)(high - low), t->own + (low - t->first + WINDOW));
  find_near(s, t);
  shrink_values(s, t);
  for (int64_t i = t->first; i < t->first + t->n; i++)
    overflows |= signbit(s->sum[i]) != 0;
  if (overflows)
    shrink_overflowing(s, t);
}

static void shrink_range(void *arg, int64_t begin, int64_t end) {
  struct stretch t;
  for (t.first = begin; t.first < end; t.first += STRETCH) {
    t.n = end - t.first < STRETCH ? (int)(end - t.first) : STRETCH;
    shrink_stretch(arg, &t);
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
enum { WIDER_BITS = 7, WIDER_BITS_OF_FACTORS = 5, STEEP_BITS = 2, CHAOS_BITS = 4 };

// Rounding at random has twice the variance of rounding to nearest, which is what kernels do.
static const double RANDOM_TO_NEAREST = 0.70710678118654752;

struct run_pass run_pass(const struct arith *contract, int k, const struct run_passes *passes) {
  struct run_pass p = {.arith = *contract, .part = 1, .wide = k >= passes->normal};
  // Two wide passes share a key.
  int normal = passes->normal, own = p.wide ? normal + (k - normal) / 2 : k;
  p.arith.key = noise_derive(contract->key & ~NOISE_MIRRORED, (uint64_t)own);
  if (!p.wide && contract->stored.bits > 0) {
    p.arith.store = STORE_RANDOM;
    p.arith.store_some = k % 2 != 0;
    p.part = RANDOM_TO_NEAREST * passes->n / normal;
  }
  if (!p.wide)
    return p;
  if ((k - normal) % 2)
    p.arith.key |= NOISE_MIRRORED;
  p.arith.bits = (contract->bits < 52 ? contract->bits : 52) - passes->wider;
  p.arith.product_bits -= contract->product_bits < 53 ? passes->wider : 0;
  p.arith.cut_bits -= contract->cut_bits > 0 ? passes->wider : 0;
  p.part = arith_pow2(-passes->wider);
  return p;
}

int run_least_passes(int replicas) {
  enum { LEAST = 4, PART = 4 };
  return replicas / PART > LEAST ? replicas / PART : LEAST;
}

struct arith run_least_pass(const struct arith *contract, int k) {
  static const uint64_t LEAST_PASSES = 0x6c65617374u; // no number of another pass
  struct arith a = *contract;
  a.key = noise_derive(contract->key & ~NOISE_MIRRORED, LEAST_PASSES + (uint64_t)k);
  a.store = k % 4 == 1 ? STORE_NEVER : STORE_NEAREST;
  a.store_some = k > 0;
  return a;
}

// Whether a node that bends so comes after one that adds, or is an attention, which does both.
static bool bends_sums(const struct graph *g, enum op_kink kink) {
  bool adds = false;
  for (int i = 0; i < g->n_nodes - g->n_exact; i++) {
    const struct op_errors *errors = &g->nodes[i].op->errors;
    if ((adds || g->nodes[i].op->class == OP_CONTRACTION) && errors->kink == kink)
      return true;
    adds = adds || errors->sum == OP_SUM_OF_MANY;
  }
  return false;
}

bool oracle_has_steep_sums(const struct graph *g) {
  return bends_sums(g, OP_STEEP);
}

// Whether errors 128 times as large say nothing else than usual ones: values are not rounded to another type between
// nodes, and no node hands its errors on to its own next step.
static bool keeps_errors_small(const struct graph *g, const struct arith *contract) {
  bool small = contract->stored.bits == 0 && contract->product_bits >= 53;
  for (int i = 0; i < g->n_nodes - g->n_exact; i++)
    small = small && !g->nodes[i].op->feeds_back;
  return small;
}

struct run_passes run_passes_of(const struct graph *g, const struct arith *contract, int replicas) {
  enum { LEAST = 4, AS_MANY = 8 }; // pairs at least
  struct run_passes p = {.n = replicas, .normal = replicas};
  if (replicas < LEAST)
    return p;
  if (bends_sums(g, OP_KINK)) {
    p.n = replicas + (replicas / 2 < AS_MANY ? AS_MANY : replicas / 2);
    p.normal = (p.n + 1) / 2;
    p.wider = contract->product_bits < 53 ? WIDER_BITS_OF_FACTORS : WIDER_BITS;
  } else if (contract->one_lane && (oracle_has_steep_sums(g) || keeps_errors_small(g, contract))) {
    p.n = replicas + replicas / 2;
    p.wider = oracle_has_steep_sums(g) ? STEEP_BITS : WIDER_BITS;
  }
  return p;
}

bool run_may_be_chaotic(const struct graph *g, const struct arith *contract) {
  for (int i = 0; i < g->n_nodes - g->n_exact; i++)
    if (g->nodes[i].op->feeds_back)
      return contract->stored.bits == 0 && contract->product_bits >= 53;
  return false;
}

// Of the passes after finish_scale, those that look for chaos. An even number.
static int chaos_passes(const struct graph *g, const struct arith *contract, int replicas) {
  return run_may_be_chaotic(g, contract) ? (replicas + 3) / 4 * 2 : 0;
}

int run_tail_passes(const struct graph *g, const struct arith *contract, int replicas) {
  int tails = contract->one_lane && contract->stored.bits == 0 && oracle_has_steep_sums(g) ? replicas : 0;
  return chaos_passes(g, contract, replicas) + tails;
}

struct run_pass run_tail_pass(const struct graph *g, const struct arith *contract, int replicas, int k) {
  static const uint64_t TAIL_PASSES = 0x7461696cu, CHAOS_PASSES = 0x6368616fu; // no numbers of other passes
  struct run_pass p = {.arith = *contract, .part = RUN_TAIL_PART, .wide = k < chaos_passes(g, contract, replicas)};
  k -= p.wide ? 0 : chaos_passes(g, contract, replicas);
  p.arith.key = noise_derive(contract->key & ~NOISE_MIRRORED,
                             p.wide ? CHAOS_PASSES + (uint64_t)(k / 2) : TAIL_PASSES + (uint64_t)k);
  if (!p.wide)
    return p;
  p.arith.key |= k % 2 ? NOISE_MIRRORED : 0;
  p.arith.bits -= CHAOS_BITS;
  p.part = arith_pow2(-CHAOS_BITS) * RUN_TAIL_PART;
  return p;
}

// One contract pass, its deviations added to a->sigma. *overflows: a pass that rounds at boundaries is of another class
// somewhere, which does not mean that every straightforward implementation fails there.
static void add_pass(const struct oracle_request *r, const struct run_pass *kind, struct oracle_answer *a,
                     struct array *pass, bool *overflows) {
  _Atomic bool broken = false;
  bool stores = kind->arith.store != STORE_NEVER;
  for (int i = 0; i < a->n_outputs; i++) {
    if (a->sigma[i]) {
      struct deviation d = {.y = a->y[i].f64,
                            .pass = pass[i].f64,
                            .sum = a->sigma[i],
                            .part = kind->part,
                            .broken = kind->wide ? NULL : &broken};
      dtype_float_format(a->y[i].dtype, &d.format);
      parallel_for(r->threads, shape_count(&a->y[i].shape), GRAIN, stores ? add_stored : add_deviation, &d);
    }
    array_release(&pass[i]);
  }
  *overflows = *overflows || (stores && broken);
  a->representable = a->representable && (stores || !broken);
}

// Some passes at once, for graphs with a factorization: its steps wait for one another, and leave most threads idle.
struct passes_at_once {
  const struct oracle_request *r;
  const struct run_pass *kinds;
  struct array *outputs; // of each pass, one after the other
  enum assay_status *statuses;
  struct assay_error *errors;
  int n;
};

static void eval_range(void *arg, int64_t begin, int64_t end) {
  const struct passes_at_once *p = arg;
  for (int64_t k = begin; k < end; k++) {
    struct oracle_request r = *p->r;
    r.arith = p->kinds[k].arith;
    r.threads = r.threads > p->n ? r.threads / p->n : 1;
    p->statuses[k] = oracle_eval(&r, p->outputs + k * r.graph->n_outputs, &p->errors[k]);
  }
}

// What a pass takes at most.
static int64_t bytes_of_pass(const struct graph *g, const struct array *inputs, const struct arith *contract) {
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct oracle_bytes bytes;
  struct assay_error ignored = {0};
  const bool known = oracle_infer(g, inputs, &arena, &shapes, &ignored) == ASSAY_OK &&
                     oracle_answer_bytes(g, shapes.values, contract, &bytes, &ignored) == ASSAY_OK;
  arena_release(&arena);
  return known ? bytes.working + bytes.answer : INT64_MAX;
}

static bool factorizes(const struct graph *g) {
  for (int i = 0; i < g->n_nodes - g->n_exact; i++)
    if (g->nodes[i].op->class == OP_FACTORIZATION)
      return true;
  return false;
}

// How many passes run at once: no more than a part of the memory that is free has room for.
static int passes_at_once(const struct oracle_request *r, const struct arith *contract, int n) {
  enum { PART = 4 };
  int64_t total, most = r->threads < n ? r->threads : n;
  if (most <= 1 || !factorizes(r->graph))
    return 1;
  const int64_t each = bytes_of_pass(r->graph, r->inputs, contract);
  const int64_t room = memory_available("", &total) / PART / (each > 0 ? each : 1); // 0: all tensors are empty
  return (int)(room < 1 ? 1 : room < most ? room : most);
}

// The contract passes, their deviations added to a->sigma in the order of passes.
static enum assay_status add_passes(const struct oracle_request *r, const struct arith *contract,
                                    const struct run_passes *passes, struct oracle_answer *a, bool *overflows,
                                    struct assay_error *err) {
  const int most = passes_at_once(r, contract, passes->n), n_outputs = r->graph->n_outputs;
  struct passes_at_once p = {.r = r};
  struct run_pass *kinds = base_calloc((size_t)most, sizeof *kinds);
  p.kinds = kinds;
  p.outputs = base_calloc((size_t)most * (size_t)n_outputs + 1, sizeof *p.outputs);
  p.statuses = base_calloc((size_t)most, sizeof *p.statuses);
  p.errors = base_calloc((size_t)most, sizeof *p.errors);
  bool made = kinds && p.outputs && p.statuses && p.errors;
  enum assay_status status = made ? ASSAY_OK : error_nomem(err, "the oracle's passes");
  for (int first = 0; first < passes->n && !status; first += most) {
    p.n = passes->n - first < most ? passes->n - first : most;
    for (int k = 0; k < p.n; k++)
      kinds[k] = run_pass(contract, first + k, passes);
    parallel_for(p.n, p.n, 1, eval_range, &p);
    for (int k = 0; k < p.n; k++) {
      if (!status && !p.statuses[k]) {
        add_pass(r, &kinds[k], a, p.outputs + k * n_outputs, overflows);
        continue;
      }
      for (int i = 0; i < n_outputs && !p.statuses[k]; i++)
        array_release(&p.outputs[k * n_outputs + i]);
      if (!status && err)
        *err = p.errors[k];
      status = status ? status : p.statuses[k];
    }
  }
  base_free(kinds);
  base_free(p.outputs);
  base_free(p.statuses);
  base_free(p.errors);
  return status;
}

struct widening {
  const double *y, *pass;
  float *sigma;
};

static void widen_range(void *arg, int64_t begin, int64_t end) {
  const struct widening *w = arg;
  for (int64_t i = begin; i < end; i++) {
    bool overflows;
    float least = counted(1, stored_deviation(w->y[i], w->pass[i], &overflows));
    w->sigma[i] = copysignf(fmaxf(fabsf(w->sigma[i]), least), w->sigma[i]);
    if (overflows)
      w->sigma[i] = may_overflow(w->sigma[i], -1);
  }
}

static bool is_lost(const double *y, const double *pass, int64_t n) {
  double off = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    bool counts = isfinite(y[i]) && isfinite(pass[i]);
    off += counts ? (pass[i] - y[i]) * (pass[i] - y[i]) : 0;
    size += counts ? y[i] * y[i] : 0;
  }
  return off > RUN_LOST * RUN_LOST * size;
}

// The scale is at least what each of some more passes shows, after finish_scale.
static enum assay_status widen_scale(struct oracle_request *r, const struct arith *contract, int replicas,
                                     struct oracle_answer *a, struct array *pass, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int k = 0; k < run_least_passes(replicas) && !status; k++) {
    r->arith = run_least_pass(contract, k);
    status = oracle_eval(r, pass, err);
    for (int i = 0; i < a->n_outputs && !status; i++) {
      if (a->sigma[i]) {
        struct widening w = {.y = a->y[i].f64, .pass = pass[i].f64, .sigma = a->sigma[i]};
        parallel_for(r->threads, shape_count(&a->y[i].shape), GRAIN, widen_range, &w);
        if (is_lost(w.y, w.pass, shape_count(&a->y[i].shape)))
          a->representable = false;
      }
      array_release(&pass[i]);
    }
  }
  return status;
}

static void cover_range(void *arg, int64_t begin, int64_t end) {
  const struct deviation *d = arg;
  for (int64_t i = begin; i < end; i++) {
    int class = value_class(d->y[i], d->format.max);
    if (class == 0 && class == value_class(d->pass[i], d->format.max))
      d->sum[i] = fmaxf(d->sum[i], counted(d->part, fabs(d->pass[i] - d->y[i])));
  }
}

// The scale covers long tails, after finish_scale.
static enum assay_status cover_tails(struct oracle_request *r, const struct arith *contract, int replicas,
                                     struct oracle_answer *a, struct array *pass, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int k = 0; k < run_tail_passes(r->graph, contract, replicas) && !status; k++) {
    const struct run_pass kind = run_tail_pass(r->graph, contract, replicas, k);
    r->arith = kind.arith;
    status = oracle_eval(r, pass, err);
    for (int i = 0; i < a->n_outputs && !status; i++) {
      if (a->sigma[i]) {
        struct deviation d = {.y = a->y[i].f64, .pass = pass[i].f64, .sum = a->sigma[i], .part = kind.part};
        dtype_float_format(a->y[i].dtype, &d.format);
        parallel_for(r->threads, shape_count(&a->y[i].shape), GRAIN, cover_range, &d);
      }
      array_release(&pass[i]);
    }
  }
  return status;
}

int run_closed_form_node(const struct graph *g) {
  int node = g->n_outputs == 1 ? g->values[g->outputs[0]].producer : -1;
  if (node < 0 || g->n_exact > 0 || g->nodes[node].op->class != OP_CONTRACTION || g->nodes[node].n_outputs != 1)
    return -1;
  for (int i = 0; i < g->n_nodes; i++)
    if (i != node && g->nodes[i].op->errors.rounding != OP_EXACT)
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

enum assay_status run_find_contract(const struct graph *g, struct arith *contract, struct assay_error *err) {
  if (contract->stored.bits == 0)
    return ASSAY_OK;
  bool *steady = base_calloc((size_t)g->n_values + 1, sizeof *steady);
  if (!steady)
    return error_nomem(err, "the oracle's answer");
  run_find_steady(g, steady);
  if (!run_has_boundary(g, steady))
    contract->stored.bits = 0;
  base_free(steady);
  return ASSAY_OK;
}

static enum assay_status answer_sampled(const struct graph *g, const struct array *inputs, struct arith contract,
                                        int replicas, int threads, struct oracle_answer *a, struct assay_error *err);

// Where passes overflow that round at boundaries, too few are left for a scale. Fused kernels have one of their own,
// and only what none of them survives does not test a candidate.
static enum assay_status add_fused_scale(const struct oracle_request *r, struct arith contract, int replicas,
                                         struct oracle_answer *a, struct assay_error *err) {
  struct oracle_answer fused = {.n_outputs = a->n_outputs, .representable = true};
  contract.stored.bits = 0;
  fused.y = base_calloc((size_t)a->n_outputs, sizeof *fused.y);
  fused.sigma = base_calloc((size_t)a->n_outputs, sizeof *fused.sigma);
  enum assay_status status = fused.y && fused.sigma ? ASSAY_OK : error_nomem(err, "an error scale");
  if (!status)
    status = answer_sampled(r->graph, r->inputs, contract, replicas, r->threads, &fused, err);
  for (int o = 0; o < a->n_outputs && !status; o++)
    for (int64_t i = 0; a->sigma[o] && i < shape_count(&a->y[o].shape); i++)
      a->sigma[o][i] = copysignf(fmaxf(fabsf(a->sigma[o][i]), fused.sigma[o][i]), a->sigma[o][i]);
  a->representable = a->representable && fused.representable;
  oracle_answer_release(&fused);
  return status;
}

// Whether all passes are as the truth: they need not be run.
static bool rounds_nothing(const struct graph *g, const struct arith *contract) {
  bool nothing = contract->stored.bits == 0;
  for (int i = 0; i < g->n_nodes; i++)
    nothing = nothing && g->nodes[i].op->errors.rounding == OP_EXACT;
  return nothing;
}

bool run_is_untold(int64_t elements, int64_t n) {
  enum { LEAST = 1, PART = 4096 };
  return elements > LEAST && elements > n / PART;
}

// Whether the scale is so large at so many elements that the answer is not told, after cover_tails.
static bool is_untold(const struct oracle_answer *a, int output) {
  int64_t n = shape_count(&a->y[output].shape), elements = 0;
  for (int64_t i = 0; a->sigma[output] && i < n; i++)
    elements += fabsf(a->sigma[output][i]) > RUN_UNTOLD * fabs(a->y[output].f64[i]);
  return run_is_untold(elements, n);
}

// The truth, then as many contract passes as asked for.
static enum assay_status answer_sampled(const struct graph *g, const struct array *inputs, struct arith contract,
                                        int replicas, int threads, struct oracle_answer *a, struct assay_error *err) {
  struct oracle_request r = {.graph = g, .inputs = inputs, .threads = threads};
  double *products = NULL;
  const struct run_passes passes = run_passes_of(g, &contract, replicas);
  int n = passes.n, floating = 0;
  bool overflows = false;
  struct array *pass = base_calloc((size_t)g->n_outputs, sizeof *pass);
  enum assay_status status = pass ? run_find_contract(g, &contract, err) : error_nomem(err, "the oracle's answer");
  if (!status && contract.one_lane)
    status = run_find_products(g, inputs, &products, err);
  r.arith = arith_truth(&contract);
  r.products = products;
  if (!status && n > 0)
    r.memos = run_memos_make(g); // without memory for it passes share nothing
  if (r.memos && factorizes(g))
    r.pass_bytes = bytes_of_pass(g, inputs, &contract);
  if (!status)
    status = oracle_eval(&r, a->y, err);
  for (int i = 0; i < g->n_outputs && !status; i++)
    if (dtype_is_float(a->y[i].dtype)) {
      floating++;
      a->sigma[i] = base_calloc((size_t)shape_count(&a->y[i].shape), sizeof *a->sigma[i]);
      if (!a->sigma[i])
        status = error_nomem(err, "an error scale");
    }
  n = floating > 0 ? n : 0; // whole numbers are right or wrong
  if (!status && n > 0 && !rounds_nothing(g, &contract))
    status = add_passes(&r, &contract, &passes, a, &overflows, err);
  for (int i = 0; i < g->n_outputs && !status; i++)
    if (a->sigma[i])
      status = finish_scale(&a->y[i], &a->sigma[i], &contract, n, threads, err);
  if (!status && contract.stored.bits > 0 && n > 0)
    status = widen_scale(&r, &contract, n, a, pass, err);
  if (!status && floating > 0)
    status = cover_tails(&r, &contract, replicas, a, pass, err);
  for (int i = 0; i < g->n_outputs && !status && run_may_be_chaotic(g, &contract); i++)
    a->representable = a->representable && !is_untold(a, i);
  if (!status && overflows)
    status = add_fused_scale(&r, contract, replicas, a, err);
  run_memos_release(g, r.memos);
  base_free(products);
  base_free(pass);
  return status;
}

// Whether the answer is another one where casts of what an integer type cannot hold give something else. (An index that
// is out of its table then is no failure of ours.)
static enum assay_status find_open_casts(const struct graph *g, const struct array *inputs, int threads,
                                         struct oracle_answer *a, struct assay_error *err) {
  struct oracle_request r = {.graph = g, .inputs = inputs, .arith = arith_exact(), .threads = threads};
  struct array *usual = base_calloc(2 * (size_t)g->n_outputs, sizeof *usual), *other = usual + g->n_outputs;
  if (!usual)
    return error_nomem(err, "the oracle's answer");
  enum assay_status status = oracle_eval(&r, usual, err);
  r.arith.other_casts = true;
  if (!status)
    status = oracle_eval(&r, other, err);
  for (int i = 0; i < g->n_outputs; i++) {
    size_t bytes = (size_t)shape_count(&usual[i].shape) * sizeof *usual[i].bits;
    if (!status && memcmp(usual[i].bits, other[i].bits, bytes) != 0)
      a->open_casts = true;
    array_release(&usual[i]);
    array_release(&other[i]);
  }
  base_free(usual);
  if (status == ASSAY_ERR_INVALID) {
    a->open_casts = true;
    status = ASSAY_OK;
    memset(err, 0, sizeof *err);
  }
  a->representable = a->representable && !a->open_casts;
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
    status = answer_sampled(g, inputs, *contract, replicas, threads, &a, err);
  if (!status && a.representable && run_casts_to_integers(g, inputs))
    status = find_open_casts(g, inputs, threads, &a, err);
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
