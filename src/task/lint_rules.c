// SPDX-License-Identifier: Apache-2.0
#include "task/lint_rules.h"

#include <math.h>

static const char *const rule_names[LINT_RULE_COUNT] = {"contract", "published", "loose"};

const char *lint_rule_name(enum lint_rule r) {
  return (unsigned)r < LINT_RULE_COUNT ? rule_names[r] : "unknown";
}

double lint_number(const struct array *a, int64_t k) {
  return dtype_is_float(a->dtype) ? a->f64[k] : (double)a->i64[k];
}

// 0 for two NaN or equal infinities, infinity for different classes.
static double distance(double got, double want) {
  if (got == want || (isnan(got) && isnan(want)))
    return 0;
  double e = fabs(got - want);
  return isfinite(e) ? e : INFINITY;
}

// Gate B of the contract rule (numerics: Z = 2 sqrt(2 ln(2N / 1e-6))).
static double contract_allowance(const struct lint_truth *t, int64_t k, double want, double z) {
  if (!t->sigma)
    return 0;
  return t->u_out * fabs(want) + t->eta_out + z * fabs((double)t->sigma[k]);
}

unsigned lint_accepts(const struct lint_truth *truth, const struct array *wrong, double *worst) {
  int64_t n = shape_count(&truth->y->shape);
  double z = 2 * sqrt(2 * log(2 * (double)n / 1e-6));
  unsigned rules = 1u << LINT_CONTRACT | 1u << LINT_PUBLISHED | 1u << LINT_LOOSE;
  *worst = 0;
  for (int64_t k = 0; k < n; k++) {
    double want = lint_number(truth->y, k), size = isfinite(want) ? fabs(want) : 0;
    double e = distance(lint_number(wrong, k), want), loose = 1e-2 + 1e-2 * size;
    if (e > contract_allowance(truth, k, want, z))
      rules &= ~(1u << LINT_CONTRACT);
    if (e > truth->atol + truth->rtol * size)
      rules &= ~(1u << LINT_PUBLISHED);
    if (e > loose)
      rules &= ~(1u << LINT_LOOSE);
    *worst = fmax(*worst, e / loose);
  }
  return rules;
}
