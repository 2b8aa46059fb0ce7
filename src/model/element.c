// SPDX-License-Identifier: Apache-2.0
#include "model/element.h"

#include <ctype.h>
#include <string.h>

#include "model/bare.h"

enum { MOST_NAMES = 32, MOST_NAME_BYTES = 64, MOST_OPEN = 64 };

struct name {
  const char *text;
  size_t len;
};

// The name of a tag at text[0]; empty where it is none.
static struct name read_name(const char *text, size_t n) {
  struct name x = {text, 0};
  if (n == 0 || !isalpha((unsigned char)text[0]))
    return x;
  while (x.len < n && (isalnum((unsigned char)text[x.len]) || (text[x.len] && strchr("_-:.", text[x.len]))))
    x.len++;
  x.len = x.len <= MOST_NAME_BYTES ? x.len : 0;
  return x;
}

static bool same_name(const struct name *a, const struct name *b) {
  return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

static int index_of(const struct name *names, int n, const struct name *x) {
  for (int i = n - 1; i >= 0; i--)
    if (same_name(&names[i], x))
      return i;
  return -1;
}

// The different names of the tags that close an element.
static int closed_names(const char *text, size_t n, struct name names[MOST_NAMES]) {
  int count = 0;
  for (size_t at = 0; at < n && count < MOST_NAMES;) {
    const char *open = memmem(text + at, n - at, "</", 2);
    if (!open)
      break;
    at = (size_t)(open - text) + 2;
    struct name x = read_name(text + at, n - at);
    if (x.len > 0 && at + x.len < n && text[at + x.len] == '>' && index_of(names, count, &x) < 0)
      names[count++] = x;
  }
  return count;
}

struct open_element {
  struct name name;
  size_t text; // where its own begins
};

struct elements {
  struct open_element open[MOST_OPEN];
  int n_open;
};

// Behind a tag that opens an element: its attributes stand in one line, or it is none.
static void open_one(struct elements *e, const struct name *name, const char *text, size_t n) {
  size_t at = (size_t)(name->text - text) + name->len;
  while (at < n && text[at] != '>' && text[at] != '\n' && text[at] != '<')
    at++;
  bool empty = at < n && text[at - 1] == '/';
  if (at < n && text[at] == '>' && !empty && e->n_open < MOST_OPEN)
    e->open[e->n_open++] = (struct open_element){*name, at + 1};
}

// The element that a closing tag ends, with those in it that nothing ended; -1: it was not opened.
static int close_one(struct elements *e, const struct name *name) {
  for (int i = e->n_open - 1; i >= 0; i--)
    if (same_name(&e->open[i].name, name)) {
      e->n_open = i;
      return i;
    }
  return -1;
}

bool element_with_code(const struct model_language *l, const char *text, size_t n, struct fence_block *out) {
  struct name names[MOST_NAMES];
  struct elements e = {.n_open = 0};
  int n_names = closed_names(text, n, names);
  size_t looked_at = 0; // elements before it are known
  enum bare_entry best = BARE_NAMED;
  bool found = false;
  for (size_t at = 0; n_names > 0 && at < n;) {
    const char *tag = memchr(text + at, '<', n - at);
    if (!tag)
      break;
    at = (size_t)(tag - text) + 1;
    bool closes = at < n && text[at] == '/';
    size_t from = at + closes;
    struct name x = read_name(text + from, n - from);
    if (x.len == 0 || index_of(names, n_names, &x) < 0)
      continue;
    int i = closes ? close_one(&e, &x) : -1;
    if (!closes)
      open_one(&e, &x, text, n);
    // What is around an element that was looked at is no innermost one.
    if (i < 0 || e.open[i].text < looked_at)
      continue;
    size_t begin = e.open[i].text, end = (size_t)(tag - text);
    looked_at = at;
    enum bare_entry entry = bare_entry(l, text + begin, end - begin);
    if (entry < best || !bare_looks_like_code(l, text + begin, end - begin))
      continue;
    best = entry;
    begin += begin < end && text[begin] == '\r';
    begin += begin < end && text[begin] == '\n';
    *out = (struct fence_block){.tag = text, .text = text + begin, .len = end - begin, .closed = true};
    found = true;
  }
  return found;
}
