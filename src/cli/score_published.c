// SPDX-License-Identifier: Apache-2.0
// assay score RUN... --published: what the suite's own rule would have said of the same outputs, next to the verdicts.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/score.h"
#include "cli/table.h"
#include "report/view.h"

enum { MOST_LEVELS = 64, LEVEL = 128 };

// A level of a task's name: "kernelbenchx/Math".
struct level {
  char name[LEVEL];
  int asked, right, published, only_right, only_published; // of the verdicts with outputs that could be compared
  int without;                                             // verdicts that never had any
};

struct sides {
  struct level levels[MOST_LEVELS + 1]; // the last one: all
  int n;
  struct table *differing;
  json_t *list; // NULL: tables
  enum assay_status status;
  struct assay_error *err;
};

static struct level *level_of(struct sides *s, const char *task) {
  const char *slash = strrchr(task, '/');
  int length = slash ? (int)(slash - task) : (int)strlen(task), i = 0;
  while (i < s->n && ((int)strlen(s->levels[i].name) != length || memcmp(s->levels[i].name, task, (size_t)length) != 0))
    i++;
  if (i == s->n && s->n < MOST_LEVELS)
    snprintf(s->levels[s->n++].name, LEVEL, "%.*s", length, task);
  return &s->levels[i < s->n ? i : MOST_LEVELS - 1];
}

static void count(struct level *l, bool compared, bool right, bool published) {
  l->without += !compared;
  l->asked += compared;
  l->right += compared && right;
  l->published += compared && published;
  l->only_right += compared && right && !published;
  l->only_published += compared && !right && published;
}

static void put_verdict(struct sides *s, const struct verdict_view *v, bool published) {
  char error[48];
  snprintf(error, sizeof error, "%.3g/%.3g", v->stored.error_z, v->stored.error_limit);
  if (s->differing)
    table_row(s->differing,
              (const char *const[]){v->stored.task, v->stored.candidate, v->stored.workload,
                                    assay_reason_code(v->stored.reason), error, published ? "pass" : "wrong"});
}

// The published rule has a side where the outputs of declared draws were compared, whatever came of it.
static bool take_verdict(void *arg, const struct store_verdict *stored) {
  struct sides *s = arg;
  struct verdict_view v;
  s->status = view_from_store(stored, &v, s->err);
  if (s->status)
    return false;
  bool compared = v.n_declared > 0, right = view_is_right(&v), published = compared && v.n_allclose_bad == 0;
  count(level_of(s, stored->task), compared, right, published);
  count(&s->levels[MOST_LEVELS], compared, right, published);
  if (compared && right != published)
    put_verdict(s, &v, published);
  if (s->list)
    json_array_append_new(
        s->list, cli_json_of("published", json_pack("{s:s, s:s, s:s, s:s, s:b, s:o}", "task", stored->task, "candidate",
                                                    stored->candidate, "workload", stored->workload, "verdict",
                                                    assay_reason_code(stored->reason), "right", right, "published",
                                                    compared ? json_boolean(published) : json_null())));
  view_release(&v);
  return true;
}

static void put_level(struct table *t, const struct level *l, const char *name) {
  char cells[6][16];
  const int numbers[6] = {l->asked, l->right, l->published, l->only_right, l->only_published, l->without};
  for (int i = 0; i < 6; i++)
    snprintf(cells[i], sizeof cells[i], "%d", numbers[i]);
  table_row(t, (const char *const[]){name, cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]});
}

static void print_tables(const struct sides *s) {
  static const char *const headers[] = {"level",      "compared",       "Assay",     "published",
                                        "only Assay", "only published", "no outputs"};
  struct table *t = table_create(headers, 7, "lrrrrrr");
  const struct level *all = &s->levels[MOST_LEVELS];
  for (int i = 0; i < s->n && t; i++)
    put_level(t, &s->levels[i], s->levels[i].name);
  if (t && s->n > 1)
    put_level(t, all, "all");
  if (t)
    table_print(t, stdout);
  table_destroy(t);
  if (all->only_right + all->only_published > 0) {
    printf("\nwhere they differ:\n");
    table_print(s->differing, stdout);
  }
}

enum assay_status score_published(struct store *store, char *const *runs, int n, bool as_json,
                                  struct assay_error *err) {
  static const char *const headers[] = {"task", "candidate", "workload", "verdict", "error/allowed", "published rule"};
  struct sides *s = base_calloc(1, sizeof *s);
  if (!s)
    return error_nomem(err, "a comparison of rules");
  s->err = err;
  s->list = as_json ? json_array() : NULL;
  s->differing = as_json ? NULL : table_create(headers, 6, "llllrl");
  enum assay_status status = as_json || s->differing ? ASSAY_OK : error_nomem(err, "a table");
  for (int i = 0; i < n && !status; i++) {
    status = store_each(store, runs[i], take_verdict, s, err);
    status = status ? status : s->status;
  }
  if (!status && s->n == 0)
    status = store_no_run(store, runs[0], err);
  if (!status && as_json)
    cli_json_print(s->list);
  else if (!status)
    print_tables(s);
  if (status || !as_json)
    json_decref(s->list);
  table_destroy(s->differing);
  base_free(s);
  return status;
}
