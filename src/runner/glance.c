// SPDX-License-Identifier: Apache-2.0
#include "runner/glance.h"

#include <string.h>

#include "base/rng.h"

static uint32_t word_at(const unsigned char *p, size_t bytes) {
  uint32_t word = 0;
  memcpy(&word, p, bytes);
  return word;
}

void glance_take(struct glance *g, const struct buffer *outputs, int n_out, uint64_t seed) {
  g->n = 0;
  for (int i = 0; i < GLANCE_SPOTS && n_out > 0; i++) {
    const struct buffer *b = &outputs[i % n_out];
    size_t bytes = b->data_bytes < sizeof(uint32_t) ? b->data_bytes : sizeof(uint32_t);
    if (bytes == 0)
      continue;
    // Any byte may be the first, so that the last ones are seen, too.
    const unsigned char *at = b->map + b->offset + rng_derive(seed, (uint64_t)i) % (b->data_bytes - bytes + 1);
    g->spots[g->n].at = at;
    g->spots[g->n].bytes = (unsigned char)bytes;
    g->spots[g->n++].seen = word_at(at, bytes);
  }
}

bool glance_holds(const struct glance *g) {
  for (int i = 0; i < g->n; i++)
    if (word_at(g->spots[i].at, g->spots[i].bytes) != g->spots[i].seen)
      return false;
  return true;
}
