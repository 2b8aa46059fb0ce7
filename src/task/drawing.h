// SPDX-License-Identifier: Apache-2.0
// Private to src/task: a draw with all its parameters known, used by the CPU's code and the device's.
#ifndef TASK_DRAWING_H
#define TASK_DRAWING_H

#include "task/distribution.h"

// The streams of one input: which kind of Philox words.
enum {
  STREAM_VALUE = 0,
  STREAM_SECOND = 1,
  STREAM_SCALE = 2,
  STREAM_ROW = 3,
  STREAM_SPECIAL = 4,
  STREAM_STRIPES = 5,
  STREAM_OPPOSED = 6,
  STREAM_SPREAD = 7,
  STREAM_PERMUTED = 8
};

// The elements whose index along a dimension is `index`. Consecutive ones along it lie `stride` apart.
struct stripe {
  int64_t stride, extent, index;
};

// A request resolved: which base distribution, with which parameters, times what.
struct drawing {
  const struct draw_request *r;
  enum distribution_kind kind;
  double a, b, scale;
  bool scaled, row_scales, matrices; // matrices: a modifier looks at an element's place in its matrix
  enum fold fold;                    // FOLD_NONE for the declared distribution
  bool striped;                      // other elements than these are as declared, and not folded
  struct stripe stripes[SHAPE_MAX_RANK];
  int n_stripes;
  double stripes_factor;
  int64_t columns, rows;            // the last two extents (1 where the tensor has fewer dimensions)
  int64_t inner;                    // elements for each step along the first dimension
  int64_t row;                      // consecutive elements that share a factor of row_scales
  int64_t factors;                  // so many there are
  const struct draw_scales *scales; // as in the request, where they apply; NULL: none
  int64_t first, count;             // the elements wanted
  void *dst;                        // where `first` goes
};
void drawing_resolve(const struct draw_request *r, struct drawing *out);

double drawing_power(double t); // near 2^t, made without a power

// The elements that PROBE_SPECIAL replaces. False: the request takes none.
enum { N_SPECIAL = 3 };
bool drawing_special(const struct drawing *d, int64_t at[N_SPECIAL], double values[N_SPECIAL]);

struct task;
struct workload;
struct array;

// What PROBE_OPPOSED scales in a draw with this key: for each input, in the arena. `inputs` have shapes.
enum assay_status task_oppose(const struct task *t, const struct array *inputs, uint64_t key, struct arena *arena,
                              struct draw_scales **out, struct assay_error *err);

// What PROBE_SMALL_SPREAD does: weights that decide how large a normalisation's variance is, and what it draws where
// the epsilon is far below 10^-5.
enum assay_status task_spread(const struct task *t, uint64_t key, struct arena *arena, struct draw_scales **out,
                              struct assay_error *err);

// A draw of all inputs of a task under a workload: their shapes, and what is scaled (NULL: nothing). In the arena.
struct draw_plan {
  const struct task *t;
  const struct workload *w;
  enum probe probe;
  uint64_t key;
  struct array *inputs;
  struct draw_scales *scales;
};
enum assay_status draw_plan_make(const struct task *t, const struct workload *w, enum probe probe, uint64_t key,
                                 struct arena *arena, struct draw_plan *out, struct assay_error *err);

// The request for input i of it; the plan stays.
struct draw_request draw_plan_request(const struct draw_plan *p, int i);

// The same without scales. `inputs` have shapes.
struct draw_request task_draw_request(const struct task *t, const struct workload *w, const struct array *inputs, int i,
                                      enum probe probe, uint64_t key);

#endif
