// SPDX-License-Identifier: Apache-2.0
// Reading a task file: a model, and what its metadata says about shapes, inputs and precision.
#include "task/task.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "onnx/onnx.h"
#include "task/check.h"
#include "task/given.h"
#include "task/lint.h"
#include "task/metadata.h"
#include "task/shapes.h"
#include "task/steps.h"

enum { MAX_WORKLOADS = 4096 };

// How each contract rounds inputs, accumulation and outputs. A half-precision contract fixes the type of inputs and
// outputs; what goes from one operator to the next may be kept in fp32, as fused kernels do, or rounded to that type,
// as PyTorch's own do. All but fp32 allow sums as tensor cores make them: cut_bits was set from measurements
// (docs/numerics.md). fp8 is bf16 for products of float8 numbers, whose sums tensor cores keep to 14 bits: so they may
// over 128 terms.
static const struct contract contracts[] = {
    {.name = "fp32",
     .arith = {.bits = 24, .min_exponent = -126, .max = FLT_MAX, .product_bits = 53, .block = 1},
     .u_out = 0x1p-24,
     .eta_out = 0x1p-149},
    {.name = "tf32",
     .arith = {.bits = 24, .min_exponent = -126, .max = FLT_MAX, .product_bits = 11, .block = 1, .cut_bits = 26},
     .u_out = 0x1p-24,
     .eta_out = 0x1p-149},
    {.name = "fp16",
     .arith = {.bits = 24,
               .min_exponent = -126,
               .max = FLT_MAX,
               .product_bits = 53,
               .block = 1,
               .cut_bits = 26,
               .stored = {.bits = 11, .min_exponent = -14, .max = 65504}},
     .u_out = 0x1p-11,
     .eta_out = 0x1p-24},
    {.name = "bf16",
     .arith = {.bits = 24,
               .min_exponent = -126,
               .max = FLT_MAX,
               .product_bits = 53,
               .block = 1,
               .cut_bits = 26,
               .stored = {.bits = 8, .min_exponent = -126, .max = 0x1.fep127}},
     .u_out = 0x1p-8,
     .eta_out = 0x1p-133},
    {.name = "fp8",
     .arith = {.bits = 24,
               .min_exponent = -126,
               .max = FLT_MAX,
               .product_bits = 53,
               .block = 1,
               .cut_bits = 14,
               .cut_steps = 4,
               .stored = {.bits = 8, .min_exponent = -126, .max = 0x1.fep127}},
     .u_out = 0x1p-8,
     .eta_out = 0x1p-133},
};

bool contract_by_name(const char *name, struct contract *out) {
  for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++)
    if (strcmp(contracts[i].name, name) == 0) {
      *out = contracts[i];
      return true;
    }
  return false;
}

const char *const task_other_contracts[] = {"tf32", NULL};

enum assay_status task_take_contract(struct task *t, const char *name, struct assay_error *err) {
  struct contract other;
  if (!name || strcmp(name, t->contract.name) == 0)
    return ASSAY_OK;
  if (strcmp(name, "tf32") != 0 || strcmp(t->own_contract, "fp32") != 0 || !contract_by_name(name, &other))
    return error_set(err, ASSAY_ERR_USAGE,
                     "%.80s is a task of %s: it is not judged under the contract %.40s (tf32 is for tasks of fp32)",
                     t->name, t->own_contract, name);
  t->contract = other;
  return ASSAY_OK;
}

static enum dtype contract_dtype(const struct contract *c) {
  if (strcmp(c->name, "fp16") == 0)
    return DTYPE_FLOAT16;
  return strcmp(c->name, "bf16") == 0 || strcmp(c->name, "fp8") == 0 ? DTYPE_BFLOAT16 : DTYPE_FLOAT;
}

static const char *after(const char *key, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(key, prefix, n) == 0 ? key + n : NULL;
}

static int input_by_name(const struct task *t, const char *name) {
  for (int i = 0; i < t->n_inputs; i++)
    if (strcmp(t->inputs[i].name, name) == 0)
      return i;
  return -1;
}

// The initializer of that name, or NULL.
static struct value *constant_by_name(const struct graph *g, const char *name) {
  for (int i = 0; i < g->n_values; i++)
    if (g->values[i].constant && strcmp(g->values[i].name, name) == 0)
      return &g->values[i];
  return NULL;
}

// The keys that may stand alone; the others are prefixes followed by a name.
static const char *const plain_keys[] = {"task",       "title",       "origin",   "contract", "probes",
                                         "repair",     "lint.allow",  "allclose", "pytorch",  "contraction_part",
                                         "input_part", "weight_part", "shapes",   "check",    NULL};

static enum assay_status check_key(const struct task *t, const char *key, struct assay_error *err) {
  const char *name = after(key, "assay.input.");
  if (!name)
    name = after(key, "assay.published.input.");
  if (name)
    return input_by_name(t, name) >= 0
               ? ASSAY_OK
               : error_set(err, ASSAY_ERR_INVALID,
                           "the graph has no input '%.80s' (inputs with an initializer do not count)", name);
  if ((name = after(key, "assay.published.constant.")))
    return constant_by_name(&t->model.graph, name)
               ? ASSAY_OK
               : error_set(err, ASSAY_ERR_INVALID, "the graph has no constant '%.80s'", name);
  if ((name = after(key, "assay.workload."))) {
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && name[n] == '\0'
               ? ASSAY_OK
               : error_set(err, ASSAY_ERR_INVALID, "a workload's name has letters, digits and '_' only");
  }
  for (int i = 0; plain_keys[i]; i++)
    if (strcmp(key + strlen("assay."), plain_keys[i]) == 0)
      return ASSAY_OK;
  return error_set(err, ASSAY_ERR_INVALID,
                   "no such key; see the list of metadata_props keys in the documentation of tasks");
}

// Puts a property's place and key before a message.
static enum assay_status in_property(const struct task *t, const struct property *p, enum assay_status status,
                                     struct assay_error *err) {
  char place[256];
  return error_prefix(err, status, "%s: %s: %.120s: ", t->path, source_location_text(&p->at, place), p->key);
}

static enum assay_status missing(const struct task *t, const char *key, const char *example, struct assay_error *err) {
  return error_set(err, ASSAY_ERR_INVALID, "%s: metadata_props lacks the key %s (for example \"%s\" : \"%s\")", t->path,
                   key, key, example);
}

static enum assay_status check_keys(const struct task *t, struct assay_error *err) {
  const struct model *m = &t->model;
  for (int i = 0; i < m->n_properties; i++) {
    const struct property *p = &m->properties[i];
    if (!after(p->key, "assay."))
      continue;
    enum assay_status status = check_key(t, p->key, err);
    for (int k = 0; k < i && !status; k++)
      if (strcmp(m->properties[k].key, p->key) == 0)
        status = error_set(err, ASSAY_ERR_INVALID, "the key stands twice");
    if (status)
      return in_property(t, p, status, err);
  }
  return ASSAY_OK;
}

static const struct property *find(const struct task *t, const char *prefix, const char *name) {
  for (int i = 0; i < t->model.n_properties; i++) {
    const char *rest = after(t->model.properties[i].key, prefix);
    if (rest && strcmp(rest, name) == 0)
      return &t->model.properties[i];
  }
  return NULL;
}

static enum assay_status not_exchanged(const struct task *t, const char *what, const struct value *v,
                                       struct assay_error *err) {
  return error_set(err, ASSAY_ERR_UNSUPPORTED,
                   "%s: %s %.120s is %s, a type that stands within graphs only; candidates cannot be given it", t->path,
                   what, v->name, dtype_name(v->dtype));
}

static enum assay_status read_inputs(struct task *t, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  for (int i = 0; i < t->n_inputs; i++) {
    const struct value *v = &g->values[g->inputs[i]];
    const struct property *normal = find(t, "assay.input.", v->name);
    const struct property *published = find(t, "assay.published.input.", v->name);
    char key[160];
    snprintf(key, sizeof key, "assay.input.%.120s", v->name);
    if (!normal)
      return missing(t, key, "uniform(-1, 1)", err);
    if (v->rank < 0 || dtype_bytes(v->dtype) == 0)
      return error_set(err, ASSAY_ERR_INVALID, "%s: input %.120s must declare a type and a shape", t->path, v->name);
    if (!dtype_is_exchanged(v->dtype))
      return not_exchanged(t, "input", v, err);
    // Both forms are read, so that a mistake in the unused form is reported as well.
    const struct property *forms[2] = {normal, published};
    for (int k = 0; k < 2; k++) {
      struct distribution d;
      if (!forms[k])
        continue;
      enum assay_status status = distribution_parse(forms[k]->value, &t->model.arena, &d, err);
      if (!status)
        status = distribution_check(&d, v->dtype, v->rank, err);
      if (status)
        return in_property(t, forms[k], status, err);
      if (k == 0 || t->as_published)
        t->inputs[i].distribution = d;
    }
    t->repaired = t->repaired || published;
  }
  return ASSAY_OK;
}

// Constants that the default form changes. For the published form, both graphs get their published elements.
static enum assay_status read_constants(struct task *t, struct assay_error *err) {
  for (int i = 0; i < t->model.n_properties; i++) {
    const struct property *p = &t->model.properties[i];
    const char *name = after(p->key, "assay.published.constant.");
    if (!name)
      continue;
    struct value *written = constant_by_name(&t->model.graph, name), *flat = constant_by_name(&t->model.flat, name);
    struct tensor *published = arena_calloc(&t->model.arena, 1, sizeof *published);
    if (!published)
      return error_nomem(err, "a constant");
    enum assay_status status = metadata_constant(p->value, written->constant, &t->model.arena, published, err);
    if (status)
      return in_property(t, p, status, err);
    t->repaired = true;
    if (!t->as_published)
      continue;
    written->constant = published;
    if (flat)
      flat->constant = published;
  }
  return ASSAY_OK;
}

static enum assay_status read_workload(struct task *t, const struct property *p, const char *name,
                                       struct assay_error *err) {
  struct workload *w = &t->workloads[t->n_workloads];
  enum assay_status status = metadata_bindings(p->value, &t->model.arena, w, err);
  if (!status)
    status = metadata_check_workload(t, w, err);
  if (!status)
    status = metadata_check_symbols(t, w, err);
  if (status)
    return in_property(t, p, status, err);
  w->name = name;
  t->n_workloads++;
  return ASSAY_OK;
}

static enum assay_status read_workloads(struct task *t, struct assay_error *err) {
  const struct model *m = &t->model;
  int count = 0;
  for (int i = 0; i < m->n_properties; i++)
    count += after(m->properties[i].key, "assay.workload.") != NULL;
  if (count > MAX_WORKLOADS)
    return error_set(err, ASSAY_ERR_LIMIT, "%s: %d workloads, at most %d can be read", t->path, count, MAX_WORKLOADS);
  t->workloads = arena_calloc(&t->model.arena, (size_t)count + 1, sizeof *t->workloads);
  if (!t->workloads)
    return error_nomem(err, "a task's workloads");
  for (int i = 0; i < m->n_properties; i++) {
    const char *name = after(m->properties[i].key, "assay.workload.");
    enum assay_status status = name ? read_workload(t, &m->properties[i], name, err) : ASSAY_OK;
    if (status)
      return status;
  }
  metadata_sort_workloads(t->workloads, t->n_workloads);
  if (!task_workload(t, "small"))
    return missing(t, "assay.workload.small", "M=64, N=1024", err);
  return task_workload(t, "full") ? ASSAY_OK : missing(t, "assay.workload.full", "M=4096, N=4096", err);
}

static enum assay_status read_contract(struct task *t, struct assay_error *err) {
  const struct property *p = find(t, "assay.", "contract");
  if (!p)
    return missing(t, "assay.contract", "fp32", err);
  if (!contract_by_name(p->value, &t->contract))
    return in_property(
        t, p, error_set(err, ASSAY_ERR_INVALID, "'%.80s' is none of fp32, tf32, fp16, bf16, fp8", p->value), err);
  t->own_contract = t->contract.name;
  const struct graph *g = &t->model.flat;
  enum dtype expected = contract_dtype(&t->contract);
  for (int i = 0; i < g->n_outputs; i++) {
    const struct value *v = &g->values[g->outputs[i]];
    if (v->dtype != DTYPE_UNDEFINED && !dtype_is_exchanged(v->dtype))
      return not_exchanged(t, "output", v, err);
    if (dtype_is_float(v->dtype) && v->dtype != expected)
      return in_property(t, p,
                         error_set(err, ASSAY_ERR_INVALID, "output %.80s is declared %s, but the contract %s is for %s",
                                   v->name, dtype_name(v->dtype), t->contract.name, dtype_name(expected)),
                         err);
  }
  return ASSAY_OK;
}

// "1/6": a fraction of two whole numbers, above 0 and at most 1.
static bool read_part(const char *text, double *out) {
  int above, below, n = 0;
  if (sscanf(text, "%d/%d%n", &above, &below, &n) != 2 || text[n] || above < 1 || below < above)
    return false;
  *out = (double)above / below;
  return true;
}

static enum assay_status read_rules(struct task *t, struct assay_error *err) {
  const struct property *p = find(t, "assay.", "allclose");
  // KernelBench's own tolerances: 1e-4 for fp32, 1e-2 for the 16-bit types.
  t->rtol = t->atol = t->contract.u_out > 0x1p-20 ? 1e-2 : 1e-4;
  enum assay_status status = p ? metadata_tolerances(p->value, &t->rtol, &t->atol, err) : ASSAY_OK;
  if (status)
    return in_property(t, p, status, err);
  status = task_find_opposed(t, err);
  if (status)
    return status;
  t->probes = task_default_probes(t);
  p = find(t, "assay.", "probes");
  status = p ? metadata_probes(p->value, t, err) : ASSAY_OK;
  if (status)
    return in_property(t, p, status, err);
  t->probes &= task_possible_probes(t);
  const char *const keys[] = {"contraction_part", "input_part", "weight_part"};
  double *const parts[] = {&t->contraction_part, &t->input_part, &t->weight_part};
  for (int i = 0; i < 3; i++) {
    *parts[i] = 1;
    p = find(t, "assay.", keys[i]);
    if (p && !read_part(p->value, parts[i]))
      return in_property(
          t, p, error_set(err, ASSAY_ERR_INVALID, "'%.40s' is no part: write a fraction like 1/6", p->value), err);
  }
  p = find(t, "assay.", "shapes");
  status = p ? shape_ranges_check(t, err) : ASSAY_OK;
  if (status)
    return in_property(t, p, status, err);
  p = find(t, "assay.", "lint.allow");
  status = p ? lint_check_allow(p->value, err) : ASSAY_OK;
  return status ? in_property(t, p, status, err) : ASSAY_OK;
}

// Of a name, which stands in commands, in files and in other programs' text.
static bool is_task_name(const char *s) {
  return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/")] == '\0';
}

// A text that is shown: a line, fit for a terminal. In the arena; NULL stays NULL.
static enum assay_status make_line(struct task *t, const char **text, struct assay_error *err) {
  size_t size = *text ? strlen(*text) + 1 : 0;
  char *line = *text ? arena_alloc(&t->model.arena, size) : NULL;
  if (*text && !line)
    return error_nomem(err, "a task's texts");
  *text = line ? printable_line(*text, line, size) : NULL;
  return ASSAY_OK;
}

static enum assay_status read_texts(struct task *t, struct assay_error *err) {
  t->name = model_property(&t->model, "assay.task");
  t->title = model_property(&t->model, "assay.title");
  t->repair = model_property(&t->model, "assay.repair");
  if (!t->name || !*t->name)
    return missing(t, "assay.task", "mysuite/gemm", err);
  if (!is_task_name(t->name))
    return error_set(err, ASSAY_ERR_INVALID, "%s: the name assay.task has letters, digits and _.+-/ only", t->path);
  if (!t->title)
    t->title = t->name;
  if (t->repaired && !t->repair)
    return missing(t, "assay.repair", "published inputs are never negative; signed inputs", err);
  if (t->repair && !t->repaired)
    return missing(t, "assay.published.input.X", "uniform(0, 1)", err);
  enum assay_status status = make_line(t, &t->title, err);
  return status ? status : make_line(t, &t->repair, err);
}

static enum assay_status find_sums(struct task *t, struct assay_error *err) {
  const struct graph *g = task_has_check(t) ? &t->judged.flat : &t->model.flat;
  bool *values = base_calloc((size_t)g->n_values + 1, sizeof *values);
  bool *outputs = arena_calloc(&t->model.arena, (size_t)g->n_outputs + 1, sizeof *outputs);
  if (values && outputs) {
    op_find_sums(g, values);
    for (int i = 0; i < g->n_outputs; i++)
      outputs[i] = values[g->outputs[i]];
    t->adds = outputs;
  }
  base_free(values);
  return t->adds ? ASSAY_OK : error_nomem(err, "what a task's outputs are made from");
}

// Without a check every output has one right answer.
static enum assay_status expect_unique(const struct task *t, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  int *free_by = base_calloc((size_t)g->n_values + 1, sizeof *free_by);
  if (!free_by)
    return error_nomem(err, "answers that are not unique");
  op_find_free(g, free_by);
  enum assay_status status = ASSAY_OK;
  char place[256];
  for (int i = 0; i < g->n_outputs && !status; i++) {
    const struct node *by = free_by[g->outputs[i]] >= 0 ? &g->nodes[free_by[g->outputs[i]]] : NULL;
    if (by)
      status = error_set(err, ASSAY_ERR_INVALID,
                         "%s: %s: output '%.80s' depends on %s, whose answer is not unique, and nothing says what is "
                         "right: add a function whose results are the same for every right answer, and name it with "
                         "the key assay.check (docs/writing-tasks.md, \"Answers that are not unique\")",
                         t->path, source_location_text(&by->at, place), g->values[g->outputs[i]].name, by->op_type);
  }
  base_free(free_by);
  return status;
}

static enum assay_status read_check(struct task *t, struct assay_error *err) {
  const struct property *p = find(t, "assay.", "check");
  if (!p)
    return expect_unique(t, err);
  enum assay_status status = ASSAY_OK;
  if (t->contract.arith.stored.bits > 0)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED, "a check is for the contracts fp32 and tf32, not for %s",
                       t->contract.name);
  if (!status)
    status = check_make(&t->model, p->value, &t->judged, &t->check, err);
  return status ? in_property(t, p, status, err) : ASSAY_OK;
}

// The metadata of a model that has been read.
static enum assay_status interpret(struct task *t, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  t->n_inputs = g->n_inputs;
  t->n_outputs = g->n_outputs;
  t->inputs = arena_calloc(&t->model.arena, (size_t)t->n_inputs + 1, sizeof *t->inputs);
  if (!t->inputs)
    return error_nomem(err, "a task's inputs");
  for (int i = 0; i < t->n_inputs; i++)
    t->inputs[i].name = g->values[g->inputs[i]].name;
  enum assay_status status = check_keys(t, err);
  if (!status)
    status = read_inputs(t, err);
  if (!status)
    status = read_constants(t, err);
  if (!status)
    status = read_workloads(t, err);
  if (!status)
    status = read_contract(t, err);
  if (!status)
    status = read_rules(t, err);
  if (!status)
    status = read_check(t, err);
  if (!status)
    status = find_sums(t, err);
  if (!status && t->contract.arith.stored.bits > 0)
    status = steps_make(&t->model, &t->steps, err);
  return status ? status : read_texts(t, err);
}

enum assay_status task_parse(const char *text, size_t len, const char *path, bool as_published, struct task *out,
                             struct assay_error *err) {
  struct task t = {.as_published = as_published};
  hash_sha256_hex(text, len, t.hash);
  // Text begins with '<', a name or a comment; a binary ModelProto with the tag of its first field, a control
  // character.
  bool binary = len > 0 && (unsigned char)text[0] < ' ' && !isspace((unsigned char)text[0]);
  enum assay_status status =
      binary ? onnx_read_binary(text, len, path, &t.model, err) : onnx_parse_text(text, len, path, &t.model, err);
  if (status)
    return status;
  t.path = arena_strdup(&t.model.arena, path);
  status = t.path ? interpret(&t, err) : error_nomem(err, "a task's path");
  if (status)
    task_release(&t);
  else
    *out = t;
  return status;
}

enum assay_status task_read(const char *path, bool as_published, struct task *out, struct assay_error *err) {
  char *data = NULL;
  size_t len = 0;
  enum assay_status status = file_read(path, ONNX_MAX_FILE_BYTES, &data, &len, err);
  if (!status)
    status = task_parse(data, len, path, as_published, out, err);
  base_free(data);
  return status;
}

void task_release(struct task *t) {
  if (!t)
    return;
  given_release(t->given);
  model_release(&t->steps);
  model_release(&t->judged);
  model_release(&t->check);
  model_release(&t->model);
  *t = (struct task){0};
}

const struct graph *task_oracle_graph(const struct task *t) {
  return task_has_check(t) ? &t->judged.flat : t->steps.flat.n_nodes > 0 ? &t->steps.flat : &t->model.flat;
}

const struct workload *task_workload(const struct task *t, const char *name) {
  for (int i = 0; i < t->n_workloads; i++)
    if (t->workloads[i].name && strcmp(t->workloads[i].name, name) == 0)
      return &t->workloads[i];
  return NULL;
}

static bool binds(const struct workload *w, const struct binding *b) {
  for (int i = 0; i < w->n; i++)
    if (strcmp(w->bindings[i].symbol, b->symbol) == 0)
      return w->bindings[i].value == b->value;
  return false;
}

static bool is_same_size(const struct workload *a, const struct workload *b) {
  bool same = a->n == b->n;
  for (int i = 0; i < a->n && same; i++)
    same = binds(b, &a->bindings[i]);
  return same;
}

// One name for the same sizes, however they were written: the task's own, or "M=3, N=4" in the order of its first
// workload. Verdicts are told apart by it.
static enum assay_status name_sizes(const struct task *t, struct arena *arena, struct workload *w,
                                    struct assay_error *err) {
  const struct workload *order = t->n_workloads > 0 ? &t->workloads[0] : w;
  struct buf text = {0};
  w->name = NULL;
  for (int i = 0; i < t->n_workloads && !w->name; i++)
    if (t->workloads[i].name && is_same_size(&t->workloads[i], w))
      w->name = t->workloads[i].name;
  if (w->name)
    return ASSAY_OK;
  for (int i = 0; i < order->n; i++)
    for (int k = 0; k < w->n; k++)
      if (strcmp(order->bindings[i].symbol, w->bindings[k].symbol) == 0)
        buf_printf(&text, "%s%s=%" PRId64, text.len ? ", " : "", w->bindings[k].symbol, w->bindings[k].value);
  enum assay_status status = buf_status(&text, err);
  if (!status && !(w->name = arena_strdup(arena, buf_str(&text))))
    status = error_nomem(err, "a workload");
  buf_release(&text);
  return status;
}

enum assay_status task_parse_workload(const struct task *t, const char *text, struct arena *arena, struct workload *out,
                                      struct assay_error *err) {
  const struct workload *known = task_workload(t, text);
  if (known) {
    *out = *known;
    return ASSAY_OK;
  }
  char meant[64];
  struct nearest near = {.word = text};
  for (int i = 0; i < t->n_workloads; i++)
    if (t->workloads[i].name)
      nearest_offer(&near, t->workloads[i].name);
  if (*text == '\0' || !strchr(text, '='))
    return error_set(err, ASSAY_ERR_NOT_FOUND,
                     "%s has no workload '%.80s'%s (use small, full, another name that `assay show` lists, or bind "
                     "every dimension: \"M=3, N=4\")",
                     t->name, text, nearest_text(&near, meant, sizeof meant));
  struct workload w = {.name = arena_strdup(arena, text)};
  enum assay_status status = w.name ? metadata_bindings(text, arena, &w, err) : error_nomem(err, "a workload");
  if (!status)
    status = metadata_check_workload(t, &w, err);
  if (!status)
    status = metadata_check_symbols(t, &w, err);
  if (!status)
    status = name_sizes(t, arena, &w, err);
  if (status)
    return error_prefix(err, status, "workload '%.80s' of %s: ", text, t->name);
  *out = w;
  return ASSAY_OK;
}

const char *task_workload_name(const char *path, const char *text, struct arena *arena) {
  struct task t;
  struct workload w;
  struct assay_error ignored = {0};
  const char *name = NULL;
  if (!strchr(text, '=') || task_read(path, false, &t, &ignored) != ASSAY_OK)
    return text;
  if (task_parse_workload(&t, text, arena, &w, &ignored) == ASSAY_OK)
    name = arena_strdup(arena, w.name);
  task_release(&t);
  return name ? name : text;
}
