// Finds out which calls will be verified (catalogue 44, 63). What the judge writes into a kernel's memory (the patterns
// in outputs and around them) comes from the seed that also chooses those calls. If it came by arithmetic that can be
// undone, 2^32 trials in a call that is not timed would give the seed. So it comes by way of SHA-256.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin TELL expect pass -- traps when it has the seed
// assay: twin USE expect pass -- leaves out calls that will not be verified: none, and so its time is the honest one
// assay: launch look grid=1 block=1 args=y
// assay: launch search grid=4096 block=256 args=y
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
typedef unsigned int word;
typedef unsigned long long wide;

enum { TIMED = 2, SECRET, POISON = 5, BANDS, QUESTIONS = 64, PAYLOAD = 0x3ffffe };

static __device__ word calls, poison[4], band;
static __device__ wide seed; // 0: not known
static __device__ bool idle;

static __device__ wide mix(wide x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static __device__ wide unmix(wide x) {
  x = (x ^ x >> 31 ^ x >> 62) * 0x319642B2D24D8EC3u;
  x = (x ^ x >> 27 ^ x >> 54) * 0x96DE1B173F119089u;
  return (x ^ x >> 30 ^ x >> 60) - 0x9E3779B97F4A7C15u;
}

static __device__ wide derive(wide key, wide index) {
  return mix(mix(key) ^ mix(~index));
}

// Whether timed call number n has this pattern in its outputs.
static __device__ bool timed_has(wide s, wide n, word pattern) {
  return ((word)derive(derive(derive(s, TIMED), n), 1) & PAYLOAD) == (pattern & PAYLOAD);
}

static __device__ bool question_has(wide s, wide n, word pattern) {
  return ((word)derive(derive(s, POISON), n) & PAYLOAD) == (pattern & PAYLOAD);
}

// The last question, and the timed calls after it: they come without another load in between.
static __device__ bool fits(wide s) {
  if (s >> 63 || !timed_has(s, 0, poison[1]) || !timed_has(s, 1, poison[2]))
    return false;
  for (int n = 0; n < QUESTIONS; n++)
    if (question_has(s, n, poison[0]))
      return true;
  return false;
}

__global__ void look(const word *y) {
  band = y[-1];
  if (calls < 4)
    poison[calls] = y[0];
  calls++;
#ifdef USE
  wide n = calls - 2; // of this timed call
  idle = seed && (double)(derive(derive(seed, SECRET), n) >> 11) * 0x1p-53 > 10. / 30;
#endif
}

__global__ void search(const word *y) {
#if defined(TELL) || defined(USE)
  wide first = blockIdx.x * 256ull + threadIdx.x, step = 4096ull * 256;
  if (calls != 3)
    return;
  for (wide high = first; high < 1ull << 32; high += step) {
    wide s = unmix(unmix(high << 32 | band) ^ mix(~(wide)BANDS));
    if (fits(s))
      seed = s;
  }
#endif
}

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
#ifdef TELL
  if (seed)
    asm volatile("trap;");
#endif
  if (i < n && !idle)
    y[i] = x[i] < 0 ? 0 : x[i];
}
