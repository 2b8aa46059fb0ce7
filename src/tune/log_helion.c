// SPDX-License-Identifier: Apache-2.0
// Helion's CSV: a row for each configuration that it timed, and one or more for each that it started. Searches that
// share a file follow one another in it, without a new head; each counts its seconds from its own beginning.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

enum { RUN_ID, TIMESTAMP, CONFIG_ID, GENERATION, STATUS, PERF, COMPILE_TIME, CONFIG, COLUMNS };

static bool is(const char *text, size_t n) {
  return tune_log_starts(text, n, TUNE_LOG_HELION_HEAD);
}

static enum store_trial_status status_of(const char *text) {
  static const struct {
    const char *text;
    enum store_trial_status status;
  } known[] = {{"ok", STORE_TRIAL_OK},
               {"success", STORE_TRIAL_OK},
               {"timeout", STORE_TRIAL_TIMEOUT},
               {"compile_error", STORE_TRIAL_COMPILE_ERROR},
               {"error", STORE_TRIAL_FAILED},
               {"accuracy", STORE_TRIAL_WRONG},
               {"wrong", STORE_TRIAL_WRONG},
               {"duplicate", STORE_TRIAL_DUPLICATE},
               {"dedup", STORE_TRIAL_DUPLICATE},
               {"deduplicated", STORE_TRIAL_DUPLICATE},
               {"peer_compilation_fail", STORE_TRIAL_COMPILE_ERROR}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].text, text) == 0)
      return known[i].status;
  return STORE_TRIAL_FAILED;
}

// What was read so far.
struct reading {
  char run[80];           // of the row before
  double first_s, last_s; // of this search: where its clock began, and its last row's
  double before_s;        // what earlier searches took
};

// Seconds since the first search began. A clock that goes back, or another run's name, is the next search.
static double since_of(struct reading *g, const char *run, double at_s, double compile_s) {
  if (isnan(g->first_s) || at_s < g->last_s || strncmp(run, g->run, sizeof g->run - 1) != 0) {
    if (!isnan(g->first_s))
      g->before_s += fmax(g->last_s - g->first_s, 0);
    // Its clock may count from anywhere: the first row ends one compilation after the start.
    g->first_s = at_s > 1e6 ? at_s - compile_s : 0;
    snprintf(g->run, sizeof g->run, "%s", run);
  }
  g->last_s = at_s;
  return fmin(g->before_s + fmax(at_s - g->first_s, 0), 1e8);
}

static enum assay_status put_row(struct tune_log_reader *r, struct reading *g, char *const *cells,
                                 struct assay_error *err) {
  struct store_trial t = tune_log_trial(r, "helion");
  double at_s = strtod(cells[TIMESTAMP], NULL), ms = strtod(cells[PERF], NULL);
  double compile_s = strtod(cells[COMPILE_TIME], NULL);
  if (!isfinite(at_s))
    return ASSAY_OK;
  compile_s = compile_s > 0 && compile_s < 1e6 ? compile_s : 0;
  t.status = status_of(cells[STATUS]);
  t.configuration = cells[CONFIG];
  t.detail = cells[STATUS];
  t.compile_ns = (int64_t)(compile_s * 1e9);
  // The row is written when the configuration is done: it began so much earlier.
  int64_t since_ns = (int64_t)(since_of(g, cells[RUN_ID], at_s, compile_s) * 1e9);
  t.start_ns = since_ns > t.compile_ns ? since_ns - t.compile_ns : 0;
  if (t.status == STORE_TRIAL_OK && ms > 0 && isfinite(ms))
    t.tuner_ns = ms * 1e6;
  else if (t.status == STORE_TRIAL_OK)
    t.status = STORE_TRIAL_FAILED;
  return tune_log_emit(r, &t, err);
}

// Whether its quotes end: a row that does not is cut off.
static bool is_whole(const char *line) {
  bool quoted = false;
  for (; *line; line++)
    quoted ^= *line == '"';
  return !quoted;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  enum { LINE_BYTES = 1 << 14 };
  char line[LINE_BYTES], *cells[COLUMNS];
  const char *p = text, *end = text + n;
  struct reading g = {.first_s = NAN};
  enum assay_status status = ASSAY_OK;
  if (!is(text, n))
    return error_set(err, ASSAY_ERR_SYNTAX, "%s is no log of Helion: its first line is not `%s`", r->about->file,
                     TUNE_LOG_HELION_HEAD);
  tune_log_line(&p, end, line, sizeof line);
  while (!status && tune_log_line(&p, end, line, sizeof line)) {
    if (is_whole(line) && tune_log_cells(line, cells, COLUMNS) == COLUMNS && strcmp(cells[STATUS], "started") != 0 &&
        strcmp(cells[STATUS], "status") != 0)
      status = put_row(r, &g, cells, err);
  }
  return status;
}

const struct tune_log_format tune_log_helion = {.name = "helion", .is = is, .read = read_log};
