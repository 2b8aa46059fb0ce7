// Ways to die inside the kernel. The process is the candidate's own; the judge notes how it ended and goes on.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin NULL_READ expect crashed -- reads address 0
// assay: twin NULL_CALL expect crashed -- calls address 0
// assay: twin WILD_WRITE expect crashed -- writes to an address that belongs to nobody
// assay: twin WRITE_TEXT expect crashed -- writes over the runner's own code without asking for the right
// assay: twin ABORT expect crashed -- abort()
// assay: twin ASSERT expect crashed -- a failed assertion
// assay: twin DIVIDE expect crashed -- divides an integer by zero
// assay: twin ILLEGAL expect crashed -- executes an undefined instruction
// assay: twin TRAP expect crashed -- int3
// assay: twin BUS expect crashed -- raises SIGBUS
// assay: twin RAISE_KILL expect crashed|out_of_memory -- SIGKILL to itself, which is also how the kernel ends a hog
// assay: twin RAISE_TERM expect crashed -- SIGTERM to itself
// assay: twin IN_HELPER expect crashed -- a null pointer in a thread of args->parallel
// assay: twin LATER expect crashed -- right for 15 calls, then a null pointer
// assay: twin SECOND_STACK expect crashed -- jumps to a stack pointer of its own making
#include <assay/candidate.h>
#include <assert.h>
#include <signal.h>
#include <stdlib.h>

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
#ifdef IN_HELPER
  if (begin > 0)
    *(volatile int *)0 = 1;
#endif
  for (int64_t i = begin; i < end; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
  volatile uintptr_t nowhere = 0;
  (void)nowhere;
#if defined(NULL_READ)
  (void)*(volatile int *)nowhere;
#elif defined(NULL_CALL)
  ((void (*)(void))nowhere)();
#elif defined(WILD_WRITE)
  *(volatile int *)(nowhere + 0x1234567890) = 1;
#elif defined(WRITE_TEXT)
  *(volatile char *)(uintptr_t)args->parallel = 0;
#elif defined(ABORT)
  abort();
#elif defined(ASSERT)
  assert(nowhere == 1);
#elif defined(DIVIDE)
  nowhere = (uintptr_t)args % nowhere;
#elif defined(ILLEGAL)
  __builtin_trap();
#elif defined(TRAP)
  raise(SIGTRAP);
#elif defined(BUS)
  raise(SIGBUS);
#elif defined(RAISE_KILL)
  raise(SIGKILL);
#elif defined(RAISE_TERM)
  raise(SIGTERM);
#elif defined(LATER)
  static int calls;
  if (++calls > 15)
    (void)*(volatile int *)nowhere;
#elif defined(SECOND_STACK) && defined(__x86_64__)
  __asm__ volatile("mov $64, %%rsp\n\tpush %%rax" ::: "memory");
#endif
}
