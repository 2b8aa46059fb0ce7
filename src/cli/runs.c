// SPDX-License-Identifier: Apache-2.0
// assay runs: the runs of the store: listed, renamed, deleted, merged, carried to another store.
#include <argp.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "cli/cells.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "report/flashinfer.h"
#include "report/kernelbenchx.h"
#include "report/lines.h"

static const struct argp_option options[] = {
    {"compact", CLI_KEY_COMPACT, 0, 0,
     "export the verdicts that stand, with rounded samples and without paths of this machine", 0},
    {"yes", CLI_KEY_YES, 0, 0, "delete without asking", 0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = cli_parse_words,
    .children = cli_store_child,
    .args_doc = "\nrename RUN NAME\ndelete RUN...\nmerge NAME RUN...\nexport RUN FILE\nimport FILE [RUN]",
    .doc =
        "Lists the runs of the store: their verdicts, tasks, workloads and devices. rename gives one another name, "
        "delete removes runs with all their verdicts, and merge puts the verdicts of several into one: of a task and "
        "candidate that several have, the newest verdict counts. export writes a run's verdicts as JSON Lines, and "
        "import "
        "reads such a file into the store, whole or not at all; traces of flashinfer-bench, and a "
        "metrics.json of KernelBench-X, become the run RUN (default: the file's name)."};

// --- list

struct listing {
  struct table *table;
  json_t *array;
};

static void time_text(int64_t at_ns, char *text, size_t size) {
  time_t seconds = (time_t)(at_ns / 1000000000);
  struct tm tm;
  if (!localtime_r(&seconds, &tm) || strftime(text, size, "%Y-%m-%d %H:%M", &tm) == 0)
    snprintf(text, size, "-");
}

static bool add_run(void *arg, const struct store_run *r) {
  struct listing *l = arg;
  char passed[64], tasks[32], last[32];
  snprintf(passed, sizeof passed, "%lld/%lld", (long long)r->n_passed, (long long)r->n_standing);
  snprintf(tasks, sizeof tasks, "%lld", (long long)r->n_tasks);
  time_text(r->last_ns, last, sizeof last);
  table_row(l->table, (const char *const[]){r->name, passed, tasks, r->workloads, r->devices, last});
  json_t *row =
      json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:I, s:I}", "run", r->name, "verdicts", (json_int_t)r->n_verdicts,
                "standing", (json_int_t)r->n_standing, "passed", (json_int_t)r->n_passed, "tasks",
                (json_int_t)r->n_tasks, "workloads", r->workloads, "devices", r->devices, "first_ns",
                (json_int_t)r->first_ns, "last_ns", (json_int_t)r->last_ns);
  json_array_append_new(l->array, cli_json_of("run", row));
  return true;
}

static enum assay_status list_runs(const struct cli_words *a, struct store *store, struct assay_error *err) {
  static const char *const headers[] = {"run", "passed", "tasks", "workloads", "devices", "last verdict"};
  struct listing l = {table_create(headers, 6, "lrrlll"), json_array()};
  enum assay_status status =
      l.table && l.array ? store_each_run(store, add_run, &l, err) : error_nomem(err, "a table of runs");
  if (!status && a->judging.json)
    cli_json_print(json_incref(l.array));
  else if (!status && json_array_size(l.array) == 0)
    cli_say_no_runs(a->judging.paths.store);
  else if (!status)
    table_print(l.table, stdout);
  json_decref(l.array);
  table_destroy(l.table);
  return status;
}

// --- changes

// Says what a change did, as a line or as an element of the list.
static void report(const struct cli_words *a, struct cli_json_list *list, const char *what, const char *run,
                   int64_t n) {
  char name[512];
  if (a->judging.json)
    cli_json_next(list, cli_json_of("run_change",
                                    json_pack("{s:s, s:I, s:s}", "run", run, "verdicts", (json_int_t)n, "done", what)));
  else
    printf("run \"%s\": %lld verdicts %s\n", printable_line(run, name, sizeof name), (long long)n, what);
}

static void report_file(const struct cli_words *a, struct cli_json_list *list, const char *file, int64_t n) {
  if (a->judging.json)
    cli_json_next(list, cli_json_of("run_change", json_pack("{s:s, s:I, s:s}", "file", file, "verdicts", (json_int_t)n,
                                                            "done", "imported")));
  else
    printf("%s: %lld verdicts imported\n", file, (long long)n);
}

static enum assay_status rename_run(const struct cli_words *a, struct store *store, struct cli_json_list *list,
                                    struct assay_error *err) {
  int64_t n = 0;
  enum assay_status status = store_move_run(store, a->items[1], a->items[2], false, &n, err);
  if (!status)
    report(a, list, "renamed", a->items[2], n);
  return status;
}

// One after the other: what was moved before one that cannot be stays moved, and is said.
static enum assay_status merge_runs(const struct cli_words *a, struct store *store, struct cli_json_list *list,
                                    struct assay_error *err) {
  int64_t n = 0, all = 0;
  enum assay_status status = ASSAY_OK;
  for (int i = 2; i < a->n && !status; i++) {
    status = store_move_run(store, a->items[i], a->items[1], true, &n, err);
    all += status ? 0 : n;
  }
  if (!status || all > 0)
    report(a, list, "merged into it", a->items[1], all);
  return status;
}

static enum assay_status delete_runs(const struct cli_words *a, struct store *store, struct cli_json_list *list,
                                     struct assay_error *err) {
  int64_t n = 0;
  char question[64];
  snprintf(question, sizeof question, "delete %d run%s with all verdicts?", a->n - 1, a->n == 2 ? "" : "s");
  enum assay_status status = ASSAY_OK;
  if (!cli_confirm(a->yes, question))
    status = error_set(err, ASSAY_ERR_USAGE, "nothing was deleted: deleting cannot be undone; say --yes");
  for (int i = 1; i < a->n && !status; i++) {
    status = store_delete_run(store, a->items[i], &n, err);
    if (!status)
      report(a, list, "deleted", a->items[i], n);
  }
  return status;
}

// --- files

static enum assay_status export_run(const struct cli_words *a, struct store *store, struct cli_json_list *list,
                                    struct assay_error *err) {
  struct buf text = {0};
  int64_t n = 0;
  enum assay_status status = lines_write(store, a->items[1], a->compact, &text, &n, err);
  if (!status)
    status = file_write(a->items[2], buf_str(&text), text.len, err);
  if (!status)
    report(a, list, "exported", a->items[1], n);
  buf_release(&text);
  return status;
}

// Traces of flashinfer-bench and results of KernelBench-X have no run: it is the one that is named, or called like the
// file.
static char *run_of_file(const struct cli_words *a) {
  const char *slash = strrchr(a->items[1], '/'), *name = slash ? slash + 1 : a->items[1], *dot = strrchr(name, '.');
  return a->n > 2 ? base_strndup(a->items[2], strlen(a->items[2]))
                  : base_strndup(name, dot > name ? (size_t)(dot - name) : strlen(name));
}

enum foreign { NOT_FOREIGN, TRACES, METRICS, SUMMARY };

static enum foreign foreign_of(const char *path, const char *text, size_t len) {
  struct assay_error ignored = {0};
  enum kernelbenchx_file form;
  if (flashinfer_is_traces(text, len))
    return TRACES;
  if (!strstr(text, "\"call_ok\"") && !strstr(text, "\"exe_ok\"") && !strstr(text, "\"call_pass\""))
    return NOT_FOREIGN;
  if (kernelbenchx_file_of(path, &form, &ignored) != ASSAY_OK) // reads the file anew
    return NOT_FOREIGN;
  return form == KERNELBENCHX_METRICS ? METRICS : form == KERNELBENCHX_SUMMARY ? SUMMARY : NOT_FOREIGN;
}

static enum assay_status import_text(const struct cli_words *a, struct store *store, const char *text, size_t len,
                                     int64_t *n, struct assay_error *err) {
  const char *file = a->items[1];
  const enum foreign foreign = foreign_of(file, text, len);
  if (foreign == NOT_FOREIGN && a->n > 2)
    return error_set(err, ASSAY_ERR_USAGE,
                     "%s is no file of Traces (JSON, one a line, with definition and workload) and no metrics.json of "
                     "KernelBench-X, and verdicts bring their runs' names along: assay runs import FILE",
                     file);
  if (foreign == SUMMARY)
    return error_set(
        err, ASSAY_ERR_USAGE,
        "%s is a summary of KernelBench-X's, which has counts and no verdicts: import the metrics.json next "
        "to it",
        file);
  char *run = run_of_file(a);
  enum assay_status status = run ? ASSAY_OK : error_nomem(err, "a name");
  if (!status && foreign == METRICS)
    status = kernelbenchx_read_run(store, run, a->judging.paths.tasks, file, n, err);
  else if (!status) {
    status = foreign == TRACES ? flashinfer_read(store, run, text, len, n, err) : lines_read(store, text, len, n, err);
    status = status ? error_prefix(err, status, "%s: ", file) : ASSAY_OK;
  }
  base_free(run);
  return status;
}

static enum assay_status import_runs(const struct cli_words *a, struct store *store, struct cli_json_list *list,
                                     struct assay_error *err) {
  char *text = NULL;
  size_t len = 0;
  int64_t n = 0;
  enum assay_status status = file_read(a->items[1], LINES_MOST_BYTES, &text, &len, err);
  if (!status)
    status = import_text(a, store, text, len, &n, err);
  if (!status)
    report_file(a, list, a->items[1], n);
  base_free(text);
  return status;
}

static const struct action {
  const char *name;
  int least, most; // names, its own included
  enum assay_status (*run)(const struct cli_words *a, struct store *store, struct cli_json_list *list,
                           struct assay_error *err);
  const char *usage;
  bool makes_store; // where there is none
} actions[] = {
    {"rename", 3, 3, rename_run, "assay runs rename RUN NAME", false},
    {"delete", 2, CLI_MOST_WORDS, delete_runs, "assay runs delete RUN...", false},
    {"merge", 3, CLI_MOST_WORDS, merge_runs, "assay runs merge NAME RUN...", false},
    {"export", 3, 3, export_run, "assay runs export RUN FILE", false},
    {"import", 2, 3, import_runs, "assay runs import FILE [RUN]", true},
};

static enum assay_status choose(const struct cli_words *a, const struct action **out, struct assay_error *err) {
  *out = NULL;
  char meant[64];
  struct nearest near = {.word = a->items[0]};
  for (size_t i = 0; i < sizeof actions / sizeof *actions && a->items[0]; i++) {
    if (strcmp(actions[i].name, a->items[0]) == 0)
      *out = &actions[i];
    nearest_offer(&near, actions[i].name);
  }
  if (a->items[0] && !*out)
    return error_set(err, ASSAY_ERR_USAGE, "there is no action %s%s: assay runs [rename|delete|merge|export|import]",
                     a->items[0], nearest_text(&near, meant, sizeof meant));
  if (*out && (a->n < (*out)->least || a->n > (*out)->most))
    return error_set(err, ASSAY_ERR_USAGE, "say %s", (*out)->usage);
  return ASSAY_OK;
}

static enum assay_status change_runs(const struct cli_words *a, const struct action *action, struct store *store,
                                     struct assay_error *err) {
  struct cli_json_list list = {0};
  if (a->judging.json)
    cli_json_begin();
  enum assay_status status = action->run(a, store, &list, err);
  if (a->judging.json)
    cli_json_end(&list);
  return status;
}

int cli_runs(int argc, char **argv) {
  struct cli_words a = {0};
  struct assay_error err = {0};
  struct store *store = NULL;
  const struct action *action = NULL;
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  enum assay_status status = choose(&a, &action, &err);
  if (!status)
    status = (action && action->makes_store ? store_open : store_open_existing)(a.judging.paths.store, &store, &err);
  if (!status)
    status = action ? change_runs(&a, action, store, &err) : list_runs(&a, store, &err);
  store_close(store);
  return status ? cli_fail(&err) : CLI_PASS;
}
