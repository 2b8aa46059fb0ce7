// A task as a PyTorch module: for people who read PyTorch, and for the prompts of models that write kernels.
//
// One row translates one operator. In a template, $0 $1 ... are the inputs' Python expressions, $* all of them, {name}
// an attribute's value (a scalar, a tuple or a string), and the rest is literal. Rows whose translation depends on
// several attributes have a function instead.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "oracle/oracle.h"
#include "report/report.h"

struct writer {
  const struct task *task;
  const struct graph *g;
  const struct array *values; // dtype and shape of every value under the workload
  struct buf *out;
  bool complete;
};

typedef void emit_fn(struct writer *w, const struct node *n);

struct translation {
  const char *op, *text;
  emit_fn *emit;
};

// The shortest number that is this one as a float: ONNX keeps 1e-5 as 9.99999975e-06.
static void put_float(struct writer *w, double x) {
  char text[32];
  if (!isfinite(x)) {
    buf_printf(w->out, "float(\"%s\")", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return;
  }
  for (int digits = 1; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if ((float)strtod(text, NULL) == (float)x)
      break;
  }
  buf_puts(w->out, text);
}

// A value's Python name: names of ONNX may hold characters that Python's may not.
static void put_value(struct writer *w, int v) {
  const struct value *value = &w->g->values[v];
  const struct tensor *t = value->constant;
  if (t && t->shape.rank == 0) {
    double x = 0;
    int64_t i = 0;
    if (dtype_is_float(t->dtype)) {
      dtype_to_f64(t->dtype, t->data, 1, &x);
      put_float(w, x);
    } else {
      dtype_to_i64(t->dtype, t->data, 1, &i);
      buf_printf(w->out, "%lld", (long long)i);
    }
    return;
  }
  for (const char *p = value->name; *p; p++)
    buf_printf(w->out, "%c",
               (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ? *p : '_');
}

static void put_input(struct writer *w, const struct node *n, int i) {
  if (node_has_input(n, i))
    put_value(w, n->inputs[i]);
  else
    buf_puts(w->out, "None");
}

// The integers of an input that is a constant of the graph, or of one of its functions; -1: it is not, or has too many.
static int constant_ints(const struct writer *w, const struct node *n, int input, int64_t *out, int capacity) {
  int v = node_has_input(n, input) ? n->inputs[input] : -1;
  const struct value *value = v < 0 ? NULL : &w->g->values[v];
  bool made = value && value->producer >= 0 && strcmp(w->g->nodes[value->producer].op_type, "Constant") == 0;
  if (!value || !(made ? w->values[v].bits != NULL : value->constant != NULL) || !dtype_is_integer(w->values[v].dtype))
    return -1;
  int64_t count = shape_count(&w->values[v].shape);
  if (count > capacity)
    return -1;
  if (made)
    memcpy(out, w->values[v].i64, (size_t)count * sizeof *out);
  else
    dtype_to_i64(value->constant->dtype, value->constant->data, count, out);
  return (int)count;
}

static void put_ints(struct writer *w, const int64_t *v, size_t n) {
  buf_puts(w->out, "(");
  for (size_t i = 0; i < n; i++)
    buf_printf(w->out, "%lld%s", (long long)v[i], n == 1 ? "," : i + 1 < n ? ", " : "");
  buf_puts(w->out, ")");
}

static void put_attr(struct writer *w, const struct node *n, const char *name) {
  const struct attr *a = node_attr(n, name);
  if (!a) {
    for (const struct op_attr *d = n->op->attrs; d && d->name; d++)
      if (strcmp(d->name, name) == 0)
        buf_puts(w->out, d->fallback ? d->fallback : "None");
    return;
  }
  if (a->type == ATTR_INT)
    buf_printf(w->out, "%lld", (long long)a->ints[0]);
  else if (a->type == ATTR_FLOAT)
    put_float(w, a->floats[0]);
  else if (a->type == ATTR_STRING)
    buf_printf(w->out, "\"%s\"", a->strings[0]);
  else
    put_ints(w, a->ints, a->count);
}

static void put_template(struct writer *w, const struct node *n, const char *text) {
  for (const char *p = text; *p; p++) {
    if (*p == '$' && p[1] == '*') {
      for (int i = 0; i < n->n_inputs; i++) {
        buf_puts(w->out, i ? ", " : "");
        put_input(w, n, i);
      }
      p++;
    } else if (*p == '$') {
      put_input(w, n, p[1] - '0');
      p++;
    } else if (*p == '{') {
      char name[64];
      size_t len = strcspn(p, "}") - 1;
      snprintf(name, sizeof name, "%.*s", (int)len, p + 1);
      put_attr(w, n, name);
      p += len + 1;
    } else {
      buf_append(w->out, p, 1);
    }
  }
}

static int int_attr_at(const struct node *n, const char *name, size_t i, int fallback) {
  const struct attr *a = node_attr(n, name);
  return a && i < a->count ? (int)a->ints[i] : fallback;
}

static int rank_of(const struct writer *w, int v) {
  return w->values[v].shape.rank;
}

// Pads of a convolution or pool: symmetric ones are an argument, others are applied before.
static bool pads_symmetric(const struct node *n, int spatial) {
  for (int i = 0; i < spatial; i++)
    if (int_attr_at(n, "pads", (size_t)i, 0) != int_attr_at(n, "pads", (size_t)(i + spatial), 0))
      return false;
  return true;
}

static void put_spatial(struct writer *w, const struct node *n, const char *name, int spatial, int fallback) {
  buf_puts(w->out, "(");
  for (int i = 0; i < spatial; i++)
    buf_printf(w->out, "%d,%s", int_attr_at(n, name, (size_t)i, fallback), i + 1 < spatial ? " " : "");
  buf_puts(w->out, ")");
}

static void emit_conv(struct writer *w, const struct node *n) {
  int spatial = rank_of(w, n->inputs[0]) - 2;
  bool transposed = strcmp(n->op_type, "ConvTranspose") == 0;
  if (!pads_symmetric(n, spatial) || node_attr(n, "output_shape") ||
      strcmp(node_string(n, "auto_pad", "NOTSET"), "NOTSET") != 0)
    w->complete = false;
  buf_printf(w->out, "F.conv%s%dd(", transposed ? "_transpose" : "", spatial);
  put_template(w, n, "$0, $1, $2, stride=");
  put_spatial(w, n, "strides", spatial, 1);
  buf_puts(w->out, ", padding=");
  put_spatial(w, n, "pads", spatial, 0);
  if (transposed) {
    buf_puts(w->out, ", output_padding=");
    put_spatial(w, n, "output_padding", spatial, 0);
  }
  buf_printf(w->out, ", groups=%lld, dilation=", (long long)node_int(n, "group", 1));
  put_spatial(w, n, "dilations", spatial, 1);
  buf_puts(w->out, ")");
}

static void emit_pool(struct writer *w, const struct node *n) {
  int spatial = rank_of(w, n->inputs[0]) - 2;
  bool max = n->op_type[0] == 'M';
  if (!pads_symmetric(n, spatial) || n->n_outputs > 1)
    w->complete = false;
  buf_printf(w->out, "F.%s_pool%dd(", max ? "max" : "avg", spatial);
  put_input(w, n, 0);
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
static void put_axes(struct writer *w, const struct node *n, int input) {
  const struct attr *a = node_attr(n, "axes");
  int64_t axes[SHAPE_MAX_RANK];
  int count = constant_ints(w, n, input, axes, SHAPE_MAX_RANK);
  if (a) {
    put_ints(w, a->ints, a->count);
  } else if (count >= 0) {
    put_ints(w, axes, (size_t)count);
  } else {
    w->complete = w->complete && !node_has_input(n, input);
    buf_puts(w->out, "tuple(range(");
    put_input(w, n, 0);
    buf_puts(w->out, ".dim()))");
  }
}

static void emit_reduce(struct writer *w, const struct node *n) {
  static const char *const names[][2] = {{"ReduceSum", "torch.sum"},
                                         {"ReduceMean", "torch.mean"},
                                         {"ReduceMax", "torch.amax"},
                                         {"ReduceMin", "torch.amin"},
                                         {"ReduceL2", "torch.linalg.vector_norm"},
                                         {"ReduceLogSumExp", "torch.logsumexp"}};
  const char *function = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i][0], n->op_type) == 0)
      function = names[i][1];
  buf_printf(w->out, "%s(", function);
  put_input(w, n, 0);
  buf_puts(w->out, ", dim=");
  put_axes(w, n, 1);
  buf_printf(w->out, ", keepdim=%s)", node_int(n, "keepdims", 1) ? "True" : "False");
}

// A Reshape to constant extents, of which 0 means the input's, or to those that the graph computes.
static void emit_reshape(struct writer *w, const struct node *n) {
  int64_t extents[SHAPE_MAX_RANK];
  int count = constant_ints(w, n, 1, extents, SHAPE_MAX_RANK);
  if (count < 1) {
    put_template(w, n, "$0.reshape(tuple($1.tolist()))");
    return;
  }
  put_template(w, n, "$0.reshape(");
  for (int i = 0; i < count; i++) {
    if (extents[i] == 0 && !node_int(n, "allowzero", 0)) {
      put_input(w, n, 0);
      buf_printf(w->out, ".shape[%d]", i);
    } else {
      buf_printf(w->out, "%lld", (long long)extents[i]);
    }
    buf_puts(w->out, i + 1 < count ? ", " : ")");
  }
}

static void emit_squeeze(struct writer *w, const struct node *n) {
  put_template(w, n, "torch.squeeze($0");
  if (node_has_input(n, 1) || node_attr(n, "axes")) {
    buf_puts(w->out, ", dim=");
    put_axes(w, n, 1);
  }
  buf_puts(w->out, ")");
}

// A * B' + C with the usual factors: a linear layer where B is transposed and nothing else is asked for.
static void emit_gemm(struct writer *w, const struct node *n) {
  w->complete = w->complete && node_float(n, "alpha", 1) == 1 && node_float(n, "beta", 1) == 1;
  if (node_int(n, "transB", 0) && !node_int(n, "transA", 0) &&
      (!node_has_input(n, 2) || rank_of(w, n->inputs[2]) == 1)) {
    put_template(w, n, node_has_input(n, 2) ? "F.linear($0, $1, $2)" : "F.linear($0, $1)");
    return;
  }
  put_template(w, n, node_int(n, "transA", 0) ? "torch.matmul($0.t(), $1" : "torch.matmul($0, $1");
  buf_puts(w->out, node_int(n, "transB", 0) ? ".t())" : ")");
  if (node_has_input(n, 2))
    put_template(w, n, " + $2");
}

static void emit_unsqueeze(struct writer *w, const struct node *n) {
  int64_t axes[SHAPE_MAX_RANK];
  int count = constant_ints(w, n, 1, axes, SHAPE_MAX_RANK);
  put_input(w, n, 0);
  w->complete = w->complete && count > 0;
  for (int i = 0; i < count; i++) // ONNX counts axes in the result; ascending order keeps that true
    buf_printf(w->out, ".unsqueeze(%lld)", (long long)axes[i]);
}

static void emit_cumulative(struct writer *w, const struct node *n) {
  const char *function = strcmp(n->op_type, "CumSum") == 0 ? "torch.cumsum" : "torch.cumprod";
  bool exclusive = node_int(n, "exclusive", 0), reverse = node_int(n, "reverse", 0);
  int64_t axis = node_int(n, "axis", 0);
  w->complete = w->complete && constant_ints(w, n, 1, &axis, 1) == 1 && !(exclusive && reverse) &&
                !(exclusive && function[9] == 'p');
  buf_printf(w->out, "%s(", function);
  put_input(w, n, 0);
  if (reverse)
    buf_printf(w->out, ".flip(%lld)", (long long)axis);
  buf_printf(w->out, ", dim=%lld)", (long long)axis);
  if (reverse)
    buf_printf(w->out, ".flip(%lld)", (long long)axis);
  if (exclusive) {
    buf_puts(w->out, " - ");
    put_input(w, n, 0);
  }
}

static void emit_batch_norm(struct writer *w, const struct node *n) {
  if (node_int(n, "training_mode", 0))
    put_template(w, n, "F.batch_norm($0, None, None, $1, $2, training=True, eps={epsilon})");
  else
    put_template(w, n, "F.batch_norm($0, $3, $4, $1, $2, eps={epsilon})");
}

static void emit_layer_norm(struct writer *w, const struct node *n) {
  buf_puts(w->out, "F.layer_norm(");
  put_input(w, n, 0);
  buf_puts(w->out, ", ");
  put_input(w, n, 1);
  put_template(w, n, ".shape, $1, $2, eps={epsilon})");
  int64_t axis = node_int(n, "axis", -1);
  int rank = rank_of(w, n->inputs[0]), scale = rank_of(w, n->inputs[1]);
  w->complete = w->complete && scale == (axis < 0 ? -axis : rank - axis);
}

static void emit_arg(struct writer *w, const struct node *n) {
  buf_printf(w->out, "torch.%s(", n->op_type[3] == 'M' && n->op_type[4] == 'a' ? "argmax" : "argmin");
  put_template(w, n, "$0, dim={axis}, keepdim=");
  buf_puts(w->out, node_int(n, "keepdims", 1) ? "True)" : "False)");
  w->complete = w->complete && !node_int(n, "select_last_index", 0);
}

static void emit_cast(struct writer *w, const struct node *n) {
  enum dtype t = DTYPE_FLOAT;
  dtype_by_number(node_int(n, "to", 1), &t);
  put_input(w, n, 0);
  buf_printf(w->out, ".to(torch.%s)", t == DTYPE_FLOAT ? "float32" : t == DTYPE_DOUBLE ? "float64" : dtype_name(t));
}

static void emit_clip(struct writer *w, const struct node *n) {
  put_template(w, n, "torch.clamp($0, min=$1, max=$2)");
}

// To a matrix: the dimensions before the axis, and those from it on.
static void emit_flatten(struct writer *w, const struct node *n) {
  int rank = rank_of(w, n->inputs[0]);
  int64_t axis = node_int(n, "axis", 1);
  axis += axis < 0 ? rank : 0;
  w->complete = w->complete && axis < rank;
  put_template(w, n, axis == 0 ? "$0.reshape(1, -1)" : "$0.flatten(");
  if (axis > 0)
    buf_printf(w->out, "%lld)", (long long)axis);
  if (axis > 1)
    buf_printf(w->out, ".flatten(0, %lld)", (long long)axis - 1);
}

// An operand of attention with its heads in the second dimension.
static void put_heads(struct writer *w, const struct node *n, int i) {
  put_input(w, n, i);
  if (rank_of(w, n->inputs[i]) == 3)
    buf_printf(w->out, ".unflatten(2, (%lld, -1)).transpose(1, 2)",
               (long long)node_int(n, i == 0 ? "q_num_heads" : "kv_num_heads", 1));
}

static void emit_attention(struct writer *w, const struct node *n) {
  enum { OPERANDS = 3, MASK = 3 };
  for (int i = MASK + 1; i < n->n_inputs; i++)
    w->complete = w->complete && !node_has_input(n, i);
  w->complete = w->complete && n->n_outputs == 1 && node_float(n, "softcap", 0) == 0 &&
                node_int(n, "q_num_heads", 1) == node_int(n, "kv_num_heads", 1);
  buf_puts(w->out, "F.scaled_dot_product_attention(");
  for (int i = 0; i < OPERANDS; i++) {
    buf_puts(w->out, i ? ", " : "");
    put_heads(w, n, i);
  }
  if (node_has_input(n, MASK))
    put_template(w, n, ", attn_mask=$3");
  if (node_int(n, "is_causal", 0))
    buf_puts(w->out, ", is_causal=True");
  if (node_attr(n, "scale"))
    put_template(w, n, ", scale={scale}");
  buf_puts(w->out, rank_of(w, n->inputs[0]) == 3 ? ").transpose(1, 2).flatten(2)" : ")");
}

static void emit_trilu(struct writer *w, const struct node *n) {
  buf_puts(w->out, node_int(n, "upper", 1) ? "torch.triu(" : "torch.tril(");
  put_input(w, n, 0);
  if (node_has_input(n, 1)) {
    buf_puts(w->out, ", ");
    put_input(w, n, 1);
  }
  buf_puts(w->out, ")");
}

static void emit_gelu(struct writer *w, const struct node *n) {
  put_template(w, n, "F.gelu($0, approximate={approximate})");
  w->complete = w->complete && node_attr(n, "approximate") != NULL;
}

static void emit_gelu_any(struct writer *w, const struct node *n) {
  if (node_attr(n, "approximate"))
    emit_gelu(w, n);
  else
    put_template(w, n, "F.gelu($0)");
}

// torch.maximum and torch.minimum take tensors only.
static void put_operand(struct writer *w, const struct node *n, int i) {
  const struct tensor *t = w->g->values[n->inputs[i]].constant;
  bool number = t && t->shape.rank == 0;
  buf_puts(w->out, number ? "torch.tensor(" : "");
  put_input(w, n, i);
  buf_puts(w->out, number ? ")" : "");
}

static void emit_max_min(struct writer *w, const struct node *n) {
  const char *function = n->op_type[1] == 'a' ? "torch.maximum" : "torch.minimum";
  for (int i = 1; i < n->n_inputs; i++)
    buf_printf(w->out, "%s(", function);
  put_operand(w, n, 0);
  for (int i = 1; i < n->n_inputs; i++) {
    buf_puts(w->out, ", ");
    put_operand(w, n, i);
    buf_puts(w->out, ")");
  }
}

static void emit_shape(struct writer *w, const struct node *n) {
  buf_puts(w->out, "torch.tensor(");
  put_input(w, n, 0);
  buf_printf(w->out, ".shape[%lld:", (long long)node_int(n, "start", 0));
  if (node_attr(n, "end"))
    buf_printf(w->out, "%lld", (long long)node_int(n, "end", 0));
  buf_puts(w->out, "])");
}

static void emit_constant_of_shape(struct writer *w, const struct node *n) {
  const struct attr *a = node_attr(n, "value");
  double value = 0;
  if (a && a->tensor && dtype_is_float(a->tensor->dtype))
    dtype_to_f64(a->tensor->dtype, a->tensor->data, 1, &value);
  w->complete = w->complete && (!a || (a->tensor && dtype_is_float(a->tensor->dtype)));
  buf_puts(w->out, "torch.full(tuple(");
  put_input(w, n, 0);
  buf_puts(w->out, ".tolist()), ");
  put_float(w, value);
  buf_puts(w->out, value == floor(value) ? ".0)" : ")");
}

// Of one axis: `[:, :, `, to be followed by an index and `]`.
static void put_indexed(struct writer *w, const struct node *n, int64_t axis) {
  put_input(w, n, 0);
  buf_puts(w->out, "[");
  for (int64_t d = 0; d < (axis < 0 ? axis + rank_of(w, n->inputs[0]) : axis); d++)
    buf_puts(w->out, ":, ");
}

static void emit_gather(struct writer *w, const struct node *n) {
  int64_t index[SHAPE_MAX_RANK];
  int count = constant_ints(w, n, 1, index, SHAPE_MAX_RANK), rank = rank_of(w, n->inputs[1]);
  put_indexed(w, n, node_int(n, "axis", 0));
  if (count < 1 || rank > 1) {
    put_input(w, n, 1);
  } else {
    buf_puts(w->out, rank ? "[" : "");
    for (int i = 0; i < count; i++)
      buf_printf(w->out, "%s%lld", i ? ", " : "", (long long)index[i]);
    buf_puts(w->out, rank ? "]" : "");
  }
  buf_puts(w->out, "]");
}

// Element k of an input with starts or ends; nothing where it is as far as it goes.
static void put_bound(struct writer *w, const struct node *n, int input, int k) {
  int64_t bounds[SHAPE_MAX_RANK];
  int count = constant_ints(w, n, input, bounds, SHAPE_MAX_RANK);
  if (count < 0) {
    buf_puts(w->out, "int(");
    put_input(w, n, input);
    buf_printf(w->out, "[%d])", k);
  } else if (bounds[k] < INT32_MAX && (bounds[k] || input > 1)) {
    buf_printf(w->out, "%lld", (long long)bounds[k]);
  }
}

// The parts of each axis that is named, all of the others. Steps backwards have no such form in PyTorch.
static void emit_slice(struct writer *w, const struct node *n) {
  int64_t axes[SHAPE_MAX_RANK], steps[SHAPE_MAX_RANK];
  int rank = rank_of(w, n->inputs[0]);
  int n_axes = constant_ints(w, n, 3, axes, SHAPE_MAX_RANK), n_steps = constant_ints(w, n, 4, steps, SHAPE_MAX_RANK);
  bool forward = n_steps >= 0 || !node_has_input(n, 4);
  for (int k = 0; k < n_steps; k++)
    forward = forward && steps[k] > 0;
  w->complete = w->complete && n->n_inputs > 2 && n_axes >= 0 && forward;
  put_input(w, n, 0);
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

static void emit_split(struct writer *w, const struct node *n) {
  int64_t sizes[64];
  int count = constant_ints(w, n, 1, sizes, 64);
  w->complete = w->complete && (count >= 0 || !node_has_input(n, 1));
  put_input(w, n, 0);
  if (count >= 0) {
    buf_puts(w->out, ".split(");
    put_ints(w, sizes, (size_t)count);
  } else {
    buf_printf(w->out, ".chunk(%d", n->n_outputs);
  }
  buf_printf(w->out, ", dim=%lld)", (long long)node_int(n, "axis", 0));
}

// Zeros, or another constant, around each dimension. PyTorch counts them from the last dimension on.
static void emit_pad(struct writer *w, const struct node *n) {
  int64_t pads[2 * SHAPE_MAX_RANK], turned[2 * SHAPE_MAX_RANK];
  int rank = rank_of(w, n->inputs[0]), count = constant_ints(w, n, 1, pads, 2 * SHAPE_MAX_RANK);
  bool all = count == 2 * rank && !node_has_input(n, 3) && strcmp(node_string(n, "mode", "constant"), "constant") == 0;
  w->complete = w->complete && all;
  for (int d = 0; d < rank && all; d++) {
    turned[2 * (rank - 1 - d)] = pads[d];
    turned[2 * (rank - 1 - d) + 1] = pads[rank + d];
  }
  buf_puts(w->out, "F.pad(");
  put_input(w, n, 0);
  buf_puts(w->out, ", ");
  put_ints(w, turned, all ? (size_t)count : 0);
  if (node_has_input(n, 2))
    put_template(w, n, ", value=$2");
  buf_puts(w->out, ")");
}

static void emit_constant(struct writer *w, const struct node *n) {
  const struct array *a = &w->values[n->outputs[0]];
  int64_t count = shape_count(&a->shape);
  bool floating = dtype_is_float(a->dtype);
  if (!a->bits || a->shape.rank > 1 || count > 64) {
    w->complete = false;
    buf_puts(w->out, "None  # a constant tensor");
    return;
  }
  buf_puts(w->out, a->shape.rank ? "torch.tensor([" : "torch.tensor(");
  for (int64_t i = 0; i < count; i++) {
    buf_puts(w->out, i ? ", " : "");
    if (floating)
      put_float(w, a->f64[i]);
    else
      buf_printf(w->out, "%lld", (long long)a->i64[i]);
  }
  buf_puts(w->out, a->shape.rank ? "])" : ")");
}

// Printed in front of a module with recurrent nodes.
static const char recurrent_helper[] =
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

static bool is_recurrent(const struct node *n) {
  return strcmp(n->op_type, "RNN") == 0 || strcmp(n->op_type, "LSTM") == 0 || strcmp(n->op_type, "GRU") == 0;
}

static void emit_recurrent(struct writer *w, const struct node *n) {
  bool lstm = n->op_type[0] == 'L', gru = n->op_type[0] == 'G';
  bool usual = !node_attr(n, "activations") && !node_attr(n, "clip") && !node_int(n, "layout", 0) &&
               !node_int(n, "input_forget", 0) && (!gru || node_int(n, "linear_before_reset", 0)) &&
               strcmp(node_string(n, "direction", "forward"), "reverse") != 0 && !node_has_input(n, 4) &&
               !node_has_input(n, 7);
  w->complete = w->complete && usual;
  buf_printf(w->out, "recurrent(torch.%s, ", lstm ? "lstm" : gru ? "gru" : "rnn_tanh");
  put_template(w, n, lstm ? "(0, 2, 3, 1), " : gru ? "(1, 0, 2), " : "(0,), ");
  put_template(w, n, lstm ? "$0, $1, $2, $3, $5, $6)" : "$0, $1, $2, $3, $5)");
}

static const struct translation translations[] = {
    {"Add", "$0 + $1", NULL},
    {"Sub", "$0 - $1", NULL},
    {"Mul", "$0 * $1", NULL},
    {"Div", "$0 / $1", NULL},
    {"Neg", "-$0", NULL},
    {"Abs", "torch.abs($0)", NULL},
    {"Sqrt", "torch.sqrt($0)", NULL},
    {"Exp", "torch.exp($0)", NULL},
    {"Log", "torch.log($0)", NULL},
    {"Erf", "torch.erf($0)", NULL},
    {"Pow", "torch.pow($0, $1)", NULL},
    {"Max", NULL, emit_max_min},
    {"Min", NULL, emit_max_min},
    {"Less", "$0 < $1", NULL},
    {"Greater", "$0 > $1", NULL},
    {"Equal", "$0 == $1", NULL},
    {"Not", "~$0", NULL},
    {"Where", "torch.where($0, $1, $2)", NULL},
    {"Identity", "$0", NULL},
    {"Relu", "torch.relu($0)", NULL},
    {"LeakyRelu", "F.leaky_relu($0, negative_slope={alpha})", NULL},
    {"Sigmoid", "torch.sigmoid($0)", NULL},
    {"Tanh", "torch.tanh($0)", NULL},
    {"Elu", "F.elu($0, alpha={alpha})", NULL},
    {"Selu", "F.selu($0)", NULL},
    {"Gelu", NULL, emit_gelu_any},
    {"Softplus", "F.softplus($0)", NULL},
    {"Softsign", "F.softsign($0)", NULL},
    {"HardSigmoid", "torch.clamp({alpha} * $0 + {beta}, 0, 1)", NULL},
    {"HardSwish", "F.hardswish($0)", NULL},
    {"Mish", "F.mish($0)", NULL},
    {"Clip", NULL, emit_clip},
    {"Flatten", NULL, emit_flatten},
    {"Attention", NULL, emit_attention},
    {"Expand", "$0.expand(torch.broadcast_shapes(tuple($0.shape), tuple($1.tolist())))", NULL},
    {"SpaceToDepth",
     "$0.unflatten(3, (-1, {blocksize})).unflatten(2, (-1, {blocksize})).permute(0, 3, 5, 1, 2, 4).flatten(1, 3)", NULL},
    {"Softmax", "torch.softmax($0, dim={axis})", NULL},
    {"LogSoftmax", "torch.log_softmax($0, dim={axis})", NULL},
    {"MatMul", "torch.matmul($0, $1)", NULL},
    {"Gemm", NULL, emit_gemm},
    {"Einsum", "torch.einsum({equation}, $*)", NULL},
    {"Transpose", "$0.permute({perm})", NULL},
    {"Reshape", NULL, emit_reshape},
    {"Squeeze", NULL, emit_squeeze},
    {"Unsqueeze", NULL, emit_unsqueeze},
    {"Concat", "torch.cat(($*), dim={axis})", NULL},
    {"Cast", NULL, emit_cast},
    {"Trilu", NULL, emit_trilu},
    {"Shape", NULL, emit_shape},
    {"ConstantOfShape", NULL, emit_constant_of_shape},
    {"Conv", NULL, emit_conv},
    {"ConvTranspose", NULL, emit_conv},
    {"MaxPool", NULL, emit_pool},
    {"AveragePool", NULL, emit_pool},
    {"GlobalAveragePool", "$0.mean(dim=tuple(range(2, $0.dim())), keepdim=True)", NULL},
    {"ReduceSum", NULL, emit_reduce},
    {"ReduceMean", NULL, emit_reduce},
    {"ReduceMax", NULL, emit_reduce},
    {"ReduceMin", NULL, emit_reduce},
    {"ReduceL2", NULL, emit_reduce},
    {"ReduceLogSumExp", NULL, emit_reduce},
    {"CumSum", NULL, emit_cumulative},
    {"CumProd", NULL, emit_cumulative},
    {"ArgMax", NULL, emit_arg},
    {"ArgMin", NULL, emit_arg},
    {"BatchNormalization", NULL, emit_batch_norm},
    {"InstanceNormalization", "F.instance_norm($0, weight=$1, bias=$2, eps={epsilon})", NULL},
    {"GroupNormalization", "F.group_norm($0, {num_groups}, $1, $2, eps={epsilon})", NULL},
    {"LayerNormalization", NULL, emit_layer_norm},
    {"Split", NULL, emit_split},
    {"Slice", NULL, emit_slice},
    {"Gather", NULL, emit_gather},
    {"Pad", NULL, emit_pad},
    {"Constant", NULL, emit_constant},
    {"RNN", NULL, emit_recurrent},
    {"LSTM", NULL, emit_recurrent},
    {"GRU", NULL, emit_recurrent},
    {"SoftmaxCrossEntropyLoss", "F.cross_entropy($0, $1, reduction={reduction})", NULL},
};

// The names that a node's expression is assigned to: the first output's, or where it is a tuple, those of all.
static void put_targets(struct writer *w, const struct node *n) {
  bool tuple = is_recurrent(n) || strcmp(n->op_type, "Split") == 0;
  int count = !tuple ? 1 : is_recurrent(n) ? n->op->max_out : n->n_outputs;
  buf_puts(w->out, "        ");
  for (int i = 0; i < count; i++) {
    if (i < n->n_outputs && n->outputs[i] >= 0)
      put_value(w, n->outputs[i]);
    else
      buf_puts(w->out, "_");
    buf_puts(w->out, i + 1 < count ? ", " : tuple && count == 1 ? "," : "");
  }
  buf_puts(w->out, " = ");
}

static const struct translation *translation_of(const struct node *n) {
  for (size_t i = 0; i < sizeof translations / sizeof *translations; i++)
    if (strcmp(translations[i].op, n->op_type) == 0)
      return &translations[i];
  return NULL;
}

static void put_node(struct writer *w, const struct node *n) {
  const struct translation *t = translation_of(n);
  put_targets(w, n);
  if (t && t->emit)
    t->emit(w, n);
  else if (t)
    put_template(w, n, t->text);
  else
    buf_printf(w->out, "None  # %s has no translation here", n->op_type);
  w->complete = w->complete && t;
  buf_puts(w->out, "\n");
}

// A draw of an input in PyTorch, close to the task's distribution; Assay's own inputs come from its own generator.
static void put_draw(struct writer *w, const struct distribution *d, const struct workload *load,
                     const struct array *a) {
  double lo = d->a, hi = d->b;
  for (int i = 0; i < load->n; i++) {
    if (d->a_symbol && strcmp(d->a_symbol, load->bindings[i].symbol) == 0)
      lo = (double)load->bindings[i].value;
    if (d->b_symbol && strcmp(d->b_symbol, load->bindings[i].symbol) == 0)
      hi = (double)load->bindings[i].value;
  }
  struct buf shape = {0};
  buf_puts(&shape, "(");
  for (int i = 0; i < a->shape.rank; i++)
    buf_printf(&shape, "%lld, ", (long long)a->shape.dims[i]);
  buf_puts(&shape, ")");
  bool wrapped = d->triu || d->tril || d->softmax;
  buf_puts(w->out, wrapped ? "(" : "");
  switch (d->kind) {
  case DIST_UNIFORM:
    buf_printf(w->out, "torch.empty(%s).uniform_(%.9g, %.9g)", buf_str(&shape), lo, hi);
    break;
  case DIST_NORMAL:
    buf_printf(w->out, "torch.empty(%s).normal_(%.9g, %.9g)", buf_str(&shape), lo, hi);
    break;
  case DIST_CONSTANT:
    buf_printf(w->out, "torch.full(%s, %.9g)", buf_str(&shape), lo);
    break;
  case DIST_INTEGERS:
    buf_printf(w->out, "torch.randint(%.0f, %.0f, %s)", lo, hi, buf_str(&shape));
    break;
  case DIST_BERNOULLI:
    buf_printf(w->out, "torch.rand(%s) < %.9g", buf_str(&shape), lo);
    break;
  case DIST_SLASH: // one uniform draw over another: heavy tails
    buf_printf(w->out, "torch.empty(%s).uniform_(%.9g, %.9g) / (1 - torch.rand(%s))", buf_str(&shape), -lo, lo,
               buf_str(&shape));
    break;
  case DIST_SIGNS:
    buf_printf(w->out, "torch.randint(0, 2, %s) * 2.0 - 1.0", buf_str(&shape));
    break;
  }
  buf_release(&shape);
  if (d->scaled)
    buf_printf(w->out, " * torch.empty(()).uniform_(%.9g, %.9g)", d->scale_lo, d->scale_hi);
  buf_puts(w->out, wrapped ? ")" : "");
  buf_printf(w->out, "%s%s%s", d->triu ? ".triu()" : "", d->tril ? ".tril()" : "", d->softmax ? ".softmax(-1)" : "");
}

// Draws of all weights, or of all other inputs, a line each.
static void put_draws(struct writer *w, const struct workload *load, const struct array *inputs, bool weights) {
  for (int i = 0; i < w->task->n_inputs; i++) {
    const struct distribution *d = &w->task->inputs[i].distribution;
    if (d->is_static != weights)
      continue;
    buf_puts(w->out, "    ");
    put_value(w, w->g->inputs[i]);
    buf_puts(w->out, " = ");
    put_draw(w, d, load, &inputs[i]);
    buf_puts(w->out, "\n");
    if (d->symmetric) {
      buf_puts(w->out, "    ");
      put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " = (");
      put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " + ");
      put_value(w, w->g->inputs[i]);
      buf_puts(w->out, ".mT) / 2\n");
    }
  }
}

// The names of all weights, or of all other inputs, each with `before` in front, separated by commas.
static int put_names(struct writer *w, bool weights, const char *before) {
  int n = 0;
  for (int i = 0; i < w->task->n_inputs; i++)
    if (w->task->inputs[i].distribution.is_static == weights) {
      buf_printf(w->out, "%s%s", n++ ? ", " : "", before);
      put_value(w, w->g->inputs[i]);
    }
  return n;
}

static void put_module(struct writer *w) {
  bool weights = false, recurs = false;
  for (int i = 0; i < w->g->n_nodes; i++)
    recurs = recurs || is_recurrent(&w->g->nodes[i]);
  buf_puts(w->out, "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n");
  buf_puts(w->out, recurs ? recurrent_helper : "");
  buf_printf(w->out, "class Model(nn.Module):\n    \"\"\"%s.\"\"\"\n\n    def __init__(self", w->task->title);
  for (int i = 0; i < w->task->n_inputs; i++)
    weights = weights || w->task->inputs[i].distribution.is_static;
  buf_puts(w->out, weights ? ", " : "");
  put_names(w, true, "");
  buf_puts(w->out, "):\n        super().__init__()\n");
  for (int i = 0; i < w->task->n_inputs; i++)
    if (w->task->inputs[i].distribution.is_static) {
      buf_puts(w->out, "        self.");
      put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " = nn.Parameter(");
      put_value(w, w->g->inputs[i]);
      buf_puts(w->out, ")\n");
    }
  buf_puts(w->out, "\n    def forward(self, ");
  put_names(w, false, "");
  buf_puts(w->out, "):\n");
  for (int i = 0; i < w->task->n_inputs; i++)
    if (w->task->inputs[i].distribution.is_static) {
      buf_puts(w->out, "        ");
      put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " = self.");
      put_value(w, w->g->inputs[i]);
      buf_puts(w->out, "\n");
    }
  for (int i = 0; i < w->g->n_nodes; i++)
    put_node(w, &w->g->nodes[i]);
  buf_puts(w->out, "        return ");
  for (int i = 0; i < w->g->n_outputs; i++) {
    buf_puts(w->out, i ? ", " : "");
    put_value(w, w->g->outputs[i]);
  }
  buf_puts(w->out, "\n");
}

static void put_functions(struct writer *w, const struct workload *load, const struct array *inputs) {
  buf_printf(w->out, "\n\ndef get_inputs():  # workload %s\n", load->name);
  put_draws(w, load, inputs, false);
  buf_puts(w->out, "    return [");
  put_names(w, false, "");
  buf_puts(w->out, "]\n\n\ndef get_init_inputs():\n");
  put_draws(w, load, inputs, true);
  buf_puts(w->out, "    return [");
  put_names(w, true, "");
  buf_puts(w->out, "]\n");
}

enum assay_status report_pytorch(const struct task *t, const struct workload *w, struct buf *out, bool *complete,
                                 struct assay_error *err) {
  struct writer writer = {.task = t, .g = &t->model.flat, .out = out, .complete = true};
  struct array *inputs = base_calloc((size_t)t->n_inputs + 1, sizeof *inputs);
  struct arena arena = {0};
  struct graph_shapes shapes;
  enum assay_status status = inputs ? task_input_shapes(t, w, inputs, err) : error_nomem(err, "a module");
  if (!status)
    status = oracle_infer(&t->model.flat, inputs, &arena, &shapes, err);
  if (!status) {
    writer.values = shapes.values;
    put_module(&writer);
    put_functions(&writer, w, inputs);
    *complete = writer.complete;
    status = buf_status(out, err);
  }
  arena_release(&arena);
  base_free(inputs);
  return status;
}
