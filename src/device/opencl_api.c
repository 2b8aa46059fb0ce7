// SPDX-License-Identifier: Apache-2.0
#include "device/opencl_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  size_t offset;
} functions[] = {
#define ROW(name, result, parameters) {"cl" #name, offsetof(struct opencl_api, name)},
    OPENCL_FUNCTIONS(ROW)
#undef ROW
};

enum assay_status opencl_api_open(struct opencl_api *out, struct assay_error *err) {
  struct opencl_api api = {.library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL)};
  if (!api.library)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "no OpenCL on this machine: %s; install a loader and a driver (Debian: ocl-icd-libopencl1 and "
                     "pocl-opencl-icd, which runs kernels on the processor)",
                     dlerror());
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *symbol = dlsym(api.library, functions[i].name);
    if (!symbol) {
      opencl_api_close(&api);
      return error_set(err, ASSAY_ERR_ENVIRONMENT, "libOpenCL.so.1 has no %s: OpenCL 1.2 or later is needed",
                       functions[i].name);
    }
    memcpy((char *)&api + functions[i].offset, &symbol, sizeof symbol);
  }
  *out = api;
  return ASSAY_OK;
}

void opencl_api_close(struct opencl_api *api) {
  if (api->library)
    dlclose(api->library);
  *api = (struct opencl_api){0};
}

// The codes that a plan or a machine can bring about.
static const struct {
  cl_int code;
  const char *name;
} errors[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {CL_PLATFORM_NOT_FOUND_KHR, "CL_PLATFORM_NOT_FOUND_KHR"},
};

const char *opencl_error_name(cl_int code, char *space, size_t size) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == code)
      return errors[i].name;
  snprintf(space, size, "error %d", code);
  return space;
}

void opencl_parameter_type(const struct opencl_api *api, cl_kernel kernel, cl_uint index, char *type, size_t size) {
  type[0] = '\0';
  if (api->GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, size, type, NULL) != CL_SUCCESS)
    type[0] = '\0';
  type[size - 1] = '\0';
}

static bool is_object(const char *type) {
  static const char *const names[] = {"sampler_t", "event_t", "clk_event_t", "queue_t", "reserve_id_t"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(type, names[i]) == 0)
      return true;
  return strncmp(type, "image", 5) == 0 && type[5] >= '1' && type[5] <= '3' && type[6] == 'd'; // image1d_buffer_t ...
}

// Whether a type's name says that it is a value: those that no source can give to anything else by a typedef, for they
// are keywords or declared in every program (sections 6.3.1 and 6.3.2 of OpenCL C). Vectors of halves and doubles are
// declared only where the device has them.
static bool is_value(const char *type) {
  static const char *const scalars[] = {"bool", "half", "double", "size_t", "ptrdiff_t", "intptr_t", "uintptr_t"},
                           *const any[] = {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float"},
                           *const lanes[] = {"", "2", "3", "4", "8", "16"};
  if (strncmp(type, "unsigned ", strlen("unsigned ")) == 0)
    return true;
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
    if (strcmp(type, scalars[i]) == 0)
      return true;
  for (size_t i = 0; i < sizeof any / sizeof *any; i++)
    for (size_t k = 0; k < sizeof lanes / sizeof *lanes; k++)
      if (strncmp(type, any[i], strlen(any[i])) == 0 && strcmp(type + strlen(any[i]), lanes[k]) == 0)
        return true;
  return false;
}

// Whether a parameter takes nothing for a value. Those that are values must not (section 5.9.2 of the API, arg_value);
// PoCL knows a sampler by the name of its type only and takes any other for an address, which may be none. Not asked of
// known types: a driver need not refuse it as it should.
static bool takes_nothing(const struct opencl_api *api, cl_kernel kernel, cl_uint index) {
  cl_uint space = 0;
  return api->GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL) ==
             CL_SUCCESS &&
         space == CL_KERNEL_ARG_ADDRESS_PRIVATE && api->SetKernelArg(kernel, index, sizeof(void *), NULL) == CL_SUCCESS;
}

bool opencl_takes_object(const struct opencl_api *api, cl_kernel kernel, cl_uint index, char *type, size_t size) {
  cl_uint access = 0;
  opencl_parameter_type(api, kernel, index, type, size);
  if (api->GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access, NULL) != CL_SUCCESS)
    access = 0;
  return is_object(type) || access == CL_KERNEL_ARG_ACCESS_READ_ONLY || access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY ||
         access == CL_KERNEL_ARG_ACCESS_READ_WRITE || (!is_value(type) && takes_nothing(api, kernel, index));
}
