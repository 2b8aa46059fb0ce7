// SPDX-License-Identifier: Apache-2.0
// What the judge looks for in a candidate's outputs besides their values.

KERNEL(judged_count, struct judged_count_args) {
  int64_t thread = THREAD;
  if (thread >= a->threads)
    return;
  uint64_t count = 0;
  for (int64_t i = thread; i < a->n; i += a->threads)
    count += ((const uint32_t *)a->words)[i] == a->poison;
  if (count > 0)
    ATOMIC_ADD_U64((uint64_t *)a->count, count);
}

DEVICE_FN uint64_t judged_unit(const struct judged_hash_args *a, int64_t at) {
  if (a->unit == 1)
    return ((const uint8_t *)a->data)[at];
  if (a->unit == 2)
    return ((const uint16_t *)a->data)[at / 2];
  if (a->unit == 4)
    return ((const uint32_t *)a->data)[at / 4];
  return ((const uint64_t *)a->data)[at / 8];
}

// As in draws.c: words of 8 bytes, the last one filled up with zeros.
KERNEL(judged_hash, struct judged_hash_args) {
  int64_t row = THREAD / a->blocks, block = THREAD - row * a->blocks;
  if (row >= a->rows)
    return;
  int64_t left = a->row_bytes - block * a->block_bytes, begin = row * a->row_bytes + block * a->block_bytes;
  int64_t n = left < a->block_bytes ? left : a->block_bytes;
  uint64_t hash = (uint64_t)n;
  for (int64_t i = 0; i < n; i += 8) {
    uint64_t word = 0;
    for (int64_t k = 0; k < 8 && i + k < n; k += a->unit)
      word |= judged_unit(a, begin + i + k) << (8 * (int)k);
    hash = rng_mix64(hash ^ word);
  }
  ((uint64_t *)a->hashes)[row * a->blocks + block] = hash;
}
