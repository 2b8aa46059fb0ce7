// SPDX-License-Identifier: Apache-2.0
// From facts and rule to a verdict, and facts as text.
#include <math.h>
#include <stdio.h>

#include "compare/compare.h"
#include "compare/score.h"

static const struct {
  const char *word, *text;
} gates[] = {
    [GATE_ELEMENT] = {"", "the largest error of an element"},
    [GATE_OUTPUT] = {"rms", "the root mean square error of the output"},
    [GATE_COMMON] = {"shared", "the error that all elements share"},
    [GATE_ROW] = {"row", "the root mean square error of the worst row"},
    [GATE_COLUMN] = {"column", "the root mean square error of the worst column"},
    [GATE_TILE] = {"tile", "the root mean square error of the worst tile"},
};

const char *compare_gate_text(enum compare_gate gate) {
  return gates[gate].text;
}

const char *compare_gate_word(enum compare_gate gate) {
  return gates[gate].word;
}

static double independent_part(const struct compare_facts *f) {
  return sqrt(fmax(f->z_rms * f->z_rms - f->z_common * f->z_common, 0));
}

// Comparisons are written so that a NaN among the facts fails.
static bool all_within(const struct compare_facts *f) {
  return f->n_over == 0 && f->z_max <= f->z_limit;
}

struct compare_decision compare_decide(const struct compare_facts *f) {
  const struct compare_decision element = {GATE_ELEMENT, f->z_max, f->z_limit};
  if (!all_within(f))
    return element;
  double independent = independent_part(f);
  if (!(f->z_rms <= f->z_rms_limit) && !(independent <= f->z_rms_limit))
    return (struct compare_decision){GATE_OUTPUT, f->z_rms, f->z_rms_limit};
  if (!(f->z_rms <= f->z_rms_limit) && !(f->z_common <= f->z_common_limit))
    return (struct compare_decision){GATE_COMMON, f->z_common, f->z_common_limit};
  const struct compare_decision groups[] = {{GATE_ROW, f->z_row_rms, f->z_group_limit},
                                            {GATE_COLUMN, f->z_column_rms, f->z_group_limit},
                                            {GATE_TILE, f->z_tile_rms, f->z_group_limit}};
  for (int i = 0; i < 3; i++)
    if (!(groups[i].z <= groups[i].limit))
      return groups[i];
  return element;
}

static bool values_pass(const struct compare_facts *f) {
  return all_within(f) && compare_decide(f).gate == GATE_ELEMENT;
}

bool compare_gates_fail(const struct compare_facts *f) {
  return f->n_poisoned > 0 || f->n_nan_mismatch > 0 || f->n_inf_mismatch > 0 || !values_pass(f);
}

// "Few" is more than one because a running product passes one error on to hundreds of elements, and an error of an
// attention's score moves whole rows: four of them, where those are one in 64 at most. Integers that differ are
// infinitely far off.
static int64_t few_elements(const struct compare_facts *f) {
  enum { FEW = 64, PART = 1 << 12, ROWS = 4, PART_OF_ROWS = 64 };
  int64_t rows = f->rows / PART_OF_ROWS < ROWS ? f->rows / PART_OF_ROWS : ROWS;
  int64_t few = f->n / PART > FEW ? f->n / PART : FEW, in_rows = rows > 0 ? rows * (f->n / f->rows) : 0;
  return few > in_rows ? few : in_rows;
}

// In units of its limit, how far off an element may be that is looked at again. An exponential's error has a long tail:
// of 524,288 rows of 512 scores near 3e7, one right row was 103 limits off. The more rows, the farther the worst.
static double far_off(const struct compare_facts *f) {
  static const double FAR = 64, ROWS = 4096;
  return FAR * sqrt(fmax(1, (double)f->rows / ROWS));
}

bool compare_doubtful(const struct compare_facts *f) {
  if (f->n_poisoned > 0 || f->n_nan_mismatch > 0 || f->n_inf_mismatch > 0 || values_pass(f))
    return false;
  if (f->n_over > 0 && f->n_over <= few_elements(f))
    return fmin(f->z_max, f->z_near) <= far_off(f) * f->z_limit;
  bool one_error = f->z_common > 0 && independent_part(f) <= f->z_rms_limit;
  bool shared = f->shared || one_error;
  return (f->few_draws || shared) && f->z_max <= far_off(f) * f->z_limit && (f->n_over == 0 || shared);
}

enum compare_outcome compare_verdict(const struct compare_facts *f, enum compare_rule rule) {
  if (rule == COMPARE_ALLCLOSE ? f->n_allclose_bad == 0 : !compare_gates_fail(f))
    return COMPARE_PASS;
  if (f->n_poisoned > 0)
    return COMPARE_UNWRITTEN;
  if (f->hint == HINT_HALF_RANGE)
    return COMPARE_LOW_PRECISION;
  if (f->n_nan_mismatch > 0 || f->n_inf_mismatch > 0)
    return COMPARE_WRONG_CLASS;
  return f->hint == HINT_LOW_PRECISION ? COMPARE_LOW_PRECISION : COMPARE_WRONG_VALUE;
}

static void put_index(struct buf *out, int64_t index, const struct shape *shape) {
  int64_t at[SHAPE_MAX_RANK];
  for (int d = shape->rank - 1; d >= 0; d--) {
    at[d] = shape->dims[d] > 0 ? index % shape->dims[d] : 0;
    index = shape->dims[d] > 0 ? index / shape->dims[d] : 0;
  }
  buf_puts(out, "[");
  for (int d = 0; d < shape->rank; d++)
    buf_printf(out, "%s%lld", d ? "," : "", (long long)at[d]);
  buf_puts(out, "]");
}

void compare_describe(const struct compare_facts *f, const struct shape *shape, struct buf *out) {
  buf_printf(out, "%lld of %lld elements are wrong", (long long)f->n_over, (long long)f->n);
  if (f->n_poisoned)
    buf_printf(out, ", %lld of them never written", (long long)f->n_poisoned);
  if (f->n_nan_mismatch || f->n_inf_mismatch)
    buf_printf(out, ", %lld by NaN and %lld by infinity", (long long)f->n_nan_mismatch, (long long)f->n_inf_mismatch);
  buf_printf(out, "; largest error %.3g\n", f->max_abs);
  if (f->hint_text[0])
    buf_printf(out, "hint: %s\n", f->hint_text);
  struct compare_decision d = compare_decide(f);
  if (d.gate != GATE_ELEMENT)
    buf_printf(out, "%s is %.3g times the expected error, %.3g allowed\n", compare_gate_text(d.gate), d.z, d.limit);
  for (int i = 0; i < f->n_worst; i++) {
    const struct compare_element *e = &f->worst[i];
    buf_puts(out, i ? "       " : "worst: ");
    put_index(out, e->index, shape);
    buf_printf(out, " got %.9g, want %.9g, allowed %.3g\n", e->got, e->want, e->allowed);
  }
}
