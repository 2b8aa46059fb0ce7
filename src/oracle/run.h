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

// Contract pass `k`. The first half of `replicas` passes computes as the contract says. The others are wide: their
// errors are 128 times as large (32 times where factors are rounded), and their deviations count that much less. They
// show what a kink hides from the first: where ReLU made zero of -1 and errors are 2, some honest kernel ends above
// zero, and all passes may have ended below. Two wide passes have opposite errors each, so that one of them crosses a
// kink that lies within a few errors. There are none where `replicas` is below 4.
struct run_pass {
  struct arith arith;
  bool wide;
  double part; // what its deviations count
};
struct run_pass run_pass(const struct arith *contract, int k, int replicas);

// How many passes it takes, and run_pass is to be told of, where a node with a kink comes after one that adds: more
// than `replicas`, because two passes of opposite errors tell less of their size than two of different ones, and
// because an element that a clamp left alone among zeros has no neighbours to tell of it (an honest kernel failed at 4
// of 2e9 elements of KernelBench's 2/2 with 8 passes, half of them wide). 0 where there is none: `replicas` it is. The
// same on every machine.
int run_wide_replicas(const struct graph *g, int replicas);

// The node whose error has a closed form that is the whole graph's: the only one that computes, with an output that is
// the graph's only one. -1: none.
int run_closed_form_node(const struct graph *g);

#endif
