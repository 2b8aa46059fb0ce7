// SPDX-License-Identifier: Apache-2.0
// What PROBE_OPPOSED scales: of sums of products the dimension that is summed over, up in one factor where it is down
// in the other. Factors that are inputs have the scales themselves; what is computed has them from the inputs that make
// it (opposed_back.c), as far as whatever else uses it gets the inverses, too. So the sums stay what they would be.
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "oracle/run.h"
#include "task/drawing.h"
#include "task/metadata.h"
#include "task/opposed.h"

// Scales are 2^-MOST_REACH to 2^MOST_REACH; below LEAST_REACH they say little. Windows slide, so that most outputs are
// not those whose scales meet their inverses, and become large: they are scaled where these outputs are judged as they
// are. A function of them would hide the others.
enum { MOST_REACH = 12, WINDOW_REACH = 8, LEAST_REACH = 4 };

void *opposed_calloc(struct opposing *o, int64_t n, size_t size) {
  void *p = arena_calloc(o->arena, (size_t)n + 1, size);
  o->no_memory = o->no_memory || !p;
  return p;
}

static int32_t find(const struct opposing *o, int32_t number) {
  while (o->united[number] != number)
    number = o->united[number];
  return number;
}

void opposed_unite(struct opposing *o, int32_t a, int32_t b) {
  a = find(o, a);
  b = find(o, b);
  o->united[a > b ? a : b] = a > b ? b : a;
}

bool opposed_mark(struct opposing *o, struct opposed_mark *out) {
  const size_t n = (size_t)(o->n_numbers - o->first);
  *out = (struct opposed_mark){o->n_ends, opposed_calloc(o, (int64_t)n, sizeof *out->united)};
  if (out->united)
    memcpy(out->united, o->united + o->first, n * sizeof *out->united);
  return out->united != NULL;
}

void opposed_restore(struct opposing *o, const struct opposed_mark *m) {
  o->n_ends = m->n_ends;
  memcpy(o->united + o->first, m->united, (size_t)(o->n_numbers - o->first) * sizeof *m->united);
}

// n numbers that are new. NULL: no memory.
static int32_t *new_numbers(struct opposing *o, int64_t n) {
  int32_t *numbers = opposed_calloc(o, n, sizeof *numbers);
  while (numbers && (size_t)(o->n_numbers + n) > o->capacity) {
    void *grown = arena_grow(o->arena, o->united, (size_t)o->n_numbers, &o->capacity, sizeof *o->united);
    o->no_memory = o->no_memory || !grown;
    if (!grown)
      return NULL;
    o->united = grown;
  }
  for (int64_t i = 0; numbers && i < n; i++) {
    numbers[i] = o->n_numbers;
    o->united[o->n_numbers] = o->n_numbers;
    o->n_numbers++;
  }
  return numbers;
}

// So that normal numbers times the scales are finite, and few of them subnormal. `times`: so many scales at most.
static int reach_of(enum dtype type, int times) {
  struct float_format f;
  if (!dtype_float_format(type, &f) || f.powers_alone)
    return 0;
  const int reach = (-f.min_exponent - 2) / times;
  return reach < MOST_REACH ? reach : MOST_REACH;
}

static void limit(struct opposing *o, int reach) {
  o->reach = reach < o->reach ? reach : o->reach;
}

// Whether scales stay what they are in this input: not where rows are normalised after them, or numbers are folded.
static bool can_scale(const struct task *t, int i) {
  const struct distribution *d = &t->inputs[i].distribution;
  const bool folded = !d->is_static && d->fold != FOLD_NONE && (d->fold != FOLD_ABOVE || d->fold_lo != 0);
  return task_is_free(t, i, true) && !folded && !d->softmax && !d->regular && !d->definite;
}

static bool add_end(struct opposing *o, int input, int axis, const struct opposed_place *p) {
  if (o->n_ends == o->capacity_ends) {
    void *grown = arena_grow(o->arena, o->ends, o->n_ends, &o->capacity_ends, sizeof *o->ends);
    o->no_memory = o->no_memory || !grown;
    if (!grown)
      return false;
    o->ends = grown;
  }
  o->ends[o->n_ends++] = (struct opposed_end){input, axis, p->sign, p->numbers};
  return true;
}

static bool end_at_input(struct opposing *o, const struct opposed_place *p) {
  const struct graph *g = &o->t->model.flat;
  const struct shape *s = &o->values[p->value].shape;
  int input = -1;
  for (int i = 0; i < g->n_inputs; i++)
    if (g->inputs[i] == p->value)
      input = i;
  // A weight that something else has a use for would change that.
  const bool taken = p->shared && (p->computed || (input >= 0 && o->t->inputs[input].distribution.is_static));
  if (input < 0 || taken || !can_scale(o->t, input))
    return false;
  // Symmetric matrices: rows are scaled as columns are.
  const bool twice = o->t->inputs[input].distribution.symmetric && p->axis >= s->rank - 2;
  if (twice)
    limit(o, reach_of(o->values[p->value].dtype, 2));
  return add_end(o, input, p->axis, p) && (!twice || add_end(o, input, 2 * s->rank - 3 - p->axis, p));
}

static bool all_one(const struct opposing *o, const struct opposed_place *p) {
  const int64_t n = opposed_extent(o, p->value, p->axis);
  for (int64_t i = 0; i < n; i++)
    if (find(o, p->numbers[i]) != OPPOSED_ONE)
      return false;
  return true;
}

static bool follow_on(struct opposing *o, const struct opposed_place *p) {
  const struct graph *g = &o->t->model.flat;
  const struct value *v = &g->values[p->value];
  limit(o, reach_of(o->values[p->value].dtype, p->computed ? 2 : 1));
  if (v->producer < 0)
    return end_at_input(o, p);
  const struct node *n = &g->nodes[v->producer];
  return (n->outputs[0] == p->value || strcmp(n->op_type, "Split") == 0) && opposed_step_back(o, n, *p);
}

static bool follow(struct opposing *o, const struct opposed_place *p) {
  struct opposed_mark m;
  if (all_one(o, p))
    return true;
  if (!opposed_mark(o, &m))
    return false;
  if (follow_on(o, p))
    return true;
  opposed_restore(o, &m);
  return false;
}

bool opposed_follow(struct opposing *o, struct opposed_place p) {
  p.shared = p.shared || o->users[p.value] > 1;
  return follow(o, &p);
}

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

// Numbers of the first factor's indices, given those of the second's: which of these they meet.
static const int32_t *met_by(struct opposing *o, const struct op_contracted *c, const int32_t *numbers, int64_t n) {
  if (c->period == 0)
    return numbers;
  const int64_t out = c->outs > 0 ? (int64_t)(rng_secret(o->key, (uint64_t)o->first) % (uint64_t)c->outs) : 0;
  int32_t *met = opposed_calloc(o, n, sizeof *met);
  for (int64_t i = 0; met && i < n; i++) {
    const int64_t at = floor_div(c->times * i + c->plus + out * c->step, c->over);
    met[i] = numbers[at - floor_div(at, c->period) * c->period];
  }
  return met;
}

// Shapes of a node's inputs, for what an operator says of itself.
static bool contracted(const struct opposing *o, const struct node *n, int which, struct op_contracted *out) {
  const struct array *in[OP_CONTRACTED_INPUTS + 8] = {NULL};
  if (n->op->class != OP_CONTRACTION || !n->op->contracted || n->n_inputs > OP_CONTRACTED_INPUTS + 8)
    return false;
  for (int i = 0; i < n->n_inputs; i++)
    in[i] = n->inputs[i] < 0 ? NULL : &o->values[n->inputs[i]];
  const struct op_infer c = {.node = n, .n_in = n->n_inputs, .n_out = n->n_outputs, .in = in};
  if (!in[0] || !in[1] || !n->op->contracted(&c, which, out))
    return false;
  for (int k = 0; k < 2; k++)
    if (out->axis[k] < 0 || out->axis[k] >= in[k]->shape.rank)
      return false;
  return out->period != 0 || in[0]->shape.dims[out->axis[0]] == in[1]->shape.dims[out->axis[1]];
}

// Whoever else multiplies the place's value and sums over the same dimension: what it is multiplied by gets the
// inverses, if it can. All others share the value.
static void follow_partners(struct opposing *o, const struct node *own, struct opposed_place *p) {
  const struct graph *g = &o->t->model.flat;
  int others = o->users[p->value] - 1;
  for (int i = 0; i < g->n_nodes && others > 0; i++) {
    const struct node *n = &g->nodes[i];
    struct op_contracted c;
    if (n == own || !contracted(o, n, 0, &c) || c.period != 0)
      continue;
    for (int k = 0; k < 2; k++)
      if (n->inputs[k] == p->value && c.axis[k] == p->axis && n->inputs[!k] != p->value) {
        struct opposed_place q = {.value = n->inputs[!k], .axis = c.axis[!k], .numbers = p->numbers, .sign = -p->sign};
        others -= opposed_follow(o, q);
      }
  }
  p->shared = others > 0;
}

static double factor_of(const struct opposing *o, int32_t number, int reach) {
  uint32_t w[4];
  philox4x32(o->key, (uint64_t)number >> 2, STREAM_OPPOSED, w);
  return drawing_power(reach * (2 * ((double)(w[number & 3] >> 8) * 0x1p-24) - 1));
}

static double **factors_at(const struct opposing *o, const struct opposed_end *e) {
  return &o->factors[e->input * SHAPE_MAX_RANK + e->axis];
}

static int64_t extent_of(const struct opposing *o, const struct opposed_end *e) {
  return opposed_extent(o, o->t->model.flat.inputs[e->input], e->axis);
}

// Takes back what ends before `n` have put there.
static void take_back(const struct opposing *o, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (int64_t k = 0; k < extent_of(o, &o->ends[i]); k++)
      if (find(o, o->ends[i].numbers[k]) != OPPOSED_ONE)
        (*factors_at(o, &o->ends[i]))[k] = 0;
}

// False: some index has another scale already.
static bool put_end(struct opposing *o, const struct opposed_end *e, int reach) {
  double **to = factors_at(o, e);
  const int64_t n = extent_of(o, e);
  if (!*to)
    *to = opposed_calloc(o, n, sizeof **to);
  for (int64_t k = 0; *to && k < n; k++)
    if (find(o, e->numbers[k]) != OPPOSED_ONE && (*to)[k] != 0)
      return false;
  for (int64_t k = 0; *to && k < n; k++) {
    const int32_t number = find(o, e->numbers[k]);
    if (number != OPPOSED_ONE)
      (*to)[k] = factor_of(o, number, e->sign * reach);
  }
  return *to != NULL;
}

// As far as the types have room beside other scales of the same inputs.
static int room(const struct opposing *o) {
  int reach = o->reach;
  for (size_t i = 0; i < o->n_ends; i++) {
    struct float_format f;
    const int input = o->ends[i].input;
    dtype_float_format(o->values[o->t->model.flat.inputs[input]].dtype, &f);
    const int left = -f.min_exponent - 2 - o->used[input];
    reach = left < reach ? left : reach;
  }
  return reach;
}

// All ends or none.
static void put(struct opposing *o) {
  const int reach = room(o);
  if (reach < LEAST_REACH || o->n_ends < 2)
    return;
  for (size_t i = 0; i < o->n_ends; i++)
    if (!put_end(o, &o->ends[i], reach)) {
      take_back(o, i);
      return;
    }
  for (size_t i = 0; i < o->n_ends; i++)
    o->used[o->ends[i].input] += reach;
}

static bool is_varied(const struct opposing *o, const int32_t *numbers, int64_t n) {
  for (int64_t i = 1; i < n; i++)
    if (find(o, numbers[i]) != find(o, numbers[0]))
      return true;
  return false;
}

// Both factors of a node's products, along one dimension.
static void oppose(struct opposing *o, const struct node *n, const struct op_contracted *c) {
  const int64_t extent = opposed_extent(o, n->inputs[1], c->axis[1]);
  if (n->inputs[0] == n->inputs[1] || extent < 2)
    return;
  o->n_ends = 0;
  o->first = o->n_numbers;
  o->reach = c->outs > 0 ? WINDOW_REACH : MOST_REACH;
  const int32_t *numbers = new_numbers(o, extent);
  if (!numbers)
    return;
  const int up = rng_secret(o->key, (uint64_t)o->first) & 1 ? 1 : -1;
  const int32_t *met = met_by(o, c, numbers, opposed_extent(o, n->inputs[0], c->axis[0]));
  struct opposed_place p[] = {{.value = n->inputs[0], .axis = c->axis[0], .numbers = met, .sign = up},
                              {.value = n->inputs[1], .axis = c->axis[1], .numbers = numbers, .sign = -up}};
  for (int k = 0; k < 2 && met; k++)
    follow_partners(o, n, &p[k]);
  if (met && follow(o, &p[0]) && follow(o, &p[1]) && is_varied(o, numbers, extent))
    put(o);
}

static void count_users(const struct opposing *o) {
  const struct graph *g = &o->t->model.flat;
  for (int i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_inputs && !g->nodes[i].op->reads_shapes_only; k++)
      if (g->nodes[i].inputs[k] >= 0)
        o->users[g->nodes[i].inputs[k]]++;
  for (int i = 0; i < g->n_outputs; i++)
    o->users[g->outputs[i]]++;
}

int task_products(const struct task *t) {
  const struct graph *g = &t->model.flat;
  int n = 0;
  for (int i = 0; i < g->n_nodes; i++)
    n += g->nodes[i].op->class == OP_CONTRACTION;
  return n;
}

// All products of the graph, from a secret one on: what two of them want of one input, the first gets.
static void oppose_all(struct opposing *o) {
  const struct graph *g = &o->t->model.flat;
  const bool windows = task_is_products_alone(g);
  const int first = (int)(rng_secret(o->key, 0) % (uint64_t)g->n_nodes);
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[(first + i) % g->n_nodes];
    struct op_contracted c;
    for (int which = 0; contracted(o, n, which, &c); which++)
      if (windows || c.outs == 0)
        oppose(o, n, &c);
  }
}

// Whether some index has a scale; the others' become 1.
static bool finish_factors(double *factors, int64_t n) {
  bool any = false;
  for (int64_t i = 0; factors && i < n; i++) {
    any = any || factors[i] != 0;
    factors[i] = factors[i] == 0 ? 1 : factors[i];
  }
  return any;
}

// An input's scales along all dimensions that have some.
static struct draw_scales scales_of(const struct opposing *o, int input) {
  const struct shape *s = &o->values[o->t->model.flat.inputs[input]].shape;
  struct draw_scales scales = {0};
  for (int k = 0; k < s->rank; k++) {
    double *factors = o->factors[input * SHAPE_MAX_RANK + k];
    if (finish_factors(factors, s->dims[k]))
      scales.along[scales.n++] = (struct draw_scale){shape_span(s, k + 1, s->rank), s->dims[k], factors};
  }
  return scales;
}

static void find_scales(struct opposing *o, struct draw_scales *scales) {
  const struct graph *g = &o->t->model.flat;
  o->users = opposed_calloc(o, g->n_values, sizeof *o->users);
  o->used = opposed_calloc(o, g->n_inputs, sizeof *o->used);
  o->factors = opposed_calloc(o, (int64_t)g->n_inputs * SHAPE_MAX_RANK, sizeof *o->factors);
  if (o->no_memory || !new_numbers(o, 1) || g->n_nodes == 0) // number 0: OPPOSED_ONE
    return;
  count_users(o);
  oppose_all(o);
  for (int i = 0; i < g->n_inputs && !o->no_memory; i++)
    scales[i] = scales_of(o, i);
}

enum assay_status task_oppose(const struct task *t, const struct array *inputs, uint64_t key, struct arena *arena,
                              struct draw_scales **out, struct assay_error *err) {
  struct opposing o = {.t = t, .arena = arena, .key = key};
  struct graph_shapes shapes;
  struct assay_error unsaid = {0}; // shapes that disagree: whoever evaluates the graph says so
  *out = opposed_calloc(&o, t->n_inputs, sizeof **out);
  enum assay_status status = oracle_infer(&t->model.flat, inputs, arena, &shapes, &unsaid);
  o.values = shapes.values;
  if (!status && !o.no_memory)
    find_scales(&o, *out);
  o.no_memory = o.no_memory || status == ASSAY_ERR_NOMEM;
  return o.no_memory ? error_nomem(err, "scales of a task's products") : ASSAY_OK;
}

enum assay_status task_find_opposed(struct task *t, struct assay_error *err) {
  struct arena arena = {0};
  struct draw_scales *scales = NULL;
  enum assay_status status = ASSAY_OK;
  t->opposes = false;
  if (task_products(t) == 0 || t->n_workloads == 0)
    return ASSAY_OK;
  struct array *inputs = arena_calloc(&arena, (size_t)t->n_inputs + 1, sizeof *inputs);
  struct assay_error unsaid = {0};
  if (!inputs)
    status = ASSAY_ERR_NOMEM;
  else if (task_input_shapes(t, &t->workloads[0], inputs, &unsaid) == ASSAY_OK)
    status = task_oppose(t, inputs, 0, &arena, &scales, err);
  for (int i = 0; i < t->n_inputs && scales && !status; i++)
    t->opposes = t->opposes || scales[i].n > 0;
  arena_release(&arena);
  return status == ASSAY_ERR_NOMEM ? error_nomem(err, "a task's products") : ASSAY_OK;
}
