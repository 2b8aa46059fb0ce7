// SPDX-License-Identifier: Apache-2.0
// The operator table. One row declares an operator; nodes point at the row; there is no list of operators anywhere
// else. A family's file holds the implementations and ends with its rows; table.c lists the families.
#ifndef OPS_OP_H
#define OPS_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "graph/graph.h"
#include "ops/arith.h"

enum op_class {
  OP_ELEMENTWISE,
  OP_REDUCTION,
  OP_SCAN,
  OP_CONTRACTION,
  OP_FACTORIZATION,
  OP_NORMALIZATION,
  OP_POOLING,
  OP_MOVEMENT,
  OP_GATHER,
  OP_CONSTANT,
};
const char *op_class_name(enum op_class c);

// One dense array in the oracle: floating types are held in double, integers and bool in int64. Both have eight bytes,
// so movement operators copy `bits` and need not care.
//
// It has no struct tensor_type in it: the rules and evaluators of all operators read `dtype` and `shape`, in a thousand
// places, and are shorter without one more name in front. array_type says the same as one value.
struct array {
  enum dtype dtype;
  struct shape shape;
  union {
    double *f64;  // dtype_is_float
    int64_t *i64; // dtype_is_integer
    uint64_t *bits;
  };
};

static inline struct tensor_type array_type(const struct array *a) {
  return (struct tensor_type){a->dtype, a->shape};
}

// What shape inference knows and fills in. in[i] is NULL where an optional input is left out. in[i]->bits is NULL when
// only dtype and shape are known; it is set for constants and, during evaluation, for every input. A rule that needs a
// value it does not have returns ASSAY_ERR_UNSUPPORTED and says which input must be constant.
struct op_infer {
  const struct node *node;
  int n_in, n_out;
  const struct array *const *in;
  struct array *out; // dtype and shape to be filled for outputs that the node has; bits untouched
};

// What is added to a contraction's result right after it, times a factor: its sums may begin with it (ops/start.h).
enum { OP_STARTS = 3 };
struct op_start {
  const struct array *of; // floating; broadcasts to output 0
  double factor;
};

// What a sum or mean adds up is made by sums or means itself: the nodes that make it, the innermost first, each with
// its inputs. A kernel may add all their terms in one accumulator. Where a contraction makes the innermost terms, it
// may add their products in it: `products` of them for each term; 0: nothing of the kind.
enum { OP_NESTED = 4, OP_NESTED_INPUTS = 2 };
struct op_nested {
  int n;
  double products;
  struct {
    const struct node *node;
    const struct array *in[OP_NESTED_INPUTS]; // NULL where left out
  } of[OP_NESTED];
};

// What an operator keeps of inputs that are the same in every pass of an answer. The exact pass is the first and alone,
// and makes it; the others read it, maybe at once. An operator is free to keep nothing.
struct op_memo {
  void *kept; // NULL: nothing
  void (*drop)(void *kept);
};
static inline void op_memo_release(struct op_memo *m) {
  if (m->kept)
    m->drop(m->kept);
  m->kept = NULL;
}

// One evaluation. out[i].bits is allocated (not cleared) for outputs the node has, with inferred dtype and shape; it is
// NULL for optional outputs left out.
struct op_eval {
  const struct node *node;
  int n_in, n_out;
  const struct array *const *in;
  struct array *out;
  struct arith arith; // exact or contract; arith.key is already derived for this node
  int threads;
  struct arena *scratch; // dropped after the node
  struct op_memo *memo;  // NULL: no other pass has these inputs
  // Where not NULL, a contraction may leave output 0 exact in a contract pass and write the standard deviation of each
  // element's error here instead (sums have a closed form for it: arith_sum_variance); it then sets has_sigma.
  float *sigma;
  bool has_sigma;
  const struct array *centre; // of a reduction of squared deviations in a contract pass: their mean; else NULL
  struct op_nested nested;    // of a sum of sums or products in a pass where one accumulator counts (arith.one_lane)
  int n_starts;               // of a contraction in a contract pass
  struct op_start starts[OP_STARTS];
};

// What the operator costs with these shapes, counted as a straightforward implementation would: a fused multiply-add
// is two operations, any other arithmetic or comparison or function value is one.
struct op_cost {
  double flops;             // arithmetic on floating values outside contractions
  double contraction_flops; // multiply-adds of MatMul, Conv, ... (times two)
  bool no_memory;           // there was not enough memory to count
};

// What the operator does to errors. The oracle's tolerance depends on these three, so every row says them: 0 is none of
// the values, and test_op_facts fails where a row says nothing.
enum op_rounding {
  OP_MAY_ROUND = 1, // a contract pass may round something: the safe answer
  OP_EXACT,         // it rounds nothing in a contract pass: the same inputs give the same output in every pass
};
enum op_kink {
  OP_SMOOTH = 1,
  OP_KINK,  // there is a place with an error on one side, and none or almost none on the other (Relu at 0)
  OP_STEEP, // an error of 1 in an input multiplies the result, or parts of it (Exp, Softmax)
};
enum op_sum {
  OP_NO_SUM = 1,
  OP_SUM_OF_MANY, // floating outputs are sums of many terms, or computed from such sums: see op_find_sums
  OP_SUM_OF_TWO,  // x + y, which a kernel may fuse with a contraction before it (oracle/run.h)
  OP_DIFFERENCE,  // x - y, likewise
};
struct op_errors {
  enum op_rounding rounding;
  enum op_kink kink;
  enum op_sum sum;
};

// The operator in PyTorch: a template, a function, or the reason why there is neither.
struct pytorch_writer; // ops/pytorch.h
typedef void op_pytorch_fn(struct pytorch_writer *w, const struct node *n);
enum op_pytorch_results {
  OP_PYTORCH_ONE,     // the expression is output 0
  OP_PYTORCH_OUTPUTS, // a tuple of the outputs that the node has
  OP_PYTORCH_ALL,     // a tuple of all outputs that the operator can have
};
struct op_pytorch {
  const char *text;     // a template (pytorch_put_template); next to `write`: what that function makes of it
  op_pytorch_fn *write; // writes the expression, where it depends on attributes, shapes or constants
  const char *none;     // why there is no translation; `text` and `write` are NULL then
  enum op_pytorch_results results;
  bool takes_numbers; // in place of tensors of one element
  const char *helper; // Python that a module needs once before its class; NULL: nothing
};

struct op_attr {
  const char *name;
  enum attr_type type;
  bool required;
  const char *fallback; // the default as text, for the operator page; NULL: none
};

typedef enum assay_status op_infer_fn(struct op_infer *c, struct assay_error *err);
typedef enum assay_status op_eval_fn(struct op_eval *c, struct assay_error *err);
typedef void op_cost_fn(const struct op_infer *c, struct op_cost *cost);

// Whether the first dimension of output 0 is a batch whose members this node keeps apart (ops/apart.h), where those of
// the inputs with `apart` are. Shapes are known, and outputs', too. *halo, 0 before: so many members at either end of a
// part of the batch have other noise than among all.
typedef bool op_apart_fn(const struct op_infer *c, const bool *apart, int64_t *halo);

// What a contraction multiplies and sums over: index i along dimension axis[0] of input 0 meets index
// floor((times i + plus) / over) mod period of dimension axis[1] of input 1; period 0: index i. Of a window that is so
// for output 0 along it, if it meets all its taps, and for output o with plus + o step; it has `outs` of them, or 0
// where nothing slides.
enum { OP_CONTRACTED_INPUTS = 2 };
struct op_contracted {
  int axis[OP_CONTRACTED_INPUTS];
  int64_t times, plus, over, period;
  int64_t outs, step;
};
// Shapes are known. `which`: 0, 1, ... where there are several. False: there are no more.
typedef bool op_contracted_fn(const struct op_infer *c, int which, struct op_contracted *out);

// How many means, variances, norms or sums the elements of output 0 share, with these shapes; 0: it is told them.
typedef int64_t op_moments_fn(const struct op_infer *c);

// What a reduction makes of the elements that it reduces: what another node makes of those may be made in one pass with
// it (oracle/run.h).
enum op_total {
  OP_NO_TOTAL, // none of these
  OP_TOTAL_SUM,
  OP_TOTAL_MEAN,
  OP_TOTAL_SQUARES, // the sum of their squares, or its root
};

enum { OP_VARIADIC = 1 << 20 };

struct op_def {
  const char *name;
  const char *domain; // "" or "ai.assay"
  int since;          // the row holds from this opset version on, until the operator's next row
  int min_in, max_in; // OP_VARIADIC: any number
  int min_out, max_out;
  enum op_class class;
  const struct op_attr *attrs; // ends with a NULL name; NULL: none
  op_infer_fn *infer;
  op_eval_fn *eval; // both passes: through c->arith
  op_cost_fn *cost; // NULL: one operation an output element
  // Elementwise operators: the result as an expression over x, y, z (the inputs, broadcast) and the attributes' names,
  // in the small language of ops/expr.h. Evaluators, cost, generated code and the documentation all use it.
  const char *expr;
  // Where inputs 1 and 2 may be left out: the expressions over those that are given, in order as x, y. [0] is for input
  // 0 alone, [1] for input 1 as well, [2] for input 2 as well; `expr` is for all three.
  const char *const *expr_given;
  // Operators of any number of inputs apply `expr` to the result so far (x) and each further input (y). This comes
  // last: an expression of that result (x) and of `count`, the number of inputs. NULL: nothing comes last.
  const char *expr_finish;
  struct op_errors errors;
  bool steps; // its values jump (Floor, Less, ArgMax): rounding what goes in is not rounding what comes out
  // PyTorch makes it of several operators, and stores what goes from one to the next in the tensors' type (attention).
  bool stores_inside;
  // What it makes goes into its next step through functions that bend: errors may grow from step to step (RNN).
  bool feeds_back;
  // So many of its first inputs are factors of products, which tensor cores round (contracts with product_bits); 0: it
  // is not said. factors_inside: it multiplies by what it makes of them, too (the weights of an attention).
  int factors;
  bool factors_inside;
  // A bit for each input whose elements are those of output 0, but for a factor and an addend (x + y, x / y).
  unsigned passes;
  bool multiplies; // x * y
  enum op_total total;
  op_apart_fn *apart;           // NULL: it mixes, unless it is an expression
  op_contracted_fn *contracted; // NULL: it is not said
  op_moments_fn *moments;       // NULL: none is counted; of a reduction (OP_REDUCTION) as many as output 0 has elements
  struct op_pytorch pytorch;
  int matrices;           // of an OP_FACTORIZATION: it works in so many of one matrix's size, besides input and output
  bool casts;             // it passes values on as another type
  const char *doc;        // one or two sentences; for ai.assay the whole specification
  bool reads_shapes_only; // eval looks at its inputs' dtype and shape, never at their elements (Shape, Size)
  unsigned free;          // a bit for each output that is not unique: signs and order of factors, numbers of chance
  // A complete graph in ONNX's textual syntax that uses the operator once, for tests and the operator page:
  // "(float[2,3] x) => (float[2,3] y) { y = LeakyRelu<alpha = 0.1>(x) }". May hold several, separated by newlines.
  // NULL for a row that a later one supersedes.
  const char *example;
};

// The first fields of a row, in a line.
#define OP_ROW(NAME, SINCE, MIN_IN, MAX_IN, MIN_OUT, MAX_OUT, CLASS)                                                   \
  OP_ROW_OF("", NAME, SINCE, MIN_IN, MAX_IN, MIN_OUT, MAX_OUT, CLASS)
#define OP_ROW_OF(DOMAIN, NAME, SINCE, MIN_IN, MAX_IN, MIN_OUT, MAX_OUT, CLASS)                                        \
  .name = NAME, .domain = DOMAIN, .since = SINCE, .min_in = MIN_IN, .max_in = MAX_IN, .min_out = MIN_OUT,              \
  .max_out = MAX_OUT, .class = CLASS

struct op_family {
  const char *name; // title on the operator page
  const struct op_def *rows;
  int n_rows;
};
const struct op_family *const *op_families(int *count);

// The row for this operator in this version of its domain's opset: the one with the greatest `since` that is not above
// it. NULL when there is none. domain "ai.onnx" is "".
const struct op_def *op_find(const char *domain, const char *name, int version);

// Checks a flat graph: indices in range, each value produced once and before use, arity and attribute names and types
// as the operator's row says, every output produced. Errors name the node's place.
enum assay_status op_verify(const struct graph *g, struct assay_error *err);

// The highest standard opset version the table speaks.
enum { OP_NEWEST_OPSET = 28, OP_NEWEST_ASSAY_OPSET = 1 };

// A Markdown page of all rows, generated (docs/operators.md is checked against it).
enum assay_status op_page(struct buf *out, struct assay_error *err);

// For each value of a flat graph whether sums go into it: whether a node that it depends on is an OP_SUM_OF_MANY.
// adds[n_values] is the caller's.
void op_find_sums(const struct graph *g, bool *adds);

// For each value of a flat graph the first node whose answer is not unique (op_def.free) and that the value depends on,
// or -1. What an operator makes of such an answer may be unique again (absolute values); this does not see it.
// free_by[n_values] is the caller's.
void op_find_free(const struct graph *g, int *free_by);

bool op_takes_epsilon(const struct op_def *op); // it divides by a deviation or a norm, and says what is added there

// The expression of an elementwise node, which depends on the inputs that it has; NULL: its row has none.
const char *op_expr(const struct node *n);

// Helpers for rows.
struct op_infer op_infer_of(const struct op_eval *c); // an evaluation seen as inference: for op_has and op_ints
bool op_has(const struct op_infer *c, int i);         // input i is given
enum assay_status op_invalid(const struct node *node, struct assay_error *err, const char *fmt, ...)
    ASSAY_PRINTF(3, 4); // ASSAY_ERR_INVALID, with the node's place and operator in front
enum assay_status op_unsupported(const struct node *node, struct assay_error *err, const char *fmt, ...)
    ASSAY_PRINTF(3, 4);                                                       // the same with ASSAY_ERR_UNSUPPORTED
enum assay_status op_infer_same(struct op_infer *c, struct assay_error *err); // output 0 like input 0
enum assay_status op_infer_broadcast(struct op_infer *c, struct assay_error *err); // all inputs broadcast; dtype of 0
// Sets output i, if the node has it; ASSAY_ERR_LIMIT when the rank or the number of elements is beyond what is held.
enum assay_status op_output(struct op_infer *c, int i, enum dtype dtype, int rank, const int64_t *dims,
                            struct assay_error *err);
// shape_axis with the node's place in front of the message.
enum assay_status op_axis(const struct node *node, int64_t axis, int rank, int *out, struct assay_error *err);
int64_t op_moments(const struct op_infer *c);                      // as the row's `moments` says
void op_cost_none(const struct op_infer *c, struct op_cost *cost); // movement: no arithmetic
// Integers from input i (1-D, constant) or, when the node has no such input, from the attribute; *count is -1 when
// neither is there. For operators whose attributes became inputs in later versions.
enum assay_status op_ints(const struct op_infer *c, int i, const char *attribute, int64_t *values, int *count,
                          int capacity, struct assay_error *err);

#endif
