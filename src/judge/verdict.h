// SPDX-License-Identifier: Apache-2.0
// The strings that a verdict owns.
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include "assay/judge.h"

// Appends what the kernel printed to the diagnostics of the compiler. Without memory the verdict goes without it.
void verdict_add_log(struct assay_verdict *v, const char *log);

// Takes what the worker says of weights from the diagnostics. A detail of a wrong value has room for it, too: a pairing
// that was guessed wrong is what its author has to look at first.
void verdict_take_weights(struct assay_verdict *v);

// Says of a wrong value what the module keeps from call to call, as far as the worker saw it: every call has weights of
// its own, and what was made of earlier ones is wrong then.
void verdict_take_kept(struct assay_verdict *v);

// Says of a wrong value which parameters that are weights the module's __init__ changes in place: weights are given
// after it.
void verdict_take_changed(struct assay_verdict *v);

// Says of errors under the contract fp32 which of PyTorch's switches lets it multiply in TF32, where the candidate is a
// process that the judge sees no kernels of (see verdict_explain_tf32).
void verdict_take_tf32(struct assay_verdict *v, const char *contract);

// Says of a wrong value which normalisations of the module are in evaluation, where the task's take each batch's
// statistics.
void verdict_take_evaluation(struct assay_verdict *v);

// Says of errors under a contract of half precision that the candidate lets PyTorch's products add their parts in 16
// bits, where it does (torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction, which the worker turns off).
void verdict_take_reduced(struct assay_verdict *v, const char *contract);

// Says of errors under the contract fp32 that the kernels multiply in TF32, where their names say so: PyTorch has
// convolutions do that unless it is told not to.
void verdict_explain_tf32(struct assay_verdict *v, const char *contract);

// Says of another class than the answer's (NaN, infinity) that the source of a Python candidate names half precision
// somewhere, under a contract of more range.
void verdict_explain_half(struct assay_verdict *v, const char *contract, const char *source, size_t bytes);

// Makes the strings that the candidate influenced safe to print.
void verdict_make_printable(struct assay_verdict *v);

// Fills the strings that are never NULL in a finished verdict. `weakness` is added to the description of the sandbox.
enum assay_status verdict_fill_strings(struct assay_verdict *v, const char *weakness, struct assay_error *err);

#endif
