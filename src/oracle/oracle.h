// SPDX-License-Identifier: Apache-2.0
// The oracle: what the answer is, and how far from it an honest answer may be.
#ifndef ORACLE_ORACLE_H
#define ORACLE_ORACLE_H

#include "graph/graph.h"
#include "ops/op.h"

// Concrete dtypes and shapes of every value of a flat graph, for given inputs. Symbols of declared dimensions are bound
// by the inputs and checked against what inference finds.
struct graph_shapes {
  struct array *values; // n_values entries; bits is NULL unless the value is a constant known without the inputs' data
  struct op_cost cost;  // of all nodes
};

// inputs: dtype and shape of each graph input, in order (bits may be set where an input's value is known). Result in
// the arena. ASSAY_ERR_INVALID when shapes disagree; the message names the node and the declared dimension.
enum assay_status oracle_infer(const struct graph *g, const struct array *inputs, struct arena *arena,
                               struct graph_shapes *out, struct assay_error *err);

// One evaluation of a flat graph.
struct oracle_request {
  const struct graph *graph;
  const struct array *inputs; // one for each graph input, with data; borrowed
  struct arith arith;         // how to compute; arith_truth() for the truth
  int threads;
  const double *products; // of run_find_products (run.h), for passes where one accumulator counts; NULL: none
  struct op_memo *memos;  // of each node (run_memos_make in run.h); NULL: there is no other pass
  int64_t pass_bytes;     // with memos: what a pass takes at most, which they leave free
  // For a contract pass over a graph with one contraction: where not NULL, asks node `sigma_node` for its error in
  // closed form (op_eval.sigma). *has_sigma says whether it gave it.
  float *sigma;
  int sigma_node;
  bool *has_sigma;
};

// The outputs, heap-allocated (array_release each). Intermediates are freed as soon as they are not needed.
enum assay_status oracle_eval(const struct oracle_request *r, struct array *outputs, struct assay_error *err);

// The truth and its error scale. `sigma` per element of each floating output: the standard deviation of the error that
// a straightforward implementation in the contract's arithmetic makes on these very inputs, estimated from
// `replicas` contract passes (scale.c), or in closed form where the graph is one contraction; NULL for integer outputs.
// `representable` is false when a contract pass overflowed or made a NaN where the truth is finite: inputs that no
// straightforward implementation survives do not test a candidate. So is it where rounding to the contract's storage
// type between operators leaves nothing of the answer (RUN_LOST in run.h), and where the answer depends on open casts.
// Where only implementations that round to the contract's storage type between operators overflow, sigma is negative: a
// candidate may do either (compare.h).
struct oracle_answer {
  int n_outputs;
  struct array *y;
  float **sigma;
  bool representable;
  bool open_casts; // of what an integer type cannot hold
};
enum assay_status oracle_answer_make(const struct graph *g, const struct array *inputs, const struct arith *contract,
                                     int replicas, int threads, struct oracle_answer *out, struct assay_error *err);
void oracle_answer_release(struct oracle_answer *a);

// Whether exponentials of sums are in the graph. Then rows may err by one draw each, most of them by next to nothing
// (attention whose softmax has one large term), and a second look minds long tails (run.h).
bool oracle_has_steep_sums(const struct graph *g);

// The fewest moments of a normalization or results of a reduction in the graph, each of a row that one accumulator may
// be used for, or matrices that are cut to a rank, which one error turns where the singular values next to the cut are
// nearly equal; 0: there are none. Elements that they feed share their errors. values: all shapes, as of oracle_infer.
enum assay_status oracle_moments(const struct graph *g, const struct array *values, struct arena *arena,
                                 int64_t *moments, struct assay_error *err);

// The memory that oracle_answer_make takes on the host: `answer` stays until it is released, `working` is needed
// besides while it works (inputs, the intermediates that live at once, factors of products that the contract rounds,
// and what factorizations work in; what other operators take for themselves comes on top). `values`: all shapes, as of
// oracle_infer. contract: NULL where nothing is rounded.
struct oracle_bytes {
  int64_t answer, working;
};
enum assay_status oracle_answer_bytes(const struct graph *g, const struct array *values, const struct arith *contract,
                                      struct oracle_bytes *out, struct assay_error *err);

struct arith arith_exact(void);
// The truth under a contract: exact, and a cast to the contract's storage type is no more than one of the places where
// values may be rounded to it.
struct arith arith_truth(const struct arith *contract);

// Heap arrays.
enum assay_status array_create(enum dtype dtype, const struct shape *shape, struct array *out, struct assay_error *err);
enum assay_status array_from_tensor(const struct tensor *t, struct array *out, struct assay_error *err);
void array_release(struct array *a);

#endif
