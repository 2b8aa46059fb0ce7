// Ends the process instead of returning: before the work, after it, from elsewhere (catalogue 61, 64). An early end is
// a failure whatever its code says.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin BEFORE expect exited -- _exit(0) before the work
// assay: twin AFTER expect exited -- _exit(0) with the outputs complete
// assay: twin CODE_42 expect exited -- _exit(42)
// assay: twin HANDLERS expect exited -- exit(0) with a handler that writes the outputs
// assay: twin HANDLER_ABORT expect crashed -- exit(0) with a handler that aborts
// assay: twin HANDLER_LOOP expect timeout -- exit(0) with a handler that never ends
// assay: twin QUICK expect exited -- quick_exit(0)
// assay: twin HELPER expect exited -- a thread of args->parallel ends the process
// assay: twin LATER expect exited -- right for 15 calls, then _exit(0)
// assay: twin THREAD_EXIT expect exited|timeout|late_work -- ends only the thread that should return
// assay: twin THREAD_EXIT_RAW expect exited|timeout|late_work -- the same by the system call
#include <assay/candidate.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
#ifdef HELPER
  if (begin > 0)
    _exit(0);
#endif
  for (int64_t i = begin; i < end; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}

#if defined(HANDLERS) || defined(HANDLER_ABORT) || defined(HANDLER_LOOP)
static const struct assay_args *pending;
static void at_exit(void) {
#if defined(HANDLER_ABORT)
  abort();
#elif defined(HANDLER_LOOP)
  for (volatile int go = 1; go;)
    ;
#endif
  span((void *)pending, 0, assay_count(&pending->inputs[0]));
}
#endif

void assay_kernel(const struct assay_args *args) {
#if defined(BEFORE)
  _exit(0);
#elif defined(HANDLERS) || defined(HANDLER_ABORT) || defined(HANDLER_LOOP)
  pending = args;
  atexit(at_exit);
  exit(0);
#endif
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
#if defined(AFTER)
  _exit(0);
#elif defined(CODE_42)
  _exit(42);
#elif defined(QUICK)
  quick_exit(0);
#elif defined(LATER)
  static int calls;
  if (++calls > 15)
    _exit(0);
#elif defined(THREAD_EXIT)
  pthread_exit(NULL);
#elif defined(THREAD_EXIT_RAW)
  syscall(SYS_exit, 0);
#endif
}
