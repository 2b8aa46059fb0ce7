// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/make.h"
#include "compute/cuda_driver.h"
#include "judge/record.h"
#include "model/extract.h"

static int64_t cpu_ns(void) {
  int64_t all = 0;
  for (int children = 0; children < 2; children++) {
    struct rusage u = {0};
    getrusage(children ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
    all += (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * (int64_t)1000000000 +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * (int64_t)1000;
  }
  return all;
}

// Builds, and goes on unless what was built is known.
static enum assay_status judge_new(const struct assay_judge_options *o, struct engine_candidate *c,
                                   struct assay_verdict *v, struct assay_error *err) {
  struct assay_job *job;
  enum assay_status status = assay_judge_begin(o, &job, err);
  if (status)
    return status;
  c->same_as = c->known ? c->known(c->known_arg, assay_job_built(job)) : -1;
  if (c->same_as < 0)
    status = assay_judge_test(job, err);
  if (!status && c->same_as < 0)
    return assay_judge_conclude(job, v, err);
  assay_judge_drop(job);
  return status;
}

// Judges, and stores the verdict.
static enum assay_status judge_now(struct make *m, struct engine_candidate *c, const struct store_verdict *key,
                                   struct assay_error *err) {
  struct cli_judging *j = &m->judging;
  struct assay_verdict v;
  int64_t start = clock_monotonic_ns(), cpu = cpu_ns();
  enum assay_status status = judge_new(&j->options, c, &v, err);
  if (status || c->same_as >= 0) {
    c->judge_ns = c->build_ns = clock_monotonic_ns() - start;
    c->cpu_ns = cpu_ns() - cpu;
    return status;
  }
  char *command = cli_repeat_command(j, c->task->name, c->file, &v);
  status = record_put(m->store, key, &v, command ? command : "", err);
  base_free(command);
  c->build_ns = v.durations.build_ns;
  c->judge_ns = clock_monotonic_ns() - start;
  c->cpu_ns = cpu_ns() - cpu;
  c->gpu_ns = strcmp(j->options.device, "cpu") == 0 ? 0 : v.durations.kernel_ns;
  if (!status && v.reason == ASSAY_REASON_JUDGE_FAILED)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s cannot be judged here: %s", c->task->name, v.detail);
  assay_verdict_release(&v);
  return status ? status : store_find(m->store, key, &c->verdict, err);
}

static enum assay_status judge_candidate(struct make *m, struct engine_candidate *c, const char *run,
                                         struct assay_error *err) {
  struct assay_judge_options *o = &m->judging.options;
  struct store_verdict key;
  struct record_hashes hashes;
  o->task = c->task->path;
  enum assay_status status = cli_use_candidate(&m->judging, c->file, true, err);
  if (!status)
    status = record_key_of_file(run, o, c->task->name, c->file, &hashes, &key, err);
  if (!status)
    status = store_find(m->store, &key, &c->verdict, err); // judged by a process that ended before it could say so
  return status || c->verdict ? status : judge_now(m, c, &key, err);
}

// A winner is asked more often than before, by fresh entropy in any case, and its verdict has a run of its own: no
// score takes the luckiest of two times.
static void ask_harder(struct assay_judge_options *o) {
  enum { MORE_CHECKS = 2, MOST_CHECKS = 30 };
  int checks = o->declared_checks * MORE_CHECKS;
  o->declared_checks = checks < MOST_CHECKS ? checks : MOST_CHECKS;
  o->seed = o->secret = 0;
}

// The prompt's own example of the form, in a file. *whole: there is one, which the caller removes.
static enum assay_status write_example(const struct make *m, char *path, size_t size, bool *whole,
                                       struct assay_error *err) {
  const struct answer_form *f = m->engine.form;
  struct model_extract x = {0};
  char from[4200], *text = NULL;
  size_t n = 0;
  *whole = false;
  snprintf(from, sizeof from, "%s/%s.txt", m->engine.prompts, f->prompt);
  snprintf(path, size, "%s/assay-make-XXXXXX%s", m->judging.paths.temporary, f->ending);
  enum assay_status status = file_read(from, FORM_MOST_BYTES, &text, &n, err);
  if (!status)
    status = model_extract(text, n, MODEL_FINISH_STOP, &f->language, NULL, &x, err);
  int fd = !status && x.what == MODEL_CODE ? mkstemps(path, (int)strlen(f->ending)) : -1;
  if (fd >= 0) {
    close(fd);
    *whole = true;
    status = file_write(path, x.code.data, x.code.len, err);
  }
  model_extract_release(&x);
  base_free(text);
  return status;
}

// Builds it. What Python lacks shows when it runs.
static enum assay_status try_example(const struct make *m, struct assay_error *err) {
  struct assay_job *job;
  struct assay_verdict v;
  bool python = m->engine.form->hash_comments;
  enum assay_status status = assay_judge_begin(&m->judging.options, &job, err);
  if (status)
    return status;
  if (python)
    status = assay_judge_test(job, err);
  if (status || !python) {
    assay_judge_drop(job);
    return status;
  }
  status = assay_judge_conclude(job, &v, err);
  if (status)
    return status;
  if (v.reason == ASSAY_REASON_JUDGE_FAILED)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s", v.detail);
  assay_verdict_release(&v);
  return status;
}

// Whether a kernel of the form can be judged here: what comes of the example does not matter. Texts without an example
// are not asked for one.
static enum assay_status check_form(struct make *m, struct assay_error *err) {
  char path[4200];
  bool whole;
  struct assay_judge_options *o = &m->judging.options;
  struct assay_error why = {0};
  enum assay_status status = write_example(m, path, sizeof path, &whole, &why);
  o->task = m->engine.tasks[0].path;
  if (!status && whole)
    status = cli_use_candidate(&m->judging, path, true, &why);
  if (!status && whole)
    status = try_example(m, &why);
  if (whole)
    unlink(path);
  o->task = o->candidate = NULL;
  // Anything else is of the task or of the texts: it is said where they are used.
  return status == ASSAY_ERR_ENVIRONMENT ? error_set(err, status, "nothing was asked: %s", why.message) : ASSAY_OK;
}

enum assay_status make_check_machine(struct make *m, struct assay_error *err) {
  const struct cuda_driver *driver;
  struct store_cost spent = {0};
  enum assay_status status = ASSAY_OK;
  if (strcmp(m->judging.options.device, "cuda") == 0) {
    status = cuda_driver_open(&driver, err);
    if (!status)
      cuda_driver_close(driver);
  }
  if (!status)
    status = store_sum_steps(m->store, m->engine.run, &spent, err);
  return status || spent.calls > 0 || m->engine.n_tasks == 0 ? status : check_form(m, err);
}

// What no verdict of the run's kernels, and so no feedback, ever speaks of. It is not the same for all tasks, so that
// no part of the exam is missing everywhere.
static uint64_t held_out(const struct make *m, const char *task) {
  char text[512], hex[HASH_HEX_BYTES];
  snprintf(text, sizeof text, "%s %llu", task, (unsigned long long)m->engine.settings.seed);
  hash_sha256_hex(text, strlen(text), hex);
  hex[15] = '\0'; // fits a positive number
  return strtoull(hex, NULL, 16) | 1;
}

enum assay_status make_judge(void *arg, struct engine_candidate *c, struct assay_error *err) {
  struct make *m = arg;
  const struct assay_judge_options before = m->judging.options;
  const char *run = m->engine.run;
  if (c->final) {
    ask_harder(&m->judging.options);
    run = m->final_run;
  }
  m->judging.options.hold_out = m->hold_out && !c->final ? held_out(m, c->task->name) : before.hold_out;
  enum assay_status status = judge_candidate(m, c, run, err);
  m->judging.options.hold_out = before.hold_out;
  m->judging.options.declared_checks = before.declared_checks;
  m->judging.options.seed = before.seed;
  m->judging.options.secret = before.secret;
  return status;
}
