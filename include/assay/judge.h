// Judging one candidate: build it, run it on secret inputs, compare with the oracle, time it, say what was found.
//
//   struct assay_judge_options o;
//   assay_judge_defaults(&o);
//   o.task = "tasks/kernelbench/level1/019_relu.onnxtxt"; o.candidate = "relu.c"; ...
//   struct assay_verdict v;
//   if (assay_judge(&o, &v, &err) == ASSAY_OK) { printf("%s\n", assay_reason_code(v.reason)); }
//   assay_verdict_release(&v);
#ifndef ASSAY_JUDGE_H
#define ASSAY_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay/status.h"
#include "assay/verdict.h"

enum assay_rule { ASSAY_RULE_CONTRACT, ASSAY_RULE_ALLCLOSE };

// What happens at the moment, for a progress line; may be called often.
typedef void assay_judge_progress(void *arg, const char *stage, int done, int total);

// Strings are borrowed for the call. Times in nanoseconds.
struct assay_judge_options {
  const char *task; // path of the task file
  bool as_published; // the published form instead of the repaired one
  const char *workload; // a name or "M=3, N=4"; what is timed
  const char *candidate; // path of the C source
  const char *const *defines; // NULL-terminated macros for the compiler; may be NULL
  const char *compiler, *path_env; // "gcc" and the PATH to find it on
  const char *include_dir; // where assay/candidate.h is
  const char *runner_program; // path of assay-runner
  const char *temporary_dir; // parent of the build's and the runner's folders
  enum assay_rule rule; // which rule decides (both are computed)
  int threads; // for the kernel and for the oracle; 0: all processors
  int declared_checks; // draws of the declared distribution at the timed workload
  bool probes; // also judge at the task's ragged shapes under every probe that applies
  int replicas; // contract passes for the error scale of a check
  bool timing;
  int min_samples, max_samples; // timed calls, cold
  int hot_samples;
  double relative_width; // stop when the median's interval is this narrow, relative to the median
  int64_t timing_ns; // or when this much time was spent on timing
  int verified_calls; // timed calls whose outputs are checked too, chosen in secret
  int64_t build_timeout_ns, load_timeout_ns, call_timeout_ns;
  size_t build_memory_bytes, runner_memory_bytes;
  uint64_t seed; // 0: from the system's entropy
  double read_bytes_per_s, flops_per_s; // the machine's measured peaks, for the floor; 0: unknown
  assay_judge_progress *progress; // may be NULL
  void *progress_arg;
};

// Sensible values for everything but the paths.
void assay_judge_defaults(struct assay_judge_options *o);

// One comparison of one output with the oracle.
struct assay_check {
  char workload[32], probe[16];
  int output; // index of the output
  bool timed; // the check of a timed call
  enum assay_reason reason; // PASS or what is wrong with this one
  int64_t n; // elements
  double z_max, z_limit, z_rms; // worst error in units of the scale, what was allowed, root mean square
  double max_abs, max_rel;
  int64_t allclose_bad, allclose_loose_bad; // elements outside the published tolerance, and outside 1e-2
  char hint[160];
  char *description; // the worst elements, several lines; NULL when the check passed
};

struct assay_timing {
  bool measured, unstable, suspicious; // suspicious: below half of the floor
  double median_ns, low_ns, high_ns; // cold, the protocol's own cost taken off, with a 95 % interval
  double hot_ns; // median with inputs in the cache
  double overhead_ns; // the protocol's cost, measured before the candidate was loaded
  double floor_ns; // NaN when the machine's peaks are unknown
  const char *stop; // why sampling ended
  int n_samples, n_hot, n_dropped; // dropped: taken while the clock was throttled or stolen
  double *samples_ns; // the cold samples as measured, protocol included
  double *hot_samples_ns;
};

// Where the time went, wall clock.
struct assay_durations {
  int64_t total_ns, build_ns, oracle_ns, load_ns, checks_ns, timing_ns, verify_ns, kernel_ns;
};

struct assay_verdict {
  enum assay_reason reason;
  char detail[512]; // one line: what exactly
  char task_name[64], workload[128], candidate_hash[65], task_hash[65], settings_hash[65];
  const char *form; // "default" or "published"
  char *diagnostics; // what the compiler and the kernel printed; never NULL
  char *build_command, *compiler_version, *sandbox; // never NULL
  int n_checks;
  struct assay_check *checks;
  int n_skipped_probes; // draws that no straightforward implementation survives
  int worst_check; // index of the check that decided, or of the closest call; -1: none
  struct assay_timing timing;
  struct assay_durations durations;
  double flops, bytes; // of the workload: least work
  uint64_t seed;
};

// Judges. ASSAY_OK whenever there is a verdict, also for the worst candidate; a status means that the task cannot be
// read, an option is wrong or the machine failed. *v is to be released in the first case only.
enum assay_status assay_judge(const struct assay_judge_options *o, struct assay_verdict *v, struct assay_error *err);
void assay_verdict_release(struct assay_verdict *v);

// The verdict's evidence as JSON text (heap, free()); NULL when memory fails.
char *assay_verdict_json(const struct assay_verdict *v);

// The hash of everything but the candidate that decides what a verdict means: task, form, workload, options.
enum assay_status assay_settings_hash(const struct assay_judge_options *o, char hex[65], struct assay_error *err);

#endif
