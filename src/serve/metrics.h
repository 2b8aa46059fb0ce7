// SPDX-License-Identifier: Apache-2.0
// Numbers for Prometheus (text format 0.0.4). Labels come from closed lists, never from a client's text.
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include <pthread.h>

#include "assay/verdict.h"
#include "base/buf.h"
#include "serve/route.h"
#include "serve/serve.h"

// The stages of a judgement, X(ID, name); a worker reports how long each took.
#define SERVE_STAGES(X) X(BUILD, "build") X(ORACLE, "oracle") X(CHECKS, "checks") X(TIMING, "timing") X(TOTAL, "total")
enum serve_stage {
#define STAGE_ID(id, name) STAGE_##id,
  SERVE_STAGES(STAGE_ID)
#undef STAGE_ID
      N_STAGES
};

#define COUNT_REASON(...) +1
enum { METRICS_REASONS = 0 ASSAY_REASONS(COUNT_REASON), METRICS_CODES = 24, METRICS_METHODS = 5, METRICS_BOUNDS = 10 };
#undef COUNT_REASON

struct metrics_histogram {
  int64_t below[METRICS_BOUNDS + 1];
  double sum;
};

struct metrics {
  pthread_mutex_t lock;
  int64_t requests[N_ROUTES][METRICS_METHODS][METRICS_CODES];
  int64_t finished[METRICS_REASONS], put_back;
  struct metrics_histogram stages[N_STAGES];
  double busy_seconds[SERVE_MOST_UNITS]; // of judgements that ended
};

void metrics_init(struct metrics *m);
void metrics_release(struct metrics *m);

void metrics_request(struct metrics *m, enum route route, const char *method, unsigned code);
void metrics_finished(struct metrics *m, const char *reason, const int64_t stages_ns[N_STAGES]);
void metrics_put_back(struct metrics *m);
void metrics_busy(struct metrics *m, int unit, int64_t ns);

// What the queue holds, of each device once.
struct metrics_device {
  const char *name;
  struct queue_count count;
};
void metrics_print(struct metrics *m, const struct serve_options *o, const struct metrics_device *devices, int n,
                   int64_t now_ns, struct buf *out);

#endif
