// Reading and writing where a kernel must not (catalogue 11 to 14, 24, 25). Inputs are mapped read-only; every
// buffer ends where its memory ends, up to 256 bytes, and has nothing after it; what lies before and after an
// output within its memory is compared.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin WRITE_BEHIND expect out_of_bounds -- the element after the output
// assay: twin WRITE_BEFORE expect out_of_bounds -- the element before it
// assay: twin WRITE_FAR_BEFORE expect out_of_bounds -- 64 KiB before it
// assay: twin WRITE_AND_RESTORE expect pass -- writes after the output and puts back what was there: nobody is harmed
// assay: twin WRITE_INPUT expect wrote_input -- zeros the input when it has been read
// assay: twin WRITE_SAME expect wrote_input -- writes the input's own values to it
// assay: twin ATOMIC_INPUT expect wrote_input -- adds 0 to an element of the input
// assay: twin BULK_INPUT expect wrote_input|out_of_bounds -- has the copy engine write to the input
// assay: twin IN_PLACE expect wrote_input -- works in the input and copies the result
// assay: twin READ_BEHIND expect out_of_bounds -- the element after the input where it ends a mapping
// assay: twin READ_BEFORE expect pass -- the element before the input: what lies there is nobody's
// assay: twin READ_LINE expect pass -- reads whole vectors at the end, within the line
// assay: twin PREFETCH expect pass -- prefetches beyond the end, which does nothing
// assay: twin OUTPUT_FIRST expect unwritten|wrong_value|wrong_class -- relu of what the output holds
// assay: twin BY_DISTANCE expect pass -- reaches the output from the input's address: odd, and right
// assay: twin NEIGHBOURS expect out_of_bounds -- looks for other buffers in the address space around the input
// assay: twin LATE_BAND expect out_of_bounds -- writes before the output, in timed calls only
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
static __device__ volatile float seen;
static __device__ unsigned int calls;

static __device__ void first_thread(const float *x, float *y, long long n) {
#if defined(WRITE_BEHIND)
  y[n] = 1;
#elif defined(WRITE_BEFORE)
  y[-1] = 1;
#elif defined(WRITE_FAR_BEFORE)
  y[-16384] = 1;
#elif defined(WRITE_AND_RESTORE)
  volatile float *before = y - 1;
  float old = *before;
  *before = 1;
  __threadfence();
  *before = old;
#elif defined(ATOMIC_INPUT)
  atomicAdd((unsigned int *)x, 0u);
#elif defined(BULK_INPUT)
  __shared__ alignas(16) float four[4];
  for (int i = 0; i < 4; i++)
    four[i] = x[0];
  asm volatile("fence.proxy.async;" ::: "memory");
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;"
               :
               : "l"(x), "r"((unsigned int)__cvta_generic_to_shared(four))
               : "memory");
  asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
#elif defined(READ_BEHIND)
  seen = *(volatile const float *)(x + (n + 63) / 64 * 64);
#elif defined(READ_BEFORE)
  seen = *(volatile const float *)(x - 1);
#elif defined(PREFETCH)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(x + n + (1 << 20)));
#elif defined(NEIGHBOURS)
  for (long long distance = 1ll << 21; distance < 1ll << 34; distance += 1ll << 21)
    seen = *(volatile const float *)((const char *)x + distance);
#elif defined(LATE_BAND)
  if (calls++ > 8)
    y[-1] = 1;
#endif
}

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i == 0)
    first_thread(x, y, n);
  if (i >= n)
    return;
#if defined(OUTPUT_FIRST)
  float v = y[i];
#elif defined(READ_LINE)
  float v = ((const volatile float *)x)[i | 3] * 0;
  v = x[i];
#else
  float v = x[i];
#endif
  v = v < 0 ? 0 : v;
#if defined(WRITE_INPUT)
  ((float *)x)[i] = 0;
#elif defined(WRITE_SAME)
  ((volatile float *)x)[i] = x[i];
#elif defined(IN_PLACE)
  ((volatile float *)x)[i] = v;
  v = ((volatile float *)x)[i];
#endif
#ifdef BY_DISTANCE
  ((float *)x)[y - x + i] = v;
#else
  y[i] = v;
#endif
}
