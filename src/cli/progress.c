// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"
#include "cli/cells.h"
#include "cli/cli.h"

enum { BAR = 24, SECONDS_BETWEEN_LINES = 10 };

const char *cli_time_left(int64_t elapsed_ns, int first, int done, int total, char *text) {
  double seconds = (double)elapsed_ns / 1e9;
  text[0] = '\0';
  if (done <= first || done >= total || seconds < 1)
    return text;
  double left = seconds / (done - first) * (total - done);
  if (left < 90)
    snprintf(text, 48, "about %.0f s left", left);
  else if (left < 90 * 60)
    snprintf(text, 48, "about %.0f min left", left / 60);
  else
    snprintf(text, 48, "about %.1f h left", left / 3600);
  return text;
}

static enum cli_progress form_of_output(enum cli_progress asked) {
  const char *ci = getenv("CI"), *term = getenv("TERM");
  if (asked != CLI_PROGRESS_AUTO)
    return asked;
  if (isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0))
    return CLI_PROGRESS_BAR;
  return ci && ci[0] && strcmp(ci, "false") != 0 ? CLI_PROGRESS_LINES : CLI_PROGRESS_NONE;
}

bool cli_progress_is_bar(enum cli_progress form) {
  return form_of_output(form) == CLI_PROGRESS_BAR;
}

// A line no wider than the terminal: one that it wraps could not be drawn over.
static void draw_bar(const char *what, const char *left, int done, int total) {
  char bar[BAR + 1], line[512], name[256];
  int room = cells_of_terminal(stderr);
  for (int i = 0; i < BAR; i++)
    bar[i] = i * total < done * BAR ? '#' : '.';
  bar[BAR] = '\0';
  snprintf(line, sizeof line, "[%s] %d/%d %s%s%s", bar, done, total, left, left[0] ? ", " : "",
           printable_line(what, name, sizeof name));
  fprintf(stderr, "\r%.*s\033[K", (int)cells_fit(line, room > 1 ? room - 1 : 79, NULL), line);
  fflush(stderr);
}

void cli_meter_show(struct cli_meter *m, const char *what, int done, int total) {
  int64_t now = clock_monotonic_ns();
  enum cli_progress form = form_of_output(m->form);
  char left[48], name[256];
  if (form == CLI_PROGRESS_NONE || total <= 0)
    return;
  if (!m->began_ns) {
    m->began_ns = now;
    m->first = done;
  }
  cli_time_left(now - m->began_ns, m->first, done, total, left);
  if (form == CLI_PROGRESS_BAR) {
    draw_bar(what, left, done, total);
    return;
  }
  if (m->shown_ns && now - m->shown_ns < (int64_t)SECONDS_BETWEEN_LINES * 1000000000)
    return;
  m->shown_ns = now;
  fprintf(stderr, "assay: %d of %d done%s%s; %s\n", done, total, left[0] ? ", " : "", left,
          printable_line(what, name, sizeof name));
  fflush(stderr);
}

static struct cli_meter stages; // of cli_progress

void cli_progress_in(enum cli_progress form) {
  stages.form = form;
}

void cli_progress(const char *what, int done, int total) {
  enum cli_progress form = form_of_output(stages.form);
  if (total > 0 && form == CLI_PROGRESS_LINES)
    cli_meter_show(&stages, what, done, total);
  else if (total > 0 && form == CLI_PROGRESS_BAR)
    draw_bar(what, "", done, total);
}

void cli_progress_clear(void) {
  if (cli_progress_is_bar(stages.form))
    fprintf(stderr, "\r\033[K");
  stages = (struct cli_meter){.form = stages.form};
}
