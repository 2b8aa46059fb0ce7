// SPDX-License-Identifier: Apache-2.0
// A task as a Definition and Workloads.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "report/flashinfer.h"
#include "report/pytorch.h"
#include "report/report.h"
#include "task/kind.h"

void flashinfer_file_name(const char *text, struct buf *out) {
  for (; *text; text++) {
    const char c = *text;
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    buf_append(out, fits ? text : "_", 1);
  }
}

// The JSON of a key of the task's file. ASSAY_ERR_INVALID: it is none.
static enum assay_status kept(const struct task *t, const char *key, json_t **out, struct assay_error *err) {
  const char *text = model_property(&t->model, key);
  *out = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
  return !text || json_is_object(*out) ? ASSAY_OK
                                       : error_set(err, ASSAY_ERR_INVALID, "%s: %s is no object of JSON", t->path, key);
}

// --- a definition of our own making

// Adds the axis of a dimension: a symbol, or a number as "c96". Its name in `name`.
static void put_axis(json_t *axes, const struct dim *d, bool fixed, int64_t size, struct buf *name) {
  buf_clear(name);
  if (d->symbol && !fixed)
    buf_puts(name, d->symbol);
  else
    buf_printf(name, "c%lld", (long long)(d->symbol ? size : d->value));
  if (json_object_get(axes, buf_str(name)))
    return;
  json_object_set_new(axes, buf_str(name),
                      d->symbol && !fixed ? json_pack("{s:s}", "type", "var")
                                          : json_pack("{s:s, s:I}", "type", "const", "value",
                                                      (json_int_t)(d->symbol ? size : d->value)));
}

// Where axes go, and whether all are constants.
struct axes {
  json_t *json;
  bool fixed;
};

static enum assay_status put_tensor(const struct task *t, int v, const struct array *a, const char *name,
                                    const struct axes *to, json_t *side, struct assay_error *err) {
  const struct value *value = &t->model.flat.values[v];
  struct buf axis = {0};
  json_t *shape = json_array();
  const enum dtype dtype = a->dtype;
  const bool fits =
      dtype_is_exchanged(dtype) && dtype != DTYPE_UINT16 && dtype != DTYPE_UINT32 && dtype != DTYPE_UINT64;
  for (int i = 0; i < a->shape.rank; i++) {
    const struct dim known = {.value = a->shape.dims[i]};
    put_axis(to->json, value->rank > i ? &value->dims[i] : &known, to->fixed, a->shape.dims[i], &axis);
    json_array_append_new(shape, json_string(buf_str(&axis)));
  }
  enum assay_status status = buf_status(&axis, err);
  if (!status && !fits)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED, "%s: %s is %s, which definitions of flashinfer-bench do not have",
                       t->name, name, dtype_name(dtype));
  if (json_object_get(side, name))
    status = error_set(err, ASSAY_ERR_UNSUPPORTED, "%s: two tensors are called %s", t->name, name);
  json_object_set_new(side, name, json_pack("{s:o, s:s}", "shape", shape, "dtype", pytorch_dtype(dtype)));
  buf_release(&axis);
  return status;
}

// inputs, outputs and axes: as they are at full, with symbols unless `fixed`.
static enum assay_status interface_of(const struct task *t, bool fixed, json_t *root, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  struct arena arena = {0};
  struct pytorch_module m = {.w = {.g = g}, .task = t};
  struct array *inputs;
  json_t *axes = json_object(), *in = json_object(), *out = json_object(), *draws = json_object();
  enum assay_status status = pytorch_open(&m, &t->workloads[t->n_workloads > 1 ? 1 : 0], &arena, &inputs, err);
  for (int i = 0; i < g->n_inputs && !status; i++) {
    const char *name = m.w.names[g->inputs[i]];
    json_object_set_new(draws, name, json_string(t->inputs[i].distribution.text));
    status = put_tensor(t, g->inputs[i], &inputs[i], name, &(struct axes){axes, fixed}, in, err);
  }
  for (int i = 0; i < g->n_outputs && !status; i++) {
    const int v = g->outputs[i];
    const bool input = json_object_get(in, m.w.names[v]) != NULL;
    status = input
                 ? error_set(err, ASSAY_ERR_UNSUPPORTED, "%s: %s is both an input and an output", t->name, m.w.names[v])
                 : put_tensor(t, v, &m.w.values[v], m.w.names[v], &(struct axes){axes, fixed}, out, err);
  }
  json_object_set_new(root, "axes", axes);
  json_object_set_new(root, "inputs", in);
  json_object_set_new(root, "outputs", out);
  json_object_set_new(root, "x_assay",
                      json_pack("{s:s, s:s, s:o}", "task", t->name, "contract", t->contract.name, "inputs", draws));
  arena_release(&arena);
  return status;
}

static enum assay_status made(const struct task *t, json_t **out, struct assay_error *err) {
  struct buf name = {0}, text = {0};
  bool same = true;
  json_t *root = json_object();
  flashinfer_file_name(t->name, &name);
  enum assay_status status = root ? report_pytorch_everywhere(t, &text, &same, err) : error_nomem(err, "a definition");
  if (!status) {
    json_object_set_new(root, "name", json_string(buf_str(&name)));
    json_object_set_new(root, "op_type", json_string(task_kind(t)));
    json_object_set_new(root, "description", json_string(t->title));
    status = interface_of(t, !same, root, err);
  }
  if (!status) {
    json_object_set_new(root, "reference", json_string(buf_str(&text)));
    status = buf_status(&text, err);
  }
  buf_release(&name);
  buf_release(&text);
  if (status)
    json_decref(root);
  *out = status ? NULL : root;
  return status;
}

enum assay_status flashinfer_definition(const struct task *t, json_t **out, struct assay_error *err) {
  enum assay_status status = kept(t, "flashinfer_bench.definition", out, err);
  if (!status && !*out)
    return made(t, out, err);
  if (!status && (!json_string_length(json_object_get(*out, "name")) || !json_object_get(*out, "inputs")))
    status = error_set(err, ASSAY_ERR_INVALID, "%s: flashinfer_bench.definition has no name or no inputs", t->path);
  if (status) {
    json_decref(*out);
    *out = NULL;
  }
  return status;
}

// --- workloads

// A uuid that follows from the task's file and the workload's name.
static void put_uuid(const struct task *t, const char *workload, struct buf *out) {
  struct buf text = {0};
  char hex[HASH_HEX_BYTES];
  buf_printf(&text, "%s %s", t->hash, workload);
  hash_sha256_hex(buf_str(&text), text.len, hex);
  buf_printf(out, "%.8s-%.4s-8%.3s-8%.3s-%.12s", hex, hex + 8, hex + 12, hex + 15, hex + 18);
  buf_release(&text);
}

enum assay_status flashinfer_workload(const struct task *t, const struct workload *w, json_t **out,
                                      struct assay_error *err) {
  struct buf text = {0};
  json_t *definition = NULL;
  buf_printf(&text, "flashinfer_bench.workload.%s", w->name);
  enum assay_status status = buf_status(&text, err);
  if (!status)
    status = kept(t, buf_str(&text), out, err);
  if (!status && !*out)
    status = flashinfer_definition(t, &definition, err);
  if (!status && !*out) {
    json_t *axes = json_object(), *inputs = json_object(), *row;
    const json_t *known = json_object_get(definition, "axes");
    const char *name;
    for (int i = 0; i < w->n; i++) {
      const char *type = json_string_value(json_object_get(json_object_get(known, w->bindings[i].symbol), "type"));
      if (type && strcmp(type, "var") == 0)
        json_object_set_new(axes, w->bindings[i].symbol, json_integer(w->bindings[i].value));
    }
    json_object_foreach(json_object_get(definition, "inputs"), name, row)
        json_object_set_new(inputs, name, json_pack("{s:s}", "type", "random"));
    const char *numbers = model_property(&t->model, "flashinfer_bench.scalars");
    json_t *scalars = numbers ? json_loads(numbers, 0, NULL) : NULL;
    json_object_foreach(scalars, name, row)
        json_object_set_new(inputs, name, json_pack("{s:s, s:O}", "type", "scalar", "value", row));
    json_decref(scalars);
    buf_clear(&text);
    put_uuid(t, w->name, &text);
    *out = json_pack("{s:o, s:o, s:s}", "axes", axes, "inputs", inputs, "uuid", buf_str(&text));
    status = *out ? ASSAY_OK : error_nomem(err, "a workload");
  }
  json_decref(definition);
  buf_release(&text);
  return status;
}

// --- files

static enum assay_status write_text(const char *folder, const char *kind, const json_t *definition, const char *ending,
                                    const char *text, struct assay_error *err) {
  struct buf path = {0};
  const char *op = json_string_value(json_object_get(definition, "op_type"));
  buf_printf(&path, "%s/%s/", folder, kind);
  flashinfer_file_name(op ? op : "other", &path);
  enum assay_status status = text ? buf_status(&path, err) : error_nomem(err, "a definition");
  if (!status)
    status = file_make_folders(buf_str(&path), err);
  buf_puts(&path, "/");
  flashinfer_file_name(json_string_value(json_object_get(definition, "name")), &path);
  buf_puts(&path, ending);
  if (!status)
    status = buf_status(&path, err);
  if (!status)
    status = file_write(buf_str(&path), text, strlen(text), err);
  buf_release(&path);
  return status;
}

static enum assay_status put_workloads(const struct task *t, const json_t *definition, struct buf *lines,
                                       int *workloads, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  const char *name = json_string_value(json_object_get(definition, "name"));
  for (int i = 0; i < t->n_workloads && !status; i++) {
    json_t *w = NULL;
    status = flashinfer_workload(t, &t->workloads[i], &w, err);
    json_t *line =
        status ? NULL : json_pack("{s:s, s:o, s:n, s:n}", "definition", name, "workload", w, "solution", "evaluation");
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (!status && !text)
      status = error_nomem(err, "a workload");
    else if (!status)
      buf_printf(lines, "%s\n", text);
    *workloads += !status;
    free(text);
    json_decref(line);
  }
  return status ? status : buf_status(lines, err);
}

enum assay_status flashinfer_write_task(const struct task *t, const char *folder, int *workloads,
                                        struct assay_error *err) {
  json_t *definition = NULL;
  struct buf lines = {0};
  *workloads = 0;
  enum assay_status status = flashinfer_definition(t, &definition, err);
  if (!status)
    status = put_workloads(t, definition, &lines, workloads, err);
  char *text = status ? NULL : json_dumps(definition, JSON_INDENT(2));
  if (!status)
    status = write_text(folder, "definitions", definition, ".json", text, err);
  if (!status)
    status = write_text(folder, "workloads", definition, ".jsonl", buf_str(&lines), err);
  free(text);
  buf_release(&lines);
  json_decref(definition);
  return status;
}
