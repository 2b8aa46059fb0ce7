// SPDX-License-Identifier: Apache-2.0
// Shapes that stand in no file. A kernel that knows the shapes it will be asked about needs to be right only there, so
// a judgement also asks about shapes that it draws from a key that nobody knows before.
//
// metadata_props key `assay.shapes` says what may be drawn:
//
//   shapes := item ("," item)*
//   item   := symbol "=" low ".." high ("/" step)? limit?            any multiple of step from low to high
//           | symbol "=" (up "*")? other ("/" down)? (("+" | "-") n)?  follows another symbol: up * other / down +- n
//           | symbol "=" other "+" with                              is the sum of two
//           | symbol "=" "(" sum ")"                                 is computed from others that follow none
//   with "~" in place of "=" for what follows: in shapes that are drawn, whatever the file's workloads have
//   sum    := product (("+" | "-") product)*, product := factor (("*" | "/") factor)*; what is divided is rounded down
//   factor := number | symbol | "(" sum ")"
//   limit  := "<=" other ("-" n)?                                    and no more than another: tokens, and positions
//
// A symbol that is not listed is held: it keeps the value of the judged workload. A task without the key gets what
// shape_ranges_derive finds out.
#ifndef TASK_SHAPES_H
#define TASK_SHAPES_H

#include "task/task.h"

enum shape_freedom { SHAPE_HELD, SHAPE_FREE, SHAPE_FOLLOWS };

struct shape_symbol {
  const char *symbol;
  enum shape_freedom freedom;
  int64_t low, high, step; // SHAPE_FREE
  int other;               // SHAPE_FOLLOWS: the index of the free symbol
  int64_t up, down, plus;  // up * other / down + plus
  int with;                // what is added besides: 1 + the index of a symbol that follows none; 0: nothing
  const char *formula;     // instead of all that: where its bracket opens in the key's text; NULL: there is none
  int formula_len;         // with both brackets
  bool loose;              // SHAPE_FOLLOWS: in drawn shapes alone
  int limit;               // SHAPE_FREE: 1 + the index of the free symbol that it is no more than; 0: there is none
  int64_t less;            // that one's value less this
};

struct shape_ranges {
  bool declared; // by assay.shapes
  int n;         // symbols, in the order of the workload `small`
  struct shape_symbol *symbols;
};

// What assay.shapes says, or what can be derived. Memory is the arena's. ASSAY_ERR_SYNTAX or _INVALID quote the key.
enum assay_status shape_ranges_find(const struct task *t, struct arena *arena, struct shape_ranges *out,
                                    struct assay_error *err);

// Whether assay.shapes, where the task has it, can be read, and the task can have the least extent of each range.
enum assay_status shape_ranges_check(const struct task *t, struct assay_error *err);

// Tries which symbols can change alone, or with others that are in proportion to them or their sums in all workloads of
// the file, or are never less than they are; each within the least and the greatest value that the file has. All else
// is held. Needs a few hundred inferences of shapes.
enum assay_status shape_ranges_derive(const struct task *t, struct arena *arena, struct shape_ranges *out,
                                      struct assay_error *err);

// Gives the symbols that follow their values, and makes those smaller that are above their limit, so that they stay
// what they are: multiples of 64, 16 or 4, or odd. `values` is in the order of the ranges.
void shape_settle(const struct shape_ranges *r, struct binding *values);

// The text of assay.shapes for these ranges ("" when all is held). Arena memory.
char *shape_ranges_text(const struct shape_ranges *r, struct arena *arena);

// What a drawn shape is for.
//   neighbour  the judged extents, some of them a little larger or smaller: a table of shapes, a stride that is fixed
//   multiples  all extents that can be are multiples of 4, 16 or 64, as the judged ones often are; every other
//              time they are all alike, if they can
//   mixed      some extents are multiples of 4, 16 or 64, and others have no such factor; every third time a sum of
//              products has two to four terms
//   reduced    the judged extents of sums and rows, all others small: what goes wrong only in long sums
#define SHAPE_KINDS(X) X(NEIGHBOUR, "neighbour") X(MULTIPLES, "multiples") X(MIXED, "mixed") X(REDUCED, "reduced")

enum shape_kind {
#define SHAPE_KIND_ENUM(name, text) SHAPE_##name,
  SHAPE_KINDS(SHAPE_KIND_ENUM)
#undef SHAPE_KIND_ENUM
      SHAPE_KIND_COUNT
};
const char *shape_kind_name(enum shape_kind k);

struct shape_request {
  const struct task *task;
  const struct shape_ranges *ranges;
  const struct workload *judged;
  double most_work; // as of shape_work; larger shapes are made smaller
  uint64_t key;
  struct arena *arena; // of the result
};

// Draws one shape that is none of the task's workloads and not the judged one. A pure function of the request. *found
// is false where there is none: all symbols are held, or the judged shape is so small that nothing can be reduced.
// ASSAY_ERR_NOMEM.
enum assay_status shape_draw(const struct shape_request *r, enum shape_kind kind, struct workload *out, bool *found,
                             struct assay_error *err);

// How much work a shape is for the oracle: operations, and elements of inputs and outputs. Infinite where the task
// cannot have it.
double shape_work(const struct task *t, const struct workload *w);

// "M=3, N=4". Arena memory, NULL without.
char *workload_text(const struct workload *w, struct arena *arena);

#endif
