// SPDX-License-Identifier: Apache-2.0
// What the files of the OpenCL device share.
#ifndef DEVICE_OPENCL_DEVICE_H
#define DEVICE_OPENCL_DEVICE_H

#include "device/device.h"
#include "device/opencl_api.h"

// The memory of one of the plan's buffers, between two guards.
struct opencl_memory {
  unsigned char *reserved; // NULL: none
  size_t reserved_bytes;
  struct device_place place;
  cl_mem mem; // of all the data
};

// A buffer from an offset on, as an argument of a kernel: OpenCL has no addresses.
struct opencl_view {
  int buffer;
  int64_t offset;
  cl_mem mem;
};

struct opencl_kernel {
  int module;
  const char *name; // the plan's
  cl_kernel kernel;
};

// A step's kernel, and its views: those of its arguments with pointers, in order, begin at first_view.
struct opencl_step {
  int kernel;
  uint32_t first_view;
};

struct opencl_plan {
  const struct plan *plan;
  struct arena arena;
  struct opencl_memory *memory; // of every buffer
  cl_program *programs;         // of every module
  struct opencl_kernel *kernels;
  int n_kernels;
  struct opencl_step *steps;
  cl_mem *views;             // of the steps' arguments, borrowed from `table`
  struct opencl_view *table; // a hash table of all different views, table_size (a power of two) places
  size_t table_size;
};

struct device {
  struct opencl_api cl;
  const char *folder; // the options'; NULL: no code is kept
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  cl_program empty_program;
  cl_kernel empty;
  struct device_facts facts;
  uint64_t garbage; // a stream of numbers
  uint64_t garbage_calls;
  struct opencl_plan *loaded;
};

// ---- opencl_memory.c: what a plan's buffers are in this process

// Maps the judge's buffers and makes scratch and constants. The candidate's failures (memory) are in the report.
enum assay_status opencl_memory_make(struct device *d, struct opencl_plan *l, const struct device_work *work,
                                     struct device_report *report, struct assay_error *err);
void opencl_memory_drop(struct device *d, struct opencl_plan *l);

void opencl_memory_garbage(struct device *d, struct opencl_plan *l); // into all scratch
void opencl_memory_flush(const struct opencl_plan *l);               // every buffer leaves the processor's caches

// The view of a place; made when it is first asked for. Room for all was made by opencl_views_init.
bool opencl_views_init(struct opencl_plan *l, size_t n);
cl_mem opencl_view(struct device *d, struct opencl_plan *l, int buffer, int64_t offset, cl_int *result);
void opencl_views_drop(struct device *d, struct opencl_plan *l);

// ---- opencl_code.c: from a source to machine code

// Compiles a source, down to the machine code of all of its kernels, or takes what an earlier device made of the same
// source with the same options from the device's folder. *out (ReleaseProgram) may be there after a failure too, for
// the compiler's messages.
cl_int opencl_code_make(struct device *d, const char *text, size_t size, const char *options, cl_program *out);

// ---- opencl_program.c: modules and kernels

// Builds everything, down to machine code: nothing is left to be compiled when kernels run.
enum assay_status opencl_programs_make(struct device *d, struct opencl_plan *l, struct device_report *report,
                                       struct assay_error *err);
void opencl_programs_drop(struct device *d, struct opencl_plan *l);
enum assay_status opencl_empty_make(struct device *d, struct assay_error *err);

// ---- opencl_call.c

enum assay_status opencl_call(struct device *d, enum device_mode mode, struct device_report *report,
                              struct assay_error *err);

// Puts the device's error into the report. `where` is a prefix ("step 3, add"); may be NULL.
void opencl_report(struct device_report *report, enum device_event event, cl_int code, const char *where);
// Whether a code means that memory ran out.
bool opencl_is_memory(cl_int code);

#endif
