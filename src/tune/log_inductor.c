// SPDX-License-Identifier: Apache-2.0
// What Inductor's max-autotune logs of each operator:
//
//   AUTOTUNE mm(256x384, 384x512)
//     triton_mm_12 0.0072 ms 100.0% ACC_TYPE='tl.float32', ...
//     mm 0.0077 ms 93.2%
//   SingleProcess AUTOTUNE benchmarking takes 1.6069 seconds and 0.3012 seconds precompiling for 36 choices
//
// TORCH_LOGS puts "V0730 15:44:26.245000 266432 torch/_inductor/select_algorithm.py:2010] [0/0] " before each of them.
//
// The lines are sorted by time and only the best ten are there, so the order of trials is not known: all of a block end
// with it. Further choices, up to the number that the last line has, are trials of which nothing is known.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

enum { MOST_CHOICES = 4096 }; // of a block

static bool is(const char *text, size_t n) {
  (void)n;
  return strstr(text, "AUTOTUNE ") != NULL;
}

// What stands after "V0730 15:44:26.245000 266432 torch/...py:2010] [0/0] ", or the line where nothing of that kind
// does.
static const char *unprefixed(const char *line) {
  const char *at = strchr("VDIWEC", line[0]) && line[0] ? strstr(line, ".py:") : NULL;
  at = at ? strstr(at, "] ") : NULL;
  if (!at)
    return line;
  at += 2;
  for (const char *stop; *at == '[' && (stop = strstr(at, "] "));) // the frame that is compiled
    at = stop + 2;
  return at;
}

// "  NAME 0.0072 ms 100.0% ..."
static bool read_choice(const char *line, char *name, size_t size, double *ms) {
  char unit[8], form[32];
  snprintf(form, sizeof form, " %%%zus %%lf %%7s", size - 1);
  return sscanf(line, form, name, ms, unit) == 3 && strcmp(unit, "ms") == 0 && *ms > 0 && isfinite(*ms);
}

// The lines from `p` to the block's last: its choices. All of them ended when the block did.
static enum assay_status put_choices(struct tune_log_reader *r, const char *p, const char *end,
                                     const struct store_trial *whole, int64_t *n, struct assay_error *err) {
  char line[4096], name[512];
  double ms;
  enum assay_status status = ASSAY_OK;
  while (!status && tune_log_line(&p, end, line, sizeof line)) {
    if (!read_choice(unprefixed(line), name, sizeof name, &ms))
      continue;
    struct store_trial t = *whole;
    t.number = r->n;
    t.status = STORE_TRIAL_OK;
    t.configuration = name;
    t.start_ns = whole->start_ns + whole->compile_ns + whole->bench_ns;
    t.compile_ns = t.bench_ns = 0;
    t.tuner_ns = ms * 1e6;
    t.detail = "";
    ++*n;
    status = tune_log_emit(r, &t, err);
  }
  return status;
}

static enum assay_status put_block(struct tune_log_reader *r, const char *p, const char *end,
                                   const struct store_trial *whole, long choices, struct assay_error *err) {
  int64_t n = 0;
  enum assay_status status = put_choices(r, p, end, whole, &n, err);
  for (; n < choices && !status; n++) {
    struct store_trial t = *whole;
    bool last = n + 1 == choices;
    t.number = r->n;
    t.status = last ? STORE_TRIAL_SUMMARY : STORE_TRIAL_FAILED;
    t.detail = last ? "the seconds of all choices" : "a choice that the log does not name";
    status = tune_log_emit(r, &t, err);
  }
  return status;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  char line[4096];
  const char *p = text, *end = text + n, *block = NULL;
  int64_t before_ns = 0;
  enum assay_status status = ASSAY_OK;
  while (!status && tune_log_line(&p, end, line, sizeof line)) {
    const char *done = strstr(line, "AUTOTUNE benchmarking takes ");
    double bench_s, compile_s;
    long choices;
    if (!done && strstr(line, "AUTOTUNE "))
      block = p;
    if (!done || !block ||
        sscanf(done, "AUTOTUNE benchmarking takes %lf seconds and %lf seconds precompiling for %ld", &bench_s,
               &compile_s, &choices) != 3 ||
        !(bench_s >= 0 && bench_s < 1e7 && compile_s >= 0 && compile_s < 1e7))
      continue;
    struct store_trial whole = tune_log_trial(r, "inductor_max");
    whole.start_ns = before_ns;
    whole.compile_ns = (int64_t)(compile_s * 1e9);
    whole.bench_ns = (int64_t)(bench_s * 1e9);
    before_ns += whole.compile_ns + whole.bench_ns;
    status = put_block(r, block, p, &whole, choices < MOST_CHOICES ? choices : MOST_CHOICES, err);
    block = NULL;
  }
  return status;
}

const struct tune_log_format tune_log_inductor = {.name = "inductor", .is = is, .read = read_log};
