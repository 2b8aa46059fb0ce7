// SPDX-License-Identifier: Apache-2.0
// assay judge TASK CANDIDATE...: a table of verdicts.
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/printable.h"
#include "cli/histogram.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/judging.h"
#include "cli/sheet.h"
#include "cli/watch.h"
#include "judge/directives.h"
#include "judge/form.h"
#include "judge/record.h"
#include "task/task.h"

struct arguments {
  struct cli_judging judging;
  const char *task;
  char **candidates;
  int n_candidates;
  enum cli_format format;
  bool histogram, watch, sweep;   // sweep: at several workloads
  struct cli_interrupt interrupt; // with --watch
};

enum { KEY_HISTOGRAM = 4000, KEY_WATCH };

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct arguments *a = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &a->judging;
    state->child_inputs[1] = &a->format;
    state->child_inputs[2] = &a->judging;
    return 0;
  case KEY_HISTOGRAM:
    a->histogram = true;
    return 0;
  case KEY_WATCH:
    a->watch = true;
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
  case ARGP_KEY_END:
    if (a->format && (a->judging.json || a->histogram || a->watch))
      argp_error(state,
                 "--csv, --markdown and --junit are for verdicts alone, without --json, --histogram and --watch");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option own_options[] = {
    {"histogram", KEY_HISTOGRAM, 0, 0, "also show how each candidate's timed calls are distributed", 0},
    {"watch", KEY_WATCH, 0, 0, "judge a candidate again whenever its file is saved, until Ctrl-C", 0},
    {0}};

static const struct argp_child children[] = {
    {&cli_judge_argp, 0, NULL, 0}, {&cli_format_argp, 0, NULL, 0}, {&cli_no_store_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    .options = own_options,
    .parser = parse,
    .children = children,
    .args_doc = "TASK CANDIDATE...",
    .doc =
        "Judges kernels for one task and prints a table of verdicts.\v"
        "TASK is a name such as kernelbench/1/19 or the path of a task file. CANDIDATE is a C file that defines "
        "assay_kernel (include/assay/candidate.h), a CUDA file (.cu) with `// assay: launch` lines or with host code "
        "(include/assay/cuda.h), an OpenCL file (.cl) with such lines, a Python file (.py) with a ModelNew, or a "
        "baseline (torch.eager). The exit code is 0 when all pass, 1 when one fails.",
};

static void show_progress(void *arg, const char *stage, int done, int total) {
  (void)arg;
  cli_progress(stage, done, total);
}

// `said`: the table has what it can have of it.
static void print_details(const struct verdict_view *v, bool said) {
  if (!said)
    printf("\n%s: %s\n%s", assay_reason_code(v->stored.reason), assay_reason_text(v->stored.reason), v->worst);
  else if (v->diagnostics[0])
    printf("\n");
  struct buf text = {0};
  cli_own_paths(v->diagnostics, v->stored.candidate, &text);
  if (text.len > 0 && !text.failed)
    printf("%s%s", buf_str(&text), text.data[text.len - 1] == '\n' ? "" : "\n");
  buf_release(&text);
}

// A candidate's file. That of a named baseline is written for the workload, and fits no other.
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
  const struct cli_baseline_request r = cli_baseline_of(candidate, o->task, o);
  return status ? status : cli_baseline_write(&r, buf_str(path), err);
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
    status = cli_use_candidate(&a->judging, buf_str(&file), a->n_candidates > 1 || a->watch, err);
  o->probes = probes && !cli_is_baseline(candidate);
  if (!status)
    status = assay_judge(o, v, err);
  o->probes = probes;
  buf_release(&file);
  cli_progress_clear();
  if (status || !store)
    return status;
  struct store_verdict key;
  struct buf label = {0};
  cli_put_label(candidate, &a->judging.defines, &label);
  char *command = cli_repeat_command(&a->judging, a->task, candidate, v);
  status = buf_status(&label, err);
  if (!status) {
    record_key("", o, v->task_name, buf_str(&label), v->candidate_hash, v->settings_hash, &key);
    status = record_put(store, &key, v, command ? command : "", err);
  }
  base_free(command);
  buf_release(&label);
  if (status)
    assay_verdict_release(v);
  return status;
}

// Baselines that cannot be compared with.
static void print_baselines(const struct verdict_view *v) {
  for (int i = 0; i < v->n_baselines; i++) {
    const struct view_baseline *b = &v->baselines[i];
    if (strcmp(b->verdict, assay_reason_code(ASSAY_REASON_PASS)) != 0)
      printf("\nbaseline %s is not used, it is wrong itself: %s: %s\n", b->name, b->verdict, b->detail);
  }
}

// Adds a row; out of memory, it adds none, as the table does.
static void put_row(const struct arguments *a, struct table *table, const struct assay_verdict *v,
                    const char *candidate) {
  struct verdict_view view;
  struct assay_error ignored = {0};
  char place[256];
  if (view_from_verdict(v, candidate, &view, &ignored) != ASSAY_OK)
    return;
  if (a->sweep) {
    snprintf(place, sizeof place, "%s %s", view.stored.task, a->judging.options.workload);
    view.stored.task = place;
  }
  cli_verdict_row(table, a->judging.baselines.n > 0, &view);
  view_release(&view);
}

// The next verdict for programs, or why there is none (`v` is NULL).
static void put_object(const struct arguments *a, struct cli_objects *objects, const struct assay_verdict *v,
                       const char *candidate, const struct assay_error *why) {
  char *path = cli_is_baseline(candidate) ? NULL : realpath(candidate, NULL);
  char *evidence = v ? assay_verdict_json(v) : NULL;
  char *command = v ? cli_repeat_command(&a->judging, a->task, candidate, v) : NULL;
  const struct cli_verdict_about about = {.task = v ? v->task_name : a->task,
                                          .candidate = path ? path : candidate,
                                          .workload = a->judging.options.workload,
                                          .command = command};
  cli_objects_put(objects, cli_json_verdict(&about, evidence, v ? NULL : assay_reason_code(ASSAY_REASON_JUDGE_FAILED),
                                            v ? NULL : why->message));
  base_free(command);
  free(evidence);
  free(path);
}

// What has no place in the table: details of a single candidate that failed, and baselines that were not used.
static void print_rest(const struct arguments *a, const struct assay_verdict *v, bool failed, bool said) {
  struct verdict_view view;
  struct assay_error ignored = {0};
  if (view_from_verdict(v, a->candidates[a->n_candidates - 1], &view, &ignored) != ASSAY_OK)
    return;
  if (a->n_candidates == 1 && failed)
    print_details(&view, said);
  print_baselines(&view);
  view_release(&view);
}

// Of one candidate, for after the table.
static void put_histogram(const struct assay_verdict *v, const char *candidate, struct buf *out) {
  const struct assay_timing *t = &v->timing;
  const char *slash = strrchr(candidate, '/');
  char name[256];
  buf_printf(out, "\n%s: ", printable_line(slash ? slash + 1 : candidate, name, sizeof name));
  cli_histogram(t->samples_ns, t->measured ? t->n_samples : 0, t->overhead_ns, out);
}

// What a command has judged so far.
struct results {
  int code;
  struct table *table;
  struct cli_objects objects;
  struct buf histograms;
  struct assay_verdict last;
  bool any;
};

// A file that says which task it is for has failed at another one: that may be why.
static void note_other_task(const struct arguments *a, const char *task_path, const char *candidate) {
  struct directives d;
  struct task task;
  struct arena arena = {0};
  struct assay_error ignored = {0};
  char *source = NULL, line[512], says[128];
  size_t n = 0;
  int64_t size;
  if (!cli_is_baseline(candidate) &&
      file_read_start(candidate, FORM_MOST_BYTES, &source, &n, &size, &ignored) == ASSAY_OK &&
      directives_read(source, n, &arena, &d, &ignored) == ASSAY_OK && d.task &&
      task_read(task_path, a->judging.options.as_published, &task, &ignored) == ASSAY_OK) {
    if (strcasecmp(d.task, task.name) != 0)
      fprintf(stderr, "assay: %s says that it is for %s; it was judged for %s\n",
              printable_line(candidate, line, sizeof line), printable_line(d.task, says, sizeof says), task.name);
    task_release(&task);
  }
  base_free(source);
  arena_release(&arena);
}

static void judge_next(struct arguments *a, struct store *store, const char *task_path, const char *candidate,
                       struct results *r) {
  struct assay_verdict v;
  struct assay_error err = {0};
  cli_note_directives(candidate);
  if (judge_one(a, store, task_path, candidate, &v, &err) != ASSAY_OK) {
    r->code = cli_fail(&err); // of this one; the others are judged
    if (cli_objects_wanted(&r->objects))
      put_object(a, &r->objects, NULL, candidate, &err);
    return;
  }
  if (v.reason != ASSAY_REASON_PASS && r->code == CLI_PASS)
    r->code = CLI_FAIL;
  if (v.reason != ASSAY_REASON_PASS)
    note_other_task(a, task_path, candidate);
  if (cli_objects_wanted(&r->objects))
    put_object(a, &r->objects, &v, candidate, NULL);
  else if (r->table)
    put_row(a, r->table, &v, candidate);
  if (a->histogram)
    put_histogram(&v, candidate, &r->histograms);
  assay_verdict_release(&r->last);
  r->last = v;
  r->any = true;
}

// Every candidate at every workload that --workload stands for.
static int judge_all(struct arguments *a, struct store *store, const char *task_path) {
  struct assay_error err = {0};
  struct arena arena = {0};
  const char *asked = a->judging.options.workload, *const * workloads;
  if (cli_workloads_of(task_path, asked, &arena, &workloads, &err) != ASSAY_OK) {
    arena_release(&arena);
    return cli_fail(&err);
  }
  struct results r = {.objects = {.json = a->judging.json, .format = a->format}};
  if (!cli_objects_wanted(&r.objects))
    r.table = cli_verdict_table(a->judging.baselines.n > 0, a->judging.color);
  a->sweep = workloads[1] != NULL;
  cli_objects_begin(&r.objects);
  for (int w = 0; workloads[w]; w++) {
    a->judging.options.workload = workloads[w];
    for (int i = 0; i < a->n_candidates; i++)
      judge_next(a, store, task_path, a->candidates[i], &r);
  }
  a->judging.options.workload = asked;
  cli_objects_end(&r.objects, a->task);
  if (r.table && r.any) {
    bool folded = cli_table_print(&r.objects, r.table);
    if (!a->sweep && !a->format)
      print_rest(a, &r.last, r.code == CLI_FAIL, folded);
    printf("%s", buf_str(&r.histograms));
  }
  buf_release(&r.histograms);
  assay_verdict_release(&r.last);
  table_destroy(r.table);
  arena_release(&arena);
  return r.code;
}

// Judges all of them, and then those that change. The exit code is that of the last judgement.
static int judge_and_watch(struct arguments *a, struct store *store, const char *task_path) {
  struct cli_watch watch = {0};
  struct assay_error err = {0};
  int n = a->n_candidates;
  char **all = a->candidates, **now = base_calloc((size_t)n + 1, sizeof *now);
  bool *changed = base_calloc((size_t)n + 1, sizeof *changed);
  a->interrupt.finishing = "the current kernel";
  enum assay_status status =
      now && changed ? cli_watch_open(all, n, &watch, &err) : error_nomem(&err, "a list of files");
  if (!status)
    status = cli_interrupt_watch(&a->interrupt, &err);
  int code = status ? cli_fail(&err) : judge_all(a, store, task_path);
  while (!status) {
    cli_flush(CLI_PASS);
    fprintf(stderr, "assay: watching %d file%s; Ctrl-C ends\n", n, n == 1 ? "" : "s");
    if (!cli_watch_wait(&watch, changed, &a->interrupt.stop))
      break;
    a->candidates = now;
    a->n_candidates = 0;
    for (int i = 0; i < n; i++)
      if (changed[i])
        now[a->n_candidates++] = all[i];
    printf("\n");
    code = judge_all(a, store, task_path);
  }
  cli_watch_close(&watch);
  base_free(now);
  base_free(changed);
  return code;
}

// The task that a candidate says it is for, in its first comment or so; else an example. In the arena.
static const char *task_said_in(const char *file, struct arena *arena) {
  struct directives d = {0};
  struct assay_error ignored = {0};
  char *source = NULL;
  size_t n = 0;
  enum assay_status status = file_read(file, FORM_MOST_BYTES, &source, &n, &ignored);
  if (!status)
    status = directives_read(source, n, arena, &d, &ignored);
  base_free(source);
  return !status && d.task ? d.task : "kernelbench/1/19";
}

static bool is_candidate(const char *word) {
  const struct form *form;
  struct assay_error ignored = {0};
  return form_of(word, NULL, false, &form, &ignored) == ASSAY_OK;
}

// One word only: a model, a candidate, a task, or nothing of these. Or candidates only.
static int no_candidate(const char *word) {
  struct arena arena = {0};
  char shown[512], task[128];
  size_t n = strlen(word);
  printable_line(word, shown, sizeof shown);
  if (n > 5 && strcmp(word + n - 5, ".onnx") == 0)
    fprintf(stderr,
            "assay: %s is a model; name a kernel for it: assay judge %s FILE. To make a task of it, with workloads and "
            "distributions: assay-import %s -o TASK.onnxtxt (docs/importing.md)\n",
            shown, shown, shown);
  else if (is_candidate(word))
    fprintf(stderr, "assay: %s is a candidate; name its task first: assay judge %s %s\n", shown,
            printable_line(task_said_in(word, &arena), task, sizeof task), shown);
  else
    fprintf(stderr, "assay: name at least one candidate: assay judge %s FILE\n", shown);
  arena_release(&arena);
  return CLI_USAGE;
}

// A candidate where the task belongs, and a task where a candidate does.
static bool is_turned_round(const struct arguments *a) {
  struct assay_error ignored = {0};
  char *path = NULL;
  bool turned = is_candidate(a->task) &&
                task_find(a->judging.paths.tasks, a->candidates[0], &path, &ignored) == ASSAY_OK &&
                !is_candidate(a->candidates[0]);
  base_free(path);
  return turned;
}

static int say_turned_round(const struct arguments *a) {
  char task[256], file[256];
  printable_line(a->candidates[0], task, sizeof task);
  fprintf(stderr, "assay: the task comes first: assay judge %s %s\n", task, printable_line(a->task, file, sizeof file));
  return CLI_USAGE;
}

int cli_judge(int argc, char **argv) {
  struct arguments a = {0};
  struct assay_error err = {0};
  char *task_path = NULL;
  if (cli_begin(&argp, argc, argv, &a, &a.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  if (a.n_candidates == 0)
    return no_candidate(a.task);
  if (is_turned_round(&a))
    return say_turned_round(&a);
  if (is_candidate(a.task))
    return no_candidate(a.task);
  if (task_find(a.judging.paths.tasks, a.task, &task_path, &err) != ASSAY_OK)
    return cli_fail(&err);
  struct store *store = cli_store_open(&a.judging);
  cli_judging_finish(&a.judging, store);
  int code = a.watch ? judge_and_watch(&a, store, task_path) : judge_all(&a, store, task_path);
  cli_judging_close(&a.judging);
  store_close(store);
  base_free(task_path);
  return code;
}
