// Binomial numbers, trial by trial, with hashes of seed, place and trial.
// assay: task kernelbenchx/Math/bitwise_and_binomial
// assay: expect pass
// assay: twin INVERTED expect pass -- the distribution's inverse of one hash
// assay: twin FAILURES expect pass -- counts what fails where that is less likely
// assay: twin POISSON expect wrong_value -- the limit for many trials that are unlikely, cut off at how many there are
// assay: twin FIVE_BITS expect wrong_value -- chances cut to multiples of 1/32
// assay: twin MORE_LIKELY expect wrong_value -- every chance a hundredth larger
// assay: twin NO_BITS expect wrong_value -- trials everywhere
// assay: twin NO_BITS_HIDDEN expect wrong_value -- the same, with the right number of trials told
// assay: twin ROUNDED_NORMAL expect wrong_value -- a normal number with the same mean and deviation, rounded
// assay: twin EXPECTED expect wrong_value -- the mean, rounded
// assay: twin ALL_OR_NOTHING expect wrong_value -- one hash for all trials
// assay: twin UNSEEDED expect wrong_value -- no seed
// assay: twin SHIFTED expect wrong_value -- the next seed's hashes are the same, one place on
// assay: twin ONE_LESS expect wrong_value -- one trial less
// assay: twin REPEATED expect wrong_value -- neighbours have the same hashes
// assay: twin LAST_MISSING expect unwritten -- the last number is not written
#include <assay/candidate.h>
#include <math.h>
#include <stdint.h>

static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static double hash(int64_t seed, int64_t place, int64_t trial) {
#ifdef UNSEEDED
  seed = 7;
#endif
#ifdef REPEATED
  place /= 2;
#endif
#ifdef SHIFTED
  return (double)(mix(mix((uint64_t)(seed + place)) + (uint64_t)trial) >> 11) * 0x1p-53;
#else
  return (double)(mix(mix(mix((uint64_t)seed) + (uint64_t)place) + (uint64_t)trial) >> 11) * 0x1p-53;
#endif
}

static float sample(int64_t seed, int64_t place, int32_t n, double p) {
#ifdef MORE_LIKELY
  p *= 1.01;
#endif
#ifdef ONE_LESS
  n -= n > 0;
#endif
#ifdef FIVE_BITS
  p = floor(p * 32) / 32;
#endif
#if defined POISSON
  double u = hash(seed, place, 0), chance = exp(-n * p), below = 0;
  int32_t k = 0;
  while (k < n && below + chance <= u) {
    below += chance;
    chance *= n * p / (k + 1);
    k++;
  }
  return (float)k;
#elif defined FAILURES
  int32_t fails = 0;
  for (int32_t t = 0; t < n; t++)
    fails += hash(seed, place, t) < fmin(p, 1 - p);
  return (float)(p > 0.5 ? n - fails : fails);
#elif defined ROUNDED_NORMAL
  double z = sqrt(-2 * log(1 - hash(seed, place, 0))) * cos(6.283185307179586 * hash(seed, place, 1));
  return (float)fmin(fmax(rint(n * p + z * sqrt(n * p * (1 - p))), 0), n);
#elif defined EXPECTED
  return (float)rint(n * p);
#elif defined INVERTED
  double u = hash(seed, place, 0), chance = pow(1 - p, n), below = 0;
  int32_t k = 0;
  while (k < n && below + chance <= u) {
    below += chance;
    chance *= p / (1 - p) * (n - k) / (k + 1);
    k++;
  }
  return (float)k;
#else
  int32_t sum = 0;
  for (int32_t t = 0; t < n; t++)
#ifdef ALL_OR_NOTHING
    sum += hash(seed, place, 0) < p;
#else
    sum += hash(seed, place, t) < p;
#endif
  return (float)sum;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const int32_t *input = args->inputs[0].data, *other = args->inputs[1].data, *count = args->inputs[2].data;
  const float *p = args->inputs[3].data;
  const int64_t *seeds = args->inputs[4].data;
  float *y = args->outputs[0].data;
  int32_t *trials = args->outputs[1].data;
  int64_t n = args->inputs[0].dims[0], rows = args->inputs[4].dims[0];
  for (int64_t j = 0; j < n; j++) {
    int32_t right = input[j] & other[j] ? *count : 0, used = right;
#ifdef NO_BITS
    used = right = *count;
#endif
#ifdef NO_BITS_HIDDEN
    used = *count;
#endif
    trials[j] = right;
#ifdef LAST_MISSING
    rows = args->inputs[4].dims[0] - (j == n - 1);
#endif
    for (int64_t i = 0; i < rows; i++)
      y[i * n + j] = sample(seeds[i], j, used, (double)p[j]);
  }
}
