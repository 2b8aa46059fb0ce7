// SPDX-License-Identifier: Apache-2.0
// The runner's side of the protocol: attaching, locking down, mapping buffers, and calls.
#include "runner/serve.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/channel.h"
#include "base/last_words.h"
#include "runner/pool.h"
#include "runner/protocol.h"
#include "runner/residue.h"
#include "runner/start.h"
#include "sandbox/sandbox.h"

struct state {
  const struct serve_host *host;
  struct runner_control *control;
  struct pool *pool;
  struct assay_args args;
  struct assay_tensor tensors[RUNNER_MAX_TENSORS];
  // What the candidate is given: a copy, with an empty one before the inputs, between them and the outputs, and after
  // those. Otherwise one that takes inputs[n_inputs] would find the first output there, and be right by chance.
  struct assay_tensor shown[RUNNER_MAX_TENSORS + 3];
  int64_t dims[RUNNER_MAX_TENSORS][SHAPE_MAX_RANK], strides[RUNNER_MAX_TENSORS][SHAPE_MAX_RANK];
  struct {
    struct serve_mapping mapping;
    size_t data_bytes;
  } maps[RUNNER_MAX_TENSORS];
  int n_maps;
  bool all_mapped; // of the buffers that came since the first
  unsigned binds;
  bool fresh; // no call since the last bind
};

// The one mutable global: a signal handler and the callback of assay_args.parallel have no other way to their state,
// and this process serves one candidate only.
static struct state state;

static void step(uint32_t number, enum runner_step s) {
  atomic_store(&state.control->step, runner_word(number, s));
  syscall(SYS_futex, &state.control->step, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void parallel(const struct assay_args *args, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end),
                     void *arg) {
  (void)args;
  pool_run(state.pool, n, body, arg);
}

// Notes what is known and dies of the same signal. The judge treats the notes as hints.
static void on_signal(int number, siginfo_t *info, void *context) {
  (void)context;
  struct runner_control *c = state.control;
  c->address = (uint64_t)(uintptr_t)info->si_addr;
  c->system_call = last_words_system_call(number, info);
  c->memory_exhausted = last_words_memory_exhausted();
  c->signal = number;
  last_words_die(number);
}

static bool install_handlers(void) {
  const size_t bytes = (size_t)64 << 10;
  void *stack = malloc(bytes);
  return stack && last_words_install(on_signal, true, stack, bytes);
}

// Between two guards; inputs read-only (the memfd is sealed against anything else).
static bool map_file(int fd, uint64_t map_bytes, bool writable, struct serve_mapping *out) {
  size_t total = map_bytes + 2 * RUNNER_GUARD_BYTES;
  unsigned char *reserved = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return false;
  unsigned char *base = reserved + RUNNER_GUARD_BYTES;
  int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  *out = (struct serve_mapping){(uint64_t)(uintptr_t)reserved, total, (uint64_t)(uintptr_t)base, map_bytes};
  if (mmap(base, map_bytes, prot, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) != MAP_FAILED)
    return true;
  munmap(reserved, total);
  return false;
}

static void unbind(void) {
  for (int i = 0; i < state.n_maps; i++) {
    struct serve_mapping *m = &state.maps[i].mapping;
    if (state.host->unmap)
      state.host->unmap(state.host->arg, m);
    else
      munmap((void *)(uintptr_t)m->reserved, m->reserved_bytes);
  }
  state.n_maps = 0;
}

static int map_buffer(int i, const struct runner_tensor_message *t, int fd, bool writable) {
  struct serve_mapping *m = &state.maps[i].mapping;
  struct runner_control *c = state.control;
  bool mapped = state.host->map
                    ? state.host->map(state.host->arg, fd, t->map_bytes, writable, m, c->message, sizeof c->message)
                    : map_file(fd, t->map_bytes, writable, m);
  if (!mapped)
    return -1;
  state.maps[i].data_bytes = t->data_bytes;
  state.n_maps = i + 1;
  state.control->base[i] = m->base;
  struct assay_tensor *out = &state.tensors[i];
  *out = (struct assay_tensor){.data = (unsigned char *)(uintptr_t)m->base + t->offset,
                               .dims = state.dims[i],
                               .strides = state.strides[i],
                               .rank = t->rank,
                               .dtype = t->dtype};
  int64_t stride = 1;
  for (int d = t->rank - 1; d >= 0; d--) {
    state.dims[i][d] = t->dims[d];
    state.strides[i][d] = stride;
    stride *= t->dims[d];
  }
  return 0;
}

static void take_buffers(const struct runner_message *m, const int *fds, int n_fds) {
  if (m->first == 0) {
    unbind();
    state.all_mapped = true;
  }
  state.all_mapped = state.all_mapped && n_fds == m->n;
  for (int i = 0; i < m->n && state.all_mapped; i++)
    state.all_mapped = map_buffer(m->first + i, &m->tensors[i], fds[i], m->first + i >= m->n_in) == 0;
  for (int i = 0; i < n_fds; i++)
    close(fds[i]);
}

static void show_tensors(int n_in, int n_out) {
  struct assay_tensor *inputs = state.shown + 1, *outputs = inputs + n_in + 1;
  memset(state.shown, 0, sizeof state.shown);
  if (n_in + n_out <= state.n_maps) {
    memcpy(inputs, state.tensors, (size_t)n_in * sizeof *inputs);
    memcpy(outputs, state.tensors + n_in, (size_t)n_out * sizeof *outputs);
  }
  state.args.inputs = inputs;
  state.args.outputs = outputs;
}

static void bind_buffers(const struct runner_message *m) {
  bool bound = state.all_mapped && state.n_maps == m->n_in + m->n_out;
  state.args.n_inputs = m->n_in;
  state.args.n_outputs = m->n_out;
  show_tensors(m->n_in, m->n_out);
  state.binds++;
  state.fresh = true;
  if (bound && state.host->bind) {
    state.control->workload[sizeof state.control->workload - 1] = '\0';
    if (!state.host->bind(state.host->arg, &state.args, state.control->workload, state.control->message,
                          sizeof state.control->message)) {
      step(m->number, STEP_RAISED);
      return;
    }
  }
  step(m->number, bound ? STEP_BOUND : STEP_NOT_BOUND);
}

// A candidate may have left flush-to-zero or another rounding mode set.
static void reset_arithmetic(void) {
#if defined(__x86_64__)
  enum { DEFAULT_MXCSR = 0x1f80 };
  _mm_setcsr(DEFAULT_MXCSR);
  __asm__ volatile("fninit");
#endif
}

static void call_kernel(const struct runner_message *m) {
  struct runner_control *c = state.control;
  const struct assay_args args = state.args; // the candidate gets a copy: what it scribbles on it stays with it
  // A shape's first call, which no clock measures alone: filling memory takes time.
  const bool leave = state.fresh && !m->null_call;
  reset_arithmetic();
  if (leave) {
    pool_leave(state.pool, state.binds);
    residue_leave(state.binds);
  }
  // No wake-up: the judge is watching, and a thread of the candidate that sleeps on this word must not be woken when
  // the fresh inputs are there and the clock does not run yet.
  atomic_store(&c->step, runner_word(m->number, STEP_ARMED));
  start_await(&c->start, m->number);
  bool done = true;
  if (!m->null_call)
    done = state.host->call(state.host->arg, &args, c->message, sizeof c->message);
  else if (state.host->null_call)
    done = state.host->null_call(state.host->arg, c->message, sizeof c->message);
  if (leave)
    residue_end();
  state.fresh = state.fresh && m->null_call;
  step(m->number, done ? STEP_DONE : STEP_RAISED);
}

static void lock(uint32_t number) {
  struct assay_error err = {0};
  bool locked = sandbox_lock_runner(true, &err) == ASSAY_OK;
  if (!locked)
    snprintf(state.control->message, sizeof state.control->message, "%.500s", err.message);
  step(number, locked ? STEP_READY : STEP_NOT_LOADED);
}

static void load(uint32_t number) {
  bool loaded = state.host->load(state.host->arg, state.control->message, sizeof state.control->message);
  step(number, loaded ? STEP_LOADED : STEP_NOT_LOADED);
}

static int attach(const struct runner_message *m, const int *fds, int n_fds, int threads) {
  struct assay_error err = {0};
  if (n_fds != 1)
    return -1;
  void *page = mmap(NULL, sizeof(struct runner_control), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
  close(fds[0]);
  if (page == MAP_FAILED)
    return -1;
  state.control = page;
  if (!install_handlers() || pool_create(threads, &state.pool, &err) != ASSAY_OK)
    return -1;
  state.args = (struct assay_args){.abi_version = ASSAY_ABI_VERSION, .threads = threads, .parallel = parallel};
  step(m->number, STEP_READY);
  return 0;
}

int serve(const struct serve_host *host, int threads) {
  enum { MAX_MESSAGE = sizeof(struct runner_message) + RUNNER_FDS * sizeof(struct runner_tensor_message) };
  static _Alignas(16) unsigned char buffer[MAX_MESSAGE];
  const struct runner_message *m = (const struct runner_message *)buffer;
  int fds[RUNNER_FDS], n_fds;
  state.host = host;
  while (channel_receive(RUNNER_SOCKET, 0, buffer, sizeof buffer, fds, RUNNER_FDS, &n_fds) >= (ssize_t)sizeof *m) {
    if (m->verb == RUNNER_ATTACH && attach(m, fds, n_fds, threads) != 0)
      return 3;
    else if (m->verb == RUNNER_LOCK)
      lock(m->number);
    else if (m->verb == RUNNER_LOAD)
      load(m->number);
    else if (m->verb == RUNNER_BUFFERS)
      take_buffers(m, fds, n_fds);
    else if (m->verb == RUNNER_BIND)
      bind_buffers(m);
    else if (m->verb == RUNNER_CALL)
      call_kernel(m);
  }
  return 0;
}
