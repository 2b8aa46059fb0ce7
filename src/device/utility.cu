// SPDX-License-Identifier: Apache-2.0
// Trusted helper kernels in the runner's process (device/utility.h).

struct gate { // struct cuda_gate of cuda_device.h
  unsigned int released, arrived, failed, unused;
  unsigned long long opens_at, ended, confirmed;
};

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

// Leaves a number in all the shared memory that a block can have: a block on each SM.
extern "C" __global__ void utility_leave(unsigned int number, unsigned int count) {
  extern __shared__ unsigned int left[];
  for (unsigned int i = threadIdx.x; i < count; i += blockDim.x)
    ((volatile unsigned int *)left)[i] = number;
}

static __device__ unsigned long long clock_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Keeps the stream busy until the host has written the ticket (it wraps around), and then for a delay: so the host
// knows in advance when the stream will be let go. A host that is blocked itself (the driver waits for the device
// before it queues something) is released after a while; the time of this ticket is then not used.
extern "C" __global__ void utility_hold(volatile gate *g, unsigned int ticket, unsigned long long limit_ns,
                                        unsigned long long delay_ns) {
  unsigned long long start = clock_ns();
  g->arrived = ticket;
  __threadfence_system();
  while ((int)(g->released - ticket) < 0)
    if (clock_ns() - start > limit_ns) {
      g->failed = ticket;
      __threadfence_system();
      return;
    }
  unsigned long long opens = clock_ns() + delay_ns;
  g->opens_at = opens;
  __threadfence_system();
  while (clock_ns() < opens) {
  }
}

extern "C" __global__ void utility_stamp(volatile unsigned long long *at) {
  *at = clock_ns();
}

// Says that everything before it in the stream has ended, with a number that was unknown until then.
extern "C" __global__ void utility_confirm(volatile unsigned long long *at, unsigned long long number) {
  *at = number;
}
