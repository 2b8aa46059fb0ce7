// SPDX-License-Identifier: Apache-2.0
#include "method/brief.h"

#include <math.h>
#include <string.h>

#include "onnx/onnx.h"
#include "report/report.h"
#include "task/shapes.h"
#include "task/task.h"

static const char *keep(struct arena *arena, const struct buf *b) {
  return arena_strndup(arena, buf_str(b), b->len);
}

// "- input x: float[M, K], a weight"
static void put_buffer(const struct task *t, int value, const char *role, bool weight, struct buf *out) {
  const struct value *v = &t->model.flat.values[value];
  buf_printf(out, "- %s %s: %s[", role, v->name, dtype_name(v->dtype));
  for (int d = 0; d < v->rank; d++)
    if (v->dims[d].symbol)
      buf_printf(out, "%s%s", d ? ", " : "", v->dims[d].symbol);
    else
      buf_printf(out, "%s%lld", d ? ", " : "", (long long)v->dims[d].value);
  buf_printf(out, "]%s\n", weight ? ", a weight" : "");
}

static void put_buffers(const struct task *t, struct buf *out) {
  for (int i = 0; i < t->n_inputs; i++)
    put_buffer(t, t->model.flat.inputs[i], "input", t->inputs[i].distribution.is_static, out);
  for (int i = 0; i < t->n_outputs; i++)
    put_buffer(t, t->model.flat.outputs[i], "output", false, out);
}

static const char *contract_text(const char *name) {
  static const char *const texts[][2] = {
      {"fp32", "fp32. Sums in fp32 at least; neither TF32 nor half precision anywhere"},
      {"tf32", "fp32 buffers; factors of products may be rounded to TF32, sums are in fp32"},
      {"fp16", "fp16 buffers; sums are in fp32"},
      {"bf16", "bf16 buffers; sums are in fp32"},
      {"fp8", "float8 factors, bf16 results; sums are in fp32, those of 128 terms may be the tensor core's"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(texts[i][0], name) == 0)
      return texts[i][1];
  return name;
}

static const char *device_text(const struct assay_judge_options *o, struct arena *arena) {
  const struct assay_peaks *p = &o->peaks;
  if (p->bytes_per_s <= 0)
    return "";
  return arena_printf(arena, "%s%s%s%s (measured: %.0f GB/s of memory, %.0f GFLOP/s in fp32%s)",
                      p->device[0] ? p->device : "a CPU", p->device[0] ? "" : " with ",
                      p->device[0] ? "" : "threads: ", p->device[0] ? "" : arena_printf(arena, "%d", o->threads),
                      p->bytes_per_s / 1e9, p->flops_per_s / 1e9,
                      p->contraction_flops_per_s > 0 ? arena_printf(arena, ", %.0f GFLOP/s in products of matrices",
                                                                    p->contraction_flops_per_s / 1e9)
                                                     : "");
}

static enum assay_status measure(const struct task *t, const struct workload *w, const struct assay_judge_options *o,
                                 struct arena *arena, struct brief *out, struct assay_error *err) {
  struct task_cost c;
  enum assay_status status = task_cost(t, w, &c, err);
  if (status)
    return status;
  const struct assay_peaks *p = &o->peaks;
  struct assay_peaks memory = {.bytes_per_s = p->bytes_per_s,
                               .read_bytes_per_s = p->read_bytes_per_s,
                               .write_bytes_per_s = p->write_bytes_per_s,
                               .cache_bytes = p->cache_bytes,
                               .flops_per_s = INFINITY};
  double moving = assay_floor_ns(&memory, t->contract.name, c.least_input_bytes, c.output_bytes, 0, 0);
  out->floor_ns =
      assay_floor_ns(p, t->contract.name, c.least_input_bytes, c.output_bytes, c.flops, c.least_contraction_flops);
  out->floor = isfinite(out->floor_ns) ? arena_printf(arena, "%.3g us", out->floor_ns / 1e3) : "";
  out->bound = moving >= 0.999 * out->floor_ns ? "the memory" : "the operations";
  out->work = arena_printf(arena, "%.3g MB to read, %.3g MB to write, %.3g MFLOP", c.least_input_bytes / 1e6,
                           c.output_bytes / 1e6, (c.flops + c.least_contraction_flops) / 1e6);
  return ASSAY_OK;
}

static enum assay_status describe(const struct task *t, const struct assay_judge_options *o, struct arena *arena,
                                  struct brief *out, struct assay_error *err) {
  struct workload w;
  struct buf module = {0}, missing = {0}, graph = {0}, buffers = {0};
  enum assay_status status = task_parse_workload(t, o->workload, arena, &w, err);
  if (!status)
    status = report_pytorch(t, &w, &module, &missing, err);
  if (!status)
    status = onnx_print_text(&t->model, &graph, err);
  if (!status)
    status = measure(t, &w, o, arena, out, err);
  if (!status) {
    put_buffers(t, &buffers);
    out->task = arena_strdup(arena, t->name);
    out->title = arena_strdup(arena, t->title ? t->title : "");
    out->module = missing.len ? "" : keep(arena, &module);
    out->graph = keep(arena, &graph);
    out->buffers = keep(arena, &buffers);
    out->workload = w.n ? workload_text(&w, arena) : "these extents";
    out->contract = contract_text(t->contract.name);
    out->device = device_text(o, arena);
    if (!out->task || !out->title || !out->module || !out->graph || !out->buffers || !out->workload || !out->device ||
        !out->floor || !out->work)
      status = error_nomem(err, "a task's description");
  }
  buf_release(&module);
  buf_release(&missing);
  buf_release(&graph);
  buf_release(&buffers);
  return status;
}

enum assay_status brief_make(const char *task_path, const struct assay_judge_options *o, struct arena *arena,
                             struct brief *out, struct assay_error *err) {
  struct task t;
  enum assay_status status = task_read(task_path, o->as_published, &t, err);
  if (status)
    return status;
  status = task_take_contract(&t, o->contract, err);
  status = status ? status : describe(&t, o, arena, out, err);
  task_release(&t);
  return status;
}

int brief_values(const struct brief *b, const struct answer_form *form, struct template_value *values) {
  const struct template_value all[] = {{"task", b->task},         {"title", b->title},     {"module", b->module},
                                       {"graph", b->graph},       {"buffers", b->buffers}, {"workload", b->workload},
                                       {"contract", b->contract}, {"device", b->device},   {"floor", b->floor},
                                       {"bound", b->bound},       {"work", b->work},       {"form", form->prompt},
                                       {"form_what", form->what}, {"tag", form->tag}};
  _Static_assert(sizeof all / sizeof *all <= BRIEF_VALUES, "there is room for all");
  memcpy(values, all, sizeof all);
  return sizeof all / sizeof *all;
}
