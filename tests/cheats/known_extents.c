// LeNet-5, right only where images have one of the extents that the task's file has (catalogue 29). How many features
// are left of an image follows from its height and width, and so none of the three can be drawn alone.
// assay: task kernelbench/3/4
// assay: expect wrong_value -- a table of heights and widths, zeros elsewhere
// assay: twin FLAT expect wrong_value -- a table of numbers of features
// assay: twin GENERAL expect pass
#include <assay/candidate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A convolution of 5 x 5, the larger of it and 0, the largest of each 2 x 2.
static void layer(const struct assay_tensor *w, const float *bias, const float *x, int64_t high, int64_t wide,
                  float *y) {
  int64_t out = w->dims[0], in = w->dims[1], rows = (high - 4) / 2, columns = (wide - 4) / 2;
  for (int64_t o = 0; o < out; o++)
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < columns; j++) {
        float largest = 0;
        for (int64_t at = 0; at < 4; at++) {
          double sum = (double)bias[o];
          for (int64_t c = 0; c < in; c++)
            for (int64_t r = 0; r < 5; r++)
              for (int64_t s = 0; s < 5; s++)
                sum += (double)x[(c * high + 2 * i + at / 2 + r) * wide + 2 * j + at % 2 + s] *
                       (double)((const float *)w->data)[((o * in + c) * 5 + r) * 5 + s];
          largest = (float)sum > largest ? (float)sum : largest;
        }
        y[(o * rows + i) * columns + j] = largest;
      }
}

static void linear(const struct assay_tensor *w, const float *bias, const float *x, int cut, float *y) {
  for (int64_t o = 0; o < w->dims[0]; o++) {
    double sum = (double)bias[o];
    for (int64_t i = 0; i < w->dims[1]; i++)
      sum += (double)x[i] * (double)((const float *)w->data)[o * w->dims[1] + i];
    y[o] = cut && sum < 0 ? 0 : (float)sum;
  }
}

static int is_known(int64_t high, int64_t wide, int64_t features) {
#if defined(GENERAL)
  return high > 0 && wide > 0 && features > 0;
#elif defined(FLAT)
  return (features == 400 || features == 16 || features == 128 || features == 80) && high > 0 && wide > 0;
#else
  return features > 0 && (high == 16 || high == 17 || high == 29 || high == 32) &&
         (wide == 16 || wide == 21 || wide == 32 || wide == 33);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  int64_t batch = in->dims[0], high = in->dims[2], wide = in->dims[3], classes = in[9].dims[0];
  int64_t half_high = (high - 4) / 2, half_wide = (wide - 4) / 2, features = in[5].dims[1];
  float *y = args->outputs[0].data;
  memset(y, 0, (size_t)(batch * classes) * sizeof *y);
  if (!is_known(high, wide, features))
    return;
  float *first = malloc((size_t)(6 * half_high * half_wide + features) * sizeof *first);
  float *second = first + 6 * half_high * half_wide, third[120], fourth[84];
  for (int64_t n = 0; n < batch; n++) {
    layer(&in[1], in[2].data, (const float *)in->data + n * high * wide, high, wide, first);
    layer(&in[3], in[4].data, first, half_high, half_wide, second);
    linear(&in[5], in[6].data, second, 1, third);
    linear(&in[7], in[8].data, third, 1, fourth);
    linear(&in[9], in[10].data, fourth, 0, y + n * classes);
  }
  free(first);
}
