// The state of caches and stream before a timed part: nothing in the cache, and the stream held until all is queued.
#include "device/cuda_device.h"

enum { READ_THREADS = 512, READ_BLOCKS_PER_PROCESSOR = 4, PIECE = 16 };

// The flush buffer holds zeros, so that no sum of it is this. (One of inputs may be, and then is written where nobody
// looks.)
static const uint32_t never = 0xffffffffu;

// Far more than queueing takes, even on a busy machine.
static const uint64_t hold_limit_ns = 250000000u;

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
  // The reset works at once, and so after whatever could still make lines persist.
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
    if (l->plan->buffers[i].role == PLAN_INPUT)
      r = read_through(d, l->addresses[i], l->plan->buffers[i].bytes);
  return r;
}

enum cu_result cuda_hold(struct device *d) {
  uint32_t ticket = ++d->ticket;
  uint64_t gate = d->gate_address, limit = hold_limit_ns;
  void *params[] = {&gate, &ticket, &limit};
  return launch(d, d->hold, 1, 1, params);
}

void cuda_let_go(struct device *d) {
  d->gate[0] = d->ticket;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool cuda_hold_failed(const struct device *d) {
  return d->gate[1] == d->ticket;
}
