// SPDX-License-Identifier: Apache-2.0
// Baselines: candidates that were judged and stay. Each has a process of its own next to the candidate's, so that
// neither can reach the other, and is called in turn with it: what disturbs the machine disturbs both.
#include "judge/baseline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "judge/session.h"

enum { STREAM_BASELINES = 100, STREAM_CALLS, STREAM_POISONS };

struct member {
  struct assay_job *job; // NULL: there is none at hand
  char *path;
  bool usable;
  uint64_t calls;
};

struct assay_baselines {
  const char *const *names;
  int n;
  assay_baseline_file *file;
  void *arg;
  struct buf subject; // what they are at hand for
  struct member members[MOST_BASELINES];
};

enum assay_status assay_baselines_open(const char *const *names, assay_baseline_file *file, void *arg,
                                       struct assay_baselines **out, struct assay_error *err) {
  int n = 0;
  while (names[n])
    n++;
  if (n > MOST_BASELINES)
    return error_set(err, ASSAY_ERR_USAGE, "at most %d baselines at a time", MOST_BASELINES);
  struct assay_baselines *b = base_calloc(1, sizeof *b);
  if (!b)
    return error_nomem(err, "baselines");
  *b = (struct assay_baselines){.names = names, .n = n, .file = file, .arg = arg};
  *out = b;
  return ASSAY_OK;
}

static void drop_member(struct member *m) {
  if (m->job)
    judge_leave(m->job);
  assay_judge_drop(m->job);
  base_free(m->path);
  *m = (struct member){0};
}

static void drop_members(struct assay_baselines *b) {
  for (int i = 0; i < b->n; i++)
    drop_member(&b->members[i]);
  buf_clear(&b->subject);
}

void assay_baselines_close(struct assay_baselines *b) {
  if (!b)
    return;
  drop_members(b);
  buf_release(&b->subject);
  base_free(b);
}

int baselines_count(const struct assay_baselines *b) {
  return b ? b->n : 0;
}

const char *baselines_name(const struct assay_baselines *b, int i) {
  return b->names[i];
}

// A baseline is right at the workload that is timed; more is not asked of it.
static struct assay_judge_options options_of(const struct assay_judge_options *o, const char *path, int index) {
  struct assay_judge_options own = *o;
  own.candidate = path;
  own.toolchain = own.compiler = NULL;
  own.defines = NULL;
  own.baselines = NULL;
  own.progress = NULL;
  own.probes = false;
  own.shapes = ASSAY_SHAPES_GENERAL;
  own.declared_checks = 1;
  own.verified_calls = 0;
  own.seed = o->seed ? rng_derive(o->seed, STREAM_BASELINES + (uint64_t)index) >> 1 | 1 : 0;
  own.secret = o->secret ? rng_derive(o->secret, STREAM_BASELINES + (uint64_t)index) >> 1 | 1 : 0;
  return own;
}

static enum assay_status open_member(struct assay_baselines *b, const struct assay_judge_options *o, int i,
                                     struct assay_error *err) {
  struct member *m = &b->members[i];
  struct assay_error why = {0};
  const char *path = NULL;
  enum assay_status status = b->file(b->arg, b->names[i], o, &path, err);
  if (status)
    return status;
  m->path = base_strndup(path, strlen(path));
  if (!m->path)
    return error_nomem(err, "a baseline");
  struct assay_judge_options own = options_of(o, m->path, i);
  if (o->workbench)
    status = workbench_beside(o->workbench, i, &own.workbench, err);
  if (!status)
    status = assay_judge_begin(&own, &m->job, &why);
  if (!status)
    status = judge_keep(m->job, &why);
  m->usable = !status && session_is_good(judge_session(m->job));
  if (status && why.message[0])
    error_set(err, status, "the baseline %s: %.400s", b->names[i], why.message);
  return status;
}

enum assay_status baselines_use(struct assay_baselines *b, const struct assay_judge_options *o,
                                struct assay_error *err) {
  struct buf subject = {0};
  buf_printf(&subject, "%s\n%s\n%d\n%s\n%s\n%d\n%d\n%d", o->task, o->workload, o->as_published,
             o->contract ? o->contract : "", o->device, o->device_index, o->threads, (int)o->rule);
  enum assay_status status = buf_status(&subject, err);
  if (!status && strcmp(buf_str(&b->subject), buf_str(&subject)) != 0) {
    drop_members(b);
    for (int i = 0; i < b->n && !status; i++)
      status = open_member(b, o, i, err);
    if (status)
      drop_members(b);
    else
      buf_puts(&b->subject, buf_str(&subject));
  }
  buf_release(&subject);
  return status;
}

static enum assay_status call_member(struct member *m, double *sample_ns, struct assay_error *err) {
  struct session *s = judge_session(m->job);
  struct runner_report report = {0};
  uint64_t key = rng_secret(rng_derive(s->v->secret, STREAM_CALLS), m->calls);
  uint32_t poison =
      POISON_NAN | (uint32_t)(rng_secret(rng_derive(s->v->secret, STREAM_POISONS), m->calls) & POISON_PAYLOAD);
  m->calls++;
  enum assay_status status = s->subject->ops->fill(s->subject, PROBE_DECLARED, key, poison, err);
  if (!status)
    status = s->subject->ops->call(s->subject, CALL_COLD, &report, err);
  if (status)
    return status;
  if (report.event != RUNNER_OK) {
    session_decide_event(s, &report);
    m->usable = false;
  } else if (s->subject->ops->steady(s->subject)) {
    *sample_ns = (double)report.elapsed_ns;
  }
  return ASSAY_OK;
}

enum assay_status baselines_call(struct assay_baselines *b, double samples_ns[MOST_BASELINES],
                                 struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < b->n && !status; i++) {
    samples_ns[i] = NAN;
    if (b->members[i].usable)
      status = call_member(&b->members[i], &samples_ns[i], err);
  }
  return status;
}

enum assay_status baselines_null_call(struct assay_baselines *b, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < b->n && !status; i++) {
    struct member *m = &b->members[i];
    struct session *s = m->usable ? judge_session(m->job) : NULL;
    struct runner_report report = {0};
    if (!s || !s->subject->ops->null_call || s->subject->ops->stamps)
      continue;
    status = s->subject->ops->null_call(s->subject, &s->overhead_ns, &report, err);
    if (!status && report.event != RUNNER_OK) {
      session_decide_event(s, &report);
      m->usable = false;
    }
  }
  return status;
}

void baselines_describe(const struct assay_baselines *b, int i, struct assay_comparison *out) {
  const struct assay_verdict *v = judge_session(b->members[i].job)->v;
  snprintf(out->name, sizeof out->name, "%s", b->names[i]);
  out->reason = v->reason;
  snprintf(out->detail, sizeof out->detail, "%.255s", v->detail);
  memcpy(out->mode, v->mode, sizeof out->mode);
  snprintf(out->made_with, sizeof out->made_with, "%.199s", v->compiler_version ? v->compiler_version : "");
}

double baselines_overhead_ns(const struct assay_baselines *b, int i) {
  return judge_session(b->members[i].job)->overhead_ns;
}
