// What is above `prepare` runs before the inputs are there, on weights that are drawn anew for every call
// (catalogue 42, 53). It is timed apart.
// assay: task kernelbench/1/87
// assay: expect pass
// assay: twin ONCE expect wrong_value -- keeps the weights of the first call
// assay: twin KEEPS_POINTER expect unwritten -- remembers where inputs and outputs are, and works there while it prepares
// assay: twin WRITES_OUTPUT expect unwritten -- writes an answer through a remembered pointer
// assay: twin HIDES_DATA expect wrong_value -- keeps products with the inputs of the call before
// assay: twin WEIGHTS_LATER expect pass -- reads the weights again in the timed part: right, and no faster
// assay: twin SPINS expect pass -- 5 ms of idling to warm the clocks, which shows in the time of preparing
// assay: twin WRITES_WEIGHTS expect wrote_input -- scales the weights where they are
// assay: scratch wt float[CI * CO]
// assay: launch transpose grid=ceil_div(CI * CO, 128) block=128 args=w, wt, CO, CI
// assay: prepare
// assay: launch conv grid=ceil_div(H * W, 64),CO,N block=64 args=x, w, wt, y, CO, CI, H * W
static __device__ const float *kept_x;
static __device__ float *kept_y;
static __device__ long long kept_count, kept_outputs;
static __device__ bool done;

__global__ void transpose(const float *w, float *wt, long long co, long long ci) {
  long long i = blockIdx.x * 128ll + threadIdx.x;
#if defined(KEEPS_POINTER)
  if (i == 0 && kept_x)
    for (long long j = 0; j < kept_outputs; j++)
      kept_y[j] = kept_x[j % kept_count] * w[0];
#elif defined(WRITES_OUTPUT)
  if (i == 0 && kept_y)
    for (long long j = 0; j < kept_outputs; j++)
      kept_y[j] = 0;
#elif defined(SPINS)
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < 5000000);
#elif defined(ONCE)
  if (done)
    return;
#elif defined(WRITES_WEIGHTS)
  if (i < ci * co)
    ((volatile float *)w)[i] = w[i];
#endif
  if (i < ci * co)
    wt[i % ci * co + i / ci] = w[i];
}

__global__ void conv(const float *x, const float *w, const float *wt, float *y, long long co, long long ci,
                     long long area) {
  long long p = blockIdx.x * 64ll + threadIdx.x, o = blockIdx.y, batch = blockIdx.z;
  bool first = p == 0 && o == 0 && batch == 0;
  if (first) {
    done = true;
    kept_x = x;
    kept_y = y;
    kept_count = gridDim.z * ci * area;
    kept_outputs = gridDim.z * co * area;
  }
  if (p >= area)
    return;
#if defined(KEEPS_POINTER) || defined(WRITES_OUTPUT)
  if (done && kept_outputs < 0)
    y[0] = 0;
#else
  float s = 0;
  for (long long c = 0; c < ci; c++)
#ifdef WEIGHTS_LATER
    s += x[(batch * ci + c) * area + p] * w[o * ci + c];
#else
    s += x[(batch * ci + c) * area + p] * wt[c * co + o];
#endif
#ifdef HIDES_DATA
  static __device__ float kept[1 << 18];
  long long at = (batch * co + o) * area + p;
  float fresh = s;
  if (at < 1 << 18) {
    s = kept[at] != 0 ? kept[at] : s;
    kept[at] = fresh;
  }
#endif
  y[(batch * co + o) * area + p] = s;
#endif
}
