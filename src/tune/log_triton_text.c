// SPDX-License-Identifier: Apache-2.0
// What TRITON_PRINT_AUTOTUNING prints: of each tuning its function, how long it took and what it chose.
//
//   Triton autotuning for function matmul_kernel,
//   with key as (4096, 4352, 4224),
//   finished after 12.34s,
//   best config selected: BLOCK_M: 128, BLOCK_N: 256, num_warps: 8, num_ctas: 1, num_stages: 3;
//
// (a fork says "...: C with benchmark time [0.0123, 0.0120, 0.0130];  evaluated 12 configurations;", in milliseconds,
// the median first)
//
// Before Triton 3.4 it is one line, without the key: "... for function F finished after 12.34s; best config selected:
// ...;". Since 3.3 each configuration stands before that, as it is begun:
//
//   Autotuning kernel matmul_kernel with config BLOCK_M: 128, BLOCK_N: 256, num_warps: 8, num_ctas: 1, num_stages: 3
//   Autotuning failed with out of resource: shared memory, Required: 294912, Hardware limit: 232448. ...
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "tune/log.h"

enum { MOST_BEGUN = 1 << 16 };

// A configuration that was begun, until its function's tuning ends.
struct begun {
  const char *function, *configuration, *why; // why: it failed
};

struct reading {
  struct tune_log_reader *r;
  struct arena arena;
  struct begun *begun;
  size_t n, capacity;
  char function[256];                  // whose tuning ends
  double seconds, before_s, chosen_ms; // chosen_ms: NaN where it is not said
};

static bool is(const char *text, size_t n) {
  (void)n;
  const char *begun = strstr(text, "Autotuning kernel ");
  return strstr(text, "Triton autotuning for function ") != NULL || (begun && strstr(begun, " with config "));
}

// "F with config C"
static enum assay_status begin(struct reading *g, const char *text, struct assay_error *err) {
  const char *config = strstr(text, " with config ");
  if (!config || g->n == MOST_BEGUN)
    return ASSAY_OK;
  if (g->n == g->capacity) {
    struct begun *more = arena_grow(&g->arena, g->begun, g->n, &g->capacity, sizeof *more);
    if (!more)
      return error_nomem(err, "a tuner's log");
    g->begun = more;
  }
  struct begun *b = &g->begun[g->n];
  *b = (struct begun){.function = arena_strndup(&g->arena, text, (size_t)(config - text)),
                      .configuration = arena_strdup(&g->arena, config + strlen(" with config "))};
  if (!b->function || !b->configuration)
    return error_nomem(err, "a tuner's log");
  g->n++;
  return ASSAY_OK;
}

// One that ran has no time here, and `without` says why. The end of the tuning is all that is known of when.
static enum assay_status put_begun(struct reading *g, const struct begun *b, const char *without,
                                   struct assay_error *err) {
  struct store_trial t = tune_log_trial(g->r, "triton");
  t.status = !b->why                             ? STORE_TRIAL_FAILED
             : strstr(b->why, "out of resource") ? STORE_TRIAL_LAUNCH_ERROR
                                                 : STORE_TRIAL_COMPILE_ERROR;
  t.configuration = b->configuration;
  t.detail = b->why ? b->why : without;
  t.start_ns = (int64_t)((g->before_s + g->seconds) * 1e9);
  return tune_log_emit(g->r, &t, err);
}

// What was begun of the function becomes trials; the one that it chose is the summary.
static enum assay_status end(struct reading *g, const char *chosen, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  size_t kept = 0;
  bool found = false;
  for (size_t i = 0; i < g->n && !status; i++) {
    const struct begun b = g->begun[i];
    bool is_chosen = !found && !b.why && strcmp(b.configuration, chosen) == 0;
    if (strcmp(b.function, g->function) != 0)
      g->begun[kept++] = b;
    else if (is_chosen)
      found = true;
    else
      status = put_begun(g, &b, "a configuration whose time the log does not have", err);
  }
  g->n = kept;
  struct store_trial t = tune_log_trial(g->r, "triton");
  t.status = STORE_TRIAL_SUMMARY;
  t.configuration = chosen;
  t.detail = g->function;
  t.tuner_ns = g->chosen_ms > 0 && g->chosen_ms < 1e7 ? g->chosen_ms * 1e6 : NAN;
  t.start_ns = (int64_t)(g->before_s * 1e9);
  t.bench_ns = (int64_t)(g->seconds * 1e9);
  g->before_s += g->seconds;
  g->seconds = NAN;
  return status ? status : tune_log_emit(g->r, &t, err);
}

static enum assay_status read_line(struct reading *g, const char *line, struct assay_error *err) {
  static const char kernel[] = "Autotuning kernel ", failed[] = "Autotuning failed with ";
  static const char function[] = "autotuning for function ", finished[] = "finished after ";
  static const char best[] = "best config selected: ", with_time[] = " with benchmark time ";
  const char *at = strstr(line, kernel), *stop;
  if (at)
    return begin(g, at + sizeof kernel - 1, err);
  if ((at = strstr(line, failed)) && g->n > 0) {
    const char *why = arena_strdup(&g->arena, at + sizeof failed - 1);
    if (!why)
      return error_nomem(err, "a tuner's log");
    g->begun[g->n - 1].why = why;
  }
  if ((at = strstr(line, function))) {
    snprintf(g->function, sizeof g->function, "%.200s", at + sizeof function - 1);
    g->function[strcspn(g->function, ", ")] = '\0';
  }
  if ((at = strstr(line, finished))) {
    char *unit;
    g->seconds = strtod(at + sizeof finished - 1, &unit);
    g->seconds = *unit == 's' ? g->seconds : NAN; // else the line is cut off
  }
  if (!(at = strstr(line, best)) || !(g->seconds >= 0 && g->seconds < 1e7) || !(stop = strchr(at, ';')))
    return ASSAY_OK;
  char chosen[2048];
  snprintf(chosen, sizeof chosen, "%.*s", (int)(stop - at) - (int)(sizeof best - 1), at + sizeof best - 1);
  char *time = strstr(chosen, with_time);
  g->chosen_ms = time ? strtod(time + sizeof with_time - 1 + (time[sizeof with_time - 1] == '['), NULL) : NAN;
  if (time)
    *time = '\0';
  return end(g, chosen, err);
}

// A tuning that never ended, as its process was killed: what it began was tried, and nothing is known of when.
static enum assay_status put_rest(struct reading *g, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  g->seconds = 0;
  for (size_t i = 0; i < g->n && !status; i++)
    status =
        put_begun(g, &g->begun[i], "begun; the log ends before its tuning does, so nothing says that it failed", err);
  return status;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  struct reading g = {.r = r, .seconds = NAN};
  const char *p = text, *stop = text + n;
  char line[4096];
  enum assay_status status = ASSAY_OK;
  while (!status && tune_log_line(&p, stop, line, sizeof line))
    status = read_line(&g, line, err);
  if (!status)
    status = put_rest(&g, err);
  arena_release(&g.arena);
  return status;
}

const struct tune_log_format tune_log_triton_text = {
    .name = "triton_text", .printed = true, .is = is, .read = read_log};
