// SPDX-License-Identifier: Apache-2.0
// A worker of `assay serve`: a process that judges one job after the other, on one unit. What it says, and what is said
// to it, is in serve/workers.h.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/serving.h"
#include "judge/record.h"
#include "sandbox/sandbox.h"
#include "task/task.h"

enum { LOOK_MS = 1000 };
static const int64_t AGAIN_NS = 1000000000; // before a job is tried again

// One job on its way.
struct work {
  struct serving *a;
  struct store *store;
  int to; // the server
  struct queue_work job;
  json_t *settings;
  char *folder, *task_path;
  struct assay_verdict verdict;
};

// Writes the source under its own name into a folder of its own, which becomes the current one: the command that
// repeats the judgement, and the compiler's messages, then have that name and no path of this machine.
static enum assay_status put_source(struct work *w, struct assay_error *err) {
  enum assay_status status = sandbox_folder_make(w->a->judging.paths.temporary, &w->folder, err);
  if (!status && chdir(w->folder) != 0)
    status = error_set(err, ASSAY_ERR_IO, "cannot enter %s: %s", w->folder, strerror(errno));
  return status ? status : file_write(w->job.job.name, w->job.source, w->job.source_bytes, err);
}

static enum assay_status prepare(struct work *w, struct assay_error *err) {
  struct cli_judging *j = &w->a->judging;
  struct assay_judge_options *o = &j->options;
  enum assay_status status = task_find(j->paths.tasks, w->job.job.task, &w->task_path, err);
  w->settings = json_loads(w->job.settings, 0, NULL);
  if (!status && !w->settings)
    status = error_nomem(err, "a job's settings");
  if (!status)
    status = put_source(w, err);
  if (status)
    return status;
  o->task = w->task_path;
  o->workload = w->job.job.workload;
  serving_take_settings(j, w->settings);
  return cli_use_candidate(j, w->job.job.name, true, err);
}

static void say(const struct work *w, const char *fmt, ...) ASSAY_PRINTF(2, 3);
static void say(const struct work *w, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vdprintf(w->to, fmt, ap);
  va_end(ap);
}

// Waits until nobody else of this server is on the device. The lock goes with the process, however it ends.
static enum assay_status take_turn(const struct work *w, struct assay_error *err) {
  say(w, "ready %lld\n", (long long)w->job.job.id);
  while (w->a->worker_turn >= 0 && flock(w->a->worker_turn, LOCK_EX) != 0)
    if (errno != EINTR)
      return error_set(err, ASSAY_ERR_IO, "cannot wait for the device: %s", strerror(errno));
  say(w, "test %lld %lld\n", (long long)w->job.job.id, (long long)clock_monotonic_ns());
  return ASSAY_OK;
}

static void end_turn(const struct work *w) {
  say(w, "left %lld %lld\n", (long long)w->job.job.id, (long long)clock_monotonic_ns());
  if (w->a->worker_turn >= 0)
    flock(w->a->worker_turn, LOCK_UN);
}

// Builds, and tests what was built when it is this worker's turn on the device.
static enum assay_status judge(struct work *w, struct assay_error *err) {
  struct assay_job *job = NULL;
  enum assay_status status = prepare(w, err);
  if (!status)
    status = assay_judge_begin(&w->a->judging.options, &job, err);
  if (!status)
    status = take_turn(w, err);
  if (!status) {
    status = assay_judge_test(job, err);
    end_turn(w);
  }
  if (!status)
    return assay_judge_conclude(job, &w->verdict, err);
  assay_judge_drop(job);
  return status;
}

static void say_done(const struct work *w, bool published) {
  const struct assay_durations *d = &w->verdict.durations;
  long long job = (long long)w->job.job.id;
  if (published)
    say(w, "done %lld %s %lld %lld %lld %lld %lld\n", job, assay_reason_code(w->verdict.reason), (long long)d->build_ns,
        (long long)d->oracle_ns, (long long)d->checks_ns, (long long)d->timing_ns, (long long)d->total_ns);
  else
    say(w, "lost %lld\n", job);
}

// Stores what came of it. The machine's faults are no verdict.
static enum assay_status publish(struct work *w, bool *published, struct assay_error *err) {
  struct cli_judging *j = &w->a->judging;
  struct store_verdict key;
  struct record_row row = {0};
  if (w->verdict.reason == ASSAY_REASON_JUDGE_FAILED)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s", w->verdict.detail);
  char *command = cli_repeat_command(j, w->job.job.task, w->job.job.name, &w->verdict);
  record_key(w->a->run, &j->options, w->job.job.task, w->job.job.name, w->verdict.candidate_hash,
             w->verdict.settings_hash, &key);
  enum assay_status status = record_row_make(&key, &w->verdict, command ? command : "", &row, err);
  if (!status)
    status = queue_finish(w->store, &w->job.job, &row.verdict, published, err);
  record_row_release(&row);
  base_free(command);
  return status;
}

static void clean(struct work *w) {
  if (chdir("/") != 0 || !w->folder)
    return;
  sandbox_folder_remove(w->folder);
  base_free(w->folder);
}

// Judges the job. The options of the next one begin as those of this one did.
static void work_on(struct work *w) {
  struct assay_judge_options *o = &w->a->judging.options;
  const struct assay_judge_options before = *o;
  struct assay_error err = {0};
  bool published = false;
  say(w, "claim %lld %lld\n", (long long)w->job.job.id, (long long)w->job.job.attempt);
  enum assay_status status = judge(w, &err);
  bool judged = !status;
  if (!status)
    status = publish(w, &published, &err);
  if (!status) {
    say_done(w, published);
  } else {
    struct assay_error ignored = {0};
    fprintf(stderr, "assay: job %.16s: %s\n", w->job.job.identity, err.message);
    queue_put_back(w->store, w->job.job.id, w->job.job.attempt, "the machine failed; the server's log says how",
                   w->a->options.most_faults, clock_wall_ns() + AGAIN_NS * (1 + w->job.job.faults), &ignored);
    say(w, "back %lld\n", (long long)w->job.job.id);
  }
  if (judged)
    assay_verdict_release(&w->verdict);
  clean(w);
  *o = before;
  json_decref(w->settings);
  base_free(w->task_path);
  queue_work_release(&w->job);
}

// Waits for a byte, or for some time: jobs that were put back become due by themselves. False: the input has ended. The
// bytes that came before its end say nothing any more: all are read, or one more job would begin while the server ends.
static bool await(int timeout_ms) {
  struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
  char bytes[256];
  for (int n; (n = poll(&in, 1, timeout_ms)) > 0; timeout_ms = 0) {
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got == 0 || (got < 0 && errno != EINTR))
      return false;
  }
  return true;
}

static int run(struct serving *a, struct store *store, int to) {
  struct assay_error err = {0};
  for (bool open = await(0); open;) {
    struct work w = {.a = a, .store = store, .to = to};
    bool found = false;
    const struct queue_claimant who = {
        .device = a->worker_device, .unit = a->worker, .owner = getpid(), .ahead = a->worker_ahead};
    if (queue_claim(store, &who, &w.job, &found, &err) != ASSAY_OK)
      return cli_fail(&err);
    if (found)
      work_on(&w);
    open = await(found ? 0 : LOOK_MS);
  }
  return CLI_PASS;
}

// The device of workers that share it: a file next to the store.
static enum assay_status open_turn(struct serving *a, struct assay_error *err) {
  char path[4200];
  a->worker_turn = -1;
  if (!a->worker_ahead)
    return ASSAY_OK;
  snprintf(path, sizeof path, "%s.serve.%s", a->judging.paths.store, a->worker);
  a->worker_turn = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return a->worker_turn < 0 ? error_set(err, ASSAY_ERR_IO, "cannot open %s: %s", path, strerror(errno)) : ASSAY_OK;
}

int serving_work(struct serving *a) {
  struct store *store = NULL;
  struct assay_error err = {0};
  // What a judgement prints must not be taken for what this process says.
  int to = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (to < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return CLI_ENVIRONMENT;
  if (store_open(a->judging.paths.store, &store, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (open_turn(a, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_judging_finish(&a->judging, store);
  a->judging.device = a->worker_device;
  a->judging.options.device_index = a->worker_index;
  int code = run(a, store, to);
  cli_judging_close(&a->judging);
  store_close(store);
  return code;
}
