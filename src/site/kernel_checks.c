// SPDX-License-Identifier: Apache-2.0
// What was asked of a kernel and what came of it, as a grid: a row a shape, a column a probe.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/publish.h"
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

// --- reading: as text, because a tree of all checks costs more than the rest of the page

static const char *const members[CHECK_N_MEMBERS] = {
#define KERNEL_CHECK_NAME(id, name) name,
    KERNEL_CHECK_MEMBERS(KERNEL_CHECK_NAME)
#undef KERNEL_CHECK_NAME
};

struct reading {
  struct kernel *k;
  size_t capacity;
  bool failed;
};

static bool is_raw(const struct skim_raw *raw, const char *text) {
  return raw->at && strlen(text) == raw->n && memcmp(raw->at, text, raw->n) == 0;
}

// A string, without its escapes and the machine's paths; `otherwise` where there is none. Most need neither done.
static const char *text_of(struct reading *r, const struct skim_raw *raw, const char *otherwise) {
  if (!raw->at || raw->at[0] != '"')
    return otherwise;
  const char *text;
  if (!memchr(raw->at, '\\', raw->n) && !memchr(raw->at, '/', raw->n)) {
    text = raw->n == 2 ? "" : arena_strndup(&r->k->arena, raw->at + 1, raw->n - 2);
  } else {
    json_t *value = json_loadb(raw->at, raw->n, JSON_DECODE_ANY, NULL);
    text = json_is_string(value) ? publish_text(&r->k->arena, json_string_value(value)) : otherwise;
    json_decref(value);
  }
  r->failed = r->failed || !text;
  return text ? text : otherwise;
}

static double number_of(const struct skim_raw *raw) {
  if (!raw->at || raw->at[0] == '"')
    return NAN;
  if (is_raw(raw, "0.0"))
    return 0;
  char *end = NULL;
  double x = strtod(raw->at, &end); // a locale with a comma stops it at the point
  if (end == raw->at + raw->n && isfinite(x))
    return x;
  json_t *value = json_loadb(raw->at, raw->n, JSON_DECODE_ANY, NULL);
  x = json_is_number(value) ? json_number_value(value) : NAN;
  json_decref(value);
  return x;
}

static bool read_check(void *arg, const struct skim_raw *raw) {
  struct reading *r = arg;
  struct kernel *k = r->k;
  if ((size_t)k->n_checks == r->capacity) {
    struct kernel_check *more = arena_grow(&k->arena, k->checks, (size_t)k->n_checks, &r->capacity, sizeof *more);
    if (!more) {
      r->failed = true;
      return false;
    }
    k->checks = more;
  }
  kernel_json_check(k, raw);
  k->checks[k->n_checks++] = (struct kernel_check){
      .shape = text_of(r, &raw[CHECK_SHAPE], "?"),
      .probe = is_raw(&raw[CHECK_TIMED], "true") ? "timed calls" : text_of(r, &raw[CHECK_PROBE], "?"),
      .reason = is_raw(&raw[CHECK_REASON], "\"pass\"") ? NULL : text_of(r, &raw[CHECK_REASON], "?"),
      .worst = text_of(r, &raw[CHECK_WORST], ""),
      .z = number_of(&raw[CHECK_GATE_Z]),
      .limit = number_of(&raw[CHECK_GATE_LIMIT]),
  };
  return true;
}

enum assay_status kernel_read_checks(struct kernel *k, struct assay_error *err) {
  struct reading r = {.k = k};
  const struct skim_array checks = {"checks", members, CHECK_N_MEMBERS, read_check, &r};
  k->n_checks = 0;
  if (!k->v.evidence || !skim_each(k->v.evidence, &checks))
    k->n_checks = -1;
  return r.failed ? error_nomem(err, "a verdict's checks") : ASSAY_OK;
}

// --- the grid

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

static void add_check(struct cell *c, const struct kernel_check *check) {
  if (check->reason && c->n_failed++ == 0)
    c->reason = check->reason;
  if (c->n++ == 0 || !(check->z / check->limit <= c->z / c->limit)) {
    c->z = check->z;
    c->limit = check->limit;
  }
}

// "0.3 / 13.7". Most kernels' largest error is none, and the cells of a row have one limit.
struct figures {
  double limit;
  char text[32];
};

static void put_error(struct html *w, const struct cell *c, struct figures *last) {
  if (c->limit != last->limit) {
    last->limit = c->limit;
    snprintf(last->text, sizeof last->text, " / %.3g", c->limit);
  }
  if (c->z == 0)
    html_text(w, "0");
  else
    html_printf(w, "%.2g", c->z);
  html_text(w, last->text);
}

static void put_cell(struct html *w, struct frame_table *t, const struct cell *c, struct figures *last) {
  table_cell_begin(w, t, NULL);
  if (c->n == 0)
    html_text(w, "\xC2\xB7");
  else if (c->n_failed) {
    const struct site_word word = {"fail", ""};
    struct site_word failed = word;
    snprintf(failed.text, sizeof failed.text, "%s", c->reason);
    frame_word(w, &failed);
  } else if (isfinite(c->z) && isfinite(c->limit)) {
    put_error(w, c, last);
  } else {
    html_text(w, "right");
  }
  if (c->n > 1)
    html_printf(w, " (%d)", c->n);
  table_cell_end(w, t);
}

static const char *extents_of(struct kernel *k, const char *shape) {
  const json_t *shapes = json_object_get(k->evidence, "shapes");
  for (size_t i = 0; i < json_array_size(shapes); i++) {
    const json_t *s = json_array_get(shapes, i);
    const char *name = json_string_value(json_object_get(s, "name"));
    if (name && strcmp(name, shape) == 0)
      return kernel_text_in(k, s, "extents");
  }
  return "";
}

static void put_grid(struct html *w, struct kernel *k, const struct grid *g) {
  struct frame_column columns[MOST_PROBES + 2] = {{"shape", 'l'}, {"extents", 'l'}};
  struct frame_table t = {.label = "checks: shapes and probes", .columns = columns, .n = g->n_probes + 2};
  for (int p = 0; p < g->n_probes; p++)
    columns[p + 2] = (struct frame_column){g->probes[p], 'r'};
  struct figures last = {.limit = NAN};
  table_begin(w, &t);
  for (int s = 0; s < g->n_shapes; s++) {
    table_row_begin(w, &t, NULL);
    table_text(w, &t, g->shapes[s]);
    table_text(w, &t, extents_of(k, g->shapes[s]));
    for (int p = 0; p < g->n_probes; p++)
      put_cell(w, &t, &g->cells[s * MOST_PROBES + p], &last);
    table_row_end(w, &t);
  }
  table_end(w, &t);
}

static void put_worst(struct html *w, const struct kernel *k) {
  const json_int_t worst = json_integer_value(json_object_get(k->evidence, "worst_check"));
  const char *text = worst >= 0 && worst < k->n_checks ? k->checks[worst].worst : "";
  if (!text[0])
    return;
  html_element(w, EL_H3, NULL, "The check that decided, or came closest");
  html_open(w, EL_PRE);
  html_attr(w, AT_CLASS, "wrap");
  html_attr(w, AT_TABINDEX, "0");
  html_text(w, text);
  html_close(w, EL_PRE);
}

void kernel_put_checks(struct html *w, struct kernel *k) {
  struct grid g = {.cells = base_calloc((size_t)MOST_SHAPES * MOST_PROBES, sizeof *g.cells)};
  int wrong = 0;
  w->out->failed = w->out->failed || !g.cells;
  frame_heading(w, "checks", "Checks");
  for (int i = 0; i < k->n_checks && g.cells; i++) {
    const struct kernel_check *check = &k->checks[i];
    const int probe = place_of(g.probes, &g.n_probes, MOST_PROBES, check->probe);
    const int shape = place_of(g.shapes, &g.n_shapes, MOST_SHAPES, check->shape);
    wrong += check->reason != NULL;
    if (probe >= 0 && shape >= 0)
      add_check(&g.cells[shape * MOST_PROBES + probe], check);
    else
      g.cut = true;
  }
  if (k->n_checks <= 0) {
    frame_empty(w, k->n_checks == 0 ? "No output was compared: it never came that far."
                                    : "They were not kept with this verdict; what decided is above.");
    base_free(g.cells);
    return;
  }
  html_open(w, EL_P);
  html_printf(w,
              "%s compared, %d wrong. Each cell: the largest error in units of honest error, and what is "
              "allowed; in brackets how many were compared.",
              frame_count(k->n_checks, "output", (char[FRAME_COUNT]){0}), wrong);
  html_close(w, EL_P);
  if (g.cells)
    put_grid(w, k, &g);
  if (g.cut)
    frame_note(w, "More shapes and probes were asked than fit; the data of this page have all.");
  put_worst(w, k);
  base_free(g.cells);
}
