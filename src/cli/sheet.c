// SPDX-License-Identifier: Apache-2.0
#include "cli/sheet.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "assay/verdict.h"
#include "base/alloc.h"
#include "base/printable.h"
#include "cli/argv.h"
#include "cli/table.h"

enum { KEY_CSV = 9100, KEY_MARKDOWN, KEY_JUNIT };

static const struct argp_option options[] = {
    {"csv", KEY_CSV, 0, 0, "print comma-separated values, one row each, times in nanoseconds", 0},
    {"markdown", KEY_MARKDOWN, 0, 0, "print a Markdown table", 0},
    {"junit", KEY_JUNIT, 0, 0, "print verdicts as JUnit's XML, which continuous integration shows as tests", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  enum cli_format *format = state->input;
  (void)arg;
  if (key == ARGP_KEY_INIT)
    cli_argv_errors(state);
  if (key < KEY_CSV || key > KEY_JUNIT)
    return ARGP_ERR_UNKNOWN;
  if (*format != CLI_FORMAT_TABLE)
    argp_error(state, "one of --csv, --markdown and --junit");
  *format = (enum cli_format)(key - KEY_CSV + CLI_FORMAT_CSV);
  return 0;
}

const struct argp cli_format_argp = {.options = options, .parser = parse};

// --- CSV

const struct cli_column cli_verdict_columns[] = {
    {"run", "run"},
    {"task", "task"},
    {"candidate", "candidate"},
    {"workload", "workload"},
    {"verdict", "verdict"},
    {"scope", "scope"},
    {"contract", "contract"},
    {"rule", "rule"},
    {"device", "device"},
    {"mode", "mode"},
    {"error", "checks/@worst_check/z_max"},
    {"error_allowed", "checks/@worst_check/z_limit"},
    {"time_ns", "timing/median_ns"},
    {"time_low_ns", "timing/low_ns"},
    {"time_high_ns", "timing/high_ns"},
    {"floor_ns", "timing/floor_ns"},
    {"unstable", "timing/unstable"},
    {"suspicious", "timing/suspicious"},
    {"baseline", "baselines/0/name"},
    {"speedup", "baselines/0/speedup"},
    {"detail", "detail"},
    {"seed", "seed"},
    {"secret", "secret"},
    {"command", "command"},
    {0},
};

const struct cli_column cli_score_columns[] = {
    {"run", "run"},
    {"level", "group"},
    {"device", "device"},
    {"workload", "workload"},
    {"form", "form"},
    {"contract", "contract"},
    {"rule", "rule"},
    {"tasks", "tasks"},
    {"correct", "correct"},
    {"judged_shape_only", "judged_shape_only"},
    {"missing", "missing"},
    {"cheats", "cheats"},
    {"suspicious", "suspicious"},
    {"unstable", "unstable"},
    {"pass_at_1", "pass_at_1"},
    {"part_of_floor_q1", "part_of_floor_quartiles/0"},
    {"part_of_floor_median", "part_of_floor_quartiles/1"},
    {"part_of_floor_q3", "part_of_floor_quartiles/2"},
    {"geomean_speedup", "geomean_speedup"},
    {"fast_0", "fast_p/0.0"},
    {"fast_0.5", "fast_p/0.5"},
    {"fast_0.8", "fast_p/0.8"},
    {"fast_1", "fast_p/1.0"},
    {"fast_1.5", "fast_p/1.5"},
    {"fast_2", "fast_p/2.0"},
    {0},
};

static const json_t *at(const json_t *object, const char *path) {
  const json_t *j = object;
  char step[64];
  for (const char *p = path; j && *p;) {
    size_t n = strcspn(p, "/");
    snprintf(step, sizeof step, "%.*s", (int)n, p);
    p += p[n] ? n + 1 : n;
    if (json_is_object(j)) {
      j = json_object_get(j, step);
      continue;
    }
    json_int_t i = step[0] == '@' ? json_integer_value(json_object_get(object, step + 1)) : atoi(step);
    j = i >= 0 ? json_array_get(j, (size_t)i) : NULL;
  }
  return j;
}

// A cell that begins as a formula is text to a reader, and a formula to a spreadsheet: a quote in front stops that.
static void put_cell(const char *text, FILE *to) {
  bool quote = text[0] && (strpbrk(text, ",\"\r\n") || strchr("=+-@\t", text[0]));
  if (!quote) {
    fputs(text, to);
    return;
  }
  fputs(strchr("=+-@\t", text[0]) ? "\"'" : "\"", to);
  for (const char *c = text; *c; c++) {
    if (*c == '"')
      fputc('"', to);
    fputc(*c, to);
  }
  fputc('"', to);
}

// What a terminal would obey is left out.
static void put_text(const char *given, FILE *to) {
  char *text = base_strndup(given, strlen(given));
  if (!text)
    return;
  printable(text);
  put_cell(text, to);
  base_free(text);
}

void cli_csv_head(const struct cli_column *columns, FILE *to) {
  for (const struct cli_column *c = columns; c->header; c++)
    fprintf(to, "%s%s", c == columns ? "" : ",", c->header);
  fputc('\n', to);
}

void cli_csv_row(const struct cli_column *columns, const json_t *object, FILE *to) {
  for (const struct cli_column *c = columns; c->header; c++) {
    const json_t *value = at(object, c->path);
    if (c != columns)
      fputc(',', to);
    if (json_is_string(value))
      put_text(json_string_value(value), to);
    else if (json_is_integer(value)) // seeds are unsigned, and kept as what their bits are with a sign
      fprintf(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
      fprintf(to, "%.17g", json_real_value(value));
    else if (json_is_boolean(value))
      fputs(json_is_true(value) ? "true" : "false", to);
  }
  fputc('\n', to);
}

// --- JUnit

static void put_xml(struct buf *b, const char *text) {
  for (const char *c = text; *c; c++)
    switch (*c) {
    case '&':
      buf_puts(b, "&amp;");
      break;
    case '<':
      buf_puts(b, "&lt;");
      break;
    case '>':
      buf_puts(b, "&gt;");
      break;
    case '"':
      buf_puts(b, "&quot;");
      break;
    default: // other control characters are not allowed in XML, escaped or not
      if (iscntrl((unsigned char)*c))
        buf_puts(b, *c == '\n' ? "&#10;" : *c == '\t' ? "&#9;" : "?");
      else
        buf_append(b, c, 1);
    }
}

static const char *text_at(const json_t *object, const char *path) {
  const char *text = json_string_value(at(object, path));
  return text ? text : "";
}

static void put_attribute(struct buf *b, const char *name, const char *value) {
  buf_printf(b, " %s=\"", name);
  put_xml(b, value);
  buf_puts(b, "\"");
}

static void put_outcome(struct cli_junit *j, const json_t *v, const char *element) {
  buf_printf(&j->cases, "      <%s", element);
  put_attribute(&j->cases, "type", text_at(v, "verdict"));
  put_attribute(&j->cases, "message", text_at(v, "detail"));
  buf_puts(&j->cases, ">");
  for (const char *const *key = (const char *const[]){"meaning", "command", NULL}; *key; key++)
    if (text_at(v, *key)[0]) {
      put_xml(&j->cases, text_at(v, *key));
      buf_puts(&j->cases, "\n");
    }
  put_xml(&j->cases, text_at(v, "diagnostics"));
  buf_printf(&j->cases, "</%s>\n", element);
}

void cli_junit_case(struct cli_junit *j, const json_t *verdict) {
  const char *said = text_at(verdict, "verdict");
  buf_puts(&j->cases, "    <testcase");
  put_attribute(&j->cases, "classname", text_at(verdict, "task"));
  put_attribute(&j->cases, "name", text_at(verdict, "name"));
  buf_printf(&j->cases, " time=\"%.3f\">\n", json_number_value(at(verdict, "durations_ns/total")) / 1e9);
  j->n++;
  if (strcmp(said, "not_judged") == 0) {
    j->n_skipped++;
    put_outcome(j, verdict, "skipped");
  } else if (strcmp(said, assay_reason_code(ASSAY_REASON_JUDGE_FAILED)) == 0) {
    j->n_errors++;
    put_outcome(j, verdict, "error");
  } else if (strcmp(said, assay_reason_code(ASSAY_REASON_PASS)) != 0) {
    j->n_failures++;
    put_outcome(j, verdict, "failure");
  }
  buf_puts(&j->cases, "    </testcase>\n");
}

void cli_junit_end(struct cli_junit *j, const char *suite, FILE *to) {
  struct buf head = {0};
  buf_printf(&head, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
  put_attribute(&head, "name", suite);
  buf_printf(&head, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n", j->n, j->n_failures, j->n_errors,
             j->n_skipped);
  fprintf(to, "%s%s  </testsuite>\n</testsuites>\n", buf_str(&head), buf_str(&j->cases));
  buf_release(&head);
  buf_release(&j->cases);
}

// --- one of them

bool cli_objects_wanted(const struct cli_objects *o) {
  return o->json || o->format == CLI_FORMAT_CSV || o->format == CLI_FORMAT_JUNIT;
}

void cli_objects_begin(const struct cli_objects *o) {
  if (o->json)
    cli_json_begin();
  else if (o->format == CLI_FORMAT_CSV)
    cli_csv_head(cli_verdict_columns, stdout);
}

void cli_objects_put(struct cli_objects *o, json_t *taken) {
  if (o->json) {
    cli_json_next(&o->list, taken);
    return;
  }
  if (o->format == CLI_FORMAT_CSV)
    cli_csv_row(cli_verdict_columns, taken, stdout);
  else
    cli_junit_case(&o->junit, taken);
  json_decref(taken);
}

void cli_objects_end(struct cli_objects *o, const char *suite) {
  if (o->json)
    cli_json_end(&o->list);
  else if (o->format == CLI_FORMAT_JUNIT)
    cli_junit_end(&o->junit, suite, stdout);
}

bool cli_table_print(const struct cli_objects *o, struct table *table) {
  if (o->format != CLI_FORMAT_MARKDOWN)
    return table_print(table, stdout);
  table_markdown(table, stdout);
  return false;
}
