// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain/directive*.c: tokens, trees, and what evaluates them.
#ifndef TOOLCHAIN_DIRECTIVE_PRIVATE_H
#define TOOLCHAIN_DIRECTIVE_PRIVATE_H

#include "toolchain/directive/directive.h"

struct place {
  int line, column; // from 1
};

// ---- lex.c: from text to words

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_INTEGER, TOKEN_REAL, TOKEN_MARK, TOKEN_BAD };
struct token {
  enum token_kind kind;
  const char *text; // in the source; of a quoted name what is between the quotes
  size_t length;
  struct place at;
  bool quoted;
};

// Reads the words of one directive across its continuations; copying it is remembering a place.
struct lexer {
  const char *file;
  const char *p, *stop, *end; // here; the end of this line; the end of the source
  const char *line_start;
  int line;
  struct token next; // the word that has not been taken yet
};

// Moves to the next directive of the source: *found says whether there is one; l->next is then its verb. Begin with
// lexer_init. A backslash without a comment in the next line is a TOKEN_BAD.
void lexer_init(struct lexer *l, const char *file, const char *source, size_t n);
bool lexer_next_directive(struct lexer *l);
void lexer_advance(struct lexer *l);                    // takes l->next
bool lexer_at(const struct lexer *l, const char *text); // l->next is this mark or unquoted name
bool lexer_take(struct lexer *l, const char *text);     // and is taken
// The characters from l->next to the next blank, raw: for compiler flags. And everything to the end, for sentences.
struct token lexer_raw_word(struct lexer *l);
struct token lexer_raw_rest(struct lexer *l);
// "FILE:LINE:COLUMN: " and the message.
enum assay_status directive_error(struct assay_error *err, enum assay_status status, const char *file, struct place at,
                                  const char *fmt, ...) ASSAY_PRINTF(5, 6);
// As error message: what stands at l->next ("`;`", "the end of the line").
struct quote {
  char text[112];
};
struct quote lexer_quote(const struct lexer *l);
// The same, with which of `names` (NULL-terminated) may be meant.
struct quote lexer_quote_near(const struct lexer *l, const char *const *names);

// ---- expr.c: expressions

enum expr_op {
  EXPR_INTEGER,
  EXPR_REAL,
  EXPR_NAME,   // let, dimension, or (in arguments) buffer
  EXPR_EXTENT, // name.value
  EXPR_RANK,
  EXPR_COUNT,
  EXPR_NEGATE,
  EXPR_NOT,
  EXPR_ADD,
  EXPR_SUB,
  EXPR_MUL,
  EXPR_DIV,
  EXPR_MOD,
  EXPR_LESS,
  EXPR_LESS_EQUAL,
  EXPR_EQUAL,
  EXPR_NOT_EQUAL,
  EXPR_AND,
  EXPR_OR,
  EXPR_CHOOSE, // a ? b : c
  EXPR_CEIL_DIV,
  EXPR_ROUND_UP,
  EXPR_MIN,
  EXPR_MAX,
  EXPR_SQRT,
};

struct expr {
  enum expr_op op;
  struct place at;
  int64_t value;    // EXPR_INTEGER, EXPR_EXTENT
  double real;      // EXPR_REAL
  const char *name; // EXPR_NAME, _EXTENT, _RANK, _COUNT
  const struct expr *a, *b, *c;
};

struct parser {
  struct lexer lexer;
  struct arena *arena;
  struct assay_error *err;
  int depth; // of parentheses and braces
  int nodes; // in the expression that is being read
  int total; // in all so far
};
enum assay_status expr_read(struct parser *p, const struct expr **out);
// Up to the next `+` or `-` that is in no parentheses: `part + M -1` is a place and a value.
enum assay_status expr_read_product(struct parser *p, const struct expr **out);
enum assay_status parser_nomem(struct parser *p);
// A syntax error at the next word.
enum assay_status parser_error(struct parser *p, const char *fmt, ...) ASSAY_PRINTF(2, 3);
// The text of the next word, a name, in the arena.
enum assay_status parser_name(struct parser *p, const char **out);
char *parser_text(struct parser *p, struct token t); // in the arena, NULL when memory fails

// A value: what a `let` holds.
struct value {
  bool is_real;
  int64_t integer;
  double real;
};

// One workload while its plan is being made.
struct binding {
  const char *name;
  struct value value;
};
struct map_binding {
  const char *name;
  struct plan_tensor_map *map;
};
struct evaluation {
  const struct directive_set *set;
  const struct directive_kernel *kernels;
  const struct plan_subject *subject;
  struct arena *arena; // the plan's
  struct assay_error *err;
  int n_lets, n_maps, n_buffers, n_steps;
  struct binding *lets;
  struct map_binding *maps;
  struct plan_buffer *buffers;
  struct plan_step *steps;
  size_t let_capacity, map_capacity, buffer_capacity, step_capacity;
  // While the expression `x + E` is evaluated: the leaf that stands for the buffer, worth 0.
  const struct expr *base;
  int n_prepare;
  bool opencl;
};
enum assay_status eval_integer(struct evaluation *e, const struct expr *x, int64_t *out);
enum assay_status eval_real(struct evaluation *e, const struct expr *x, double *out);
enum assay_status eval_value(struct evaluation *e, const struct expr *x, struct value *out); // as it is
// ASSAY_ERR_INVALID at a place.
enum assay_status eval_error(struct evaluation *e, struct place at, const char *fmt, ...) ASSAY_PRINTF(3, 4);

// ---- type.c: types of elements and scalars

struct element_type {
  const char *name;
  enum dtype dtype;
  uint32_t size;
  enum { KIND_SIGNED, KIND_UNSIGNED, KIND_BOOL, KIND_SMALL, KIND_FLOAT, KIND_DOUBLE } kind; // SMALL: 8 or 16 bits
};
const struct element_type *type_find(const char *name, size_t length); // NULL: no such type
const struct element_type *type_of_dtype(enum dtype dtype);
// The bits of the expression's value in this type, little-endian in the first type->size bytes.
enum assay_status type_encode(struct evaluation *e, const struct element_type *type, const struct expr *x,
                              uint8_t bytes[8]);

// ---- parse.c: lines

// NAME or NAME + E.
struct place_expr {
  const char *name;
  const struct expr *offset; // in elements; NULL: none
  struct place at;
};

enum argument_kind { ARGUMENT_EXPR, ARGUMENT_TYPED, ARGUMENT_NULL, ARGUMENT_LOCAL, ARGUMENT_STRUCT };
struct argument {
  enum argument_kind kind;
  struct place at;
  const struct expr *expr;         // _EXPR (an integer, a pointer or a tensor map), _TYPED, _LOCAL
  const struct element_type *type; // _TYPED
  int n;
  const struct argument *const *fields; // _STRUCT
};

enum directive_verb {
  VERB_LET,
  VERB_SCRATCH,
  VERB_LAUNCH,
  VERB_FILL,
  VERB_COPY,
  VERB_TENSOR_MAP,
  VERB_PREPARE,
  VERB_REQUIRE,
};

enum { MAP_MAX_RANK = 5 };
struct expr_list {
  int n;
  const struct expr *items[MAP_MAX_RANK];
  struct place at;
};

struct directive {
  enum directive_verb verb;
  struct place at;
  const char *name;                // let, scratch, tensor_map; launch: the kernel's
  const struct expr *value;        // let, fill, require
  const struct expr *count;        // scratch, fill, copy
  const struct expr *condition;    // if=
  const struct element_type *type; // scratch
  const struct expr *align;
  struct place_expr to, from; // fill, copy, tensor_map (from)
  const char *sentence;       // require
  int kernel;                 // launch: index into directive_set.kernels
  struct expr_list grid, block, cluster;
  const struct expr *shared, *carveout;
  bool cooperative, programmatic;
  int n_arguments;
  const struct argument *const *arguments;
  uint32_t data_type, swizzle, interleave, l2, oob; // tensor_map, the driver's enumerators
  struct expr_list dims, strides, box, element_strides;
};

// ---- args.c, map.c

enum assay_status eval_arguments(struct evaluation *e, const struct directive *d, struct plan_step *step);
enum assay_status eval_tensor_map(struct evaluation *e, const struct directive *d);
int eval_find_buffer(const struct evaluation *e, const char *name); // -1: none
const struct plan_tensor_map *eval_find_map(const struct evaluation *e, const char *name);
// The place of NAME + E, checked against the buffer's size.
enum assay_status eval_place(struct evaluation *e, const struct place_expr *x, struct plan_place *out);
enum assay_status eval_offset(struct evaluation *e, struct place at, int buffer, int64_t elements, int64_t *bytes);
// The type of a buffer's elements (while the plan is made, of every role).
const struct element_type *buffer_type(const struct plan_buffer *b);
enum assay_status eval_nomem(struct evaluation *e);

#endif
