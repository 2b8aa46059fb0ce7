// SPDX-License-Identifier: Apache-2.0
#include "site/highlight.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_classes[] = {
#define HIGHLIGHT_CLASS(id, class) class,
    HIGHLIGHT_KINDS(HIGHLIGHT_CLASS)
#undef HIGHLIGHT_CLASS
};

static const char *const endings[] = {
#define HIGHLIGHT_ENDING(id, ending) ending,
    HIGHLIGHT_LANGUAGES(HIGHLIGHT_ENDING)
#undef HIGHLIGHT_ENDING
};

// --- words: sorted, for bsearch

static const char *const c_keywords[] = {"_Alignas",
                                         "_Static_assert",
                                         "__asm__",
                                         "__attribute__",
                                         "__constant__",
                                         "__device__",
                                         "__forceinline__",
                                         "__global__",
                                         "__grid_constant__",
                                         "__host__",
                                         "__inline__",
                                         "__kernel",
                                         "__launch_bounds__",
                                         "__restrict__",
                                         "__shared__",
                                         "alignas",
                                         "asm",
                                         "auto",
                                         "break",
                                         "case",
                                         "class",
                                         "const",
                                         "constexpr",
                                         "continue",
                                         "default",
                                         "delete",
                                         "do",
                                         "else",
                                         "enum",
                                         "extern",
                                         "false",
                                         "for",
                                         "global",
                                         "goto",
                                         "if",
                                         "inline",
                                         "kernel",
                                         "local",
                                         "namespace",
                                         "new",
                                         "nullptr",
                                         "operator",
                                         "private",
                                         "public",
                                         "register",
                                         "reinterpret_cast",
                                         "restrict",
                                         "return",
                                         "sizeof",
                                         "static",
                                         "static_assert",
                                         "static_cast",
                                         "struct",
                                         "switch",
                                         "template",
                                         "this",
                                         "true",
                                         "typedef",
                                         "typename",
                                         "union",
                                         "using",
                                         "volatile",
                                         "while"};

static const char *const c_types[] = {
    "__global", "__half",   "__half2", "__local", "__nv_bfloat16", "__private", "bool",   "char",
    "double",   "double2",  "float",   "float2",  "float4",        "float8",    "half",   "half2",
    "int",      "int16_t",  "int2",    "int32_t", "int4",          "int64_t",   "int8_t", "long",
    "short",    "signed",   "size_t",  "uchar",   "uint",          "uint16_t",  "uint2",  "uint32_t",
    "uint4",    "uint64_t", "uint8_t", "ulong",   "unsigned",      "ushort",    "void"};

// What a CUDA or OpenCL kernel is told about its place; shown as types are.
static const char *const c_places[] = {"blockDim",     "blockIdx",     "get_global_id",  "get_global_size",
                                       "get_group_id", "get_local_id", "get_local_size", "gridDim",
                                       "threadIdx",    "warpSize"};

static const char *const python_keywords[] = {"False",  "None",   "True",    "and",      "as",       "assert", "async",
                                              "await",  "break",  "class",   "continue", "def",      "del",    "elif",
                                              "else",   "except", "finally", "for",      "from",     "global", "if",
                                              "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
                                              "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};

static const char *const python_types[] = {"bool", "bytes", "dict", "float", "int",    "list", "nn",
                                           "self", "str",   "tl",   "torch", "triton", "tuple"};

struct word {
  const char *text;
  size_t len;
};

static int compare_word(const void *key, const void *item) {
  const struct word *w = key;
  const char *known = *(const char *const *)item;
  int order = strncmp(w->text, known, w->len);
  return order ? order : known[w->len] ? -1 : 0;
}

#define IS_ONE_OF(word, table)                                                                                         \
  (bsearch(word, table, sizeof(table) / sizeof *(table), sizeof *(table), compare_word) != NULL)

static enum highlight_kind kind_of_word(enum highlight_language language, const char *text, size_t len) {
  const struct word w = {text, len};
  if (language == HIGHLIGHT_PYTHON)
    return IS_ONE_OF(&w, python_keywords) ? HIGHLIGHT_KEYWORD
           : IS_ONE_OF(&w, python_types)  ? HIGHLIGHT_TYPE
                                          : HIGHLIGHT_TEXT;
  if (IS_ONE_OF(&w, c_keywords))
    return HIGHLIGHT_KEYWORD;
  bool places = language != HIGHLIGHT_C && IS_ONE_OF(&w, c_places);
  return places || IS_ONE_OF(&w, c_types) ? HIGHLIGHT_TYPE : HIGHLIGHT_TEXT;
}

// --- scanning. Each takes where a token begins and returns where it ends.

enum highlight_language highlight_language_of(const char *file) {
  size_t n = strlen(file);
  for (int l = 0; l < HIGHLIGHT_PLAIN; l++) {
    size_t e = strlen(endings[l]);
    if (n > e && strcmp(file + n - e, endings[l]) == 0)
      return (enum highlight_language)l;
  }
  return HIGHLIGHT_PLAIN;
}

void highlight_begin(struct highlight *h, enum highlight_language language, const char *text, size_t len) {
  *h = (struct highlight){.language = language, .text = text, .len = len, .fresh_line = true};
}

static char char_at(const struct highlight *h, size_t i) {
  return i < h->len ? h->text[i] : '\0';
}

static bool has(const struct highlight *h, size_t i, const char *what) {
  size_t n = strlen(what);
  return i + n <= h->len && memcmp(h->text + i, what, n) == 0;
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

// To the line's end, which is not part of it; a backslash before it goes on. `comments`: ends before a comment.
static size_t end_of_line(const struct highlight *h, size_t i, bool continues, bool comments) {
  while (i < h->len && h->text[i] != '\n') {
    if (comments && (has(h, i, "//") || has(h, i, "/*")))
      return i;
    if (continues && h->text[i] == '\\')
      i += has(h, i, "\\\r\n") ? 2 : 1;
    i += i < h->len;
  }
  return i;
}

static size_t after(const struct highlight *h, size_t i, const char *end) {
  while (i < h->len && !has(h, i, end))
    i++;
  return i < h->len ? i + strlen(end) : h->len;
}

// A string from its quote on; one that the line's end cuts short ends there.
static size_t end_of_string(const struct highlight *h, size_t i, bool long_form) {
  char quote = h->text[i];
  const char three[] = {quote, quote, quote, '\0'};
  if (long_form && has(h, i, three)) {
    for (i += 3; i < h->len && !has(h, i, three); i++)
      i += h->text[i] == '\\';
    return i + 3 <= h->len ? i + 3 : h->len;
  }
  for (i++; i < h->len && h->text[i] != quote && h->text[i] != '\n'; i++)
    i += h->text[i] == '\\';
  return i >= h->len ? h->len : h->text[i] == quote ? i + 1 : i;
}

// R"mark( ... )mark" from the quote on; 0: it is none. The mark has at most 16 characters.
static size_t end_of_raw_string(const struct highlight *h, size_t i) {
  enum { MOST_MARK = 16 };
  char end[MOST_MARK + 3] = ")";
  size_t n = 1;
  for (i++; i < h->len && h->text[i] != '('; i++) {
    if (n > MOST_MARK || strchr(" )\\\n\t\"", h->text[i]))
      return 0;
    end[n++] = h->text[i];
  }
  if (i >= h->len)
    return 0;
  end[n] = '"';
  return after(h, i + 1, end);
}

// Digits, letters, points and separators, and a sign after an exponent.
static size_t end_of_number(const struct highlight *h, size_t i) {
  const bool hexadecimal = has(h, i, "0x") || has(h, i, "0X");
  for (i++; i < h->len; i++) {
    char c = h->text[i], before = h->text[i - 1];
    bool exponent = hexadecimal ? before == 'p' || before == 'P' : before == 'e' || before == 'E';
    if (!isalnum((unsigned char)c) && c != '.' && c != '_' && !(c == '\'' && is_word(char_at(h, i + 1))) &&
        !((c == '+' || c == '-') && exponent))
      break;
  }
  return i;
}

static size_t end_of_word(const struct highlight *h, size_t i) {
  while (i < h->len && is_word(h->text[i]))
    i++;
  return i;
}

// What may stand before a string's quote. (The text has no end of its own: strspn would run over it.)
static bool is_prefix(const char *word, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (!memchr("uUL8RbBrfF", word[i], 10))
      return false;
  return len <= 3;
}

// A word, or a string with a prefix: u8"..", R"(..)", f'..'.
static size_t word_or_string(const struct highlight *h, enum highlight_kind *kind) {
  const bool python = h->language == HIGHLIGHT_PYTHON;
  size_t end = end_of_word(h, h->at), len = end - h->at;
  char quote = char_at(h, end);
  bool prefix = is_prefix(h->text + h->at, len);
  *kind = HIGHLIGHT_STRING;
  if (prefix && !python && quote == '"' && h->text[end - 1] == 'R') {
    size_t raw = end_of_raw_string(h, end);
    if (raw)
      return raw;
  }
  if (prefix && (quote == '"' || quote == '\''))
    return end_of_string(h, end, python);
  *kind = kind_of_word(h->language, h->text + h->at, len);
  return end;
}

static size_t comment_of_c(const struct highlight *h, enum highlight_kind *kind) {
  if (h->text[h->at + 1] == '*') {
    *kind = HIGHLIGHT_COMMENT;
    return after(h, h->at + 2, "*/");
  }
  *kind = has(h, h->at, "// assay:") ? HIGHLIGHT_DIRECTIVE : HIGHLIGHT_COMMENT;
  return end_of_line(h, h->at, true, false);
}

// What begins with a sign that only one language has; 0: nothing does.
static size_t special(const struct highlight *h, enum highlight_kind *kind) {
  const char c = h->text[h->at];
  const bool python = h->language == HIGHLIGHT_PYTHON;
  if (!python && c == '/' && (char_at(h, h->at + 1) == '/' || char_at(h, h->at + 1) == '*'))
    return comment_of_c(h, kind);
  if (python && c == '#') {
    *kind = has(h, h->at, "# assay:") ? HIGHLIGHT_DIRECTIVE : HIGHLIGHT_COMMENT;
    return end_of_line(h, h->at, false, false);
  }
  *kind = HIGHLIGHT_DIRECTIVE;
  if (!python && c == '#' && h->fresh_line)
    return end_of_line(h, h->at, true, true);
  if (python && c == '@' && h->fresh_line)
    return end_of_line(h, h->at, false, false);
  *kind = HIGHLIGHT_KEYWORD;
  if (h->language == HIGHLIGHT_CUDA && (has(h, h->at, "<<<") || has(h, h->at, ">>>")))
    return h->at + 3;
  return 0;
}

// Blanks and signs that mean nothing, up to what may mean something.
static size_t end_of_plain(const struct highlight *h) {
  size_t i = h->at + 1;
  while (i < h->len && !is_word(h->text[i]) && !strchr("\"'/#@<>.\n", h->text[i]))
    i++;
  return i;
}

static size_t scan(const struct highlight *h, enum highlight_kind *kind) {
  const char c = h->text[h->at];
  if (h->language == HIGHLIGHT_PLAIN) {
    *kind = HIGHLIGHT_TEXT;
    return h->len;
  }
  size_t end = special(h, kind);
  if (end)
    return end;
  if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)char_at(h, h->at + 1)))) {
    *kind = HIGHLIGHT_NUMBER;
    return end_of_number(h, h->at);
  }
  if (c == '"' || c == '\'') {
    *kind = HIGHLIGHT_STRING;
    return end_of_string(h, h->at, h->language == HIGHLIGHT_PYTHON);
  }
  if (is_word(c))
    return word_or_string(h, kind);
  *kind = HIGHLIGHT_TEXT;
  return end_of_plain(h);
}

bool highlight_next(struct highlight *h, struct highlight_token *out) {
  if (h->at >= h->len)
    return false;
  size_t end = scan(h, &out->kind);
  out->text = h->text + h->at;
  out->len = end - h->at;
  for (size_t i = h->at; i < end; i++)
    h->fresh_line = h->text[i] == '\n' || (h->fresh_line && isspace((unsigned char)h->text[i]));
  h->at = end;
  return true;
}

// --- as HTML

struct lines {
  struct html *w;
  int n;
  bool open;
};

static void begin_line(struct lines *l) {
  if (l->open)
    return;
  // A site has a million lines: no format.
  char id[16], *at = id + sizeof id;
  int n = ++l->n;
  *--at = '\0';
  do
    *--at = (char)('0' + n % 10);
  while (n /= 10);
  *--at = 'L';
  html_open(l->w, EL_SPAN);
  html_attr(l->w, AT_ID, at);
  l->open = true;
}

static void end_line(struct lines *l) {
  html_text(l->w, "\n");
  html_close(l->w, EL_SPAN);
  l->open = false;
}

// The part of a token that stands on one line.
static void put_part(struct lines *l, enum highlight_kind kind, const char *text, size_t len) {
  begin_line(l);
  if (kind == HIGHLIGHT_TEXT || len == 0) {
    html_bytes(l->w, text, len);
    return;
  }
  html_open(l->w, EL_SPAN);
  html_attr(l->w, AT_CLASS, kind_classes[kind]);
  html_bytes(l->w, text, len);
  html_close(l->w, EL_SPAN);
}

void highlight_write(struct html *w, enum highlight_language language, const char *text, size_t len) {
  struct highlight h;
  struct highlight_token t;
  struct lines l = {.w = w};
  html_open(w, EL_PRE);
  html_attr(w, AT_CLASS, "source");
  html_attr(w, AT_TABINDEX, "0"); // it scrolls
  html_open(w, EL_CODE);
  highlight_begin(&h, language, text, len);
  while (highlight_next(&h, &t)) {
    const char *at = t.text, *end = t.text + t.len;
    for (const char *stop; at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL; at = stop + 1) {
      put_part(&l, t.kind, at, (size_t)(stop - at));
      end_line(&l);
    }
    if (at < end)
      put_part(&l, t.kind, at, (size_t)(end - at));
  }
  if (l.open)
    end_line(&l);
  html_close(w, EL_CODE);
  html_close(w, EL_PRE);
}
