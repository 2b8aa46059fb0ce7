// SPDX-License-Identifier: Apache-2.0
// A call as the judge writes it.
#include <limits.h>
#include <string.h>

#include "toolchain/vendor/vendor.h"

static bool is_input(int input, int n_inputs) {
  return input >= 0 && input < n_inputs;
}

static bool read_matrix(json_t *j, struct vendor_matrix *out) {
  json_int_t ld, stride;
  int transposed;
  if (json_unpack(j, "{s:i, s:b, s:I, s:I}", "input", &out->input, "transposed", &transposed, "ld", &ld, "stride",
                  &stride) != 0)
    return false;
  out->transposed = transposed;
  out->ld = ld;
  out->stride = stride;
  return true;
}

static bool read_product(const json_t *j, int n_inputs, struct vendor_product *p) {
  json_int_t m, n, k, batch;
  json_t *a, *b, *c, *d;
  if (json_unpack((json_t *)j, "{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:F, s:F, s:i}", "m", &m, "n", &n, "k", &k,
                  "batch", &batch, "a", &a, "b", &b, "c", &c, "d", &d, "alpha", &p->alpha, "beta", &p->beta, "bias",
                  &p->bias) != 0)
    return false;
  p->m = m;
  p->n = n;
  p->k = k;
  p->batch = batch;
  return read_matrix(a, &p->a) && read_matrix(b, &p->b) && read_matrix(c, &p->c) && read_matrix(d, &p->d) &&
         is_input(p->a.input, n_inputs) && is_input(p->b.input, n_inputs) && p->c.input < n_inputs &&
         p->bias < n_inputs && m > 0 && n > 0 && k > 0 && batch > 0;
}

// `n` numbers; *large is set where one is beyond int.
static bool read_numbers(const json_t *j, const char *name, int n, int *out, bool *large) {
  const json_t *list = json_object_get(j, name);
  if ((int)json_array_size(list) != n)
    return false;
  for (int i = 0; i < n; i++) {
    json_int_t value = json_integer_value(json_array_get(list, (size_t)i));
    *large = *large || value > INT_MAX || value < 0;
    out[i] = (int)value;
  }
  return true;
}

static bool read_convolution(const json_t *j, int n_inputs, struct vendor_convolution *c, bool *large) {
  int transposed, dims = (int)json_array_size(json_object_get(j, "x"));
  json_int_t groups;
  if (json_unpack((json_t *)j, "{s:b, s:I, s:i, s:i, s:i}", "transposed", &transposed, "groups", &groups, "x_input",
                  &c->x_input, "w_input", &c->w_input, "bias", &c->bias) != 0)
    return false;
  c->transposed = transposed;
  c->space = dims - 2;
  c->groups = (int)groups;
  *large = *large || groups > INT_MAX;
  return c->space >= 2 && c->space <= VENDOR_SPACE && read_numbers(j, "x", dims, c->x, large) &&
         read_numbers(j, "w", dims, c->w, large) && read_numbers(j, "y", dims, c->y, large) &&
         read_numbers(j, "pads", c->space, c->pads, large) && read_numbers(j, "strides", c->space, c->strides, large) &&
         read_numbers(j, "dilations", c->space, c->dilations, large) && is_input(c->x_input, n_inputs) &&
         is_input(c->w_input, n_inputs) && c->bias < n_inputs;
}

static bool read_type(const json_t *j, enum vendor_type *out) {
  static const char *const names[] = {
      [VENDOR_FLOAT] = "float", [VENDOR_HALF] = "float16", [VENDOR_BFLOAT] = "bfloat16"};
  const char *name = json_string_value(json_object_get(j, "type"));
  for (int i = 0; name && i < 3; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (enum vendor_type)i;
      return true;
    }
  return false;
}

enum assay_status vendor_call_read(const json_t *library, int n_inputs, struct vendor_call *out,
                                   struct assay_error *err) {
  const json_t *product = json_object_get(library, "product"), *other = json_object_get(library, "convolution");
  bool large = false;
  memset(out, 0, sizeof *out);
  out->tf32 = json_is_true(json_object_get(library, "tf32"));
  out->has_product = product != NULL;
  out->has_convolution = other != NULL;
  bool good = read_type(library, &out->type) && (product || other) &&
              (!product || read_product(product, n_inputs, &out->product)) &&
              (!other || read_convolution(other, n_inputs, &out->convolution, &large));
  if (!good)
    return error_set(err, ASSAY_ERR_INVALID, "the order has no call of a library: assay and assay-library differ");
  if (large && !product)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "the convolution's extents are beyond cuDNN's numbers (2^31)");
  out->has_convolution = other && !large;
  return ASSAY_OK;
}
