// SPDX-License-Identifier: Apache-2.0
// The parser of ONNX's textual syntax, shared between its files. Internal to src/onnx.
#ifndef ONNX_TEXT_H
#define ONNX_TEXT_H

#include "onnx/build.h"
#include "onnx/lex.h"

struct parser {
  struct lexer lexer;
  struct token token; // the current one
  struct model *model;
  struct assay_error *err;
};

// The current token is not what the syntax wants: "line 3, column 7: expected WHAT, found 'x'".
enum assay_status text_expected(struct parser *p, const char *fmt, ...) ASSAY_PRINTF(2, 3);

enum assay_status text_advance(struct parser *p);
bool text_is(const struct parser *p, char mark);
// Skips the mark if it is the current token.
enum assay_status text_accept(struct parser *p, char mark, bool *accepted);
// Skips the mark, which must be the current token; `where` follows it in the message: "'(' before the inputs".
enum assay_status text_expect(struct parser *p, char mark, const char *where);

// A quoted string without quotes and escapes, in the arena. `what` is for the message.
enum assay_status text_string(struct parser *p, const char *what, const char **out);
// An identifier or a quoted name; *at is its place. With `optional`, "" when neither is there.
enum assay_status text_name(struct parser *p, const char *what, bool optional, const char **out,
                            struct source_location *at);
// An unquoted word.
enum assay_status text_word(struct parser *p, const char *what, const char **out);
enum assay_status text_int(struct parser *p, const char *what, int64_t *out);

// text_graph.c: everything of a graph (typed) or function from its inputs on.
enum assay_status text_body(struct parser *p, struct graph *g, bool typed);

// text_value.c
bool text_at_type(const struct parser *p); // an unquoted word that names a type
enum assay_status text_type(struct parser *p, struct value_type *out);
// "{1, 2, 3}" of this type, which stood at `at`.
enum assay_status text_tensor(struct parser *p, const struct value_type *type, const struct source_location *at,
                              const char *name, const struct tensor **out);
// "name: type = value"; the name has been read.
enum assay_status text_attr_value(struct parser *p, const char *name, const struct source_location *at,
                                  struct attr *out);
// "<a = 1, b: ints = []>" when it is there.
enum assay_status text_attrs(struct parser *p, struct attr **attrs, int *n);

#endif
