// SPDX-License-Identifier: Apache-2.0
#include "report/foreign.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/foreign_json.h"

enum { MOST_BYTES = 1 << 30 };

// Of what is JSON no copy is made. `where` says what was wrong at first: places are those of the text as it stands.
json_t *foreign_loadb(const char *text, size_t n, size_t flags, json_error_t *where) {
  struct buf clean = {0};
  json_error_t ignored;
  json_t *j = json_loadb(text, n, flags, where);
  if (j)
    return j;
  foreign_json(text, n, NULL, &clean);
  j = clean.failed ? NULL : json_loadb(buf_str(&clean), clean.len, flags, &ignored);
  buf_release(&clean);
  return j;
}

json_t *foreign_load_file(const char *path, size_t flags, json_error_t *where) {
  char *text = NULL;
  size_t n = 0;
  struct assay_error ignored = {0};
  json_error_t own, *said = where ? where : &own;
  json_t *j = json_load_file(path, flags, said);
  if (j || said->line < 0 || file_read(path, MOST_BYTES, &text, &n, &ignored))
    return j;
  j = foreign_loadb(text, n, flags, &own);
  base_free(text);
  return j;
}

const char *foreign_last_part(const char *path) {
  const char *part = path + strlen(path);
  while (part > path && part[-1] != '/' && part[-1] != '\\')
    part--;
  return part;
}

double foreign_number(const json_t *object, const char *name) {
  const json_t *value = json_object_get(object, name);
  return json_is_number(value) ? json_number_value(value) : NAN;
}
