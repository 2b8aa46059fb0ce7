// Launches that may begin before the one before them has ended (catalogue 48, 50, 51): work that goes on after
// the last launch has ended. Nothing of the plan may be left when the clock stops.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin NO_WAIT expect pass -- the second launch is over long before the first: time at least 200 us
// assay: twin NO_WAIT_LONG expect pass -- likewise, with 2 ms of work: time at least 2 ms
// assay: twin TOO_EARLY expect unwritten|wrong_value|wrong_class -- the second launch reads what the first has not written
// assay: twin NEXT_CALL expect unwritten -- the first launch of a call does what the call before left undone
// assay: scratch part float[x.count]
// assay: launch first grid=ceil_div(x.count, 256) block=256 args=x, y, part, x.count
// assay: launch second grid=ceil_div(x.count, 256) block=256 programmatic args=x, y, part, x.count
#if defined(NO_WAIT_LONG)
static const unsigned int DELAY_NS = 2000000;
#else
static const unsigned int DELAY_NS = 200000;
#endif

static __device__ const float *last_x;
static __device__ float *last_y;

static __device__ float value(float x) {
  return x < 0 ? 0 : x;
}

static __device__ void delay() {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < DELAY_NS);
}

static __device__ void let_next_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

static __device__ void wait_for_previous() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

__global__ void first(const float *x, float *y, float *part, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
  let_next_begin();
#if defined(NO_WAIT) || defined(NO_WAIT_LONG)
  delay();
  if (i < n)
    y[i] = value(x[i]);
#elif defined(TOO_EARLY)
  delay();
  if (i < n)
    part[i] = value(x[i]);
#elif defined(NEXT_CALL)
  if (last_y && i < n)
    last_y[i] = value(last_x[i]);
#else
  if (i < n)
    part[i] = value(x[i]);
#endif
}

__global__ void second(const float *x, float *y, float *part, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
#if defined(NO_WAIT) || defined(NO_WAIT_LONG)
  (void)i;
#elif defined(TOO_EARLY)
  if (i < n)
    y[i] = part[i];
#elif defined(NEXT_CALL)
  wait_for_previous();
  if (i == 0) {
    last_x = x;
    last_y = y;
  }
#else
  wait_for_previous();
  if (i < n)
    y[i] = part[i];
#endif
}
