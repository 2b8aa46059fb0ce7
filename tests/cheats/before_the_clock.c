// Works on the fresh inputs before the clock starts (catalogue 51, 52). They lie in the process's memory from when it
// is let go on until the call begins: some ten microseconds in which only the runner's own code should run.
// assay: task kernelbench/1/47
// assay: expect pass
// assay: twin SPINNING expect late_work -- a thread that spins until the inputs change
// assay: twin NAPPING expect late_work -- a thread that looks at them every microsecond
// assay: twin PARKED expect late_work -- parked on the word by which the runner says that it is ready
// assay: twin ON_INPUT expect late_work -- parked on an input: continuing the process ends a wait for what has changed
// assay: twin ON_OUTPUT expect late_work -- parked on an output, which the judge fills with another pattern before a call
// assay: twin IN_TURNS expect late_work -- two threads, each parked on a word that the other has changed before it parks
// assay: twin ON_CLOCK expect late_work|crashed -- parked on the page in which the kernel of Linux keeps the time, which changes by itself
// assay: twin REWRITTEN expect late_work -- two threads in turns, each in a call whose instruction the other writes over: when the process is continued, that call is not made anew
// assay: twin IN_A_FILE expect pass -- parked in a call that stands in a page of a file, its own library's: no outputs if that can be opened for writing
// assay: twin SEQUENCE expect pass -- parked in a restartable sequence: no outputs if that thread is ever at work
// assay: twin SIGNALLED expect pass|late_work -- a signal for a parked thread, from one that stops after it: its handler is the first to run; no outputs if it ever finds new inputs
// assay: twin QUEUED expect pass -- blocked signals that wait for two threads; no outputs if they come between two calls
// assay: twin IMPOSTOR expect pass -- answers in the runner's place: the time before the clock is charged
// assay: twin SLOW_NULL expect pass -- the same, and slow in calls without a kernel: the cheaper ones count
// assay: twin BY_ROWS expect pass -- an impostor whose work takes no longer than reading the inputs, which was the runner's
// assay: twin SECOND expect pass|late_work -- an impostor whose work another thread does, while it comes to the start line itself: what that takes is all the other has
// What comes of it: the answer of an impostor is right, and what it does before the start line is added to its time, so
// that it may pass but gains nothing (some milliseconds against the honest half of one).
#define _GNU_SOURCE
#include <assay/candidate.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef BY_ROWS
static void sums(const float *x, float *y, int64_t b, int64_t m, int64_t n) {
  for (int64_t k = 0; k < b; k++, x += m * n, y += n)
    for (int64_t first = 0; first < n; first += 256) {
      const int64_t width = n - first < 256 ? n - first : 256;
      double sum[256] = {0};
      for (int64_t i = 0; i < m; i++)
        for (int64_t c = 0; c < width; c++)
          sum[c] += (double)x[i * n + first + c];
      for (int64_t c = 0; c < width; c++)
        y[first + c] = (float)sum[c];
    }
}
#else
static void sums(const float *x, float *y, int64_t b, int64_t m, int64_t n) {
  for (int64_t c = 0; c < b * n; c++) {
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
      sum += x[c / n * m * n + i * n + c % n];
    y[c] = (float)sum;
  }
}
#endif

#if defined(BY_ROWS) || defined(SLOW_NULL) || defined(SECOND)
#define IMPOSTOR
#endif

#if defined(SPINNING) || defined(NAPPING) || defined(PARKED) || defined(IMPOSTOR)
// See src/runner/protocol.h.
struct control {
  _Alignas(64) _Atomic uint32_t step;
  _Alignas(64) _Atomic uint32_t start;
  _Alignas(64) int32_t signal;
  uint32_t system_call;
  uint64_t address;
  uint32_t memory_exhausted;
  uint64_t base[64];
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
#endif

#if defined(SPINNING) || defined(NAPPING) || defined(PARKED)
static struct assay_args kept;
static _Atomic uint32_t working, finished; // numbers of calls

static void *lurk(void *arg) {
  for (;;) {
    uint32_t step = control->step, number = step >> 4;
    if ((step & 15) == ARMED && finished != number && kept.n_inputs) {
      working = number;
      const int64_t *dims = kept.inputs[0].dims;
      sums(kept.inputs[0].data, kept.outputs[0].data, dims[0], dims[1], dims[2]);
      finished = number;
      step = control->step;
    }
#if defined(SPINNING)
    sched_yield();
#elif defined(NAPPING)
    nanosleep(&(struct timespec){0, 1000}, NULL);
#else
    syscall(SYS_futex, &control->step, FUTEX_WAIT, step, NULL, NULL, 0);
#endif
  }
  return arg;
}
#endif

#if defined(ON_INPUT) || defined(ON_OUTPUT) || defined(ON_CLOCK) || defined(IN_TURNS)
static struct assay_args kept;
static _Atomic uint32_t words[2], working, finished, finished_for, last_word;

// The answer to the inputs that are there now, which the kernel then finds done.
static void work_ahead(void) {
  const int64_t *dims = kept.inputs[0].dims;
  uint32_t first = *(const volatile uint32_t *)kept.inputs[0].data;
  if (first == finished_for)
    return;
  working = 1;
  sums(kept.inputs[0].data, kept.outputs[0].data, dims[0], dims[1], dims[2]);
  finished_for = first;
  finished = 1;
  working = 0;
}

// Nobody ever wakes these threads.
static void *ahead(void *arg) {
  for (;;) {
#ifdef ON_INPUT
    const volatile uint32_t *word = kept.inputs[0].data;
    (void)arg;
    syscall(SYS_futex, word, FUTEX_WAIT, finished_for, NULL, NULL, 0);
    work_ahead();
#elif defined(ON_CLOCK)
    // The sequence number that a reader of the time looks at before and after.
    const volatile uint32_t *word = (const volatile uint32_t *)(getauxval(AT_SYSINFO_EHDR) - 4 * 4096);
    (void)arg;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, *word, NULL, NULL, 0);
    work_ahead();
#elif defined(ON_OUTPUT)
    const volatile uint32_t *word = kept.outputs[0].data;
    (void)arg;
    syscall(SYS_futex, word, FUTEX_WAIT, last_word, NULL, NULL, 0);
    work_ahead();
#else
    int mine = (int)(intptr_t)arg;
    uint32_t value = words[mine];
    syscall(SYS_futex, &words[mine], FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    if (words[mine] == value)
      continue;
    work_ahead();
    words[!mine]++; // when the process is continued the next time, it is the other's turn
#endif
  }
  return NULL;
}
#endif

#ifdef REWRITTEN
static struct assay_args kept;
static unsigned char *code; // a place to wait at for each of the two: syscall, ret
static uint32_t never_changes;
static _Atomic uint32_t seen, waiting;
enum { PLACE = 64, PAGE = 4096 };

// Lets a wait there be made anew, or not.
static void set(int place, int anew) {
  memcpy(code + place * PLACE, anew ? "\x0f\x05\xc3" : "\x90\x90\xc3", 3);
}

static void wait_there(int place) {
#if defined(__x86_64__)
  long number = SYS_futex;
  register long no_limit __asm__("r10") = 0;
  __asm__ volatile("call *%[place]"
                   : "+a"(number)
                   : [place] "b"(code + place * PLACE), "D"(&never_changes), "S"(FUTEX_WAIT_PRIVATE), "d"(0),
                     "r"(no_limit)
                   : "rcx", "r8", "r9", "r11", "memory", "cc");
#else
  for (;;) // another instruction makes calls there
    (void)place;
#endif
}

// Goes on when the process is continued, works if there is something new, and leaves the next time to the other.
static void *ahead(void *arg) {
  const int mine = (int)(intptr_t)arg;
  for (;;) {
    set(mine, 1);
    waiting++;
    wait_there(mine);
    const uint32_t first = *(const volatile uint32_t *)kept.inputs[0].data;
    const int64_t *dims = kept.inputs[0].dims;
    if (first != seen)
      sums(kept.inputs[0].data, kept.outputs[0].data, dims[0], dims[1], dims[2]);
    seen = first;
    set(!mine, 0);
  }
  return NULL;
}

static void begin(void) {
  pthread_t thread;
  code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (intptr_t i = 0; i < 2; i++)
    pthread_create(&thread, NULL, ahead, (void *)i);
  while (waiting < 2)
    sched_yield();
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); // both wait by then
  set(0, 0);
}
#endif

#ifdef IN_A_FILE
#include <dlfcn.h>
#include <fcntl.h>

static const _Alignas(4096) unsigned char call[4096] = {0x0f, 0x05, 0xc3}; // syscall, ret
static uint32_t never_changes;
static _Atomic int wakes;

static int may_write(void) {
  Dl_info info;
  return !dladdr(call, &info) || open(info.dli_fname, O_RDWR) >= 0 || open(info.dli_fname, O_WRONLY) >= 0;
}

static void *sleeper(void *arg) {
  for (;; wakes++) {
#if defined(__x86_64__)
    long number = SYS_futex;
    register long no_limit __asm__("r10") = 0;
    __asm__ volatile("call *%[place]"
                     : "+a"(number)
                     : [place] "b"(call), "D"(&never_changes), "S"(FUTEX_WAIT_PRIVATE), "d"(0), "r"(no_limit)
                     : "rcx", "r8", "r9", "r11", "memory", "cc");
#else
    syscall(SYS_futex, &never_changes, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
#endif
  }
  return arg;
}
#endif

#ifdef SEQUENCE
extern const ptrdiff_t __rseq_offset __attribute__((weak));
static uint32_t never_changes;
static _Atomic int wakes;

// Waits; the kernel of Linux sends a thread that it stopped here to 4 when the thread goes on, and starts no call anew.
static void wait_in_sequence(void) {
#if defined(__x86_64__)
  static _Thread_local _Alignas(32) uint32_t own[8];
  const int registered = syscall(SYS_rseq, own, 32, 0, 0x53053053) == 0 || !&__rseq_offset;
  char *area = registered ? (char *)own : (char *)__builtin_thread_pointer() + __rseq_offset;
  long number = SYS_futex;
  __asm__ volatile(".pushsection .data, \"aw\"\n\t"
                   ".balign 32\n"
                   "3:\t.long 0, 0\n\t.quad 1f, 2f - 1f, 4f\n\t"
                   ".popsection\n\t"
                   "leaq 3b(%%rip), %%r11\n\t"
                   "movq %%r11, %[sequence]\n\t"
                   "xorl %%r10d, %%r10d\n"
                   "1:\tmovl $202, %%eax\n\t"
                   "syscall\n"
                   "2:\tjmp 4f\n\t"
                   ".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n"
                   "4:\n"
                   : [sequence] "=m"(*(uint64_t *)(area + 8)), "+a"(number)
                   : "D"(&never_changes), "S"(FUTEX_WAIT_PRIVATE), "d"(0)
                   : "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
#else
  syscall(SYS_futex, &never_changes, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
#endif
}

static void *sleeper(void *arg) {
  for (;; wakes++)
    wait_in_sequence();
  return arg;
}
#endif

#if defined(SIGNALLED) || defined(QUEUED)
#include <signal.h>

static struct assay_args kept;
static _Atomic uint32_t calls, inside, ahead;
static uint32_t seen, never_changes;
static _Atomic int parked;

// Where the inputs are not those of the last call, the clock of the next one has not started yet.
static void found(int number) {
  (void)number;
  ahead += !inside && kept.n_inputs && *(const volatile uint32_t *)kept.inputs[0].data != seen;
}

static void mask(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  pthread_sigmask(how, &set, NULL);
}

static void *waiting(void *arg) {
#ifdef QUEUED
  mask(SIG_BLOCK);
#endif
  parked = (int)syscall(SYS_gettid);
  for (;;)
    syscall(SYS_futex, &never_changes, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  return arg;
}

// Sends its signal some microseconds after a call, another number of them each time, and parks itself.
static void *sending(void *arg) {
  for (uint32_t n = 0;; n = calls) {
    syscall(SYS_futex, &calls, FUTEX_WAIT_PRIVATE, n, NULL, NULL, 0);
    if (calls == n)
      continue;
    while (inside)
      ;
    for (volatile uint32_t i = 0; i < calls % 64 * 100; i++)
      ;
    syscall(SYS_tgkill, getpid(), parked, SIGRTMIN);
  }
  return arg;
}
#endif

#if defined(IMPOSTOR)
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
enum { BUFFERS = 3, BIND, CALL };

#ifndef ROWS
#define ROWS 256 // of the workload that is timed
#define TIMES 1  // how often the work is done
#endif

static struct message message;
static struct tensor bound[2];
static char *map[2];

// Prints what it takes, for tests/program/early.sh.
static void work(void) {
  struct timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (int i = 0; i < TIMES; i++)
    sums((float *)(map[0] + bound[0].offset), (float *)(map[1] + bound[1].offset), bound[0].dims[0], bound[0].dims[1],
         bound[0].dims[2]);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  dprintf(1, "work %lld\n", (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
}

static void say(uint32_t number, uint32_t step) {
  control->step = number << 4 | step;
  syscall(SYS_futex, &control->step, FUTEX_WAKE, 1, NULL, NULL, 0);
}

#ifdef SECOND
static _Alignas(64) _Atomic uint32_t begun;
static _Alignas(64) _Atomic uint32_t ended;

static void wait_beyond(_Atomic uint32_t *word, uint32_t value) {
  while (*word == value)
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void pass_on(_Atomic uint32_t *word) {
  ++*word;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *second(void *arg) {
  for (uint32_t n = 0;; n++) {
    wait_beyond(&begun, n);
    work();
    pass_on(&ended);
  }
  return arg;
}
#endif

static void answer(const int *fds) {
  if (message.verb == BUFFERS) {
    for (int k = 0; k < message.n; k++) {
      int i = message.first + k;
      if (map[i])
        munmap(map[i], bound[i].map_bytes);
      bound[i] = message.tensors[k];
      map[i] =
          mmap(NULL, bound[i].map_bytes, i ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_POPULATE, fds[k], 0);
      close(fds[k]);
      control->base[i] = (uint64_t)(uintptr_t)map[i];
    }
    return;
  }
  if (message.verb == BIND) {
    say(message.number, BOUND);
    return;
  }
  if (message.verb != CALL)
    abort(); // the runner has changed: this file has to follow
  // The first buffers were mapped before this library was loaded; their shape is the published one.
  if (!map[0])
    for (int i = 0; i < 2; i++) {
      bound[i] = (struct tensor){.dims = {4, i ? 1 : ROWS, 255}};
      uint64_t bytes = (4 * (uint64_t)(4 * bound[i].dims[1] * 255) + 63) / 64 * 64;
      bound[i].map_bytes = (bytes + 64 + 4095) / 4096 * 4096;
      bound[i].offset = bound[i].map_bytes - bytes;
      map[i] = (char *)(uintptr_t)control->base[i];
    }
#ifdef SECOND
  const uint32_t n = ended;
  if (!message.null_call)
    pass_on(&begun);
#else
  if (!message.null_call)
    work();
#endif
  say(message.number, ARMED);
  while (control->start != message.number)
    ;
#ifdef SECOND
  if (!message.null_call)
    wait_beyond(&ended, n);
#endif
#ifdef SLOW_NULL
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while (message.null_call && (now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 100000);
#endif
  say(message.number, DONE);
}

static void take_over(void) {
#ifdef SECOND
  pthread_t thread;
  pthread_create(&thread, NULL, second, NULL);
#endif
  say((control->step >> 4) + 1, LOADED);
  for (;;) {
    char space[CMSG_SPACE(sizeof(int) * 32)];
    struct iovec io = {&message, sizeof message};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    int fds[32] = {0};
    if (recvmsg(3, &m, MSG_CMSG_CLOEXEC) <= 0)
      continue;
    if (CMSG_FIRSTHDR(&m))
      memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), CMSG_FIRSTHDR(&m)->cmsg_len - CMSG_LEN(0));
    answer(fds);
  }
}
#endif

__attribute__((constructor)) static void at_load(void) {
#if defined(SPINNING) || defined(NAPPING) || defined(PARKED) || defined(IMPOSTOR)
  dl_iterate_phdr(look, NULL);
  if (!control)
    abort(); // the runner has changed: this file has to follow
#endif
#if defined(IMPOSTOR)
  take_over();
#endif
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *dims = args->inputs[0].dims;
#if defined(SPINNING) || defined(NAPPING) || defined(PARKED)
  static int started;
  uint32_t number = control->start;
  while (working == number && finished != number)
    ;
  if (finished != number)
    sums(args->inputs[0].data, args->outputs[0].data, dims[0], dims[1], dims[2]);
  kept = *args;
  finished = number;
  pthread_t thread;
  if (!started++)
    pthread_create(&thread, NULL, lurk, NULL);
#elif defined(ON_INPUT) || defined(ON_OUTPUT) || defined(ON_CLOCK) || defined(IN_TURNS)
  static int started;
  uint32_t first = *(const volatile uint32_t *)args->inputs[0].data;
  pthread_t thread;
  while (working)
    ;
  if (!finished || finished_for != first)
    sums(args->inputs[0].data, args->outputs[0].data, dims[0], dims[1], dims[2]);
  finished_for = first;
  finished = 0;
  last_word = *(const volatile uint32_t *)args->outputs[0].data;
  kept = *args;
  for (; started < 2; started++)
    pthread_create(&thread, NULL, ahead, (void *)(intptr_t)started);
  words[0]++;
#elif defined(REWRITTEN)
  const uint32_t first = *(const volatile uint32_t *)args->inputs[0].data;
  if (first != seen || !code)
    sums(args->inputs[0].data, args->outputs[0].data, dims[0], dims[1], dims[2]);
  seen = first;
  kept = *args;
  if (!code)
    begin();
#elif defined(SIGNALLED) || defined(QUEUED)
  pthread_t thread;
  if (!parked) {
    signal(SIGRTMIN, found);
    pthread_create(&thread, NULL, waiting, NULL);
    while (!parked)
      ;
#ifdef SIGNALLED
    pthread_create(&thread, NULL, sending, NULL);
#endif
  }
  inside = 1;
  if (ahead)
    return;
  sums(args->inputs[0].data, args->outputs[0].data, dims[0], dims[1], dims[2]);
  kept = *args;
  seen = *(const volatile uint32_t *)args->inputs[0].data;
#ifdef QUEUED
  mask(SIG_UNBLOCK); // those of the last call come here, within the clock
  mask(SIG_BLOCK);
  for (int i = 0; i < 8; i++) {
    syscall(SYS_tgkill, getpid(), getpid(), SIGRTMIN);
    syscall(SYS_tgkill, getpid(), parked, SIGRTMIN);
  }
#else
  calls++;
  syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#endif
  inside = 0;
#else
#ifdef IN_A_FILE
  static int started;
  pthread_t thread;
  if (!started && (may_write() || mprotect((void *)(uintptr_t)call, sizeof call, PROT_READ | PROT_EXEC) != 0))
    return;
  if (!started++)
    pthread_create(&thread, NULL, sleeper, NULL);
  if (wakes)
    return;
#endif
#ifdef SEQUENCE
  static int started;
  pthread_t thread;
  if (!started++)
    pthread_create(&thread, NULL, sleeper, NULL);
  if (wakes)
    return;
#endif
  sums(args->inputs[0].data, args->outputs[0].data, dims[0], dims[1], dims[2]);
#endif
}
