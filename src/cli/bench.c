// assay bench SUITE --from DIR: every candidate of a folder, each judged once in this run, whatever happens meanwhile.
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/cli.h"
#include "judge/directives.h"
#include "judge/record.h"
#include "task/task.h"

enum { KEY_FROM = 2000, KEY_RUN, KEY_TWINS, KEY_ONLY, MAX_CANDIDATE_BYTES = 4 << 20, MAX_ONLY = 32 };

// What the corpus says of one candidate.
struct expectation {
  char *candidate; // as stored; heap
  char *codes;     // reason codes separated by |; heap
};

struct bench {
  struct cli_judging judging;
  const char *suite, *from, *run;
  bool twins;
  const char *only[MAX_ONLY];
  int n_only;
  struct expectation *expectations;
  int n_expectations, capacity_expectations;
  struct store *store;
  atomic_bool stop; // set by the watcher: finish what is being judged, then end
  int n_judged, n_passed, n_done_before, n_elsewhere, n_left_out;
  int64_t judging_ns, building_ns;
};

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
    if (b->n_only == MAX_ONLY)
      argp_error(state, "at most %d --only", MAX_ONLY);
    b->only[b->n_only++] = arg;
    return 0;
  case ARGP_KEY_ARG:
    if (b->suite)
      argp_error(state, "one SUITE only");
    b->suite = arg;
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
    {"from", KEY_FROM, "DIR", 0, "folder of candidates", 0},
    {"run", KEY_RUN, "NAME", 0, "name of the run in the store (default: SUITE from DIR)", 0},
    {"only", KEY_ONLY, "GLOB", 0, "only files whose name matches; may be repeated", 0},
    {"twins", KEY_TWINS, 0, 0,
     "a test corpus: judge also the wrong twins that files declare, and hold every verdict against the expected one "
     "(exit code 1 when one differs)",
     0},
    {0},
};
static const struct argp_child children[] = {{&cli_judge_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = children,
    .args_doc = "SUITE",
    .doc = "Judges every kernel of a folder whose task belongs to SUITE (kernelbench, kernelbench/1, "
           "kernelbench/1/19).\vA candidate says its task in a comment, `// assay: task kernelbench/1/19`, or by "
           "KernelBench's file name, level_1_problem_19_sample_0_kernel.c. The same command again goes on where it "
           "stopped: what is finished is not judged again. Ctrl-C finishes the kernel at hand and ends.",
};

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// The folder's candidates (for one device, where it is not NULL), sorted, so that two runs see the same order. Heap.
static enum assay_status list_candidates(const char *folder, const char *device, char ***names, int *count,
                                         struct assay_error *err) {
  DIR *dir = opendir(folder);
  if (!dir)
    return error_set(err, ASSAY_ERR_NOT_FOUND, "cannot read the folder %s: %s", folder, strerror(errno));
  struct dirent *e;
  char **list = NULL;
  int n = 0, capacity = 0;
  enum assay_status status = ASSAY_OK;
  while (!status && (e = readdir(dir))) {
    const char *for_device = cli_device_of(e->d_name);
    if (!for_device || (device && strcmp(device, for_device) != 0))
      continue;
    if (n == capacity) {
      capacity = capacity * 2 + 64;
      char **more = base_realloc(list, (size_t)capacity * sizeof *more);
      if (!more) {
        status = error_nomem(err, "a list of files");
        break;
      }
      list = more;
    }
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, e->d_name);
    list[n] = path.data;
    if (path.failed)
      status = error_nomem(err, "a list of files");
    else
      n++;
  }
  closedir(dir);
  if (n)
    qsort(list, (size_t)n, sizeof *list, by_name);
  *names = list;
  *count = n;
  return status;
}

// Which task a candidate is for: its directive, or KernelBench's way to name files. "" when it does not say.
static void task_of(const char *path, const struct directives *d, char *name, size_t size) {
  const char *slash = strrchr(path, '/');
  int level, problem, sample;
  name[0] = '\0';
  if (d->task)
    snprintf(name, size, "%s", d->task);
  else if (sscanf(slash ? slash + 1 : path, "level_%d_problem_%d_sample_%d_kernel", &level, &problem, &sample) == 3)
    snprintf(name, size, "kernelbench/%d/%d", level, problem);
}

static bool in_suite(const char *suite, const char *task) {
  size_t n = strlen(suite);
  return strncmp(suite, task, n) == 0 && (task[n] == '\0' || task[n] == '/');
}

static enum assay_status expect(struct bench *b, const char *candidate, const char *codes, struct assay_error *err) {
  if (b->n_expectations == b->capacity_expectations) {
    int capacity = b->capacity_expectations * 2 + 64;
    struct expectation *more = base_realloc(b->expectations, (size_t)capacity * sizeof *more);
    if (!more)
      return error_nomem(err, "the expected verdicts");
    b->expectations = more;
    b->capacity_expectations = capacity;
  }
  struct expectation *e = &b->expectations[b->n_expectations++];
  e->candidate = base_strndup(candidate, strlen(candidate));
  e->codes = base_strndup(codes, strlen(codes));
  return e->candidate && e->codes ? ASSAY_OK : error_nomem(err, "the expected verdicts");
}

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

static enum assay_status judge_and_record(struct bench *b, const char *path, const char *label, const char *hash,
                                          const char *settings, const char *name, struct assay_error *err) {
  struct store_verdict key;
  bool claimed = false, finished = false;
  struct assay_verdict v;
  record_key(b->run, &b->judging.options, name, label, hash, settings, &key);
  enum assay_status status = store_claim(b->store, &key, &claimed, err);
  if (!status && !claimed)
    status = store_has(b->store, &key, &finished, err);
  if (status || !claimed) {
    b->n_done_before += finished;
    b->n_elsewhere += !status && !finished;
    return status;
  }
  int64_t start = clock_monotonic_ns();
  status = assay_judge(&b->judging.options, &v, err);
  if (status)
    return status;
  b->judging_ns += clock_monotonic_ns() - start;
  b->building_ns += v.durations.build_ns;
  char *command = cli_repeat_command(&b->judging, name, path, v.seed);
  status = record_put(b->store, &key, &v, command ? command : "", err);
  b->n_judged++;
  b->n_passed += v.reason == ASSAY_REASON_PASS;
  base_free(command);
  assay_verdict_release(&v);
  return status;
}

// One candidate of a file: the file as it is, or with a twin's macro.
static enum assay_status bench_twin(struct bench *b, const char *path, const char *hash, const char *name,
                                    const struct twin *twin, struct assay_error *err) {
  struct cli_judging *j = &b->judging;
  char settings[HASH_HEX_BYTES];
  int n_defines = j->n_defines;
  struct buf label = {0};
  if (twin->define && n_defines < 32)
    j->defines[j->n_defines++] = twin->define;
  buf_printf(&label, twin->define ? "%s -D%s" : "%s", path, twin->define);
  enum assay_status status = buf_status(&label, err);
  if (!status && b->twins && twin->expect)
    status = expect(b, buf_str(&label), twin->expect, err);
  if (!status)
    status = assay_settings_hash(&j->options, settings, err);
  if (!status)
    status = judge_and_record(b, path, buf_str(&label), hash, settings, name, err);
  j->n_defines = n_defines;
  j->defines[n_defines] = NULL;
  buf_release(&label);
  return status;
}

static enum assay_status bench_one(struct bench *b, const char *path, struct assay_error *err) {
  struct arena arena = {0};
  struct directives d = {0};
  char name[128], hash[HASH_HEX_BYTES], *source = NULL, *task_path = NULL;
  size_t n = 0;
  enum assay_status status = file_read(path, MAX_CANDIDATE_BYTES, &source, &n, err);
  if (!status)
    status = directives_read(source, n, &arena, &d, err);
  if (status) {
    status = error_prefix(err, status, "%s: ", path);
    goto out;
  }
  task_of(path, &d, name, sizeof name);
  if (!in_suite(b->suite, name)) {
    b->n_left_out++;
    goto out;
  }
  hash_sha256_hex(source, n, hash);
  status = task_find(b->judging.paths.tasks, name, &task_path, err);
  b->judging.options.task = task_path;
  if (!status)
    status = cli_use_candidate(&b->judging, path, true, err);
  for (int i = 0; i < (b->twins ? d.n_twins : 1) && !status && !b->stop; i++)
    status = bench_twin(b, path, hash, name, &d.twins[i], err);
out:
  base_free(source);
  base_free(task_path);
  arena_release(&arena);
  return status;
}

// Waits for Ctrl-C. The first asks the loop to end after the kernel at hand; the second ends at once, which loses
// nothing either: whatever is finished is in the store.
static void *watch(void *arg) {
  struct bench *b = arg;
  sigset_t set;
  int signal;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigwait(&set, &signal);
  cli_progress_clear();
  fprintf(stderr, "assay: finishing the kernel at hand; Ctrl-C again ends at once\n");
  b->stop = true;
  sigwait(&set, &signal);
  _exit(CLI_INTERRUPTED);
}

static bool wanted(const struct bench *b, const char *path) {
  const char *name = strrchr(path, '/') + 1;
  for (int i = 0; i < b->n_only; i++)
    if (fnmatch(b->only[i], name, 0) == 0)
      return true;
  return b->n_only == 0;
}

static enum assay_status bench_all(struct bench *b, struct assay_error *err) {
  char **paths = NULL;
  int count = 0;
  enum assay_status status = list_candidates(b->from, b->judging.device, &paths, &count, err);
  if (!status && count == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "there is no candidate (.c, .cu, .cl) in %s", b->from);
  for (int i = 0; i < count && !status && !b->stop; i++) {
    cli_progress(paths[i], i, count);
    if (wanted(b, paths[i]))
      status = bench_one(b, paths[i], err);
  }
  cli_progress_clear();
  for (int i = 0; i < count; i++)
    base_free(paths[i]);
  base_free(paths);
  return status;
}

struct results {
  struct bench *b;
  struct table *table; // NULL: count only
  int n_unexpected;
  struct buf unexpected;
};

static bool add_row(void *arg, const struct store_verdict *v) {
  struct results *r = arg;
  if (r->table)
    cli_verdict_row(r->table, v);
  for (int i = 0; i < r->b->n_expectations; i++) {
    const struct expectation *e = &r->b->expectations[i];
    if (strcmp(e->candidate, v->candidate) != 0 || one_of(e->codes, assay_reason_code(v->reason)))
      continue;
    r->n_unexpected++;
    buf_printf(&r->unexpected, "%s: expected %s, not %s (%s)\n  %s\n", v->candidate, e->codes,
               assay_reason_code(v->reason), v->detail, v->command);
  }
  return true;
}

// Returns how many verdicts differ from what the corpus expects.
static int print_results(struct bench *b, struct assay_error *err) {
  struct results r = {.b = b, .table = table_create(cli_verdict_headers, CLI_VERDICT_COLUMNS, "lllrlrrl")};
  if (r.table && store_each(b->store, b->run, add_row, &r, err) == ASSAY_OK)
    table_print(r.table, stdout);
  table_destroy(r.table);
  printf("\nrun \"%s\": %d judged now (%d passed), %d done before", b->run, b->n_judged, b->n_passed, b->n_done_before);
  if (b->n_elsewhere)
    printf(", %d in work elsewhere", b->n_elsewhere);
  if (b->n_left_out)
    printf(", %d of other suites or without a task", b->n_left_out);
  double seconds = (double)b->judging_ns / 1e9, building = (double)b->building_ns / 1e9;
  if (b->n_judged)
    printf("; %.2f s (%.2f s of it compiling): %.1f kernels/s, %.1f/s apart from compiling", seconds, building,
           b->n_judged / seconds, b->n_judged / (seconds > building ? seconds - building : seconds));
  printf("\n");
  if (b->n_expectations)
    printf("%d verdicts held against the corpus: %d passed, %d failed\n%s", b->n_expectations,
           b->n_expectations - r.n_unexpected, r.n_unexpected, buf_str(&r.unexpected));
  buf_release(&r.unexpected);
  return r.n_unexpected;
}

static bool print_json_row(void *arg, const struct store_verdict *v) {
  int *n = arg;
  printf("%s%s", (*n)++ ? ",\n" : "", v->evidence);
  return true;
}

int cli_bench(int argc, char **argv) {
  struct bench b = {0};
  struct cli_paths paths;
  struct assay_error err = {0};
  struct buf run = {0};
  if (cli_paths_find(&paths, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_judging_init(&b.judging, &paths);
  argp_parse(&argp, argc, argv, 0, NULL, &b);
  buf_printf(&run, "%s from %s", b.suite, b.from);
  b.run = b.run ? b.run : buf_str(&run);
  if (store_open(b.judging.paths.store, &b.store, &err) != ASSAY_OK)
    return cli_fail(&err);
  cli_judging_finish(&b.judging, b.store);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, NULL); // every thread made from here on leaves them to the watcher
  pthread_t watcher;
  if (pthread_create(&watcher, NULL, watch, &b) == 0)
    pthread_detach(watcher);
  enum assay_status status = bench_all(&b, &err);
  int code = status ? cli_fail(&err) : b.stop ? CLI_INTERRUPTED : CLI_PASS, n = 0;
  if (b.judging.json) {
    printf("[\n");
    struct assay_error ignored = {0};
    store_each(b.store, b.run, print_json_row, &n, &ignored);
    printf("\n]\n");
  } else {
    if (print_results(&b, &err) > 0 && code == CLI_PASS)
      code = CLI_FAIL;
  }
  for (int i = 0; i < b.n_expectations; i++) {
    base_free(b.expectations[i].candidate);
    base_free(b.expectations[i].codes);
  }
  base_free(b.expectations);
  cli_judging_close(&b.judging);
  store_close(b.store);
  buf_release(&run);
  return code;
}
