// SPDX-License-Identifier: Apache-2.0
#include "model/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/choice.h"
#include "base/utf8.h"

const char *wire_field_name(enum wire_field f) {
  static const char *const names[] = {
#define NAME(id, name) [WIRE_##id] = name,
      WIRE_FIELDS(NAME)
#undef NAME
  };
  return names[f];
}

unsigned wire_fields_of(const char *names) {
  unsigned bits = 0;
  for (const char *at = names; at && *at;) {
    size_t n = strcspn(at, ",");
    for (int i = 0; i < WIRE_FIELD_COUNT; i++)
      if (strlen(wire_field_name((enum wire_field)i)) == n && strncmp(at, wire_field_name((enum wire_field)i), n) == 0)
        bits |= 1u << i;
    at += n + (at[n] == ',');
  }
  return bits;
}

static const struct wire *const all[] = {&wire_chat, &wire_messages, &wire_responses};
enum { N_WIRES = sizeof all / sizeof *all };

const struct wire *wire_by_name(const char *name) {
  for (int i = 0; i < N_WIRES; i++)
    if (strcmp(all[i]->name, name) == 0)
      return all[i];
  return NULL;
}

enum assay_status wire_check(const char *name, struct assay_error *err) {
  const char *names[N_WIRES + 1] = {NULL};
  for (int i = 0; i < N_WIRES; i++)
    names[i] = all[i]->name;
  return choice_of("an interface is", names, name, err) < 0 ? ASSAY_ERR_USAGE : ASSAY_OK;
}

int64_t wire_number(const json_t *j, const char *name) {
  const json_t *n = json_object_get(j, name);
  double number = json_is_number(n) ? json_number_value(n) : -1; // also 32.0
  return number >= 0 && number < 1e15 ? (int64_t)number : -1;    // a count that sums have room for
}

const char *wire_text(const json_t *j, const char *name) {
  const char *text = json_string_value(json_object_get(j, name));
  return text ? text : "";
}

void wire_put_text(struct wire_reply *r, const json_t *string) {
  const json_t *part;
  size_t i;
  if (json_is_string(string))
    buf_append(&r->text, json_string_value(string), json_string_length(string));
  else if (json_is_array(string)) { // parts, of which thoughts are some
    json_array_foreach(string, i, part) {
      if (strcmp(wire_text(part, "type"), "text") == 0 && json_is_string(json_object_get(part, "text")))
        wire_put_text(r, json_object_get(part, "text"));
    }
  }
}

void wire_put_call(struct wire_reply *r, const json_t *arguments) {
  char *text = json_is_object(arguments) ? json_dumps(arguments, JSON_COMPACT) : NULL;
  if (text)
    buf_puts(&r->called, text);
  else if (json_is_string(arguments))
    buf_append(&r->called, json_string_value(arguments), json_string_length(arguments));
  free(text);
}

void wire_count_thought(struct wire_reply *r, const json_t *string) {
  r->thought_bytes += json_string_length(string);
}

static void put_message(json_t *messages, const char *role, const char *text) {
  json_array_append_new(messages, json_pack("{s:s, s:s}", "role", role, "content", text));
}

void wire_put_messages(const struct model_request *r, json_t *messages) {
  put_message(messages, "user", r->user);
  if (!r->partial)
    return;
  put_message(messages, "assistant", r->partial);
  put_message(messages, "user", r->more);
}

// --- JSON of strangers

// The code unit of the escape "\u" with four hexadecimal digits at s; -1: there is none.
static int escape_at(const char *s, size_t n) {
  int value = 0;
  if (n < 6 || s[0] != '\\' || s[1] != 'u')
    return -1;
  for (int i = 2; i < 6; i++) {
    const char *digits = "0123456789abcdef", *at = memchr(digits, s[i] | 0x20, 16);
    if (!at)
      return -1;
    value = value << 4 | (int)(at - digits);
  }
  return value;
}

// The text with U+FFFD for bytes that are not UTF-8 and for halves of surrogate pairs.
static void mend(const char *text, size_t n, struct buf *out) {
  for (size_t i = 0; i < n;) {
    size_t len = utf8_length(text + i, n - i);
    int escape = escape_at(text + i, n - i), low = i + 6 < n ? escape_at(text + i + 6, n - i - 6) : -1;
    if (len == 0) {
      buf_puts(out, "\xef\xbf\xbd");
      i++;
    } else if (text[i] == '\\' && escape < 0) { // another escape: two bytes that belong together
      buf_append(out, text + i, n - i < 2 ? 1 : 2);
      i += 2;
    } else if (escape >= 0xd800 && escape < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
      buf_append(out, text + i, 12);
      i += 12;
    } else if (escape >= 0xd800 && escape < 0xe000) {
      buf_puts(out, "\\ufffd");
      i += 6;
    } else {
      buf_append(out, text + i, len);
      i += len;
    }
  }
}

static json_t *load(const char *data, size_t n) {
  json_t *j = json_loadb(data, n, JSON_ALLOW_NUL, NULL);
  if (j)
    return j;
  struct buf whole = {0};
  mend(data, n, &whole);
  j = whole.failed ? NULL : json_loadb(buf_str(&whole), whole.len, JSON_ALLOW_NUL, NULL);
  buf_release(&whole);
  return j;
}

bool wire_take_event(const struct wire *w, struct wire_reply *r, const char *event, const char *data, size_t n) {
  size_t len = n;
  while (len > 0 && (data[len - 1] == ' ' || data[len - 1] == '\t'))
    len--;
  if (len == 6 && memcmp(data, "[DONE]", 6) == 0) {
    r->ended = true;
    return true;
  }
  json_t *j = load(data, n);
  if (json_is_object(j))
    w->event(r, event, j);
  bool fine = json_is_object(j);
  json_decref(j);
  return fine;
}

bool wire_take_whole(const struct wire *w, struct wire_reply *r, const char *data, size_t n) {
  static const char mark[] = "\xef\xbb\xbf";
  size_t skip = n >= strlen(mark) && memcmp(data, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
  json_t *j = load(data + skip, n - skip);
  bool fine = json_is_object(j);
  if (fine && wire_is_error(json_object_get(j, "error")))
    wire_fail(r, json_object_get(j, "error"));
  else if (fine)
    w->whole(r, j);
  json_decref(j);
  return fine;
}
