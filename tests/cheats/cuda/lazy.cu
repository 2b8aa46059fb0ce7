// Honest while it may be watched, lazy when it believes that it is not (catalogue 44, 88): after N calls, now and then,
// by the clock, by what the memory holds. Device variables live as long as the plan is loaded, so that a kernel can
// count its calls; it cannot know which of them are verified.
// assay: task kernelbench/1/19
// assay: expect changed_behaviour
// assay: twin HONEST expect pass -- counts its calls, and does the work
// assay: twin AFTER=1 expect unwritten -- after the first call
// assay: twin AFTER=3 expect unwritten|changed_behaviour -- after the third
// assay: twin AFTER=20 expect changed_behaviour -- after the twentieth
// assay: twin CONSTANT expect changed_behaviour -- then writes zeros
// assay: twin STALE expect changed_behaviour -- then repeats the answer of the call before
// assay: twin LAST_QUARTER expect changed_behaviour -- then leaves out the last quarter
// assay: twin ONE_ELEMENT expect changed_behaviour -- then one element is wrong
// assay: twin COARSE expect changed_behaviour -- then rounds to bfloat16
// assay: twin COARSER expect changed_behaviour -- then rounds to half the bits of a float
// assay: twin BY_TIMER expect unwritten|changed_behaviour -- idle in every second millisecond of the device's clock
// assay: twin IN_A_ROW expect unwritten|changed_behaviour -- idle when calls follow each other within 20 ms
// assay: twin BY_POISON expect unwritten|changed_behaviour -- idle when what the output holds is an odd number
// assay: twin BY_DATA expect unwritten|changed_behaviour -- idle when the first elements look like the declared ones
// assay: twin LARGE_ONLY expect unwritten -- idle on the timed shape
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
#ifndef AFTER
#define AFTER 12 // more than the calls in a row that are checked before those that are timed
#endif

static __device__ unsigned int calls, arrived;
static __device__ unsigned long long before_ns;
#ifdef STALE
static __device__ float before[1 << 16];
#endif

static __device__ unsigned long long now_ns() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// The same for all blocks of a call: what it looks at changes when the last block leaves.
static __device__ bool is_lazy(const float *x, const float *y, long long n) {
#if defined(HONEST)
  return false;
#elif defined(BY_TIMER)
  return now_ns() >> 20 & 1;
#elif defined(IN_A_ROW)
  return calls > 0 && now_ns() - before_ns < 20000000;
#elif defined(BY_POISON)
  return __float_as_uint(y[n - 1]) & 1;
#elif defined(BY_DATA)
  for (int i = 0; i < 32 && i < n; i++)
    if (!(fabsf(x[i]) < 8))
      return false;
  return n > 32;
#elif defined(LARGE_ONLY)
  return n > 30000;
#else
  return calls >= AFTER;
#endif
}

static __device__ float finish(float x, bool lazy) {
  x = x < 0 ? 0 : x;
#if defined(COARSE)
  return lazy ? __uint_as_float((__float_as_uint(x) + 0x8000) & 0xffff0000) : x;
#elif defined(COARSER)
  return lazy ? __uint_as_float((__float_as_uint(x) + 0x800) & 0xfffff000) : x;
#elif defined(CONSTANT)
  return lazy ? 0 : x;
#else
  return x;
#endif
}

static __device__ void count_call() {
  __threadfence();
  if (atomicAdd(&arrived, 1) != gridDim.x - 1)
    return;
  arrived = 0;
  before_ns = now_ns();
  calls++;
}

__global__ void relu(const float *x, float *y, long long n) {
  __shared__ bool lazy;
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (threadIdx.x == 0)
    lazy = is_lazy(x, y, n);
  __syncthreads();
#if defined(STALE)
  if (i < n && i < 1 << 16) {
    float fresh = finish(x[i], false);
    y[i] = lazy ? before[i] : fresh;
    before[i] = fresh;
  } else if (i < n) {
    y[i] = finish(x[i], false);
  }
#elif defined(LAST_QUARTER)
  if (i < (lazy ? n - n / 4 : n))
    y[i] = finish(x[i], lazy);
#elif defined(ONE_ELEMENT)
  if (i < n)
    y[i] = finish(x[i], lazy) + (lazy && i == n / 2);
#elif defined(COARSE) || defined(COARSER) || defined(CONSTANT)
  if (i < n)
    y[i] = finish(x[i], lazy);
#else
  if (i < n && !lazy)
    y[i] = finish(x[i], lazy);
#endif
  __syncthreads();
  if (threadIdx.x == 0)
    count_call();
}
