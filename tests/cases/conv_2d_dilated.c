// Convolution 2D, 5 x 9, padding (2, 4), dilation (2, 3). For every tap, the span of outputs whose pixel lies inside
// is worked out first, so that the inner loop asks nothing.
// assay: task kernelbench/1/80
// assay: expect pass
// assay: twin NO_DILATION expect wrong_value -- neighbouring pixels
// assay: twin SWAPPED_DILATION expect wrong_value|out_of_bounds -- dilation (3, 2)
// assay: twin SWAPPED_PADDING expect wrong_value|out_of_bounds -- padding (4, 2)
// assay: twin SHORT_SPAN expect wrong_value -- spans end one output early
#include <assay/candidate.h>
#include <string.h>

#define KH 5
#define KW 9
#if defined(NO_DILATION)
#define DH 1
#define DW 1
#elif defined(SWAPPED_DILATION)
#define DH 3
#define DW 2
#else
#define DH 2
#define DW 3
#endif
#ifdef SWAPPED_PADDING
#define PH 4
#define PW 2
#else
#define PH 2
#define PW 4
#endif

static void map(const float *x, const float *w, float *y, const int64_t *in, const int64_t *out) {
  memset(y, 0, (size_t)(out[2] * out[3]) * sizeof *y);
  for (int64_t c = 0; c < in[1]; c++)
    for (int64_t i = 0; i < KH; i++)
      for (int64_t j = 0; j < KW; j++) {
        float k = w[(c * KH + i) * KW + j];
        int64_t shift = j * DW - PW, first = shift < 0 ? -shift : 0;
        int64_t stop = in[3] - shift < out[3] ? in[3] - shift : out[3];
#ifdef SHORT_SPAN
        stop--;
#endif
        for (int64_t h = 0; h < out[2]; h++) {
          int64_t row = h + i * DH - PH;
          if (row < 0 || row >= in[2])
            continue;
          const float *line = x + (c * in[2] + row) * in[3] + shift;
          for (int64_t v = first; v < stop; v++)
            y[h * out[3] + v] += k * line[v];
        }
      }
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    map((const float *)args->inputs[0].data + n * in[1] * in[2] * in[3],
        (const float *)args->inputs[1].data + o * in[1] * KH * KW, (float *)args->outputs[0].data + m * out[2] * out[3],
        in, out);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
