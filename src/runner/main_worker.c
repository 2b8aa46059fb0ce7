// assay-worker.so: the runner's side of the protocol for a Python candidate. worker.py loads it, hands over three
// functions and gets its process back when the judge hangs up. The lock-down, the buffers between their guards, the
// start line and the last words of a dying process are those of assay-runner.
#include <stdint.h>

#include "base/build_id.h"
#include "runner/serve.h"

// Functions of worker.py; 0: it worked. The message is a buffer of `bytes` for one line of text.
typedef int load_fn(char *message, size_t bytes);
typedef int bind_fn(const struct assay_args *args, const char *sheet, char *message, size_t bytes);
typedef int call_fn(char *message, size_t bytes);

struct python {
  load_fn *load;
  bind_fn *bind;
  call_fn *call;
};

static bool load(void *arg, char *message, size_t bytes) {
  return ((const struct python *)arg)->load(message, bytes) == 0;
}

static bool bind(void *arg, const struct assay_args *args, const char *sheet, char *message, size_t bytes) {
  return ((const struct python *)arg)->bind(args, sheet, message, bytes) == 0;
}

// Tensors were made of the buffers when they were bound.
static bool call(void *arg, const struct assay_args *args, char *message, size_t bytes) {
  (void)args;
  return ((const struct python *)arg)->call(message, bytes) == 0;
}

__attribute__((visibility("default"))) int assay_worker_serve(int threads, const char *build, load_fn *load_module,
                                                              bind_fn *bind_module, call_fn *call_module);

int assay_worker_serve(int threads, const char *build, load_fn *load_module, bind_fn *bind_module,
                       call_fn *call_module) {
  if (!build_id_matches(build, "assay-worker.so"))
    return 2;
  struct python python = {load_module, bind_module, call_module};
  const struct serve_host host = {.arg = &python, .load = load, .bind = bind, .call = call};
  return serve(&host, threads);
}
