// Memory from malloc in kernels (catalogue 38, 41): it outlives a call, and there are a few megabytes of it.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin KEEP expect wrong_value|changed_behaviour -- keeps the first answer there and gives it again
// assay: twin LEAK expect pass -- takes more with every call and works without when there is no more
// assay: twin LEAK_BLINDLY expect out_of_bounds -- and works there when there is no more
// assay: twin FREE_TWICE expect pass|crashed|out_of_bounds -- frees it twice
// assay: twin FREE_INPUT expect pass|crashed|out_of_bounds|wrote_input -- frees the input
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
static __device__ float *kept[1 << 10];
static __device__ long long kept_count;

static __device__ float value(float x) {
  return x < 0 ? 0 : x;
}

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  float v = i < n ? value(x[i]) : 0;
#if defined(KEEP)
  __shared__ float *mine;
  __shared__ bool again;
  if (threadIdx.x == 0 && blockIdx.x < 1 << 10) {
    again = kept[blockIdx.x] != nullptr;
    if (!again)
      kept[blockIdx.x] = (float *)malloc(1024);
    mine = kept[blockIdx.x];
  }
  __syncthreads();
  if (blockIdx.x < 1 << 10 && mine) {
    if (again)
      v = mine[threadIdx.x];
    else
      mine[threadIdx.x] = v;
  }
#elif defined(LEAK) || defined(LEAK_BLINDLY)
  __shared__ volatile float *more;
  if (threadIdx.x == 0)
    more = (float *)malloc(16384);
  __syncthreads();
#ifdef LEAK
  if (more)
#endif
    more[threadIdx.x] = v;
  __syncthreads();
#elif defined(FREE_TWICE)
  if (i == 0) {
    void *p = malloc(64);
    free(p);
    free(p);
  }
#elif defined(FREE_INPUT)
  if (i == 0)
    free((void *)x);
#endif
  if (i < n)
    y[i] = v;
}
