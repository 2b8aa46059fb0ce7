// SPDX-License-Identifier: Apache-2.0
// The CUDA device: a context of its own with one stream, and the device's facts.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/rng.h"
#include "device/cuda_device.h"
#include "device/garbage.h"

enum {
  PRINTF_BYTES = 1 << 20,
  HEAP_BYTES = 8 << 20, // for malloc in kernels
  LEAST_FLUSH_BYTES = 128 << 20,
  FLUSH_CACHES = 4,
  FLUSH_REST = 256,
  NON_PORTABLE_CLUSTER = 16, // of data-centre GPUs; all others keep 8
  PORTABLE_CLUSTER = 8,
};

static int attribute(const struct device *d, enum cu_device_attribute a) {
  int value = 0;
  return d->cu->cuDeviceGetAttribute(&value, a, d->id) == CUDA_SUCCESS ? value : 0;
}

static enum assay_status check_driver(const struct cuda_driver *cu, struct assay_error *err) {
  if (cu->cuLaunchKernelEx && cu->cuMemCreate && cu->cuMemMap && cu->cuMemUnmap && cu->cuMemSetAccess &&
      cu->cuMemRelease && cu->cuMemAddressReserve && cu->cuMemAddressFree && cu->cuMemImportFromShareableHandle &&
      cu->cuMemGetAllocationGranularity)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "the NVIDIA driver is too old: it cannot map memory or launch with attributes; install one for CUDA "
                   "12 or later");
}

// ---- the device's facts

// The kernel module's version from the kernel ("NVRM version: NVIDIA UNIX ... 580.95.05  ..."): the first word that is
// digits and dots. text stays empty where there is no such file.
static void module_version(char *text, size_t size) {
  char *file = NULL;
  size_t n = 0;
  text[0] = '\0';
  if (file_read("/proc/driver/nvidia/version", 1 << 16, &file, &n, NULL))
    return;
  for (char *save = NULL, *word = strtok_r(file, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save))
    if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
      snprintf(text, size, "%s", word);
      break;
    }
  base_free(file);
}

static void driver_text(const struct cuda_driver *cu, char *text, size_t size) {
  char module[32];
  module_version(module, sizeof module);
  snprintf(text, size, "%s%sCUDA %d.%d", module, module[0] ? ", " : "", cu->version / 1000, cu->version % 1000 / 10);
}

static void uuid_text(const struct device *d, char *text, size_t size) {
  struct cu_uuid u;
  const unsigned char *b = u.bytes;
  if (!d->cu->cuDeviceGetUuid || d->cu->cuDeviceGetUuid(&u, d->id) != CUDA_SUCCESS)
    return;
  snprintf(text, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
           b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void limits_of(const struct device *d, struct device_facts *f) {
  int major = attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  struct plan_limits *l = &f->limits;
  l->device = &plan_device_cuda;
  l->target = f->target;
  for (int i = 0; i < 3; i++) {
    l->max_grid[i] = (uint32_t)attribute(d, (enum cu_device_attribute)(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
    l->max_block[i] = (uint32_t)attribute(d, (enum cu_device_attribute)(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i));
  }
  l->max_threads = (uint32_t)attribute(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  // The kilobyte of each block that the system reserves is already subtracted.
  l->max_shared_bytes = (uint32_t)attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (attribute(d, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH))
    l->max_cluster = major == 9 || major == 10 ? NON_PORTABLE_CLUSTER : PORTABLE_CLUSTER;
  l->memory_bytes = f->memory_bytes - f->memory_bytes / 16; // contexts and the flush buffer need their share
}

static enum assay_status read_facts(struct device *d, struct assay_error *err) {
  struct device_facts *f = &d->facts;
  size_t bytes = 0;
  int major = attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor = attribute(d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  enum assay_status status =
      cuda_check(d->cu, d->cu->cuDeviceGetName(f->name, sizeof f->name, d->id), "ask for the GPU's name", err);
  if (!status)
    status = cuda_check(d->cu, d->cu->cuDeviceTotalMem(&bytes, d->id), "ask for the GPU's memory", err);
  if (status)
    return status;
  uuid_text(d, f->uuid, sizeof f->uuid);
  driver_text(d->cu, f->driver, sizeof f->driver);
  // From Hopper on, the fastest instructions exist only in the architecture-specific target (sm_90a).
  snprintf(f->target, sizeof f->target, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
  f->memory_bytes = bytes;
  f->processors = attribute(d, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  f->clock_khz = attribute(d, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  f->l2_bytes = attribute(d, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  f->is_gpu = 1;
  f->reaches_host = attribute(d, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
  limits_of(d, f);
  return ASSAY_OK;
}

static void cuda_facts(struct device *d, struct device_facts *out) {
  *out = d->facts;
  out->limits.target = out->target;
}

// ---- open and close

static enum assay_status find_device(struct device *d, int index, struct assay_error *err) {
  int count = 0;
  enum assay_status status = cuda_check(d->cu, d->cu->cuDeviceGetCount(&count), "count the GPUs", err);
  if (status)
    return status;
  if (index < 0 || index >= count)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "there is no GPU %d: the NVIDIA driver shows %d, counted from 0",
                     index, count);
  status = cuda_check(d->cu, d->cu->cuDeviceGet(&d->id, index), "take the GPU", err);
  if (!status && !attribute(d, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED))
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "GPU %d cannot map memory that two processes share", index);
  return status;
}

static enum assay_status make_events(struct device *d, struct assay_error *err) {
  CUevent *events[] = {&d->start, &d->end, &d->prepare_start, &d->prepare_end};
  enum assay_status status = ASSAY_OK;
  for (size_t i = 0; !status && i < sizeof events / sizeof *events; i++)
    status = cuda_check(d->cu, d->cu->cuEventCreate(events[i], 0), "make an event", err);
  return status;
}

// Spinning notices the end of work soonest, and the process has nothing else to do.
static enum assay_status make_context(struct device *d, struct assay_error *err) {
  const struct cuda_driver *cu = d->cu;
  struct cu_mem_allocation_prop prop = {
      .type = CU_MEM_ALLOCATION_TYPE_PINNED,
      .requested_handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
      .location = {CU_MEM_LOCATION_TYPE_DEVICE, d->id},
  };
  enum assay_status status =
      cuda_check(cu, cu->cuCtxCreate(&d->context, CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST, d->id), "make a context", err);
  if (!status)
    status = cuda_check(cu, cu->cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, PRINTF_BYTES), "limit printf's memory", err);
  if (!status)
    status = cuda_check(cu, cu->cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, HEAP_BYTES), "limit the kernels' heap", err);
  if (!status)
    status = cuda_check(cu, cu->cuStreamCreate(&d->stream, CU_STREAM_NON_BLOCKING), "make a stream", err);
  if (!status)
    status = cuda_check(cu, cu->cuMemGetAllocationGranularity(&d->granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                        "ask for the unit of mappings", err);
  return status ? status : make_events(d, err);
}

static enum assay_status make_flush(struct device *d, struct assay_error *err) {
  const struct cuda_driver *cu = d->cu;
  d->flush_bytes = (uint64_t)d->facts.l2_bytes * FLUSH_CACHES;
  if (d->flush_bytes < LEAST_FLUSH_BYTES)
    d->flush_bytes = LEAST_FLUSH_BYTES;
  enum assay_status status =
      cuda_check(cu, cu->cuMemAlloc(&d->flush, d->flush_bytes + FLUSH_REST), "make the flush buffer", err);
  if (!status)
    status =
        cuda_check(cu, cu->cuMemsetD32Async(d->flush, GARBAGE_ORDINARY, d->flush_bytes / sizeof(uint32_t), d->stream),
                   "fill the flush buffer", err);
  return status;
}

static enum assay_status make_gate(struct device *d, struct assay_error *err) {
  const struct cuda_driver *cu = d->cu;
  void *p = NULL;
  enum assay_status status = rng_entropy(&d->secret, err);
  if (!status)
    status = cuda_check(cu, cu->cuMemHostAlloc(&p, sizeof *d->gate, CU_MEMHOSTALLOC_DEVICEMAP), "make the gate", err);
  if (status)
    return status;
  d->gate = p;
  *d->gate = (struct cuda_gate){0};
  return cuda_check(cu, cu->cuMemHostGetDevicePointer(&d->gate_address, p, 0), "map the gate", err);
}

static enum assay_status load_utility(struct device *d, const void *cubin, size_t n, struct assay_error *err) {
  const struct cuda_driver *cu = d->cu;
  const struct {
    CUfunction *to;
    const char *name;
  } kernels[] = {{&d->read, "utility_read"},   {&d->empty, "utility_empty"},     {&d->hold, "utility_hold"},
                 {&d->stamp, "utility_stamp"}, {&d->confirm, "utility_confirm"}, {&d->leave, "utility_leave"}};
  if (!cubin || n == 0)
    return error_set(err, ASSAY_ERR_INVALID, "the CUDA device needs its helper code");
  enum assay_status status =
      cuda_check(cu, cu->cuModuleLoadDataEx(&d->utility, cubin, 0, NULL, NULL), "load the device's helper code", err);
  for (size_t i = 0; !status && i < sizeof kernels / sizeof *kernels; i++)
    status = cuda_check(cu, cu->cuModuleGetFunction(kernels[i].to, d->utility, kernels[i].name), "find a helper kernel",
                        err);
  if (!status)
    status = cuda_check(cu,
                        cu->cuFuncSetAttribute(d->leave, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               (int)d->facts.limits.max_shared_bytes),
                        "give a helper kernel all shared memory", err);
  return status;
}

// Each helper runs once before measurements use it.
static enum assay_status warm_up(struct device *d, struct assay_error *err) {
  struct device_report report;
  enum assay_status status = cuda_call(d, DEVICE_EMPTY, &report, err);
  if (!status && report.event != DEVICE_OK)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the GPU does not work: %s", report.detail);
  return status;
}

static void cuda_close(struct device *d) {
  if (!d)
    return;
  if (d->context) {
    cuda_unload(d);
    for (int i = 0; i < KEPT_MAPPINGS; i++)
      cuda_unmap(d, &d->kept[i].mapping);
    if (d->gate)
      d->cu->cuMemFreeHost((void *)d->gate);
    d->cu->cuCtxDestroy(d->context); // frees everything in it
  }
  cuda_driver_close(d->cu);
  base_free(d);
}

static enum assay_status cuda_equip(struct device *d, const void *utility, size_t bytes, struct assay_error *err) {
  enum assay_status status = cuda_check(d->cu, d->cu->cuCtxSetCurrent(d->context), "enter the context", err);
  if (!status)
    status = load_utility(d, utility, bytes, err);
  return status ? status : warm_up(d, err);
}

static enum assay_status cuda_open(const struct device_options *o, struct device **out, struct assay_error *err) {
  struct device *d = base_calloc(1, sizeof *d);
  if (!d)
    return error_nomem(err, "the CUDA device");
  enum assay_status status = cuda_driver_open(&d->cu, err);
  if (!status)
    status = check_driver(d->cu, err);
  if (!status)
    status = find_device(d, o->index, err);
  if (!status)
    status = read_facts(d, err);
  if (!status)
    status = make_context(d, err);
  if (!status)
    status = make_flush(d, err);
  if (!status)
    status = make_gate(d, err);
  if (status)
    cuda_close(d);
  else
    *out = d;
  return status;
}

// The driver's cache is off, so that code of other runs is not used. Lazy loading makes contexts cheaper; kernels have
// run before they are timed. Landlock restricts this process, and a GPU's kernels do not run in it.
static const struct device_host host = {
    .read_paths = (const char *const[]){"/proc", "/sys", "/opt", "/etc/nvidia", NULL},
    .files = "/dev/nvidia*",
    .environment = (const char *const[]){"CUDA_MODULE_LOADING=LAZY", "CUDA_CACHE_DISABLE=1", NULL},
    .one_gpu = true,
    .opens_without_landlock = true,
};

const struct device_ops device_cuda = {
    .host = &host,
    .open = cuda_open,
    .equip = cuda_equip,
    .close = cuda_close,
    .facts = cuda_facts,
    .load = cuda_load,
    .unload = cuda_unload,
    .call = cuda_call,
};
