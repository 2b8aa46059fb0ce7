// SPDX-License-Identifier: Apache-2.0
// The oracle's answers, kept from one judgement to the next (assay/judge.h: struct assay_answers).
#ifndef JUDGE_ANSWERS_H
#define JUDGE_ANSWERS_H

#include "judge/question.h"

// Fills q->answer with a copy of the answer to the same question of the same task, by as many passes; false: there is
// none, or no memory for the copy. Any thread.
bool answers_find(struct assay_answers *a, const struct task *t, struct question *q, int replicas);

// Keeps a copy of q->answer; without memory for it nothing is kept. Any thread.
void answers_keep(struct assay_answers *a, const struct task *t, const struct question *q, int replicas);

#endif
