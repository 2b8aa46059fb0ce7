// SPDX-License-Identifier: Apache-2.0
// Private to src/cli: the parts of `assay serve`. serve.c has the command line, serve_admit.c says what a submission
// means, serve_worker.c judges what is queued.
#ifndef CLI_SERVING_H
#define CLI_SERVING_H

#include <pthread.h>

#include "cli/judging.h"
#include "serve/serve.h"

enum { SERVE_VERSIONS = 256 };

struct serving {
  struct cli_judging judging;
  struct serve_options options;
  struct serve_unit units[SERVE_MOST_UNITS];
  const char *devices, *add_token, *run;
  int cpu_slots, builders; // builders: 0: as many as the device is best served with
  bool live;               // the site is made as verdicts come
  int64_t drain_ns;
  char machine[120], compilers[SERVE_VERSIONS]; // parts of what a verdict is identified by
  pthread_mutex_t lock;                         // of `judging` in admissions
  // Of a worker, which is started by the server: its unit.
  const char *worker, *worker_device;
  int worker_index;
  bool worker_ahead;
  int worker_turn; // a file whose lock is the device; -1: nobody else is there
};

// Takes the settings of a submission (serve/request.h), which were checked there, into the options of a judgement.
void serving_take_settings(struct cli_judging *j, const json_t *settings);

// serve_admit of serve.h; `arg` is a struct serving.
enum assay_status serving_admit(void *arg, const struct serve_candidate *c, struct serve_admission *out,
                                struct assay_error *err);
// Fills `machine` and `compilers`.
enum assay_status serving_find_machine(struct serving *a, struct assay_error *err);

// Judges jobs until standard input ends. Returns an exit code.
int serving_work(struct serving *a);

#endif
