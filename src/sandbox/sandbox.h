// SPDX-License-Identifier: Apache-2.0
// Starting, limiting and ending children that are not trusted.
//
// A child gets an empty environment but for what the policy names, its own session, process group and temporary
// folder, resource limits, no network, and as much isolation as the machine allows: pid, mount-free user, network and
// ipc namespaces, Landlock for files, seccomp for system calls. What is not available is left out and *said*.
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "sandbox/quota.h"

enum sandbox_role {
  SANDBOX_BUILDER, // may run programs (the compiler) and write in its folder
  SANDBOX_RUNNER,  // may read libraries until it says it is ready; then memory, threads and time only
  SANDBOX_DEVICE,  // our own program with a device's driver: as a builder, and the driver's files and its own in /proc;
                   // no pid namespace
};

struct sandbox_policy {
  enum sandbox_role role;
  const char *folder;              // the child's temporary folder and working directory; made by the caller
  const char *const *read_paths;   // more that it may read (builder: and execute), NULL-terminated; may be NULL
  int64_t cpu_seconds;             // RLIMIT_CPU; 0: none
  size_t memory_bytes;             // RLIMIT_AS; 0: none
  size_t file_bytes;               // RLIMIT_FSIZE
  const char *const *device_paths; // files of a driver: reading, writing and ioctl; NULL-terminated; may be NULL
  bool without_landlock;           // where a driver does not work under it; the verdict has to say so
  int processes; // RLIMIT_NPROC within its user namespace (the kernel exempts root's own children); 0: none
  struct sandbox_quota quota; // looked at while sandbox_wait waits, and once more at the end
};

// What is in force for a policy on this machine, in words for the verdict: "landlock-7 seccomp pidns netns userns ..."
// and what is missing.
struct sandbox_strength {
  int landlock_abi; // 0: none
  bool seccomp, user_namespace, pid_namespace, network_namespace, ipc_namespace;
  char text[256];
};
void sandbox_measure(struct sandbox_strength *out);

// Others' right of way: while they want it, the child's process group stands still (SIGSTOP).
struct sandbox_pauses {
  bool (*wanted)(void *arg);   // asked every few ms
  void (*give_way)(void *arg); // returns when the child may go on
  void *arg;
};

struct sandbox_child {
  pid_t pid;  // as the judge sees it
  int pidfd;  // -1 when none
  int output; // read end of the pipe that is the child's stdout and stderr; non-blocking
  struct sandbox_quota quota;
  const char *folder;                  // the policy's, borrowed: lives until the child is waited for or killed
  const struct sandbox_pauses *pauses; // for sandbox_wait, set by the caller; borrowed; NULL: it never stands still
};

// How a child ended.
struct sandbox_end {
  bool exited; // by itself, with `code`
  int code;
  int signal;                   // ended by this signal otherwise
  bool deadline;                // we ended it because its time was up
  bool lost;                    // nobody knows: something else in this process collected it
  int64_t starved_ns;           // of its time: its processes were ready and had no processor (0 in short lives)
  int64_t paused_ns;            // it stood still for so long, which was not of its time
  char quota[QUOTA_TEXT_BYTES]; // it exceeded its quota by this, and we ended it if it had not ended; "": it did not
  int64_t cpu_ns, peak_bytes;   // user + system time, largest resident size
};

// Starts argv[0] (a path) with the given environment. fds[i] becomes descriptor 3 + i in the child; nothing else but
// stdin (/dev/null), stdout and stderr is open there. Landlock, limits and namespaces are in force before exec;
// a SANDBOX_RUNNER installs its seccomp filter itself (sandbox_lock_runner) before it loads the candidate.
// The child dies with the *thread* that called this. At most 16 descriptors. ASSAY_ERR_ENVIRONMENT when the
// child cannot be started, with the step that failed (no such program); *out is then untouched.
enum assay_status sandbox_spawn(const struct sandbox_policy *p, char *const argv[], char *const envp[], const int *fds,
                                int n_fds, struct sandbox_child *out, struct assay_error *err);

// Whether this process has limits (ulimit) that are narrower than the policy's, so that its children end by those: the
// first of them, in words.
enum { SANDBOX_NARROWER_BYTES = 96 };
bool sandbox_is_narrower(const struct sandbox_policy *p, char text[static SANDBOX_NARROWER_BYTES]);

// Whether children can have the stack that they have everywhere (THREAD_STACK_BYTES), or this process's own hard limit
// is lower: ASSAY_ERR_ENVIRONMENT, as then from sandbox_spawn.
enum assay_status sandbox_gives_stack(struct assay_error *err);

// Waits until the child has ended or the deadline (clock_monotonic_ns) has passed, then kills everything that is left
// of it and reaps it. The time from now to the deadline is the child's: what it waits for processors that others have
// is given back, up to LIMIT_MOST times as much in all (base/limit.h), and what it stands still for others (c->pauses).
// Output is appended to `log` up to log_bytes (the rest is dropped and said so). log may be NULL.
struct buf;
enum assay_status sandbox_wait(struct sandbox_child *c, int64_t deadline_ns, struct buf *log, size_t log_bytes,
                               struct sandbox_end *end, struct assay_error *err);

// Ends the child at once and reaps it. Safe to call twice.
void sandbox_kill(struct sandbox_child *c, struct sandbox_end *end);

// Called in the runner process, single-threaded, before untrusted code is loaded: from here on only memory, threads
// and time. A forbidden call raises SIGSYS. ASSAY_ERR_ENVIRONMENT when the kernel has no seccomp.
// timed: the process is stopped between calls. No thread may use restartable sequences there, so it must have been
// started with SANDBOX_NO_SEQUENCES: the C library ends a process whose threads are refused what the first one has.
enum assay_status sandbox_lock_runner(bool timed, struct assay_error *err);

// For GLIBC_TUNABLES.
#define SANDBOX_NO_SEQUENCES "glibc.pthread.rseq=0"

// Called by a child that is about to work on something untrusted, single-threaded: from here on it may read files at
// and beneath these paths (NULL-terminated; as far as its policy let it), and write and execute none. Nothing where the
// kernel has no Landlock.
enum assay_status sandbox_lock_files(const char *const *read_paths, struct assay_error *err);

// From here on no process without special rights can read this one's memory or descriptors. That holds also for a
// process of the same user that neither Landlock nor a system call filter restricts. It concerns the whole process and
// lasts: no core dump, no debugger. So only what decides about the process calls it (assay_judge_begin says when).
void sandbox_hide_self(void);

// How many children of this process were collected by something else in it, so that nobody knows how they ended.
unsigned sandbox_lost(void);

// A new empty folder (mode 0700) under `parent`, heap path; and its removal with everything in it. Its name says which
// process made it.
enum assay_status sandbox_folder_make(const char *parent, char **path, struct assay_error *err);
void sandbox_folder_remove(const char *path);
// Whether what lies there can be executed, and loaded as a library: not where the file system is mounted noexec.
bool sandbox_folder_runs(const char *path);

// Removes the folders under `parent` that this user's processes made and left when they were killed. Those whose maker
// lives stay, and those of which this process cannot tell: made in another PID namespace, or on a file system that
// other machines may share. Any number of processes may do so at once.
void sandbox_folders_sweep(const char *parent);

// Removes those under `parent` that one process made, which has ended. sandbox_maker is asked in that process, while it
// lives, and writes how the names of its folders begin: "" where it cannot be known.
enum { SANDBOX_MAKER_BYTES = 64 };
void sandbox_maker(char out[static SANDBOX_MAKER_BYTES]);
void sandbox_folders_remove_of(const char *parent, const char *maker);

#endif
