// SPDX-License-Identifier: Apache-2.0
// modules: site
// The highlighter: whatever the source and its language, the tokens joined are the text, and the page shows the text.
#include <stddef.h>
#include <stdint.h>

#include "../support/html_read.h"
#include "site/highlight.h"

enum { MAX_BYTES = 1 << 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tokens(enum highlight_language language, const char *text, size_t len) {
  struct highlight h;
  struct highlight_token t;
  size_t at = 0;
  highlight_begin(&h, language, text, len);
  while (highlight_next(&h, &t)) {
    if (t.len == 0 || t.text != text + at)
      abort();
    at += t.len;
  }
  if (at != len)
    abort();
}

// What the page shows, without marks.
static void read_text(const char *html, struct buf *out) {
  while (*html)
    if (*html == '<')
      html += strcspn(html, ">") + 1;
    else
      html_read_character(&html, out);
}

static void check_page(enum highlight_language language, const char *text, size_t len) {
  struct buf page = {0}, wanted = {0}, shown = {0};
  struct html w;
  html_part(&w, &page, &(struct address){.place = ADDRESS_INDEX});
  highlight_write(&w, language, text, len);
  buf_puts(&wanted, "\n"); // the writer's own: after <pre> and </pre>
  // A token may end between the two bytes of a line's end, or within what is no UTF-8.
  for (size_t i = 0; i < len; i++)
    if ((unsigned char)text[i] >= 0x7F || text[i] == '\r')
      goto out;
  html_expected(text, len, &wanted);
  buf_puts(&wanted, len && text[len - 1] != '\n' ? "\n\n" : "\n");
  read_text(buf_str(&page), &shown);
  if (strcmp(buf_str(&wanted), buf_str(&shown)) != 0)
    abort();
out:
  buf_release(&page);
  buf_release(&wanted);
  buf_release(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 || size > MAX_BYTES)
    return 0;
  enum highlight_language language = data[0] % (HIGHLIGHT_PLAIN + 1);
  check_tokens(language, (const char *)data + 1, size - 1);
  check_page(language, (const char *)data + 1, size - 1);
  return 0;
}
