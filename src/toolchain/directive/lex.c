// SPDX-License-Identifier: Apache-2.0
// Directive lines in a source, and the words in them.
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "toolchain/directive/private.h"

static bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool name_start(char c) {
  return isalpha((unsigned char)c) || c == '_';
}

static bool name_part(char c) {
  return name_start(c) || isdigit((unsigned char)c);
}

// Past the blanks and the text, or NULL when it is not there.
static const char *skip(const char *p, const char *stop, const char *text) {
  size_t n = strlen(text);
  while (p < stop && blank(*p))
    p++;
  return (size_t)(stop - p) >= n && memcmp(p, text, n) == 0 ? p + n : NULL;
}

static void enter_line(struct lexer *l, const char *start) {
  const char *newline = memchr(start, '\n', (size_t)(l->end - start));
  l->p = l->line_start = start;
  l->stop = newline ? newline : l->end;
}

// The number that `#line 12` gives the line after it, as to a compiler; 0: it is no such line.
static int numbered(const char *p, const char *stop) {
  int n = 0;
  p = skip(p, stop, "#");
  p = p ? skip(p, stop, "line") : NULL;
  for (p = p ? skip(p, stop, "") : stop; p < stop && isdigit((unsigned char)*p) && n < 100000000; p++)
    n = 10 * n + (*p - '0');
  return n;
}

// Into the line after this one; false at the end of the source.
static bool next_line(struct lexer *l) {
  if (l->stop >= l->end)
    return false;
  int number = numbered(l->line_start, l->stop);
  enter_line(l, l->stop + 1);
  l->line = number > 0 ? number : l->line + 1;
  return true;
}

static struct place place_of(const struct lexer *l, const char *p) {
  return (struct place){l->line, (int)(p - l->line_start) + 1};
}

// A backslash that ends the line (blanks after it do not count: they cannot be seen).
static bool continues(const struct lexer *l, const char *p) {
  if (p >= l->stop || *p != '\\')
    return false;
  for (p++; p < l->stop && blank(*p); p++)
    ;
  return p == l->stop;
}

// Over blanks, into continuation lines. False when a continuation is not a comment: l->p stays at the backslash then.
static bool skip_blanks(struct lexer *l) {
  for (;;) {
    while (l->p < l->stop && blank(*l->p))
      l->p++;
    if (!continues(l, l->p))
      return true;
    struct lexer next = *l;
    const char *text = next_line(&next) ? skip(next.p, next.stop, "//") : NULL;
    if (!text)
      return false;
    // A continuation may repeat the prefix.
    const char *after = skip(text, next.stop, "assay:");
    next.p = after ? after : text;
    *l = next;
  }
}

static size_t number_length(const char *p, const char *stop, bool *real) {
  const char *start = p;
  *real = false;
  if (stop - p > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
    for (p += 2; p < stop && isxdigit((unsigned char)*p); p++)
      ;
    return (size_t)(p - start);
  }
  while (p < stop && isdigit((unsigned char)*p))
    p++;
  if (stop - p > 1 && p[0] == '.' && isdigit((unsigned char)p[1])) {
    *real = true;
    for (p++; p < stop && isdigit((unsigned char)*p); p++)
      ;
  }
  const char *e = p;
  if (e < stop && (*e == 'e' || *e == 'E')) {
    e++;
    if (e < stop && (*e == '+' || *e == '-'))
      e++;
    if (e < stop && isdigit((unsigned char)*e)) {
      *real = true;
      for (p = e; p < stop && isdigit((unsigned char)*p); p++)
        ;
    }
  }
  return (size_t)(p - start);
}

static size_t mark_length(const char *p, const char *stop) {
  static const char *const pairs[] = {"<=", ">=", "==", "!=", "&&", "||", "::", "--"};
  for (size_t i = 0; stop - p > 1 && i < sizeof pairs / sizeof *pairs; i++)
    if (memcmp(p, pairs[i], 2) == 0)
      return 2;
  return strchr("+-*/%<>=!&|?:(),.[]{}", *p) ? 1 : 0;
}

// A quoted name, which may not go over the line's end.
static struct token quoted(struct lexer *l) {
  struct token t = {.kind = TOKEN_NAME, .text = l->p + 1, .at = place_of(l, l->p), .quoted = true};
  const char *close = memchr(t.text, '"', (size_t)(l->stop - t.text));
  t.length = (size_t)((close ? close : l->stop) - t.text);
  // What is not a name is shown with its quotes.
  if (!close || t.length == 0)
    t = (struct token){.kind = TOKEN_BAD, .text = l->p, .length = t.length + 1, .at = t.at};
  l->p = close ? close + 1 : l->stop;
  return t;
}

void lexer_advance(struct lexer *l) {
  bool real = false;
  bool complete = skip_blanks(l);
  struct token t = {.kind = TOKEN_END, .text = l->p, .at = place_of(l, l->p)};
  if (!complete) {
    t.kind = TOKEN_BAD;
    t.length = 1;
  } else if (l->p < l->stop && *l->p == '"') {
    l->next = quoted(l);
    return;
  } else if (l->p < l->stop && name_start(*l->p)) {
    t.kind = TOKEN_NAME;
    while (l->p + t.length < l->stop && name_part(l->p[t.length]))
      t.length++;
  } else if (l->p < l->stop && isdigit((unsigned char)*l->p)) {
    t.length = number_length(l->p, l->stop, &real);
    t.kind = real ? TOKEN_REAL : TOKEN_INTEGER;
    // 12abc is not a number and a name, but a mistake.
    if (l->p + t.length < l->stop && name_part(l->p[t.length]))
      t.kind = TOKEN_BAD;
  } else if (l->p < l->stop) {
    t.length = *l->p ? mark_length(l->p, l->stop) : 0;
    t.kind = t.length ? TOKEN_MARK : TOKEN_BAD;
    t.length += !t.length;
  }
  if (complete)
    l->p += t.length;
  l->next = t;
}

bool lexer_at(const struct lexer *l, const char *text) {
  bool word = l->next.kind == TOKEN_MARK || (l->next.kind == TOKEN_NAME && !l->next.quoted);
  return word && l->next.length == strlen(text) && memcmp(l->next.text, text, l->next.length) == 0;
}

bool lexer_take(struct lexer *l, const char *text) {
  bool there = lexer_at(l, text);
  if (there)
    lexer_advance(l);
  return there;
}

// From the next word on, to a blank or to the end of the physical line. The word after it becomes the next one.
static struct token raw(struct lexer *l, bool to_end) {
  struct token t = l->next;
  t.kind = TOKEN_NAME;
  l->p = t.quoted ? t.text - 1 : t.text;
  t.text = l->p;
  while (l->p < l->stop && (to_end || !blank(*l->p)))
    l->p++;
  t.length = (size_t)(l->p - t.text);
  while (t.length > 0 && blank(t.text[t.length - 1]))
    t.length--;
  lexer_advance(l);
  return t;
}

struct token lexer_raw_word(struct lexer *l) {
  return raw(l, false);
}

struct token lexer_raw_rest(struct lexer *l) {
  return raw(l, true);
}

void lexer_init(struct lexer *l, const char *file, const char *source, size_t n) {
  *l = (struct lexer){.file = file, .end = source + n, .line = 1};
  enter_line(l, source);
}

bool lexer_next_directive(struct lexer *l) {
  // Words were taken from this line, unless it is the first one.
  bool fresh = l->p == l->line_start;
  while (fresh || next_line(l)) {
    fresh = false;
    const char *text = skip(l->p, l->stop, "//");
    text = text ? skip(text, l->stop, "assay:") : NULL;
    if (!text)
      continue;
    l->p = text;
    lexer_advance(l);
    return true;
  }
  return false;
}

struct quote lexer_quote_near(const struct lexer *l, const char *const *names) {
  struct quote q = lexer_quote(l);
  char word[48], meant[64];
  size_t used = strlen(q.text), n = l->next.length < sizeof word ? l->next.length : 0;
  snprintf(word, sizeof word, "%.*s", (int)n, l->next.text);
  struct nearest near = {.word = word};
  for (int i = 0; names[i]; i++)
    nearest_offer(&near, names[i]);
  snprintf(q.text + used, sizeof q.text - used, "%s", nearest_text(&near, meant, sizeof meant));
  return q;
}

enum assay_status directive_error(struct assay_error *err, enum assay_status status, const char *file, struct place at,
                                  const char *fmt, ...) {
  char message[ASSAY_ERROR_MESSAGE_BYTES];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return error_set(err, status, "%s:%d:%d: %s", file, at.line, at.column, message);
}

struct quote lexer_quote(const struct lexer *l) {
  struct quote q;
  const struct token *t = &l->next;
  if (t->kind == TOKEN_END) {
    snprintf(q.text, sizeof q.text, "the end of the line");
  } else {
    snprintf(q.text, sizeof q.text, "`%.*s`", (int)(t->length < 40 ? t->length : 40), t->text);
    for (char *p = q.text; *p; p++)
      if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
        *p = '?';
  }
  return q;
}
