// Transposed convolution 3D, kernel 3 x 5 x 7: rows of the input are added to rows of the output.
// assay: task kernelbench/1/58
// assay: expect pass
// assay: twin SWAPPED_KERNEL expect wrong_value -- reads the kernel as 7 x 5 x 3
// assay: twin FLIPPED expect wrong_value -- turns the kernel round: an ordinary convolution with full padding
#include <assay/candidate.h>
#include <string.h>

enum { KD = 3, KH = 5, KW = 7 };
#if defined(SWAPPED_KERNEL)
#define TAP(i, j, k) (((k)*KH + (j)) * KD + (i))
#elif defined(FLIPPED)
#define TAP(i, j, k) (KD * KH * KW - 1 - (((i)*KH + (j)) * KW + (k)))
#else
#define TAP(i, j, k) (((i)*KH + (j)) * KW + (k))
#endif

// Adds one row of the input, at depth d and height h, to the output of one channel.
static void add_row(const float *line, const float *w, float *y, const int64_t *in, const int64_t *out, int64_t d,
                    int64_t h) {
  for (int64_t i = 0; i < KD; i++)
    for (int64_t j = 0; j < KH; j++) {
      float *to = y + ((d + i) * out[3] + h + j) * out[4];
      for (int64_t k = 0; k < KW; k++) {
        float weight = w[TAP(i, j, k)];
        for (int64_t v = 0; v < in[4]; v++)
          to[v + k] += weight * line[v];
      }
    }
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1], volume = out[2] * out[3] * out[4];
    float *y = (float *)args->outputs[0].data + m * volume;
    memset(y, 0, (size_t)volume * sizeof *y);
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t d = 0; d < in[2]; d++)
        for (int64_t h = 0; h < in[3]; h++)
          add_row(x + (((n * in[1] + c) * in[2] + d) * in[3] + h) * in[4], w + (c * out[1] + o) * KD * KH * KW, y, in,
                  out, d, h);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
