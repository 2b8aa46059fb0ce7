// Python candidates: the interpreter they need, and their build (a look at the syntax, and extensions in C++).
#ifndef TOOLCHAIN_PYTHON_H
#define TOOLCHAIN_PYTHON_H

#include "base/arena.h"
#include "base/buf.h"
#include "toolchain/toolchain.h"

struct python_options {
  const char *interpreter;     // a name or a path: "python3", "/opt/venv/bin/python"
  const char *path_env;        // the PATH to find it on
  const char *script, *worker; // paths of worker.py and assay-worker.so
};

// An interpreter, and where its own files are. Strings are the arena's or the options'.
struct python_place {
  const char *interpreter;            // absolute; links in it stay, for a virtual environment is found from its name
  const char *script, *worker, *lift; // worker.py, assay-worker.so, and assay-lift.so beside it
  const char *const *read_paths;      // NULL-terminated
};

// ASSAY_ERR_NOT_FOUND when there is no such program, or Assay's own files are not there.
enum assay_status python_find(const struct python_options *o, struct arena *a, struct python_place *out,
                              struct assay_error *err);

// What the interpreter says of itself, without a candidate: {"python": "3.11.7", "torch": "2.9.0", "cuda": "13.0"}, as
// JSON text (heap); "error" in place of "torch" when PyTorch cannot be imported. Takes seconds.
enum assay_status python_ask(const struct python_place *p, const char *folder, char **json, struct assay_error *err);

// As build_start and build_finish; o->compiler and o->include_dir are not used, defines become global names of the
// module. `extensions`: what the candidate compiles as an extension is compiled now. The result's `library` is the
// source in the build's folder, with what was compiled beside it.
struct python_build;
enum assay_status python_build_start(const struct python_place *p, const struct build_options *o, bool extensions,
                                     const char *source, size_t n, struct python_build **out, struct assay_error *err);
enum assay_status python_build_finish(struct python_build *b, struct build_result *out, struct assay_error *err);
void python_build_cancel(struct python_build *b); // kills and frees; NULL is fine

// What a worker is told of a workload, as JSON: {"task", "symbols": {"M": 3}, "inputs": [{"name", "static"}],
// "outputs": ["y"], "init": "K, N" or null}. The names of the workload and of the probe are not told.
struct plan_subject;
enum assay_status python_sheet(const struct plan_subject *s, struct buf *out, struct assay_error *err);

#endif
