// SPDX-License-Identifier: Apache-2.0
#include "site/task_parts.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "report/report.h"
#include "score/figure.h"
#include "site/highlight.h"

static void put_shapes(const struct task *t, const struct array *inputs, struct buf *out) {
  char text[SHAPE_TEXT_BYTES];
  for (int i = 0; i < t->n_inputs; i++)
    if (!t->inputs[i].distribution.is_static)
      buf_printf(out, "%s%s%s", out->len ? " " : "", t->inputs[i].name, shape_text(&inputs[i].shape, text));
}

// From a byte to terabytes in one column: each with its own unit, sorted by what it is in the smallest.
static void put_amount(struct html *w, struct frame_table *table, double x, const char *unit) {
  static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  char value[48];
  table_cell_begin(w, table, isfinite(x) ? score_number(x, 0, value, sizeof value) : "");
  for (; prefix + 1 < (int)(sizeof prefixes / sizeof *prefixes) && x >= 999.95; prefix++)
    x /= 1000;
  if (isfinite(x))
    html_printf(w, "%.4g %s%s", x, prefixes[prefix], unit);
  else
    html_text(w, "-");
  table_cell_end(w, table);
}

static void put_workload(struct html *w, struct frame_table *table, const struct task *t, const struct workload *load) {
  struct array *inputs = base_calloc((size_t)t->n_inputs + 1, sizeof *inputs);
  struct assay_error ignored = {0};
  struct task_cost c;
  struct buf shapes = {0};
  const bool known = inputs && task_input_shapes(t, load, inputs, &ignored) == ASSAY_OK &&
                     task_cost(t, load, &c, &ignored) == ASSAY_OK;
  table_row_begin(w, table, NULL);
  table_text(w, table, load->name);
  if (known)
    put_shapes(t, inputs, &shapes);
  table_text(w, table, shapes.len ? buf_str(&shapes) : "-");
  put_amount(w, table, known ? c.input_bytes + c.output_bytes : NAN, "B");
  put_amount(w, table, known ? c.flops + c.contraction_flops : NAN, "FLOP");
  table_row_end(w, table);
  w->out->failed = w->out->failed || !inputs || shapes.failed;
  buf_release(&shapes);
  base_free(inputs);
}

static void put_workloads(struct html *w, const struct task *t) {
  static const struct frame_column columns[] = {
      {"workload", 'l'}, {"inputs, without weights", 'w'}, {"least traffic", 'r'}, {"work", 'r'}};
  struct frame_table table = {.label = "workloads", .columns = columns, .n = 4};
  frame_heading(w, "workloads", "Workloads and inputs");
  table_begin(w, &table);
  for (int i = 0; i < t->n_workloads; i++)
    put_workload(w, &table, t, &t->workloads[i]);
  table_end(w, &table);
  facts_begin(w);
  facts_text(w, "contract", t->contract.name);
  for (int i = 0; i < t->n_inputs; i++)
    if (!t->inputs[i].distribution.is_static)
      facts_text(w, t->inputs[i].name, t->inputs[i].distribution.text);
  facts_text(w, "repaired", t->repaired ? t->repair ? t->repair : "yes" : NULL);
  facts_end(w);
}

// The linter runs the task many times; what it finds that is not declared here fails the suite's own tests.
static void put_lint(struct html *w, const struct task *t) {
  const char *allowed = model_property(&t->model, "assay.lint.allow");
  frame_heading(w, "lint", "Lint");
  html_element(
      w, EL_P, NULL,
      "Would a wrong answer be accepted? What is inherent in the task is declared in its file, with the reason.");
  if (allowed && allowed[0])
    html_element(w, EL_P, NULL, allowed);
  else
    frame_empty(w, "Nothing is declared: no shortcut that the linter knows is inherent in this task.");
  html_open(w, EL_P);
  html_attr(w, AT_CLASS, "note");
  html_printf(w, "assay tasks %s --lint measures it.", t->name);
  html_close(w, EL_P);
}

static void put_pytorch(struct html *w, const struct task *t) {
  const struct workload *full = task_workload(t, "full");
  struct buf text = {0}, missing = {0};
  struct assay_error ignored = {0};
  frame_heading(w, "pytorch", "The same in PyTorch");
  if (!full || report_pytorch(t, full, &text, &missing, &ignored) != ASSAY_OK)
    frame_empty(w, "No module could be written for this task.");
  else if (missing.len) {
    html_open(w, EL_P);
    html_attr(w, AT_CLASS, "empty");
    html_printf(w, "There is no translation of %s.", buf_str(&missing));
    html_close(w, EL_P);
  } else
    highlight_write(w, HIGHLIGHT_PYTHON, buf_str(&text), text.len);
  buf_release(&text);
  buf_release(&missing);
}

void task_put_parts(struct html *w, const struct site_task *task) {
  struct assay_error ignored = {0};
  struct task t;
  if (!task->path || task_read(task->path, false, &t, &ignored) != ASSAY_OK) {
    frame_heading(w, "graph", "The task");
    frame_empty(w, "The task's file was not there when this page was made: no graph, no workloads.");
    return;
  }
  frame_heading(w, "graph", "Graph");
  task_put_graph(w, &t);
  put_workloads(w, &t);
  put_lint(w, &t);
  put_pytorch(w, &t);
  task_release(&t);
}
