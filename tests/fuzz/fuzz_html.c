// SPDX-License-Identifier: Apache-2.0
// modules: report
// The writer of HTML: whatever a stranger's texts are, a parser reads the elements, attributes and texts that were
// asked for and no others.
#include <stddef.h>
#include <stdint.h>

#include "../support/html_read.h"
#include "report/html.h"

enum { MAX_BYTES = 1 << 16, MAX_NAME = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
  const uint8_t *data;
  size_t left;
};

static unsigned byte_of(struct input *in) {
  if (!in->left)
    return 0;
  in->left--;
  return *in->data++;
}

// A text without NUL: what the C strings of the callers can be. Heap memory.
static char *text_of(struct input *in) {
  size_t n = byte_of(in) * (byte_of(in) % 4u);
  n = n < in->left ? n : in->left;
  char *text = malloc(n + 1);
  if (!text)
    abort();
  size_t used = 0;
  for (size_t i = 0; i < n; i++) {
    text[used] = (char)byte_of(in);
    used += text[used] != '\0';
  }
  text[used] = '\0';
  return text;
}

// What was written, and the log that a reader of it should make.
struct made {
  struct html w;
  struct buf out, wanted, text; // text: of the event that is going on
  unsigned open[HTML_MAX_DEPTH], depth;
};

static const struct {
  enum html_element e;
  const char *name;
  bool ends_line; // the writer puts a line feed after it
} els[] = {{EL_P, "p", true},     {EL_PRE, "pre", true}, {EL_TD, "td", false},     {EL_TITLE, "title", true},
           {EL_SVG, "svg", true}, {EL_A, "a", false},    {EL_TEXT, "text", false}, {EL_BUTTON, "button", false}};

static void end_text(struct made *m) {
  if (m->text.len)
    buf_printf(&m->wanted, "\"%s\"\n", buf_str(&m->text));
  buf_clear(&m->text);
}

static void put_attribute(struct made *m, struct input *in) {
  static const enum html_attribute plain[] = {AT_CLASS, AT_ARIA_LABEL, AT_DATA_V, AT_VIEWBOX};
  static const char *const names[] = {"class", "aria-label", "data-v", "viewBox"};
  char *text = text_of(in);
  unsigned which = byte_of(in) % 4;
  html_attr(&m->w, plain[which], text);
  buf_printf(&m->wanted, "@%s=", names[which]);
  html_expected(text, strlen(text), &m->wanted);
  buf_puts(&m->wanted, "\n");
  free(text);
}

static void open_one(struct made *m, struct input *in) {
  unsigned which = byte_of(in) % 8;
  if (m->depth == HTML_MAX_DEPTH)
    return;
  end_text(m);
  html_open(&m->w, els[which].e);
  buf_printf(&m->wanted, "<%s\n", els[which].name);
  if (byte_of(in) % 2)
    put_attribute(m, in);
  m->open[m->depth++] = which;
}

static void close_one(struct made *m) {
  if (m->depth == 0)
    return;
  unsigned which = m->open[--m->depth];
  end_text(m);
  html_close(&m->w, els[which].e);
  buf_printf(&m->wanted, ">%s\n", els[which].name);
  if (els[which].ends_line)
    buf_puts(&m->text, "\n");
}

static void put_text(struct made *m, struct input *in) {
  char *text = text_of(in);
  html_text(&m->w, text);
  html_expected(text, strlen(text), &m->text);
  free(text);
}

// A file below the site's root, whatever the names are.
static void check_address(struct input *in) {
  char *name = text_of(in), *other = text_of(in), file[ADDRESS_BYTES];
  struct address r = {.place = byte_of(in) % ADDRESS_ASSET, .name = name, .other = other, .page = (int)byte_of(in)};
  address_file(&r, file);
  if (strlen(file) != strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789_-./") || file[0] == '/' || file[0] == '.' ||
      strstr(file, "../") || strstr(file, "/."))
    abort();
  free(name);
  free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct input in = {data, size < MAX_BYTES ? size : MAX_BYTES};
  struct made m = {0};
  struct buf read = {0};
  html_part(&m.w, &m.out, &(struct address){.place = ADDRESS_INDEX});
  while (in.left) {
    unsigned what = byte_of(&in) % 4;
    if (what == 0)
      open_one(&m, &in);
    else if (what == 1)
      close_one(&m);
    else if (what == 2)
      put_text(&m, &in);
    else
      check_address(&in);
  }
  while (m.depth > 0)
    close_one(&m);
  end_text(&m);
  html_read(buf_str(&m.out), &read);
  if (!html_is_whole(&m.w) || strcmp(buf_str(&m.wanted), buf_str(&read)) != 0)
    abort();
  buf_release(&m.out);
  buf_release(&m.wanted);
  buf_release(&m.text);
  buf_release(&read);
  return 0;
}
