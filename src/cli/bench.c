// SPDX-License-Identifier: Apache-2.0
// assay bench SUITE --from DIR: judges every candidate of a folder once a run, also when the run is interrupted.
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "cli/bench.h"
#include "sandbox/sandbox.h"

enum { KEY_FROM = 2000, KEY_RUN, KEY_TWINS, KEY_ONLY, KEY_AGAIN };

static const char *const again_reasons[] = {
#define CODE(name, code, meaning) code,
    ASSAY_REASONS(CODE)
#undef CODE
        STORE_UNTIMED,
    NULL};

static bool is_again_reason(const char *text) {
  for (int i = 0; again_reasons[i]; i++)
    if (strcmp(text, again_reasons[i]) == 0)
      return true;
  return false;
}

static void take_again(const struct argp_state *state, const char *arg) {
  char meant[80];
  struct nearest near = {.word = arg};
  for (int i = 0; again_reasons[i]; i++)
    nearest_offer(&near, again_reasons[i]);
  if (!is_again_reason(arg))
    argp_error(state, "--again takes a reason's code (docs/judging.md) or %s, not '%s'%s", STORE_UNTIMED, arg,
               nearest_text(&near, meant, sizeof meant));
}

// `--again REASON` in two words: argp knows an argument that may be missing only as `--again=REASON`.
static int join_again(int argc, char **argv, struct buf *joined) {
  int n = 0;
  for (int i = 0; i < argc; i++) {
    bool two = strcmp(argv[i], "--again") == 0 && i + 1 < argc && is_again_reason(argv[i + 1]) && joined->len == 0;
    if (two)
      buf_printf(joined, "--again=%s", argv[++i]);
    argv[n++] = two ? joined->data : argv[i];
  }
  if (n < argc)
    argv[n] = NULL;
  return n;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct bench *b = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &b->judging;
    state->child_inputs[1] = &b->format;
    state->child_inputs[2] = &b->judging;
    return 0;
  case KEY_FROM:
    b->from = arg;
    return 0;
  case KEY_RUN:
    b->run = arg;
    return 0;
  case KEY_TWINS:
    b->twins = true;
    return 0;
  case KEY_ONLY:
    if (b->n_only == BENCH_MAX_ONLY)
      argp_error(state, "at most %d --only", BENCH_MAX_ONLY);
    b->only[b->n_only++] = arg;
    return 0;
  case KEY_AGAIN:
    b->again = true;
    b->again_reason = arg;
    if (arg)
      take_again(state, arg);
    return 0;
  case ARGP_KEY_ARG:
    cli_take_argument(state, "SUITE", arg, &b->suite);
    return 0;
  case ARGP_KEY_END:
    if (b->judging.json && b->format)
      argp_error(state, "--json is a format, too: one of them");
    if (!b->suite || !b->from)
      argp_error(state, "name a suite and a folder: assay bench kernelbench/1 --from DIR");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"from", KEY_FROM, "DIR|FILE|BASELINE", 0,
     "folder of candidates, a candidate, a file of predictions (.jsonl), or a baseline for every task: torch.eager, "
     "torch.compile, ...",
     0},
    {"run", KEY_RUN, "NAME", 0, "name of the run in the store (default: SUITE from DIR, with the whole path)", 0},
    {"only", KEY_ONLY, "GLOB", 0, "only files whose name matches; may be repeated", 0},
    {"again", KEY_AGAIN, "REASON", OPTION_ARG_OPTIONAL,
     "judge again what is finished: all of it, or what has this verdict (timeout), or untimed, what passed without a "
     "time. The newest verdict counts",
     0},
    {"twins", KEY_TWINS, 0, 0,
     "for a test corpus: also judge the wrong twins that files declare, and compare every verdict with the expected "
     "one (exit code 1 when one differs)",
     0},
    {0},
};
static const struct argp_child children[] = {
    {&cli_judge_argp, 0, NULL, 0}, {&cli_format_argp, 0, NULL, 0}, {&cli_no_store_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = children,
    .args_doc = "SUITE",
    .doc =
        "Judges every kernel of a folder whose task belongs to SUITE (kernelbench, kernelbench/1, "
        "kernelbench/1/19).\vA candidate names its task in a comment, `// assay: task kernelbench/1/19`, or by "
        "KernelBench's file name, level_1_problem_19_sample_0_kernel.c. Run the same command again to resume: what is "
        "finished is not judged again. Ctrl-C ends the run after the current kernel.",
};

// Whether `code` is one of "a|b|c".
static bool one_of(const char *codes, const char *code) {
  size_t n = strlen(code);
  for (const char *p = codes; p; p = strchr(p, '|')) {
    p += *p == '|';
    if (strncmp(p, code, n) == 0 && (p[n] == '\0' || p[n] == '|'))
      return true;
  }
  return false;
}

struct results {
  struct bench *b;
  struct table *table; // NULL: none is printed
  enum assay_status status;
  struct assay_error *err;
  struct cli_objects objects;
  int n_failed, n_expected, n_unexpected;
  struct buf unexpected;
};

// Names and messages may have line ends in them; what came after one would look like a line of ours.
static void put_unexpected(struct results *r, const char *text) {
  char line[4096];
  r->n_unexpected++;
  buf_printf(&r->unexpected, "%s\n", printable_line(text, line, sizeof line));
}

static void compare_with_corpus(struct results *r, const struct store_verdict *v) {
  for (size_t i = 0; i < r->b->n_items; i++) {
    const struct bench_item *e = &r->b->items[i];
    if (!e->expect || strcmp(e->label, v->candidate) != 0 || strcmp(e->workload, v->workload) != 0)
      continue;
    r->n_expected++;
    if (one_of(e->expect, assay_reason_code(v->reason)))
      continue;
    struct buf text = {0};
    buf_printf(&text, "%s: expected %s, got %s (%s)", v->candidate, e->expect, assay_reason_code(v->reason), v->detail);
    put_unexpected(r, buf_str(&text));
    buf_release(&text);
    char line[4096]; // an imported verdict's may be anything
    buf_printf(&r->unexpected, "  %s\n", printable_line(v->command, line, sizeof line));
  }
}

static bool add_row(void *arg, const struct store_verdict *v) {
  struct results *r = arg;
  struct verdict_view view;
  r->status = view_from_store(v, &view, r->err);
  if (r->status)
    return false;
  char place[256];
  if (cli_is_workload_pattern(r->b->judging.options.workload)) {
    snprintf(place, sizeof place, "%s %s", v->task, v->workload);
    view.stored.task = place;
  }
  if (r->table)
    cli_verdict_row(r->table, r->b->judging.baselines.n > 0, &view);
  view_release(&view);
  const struct cli_verdict_about about = {
      .run = v->run, .task = v->task, .candidate = v->candidate, .workload = v->workload, .command = v->command};
  if (cli_objects_wanted(&r->objects))
    cli_objects_put(&r->objects, cli_json_verdict(&about, v->evidence, assay_reason_code(v->reason), v->detail));
  r->n_failed += v->reason != ASSAY_REASON_PASS;
  if (r->b->twins)
    compare_with_corpus(r, v);
  return true;
}

// What was not judged is nothing that a corpus expects.
static void add_unjudged(struct results *r, const struct bench_unjudged *u) {
  if (r->table)
    bench_unjudged_row(r->b, u, r->table);
  if (cli_objects_wanted(&r->objects))
    cli_objects_put(&r->objects, bench_unjudged_json(r->b, u));
  if (!r->b->twins || u->other_device)
    return;
  r->n_expected++;
  struct buf text = {0};
  buf_printf(&text, "%s: expected %s, not judged: %s", u->label, u->expect ? u->expect : "a verdict", u->why);
  put_unexpected(r, buf_str(&text));
  buf_release(&text);
}

// The lines after the table.
static void print_summary(const struct bench *b, struct results *r) {
  char name[512];
  struct buf text;
  buf_init(&text);
  buf_printf(&text, "\nrun \"%s\": %d judged now (%d passed), %d done before",
             printable_line(b->run, name, sizeof name), b->n_judged, b->n_passed, b->n_done_before);
  if (b->n_same)
    buf_printf(&text, ", %d the same as others", b->n_same);
  if (b->n_elsewhere)
    buf_printf(&text, ", %d claimed by other processes", b->n_elsewhere);
  if (b->n_failed_here)
    buf_printf(&text, ", %zu could not be judged here and will be by the same command", b->n_failed_here);
  if (b->n_unjudged > b->n_failed_here)
    buf_printf(&text, ", %zu for other devices", b->n_unjudged - b->n_failed_here);
  if (b->n_left_out)
    buf_printf(&text, ", %d of other suites or without a task", b->n_left_out);
  // A second Ctrl-C prints before the end.
  int64_t elapsed_ns = b->elapsed_ns ? b->elapsed_ns : clock_monotonic_ns() - b->start_ns;
  double seconds = (double)elapsed_ns / 1e9, building = (double)b->building_ns / 1e9;
  if (b->n_judged)
    buf_printf(&text, "; %.2f s (%.2f s of it compiling): %.1f kernels/s", seconds, building, b->n_judged / seconds);
  if (b->n_judged && !b->ahead)
    buf_printf(&text, ", %.1f/s apart from compiling",
               b->n_judged / (seconds > building ? seconds - building : seconds));
  if (b->n_judged && b->ahead)
    buf_printf(&text, "; on the device for %.2f s", (double)b->testing_ns / 1e9);
  buf_printf(&text, "\n");
  if (r->unexpected.data)
    printable(r->unexpected.data);
  if (r->n_expected)
    buf_printf(&text, "%d verdicts compared with the corpus: %d as expected, %d not\n%s", r->n_expected,
               r->n_expected - r->n_unexpected, r->n_unexpected, buf_str(&r->unexpected));
  cells_put(stdout, buf_str(&text));
  buf_release(&text);
}

// The standing verdicts at each workload that occurs, in the items' order. Without any item, those of the run.
static bool add_rows(struct bench *b, struct results *r) {
  bool all = b->n_items > 0 ||
             store_each_standing(b->store, b->run, b->judging.options.workload, add_row, r, r->err) == ASSAY_OK;
  for (size_t i = 0; i < b->n_items && all; i++) {
    bool before = false;
    for (size_t k = 0; k < i && !before; k++)
      before = strcmp(b->items[k].workload, b->items[i].workload) == 0;
    all = before || store_each_standing(b->store, b->run, b->items[i].workload, add_row, r, r->err) == ASSAY_OK;
  }
  return all;
}

static struct cli_objects objects_of(const struct bench *b) {
  return (struct cli_objects){.json = b->judging.json, .format = b->format};
}

// Returns the exit code that the verdicts ask for: of candidates that failed, or with --twins of verdicts that are not
// as the corpus expects.
static int print_all(struct bench *b) {
  struct assay_error ignored = {0};
  struct results r = {.b = b, .err = &ignored, .objects = objects_of(b)};
  cli_objects_begin(&r.objects);
  if (!cli_objects_wanted(&r.objects))
    r.table = cli_verdict_table(b->judging.baselines.n > 0, b->judging.color);
  bool all = add_rows(b, &r);
  for (size_t i = 0; i < b->n_unjudged; i++)
    add_unjudged(&r, &b->unjudged[i]);
  cli_objects_end(&r.objects, b->run);
  if (r.table && all && !r.status)
    cli_table_print(&r.objects, r.table);
  table_destroy(r.table);
  if (!b->judging.json && !b->format)
    print_summary(b, &r);
  buf_release(&r.unexpected);
  return (b->twins ? r.n_unexpected : r.n_failed) > 0 ? CLI_FAIL : CLI_PASS;
}

static void print_at_once(void *arg) {
  struct bench *b = arg;
  if (!atomic_flag_test_and_set(&b->printed))
    print_all(b);
}

// The folder as a path that means the same wherever the command is given: candidates and the run are known by it.
static void make_absolute(struct bench *b, char **folder) {
  *folder = cli_is_baseline(b->from) ? NULL : realpath(b->from, NULL); // NULL also where listing it will fail
  if (*folder)
    b->from = *folder;
}

static int run_bench(struct bench *b) {
  struct assay_error err = {0};
  enum assay_status status = b->again ? store_judge_again(b->store, b->again_reason, &err) : ASSAY_OK;
  if (!status)
    status = cli_interrupt_watch(&b->interrupt, &err);
  if (!status)
    status = bench_list(b, &err);
  if (!status)
    status = bench_run(b, &err);
  int code = status ? cli_fail(&err) : b->interrupt.stop ? CLI_INTERRUPTED : bench_unjudged_code(b);
  const struct cli_objects objects = objects_of(b);
  if (status && b->n_items + b->n_unjudged == 0 && !cli_objects_wanted(&objects))
    return code; // there was nothing to judge, so there is nothing to show; programs get an empty list
  while (atomic_flag_test_and_set(&b->printed))
    pause(); // the watcher is printing, and then ends the process
  int verdicts = print_all(b);
  return code == CLI_PASS ? verdicts : code;
}

// What is not to be stored is kept in a store of its own for as long as the command runs: nothing of it was judged
// before. What was measured of this machine still comes from the usual one, if it is there.
static enum assay_status open_store(struct bench *b, char **folder, struct assay_error *err) {
  struct cli_judging *j = &b->judging;
  struct assay_error ignored = {0};
  char path[4096];
  const bool kept = !j->no_store || access(j->paths.store, F_OK) == 0;
  enum assay_status status = kept ? store_open(j->paths.store, &b->store, j->no_store ? &ignored : err) : ASSAY_OK;
  if (status && !j->no_store)
    return status;
  cli_judging_finish(j, status ? NULL : b->store);
  if (!j->no_store)
    return ASSAY_OK;
  store_close(b->store);
  b->store = NULL;
  status = sandbox_folder_make(j->paths.temporary, folder, err);
  if (!status && snprintf(path, sizeof path, "%s/verdicts.sqlite", *folder) >= (int)sizeof path)
    status = error_set(err, ASSAY_ERR_USAGE, "the path of the temporary folder is too long: %.100s", *folder);
  return status ? status : store_open(path, &b->store, err);
}

int cli_bench(int argc, char **argv) {
  struct bench b = {.printed = ATOMIC_FLAG_INIT};
  b.interrupt = (struct cli_interrupt){.finishing = "the current kernel", .last = print_at_once, .arg = &b};
  struct assay_error err = {0};
  struct buf run = {0}, joined = {0};
  char *folder = NULL, *unkept = NULL;
  argc = join_again(argc, argv, &joined);
  if (cli_begin(&argp, argc, argv, &b, &b.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  make_absolute(&b, &folder);
  buf_printf(&run, "%s from %s", b.suite, b.from);
  if (b.judging.options.contract) // or its verdicts would supersede those under the tasks' own
    buf_printf(&run, ", %s", b.judging.options.contract);
  b.run = b.run ? b.run : buf_str(&run);
  int code = open_store(&b, &unkept, &err) == ASSAY_OK ? run_bench(&b) : cli_fail(&err);
  cli_judging_close(&b.judging);
  store_close(b.store);
  if (unkept)
    sandbox_folder_remove(unkept);
  base_free(unkept);
  arena_release(&b.arena);
  buf_release(&run);
  buf_release(&joined);
  free(folder);
  return code;
}
