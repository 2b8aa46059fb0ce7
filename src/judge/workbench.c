// SPDX-License-Identifier: Apache-2.0
// Opening takes some hundred milliseconds on a GPU: the driver, two contexts, the compiler. The judge's context comes
// up in a thread while candidate and oracle are at work; the child is started by the caller's thread, with which it
// dies.
#include "judge/workbench.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "compute/cuda_driver.h"
#include "device/turn.h"
#include "device/utility.h"
#include "sandbox/sandbox.h"
#include "task/device_draw.h"

enum { OPEN_SECONDS = 60 };
#define LOAD_NS INT64_C(60000000000)
// A compiler that tries many kernels may take minutes. After that a turn is not waited for any longer.
#define TURN_NS INT64_C(600000000000)
// Kernels that were launched already run on when their process is stopped; tuners queue a tenth of a second of them.
#define QUEUED_NS 200000000
#define NULL_CALL_LASTS_NS INT64_C(5000000000)

struct assay_workbench {
  const struct plan_device *device;
  const struct assay_paths *paths; // borrowed
  int index;
  int64_t load_timeout_ns, call_timeout_ns;
  bool cuda, begun, waited, monitoring;
  bool borrows; // belongs to another bench, and shares with it all but the child and its buffers
  struct assay_workbench *beside[WORKBENCH_BESIDE];
  bool ready; // the child has opened its device
  pthread_t thread, monitor_thread;
  enum assay_status status; // of the thread
  struct assay_error error;
  struct compute *compute;
  void *utility;
  size_t utility_bytes;
  struct builder *builder;
  struct python_standby *standby;
  struct device_runner *runner;
  struct device_facts facts;
  struct monitor *monitor;
  struct turn *turn; // NULL: none is needed
  struct sandbox_pauses pauses;
  int64_t paused_ns;
  char *folder;
  struct stamps_null null_call;
  int64_t null_at_ns;                                                   // when it was measured; 0: never
  struct shared_memory in[RUNNER_MAX_BUFFERS], out[RUNNER_MAX_BUFFERS]; // id 0: none
  uint64_t last_id;
  device_ptr copies;
  size_t copies_bytes;
};

// The judge's context, and the code it hands to the child.
static void *open_compute(void *arg) {
  struct assay_workbench *w = arg;
  struct compute_options o = {.device = w->index, .cache_folder = w->paths->cache, .nvrtc = w->paths->nvrtc};
  w->status = compute_open_cuda(&o, &w->compute, &w->error);
  if (!w->status)
    w->status = utility_make(w->compute, &w->utility, &w->utility_bytes, &w->error);
  if (!w->status)
    w->status = compute_prepare(w->compute, &device_draw_code, &w->error);
  return NULL;
}

// NULL where there is no NVML.
static void *open_monitor(void *arg) {
  struct assay_workbench *w = arg;
  struct assay_error ignored = {0};
  (void)monitor_open(&w->monitor, &ignored);
  return NULL;
}

// The driver's management library is opened in a thread of its own, because its answers are needed late.
static struct monitor *take_monitor(struct assay_workbench *w) {
  if (w->monitoring)
    pthread_join(w->monitor_thread, NULL);
  w->monitoring = false;
  return w->monitor;
}

static void copy_options(struct assay_workbench *w, const struct assay_judge_options *o) {
  w->paths = o->paths;
  w->index = o->device_index;
  // Loading may mean compiling, on a busy machine.
  w->load_timeout_ns = o->load_timeout_ns < LOAD_NS ? LOAD_NS : o->load_timeout_ns;
  w->call_timeout_ns = o->call_timeout_ns;
  w->cuda = w->device->gpu;
}

static enum assay_status begin_runner(struct assay_workbench *w, struct assay_error *err) {
  struct device_runner_options o = {.program = w->paths->device_runner,
                                    .device = w->device,
                                    .index = w->index,
                                    .open_timeout_ns = (int64_t)OPEN_SECONDS * 1000000000,
                                    .load_timeout_ns = w->load_timeout_ns,
                                    .call_timeout_ns = w->call_timeout_ns};
  enum assay_status status = w->folder ? ASSAY_OK : sandbox_folder_make(w->paths->temporary, &w->folder, err);
  o.folder = w->folder;
  return status ? status : device_runner_begin(&o, &w->runner, err);
}

enum assay_status workbench_begin(const struct assay_judge_options *o, struct assay_workbench **out,
                                  struct assay_error *err) {
  const struct plan_device *device;
  enum assay_status status = plan_device_parse(o->device, &device, err);
  if (!status && device->dialect == PLAN_NO_LAUNCHES)
    status = error_set(err, ASSAY_ERR_USAGE, "judging on the device %s needs no workbench", device->name);
  if (status)
    return status;
  struct assay_workbench *w = base_calloc(1, sizeof *w);
  if (!w)
    return error_nomem(err, "a workbench");
  w->device = device;
  copy_options(w, o);
  if (w->cuda) {
    w->begun = thread_start(&w->thread, open_compute, w) == 0;
    if (!w->begun)
      open_compute(w);
    w->monitoring = thread_start(&w->monitor_thread, open_monitor, w) == 0;
  }
  status = begin_runner(w, err);
  if (status) {
    assay_workbench_close(w);
    return status;
  }
  *out = w;
  return ASSAY_OK;
}

enum assay_status workbench_wait(struct assay_workbench *w, struct assay_error *err) {
  if (w->begun && !w->waited)
    pthread_join(w->thread, NULL);
  bool first = !w->waited;
  w->waited = true;
  if (w->status) {
    if (err)
      *err = w->error;
    return w->status;
  }
  struct device_runner *runner;
  enum assay_status status = first ? workbench_runner(w, &runner, err) : ASSAY_OK;
  struct assay_error ignored = {0};
  if (!status && first && take_monitor(w) && monitor_find(w->monitor, w->facts.uuid, &ignored) != ASSAY_OK) {
    monitor_close(w->monitor);
    w->monitor = NULL;
  }
  if (!status && first && w->cuda)
    status = turn_open(NULL, NULL, w->facts.uuid, &w->turn, err);
  w->status = status;
  if (status && err)
    w->error = *err;
  return status;
}

enum assay_status workbench_beside(struct assay_workbench *w, int index, struct assay_workbench **out,
                                   struct assay_error *err) {
  enum assay_status status = workbench_wait(w, err);
  *out = w->beside[index];
  if (status || *out)
    return status;
  struct assay_workbench *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "a workbench");
  *b = (struct assay_workbench){.device = w->device,
                                .paths = w->paths,
                                .index = w->index,
                                .load_timeout_ns = w->load_timeout_ns,
                                .call_timeout_ns = w->call_timeout_ns,
                                .cuda = w->cuda,
                                .waited = true,
                                .borrows = true,
                                .compute = w->compute,
                                .utility = w->utility,
                                .utility_bytes = w->utility_bytes,
                                .builder = w->builder,
                                .standby = w->standby,
                                .facts = w->facts,
                                .monitor = w->monitor};
  b->facts.limits.target = b->facts.target;
  w->beside[index] = *out = b;
  return ASSAY_OK;
}

enum assay_status workbench_target(struct assay_workbench *w, char target[16], struct assay_error *err) {
  const struct cuda_driver *d;
  int major = 0, minor = 0;
  CUdevice device;
  target[0] = '\0';
  if (!w->cuda)
    return ASSAY_OK;
  enum assay_status status = cuda_driver_open(&d, err);
  if (status)
    return status;
  status = cuda_check(d, d->cuDeviceGet(&device, w->index), "find the GPU", err);
  if (!status)
    status = cuda_check(d, d->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
                        "read the GPU's compute capability", err);
  if (!status)
    status = cuda_check(d, d->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
                        "read the GPU's compute capability", err);
  cuda_driver_close(d);
  if (!status)
    snprintf(target, 16, "sm_%d%d%s", major % 100, minor % 10, major >= 9 ? "a" : "");
  return status;
}

int64_t workbench_turn(struct assay_workbench *w, enum turn_kind kind) {
  return w ? turn_take(w->turn, kind, TURN_NS) : 0;
}

bool workbench_turn_is_wanted(const struct assay_workbench *w) {
  return w && turn_is_wanted(w->turn);
}

bool workbench_turn_missed(const struct assay_workbench *w) {
  return w && turn_missed(w->turn);
}

static bool is_wanted(void *arg) {
  return workbench_turn_is_wanted(arg);
}

// What the process that stands still has queued on the device is done first.
static void give_way(void *arg) {
  struct assay_workbench *w = arg;
  const struct timespec queued = {0, QUEUED_NS};
  int64_t begin_ns = clock_monotonic_ns();
  nanosleep(&queued, NULL);
  turn_take(w->turn, TURN_NONE, TURN_NS);
  turn_take(w->turn, TURN_TOGETHER, TURN_NS);
  w->paused_ns += clock_monotonic_ns() - begin_ns;
}

const struct sandbox_pauses *workbench_pauses(struct assay_workbench *w) {
  w->pauses = (struct sandbox_pauses){is_wanted, give_way, w};
  return &w->pauses;
}

int64_t workbench_paused_ns(const struct assay_workbench *w) {
  return w->paused_ns;
}

struct python_standby *workbench_standby(struct assay_workbench *w) {
  return w->standby;
}

void workbench_settle(struct assay_workbench *w) {
  if (w)
    python_standby_settle(w->standby);
}

struct builder *workbench_builder(struct assay_workbench *w) {
  return w->builder;
}

struct compute *workbench_compute(struct assay_workbench *w) {
  return w->compute;
}

const struct device_facts *workbench_facts(const struct assay_workbench *w) {
  return &w->facts;
}

void workbench_watch(struct assay_workbench *w, struct device_condition *c) {
  struct monitor_reading r;
  if (!w->monitor || !monitor_read(w->monitor, &r))
    return;
  c->slowed = r.slowed;
  c->clock_mhz = (int)r.sm_clock_mhz;
  c->temperature_c = (int)r.temperature_c;
  c->power_w = (int)(r.power_mw / 1000);
  if (r.slowed)
    monitor_throttle_text(r.throttle, c->throttle, sizeof c->throttle);
}

// The facts outlive the child that reported them, and so must what they point to.
static void keep_facts(struct assay_workbench *w) {
  w->facts = *device_runner_facts(w->runner);
  w->facts.limits.device = w->device;
  w->facts.limits.target = w->facts.target;
}

enum assay_status workbench_runner(struct assay_workbench *w, struct device_runner **out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  if (!w->ready) {
    if (!w->runner)
      status = begin_runner(w, err);
    if (!status)
      status = device_runner_wait(w->runner, w->utility, w->utility_bytes, err);
    w->ready = !status;
    if (!status)
      keep_facts(w);
    else
      workbench_drop_runner(w);
  }
  *out = w->runner;
  return status;
}

bool workbench_null_known(const struct assay_workbench *w, struct stamps_null *out) {
  *out = w->null_call;
  return w->null_at_ns && clock_monotonic_ns() - w->null_at_ns < NULL_CALL_LASTS_NS;
}

void workbench_null_set(struct assay_workbench *w, const struct stamps_null *measured) {
  w->null_call = *measured;
  w->null_at_ns = clock_monotonic_ns();
}

enum assay_status workbench_buffer(struct assay_workbench *w, bool input, int index, size_t bytes,
                                   struct shared_memory **out, struct assay_error *err) {
  struct shared_memory *m = input ? &w->in[index] : &w->out[index];
  *out = m;
  if (m->id && shared_resize(m, bytes))
    return ASSAY_OK;
  if (m->id)
    shared_release(m);
  m->id = 0;
  enum assay_status status = shared_create(w->compute, bytes, m, err);
  if (!status)
    m->id = ++w->last_id;
  return status;
}

static void drop_copies(struct assay_workbench *w) {
  if (w->copies_bytes)
    compute_free(w->compute, w->copies);
  w->copies_bytes = 0;
}

enum assay_status workbench_copies(struct assay_workbench *w, size_t bytes, device_ptr *out, struct assay_error *err) {
  if (w->copies_bytes < bytes) {
    drop_copies(w);
    enum assay_status status = compute_alloc(w->compute, bytes, &w->copies, err);
    if (status)
      return status;
    w->copies_bytes = bytes;
  }
  *out = w->copies;
  return ASSAY_OK;
}

static void drop_buffers(struct shared_memory *m, int from) {
  for (int i = from; i < RUNNER_MAX_BUFFERS; i++)
    if (m[i].id) {
      shared_release(&m[i]);
      m[i].id = 0;
    }
}

void workbench_drop_buffers(struct assay_workbench *w, int from_in, int from_out) {
  drop_buffers(w->in, from_in);
  drop_buffers(w->out, from_out);
}

void workbench_drop_runner(struct assay_workbench *w) {
  device_runner_close(w->runner);
  w->runner = NULL;
  w->ready = false;
}

void workbench_drop_folder(struct assay_workbench *w) {
  workbench_drop_runner(w);
  if (w->folder)
    sandbox_folder_remove(w->folder);
  base_free(w->folder);
  w->folder = NULL;
}

void workbench_make_room(struct assay_workbench *w, size_t bytes) {
  struct compute_memory m;
  if (!w->compute || !compute_is_cuda(w->compute))
    return;
  drop_copies(w);
  workbench_drop_buffers(w, 0, 0);
  compute_trim(w->compute);
  compute_memory(w->compute, &m);
  if (m.available < bytes && w->runner)
    workbench_drop_runner(w);
}

void workbench_take_log(struct assay_workbench *w, struct buf *log) {
  if (!w->runner)
    return;
  buf_puts(log, device_runner_log(w->runner));
  device_runner_clear_log(w->runner);
}

enum assay_status assay_workbench_open(const struct assay_judge_options *o, bool several, struct assay_workbench **out,
                                       struct assay_error *err) {
  struct assay_workbench *w = NULL;
  enum assay_status status = workbench_begin(o, &w, err);
  if (status)
    return status;
  struct assay_error ignored = {0}; // without a warmed builder every build starts its own
  if (several && w->cuda && builder_open(w->paths, &w->builder, &ignored) != ASSAY_OK)
    w->builder = NULL;
  if (several && w->cuda && python_standby_open(&w->standby, &ignored) != ASSAY_OK)
    w->standby = NULL;
  *out = w;
  return ASSAY_OK;
}

void assay_workbench_leave(struct assay_workbench *w) {
  if (!w)
    return;
  for (int i = 0; i < WORKBENCH_BESIDE; i++)
    assay_workbench_leave(w->beside[i]);
  // The child ends when this process is gone: a driver puts one context away at a time, and ours is the one that
  // somebody waits for.
  if (!w->borrows) {
    builder_close(w->builder);
    python_standby_close(w->standby);
  }
  if (w->folder)
    sandbox_folder_remove(w->folder);
}

// Closes what belongs to one child alone.
static void close_own(struct assay_workbench *w) {
  device_runner_end(w->runner);
  workbench_drop_buffers(w, 0, 0);
  drop_copies(w);
  workbench_drop_folder(w);
}

void assay_workbench_close(struct assay_workbench *w) {
  if (!w)
    return;
  if (w->begun && !w->waited)
    pthread_join(w->thread, NULL);
  for (int i = 0; i < WORKBENCH_BESIDE; i++)
    if (w->beside[i]) {
      close_own(w->beside[i]);
      base_free(w->beside[i]);
    }
  close_own(w);
  turn_close(w->turn);
  monitor_close(take_monitor(w));
  base_free(w->utility);
  compute_close(w->compute);
  builder_close(w->builder);
  python_standby_close(w->standby);
  base_free(w);
}
