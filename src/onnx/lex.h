// SPDX-License-Identifier: Apache-2.0
// Tokens of ONNX's textual syntax. Internal to src/onnx.
#ifndef ONNX_LEX_H
#define ONNX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "graph/graph.h"

enum token_kind {
  TOKEN_END,
  TOKEN_IDENTIFIER, // also the numbers inf and nan, which only the grammar can tell from names
  TOKEN_STRING,     // with its quotes
  TOKEN_INTEGER,
  TOKEN_REAL,  // with a point or an exponent, or -inf, -nan
  TOKEN_ARROW, // =>
  TOKEN_MARK,  // one character of punctuation
};

struct token {
  enum token_kind kind;
  const char *start; // into the text
  size_t len;
  struct source_location at;
  bool escaped; // a string with backslashes
  char mark;
};

struct lexer {
  const char *text;
  size_t len, pos;
  int line;
  size_t column_pos; // where `column` holds
  int column;        // from 1, in characters of UTF-8
};

void lex_start(struct lexer *l, const char *text, size_t len);

// The next token. ASSAY_ERR_SYNTAX for what cannot begin one, an unfinished string, a malformed number.
enum assay_status lex_next(struct lexer *l, struct token *out, struct assay_error *err);

// The token as text, for messages ("found ..."): returns text, which has room for 80 bytes.
const char *lex_describe(const struct token *t, char *text);

// A number's value; the token is TOKEN_INTEGER, TOKEN_REAL, or an identifier for which lex_is_special holds.
// ASSAY_ERR_SYNTAX when it does not fit. The caller has put the C locale in force (build_locale_start).
bool lex_is_special(const struct token *t); // inf, infinity, nan in any case
enum assay_status lex_int(const struct token *t, int64_t *out, struct assay_error *err);
enum assay_status lex_uint(const struct token *t, uint64_t *out, struct assay_error *err);
enum assay_status lex_float(const struct token *t, float *out, struct assay_error *err);
enum assay_status lex_double(const struct token *t, double *out, struct assay_error *err);

#endif
