// Convolution 2D, 3 x 3, in tiles of 8 output channels and 16 columns that stay in registers while all channels and
// taps are added. Edges are computed one by one.
// assay: task kernelbench/1/55
// assay: expect pass
// assay: twin EDGE_COLUMNS expect unwritten -- columns after the last whole tile are left out
// assay: twin EDGE_CHANNELS expect out_of_bounds|wrong_value -- the last tile of channels is taken for a whole one
// assay: twin HALF_CHANNELS expect wrong_value -- adds every other input channel, doubled
#include <assay/candidate.h>
#include <string.h>

enum { K = 3, CHANNELS = 8, COLS = 16 };
#ifdef HALF_CHANNELS
enum { STEP = 2 };
#else
enum { STEP = 1 };
#endif

typedef float vec __attribute__((vector_size(COLS * sizeof(float))));

// x: the window's corner for the tile's first output; w: the first output channel's weights. A whole tile.
static void whole_tile(const float *x, const float *w, float *y, const int64_t *in, const int64_t *out) {
  vec sum[CHANNELS] = {0};
  for (int64_t c = 0; c < in[1]; c += STEP)
    for (int64_t t = 0; t < K * K; t++) {
      vec line;
      memcpy(&line, x + (c * in[2] + t / K) * in[3] + t % K, sizeof line);
      for (int64_t o = 0; o < CHANNELS; o++)
        sum[o] += STEP * w[(o * in[1] + c) * K * K + t] * line;
    }
  for (int64_t o = 0; o < CHANNELS; o++)
    memcpy(y + o * out[2] * out[3], &sum[o], sizeof sum[o]);
}

// The same at an edge.
static void part_tile(const float *x, const float *w, float *y, const int64_t *in, const int64_t *out, int64_t channels,
                      int64_t cols) {
  for (int64_t o = 0; o < channels; o++)
    for (int64_t v = 0; v < cols; v++) {
      float sum = 0;
      for (int64_t c = 0; c < in[1]; c += STEP)
        for (int64_t t = 0; t < K * K; t++)
          sum += STEP * w[(o * in[1] + c) * K * K + t] * x[(c * in[2] + t / K) * in[3] + t % K + v];
      y[o * out[2] * out[3] + v] = sum;
    }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t r = begin; r < end; r++) {
    int64_t n = r / out[2], h = r % out[2];
    for (int64_t o = 0; o < out[1]; o += CHANNELS)
      for (int64_t v = 0; v < out[3]; v += COLS) {
        int64_t channels = out[1] - o < CHANNELS ? out[1] - o : CHANNELS;
        int64_t cols = out[3] - v < COLS ? out[3] - v : COLS;
        const float *from = x + (n * in[1] * in[2] + h) * in[3] + v, *weights = w + o * in[1] * K * K;
        float *y = (float *)args->outputs[0].data + ((n * out[1] + o) * out[2] + h) * out[3] + v;
#ifdef EDGE_COLUMNS
        if (cols < COLS)
          continue;
#endif
#ifdef EDGE_CHANNELS
        channels = CHANNELS;
#endif
        if (channels == CHANNELS && cols == COLS)
          whole_tile(from, weights, y, in, out);
        else
          part_tile(from, weights, y, in, out, channels, cols);
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[2], rows, (void *)args);
}
