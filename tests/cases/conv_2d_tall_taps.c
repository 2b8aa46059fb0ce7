// Convolution 2D with a kernel of 5 x 9: for each output row, the nine taps of a kernel row are applied at once.
// assay: task kernelbench/1/62
// assay: expect pass
// assay: twin EIGHT_TAPS expect wrong_value -- the ninth tap is left out
// assay: twin SWAPPED_KERNEL expect wrong_value|out_of_bounds -- reads the kernel as 9 x 5
// assay: twin ROW_OFF expect wrong_value|out_of_bounds -- every window starts one row too low
#include <assay/candidate.h>
#include <string.h>

enum { KH = 5, KW = 9 };
#ifdef EIGHT_TAPS
enum { TAPS = 8 };
#else
enum { TAPS = 9 };
#endif

static void add_taps(const float *line, const float *k, int64_t step, float *y, int64_t width) {
  for (int64_t v = 0; v < width; v++) {
    float sum = 0;
    for (int64_t j = 0; j < TAPS; j++)
      sum += k[j * step] * line[v + j];
    y[v] += sum;
  }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t r = begin; r < end; r++) {
    int64_t h = r % out[2], o = r / out[2] % out[1], n = r / out[2] / out[1];
    float *y = (float *)args->outputs[0].data + r * out[3];
    memset(y, 0, (size_t)out[3] * sizeof *y);
#ifdef ROW_OFF
    h++;
#endif
    for (int64_t c = 0; c < in[1]; c++)
      for (int64_t i = 0; i < KH; i++) {
        const float *line = x + ((n * in[1] + c) * in[2] + h + i) * in[3];
#ifdef SWAPPED_KERNEL
        add_taps(line, w + (o * in[1] + c) * KH * KW + i, KH, y, out[3]);
#else
        add_taps(line, w + ((o * in[1] + c) * KH + i) * KW, 1, y, out[3]);
#endif
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *out = args->outputs[0].dims;
  args->parallel(args, out[0] * out[1] * out[2], rows, (void *)args);
}
