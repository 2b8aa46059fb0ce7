// SPDX-License-Identifier: Apache-2.0
// Directive lines: what a source of device code says about how it is to be launched. They are comments, so that any
// compiler takes the file, and a small language of their own, so that no code of the candidate runs on the host.
// docs/writing-cuda-kernels.md is the page for users.
//
//   // assay: let NAME = EXPR
//   // assay: scratch NAME TYPE[EXPR] [align=E]
//   // assay: launch KERNEL grid=E[,E[,E]] block=E[,E[,E]] [shared=E] [cluster=E[,E[,E]]] [cooperative] [programmatic]
//   //          [carveout=E] [if=E] args=A, A, ...
//   // assay: fill NAME[+E] E [count=E] [if=E]
//   // assay: copy NAME[+E] NAME[+E] count=E [if=E]
//   // assay: tensor_map NAME of=NAME[+E] type=T dims=E,E.. [strides=E..] box=E,E.. [element_strides=E..]
//   //          [swizzle=none|32|64|128] [interleave=none|16|32] [l2=none|64|128|256] [oob=zero|nan]
//   // assay: prepare
//   // assay: option FLAG...
//   // assay: require EXPR -- sentence
//   // assay: tune NAME E,E,...          as `let NAME =` the first; `assay tune` tries all (tune/space.h)
//   // assay: constraint EXPR            the tuner's, skipped here
//
// A line that begins with `// assay:` (blanks before and after the slashes are fine) is one directive; one that ends in
// a backslash goes on in the next line, which must be a `//` comment too. `task`, `expect` and `twin` are the judge's
// (judge/directives.h) and are skipped here.
//
// EXPR   64-bit integers, every overflow an error: + - * / % < <= > >= == != ! && || ?: ( ) 12 0x1F true false,
//        ceil_div(a, b) round_up(a, b) min(a, ...) max(a, ...); a name of a `let` above or of a dimension of the task;
//        x.0 an extent of the tensor x (x.-1 the last), x.rank, x.count. Names that are not identifiers go in quotes:
//        "input.1".count. Where a real number is wanted also 1.5, 1e-5, inf, nan, sqrt(a), and / is real division; a
//        `let` is real if a real literal, sqrt or another real `let` is in it, and an integer otherwise.
//        In fill and copy the E of NAME+E is a product: put sums in parentheses.
// A      x, x + E: a pointer into a buffer (offset in elements); the name of a tensor_map; null; TYPE(EXPR) with TYPE
//        one of bool char short int uint long ulong half bf16 float double; a bare EXPR: an integer as wide as the
//        kernel's parameter; local(E): E bytes of local memory (OpenCL); {A, A, ...}: a struct, laid out by C's rules.
//        A name that is a buffer and a dimension is the buffer; write (N) + 0 or int(N) for the dimension.
// KERNEL relu, ns::relu, matmul<128, 64, float>.
// TYPE   of memory: float half bf16 e4m3 e5m2 double bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 (and int,
//        uint, ...).
#ifndef TOOLCHAIN_DIRECTIVE_DIRECTIVE_H
#define TOOLCHAIN_DIRECTIVE_DIRECTIVE_H

#include "base/hash.h"
#include "plan/subject.h"

enum {
  DIRECTIVE_MAX_LINES = 4096, // directives of one source
  DIRECTIVE_MAX_LETS = 256,
  DIRECTIVE_MAX_NAME = 255,
  DIRECTIVE_MAX_TOTAL = 1 << 16, // as the next, in all of them together
  DIRECTIVE_MAX_NODES = 1024,    // numbers, names and operators in one expression
  DIRECTIVE_MAX_DEPTH = 64,      // of parentheses and braces
  DIRECTIVE_MAX_ARGUMENTS = PLAN_MAX_ARGUMENTS,
};
#define DIRECTIVE_ARENA_BYTES ((size_t)16 << 20) // enough for what these limits let through

struct directive; // one line

// All lines of a source.
struct directive_set {
  const char *file; // for messages
  int n;
  const struct directive *const *lines;
  bool launches; // whether anything is launched
  int n_kernels;
  const char *const *kernels; // what is launched, each once, as C++ would write it: "matmul<128,64,float>"
  int n_options;
  const char *const *options; // for the compiler, allowed ones only
  char hash[HASH_HEX_BYTES];  // of the lines themselves, without their layout
};

// The words that a directive may begin with, the judge's and the tuner's among them; NULL ends them.
const char *const *directive_verbs(void);

// Whether a source has a launch directive; it may still not parse.
bool directive_launches(const char *source, size_t n);

// Reads the lines of a source; `file` is its name for messages. All memory is the arena's, nothing points into the
// source. ASSAY_ERR_SYNTAX and ASSAY_ERR_LIMIT say "FILE:LINE:COLUMN: what, and what to write instead".
enum assay_status directive_parse(const char *file, const char *source, size_t n, struct arena *arena,
                                  struct directive_set *out, struct assay_error *err);

// Where set->kernels[kernel] is launched first, from 1; false where nothing launches it.
bool directive_launch_place(const struct directive_set *set, int kernel, int *line, int *column);

// What the compiler knows of a kernel that was launched by the name of directive_set.kernels.
enum { DIRECTIVE_SIZE_LOCAL = 0 };            // a parameter that is local memory (OpenCL)
#define DIRECTIVE_SIZE_UNKNOWN (~UINT32_C(0)) // nothing is checked; a bare integer needs a type
struct directive_kernel {
  const char *symbol;    // its name in the module
  int n_parameters;      // -1: not known
  const uint32_t *sizes; // of the parameters, in bytes, or one of the above
};

// What lines mean for one workload: buffers and steps go into `plan`, all memory into its arena (everything that is not
// filled in here is left alone; plan->device is "cuda" or "opencl" already). Launches are of module 0.
// ASSAY_ERR_INVALID with FILE:LINE:COLUMN when they mean nothing here, or a `require` does not hold; then the plan's
// buffers and steps are not set.
enum assay_status directive_plan(const struct directive_set *set, const struct directive_kernel *kernels,
                                 const struct plan_subject *subject, struct plan *plan, struct assay_error *err);

#endif
