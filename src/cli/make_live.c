// SPDX-License-Identifier: Apache-2.0
// What `assay make` shows while it works.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/printable.h"
#include "cli/make.h"

enum { MOST_ROWS = 12, OTHER_LINES = 2, USUAL_WIDTH = 80, USUAL_HEIGHT = 24, MOST_WIDTH = 200, BAR = 20 };

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

// A line no wider than the terminal: one that it wraps could not be drawn over.
static void put_line(struct buf *out, const char *text, int width, bool last) {
  char line[MOST_WIDTH * 4];
  printable_line(text, line, sizeof line);
  buf_printf(out, "\r%.*s\033[K%s", width - 1, line, last ? "" : "\n");
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

static void put_row(const struct make *m, int index, int width, struct buf *out) {
  const struct make_row *r = &m->live.rows[index];
  char line[512], best[32], cost[48];
  snprintf(cost, sizeof cost, isfinite(r->usd) ? "%.4f USD" : "%.0f calls",
           isfinite(r->usd) ? r->usd : (double)r->calls);
  snprintf(line, sizeof line, "%-24.24s %5lld  %-16.16s %11s  %-14s %s", m->engine.tasks[index].name,
           (long long)r->step, r->verdict[0] ? r->verdict : "-", cli_time_text(r->best_ns, best), cost, r->what);
  put_line(out, line, width, false);
}

static void put_foot(const struct make *m, const struct engine_progress *p, const char *cost, int width,
                     struct buf *out) {
  char bar[BAR + 1], line[512];
  for (int i = 0; i < BAR; i++)
    bar[i] = i * p->n_tasks < p->tasks_right * BAR ? '#' : '.';
  bar[BAR] = '\0';
  snprintf(line, sizeof line, "[%s] %d/%d right; %s, %lld calls, %lld tokens%s, %d under way", bar, p->tasks_right,
           p->n_tasks, m->engine.settings.method->name, (long long)p->calls, (long long)p->tokens, cost, p->under_way);
  put_line(out, line, width, true);
}

static void draw(struct make *m, const struct engine_progress *p, const char *cost) {
  struct buf out = {0};
  int width, height, lines = OTHER_LINES;
  measure(&width, &height);
  int most = height - OTHER_LINES - 1 < MOST_ROWS ? height - OTHER_LINES - 1 : MOST_ROWS;
  int64_t oldest = oldest_shown(m, most < 1 ? 1 : most);
  if (m->live.drawn > 1)
    buf_printf(&out, "\033[%dA", m->live.drawn - 1);
  put_line(&out, "task                      step  last verdict            best  cost so far", width, false);
  for (int i = 0; i < m->engine.n_tasks; i++)
    if (m->live.rows[i].changed >= oldest) {
      put_row(m, i, width, &out);
      lines++;
    }
  put_foot(m, p, cost, width, &out);
  buf_puts(&out, "\033[J");
  m->live.drawn = lines;
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
  if (isfinite(p->usd))
    snprintf(cost, sizeof cost, ", %.2f USD", p->usd);
  if (p->cut_prompts > 0)
    snprintf(cost + strlen(cost), sizeof cost - strlen(cost), ", %lld prompts cut by their server",
             (long long)p->cut_prompts);
  if (m->judging.progress == CLI_PROGRESS_NONE)
    return;
  if (!is_terminal() || m->judging.progress == CLI_PROGRESS_LINES) {
    if (p->finished)
      show_line(p, cost);
    return;
  }
  if (!m->live.rows && !(m->live.rows = base_calloc((size_t)m->engine.n_tasks + 1, sizeof *m->live.rows)))
    return;                                    // no memory for a table: nothing else depends on it
  if (m->interrupt.stop && !m->live.stopped) { // a message was printed: the table goes on below it
    m->live.stopped = true;
    m->live.drawn = 0;
  }
  note(m, p);
  draw(m, p, cost);
}

void make_live_end(struct make *m) {
  if (m->live.drawn > 1)
    fprintf(stderr, "\033[%dA", m->live.drawn - 1);
  if (m->live.drawn > 0)
    fputs("\r\033[J", stderr);
  fflush(stderr);
  m->live.drawn = 0;
  base_free(m->live.rows);
  m->live.rows = NULL;
}
