// SPDX-License-Identifier: Apache-2.0
// The truth and its error scale on a device: what oracle/scale.c does. Everything stays on the device but one
// word: whether an element of a contract pass was of another class than the truth (finite, infinite, NaN).
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "oracle/cuda/fused.h"
#include "oracle/cuda/gpu_cache.h"
#include "oracle/cuda/gpu_run.h"
#include "oracle/cuda/scale_args.h"
#include "oracle/run.h"

extern const char code_deviation[], code_scale_args[], code_scale[];

static const struct device_code program = {
    "scale", (const char *const[]){GPU_COMMON_TEXTS, code_deviation, code_scale_args, code_scale, NULL}, false};

static int64_t count_of(const struct gpu_array *a) {
  return shape_count(&a->shape);
}

static enum assay_status alloc_floats(struct compute *c, int64_t n, device_ptr *out, struct assay_error *err) {
  enum assay_status status = compute_alloc(c, (size_t)n * sizeof(float), out, err);
  return status ? error_prefix(err, status, "an error scale: ") : status;
}

static struct shrink_args shrink_of(const struct gpu_array *y, device_ptr sum, device_ptr sigma,
                                    const struct arith *contract, int replicas) {
  bool power_of_two = (replicas & (replicas - 1)) == 0 && replicas > 0;
  return (struct shrink_args){.y = y->data,
                              .sum = sum,
                              .sigma = sigma,
                              .n = count_of(y),
                              .row = y->shape.rank ? y->shape.dims[y->shape.rank - 1] : 1,
                              .replicas = replicas,
                              .inverse = power_of_two ? 1.0 / replicas : 0,
                              .unit = ldexp(1, -contract->bits)};
}

// Turns the sums of deviations in *sigma into the scale.
static enum assay_status finish_scale(struct compute *c, const struct gpu_array *y, device_ptr *sigma,
                                      const struct arith *contract, int replicas, struct assay_error *err) {
  device_ptr scale;
  int64_t n = count_of(y);
  enum assay_status status = alloc_floats(c, n, &scale, err);
  if (status)
    return status;
  struct shrink_args args = shrink_of(y, *sigma, scale, contract, replicas);
  status = compute_launch(c, &program, "shrink", (n + SHRINK_EACH - 1) / SHRINK_EACH, &args, sizeof args, err);
  compute_free(c, status ? scale : *sigma);
  if (!status)
    *sigma = scale;
  return status;
}

// Words that passes set: where one is of another class than the truth, and where one that rounds at boundaries
// overflows.
struct marks {
  device_ptr broken, overflows;
};

// One contract pass, its deviations added to a->sigma.
static enum assay_status add_pass(const struct gpu_request *r, const struct run_pass *kind, struct gpu_answer *a,
                                  struct gpu_array *pass, const struct marks *marks, struct assay_error *err) {
  bool stores = r->arith.store != STORE_NEVER;
  enum assay_status status = gpu_oracle_eval(r, pass, err);
  if (status)
    return status;
  for (int i = 0; i < a->n_outputs; i++) {
    struct float_format format;
    if (a->sigma[i] && !status && dtype_float_format(a->y[i].dtype, &format)) {
      struct deviation_args args = {.y = a->y[i].data,
                                    .pass = pass[i].data,
                                    .sum = a->sigma[i],
                                    .broken = stores       ? marks->overflows
                                              : kind->wide ? 0
                                                           : marks->broken,
                                    .part = kind->part,
                                    .n = count_of(&a->y[i]),
                                    .max = format.max};
      status = compute_launch(r->compute, &program, stores ? "stored_deviation_sum" : "deviation", args.n, &args,
                              sizeof args, err);
    }
    gpu_array_release(r->compute, &pass[i]);
  }
  return status;
}

static enum assay_status find_lost(struct compute *c, const struct gpu_array *y, const struct gpu_array *pass,
                                   bool *lost, struct assay_error *err) {
  struct lost_args args = {.y = y->data, .pass = pass->data, .n = count_of(y)};
  size_t bytes = 2 * LOST_PARTS * sizeof(double);
  double *parts = base_alloc(bytes), off = 0, size = 0;
  enum assay_status status = parts ? compute_alloc(c, bytes, &args.parts, err) : error_nomem(err, "an error scale");
  if (!status)
    status = compute_launch(c, &program, "lost", LOST_PARTS, &args, sizeof args, err);
  if (!status)
    status = compute_download(c, parts, args.parts, bytes, err);
  for (int t = 0; t < LOST_PARTS && !status; t++) {
    off += parts[t];
    size += parts[LOST_PARTS + t];
  }
  *lost = off > RUN_LOST * RUN_LOST * size;
  compute_free(c, args.parts);
  base_free(parts);
  return status;
}

// The passes that the scale must cover, after finish_scale.
static enum assay_status widen_scale(struct gpu_request *r, const struct arith *contract, int replicas,
                                     struct gpu_answer *a, struct gpu_array *pass, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int k = 0; k < run_least_passes(replicas) && !status; k++) {
    r->arith = run_least_pass(contract, k);
    status = gpu_oracle_eval(r, pass, err);
    for (int i = 0; i < a->n_outputs && !status; i++) {
      struct widen_scale_args args = {
          .y = a->y[i].data, .pass = pass[i].data, .sigma = a->sigma[i], .n = count_of(&a->y[i])};
      bool lost = false;
      if (args.sigma)
        status = compute_launch(r->compute, &program, "widen_scale", args.n, &args, sizeof args, err);
      if (args.sigma && !status)
        status = find_lost(r->compute, &a->y[i], &pass[i], &lost, err);
      a->representable = a->representable && !lost;
    }
    for (int i = 0; i < a->n_outputs; i++)
      gpu_array_release(r->compute, &pass[i]);
  }
  return status;
}

// The passes whose long tails the scale must cover, after finish_scale.
static enum assay_status cover_tails(struct gpu_request *r, const struct arith *contract, int replicas,
                                     struct gpu_answer *a, struct gpu_array *pass, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int k = 0; k < run_tail_passes(r->graph, contract, replicas) && !status; k++) {
    const struct run_pass kind = run_tail_pass(r->graph, contract, replicas, k);
    r->arith = kind.arith;
    status = gpu_oracle_eval(r, pass, err);
    for (int i = 0; i < a->n_outputs && !status; i++) {
      struct float_format format;
      struct deviation_args args = {
          .y = a->y[i].data, .pass = pass[i].data, .sum = a->sigma[i], .part = kind.part, .n = count_of(&a->y[i])};
      if (!args.sum || !dtype_float_format(a->y[i].dtype, &format))
        continue;
      args.max = format.max;
      status = compute_launch(r->compute, &program, "cover_tail", args.n, &args, sizeof args, err);
    }
    for (int i = 0; i < a->n_outputs; i++)
      gpu_array_release(r->compute, &pass[i]);
  }
  return status;
}

// The inputs as far as the host knows them; NULL where there is no memory.
static struct array *known_inputs(const struct gpu_request *r, struct arena *arena) {
  int n = r->graph->n_inputs;
  struct array *inputs = arena_calloc(arena, (size_t)n + 1, sizeof *inputs);
  for (int i = 0; i < n && inputs; i++)
    inputs[i] =
        (struct array){.dtype = r->inputs[i].dtype, .shape = r->inputs[i].shape, .bits = (uint64_t *)r->inputs[i].host};
  return inputs;
}

// Shapes, and the values that they depend on; ASSAY_ERR_UNSUPPORTED where one of those is on the device alone.
static enum assay_status infer_shapes(const struct gpu_request *r, struct arena *arena, struct graph_shapes *out,
                                      struct assay_error *err) {
  struct array *inputs = known_inputs(r, arena);
  return inputs ? oracle_infer(r->graph, inputs, arena, out, err) : error_nomem(err, "shape inference");
}

static enum assay_status find_products(const struct gpu_request *r, double **products, struct assay_error *err) {
  struct arena arena = {0};
  struct array *inputs = known_inputs(r, &arena);
  enum assay_status status =
      inputs ? run_find_products(r->graph, inputs, products, err) : error_nomem(err, "the products of sums");
  arena_release(&arena);
  return status;
}

// One pass instead of many, where the scale has a closed form. *done is false when the graph or the operator has none.
static enum assay_status answer_closed(const struct gpu_request *base, const struct arith *contract,
                                       struct gpu_answer *a, bool *done, struct assay_error *err) {
  struct gpu_request r = *base;
  const struct graph *g = r.graph;
  *done = false;
  r.sigma_node = run_closed_form_node(g);
  if (r.sigma_node < 0)
    return ASSAY_OK;
  struct arena arena = {0};
  struct graph_shapes shapes;
  enum assay_status status = infer_shapes(&r, &arena, &shapes, err);
  int64_t n = status ? 0 : shape_count(&shapes.values[g->outputs[0]].shape);
  bool floating = !status && dtype_is_float(shapes.values[g->outputs[0]].dtype);
  arena_release(&arena);
  if (status == ASSAY_ERR_UNSUPPORTED)
    return ASSAY_OK; // a shape that depends on data
  if (!floating)
    return status;
  r.arith = *contract;
  r.has_sigma = done;
  status = alloc_floats(r.compute, n, &r.sigma, err);
  if (!status)
    status = gpu_oracle_eval(&r, a->y, err);
  if (!status && *done) {
    a->sigma[0] = r.sigma;
    struct shrink_args args = shrink_of(&a->y[0], 0, r.sigma, contract, 1);
    return compute_launch(r.compute, &program, "scale_floor", n, &args, sizeof args, err);
  }
  if (!status)
    gpu_array_release(r.compute, &a->y[0]);
  compute_free(r.compute, r.sigma);
  return status;
}

static enum assay_status start_sums(struct compute *c, struct gpu_answer *a, struct marks *marks,
                                    struct assay_error *err) {
  enum assay_status status = compute_alloc(c, 2 * sizeof(uint32_t), &marks->broken, err);
  marks->overflows = marks->broken + sizeof(uint32_t);
  if (!status)
    status = compute_set32(c, marks->broken, 0, 2, err);
  for (int i = 0; i < a->n_outputs && !status; i++) {
    if (!dtype_is_float(a->y[i].dtype))
      continue;
    status = alloc_floats(c, count_of(&a->y[i]), &a->sigma[i], err);
    if (!status)
      status = compute_set32(c, a->sigma[i], 0, (size_t)count_of(&a->y[i]), err);
  }
  return status;
}

static enum assay_status make_empty(const struct gpu_request *r, struct gpu_answer *a, struct assay_error *err) {
  *a = (struct gpu_answer){.n_outputs = r->graph->n_outputs, .representable = true};
  a->y = base_calloc((size_t)a->n_outputs + 1, sizeof *a->y);
  a->sigma = base_calloc((size_t)a->n_outputs + 1, sizeof *a->sigma);
  return a->y && a->sigma ? ASSAY_OK : error_nomem(err, "the oracle's answer");
}

static enum assay_status answer_sampled(const struct gpu_request *base, struct arith contract, int replicas,
                                        struct gpu_answer *a, struct assay_error *err);

// As add_fused_scale of oracle/scale.c.
static enum assay_status add_fused_scale(const struct gpu_request *base, struct arith contract, int replicas,
                                         struct gpu_answer *a, struct assay_error *err) {
  struct gpu_answer fused;
  contract.stored.bits = 0;
  enum assay_status status = make_empty(base, &fused, err);
  if (!status)
    status = answer_sampled(base, contract, replicas, &fused, err);
  for (int i = 0; i < a->n_outputs && !status; i++) {
    struct widen_scale_args args = {.other = fused.sigma[i], .sigma = a->sigma[i], .n = count_of(&a->y[i])};
    if (args.sigma)
      status = compute_launch(base->compute, &program, "widen_scale", args.n, &args, sizeof args, err);
  }
  a->representable = a->representable && fused.representable;
  gpu_answer_release(base->compute, &fused);
  return status;
}

// As is_untold of oracle/scale.c; afterwards *told is false where it is so.
static enum assay_status find_untold(struct compute *c, const struct gpu_answer *a, int output, bool *told,
                                     struct assay_error *err) {
  struct untold_args args = {
      .y = a->y[output].data, .sigma = a->sigma[output], .n = count_of(&a->y[output]), .part = RUN_UNTOLD};
  size_t bytes = LOST_PARTS * sizeof(double);
  double *parts = base_alloc(bytes), elements = 0;
  enum assay_status status = parts ? compute_alloc(c, bytes, &args.parts, err) : error_nomem(err, "an error scale");
  if (!status)
    status = compute_launch(c, &program, "untold", LOST_PARTS, &args, sizeof args, err);
  if (!status)
    status = compute_download(c, parts, args.parts, bytes, err);
  for (int t = 0; t < LOST_PARTS && !status; t++)
    elements += parts[t];
  if (run_is_untold((int64_t)elements, args.n))
    *told = false;
  compute_free(c, args.parts);
  base_free(parts);
  return status;
}

static bool has_scale(const struct gpu_answer *a) {
  bool any = false;
  for (int i = 0; i < a->n_outputs; i++)
    any = any || a->sigma[i];
  return any;
}

// The truth, then as many contract passes as asked for; none where nothing has a scale, since all is whole numbers.
static enum assay_status answer_sampled(const struct gpu_request *base, struct arith contract, int replicas,
                                        struct gpu_answer *a, struct assay_error *err) {
  struct gpu_request r = *base;
  struct marks marks = {0};
  uint32_t marked[2] = {0};
  struct gpu_array *pass = base_calloc((size_t)a->n_outputs + 1, sizeof *pass);
  struct gpu_cache cache;
  double *products = NULL;
  const struct run_passes passes = run_passes_of(r.graph, &contract, replicas);
  const int n = passes.n;
  enum assay_status status = gpu_cache_init(&cache, r.compute, r.graph, &contract, err);
  if (!status && !pass)
    status = error_nomem(err, "the oracle's answer");
  if (!status)
    status = run_find_contract(r.graph, &contract, err);
  if (!status && contract.one_lane)
    status = find_products(&r, &products, err);
  r.arith = arith_truth(&contract);
  r.products = products;
  if (n > 1) // with one pass there is nothing to share
    r.cache = &cache;
  if (!status)
    status = gpu_oracle_eval(&r, a->y, err);
  if (!status)
    status = gpu_cache_settle(&cache, err);
  if (!status)
    status = start_sums(r.compute, a, &marks, err);
  const bool scaled = has_scale(a) && !cache.steady;
  for (int k = 0; k < n && !status && scaled; k++) {
    struct run_pass kind = run_pass(&contract, k, &passes);
    r.arith = kind.arith;
    status = add_pass(&r, &kind, a, pass, &marks, err);
  }
  for (int i = 0; i < a->n_outputs && !status; i++)
    if (a->sigma[i])
      status = finish_scale(r.compute, &a->y[i], &a->sigma[i], &contract, n, err);
  if (!status && contract.stored.bits > 0 && n > 0 && has_scale(a))
    status = widen_scale(&r, &contract, n, a, pass, err);
  if (!status && scaled)
    status = cover_tails(&r, &contract, replicas, a, pass, err);
  for (int i = 0; i < a->n_outputs && !status && run_may_be_chaotic(r.graph, &contract); i++)
    if (a->sigma[i])
      status = find_untold(r.compute, a, i, &a->representable, err);
  gpu_cache_release(&cache);
  if (!status)
    status = compute_download(r.compute, marked, marks.broken, sizeof marked, err);
  a->representable = a->representable && !marked[0];
  compute_free(r.compute, marks.broken);
  base_free(products);
  base_free(pass);
  return !status && marked[1] ? add_fused_scale(base, contract, replicas, a, err) : status;
}

// ---- elementwise graphs

// *planned: all outputs can be made so.
static enum assay_status plan_fused(const struct gpu_request *r, const struct arith *contract, struct gpu_fused *plans,
                                    bool *planned, struct assay_error *err) {
  const struct graph *g = r->graph;
  struct arena arena = {0};
  struct graph_shapes shapes;
  enum assay_status status = infer_shapes(r, &arena, &shapes, err);
  bool inferred = !status;
  if (status != ASSAY_ERR_NOMEM) // the other way says it better, or finds what is missing on the device
    status = ASSAY_OK;
  *planned = inferred;
  for (int i = 0; i < g->n_outputs && *planned && !status; i++)
    status = gpu_fused_plan(r, &shapes, g->outputs[i], contract, &plans[i], planned, err);
  arena_release(&arena);
  return status;
}

// The passes that an error scale is made of.
struct passes {
  const struct arith *contract;
  int replicas;
  device_ptr broken; // a word that is set where a pass is of another class than the truth
};

static enum assay_status run_fused(const struct gpu_request *r, const struct gpu_fused *f, const struct passes *p,
                                   struct gpu_array *y, device_ptr *sigma, struct assay_error *err) {
  enum assay_status status = gpu_array_create(r->compute, f->type.dtype, &f->type.shape, y, err);
  if (!status && dtype_is_float(f->type.dtype))
    status = alloc_floats(r->compute, count_of(y), sigma, err);
  if (!status)
    status = gpu_fused_run(f, p->replicas, y, *sigma, p->broken, err);
  if (!status && *sigma && !f->steady)
    status = finish_scale(r->compute, y, sigma, p->contract, p->replicas, err);
  return status;
}

// *done is false where the graph does more than calculate element by element.
static enum assay_status answer_fused(const struct gpu_request *r, const struct arith *contract, int replicas,
                                      struct gpu_answer *a, bool *done, struct assay_error *err) {
  struct gpu_fused *plans = base_calloc((size_t)a->n_outputs + 1, sizeof *plans);
  device_ptr broken = 0;
  uint32_t is_broken = 0;
  enum assay_status status = plans ? ASSAY_OK : error_nomem(err, "the oracle's answer");
  struct arith storing = *contract;
  *done = false;
  if (!status)
    status = run_find_contract(r->graph, &storing, err);
  // These programs do not round between nodes, have no wide passes, and all their nodes round.
  if (!status && replicas > 0 && r->graph->n_exact == 0 && storing.stored.bits == 0 &&
      run_passes_of(r->graph, contract, replicas).n == replicas)
    status = plan_fused(r, contract, plans, done, err);
  if (!status && *done)
    status = compute_alloc(r->compute, sizeof is_broken, &broken, err);
  if (!status && *done)
    status = compute_set32(r->compute, broken, 0, 1, err);
  struct passes passes = {.contract = contract, .replicas = replicas, .broken = broken};
  for (int i = 0; i < a->n_outputs && *done && !status; i++)
    status = run_fused(r, &plans[i], &passes, &a->y[i], &a->sigma[i], err);
  if (!status && *done)
    status = compute_download(r->compute, &is_broken, broken, sizeof is_broken, err);
  a->representable = !is_broken;
  a->fused = *done;
  compute_free(r->compute, broken);
  for (int i = 0; plans && i < a->n_outputs; i++)
    if (plans[i].compute)
      gpu_fused_release(&plans[i]);
  base_free(plans);
  return status;
}

// ---- the answer

static bool has_open_casts(const struct gpu_request *r) {
  struct arena arena = {0};
  bool any = run_casts_to_integers(r->graph, NULL);
  any = any && run_casts_to_integers(r->graph, known_inputs(r, &arena));
  arena_release(&arena);
  return any;
}

static enum assay_status make_answer(const struct gpu_request *r, const struct arith *contract, int replicas, bool fuse,
                                     struct gpu_answer *out, struct assay_error *err) {
  struct gpu_answer a;
  bool done = false;
  enum assay_status status = make_empty(r, &a, err);
  if (!status)
    status = answer_closed(r, contract, &a, &done, err);
  if (!status && !done && fuse)
    status = answer_fused(r, contract, replicas, &a, &done, err);
  if (!status && !done)
    status = answer_sampled(r, *contract, replicas, &a, err);
  if (!status && a.representable && has_open_casts(r))
    status = gpu_find_open_casts(r, &a.representable, err);
  if (!status)
    status = compute_sync(r->compute, err); // a failed launch is this answer's, not a later one's
  if (!status) {
    *out = a;
    memset(&a, 0, sizeof a);
  }
  gpu_answer_release(r->compute, &a);
  return status;
}

enum assay_status gpu_answer_make(struct compute *c, const struct graph *g, const struct gpu_array *inputs,
                                  const struct arith *contract, int replicas, struct gpu_answer *out,
                                  struct assay_error *err) {
  struct gpu_request r = {.compute = c, .graph = g, .inputs = inputs};
  return make_answer(&r, contract, replicas, true, out, err);
}

enum assay_status gpu_answer_make_unfused(struct compute *c, const struct graph *g, const struct gpu_array *inputs,
                                          const struct arith *contract, int replicas, struct gpu_answer *out,
                                          struct assay_error *err) {
  struct gpu_request r = {.compute = c, .graph = g, .inputs = inputs};
  return make_answer(&r, contract, replicas, false, out, err);
}

// ---- scales of earlier answers

static enum assay_status start_scales(struct compute *c, struct gpu_scales *s, const struct gpu_answer *a,
                                      struct assay_error *err) {
  s->n = base_calloc((size_t)a->n_outputs + 1, sizeof *s->n);
  s->kept = base_calloc((size_t)a->n_outputs + 1, sizeof *s->kept);
  enum assay_status status = s->n && s->kept ? ASSAY_OK : error_nomem(err, "scales");
  s->n_outputs = status ? 0 : a->n_outputs;
  for (int i = 0; i < s->n_outputs && !status; i++) {
    int64_t groups = (count_of(&a->y[i]) + KEPT_EACH - 1) / KEPT_EACH;
    s->n[i] = count_of(&a->y[i]);
    if (!a->sigma[i] || groups == 0)
      continue;
    enum { FLOATS = sizeof(struct kept_scale) / sizeof(float) };
    status = alloc_floats(c, groups * FLOATS, &s->kept[i], err);
    if (!status)
      status = compute_set32(c, s->kept[i], 0, (size_t)groups * FLOATS, err);
  }
  return status;
}

static enum assay_status other_elements(struct assay_error *err) {
  return error_set(err, ASSAY_ERR_UNSUPPORTED, "answers to one question with different elements");
}

enum assay_status gpu_scales_add(struct compute *c, struct gpu_scales *s, const struct gpu_answer *a,
                                 struct assay_error *err) {
  enum assay_status status = s->n_answers == 0 ? start_scales(c, s, a, err) : ASSAY_OK;
  for (int i = 0; i < s->n_outputs && !status; i++) {
    struct keep_args args = {.y = a->y[i].data, .sigma = a->sigma[i], .kept = s->kept[i], .n = s->n[i]};
    if (args.n != count_of(&a->y[i]))
      status = other_elements(err);
    else if (args.kept)
      status = compute_launch(c, &program, "keep_scale", (args.n + KEPT_EACH - 1) / KEPT_EACH, &args, sizeof args, err);
  }
  if (status)
    gpu_scales_release(c, s);
  else
    s->n_answers++;
  return status;
}

void gpu_scales_release(struct compute *c, struct gpu_scales *s) {
  for (int i = 0; i < s->n_outputs; i++)
    compute_free(c, s->kept[i]);
  base_free(s->n);
  base_free(s->kept);
  memset(s, 0, sizeof *s);
}

static enum assay_status borrow(struct compute *c, const struct gpu_loan *loan, double unit, struct gpu_answer *a,
                                struct assay_error *err) {
  const struct gpu_scales *s = loan->scales;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < a->n_outputs && !status; i++) {
    if (count_of(&a->y[i]) != s->n[i])
      return other_elements(err);
    if (!s->kept[i])
      continue;
    status = alloc_floats(c, s->n[i], &a->sigma[i], err);
    if (status)
      break;
    struct borrow_args args = {.y = a->y[i].data,
                               .kept = s->kept[i],
                               .sigma = a->sigma[i],
                               .n = s->n[i],
                               .unit = unit,
                               .factor = loan->factor};
    status = compute_launch(c, &program, "borrow_scale", args.n, &args, sizeof args, err);
  }
  return status;
}

enum assay_status gpu_answer_borrow(struct compute *c, const struct graph *g, const struct gpu_array *inputs,
                                    const struct arith *contract, const struct gpu_loan *loan, struct gpu_answer *out,
                                    struct assay_error *err) {
  struct gpu_request r = {.compute = c, .graph = g, .inputs = inputs, .arith = arith_truth(contract)};
  struct gpu_answer a = {.n_outputs = g->n_outputs, .representable = true};
  enum assay_status status = ASSAY_OK;
  if (loan->scales->n_answers == 0 || loan->scales->n_outputs != a.n_outputs)
    return other_elements(err);
  a.y = base_calloc((size_t)a.n_outputs + 1, sizeof *a.y);
  a.sigma = base_calloc((size_t)a.n_outputs + 1, sizeof *a.sigma);
  if (!a.y || !a.sigma)
    status = error_nomem(err, "the oracle's answer");
  if (!status)
    status = gpu_oracle_eval(&r, a.y, err);
  if (!status)
    status = borrow(c, loan, ldexp(1, -contract->bits), &a, err);
  if (!status)
    status = compute_sync(c, err);
  if (!status) {
    *out = a;
    memset(&a, 0, sizeof a);
  }
  gpu_answer_release(c, &a);
  return status;
}

void gpu_answer_release(struct compute *c, struct gpu_answer *a) {
  for (int i = 0; i < a->n_outputs; i++) {
    if (a->y)
      gpu_array_release(c, &a->y[i]);
    if (a->sigma)
      compute_free(c, a->sigma[i]);
  }
  base_free(a->y);
  base_free(a->sigma);
  memset(a, 0, sizeof *a);
}
