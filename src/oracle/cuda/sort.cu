// SPDX-License-Identifier: Apache-2.0
// Sorting pairs by key, and by value where keys are equal: Batcher's bitonic network (1968), a launch for each of its
// steps. All values of a row are different, so the order is one only.

KERNEL(sort_step, struct sort_args) {
  int64_t t = THREAD;
  if (t >= a->pairs)
    return;
  int64_t low = (t & ~(a->apart - 1)) * 2 + (t & (a->apart - 1)), high = low + a->apart;
  int up = (low & (a->padded - 1) & a->run) == 0;
  uint64_t *keys = (uint64_t *)a->keys;
  int64_t *values = (int64_t *)a->values;
  uint64_t kl = keys[low], kh = keys[high];
  int64_t vl = values[low], vh = values[high];
  int greater = kl > kh || (kl == kh && vl > vh);
  if (greater == up) {
    keys[low] = kh;
    keys[high] = kl;
    values[low] = vh;
    values[high] = vl;
  }
}
