// SPDX-License-Identifier: Apache-2.0
// What Inductor logs (TORCH_LOGS=+inductor) where it tunes a fused kernel's blocks: the heuristics' own configurations,
// and its coordinate descent from the best of them (coordinate_descent_tuning).
//
//   Benchmark all input configs for triton_red_fused_softmax_0, get:
//   XBLOCK: 1, R0_BLOCK: 2048, num_warps: 16, num_stages: 1: 0.012288, nreg 32, nspill 0, #shared-mem 64
//   = Do coordinate descent tuning for triton_red_fused_softmax_0 =
//   triton_red_fused_softmax_0: Baseline Config XBLOCK: 1, ..., baseline timing 0.012288
//   Try config XBLOCK: 2, ...
//   Got exception ...
//   Tune from XBLOCK: 1, ... 0.012288 -> XBLOCK: 2, ... 0.010240
//   triton_red_fused_softmax_0: Improve from XBLOCK: 1, ... 0.012288 -> XBLOCK: 2, ... 0.010240, 1.200x
//
// (before PyTorch 2.4 without the kernel's name in front). Times are milliseconds; one that was tried and is no better
// has none. The clock of TORCH_LOGS' prefix says when; without the prefix nothing does.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

enum { CONFIG_BYTES = 1024, KERNEL_BYTES = 160 };
enum { DAY_S = 86400 };
static const double MOST_S = 1e9; // a longer search is none

struct reading {
  struct tune_log_reader *r;
  char kernel[KERNEL_BYTES], input[KERNEL_BYTES]; // input: the last one whose input configurations were listed
  char tried[CONFIG_BYTES];                       // until it is known what came of it; ""
  bool listing;                                   // lines of input configurations follow
  double first_s, last_s;                         // of the log's clock; NaN: none yet
  double tried_s;
};

static const char descent[] = "= Do coordinate descent tuning for ", listed[] = "Benchmark all input configs for ";
static const char base[] = "Baseline Config ", timing[] = ", baseline timing ", trying[] = "Try config ";
static const char from[] = "Tune from ", exception[] = "Got exception ", improved[] = "Improve from ";
static const char registers[] = ", nreg ";

static bool is(const char *text, size_t n) {
  (void)n;
  return strstr(text, descent) != NULL || strstr(text, listed) != NULL;
}

// Seconds since the log began, by the clock of the line's prefix "V0730 15:44:26.245000 ..."; of a line without one
// those of the line before.
static double seconds_of(struct reading *g, const char *line) {
  int hours, minutes;
  double s;
  const char *at = strchr(line, ' ');
  if (at && sscanf(at, " %2d:%2d:%lf", &hours, &minutes, &s) == 3 && hours >= 0 && hours < 24 && minutes >= 0 &&
      minutes < 60 && s >= 0 && s < 61) {
    double now = hours * 3600.0 + minutes * 60.0 + s;
    if (isnan(g->first_s))
      g->first_s = now;
    now -= g->first_s;
    if (now < g->last_s - DAY_S / 2) // past midnight
      now += DAY_S * ceil((g->last_s - DAY_S / 2 - now) / DAY_S);
    g->last_s = fmin(fmax(now, g->last_s), MOST_S);
  }
  return g->last_s;
}

static enum assay_status put(struct reading *g, const char *config, double end_s, double ms, const char *why,
                             struct assay_error *err) {
  struct store_trial t = tune_log_trial(g->r, "inductor_descent");
  char detail[KERNEL_BYTES + 160];
  snprintf(detail, sizeof detail, "%s%s%.140s", g->kernel, why[0] ? ": " : "", why);
  t.status = ms > 0 && isfinite(ms) ? STORE_TRIAL_OK : STORE_TRIAL_FAILED;
  t.configuration = config;
  t.detail = detail;
  t.start_ns = (int64_t)(end_s * 1e9);
  t.tuner_ns = t.status == STORE_TRIAL_OK ? ms * 1e6 : NAN;
  return tune_log_emit(g->r, &t, err);
}

// What was tried and is followed by nothing of it was no better than the best before.
static enum assay_status end_tried(struct reading *g, double ms, const char *why, struct assay_error *err) {
  char config[CONFIG_BYTES];
  if (!g->tried[0])
    return ASSAY_OK;
  snprintf(config, sizeof config, "%s", g->tried);
  g->tried[0] = '\0';
  return put(g, config, g->tried_s, ms, why, err);
}

static void take_name(char *to, size_t size, const char *text, const char *stop) {
  size_t n = strcspn(text, stop);
  snprintf(to, size, "%.*s", (int)(n < size - 1 ? n : size - 1), text);
}

// "CONFIG: 0.012288, nreg 32, ...", behind a prefix that ends in "] ", if there is one.
static enum assay_status take_listed(struct reading *g, const char *line, const char *stop, double at_s,
                                     struct assay_error *err) {
  char config[CONFIG_BYTES];
  const char *begin = line, *colon = stop;
  for (const char *p = line; (p = strstr(p, "] ")) && p < stop; p += 2)
    begin = p + 2;
  while (colon > begin && *colon != ':')
    colon--;
  snprintf(config, sizeof config, "%.*s", (int)(colon - begin < CONFIG_BYTES ? colon - begin : CONFIG_BYTES - 1),
           begin);
  return colon == begin ? ASSAY_OK : put(g, config, at_s, strtod(colon + 1, NULL), "", err);
}

static enum assay_status read_line(struct reading *g, const char *line, struct assay_error *err) {
  static const char no_time[] = "a configuration whose time the log does not have";
  double at_s = seconds_of(g, line);
  enum assay_status status = ASSAY_OK;
  const char *at, *stop;
  if ((at = strstr(line, trying))) {
    status = end_tried(g, NAN, no_time, err);
    snprintf(g->tried, sizeof g->tried, "%.1000s", at + sizeof trying - 1);
    g->tried_s = at_s;
  } else if ((at = strstr(line, from)) && g->tried[0]) {
    g->tried_s = at_s;
    at = strstr(at, " -> ");
    at = at ? strrchr(at, ' ') : NULL;
    status = end_tried(g, at ? strtod(at, NULL) : NAN, at ? "" : no_time, err);
  } else if ((at = strstr(line, exception)))
    status = end_tried(g, NAN, at + sizeof exception - 1, err);
  else if (strstr(line, "  CACHED") && g->tried[0])
    g->tried[0] = '\0'; // it was tried before
  else if ((at = strstr(line, listed)) || (at = strstr(line, descent))) {
    status = end_tried(g, NAN, no_time, err);
    g->listing = strncmp(at, listed, sizeof listed - 1) == 0;
    take_name(g->kernel, sizeof g->kernel, at + (g->listing ? sizeof listed : sizeof descent) - 1, ", ");
    if (g->listing)
      snprintf(g->input, sizeof g->input, "%s", g->kernel);
  } else if ((at = strstr(line, base)) && (stop = strstr(at, timing))) {
    char config[CONFIG_BYTES];
    at += sizeof base - 1;
    snprintf(config, sizeof config, "%.*s", (int)(stop - at < CONFIG_BYTES ? stop - at : CONFIG_BYTES - 1), at);
    g->listing = false;
    if (strcmp(g->input, g->kernel) != 0) // else it is one of those
      status = put(g, config, at_s, strtod(stop + sizeof timing - 1, NULL), "", err);
  } else if (strstr(line, improved))
    status = end_tried(g, NAN, no_time, err);
  else if (g->listing && (stop = strstr(line, registers)))
    status = take_listed(g, line, stop, at_s, err);
  return status;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  struct reading g = {.r = r, .first_s = NAN};
  const char *p = text, *end = text + n;
  char line[4096];
  enum assay_status status = ASSAY_OK;
  while (!status && tune_log_line(&p, end, line, sizeof line))
    status = read_line(&g, line, err);
  return status; // a last one that was tried may have been cut off
}

const struct tune_log_format tune_log_inductor_descent = {
    .name = "inductor_descent", .printed = true, .is = is, .read = read_log};
