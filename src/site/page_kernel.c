// SPDX-License-Identifier: Apache-2.0
// One verdict: what came out, how fast it is, how to repeat it, and all that was seen.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "score/newest.h"
#include "site/kernel.h"
#include "report/publish.h"

// The verdict in a word, and one sentence why.
static void put_answer(struct html *w, struct kernel *k) {
  const struct site_row *row = k->row;
  const struct site_word word = site_word(row);
  html_open(w, EL_P);
  html_attr(w, AT_CLASS, "lead");
  frame_word(w, &word);
  html_text(w, ": ");
  if (row->score.reason != ASSAY_REASON_PASS && row->detail[0])
    html_element(w, EL_BDI, NULL, row->detail);
  else
    html_printf(w, "%s%s", assay_reason_text(row->score.reason), row->score.narrow ? ", at the judged shape" : "");
  if (!row->detail[0] || row->score.reason == ASSAY_REASON_PASS)
    html_text(w, ".");
  html_close(w, EL_P);
  if (row->rank.why == SCORE_REPLACED || (row->score.reason == ASSAY_REASON_PASS && row->rank.why))
    html_element(w, EL_P, "note", publish_text(&k->arena, score_reason_text(row->rank.why)));
}

static void put_figures(struct html *w, struct kernel *k) {
  const struct site_row *row = k->row;
  const struct score_row *s = &row->score;
  const json_t *timing = json_object_get(k->evidence, "timing");
  static const struct interval unknown = {NAN, NAN};
  enum { PREPARATION = 3 };
  const struct {
    const char *term;
    double ns;
  } others[] = {{"hot", k->v.hot_ns},
                {"as called", kernel_number(timing, "called_ns")},
                {"floor", s->floor_ns},
                {"preparation, once", kernel_number(timing, "prepare_ns")}};
  facts_begin(w);
  html_element(w, EL_DT, NULL, "time, cold");
  html_open(w, EL_DD);
  html_open(w, EL_STRONG);
  frame_time(w, s->time_ns, &s->time);
  html_close(w, EL_STRONG);
  html_text(w, s->unstable && s->time_ns > 0 ? " (unstable)" : "");
  html_close(w, EL_DD);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (isnan(others[i].ns) && (!(s->time_ns > 0) || i == PREPARATION)) // "not measured" once is enough
      continue;
    html_element(w, EL_DT, NULL, others[i].term);
    html_open(w, EL_DD);
    frame_time(w, others[i].ns, &unknown);
    html_close(w, EL_DD);
  }
  if (s->time_ns > 0 && s->floor_ns > 0)
    facts_printf(w, "of the hardware's limit", "%.3g (%.3g times the floor)", s->floor_ns / s->time_ns,
                 s->time_ns / s->floor_ns);
  if (!row->rank.why)
    facts_printf(w, "rank", row->rank.first == row->rank.last ? "%d of %d" : "%d to %d of %d", row->rank.first,
                 row->rank.first == row->rank.last ? k->site->groups[row->group].n_ranked : row->rank.last,
                 k->site->groups[row->group].n_ranked);
  if (isfinite(row->error_z) && isfinite(row->error_limit))
    facts_printf(w, "largest error", "%.3g of the %.3g that the contract allows%s%s", row->error_z, row->error_limit,
                 row->gate[0] ? ", by " : "", row->gate);
  facts_end(w);
}

// What is to be known of a baseline, or of several in turn.
static void put_remarks(struct html *w, struct kernel *k, const json_t *baselines) {
  const char *last = "";
  for (size_t i = 0; i < json_array_size(baselines); i++) {
    const char *text = json_string_value(json_object_get(json_array_get(baselines, i), "detail"));
    const char *fit = text && text[0] && strcmp(text, last) != 0 ? publish_text(&k->arena, text) : NULL;
    if (fit)
      frame_note(w, fit);
    last = text ? text : last;
  }
}

static void put_baselines(struct html *w, struct kernel *k) {
  static const struct frame_column columns[] = {
      {"baseline", 'l'}, {"verdict", 'l'}, {"time", 'r'}, {"speedup", 'r'}, {"95 % interval", 'r'}};
  const json_t *all = json_object_get(k->evidence, "baselines");
  struct frame_table t = {.label = "baselines", .columns = columns, .n = 5};
  frame_heading(w, "baselines", "Compared with");
  if (json_array_size(all) == 0) {
    frame_empty(w, k->row->score.time_ns > 0 ? "It was timed alone: no baseline took turns with it."
                                             : "It has no time that could be compared.");
    return;
  }
  table_begin(w, &t);
  for (size_t i = 0; i < json_array_size(all); i++) {
    const json_t *b = json_array_get(all, i);
    const char *name = json_string_value(json_object_get(b, "name"));
    const char *verdict = kernel_text_in(k, b, "verdict");
    const struct interval time = {kernel_number(b, "low_ns"), kernel_number(b, "high_ns")};
    const char *fit = publish_text(&k->arena, name);
    char interval[64];
    table_row_begin(w, &t, NULL);
    table_text(w, &t, publish_candidate(fit ? fit : ""));
    table_text(w, &t, verdict[0] ? verdict : "-");
    table_cell_begin(w, &t, NULL);
    frame_time(w, kernel_number(b, "median_ns"), &time);
    table_cell_end(w, &t);
    table_number(w, &t, kernel_number(b, "speedup"), 3);
    snprintf(interval, sizeof interval, "%.4g to %.4g", kernel_number(b, "speedup_low"),
             kernel_number(b, "speedup_high"));
    table_text(w, &t, isfinite(kernel_number(b, "speedup_low")) ? interval : "-");
    table_row_end(w, &t);
  }
  table_end(w, &t);
  put_remarks(w, k, all);
}

static void put_command(struct html *w, struct kernel *k) {
  const char *command = publish_text(&k->arena, k->v.command);
  frame_heading(w, "repeat", "Repeat it");
  if (!command || !command[0]) {
    frame_empty(w, "The command that repeats this verdict is not known.");
    return;
  }
  html_open(w, EL_PRE);
  html_attr(w, AT_CLASS, "wrap");
  html_attr(w, AT_DATA_COPY, "");
  html_attr(w, AT_TABINDEX, "0");
  html_element(w, EL_CODE, NULL, command);
  html_close(w, EL_PRE);
  if (kernel_has_seed(k))
    frame_note(w, "The same seed gives the same inputs: the checks repeat bit for bit, times as far as the machine "
                  "does. `.../` stands for a folder of the machine that judged.");
  else
    frame_note(w, "The seed was not kept with this verdict: the command draws other inputs.");
}

static bool is_of_same_kernel(const struct score_row *a, const struct score_row *b) {
  return (a->candidate_hash[0] && strcmp(a->candidate_hash, b->candidate_hash) == 0) || score_same_kernel(a, b);
}

// The same kernel, judged otherwise or again.
static void put_others(struct html *w, struct kernel *k) {
  static const struct frame_column columns[] = {
      {"verdict of", 'l'}, {"verdict", 'l'}, {"time", 'r'}, {"setting", 'w'}, {"run", 'w'}};
  const struct site_task *task = &k->site->tasks[k->row->task];
  struct frame_table t = {.label = "other verdicts of this kernel", .columns = columns, .n = 5};
  int n = 0;
  enum { MOST = 100 };
  char setting[256];
  for (int i = 0; i < task->n && n < MOST; i++) {
    const struct site_row *other = &k->site->rows[task->first + i];
    if (other == k->row || !is_of_same_kernel(&other->score, &k->row->score))
      continue;
    if (n++ == 0) {
      frame_heading(w, "others", "Other verdicts of the same kernel");
      table_begin(w, &t);
    }
    const struct address at = frame_kernel(other), run = frame_run(&k->site->runs[other->run]);
    table_row_begin(w, &t, NULL);
    table_link(w, &t, &at, other->candidate);
    table_verdict(w, &t, other);
    table_cell_begin(w, &t, NULL);
    frame_time(w, other->score.time_ns, &other->score.time);
    table_cell_end(w, &t);
    table_text(w, &t, frame_setting_text(&other->score.setting, setting, sizeof setting));
    table_link(w, &t, &run, k->site->runs[other->run].title);
    table_row_end(w, &t);
  }
  if (n)
    table_end(w, &t);
}

struct making {
  const struct site_file *file;
  struct buf *out;
};

static enum assay_status make_page(struct kernel *k, void *arg, struct assay_error *err) {
  const struct making *m = arg;
  const struct site_task *task = &k->site->tasks[k->row->task];
  const struct site_run *run = &k->site->runs[k->row->run];
  struct frame frame = {.at = &m->file->at,
                        .title = k->row->candidate,
                        .description = "One verdict with its evidence.",
                        .n_crumbs = 1,
                        .crumbs = {{task->name, frame_task(task)}},
                        .csv = true,
                        .json = true};
  const struct address to_run = frame_run(run), to_task = frame_task(task);
  char setting[256];
  struct html w;
  frame_begin(&w, m->out, k->site, &frame);
  html_open(&w, EL_P);
  html_attr(&w, AT_CLASS, "note");
  html_link(&w, &to_task, task->name);
  html_printf(&w, " %s%s%s. Run: ", task->title, task->title[0] ? ", " : "",
              frame_setting_text(&k->row->score.setting, setting, sizeof setting));
  html_link(&w, &to_run, run->title);
  html_close(&w, EL_P);
  put_answer(&w, k);
  put_figures(&w, k);
  kernel_put_samples(&w, k);
  put_baselines(&w, k);
  kernel_put_checks(&w, k);
  kernel_put_source(&w, k);
  kernel_put_origins(&w, k);
  kernel_put_plan(&w, k);
  kernel_put_build(&w, k);
  put_command(&w, k);
  kernel_put_evidence(&w, k);
  put_others(&w, k);
  frame_end(&w, &frame);
  return buf_status(m->out, err);
}

enum assay_status page_kernel(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  struct making m = {f, out};
  return kernel_with(site, &site->rows[f->item], make_page, &m, err);
}
