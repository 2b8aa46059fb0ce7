// SPDX-License-Identifier: Apache-2.0
#include "cli/maker.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/nearest.h"
#include "cli/bench_predictions.h"
#include "judge/directives.h"

static const struct maker *const makers[] = {
#define ROW(name) &maker_##name,
    MAKERS(ROW)
#undef ROW
};
enum { N_MAKERS = sizeof makers / sizeof *makers };

// "eager", "files:DIR", "triton[:DIR]".
static void put_form(const struct maker *m, struct buf *out) {
  const char *a = m->argument;
  buf_printf(out, "%s%s%s", m->name, !a ? "" : a[0] == '[' ? "[:" : ":", !a ? "" : a[0] == '[' ? a + 1 : a);
}

void maker_list(struct buf *out) {
  for (int i = 0; i < N_MAKERS; i++) {
    buf_puts(out, i ? "; " : "");
    put_form(makers[i], out);
    buf_printf(out, ", %s", makers[i]->what);
  }
}

static bool may_lack_argument(const struct maker *m) {
  return !m->argument || m->argument[0] == '[';
}

static enum assay_status unknown(const char *text, struct assay_error *err) {
  struct buf all = {0};
  char word[64], meant[80];
  snprintf(word, sizeof word, "%.*s", (int)strcspn(text, ":"), text);
  struct nearest near = {.word = word};
  for (int i = 0; i < N_MAKERS; i++) {
    if (strcmp(makers[i]->name, word) == 0)
      put_form(makers[i], &all);
    if (all.len) {
      error_set(err, ASSAY_ERR_USAGE, "the maker %s is written %s, not '%.60s'", word, buf_str(&all), text);
      buf_release(&all);
      return ASSAY_ERR_USAGE;
    }
  }
  for (int i = 0; i < N_MAKERS; i++) {
    buf_puts(&all, i ? ", " : "");
    put_form(makers[i], &all);
    nearest_offer(&near, makers[i]->name);
  }
  const char *lacks = strchr(text, '/') ? "file or folder" : "maker"; // no maker's name has a slash
  enum assay_status status =
      error_set(err, ASSAY_ERR_USAGE, "there is no %s '%.200s'%s (makers: %s, or a folder or file)", lacks, text,
                nearest_text(&near, meant, sizeof meant), buf_str(&all));
  buf_release(&all);
  return status;
}

enum assay_status maker_find(const char *text, const struct maker **out, const char **argument,
                             struct assay_error *err) {
  struct stat st;
  const char *colon = strchr(text, ':');
  size_t n = colon ? (size_t)(colon - text) : strlen(text);
  *out = NULL;
  for (int i = 0; i < N_MAKERS; i++)
    if (strlen(makers[i]->name) == n && memcmp(makers[i]->name, text, n) == 0 &&
        (colon ? makers[i]->argument && (colon[1] || may_lack_argument(makers[i])) : may_lack_argument(makers[i])))
      *out = makers[i];
  *argument = *out && colon ? colon + 1 : "";
  if (!*out && stat(text, &st) == 0) {
    *out = &maker_files;
    *argument = text;
  }
  return *out ? ASSAY_OK : unknown(text, err);
}

enum assay_status maker_baseline(const struct maker_request *r, const char *name, struct maker_candidate *out) {
  struct assay_error why = {0};
  const struct cli_baseline_request b = cli_baseline_of(name, r->task_path, &r->judging->options);
  snprintf(out->file, sizeof out->file, "%s/%s%s", r->folder, name, cli_baseline_ending(name));
  snprintf(out->label, sizeof out->label, "%s", name);
  out->one_shape = true;
  if (cli_baseline_write(&b, out->file, &why) != ASSAY_OK)
    snprintf(out->refusal, sizeof out->refusal, "%.200s", why.message);
  return ASSAY_OK;
}

// ---- files

// What says that a file is for the task: a line of its own, or its name where it has no such line.
enum word { BY_LINE, BY_NAME };

// fp32_swiglu.c is for fusedops/swiglu/fp32_swiglu, level_1_problem_19_sample_0_kernel.cu for kernelbench/1/19.
static bool is_called(const char *file, const char *task_name) {
  char name[128];
  const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *stem = strrchr(task_name, '/');
  size_t n = strcspn(base, ".");
  stem = stem ? stem + 1 : task_name;
  if (cli_task_of_kernelbench(file, name, sizeof name))
    return strcmp(name, task_name) == 0;
  return strlen(stem) == n && strncasecmp(base, stem, n) == 0 && stem[strspn(stem, "0123456789")]; // 19.c says nothing
}

// Whether the file is a candidate for the request's task and device.
static bool is_for(const struct maker_request *r, const char *file, enum word by,
                   bool (*takes)(const char *source, size_t n)) {
  const struct form *form;
  struct assay_error ignored = {0};
  struct arena arena = {0};
  struct directives d;
  char *source = NULL;
  size_t n = 0;
  int64_t size;
  if (cli_form_of(file, r->judging->device, &form, &ignored) != ASSAY_OK ||
      (r->judging->device && strcmp(r->judging->device, form->device->name) != 0) ||
      file_read_start(file, FORM_MOST_BYTES, &source, &n, &size, &ignored) != ASSAY_OK)
    return false;
  bool fits = directives_read(source, n, &arena, &d, &ignored) == ASSAY_OK && (!takes || takes(source, n));
  if (by == BY_LINE)
    fits = fits && d.task && strcasecmp(d.task, r->task_name) == 0;
  else
    fits = fits && !d.task && ((r->one_task && strcmp(file, r->argument) == 0) || is_called(file, r->task_name));
  base_free(source);
  arena_release(&arena);
  return fits;
}

static bool find_in_folder(const struct maker_request *r, enum word by, bool (*takes)(const char *source, size_t n),
                           char *file, size_t size) {
  char path[4096];
  bool found = false;
  DIR *dir = opendir(r->argument);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    if (e->d_name[0] == '.' || (size_t)snprintf(path, sizeof path, "%s/%s", r->argument, e->d_name) >= sizeof path)
      continue;
    if ((found && strcmp(path, file) > 0) || !is_for(r, path, by, takes))
      continue;
    snprintf(file, size, "%s", path);
    found = true;
  }
  if (dir)
    closedir(dir);
  return found;
}

bool maker_file_of(const struct maker_request *r, bool (*takes)(const char *source, size_t n), char *file,
                   size_t size) {
  struct stat st;
  if (stat(r->argument, &st) == 0 && S_ISDIR(st.st_mode))
    return find_in_folder(r, BY_LINE, takes, file, size) || find_in_folder(r, BY_NAME, takes, file, size);
  snprintf(file, size, "%s", r->argument);
  return is_for(r, file, BY_LINE, takes) || is_for(r, file, BY_NAME, takes);
}

// Says that there is no file, or that there is one, for another device than --device.
static void refuse(const struct maker_request *r, bool (*takes)(const char *source, size_t n), const char *what,
                   struct maker_candidate *out) {
  char file[4096];
  struct cli_judging anywhere = *r->judging;
  struct maker_request asked = *r;
  anywhere.device = NULL;
  asked.judging = &anywhere;
  if (r->judging->device && maker_file_of(&asked, takes, file, sizeof file))
    snprintf(out->refusal, sizeof out->refusal, "no file of it %s on --device %.20s: %.150s is for another", what,
             r->judging->device, strrchr(file, '/') ? strrchr(file, '/') + 1 : file);
  else
    snprintf(out->refusal, sizeof out->refusal,
             "no file of it %s: a line `// assay: task %.80s` says so (`#` in Python), or without one its name", what,
             r->task_name);
}

void maker_take_file(const struct maker_request *r, bool (*takes)(const char *source, size_t n), const char *what,
                     struct maker_candidate *out) {
  struct stat st;
  if (stat(r->argument, &st) != 0) {
    snprintf(out->refusal, sizeof out->refusal, "there is no folder or file %.200s", r->argument);
    return;
  }
  if (!maker_file_of(r, takes, out->file, sizeof out->file)) {
    refuse(r, takes, what, out);
    return;
  }
  char *whole = realpath(out->file, NULL);
  snprintf(out->label, sizeof out->label, "%s", whole ? whole : out->file);
  free(whole);
}

enum assay_status maker_check_path(const char *argument, struct store *store, struct assay_error *err) {
  struct stat st;
  (void)store;
  if (bench_is_predictions(argument))
    return error_set(err, ASSAY_ERR_USAGE,
                     "--with: %.150s has a candidate a line: judge them by assay bench SUITE --from %.150s --run NAME, "
                     "and compare run:NAME",
                     argument, argument);
  if (!argument[0] || stat(argument, &st) == 0)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_USAGE, "--with: there is no folder or file %.200s", argument);
}

void maker_own_folder(const struct maker_request *r, const char *name, char *folder, size_t size) {
  snprintf(folder, size, "%s/../kernels/fusedops/%s", r->judging->paths.tasks, name);
}

enum assay_status maker_library_of(const struct maker_request *r, const char *word, struct maker_candidate *out,
                                   struct assay_error *err) {
  char text[512];
  snprintf(out->file, sizeof out->file, "%s/%s.library", r->folder, word);
  snprintf(out->label, sizeof out->label, "%s", word);
  snprintf(text, sizeof text, "# assay: task %.300s\n%s\n", r->task_name, word);
  out->one_shape = true;
  return file_write(out->file, text, strlen(text), err);
}
