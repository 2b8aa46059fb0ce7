// Transposed convolution 3D: kernel 3 x 5 x 7, stride 2, padding (1, 2, 3), output padding 1, 4 groups.
// assay: task kernelbench/1/72
// assay: expect pass
// assay: twin NO_GROUPS expect wrong_value|out_of_bounds -- sums over the inputs of all groups
// assay: twin OUTPUT_PADDING expect unwritten -- leaves out the last plane that output padding adds
// assay: twin SHIFTED_PADDING expect wrong_value -- padding (3, 2, 1)
// assay: twin NEXT_GROUP expect wrong_value -- the last group reads the inputs of the first
#include <assay/candidate.h>

enum { GROUPS = 4, KD = 3, KH = 5, KW = 7, STRIDE = 2, PH = 2 };
#ifdef SHIFTED_PADDING
enum { PD = 3, PW = 1 };
#else
enum { PD = 1, PW = 3 };
#endif

// Which input reaches output o through tap k: o = i stride - padding + k. -1: none.
static int64_t source(int64_t o, int64_t k, int64_t padding, int64_t extent) {
  int64_t at = o + padding - k;
  return at >= 0 && at % STRIDE == 0 && at / STRIDE < extent ? at / STRIDE : -1;
}

// One output: x and w begin at the group's first input channel and that channel's kernel for this output.
static float gather(const float *x, const float *w, const int64_t *in, int64_t channels, int64_t step, int64_t d,
                    int64_t h, int64_t v) {
  float sum = 0;
  for (int64_t i = 0; i < KD; i++)
    for (int64_t j = 0; j < KH; j++)
      for (int64_t k = 0; k < KW; k++) {
        int64_t a = source(d, i, PD, in[2]), b = source(h, j, PH, in[3]), e = source(v, k, PW, in[4]);
        if (a < 0 || b < 0 || e < 0)
          continue;
        for (int64_t c = 0; c < channels; c++)
          sum += x[((c * in[2] + a) * in[3] + b) * in[4] + e] * w[c * step + (i * KH + j) * KW + k];
      }
  return sum;
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t ins = in[1] / GROUPS, outs = out[1] / GROUPS, taps = KD * KH * KW, volume = in[2] * in[3] * in[4];
  int64_t depth = out[2];
#ifdef OUTPUT_PADDING
  depth--;
#endif
  for (int64_t m = begin; m < end; m++) {
    int64_t n = m / out[1], o = m % out[1], group = o / outs, channels = ins;
#if defined(NO_GROUPS)
    group = 0, channels = in[1];
#elif defined(NEXT_GROUP)
    group = group == GROUPS - 1 ? 0 : group;
#endif
    const float *from = x + (n * in[1] + group * ins) * volume;
    const float *kernel = w + (group * ins * outs + o % outs) * taps;
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3] * out[4];
    for (int64_t d = 0; d < depth; d++)
      for (int64_t h = 0; h < out[3]; h++)
        for (int64_t v = 0; v < out[4]; v++)
          *y++ = gather(from, kernel, in, channels, outs * taps, d, h, v);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
