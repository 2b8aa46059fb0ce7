// SPDX-License-Identifier: Apache-2.0
// assay tasks [SUITE[/LEVEL]]: lists tasks, or lints them.
#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "judge/slabs.h"
#include "task/lint.h"
#include "task/task.h"

enum { KEY_LINT = 4000, KEY_PUBLISHED, KEY_WORKLOAD, LINT_SEED = 20260101 };

struct arguments {
  struct cli_judging judging; // for the machine's peaks
  const char *suite, *workload;
  bool lint, published;
  int findings;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case KEY_LINT:
    a->lint = true;
    return 0;
  case KEY_PUBLISHED:
    a->published = true;
    return 0;
  case KEY_WORKLOAD:
    a->workload = arg;
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "SUITE", arg, &a->suite);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"lint", KEY_LINT, 0, 0, "look for shortcuts that would pass (exit code 1 if there are any)", 0},
    {"as-published", KEY_PUBLISHED, 0, 0, "the tasks as their suite published them", 0},
    {"workload", KEY_WORKLOAD, "NAME|DIMS", 0, "sizes to describe (default full; with --lint small)", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_common_child,
    .args_doc = "[SUITE[/LEVEL[/TASK]]]",
    .doc = "Lists tasks: what they compute, their minimum work, and this machine's floor for it.",
};

// The operators of a graph in order of appearance, each once.
static void operator_names(const struct graph *g, struct buf *out) {
  for (int i = 0; i < g->n_nodes; i++) {
    bool seen = false;
    for (int k = 0; k < i; k++)
      seen = seen || strcmp(g->nodes[k].op_type, g->nodes[i].op_type) == 0;
    if (!seen)
      buf_printf(out, "%s%s", out->len ? " " : "", g->nodes[i].op_type);
  }
}

static double floor_ns(const struct arguments *a, const struct task *t, const struct task_cost *c) {
  const struct assay_judge_options *o = &a->judging.options;
  return assay_floor_ns(&o->peaks, t->contract.name, c->least_input_bytes, c->output_bytes, c->flops,
                        c->least_contraction_flops);
}

static enum assay_status describe(struct arguments *a, const struct task *t, struct table *table, json_t *array,
                                  struct assay_error *err) {
  struct arena arena = {0};
  struct workload w;
  struct task_cost c;
  struct buf names = {0};
  struct layout layout = {0};
  char bytes[32], flops[32], memory[32], slabs[32] = "", least[32];
  int64_t in_slabs = 0;
  enum assay_status status = task_parse_workload(t, a->workload ? a->workload : "full", &arena, &w, err);
  if (!status)
    status = task_cost(t, &w, &c, err);
  if (!status)
    status = layout_make(t, &w, &layout, err);
  if (!status)
    status = slabs_least_bytes(t, &layout, &a->judging.options, &in_slabs, err);
  if (!status) {
    const double need = (double)layout_judging_bytes(&layout, &a->judging.options);
    operator_names(&t->model.flat, &names);
    cli_count_text(c.input_bytes + c.output_bytes, "B", bytes);
    cli_count_text(c.flops + c.contraction_flops, "FLOP", flops);
    cli_time_text(floor_ns(a, t, &c), least);
    cli_count_text(need, "B", memory);
    if (in_slabs > 0 && (double)in_slabs < need)
      cli_count_text((double)in_slabs, "B", slabs);
    table_row(table, (const char *const[]){t->name, bytes, flops, memory, slabs, least, t->repaired ? "repaired" : "",
                                           t->title, buf_str(&names)});
    double ns = floor_ns(a, t, &c);
    json_t *row = json_pack(
        "{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:b, s:s?, s:s, s:s, s:s}", "task", t->name, "title",
        t->title, "workload", w.name, "input_bytes", c.input_bytes, "output_bytes", c.output_bytes, "weight_bytes",
        c.weight_bytes, "flops", c.flops + c.contraction_flops, "cpu_memory_bytes", need, "cpu_memory_in_slabs_bytes",
        slabs[0] ? json_real((double)in_slabs) : json_null(), "floor_ns", cli_json_real(ns), "repaired", t->repaired,
        "repair", t->repair, "contract", t->contract.name, "operators", buf_str(&names), "sha256", t->hash);
    json_array_append_new(array, cli_json_of("task", row));
  }
  buf_release(&names);
  layout_release(&layout);
  arena_release(&arena);
  return status;
}

static enum assay_status lint(struct arguments *a, const struct task *t, struct table *table, json_t *array,
                              struct assay_error *err) {
  struct lint_report *r = base_calloc(1, sizeof *r);
  struct arena arena = {0};
  struct workload w;
  if (!r)
    return error_nomem(err, "a lint report");
  enum assay_status status = task_parse_workload(t, a->workload ? a->workload : "small", &arena, &w, err);
  if (!status)
    status = lint_task(t, &w, LINT_SEED, a->judging.options.threads, r, err);
  for (int i = 0; i < r->n_findings && !status; i++) {
    const struct lint_finding *f = &r->findings[i];
    struct buf rules = {0};
    for (int k = 0; k < LINT_RULE_COUNT; k++)
      if (f->rules & 1u << k)
        buf_printf(&rules, "%s%s", rules.len ? " " : "", lint_rule_name((enum lint_rule)k));
    table_row(table, (const char *const[]){t->name, t->as_published ? "published" : "default", lint_code_name(f->code),
                                           buf_str(&rules), f->allowed ? "allowed" : "", f->text});
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:s, s:b, s:s, s:s}", "task", t->name, "form",
                  t->as_published ? "published" : "default", "finding", lint_code_name(f->code), "rules",
                  buf_str(&rules), "allowed", f->allowed, "text", f->text, "advice", lint_code_advice(f->code));
    json_array_append_new(array, cli_json_of("lint", row));
    buf_release(&rules);
  }
  a->findings += r->n_open;
  arena_release(&arena);
  base_free(r);
  return status;
}

static enum assay_status each_task(struct arguments *a, struct table *table, json_t *array, struct assay_error *err) {
  char **paths = NULL;
  int count = 0;
  struct cli_meter meter = {.form = a->judging.progress};
  enum assay_status status = task_list(a->judging.paths.tasks, a->suite, &paths, &count, err);
  for (int i = 0; i < count && !status; i++) {
    struct task t;
    cli_meter_show(&meter, paths[i], i, count);
    status = task_read(paths[i], a->published, &t, err);
    if (status)
      break;
    status = a->lint ? lint(a, &t, table, array, err) : describe(a, &t, table, array, err);
    task_release(&t);
  }
  cli_progress_clear();
  task_list_release(paths, count);
  return status;
}

int cli_tasks(int argc, char **argv) {
  static const char *const headers[] = {"task",  "bytes", "work",  "memory",   "slabs",
                                        "floor", "form",  "title", "operators"};
  static const char *const lint_headers[] = {"task", "form", "finding", "passes rule", "", "measured"};
  struct arguments a = {0};
  struct assay_error err = {0};
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  struct store *store = cli_store_read(&a.judging);
  cli_judging_finish(&a.judging, store);
  struct table *table = a.lint ? table_create(lint_headers, 6, "llllll") : table_create(headers, 9, "lrrrrrlll");
  json_t *array = json_array();
  enum assay_status status = table && array ? each_task(&a, table, array, &err) : error_nomem(&err, "a table");
  if (!status && a.judging.json) {
    cli_json_print(json_incref(array));
  } else if (!status) {
    table_print(table, stdout);
    if (a.lint)
      printf("\n%d open finding%s\n", a.findings, a.findings == 1 ? "" : "s");
  }
  json_decref(array);
  table_destroy(table);
  store_close(store);
  return status ? cli_fail(&err) : a.lint && a.findings ? CLI_FAIL : CLI_PASS;
}
