// SPDX-License-Identifier: Apache-2.0
// The graph of a task, folded until it fits into a picture: a chain of nodes, each the only reader of the one before,
// becomes one box. Weights, constants and what is made of them alone are no boxes.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/op.h"
#include "site/charts.h"
#include "site/task_parts.h"

enum { LABEL = 64, MOST_LABEL = 27, MOST_UNFOLDED = 24 };

struct folding {
  const struct task *t;
  const struct graph *g;
  int *box_of;  // of each node
  int *readers; // of each node: how many read it, outputs of the graph included
  int *producer_box;
  struct draw_box *boxes;
  struct draw_edge *edges;
  char (*labels)[LABEL];
  int n, n_edges, edges_capacity;
};

static void add_box(struct folding *f, const char *label, bool is_end) {
  snprintf(f->labels[f->n], LABEL, "%s", label);
  f->boxes[f->n] = (struct draw_box){f->labels[f->n], is_end};
  f->n++;
}

static void add_edge(struct folding *f, int from, int to) {
  for (int i = 0; i < f->n_edges; i++)
    if (f->edges[i].from == from && f->edges[i].to == to)
      return;
  if (f->n_edges < f->edges_capacity)
    f->edges[f->n_edges++] = (struct draw_edge){from, to};
}

// "x [N, 64]"
static const char *input_label(const struct value *v, char text[LABEL]) {
  int at = snprintf(text, LABEL, "%s", v->name ? v->name : "?");
  for (int i = 0; i < v->rank && at < LABEL; i++) {
    const char *before = i ? ", " : " [";
    at += v->dims[i].symbol ? snprintf(text + at, (size_t)(LABEL - at), "%s%s", before, v->dims[i].symbol)
                            : snprintf(text + at, (size_t)(LABEL - at), "%s%lld", before, (long long)v->dims[i].value);
  }
  if (v->rank > 0 && at < LABEL)
    snprintf(text + at, (size_t)(LABEL - at), "]");
  return text;
}

static void add_inputs(struct folding *f) {
  char text[LABEL];
  for (int i = 0; i < f->g->n_inputs; i++) {
    const int value = f->g->inputs[i];
    if (i < f->t->n_inputs && f->t->inputs[i].distribution.is_static)
      continue;
    f->producer_box[value] = f->n;
    add_box(f, input_label(&f->g->values[value], text), true);
  }
}

static void count_readers(struct folding *f) {
  const struct graph *g = f->g;
  for (int i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_inputs; k++)
      if (g->nodes[i].inputs[k] >= 0 && g->values[g->nodes[i].inputs[k]].producer >= 0)
        f->readers[g->values[g->nodes[i].inputs[k]].producer]++;
  for (int i = 0; i < g->n_outputs; i++)
    if (g->values[g->outputs[i]].producer >= 0)
      f->readers[g->values[g->outputs[i]].producer] += 2; // what leaves the graph ends a chain
}

// The node that this one goes on from, if it is the only one of the two to read and be read; -1.
static int chained_to(const struct folding *f, const struct node *n) {
  int before = -1;
  for (int k = 0; k < n->n_inputs; k++) {
    const int value = n->inputs[k];
    if (value < 0 || f->producer_box[value] < 0)
      continue; // a weight, a constant, or made of such
    const int producer = f->g->values[value].producer;
    if (producer < 0 || (before >= 0 && before != producer))
      return -1;
    before = producer;
  }
  return before >= 0 && f->readers[before] == 1 ? before : -1;
}

// What is made of weights and constants alone is no box, either.
static bool reads_a_box(const struct folding *f, const struct node *n) {
  for (int k = 0; k < n->n_inputs; k++)
    if (n->inputs[k] >= 0 && f->producer_box[n->inputs[k]] >= 0)
      return true;
  return false;
}

static void add_node(struct folding *f, int i, bool fold) {
  const struct node *n = &f->g->nodes[i];
  if (!reads_a_box(f, n))
    return;
  const int before = fold ? chained_to(f, n) : -1;
  char *label = before >= 0 ? f->labels[f->box_of[before]] : NULL;
  if (label && strlen(label) + strlen(n->op_type) + 2 <= MOST_LABEL) {
    snprintf(label + strlen(label), LABEL - strlen(label), ", %s", n->op_type);
    f->box_of[i] = f->box_of[before];
  } else {
    f->box_of[i] = f->n;
    add_box(f, n->op_type, false);
  }
  for (int k = 0; k < n->n_inputs; k++)
    if (n->inputs[k] >= 0 && f->producer_box[n->inputs[k]] >= 0 && f->producer_box[n->inputs[k]] != f->box_of[i])
      add_edge(f, f->producer_box[n->inputs[k]], f->box_of[i]);
  for (int k = 0; k < n->n_outputs; k++)
    if (n->outputs[k] >= 0)
      f->producer_box[n->outputs[k]] = f->box_of[i];
}

static void add_outputs(struct folding *f) {
  for (int i = 0; i < f->g->n_outputs; i++) {
    const int value = f->g->outputs[i];
    if (f->producer_box[value] >= 0)
      add_edge(f, f->producer_box[value], f->n);
    add_box(f, f->g->values[value].name ? f->g->values[value].name : "?", true);
  }
}

static void draw_picture(const void *chart, const struct draw_page *page, struct buf *out) {
  draw_graph(chart, page, out);
}

// "5 nodes: 2 Conv, 2 Relu, Add."
static void put_counts(struct html *w, const struct graph *g) {
  int kinds = 0;
  html_open(w, EL_P);
  html_printf(w, "%d node%s: ", g->n_nodes, g->n_nodes == 1 ? "" : "s");
  for (int i = 0; i < g->n_nodes; i++) {
    int times = 0;
    bool seen = false;
    for (int k = 0; k < g->n_nodes; k++) {
      const bool same = strcmp(g->nodes[k].op_type, g->nodes[i].op_type) == 0;
      times += same;
      seen = seen || (same && k < i);
    }
    if (seen)
      continue;
    html_text(w, kinds++ ? ", " : "");
    if (times > 1)
      html_printf(w, "%d ", times);
    html_text(w, g->nodes[i].op_type);
  }
  html_text(w, ".");
  html_close(w, EL_P);
}

void task_put_graph(struct html *w, const struct task *t) {
  const struct graph *g = &t->model.flat;
  const size_t most = (size_t)(g->n_nodes + g->n_inputs + g->n_outputs) + 1;
  struct folding f = {.t = t,
                      .g = g,
                      .box_of = base_calloc(most, sizeof *f.box_of),
                      .readers = base_calloc(most, sizeof *f.readers),
                      .producer_box = base_calloc((size_t)g->n_values + 1, sizeof *f.producer_box),
                      .boxes = base_calloc(most, sizeof *f.boxes),
                      .edges = base_calloc(4 * most, sizeof *f.edges),
                      .labels = base_calloc(most, sizeof *f.labels),
                      .edges_capacity = (int)(4 * most)};
  const bool memory = f.box_of && f.readers && f.producer_box && f.boxes && f.edges && f.labels;
  put_counts(w, g);
  if (memory) {
    for (int i = 0; i < g->n_values; i++)
      f.producer_box[i] = -1;
    add_inputs(&f);
    count_readers(&f);
    for (int i = 0; i < g->n_nodes; i++)
      add_node(&f, i, g->n_nodes > MOST_UNFOLDED);
    add_outputs(&f);
    if (f.n <= DRAW_MOST_BOXES)
      chart_put(w, "graph", draw_picture, &(struct draw_graph){"the task's graph", f.boxes, f.n, f.edges, f.n_edges});
    else
      frame_empty(w, "The graph has more boxes than a picture can show, even folded; `assay show` prints it.");
  }
  w->out->failed = w->out->failed || !memory;
  base_free(f.box_of);
  base_free(f.readers);
  base_free(f.producer_box);
  base_free(f.boxes);
  base_free(f.edges);
  base_free(f.labels);
}
