// SPDX-License-Identifier: Apache-2.0
#include "oracle/apart.h"

#include <string.h>

#include "base/error.h"
#include "ops/apart.h"
#include "oracle/run.h"

// Neighbours whose errors count for an element's scale, on either side: of its row where rows are as long (scale.c).
enum { POOLED = 8 };

struct search {
  const struct graph *g;
  const struct array *values;
  bool *inputs, *apart;
  bool *in; // of one node
  struct node_io io;
  int64_t members, halo;
};

static int64_t longest(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// Marks the inputs whose first dimension is this symbol; false where it stands anywhere else, too.
static bool mark_inputs(struct search *s, const char *symbol) {
  for (int i = 0; i < s->g->n_inputs; i++) {
    const struct value *v = &s->g->values[s->g->inputs[i]];
    s->inputs[i] = false;
    for (int d = 0; d < v->rank; d++) {
      bool same = v->dims[d].symbol && strcmp(v->dims[d].symbol, symbol) == 0;
      if (same && d > 0)
        return false;
      s->inputs[i] = s->inputs[i] || same;
    }
    s->apart[s->g->inputs[i]] = s->inputs[i];
    if (s->inputs[i])
      s->members = s->values[s->g->inputs[i]].shape.dims[0];
  }
  return true;
}

// Extents after the first are the same for all members.
static bool reads_no_batch(const struct node *n, const struct array *x) {
  int64_t start = node_int(n, "start", 0);
  return n->op->reads_shapes_only && (start < 0 ? start + x->shape.rank : start) > 0;
}

// Whether its values' first dimension is the batch, where that of its inputs is.
static bool node_is_apart(struct search *s, const struct node *n, bool *mixes) {
  bool any = false;
  int64_t halo = 0;
  for (int k = 0; k < n->n_inputs; k++) {
    s->in[k] = n->inputs[k] >= 0 && s->apart[n->inputs[k]];
    s->io.in[k] = n->inputs[k] >= 0 ? &s->values[n->inputs[k]] : NULL;
    any = any || s->in[k];
  }
  for (int k = 0; k < n->n_outputs; k++)
    s->io.out[k] = n->outputs[k] >= 0 ? s->values[n->outputs[k]] : (struct array){0};
  if (!any)
    return false;
  if (reads_no_batch(n, s->io.in[0]))
    return false;
  const struct op_infer c = {.node = n, .n_in = n->n_inputs, .n_out = n->n_outputs, .in = s->io.in, .out = s->io.out};
  op_apart_fn *fn = op_apart_of(n);
  *mixes = !fn || !fn(&c, s->in, &halo) || s->io.out[0].shape.rank < 1 || s->io.out[0].shape.dims[0] != s->members;
  s->halo = longest(s->halo, halo);
  return !*mixes;
}

static bool keeps_apart(struct search *s) {
  const struct graph *g = s->g;
  bool mixes = false;
  int64_t pooled = 0;
  for (int i = 0; i < g->n_nodes && !mixes; i++) {
    const struct node *n = &g->nodes[i];
    bool apart = node_is_apart(s, n, &mixes);
    for (int k = 0; k < n->n_outputs; k++)
      if (n->outputs[k] >= 0)
        s->apart[n->outputs[k]] = apart;
  }
  for (int o = 0; o < g->n_outputs && !mixes; o++) {
    const struct shape *y = &s->values[g->outputs[o]].shape;
    mixes = !s->apart[g->outputs[o]];
    int64_t inner = mixes ? 0 : shape_span(y, 1, y->rank);
    if (inner > 0 && (y->rank == 1 || y->dims[y->rank - 1] < POOLED))
      pooled = longest(pooled, POOLED / inner + 1);
  }
  s->halo += pooled; // what is next to other noise has another scale
  return !mixes;
}

// Whether shapes are those of the whole but for the batch, when that is shorter.
static enum assay_status holds_for_fewer(struct search *s, struct arena *arena, bool *holds, struct assay_error *err) {
  const struct graph *g = s->g;
  struct graph_shapes shapes;
  struct assay_error why = {0};
  struct array *inputs = arena_calloc(arena, (size_t)g->n_inputs + 1, sizeof *inputs);
  if (!inputs)
    return error_nomem(err, "a batch's parts");
  for (int i = 0; i < g->n_inputs; i++) {
    inputs[i] = (struct array){.dtype = s->values[g->inputs[i]].dtype, .shape = s->values[g->inputs[i]].shape};
    if (s->inputs[i])
      inputs[i].shape.dims[0]--;
  }
  enum assay_status status = oracle_infer(g, inputs, arena, &shapes, &why);
  *holds = !status;
  for (int v = 0; v < g->n_values && *holds; v++) {
    struct shape want = s->values[v].shape;
    if (s->apart[v])
      want.dims[0]--;
    *holds = shape_equal(&want, &shapes.values[v].shape);
  }
  return status == ASSAY_ERR_NOMEM ? status : ASSAY_OK;
}

enum assay_status oracle_find_apart(const struct graph *g, const struct array *values, const struct arith *contract,
                                    struct arena *arena, struct oracle_apart *out, struct assay_error *err) {
  struct search s = {.g = g, .values = values};
  bool found = false;
  s.inputs = arena_calloc(arena, (size_t)g->n_inputs + 1, sizeof *s.inputs);
  s.apart = arena_calloc(arena, (size_t)g->n_values + 1, sizeof *s.apart);
  int most = 1;
  for (int i = 0; i < g->n_nodes; i++)
    most = g->nodes[i].n_inputs > most ? g->nodes[i].n_inputs : most;
  s.in = arena_calloc(arena, (size_t)most, sizeof *s.in);
  if (!s.inputs || !s.apart || !s.in)
    return error_nomem(err, "a batch's parts");
  enum assay_status status = node_io_make(g, arena, &s.io, err);
  memset(out, 0, sizeof *out);
  for (int i = 0; i < g->n_inputs && !status && !found && contract->stored.bits == 0; i++) {
    const struct value *v = &g->values[g->inputs[i]];
    memset(s.apart, 0, (size_t)g->n_values);
    s.halo = 0;
    if (v->rank > 0 && v->dims[0].symbol && mark_inputs(&s, v->dims[0].symbol) && s.members > 1 && keeps_apart(&s))
      status = holds_for_fewer(&s, arena, &found, err);
  }
  if (!status && found)
    *out = (struct oracle_apart){.members = s.members, .inputs = s.inputs, .values = s.apart, .halo = s.halo};
  return status;
}
