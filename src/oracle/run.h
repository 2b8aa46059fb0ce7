// SPDX-License-Identifier: Apache-2.0
// Shared by the oracle's own files, those on a device included: one node at a time.
#ifndef ORACLE_RUN_H
#define ORACLE_RUN_H

#include "ops/op.h"
#include "oracle/oracle.h"

// Room for the widest node's inputs and outputs.
struct node_io {
  const struct array **in;
  struct array *out;
  struct array *stored; // of the inputs, those that the node reads rounded; bits NULL elsewhere
};

enum assay_status node_io_make(const struct graph *g, struct arena *arena, struct node_io *io, struct assay_error *err);

// Points io->in at the node's inputs among values and infers dtype and shape of io->out (bits NULL).
enum assay_status run_infer_node(const struct graph *g, int index, struct array *values, struct node_io *io,
                                 struct assay_error *err);

// What is added to a contraction's result right after it (Add and Sub, one after the other) and does not need it:
// where its sums may begin. Only values that are the same in every pass: inputs, constants, and what nodes that round
// nothing make of them before the node. None for any other node.
struct run_starts {
  int n;
  struct {
    int value;
    double factor;
  } of[OP_STARTS];
};
void run_find_starts(const struct graph *g, int node, struct run_starts *out);

// Whether it is a plain sum of its input's elements, or their mean.
bool run_is_sum(const struct node *n);

// The mean from which a reduction sums squared deviations, as a variance is written out; -1: it does nothing of the
// kind.
int run_find_centre(const struct graph *g, int node);

// The nodes whose sums a sum adds up, straight, the innermost first; how many there are.
int run_find_nested(const struct graph *g, int node, int nested[OP_NESTED]);

// For each value of a flat graph how many products of a contraction each of its elements is the sum of, but for factors
// and addends that are the same in every pass; 0: it is nothing of the kind. *products: base_free; NULL where shapes
// are not known before the graph runs.
enum assay_status run_find_products(const struct graph *g, const struct array *inputs, double **products,
                                    struct assay_error *err);

// Those of the terms that a sum, or the innermost one of a sum of sums, adds up. products: may be NULL.
double run_products(const struct graph *g, int node, const double *products);

// The nodes with their inputs, which are among `values` of the pass, and the products of their terms.
void run_set_nested(const struct graph *g, int node, const struct array *values, const double *products,
                    struct op_nested *out);

// The values that a node may read besides its inputs (op_eval.centre, op_eval.nested); how many there are. They are
// there until it has run.
enum { RUN_KEPT = 1 + OP_NESTED * OP_NESTED_INPUTS };
int run_find_kept(const struct graph *g, int node, int kept[RUN_KEPT]);

// For each value of a flat graph whether it is the same in every pass: inputs, constants, and what is made of them
// without rounding. steady[n_values] is the caller's.
void run_find_steady(const struct graph *g, bool *steady);

// Whether all inputs of a node are. It may keep what it makes of them from one pass to the next (op_memo).
bool run_is_steady(const struct node *n, const bool *steady);

// Empty memos, one for each node. run_memos_release; NULL: no memory.
struct op_memo *run_memos_make(const struct graph *g);
void run_memos_release(const struct graph *g, struct op_memo *memos); // NULL is fine

// What a factorization works in, besides its inputs and outputs; 0 for other operators. `right`: NULL where it has
// none.
int64_t run_factor_bytes(const struct node *n, const struct shape *matrices, const struct shape *right);

// Whether this node's operator may keep something until the last pass: a part of what memory is spare at this moment,
// beside the `needed` bytes that passes take at most. Without it they give the same numbers.
bool run_memo_fits(const struct op_eval *c, int64_t needed);

// Whether `node` may read value v, one of its inputs, rounded to the contract's storage type; whether any node may.
bool run_is_boundary(const struct graph *g, const bool *steady, int node, int v);
bool run_has_boundary(const struct graph *g, const bool *steady); // inside a node, too

// Takes the storage type out of the contract where there is no boundary.
enum assay_status run_find_contract(const struct graph *g, struct arith *contract, struct assay_error *err);

// A node of a pass; `factors`: the pass rounds those of its products (run_rounds_factors).
struct run_reader {
  const struct graph *g;
  const struct arith *arith;
  const bool *steady;
  int node;
  bool factors;
};

// Whether the pass rounds the node's input k, of this type: as a factor, or as a value that is stored. *how; *same: the
// first of the node's inputs that is the same value, and is so rounded.
bool run_rounds_input(const struct run_reader *r, int k, enum dtype dtype, struct arith *how, int *same);

// A copy, rounded as run_rounds_input says (array_release). first: how many elements of a batch of which
// these are some are before them.
enum assay_status run_store(const struct array *from, const struct arith *rounding, int64_t first, int threads,
                            struct array *to, struct assay_error *err);

// For each value of a flat graph whether a node that sums reads it, or what others make of it. summed[n_values] is the
// caller's.
void run_find_summed(const struct graph *g, bool *summed);

// Whether a pass rounds the factors of a node's products, where tensor cores do (arith.product_bits): each element at
// random to one of its two neighbours of so many bits, the same for every product and every node that it goes into. A
// tensor core multiplies numbers, not products that have an error of their own: those of a weight are the same at all
// positions of a convolution, and an average over the positions keeps them. (Drawn for each sum, they were averaged
// away at 3/18, and PyTorch's TF32 was refused.) Not where nothing sums what the node makes: an error that is drawn for
// each sum has the same size there, and the product may be kept from pass to pass.
bool run_rounds_factors(const struct graph *g, const struct arith *a, const bool *summed, int node);
// Whether its input k, of this type, is one.
bool run_is_factor(const struct graph *g, int node, int k, enum dtype dtype);
// The contract of such a node: its products have no error of their own for it, but for those of what it makes itself.
struct arith run_without_factors(const struct graph *g, const struct arith *a, int node);

// The contract passes that a scale is made of.
//
// The first `normal` of them compute as the contract says. The others are wide: their errors are 2^wider times as
// large, and their deviations count that much less, so that where a function is straight they say the same. Wide passes
// come in pairs with opposite errors. There are some for three reasons:
//
// Kinks, in any look. Errors are 128 times as large (32 times where factors are rounded), in half of the passes. They
// show what a kink hides from the first half: where the exact value before a ReLU is -1 and errors are about 2, some
// honest kernel ends above zero, though all normal passes may have ended below. One of a pair crosses a kink that lies
// within a few errors. There are more passes than asked for, for two reasons. Two passes with opposite errors say less
// about the size of errors than two with different ones. And an element that a clamp left alone among zeros has no
// neighbours to estimate its scale from: with 8 passes, half of them wide, an honest kernel failed at 4 of 2e9 elements
// of KernelBench's 2/2.
//
// Exponentials, in a second look (arith.one_lane). A score of eight million is off by one in single precision, and a
// softmax's small weights are e to the power of that: their errors have a tail that passes of the usual size show as
// seldom as kernels meet it. Errors four times as large meet it all the time. Where scores err by less than a tenth,
// nothing changes.
//
// Grids, in any other second look at fp32. What is rounded may lie so near a number of the format that hardly any pass
// rounds it otherwise, such as both products of 0.9 m + 0.1 g, where these cancel: all passes are alike then, though
// m + 0.1 (g - m) is as good. A value near the grid of 24 bits is near that of 17 bits once in 128 times.
//
// With a storage type every other pass that is not wide rounds to it at all boundaries, and the others at some. Wide
// passes never do: a value near zero, where kinks are, has a rounding error as small as it is. Those that do count as
// if there were no others.
struct run_passes {
  int n, normal, wider;
};

// For a graph and `replicas` passes that were asked for. The same on every machine.
struct run_passes run_passes_of(const struct graph *g, const struct arith *contract, int replicas);

struct run_pass {
  struct arith arith;
  bool wide;
  double part; // what its deviations count
};
struct run_pass run_pass(const struct arith *contract, int k, const struct run_passes *passes);

// With a storage type there are more passes, after those that the scale is made of; it is at least what each of them
// shows. The first rounds to nearest at all boundaries, as PyTorch does; some round to nearest at some; one in four
// never rounds, as a fused kernel. Errors of rounding to nearest need not be independent, so that random ones may be
// much smaller. (Where a mean is far above the spread, all elements of a row may lie between the same two neighbours;
// all then move the same way, and their sum by as much.) And where rounding turns an element into another number
// altogether, a softmax's small ones into zero, what single precision makes of it is nowhere else to be seen.
//
// An element that is finite and not so in any pass that rounds may overflow: its scale is negative (compare.h).
//
// Where one of them leaves nothing of the answer, a question does not test a candidate: its error is above this part of
// the output, both as root mean squares.
#define RUN_LOST 0.5

// A network that feeds its state back may be chaotic on inputs that no use of it has: a GRU whose state begins at
// thousands makes errors of 10^-3 grow by a factor of hundreds at each step. An answer is then one of several, and
// passes need not have met that of an honest kernel. So where the contract is single precision's, a question does not
// test a candidate either if the scale is above this part of the value at more than one element in 4096, two at least.
// (It is some 10^-6 of it elsewhere. Formats of fewer bits have many values that are near their scale by themselves.)
//
// One member of a batch may be chaotic where the others are not, and then few elements are concerned. Of 16 passes one
// had met it in one of four elements in which an honest kernel gave another answer. A candidate may be Z of its
// scale's units off (compare.h), 11 to 15. So there are passes, in pairs of opposite sign, whose errors are 16 times as
// large (see run_tail_pass): those cross what lies within a few errors almost surely. One that is off by the value
// itself makes the scale 1/48 of it.
#define RUN_UNTOLD (1.0 / 64)
bool run_may_be_chaotic(const struct graph *g, const struct arith *contract);
bool run_is_untold(int64_t elements, int64_t n);
int run_least_passes(int replicas);
struct arith run_least_pass(const struct arith *contract, int k);

// Last of all come passes each of which the scale is at least a third of. An error that is normal is three times its
// standard deviation once in 400 passes, so that this changes few scales and those by little. One with a long tail is
// given a scale that covers what one pass in 64 shows. They are made
//   * in a second look at exponentials of sums, as many again as were asked for, where there is no storage type;
//   * before those, in any look, where a network may be chaotic: half as many, wide, in pairs of opposite sign.
#define RUN_TAIL_PART (1.0 / 3)
int run_tail_passes(const struct graph *g, const struct arith *contract, int replicas);
struct run_pass run_tail_pass(const struct graph *g, const struct arith *contract, int replicas, int k);

// Whether a node is one of a task's check, which round nothing in any pass (task/check.h).
static inline bool run_is_exact(const struct graph *g, int node) {
  return node >= g->n_nodes - g->n_exact;
}

// Whether a node casts floating values to integers; also where nobody knows. inputs: as of oracle_infer;
// NULL: nobody knows.
bool run_casts_to_integers(const struct graph *g, const struct array *inputs);

// The contraction whose error, in closed form, is the error of the whole graph: all other nodes round nothing, and its
// output is the graph's only one. -1: there is none.
int run_closed_form_node(const struct graph *g);

#endif
