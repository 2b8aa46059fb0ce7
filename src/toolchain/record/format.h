// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: what the judge and assay-recorder send each other.
//
// The judge hands over two descriptors. RECORD_REQUEST_FD is a sealed file with a struct record_request, the tensors
// after it. RECORD_LOG_FD is a sealed file of RECORD_LOG_BYTES, zero at first, which the recorder maps and fills: a
// struct record_header, then entries, one after the other, in the order in which host code asked for them. It is not
// trusted (record/read.h): the process that writes it runs the candidate's code.
//
// The log says what was asked for, not what it means: which buffer an address lies in, which step waits for which, and
// what may not be, is found by the reader, where it can be tested and where the candidate cannot reach it.
#ifndef TOOLCHAIN_RECORD_FORMAT_H
#define TOOLCHAIN_RECORD_FORMAT_H

#include <stdint.h>

#include "plan/plan.h"

enum { RECORD_REQUEST_FD = 3, RECORD_LOG_FD = 4 };
#define RECORD_MAGIC UINT64_C(0x3144524f43455241) // "ARECORD1"
#define RECORD_LOG_BYTES ((uint64_t)512 << 20)    // sparse: what is not written costs nothing

// Addresses of the device, which host code is given and cannot read: nothing is ever mapped there. They lie below where
// Linux puts programs (0x5555...) and libraries (0x7...) and far above the small numbers that kernels get as
// arguments: the upper half is 14973 and more, an unlikely neighbour of anything in a struct of 32-bit numbers.
//
// Starts are multiples of 256, which cudaMalloc promises, and never of 512: host code that looks at an address to
// choose its path must choose the same one where the plan runs.
#define RECORD_FIRST_ADDRESS UINT64_C(0x3a7d40000100)
#define RECORD_LAST_ADDRESS UINT64_C(0x4a7d00000000)
enum { RECORD_ALIGNMENT = 256 };
// Between two buffers: an address a little before or after a buffer is recognised as a mistake.
#define RECORD_GAP_BYTES ((uint64_t)256 << 20)

// The start of the buffer that comes after one of `bytes` bytes at `address`.
static inline uint64_t record_next_address(uint64_t address, uint64_t bytes) {
  return (address + bytes + RECORD_GAP_BYTES + 511) / 512 * 512 + RECORD_ALIGNMENT;
}

// The device that host code believes to see. Nothing in a plan depends on more than these.
struct record_device {
  char name[64];
  char target[16]; // "sm_90a"
  uint32_t sm;     // 90
  uint32_t multiprocessors;
  uint32_t clock_khz, memory_clock_khz, memory_bus_bits;
  uint32_t l2_bytes;
  uint64_t memory_bytes;
  // Per SM, as the CUDA programming guide's table of technical specifications gives them.
  uint32_t max_threads, max_blocks, registers, shared_bytes, shared_optin_bytes;
};

// A struct tensor_type in fields of a fixed width, and where it lies: recorders in other programs read it.
struct record_tensor {
  uint64_t address, bytes;
  int32_t dtype, rank; // ONNX's number
  int64_t dims[SHAPE_MAX_RANK];
};

enum { RECORD_MAX_TENSORS = 512 };
struct record_request {
  uint64_t magic;
  uint32_t n_inputs, n_outputs;
  uint64_t first_free; // where the recorder's own allocations begin
  struct record_device device;
  struct record_tensor tensors[]; // inputs, then outputs
};

enum record_stage {
  RECORD_STARTED,
  RECORD_LOADING,    // constructors may run
  RECORD_NOT_LOADED, // `message` says why
  RECORD_ENTERED,
  RECORD_REFUSED, // `message` says what and the way out
  RECORD_RETURNED,
};

// The first bytes of the recorder's output, written when its sandbox is closed and before the candidate's library is
// loaded: what is there instead is the machine's fault, what comes after it the candidate's.
#define RECORD_READY "assay-recorder: ready\n"

struct record_header {
  uint64_t magic;
  uint64_t used; // bytes of entries
  uint32_t stage;
  int32_t signal;       // that ended host code, 0: none; hints, as the runner's
  uint64_t address;     // of a fault
  uint32_t system_call; // of SIGSYS
  uint32_t writing;     // the fault was a write
  char message[448];
};

// Streams: 0 is the legacy default stream, 1 the one that the entry was given; others are made by RECORD_STREAM.
enum { RECORD_DEFAULT_STREAM = 0, RECORD_ENTRY_STREAM = 1 };
#define RECORD_NO_STREAM UINT32_MAX

enum record_kind {
  RECORD_ALLOC = 1,
  RECORD_FREE,
  RECORD_MODULE, // payload: a cubin; numbered from 0
  RECORD_KERNEL,
  RECORD_LAUNCH,
  RECORD_FILL,
  RECORD_COPY,
  RECORD_UPLOAD,
  RECORD_SYMBOL,
  RECORD_TENSOR_MAP, // numbered from 0
  RECORD_STREAM,
  RECORD_EVENT,     // an event is recorded
  RECORD_WAIT,      // a stream waits for an event
  RECORD_HOST_WAIT, // host code waits
  // Of programs that were recorded while they ran on a device (lift/lift.h):
  RECORD_OUTPUT, // ahead of everything: the allocation at this address is an output of the task
  RECORD_STATE,  // memory that was there before, and what it held
  RECORD_NAME,   // a module's name
  RECORD_SHARE,  // whose kernels took how long
  RECORD_WORD,   // a word of the next launch's parameters that is not what the program had, or may not be what it seems
  RECORD_PREPARED, // nothing follows: what was done so far depends on the weights alone, as the program says
  RECORD_LAST_KIND = RECORD_PREPARED,
};

// In front of every entry; the next one is `bytes` further, rounded up to 8.
struct record_entry {
  uint32_t kind;
  uint32_t bytes; // of what follows
};

struct record_alloc {
  uint64_t address, bytes;
  uint32_t stream, reserved; // RECORD_NO_STREAM: cudaMalloc
};
struct record_free {
  uint64_t address;
  uint32_t stream, reserved; // RECORD_NO_STREAM: cudaFree, which waits for everything
};
struct record_kernel { // followed by the name with its NUL; numbered from 0
  uint32_t module, reserved;
};
enum { RECORD_COOPERATIVE = 1, RECORD_PROGRAMMATIC = 2 };
struct record_launch { // followed by the parameters as the kernel sees them, from offset 0
  uint32_t kernel, stream;
  uint32_t grid[3], block[3], cluster[3];
  uint32_t shared_bytes, flags;
  int32_t carveout;
};
struct record_fill {
  uint64_t address, bytes;
  uint32_t value, width, stream, reserved;
};
struct record_copy {
  uint64_t to, from, bytes;
  uint32_t stream, reserved;
};
struct record_upload { // followed by the bytes
  uint64_t to;
  uint32_t stream, reserved;
};
struct record_symbol { // followed by the symbol's name with its NUL, then the bytes
  uint32_t module, stream;
  uint64_t offset;
  uint32_t name_bytes, reserved;
};
struct record_tensor_map {
  uint64_t address;
  uint32_t data_type, rank;
  uint64_t dims[5], strides[4];
  uint32_t box[5], element_strides[5];
  uint32_t interleave, swizzle, l2_promotion, oob_fill;
};
struct record_stream { // 2, 3, ... in order
  uint32_t stream, non_blocking;
  uint32_t of_library, unused; // a library made it for itself: cuDNN's streams
};
struct record_wait { // RECORD_EVENT, RECORD_WAIT
  uint32_t event, stream;
};
enum record_awaited { RECORD_AWAIT_DEVICE, RECORD_AWAIT_STREAM, RECORD_AWAIT_EVENT };
struct record_host_wait {
  uint32_t what, id;
};
// What PyTorch's own allocator gives is a multiple of this: cuDNN's kernels have pointers beyond what was asked for.
#define RECORD_PYTORCH_BYTES UINT64_C(512)
struct record_output {
  uint64_t address;
  uint32_t index, reserved;
};
// Followed by its bytes at the beginning, or by nothing: what it holds does not matter. Kinds: it held the same at the
// end, and is a constant of the plan; or it did not, and is brought back to its beginning in every call.
enum record_state_kind { RECORD_STATE_CONSTANT, RECORD_STATE_RESTORED };
struct record_state {
  uint64_t address, bytes;
  uint32_t kind, reserved;
};
struct record_name { // followed by the name with its NUL
  uint32_t module, reserved;
};
struct record_share {
  uint32_t origin, launches; // enum plan_origin
  uint64_t ns;
};
struct record_word {
  uint64_t word;   // as the program had it
  uint32_t at;     // its offset in the parameters
  uint32_t unseen; // 1: if it is an address, then of memory that nobody saw being allocated
};
enum { RECORD_MAX_STREAMS = 64, RECORD_MAX_EVENTS = 4096, RECORD_MAX_KERNELS = 4096 };

// What the recorder's cuTensorMapEncodeTiled leaves in the 128 bytes: this text, then the entry's number. The driver's
// own encoding is made where the plan runs, from the arguments.
#define RECORD_TOKEN "assay tensor map, to be encoded by the runner: it is no use to read or change it. No. "
enum { RECORD_TOKEN_BYTES = 128 };

#endif
