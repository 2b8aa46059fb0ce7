// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI's callback interface that lifting uses, declared here so that building needs no CUDA (names, values
// and meaning as in NVIDIA's "CUPTI" reference, cupti_callbacks.h). It has been the same since CUDA 11.
#ifndef TOOLCHAIN_LIFT_CUPTI_H
#define TOOLCHAIN_LIFT_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#include "compute/cuda_driver.h"

enum cupti_domain { CUPTI_CB_DOMAIN_DRIVER_API = 1, CUPTI_CB_DOMAIN_RESOURCE = 3 };
enum cupti_site { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 };
enum { CUPTI_CBID_RESOURCE_MODULE_LOADED = 6 };

struct cupti_call {
  enum cupti_site site;
  const char *name;   // "cuLaunchKernel", "cuMemAlloc_v2", "cuMemcpyDtoDAsync_v2_ptsz"
  const void *params; // the call's arguments as a struct
  void *result;       // enum cu_result *, at its end
  const char *symbol; // launches: the kernel's name
  CUcontext context;
  uint32_t context_uid;
  uint64_t *correlation_data;
  uint32_t correlation_id;
};

struct cupti_resource {
  CUcontext context;
  CUstream stream;
  void *descriptor;
};
struct cupti_module {
  uint32_t id;
  size_t bytes;
  const char *cubin;
};

typedef void cupti_callback(void *arg, enum cupti_domain domain, uint32_t id, const void *data);
typedef int cupti_subscribe_fn(void **subscriber, cupti_callback *callback, void *arg); // cuptiSubscribe_v1, 0: success
typedef int cupti_enable_domain_fn(uint32_t enable, void *subscriber, enum cupti_domain domain);

// Arguments, as CUPTI lays them out: the driver's parameters in their order.
struct call_launch { // cuLaunchKernel, and without `extra` cuLaunchCooperativeKernel
  CUfunction function;
  unsigned int grid[3], block[3], shared_bytes;
  CUstream stream;
  void **params, **extra;
};
struct call_launch_ex {
  const struct cu_launch_config *config;
  CUfunction function;
  void **params, **extra;
};
struct call_copy { // cuMemcpyDtoD, and so on; synchronous forms end before `stream`
  uint64_t to, from;
  size_t bytes;
  CUstream stream;
};
struct call_fill8 {
  uint64_t to;
  unsigned char value;
  size_t n;
  CUstream stream;
};
struct call_fill16 {
  uint64_t to;
  unsigned short value;
  size_t n;
  CUstream stream;
};
struct call_fill32 {
  uint64_t to;
  unsigned int value;
  size_t n;
  CUstream stream;
};
struct call_stream { // cuStreamCreate, cuStreamCreateWithPriority: how they begin
  CUstream *stream;
};
struct call_stream_end {
  CUstream stream;
};
struct call_event {
  CUevent event;
  CUstream stream;
};
struct call_wait {
  CUstream stream;
  CUevent event;
  unsigned int flags;
};
struct call_module { // cuModuleLoadData and so on
  CUmodule *module;
};
struct call_alloc { // cuMemAlloc, cuMemAllocAsync, cuMemAllocFromPoolAsync
  uint64_t *address;
  size_t bytes;
};
struct call_alloc_pitch {
  uint64_t *address;
  size_t *pitch, width, height;
};
struct call_map { // cuMemMap, and its beginning cuMemUnmap
  uint64_t address;
  size_t bytes;
};
struct call_free {
  uint64_t address;
};
struct call_tensor_map {
  struct cu_tensor_map *map;
  enum cu_tensor_map_data_type type;
  uint32_t rank;
  void *address;
  const uint64_t *dims, *strides;
  const uint32_t *box, *element_strides;
  enum cu_tensor_map_interleave interleave;
  enum cu_tensor_map_swizzle swizzle;
  enum cu_tensor_map_l2_promotion promotion;
  enum cu_tensor_map_oob_fill fill;
};

#endif
