// SPDX-License-Identifier: Apache-2.0
#include "runner/glance.h"

#include <string.h>

#include "base/rng.h"

static uint32_t word_at(const unsigned char *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

void glance_take(struct glance *g, const struct buffer *outputs, int n_out, uint64_t seed) {
  g->n = 0;
  for (int i = 0; i < GLANCE_SPOTS && n_out > 0; i++) {
    const struct buffer *b = &outputs[i % n_out];
    size_t words = b->data_bytes / sizeof(uint32_t);
    if (words == 0)
      continue; // fewer than four bytes: too little work to hide
    const unsigned char *at = b->map + b->offset + rng_derive(seed, (uint64_t)i) % words * sizeof(uint32_t);
    g->spots[g->n].at = at;
    g->spots[g->n++].seen = word_at(at);
  }
}

bool glance_holds(const struct glance *g) {
  for (int i = 0; i < g->n; i++)
    if (word_at(g->spots[i].at) != g->spots[i].seen)
      return false;
  return true;
}
