// SPDX-License-Identifier: Apache-2.0
// Private to src/cli: the parts of `assay make`. make.c has the run and what options mean together, make_judge.c judges
// kernels for the engine, make_print.c prints progress and results.
#ifndef CLI_MAKE_H
#define CLI_MAKE_H

#include <argp.h>
#include <jansson.h>

#include "cli/interrupt.h"
#include "cli/judging.h"
#include "method/engine.h"

enum { MAKE_MOST_TASKS = 1024, MAKE_MOST_MODELS = METHOD_MOST_MODELS };

// Of an endpoint, in addition to what the client knows.
struct make_endpoint {
  const char *key_variable, *key_file;
  char *secret, *refused, *fields; // heap
  json_t *given;                   // --field
};

// A task of the table on a terminal.
struct make_row {
  int64_t changed; // the how-many-eth report was the last of it; 0: none yet
  int64_t step, calls;
  char what[24], verdict[32];
  double best_ns, usd; // NaN: not known
};

// The table on a terminal, which is drawn again in its place.
enum { MAKE_MOST_ROWS = 12, MAKE_MOST_LINES = MAKE_MOST_ROWS + 2 };
struct make_live {
  struct make_row *rows; // of all tasks
  int64_t reports, start_ns;
  int drawn;                    // lines
  int lengths[MAKE_MOST_LINES]; // of these, in characters: a terminal that became narrower has wrapped them
  bool stopped;
};

struct make {
  struct cli_judging judging;
  const char *arguments[MAKE_MOST_TASKS];
  int n_arguments;
  const char *method, *form, *feedback, *run, *out;
  char prompts[4096];
  const char *model_names[MAKE_MOST_MODELS];
  struct model_endpoint endpoints[MAKE_MOST_MODELS];
  struct make_endpoint more[MAKE_MOST_MODELS];
  struct engine_model models[MAKE_MOST_MODELS];
  char prices_path[4096];
  struct model_prices prices;
  int n_names, n_endpoints; // once models and endpoints are paired, an endpoint for each model
  int n_given;              // endpoints, by the user
  int parallel;             // 0: the usual number
  bool dry_run, replay;
  bool hold_out;         // some of the exam is for the winners alone
  const char *final_run; // name of the winners' verdicts
  struct cli_interrupt interrupt;
  struct store *store;
  struct engine_options engine;
  struct model_client_options client;
  struct arena arena; // of tasks and names
  struct engine_task *tasks;
  struct make_live live;
};

// make_options.c: the command line; its input is the struct make.
extern const struct argp make_argp;

// make_settings.c. The run's name and that of its winners, where the user gave none. ASSAY_ERR_NOMEM.
enum assay_status make_name_run(struct make *m, struct assay_error *err);
// --out, or a folder next to the store that is named after the run. ASSAY_ERR_IO, ASSAY_ERR_NOMEM.
enum assay_status make_folder(struct make *m, struct assay_error *err);
// Stores what the run is begun with, and decides whether something is held out. ASSAY_ERR_USAGE: it was begun, and paid
// for, with other settings.
enum assay_status make_keep_settings(struct make *m, struct assay_error *err);

// make_models.c. Keys come from the environment or a file that only its owner reads; after this, no other process can
// look at this one. ASSAY_ERR_USAGE.
enum assay_status make_find_keys(struct make *m, struct assay_error *err);
void make_forget_keys(struct make *m);
// The fields that an endpoint does not take: as the store knows them, and back into it.
void make_recall_refused(struct make *m);
void make_keep_refused(struct make *m);
// The models' prices. ASSAY_ERR_USAGE where a budget in dollars needs one that is not known.
enum assay_status make_find_prices(struct make *m, struct assay_error *err);

// Before anything is asked and paid for: whether replies can be judged here, by the device's driver and a build of the
// prompt's example. ASSAY_ERR_ENVIRONMENT.
enum assay_status make_check_machine(struct make *m, struct assay_error *err);

// For the engine: `arg` is the struct make.
enum assay_status make_judge(void *arg, struct engine_candidate *c, struct assay_error *err);

// make_live.c: on a terminal a table of the tasks that were worked on last; else a line for each finished step, on
// stderr. make_live_end takes the table off.
void make_show(void *arg, const struct engine_progress *p);
void make_live_end(struct make *m);

// What would be asked first, of every task; what all of it may cost: --dry-run.
enum assay_status make_dry_run(struct make *m, struct assay_error *err);

// The summary as a table, or JSON. Returns the exit code: CLI_PASS when every task has a kernel that is right.
int make_print(const struct make *m, const struct engine_summary *s);

#endif
