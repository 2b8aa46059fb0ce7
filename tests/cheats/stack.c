// Uses of the stack: half a megabyte is ordinary, more than there is ends in a guard page.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin RECURSION expect crashed -- endless recursion
// assay: twin HUGE_ALLOCA expect crashed|out_of_memory -- alloca of a gigabyte, then touched
// assay: twin HUGE_ARRAY expect crashed|out_of_memory -- an array of 64 MiB, touched from its far end
// assay: twin HELPER_STACK expect crashed -- endless recursion in a thread of args->parallel, which has no spare stack
#include <alloca.h>
#include <assay/candidate.h>
#include <string.h>

#if defined(RECURSION) || defined(HELPER_STACK)
static int64_t dig(volatile char *above, int64_t depth) {
  volatile char here[1024];
  here[0] = above[0];
  return dig(here, depth + 1) + here[0] + depth;
}
#endif

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  enum { PART = 1 << 17 };
  float part[PART]; // half a megabyte
#if defined(HELPER_STACK)
  if (begin > 0) {
    volatile char seed[1] = {0};
    part[0] = (float)dig(seed, 0);
  }
#endif
  for (int64_t i = begin; i < end; i += PART) {
    int64_t n = end - i < PART ? end - i : PART;
    memcpy(part, x + i, (size_t)n * sizeof *part);
    for (int64_t k = 0; k < n; k++)
      part[k] = part[k] > 0 ? part[k] : 0;
    memcpy(y + i, part, (size_t)n * sizeof *part);
  }
}

void assay_kernel(const struct assay_args *args) {
#if defined(RECURSION)
  volatile char seed[1] = {0};
  if (dig(seed, 0) == 42)
    return;
#elif defined(HUGE_ALLOCA)
  volatile char *block = alloca((size_t)1 << 30);
  block[0] = 1;
#elif defined(HUGE_ARRAY)
  volatile char block[64 << 20];
  block[0] = 1;
#endif
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
