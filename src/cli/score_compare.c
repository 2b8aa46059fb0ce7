// SPDX-License-Identifier: Apache-2.0
// assay score RUN --compare eval_results.json: where KernelBench's harness and the judge disagree.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/score.h"
#include "report/kernelbench.h"

struct counts {
  int both, agree, only_there, only_here, too_good, too_bad;
};

static struct counts count(const struct kernelbench_pair *pairs, int n) {
  struct counts c = {0};
  for (int i = 0; i < n; i++) {
    const struct kernelbench_pair *p = &pairs[i];
    bool differ = kernelbench_differ(p);
    c.both += p->here && p->there;
    c.only_there += !p->here;
    c.only_here += !p->there;
    c.agree += p->here && p->there && !differ;
    c.too_good += differ && p->correct;
    c.too_bad += differ && !p->correct;
  }
  return c;
}

static const char *said_there(const struct kernelbench_pair *p) {
  return !p->there ? "-" : p->correct ? "correct" : p->compiled ? "wrong" : "not compiled";
}

static void put_row(struct table *t, const struct kernelbench_pair *p) {
  char problem[32], sample[32], there[32], here[32], text[32];
  snprintf(problem, sizeof problem, "kernelbench/%d/%d", p->level, p->problem);
  snprintf(sample, sizeof sample, "%d", p->sample);
  snprintf(there, sizeof there, "%s", cli_time_text(p->runtime_ms * 1e6, text));
  snprintf(here, sizeof here, "%s", cli_time_text(p->time_ns, text));
  table_row(t, (const char *const[]){problem, sample, said_there(p), there,
                                     p->suspicious ? "suspicious" : assay_reason_code(p->reason), here, p->detail});
}

static json_t *pair_json(const struct kernelbench_pair *p) {
  json_t *theirs = json_null(), *ours = json_null();
  if (p->there)
    theirs = json_pack("{s:b, s:b, s:o}", "compiled", p->compiled, "correct", p->correct, "runtime_ms",
                       cli_json_real(p->runtime_ms));
  if (p->here)
    ours = json_pack("{s:s, s:b, s:s, s:o}", "verdict", assay_reason_code(p->reason), "suspicious", p->suspicious,
                     "detail", p->detail, "time_ns", cli_json_real(p->time_ns));
  return cli_json_of("pair",
                     json_pack("{s:i, s:i, s:i, s:b, s:o, s:o}", "level", p->level, "problem", p->problem, "sample",
                               p->sample, "differ", kernelbench_differ(p), "kernelbench", theirs, "assay", ours));
}

static void print_json(const struct kernelbench_pair *pairs, int n) {
  json_t *array = json_array();
  for (int i = 0; i < n; i++)
    json_array_append_new(array, pair_json(&pairs[i]));
  cli_json_print(array);
}

static void print_table(const struct kernelbench_pair *pairs, int n) {
  static const char *const headers[] = {"task", "sample", "KernelBench", "its time", "Assay", "time", "what"};
  struct table *t = table_create(headers, 7, "lrlrlrl");
  const struct counts c = count(pairs, n);
  for (int i = 0; i < n && t; i++)
    if (kernelbench_differ(&pairs[i]))
      put_row(t, &pairs[i]);
  if (t && c.agree < c.both)
    table_print(t, stdout);
  table_destroy(t);
  printf("%d samples judged by both: %d agree, %d correct only for KernelBench, %d correct only for Assay", c.both,
         c.agree, c.too_good, c.too_bad);
  if (c.only_there || c.only_here)
    printf("; %d judged only by KernelBench, %d only by Assay", c.only_there, c.only_here);
  printf("\n");
}

enum assay_status score_compare(struct store *store, const char *run, int level, const char *path, bool json,
                                struct assay_error *err) {
  struct kernelbench_pair *pairs = NULL;
  int n = 0;
  enum assay_status status = kernelbench_compare(store, run, level, path, &pairs, &n, err);
  if (status)
    return status;
  if (json)
    print_json(pairs, n);
  else
    print_table(pairs, n);
  base_free(pairs);
  return ASSAY_OK;
}
