// SPDX-License-Identifier: Apache-2.0
// Counting by name: which operators are not covered, and by how many models.
#ifndef CONFORMANCE_TALLY_H
#define CONFORMANCE_TALLY_H

#include "base/buf.h"

enum { TALLY_MAX = 1024, TALLY_NAME_BYTES = 160 };

struct tally_row {
  char name[TALLY_NAME_BYTES];
  int count;
  struct buf examples; // names of the models
};

struct tally {
  struct tally_row rows[TALLY_MAX];
  int n;
};

void tally_add(struct tally *t, const char *name, const char *model);
// Largest counts first; with the models' names when `examples`.
void tally_print(struct tally *t, const char *title, int examples);
void tally_release(struct tally *t);

#endif
