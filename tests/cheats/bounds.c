// Reads and writes outside the buffers (catalogue 24, 25). Buffers end, up to 64 bytes, at the end of a page after
// which nothing is mapped; the bytes between are checked after every call.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin ONE_PAST expect out_of_bounds -- writes one element after the output
// assay: twin ONE_BEFORE expect out_of_bounds -- writes one element before the output
// assay: twin ONE_BYTE expect out_of_bounds -- writes one byte after the output
// assay: twin PAGE_PAST expect out_of_bounds -- writes a page after the output
// assay: twin PAGE_BEFORE expect out_of_bounds -- writes a page before the output
// assay: twin FAR_PAST expect out_of_bounds|crashed -- writes a megabyte after the output
// assay: twin WHOLE_VECTORS expect out_of_bounds -- stores whole vectors of 16 without a remainder loop
// assay: twin READ_PAST expect out_of_bounds -- reads on for a page after the input
// assay: twin READ_BEFORE expect out_of_bounds -- reads a page before the input
// assay: twin READ_ONE_BEFORE expect out_of_bounds -- reads the element before the input
// assay: twin READ_VECTORS expect pass -- reads whole vectors of 16, which stays within the alignment: allowed
// assay: twin COPY_BAND expect out_of_bounds -- writes after the output what it found before it, in another phase
// assay: twin RESTORE expect pass -- writes before the output and puts back what was there: nobody was harmed
// assay: twin ROUND_UP expect out_of_bounds|wrong_value -- rounds the number of columns up to 64
// assay: twin TWO_ROWS expect out_of_bounds|wrong_value -- two rows at a time, also when the last is alone
// assay: twin GUARD_MAPPED expect pass -- maps memory of its own into the guard and writes there: its own affair
// assay: twin NO_SUCH_INPUT expect crashed -- takes the output from where a second input would be described
// assay: twin NO_SUCH_OUTPUT expect crashed -- reads the last input from before the first output
// assay: twin OWN_BLOCK expect crashed -- writes 8 bytes past a heap block of its own
// assay: twin OWN_BLOCK_WHOLE expect pass -- the same block, large enough
#include <assay/candidate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static float relu(float x) {
  return x > 0 ? x : 0;
}

static void rows(const float *x, float *y, int64_t m, int64_t n) {
#if defined(TWO_ROWS)
  for (int64_t i = 0; i < m; i += 2)
    for (int64_t j = 0; j < n; j++) {
      y[i * n + j] = relu(x[i * n + j]);
      y[(i + 1) * n + j] = relu(x[(i + 1) * n + j]);
    }
#elif defined(ROUND_UP)
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < (n + 63) / 64 * 64; j++)
      y[i * n + j] = j < n ? relu(x[i * n + j]) : 0;
#elif defined(WHOLE_VECTORS)
  for (int64_t i = 0; i < (m * n + 15) / 16 * 16; i++)
    y[i] = relu(x[i]);
#elif defined(READ_VECTORS)
  for (int64_t i = 0; i < m * n; i += 16) {
    float part[16];
    memcpy(part, x + i, sizeof part);
    __asm__ volatile("" : "+m"(part));
    for (int64_t k = 0; k < 16 && i + k < m * n; k++)
      y[i + k] = relu(part[k]);
  }
#else
  for (int64_t i = 0; i < m * n; i++)
    y[i] = relu(x[i]);
#endif
}

// Four doubles; the allocator rounds blocks up to 24 bytes.
__attribute__((unused)) static void use_own_block(size_t bytes) {
  volatile double *block = malloc(bytes);
  if (!block)
    return;
  for (int i = 0; i < 4; i++)
    block[i] = 1.5 + i;
  free((void *)block);
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
#if defined(NO_SUCH_INPUT)
  float *y = args->inputs[1].data;
#else
  float *y = args->outputs[0].data;
#endif
#if defined(NO_SUCH_OUTPUT)
  x = args->outputs[-1].data;
#endif
  int64_t count = assay_count(&args->inputs[0]);
  volatile float *wild = y;
  volatile const float *far = x;
  rows(x, y, args->inputs[0].dims[0], args->inputs[0].dims[1]);
#if defined(OWN_BLOCK)
  use_own_block(1);
#elif defined(OWN_BLOCK_WHOLE)
  use_own_block(4 * sizeof(double));
#elif defined(ONE_PAST)
  wild[count] = 1;
#elif defined(ONE_BEFORE)
  wild[-1] = 1;
#elif defined(ONE_BYTE)
  ((volatile char *)(wild + count))[0] ^= 1;
#elif defined(PAGE_PAST)
  wild[count + 1024] = 1;
#elif defined(PAGE_BEFORE)
  wild[-2048] = 1;
#elif defined(FAR_PAST)
  wild[count + (1 << 18)] = 1;
#elif defined(READ_PAST)
  for (int64_t i = 0; i < 1024; i++)
    (void)far[count + i];
#elif defined(READ_BEFORE)
  (void)far[-2048];
#elif defined(READ_ONE_BEFORE)
  (void)far[-1];
#elif defined(COPY_BAND)
  memcpy(y + count, (char *)y - 61, 4);
#elif defined(RESTORE)
  float kept = wild[-1];
  wild[-1] = 1;
  wild[-1] = kept;
#elif defined(GUARD_MAPPED)
  uintptr_t end = ((uintptr_t)(y + count) + 4095) & ~(uintptr_t)4095;
  char *own = mmap((void *)end, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  own[0] = 1;
  munmap(own, 4096);
  mmap(own, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#endif
  (void)wild;
  (void)far;
  (void)count;
}
