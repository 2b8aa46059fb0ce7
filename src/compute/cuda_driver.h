// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, reached by dlopen: the part of its interface that Assay uses, declared here (names, values and
// meaning as in NVIDIA's "CUDA Driver API" reference), so that building needs no CUDA.
#ifndef COMPUTE_CUDA_DRIVER_H
#define COMPUTE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

// Results that callers distinguish; cuda_check has a message for all of them.
enum cu_result {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_ECC_UNCORRECTABLE = 214,
  CUDA_ERROR_UNSUPPORTED_LIMIT = 215,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_CONTAINED = 226,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_NOT_READY = 802,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
  CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
  CUDA_ERROR_UNKNOWN = 999,
};

enum cu_device_attribute {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, // kHz
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,       // kHz
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, // bits
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
  CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE = 108,
  CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
  CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120,
  CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED = 127,
  CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133,
};

enum cu_function_attribute {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
  CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET = 10,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH = 11,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT = 12,
  CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH = 13,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

enum cu_limit {
  CU_LIMIT_STACK_SIZE = 0,
  CU_LIMIT_PRINTF_FIFO_SIZE = 1,
  CU_LIMIT_MALLOC_HEAP_SIZE = 2,
  CU_LIMIT_MAX_L2_FETCH_GRANULARITY = 5,
  CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 6,
};

// Options of cuModuleLoadDataEx; numbers are passed in the value pointers themselves.
enum cu_jit_option {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,
};

// Flags, passed as unsigned int.
enum {
  CU_CTX_SCHED_AUTO = 0,
  CU_CTX_SCHED_SPIN = 1,
  CU_CTX_SCHED_YIELD = 2,
  CU_CTX_SCHED_BLOCKING_SYNC = 4,
  CU_CTX_MAP_HOST = 8,
  CU_CTX_LMEM_RESIZE_TO_MAX = 16,
  CU_STREAM_NON_BLOCKING = 1,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_EVENT_INTERPROCESS = 4,
  CU_STREAM_WAIT_VALUE_GEQ = 0,
  CU_STREAM_WAIT_VALUE_EQ = 1,
  CU_STREAM_WAIT_VALUE_AND = 2,
  CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1,
  CU_MEMHOSTALLOC_PORTABLE = 1,
  CU_MEMHOSTALLOC_DEVICEMAP = 2,
  CU_MEMHOSTALLOC_WRITECOMBINED = 4,
  CU_MEMHOSTREGISTER_PORTABLE = 1,
  CU_MEMHOSTREGISTER_DEVICEMAP = 2,
  CU_MEMHOSTREGISTER_READ_ONLY = 8,
};

// ---- memory as allocations that are mapped (virtual memory management)

enum cu_mem_location_type { CU_MEM_LOCATION_TYPE_INVALID = 0, CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum cu_mem_allocation_type { CU_MEM_ALLOCATION_TYPE_INVALID = 0, CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum cu_mem_handle_type { CU_MEM_HANDLE_TYPE_NONE = 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1 };
enum cu_mem_access_flags {
  CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
  CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
};
enum cu_mem_granularity { CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1 };

struct cu_mem_location {
  enum cu_mem_location_type type;
  int id; // the device
};

struct cu_mem_allocation_prop {
  enum cu_mem_allocation_type type;
  enum cu_mem_handle_type requested_handle_types;
  struct cu_mem_location location;
  void *win32_meta_data;
  struct {
    unsigned char compression_type, gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};

struct cu_mem_access_desc {
  struct cu_mem_location location;
  enum cu_mem_access_flags flags;
};

// ---- launches with attributes

enum cu_launch_attribute_id {
  CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
  CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
};

union cu_launch_attribute_value {
  char pad[64];
  int cooperative;
  struct {
    unsigned int x, y, z;
  } cluster_dim;
  int cluster_scheduling_policy; // 0 default, 1 spread, 2 load balancing
  int programmatic_stream_serialization_allowed;
  int priority;
  uint64_t alignment_;
};

struct cu_launch_attribute {
  enum cu_launch_attribute_id id;
  char pad[4];
  union cu_launch_attribute_value value;
};

struct cu_launch_config {
  unsigned int grid_x, grid_y, grid_z;
  unsigned int block_x, block_y, block_z;
  unsigned int shared_bytes;
  CUstream stream;
  struct cu_launch_attribute *attrs;
  unsigned int n_attrs;
};

// ---- tensor maps

struct cu_tensor_map {
  _Alignas(128) uint64_t opaque[16];
};
enum cu_tensor_map_data_type {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16,
  CU_TENSOR_MAP_DATA_TYPE_UINT32,
  CU_TENSOR_MAP_DATA_TYPE_INT32,
  CU_TENSOR_MAP_DATA_TYPE_UINT64,
  CU_TENSOR_MAP_DATA_TYPE_INT64,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
};
enum cu_tensor_map_interleave {
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_INTERLEAVE_16B,
  CU_TENSOR_MAP_INTERLEAVE_32B,
};
enum cu_tensor_map_swizzle {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B,
  CU_TENSOR_MAP_SWIZZLE_64B,
  CU_TENSOR_MAP_SWIZZLE_128B,
};
enum cu_tensor_map_l2_promotion {
  CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
};
enum cu_tensor_map_oob_fill {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
};

struct cu_uuid {
  unsigned char bytes[16];
};

// ---- the functions
//
// X(field, symbol in the library, need, parameters). The field is the name in the documentation, the symbol the version
// whose parameters are given. OPTIONAL entries are NULL where the driver is older than they are: ask before the call.
#define CUDA_DRIVER_FUNCTIONS(X)                                                                                       \
  X(cuDriverGetVersion, cuDriverGetVersion, REQUIRED, (int *version))                                                  \
  X(cuInit, cuInit, REQUIRED, (unsigned int flags))                                                                    \
  X(cuGetErrorName, cuGetErrorName, REQUIRED, (enum cu_result error, const char **text))                               \
  X(cuGetErrorString, cuGetErrorString, REQUIRED, (enum cu_result error, const char **text))                           \
  X(cuDeviceGetCount, cuDeviceGetCount, REQUIRED, (int *count))                                                        \
  X(cuDeviceGet, cuDeviceGet, REQUIRED, (CUdevice * device, int ordinal))                                              \
  X(cuDeviceGetName, cuDeviceGetName, REQUIRED, (char *name, int len, CUdevice device))                                \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, REQUIRED,                                                              \
    (int *value, enum cu_device_attribute attribute, CUdevice device))                                                 \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, REQUIRED, (size_t * bytes, CUdevice device))                                \
  X(cuDeviceGetUuid, cuDeviceGetUuid_v2, OPTIONAL, (struct cu_uuid * uuid, CUdevice device))                           \
  X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, REQUIRED, (char *text, int len, CUdevice device))                        \
  X(cuCtxCreate, cuCtxCreate_v2, REQUIRED, (CUcontext * context, unsigned int flags, CUdevice device))                 \
  X(cuCtxDestroy, cuCtxDestroy_v2, REQUIRED, (CUcontext context))                                                      \
  X(cuCtxSetCurrent, cuCtxSetCurrent, REQUIRED, (CUcontext context))                                                   \
  X(cuCtxGetCurrent, cuCtxGetCurrent, REQUIRED, (CUcontext * context))                                                 \
  X(cuCtxSynchronize, cuCtxSynchronize, REQUIRED, (void))                                                              \
  X(cuCtxSetLimit, cuCtxSetLimit, REQUIRED, (enum cu_limit limit, size_t value))                                       \
  X(cuCtxGetLimit, cuCtxGetLimit, REQUIRED, (size_t * value, enum cu_limit limit))                                     \
  X(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, OPTIONAL, (void))                                        \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx, REQUIRED,                                                                  \
    (CUmodule * module, const void *image, unsigned int n_options, enum cu_jit_option *options, void **values))        \
  X(cuModuleUnload, cuModuleUnload, REQUIRED, (CUmodule module))                                                       \
  X(cuModuleGetFunction, cuModuleGetFunction, REQUIRED, (CUfunction * function, CUmodule module, const char *name))    \
  X(cuModuleGetGlobal, cuModuleGetGlobal_v2, REQUIRED,                                                                 \
    (uint64_t * address, size_t * bytes, CUmodule module, const char *name))                                           \
  X(cuModuleGetFunctionCount, cuModuleGetFunctionCount, OPTIONAL, (unsigned int *count, CUmodule module))              \
  X(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions, OPTIONAL,                                                  \
    (CUfunction * functions, unsigned int n, CUmodule module))                                                         \
  X(cuFuncGetAttribute, cuFuncGetAttribute, REQUIRED,                                                                  \
    (int *value, enum cu_function_attribute attribute, CUfunction function))                                           \
  X(cuFuncSetAttribute, cuFuncSetAttribute, REQUIRED,                                                                  \
    (CUfunction function, enum cu_function_attribute attribute, int value))                                            \
  X(cuFuncGetName, cuFuncGetName, OPTIONAL, (const char **name, CUfunction function))                                  \
  X(cuFuncGetParamInfo, cuFuncGetParamInfo, OPTIONAL,                                                                  \
    (CUfunction function, size_t index, size_t * offset, size_t * bytes))                                              \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, REQUIRED,                \
    (int *blocks, CUfunction function, int block_threads, size_t shared_bytes))                                        \
  X(cuLaunchKernel, cuLaunchKernel, REQUIRED,                                                                          \
    (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,         \
     unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void **params,            \
     void **extra))                                                                                                    \
  X(cuLaunchKernelEx, cuLaunchKernelEx, OPTIONAL,                                                                      \
    (const struct cu_launch_config *config, CUfunction function, void **params, void **extra))                         \
  X(cuMemGetInfo, cuMemGetInfo_v2, REQUIRED, (size_t * free_bytes, size_t * total_bytes))                              \
  X(cuMemAlloc, cuMemAlloc_v2, REQUIRED, (uint64_t * address, size_t bytes))                                           \
  X(cuMemFree, cuMemFree_v2, REQUIRED, (uint64_t address))                                                             \
  X(cuMemHostAlloc, cuMemHostAlloc, REQUIRED, (void **p, size_t bytes, unsigned int flags))                            \
  X(cuMemFreeHost, cuMemFreeHost, REQUIRED, (void *p))                                                                 \
  X(cuMemHostRegister, cuMemHostRegister_v2, REQUIRED, (void *p, size_t bytes, unsigned int flags))                    \
  X(cuMemHostUnregister, cuMemHostUnregister, REQUIRED, (void *p))                                                     \
  X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, REQUIRED,                                                 \
    (uint64_t * address, void *p, unsigned int flags))                                                                 \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, REQUIRED, (uint64_t to, const void *from, size_t bytes, CUstream stream)) \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, REQUIRED, (void *to, uint64_t from, size_t bytes, CUstream stream))       \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, REQUIRED, (uint64_t to, uint64_t from, size_t bytes, CUstream stream))    \
  X(cuMemsetD8Async, cuMemsetD8Async, REQUIRED, (uint64_t to, unsigned char value, size_t n, CUstream stream))         \
  X(cuMemsetD16Async, cuMemsetD16Async, REQUIRED, (uint64_t to, unsigned short value, size_t n, CUstream stream))      \
  X(cuMemsetD32Async, cuMemsetD32Async, REQUIRED, (uint64_t to, unsigned int value, size_t n, CUstream stream))        \
  X(cuMemAddressReserve, cuMemAddressReserve, OPTIONAL,                                                                \
    (uint64_t * address, size_t bytes, size_t alignment, uint64_t hint, unsigned long long flags))                     \
  X(cuMemAddressFree, cuMemAddressFree, OPTIONAL, (uint64_t address, size_t bytes))                                    \
  X(cuMemCreate, cuMemCreate, OPTIONAL,                                                                                \
    (uint64_t * handle, size_t bytes, const struct cu_mem_allocation_prop *prop, unsigned long long flags))            \
  X(cuMemRelease, cuMemRelease, OPTIONAL, (uint64_t handle))                                                           \
  X(cuMemMap, cuMemMap, OPTIONAL,                                                                                      \
    (uint64_t address, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags))                        \
  X(cuMemUnmap, cuMemUnmap, OPTIONAL, (uint64_t address, size_t bytes))                                                \
  X(cuMemSetAccess, cuMemSetAccess, OPTIONAL,                                                                          \
    (uint64_t address, size_t bytes, const struct cu_mem_access_desc *desc, size_t count))                             \
  X(cuMemExportToShareableHandle, cuMemExportToShareableHandle, OPTIONAL,                                              \
    (void *to, uint64_t handle, enum cu_mem_handle_type type, unsigned long long flags))                               \
  X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, OPTIONAL,                                          \
    (uint64_t * handle, void *from, enum cu_mem_handle_type type))                                                     \
  X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, OPTIONAL,                                            \
    (size_t * bytes, const struct cu_mem_allocation_prop *prop, enum cu_mem_granularity option))                       \
  X(cuStreamCreate, cuStreamCreate, REQUIRED, (CUstream * stream, unsigned int flags))                                 \
  X(cuStreamDestroy, cuStreamDestroy_v2, REQUIRED, (CUstream stream))                                                  \
  X(cuStreamSynchronize, cuStreamSynchronize, REQUIRED, (CUstream stream))                                             \
  X(cuStreamQuery, cuStreamQuery, REQUIRED, (CUstream stream))                                                         \
  X(cuStreamWaitEvent, cuStreamWaitEvent, REQUIRED, (CUstream stream, CUevent event, unsigned int flags))              \
  X(cuStreamWaitValue32, cuStreamWaitValue32_v2, OPTIONAL,                                                             \
    (CUstream stream, uint64_t address, uint32_t value, unsigned int flags))                                           \
  X(cuStreamWriteValue32, cuStreamWriteValue32_v2, OPTIONAL,                                                           \
    (CUstream stream, uint64_t address, uint32_t value, unsigned int flags))                                           \
  X(cuEventCreate, cuEventCreate, REQUIRED, (CUevent * event, unsigned int flags))                                     \
  X(cuEventDestroy, cuEventDestroy_v2, REQUIRED, (CUevent event))                                                      \
  X(cuEventRecord, cuEventRecord, REQUIRED, (CUevent event, CUstream stream))                                          \
  X(cuEventQuery, cuEventQuery, REQUIRED, (CUevent event))                                                             \
  X(cuEventSynchronize, cuEventSynchronize, REQUIRED, (CUevent event))                                                 \
  X(cuEventElapsedTime, cuEventElapsedTime, REQUIRED, (float *ms, CUevent start, CUevent end))                         \
  X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled, OPTIONAL,                                                          \
    (struct cu_tensor_map * map, enum cu_tensor_map_data_type type, uint32_t rank, void *address,                      \
     const uint64_t *dims, const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,              \
     enum cu_tensor_map_interleave interleave, enum cu_tensor_map_swizzle swizzle,                                     \
     enum cu_tensor_map_l2_promotion promotion, enum cu_tensor_map_oob_fill fill))

struct cuda_driver {
  int version; // 13000: CUDA 13.0, the newest that this driver can run
#define CUDA_DRIVER_FIELD(field, symbol, need, params) enum cu_result(*field) params;
  CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_FIELD)
#undef CUDA_DRIVER_FIELD
};

// Loads libcuda.so.1 and initialises it. ASSAY_ERR_ENVIRONMENT says what is missing (library, GPU, a newer driver). A
// process that forks afterwards cannot use CUDA in the child.
enum assay_status cuda_driver_open(const struct cuda_driver **out, struct assay_error *err);
void cuda_driver_close(const struct cuda_driver *d); // the library itself stays loaded; NULL is fine

// ASSAY_OK for success, else a message that includes the driver's: ASSAY_ERR_NOMEM when memory ran out and
// ASSAY_ERR_ENVIRONMENT otherwise. `what` reads as in "cannot WHAT": "load the module".
enum assay_status cuda_check(const struct cuda_driver *d, enum cu_result result, const char *what,
                             struct assay_error *err);

// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)" into text; returns text.
enum { CUDA_RESULT_TEXT_BYTES = 192 };
const char *cuda_result_text(const struct cuda_driver *d, enum cu_result result, char text[CUDA_RESULT_TEXT_BYTES]);

#endif
