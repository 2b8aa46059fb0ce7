// SPDX-License-Identifier: Apache-2.0
// From a candidate's source to a built library: options, one build at work, and its result. `build_start` compiles C
// for the CPU (cc.c); the builds of other toolchains (program.h) have results of the same form.
#ifndef TOOLCHAIN_TOOLCHAIN_H
#define TOOLCHAIN_TOOLCHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct build_options {
  const char *compiler;           // "gcc", "clang" or a path; found on the PATH given by path_env
  const char *path_env;           // the value of PATH for the builder
  const char *const *environment; // more of its environment, NAME=VALUE, NULL-terminated; may be NULL
  const char *include_dir;        // where assay/candidate.h is
  const char *folder;             // the build's own temporary folder
  const char *const *defines;     // NULL-terminated NAME or NAME=VALUE; may be NULL
  int64_t timeout_ns;
  size_t memory_bytes, file_bytes; // of one process, of one file
  int64_t together_bytes;          // memory of all processes; 0: by the machine's, which is what judging takes
};

struct build; // one builder at work

enum build_outcome { BUILD_OK, BUILD_REJECTED, BUILD_TIMED_OUT, BUILD_HIT_LIMIT };

struct build_result {
  enum build_outcome outcome;
  char *library;          // path of the .so in the folder; heap; NULL unless BUILD_OK
  char *diagnostics;      // what the compiler said, at most 64 KiB, paths made relative; heap, never NULL
  char *command;          // the compiler's command line, for the verdict; heap
  char *compiler_version; // first line of --version, heap
  int64_t elapsed_ns, cpu_ns;
  // SHA-256 of all that runs of the candidate, whatever its source looks like: the library; the device code and the
  // lines that say how it is launched. "": two builds of this kind cannot be compared.
  char built[65];
};

// Starts compiling the source (n bytes of C) and returns at once, so that inputs and the oracle can be made meanwhile.
enum assay_status build_start(const struct build_options *o, const char *source, size_t n, struct build **out,
                              struct assay_error *err);

// Waits for it. The candidate's failure is in the result; a status means that the machine failed. Frees the build.
enum assay_status build_finish(struct build *b, struct build_result *out, struct assay_error *err);
void build_cancel(struct build *b); // kills and frees; NULL is fine
void build_result_release(struct build_result *r);

// The line to show of a compiler's messages where there is room for one: the first that is no warning, note or
// quotation. *line points into the messages; returns its length, 0 where they are empty.
size_t build_first_error(const char *diagnostics, const char **line);

#endif
