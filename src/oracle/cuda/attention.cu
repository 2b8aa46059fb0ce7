// SPDX-License-Identifier: Apache-2.0
// What stands between the two products of attention, as ops/attention.c.

struct attention_place {
  int64_t batch, head, query, key; // batch and head of the whole tensor
};

DEVICE_FN struct attention_place attention_at(const struct attention_args *a, int64_t row, int64_t key) {
  struct attention_place p;
  int64_t head = row / a->queries, batch = head / a->heads;
  p.query = row - head * a->queries;
  p.head = a->first_head + head - batch * a->heads;
  p.batch = a->first_batch + batch;
  p.key = key;
  return p;
}

DEVICE_FN int attention_visible(const struct attention_args *a, const struct attention_place *p) {
  int64_t length = a->lengths.data ? read_i64(&a->lengths, p->batch) : a->keys;
  int64_t offset = a->past >= 0 ? a->past : a->lengths.data ? length - a->queries : 0;
  int64_t at = p->query + offset;
  return (!a->causal || p->key <= at) && (a->left < 0 || at - p->key <= a->left) &&
         (a->right < 0 || p->key - at <= a->right) && p->key < length;
}

DEVICE_FN double attention_bias(const struct attention_args *a, const struct attention_place *p) {
  if (!attention_visible(a, p) || (a->mask.data && p->key >= a->mask_length))
    return -F64_INFINITY;
  if (!a->mask.data)
    return 0;
  const int64_t *s = a->mask_strides;
  int64_t at = p->batch * s[0] + p->head * s[1] + p->query * s[2] + p->key * s[3];
  if (storage_is_float(a->mask.storage))
    return read_f64(&a->mask, at);
  return read_i64(&a->mask, at) ? 0 : -F64_INFINITY;
}

DEVICE_FN void attention_expose(const struct attention_args *a, const struct attention_place *p, int mode, double y) {
  if (a->exposed && a->exposed_mode == mode)
    ((double *)a->exposed)[((p->batch * a->all_heads + p->head) * a->queries + p->query) * a->keys + p->key] = y;
}

// Products that were stored become scaled scores; others are scaled where they are made.
KERNEL(attention_scale, struct attention_args) {
  int64_t i = THREAD;
  if (i >= a->batches * a->heads * a->queries * a->keys)
    return;
  struct noise n = noise_at(a->arith.key, (uint64_t)~i);
  double *y = (double *)a->scores;
  y[i] = arith_round(&a->arith, &n, y[i] * a->scale);
}

// Scaled scores become capped and masked ones.
KERNEL(attention_scores, struct attention_args) {
  int64_t i = THREAD;
  if (i >= a->batches * a->heads * a->queries * a->keys)
    return;
  int64_t row = i / a->keys;
  struct attention_place p = attention_at(a, row, i - row * a->keys);
  struct noise n = noise_at(a->arith.key, (uint64_t)i);
  double y = ((const double *)a->scores)[i];
  attention_expose(a, &p, 0, y);
  if (a->softcap > 0) {
    y = tanh(arith_round(&a->arith, &n, y / a->softcap));
    y = arith_round(&a->arith, &n, arith_round_ulps(&a->arith, &n, y, 2) * a->softcap);
  }
  attention_expose(a, &p, 1, y);
  double bias = attention_bias(a, &p);
  if (bias != 0)
    y = arith_round(&a->arith, &n, y + bias);
  attention_expose(a, &p, 2, y);
  ((double *)a->scores)[i] = y;
}

// A row whose bias hides every key becomes zeros. One thread a row: it stops at the first key that is open.
KERNEL(attention_hidden, struct attention_args) {
  int64_t row = THREAD;
  if (row >= a->batches * a->heads * a->queries)
    return;
  for (int64_t k = 0; k < a->keys; k++) {
    struct attention_place p = attention_at(a, row, k);
    if (attention_bias(a, &p) > -F64_INFINITY)
      return;
  }
  for (int64_t k = 0; k < a->keys; k++)
    ((double *)a->scores)[row * a->keys + k] = 0;
}

DEVICE_FN double attention_factor(const struct attention_args *a, int64_t i) {
  struct noise n = noise_at(a->arith.key, (uint64_t)(i / a->keys));
  return 0.5 + 0.5 * rng_unit(noise_next(&n));
}

KERNEL(attention_stretch, struct attention_args) {
  int64_t i = THREAD;
  if (i < a->batches * a->heads * a->queries * a->keys)
    ((double *)a->scores)[i] *= attention_factor(a, i);
}

KERNEL(attention_shrink, struct attention_args) {
  int64_t i = THREAD;
  if (i < a->batches * a->heads * a->queries * a->keys)
    ((double *)a->scores)[i] /= attention_factor(a, i);
}

KERNEL(attention_weights, struct attention_args) {
  int64_t i = THREAD;
  if (i >= a->batches * a->heads * a->queries * a->keys)
    return;
  int64_t row = i / a->keys;
  struct attention_place p = attention_at(a, row, i - row * a->keys);
  attention_expose(a, &p, 3, ((const double *)a->scores)[i]);
}
