// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain/lift: recording what a Python program, or assay-library, does with a GPU while it runs.
//
// assay-lift.so is loaded into the worker's process (worker.py lift). CUPTI reports every call of the driver and hands
// over every module that is loaded; PyTorch gets its memory from this library. While a recording runs, the calls become
// the log that assay-recorder writes as well (record/format.h), and record/read.c makes a plan of it. The log is not
// trusted: the candidate shares this process and may forge all of it, and what it forged is replayed and checked like
// any plan. docs/lifting.md has the timeline of a worker.
//
//   session.c         the one mutable global, its lock, and what worker.py and CUPTI call
//   pytorch.c         what PyTorch calls: the allocator
//   calls.c           the driver's calls, one by one: what each becomes in the log
//   launches.c        launches, with their parameters
//   memory.c          addresses, and memory that is mapped, adopted and freed
//   contents.c        what memory held before the recording, and after
//   address_map, module_table, stream_table, tensor_map_table, log_writer, kernel_timer, caller, driver
//                     parts that know nothing of the others but what their headers include
#ifndef TOOLCHAIN_LIFT_LIFT_H
#define TOOLCHAIN_LIFT_LIFT_H

#include <pthread.h>
#include <stdbool.h>

#include "toolchain/lift/address_map.h"
#include "toolchain/lift/cupti.h"
#include "toolchain/lift/driver.h"
#include "toolchain/lift/kernel_timer.h"
#include "toolchain/lift/log_writer.h"
#include "toolchain/lift/module_table.h"
#include "toolchain/lift/stream_table.h"
#include "toolchain/lift/tensor_map_table.h"

// What is done with the program's calls. In every mode, memory, modules, streams and tensor maps are followed.
enum lift_mode {
  LIFT_IDLE,
  LIFT_LOOKING,   // launches are read for addresses, so that memory which nobody saw being allocated becomes known
  LIFT_RECORDING, // everything becomes entries of the log
  LIFT_TIMING,    // launches are timed
};

// Words that the driver knew nothing of when it was asked: structs with pairs of numbers are passed again and again.
enum { LIFT_ASKED_WORDS = 4096 };

// Everything that the room knows. Functions get it from session.c, with the lock held.
struct lift {
  pthread_mutex_t lock;
  struct lift_driver driver;
  enum lift_mode mode;
  bool warming; // the workload's first calls, before anything is looked at: memory is given again
  struct record_header *logs[LIFT_LOGS]; // the judge's files; NULL before the first workload
  const struct record_request *requests[LIFT_LOGS];
  struct address_map memory;
  struct module_table modules;
  struct stream_table streams;
  struct tensor_map_table maps;
  struct log_writer writer;
  struct kernel_timer timer;
  uint64_t asked[LIFT_ASKED_WORDS];
  uint8_t parameters[PLAN_MAX_ARGUMENT_BYTES + 4]; // of the launch at hand
  int n_left_over;                                 // allocations that were left over, also those that are gone since
  bool logs_held;                  // while left-over memory is tried, both logs say that they are refused
  uint32_t held_stages[LIFT_LOGS]; // what they said before
  bool out_of_memory;              // the driver said so when memory was mapped, since the recordings were opened
  struct assay_error err;          // its message is handed out
};

// ---- session.c

// The state, with the lock, unless this thread holds it already: then *was_inside is true. Calls of the driver that we
// make meanwhile are not the program's. To be ended by lift_leave.
struct lift *lift_enter(bool *was_inside);
void lift_leave(bool was_inside);
// What CUPTI calls.
void lift_on_callback(void *arg, enum cupti_domain domain, uint32_t id, const void *data);

// ---- calls.c

void lift_on_call(struct lift *l, const struct cupti_call *c);

// ---- launches.c

struct lift_launch {
  const struct cu_launch_config *config;
  CUfunction function;
  void **params, **extra; // as cuLaunchKernel has them
  const char *symbol;     // the kernel's name; NULL: CUPTI does not say
};
void lift_on_launch(struct lift *l, const struct lift_launch *launch);
void lift_after_launch(struct lift *l, CUstream stream);

// ---- memory.c

// The program's address as the log has it; the allocation is noted as used so. *known (may be NULL) is false for what
// is not an address of the device. Memory that nobody saw being allocated, but the driver knows, becomes known here.
uint64_t lift_address(struct lift *l, uint64_t address, enum allocation_use use, bool *known);
// A word of a launch's parameters as the log has it; an address of the device as above. Two kinds of words become 0:
// ends of mappings, which whoever mapped memory left on the stack; and, where the word is a parameter of its own,
// addresses of memory that was freed, which the log's reader would take for addresses. In a struct those may be a pair
// of numbers, and comparing two recordings shows which it is (plan_difference).
uint64_t lift_word(struct lift *l, uint64_t word, bool alone);
// Whether the driver knows of memory there that nobody saw being allocated. What it does not know is remembered until
// lift_forget_words, with which recordings and looks begin.
bool lift_is_unseen(struct lift *l, uint64_t word);
void lift_forget_words(struct lift *l);
// Others allocated or freed memory.
void lift_foreign_alloc(struct lift *l, uint64_t address, size_t bytes);
void lift_foreign_free(struct lift *l, uint64_t address);
// PyTorch does. 0: memory is exhausted.
uint64_t lift_malloc(struct lift *l, uint64_t bytes, CUstream stream);
void lift_free(struct lift *l, uint64_t address, CUstream stream);
// Work of this stream uses the memory as well, which was allocated for another one.
void lift_record_stream(struct lift *l, uint64_t address, CUstream stream);
bool lift_map_tensor(struct lift *l, const struct record_tensor *t, struct allocation *out);
void lift_unmap(struct lift *l, const struct allocation *a);
// Forgets what was freed, and unmaps what was kept.
void lift_forget_freed(struct lift *l);
// From here on no memory is given twice, and all that was freed is gone.
void lift_stop_warming(struct lift *l);

// ---- contents.c

void lift_begin_contents(struct lift *l); // a recording begins
void lift_end_contents(struct lift *l);   // it ends: entries of the memory from before
// What assay_lift_left_overs does.
enum lift_left_overs { LIFT_COUNT, LIFT_EMPTY, LIFT_PUT_BACK, LIFT_SETTLED };
int lift_left_overs(struct lift *l, enum lift_left_overs what);

#endif
