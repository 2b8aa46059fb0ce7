// SPDX-License-Identifier: Apache-2.0
#include "score/row.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *code, *text;
} reasons[] = {
#define SCORE_REASON_ROW(id, code, text) {code, text},
    SCORE_REASONS(SCORE_REASON_ROW)
#undef SCORE_REASON_ROW
};

const char *score_reason_code(enum score_reason r) {
  return reasons[r].code;
}

const char *score_reason_text(enum score_reason r) {
  return reasons[r].text;
}

// A kind of device without a name ("cuda") is any device of the kind.
static bool same_device(const char *a, const char *b) {
  const char *space_a = strchr(a, ' '), *space_b = strchr(b, ' ');
  if (space_a && space_b)
    return strcmp(a, b) == 0;
  size_t kind_a = strcspn(a, " "), kind_b = strcspn(b, " ");
  return kind_a == 0 || kind_b == 0 || (kind_a == kind_b && strncmp(a, b, kind_a) == 0);
}

static bool same_if_asked(const char *asked, const char *is) {
  return !asked || strcmp(asked, is) == 0;
}

// Verdicts of older versions do not say which rule and which judge.
static bool same_if_known(const char *asked, const char *is) {
  return !asked || !asked[0] || !is[0] || strcmp(asked, is) == 0;
}

// Where the row was judged elsewhere than is asked.
static enum score_reason elsewhere(const struct score_setting *is, const struct score_setting *at) {
  if (at->device && !same_device(at->device, is->device))
    return SCORE_OTHER_DEVICE;
  if (!same_if_asked(at->workload, is->workload))
    return SCORE_OTHER_WORKLOAD;
  if (!same_if_asked(at->form, is->form))
    return SCORE_OTHER_FORM;
  if (!same_if_asked(at->contract, is->contract))
    return SCORE_OTHER_CONTRACT;
  if (!same_if_known(at->rule, is->rule))
    return SCORE_OTHER_RULE;
  return same_if_known(at->judge, is->judge) ? SCORE_ELIGIBLE : SCORE_OTHER_JUDGE;
}

static enum score_reason wrong(const struct score_row *r) {
  if (!r->judged || r->reason == ASSAY_REASON_JUDGE_FAILED)
    return SCORE_NOT_JUDGED;
  if (r->cheat[0])
    return SCORE_CHEAT;
  if (r->reason != ASSAY_REASON_PASS)
    return assay_reason_is_of_build(r->reason) ? SCORE_NOT_BUILT : SCORE_NOT_RIGHT;
  if (r->narrow)
    return SCORE_JUDGED_SHAPE_ONLY;
  return r->suspicious ? SCORE_SUSPICIOUS : SCORE_ELIGIBLE;
}

static enum score_reason without_time(const struct score_row *r, const struct score_question *q) {
  if (r->foreknown)
    return SCORE_FOREKNOWN;
  if (r->unranked_device)
    return SCORE_UNRANKED_DEVICE;
  if (!(isfinite(r->time_ns) && r->time_ns > 0))
    return SCORE_NO_TIME;
  return r->unstable && q->stable_only ? SCORE_UNSTABLE : SCORE_ELIGIBLE;
}

enum score_reason score_eligible(const struct score_row *row, const struct score_question *q) {
  enum score_reason why = elsewhere(&row->setting, &q->at);
  if (!why && row->replaced && q->newest_only)
    why = SCORE_REPLACED;
  if (!why)
    why = wrong(row);
  if (!why && row->process && q->plans_only)
    why = SCORE_AS_PROCESS;
  if (!why && q->ask != SCORE_ASK_RIGHT)
    why = without_time(row, q);
  if (!why && q->ask == SCORE_ASK_FLOOR && !(isfinite(row->floor_ns) && row->floor_ns > 0))
    why = SCORE_NO_FLOOR;
  if (!why && q->ask == SCORE_ASK_SPEED) {
    const struct score_baseline *b = score_baseline_of(row, q->baseline);
    why = b && isfinite(b->speedup) && b->speedup > 0 ? SCORE_ELIGIBLE : SCORE_NO_BASELINE;
  }
  return why;
}

bool score_is_right(const struct score_row *row) {
  static const struct score_question right = {.ask = SCORE_ASK_RIGHT};
  return score_eligible(row, &right) == SCORE_ELIGIBLE;
}

const struct score_baseline *score_baseline_of(const struct score_row *row, const char *name) {
  const struct score_baseline *found = NULL;
  for (int i = 0; i < row->n_baselines && name; i++)
    if (strcmp(row->baselines[i].name, name) == 0 && (!found || !isnan(row->baselines[i].speedup)))
      found = &row->baselines[i];
  return found;
}

bool score_same_setting(const struct score_setting *a, const struct score_setting *b) {
  return elsewhere(a, b) == SCORE_ELIGIBLE;
}

void score_names(const char *task, int *suite, int *level) {
  const char *first = strchr(task, '/'), *last = strrchr(task, '/');
  *suite = (int)(first ? first - task : (long)strlen(task));
  *level = (int)(last ? last - task : (long)strlen(task));
}

int score_by_name(const char *a, const char *b) {
  // Names that are sorted begin alike: where they differ, or the number in which they do, is what is looked at.
  size_t same = 0;
  while (a[same] && a[same] == b[same])
    same++;
  if (!a[same] && !b[same])
    return 0;
  while (same > 0 && isdigit((unsigned char)a[same - 1]))
    same--;
  a += same;
  b += same;
  while (*a && *b) {
    if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
      char *after_a, *after_b;
      unsigned long m = strtoul(a, &after_a, 10), n = strtoul(b, &after_b, 10);
      if (m != n)
        return m < n ? -1 : 1;
      a = after_a;
      b = after_b;
    } else if (*a != *b) {
      break;
    } else {
      a++;
      b++;
    }
  }
  return (unsigned char)*a - (unsigned char)*b;
}

double score_resolution(const char *device) {
  return strncmp(device, "cuda", 4) == 0 && (!device[4] || device[4] == ' ') ? 0.01 : 0.1;
}
