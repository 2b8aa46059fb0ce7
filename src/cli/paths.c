#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/cli.h"
#include "sandbox/gpu_visible.h"

// The first of `patterns` (each with one %s for the program's folder) that exists; the first one when none does.
static void find_near(const char *folder, const char *const *patterns, char *out, size_t size) {
  for (int i = 0; patterns[i]; i++) {
    snprintf(out, size, "%s/%s", folder, patterns[i]);
    char *real = realpath(out, NULL);
    if (real) {
      snprintf(out, size, "%s", real);
      free(real);
      return;
    }
  }
  snprintf(out, size, "%s/%s", folder, patterns[0]);
}

static void from_environment(const char *name, char *out, size_t size) {
  const char *value = getenv(name);
  if (value && value[0])
    snprintf(out, size, "%s", value);
}

// NULL where it is not set, or empty.
static const char *path_from(const char *name) {
  const char *value = getenv(name);
  return value && value[0] ? value : NULL;
}

static void default_store(char *out, size_t size) {
  const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  if (data && data[0] == '/')
    snprintf(out, size, "%s/assay/assay.sqlite", data);
  else
    snprintf(out, size, "%s/.local/share/assay/assay.sqlite", home && home[0] ? home : "/tmp");
}

static void default_cache(char *out, size_t size) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  out[0] = '\0';
  if (cache && cache[0] == '/')
    snprintf(out, size, "%s/assay", cache);
  else if (home && home[0])
    snprintf(out, size, "%s/.cache/assay", home);
}

enum assay_status cli_paths_find(struct cli_paths *p, struct assay_error *err) {
  gpu_visible_from(getenv("CUDA_VISIBLE_DEVICES"), getenv("CUDA_DEVICE_ORDER"));
  static const char *const tasks[] = {"../tasks", "../share/assay/tasks", NULL};
  static const char *const include[] = {"../include", NULL};
  static const char *const runner[] = {"assay-runner", "../libexec/assay/assay-runner", NULL};
  static const char *const device_runner[] = {"assay-device-runner", "../libexec/assay/assay-device-runner", NULL};
  static const char *const builder[] = {"assay-builder", "../libexec/assay/assay-builder", NULL};
  static const char *const recorder[] = {"assay-recorder", "../libexec/assay/assay-recorder", NULL};
  static const char *const worker_script[] = {"worker.py", "../libexec/assay/worker.py", NULL};
  static const char *const worker_library[] = {"assay-worker.so", "../libexec/assay/assay-worker.so", NULL};
  static const char *const library[] = {"assay-library", "../libexec/assay/assay-library", NULL};
  char folder[4096];
  ssize_t n = readlink("/proc/self/exe", p->program, sizeof p->program - 1);
  if (n <= 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot read /proc/self/exe (%s); mount /proc", strerror(errno));
  p->program[n] = '\0';
  snprintf(folder, sizeof folder, "%s", p->program);
  *strrchr(folder, '/') = '\0';
  find_near(folder, tasks, p->tasks, sizeof p->tasks);
  find_near(folder, include, p->include, sizeof p->include);
  find_near(folder, runner, p->runner, sizeof p->runner);
  find_near(folder, device_runner, p->device_runner, sizeof p->device_runner);
  find_near(folder, builder, p->builder, sizeof p->builder);
  find_near(folder, recorder, p->recorder, sizeof p->recorder);
  find_near(folder, worker_script, p->worker_script, sizeof p->worker_script);
  find_near(folder, worker_library, p->worker_library, sizeof p->worker_library);
  find_near(folder, library, p->library, sizeof p->library);
  default_cache(p->cache, sizeof p->cache);
  p->nvrtc = getenv("ASSAY_NVRTC");
  p->python = getenv("ASSAY_PYTHON");
  p->cublaslt = path_from("ASSAY_CUBLASLT");
  p->cudnn = path_from("ASSAY_CUDNN");
  p->cupti = path_from("ASSAY_CUPTI");
  default_store(p->store, sizeof p->store);
  snprintf(p->temporary, sizeof p->temporary, "/tmp");
  from_environment("TMPDIR", p->temporary, sizeof p->temporary);
  from_environment("ASSAY_TASKS", p->tasks, sizeof p->tasks);
  from_environment("ASSAY_INCLUDE", p->include, sizeof p->include);
  from_environment("ASSAY_STORE", p->store, sizeof p->store);
  p->path_env = getenv("PATH");
  if (!p->path_env)
    p->path_env = "/usr/local/bin:/usr/bin:/bin";
  return ASSAY_OK;
}

int cli_fail(const struct assay_error *err) {
  cli_progress_clear();
  fprintf(stderr, "assay: %s\n", err->message);
  switch (err->status) {
  case ASSAY_ERR_USAGE:
  case ASSAY_ERR_SYNTAX:
  case ASSAY_ERR_INVALID:
  case ASSAY_ERR_NOT_FOUND:
  case ASSAY_ERR_UNSUPPORTED:
    return CLI_USAGE;
  default:
    return CLI_ENVIRONMENT;
  }
}
