// Transposed convolution 3D, kernel 3 x 5 x 5: rows of the input are added to rows of the output.
// assay: task kernelbench/1/68
// assay: expect pass
// assay: twin SWAPPED_CHANNELS expect wrong_value -- reads weights as [out][in], as convolutions have them
// assay: twin LAST_CHANNEL expect wrong_value -- the last input channel does not count
#include <assay/candidate.h>
#include <string.h>

enum { KD = 3, KH = 5, KW = 5 };

// Adds one row of the input, at depth d and height h, to the output of one channel.
static void add_row(const float *line, const float *w, float *y, const int64_t *in, const int64_t *out, int64_t d,
                    int64_t h) {
  for (int64_t i = 0; i < KD; i++)
    for (int64_t j = 0; j < KH; j++) {
      float *to = y + ((d + i) * out[3] + h + j) * out[4];
      for (int64_t k = 0; k < KW; k++) {
        float weight = w[(i * KH + j) * KW + k];
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
#ifdef LAST_CHANNEL
    int64_t channels = in[1] - 1;
#else
    int64_t channels = in[1];
#endif
    for (int64_t c = 0; c < channels; c++) {
#ifdef SWAPPED_CHANNELS
      const float *kernel = w + (o * in[1] + c) * KD * KH * KW;
#else
      const float *kernel = w + (c * out[1] + o) * KD * KH * KW;
#endif
      for (int64_t d = 0; d < in[2]; d++)
        for (int64_t h = 0; h < in[3]; h++)
          add_row(x + (((n * in[1] + c) * in[2] + d) * in[3] + h) * in[4], kernel, y, in, out, d, h);
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
