// SPDX-License-Identifier: Apache-2.0
#include "sandbox/gpu_python.h"

#include <string.h>

#include "sandbox/gpu_process.h"
#include "sandbox/gpu_visible.h"

static size_t count(const char *const *list) {
  size_t n = 0;
  while (list && list[n])
    n++;
  return n;
}

char *const *gpu_python_environment(const struct gpu_python *p, struct arena *a) {
  struct gpu_visible gpu;
  gpu_visible(p->device_index, &gpu);
  char *const own[] = {arena_strdup(a, "LC_ALL=C.UTF-8"), arena_printf(a, "PATH=%s", p->path_env),
                       arena_printf(a, "HOME=%s", p->folder), arena_printf(a, "TMPDIR=%s", p->folder),
                       arena_strdup(a, "USER=assay"), // PyTorch names a folder after it
                       arena_printf(a, "TORCH_EXTENSIONS_DIR=%s/extensions", p->folder),
                       arena_printf(a, "TRITON_CACHE_DIR=%s/triton", p->folder),
                       arena_printf(a, "TORCHINDUCTOR_CACHE_DIR=%s/inductor", p->folder),
                       arena_printf(a, "CUDA_CACHE_PATH=%s/cuda", p->folder),
                       // Helion's search would time its configurations in a process of its own, which has no GPU here
                       arena_strdup(a, "HELION_AUTOTUNE_BENCHMARK_SUBPROCESS=0"), arena_strdup(a, gpu.devices),
                       arena_strdup(a, gpu.order)};
  enum { N_OWN = sizeof own / sizeof *own };
  size_t n = 0, n_more = count(p->more_environment);
  char **envp = arena_calloc(a, N_OWN + n_more + 1, sizeof *envp);
  for (size_t i = 0; envp && i < N_OWN; i++)
    if (!(envp[n++] = own[i]))
      return NULL;
  for (size_t i = 0; envp && i < n_more; i++)
    if (!(envp[n++] = arena_strdup(a, p->more_environment[i])))
      return NULL;
  return envp;
}

const char *const *gpu_python_read_paths(const struct gpu_python *p, struct arena *a) {
  const char *const *const lists[] = {p->read_paths, p->more_paths};
  size_t n = 0, total = count(p->read_paths) + count(p->more_paths);
  const char **paths = arena_calloc(a, total + 1, sizeof *paths);
  for (size_t i = 0; paths && i < 2; i++)
    for (size_t k = 0; k < count(lists[i]); k++)
      paths[n++] = lists[i][k];
  return paths;
}

const char *python_other_part(const char *script, int i, struct arena *a) {
  static const char *const names[PYTHON_OTHER_PARTS] = {"worker_weights.py", "worker_call.py", "worker_error.py"};
  const char *slash = strrchr(script, '/');
  return arena_printf(a, "%.*s%s", slash ? (int)(slash + 1 - script) : 0, script, names[i]);
}

enum assay_status gpu_python_spawn(const struct gpu_python *p, char *const argv[], int socket,
                                   struct sandbox_child *out, struct assay_error *err) {
  struct arena arena = {0};
  const struct gpu_process process = {.argv = argv,
                                      .envp = gpu_python_environment(p, &arena),
                                      .folder = p->folder,
                                      .read_paths = gpu_python_read_paths(p, &arena),
                                      .without_landlock = p->without_landlock};
  enum assay_status status = process.envp && process.read_paths ? gpu_process_spawn(&process, socket, out, err)
                                                                : error_nomem(err, "a worker's start");
  arena_release(&arena);
  return status;
}
