// SPDX-License-Identifier: Apache-2.0
// What `assay make` shows while it works.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/printable.h"
#include "cli/make.h"

enum { OTHER_LINES = 2, USUAL_WIDTH = 80, USUAL_HEIGHT = 24, MOST_WIDTH = 200, BAR = 20 };
enum { LEAST_NAME = 20, MOST_NAME = 32, OTHER_COLUMNS = 57 }; // of a row: of the task's name; all but that

// A line for each finished step, where there is no terminal to show a table on.
static void show_line(const struct engine_progress *p, const char *cost) {
  char task[256], best[32];
  fprintf(stderr, "%s step %lld: %s, best %s; %d of %d tasks right, %lld calls, %lld tokens%s\n",
          printable_line(p->task, task, sizeof task), (long long)p->step - 1, p->verdict,
          cli_time_text(p->best_ns, best), p->tasks_right, p->n_tasks, (long long)p->calls, (long long)p->tokens, cost);
}

static bool is_terminal(void) {
  const char *term = getenv("TERM");
  return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

static void measure(int *width, int *height) {
  struct winsize w = {0};
  ioctl(STDERR_FILENO, TIOCGWINSZ, &w);
  *width = w.ws_col ? w.ws_col : USUAL_WIDTH;
  *height = w.ws_row ? w.ws_row : USUAL_HEIGHT;
  *width = *width > MOST_WIDTH ? MOST_WIDTH : *width;
}

// The bytes of a text's first `most` characters, and how many characters these are.
static int fit(const char *text, int most, int *characters) {
  int n = 0, i = 0;
  for (; text[i] && n < most; n++)
    for (i++; ((unsigned char)text[i] & 0xc0) == 0x80;)
      i++;
  *characters = n;
  return i;
}

// A line no wider than the terminal: one that it wraps could not be drawn over. *length: its characters.
static void put_line(struct buf *out, const char *text, int width, bool last, int *length) {
  char line[MOST_WIDTH * 4];
  printable_line(text, line, sizeof line);
  int bytes = fit(line, width - 1, length);
  buf_printf(out, "\r%.*s\033[K%s", bytes, line, last ? "" : "\n");
}

// How many lines of the screen what was drawn takes now: it was wrapped where the terminal has become narrower.
static int lines_on_screen(const struct make_live *l, int width) {
  int lines = 0;
  for (int i = 0; i < l->drawn; i++)
    lines += l->lengths[i] > width ? (l->lengths[i] + width - 1) / width : 1;
  return lines;
}

// The report from which on a task is among the last `most` that were worked on.
static int64_t oldest_shown(const struct make *m, int most) {
  int64_t oldest = 1;
  for (int64_t since = m->live.reports; since > 0; since--) {
    int n = 0;
    for (int i = 0; i < m->engine.n_tasks; i++)
      n += m->live.rows[i].changed >= since;
    if (n > most)
      break;
    oldest = since;
  }
  return oldest;
}

// As wide as the longest name that is shown, where the others leave room for it.
static int name_width(const struct make *m, int64_t oldest, int width) {
  int most = 4, room = width - 1 - OTHER_COLUMNS;
  room = room < LEAST_NAME ? LEAST_NAME : room > MOST_NAME ? MOST_NAME : room;
  for (int i = 0; i < m->engine.n_tasks; i++) {
    int n = (int)strlen(m->engine.tasks[i].name);
    most = m->live.rows[i].changed >= oldest && n > most ? n : most;
  }
  return most < room ? most : room;
}

static void put_row(const struct make *m, int index, int name, char line[512]) {
  const struct make_row *r = &m->live.rows[index];
  const char *task = m->engine.tasks[index].name;
  char best[32], cost[48];
  if (strlen(task) > (size_t)name) // names differ at their end
    task += strlen(task) - (size_t)name;
  if (isfinite(r->usd))
    snprintf(cost, sizeof cost, "%.4f USD", r->usd);
  else
    snprintf(cost, sizeof cost, "%lld call%s", (long long)r->calls, r->calls == 1 ? "" : "s");
  snprintf(line, 512, "%-*.*s %5lld  %-17.17s %9s  %-11s %s", name, name, task, (long long)r->step,
           r->verdict[0] ? r->verdict : "-", cli_time_text(r->best_ns, best), cost, r->what);
}

// How long this process has been at it: "0:42", "1:02:03".
static void put_clock(int64_t ns, char text[32]) {
  long long s = (long long)(ns / 1000000000);
  if (s < 3600)
    snprintf(text, 32, "%lld:%02lld", s / 60, s % 60);
  else
    snprintf(text, 32, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

// The whole run. The bar has what room the words leave.
static void put_foot(const struct make *m, const struct engine_progress *p, const char *cost, int width,
                     char line[512]) {
  char words[400], bar[BAR + 4] = "", clock[32], waiting[48] = "";
  put_clock(clock_monotonic_ns() - m->live.start_ns, clock);
  if (p->waiting > 0)
    snprintf(waiting, sizeof waiting, " (%d wait%s: the server is busy)", p->waiting, p->waiting == 1 ? "s" : "");
  snprintf(words, sizeof words, "%d/%d right, %s; %s, %lld call%s, %lld tokens%s, %d under way%s", p->tasks_right,
           p->n_tasks, clock, m->engine.settings.method->name, (long long)p->calls, p->calls == 1 ? "" : "s",
           (long long)p->tokens, cost, p->under_way, waiting);
  int room = width - 1 - (int)strlen(words) - 3, n = room < BAR ? room : BAR;
  if (n >= 4) {
    bar[0] = '[';
    for (int i = 0; i < n; i++)
      bar[1 + i] = (int64_t)i * p->n_tasks < (int64_t)p->tasks_right * n ? '#' : '.';
    memcpy(bar + 1 + n, "] ", 3);
  }
  snprintf(line, 512, "%s%s", bar, words);
}

static void draw(struct make *m, const struct engine_progress *p, const char *cost) {
  struct make_live *l = &m->live;
  struct buf out = {0};
  char line[512];
  int width, height, n = 0;
  measure(&width, &height);
  int most = height - OTHER_LINES - 1 < MAKE_MOST_ROWS ? height - OTHER_LINES - 1 : MAKE_MOST_ROWS;
  int64_t oldest = oldest_shown(m, most < 1 ? 1 : most);
  int up = lines_on_screen(l, width) - 1, name = name_width(m, oldest, width);
  if (up > 0)
    buf_printf(&out, "\033[%dA", up < height ? up : height - 1);
  snprintf(line, sizeof line, "%-*s %5s  %-17s %9s  %-11s %s", name, "task", "step", "last verdict", "best",
           "cost so far", "now");
  put_line(&out, line, width, false, &l->lengths[n++]);
  for (int i = 0; i < m->engine.n_tasks && n < MAKE_MOST_LINES - 1; i++)
    if (l->rows[i].changed >= oldest) {
      put_row(m, i, name, line);
      put_line(&out, line, width, false, &l->lengths[n++]);
    }
  put_foot(m, p, cost, width, line);
  put_line(&out, line, width, true, &l->lengths[n++]);
  buf_puts(&out, "\033[J");
  l->drawn = n;
  if (!out.failed)
    fwrite(out.data, 1, out.len, stderr);
  fflush(stderr);
  buf_release(&out);
}

static void note(struct make *m, const struct engine_progress *p) {
  struct make_row *r = &m->live.rows[p->index];
  *r = (struct make_row){
      .changed = ++m->live.reports, .step = p->step, .calls = p->task_calls, .best_ns = p->best_ns, .usd = p->task_usd};
  snprintf(r->what, sizeof r->what, "%s", p->what);
  snprintf(r->verdict, sizeof r->verdict, "%s", p->verdict);
}

void make_show(void *arg, const struct engine_progress *p) {
  struct make *m = arg;
  char cost[96] = "";
  if (isfinite(p->usd) && p->calls > 0)
    snprintf(cost, sizeof cost, ", %.2f USD", p->usd);
  if (p->cut_prompts > 0)
    snprintf(cost + strlen(cost), sizeof cost - strlen(cost), ", %lld prompts cut by their server",
             (long long)p->cut_prompts);
  if (m->judging.progress == CLI_PROGRESS_NONE)
    return;
  if (!is_terminal() || m->judging.progress == CLI_PROGRESS_LINES) {
    if (p->index >= 0 && p->finished)
      show_line(p, cost);
    return;
  }
  if (!m->live.rows && !(m->live.rows = base_calloc((size_t)m->engine.n_tasks + 1, sizeof *m->live.rows)))
    return;                                    // no memory for a table: nothing else depends on it
  if (m->interrupt.stop && !m->live.stopped) { // a message was printed: the table goes on below it
    m->live.stopped = true;
    m->live.drawn = 0;
  }
  if (m->live.start_ns == 0)
    m->live.start_ns = clock_monotonic_ns();
  if (p->index >= 0)
    note(m, p);
  draw(m, p, cost);
}

void make_live_end(struct make *m) {
  int width, height;
  measure(&width, &height);
  int up = lines_on_screen(&m->live, width) - 1;
  if (up > 0)
    fprintf(stderr, "\033[%dA", up < height ? up : height - 1);
  if (m->live.drawn > 0)
    fputs("\r\033[J", stderr);
  fflush(stderr);
  m->live.drawn = 0;
  base_free(m->live.rows);
  m->live.rows = NULL;
}
