// SPDX-License-Identifier: Apache-2.0
// assay-worker.so: the runner's side of the protocol for a Python candidate. worker.py loads it, hands over three
// functions and gets its process back when the judge hangs up. The lock-down, the buffers between their guards, the
// start line and the report of a dying process are those of assay-runner.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/build_id.h"
#include "runner/serve.h"
#include "runner/serve_cuda.h"

// Functions of worker.py. They return the number of the call, from 1, if it worked, and 0 if not; where Python itself
// fails to return anything, what the call before it returned is there. The message is a buffer of `bytes` for one line
// of text. `nothing`: the call is to do what every call does on the device, and nothing of the candidate's.
typedef int load_fn(char *message, size_t bytes);
typedef int bind_fn(const struct assay_args *args, const char *workload, char *message, size_t bytes);
typedef int call_fn(int nothing, char *message, size_t bytes);

struct python {
  struct serve_cuda cuda;
  load_fn *load;
  bind_fn *bind;
  call_fn *call;
  int turn; // calls of the three
};

// The candidate runs in the same interpreter, and may have taken away what says what was raised.
static bool worked(struct python *p, int result, char *message, size_t bytes) {
  if (result == ++p->turn)
    return true;
  if (!message[0])
    snprintf(message, bytes,
             "the worker cannot say what was raised: the candidate changed the worker or Python's modules");
  return false;
}

static bool load(void *arg, char *message, size_t bytes) {
  struct python *p = arg;
  return worked(p, p->load(message, bytes), message, bytes);
}

static bool bind(void *arg, const struct assay_args *args, const char *workload, char *message, size_t bytes) {
  struct python *p = arg;
  return worked(p, p->bind(args, workload, message, bytes), message, bytes);
}

// Tensors were made of the buffers when they were bound.
static bool call(void *arg, const struct assay_args *args, char *message, size_t bytes) {
  struct python *p = arg;
  (void)args;
  return worked(p, p->call(0, message, bytes), message, bytes);
}

static bool null_call(void *arg, char *message, size_t bytes) {
  struct python *p = arg;
  return worked(p, p->call(1, message, bytes), message, bytes);
}

static bool map(void *arg, int fd, uint64_t map_bytes, bool writable, struct serve_mapping *out, char *message,
                size_t bytes) {
  return serve_cuda_map(&((struct python *)arg)->cuda, fd, map_bytes, writable, out, message, bytes);
}

static void unmap(void *arg, struct serve_mapping *m) {
  serve_cuda_unmap(&((struct python *)arg)->cuda, m);
}

// `device`: the name of where the buffers are, "cpu" or "cuda"; in the second case PyTorch's context is current in this
// thread.
__attribute__((visibility("default"))) int assay_worker_serve(int threads, const char *build, const char *device,
                                                              load_fn *load_module, bind_fn *bind_module,
                                                              call_fn *call_module);

int assay_worker_serve(int threads, const char *build, const char *device, load_fn *load_module, bind_fn *bind_module,
                       call_fn *call_module) {
  struct assay_error err = {0};
  const struct plan_device *row;
  if (!build_id_matches(build, "assay-worker.so") || plan_device_parse(device, &row, &err) != ASSAY_OK)
    return 2;
  struct python python = {.load = load_module, .bind = bind_module, .call = call_module};
  struct serve_host host = {.arg = &python, .load = load, .bind = bind, .call = call};
  if (row->gpu) {
    if (serve_cuda_open(&python.cuda, NULL, &err) != ASSAY_OK) {
      fprintf(stderr, "%s\n", err.message);
      return 2;
    }
    host.null_call = null_call;
    host.map = map;
    host.unmap = unmap;
  }
  return serve(&host, threads);
}
