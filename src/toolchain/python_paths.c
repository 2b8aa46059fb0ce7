// SPDX-License-Identifier: Apache-2.0
// What Python's module site does with its folders of packages, as far as it says which files must be readable.
#include "toolchain/python_paths.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MOST_PATHS = 64, MOST_PTH_BYTES = 1 << 16 };

struct search {
  struct arena *arena;
  const char *paths[MOST_PATHS + 1];
  int n;
  bool failed; // memory
};

// What does not fit is left out: the interpreter then says what it cannot read.
static void add(struct search *s, const char *path) {
  s->failed = s->failed || !path;
  for (int i = 0; i < s->n && path; i++)
    if (strcmp(s->paths[i], path) == 0)
      return;
  if (path && s->n < MOST_PATHS)
    s->paths[s->n++] = path;
}

// PREFIX of PREFIX/bin/python, in place; false when there is none.
static bool prefix_of(char *path) {
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
      return false;
    *slash = '\0';
  }
  return true;
}

static bool is_folder(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), length = strlen(end);
  return n >= length && strcmp(text + n - length, end) == 0;
}

static bool holds_packages(struct search *s, const char *folder) {
  const char *torch = arena_printf(s->arena, "%s/torch/__init__.py", folder);
  s->failed = s->failed || !torch;
  return ends_with(folder, "/site-packages") || ends_with(folder, "/dist-packages") ||
         (torch && access(torch, R_OK) == 0);
}

// PREFIX/lib of PREFIX/lib/python3.11/site-packages, where packages may have libraries; else the folder itself.
static void add_packages(struct search *s, const char *folder) {
  char *lib = arena_strdup(s->arena, folder);
  for (int up = 0; up < 2 && lib; up++) {
    char *slash = strrchr(lib, '/');
    if (slash)
      *slash = '\0';
  }
  add(s, lib && ends_with(lib, "/lib") && strncmp(folder + strlen(lib), "/python", 7) == 0 ? lib : folder);
}

// A line of a .pth file: a comment, code, or a folder, which may be relative to that of the file.
static void take_line(struct search *s, const char *site, const char *line, size_t n) {
  char real[PATH_MAX];
  while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' ' || line[n - 1] == '\t'))
    n--;
  if (n == 0 || *line == '#' || (n > 6 && strncmp(line, "import", 6) == 0 && (line[6] == ' ' || line[6] == '\t')))
    return;
  const char *path =
      *line == '/' ? arena_strndup(s->arena, line, n) : arena_printf(s->arena, "%s/%.*s", site, (int)n, line);
  s->failed = s->failed || !path;
  if (!path || !realpath(path, real) || !is_folder(real) || !holds_packages(s, real))
    return;
  const char *folder = arena_strdup(s->arena, real);
  s->failed = s->failed || !folder;
  if (folder)
    add_packages(s, folder);
}

static void take_pth(struct search *s, const char *site, const char *name) {
  char *text = NULL;
  size_t n = 0;
  const char *path = arena_printf(s->arena, "%s/%s", site, name);
  s->failed = s->failed || !path;
  if (!path || file_read(path, MOST_PTH_BYTES, &text, &n, NULL) != ASSAY_OK)
    return;
  for (const char *line = text; *line;) {
    size_t length = strcspn(line, "\n");
    take_line(s, site, line, length);
    line += length + (line[length] == '\n');
  }
  base_free(text);
}

static void take_site(struct search *s, const char *site) {
  DIR *folder = opendir(site);
  for (const struct dirent *e; folder && (e = readdir(folder));)
    if (ends_with(e->d_name, ".pth") && e->d_name[0] != '.')
      take_pth(s, site, e->d_name);
  if (folder)
    closedir(folder);
}

// The folders of packages below PREFIX/lib: python3.11/site-packages, Debian's python3/dist-packages.
static void take_sites(struct search *s, const char *prefix) {
  static const char *const names[] = {"site-packages", "dist-packages"};
  const char *lib = arena_printf(s->arena, "%s/lib", prefix);
  DIR *folder = lib ? opendir(lib) : NULL;
  s->failed = s->failed || !lib;
  for (const struct dirent *e; folder && (e = readdir(folder));)
    for (int i = 0; i < 2 && strncmp(e->d_name, "python3", 7) == 0; i++) {
      const char *site = arena_printf(s->arena, "%s/%s/%s", lib, e->d_name, names[i]);
      s->failed = s->failed || !site;
      if (site)
        take_site(s, site);
    }
  if (folder)
    closedir(folder);
}

// Parts of a prefix, and not the prefix itself, which could be somebody's home.
static void add_prefix(struct search *s, const char *prefix) {
  static const char *const parts[] = {"bin", "lib", "lib64", "include", "share", "pyvenv.cfg"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    // The system's own programs do not belong to an interpreter.
    if (strcmp(prefix, "/usr") == 0 && strncmp(parts[i], "lib", 3) != 0)
      continue;
    add(s, arena_printf(s->arena, "%s/%s", prefix, parts[i]));
  }
  take_sites(s, prefix);
}

const char *const *python_paths_find(const char *interpreter, const char *const *more, struct arena *a) {
  char own[PATH_MAX], real[PATH_MAX];
  struct search s = {.arena = a};
  size_t n_more = 0;
  while (more[n_more])
    n_more++;
  if (strlen(interpreter) >= sizeof own)
    return NULL;
  memcpy(own, interpreter, strlen(interpreter) + 1);
  add(&s, "/usr/local"); // CUDA's libraries are there, which PyTorch may be linked with
  if (prefix_of(own))
    add_prefix(&s, own);
  if (realpath(interpreter, real) && prefix_of(real) && strcmp(own, real) != 0)
    add_prefix(&s, real);
  take_sites(&s, "/usr/local"); // Debian's Python has packages there, too
  const char **paths = arena_calloc(a, (size_t)s.n + n_more + 1, sizeof *paths);
  if (!paths || s.failed)
    return NULL;
  memcpy(paths, s.paths, (size_t)s.n * sizeof *paths);
  memcpy(paths + s.n, more, n_more * sizeof *more);
  return paths;
}
