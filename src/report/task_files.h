// SPDX-License-Identifier: Apache-2.0
// The task files of a run's verdicts, found by the names in them and read once.
#ifndef REPORT_TASK_FILES_H
#define REPORT_TASK_FILES_H

#include <jansson.h>

#include "task/task.h"

struct task_file {
  const struct task *task; // NULL: not found
  json_t *kept;            // whatever the caller keeps of it; released with the places. NULL at first
};

// Where to look: those files first, by the name that stands in them, then under the root.
struct task_files_where {
  const char *root;
  const char *const *files;
  int n_files;
};

struct task_files;
struct task_files *task_files_create(const struct task_files_where *where); // `where` must stay; NULL: no memory
void task_files_destroy(struct task_files *p);

// The task of that name; one that is not found is remembered as such. Stays until the next call. NULL: no memory.
struct task_file *task_files_find(struct task_files *p, const char *name);

// A row more of a growing array: `old`, or a larger copy of it. NULL: no memory, and `old` is as it was.
void *task_files_grow(void *old, size_t count, size_t *capacity, size_t size);

#endif
