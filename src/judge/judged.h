// SPDX-License-Identifier: Apache-2.0
// What is compared with the oracle's answer: a candidate's outputs, or what the task's check makes of them.
#ifndef JUDGE_JUDGED_H
#define JUDGE_JUDGED_H

#include "judge/question.h"

struct judged {
  int n;
  const void *const *got; // bytes of the answer's types
  void **own;             // of a check; NULL: `got` are the outputs themselves
  int64_t unwritten;      // elements of the outputs that still hold the poison, counted where there is a check
};

// outputs: the bytes of each output. What a check cannot take at all becomes values none of which is the answer's.
enum assay_status judged_make(const struct task *t, const struct question *q, const void *const *outputs,
                              uint32_t poison, int threads, struct judged *out, struct assay_error *err);
void judged_release(struct judged *j);

#endif
