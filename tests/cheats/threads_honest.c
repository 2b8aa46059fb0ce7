// Threads as an honest kernel uses them: everything is done, joined or parked when the kernel returns.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin OPENMP expect pass -- an OpenMP loop
// assay: twin OPENMP_DYNAMIC expect pass -- with dynamic scheduling, a reduction and a critical section
// assay: twin JOINED expect pass -- threads of its own, joined
// assay: twin MANY expect pass -- 32 of them
// assay: twin POOL expect pass -- a pool parked in a condition variable between calls
// assay: twin DETACHED expect pass -- detached threads that have ended their work
// assay: twin SERIAL expect pass -- none
// assay: twin NESTED expect pass -- threads that are started by threads, all joined
#include <assay/candidate.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct part {
  const float *x;
  float *y;
  int64_t begin, end;
};

static void relu(const float *x, float *y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}

#if defined(JOINED) || defined(MANY) || defined(NESTED)
static void *work(void *arg) {
  struct part *p = arg;
  relu(p->x, p->y, p->begin, p->end);
  return NULL;
}
enum {
#ifdef MANY
  THREADS = 32
#else
  THREADS = 2
#endif
};
static void in_threads(const float *x, float *y, int64_t n) {
  pthread_t threads[THREADS];
  struct part parts[THREADS];
  for (int t = 0; t < THREADS; t++) {
    parts[t] = (struct part){x, y, n * t / THREADS, n * (t + 1) / THREADS};
    pthread_create(&threads[t], NULL, work, &parts[t]);
  }
  for (int t = 0; t < THREADS; t++)
    pthread_join(threads[t], NULL);
}
#endif

#ifdef NESTED
static void *outer(void *arg) {
  struct part *p = arg;
  in_threads(p->x, p->y, p->end);
  return NULL;
}
#endif

#ifdef POOL
static struct {
  pthread_mutex_t lock;
  pthread_cond_t begin, end;
  struct part part;
  int generation, left, started;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .begin = PTHREAD_COND_INITIALIZER, .end = PTHREAD_COND_INITIALIZER};

static void *pool_thread(void *arg) {
  int64_t half = (int64_t)(intptr_t)arg;
  pthread_mutex_lock(&pool.lock);
  for (int seen = 0;;) {
    while (pool.generation == seen)
      pthread_cond_wait(&pool.begin, &pool.lock);
    seen = pool.generation;
    struct part p = pool.part;
    pthread_mutex_unlock(&pool.lock);
    relu(p.x, p.y, p.end * half / 2, p.end * (half + 1) / 2);
    pthread_mutex_lock(&pool.lock);
    if (--pool.left == 0)
      pthread_cond_signal(&pool.end);
  }
  return NULL;
}

static void in_pool(const float *x, float *y, int64_t n) {
  pthread_t thread;
  pthread_mutex_lock(&pool.lock);
  for (; pool.started < 2; pool.started++)
    pthread_create(&thread, NULL, pool_thread, (void *)(intptr_t)pool.started);
  pool.part = (struct part){x, y, 0, n};
  pool.left = 2;
  pool.generation++;
  pthread_cond_broadcast(&pool.begin);
  while (pool.left > 0)
    pthread_cond_wait(&pool.end, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}
#endif

#ifdef DETACHED
static atomic_int left;
static void *work_detached(void *arg) {
  struct part p = *(struct part *)arg;
  relu(p.x, p.y, p.begin, p.end);
  atomic_fetch_sub(&left, 1);
  return NULL;
}
#endif

#if !defined(OPENMP) && !defined(OPENMP_DYNAMIC)
static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  relu(args->inputs[0].data, args->outputs[0].data, begin, end);
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
#if defined(OPENMP)
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
#elif defined(OPENMP_DYNAMIC)
  int64_t positive = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : positive) num_threads(args->threads)
  for (int64_t i = 0; i < n; i++) {
    y[i] = x[i] > 0 ? x[i] : 0;
    positive += x[i] > 0;
  }
#pragma omp parallel
#pragma omp critical
  positive--;
#elif defined(JOINED) || defined(MANY)
  in_threads(x, y, n);
#elif defined(NESTED)
  struct part all = {x, y, 0, n};
  pthread_t thread;
  pthread_create(&thread, NULL, outer, &all);
  pthread_join(thread, NULL);
#elif defined(POOL)
  in_pool(x, y, n);
#elif defined(DETACHED)
  struct part parts[2] = {{x, y, 0, n / 2}, {x, y, n / 2, n}};
  pthread_t threads[2];
  atomic_store(&left, 2);
  for (int t = 0; t < 2; t++) {
    pthread_create(&threads[t], NULL, work_detached, &parts[t]);
    pthread_detach(threads[t]);
  }
  while (atomic_load(&left) > 0)
    sched_yield();
#elif defined(SERIAL)
  relu(x, y, 0, n);
#else
  (void)x;
  (void)y;
  args->parallel(args, n, span, (void *)args);
#endif
#if !defined(OPENMP) && !defined(OPENMP_DYNAMIC)
  (void)span;
#endif
}
