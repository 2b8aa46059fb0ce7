// Rotary position embedding of heads of 128 in bf16: the element i of the first half turns with that of the second. A
// thread has eight pairs of a position in HEADS heads, for which it reads the angles once.
// assay: task fusedops/rotary/bf16_rotary
// assay: twin BACKWARDS expect wrong_value|low_precision -- turns the other way
// assay: twin NEIGHBOURS expect wrong_value|low_precision -- pairs of neighbouring eights
// assay: let few = B * H * S < 132 * 512
// assay: launch rotary<1> grid=ceil_div(B * S, 16),H block=128 if=few args=x, c, s, y, H, S, B * S
// assay: launch rotary<4> grid=ceil_div(B * S, 16),ceil_div(H, 4) block=128 if=!few args=x, c, s, y, H, S, B * S
typedef unsigned short bf16;

// Two numbers to nearest, ties to even; the first one in the lower half.
static __device__ unsigned narrow_two(float low, float high) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

// Eight numbers that lie side by side.
struct eight {
  float v[8];
};

static __device__ eight widen(uint4 words) {
  unsigned w[4] = {words.x, words.y, words.z, words.w};
  eight e;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    e.v[2 * i] = __uint_as_float(w[i] << 16);
    e.v[2 * i + 1] = __uint_as_float(w[i] & 0xffff0000u);
  }
  return e;
}

static __device__ uint4 narrowed(const eight &e) {
  return make_uint4(narrow_two(e.v[0], e.v[1]), narrow_two(e.v[2], e.v[3]), narrow_two(e.v[4], e.v[5]),
                    narrow_two(e.v[6], e.v[7]));
}

template <int HEADS>
__global__ void __launch_bounds__(128)
    rotary(const uint4 *__restrict__ x, const uint4 *__restrict__ c, const uint4 *__restrict__ s, uint4 *__restrict__ y,
           int heads, int length, long long places) {
  long long place = blockIdx.x * 16ll + threadIdx.x / 8;
  int part = threadIdx.x % 8, head = blockIdx.y * HEADS;
  if (place >= places)
    return;
  long long row = (place / length * heads + head) * length + place % length; // 16 words of eight each
  uint4 low[HEADS], high[HEADS];
#ifdef NEIGHBOURS
  enum { APART = 1 };
  long long at = row * 16 + 2 * part;
#else
  enum { APART = 8 };
  long long at = row * 16 + part;
#endif
#pragma unroll
  for (int h = 0; h < HEADS; h++)
    if (head + h < heads) {
      low[h] = __ldcs(x + at + h * 16ll * length);
      high[h] = __ldcs(x + at + h * 16ll * length + APART);
    }
  eight cosine = widen(__ldg(c + place * 8 + part)), sine = widen(__ldg(s + place * 8 + part));
#ifdef BACKWARDS
#pragma unroll
  for (int j = 0; j < 8; j++)
    sine.v[j] = -sine.v[j];
#endif
#pragma unroll
  for (int h = 0; h < HEADS; h++) {
    if (head + h >= heads)
      return;
    eight a = widen(low[h]), b = widen(high[h]), first, second;
#pragma unroll
    for (int j = 0; j < 8; j++) {
      first.v[j] = a.v[j] * cosine.v[j] - b.v[j] * sine.v[j];
      second.v[j] = a.v[j] * sine.v[j] + b.v[j] * cosine.v[j];
    }
    __stcs(y + at + h * 16ll * length, narrowed(first));
    __stcs(y + at + h * 16ll * length + APART, narrowed(second));
  }
}
