// SPDX-License-Identifier: Apache-2.0
#include "model/json_code.h"

#include <jansson.h>
#include <string.h>

#include "model/bare.h"
#include "model/fence.h"

enum { MOST_DEPTH = 8 };

static bool take_value(const json_t *j, const struct model_language *l, int depth, struct buf *out);

// Code whose ends of lines were written as in JSON once more.
static bool put_decoded(const char *text, size_t n, struct buf *out) {
  if (memchr(text, '\n', n) || !memmem(text, n, "\\n", 2))
    return false;
  struct buf quoted = {0};
  buf_puts(&quoted, "[\"");
  buf_append(&quoted, text, n);
  buf_puts(&quoted, "\"]");
  json_t *j = quoted.failed ? NULL : json_loadb(quoted.data, quoted.len, 0, NULL);
  const json_t *string = json_array_get(j, 0);
  bool decoded = json_array_size(j) == 1 && json_string_length(string) > 0;
  if (decoded)
    buf_append(out, json_string_value(string), json_string_length(string));
  json_decref(j);
  buf_release(&quoted);
  return decoded;
}

// The fenced block with most of the entry point, of equals the last; false: there is none.
static bool find_block(const struct model_language *l, const char *text, size_t n, struct fence_block *out) {
  struct fence_block b;
  enum bare_entry best = BARE_NONE;
  for (size_t at = 0; fence_next(text, n, &at, &b);) {
    enum bare_entry entry = bare_entry(l, b.text, b.len);
    if (entry == BARE_NONE || entry < best)
      continue;
    *out = b;
    best = entry;
  }
  return best != BARE_NONE;
}

// In the place of what was found before.
static void put_code(const struct model_language *l, const json_t *string, struct buf *out) {
  const char *text = json_string_value(string);
  size_t n = json_string_length(string), at = 0;
  struct fence_block b;
  if (find_block(l, text, n, &b)) {
    buf_clear(out);
    buf_append(out, b.text, b.len);
  } else if (!fence_next(text, n, &at, &b)) {
    buf_clear(out);
    if (!put_decoded(text, n, out))
      buf_append(out, text, n);
  }
}

// An array of lines.
static bool take_lines(const json_t *j, const struct model_language *l, struct buf *out) {
  struct buf joined = {0};
  const json_t *line;
  size_t i, n = json_array_size(j);
  bool lines = n > 1;
  json_array_foreach(j, i, line) {
    lines = lines && json_is_string(line);
    if (!lines)
      break;
    buf_append(&joined, json_string_value(line), json_string_length(line));
    if (json_string_length(line) == 0 || joined.data[joined.len - 1] != '\n')
      buf_puts(&joined, "\n");
  }
  lines = lines && !joined.failed && bare_looks_like_code(l, buf_str(&joined), joined.len);
  if (lines) {
    buf_clear(out);
    buf_append(out, joined.data, joined.len);
  }
  buf_release(&joined);
  return lines;
}

// Whose words an object has: what a user, a system or a tool said is no answer.
static bool is_question(const json_t *j) {
  const char *role = json_string_value(json_object_get(j, "role"));
  const char *type = json_string_value(json_object_get(j, "type"));
  return (role && (strcmp(role, "user") == 0 || strcmp(role, "system") == 0)) ||
         (type && (strcmp(type, "tool_result") == 0 || strcmp(type, "function_call_output") == 0));
}

static bool is_code(const struct model_language *l, const json_t *string) {
  const char *text = json_string_value(string);
  size_t n = json_string_length(string);
  struct fence_block b;
  return text && (bare_looks_like_code(l, text, n) || find_block(l, text, n, &b));
}

static bool take_named(const json_t *j, const struct model_language *l, struct buf *out) {
  static const char *const members[] = {"code", "kernel", "source", "solution", "content", "result", "response"};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    const json_t *code = json_object_get(j, members[i]);
    if (!json_is_string(code) || !bare_has_entry(l, json_string_value(code), json_string_length(code)) ||
        (out->len > 0 && !is_code(l, code))) // a sentence about what was found
      continue;
    put_code(l, code, out);
    return true;
  }
  return false;
}

static bool take_inner(const json_t *j, const struct model_language *l, int depth, struct buf *out) {
  static const char *const inner[] = {"arguments",  "parameters", "input",  "args",   "files",  "function",
                                      "tool_calls", "content",    "item",   "part",   "parts",  "messages",
                                      "message",    "code",       "kernel", "output", "answer", "choices"};
  for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
    const json_t *value = json_object_get(j, inner[i]);
    if (!json_is_string(value)) {
      if (value && take_value(value, l, depth, out))
        return true;
      continue;
    }
    json_t *said = json_loadb(json_string_value(value), json_string_length(value), 0, NULL); // arguments in a string
    bool taken = said && take_value(said, l, depth, out);
    json_decref(said);
    if (taken)
      return true;
  }
  return false;
}

// What stands in members of other names: a notebook's cells.
static bool take_deeper(json_t *j, const struct model_language *l, int depth, struct buf *out) {
  const char *name;
  json_t *value;
  bool taken = false;
  json_object_foreach(j, name, value) {
    if (json_is_object(value) || json_is_array(value))
      taken = take_value(value, l, depth, out) || taken;
  }
  return taken;
}

// The longest member that looks like code: others may speak of it.
static bool take_any(json_t *j, const struct model_language *l, struct buf *out) {
  const char *name;
  const json_t *best = NULL;
  json_t *value;
  json_object_foreach(j, name, value) {
    if (json_string_length(value) > json_string_length(best) && is_code(l, value))
      best = value;
  }
  if (best)
    put_code(l, best, out);
  return best;
}

static bool take_value(const json_t *j, const struct model_language *l, int depth, struct buf *out) {
  const json_t *element;
  size_t i;
  if (depth > MOST_DEPTH || is_question(j))
    return false;
  if (json_is_array(j) && take_lines(j, l, out))
    return true;
  bool taken = false;
  json_array_foreach(j, i, element) { // the last: models correct themselves
    taken = take_value(element, l, depth + 1, out) || taken;
  }
  if (taken)
    return true;
  return json_is_object(j) && (take_named(j, l, out) || take_inner(j, l, depth + 1, out) ||
                               take_any((json_t *)j, l, out) || take_deeper((json_t *)j, l, depth + 1, out));
}

// The text with the characters in its strings that JSON wants written otherwise.
static void put_mended(const char *text, size_t n, struct buf *out) {
  bool string = false;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (string && c < 0x20) {
      buf_printf(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\u%04x", c);
      continue;
    }
    if (string && c == '\\' && i + 1 < n && (unsigned char)text[i + 1] >= 0x20) {
      buf_append(out, text + i, 2);
      i++;
      continue;
    }
    string = string != (c == '"');
    buf_append(out, text + i, 1);
  }
}

// From the last of the objects in the text.
static bool take_last(const struct model_language *l, const char *text, size_t n, struct buf *out) {
  enum { MOST_TRIES = 64 }; // braces in the words before and between them
  bool taken = false;
  int failed = 0;
  for (size_t at = 0; at < n && failed < MOST_TRIES;) {
    const char *open = memchr(text + at, '{', n - at);
    json_error_t e;
    if (!open)
      break;
    at = (size_t)(open - text);
    json_t *j = json_loadb(open, n - at, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &e);
    taken = (j && take_value(j, l, 0, out)) || taken;
    failed += !j;
    at += j && e.position > 1 ? (size_t)e.position : 1;
    json_decref(j);
  }
  return taken;
}

bool json_take_code(const struct model_language *l, const char *text, size_t n, struct buf *out) {
  if (take_last(l, text, n, out))
    return true;
  const char *open = n > 0 ? memmem(text, n, "{", 1) : NULL;
  if (!open || !memmem(text, n, "\":", 2) || !bare_has_entry(l, text, n))
    return false;
  struct buf mended = {0};
  put_mended(open, n - (size_t)(open - text), &mended);
  bool taken = !mended.failed && take_last(l, buf_str(&mended), mended.len, out);
  out->failed = out->failed || mended.failed;
  buf_release(&mended);
  return taken;
}
