// SPDX-License-Identifier: Apache-2.0
#include "task/kind.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// The families of operators (titles of the operator page) and the kinds they make, the greatest first.
static const struct {
  const char *family, *kind;
} kinds[] = {{"Recurrent networks", "rnn"},
             {"Attention", "attention"},
             {"Linear attention", "attention"},
             {"Convolutions", "convolution"},
             {"Causal convolution", "convolution"},
             {"Linear algebra", "linear algebra"},
             {"Contractions", "matmul"},
             {"Losses", "loss"},
             {"Pooling", "pooling"},
             {"Normalization", "normalization"},
             {"Softmax", "softmax"},
             {"Scans", "scan"},
             {"Reductions", "reduction"},
             {"Extremes", "reduction"},
             {"Boxes", "boxes"},
             {"Sampling", "sampling"},
             {"Resizing", "sampling"},
             {"Quantization", "quantization"},
             {"Scattering", "scatter"},
             {"Gathering", "gather"},
             {"Position embeddings", "position embedding"},
             {"Activations", "activation"},
             {"Functions", "elementwise"},
             {"Comparison, logic and selection", "elementwise"},
             {"Arithmetic", "elementwise"}};
enum { N_KINDS = sizeof kinds / sizeof *kinds, MOVEMENT = N_KINDS };
enum { SURE = 10 }; // as many kinds from the top need no title: "softmax" may be written-out attention or a loss

// What a title, or the file's name, says of a graph of simple operators.
static const struct {
  const char *word, *kind;
} titles[] = {{"loss", "loss"}, {"norm", "normalization"}, {"attention", "attention"}, {"pool", "pooling"}};

static int rank_of(const struct op_def *op) {
  int n;
  const struct op_family *const *all = op_families(&n);
  for (int f = 0; f < n; f++) {
    if (op < all[f]->rows || op >= all[f]->rows + all[f]->n_rows)
      continue;
    for (int k = 0; k < N_KINDS; k++)
      if (strcmp(kinds[k].family, all[f]->name) == 0)
        return k;
  }
  return MOVEMENT;
}

static bool is_of(const struct node *n, const char *family) {
  const int rank = rank_of(n->op);
  return rank < N_KINDS && strcmp(kinds[rank].family, family) == 0;
}

// The node that makes a value; NULL: it is an input or a constant.
static const struct node *maker_of(const struct graph *g, int value) {
  for (int i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_outputs; k++)
      if (g->nodes[i].outputs[k] == value)
        return &g->nodes[i];
  return NULL;
}

// Attention written out: a product with weights that a softmax makes of another product.
static bool is_attention(const struct graph *g) {
  bool product = false;
  for (int i = 0; i < g->n_nodes; i++) { // in an order in which they can be evaluated
    const struct node *n = &g->nodes[i];
    if (!is_of(n, "Contractions"))
      continue;
    const struct node *weights = product && n->n_inputs > 0 ? maker_of(g, n->inputs[0]) : NULL;
    if (weights && is_of(weights, "Softmax"))
      return true;
    product = true;
  }
  return false;
}

static bool says(const char *title, const char *word) {
  for (const char *c = title; c && *c; c++)
    if (strncasecmp(c, word, strlen(word)) == 0)
      return true;
  return false;
}

const char *task_kind(const struct task *t) {
  const struct graph *g = &t->model.flat;
  const char *file = t->path ? strrchr(t->path, '/') : NULL; // not its folders
  int best = MOVEMENT;
  for (int i = 0; i < g->n_nodes; i++) {
    const int rank = rank_of(g->nodes[i].op);
    best = rank < best ? rank : best;
  }
  if (best > 0 && best < N_KINDS && is_attention(g))
    return "attention";
  for (size_t i = 0; i < sizeof titles / sizeof *titles && best >= SURE && best < N_KINDS; i++)
    if (says(t->title, titles[i].word) || says(file ? file : t->path, titles[i].word))
      return titles[i].kind;
  return best < N_KINDS ? kinds[best].kind : "movement";
}

const char *task_category(const char *name, char text[TASK_CATEGORY_BYTES]) {
  static const struct {
    const char *level, *category;
  } levels[] = {{"kernelbench/1/", "single operator"},
                {"kernelbench/2/", "fusion"},
                {"kernelbench/3/", "architecture"},
                {"kernelbench/4/", "language model"}};
  static const char other[] = "kernelbenchx/";
  text[0] = '\0';
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
    if (strncmp(name, levels[i].level, strlen(levels[i].level)) == 0)
      snprintf(text, TASK_CATEGORY_BYTES, "%s", levels[i].category);
  if (strncmp(name, other, strlen(other)) == 0) {
    const char *from = name + strlen(other), *to = strchr(from, '/');
    snprintf(text, TASK_CATEGORY_BYTES, "%.*s", to ? (int)(to - from) : 0, from);
  }
  return text;
}
