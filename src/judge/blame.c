// SPDX-License-Identifier: Apache-2.0
// Whose fault a failure is: a Python candidate that did not come to run may lack what this machine does not have.
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "judge/blame.h"
#include "judge/session.h"
#include "judge/workbench.h"
#include "sandbox/sandbox.h"
#include "toolchain/python.h"

// Contexts and code of ours on a GPU, and a desktop.
#define CONTEXTS_BYTES (UINT64_C(4) << 30)

// Addresses that a process takes beside what a kernel may, where the runner did not come to say it: ours, with its
// buffers and stacks, and PyTorch's.
#define PROCESS_BYTES ((size_t)1 << 30)
#define PYTORCH_BYTES ((size_t)8 << 30)

// Reasons of candidates that did not come to run, or not to their end.
static bool may_lack_something(enum assay_reason reason) {
  return reason == ASSAY_REASON_BUILD_FAILED || reason == ASSAY_REASON_LOAD_FAILED || reason == ASSAY_REASON_RAISED;
}

// Whether a word is in a text, but for PyTorch's own line about a toolkit, which it prints wherever it looks for one.
static bool text_tells(const char *text, const char *word) {
  for (const char *line = text, *end; line; line = end ? end + 1 : NULL) {
    const char *at = strcasestr(line, word), *own = strstr(line, "No CUDA runtime is found, using CUDA_HOME");
    end = strchr(line, '\n');
    if (!at)
      return false;
    if ((!end || at < end) && !(own && (!end || own < end)))
      return true;
  }
  return false;
}

// A source that can use a GPU may also do without: then its failure is its own, unless what was raised is about GPUs,
// or is Inductor's, which runs a compiler as it is called: forbidden on the CPU alone. What is printed counts only
// where a build or an import failed.
static bool is_about_a_gpu(const struct assay_verdict *v) {
  static const char *const words[] = {"cuda", "gpu", "nvidia", "driver", "triton", "InductorError"};
  const char *printed = v->reason == ASSAY_REASON_RAISED ? NULL : v->diagnostics;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasestr(v->detail, words[i]) || (printed && text_tells(printed, words[i])))
      return true;
  return false;
}

bool blame_lacks_memory(enum assay_reason reason, const char *detail) {
  static const char *const words[] = {
      "out of memory", "no memory", "no room", "not allocated yet", "unable to find an engine",
      "ALLOC_FAILED"}; // the last: cuDNN's and cuBLAS's
  bool may = reason == ASSAY_REASON_LOAD_FAILED || reason == ASSAY_REASON_RAISED ||
             reason == ASSAY_REASON_UNRECORDABLE || reason == ASSAY_REASON_OUT_OF_MEMORY;
  for (size_t i = 0; may && i < sizeof words / sizeof *words; i++)
    if (strcasestr(detail, words[i]))
      return true;
  return false;
}

size_t blame_others(const struct compute_memory *m) {
  size_t known = m->available + m->in_use, others = m->total > known ? m->total - known : 0;
  size_t usual = m->total / 8 > CONTEXTS_BYTES ? m->total / 8 : CONTEXTS_BYTES;
  return others > usual ? others : 0;
}

// What ended without a word may have been ended by the machine's kernel: nobody of ours kills a build or a call but for
// its time, and a limit of memory lets allocations fail.
static enum assay_status blame_kernel(const struct session *s, struct assay_error *err) {
  bool may = s->v->reason == ASSAY_REASON_OUT_OF_MEMORY || s->v->reason == ASSAY_REASON_BUILD_LIMIT;
  int64_t kills = may && s->oom_kills >= 0 ? load_oom_kills(s->o->paths->proc) - s->oom_kills : 0;
  if (kills <= 0)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "not judged here: the machine ran out of memory, and its kernel ended %lld process%s meanwhile (it "
                   "ended as %s: %.300s)",
                   (long long)kills, kills == 1 ? "" : "es", assay_reason_code(s->v->reason), s->v->detail);
}

// What ran out of memory under a limit of whoever started this process (ulimit) that is narrower than a call's own.
static enum assay_status blame_limits(const struct session *s, struct assay_error *err) {
  static const char *const words[] = {"allocate memory", "MemoryError", "bad_alloc", "failed to map segment"};
  const bool python = s->choice.form->python;
  const size_t least = s->o->runner_memory_bytes + (python ? PYTORCH_BYTES : PROCESS_BYTES);
  const size_t told = s->subject ? s->subject->found.wanted_bytes : 0;
  const struct sandbox_policy wanted = {.memory_bytes = told ? told : least};
  char which[SANDBOX_NARROWER_BYTES];
  // The last: by what malloc() gave, and nobody looked.
  bool may = blame_lacks_memory(s->v->reason, s->v->detail) || s->v->reason == ASSAY_REASON_OUT_OF_MEMORY ||
             (s->v->reason == ASSAY_REASON_CRASHED && strstr(s->v->detail, "at address 0x0"));
  for (size_t i = 0; !may && may_lack_something(s->v->reason) && i < sizeof words / sizeof *words; i++)
    may = strstr(s->v->detail, words[i]);
  if (!may || s->choice.form->device->gpu || !sandbox_is_narrower(&wanted, which))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "not judged here: this process has a narrower limit than kernels may have (%s): raise it (it ended "
                   "as %s: %.300s)",
                   which, assay_reason_code(s->v->reason), s->v->detail);
}

static void *wait_there(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

// Whether so many threads can be started here, at most MOST_TRIED, beside those that there are: found by trying.
static bool threads_start(int n) {
  enum { MOST_TRIED = 256 };
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t threads[MOST_TRIED];
  int started = 0, refused = 0;
  n = n < MOST_TRIED ? n : MOST_TRIED;
  pthread_mutex_lock(&gate);
  while (started < n && !(refused = pthread_create(&threads[started], NULL, wait_there, &gate)))
    started++;
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < started; i++)
    pthread_join(threads[i], NULL);
  return !refused;
}

// Whether it is said that a thread or a process was refused, as by libgomp ("Thread creation failed: Resource
// temporarily unavailable") and Python ("can't start new thread").
static bool speaks_of_threads(const struct assay_verdict *v, const char *log) {
  static const char *const words[] = {"thread", "EAGAIN", "temporarily unavailable"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasestr(v->detail, words[i]) || (v->diagnostics && strcasestr(v->diagnostics, words[i])) ||
        strcasestr(log, words[i]))
      return true;
  return false;
}

int blame_threads_asked(const struct assay_verdict *v, const char *log, int threads) {
  enum { SPARE = 4, BUILD = 8 }; // those that processes have before these; those of a build, with the judge's
  if (v->reason == ASSAY_REASON_BUILD_LIMIT)
    return !speaks_of_threads(v, log) ? 0 : 2 * threads + SPARE > BUILD ? 2 * threads + SPARE : BUILD;
  const bool may =
      may_lack_something(v->reason) || v->reason == ASSAY_REASON_EXITED || v->reason == ASSAY_REASON_CRASHED;
  return !may                        ? 0
         : speaks_of_threads(v, log) ? 2 * threads + SPARE
                                     : threads; // the answer's and the kernel's, or these
}

// Where processes and threads are counted (ulimit -u, pids.max of a container), others may have used them up: what ends
// or raises then may have been refused a thread. The candidate's own are gone by now.
static enum assay_status blame_threads(const struct session *s, struct assay_error *err) {
  const char *log = s->subject && s->subject->ops->log ? s->subject->ops->log(s->subject) : NULL;
  const int n = blame_threads_asked(s->v, log ? log : "", s->o->threads);
  if (!n || threads_start(n))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "not judged here: %d threads cannot be started, which judge and candidate may need at a time: raise "
                   "ulimit -u or the "
                   "container's pids.max, or end other processes (it ended as %s: %.300s)",
                   n, assay_reason_code(s->v->reason), s->v->detail);
}

// A program that judges by the library may collect children that are not its own.
static enum assay_status blame_host(const struct session *s, struct assay_error *err) {
  if (s->v->reason == ASSAY_REASON_PASS || sandbox_lost() == s->lost)
    return ASSAY_OK;
  return error_set(
      err, ASSAY_ERR_ENVIRONMENT,
      "not judged here: something else in this process waits for its children, so that nobody knows how the "
      "candidate ended (%s: %.300s)",
      assay_reason_code(s->v->reason), s->v->detail);
}

// Docker's --tmpfs and careful machines mount /tmp noexec: no library that was built there is loaded.
static enum assay_status blame_folder(const struct session *s, struct assay_error *err) {
  bool may = s->v->reason == ASSAY_REASON_LOAD_FAILED || strstr(s->v->detail, "failed to map segment");
  if (!may || !s->build_folder || sandbox_folder_runs(s->build_folder))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "not judged here: %s is mounted noexec, so nothing that is built there can be loaded: name another "
                   "folder with TMPDIR (it ended as %s: %.300s)",
                   s->o->paths->temporary, assay_reason_code(s->v->reason), s->v->detail);
}

// PyTorch writes names of files into ninja's rules as they are: none is built where they have ninja's own signs.
static enum assay_status blame_name(const struct session *s, struct assay_error *err) {
  static const char *const words = "ninja: error: ";
  const char *printed = s->v->diagnostics ? s->v->diagnostics : "";
  const bool may =
      may_lack_something(s->v->reason) && (strstr(s->v->detail, words) || strstr(printed, words)) && s->build_folder;
  if (!may || !strpbrk(s->build_folder, "$:\n"))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "not judged here: PyTorch builds no extension in a folder with a dollar or a colon in its name, as "
                   "%s: name another one with TMPDIR (it ended as %s: %.300s)",
                   s->o->paths->temporary, assay_reason_code(s->v->reason), s->v->detail);
}

// A GPU whose memory others had: what failed for want of it may pass when they are gone.
static enum assay_status blame_crowd(const struct session *s, struct assay_error *err) {
  struct assay_workbench *w = s->subject ? s->subject->on : NULL;
  struct compute_memory m;
  if (!w || !workbench_compute(w) || !compute_is_cuda(workbench_compute(w)) ||
      !blame_lacks_memory(s->v->reason, s->v->detail))
    return ASSAY_OK;
  workbench_make_room(w, SIZE_MAX); // what is left in use is the others'
  compute_memory(workbench_compute(w), &m);
  size_t others = blame_others(&m);
  if (!others)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "not judged here: other processes have %.1f of the GPU's %.1f GB (it ended as %s: %.300s)",
                   (double)others * 1e-9, (double)m.total * 1e-9, assay_reason_code(s->v->reason), s->v->detail);
}

static enum assay_status find_missing(const struct session *s, struct arena *a, char **missing,
                                      struct assay_error *err) {
  char *folder = NULL;
  struct python_place place;
  const struct python_source source = {
      .text = s->source, .bytes = s->source_bytes, .on_gpu = s->choice.form->device->gpu, .failure = s->v->detail};
  enum assay_status status = python_find(s->o->paths, a, &place, err);
  if (!status)
    status = sandbox_folder_make(s->o->paths->temporary, &folder, err);
  if (!status)
    status = python_missing(&place, folder, &source, missing, err);
  if (folder)
    sandbox_folder_remove(folder);
  base_free(folder);
  return status;
}

enum assay_status session_blame_machine(struct session *s, struct assay_error *err) {
  struct arena arena = {0};
  char *missing = NULL;
  enum assay_status blamed = blame_kernel(s, err);
  if (!blamed)
    blamed = blame_limits(s, err);
  if (!blamed)
    blamed = blame_threads(s, err);
  if (!blamed)
    blamed = blame_host(s, err);
  if (!blamed)
    blamed = blame_folder(s, err);
  if (!blamed && s->choice.form->python)
    blamed = blame_name(s, err);
  if (!blamed && s->choice.form->python)
    blamed = blame_crowd(s, err);
  if (blamed)
    return blamed;
  if (!s->choice.form->python || !s->source || !may_lack_something(s->v->reason))
    return ASSAY_OK;
  enum assay_status status = find_missing(s, &arena, &missing, err);
  bool lacks = !status && missing[0] && (strcmp(missing, "a GPU") != 0 || is_about_a_gpu(s->v));
  if (lacks)
    status =
        error_set(err, ASSAY_ERR_ENVIRONMENT, "not judged here, on device %s: it needs %s (it ended as %s: %.300s)",
                  s->choice.form->device->name, missing, assay_reason_code(s->v->reason), s->v->detail);
  base_free(missing);
  arena_release(&arena);
  return status;
}
