// SPDX-License-Identifier: Apache-2.0
#include "cli/prediction_code.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "model/fence.h"
#include "model/thoughts.h"

enum { SEPARATOR_SIGNS = 146 };

static void cut_out(struct buf *text, const char *mark) {
  const size_t n = strlen(mark);
  for (char *at = text->len ? strstr(text->data, mark) : NULL; at; at = strstr(at, mark)) {
    memmove(at, at + n, strlen(at + n) + 1);
    text->len -= n;
  }
}

static void cut_at(struct buf *text, size_t n) {
  if (n < text->len)
    text->data[text->len = n] = '\0';
}

// From the first line on that is 146 '#' and nothing else.
static void cut_tests(struct buf *text) {
  for (const char *line = buf_str(text); *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
    if (strspn(line, "#") >= SEPARATOR_SIGNS) {
      cut_at(text, (size_t)(line - text->data));
      return;
    }
}

// What comes after a word at the text's beginning; NULL: it begins otherwise.
static const char *past_word(const char *text, const char *end, const char *word) {
  const size_t n = strlen(word);
  return (size_t)(end - text) >= n && strncmp(text, word, n) == 0 ? text + n : NULL;
}

// Whether a line imports or defines at the text's margin.
static bool begins_code(const char *text, size_t n) {
  static const char *const words[] = {"import ", "from ", "def ", "class ", "@"};
  for (const char *line = text, *end = text + n; line < end; line += strcspn(line, "\n") + 1)
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      if (past_word(line, end, words[i]))
        return true;
  return false;
}

// Whether the text begins with this name, or what the suite's optimizers are called: "adamw_step" of AdamW.
static bool is_name(const char *text, const char *end, const char *name) {
  const size_t n = strlen(name);
  if ((size_t)(end - text) <= n || strncasecmp(text, name, n) != 0)
    return false;
  const char *after = past_word(text + n, end, "_step");
  after = after ? after : text + n;
  return after == end || (!isalnum((unsigned char)*after) && *after != '_');
}

static bool is_entry(const char *text, const char *end, const char *name) {
  return is_name(text, end, "kernel_function") || is_name(text, end, "ModelNew") || (*name && is_name(text, end, name));
}

// Whether a line defines the function, or gives its name to something.
static bool defines(const struct fence_block *b, const char *name) {
  static const char *const words[] = {"def ", "async def ", "class "};
  for (const char *line = b->text, *end = b->text + b->len; line < end;) {
    const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end, *at = line;
    while (at < stop && (*at == ' ' || *at == '\t') && (size_t)(at - line) < b->indent)
      at++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
      const char *own = past_word(at, stop, words[i]);
      if (own && is_entry(own, stop, name))
        return true;
    }
    if (is_entry(at, stop, name)) {
      at += strspn(at, "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
      at += strspn(at, " ");
      if (at + 1 < stop && at[0] == '=' && at[1] != '=')
        return true;
    }
    line = stop + 1;
  }
  return false;
}

static bool is_python(const struct fence_block *b) {
  static const char *const tags[] = {"python", "py", "python3"};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
    if (strlen(tags[i]) == b->tag_len && strncasecmp(tags[i], b->tag, b->tag_len) == 0)
      return true;
  return false;
}

// Code without a fence before it: to a fence at its margin, or after its last line.
static void put_bare(const char *text, struct buf *out) {
  bool begun = false;
  for (const char *line = text; *line;) {
    const size_t n = strcspn(line, "\n"), whole = n + (line[n] != '\0');
    size_t end = n;
    while (end > 0 && isspace((unsigned char)line[end - 1]))
      end--;
    const bool glued = end > 3 && memcmp(line + end - 3, "```", 3) == 0 && !isspace((unsigned char)line[end - 4]) &&
                       !memchr(line, '"', end) && !memchr(line, '\'', end) && !memchr(line, '#', end);
    if (begun && (strncmp(line, "```", 3) == 0 || strncmp(line, "~~~", 3) == 0))
      return;
    buf_append(out, line, glued ? end - 3 : whole);
    if (glued)
      return;
    begun = begun || begins_code(line, n);
    line += whole;
  }
}

enum rank { NO_BLOCK, A_BLOCK, OF_PYTHON, DEFINES };

static enum rank find_block(const char *text, size_t n, const char *name, struct fence_block *best) {
  struct fence_block b;
  enum rank found = NO_BLOCK;
  for (size_t at = 0; found < DEFINES && fence_next(text, n, &at, &b);) {
    const enum rank rank = defines(&b, name) ? DEFINES : is_python(&b) ? OF_PYTHON : A_BLOCK;
    if (rank > found) {
      *best = b;
      found = rank;
    }
  }
  return found;
}

// Whether no fence opens a block: code stands before the first, which ends it or is in a docstring.
static bool is_bare(const char *text, size_t n, const char *name) {
  const struct fence_block all = {.text = text, .len = n};
  struct fence_block first;
  size_t at = 0;
  return !fence_next(text, n, &at, &first) || begins_code(text, (size_t)(first.tag - text)) || defines(&all, name);
}

void prediction_code(const char *reply, const char *name, struct buf *out) {
  struct buf text = {0};
  size_t unfinished;
  thoughts_leave_out(reply, strlen(reply), &text, &unfinished);
  if (text.len == 0 || strspn(text.data, " \t\r\n") == text.len) // a thought without an end is all that there is
    buf_puts(&text, reply);
  struct fence_block block = {.len = 0};
  const char *said = buf_str(&text);
  if (find_block(said, text.len, name, &block) != DEFINES && is_bare(said, text.len, name))
    put_bare(said, out);
  else
    fence_lines(&block, out);
  out->failed = out->failed || text.failed;
  buf_release(&text);
  cut_out(out, "<|im_end|>");
  cut_out(out, "<|EOT|>");
  cut_tests(out);
}
