// SPDX-License-Identifier: Apache-2.0
// The site: reading it, its files, and which function makes each.
#include "site/site.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "draw/draw.h"
#include "site/kernel.h"

extern const char code_site_style[], code_site_script[];

typedef enum assay_status make_page(struct site *site, const struct site_file *f, struct buf *out,
                                    struct assay_error *err);

static void put_style(struct buf *out) {
  buf_puts(out, code_site_style);
  draw_style(out);
}

static enum assay_status make_asset(struct site *site, const struct site_file *f, struct buf *out,
                                    struct assay_error *err) {
  if (strcmp(f->at.name, site->style) == 0)
    put_style(out);
  else
    buf_puts(out, code_site_script);
  return buf_status(out, err);
}

static make_page *const makers[ADDRESS_N_PLACES] = {
    [ADDRESS_INDEX] = page_index,   [ADDRESS_LEVEL] = page_level,   [ADDRESS_TASK] = page_task,
    [ADDRESS_KERNEL] = page_kernel, [ADDRESS_ASSET] = make_asset,   [ADDRESS_METHOD] = page_run,
    [ADDRESS_DEVICE] = page_device, [ADDRESS_CHEATS] = page_cheats, [ADDRESS_SEARCH] = page_search,
    [ADDRESS_READ] = page_read,     [ADDRESS_PAIR] = page_pair,     [ADDRESS_SWEEP] = page_sweep,
};

// --- the list of files

struct files {
  struct site *site;
  size_t capacity;
  bool failed;
};

static void add_file(struct files *all, const struct address *at, int item) {
  struct site *site = all->site;
  if ((size_t)site->n_files == all->capacity && !all->failed) {
    size_t capacity = 2 * all->capacity + 64;
    struct site_file *more = base_realloc(site->files, capacity * sizeof *more);
    all->failed = !more;
    if (more) {
      site->files = more;
      all->capacity = capacity;
    }
  }
  if (all->failed)
    return;
  struct site_file *f = &site->files[site->n_files++];
  *f = (struct site_file){.at = *at, .item = item};
  address_file(at, f->name);
}

// A page, those that its list goes on with, and its data.
static void add_page(struct files *all, struct address at, int item, int rows) {
  for (int p = 1; p <= pages_of(rows); p++) {
    at.page = p;
    add_file(all, &at, item);
  }
  at.page = 0;
  at.format = ADDRESS_AS_CSV;
  add_file(all, &at, item);
  at.format = ADDRESS_AS_JSON;
  add_file(all, &at, item);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct site_file *)a)->name, ((const struct site_file *)b)->name);
}

// Pages that are there once, or for each run and device.
static void add_lists(struct files *all) {
  const struct site *site = all->site;
  add_page(all, (struct address){.place = ADDRESS_INDEX}, 0, 1);
  for (int i = 0; i < site->n_runs; i++)
    if (site->runs[i].n)
      add_page(all, frame_run(&site->runs[i]), i, site->runs[i].n);
  for (int i = 0; i < site->n_devices; i++)
    add_page(all, frame_device(&site->devices[i]), i, site->devices[i].n);
  for (int i = 0; i < site->n_sweeps; i++)
    add_page(all, frame_sweep(&site->sweeps[i]), i, 1);
  for (int i = 0; i < site->n_pairs; i++)
    add_page(all, frame_pair(site, &site->pairs[i]), i, 1);
  int cheats = 0;
  for (int i = 0; i < site->n_rows; i++)
    cheats += site->rows[i].score.cheat[0] != '\0';
  add_page(all, (struct address){.place = ADDRESS_CHEATS}, 0, cheats);
  add_file(all, &(struct address){.place = ADDRESS_READ}, 0);
  add_file(all, &(struct address){.place = ADDRESS_SEARCH}, 0);
  add_file(all, &(struct address){.place = ADDRESS_SEARCH, .format = ADDRESS_AS_JS}, 0);
  add_file(all, &(struct address){.place = ADDRESS_ASSET, .name = site->style}, 0);
  add_file(all, &(struct address){.place = ADDRESS_ASSET, .name = site->script}, 0);
}

static enum assay_status list_files(struct site *site, struct assay_error *err) {
  struct files all = {.site = site};
  add_lists(&all);
  for (int i = 0; i < site->n_levels; i++)
    add_page(&all, frame_level(&site->levels[i]), i, site->levels[i].n);
  for (int i = 0; i < site->n_tasks; i++) {
    const struct site_task *t = &site->tasks[i];
    int most = 0;
    for (int g = 0; g < t->n_groups; g++)
      most = site->groups[t->first_group + g].n > most ? site->groups[t->first_group + g].n : most;
    add_page(&all, frame_task(t), i, most);
  }
  for (int i = 0; i < site->n_rows; i++)
    add_page(&all, frame_kernel(&site->rows[i]), i, 1);
  if (all.failed)
    return error_nomem(err, "the site");
  qsort(site->files, (size_t)site->n_files, sizeof *site->files, by_name);
  return ASSAY_OK;
}

// --- from outside

static void name_asset(const char *text, const char *ending, char name[32]) {
  char hex[HASH_HEX_BYTES];
  hash_sha256_hex(text, strlen(text), hex);
  snprintf(name, 32, "%.16s.%s", hex, ending);
}

// The names of the style sheet and of the script follow from their texts.
static enum assay_status name_assets(struct site *site, struct assay_error *err) {
  struct buf style = {0};
  put_style(&style);
  enum assay_status status = buf_status(&style, err);
  if (!status)
    name_asset(buf_str(&style), "css", site->style);
  name_asset(code_site_script, "js", site->script);
  buf_release(&style);
  return status;
}

enum assay_status site_collect(struct store *s, const struct site_options *o, struct site **out,
                               struct assay_error *err) {
  struct site *site = base_calloc(1, sizeof *site);
  if (!site)
    return error_nomem(err, "the site");
  site->store = s;
  site->tasks_root = o->tasks;
  site->sources = o->sources;
  for (int i = 0; i < o->n_peaks && i < SITE_MOST_PEAKS; i++)
    site->peaks[site->n_peaks++] = o->peaks[i];
  enum assay_status status = name_assets(site, err);
  if (!status)
    status = site_read_rows(site, err);
  if (!status)
    status = site_index(site, err);
  if (!status)
    status = list_files(site, err);
  if (status)
    site_release(site);
  else
    *out = site;
  return status;
}

enum assay_status site_share(const struct site *site, struct site **out, struct assay_error *err) {
  struct site *reader = base_alloc(sizeof *reader);
  if (!reader)
    return error_nomem(err, "the site");
  *reader = *site;
  reader->is_shared = true;
  reader->held = NULL;
  reader->held_pair = NULL;
  enum assay_status status = store_open_again(site->store, &reader->store, err);
  if (status)
    base_free(reader);
  else
    *out = reader;
  return status;
}

void site_release(struct site *site) {
  if (!site)
    return;
  kernel_let_go(site);
  pair_let_go(site);
  if (site->is_shared) {
    store_close(site->store);
    base_free(site);
    return;
  }
  base_free(site->rows);
  base_free(site->files);
  arena_release(&site->arena);
  for (int i = 0; i < SITE_LANES; i++)
    arena_release(&site->lanes[i]);
  base_free(site);
}

const struct site_file *site_files(const struct site *site, int *n) {
  *n = site->n_files;
  return site->files;
}

const struct site_file *site_find(const struct site *site, const char *name) {
  struct site_file key;
  if (strlen(name) >= sizeof key.name || !site->n_files)
    return NULL;
  strcpy(key.name, name);
  return bsearch(&key, site->files, (size_t)site->n_files, sizeof key, by_name);
}

enum assay_status site_make(struct site *site, const struct site_file *file, struct buf *out, struct assay_error *err) {
  if (file->at.format != ADDRESS_AS_HTML && file->at.place != ADDRESS_ASSET)
    return file->at.place == ADDRESS_SEARCH ? data_search(site, file, out, err) : data_make(site, file, out, err);
  return makers[file->at.place](site, file, out, err);
}

struct site_size site_size(const struct site *site) {
  struct site_size size = {.verdicts = site->n_rows, .devices = site->n_devices};
  for (int i = 0; i < site->n_tasks; i++)
    size.tasks += site->tasks[i].n > 0;
  for (int i = 0; i < site->n_runs; i++)
    size.runs += site->runs[i].name[0] && site->runs[i].n > 0;
  return size;
}
