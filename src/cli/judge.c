// assay judge TASK CANDIDATE...
#include <argp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/cli.h"
#include "judge/directives.h"
#include "judge/record.h"
#include "task/task.h"

struct arguments {
  struct cli_judging judging;
  const char *task;
  char **candidates;
  int n_candidates;
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    return 0;
  case ARGP_KEY_ARG:
    if (a->task)
      return ARGP_ERR_UNKNOWN; // the rest goes to ARGP_KEY_ARGS
    a->task = arg;
    return 0;
  case ARGP_KEY_ARGS:
    a->candidates = state->argv + state->next;
    a->n_candidates = state->argc - state->next;
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_usage(state);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .parser = parse,
    .children = cli_judge_child,
    .args_doc = "TASK CANDIDATE...",
    .doc =
        "Judges kernels for one task and prints a table of verdicts.\v"
        "TASK is a name such as kernelbench/1/19 or the path of a task file. CANDIDATE is a C file that defines "
        "assay_kernel (include/assay/candidate.h), a CUDA file (.cu) with `// assay: launch` lines or with host code "
        "(include/assay/cuda.h), an OpenCL file (.cl) with such lines, a Python file (.py) with a ModelNew, or the "
        "name of "
        "a baseline (torch.eager). The exit code is 0 when all pass, 1 when one fails.",
};

static void show_progress(void *arg, const char *stage, int done, int total) {
  (void)arg;
  cli_progress(stage, done, total);
}

static void print_details(const struct assay_verdict *v) {
  printf("\n%s: %s\n", assay_reason_code(v->reason), assay_reason_text(v->reason));
  if (v->worst_check >= 0 && v->checks[v->worst_check].description)
    printf("%s", v->checks[v->worst_check].description);
  if (v->diagnostics[0])
    printf("%s%s", v->diagnostics, v->diagnostics[strlen(v->diagnostics) - 1] == '\n' ? "" : "\n");
}

// A candidate's file. A baseline that goes by its name is written for the workload, and fits no other.
static enum assay_status file_of(struct cli_judging *j, const char *candidate, struct buf *path,
                                 struct assay_error *err) {
  const struct assay_judge_options *o = &j->options;
  if (!cli_is_baseline(candidate)) {
    buf_puts(path, candidate);
    return buf_status(path, err);
  }
  enum assay_status status = cli_baseline_folder(j, err);
  if (!status) {
    buf_printf(path, "%s/candidate_%s%s", j->baseline_folder, candidate, cli_baseline_ending(candidate));
    status = buf_status(path, err);
  }
  return status ? status : cli_baseline_write(candidate, o->task, o->as_published, o->workload, buf_str(path), err);
}

static enum assay_status judge_one(struct arguments *a, struct store *store, const char *task_path,
                                   const char *candidate, struct assay_verdict *v, struct assay_error *err) {
  struct assay_judge_options *o = &a->judging.options;
  o->task = task_path;
  o->progress = show_progress;
  struct buf file = {0};
  bool probes = o->probes;
  enum assay_status status = file_of(&a->judging, candidate, &file, err);
  if (!status)
    status = cli_use_candidate(&a->judging, buf_str(&file), a->n_candidates > 1, err);
  o->probes = probes && !cli_is_baseline(candidate);
  if (!status)
    status = assay_judge(o, v, err);
  o->probes = probes;
  buf_release(&file);
  cli_progress_clear();
  if (status || !store)
    return status;
  struct store_verdict key;
  record_key("", o, v->task_name, candidate, v->candidate_hash, v->settings_hash, &key);
  char *command = cli_repeat_command(&a->judging, a->task, candidate, v->seed);
  status = record_put(store, &key, v, command ? command : "", err);
  base_free(command);
  if (status)
    assay_verdict_release(v);
  return status;
}

// Of baselines that are none here.
static void print_baselines(const struct assay_verdict *v) {
  for (int i = 0; i < v->n_comparisons; i++) {
    const struct assay_comparison *c = &v->comparisons[i];
    if (v->timing.measured && c->reason != ASSAY_REASON_PASS)
      printf("\nbaseline %s is not right itself and says nothing: %s: %s\n", c->name, assay_reason_code(c->reason),
             c->detail);
  }
}

static int judge_all(struct arguments *a, struct store *store, const char *task_path) {
  int code = CLI_PASS;
  struct assay_error err = {0};
  struct table *table = cli_verdict_table(&a->judging);
  struct assay_verdict last = {0};
  if (a->judging.json && a->n_candidates > 1)
    printf("[\n");
  for (int i = 0; i < a->n_candidates; i++) {
    struct assay_verdict v;
    if (judge_one(a, store, task_path, a->candidates[i], &v, &err) != ASSAY_OK) {
      code = cli_fail(&err);
      break;
    }
    if (v.reason != ASSAY_REASON_PASS)
      code = CLI_FAIL;
    char *json = assay_verdict_json(&v);
    if (a->judging.json) {
      printf("%s%s\n", json ? json : "null", i + 1 < a->n_candidates ? "," : "");
    } else if (table) {
      struct store_verdict row = {.task = v.task_name, .candidate = a->candidates[i], .evidence = json};
      record_fill(&v, &row);
      cli_verdict_row(table, &a->judging, &row);
    }
    base_free(json);
    assay_verdict_release(&last);
    last = v;
  }
  if (a->judging.json && a->n_candidates > 1)
    printf("]\n");
  if (!a->judging.json && table) {
    table_print(table, stdout);
    if (a->n_candidates == 1 && code == CLI_FAIL)
      print_details(&last);
    print_baselines(&last);
  }
  assay_verdict_release(&last);
  table_destroy(table);
  return code;
}

int cli_judge(int argc, char **argv) {
  struct arguments a = {0};
  struct assay_error err = {0};
  char *task_path = NULL;
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (a.n_candidates == 0) {
    fprintf(stderr, "assay: name at least one candidate: assay judge %s FILE\n", a.task);
    return CLI_USAGE;
  }
  if (task_find(a.judging.paths.tasks, a.task, &task_path, &err) != ASSAY_OK)
    return cli_fail(&err);
  struct store *store = cli_store_open(&a.judging);
  cli_judging_finish(&a.judging, store);
  int code = judge_all(&a, store, task_path);
  cli_judging_close(&a.judging);
  store_close(store);
  base_free(task_path);
  return code;
}
