// SPDX-License-Identifier: Apache-2.0
#include "ops/bitcast.h"

#include <string.h>

// The byte of an element of less than 8 bits, as its type has it in memory (base/dtype.h).
static void fit_byte(enum dtype t, unsigned char *byte) {
  int bits = dtype_bits(t), code = *byte & ((1 << bits) - 1);
  bool negative = dtype_is_signed(t) && code >> (bits - 1);
  *byte = (unsigned char)(negative ? code - (1 << bits) : code);
}

void bitcast_words(enum dtype from, enum dtype to, int64_t n, const uint64_t *in, uint64_t *out) {
  for (int64_t i = 0; i < n; i++) {
    unsigned char element[8] = {0};
    double real;
    int64_t whole = (int64_t)in[i];
    memcpy(&real, &in[i], sizeof real);
    if (dtype_is_float(from))
      dtype_from_f64(from, &real, 1, element);
    else
      dtype_from_i64(from, &whole, 1, element);
    if (dtype_bits(to) < 8)
      fit_byte(to, element);
    if (dtype_is_float(to)) {
      dtype_to_f64(to, element, 1, &real);
      memcpy(&out[i], &real, sizeof real);
    } else {
      dtype_to_i64(to, element, 1, &whole);
      out[i] = (uint64_t)whole;
    }
  }
}

enum assay_status bitcast_infer(struct op_infer *c, struct assay_error *err) {
  enum dtype from = c->in[0]->dtype, to;
  int64_t number = node_int(c->node, "to", 0);
  if (!dtype_by_number(number, &to) || dtype_bits(to) == 0)
    return op_unsupported(c->node, err, "no bits of type number %lld", (long long)number);
  if (dtype_bits(from) != dtype_bits(to))
    return op_invalid(c->node, err, "%s has %d bits, %s has %d", dtype_name(from), dtype_bits(from), dtype_name(to),
                      dtype_bits(to));
  return op_output(c, 0, to, c->in[0]->shape.rank, c->in[0]->shape.dims, err);
}

enum assay_status bitcast_eval(struct op_eval *c, struct assay_error *err) {
  (void)err;
  bitcast_words(c->in[0]->dtype, c->out[0].dtype, shape_count(&c->in[0]->shape), c->in[0]->bits, c->out[0].bits);
  return ASSAY_OK;
}
