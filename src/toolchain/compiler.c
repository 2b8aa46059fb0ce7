// SPDX-License-Identifier: Apache-2.0
// Finding the compiler.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "toolchain/cc.h"

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool is_program(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

// A compiler cache writes outside the build's folder, so the compiler that it calls is used.
static bool is_cache(const char *path) {
  char real[PATH_MAX];
  return realpath(path, real) && (!strcmp(base_name(real), "ccache") || !strcmp(base_name(real), "sccache"));
}

// An absolute path: the builder works in another folder. Links in it stay, for a compiler looks at its own name.
static char *absolute(const char *path, struct arena *a) {
  char cwd[PATH_MAX];
  if (path[0] == '/')
    return arena_strdup(a, path);
  return getcwd(cwd, sizeof cwd) ? arena_printf(a, "%s/%s", cwd, path) : NULL;
}

enum assay_status compiler_find(const char *name, const char *path_env, struct arena *a, char **path,
                                struct assay_error *err) {
  char *found = NULL;
  if (strchr(name, '/')) {
    if (!is_program(name))
      return error_set(err, ASSAY_ERR_ENVIRONMENT, "the compiler %s is not there, or not a program", name);
    found = absolute(name, a);
    if (!found)
      return error_nomem(err, "the compiler's path");
    *path = found;
    return ASSAY_OK;
  }
  for (const char *p = path_env; p && *p && !found;) {
    size_t n = strcspn(p, ":");
    if (p[0] == '/') { // a relative part of the PATH would name whatever lies where the judge was started
      char *candidate = arena_printf(a, "%.*s/%s", (int)n, p, name);
      if (!candidate)
        return error_nomem(err, "the compiler's path");
      if (is_program(candidate) && !is_cache(candidate))
        found = candidate;
    }
    p += n + (p[n] == ':');
  }
  if (!found)
    return error_set(err, ASSAY_ERR_ENVIRONMENT,
                     "no compiler \"%s\" on the PATH (%s): install one (apt-get install %s) or name another", name,
                     path_env ? path_env : "empty", !strcmp(name, "clang") ? "clang" : "gcc");
  *path = found;
  return ASSAY_OK;
}

const char *const *compiler_read_paths(const char *program, const char *include_dir, struct arena *a) {
  static const char *const parts[] = {"bin", "lib", "lib64", "libexec", "include", "share"};
  enum { N_PARTS = sizeof parts / sizeof *parts };
  const char **paths = arena_calloc(a, N_PARTS + 2, sizeof *paths);
  int n = 0;
  char real[PATH_MAX];
  if (!paths)
    return NULL;
  if (include_dir)
    paths[n++] = include_dir;
  if (!realpath(program, real) || !strncmp(real, "/usr/", 5))
    return paths;
  // PREFIX/bin/gcc: six folders of the prefix and not the prefix itself, which could be somebody's home.
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(real, '/');
    if (slash)
      *slash = '\0';
  }
  for (int i = 0; i < N_PARTS; i++) {
    paths[n] = arena_printf(a, "%s/%s", real, parts[i]);
    if (!paths[n++])
      return NULL;
  }
  return paths;
}

bool compiler_is_clang(const char *program) {
  return strstr(base_name(program), "clang") != NULL;
}
