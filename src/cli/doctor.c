// SPDX-License-Identifier: Apache-2.0
// assay doctor: what this machine can do, and for each line how to fix it.
#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "cli/calibrate.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "device/describe.h"
#include "compute/nvrtc.h"
#include "judge/machine.h"
#include "runner/device_runner.h"
#include "sandbox/sandbox.h"
#include "task/task.h"
#include "toolchain/program.h"
#include "toolchain/python.h"

enum { KEY_CALIBRATE = 6000, KEY_YES };

struct arguments {
  struct cli_judging judging;
  bool calibrate, yes;
  int problems;
  struct table *table;
  json_t *array;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  (void)arg;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case KEY_CALIBRATE:
    a->calibrate = true;
    return 0;
  case KEY_YES:
    a->yes = true;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"calibrate", KEY_CALIBRATE, 0, 0, "measure this machine's peaks and store them, for the floor", 0},
    {"yes", KEY_YES, 0, 0, "store them without asking, also where they are far from those before", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_both_child,
    .doc = "Reports what Assay finds on this machine. Exit code 3 when something that judging needs is missing.",
};

// state: "ok", "limited" (judging works without it) or "missing" (judging will not work). `fix`: how to; "": nothing to
// fix.
static void line(struct arguments *a, const char *what, const char *state, const char *found, const char *fix) {
  a->problems += strcmp(state, "missing") == 0;
  table_row(a->table, (const char *const[]){what, state, found, fix});
  table_style(a->table, 1, *state == 'o' ? TABLE_GOOD : *state == 'l' ? TABLE_DOUBTFUL : TABLE_BAD);
  json_array_append_new(a->array, cli_json_of("doctor", json_pack("{s:s, s:s, s:s, s:o}", "what", what, "state", state,
                                                                  "found", found, "fix", cli_json_text(fix))));
}

// Looks for a program on PATH.
static bool find_program(const char *path_env, const char *name, char *out, size_t size) {
  while (*path_env) {
    size_t n = strcspn(path_env, ":");
    snprintf(out, size, "%.*s/%s", (int)n, path_env, name);
    if (access(out, X_OK) == 0)
      return true;
    path_env += n + (path_env[n] == ':');
  }
  return false;
}

static void check_compilers(struct arguments *a) {
  char gcc[4096], clang[4096];
  bool has_gcc = find_program(a->judging.paths.judge.path_env, "gcc", gcc, sizeof gcc);
  bool has_clang = find_program(a->judging.paths.judge.path_env, "clang", clang, sizeof clang);
  line(a, "gcc",
       has_gcc     ? "ok"
       : has_clang ? "limited"
                   : "missing",
       has_gcc ? gcc : "not on PATH", has_gcc ? "" : "apt install gcc");
  line(a, "clang", has_clang ? "ok" : "limited", has_clang ? clang : "not on PATH",
       has_clang ? "" : "apt install clang (only for --compiler clang)");
}

static void check_memory(struct arguments *a) {
  char text[80];
  int64_t total, available = memory_available("", &total);
  if (total == INT64_MAX)
    snprintf(text, sizeof text, "the system does not say how much");
  else
    snprintf(text, sizeof text, "%.1f GB of %.1f GB available", (double)available / 1e9, (double)total / 1e9);
  line(a, "memory", total == INT64_MAX ? "limited" : "ok", text,
       total == INT64_MAX ? "mount /proc; what a task takes: assay tasks" : "");
}

static void check_sandbox(struct arguments *a) {
  struct sandbox_strength s;
  sandbox_measure(&s);
  bool strong = s.landlock_abi > 0 && s.seccomp && s.pid_namespace && s.network_namespace;
  line(a, "sandbox", s.seccomp ? strong ? "ok" : "limited" : "missing", s.text,
       strong ? "" : "use a Linux kernel with Landlock and seccomp, and allow user namespaces for this user");
  struct assay_error err = {0};
  if (sandbox_gives_stack(&err) != ASSAY_OK)
    line(a, "stack limit", "missing", "too low: nothing can be built or judged", err.message);
}

static void check_files(struct arguments *a) {
  char text[64], **paths = NULL;
  int count = 0;
  struct assay_error err = {0};
  const struct assay_paths *p = &a->judging.paths.judge;
  const struct {
    const char *name, *path;
  } programs[] = {
      {"runner", p->runner},
      {"device runner", p->device_runner},
      {"builder", p->builder},
      {"recorder", p->recorder},
  };
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    bool there = access(programs[i].path, X_OK) == 0;
    line(a, programs[i].name, there ? "ok" : "missing", programs[i].path, there ? "" : "build or install all of Assay");
  }
  bool tasks = task_list(a->judging.paths.tasks, NULL, &paths, &count, &err) == ASSAY_OK && count > 0;
  snprintf(text, sizeof text, "%d tasks", count);
  line(a, "tasks", tasks ? "ok" : "missing", tasks ? text : a->judging.paths.tasks, tasks ? "" : "give --tasks DIR");
  task_list_release(paths, count);
}

// NVRTC and nvcc build CUDA candidates, each its own form of them. Neither needs a GPU.
static void check_nvrtc(struct arguments *a) {
  struct nvrtc *n = NULL;
  struct assay_error err = {0};
  struct buf text = {0};
  int major, minor;
  if (nvrtc_open(a->judging.paths.judge.nvrtc, &n, &err) != ASSAY_OK) {
    line(a, "nvrtc", "limited", "cannot be used (.cu with launch lines)", err.message);
    return;
  }
  nvrtc_version(n, &major, &minor);
  buf_printf(&text, "%d.%d, %s", major, minor, nvrtc_path(n));
  line(a, "nvrtc", "ok", buf_str(&text), "");
  buf_release(&text);
  nvrtc_close(n);
}

static void check_nvcc(struct arguments *a, const char *folder) {
  char *path = NULL, *version = NULL;
  struct assay_error err = {0};
  struct buf text = {0};
  if (toolchain_ask_nvcc(a->judging.paths.judge.path_env, folder, &path, &version, &err) == ASSAY_OK) {
    buf_printf(&text, "%s, %s", version, path);
    line(a, "nvcc", "ok", buf_str(&text), "");
  } else {
    line(a, "nvcc", "limited", "cannot be used (.cu with host code)", err.message);
  }
  buf_release(&text);
  base_free(path);
  base_free(version);
}

// For Python candidates. Whether there is PyTorch shows only when it is imported, which takes seconds.
static void check_python(struct arguments *a, const char *folder) {
  static const char fix[] = "set ASSAY_PYTHON to a Python with PyTorch (only for .py)";
  struct arena arena = {0};
  struct python_place place;
  struct assay_error err = {0};
  struct buf text = {0};
  char *json = NULL;
  enum assay_status status = python_find(&a->judging.paths.judge, &arena, &place, &err);
  if (!status)
    status = python_ask(&place, folder, &json, &err);
  json_t *facts = status ? NULL : json_loads(json, JSON_DISABLE_EOF_CHECK, NULL);
  const char *torch = json_string_value(json_object_get(facts, "torch"));
  const char *cuda = json_string_value(json_object_get(facts, "cuda"));
  const char *why = json_string_value(json_object_get(facts, "error"));
  if (torch)
    buf_printf(&text, "PyTorch %s%s%s, %s", torch, cuda ? ", CUDA " : ", no CUDA", cuda ? cuda : "", place.interpreter);
  else
    buf_printf(&text, "cannot be used (.py): %s",
               status ? err.message
               : why  ? why
                      : "it does not report a version of PyTorch");
  line(a, "python", torch ? "ok" : "limited", buf_str(&text), torch ? "" : fix);
  json_decref(facts);
  buf_release(&text);
  base_free(json);
  arena_release(&arena);
}

// For the baseline `library`.
static void check_libraries(struct arguments *a, const char *folder) {
  static const char fix[] = "set ASSAY_CUBLASLT, ASSAY_CUDNN and ASSAY_CUPTI to their paths (only for .library)";
  struct arena arena = {0};
  struct library_place place;
  struct assay_error err = {0};
  struct buf text = {0};
  bool all = false;
  enum assay_status status = library_find(&a->judging.paths.judge, &arena, &place, &err);
  if (!status)
    status = library_ask(&place, folder, &text, &all, &err);
  line(a, "libraries", all ? "ok" : "limited", status ? err.message : buf_str(&text), all ? "" : fix);
  buf_release(&text);
  arena_release(&arena);
}

// Opens the device as a judgement does, in a process of its own.
static void check_opencl(struct arguments *a, const char *folder) {
  enum { SECONDS = 60 };
  struct device_runner *r = NULL;
  struct assay_error err = {0};
  struct buf text = {0};
  const struct device_runner_options o = {.program = a->judging.paths.judge.device_runner,
                                          .device = &plan_device_opencl,
                                          .folder = folder,
                                          .open_timeout_ns = (int64_t)SECONDS * 1000000000};
  enum assay_status status = device_runner_begin(&o, &r, &err);
  if (!status)
    status = device_runner_wait(r, NULL, 0, &err);
  if (!status) {
    const struct device_facts *f = device_runner_facts(r);
    buf_printf(&text, "%s (%s)", f->name, f->driver);
    line(a, "device opencl", "ok", buf_str(&text), "");
  } else {
    line(a, "device opencl", "limited", "cannot be used (.cl)", err.message);
  }
  buf_release(&text);
  device_runner_close(r);
}

// Those that are programs need a folder to run in.
static void check_toolchains(struct arguments *a) {
  char *folder = NULL;
  struct assay_error err = {0};
  check_nvrtc(a);
  if (sandbox_folder_make(a->judging.paths.temporary, &folder, &err) != ASSAY_OK) {
    line(a, "temporary folder", "missing", err.message, "set TMPDIR to a writable folder");
    return;
  }
  if (!sandbox_folder_runs(folder))
    line(a, "temporary folder", "missing", "mounted noexec: nothing that is built there can be loaded",
         "set TMPDIR to a folder of another file system");
  check_nvcc(a, folder);
  check_python(a, folder);
  check_libraries(a, folder);
  check_opencl(a, folder);
  sandbox_folder_remove(folder);
  base_free(folder);
}

static struct cli_calibration calibration(const struct arguments *a, struct store *store) {
  return (struct cli_calibration){
      .store = store, .proc = a->judging.paths.judge.proc, .threads = a->judging.options.threads, .yes = a->yes};
}

static void check_peaks(struct arguments *a, struct store *store) {
  struct buf text = {0};
  char bytes[32], flops[32];
  cli_judging_finish(&a->judging, store);
  const struct assay_judge_options *o = &a->judging.options;
  bool known = o->peaks.bytes_per_s > 0;
  if (known)
    buf_printf(&text, "reads %s/s, computes %s/s in fp32", cli_count_text(o->peaks.bytes_per_s, "B", bytes),
               cli_count_text(o->peaks.flops_per_s, "FLOP", flops));
  line(a, "peaks", known ? "ok" : "limited", known ? buf_str(&text) : "not measured, so there is no floor",
       known ? "" : "assay doctor --calibrate");
  buf_release(&text);
}

// Whether there is a GPU, which one, and its peaks.
static void check_cuda(struct arguments *a, struct store *store) {
  struct assay_error err = {0};
  struct compute *c = NULL;
  const struct assay_paths *paths = &a->judging.paths.judge;
  struct compute_options o = {
      .device = a->judging.options.device_index, .cache_folder = paths->cache, .nvrtc = paths->nvrtc};
  if (compute_open_cuda(&o, &c, &err) != ASSAY_OK) {
    line(a, "device cuda", "limited", err.message,
         "only needed to run CUDA kernels; their plans can be built without it");
    return;
  }
  struct compute_description d;
  if (compute_describe(c, &d, &err) != ASSAY_OK) {
    line(a, "device cuda", "limited", err.message, "");
    compute_close(c);
    return;
  }
  line(a, "device cuda", "ok", d.name, "");
  const struct cli_calibration how = calibration(a, store);
  if (store && a->calibrate && cli_calibrate_cuda(&how, c, &d, &err) != ASSAY_OK)
    line(a, "peaks cuda", "missing", err.message, "");
  compute_close(c);
  struct assay_peaks p;
  struct buf text = {0};
  char bytes[32], flops[32], contraction[32], low[32];
  api_peaks(store, plan_device_cuda.peaks, &p);
  bool known = p.bytes_per_s > 0 && strcmp(p.device, d.name) == 0;
  if (known)
    buf_printf(&text, "moves %s/s, computes %s/s in fp32, contracts %s/s in fp32 and %s/s in bf16",
               cli_count_text(p.bytes_per_s, "B", bytes), cli_count_text(p.flops_per_s, "FLOP", flops),
               cli_count_text(p.contraction_flops_per_s, "FLOP", contraction),
               cli_count_text(p.half_flops_per_s, "FLOP", low));
  line(a, "peaks cuda", known ? "ok" : "limited", known ? buf_str(&text) : "not measured, so there is no floor",
       known ? "" : "assay doctor --calibrate");
  buf_release(&text);
}

static void check_machine(struct arguments *a) {
  char *known = machine_json(), text[256] = "?";
  json_t *m = known ? json_loads(known, 0, NULL) : NULL;
  const char *processor, *system, *kernel, *architecture;
  if (json_unpack(m, "{s:s, s:s, s:s, s:s}", "processor", &processor, "system", &system, "kernel", &kernel,
                  "architecture", &architecture) == 0)
    snprintf(text, sizeof text, "%s; %s %s, %s", processor, system, kernel, architecture);
  line(a, "machine", "ok", text, "");
  json_decref(m);
  base_free(known);
}

// Whether the nearest folder above a path that is there takes what is missing.
static bool can_be_made(const char *path) {
  struct buf above = {0};
  buf_printf(&above, "%s%s", path[0] == '/' ? "" : "./", path);
  char *slash = above.failed ? NULL : strrchr(above.data, '/');
  while (slash && slash != above.data && (*slash = '\0', access(above.data, F_OK) != 0))
    slash = strrchr(above.data, '/');
  bool can = slash && access(slash == above.data ? "/" : above.data, W_OK | X_OK) == 0;
  buf_release(&above);
  return can;
}

// Only a calibration has something to put into a store that is not there yet.
static void check_store(struct arguments *a, struct store **store) {
  struct assay_error err = {0};
  const char *path = a->judging.paths.store;
  enum assay_status status = (a->calibrate ? store_open : store_open_existing)(path, store, &err);
  if (status == ASSAY_ERR_NOT_FOUND && can_be_made(path)) {
    struct buf text = {0};
    buf_printf(&text, "%s, which the first verdict makes", path);
    line(a, "store", "ok", buf_str(&text), "");
    buf_release(&text);
  } else {
    line(a, "store", status ? "missing" : "ok", status ? err.message : path,
         status ? "give --store FILE or set ASSAY_STORE" : "");
  }
}

static int diagnose(struct arguments *a) {
  struct assay_error err = {0};
  struct store *store = NULL;
  char text[64];
  check_machine(a);
  snprintf(text, sizeof text, "%d CPUs", parallel_cpus());
  line(a, "device cpu", "ok", text, "");
  check_memory(a);
  check_compilers(a);
  check_sandbox(a);
  check_files(a);
  check_store(a, &store);
  a->judging.options.threads = parallel_cpus();
  enum assay_status status = ASSAY_OK;
  const struct cli_calibration how = calibration(a, store);
  if (store && a->calibrate)
    status = cli_calibrate_cpu(&how, &err);
  check_peaks(a, store);
  check_toolchains(a);
  check_cuda(a, store);
  store_close(store);
  return status ? cli_fail(&err) : a->problems ? CLI_ENVIRONMENT : CLI_PASS;
}

int cli_doctor(int argc, char **argv) {
  static const char *const headers[] = {"what", "state", "found", "how to fix it"};
  struct arguments a = {0};
  struct assay_error err = {0};
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  a.table = table_create(headers, 4, "llll");
  a.array = json_array();
  int code = a.table && a.array ? diagnose(&a) : CLI_ENVIRONMENT;
  if (a.judging.json)
    cli_json_print(json_incref(a.array));
  else if (a.table)
    table_print(a.table, stdout);
  table_destroy(a.table);
  json_decref(a.array);
  return code;
}
