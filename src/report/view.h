// SPDX-License-Identifier: Apache-2.0
// A verdict as everything that prints it sees it: a row of a table, a score, an export. It is filled from the judge's
// own structure or from a row of the store, whose evidence is parsed once; both give the same.
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include "assay/judge.h"
#include "base/error.h"
#include "stats/stats.h"
#include "store/store.h"

// What the candidate's time was compared with.
struct view_baseline {
  const char *name;    // as it was asked for: "torch.eager", a file
  const char *verdict; // the baseline's own, a reason's code; one that is not "pass" has no speedup
  const char *detail;
  double speedup; // its time over the candidate's; NaN: unknown
  struct interval speedup_interval;
  double time_ns; // its own; NaN: unknown
  struct interval time;
};

// Strings are borrowed from what the view was filled from; never NULL.
struct verdict_view {
  struct store_verdict stored; // the columns of the store: reason, error, times; without a store, no key but the task
  const char *device_name;     // "NVIDIA H200, driver 580.95", "" for the CPU
  const char *processor;       // the machine's; "": unknown
  const char *mode;            // "plan" or "process"
  const char *no_plan;         // why there is none; ""
  const char *weights;         // which parameters are which weights, where names do not say it; ""
  const char *gate;            // of that check, in one word; "" an element's error
  const char *worst;           // the worst elements of the check that decided, several lines; ""
  const char *diagnostics;     // what the compiler and the kernel printed
  bool not_a_gpu;              // times of this device are not ranked
  const char *rule, *judge;    // which rule decided, and which judge said it; "": unknown
  bool foreknown;              // seed or secret was given: the time is not ranked
  bool timed_again;            // the clocks disagreed in a first series of calls, which does not count
  const char *scope;           // how far it holds: "general", "judged", or "": unknown
  const char *elsewhere;       // what happens at other shapes than the judged one; ""
  const char *contract;        // under which it was judged, where that is not the task's own; ""
  double flops, bytes;         // least work of the workload; NaN: unknown
  double overhead_ns;          // in every sample, of the protocol; 0: unknown
  // Outputs of the declared draws at the judged sizes, and those outside the published tolerance and outside 1e-2.
  int n_declared, n_allclose_bad, n_allclose_loose_bad;
  struct assay_kernels kernels;
  int n_baselines;
  struct view_baseline *baselines;
  void *evidence, *machine; // the view's own; the evidence is whole after view_whole_from_store() alone
};

// The verdict or the row must stay where it is until view_release(). Evidence that is missing, or is not JSON, leaves
// empty what only it says. ASSAY_ERR_NOMEM.
enum assay_status view_from_verdict(const struct assay_verdict *v, const char *candidate, struct verdict_view *out,
                                    struct assay_error *err);
enum assay_status view_from_store(const struct store_verdict *row, struct verdict_view *out, struct assay_error *err);
// The same but for what tables of verdicts print and scores never ask: single checks (of which the gate is there),
// messages, kernels. A third of the work.
enum assay_status view_scores_from_store(const struct store_verdict *row, struct verdict_view *out,
                                         struct assay_error *err);
// The same with all of the evidence, for who asks it for more than a view has.
enum assay_status view_whole_from_store(const struct store_verdict *row, struct verdict_view *out,
                                        struct assay_error *err);
void view_release(struct verdict_view *view);

// Whether a verdict of that reason is of a candidate that was built and loaded, and whose plan was valid.
bool view_is_loadable(enum assay_reason reason);

// A pass that holds for the judged shape alone.
bool view_is_narrow(const struct verdict_view *view);

// A pass that holds wherever it was asked, and whose time is not suspicious: what takes less than the work can take has
// not done it, whatever its outputs were.
bool view_is_right(const struct verdict_view *view);

// The task, as tables of several verdicts tell it apart from the same one under another contract: "kernelbench/1/1",
// "kernelbench/1/1 (tf32)".
enum { VIEW_LABEL = 128 };
const char *view_task_label(const struct verdict_view *view, char *text, size_t size);

// The time that ranks: of a right candidate, not suspicious, not of draws that could be known beforehand. NaN: none.
double view_ranked_ns(const struct verdict_view *view);

// The cold time; NaN where there is none, or none that can be compared: zero and less.
double view_time_ns(const struct verdict_view *view);

// Seconds that torch.compile took, by its own clock, as the worker prints them; 0 where it is not said.
double view_compile_seconds(const struct verdict_view *view);

// Seconds of processors that the first call took, in which Triton's, Inductor's and Helion's tuners search, with all
// processes that it started; 0 where it is not said.
double view_first_call_processor_seconds(const struct verdict_view *view);

// "no time: ...", of a candidate that passed and whose timing gave no result; NULL: it has a time, or was not timed.
const char *view_no_time(const struct verdict_view *view);

#endif
