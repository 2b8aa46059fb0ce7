// SPDX-License-Identifier: Apache-2.0
// The device code that the program loaded, and the kernels that it launched, by handle and name.
//
// CUPTI hands over every module as a cubin when it is loaded. A launch has a handle and a name; the driver knows the
// handle's module only where the program loaded it under a handle of its own, so the name decides, and where several
// modules have a kernel of that name, the handle's module does.
#ifndef TOOLCHAIN_LIFT_MODULE_TABLE_H
#define TOOLCHAIN_LIFT_MODULE_TABLE_H

#include <stdbool.h>

#include "base/arena.h"
#include "compute/cuda_driver.h"
#include "plan/plan.h"
#include "toolchain/lift/caller.h"
#include "toolchain/lift/log_writer.h"

struct cubin {
  uint8_t *bytes; // heap
  size_t size;
  CUmodule module; // NULL: not known
  bool parsed, readable;
  struct cubin_info info;
  int number; // in the log, or -1
};

// A kernel as it is launched, by its handle.
struct known_kernel {
  CUfunction handle;
  struct cubin *cubin;
  const struct cubin_kernel *kernel;
  struct caller launched_by; // the first time
  int number;                // in the log, or -1
};

struct module_table {
  struct arena arena;
  struct cubin **cubins;
  size_t n_cubins, cubin_capacity;
  struct known_kernel **kernels;
  size_t n_kernels, kernel_capacity;
  uint32_t n_modules_logged, n_kernels_logged;
  char section[PLAN_MAX_NAME + 16]; // scratch of a search
};

void module_table_release(struct module_table *t);
void module_table_begin(struct module_table *t); // another log: nothing has a number in it
// A module was loaded; the bytes are copied.
void module_table_add(struct module_table *t, const void *bytes, size_t n);
// The cubins from number `since` on came with this module.
void module_table_name(struct module_table *t, CUmodule module, size_t since);

// Which cubin a kernel of that name is in, and whether there are others with different code that it could be in as
// well. A cubin of `module` is certain. With count >= 0, only cubins with so many kernels are asked. The latest counts:
// a handle may be used again.
struct module_match {
  struct cubin *cubin; // NULL: none
  const struct cubin_kernel *kernel;
  bool several;
};
struct module_match module_table_search(struct module_table *t, CUmodule module, const char *symbol, int64_t count);

// The kernel that was added with this handle and name, or NULL.
struct known_kernel *module_table_find(struct module_table *t, CUfunction handle, const char *symbol);
// Returns NULL when memory is exhausted.
struct known_kernel *module_table_add_kernel(struct module_table *t, CUfunction handle,
                                             const struct module_match *match, const struct caller *caller);

// The kernel's number in the log. The first time, the kernel and its module are written.
uint32_t module_table_number(struct module_table *t, struct known_kernel *k, struct log_writer *w);

#endif
