// SPDX-License-Identifier: Apache-2.0
// The launch plan: a candidate's device work for one workload, as data. No code of the candidate's host side is left in
// it: modules of device code, buffers, and a list of steps that a trusted runner carries out in order, in one stream.
//
// Plans come from outside (files, builders that ran untrusted code) and are not trusted: plan_parse refuses
// what is not well formed, plan_check refuses what could not be carried out safely. Only a checked plan is run.
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/tensor_type.h"
#include "plan/device.h"

enum { PLAN_FORMAT = 1, PLAN_MAX_NAME = 4096 };

// Limits that plan_parse and plan_check enforce.
enum {
  PLAN_MAX_MODULES = 64,
  PLAN_MAX_BUFFERS = 4096,
  PLAN_MAX_STEPS = 65536,
  PLAN_MAX_ARGUMENTS = 1024,
  PLAN_MAX_ARGUMENT_BYTES = 32764, // of all of one kernel's parameters (CUDA 12.1 and later)
};
// Of all modules of a plan together, and of all its constants.
#define PLAN_MAX_MODULE_BYTES ((size_t)256 << 20)
#define PLAN_MAX_CONSTANT_BYTES ((size_t)256 << 20)
#define PLAN_MAX_JSON_BYTES ((size_t)1 << 30)
// Numbers, strings, lists and objects of a text: each costs memory before it can be looked at.
#define PLAN_MAX_JSON_VALUES ((size_t)4 << 20)

enum plan_role {
  PLAN_INPUT,    // the judge's, read-only; index: which input of the task
  PLAN_OUTPUT,   // the judge's; index: which output
  PLAN_SCRATCH,  // the runner's; holds garbage when the plan begins, or zeros
  PLAN_CONSTANT, // the runner's; holds `data` when the plan begins, and is the same in every call
};

struct plan_buffer {
  const char *name; // for people; unique in the plan
  enum plan_role role;
  int index;                 // inputs and outputs: of the task's graph
  struct tensor_type tensor; // inputs and outputs: for people and tensor maps; memory is bytes
  uint64_t bytes;            // 0 only of inputs without elements; inputs and outputs: exactly the tensor's
  uint32_t alignment;        // of its start, a power of two, at most 1 MiB; the judge's buffers have at least 256
  const uint8_t *data;       // constants: `bytes` bytes
  // Scratch: zeros when the plan begins, before its first call; workspaces of libraries may have counters that are set
  // back.
  bool zeroed;
};

enum plan_code { PLAN_CUBIN, PLAN_PTX, PLAN_OPENCL_C, PLAN_SPIRV };

struct plan_module {
  const char *name; // "relu.cu"
  enum plan_code code;
  const uint8_t *bytes; // text forms: with a terminating NUL that `size` does not count
  size_t size;
  const char *options; // text forms: for the device's compiler; may be ""
};

// A pointer inside an argument: the address of buffer + offset goes to these 8 bytes.
struct plan_pointer {
  uint32_t at; // byte offset in the argument
  int buffer;
  int64_t offset; // in bytes; 0 <= offset <= buffer's size
  // Of a recording only (0 elsewhere): the word that stood there, and why it may be no pointer at all. A second
  // recording says it (plan_difference); no plan that is complete has a doubt.
  uint64_t word;
  enum plan_doubt { PLAN_NO_DOUBT, PLAN_OUTSIDE, PLAN_FREED, PLAN_UNSEEN } doubt;
};

// CUtensorMap (the copy engine's descriptor), encoded by the runner: cuTensorMapEncodeTiled's arguments.
struct plan_tensor_map {
  int buffer;
  int64_t offset;
  uint32_t data_type;  // CUtensorMapDataType
  uint32_t rank;       // 1..5
  uint64_t dims[5];    // elements, fastest first
  uint64_t strides[4]; // bytes, of dims 1..rank-1
  uint32_t box[5], element_strides[5];
  uint32_t interleave, swizzle, l2_promotion, oob_fill; // the driver's enumerations
};

// One parameter of a kernel: `size` bytes with pointers put in, or a tensor map of 128 bytes, or (OpenCL) local memory.
enum plan_argument_kind { PLAN_BYTES, PLAN_TENSOR_MAP, PLAN_LOCAL_MEMORY };
struct plan_argument {
  enum plan_argument_kind kind;
  uint32_t size;        // PLAN_LOCAL_MEMORY: bytes of local memory
  const uint8_t *bytes; // PLAN_BYTES: size bytes; those under pointers are zero
  int n_pointers;
  const struct plan_pointer *pointers; // ascending, not overlapping
  const struct plan_tensor_map *map;   // PLAN_TENSOR_MAP
  // PLAN_BYTES of a lifted plan: so many bytes were another in each recording; they are zero. 0: none.
  uint32_t unsettled;
};

enum plan_step_kind {
  PLAN_LAUNCH,
  PLAN_FILL,       // dst[0 .. bytes) with a pattern of 1, 2 or 4 bytes
  PLAN_COPY,       // src to dst, which do not overlap
  PLAN_SET_SYMBOL, // writes constant bytes (buffer src) to a module's global variable
};

struct plan_place {
  int buffer;
  int64_t offset;
};

struct plan_step {
  enum plan_step_kind kind;
  // PLAN_LAUNCH
  int module;
  const char *kernel;         // name in the module, as the linker knows it
  const char *label;          // as people know it; may be NULL
  uint32_t grid[3], block[3]; // OpenCL: groups and work-items in a group
  uint32_t cluster[3];        // 0, 0, 0: no clusters
  uint32_t shared_bytes;      // dynamic
  bool cooperative;
  bool programmatic; // programmatic stream serialization: may begin before the step before it has ended
  int32_t carveout;  // preferred shared memory carveout in percent; -1: not said
  int n_arguments;
  const struct plan_argument *arguments;
  // PLAN_FILL, PLAN_COPY, PLAN_SET_SYMBOL
  struct plan_place to, from;
  uint64_t bytes;
  uint32_t value;     // PLAN_FILL
  uint32_t width;     // PLAN_FILL: 1, 2 or 4; bytes and offset are multiples of it
  const char *symbol; // PLAN_SET_SYMBOL: of `module`; to.offset is the offset in it
};

struct plan {
  struct arena arena;               // owns everything below, plan_release
  const char *task, *workload;      // "kernelbench/1/19", "M=3, N=4": for people
  const struct plan_device *device; // one that carries out plans
  const char *target;               // "sm_90a"; OpenCL: ""
  const char *toolchain;            // "nvrtc 13.0", for people
  int n_modules, n_buffers, n_steps;
  // Steps before this index prepare what depends on static inputs (weights) only; they are timed apart. 0: none.
  int n_prepare;
  struct plan_module *modules;
  struct plan_buffer *buffers;
  struct plan_step *steps;
};

void plan_release(struct plan *p);

// JSON. Binary parts are base64. Stable: writing what was read gives the same bytes. ASSAY_ERR_SYNTAX and _INVALID name
// the place ("steps[3].arguments[1].pointers[0]") and say what is wrong; ASSAY_ERR_LIMIT when it is beyond the limits
// above. A parsed plan is well formed: indices are in range, names are there, enumerators are known; plan_check does
// the rest.
enum assay_status plan_parse(const char *json, size_t n, struct plan *out, struct assay_error *err);
enum assay_status plan_print_json(const struct plan *p, struct buf *out, struct assay_error *err);
enum assay_status plan_read(const char *path, struct plan *out, struct assay_error *err);
enum assay_status plan_write(const char *path, const struct plan *p, struct assay_error *err); // temp file and rename
// The same between processes of one machine and one build: the text's length in 8 bytes, the text, and after it the
// bytes of modules and constants, whose places the text has ("packed": [offset, bytes]). Reading is as strict, with the
// statuses of plan_parse, and ASSAY_ERR_INVALID for what is cut off.
enum assay_status plan_pack(const struct plan *p, struct buf *out, struct assay_error *err);
enum assay_status plan_unpack(const void *bytes, size_t n, struct plan *out, struct assay_error *err);

// For people: modules with their sizes and kernels, buffers, and every step as one line
// ("  3  softmax_rows<<<4096, 256, 1024>>>(x, partial+512, y, 393216)").
enum assay_status plan_print(const struct plan *p, struct buf *out, struct assay_error *err);

// How many arguments have unsettled bytes.
int plan_unsettled(const struct plan *p);

// A kernel whose name says that it multiplies in TF32, as those of cuBLAS, cuDNN and CUTLASS do: its name, the plan's;
// NULL: there is none.
const char *plan_tf32_kernel(const struct plan *p);

// What a device allows. Zero fields are not checked.
struct plan_limits {
  const struct plan_device *device;
  const char *target;                              // "sm_90": a cubin of another architecture cannot be loaded
  uint32_t max_grid[3], max_block[3], max_threads; // of a block
  uint32_t max_shared_bytes; // of a block, static and dynamic together, opted in: 232448 on an H100
  uint32_t max_cluster;
  uint64_t memory_bytes; // for scratch and constants together
};
// A GPU's architecture: "sm_90a" is 90, 'a'. False: the text is none.
struct plan_target {
  uint32_t number; // 0: not known
  char variant;    // 'a', 'f' or 0
};
bool plan_target_parse(const char *text, struct plan_target *out);

// "sm_90", "sm_90a", ...: documented limits; of a target that is not known only what all GPUs share. out->target is
// borrowed from the caller.
void plan_limits_of_target(const char *target, struct plan_limits *out);

// What an SM has for all blocks that it runs at once (CUDA C++ Programming Guide, "Technical Specifications").
struct plan_sm {
  uint32_t max_threads, max_blocks, registers, shared_bytes;
  uint32_t reserved_shared_bytes; // the system's, of every block
};
// False: the target is not known.
bool plan_sm_of_target(const char *target, struct plan_sm *out);
// How many blocks of so many threads, with so many registers a thread and so much shared memory a block, an SM runs at
// once: as NVIDIA's occupancy calculator.
uint32_t plan_resident_blocks(const struct plan_sm *sm, uint32_t threads, uint32_t registers, uint64_t shared_bytes);

// What a kernel of the plan needs, as its cubin says it, and how it is launched where it first is.
struct plan_need {
  const char *name; // as people know it; the plan's
  int64_t launches;
  uint32_t registers, local_bytes; // of a thread
  uint64_t shared_bytes;           // of a block, static and dynamic
  uint32_t threads;                // of a block
  uint32_t blocks;                 // on an SM at once; 0: the target is not known
  double occupancy;                // the part of an SM's threads that can be there at once; NaN: likewise
};
// Of the first `most` different kernels; returns how many. Kernels in other code than cubins are left out. ASSAY_ERR_*
// as cubin_read.
enum assay_status plan_needs(const struct plan *p, struct plan_need *out, int most, int *n, struct assay_error *err);

// What the plan must be for: the tensors of a workload.
struct plan_expectation {
  int n_inputs, n_outputs;
  const struct tensor_type *inputs, *outputs;
};

// Checks everything that can be checked without the device: ranges of every place and pointer, overlaps of copies,
// writes to inputs and constants by fills and copies, grids and blocks, kernels that the modules lack, arguments
// against the kernel's parameter list (count, offsets and sizes, from the cubin itself), buffers against the
// expectation (may be NULL), outputs that no step mentions, memory. ASSAY_ERR_INVALID says which step and what;
// ASSAY_ERR_LIMIT: the plan is sound, but scratch and constants are more than the device has.
enum assay_status plan_check(const struct plan *p, const struct plan_limits *limits,
                             const struct plan_expectation *expected, struct assay_error *err);

// A C program that carries the plan out with nothing but libcuda, and files with its modules: writes FOLDER/NAME.c,
// FOLDER/NAME.N.cubin and FOLDER/README.md. The program reads input files given as arguments (raw bytes) or makes
// deterministic data, runs, prints the time per run (events, median), and writes the outputs where asked.
enum assay_status plan_export(const struct plan *p, const char *folder, const char *name, struct assay_error *err);

// What a cubin (an ELF file for the GPU) says of itself. Bounds-checked throughout: the file is untrusted.
struct cubin_parameter {
  uint32_t offset, size;
};
struct cubin_kernel {
  const char *name;
  int n_parameters;                         // -1: the cubin does not say
  const struct cubin_parameter *parameters; // in order
  uint32_t max_threads;                     // .maxntid's product or the register file's bound; 0: not said
  uint32_t registers, static_shared_bytes;  // the memory that the system reserves in each block is not counted
  uint32_t local_bytes; // of a thread: registers that did not fit, and arrays that are indexed (ptxas's stack frame)
  uint32_t block[3], cluster[3]; // what every launch must have (.reqntid, .reqnctapercluster); 0, 0, 0: not said
};
struct cubin_symbol { // a global or constant variable
  const char *name;
  uint64_t bytes;
};
struct cubin_info {
  uint32_t architecture; // 90 for sm_90 and sm_90a
  bool arch_specific;    // sm_90a
  int n_kernels;
  const struct cubin_kernel *kernels; // in the order of their names, no two the same
  int n_symbols;
  const struct cubin_symbol *symbols;
};
// The names in *out point into the bytes, which must stay; the rest lives in the arena. ASSAY_ERR_INVALID when this is
// no cubin of 64 bits or contradicts itself.
enum assay_status cubin_read(const uint8_t *bytes, size_t n, struct arena *arena, struct cubin_info *out,
                             struct assay_error *err);
const struct cubin_kernel *cubin_find(const struct cubin_info *c, const char *name);
const struct cubin_symbol *cubin_find_symbol(const struct cubin_info *c, const char *name);

#endif
