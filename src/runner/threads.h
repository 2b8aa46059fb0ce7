// Looking at the threads of a frozen runner from outside.
#ifndef RUNNER_THREADS_H
#define RUNNER_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

enum { THREADS_MAX = 512 };

struct thread_set {
  int n;
  pid_t ids[THREADS_MAX];
};

// The threads that the process has now; false when it is gone or has more than THREADS_MAX.
bool threads_list(pid_t pid, struct thread_set *out);

// Whether every thread that is not in `known` waits in a futex without a time limit, which nothing but another thread
// can end. A thread that runs, sleeps or polls is at work. *culprit: the first that is. The process must be stopped.
bool threads_parked(pid_t pid, const struct thread_set *known, pid_t *culprit);

#endif
