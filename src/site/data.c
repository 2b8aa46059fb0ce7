// SPDX-License-Identifier: Apache-2.0
// The pages' rows as CSV and JSON. Listed fields only; what is missing is null, and an empty cell.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "site/data.h"
#include "site/kernel.h"

// --- values

// How many bytes from the beginning on are ASCII that means itself in JSON within HTML, and in CSV.
static size_t plain_length(const char *s, size_t n) {
  size_t i = 0;
  while (i < n && s[i] >= ' ' && s[i] < 0x7F && s[i] != '"' && s[i] != '\\' && s[i] != '<' && s[i] != '>' &&
         s[i] != '&' && s[i] != '\'')
    i++;
  return i;
}

static void put_unicode(struct buf *out, unsigned char c) {
  static const char digits[] = "0123456789abcdef";
  const char text[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
  buf_append(out, text, sizeof text);
}

void data_json_text(struct buf *out, const char *s) {
  buf_puts(out, "\"");
  for (size_t n = strlen(s), i = 0; i < n;) {
    const size_t plain = plain_length(s + i, n - i);
    buf_append(out, s + i, plain);
    i += plain;
    if (i == n)
      break;
    unsigned char c = (unsigned char)s[i];
    size_t len = utf8_length(s + i, n - i);
    if (len == 0)
      buf_puts(out, "\\ufffd");
    else if (c <= 0x7F)
      put_unicode(out, c);
    else if (len == 3 && (memcmp(s + i, "\xE2\x80\xA8", 3) == 0 || memcmp(s + i, "\xE2\x80\xA9", 3) == 0))
      buf_puts(out, s[i + 2] == '\xA8' ? "\\u2028" : "\\u2029"); // line ends of JavaScript's
    else
      buf_append(out, s + i, len);
    i += len ? len : 1;
  }
  buf_puts(out, "\"");
}

// Most numbers are counts and flags: whole ones are written as such, without a format.
static void put_whole(struct buf *out, int64_t n) {
  char room[24], *end = room + sizeof room, *at = end;
  uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  do
    *--at = (char)('0' + left % 10);
  while (left /= 10);
  if (n < 0)
    *--at = '-';
  buf_append(out, at, (size_t)(end - at));
}

void data_json_number(struct buf *out, double x) {
  static const double most = 1e15;
  char text[48];
  if (!isfinite(x))
    buf_puts(out, "null");
  else if (fabs(x) < most && x == (double)(int64_t)x)
    put_whole(out, (int64_t)x);
  else
    buf_puts(out, score_number(x, fabs(x) >= 1000 ? 1 : 6, text, sizeof text));
}

// Cells that a spreadsheet would take for a formula get a quote in front.
static void csv_text(struct buf *out, const char *s) {
  bool formula = s[0] && strchr("=+-@\t\r", s[0]);
  buf_puts(out, formula ? "\"'" : "\"");
  for (size_t n = strlen(s), i = 0; i < n; i++) {
    const size_t plain = plain_length(s + i, n - i);
    buf_append(out, s + i, plain);
    i += plain;
    if (i == n)
      break;
    size_t len = utf8_length(s + i, n - i);
    if (s[i] == '"')
      buf_puts(out, "\"\"");
    else if (len == 0 || ((unsigned char)s[i] < 0x20 && s[i] != '\n' && s[i] != '\t'))
      buf_puts(out, "\xEF\xBF\xBD");
    else {
      buf_append(out, s + i, len);
      i += len - 1;
    }
  }
  buf_puts(out, "\"");
}

// --- rows

void data_begin(struct data_table *t) {
  if (!t->csv) {
    buf_puts(t->out, "{\"schema\": \"assay/site_rows/1\", \"rows\": [");
    return;
  }
  for (int i = 0; i < t->n; i++)
    buf_printf(t->out, "%s%s", i ? "," : "", t->names[i]);
  buf_puts(t->out, "\r\n");
}

void data_end(struct data_table *t) {
  if (!t->csv)
    buf_puts(t->out, "\n]}\n");
}

static void next_cell(struct data_table *t) {
  if (t->csv) {
    buf_puts(t->out, t->at ? "," : "");
  } else {
    buf_puts(t->out, t->at ? "," : t->rows ? ",\n{" : "\n{");
    buf_puts(t->out, "\"");
    buf_puts(t->out, t->names[t->at]);
    buf_puts(t->out, "\":");
  }
  t->at++;
}

void data_text(struct data_table *t, const char *text) {
  next_cell(t);
  if (t->csv)
    csv_text(t->out, text ? text : "");
  else if (text)
    data_json_text(t->out, text);
  else
    buf_puts(t->out, "null");
}

void data_number(struct data_table *t, double x) {
  next_cell(t);
  if (!t->csv || isfinite(x))
    data_json_number(t->out, x);
}

void data_end_row(struct data_table *t) {
  buf_puts(t->out, t->csv ? "\r\n" : "}");
  t->at = 0;
  t->rows++;
}

static const char *const row_names[] = {"page",
                                        "task",
                                        "category",
                                        "operator_kind",
                                        "candidate",
                                        "verdict",
                                        "detail",
                                        "counts",
                                        "run",
                                        "device",
                                        "workload",
                                        "form",
                                        "contract",
                                        "rule",
                                        "judge",
                                        "time_ns",
                                        "time_low_ns",
                                        "time_high_ns",
                                        "floor_ns",
                                        "unstable",
                                        "suspicious",
                                        "judged_shape_only",
                                        "rank_first",
                                        "rank_last",
                                        "error",
                                        "error_allowed",
                                        "baseline",
                                        "speedup",
                                        "candidate_sha256"};

static void put_row(struct data_table *t, const struct site *site, const struct site_row *row) {
  const struct score_row *s = &row->score;
  const struct score_baseline *b = s->n_baselines ? &s->baselines[0] : NULL;
  const char *const texts[] = {row->key,
                               s->task,
                               s->category,
                               s->operator_kind,
                               row->candidate,
                               assay_reason_code(s->reason),
                               row->detail,
                               score_reason_code(row->rank.why),
                               site->runs[row->run].title,
                               s->setting.device,
                               s->setting.workload,
                               s->setting.form,
                               s->setting.contract,
                               s->setting.rule,
                               s->setting.judge};
  const double numbers[] = {s->time_ns,
                            s->time.low,
                            s->time.high,
                            s->floor_ns,
                            s->unstable,
                            s->suspicious,
                            s->narrow,
                            row->rank.why ? NAN : row->rank.first,
                            row->rank.why ? NAN : row->rank.last,
                            row->error_z,
                            row->error_limit};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    data_text(t, texts[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    data_number(t, numbers[i]);
  data_text(t, b ? b->name : NULL);
  data_number(t, b ? b->speedup : NAN);
  data_text(t, s->candidate_hash);
  data_end_row(t);
}

// Whether a row is on the page.
static bool is_on(const struct site *site, const struct site_file *f, const struct site_row *row) {
  const struct site_level *level;
  switch (f->at.place) {
  case ADDRESS_LEVEL:
    level = &site->levels[f->item];
    return row->task >= level->first && row->task < level->first + level->n;
  case ADDRESS_TASK:
    return row->task == f->item;
  case ADDRESS_METHOD:
    return row->run == f->item;
  case ADDRESS_DEVICE:
    return row->device == f->item;
  case ADDRESS_CHEATS:
    return row->score.cheat[0] != '\0';
  default:
    return false;
  }
}

static void put_rows(struct data_table *t, const struct site *site, const struct site_file *f) {
  t->names = row_names;
  t->n = sizeof row_names / sizeof *row_names;
  data_begin(t);
  for (int i = 0; i < site->n_rows; i++)
    if (is_on(site, f, &site->rows[i]))
      put_row(t, site, &site->rows[i]);
  data_end(t);
}

static const char *const level_names[] = {
    "level",   "device", "workload", "form",   "contract", "rule",     "judge",   "tasks",           "right",
    "missing", "built",  "baseline", "faster", "cheats",   "unstable", "process", "geomean_speedup", "part_of_floor"};

static enum assay_status put_levels(struct data_table *t, const struct site *site, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  t->names = level_names;
  t->n = sizeof level_names / sizeof *level_names;
  data_begin(t);
  for (int l = 0; l < site->n_levels && !status; l++) {
    struct sections all = {0};
    status = sections_make(site, &site->levels[l], &all, err);
    for (int i = 0; i < all.n && !status; i++) {
      const struct section *s = &all.items[i];
      const char *const texts[] = {site->levels[l].title, s->at.device, s->at.workload, s->at.form,
                                   s->at.contract,        s->at.rule,   s->at.judge};
      for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        data_text(t, texts[k]);
      data_number(t, s->sum.n_tasks);
      data_number(t, s->sum.n_right);
      data_number(t, s->sum.n_missing);
      data_number(t, s->sum.tasks.built);
      data_text(t, s->baseline);
      data_number(t, s->sum.tasks.baseline ? s->sum.tasks.faster : NAN);
      data_number(t, s->sum.n_cheats);
      data_number(t, s->sum.n_unstable);
      data_number(t, s->sum.n_process);
      data_number(t, s->sum.geomean_speedup);
      data_number(t, s->sum.part_of_floor.q[1]);
      data_end_row(t);
    }
    sections_release(&all);
  }
  data_end(t);
  return status;
}

// --- a kernel: its samples in the order of the calls, or everything of its verdict that is published

static void put_samples(struct data_table *t, const struct score_row *row) {
  static const char *const names[] = {"call", "cold_ns"};
  t->names = names;
  t->n = 2;
  data_begin(t);
  for (int i = 0; i < row->n_samples; i++) {
    data_number(t, i);
    data_number(t, row->samples_ns[i]);
    data_end_row(t);
  }
  data_end(t);
}

static enum assay_status put_verdict(struct kernel *k, void *arg, struct assay_error *err) {
  struct buf *out = arg;
  kernel_json(k, out);
  return buf_status(out, err);
}

enum assay_status data_make(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  struct data_table t = {.out = out, .csv = f->at.format == ADDRESS_AS_CSV};
  if (f->at.place == ADDRESS_KERNEL && !t.csv)
    return kernel_with(site, &site->rows[f->item], put_verdict, out, err);
  enum assay_status status = ASSAY_OK;
  if (f->at.place == ADDRESS_KERNEL)
    put_samples(&t, &site->rows[f->item].score);
  else if (f->at.place == ADDRESS_INDEX)
    status = put_levels(&t, site, err);
  else if (f->at.place == ADDRESS_PAIR)
    status = pair_data(site, f, &t, err);
  else if (f->at.place == ADDRESS_SWEEP)
    status = sweep_data(site, f, &t, err);
  else
    put_rows(&t, site, f);
  return status ? status : buf_status(out, err);
}
