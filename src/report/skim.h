// SPDX-License-Identifier: Apache-2.0
// JSON text with less in it. A verdict's evidence has tens of thousands of bytes, of which a table's row needs a few: a
// tree of all of it costs ten times as much as leaving out, as text, what nobody asks for.
#ifndef REPORT_SKIM_H
#define REPORT_SKIM_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"

// What becomes of the members of an object: those named by `keys` are kept and all others left out, or the other way
// round. `inside`: members that are kept in part, objects or arrays of objects.
struct skim_inside;
struct skim_rules {
  const char *const *keys;
  int n;     // n and n_inside: 64 together
  bool drop; // the keys are those that are left out
  const struct skim_inside *inside;
  int n_inside;
};
struct skim_inside {
  const char *key;
  const struct skim_rules *rules;
};

// Writes a string in place of `raw`, which is JSON text with its quotes.
typedef void skim_string(void *arg, const char *raw, size_t n, struct buf *out);

struct skim {
  const struct skim_rules *rules; // of the outermost object
  skim_string *string;            // for each string that is kept but keys; NULL: as it is
  void *arg;
  uint64_t seen; // set by skim_write: which there were: bit i of keys[i], then those of `inside`
};

// Appends the object to `out` without blanks and without what the rules drop; members stay in their order. False: it is
// no JSON object, as far as was looked, and `out` is as it was. What is dropped is checked for brackets alone.
bool skim_write(struct skim *s, const char *text, struct buf *out);

// For each element of the array that is the member `array` of the object, in order: the text of those of its members
// that `keys` names, in their order. NULL: it has none.
struct skim_raw {
  const char *at;
  size_t n;
};
enum { SKIM_MOST_KEYS = 24 };
typedef bool skim_visit(void *arg, const struct skim_raw *members); // false: that is enough
struct skim_array {
  const char *array;
  const char *const *keys;
  int n;
  skim_visit *visit;
  void *arg;
};
// False: it is no JSON object, as far as was looked, or has no such array.
bool skim_each(const char *text, const struct skim_array *what);

// The object as a tree without what the rules drop; a new reference. Text that skim_write() refuses is read whole.
// NULL: no JSON, or no memory.
json_t *skim_load(const char *text, const struct skim_rules *rules);

#endif
