// SPDX-License-Identifier: Apache-2.0
// Translations into PyTorch that need code: they depend on attributes, shapes or constants. A row points at one of
// these (op_def.pytorch.write); op_def.pytorch.text is the name of what they call, where several operators share one.
#include <math.h>
#include <string.h>

#include "ops/pytorch.h"

// Pads of a convolution or pool: symmetric ones are an argument, others are applied before.
static bool pads_symmetric(const struct node *n, int spatial) {
  for (int i = 0; i < spatial; i++)
    if (pytorch_int_at(n, "pads", (size_t)i, 0) != pytorch_int_at(n, "pads", (size_t)(i + spatial), 0))
      return false;
  return true;
}

static void put_spatial(struct pytorch_writer *w, const struct node *n, const char *name, int spatial, int fallback) {
  buf_puts(w->out, "(");
  for (int i = 0; i < spatial; i++)
    buf_printf(w->out, "%d,%s", pytorch_int_at(n, name, (size_t)i, fallback), i + 1 < spatial ? " " : "");
  buf_puts(w->out, ")");
}

void pytorch_conv(struct pytorch_writer *w, const struct node *n) {
  int spatial = pytorch_rank(w, n->inputs[0]) - 2;
  const char *function = n->op->pytorch.text; // conv or conv_transpose
  bool transposed = strcmp(function, "conv") != 0;
  if (!pads_symmetric(n, spatial) || node_attr(n, "output_shape") ||
      strcmp(node_string(n, "auto_pad", "NOTSET"), "NOTSET") != 0)
    w->complete = false;
  buf_printf(w->out, "F.%s%dd(", function, spatial);
  // PyTorch convolves no integers; in double precision that is exact.
  if (dtype_is_integer(w->values[n->inputs[0]].dtype)) {
    w->complete = w->complete && n->n_inputs == 2;
    pytorch_put_template(w, n, "$0.double(), $1.double(), None, stride=");
  } else {
    pytorch_put_template(w, n, "$0, $1, $2, stride=");
  }
  put_spatial(w, n, "strides", spatial, 1);
  buf_puts(w->out, ", padding=");
  put_spatial(w, n, "pads", spatial, 0);
  if (transposed) {
    buf_puts(w->out, ", output_padding=");
    put_spatial(w, n, "output_padding", spatial, 0);
  }
  buf_printf(w->out, ", groups=%lld, dilation=", (long long)node_int(n, "group", 1));
  put_spatial(w, n, "dilations", spatial, 1);
  buf_puts(w->out, dtype_is_integer(w->values[n->inputs[0]].dtype) ? ").to(torch.int32)" : ")");
}

void pytorch_pool(struct pytorch_writer *w, const struct node *n) {
  int spatial = pytorch_rank(w, n->inputs[0]) - 2;
  const char *function = n->op->pytorch.text; // max_pool or avg_pool
  bool max = strcmp(function, "max_pool") == 0;
  if (!pads_symmetric(n, spatial) || n->n_outputs > 1)
    w->complete = false;
  buf_printf(w->out, "F.%s%dd(", function, spatial);
  pytorch_put_input(w, n, 0);
  buf_puts(w->out, ", ");
  put_spatial(w, n, "kernel_shape", spatial, 1);
  buf_puts(w->out, ", stride=");
  put_spatial(w, n, "strides", spatial, 1);
  buf_puts(w->out, ", padding=");
  put_spatial(w, n, "pads", spatial, 0);
  if (max) {
    buf_puts(w->out, ", dilation=");
    put_spatial(w, n, "dilations", spatial, 1);
  }
  buf_printf(w->out, ", ceil_mode=%s", node_int(n, "ceil_mode", 0) ? "True" : "False");
  if (!max)
    buf_printf(w->out, ", count_include_pad=%s", node_int(n, "count_include_pad", 0) ? "True" : "False");
  buf_puts(w->out, ")");
}

// The axes of a reduction or an Unsqueeze: an input (a constant) or an attribute; all when neither is there.
static void put_axes(struct pytorch_writer *w, const struct node *n, int input) {
  const struct attr *a = node_attr(n, "axes");
  int64_t axes[SHAPE_MAX_RANK];
  int count = pytorch_constant_ints(w, n, input, axes, SHAPE_MAX_RANK);
  if (a) {
    pytorch_put_ints(w, a->ints, a->count);
  } else if (count >= 0) {
    pytorch_put_ints(w, axes, (size_t)count);
  } else {
    w->complete = w->complete && !node_has_input(n, input);
    buf_puts(w->out, "tuple(range(");
    pytorch_put_input(w, n, 0);
    buf_puts(w->out, ".dim()))");
  }
}

// The text is a function, or one of another's results: "torch.sum(torch.abs".
void pytorch_reduce(struct pytorch_writer *w, const struct node *n) {
  buf_printf(w->out, "%s(", n->op->pytorch.text);
  pytorch_put_input(w, n, 0);
  buf_puts(w->out, strchr(n->op->pytorch.text, '(') ? "), dim=" : ", dim=");
  put_axes(w, n, 1);
  buf_printf(w->out, ", keepdim=%s)", node_int(n, "keepdims", 1) ? "True" : "False");
}

// A Reshape to constant extents, of which 0 means the input's, or to those that the graph computes.
void pytorch_reshape(struct pytorch_writer *w, const struct node *n) {
  int64_t extents[SHAPE_MAX_RANK];
  int count = pytorch_constant_ints(w, n, 1, extents, SHAPE_MAX_RANK);
  if (count < 1) {
    pytorch_put_template(w, n, "$0.reshape(tuple($1.tolist()))");
    return;
  }
  pytorch_put_template(w, n, "$0.reshape(");
  for (int i = 0; i < count; i++) {
    if (extents[i] == 0 && !node_int(n, "allowzero", 0)) {
      pytorch_put_input(w, n, 0);
      buf_printf(w->out, ".shape[%d]", i);
    } else {
      buf_printf(w->out, "%lld", (long long)extents[i]);
    }
    buf_puts(w->out, i + 1 < count ? ", " : ")");
  }
}

void pytorch_expand(struct pytorch_writer *w, const struct node *n) {
  const struct shape *to = &w->values[n->outputs[0]].shape;
  if (!w->fixed) {
    pytorch_put_template(w, n, "$0.expand(torch.broadcast_shapes(tuple($0.shape), tuple($1.tolist())))");
    return;
  }
  pytorch_put_template(w, n, "$0.expand(");
  pytorch_put_ints(w, to->dims, (size_t)to->rank);
  buf_puts(w->out, ")");
}

void pytorch_squeeze(struct pytorch_writer *w, const struct node *n) {
  pytorch_put_template(w, n, "torch.squeeze($0");
  if (node_has_input(n, 1) || node_attr(n, "axes")) {
    buf_puts(w->out, ", dim=");
    put_axes(w, n, 1);
  }
  buf_puts(w->out, ")");
}

// A * B' + C with the usual factors: a linear layer where B is transposed and nothing else is asked for.
void pytorch_gemm(struct pytorch_writer *w, const struct node *n) {
  w->complete = w->complete && node_float(n, "alpha", 1) == 1 && node_float(n, "beta", 1) == 1;
  if (node_int(n, "transB", 0) && !node_int(n, "transA", 0) &&
      (!node_has_input(n, 2) || pytorch_rank(w, n->inputs[2]) == 1)) {
    pytorch_put_template(w, n, node_has_input(n, 2) ? "F.linear($0, $1, $2)" : "F.linear($0, $1)");
    return;
  }
  pytorch_put_template(w, n, node_int(n, "transA", 0) ? "torch.matmul($0.t(), $1" : "torch.matmul($0, $1");
  buf_puts(w->out, node_int(n, "transB", 0) ? ".t())" : ")");
  if (node_has_input(n, 2))
    pytorch_put_template(w, n, " + $2");
}

void pytorch_unsqueeze(struct pytorch_writer *w, const struct node *n) {
  int64_t axes[SHAPE_MAX_RANK];
  int count = pytorch_constant_ints(w, n, 1, axes, SHAPE_MAX_RANK);
  pytorch_put_input(w, n, 0);
  w->complete = w->complete && count > 0;
  for (int i = 0; i < count; i++) // ONNX counts axes in the result; ascending order keeps that true
    buf_printf(w->out, ".unsqueeze(%lld)", (long long)axes[i]);
}

void pytorch_cumulative(struct pytorch_writer *w, const struct node *n) {
  const char *function = n->op->pytorch.text;
  bool exclusive = node_int(n, "exclusive", 0), reverse = node_int(n, "reverse", 0);
  int64_t axis = node_int(n, "axis", 0);
  w->complete = w->complete && pytorch_constant_ints(w, n, 1, &axis, 1) == 1 && !(exclusive && reverse) &&
                !(exclusive && strcmp(function, "torch.cumsum") != 0);
  buf_printf(w->out, "%s(", function);
  pytorch_put_input(w, n, 0);
  if (reverse)
    buf_printf(w->out, ".flip(%lld)", (long long)axis);
  buf_printf(w->out, ", dim=%lld)", (long long)axis);
  if (reverse)
    buf_printf(w->out, ".flip(%lld)", (long long)axis);
  if (exclusive) {
    buf_puts(w->out, " - ");
    pytorch_put_input(w, n, 0);
  }
}

void pytorch_batch_norm(struct pytorch_writer *w, const struct node *n) {
  if (node_int(n, "training_mode", 0))
    pytorch_put_template(w, n, "F.batch_norm($0, None, None, $1, $2, training=True, eps={epsilon})");
  else
    pytorch_put_template(w, n, "F.batch_norm($0, $3, $4, $1, $2, eps={epsilon})");
}

void pytorch_layer_norm(struct pytorch_writer *w, const struct node *n) {
  buf_printf(w->out, "%s(", n->op->pytorch.text);
  pytorch_put_input(w, n, 0);
  buf_puts(w->out, ", ");
  pytorch_put_input(w, n, 1);
  pytorch_put_template(w, n, n->op->max_in > 2 ? ".shape, $1, $2, eps={epsilon})" : ".shape, $1, eps={epsilon})");
  int64_t axis = node_int(n, "axis", -1);
  int rank = pytorch_rank(w, n->inputs[0]), scale = pytorch_rank(w, n->inputs[1]);
  w->complete = w->complete && scale == (axis < 0 ? -axis : rank - axis);
}

void pytorch_arg(struct pytorch_writer *w, const struct node *n) {
  buf_printf(w->out, "%s(", n->op->pytorch.text);
  pytorch_put_template(w, n, "$0, dim={axis}, keepdim=");
  buf_puts(w->out, node_int(n, "keepdims", 1) ? "True)" : "False)");
  w->complete = w->complete && !node_int(n, "select_last_index", 0);
}

const char *pytorch_dtype(enum dtype t) {
  static const char *const names[] = {[DTYPE_FLOAT] = "float32",
                                      [DTYPE_DOUBLE] = "float64",
                                      [DTYPE_FLOAT8E4M3FN] = "float8_e4m3fn",
                                      [DTYPE_FLOAT8E4M3FNUZ] = "float8_e4m3fnuz",
                                      [DTYPE_FLOAT8E5M2] = "float8_e5m2",
                                      [DTYPE_FLOAT8E5M2FNUZ] = "float8_e5m2fnuz"};
  const char *name = (size_t)t < sizeof names / sizeof *names ? names[t] : NULL;
  return name ? name : dtype_name(t);
}

void pytorch_cast(struct pytorch_writer *w, const struct node *n) {
  enum dtype t = DTYPE_FLOAT;
  dtype_by_number(node_int(n, "to", 1), &t);
  pytorch_put_input(w, n, 0);
  buf_printf(w->out, ".to(torch.%s)", pytorch_dtype(t));
}

// To a matrix: the dimensions before the axis, and those from it on.
void pytorch_flatten(struct pytorch_writer *w, const struct node *n) {
  int rank = pytorch_rank(w, n->inputs[0]);
  int64_t axis = node_int(n, "axis", 1);
  axis += axis < 0 ? rank : 0;
  w->complete = w->complete && axis < rank;
  pytorch_put_template(w, n, axis == 0 ? "$0.reshape(1, -1)" : "$0.flatten(");
  if (axis > 0)
    buf_printf(w->out, "%lld)", (long long)axis);
  if (axis > 1)
    buf_printf(w->out, ".flatten(0, %lld)", (long long)axis - 1);
}

// An operand of attention with its heads in the second dimension.
static void put_heads(struct pytorch_writer *w, const struct node *n, int i) {
  pytorch_put_input(w, n, i);
  if (pytorch_rank(w, n->inputs[i]) == 3)
    buf_printf(w->out, ".unflatten(2, (%lld, -1)).transpose(1, 2)",
               (long long)node_int(n, i == 0 ? "q_num_heads" : "kv_num_heads", 1));
}

static int64_t heads_of(const struct pytorch_writer *w, const struct node *n, int i) {
  const struct shape *s = &w->values[n->inputs[i]].shape;
  return s->rank == 4 ? s->dims[1] : node_int(n, i == 0 ? "q_num_heads" : "kv_num_heads", 1);
}

// Whether several heads of queries share one of keys: here, or at another workload, where the extents have two names.
static bool shares_heads(const struct pytorch_writer *w, const struct node *n) {
  const struct value *q = &w->g->values[n->inputs[0]], *k = &w->g->values[n->inputs[1]];
  if (heads_of(w, n, 0) != heads_of(w, n, 1))
    return true;
  return q->rank == 4 && k->rank == 4 && q->dims[1].symbol && k->dims[1].symbol &&
         strcmp(q->dims[1].symbol, k->dims[1].symbol) != 0;
}

void pytorch_attention(struct pytorch_writer *w, const struct node *n) {
  enum { OPERANDS = 3, MASK = 3 };
  for (int i = MASK + 1; i < n->n_inputs; i++)
    w->complete = w->complete && !node_has_input(n, i);
  w->complete = w->complete && n->n_outputs == 1 && node_float(n, "softcap", 0) == 0 &&
                node_int(n, "left_window_size", -1) < 0 && node_int(n, "right_window_size", -1) < 0;
  buf_puts(w->out, "F.scaled_dot_product_attention(");
  for (int i = 0; i < OPERANDS; i++) {
    buf_puts(w->out, i ? ", " : "");
    put_heads(w, n, i);
  }
  if (node_has_input(n, MASK))
    pytorch_put_template(w, n, ", attn_mask=$3");
  if (node_int(n, "is_causal", 0))
    buf_puts(w->out, ", is_causal=True");
  if (node_attr(n, "scale"))
    pytorch_put_template(w, n, ", scale={scale}");
  if (shares_heads(w, n))
    buf_puts(w->out, ", enable_gqa=True");
  buf_puts(w->out, pytorch_rank(w, n->inputs[0]) == 3 ? ").transpose(1, 2).flatten(2)" : ")");
}

void pytorch_trilu(struct pytorch_writer *w, const struct node *n) {
  buf_puts(w->out, node_int(n, "upper", 1) ? "torch.triu(" : "torch.tril(");
  pytorch_put_input(w, n, 0);
  if (node_has_input(n, 1)) {
    buf_puts(w->out, ", ");
    pytorch_put_input(w, n, 1);
  }
  buf_puts(w->out, ")");
}

void pytorch_gelu(struct pytorch_writer *w, const struct node *n) {
  pytorch_put_template(w, n, node_attr(n, "approximate") ? "F.gelu($0, approximate={approximate})" : "F.gelu($0)");
}

static bool is_number(const struct pytorch_writer *w, const struct node *n, int i) {
  const struct tensor *t = w->g->values[n->inputs[i]].constant;
  return t && t->type.shape.rank == 0;
}

// torch.maximum and torch.minimum take tensors only: a number is a bound.
void pytorch_max_min(struct pytorch_writer *w, const struct node *n) {
  bool max = strcmp(n->op->pytorch.text, "max") == 0;
  int first = n->n_inputs > 1 && is_number(w, n, 0) ? 1 : 0; // a tensor
  for (int i = 1; i < n->n_inputs; i++)
    buf_puts(w->out, is_number(w, n, i == first ? 0 : i) ? "torch.clamp(" : max ? "torch.maximum(" : "torch.minimum(");
  pytorch_put_input(w, n, first);
  for (int i = 1; i < n->n_inputs; i++) {
    int other = i == first ? 0 : i;
    buf_printf(w->out, ", %s", !is_number(w, n, other) ? "" : max ? "min=" : "max=");
    pytorch_put_input(w, n, other);
    buf_puts(w->out, ")");
  }
}

void pytorch_shape(struct pytorch_writer *w, const struct node *n) {
  buf_puts(w->out, "torch.tensor(");
  pytorch_put_input(w, n, 0);
  buf_printf(w->out, ".shape[%lld:", (long long)node_int(n, "start", 0));
  if (node_attr(n, "end"))
    buf_printf(w->out, "%lld", (long long)node_int(n, "end", 0));
  buf_puts(w->out, "])");
}

void pytorch_constant_of_shape(struct pytorch_writer *w, const struct node *n) {
  const struct attr *a = node_attr(n, "value");
  enum dtype t = a && a->tensor ? a->tensor->type.dtype : DTYPE_FLOAT;
  double value = 0;
  int64_t whole = 0;
  buf_puts(w->out, "torch.full(tuple(");
  pytorch_put_input(w, n, 0);
  buf_puts(w->out, ".tolist()), ");
  if (a && a->tensor && dtype_is_float(t))
    dtype_to_f64(t, a->tensor->data, 1, &value);
  else if (a && a->tensor)
    dtype_to_i64(t, a->tensor->data, 1, &whole);
  if (dtype_is_float(t))
    pytorch_put_float(w, value);
  else
    buf_printf(w->out, "%lld", (long long)whole);
  buf_printf(w->out, ", dtype=torch.%s)", pytorch_dtype(t));
}

// Ones on a diagonal; of the input's type where no other is asked for.
void pytorch_eye(struct pytorch_writer *w, const struct node *n) {
  w->complete = w->complete && !node_attr(n, "dtype");
  pytorch_put_template(w, n, "torch.ones_like($0).tril({k}).triu({k})");
}

// The slash of Python divides integers into fractions.
void pytorch_div(struct pytorch_writer *w, const struct node *n) {
  const bool whole = dtype_is_integer(w->values[n->outputs[0]].dtype);
  pytorch_put_template(w, n, whole ? "torch.div(torch.as_tensor($0), $1, rounding_mode=\"trunc\")" : "$0 / $1");
}

void pytorch_mod(struct pytorch_writer *w, const struct node *n) {
  pytorch_put_template(w, n, node_int(n, "fmod", 0) ? "torch.fmod($0, $1)" : "torch.remainder($0, $1)");
}

// PyTorch's indices are not negative.
void pytorch_scatter(struct pytorch_writer *w, const struct node *n) {
  static const char *const forms[][2] = {
      {"none", ".scatter({axis}, $1 % $0.shape[{axis}], $2)"},
      {"add", ".scatter_add({axis}, $1 % $0.shape[{axis}], $2)"},
      {"mul", ".scatter_reduce({axis}, $1 % $0.shape[{axis}], $2, reduce=\"prod\")"},
      {"max", ".scatter_reduce({axis}, $1 % $0.shape[{axis}], $2, reduce=\"amax\")"},
      {"min", ".scatter_reduce({axis}, $1 % $0.shape[{axis}], $2, reduce=\"amin\")"},
  };
  const char *reduction = node_string(n, "reduction", "none");
  size_t i = 0;
  while (i + 1 < sizeof forms / sizeof *forms && strcmp(forms[i][0], reduction) != 0)
    i++;
  pytorch_put_input(w, n, 0);
  pytorch_put_template(w, n, forms[i][1]);
}

// Of one axis: `[:, :, `, to be followed by an index and `]`.
static void put_indexed(struct pytorch_writer *w, const struct node *n, int64_t axis) {
  pytorch_put_input(w, n, 0);
  buf_puts(w->out, "[");
  for (int64_t d = 0; d < (axis < 0 ? axis + pytorch_rank(w, n->inputs[0]) : axis); d++)
    buf_puts(w->out, ":, ");
}

void pytorch_gather(struct pytorch_writer *w, const struct node *n) {
  int64_t index[SHAPE_MAX_RANK];
  int count = pytorch_constant_ints(w, n, 1, index, SHAPE_MAX_RANK), rank = pytorch_rank(w, n->inputs[1]);
  put_indexed(w, n, node_int(n, "axis", 0));
  if (count < 1 || rank > 1) {
    pytorch_put_input(w, n, 1);
  } else {
    buf_puts(w->out, rank ? "[" : "");
    for (int i = 0; i < count; i++)
      buf_printf(w->out, "%s%lld", i ? ", " : "", (long long)index[i]);
    buf_puts(w->out, rank ? "]" : "");
  }
  buf_puts(w->out, "]");
}

// Element k of an input with starts or ends; nothing where it is as far as it goes.
static void put_bound(struct pytorch_writer *w, const struct node *n, int input, int k) {
  int64_t bounds[SHAPE_MAX_RANK];
  int count = pytorch_constant_ints(w, n, input, bounds, SHAPE_MAX_RANK);
  if (count < 0) {
    buf_puts(w->out, "int(");
    pytorch_put_input(w, n, input);
    buf_printf(w->out, "[%d])", k);
  } else if (bounds[k] < INT32_MAX && (bounds[k] || input > 1)) {
    buf_printf(w->out, "%lld", (long long)bounds[k]);
  }
}

// The parts of each axis that is named, all of the others. Steps backwards have no such form in PyTorch.
void pytorch_slice(struct pytorch_writer *w, const struct node *n) {
  int64_t axes[SHAPE_MAX_RANK], steps[SHAPE_MAX_RANK];
  int rank = pytorch_rank(w, n->inputs[0]);
  int n_axes = pytorch_constant_ints(w, n, 3, axes, SHAPE_MAX_RANK),
      n_steps = pytorch_constant_ints(w, n, 4, steps, SHAPE_MAX_RANK);
  for (int k = 0; !node_has_input(n, 3) && n->n_inputs > 2 && k < w->values[n->inputs[1]].shape.dims[0]; k++) {
    axes[k] = k; // the first ones, as many as there are starts
    n_axes = k + 1;
  }
  bool forward = n_steps >= 0 || !node_has_input(n, 4);
  for (int k = 0; k < n_steps; k++)
    forward = forward && steps[k] > 0;
  w->complete = w->complete && n->n_inputs > 2 && n_axes >= 0 && forward;
  pytorch_put_input(w, n, 0);
  buf_puts(w->out, "[");
  for (int d = 0; d < rank; d++) {
    buf_puts(w->out, d ? ", " : "");
    int k = 0;
    while (k < n_axes && axes[k] != d && axes[k] + rank != d)
      k++;
    if (k < n_axes)
      put_bound(w, n, 1, k);
    buf_puts(w->out, ":");
    if (k < n_axes)
      put_bound(w, n, 2, k);
    if (k < n_axes && k < n_steps && steps[k] != 1)
      buf_printf(w->out, ":%lld", (long long)steps[k]);
  }
  buf_puts(w->out, "]");
}

void pytorch_split(struct pytorch_writer *w, const struct node *n) {
  int64_t sizes[64];
  int count = pytorch_constant_ints(w, n, 1, sizes, 64);
  w->complete = w->complete && (count >= 0 || !node_has_input(n, 1));
  pytorch_put_input(w, n, 0);
  if (count >= 0) {
    buf_puts(w->out, ".split(");
    pytorch_put_ints(w, sizes, (size_t)count);
  } else {
    buf_printf(w->out, ".chunk(%d", n->n_outputs);
  }
  buf_printf(w->out, ", dim=%lld)", (long long)node_int(n, "axis", 0));
}

void pytorch_constant(struct pytorch_writer *w, const struct node *n) {
  pytorch_put_known(w, n->outputs[0]);
}

void pytorch_hard_sigmoid(struct pytorch_writer *w, const struct node *n) {
  bool usual = fabs(node_float(n, "alpha", 0.2F) - 1.0 / 6) < 1e-7 && node_float(n, "beta", 0.5F) == 0.5F;
  pytorch_put_template(w, n, usual ? "F.hardsigmoid($0)" : "torch.clamp({alpha} * $0 + {beta}, 0, 1)");
}

// PyTorch has two and three dimensions of space, and cubic in two alone.
void pytorch_grid_sample(struct pytorch_writer *w, const struct node *n) {
  const char *mode = node_string(n, "mode", "linear"), *beyond = node_string(n, "padding_mode", "zeros");
  // Words of our own: a stranger's string would be code.
  const char *padding = strcmp(beyond, "border") == 0       ? "border"
                        : strcmp(beyond, "reflection") == 0 ? "reflection"
                                                            : "zeros";
  bool nearest = strcmp(mode, "nearest") == 0, cubic = strstr(mode, "cubic") != NULL;
  int rank = pytorch_rank(w, n->inputs[0]);
  if (rank < 4 || rank > 5 || (rank == 5 && cubic)) {
    pytorch_miss(w, n->op_type);
    return;
  }
  pytorch_put_template(w, n, "F.grid_sample($0, $1, ");
  buf_printf(w->out, "mode=\"%s\", padding_mode=\"%s\", align_corners=%s)",
             nearest ? "nearest"
             : cubic ? "bicubic"
                     : "bilinear",
             padding, node_int(n, "align_corners", 0) ? "True" : "False");
}

// [n, c, h, row in block, w, column in block] in another order.
void pytorch_space_to_depth(struct pytorch_writer *w, const struct node *n) {
  bool channels_first = strcmp(node_string(n, "mode", "DCR"), "CRD") == 0;
  pytorch_put_template(w, n, "$0.unflatten(3, (-1, {blocksize})).unflatten(2, (-1, {blocksize}))");
  buf_printf(w->out, ".permute(%s).flatten(1, 3)", channels_first ? "0, 1, 3, 5, 2, 4" : "0, 3, 5, 1, 2, 4");
}

// Modes: DCR has the block's row and column before the channel, CRD after it.
void pytorch_depth_to_space(struct pytorch_writer *w, const struct node *n) {
  bool channels_first = strcmp(node_string(n, "mode", "DCR"), "CRD") == 0;
  pytorch_put_template(w, n,
                       channels_first ? "F.pixel_shuffle($0, {blocksize})"
                                      : "$0.unflatten(1, ({blocksize}, {blocksize}, -1)).permute(0, 3, 4, 1, 5, 2)"
                                        ".flatten(4, 5).flatten(2, 3)");
}

const char pytorch_recurrent_helper[] =
    "def recurrent(op, order, x, w, r, b, *states):\n"
    "    \"\"\"ONNX's RNN, LSTM or GRU through PyTorch's: gates change places, directions lie beside each "
    "other.\"\"\"\n"
    "    directions, hidden = w.shape[0], r.shape[2]\n"
    "    gates = lambda v: torch.cat([v.chunk(len(order))[i] for i in order])\n"
    "    weights = []\n"
    "    for d in range(directions):\n"
    "        weights += [gates(w[d]), gates(r[d])] + ([] if b is None else [gates(v) for v in b[d].chunk(2)])\n"
    "    states = [x.new_zeros(directions, x.shape[1], hidden) if s is None else s for s in states]\n"
    "    y, *last = op(x, states if len(states) > 1 else states[0], weights, b is not None, 1, 0.0, False,\n"
    "                  directions == 2, False)\n"
    "    return y.unflatten(2, (directions, -1)).transpose(1, 2), *last\n\n\n";

void pytorch_recurrent(struct pytorch_writer *w, const struct node *n) {
  const char *function = n->op->pytorch.text;
  bool lstm = strcmp(function, "torch.lstm") == 0, gru = strcmp(function, "torch.gru") == 0;
  bool usual = !node_attr(n, "activations") && !node_attr(n, "clip") && !node_int(n, "layout", 0) &&
               !node_int(n, "input_forget", 0) && (!gru || node_int(n, "linear_before_reset", 0)) &&
               strcmp(node_string(n, "direction", "forward"), "reverse") != 0 && !node_has_input(n, 4) &&
               !node_has_input(n, 7);
  w->complete = w->complete && usual;
  buf_printf(w->out, "recurrent(%s, ", function);
  pytorch_put_template(w, n, lstm ? "(0, 2, 3, 1), " : gru ? "(1, 0, 2), " : "(0,), ");
  pytorch_put_template(w, n, lstm ? "$0, $1, $2, $3, $5, $6)" : "$0, $1, $2, $3, $5)");
}
