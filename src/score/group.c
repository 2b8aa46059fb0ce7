// SPDX-License-Identifier: Apache-2.0
#include "score/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const char *const codes[] = {
#define SCORE_BY_CODE(id, code, field) code,
    SCORE_GROUPINGS(SCORE_BY_CODE)
#undef SCORE_BY_CODE
};

const char *score_by_code(enum score_by by) {
  return codes[by];
}

const char *score_key(const struct score_row *row, enum score_by by) {
  switch (by) {
#define SCORE_BY_KEY(id, code, field)                                                                                  \
  case SCORE_BY_##id:                                                                                                  \
    return row->field;
    SCORE_GROUPINGS(SCORE_BY_KEY)
#undef SCORE_BY_KEY
  case SCORE_N_BY:
    break;
  }
  return "";
}

static int by_row(const struct score_row *a, const struct score_row *b) {
  int order = score_by_name(a->task, b->task);
  if (!order)
    order = strcmp(a->candidate, b->candidate);
  return order ? order : (a->id > b->id) - (a->id < b->id);
}

// One comparison for each grouping: qsort has no argument for it.
#define SCORE_BY_ORDER(ID, code, field)                                                                                \
  static int by_##ID(const void *x, const void *y) {                                                                   \
    const struct score_row *const *a = x, *const *b = y;                                                               \
    int order = score_by_name((*a)->field, (*b)->field);                                                               \
    return order ? order : by_row(*a, *b);                                                                             \
  }
SCORE_GROUPINGS(SCORE_BY_ORDER)
#undef SCORE_BY_ORDER

static int (*const orders[])(const void *, const void *) = {
#define SCORE_BY_FUNCTION(ID, code, field) by_##ID,
    SCORE_GROUPINGS(SCORE_BY_FUNCTION)
#undef SCORE_BY_FUNCTION
};

// The level, then what settings have, the device last.
static int compare_settings(const struct score_row *a, const struct score_row *b) {
  const struct score_setting *s = &a->setting, *t = &b->setting;
  const char *const left[] = {s->workload, s->form, s->contract, s->rule, s->judge, s->device};
  const char *const right[] = {t->workload, t->form, t->contract, t->rule, t->judge, t->device};
  int order = score_by_name(a->level, b->level);
  for (size_t i = 0; i < sizeof left / sizeof *left && !order; i++)
    order = strcmp(left[i], right[i]);
  return order;
}

static int by_setting(const void *x, const void *y) {
  const struct score_row *const *a = x, *const *b = y;
  int order = compare_settings(*a, *b);
  return order ? order : by_row(*a, *b);
}

enum assay_status score_group(const struct score_row **rows, int n, enum score_by by, struct score_group **out,
                              int *count, struct assay_error *err) {
  struct score_group *groups = base_calloc((size_t)n + 1, sizeof *groups);
  int made = 0;
  if (!groups)
    return error_nomem(err, "groups of rows");
  if (n > 0)
    qsort(rows, (size_t)n, sizeof *rows, orders[by]);
  for (int i = 0; i < n; i++) {
    const char *key = score_key(rows[i], by);
    if (made == 0 || strcmp(groups[made - 1].key, key) != 0)
      groups[made++] = (struct score_group){key, rows + i, 0};
    groups[made - 1].n++;
  }
  *out = groups;
  *count = made;
  return ASSAY_OK;
}

static int how_much(const struct score_setting *s) {
  return (strchr(s->device, ' ') != NULL) + (s->rule[0] != 0) + (s->judge[0] != 0);
}

// The group that one which does not know all of its setting belongs to: the one that knows most of those that it may
// belong to, unless these contradict each other. Itself: none.
static int home_of(const struct score_group *groups, int n, int at) {
  enum { KNOWS_ALL = 3 };
  const struct score_row *r = groups[at].rows[0];
  int found = at, most = how_much(&r->setting);
  for (int i = 0; i < n && how_much(&r->setting) < KNOWS_ALL; i++) {
    const struct score_setting *s = &groups[i].rows[0]->setting;
    if (how_much(s) <= how_much(&r->setting) || strcmp(r->level, groups[i].rows[0]->level) != 0 ||
        !score_same_setting(&r->setting, s))
      continue;
    if (found != at && !score_same_setting(&groups[found].rows[0]->setting, s))
      return at;
    if (how_much(s) > most) {
      most = how_much(s);
      found = i;
    }
  }
  return found;
}

// Puts the rows of each group without a home of its own into the one that it belongs to. `room` has room for all rows.
static int bring_home(struct score_group *groups, int n, const struct score_row **rows, const struct score_row **room,
                      int *homes) {
  int kept = 0, used = 0;
  for (int i = 0; i < n; i++)
    homes[i] = home_of(groups, n, i);
  for (int i = 0; i < n; i++) {
    if (homes[i] != i && homes[homes[i]] == homes[i])
      continue;
    struct score_group g = {groups[i].key, rows + used, 0};
    for (int k = 0; k < n; k++)
      if (k == i || (homes[k] == i && homes[i] == i)) {
        memcpy(room + used + g.n, groups[k].rows, (size_t)groups[k].n * sizeof *room);
        g.n += groups[k].n;
      }
    qsort(room + used, (size_t)g.n, sizeof *room, by_TASK);
    used += g.n;
    groups[n + kept++] = g;
  }
  for (int i = 0; i < used; i++)
    rows[i] = room[i];
  memmove(groups, groups + n, (size_t)kept * sizeof *groups);
  return kept;
}

enum assay_status score_group_settings(const struct score_row **rows, int n, struct score_group **out, int *count,
                                       struct assay_error *err) {
  struct score_group *groups = base_calloc(2 * (size_t)n + 1, sizeof *groups);
  const struct score_row **room = base_calloc((size_t)n + 1, sizeof *room);
  int *homes = base_calloc((size_t)n + 1, sizeof *homes), made = 0;
  if (!groups || !room || !homes) {
    base_free(groups);
    base_free(room);
    base_free(homes);
    return error_nomem(err, "groups of rows");
  }
  if (n > 0)
    qsort(rows, (size_t)n, sizeof *rows, by_setting);
  for (int i = 0; i < n; i++) {
    if (i == 0 || compare_settings(rows[i - 1], rows[i]) != 0)
      groups[made++] = (struct score_group){rows[i]->level, rows + i, 0};
    groups[made - 1].n++;
  }
  *count = bring_home(groups, made, rows, room, homes);
  *out = groups;
  base_free(room);
  base_free(homes);
  return ASSAY_OK;
}
