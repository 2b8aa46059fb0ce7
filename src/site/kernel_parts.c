// SPDX-License-Identifier: Apache-2.0
// Source, samples, builds and evidence on a kernel's page.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "site/charts.h"
#include "site/highlight.h"
#include "site/kernel.h"
#include "report/publish.h"

enum { MOST_SHOWN_SOURCE = 200 << 10, MOST_SHOWN_MESSAGES = 32 << 10 };

void kernel_put_source(struct html *w, struct kernel *k) {
  size_t shown = k->source_bytes < MOST_SHOWN_SOURCE ? k->source_bytes : MOST_SHOWN_SOURCE;
  const char *twin = strstr(k->row->candidate, " -D");
  char file[256];
  frame_heading(w, "source", "Source");
  if (!k->source) {
    frame_empty(w,
                k->row->score.candidate_hash[0]
                    ? "What was judged is not at hand: the file is gone from where it was, or is another one now. "
                      "The store has its hash, not its content; assay report --sources FOLDER looks for it elsewhere."
                    : "Neither it nor its hash was kept with this verdict.");
    return;
  }
  if (twin) {
    html_open(w, EL_P);
    html_attr(w, AT_CLASS, "note");
    html_printf(w, "Judged with the macro %s: a twin that must fail.", twin + 3);
    html_close(w, EL_P);
  }
  snprintf(file, sizeof file, "%.*s", twin ? (int)(twin - k->row->candidate) : 255, k->row->candidate);
  highlight_write(w, highlight_language_of(file), k->source, shown);
  if (shown < k->source_bytes)
    frame_note(w, "Cut after 200 kB.");
}

static void draw_strip(const void *chart, const struct draw_page *page, struct buf *out) {
  draw_samples(chart, page, out);
}

static void put_strip(struct html *w, const struct score_row *s) {
  const struct score_unit unit = score_time_unit(&s->time_ns, 1);
  double *values = base_calloc(2 * (size_t)s->n_samples, sizeof *values);
  double *sorted = values ? values + s->n_samples : NULL;
  for (int i = 0; values && i < s->n_samples; i++)
    values[i] = (s->samples_ns[i] - s->overhead_ns) / unit.ns;
  const int known = values ? draw_sort(values, s->n_samples, sorted) : 0;
  const struct draw_samples chart = {.title = "cold samples",
                                     .unit = unit.name,
                                     .values = values,
                                     .sorted = sorted,
                                     .n_sorted = known,
                                     .n = s->n_samples,
                                     .median = s->time_ns / unit.ns,
                                     .interval = {s->time.low / unit.ns, s->time.high / unit.ns}};
  if (values)
    chart_put(w, "samples", draw_strip, &chart);
  w->out->failed = w->out->failed || !values;
  base_free(values);
}

void kernel_put_samples(struct html *w, struct kernel *k) {
  const json_t *timing = json_object_get(k->evidence, "timing");
  const char *stopped = kernel_text_in(k, timing, "stopped");
  const struct score_row *s = &k->row->score;
  frame_heading(w, "samples", "Samples");
  if (s->n_samples == 0) {
    frame_empty(w, s->time_ns > 0 ? "They were not kept: the median above is all there is."
                                  : "It was not timed, or its timing gave no samples.");
    return;
  }
  html_open(w, EL_P);
  html_printf(w, "%s%s%s%s.", frame_count(s->n_samples, "cold sample", (char[FRAME_COUNT]){0}),
              stopped[0] ? " (stopped: " : "", stopped, stopped[0] ? ")" : "");
  html_close(w, EL_P);
  put_strip(w, s);
}

void kernel_put_origins(struct html *w, struct kernel *k) {
  static const struct {
    const char *key, *text;
  } origins[] = {{"own", "its own"}, {"library", "of libraries"}, {"pytorch", "of PyTorch"}};
  static const struct frame_column columns[] = {{"kernels", 'l'}, {"launches", 'r'}, {"part of the time", 'r'}};
  const json_t *kernels = json_object_get(k->evidence, "kernels");
  struct frame_table t = {.label = "whose kernels ran", .columns = columns, .n = 3};
  frame_heading(w, "origins", "Whose kernels ran");
  if (!json_is_object(kernels)) {
    if (k->n_checks < 0)
      frame_empty(w, "That was not kept with this verdict.");
    else if (k->n_checks == 0)
      frame_empty(w, "None is known: no call of it was checked.");
    else if (kernel_text(k, "no_plan")[0])
      frame_empty(w, "Not seen: it ran in a process of its own, without a plan.");
    else
      frame_empty(w, "Only its own: everything that a candidate of this form starts is its own code.");
    return;
  }
  table_begin(w, &t);
  for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
    const json_t *o = json_object_get(kernels, origins[i].key);
    table_row_begin(w, &t, NULL);
    table_text(w, &t, origins[i].text);
    table_int(w, &t, json_integer_value(json_object_get(o, "launches")));
    table_number(w, &t, kernel_number(o, "part"), 3);
    table_row_end(w, &t);
  }
  table_end(w, &t);
}

// What it launches, kernel by kernel, as far as the device said it.
void kernel_put_plan(struct html *w, struct kernel *k) {
  static const struct frame_column columns[] = {{"kernel", 'l'},
                                                {"launches", 'r'},
                                                {"threads a block", 'r'},
                                                {"registers a thread", 'r'},
                                                {"shared, bytes a block", 'r'},
                                                {"blocks an SM", 'r'},
                                                {"occupancy", 'r'}};
  static const char *const keys[] = {"launches", "threads", "registers", "shared_bytes", "blocks"};
  const json_t *all = json_object_get(k->evidence, "resources");
  struct frame_table t = {.label = "launches", .columns = columns, .n = 7};
  frame_heading(w, "plan", "Launch plan");
  if (json_array_size(all) == 0) {
    frame_empty(w, strcmp(kernel_text(k, "mode"), "plan") != 0 ? "There is none: it ran as a process of its own."
                                                               : "Its launches were not kept with this verdict.");
  } else {
    table_begin(w, &t);
    for (size_t i = 0; i < json_array_size(all); i++) {
      const json_t *need = json_array_get(all, i);
      table_row_begin(w, &t, NULL);
      const char *name = kernel_text_in(k, need, "kernel");
      table_text(w, &t, name[0] ? name : "?");
      for (size_t c = 0; c < sizeof keys / sizeof *keys; c++)
        table_int(w, &t, json_integer_value(json_object_get(need, keys[c])));
      table_number(w, &t, kernel_number(need, "occupancy"), 2);
      table_row_end(w, &t);
    }
    table_end(w, &t);
  }
  if (strcmp(kernel_text(k, "mode"), "plan") == 0)
    frame_note(w, "`assay plan save TASK FILE --out PLAN` makes the plan, `assay plan show PLAN` prints every launch; "
                  "neither needs a GPU.");
}

void kernel_put_build(struct html *w, struct kernel *k) {
  const char *messages = kernel_text(k, "diagnostics"), *command = kernel_text(k, "build_command");
  size_t n = strlen(messages), shown = n < MOST_SHOWN_MESSAGES ? n : MOST_SHOWN_MESSAGES;
  frame_heading(w, "build", "Build");
  facts_begin(w);
  facts_text(w, "toolchain", kernel_text(k, "toolchain"));
  facts_text(w, "compiler", kernel_text(k, "compiler"));
  facts_text(w, "command", command);
  facts_text(w, "mode", kernel_text(k, "mode"));
  facts_text(w, "why there is no plan", kernel_text(k, "no_plan"));
  facts_end(w);
  if (!json_object_get(k->evidence, "diagnostics")) {
    frame_empty(w, "What the compiler and the kernel printed was not kept with this verdict.");
    return;
  }
  if (n == 0) {
    frame_empty(w, "Neither the compiler nor the kernel printed anything.");
    return;
  }
  html_open(w, EL_PRE);
  html_attr(w, AT_CLASS, "wrap");
  html_attr(w, AT_TABINDEX, "0");
  html_bytes(w, messages, shown);
  html_close(w, EL_PRE);
  if (shown < n)
    frame_note(w, "Cut after 32 kB.");
}

// UTC, whatever the place. Midnight to the nanosecond is a date whose hour nobody noted.
static const char *date_text(int64_t at_ns, char *text, size_t size) {
  static const int64_t second = 1000000000, day = 86400 * second;
  time_t seconds = (time_t)(at_ns / second);
  const char *format = at_ns % day ? "%Y-%m-%d %H:%M UTC" : "%Y-%m-%d";
  struct tm tm;
  if (!gmtime_r(&seconds, &tm) || strftime(text, size, format, &tm) == 0)
    snprintf(text, size, "-");
  return text;
}

static void put_timing(struct html *w, struct kernel *k) {
  const json_t *timing = json_object_get(k->evidence, "timing");
  const struct {
    const char *term, *key, *unit;
  } numbers[] = {{"clock", "clock_mhz", "MHz"},
                 {"temperature", "temperature_c",
                  "\xC2\xB0"
                  "C"},
                 {"power", "power_w", "W"}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (kernel_number(timing, numbers[i].key) > 0)
      facts_printf(w, numbers[i].term, "%.4g %s", kernel_number(timing, numbers[i].key), numbers[i].unit);
  facts_text(w, "throttled", kernel_text_in(k, timing, "throttle"));
  if (kernel_number(timing, "dropped") > 0)
    facts_printf(w, "samples dropped", "%.0f", kernel_number(timing, "dropped"));
  const json_t *first = json_object_get(timing, "left_out");
  if (json_is_object(first))
    facts_printf(w, "timed again",
                 "a first series of %.0f calls does not count: the judge's clock saw %.6g us, the device's %.6g us",
                 kernel_number(first, "samples"), 1e-3 * kernel_number(first, "wall_ns"),
                 1e-3 * kernel_number(first, "median_ns"));
}

void kernel_put_evidence(struct html *w, struct kernel *k) {
  const struct store_verdict *v = &k->v;
  const json_t *secret = json_object_get(k->evidence, "secret");
  char date[64], device[200];
  frame_heading(w, "evidence", "Evidence");
  facts_begin(w);
  facts_text(w, "judged at", date_text(v->at_ns, date, sizeof date));
  facts_text(w, "judge", kernel_text(k, "judge"));
  snprintf(device, sizeof device, "%s", kernel_text(k, "device"));
  facts_text(w, "device", device[0] ? device : publish_text(&k->arena, v->device));
  facts_text(w, "processor", kernel_text_in(k, k->machine, "processor"));
  facts_text(w, "system", kernel_text_in(k, k->machine, "kernel"));
  put_timing(w, k);
  facts_text(w, "commit of the judge", kernel_text(k, "commit"));
  if (kernel_has_seed(k))
    facts_printf(w, "seed", "%" PRIu64, v->seed);
  else
    facts_text(w, "seed", "not kept");
  if (json_is_integer(secret))
    facts_printf(w, "secret", "%" PRIu64, (uint64_t)json_integer_value(secret));
  facts_text(w, "source, SHA-256", v->candidate_hash);
  facts_text(w, "task, SHA-256", v->task_hash);
  facts_text(w, "settings, SHA-256", v->settings_hash);
  facts_text(w, "sandbox", kernel_text(k, "sandbox"));
  facts_text(w, "holds", kernel_text(k, "scope"));
  facts_text(w, "elsewhere", kernel_text(k, "elsewhere"));
  facts_text(w, "contract", kernel_text(k, "contract"));
  facts_text(w, "rule", kernel_text(k, "rule"));
  facts_end(w);
}
