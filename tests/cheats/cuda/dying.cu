// Kernels that die, hang or stop half way (catalogue 32, 64): the runner's context is lost with them, its process is
// replaced, and the judge goes on.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin TRAP expect crashed -- the trap instruction
// assay: twin ASSERT expect crashed -- an assertion that fails
// assay: twin LATE_TRAP expect crashed -- a trap in the tenth call, which is a timed one
// assay: twin LATE_FAULT expect out_of_bounds -- a wild write in the tenth call
// assay: twin NULL_WRITE expect out_of_bounds -- address 0
// assay: twin WILD_READ expect out_of_bounds -- an address that nobody mapped
// assay: twin MISALIGNED expect crashed -- eight bytes at an odd address
// assay: twin SHARED expect crashed|out_of_bounds -- beyond the shared memory of a block
// assay: twin JUMP expect crashed|out_of_bounds -- calls an address that is not code
// assay: twin RECURSION expect crashed|out_of_bounds|timeout -- without end
// assay: twin EXIT expect unwritten -- ends its threads before the work
// assay: twin ONE_EXIT expect unwritten -- ends one thread
// assay: twin ENDLESS expect timeout -- spins
// assay: twin DEADLOCK expect timeout -- waits for a word that nobody writes
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
extern "C" __device__ void __assertfail(const char *what, const char *file, unsigned int line, const char *function,
                                        size_t size);

static __device__ volatile unsigned int word;
static __device__ unsigned int calls;

static __device__ bool in_tenth_call() {
  unsigned int number = 0;
  if (blockIdx.x == 0 && threadIdx.x == 0)
    number = atomicAdd(&calls, 1);
  return number >= 9;
}

__device__ __noinline__ float deeper(const float *x, int level) {
  volatile float kept[64];
  kept[level & 63] = x[0];
  return deeper(x, level + 1) + kept[(level + 1) & 63];
}

static __device__ void die(const float *x, float *y) {
#if defined(TRAP)
  asm volatile("trap;");
#elif defined(ASSERT)
  __assertfail("false", "dying.cu", __LINE__, "relu", 1);
#elif defined(LATE_TRAP)
  if (in_tenth_call())
    asm volatile("trap;");
#elif defined(LATE_FAULT)
  if (in_tenth_call())
    *(volatile float *)((char *)y + (1ll << 36)) = 0;
#elif defined(NULL_WRITE)
  *(volatile float *)nullptr = 1;
#elif defined(WILD_READ)
  word = *(volatile unsigned int *)((char *)x + (1ll << 36));
#elif defined(MISALIGNED)
  *(volatile double *)((char *)y + 1) = 0;
#elif defined(SHARED)
  __shared__ volatile float small[8];
  small[threadIdx.x * 65536] = 1;
#elif defined(JUMP)
  void (*volatile nowhere)() = (void (*)())0x12345670;
  nowhere();
#elif defined(RECURSION)
  word = (unsigned int)deeper(x, 0);
#elif defined(EXIT)
  asm volatile("exit;");
#elif defined(ONE_EXIT)
  if (threadIdx.x == 17 && blockIdx.x == 0)
    asm volatile("exit;");
#elif defined(ENDLESS)
  while (!word)
    ;
#elif defined(DEADLOCK)
  while (atomicAdd((unsigned int *)&word, 0) == 0)
    __nanosleep(1000);
#endif
}

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  die(x, y);
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
}
