// SPDX-License-Identifier: Apache-2.0
// Helion's CSV: a row for each configuration that it timed, and one or more for each that it started. Searches that
// share a file follow one another in it, without a new head; each counts its seconds from its own beginning.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

// What is read of a row. Helion's versions have further columns, in orders of their own, from the oldest on:
//
//   timestamp_s,config_index,generation,status,perf_ms,compile_time_s,config
//   run_id,kernel_id,sample_id,timestamp_s,config_index,generation,status,perf_ms,compile_time_s,decorator,config
//   run_id,timestamp_s,config_id,generation,status,perf_ms,compile_time_s,config
enum column { RUN_ID, TIMESTAMP, STATUS, PERF, COMPILE_TIME, CONFIG, COLUMNS };
enum { MOST_CELLS = 32, LINE_BYTES = 1 << 14 };

struct layout {
  int at[COLUMNS]; // -1: there is none
  int cells;       // of a whole row
};

// The columns that a head of this line names. RUN_ID may be missing.
static bool read_head(char *line, struct layout *l) {
  static const char *const names[COLUMNS] = {"run_id", "timestamp_s", "status", "perf_ms", "compile_time_s", "config"};
  char *cells[MOST_CELLS];
  l->cells = tune_log_cells(line, cells, MOST_CELLS);
  for (int c = 0; c < COLUMNS; c++) {
    l->at[c] = -1;
    for (int i = 0; i < l->cells; i++)
      if (strcmp(cells[i], names[c]) == 0)
        l->at[c] = i;
    if (l->at[c] < 0 && c != RUN_ID)
      return false;
  }
  return true;
}

const char *tune_log_helion_head(const char *text) {
  char line[LINE_BYTES];
  struct layout ignored;
  const char *end = text + strlen(text);
  for (const char *p = text, *start = p; tune_log_line(&p, end, line, sizeof line); start = p)
    if (strstr(line, "timestamp_s") && read_head(line, &ignored))
      return start;
  return NULL;
}

static bool is(const char *text, size_t n) {
  char line[LINE_BYTES];
  struct layout ignored;
  const char *p = text;
  return tune_log_line(&p, text + n, line, sizeof line) && read_head(line, &ignored);
}

static enum store_trial_status status_of(const char *text) {
  static const struct {
    const char *text;
    enum store_trial_status status;
  } known[] = {{"ok", STORE_TRIAL_OK},
               {"chosen", STORE_TRIAL_SUMMARY}, // cli/helion_log.py
               {"success", STORE_TRIAL_OK},
               {"timeout", STORE_TRIAL_TIMEOUT},
               {"compile_error", STORE_TRIAL_COMPILE_ERROR},
               {"error", STORE_TRIAL_LAUNCH_ERROR},
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

// `cells`: by enum column.
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
  bool timed = t.status == STORE_TRIAL_OK || t.status == STORE_TRIAL_SUMMARY;
  if (timed && ms > 0 && isfinite(ms))
    t.tuner_ns = ms * 1e6;
  else if (timed)
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

// The row's cells in the order of enum column; false: it is cut off, or is none of a trial that ended.
static bool read_row(char *line, const struct layout *l, char **out) {
  static char none[] = "";
  char *cells[MOST_CELLS];
  if (!is_whole(line) || tune_log_cells(line, cells, MOST_CELLS) != l->cells)
    return false;
  for (int c = 0; c < COLUMNS; c++)
    out[c] = l->at[c] < 0 ? none : cells[l->at[c]];
  return strcmp(out[STATUS], "started") != 0 && strcmp(out[STATUS], "status") != 0;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  char line[LINE_BYTES], *cells[COLUMNS];
  const char *p = text, *end = text + n;
  struct reading g = {.first_s = NAN};
  struct layout layout;
  enum assay_status status = ASSAY_OK;
  if (!tune_log_line(&p, end, line, sizeof line) || !read_head(line, &layout))
    return error_set(err, ASSAY_ERR_SYNTAX,
                     "%s is no log of Helion: its first line does not name the columns timestamp_s, status, perf_ms, "
                     "compile_time_s and config",
                     r->about->file);
  while (!status && tune_log_line(&p, end, line, sizeof line))
    if (read_row(line, &layout, cells))
      status = put_row(r, &g, cells, err);
  return status;
}

const struct tune_log_format tune_log_helion = {.name = "helion", .is = is, .read = read_log};
