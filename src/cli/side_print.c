// SPDX-License-Identifier: Apache-2.0
// What `assay compare SUITE --with` prints: a table for each task, then what each maker came to.
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "cli/json.h"
#include "cli/side.h"

enum { CELL_BYTES = 96 };

static bool is_right(const struct side_result *r) {
  return r->asked && !r->refusal && r->reason == ASSAY_REASON_PASS;
}

// "12.3 us", "*12.3 us" for the winner, a reason's code, "none", "not judged".
static void result_text(const struct side_result *r, bool winner, char cell[CELL_BYTES]) {
  char time[32];
  if (!r->asked)
    snprintf(cell, CELL_BYTES, "-");
  else if (r->refusal)
    snprintf(cell, CELL_BYTES, "%s", r->not_judged ? "not judged" : "none");
  else if (r->reason != ASSAY_REASON_PASS)
    snprintf(cell, CELL_BYTES, "%s", assay_reason_code(r->reason));
  else
    snprintf(cell, CELL_BYTES, "%s%s%s", winner ? "*" : "",
             isnan(r->time_ns) ? "pass" : cli_time_text(r->time_ns, time), r->unstable ? " unstable" : "");
}

// The winner's rates, of all that must be computed and moved, and its part of the floor.
static void rate_text(const struct side_shape *s, char rate[CELL_BYTES], char part[CELL_BYTES]) {
  snprintf(rate, CELL_BYTES, "-");
  snprintf(part, CELL_BYTES, "-");
  if (s->winner < 0)
    return;
  const struct side_result *r = &s->results[s->winner];
  snprintf(rate, CELL_BYTES, "%.3g TFLOP/s, %.3g GB/s", s->flops / r->time_ns / 1e3, s->bytes / r->time_ns);
  if (r->floor_ns > 0)
    snprintf(part, CELL_BYTES, "%.0f %%", 100 * r->floor_ns / r->time_ns);
}

static void print_task(const struct side *s, size_t first, size_t end) {
  const char *headers[SIDE_MOST_MAKERS + 3] = {"workload"}, *row[SIDE_MOST_MAKERS + 3];
  char align[SIDE_MOST_MAKERS + 4] = "l", cells[SIDE_MOST_MAKERS + 2][CELL_BYTES];
  int n = s->n_makers;
  for (int m = 0; m < n; m++) {
    headers[m + 1] = s->makers[m].name;
    align[m + 1] = 'r';
  }
  headers[n + 1] = "the fastest";
  headers[n + 2] = "of the floor";
  align[n + 1] = align[n + 2] = 'r';
  struct table *t = table_create(headers, n + 3, align);
  for (size_t i = first; i < end && t; i++) {
    const struct side_shape *shape = &s->shapes[i];
    row[0] = shape->workload;
    for (int m = 0; m < n; m++) {
      result_text(&shape->results[m], shape->winner == m, cells[m]);
      row[m + 1] = cells[m];
    }
    rate_text(shape, cells[n], cells[n + 1]);
    row[n + 1] = cells[n];
    row[n + 2] = cells[n + 1];
    table_row(t, row);
  }
  printf("%s\n", s->shapes[first].task);
  if (t)
    table_print(t, stdout);
  table_destroy(t);
  printf("\n");
}

struct counts {
  int asked, right;
  double making_s;
};

static struct counts count(const struct side *s, int maker) {
  struct counts c = {0};
  for (size_t i = 0; i < s->n; i++) {
    const struct side_result *r = &s->shapes[i].results[maker];
    c.asked += r->asked && !r->not_judged;
    c.right += is_right(r);
    c.making_s += r->making_s;
  }
  return c;
}

static void print_makers(const struct side *s) {
  static const char *const headers[] = {"maker", "right", "fastest at", "next to the first", "making s"};
  struct table *t = table_create(headers, 5, "lrrrr");
  for (int m = 0; m < s->n_makers && t; m++) {
    struct counts c = count(s, m);
    char right[32], wins[32], ratio[64], making[32];
    int n;
    double mean = side_geomean(s, m, &n);
    snprintf(right, sizeof right, "%d of %d", c.right, c.asked);
    snprintf(wins, sizeof wins, "%d", side_wins(s, m));
    snprintf(ratio, sizeof ratio, "-");
    if (!isnan(mean))
      snprintf(ratio, sizeof ratio, "%.3g (%d shapes)", mean, n);
    snprintf(making, sizeof making, "-");
    if (c.making_s > 0)
      snprintf(making, sizeof making, "%.1f", c.making_s);
    table_row(t, (const char *const[]){s->makers[m].name, right, wins, ratio, making});
  }
  if (t)
    table_print(t, stdout);
  table_destroy(t);
}

// Why there is no time; NULL: there is one.
static const char *reason_of(const struct side *s, int m, size_t i) {
  const struct side_result *r = &s->shapes[i].results[m];
  const char *why = r->refusal ? r->refusal : r->asked && r->reason != ASSAY_REASON_PASS ? r->detail : NULL;
  return why && why[0] ? why : NULL;
}

// Whether two reasons say the same, each of its own workload: "...; declared inputs, workload size01".
static bool same_reason(const char *a, const char *b) {
  static const char mark[] = ", workload ";
  while (*a && *a == *b && strncmp(a, mark, sizeof mark - 1) != 0)
    a++, b++;
  if (*a == *b && *a) { // both are at the mark
    a += sizeof mark - 1;
    b += sizeof mark - 1;
    a += strcspn(a, ",);");
    b += strcspn(b, ",);");
  }
  return strcmp(a, b) == 0;
}

// Each reason of a maker once, with the first shape that it is of, and how many more there are.
static void print_reasons(const struct side *s) {
  char text[512], more[48];
  for (int m = 0; m < s->n_makers; m++)
    for (size_t i = 0; i < s->n; i++) {
      const char *why = reason_of(s, m, i), *other;
      bool before = !why;
      int others = 0;
      for (size_t k = 0; k < s->n && !before; k++)
        if (k != i && (other = reason_of(s, m, k)) && same_reason(other, why)) {
          before = k < i;
          others++;
        }
      if (before)
        continue;
      snprintf(more, sizeof more, " and %d more", others);
      cells_printf(stdout, "%s, %s %s%s: %s\n", s->makers[m].name, s->shapes[i].task, s->shapes[i].workload,
                   others ? more : "", printable_line(why, text, sizeof text));
    }
}

void side_print(const struct side *s) {
  bool not_ranked = false;
  for (size_t i = 0; i < s->n;) {
    size_t end = i + 1;
    while (end < s->n && strcmp(s->shapes[end].task, s->shapes[i].task) == 0)
      end++;
    print_task(s, i, end);
    i = end;
  }
  for (size_t i = 0; i < s->n; i++)
    for (int m = 0; m < s->n_makers; m++)
      not_ranked = not_ranked || s->shapes[i].results[m].not_ranked;
  print_makers(s);
  if (not_ranked)
    printf("\ntimes on a device that is no GPU are not ranked\n");
  printf("\n");
  print_reasons(s);
  if (s->scorecard) {
    scorecard_print(s, stdout);
    scorecard_ease_print(s, stdout);
    scorecard_published_print(s, stdout);
  }
}

static json_t *result_json(const struct side *s, const struct side_shape *shape, int m) {
  const struct side_result *r = &shape->results[m];
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:b}", "maker", s->makers[m].name,
                   "candidate", cli_json_text(r->label), "verdict",
                   cli_json_text(r->asked && !r->refusal ? assay_reason_code(r->reason) : NULL), "refusal",
                   cli_json_text(r->refusal), "time_ns", cli_json_real(r->time_ns), "low_ns", cli_json_real(r->low_ns),
                   "high_ns", cli_json_real(r->high_ns), "called_ns", cli_json_real(r->called_ns), "floor_ns",
                   cli_json_real(r->floor_ns), "device_name",
                   cli_json_text(r->device_name && r->device_name[0] ? r->device_name : NULL), "making_seconds",
                   r->making_s, "unstable", r->unstable);
}

json_t *side_json(const struct side *s) {
  json_t *shapes = json_array(), *makers = json_array();
  for (size_t i = 0; i < s->n; i++) {
    const struct side_shape *shape = &s->shapes[i];
    json_t *results = json_array();
    for (int m = 0; m < s->n_makers; m++)
      json_array_append_new(results, result_json(s, shape, m));
    json_array_append_new(shapes, json_pack("{s:s, s:s, s:o, s:f, s:f, s:o, s:o}", "task", shape->task, "workload",
                                            shape->workload, "device", cli_json_text(shape->device), "flops",
                                            shape->flops, "bytes", shape->bytes, "winner",
                                            cli_json_text(shape->winner < 0 ? NULL : s->makers[shape->winner].name),
                                            "results", results));
  }
  for (int m = 0; m < s->n_makers; m++) {
    struct counts c = count(s, m);
    int n;
    double mean = side_geomean(s, m, &n);
    json_array_append_new(makers, json_pack("{s:s, s:i, s:i, s:i, s:o, s:i, s:f}", "maker", s->makers[m].name, "asked",
                                            c.asked, "right", c.right, "fastest_at", side_wins(s, m), "speed",
                                            cli_json_real(mean), "speed_shapes", n, "making_seconds", c.making_s));
  }
  return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "suite", s->suite, "run", s->run, "makers", makers, "shapes",
                   shapes, "scorecard", scorecard_json(s), "ease", scorecard_ease_json(s), "published",
                   scorecard_published_json(s));
}
