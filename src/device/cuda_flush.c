// SPDX-License-Identifier: Apache-2.0
// The state of caches and stream before a timed part: nothing in the cache, and the stream held until all is queued.
// And stamps around it that a kernel under test cannot forge.
//
// The driver keeps an event's stamps in memory that every kernel of the process can read and write, at addresses that
// do not change (measured on an H200 with driver 580: a kernel that added to the start's stamp while it ran was
// reported 147 us faster). So the time between events is checked against another one:
//
//   host                                     stream
//   clears the gate                          flush
//   waits for `arrived`                      hold: writes `arrived`
//   writes `released`                        hold: writes opens_at = now + 8 us, waits until then
//   reads `opens_at`, before that moment     the timed part, whatever it may write, begins at opens_at
//   waits for the stream                     stamp: writes `ended` (again over what a kernel wrote there)
//   launches a kernel that writes a number   confirm: runs when all before it has ended, whatever the driver believed
//   sees the number, reads `ended`
#include <stddef.h>

#include "base/clock.h"
#include "base/rng.h"
#include "device/cuda_device.h"

enum { READ_THREADS = 512, READ_BLOCKS_PER_PROCESSOR = 4, PIECE = 16 };

// The flush buffer holds one ordinary number (what is left of it in an SM is no zero then), so that no sum of it is
// this. (A sum of inputs may be; it is then written to a place that is never read.)
static const uint32_t never = 0xffffffffu;

// Far more than queueing takes, even on a busy machine.
static const uint64_t hold_limit_ns = 250000000u;

// Between the opening's announcement and the opening; the host must have read it well before.
static const uint64_t opening_delay_ns = 8000;
static const int64_t latest_reading_ns = 6000;

static const int64_t confirmation_limit_ns = 250000000;

static enum cu_result launch(struct device *d, CUfunction f, unsigned int blocks, unsigned int threads, void **params) {
  return d->cu->cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, d->stream, params, NULL);
}

static enum cu_result read_through(struct device *d, uint64_t from, uint64_t bytes) {
  uint64_t n = bytes / PIECE, sink = d->flush + d->flush_bytes;
  uint32_t unlikely = never;
  void *params[] = {&from, &n, &sink, &unlikely};
  return launch(d, d->read, (unsigned int)d->facts.processors * READ_BLOCKS_PER_PROCESSOR, READ_THREADS, params);
}

enum cu_result cuda_flush(struct device *d) {
  // The reset takes effect at once, not in stream order. So first wait for all that could still make lines persist.
  enum cu_result r = d->cu->cuStreamSynchronize(d->stream);
  if (r == CUDA_SUCCESS && d->cu->cuCtxResetPersistingL2Cache)
    r = d->cu->cuCtxResetPersistingL2Cache();
  if (r == CUDA_ERROR_NOT_SUPPORTED) // a device without such lines
    r = CUDA_SUCCESS;
  return r == CUDA_SUCCESS ? read_through(d, d->flush, d->flush_bytes) : r;
}

enum cu_result cuda_warm(struct device *d) {
  const struct cuda_plan *l = d->loaded;
  enum cu_result r = d->cu->cuStreamSynchronize(d->stream);
  for (int i = 0; i < l->plan->n_buffers && r == CUDA_SUCCESS; i++)
    if (l->plan->buffers[i].role == PLAN_INPUT && l->plan->buffers[i].bytes > 0)
      r = read_through(d, l->addresses[i], l->plan->buffers[i].bytes);
  return r;
}

enum cu_result cuda_hold(struct device *d) {
  uint32_t ticket = ++d->ticket;
  uint64_t gate = d->gate_address, limit = hold_limit_ns, delay = opening_delay_ns;
  void *params[] = {&gate, &ticket, &limit, &delay};
  // Nothing of a call before this one runs any more.
  *d->gate = (struct cuda_gate){.released = ticket - 1, .arrived = ticket - 1, .failed = ticket - 1};
  d->opened_at = 0;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return launch(d, d->hold, 1, 1, params);
}

void cuda_let_go(struct device *d) {
  volatile struct cuda_gate *g = d->gate;
  int64_t start = clock_monotonic_ns(), seen;
  uint64_t opens_at;
  while (g->arrived != d->ticket && clock_monotonic_ns() - start < (int64_t)hold_limit_ns) {
  }
  start = clock_monotonic_ns();
  g->released = d->ticket;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  do {
    opens_at = g->opens_at;
    seen = clock_monotonic_ns();
  } while (!opens_at && seen - start < latest_reading_ns);
  d->opened_at = seen - start < latest_reading_ns ? opens_at : 0;
}

bool cuda_hold_failed(const struct device *d) {
  return d->gate->failed == d->ticket;
}

enum cu_result cuda_stamp(struct device *d) {
  uint64_t at = d->gate_address + offsetof(struct cuda_gate, ended);
  void *params[] = {&at};
  return launch(d, d->stamp, 1, 1, params);
}

enum cu_result cuda_confirm(struct device *d, int64_t *ns) {
  uint64_t at = d->gate_address + offsetof(struct cuda_gate, confirmed), number = rng_secret(d->secret, d->ticket);
  void *params[] = {&at, &number};
  enum cu_result r = launch(d, d->confirm, 1, 1, params);
  int64_t start = clock_monotonic_ns();
  *ns = 0;
  if (r == CUDA_SUCCESS)
    r = d->cu->cuStreamSynchronize(d->stream);
  while (r == CUDA_SUCCESS && d->gate->confirmed != number)
    if (clock_monotonic_ns() - start > confirmation_limit_ns)
      return CUDA_ERROR_UNKNOWN;
  if (r == CUDA_SUCCESS && d->opened_at && d->gate->ended > d->opened_at)
    *ns = (int64_t)(d->gate->ended - d->opened_at);
  return r;
}
