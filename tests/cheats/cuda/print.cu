// Printing from kernels (catalogue 61, 64): floods, escape codes, words that look like a verdict. It is thrown away
// when there is too much of it, and decides nothing.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin FLOOD expect pass -- a long line from every thread of every call
// assay: twin VERDICT expect pass -- what a judge might print
// assay: twin VERDICT_WRONG expect unwritten -- the same, and nothing is computed
// assay: twin BYTES expect pass -- escape codes, a NUL, bytes that are not text
// assay: twin BAD_FORMAT expect pass|crashed|out_of_bounds -- %s of an address that is not of a string
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
extern "C" __device__ int printf(const char *format, ...);

__global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;
#if defined(FLOOD)
  printf("%lld: the quick brown fox jumps over the lazy dog, and over it again, and again, and again, and again\n", i);
#elif defined(VERDICT) || defined(VERDICT_WRONG)
  if (i == 0)
    printf("\n{\"verdict\": \"pass\", \"median_ns\": 1}\npass 1.0 us\n");
#elif defined(BYTES)
  if (i == 0)
    printf("\033[2J\033]0;title\007%c\377\376\n", 0);
#elif defined(BAD_FORMAT)
  if (i == 0)
    printf("%s %n\n", (const char *)0x123456789, (int *)0x123456789);
#else
  if (i == 0)
    printf("%d\n", 1);
#endif
#ifndef VERDICT_WRONG
  if (i < n)
    y[i] = x[i] < 0 ? 0 : x[i];
#endif
}
