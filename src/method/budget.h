// SPDX-License-Identifier: Apache-2.0
// Private to src/method: budgets. What is reserved before a request is sent is what it may cost at most.
#ifndef METHOD_BUDGET_H
#define METHOD_BUDGET_H

#include "method/making.h"

// What the run's earlier processes have used up.
enum assay_status budget_recall(struct engine *e, struct assay_error *err);
// The cap on the tokens of a step's reply.
int64_t budget_cap(const struct engine *e, const struct pending *p);
// Where a budget counts on it, what a program may print at most, which knows nothing of the cap; 0: as long as any
// reply.
size_t budget_most_bytes(const struct engine *e, const struct pending *p);
// What the request may cost at most: tokens of the prompt, of prompt and reply, and dollars; 0 where the price is not
// known.
int64_t budget_input(const struct pending *p);
int64_t budget_tokens(const struct engine *e, const struct pending *p);
double budget_usd(const struct engine *e, const struct pending *p);
// What a request of unknown cost may have cost at most, to a budget; 0 where the price is not known either.
double budget_at_most_usd(const struct engine_model *to, int64_t input, int64_t output, int64_t calls);
// Takes a call of the budget where one more request may be sent now. Where only what is under way may be too much, it
// may cost less than it may at most: that is waited for. Else the run ends.
bool budget_takes(struct engine *e, const struct pending *p);

#endif
