// SPDX-License-Identifier: Apache-2.0
#include "serve/site.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MOST_PATH = 4096 };
static const int64_t LOOK_NS = 1000000000;

struct names {
  char **items; // below the folder, sorted
  size_t n, capacity;
};

struct site {
  char *folder;
  pthread_mutex_t lock; // of what follows; never held while the disk is read
  struct names names;
  int64_t looked_ns;
};

static const struct {
  const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".csv", "text/csv; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".txt", "text/plain; charset=utf-8"},
};

static const char *type_of(const char *name) {
  const char *ending = strrchr(name, '.');
  for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
    if (strcmp(ending, types[i].ending) == 0)
      return types[i].type;
  return NULL;
}

static bool is_plain(const char *name) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  return name[0] != '.' && name[strspn(name, plain)] == '\0';
}

static void forget(struct names *names) {
  for (size_t i = 0; i < names->n; i++)
    base_free(names->items[i]);
  base_free(names->items);
  *names = (struct names){0};
}

static enum assay_status add(struct names *out, const char *folder, const char *name, struct assay_error *err) {
  if (out->n == SITE_MOST_FILES)
    return error_set(err, ASSAY_ERR_LIMIT, "%s has more than %d files", folder, SITE_MOST_FILES);
  if (out->n == out->capacity) {
    size_t more = out->capacity ? 2 * out->capacity : 64;
    char **items = base_realloc(out->items, more * sizeof *items);
    if (!items)
      return error_nomem(err, "a list of pages");
    out->items = items;
    out->capacity = more;
  }
  out->items[out->n] = base_strndup(name, strlen(name));
  if (!out->items[out->n])
    return error_nomem(err, "a list of pages");
  out->n++;
  return ASSAY_OK;
}

// Adds the files of a folder of the site, "" or "t/".
static enum assay_status walk(const char *folder, const char *below, int depth, struct names *out,
                              struct assay_error *err) {
  char path[MOST_PATH], name[MOST_PATH];
  struct stat st;
  snprintf(path, sizeof path, "%s/%s", folder, below);
  DIR *dir = depth > SITE_MOST_DEPTH ? NULL : opendir(path);
  if (!dir)
    return depth > 0 ? ASSAY_OK
                     : error_set(err, ASSAY_ERR_NOT_FOUND, "%s: %s; `assay report --html` makes such a folder", folder,
                                 strerror(errno));
  enum assay_status status = ASSAY_OK;
  for (struct dirent *e; !status && (e = readdir(dir));) {
    bool fits = snprintf(name, sizeof name, "%s%s", below, e->d_name) < (int)sizeof name - 1;
    if (!fits || !is_plain(e->d_name) || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
        lstat(path, &st) != 0)
      continue;
    if (S_ISREG(st.st_mode) && type_of(name)) {
      status = add(out, folder, name, err);
    } else if (S_ISDIR(st.st_mode)) {
      strcat(name, "/"); // there is room: fits
      status = walk(folder, name, depth + 1, out, err);
    }
  }
  closedir(dir);
  return status;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum assay_status list(const char *folder, struct names *out, struct assay_error *err) {
  enum assay_status status = walk(folder, "", 0, out, err);
  if (out->n > 0)
    qsort(out->items, out->n, sizeof *out->items, by_name);
  return status;
}

void site_look(struct site *s) {
  struct names now = {0}, before;
  struct assay_error ignored = {0};
  list(s->folder, &now, &ignored); // what could not be listed is not there
  pthread_mutex_lock(&s->lock);
  before = s->names;
  s->names = now;
  pthread_mutex_unlock(&s->lock);
  forget(&before);
}

enum assay_status site_open(const char *folder, struct site **out, struct assay_error *err) {
  struct site *s = base_calloc(1, sizeof *s);
  if (!s)
    return error_nomem(err, "a site");
  pthread_mutex_init(&s->lock, NULL);
  s->folder = base_strndup(folder, strlen(folder));
  enum assay_status status = s->folder ? list(s->folder, &s->names, err) : error_nomem(err, "a site");
  if (status)
    site_close(s);
  else
    *out = s;
  return status;
}

void site_close(struct site *s) {
  if (!s)
    return;
  forget(&s->names);
  base_free(s->folder);
  pthread_mutex_destroy(&s->lock);
  base_free(s);
}

// The table's name for a target, in `name`; NULL: it is not there. With the lock held.
static const char *find(const struct site *s, const char *target, char name[MOST_PATH]) {
  size_t n = strcspn(target, "?");
  if (n == 0 || target[0] != '/' || n + sizeof "index.html" >= MOST_PATH)
    return NULL;
  snprintf(name, MOST_PATH, "%.*s%s", (int)n - 1, target + 1, target[n - 1] == '/' ? "index.html" : "");
  const char *key = name;
  const struct names *all = &s->names;
  char *const *found = all->n ? bsearch(&key, all->items, all->n, sizeof *all->items, by_name) : NULL;
  return found ? *found : NULL;
}

static const char *type_there(struct site *s, const char *target) {
  char name[MOST_PATH];
  pthread_mutex_lock(&s->lock);
  const char *found = find(s, target, name), *type = found ? type_of(found) : NULL;
  pthread_mutex_unlock(&s->lock);
  return type;
}

const char *site_type(struct site *s, const char *target, int64_t now_ns) {
  const char *type = type_there(s, target);
  if (type)
    return type;
  pthread_mutex_lock(&s->lock);
  const bool look = now_ns - s->looked_ns > LOOK_NS;
  s->looked_ns = look ? now_ns : s->looked_ns;
  pthread_mutex_unlock(&s->lock);
  if (!look)
    return NULL;
  site_look(s);
  return type_there(s, target);
}

enum assay_status site_read(struct site *s, const char *target, char **data, size_t *len, struct assay_error *err) {
  char name[MOST_PATH], path[2 * MOST_PATH];
  pthread_mutex_lock(&s->lock);
  const char *found = find(s, target, name);
  if (found)
    snprintf(path, sizeof path, "%s/%s", s->folder, found);
  pthread_mutex_unlock(&s->lock);
  if (!found)
    return error_set(err, ASSAY_ERR_NOT_FOUND, "there is no such page");
  if (file_read(path, SITE_MOST_BYTES, data, len, err) == ASSAY_OK)
    return ASSAY_OK;
  return err->status == ASSAY_ERR_NOT_FOUND ? error_set(err, ASSAY_ERR_NOT_FOUND, "that page is gone") : err->status;
}
