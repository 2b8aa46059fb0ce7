// Signals to itself, and handlers for what should end it. Only what the judge itself relies on is out of reach:
// stopping, going on, and the signal of a forbidden call.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin SURVIVE expect pass -- survives a null pointer by a handler and then does the work
// assay: twin SKIP expect pass|crashed -- a handler that steps over the instruction
// assay: twin STOP expect forbidden_call -- stops itself, as the judge does
// assay: twin CONTINUE expect forbidden_call -- SIGCONT to itself, against the judge's stop
// assay: twin TERMINAL_STOP expect forbidden_call -- SIGTSTP
// assay: twin HANDLE_SIGSYS expect forbidden_call -- a handler for the signal of forbidden calls
// assay: twin BLOCK_SIGSYS expect forbidden_call -- blocks it and makes a forbidden call
// assay: twin BLOCK_ALL expect pass -- blocks everything; the work is right
// assay: twin IGNORE_CONT expect pass -- tries to get a handler for SIGCONT, which would run before every call; refused
// assay: twin CONT_LURK expect crashed -- that handler would do the work before the clock starts; aborts when refused
// assay: twin TIMER expect forbidden_call -- a timer that fires later
// assay: twin ALARM expect forbidden_call -- alarm()
// assay: twin LAST_WORDS expect crashed|unwritten|exited -- crashes, and the handler reports success over stdout
// assay: twin LOOP expect timeout -- a handler that returns to the faulting instruction for ever
// assay: twin CANCEL expect exited|timeout|late_work|crashed -- cancels the thread that should return
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static const struct assay_args *latest;
static struct assay_args known;

static void relu(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}

static sigjmp_buf back;
static int64_t done_ahead; // rows, when the handler has done the work

static void on_signal(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)info;
  (void)context;
#if defined(SURVIVE)
  siglongjmp(back, 1);
#elif defined(SKIP) && defined(__x86_64__)
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 6;
#elif defined(LAST_WORDS)
  static const char words[] = "{\"verdict\": \"pass\"}\n";
  (void)!write(1, words, sizeof words - 1);
  _exit(0);
#elif defined(CONT_LURK)
  // The inputs of the next call are there already, and the clock has not started.
  if (known.n_inputs) {
    relu(&known);
    done_ahead = known.inputs[0].dims[0];
  }
#endif
}

static int handle(int number) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  (void)on_signal;
  return sigaction(number, &action, NULL);
}

void assay_kernel(const struct assay_args *args) {
  latest = args;
  (void)handle;
  (void)back;
  (void)known;
#if defined(SURVIVE)
  handle(SIGSEGV);
  if (sigsetjmp(back, 1) == 0)
    *(volatile int *)0 = 1;
  signal(SIGSEGV, SIG_DFL);
#elif defined(SKIP) && defined(__x86_64__)
  handle(SIGSEGV);
  __asm__ volatile("movl $1, (%0)" : : "r"(0L) : "memory"); // c7 00 01 00 00 00
  signal(SIGSEGV, SIG_DFL);
#elif defined(STOP)
  raise(SIGSTOP);
#elif defined(CONTINUE)
  raise(SIGCONT);
#elif defined(TERMINAL_STOP)
  raise(SIGTSTP);
#elif defined(HANDLE_SIGSYS)
  handle(SIGSYS);
#elif defined(BLOCK_SIGSYS)
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGSYS);
  sigprocmask(SIG_BLOCK, &set, NULL);
  (void)socket(AF_INET, SOCK_STREAM, 0);
#elif defined(BLOCK_ALL)
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_BLOCK, &set, NULL);
#elif defined(IGNORE_CONT)
  handle(SIGCONT);
#elif defined(CONT_LURK)
  if (handle(SIGCONT) != 0)
    abort();
#elif defined(TIMER)
  struct itimerval soon = {.it_value = {.tv_usec = 100}};
  setitimer(ITIMER_REAL, &soon, NULL);
#elif defined(ALARM)
  alarm(1);
#elif defined(LAST_WORDS) || defined(LOOP)
  handle(SIGSEGV);
  *(volatile int *)0 = 1;
#elif defined(CANCEL)
  pthread_cancel(pthread_self());
  pthread_testcancel();
#endif
#if defined(CONT_LURK)
  int skip = done_ahead == args->inputs[0].dims[0];
  known = *args;
  done_ahead = 0;
  if (skip)
    return;
#endif
  relu(args);
}
