// SPDX-License-Identifier: Apache-2.0
// What was asked of a kernel and what came of it, as a grid: a row a shape, a column a probe.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "site/kernel.h"

enum { MOST_PROBES = 24, MOST_SHAPES = 64 };

static int place_of(const char **names, int *n, int most, const char *name) {
  for (int i = 0; i < *n; i++)
    if (strcmp(names[i], name) == 0)
      return i;
  if (*n == most)
    return -1;
  names[*n] = name;
  return (*n)++;
}

// Timed calls are a probe of their own.
static const char *probe_of(const json_t *check) {
  const char *probe = json_string_value(json_object_get(check, "probe"));
  return json_is_true(json_object_get(check, "timed")) ? "timed calls" : probe ? probe : "?";
}

static const char *shape_of(const json_t *check) {
  const char *shape = json_string_value(json_object_get(check, "workload"));
  return shape ? shape : "?";
}

// How close it came: the worst of the checks of a cell.
struct cell {
  int n, n_failed;
  double z, limit;
  const char *reason; // of the first that failed
};

struct grid {
  const char *probes[MOST_PROBES], *shapes[MOST_SHAPES];
  int n_probes, n_shapes;
  bool cut;
  struct cell *cells; // MOST_PROBES a shape
};

static void add_check(struct cell *c, const json_t *check) {
  const char *reason = json_string_value(json_object_get(check, "reason"));
  double z = kernel_number(check, "gate_z"), limit = kernel_number(check, "gate_limit");
  bool failed = !reason || strcmp(reason, "pass") != 0;
  if (failed && c->n_failed++ == 0)
    c->reason = reason ? reason : "?";
  if (c->n++ == 0 || !(z / limit <= c->z / c->limit)) {
    c->z = z;
    c->limit = limit;
  }
}

static void put_cell(struct html *w, struct frame_table *t, const struct cell *c) {
  table_cell_begin(w, t, NULL);
  if (c->n == 0)
    html_text(w, "\xC2\xB7");
  else if (c->n_failed) {
    const struct site_word word = {"fail", ""};
    struct site_word failed = word;
    snprintf(failed.text, sizeof failed.text, "%s", c->reason);
    frame_word(w, &failed);
  } else if (isfinite(c->z) && isfinite(c->limit)) {
    html_printf(w, "%.2g / %.3g", c->z, c->limit);
  } else {
    html_text(w, "right");
  }
  if (c->n > 1)
    html_printf(w, " (%d)", c->n);
  table_cell_end(w, t);
}

static const char *extents_of(const struct kernel *k, const char *shape) {
  const json_t *shapes = json_object_get(k->evidence, "shapes");
  for (size_t i = 0; i < json_array_size(shapes); i++) {
    const json_t *s = json_array_get(shapes, i);
    const char *name = json_string_value(json_object_get(s, "name"));
    const char *extents = json_string_value(json_object_get(s, "extents"));
    if (name && extents && strcmp(name, shape) == 0)
      return extents;
  }
  return "";
}

static void put_grid(struct html *w, struct kernel *k, const struct grid *g) {
  struct frame_column columns[MOST_PROBES + 2] = {{"shape", 'l'}, {"extents", 'l'}};
  struct frame_table t = {.label = "checks: shapes and probes", .columns = columns, .n = g->n_probes + 2};
  for (int p = 0; p < g->n_probes; p++)
    columns[p + 2] = (struct frame_column){g->probes[p], 'r'};
  table_begin(w, &t);
  for (int s = 0; s < g->n_shapes; s++) {
    table_row_begin(w, &t, NULL);
    table_text(w, &t, g->shapes[s]);
    table_text(w, &t, extents_of(k, g->shapes[s]));
    for (int p = 0; p < g->n_probes; p++)
      put_cell(w, &t, &g->cells[s * MOST_PROBES + p]);
    table_row_end(w, &t);
  }
  table_end(w, &t);
}

static void put_worst(struct html *w, struct kernel *k, const json_t *checks) {
  json_int_t worst = json_integer_value(json_object_get(k->evidence, "worst_check"));
  const json_t *check = worst >= 0 ? json_array_get(checks, (size_t)worst) : NULL;
  const char *text = json_string_value(json_object_get(check, "worst"));
  if (!text || !text[0])
    return;
  html_element(w, EL_H3, NULL, "The check that decided, or came closest");
  html_open(w, EL_PRE);
  html_attr(w, AT_CLASS, "wrap");
  html_attr(w, AT_TABINDEX, "0");
  html_text(w, text);
  html_close(w, EL_PRE);
}

void kernel_put_checks(struct html *w, struct kernel *k) {
  const json_t *checks = json_object_get(k->evidence, "checks");
  struct grid g = {.cells = base_calloc((size_t)MOST_SHAPES * MOST_PROBES, sizeof *g.cells)};
  int wrong = 0;
  w->out->failed = w->out->failed || !g.cells;
  frame_heading(w, "checks", "Checks");
  for (size_t i = 0; i < json_array_size(checks) && g.cells; i++) {
    const json_t *check = json_array_get(checks, i);
    const char *reason = json_string_value(json_object_get(check, "reason"));
    const int probe = place_of(g.probes, &g.n_probes, MOST_PROBES, probe_of(check));
    const int shape = place_of(g.shapes, &g.n_shapes, MOST_SHAPES, shape_of(check));
    wrong += !reason || strcmp(reason, "pass") != 0;
    if (probe >= 0 && shape >= 0)
      add_check(&g.cells[shape * MOST_PROBES + probe], check);
    else
      g.cut = true;
  }
  if (json_array_size(checks) == 0) {
    frame_empty(w, checks ? "No output was compared: it never came that far."
                          : "They were not kept with this verdict; what decided is above.");
    base_free(g.cells);
    return;
  }
  html_open(w, EL_P);
  html_printf(w,
              "%zu outputs compared, %d wrong. Each cell: the largest error in units of honest error, and what is "
              "allowed; in brackets how many were compared.",
              json_array_size(checks), wrong);
  html_close(w, EL_P);
  if (g.cells)
    put_grid(w, k, &g);
  if (g.cut)
    frame_note(w, "More shapes and probes were asked than fit; the data of this page have all.");
  put_worst(w, k, checks);
  base_free(g.cells);
}
