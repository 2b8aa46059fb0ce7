// SPDX-License-Identifier: Apache-2.0
// Tables and what stands in their cells.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "score/figure.h"
#include "site/frame.h"

enum { LONG_HEAD = 16 }; // characters; a longer head may take two lines

void table_begin(struct html *w, struct frame_table *t) {
  html_open(w, EL_DIV);
  html_attr(w, AT_CLASS, "wide");
  html_attr(w, AT_TABINDEX, "0");
  html_attr(w, AT_ROLE, "region");
  html_attr(w, AT_ARIA_LABEL, t->label);
  html_open(w, EL_TABLE);
  if (t->name)
    html_attr(w, AT_DATA_TABLE, t->name);
  html_open(w, EL_THEAD);
  html_open(w, EL_TR);
  for (int i = 0; i < t->n; i++) {
    html_open(w, EL_TH);
    html_attr(w, AT_SCOPE, "col");
    const bool is_long = strlen(t->columns[i].text) > LONG_HEAD;
    if (t->columns[i].align == 'r' || is_long)
      html_attr(w, AT_CLASS, t->columns[i].align != 'r' ? "long" : is_long ? "r long" : "r");
    frame_name(w, t->columns[i].text);
    html_close(w, EL_TH);
  }
  html_close(w, EL_TR);
  html_close(w, EL_THEAD);
  html_open(w, EL_TBODY);
}

void table_end(struct html *w, struct frame_table *t) {
  (void)t;
  html_close(w, EL_TBODY);
  html_close(w, EL_TABLE);
  html_close(w, EL_DIV);
}

void table_row_begin(struct html *w, struct frame_table *t, const char *class) {
  t->at = 0;
  html_open(w, EL_TR);
  if (class)
    html_attr(w, AT_CLASS, class);
}

void table_row_end(struct html *w, struct frame_table *t) {
  (void)t;
  html_close(w, EL_TR);
}

// A name without spaces would take the whole width.
static bool is_wide(const char *text) {
  enum { WIDE = 32 };
  return strlen(text) > WIDE;
}

static void put_name(struct html *w, const struct frame_table *t, const char *text) {
  html_open(w, EL_BDI);
  if (t->at == 0 || t->columns[t->at].align == 'w' || is_wide(text))
    frame_name(w, text);
  else
    html_text(w, text);
  html_close(w, EL_BDI);
}

static void begin_cell(struct html *w, struct frame_table *t, const char *value, bool wide) {
  const char align = t->columns[t->at].align == 'r' ? 'r' : wide ? 'w' : t->columns[t->at].align;
  html_open(w, t->at ? EL_TD : EL_TH);
  if (!t->at)
    html_attr(w, AT_SCOPE, "row");
  if (align != 'l')
    html_attr(w, AT_CLASS, align == 'r' ? "r" : "w");
  if (value)
    html_attr(w, AT_DATA_V, value);
}

void table_cell_begin(struct html *w, struct frame_table *t, const char *value) {
  begin_cell(w, t, value, false);
}

void table_cell_end(struct html *w, struct frame_table *t) {
  html_close(w, t->at ? EL_TD : EL_TH);
  t->at++;
}

void table_text(struct html *w, struct frame_table *t, const char *text) {
  begin_cell(w, t, NULL, is_wide(text));
  put_name(w, t, text);
  table_cell_end(w, t);
}

void table_int(struct html *w, struct frame_table *t, int64_t n) {
  table_cell_begin(w, t, NULL);
  html_printf(w, "%lld", (long long)n);
  table_cell_end(w, t);
}

void table_number(struct html *w, struct frame_table *t, double x, int decimals) {
  char shown[64], full[64];
  table_cell_begin(w, t, isfinite(x) ? score_number(x, 9, full, sizeof full) : "");
  html_text(w, score_number(x, decimals, shown, sizeof shown));
  table_cell_end(w, t);
}

void table_ratio(struct html *w, struct frame_table *t, double x) {
  const int decimals = score_decimals(x, NAN);
  table_number(w, t, x, decimals < 0 ? 0 : decimals > 2 ? 2 : decimals);
}

void table_link(struct html *w, struct frame_table *t, const struct address *to, const char *text) {
  begin_cell(w, t, text, is_wide(text));
  html_open(w, EL_A);
  html_address(w, AT_HREF, to);
  put_name(w, t, text);
  html_close(w, EL_A);
  table_cell_end(w, t);
}

// --- verdicts

// A pass that does not rank says why; every other verdict is its reason's code.
struct site_word site_word(const struct site_row *row) {
  const struct score_row *s = &row->score;
  struct site_word word = {"fail", ""};
  const char *text = assay_reason_code(s->reason);
  if (!s->judged)
    word.class = "none";
  else if (s->cheat[0])
    word.class = "cheat";
  else if (s->reason == ASSAY_REASON_PASS && s->suspicious) {
    word.class = "care";
    text = "suspicious";
  } else if (s->reason == ASSAY_REASON_PASS && s->narrow) {
    word.class = "care";
    text = "pass at the judged shape only";
  } else if (s->reason == ASSAY_REASON_PASS && s->unstable && s->time_ns > 0) {
    word.class = "unstable";
    text = "pass, time unstable";
  } else if (s->reason == ASSAY_REASON_PASS)
    word.class = "pass";
  snprintf(word.text, sizeof word.text, "%s", text);
  return word;
}

void frame_word(struct html *w, const struct site_word *word) {
  html_open(w, EL_SPAN);
  html_attr_printf(w, AT_CLASS, "v v-%s", word->class);
  html_text(w, word->text);
  html_close(w, EL_SPAN);
}

void table_verdict(struct html *w, struct frame_table *t, const struct site_row *row) {
  const struct site_word word = site_word(row);
  table_cell_begin(w, t, NULL);
  frame_word(w, &word);
  table_cell_end(w, t);
}

// --- times

static void put_time(struct html *w, double ns, const struct interval *in, const struct score_unit *unit,
                     bool with_unit) {
  char value[48], half_text[48];
  const double x = ns / unit->ns, half = score_half_width(ns, in) / unit->ns;
  const int decimals = score_decimals(x, half);
  html_text(w, score_number(x, decimals, value, sizeof value));
  if (with_unit)
    html_printf(w, " %s", unit->name);
  if (isfinite(half) && half > 0)
    html_printf(w, " \xC2\xB1%s", score_number(half, decimals, half_text, sizeof half_text));
}

void table_time(struct html *w, struct frame_table *t, double ns, const struct interval *in,
                const struct score_unit *unit) {
  char full[48];
  bool known = isfinite(ns) && ns > 0;
  table_cell_begin(w, t, known ? score_number(ns, 1, full, sizeof full) : "");
  if (known)
    put_time(w, ns, in, unit, false);
  else
    html_text(w, "not measured");
  table_cell_end(w, t);
}

void frame_time(struct html *w, double ns, const struct interval *in) {
  const struct score_unit unit = score_time_unit(&ns, 1);
  if (isfinite(ns) && ns > 0)
    put_time(w, ns, in, &unit, true);
  else
    html_text(w, "not measured");
}

// --- facts

void facts_begin(struct html *w) {
  html_open(w, EL_DL);
  html_attr(w, AT_CLASS, "facts");
}

void facts_text(struct html *w, const char *term, const char *text) {
  if (!text || !text[0])
    return;
  html_element(w, EL_DT, NULL, term);
  html_open(w, EL_DD);
  html_element(w, EL_BDI, NULL, text);
  html_close(w, EL_DD);
}

void facts_printf(struct html *w, const char *term, const char *fmt, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  facts_text(w, term, text);
}

void facts_end(struct html *w) {
  html_close(w, EL_DL);
}
