// SPDX-License-Identifier: Apache-2.0
// Which verdicts a newer one of the same kernel replaces.
#include "score/newest.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

const char *score_file_of(const char *candidate) {
  const char *twin = strstr(candidate, " -D"), *name = candidate;
  for (const char *c = candidate; *c && c != twin; c++)
    name = *c == '/' ? c + 1 : name;
  return name;
}

static int compare_ages(const struct score_row *a, const struct score_row *b) {
  if (a->at_ns != b->at_ns)
    return a->at_ns < b->at_ns ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static int by_path(const void *x, const void *y) {
  const struct score_row *const *a = x, *const *b = y;
  int order = strcmp((*a)->candidate, (*b)->candidate);
  return order ? order : compare_ages(*a, *b);
}

static int by_content(const void *x, const void *y) {
  const struct score_row *const *a = x, *const *b = y;
  int order = strcmp((*a)->candidate_hash, (*b)->candidate_hash);
  if (!order)
    order = strcmp(score_file_of((*a)->candidate), score_file_of((*b)->candidate));
  return order ? order : compare_ages(*a, *b);
}

// A path from the root says too little: runs of several machines may stand in one store.
static bool is_one_file(const struct score_row *a, const struct score_row *b) {
  return a->candidate[0] != '/' && score_file_of(a->candidate) != a->candidate &&
         strcmp(a->candidate, b->candidate) == 0;
}

static bool is_one_text(const struct score_row *a, const struct score_row *b) {
  return a->candidate_hash[0] && strcmp(a->candidate_hash, b->candidate_hash) == 0 &&
         strcmp(score_file_of(a->candidate), score_file_of(b->candidate)) == 0;
}

bool score_same_kernel(const struct score_row *a, const struct score_row *b) {
  return !a->method[0] && !b->method[0] && (is_one_file(a, b) || is_one_text(a, b));
}

static enum score_reason why_not(const struct score_row *r) {
  static const struct score_question timed = {.ask = SCORE_ASK_TIME};
  return score_eligible(r, &timed);
}

// Right, and without a place in a ranking: no time, known draws, the judged shape alone. That is nothing against a time
// that ranks.
static bool ranks_nothing(const struct score_row *r) {
  const enum score_reason why = why_not(r);
  return why == SCORE_NO_TIME || why == SCORE_FOREKNOWN || why == SCORE_JUDGED_SHAPE_ONLY;
}

// Runs of the newer verdicts of one kernel: the newest one's, and whether there are others.
struct newer {
  const char *run;
  bool several;
};

static bool has_other(const struct newer *n, const char *run) {
  return n->several || (n->run && strcmp(n->run, run) != 0);
}

static void add(struct newer *n, const char *run) {
  n->several = has_other(n, run);
  n->run = n->run ? n->run : run;
}

// Marks those of the sorted rows that have a newer one of another run among the rows after them that are alike.
static void mark(struct score_row **sorted, int n, bool (*alike)(const struct score_row *, const struct score_row *)) {
  struct newer all = {0}, settled = {0};
  for (int i = n - 1; i >= 0; i--) {
    struct score_row *row = sorted[i];
    if (i == n - 1 || !alike(row, sorted[i + 1]))
      all = settled = (struct newer){0};
    row->replaced = row->replaced || has_other(why_not(row) ? &all : &settled, row->run);
    add(&all, row->run);
    if (!ranks_nothing(row))
      add(&settled, row->run);
  }
}

enum assay_status score_mark_replaced(struct score_row *const *rows, int n, struct assay_error *err) {
  struct score_row **sorted = base_calloc((size_t)n + 1, sizeof *sorted);
  int count = 0;
  if (!sorted)
    return error_nomem(err, "the newest verdicts");
  for (int i = 0; i < n; i++) {
    rows[i]->replaced = false;
    if (rows[i]->judged && !rows[i]->method[0])
      sorted[count++] = rows[i];
  }
  if (count > 0) {
    qsort(sorted, (size_t)count, sizeof *sorted, by_path);
    mark(sorted, count, is_one_file);
    qsort(sorted, (size_t)count, sizeof *sorted, by_content);
    mark(sorted, count, is_one_text);
  }
  base_free(sorted);
  return ASSAY_OK;
}
