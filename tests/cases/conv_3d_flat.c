// Convolution 3D with a kernel of 3 x 3 x 1: width takes no part in it, so height times width is one long row.
// assay: task kernelbench/1/59
// assay: expect pass
// assay: twin SWAPPED_AXES expect wrong_value -- swaps depth and height of the kernel
// assay: twin OVERLAP expect wrong_value|out_of_bounds -- steps by one element where it should step by a row
// assay: twin LAST_PLANE expect unwritten -- the last output plane is left out
#include <assay/candidate.h>
#include <string.h>

enum { K = 3 };

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t plane = in[3] * in[4], width = in[4], span = out[3] * out[4], depth = out[2];
#ifdef OVERLAP
  width = 1;
#endif
#ifdef LAST_PLANE
  depth--;
#endif
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1];
    for (int64_t d = 0; d < depth; d++) {
      float *y = (float *)args->outputs[0].data + (m * out[2] + d) * span;
      memset(y, 0, (size_t)span * sizeof *y);
      for (int64_t c = 0; c < in[1]; c++)
        for (int64_t i = 0; i < K; i++)
          for (int64_t j = 0; j < K; j++) {
            const float *line = x + ((n * in[1] + c) * in[2] + d + i) * plane + j * width;
#ifdef SWAPPED_AXES
            float k = w[((o * in[1] + c) * K + j) * K + i];
#else
            float k = w[((o * in[1] + c) * K + i) * K + j];
#endif
            for (int64_t p = 0; p < span; p++)
              y[p] += k * line[p];
          }
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
