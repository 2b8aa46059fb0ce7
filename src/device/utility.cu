// Trusted helper kernels in the runner's process (device/utility.h).

// Reads n pieces of 16 bytes through the second-level cache, so that it holds nothing else afterwards: clean lines, so
// that no write-back falls into what is timed. Nothing the memory holds adds up to `never`; the compiler cannot know.
extern "C" __global__ void __launch_bounds__(512) utility_read(const uint4 *from, unsigned long long n, uint4 *sink,
                                                               unsigned int never) {
  unsigned int sum = 0;
  unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 4
  for (; i < n; i += step) {
    uint4 v = __ldcg(from + i);
    sum |= v.x | v.y | v.z | v.w;
  }
  if (sum == never)
    *sink = make_uint4(sum, sum, sum, sum);
}

extern "C" __global__ void utility_empty() {}

// Keeps the stream busy until words[0] reaches the ticket (it wraps around). A host that is blocked itself (the driver
// waits for the device before it queues something) is set free after a while: words[1] then says that the time of this
// ticket is worth nothing.
extern "C" __global__ void utility_hold(volatile unsigned int *words, unsigned int ticket, unsigned long long limit_ns) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  while ((int)(words[0] - ticket) < 0) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (now - start > limit_ns) {
      words[1] = ticket;
      __threadfence_system();
      break;
    }
  }
}
