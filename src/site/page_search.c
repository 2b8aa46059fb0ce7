// SPDX-License-Identifier: Apache-2.0
// One page that finds any verdict: its data are columns in a script, since pages opened from a file fetch nothing.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "site/data.h"
#include "site/pages.h"

enum assay_status page_search(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  static const struct frame_column columns[] = {{"kernel", 'l'},   {"task", 'l'}, {"verdict", 'l'},
                                                {"time, us", 'r'}, {"run", 'w'},  {"device", 'l'}};
  const struct frame frame = {
      .at = &f->at, .title = "Search", .description = "Finds any verdict by its words.", .search = true};
  struct frame_table t = {.label = "verdicts found", .columns = columns, .n = 6};
  struct html w;
  frame_begin(&w, out, site, &frame);
  html_open(&w, EL_P);
  html_attr(&w, AT_CLASS, "lead");
  html_printf(&w, "All verdicts of this site (%d), by task, kernel, run, verdict, device.", site->n_rows);
  html_close(&w, EL_P);
  html_open(&w, EL_DIV);
  html_attr(&w, AT_CLASS, "tools");
  html_open(&w, EL_LABEL);
  html_attr(&w, AT_FOR, "search");
  html_text(&w, "words, all of which must be there");
  html_close(&w, EL_LABEL);
  html_open(&w, EL_INPUT);
  html_attr(&w, AT_TYPE, "search");
  html_attr(&w, AT_ID, "search");
  html_attr(&w, AT_AUTOCOMPLETE, "off");
  html_open(&w, EL_SPAN);
  html_attr(&w, AT_ID, "count");
  html_attr(&w, AT_ROLE, "status");
  html_text(&w, "Searching needs JavaScript. Without it, the levels on the overview list all tasks, and each task all "
                "kernels.");
  html_close(&w, EL_SPAN);
  html_close(&w, EL_DIV);
  table_begin(&w, &t);
  html_close(&w, EL_TBODY);
  html_open(&w, EL_TBODY);
  html_attr(&w, AT_ID, "hits");
  table_end(&w, &t);
  frame_end(&w, &frame);
  return buf_status(out, err);
}

// --- its data

typedef void put_value(struct buf *out, const struct site *site, int i);

static void put_column(struct buf *out, const struct site *site, const char *name, int n, put_value *put) {
  buf_printf(out, "\"%s\":[", name);
  for (int i = 0; i < n; i++) {
    buf_puts(out, i ? "," : "");
    put(out, site, i);
  }
  buf_puts(out, "],\n");
}

static void put_task(struct buf *out, const struct site *site, int i) {
  data_json_text(out, site->rows[i].score.task);
}

static void put_candidate(struct buf *out, const struct site *site, int i) {
  data_json_text(out, site->rows[i].candidate);
}

static void put_key(struct buf *out, const struct site *site, int i) {
  data_json_text(out, site->rows[i].key);
}

static void put_run(struct buf *out, const struct site *site, int i) {
  buf_printf(out, "%d", site->rows[i].run);
}

static void put_device(struct buf *out, const struct site *site, int i) {
  buf_printf(out, "%d", site->rows[i].device);
}

static void put_run_title(struct buf *out, const struct site *site, int i) {
  data_json_text(out, site->runs[i].title);
}

static void put_device_title(struct buf *out, const struct site *site, int i) {
  char text[FRAME_TEXT];
  data_json_text(out, frame_device_text(site->devices[i].name, text, sizeof text));
}

// Microseconds, of which a reader needs three digits.
static void put_time(struct buf *out, const struct site *site, int i) {
  char text[48];
  double us = site->rows[i].score.time_ns / 1000;
  buf_puts(out, us > 0 && isfinite(us) ? score_number(us, score_decimals(us, NAN), text, sizeof text) : "null");
}

// The verdicts' words, each once; a row has its word's place.
enum { MOST_WORDS = 64 };
struct words {
  struct site_word items[MOST_WORDS];
  int n;
};

static int place_of(struct words *all, const struct site_word *word) {
  for (int i = 0; i < all->n; i++)
    if (strcmp(all->items[i].text, word->text) == 0)
      return i;
  if (all->n < MOST_WORDS)
    all->items[all->n++] = *word;
  return all->n - 1;
}

enum assay_status data_search(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  struct words words = {.n = 0};
  (void)f;
  buf_puts(out, "window.assayAll = {\n");
  put_column(out, site, "task", site->n_rows, put_task);
  put_column(out, site, "candidate", site->n_rows, put_candidate);
  put_column(out, site, "key", site->n_rows, put_key);
  put_column(out, site, "time", site->n_rows, put_time);
  put_column(out, site, "run", site->n_rows, put_run);
  put_column(out, site, "device", site->n_rows, put_device);
  put_column(out, site, "runs", site->n_runs, put_run_title);
  put_column(out, site, "devices", site->n_devices, put_device_title);
  buf_puts(out, "\"verdict\":[");
  for (int i = 0; i < site->n_rows; i++) {
    const struct site_word word = site_word(&site->rows[i]);
    buf_printf(out, i ? ",%d" : "%d", place_of(&words, &word));
  }
  buf_puts(out, "],\n\"verdicts\":[");
  for (int i = 0; i < words.n; i++) {
    buf_puts(out, i ? "," : "");
    data_json_text(out, words.items[i].text);
  }
  buf_puts(out, "],\n\"kinds\":[");
  for (int i = 0; i < words.n; i++)
    buf_printf(out, "%s\"%s\"", i ? "," : "", words.items[i].class);
  buf_puts(out, "]\n};\n");
  return buf_status(out, err);
}
