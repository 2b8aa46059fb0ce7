// Shared by the oracle's own files, those on a device included: one node at a time.
#ifndef ORACLE_RUN_H
#define ORACLE_RUN_H

#include "ops/op.h"
#include "oracle/oracle.h"

// Room for the widest node's inputs and outputs.
struct node_io {
  const struct array **in;
  struct array *out;
};

enum assay_status node_io_make(const struct graph *g, struct arena *arena, struct node_io *io, struct assay_error *err);

// Points io->in at the node's inputs among values and infers dtype and shape of io->out (bits NULL).
enum assay_status run_infer_node(const struct graph *g, int index, struct array *values, struct node_io *io,
                                 struct assay_error *err);

// What is added to a contraction's result right behind it (Add and Sub, one after the other) and does not need it:
// where its sums may begin. Only values that are the same in every pass: inputs, constants, and what is moved from them
// before the node. None for any other node.
struct run_starts {
  int n;
  struct {
    int value;
    double factor;
  } of[OP_STARTS];
};
void run_find_starts(const struct graph *g, int node, struct run_starts *out);

// The node whose error has a closed form that is the whole graph's: the only one that computes, with an output that is
// the graph's only one. -1: none.
int run_closed_form_node(const struct graph *g);

#endif
