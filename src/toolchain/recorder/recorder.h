// SPDX-License-Identifier: Apache-2.0
// Private to assay-recorder: a CUDA runtime that owns no device. What host code asks for goes into the log.
//
// All of this runs in the candidate's process and may be tampered with by it; that harms nobody but the candidate, for
// the judge does not trust the log.
#ifndef TOOLCHAIN_RECORDER_RECORDER_H
#define TOOLCHAIN_RECORDER_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"
#include "toolchain/record/format.h"

// Declares and defines a function that candidates find under its own name.
#define EXPORT(type, name, ...)                                                                                        \
  __attribute__((visibility("default"))) type name(__VA_ARGS__);                                                       \
  type name(__VA_ARGS__)

// CUDA's own types, as far as they pass through here (the ABI of CUDA 11.8 to 13).
enum cuda_error {
  CUDA_OK = 0,
  CUDA_INVALID_VALUE = 1,
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_INVALID_SYMBOL = 13,
  CUDA_INVALID_DEVICE_FUNCTION = 98,
  CUDA_INVALID_DEVICE = 101,
  CUDA_INVALID_HANDLE = 400,
  CUDA_NOT_SUPPORTED = 801,
};
struct cuda_dim3 {
  unsigned x, y, z;
};
struct cuda_launch_attribute {
  int id;
  char pad[4];
  union {
    int number;
    struct cuda_dim3 dim;
    char bytes[64];
  } value;
};
struct cuda_launch_config {
  struct cuda_dim3 grid, block;
  size_t shared_bytes;
  void *stream;
  const struct cuda_launch_attribute *attributes;
  unsigned n_attributes;
};

// A fat binary that the candidate's library registered.
struct binary {
  const void *wrapper;
  bool read;
  const uint8_t *cubin;
  size_t cubin_bytes;
  struct cubin_info info;
  int32_t module; // in the log, -1: not there
};

struct kernel {
  struct binary *binary;
  const void *host;         // the host's stand-in for it
  const char *name, *label; // label: for people, not ended by a NUL
  int label_length;
  const struct cubin_kernel *cubin; // NULL until it is first used
  int64_t number;                   // in the log, -1: not there
  uint32_t max_dynamic_bytes;       // what cudaFuncSetAttribute allowed, 0: not asked
  int32_t carveout;                 // -1: not said
};

struct variable {
  struct binary *binary;
  const void *host;
  const char *name;
  size_t bytes;
};

struct stream {
  bool alive, non_blocking;
};
struct event {
  bool alive;
};

// The one mutable global: CUDA's functions have no argument for a state, and this process serves one call of one entry.
struct recorder {
  const struct record_request *request;
  struct record_header *log;
  uint64_t next_address, allocated_bytes;
  struct arena arena;
  struct binary **binaries;
  struct kernel **kernels;
  struct variable **variables;
  size_t n_binaries, n_kernels, n_variables;
  uint32_t n_modules_logged, n_kernels_logged, n_maps_logged;
  struct stream streams[RECORD_MAX_STREAMS];
  uint32_t n_streams, thread_stream; // thread_stream: cudaStreamPerThread's number, 0: not made yet
  struct event events[RECORD_MAX_EVENTS];
  uint32_t n_events;
  int last_error;
  uint64_t heap_begin, stack_end; // where host memory was at the start
};
extern struct recorder recorder;

// Ends the process with a refusal. The text names the call, says why not and what instead.
_Noreturn void refuse(const char *fmt, ...) ASSAY_PRINTF(1, 2);

// Appends an entry: the fixed part, then up to two more parts.
struct part {
  const void *bytes;
  size_t n;
};
void log_entry(enum record_kind kind, const void *fixed, size_t fixed_bytes, struct part a, struct part b);
#define LOG(kind, fixed) log_entry(kind, &(fixed), sizeof(fixed), (struct part){0}, (struct part){0})

// Remembers a failure for cudaGetLastError and returns it.
int fail(enum cuda_error e);

// `new` more in a growing list of pointers; the process ends when memory does.
void *add_to_list(void *list, size_t *n, size_t element_bytes);

// Kernels by the host's stand-in or by a handle that we gave out; refuses what is neither. The kernel's cubin is read.
struct kernel *kernel_of(const void *function);
uint32_t module_of(struct binary *b); // its number in the log, where it is put if it is not there
const struct variable *variable_of(const void *symbol);

uint32_t stream_of(const void *handle);

bool is_device_address(const void *p);
bool is_host_address(uint64_t word); // of this process's stack, heap or libraries
bool host_allocated(uint64_t word);  // by cudaMallocHost and its like

// A kernel's name in a message: KERNEL_TEXT and KERNEL_ARGS(k).
#define KERNEL_TEXT "%.*s"
#define KERNEL_ARGS(k) (k)->label_length, (k)->label

// Logs a launch. `arguments` as CUDA wants them: one pointer for each parameter.
struct launch_request {
  struct kernel *kernel;
  struct cuda_dim3 grid, block, cluster;
  size_t shared_bytes;
  void *stream;
  uint32_t flags;
  int32_t carveout;
  void **arguments;
};
int launch(const struct launch_request *l);

// Blocks of the kernel that an SM holds at once (device.c).
int occupancy(const struct kernel *k, int block_threads, size_t dynamic_bytes);
uint32_t most_threads(const struct kernel *k); // of a block

#endif
