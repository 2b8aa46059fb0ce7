// SPDX-License-Identifier: Apache-2.0
// What somebody who mistyped a name may have meant.
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

// Of a list that is gone through name by name. Zero at first; `word` is borrowed.
struct nearest {
  const char *word, *name; // name: the nearest so far, borrowed; NULL: none is near
  int distance;
};
// The first of equally near names stays.
void nearest_offer(struct nearest *n, const char *name);

// The letters to change, insert, leave out or swap with their neighbour to get from a to b, whatever their case
// (optimal string alignment). `most` or more: `most`.
int nearest_distance(const char *a, const char *b, int most);

// "; did you mean NAME?" where one is near, else "". Returns `text`.
const char *nearest_text(const struct nearest *n, char *text, size_t size);

#endif
