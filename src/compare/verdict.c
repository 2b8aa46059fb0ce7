// From facts and rule to a verdict, and facts in words.
#include <math.h>
#include <stdio.h>

#include "compare/compare.h"
#include "compare/score.h"

// Written so that a NaN among the facts fails.
static bool values_pass(const struct compare_facts *f) {
  if (f->n_over > 0 || !(f->z_max <= f->z_limit))
    return false;
  double independent = sqrt(fmax(f->z_rms * f->z_rms - f->z_common * f->z_common, 0));
  bool tensor = f->z_rms <= f->z_rms_limit || (independent <= f->z_rms_limit && f->z_common <= f->z_common_limit);
  return tensor && f->z_row_rms <= f->z_group_limit && f->z_column_rms <= f->z_group_limit &&
         f->z_tile_rms <= f->z_group_limit;
}

bool compare_gates_fail(const struct compare_facts *f) {
  return f->n_poisoned > 0 || f->n_nan_mismatch > 0 || f->n_inf_mismatch > 0 || !values_pass(f);
}

enum compare_outcome compare_verdict(const struct compare_facts *f, enum compare_rule rule) {
  if (rule == COMPARE_ALLCLOSE ? f->n_allclose_bad == 0 : !compare_gates_fail(f))
    return COMPARE_PASS;
  if (f->n_poisoned > 0)
    return COMPARE_UNWRITTEN;
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

static void put_failed_gate(struct buf *out, const char *where, double rms, double limit) {
  if (!(rms <= limit))
    buf_printf(out, "root mean square error over %s: %.3g times the expected error, %.3g allowed\n", where, rms, limit);
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
  if (f->n_over == 0) {
    put_failed_gate(out, "the output", f->z_rms, f->z_rms_limit);
    put_failed_gate(out, "the worst row", f->z_row_rms, f->z_group_limit);
    put_failed_gate(out, "the worst column", f->z_column_rms, f->z_group_limit);
    put_failed_gate(out, "the worst tile", f->z_tile_rms, f->z_group_limit);
  }
  for (int i = 0; i < f->n_worst; i++) {
    const struct compare_element *e = &f->worst[i];
    buf_puts(out, i ? "       " : "worst: ");
    put_index(out, e->index, shape);
    buf_printf(out, " got %.9g, want %.9g, allowed %.3g\n", e->got, e->want, e->allowed);
  }
}
