// SPDX-License-Identifier: Apache-2.0
// Private to src/draw: SVG as text. Whatever text a stranger had a hand in, what comes out is well-formed.
#ifndef DRAW_SVG_H
#define DRAW_SVG_H

#include "draw/draw.h"

enum { SVG_LINE = 16, SVG_CHAR = 75 }; // px of a line of text; tenths of a px that a character of 12 px may take

struct svg {
  struct buf *out;
  int width, height;
  long pen_x, pen_y; // of svg_pen(), in tenths of a px
  bool pen;          // it has begun
};
struct svg_point {
  double x, y;
};

// Escapes & < > " and '. Bytes that are not UTF-8 and control characters become U+FFFD, marks of direction, too.
void svg_escape(struct buf *out, const char *text);

// Begins a chart and writes its title; `desc` are its words. The first free y is SVG_TOP.
enum { SVG_TOP = 32 };
void svg_begin(struct svg *s, const struct draw_page *page, int height, const char *title, const char *desc);
void svg_end(struct svg *s);

// A coordinate: one decimal, no locale; what is no number becomes 0, and what is far outside the edge.
void svg_number(struct buf *out, double x);

// anchor: 's' start, 'm' middle, 'e' end. Text wider than `room` px is cut, with an ellipsis.
void svg_text(struct svg *s, const char *class, struct svg_point at, char anchor, double room, const char *text);
void svg_line(struct svg *s, const char *class, struct svg_point from, struct svg_point to);
void svg_rect(struct svg *s, const char *class, struct svg_point corner, struct svg_point size);
void svg_mark(struct svg *s, const char *colour, struct svg_point at, enum draw_mark mark);

// A path in pieces: svg_path(), svg_to() ..., svg_path_end(). command: 'M' or 'L'; `dot` at the pen is a stroke of no
// length, round by its class.
void svg_path(struct svg *s, const char *class);
// Likewise, with a name within its chart: `part`, for svg_again().
void svg_named_path(struct svg *s, const struct draw_page *page, const char *class, const char *part);
// To where `at` is from where the path is, both rounded to tenths of a px, so that errors do not add up: "m1.5 -2",
// "h3", "v-.4". command: 'm', 'l', 'h' or 'v'; the first is taken as 'M'. A third shorter than places from the corner.
void svg_pen(struct svg *s, char command, struct svg_point at);
// In place of a path: the one of that name in page->wide, with its x from `wide` stretched to those of `here`.
struct svg_range {
  double from, to;
};
void svg_again(struct svg *s, const struct draw_page *page, const char *part, const struct svg_range *here,
               const struct svg_range *wide);
void svg_to(struct svg *s, char command, struct svg_point at);
void svg_along(struct svg *s, char command, double to); // 'H' or 'V': to that x or y
void svg_dot(struct svg *s, struct svg_point at);
void svg_path_end(struct svg *s);

double svg_text_width(const char *text); // px at 12 px

// A chart that has nothing to show: its title and a sentence.
void svg_empty(const struct draw_page *page, struct buf *out, const char *title, const char *sentence);

// --- axes

struct axis {
  double low, high; // of the data; low < high
  bool log;
  double from, to; // px
};
// An axis that holds `n` values that count (finite, and positive on a logarithmic one); false: there is none.
bool axis_fit(struct axis *a, bool log, const double *values, int n);
void axis_take(struct axis *a, double value, bool *any); // widens it; the first value sets it
bool axis_close(struct axis *a, bool any);               // gives equal ends room; false: it has no value
double axis_at(const struct axis *a, double value);      // px, held within the axis
enum { AXIS_TICKS = 16 };
int axis_ticks(const struct axis *a, int most, double ticks[AXIS_TICKS]);
const char *axis_text(double tick, char *text, size_t size); // "0.5", "200", "1e9"

// A horizontal axis below what was drawn: line, ticks, grid up to `top`, and its name.
void axis_draw(struct svg *s, const struct axis *a, double y, double top, const char *name);

// A vertical axis `y` to the left of `x`: labels, and a line across the plot at each tick.
struct axis_labels {
  double unit, gap; // labels are values over the unit, so many px from the plot
};
void axis_draw_up(struct svg *s, const struct axis *y, const struct axis *x, const struct axis_labels *l);

#endif
