// Depthwise convolution 2D, 3 x 3: every channel has its own kernel.
// assay: task kernelbench/1/82
// assay: expect pass
// assay: twin FIRST_KERNEL expect wrong_value -- the first channel's kernel for all of them
// assay: twin NEXT_KERNEL expect wrong_value -- each channel uses the kernel of the one after it
// assay: twin LAST_ROW expect unwritten -- one output row too few
// assay: twin READ_WINDOW expect out_of_bounds -- walks over the input's whole width, past the end of the last row
#include <assay/candidate.h>

enum { K = 3 };

static void plane(const float *x, const float *w, float *y, int64_t in_width, int64_t oh, int64_t ow) {
  for (int64_t h = 0; h < oh; h++) {
    const float *a = x + h * in_width, *b = a + in_width, *c = b + in_width;
#ifdef READ_WINDOW
    // Harmless but for the very last row: stores of the extra columns are left out.
    for (int64_t v = 0; v < in_width + 32; v++) {
      float last = ((const volatile float *)c)[v + 2];
      float sum = w[0] * a[v] + w[1] * a[v + 1] + w[2] * a[v + 2] + w[3] * b[v] + w[4] * b[v + 1] + w[5] * b[v + 2] +
                  w[6] * c[v] + w[7] * c[v + 1] + w[8] * last;
      if (v < ow)
        y[h * ow + v] = sum;
    }
#else
    for (int64_t v = 0; v < ow; v++)
      y[h * ow + v] = w[0] * a[v] + w[1] * a[v + 1] + w[2] * a[v + 2] + w[3] * b[v] + w[4] * b[v + 1] +
                      w[5] * b[v + 2] + w[6] * c[v] + w[7] * c[v + 1] + w[8] * c[v + 2];
#endif
  }
}

static void planes(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t rows = out[2];
#ifdef LAST_ROW
  rows--;
#endif
  for (int64_t p = begin; p < end; p++) {
#if defined(FIRST_KERNEL)
    int64_t channel = 0;
#elif defined(NEXT_KERNEL)
    int64_t channel = (p + 1) % in[1];
#else
    int64_t channel = p % in[1];
#endif
    plane((const float *)args->inputs[0].data + p * in[2] * in[3],
          (const float *)args->inputs[1].data + channel * K * K, (float *)args->outputs[0].data + p * out[2] * out[3],
          in[3], rows, out[3]);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], planes, (void *)args);
}
