// SPDX-License-Identifier: Apache-2.0
#include "report/task_files.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct row {
  char name[128];
  struct task task;
  struct task_file place;
};

struct task_files {
  const struct task_files_where *where;
  struct row **rows;
  size_t n, capacity;
};

struct task_files *task_files_create(const struct task_files_where *where) {
  struct task_files *p = base_calloc(1, sizeof *p);
  if (p)
    p->where = where;
  return p;
}

void task_files_destroy(struct task_files *p) {
  for (size_t i = 0; p && i < p->n; i++) {
    json_decref(p->rows[i]->place.kept);
    if (p->rows[i]->place.task)
      task_release(&p->rows[i]->task);
    base_free(p->rows[i]);
  }
  if (p)
    base_free(p->rows);
  base_free(p);
}

void *task_files_grow(void *old, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity)
    return old;
  const size_t more = *capacity ? 2 * *capacity : 16;
  void *made = base_realloc(old, more * size);
  *capacity = made ? more : *capacity;
  return made;
}

static void read_row(struct row *r, const char *path) {
  struct assay_error ignored = {0};
  if (r->place.task || task_read(path, false, &r->task, &ignored) != ASSAY_OK)
    return;
  if (strcmp(r->task.name, r->name) == 0)
    r->place.task = &r->task;
  else
    task_release(&r->task);
}

struct task_file *task_files_find(struct task_files *p, const char *name) {
  for (size_t i = 0; i < p->n; i++)
    if (strcmp(p->rows[i]->name, name) == 0)
      return &p->rows[i]->place;
  void *more = task_files_grow(p->rows, p->n, &p->capacity, sizeof *p->rows);
  struct row *r = more ? base_calloc(1, sizeof *r) : NULL;
  p->rows = more ? more : p->rows;
  if (!r)
    return NULL;
  p->rows[p->n++] = r;
  snprintf(r->name, sizeof r->name, "%s", name);
  for (int i = 0; i < p->where->n_files; i++)
    read_row(r, p->where->files[i]);
  char *path = NULL;
  struct assay_error ignored = {0};
  if (!r->place.task && task_find(p->where->root, name, &path, &ignored) == ASSAY_OK)
    read_row(r, path);
  base_free(path);
  return &r->place;
}
