// SPDX-License-Identifier: Apache-2.0
// A compiler's messages: cleaning and reading them.
#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "toolchain/cc.h"

// How much of the text at s is a path's beginning to be left out: the folder and its slash.
static size_t prefix_length(const char *s, size_t n, const char *folder) {
  size_t len = folder ? strlen(folder) : 0;
  while (len > 1 && folder[len - 1] == '/')
    len--;
  if (len < 2 || n <= len || memcmp(s, folder, len) != 0 || s[len] != '/')
    return 0;
  while (len < n && s[len] == '/')
    len++;
  return len;
}

void diagnostics_clean(const struct buf *raw, const char *folder, const char *include_dir, struct buf *out) {
  const char *s = buf_str(raw);
  for (size_t i = 0; i < raw->len;) {
    size_t skip = prefix_length(s + i, raw->len - i, folder);
    if (!skip)
      skip = prefix_length(s + i, raw->len - i, include_dir);
    if (skip) {
      i += skip;
      continue;
    }
    unsigned char c = (unsigned char)s[i];
    size_t len = utf8_length(s + i, raw->len - i);
    bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    if (len == 0 || control)
      buf_puts(out, "?");
    else
      buf_append(out, s + i, len);
    i += len ? len : 1;
  }
}

static bool has(const char *line, size_t n, const char *phrase) {
  return memmem(line, n, phrase, strlen(phrase));
}

enum build_outcome diagnostics_outcome(const char *text) {
  // As gcc, clang, as and ld put it. Longer than need be, for clang repeats lines of the source as they are.
  static const struct {
    const char *phrase;
    enum build_outcome outcome;
  } signs[] = {
      {"CPU time limit exceeded signal terminated program", BUILD_TIMED_OUT},
      {"File size limit exceeded signal terminated program", BUILD_HIT_LIMIT},
      {"Killed signal terminated program", BUILD_HIT_LIMIT},
      {": out of memory allocating ", BUILD_HIT_LIMIT},
      {"LLVM ERROR: out of memory", BUILD_HIT_LIMIT},
      {"std::bad_alloc", BUILD_HIT_LIMIT},
      {": memory exhausted", BUILD_HIT_LIMIT},
      {": Cannot allocate memory", BUILD_HIT_LIMIT},
      {": File too large", BUILD_HIT_LIMIT},
      {": file too large", BUILD_HIT_LIMIT},
      {": No space left on device", BUILD_HIT_LIMIT},
      {": Resource temporarily unavailable", BUILD_HIT_LIMIT},
      {": failed to map segment from shared object", BUILD_HIT_LIMIT},
  };
  for (const char *line = text; *line;) {
    size_t n = strcspn(line, "\n");
    bool about_source = line[0] == ' ' || !strncmp(line, "candidate.c", strlen("candidate.c")); // and candidate.cu
    for (size_t i = 0; !about_source && i < sizeof signs / sizeof *signs; i++)
      if (has(line, n, signs[i].phrase))
        return signs[i].outcome;
    line += n + (line[n] == '\n');
  }
  return BUILD_REJECTED;
}

bool diagnostics_lack_openmp(const char *text) {
  return strstr(text, "-lomp") || strstr(text, "cannot find omp") || strstr(text, "libomp");
}

// What compilers print around an error: where it happened, warnings, notes, lines of the source, empty lines.
static bool is_chatter(const char *line, size_t n) {
  static const char *const phrases[] = {
      "warning: ", "warning #", "note: ", ": In ", ": At top level:", "In file included"};
  bool chatter = n == 0 || line[0] == ' ' || line[0] == '\t' || strncmp(line, "Remark: ", strlen("Remark: ")) == 0 ||
                 strncmp(line, "__nv_name_map(", strlen("__nv_name_map(")) == 0; // no file of anybody's
  for (size_t i = 0; !chatter && i < sizeof phrases / sizeof *phrases; i++)
    chatter = has(line, n, phrases[i]) && !has(line, n, "error: ");
  return chatter;
}

// "NAME:12:7: error: ...", which says where; a linker's driver says "collect2: error: ...".
static bool has_place(const char *line, size_t n) {
  static const char *const kinds[] = {": error: ", ": fatal error: "};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const char *at = memmem(line, n, kinds[i], strlen(kinds[i])), *digits = at;
    while (digits && digits > line && isdigit((unsigned char)digits[-1]))
      digits--;
    if (at && digits < at && digits > line && digits[-1] == ':')
      return true;
  }
  return false;
}

// What a program logs of itself may stand before the error ("W1126 22:47:12.845000 ... No CUDA runtime is found").
size_t build_first_error(const char *diagnostics, const char **line) {
  for (const char *at = diagnostics; *at;) {
    size_t n = strcspn(at, "\n");
    if (!is_chatter(at, n) && has_place(at, n)) {
      *line = at;
      return n;
    }
    at += n + (at[n] == '\n');
  }
  for (const char *at = diagnostics; *at;) {
    size_t n = strcspn(at, "\n");
    if (!is_chatter(at, n)) {
      *line = at;
      return n;
    }
    at += n + (at[n] == '\n');
  }
  *line = diagnostics;
  return strcspn(diagnostics, "\n");
}

// "error: /tmp/.../tempfile_x.cl:1:59: use of ..." of PoCL, as other compilers put it: "NAME:1:59: error: use of ...".
static bool put_pocl_line(const char *line, size_t n, const char *name, struct buf *out) {
  static const char *const kinds[] = {"error: ", "warning: ", "note: "};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t begins = strlen(kinds[i]);
    const char *file = n > begins ? memmem(line, n, "/tempfile_", strlen("/tempfile_")) : NULL;
    const char *place = file ? memmem(file, n - (size_t)(file - line), ".cl:", strlen(".cl:")) : NULL;
    if (!place || strncmp(line, kinds[i], begins) != 0 || line[begins] != '/')
      continue;
    place += strlen(".cl:");
    size_t digits = strspn(place, "0123456789:");
    if (digits < 2 || place[digits] != ' ')
      continue;
    const char *rest = place + digits + 1;
    buf_printf(out, "%s:%.*s %s%.*s", name, (int)digits, place, kinds[i], (int)(n - (size_t)(rest - line)), rest);
    return true;
  }
  return false;
}

// PoCL's linker, which names functions as the compiler does ("_Z21work_group_reduce_addf"), below a line that says
// nothing.
static bool put_pocl_missing(const char *line, size_t n, const char *name, struct buf *out) {
  static const char head[] = "Cannot find symbol ", tail[] = " in kernel library", title[] = "Error(s) while linking:";
  size_t begins = sizeof head - 1, ends = sizeof tail - 1;
  if (n >= sizeof title - 1 && strncmp(line, title, sizeof title - 1) == 0)
    return true;
  if (n <= begins + ends || strncmp(line, head, begins) != 0 || strncmp(line + n - ends, tail, ends) != 0)
    return false;
  const char *symbol = line + begins;
  int length = (int)(n - begins - ends), digits = 0, named = 0;
  if (length > 2 && strncmp(symbol, "_Z", 2) == 0)
    while (2 + digits < length && named < length && symbol[2 + digits] >= '0' && symbol[2 + digits] <= '9')
      named = 10 * named + symbol[2 + digits++] - '0';
  if (digits && named > 0 && named <= length - 2 - digits) {
    symbol += 2 + digits;
    length = named;
  }
  buf_printf(out, "%s: error: the OpenCL here has no function %.*s", name, length, symbol);
  return true;
}

void diagnostics_of_opencl(const char *text, const char *name, struct buf *out) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    size_t before = out->len;
    if (!put_pocl_line(text, n, name, out) && !put_pocl_missing(text, n, name, out))
      buf_append(out, text, n);
    if (text[n] && (n == 0 || out->len > before))
      buf_puts(out, "\n");
    text += n + (text[n] == '\n');
  }
}
