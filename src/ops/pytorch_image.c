// SPDX-License-Identifier: Apache-2.0
// Translations into PyTorch of what changes an image's extents: borders and resampling. PyTorch has some of ONNX's ways
// only; the others have no translation.
#include <string.h>

#include "ops/pytorch.h"

// The pads of all dimensions in PyTorch's order, which counts from the last one on; those of leading dimensions that
// need none are left out. How many; -1: they are not known.
static int turned_pads(const struct pytorch_writer *w, const struct node *n, int64_t *turned) {
  int64_t pads[2 * SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK], begin[SHAPE_MAX_RANK] = {0}, end[SHAPE_MAX_RANK] = {0};
  int rank = pytorch_rank(w, n->inputs[0]), count = pytorch_constant_ints(w, n, 1, pads, 2 * SHAPE_MAX_RANK), all = 0;
  int n_axes = node_has_input(n, 3) ? pytorch_constant_ints(w, n, 3, axes, SHAPE_MAX_RANK) : rank;
  if (n_axes < 0 || count != 2 * n_axes)
    return -1;
  for (int i = 0; i < n_axes; i++) {
    int64_t axis = node_has_input(n, 3) ? axes[i] + (axes[i] < 0 ? rank : 0) : i;
    if (axis < 0 || axis >= rank)
      return -1;
    begin[axis] = pads[i];
    end[axis] = pads[n_axes + i];
  }
  for (int d = rank - 1; d >= 0; d--) {
    turned[2 * (rank - 1 - d)] = begin[d];
    turned[2 * (rank - 1 - d) + 1] = end[d];
    if (begin[d] || end[d])
      all = 2 * (rank - d);
  }
  return all;
}

void pytorch_pad(struct pytorch_writer *w, const struct node *n) {
  static const char *const modes[][2] = {{"constant", ""},
                                         {"reflect", ", mode=\"reflect\""},
                                         {"edge", ", mode=\"replicate\""},
                                         {"wrap", ", mode=\"circular\""}};
  int64_t turned[2 * SHAPE_MAX_RANK];
  const char *mode = node_string(n, "mode", "constant");
  int rank = pytorch_rank(w, n->inputs[0]), count = turned_pads(w, n, turned), m = 0;
  while (m < 4 && strcmp(modes[m][0], mode) != 0)
    m++;
  // The other modes are for up to three dimensions of space, after one or two more.
  bool known = count >= 0 && m < 4 && (m == 0 || (count <= 6 && (rank == count / 2 + 1 || rank == count / 2 + 2)));
  for (int i = 0; i < count && m > 0; i++)
    known = known && turned[i] >= 0;
  w->complete = w->complete && known;
  if (!known || count == 0) {
    pytorch_put_input(w, n, 0);
    return;
  }
  buf_puts(w->out, "F.pad(");
  pytorch_put_input(w, n, 0);
  buf_puts(w->out, ", ");
  pytorch_put_ints(w, turned, (size_t)count);
  buf_puts(w->out, modes[m][1]);
  if (m == 0 && node_has_input(n, 2))
    pytorch_put_template(w, n, ", value=float($2)");
  buf_puts(w->out, ")");
}

// ---- resampling

static bool is(const struct node *n, const char *attribute, const char *fallback, const char *wanted) {
  return strcmp(node_string(n, attribute, fallback), wanted) == 0;
}

// What F.interpolate calls this way of resampling `spatial` dimensions, with what follows; NULL: nothing.
static const char *interpolation(const struct node *n, int spatial, const struct shape *y) {
  static const char *const linear[] = {"linear", "bilinear", "trilinear"};
  const char *coordinates = node_string(n, "coordinate_transformation_mode", "half_pixel");
  bool half = strcmp(coordinates, "half_pixel") == 0 || strcmp(coordinates, "pytorch_half_pixel") == 0;
  if (is(n, "mode", "nearest", "nearest"))
    return strcmp(coordinates, "asymmetric") == 0 && is(n, "nearest_mode", "round_prefer_floor", "floor") ? "nearest"
           : strcmp(coordinates, "half_pixel") == 0 && is(n, "nearest_mode", "round_prefer_floor", "round_prefer_ceil")
               ? "nearest-exact"
               : NULL;
  if (!half && strcmp(coordinates, "align_corners") != 0)
    return NULL;
  for (int d = 2; d < 2 + spatial; d++) // PyTorch has no exception for one pixel
    if (strcmp(coordinates, "pytorch_half_pixel") == 0 && y->dims[d] == 1)
      return NULL;
  if (is(n, "mode", "nearest", "linear"))
    return linear[spatial - 1];
  return is(n, "mode", "nearest", "cubic") && spatial == 2 && node_float(n, "cubic_coeff_a", -0.75F) == -0.75F
             ? "bicubic"
             : NULL;
}

// The last `count` elements of input i, where it is known and those before them are `unit`; as integers or floats.
static bool spatial_values(const struct pytorch_writer *w, const struct node *n, int i, int count, double *out) {
  int v = n->inputs[i];
  const struct array *a = &w->values[v];
  const struct tensor *t = w->g->values[v].constant;
  double values[SHAPE_MAX_RANK];
  int64_t whole[SHAPE_MAX_RANK];
  int all = a->shape.rank == 1 ? (int)a->shape.dims[0] : -1;
  if (all < count || all > SHAPE_MAX_RANK)
    return false;
  if (t && dtype_is_float(a->dtype)) {
    dtype_to_f64(a->dtype, t->data, all, values);
  } else if (pytorch_known(w, v) && dtype_is_float(a->dtype)) {
    memcpy(values, a->f64, (size_t)all * sizeof *values);
  } else {
    if (pytorch_constant_ints(w, n, i, whole, SHAPE_MAX_RANK) != all)
      return false;
    for (int k = 0; k < all; k++)
      values[k] = (double)whole[k];
  }
  for (int k = 0; k + count < all && dtype_is_float(a->dtype); k++)
    if (values[k] != 1)
      return false;
  memcpy(out, values + all - count, (size_t)count * sizeof *out);
  return true;
}

// A scale is written with all its digits: what PyTorch makes of 0.7 is another number of pixels than of its float.
void pytorch_resize(struct pytorch_writer *w, const struct node *n) {
  enum { SCALES = 2, SIZES = 3 };
  int rank = pytorch_rank(w, n->inputs[0]), spatial = rank - 2;
  const struct shape *x = &w->values[n->inputs[0]].shape, *y = &w->values[n->outputs[0]].shape;
  double values[SHAPE_MAX_RANK];
  bool sizes = node_has_input(n, SIZES);
  const char *mode = spatial >= 1 && spatial <= 3 ? interpolation(n, spatial, y) : NULL;
  bool usual = mode && !node_attr(n, "axes") && !node_int(n, "antialias", 0) && !node_int(n, "exclude_outside", 0) &&
               is(n, "keep_aspect_ratio_policy", "stretch", "stretch") && x->dims[0] == y->dims[0] &&
               x->dims[1] == y->dims[1] && (sizes || node_has_input(n, SCALES)) &&
               spatial_values(w, n, sizes ? SIZES : SCALES, spatial, values);
  w->complete = w->complete && usual;
  pytorch_put_template(w, n, "F.interpolate($0");
  buf_puts(w->out, sizes ? ", size=(" : ", scale_factor=(");
  for (int i = 0; i < spatial && usual; i++)
    buf_printf(w->out, "%.17g,%s", values[i], i + 1 < spatial ? " " : "");
  buf_printf(w->out, "), mode=\"%s\"", mode ? mode : "");
  if (mode && strstr(mode, "nearest") == NULL)
    buf_printf(w->out, ", align_corners=%s",
               is(n, "coordinate_transformation_mode", "half_pixel", "align_corners") ? "True" : "False");
  buf_puts(w->out, ")");
}
