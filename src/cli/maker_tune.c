// SPDX-License-Identifier: Apache-2.0
// Files whose parameters our tuner chooses, for every shape anew.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "cli/maker.h"
#include "tune/tuner.h"

// Whether it declares something to tune, if only in vain: what is wrong with it is said when it is tuned.
static bool takes(const char *source, size_t n) {
  struct arena arena = {0};
  struct tune_space space;
  struct assay_error ignored = {0};
  bool any = tune_space_read("", source, n, &arena, &space, &ignored) != ASSAY_ERR_USAGE;
  arena_release(&arena);
  return any;
}

// A folder of its own for every shape and seed: names of configurations are the same for all.
static enum assay_status make_folder(const struct maker_request *r, uint64_t seed, char *folder, size_t size,
                                     struct assay_error *err) {
  char text[512], hash[HASH_HEX_BYTES];
  snprintf(text, sizeof text, "%.200s %.200s %llu", r->task_name, r->workload, (unsigned long long)seed);
  hash_sha256_hex(text, strlen(text), hash);
  snprintf(folder, size, "%s/%.12s", r->folder, hash);
  return file_make_folders(folder, err);
}

static char *command_of(void *arg, const struct assay_judge_options *o, const struct assay_verdict *v) {
  const struct maker_request *r = arg;
  return cli_repeat_command(r->judging, r->task_name, o->candidate, v);
}

// Tunes in the nth order from the run's seed on. The candidate is that of the first: further ones show how much a
// search depends on it. Another seed is another run: its configurations have other numbers.
static enum assay_status run_tuner(const struct maker_request *r, const char *file, int nth,
                                   struct maker_candidate *out, struct assay_error *err) {
  struct tuner_result result;
  char folder[4096], run[1024];
  const uint64_t first = r->judging->options.seed, seed = (first ? first : 1) + (uint64_t)nth - 1;
  snprintf(run, sizeof run, "%.800s, tuning", r->maker_run);
  if (nth > 1)
    snprintf(run + strlen(run), sizeof run - strlen(run), " %d", nth);
  if (first > 1)
    snprintf(run + strlen(run), sizeof run - strlen(run), ", seed %llu", (unsigned long long)first);
  const struct tuner_options o = {.store = r->store,
                                  .run = run,
                                  .task_name = r->task_name,
                                  .folder = folder,
                                  .judging = &r->judging->options,
                                  .parallel = parallel_cpus(),
                                  .budget_ns = r->seconds * INT64_C(1000000000),
                                  .give_up = 1.5,
                                  .finalists =
                                      1, // its time is the candidate's: the least of several would be a lucky one
                                  .seed = seed,
                                  .retime = r->retime,
                                  .stop = r->stop,
                                  .command = command_of,
                                  .command_arg = (void *)r};
  enum assay_status status = make_folder(r, seed, folder, sizeof folder, err);
  if (!status)
    status = cli_use_candidate(r->judging, file, true, err);
  if (!status)
    status = tuner_run(&o, &result, err);
  if (status || nth > 1)
    return status;
  out->making_s = (double)result.spent_ns / 1e9;
  out->verdict = result.verdict;
  out->cut_off = result.best < 0 && atomic_load(r->stop);
  if (out->cut_off)
    snprintf(out->refusal, sizeof out->refusal,
             "cut off after %lld of %lld configurations, before the best was judged in full; the same command goes on",
             (long long)result.tried, (long long)result.count);
  else if (result.best < 0 && result.untimed_best[0])
    snprintf(out->refusal, sizeof out->refusal, "%.250s", result.untimed_best);
  else if (result.best < 0)
    snprintf(out->refusal, sizeof out->refusal,
             "no configuration is right at every question and has a time; `assay trials '%.150s'` says why", run);
  snprintf(out->file, sizeof out->file, "%s", result.file);
  snprintf(out->label, sizeof out->label, "%.3000s (%.1000s)", file, result.configuration);
  return ASSAY_OK;
}

static enum assay_status yield(const struct maker_request *r, struct maker_candidate *out, struct assay_error *err) {
  char file[4096];
  if (!maker_file_of(r, takes, file, sizeof file)) {
    snprintf(out->refusal, sizeof out->refusal, "no file of it for this task declares something to tune");
    return ASSAY_OK;
  }
  enum assay_status status = run_tuner(r, file, 1, out, err);
  for (int nth = 2; nth <= r->seeds && !status && !atomic_load(r->stop); nth++)
    status = run_tuner(r, file, nth, out, err);
  return status;
}

const struct maker maker_tune = {.name = "tune",
                                 .argument = "DIR|FILE",
                                 .what = "files that declare parameters, tuned for each shape",
                                 .check = maker_check_path,
                                 .yield = yield};
