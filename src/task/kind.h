// SPDX-License-Identifier: Apache-2.0
// What kind of computation a task is, for views of many tasks.
#ifndef TASK_KIND_H
#define TASK_KIND_H

#include "task/task.h"

// The kind of the operator that a kernel for the task is about: "matmul", "convolution", "attention", "rnn",
// "normalization", "softmax", "pooling", "loss", "scan", "reduction", "activation", "elementwise", ... It is that of
// the graph's greatest operator: a matrix product with an activation is a matmul. What the graph writes out in simple
// operators (a norm, a loss) is told by the task's title or file.
const char *task_kind(const struct task *t);

// The published suite's own category of a task of this name: the folder of KernelBench-X ("Reduce"), the level of
// KernelBench ("single operator", "fusion", "architecture"). In `text`; "" where the suite has none.
enum { TASK_CATEGORY_BYTES = 64 };
const char *task_category(const char *name, char text[TASK_CATEGORY_BYTES]);

#endif
