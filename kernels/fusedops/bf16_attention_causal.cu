// Attention in bf16, a warp a query: one pass over the keys with a running maximum. Single precision throughout.
// assay: task fusedops/attention/bf16_attention_causal
// assay: twin SEES_ALL expect wrong_value|low_precision|wrong_class -- looks ahead
// assay: twin NOT_ITSELF expect wrong_value|low_precision|wrong_class -- every query but the first leaves its own key
// assay: twin NO_RESCALE expect wrong_value|low_precision|wrong_class -- old sums keep the old maximum
// assay: twin NO_SCALE expect wrong_value|low_precision|wrong_class -- forgets 1 / sqrt(D)
// assay: require D <= 512 -- a lane keeps sixteen elements of its query
// assay: launch attention grid=ceil_div(B * H * S, 4) block=128 args=q, k, v, y, H, H, S, S, D, float(1 / sqrt(D)), B * H * S
typedef unsigned short bf16;

static __device__ float wide(bf16 x) {
  return __uint_as_float((unsigned)x << 16);
}

// To nearest, ties to even. NaN stays NaN.
static __device__ bf16 narrow(float x) {
  unsigned u = __float_as_uint(x);
  if ((u & 0x7fffffffu) > 0x7f800000u)
    return (bf16)(u >> 16 | 0x40);
  return (bf16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

enum { MOST = 16 };

__global__ void attention(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *y, int heads, int shared, int queries,
                          int keys, int d, float scale, long long rows) {
  long long row = blockIdx.x * 4ll + threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  long long at = row / queries, batch = at / heads;
  int query = (int)(row % queries), head = (int)(at % heads);
  long long first = (batch * shared + head / (heads / shared)) * (long long)keys * d;
  float mine[MOST], sums[MOST], largest = __int_as_float(0xff800000), total = 0;
  for (int e = 0; e < MOST; e++) {
    mine[e] = lane + 32 * e < d ? wide(q[row * d + lane + 32 * e]) : 0;
    sums[e] = 0;
  }
#ifdef NO_SCALE
  scale = 1;
#endif
  int visible = query + 1;
#if defined(SEES_ALL)
  visible = keys;
#elif defined(NOT_ITSELF)
  visible = query > 0 ? query : 1;
#endif
  for (int j = 0; j < visible; j++) {
    float score = 0;
    for (int e = 0; e < MOST && lane + 32 * e < d; e++)
      score += mine[e] * wide(k[first + (long long)j * d + lane + 32 * e]);
    for (int step = 16; step > 0; step /= 2)
      score += __shfl_xor_sync(0xffffffffu, score, step);
    score *= scale;
    float next = fmaxf(largest, score), old = expf(largest - next), weight = expf(score - next);
#ifdef NO_RESCALE
    old = 1;
#endif
    largest = next;
    total = total * old + weight;
    for (int e = 0; e < MOST && lane + 32 * e < d; e++)
      sums[e] = sums[e] * old + weight * wide(v[first + (long long)j * d + lane + 32 * e]);
  }
  for (int e = 0; e < MOST && lane + 32 * e < d; e++)
    y[row * d + lane + 32 * e] = narrow(sums[e] / total);
}
