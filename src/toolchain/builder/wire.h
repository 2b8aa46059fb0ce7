// SPDX-License-Identifier: Apache-2.0
// What goes between a judge and its builder (main_builder.c), and back. Private to src/toolchain.
//
// The builder's descriptor 3 is a socket of packets. It first sends one `struct builder_hello`; then each packet to it
// is one `struct builder_order` with three descriptors: memory that holds the request, memory for the reply, and a pipe
// on which the server says how the child that worked on it ended. The child, and nobody else, writes the reply: it has
// compiled a hostile source, and is not trusted.
#ifndef TOOLCHAIN_BUILDER_WIRE_H
#define TOOLCHAIN_BUILDER_WIRE_H

#include "base/arena.h"
#include "base/buf.h"
#include "toolchain/directive/directive.h"

enum { BUILDER_FD = 3, BUILDER_MAGIC = 0x41534231 }; // "ASB1"
enum { BUILDER_MAX_TEXT = 64 << 10, BUILDER_MAX_NAME = PLAN_MAX_NAME };
#define BUILDER_MAX_SOURCE ((size_t)16 << 20)
#define BUILDER_MAX_REPLY (PLAN_MAX_MODULE_BYTES + ((size_t)16 << 20))

struct builder_hello {
  uint32_t magic;
  int32_t status; // enum assay_status
  char text[512]; // the compiler's version, or what is wrong
};

struct builder_order {
  uint32_t magic;
  uint64_t memory_bytes, file_bytes; // limits of the child
  int64_t limit_ns;                  // of its time, as server.c counts it
  int64_t cpu_seconds;
};

// How the child ended, from the server.
struct builder_end {
  uint32_t magic;
  int32_t code, signal; // exit code, or the signal that ended it (0: none)
  int32_t deadline;     // whether its time was up
  int64_t start_ns, end_ns, cpu_ns;
};

enum builder_language { BUILDER_CUDA, BUILDER_OPENCL };

// A request; its strings are borrowed.
struct builder_request {
  enum builder_language language;
  const char *name, *source; // source: with a NUL after its source_bytes
  size_t source_bytes;
  int architecture; // CUDA: 90 for sm_90a, to be asked whether the compiler knows it
  int n_options, n_kernels;
  const char *const *options; // CUDA: all flags; OpenCL: joined by blanks
  const char *const *kernels; // C++ expressions; OpenCL: names
};

enum builder_outcome { BUILDER_COMPILED, BUILDER_REJECTED, BUILDER_OUT_OF_MEMORY, BUILDER_FAILED, BUILDER_OUTCOMES };

// A reply. `kernels` has a row for each kernel of the request, in its order; only when COMPILED.
struct builder_reply {
  enum builder_outcome outcome; // BUILDER_FAILED: the machine lacks something; `log` says what
  const char *log, *version;    // of the compiler
  const uint8_t *code;          // CUDA: the cubin
  size_t code_bytes;
  int n_kernels;
  struct directive_kernel *kernels; // CUDA: parameters are left to the cubin (n_parameters = -1)
};

void builder_request_write(const struct builder_request *r, struct buf *out);
void builder_reply_write(const struct builder_reply *r, struct buf *out);

// Strings and tables go into the arena, long texts point into `bytes`. ASSAY_ERR_PROTOCOL when the bytes are not one,
// with the place.
enum assay_status builder_request_read(const uint8_t *bytes, size_t n, struct arena *arena, struct builder_request *out,
                                       struct assay_error *err);
enum assay_status builder_reply_read(const uint8_t *bytes, size_t n, int n_kernels, struct arena *arena,
                                     struct builder_reply *out, struct assay_error *err);

#endif
