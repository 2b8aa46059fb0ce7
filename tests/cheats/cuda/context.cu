// Looks for what the runner's context holds apart from the plan: the driver's own memory, code, the word that the
// stream waits for, events (catalogue 11 to 13, 57 to 63). All that can be found belongs to this process: inputs of the
// current call and the device's clock, which is compared with the CPU's. Some drivers map memory of their own at low
// addresses in every process. Reading there then does not fault, and does no harm: it holds nothing of the judge's,
// which is another process with another context.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin LOW_ADDRESSES expect pass|out_of_bounds -- where drivers may have memory of their own in every process
// assay: twin HIGH_ADDRESSES expect out_of_bounds -- where the processor's stacks and libraries are
// assay: twin PROGRAM expect out_of_bounds -- where programs without address randomisation are
// assay: twin PARAMETERS expect pass -- beyond its own parameters: no address of the runner's
// assay: twin SHARED expect pass -- shared memory as it was left: no address of the runner's
// assay: twin READ_CODE expect pass|out_of_bounds -- its own code, as data
// assay: twin WRITE_CODE expect out_of_bounds|pass -- writes to its own code what stands there
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count, {x, y, int(0), int(0)}
struct parameters {
  const float *x;
  float *y;
  int spare[2];
};

static __device__ volatile unsigned int seen;

__device__ __noinline__ void code() {
  seen = seen + 1;
}

// An address of memory that both the CPU and the device know, as libraries and mapped memory have them.
static __device__ bool like_an_address(unsigned long long word) {
  return word >> 40 == 0x7f && (word & 3) == 0;
}

static __device__ void look(const float *x, float *y, const unsigned long long *words) {
#if defined(LOW_ADDRESSES)
  seen = *(volatile unsigned int *)0x200200000ull;
#elif defined(HIGH_ADDRESSES)
  for (unsigned long long p = 0x7fffffffe000ull; p > 0x7ff000000000ull; p -= 1ull << 24)
    seen = *(volatile unsigned int *)p;
#elif defined(PROGRAM)
  seen = *(volatile unsigned int *)0x400000ull;
#elif defined(PARAMETERS)
#pragma unroll 1
  for (int i = 3; i < 500; i++) {
    unsigned long long word = words[i];
    if (like_an_address(word) && word >> 32 != (unsigned long long)x >> 32 && word >> 32 != (unsigned long long)y >> 32)
      asm volatile("trap;");
  }
#elif defined(SHARED)
  __shared__ volatile unsigned long long more[4096];
  for (int i = threadIdx.x; i < 4096; i += 256) {
    unsigned long long word = more[i];
    if (like_an_address(word) && word >> 32 != (unsigned long long)x >> 32 && word >> 32 != (unsigned long long)y >> 32)
      asm volatile("trap;");
  }
#elif defined(READ_CODE)
  void (*volatile address)() = code;
  seen = *(volatile unsigned int *)(unsigned long long)address;
#elif defined(WRITE_CODE)
  void (*volatile address)() = code;
  volatile unsigned int *first = (volatile unsigned int *)(unsigned long long)address;
  *first = *first;
#endif
}

__global__ void relu(const float *x, float *y, long long n, const __grid_constant__ parameters p) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (blockIdx.x == 0)
    look(x, y, (const unsigned long long *)&p);
  if (n < 0)
    code();
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
}
