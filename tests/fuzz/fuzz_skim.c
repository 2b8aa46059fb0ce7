// SPDX-License-Identifier: Apache-2.0
// modules: report
// Leaving members out of JSON text: what jansson reads of it is jansson's tree of the whole text without them.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/skim.h"

enum { MAX_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const inner_keys[] = {"a", "b"};
static const struct skim_rules inner = {inner_keys, 2, false, NULL, 0};
static const struct skim_inside parts[] = {{"c", &inner}};
static const char *const dropped[] = {"d", "e"};
static const struct skim_rules rules = {dropped, 2, true, parts, 1};

static void cut_inner(json_t *object) {
  const char *key;
  json_t *value;
  void *next;
  json_object_foreach_safe(object, next, key, value) {
    if (strcmp(key, "a") != 0 && strcmp(key, "b") != 0)
      json_object_del(object, key);
  }
}

static void cut(json_t *whole) {
  json_t *c = json_object_get(whole, "c");
  json_object_del(whole, "d");
  json_object_del(whole, "e");
  if (json_is_object(c))
    cut_inner(c);
  for (size_t i = 0; i < json_array_size(c); i++)
    if (json_is_object(json_array_get(c, i)))
      cut_inner(json_array_get(c, i));
}

// Keys that are written with escapes, or twice, may be other keys to jansson than to whoever reads the text.
static int is_simple(const char *text) {
  if (strchr(text, '\\'))
    return 0;
  json_t *once = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  json_decref(once);
  return once != NULL;
}

static bool look(void *arg, const struct skim_raw *members) {
  (void)arg;
  if (members[0].at && members[0].n == 0)
    abort();
  return members[0].at != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = size <= MAX_BYTES ? malloc(size + 1) : NULL;
  if (!text)
    return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  struct skim s = {.rules = &rules};
  struct buf out = {0};
  const int taken = skim_write(&s, text, &out);
  json_t *whole = json_loads(text, 0, NULL);
  json_t *part = taken ? json_loadb(buf_str(&out), out.len, 0, NULL) : NULL;
  if (json_is_object(whole) && is_simple(text)) {
    cut(whole);
    if (taken && !json_equal(whole, part))
      abort();
  }
  static const char *const keys[] = {"d"};
  const struct skim_array each = {"c", keys, 1, look, NULL};
  (void)skim_each(text, &each);
  json_decref(whole);
  json_decref(part);
  buf_release(&out);
  free(text);
  return 0;
}
