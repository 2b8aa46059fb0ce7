// SPDX-License-Identifier: Apache-2.0
// Charts as SVG text: named forms that take plain numbers. Colours are classes of one style sheet, light and dark, and
// never the only sign of anything; no number is written by a locale; the same numbers give the same bytes. Every form
// draws something for no data, one datum and numbers that are none: an empty chart says in a sentence what is missing.
// A chart has role="img", a <title>, and a <desc> or a caption of the page that states what it shows in words.
#ifndef DRAW_DRAW_H
#define DRAW_DRAW_H

#include <stdbool.h>

#include "base/buf.h"
#include "stats/stats.h"

// Text is 12 px and more at these widths: a page shows one of two renditions and scales neither.
enum { DRAW_WIDE = 720, DRAW_NARROW = 320 };

struct draw_page {
  int width;       // DRAW_WIDE or DRAW_NARROW; from 240
  const char *id;  // unique on its page, [a-z0-9-]; the renditions of one chart need two
  bool standalone; // a file of its own: with a style sheet and a namespace
  // Gets the words that state what the chart shows, unless it has some: the page shows them next to the chart, in the
  // element of the id `caption_id`. NULL: they go into <desc>, as those of a chart that has nothing to show always do.
  struct buf *caption;
  const char *caption_id;
  const char *wide; // the id of the rendition of DRAW_WIDE that stands on the same page; NULL: none. Long paths use it
};

// The rules that a page with charts needs once. All classes begin with "c-". A page with a switch sets
// data-theme="light" or "dark" at its root.
void draw_style(struct buf *out);

// What a mark says, by its shape: X(ID, word). Dot, ring, cross, triangle.
#define DRAW_MARKS(X) X(RIGHT, "right") X(UNSTABLE, "unstable") X(WRONG, "wrong") X(CHEAT, "cheat")
enum draw_mark {
#define DRAW_MARK_ID(id, word) DRAW_##id,
  DRAW_MARKS(DRAW_MARK_ID)
#undef DRAW_MARK_ID
};

// --- times with intervals, on a logarithmic axis: one row each, in the order given

struct draw_dot {
  const char *label;
  double value; // NaN: has a row, and no dot
  struct interval interval;
  enum draw_mark mark;
  const char *note; // in the place of a value, "wrong_class"; may be NULL
};
// A labelled vertical line: the floor, a baseline; an interval with a width is a band. A floor has NaN to NaN.
struct draw_level {
  const char *label;
  double value;
  struct interval interval;
};
struct draw_intervals {
  const char *title, *unit; // of the values: "us"
  const struct draw_dot *dots;
  int n;
  const struct draw_level *levels;
  int n_levels;
};
void draw_intervals(const struct draw_intervals *chart, const struct draw_page *page, struct buf *out);

// --- raw samples: a strip in call order, and under it the empirical distribution

struct draw_samples {
  const char *title, *unit;
  const double *values;
  int n;
  double median; // with its interval, as a line and a band
  struct interval interval;
  const double *sorted; // those that are known, ascending, for who draws them twice (draw_sort); NULL: sorted here
  int n_sorted;
};
int draw_sort(const double *values, int n, double *sorted); // how many are known; room for n
void draw_samples(const struct draw_samples *chart, const struct draw_page *page, struct buf *out);

// --- fast_p as a step curve: the share of tasks faster than p, p from 0.1 to 10 on a logarithmic axis

enum { DRAW_MOST_CURVES = 5 }; // with a colour; later ones are grey
struct draw_step {
  double p, share; // share holds from p to the next step's
  struct interval interval;
};
struct draw_curve {
  const char *label;
  const struct draw_step *steps; // p ascends
  int n;
};
struct draw_fast_p {
  const char *title, *baseline; // "torch.eager"
  const struct draw_curve *curves;
  int n, n_tasks;
};
void draw_fast_p(const struct draw_fast_p *chart, const struct draw_page *page, struct buf *out);

// --- lines on logarithmic axes: rates over sizes of the work, or the best time so far over seconds

struct draw_sweep_point {
  double x, y; // what is not above 0 is left out
};
struct draw_sweep_line {
  const char *label;
  const struct draw_sweep_point *points; // x ascends
  int n;
  int look; // from 1: its colour and dash, the same wherever this line is drawn; 0: those of its place
};
struct draw_sweep {
  const char *title, *x_name, *y_name; // "GFLOP of the shape", "TFLOP/s"
  bool steps;                          // y holds from x to the next point's; less is better
  const struct draw_sweep_line *lines; // looks above DRAW_MOST_CURVES have no colour
  int n;
};
void draw_sweep(const struct draw_sweep *chart, const struct draw_page *page, struct buf *out);

// --- two runs: log ratios with intervals around a zero line, sorted as given

struct draw_ratio {
  const char *label;
  double ratio; // of times, A's over B's: above 1 B is faster
  struct interval interval;
  int faster; // by the comparison: 0 no difference shown, 1 A, 2 B. An interval that leaves out 1 is not enough
};
struct draw_ratios {
  const char *title, *a, *b;
  const struct draw_ratio *items;
  int n;
};
void draw_ratios(const struct draw_ratios *chart, const struct draw_page *page, struct buf *out);

// Slopes from A's time to B's; for up to about 30 tasks.
struct draw_slope {
  const char *label;
  double a, b;
};
struct draw_slopes {
  const char *title, *unit, *a, *b;
  const struct draw_slope *items;
  int n;
};
void draw_slopes(const struct draw_slopes *chart, const struct draw_page *page, struct buf *out);

// --- roofline by the work that the task needs (not by traffic that was counted)

struct draw_roof {
  const char *label; // "fp32", "tf32"
  double flops_per_s;
};
struct draw_point {
  const char *label;
  double flops, bytes, ns; // of the task's cost; flops 0: a rug at the left edge
  enum draw_mark mark;
};
struct draw_roofline {
  const char *title, *device;
  double bytes_per_s; // measured; 0: the device is not calibrated, and a sentence says so
  const struct draw_roof *roofs;
  int n_roofs;
  const struct draw_point *points;
  int n;
};
void draw_roofline(const struct draw_roofline *chart, const struct draw_page *page, struct buf *out);

// --- a graph without cycles, from top to bottom: boxes in layers, each below all that it needs

enum { DRAW_MOST_BOXES = 96 };
struct draw_box {
  const char *label;
  bool is_end; // an input or an output of the whole: without a frame
};
struct draw_edge {
  int from, to; // boxes; from < to, others are left out
};
struct draw_graph {
  const char *title;
  const struct draw_box *boxes;
  int n;
  const struct draw_edge *edges;
  int n_edges;
};
void draw_graph(const struct draw_graph *chart, const struct draw_page *page, struct buf *out);

// --- from asked to faster, with counts

struct draw_stage {
  const char *label;
  int count;
};
struct draw_funnel {
  const char *title;
  const struct draw_stage *stages; // the first is the whole
  int n;
};
void draw_funnel(const struct draw_funnel *chart, const struct draw_page *page, struct buf *out);

#endif
