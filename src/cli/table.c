#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "cli/cli.h"
#include "cli/table.h"

enum { MAX_COLUMNS = 16 };

struct table {
  int columns, rows, capacity;
  char align[MAX_COLUMNS];
  char **cells; // rows * columns; row 0 holds the headers
};

void table_row(struct table *t, const char *const *cells) {
  if (t->rows == t->capacity) {
    int capacity = t->capacity * 2 + 8;
    char **more = base_realloc(t->cells, (size_t)(capacity * t->columns) * sizeof *more);
    if (!more)
      return;
    t->cells = more;
    t->capacity = capacity;
  }
  for (int i = 0; i < t->columns; i++) {
    size_t n = strlen(cells[i]);
    char *cell = base_strndup(cells[i], n);
    t->cells[t->rows * t->columns + i] = cell;
    if (cell)
      printable_line(cells[i], cell, n + 1);
  }
  t->rows++;
}

struct table *table_create(const char *const *headers, int columns, const char *align) {
  struct table *t = base_calloc(1, sizeof *t);
  if (!t)
    return NULL;
  t->columns = columns < MAX_COLUMNS ? columns : MAX_COLUMNS;
  memcpy(t->align, align, (size_t)t->columns);
  table_row(t, headers);
  return t;
}

static int terminal_width(FILE *to) {
  struct winsize w;
  const char *columns = getenv("COLUMNS");
  if (!isatty(fileno(to)))
    return 1 << 20;
  if (columns && atoi(columns) > 20)
    return atoi(columns);
  return ioctl(fileno(to), TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 100;
}

void table_print(const struct table *t, FILE *to) {
  int width[MAX_COLUMNS] = {0}, room = terminal_width(to);
  for (int i = 0; i < t->rows * t->columns; i++) {
    int n = t->cells[i] ? (int)strlen(t->cells[i]) : 0;
    width[i % t->columns] = n > width[i % t->columns] ? n : width[i % t->columns];
  }
  for (int r = 0; r < t->rows; r++) {
    int used = 0;
    for (int c = 0; c < t->columns; c++) {
      const char *cell = t->cells[r * t->columns + c] ? t->cells[r * t->columns + c] : "";
      if (c == t->columns - 1) {
        int left = room - used > 8 ? room - used : 8;
        fprintf(to, "%.*s\n", left, cell);
        break;
      }
      fprintf(to, t->align[c] == 'r' ? "%*s  " : "%-*s  ", width[c], cell);
      used += width[c] + 2;
    }
  }
}

void table_destroy(struct table *t) {
  if (!t)
    return;
  for (int i = 0; i < t->rows * t->columns; i++)
    base_free(t->cells[i]);
  base_free(t->cells);
  base_free(t);
}

const char *cli_time_text(double ns, char *text) {
  if (isnan(ns))
    snprintf(text, 32, "-");
  else if (ns < 1e3)
    snprintf(text, 32, "%.0f ns", ns);
  else if (ns < 1e6)
    snprintf(text, 32, "%.2f us", ns / 1e3);
  else if (ns < 1e9)
    snprintf(text, 32, "%.3f ms", ns / 1e6);
  else
    snprintf(text, 32, "%.3f s", ns / 1e9);
  return text;
}

const char *cli_count_text(double n, const char *unit, char *text) {
  static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
  int i = 0;
  for (; i < 5 && n >= 1000; i++)
    n /= 1000;
  snprintf(text, 32, i && n < 100 ? "%.2f %s%s" : "%.0f %s%s", n, prefixes[i], unit);
  return text;
}

void cli_progress(const char *what, int done, int total) {
  enum { BAR = 24 };
  if (!isatty(STDERR_FILENO) || total <= 0)
    return;
  char bar[BAR + 1], line[128];
  for (int i = 0; i < BAR; i++)
    bar[i] = i * total < done * BAR ? '#' : '.';
  bar[BAR] = '\0';
  fprintf(stderr, "\r[%s] %d/%d %-40.40s\033[K", bar, done, total, printable_line(what, line, sizeof line));
  fflush(stderr);
}

void cli_progress_clear(void) {
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r\033[K");
}
