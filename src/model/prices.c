// SPDX-License-Identifier: Apache-2.0
#include "model/prices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"

enum { MOST_BYTES = 4 << 20, MOST_MODEL_BYTES = 128 };

// "-" is `usual`. False: no decimal number.
static bool read_number(const char *text, double usual, double *out) {
  char *end;
  if (text[strspn(text, "0123456789.eE+-")])
    return false;
  *out = strcmp(text, "-") == 0 ? usual : strtod(text, &end);
  return strcmp(text, "-") == 0 ? !isnan(usual) : *end == '\0' && end != text && isfinite(*out) && *out >= 0;
}

static bool is_date(int year, int month, int day) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static bool read_row(const char *line, struct arena *arena, struct price *out) {
  char model[MOST_MODEL_BYTES], input[32], cached[32], output[32], written[32], tier[64], rest[2];
  int year, month, day;
  if (sscanf(line, "%127s %4d-%2d-%2d %31s %31s %31s %31s %63s %1s", model, &year, &month, &day, input, cached, output,
             written, tier, rest) != 9)
    return false;
  if (!is_date(year, month, day))
    return false;
  out->from = year * 10000 + month * 100 + day;
  if (!read_number(input, NAN, &out->input) || !read_number(cached, out->input, &out->cached) ||
      !read_number(output, NAN, &out->output) || !read_number(written, out->input, &out->written))
    return false;
  if (strcmp(tier, "-") != 0 &&
      (tier[strspn(tier, "0123456789.:eE+")] ||
       sscanf(tier, "%lf:%lf:%lf%1s", &out->long_tokens, &out->long_input, &out->long_output, rest) != 3 ||
       !isfinite(out->long_tokens + out->long_input + out->long_output)))
    return false;
  out->model = arena_strdup(arena, model);
  return true;
}

static enum assay_status read_rows(const char *path, char *text, struct model_prices *p, struct assay_error *err) {
  size_t capacity = 0;
  int number = 0;
  for (char *line = text, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = '\0';
    number++;
    line[strcspn(line, "#\r")] = '\0';
    if (line[strspn(line, " \t")] == '\0')
      continue;
    if (p->n == capacity) {
      struct price *more = arena_grow(&p->arena, p->rows, p->n, &capacity, sizeof *more);
      if (!more)
        return error_nomem(err, "a table of prices");
      p->rows = more;
    }
    struct price row = {0};
    if (!read_row(line, &p->arena, &row))
      return error_set(err, ASSAY_ERR_SYNTAX,
                       "%s, line %d: a line is MODEL YYYY-MM-DD INPUT CACHED OUTPUT WRITE LONG, prices in dollars a "
                       "million tokens, \"-\" where there is none",
                       path, number);
    if (!row.model)
      return error_nomem(err, "a table of prices");
    for (size_t i = 0; i < p->n; i++)
      if (p->rows[i].from == row.from && strcmp(p->rows[i].model, row.model) == 0)
        return error_set(err, ASSAY_ERR_SYNTAX, "%s, line %d: %s has a price from that date in an earlier line", path,
                         number, row.model);
    p->rows[p->n++] = row;
  }
  return ASSAY_OK;
}

enum assay_status model_prices_read(const char *path, struct model_prices *out, struct assay_error *err) {
  char *text = NULL;
  size_t n = 0;
  memset(out, 0, sizeof *out);
  enum assay_status status = file_read(path, MOST_BYTES, &text, &n, err);
  if (status)
    return error_prefix(err, status, "the table of prices: ");
  hash_sha256_hex(text, n, out->hash);
  static const char mark[] = "\xef\xbb\xbf"; // editors of other systems begin a file with it
  status = read_rows(path, strncmp(text, mark, strlen(mark)) == 0 ? text + strlen(mark) : text, out, err);
  base_free(text);
  if (status)
    model_prices_release(out);
  return status;
}

void model_prices_release(struct model_prices *p) {
  arena_release(&p->arena);
  *p = (struct model_prices){0};
}

// "gpt-5.5-2026-04-23", "claude-opus-5@20260801", "gemini-3.1-pro-preview" are the model of the name before;
// "gpt-5.4-mini" is another one, whose price is another. "mine*" are all that begin so.
static bool is_of(const struct price *row, const char *model) {
  enum { DATE_DIGITS = 4 };
  static const char *const versions[] = {"-latest", "-preview"};
  size_t n = strlen(row->model);
  if (row->model[n - 1] == '*')
    return strncmp(row->model, model, n - 1) == 0;
  if (strncmp(row->model, model, n) != 0)
    return false;
  const char *rest = model + n;
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
    if (strncmp(rest, versions[i], strlen(versions[i])) == 0)
      rest += strlen(versions[i]);
  return !rest[0] || rest[0] == '@' || (rest[0] == '-' && strspn(rest + 1, "0123456789") >= DATE_DIGITS);
}

// Of two rows that fit, the one with the longer name is meant; of "m" and "m*" the first.
static size_t closeness(const struct price *row) {
  size_t n = strlen(row->model);
  return row->model[n - 1] == '*' ? 2 * (n - 1) : 2 * n + 1;
}

const struct price *model_price_of(const struct model_prices *p, const char *model, int64_t wall_ns) {
  time_t now = (time_t)(wall_ns / 1000000000);
  struct tm day;
  const struct price *best = NULL;
  gmtime_r(&now, &day);
  int today = (day.tm_year + 1900) * 10000 + (day.tm_mon + 1) * 100 + day.tm_mday;
  for (size_t i = 0; i < p->n; i++) {
    const struct price *row = &p->rows[i];
    if (!is_of(row, model) || row->from > today)
      continue;
    size_t n = closeness(row), best_n = best ? closeness(best) : 0;
    if (!best || n > best_n || (n == best_n && row->from > best->from))
      best = row;
  }
  return best;
}

double model_price(const struct price *row, const struct model_usage *u) {
  if (!row || u->input < 0 || u->output < 0)
    return NAN;
  double cached = u->cached > 0 ? (double)u->cached : 0, written = u->written > 0 ? (double)u->written : 0;
  double fresh = (double)u->input - cached - written;
  bool is_long = row->long_tokens > 0 && (double)u->input > row->long_tokens;
  double in = (fresh > 0 ? fresh : 0) * row->input + cached * row->cached + written * row->written;
  double out = (double)u->output * row->output;
  return (in * (is_long ? row->long_input : 1) + out * (is_long ? row->long_output : 1)) / 1e6;
}
