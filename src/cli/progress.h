// SPDX-License-Identifier: Apache-2.0
// How far a command that takes long has come, on stderr.
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

// --progress. AUTO: a bar on a terminal, lines where $CI is set (logs of continuous integration), else nothing.
enum cli_progress { CLI_PROGRESS_AUTO, CLI_PROGRESS_BAR, CLI_PROGRESS_LINES, CLI_PROGRESS_NONE };

// One piece of work with `total` parts. Zero at first.
struct cli_meter {
  enum cli_progress form;
  int64_t began_ns, shown_ns; // 0: not yet
  int first;                  // what was done when it began: of an earlier run, say
};

// --progress as it was given, for cli_progress and cli_progress_clear (cli.h). AUTO there is a bar on a terminal, else
// nothing: one judgement fills no log.
void cli_progress_in(enum cli_progress form);

// Whether it is a bar here.
bool cli_progress_is_bar(enum cli_progress form);

// Shows that `done` parts are done and `what` is under way. A bar is drawn each time; a line at most every ten seconds.
void cli_meter_show(struct cli_meter *m, const char *what, int done, int total);

// "about 3 min left", of `done` parts since `first` in `elapsed_ns`; "" while nothing is known. Returns `text`, which
// has room for 48 bytes.
const char *cli_time_left(int64_t elapsed_ns, int first, int done, int total, char *text);

#endif
