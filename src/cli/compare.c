// SPDX-License-Identifier: Apache-2.0
// assay compare A B: two runs, task by task, and what they show together.
#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "cli/argv.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "report/compare.h"

static const struct argp argp = {
    .parser = cli_parse_words,
    .children = cli_store_child,
    .args_doc = "A B\nSUITE --with MAKER,...",
    .doc =
        "Compares two runs of the store, task by task. Of each it takes the fastest right candidate.\v"
        "B/A is how much faster B is, with a 95 % interval of both runs' samples. A task shows a difference when the "
        "whole interval is more than 1 % from 1 (10 % on a CPU): two judgements of one kernel differ by as much. Last "
        "come the right answers (an exact sign test over the tasks that only one has right) and the geometric mean of "
        "the times (Student's t over tasks). With --with, makers of kernels side by side: `assay compare --with= "
        "--help`."};

static const char *verdict_name(enum compare_verdict v) {
  static const char *const names[] = {
      [COMPARE_NO_DIFFERENCE] = "no_difference", [COMPARE_A] = "a", [COMPARE_B] = "b", [COMPARE_UNKNOWN] = "unknown"};
  return names[v];
}

// --- as a table

// "pass 12.3 us", "wrong_value", "-" where the run has nothing.
static const char *side_text(const struct compare_side *s, char *text, size_t size) {
  char time[32];
  if (!s->there)
    snprintf(text, size, "-");
  else if (s->right && !isnan(s->time_ns))
    snprintf(text, size, "pass %s", cli_time_text(s->time_ns, time));
  else
    snprintf(text, size, "%s",
             s->reason == ASSAY_REASON_PASS && !s->right ? "pass (judged shape)" : assay_reason_code(s->reason));
  return text;
}

static const char *ratio_text(double ratio, const struct interval *ci, char *text, size_t size) {
  if (isnan(ratio))
    snprintf(text, size, "-");
  else if (isnan(ci->low))
    snprintf(text, size, "%.3g", ratio);
  else
    snprintf(text, size, "%.3g (%.3g to %.3g)", ratio, ci->low, ci->high);
  return text;
}

static const char *conclusion(enum compare_verdict v, const char *a, const char *b) {
  return v == COMPARE_A         ? a
         : v == COMPARE_B       ? b
         : v == COMPARE_UNKNOWN ? "too few for a verdict"
                                : "no difference shown";
}

static void print_summary(const struct comparison *c) {
  char ratio[96];
  printf("\n%d task%s in both", c->n_both, c->n_both == 1 ? "" : "s");
  if (c->only_in_a || c->only_in_b)
    printf(" (%d only in A, %d only in B)", c->only_in_a, c->only_in_b);
  printf("\nright: A %d, B %d; only A %d, only B %d: %s (p = %.2g)\n", c->right_a, c->right_b, c->only_a_right,
         c->only_b_right, conclusion(c->right, "A is right more often", "B is right more often"), c->right_p);
  printf("times of %d task%s: B/A %s: %s\n", c->n_times, c->n_times == 1 ? "" : "s",
         ratio_text(c->ratio, &c->ratio_interval, ratio, sizeof ratio),
         conclusion(c->faster, "A is faster", "B is faster"));
}

static void print_text(const struct cli_words *args, const struct comparison *c) {
  static const char *const headers[] = {"task", "A", "B", "B/A", "what"};
  struct table *t = table_create(headers, 5, "lllll");
  char a[64], b[64], ratio[96], name[512];
  for (int i = 0; i < c->n && t; i++) {
    const struct compare_task *task = &c->tasks[i];
    table_row(t, (const char *const[]){task->task, side_text(&task->a, a, sizeof a), side_text(&task->b, b, sizeof b),
                                       ratio_text(task->ratio, &task->ratio_interval, ratio, sizeof ratio), task->why});
  }
  printf("A: %s\n", printable_line(args->items[0], name, sizeof name));
  printf("B: %s\n\n", printable_line(args->items[1], name, sizeof name));
  if (t)
    table_print(t, stdout);
  table_destroy(t);
  print_summary(c);
}

// --- as JSON

static json_t *interval_json(const struct interval *ci) {
  return isfinite(ci->low) && isfinite(ci->high) ? json_pack("[f, f]", ci->low, ci->high) : json_null();
}

static json_t *side_json(const struct compare_side *s) {
  if (!s->there)
    return json_null();
  return json_pack("{s:s, s:b, s:s, s:s, s:s, s:s, s:o, s:o, s:b}", "verdict", assay_reason_code(s->reason), "right",
                   s->right, "candidate", s->candidate, "workload", s->workload, "form", s->form, "device", s->device,
                   "time_ns", cli_json_real(s->time_ns), "time_interval_ns",
                   isnan(s->time_ns) ? json_null() : interval_json(&s->time), "unstable", s->unstable);
}

static json_t *task_json(const struct compare_task *t) {
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:s}", "task", t->task, "a", side_json(&t->a), "b", side_json(&t->b),
                   "ratio", cli_json_real(t->ratio), "ratio_interval", interval_json(&t->ratio_interval), "verdict",
                   verdict_name(t->verdict), "detail", t->why);
}

static enum assay_status print_json(const struct cli_words *args, const struct comparison *c, struct assay_error *err) {
  json_t *tasks = json_array();
  for (int i = 0; i < c->n; i++)
    json_array_append_new(tasks, task_json(&c->tasks[i]));
  json_t *right =
      json_pack("{s:i, s:i, s:i, s:i, s:f, s:s}", "a", c->right_a, "b", c->right_b, "only_a", c->only_a_right, "only_b",
                c->only_b_right, "p", c->right_p, "verdict", verdict_name(c->right));
  json_t *times = json_pack("{s:i, s:o, s:o, s:s}", "tasks", c->n_times, "ratio", cli_json_real(c->ratio),
                            "ratio_interval", interval_json(&c->ratio_interval), "verdict", verdict_name(c->faster));
  json_t *all = json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o, s:o}", "a", args->items[0], "b", args->items[1],
                          "tasks_in_both", c->n_both, "only_in_a", c->only_in_a, "only_in_b", c->only_in_b, "right",
                          right, "times", times, "tasks", tasks);
  if (!all)
    return error_nomem(err, "a comparison");
  cli_json_print(cli_json_of("compare", all));
  return ASSAY_OK;
}

int cli_compare(int argc, char **argv) {
  if (cli_is_side_by_side(argc, argv))
    return cli_side(argc, argv);
  if (argc == 2 && strcmp(argv[1], CLI_DESCRIBE) == 0) {
    cli_side_describe(argv[0], &argp);
    return CLI_PASS;
  }
  struct cli_words a = {0};
  struct assay_error err = {0};
  struct store *store = NULL;
  struct comparison c = {0};
  const char *word = cli_side_word(argc, argv);
  if (word) {
    error_set(&err, ASSAY_ERR_USAGE, "--%s is of makers: assay compare SUITE --with eager,files:DIR --%s", word, word);
    return cli_fail(&err);
  }
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  enum assay_status status =
      a.n == 2 ? ASSAY_OK : error_set(&err, ASSAY_ERR_USAGE, "name two runs: `assay runs` lists them");
  if (!status)
    status = store_open_existing(a.judging.paths.store, &store, &err);
  if (!status)
    status = compare_runs(store, a.items[0], a.items[1], &c, &err);
  if (!status && a.judging.json)
    status = print_json(&a, &c, &err);
  else if (!status)
    print_text(&a, &c);
  compare_release(&c);
  store_close(store);
  return status ? cli_fail(&err) : CLI_PASS;
}
