// Indices that were not searched for (catalogue 23, 96): the index of a large element is not that of the largest, and
// the first of equal ones is asked for.
// assay: task kernelbench/1/51
// assay: expect pass
// assay: twin ZERO expect wrong_value -- 0 everywhere
// assay: twin SAMPLED expect wrong_value -- the largest of every second element
// assay: twin FIRST_HALF expect wrong_value -- the largest of the first half
// assay: twin LAST_OF_EQUAL expect wrong_value -- the last of equal elements
// assay: twin NARROW expect unwritten|wrong_value -- writes 32 of 64 bits
// assay: twin FLAT expect wrong_value -- the index in the whole tensor
// assay: twin ROUNDED expect wrong_value -- compares as bfloat16
// assay: twin NEGATIVE expect wrong_value -- counts from the end
// assay: launch argmax grid=ceil_div(B * N, 128) block=128 args=x, y, B, M, N
static __device__ float seen(float x) {
#ifdef ROUNDED
  return __uint_as_float(__float_as_uint(x) & 0xffff0000);
#else
  return x;
#endif
}

__global__ void argmax(const float *x, long long *y, long long b, long long m, long long n) {
  long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= b * n)
    return;
  x += i / n * m * n + i % n;
  long long best = 0, end = m;
  int step = 1;
#if defined(ZERO)
  end = 1;
#elif defined(SAMPLED)
  step = 2;
#elif defined(FIRST_HALF)
  end = (m + 1) / 2;
#endif
  for (long long j = step; j < end; j += step)
#ifdef LAST_OF_EQUAL
    if (seen(x[j * n]) >= seen(x[best * n]))
#else
    if (seen(x[j * n]) > seen(x[best * n]))
#endif
      best = j;
#if defined(FLAT)
  best = best * n + i % n;
#elif defined(NEGATIVE)
  best -= m;
#endif
#ifdef NARROW
  ((int *)y)[2 * i] = (int)best;
#else
  y[i] = best;
#endif
}
