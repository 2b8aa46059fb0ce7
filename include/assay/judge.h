// SPDX-License-Identifier: Apache-2.0
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

#include "assay/paths.h"
#include "assay/status.h"
#include "assay/verdict.h"

// What many judgements on one device share: the judge's own context, a warmed builder, the child that runs plans.
struct assay_workbench;
// What the oracle answered, for judgements that ask the same again; below.
struct assay_answers;
// Candidates with whose times others are compared, call by call; below.
struct assay_baselines;

// What a candidate must be right at: every shape that is asked, or the judged one alone, as KernelBench's own rules
// have it. Then the others are asked after the timing, and decide the scope.
enum assay_shapes { ASSAY_SHAPES_GENERAL, ASSAY_SHAPES_JUDGED };

enum assay_rule { ASSAY_RULE_CONTRACT, ASSAY_RULE_ALLCLOSE };
const char *assay_rule_name(enum assay_rule rule); // "contract", "allclose"

// The measured peak rates of a machine, by which the floor is computed. 0: unknown, and then there is no floor.
struct assay_peaks {
  double bytes_per_s;      // of memory: reading on a CPU; reading and writing as much on a GPU
  double read_bytes_per_s; // reading alone, and writing alone, where they differ; 0: bytes_per_s
  double write_bytes_per_s;
  double flops_per_s;             // fp32 outside contractions
  double contraction_flops_per_s; // in contractions, at the accuracy of fp32; 0: flops_per_s
  double tf32_flops_per_s;        // in contractions under the contract tf32; 0: contraction_flops_per_s
  double half_flops_per_s;        // under fp16 and bf16; 0: contraction_flops_per_s
  double cache_bytes;             // outputs up to this size need not reach memory before the call ends
  char device[128];               // the device's name, "" for the CPU
};

// The least time for work of this size: moving its bytes or doing its operations, whichever takes longer. NaN: unknown.
// `contract` is the task's, by name ("fp32").
double assay_floor_ns(const struct assay_peaks *p, const char *contract, double input_bytes, double output_bytes,
                      double flops, double contraction_flops);

// What happens at the moment, for a progress line; may be called often.
typedef void assay_judge_progress(void *arg, const char *stage, int done, int total);

enum { ASSAY_MOST_THREADS = 256 };

// Strings are borrowed for the call. Times in nanoseconds.
struct assay_judge_options {
  const char *task;      // path of the task file
  bool as_published;     // the published form instead of the repaired one
  const char *contract;  // judge under this one instead of the task's own: "tf32", for tasks of fp32; NULL: its own
  const char *workload;  // a name or "M=3, N=4"; what is timed
  const char *candidate; // path of the source: .c, .cu, .cl, .py or .library
  const char *device;    // "cpu" (.c, .py), "cuda" (.cu, .py, .library), "opencl" (.cl)
  int device_index;
  const char *toolchain;             // "nvrtc" or "nvcc" for a .cu; NULL: nvrtc when it has launch lines, else nvcc
  struct assay_workbench *workbench; // for other devices than cpu; NULL: one of its own, for this judgement
  struct assay_answers *answers;     // used where seed and secret are given; NULL: none are kept
  struct assay_baselines *baselines; // timed in turn with the candidate; NULL: none
  const char *const *defines;        // NULL-terminated macros for the compiler; may be NULL
  const char *compiler;              // a name or a path; NULL: gcc, or nvcc for CUDA with host code
  const struct assay_paths *paths;   // borrowed, for as long as the judgement or its workbench lasts
  // Of Python candidates on cuda: "plan" (the verdict of those that have none is `unrecordable`), "process", or NULL: a
  // plan where there is one for the timed workload, else a process.
  const char *mode;
  enum assay_rule rule;     // which rule decides (both are computed)
  enum assay_shapes shapes; // where it must be right
  int threads;              // for the kernel and for the oracle, at most ASSAY_MOST_THREADS; 0: all processors
  int declared_checks;      // draws of the declared distribution at the timed workload
  bool probes;              // also judge at the task's ragged shapes under every probe that applies
  uint64_t hold_out; // leaves one probe and one kind of drawn shape to a later judgement, by this number; 0: none
  int replicas;      // contract passes for the error scale of a check
  bool timing;
  int min_samples, max_samples; // timed calls, cold
  int hot_samples;
  double relative_width; // stop when the median's interval is this narrow, relative to the median
  int64_t timing_ns;     // or when this much time was spent on timing; 0: as the device has it (docs/timing.md)
  double give_up_ns;     // stop as well once every one of a few samples took longer; 0: never
  int verified_calls;    // timed calls whose outputs are checked too, chosen in secret
  int64_t build_timeout_ns, load_timeout_ns, call_timeout_ns;
  // For all the time that the judge waits for the candidate: building, recording, loading and calling it. One that
  // takes longer gets the verdict `timeout`. 0: no limit.
  int64_t budget_ns;
  size_t build_memory_bytes, runner_memory_bytes;
  uint64_t seed; // of the inputs of checked calls; 0: from the system's entropy
  // Of all that a candidate must not foresee: the shapes that are drawn, where which probe is asked, the inputs of
  // timed calls, which of them are verified. 0: from the system's entropy, always fresh. Given only to repeat a
  // judgement.
  uint64_t secret;
  struct assay_peaks peaks;       // of the device
  assay_judge_progress *progress; // may be NULL
  void *progress_arg;
  const char *weights; // path of a safetensors file with the task's static inputs; NULL: they are drawn
};

// Sensible values for everything; of the paths, only a usual PATH and /tmp.
void assay_judge_defaults(struct assay_judge_options *o);

// One comparison of one output with the oracle.
struct assay_check {
  char workload[32], probe[16];
  int output;                   // index of the output
  bool timed;                   // the check of a timed call
  enum assay_reason reason;     // PASS or what is wrong with this one
  bool skipped;                 // a probe that no straightforward implementation survives: left out of the verdict
  int64_t n;                    // elements
  int64_t wrong;                // of which this many are too far off, of another class, or unwritten
  bool looked_again;            // few were, and the error scale was asked for with more passes
  bool borrowed_scale;          // a timed call, right by a few times the error scale of the checks before
  double z_max, z_limit, z_rms; // worst error in units of the scale, what was allowed, root mean square
  char gate[8];                 // what decided: "" an element's error; "rms", "shared", "row", "column", "tile"
  double gate_z, gate_limit;    // what it saw, and what it allows; of an element: z_max and z_limit
  bool doubtful;                // it fails, and the estimate of the error scale may be to blame
  double max_abs, max_rel;
  int64_t allclose_bad, allclose_loose_bad; // elements outside the published tolerance, and outside 1e-2
  char hint[160];
  char *description; // the worst elements, several lines; NULL when the check passed
};

// A shape that was drawn for this judgement.
struct assay_shape {
  char name[16];     // which kind: "neighbour", "multiples", "mixed", "reduced"; the checks' workload
  char extents[512]; // "M=3, N=4": --workload takes it
};
enum { ASSAY_MOST_SHAPES = 4 };

// What the machine did besides, from before the candidate was loaded to the last timed call. Processors of those that
// this process may use.
struct assay_load {
  bool known;
  int cpus;
  double average;        // the load average of the last minute, which counts everything; NaN: unknown
  double others, stolen; // how many were kept busy by others, and by other guests of the same host; NaN: unknown
};

// A first series of cold calls, in which the judge's clock and the device's disagreed: it was taken again, and does not
// count.
struct assay_left_out {
  int n_samples;             // 0: there is none
  double median_ns, wall_ns; // of its calls, as those of assay_timing
};

struct assay_timing {
  bool measured, unstable, suspicious; // suspicious: docs/timing.md says when
  double median_ns, low_ns, high_ns;   // cold, the protocol's own cost taken off, with a 95 % interval
  double hot_ns;                       // median with inputs in the cache; NaN where it is no more than nothing
  double called_ns;                    // cold, with the host's part of launching; NaN where there is none
  // Where a device's own clock times the calls: the least that the judge's clock saw of a cold call, beyond its least
  // for a call without a kernel. What is much more than the median was not all between the device's events. NaN: none.
  double wall_ns;
  struct assay_left_out left_out;
  // Calls whose events reported a shorter time than stamps that no kernel can reach. Their time is that of these
  // stamps.
  int stamps_apart, stamps_compared; // and of how many calls both are known
  double stamps_excess_ns; // by how much the median call is too short, where it does not show in one call; added to all
  double prepare_ns;       // of what a plan does once with its weights; NaN: nothing
  int clock_mhz, temperature_c, power_w; // of the device in the middle of the timing; 0: unknown
  char throttle[64];                     // what held the clock down while timing, "" when nothing did
  struct assay_load load;                // of the host
  double overhead_ns;                    // the protocol's cost, measured before the candidate was loaded and after it
  double floor_ns;                       // NaN when the machine's peaks are unknown
  const char *stop;                      // why sampling ended; why there is no time, where !measured
  int n_samples, n_hot, n_dropped;       // dropped: taken while the clock was throttled or stolen
  double *samples_ns;                    // the cold samples as measured, protocol included
  double *hot_samples_ns;
};

// Where the time went, wall clock.
struct assay_durations {
  int64_t total_ns, build_ns, oracle_ns, load_ns, checks_ns, timing_ns, verify_ns, kernel_ns;
  // Plans on a device; parts of load, checks and timing: waiting for the device (but a wait for other
  // judges is in this alone, and in total), making plans, buffers and loading,
  // drawing and poisoning, calls as the judge sees them, bands and reading outputs; and putting things away.
  int64_t open_ns, plan_ns, bind_ns, fill_ns, call_ns, inspect_ns, close_ns;
};

// What a kernel of a plan needs of an SM, as its cubin says it, and how it is launched at the judged workload.
struct assay_need {
  char name[64];
  int64_t launches;
  uint32_t registers, local_bytes; // of a thread; local: registers that did not fit, and arrays that are indexed
  uint64_t shared_bytes;           // of a block, static and dynamic
  uint32_t threads, blocks;        // of a block; blocks on an SM at once, 0: not known
  double occupancy;                // the part of an SM's threads that can be there at once; NaN: not known
};
enum { ASSAY_MOST_NEEDS = 8 };

// Whose kernels a lifted plan launches, and their parts of the device's time. A worker saw it, in whose process the
// candidate runs: a hint, unlike everything else here.
enum assay_origin { ASSAY_OWN_KERNELS, ASSAY_LIBRARY_KERNELS, ASSAY_PYTORCH_KERNELS, ASSAY_ORIGINS };
struct assay_kernels {
  bool known;
  int64_t launches[ASSAY_ORIGINS];
  double part[ASSAY_ORIGINS]; // of the time; NaN when nothing took any
  // Arguments of the plan's launches with bytes that were others when it was recorded again. They are taken for gaps of
  // structs and are zero in the plan; were they more than that, its outputs would be wrong.
  int unsettled_arguments;
  char tf32[128]; // the first of them that multiplies in TF32, by its name; "": none
  int n_needs;    // of the first different kernels that are cubins
  struct assay_need needs[ASSAY_MOST_NEEDS];
};

// A candidate's time compared with a baseline's: calls of both took turns.
struct assay_comparison {
  char name[128];
  enum assay_reason reason;                   // of the baseline itself; one that is not right has no time
  char detail[256], mode[16], made_with[200]; // why; how it ran ("plan", "process"); versions of compiler or PyTorch
  int n_pairs;                                // calls of both, one after the other, that count
  double median_ns, low_ns, high_ns;          // the baseline's, as in assay_timing
  // Median of the pairs' ratios, the baseline's time over the candidate's: above 1 the candidate is faster. With a 95 %
  // interval; NaN without pairs.
  double ratio, ratio_low, ratio_high;
  double *samples_ns, *candidate_ns; // of the pairs, as measured, protocol included
};

// How far a verdict holds. GENERAL: right wherever it was asked. JUDGED: right in all questions about the judged shape
// that were asked, and not elsewhere; its reason is PASS only where the options ask for no more. NONE: wrong at the
// judged shape, or asked nowhere else.
enum assay_scope { ASSAY_SCOPE_NONE, ASSAY_SCOPE_GENERAL, ASSAY_SCOPE_JUDGED };
const char *assay_scope_name(enum assay_scope scope); // "", "general", "judged"

struct assay_verdict {
  enum assay_reason reason;
  enum assay_scope scope;
  char elsewhere[300]; // with ASSAY_SCOPE_JUDGED: what happened elsewhere, the reason's code first
  bool foreknown;      // the options gave seed or secret, so a candidate may have known them: its time is not ranked
  char detail[512];    // one line: what exactly; of a pass that was timed in vain "no time: ..."
  char task_name[64], workload[128], candidate_hash[65], task_hash[65], settings_hash[65];
  // SHA-256 of all that runs of the candidate, whatever its source looks like. "": not built, or two builds of this
  // kind cannot be compared (host code, Python).
  char built_hash[65];
  const char *form;          // "default" or "published"
  enum assay_rule rule;      // that decided
  char category[64];         // the suite's own word for tasks like this one (task/kind.h); "": it has none
  const char *operator_kind; // of the greatest operator of the task's graph: "matmul"; NULL: the task was not read
  char contract[8], task_contract[8];               // judged under this one; the task's own, mostly the same
  char *diagnostics;                                // what the compiler and the kernel printed; never NULL
  char *build_command, *compiler_version, *sandbox; // never NULL
  int n_checks;
  struct assay_check *checks;
  int n_skipped_probes; // draws that no straightforward implementation survives
  int worst_check;      // index of the check that decided, or of the closest call; -1: none
  struct assay_timing timing;
  struct assay_durations durations;
  bool reaches_host; // kernels could address the memory of the process that runs them (heterogeneous memory management)
  bool times_rank_nothing;         // the device is not a GPU (PoCL): its times are not ranked
  double flops, bytes;             // of the workload: least work
  char toolchain[16], device[160]; // "cc"; what it ran on: name, driver
  // How the candidate was put to the test: "plan", replayed by trusted code, or "process", its own host code ran.
  char mode[16];
  char no_plan[256]; // why there is no plan, where one was looked for; ""
  // Which parameters of a Python candidate are which weights, where their names do not say it: "w = conv_weight (by
  // shape), ..."; "". The worker says so, in whose process the candidate runs: a hint.
  char weights[256];
  struct assay_kernels kernels;
  int n_comparisons;
  struct assay_comparison *comparisons; // one of each of the options' baselines, once the candidate was timed
  int n_shapes;
  struct assay_shape shapes[ASSAY_MOST_SHAPES];
  uint64_t seed, secret;
};

// Begins to open what judging on o->device needs. o->paths is borrowed until it is closed. Returns at once, and judging
// waits for it: a GPU takes some hundred milliseconds to come up, longer the first time on a machine, when the oracle's
// device code is compiled. `several` candidates are worth a compiler that is warmed up. ASSAY_ERR_ENVIRONMENT, here or
// from the first judgement, says what the machine lacks. All calls come from one thread, with which the children die.
enum assay_status assay_workbench_open(const struct assay_judge_options *o, bool several, struct assay_workbench **out,
                                       struct assay_error *err);
void assay_workbench_close(struct assay_workbench *w); // NULL is fine
// Instead of closing, when the process is about to end: leaves to the system what it does sooner than we could.
void assay_workbench_leave(struct assay_workbench *w); // NULL is fine

// Judgements of one task with one seed and secret ask the same questions (a test corpus; the same kernel again): up to
// `most_bytes` of the oracle's answers are kept for the next. Fresh entropy never asks twice. Any thread; answers on a
// device are not kept.
enum assay_status assay_answers_open(size_t most_bytes, struct assay_answers **out, struct assay_error *err);
void assay_answers_close(struct assay_answers *a); // NULL is fine; after the judgements that use it

// Baselines are candidates, too: judged at the workload that is timed, then kept on the device, in a process of their
// own, for as long as judgements ask for the same task, form, workload and device. `file` says where the candidate is
// that a name means there (the path is borrowed until the next call); `names` ends with NULL, and is borrowed.
// Judgements that share them come from one thread.
typedef enum assay_status assay_baseline_file(void *arg, const char *name, const struct assay_judge_options *o,
                                              const char **path, struct assay_error *err);
enum assay_status assay_baselines_open(const char *const *names, assay_baseline_file *file, void *arg,
                                       struct assay_baselines **out, struct assay_error *err);
void assay_baselines_close(struct assay_baselines *b); // NULL is fine; before the workbench they were judged on

// Judges. ASSAY_OK whenever there is a verdict, also for the worst candidate; a status means that the task cannot be
// read, an option is wrong or the machine failed. *v is to be released in the first case only.
enum assay_status assay_judge(const struct assay_judge_options *o, struct assay_verdict *v, struct assay_error *err);
void assay_verdict_release(struct assay_verdict *v);

// The same in three steps. The first reads, builds and asks the oracle; the last verifies the timed calls that were
// chosen: both need CPUs but no device, and may run in another thread (whose children die with it) while
// other candidates are judged. The second puts the candidate to the test on its device. *o is copied, its strings are
// borrowed until the end. A job ends with _conclude or _drop, also when a step fails.
//
// Where a candidate may run without a system call filter (a Python candidate on a GPU, unless o->mode is "plan"),
// _begin first makes the calling process undumpable (prctl PR_SET_DUMPABLE): the candidate must not read answers in its
// memory. That lasts for the rest of the process, which then leaves no core dump and takes no debugger.
struct assay_job;
enum assay_status assay_judge_begin(const struct assay_judge_options *o, struct assay_job **out,
                                    struct assay_error *err);
// What it was built to: assay_verdict.built_hash. Candidates of one task and the same settings that are built to the
// same have the same verdict. Borrowed from the job.
const char *assay_job_built(const struct assay_job *job);
enum assay_status assay_judge_test(struct assay_job *job, struct assay_error *err);
enum assay_status assay_judge_conclude(struct assay_job *job, struct assay_verdict *v, struct assay_error *err);
void assay_judge_drop(struct assay_job *job); // NULL is fine

// The verdict's evidence as JSON text (heap, free()); NULL when memory fails.
char *assay_verdict_json(const struct assay_verdict *v);

// The hash of everything but the candidate that decides what a verdict means: task, form, workload, options, and for
// Python candidates the compilers that the paths name. Baselines count by their names: a changed file of one needs a
// new run.
enum assay_status assay_settings_hash(const struct assay_judge_options *o, char hex[65], struct assay_error *err);

#endif
