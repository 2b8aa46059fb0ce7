// assay doctor: what this machine can do, each line with what would mend it.
#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parallel.h"
#include "cli/cli.h"
#include "device/describe.h"
#include "device/monitor.h"
#include "device/nvrtc.h"
#include "judge/machine.h"
#include "runner/device_runner.h"
#include "sandbox/sandbox.h"
#include "task/task.h"
#include "toolchain/program.h"
#include "toolchain/python.h"

enum { KEY_CALIBRATE = 6000 };

struct arguments {
  struct cli_judging judging;
  bool calibrate;
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
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"calibrate", KEY_CALIBRATE, 0, 0, "measure this machine's peaks and keep them in the store, for the floor", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_common_child,
    .doc = "Says what Assay finds on this machine. Exit code 3 when something that judging needs is missing.",
};

// state: "ok", "limited" (works, but says less) or "missing" (judging will not work).
static void line(struct arguments *a, const char *what, const char *state, const char *found, const char *mend) {
  a->problems += strcmp(state, "missing") == 0;
  table_row(a->table, (const char *const[]){what, state, found, mend});
  json_array_append_new(a->array,
                        json_pack("{s:s, s:s, s:s, s:s}", "what", what, "state", state, "found", found, "mend", mend));
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
  bool has_gcc = find_program(a->judging.paths.path_env, "gcc", gcc, sizeof gcc);
  bool has_clang = find_program(a->judging.paths.path_env, "clang", clang, sizeof clang);
  line(a, "gcc",
       has_gcc     ? "ok"
       : has_clang ? "limited"
                   : "missing",
       has_gcc ? gcc : "not on PATH", has_gcc ? "" : "apt install gcc");
  line(a, "clang", has_clang ? "ok" : "limited", has_clang ? clang : "not on PATH",
       has_clang ? "" : "apt install clang (only for --compiler clang)");
}

static void check_sandbox(struct arguments *a) {
  struct sandbox_strength s;
  sandbox_measure(&s);
  bool strong = s.landlock_abi > 0 && s.seccomp && s.pid_namespace && s.network_namespace;
  line(a, "sandbox", s.seccomp ? strong ? "ok" : "limited" : "missing", s.text,
       strong ? "" : "a kernel with Landlock and seccomp, and user namespaces for this user");
}

static void check_files(struct arguments *a) {
  char text[64], **paths = NULL;
  int count = 0;
  struct assay_error err = {0};
  const struct cli_paths *p = &a->judging.paths;
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
    line(a, programs[i].name, there ? "ok" : "missing", programs[i].path, there ? "" : "build or install Assay whole");
  }
  bool tasks = task_list(p->tasks, NULL, &paths, &count, &err) == ASSAY_OK && count > 0;
  snprintf(text, sizeof text, "%d tasks", count);
  line(a, "tasks", tasks ? "ok" : "missing", tasks ? text : p->tasks, tasks ? "" : "give --tasks DIR");
  task_list_release(paths, count);
}

// What CUDA's candidates are built with; either suffices, and neither needs a GPU.
static void check_nvrtc(struct arguments *a) {
  struct nvrtc *n = NULL;
  struct assay_error err = {0};
  struct buf text = {0};
  int major, minor;
  if (nvrtc_open(a->judging.paths.nvrtc, &n, &err) != ASSAY_OK) {
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
  if (toolchain_ask_nvcc(a->judging.paths.path_env, folder, &path, &version, &err) == ASSAY_OK) {
    buf_printf(&text, "%s, %s", version, path);
    line(a, "nvcc", "ok", buf_str(&text), "");
  } else {
    line(a, "nvcc", "limited", "cannot be used (.cu with host code)", err.message);
  }
  buf_release(&text);
  base_free(path);
  base_free(version);
}

// For Python candidates. "no PyTorch" is found out by importing it, which takes seconds.
static void check_python(struct arguments *a, const char *folder) {
  static const char mend[] = "name a Python with PyTorch in ASSAY_PYTHON (only for .py)";
  struct arena arena = {0};
  struct python_place place;
  struct assay_error err = {0};
  struct buf text = {0};
  char *json = NULL;
  const struct cli_paths *p = &a->judging.paths;
  const struct python_options o = {
      .interpreter = p->python, .path_env = p->path_env, .script = p->worker_script, .worker = p->worker_library};
  enum assay_status status = python_find(&o, &arena, &place, &err);
  if (!status)
    status = python_ask(&place, folder, &json, &err);
  json_t *facts = status ? NULL : json_loads(json, JSON_DISABLE_EOF_CHECK, NULL);
  const char *torch = json_string_value(json_object_get(facts, "torch"));
  const char *cuda = json_string_value(json_object_get(facts, "cuda"));
  const char *why = json_string_value(json_object_get(facts, "error"));
  if (torch)
    buf_printf(&text, "PyTorch %s%s%s, %s", torch, cuda ? ", CUDA " : ", no CUDA", cuda ? cuda : "", place.interpreter);
  else
    buf_printf(&text, "cannot be used (.py): %s", status ? err.message : why ? why : "it says nothing of PyTorch");
  line(a, "python", torch ? "ok" : "limited", buf_str(&text), torch ? "" : mend);
  json_decref(facts);
  buf_release(&text);
  base_free(json);
  arena_release(&arena);
}

// For the libraries' baseline.
static void check_libraries(struct arguments *a, const char *folder) {
  static const char mend[] = "name them in ASSAY_CUBLASLT, ASSAY_CUDNN and ASSAY_CUPTI (only for .library)";
  struct arena arena = {0};
  struct library_place place;
  struct assay_error err = {0};
  struct buf text = {0};
  bool all = false;
  const struct cli_paths *p = &a->judging.paths;
  const struct library_options o = {.program = p->library,
                                    .worker = p->worker_library,
                                    .cublaslt = p->cublaslt,
                                    .cudnn = p->cudnn,
                                    .cupti = p->cupti};
  enum assay_status status = library_find(&o, &arena, &place, &err);
  if (!status)
    status = library_ask(&place, folder, &text, &all, &err);
  line(a, "libraries", all ? "ok" : "limited", status ? err.message : buf_str(&text), all ? "" : mend);
  buf_release(&text);
  arena_release(&arena);
}

// Opened as for a judgement, in a process of its own.
static void check_opencl(struct arguments *a, const char *folder) {
  enum { SECONDS = 60 };
  struct device_runner *r = NULL;
  struct assay_error err = {0};
  struct buf text = {0};
  const struct device_runner_options o = {.program = a->judging.paths.device_runner,
                                          .device = "opencl",
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

// The programs among them want a folder.
static void check_toolchains(struct arguments *a) {
  char *folder = NULL;
  struct assay_error err = {0};
  check_nvrtc(a);
  if (sandbox_folder_make(a->judging.paths.temporary, &folder, &err) != ASSAY_OK) {
    line(a, "temporary folder", "missing", err.message, "set TMPDIR to a folder that can be written");
    return;
  }
  check_nvcc(a, folder);
  check_python(a, folder);
  check_libraries(a, folder);
  check_opencl(a, folder);
  sandbox_folder_remove(folder);
  base_free(folder);
}

static enum assay_status calibrate(struct arguments *a, struct store *store, struct assay_error *err) {
  struct machine_peaks p;
  char *machine = machine_identity();
  enum assay_status status =
      machine ? machine_measure(a->judging.options.threads, &p, err) : error_nomem(err, "a name");
  if (!status) {
    json_t *j = json_pack("{s:f, s:f}", "read_bytes_per_s", p.read_bytes_per_s, "flops_per_s", p.flops_per_s);
    char *text = json_dumps(j, 0);
    status = store_set_machine(store, machine, "peaks", text, err);
    free(text);
    json_decref(j);
  }
  base_free(machine);
  return status;
}

// Contractions at the accuracy of fp32 may use the matrix units: three tf32 products make one of fp32.
static enum assay_status calibrate_cuda(struct compute *c, const struct compute_description *d, struct store *store,
                                        struct assay_error *err) {
  struct device_peaks p = {0};
  char *machine = machine_identity();
  enum assay_status status = machine ? peaks_measure(c, &p, err) : error_nomem(err, "a name");
  if (!status) {
    json_t *j = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "device", d->name,
                          "bytes_per_s", p.copy_bytes_per_s, "flops_per_s", p.fp32_flops, "contraction_flops_per_s",
                          fmax(p.fp32_flops, p.tf32_flops / 3), "half_flops_per_s", fmax(p.bf16_flops, p.fp16_flops),
                          "cache_bytes", (double)d->cache_bytes, "read_only_bytes_per_s", p.read_bytes_per_s,
                          "write_only_bytes_per_s", p.write_bytes_per_s, "fp32", p.fp32_flops, "tf32", p.tf32_flops,
                          "bf16", p.bf16_flops, "fp16", p.fp16_flops, "fp64", p.fp64_flops);
    char *text = j ? json_dumps(j, JSON_SORT_KEYS) : NULL;
    status = text ? store_set_machine(store, machine, "peaks.cuda", text, err) : error_nomem(err, "the peaks");
    free(text);
    json_decref(j);
  }
  base_free(machine);
  return status;
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

// The GPU: whether there is one, what it is, and its peaks.
static void check_cuda(struct arguments *a, struct store *store) {
  struct assay_error err = {0};
  struct compute *c = NULL;
  struct compute_options o = {.device = a->judging.options.device_index,
                              .cache_folder = a->judging.paths.cache[0] ? a->judging.paths.cache : NULL};
  if (compute_open_cuda(&o, &c, &err) != ASSAY_OK) {
    line(a, "device cuda", "limited", err.message,
         "only needed to run CUDA kernels; building their plans works without");
    return;
  }
  struct compute_description d;
  if (compute_describe(c, &d, &err) != ASSAY_OK) {
    line(a, "device cuda", "limited", err.message, "");
    compute_close(c);
    return;
  }
  line(a, "device cuda", "ok", d.name, "");
  if (store && a->calibrate && calibrate_cuda(c, &d, store, &err) != ASSAY_OK)
    line(a, "peaks cuda", "missing", err.message, "");
  compute_close(c);
  struct assay_peaks p;
  struct buf text = {0};
  char bytes[32], flops[32], contraction[32], low[32];
  cli_read_peaks(store, "peaks.cuda", &p);
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

static int diagnose(struct arguments *a) {
  struct assay_error err = {0};
  struct store *store = NULL;
  char text[64];
  char *machine = machine_json();
  line(a, "machine", "ok", machine ? machine : "?", "");
  base_free(machine);
  snprintf(text, sizeof text, "%d processors", parallel_cpus());
  line(a, "device cpu", "ok", text, "");
  check_compilers(a);
  check_sandbox(a);
  check_files(a);
  if (store_open(a->judging.paths.store, &store, &err) == ASSAY_OK)
    line(a, "store", "ok", a->judging.paths.store, "");
  else
    line(a, "store", "missing", err.message, "give --store FILE or set ASSAY_STORE");
  a->judging.options.threads = parallel_cpus();
  enum assay_status status = ASSAY_OK;
  if (store && a->calibrate)
    status = calibrate(a, store, &err);
  check_peaks(a, store);
  check_toolchains(a);
  check_cuda(a, store);
  store_close(store);
  return status ? cli_fail(&err) : a->problems ? CLI_ENVIRONMENT : CLI_PASS;
}

int cli_doctor(int argc, char **argv) {
  static const char *const headers[] = {"what", "state", "found", "what would mend it"};
  struct arguments a = {0};
  struct assay_error err = {0};
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  a.table = table_create(headers, 4, "llll");
  a.array = json_array();
  int code = a.table && a.array ? diagnose(&a) : CLI_ENVIRONMENT;
  if (a.judging.json) {
    json_dumpf(a.array, stdout, JSON_INDENT(2));
    printf("\n");
  } else if (a.table) {
    table_print(a.table, stdout);
  }
  table_destroy(a.table);
  json_decref(a.array);
  return code;
}
