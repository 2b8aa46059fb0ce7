// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/printable.h"

enum { MAX_COLUMNS = 16, INDENT = 4, LEAST_CELLS = 8 };

struct fold {
  int column;
  char label[32], usual[16];
};

struct table {
  int columns, rows, capacity, n_folds;
  bool chosen; // the folds are table_fold's
  char align[MAX_COLUMNS];
  struct fold folds[MAX_COLUMNS];
  char **cells;          // rows * columns; row 0 holds the headers
  unsigned char *styles; // the same
  char **notes;          // one a row, or NULL
  enum cli_color color;
};

// How it is laid out for a room.
struct layout {
  int width[MAX_COLUMNS], n_folded, room;
  bool folded[MAX_COLUMNS], color;
};

static bool grow(struct table *t) {
  int capacity = t->capacity * 2 + 8;
  size_t n = (size_t)(capacity * t->columns);
  char **cells = base_realloc(t->cells, n * sizeof *cells);
  t->cells = cells ? cells : t->cells;
  unsigned char *styles = base_realloc(t->styles, n);
  t->styles = styles ? styles : t->styles;
  char **notes = base_realloc(t->notes, (size_t)capacity * sizeof *notes);
  t->notes = notes ? notes : t->notes;
  if (!cells || !styles || !notes)
    return false;
  t->capacity = capacity;
  return true;
}

static bool can_fold(const struct table *t, int column) {
  for (int i = 0; i < t->n_folds; i++)
    if (t->folds[i].column == column)
      return true;
  return false;
}

// A copy that can go to a terminal; `lines` stay lines. NULL without memory.
static char *copy(const char *text, bool lines) {
  size_t n = strlen(text);
  char *out = base_strndup(text, n);
  if (out && lines)
    printable(out);
  else if (out)
    printable_line(text, out, n + 1);
  return out;
}

void table_row(struct table *t, const char *const *cells) {
  if (t->rows == t->capacity && !grow(t))
    return;
  for (int i = 0; i < t->columns; i++) {
    t->cells[t->rows * t->columns + i] = copy(cells[i], can_fold(t, i));
    t->styles[t->rows * t->columns + i] = TABLE_PLAIN;
  }
  t->notes[t->rows++] = NULL;
}

static void add_fold(struct table *t, int column, const char *label, const char *usual) {
  struct fold *f = &t->folds[t->n_folds++];
  f->column = column;
  snprintf(f->label, sizeof f->label, "%s", label);
  snprintf(f->usual, sizeof f->usual, "%s", usual);
}

struct table *table_create(const char *const *headers, int columns, const char *align) {
  struct table *t = base_calloc(1, sizeof *t);
  if (!t)
    return NULL;
  t->columns = columns < MAX_COLUMNS ? columns : MAX_COLUMNS;
  memcpy(t->align, align, (size_t)t->columns);
  table_row(t, headers);
  for (int c = t->columns - 1; c > 0; c--)
    add_fold(t, c, headers[c], "");
  return t;
}

void table_fold(struct table *t, int column, const char *label, const char *usual) {
  if (!t->chosen)
    t->n_folds = 0;
  t->chosen = true;
  add_fold(t, column, label, usual);
}

void table_note(struct table *t, const char *text) {
  if (t->rows > 1 && !t->notes[t->rows - 1] && text[0])
    t->notes[t->rows - 1] = copy(text, true);
}

void table_style(struct table *t, int column, enum table_style style) {
  if (t->rows > 1)
    t->styles[(t->rows - 1) * t->columns + column] = (unsigned char)style;
}

void table_color(struct table *t, enum cli_color when) {
  t->color = when;
}

static const char *cell_of(const struct table *t, int row, int column) {
  const char *cell = t->cells[row * t->columns + column];
  return cell ? cell : "";
}

// --- layout

static int total(const struct table *t, const struct layout *l) {
  int n = 0, shown = 0;
  for (int c = 0; c < t->columns; c++)
    if (!l->folded[c]) {
      n += l->width[c];
      shown++;
    }
  return n + 2 * (shown > 0 ? shown - 1 : 0);
}

// The widest column of text, without the last: that one is cut as it is printed. -1: none.
static int widest_text(const struct table *t, const struct layout *l) {
  int widest = -1;
  for (int c = 0; c < t->columns - 1; c++)
    if (!l->folded[c] && t->align[c] == 'l' && l->width[c] > 2 * LEAST_CELLS &&
        (widest < 0 || l->width[c] > l->width[widest]))
      widest = c;
  return widest;
}

static struct layout lay_out(const struct table *t, int room, bool color) {
  struct layout l = {.room = room, .color = color};
  for (int i = 0; i < t->rows * t->columns; i++) {
    int n = cells_width(t->cells[i] ? t->cells[i] : ""), *width = &l.width[i % t->columns];
    *width = n > *width ? n : *width;
  }
  if (room <= 0)
    return l;
  for (; l.n_folded < t->n_folds && total(t, &l) > room; l.n_folded++)
    l.folded[t->folds[l.n_folded].column] = true;
  for (int c; l.n_folded > 0 && total(t, &l) > room && (c = widest_text(t, &l)) >= 0;)
    l.width[c]--;
  return l;
}

// --- printing

static void put_colored(const struct layout *l, int style, const char *text, size_t n, FILE *to) {
  static const char *const codes[] = {
      [TABLE_PLAIN] = "", [TABLE_GOOD] = "\033[32m", [TABLE_DOUBTFUL] = "\033[33m", [TABLE_BAD] = "\033[31m"};
  bool color = l->color && style != TABLE_PLAIN && n > 0;
  fputs(color ? codes[style] : "", to);
  for (size_t i = 0; i < n; i++)
    putc(text[i] == '\n' || text[i] == '\t' ? ' ' : text[i], to);
  fputs(color ? "\033[0m" : "", to);
}

// The last column of the row that prints anything: no blanks at the end of lines.
static int last_shown(const struct table *t, const struct layout *l, int row) {
  int c = t->columns - 1;
  while (c > 0 && (l->folded[c] || !cell_of(t, row, c)[0]))
    c--;
  return c;
}

// The cells that column c of a row may take, after `used` of the line.
static int room_of(const struct layout *l, int c, int last, int used) {
  int left = l->room - used > LEAST_CELLS ? l->room - used : LEAST_CELLS;
  return c < last ? l->width[c] : l->room > 0 ? left : 1 << 20;
}

static void put_row(const struct table *t, const struct layout *l, int row, FILE *to) {
  int used = 0, last = last_shown(t, l, row);
  for (int c = 0; c <= last; c++) {
    if (l->folded[c])
      continue;
    const char *cell = cell_of(t, row, c);
    int style = t->styles[row * t->columns + c], shown;
    size_t n = cells_fit(cell, room_of(l, c, last, used), &shown);
    int padding = l->width[c] > shown ? l->width[c] - shown : 0;
    if (t->align[c] == 'r')
      fprintf(to, "%*s", padding, "");
    put_colored(l, style, cell, n, to);
    if (c < last)
      fprintf(to, "%*s", (t->align[c] == 'r' ? 0 : padding) + 2, "");
    used += l->width[c] + 2;
  }
  putc('\n', to);
}

// Text on lines of its own.
static void put_lines(const struct layout *l, const char *label, const char *text, FILE *to) {
  int begins = INDENT + cells_width(label) + (label[0] ? 2 : 0);
  int room = l->room - begins > LEAST_CELLS ? l->room - begins : LEAST_CELLS;
  for (bool first = true; *text; first = false) {
    const char *next;
    size_t n = cells_line(text, room, &next);
    if (first && label[0])
      fprintf(to, "%*s%s: ", INDENT, "", label);
    else
      fprintf(to, "%*s", begins, "");
    put_colored(l, TABLE_PLAIN, text, n, to);
    putc('\n', to);
    text = next;
  }
}

// What was cut in the row, whole.
static void put_cut(const struct table *t, const struct layout *l, int row, FILE *to) {
  int used = 0, last = last_shown(t, l, row);
  for (int c = 0; c <= last; c++) {
    const char *cell = cell_of(t, row, c);
    if (l->folded[c])
      continue;
    if (cells_fit(cell, room_of(l, c, last, used), NULL) < strlen(cell))
      put_lines(l, cell_of(t, 0, c), cell, to);
    used += l->width[c] + 2;
  }
}

static const struct fold *fold_at(const struct table *t, const struct layout *l, int i) {
  return &t->folds[t->chosen ? i : l->n_folded - 1 - i]; // those that nobody has chosen: from left to right
}

static void put_numbers(const struct layout *l, struct buf *numbers, FILE *to) {
  if (numbers->len)
    put_lines(l, "", buf_str(numbers), to);
  buf_clear(numbers);
}

static void put_folded(const struct table *t, const struct layout *l, int row, FILE *to) {
  struct buf numbers;
  buf_init(&numbers);
  for (int i = 0; i < l->n_folded; i++) {
    const struct fold *f = fold_at(t, l, i);
    const char *cell = cell_of(t, row, f->column);
    if (!cell[0] || strcmp(cell, "-") == 0 || strcmp(cell, f->usual) == 0)
      continue;
    int more = cells_width(f->label) + cells_width(cell) + 4;
    bool number = t->align[f->column] == 'r' && f->label[0];
    if (!number || cells_width(buf_str(&numbers)) + more > l->room - INDENT)
      put_numbers(l, &numbers, to);
    if (number)
      buf_printf(&numbers, "%s%s: %s", numbers.len ? "; " : "", f->label, cell);
    else
      put_lines(l, f->label, cell, to);
  }
  put_numbers(l, &numbers, to);
  buf_release(&numbers);
}

static void put_below(const struct table *t, const struct layout *l, int row, FILE *to) {
  put_cut(t, l, row, to);
  put_folded(t, l, row, to);
  if (t->notes[row])
    put_lines(l, "", t->notes[row], to);
}

bool table_render(const struct table *t, int room, bool color, FILE *to) {
  struct layout l = lay_out(t, room, color);
  for (int r = 0; r < t->rows; r++) {
    put_row(t, &l, r, to);
    if (r > 0 && l.n_folded > 0)
      put_below(t, &l, r, to);
  }
  return l.n_folded > 0;
}

bool table_print(const struct table *t, FILE *to) {
  return table_render(t, cells_of_terminal(to), cells_are_colored(t->color, to), to);
}

// Markdown has no lines in a cell, and "|" ends one.
static void put_markdown(const char *cell, FILE *to) {
  for (const char *c = cell; *c; c++)
    if (strchr("|\\<>`*_[]&~", *c))
      fprintf(to, "\\%c", *c);
    else
      fputc(*c == '\n' ? ' ' : *c, to);
}

void table_markdown(const struct table *t, FILE *to) {
  for (int row = 0; row < t->rows; row++) {
    for (int c = 0; c < t->columns; c++) {
      fputs("| ", to);
      put_markdown(cell_of(t, row, c), to);
      fputs(" ", to);
    }
    fputs("|\n", to);
    for (int c = 0; row == 0 && c < t->columns; c++)
      fputs(t->align[c] == 'r' ? "|---:" : "|---", to);
    if (row == 0)
      fputs("|\n", to);
  }
}

void table_destroy(struct table *t) {
  if (!t)
    return;
  for (int i = 0; i < t->rows * t->columns; i++)
    base_free(t->cells[i]);
  for (int i = 0; i < t->rows; i++)
    base_free(t->notes[i]);
  base_free(t->cells);
  base_free(t->styles);
  base_free(t->notes);
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
