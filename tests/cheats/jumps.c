// Control flow that leaves the kernel in other ways than by returning once.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin LOCAL expect pass -- setjmp and longjmp within the kernel
// assay: twin OLD_FRAME expect unwritten|crashed|timeout -- jumps into the frame of the call before
// assay: twin OUT_OF_HELPER expect crashed|timeout|unwritten|late_work|exited -- from a helper into the main thread
// assay: twin OWN_STACK expect pass -- runs on a stack of its own (ucontext)
// assay: twin RETURN_TWICE expect exited -- a context without a successor: the thread ends, and the process with it
// assay: twin SMASH_RETURN expect crashed -- overwrites its return address
// assay: twin TAIL_CALL expect unwritten|crashed|timeout -- returns to the runner's caller, leaving the runner out
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static void relu(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}

static jmp_buf where;

#ifdef OUT_OF_HELPER
static void span(void *arg, int64_t begin, int64_t end) {
  (void)arg;
  (void)end;
  if (begin > 0)
    longjmp(where, 1);
}
#endif

#if defined(OWN_STACK) || defined(RETURN_TWICE)
static ucontext_t outside, inside;
static const struct assay_args *current;
static void on_own_stack(void) {
  relu(current);
#ifdef OWN_STACK
  swapcontext(&inside, &outside);
#endif
}
#endif

__attribute__((noinline)) void assay_kernel(const struct assay_args *args) {
  static int calls;
  calls++;
  (void)where;
  (void)calls;
#if defined(LOCAL)
  if (setjmp(where) == 0)
    longjmp(where, 1);
  relu(args);
#elif defined(OLD_FRAME)
  if (calls > 1)
    longjmp(where, 1);
  if (setjmp(where) == 0)
    relu(args);
#elif defined(OUT_OF_HELPER)
  if (setjmp(where) == 0)
    args->parallel(args, 1000, span, NULL);
  relu(args);
#elif defined(OWN_STACK) || defined(RETURN_TWICE)
  static char stack[65536];
  current = args;
  getcontext(&inside);
  inside.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof stack};
  inside.uc_link = NULL; // when on_own_stack returns, the thread ends
  makecontext(&inside, on_own_stack, 0);
  swapcontext(&outside, &inside);
#elif defined(SMASH_RETURN)
  relu(args);
  for (int i = 0; i < 64; i++)
    ((volatile char *)__builtin_frame_address(0))[i] = 0x41;
#elif defined(TAIL_CALL) && defined(__x86_64__)
  // Leaves two frames at once: the runner never says that the call is over.
  void **frame = __builtin_frame_address(0);
  __asm__ volatile("mov %0, %%rsp\n\tpop %%rbp\n\tret" : : "r"(frame + 8) : "memory");
#else
  relu(args);
#endif
}
