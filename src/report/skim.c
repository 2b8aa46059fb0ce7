// SPDX-License-Identifier: Apache-2.0
#include "report/skim.h"

#include <assert.h>
#include <string.h>

// Deeper nesting is refused: evidence has five levels.
enum { MOST_DEPTH = 64 };

struct cursor {
  const struct skim *how;
  const char *at, *end;
  struct buf *out;
};

// --- the text's parts. Each returns false where the text is no JSON.

// What a byte outside of strings may be. 0: nothing that JSON has.
enum { BLANK = 1, WORD = 2, SIGN = 4, BRACKET = 8, QUOTE = 16 };
static const unsigned char classes[256] = {
    [' '] = BLANK, ['\n'] = BLANK,  ['\r'] = BLANK,  ['\t'] = BLANK,  ['0'] = WORD,    ['1'] = WORD, ['2'] = WORD,
    ['3'] = WORD,  ['4'] = WORD,    ['5'] = WORD,    ['6'] = WORD,    ['7'] = WORD,    ['8'] = WORD, ['9'] = WORD,
    ['-'] = WORD,  ['+'] = WORD,    ['.'] = WORD,    ['E'] = WORD,    ['a'] = WORD,    ['e'] = WORD, ['f'] = WORD,
    ['l'] = WORD,  ['n'] = WORD,    ['r'] = WORD,    ['s'] = WORD,    ['t'] = WORD,    ['u'] = WORD, [','] = SIGN,
    [':'] = SIGN,  ['['] = BRACKET, [']'] = BRACKET, ['{'] = BRACKET, ['}'] = BRACKET, ['"'] = QUOTE};

static unsigned class_of(char c) {
  return classes[(unsigned char)c];
}

static void skip_blanks(struct cursor *c) {
  while (c->at < c->end && class_of(*c->at) == BLANK)
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

// --- values

static void put_string(struct cursor *c, const char *raw) {
  const size_t n = (size_t)(c->at - raw);
  if (c->how->string)
    c->how->string(c->how->arg, raw, n, c->out);
  else
    buf_append(c->out, raw, n);
}

// The brackets that are open, as what closes them.
struct open {
  int depth;
  char close[MOST_DEPTH];
};

static bool pass_bracket(struct cursor *c, struct open *o) {
  const char ch = *c->at++;
  if (ch == '}' || ch == ']')
    return o->depth > 0 && o->close[--o->depth] == ch;
  if (o->depth == MOST_DEPTH)
    return false;
  o->close[o->depth++] = ch == '{' ? '}' : ']';
  return true;
}

// A value that is left out: most of the text, so that only its brackets are looked at.
static bool skip_value(struct cursor *c) {
  struct open o = {0};
  do {
    const char *at = c->at;
    while (at < c->end && class_of(*at) & (BLANK | WORD | SIGN))
      at++;
    c->at = at;
    if (at == c->end || !(class_of(*at) == QUOTE ? skip_string(c) : class_of(*at) == BRACKET && pass_bracket(c, &o)))
      return false;
  } while (o.depth > 0);
  return true;
}

static char last_of(const struct buf *out) {
  return out->len > 0 ? out->data[out->len - 1] : '\0';
}

// A string that is kept. Keys are told from others by where they stand.
static bool pass_string(struct cursor *c, const struct open *o) {
  const char *begin = c->at, last = last_of(c->out);
  const bool as_key = o->depth > 0 && o->close[o->depth - 1] == '}' && (last == '{' || last == ',');
  if (!skip_string(c))
    return false;
  if (!as_key)
    put_string(c, begin);
  else
    buf_append(c->out, begin, (size_t)(c->at - begin));
  return !as_key || next_is(c, ':');
}

// Words (numbers, true, false, null: whoever reads the result checks which) and signs up to the next blank.
static bool pass_words(struct cursor *c, bool only_one) {
  const char *begin = c->at;
  const unsigned wanted = only_one ? WORD : WORD | SIGN;
  if (class_of(*begin) == WORD && class_of(last_of(c->out)) == WORD)
    return false; // two words with a blank between them would become one
  while (c->at < c->end && class_of(*c->at) & wanted)
    c->at++;
  buf_append(c->out, begin, (size_t)(c->at - begin));
  return c->at > begin;
}

static bool keep_value(struct cursor *c) {
  struct open o = {0};
  do {
    skip_blanks(c);
    if (c->at == c->end)
      return false;
    const char *begin = c->at;
    const unsigned class = class_of(*begin);
    if (class == BRACKET) {
      if (!pass_bracket(c, &o))
        return false;
      buf_append(c->out, begin, 1);
    } else if (!(class == QUOTE ? pass_string(c, &o) : pass_words(c, o.depth == 0))) {
      return false;
    }
  } while (o.depth > 0);
  return true;
}

static bool pass_value(struct cursor *c, bool keep) {
  skip_blanks(c);
  if (c->at == c->end)
    return false;
  const unsigned class = class_of(*c->at);
  if (class == WORD && !keep) {
    while (c->at < c->end && class_of(*c->at) == WORD)
      c->at++;
    return true;
  }
  return class & (WORD | BRACKET | QUOTE) && (keep ? keep_value(c) : skip_value(c));
}

static bool is_key(const char *key, const char *found, size_t n) {
  return key[0] == found[0] && strncmp(key, found, n) == 0 && key[n] == '\0';
}

// Where a list has a key, looked for from `*next` on: members mostly come in the order of the list. n: it does not.
static int place_in(const char *const *keys, int n, const struct skim_raw *found, int *next) {
  for (int i = *next; i < n; i++)
    if (is_key(keys[i], found->at, found->n)) {
      *next = i + 1;
      return i;
    }
  for (int i = 0; i < *next; i++)
    if (is_key(keys[i], found->at, found->n)) {
      *next = i + 1;
      return i;
    }
  return n;
}

// Where the rules name a key: among the keys, or after them of what is kept in part; -1: they do not.
static int place_of(const struct skim_rules *rules, const char *found, size_t n, int *next) {
  const struct skim_raw key = {found, n};
  const int place = place_in(rules->keys, rules->n, &key, next);
  if (place < rules->n)
    return place;
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

// What is known of an object while its members pass.
struct passing {
  uint64_t *seen;
  bool first; // nothing of it was kept yet
  int next;   // where the rules' next key is looked for
};

static bool pass_member(struct cursor *c, const struct skim_rules *rules, struct passing *p) {
  const char *key = c->at;
  if (!next_is(c, '"') || (key = c->at, !skip_string(c)))
    return false;
  const size_t n = (size_t)(c->at - key);
  const int place = place_of(rules, key + 1, n - 2, &p->next);
  const bool in_part = place >= rules->n;
  if (place >= 0 && p->seen)
    *p->seen |= (uint64_t)1 << place;
  if (!take(c, ':'))
    return false;
  if (!in_part && (place >= 0) == rules->drop)
    return pass_value(c, false);
  if (!p->first)
    buf_puts(c->out, ",");
  p->first = false;
  buf_append(c->out, key, n);
  buf_puts(c->out, ":");
  return in_part ? pass_inside(c, rules->inside[place - rules->n].rules) : pass_value(c, true);
}

static bool pass_object(struct cursor *c, const struct skim_rules *rules, uint64_t *seen) {
  struct passing p = {seen, true, 0};
  if (!take(c, '{'))
    return false;
  buf_puts(c->out, "{");
  for (bool begun = false; !take(c, '}'); begun = true)
    if ((begun && !take(c, ',')) || !pass_member(c, rules, &p))
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

static bool take_key(struct cursor *c, const char **key, size_t *n) {
  if (!next_is(c, '"') || (*key = c->at + 1, !skip_string(c)))
    return false;
  *n = (size_t)(c->at - 1 - *key);
  return take(c, ':');
}

// *go_on: whether the visitor wants more.
static bool visit_element(struct cursor *c, const struct skim_array *what, bool *go_on) {
  struct skim_raw members[SKIM_MOST_KEYS] = {{0}};
  int next = 0;
  if (next_is(c, '{')) {
    c->at++;
    for (bool begun = false; !take(c, '}'); begun = true) {
      const char *key;
      size_t n;
      if ((begun && !take(c, ',')) || !take_key(c, &key, &n))
        return false;
      const struct skim_raw found = {key, n};
      const int place = place_in(what->keys, what->n, &found, &next);
      skip_blanks(c);
      const char *value = c->at;
      if (!pass_value(c, false))
        return false;
      if (place < what->n)
        members[place] = (struct skim_raw){value, (size_t)(c->at - value)};
    }
  } else if (!pass_value(c, false)) {
    return false;
  }
  *go_on = what->visit(what->arg, members);
  return true;
}

static bool visit_elements(struct cursor *c, const struct skim_array *what) {
  c->at++;
  bool go_on = true;
  for (bool begun = false; go_on && !take(c, ']'); begun = true)
    if ((begun && !take(c, ',')) || !visit_element(c, what, &go_on))
      return false;
  return true;
}

bool skim_each(const char *text, const struct skim_array *what) {
  static const struct skim nothing;
  struct cursor c = {.how = &nothing, .at = text, .end = text + strlen(text)};
  assert(what->n <= SKIM_MOST_KEYS);
  if (!take(&c, '{'))
    return false;
  for (bool begun = false; !take(&c, '}'); begun = true) {
    const char *key;
    size_t n;
    if ((begun && !take(&c, ',')) || !take_key(&c, &key, &n))
      return false;
    if (is_key(what->array, key, n) && next_is(&c, '['))
      return visit_elements(&c, what);
    if (!pass_value(&c, false))
      return false;
  }
  return false;
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
