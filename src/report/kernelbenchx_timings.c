// SPDX-License-Identifier: Apache-2.0
// The suite's times of eager PyTorch, a folder a machine, and what is odd about them.
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "report/foreign.h"
#include "report/kernelbenchx_corpus.h"

enum { MOST_BYTES = 1 << 26 };

// Bandwidth of the memory in GB/s, as vendors state it for these cards (of the A100 and the H800 the 80 GB SXM boards).
static const struct {
  const char *name;
  double gbs;
} peaks[] = {{"4090", 1008}, {"5090", 1792}, {"a100", 2039}, {"h100", 3352}, {"h20", 4000},
             {"h200", 4800}, {"h800", 3352}, {"l20", 864},   {"l40", 864}};

static double peak_of(const char *name) {
  for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
    if (strcmp(peaks[i].name, name) == 0)
      return peaks[i].gbs;
  return NAN;
}

// ---- reading

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// Names in the folder, sorted, without hidden ones; with `ending` those that end so, without it. In the arena.
static char **names_in(const char *folder, const char *ending, struct arena *a, size_t *n) {
  DIR *dir = opendir(folder);
  char **names = NULL;
  size_t capacity = 0, length = strlen(ending);
  *n = 0;
  for (struct dirent *e; dir && (e = readdir(dir));) {
    size_t size = strlen(e->d_name);
    if (e->d_name[0] == '.' || size <= length || strcmp(e->d_name + size - length, ending) != 0)
      continue;
    if (*n == capacity && !(names = arena_grow(a, names, *n, &capacity, sizeof *names)))
      break;
    if (!(names[*n] = arena_strndup(a, e->d_name, size - length)))
      break;
    ++*n;
  }
  if (dir)
    closedir(dir);
  if (*n)
    qsort(names, *n, sizeof *names, by_name);
  return names;
}

static enum assay_status take_rows(const json_t *list, struct arena *a, struct kernelbenchx_timing *t,
                                   struct assay_error *err) {
  t->rows = arena_calloc(a, json_array_size(list) + 1, sizeof *t->rows);
  for (size_t i = 0; t->rows && i < json_array_size(list); i++) {
    const json_t *row = json_array_get(list, i), *ms = json_object_get(row, "ms"), *gbs = json_object_get(row, "GB/s");
    if (!(json_number_value(ms) > 0))
      continue;
    char *size = json_dumps(json_object_get(row, "input_size"), JSON_COMPACT | JSON_ENCODE_ANY);
    t->rows[t->n] = (struct kernelbenchx_timed){.size = arena_strdup(a, size ? size : ""),
                                                .ms = json_number_value(ms),
                                                .gbs = json_is_number(gbs) ? json_number_value(gbs) : NAN};
    free(size);
    if (!t->rows[t->n++].size)
      return error_nomem(err, "reference timings");
  }
  return t->rows ? ASSAY_OK : error_nomem(err, "reference timings");
}

static enum assay_status read_file(const char *path, struct arena *a, struct kernelbenchx_timing *t,
                                   struct assay_error *err) {
  char *bytes = NULL;
  size_t n = 0;
  json_error_t where;
  enum assay_status status = file_read(path, MOST_BYTES, &bytes, &n, err);
  if (status)
    return status;
  json_t *list = foreign_loadb(bytes, n, 0, &where);
  if (!json_is_array(list))
    status = error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: %s", path, list ? 1 : where.line,
                       list ? "want a list of timings" : where.text);
  else
    status = take_rows(list, a, t, err);
  json_decref(list);
  base_free(bytes);
  return status;
}

static enum assay_status read_machine(const char *folder, struct arena *a, struct kernelbenchx_machine *m,
                                      struct assay_error *err) {
  size_t n;
  char **names = names_in(folder, ".json", a, &n);
  m->files = arena_calloc(a, n + 1, sizeof *m->files);
  enum assay_status status = m->files ? ASSAY_OK : error_nomem(err, "reference timings");
  for (size_t i = 0; i < n && !status; i++) {
    const char *path = arena_printf(a, "%s/%s.json", folder, names[i]);
    m->files[i].task = names[i];
    status = path ? read_file(path, a, &m->files[i], err) : error_nomem(err, "reference timings");
    m->n++;
    m->n_rows += m->files[i].n;
  }
  return status;
}

// ---- what is odd

const struct kernelbenchx_timing *kernelbenchx_timing_of(const struct kernelbenchx_machine *m, const char *task) {
  for (int i = 0; i < m->n; i++)
    if (strcmp(m->files[i].task, task) == 0)
      return &m->files[i];
  return NULL;
}

double kernelbenchx_total_ms(const struct kernelbenchx_timing *t) {
  double sum = 0;
  for (int i = 0; t && i < t->n; i++)
    sum += t->rows[i].ms;
  return sum;
}

static bool same_times(const struct kernelbenchx_timing *a, const struct kernelbenchx_timing *b) {
  bool same = a && a->n == b->n && a->n > 0;
  for (int i = 0; same && i < a->n; i++)
    same = a->rows[i].ms == b->rows[i].ms && strcmp(a->rows[i].size, b->rows[i].size) == 0;
  return same;
}

// Files whose times are to the last digit the other's, however they are written.
static int copied(const struct kernelbenchx_machine *m, const struct kernelbenchx_machine *other) {
  int n = 0;
  for (int i = 0; i < m->n; i++)
    n += same_times(kernelbenchx_timing_of(other, m->files[i].task), &m->files[i]);
  return n;
}

// Of two that are alike, the copy is the one with more rates above what its memory can do.
static void find_copies(struct kernelbenchx_timings *t) {
  for (int i = 0; i < t->n; i++)
    for (int k = 0; k < t->n; k++) {
      struct kernelbenchx_machine *m = &t->machines[i], *other = &t->machines[k];
      int n = i == k || other->copy_of || m->rows_above_peak < other->rows_above_peak ||
                      (m->rows_above_peak == other->rows_above_peak && i < k)
                  ? 0
                  : copied(m, other);
      if (n > m->n / 2 && n > m->n_copied) {
        m->copy_of = other;
        m->n_copied = n;
      }
    }
}

static void look_at(struct kernelbenchx_timings *all, struct kernelbenchx_machine *m) {
  for (int i = 0; i < m->n; i++) {
    int most = 0;
    for (int k = 0; k < all->n; k++) {
      const struct kernelbenchx_timing *t = kernelbenchx_timing_of(&all->machines[k], m->files[i].task);
      most = t && t->n > most ? t->n : most;
    }
    m->short_files += m->files[i].n < most;
    for (int r = 0; r < m->files[i].n; r++)
      m->rows_above_peak += m->files[i].rows[r].gbs > m->peak_gbs;
  }
}

enum assay_status kernelbenchx_timings_read(const char *checkout, struct kernelbenchx_timings *out,
                                            struct assay_error *err) {
  struct kernelbenchx_timings t = {0};
  size_t n = 0;
  const char *root = arena_printf(&t.arena, "%s/metrics/golden_results", checkout);
  char **names = root ? names_in(root, "", &t.arena, &n) : NULL;
  t.machines = arena_calloc(&t.arena, n + 1, sizeof *t.machines);
  enum assay_status status = t.machines ? ASSAY_OK : error_nomem(err, "reference timings");
  for (size_t i = 0; i < n && !status; i++) {
    struct kernelbenchx_machine *m = &t.machines[t.n];
    *m = (struct kernelbenchx_machine){.name = names[i], .peak_gbs = peak_of(names[i])};
    const char *folder = arena_printf(&t.arena, "%s/%s", root, names[i]);
    status = folder ? read_machine(folder, &t.arena, m, err) : error_nomem(err, "reference timings");
    t.n += m->n > 0;
  }
  if (status) {
    kernelbenchx_timings_release(&t);
    return status;
  }
  for (int i = 0; i < t.n; i++)
    look_at(&t, &t.machines[i]);
  find_copies(&t);
  *out = t;
  return ASSAY_OK;
}

void kernelbenchx_timings_release(struct kernelbenchx_timings *t) {
  arena_release(&t->arena);
  *t = (struct kernelbenchx_timings){0};
}

// ---- one machine and another

static double ms_at(const struct kernelbenchx_timing *t, const char *size) {
  for (int i = 0; t && i < t->n; i++)
    if (strcmp(t->rows[i].size, size) == 0)
      return t->rows[i].ms;
  return NAN;
}

static bool all_have(const struct kernelbenchx_timings *t, const char *task, const char *size) {
  for (int i = 0; i < t->n; i++)
    if (!t->machines[i].copy_of && isnan(ms_at(kernelbenchx_timing_of(&t->machines[i], task), size)))
      return false;
  return true;
}

static struct kernelbenchx_ratio ratio_of(const struct kernelbenchx_timings *t, const struct kernelbenchx_timing *of) {
  struct kernelbenchx_ratio r = {.task = of->task, .ratio = NAN};
  double least = INFINITY, most = 0;
  for (int i = 0; i < t->n; i++) {
    const struct kernelbenchx_timing *own = kernelbenchx_timing_of(&t->machines[i], of->task);
    double sum = 0;
    for (int row = 0; row < of->n && !t->machines[i].copy_of; row++)
      if (all_have(t, of->task, of->rows[row].size))
        sum += ms_at(own, of->rows[row].size);
    if (sum > most) {
      most = sum;
      r.slowest = t->machines[i].name;
    }
    if (sum > 0 && sum < least) {
      least = sum;
      r.fastest = t->machines[i].name;
    }
  }
  r.ratio = most > 0 ? most / least : NAN;
  return r;
}

static int largest_first(const void *a, const void *b) {
  double x = ((const struct kernelbenchx_ratio *)a)->ratio, y = ((const struct kernelbenchx_ratio *)b)->ratio;
  return (x < y) - (x > y);
}

bool kernelbenchx_machine_ratios(const struct kernelbenchx_timings *t, struct kernelbenchx_ratio **out, int *n) {
  int first = 0;
  while (first < t->n && t->machines[first].copy_of)
    first++;
  *n = 0;
  *out = base_calloc(first < t->n ? (size_t)t->machines[first].n + 1 : 1, sizeof **out);
  for (int i = 0; *out && first < t->n && i < t->machines[first].n; i++) {
    struct kernelbenchx_ratio r = ratio_of(t, &t->machines[first].files[i]);
    if (!isnan(r.ratio))
      (*out)[(*n)++] = r;
  }
  if (*out)
    qsort(*out, (size_t)*n, sizeof **out, largest_first);
  return *out != NULL;
}
