// SPDX-License-Identifier: Apache-2.0
// What host code may ask about the device, kernels and errors. The device is the one that the request describes.
#include <stdio.h>
#include <string.h>

#include "toolchain/recorder/recorder.h"

enum {
  WARP = 32,
  USUAL_SHARED_BYTES = 48 << 10,
  SHARED_UNIT = 128, // shared memory is given to a block by so many bytes
  RUNTIME_VERSION = 13000,
};

static const struct record_device *device(void) {
  return &recorder.request->device;
}

// Shared memory that the system takes of each block.
static uint32_t reserved_shared_bytes(void) {
  return device()->sm >= 80 ? 1024 : 0;
}

static int at_most_int(uint64_t n) {
  return n > INT32_MAX ? INT32_MAX : (int)n;
}

uint32_t most_threads(const struct kernel *k) {
  enum { MOST = 1024 };
  return k->cubin->max_threads && k->cubin->max_threads < MOST ? k->cubin->max_threads : MOST;
}

int occupancy(const struct kernel *k, int block_threads, size_t dynamic_bytes) {
  const struct record_device *d = device();
  const struct plan_sm sm = {d->max_threads, d->max_blocks, d->registers, d->shared_bytes, reserved_shared_bytes()};
  if (block_threads <= 0 || (uint32_t)block_threads > most_threads(k))
    return 0;
  return (int)plan_resident_blocks(&sm, (uint32_t)block_threads, k->cubin->registers,
                                   (uint64_t)k->cubin->static_shared_bytes + dynamic_bytes);
}

EXPORT(int, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *blocks, const void *function, int threads,
       size_t dynamic_bytes, unsigned flags) {
  (void)flags;
  *blocks = occupancy(kernel_of(function), threads, dynamic_bytes);
  return CUDA_OK;
}

EXPORT(int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, const void *function, int threads,
       size_t dynamic_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_bytes, 0);
}

EXPORT(int, cudaOccupancyAvailableDynamicSMemPerBlock, size_t *bytes, const void *function, int blocks, int threads) {
  const struct kernel *k = kernel_of(function);
  (void)threads;
  if (blocks <= 0)
    return fail(CUDA_INVALID_VALUE);
  uint64_t share = device()->shared_bytes / (uint32_t)blocks / SHARED_UNIT * SHARED_UNIT;
  uint64_t taken = k->cubin->static_shared_bytes + reserved_shared_bytes();
  uint64_t most = device()->shared_optin_bytes - k->cubin->static_shared_bytes;
  *bytes = share < taken ? 0 : share - taken < most ? share - taken : most;
  return CUDA_OK;
}

struct cuda_function_attributes {
  size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_bytes, carveout;
  int cluster_must_be_set, cluster[3], cluster_policy, non_portable_cluster, reserved[16];
};

EXPORT(int, cudaFuncGetAttributes, struct cuda_function_attributes *out, const void *function) {
  const struct kernel *k = kernel_of(function);
  // Not as many bytes as CUDA 13's structure has: CUDA 12 and before end after `carveout` and some reserve.
  struct cuda_function_attributes a = {
      .shared_bytes = k->cubin->static_shared_bytes,
      .max_threads = (int)most_threads(k),
      .registers = (int)k->cubin->registers,
      .ptx_version = (int)device()->sm,
      .binary_version = (int)device()->sm,
      .max_dynamic_bytes =
          (int)(k->max_dynamic_bytes ? k->max_dynamic_bytes : USUAL_SHARED_BYTES - k->cubin->static_shared_bytes),
      .carveout = k->carveout,
  };
  memcpy(out, &a, offsetof(struct cuda_function_attributes, cluster_must_be_set));
  return CUDA_OK;
}

EXPORT(int, cudaFuncSetAttribute, const void *function, int attribute, int value) {
  enum { MAX_DYNAMIC = 8, CARVEOUT = 9, NON_PORTABLE_CLUSTER = 14, CLUSTER_POLICY = 15 };
  struct kernel *k = kernel_of(function);
  uint32_t room = device()->shared_optin_bytes - k->cubin->static_shared_bytes;
  if (attribute == MAX_DYNAMIC && (value < 0 || (uint32_t)value > room))
    return fail(CUDA_INVALID_VALUE);
  if (attribute == MAX_DYNAMIC)
    k->max_dynamic_bytes = (uint32_t)value;
  else if (attribute == CARVEOUT)
    k->carveout = value;
  else if (attribute != NON_PORTABLE_CLUSTER && attribute != CLUSTER_POLICY)
    refuse("cudaFuncSetAttribute(%s, %d, ...) cannot be recorded: give the cluster's size with the launch "
           "(cudaLaunchKernelEx) or with __cluster_dims__ instead",
           k->name, attribute);
  return CUDA_OK;
}

// Advice about caches.
EXPORT(int, cudaFuncSetCacheConfig, const void *function, int config) {
  (void)kernel_of(function), (void)config;
  return CUDA_OK;
}

EXPORT(int, cudaDeviceSetCacheConfig, int config) {
  (void)config;
  return CUDA_OK;
}

EXPORT(int, cudaCtxResetPersistingL2Cache, void) {
  return CUDA_OK;
}

EXPORT(int, cudaGetDevice, int *out) {
  *out = 0;
  return CUDA_OK;
}

EXPORT(int, cudaGetDeviceCount, int *out) {
  *out = 1;
  return CUDA_OK;
}

EXPORT(int, cudaSetDevice, int index) {
  return index == 0 ? CUDA_OK : fail(CUDA_INVALID_DEVICE);
}

EXPORT(int, cudaInitDevice, int index, unsigned device_flags, unsigned flags) {
  (void)device_flags, (void)flags;
  return cudaSetDevice(index);
}

EXPORT(int, cudaSetDeviceFlags, unsigned flags) {
  (void)flags;
  return CUDA_OK;
}

EXPORT(int, cudaRuntimeGetVersion, int *version) {
  *version = RUNTIME_VERSION;
  return CUDA_OK;
}

EXPORT(int, cudaDriverGetVersion, int *version) {
  *version = RUNTIME_VERSION;
  return CUDA_OK;
}

EXPORT(int, cudaDeviceGetStreamPriorityRange, int *lowest, int *highest) {
  if (lowest)
    *lowest = 0;
  if (highest)
    *highest = -5;
  return CUDA_OK;
}

// cudaDeviceAttr. What is not in the table is refused: a wrong answer would be worse than none.
static bool attribute_value(int attribute, int *out) {
  const struct record_device *d = device();
  const struct {
    int attribute;
    uint64_t value;
  } table[] = {
      {1, 1024}, // threads of a block
      {2, 1024},
      {3, 1024},
      {4, 64},
      {5, INT32_MAX}, // grid
      {6, 65535},
      {7, 65535},
      {8, USUAL_SHARED_BYTES},
      {9, 65536}, // constant memory
      {10, WARP},
      {11, INT32_MAX}, // pitch
      {12, d->registers},
      {13, d->clock_khz},
      {14, 512}, // texture alignment
      {15, 1},
      {16, d->multiprocessors},
      {17, 0},
      {18, 0}, // integrated
      {19, 1},
      {20, 0}, // compute mode: default
      {31, 1},
      {32, 1},
      {35, 0},
      {36, d->memory_clock_khz},
      {37, d->memory_bus_bits},
      {38, d->l2_bytes},
      {39, d->max_threads},
      {40, 3},
      {41, 1}, // unified addressing
      {51, 32},
      {75, d->sm / 10},
      {76, d->sm % 10},
      {78, 1}, // stream priorities
      {79, 1},
      {80, 1},
      {81, d->shared_bytes},
      {82, d->registers},
      {83, 0}, // managed memory: cannot be recorded
      {84, 0},
      {86, 0},
      {88, 0}, // pageable memory access
      {89, 0},
      {90, 1},
      {91, 0},
      {95, 1}, // cooperative launch
      {97, d->shared_optin_bytes},
      {99, 0},
      {100, 0},
      {101, 0},
      {106, d->max_blocks},
      {108, d->sm >= 80 ? d->l2_bytes / 8 * 5 : 0}, // persisting part of the second-level cache
      {109, d->sm >= 80 ? 128u << 20 : 0},
      {111, reserved_shared_bytes()},
      {115, 1},           // memory pools
      {120, d->sm >= 90}, // clusters
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].attribute == attribute) {
      *out = at_most_int(table[i].value);
      return true;
    }
  return false;
}

EXPORT(int, cudaDeviceGetAttribute, int *out, int attribute, int index) {
  if (index != 0)
    return fail(CUDA_INVALID_DEVICE);
  if (!attribute_value(attribute, out))
    refuse("cudaDeviceGetAttribute(%d) cannot be recorded: the answer is known only where the plan runs; the limits "
           "that matter to launches (threads, shared memory, SMs, clusters) are there",
           attribute);
  return CUDA_OK;
}

// cudaDeviceProp of CUDA 13; textures and surfaces (and what else is 0 here) are not described.
struct cuda_properties {
  char name[256], uuid[16], luid[8];
  unsigned luid_mask;
  size_t memory_bytes, shared_bytes;
  int registers, warp;
  size_t pitch;
  int block_threads, block[3], grid[3];
  size_t constant_bytes;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int multiprocessors, integrated, map_host;
  int textures[39];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci[3], tcc, async_engines, unified_addressing, bus_bits, l2_bytes, persisting_l2_bytes;
  int max_threads, stream_priorities, global_l1, local_l1;
  size_t mp_shared_bytes;
  int mp_registers, managed, multi_board, board_group, host_atomics, pageable, concurrent_managed, preemption;
  int registered_pointers, cooperative;
  size_t shared_optin_bytes;
  int pageable_tables, direct_managed, max_blocks, window_bytes;
  size_t reserved_shared_bytes;
  int host_register, sparse, register_read_only, timeline, pools, rdma;
  unsigned rdma_flush;
  int rdma_order;
  unsigned pool_handles;
  int deferred, ipc_event, cluster, unified_functions, numa_config, numa_id, mps, host_numa;
  unsigned pci_device, pci_subsystem;
  int host_numa_ipc, reserved[56];
};

static int property(int attribute) {
  int value = 0;
  (void)attribute_value(attribute, &value);
  return value;
}

EXPORT(int, cudaGetDeviceProperties, struct cuda_properties *out, int index) {
  const struct record_device *d = device();
  if (index != 0)
    return fail(CUDA_INVALID_DEVICE);
  *out = (struct cuda_properties){
      .memory_bytes = d->memory_bytes,
      .shared_bytes = USUAL_SHARED_BYTES,
      .registers = (int)d->registers,
      .warp = WARP,
      .pitch = INT32_MAX,
      .block_threads = property(1),
      .block = {property(2), property(3), property(4)},
      .grid = {property(5), property(6), property(7)},
      .constant_bytes = 65536,
      .major = (int)d->sm / 10,
      .minor = (int)d->sm % 10,
      .texture_alignment = 512,
      .texture_pitch_alignment = 32,
      .multiprocessors = (int)d->multiprocessors,
      .map_host = 1,
      .surface_alignment = 512,
      .concurrent_kernels = 1,
      .ecc = 1,
      .async_engines = property(40),
      .unified_addressing = 1,
      .bus_bits = (int)d->memory_bus_bits,
      .l2_bytes = (int)d->l2_bytes,
      .persisting_l2_bytes = property(108),
      .max_threads = (int)d->max_threads,
      .stream_priorities = 1,
      .global_l1 = 1,
      .local_l1 = 1,
      .mp_shared_bytes = d->shared_bytes,
      .mp_registers = (int)d->registers,
      .preemption = 1,
      .cooperative = 1,
      .shared_optin_bytes = d->shared_optin_bytes,
      .max_blocks = (int)d->max_blocks,
      .window_bytes = property(109),
      .reserved_shared_bytes = reserved_shared_bytes(),
      .pools = 1,
      .cluster = property(120),
  };
  snprintf(out->name, sizeof out->name, "%s", d->name);
  return CUDA_OK;
}

EXPORT(int, cudaGetLastError, void) {
  int e = recorder.last_error;
  recorder.last_error = CUDA_OK;
  return e;
}

EXPORT(int, cudaPeekAtLastError, void) {
  return recorder.last_error;
}

static const struct {
  int code;
  const char *name, *text;
} errors[] = {
    {CUDA_OK, "cudaSuccess", "no error"},
    {CUDA_INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {CUDA_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
    {CUDA_INVALID_SYMBOL, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {CUDA_INVALID_DEVICE_FUNCTION, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {CUDA_INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {CUDA_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {CUDA_NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
};

EXPORT(const char *, cudaGetErrorName, int e) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == e)
      return errors[i].name;
  return "unrecognized error code";
}

EXPORT(const char *, cudaGetErrorString, int e) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == e)
      return errors[i].text;
  return "unrecognized error code";
}
