// SPDX-License-Identifier: Apache-2.0
#include "tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tally_add(struct tally *t, const char *name, const char *model) {
  int i = 0;
  char key[TALLY_NAME_BYTES];
  snprintf(key, sizeof key, "%s", name);
  while (i < t->n && strcmp(t->rows[i].name, key) != 0)
    i++;
  if (i == TALLY_MAX)
    abort(); // more reasons than there are models
  if (i == t->n) {
    t->n++;
    memcpy(t->rows[i].name, key, sizeof key);
    buf_init(&t->rows[i].examples);
  }
  t->rows[i].count++;
  buf_printf(&t->rows[i].examples, " %s", model);
}

static int by_count(const void *a, const void *b) {
  const struct tally_row *x = a, *y = b;
  return x->count != y->count ? y->count - x->count : strcmp(x->name, y->name);
}

void tally_print(struct tally *t, const char *title, int examples) {
  qsort(t->rows, (size_t)t->n, sizeof *t->rows, by_count);
  if (t->n)
    printf("%s\n", title);
  for (int i = 0; i < t->n; i++)
    if (examples)
      printf("%5d  %s:%s\n", t->rows[i].count, t->rows[i].name, buf_str(&t->rows[i].examples));
    else
      printf("%5d  %s\n", t->rows[i].count, t->rows[i].name);
}

void tally_release(struct tally *t) {
  for (int i = 0; i < t->n; i++)
    buf_release(&t->rows[i].examples);
}
