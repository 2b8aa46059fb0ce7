#include "runner/threads.h"

#include <dirent.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

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

// /proc/PID/task/TID/syscall of a thread that is stopped inside a system call reads "number arg0 ... arg5 sp pc";
// outside of one the number is -1.
static bool parked(pid_t pid, pid_t id) {
  char path[96];
  long number = -1;
  unsigned long a[4] = {0};
  snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)id);
  FILE *f = fopen(path, "re");
  if (!f)
    return true; // it has ended
  int n = fscanf(f, "%ld %lx %lx %lx %lx", &number, &a[0], &a[1], &a[2], &a[3]);
  fclose(f);
  unsigned long operation = a[1] & FUTEX_CMD_MASK;
  return n == 5 && number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) && a[3] == 0;
}

bool threads_parked(pid_t pid) {
  struct thread_set now;
  if (!threads_list(pid, &now))
    return false;
  for (int i = 0; i < now.n; i++)
    if (now.ids[i] != pid && !parked(pid, now.ids[i]))
      return false;
  return true;
}

int64_t threads_process_ns(pid_t pid) {
  clockid_t id;
  struct timespec t;
  if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &t) != 0)
    return 0;
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t threads_run_ns(pid_t pid) {
  char path[96];
  long long first = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)pid);
  FILE *f = fopen(path, "re");
  int read = f ? fscanf(f, "%lld", &first) : 0;
  if (f)
    fclose(f);
  return read == 1 ? threads_process_ns(pid) - first : 0;
}
