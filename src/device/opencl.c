// SPDX-License-Identifier: Apache-2.0
// OpenCL devices that are the processor (PoCL): how OpenCL kernels are tried where there is no GPU. Their times are not
// ranked. Kernels run in this process, as threads of the driver's.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "device/opencl_device.h"

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

// The devices of all platforms, one after the other.
static enum assay_status find_device(struct device *d, int index, cl_platform_id *platform, struct assay_error *err) {
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint n_platforms = 0;
  int seen = 0;
  cl_int result = d->cl.GetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms);
  if (result != CL_SUCCESS)
    n_platforms = 0;
  for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS; p++) {
    cl_device_id devices[MAX_DEVICES];
    cl_uint n = 0;
    if (d->cl.GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n) != CL_SUCCESS)
      continue;
    n = n < MAX_DEVICES ? n : MAX_DEVICES;
    if (index >= seen && index < seen + (int)n) {
      d->id = devices[index - seen];
      *platform = platforms[p];
      return ASSAY_OK;
    }
    seen += (int)n;
  }
  if (seen == 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "the OpenCL loader finds no driver with a device; install one (Debian: pocl-opencl-icd)");
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "there is no OpenCL device %d; there are %d, counted from 0", index,
                   seen);
}

// 0 where the driver does not say.
static uint64_t number(const struct device *d, cl_uint what) {
  uint64_t value = 0;
  if (d->cl.GetDeviceInfo(d->id, what, sizeof value, &value, NULL) != CL_SUCCESS)
    return 0;
  return value;
}

static void text(const struct device *d, cl_uint what, char *out, size_t size) {
  char whole[256] = "";
  size_t n = 0;
  if (d->cl.GetDeviceInfo(d->id, what, sizeof whole - 1, whole, &n) != CL_SUCCESS)
    whole[0] = '\0';
  snprintf(out, size, "%s", whole);
}

static void ask_facts(struct device *d, cl_platform_id platform) {
  struct device_facts *f = &d->facts;
  char name[256] = "", version[64], driver[64];
  size_t sizes[3] = {0}, n = 0;
  text(d, CL_DEVICE_NAME, f->name, sizeof f->name);
  text(d, CL_DEVICE_VERSION, version, sizeof version);
  text(d, CL_DRIVER_VERSION, driver, sizeof driver);
  (void)d->cl.GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, &n);
  snprintf(f->driver, sizeof f->driver, "%.28s %.15s, %.10s", name, driver, version);
  f->memory_bytes = number(d, CL_DEVICE_GLOBAL_MEM_SIZE);
  f->processors = (int32_t)number(d, CL_DEVICE_MAX_COMPUTE_UNITS);
  f->clock_khz = (int32_t)(number(d, CL_DEVICE_MAX_CLOCK_FREQUENCY) * 1000);
  f->l2_bytes = (int32_t)number(d, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  f->is_gpu = 0;
  f->limits = (struct plan_limits){.device = &plan_device_opencl, .target = "", .memory_bytes = f->memory_bytes};
  f->limits.max_threads = (uint32_t)number(d, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  f->limits.max_shared_bytes = (uint32_t)number(d, CL_DEVICE_LOCAL_MEM_SIZE);
  if (d->cl.GetDeviceInfo(d->id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL) == CL_SUCCESS)
    for (int i = 0; i < 3; i++)
      f->limits.max_block[i] = (uint32_t)sizes[i];
}

static void close_device(struct device *d);

static enum assay_status make_queue(struct device *d, struct assay_error *err) {
  cl_int result = CL_SUCCESS;
  char space[32];
  d->context = d->cl.CreateContext(NULL, 1, &d->id, NULL, NULL, &result);
  if (d->context)
    d->queue = d->cl.CreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &result);
  if (d->queue)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "OpenCL device %s cannot be opened: %s", d->facts.name,
                   opencl_error_name(result, space, sizeof space));
}

static enum assay_status open_device(const struct device_options *o, struct device **out, struct assay_error *err) {
  cl_platform_id platform = NULL;
  struct device *d = base_calloc(1, sizeof *d);
  if (!d)
    return error_nomem(err, "an OpenCL device");
  d->garbage = (uint64_t)clock_monotonic_ns();
  d->folder = o->folder;
  enum assay_status status = opencl_api_open(&d->cl, err);
  if (!status)
    status = find_device(d, o->index, &platform, err);
  if (!status) {
    ask_facts(d, platform);
    // Another kind of device would need copies of the judge's buffers, and sub-buffers for places in them.
    if (!(number(d, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU))
      status = error_set(err, ASSAY_ERR_ENVIRONMENT,
                         "OpenCL device %d, %s, is not a processor; Assay runs OpenCL on processors (PoCL) only",
                         o->index, d->facts.name);
  }
  if (!status)
    status = make_queue(d, err);
  if (status)
    close_device(d);
  else
    *out = d;
  return status;
}

static void unload(struct device *d) {
  struct opencl_plan *l = d->loaded;
  if (!l)
    return;
  opencl_views_drop(d, l);
  opencl_programs_drop(d, l);
  opencl_memory_drop(d, l);
  arena_release(&l->arena);
  base_free(l);
  d->loaded = NULL;
}

static void close_device(struct device *d) {
  if (!d)
    return;
  unload(d);
  if (d->empty)
    d->cl.ReleaseKernel(d->empty);
  if (d->empty_program)
    d->cl.ReleaseProgram(d->empty_program);
  if (d->queue)
    d->cl.ReleaseCommandQueue(d->queue);
  if (d->context)
    d->cl.ReleaseContext(d->context);
  opencl_api_close(&d->cl);
  base_free(d);
}

static void facts(struct device *d, struct device_facts *out) {
  *out = d->facts;
}

static enum assay_status load(struct device *d, const struct device_work *work, struct device_report *report,
                              struct assay_error *err) {
  *report = (struct device_report){.event = DEVICE_OK};
  unload(d);
  d->loaded = base_calloc(1, sizeof *d->loaded);
  if (!d->loaded)
    return error_nomem(err, "a plan on OpenCL");
  d->loaded->plan = work->plan;
  enum assay_status status = opencl_empty_make(d, err);
  if (!status)
    status = opencl_memory_make(d, d->loaded, work, report, err);
  if (!status && report->event == DEVICE_OK)
    status = opencl_programs_make(d, d->loaded, report, err);
  if (status || report->event != DEVICE_OK)
    unload(d);
  return status;
}

static void place(const struct device *d, int i, struct device_place *out) {
  *out = (struct device_place){0};
  if (d->loaded && i >= 0 && i < d->loaded->plan->n_buffers)
    *out = d->loaded->memory[i].place;
}

// Nothing is to be compiled when kernels run.
static const struct device_host host = {
    .read_paths = (const char *const[]){"/etc/OpenCL", "/sys/devices/system", "/proc/cpuinfo", "/proc/meminfo", NULL},
    .environment = (const char *const[]){"PATH=/usr/bin:/bin", "POCL_WORK_GROUP_SPECIALIZATION=0", NULL},
    .cache_variable = "POCL_CACHE_DIR",
    .builds = true,
};

const struct device_ops device_opencl = {
    .host = &host,
    .open = open_device,
    .close = close_device,
    .facts = facts,
    .load = load,
    .unload = unload,
    .call = opencl_call,
    .place = place,
};
