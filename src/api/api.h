// SPDX-License-Identifier: Apache-2.0
// Private to src/api, and what the command line shares with it: what a judgement needs around it.
#ifndef API_API_H
#define API_API_H

#include "assay/judge.h"
#include "base/error.h"
#include "store/store.h"

// What `assay doctor --calibrate` measured on this machine and stored under `key`; all 0 where it was never measured.
void api_peaks(struct store *store, const char *key, struct assay_peaks *out);
// Those of every device that the store knows, each once and named: of this machine's as it measured them, of others' as
// they came with their runs.
enum { API_MOST_PEAKS = 8 };
enum assay_status api_peaks_known(struct store *store, struct assay_peaks out[API_MOST_PEAKS], int *n,
                                  struct assay_error *err);

// Assay's own programs and folders, near a folder of programs (PREFIX/bin, or a build folder).
enum { API_OWN_FILES = 8 };
struct api_files {
  char files[API_OWN_FILES][4096];
};
// Writes the paths of what is there, or would have to be, and points `paths` at them: *files is not copied afterwards.
void api_find_files(const char *folder, struct api_files *files, struct assay_paths *paths);
// The first of `places`, paths relative to the folder, that exists; the first one when none does. NULL ends the list.
void api_find_near(const char *folder, const char *const *places, char *out, size_t size);
extern const char *const api_task_places[]; // of the suites

#endif
