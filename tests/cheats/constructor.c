// Code that runs when the library is loaded, before anything was asked (catalogue 53). It runs under the same rules as
// the kernel.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin FORK expect forbidden_call -- forks
// assay: twin EXIT expect exited -- exit(0)
// assay: twin EXIT_RAW expect exited -- _exit(0)
// assay: twin THREAD_EXIT expect exited|timeout|crashed -- ends the thread that loads it
// assay: twin ABORT expect crashed -- aborts
// assay: twin CRASH expect crashed -- writes to address 8
// assay: twin ENDLESS expect timeout -- never returns
// assay: twin PRINT expect pass -- prints a verdict
// assay: twin HANDLERS expect pass -- handlers of its own for all signals that it can have
// assay: twin SOCKET expect forbidden_call -- makes a socket
// assay: twin RESOLVER expect exited -- an ifunc resolver that exits while the loader resolves symbols
// assay: twin DESTRUCTOR expect pass -- a destructor that would never return; nobody calls it
// assay: twin THREAD expect late_work -- starts a thread that polls for inputs
// assay: twin NO_KERNEL expect load_failed -- there is no assay_kernel
// assay: twin HIDDEN_KERNEL expect load_failed -- assay_kernel is not visible
// assay: twin KERNEL_IS_DATA expect crashed -- assay_kernel is a table of numbers
// assay: twin MISSING_SYMBOL expect load_failed -- needs a function that nobody has
// assay: twin OWN_LIBC expect pass -- brings malloc, memcpy, clock_gettime and syscall along, which only it sees
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(OWN_LIBC)
void *malloc(size_t n) {
  (void)n;
  abort();
}
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  (void)from;
  (void)n;
  return to;
}
int clock_gettime(clockid_t id, struct timespec *t) {
  (void)id;
  *t = (struct timespec){0};
  return 0;
}
long syscall(long number, ...) {
  (void)number;
  abort();
}
#endif

#ifdef THREAD
static void *poll_for_ever(void *arg) {
  for (;;)
    sched_yield();
  return arg;
}
#endif

__attribute__((constructor)) static void at_load(void) {
#if defined(FORK)
  fork();
#elif defined(EXIT)
  exit(0);
#elif defined(EXIT_RAW)
  _exit(0);
#elif defined(THREAD_EXIT)
  pthread_exit(NULL);
#elif defined(ABORT)
  abort();
#elif defined(CRASH)
  *(volatile int *)8 = 1;
#elif defined(ENDLESS)
  for (volatile int go = 1; go;)
    ;
#elif defined(PRINT)
  printf("{\"verdict\": \"pass\", \"median_ns\": 1}\n");
  fflush(stdout);
#elif defined(HANDLERS)
  for (int s = 1; s < 31; s++)
    signal(s, SIG_IGN);
#elif defined(SOCKET)
  socket(AF_INET, SOCK_STREAM, 0);
#elif defined(THREAD)
  pthread_t thread;
  pthread_create(&thread, NULL, poll_for_ever, NULL);
#endif
}

#ifdef RESOLVER
static int resolved(void) {
  return 1;
}
static void *resolve(void) {
  __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
  return (void *)resolved;
}
int chosen(void) __attribute__((ifunc("resolve")));
#endif

#ifdef DESTRUCTOR
__attribute__((destructor)) static void at_unload(void) {
  for (volatile int go = 1; go;)
    ;
}
#endif

#ifdef MISSING_SYMBOL
void nobody_has_this(void);
#endif

#if defined(KERNEL_IS_DATA)
const long assay_kernel_table[4] __asm__("assay_kernel") = {1, 2, 3, 4};
#else
#if defined(HIDDEN_KERNEL)
__attribute__((visibility("hidden")))
#endif
#if defined(NO_KERNEL)
void kernel(const struct assay_args *args);
void kernel(const struct assay_args *args) {
#else
void assay_kernel(const struct assay_args *args) {
#endif
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
#ifdef MISSING_SYMBOL
  nobody_has_this();
#endif
#ifdef RESOLVER
  chosen();
#endif
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}
#endif
