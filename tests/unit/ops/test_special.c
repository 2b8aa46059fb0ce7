// SPDX-License-Identifier: Apache-2.0
// Special functions next to mpmath 1.3 with 40 digits: besseli, digamma and so on at numbers of six digits.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/special.h"

enum function { GAMMALN, DIGAMMA, POLYGAMMA, ZETA, J1, I0, AIRY };

// Value, and how far a change of the argument by its own size would move it, the value's size added.
static const struct row {
  enum function function;
  double a, b, value, scale;
} rows[] = {
    {GAMMALN, 1.0, 0.0, 0.0, 0.577},
    {GAMMALN, 2.0, 0.0, 0.0, 0.846},
    {GAMMALN, 1.5, 0.0, -0.12078223763524522235, 0.176},
    {GAMMALN, 0.323833, 0.0, 1.0156396547489230119, 2.06},
    {GAMMALN, 0.15085, 0.0, 1.8218624129438481993, 2.88},
    {GAMMALN, 0.650935, 0.0, 0.32427230511885055714, 1.21},
    {GAMMALN, 0.991449, 0.0, 0.0049961615950676119798, 0.591},
    {GAMMALN, 1.00072, 0.0, -0.00041516906130144393533, 0.577},
    {GAMMALN, 1.99731, 0.0, -0.0011349551456157931538, 0.842},
    {GAMMALN, 1.99116, 0.0, -0.0037121674889336251092, 0.834},
    {GAMMALN, -2.46282, 0.0, -0.0086204166232341816012, 3.6},
    {GAMMALN, -4.81252, 0.0, -2.7382679011943504969, 17.3},
    {GAMMALN, -2.83177, 0.0, 0.24489418664138095247, 12.1},
    {GAMMALN, -4.65072, 0.0, -2.9415906792191635944, 3.09},
    {GAMMALN, 9.98059, 0.0, 12.758140786417315227, 35.2},
    {GAMMALN, 43.0274, 0.0, 117.8746272735948646, 279.0},
    {GAMMALN, 82.8584, 0.0, 281.8495611691035466, 647.0},
    {GAMMALN, 1e-30, 0.0, 69.077552789821370437, 70.1},
    {DIGAMMA, 1.1238, 0.0, -0.39015968702779998254, 1.95},
    {DIGAMMA, 1.22324, 0.0, -0.25997852559147985542, 1.77},
    {DIGAMMA, 1.62743, 0.0, 0.14933331546713232246, 1.52},
    {DIGAMMA, 1.46163, 0.0, -2.0756283887224572375e-6, 1.41},
    {DIGAMMA, 1.46163, 0.0, -2.0756283887224572375e-6, 1.41},
    {DIGAMMA, 18.9547, 0.0, 2.9154413596015395172, 3.94},
    {DIGAMMA, 11.5463, 0.0, 2.4024365146213872609, 3.45},
    {DIGAMMA, 7.93964, 0.0, 2.0075729117902131578, 3.07},
    {DIGAMMA, 19.5253, 0.0, 2.9458847301351583487, 3.97},
    {DIGAMMA, -4.76709, 0.0, -1.8354669705894009639, 106.0},
    {DIGAMMA, -0.707658, 0.0, -2.1854514959651697182, 12.7},
    {DIGAMMA, -3.55195, 0.0, 0.88438251041033593939, 36.0},
    {DIGAMMA, 1000.0, 0.0, 6.9072551956488120521, 7.91},
    {POLYGAMMA, 1.0, 0.51834, 4.6417856700535790484, 12.5},
    {POLYGAMMA, 2.0, 0.441597, -24.142190556950233865, 94.5},
    {POLYGAMMA, 3.0, 0.994597, 6.6302010862898136755, 32.0},
    {POLYGAMMA, 4.0, 2.46677, -0.3337319296697143911, 1.87},
    {POLYGAMMA, 1.0, 30.0, 0.033895060357739944214, 0.0684},
    {POLYGAMMA, 2.0, 100.0, -0.000101004999833349997, 0.000304},
    {ZETA, 2.18073, 1.5816, 0.7162038457458087171, 2.31},
    {ZETA, 2.63891, 1.3724, 0.64203141973682624477, 1.71},
    {ZETA, 2.54774, 1.06279, 1.1613912881911889017, 2.19},
    {ZETA, 1.74965, 2.13899, 0.90401668970265517738, 3.85},
    {ZETA, 8.51636, 4.33316, 4.6333203074748503258e-6, 6.45e-5},
    {ZETA, 4.5242, 5.89706, 0.00072945270523430067647, 0.00727},
    {ZETA, 6.03971, 3.06769, 0.0014450672822114878376, 0.0119},
    {ZETA, 9.75874, 7.02004, 7.7778338881721081196e-9, 1.6e-7},
    {ZETA, 3.76065, 5.78679, 0.0035968376321595207135, 0.0311},
    {ZETA, 40.0, 1.5, 9.0437726959059036587e-8, 1.56e-6},
    {J1, 0.151179, 0.0, 0.075373754947297397081, 0.15},
    {J1, 2.25082, 0.0, 0.54824623420064787427, 0.911},
    {J1, 1.37667, 0.0, 0.53764721197892665486, 0.798},
    {J1, 10.7743, 0.0, -0.13723071379710621011, 2.23},
    {J1, 29.4647, 0.0, -0.059639366985625782101, 3.99},
    {J1, 6.18778, 0.0, -0.23582685552008940538, 1.7},
    {J1, 14.2893, 0.0, 0.17351739244894327846, 1.81},
    {J1, 23.4428, 0.0, -0.10394163192587306588, 3.05},
    {J1, 7.10358, 0.0, 0.026210768473383741444, 2.12},
    {J1, 24.9999, 0.0, -0.12536037705410588049, 2.66},
    {J1, 25.0001, 0.0, -0.12534012089548935528, 2.66},
    {J1, 3.83171, 0.0, -1.6230359337407727887e-6, 1.54},
    {J1, 504.294, 0.0, 0.026798932564225137104, 11.8},
    {J1, 68.031, 0.0, -0.092613117620646737672, 1.95},
    {J1, 678.169, 0.0, -0.028554955002257904933, 7.57},
    {I0, 0.764571, 0.0, 1.1515690870571121598, 1.47},
    {I0, 0.573026, 0.0, 1.0837898240374659819, 1.25},
    {I0, 7.50956, 0.0, 270.55810397245707739, 2.16e+3},
    {I0, -3.72505, 0.0, 8.9270104085173994005, 37.3},
    {I0, 3.90591, 0.0, 10.421773919290821232, 45.4},
    {I0, 29.9999, 0.0, 781595448400.23256144, 2.38e+13},
    {I0, 30.0001, 0.0, 781749154808.268056, 2.38e+13},
    {I0, 64.4735, 0.0, 4.983716865329626102e+26, 3.24e+28},
    {I0, 63.6339, 0.0, 2.1665930940057704292e+26, 1.39e+28},
    {I0, 56.4599, 0.0, 1.7629224966819038051e+23, 1.0e+25},
    {AIRY, 1.35987, 0.0, 0.086485766833204929099, 0.24},
    {AIRY, 1.77872, 0.0, 0.04851371669566923103, 0.174},
    {AIRY, -0.103607, 0.0, 0.38177526509730063854, 0.408},
    {AIRY, 0.656609, 0.0, 0.19795807958173689475, 0.333},
    {AIRY, -1.75732, 0.0, 0.36196241828730166764, 1.21},
    {AIRY, -7.37314, 0.0, 0.34230007487073777975, 0.36},
    {AIRY, -8.35168, 0.0, -0.30470696368924938352, 3.4},
    {AIRY, -2.12427, 0.0, 0.1474084055972032918, 1.56},
    {AIRY, -5.20535, 0.0, 0.24913812756575489299, 3.62},
    {AIRY, -14.8773, 0.0, 0.27965285132922231388, 3.98},
    {AIRY, -13.0558, 0.0, 0.2163487504550562359, 9.75},
    {AIRY, -7.9999, 0.0, -0.052611492155620780774, 7.54},
    {AIRY, -8.0001, 0.0, -0.052798604340747608496, 7.54},
    {AIRY, 1.9999, 0.0, 0.034929439810970924393, 0.141},
    {AIRY, 2.0001, 0.0, 0.034918821734060430836, 0.141},
    {AIRY, 17.379, 0.0, 1.4568203258351402912e-22, 1.07e-20},
    {AIRY, 2.51895, 0.0, 0.015235471857402034972, 0.0795},
    {AIRY, 12.619, 0.0, 1.568439680712265168e-14, 7.23e-13},
    {AIRY, 5.86511, 0.0, 0.000013892501096579322185, 0.000215},
    {AIRY, 4.6932, 0.0, 0.00021609500591139093929, 0.00246},
    {AIRY, 100.0, 0.0, 2.6344821520881844896e-291, 2.64e-288},
};

static double value_of(enum function f, double a, double b) {
  switch (f) {
  case GAMMALN:
    return special_gammaln(a);
  case DIGAMMA:
    return special_digamma(a);
  case POLYGAMMA:
    return special_polygamma(a, b);
  case ZETA:
    return special_zeta(a, b);
  case J1:
    return special_j1(a);
  case I0:
    return special_i0(a);
  case AIRY:
    break;
  }
  return special_airy(a);
}

// 1e-11 of the scale: a 6000th of single precision's unit.
static void test_values(void **state) {
  (void)state;
  double worst = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double off = fabs(value_of(rows[i].function, rows[i].a, rows[i].b) - rows[i].value) / rows[i].scale;
    if (!(off <= 1e-11))
      fail_msg("row %zu: off by %.2g", i, off);
    worst = fmax(worst, off);
  }
  print_message("%zu values, at most %.2g off\n", sizeof rows / sizeof *rows, worst);
}

static void test_ends(void **state) {
  (void)state;
  const double inf = (double)INFINITY, nan = (double)NAN;
  assert_true(special_gammaln(0) == inf && special_gammaln(-3) == inf && special_gammaln(-inf) == inf);
  assert_true(special_gammaln(inf) == inf && isnan(special_gammaln(nan)));
  assert_true(special_digamma(0.0) == -inf && special_digamma(-0.0) == inf && isnan(special_digamma(-2)));
  assert_true(special_digamma(inf) == inf && isnan(special_digamma(nan)) && isnan(special_digamma(-inf)));
  assert_true(special_zeta(1, 2) == inf && isnan(special_zeta(0.5, 2)) && isnan(special_zeta(2, -1)));
  assert_true(special_zeta(2, 0) == inf && special_zeta(inf, 2) == 0 && isnan(special_zeta(nan, 1)));
  assert_true(special_polygamma(1, 0) == inf && special_polygamma(2, 0) == -inf && isnan(special_polygamma(1, -1)));
  assert_true(special_j1(0) == 0 && special_j1(inf) == 0 && isnan(special_j1(nan)));
  assert_true(special_i0(0) == 1 && special_i0(-inf) == inf && isnan(special_i0(nan)));
  assert_true(special_airy(inf) == 0 && special_airy(-inf) == 0 && isnan(special_airy(nan)));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
