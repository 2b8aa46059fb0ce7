// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's compiler as a library, reached by dlopen: CUDA C++ source to a cubin. Needs no GPU and no driver.
#ifndef COMPUTE_NVRTC_H
#define COMPUTE_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct nvrtc; // one loaded library; may be used by several threads

// `library`: a path, or NULL to look where it usually is (libnvrtc.so.13, .12, libnvrtc.so, by the system's linker and
// in /usr/local/cuda). ASSAY_ERR_ENVIRONMENT says how to get it.
enum assay_status nvrtc_open(const char *library, struct nvrtc **out, struct assay_error *err);
void nvrtc_close(struct nvrtc *n); // the library itself stays loaded; NULL is fine

void nvrtc_version(const struct nvrtc *n, int *major, int *minor);
const char *nvrtc_path(const struct nvrtc *n); // its file; where that is unknown, the name it was loaded by

// Real architectures it compiles for, ascending: 75, 80, ..., 90, 100. Borrowed.
const int *nvrtc_architectures(const struct nvrtc *n, int *count);
bool nvrtc_supports(const struct nvrtc *n, int architecture); // 90 for sm_90

struct nvrtc_request {
  const char *source;         // text of the program
  const char *name;           // as the compiler's messages call it: "candidate.cu"
  const char *const *options; // NULL-terminated; --gpu-architecture=sm_90 gives a cubin, =compute_90 PTX only
  // C++ names (templates, namespaces, overloads) to be instantiated, whose names in the cubin are asked for. NULL:
  // none.
  const char *const *expressions; // NULL-terminated
};

// The result of a compilation; free it with nvrtc_result_release. `compiled` is false where the source is wrong: then
// only log is there.
struct nvrtc_result {
  bool compiled;
  char *code; // the cubin, or PTX text where the options ask for a virtual architecture
  size_t code_bytes;
  char *log;      // messages, "" when there are none
  char **lowered; // one for each expression
};

// ASSAY_OK also when the source does not compile (result->compiled). Otherwise ASSAY_ERR_ENVIRONMENT (the library
// failed, or lacks its companion libnvrtc-builtins), ASSAY_ERR_INVALID (an option it does not know; the log is in the
// message), ASSAY_ERR_NOMEM.
enum assay_status nvrtc_compile(const struct nvrtc *n, const struct nvrtc_request *r, struct nvrtc_result *result,
                                struct assay_error *err);
void nvrtc_result_release(struct nvrtc_result *r);

#endif
