// What judge and bench share: options, the floor's peaks, the store, the row of a verdict.
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parallel.h"
#include "cli/cli.h"
#include "judge/machine.h"
#include "sandbox/sandbox.h"

enum { SPEEDUPS = 7, CLI_VERDICT_COLUMNS = 9 };

enum {
  KEY_WORKLOAD = 1000,
  KEY_DEVICE,
  KEY_DEVICE_INDEX,
  KEY_TOOLCHAIN,
  KEY_MODE,
  KEY_PUBLISHED,
  KEY_DEFINE,
  KEY_COMPILER,
  KEY_THREADS,
  KEY_RULE,
  KEY_SEED,
  KEY_NO_TIMING,
  KEY_NO_PROBES,
  KEY_CHECKS,
  KEY_SAMPLES,
  KEY_VERIFIED,
  KEY_TIMEOUT,
  KEY_MEMORY,
  KEY_NO_STORE,
  KEY_BASELINE,
};

static const struct argp_option options[] = {
    {"workload", KEY_WORKLOAD, "NAME|DIMS", 0, "small (default), full, or sizes such as \"M=64, N=3\"", 0},
    {"device", KEY_DEVICE, "NAME", 0, "only candidates for: cpu (.c, .py), cuda (.cu, .py, .library) or opencl (.cl)",
     0},
    {"device-index", KEY_DEVICE_INDEX, "N", 0, "which GPU, or which OpenCL device (default 0)", 0},
    {"toolchain", KEY_TOOLCHAIN, "NAME", 0, "for .cu: nvrtc (launch lines) or nvcc (host code); default: by the file",
     0},
    {"mode", KEY_MODE, "NAME", 0,
     "for .py on cuda: plan (recorded, then replayed by trusted code) or process (runs as it is); default: a plan, or "
     "a process where there is none",
     0},
    {"as-published", KEY_PUBLISHED, 0, 0, "judge the task as the suite published it, not its repaired form", 0},
    {"define", KEY_DEFINE, "MACRO[=VALUE]", 0, "define a macro for the compiler; may be repeated", 0},
    {"compiler", KEY_COMPILER, "NAME", 0, "gcc (default), clang or a path; nvcc for CUDA with host code", 0},
    {"threads", KEY_THREADS, "N", 0, "processors for the kernel and the oracle (default: all)", 0},
    {"rule", KEY_RULE, "NAME", 0, "contract (default) or allclose; both are always computed", 0},
    {"seed", KEY_SEED, "N", 0, "repeat a judgement with its seed (default: fresh)", 0},
    {"checks", KEY_CHECKS, "N", 0, "checked draws of the task's own distribution (default 3)", 0},
    {"samples", KEY_SAMPLES, "N", 0,
     "at most this many timed calls (default 200); with warm caches half as many, at most 15", 0},
    {"verified", KEY_VERIFIED, "N", 0,
     "timed calls whose results are checked as well, chosen in secret (default 10, the least)", 0},
    {"baseline", KEY_BASELINE, "NAME|FILE", 0,
     "time this beside the candidate, call by call: torch.eager, torch.eager.benchmark, torch.compile, "
     "torch.compile.max-autotune, library, or another candidate's file; may be repeated",
     0},
    {"no-timing", KEY_NO_TIMING, 0, 0, "only check", 0},
    {"no-probes", KEY_NO_PROBES, 0, 0, "no ragged shapes and probes", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "for one call of the kernel (default 10)", 0},
    {"memory", KEY_MEMORY, "MIB", 0, "for the kernel beyond its buffers (default 1024)", 0},
    {"no-store", KEY_NO_STORE, 0, 0, "keep nothing", 0},
    {0},
};

static long long number_arg(struct argp_state *state, const char *what, const char *text, long long low,
                            long long high) {
  char *end;
  errno = 0;
  long long n = strtoll(text, &end, 10);
  if (errno || end == text || *end || n < low || n > high)
    argp_error(state, "--%s takes a whole number from %lld to %lld, not '%s'", what, low, high, text);
  return n;
}

static error_t parse_judging(int key, char *arg, struct argp_state *state) {
  struct cli_judging *j = state->input;
  struct assay_judge_options *o = &j->options;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = j;
    return 0;
  case KEY_WORKLOAD:
    o->workload = arg;
    return 0;
  case KEY_DEVICE:
    if (strcmp(arg, "cpu") != 0 && strcmp(arg, "cuda") != 0 && strcmp(arg, "opencl") != 0)
      argp_error(state, "there is no device %s; devices: cpu (for .c, .py), cuda (.cu, .py, .library), opencl (.cl)",
                 arg);
    j->device = arg;
    return 0;
  case KEY_DEVICE_INDEX:
    o->device_index = (int)number_arg(state, "device-index", arg, 0, 63);
    return 0;
  case KEY_TOOLCHAIN:
    if (strcmp(arg, "nvrtc") != 0 && strcmp(arg, "nvcc") != 0)
      argp_error(state, "--toolchain takes nvrtc or nvcc, not '%s'", arg);
    o->toolchain = arg;
    return 0;
  case KEY_MODE:
    if (strcmp(arg, "plan") != 0 && strcmp(arg, "process") != 0)
      argp_error(state, "--mode takes plan or process, not '%s'", arg);
    o->mode = arg;
    return 0;
  case KEY_PUBLISHED:
    o->as_published = true;
    return 0;
  case KEY_DEFINE:
    if (j->n_defines == 32)
      argp_error(state, "at most 32 --define");
    j->defines[j->n_defines++] = arg;
    return 0;
  case KEY_COMPILER:
    o->compiler = arg;
    return 0;
  case KEY_THREADS:
    o->threads = (int)number_arg(state, "threads", arg, 1, 256);
    return 0;
  case KEY_RULE:
    if (strcmp(arg, "allclose") != 0 && strcmp(arg, "contract") != 0)
      argp_error(state, "--rule takes contract or allclose, not '%s'", arg);
    o->rule = arg[0] == 'a' ? ASSAY_RULE_ALLCLOSE : ASSAY_RULE_CONTRACT;
    return 0;
  case KEY_SEED:
    o->seed = (uint64_t)number_arg(state, "seed", arg, 1, INT64_MAX);
    return 0;
  case KEY_CHECKS:
    o->declared_checks = (int)number_arg(state, "checks", arg, 1, 30);
    return 0;
  case KEY_SAMPLES:
    o->max_samples = (int)number_arg(state, "samples", arg, 10, 100000);
    o->min_samples = o->min_samples < o->max_samples ? o->min_samples : o->max_samples;
    o->hot_samples = o->hot_samples < o->max_samples / 2 ? o->hot_samples : o->max_samples / 2;
    return 0;
  case KEY_VERIFIED:
    o->verified_calls = (int)number_arg(state, "verified", arg, 10, 1000);
    return 0;
  case KEY_BASELINE:
    if (j->n_baselines == CLI_MOST_BASELINES)
      argp_error(state, "at most %d --baseline", CLI_MOST_BASELINES);
    cli_check_baseline(state, arg, true);
    j->baselines[j->n_baselines++] = arg;
    return 0;
  case KEY_NO_TIMING:
    o->timing = false;
    return 0;
  case KEY_NO_PROBES:
    o->probes = false;
    return 0;
  case KEY_TIMEOUT:
    o->call_timeout_ns = number_arg(state, "timeout", arg, 1, 86400) * 1000000000;
    return 0;
  case KEY_MEMORY:
    o->runner_memory_bytes = (size_t)number_arg(state, "memory", arg, 16, 1 << 24) << 20;
    return 0;
  case KEY_NO_STORE:
    j->no_store = true;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

const struct argp cli_judge_argp = {.options = options, .parser = parse_judging, .children = cli_common_child};

void cli_judging_init(struct cli_judging *j, const struct cli_paths *paths) {
  memset(j, 0, sizeof *j);
  assay_judge_defaults(&j->options);
  j->paths = *paths;
}

void cli_judging_finish(struct cli_judging *j, struct store *store) {
  struct assay_judge_options *o = &j->options;
  o->defines = j->defines;
  o->path_env = j->paths.path_env;
  o->include_dir = j->paths.include;
  o->runner_program = j->paths.runner;
  o->temporary_dir = j->paths.temporary;
  if (o->threads <= 0)
    o->threads = parallel_cpus();
  o->device_runner_program = j->paths.device_runner;
  o->builder_program = j->paths.builder;
  o->recorder_program = j->paths.recorder;
  o->nvrtc = j->paths.nvrtc;
  o->python = j->paths.python;
  o->worker_script = j->paths.worker_script;
  o->worker_library = j->paths.worker_library;
  o->library_program = j->paths.library;
  o->cublaslt = j->paths.cublaslt;
  o->cudnn = j->paths.cudnn;
  o->cupti = j->paths.cupti;
  o->cache_dir = j->paths.cache[0] ? j->paths.cache : NULL;
  cli_read_peaks(store, "peaks", &j->cpu_peaks);
  cli_read_peaks(store, "peaks.cuda", &j->cuda_peaks);
  o->peaks = j->device && strcmp(j->device, "cuda") == 0 ? j->cuda_peaks : j->cpu_peaks;
  if (j->device)
    o->device = j->device;
}

// A machine that was never measured has no floor, and the table says so.
void cli_read_peaks(struct store *store, const char *key, struct assay_peaks *out) {
  char *machine = machine_identity(), *value = NULL;
  struct assay_error ignored = {0};
  memset(out, 0, sizeof *out);
  if (store && machine && store_get_machine(store, machine, key, &value, &ignored) == ASSAY_OK) {
    json_t *p = json_loads(value, 0, NULL);
    const char *device = json_string_value(json_object_get(p, "device"));
    json_t *read = json_object_get(p, "read_bytes_per_s"); // of stores that knew only CPUs
    out->bytes_per_s = json_number_value(read ? read : json_object_get(p, "bytes_per_s"));
    out->read_bytes_per_s = json_number_value(json_object_get(p, "read_only_bytes_per_s"));
    out->write_bytes_per_s = json_number_value(json_object_get(p, "write_only_bytes_per_s"));
    out->flops_per_s = json_number_value(json_object_get(p, "flops_per_s"));
    out->contraction_flops_per_s = json_number_value(json_object_get(p, "contraction_flops_per_s"));
    out->tf32_flops_per_s = json_number_value(json_object_get(p, "tf32"));
    out->half_flops_per_s = json_number_value(json_object_get(p, "half_flops_per_s"));
    out->cache_bytes = json_number_value(json_object_get(p, "cache_bytes"));
    snprintf(out->device, sizeof out->device, "%s", device ? device : "");
    json_decref(p);
  }
  base_free(value);
  base_free(machine);
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), k = strlen(end);
  return n >= k && strcmp(text + n - k, end) == 0;
}

static const char *device_of_python(const char *wanted) {
  if (wanted && (strcmp(wanted, "cpu") == 0 || strcmp(wanted, "cuda") == 0))
    return wanted;
  return cli_has_nvidia() ? "cuda" : "cpu";
}

const char *cli_device_of(const char *path, const char *wanted) {
  if (ends_with(path, ".py"))
    return device_of_python(wanted);
  if (ends_with(path, ".library"))
    return "cuda";
  return ends_with(path, ".c") ? "cpu" : ends_with(path, ".cu") ? "cuda" : ends_with(path, ".cl") ? "opencl" : NULL;
}

// Where a baseline's file is (assay_baseline_file): one that goes by a name is written for the task and the workload.
static enum assay_status baseline_file(void *arg, const char *name, const struct assay_judge_options *o,
                                       const char **path, struct assay_error *err) {
  struct cli_judging *j = arg;
  bool named = cli_is_baseline(name);
  const char *file = named ? cli_baseline_ending(name) : name, *device = cli_device_of(file, o->device);
  *path = name;
  if (!device || strcmp(device, o->device) != 0)
    return error_set(err, ASSAY_ERR_USAGE, "the baseline %s does not run on device %s, where the candidate does", name,
                     o->device);
  if (!named)
    return ASSAY_OK;
  buf_clear(&j->baseline_path);
  enum assay_status status = cli_baseline_folder(j, err);
  if (!status) {
    buf_printf(&j->baseline_path, "%s/%s%s", j->baseline_folder, name, file);
    status = buf_status(&j->baseline_path, err);
  }
  if (!status)
    status = cli_baseline_write(name, o->task, o->as_published, o->workload, buf_str(&j->baseline_path), err);
  *path = buf_str(&j->baseline_path);
  return status;
}

static enum assay_status use_baselines(struct cli_judging *j, struct assay_error *err) {
  struct assay_judge_options *o = &j->options;
  if (j->n_baselines == 0 || o->baselines)
    return ASSAY_OK;
  return assay_baselines_open(j->baselines, baseline_file, j, &o->baselines, err);
}

enum assay_status cli_use_candidate(struct cli_judging *j, const char *path, bool several, struct assay_error *err) {
  struct assay_judge_options *o = &j->options;
  const char *device = cli_device_of(path, j->device);
  if (!device)
    return error_set(
        err, ASSAY_ERR_USAGE,
        "%s: candidates are .c (CPU), .cu (CUDA), .cl (OpenCL), .py (CPU or CUDA) or .library (CUDA) files", path);
  if (j->device && strcmp(j->device, device) != 0)
    return error_set(err, ASSAY_ERR_USAGE, "%s is for device %s, not for %s", path, device, j->device);
  o->candidate = path;
  o->device = device;
  o->peaks = strcmp(device, "cuda") == 0  ? j->cuda_peaks
             : strcmp(device, "cpu") == 0 ? j->cpu_peaks
                                          : (struct assay_peaks){0};
  o->workbench = NULL;
  enum assay_status status = use_baselines(j, err);
  if (status || strcmp(device, "cpu") == 0)
    return status;
  struct assay_workbench **bench = &j->workbenches[strcmp(device, "cuda") == 0];
  status = *bench ? ASSAY_OK : assay_workbench_open(o, several, bench, err);
  o->workbench = *bench;
  return status;
}

void cli_judging_close(struct cli_judging *j) {
  assay_baselines_close(j->options.baselines);
  j->options.baselines = NULL;
  buf_release(&j->baseline_path);
  if (j->baseline_folder)
    sandbox_folder_remove(j->baseline_folder);
  base_free(j->baseline_folder);
  for (int i = 0; i < 2; i++)
#if defined(__SANITIZE_ADDRESS__)
    assay_workbench_close(j->workbenches[i]); // whose books must balance
#else
    assay_workbench_leave(j->workbenches[i]); // main ends the process next
#endif
}

struct store *cli_store_open(const struct cli_judging *j) {
  struct store *s = NULL;
  struct assay_error err = {0};
  if (j->no_store || store_open(j->paths.store, &s, &err) == ASSAY_OK)
    return s;
  fprintf(stderr, "assay: %s\nassay: verdicts will not be kept (--no-store says that this is meant)\n", err.message);
  return NULL;
}

char *cli_repeat_command(const struct cli_judging *j, const char *task, const char *candidate, uint64_t seed) {
  const struct assay_judge_options *o = &j->options;
  struct assay_judge_options usual;
  struct buf b = {0};
  assay_judge_defaults(&usual);
  buf_printf(&b, "assay judge '%s' '%s' --workload '%s' --seed %llu --threads %d", task, candidate, o->workload,
             (unsigned long long)seed, o->threads);
  if (j->device)
    buf_printf(&b, " --device %s", j->device);
  if (o->toolchain)
    buf_printf(&b, " --toolchain %s", o->toolchain);
  if (o->device_index)
    buf_printf(&b, " --device-index %d", o->device_index);
  if (o->mode)
    buf_printf(&b, " --mode %s", o->mode);
  if (o->compiler)
    buf_printf(&b, " --compiler '%s'", o->compiler);
  if (o->as_published)
    buf_puts(&b, " --as-published");
  if (o->rule == ASSAY_RULE_ALLCLOSE)
    buf_puts(&b, " --rule allclose");
  if (!o->probes)
    buf_puts(&b, " --no-probes");
  if (!o->timing)
    buf_puts(&b, " --no-timing");
  if (o->declared_checks != usual.declared_checks)
    buf_printf(&b, " --checks %d", o->declared_checks);
  if (o->max_samples != usual.max_samples)
    buf_printf(&b, " --samples %d", o->max_samples);
  if (o->verified_calls != usual.verified_calls)
    buf_printf(&b, " --verified %d", o->verified_calls);
  for (int i = 0; i < j->n_defines; i++)
    buf_printf(&b, " --define '%s'", j->defines[i]);
  for (int i = 0; i < j->n_baselines; i++)
    buf_printf(&b, " --baseline '%s'", j->baselines[i]);
  char *text = b.failed ? NULL : base_strndup(buf_str(&b), b.len);
  buf_release(&b);
  return text;
}

// What a suite's own rule would have said: every element of every draw of the task's own distribution at the judged
// sizes within the published tolerance, and within 1e-2. "-" when the kernel never got that far.
static void allclose_text(const struct store_verdict *v, char *text, size_t size) {
  json_t *evidence = v->evidence ? json_loads(v->evidence, 0, NULL) : NULL, *check;
  json_t *checks = json_object_get(evidence, "checks");
  size_t i;
  int n = 0, bad = 0, loose_bad = 0;
  json_array_foreach(checks, i, check) {
    const char *probe = json_string_value(json_object_get(check, "probe"));
    const char *workload = json_string_value(json_object_get(check, "workload"));
    if (!probe || !workload || strcmp(probe, "declared") != 0 || strncmp(workload, "ragged", 6) == 0 ||
        json_is_true(json_object_get(check, "timed")))
      continue;
    n++;
    bad += json_integer_value(json_object_get(check, "allclose_bad")) > 0;
    loose_bad += json_integer_value(json_object_get(check, "allclose_1e-2_bad")) > 0;
  }
  json_decref(evidence);
  snprintf(text, size, n ? "%s/%s" : "-", bad ? "wrong" : "pass", loose_bad ? "wrong" : "pass");
}

// Times of an OpenCL device that is a processor say nothing about a GPU.
static bool ranks_nothing(const struct store_verdict *v) {
  json_t *evidence = v->evidence ? json_loads(v->evidence, 0, NULL) : NULL;
  bool nothing = json_is_true(json_object_get(evidence, "times_rank_nothing"));
  json_decref(evidence);
  return nothing;
}

// "process: why there is no plan" where a candidate ran itself though the device is one of plans; "" otherwise.
static void mode_text(const struct store_verdict *v, char *text, size_t size) {
  json_t *evidence = v->evidence ? json_loads(v->evidence, 0, NULL) : NULL;
  const char *no_plan = json_string_value(json_object_get(evidence, "no_plan"));
  const char *mode = json_string_value(json_object_get(evidence, "mode"));
  const char *device = json_string_value(json_object_get(evidence, "device")); // "": the CPU
  bool process = mode && device && device[0] && strcmp(mode, "process") == 0;
  snprintf(text, size, "%s%s", process ? "process: " : "", !process ? "" : no_plan ? no_plan : "as asked for");
  json_decref(evidence);
}

// "none of its own kernels ran (library 90 %, PyTorch 10 %)" where that is known and so, and what two recordings
// disagreed about; "" otherwise.
static void kernels_text(const struct store_verdict *v, char *text, size_t size) {
  json_t *evidence = v->evidence ? json_loads(v->evidence, 0, NULL) : NULL;
  json_t *kernels = json_object_get(evidence, "kernels");
  double library = 100 * json_number_value(json_object_get(json_object_get(kernels, "library"), "part"));
  double pytorch = 100 * json_number_value(json_object_get(json_object_get(kernels, "pytorch"), "part"));
  json_int_t own = json_integer_value(json_object_get(json_object_get(kernels, "own"), "launches"));
  text[0] = '\0';
  if (json_is_object(kernels) && own == 0)
    snprintf(text, size, "none of its own kernels ran (libraries %.0f %%, PyTorch %.0f %%)", library, pytorch);
  json_int_t unsettled = json_integer_value(json_object_get(evidence, "unsettled_arguments"));
  size_t used = strlen(text);
  if (unsettled > 0 && used < size)
    snprintf(text + used, size - used,
             "%s%" JSON_INTEGER_FORMAT " argument%s differed between recordings: taken for gaps", used ? "; " : "",
             unsettled, unsettled == 1 ? "" : "s");
  json_decref(evidence);
}

// "1.52 torch.eager, 0.98 torch.compile": how much faster than its baselines; "-" without any.
static void speedups_text(const struct store_verdict *v, char *text, size_t size) {
  json_t *evidence = v->evidence ? json_loads(v->evidence, 0, NULL) : NULL, *c;
  size_t i, used = 0;
  snprintf(text, size, "-");
  json_array_foreach(json_object_get(evidence, "baselines"), i, c) {
    json_t *ratio = json_object_get(c, "speedup");
    const char *name = json_string_value(json_object_get(c, "name"));
    const char *verdict = json_string_value(json_object_get(c, "verdict"));
    if (!name || !verdict || used >= size)
      continue;
    const char *slash = strrchr(name, '/');
    if (json_is_real(ratio))
      used += (size_t)snprintf(text + used, size - used, "%s%.3g %s", i ? ", " : "", json_real_value(ratio),
                               slash ? slash + 1 : name);
    else
      used += (size_t)snprintf(text + used, size - used, "%s%s: %s", i ? ", " : "", slash ? slash + 1 : name, verdict);
  }
  json_decref(evidence);
}

static const char *const headers[] = {"task",        "candidate", "verdict",      "error/allowed", "allclose 1e-4/1e-2",
                                      "time (cold)", "x floor",   "speedup over", "what"};

struct table *cli_verdict_table(const struct cli_judging *j) {
  const char *used[CLI_VERDICT_COLUMNS];
  int n = 0;
  for (int i = 0; i < CLI_VERDICT_COLUMNS; i++)
    if (i != SPEEDUPS || j->n_baselines > 0)
      used[n++] = headers[i];
  return table_create(used, n, n == CLI_VERDICT_COLUMNS ? "lllrlrrll" : "lllrlrrl");
}

static const char *file_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

void cli_verdict_row(struct table *t, const struct cli_judging *j, const struct store_verdict *v) {
  char kernels[96], mode[300], speedups[256], error[64] = "-", time[96] = "-", floor_text[32] = "-", allclose[32],
                                              text[32];
  bool pass = v->reason == ASSAY_REASON_PASS;
  if (!isnan(v->error_limit))
    snprintf(error, sizeof error, "%.2g/%.3g", v->error_z, v->error_limit);
  if (!isnan(v->time_ns)) {
    snprintf(time, sizeof time, "%s +-%.1f%%%s", cli_time_text(v->time_ns, text),
             50 * (v->time_high_ns - v->time_low_ns) / v->time_ns, v->unstable ? " unstable" : "");
    if (!isnan(v->floor_ns))
      snprintf(floor_text, sizeof floor_text, "%.1f%s", v->time_ns / v->floor_ns, v->suspicious ? "!" : "");
  }
  allclose_text(v, allclose, sizeof allclose);
  kernels_text(v, kernels, sizeof kernels);
  mode_text(v, mode, sizeof mode);
  speedups_text(v, speedups, sizeof speedups);
  const char *what = !pass ? v->detail
                     : v->suspicious
                         ? "suspicious: faster than the hardware allows, or than clocks saw that no kernel can reach"
                     : !isnan(v->time_ns) && ranks_nothing(v) ? "not on a GPU: this time ranks nothing"
                     : mode[0]                                ? mode
                                                              : kernels;
  const char *cells[CLI_VERDICT_COLUMNS] = {
      v->task, file_part(v->candidate), assay_reason_code(v->reason), error, allclose, time, floor_text};
  int n = SPEEDUPS;
  if (j->n_baselines > 0)
    cells[n++] = speedups;
  cells[n] = what;
  table_row(t, cells);
}
