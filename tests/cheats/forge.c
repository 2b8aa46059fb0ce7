// Finds the page that judge and runner share and writes there what the runner would (catalogue 58 to 63). The judge
// believes nothing of it but "look now": what is not there when it looks is not there.
// assay: task kernelbench/1/47
// assay: expect pass
// assay: twin DONE_NOTHING expect unwritten -- says that the call is over, and does nothing
// assay: twin DONE_FIRST expect unwritten|late_work|wrong_value|changed_behaviour -- says so first, then works
// assay: twin DONE_SOON expect unwritten|late_work|wrong_value|changed_behaviour -- says so before the last eighth
// assay: twin DONE_TAIL expect unwritten|late_work|wrong_value|changed_behaviour -- before the last 16 elements
// assay: twin DONE_THEN_SPIN expect late_work|timeout -- says so in time, and then never returns
// assay: twin DONE_THEN_CRASH expect crashed|late_work -- says so in time, and then crashes
// assay: twin WRONG_NUMBER expect pass|timeout -- answers exchanges that nobody began
// assay: twin SAY_NOT_BOUND expect out_of_memory|late_work|crashed|timeout -- says that buffers could not be mapped
// assay: twin SAY_NOT_LOCKED expect load_failed|crashed -- says while it is loaded that the sandbox has failed
// assay: twin SAY_LOADED expect crashed|late_work|timeout|load_failed -- says that it is loaded, and still loads
// assay: twin SET_START expect timeout|crashed|late_work -- writes the word by which the judge starts a call
// assay: twin MESSAGE expect pass -- writes a message that is too long and has no end
// assay: twin HINTS expect crashed|forbidden_call -- invents reasons for its own crash
// assay: twin ZEROS expect pass|timeout -- drops the page's memory, which does no harm
// assay: twin UNMAP expect crashed -- unmaps the page
// assay: twin SCRIBBLE expect crashed|timeout|exited|unwritten -- random words over all of the runner's variables
// assay: twin SCRIBBLE_PAGE expect pass|timeout|crashed -- random words over that page, before the work
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The page's beginning; see src/runner/protocol.h.
struct control {
  _Alignas(64) _Atomic uint32_t step;
  _Alignas(64) _Atomic uint32_t start;
  _Alignas(64) int32_t signal;
  uint32_t system_call;
  uint64_t address;
  uint32_t memory_exhausted;
  uint64_t base[64];
  char message[512];
};
enum { READY = 1, LOADED, NOT_LOADED, BOUND, NOT_BOUND, ARMED, DONE };

static struct control *control;

static int mapped(uintptr_t p) {
  errno = 0;
  return access((const char *)p, F_OK) == 0 || errno != EFAULT;
}

// Looks through the program's own variables for a pointer to a page that looks like the control page.
static int look(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  (void)arg;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type != PT_LOAD || !(h->p_flags & PF_W))
      continue;
    uintptr_t at = (info->dlpi_addr + h->p_vaddr + 7) & ~(uintptr_t)7, end = info->dlpi_addr + h->p_vaddr + h->p_memsz;
    for (; at + 8 <= end && mapped(at); at += 8) {
      uintptr_t p = *(const uintptr_t *)at;
      if (p % 4096 || p < 4096 || p >> 47 || !mapped(p))
        continue;
      struct control *c = (struct control *)p;
      uint32_t step = c->step;
      if (step >> 4 && step >> 4 < 1000000 && (step & 15) >= READY && (step & 15) <= DONE && c->start <= step >> 4)
        control = c;
    }
  }
  return 1; // the program comes first; the libraries do not matter
}

#if defined(SCRIBBLE)
static int scribble(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  (void)arg;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    uintptr_t at = (info->dlpi_addr + h->p_vaddr) & ~(uintptr_t)4095, end = info->dlpi_addr + h->p_vaddr + h->p_memsz;
    if (h->p_type != PT_LOAD || !(h->p_flags & PF_W) || mprotect((void *)at, end - at, PROT_READ | PROT_WRITE) != 0)
      continue;
    for (; at + 8 <= end; at += 8)
      *(volatile uint64_t *)at = at * 0x9E3779B97F4A7C15u;
  }
  return 1;
}
#endif

#if defined(SAY_NOT_BOUND) || defined(SET_START)
static void *forger(void *arg) {
  for (;;) {
    uint32_t number = control->step >> 4;
#ifdef SAY_NOT_BOUND
    if ((control->step & 15) == LOADED && nanosleep(&(struct timespec){0, 3000000}, NULL) == 0)
      control->step = (number + 1) << 4 | NOT_BOUND;
#else
    control->start = number;
#endif
  }
  return arg;
}
#endif

__attribute__((constructor)) static void at_load(void) {
  dl_iterate_phdr(look, NULL);
  if (!control)
    return;
#if defined(SAY_NOT_LOCKED)
  strcpy(control->message, "!there is no seccomp here");
  control->step = ((control->step >> 4) + 1) << 4 | NOT_LOADED;
  for (volatile int go = 1; go;)
    ;
#elif defined(SAY_LOADED)
  control->step = ((control->step >> 4) + 1) << 4 | LOADED;
  for (volatile int go = 1; go;)
    ;
#elif defined(SAY_NOT_BOUND) || defined(SET_START)
  pthread_t thread;
  pthread_create(&thread, NULL, forger, NULL);
#elif defined(MESSAGE)
  memset(control->message, 'x', sizeof control->message);
#endif
}

static void sums(const struct assay_args *args, int64_t begin, int64_t end) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[1], n = args->inputs[0].dims[2];
  for (int64_t c = begin; c < end; c++) {
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
      sum += x[c / n * m * n + i * n + c % n];
    y[c] = (float)sum;
  }
}

static void say_done(void) {
  control->step = control->start << 4 | DONE;
  syscall(SYS_futex, &control->step, FUTEX_WAKE, 1, NULL, NULL, 0);
#if defined(DONE_FIRST) || defined(DONE_SOON) || defined(DONE_TAIL)
  // On a busy machine the judge might not look before the work is done, and nothing would be won or lost.
  nanosleep(&(struct timespec){0, 500000}, NULL);
#endif
}

void assay_kernel(const struct assay_args *args) {
  int64_t n = args->inputs[0].dims[0] * args->inputs[0].dims[2];
  (void)say_done;
  if (!control)
    abort(); // the runner has changed: this file has to follow
#if defined(DONE_NOTHING)
  say_done();
  n = 0;
#elif defined(DONE_FIRST)
  say_done();
#elif defined(DONE_SOON)
  sums(args, 0, n - n / 8);
  say_done();
#elif defined(DONE_TAIL)
  if (n < 32) {
    sums(args, 0, n);
    return;
  }
  sums(args, 0, n - 16);
  say_done();
  sums(args, n - 16, n);
  return;
#elif defined(WRONG_NUMBER)
  control->step = (control->start + 1) << 4 | DONE;
  control->step = (control->start + 1000) << 4 | DONE;
#elif defined(HINTS)
  sums(args, 0, n);
  control->signal = 31;
  control->system_call = 57;
  control->memory_exhausted = 1;
  abort();
#elif defined(ZEROS)
  madvise(control, 4096, MADV_REMOVE);
#elif defined(UNMAP)
  munmap(control, 4096);
#elif defined(SCRIBBLE)
  dl_iterate_phdr(scribble, NULL);
#elif defined(SCRIBBLE_PAGE)
  for (size_t i = 0; i < sizeof *control / 4; i++)
    ((volatile uint32_t *)control)[i] = (uint32_t)(i * 2654435761u) ^ (uint32_t)(uintptr_t)&n;
#endif
  sums(args, 0, n);
#if defined(DONE_THEN_SPIN)
  say_done();
  for (volatile int go = 1; go;)
    ;
#elif defined(DONE_THEN_CRASH)
  say_done();
  abort();
#endif
}
