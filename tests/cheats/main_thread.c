// The thread that the runner runs in is not the candidate's, and may take part all the same: it works on the fresh
// inputs before the clock starts, and before anybody says that a call begins (catalogue 51).
// assay: task kernelbench/1/47
// assay: expect late_work -- it answers in the runner's place, and spins between calls until the inputs change
// assay: twin SEEMS_TO_WAIT expect late_work -- the same, mostly in calls that look like waiting for a message
// assay: twin SHORT expect pass -- it spins no longer than the judge looks away: it is waiting when the inputs come
// assay: twin OTHER expect late_work -- it spins, and another thread answers
// assay: twin POOL expect late_work -- the other thread is one of the runner's pool, so that there are no more than before
// assay: twin NAPS expect late_work -- it looks every microsecond
// assay: twin HONEST expect pass
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void sums(const float *x, float *y, const int64_t *dims) {
  for (int64_t k = 0; k < dims[0]; k++)
    for (int64_t j = 0; j < dims[2]; j++) {
      double sum = 0;
      for (int64_t i = 0; i < dims[1]; i++)
        sum += (double)x[(k * dims[1] + i) * dims[2] + j];
      y[k * dims[2] + j] = (float)sum;
    }
}

#ifdef HONEST
void assay_kernel(const struct assay_args *args) {
  sums(args->inputs[0].data, args->outputs[0].data, args->inputs[0].dims);
}
#else
// See src/runner/protocol.h.
struct control {
  _Alignas(64) _Atomic uint32_t step;
  _Alignas(64) _Atomic uint32_t start;
  _Alignas(64) int32_t signal;
  uint32_t system_call;
  uint64_t address;
  uint32_t memory_exhausted;
  uint64_t base[512];
};
struct tensor {
  int32_t dtype, rank;
  int64_t dims[8];
  uint64_t data_bytes, map_bytes, offset;
};
struct message {
  uint32_t verb, number, null_call;
  int32_t n_in, n_out, first, n;
  struct tensor tensors[32];
};
enum { READY = 1, LOADED, NOT_LOADED, BOUND, NOT_BOUND, ARMED, DONE, BUFFERS = 3, BIND, CALL };

static struct control *control;
static struct message message;
static struct {
  char *map;
  uint64_t map_bytes, offset;
  int64_t dims[8];
} bound[2];
static const float *x;
static float *y;
static int64_t dims[8];
static _Atomic int hold, held, working;
static _Atomic uint64_t finished_for;

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

static void say(uint32_t number, uint32_t step) {
  control->step = number << 4 | step;
  syscall(SYS_futex, &control->step, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static uint64_t first_word(void) {
  return *(const volatile uint32_t *)x | 1ull << 32;
}

static void take_buffers(const int *fds) {
  hold = 1; // the other thread must not look meanwhile
#if defined(OTHER) || defined(POOL) || defined(NAPS)
  while (!held)
    sched_yield();
#endif
  for (int k = 0; k < message.n; k++) {
    int i = message.first + k;
    const struct tensor *t = &message.tensors[k];
    bound[i].map =
        mmap(NULL, t->map_bytes, i ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_POPULATE, fds[k], 0);
    close(fds[k]);
    bound[i].offset = t->offset;
    memcpy(bound[i].dims, t->dims, sizeof t->dims);
    control->base[i] = (uint64_t)(uintptr_t)bound[i].map;
  }
  x = (const float *)(bound[0].map + bound[0].offset);
  y = (float *)(bound[1].map + bound[1].offset);
  memcpy(dims, bound[0].dims, sizeof dims);
  finished_for = first_word();
  hold = 0;
}

static void call(void) {
  say(message.number, ARMED);
  while (control->start != message.number)
    sched_yield();
  if (!message.null_call) {
    while (working)
      ;
    if (finished_for != first_word())
      sums(x, y, dims);
    finished_for = first_word();
  }
  say(message.number, DONE);
}

// The answer to inputs that nobody has asked for yet, as long as there is no message.
static ssize_t ahead(struct msghdr *m) {
  for (;;) {
#if defined(SHORT)
    for (int turn = 0; turn < 20000 && finished_for == first_word(); turn++)
      ;
#elif defined(SEEMS_TO_WAIT)
    for (int turn = 0; turn < 1000 && finished_for == first_word(); turn++)
      recvmsg(3, NULL, MSG_CMSG_CLOEXEC); // no message is taken: where is it to go?
#endif
#if !defined(OTHER) && !defined(POOL) && !defined(NAPS)
    if (finished_for != first_word()) {
      sums(x, y, dims);
      finished_for = first_word();
    }
#endif
#if defined(SHORT) || defined(OTHER) || defined(POOL) || defined(NAPS)
    return recvmsg(3, m, MSG_CMSG_CLOEXEC);
#else
    ssize_t n = recvmsg(3, m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n > 0)
      return n;
#endif
  }
}

// The runner's loop.
static void *serve(void *arg) {
  say(control->start, DONE); // the call that began all this
  for (;;) {
    char space[CMSG_SPACE(sizeof(int) * 32)];
    struct iovec io = {&message, sizeof message};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    int fds[32] = {0};
    if (ahead(&m) <= 0)
      continue;
    if (CMSG_FIRSTHDR(&m))
      memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), CMSG_FIRSTHDR(&m)->cmsg_len - CMSG_LEN(0));
    if (message.verb == BUFFERS)
      take_buffers(fds);
    else if (message.verb == BIND)
      say(message.number, BOUND);
    else if (message.verb == CALL)
      call();
    else
      abort(); // the runner has changed: this file has to follow
  }
  return arg;
}

static void lurk(void) {
  for (;;) {
    while (hold)
      held = 1;
    held = 0;
    if (finished_for != first_word()) {
      working = 1;
      uint64_t word = first_word();
      sums(x, y, dims);
      finished_for = word;
      working = 0;
    }
#ifdef NAPS
    nanosleep(&(struct timespec){0, 1000}, NULL);
#endif
  }
}

static void both(void *arg, int64_t begin, int64_t end) {
  (void)end;
  (void)arg;
  if (begin > 0)
    serve(NULL);
  else
    lurk();
}

void assay_kernel(const struct assay_args *args) {
  static int calls;
  x = args->inputs[0].data;
  y = args->outputs[0].data;
  memcpy(dims, args->inputs[0].dims, 3 * sizeof *dims);
  sums(x, y, dims);
  if (calls++ < 2)
    return;
  finished_for = first_word();
  dl_iterate_phdr(look, NULL);
  if (!control)
    abort(); // the runner has changed: this file has to follow
#ifdef POOL
  args->parallel(args, 2, both, NULL);
#elif defined(OTHER) || defined(NAPS)
  pthread_t thread;
  pthread_create(&thread, NULL, serve, NULL);
  lurk();
#else
  serve(NULL);
#endif
  (void)both;
}
#endif
