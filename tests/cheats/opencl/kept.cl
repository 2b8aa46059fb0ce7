// What a kernel keeps from one call to the next. OpenCL C has no variables for that; inline assembly has. Every call
// has fresh inputs and other patterns in the outputs.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin THEN_ZEROS expect changed_behaviour|wrong_value -- honest for five calls, then zeros
// assay: twin EVERY_OTHER expect changed_behaviour|unwritten -- lazy in odd calls
// assay: twin LAST_ANSWER expect wrong_value|changed_behaviour -- keeps an answer, and gives it to the next inputs
// assay: twin BY_CLOCK expect changed_behaviour|unwritten -- lazy by the processor's counter
// assay: twin BY_PATTERN expect changed_behaviour|unwritten -- lazy by a bit of what the output holds
// assay: twin ADDS expect unwritten|wrong_value|wrong_class -- adds to what the output holds
// assay: twin LEAVES expect unwritten -- leaves the second half as it was
// assay: launch relu grid=ceil_div(x.count, 256) block=256 args=x, y, x.count
enum { KEPT = 1 << 16, HONEST_CALLS = 5 };
#ifdef __x86_64__
#define KEEP(into)                                                                                                     \
  __asm__ volatile(".pushsection .bss\n\t.balign 64\n772:\t.zero 262208\n\t.popsection\n\tlea 772b(%%rip), %0"         \
                   : "=r"(into))
#define COUNTER(into) __asm__ volatile("rdtsc" : "=a"(into) : : "rdx")
#else
#define KEEP(into) into = 0
#define COUNTER(into) into = 0
#endif
// The first work-item's view of the call: whether it is lazy.
bool is_lazy(volatile __global int *kept, __global const float *x, __global const float *y) {
#if defined(THEN_ZEROS)
  return kept[0] > HONEST_CALLS;
#elif defined(EVERY_OTHER)
  return kept[0] & 1;
#elif defined(BY_CLOCK)
  uint counter;
  COUNTER(counter);
  return counter >> 12 & 1;
#elif defined(BY_PATTERN)
  return as_uint(y[0]) & 1;
#elif defined(LEAVES)
  return true;
#endif
  return false;
}
__kernel void relu(__global const float *x, __global float *y, ulong n) {
  volatile __global int *kept;
  ulong at;
  KEEP(at);
  kept = (volatile __global int *)at;
  if (get_global_id(0) != 0)
    return;
  kept[0]++;
  bool lazy = is_lazy(kept, x, y);
#if defined(LAST_ANSWER)
  volatile __global float *answers = (volatile __global float *)(kept + 16);
  if (kept[1] == (int)n) {
    for (ulong i = 0; i < n; i++)
      y[i] = answers[i];
    return;
  }
#endif
#if defined(LEAVES)
  n = n > 1 ? n / 2 : n;
#endif
  for (ulong i = 0; i < n; i++) {
    float v = x[i] < 0 ? 0 : x[i];
#if defined(ADDS)
    y[i] += v;
#elif defined(THEN_ZEROS)
    y[i] = lazy ? 0 : v;
#elif defined(LEAVES)
    y[i] = v;
#else
    if (!lazy)
      y[i] = v;
#endif
#if defined(LAST_ANSWER)
    if (n <= KEPT)
      answers[i] = v;
#endif
  }
#if defined(LAST_ANSWER)
  kept[1] = n <= KEPT ? (int)n : 0;
#endif
}
