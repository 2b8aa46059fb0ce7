// Memory: scratch is fine, in any of the usual ways; more than the limit is not, and does not take the machine along.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin LARGE_SCRATCH expect pass -- 256 MiB of scratch, touched and freed, on the first calls
// assay: twin ALL_OF_IT expect out_of_memory|crashed|timeout -- takes and touches all there is, then a null pointer
// assay: twin MAP_ALL expect out_of_memory|crashed|timeout -- the same by mmap with MAP_POPULATE
// assay: twin STACKS expect out_of_memory|crashed|late_work -- starts threads until there is no memory for a stack
// assay: twin LEAK expect out_of_memory|crashed|timeout -- keeps 64 MiB a call; the pointer is not checked
// assay: twin FILL_AND_RETURN expect pass|out_of_memory|unwritten -- takes all address space, keeps it, and returns right answers
// assay: twin RESERVE expect pass -- reserves addresses without touching them, and gives them back
// assay: twin UNMAP_ALL expect crashed -- unmaps everything from address 0 up
#include <assay/candidate.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int relu(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  float *scratch = malloc((size_t)n * sizeof *scratch);
  if (!scratch)
    return -1;
  for (int64_t i = 0; i < n; i++)
    scratch[i] = x[i] > 0 ? x[i] : 0;
  memcpy(y, scratch, (size_t)n * sizeof *y);
  free(scratch);
  return 0;
}

#ifdef STACKS
static void *wait_for_ever(void *arg) {
  pthread_mutex_lock(arg);
  return NULL;
}
#endif

void assay_kernel(const struct assay_args *args) {
#if defined(LARGE_SCRATCH)
  static int calls;
  if (calls++ < 3) {
    char *block = malloc((size_t)256 << 20);
    memset(block, 1, (size_t)256 << 20);
    free(block);
  }
#elif defined(ALL_OF_IT)
  for (size_t size = (size_t)64 << 20;;) {
    char *block = malloc(size);
    memset(block, 1, size); // a null pointer at last
    *(char *volatile *)block = block;
  }
#elif defined(MAP_ALL)
  for (;;) {
    volatile char *block =
        mmap(NULL, (size_t)64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    block[0] = 1; // MAP_FAILED at last
  }
#elif defined(STACKS)
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_t thread;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 2000; i++) // 8 MiB each
    if (pthread_create(&thread, NULL, wait_for_ever, &lock) != 0)
      abort();
#elif defined(LEAK)
  static char *volatile last;
  last = malloc((size_t)64 << 20);
  memset(last, 1, (size_t)64 << 20);
#elif defined(FILL_AND_RETURN)
  relu(args);
  static char *last;
  for (size_t size = (size_t)1 << 30; size >= 4096; size /= 2)
    for (char *block; (block = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED;)
      last = block;
  (void)last;
  return;
#elif defined(RESERVE)
  munmap(mmap(NULL, (size_t)512 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
         (size_t)512 << 20);
#elif defined(UNMAP_ALL)
  for (uintptr_t at = 0x1000; at < (uintptr_t)1 << 47; at += (uintptr_t)1 << 40)
    munmap((void *)at, (uintptr_t)1 << 40);
#endif
  if (relu(args) != 0)
    abort();
}
