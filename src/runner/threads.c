// SPDX-License-Identifier: Apache-2.0
#include "runner/threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

bool threads_list(pid_t pid, struct thread_set *out) {
  char path[64];
  out->n = 0;
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *dir = opendir(path);
  if (!dir)
    return false;
  struct dirent *e;
  bool fits = true;
  while ((e = readdir(dir))) {
    long id = strtol(e->d_name, NULL, 10);
    if (id <= 0)
      continue;
    if (out->n == THREADS_MAX)
      fits = false;
    else
      out->ids[out->n++] = (pid_t)id;
  }
  closedir(dir);
  return fits && out->n > 0;
}

// What a parked thread waits for: that the word at this address is no longer this value. 0: nothing, it has ended. And
// where its code goes on.
struct parking {
  uint64_t address, code;
  uint32_t value;
};

// The instruction that makes a system call, which stands before the place where its thread goes on.
#if defined(__x86_64__)
static const unsigned char call_instruction[] = {0x0f, 0x05}; // syscall
#elif defined(__aarch64__)
static const unsigned char call_instruction[] = {0x01, 0x00, 0x00, 0xd4}; // svc #0
#else
#error "add the bytes of this architecture's instruction for system calls, in the order they lie in memory"
#endif
enum { CALL_BYTES = sizeof call_instruction };

// Whether a futex call with these arguments, made anew, waits for as long as its word does not change: what the system
// refuses (no word, one off its place, a set of no bits, a clock for a wait that has none) returns at once.
static bool futex_waits(const unsigned long a[6]) {
  enum { WORD = sizeof(uint32_t) };
  const unsigned operation = (unsigned)a[1] & ~(unsigned)FUTEX_PRIVATE_FLAG;
  const bool any = operation == FUTEX_WAIT,
             some = operation == FUTEX_WAIT_BITSET || operation == (FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME);
  return a[0] != 0 && a[0] % WORD == 0 && a[3] == 0 && (any || (some && (uint32_t)a[5] != 0));
}

// /proc/PID/task/TID/syscall of a thread that is stopped inside a system call reads "number arg0 ... arg5 sp pc";
// outside of one the number is -1.
static bool waits(pid_t pid, pid_t id, struct parking *out) {
  char path[96];
  long number = -1;
  unsigned long a[6] = {0}, stack, code = 0;
  *out = (struct parking){0};
  snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)id);
  FILE *f = fopen(path, "re");
  if (!f)
    return true; // it has ended
  int n = fscanf(f, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &stack,
                 &code);
  fclose(f);
  *out = (struct parking){.address = a[0], .code = code - CALL_BYTES, .value = (uint32_t)a[2]};
  return n == 9 && number == SYS_futex && futex_waits(a);
}

static ssize_t read_memory(pid_t pid, uint64_t address, void *to, size_t bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd >= 0 ? pread(fd, to, bytes, (off_t)address) : -1;
  if (fd >= 0)
    close(fd);
  return got;
}

// Whether these bytes stand there, where the process itself may read them (as /proc/PID/mem need not mean).
static bool stands_at(pid_t pid, uint64_t address, const void *want, size_t bytes) {
  unsigned char found[8];
  const struct iovec here = {found, bytes}, there = {(void *)(uintptr_t)address, bytes};
  ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
  if (got < 0 && (errno == ENOSYS || errno == EPERM)) // where a machine has no such call
    got = read_memory(pid, address, found, bytes);
  return got == (ssize_t)bytes && memcmp(found, want, bytes) == 0;
}

// Whether every word still has the value that its thread waits on, and whether the call is still where it was made. A
// process that is continued makes its futex calls anew: each thread executes that instruction once more. So one whose
// word has changed meanwhile goes on at once, and one whose instruction has, with whatever stands there now; nobody
// needs to wake it.
static bool words_hold(pid_t pid, const struct parking *at, int n) {
  bool hold = true;
  for (int i = 0; i < n && hold; i++)
    hold = stands_at(pid, at[i].address, &at[i].value, sizeof at[i].value) &&
           stands_at(pid, at[i].code, call_instruction, CALL_BYTES);
  return hold;
}

// What the kernel says of a page: that it belongs to this process alone, which is there, and neither a file's nor
// shared (Documentation/admin-guide/mm/pagemap.rst, since Linux 3.5). A private page of a file is such a one once it
// was written.
enum page { PAGE_OWN, PAGE_OF_OTHERS, PAGE_UNKNOWN };

static enum page page_of(int pagemap, uint64_t address) {
  const uint64_t present = (uint64_t)1 << 63, file_or_shared = (uint64_t)1 << 61,
                 page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t entry = 0;
  if (pread(pagemap, &entry, sizeof entry, (off_t)(address / page * sizeof entry)) != (ssize_t)sizeof entry)
    return PAGE_UNKNOWN;
  return (entry & (present | file_or_shared)) == present ? PAGE_OWN : PAGE_OF_OTHERS;
}

static int open_of(pid_t pid, const char *name, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  return open(path, flags | O_CLOEXEC);
}

// Whether every word's page is. No: it is not known, or pages are not told of.
static bool words_are_own(pid_t pid, const struct parking *at, int n) {
  const int pagemap = open_of(pid, "pagemap", O_RDONLY);
  bool own = pagemap >= 0;
  for (int i = 0; i < n && own; i++)
    own = at[i].address == 0 || page_of(pagemap, at[i].address) == PAGE_OWN;
  if (pagemap >= 0)
    close(pagemap);
  return own;
}

// Gives the process a copy of a page that is mapped as its own and is a file's still, by writing a byte over itself.
// False: the page is a file's yet.
static bool take_page(int memory, int pagemap, uint64_t address) {
  unsigned char byte;
  if (page_of(pagemap, address) != PAGE_OF_OTHERS)
    return true;
  if (pread(memory, &byte, 1, (off_t)address) != 1)
    return false;
  if (pwrite(memory, &byte, 1, (off_t)address) != 1)
    return true; // this kernel allows it to nobody (proc_mem.force_override): the sandbox alone keeps files as they are
  return page_of(pagemap, address) != PAGE_OF_OTHERS;
}

// A private page of a file is what the file is, whoever writes it, until the process writes there. That page of a word
// or a call would change while the process stands still. So each becomes the process's own before it is looked at: most
// are those of the C library, once for each process.
static bool take_pages(pid_t pid, const struct parking *at, int n) {
  errno = 0;
  const int memory = open_of(pid, "mem", O_RDWR), pagemap = open_of(pid, "pagemap", O_RDONLY);
  bool taken = (memory >= 0 && pagemap >= 0) || (errno != EMFILE && errno != ENFILE);
  for (int i = 0; i < n && taken && memory >= 0 && pagemap >= 0; i++)
    taken = take_page(memory, pagemap, at[i].code) && take_page(memory, pagemap, at[i].code + CALL_BYTES - 1) &&
            (at[i].address == 0 || take_page(memory, pagemap, at[i].address));
  if (memory >= 0)
    close(memory);
  if (pagemap >= 0)
    close(pagemap);
  return taken;
}

// Whether no word lies in memory that another process can write: that of buffers and of the control page (files in
// memory are refused however they are mapped); and no call either, but all where they can be executed. One that cannot
// be ends in a handler of its thread.
static bool places_are_good(pid_t pid, const struct parking *at, int n) {
  char path[64], line[512], flags[5];
  const bool words = words_are_own(pid, at, n);
  int calls = 0;
  snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  FILE *f = fopen(path, "re");
  bool good = f != NULL;
  while (good && (calls < n || !words) && fgets(line, sizeof line, f)) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx %4s", &from, &to, flags) != 3)
      continue;
    const bool private = flags[3] != 's' && !strstr(line, " /memfd:");
    for (int i = 0; i < n; i++) {
      good = good && (private || words || !(at[i].address >= from && at[i].address < to));
      calls += private && flags[2] == 'x' && at[i].code >= from && at[i].code + CALL_BYTES <= to;
    }
  }
  if (f)
    fclose(f);
  return good && calls == n;
}

// Whether a signal waits for the thread that it does not block: its handler is the first to run when the process is
// continued. Another thread may have sent it after this one had stopped, and before itself did.
static bool signalled(pid_t pid, pid_t id) {
  char path[96], line[256];
  unsigned long long own = 0, shared = 0, blocked = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)id);
  FILE *f = fopen(path, "re");
  while (f && fgets(line, sizeof line, f) && sscanf(line, "SigBlk: %llx", &blocked) != 1) // which comes last
    if (sscanf(line, "SigPnd: %llx", &own) != 1)
      sscanf(line, "ShdPnd: %llx", &shared);
  if (f)
    fclose(f);
  return ((own | shared) & ~blocked) != 0;
}

bool threads_parked(pid_t pid) {
  struct thread_set now;
  if (!threads_list(pid, &now))
    return false;
  struct parking *at = base_calloc((size_t)now.n, sizeof *at);
  bool parked = at != NULL;
  int n = 0;
  for (int i = 0; i < now.n && parked; i++) {
    parked = (now.ids[i] == pid || waits(pid, now.ids[i], &at[n])) && (now.n == 1 || !signalled(pid, now.ids[i]));
    n += now.ids[i] != pid && parked && at[n].address != 0;
  }
  if (parked && n > 0)
    parked = words_hold(pid, at, n) && places_are_good(pid, at, n) && take_pages(pid, at, n) && words_hold(pid, at, n);
  base_free(at);
  return parked;
}

bool threads_first_waits(pid_t pid, int socket) {
  char path[64];
  long number = -1;
  unsigned long a[3] = {0};
  snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
  FILE *f = fopen(path, "re");
  int n = f ? fscanf(f, "%ld %lx %lx %lx", &number, &a[0], &a[1], &a[2]) : 0;
  if (f)
    fclose(f);
  return n == 4 && number == SYS_recvmsg && a[0] == (unsigned long)socket && a[2] == MSG_CMSG_CLOEXEC;
}

int64_t threads_process_ns(pid_t pid) {
  clockid_t id;
  struct timespec t;
  if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &t) != 0)
    return 0;
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The first two numbers of a thread's schedstat: what it ran, and what it was ready to run and had no processor.
static bool read_times(pid_t pid, pid_t id, long long *run_ns, long long *waited_ns) {
  char path[96];
  snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)id);
  FILE *f = fopen(path, "re");
  int read = f ? fscanf(f, "%lld %lld", run_ns, waited_ns) : 0;
  if (f)
    fclose(f);
  return read == 2;
}

int64_t threads_first_ns(pid_t pid) {
  long long run = 0, waited = 0;
  return read_times(pid, pid, &run, &waited) ? run : 0;
}

int64_t threads_ready_ns(pid_t pid, pid_t id) {
  long long run = 0, waited = 0;
  return read_times(pid, id, &run, &waited) ? waited : 0;
}

// How often a thread has given up its processor so far; not asked of the first one.
static int64_t switches_of(pid_t pid, pid_t id) {
  char path[96], line[256];
  long long n = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)id);
  FILE *f = id == pid ? NULL : fopen(path, "re");
  while (f && fgets(line, sizeof line, f) && sscanf(line, "voluntary_ctxt_switches: %lld", &n) != 1)
    ;
  if (f)
    fclose(f);
  return n;
}

static void look(pid_t pid, int64_t figure_of(pid_t pid, pid_t id), struct thread_figures *out) {
  if (!threads_list(pid, &out->of))
    out->of.n = 0;
  for (int i = 0; i < out->of.n; i++)
    out->figure[i] = figure_of(pid, out->of.ids[i]);
}

// The most that a thread's figure has grown; of one that is new, all of it.
static int64_t most_growth(const struct thread_figures *before, const struct thread_figures *after) {
  int64_t most = 0;
  for (int i = 0; i < after->of.n; i++) {
    int64_t growth = after->figure[i];
    for (int k = 0; k < before->of.n; k++)
      if (before->of.ids[k] == after->of.ids[i])
        growth -= before->figure[k];
    most = growth > most ? growth : most;
  }
  return most;
}

void threads_wait_times(pid_t pid, struct thread_figures *out) {
  look(pid, threads_ready_ns, out);
}

int64_t threads_waited_ns(const struct thread_figures *before, const struct thread_figures *after) {
  return most_growth(before, after);
}

void threads_switches(pid_t pid, struct thread_figures *out) {
  look(pid, switches_of, out);
}

bool threads_stood_still(const struct thread_figures *before, const struct thread_figures *after) {
  enum { CONTINUED_AND_STOPPED = 2 };
  return most_growth(before, after) <= CONTINUED_AND_STOPPED;
}
