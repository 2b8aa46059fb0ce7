// SPDX-License-Identifier: Apache-2.0
// The judge's side of the runner: starting it, handing it buffers, calling it under the judge's clock, and finding out
// what became of it.
#include "runner/runner.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/build_id.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/rng.h"
#include "runner/buffers.h"
#include "runner/classify.h"
#include "runner/glance.h"
#include "runner/patience.h"
#include "runner/peer.h"
#include "runner/python_start.h"
#include "runner/rest.h"
#include "runner/start.h"
#include "runner/threads.h"
#include "sandbox/sandbox.h"

enum {
  SPINS_A_LOOK = 256,
  BIND_NS_A_BYTE = 8, // mapping a buffer touches its pages: a tenth of this on an idle machine
  PATH_BYTES = 4096
};

// How long the judge watches the done flag without sleeping. A kernel that uses every processor must not share one
// with the judge, so for those it sleeps soon; for all others waking up would cost more than it saves.
static const int64_t SPIN_ALONE_NS = 20000000, SPIN_CROWDED_NS = 30000;

// How long stopping may take where nothing keeps a thread from waiting for a process that it starts: it is microseconds
// if every thread gets a processor. How long the judge looks without sleeping (the time of a call on a GPU goes on
// until then), and how long it sleeps between later looks.
static const int64_t STOP_NS = 10000000000, STOP_AT_ONCE_NS = 1000000;
enum { STOP_PAUSE_NS = 50000 };

// What the runner needs in addition to the candidate's allowance: its libraries, stacks and the allocator's arenas.
static const size_t OVERHEAD_BYTES = (size_t)512 << 20;

_Static_assert((int)RUNNER_MAX_BUFFERS == (int)RUNNER_MAX_TENSORS, "one limit, said twice");
_Static_assert((int)RUNNER_FDS <= (int)CHANNEL_MAX_FDS, "each tensor is a descriptor sent with a message");

struct runner {
  struct runner_options o;
  struct sandbox_child child;
  bool alive, frozen, crowded;
  bool unstoppable;       // a thread did not stop
  bool unlocked, foreign; // runner_python.unlocked; its buffers are not ordinary memory
  bool borrowed;          // buffers are the caller's (runner_bind_shared)
  bool inputs_first;      // runner_set_place
  int socket;
  struct runner_control *control;
  uint32_t number;               // of the last exchange
  struct thread_set own_threads; // before the candidate was loaded
  size_t wanted_bytes;           // of addresses, as limit_memory last set
  size_t own_bytes;              // of addresses, likewise: an interpreter has gigabytes of them
  struct runner_usual usual[RUNNER_CACHES];
  struct buffer buffers[RUNNER_MAX_TENSORS];
  int n_in, n_out;
  uint32_t pattern;     // in the guard bands
  struct glance glance; // at the outputs when the kernel said that it was done
  struct buf log;
};

const char *runner_event_name(enum runner_event e) {
  static const char *const names[] = {
      [RUNNER_OK] = "ok",
      [RUNNER_LOAD_FAILED] = "load failed",
      [RUNNER_CRASHED] = "crashed",
      [RUNNER_EXITED] = "exited",
      [RUNNER_TIMED_OUT] = "timed out",
      [RUNNER_OUT_OF_MEMORY] = "out of memory",
      [RUNNER_FORBIDDEN_CALL] = "forbidden call",
      [RUNNER_OUT_OF_BOUNDS] = "out of bounds",
      [RUNNER_WROTE_INPUT] = "wrote input",
      [RUNNER_LATE_WORK] = "late work",
      [RUNNER_LAUNCH_FAILED] = "launch failed",
      [RUNNER_UNRECORDABLE] = "unrecordable",
      [RUNNER_INVALID_PLAN] = "invalid plan",
      [RUNNER_RAISED] = "raised",
  };
  return names[e];
}

// Waits until the step word answers this exchange with anything but `passing`. False: the process has ended, or the
// time is up (*late), not counting what it waited for a processor.
static bool await_step(struct runner *r, enum runner_step passing, int64_t deadline_ns, int64_t spin_ns, uint32_t *word,
                       bool *late) {
  int64_t start = clock_monotonic_ns();
  struct patience patience;
  patience_init(&patience, r->child.pid, start, deadline_ns - start);
  *late = false;
  for (uint64_t turn = 0;; turn++) {
    *word = atomic_load_explicit(&r->control->step, memory_order_acquire);
    if (*word >> 4 == r->number && *word != runner_word(r->number, passing))
      return true;
    if (turn % SPINS_A_LOOK != 0 && spin_ns > 0)
      continue;
    int64_t now = clock_monotonic_ns();
    if (now - start < spin_ns) {
      sched_yield(); // where the two share a processor, the runner must get on
      continue;
    }
    if (!patience_lasts(&patience, now)) {
      *late = true;
      return false;
    }
    int64_t left = patience.end_ns - now;
    peer_sleep(&r->control->step, *word, left < PATIENCE_LOOK_NS ? left : PATIENCE_LOOK_NS);
    runner_log(r); // a kernel that prints more than a pipe holds must not wait for us
    if (peer_ended(r->child.pid)) {
      *word = atomic_load(&r->control->step);
      return *word >> 4 == r->number && *word != runner_word(r->number, passing);
    }
  }
}

static enum assay_status send_message(struct runner *r, const void *message, size_t bytes, const int *fds, int n_fds,
                                      struct assay_error *err) {
  int e = channel_send(r->socket, MSG_DONTWAIT, message, bytes, fds, n_fds);
  // A peer that is gone is not a failure of the machine: waiting for its answer finds out what happened to it.
  if (!e || channel_is_deaf(e))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot talk to the runner: %s", strerror(e));
}

// The candidate has ended: collects its output and reports why.
static void finish(struct runner *r, bool late, bool loading, struct runner_report *report) {
  struct runner_control copy;
  struct sandbox_end end;
  memcpy(&copy, r->control, sizeof copy);
  copy.message[sizeof copy.message - 1] = '\0';
  runner_log(r);
  if (!late) {
    // It ended by itself; wait a moment until the kernel has recorded the true signal.
    for (int i = 0; i < 100 && !peer_ended(r->child.pid); i++)
      peer_sleep(&r->control->start.number, atomic_load(&r->control->start.number), 1000000);
  }
  bool ended = peer_ended(r->child.pid);
  sandbox_kill(&r->child, &end);
  r->alive = false;
  if (ended || late) {
    // An address of the device is not one of this process.
    const struct buffer_list buffers = {r->buffers, r->foreign ? 0 : r->n_in, r->foreign ? 0 : r->n_out};
    classify_end(&copy, &end, &buffers, late, loading, report);
    return;
  }
  if (r->unstoppable) {
    report->event = RUNNER_LATE_WORK;
    snprintf(report->detail, sizeof report->detail,
             "a thread could not be stopped after the call: it waits for a process that it starts; wait for those "
             "before returning");
    return;
  }
  report->event = RUNNER_CRASHED;
  snprintf(report->detail, sizeof report->detail,
           "gave an answer that the runner does not give: the kernel wrote to memory that is not its own");
}

// To the process; one that is not locked down may have started others, which are of its group unless they left it.
static void signal_all(const struct runner *r, int number) {
  kill(r->unlocked ? -r->child.pid : r->child.pid, number);
}

// Waits until every thread has stopped, or the process has ended. Where the process is locked, none can keep from
// stopping, and the judge sleeps: it must not have the processor that the stopping thread wants, while another works.
// Else a thread may not stop (r->unstoppable): one that waits for another process to execute something does not.
static bool await_stop(struct runner *r, siginfo_t *info) {
  const int how = WSTOPPED | WEXITED | WNOWAIT | (r->unlocked ? WNOHANG : 0);
  const int64_t start_ns = clock_monotonic_ns();
  for (;;) {
    const int64_t spent_ns = clock_monotonic_ns() - start_ns; // before the look: the judge itself may be stopped
    info->si_pid = 0;
    int got = waitid(P_PID, (id_t)r->child.pid, info, how);
    if (got == 0 ? info->si_pid != 0 : errno != EINTR) // a host of the library may have handlers
      return got == 0;
    if (spent_ns < STOP_AT_ONCE_NS) // it takes some ten microseconds
      sched_yield();
    else if (spent_ns < STOP_NS || !r->unlocked)
      nanosleep(&(struct timespec){.tv_nsec = STOP_PAUSE_NS}, NULL);
    else {
      r->unstoppable = true;
      return false;
    }
  }
}

// Sends SIGSTOP and waits until every thread has stopped. False when the process ended instead, or does not stop.
static bool freeze(struct runner *r) {
  if (r->frozen)
    return true;
  signal_all(r, SIGSTOP);
  siginfo_t info = {0};
  if (!await_stop(r, &info) || info.si_code != CLD_STOPPED)
    return false;
  waitid(P_PID, (id_t)r->child.pid, &info, WSTOPPED | WNOHANG); // it may have been killed meanwhile
  r->frozen = true;
  return true;
}

static void thaw(struct runner *r) {
  if (r->frozen)
    signal_all(r, SIGCONT);
  r->frozen = false;
}

// The addresses that the process has mapped; 0 when nobody can tell.
static size_t address_space(pid_t pid) {
  char path[64];
  unsigned long long pages = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
  FILE *f = fopen(path, "re");
  if (!f)
    return 0;
  bool known = fscanf(f, "%llu", &pages) == 1;
  fclose(f);
  return known ? (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

// The soft limit, which moves with the buffers: the hard one could not be raised again without CAP_SYS_RESOURCE. The
// candidate cannot raise either (sandbox/lock_runner.c).
static void limit_memory(struct runner *r) {
  size_t buffers = 0;
  if (r->unlocked) // a driver reserves addresses by the terabyte
    return;
  for (int i = 0; i < r->n_in + r->n_out; i++)
    buffers += r->buffers[i].map_bytes + 2 * RUNNER_GUARD_BYTES;
  size_t own = r->own_bytes > OVERHEAD_BYTES ? r->own_bytes : OVERHEAD_BYTES;
  const rlim_t bytes =
      r->o.memory_bytes + own + (size_t)r->o.threads * (RUNNER_STACK_BYTES + ((size_t)64 << 20)) + buffers;
  r->wanted_bytes = bytes;
  struct rlimit limit;
#if defined(__SANITIZE_ADDRESS__)
  return; // the sanitizer's shadow memory is beyond any limit
#endif
  if (prlimit(r->child.pid, RLIMIT_AS, NULL, &limit) != 0)
    return;
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  prlimit(r->child.pid, RLIMIT_AS, &limit, NULL);
}

size_t runner_wanted_bytes(const struct runner *r) {
  return r ? r->wanted_bytes : 0;
}

static enum assay_status start_library(struct runner *r, int socket, struct assay_error *err) {
  char threads[16], omp[32];
  // libgomp's threads park in a futex between loops instead of spinning, which would look like late work.
  char wait_policy[] = "OMP_WAIT_POLICY=passive";
  // Without these lists of free blocks, which are used unseen, free() looks at what follows a block: a kernel that
  // wrote past one of its own ends by a signal there, and is not right by chance. Restartable sequences: lock_runner.c.
  char library_settings[] = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:" SANDBOX_NO_SEQUENCES;
  char program[PATH_BYTES], library[PATH_BYTES];
  snprintf(threads, sizeof threads, "%d", r->o.threads);
  snprintf(omp, sizeof omp, "OMP_NUM_THREADS=%d", r->o.threads);
  snprintf(program, sizeof program, "%s", r->o.program);
  snprintf(library, sizeof library, "%s", r->o.library);
  char *argv[] = {program, library, threads, (char *)build_id, NULL},
       *envp[] = {omp, wait_policy, library_settings, NULL};
  // Not their folders: the store may lie next to the program.
  const char *read_paths[] = {program, library, NULL};
  // Threads beyond this are late work anyway; without a limit, small ones use up the machine's process numbers.
  struct sandbox_policy policy = {.role = SANDBOX_RUNNER,
                                  .folder = r->o.folder,
                                  .read_paths = read_paths,
                                  .processes = THREADS_MAX + 2 * r->o.threads};
  return sandbox_spawn(&policy, argv, envp, &socket, 1, &r->child, err);
}

static enum assay_status start_process(struct runner *r, struct assay_error *err) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a socket: %s", strerror(errno));
  enum assay_status status =
      r->o.python ? python_start(&r->o, pair[1], &r->child, err) : start_library(r, pair[1], err);
  close(pair[1]);
  r->socket = pair[0];
  r->alive = !status;
  return status;
}

// The result of an exchange. Without an answer the runner ended, or was late.
struct answer {
  bool answered, late;
  uint32_t word;
};

static bool answer_is(const struct runner *r, const struct answer *a, enum runner_step step) {
  return a->answered && a->word == runner_word(r->number, step);
}

// One exchange before any call: a message without tensors, with a descriptor unless that is -1; waits for the answer.
static enum assay_status exchange(struct runner *r, struct runner_message *m, int fd, int64_t timeout_ns,
                                  struct answer *out, struct assay_error *err) {
  *out = (struct answer){0};
  m->number = ++r->number;
  enum assay_status status = send_message(r, m, sizeof *m, &fd, fd >= 0, err);
  if (!status)
    out->answered = await_step(r, 0, clock_monotonic_ns() + timeout_ns, 0, &out->word, &out->late);
  return status;
}

// Before the candidate's code is in the process: its constructors could forge an answer that blames the machine.
static enum assay_status lock_down(struct runner *r, struct assay_error *err) {
  struct runner_message m = {.verb = RUNNER_LOCK};
  struct answer a;
  enum assay_status status = exchange(r, &m, -1, r->o.load_timeout_ns, &a, err);
  if (status || answer_is(r, &a, STEP_READY))
    return status;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner cannot lock itself down: %.400s",
                   a.answered ? r->control->message : "no answer");
}

static enum assay_status did_not_start(struct runner *r, bool late, struct assay_error *err) {
  const char *log = runner_log(r);
  if (r->o.python)
    return python_start_failed(r->o.python, log, late, err);
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner %s did not start%s; is it built for this machine?",
                   r->o.program, late ? " in time" : "");
}

static enum assay_status attach(struct runner *r, struct assay_error *err) {
  struct runner_message m = {.verb = RUNNER_ATTACH};
  int64_t timeout_ns = r->o.python ? r->o.python->start_timeout_ns : r->o.load_timeout_ns;
  struct answer a = {0};
  int fd = -1;
  void *page = NULL;
  enum assay_status status = peer_share(sizeof *r->control, &page, &fd, err);
  r->control = page;
  if (!status)
    status = exchange(r, &m, fd, timeout_ns, &a, err);
  if (fd >= 0)
    close(fd);
  if (status)
    return status;
  if (!a.answered || (!r->unlocked && !threads_list(r->child.pid, &r->own_threads)))
    return did_not_start(r, a.late, err);
  status = r->unlocked ? ASSAY_OK : lock_down(r, err);
  if (status)
    return status;
  r->own_bytes = address_space(r->child.pid);
  limit_memory(r);
  if (!freeze(r))
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner %s ended at once", r->o.program);
  return ASSAY_OK;
}

enum assay_status runner_load(struct runner *r, const struct runner_usual usual[RUNNER_CACHES],
                              struct runner_report *report, struct assay_error *err) {
  struct runner_message m = {.verb = RUNNER_LOAD};
  struct answer a;
  memset(report, 0, sizeof *report);
  memcpy(r->usual, usual, sizeof r->usual);
  thaw(r);
  enum assay_status status = exchange(r, &m, -1, r->o.load_timeout_ns, &a, err);
  if (status)
    return status;
  if (answer_is(r, &a, STEP_LOADED)) {
    if (!freeze(r))
      finish(r, false, true, report);
    return ASSAY_OK;
  }
  if (a.answered) {
    snprintf(report->detail, sizeof report->detail, "%.250s", r->control->message);
    report->event = RUNNER_LOAD_FAILED;
    return ASSAY_OK;
  }
  finish(r, a.late, true, report);
  return ASSAY_OK;
}

enum assay_status runner_open(const struct runner_options *o, struct runner **out, struct assay_error *err) {
  struct runner *r = base_calloc(1, sizeof *r);
  if (!r)
    return error_nomem(err, "a runner");
  r->o = *o;
  r->o.threads = o->threads < 1 ? 1 : o->threads;
  r->socket = -1;
  r->crowded = r->o.threads > 1;
  r->unlocked = o->python && o->python->unlocked;
  r->foreign = o->python && o->python->device->gpu;
  enum assay_status status = start_process(r, err);
  if (!status)
    status = attach(r, err);
  r->o.python = NULL;
  if (status) {
    runner_close(r);
    return status;
  }
  *out = r;
  return ASSAY_OK;
}

static void drop_buffers(struct runner *r) {
  for (int i = 0; i < r->n_in + r->n_out && !r->borrowed; i++)
    buffer_destroy(&r->buffers[i]);
  r->n_in = r->n_out = 0;
  r->borrowed = false;
}

void runner_close(struct runner *r) {
  struct sandbox_end end;
  if (!r)
    return;
  if (r->alive)
    sandbox_kill(&r->child, &end);
  drop_buffers(r);
  if (r->control)
    munmap(r->control, sizeof *r->control);
  if (r->socket >= 0)
    close(r->socket);
  if (r->child.output > 0)
    close(r->child.output);
  buf_release(&r->log);
  base_free(r);
}

static enum assay_status make_buffers(struct runner *r, int n_in, const struct tensor_type *in, int n_out,
                                      const struct tensor_type *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n_in + n_out && !status; i++) {
    const struct tensor_type *t = i < n_in ? &in[i] : &out[i - n_in];
    status = buffer_create(t, i < n_in, &r->buffers[i], err);
    if (status)
      break;
    if (i < n_in && r->inputs_first)
      r->buffers[i].offset = 0;
    *(i < n_in ? &r->n_in : &r->n_out) += 1;
  }
  return status;
}

// The buffers of these tensors, RUNNER_FDS at a time. `m` has room for so many.
static enum assay_status send_buffers(struct runner *r, const struct tensor_type *in, const struct tensor_type *out,
                                      struct runner_message *m, struct assay_error *err) {
  int total = r->n_in + r->n_out;
  enum assay_status status = ASSAY_OK;
  for (int first = 0; first < total && !status; first += m->n) {
    int fds[RUNNER_FDS];
    *m = (struct runner_message){.verb = RUNNER_BUFFERS, .n_in = r->n_in, .n_out = r->n_out, .first = first};
    for (m->n = 0; m->n < RUNNER_FDS && first + m->n < total; m->n++) {
      int i = first + m->n;
      const struct tensor_type *t = i < r->n_in ? &in[i] : &out[i - r->n_in];
      struct runner_tensor_message *tm = &m->tensors[m->n];
      *tm = (struct runner_tensor_message){.dtype = (int32_t)t->dtype,
                                           .rank = t->shape.rank,
                                           .data_bytes = r->buffers[i].data_bytes,
                                           .map_bytes = r->buffers[i].map_bytes,
                                           .offset = r->buffers[i].offset};
      memcpy(tm->dims, t->shape.dims, sizeof tm->dims);
      fds[m->n] = r->buffers[i].fd;
    }
    status = send_message(r, m, sizeof *m + (size_t)m->n * sizeof *m->tensors, fds, m->n, err);
  }
  return status;
}

// The candidate said that it failed.
static void raised(struct runner *r, struct runner_report *report) {
  struct sandbox_end end;
  runner_log(r);
  sandbox_kill(&r->child, &end);
  r->alive = false;
  report->event = RUNNER_RAISED;
  snprintf(report->detail, sizeof report->detail, "%.250s", r->control->message);
  if (r->foreign)
    classify_raised(report);
}

enum assay_status runner_set_workload(struct runner *r, const char *text, struct assay_error *err) {
  size_t n = strlen(text);
  if (n >= sizeof r->control->workload)
    return error_set(err, ASSAY_ERR_LIMIT, "the task has too many names for a Python candidate (%zu bytes of them)", n);
  memcpy(r->control->workload, text, n + 1);
  return ASSAY_OK;
}

void runner_set_place(struct runner *r, bool inputs_first) {
  r->inputs_first = inputs_first;
}

// It says that it could not map the buffers. (Or forged that answer.)
static void not_bound(struct runner *r, struct runner_report *report) {
  struct sandbox_end end;
  sandbox_kill(&r->child, &end);
  r->alive = false;
  report->event = RUNNER_OUT_OF_MEMORY;
  if (r->foreign && r->control->message[0])
    snprintf(report->detail, sizeof report->detail, "%.250s", r->control->message);
  else // the limit leaves room for the buffers, so the candidate has filled it
    snprintf(report->detail, sizeof report->detail, "kept so much memory that the next call's buffers did not fit");
}

// Hands over the buffers that it has now.
static enum assay_status bind_buffers(struct runner *r, const struct tensor_type *in, const struct tensor_type *out,
                                      struct runner_report *report, struct assay_error *err) {
  struct answer a = {0};
  struct runner_message *m = base_calloc(1, sizeof *m + RUNNER_FDS * sizeof *m->tensors);
  struct runner_message bind = {.verb = RUNNER_BIND, .n_in = r->n_in, .n_out = r->n_out};
  if (!m)
    return error_nomem(err, "a message to the runner");
  limit_memory(r);
  int64_t timeout_ns = r->o.load_timeout_ns;
  for (int i = 0; i < r->n_in + r->n_out; i++)
    timeout_ns += (int64_t)r->buffers[i].map_bytes * BIND_NS_A_BYTE;
  r->control->message[0] = '\0';
  thaw(r);
  enum assay_status status = send_buffers(r, in, out, m, err);
  if (!status)
    status = exchange(r, &bind, -1, timeout_ns, &a, err);
  base_free(m);
  if (status)
    return status;
  if (!a.answered || !freeze(r))
    finish(r, a.late, false, report);
  else if (answer_is(r, &a, STEP_NOT_BOUND))
    not_bound(r, report);
  else if (answer_is(r, &a, STEP_RAISED))
    raised(r, report);
  return ASSAY_OK;
}

static enum assay_status check_count(int n, struct assay_error *err) {
  if (n <= RUNNER_MAX_TENSORS)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_LIMIT, "a task for C kernels has at most %d inputs and outputs, not %d",
                   RUNNER_MAX_TENSORS, n);
}

enum assay_status runner_bind(struct runner *r, int n_in, const struct tensor_type *in, int n_out,
                              const struct tensor_type *out, struct runner_report *report, struct assay_error *err) {
  memset(report, 0, sizeof *report);
  enum assay_status status = check_count(n_in + n_out, err);
  if (status)
    return status;
  drop_buffers(r);
  status = make_buffers(r, n_in, in, n_out, out, err);
  return status ? status : bind_buffers(r, in, out, report, err);
}

enum assay_status runner_bind_shared(struct runner *r, const struct tensor_type *in, const struct tensor_type *out,
                                     const struct shared_buffers *memory, struct runner_report *report,
                                     struct assay_error *err) {
  const int n_in = memory->n_in, n_out = memory->n_out;
  assert(r->unlocked); // whose threads nobody looks at, for that needs the outputs
  memset(report, 0, sizeof *report);
  enum assay_status status = check_count(n_in + n_out, err);
  if (status)
    return status;
  drop_buffers(r);
  r->borrowed = true;
  r->n_in = n_in;
  r->n_out = n_out;
  for (int i = 0; i < n_in + n_out; i++) {
    const struct shared_memory *m = i < n_in ? &memory->in[i] : &memory->out[i - n_in];
    r->buffers[i] = (struct buffer){
        .fd = m->fd, .map_bytes = m->map_bytes, .offset = m->offset, .data_bytes = m->bytes, .input = i < n_in};
  }
  return bind_buffers(r, in, out, report, err);
}

void *runner_input(struct runner *r, int i) {
  assert(i >= 0 && i < r->n_in);
  return r->buffers[i].map + r->buffers[i].offset;
}

void *runner_output(struct runner *r, int i) {
  assert(i >= 0 && i < r->n_out);
  return r->buffers[r->n_in + i].map + r->buffers[r->n_in + i].offset;
}

void runner_poison(struct runner *r, uint32_t pattern) {
  assert(!r->borrowed);
  r->pattern = pattern;
  for (int i = 0; i < r->n_in + r->n_out; i++)
    buffer_poison(&r->buffers[i], pattern);
}

static uint64_t outputs_digest(const struct runner *r) {
  uint64_t digest = 0;
  for (int i = r->n_in; i < r->n_in + r->n_out; i++)
    digest = rng_mix64(digest ^ classify_digest(&r->buffers[i]));
  return digest;
}

// Whether threads must be watched for a while, not only looked at. Always where the candidate has threads of its own;
// now and then for the runner's and its pool's, whose code the candidate cannot change but whose state it can.
static bool watch_closely(const struct runner *r) {
  struct thread_set now;
  enum { ONE_IN = 8 };
  return !threads_list(r->child.pid, &now) || now.n > r->own_threads.n ||
         rng_mix64((uint64_t)clock_monotonic_ns()) % ONE_IN == 0;
}

// The runner's own thread waits for the next message, and the others are parked. The former usually comes there before
// it is stopped. Were it elsewhere when it is let go again, it could work on the fresh inputs before it is called.
static bool rests(const struct runner *r) {
  return threads_first_waits(r->child.pid, RUNNER_SOCKET) && threads_parked(r->child.pid);
}

// Threads that are neither gone nor parked get a moment to come to rest, with the outputs watched: OpenMP's workers
// need a few microseconds after a loop. True: everything rests and nothing was written. *work_ns: of processors, that
// it was at work until then.
static bool comes_to_rest(struct runner *r, int64_t *work_ns) {
  struct rest rest = {.parked = rests(r)};
  if (rest.parked && !watch_closely(r))
    return true;
  uint64_t before = outputs_digest(r);
  enum rest_state state = REST_NOT_YET;
  struct thread_figures looks[2];
  threads_switches(r->child.pid, &looks[0]);
  for (int i = 0; state == REST_NOT_YET; i++) {
    const int64_t pause_ns = rest_pause_ns(&rest);
    int64_t run = threads_process_ns(r->child.pid), wall = clock_monotonic_ns();
    thaw(r);
    nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
    if (!freeze(r))
      return false;
    run = threads_process_ns(r->child.pid) - run;
    wall = clock_monotonic_ns() - wall;
    const bool parked = rests(r); // first: it waits until stopped threads have left their processors
    threads_switches(r->child.pid, &looks[(i + 1) % 2]);
    state = rest_look(&rest, parked, threads_stood_still(&looks[i % 2], &looks[(i + 1) % 2]), run, wall);
  }
  *work_ns = rest_work_ns(&rest);
  return state == REST_REACHED && before == outputs_digest(r);
}

// After a call that returned: checks the bands, and whether anything of the candidate still runs.
static void inspect(struct runner *r, struct runner_report *report) {
  int64_t distance, late_ns = 0;
  if (r->borrowed)
    return;
  for (int i = 0; i < r->n_in + r->n_out && report->event == RUNNER_OK; i++)
    if (!buffer_bands_intact(&r->buffers[i], r->pattern, &distance)) {
      report->event = RUNNER_OUT_OF_BOUNDS;
      snprintf(report->detail, sizeof report->detail, "wrote %lld byte%s %s %s %d",
               (long long)(distance < 0 ? -distance : distance), distance == 1 || distance == -1 ? "" : "s",
               distance < 0 ? "before the start of" : "after the end of", i < r->n_in ? "input" : "output",
               i < r->n_in ? i : i - r->n_in);
    }
  if (report->event == RUNNER_OK && !glance_holds(&r->glance)) {
    report->event = RUNNER_LATE_WORK;
    snprintf(report->detail, sizeof report->detail, "wrote to an output after it had said that it was done");
  }
  if (report->event == RUNNER_OK && !comes_to_rest(r, &late_ns)) {
    if (!r->frozen && peer_ended(r->child.pid)) { // it was not at work any more: it ended
      finish(r, false, false, report);
      return;
    }
    report->event = RUNNER_LATE_WORK;
    snprintf(
        report->detail, sizeof report->detail,
        "a thread of the kernel was still at work after it had returned; join threads before returning, or park them "
        "on memory of their own");
  }
  report->elapsed_ns += late_ns; // what was left for after the call
  if (report->event != RUNNER_OK) {
    struct sandbox_end end;
    sandbox_kill(&r->child, &end);
    r->alive = false;
  }
}

// Runs the armed call and reads the clock around it. False: no answer.
static bool timed_call(struct runner *r, int64_t *began_ns, int64_t *elapsed_ns, uint32_t *word, bool *late) {
  int64_t cpu = threads_process_ns(r->child.pid);
  int64_t start = clock_monotonic_ns();
  start_raise(&r->control->start, r->number);
  bool done =
      await_step(r, STEP_ARMED, start + r->o.call_timeout_ns, r->crowded ? SPIN_CROWDED_NS : SPIN_ALONE_NS, word, late);
  *elapsed_ns = clock_monotonic_ns() - start;
  *began_ns = start;
  // The last digits of our clock, which the kernel cannot know.
  glance_take(&r->glance, r->buffers + r->n_in, r->borrowed ? 0 : r->n_out,
              (uint64_t)(start + *elapsed_ns) << 32 ^ r->pattern);
  enum { WORTH_A_LOOK_NS = 30000 };
  if (done && *elapsed_ns > WORTH_A_LOOK_NS)
    r->crowded = (double)(threads_process_ns(r->child.pid) - cpu) > 1.3 * (double)*elapsed_ns;
  return done && (*word == runner_word(r->number, STEP_DONE) || *word == runner_word(r->number, STEP_RAISED));
}

// For how long the process's first thread and this one were ready to run so far and had no processor.
static int64_t waited_ns(const struct runner *r) {
  return threads_ready_ns(r->child.pid, r->child.pid) + threads_ready_ns(getpid(), gettid());
}

// Nothing that grows with the inputs is the runner's share: a candidate in its place would work in the time that
// reading them takes.
int64_t runner_charge(const struct runner_usual *usual, int64_t arming_ns, int64_t first_ns, int64_t elapsed_ns) {
  int64_t charged_ns = 0;
  if (usual->arming_ns > 0 && arming_ns > usual->arming_ns)
    charged_ns = arming_ns - usual->arming_ns;
  if (usual->first_ns > 0 && first_ns - usual->first_ns > elapsed_ns + charged_ns)
    charged_ns = first_ns - usual->first_ns - elapsed_ns;
  return charged_ns;
}

enum assay_status runner_call(struct runner *r, enum runner_cache cache, bool null_call, struct runner_report *report,
                              struct assay_error *err) {
  struct runner_message m = {.verb = RUNNER_CALL, .null_call = null_call};
  uint32_t word;
  bool late = false;
  memset(report, 0, sizeof *report);
  assert(r->alive);
  for (int i = 0; i < r->n_in + r->n_out && !r->borrowed; i++)
    if (cache == RUNNER_COLD)
      buffer_flush(&r->buffers[i]);
    else
      buffer_touch(&r->buffers[i]);
  m.number = ++r->number;
  const int64_t first_ns = threads_first_ns(r->child.pid), waited = null_call ? waited_ns(r) : 0;
  start_prepare(&r->control->start);
  // First the message: it finds its way while nobody has the inputs, and a thread that is quicker than the runner's has
  // less time to work on them before the clock starts.
  enum assay_status status = send_message(r, &m, sizeof m, NULL, 0, err);
  if (status)
    return status;
  int64_t let_go = clock_monotonic_ns();
  thaw(r);
  bool armed = await_step(r, 0, let_go + r->o.call_timeout_ns, SPIN_ALONE_NS, &word, &late) &&
               word == runner_word(r->number, STEP_ARMED);
  report->arming_ns = clock_monotonic_ns() - let_go;
  if (!armed || !timed_call(r, &report->began_ns, &report->elapsed_ns, &word, &late) || !freeze(r)) {
    finish(r, late, false, report);
    return ASSAY_OK;
  }
  if (word == runner_word(r->number, STEP_RAISED)) {
    raised(r, report);
    return ASSAY_OK;
  }
  report->first_ns = threads_first_ns(r->child.pid) - first_ns;
  report->waited_ns = null_call ? waited_ns(r) - waited : 0;
  report->charged_ns = runner_charge(&r->usual[cache], report->arming_ns, report->first_ns, report->elapsed_ns);
  report->elapsed_ns += report->charged_ns;
  report->began_ns -= report->charged_ns;

  runner_log(r);
  if (!null_call) // in which nothing of the candidate runs
    inspect(r, report);
  return ASSAY_OK;
}

const char *runner_log(struct runner *r) {
  peer_read_log(r->child.output, &r->log);
  return buf_str(&r->log);
}
