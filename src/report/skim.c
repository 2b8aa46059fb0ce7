// SPDX-License-Identifier: Apache-2.0
#include "report/skim.h"

#include <string.h>

// Deeper nesting is refused: evidence has five levels.
enum { MOST_DEPTH = 64 };

struct cursor {
  const struct skim *how;
  const char *at, *end;
  struct buf *out;
};

// --- the text's parts. Each returns false where the text is no JSON.

static bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_blanks(struct cursor *c) {
  while (c->at < c->end && is_blank(*c->at))
    c->at++;
}

static bool next_is(struct cursor *c, char what) {
  skip_blanks(c);
  return c->at < c->end && *c->at == what;
}

static bool take(struct cursor *c, char what) {
  const bool is = next_is(c, what);
  c->at += is;
  return is;
}

// To after the closing quote: one before which an even number of backslashes stands.
static bool skip_string(struct cursor *c) {
  const char *begin = c->at + 1;
  for (const char *from = begin, *quote; (quote = memchr(from, '"', (size_t)(c->end - from))); from = quote + 1) {
    const char *before = quote;
    while (before > begin && before[-1] == '\\')
      before--;
    if ((quote - before) % 2 == 0) {
      c->at = quote + 1;
      return true;
    }
  }
  return false;
}

static bool is_of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

// A number, true, false or null; whoever reads the result checks which.
static bool skip_word(struct cursor *c) {
  const char *begin = c->at;
  while (c->at < c->end && is_of_word(*c->at))
    c->at++;
  return c->at > begin;
}

// --- values

static void put_string(struct cursor *c, const char *raw) {
  const size_t n = (size_t)(c->at - raw);
  if (c->how->string)
    c->how->string(c->how->arg, raw, n, c->out);
  else
    buf_append(c->out, raw, n);
}

// One token of a value that is kept or not: a bracket, a sign, a string, a word. `depth` goes with brackets.
static bool pass_token(struct cursor *c, char *open, int *depth, bool keep, bool as_key) {
  const char *begin = c->at;
  const char ch = *begin;
  if (ch == '"') {
    const bool ok = skip_string(c);
    if (ok && keep && !as_key)
      put_string(c, begin);
    else if (ok && keep)
      buf_append(c->out, begin, (size_t)(c->at - begin));
    return ok;
  }
  if (ch == '{' || ch == '[') {
    if (*depth == MOST_DEPTH)
      return false;
    open[(*depth)++] = ch == '{' ? '}' : ']';
    c->at++;
  } else if (ch == '}' || ch == ']') {
    if (*depth == 0 || open[--*depth] != ch)
      return false;
    c->at++;
  } else if (ch == ',' || ch == ':') {
    c->at++;
  } else if (!skip_word(c) || (keep && c->out->len > 0 && is_of_word(c->out->data[c->out->len - 1]))) {
    return false; // two words with a blank between them would become one
  }
  if (keep)
    buf_append(c->out, begin, (size_t)(c->at - begin));
  return true;
}

static bool precedes_colon(const struct cursor *c) {
  struct cursor after = *c;
  return skip_string(&after) && next_is(&after, ':');
}

static bool pass_value(struct cursor *c, bool keep) {
  char open[MOST_DEPTH];
  int depth = 0;
  skip_blanks(c);
  if (c->at == c->end || *c->at == ',' || *c->at == ':')
    return false;
  do {
    skip_blanks(c);
    if (c->at == c->end)
      return false;
    // Keys are told from strings only where it matters: where strings are rewritten.
    const bool as_key = keep && c->how->string && *c->at == '"' && depth > 0 && precedes_colon(c);
    if (!pass_token(c, open, &depth, keep, as_key))
      return false;
  } while (depth > 0);
  return true;
}

static bool is_key(const char *key, const char *found, size_t n) {
  return key[0] == found[0] && strncmp(key, found, n) == 0 && key[n] == '\0';
}

// Where the rules name a key: among the keys, or after them of what is kept in part; -1: they do not.
static int place_of(const struct skim_rules *rules, const char *found, size_t n) {
  for (int i = 0; i < rules->n; i++)
    if (is_key(rules->keys[i], found, n))
      return i;
  for (int i = 0; i < rules->n_inside; i++)
    if (is_key(rules->inside[i].key, found, n))
      return rules->n + i;
  return -1;
}

static bool pass_object(struct cursor *c, const struct skim_rules *rules, uint64_t *seen);

// The member's value: an object, the objects of an array, or what is kept whole.
static bool pass_inside(struct cursor *c, const struct skim_rules *rules) {
  if (next_is(c, '{'))
    return pass_object(c, rules, NULL);
  if (!next_is(c, '['))
    return pass_value(c, true);
  c->at++;
  buf_puts(c->out, "[");
  for (bool first = true; !take(c, ']'); first = false) {
    if (!first && !take(c, ','))
      return false;
    buf_puts(c->out, first ? "" : ",");
    if (!(next_is(c, '{') ? pass_object(c, rules, NULL) : pass_value(c, true)))
      return false;
  }
  buf_puts(c->out, "]");
  return true;
}

static bool pass_member(struct cursor *c, const struct skim_rules *rules, uint64_t *seen, bool *first) {
  const char *key = c->at;
  if (!next_is(c, '"') || (key = c->at, !skip_string(c)))
    return false;
  const size_t n = (size_t)(c->at - key);
  const int place = place_of(rules, key + 1, n - 2);
  const bool in_part = place >= rules->n;
  if (place >= 0 && seen)
    *seen |= (uint64_t)1 << place;
  if (!take(c, ':'))
    return false;
  if (!in_part && (place >= 0) == rules->drop)
    return pass_value(c, false);
  buf_puts(c->out, *first ? "" : ",");
  *first = false;
  buf_append(c->out, key, n);
  buf_puts(c->out, ":");
  return in_part ? pass_inside(c, rules->inside[place - rules->n].rules) : pass_value(c, true);
}

static bool pass_object(struct cursor *c, const struct skim_rules *rules, uint64_t *seen) {
  bool first = true;
  if (!take(c, '{'))
    return false;
  buf_puts(c->out, "{");
  for (bool begun = false; !take(c, '}'); begun = true)
    if ((begun && !take(c, ',')) || !pass_member(c, rules, seen, &first))
      return false;
  buf_puts(c->out, "}");
  return true;
}

// --- from outside

bool skim_write(struct skim *s, const char *text, struct buf *out) {
  const size_t before = out->len;
  struct cursor c = {.how = s, .at = text, .end = text + strlen(text), .out = out};
  s->seen = 0;
  bool ok = pass_object(&c, s->rules, &s->seen);
  skip_blanks(&c);
  ok = ok && c.at == c.end;
  if (!ok && out->data) {
    out->len = before;
    out->data[before] = '\0';
  }
  return ok;
}

json_t *skim_load(const char *text, const struct skim_rules *rules) {
  struct skim s = {.rules = rules};
  struct buf less = {0};
  json_t *j = NULL;
  if (!skim_write(&s, text, &less))
    j = json_loads(text, 0, NULL);
  else if (!less.failed)
    j = json_loadb(buf_str(&less), less.len, 0, NULL);
  buf_release(&less);
  return j;
}
