// SPDX-License-Identifier: Apache-2.0
// assay score RUN --compare metrics.json: what KernelBench-X's harness said of the same files, and where we disagree.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cells.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/score.h"
#include "cli/table.h"
#include "report/kernelbenchx.h"

struct counts {
  int there, here, both, agree, right_there, right_here; // right_there: for their harness alone
  int call[2], exe[2], perf[2];                          // theirs, ours; of all files of each
  int short_rows;                                        // theirs passed perf without a row for every size
};

// A file that has rows, or should have them, and not one for every size.
static bool short_of_rows(const struct kernelbenchx_pair *p) {
  return p->there && p->rows_matched < p->sizes && (p->rows > 0 || (p->rows == 0 && p->said == KERNELBENCHX_PERF));
}

static struct counts count(const struct kernelbenchx_pair *pairs, int n) {
  struct counts c = {0};
  for (int i = 0; i < n; i++) {
    const struct kernelbenchx_pair *p = &pairs[i];
    const bool again = i > 0 && p->here && p->ours == pairs[i - 1].ours; // theirs may have a file under two keys
    enum kernelbenchx_stage stages[2] = {p->said, p->here && !again ? kernelbenchx_stage(p->ours) : KERNELBENCHX_NONE};
    bool differ = kernelbenchx_differ(p);
    c.there += p->there;
    c.here += p->here && !again;
    c.both += p->there && p->here;
    c.agree += p->there && p->here && !differ;
    c.right_there += differ && p->said >= KERNELBENCHX_EXE;
    c.right_here += differ && p->said < KERNELBENCHX_EXE;
    c.short_rows += p->said == KERNELBENCHX_PERF && short_of_rows(p);
    for (int side = 0; side < 2; side++) {
      c.call[side] += stages[side] >= KERNELBENCHX_CALL;
      c.exe[side] += stages[side] >= KERNELBENCHX_EXE;
      c.perf[side] += stages[side] >= KERNELBENCHX_PERF;
    }
  }
  return c;
}

static void put_row(struct table *t, const struct kernelbenchx_pair *p) {
  char task[140], sizes[32] = "-", theirs[32], ours[32], text[32];
  snprintf(task, sizeof task, "kernelbenchx/%.*s", (int)strlen(p->file) - 3, p->file);
  if (p->rows >= 0 && p->sizes > 0)
    snprintf(sizes, sizeof sizes, "%d/%d", p->rows_matched, p->sizes);
  snprintf(theirs, sizeof theirs, "%s", cli_time_text(p->runtime_ms * 1e6, text));
  double ms = p->here && p->ours->timed ? p->ours->total_ms : NAN;
  snprintf(ours, sizeof ours, "%s", cli_time_text(ms * 1e6, text));
  const char *why = p->here && p->ours->error[0] ? p->ours->error : p->said < KERNELBENCHX_EXE ? p->error : "";
  table_row(t, (const char *const[]){task, p->there ? kernelbenchx_stage_name(p->said) : "-", sizes, theirs,
                                     p->here ? kernelbenchx_stage_name(kernelbenchx_stage(p->ours)) : "-", ours, why});
}

static json_t *pair_json(const struct kernelbenchx_pair *p) {
  json_t *theirs = json_null(), *ours = json_null();
  if (p->there)
    theirs = json_pack("{s:s, s:o, s:o, s:i, s:i, s:s}", "stage", kernelbenchx_stage_name(p->said), "runtime_ms",
                       cli_json_real(p->runtime_ms), "speedup", cli_json_real(p->speedup), "rows", p->rows,
                       "rows_of_sizes", p->rows_matched, "error", p->error);
  if (p->here)
    ours = json_pack("{s:s, s:s, s:i, s:i, s:o, s:s}", "stage", kernelbenchx_stage_name(kernelbenchx_stage(p->ours)),
                     "candidate", p->ours->candidate, "right_sizes", p->ours->n_right, "timed_sizes", p->ours->n_timed,
                     "runtime_ms", cli_json_real(p->ours->timed ? p->ours->total_ms : NAN), "error", p->ours->error);
  return cli_json_of("stages", json_pack("{s:s, s:i, s:b, s:o, s:o}", "file", p->file, "sizes", p->sizes, "differ",
                                         kernelbenchx_differ(p), "kernelbenchx", theirs, "assay", ours));
}

static void print_table(const struct kernelbenchx_pair *pairs, int n) {
  static const char *const headers[] = {"task", "KernelBench-X", "sizes", "its time", "Assay", "time", "what"};
  struct table *t = table_create(headers, 7, "llrrlrl");
  const struct counts c = count(pairs, n);
  bool any = false;
  for (int i = 0; i < n && t; i++)
    if (kernelbenchx_differ(&pairs[i]) || short_of_rows(&pairs[i])) {
      put_row(t, &pairs[i]);
      any = true;
    }
  if (t && any)
    table_print(t, stdout);
  table_destroy(t);
  printf("KernelBench-X: %d files, call %d, exe %d, perf %d; Assay: %d files, call %d, exe %d, perf %d\n", c.there,
         c.call[0], c.exe[0], c.perf[0], c.here, c.call[1], c.exe[1], c.perf[1]);
  printf("%d files judged by both: %d agree, %d right only for KernelBench-X, %d right only for Assay\n", c.both,
         c.agree, c.right_there, c.right_here);
  if (c.short_rows > 0)
    printf("%d of its %d timed files lack rows of the ladder, which count as failed here\n", c.short_rows, c.perf[0]);
}

static enum assay_status print_summary(const struct kernelbenchx_results *r, const char *path, bool json,
                                       struct assay_error *err) {
  struct kernelbenchx_summary said;
  enum assay_status status = kernelbenchx_read_summary(path, &said, err);
  if (status)
    return status;
  struct table *t = table_create((const char *const[]){"stage", "KernelBench-X", "of", "Assay", "of"}, 5, "lrrrr");
  int ours[3] = {0};
  json_t *list = json_array();
  for (int i = 0; i < r->n; i++)
    for (int s = 0; s < 3; s++)
      ours[s] += kernelbenchx_stage(&r->items[i]) >= (enum kernelbenchx_stage)(s + 1);
  for (int s = 0; s < 3; s++) {
    char a[16], b[16], c[16], d[16];
    snprintf(a, sizeof a, "%d", said.passed[s]);
    snprintf(b, sizeof b, "%d", said.total);
    snprintf(c, sizeof c, "%d", ours[s]);
    snprintf(d, sizeof d, "%d", r->n);
    const char *stage = kernelbenchx_stage_name((enum kernelbenchx_stage)(s + 1));
    if (t)
      table_row(t, (const char *const[]){stage, a, b, c, d});
    json_array_append_new(list, cli_json_of("stage", json_pack("{s:s, s:i, s:i, s:i, s:i}", "stage", stage,
                                                               "kernelbenchx", said.passed[s], "kernelbenchx_of",
                                                               said.total, "assay", ours[s], "assay_of", r->n)));
  }
  if (json)
    cli_json_print(list);
  else if (t)
    table_print(t, stdout);
  if (!json)
    json_decref(list);
  table_destroy(t);
  return ASSAY_OK;
}

enum assay_status score_compare_x(struct store *store, const char *run, const char *tasks, const char *path, bool json,
                                  struct assay_error *err) {
  struct kernelbenchx_results results = {0};
  struct kernelbenchx_pair *pairs = NULL;
  int n = 0;
  enum assay_status status = kernelbenchx_collect(store, run, tasks, &results, err);
  enum kernelbenchx_file form = KERNELBENCHX_METRICS;
  status = status ? status : kernelbenchx_file_of(path, &form, err);
  if (!status && form == KERNELBENCHX_SUMMARY)
    status = print_summary(&results, path, json, err);
  else if (!status && !(status = kernelbenchx_compare(&results, path, &pairs, &n, err))) {
    json_t *list = json ? json_array() : NULL;
    for (int i = 0; i < n && json; i++)
      json_array_append_new(list, pair_json(&pairs[i]));
    if (json)
      cli_json_print(list);
    else
      print_table(pairs, n);
  }
  base_free(pairs);
  kernelbenchx_results_release(&results);
  return status;
}
