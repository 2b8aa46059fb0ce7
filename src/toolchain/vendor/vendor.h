// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain/vendor: assay-library, the process that carries a task out with a vendor's library while
// assay-lift.so records it (lift/lift.h). It gets its order as worker.py does and leaves the same logs; that it is our
// own program changes nothing in how they are read. No candidate's code is in it.
#ifndef TOOLCHAIN_VENDOR_VENDOR_H
#define TOOLCHAIN_VENDOR_VENDOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "compute/cuda_driver.h"
#include "toolchain/record/format.h"

// ---- what is to be called: src/judge/library_call.h says what the members mean, and writes them

struct vendor_matrix {
  int input;
  bool transposed;
  int64_t ld, stride;
};
struct vendor_product {
  int64_t m, n, k, batch;
  struct vendor_matrix a, b, c, d;
  double alpha, beta;
  int bias;
};
enum { VENDOR_SPACE = 3, VENDOR_DIMS = VENDOR_SPACE + 2 };
struct vendor_convolution {
  bool transposed;
  int space, groups;
  int x[VENDOR_DIMS], w[VENDOR_DIMS], y[VENDOR_DIMS];
  int pads[VENDOR_SPACE], strides[VENDOR_SPACE], dilations[VENDOR_SPACE];
  int x_input, w_input, bias;
};
enum vendor_type { VENDOR_FLOAT, VENDOR_HALF, VENDOR_BFLOAT };
struct vendor_call {
  enum vendor_type type;
  bool tf32, has_product, has_convolution;
  struct vendor_product product;
  struct vendor_convolution convolution;
};

// Reads a workload's member "library"; there are `n_inputs` inputs. ASSAY_ERR_UNSUPPORTED for extents that are beyond
// the library's numbers, ASSAY_ERR_INVALID for what is not a call.
enum assay_status vendor_call_read(const json_t *library, int n_inputs, struct vendor_call *out,
                                   struct assay_error *err);

// ---- the order (order.c)

struct vendor_order {
  json_t *text;           // {"workloads": [...]}; owned
  int n_fds, fds[1 + 64]; // four for each workload: request and log, twice
};
// Waits for it on descriptor 3. ASSAY_ERR_ENVIRONMENT; *wanted is false when the judge has closed the socket.
enum assay_status vendor_order_receive(struct vendor_order *out, bool *wanted, struct assay_error *err);

// ---- assay-lift.so (lift_door.c)

struct vendor_lift {
  const char *(*assay_lift_subscribe)(const char *cupti_path, const char *build);
  const char *(*assay_lift_open)(int request_a, int log_a, int request_b, int log_b);
  void (*assay_lift_counts)(int log, uint32_t counts[2]);
  void (*assay_lift_tensor)(int log, uint32_t i, struct record_tensor *out);
  void (*assay_lift_look)(int on);
  void (*assay_lift_begin)(int log);
  const char *(*assay_lift_end)(void);
  void (*assay_lift_failed)(uint32_t stage, const char *message);
};

struct vendor_paths {
  const char *lift, *build;
  const char *cublaslt, *cudnn, *cupti; // "": the loader's search
};

// The first of `names` that the loader finds, or `path` where that is not ""; NULL: none, and dlerror() says why.
void *vendor_load(const char *path, const char *const *names, const char **loaded);
extern const char *const vendor_cupti_names[];
// All functions of a table; ASSAY_ERR_ENVIRONMENT names the one that is missing.
struct vendor_entry {
  const char *symbol;
  size_t offset;
};
enum assay_status vendor_fill(void *library, const struct vendor_entry *entries, size_t n, void *table,
                              const char *title, struct assay_error *err);

// Begins to record what this process does with the GPU, then opens it: the driver, and its own context there.
struct vendor_gpu {
  struct vendor_lift lift;
  const struct cuda_driver *cu;
};
enum assay_status vendor_gpu_open(const struct vendor_paths *p, struct vendor_gpu *out, struct assay_error *err);

// ---- libraries

// One set of the task's tensors: addresses of the device.
struct vendor_tensors {
  int n_inputs;
  uint64_t inputs[RECORD_MAX_TENSORS], output;
};

// Memory for the library's own use. It is larger than what the recorder keeps the contents of, so that it becomes
// scratch of the plan whatever it holds; and aligned as scratch is, to 256 bytes and not more.
struct vendor_workspace {
  uint64_t allocation, address;
  size_t bytes; // that the library may use
};
enum assay_status vendor_workspace_take(const struct cuda_driver *cu, size_t bytes, struct vendor_workspace *out,
                                        struct assay_error *err);
void vendor_workspace_give_back(const struct cuda_driver *cu, struct vendor_workspace *w);

// A library that was loaded, and a call of it that is ready to be made.
struct vendor_library;
struct vendor_engine;
struct vendor_ops {
  const char *title;
  const char *const *names; // of its file, NULL-terminated
  const char *version;      // the function that returns it: size_t (void)
  // ASSAY_ERR_ENVIRONMENT says how to get it.
  enum assay_status (*load)(const struct vendor_paths *p, const struct cuda_driver *cu, struct vendor_library **out,
                            struct assay_error *err);
  // Measures what the library offers for the call on these tensors, and takes the best. ASSAY_ERR_UNSUPPORTED: nothing.
  enum assay_status (*prepare)(struct vendor_library *l, const struct vendor_call *c, const struct vendor_tensors *t,
                               struct vendor_engine **out, struct assay_error *err);
  // Asks for the work in the default stream and does not wait for it.
  enum assay_status (*run)(struct vendor_engine *e, const struct vendor_tensors *t, struct assay_error *err);
  void (*release)(struct vendor_engine *e); // NULL is fine
};
extern const struct vendor_ops vendor_cublaslt, vendor_cudnn;

// The time of a call: the least of a few, by the device's events.
enum assay_status vendor_time(const struct cuda_driver *cu, const struct vendor_ops *ops, struct vendor_engine *e,
                              const struct vendor_tensors *t, double *us, struct assay_error *err);

#endif
