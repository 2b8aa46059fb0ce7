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

// How many rows of a call are noted: those of floating outputs [rows, n] but where they are of a few numbers, which may
// be alike by chance.
bool draws_is_noted(const struct tensor_type *output);
int64_t draws_rows(const struct layout *l);

// A hash for each of them, of outputs in the host's memory. A row's is made of those of its blocks (draws_join), so
// that a device can make these side by side.
#define DRAWS_BLOCK_BYTES 4096
void draws_hash(const struct layout *l, const void *const *outputs, uint64_t *rows);
int64_t draws_blocks(int64_t row_bytes);
uint64_t draws_join(int64_t row_bytes, const uint64_t *blocks);

// Notes the rows that a call wrote. *fault: the same numbers as in a call with other seeds, or other ones than in a
// call with the same; NULL: neither.
enum assay_status draws_note(struct draws *d, const struct question *q, const uint64_t *rows, const char **fault,
                             struct assay_error *err);
void draws_release(struct draws *d);

#endif
