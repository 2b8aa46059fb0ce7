// SPDX-License-Identifier: Apache-2.0
// How a task's inputs are drawn, and the probes that replace the declared draw.
//
//   spec      := base ("*" "uniform_scalar(" number "," number ")")? modifier*
//   base      := uniform(a, b) | normal(mean, std) | slash(scale) | constant(c) | integers(lo, hi) | labels(count)
//              | bernoulli(p) | signs() | permutation(count) | seeds() | partition(total)
//                (integers and labels: lo <= v < hi; arguments are numbers, symbols of the workload, or a number over
//                the root of one, "1.6/sqrt(E)": as large a sum of E terms for any E; slash is a
//                uniform number in [-scale, scale) over one in (0, 1]: so heavy-tailed that a few elements carry any
//                norm; permutation: whole numbers from 0 to below count, no two alike along the first dimension, as
//                long as that is not longer than count; seeds: whole numbers below 2^52, of which there are four in a
//                tensor, two whose low 32 bits are the same and the next after each: of five elements two are alike;
//                partition: rising whole numbers along the last dimension, the last of them the total: where groups end
//                whose sizes are random)
//   modifier  := static        a weight: a plan may prepare it once
//              | symmetric     (a + a^T) / 2 over the last two dimensions
//              | triu | tril   the other triangle is zero
//              | regular       matrices that are far from singular and want a pivot: see below
//              | definite      symmetric, and positive definite where the draw is uniform(-1, 1): see below
//              | softmax       softmax over the last dimension of the draw
//              | fixed         probes keep the declared distribution (labels, masks)
//              | above(c)      what probes draw instead is folded to c and more: where a function has a domain
//              | between(a, b) likewise to between a and b: probabilities
//
// Every element is a pure function of (key, input, element), made of Philox words and IEEE double operations only
// (+ - * / sqrt, floor, scaling by powers of two), so that another device can make the same bits. With
// word(s, i) = philox4x32(key, i >> 2, j << 32 | s)[i & 3] for element i (row-major) of input j:
//
//   unit(w)        (w >> 8) * 2^-24
//   uniform        a + (b - a) * unit(word(0, i))
//   normal         mean + std * z, where elements 2p and 2p + 1 share r = sqrt(-2 log((word(0, 2p) + 1) * 2^-32)) and
//   the
//                  angle t = word(0, 2p + 1) * 2^-32 turns (Box and Muller 1958): z = r cos(t) and r sin(t)
//   slash          scale * (2 unit(word(0, i)) - 1) / ((word(1, i) >> 8) + 1) * 2^24
//   integers       lo + (word(0, i) * (hi - lo) >> 32)
//   bernoulli      word(0, i) * 2^-32 < p; signs: -1 where word(0, i) has its top bit, else 1
//   permutation    of count = n with 4^(h-1) < n <= 4^h: element i along the first dimension, r the row-major index of
//                  the others; x = i mod n; then, until x < n: four times (k = 0, 1, 2, 3) the upper half a and the
//                  lower half b of x's 2h bits become b and a xor (the low h bits of philox4x32(key, r << 16 | b, j <<
//                  32 | 8 + k)[0])
//   seeds          w = word(0, i): h * 2^20 + floor(word(2, 1) / 2^12) + (w >> 1 & 1), where h is word(2, 0), and of
//                  odd w word(2, 0) xor (word(2, 2) or 2^12) without its low 12 bits: those differ above 2^32 alone
//   partition      floor(S(i) / S(last) * total + 1/2), S(i) the sum of -log((word(0, l) + 1) * 2^-32) over l from the
//                  first element of i's row to i, in this order; the total where S(last) is 0
//   uniform_scalar lo + (hi - lo) * unit(word(2, 0)), times each element
//   row_scales     t = -12 + 24 * unit(word(3, row)); the element times (1 + t - floor(t)) * 2^floor(t). A vector has
//                  rows of 64 elements
//   above          c + |x|, x being the element so far; between: a + (b - a) * (|x| / (1 + |x|)). Both only where a
//                  probe replaces the declared distribution
//   stripes        along dimension k of extent n > 1: the elements whose index there is word(5, k) * n >> 32. Where
//                  several dimensions are such, the last has none, or, if word(5, 8) of the first input is odd, the
//                  first
//   opposed        along each dimension that has scales (opposed.h), the first of them first: t = r * (2 * unit(w) - 1)
//                  for the number k of the index's factor, w = word(6, k) of the first input whichever this one is;
//                  times (1 + t - floor(t)) * 2^floor(t). r is 12, 8 under windows, or less where the type has no room
//                  (4 for float8e4m3fn), and its sign is another one in the other factor of the products. A symmetric
//                  matrix has the factors of its rows along its columns, too
//   special        word(4, k) * count >> 32 is the element that becomes NaN (k = 0), +Inf (1), -Inf (2), in this order
//
// regular, of m rows and n columns, x being what was drawn before: x / (1.5 sqrt(m)), and one more where a permutation
// of the rows puts column c, p(c) = the permutation above of count m at i = c, with r the number of the matrix; the
// first element is zero unless p(0) = 0. So its singular values lie around 1 (0.2 to 2 for normal draws). With triu or
// tril, p is the identity. With symmetric: (x + its mirror image) / (3 sqrt(2 m)), and p(c) = m - 1 - c. definite: (x +
// its mirror image) / (2 sqrt(2 m)), and one more on the diagonal.
//
// log, cos, sin and exp (for softmax) are the polynomials of task/exact_math.h. The result is rounded once, to the
// input's type. What a probe draws: zero_mean normal(0, 1); row_scales the same times the row's factor (a row: the last
// dimension); heavy_mean normal(1000, 1); integers integers(-4, 5); near_overflow uniform(-m, m) with the task's m;
// subnormal uniform(-1, 1) times the smallest normal number of the type; special normal(0, 1); small_spread and tiny
// normal(0, s) with one s for the tensor; stripes the declared distribution, and in the stripes what zero_mean would
// draw there, times the factor of row 0; opposed the same as zero_mean, or what a weight's distribution draws; of two
// inputs that are multiplied times the opposed factors. s is (1 + t - floor(t)) * 2^floor(t). For small_spread t = -11
// + 5 u, where u = unit(word(2, 0)): so the variance is around an epsilon of 10^-5. Weights that decide how large the
// variance of a normalisation is (task_spread) are as declared, times the s of t = -10 + 5 unit(word(7, 0) of the first
// input) (squared where they are the variance), unless the type has no room, like float16; and where the epsilon is
// below 3 * 10^-7 all of these times the power of two next to the root of 10^5 epsilon. For tiny t = (0.8 + 0.08 u) e /
// n, with the exponent e of the type's smallest normal number and the count n of inputs that are drawn so: their
// product is near 2^(0.84 e), for floats 2^-111 to 2^-101, and hardly any of them is subnormal.
#ifndef TASK_DISTRIBUTION_H
#define TASK_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/tensor_type.h"

// X(enumerator, name, what it draws and what it catches)
#define PROBES(X)                                                                                                      \
  X(DECLARED, "declared", "the task's own distribution")                                                               \
  X(ZERO_MEAN, "zero_mean", "standard normal: separates precisions best")                                              \
  X(ROW_SCALES, "row_scales", "each row scaled by 2^U(-12, 12): absolute tolerances hide small rows")                  \
  X(HEAVY_MEAN, "heavy_mean", "mean far above the spread: one-pass variance, cancellation")                            \
  X(INTEGERS, "integers", "small integers: exact answers, indexing errors")                                            \
  X(NEAR_OVERFLOW, "near_overflow", "large magnitudes: missing max-subtraction, squares that overflow")                \
  X(SUBNORMAL, "subnormal", "subnormal magnitudes: flush to zero")                                                     \
  X(SPECIAL, "special", "a few NaN and infinities among ordinary values")                                              \
  X(SMALL_SPREAD, "small_spread", "spread of some thousandths: what an epsilon adds, and its value")                   \
  X(TINY, "tiny", "products near the smallest normal number: other ways taken for small sums")                         \
  X(STRIPES, "stripes", "declared, but for slices along dimensions: a look at a few elements decides for all")         \
  X(OPPOSED, "opposed",                                                                                                \
    "products scaled along what is summed, one factor up where the other goes down: a scale for a row")

enum probe {
#define PROBE_ENUM(name, text, doc) PROBE_##name,
  PROBES(PROBE_ENUM)
#undef PROBE_ENUM
      PROBE_COUNT
};
const char *probe_name(enum probe p);
bool probe_by_name(const char *name, size_t len, enum probe *out);

enum distribution_kind {
  DIST_UNIFORM,
  DIST_NORMAL,
  DIST_SLASH,
  DIST_CONSTANT,
  DIST_INTEGERS,
  DIST_BERNOULLI,
  DIST_SIGNS,
  DIST_PERMUTATION,
  DIST_SEEDS,
  DIST_PARTITION,
};

// As a specification names it: "uniform", "normal", ...
const char *distribution_kind_name(enum distribution_kind kind);

// How what a probe draws is brought into a function's domain.
enum fold { FOLD_NONE, FOLD_ABOVE, FOLD_BETWEEN };

struct distribution {
  enum distribution_kind kind;
  double a, b;                     // parameters; of DIST_INTEGERS: lo, hi unless symbolic
  const char *a_symbol, *b_symbol; // NULL or the workload's symbol that gives the number
  bool a_root, b_root;             // the number is a, or b, over the symbol's root
  bool scaled;                     // times one uniform draw in [scale_lo, scale_hi) for the whole tensor
  double scale_lo, scale_hi;
  bool is_static, symmetric, triu, tril, softmax, fixed, regular, definite;
  enum fold fold;
  double fold_lo, fold_hi; // hi: of FOLD_BETWEEN
  const char *text;        // as written
};

// Reads a specification; strings go into the arena. ASSAY_ERR_SYNTAX or _INVALID quote the text and say what is wrong.
enum assay_status distribution_parse(const char *text, struct arena *arena, struct distribution *out,
                                     struct assay_error *err);

// ASSAY_ERR_INVALID when this distribution cannot fill a tensor of this type or rank (symmetric needs a matrix, a
// float distribution needs a float type).
enum assay_status distribution_check(const struct distribution *d, enum dtype dtype, int rank, struct assay_error *err);

// ASSAY_ERR_INVALID when the parameters are not valid once symbols are resolved (labels with a count of 0).
enum assay_status distribution_check_values(const struct distribution *d, double a, double b, struct assay_error *err);

// Factors for the indices along some dimensions, the first of these first: of element i along[k].factors[i / stride mod
// extent].
struct draw_scale {
  int64_t stride, extent;
  const double *factors;
};
struct draw_scales {
  int n;
  struct draw_scale along[SHAPE_MAX_RANK];
};

// One tensor to draw.
struct draw_request {
  const struct distribution *distribution;
  double a, b; // its parameters, symbols resolved
  struct tensor_type type;
  enum probe probe;
  double near_overflow;             // the magnitude of that probe
  int n_tiny;                       // how many inputs PROBE_TINY makes small together; 0 counts as 1
  const struct draw_scales *scales; // of PROBE_OPPOSED and PROBE_SMALL_SPREAD; NULL: none
  uint64_t key;
  int input; // j
  int threads;
};

// A key for a second draw of PROBE_STRIPES: where that of `key` has stripes along all dimensions but the first, this
// one has them along all but the last, and the other way round. So no look at a few elements meets them easily in both.
uint64_t distribution_other_stripes(uint64_t key);

// Fills dst (tensor_type_bytes). Cannot fail: needs no memory.
void distribution_draw(const struct draw_request *r, void *dst);
// Elements [first, first + count) of the same draw; whole rows where it is a softmax.
void distribution_draw_part(const struct draw_request *r, int64_t first, int64_t count, void *dst);

#endif
