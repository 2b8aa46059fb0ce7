// SPDX-License-Identifier: Apache-2.0
// libassay: judge a kernel, make its launch plan, ask the oracle (docs/library.md).
//
//   struct assay_session *s = NULL;
//   struct assay_judged *v = NULL;
//   struct assay_error err = {0};
//   struct assay_request r = {.size = sizeof r, .task = "kernelbench/1/19", .candidate = "relu.c"};
//   if (assay_session_open(NULL, &s, &err) || assay_session_judge(s, &r, &v, &err))
//     fprintf(stderr, "%s\n", err.message);
//   else
//     puts(assay_reason_code(assay_judged_reason(v)));
//   assay_judged_free(v);
//   assay_session_close(s);
//
// What stays as it is: structs that cross the line are opaque, or begin with their size, and only grow; functions are
// versioned symbols; reasons and statuses keep their numbers. Functions return ASSAY_OK, or a negative status and a
// message in *err (zero it first); out-parameters are set on success only. A wrong candidate is a success: a verdict.
//
// A session is used by one thread at a time, always by the same one: its children die with that thread. Several
// sessions may be used at once. The library starts child processes, prints nothing, and reads no environment.
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <stddef.h>
#include <stdint.h>

#include "assay/export.h"
#ifdef __cplusplus
extern "C" {
#endif
#include "assay/status.h"
#include "assay/verdict.h"
#ifdef __cplusplus
}
#endif

ASSAY_API const char *assay_version(void); // "0.1.0"

// --- a session: where things are, and what judgements share (an open GPU, a warm compiler)

// Zero is the default of every member. Strings are copied.
struct assay_settings {
  size_t size;           // sizeof(struct assay_settings)
  const char *prefix;    // where Assay is installed, or its build folder; NULL: found from where the library is
  const char *tasks;     // the folder of the suites; NULL: those of the prefix
  const char *temporary; // the parent of temporary folders; NULL: /tmp
  const char *cache;     // for compiled device code; NULL: none is kept
  const char *path;      // as $PATH, where compilers and Python are found; NULL: /usr/local/bin:/usr/bin:/bin
  const char *python;    // an interpreter with PyTorch; NULL: python3
  const char *nvrtc;     // NVIDIA's runtime compiler; NULL: searched where it usually is
  const char *store;     // a store that `assay doctor --calibrate` wrote: with it there is a floor; NULL: none
};
struct assay_session;
// `settings` may be NULL. ASSAY_ERR_NOT_FOUND: Assay's own programs are not there.
ASSAY_API enum assay_status assay_session_open(const struct assay_settings *settings, struct assay_session **out,
                                               struct assay_error *err);
ASSAY_API void assay_session_close(struct assay_session *s); // NULL is fine

// What is asked. Zero is the default of every member but `size` and `task`. Borrowed for the call.
struct assay_request {
  size_t size;                // sizeof(struct assay_request)
  const char *task;           // "kernelbench/1/19", "softmax", or a file's path
  const char *candidate;      // the kernel's file: .c, .cu, .cl, .py; not for the oracle
  const char *workload;       // "full", "M=3, N=4"; NULL: small
  const char *device;         // "cpu", "cuda", "opencl"; NULL: the usual one of the candidate's ending
  const char *const *defines; // macros for the compiler, NULL after the last; may be NULL
  uint64_t seed, secret;      // to repeat a judgement; 0: fresh. The oracle draws its inputs with the seed
  int threads;                // for the kernel and the oracle, at most 256; 0: all CPUs
  int no_timing;              // 1: only right or wrong
  int no_probes;              // 1: only the judged shape, only declared inputs
  int64_t budget_ns;          // for all that the candidate takes; 0: 900 s
};

// --- judging: a verdict with its evidence

struct assay_judged;
// ASSAY_ERR_NOT_FOUND, _USAGE: the request is wrong. ASSAY_ERR_ENVIRONMENT: the machine lacks something. Neither says
// anything about the candidate.
ASSAY_API enum assay_status assay_session_judge(struct assay_session *s, const struct assay_request *r,
                                                struct assay_judged **out, struct assay_error *err);
ASSAY_API enum assay_reason assay_judged_reason(const struct assay_judged *v);
ASSAY_API const char *assay_judged_detail(const struct assay_judged *v); // one line; ""
// The worst element's error in units of what a straightforward implementation errs, and what is allowed; NaN: none.
ASSAY_API double assay_judged_error(const struct assay_judged *v, double *allowed);
ASSAY_API double assay_judged_time_ns(const struct assay_judged *v);   // the median, cold; NaN: not timed
ASSAY_API double assay_judged_floor_ns(const struct assay_judged *v);  // the least possible; NaN: unknown
ASSAY_API const char *assay_judged_json(const struct assay_judged *v); // all evidence: docs/json.md
ASSAY_API void assay_judged_free(struct assay_judged *v);              // NULL is fine

// --- launch plans: what a .cu or .cl candidate launches, made without a device

struct assay_planned;
// `target`: "sm_90a"; NULL: that. For OpenCL it is ignored.
ASSAY_API enum assay_status assay_session_plan(struct assay_session *s, const struct assay_request *r,
                                               const char *target, struct assay_planned **out, struct assay_error *err);
ASSAY_API const char *assay_planned_json(const struct assay_planned *p);        // docs/plans.md; NULL: there is none
ASSAY_API const char *assay_planned_why(const struct assay_planned *p);         // why there is none; ""
ASSAY_API const char *assay_planned_diagnostics(const struct assay_planned *p); // what the compiler printed; ""
ASSAY_API void assay_planned_free(struct assay_planned *p);                     // NULL is fine

// --- the oracle: the answer that candidates are compared with, in double precision

// Row-major. Floating types are double, integers and bool int64_t; the one that it is not is NULL.
struct assay_array {
  const char *name, *dtype; // of the task: "x", "float"
  int rank;
  const int64_t *dims;
  int64_t count; // elements
  const double *f64;
  const int64_t *i64;
};
struct assay_answered;
// Draws inputs as the task declares them, with r->seed (0: fresh), and computes the outputs.
ASSAY_API enum assay_status assay_session_ask(struct assay_session *s, const struct assay_request *r,
                                              struct assay_answered **out, struct assay_error *err);
// One input of the caller's, row-major: elements of floating types in f64 (not rounded to the input's type), of others
// in i64. The other one is NULL.
struct assay_given {
  size_t size; // sizeof(struct assay_given)
  int rank;
  const int64_t *dims;
  const double *f64;
  const int64_t *i64;
};
// The same for given inputs, all of the task's, in its order; r->workload and r->seed stay zero. Borrowed for the call.
ASSAY_API enum assay_status assay_session_answer(struct assay_session *s, const struct assay_request *r,
                                                 const struct assay_given *inputs, int n_inputs,
                                                 struct assay_answered **out, struct assay_error *err);
ASSAY_API int assay_answered_inputs(const struct assay_answered *a); // how many
ASSAY_API int assay_answered_outputs(const struct assay_answered *a);
// The i-th; NULL: there is none. It lasts as long as the answer.
ASSAY_API const struct assay_array *assay_answered_input(const struct assay_answered *a, int i);
ASSAY_API const struct assay_array *assay_answered_output(const struct assay_answered *a, int i);
ASSAY_API uint64_t assay_answered_seed(const struct assay_answered *a); // with which they were drawn; 0: given
ASSAY_API void assay_answered_free(struct assay_answered *a);           // NULL is fine

#endif
