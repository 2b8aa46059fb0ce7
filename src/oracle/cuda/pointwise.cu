// SPDX-License-Identifier: Apache-2.0
// The interpreter of elementwise expressions: a thread decodes an instruction once for four elements.

#define OPERAND_INPUT 0
#define OPERAND_TEMPORARY 1
#define OPERAND_CONSTANT 2
#define OPERAND_LAST 3 // the result of the instruction before

#define LANES(v)                                                                                                       \
  UNROLL_ALL                                                                                                           \
  for (int v = 0; v < POINTWISE_LANES; v++)

APPLY_SHORT(apply_short, POINTWISE_LANES)

// The results, and what kind of error they have.
DEVICE_FN int apply_double(int operation, const double *x, const double *y, const double *z, double *out) {
  if (!apply_short(operation, x, y, z, out)) {
    LANES(lane) out[lane] = apply_long(operation, x[lane], y[lane]);
  }
  switch (operation) {
#define EXPR_KIND(name, arity, kind, value, integer)                                                                   \
  case EXPR_##name:                                                                                                    \
    return ERROR_##kind;
    EXPR_OPERATIONS(EXPR_KIND)
  default:
    return ERROR_EXACT;
  }
}

DEVICE_FN int64_t apply_integer(int operation, int64_t a, int64_t b, int64_t c, int32_t is_unsigned) {
  switch (operation) {
#define EXPR_INTEGER(name, arity, kind, value, integer)                                                                \
  case EXPR_##name:                                                                                                    \
    return (integer);
    EXPR_OPERATIONS(EXPR_INTEGER)
  default:
    return 0;
  }
}

// ---- operands

// Where input k lies for output element i; all 64 bits of it. Long and rarely needed: a call, not inlined.
DEVICE_FN_LARGE int64_t source_far(const struct pointwise_args *a, int k, int64_t i) {
  int64_t at = 0;
  for (int d = a->rank - 1; d > 0; d--) {
    int64_t next = i / a->dims[d];
    at += (i - next * a->dims[d]) * a->strides[k][d];
    i = next;
  }
  return at + i * a->strides[k][0];
}

DEVICE_FN int64_t source_index(const struct pointwise_args *a, int k, int64_t i) {
  if (a->rank == 0)
    return i * a->strides[k][0];
  if (!a->small)
    return source_far(a, k, i);
  int64_t at = 0;
  uint32_t rest = (uint32_t)i;
  for (int d = a->rank - 1; d > 0; d--) {
    uint32_t extent = (uint32_t)a->dims[d], next = rest / extent;
    at += (int64_t)(rest - next * extent) * a->strides[k][d];
    rest = next;
  }
  return at + (int64_t)rest * a->strides[k][0];
}

DEVICE_FN_LARGE double load_rare(const struct pointwise_args *a, int k, int64_t at) {
  if (a->types[k].is_float)
    return read_f64(&a->in[k], at);
  return integer_to_f64(a->types[k].bits, a->types[k].is_unsigned, read_i64(&a->in[k], at));
}

DEVICE_FN void load_double(const struct pointwise_args *a, int k, const int64_t *i, double *out) {
  int64_t at[POINTWISE_LANES];
  LANES(v) at[v] = source_index(a, k, i[v]);
  const double *wide = (const double *)a->in[k].data;
  const float *single = (const float *)a->in[k].data;
  if (a->in[k].storage == STORAGE_F64) {
    LANES(v) out[v] = wide[at[v]];
  } else if (a->in[k].storage == STORAGE_F32) {
    LANES(v) out[v] = (double)single[at[v]];
  } else {
    LANES(v) out[v] = load_rare(a, k, at[v]);
  }
}

// The elements of this thread, and how many there are; beyond them the tensor's last one, which may be read.
DEVICE_FN int find_elements(const struct pointwise_args *a, int64_t thread, int64_t *i) {
  int64_t block = thread / POINTWISE_NEIGHBOURS, lane = thread - block * POINTWISE_NEIGHBOURS;
  int64_t first = block * (POINTWISE_NEIGHBOURS * POINTWISE_LANES) + lane;
  int count = 0;
  LANES(v) {
    int64_t at = first + v * POINTWISE_NEIGHBOURS;
    i[v] = at < a->n ? at : a->n - 1;
    count += at < a->n;
  }
  return count;
}

DEVICE_FN_LARGE double library_error(int error, struct rounder r, struct noise noise, double v) {
  return rounder_apply_ulps(&r, &noise, v, library_ulps_of(error, &r, v));
}

// The error of an operation in a contract pass (ops/expr.c, add_error).
DEVICE_FN double add_error(int error, const struct rounder *r, struct noise *noise, double v) {
  if (error == ERROR_ROUNDED)
    return rounder_apply(r, noise_next(noise), v);
  v = library_error(error, *r, *noise, v);
  (void)noise_next(noise), (void)noise_next(noise); // as many as it took
  if (error == ERROR_BOUNDED)
    v = arith_reflect(v);
  return v;
}

DEVICE_FN void store_double(const struct pointwise_args *a, const int64_t *i, int count, const double *v) {
  LANES(l) {
    if (l < count && a->out_type.is_float)
      ((double *)a->out)[i[l]] = v[l];
    else if (l < count)
      ((int64_t *)a->out)[i[l]] = truncate_to_integer(a->out_type.bits, a->out_type.is_unsigned, v[l]);
  }
}

KERNEL(pointwise_double, struct pointwise_args) {
  int64_t i[POINTWISE_LANES];
  int count = find_elements(a, THREAD, i);
  if (count == 0)
    return;
  double inputs[3][POINTWISE_LANES], temporaries[POINTWISE_TEMPORARIES][POINTWISE_LANES], v[POINTWISE_LANES];
  UNROLL_ALL
  for (int k = 0; k < 3; k++) {
    LANES(l) inputs[k][l] = 0;
    if (k < a->n_in)
      load_double(a, k, i, inputs[k]);
  }
  struct noise noise[POINTWISE_LANES];
  struct rounder r;
  if (!a->arith.exact) {
    LANES(l) noise[l] = noise_at(a->arith.key, (uint64_t)i[l]);
    r = arith_rounder(&a->arith);
  }
  int result = a->result_index;
  LANES(l) v[l] = a->result_kind != OPERAND_INPUT ? a->values[result]
                  : result == 0                   ? inputs[0][l]
                  : result == 1                   ? inputs[1][l]
                                                  : inputs[2][l];
  for (int step = 0; step < a->n_instructions; step++) {
    const uint8_t *in = a->code[step];
    double from[3][POINTWISE_LANES];
    UNROLL_ALL
    for (int k = 0; k < 3; k++) {
      int kind = in[2 + 2 * k], index = in[3 + 2 * k];
      // Inputs stay in registers: no index but a constant one.
      if (kind == OPERAND_INPUT) {
        LANES(l) from[k][l] = index == 0 ? inputs[0][l] : index == 1 ? inputs[1][l] : inputs[2][l];
      } else if (kind == OPERAND_LAST) {
        LANES(l) from[k][l] = v[l];
      } else if (kind == OPERAND_TEMPORARY) {
        LANES(l) from[k][l] = temporaries[index][l];
      } else {
        LANES(l) from[k][l] = a->values[index];
      }
    }
    int error = apply_double(in[0], from[0], from[1], from[2], v);
    if (!a->arith.exact && error != ERROR_EXACT) {
      LANES(l) v[l] = add_error(error, &r, &noise[l], v[l]);
    }
    if (in[1] != POINTWISE_NOWHERE) {
      LANES(l) temporaries[in[1]][l] = v[l];
    }
  }
  store_double(a, i, count, v);
}

DEVICE_FN void integer_element(const struct pointwise_args *a, int64_t i) {
  int64_t inputs[3], temporaries[POINTWISE_TEMPORARIES];
  for (int k = 0; k < 3; k++)
    inputs[k] = k < a->n_in ? read_i64(&a->in[k], source_index(a, k, i)) : 0;
  int64_t v = a->result_kind == OPERAND_INPUT ? inputs[a->result_index] : (int64_t)a->values[a->result_index];
  for (int step = 0; step < a->n_instructions; step++) {
    const uint8_t *in = a->code[step];
    int64_t from[3];
    for (int k = 0; k < 3; k++) {
      int kind = in[2 + 2 * k], index = in[3 + 2 * k];
      from[k] = kind == OPERAND_INPUT       ? inputs[index]
                : kind == OPERAND_LAST      ? v
                : kind == OPERAND_TEMPORARY ? temporaries[index]
                                            : (int64_t)a->values[index];
    }
    v = apply_integer(in[0], from[0], from[1], from[2], a->is_unsigned);
    if (in[1] != POINTWISE_NOWHERE)
      temporaries[in[1]] = v;
  }
  ((int64_t *)a->out)[i] = wrap_integer(a->out_type.bits, a->out_type.is_unsigned, v);
}

KERNEL(pointwise_integer, struct pointwise_args) {
  int64_t i[POINTWISE_LANES];
  int count = find_elements(a, THREAD, i);
  for (int v = 0; v < count; v++)
    integer_element(a, i[v]);
}
