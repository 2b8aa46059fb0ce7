// Keeps data in the L2 cache over the flush, or brings it there early (catalogue 52, 69, 70, 71). Nothing
// here is wrong, and nothing is gained: inputs are written anew by the judge before every call, the runner then lifts
// all persistence and reads several times the cache's size. The cold times of all twins are those of the first.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin EVICT_LAST expect pass -- asks for the input to be evicted last, and so for the next call's
// assay: twin EVICT_LAST_OUTPUT expect pass -- the same for the output
// assay: twin PREFETCH expect pass -- when done fetches the input again, for the next call
// assay: twin BULK_PREFETCH expect pass -- the same with the copy engine
// assay: twin DISCARD expect wrong_value|wrong_class|unwritten|out_of_bounds -- discards lines that it has written
// assay: twin KEEP_CLOCKS expect pass -- 1 ms of idling before the end, to keep the clocks up: costs what it takes
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
static __device__ unsigned long long policy_last() {
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

static __device__ float load(const float *x) {
#ifdef EVICT_LAST
  float v;
  asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x), "l"(policy_last()));
  return v;
#else
  return *x;
#endif
}

static __device__ void store(float *y, float v) {
#ifdef EVICT_LAST_OUTPUT
  asm volatile("st.global.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(y), "f"(v), "l"(policy_last()) : "memory");
#else
  *y = v;
#endif
}

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) {
    float v = load(x + i);
    store(y + i, v < 0 ? 0 : v);
  }
#if defined(PREFETCH)
  if (i < n)
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(x + i));
#elif defined(BULK_PREFETCH)
  if (threadIdx.x == 0 && i + 256 <= n)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(x + i));
#elif defined(DISCARD)
  __syncthreads();
  if (i < n && threadIdx.x % 32 == 0)
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(y + i));
#elif defined(KEEP_CLOCKS)
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < 1000000);
#endif
}
