// SPDX-License-Identifier: Apache-2.0
// Builds of sources with directive lines: what nvrtc and opencl have in common. Private to src/toolchain.
#ifndef TOOLCHAIN_DIRECTED_H
#define TOOLCHAIN_DIRECTED_H

#include "toolchain/builder/builder.h"
#include "toolchain/program_private.h"

struct directed_way;

// A built source.
struct directed_program {
  struct program base;
  const struct directed_way *way;
  struct arena arena;
  const char *name, *version;
  struct directive_set set;
  struct directive_kernel *kernels;
  const uint8_t *code; // the module, with a NUL after it where it is text
  size_t code_bytes;
  const char *options; // of the module, for texts
};

// What a toolchain adds to the common way.
struct directed_way {
  const struct toolchain *toolchain; // whose device the plans are for
  enum builder_language language;
  const char *command; // the compiler's name for the verdict
  enum plan_code code; // the module's form
  // Flags in front of the source's own: a NULL-terminated list in the arena.
  const char *const *(*flags)(const struct program_options *o, struct arena *a);
  // Completes the program once the builder has compiled; *refusal (in the program's arena) when the source is at fault.
  enum assay_status (*complete)(struct directed_program *p, const struct builder_reply *reply, const char *source,
                                size_t n, const char **refusal, struct assay_error *err);
};

extern const struct directed_way nvrtc_way;  // nvrtc_build.c
extern const struct directed_way opencl_way; // opencl_build.c

#endif
