// SPDX-License-Identifier: Apache-2.0
// Every chart at both widths, of nothing, one datum, equal data, numbers that are none, and numbers up to 1e9; names
// that try to be markup. What comes out is well-formed (tests/unit/draw/check_svg.py), states what it shows, and is the
// same again.
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "draw/draw.h"

enum { N = 40 };
static char folder[96] = "/tmp/assay-draw-XXXXXX";
static bool kept; // a folder was named: what was drawn stays there
static int files;

static const char hostile[] = "</text><script>alert(1)</script>\"'&\x01\xFF\xE2\x80\xAE\xE2\x80\x8D\xEF\xB8\x8F";

// Names that do not take the room of as many digits.
static const char *name(int i, const char *usual) {
  static const char *const names[] = {hostile, "WWWWMMMM@@@@%%%%WWWWMMMM@@@@",
                                      "核心程序核心程序核心程序核心程序核心程序.cu",
                                      "نواة المصفوفة السريعة جدا جدا جدا جدا.cu", "iiiiiiiiiillllllllll"};
  return i % 4 ? usual : names[i / 4 % 5];
}

// The data of a case: what value i is.
enum data { NONE, ONE, EQUAL, NOT_NUMBERS, LARGE, USUAL, CASES };
static const char *const case_names[CASES] = {"none", "one", "equal", "odd", "large", "usual"};

static double value(enum data d, int i) {
  static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -1, NAN};
  return d == EQUAL ? 7 : d == NOT_NUMBERS ? odd[i % 6] : d == LARGE ? pow(10, i % 19 - 9) : 100 + 3 * ((i * 37) % N);
}

static int count(enum data d) {
  return d == NONE ? 0 : d == ONE ? 1 : N;
}

static struct interval around(double x) {
  return (struct interval){x * 0.97, x * 1.02};
}

static void intervals(enum data d, const struct draw_page *page, struct buf *out) {
  struct draw_dot dots[N];
  for (int i = 0; i < N; i++)
    dots[i] = (struct draw_dot){name(i, "softmax_v4.cu"), value(d, i), around(value(d, i)), (enum draw_mark)(i % 4),
                                i % 3 ? "wrong_class: NaN at index 5" : NULL};
  const struct draw_level levels[] = {{"floor", 90, {NAN, NAN}}, {hostile, value(d, 1), around(value(d, 1))}};
  draw_intervals(&(struct draw_intervals){"Times of <softmax>", "us", dots, count(d), levels, 2}, page, out);
}

static void samples(enum data d, const struct draw_page *page, struct buf *out) {
  double x[N];
  for (int i = 0; i < N; i++)
    x[i] = value(d, i);
  draw_samples(&(struct draw_samples){"Samples", "us", x, count(d), value(d, 2), around(value(d, 2)), NULL, 0}, page,
               out);
}

static void fast_p(enum data d, const struct draw_page *page, struct buf *out) {
  struct draw_step steps[N];
  struct draw_curve curves[7];
  for (int i = 0; i < N; i++)
    steps[i] = (struct draw_step){i ? value(d, 0) / 100 * i / 4 : 0, 1 - (double)i / N, {0.9 - (double)i / N, 1}};
  for (int i = 0; i < 7; i++)
    curves[i] = (struct draw_curve){name(4 * i, NULL), steps, count(d)};
  draw_fast_p(&(struct draw_fast_p){"fast_p", "torch.eager", curves, d == USUAL ? 7 : 1, N}, page, out);
}

static void ratios(enum data d, const struct draw_page *page, struct buf *out) {
  struct draw_ratio items[N];
  for (int i = 0; i < N; i++)
    items[i] = (struct draw_ratio){name(i, "kernelbench/1/19"), value(d, i) / 150, around(value(d, i) / 150), i % 3};
  draw_ratios(&(struct draw_ratios){"Two runs", "monday", hostile, items, count(d)}, page, out);
}

static void sweep(enum data d, const struct draw_page *page, struct buf *out) {
  struct draw_sweep_point points[N];
  struct draw_sweep_line lines[7];
  for (int i = 0; i < N; i++)
    points[i] = (struct draw_sweep_point){value(d, i) * (d == NOT_NUMBERS ? 1 : i + 1), value(d, i + 3)};
  for (int i = 0; i < 7; i++)
    lines[i] = (struct draw_sweep_line){name(4 * i, NULL), points, count(d), d == USUAL ? 7 - i : 0};
  draw_sweep(&(struct draw_sweep){"Sweep", "GFLOP", hostile, d == LARGE, lines, d == USUAL ? 7 : 1}, page, out);
}

static void slopes(enum data d, const struct draw_page *page, struct buf *out) {
  struct draw_slope items[N];
  for (int i = 0; i < N; i++)
    items[i] = (struct draw_slope){name(i, "kernelbench/1/19"), value(d, i), value(d, i + 1)};
  draw_slopes(&(struct draw_slopes){"Two runs", "us", "monday", "tuesday", items, count(d)}, page, out);
}

static void roofline(enum data d, const struct draw_page *page, struct buf *out) {
  struct draw_point points[N];
  const struct draw_roof roofs[] = {{"fp32", 60e12}, {"tf32", 400e12}, {hostile, value(d, 0)}};
  for (int i = 0; i < N; i++)
    points[i] =
        (struct draw_point){"k", i % 6 ? 1e9 * value(d, i) : 0, 1e8, 1e5 * value(d, i + 3), (enum draw_mark)(i % 2)};
  const struct draw_roofline c = {"Roofline", "NVIDIA H200", d == NONE ? 0 : 4.1e12, roofs, d == ONE ? 0 : 3,
                                  points,     count(d)};
  draw_roofline(&c, page, out);
}

static void funnel(enum data d, const struct draw_page *page, struct buf *out) {
  const struct draw_stage stages[] = {{"asked", count(d)}, {"builds", 30}, {hostile, 2}, {"faster", 0}};
  draw_funnel(&(struct draw_funnel){"Funnel", stages, 4}, page, out);
}

// A chain, a fan, and long edges; edges against the order, to nowhere and to themselves are left out.
static void graph(enum data d, const struct draw_page *page, struct buf *out) {
  struct draw_box boxes[N];
  struct draw_edge edges[3 * N];
  for (int i = 0; i < N; i++) {
    boxes[i] = (struct draw_box){name(i, "MatMul"), i % 9 == 0};
    edges[3 * i] = (struct draw_edge){i, d == EQUAL ? i : i + 1};
    edges[3 * i + 1] = (struct draw_edge){i / 2, d == LARGE ? -1 : i};
    edges[3 * i + 2] = (struct draw_edge){i % 3, N - 1 - i % 5};
  }
  draw_graph(
      &(struct draw_graph){"Graph", boxes, d == NOT_NUMBERS ? DRAW_MOST_BOXES + 1 : count(d), edges, 3 * count(d)},
      page, out);
}

// What stands below what it needs, and in one layer what needs the same.
static double top_of(const char *svg, const char *label) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, ">%s</text>", label);
  const char *at = strstr(svg, wanted);
  assert_non_null(at);
  while (strncmp(at, " y=\"", 4) != 0)
    at--;
  return strtod(at + 4, NULL);
}

static void layers(void **state) {
  (void)state;
  static const struct draw_box boxes[] = {{"x", true}, {"Conv", false}, {"Relu", false}, {"Add", false}, {"y", true}};
  static const struct draw_edge edges[] = {{0, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 4}};
  struct buf out = {0};
  draw_graph(&(struct draw_graph){"Graph", boxes, 5, edges, 5},
             &(struct draw_page){.width = DRAW_WIDE, .id = "g", .standalone = true}, &out);
  const char *svg = buf_str(&out);
  assert_true(top_of(svg, "x") < top_of(svg, "Conv"));
  assert_true(top_of(svg, "Conv") < top_of(svg, "Relu"));
  assert_true(top_of(svg, "Relu") < top_of(svg, "Add"));
  assert_true(top_of(svg, "Add") < top_of(svg, "y"));
  assert_non_null(strstr(svg, "3 boxes from inputs to outputs: Conv, Relu, Add."));
  buf_release(&out);
}

static const struct form {
  const char *name;
  void (*draw)(enum data d, const struct draw_page *page, struct buf *out);
} forms[] = {{"intervals", intervals}, {"samples", samples}, {"fast-p", fast_p},
             {"ratios", ratios},       {"slopes", slopes},   {"sweep", sweep},
             {"roofline", roofline},   {"funnel", funnel},   {"graph", graph}};
enum { FORMS = sizeof forms / sizeof *forms };

static void keep(const char *name, const struct buf *out) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s.svg", folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_int_equal(fwrite(buf_str(out), 1, out->len, f), out->len);
  assert_int_equal(fclose(f), 0);
  files++;
}

static void draw_one(const struct form *form, enum data d, int width) {
  char id[64];
  struct buf first = {0}, again = {0};
  snprintf(id, sizeof id, "%s-%s-%d", form->name, case_names[d], width);
  const struct draw_page page = {.width = width, .id = id, .standalone = true};
  form->draw(d, &page, &first);
  form->draw(d, &page, &again);
  assert_false(first.failed);
  assert_string_equal(buf_str(&first), buf_str(&again));
  assert_null(strstr(buf_str(&first), "nan"));
  assert_null(strstr(buf_str(&first), "<script"));
  keep(id, &first);
  buf_release(&first);
  buf_release(&again);
}

static void all(void **state) {
  (void)state;
  assert_true(kept || mkdtemp(folder));
  for (int i = 0; i < FORMS; i++)
    for (int d = 0; d < CASES; d++) {
      draw_one(&forms[i], (enum data)d, DRAW_WIDE);
      draw_one(&forms[i], (enum data)d, DRAW_NARROW);
    }
  char command[768];
  snprintf(command, sizeof command, "exec python3 '%s/tests/unit/draw/check_svg.py' %d '%s'/*.svg", ASSAY_SOURCE_DIR,
           files, folder);
  int failed = system(command);
  if (!failed && !kept) {
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
  }
  assert_int_equal(failed, 0);
}

// What is said in words, by hand.
static void words(void **state) {
  (void)state;
  struct buf out = {0};
  const struct draw_page page = {.width = DRAW_WIDE, .id = "x"};
  const struct draw_dot dots[] = {{"b.cu", 700, {690, 710}, DRAW_RIGHT, NULL},
                                  {"a.cu", 611.23, {610.81, 611.6}, DRAW_RIGHT, NULL},
                                  {"c.cu", NAN, {NAN, NAN}, DRAW_WRONG, "wrong_value"}};
  const struct draw_level floor[] = {{"floor", 518, {NAN, NAN}}};
  draw_intervals(&(struct draw_intervals){"t", "us", dots, 3, floor, 1}, &page, &out);
  assert_non_null(strstr(buf_str(&out), "3 entries, 2 with a time, on a logarithmic axis. Fastest: a.cu, 611.2 \xC2\xB1"
                                        "0.4 us. "
                                        "floor: 518 us."));
  assert_non_null(strstr(buf_str(&out), ">wrong_value</text>"));
  assert_null(strstr(buf_str(&out), "<style>"));
  assert_null(strstr(buf_str(&out), "xmlns"));
  buf_clear(&out);
  const struct draw_dot near[] = {{"a", 2.603, {NAN, NAN}, DRAW_RIGHT, NULL},
                                  {"b", 2.604, {NAN, NAN}, DRAW_RIGHT, NULL}};
  draw_intervals(&(struct draw_intervals){"t", "ms", near, 2, NULL, 0}, &page, &out);
  assert_null(strstr(buf_str(&out), ">2.6035<")); // no tick of an axis that is a thousandth wide
  assert_non_null(strstr(buf_str(&out), ">2.5</text>"));
  buf_clear(&out);
  const struct draw_roofline uncalibrated = {.title = "t", .device = "d"};
  draw_roofline(&uncalibrated, &page, &out);
  assert_non_null(strstr(buf_str(&out), "assay doctor --calibrate"));
  buf_clear(&out);
  const struct draw_roof slow[] = {{"fp32", 6.03e9}, {"tf32", 400e12}};
  draw_roofline(&(struct draw_roofline){"t", "d", 3.58e9, slow, 2, NULL, 0}, &page, &out);
  assert_non_null(strstr(buf_str(&out), "d: 3.6 GB/s measured, fp32 6.0 GFLOP/s, tf32 400.0 TFLOP/s."));
  buf_clear(&out);
  const struct draw_ratio items[] = {
      {"t1", 2, {1.9, 2.1}, 2},
      {"t2", 0.99, {0.98, 0.995}, 0}, // apart from 1, and nearer than two judgements of one
      {"t3", 0.5, {0.4, 0.6}, 1},
      {"t4", NAN, {NAN, NAN}, 0}};
  draw_ratios(&(struct draw_ratios){"t", "A", "B", items, 4}, &page, &out);
  assert_non_null(strstr(buf_str(&out), "1 task faster in the second, 1 in the first, 1 with no difference shown."));
  buf_clear(&out);
  const struct draw_sweep_point rates[] = {{1, 20}, {8, NAN}, {64, 700.4}}, times[] = {{0.5, 9}, {4, 3}, {40, 2.25}};
  const struct draw_sweep_line lines[] = {{"eager", rates, 3, 0}, {"nobody", rates + 1, 1, 7}},
                               curve = {"tune", times, 3, 0};
  draw_sweep(&(struct draw_sweep){"t", "GFLOP", "TFLOP/s", false, lines, 2}, &page, &out);
  assert_non_null(
      strstr(buf_str(&out), "2 lines: TFLOP/s against GFLOP, on logarithmic axes. eager: at most 700 at 64."));
  assert_null(strstr(buf_str(&out), "nobody: "));
  buf_clear(&out);
  draw_sweep(&(struct draw_sweep){"t", "seconds", "us", true, &curve, 1}, &page, &out);
  assert_non_null(strstr(buf_str(&out), "tune: best 2.250 at 40."));
  buf_release(&out);
}

// A strip of 200 samples is one path, and small.
static void compact(void **state) {
  (void)state;
  double x[200];
  struct buf out = {0};
  for (int i = 0; i < 200; i++)
    x[i] = 100 + sin(i);
  const struct draw_page page = {.width = DRAW_WIDE, .id = "x"};
  draw_samples(&(struct draw_samples){"t", "us", x, 200, 100, {99.9, 100.1}, NULL, 0}, &page, &out);
  const char *strip = strstr(buf_str(&out), "c-speck");
  assert_non_null(strip);
  assert_null(strstr(strip + 1, "c-speck"));
  assert_true(strchr(strip, '>') - strip < 3200);
  buf_release(&out);
}

// test_draw [FOLDER]: keeps the charts there.
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all), cmocka_unit_test(words), cmocka_unit_test(compact),
                                     cmocka_unit_test(layers)};
  kept = argc > 1;
  if (kept)
    snprintf(folder, sizeof folder, "%s", argv[1]);
  setlocale(LC_ALL, "de_DE.UTF-8"); // where it is installed: a comma would be seen
  return cmocka_run_group_tests(tests, NULL, NULL);
}
