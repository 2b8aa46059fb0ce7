// Random numbers by Philox (Salmon et al., 2011), keyed with a row's seed.
// assay: task kernelbenchx/Random/rand
// assay: expect pass
// assay: twin BITS_23 expect pass -- numbers of 23 bits
// assay: twin SPLITMIX expect pass -- another generator
// assay: twin CONGRUENCE expect pass -- the high bits of a linear congruence modulo 2^64, one after the other
// assay: twin XORSHIFT expect pass -- a generator with a state of 128 bits, one number after the other
// assay: twin LOW_SEED expect wrong_value -- the low 32 bits of a seed alone
// assay: twin ANTITHETIC expect wrong_value -- every second number is one less the number before
// assay: twin CORRELATED expect wrong_value -- one number in thirty is near the one before
// assay: twin LUMPED expect wrong_value -- one number in twenty is the mean of two
// assay: twin CONSTANT expect wrong_value -- the same number everywhere
// assay: twin COUNTER expect wrong_value -- equal steps, in no way mixed
// assay: twin WEYL expect wrong_value -- multiples of the golden ratio: far too even
// assay: twin UNSEEDED expect wrong_value -- numbers without a seed
// assay: twin ROW expect wrong_value -- the row's number in the place of its seed
// assay: twin PATTERN expect wrong_value -- the first row of the same seed in the place of the seed
// assay: twin CALLS expect wrong_value -- other numbers for the same seeds in every call
// assay: twin SHIFTED expect wrong_value -- the next seed's numbers are the same, one place on
// assay: twin BITS_16 expect wrong_value -- numbers of 16 bits
// assay: twin PERIOD expect wrong_value -- the same 4096 numbers over and over
// assay: twin SKEWED expect wrong_value -- a power that makes the mean 1.5 % less
// assay: twin STUTTER expect wrong_value -- one number in a hundred is the one before
// assay: twin UP_TO_TWO expect wrong_value -- numbers up to 2
// assay: twin SHORT expect unwritten -- the last number of each row is not written
// assay: twin PERMUTED expect wrong_value -- no number twice: multiples of an odd number, modulo 2^24
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>

static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static uint32_t philox(uint64_t key, uint64_t place) {
  uint32_t c[4] = {(uint32_t)(place >> 2), (uint32_t)(place >> 34), 0, 0};
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
    c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
    c[3] = (uint32_t)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c[place & 3];
}

static float number(uint64_t seed, uint64_t place) {
#if defined CONSTANT
  return 0.25f;
#elif defined COUNTER
  return (float)((seed + 7919 * place) % 1000003) / 1000003.0f;
#elif defined WEYL
  return (float)((uint32_t)(seed * 0x9E3779B1u + (uint32_t)place * 0x9E3779B1u) >> 8) * 0x1p-24f;
#elif defined SHIFTED
  return (float)(mix(seed + place) >> 40) * 0x1p-24f;
#elif defined SPLITMIX
  return (float)(mix(mix(seed) + place) >> 40) * 0x1p-24f;
#elif defined BITS_16
  return (float)(philox(seed, place) >> 16) * 0x1p-16f;
#elif defined BITS_23
  return (float)(philox(seed, place) >> 9) * 0x1p-23f;
#elif defined PERIOD
  return (float)(philox(seed, place % 4096) >> 8) * 0x1p-24f;
#elif defined PERMUTED
  uint32_t x = (uint32_t)(place + mix(seed)) & 0xffffffu; // rounds that no two numbers leave alike
  for (int round = 0; round < 4; round++) {
    x = (x * 0x6b43a9u + 0x3c6ef3u) & 0xffffffu;
    x ^= x >> 11;
  }
  return (float)x * 0x1p-24f;
#elif defined UNSEEDED
  return (float)(philox(12345, place) >> 8) * 0x1p-24f;
#elif defined LOW_SEED
  return (float)(philox((uint32_t)seed, place) >> 8) * 0x1p-24f;
#elif defined ANTITHETIC
  float x = (float)(philox(seed, place / 2) >> 8) * 0x1p-24f;
  return place % 2 ? 1 - 0x1p-24f - x : x;
#elif defined CORRELATED
  float x = (float)(philox(seed, place) >> 8) * 0x1p-24f;
  if (place > 0 && philox(~seed, place) % 30 == 0) {
    x = (float)(philox(seed, place - 1) >> 8) * 0x1p-24f + x * 0.1f;
    x -= x >= 1 ? 1 : 0;
  }
  return x;
#elif defined LUMPED
  float x = (float)(philox(seed, place) >> 8) * 0x1p-24f,
        z = (float)(philox(seed, place + (1ull << 40)) >> 8) * 0x1p-24f;
  return philox(~seed, place) % 20 == 0 ? (x + z) / 2 : x;
#elif defined UP_TO_TWO
  return (float)(philox(seed, place) >> 8) * 0x1p-23f;
#elif defined SKEWED
  return powf((float)(philox(seed, place) >> 8) * 0x1p-24f, 1.03f);
#elif defined STUTTER
  return (float)(philox(seed, place - (mix(place) % 100 == 0 && place > 0)) >> 8) * 0x1p-24f;
#else
  return (float)(philox(seed, place) >> 8) * 0x1p-24f;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *seeds = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->outputs[0].dims[0], n = args->outputs[0].dims[1];
#ifdef CALLS
  static uint64_t calls;
  calls++;
#else
  const uint64_t calls = 0;
#endif
#if defined CONGRUENCE || defined XORSHIFT
  for (int64_t i = 0; i < rows; i++) {
    uint64_t a = mix((uint64_t)seeds[i]), b = mix(a);
    for (int64_t j = 0; j < n; j++) {
#ifdef CONGRUENCE
      a = a * 6364136223846793005u + 1442695040888963407u;
      y[i * n + j] = (float)(a >> 40) * 0x1p-24f;
#else
      const uint64_t sum = a + b, x = a ^ a << 23;
      a = b;
      b = x ^ b ^ x >> 18 ^ b >> 5;
      y[i * n + j] = (float)(sum >> 40) * 0x1p-24f;
#endif
    }
  }
  return;
#endif
  for (int64_t i = 0; i < rows; i++)
#ifdef SHORT
    for (int64_t j = 0; j + 1 < n; j++)
#else
    for (int64_t j = 0; j < n; j++)
#endif
    {
      uint64_t seed = (uint64_t)seeds[i] ^ calls << 53;
#ifdef ROW
      seed = (uint64_t)i;
#endif
#ifdef PATTERN
      for (seed = 0; seeds[seed] != seeds[i];)
        seed++;
#endif
      y[i * n + j] = number(seed, (uint64_t)j);
    }
}
