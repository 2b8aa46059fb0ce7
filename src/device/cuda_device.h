// SPDX-License-Identifier: Apache-2.0
// What the files of the CUDA device share: the device, a loaded plan, and how the driver's errors are classified.
#ifndef DEVICE_CUDA_DEVICE_H
#define DEVICE_CUDA_DEVICE_H

#include "compute/cuda_driver.h"
#include "device/device.h"

// A piece of address space with memory in its middle; what lies before and after it (a granule each) has none.
struct cuda_mapping {
  uint64_t reserved, reserved_bytes; // 0, 0: none
  uint64_t address, bytes;           // the mapped part; bytes 0: nothing is mapped
};

// One step, ready to be queued: everything is looked up and every pointer is in its place when the plan is loaded, so
// that a call is nothing but a loop over these.
struct cuda_step {
  enum plan_step_kind kind;
  CUfunction function;
  struct cu_launch_config config;
  struct cu_launch_attribute attributes[3];
  void **params;
  uint32_t param_bytes;
  uint64_t to, from, count; // elements for fills, bytes for copies
  uint32_t value, width;
};

struct cuda_plan {
  struct arena arena;
  const struct plan *plan;
  uint64_t *addresses; // of the plan's buffers
  struct cuda_mapping *mappings;
  int n_mappings;   // at most one for each buffer
  uint32_t garbage; // in scratch
  bool called;      // its steps have run, other than those that prepare
  CUmodule *modules;
  struct cuda_step *steps;
};

// Mappings of the judge's memory, kept from one load to the next.
enum { KEPT_MAPPINGS = 128 };
struct cuda_kept {
  uint64_t id; // 0: none
  bool writable;
  struct cuda_mapping mapping;
};

// Messages between the host and the trusted helper kernels, in the host's memory. A kernel under test that finds this
// memory can write to it too. So nothing is trusted that was written while such a kernel may have been running:
// cuda_flush.c.
struct cuda_gate {
  // Tickets: of the host; of the kernel that holds the stream, when it begins, and when it gives up.
  uint32_t released, arrived, failed;
  uint32_t unused;
  uint64_t opens_at, ended, confirmed; // device's clock, nanoseconds; the same; a number
};

struct device {
  const struct cuda_driver *cu;
  CUdevice id;
  CUcontext context;
  CUstream stream;
  CUevent start, end, prepare_start, prepare_end;
  struct device_facts facts;
  size_t granule; // of mappings
  CUmodule utility;
  CUfunction read, empty, hold, stamp, confirm, leave;
  uint64_t flush, flush_bytes; // more than the last-level cache holds; after it a place where nothing is read
  volatile struct cuda_gate *gate;
  uint64_t gate_address;    // as kernels see it
  uint32_t ticket;          // of the last call that was held
  uint64_t opened_at;       // device's clock: when its timed part could begin; 0: not known for certain
  uint64_t secret;          // of the numbers that confirm, and of the first garbage
  uint64_t loads;           // so far
  struct cuda_plan *loaded; // NULL: none
  struct cuda_kept kept[KEPT_MAPPINGS];
};

// ---- cuda_error.c

// Which event a driver result means for the candidate. Launching: the result came from queueing a step, so a result
// that is not a fault means that the step was refused.
enum device_event cuda_event_of(enum cu_result result, bool launching);
// Fills the report from a result; `where` begins the detail ("step 3, softmax_rows"), may be NULL.
void cuda_report(const struct device *d, struct device_report *report, enum device_event event, enum cu_result result,
                 const char *where);

// ---- cuda_mapping.c

// Memory made here. Data of `bytes` bytes ends at the mapping's end, up to alignment (a power of two, at most the
// granule); *data is where it begins.
enum cu_result cuda_map_new(struct device *d, uint64_t bytes, uint64_t alignment, struct cuda_mapping *out,
                            uint64_t *data);
enum cu_result cuda_map_import(struct device *d, const struct device_buffer *b, struct cuda_mapping *out);
enum cu_result cuda_map_protect(struct device *d, const struct cuda_mapping *m, bool writable);
void cuda_unmap(struct device *d, struct cuda_mapping *m);

// ---- cuda_memory.c

// All buffers of the plan: the judge's, scratch and constants. ASSAY_OK with the report's event when memory is short.
enum assay_status cuda_map_buffers(struct device *d, struct cuda_plan *l, const struct device_work *work,
                                   struct device_report *report, struct assay_error *err);

// ---- cuda_steps.c

enum assay_status cuda_load_steps(struct device *d, struct cuda_plan *l, struct device_report *report,
                                  struct assay_error *err);

// ---- cuda_load.c, cuda_call.c, cuda_flush.c: the slots of device_ops, and the cache

enum assay_status cuda_load(struct device *d, const struct device_work *work, struct device_report *report,
                            struct assay_error *err);
void cuda_unload(struct device *d);

// Leaves numbers in the shared memory of every SM.
enum cu_result cuda_leave_in_shared(struct device *d);
enum assay_status cuda_call(struct device *d, enum device_mode mode, struct device_report *report,
                            struct assay_error *err);
enum cu_result cuda_flush(struct device *d);   // queues reads, after everything that is queued; waits for that
enum cu_result cuda_warm(struct device *d);    // the same with the plan's inputs in the flush buffer's place
enum cu_result cuda_hold(struct device *d);    // queues a wait for the gate
void cuda_let_go(struct device *d);            // opens it
bool cuda_hold_failed(const struct device *d); // it had opened before, by itself: to ask when the stream is empty
enum cu_result cuda_stamp(struct device *d);   // queues a stamp after the timed part
// After the stream has ended, as far as the driver can tell: makes sure of it. *ns: from the opening of the gate to the
// stamp, by stamps that no kernel between them can have changed; 0: not known for certain.
enum cu_result cuda_confirm(struct device *d, int64_t *ns);

#endif
