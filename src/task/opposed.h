// SPDX-License-Identifier: Apache-2.0
// Private to src/task: what PROBE_OPPOSED scales, found for the shapes of one draw (opposed.c, opposed_back.c).
#ifndef TASK_OPPOSED_H
#define TASK_OPPOSED_H

#include "task/task.h"

// A dimension of a value on its way back to the inputs, each of its indices with the number of a factor. Numbers that
// were united are one factor; OPPOSED_ONE: none, the factor is 1.
enum { OPPOSED_ONE = 0 };
struct opposed_place {
  int value, axis;
  const int32_t *numbers;
  int sign;      // -1: the inverse factors
  bool computed; // what was scaled is more than this value in another order
  bool shared;   // others than who is on the way use it
};

// A place that is an input's.
struct opposed_end {
  int input, axis, sign;
  const int32_t *numbers;
};

struct opposing {
  const struct task *t;
  const struct array *values; // all shapes
  struct arena *arena;
  uint64_t key;
  int *users;               // of each value: nodes that look at its elements, and the graph's outputs
  int32_t *united;          // by number: one of a lower number, or itself
  int32_t n_numbers, first; // numbers from `first` on are those of the product that is looked at
  size_t capacity, n_ends, capacity_ends;
  struct opposed_end *ends; // of that product
  int reach;                // at most, of that product
  int *used;                // of each input: how far exponents reach already
  double **factors;         // of input i along axis k, at i * SHAPE_MAX_RANK + k; NULL: none; 0: none of this index
  bool no_memory;
};

// Ends and unions so far, of the product that is looked at.
struct opposed_mark {
  size_t n_ends;
  int32_t *united;
};
bool opposed_mark(struct opposing *o, struct opposed_mark *out); // false: no memory
void opposed_restore(struct opposing *o, const struct opposed_mark *m);

void *opposed_calloc(struct opposing *o, int64_t n, size_t size); // in the arena; NULL: no memory
void opposed_unite(struct opposing *o, int32_t a, int32_t b);

static inline int64_t opposed_extent(const struct opposing *o, int value, int axis) {
  return o->values[value].shape.dims[axis];
}

// Follows it back to inputs, which are added to o->ends. False: something on the way cannot be scaled; ends and unions
// are as they were.
bool opposed_follow(struct opposing *o, struct opposed_place p);

// The same for the inputs of the node that made it.
bool opposed_step_back(struct opposing *o, const struct node *n, struct opposed_place p);

#endif
