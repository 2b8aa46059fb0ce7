// SPDX-License-Identifier: Apache-2.0
// What a .library file says, and where the libraries are.
#include "toolchain/library.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "sandbox/sandbox.h"

static const char *const names[] = {[LIBRARY_ANY] = "any", [LIBRARY_CUBLASLT] = "cublaslt", [LIBRARY_CUDNN] = "cudnn"};

const char *library_choice_name(enum library_choice c) {
  return names[c];
}

enum assay_status library_read(const char *source, size_t n, enum library_choice *out, struct assay_error *err) {
  const char *end = source + n;
  bool said = false;
  int line = 1;
  *out = LIBRARY_ANY;
  for (const char *p = source; p < end; line++) {
    const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end, *next = stop + 1;
    while (p < stop && (*p == ' ' || *p == '\t'))
      p++;
    while (stop > p && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r'))
      stop--;
    size_t length = (size_t)(stop - p), i = 0;
    if (length > 0 && *p != '#') {
      while (i < sizeof names / sizeof *names && (strlen(names[i]) != length || memcmp(names[i], p, length) != 0))
        i++;
      if (i == sizeof names / sizeof *names || said)
        return error_set(err, ASSAY_ERR_SYNTAX,
                         "line %d: \"%.*s\": a .library file has comments and one word, cublaslt, cudnn or any\n", line,
                         (int)(length < 60 ? length : 60), p);
      *out = (enum library_choice)i;
      said = true;
    }
    p = next;
  }
  return ASSAY_OK;
}

// ---- places

enum { MOST_PATHS = 32 };
struct folders {
  struct arena *arena;
  const char *paths[MOST_PATHS + 1];
  int n;
  bool no_memory;
};

static void add(struct folders *f, const char *path) {
  for (int i = 0; i < f->n && path; i++)
    if (strcmp(f->paths[i], path) == 0)
      return;
  if (path && f->n < MOST_PATHS)
    f->paths[f->n++] = path;
  f->no_memory = f->no_memory || !path;
}

// The folder of a library, and its neighbours, in which pip puts its companions: nvidia/cublas/lib,
// nvidia/cudnn/lib, or nvidia/cu13/lib for most of them.
static void add_neighbours(struct folders *f, const char *library) {
  static const char *const packages[] = {"cublas", "cudnn", "cuda_cupti", "cuda_nvrtc", "cu13"};
  const char *slash = strrchr(library, '/');
  int length = slash ? (int)(slash - library) : 0;
  if (!slash)
    return;
  add(f, arena_printf(f->arena, "%.*s", length, library));
  const char *nvidia = strstr(library, "/nvidia/");
  for (size_t i = 0; nvidia && i < sizeof packages / sizeof *packages; i++)
    add(f, arena_printf(f->arena, "%.*s/nvidia/%s/lib", (int)(nvidia - library), library, packages[i]));
}

static void add_library(struct folders *f, const char *library) {
  if (!library)
    return;
  char *real = realpath(library, NULL);
  add_neighbours(f, library);
  if (real)
    add_neighbours(f, real);
  free(real);
}

static enum assay_status find_folders(const struct assay_paths *p, struct arena *a, struct library_place *out,
                                      struct assay_error *err) {
  static const char *const usual[] = {"/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"};
  struct folders f = {.arena = a};
  struct buf search = {0};
  const char *const libraries[] = {p->cublaslt, p->cudnn, p->cupti};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    add_library(&f, libraries[i]);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    add(&f, usual[i]);
  for (int i = 0; i < f.n; i++)
    buf_printf(&search, "%s%s", i ? ":" : "", f.paths[i]);
  out->search = arena_strdup(a, buf_str(&search));
  f.no_memory = f.no_memory || search.failed || !out->search;
  buf_release(&search);
  const char **paths = arena_calloc(a, (size_t)f.n + 3, sizeof *paths);
  if (f.no_memory || !paths)
    return error_nomem(err, "the libraries' folders");
  memcpy(paths, f.paths, (size_t)f.n * sizeof *paths);
  paths[f.n] = out->lift;
  paths[f.n + 1] = "/usr/local";
  out->read_paths = paths;
  return ASSAY_OK;
}

static enum assay_status check_named(const char *path, const char *variable, struct assay_error *err) {
  if (!path || access(path, R_OK) == 0)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "there is no %s, which %s names: point it to the library's file", path,
                   variable);
}

enum assay_status library_find(const struct assay_paths *p, struct arena *a, struct library_place *out,
                               struct assay_error *err) {
  const char *slash = p->worker ? strrchr(p->worker, '/') : NULL;
  *out = (struct library_place){.program = p->library,
                                .cublaslt = p->cublaslt ? p->cublaslt : "",
                                .cudnn = p->cudnn ? p->cudnn : "",
                                .cupti = p->cupti ? p->cupti : ""};
  out->lift = arena_printf(a, "%.*sassay-lift.so", slash ? (int)(slash + 1 - p->worker) : 0, slash ? p->worker : "");
  if (!out->lift)
    return error_nomem(err, "the libraries' place");
  if (!p->library || access(p->library, X_OK) != 0 || access(out->lift, R_OK) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s and %s must be there: build or install Assay whole",
                     p->library ? p->library : "assay-library", out->lift);
  enum assay_status status = check_named(p->cublaslt, "ASSAY_CUBLASLT", err);
  if (!status)
    status = check_named(p->cudnn, "ASSAY_CUDNN", err);
  if (!status)
    status = check_named(p->cupti, "ASSAY_CUPTI", err);
  return status ? status : find_folders(p, a, out, err);
}

enum assay_status library_ask(const struct library_place *p, const char *folder, struct buf *text, bool *all,
                              struct assay_error *err) {
  enum { SECONDS = 60, TEXT_BYTES = 4096, PROCESSES = 64 };
  struct arena arena = {0};
  struct sandbox_child child = {0};
  struct sandbox_end end = {0};
  char *const argv[] = {(char *)p->program,
                        "facts",
                        (char *)build_id,
                        (char *)p->cublaslt,
                        (char *)p->cudnn,
                        (char *)p->cupti,
                        "any",
                        NULL};
  char *const envp[] = {"LC_ALL=C", arena_printf(&arena, "LD_LIBRARY_PATH=%s", p->search), NULL};
  const struct sandbox_policy policy = {
      .role = SANDBOX_BUILDER, .folder = folder, .read_paths = p->read_paths, .processes = PROCESSES};
  enum assay_status status =
      envp[1] ? sandbox_spawn(&policy, argv, envp, NULL, 0, &child, err) : error_nomem(err, "asking for libraries");
  if (!status)
    status = sandbox_wait(&child, clock_monotonic_ns() + (int64_t)SECONDS * 1000000000, text, TEXT_BYTES, &end, err);
  if (!status && (!end.exited || end.code > 1))
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s does not say what there is: %.300s", p->program, buf_str(text));
  char *line_end = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;
  if (line_end) {
    *line_end = '\0';
    text->len = (size_t)(line_end - text->data);
  }
  *all = !status && end.code == 0;
  arena_release(&arena);
  return status;
}
