// SPDX-License-Identifier: Apache-2.0
// The code of a prediction of KernelBench-X's form, which is code or a model's reply with code in it.
#ifndef CLI_PREDICTION_CODE_H
#define CLI_PREDICTION_CODE_H

#include "base/buf.h"

// Appends the code for the task of this name ("gelu"). The suite's harness takes what comes after the first ```python,
// up to the next ```, and knows no other fences. Here it is, of the fenced blocks (model/fence.h) outside of thoughts,
// the first that defines the task's function, kernel_function or ModelNew; where none does, the first of Python, or the
// first. Code that stands before all fences is the code, which a fence at its margin ends; others belong to a
// docstring. End marks and the tests below the suite's line of 146 '#' are left out. Check out->failed.
void prediction_code(const char *reply, const char *name, struct buf *out);

#endif
