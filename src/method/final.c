// SPDX-License-Identifier: Apache-2.0
// Winners, judged once more. What a method was told is no longer hidden from it, and the fastest of many times is
// lucky: the verdict that counts comes of fresh entropy, more questions and a time of its own, once for each winner.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "method/making.h"

struct finding {
  int64_t number, verdict;
};

static bool find(void *arg, const struct store_step *s) {
  struct finding *f = arg;
  if (s->number == f->number)
    f->verdict = s->verdict;
  return true;
}

// The step of a winner's last verdict has a number of its own, below all others.
static int64_t final_number(int64_t best) {
  return -1 - best;
}

static enum assay_status judge_winner(struct engine *e, struct making *m, int64_t best, int64_t *verdict,
                                      struct assay_error *err) {
  char path[4096];
  const struct made_step *s = &m->steps[best];
  struct step_text text;
  struct engine_candidate c = {.task = m->task, .file = path, .final = true, .same_as = -1};
  judging_path(e, m, s->number, path, sizeof path);
  enum assay_status status = making_text(e, m, best, &text, err);
  if (!status)
    status = file_write(path, text.code, strlen(text.code), err);
  step_text_release(&text);
  if (!status)
    status = e->o->judge(e->o->judge_arg, &c, err);
  if (status)
    return status;
  *verdict = c.verdict;
  const struct store_step row = {.outcome = STORE_FINAL,
                                 .run = e->o->run,
                                 .task = m->task->name,
                                 .kind = "final",
                                 .model = "",
                                 .finish = "",
                                 .detail = "",
                                 .code_hash = s->hash ? s->hash : "",
                                 .feedback = "",
                                 .number = final_number(best),
                                 .parent = best,
                                 .lane = s->lane,
                                 .same_as = best,
                                 .verdict = c.verdict,
                                 .cached_tokens = -1,
                                 .reasoning_tokens = -1,
                                 .build_ns = c.build_ns,
                                 .judge_ns = c.judge_ns,
                                 .cpu_ns = c.cpu_ns,
                                 .gpu_ns = c.gpu_ns,
                                 .at_ns = clock_wall_ns()};
  return store_put_step(e->o->store, &row, err);
}

enum assay_status final_judge(struct engine *e, struct making *m, struct engine_result *r, struct assay_error *err) {
  struct finding f = {.number = final_number(r->best)};
  enum assay_status status = store_get_step(e->o->store, e->o->run, m->task->name, f.number, find, &f, err);
  if (!status && f.verdict == 0)
    status = judge_winner(e, m, r->best, &f.verdict, err);
  struct made_step seen = {.time_ns = NAN};
  if (!status)
    status = judging_read(e, f.verdict, &seen, NULL, err);
  made_step_release(&seen);
  if (status)
    return status;
  r->final = f.verdict;
  r->final_right = seen.right;
  r->final_ns = seen.time_ns;
  return ASSAY_OK;
}
