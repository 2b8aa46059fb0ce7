// SPDX-License-Identifier: Apache-2.0
// Trusted computing on a device, in the judge's own context: the oracle, the inputs and the comparison run on it.
//
// Device code is written once, in the common subset of C17 and CUDA C++ (compute/dialect.h), as kernels in which every
// thread works alone: no shared memory, no barriers, one flat index. Two backends run it:
//   cuda  compiled by NVRTC for the GPU at hand (cached on disk), launched through the driver
//   host  the same text compiled by a C compiler and run by the CPU's threads, for tests without a GPU;
//         bit for bit the same where the code is exact
#ifndef COMPUTE_COMPUTE_H
#define COMPUTE_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct compute; // one device with a context; used by one thread

typedef uint64_t device_ptr; // an address on the device; 0: none. On `host` it is an ordinary address.

// Texts of device code, embedded at build time (cmake/embed.cmake): generated/NAME.c defines `const char code_NAME[]`.
// A program is the dialect and these texts, one after the other; `exact` forbids contraction into fused multiply-adds.
struct device_code {
  const char *name;         // "draw", for messages and the cache
  const char *const *texts; // ends with NULL; headers of argument structs first, then the kernels
  bool exact;
};

struct compute_options {
  int device;               // index of the GPU
  const char *cache_folder; // for compiled programs; NULL: none. Made if missing, shared by processes.
  const char *nvrtc;        // cuda backend: the path of libnvrtc.so; NULL: where it usually is
  const char *compiler;     // host backend: "gcc"
  int threads;              // host backend; 0: all processors
};

// ASSAY_ERR_ENVIRONMENT says what is missing (driver, device, NVRTC, compiler) and how to fix it.
enum assay_status compute_open_cuda(const struct compute_options *o, struct compute **out, struct assay_error *err);
enum assay_status compute_open_host(const struct compute_options *o, struct compute **out, struct assay_error *err);
void compute_close(struct compute *c); // frees everything; NULL is fine
bool compute_is_cuda(const struct compute *c);

// Device memory, at least 256-byte aligned, not cleared. Freed memory is kept for the next allocation of its size
// until compute_trim or until memory is short. ASSAY_ERR_NOMEM names the size and what is free.
enum assay_status compute_alloc(struct compute *c, size_t bytes, device_ptr *out, struct assay_error *err);
void compute_free(struct compute *c, device_ptr p); // 0 is fine
void compute_trim(struct compute *c);
// Bytes that could be allocated now, kept ones included, of the device's total; peak: most ever in use at once.
struct compute_memory {
  size_t available, total, in_use, peak;
};
void compute_memory(struct compute *c, struct compute_memory *out);

// All of these are ordered: one stream. upload and download return when the host's memory may be used again.
enum assay_status compute_upload(struct compute *c, device_ptr to, const void *from, size_t bytes,
                                 struct assay_error *err);
enum assay_status compute_download(struct compute *c, void *to, device_ptr from, size_t bytes, struct assay_error *err);
enum assay_status compute_copy(struct compute *c, device_ptr to, device_ptr from, size_t bytes,
                               struct assay_error *err);
enum assay_status compute_set32(struct compute *c, device_ptr to, uint32_t value, size_t words,
                                struct assay_error *err);

// Runs kernel NAME of the program over n flat threads (n = 0: nothing). The program is compiled or taken from the cache
// when it is first asked for. args is copied: one struct, the kernel's parameter.
enum assay_status compute_launch(struct compute *c, const struct device_code *code, const char *kernel, int64_t n,
                                 const void *args, size_t arg_bytes, struct assay_error *err);
// The same for a kernel whose threads work together in blocks (cuda only, so the host needs another version): `blocks`
// of `threads`, with shared_bytes of shared memory in addition to its own. ASSAY_ERR_UNSUPPORTED on the host.
struct compute_blocks {
  int64_t blocks;
  int threads;
  size_t shared_bytes;
};
enum assay_status compute_launch_blocks(struct compute *c, const struct device_code *code, const char *kernel,
                                        const struct compute_blocks *b, const void *args, size_t arg_bytes,
                                        struct assay_error *err);
// Waits for all of it; ASSAY_ERR_ENVIRONMENT if a launch failed, with the driver's error message.
enum assay_status compute_sync(struct compute *c, struct assay_error *err);

// What the device waits for on the host, such as a factorization. Whoever has the device lends it to others meanwhile:
// `told` hears when that begins and ends, and returns when the device may be used again. NULL: nobody is told.
typedef void compute_told(void *arg, bool waits);
void compute_tell(struct compute *c, compute_told *told, void *arg);
void compute_waits(struct compute *c, bool waits);

// Compiles (or takes from the cache) without running: to warm a machine up.
enum assay_status compute_prepare(struct compute *c, const struct device_code *code, struct assay_error *err);

// Memory that a runner's process holds too (device/shared.h): maps the exported allocation `fd` of `bytes` (a multiple
// of its granularity), readable and writable, until compute_unmap. The descriptor stays the caller's. cuda only.
enum assay_status compute_map(struct compute *c, int fd, size_t bytes, device_ptr *out, struct assay_error *err);
void compute_unmap(struct compute *c, device_ptr p, size_t bytes);

#endif
