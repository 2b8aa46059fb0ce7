// SPDX-License-Identifier: Apache-2.0
// Inside of compute/compute.h: what a backend provides. compute.c adds what both share: memory kept for the next
// allocation, programs and kernels found by name, checks of arguments.
#ifndef COMPUTE_BACKEND_H
#define COMPUTE_BACKEND_H

#include "compute/compute.h"

// One compiled program and one kernel of it, as the backend knows them.
typedef void *compute_program;
typedef void *compute_kernel;

// `self` is the backend's own state. All calls come from one thread.
struct compute_backend {
  bool cuda;
  bool keeps; // freed memory is worth keeping: allocation is slow
  void (*close)(void *self);
  // Memory, at least 256-byte aligned. alloc: ASSAY_ERR_NOMEM when there is none now. free waits for work that uses it.
  enum assay_status (*alloc)(void *self, size_t bytes, device_ptr *out, struct assay_error *err);
  void (*free)(void *self, device_ptr p);
  void (*available)(void *self, size_t *available, size_t *total);
  void (*poison)(void *self, device_ptr p, size_t bytes); // fills fresh memory with a pattern; NULL: leaves it alone
  enum assay_status (*upload)(void *self, device_ptr to, const void *from, size_t bytes, struct assay_error *err);
  enum assay_status (*download)(void *self, void *to, device_ptr from, size_t bytes, struct assay_error *err);
  enum assay_status (*copy)(void *self, device_ptr to, device_ptr from, size_t bytes, struct assay_error *err);
  enum assay_status (*set32)(void *self, device_ptr to, uint32_t value, size_t words, struct assay_error *err);
  // Compiles `text` (the dialect and the program's texts) or takes it from the cache. unload frees it.
  enum assay_status (*load)(void *self, const struct device_code *code, const char *text, compute_program *out,
                            struct assay_error *err);
  void (*unload)(void *self, compute_program p);
  enum assay_status (*find)(void *self, compute_program p, const char *kernel, compute_kernel *out,
                            struct assay_error *err);
  enum assay_status (*launch)(void *self, compute_kernel k, const char *name, int64_t n, const void *args,
                              size_t arg_bytes, struct assay_error *err);
  // NULL: threads work alone.
  enum assay_status (*launch_blocks)(void *self, compute_kernel k, const char *name, const struct compute_blocks *b,
                                     const void *args, size_t arg_bytes, struct assay_error *err);
  enum assay_status (*sync)(void *self, struct assay_error *err);
  // NULL: the backend shares no memory.
  enum assay_status (*map)(void *self, int fd, size_t bytes, device_ptr *out, struct assay_error *err);
  void (*unmap)(void *self, device_ptr p, size_t bytes);
};

// Takes `self` over, also when it fails. cache_folder is the backend's business.
enum assay_status compute_make(const struct compute_backend *backend, void *self, struct compute **out,
                               struct assay_error *err);

// The backend's own state, for what works with it; NULL where the compute has another backend.
void *compute_self(struct compute *c, const struct compute_backend *backend);

#endif
