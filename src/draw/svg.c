// SPDX-License-Identifier: Apache-2.0
#include "draw/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/utf8.h"
#include "score/figure.h"

// --- text

static void escape_part(struct buf *out, const char *text, size_t n) {
  for (size_t i = 0; i < n;) {
    uint32_t c;
    size_t length = utf8_decode(text + i, n - i, &c);
    bool nonchar = c == 0xFFFE || c == 0xFFFF;
    if (length == 0 || c < 0x20 || c == 0x7F || nonchar || printable_misleads(c))
      buf_puts(out, c == '\n' || c == '\t' ? " " : "\xEF\xBF\xBD");
    else if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
      buf_printf(out, "&#%u;", c);
    else
      buf_append(out, text + i, length);
    i += length ? length : 1;
  }
}

void svg_escape(struct buf *out, const char *text) {
  escape_part(out, text, strlen(text));
}

static double char_px(void) {
  return (double)SVG_CHAR / 10;
}

// Bytes of the character at `text`, of which bytes that are none have one each.
static size_t character(const char *text) {
  size_t n = 1;
  while (((unsigned char)text[n] & 0xC0) == 0x80)
    n++;
  return n;
}

static bool is_wide(uint32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF01 && c <= 0xFF60) || c >= 0x1F000;
}

// What a character may take at 12 px, in the widest of usual fonts.
static double character_px(const char *text, size_t n) {
  static const char em[] = "mMW@%", broad[] = "wABCDEFGHKNOPQRSTUVXYZ#&+<=>~";
  const unsigned char *b = (const unsigned char *)text;
  if (n == 1)
    return *b < 0x80 && strchr(em, *b) ? 12 : *b < 0x80 && strchr(broad, *b) ? 10 : char_px();
  if (n == 2)
    return 10;
  const uint32_t c = n == 3 ? (b[0] & 15u) << 12 | (b[1] & 63u) << 6 | (b[2] & 63u) : n == 4 ? 0x1F000 : 0;
  return is_wide(c) ? 14 : 12;
}

double svg_text_width(const char *text) {
  double width = 0;
  for (size_t n; *text; text += n)
    width += character_px(text, n = character(text));
  return width;
}

static long tenths_of(double x) {
  enum { FAR = 100000 };
  return lround(10 * (isnan(x) ? 0 : fmin(fmax(x, -FAR), FAR)));
}

// A page has hundreds of coordinates: no format. `bare`: ".4" for 0.4.
static void put_tenths(struct buf *out, long tenths, bool bare) {
  char room[24], *end = room + sizeof room, *at = end;
  unsigned long n = tenths < 0 ? 0 - (unsigned long)tenths : (unsigned long)tenths;
  if (n % 10 != 0) {
    *--at = (char)('0' + n % 10);
    *--at = '.';
  }
  n /= 10;
  if (n > 0 || !bare || at == end)
    do
      *--at = (char)('0' + n % 10);
    while (n /= 10);
  if (tenths < 0)
    *--at = '-';
  buf_append(out, at, (size_t)(end - at));
}

void svg_number(struct buf *out, double x) {
  put_tenths(out, tenths_of(x), false);
}

static void attribute(struct buf *out, const char *name, double value) {
  buf_puts(out, " ");
  buf_puts(out, name);
  buf_puts(out, "=\"");
  svg_number(out, value);
  buf_puts(out, "\"");
}

// Cuts at a character, never within one.
static void put_cut(struct buf *out, const char *text, double room) {
  size_t at = 0;
  if (svg_text_width(text) <= room) {
    svg_escape(out, text);
    return;
  }
  room -= 12; // the ellipsis
  for (size_t n; text[at]; at += n) {
    room -= character_px(text + at, n = character(text + at));
    if (room < 0)
      break;
  }
  escape_part(out, text, at);
  buf_puts(out, "\xE2\x80\xA6");
}

// --- elements

void svg_begin(struct svg *s, const struct draw_page *page, int height, const char *title, const char *desc) {
  struct buf *out = s->out;
  s->width = page->width;
  s->height = height;
  buf_printf(out, "<svg class=\"c-chart\" id=\"%s\"%s width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" ",
             page->id, page->standalone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", s->width, height, s->width,
             height);
  buf_printf(out, "aria-labelledby=\"%s-t %s%s\">\n<title id=\"%s-t\">", page->id,
             page->caption ? page->caption_id : page->id, page->caption ? "" : "-d", page->id);
  svg_escape(out, title);
  buf_puts(out, "</title>\n");
  if (page->caption) {
    if (page->caption->len == 0)
      buf_puts(page->caption, desc);
  } else {
    buf_printf(out, "<desc id=\"%s-d\">", page->id);
    svg_escape(out, desc);
    buf_puts(out, "</desc>\n");
  }
  if (page->standalone) {
    buf_puts(out, "<style>\n");
    draw_style(out);
    buf_puts(out, "</style>\n");
    svg_rect(s, "c-page", (struct svg_point){0, 0}, (struct svg_point){s->width, height});
  }
  svg_text(s, "c-title", (struct svg_point){8, 18}, 's', (s->width - 16) * 12.0 / 14, title);
}

void svg_end(struct svg *s) {
  buf_puts(s->out, "</svg>\n");
}

void svg_text(struct svg *s, const char *class, struct svg_point at, char anchor, double room, const char *text) {
  buf_printf(s->out, "<text class=\"%s%s\"", class, anchor == 'm' ? " c-middle" : anchor == 'e' ? " c-end" : "");
  attribute(s->out, "x", at.x);
  attribute(s->out, "y", at.y);
  buf_puts(s->out, ">");
  put_cut(s->out, text, room);
  buf_puts(s->out, "</text>\n");
}

void svg_line(struct svg *s, const char *class, struct svg_point from, struct svg_point to) {
  buf_printf(s->out, "<line class=\"%s\"", class);
  attribute(s->out, "x1", from.x);
  attribute(s->out, "y1", from.y);
  attribute(s->out, "x2", to.x);
  attribute(s->out, "y2", to.y);
  buf_puts(s->out, "/>\n");
}

void svg_rect(struct svg *s, const char *class, struct svg_point corner, struct svg_point size) {
  buf_printf(s->out, "<rect class=\"%s\"", class);
  attribute(s->out, "x", corner.x);
  attribute(s->out, "y", corner.y);
  attribute(s->out, "width", fmax(0, size.x));
  attribute(s->out, "height", fmax(0, size.y));
  buf_puts(s->out, "/>\n");
}

static void begin_path(struct svg *s, const char *class) {
  buf_puts(s->out, "<path class=\"");
  buf_puts(s->out, class);
  s->pen = false;
}

void svg_path(struct svg *s, const char *class) {
  begin_path(s, class);
  buf_puts(s->out, "\" d=\"");
}

void svg_named_path(struct svg *s, const struct draw_page *page, const char *class, const char *part) {
  begin_path(s, class);
  buf_printf(s->out, "\" id=\"%s-%s\" d=\"", page->id, part);
}

void svg_pen(struct svg *s, char command, struct svg_point at) {
  const bool first = !s->pen, down = command == 'v';
  const long x = down && !first ? s->pen_x : tenths_of(at.x);
  const long y = command == 'h' && !first ? s->pen_y : tenths_of(at.y);
  const long dx = first ? x : x - s->pen_x, dy = first ? y : y - s->pen_y;
  if (!first && ((command == 'h' && dx == 0) || (down && dy == 0)))
    return;
  buf_append(s->out, first ? "M" : &command, 1);
  if (first || !down)
    put_tenths(s->out, dx, true);
  if (first || command != 'h') {
    if (dy >= 0 && (first || !down))
      buf_puts(s->out, " ");
    put_tenths(s->out, dy, true);
  }
  s->pen_x = x;
  s->pen_y = y;
  s->pen = true;
}

void svg_again(struct svg *s, const struct draw_page *page, const char *part, const struct svg_range *here,
               const struct svg_range *wide) {
  const double by = (here->to - here->from) / (wide->to - wide->from);
  char scale[32];
  buf_printf(s->out, "<use href=\"#%s-%s\" transform=\"translate(", page->wide, part);
  svg_number(s->out, here->from - by * wide->from);
  buf_printf(s->out, " 0) scale(%s 1)\"/>\n", score_number(by, 6, scale, sizeof scale));
}

void svg_to(struct svg *s, char command, struct svg_point at) {
  buf_append(s->out, &command, 1);
  svg_number(s->out, at.x);
  buf_puts(s->out, " ");
  svg_number(s->out, at.y);
}

void svg_along(struct svg *s, char command, double to) {
  buf_append(s->out, &command, 1);
  svg_number(s->out, to);
}

void svg_dot(struct svg *s, struct svg_point at) {
  svg_to(s, 'M', at);
  buf_puts(s->out, "h0");
}

void svg_path_end(struct svg *s) {
  buf_puts(s->out, "\"/>\n");
}

void svg_mark(struct svg *s, const char *colour, struct svg_point at, enum draw_mark mark) {
  enum { R = 4 };
  static const char *const classes[] = {
      [DRAW_RIGHT] = "c-dot", [DRAW_UNSTABLE] = "c-ring", [DRAW_WRONG] = "c-cross", [DRAW_CHEAT] = "c-triangle"};
  char class[48];
  snprintf(class, sizeof class, "%s %s", classes[mark], colour);
  svg_path(s, class);
  if (mark == DRAW_RIGHT) {
    svg_dot(s, at);
  } else if (mark == DRAW_UNSTABLE) {
    svg_to(s, 'M', (struct svg_point){at.x - R, at.y});
    buf_printf(s->out, "a%d %d 0 1 0 %d 0a%d %d 0 1 0 -%d 0", R, R, 2 * R, R, R, 2 * R);
  } else if (mark == DRAW_WRONG) {
    svg_to(s, 'M', (struct svg_point){at.x - R, at.y - R});
    buf_printf(s->out, "l%d %dm0 -%dl-%d %d", 2 * R, 2 * R, 2 * R, 2 * R, 2 * R);
  } else {
    svg_to(s, 'M', (struct svg_point){at.x, at.y - R});
    buf_printf(s->out, "l%d %dh-%dz", R, 2 * R, 2 * R);
  }
  svg_path_end(s);
}

// How many bytes of a sentence (ASCII) stand in a line of so many characters: it breaks at a space.
static size_t line_of(const char *text, int fits) {
  const size_t n = strlen(text);
  if (n <= (size_t)fits)
    return n;
  for (size_t i = (size_t)fits; i > 0; i--)
    if (text[i] == ' ')
      return i;
  return (size_t)fits;
}

static const char *skip_line(const char *text, size_t n) {
  return text + n + (text[n] == ' ');
}

void svg_empty(const struct draw_page *page, struct buf *out, const char *title, const char *sentence) {
  struct svg s = {.out = out};
  const struct draw_page bare = {.width = page->width, .id = page->id, .standalone = page->standalone}; // it is drawn
  const int fits = (int)((page->width - 16) / char_px());
  int lines = 0;
  for (const char *rest = sentence; *rest; rest = skip_line(rest, line_of(rest, fits)))
    lines++;
  svg_begin(&s, &bare, SVG_TOP + SVG_LINE * (lines > 2 ? lines : 2), title, sentence);
  lines = 0;
  for (const char *rest = sentence; *rest;) {
    const size_t n = line_of(rest, fits);
    char line[160];
    snprintf(line, sizeof line, "%.*s", (int)n, rest);
    svg_text(&s, "c-text", (struct svg_point){8, SVG_TOP + 8 + SVG_LINE * lines++}, 's', s.width - 16, line);
    rest = skip_line(rest, n);
  }
  svg_end(&s);
}
