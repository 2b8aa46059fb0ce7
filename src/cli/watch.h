// SPDX-License-Identifier: Apache-2.0
// Waiting until somebody saves a file: assay judge --watch.
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

struct cli_watch {
  char *const *files; // borrowed
  int n, fd;          // inotify's
  int *folders;       // a watch of each file's folder: editors write another file and rename it
};
// ASSAY_ERR_NOT_FOUND: a folder is not there. ASSAY_ERR_ENVIRONMENT.
enum assay_status cli_watch_open(char *const *files, int n, struct cli_watch *out, struct assay_error *err);
// Sets changed[i] of the files that were written since it was opened, or since the last call; waits until there is one,
// and a moment longer, for an editor to finish. False: *stop was set.
bool cli_watch_wait(struct cli_watch *w, bool *changed, const atomic_bool *stop);
void cli_watch_close(struct cli_watch *w); // {0} is fine

#endif
