// assay bench SUITE --from DIR: every candidate of a folder, each judged once in this run, whatever happens meanwhile.
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/bench.h"

enum { KEY_FROM = 2000, KEY_RUN, KEY_TWINS, KEY_ONLY };

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct bench *b = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &b->judging;
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
  case ARGP_KEY_ARG:
    cli_take_argument(state, "SUITE", arg, &b->suite);
    return 0;
  case ARGP_KEY_END:
    if (!b->suite || !b->from)
      argp_error(state, "name a suite and a folder: assay bench kernelbench/1 --from DIR");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {
    {"from", KEY_FROM, "DIR|BASELINE", 0, "folder of candidates, or torch.eager, torch.compile, ... for every task", 0},
    {"run", KEY_RUN, "NAME", 0, "name of the run in the store (default: SUITE from DIR)", 0},
    {"only", KEY_ONLY, "GLOB", 0, "only files whose name matches; may be repeated", 0},
    {"twins", KEY_TWINS, 0, 0,
     "a test corpus: judge also the wrong twins that files declare, and hold every verdict against the expected one "
     "(exit code 1 when one differs)",
     0},
    {0},
};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = cli_judge_child,
    .args_doc = "SUITE",
    .doc = "Judges every kernel of a folder whose task belongs to SUITE (kernelbench, kernelbench/1, "
           "kernelbench/1/19).\vA candidate says its task in a comment, `// assay: task kernelbench/1/19`, or by "
           "KernelBench's file name, level_1_problem_19_sample_0_kernel.c. The same command again goes on where it "
           "stopped: what is finished is not judged again. Ctrl-C finishes the kernel at hand and ends.",
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
  struct table *table; // NULL: count only
  int n_expected, n_unexpected;
  struct buf unexpected;
};

static bool add_row(void *arg, const struct store_verdict *v) {
  struct results *r = arg;
  if (r->table)
    cli_verdict_row(r->table, &r->b->judging, v);
  for (size_t i = 0; i < r->b->n_items && r->b->twins; i++) {
    const struct bench_item *e = &r->b->items[i];
    if (!e->expect || strcmp(e->label, v->candidate) != 0)
      continue;
    r->n_expected++;
    if (one_of(e->expect, assay_reason_code(v->reason)))
      continue;
    r->n_unexpected++;
    buf_printf(&r->unexpected, "%s: expected %s, not %s (%s)\n  %s\n", v->candidate, e->expect,
               assay_reason_code(v->reason), v->detail, v->command);
  }
  return true;
}

// Returns how many verdicts differ from what the corpus expects.
static int print_results(struct bench *b, struct assay_error *err) {
  struct results r = {.b = b, .table = cli_verdict_table(&b->judging)};
  if (r.table && store_each(b->store, b->run, add_row, &r, err) == ASSAY_OK)
    table_print(r.table, stdout);
  table_destroy(r.table);
  printf("\nrun \"%s\": %d judged now (%d passed), %d done before", b->run, b->n_judged, b->n_passed, b->n_done_before);
  if (b->n_elsewhere)
    printf(", %d in work elsewhere", b->n_elsewhere);
  if (b->n_left_out)
    printf(", %d of other suites or without a task", b->n_left_out);
  double seconds = (double)b->elapsed_ns / 1e9, building = (double)b->building_ns / 1e9;
  if (b->n_judged)
    printf("; %.2f s (%.2f s of it compiling): %.1f kernels/s", seconds, building, b->n_judged / seconds);
  if (b->n_judged && !b->ahead)
    printf(", %.1f/s apart from compiling", b->n_judged / (seconds > building ? seconds - building : seconds));
  if (b->n_judged && b->ahead)
    printf("; on the device for %.2f s", (double)b->testing_ns / 1e9);
  printf("\n");
  if (r.n_expected)
    printf("%d verdicts held against the corpus: %d passed, %d failed\n%s", r.n_expected, r.n_expected - r.n_unexpected,
           r.n_unexpected, buf_str(&r.unexpected));
  buf_release(&r.unexpected);
  return r.n_unexpected;
}

static bool print_json_row(void *arg, const struct store_verdict *v) {
  int *n = arg;
  printf("%s%s", (*n)++ ? ",\n" : "", v->evidence);
  return true;
}

// Returns how many verdicts differ from what the corpus expects.
static int print_all(struct bench *b) {
  struct assay_error ignored = {0};
  int n = 0;
  if (!b->judging.json)
    return print_results(b, &ignored);
  printf("[\n");
  store_each(b->store, b->run, print_json_row, &n, &ignored);
  printf("\n]\n");
  return 0;
}

// Where a signal leaves a byte: the one mutable global, for a handler has no other way to it.
static int signal_pipe[2] = {-1, -1};

static void on_signal(int number) {
  int e = errno;
  char byte = (char)number;
  ssize_t n = write(signal_pipe[1], &byte, 1);
  (void)n;
  errno = e;
}

static void await_signal(void) {
  char byte;
  while (read(signal_pipe[0], &byte, 1) < 0 && errno == EINTR)
    ;
}

// Waits for Ctrl-C. The first asks the loop to end after the kernel at hand; the second prints what is there and ends
// at once, which loses nothing either: whatever is finished is in the store.
static void *watch(void *arg) {
  struct bench *b = arg;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  await_signal();
  cli_progress_clear();
  fprintf(stderr, "assay: finishing the kernel at hand; Ctrl-C again ends at once\n");
  b->stop = true;
  await_signal();
  if (!atomic_flag_test_and_set(&b->printed))
    print_all(b);
  fflush(stdout);
  _exit(CLI_INTERRUPTED);
}

// Threads made from here on leave the signals to the watcher. (Libraries have threads from before, which take them too:
// without a handler that would be the end.)
static enum assay_status start_watcher(struct bench *b, struct assay_error *err) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  pthread_t watcher;
  sigset_t set;
  if (pipe2(signal_pipe, O_CLOEXEC) != 0)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a pipe: %s", strerror(errno));
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  int e = pthread_create(&watcher, NULL, watch, b);
  if (e)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot start a thread: %s", strerror(e));
  pthread_detach(watcher);
  return ASSAY_OK;
}

int cli_bench(int argc, char **argv) {
  struct bench b = {.printed = ATOMIC_FLAG_INIT};
  struct assay_error err = {0};
  struct buf run = {0};
  if (cli_begin(&argp, argc, argv, &b, &b.judging, &err) != ASSAY_OK)
    return cli_fail(&err);
  buf_printf(&run, "%s from %s", b.suite, b.from);
  b.run = b.run ? b.run : buf_str(&run);
  if (store_open(b.judging.paths.store, &b.store, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_judging_finish(&b.judging, b.store);
  enum assay_status status = start_watcher(&b, &err);
  if (!status)
    status = bench_list(&b, &err);
  if (!status)
    status = bench_run(&b, &err);
  int code = status ? cli_fail(&err) : b.stop ? CLI_INTERRUPTED : CLI_PASS;
  while (atomic_flag_test_and_set(&b.printed))
    pause(); // the watcher prints, and ends the process
  if (print_all(&b) > 0 && code == CLI_PASS)
    code = CLI_FAIL;
  cli_judging_close(&b.judging);
  store_close(b.store);
  arena_release(&b.arena);
  buf_release(&run);
  return code;
}
