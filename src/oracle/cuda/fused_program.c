// SPDX-License-Identifier: Apache-2.0
#include "oracle/cuda/fused_program.h"

#include <string.h>

// ---- terms

bool fused_same(struct fused_value a, struct fused_value b) {
  return a.kind == b.kind && a.index == b.index;
}

struct fused_value fused_constant(struct fused_program *p, double x) {
  int at = 0;
  while (at < p->n_constants && memcmp(&p->constants[at], &x, sizeof x) != 0) // 0 is not -0
    at++;
  if (at == FUSED_CONSTANTS) {
    p->full = true;
    at = 0;
  } else if (at == p->n_constants) {
    p->constants[p->n_constants++] = x;
  }
  return (struct fused_value){.kind = FUSED_IS_CONSTANT, .index = (int16_t)at};
}

static bool varies(const struct fused_program *p, struct fused_value v) {
  return v.kind == FUSED_IS_TERM && p->terms[v.index].varies;
}

static bool terms_equal(const struct fused_term *a, const struct fused_term *b) {
  bool equal = a->operation == b->operation && a->varies == b->varies && a->n_from == b->n_from;
  for (int k = 0; equal && k < a->n_from; k++)
    equal = fused_same(a->from[k], b->from[k]);
  return equal;
}

// Without noise, the same of the same is the same.
static struct fused_value add_term(struct fused_program *p, const struct fused_term *t) {
  int at = 0;
  while (at < p->n_terms &&
         (t->noise.error != EXPR_EXACT || p->terms[at].noise.error != EXPR_EXACT || !terms_equal(&p->terms[at], t)))
    at++;
  if (at == FUSED_TERMS) {
    p->full = true;
    at = 0;
  } else if (at == p->n_terms) {
    p->terms[p->n_terms++] = *t;
  }
  return (struct fused_value){.kind = FUSED_IS_TERM, .index = (int16_t)at};
}

struct fused_value fused_apply(struct fused_program *p, int operation, const struct fused_value *from,
                               const struct fused_noise *noise) {
  struct fused_term t = {.operation = (uint8_t)operation, .n_from = expr_arity((enum expr_operation)operation)};
  for (int k = 0; k < t.n_from; k++) {
    t.from[k] = from[k];
    t.varies = t.varies || varies(p, from[k]);
  }
  if (noise && t.varies)
    t.noise = *noise;
  struct fused_value v = add_term(p, &t);
  if (!noise || t.varies)
    return v;
  // The first error on the way: the same result in every pass, each with an error of its own.
  struct fused_term round = {.operation = FUSED_ROUND, .varies = true, .noise = *noise, .n_from = 1, .from = {v}};
  return add_term(p, &round);
}

// ---- instructions

struct lowering {
  const struct fused_program *p;
  struct fused_args *out;
  bool wanted[FUSED_TERMS];
  int order[FUSED_TERMS], n;                    // of instructions, whose terms these are
  int place[FUSED_TERMS];                       // a term's number among them
  int last_use[FUSED_TERMS];                    // by the number of the reader
  bool kept[FUSED_TERMS];                       // a reader other than the next instruction
  uint8_t target[FUSED_TERMS];                  // of terms that are kept
  int in_use[2][FUSED_SCALARS + FUSED_VECTORS]; // slots of scalars and vectors: until which instruction
};

// Terms come after what they are made of.
static void want(struct lowering *l, struct fused_value v) {
  if (v.kind == FUSED_IS_TERM)
    l->wanted[v.index] = true;
}

static void find_wanted(struct lowering *l, struct fused_value truth, struct fused_value pass) {
  want(l, truth);
  want(l, pass);
  for (int t = l->p->n_terms - 1; t >= 0; t--)
    for (int k = 0; l->wanted[t] && k < l->p->terms[t].n_from; k++)
      want(l, l->p->terms[t].from[k]);
}

static void put_in_order(struct lowering *l) {
  for (int vary = 0; vary < 2; vary++) {
    for (int t = 0; t < l->p->n_terms; t++)
      if (l->wanted[t] && l->p->terms[t].varies == (vary == 1)) {
        l->place[t] = l->n;
        l->order[l->n++] = t;
      }
    if (!vary)
      l->out->n_scalar = l->n;
  }
  l->out->n_instructions = l->n;
}

// Instruction `reader` reads v; beyond the last one, who stores results.
static void use(struct lowering *l, struct fused_value v, int reader) {
  if (v.kind != FUSED_IS_TERM)
    return;
  int t = v.index;
  bool next = reader == l->place[t] + 1 && l->p->terms[t].varies == (reader >= l->out->n_scalar);
  l->last_use[t] = reader > l->last_use[t] ? reader : l->last_use[t];
  l->kept[t] = l->kept[t] || !next;
}

static bool find_target(struct lowering *l, int place) {
  int t = l->order[place], vary = l->p->terms[t].varies, n = vary ? FUSED_VECTORS : FUSED_SCALARS;
  l->target[t] = FUSED_NOWHERE;
  if (!l->kept[t])
    return true;
  int at = vary ? 0 : l->p->n_inputs;
  while (at < n && l->in_use[vary][at] > place)
    at++;
  if (at >= n)
    return false;
  l->in_use[vary][at] = l->last_use[t];
  l->target[t] = (uint8_t)at;
  return true;
}

static void set_operand(const struct lowering *l, struct fused_value v, int reader, uint8_t *kind, uint8_t *index) {
  *index = (uint8_t)v.index;
  if (v.kind != FUSED_IS_TERM) {
    *kind = v.kind == FUSED_IS_INPUT ? FUSED_SCALAR : FUSED_CONSTANT;
    return;
  }
  bool varies_too = l->p->terms[v.index].varies;
  bool last = l->place[v.index] == reader - 1 && varies_too == (reader >= l->out->n_scalar);
  *kind = last ? FUSED_LAST : varies_too ? FUSED_VECTOR : FUSED_SCALAR;
  *index = last ? 0 : l->target[v.index];
}

static void set_code(struct lowering *l, int place) {
  const struct fused_term *t = &l->p->terms[l->order[place]];
  struct fused_code *code = &l->out->code[place];
  *code = (struct fused_code){.operation = t->operation,
                              .target = l->target[l->order[place]],
                              .error = (uint8_t)t->noise.error,
                              .draw = (uint8_t)t->noise.draw,
                              .key = (uint8_t)t->noise.key};
  // What an operation does not read is the last result, which costs nothing.
  for (int k = 0; k < t->n_from; k++)
    set_operand(l, t->from[k], place, &code->kind[k], &code->index[k]);
}

bool fused_lower(const struct fused_program *p, struct fused_value truth, struct fused_value pass,
                 struct fused_args *out) {
  struct lowering l = {.p = p, .out = out};
  find_wanted(&l, truth, pass);
  put_in_order(&l);
  if (p->full || l.n > FUSED_INSTRUCTIONS || p->n_inputs > FUSED_INPUTS)
    return false;
  for (int i = 0; i < l.n; i++)
    for (int k = 0; k < p->terms[l.order[i]].n_from; k++)
      use(&l, p->terms[l.order[i]].from[k], i);
  use(&l, pass, l.n);
  use(&l, truth, l.n);
  for (int i = 0; i < l.n; i++) {
    if (!find_target(&l, i))
      return false;
    set_code(&l, i);
  }
  set_operand(&l, pass, l.n, &out->pass_kind, &out->pass_index);
  set_operand(&l, truth, l.n, &out->truth_kind, &out->truth_index);
  memcpy(out->constants, p->constants, (size_t)p->n_constants * sizeof *p->constants);
  return true;
}
