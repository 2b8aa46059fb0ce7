// SPDX-License-Identifier: Apache-2.0
// Questions to an interpreter, answered by worker.py in a sandboxed builder that runs no candidate.
#include "toolchain/python_ask.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "sandbox/gpu_python.h"
#include "sandbox/sandbox.h"

const char *const *python_builder_paths(const struct python_place *p, struct arena *a) {
  size_t n = 0;
  while (p->read_paths[n])
    n++;
  const char **paths = arena_calloc(a, n + PYTHON_OTHER_PARTS + 2, sizeof *paths);
  for (size_t i = 0; paths && i < n; i++)
    if (!(paths[i] = arena_strdup(a, p->read_paths[i])))
      return NULL;
  if (paths && !(paths[n++] = arena_strdup(a, p->script)))
    return NULL;
  for (int i = 0; paths && i < PYTHON_OTHER_PARTS; i++)
    if (!(paths[n++] = python_other_part(p->script, i, a)))
      return NULL;
  return paths;
}

// Runs worker.py with up to that many arguments in the folder, and appends what it prints to `text`.
enum { MOST_ARGUMENTS = 4 };
static enum assay_status ask(const struct python_place *p, const char *folder,
                             const char *const arguments[MOST_ARGUMENTS], struct buf *text, struct assay_error *err) {
  enum { SECONDS = 120, TEXT_BYTES = 16 << 10, FILE_BYTES = 16 << 20, N_OWN = 4, MOST_SETTINGS = 8 };
  struct arena arena = {0};
  struct sandbox_child child = {0};
  struct sandbox_end end = {0};
  char *const argv[] = {(char *)p->interpreter,
                        "-I",
                        "-B",
                        (char *)p->script,
                        (char *)arguments[0],
                        (char *)arguments[1],
                        (char *)arguments[2],
                        (char *)arguments[3],
                        NULL};
  char *envp[N_OWN + MOST_SETTINGS + 1] = {"LC_ALL=C.UTF-8", arena_printf(&arena, "HOME=%s", folder),
                                           arena_printf(&arena, "TMPDIR=%s", folder),
                                           arena_printf(&arena, "PATH=%s", p->path_env)};
  for (int i = 0; i < MOST_SETTINGS && p->environment && p->environment[i]; i++)
    envp[N_OWN + i] = (char *)p->environment[i];
  const struct sandbox_policy policy = {
      .role = SANDBOX_BUILDER,
      .folder = folder,
      .read_paths = python_builder_paths(p, &arena),
      .file_bytes = FILE_BYTES, // PyTorch imports dill where it is, which looks for a folder that can be written
      .processes = 64};
  enum assay_status status =
      envp[1] && envp[2] && envp[3] && policy.read_paths ? ASSAY_OK : error_nomem(err, "asking the interpreter");
  if (!status)
    status = sandbox_spawn(&policy, argv, envp, NULL, 0, &child, err);
  if (!status)
    status = sandbox_wait(&child, clock_monotonic_ns() + (int64_t)SECONDS * 1000000000, text, TEXT_BYTES, &end, err);
  if (!status && (!end.exited || end.code != 0))
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s does not say what it has: %.300s", p->interpreter,
                       text->len ? buf_str(text) : "it said nothing");
  arena_release(&arena);
  return status;
}

// What follows the mark in the text; warnings may stand before it. NULL: it is not there.
static char *take_after(const struct buf *text, const char *mark, bool with_mark) {
  const char *found = text->failed ? NULL : strstr(buf_str(text), mark);
  found = found && !with_mark ? found + strlen(mark) : found;
  return found ? base_strndup(found, strlen(found)) : NULL;
}

enum assay_status python_ask(const struct python_place *p, const char *folder, char **json, struct assay_error *err) {
  static const char *const arguments[MOST_ARGUMENTS] = {"facts"};
  struct buf text;
  buf_init(&text);
  enum assay_status status = ask(p, folder, arguments, &text, err);
  if (!status && !strchr(buf_str(&text), '{'))
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s does not say what it has: %.300s", p->interpreter,
                       text.len ? buf_str(&text) : "it said nothing");
  if (!status && !(*json = take_after(&text, "{", true)))
    status = error_nomem(err, "what the interpreter has");
  buf_release(&text);
  return status;
}

enum assay_status python_missing(const struct python_place *p, const char *folder, const struct python_source *source,
                                 char **missing, struct assay_error *err) {
  const char *const arguments[MOST_ARGUMENTS] = {"missing", "candidate.py", source->on_gpu ? "cuda" : "cpu",
                                                 source->failure};
  struct buf text, path;
  buf_init(&text);
  buf_init(&path);
  buf_printf(&path, "%s/candidate.py", folder);
  enum assay_status status = buf_status(&path, err);
  if (!status)
    status = file_write(buf_str(&path), source->text, source->bytes, err);
  if (!status)
    status = ask(p, folder, arguments, &text, err);
  if (!status && !(*missing = take_after(&text, "missing: ", false)))
    status = error_nomem(err, "what a candidate needs");
  if (!status)
    (*missing)[strcspn(*missing, "\n")] = '\0';
  buf_release(&text);
  buf_release(&path);
  return status;
}
