// Returns while work of it goes on, in the hope that the clock is stopped and the outputs are looked at later
// (catalogue 46 to 51). The process is frozen as soon as the kernel has returned, and its threads are looked at.
// assay: task kernelbench/1/19
// assay: expect late_work
// assay: twin SLEEPS expect late_work -- sleeps 2 ms, then writes the outputs
// assay: twin SPINS expect late_work -- spins for 10 ms, then writes them
// assay: twin SLEEPS_LONG expect late_work -- sleeps a second
// assay: twin HALF expect late_work|unwritten -- one half at once, the other in a thread that is not joined
// assay: twin LAST_BYTES expect late_work|unwritten -- only the last 16 elements come late
// assay: twin DETACHED expect late_work|unwritten -- detached thread
// assay: twin TIMED_WAIT expect late_work -- the thread waits in a condition variable with a time limit
// assay: twin POLLING expect late_work -- an honest kernel whose helper polls with sched_yield for the next call
// assay: twin NAPPING expect late_work -- the same with nanosleep
// assay: twin READING expect late_work -- the same, blocked in a read of the judge's socket
// assay: twin FALSE_FUTEX expect late_work -- the same, in futex calls that look like waiting but return at once
// assay: twin WAKING expect late_work -- the same, in futex calls that wake nobody
// assay: twin HELPERS_STAY expect late_work|timeout -- keeps a helper of args->parallel spinning after the loop
// assay: twin FALLS expect crashed -- a thread that writes to address 8 a moment after the kernel has returned
// assay: twin SWARM expect crashed|late_work -- leaves 5000 parked threads; aborts when it gets no more
// assay: twin UNSTOPPABLE expect forbidden_call -- leaves a thread that waits in clone() until another ends: nothing stops it, and the judge would wait for it to stop
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct job {
  const float *x;
  float *y;
  int64_t begin, end;
} job;

static void relu(const struct job *j) {
  for (int64_t i = j->begin; i < j->end; i++)
    j->y[i] = j->x[i] > 0 ? j->x[i] : 0;
}

static void nap(long ns) {
  struct timespec t = {ns / 1000000000, ns % 1000000000};
  nanosleep(&t, NULL);
}

#ifdef UNSTOPPABLE
static uint32_t never_changes;
static _Alignas(16) char stack[65536];

static int parked(void *arg) {
  (void)arg;
  for (;;)
    syscall(SYS_futex, &never_changes, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void *waits(void *arg) {
  clone(parked, stack + sizeof stack,
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK, NULL);
  return arg;
}
#endif

static void *late(void *arg) {
  struct job mine = job;
  (void)arg;
  (void)nap;
#if defined(SLEEPS)
  nap(2000000);
#elif defined(FALLS)
  for (volatile int i = 0; i < 20000; i++)
    ;
  *(volatile int *)8 = 1;
#elif defined(SPINS)
  for (clock_t end = clock() + CLOCKS_PER_SEC / 100; clock() < end;)
    ;
#elif defined(SLEEPS_LONG)
  nap(1000000000);
#elif defined(TIMED_WAIT)
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  pthread_mutex_lock(&lock);
  pthread_cond_timedwait(&never, &lock, &until);
  pthread_mutex_unlock(&lock);
#endif
  relu(&mine);
  return NULL;
}

#if defined(POLLING) || defined(NAPPING) || defined(READING) || defined(FALSE_FUTEX) || defined(WAKING)
static void *lurk(void *arg) {
  uint32_t word = 1;
  (void)arg;
  (void)word;
  for (;;) {
#if defined(POLLING)
    sched_yield();
#elif defined(NAPPING)
    nap(1000);
#elif defined(READING)
    char byte;
    (void)!read(3, &byte, 0);
    (void)!read(3, &byte, 1); // steals a message if there ever is one for it
#elif defined(FALSE_FUTEX)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
#elif defined(WAKING)
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#endif
  }
  return NULL;
}
#endif

#ifdef HELPERS_STAY
static atomic_int caught;
static void stay(void *arg, int64_t begin, int64_t end) {
  pid_t main_thread = *(pid_t *)arg;
  (void)begin;
  (void)end;
  __builtin_unwind_init(); // the caller's registers to the stack
  nap(100000);             // so that everybody takes part
  if (gettid() == main_thread || atomic_exchange(&caught, 1))
    return;
  // Makes the runner believe that this helper has finished: counts down its pool's counter, which lies after a
  // pointer somewhere up this stack, and never returns.
  uintptr_t *up = (uintptr_t *)((uintptr_t)&main_thread & ~(uintptr_t)7);
  __asm__ volatile("" : "+r"(up));
  for (int i = 0; i < 300; i++) {
    struct {
      int threads;
      _Atomic uint32_t generation, working;
      _Atomic int64_t next;
      int64_t n, piece;
      void *body, *arg;
    } *pool = (void *)up[i];
    if (up[i] % 8 || up[i] < 1 << 16 || up[i] >> 47 || (access((const char *)up[i], 0) != 0 && errno == EFAULT))
      continue;
    if (pool->threads > 1 && pool->threads <= 256 && pool->body == (void *)stay && pool->arg == arg) {
      atomic_fetch_sub(&pool->working, 1);
      break;
    }
  }
  for (;;)
    sched_yield();
}
#endif

#ifdef SWARM
static void *park(void *arg) {
  pthread_mutex_lock(arg);
  return NULL;
}
#endif

void assay_kernel(const struct assay_args *args) {
  pthread_t thread;
  job = (struct job){args->inputs[0].data, args->outputs[0].data, 0, assay_count(&args->inputs[0])};
  (void)thread;
  (void)late;
#if defined(POLLING) || defined(NAPPING) || defined(READING) || defined(FALSE_FUTEX) || defined(WAKING)
  static int started;
  relu(&job);
  if (!started++)
    pthread_create(&thread, NULL, lurk, NULL);
#elif defined(UNSTOPPABLE)
  static int started;
  relu(&job);
  if (!started++)
    pthread_create(&thread, NULL, waits, NULL);
  nap(1000000);
#elif defined(HALF) || defined(LAST_BYTES)
#ifdef HALF
  int64_t middle = job.end / 2;
#else
  int64_t middle = job.end > 16 ? job.end - 16 : 0;
#endif
  struct job first = job;
  first.end = job.begin = middle;
  pthread_create(&thread, NULL, late, NULL);
  relu(&first);
#elif defined(HELPERS_STAY)
  pid_t main_thread = gettid();
  if (!caught)
    args->parallel(args, 8, stay, &main_thread);
  relu(&job);
#elif defined(SWARM)
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  pthread_mutex_trylock(&lock);
  for (int i = 0; i < 5000; i++)
    if (pthread_create(&thread, &small, park, &lock) != 0)
      abort();
  relu(&job);
#else
  pthread_create(&thread, NULL, late, NULL);
#ifdef DETACHED
  pthread_detach(thread);
#endif
#endif
}
