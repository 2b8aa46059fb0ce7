// SPDX-License-Identifier: Apache-2.0
// Questions whose answer is too large to be held: it is made and compared a slab at a time, some members of the batch,
// where the task's graph keeps them apart (oracle/apart.h). The facts are bit for bit those of the whole answer, but
// for the hint, which is made from one slab.
#ifndef JUDGE_SLABS_H
#define JUDGE_SLABS_H

#include "judge/question.h"

// Chooses how many members of the batch are in a slab (layout.slab), so that a judgement needs at most so many bytes.
// layout.slab stays 0 where the graph does not allow it, or slabs of the least size need more. (Slabs are not shorter
// than they must be where most of their work would be at their ends.)
enum assay_status slabs_choose(const struct task *t, struct layout *l, const struct assay_judge_options *o,
                               int64_t budget_bytes, struct assay_error *err);

// What a judgement with slabs of the least size needs; 0: the graph does not allow slabs.
enum assay_status slabs_least_bytes(const struct task *t, const struct layout *l, const struct assay_judge_options *o,
                                    int64_t *bytes, struct assay_error *err);

// As question_check, for a question of a layout with slabs, whose answer is made here. checks[i].skipped is set where
// question_is_asked would be false for the whole answer. `replicas`: passes for the error scale.
struct slabs_call {
  const void *const *outputs;
  uint32_t poison;
  const struct assay_judge_options *o;
  int replicas;
};
enum assay_status slabs_check(const struct task *t, const struct question *q, const struct slabs_call *call,
                              struct assay_check *checks, struct assay_error *err);

#endif
