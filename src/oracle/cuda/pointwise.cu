// The interpreter of elementwise expressions: one thread an element. Behind EXPR_OPERATIONS(X), the list of
// ops/expr_program.h as text (pointwise.c), so that an operation means the same here as on the host.

#define OPERAND_INPUT 0
#define OPERAND_TEMPORARY 1
#define OPERAND_CONSTANT 2

// As enum expr_error, without its names: which error an operation makes in a contract pass.
#define ERROR_EXACT 0
#define ERROR_ROUNDED 1
#define ERROR_LIBRARY 2
#define ERROR_BOUNDED 3
#define LIBRARY_ULPS 2.0 // EXPR_LIBRARY_ULPS

#define NONE 0 // no meaning over integers; never reached

enum expr_operation {
#define EXPR_ENUM(name, arity, error, value, integer) EXPR_##name,
  EXPR_OPERATIONS(EXPR_ENUM)
  EXPR_OPERATION_COUNT
};

// ---- one operation

DEVICE_FN int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
DEVICE_FN int64_t wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
DEVICE_FN int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
DEVICE_FN int64_t less(int64_t a, int64_t b, int32_t is_unsigned) {
  return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}
DEVICE_FN int64_t quotient(int64_t a, int64_t b, int32_t is_unsigned) {
  if (b == 0)
    return 0;
  if (is_unsigned)
    return (int64_t)((uint64_t)a / (uint64_t)b);
  return b == -1 ? wrap_sub(0, a) : a / b;
}
DEVICE_FN int64_t remainder_of(int64_t a, int64_t b, int32_t is_unsigned) {
  if (b == 0)
    return 0;
  if (is_unsigned)
    return (int64_t)((uint64_t)a % (uint64_t)b);
  return b == -1 ? 0 : a % b;
}
DEVICE_FN int64_t power(int64_t a, int64_t b) {
  if (b < 0)
    return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = (uint64_t)a;
  for (uint64_t e = (uint64_t)b; e; e >>= 1) {
    if (e & 1)
      result *= base;
    base *= base;
  }
  return (int64_t)result;
}

// The result, and in *error what kind of error it has.
DEVICE_FN double apply_double(int operation, double a, double b, double c, int *error) {
  switch (operation) {
#define EXPR_DOUBLE(name, arity, kind, value, integer)                                                                 \
  case EXPR_##name:                                                                                                    \
    *error = ERROR_##kind;                                                                                             \
    return (value);
    EXPR_OPERATIONS(EXPR_DOUBLE)
  default:
    return F64_NAN;
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

// Where input k lies for output element i.
DEVICE_FN int64_t source_index(const struct pointwise_args *a, int k, int64_t i) {
  if (a->rank == 0)
    return i * a->strides[k][0];
  int64_t at = 0;
  if (a->small) {
    uint32_t rest = (uint32_t)i;
    for (int d = a->rank - 1; d > 0; d--) {
      uint32_t extent = (uint32_t)a->dims[d], next = rest / extent;
      at += (int64_t)(rest - next * extent) * a->strides[k][d];
      rest = next;
    }
    return at + (int64_t)rest * a->strides[k][0];
  }
  for (int d = a->rank - 1; d > 0; d--) {
    int64_t next = i / a->dims[d];
    at += (i - next * a->dims[d]) * a->strides[k][d];
    i = next;
  }
  return at + i * a->strides[k][0];
}

DEVICE_FN double load_double(const struct pointwise_args *a, int k, int64_t i) {
  int64_t at = source_index(a, k, i);
  if (a->types[k].is_float)
    return read_f64(&a->in[k], at);
  return integer_to_f64(a->types[k].bits, a->types[k].is_unsigned, read_i64(&a->in[k], at));
}

// The error of an operation in a contract pass (ops/expr.c, add_error).
DEVICE_FN double add_error(int error, const struct rounder *r, struct noise *noise, double v) {
  if (error == ERROR_EXACT)
    return v;
  if (error == ERROR_ROUNDED)
    return rounder_apply(r, noise_next(noise), v);
  v = rounder_apply_ulps(r, noise, v, LIBRARY_ULPS);
  if (error == ERROR_BOUNDED)
    v = v > 1 ? 1 : v < -1 ? -1 : v;
  return v;
}

KERNEL(pointwise_double, struct pointwise_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  double inputs[3], temporaries[POINTWISE_TEMPORARIES];
  for (int k = 0; k < 3; k++)
    inputs[k] = k < a->n_in ? load_double(a, k, i) : 0;
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  struct rounder r = arith_rounder(&a->arith);
  double v = a->result_kind == OPERAND_INPUT ? inputs[a->result_index] : a->values[a->result_index];
  for (int step = 0; step < a->n_instructions; step++) {
    const uint8_t *in = a->code[step];
    double from[3];
    for (int k = 0; k < 3; k++) {
      int kind = in[2 + 2 * k], index = in[3 + 2 * k];
      from[k] = kind == OPERAND_INPUT       ? inputs[index]
                : kind == OPERAND_TEMPORARY ? temporaries[index]
                                            : a->values[index];
    }
    int error = ERROR_EXACT;
    v = apply_double(in[0], from[0], from[1], from[2], &error);
    if (!a->arith.exact)
      v = add_error(error, &r, &noise, v);
    temporaries[in[1]] = v;
  }
  if (a->out_type.is_float)
    ((double *)a->out)[i] = v;
  else
    ((int64_t *)a->out)[i] = truncate_to_integer(a->out_type.bits, a->out_type.is_unsigned, v);
}

KERNEL(pointwise_integer, struct pointwise_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
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
                : kind == OPERAND_TEMPORARY ? temporaries[index]
                                            : (int64_t)a->values[index];
    }
    v = apply_integer(in[0], from[0], from[1], from[2], a->is_unsigned);
    temporaries[in[1]] = v;
  }
  ((int64_t *)a->out)[i] = wrap_integer(a->out_type.bits, a->out_type.is_unsigned, v);
}
