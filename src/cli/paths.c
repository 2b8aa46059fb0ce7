// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/printable.h"
#include "cli/cells.h"
#include "cli/cli.h"
#include "api/api.h"
#include "sandbox/gpu_visible.h"

// The environment counts more than what is configured.
static void take_path(const char *name, const char *configured, char *out, size_t size) {
  const char *value = getenv(name);
  if (value && value[0])
    snprintf(out, size, "%s", value);
  else if (configured[0])
    snprintf(out, size, "%s", configured);
}

// What children are told: they run in folders of their own. A path that leads nowhere stays, for the message.
static void make_absolute(char *path, size_t size) {
  char *real = path[0] && path[0] != '/' ? realpath(path, NULL) : NULL;
  if (real && strlen(real) < size)
    memcpy(path, real, strlen(real) + 1);
  free(real);
}

// NULL when it is neither set nor configured, or empty.
static const char *path_from(const char *name, const char *configured) {
  const char *value = getenv(name);
  return value && value[0] ? value : configured[0] ? configured : NULL;
}

// What a user tells PyTorch's extensions about compilers, always in one order.
static void find_compiler_settings(struct cli_paths *p) {
  static const char *const names[] = {"CC=", "CXX=", "CUDA_HOME=", "TORCH_CUDA_ARCH_LIST=", "MAX_JOBS="};
  _Static_assert(sizeof names / sizeof *names == CLI_COMPILER_SETTINGS, "each has a place in cli_paths");
  int n = 0;
  for (int i = 0; i < CLI_COMPILER_SETTINGS; i++)
    for (char **e = environ; *e; e++)
      if (!strncmp(*e, names[i], strlen(names[i])) && (*e)[strlen(names[i])] && n < CLI_COMPILER_SETTINGS)
        p->compiler_settings[n++] = *e;
  p->compiler_settings[n] = NULL;
  p->judge.compiler_settings = p->compiler_settings;
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
  static const char *const prompts[] = {"../prompts", "../share/assay/prompts", NULL};
  static const char *const prices[] = {"../prices.txt", "../share/assay/prices.txt", NULL};
  static const char *const png[] = {"assay-png", "../libexec/assay/assay-png", NULL};
  char folder[4096];
  const struct cli_config *c = &p->config;
  enum assay_status status = cli_config_read(&p->config, err);
  if (status)
    return status;
  ssize_t n = readlink("/proc/self/exe", p->program, sizeof p->program - 1);
  if (n <= 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot read /proc/self/exe (%s); mount /proc", strerror(errno));
  p->program[n] = '\0';
  snprintf(folder, sizeof folder, "%s", p->program);
  *strrchr(folder, '/') = '\0';
  api_find_files(folder, &p->files, &p->judge);
  api_find_near(folder, png, p->png, sizeof p->png);
  api_find_near(folder, api_task_places, p->tasks, sizeof p->tasks);
  api_find_near(folder, prices, p->prices, sizeof p->prices);
  api_find_near(folder, prompts, p->prompts, sizeof p->prompts);
  default_store(p->store, sizeof p->store);
  default_cache(p->cache, sizeof p->cache);
  snprintf(p->temporary, sizeof p->temporary, "/tmp");
  take_path("TMPDIR", "", p->temporary, sizeof p->temporary);
  make_absolute(p->temporary, sizeof p->temporary);
  take_path("ASSAY_TASKS", c->tasks, p->tasks, sizeof p->tasks);
  take_path("ASSAY_PRICES", c->prices, p->prices, sizeof p->prices);
  take_path("ASSAY_PROMPTS", c->prompts, p->prompts, sizeof p->prompts);
  take_path("ASSAY_STORE", c->store, p->store, sizeof p->store);
  const char *path = getenv("PATH");
  take_path("ASSAY_INCLUDE", "", p->include, sizeof p->include);
  make_absolute(p->include, sizeof p->include);
  if (p->include[0])
    p->judge.include = p->include;
  p->judge.temporary = p->temporary;
  p->judge.cache = p->cache[0] ? p->cache : NULL;
  p->judge.path_env = path ? path : "/usr/local/bin:/usr/bin:/bin";
  find_compiler_settings(p);
  p->judge.proc = path_from("ASSAY_PROC", "");
  p->judge.python = path_from("ASSAY_PYTHON", c->python);
  p->judge.nvrtc = path_from("ASSAY_NVRTC", c->nvrtc);
  p->judge.cublaslt = path_from("ASSAY_CUBLASLT", c->cublaslt);
  p->judge.cudnn = path_from("ASSAY_CUDNN", c->cudnn);
  p->judge.cupti = path_from("ASSAY_CUPTI", c->cupti);
  return ASSAY_OK;
}

int cli_code(enum assay_status status) {
  switch (status) {
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

int cli_fail(const struct assay_error *err) {
  cli_progress_clear();
  struct assay_error shown = *err; // messages quote names and texts of files
  printable(shown.message);
  bool color = cells_are_colored(CLI_COLOR_AUTO, stderr);
  fprintf(stderr, "%sassay:%s %s\n", color ? "\033[31m" : "", color ? "\033[0m" : "", shown.message);
  return cli_code(err->status);
}
