// Convolution 2D, 3 x 3, as a matrix product: the windows of one output row become the columns of a matrix (im2col),
// which is then multiplied with the matrix of weights.
// assay: task kernelbench/1/63
// assay: expect pass
// assay: twin WRONG_ORDER expect wrong_value -- lays the window out column by column
// assay: twin FIXED_BUFFER expect wrong_value -- the buffer holds 32 rows: later channels and taps are forgotten
// assay: twin FP16_BUFFER expect low_precision -- keeps the matrix in half precision
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { K = 3 };

static float stored(float x) {
#ifdef FP16_BUFFER
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return e > 16 ? copysignf(INFINITY, x) : ldexpf(rintf(ldexpf(x, 11 - e)), e - 11); // 11 significant bits
#else
  return x;
#endif
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  float *y = args->outputs[0].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t taps = in[1] * K * K, width = out[3];
  float *columns = malloc((size_t)(taps * width) * sizeof *columns);
  int64_t used = taps;
#ifdef FIXED_BUFFER
  used = taps < 32 ? taps : 32;
#endif
  for (int64_t r = begin; r < end; r++) {
    int64_t n = r / out[2], h = r % out[2];
    for (int64_t t = 0; t < taps; t++) {
      int64_t c = t / (K * K), i = t / K % K, j = t % K;
#ifdef WRONG_ORDER
      i = t % K, j = t / K % K;
#endif
      const float *line = x + ((n * in[1] + c) * in[2] + h + i) * in[3] + j;
      for (int64_t v = 0; v < width; v++)
        columns[t * width + v] = stored(line[v]);
    }
    for (int64_t o = 0; o < out[1]; o++) {
      float *line = y + ((n * out[1] + o) * out[2] + h) * width;
      memset(line, 0, (size_t)width * sizeof *line);
      for (int64_t t = 0; t < used; t++)
        for (int64_t v = 0; v < width; v++)
          line[v] += w[o * taps + t] * columns[t * width + v];
    }
  }
  free(columns);
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *out = args->outputs[0].dims;
  args->parallel(args, out[0] * out[2], rows, (void *)args);
}
