// SPDX-License-Identifier: Apache-2.0
// What a candidate drew in earlier calls, of tasks whose numbers are of chance: a call alone cannot show that they
// depend on the seeds, only that they depend on which seeds are alike.
#ifndef JUDGE_DRAWS_H
#define JUDGE_DRAWS_H

#include "judge/question.h"

struct draw_seen {
  const struct layout *layout;
  enum probe probe;
  uint64_t key, hash; // of a row
  int row;
};

struct draws {
  int n, capacity;
  struct draw_seen *seen;
};

// Whether an operator of the task draws numbers for seeds (ops/chance.c).
bool draws_in(const struct task *t);

// Notes the rows that a call wrote. *fault: the same numbers as in a call with other seeds, or other ones than in a
// call with the same; NULL: neither. Rows of a few numbers, which may be alike by chance, are left out.
enum assay_status draws_note(struct draws *d, const struct question *q, const void *const *outputs, const char **fault,
                             struct assay_error *err);
void draws_release(struct draws *d);

#endif
