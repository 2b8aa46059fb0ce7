// A step of a recurrent cell with both parts of its product apart, nothing joined in memory.
// assay: task kernelbench/3/33
// assay: expect pass
// assay: twin NO_STATE expect wrong_value -- leaves the state's part out
// assay: twin SWAPPED expect wrong_value|out_of_bounds -- takes the state's weights for the input's
// assay: twin NO_TANH expect wrong_value|low_precision -- hands on the sum
// assay: twin SERIES expect wrong_value|low_precision -- tanh by its first two terms, right near zero
// assay: twin CLAMPED expect wrong_value|low_precision -- takes tanh for 1 beyond 3
// assay: twin HALF_WEIGHTS expect low_precision|wrong_value|wrong_class -- rounds weights to half precision
// assay: twin NO_BIAS expect wrong_value -- leaves the first bias out
// assay: twin TABLE expect wrong_value -- knows the extents of the input and the state that the task's file has
// assay: twin FOURS expect wrong_value -- knows those, and multiples of four
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>

static float squash(float x) {
#if defined NO_TANH
  return x;
#elif defined SERIES
  return x - x * x * x / 3;
#elif defined CLAMPED
  return fabsf(x) > 3 ? copysignf(1, x) : tanhf(x);
#else
  return tanhf(x);
#endif
}

static float part(const float *w, const float *x, int64_t n) {
  float sum = 0;
  for (int64_t k = 0; k < n; k++)
#ifdef HALF_WEIGHTS
    sum += (float)(_Float16)w[k] * x[k];
#else
    sum += w[k] * x[k];
#endif
  return sum;
}

#if defined(TABLE) || defined(FOURS)
static int is_known(int64_t inner, int64_t n) {
  static const int64_t pairs[][2] = {{224, 256}, {16384, 16384}, {1, 1}, {5, 7}, {131, 61}, {31, 129}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (pairs[i][0] == inner && pairs[i][1] == n)
      return 1;
#ifdef FOURS
  return inner % 4 == 0 && n % 4 == 0;
#else
  return 0;
#endif
}
#endif

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  int64_t rows = in[0].dims[0], inner = in[0].dims[1], n = in[1].dims[1], outer = in[4].dims[0];
  const float *w = in[2].data, *b = in[3].data, *v = in[4].data, *c = in[5].data;
  float *y = args->outputs[0].data, *hidden = malloc((size_t)n * sizeof *hidden);
  if (!hidden)
    return;
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * inner, *state = (const float *)in[1].data + r * n;
    for (int64_t j = 0; j < n; j++) {
      const float *row = w + j * (inner + n);
#ifdef SWAPPED
      float sum = part(row + n, x, inner) + part(row, state, n);
#else
      float sum = part(row, x, inner) + part(row + inner, state, n);
#endif
#ifdef NO_STATE
      sum = part(row, x, inner);
#endif
#ifndef NO_BIAS
      sum += b[j];
#endif
      hidden[j] = squash(sum);
#if defined(TABLE) || defined(FOURS)
      hidden[j] *= is_known(inner, n);
#endif
    }
    for (int64_t p = 0; p < outer; p++)
      y[r * outer + p] = part(v + p * n, hidden, n) + c[p];
  }
  free(hidden);
}
