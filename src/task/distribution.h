// How a task's inputs are drawn, and the probes that replace the declared draw.
//
//   spec      := base ("*" "uniform_scalar(" number "," number ")")? modifier*
//   base      := uniform(a, b) | normal(mean, std) | constant(c) | integers(lo, hi) | labels(count) | bernoulli(p) | signs()
//                (integers and labels: lo <= v < hi; arguments are numbers or symbols of the workload)
//   modifier  := static        a weight: a plan may prepare it once
//              | symmetric     (a + a^T) / 2 over the last two dimensions
//              | triu | tril   the other triangle is zero
//              | softmax       softmax over the last dimension of the draw
//              | fixed         probes keep the declared distribution (labels, masks, probabilities)
#ifndef TASK_DISTRIBUTION_H
#define TASK_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "graph/shape.h"

// X(enumerator, name, what it draws and what it catches)
#define PROBES(X)                                                                                                      \
  X(DECLARED, "declared", "the task's own distribution")                                                               \
  X(ZERO_MEAN, "zero_mean", "standard normal: separates precisions best")                                              \
  X(ROW_SCALES, "row_scales", "each row scaled by 2^U(-12, 12): absolute tolerances hide small rows")                  \
  X(HEAVY_MEAN, "heavy_mean", "mean far above the spread: one-pass variance, cancellation")                            \
  X(INTEGERS, "integers", "small integers: exact answers, indexing errors")                                            \
  X(NEAR_OVERFLOW, "near_overflow", "large magnitudes: missing max-subtraction, squares that overflow")                \
  X(SUBNORMAL, "subnormal", "subnormal magnitudes: flush to zero")                                                     \
  X(SPECIAL, "special", "a few NaN and infinities among ordinary values")

enum probe {
#define PROBE_ENUM(name, text, doc) PROBE_##name,
  PROBES(PROBE_ENUM)
#undef PROBE_ENUM
  PROBE_COUNT
};
const char *probe_name(enum probe p);

enum distribution_kind {
  DIST_UNIFORM,
  DIST_NORMAL,
  DIST_CONSTANT,
  DIST_INTEGERS,
  DIST_BERNOULLI,
  DIST_SIGNS,
};

struct distribution {
  enum distribution_kind kind;
  double a, b; // parameters; of DIST_INTEGERS: lo, hi unless symbolic
  const char *a_symbol, *b_symbol; // NULL or the workload's symbol that gives the number
  bool scaled; // times one uniform draw in [scale_lo, scale_hi) for the whole tensor
  double scale_lo, scale_hi;
  bool is_static, symmetric, triu, tril, softmax, fixed;
  const char *text; // as written
};

#endif
