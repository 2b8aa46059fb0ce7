// SPDX-License-Identifier: Apache-2.0
// Where Assay's own files are, built or installed.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

const char *const api_task_places[] = {"../tasks", "../share/assay/tasks", NULL};

void api_find_near(const char *folder, const char *const *places, char *out, size_t size) {
  for (int i = 0; places[i]; i++) {
    snprintf(out, size, "%s/%s", folder, places[i]);
    char *real = realpath(out, NULL);
    if (real) {
      snprintf(out, size, "%s", real);
      free(real);
      return;
    }
  }
  snprintf(out, size, "%s/%s", folder, places[0]);
}

// Assay's own files: the member of assay_paths, and places relative to the program's folder (built, installed).
#define OWN(member, ...)                                                                                               \
  {                                                                                                                    \
    offsetof(struct assay_paths, member), {                                                                            \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }
static const struct {
  size_t member;
  const char *places[3]; // NULL-terminated
} own_files[] = {
    OWN(runner, "assay-runner", "../libexec/assay/assay-runner"),
    OWN(device_runner, "assay-device-runner", "../libexec/assay/assay-device-runner"),
    OWN(builder, "assay-builder", "../libexec/assay/assay-builder"),
    OWN(recorder, "assay-recorder", "../libexec/assay/assay-recorder"),
    OWN(library, "assay-library", "../libexec/assay/assay-library"),
    OWN(worker_script, "worker.py", "../libexec/assay/worker.py"),
    OWN(worker, "assay-worker.so", "../libexec/assay/assay-worker.so"),
    OWN(include, "../include"),
};
_Static_assert(sizeof own_files / sizeof *own_files == API_OWN_FILES, "each has a place in api_files");

void api_find_files(const char *folder, struct api_files *files, struct assay_paths *paths) {
  for (int i = 0; i < API_OWN_FILES; i++) {
    api_find_near(folder, own_files[i].places, files->files[i], sizeof files->files[i]);
    const char *found = files->files[i];
    memcpy((char *)paths + own_files[i].member, &found, sizeof found);
  }
}
