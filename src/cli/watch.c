// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/alloc.h"

enum { SETTLE_MS = 50, LOOK_MS = 200 }; // look: whether to stop

static const char *name_of(const char *file) {
  const char *slash = strrchr(file, '/');
  return slash ? slash + 1 : file;
}

static enum assay_status add(struct cli_watch *w, int i, struct assay_error *err) {
  const char *file = w->files[i], *name = name_of(file);
  char folder[4096];
  snprintf(folder, sizeof folder, "%.*s", (int)(name - file), file);
  w->folders[i] = inotify_add_watch(w->fd, folder[0] ? folder : ".", IN_CLOSE_WRITE | IN_MOVED_TO);
  if (w->folders[i] >= 0)
    return ASSAY_OK;
  return error_set(err, errno == ENOENT ? ASSAY_ERR_NOT_FOUND : ASSAY_ERR_ENVIRONMENT,
                   "cannot watch the folder of %s: %s", file, strerror(errno));
}

enum assay_status cli_watch_open(char *const *files, int n, struct cli_watch *out, struct assay_error *err) {
  struct cli_watch w = {.files = files, .n = n, .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
  enum assay_status status = ASSAY_OK;
  if (w.fd < 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot watch files (inotify): %s", strerror(errno));
  w.folders = base_calloc((size_t)n + 1, sizeof *w.folders);
  if (!w.folders)
    status = error_nomem(err, "a list of files");
  for (int i = 0; i < n && !status; i++)
    status = add(&w, i, err);
  if (status)
    cli_watch_close(&w);
  else
    *out = w;
  return status;
}

void cli_watch_close(struct cli_watch *w) {
  if (w->folders) // otherwise it was never opened, or that failed
    close(w->fd);
  base_free(w->folders);
  *w = (struct cli_watch){0};
}

// What inotify has to say at the moment. Whether a file of the list is in it.
static bool take(struct cli_watch *w, bool *changed) {
  _Alignas(struct inotify_event) char events[4096];
  bool any = false;
  for (ssize_t n; (n = read(w->fd, events, sizeof events)) > 0;)
    for (char *at = events; at < events + n;) {
      const struct inotify_event *e = (const void *)at;
      for (int i = 0; i < w->n && e->len > 0; i++)
        if (w->folders[i] == e->wd && strcmp(e->name, name_of(w->files[i])) == 0)
          any = changed[i] = true;
      at += sizeof *e + e->len;
    }
  return any;
}

bool cli_watch_wait(struct cli_watch *w, bool *changed, const atomic_bool *stop) {
  struct pollfd polled = {.fd = w->fd, .events = POLLIN};
  bool any = false;
  memset(changed, 0, (size_t)w->n * sizeof *changed);
  while (!*stop) {
    int n = poll(&polled, 1, any ? SETTLE_MS : LOOK_MS);
    if (n == 0 && any)
      return true;
    any = take(w, changed) || any;
  }
  return false;
}
