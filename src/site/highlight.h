// SPDX-License-Identifier: Apache-2.0
// Source code with its words marked, for reading. One pass, linear in the text; whatever the text is, the tokens joined
// are the text.
#ifndef SITE_HIGHLIGHT_H
#define SITE_HIGHLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/html.h"

// X(ID, ending of its files)
#define HIGHLIGHT_LANGUAGES(X)                                                                                         \
  X(C, ".c")                                                                                                           \
  X(CUDA, ".cu")                                                                                                       \
  X(OPENCL, ".cl")                                                                                                     \
  X(PYTHON, ".py")                                                                                                     \
  X(PLAIN, "")
enum highlight_language {
#define HIGHLIGHT_LANGUAGE_ID(id, ending) HIGHLIGHT_##id,
  HIGHLIGHT_LANGUAGES(HIGHLIGHT_LANGUAGE_ID)
#undef HIGHLIGHT_LANGUAGE_ID
};

// X(ID, class in the page; "" has none)
#define HIGHLIGHT_KINDS(X)                                                                                             \
  X(TEXT, "")                                                                                                          \
  X(KEYWORD, "kw")                                                                                                     \
  X(TYPE, "ty")                                                                                                        \
  X(STRING, "st")                                                                                                      \
  X(NUMBER, "nu")                                                                                                      \
  X(COMMENT, "co")                                                                                                     \
  X(DIRECTIVE, "di") /* of the preprocessor, `// assay:` lines, decorators */
enum highlight_kind {
#define HIGHLIGHT_KIND_ID(id, class) HIGHLIGHT_##id,
  HIGHLIGHT_KINDS(HIGHLIGHT_KIND_ID)
#undef HIGHLIGHT_KIND_ID
};

struct highlight {
  enum highlight_language language;
  const char *text; // borrowed
  size_t len, at;
  bool fresh_line; // nothing but blanks since the line's begin
};

struct highlight_token {
  enum highlight_kind kind;
  const char *text;
  size_t len; // at least 1
};

// The language of a file by the ending of its name.
enum highlight_language highlight_language_of(const char *file);

void highlight_begin(struct highlight *h, enum highlight_language language, const char *text, size_t len);
bool highlight_next(struct highlight *h, struct highlight_token *out); // false: the text is at its end

// Writes <pre> with a line each as <span id="L12">.
void highlight_write(struct html *w, enum highlight_language language, const char *text, size_t len);

#endif
