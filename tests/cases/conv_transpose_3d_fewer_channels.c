// Transposed convolution 3D, 3 x 3 x 3, fewer channels out than in: rows of the input are added to rows of the output.
// assay: task kernelbench/1/70
// assay: expect pass
// assay: twin ADDS_TWICE expect wrong_value -- the first row is added twice
// assay: twin FIRST_SAMPLE expect wrong_value -- reads the first sample for all of them
#include <assay/candidate.h>
#include <string.h>

enum { KD = 3, KH = 3, KW = 3 };

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
#ifdef FIRST_SAMPLE
    n = 0;
#endif
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t d = 0; d < in[2]; d++)
        for (int64_t h = 0; h < in[3]; h++) {
          const float *line = x + (((n * in[1] + c) * in[2] + d) * in[3] + h) * in[4];
          const float *kernel = w + (c * out[1] + o) * KD * KH * KW;
          add_row(line, kernel, y, in, out, d, h);
#ifdef ADDS_TWICE
          if (d == 0 && h == 0)
            add_row(line, kernel, y, in, out, d, h);
#endif
        }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
