// SPDX-License-Identifier: Apache-2.0
#include "toolchain/python_settings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "toolchain/cc.h"
#include "toolchain/compile.h"

enum { MOST_KEPT = 8, MOST_READ = 40 };

struct making {
  const struct assay_paths *paths;
  struct arena *arena;
  const char *environment[MOST_KEPT + 1], *read_paths[MOST_READ + 1];
  const char *cuda_home;
  int n_kept, n_read;
  struct buf kept, left; // for the summary
};

static void keep(struct making *m, const char *setting) {
  if (m->n_kept == MOST_KEPT)
    return;
  m->environment[m->n_kept++] = setting;
  buf_printf(&m->kept, "%s%.200s", m->kept.len ? ", " : "", setting);
}

static void leave_out(struct making *m, const char *name, const char *value, const char *why) {
  buf_printf(&m->left, "%s%s=%.100s (%s)", m->left.len ? ", " : "", name, value, why);
}

static void read_all(struct making *m, const char *const *paths) {
  for (; paths && *paths && m->n_read < MOST_READ; paths++)
    m->read_paths[m->n_read++] = *paths;
}

static bool is_cache(const char *word, size_t n) {
  const char *name = word;
  for (const char *p = word; p < word + n; p++)
    if (*p == '/')
      name = p + 1;
  size_t length = (size_t)(word + n - name);
  return (length == 6 && !strncmp(name, "ccache", 6)) || (length == 7 && !strncmp(name, "sccache", 7));
}

// A compiler, and perhaps options for it. It gets its whole path, since the user's PATH is not there later. A cache in
// front of it is left out: it writes outside the build's folder.
static void take_compiler(struct making *m, const char *name, const char *value) {
  const char *word = value + strspn(value, " ");
  size_t n = strcspn(word, " ");
  if (is_cache(word, n) && word[n]) {
    word += n + strspn(word + n, " ");
    n = strcspn(word, " ");
  }
  char *program = arena_strndup(m->arena, word, n), *found = NULL;
  if (!program || !n || compiler_find(program, m->paths->path_env, m->arena, &found, NULL) != ASSAY_OK) {
    leave_out(m, name, value, "no such program");
    return;
  }
  read_all(m, compiler_read_paths(found, NULL, m->arena));
  char *setting = arena_printf(m->arena, "%s=%s%s", name, found, word + n);
  if (setting)
    keep(m, setting);
}

// Parts of the toolkit and not the folder itself, which could be somebody's home.
static void use_cuda(struct making *m, const char *folder) {
  static const char *const parts[] = {"bin", "include", "lib", "lib64", "nvvm", "targets", "version.json", NULL};
  m->cuda_home = arena_strdup(m->arena, folder);
  for (int i = 0; parts[i]; i++) {
    const char *const path[] = {arena_printf(m->arena, "%s/%s", folder, parts[i]), NULL};
    read_all(m, path);
  }
}

static void take_cuda_home(struct making *m, const char *name, const char *value) {
  struct stat st;
  char *nvcc = arena_printf(m->arena, "%s/bin/nvcc", value);
  char *setting = arena_printf(m->arena, "%s=%s", name, value);
  if (value[0] != '/' || !nvcc || !setting || stat(nvcc, &st) != 0 || !S_ISREG(st.st_mode)) {
    leave_out(m, name, value, "there is no bin/nvcc in it");
    return;
  }
  use_cuda(m, value);
  keep(m, setting);
}

// "8.0;9.0a+PTX", "Hopper"
static void take_architectures(struct making *m, const char *name, const char *value) {
  static const char letters[] = "0123456789.;, +abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  char *setting = arena_printf(m->arena, "%s=%s", name, value);
  if (strlen(value) > 200 || strspn(value, letters) != strlen(value) || !setting)
    leave_out(m, name, "...", "not a list of architectures");
  else
    keep(m, setting);
}

// How many compilers ninja starts at a time. More would not come to their end within a build's processes.
static void take_jobs(struct making *m, const char *name, const char *value) {
  const long jobs = strlen(value) < 4 && strspn(value, "0123456789") == strlen(value) ? strtol(value, NULL, 10) : 0;
  char *setting = arena_printf(m->arena, "%s=%ld", name, jobs);
  if (jobs < 1 || jobs > COMPILE_MOST_JOBS || !setting)
    leave_out(m, name, value, "not a number of compilers that a build may have at a time");
  else if (m->n_kept < MOST_KEPT)
    m->environment[m->n_kept++] = setting;
}

static const struct {
  const char *name;
  void (*take)(struct making *m, const char *name, const char *value);
} rows[] = {{"CC", take_compiler},
            {"CXX", take_compiler},
            {"CUDA_HOME", take_cuda_home},
            {"TORCH_CUDA_ARCH_LIST", take_architectures},
            {"MAX_JOBS", take_jobs}};

static void take_settings(struct making *m) {
  for (const char *const *s = m->paths->compiler_settings; s && *s; s++) {
    const char *value = strchr(*s, '=');
    for (size_t i = 0; value && value[1] && i < sizeof rows / sizeof *rows; i++)
      if (strlen(rows[i].name) == (size_t)(value - *s) && !strncmp(rows[i].name, *s, (size_t)(value - *s)))
        rows[i].take(m, rows[i].name, value + 1);
  }
}

// PyTorch looks for nvcc on the PATH when it is not told where CUDA is.
static void find_cuda(struct making *m) {
  char *nvcc = NULL;
  if (m->cuda_home || compiler_find("nvcc", m->paths->path_env, m->arena, &nvcc, NULL) != ASSAY_OK)
    return;
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(nvcc, '/');
    if (!slash || slash == nvcc)
      return;
    *slash = '\0';
  }
  char *setting = arena_printf(m->arena, "CUDA_HOME=%s", nvcc);
  if (!setting || !strcmp(nvcc, "/usr")) // a distribution's, which is on the PATH anyway
    return;
  use_cuda(m, nvcc);
  if (m->n_kept < MOST_KEPT)
    m->environment[m->n_kept++] = setting;
}

static const char *const *copy(const char *const *list, int n, struct arena *a) {
  const char **all = arena_calloc(a, (size_t)n + 1, sizeof *all);
  for (int i = 0; all && i < n; i++)
    if (!(all[i] = list[i]))
      return NULL;
  return all;
}

enum assay_status python_settings_make(const struct assay_paths *p, const char *interpreter, struct arena *a,
                                       struct python_settings *out, struct assay_error *err) {
  struct making m = {.paths = p, .arena = a};
  const char *slash = strrchr(interpreter, '/');
  buf_init(&m.kept);
  buf_init(&m.left);
  take_settings(&m);
  find_cuda(&m);
  struct python_settings s = {.environment = copy(m.environment, m.n_kept, a),
                              .read_paths = copy(m.read_paths, m.n_read, a)};
  s.path_env = arena_printf(a, "%.*s:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin%s%s%s",
                            slash ? (int)(slash - interpreter) : 0, interpreter, m.cuda_home ? ":" : "",
                            m.cuda_home ? m.cuda_home : "", m.cuda_home ? "/bin" : "");
  s.summary = arena_printf(a, "%s%s%s%s", buf_str(&m.kept), m.kept.len && m.left.len ? "; " : "",
                           m.left.len ? "not kept: " : "", buf_str(&m.left));
  bool good = s.environment && s.read_paths && s.path_env && s.summary && !m.kept.failed && !m.left.failed;
  buf_release(&m.kept);
  buf_release(&m.left);
  if (!good)
    return error_nomem(err, "a Python candidate's compilers");
  *out = s;
  return ASSAY_OK;
}
