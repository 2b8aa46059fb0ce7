// Changes the inputs, so that the oracle, if it looked at the same memory, would follow (catalogue 14). The memory is
// sealed against every mapping but the judge's own, and the oracle uses its own draw.
// assay: task kernelbench/1/19
// assay: expect wrote_input
// assay: twin LAST expect wrote_input -- the last element only, with the value that it has
// assay: twin IN_PLACE expect wrote_input -- computes in place, then copies
// assay: twin UNPROTECT expect wrote_input -- after mprotect, which fails
// assay: twin UNPROTECT_ASK expect crashed -- the same, but aborts when mprotect fails
// assay: twin MOVE_BACK expect wrote_input -- moves the mapping away and back before it writes
// assay: twin REMOVE expect pass -- madvise(MADV_REMOVE) on the memory behind the input; it is refused
// assay: twin FORGET expect pass -- madvise(MADV_DONTNEED): the pages are mapped again
// assay: twin OWN_PAGES expect wrong_value|unwritten -- maps zeros over the input and goes on with those
// assay: twin BY_FD expect forbidden_call|crashed -- through /proc/self/fd, or a descriptor number that may be it
// assay: twin BY_MEM expect crashed -- through /proc/self/mem
// assay: twin CATCH expect pass -- tries to write, survives the signal, and then does the work
#include <assay/candidate.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void *page_of(const void *p) {
  return (void *)((uintptr_t)p & ~(uintptr_t)(PAGE - 1));
}

#ifdef CATCH
static sigjmp_buf back;
static void survive(int number) {
  (void)number;
  siglongjmp(back, 1);
}
#endif

static void tamper(float *x, int64_t n) {
  size_t bytes = (size_t)((char *)(x + n) - (char *)page_of(x));
  (void)bytes;
#if defined(LAST)
  ((volatile float *)x)[n - 1] = x[n - 1];
#elif defined(IN_PLACE)
  for (int64_t i = 0; i < n; i++)
    x[i] = x[i] > 0 ? x[i] : 0;
#elif defined(UNPROTECT)
  mprotect(page_of(x), bytes, PROT_READ | PROT_WRITE);
  x[0] = 0;
#elif defined(UNPROTECT_ASK)
  if (mprotect(page_of(x), bytes, PROT_READ | PROT_WRITE) != 0)
    abort();
  memset(x, 0, (size_t)n * sizeof *x);
#elif defined(MOVE_BACK)
  size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
  void *at = page_of(x);
  char *away = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  syscall(25 /* mremap */, at, whole, whole, 3, away);
  mprotect(away, whole, PROT_READ | PROT_WRITE);
  syscall(25, away, whole, whole, 3, at);
  x[0] = 0;
#elif defined(REMOVE)
  madvise(page_of(x), PAGE, MADV_REMOVE);
#elif defined(FORGET)
  madvise(page_of(x), bytes, MADV_DONTNEED);
#elif defined(OWN_PAGES)
  mmap(page_of(x), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#elif defined(BY_FD)
  static const float zero[PAGE / 4];
  char path[] = "/proc/self/fd/4";
  for (char c = '4'; c <= '9'; c++) {
    path[sizeof path - 2] = c;
    int fd = open(path, O_RDWR);
    if (fd >= 0)
      (void)!pwrite(fd, zero, sizeof zero, 0);
    (void)!pwrite(c - '0', zero, sizeof zero, 0);
  }
  abort();
#elif defined(BY_MEM)
  static const float zero = 0;
  int fd = open("/proc/self/mem", O_RDWR);
  if (fd < 0)
    abort();
  (void)!pwrite(fd, &zero, sizeof zero, (off_t)(uintptr_t)x);
#elif defined(CATCH)
  signal(SIGSEGV, survive);
  if (sigsetjmp(back, 1) == 0)
    x[0] = 0;
  signal(SIGSEGV, SIG_DFL);
#else
  x[0] = 0;
#endif
}

void assay_kernel(const struct assay_args *args) {
  float *x = args->inputs[0].data, *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  tamper(x, n);
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}
