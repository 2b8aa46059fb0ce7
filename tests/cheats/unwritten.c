// Leaves outputs unwritten (catalogue 1, 2): in some judges they then hold the right answer of another kernel, or of
// the call before. Here they hold another pattern of NaNs before every call.
// assay: task kernelbench/1/19
// assay: expect unwritten
// assay: twin LAST_ELEMENT expect unwritten -- all but the last element
// assay: twin ONE_ROW expect unwritten -- all but one row, where there are several
// assay: twin TAIL expect unwritten -- whole vectors of 16 only; the large shape is a multiple of 16
// assay: twin EVERY_8TH expect unwritten -- every eighth element is left
// assay: twin SKIP_ZERO expect unwritten -- writes positive results only, as if outputs held zeros
// assay: twin ADD expect wrong_class|unwritten -- adds to the output, as if it held zeros
// assay: twin SECOND_CALL expect unwritten -- from the second call on, as the buffer is the same
// assay: twin OTHER_BUFFER expect unwritten -- writes through the pointer of the first call
// assay: twin REMOVE expect unwritten -- drops the memory behind the output, so that it reads as zeros; refused
// assay: twin REMAP expect unwritten|wrong_value|crashed -- maps memory of its own over the output and writes there
// assay: twin MOVE expect unwritten|crashed|wrong_value -- moves the output elsewhere, writes it there, later crashes
// assay: twin KEEP_POISON expect unwritten -- writes back what it found, as if it were the result
// assay: twin GUESS_POISON expect unwritten -- compares with NaN to see what is to be written, writes the rest
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <string.h>
#include <sys/mman.h>

static float relu(float x) {
  return x > 0 ? x : 0;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], n = m * args->inputs[0].dims[1];
  uintptr_t page = (uintptr_t)y & ~(uintptr_t)4095;
  size_t bytes = ((uintptr_t)(y + n) - page + 4095) & ~(size_t)4095;
  (void)page;
  (void)bytes;
  (void)relu;
  (void)x;
#if defined(LAST_ELEMENT)
  for (int64_t i = 0; i < n - 1; i++)
    y[i] = relu(x[i]);
#elif defined(ONE_ROW)
  for (int64_t i = 0; i < n; i++)
    if (m == 1 || i * m / n != m / 2)
      y[i] = relu(x[i]);
#elif defined(TAIL)
  for (int64_t i = 0; i < n / 16 * 16; i++)
    y[i] = relu(x[i]);
#elif defined(EVERY_8TH)
  for (int64_t i = 0; i < n; i++)
    if (i % 8 != 5)
      y[i] = relu(x[i]);
#elif defined(SKIP_ZERO)
  for (int64_t i = 0; i < n; i++)
    if (x[i] > 0)
      y[i] = x[i];
#elif defined(ADD)
  for (int64_t i = 0; i < n; i++)
    y[i] += relu(x[i]);
#elif defined(SECOND_CALL)
  static int calls;
  if (calls++ == 0)
    for (int64_t i = 0; i < n; i++)
      y[i] = relu(x[i]);
#elif defined(OTHER_BUFFER)
  static float *first, other[1 << 20];
  first = first ? first : y;
  for (int64_t i = 0; i < n; i++)
    (first == y ? y : other)[i] = relu(x[i]);
  first = other;
#elif defined(REMOVE)
  madvise((void *)page, bytes, MADV_REMOVE);
#elif defined(REMAP)
  mmap((void *)page, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  for (int64_t i = 0; i < n; i++)
    y[i] = relu(x[i]);
#elif defined(MOVE)
  char *away = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mremap((void *)page, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, away);
  float *z = (float *)(away + ((uintptr_t)y - page));
  for (int64_t i = 0; i < n; i++)
    z[i] = relu(x[i]);
#elif defined(KEEP_POISON)
  for (int64_t i = 0; i < n; i++)
    ((volatile float *)y)[i] = y[i];
#elif defined(GUESS_POISON)
  uint32_t bits;
  memcpy(&bits, y + n / 2, sizeof bits); // the poison of this call
  for (int64_t i = 0; i < n; i++) {
    float v = relu(x[i]);
    memcpy(&y[i], v > 0.01f ? (void *)&v : (void *)&bits, sizeof v);
  }
#endif
}
