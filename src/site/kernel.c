// SPDX-License-Identifier: Apache-2.0
// A verdict with its evidence, and where its source is.
#include "site/kernel.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "report/publish.h"
#include "report/skim.h"
#include "store/queue.h"

enum { MOST_SOURCE_BYTES = 1 << 20 };

// --- the source

static bool is_it(const char *text, size_t len, const char *hash) {
  char hex[HASH_HEX_BYTES];
  hash_sha256_hex(text, len, hex);
  return strcmp(hex, hash) == 0;
}

static bool read_if_it(const char *path, const char *hash, char **text, size_t *len) {
  struct assay_error ignored = {0};
  if (file_read(path, MOST_SOURCE_BYTES, text, len, &ignored) != ASSAY_OK)
    return false;
  if (is_it(*text, *len, hash))
    return true;
  base_free(*text);
  *text = NULL;
  return false;
}

// Of a kernel that was submitted to `assay serve`: the queue keeps it.
static enum assay_status find_submitted(const struct site *site, const struct site_row *row, char **text, size_t *len,
                                        struct assay_error *err) {
  enum assay_status status = queue_source(site->store, row->score.id, text, len, err);
  if (!status && *text && !is_it(*text, *len, row->score.candidate_hash)) {
    base_free(*text);
    *text = NULL;
  }
  return status;
}

// The candidate's text, if one of those that may be it has the hash that was judged: at its stored place, below the
// folder of sources, or as it was submitted. *text: heap (base_free); NULL: there is none.
static enum assay_status find_source(const struct site *site, const struct site_row *row, char **text, size_t *len,
                                     struct assay_error *err) {
  const char *stored = row->score.candidate, *twin = strstr(stored, " -D"), *hash = row->score.candidate_hash;
  struct buf path = {0};
  *text = NULL;
  *len = 0;
  if (!hash[0])
    return ASSAY_OK;
  buf_append(&path, stored, twin ? (size_t)(twin - stored) : strlen(stored));
  bool found = read_if_it(buf_str(&path), hash, text, len);
  // Below the folder of sources, several files of one name are in folders named by their hash.
  for (int i = 0; i < 2 && !found && site->sources; i++) {
    const char *name = row->candidate, *end = strstr(name, " -D");
    buf_clear(&path);
    buf_printf(&path, "%s/%.*s%s%.*s", site->sources, i ? 16 : 0, hash, i ? "/" : "",
               end ? (int)(end - name) : (int)strlen(name), name);
    found = read_if_it(buf_str(&path), hash, text, len);
  }
  enum assay_status status = buf_status(&path, err);
  if (!status && !found)
    status = find_submitted(site, row, text, len, err);
  buf_release(&path);
  return status;
}

// --- the one that is held

static void forget(struct kernel *k) {
  json_decref(k->evidence);
  json_decref(k->machine);
  base_free(k->source);
  arena_release(&k->arena);
  buf_clear(&k->rows); // the memory is kept for the next
  *k = (struct kernel){.rows = k->rows};
}

void kernel_let_go(struct site *site) {
  if (site->held) {
    forget(site->held);
    buf_release(&site->held->rows);
  }
  base_free(site->held);
  site->held = NULL;
}

enum assay_status kernel_hold(struct site *site, const struct site_row *row, struct kernel **out,
                              struct assay_error *err) {
  struct kernel *k = site->held;
  enum assay_status status = ASSAY_OK;
  if (!k && !(k = site->held = base_calloc(1, sizeof *k)))
    return error_nomem(err, "a verdict's page");
  if (k->row != row) {
    forget(k);
    k->site = site;
    status = find_source(site, row, &k->source, &k->source_bytes, err);
    k->row = status ? NULL : row;
  }
  *out = k;
  return status;
}

static bool keep_text(struct kernel *k, const char **text) {
  if (*text)
    *text = arena_strdup(&k->arena, *text);
  return *text != NULL;
}

// What pages show of the evidence; samples, which the row has, and checks, which are read as text
// (kernel_read_checks()), are no part of the tree. kernel_json() publishes both, and more.
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))
static const char *const samples[] = {"samples_ns", "hot_samples_ns"};
static const char *const timing[] = {"called_ns", "prepare_ns",    "stopped", "throttle",
                                     "clock_mhz", "temperature_c", "power_w", "dropped"};
static const char *const of_the_machine[] = {"kernel", "processor"};
static const struct skim_rules machine_rules = {of_the_machine, COUNT(of_the_machine), false, NULL, 0};
static const char *const texts[] = {"build_command", "commit",    "compiler", "contract",  "device",
                                    "diagnostics",   "elsewhere", "judge",    "kernels",   "mode",
                                    "no_plan",       "resources", "rule",     "sandbox",   "scope",
                                    "secret",        "seed",      "shapes",   "toolchain", "worst_check"};
static const struct skim_rules of_timing = {timing, COUNT(timing), false, NULL, 0};
static const struct skim_rules without_samples = {samples, COUNT(samples), true, NULL, 0};
static const struct skim_inside evidence_parts[] = {{"timing", &of_timing}, {"baselines", &without_samples}};
static const struct skim_rules of_evidence = {texts, COUNT(texts), false, evidence_parts, COUNT(evidence_parts)};

static bool read_verdict(void *arg, const struct store_verdict *v) {
  struct kernel *k = arg;
  const char **const strings[] = {&k->v.run,       &k->v.task,          &k->v.task_hash, &k->v.form,
                                  &k->v.workload,  &k->v.device,        &k->v.candidate, &k->v.candidate_hash,
                                  &k->v.toolchain, &k->v.settings_hash, &k->v.detail,    &k->v.machine,
                                  &k->v.command,   &k->v.evidence};
  k->v = *v;
  k->v.samples_ns = NULL;
  k->evidence = v->evidence ? skim_load(v->evidence, &of_evidence) : NULL;
  k->machine = v->machine ? skim_load(v->machine, &machine_rules) : NULL;
  k->is_read = true;
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
    const bool had = *strings[i] != NULL;
    k->is_read = (keep_text(k, strings[i]) || !had) && k->is_read;
  }
  return false;
}

enum assay_status kernel_with(struct site *site, const struct site_row *row, kernel_use *use, void *arg,
                              struct assay_error *err) {
  struct kernel *k = NULL;
  enum assay_status status = kernel_hold(site, row, &k, err);
  if (!status && !k->is_read) {
    status = store_get(site->store, row->score.id, read_verdict, k, err);
    if (!status && !k->is_read)
      status = error_nomem(err, "a verdict's page");
    if (!status)
      status = kernel_read_checks(k, err);
    if (status)
      forget(k);
  }
  return status ? status : use(k, arg, err);
}

// --- values of the evidence

const char *kernel_text_in(struct kernel *k, const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  const char *fit = text ? publish_text(&k->arena, text) : "";
  return fit ? fit : "";
}

const char *kernel_text(struct kernel *k, const char *key) {
  return kernel_text_in(k, k->evidence, key);
}

bool kernel_has_seed(const struct kernel *k) {
  return json_object_get(k->evidence, "seed") || k->v.seed != 0;
}

double kernel_number(const json_t *object, const char *key) {
  const json_t *number = json_object_get(object, key);
  return json_is_number(number) ? json_number_value(number) : NAN;
}
