// SPDX-License-Identifier: Apache-2.0
// The contract of a device that carries out launch plans: what the runner's process uses. One file per device
// (cuda.c, opencl.c), reached by dlopen; nothing here knows tasks, oracles or verdicts.
//
// The order of use: open, load (a checked plan with the judge's buffers), call..., unload, load, ..., close. One
// process has one device with one context, and one loaded plan at a time. After a fault (DEVICE_FAULT, DEVICE_LOST) the
// process cannot be used any more: the judge ends it and starts another.
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "plan/plan.h"

struct device;

struct device_options {
  int index;          // which GPU, or which OpenCL device
  const char *folder; // for what the device's compiler keeps (borrowed until the device is closed); may be NULL
};

// What the device is; for limits, evidence and the floor's key.
struct device_facts {
  char name[128], uuid[64], driver[64]; // "NVIDIA H100 80GB HBM3", "GPU-...", "580.159.04, CUDA 13.0"
  char target[16];                      // "sm_90a"; OpenCL: ""
  uint64_t memory_bytes;
  int32_t processors, clock_khz, l2_bytes;
  // Kernels can address ordinary memory of the process (heterogeneous memory management): the runner's own is then only
  // hidden from them, not out of reach.
  int32_t reaches_host;
  int32_t is_gpu;            // 0: its times are not ranked (PoCL)
  struct plan_limits limits; // its strings point into this struct or are static
};

// One of the judge's buffers, in the order of the plan's inputs, then outputs. The memory is an exported allocation
// (cuda: POSIX descriptor of cuMemCreate; opencl: memfd) of map_bytes; the data begins at `offset` and ends, up to
// alignment, where the mapping ends. Before and after the mapping lies reserved address space without memory.
struct device_buffer {
  int fd;
  uint64_t map_bytes, offset, bytes;
  // Not 0: the same number is always the same memory, so that its mapping may be kept from one load to the next.
  uint64_t id;
  int32_t writable; // outputs; and inputs in the one run that finds out whether a fault was a write to an input
};

// What a load is given: a checked plan and the judge's buffers, one for each input and output of the task.
struct device_work {
  const struct plan *plan;
  int n_in, n_out;
  const struct device_buffer *in, *out;
};

enum device_event {
  DEVICE_OK,
  DEVICE_LOAD_FAILED,   // a module or kernel cannot be loaded; detail has the device's message
  DEVICE_LAUNCH_FAILED, // the device refused a launch (too many resources)
  DEVICE_FAULT, // a kernel touched memory that is not its own, misaligned or illegal instructions: the context is lost
  DEVICE_OUT_OF_MEMORY,
  DEVICE_LOST, // the device does not answer
};
const char *device_event_name(enum device_event e);

enum device_mode {
  DEVICE_COLD, // the last-level cache is evicted, persisting lines too, then one timed execution, gap-free
  DEVICE_HOT,  // our own code reads the inputs into the cache, then one timed execution. Never two: the second would
               // find its answer done
  DEVICE_AS_CALLED, // as COLD, but the host's clock, from the first launch to the end of the last
  DEVICE_NULL,      // as COLD without the plan's steps: the protocol's own cost
  DEVICE_EMPTY,     // as COLD with one empty kernel in the plan's place
  // Only the steps before n_prepare; all other modes leave them out. The judge asks for it before it draws the inputs
  // that are not weights, so that nothing of the work can be done here.
  DEVICE_PREPARE,
};

// At most this many steps are queued before the stream is let go, because the queue is finite.
enum { DEVICE_HELD_STEPS = 512 };

struct device_times {
  int64_t device_ns; // between the events around the steps
  // The same plus a constant, from stamps that no kernel of the plan could reach; 0: not known.
  int64_t outside_ns;
  int64_t called_ns;  // the host's clock around the same: as called; else from when the stream was let go to its end
  int64_t prepare_ns; // of the steps before n_prepare, device time
  // The stream was let go before all was queued: the host's latency may be in every time.
  int32_t let_go_early;
  // The steps were carried out more than once on the same inputs (the host was blocked the first time): a time that
  // says nothing, since a kernel may find its answer done.
  int32_t repeated;
};

struct device_report {
  enum device_event event;
  char detail[256];
  struct device_times times;
};

// Where a kernel that runs in this process sees a buffer: map_bytes of memory from `base`, the data at `offset`.
struct device_place {
  uint64_t base, map_bytes, offset, bytes;
  int32_t writable;
};
enum { DEVICE_GUARD_BYTES = 1 << 20 }; // address space without memory in front of and after each

// What the process that opens the device needs of its machine, for its sandbox and its environment.
struct device_host {
  const char *const *read_paths;  // with the system's libraries; NULL-terminated. A missing path needs no right
  const char *files;              // device files, a pattern for glob(3); NULL: none
  const char *const *environment; // NAME=VALUE; NULL-terminated
  const char *cache_variable; // names the folder where the device's compiler may write; NULL: it has no such variable
  // Loading a plan runs code of the candidate's before the process is locked down: it is confined like a build. (No
  // driver of a GPU would start so.)
  bool builds;
  bool one_gpu;                // it sees one of NVIDIA's GPUs only (sandbox/gpu_visible.h), which is number 0 there
  bool opens_without_landlock; // a driver may want other files, too: where it does not open, it is tried without
};

struct device_ops {
  const struct device_host *host;
  // ASSAY_ERR_ENVIRONMENT: no such device or driver, with the way to fix it.
  enum assay_status (*open)(const struct device_options *o, struct device **out, struct assay_error *err);
  // Takes the device's trusted helper code in the form it loads (device/utility.h), made by the judge; once, before the
  // first load. NULL: the device needs none.
  enum assay_status (*equip)(struct device *d, const void *utility, size_t bytes, struct assay_error *err);
  void (*close)(struct device *d);
  void (*facts)(struct device *d, struct device_facts *out);
  // Maps the buffers, allocates scratch (with guards, filled with garbage) and constants, loads modules, resolves
  // kernels and symbols, encodes tensor maps. The plan is borrowed until unload; descriptors are closed by the caller.
  enum assay_status (*load)(struct device *d, const struct device_work *work, struct device_report *report,
                            struct assay_error *err);
  void (*unload)(struct device *d);
  // Carries the plan out once and waits for it.
  enum assay_status (*call)(struct device *d, enum device_mode mode, struct device_report *report,
                            struct assay_error *err);
  // NULL where kernels run elsewhere. Where they run in this process: what lies where in it, for the plan's buffer i of
  // the loaded plan. The process is to be locked down between load and the first call; it cannot load again after that.
  void (*place)(const struct device *d, int i, struct device_place *out);
};

#define DEVICE_DECLARE(name, ...) extern const struct device_ops device_##name;
PLAN_DEVICES_WITH_PLANS(DEVICE_DECLARE)
#undef DEVICE_DECLARE
const struct device_ops *device_of(const struct plan_device *device); // NULL: it has no plans

#endif
