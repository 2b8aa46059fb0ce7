// A convolution with 3 x 3 kernels as fast kernels compute it; what the error scale makes of each.
// assay: task kernelbench/1/63
// assay: expect pass -- one sum in order
// assay: twin WINOGRAD_2 expect pass -- Winograd, tiles of 2 x 2
// assay: twin WINOGRAD_4 expect low_precision|wrong_value -- Winograd, tiles of 4 x 4: factors up to 8 and cancellation
#include <assay/candidate.h>

#if defined WINOGRAD_2 || defined WINOGRAD_4
// Lavin and Gray 2015: tiles of T outputs a side from T + 2 inputs. b, g, a: the transforms of inputs, kernel, outputs.
#ifdef WINOGRAD_2
enum { T = 2, S = 4 };
static const float b[S][S] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
static const float g[S][3] = {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
static const float a[T][S] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
#else
enum { T = 4, S = 6 };
static const float b[S][S] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                              {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
static const float g[S][3] = {{1.0f / 4, 0, 0},
                              {-1.0f / 6, -1.0f / 6, -1.0f / 6},
                              {-1.0f / 6, 1.0f / 6, -1.0f / 6},
                              {1.0f / 24, 1.0f / 12, 1.0f / 6},
                              {1.0f / 24, -1.0f / 12, 1.0f / 6},
                              {0, 0, 1}};
static const float a[T][S] = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
#endif

// to = m from m', m of `rows` x `n`, from of n x n.
static void both_sides(int rows, int n, const float *m, const float *from, float *to) {
  float half[S * S];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int k = 0; k < n; k++)
        sum += m[i * n + k] * from[k * n + j];
      half[i * n + j] = sum;
    }
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) {
      float sum = 0;
      for (int k = 0; k < n; k++)
        sum += half[i * n + k] * m[j * n + k];
      to[i * rows + j] = sum;
    }
}

static void tile(const float *x, const float *w, float *y, int64_t ci, int64_t h, int64_t wide, int64_t top,
                 int64_t left) {
  float total[S * S] = {0}, in[S * S], d[S * S], u[S * S], out[T * T];
  for (int64_t c = 0; c < ci; c++) {
    for (int i = 0; i < S; i++)
      for (int j = 0; j < S; j++)
        in[i * S + j] = top + i < h && left + j < wide ? x[(c * h + top + i) * wide + left + j] : 0;
    both_sides(S, S, &b[0][0], in, d);
    both_sides(S, 3, &g[0][0], w + c * 9, u);
    for (int i = 0; i < S * S; i++)
      total[i] += d[i] * u[i];
  }
  both_sides(T, S, &a[0][0], total, out);
  for (int i = 0; i < T && top + i < h - 2; i++)
    for (int j = 0; j < T && left + j < wide - 2; j++)
      y[(top + i) * (wide - 2) + left + j] = out[i * T + j];
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  float *y = args->outputs[0].data;
  const int64_t *dims = args->inputs[0].dims;
  int64_t ci = dims[1], h = dims[2], wide = dims[3], co = args->inputs[1].dims[0], oh = h - 2, ow = wide - 2;
  for (int64_t image = 0; image < dims[0]; image++)
    for (int64_t o = 0; o < co; o++) {
      const float *from = x + image * ci * h * wide, *kernel = w + o * ci * 9;
      float *to = y + (image * co + o) * oh * ow;
#if defined WINOGRAD_2 || defined WINOGRAD_4
      for (int64_t i = 0; i < oh; i += T)
        for (int64_t j = 0; j < ow; j += T)
          tile(from, kernel, to, ci, h, wide, i, j);
#else
      for (int64_t i = 0; i < oh; i++)
        for (int64_t j = 0; j < ow; j++) {
          float sum = 0;
          for (int64_t k = 0; k < ci * 9; k++)
            sum += from[(k / 9 * h + i + k % 9 / 3) * wide + j + k % 3] * kernel[k];
          to[i * ow + j] = sum;
        }
#endif
    }
}
