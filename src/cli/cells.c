// SPDX-License-Identifier: Apache-2.0
#include "cli/cells.h"

#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buf.h"

// The length of the character at p in bytes, and its width. Bytes that are not UTF-8 are one cell each.
static size_t character(const char *p, int *width) {
  static const unsigned char first[] = {0x00, 0x1f, 0x0f, 0x07};
  unsigned char c = (unsigned char)*p;
  size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
  wchar_t code = c < 0x80 ? c : c & first[more];
  size_t n = 1;
  while (n <= more && ((unsigned char)p[n] & 0xc0) == 0x80)
    code = code << 6 | ((unsigned char)p[n++] & 0x3f);
  *width = c < 0x80 ? 1 : wcwidth(code);
  *width = *width < 0 ? 1 : *width;
  return n;
}

// The table of widths is the locale's, and "C" has none for what is not ASCII. C.UTF-8 is part of glibc.
static locale_t begin_widths(locale_t *before) {
  locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
  *before = utf8 ? uselocale(utf8) : NULL;
  return utf8;
}

static void end_widths(locale_t utf8, locale_t before) {
  if (!utf8)
    return;
  uselocale(before);
  freelocale(utf8);
}

size_t cells_fit(const char *text, int room, int *used) {
  locale_t before, utf8 = begin_widths(&before);
  size_t n = 0;
  int width, cells = 0;
  for (; text[n]; cells += width) {
    size_t bytes = character(text + n, &width);
    if (width > room - cells)
      break;
    n += bytes;
  }
  end_widths(utf8, before);
  if (used)
    *used = cells;
  return n;
}

int cells_width(const char *text) {
  int used;
  cells_fit(text, 1 << 20, &used);
  return used;
}

size_t cells_line(const char *text, int room, const char **next) {
  size_t line = strcspn(text, "\n"), n = cells_fit(text, room, NULL);
  if (n >= line) {
    *next = text + line + (text[line] == '\n');
    return line;
  }
  size_t end = n;
  while (end > 0 && text[end] != ' ')
    end--;
  if (end == 0) { // one word that is longer than the line
    int ignored;
    end = n ? n : character(text, &ignored);
  }
  *next = text + end + strspn(text + end, " ");
  return end;
}

int cells_of_terminal(FILE *to) {
  struct winsize w;
  const char *columns = getenv("COLUMNS");
  if (!isatty(fileno(to)))
    return 0;
  if (columns && atoi(columns) > 20)
    return atoi(columns);
  return ioctl(fileno(to), TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 100;
}

void cells_put(FILE *to, const char *text) {
  enum { INDENT = 4 };
  const int room = cells_of_terminal(to);
  if (room <= 0) {
    fputs(text, to);
    return;
  }
  for (int indent = 0; *text;) {
    const char *next;
    size_t n = cells_line(text, room - indent, &next);
    fprintf(to, "%*s%.*s", indent, "", (int)n, text);
    if (*next || next[-1] == '\n')
      putc('\n', to);
    indent = next > text && next[-1] == '\n' ? 0 : INDENT;
    text = next;
  }
}

void cells_printf(FILE *to, const char *format, ...) {
  va_list arguments;
  struct buf text;
  buf_init(&text);
  va_start(arguments, format);
  buf_vprintf(&text, format, arguments);
  va_end(arguments);
  cells_put(to, buf_str(&text));
  buf_release(&text);
}

static enum cli_color usual;

void cells_color(enum cli_color when) {
  usual = when;
}

bool cells_are_colored(enum cli_color when, FILE *to) {
  const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
  if (when == CLI_COLOR_AUTO)
    when = usual;
  if (when != CLI_COLOR_AUTO)
    return when == CLI_COLOR_ALWAYS;
  return isatty(fileno(to)) && !(none && none[0]) && !(term && strcmp(term, "dumb") == 0);
}
