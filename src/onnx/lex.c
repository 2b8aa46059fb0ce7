// SPDX-License-Identifier: Apache-2.0
// The lexer of ONNX's textual syntax. The same characters as onnx.parser: identifiers are ASCII letters, digits and
// underscores; a backslash in a string makes the next character literal, whatever it is; comments run from # to the
// end of the line.
#include "onnx/lex.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "onnx/build.h"

enum { MAX_NUMBER_BYTES = 1024 };

void lex_start(struct lexer *l, const char *text, size_t len) {
  *l = (struct lexer){.text = text, .len = len, .line = 1, .column = 1};
}

// ctype.h follows the locale; the syntax does not.
static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// NUL is not a token, so it can mark the end.
static char peek(const struct lexer *l, size_t ahead) {
  return l->pos + ahead < l->len ? l->text[l->pos + ahead] : '\0';
}

// Lines are counted here and in strings, the only places where a newline can be.
static void skip_blanks(struct lexer *l) {
  bool comment = false;
  for (; l->pos < l->len; l->pos++) {
    char c = l->text[l->pos];
    if (c == '\n') {
      comment = false;
      l->line++;
      l->column_pos = l->pos + 1;
      l->column = 1;
    } else if (c == '#') {
      comment = true;
    } else if (!comment && !is_space(c)) {
      return;
    }
  }
}

// The column of the current position, counted on from the last one asked for, so that one endless line stays linear.
static struct source_location here(struct lexer *l) {
  for (; l->column_pos < l->pos; l->column_pos++)
    if (((unsigned char)l->text[l->column_pos] & 0xC0) != 0x80) // not a continuation byte of UTF-8
      l->column++;
  return (struct source_location){.line = l->line, .column = l->column};
}

// A string may run over several lines; its place is where it begins.
static enum assay_status lex_string(struct lexer *l, struct token *t, struct assay_error *err) {
  size_t i = l->pos + 1;
  int lines = 0;
  size_t line_start = l->column_pos;
  for (; i < l->len && l->text[i] != '"'; i++) {
    if (l->text[i] == '\\') {
      t->escaped = true;
      i++;
    }
    if (i < l->len && l->text[i] == '\0')
      return build_error(err, ASSAY_ERR_SYNTAX, &t->at, "this string contains a NUL byte; remove it");
    if (i < l->len && l->text[i] == '\n') {
      lines++;
      line_start = i + 1;
    }
  }
  if (i >= l->len)
    return build_error(err, ASSAY_ERR_SYNTAX, &t->at, "this string has no closing quote (\")");
  t->kind = TOKEN_STRING;
  t->len = i + 1 - l->pos;
  l->pos = i + 1;
  if (lines) {
    l->line += lines;
    l->column_pos = line_start;
    l->column = 1;
  }
  return ASSAY_OK;
}

// A number that runs into a letter or a second point is one mistake, not two tokens: "1e", "12ab", "1.2.3".
static enum assay_status lex_number(struct lexer *l, struct token *t, struct assay_error *err) {
  size_t from = l->pos;
  bool real = false;
  if (peek(l, 0) == '-')
    l->pos++;
  if (is_letter(peek(l, 0))) { // -inf, -nan
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)))
      l->pos++;
    *t = (struct token){.kind = TOKEN_REAL, .start = t->start, .len = l->pos - from, .at = t->at};
    const struct token word = {.kind = TOKEN_IDENTIFIER, .start = t->start + 1, .len = t->len - 1};
    if (lex_is_special(&word))
      return ASSAY_OK;
    return build_error(err, ASSAY_ERR_SYNTAX, &t->at, "expected a number after '-'");
  }
  if (!is_digit(peek(l, 0)))
    return build_error(err, ASSAY_ERR_SYNTAX, &t->at, "expected a number after '-'");
  while (is_digit(peek(l, 0)))
    l->pos++;
  if (peek(l, 0) == '.') {
    real = true;
    l->pos++;
    while (is_digit(peek(l, 0)))
      l->pos++;
  }
  bool complete = true;
  if (peek(l, 0) == 'e' || peek(l, 0) == 'E') {
    real = true;
    l->pos += peek(l, 1) == '+' || peek(l, 1) == '-' ? 2 : 1;
    complete = is_digit(peek(l, 0));
    while (is_digit(peek(l, 0)))
      l->pos++;
  }
  if (!complete || is_letter(peek(l, 0)) || peek(l, 0) == '.') {
    size_t shown = l->pos - from + (l->pos < l->len ? 1 : 0); // including the offending character
    return build_error(err, ASSAY_ERR_SYNTAX, &t->at, "malformed number '%.*s'; write it like -12, 0.5 or 1e-3",
                       (int)(shown < 40 ? shown : 40), t->start);
  }
  t->kind = real ? TOKEN_REAL : TOKEN_INTEGER;
  t->len = l->pos - from;
  if (t->len > MAX_NUMBER_BYTES)
    return build_error(err, ASSAY_ERR_LIMIT, &t->at, "a number has %zu characters; at most %d are accepted", t->len,
                       MAX_NUMBER_BYTES);
  return ASSAY_OK;
}

// Tokens point into the text and copy nothing; a name is copied when it turns out to be new.
enum assay_status lex_next(struct lexer *l, struct token *out, struct assay_error *err) {
  skip_blanks(l);
  struct token t = {.kind = TOKEN_END, .start = l->text + l->pos, .at = here(l)};
  enum assay_status status = ASSAY_OK;
  char c = peek(l, 0);
  if (l->pos >= l->len) {
    *out = t;
    return ASSAY_OK;
  }
  if (is_letter(c)) {
    size_t from = l->pos;
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)))
      l->pos++;
    t.kind = TOKEN_IDENTIFIER;
    t.len = l->pos - from;
  } else if (c == '"') {
    status = lex_string(l, &t, err);
  } else if (is_digit(c) || c == '-') {
    status = lex_number(l, &t, err);
  } else if (c == '=' && peek(l, 1) == '>') {
    t.kind = TOKEN_ARROW;
    t.len = 2;
    l->pos += 2;
  } else if (c != '\0' && strchr("<>()[]{}=,:.@?", c)) {
    t.kind = TOKEN_MARK;
    t.mark = c;
    t.len = 1;
    l->pos++;
  } else if (c > ' ' && c < 0x7F) {
    status = build_error(err, ASSAY_ERR_SYNTAX, &t.at, "unexpected '%c'", c);
  } else {
    status = build_error(err, ASSAY_ERR_SYNTAX, &t.at,
                         "unexpected byte 0x%02X; names with other characters than letters, digits and _ go in quotes",
                         (unsigned char)c);
  }
  *out = t;
  return status;
}

// Long tokens are cut: the place identifies them.
const char *lex_describe(const struct token *t, char *text) {
  int n = t->len > 40 ? 40 : (int)t->len;
  if (t->kind == TOKEN_END)
    snprintf(text, 80, "the end of the text");
  else if (t->kind == TOKEN_STRING)
    snprintf(text, 80, "%.*s%s", n, t->start, t->len > 40 ? "...\"" : "");
  else
    snprintf(text, 80, "'%.*s%s'", n, t->start, t->len > 40 ? "..." : "");
  return text;
}

// The spelling is free in case, as in C and in ONNX's own parser.
bool lex_is_special(const struct token *t) {
  static const char *const words[] = {"inf", "infinity", "nan"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (t->kind == TOKEN_IDENTIFIER && strlen(words[i]) == t->len && strncasecmp(words[i], t->start, t->len) == 0)
      return true;
  return false;
}

static enum assay_status out_of_range(const struct token *t, const char *type, struct assay_error *err) {
  char text[80];
  return build_error(err, ASSAY_ERR_SYNTAX, &t->at, "%s does not fit in %s", lex_describe(t, text), type);
}

// strtod wants a NUL, and the text need not have one anywhere.
static void number_text(const struct token *t, char text[MAX_NUMBER_BYTES + 1]) {
  memcpy(text, t->start, t->len);
  text[t->len] = '\0';
}

enum assay_status lex_int(const struct token *t, int64_t *out, struct assay_error *err) {
  char text[MAX_NUMBER_BYTES + 1];
  number_text(t, text);
  errno = 0;
  long long v = strtoll(text, NULL, 10);
  if (errno)
    return out_of_range(t, "a signed integer of 64 bits", err);
  *out = v;
  return ASSAY_OK;
}

enum assay_status lex_uint(const struct token *t, uint64_t *out, struct assay_error *err) {
  char text[MAX_NUMBER_BYTES + 1];
  number_text(t, text);
  errno = 0;
  unsigned long long v = strtoull(text, NULL, 10);
  if (errno || text[0] == '-') // strtoull would wrap a negative number around
    return out_of_range(t, "an unsigned integer of 64 bits", err);
  *out = v;
  return ASSAY_OK;
}

// Underflow is rounding; only overflow is an error. strtof and not strtod, so that a float is rounded once.
enum assay_status lex_float(const struct token *t, float *out, struct assay_error *err) {
  char text[MAX_NUMBER_BYTES + 1];
  number_text(t, text);
  errno = 0;
  float v = strtof(text, NULL);
  if (errno && isinf(v))
    return out_of_range(t, "a float", err);
  *out = v;
  return ASSAY_OK;
}

enum assay_status lex_double(const struct token *t, double *out, struct assay_error *err) {
  char text[MAX_NUMBER_BYTES + 1];
  number_text(t, text);
  errno = 0;
  double v = strtod(text, NULL);
  if (errno && isinf(v))
    return out_of_range(t, "a double", err);
  *out = v;
  return ASSAY_OK;
}
