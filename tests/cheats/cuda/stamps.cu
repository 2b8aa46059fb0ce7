// assay: task kernelbench/1/19
// assay: expect pass|crashed|out_of_bounds
// assay: twin HONEST expect pass -- as long, without the forgery
// assay: twin LITTLE expect pass|crashed|out_of_bounds -- by 0.8 us only
// Works for 0.2 ms and then looks for the stamp of its own start where a driver kept it (580 on an H200), to move it by
// 0.15 ms. It is right, and gets the time that it took: tests/gpu/forged_stamps.sh.
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
#ifdef LITTLE
#define MOVED 800
#else
#define MOVED 150000
#endif
#ifndef STAMPS
#define STAMPS 0x204800000
#endif

static __device__ unsigned long long clock_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

extern "C" __global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  unsigned long long start = clock_ns();
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
  while (clock_ns() - start < 200000) {
  }
#ifndef HONEST
  if (blockIdx.x > 0)
    return;
  volatile unsigned long long *words = (volatile unsigned long long *)STAMPS;
  for (int k = threadIdx.x; k < (64 << 10) / 8; k += 256)
    if (start - words[k] < 100000)
      words[k] += MOVED;
#endif
}
