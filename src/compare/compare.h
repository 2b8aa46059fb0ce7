// SPDX-License-Identifier: Apache-2.0
// Facts about an output, compared with the one that it should be; and the verdict that facts and rule give.
// Knows nothing of candidates, devices or files.
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/tensor_type.h"

enum { COMPARE_WORST = 8, COMPARE_HISTOGRAM = 24 };

// One output to compare. All arrays are dense, row-major, of tensor_type_count(type) elements.
struct compare_input {
  struct tensor_type type; // of the output as the task declares it
  const void *got;         // the candidate's bytes, dtype
  const double *want;      // the oracle's values when dtype is floating, else NULL
  const int64_t *want_int; // when it is not
  const float *sigma;      // error scale per element; negative: what is not finite is right, too; NULL for integers
  int64_t first;           // the element that want, want_int and sigma begin with
  double u_out;            // unit roundoff of the output's format: 2^-24 for fp32
  double eta_out;  // smallest positive value that must be distinguished: subnormal, or normal where flushing is allowed
  uint32_t poison; // if has_poison: the 32-bit pattern every 4 bytes of the output were filled with before the call
  bool has_poison;
  double rtol, atol; // of the published rule, for `allclose`
  bool single_draws; // a row may err by a single draw where most do not err at all: compare.c, gate C's limits
  int64_t shared;    // so few moments or sums feed all elements; 0: as many as there are rows
  double loose;      // a second tolerance, rtol = atol = loose, only counted: what a laxer judge would have said
  int threads;
};

struct compare_element {
  int64_t index;             // flat
  double got, want, allowed; // allowed: largest |got - want| that would have passed gate B
  double z;                  // excess error over sigma; INFINITY where integers differ
  double near;               // the largest scale among the neighbours
};

enum compare_hint {
  HINT_NONE,
  HINT_LAST_TILE,       // all wrong elements lie in the last part of one dimension
  HINT_FIRST_ROWS,      // ... first part
  HINT_TRANSPOSED,      // equals the transpose of the last two dimensions
  HINT_CONSTANT_OFFSET, // got - want is the same everywhere
  HINT_CONSTANT_FACTOR, // got / want is the same everywhere
  HINT_NEGATED,
  HINT_SHIFTED, // got[i] = want[i + k] along one dimension
  HINT_ALL_ZERO,
  HINT_CONSTANT,      // every element of got is the same although want varies
  HINT_UNWRITTEN,     // poison is left
  HINT_PERIODIC,      // wrong elements repeat with a stride (a lane, a column)
  HINT_LOW_PRECISION, // errors look like inputs or results rounded to fewer bits
  HINT_HALF_RANGE,    // infinite where the answer is beyond float16's range, and only there
  HINT_FLUSHED,       // wrong elements are zero where the answer is about subnormal
  HINT_REGION,        // all wrong elements lie in some other part of one dimension
};

// What was measured, without a judgement. Counts are of elements. z is over elements whose classes agree.
struct compare_facts {
  int64_t n, n_nan_mismatch, n_inf_mismatch, n_poisoned;
  int64_t rows;                    // all dimensions but the last
  int64_t n_exact;                 // as near to the oracle as the output's format can be
  int64_t n_over;                  // wrong: beyond gate B, of another class, or unwritten
  double max_abs, max_rel;         // over elements whose classes agree; max_rel where want is not 0
  double z_max, z_rms, z_row_rms;  // z_row_rms: the worst row (last dimension, at least 16 elements pooled)
  double z_column_rms, z_tile_rms; // the worst column block and tile of the last two dimensions
  double z_common;                 // the part of z_rms that all elements share: one error scaling or moving everything
  double z_limit;                  // gate B's limit for this n
  double z_rms_limit, z_common_limit, z_group_limit; // gate C's; why they depend on the data: compare.c
  bool few_draws;                                    // gate C's limit over the output is that of a few draws
  bool shared;                                       // ... and most elements may share them (compare_input.shared)
  double z_near; // of facts that fail: the worst elements' largest error over the largest scale among its neighbours
  double mean_z_signed;                 // sum of signed z over sqrt(n): reported, not judged
  int64_t n_allclose_bad;               // elements outside atol + rtol |want|
  int64_t n_loose_bad;                  // outside loose + loose |want|
  int64_t histogram[COMPARE_HISTOGRAM]; // counts of z by power of two: [0] z = 0, [i] z < 2^(i-4), last: the rest
  int n_worst;
  struct compare_element worst[COMPARE_WORST]; // largest z first; class mismatches before all
  int64_t first_over, last_over; // flat indices of the first and last element over the limit, -1 when none
  enum compare_hint hint;
  char hint_text[160]; // an English clause, "" when none
};

enum compare_rule { COMPARE_CONTRACT, COMPARE_ALLCLOSE };

enum compare_outcome {
  COMPARE_PASS,
  COMPARE_UNWRITTEN,     // elements still hold the poison
  COMPARE_WRONG_CLASS,   // NaN or infinity where there should be none, or the other way round
  COMPARE_WRONG_VALUE,   // gate B: some element is too far off (or an integer differs)
  COMPARE_LOW_PRECISION, // gates B or C fail with errors of a lower precision's size
};

// ASSAY_ERR_NOMEM only.
enum assay_status compare_outputs(const struct compare_input *in, struct compare_facts *facts, struct assay_error *err);

// A comparison in steps, for answers that come a part at a time. The facts are bit for bit those of compare_outputs,
// but for the hint, which is made from one part.
struct compare_steps;

// `in`: of the whole output, without the oracle's arrays; what it points at must live as long.
enum assay_status compare_begin(const struct compare_input *in, struct compare_steps **out, struct assay_error *err);
void compare_end(struct compare_steps *c);

// Where the comparison has come to: it needs the oracle's elements from *begin to *end next, at least; false: no more.
bool compare_needs(const struct compare_steps *c, int64_t *begin, int64_t *end);

// Of the oracle's answer, elements [first, end); arrays as in compare_input.
struct compare_answer {
  const double *want;
  const int64_t *want_int;
  const float *sigma;
  int64_t first, end;
};

// Compares as far as the answer goes, which has what compare_needs says.
void compare_some(struct compare_steps *c, const struct compare_answer *a);

// The facts so far, without a hint.
void compare_facts_of(const struct compare_steps *c, struct compare_facts *facts);

// A hint for facts that fail, from this part of the output alone: members [first, first + count) of its first
// dimension, for which a part of the answer has all elements. ASSAY_ERR_NOMEM only.
enum assay_status compare_hint(const struct compare_steps *c, const struct compare_answer *a, int64_t first,
                               int64_t count, struct compare_facts *facts, struct assay_error *err);

// The verdict function: pure.
enum compare_outcome compare_verdict(const struct compare_facts *facts, enum compare_rule rule);

// Z = 2 sqrt(2 ln(2N / 1e-6)): gate B's limit for n elements.
double compare_z_limit(int64_t n);

// Which gate of values decided: the first that fails, or gate B where all pass. GATE_COMMON: the part of the root mean
// square that all elements share.
enum compare_gate { GATE_ELEMENT, GATE_OUTPUT, GATE_COMMON, GATE_ROW, GATE_COLUMN, GATE_TILE };
struct compare_decision {
  enum compare_gate gate;
  double z, limit; // what was measured and what was allowed
};
struct compare_decision compare_decide(const struct compare_facts *facts);

// "the largest error of an element", "the root mean square error of the output", ...; and in one word, "rms".
const char *compare_gate_text(enum compare_gate gate);
const char *compare_gate_word(enum compare_gate gate);

// Whether facts that fail do so by an error of value which the estimate of the scale may explain: few elements are
// wrong, and not by far in units of their own scale or of their neighbours' (all passes may have come out alike, as
// where a function saturates, and then a right element is off by any number of its own scales); or a few draws decide,
// because the output has few rows or all elements share one error.
bool compare_doubtful(const struct compare_facts *facts);

// "worst: [3,17] got 0.5, want 0.25, allowed 1e-6 ..." in several lines.
void compare_describe(const struct compare_facts *facts, const struct shape *shape, struct buf *out);

#endif
