// A transposed convolution with 3 x 7 kernels as libraries compute it; what the error scale makes of each.
// assay: task kernelbench/1/65
// assay: expect pass -- one sum in order
// assay: twin FOURIER expect pass|wrong_value|changed_behaviour -- Fourier transforms of 32 x 32, tiles of the input added in the output
#include <assay/candidate.h>
#include <string.h>

enum { KH = 3, KW = 7 };

#ifdef FOURIER
#include <math.h>

// A tile of the input is so large that what a kernel makes of it is as large as the transform.
enum { S = 32, LOG_S = 5, TILE_H = S - KH + 1, TILE_W = S - KW + 1, MAX_CHANNELS = 64 };

struct spectrum {
  float re[S][S], im[S][S];
};

// In place, n numbers `step` apart; sign -1 forward, 1 backward (without the factor 1 / n).
static void transform_line(float *re, float *im, int step, int sign) {
  for (int i = 0; i < S; i++) {
    int j = 0;
    for (int bit = 0; bit < LOG_S; bit++)
      j |= (i >> bit & 1) << (LOG_S - 1 - bit);
    if (j > i) {
      float r = re[i * step], m = im[i * step];
      re[i * step] = re[j * step], im[i * step] = im[j * step];
      re[j * step] = r, im[j * step] = m;
    }
  }
  for (int half = 1; half < S; half *= 2)
    for (int k = 0; k < half; k++) {
      double angle = sign * 3.14159265358979323846 * k / half;
      float wr = (float)cos(angle), wi = (float)sin(angle);
      for (int i = k; i < S; i += 2 * half) {
        float *ar = re + i * step, *ai = im + i * step, *br = re + (i + half) * step, *bi = im + (i + half) * step;
        float tr = *br * wr - *bi * wi, ti = *br * wi + *bi * wr;
        *br = *ar - tr, *bi = *ai - ti;
        *ar += tr, *ai += ti;
      }
    }
}

static void transform(struct spectrum *s, int sign) {
  for (int i = 0; i < S; i++)
    transform_line(s->re[i], s->im[i], 1, sign);
  for (int j = 0; j < S; j++)
    transform_line(&s->re[0][j], &s->im[0][j], S, sign);
}

// The transform of a height x width piece of a plane whose rows are `row` apart.
static void take(const float *from, int64_t row, int64_t height, int64_t width, struct spectrum *to) {
  memset(to, 0, sizeof *to);
  for (int64_t i = 0; i < height; i++)
    memcpy(to->re[i], from + i * row, (size_t)width * sizeof **to->re);
  transform(to, -1);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void convolve(const float *x, const float *w, float *y, int64_t ci, int64_t co, int64_t h, int64_t wide) {
  static struct spectrum tiles[MAX_CHANNELS], kernel, sum;
  int64_t ow = wide + KW - 1, plane = (h + KH - 1) * ow;
  for (int64_t top = 0; top < h; top += TILE_H)
    for (int64_t left = 0; left < wide; left += TILE_W) {
      int64_t height = least(TILE_H, h - top), width = least(TILE_W, wide - left);
      for (int64_t c = 0; c < ci; c++)
        take(x + (c * h + top) * wide + left, wide, height, width, &tiles[c]);
      for (int64_t o = 0; o < co; o++) {
        memset(&sum, 0, sizeof sum);
        for (int64_t c = 0; c < ci; c++) {
          take(w + (c * co + o) * KH * KW, KW, KH, KW, &kernel);
          const float *ar = &tiles[c].re[0][0], *ai = &tiles[c].im[0][0], *br = &kernel.re[0][0],
                      *bi = &kernel.im[0][0];
          for (int i = 0; i < S * S; i++) {
            (&sum.re[0][0])[i] += ar[i] * br[i] - ai[i] * bi[i];
            (&sum.im[0][0])[i] += ar[i] * bi[i] + ai[i] * br[i];
          }
        }
        transform(&sum, 1);
        for (int64_t i = 0; i < height + KH - 1; i++)
          for (int64_t j = 0; j < width + KW - 1; j++)
            y[o * plane + (top + i) * ow + left + j] += sum.re[i][j] / (S * S);
      }
    }
}
#else
static void convolve(const float *x, const float *w, float *y, int64_t ci, int64_t co, int64_t h, int64_t wide) {
  int64_t oh = h + KH - 1, ow = wide + KW - 1;
  for (int64_t at = 0; at < co * oh * ow; at++) {
    int64_t o = at / ow / oh, i = at / ow % oh, j = at % ow;
    for (int64_t k = 0; k < ci * KH * KW; k++) {
      int64_t c = k / (KH * KW), from_i = i - k / KW % KH, from_j = j - k % KW;
      if (from_i >= 0 && from_i < h && from_j >= 0 && from_j < wide)
        y[at] += x[(c * h + from_i) * wide + from_j] * w[(c * co + o) * KH * KW + k % (KH * KW)];
    }
  }
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *dims = args->inputs[0].dims;
  int64_t ci = dims[1], h = dims[2], wide = dims[3], co = args->inputs[1].dims[1];
  int64_t size = co * (h + KH - 1) * (wide + KW - 1);
  float *y = args->outputs[0].data;
  memset(y, 0, (size_t)(dims[0] * size) * sizeof *y);
  for (int64_t image = 0; image < dims[0]; image++)
    convolve(x + image * ci * h * wide, w, y + image * size, ci, co, h, wide);
}
