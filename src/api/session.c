// SPDX-License-Identifier: Apache-2.0
#include "api/session.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "judge/form.h"
#include "sandbox/sandbox.h"
#include "task/task.h"

const char *assay_version(void) {
  return ASSAY_VERSION;
}

// A size that no version will have was never set.
enum { MOST_STRUCT_BYTES = 1 << 16 };

enum assay_status api_take(void *out, size_t known, const void *in, const char *what, struct assay_error *err) {
  size_t size = *(const size_t *)in;
  memset(out, 0, known);
  if (size < sizeof size || size > MOST_STRUCT_BYTES || size % sizeof size) // all have pointers: none ends within one
    return error_set(err, ASSAY_ERR_USAGE, "set the size of the struct: {.size = sizeof(struct %s)}", what);
  for (size_t i = known; i < size; i++)
    if (((const char *)in)[i])
      return error_set(err, ASSAY_ERR_UNSUPPORTED,
                       "struct %s has members that libassay " ASSAY_VERSION " does not know; leave them zero", what);
  memcpy(out, in, size < known ? size : known);
  return ASSAY_OK;
}

// --- where things are

static bool is_there(const char *folder, const char *file) {
  char path[8192];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  return access(path, X_OK) == 0;
}

// The folder of the programs, of a prefix or a build folder. False: they are not there.
static bool programs_of(const char *prefix, char *out, size_t size) {
  bool built = is_there(prefix, "assay-runner");
  snprintf(out, size, "%s%s", prefix, built ? "" : "/bin");
  return built || is_there(prefix, "libexec/assay/assay-runner");
}

// Upwards from the file that this function is in: the library, or a program that it is linked into.
static bool programs_near_here(char *out, size_t size) {
  Dl_info here;
  char folder[4096];
  if (!dladdr(__extension__(void *) assay_session_open, &here) || !here.dli_fname)
    return false;
  char *real = realpath(here.dli_fname, NULL);
  snprintf(folder, sizeof folder, "%s", real ? real : "");
  free(real);
  for (char *slash; (slash = strrchr(folder, '/')) && slash > folder;) {
    *slash = '\0';
    if (programs_of(folder, out, size))
      return true;
  }
  return false;
}

static enum assay_status find_programs(const char *prefix, char *out, size_t size, struct assay_error *err) {
  static const char *const usual[] = {"/usr/local", "/usr"};
  if (prefix && programs_of(prefix, out, size))
    return ASSAY_OK;
  if (prefix)
    return error_set(err, ASSAY_ERR_NOT_FOUND,
                     "Assay is not installed under %s: there is no %s/libexec/assay/assay-runner", prefix, prefix);
  if (programs_near_here(out, size))
    return ASSAY_OK;
  for (int i = 0; i < 2; i++)
    if (programs_of(usual[i], out, size))
      return ASSAY_OK;
  return error_set(err, ASSAY_ERR_NOT_FOUND,
                   "Assay's programs are not found near this library, nor under /usr/local and /usr: install Assay, or "
                   "name its place (assay_settings.prefix)");
}

// --- sessions

// A copy, or what stands for it. False: no memory.
static bool keep(struct arena *arena, const char *given, const char *usual, const char **out) {
  *out = given ? arena_strdup(arena, given) : usual;
  return *out || !given;
}

static enum assay_status take_settings(struct assay_session *s, const struct assay_settings *t,
                                       struct assay_error *err) {
  char programs[4096];
  enum assay_status status = find_programs(t->prefix, programs, sizeof programs, err);
  if (status)
    return status;
  api_find_files(programs, &s->files, &s->paths);
  if (t->tasks)
    snprintf(s->tasks, sizeof s->tasks, "%s", t->tasks);
  else
    api_find_near(programs, api_task_places, s->tasks, sizeof s->tasks);
  bool kept = keep(&s->arena, t->temporary, "/tmp", &s->paths.temporary) &&
              keep(&s->arena, t->cache, NULL, &s->paths.cache) &&
              keep(&s->arena, t->path, "/usr/local/bin:/usr/bin:/bin", &s->paths.path_env) &&
              keep(&s->arena, t->python, NULL, &s->paths.python) && keep(&s->arena, t->nvrtc, NULL, &s->paths.nvrtc);
  return kept ? ASSAY_OK : error_nomem(err, "a session");
}

static enum assay_status read_peaks(struct assay_session *s, const char *path, struct assay_error *err) {
  struct store *store = NULL;
  for (int i = 0; i < API_DEVICES; i++)
    s->devices[i].device = plan_device_at(i);
  if (!path)
    return ASSAY_OK;
  if (access(path, R_OK) != 0) // opening would make one
    return error_set(err, ASSAY_ERR_NOT_FOUND, "there is no store %s; `assay doctor --calibrate --store %s` makes one",
                     path, path);
  enum assay_status status = store_open(path, &store, err);
  for (int i = 0; i < API_DEVICES && !status; i++)
    if (s->devices[i].device->peaks)
      api_peaks(store, s->devices[i].device->peaks, &s->devices[i].peaks);
  store_close(store);
  return status;
}

static enum assay_status open_session(const struct assay_settings *settings, locale_t plain, struct assay_session **out,
                                      struct assay_error *err) {
  struct assay_settings t = {0};
  enum assay_status status = settings ? api_take(&t, sizeof t, settings, "assay_settings", err) : ASSAY_OK;
  struct assay_session *s = status ? NULL : base_calloc(1, sizeof *s);
  if (!status && !s)
    status = error_nomem(err, "a session");
  if (!status)
    s->plain = plain;
  if (!status)
    status = take_settings(s, &t, err);
  if (!status)
    status = read_peaks(s, t.store, err);
  if (status && s)
    s->plain = (locale_t)0; // the caller's
  if (status)
    assay_session_close(s);
  else {
    sandbox_folders_sweep(s->paths.temporary);
    *out = s;
  }
  return status;
}

enum assay_status assay_session_open(const struct assay_settings *settings, struct assay_session **out,
                                     struct assay_error *err) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain)
    return error_nomem(err, "a session");
  locale_t hosts = uselocale(plain);
  enum assay_status status = open_session(settings, plain, out, err);
  uselocale(hosts);
  if (status)
    freelocale(plain);
  return status;
}

void assay_session_close(struct assay_session *s) {
  if (!s)
    return;
  for (int i = 0; i < API_DEVICES; i++)
    assay_workbench_close(s->devices[i].workbench);
  arena_release(&s->arena);
  if (s->plain)
    freelocale(s->plain);
  base_free(s);
}

// --- requests

static enum assay_status choose_device(struct assay_session *s, struct api_asked *a, struct assay_error *err) {
  const struct plan_device *wanted = NULL;
  const struct form *form;
  enum assay_status status = a->request.device ? plan_device_parse(a->request.device, &wanted, err) : ASSAY_OK;
  if (!status)
    status = form_of(a->request.candidate, wanted, access("/dev/nvidiactl", F_OK) == 0, &form, err);
  if (status)
    return status;
  if (wanted && wanted != form->device)
    return error_set(err, ASSAY_ERR_USAGE, "%s is for device %s, not for %s", a->request.candidate, form->device->name,
                     wanted->name);
  while (s->devices[a->device].device != form->device)
    a->device++;
  return ASSAY_OK;
}

static void set_options(struct assay_session *s, struct api_asked *a) {
  struct assay_judge_options *o = &a->options;
  const struct assay_request *r = &a->request;
  assay_judge_defaults(o);
  o->task = a->task_path;
  o->candidate = r->candidate;
  o->paths = &s->paths;
  o->device = s->devices[a->device].device->name;
  o->peaks = s->devices[a->device].peaks;
  o->workload = r->workload ? r->workload : o->workload;
  o->defines = r->defines;
  o->seed = r->seed;
  o->secret = r->secret;
  o->threads = r->threads > 0 ? r->threads : parallel_cpus();
  o->timing = !r->no_timing;
  o->probes = !r->no_probes;
  o->budget_ns = r->budget_ns > 0 ? r->budget_ns : o->budget_ns;
}

static enum assay_status check_numbers(const struct assay_request *r, struct assay_error *err) {
  if (r->threads < 0 || r->threads > ASSAY_MOST_THREADS)
    return error_set(err, ASSAY_ERR_USAGE, "assay_request.threads is 1 to %d, or 0 for all CPUs, not %d",
                     ASSAY_MOST_THREADS, r->threads);
  if (r->budget_ns < 0)
    return error_set(err, ASSAY_ERR_USAGE, "assay_request.budget_ns is a time in nanoseconds, or 0 for 900 s, not %lld",
                     (long long)r->budget_ns);
  return ASSAY_OK;
}

enum assay_status api_ask(struct assay_session *s, const struct assay_request *r, bool candidate, struct api_asked *out,
                          struct assay_error *err) {
  struct api_asked a = {0};
  enum assay_status status = thread_has_stack(err);
  if (!status)
    status = api_take(&a.request, sizeof a.request, r, "assay_request", err);
  if (!status)
    status = check_numbers(&a.request, err);
  if (!status && !a.request.task)
    status = error_set(err, ASSAY_ERR_USAGE, "name a task: assay_request.task = \"kernelbench/1/19\"");
  if (!status && candidate && !a.request.candidate)
    status = error_set(err, ASSAY_ERR_USAGE, "name a kernel's file: assay_request.candidate");
  if (!status)
    status = task_find(s->tasks, a.request.task, &a.task_path, err);
  if (!status && candidate)
    status = choose_device(s, &a, err);
  if (!status && candidate)
    set_options(s, &a);
  if (status)
    base_free(a.task_path);
  else
    *out = a;
  return status;
}
