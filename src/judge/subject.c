// SPDX-License-Identifier: Apache-2.0
#include "judge/subject.h"

#include <math.h>

#include "judge/workbench.h"

void subject_init(struct subject *s, const struct subject_ops *ops, const struct subject_env *env) {
  s->ops = ops;
  s->env = *env;
  s->found.prepare_ns = NAN;
}

enum assay_status subject_bind(struct subject *s, const struct layout *l, struct runner_report *report,
                               struct assay_error *err) {
  if (s->bound == l)
    return ASSAY_OK;
  enum assay_status status = s->ops->bind(s, l, report, err);
  s->bound = status || report->event != RUNNER_OK ? NULL : l;
  return status;
}

void subject_turn(struct subject *s, enum turn_kind kind) {
  s->turn = kind;
  s->found.open_ns += workbench_turn(s->on, kind);
  s->turn_missed = s->turn_missed || (kind == TURN_ALONE && workbench_turn_missed(s->on));
}

enum assay_status subject_has_turn(const struct subject *s, struct assay_error *err) {
  if (!s->turn_missed)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT,
                   "other judges had the GPU for ten minutes, and this one has to be alone there; judge again");
}

void subject_rest(struct subject *s) {
  if (s->rests++ > 0 || s->turn == TURN_NONE || (s->ops->idle && !s->ops->idle(s)))
    return;
  s->rests_from = s->turn;
  subject_turn(s, TURN_NONE);
}

void subject_resume(struct subject *s) {
  if (--s->rests > 0 || s->rests_from == TURN_NONE)
    return;
  subject_turn(s, s->rests_from);
  s->rests_from = TURN_NONE;
}

void subject_give_way(struct subject *s) {
  if (s->turn != TURN_TOGETHER || !workbench_turn_is_wanted(s->on))
    return;
  subject_turn(s, TURN_NONE);
  subject_turn(s, TURN_TOGETHER);
}

bool subject_answers(const struct subject *s, const struct layout *l) {
  return s->ops->answers && s->ops->answers(s, l);
}

void subject_leave(struct subject *s) {
  if (s->ops->leave)
    s->ops->leave(s);
}
