// SPDX-License-Identifier: Apache-2.0
#include "sandbox/gpu_process.h"

#include <glob.h>

#include "base/arena.h"

enum { MAX_PROCESSES = 512 };

static const char *const *make_read_paths(const struct gpu_process *p, struct arena *a) {
  static const char *const driver[] = {"/proc", "/sys", "/opt", "/etc/nvidia"};
  enum { N_DRIVER = sizeof driver / sizeof *driver };
  size_t n = 0, n_paths = 0;
  while (p->read_paths[n_paths])
    n_paths++;
  const char **paths = arena_calloc(a, n_paths + N_DRIVER + 1, sizeof *paths);
  for (size_t i = 0; paths && i < n_paths; i++)
    paths[n++] = p->read_paths[i];
  for (size_t i = 0; paths && i < N_DRIVER; i++)
    paths[n++] = driver[i];
  return paths;
}

enum assay_status gpu_process_spawn(const struct gpu_process *p, int socket, struct sandbox_child *out,
                                    struct assay_error *err) {
  struct arena arena = {0};
  glob_t files = {0};
  const char *const *read_paths = make_read_paths(p, &arena);
  enum assay_status status = read_paths ? ASSAY_OK : error_nomem(err, "a worker's start");
  if (!status) {
    (void)glob("/dev/nvidia*", GLOB_NOSORT, NULL, &files);
    const struct sandbox_policy policy = {.role = SANDBOX_DEVICE,
                                          .folder = p->folder,
                                          .read_paths = read_paths,
                                          .device_paths = (const char *const *)files.gl_pathv,
                                          .without_landlock = p->without_landlock,
                                          .file_bytes = (size_t)1 << 32,
                                          .processes = MAX_PROCESSES};
    status = sandbox_spawn(&policy, p->argv, p->envp, &socket, 1, out, err);
    globfree(&files);
  }
  arena_release(&arena);
  return status;
}
