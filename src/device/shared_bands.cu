// SPDX-License-Identifier: Apache-2.0
// Whether the bands around a buffer still hold their pattern.
KERNEL(count_damage, struct bands_args) {
  int64_t i = THREAD;
  int damaged = 0;
  if (i < a->front_words)
    damaged = ((const uint32_t *)a->base)[i] != a->pattern;
  if (i < a->behind) {
    int64_t at = a->end + i;
    damaged |= ((const uint8_t *)a->base)[at] != (uint8_t)(a->pattern >> (8 * (int)(at & 3)));
  }
  if (damaged)
    ATOMIC_OR_U32((uint32_t *)a->result, 1u);
}
