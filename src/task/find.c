// SPDX-License-Identifier: Apache-2.0
// Names of tasks and the files they stand for: "kernelbench/1/19" is kernelbench/level1/019_*.onnxtxt under the root,
// "kernelbenchx/Reduce/sum" is kernelbenchx/Reduce/sum.onnxtxt. Letters' case makes no difference.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/nearest.h"
#include "task/task.h"

enum { MAX_DEPTH = 8, MAX_TASKS = 1 << 16 };

struct listing {
  char **paths;
  int count, capacity;
};

void task_list_release(char **paths, int count) {
  for (int i = 0; i < count; i++)
    base_free(paths[i]);
  base_free(paths);
}

static enum assay_status add(struct listing *l, char *path, struct assay_error *err) {
  if (l->count == MAX_TASKS)
    return error_set(err, ASSAY_ERR_LIMIT, "more than %d tasks below one folder", MAX_TASKS);
  if (l->count == l->capacity) {
    int capacity = l->capacity ? 2 * l->capacity : 64;
    char **grown = base_realloc(l->paths, (size_t)capacity * sizeof *grown);
    if (!grown)
      return error_nomem(err, "a list of tasks");
    l->paths = grown;
    l->capacity = capacity;
  }
  l->paths[l->count++] = path;
  return ASSAY_OK;
}

static char *join(const char *folder, const char *name) {
  size_t n = strlen(folder), m = strlen(name);
  char *path = base_alloc(n + m + 2);
  if (path)
    snprintf(path, n + m + 2, "%s/%s", folder, name);
  return path;
}

static bool is_task_file(const char *name) {
  size_t n = strlen(name);
  return (n > 8 && strcmp(name + n - 8, ".onnxtxt") == 0) || (n > 5 && strcmp(name + n - 5, ".onnx") == 0);
}

static bool is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static enum assay_status walk(const char *folder, int depth, struct listing *l, struct assay_error *err);

static enum assay_status walk_entry(const char *folder, const char *name, int depth, struct listing *l,
                                    struct assay_error *err) {
  char *path = join(folder, name);
  if (!path)
    return error_nomem(err, "a list of tasks");
  enum assay_status status = ASSAY_OK;
  if (is_folder(path)) {
    status = walk(path, depth + 1, l, err);
  } else if (is_task_file(name)) {
    status = add(l, path, err);
    if (!status)
      path = NULL; // owned by the list from here on
  }
  base_free(path);
  return status;
}

static enum assay_status walk(const char *folder, int depth, struct listing *l, struct assay_error *err) {
  if (depth > MAX_DEPTH)
    return error_set(err, ASSAY_ERR_LIMIT, "%s: folders are nested more than %d deep", folder, MAX_DEPTH);
  DIR *dir = opendir(folder);
  if (!dir)
    return error_set(err,
                     errno == ENOENT                      ? ASSAY_ERR_NOT_FOUND
                     : errno == EMFILE || errno == ENFILE ? ASSAY_ERR_ENVIRONMENT
                                                          : ASSAY_ERR_IO,
                     "%s: %s", folder, strerror(errno));
  enum assay_status status = ASSAY_OK;
  for (struct dirent *e; !status && (e = readdir(dir));)
    if (e->d_name[0] != '.')
      status = walk_entry(folder, e->d_name, depth, l, err);
  closedir(dir);
  return status;
}

static int by_number(const void *a, const void *b) {
  return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool all_digits(const char *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isdigit((unsigned char)s[i]))
      return false;
  return n > 0;
}

// Adds "/part" to a folder, or what is there of the same letters in another case.
static void add_folder(struct buf *folder, const char *part, int n) {
  char found[256] = "";
  DIR *dir = opendir(buf_str(folder));
  for (struct dirent *e; dir && (e = readdir(dir));) {
    bool alike = strncasecmp(e->d_name, part, (size_t)n) == 0 && e->d_name[n] == '\0';
    if (alike && (!found[0] || memcmp(e->d_name, part, (size_t)n) == 0))
      snprintf(found, sizeof found, "%s", e->d_name);
  }
  if (dir)
    closedir(dir);
  buf_printf(folder, "/%.*s", n, found[0] ? found : part);
}

// The folder for the first `n` components of a name: a component of digits after the suite is a level.
static enum assay_status name_folder(const char *root, const char *name, size_t n, struct buf *out,
                                     struct assay_error *err) {
  char level[256];
  buf_puts(out, root);
  for (size_t at = 0, part = 0; at < n; part++) {
    size_t len = strcspn(name + at, "/");
    if (len > n - at)
      len = n - at;
    if (part > 0 && all_digits(name + at, len) && len < sizeof level - 6)
      add_folder(out, level, snprintf(level, sizeof level, "level%.*s", (int)len, name + at));
    else if (len > 0)
      add_folder(out, name + at, (int)len);
    at += len + 1;
  }
  return buf_status(out, err);
}

// Whether a file is the task that the last component of a name means, which is the task's number or the file's stem.
static bool matches(const char *file, const char *wanted) {
  if (!is_task_file(file))
    return false;
  size_t stem = (size_t)(strrchr(file, '.') - file);
  size_t digits = strspn(file, "0123456789");
  bool numbered = digits > 0 && file[digits] == '_';
  size_t n = strlen(wanted);
  if (all_digits(wanted, n))
    return numbered && strtol(file, NULL, 10) == strtol(wanted, NULL, 10);
  size_t skip = numbered ? digits + 1 : 0;
  return (stem == n && strncasecmp(file, wanted, n) == 0) ||
         (stem - skip == n && strncasecmp(file + skip, wanted, n) == 0);
}

// "kernelbench/1/23 (softmax)" for the path of a task under `root`.
static const char *name_of(const char *root, const char *path, char *text, size_t size) {
  size_t n = strlen(root), used = 0;
  const char *p = strncmp(path, root, n) == 0 ? path + n : path;
  text[0] = '\0';
  for (p += *p == '/'; *p && used < size;) {
    size_t len = strcspn(p, "/"), level = strncmp(p, "level", 5) == 0 ? 5 : 0;
    size_t digits = strspn(p + level, "0123456789");
    if (p[len] == '/' && level && level + digits == len)
      used += (size_t)snprintf(text + used, size - used, "%.*s/", (int)digits, p + level);
    else if (p[len] == '/')
      used += (size_t)snprintf(text + used, size - used, "%.*s/", (int)len, p);
    else if (digits > 0 && p[digits] == '_')
      used += (size_t)snprintf(text + used, size - used, "%ld (%.*s)", strtol(p, NULL, 10),
                               (int)strcspn(p + digits + 1, "."), p + digits + 1);
    else
      used += (size_t)snprintf(text + used, size - used, "%.*s", (int)strcspn(p, "."), p);
    p += len + (p[len] == '/');
  }
  return text;
}

// The name of a file without its number and ending: "softmax" of 023_softmax.onnxtxt.
static void stem_of(const char *path, char *text, size_t size) {
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
  size_t digits = strspn(file, "0123456789");
  file += digits > 0 && file[digits] == '_' ? digits + 1 : 0;
  snprintf(text, size, "%.*s", (int)strcspn(file, "."), file);
}

// The names of up to five tasks whose stem has `word` in it; else of those that are called what is nearest to it. "":
// none.
static void list_alike(const char *root, const struct listing *l, const char *word, char *text, size_t size) {
  enum { MOST = 5, STEM = 128 };
  char stem[STEM], name[256], best[STEM] = "";
  struct nearest near = {.word = word};
  size_t used = 0;
  int n = 0;
  text[0] = '\0';
  for (int i = 0; i < l->count; i++) {
    int before = near.name ? near.distance : STEM;
    stem_of(l->paths[i], stem, sizeof stem);
    nearest_offer(&near, stem);
    if (near.name && near.distance < before)
      snprintf(best, sizeof best, "%s", stem);
  }
  const char *wanted = strlen(word) >= 3 && strcmp(best, word) != 0 ? word : NULL; // its very name: no others
  for (int pass = 0; pass < 2 && n == 0; pass++, wanted = best[0] ? best : NULL)
    for (int i = 0; wanted && i < l->count && n <= MOST && used < size; i++) {
      stem_of(l->paths[i], stem, sizeof stem);
      if (pass == 1 ? strcmp(stem, wanted) != 0 : !strstr(stem, wanted))
        continue;
      if (++n <= MOST)
        used += (size_t)snprintf(text + used, size - used, "%s%s", n > 1 ? ", " : "",
                                 name_of(root, l->paths[i], name, sizeof name));
      else
        used += (size_t)snprintf(text + used, size - used, ", ...");
    }
}

// A suite like the one that the name begins with, and the rest of the name after it.
static void suite_alike(const char *root, const struct listing *l, const char *name, char *text, size_t size) {
  size_t n = strcspn(name, "/"), own = strlen(root) + 1;
  char word[64], suite[64], best[64] = "";
  snprintf(word, sizeof word, "%.*s", (int)n, name);
  struct nearest near = {.word = word};
  for (int i = 0; i < l->count; i++) {
    const char *path = l->paths[i] + own;
    snprintf(suite, sizeof suite, "%.*s", (int)strcspn(path, "/"), path);
    const char *before = near.name;
    nearest_offer(&near, suite);
    if (near.name == before)
      continue;
    snprintf(best, sizeof best, "%s", suite);
    near.name = best;
  }
  text[0] = '\0';
  if (best[0] && strcmp(best, word) != 0)
    snprintf(text, size, "%s%s", best, name + n);
}

// Why a name is none of a task, and what there is.
static enum assay_status describe_missing(const char *root, const char *name, struct assay_error *err) {
  struct listing l = {0};
  struct assay_error why = {0};
  enum assay_status status = walk(root, 0, &l, &why);
  char alike[700], first[256], last[256];
  const char *slash = strrchr(name, '/');
  if (status == ASSAY_ERR_ENVIRONMENT) {
    *err = why;
  } else if (status || l.count == 0) {
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "no task '%.120s': there are no task files under %.200s", name, root);
  } else {
    qsort(l.paths, (size_t)l.count, sizeof *l.paths, by_number);
    const char *word = slash ? slash + 1 : name;
    alike[0] = '\0';
    if (!all_digits(word, strlen(word))) // a number is like no name: 101 is not resnet101
      list_alike(root, &l, word, alike, sizeof alike);
    if (!alike[0])
      suite_alike(root, &l, name, alike, sizeof alike);
    if (alike[0])
      status = error_set(err, ASSAY_ERR_NOT_FOUND, "no task '%.120s'; did you mean %s?", name, alike);
    else
      status = error_set(err, ASSAY_ERR_NOT_FOUND,
                         "no task '%.120s': %d tasks are there, from %s to %s; `assay tasks` lists their names "
                         "(kernelbench/1/19 is number 19 of level 1)",
                         name, l.count, name_of(root, l.paths[0], first, sizeof first),
                         name_of(root, l.paths[l.count - 1], last, sizeof last));
  }
  task_list_release(l.paths, l.count);
  return status;
}

// A name without a suite, "softmax": the one task that is called so.
static enum assay_status find_by_stem(const char *root, const char *word, char **path, struct assay_error *err) {
  struct listing l = {0};
  struct assay_error ignored = {0};
  char alike[700];
  const char *found = NULL;
  int n = 0;
  if (walk(root, 0, &l, &ignored) == ASSAY_OK && word[0] && l.count > 0) {
    qsort(l.paths, (size_t)l.count, sizeof *l.paths, by_number);
    for (int i = 0; i < l.count; i++)
      if (!all_digits(word, strlen(word)) && matches(strrchr(l.paths[i], '/') + 1, word)) {
        found = l.paths[i];
        n++;
      }
  }
  enum assay_status status = ASSAY_OK;
  if (n == 1 && !(*path = base_strndup(found, strlen(found)))) {
    status = error_nomem(err, "a task's path");
  } else if (n > 1) {
    list_alike(root, &l, word, alike, sizeof alike);
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "%d tasks are called '%.120s'; say which: %s", n, word, alike);
  } else if (n == 0) {
    status = describe_missing(root, word, err);
  }
  task_list_release(l.paths, l.count);
  return status;
}

static enum assay_status find_in(const char *folder, const char *wanted, char **path, struct assay_error *err) {
  DIR *dir = opendir(folder);
  if (!dir)
    return ASSAY_OK; // *path stays NULL: the caller says what is there
  enum assay_status status = ASSAY_OK;
  for (struct dirent *e; !status && !*path && (e = readdir(dir));)
    if (matches(e->d_name, wanted)) {
      *path = join(folder, e->d_name);
      status = *path ? ASSAY_OK : error_nomem(err, "a task's path");
    }
  closedir(dir);
  return status;
}

enum assay_status task_find(const char *root, const char *name, char **path, struct assay_error *err) {
  if (is_file(name)) {
    *path = base_strndup(name, strlen(name));
    return *path ? ASSAY_OK : error_nomem(err, "a task's path");
  }
  const char *slash = strrchr(name, '/');
  if (!slash)
    return find_by_stem(root, name, path, err);
  if (slash[1] == '\0')
    return describe_missing(root, name, err);
  struct buf folder;
  buf_init(&folder);
  char *found = NULL;
  enum assay_status status = name_folder(root, name, (size_t)(slash - name), &folder, err);
  if (!status)
    status = find_in(buf_str(&folder), slash + 1, &found, err);
  if (!status && !found)
    status = describe_missing(root, name, err);
  if (!status)
    *path = found;
  buf_release(&folder);
  return status;
}

enum assay_status task_list(const char *root, const char *pattern, char ***paths, int *count, struct assay_error *err) {
  struct listing l = {0};
  struct buf folder;
  buf_init(&folder);
  enum assay_status status = name_folder(root, pattern ? pattern : "", pattern ? strlen(pattern) : 0, &folder, err);
  if (!status && is_folder(buf_str(&folder))) {
    status = walk(buf_str(&folder), 0, &l, err);
  } else if (!status && pattern && is_folder(pattern)) {
    status = walk(pattern, 0, &l, err);
  } else if (!status) {
    char *one = NULL;
    status = task_find(root, pattern ? pattern : "", &one, err);
    if (!status && (status = add(&l, one, err)))
      base_free(one);
  }
  if (!status && l.count == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "%.300s has no task files (*.onnxtxt, *.onnx)", buf_str(&folder));
  buf_release(&folder);
  if (status) {
    task_list_release(l.paths, l.count);
    return status;
  }
  qsort(l.paths, (size_t)l.count, sizeof *l.paths, by_number);
  *paths = l.paths;
  *count = l.count;
  return ASSAY_OK;
}
