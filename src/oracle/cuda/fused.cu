// SPDX-License-Identifier: Apache-2.0
// Elementwise nodes in one launch: the truth of an element and all its contract passes, from inputs to the sum of
// deviations, with nothing written to memory in between. A thread takes FUSED_ELEMENTS elements: first what is the same
// in every pass, for all of them at once; then, element by element, what has noise in it, for all passes at once. The
// noise is the same as with one launch for each node and pass (pointwise.cu): it depends on the same key, element and
// number in the node.

#define OVER(v, count)                                                                                                 \
  UNROLL_ALL                                                                                                           \
  for (int v = 0; v < count; v++)

// Long and rarely needed: a call, not inlined.
DEVICE_FN_LARGE double called_fmod(double a, double b) { return fmod(a, b); }
#define fmod(a, b) called_fmod(a, b)

APPLY_SHORT(apply_elements, FUSED_ELEMENTS)
APPLY_SHORT(apply_passes, FUSED_PASSES)

// ---- where elements lie

// As pointwise.cu spreads elements over threads. The first of this thread's.
DEVICE_FN int64_t first_element(int64_t thread) {
  int64_t block = thread / FUSED_NEIGHBOURS;
  return block * (FUSED_NEIGHBOURS * FUSED_ELEMENTS) + (thread - block * FUSED_NEIGHBOURS);
}

DEVICE_FN_LARGE int64_t find_far(const struct fused_args *a, int map, int64_t i) {
  int64_t at = 0;
  for (int d = a->rank - 1; d > 0; d--) {
    int64_t next = i / a->dims[d];
    at += (i - next * a->dims[d]) * a->strides[map][d];
    i = next;
  }
  return at + i * a->strides[map][0];
}

DEVICE_FN int64_t find_mapped(const struct fused_args *a, int map, int64_t i) {
  if (map == 0)
    return i;
  if (!a->small)
    return find_far(a, map, i);
  int64_t at = 0;
  uint32_t rest = (uint32_t)i;
  for (int d = a->rank - 1; d > 0; d--) {
    uint32_t extent = (uint32_t)a->dims[d], next = rest / extent;
    at += (int64_t)(rest - next * extent) * a->strides[map][d];
    rest = next;
  }
  return at + (int64_t)rest * a->strides[map][0];
}

DEVICE_FN_LARGE double load_rare(const struct fused_args *a, int k, int64_t at) {
  if (a->types[k].is_float)
    return read_f64(&a->in[k], at);
  return integer_to_f64(a->types[k].bits, a->types[k].is_unsigned, read_i64(&a->in[k], at));
}

DEVICE_FN double load(const struct fused_args *a, int k, int64_t i) {
  int64_t at = find_mapped(a, a->in_maps[k], i);
  if (a->in[k].storage == STORAGE_F32)
    return (double)((const float *)a->in[k].data)[at];
  return load_rare(a, k, at);
}

// ---- what is the same in every pass

DEVICE_FN void run_scalar(const struct fused_args *a, double (*scalars)[FUSED_ELEMENTS]) {
  double v[FUSED_ELEMENTS];
  OVER(e, FUSED_ELEMENTS) v[e] = 0;
  for (int step = 0; step < a->n_scalar; step++) {
    const struct fused_code *in = &a->code[step];
    double from[3][FUSED_ELEMENTS];
    OVER(k, 3) {
      int kind = in->kind[k], index = in->index[k];
      if (kind == FUSED_LAST) {
        OVER(e, FUSED_ELEMENTS) from[k][e] = v[e];
      } else if (kind == FUSED_SCALAR) {
        OVER(e, FUSED_ELEMENTS) from[k][e] = scalars[index][e];
      } else {
        OVER(e, FUSED_ELEMENTS) from[k][e] = a->constants[index];
      }
    }
    if (!apply_elements(in->operation, from[0], from[1], from[2], v)) {
      OVER(e, FUSED_ELEMENTS) v[e] = apply_long(in->operation, from[0][e], from[1][e]);
    }
    if (in->target != FUSED_NOWHERE) {
      OVER(e, FUSED_ELEMENTS) scalars[in->target][e] = v[e];
    }
  }
}

// ---- errors

DEVICE_FN uint32_t upper_word(double x) { return (uint32_t)(F64_BITS(x) >> 32) & 0x7fffffff; }

// Number `draw` of a source that noise_at began.
DEVICE_FN uint64_t noise_number(uint64_t state, int draw) {
  return rng_mix64(state + (uint64_t)draw * 0x9E3779B97F4A7C15u);
}

DEVICE_FN_LARGE double rare_rounding(const struct fused_args *a, uint64_t state, int draw, double x) {
  struct rounder r = arith_rounder(&a->arith);
  return rounder_apply(&r, noise_number(state, draw), x);
}

DEVICE_FN_LARGE double rare_library(const struct fused_args *a, int error, uint64_t state, int draw, double x) {
  struct rounder r = arith_rounder(&a->arith);
  struct noise n;
  n.state = state + (uint64_t)draw * 0x9E3779B97F4A7C15u;
  n.flip = 0; // passes of such graphs are not mirrored
  return rounder_apply_ulps(&r, &n, x, library_ulps_of(error, &r, x));
}

// What add_error of pointwise.cu does, ordinary numbers first; the others, which are few, one by one.
DEVICE_FN void add_errors(const struct fused_args *a, const struct fused_code *in, const uint64_t *state, double *v) {
  uint64_t mask = ((uint64_t)1 << (53 - (a->arith.bits < 52 ? a->arith.bits : 52))) - 1;
  uint32_t rare = 0;
  if (in->error == ERROR_ROUNDED) {
    OVER(p, FUSED_PASSES) {
      uint64_t random = noise_number(state[p], in->draw), bits = F64_BITS(v[p]);
      int ordinary = upper_word(v[p]) - a->low < a->span;
      rare |= (uint32_t)(!ordinary && v[p] != 0) << p;
      v[p] = ordinary ? F64_OF_BITS((bits + (random & mask)) & ~mask) : v[p];
    }
    if (rare) {
      OVER(p, FUSED_PASSES) {
        if (rare >> p & 1)
          v[p] = rare_rounding(a, state[p], in->draw, v[p]);
      }
    }
    return;
  }
  OVER(p, FUSED_PASSES) {
    double x = v[p];
    double ulp = a->ratio * F64_OF_BITS(F64_BITS(x) & 0x7ff0000000000000u);
    double y = x + (2 * rng_unit(noise_number(state[p], in->draw)) - 1) * library_ulps(in->error, x) * ulp;
    int ordinary = upper_word(x) - a->low < a->span && upper_word(y) - a->low < a->span;
    rare |= (uint32_t)(!ordinary && x != 0) << p;
    v[p] = ordinary ? y : x;
  }
  if (rare) {
    OVER(p, FUSED_PASSES) {
      if (rare >> p & 1)
        v[p] = rare_library(a, in->error, state[p], in->draw, v[p]);
    }
  }
  if (in->error == ERROR_BOUNDED) {
    OVER(p, FUSED_PASSES) v[p] = arith_reflect(v[p]);
  }
}

// ---- passes

// Functions of the library, one pass after the other: x becomes the result.
DEVICE_FN_LARGE void apply_library(int operation, double *x, const double *y) {
  UNROLL_NONE
  for (int p = 0; p < FUSED_PASSES; p++)
    x[p] = apply_long(operation, x[p], y[p]);
}

DEVICE_FN void apply_all(int operation, const double *x, const double *y, const double *z, double *v) {
  if (operation == FUSED_ROUND) {
    OVER(p, FUSED_PASSES) v[p] = x[p];
  } else if (!apply_passes(operation, x, y, z, v)) {
    double in_memory[2][FUSED_PASSES];
    OVER(p, FUSED_PASSES) in_memory[0][p] = x[p];
    OVER(p, FUSED_PASSES) in_memory[1][p] = y[p];
    apply_library(operation, in_memory[0], in_memory[1]);
    OVER(p, FUSED_PASSES) v[p] = in_memory[0][p];
  }
}

DEVICE_FN double scalar_of(const struct fused_args *a, double (*scalars)[FUSED_ELEMENTS], int e, int kind, int index) {
  return kind == FUSED_SCALAR ? scalars[index][e] : a->constants[index];
}

// All passes of element i, the thread's number e.
DEVICE_FN void run_passes(const struct fused_args *a, double (*scalars)[FUSED_ELEMENTS], int e, int64_t i, double *v) {
  double vectors[FUSED_VECTORS][FUSED_PASSES];
  uint64_t state[FUSED_PASSES];
  int key = -1;
  OVER(p, FUSED_PASSES) v[p] = 0;
  OVER(p, FUSED_PASSES) state[p] = 0;
  for (int step = a->n_scalar; step < a->n_instructions; step++) {
    const struct fused_code *in = &a->code[step];
    double from[3][FUSED_PASSES];
    OVER(k, 3) {
      int kind = in->kind[k], index = in->index[k];
      if (kind == FUSED_LAST) {
        OVER(p, FUSED_PASSES) from[k][p] = v[p];
      } else if (kind == FUSED_VECTOR) {
        OVER(p, FUSED_PASSES) from[k][p] = vectors[index][p];
      } else {
        double same = scalar_of(a, scalars, e, kind, index);
        OVER(p, FUSED_PASSES) from[k][p] = same;
      }
    }
    apply_all(in->operation, from[0], from[1], from[2], v);
    if (in->error != ERROR_EXACT) {
      if (in->key != key) {
        key = in->key;
        uint64_t at = (uint64_t)find_mapped(a, a->key_maps[key], i);
        OVER(p, FUSED_PASSES) state[p] = noise_at(a->keys[key][p], at).state;
      }
      add_errors(a, in, state, v);
    }
    if (in->target != FUSED_NOWHERE) {
      OVER(p, FUSED_PASSES) vectors[in->target][p] = v[p];
    }
  }
  if (a->pass_kind == FUSED_VECTOR) {
    OVER(p, FUSED_PASSES) v[p] = vectors[a->pass_index][p];
  } else if (a->pass_kind != FUSED_LAST) {
    OVER(p, FUSED_PASSES) v[p] = scalar_of(a, scalars, e, a->pass_kind, a->pass_index);
  }
}

// ---- the kernel

DEVICE_FN void store_truth(const struct fused_args *a, int64_t i, double y) {
  if (a->is_float)
    ((double *)a->y)[i] = y;
  else
    ((int64_t *)a->y)[i] = y != 0;
  // Where all passes are the same there is the rounding of the result.
  if (a->sigma)
    ((float *)a->sigma)[i] = IS_FINITE(y) ? (float)sqrt(rounding_variance(a->unit, y)) : 0;
}

KERNEL(fused, struct fused_args) {
  int64_t i = first_element(THREAD);
  if (i >= a->n)
    return;
  double scalars[FUSED_SCALARS][FUSED_ELEMENTS], v[FUSED_PASSES];
  uint32_t broken = 0;
  for (int k = 0; k < a->n_in; k++) {
    OVER(e, FUSED_ELEMENTS) {
      int64_t at = i + e * FUSED_NEIGHBOURS;
      scalars[k][e] = load(a, k, at < a->n ? at : i);
    }
  }
  run_scalar(a, scalars);
  UNROLL_NONE
  for (int e = 0; e < FUSED_ELEMENTS && i < a->n; e++, i += FUSED_NEIGHBOURS) {
    double y = scalar_of(a, scalars, e, a->truth_kind, a->truth_index);
    if (a->first)
      store_truth(a, i, y);
    if (!a->sum)
      continue;
    run_passes(a, scalars, e, i, v);
    float sum = a->first ? 0 : ((const float *)a->sum)[i];
    OVER(p, FUSED_PASSES) {
      if (p < a->passes)
        sum = add_deviation(sum, y, v[p], 1, a->output_max, &broken);
    }
    ((float *)a->sum)[i] = sum;
  }
  if (broken)
    ATOMIC_OR_U32((uint32_t *)a->broken, 1);
}
