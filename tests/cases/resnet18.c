// ResNet-18, layer by layer, with the batch's statistics: 62 parameters and one image tensor, one call.
// assay: task kernelbench/3/9
// assay: expect pass
// assay: twin NO_SHORTCUT expect wrong_value -- blocks without the sum
// assay: twin UNBIASED_VARIANCE expect wrong_value -- variances over n - 1, as the running ones are
// assay: twin POOL_FROM_ZERO expect wrong_value -- the first pool of 3 x 3 starts without its border
// assay: twin FIXED_STATISTICS expect wrong_value -- mean 0 and variance 1, as a new network evaluates
#include <assay/candidate.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct images {
  int64_t n, c, h, w;
  float *v;
};

// Where the next parameter is.
struct reader {
  const struct assay_tensor *next;
};

static struct images images_make(int64_t n, int64_t c, int64_t h, int64_t w) {
  return (struct images){n, c, h, w, malloc((size_t)(n * c * h * w) * sizeof(float))};
}

static float conv_at(const struct images *x, const float *weight, int64_t n, int64_t k, int64_t row, int64_t column) {
  float sum = 0;
  for (int64_t c = 0; c < x->c; c++)
    for (int64_t i = 0; i < k; i++)
      for (int64_t j = 0; j < k; j++) {
        int64_t y = row + i, z = column + j;
        if (y >= 0 && y < x->h && z >= 0 && z < x->w)
          sum += x->v[((n * x->c + c) * x->h + y) * x->w + z] * weight[(c * k + i) * k + j];
      }
  return sum;
}

static struct images conv(const struct images *x, struct reader *r, int64_t stride) {
  const struct assay_tensor *w = r->next++;
  const int64_t k = w->dims[2], pad = k / 2;
  struct images y = images_make(x->n, w->dims[0], (x->h + 2 * pad - k) / stride + 1, (x->w + 2 * pad - k) / stride + 1);
  float *out = y.v;
  for (int64_t n = 0; n < y.n; n++)
    for (int64_t c = 0; c < y.c; c++)
      for (int64_t i = 0; i < y.h; i++)
        for (int64_t j = 0; j < y.w; j++)
          *out++ = conv_at(x, (const float *)w->data + c * x->c * k * k, n, k, i * stride - pad, j * stride - pad);
  return y;
}

static void normalise_channel(struct images *x, int64_t c, float scale, float shift) {
  const int64_t plane = x->h * x->w, count = x->n * plane;
  double sum = 0, squares = 0;
  for (int64_t n = 0; n < x->n; n++)
    for (int64_t i = 0; i < plane; i++)
      sum += x->v[(n * x->c + c) * plane + i];
  double mean = sum / (double)count, divisor = (double)count;
  for (int64_t n = 0; n < x->n; n++)
    for (int64_t i = 0; i < plane; i++)
      squares += pow(x->v[(n * x->c + c) * plane + i] - mean, 2);
#ifdef UNBIASED_VARIANCE
  divisor -= 1;
#endif
#ifdef FIXED_STATISTICS
  mean = 0;
  squares = divisor;
#endif
  double factor = scale / sqrt(squares / divisor + 1e-5);
  for (int64_t n = 0; n < x->n; n++)
    for (int64_t i = 0; i < plane; i++) {
      float *v = &x->v[(n * x->c + c) * plane + i];
      *v = (float)((*v - mean) * factor + shift);
    }
}

static void batch_norm(struct images *x, struct reader *r) {
  const float *scale = r->next++->data, *shift = r->next++->data;
  for (int64_t c = 0; c < x->c; c++)
    normalise_channel(x, c, scale[c], shift[c]);
}

static void relu(struct images *x) {
  for (int64_t i = 0; i < x->n * x->c * x->h * x->w; i++)
    x->v[i] = x->v[i] < 0 ? 0 : x->v[i];
}

static float largest_at(const float *plane, int64_t h, int64_t w, int64_t row, int64_t column) {
  float most = -INFINITY;
  for (int64_t i = row < 0 ? 0 : row; i < row + 3 && i < h; i++)
    for (int64_t j = column < 0 ? 0 : column; j < column + 3 && j < w; j++)
      most = fmaxf(most, plane[i * w + j]);
  return most;
}

static struct images max_pool(const struct images *x) {
  struct images y = images_make(x->n, x->c, (x->h - 1) / 2 + 1, (x->w - 1) / 2 + 1);
  int64_t border = 1;
#ifdef POOL_FROM_ZERO
  border = 0;
#endif
  for (int64_t p = 0; p < x->n * x->c; p++)
    for (int64_t i = 0; i < y.h; i++)
      for (int64_t j = 0; j < y.w; j++)
        y.v[(p * y.h + i) * y.w + j] = largest_at(x->v + p * x->h * x->w, x->h, x->w, 2 * i - border, 2 * j - border);
  return y;
}

// Takes x; the parameters are in the file's order: two convolutions, then that of the shortcut where there is one.
static struct images block(struct images x, struct reader *r, int64_t stride, bool convolved) {
  struct images a = conv(&x, r, stride);
  batch_norm(&a, r);
  relu(&a);
  struct images b = conv(&a, r, 1), s = x;
  batch_norm(&b, r);
  if (convolved) {
    s = conv(&x, r, stride);
    batch_norm(&s, r);
    free(x.v);
  }
#ifndef NO_SHORTCUT
  for (int64_t i = 0; i < b.n * b.c * b.h * b.w; i++)
    b.v[i] += s.v[i];
#endif
  relu(&b);
  free(a.v);
  free(s.v);
  return b;
}

static void scores(const struct images *x, struct reader *r, const struct assay_tensor *out) {
  const float *weight = r->next++->data, *bias = r->next++->data;
  const int64_t plane = x->h * x->w, classes = out->dims[1];
  for (int64_t n = 0; n < x->n; n++)
    for (int64_t k = 0; k < classes; k++) {
      float sum = bias[k];
      for (int64_t c = 0; c < x->c; c++) {
        float total = 0;
        for (int64_t i = 0; i < plane; i++)
          total += x->v[(n * x->c + c) * plane + i];
        sum += total / (float)plane * weight[k * x->c + c];
      }
      ((float *)out->data)[n * classes + k] = sum;
    }
}

void assay_kernel(const struct assay_args *args) {
  const struct assay_tensor *in = args->inputs;
  struct reader r = {in + 1};
  const struct images x = {in->dims[0], in->dims[1], in->dims[2], in->dims[3], in->data};
  struct images stem = conv(&x, &r, 2);
  batch_norm(&stem, &r);
  relu(&stem);
  struct images y = max_pool(&stem);
  free(stem.v);
  for (int stage = 0; stage < 4; stage++)
    for (int i = 0; i < 2; i++) {
      const bool first = stage > 0 && i == 0;
      y = block(y, &r, first ? 2 : 1, first);
    }
  scores(&y, &r, &args->outputs[0]);
  free(y.v);
}
