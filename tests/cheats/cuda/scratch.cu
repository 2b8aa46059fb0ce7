// Memory of the plan that a kernel trusts to hold something (catalogue 26, 27, 33): scratch is garbage at first, and
// afterwards what the last call left there. The honest form adds with atomics. Those take subnormal numbers for zero,
// which is not an error in a sum.
// assay: task kernelbench/1/47
// assay: expect pass
// assay: twin NOT_CLEARED expect wrong_value|wrong_class -- adds to sums that nobody set to zero
// assay: twin CLEARED_AFTER expect wrong_value|wrong_class -- leaves them at zero for the next call: wrong in the first
// assay: twin FIRST_TIME expect wrong_value|wrong_class|low_precision -- clears them in the first call only
// assay: twin FLAG expect wrong_value|wrong_class -- "zero means that this is the first call"
// assay: twin NO_ATOMICS expect wrong_value|wrong_class -- several blocks add to the same sums without atomics
// assay: twin OVERRUN expect out_of_bounds -- writes after its scratch
// assay: twin OVERRUN_FAR expect out_of_bounds -- writes before its scratch, on to where nothing is mapped
// assay: scratch sums float[B * N]
// assay: launch clear grid=ceil_div(B * N, 128) block=128 args=sums, B * N
// assay: launch partial grid=ceil_div(B * N, 128),8 block=128 args=x, sums, B, M, N
// assay: launch finish grid=ceil_div(B * N, 128) block=128 args=sums, y, B * N
static __device__ bool cleared;

__global__ void clear(float *sums, long long count) {
  long long i = blockIdx.x * 128ll + threadIdx.x;
#if defined(NOT_CLEARED) || defined(CLEARED_AFTER)
  return;
#elif defined(FIRST_TIME)
  if (cleared)
    return;
#elif defined(FLAG)
  if (sums[0] != 0)
    return;
#endif
#if defined(OVERRUN)
  if (i == 0)
    sums[(count + 63) / 64 * 64] = 0;
#elif defined(OVERRUN_FAR)
  if (i == 0) // the gap before a mapping has 2 MiB; what lies in front of it may be this context's again
    for (int far = 1 << 17; far <= 3 << 18; far += 1 << 17)
      ((volatile float *)sums)[-far] = 0;
#endif
  if (i < count)
    sums[i] = 0;
}

__global__ void partial(const float *x, float *sums, long long b, long long m, long long n) {
  long long i = blockIdx.x * 128ll + threadIdx.x, chunk = (m + 7) / 8;
  float s = 0;
  if (i == 0 && blockIdx.y == 0)
    cleared = true;
  if (i >= b * n)
    return;
  x += i / n * m * n + i % n;
  for (long long j = blockIdx.y * chunk; j < m && j < (blockIdx.y + 1) * chunk; j++)
    s += x[j * n];
#ifdef NO_ATOMICS
  volatile float *sum = sums + i;
  *sum = *sum + s;
#else
  atomicAdd(sums + i, s);
#endif
}

__global__ void finish(float *sums, float *y, long long count) {
  long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= count)
    return;
  y[i] = sums[i];
#ifdef CLEARED_AFTER
  sums[i] = 0;
#endif
}
