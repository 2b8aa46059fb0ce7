// SPDX-License-Identifier: Apache-2.0
// What Helion's search prints while it runs:
//
//   [0s] Starting PatternSearch with initial_population=200, copies=5
//   [15s] Skipping config with accuracy mismatch: helion.Config(block_sizes=[128, 16], num_warps=8)
//   [43s] Initial population: failed=4 ok=96 min=0.1161 mid=0.3548 max=3.5272 best=Config(block_sizes=[64, 32])
//   [60s] Generation 1 complete: error=5 ok=40 min=0.1012 mid=0.1100 max=0.2000 best=Config(...)
//   [251s] Autotuning complete in 251.2s after searching 775 configs.
//
// Of a generation the fastest so far is a trial with a time, and those that were wrong stand by themselves; of further
// ones, as many as it counts, nothing is known. The words after the colon may have lines of their own.
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

enum { MOST_CONFIGURATIONS = 1 << 18 }; // of a search

// A generation as far as it was read.
struct generation {
  bool open;
  double at_s, best_ms;
  long counted; // configurations, of whatever kind
  char best[2048];
};

struct search {
  struct tune_log_reader *r;
  struct generation now;
  long put;   // trials of this search
  long wrong; // those of this generation that stand by themselves
};

// "[43s] TEXT": the text; NULL: it does not begin so.
static const char *timed_line(const char *line, double *at_s) {
  char *end;
  if (line[0] != '[' || !isdigit((unsigned char)line[1]))
    return NULL;
  *at_s = strtod(line + 1, &end);
  return *at_s < 1e7 && end[0] == 's' && end[1] == ']' && end[2] == ' ' ? end + 3 : NULL;
}

static bool is(const char *text, size_t n) {
  (void)n;
  return strstr(text, "s] Autotuning complete in ") != NULL ||
         (strstr(text, "s] Initial population") != NULL && strstr(text, "min=") != NULL);
}

static enum assay_status put(struct search *s, struct store_trial *t, double at_s, struct assay_error *err) {
  t->number = s->r->n;
  t->start_ns = (int64_t)(at_s * 1e9);
  s->put++;
  return tune_log_emit(s->r, t, err);
}

static enum assay_status put_unknown(struct search *s, long n, double at_s, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (long i = 0; i < n && s->put < MOST_CONFIGURATIONS && !status; i++) {
    struct store_trial t = tune_log_trial(s->r, "helion");
    t.status = STORE_TRIAL_FAILED;
    t.detail = "a configuration that the log does not name";
    status = put(s, &t, at_s, err);
  }
  return status;
}

static enum assay_status end_generation(struct search *s, struct assay_error *err) {
  struct generation *g = &s->now;
  if (!g->open)
    return ASSAY_OK;
  g->open = false;
  bool timed = g->best_ms > 0 && isfinite(g->best_ms);
  enum assay_status status = put_unknown(s, g->counted - timed - s->wrong, g->at_s, err);
  if (!status && timed) {
    struct store_trial t = tune_log_trial(s->r, "helion");
    t.tuner_ns = g->best_ms * 1e6;
    t.configuration = g->best;
    t.detail = "the fastest of its generation";
    status = put(s, &t, g->at_s, err);
  }
  s->wrong = 0;
  return status;
}

// "error=25 ok=79 min=0.1161 ... best=Config(...)", or some of it.
static void read_words(struct generation *g, const char *p) {
  char name[32];
  double value;
  int used = 0; // stays 0 where the text ends before it is set
  for (; sscanf(p, " %31[a-z_]=%n", name, &used) == 1 && used > 0; used = 0) {
    p += used;
    if (strcmp(name, "best") == 0) {
      snprintf(g->best, sizeof g->best, "%.2000s", p);
      return;
    }
    if (sscanf(p, "%lf%n", &value, &used) != 1)
      return;
    p += used;
    if (strcmp(name, "min") == 0)
      g->best_ms = value;
    else if (strcmp(name, "mid") != 0 && strcmp(name, "max") != 0 && value >= 0 && value < MOST_CONFIGURATIONS)
      g->counted += (long)value;
  }
}

static enum assay_status put_wrong(struct search *s, const char *configuration, double at_s, struct assay_error *err) {
  struct store_trial t = tune_log_trial(s->r, "helion");
  t.status = STORE_TRIAL_WRONG;
  t.configuration = configuration;
  t.detail = "accuracy mismatch";
  s->wrong++;
  return put(s, &t, at_s, err);
}

// "Autotuning complete in 251.2s after searching 775 configs.": what was not told of before, and the seconds of all.
static enum assay_status end_search(struct search *s, const char *text, struct assay_error *err) {
  double seconds = NAN;
  long all = 0;
  enum assay_status status = end_generation(s, err);
  if (status || sscanf(text, "Autotuning complete in %lfs after searching %ld", &seconds, &all) < 1 ||
      !(seconds >= 0 && seconds < 1e7))
    return status;
  status = put_unknown(s, all - s->put - 1, seconds, err);
  struct store_trial t = tune_log_trial(s->r, "helion");
  t.status = STORE_TRIAL_SUMMARY;
  t.detail = "the seconds of the search";
  t.bench_ns = (int64_t)(seconds * 1e9);
  if (!status)
    status = put(s, &t, 0, err);
  *s = (struct search){.r = s->r};
  return status;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  struct search s = {.r = r};
  const char *p = text, *end = text + n;
  char line[4096];
  enum assay_status status = ASSAY_OK;
  while (!status && tune_log_line(&p, end, line, sizeof line)) {
    double at_s;
    const char *said = timed_line(line, &at_s), *colon;
    static const char wrong[] = "Skipping config with accuracy mismatch: ", done[] = "Autotuning complete in ";
    if (!said) {
      if (s.now.open)
        read_words(&s.now, line);
      continue;
    }
    if (strncmp(said, wrong, sizeof wrong - 1) == 0) {
      status = put_wrong(&s, said + sizeof wrong - 1, at_s, err);
      continue;
    }
    status = end_generation(&s, err);
    if (!status && strncmp(said, done, sizeof done - 1) == 0)
      status = end_search(&s, said, err);
    else if ((strncmp(said, "Initial population", 18) == 0 || strncmp(said, "Generation ", 11) == 0) &&
             (colon = strchr(said, ':'))) {
      s.now = (struct generation){.open = true, .at_s = at_s, .best_ms = NAN};
      read_words(&s.now, colon + 1);
    }
  }
  return status ? status : end_generation(&s, err);
}

const struct tune_log_format tune_log_helion_text = {.name = "helion_text", .is = is, .read = read_log};
