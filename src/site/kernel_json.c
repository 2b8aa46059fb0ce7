// SPDX-License-Identifier: Apache-2.0
// A verdict as it is published: listed fields of its evidence, texts without the machine's paths, seeds as texts
// (JavaScript's numbers hold 53 bits). Numbers are copied as the evidence has them, as text.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/publish.h"
#include "report/skim.h"
#include "site/data.h"
#include "site/kernel.h"

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))
static const char *const baseline_keys[] = {"name",    "verdict", "mode",        "pairs",        "median_ns", "low_ns",
                                            "high_ns", "speedup", "speedup_low", "speedup_high", "samples_ns"};
static const struct skim_rules of_a_baseline = {baseline_keys, COUNT(baseline_keys), false, NULL, 0};
static const char *const keys[] = {"category",
                                   "operator_kind",
                                   "bytes",
                                   "flops",
                                   "form",
                                   "foreknown",
                                   "kernels",
                                   "kernels_reach_host_memory",
                                   "mode",
                                   "resources",
                                   "shapes",
                                   "skipped_probes",
                                   "task",
                                   "timing",
                                   "times_rank_nothing",
                                   "unsettled_arguments",
                                   "workload",
                                   "worst_check",
                                   "contract",
                                   "task_contract",
                                   "rule",
                                   "judge",
                                   "scope",
                                   "toolchain",
                                   "task_sha256",
                                   "candidate_sha256",
                                   "settings_sha256",
                                   "build_command",
                                   "compiler",
                                   "detail",
                                   "device",
                                   "diagnostics",
                                   "elsewhere",
                                   "meaning",
                                   "no_plan",
                                   "sandbox",
                                   "verdict",
                                   "weights"};
static const struct skim_inside parts[] = {{"baselines", &of_a_baseline}};
static const struct skim_rules of_a_verdict = {keys, COUNT(keys), false, parts, COUNT(parts)};

// Without an escape, a path, or a sign that means something in HTML: such a text is published as it is.
static bool is_plain(const char *raw, size_t n) {
  for (size_t i = 1; i + 1 < n; i++)
    if (raw[i] < ' ' || raw[i] > '~' || strchr("\\/~<>&'", raw[i]))
      return false;
  return true;
}

static void publish_string(void *arg, const char *raw, size_t n, struct buf *out) {
  struct kernel *k = arg;
  if (is_plain(raw, n)) {
    buf_append(out, raw, n);
    return;
  }
  json_t *value = json_loadb(raw, n, JSON_DECODE_ANY, NULL);
  const char *text = json_string_value(value), *fit = text ? publish_text(&k->arena, text) : NULL;
  if (fit)
    data_json_text(out, fit);
  else
    buf_puts(out, "null");
  out->failed = out->failed || (text && !fit);
  json_decref(value);
}

static void put_raw(struct kernel *k, const struct skim_raw *raw) {
  if (!raw->at || raw->at[0] == '{' || raw->at[0] == '[')
    buf_puts(&k->rows, "null");
  else if (raw->at[0] == '"')
    publish_string(k, raw->at, raw->n, &k->rows);
  else
    buf_append(&k->rows, raw->at, raw->n);
}

void kernel_json_check(struct kernel *k, const struct skim_raw *raw) {
  buf_puts(&k->rows, k->rows.len > 0 ? ",[" : "[");
  for (int i = 0; i < CHECK_N_MEMBERS; i++) {
    if (i > 0)
      buf_puts(&k->rows, ",");
    put_raw(k, &raw[i]);
  }
  buf_puts(&k->rows, "]");
}

// As columns and rows: names of members, thirty times over, would be half of the file.
static void put_checks(const struct kernel *k, struct buf *out) {
  static const char columns[] = ""
#define KERNEL_CHECK_NAME(id, name) ",\"" name "\""
      KERNEL_CHECK_MEMBERS(KERNEL_CHECK_NAME)
#undef KERNEL_CHECK_NAME
      ;
  buf_puts(out, ",\"checks\":{\"columns\":[");
  buf_puts(out, columns + 1);
  buf_puts(out, "],\"rows\":[");
  buf_append(out, buf_str(&k->rows), k->rows.len);
  buf_puts(out, "]}");
  out->failed = out->failed || k->rows.failed;
}

static void put_text(struct buf *out, const char *name, const char *text) {
  buf_puts(out, name);
  if (text)
    data_json_text(out, text);
  else
    buf_puts(out, "null");
}

// What the evidence has not, so that every verdict has the same members.
static void put_missing(struct buf *out, uint64_t seen) {
  for (int i = 0; i < COUNT(keys) + COUNT(parts); i++)
    if (!(seen >> i & 1))
      buf_printf(out, i < COUNT(keys) ? ",\"%s\":null" : ",\"%s\":[]",
                 i < COUNT(keys) ? keys[i] : parts[i - COUNT(keys)].key);
}

static void put_evidence(struct kernel *k, struct buf *out) {
  struct skim s = {.rules = &of_a_verdict, .string = publish_string, .arg = k};
  struct buf evidence = {0};
  // Between the brackets of the object that comes out.
  if (k->v.evidence && skim_write(&s, k->v.evidence, &evidence) && evidence.len > 2) {
    buf_puts(out, ",");
    buf_append(out, buf_str(&evidence) + 1, evidence.len - 2);
  } else {
    s.seen = 0;
  }
  put_missing(out, s.seen);
  out->failed = out->failed || evidence.failed;
  buf_release(&evidence);
}

void kernel_json(struct kernel *k, struct buf *out) {
  char seed[32], secret[32];
  const json_t *secret_value = json_object_get(k->evidence, "secret");
  snprintf(seed, sizeof seed, "%" PRIu64, k->v.seed);
  snprintf(secret, sizeof secret, "%" PRIu64, (uint64_t)json_integer_value(secret_value));
  put_text(out, "{\"schema\":", "assay/site_verdict/2");
  put_text(out, ",\"page\":", k->row->key);
  put_text(out, ",\"candidate\":", k->row->candidate);
  put_text(out, ",\"run\":", k->site->runs[k->row->run].title);
  put_text(out, ",\"seed\":", kernel_has_seed(k) ? seed : NULL);
  put_text(out, ",\"secret\":", secret_value ? secret : NULL);
  put_text(out, ",\"command\":", publish_text(&k->arena, k->v.command));
  put_checks(k, out);
  put_evidence(k, out);
  buf_puts(out, "}\n");
}
