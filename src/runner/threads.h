// SPDX-License-Identifier: Apache-2.0
// Looking at the threads of a frozen runner from outside.
#ifndef RUNNER_THREADS_H
#define RUNNER_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { THREADS_MAX = 512 };

struct thread_set {
  int n;
  pid_t ids[THREADS_MAX];
};

// The threads that the process has now; false when it is gone or has more than THREADS_MAX.
bool threads_list(pid_t pid, struct thread_set *out);

// Whether every thread but the main one waits in a futex without a time limit, which nothing but another thread can
// end. A thread that runs, sleeps or polls is at work. So is one that waits on a word of shared memory, where fresh
// inputs would end its wait, and one whose word has changed already; and, where there are several, a thread for which a
// signal waits. The process must be stopped; false also when it is gone.
bool threads_parked(pid_t pid);

// Whether the process's first thread is where the runner's loop waits for a message: in recvmsg on this descriptor, and
// would stay there. The process must be stopped.
bool threads_first_waits(pid_t pid, int socket);

// Processor time of the process so far, in nanoseconds; 0: it is gone. A thread that only seems to wait (a futex call
// that returns at once, over and over) shows here.
int64_t threads_process_ns(pid_t pid);

// The same of the process's first thread alone, exact while the process is stopped; 0 also where the kernel does not
// say.
int64_t threads_first_ns(pid_t pid);

// For how long a thread of it has been ready to run so far and had no processor; 0 also where the kernel does not say.
int64_t threads_ready_ns(pid_t pid, pid_t id);

// A figure of each thread; of.n is 0 where they cannot be listed.
struct thread_figures {
  struct thread_set of;
  int64_t figure[THREADS_MAX];
};

// For how long each has been ready to run so far and had no processor, in nanoseconds.
void threads_wait_times(pid_t pid, struct thread_figures *out);

// The longest time that one thread waited between two looks; one that is new has waited in all of its life.
int64_t threads_waited_ns(const struct thread_figures *before, const struct thread_figures *after);

// How often each thread but the first has given up its processor so far.
void threads_switches(pid_t pid, struct thread_figures *out);

// Whether no thread has run code of its own between two looks at a stopped process, which was continued and stopped
// again between them. A thread that waits in a futex goes back to sleep when it is continued, and is stopped: it gives
// up its processor twice. One that another has just woken, on a word that nobody changed, seems to wait, too, but goes
// on with its own code. It may look parked again at the next look only if it was woken again by one that has slept
// more often than that, or that was itself woken just before; then processor time tells (runner/rest.h).
bool threads_stood_still(const struct thread_figures *before, const struct thread_figures *after);

#endif
