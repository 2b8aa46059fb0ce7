// SPDX-License-Identifier: Apache-2.0
// Launches: configurations, attributes, arguments.
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "toolchain/recorder/recorder.h"

// Calls may nest: an argument of a launch may itself launch a kernel.
enum { CONFIGURATIONS = 16, USUAL_SHARED_BYTES = 48 << 10 };
struct configuration {
  struct cuda_dim3 grid, block;
  size_t shared_bytes;
  void *stream;
};
static _Thread_local struct configuration configurations[CONFIGURATIONS];
static _Thread_local int n_configurations;

static int in_segments(struct dl_phdr_info *info, size_t size, void *arg) {
  (void)size;
  uint64_t word = *(const uint64_t *)arg;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uint64_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && word >= begin && word < begin + info->dlpi_phdr[i].p_memsz)
      return 1;
  }
  return 0;
}

bool is_host_address(uint64_t word) {
  enum { LOWEST = 1 << 16, BELOW_STACK_POINTER = 1 << 20 };
  char here;
  if (word < LOWEST || word >> 47)
    return false;
  if (word >= (uint64_t)(uintptr_t)&here - BELOW_STACK_POINTER && word < recorder.stack_end)
    return true;
  if (word >= recorder.heap_begin && word < (uint64_t)(uintptr_t)sbrk(0))
    return true;
  return host_allocated(word) || dl_iterate_phdr(in_segments, &word) != 0;
}

// A host pointer would be read on the device, where it means nothing. Inside of structs nothing but a note: the bytes
// between members are whatever the stack held, which is often half of an address.
static void check_argument(const struct kernel *k, int index, const void *bytes, uint32_t size) {
  for (uint32_t at = 0; at + 8 <= size; at += 8) {
    uint64_t word;
    memcpy(&word, (const char *)bytes + at, sizeof word);
    if (is_device_address((const void *)(uintptr_t)word) || !is_host_address(word))
      continue;
    if (size == sizeof word)
      refuse("launch of " KERNEL_TEXT ": kernel argument %d is a host pointer: copy the data to memory from "
             "cudaMalloc, or pass it by value",
             KERNEL_ARGS(k), index);
    if (word % 4 == 0)
      fprintf(stderr,
              "note: launch of " KERNEL_TEXT ": kernel argument %d has at byte %u what looks like a host pointer; a "
              "kernel that follows it will fail\n",
              KERNEL_ARGS(k), index, at);
  }
}

static void check_shape(const struct launch_request *l) {
  const struct record_device *d = &recorder.request->device;
  uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
  uint32_t most = most_threads(l->kernel);
  if (!l->grid.x || !l->grid.y || !l->grid.z || threads == 0)
    refuse("launch of " KERNEL_TEXT
           ": a grid of %u x %u x %u blocks of %u x %u x %u threads has nothing to do, and CUDA refuses it",
           KERNEL_ARGS(l->kernel), l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z);
  if (threads > most)
    refuse("launch of " KERNEL_TEXT ": %u x %u x %u threads in a block, and the kernel allows %u",
           KERNEL_ARGS(l->kernel), l->block.x, l->block.y, l->block.z, most);
  if (l->shared_bytes + l->kernel->cubin->static_shared_bytes > USUAL_SHARED_BYTES &&
      l->shared_bytes > l->kernel->max_dynamic_bytes)
    refuse("launch of " KERNEL_TEXT
           ": %zu bytes of dynamic shared memory; where it has more than 49152 in all, a kernel must be "
           "allowed to have them, with "
           "cudaFuncSetAttribute(..., cudaFuncAttributeMaxDynamicSharedMemorySize, ...)",
           KERNEL_ARGS(l->kernel), l->shared_bytes);
  if (l->shared_bytes + l->kernel->cubin->static_shared_bytes > d->shared_optin_bytes)
    refuse("launch of " KERNEL_TEXT ": %zu bytes of dynamic and %u of static shared memory; a block can have %u",
           KERNEL_ARGS(l->kernel), l->shared_bytes, l->kernel->cubin->static_shared_bytes, d->shared_optin_bytes);
}

static uint32_t kernel_number(struct kernel *k) {
  if (k->number < 0) {
    struct record_kernel e = {.module = module_of(k->binary)};
    if (recorder.n_kernels_logged >= RECORD_MAX_KERNELS)
      refuse("it launches more than %d kernels", RECORD_MAX_KERNELS);
    k->number = recorder.n_kernels_logged++;
    log_entry(RECORD_KERNEL, &e, sizeof e, (struct part){k->name, strlen(k->name) + 1}, (struct part){0});
  }
  return (uint32_t)k->number;
}

int launch(const struct launch_request *l) {
  static _Thread_local uint8_t parameters[PLAN_MAX_ARGUMENT_BYTES + 4];
  const struct cubin_kernel *cubin = l->kernel->cubin;
  uint32_t end = 0;
  check_shape(l);
  memset(parameters, 0, sizeof parameters);
  for (int i = 0; i < cubin->n_parameters; i++) {
    struct cubin_parameter p = cubin->parameters[i];
    if (p.offset > sizeof parameters || p.size > sizeof parameters - p.offset)
      refuse("the kernel " KERNEL_TEXT " has more than %d bytes of parameters", KERNEL_ARGS(l->kernel),
             PLAN_MAX_ARGUMENT_BYTES);
    if (!l->arguments || !l->arguments[i])
      refuse("launch of " KERNEL_TEXT ": kernel argument %d is missing", KERNEL_ARGS(l->kernel), i);
    check_argument(l->kernel, i, l->arguments[i], p.size);
    memcpy(parameters + p.offset, l->arguments[i], p.size);
    end = p.offset + p.size > end ? p.offset + p.size : end;
  }
  struct record_launch e = {.kernel = kernel_number(l->kernel),
                            .stream = stream_of(l->stream),
                            .grid = {l->grid.x, l->grid.y, l->grid.z},
                            .block = {l->block.x, l->block.y, l->block.z},
                            .cluster = {l->cluster.x, l->cluster.y, l->cluster.z},
                            .shared_bytes = (uint32_t)l->shared_bytes,
                            .flags = l->flags,
                            .carveout = l->carveout >= 0 ? l->carveout : l->kernel->carveout};
  log_entry(RECORD_LAUNCH, &e, sizeof e, (struct part){parameters, end}, (struct part){0});
  return CUDA_OK;
}

EXPORT(unsigned, __cudaPushCallConfiguration, struct cuda_dim3 grid, struct cuda_dim3 block, size_t shared_bytes,
       void *stream) {
  if (n_configurations == CONFIGURATIONS)
    refuse("launches within the arguments of launches, more than %d deep", CONFIGURATIONS);
  configurations[n_configurations++] = (struct configuration){grid, block, shared_bytes, stream};
  return 0; // not 0: the launch does not happen
}

EXPORT(int, __cudaPopCallConfiguration, struct cuda_dim3 *grid, struct cuda_dim3 *block, size_t *shared_bytes,
       void *stream) {
  if (n_configurations == 0)
    return fail(CUDA_INVALID_VALUE);
  const struct configuration *c = &configurations[--n_configurations];
  *grid = c->grid;
  *block = c->block;
  *shared_bytes = c->shared_bytes;
  memcpy(stream, &c->stream, sizeof c->stream);
  return CUDA_OK;
}

EXPORT(int, cudaLaunchKernel, const void *function, struct cuda_dim3 grid, struct cuda_dim3 block, void **arguments,
       size_t shared_bytes, void *stream) {
  return launch(&(struct launch_request){.kernel = kernel_of(function),
                                         .grid = grid,
                                         .block = block,
                                         .arguments = arguments,
                                         .shared_bytes = shared_bytes,
                                         .stream = stream,
                                         .carveout = -1});
}

EXPORT(int, __cudaLaunchKernel, const void *kernel, struct cuda_dim3 grid, struct cuda_dim3 block, void **arguments,
       size_t shared_bytes, void *stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

EXPORT(int, cudaLaunchCooperativeKernel, const void *function, struct cuda_dim3 grid, struct cuda_dim3 block,
       void **arguments, size_t shared_bytes, void *stream) {
  struct kernel *k = kernel_of(function);
  int resident = occupancy(k, (int)(block.x * block.y * block.z), shared_bytes);
  uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
  if (blocks > (uint64_t)resident * recorder.request->device.multiprocessors)
    refuse("cooperative launch of " KERNEL_TEXT ": %llu blocks, and %u SMs hold %d at once: a grid that synchronises "
           "must fit on the device (cudaOccupancyMaxActiveBlocksPerMultiprocessor)",
           KERNEL_ARGS(k), (unsigned long long)blocks, recorder.request->device.multiprocessors,
           resident * (int)recorder.request->device.multiprocessors);
  return launch(&(struct launch_request){.kernel = k,
                                         .grid = grid,
                                         .block = block,
                                         .arguments = arguments,
                                         .shared_bytes = shared_bytes,
                                         .stream = stream,
                                         .flags = RECORD_COOPERATIVE,
                                         .carveout = -1});
}

// cudaLaunchAttributeID. Those that only advise the scheduler or the caches change no result and are left out.
static void take_attribute(struct launch_request *l, const struct cuda_launch_attribute *a) {
  switch (a->id) {
  case 2: // cooperative
    l->flags |= a->value.number ? RECORD_COOPERATIVE : 0;
    return;
  case 4: // cluster dimension
    l->cluster = a->value.dim;
    return;
  case 6: // programmatic stream serialization
    l->flags |= a->value.number ? RECORD_PROGRAMMATIC : 0;
    return;
  case 14: // preferred shared memory carveout
    l->carveout = a->value.number;
    return;
  case 7:  // programmatic event
  case 12: // launch completion event
  case 13: // device updatable kernel node
    refuse("launch of " KERNEL_TEXT
           ": the launch attribute %d (events of a launch, nodes that the device updates) cannot be "
           "recorded; record an event after the launch instead",
           KERNEL_ARGS(l->kernel), a->id);
  default:
    return;
  }
}

EXPORT(int, cudaLaunchKernelExC, const struct cuda_launch_config *c, const void *function, void **arguments) {
  struct launch_request l = {.kernel = kernel_of(function),
                             .grid = c->grid,
                             .block = c->block,
                             .shared_bytes = c->shared_bytes,
                             .stream = c->stream,
                             .arguments = arguments,
                             .carveout = -1};
  for (unsigned i = 0; i < c->n_attributes; i++)
    take_attribute(&l, &c->attributes[i]);
  return launch(&l);
}
