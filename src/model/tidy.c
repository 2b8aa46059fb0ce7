// SPDX-License-Identifier: Apache-2.0
#include "model/tidy.h"

#include <string.h>

// UTF-8 of characters that are not seen: U+FEFF (a byte order mark), U+200B to U+200D, U+2060; and of spaces that no
// compiler takes: U+00A0, U+202F.
static const struct {
  const char *bytes, *becomes;
} characters[] = {{"\xef\xbb\xbf", ""}, {"\xe2\x80\x8b", ""}, {"\xe2\x80\x8c", ""}, {"\xe2\x80\x8d", ""},
                  {"\xe2\x81\xa0", ""}, {"\xc2\xa0", " "},    {"\xe2\x80\xaf", " "}};

static bool starts(const char *text, size_t n, const char *word) {
  size_t k = strlen(word);
  return n >= k && memcmp(text, word, k) == 0;
}

// The length of what is no part of the text, and what stands in its place.
static size_t unmeant(const char *text, size_t n, bool lone_cr, const char **becomes) {
  *becomes = "";
  if (text[0] == '\r' && lone_cr) {
    *becomes = "\n";
    return 1;
  }
  if (text[0] == '\033' && n > 1 && text[1] == '[') { // ECMA-48: parameters, then one byte from @ to ~
    size_t i = 2;
    while (i < n && text[i] >= 0x20 && text[i] < 0x40)
      i++;
    return i < n && text[i] >= 0x40 && text[i] <= 0x7e ? i + 1 : 0;
  }
  for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
    if (starts(text, n, characters[i].bytes)) {
      *becomes = characters[i].becomes;
      return strlen(characters[i].bytes);
    }
  return 0;
}

// What servers leave of a template where the reply ends.
static void leave_out_ends(struct buf *out) {
  static const char *const ends[] = {"<|im_end|>",
                                     "<|eot_id|>",
                                     "<|endoftext|>",
                                     "<|end_of_text|>",
                                     "<end_of_turn>",
                                     ("<\xef\xbd\x9c"
                                      "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>")};
  for (size_t i = 0; i < sizeof ends / sizeof *ends;) {
    size_t k = strlen(ends[i]), n = out->len;
    while (n > 0 && strchr(" \t\r\n", out->data[n - 1]) && out->data[n - 1])
      n--;
    bool is = n >= k && memcmp(out->data + n - k, ends[i], k) == 0;
    out->len = is ? n - k : out->len;
    i = is ? 0 : i + 1;
  }
  if (out->data)
    out->data[out->len] = '\0';
}

void tidy_text(const char *text, size_t n, struct buf *out) {
  bool lone_cr = n > 0 && memchr(text, '\r', n) && !memchr(text, '\n', n);
  size_t from = 0;
  for (size_t i = 0; i < n;) {
    const char *becomes;
    unsigned char c = (unsigned char)text[i];
    size_t len = c == '\r' || c == '\033' || c >= 0xc2 ? unmeant(text + i, n - i, lone_cr, &becomes) : 0;
    if (len == 0) {
      i++;
      continue;
    }
    buf_append(out, text + from, i - from);
    buf_puts(out, becomes);
    i += len;
    from = i;
  }
  if (from < n)
    buf_append(out, text + from, n - from);
  leave_out_ends(out);
}

// --- HTML

static const struct {
  const char *name;
  char c;
} entities[] = {{"&lt;", '<'},   {"&gt;", '>'},    {"&amp;", '&'}, {"&quot;", '"'},
                {"&#39;", '\''}, {"&#x27;", '\''}, {"&#34;", '"'}, {"&nbsp;", ' '}};
enum { N_ENTITIES = sizeof entities / sizeof *entities };

static bool has(const char *code, size_t n, const char *word) {
  return n > 0 && memmem(code, n, word, strlen(word));
}

bool tidy_is_escaped(const char *code, size_t n) {
  if (n == 0 || memchr(code, '<', n) || memchr(code, '>', n))
    return false;
  return has(code, n, "&lt;") || has(code, n, "&gt;") || has(code, n, "&quot;") || has(code, n, "&amp;&amp;") ||
         has(code, n, "&#39;") || has(code, n, "&#x27;");
}

void tidy_unescape(struct buf *code) {
  size_t to = 0;
  for (size_t i = 0; i < code->len;) {
    int k = 0;
    while (k < N_ENTITIES && !starts(code->data + i, code->len - i, entities[k].name))
      k++;
    code->data[to++] = k < N_ENTITIES ? entities[k].c : code->data[i];
    i += k < N_ENTITIES ? strlen(entities[k].name) : 1;
  }
  code->len = to;
  if (code->data)
    code->data[to] = '\0';
}
