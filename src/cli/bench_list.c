// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/bench.h"
#include "cli/bench_predictions.h"
#include "judge/directives.h"
#include "task/task.h"
#include "toolchain/directive/directive.h"

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool wanted(const struct bench *b, const char *name) {
  const struct form *form;
  struct assay_error ignored = {0};
  if (!bench_is_predictions(name) && cli_form_of(name, b->judging.device, &form, &ignored) != ASSAY_OK)
    return false;
  for (int i = 0; i < b->n_only; i++)
    if (fnmatch(b->only[i], name, 0) == 0)
      return true;
  return b->n_only == 0;
}

struct files {
  char **names;
  size_t n, capacity;
};

static bool is_folder(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum assay_status list_folder(struct bench *b, const char *folder, int depth, struct files *found,
                                     struct assay_error *err);

static enum assay_status list_entry(struct bench *b, const char *folder, const char *name, int depth,
                                    struct files *found, struct assay_error *err) {
  const char *path = arena_printf(&b->arena, "%s/%s", folder, name);
  if (!path)
    return error_nomem(err, "a list of files");
  if (depth > 0 && name[0] != '.' && is_folder(path))
    return list_folder(b, path, depth - 1, found, err);
  if (!wanted(b, name))
    return ASSAY_OK;
  if (found->n == found->capacity &&
      !(found->names = arena_grow(&b->arena, found->names, found->n, &found->capacity, sizeof *found->names)))
    return error_nomem(err, "a list of files");
  found->names[found->n++] = (char *)path;
  return ASSAY_OK;
}

static enum assay_status list_folder(struct bench *b, const char *folder, int depth, struct files *found,
                                     struct assay_error *err) {
  DIR *dir = opendir(folder);
  if (!dir)
    return error_set(err, ASSAY_ERR_NOT_FOUND, "cannot read %s: %s", folder, strerror(errno));
  enum assay_status status = ASSAY_OK;
  for (struct dirent *e; !status && (e = readdir(dir));)
    status = list_entry(b, folder, e->d_name, depth, found, err);
  closedir(dir);
  return status;
}

// KernelBench-X's files are called like their tasks, and lie in a folder of their category or side by side.
static bool goes_by_stems(const struct bench *b) {
  return strncmp(b->suite, "kernelbenchx", 12) == 0;
}

// The candidates of the folder, sorted so that every run has the same order; or the one file. In the arena.
static enum assay_status list_files(struct bench *b, char ***names, size_t *count, struct assay_error *err) {
  struct stat st;
  struct files found = {0};
  enum assay_status status;
  if (stat(b->from, &st) == 0 && S_ISREG(st.st_mode)) {
    found.names = arena_calloc(&b->arena, 1, sizeof *found.names);
    found.n = 1;
    if (found.names)
      found.names[0] = arena_strdup(&b->arena, b->from);
    status = found.names && found.names[0] ? ASSAY_OK : error_nomem(err, "a list of files");
  } else {
    status = list_folder(b, b->from, goes_by_stems(b) ? 3 : 0, &found, err);
  }
  if (!status && found.n)
    qsort(found.names, found.n, sizeof *found.names, by_name);
  *names = found.names;
  *count = found.n;
  return status;
}

// The task a candidate is for, by its directive or by its name in KernelBench's form or in KernelBench-X's; "" when
// nothing says.
static void task_of(const struct bench *b, const char *path, const char *directive, char *name, size_t size) {
  name[0] = '\0';
  if (directive)
    snprintf(name, size, "%s", directive);
  else if (!cli_task_of_kernelbench(path, name, size) && goes_by_stems(b))
    bench_task_of_stem(b->judging.paths.tasks, b->tasks, b->n_tasks, path, name, size);
}

static bool in_suite(const char *suite, const char *task) {
  size_t n = strlen(suite);
  return strncmp(suite, task, n) == 0 && (task[n] == '\0' || task[n] == '/');
}

static enum assay_status add_item(struct bench *b, const struct bench_item *like, const struct twin *twin,
                                  struct assay_error *err) {
  if (b->n_items == b->capacity_items) {
    struct bench_item *more = arena_grow(&b->arena, b->items, b->n_items, &b->capacity_items, sizeof *more);
    if (!more)
      return error_nomem(err, "a list of candidates");
    b->items = more;
  }
  struct bench_item *item = &b->items[b->n_items++];
  *item = *like;
  item->define = twin->define;
  item->expect = twin->expect ? twin->expect : twin->define ? NULL : "pass"; // the default for a file itself
  if (like->label && !twin->define) {
    item->label = like->label;
    return ASSAY_OK;
  }
  struct buf label = {0};
  cli_put_label(like->path, &b->judging.defines, &label);
  if (twin->define)
    buf_printf(&label, " -D%s", twin->define);
  item->label = label.failed ? NULL : arena_strdup(&b->arena, buf_str(&label));
  buf_release(&label);
  return item->label ? ASSAY_OK : error_nomem(err, "a list of candidates");
}

// A twin may be wrong at one workload only, or on one device, and is then judged only there.
static bool shows(struct bench *b, const struct bench_item *at, const struct twin *twin) {
  if (twin->device && twin->device != at->form->device)
    return false;
  return !twin->workload || strcmp(task_workload_name(at->task_path, twin->workload, &b->arena), at->workload) == 0;
}

// An item for every workload that --workload stands for, and every twin that shows there.
static enum assay_status add_items(struct bench *b, struct bench_item *like, const struct directives *d,
                                   struct assay_error *err) {
  const char *const *workloads;
  struct assay_error why = {0};
  enum assay_status status = ASSAY_OK;
  if (cli_workloads_of(like->task_path, b->judging.options.workload, &b->arena, &workloads, &why) != ASSAY_OK)
    return bench_leave_unjudged(b, like, &why, err);
  for (int w = 0; !status && workloads[w]; w++) {
    like->workload = workloads[w];
    for (int i = 0; i < (b->twins ? d->n_twins : 1) && !status; i++)
      if (!b->twins || shows(b, like, &d->twins[i]))
        status = add_item(b, like, &d->twins[i], err);
  }
  return status;
}

// A candidate is a file of the folder. A link that leads out of it would show the judge's eyes to whoever made it.
static enum assay_status stays_in_folder(const struct bench *b, const char *path, struct assay_error *err) {
  struct stat st;
  enum assay_status status = ASSAY_OK;
  if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
    return ASSAY_OK;
  char *folder = realpath(b->from, NULL), *file = realpath(path, NULL);
  size_t n = folder ? strlen(folder) : 0;
  if (!file)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "%s is a symbolic link that leads nowhere: %s", path, strerror(errno));
  else if (!folder || strncmp(folder, file, n) != 0 || (n > 1 && file[n] != '/'))
    status =
        error_set(err, ASSAY_ERR_IO,
                  "%s is a symbolic link out of its folder, to %s; put a copy of the file in its place", path, file);
  free(folder);
  free(file);
  return status;
}

// Reads what the file says of itself, and finds its task: fills the item but for the twins. *name is the task's as soon
// as something says it. The item's form is NULL where it belongs to another suite.
static enum assay_status read_item(struct bench *b, struct bench_item *item, char *name, size_t size,
                                   struct directives *d, struct assay_error *err) {
  char *source = NULL, *task_path = NULL;
  size_t n = 0;
  int64_t all = 0;
  const struct form *form = NULL;
  enum assay_status status = stays_in_folder(b, item->path, err);
  if (!status)
    status = file_read_start(item->path, FORM_MOST_BYTES, &source, &n, &all, err);
  if (!status)
    status = directives_read(source, n, &b->arena, d, err);
  if (status)
    goto out;
  if (item->task) // a prediction's: what its code says of another task counts for nothing
    snprintf(name, size, "%s", item->task);
  else
    task_of(b, item->path, d->task, name, size);
  if (!in_suite(b->suite, name) && !(d->malformed && !name[0]))
    goto out;
  if (d->malformed && (b->twins || !name[0])) {
    status = error_set(err, ASSAY_ERR_SYNTAX, "%s: %s", item->path, d->malformed);
    goto out;
  }
  if (d->malformed && !directive_launches(source, n))
    cli_say_malformed(item->path, d->malformed);
  hash_sha256_hex(source, n, item->hash);
  status = cli_form_of(item->path, b->judging.device, &form, err);
  if (!status)
    status = task_find(b->judging.paths.tasks, name, &task_path, err);
  if (status)
    goto out;
  item->task = arena_strdup(&b->arena, name);
  item->task_path = arena_strdup(&b->arena, task_path);
  item->form = form;
  if (!item->task || !item->task_path)
    status = error_nomem(err, "a list of candidates");
out:
  base_free(source);
  base_free(task_path);
  return status;
}

// `like`: its path, label (NULL: the path) and task (NULL: what the file and its name say).
static enum assay_status add_file(struct bench *b, const struct bench_item *like, struct assay_error *err) {
  struct directives d = {0};
  struct bench_item item = *like;
  struct assay_error why = {0};
  char name[128];
  task_of(b, item.path, NULL, name, sizeof name);
  enum assay_status status = read_item(b, &item, name, sizeof name, &d, &why);
  if (status && (!name[0] || in_suite(b->suite, name))) {
    item.task = name;
    return bench_leave_unjudged(b, &item, &why, err);
  }
  if (!item.form) {
    b->n_left_out++;
    return ASSAY_OK;
  }
  if (b->judging.device && strcmp(b->judging.device, item.form->device->name) != 0)
    return bench_leave_to_device(b, &item, item.form->device->name, err);
  return add_items(b, &item, &d, err);
}

// All files come before all twins, so that a run that is cut short has seen every file. Otherwise the order stays; all
// of it where the draws are given: then the oracle's answers to a file are those to its twins, which come while they
// are kept.
static enum assay_status put_twins_last(struct bench *b, struct assay_error *err) {
  if (b->judging.options.seed && b->judging.options.secret)
    return ASSAY_OK;
  struct bench_item *sorted = arena_calloc(&b->arena, b->n_items + 1, sizeof *sorted);
  size_t n = 0;
  if (!sorted)
    return error_nomem(err, "a list of candidates");
  for (int twins = 0; twins < 2; twins++)
    for (size_t i = 0; i < b->n_items; i++)
      if ((b->items[i].define != NULL) == (twins == 1))
        sorted[n++] = b->items[i];
  b->items = sorted;
  b->capacity_items = n;
  return ASSAY_OK;
}

// Adds the baseline as a candidate for one task.
static enum assay_status add_baseline(struct bench *b, const char *task_path, int number, struct assay_error *err) {
  const struct assay_judge_options *o = &b->judging.options;
  const char *path =
      arena_printf(&b->arena, "%s/%d%s", b->judging.baseline_folder, number, cli_baseline_ending(b->from));
  if (!path)
    return error_nomem(err, "a list of candidates");
  const struct cli_baseline_request r = cli_baseline_of(b->from, task_path, o);
  struct assay_error why = {0};
  if (cli_baseline_write(&r, path, &why) == ASSAY_OK)
    return add_file(b, &(struct bench_item){.path = path, .label = b->from}, err);
  const struct bench_item item = {.path = task_path, .label = b->from};
  return bench_leave_unjudged(b, &item, &why, err);
}

// At each workload that --workload stands for: a baseline fits one only.
static enum assay_status add_baselines(struct bench *b, const char *task_path, int *number, struct assay_error *err) {
  const char *asked = b->judging.options.workload, *const * workloads;
  struct assay_error why = {0};
  const struct bench_item item = {.path = task_path, .label = b->from};
  enum assay_status status = ASSAY_OK;
  if (cli_workloads_of(task_path, asked, &b->arena, &workloads, &why) != ASSAY_OK)
    return bench_leave_unjudged(b, &item, &why, err);
  for (int w = 0; workloads[w] && !status; w++) {
    b->judging.options.workload = workloads[w];
    status = add_baseline(b, task_path, (*number)++, err);
  }
  b->judging.options.workload = asked;
  return status;
}

static enum assay_status list_baselines(struct bench *b, struct assay_error *err) {
  char **tasks = NULL;
  int count = 0;
  enum assay_status status = cli_baseline_folder(&b->judging, err);
  if (!status)
    status = task_list(b->judging.paths.tasks, b->suite, &tasks, &count, err);
  for (int i = 0, number = 0; i < count && !status; i++)
    status = add_baselines(b, tasks[i], &number, err);
  if (tasks)
    task_list_release(tasks, count);
  b->judging.options.probes = false; // a baseline fits its workload only
  return status;
}

static enum assay_status add_prediction(struct bench *b, const struct bench_prediction *p, struct assay_error *err) {
  return add_file(b, &(struct bench_item){.path = p->path, .label = p->label, .task = p->task}, err);
}

enum assay_status bench_list(struct bench *b, struct assay_error *err) {
  if (cli_is_baseline(b->from))
    return list_baselines(b, err);
  char **paths = NULL;
  size_t count = 0;
  // A name that no suite has would leave out every candidate.
  enum assay_status status = task_list(b->judging.paths.tasks, b->suite, &b->tasks, &b->n_tasks, err);
  if (!status)
    status = list_files(b, &paths, &count, err);
  if (!status && count == 0 && b->n_only > 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "no candidate in %s has a name that --only %s matches", b->from,
                       b->only[0]);
  else if (!status && count == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "there is no candidate (.c, .cu, .cl, .py, .library, .jsonl) in %s",
                       b->from);
  for (size_t i = 0; i < count && !status; i++)
    status = bench_is_predictions(paths[i]) ? bench_each_prediction(b, paths[i], add_prediction, err)
                                            : add_file(b, &(struct bench_item){.path = paths[i]}, err);
  if (b->tasks)
    task_list_release(b->tasks, b->n_tasks);
  b->tasks = NULL;
  return status ? status : put_twins_last(b, err);
}
