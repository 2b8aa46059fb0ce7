// SPDX-License-Identifier: Apache-2.0
// Tables made of KernelGeneration's logs and results (4c6e8f0). A tuning run is a few points of its curve, "t10=18
// t5=18 t2=92 t0=92": the second at which its best so far was within 10, 5, 2 and 0 % of its own last best; and the
// whole, with its seconds and its number of configurations. A run that is there twice is one of "RUN 2". A result is
// one time.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/log.h"

static const char TUNING[] = "gpu,operator,shape,tuner,seconds,configs,notes";
static const char RESULTS[] = "gpu,operator,backend,shape,latency_ms";
enum { MOST_CELLS = 8, MOST_ROWS = 1 << 12, KEY_BYTES = 200 };

static bool is(const char *text, size_t n) {
  return tune_log_starts(text, n, TUNING) || tune_log_starts(text, n, RESULTS);
}

// "bf16_matmul" is fusedops/matmul/bf16_matmul.
static void task_of(const char *operator, char * task, size_t size) {
  const char *family = strchr(operator, '_');
  snprintf(task, size, "fusedops/%.60s/%.60s", family ? family + 1 : operator, operator);
}

// "helion_full" and "torch_eager(derived=...)" are helion and torch_eager.
static void maker_of(const char *name, char *maker, size_t size) {
  snprintf(maker, size, "%.60s", name);
  maker[strcspn(maker, "(")] = '\0';
  char *effort = strstr(maker, "_full");
  if (effort)
    *effort = '\0';
}

static double note_of(const char *notes, const char *name) {
  const char *at = strstr(notes, name);
  return at ? strtod(at + strlen(name), NULL) : NAN;
}

static enum assay_status put_points(struct tune_log_reader *r, const struct store_trial *like, const char *notes,
                                    struct assay_error *err) {
  static const struct {
    const char *name;
    double part;
  } points[] = {{" t10=", 0.10}, {" t5=", 0.05}, {" t2=", 0.02}, {" t0=", 0}};
  double best_ms = note_of(notes, "final_min=");
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < 4 && !status; i++) {
    double at_s = note_of(notes, points[i].name);
    struct store_trial t = *like;
    if (!(at_s >= 0 && at_s < 1e8) || !(best_ms > 0))
      continue;
    t.number = i;
    t.start_ns = (int64_t)(at_s * 1e9);
    t.tuner_ns = best_ms * 1e6 * (1 + points[i].part); // at most
    t.detail = "a point of the curve";
    status = tune_log_emit(r, &t, err);
  }
  return status;
}

static enum assay_status put_tuning(struct tune_log_reader *r, char **cells, int repeat, struct assay_error *err) {
  char task[256], maker[64], run[512];
  double seconds = strtod(cells[4], NULL);
  long configs = strtol(cells[5], NULL, 10);
  if (!(seconds >= 0 && seconds < 1e8) || configs < 1 || configs > 1L << 30)
    return ASSAY_OK;
  task_of(cells[1], task, sizeof task);
  maker_of(cells[3], maker, sizeof maker);
  snprintf(run, sizeof run, repeat > 1 ? "%.400s %d" : "%.400s", r->about->run, repeat);
  struct store_trial t = tune_log_trial(r, maker);
  t.status = STORE_TRIAL_SUMMARY;
  t.run = run;
  t.task = task;
  t.workload = cells[2];
  t.device = cells[0];
  enum assay_status status = put_points(r, &t, cells[6], err);
  if (status)
    return status;
  t.number = configs - 1 < 4 ? 4 : configs - 1;
  t.detail = cells[6];
  t.bench_ns = (int64_t)(seconds * 1e9);
  return tune_log_emit(r, &t, err);
}

static enum assay_status put_result(struct tune_log_reader *r, char **cells, struct assay_error *err) {
  char task[256], maker[64];
  double ms = strtod(cells[4], NULL);
  struct store_trial t = tune_log_trial(r, maker);
  if (!(ms > 0) || !isfinite(ms))
    return ASSAY_OK;
  task_of(cells[1], task, sizeof task);
  maker_of(cells[2], maker, sizeof maker);
  t.task = task;
  t.workload = cells[3];
  t.device = cells[0];
  t.number = 0;
  t.tuner_ns = ms * 1e6;
  t.detail = "a published time";
  return tune_log_emit(r, &t, err);
}

// How many lines up to `here` begin with the key.
static int count_lines(const char *text, const char *here, const char *key) {
  int n = 0;
  size_t m = strlen(key);
  for (const char *q = text; q < here;) {
    n += (size_t)(here - q) > m && memcmp(q, key, m) == 0;
    const char *stop = memchr(q, '\n', (size_t)(here - q));
    q = stop ? stop + 1 : here;
  }
  return n;
}

static enum assay_status read_log(struct tune_log_reader *r, const char *text, size_t n, struct assay_error *err) {
  bool tuning = tune_log_starts(text, n, TUNING);
  const char *p = text, *end = text + n;
  char line[1024], key[KEY_BYTES], *cells[MOST_CELLS];
  int rows = 0;
  enum assay_status status = ASSAY_OK;
  if (!is(text, n))
    return error_set(err, ASSAY_ERR_SYNTAX, "%s is no table of published runs: its first line is neither `%s` nor `%s`",
                     r->about->file, TUNING, RESULTS);
  tune_log_line(&p, end, line, sizeof line);
  while (!status && rows++ < MOST_ROWS && tune_log_line(&p, end, line, sizeof line)) {
    if (tune_log_cells(line, cells, MOST_CELLS) < (tuning ? 7 : 5))
      continue;
    snprintf(key, sizeof key, "%.40s,%.40s,%.40s,%.40s,", cells[0], cells[1], cells[2], cells[3]);
    status = tuning ? put_tuning(r, cells, count_lines(text, p - 1, key), err) : put_result(r, cells, err);
  }
  return status;
}

const struct tune_log_format tune_log_published = {.name = "published", .is = is, .read = read_log};
