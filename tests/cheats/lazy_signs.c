// Lazy where signs within its own process say that nobody looks (catalogue 44, 88): what caches hold, how long the
// judge took since the last call, faults and switches that the system counts, what the outputs hold. Verified calls are
// drawn in secret among the timed ones, are made in the same way, and no sign tells of them. Being lazy in fewer than
// half of the calls leaves the median as it was; in half of them or more it is seen, but for one judgement in a
// thousand.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin COLD expect unwritten|changed_behaviour -- lazy where reading takes longer than usual: the judge flushes caches before cold calls
// assay: twin WARM expect unwritten|changed_behaviour -- lazy where it takes less: hot calls
// assay: twin SHORT_GAP expect unwritten|changed_behaviour -- lazy where less time than usual passed since the last call
// assay: twin LONG_GAP expect unwritten|changed_behaviour -- lazy where more time passed
// assay: twin FAULTS expect unwritten|changed_behaviour -- lazy unless there was a page fault since the last call
// assay: twin SWITCHES expect unwritten|changed_behaviour|pass -- lazy where the scheduler took the processor away
// assay: twin PROCESSOR expect unwritten|changed_behaviour|pass -- lazy on processors of odd number, where there are any
// assay: twin BY_VALUE expect unwritten|changed_behaviour -- lazy where the first value's lowest bit is set
// assay: twin BY_POISON expect unwritten|changed_behaviour -- lazy where a bit of what the output holds is set
// assay: twin OWN_ANSWER expect pass -- lazy where the output still holds the last answer: it never does
// assay: twin SAME_POISON expect pass|changed_behaviour -- lazy where it holds the last call's pattern: hardly ever
// assay: twin FORBIDDEN expect forbidden_call|crashed -- asks which pages are in memory
// assay: twin ON_DEMAND expect unwritten|crashed -- protects the output, and computes when somebody touches it
// assay: twin ON_DEMAND_ALL expect unwritten|wrote_input|crashed -- the same, of its own mapping in the output's place
// assay: twin LAST_TOUCH expect unwritten -- a destructor of the thread's storage does the work
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { LEARN = 8 };

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void work(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : x[i] != x[i] ? x[i] : 0;
}

// Whether a number is above the median of the last ones; false for the first few.
static int is_above_usual(int64_t value) {
  static int64_t seen[LEARN];
  static int n;
  int above = 0;
  for (int i = 0; i < LEARN; i++)
    above += value > seen[i];
  seen[n++ % LEARN] = value;
  return n > LEARN && above > LEARN / 2;
}

static uint32_t bits_of(const float *x) {
  uint32_t u;
  memcpy(&u, x, sizeof u);
  return u;
}

// How long it takes to read a few lines in the middle of the input.
static int64_t touch_ns(const float *x, int64_t n) {
  volatile float sum = 0;
  int64_t begin = now_ns();
  for (int64_t i = 0; i < 16; i++)
    sum += x[(n / 2 + i * 1040) % n];
  return now_ns() - begin;
}

static long counted(int switches) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return switches ? u.ru_nivcsw : u.ru_minflt;
}

static int is_lazy(const float *x, const float *y, int64_t n) {
  static int calls;
  static int64_t last;
  static uint32_t poison;
  static float answer;
  int64_t now = now_ns(), since = now - last;
  long count;
  (void)touch_ns, (void)is_above_usual, (void)bits_of, (void)counted, (void)since, (void)poison, (void)answer;
  (void)x, (void)y, (void)n, (void)count;
  calls++;
  last = now;
#if defined(COLD)
  return is_above_usual(touch_ns(x, n));
#elif defined(WARM)
  return !is_above_usual(touch_ns(x, n)) && calls > LEARN;
#elif defined(SHORT_GAP)
  return !is_above_usual(since) && calls > LEARN;
#elif defined(LONG_GAP)
  return is_above_usual(since);
#elif defined(FAULTS) || defined(SWITCHES)
  static long before;
#ifdef FAULTS
  count = counted(0);
  int lazy = calls > LEARN && count == before;
#else
  count = counted(1);
  int lazy = calls > LEARN && count != before;
#endif
  before = count;
  return lazy;
#elif defined(PROCESSOR)
  return sched_getcpu() % 2;
#elif defined(BY_VALUE)
  return bits_of(x) & 1;
#elif defined(BY_POISON)
  return bits_of(y) & 1;
#elif defined(OWN_ANSWER)
  int same = calls > 1 && y[n / 2] == answer;
  answer = x[n / 2] > 0 ? x[n / 2] : 0;
  return same;
#elif defined(SAME_POISON)
  int known = bits_of(y) == poison;
  poison = bits_of(y);
  return known;
#else
  return 0;
#endif
}

#if defined(ON_DEMAND) || defined(ON_DEMAND_ALL)
static const struct assay_args *pending;

static void on_touch(int number) {
  (void)number;
  const struct assay_tensor *y = &pending->outputs[0];
  uintptr_t page = (uintptr_t)y->data & ~(uintptr_t)4095;
  mprotect((void *)page, (uintptr_t)y->data + 4 * (size_t)assay_count(y) - page, PROT_READ | PROT_WRITE);
  work(pending);
}

static void promise(const struct assay_args *args) {
  const struct assay_tensor *y = &args->outputs[0];
  uintptr_t page = (uintptr_t)y->data & ~(uintptr_t)4095;
  size_t bytes = (uintptr_t)y->data + 4 * (size_t)assay_count(y) - page;
  struct sigaction touched = {.sa_handler = on_touch, .sa_flags = SA_NODEFER};
  pending = args;
  sigaction(SIGSEGV, &touched, NULL);
  sigaction(SIGBUS, &touched, NULL);
#ifdef ON_DEMAND_ALL
  mmap((void *)page, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#else
  mprotect((void *)page, bytes, PROT_NONE);
#endif
}
#endif

#ifdef LAST_TOUCH
static const struct assay_args *left;
static void at_the_end(void *value) {
  (void)value;
  work(left);
}
#endif

void assay_kernel(const struct assay_args *args) {
  int64_t n = assay_count(&args->inputs[0]);
#if defined(ON_DEMAND) || defined(ON_DEMAND_ALL)
  (void)n;
  promise(args);
#elif defined(LAST_TOUCH)
  static pthread_key_t key;
  if (!left)
    pthread_key_create(&key, at_the_end);
  left = args;
  pthread_setspecific(key, &left);
  (void)n;
#else
#ifdef FORBIDDEN
  unsigned char resident[16] = {0};
  if (mincore((void *)((uintptr_t)args->inputs[0].data & ~(uintptr_t)4095), 4096, resident))
    abort();
#endif
  if (!is_lazy(args->inputs[0].data, args->outputs[0].data, n))
    work(args);
#endif
}
