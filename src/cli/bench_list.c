#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/bench.h"
#include "judge/directives.h"
#include "task/task.h"

enum { MAX_CANDIDATE_BYTES = 4 << 20 };

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool wanted(const struct bench *b, const char *name) {
  const char *device = cli_device_of(name, b->judging.device);
  if (!device || (b->judging.device && strcmp(b->judging.device, device) != 0))
    return false;
  for (int i = 0; i < b->n_only; i++)
    if (fnmatch(b->only[i], name, 0) == 0)
      return true;
  return b->n_only == 0;
}

// The folder's candidates, sorted, so that two runs see the same order. In the arena.
static enum assay_status list_files(struct bench *b, char ***names, size_t *count, struct assay_error *err) {
  DIR *dir = opendir(b->from);
  if (!dir)
    return error_set(err, ASSAY_ERR_NOT_FOUND, "cannot read the folder %s: %s", b->from, strerror(errno));
  struct dirent *e;
  char **list = NULL;
  size_t n = 0, capacity = 0;
  enum assay_status status = ASSAY_OK;
  while (!status && (e = readdir(dir))) {
    if (!wanted(b, e->d_name))
      continue;
    if (n == capacity && !(list = arena_grow(&b->arena, list, n, &capacity, sizeof *list)))
      status = error_nomem(err, "a list of files");
    else if (!(list[n++] = arena_printf(&b->arena, "%s/%s", b->from, e->d_name)))
      status = error_nomem(err, "a list of files");
  }
  closedir(dir);
  if (!status && n)
    qsort(list, n, sizeof *list, by_name);
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
  item->expect = twin->expect ? twin->expect : twin->define ? NULL : "pass"; // an honest file need not say so
  item->label = twin->define ? arena_printf(&b->arena, "%s -D%s", like->path, twin->define) : like->path;
  return item->label ? ASSAY_OK : error_nomem(err, "a list of candidates");
}

// A twin that shows at one workload only is a candidate only there.
static bool shows(const struct bench *b, const struct twin *twin) {
  return !twin->workload || strcmp(twin->workload, b->judging.options.workload) == 0;
}

static enum assay_status add_file(struct bench *b, const char *path, struct assay_error *err) {
  struct directives d = {0};
  char name[128], *source = NULL, *task_path = NULL;
  size_t n = 0;
  enum assay_status status = file_read(path, MAX_CANDIDATE_BYTES, &source, &n, err);
  if (!status)
    status = directives_read(source, n, &b->arena, &d, err);
  if (status) {
    status = error_prefix(err, status, "%s: ", path);
    goto out;
  }
  task_of(path, &d, name, sizeof name);
  if (!in_suite(b->suite, name)) {
    b->n_left_out++;
    goto out;
  }
  struct bench_item item = {.path = path, .device = cli_device_of(path, b->judging.device)};
  hash_sha256_hex(source, n, item.hash);
  status = task_find(b->judging.paths.tasks, name, &task_path, err);
  if (!status) {
    item.task = arena_strdup(&b->arena, name);
    item.task_path = arena_strdup(&b->arena, task_path);
    if (!item.task || !item.task_path)
      status = error_nomem(err, "a list of candidates");
  }
  for (int i = 0; i < (b->twins ? d.n_twins : 1) && !status; i++)
    if (!b->twins || shows(b, &d.twins[i]))
      status = add_item(b, &item, &d.twins[i], err);
out:
  base_free(source);
  base_free(task_path);
  return status;
}

// Files as they are before their twins: what a run that is cut short has seen of every file. Otherwise in order.
static enum assay_status put_twins_last(struct bench *b, struct assay_error *err) {
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

// A baseline as a candidate for one task.
static enum assay_status add_baseline(struct bench *b, const char *task_path, int number, struct assay_error *err) {
  const struct assay_judge_options *o = &b->judging.options;
  const char *path =
      arena_printf(&b->arena, "%s/%d%s", b->judging.baseline_folder, number, cli_baseline_ending(b->from));
  if (!path)
    return error_nomem(err, "a list of candidates");
  enum assay_status status = cli_baseline_write(b->from, task_path, o->as_published, o->workload, path, err);
  size_t before = b->n_items;
  if (!status)
    status = add_file(b, path, err);
  for (size_t i = before; i < b->n_items && !status; i++)
    b->items[i].label = b->from;
  return status;
}

static enum assay_status list_baselines(struct bench *b, struct assay_error *err) {
  char **tasks = NULL;
  int count = 0;
  enum assay_status status = cli_baseline_folder(&b->judging, err);
  if (!status)
    status = task_list(b->judging.paths.tasks, b->suite, &tasks, &count, err);
  for (int i = 0; i < count && !status; i++)
    status = add_baseline(b, tasks[i], i, err);
  if (tasks)
    task_list_release(tasks, count);
  b->judging.options.probes = false; // they are for the workload
  return status;
}

enum assay_status bench_list(struct bench *b, struct assay_error *err) {
  if (cli_is_baseline(b->from))
    return list_baselines(b, err);
  char **paths = NULL;
  size_t count = 0;
  enum assay_status status = list_files(b, &paths, &count, err);
  if (!status && count == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "there is no candidate (.c, .cu, .cl, .py, .library) in %s", b->from);
  for (size_t i = 0; i < count && !status; i++)
    status = add_file(b, paths[i], err);
  return status ? status : put_twins_last(b, err);
}
