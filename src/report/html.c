// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/utf8.h"

enum kind { INLINE, BLOCK, VOID, MARK, FILE_ };

static const struct {
  const char *name;
  enum kind kind;
} elements[] = {
#define KIND_INLINE INLINE
#define KIND_BLOCK BLOCK
#define KIND_VOID VOID
#define KIND_MARK MARK
#define KIND_FILE FILE_
#define HTML_ELEMENT_ROW(id, name, kind) {name, KIND_##kind},
    HTML_ELEMENTS(HTML_ELEMENT_ROW)
#undef HTML_ELEMENT_ROW
};

enum attribute_kind { PLAIN, ADDRESS };

static const struct {
  const char *name;
  enum attribute_kind kind;
} attributes[] = {
#define HTML_ATTRIBUTE_ROW(id, name, kind) {name, kind},
    HTML_ATTRIBUTES(HTML_ATTRIBUTE_ROW)
#undef HTML_ATTRIBUTE_ROW
};

static const char replacement[] = "\xEF\xBF\xBD"; // U+FFFD

void html_part(struct html *w, struct buf *out, const struct address *here) {
  *w = (struct html){.out = out, .folders = address_folders(here)};
}

void html_page(struct html *w, struct buf *out, const struct address *here) {
  html_part(w, out, here);
  buf_puts(out, "<!doctype html>\n");
}

bool html_is_whole(const struct html *w) {
  return w->depth == 0 && !w->in_tag;
}

// --- characters

static const char *escape(char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  default:
    return NULL;
  }
}

size_t html_character(const char *s, size_t n, char *room, const char **shown) {
  uint32_t c;
  size_t len = utf8_decode(s, n, &c);
  *shown = NULL;
  if (len == 0) {
    *shown = replacement;
    return 1;
  }
  if (c == '\r' && n > 1 && s[1] == '\n') {
    *shown = "\n";
    return 2;
  }
  if ((c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF)
    *shown = replacement;
  else if (printable_misleads(c)) {
    snprintf(room, 16, "[U+%04X]", c);
    *shown = room;
  }
  return len;
}

// Runs of bytes that mean themselves are appended at once.
static void put_escaped(struct buf *out, const char *s, size_t n) {
  size_t begin = 0, i = 0;
  while (i < n) {
    char room[16];
    const char *shown;
    size_t len = 1;
    if ((unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x7F)
      shown = escape(s[i]);
    else
      len = html_character(s + i, n - i, room, &shown);
    if (shown) {
      buf_append(out, s + begin, i - begin);
      buf_puts(out, shown);
      begin = i + len;
    }
    i += len;
  }
  buf_append(out, s + begin, n - begin);
}

// --- tags

// Parsers drop a line feed right after <pre>: one is written for them.
static void end_tag(struct html *w) {
  if (w->in_tag)
    buf_puts(w->out, w->depth > 0 && w->stack[w->depth - 1] == EL_PRE ? ">\n" : ">");
  w->in_tag = false;
}

// A void element's tag is ended by whatever follows; it has been left already.
static bool in_void(const struct html *w) {
  if (w->depth == 0)
    return false;
  const enum kind kind = elements[w->stack[w->depth - 1]].kind;
  return kind == VOID || kind == MARK;
}

static void leave_void(struct html *w) {
  if (!in_void(w))
    return;
  end_tag(w);
  w->depth--;
  buf_puts(w->out, elements[w->stack[w->depth]].kind == VOID ? "\n" : "");
}

void html_open(struct html *w, enum html_element e) {
  leave_void(w);
  end_tag(w);
  assert(w->depth < HTML_MAX_DEPTH);
  assert(w->depth == 0 || elements[w->stack[w->depth - 1]].kind != FILE_);
  w->stack[w->depth++] = (unsigned char)e;
  buf_puts(w->out, "<");
  buf_puts(w->out, elements[e].name);
  w->in_tag = true;
  memset(w->attributes, 0, sizeof w->attributes);
}

void html_close(struct html *w, enum html_element e) {
  leave_void(w);
  end_tag(w);
  assert(w->depth > 0 && w->stack[w->depth - 1] == e);
  w->depth--;
  buf_puts(w->out, "</");
  buf_puts(w->out, elements[e].name);
  buf_puts(w->out, elements[e].kind == BLOCK || elements[e].kind == FILE_ ? ">\n" : ">");
}

static void begin_attribute(struct html *w, enum html_attribute a) {
  const uint64_t bit = (uint64_t)1 << (a % HTML_WORD_BITS);
  assert(w->in_tag);
  assert(!(w->attributes[a / HTML_WORD_BITS] & bit));
  w->attributes[a / HTML_WORD_BITS] |= bit;
  buf_puts(w->out, " ");
  buf_puts(w->out, attributes[a].name);
  buf_puts(w->out, "=\"");
}

void html_attr(struct html *w, enum html_attribute a, const char *value) {
  assert(attributes[a].kind == PLAIN);
  begin_attribute(w, a);
  put_escaped(w->out, value, strlen(value));
  buf_puts(w->out, "\"");
}

// What a format gives, in memory of its own: it may be long, and is escaped as a whole.
static void print_escaped(struct html *w, const char *fmt, va_list ap) {
  struct buf text = {0};
  char short_text[256];
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(short_text, sizeof short_text, fmt, ap);
  if (n >= 0 && (size_t)n < sizeof short_text) {
    put_escaped(w->out, short_text, (size_t)n);
  } else if (n >= 0) {
    for (int i = 0; i <= n; i += 256) // room for n + 1 bytes
      buf_append(&text, short_text, sizeof short_text);
    if (!text.failed) {
      vsnprintf(text.data, (size_t)n + 1, fmt, again);
      put_escaped(w->out, text.data, (size_t)n);
    }
    w->out->failed = w->out->failed || text.failed;
  }
  va_end(again);
  buf_release(&text);
}

void html_attr_printf(struct html *w, enum html_attribute a, const char *fmt, ...) {
  va_list ap;
  assert(attributes[a].kind == PLAIN);
  begin_attribute(w, a);
  va_start(ap, fmt);
  print_escaped(w, fmt, ap);
  va_end(ap);
  buf_puts(w->out, "\"");
}

// Percent-encodes all but what a query and a fragment may hold in any place.
static void put_encoded(struct buf *out, const char *s) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  for (; *s; s++)
    if (strchr(plain, *s))
      buf_append(out, s, 1);
    else
      buf_printf(out, "%%%02X", (unsigned char)*s);
}

void html_address(struct html *w, enum html_attribute a, const struct address *to) {
  char file[ADDRESS_BYTES];
  assert(attributes[a].kind == ADDRESS);
  begin_attribute(w, a);
  for (int i = 0; i < w->folders && to->place != ADDRESS_SELF; i++)
    buf_puts(w->out, "../");
  if (to->place != ADDRESS_SELF)
    buf_puts(w->out, address_file(to, file));
  if (to->query) {
    buf_puts(w->out, "?q=");
    put_encoded(w->out, to->query);
  }
  if (to->fragment) {
    buf_puts(w->out, "#");
    put_encoded(w->out, to->fragment);
  }
  buf_puts(w->out, "\"");
}

// --- text

static void begin_text(struct html *w) {
  leave_void(w);
  end_tag(w);
  assert(w->depth == 0 || elements[w->stack[w->depth - 1]].kind != FILE_);
}

void html_bytes(struct html *w, const char *text, size_t n) {
  if (n == 0)
    return;
  begin_text(w);
  put_escaped(w->out, text, n);
}

void html_text(struct html *w, const char *text) {
  html_bytes(w, text, strlen(text));
}

void html_printf(struct html *w, const char *fmt, ...) {
  va_list ap;
  begin_text(w);
  va_start(ap, fmt);
  print_escaped(w, fmt, ap);
  va_end(ap);
}

void html_element(struct html *w, enum html_element e, const char *class, const char *text) {
  html_open(w, e);
  if (class)
    html_attr(w, AT_CLASS, class);
  html_text(w, text);
  html_close(w, e);
}

void html_link(struct html *w, const struct address *to, const char *text) {
  html_open(w, EL_A);
  html_address(w, AT_HREF, to);
  html_text(w, text);
  html_close(w, EL_A);
}

void html_drawing(struct html *w, html_draw *draw, const void *chart) {
  begin_text(w);
  draw(chart, w->out);
}
