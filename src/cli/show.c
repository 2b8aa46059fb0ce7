// SPDX-License-Identifier: Apache-2.0
// assay show TASK: what it computes, its sizes, and an equivalent PyTorch module.
#include <argp.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/printable.h"
#include "cli/cells.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "onnx/onnx.h"
#include "report/report.h"
#include "task/check.h"
#include "task/shapes.h"

enum { KEY_PUBLISHED = 5000, KEY_PYTORCH, KEY_WORKLOAD, KEY_BASELINE, KEY_CONTRACT };

struct arguments {
  struct cli_judging judging;
  const char *task, *workload, *baseline, *contract;
  bool published, only_pytorch;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  struct assay_error err = {0};
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case KEY_PUBLISHED:
    a->published = true;
    return 0;
  case KEY_PYTORCH:
    a->only_pytorch = true;
    return 0;
  case KEY_WORKLOAD:
    a->workload = arg;
    return 0;
  case KEY_BASELINE:
    if (cli_baseline_check(arg, false, &err) != ASSAY_OK)
      argp_error(state, "%s", err.message);
    a->baseline = arg;
    return 0;
  case KEY_CONTRACT:
    if (cli_contract_check(arg, &err) != ASSAY_OK)
      argp_error(state, "--contract: %s", err.message);
    a->contract = arg;
    return 0;
  case ARGP_KEY_END:
    if (a->contract && !a->baseline)
      argp_error(state, "--contract is for --baseline, whose module depends on it");
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "TASK", arg, &a->task);
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_usage(state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"as-published", KEY_PUBLISHED, 0, 0, "the task as its suite published it", 0},
    {"workload", KEY_WORKLOAD, "NAME|DIMS", 0, "sizes of the PyTorch module's inputs (default full)", 0},
    {"pytorch", KEY_PYTORCH, 0, 0, "print only the PyTorch module", 0},
    {"baseline", KEY_BASELINE, "NAME", 0, "print only this baseline as a candidate, for the workload", 0},
    {"contract", KEY_CONTRACT, "NAME", 0, "the baseline under this contract, as judge has it: tf32", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_both_child,
    .args_doc = "TASK",
    .doc = "Shows a task: its graph, its workloads with their shapes and minimum work, its inputs, and an equivalent "
           "PyTorch module.",
};

static void print_shapes(const struct task *t, const struct array *inputs, struct buf *out) {
  char text[SHAPE_TEXT_BYTES];
  for (int i = 0; i < t->n_inputs; i++)
    buf_printf(out, "%s%s%s", i ? " " : "", t->inputs[i].name, shape_text(&inputs[i].shape, text));
}

static enum assay_status workload_row(const struct arguments *a, const struct task *t, const struct workload *w,
                                      struct table *table, json_t *array, struct assay_error *err) {
  struct array *inputs = base_calloc((size_t)t->n_inputs + 1, sizeof *inputs);
  struct task_cost c;
  struct buf shapes = {0};
  char bytes[32], flops[32], least[32];
  const struct assay_judge_options *o = &a->judging.options;
  enum assay_status status = inputs ? task_input_shapes(t, w, inputs, err) : error_nomem(err, "a table");
  if (!status)
    status = task_cost(t, w, &c, err);
  if (!status) {
    double ns = assay_floor_ns(&o->peaks, t->contract.name, c.least_input_bytes, c.output_bytes, c.flops,
                               c.least_contraction_flops);
    print_shapes(t, inputs, &shapes);
    if (shapes.data)
      printable(shapes.data);
    cli_count_text(c.input_bytes + c.output_bytes, "B", bytes);
    cli_count_text(c.flops + c.contraction_flops, "FLOP", flops);
    table_row(table, (const char *const[]){w->name, bytes, flops, cli_time_text(ns, least), buf_str(&shapes)});
    json_array_append_new(array, json_pack("{s:s, s:f, s:f, s:f, s:o, s:s}", "workload", w->name, "bytes",
                                           c.input_bytes + c.output_bytes, "weight_bytes", c.weight_bytes, "flops",
                                           c.flops + c.contraction_flops, "floor_ns", cli_json_real(ns), "inputs",
                                           buf_str(&shapes)));
  }
  buf_release(&shapes);
  base_free(inputs);
  return status;
}

// The key assay.shapes, or what stands for it.
static enum assay_status ranges_text(const struct task *t, struct arena *arena, const char **text,
                                     struct assay_error *err) {
  struct shape_ranges ranges;
  enum assay_status status = shape_ranges_find(t, arena, &ranges, err);
  if (status)
    return status;
  *text = shape_ranges_text(&ranges, arena);
  return *text ? ASSAY_OK : error_nomem(err, "a task's shapes");
}

static void print_head(const struct task *t) {
  const char *origin = model_property(&t->model, "assay.origin");
  char line[1024];
  cells_printf(stdout, "%s  %s%s\n", t->name, t->title, t->as_published ? " (as published)" : "");
  if (origin)
    cells_printf(stdout, "from: %s\n", printable_line(origin, line, sizeof line));
  cells_printf(stdout, "contract: %s; published tolerance: |error| <= %g + %g |answer|\n", t->contract.name, t->atol,
               t->rtol);
  if (t->repaired)
    cells_printf(stdout, "repaired: %s\n", t->repair ? t->repair : "see docs/kernelbench.md");
  printf("\n");
  for (int i = 0; i < t->n_inputs; i++)
    cells_printf(stdout, "input %d  %-12s %s\n", i, printable_line(t->inputs[i].name, line, sizeof line),
                 t->inputs[i].distribution.text);
  printf("\n");
  if (task_has_check(t)) {
    const struct graph *g = task_oracle_graph(t);
    printf("judged by function %s:", model_property(&t->model, "assay.check"));
    for (int i = 0; i < g->n_outputs; i++)
      printf("%s %s", i ? "," : "", printable_line(g->values[g->outputs[i]].name, line, sizeof line));
    printf("\n\n");
  }
}

static enum assay_status show(struct arguments *a, const struct task *t, struct assay_error *err) {
  static const char *const headers[] = {"workload", "bytes", "work", "floor", "inputs"};
  struct buf graph = {0}, pytorch = {0}, missing = {0};
  struct arena arena = {0};
  struct workload sizes;
  const char *drawn = "";
  struct table *table = table_create(headers, 5, "lrrrl");
  json_t *array = json_array();
  enum assay_status status = table && array ? ASSAY_OK : error_nomem(err, "a table");
  for (int i = 0; i < t->n_workloads && !status; i++)
    status = workload_row(a, t, &t->workloads[i], table, array, err);
  if (!status)
    status = onnx_print_text(&t->model, &graph, err);
  if (!status)
    status = task_parse_workload(t, a->workload ? a->workload : "full", &arena, &sizes, err);
  if (!status)
    status = report_pytorch(t, &sizes, &pytorch, &missing, err);
  if (!status)
    status = ranges_text(t, &arena, &drawn, err);
  if (status)
    goto out;
  struct buf *texts[] = {&graph, &pytorch};
  for (int i = 0; i < 2; i++)
    if (texts[i]->data)
      printable(texts[i]->data); // names and strings of the file
  if (a->judging.json) {
    json_t *j = json_pack("{s:s, s:s, s:b, s:s, s:O, s:s, s:s?, s:s, s:s?, s:s?}", "task", t->name, "title", t->title,
                          "repaired", t->repaired, "contract", t->contract.name, "workloads", array, "onnx",
                          buf_str(&graph), "pytorch", missing.len ? NULL : buf_str(&pytorch), "shapes", drawn, "repair",
                          t->repair, "no_pytorch_for", missing.len ? buf_str(&missing) : NULL);
    cli_json_print(cli_json_of("show", j));
  } else if (a->only_pytorch && missing.len) {
    status = error_set(err, ASSAY_ERR_UNSUPPORTED, "%s has no PyTorch module: there is no translation of %s", t->name,
                       buf_str(&missing));
  } else if (a->only_pytorch) {
    fputs(buf_str(&pytorch), stdout);
  } else {
    print_head(t);
    table_print(table, stdout);
    cells_printf(stdout, "\ndrawn shapes: %s\n", *drawn ? drawn : "none: no extent may change");
    printf("\n--- ONNX ---\n%s\n--- PyTorch ---\n", buf_str(&graph));
    if (missing.len)
      printf("none: there is no translation of %s\n", buf_str(&missing));
    else
      fputs(buf_str(&pytorch), stdout);
  }
out:
  arena_release(&arena);
  json_decref(array);
  table_destroy(table);
  buf_release(&graph);
  buf_release(&pytorch);
  buf_release(&missing);
  return status;
}

static enum assay_status print_baseline(const struct arguments *a, const char *path, struct assay_error *err) {
  struct buf text = {0};
  const struct cli_baseline_request r = {.name = a->baseline,
                                         .task_path = path,
                                         .workload = a->workload ? a->workload : "full",
                                         .as_published = a->published,
                                         .contract = a->contract};
  enum assay_status status = cli_baseline_text(&r, &text, err);
  if (!status)
    fputs(buf_str(&text), stdout);
  buf_release(&text);
  return status;
}

int cli_show(int argc, char **argv) {
  struct arguments a = {0};
  struct assay_error err = {0};
  char *path = NULL;
  struct task t;
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  enum assay_status status = task_find(a.judging.paths.tasks, a.task, &path, &err);
  if (!status && a.baseline) {
    status = print_baseline(&a, path, &err);
    base_free(path);
    return status ? cli_fail(&err) : CLI_PASS;
  }
  if (!status)
    status = task_read(path, a.published, &t, &err);
  if (!status) {
    struct store *store = cli_store_read(&a.judging);
    cli_judging_finish(&a.judging, store);
    status = show(&a, &t, &err);
    store_close(store);
    task_release(&t);
  }
  base_free(path);
  if (status == ASSAY_ERR_UNSUPPORTED && a.only_pytorch) {
    cli_fail(&err);
    return CLI_FAIL; // the task is read, and has no such module
  }
  return status ? cli_fail(&err) : CLI_PASS;
}
