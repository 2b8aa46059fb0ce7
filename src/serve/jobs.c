// SPDX-License-Identifier: Apache-2.0
// /v1/jobs: submitting, following, cancelling.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "serve/server.h"

enum { RETRY_FULL_S = 10, USUALLY_LISTED = 20, MOST_LISTED = 100 };

static json_t *link_json(const char *format, const char *identity, bool there) {
  char text[QUEUE_IDENTITY + 32];
  if (!there)
    return json_null();
  snprintf(text, sizeof text, format, identity);
  return json_string(text);
}

json_t *job_json(const struct queue_job *job) {
  json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:s?}", "schema", "assay/job/1",
                        "id", job->identity, "state", queue_state_name(job->state), "device", job->device, "task",
                        job->task, "workload", job->workload, "candidate", job->name, "candidate_sha256",
                        job->candidate_hash, "timed", job->timed, "attempts", (json_int_t)job->attempt, "faults",
                        (json_int_t)job->faults, "ahead", (json_int_t)job->ahead, "why", job->why[0] ? job->why : NULL);
  if (!j)
    return NULL;
  json_object_set_new(j, "submitted_at", time_json(job->at_ns));
  json_object_set_new(j, "changed_at", time_json(job->last_ns));
  json_object_set_new(j, "ended_at", time_json(job->end_ns));
  json_object_set_new(j, "self", link_json("/v1/jobs/%s", job->identity, true));
  json_object_set_new(j, "events", link_json("/v1/jobs/%s/events", job->identity, true));
  json_object_set_new(j, "verdict", link_json("/v1/verdicts/%s", job->identity, job->state == QUEUE_DONE));
  return j;
}

// Everything that decides what a verdict means. Two submissions with the same are one job.
static enum assay_status identify(const struct server *s, const struct serve_candidate *c,
                                  const struct serve_admission *a, char hash[QUEUE_IDENTITY],
                                  char identity[QUEUE_IDENTITY], struct assay_error *err) {
  hash_sha256_hex(c->source, c->source_bytes, hash);
  json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "task", a->task, "candidate", hash, "name", c->name,
                        "settings", a->settings_hash, "workload", a->workload, "device", a->kind, "toolchain",
                        a->toolchain, "judge", s->o->version);
  char *text = j ? json_dumps(j, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
  json_decref(j);
  if (!text)
    return error_nomem(err, "a job's identity");
  hash_sha256_hex(text, strlen(text), identity);
  free(text);
  return ASSAY_OK;
}

static enum assay_status admit(const struct server *s, struct submission *b, int i, struct assay_error *err) {
  const struct serve_candidate *c = &b->request.candidates[i];
  struct submission_entry *e = &b->entries[i];
  enum assay_status status = s->o->admit(s->o->admit_arg, c, &e->admission, err);
  if (!status)
    status = identify(s, c, &e->admission, e->hash, e->identity, err);
  b->rows[i] = (struct queue_request){.identity = e->identity,
                                      .device = e->admission.device,
                                      .task = e->admission.task,
                                      .workload = e->admission.workload,
                                      .name = c->name,
                                      .settings = b->request.settings,
                                      .candidate_hash = e->hash,
                                      .source = {c->source, c->source_bytes},
                                      .timed = e->admission.timed};
  if (status == ASSAY_ERR_NOT_FOUND || status == ASSAY_ERR_SYNTAX) // of a task: the submission is wrong
    status = err->status = ASSAY_ERR_INVALID;
  return status;
}

static enum assay_status admit_all(struct call *c, struct submission *b, struct assay_error *err) {
  enum assay_status status = request_parse(buf_str(&c->body), c->body.len, &b->request, err);
  size_t n = (size_t)b->request.n;
  if (status)
    return status;
  b->rows = base_calloc(n, sizeof *b->rows);
  b->jobs = base_calloc(n, sizeof *b->jobs);
  b->entries = base_calloc(n, sizeof *b->entries);
  if (!b->rows || !b->jobs || !b->entries)
    return error_nomem(err, "a submission");
  for (int i = 0; i < b->request.n && !status; i++)
    status = admit(c->server, b, i, err);
  b->batch = (struct queue_batch){.submitter = c->submitter, .requests = b->rows, .n = b->request.n, .jobs = b->jobs};
  return status;
}

static json_t *jobs_json(const struct queue_job *jobs, int n) {
  json_t *list = json_array();
  for (int i = 0; i < n && list; i++)
    json_array_append_new(list, job_json(&jobs[i]));
  return json_pack("{s:s, s:o}", "schema", "assay/jobs/1", "jobs", list);
}

// Of a submission that the writer is done with.
static enum MHD_Result answer_submission(struct call *c, const struct submission *b) {
  char location[QUEUE_IDENTITY + 16];
  bool done = true;
  if (b->batch.status == ASSAY_ERR_LIMIT)
    return reply_problem(c, &(struct problem){.code = 503, .detail = b->batch.error.message, .retry_s = RETRY_FULL_S});
  if (b->batch.status == ASSAY_ERR_IO || b->batch.status == ASSAY_ERR_BUSY)
    return reply_not_stored(c, &b->batch.error);
  if (b->batch.status)
    return reply_failure(c, &b->batch.error);
  snprintf(location, sizeof location, "/v1/jobs/%s", b->jobs[0].identity);
  for (int i = 0; i < b->request.n; i++)
    done = done && b->jobs[i].state == QUEUE_DONE;
  return reply_created(c, done ? MHD_HTTP_OK : MHD_HTTP_ACCEPTED, location, jobs_json(b->jobs, b->request.n));
}

enum MHD_Result jobs_submit(struct call *c) {
  struct assay_error err = {0};
  int retry_s = 0;
  if (c->submission)
    return answer_submission(c, c->submission);
  if (!tokens_take(c->server->tokens, c->submitter, clock_monotonic_ns(), &retry_s))
    return reply_problem(
        c, &(struct problem){.code = 429, .detail = "this token submits faster than it may", .retry_s = retry_s});
  c->submission = base_calloc(1, sizeof *c->submission);
  if (!c->submission)
    return reply_json(c, 500, NULL);
  enum assay_status status = admit_all(c, c->submission, &err);
  if (status)
    return reply_failure(c, &err);
  if (writer_put(c->server, c->submission, c->connection))
    return MHD_YES;
  return reply_problem(c, &(struct problem){.code = 503, .detail = "the server is ending", .retry_s = 5});
}

void submission_destroy(struct submission *b) {
  if (!b)
    return;
  request_release(&b->request);
  base_free(b->rows);
  base_free(b->jobs);
  base_free(b->entries);
  base_free(b);
}

static bool list_job(void *arg, const struct queue_job *job) {
  json_array_append_new(arg, job_json(job));
  return true;
}

// The number in a query, at most `most`; `usual` where there is none, -1 where it is no number.
static int64_t number_of(struct call *c, const char *key, int64_t usual, int64_t most) {
  const char *text = MHD_lookup_connection_value(c->connection, MHD_GET_ARGUMENT_KIND, key);
  if (!text)
    return usual;
  size_t n = strlen(text);
  if (n == 0 || n > 6 || strspn(text, "0123456789") != n)
    return -1;
  int64_t value = strtoll(text, NULL, 10);
  return value < most ? value : most;
}

enum MHD_Result jobs_list(struct call *c) {
  struct assay_error err = {0};
  int64_t limit = number_of(c, "limit", USUALLY_LISTED, MOST_LISTED);
  if (limit < 0)
    return reply_problem(c, &(struct problem){.code = 400, .detail = "limit is a number of jobs"});
  json_t *list = json_array();
  pthread_mutex_lock(&c->server->read_lock);
  enum assay_status status = queue_each(c->server->reader, limit, list_job, list, &err);
  pthread_mutex_unlock(&c->server->read_lock);
  json_t *j = json_pack("{s:s, s:o}", "schema", "assay/jobs/1", "jobs", list);
  if (!status)
    return reply_json(c, 200, j);
  json_decref(j);
  return reply_failure(c, &err);
}

enum MHD_Result jobs_get(struct call *c) {
  struct server *s = c->server;
  struct queue_job job;
  int64_t wait = number_of(c, "wait", 0, SERVE_MOST_WAIT_S);
  if (wait < 0)
    return reply_problem(c, &(struct problem){.code = 400, .detail = "wait is a number of seconds"});
  if (c->deadline_ns == 0)
    c->deadline_ns = clock_monotonic_ns() + wait * 1000000000;
  for (;;) {
    struct assay_error err = {0};
    uint64_t generation = hub_generation(&s->hub);
    pthread_mutex_lock(&s->read_lock);
    enum assay_status status = queue_get(s->reader, c->identity, &job, &err);
    pthread_mutex_unlock(&s->read_lock);
    if (status)
      return reply_failure(c, &err);
    if (queue_has_ended(job.state) || clock_monotonic_ns() >= c->deadline_ns || hub_is_closed(&s->hub))
      return reply_json(c, 200, job_json(&job));
    c->waiter.connection = c->connection;
    c->waiter.job = job.id;
    c->waiter.deadline_ns = c->deadline_ns;
    if (hub_wait(&s->hub, &c->waiter, generation))
      return MHD_YES;
  }
}

enum MHD_Result jobs_cancel(struct call *c) {
  struct server *s = c->server;
  struct assay_error err = {0};
  struct queue_job job;
  bool ended = false;
  pthread_mutex_lock(&s->write_lock);
  enum assay_status status = queue_cancel(s->writer, c->identity, c->submitter, &ended, &job, &err);
  pthread_mutex_unlock(&s->write_lock);
  if (status == ASSAY_ERR_INVALID)
    return reply_problem(c, &(struct problem){.code = 409, .detail = err.message});
  if (status)
    return reply_failure(c, &err);
  if (ended) {
    workers_end_job(s, job.id);
    hub_wake(&s->hub, job.id);
  }
  return reply_json(c, 200, job_json(&job));
}
