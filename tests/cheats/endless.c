// Never returns. The judge's clock decides, and nothing in the process can stop it. Each of these costs the time limit.
// assay: task kernelbench/1/19
// assay: expect timeout
// assay: twin SLEEPING expect timeout -- sleeps instead of spinning
// assay: twin BLOCKED_SIGNALS expect timeout -- blocks every signal and ignores those it can before it spins
// assay: twin IN_HELPER expect timeout -- only a thread of args->parallel loops
// assay: twin DEADLOCK expect timeout -- waits for a mutex that it holds
#include <assay/candidate.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void spin(void) {
  for (volatile int go = 1; go;)
    ;
}

#ifdef IN_HELPER
static void span(void *arg, int64_t begin, int64_t end) {
  (void)arg;
  (void)end;
  if (begin > 0)
    spin();
}
#endif

void assay_kernel(const struct assay_args *args) {
  (void)args;
#if defined(SLEEPING)
  for (;;)
    sleep(1000);
#elif defined(BLOCKED_SIGNALS)
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  for (int s = 1; s < 31; s++)
    if (s != SIGSTOP && s != SIGKILL)
      signal(s, SIG_IGN);
#elif defined(IN_HELPER)
  args->parallel(args, 1000, span, NULL);
  return;
#elif defined(DEADLOCK)
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
#endif
  spin();
}
