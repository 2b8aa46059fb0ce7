// SPDX-License-Identifier: Apache-2.0
// Messages about a candidate with the user's own path, so that an editor finds the place.
#include <ctype.h>
#include <string.h>

#include "cli/judging.h"

// "x.cu -DTAIL" of a twin is x.cu.
static int path_length(const char *candidate) {
  const char *twin = strstr(candidate, " -D");
  return (int)(twin ? (size_t)(twin - candidate) : strlen(candidate));
}

static bool of_a_path(char c) {
  return isalnum((unsigned char)c) || (c && strchr("_./-", c));
}

void cli_put_label(const char *candidate, const struct cli_list *defines, struct buf *out) {
  buf_puts(out, candidate);
  for (int i = 0; i < defines->n; i++)
    buf_printf(out, " -D%s", defines->items[i]);
}

// The length of `name` at `at`, where it is a whole file name and a place follows; else 0.
static size_t named(const char *text, const char *at, const char *name, size_t n) {
  bool begins = at == text || !of_a_path(at[-1]);
  return begins && n > 0 && strncmp(at, name, n) == 0 && at[n] && strchr(":(\"", at[n]) ? n : 0;
}

void cli_own_paths(const char *text, const char *candidate, struct buf *out) {
  int length = path_length(candidate);
  char path[4096], copy[64];
  snprintf(path, sizeof path, "%.*s", length, candidate);
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path, *ending = strrchr(file, '.');
  snprintf(copy, sizeof copy, "candidate%s", ending ? ending : ""); // as the judge calls what it compiles
  for (const char *at = text; *at;) {
    size_t n = named(text, at, copy, strlen(copy));
    n = n ? n : named(text, at, file, strlen(file));
    if (n == 0) {
      buf_append(out, at++, 1);
      continue;
    }
    buf_puts(out, path);
    at += n;
  }
}
