// SPDX-License-Identifier: Apache-2.0
// Within src/site: what a task's page says of the task itself.
#ifndef SITE_TASK_PARTS_H
#define SITE_TASK_PARTS_H

#include "site/frame.h"
#include "task/task.h"

// Its graph as a picture, twice: for wide and narrow screens.
void task_put_graph(struct html *w, const struct task *t);

// Graph, workloads, lint and an equivalent PyTorch module, read from the task's file; a sentence where there is none.
void task_put_parts(struct html *w, const struct site_task *task);

#endif
