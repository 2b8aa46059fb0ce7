// SPDX-License-Identifier: Apache-2.0
// Python candidates: the interpreter they need, and their build (a look at the syntax, and extensions in C++).
#ifndef TOOLCHAIN_PYTHON_H
#define TOOLCHAIN_PYTHON_H

#include "assay/paths.h"
#include "base/arena.h"
#include "base/buf.h"
#include "toolchain/toolchain.h"

// An interpreter, and where its own files are. Strings are the arena's or those of the paths.
struct python_place {
  const char *interpreter;            // absolute; links in it stay, for a virtual environment is found from its name
  const char *script, *worker, *lift; // worker.py, assay-worker.so, and assay-lift.so next to it
  const char *const *read_paths;      // NULL-terminated
  const char *cache;                  // where compiled extensions are kept; NULL: nowhere
  const char *path_env;               // the PATH of its compilers (python_settings.h)
  const char *const *environment;     // NAME=VALUE: compilers as the user wants them; NULL-terminated
  const char *settings;               // the same for a reader, with what could not be kept; "": nothing was set
};

// ASSAY_ERR_ENVIRONMENT when there is no such program, or Assay's own files are not there.
enum assay_status python_find(const struct assay_paths *p, struct arena *a, struct python_place *out,
                              struct assay_error *err);

// What the interpreter says of itself, without a candidate: {"python": "3.11.7", "torch": "2.9.0", "cuda": "13.0"}, as
// JSON text (heap); "error" in place of "torch" when PyTorch cannot be imported. Takes seconds.
enum assay_status python_ask(const struct python_place *p, const char *folder, char **json, struct assay_error *err);

// What the source of a candidate that failed asks of this machine, by its text, and what of it is not there: "ninja, a
// GPU"; "": nothing. Heap text. The source is read and not run, so that it cannot answer in the machine's place. A
// package counts only where the failure is about it.
struct python_source {
  const char *text;
  size_t bytes;
  bool on_gpu;         // whether the candidate was given one
  const char *failure; // how it failed, in words
};
enum assay_status python_missing(const struct python_place *p, const char *folder, const struct python_source *source,
                                 char **missing, struct assay_error *err);

// As build_start and build_finish; o->compiler and o->include_dir are not used, defines become global names of the
// module. What the candidate compiles as an extension is compiled now, where `gpu` is NULL; for a GPU ("sm_90a") it is
// not, but is there if it was kept. The result's `library` is the source in the build's folder, together with what was
// compiled.
struct python_build;
enum assay_status python_build_start(const struct python_place *p, const struct build_options *o, const char *gpu,
                                     const char *source, size_t n, struct python_build **out, struct assay_error *err);
enum assay_status python_build_finish(struct python_build *b, struct build_result *out, struct assay_error *err);
void python_build_cancel(struct python_build *b); // kills and frees; NULL is fine

// Whether a path in a folder that a candidate could write to is a file of its own, of so many bytes: a link would lead
// the judge to other files.
bool python_is_file_of(const char *path, size_t least, size_t most);

// What is sent to a worker for a workload, as JSON: {"task", "symbols": {"M": 3}, "inputs": [{"name", "static"}],
// "outputs": ["y"], "init": "K, N" or null}. The names of the workload and of the probe are not sent.
struct plan_subject;
enum assay_status python_workload(const struct plan_subject *s, struct buf *out, struct assay_error *err);

#endif
