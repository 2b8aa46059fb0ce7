// SPDX-License-Identifier: Apache-2.0
// OpenCL, reached by dlopen: the part of its interface that Assay uses, declared here (names, values and meaning as in
// the Khronos Group's "The OpenCL Specification"; nothing newer than version 1.2), so that building needs no OpenCL.
#ifndef DEVICE_OPENCL_API_H
#define DEVICE_OPENCL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;

enum {
  CL_SUCCESS = 0,
  CL_DEVICE_NOT_FOUND = -1,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_BUILD_PROGRAM_FAILURE = -11,
  CL_INVALID_KERNEL_NAME = -46,
  CL_PLATFORM_NOT_FOUND_KHR = -1001,
};

enum {
  CL_PLATFORM_NAME = 0x0902,

  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
  CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100C, // MHz
  CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_NAME = 0x102B,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_VERSION = 0x102F,

  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183,

  CL_KERNEL_NUM_ARGS = 0x1191,
  CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
  CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11B1,

  CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196,
  CL_KERNEL_ARG_ACCESS_QUALIFIER = 0x1197,
  CL_KERNEL_ARG_TYPE_NAME = 0x1198,
  CL_KERNEL_ARG_ADDRESS_GLOBAL = 0x119B,
  CL_KERNEL_ARG_ADDRESS_LOCAL = 0x119C,
  CL_KERNEL_ARG_ADDRESS_CONSTANT = 0x119D,
  CL_KERNEL_ARG_ADDRESS_PRIVATE = 0x119E,

  CL_KERNEL_ARG_ACCESS_READ_ONLY = 0x11A0,
  CL_KERNEL_ARG_ACCESS_WRITE_ONLY = 0x11A1,
  CL_KERNEL_ARG_ACCESS_READ_WRITE = 0x11A2,

  CL_PROFILING_COMMAND_START = 0x1282,
  CL_PROFILING_COMMAND_END = 0x1283,
  CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
};

#define CL_DEVICE_TYPE_CPU ((cl_ulong)1 << 1)
#define CL_DEVICE_TYPE_GPU ((cl_ulong)1 << 2)
#define CL_DEVICE_TYPE_ALL ((cl_ulong)0xFFFFFFFF)
#define CL_QUEUE_PROFILING_ENABLE ((cl_ulong)1 << 1)
#define CL_MEM_READ_WRITE ((cl_ulong)1 << 0)
#define CL_MEM_READ_ONLY ((cl_ulong)1 << 2)
#define CL_MEM_USE_HOST_PTR ((cl_ulong)1 << 3)

typedef void cl_notify(const char *text, const void *info, size_t bytes, void *user);
typedef void cl_build_notify(cl_program program, void *user);

// One row a function: name without `cl`, result, parameters.
#define OPENCL_FUNCTIONS(F)                                                                                            \
  F(GetPlatformIDs, cl_int, (cl_uint n, cl_platform_id * out, cl_uint * count))                                        \
  F(GetPlatformInfo, cl_int, (cl_platform_id p, cl_uint what, size_t size, void *out, size_t *actual))                 \
  F(GetDeviceIDs, cl_int, (cl_platform_id p, cl_ulong type, cl_uint n, cl_device_id * out, cl_uint * count))           \
  F(GetDeviceInfo, cl_int, (cl_device_id d, cl_uint what, size_t size, void *out, size_t *actual))                     \
  F(CreateContext, cl_context,                                                                                         \
    (const intptr_t *properties, cl_uint n, const cl_device_id *devices, cl_notify *notify, void *user,                \
     cl_int *result))                                                                                                  \
  F(ReleaseContext, cl_int, (cl_context c))                                                                            \
  F(CreateCommandQueue, cl_command_queue, (cl_context c, cl_device_id d, cl_ulong properties, cl_int * result))        \
  F(ReleaseCommandQueue, cl_int, (cl_command_queue q))                                                                 \
  F(CreateBuffer, cl_mem, (cl_context c, cl_ulong flags, size_t size, void *host, cl_int *result))                     \
  F(ReleaseMemObject, cl_int, (cl_mem m))                                                                              \
  F(CreateProgramWithSource, cl_program,                                                                               \
    (cl_context c, cl_uint n, const char **texts, const size_t *sizes, cl_int *result))                                \
  F(CreateProgramWithBinary, cl_program,                                                                               \
    (cl_context c, cl_uint n, const cl_device_id *devices, const size_t *sizes, const unsigned char **binaries,        \
     cl_int *status, cl_int *result))                                                                                  \
  F(BuildProgram, cl_int,                                                                                              \
    (cl_program p, cl_uint n, const cl_device_id *devices, const char *options, cl_build_notify *notify, void *user))  \
  F(GetProgramInfo, cl_int, (cl_program p, cl_uint what, size_t size, void *out, size_t *actual))                      \
  F(GetProgramBuildInfo, cl_int, (cl_program p, cl_device_id d, cl_uint what, size_t size, void *out, size_t *actual)) \
  F(ReleaseProgram, cl_int, (cl_program p))                                                                            \
  F(CreateKernel, cl_kernel, (cl_program p, const char *name, cl_int *result))                                         \
  F(ReleaseKernel, cl_int, (cl_kernel k))                                                                              \
  F(SetKernelArg, cl_int, (cl_kernel k, cl_uint index, size_t size, const void *value))                                \
  F(GetKernelInfo, cl_int, (cl_kernel k, cl_uint what, size_t size, void *out, size_t *actual))                        \
  F(GetKernelArgInfo, cl_int, (cl_kernel k, cl_uint index, cl_uint what, size_t size, void *out, size_t *actual))      \
  F(GetKernelWorkGroupInfo, cl_int,                                                                                    \
    (cl_kernel k, cl_device_id d, cl_uint what, size_t size, void *out, size_t *actual))                               \
  F(EnqueueNDRangeKernel, cl_int,                                                                                      \
    (cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global, const size_t *local,   \
     cl_uint n_wait, const cl_event *wait, cl_event *event))                                                           \
  F(EnqueueFillBuffer, cl_int,                                                                                         \
    (cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_size, size_t offset, size_t size,               \
     cl_uint n_wait, const cl_event *wait, cl_event *event))                                                           \
  F(EnqueueCopyBuffer, cl_int,                                                                                         \
    (cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, cl_uint n_wait,    \
     const cl_event *wait, cl_event *event))                                                                           \
  F(CreateUserEvent, cl_event, (cl_context c, cl_int * result))                                                        \
  F(SetUserEventStatus, cl_int, (cl_event e, cl_int status))                                                           \
  F(GetEventInfo, cl_int, (cl_event e, cl_uint what, size_t size, void *out, size_t *actual))                          \
  F(GetEventProfilingInfo, cl_int, (cl_event e, cl_uint what, size_t size, void *out, size_t *actual))                 \
  F(ReleaseEvent, cl_int, (cl_event e))                                                                                \
  F(Flush, cl_int, (cl_command_queue q))                                                                               \
  F(Finish, cl_int, (cl_command_queue q))

struct opencl_api {
  void *library;
#define FIELD(name, result, parameters) result(*name) parameters;
  OPENCL_FUNCTIONS(FIELD)
#undef FIELD
};

// ASSAY_ERR_ENVIRONMENT when there is no OpenCL loader on this machine.
enum assay_status opencl_api_open(struct opencl_api *out, struct assay_error *err);
void opencl_api_close(struct opencl_api *api); // zeroes it; an api that was never opened is fine

// "CL_OUT_OF_RESOURCES"; for codes without a name here "error -59".
const char *opencl_error_name(cl_int code, char *space, size_t size);

// The type of a parameter as the source spells it; "" when the compiler does not say.
void opencl_parameter_type(const struct opencl_api *api, cl_kernel kernel, cl_uint index, char *type, size_t size);
// Whether a parameter is one of OpenCL's own objects (images, samplers, queues, events), which no plan can give: an
// address of a buffer, or a number, would be taken for one. By its type's name, which goes to `type`; by its access,
// which images have; and, where a typedef gives it another name, by its being no value. To be asked before the
// parameter is set.
bool opencl_takes_object(const struct opencl_api *api, cl_kernel kernel, cl_uint index, char *type, size_t size);

#endif
