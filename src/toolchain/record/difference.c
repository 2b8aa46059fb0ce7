// SPDX-License-Identifier: Apache-2.0
#include "toolchain/record/difference.h"

#include <stdio.h>
#include <string.h>

#include "plan/names.h"
#include "toolchain/record/format.h"
#include "toolchain/record/functor.h"

static bool same_place(struct plan_place a, struct plan_place b) {
  return a.buffer == b.buffer && a.offset == b.offset;
}

static bool same_map(const struct plan_tensor_map *a, const struct plan_tensor_map *b) {
  return a->buffer == b->buffer && a->offset == b->offset && a->data_type == b->data_type && a->rank == b->rank &&
         memcmp(a->dims, b->dims, sizeof a->dims) == 0 && memcmp(a->strides, b->strides, sizeof a->strides) == 0 &&
         memcmp(a->box, b->box, sizeof a->box) == 0 &&
         memcmp(a->element_strides, b->element_strides, sizeof a->element_strides) == 0 &&
         a->interleave == b->interleave && a->swizzle == b->swizzle && a->l2_promotion == b->l2_promotion &&
         a->oob_fill == b->oob_fill;
}

// Where Linux puts stacks, libraries and programs.
static bool is_host_address(uint64_t word) {
  return (word >= UINT64_C(0x7e0000000000) && word < UINT64_C(0x800000000000)) ||
         (word >= UINT64_C(0x550000000000) && word < UINT64_C(0x570000000000));
}

// Whether the argument could be a number, so that every byte of it counts. Of 8 bytes it is none, but a functor and a
// number after it, when one half is the same and not 0; or what the stack held, when it is an address of the host.
static bool is_number(const struct plan_argument *a, const struct plan_argument *b) {
  uint32_t one[2], other[2];
  uint64_t word, second;
  if (a->size != 8)
    return a->size == 2 || a->size == 4;
  if (a->n_pointers || b->n_pointers)
    return true;
  memcpy(one, a->bytes, sizeof one);
  memcpy(other, b->bytes, sizeof other);
  memcpy(&word, a->bytes, sizeof word);
  memcpy(&second, b->bytes, sizeof second);
  bool has_number = (one[0] == other[0] && one[0] != 0) || (one[1] == other[1] && one[1] != 0);
  return !has_number && !(is_host_address(word) && is_host_address(second));
}

static const struct plan_pointer *pointer_at(const struct plan_argument *a, uint32_t at) {
  for (int i = 0; i < a->n_pointers; i++)
    if (a->pointers[i].at == at)
      return &a->pointers[i];
  return NULL;
}

// The word that was recorded there.
static uint64_t word_at(const struct plan_argument *a, uint32_t at) {
  const struct plan_pointer *p = pointer_at(a, at);
  uint64_t word = p ? p->word : 0;
  if (!p && at + sizeof word <= a->size)
    memcpy(&word, a->bytes + at, sizeof word);
  return word;
}

static bool points_to(const struct plan_pointer *p, const struct plan_pointer *q) {
  return p->buffer == q->buffer && p->offset == q->offset && p->doubt == q->doubt;
}

static bool same_pointers(const struct plan_argument *a, const struct plan_argument *b) {
  if (a->n_pointers != b->n_pointers)
    return false;
  for (int i = 0; i < a->n_pointers; i++)
    if (a->pointers[i].at != b->pointers[i].at || a->pointers[i].doubt || !points_to(&a->pointers[i], &b->pointers[i]))
      return false;
  return true;
}

// A pointer into one place here and into another there: that is meant, and no leftover, but in gaps. NULL: none.
static const struct plan_pointer *contradiction(const struct plan_argument *a, const struct plan_argument *b,
                                                const struct functor_gaps *gaps) {
  for (int i = 0; i < a->n_pointers; i++) {
    const struct plan_pointer *p = &a->pointers[i], *q = pointer_at(b, p->at);
    if (q && !p->doubt && !q->doubt && !points_to(p, q) && !functor_in_gap(gaps, p->at))
      return p;
  }
  return NULL;
}

// Whether the word is of the range from which a recording's own memory has its addresses. Others' memory is where it
// was in both recordings.
static bool is_own_address(uint64_t word) {
  return word >= RECORD_FIRST_ADDRESS - RECORD_GAP_BYTES && word < RECORD_LAST_ADDRESS;
}

// Makes numbers of what are pointers in `a`, where `b` has the same word and not the same place. The arguments are
// their plans' own memory, which arenas hold writable.
static void restore_numbers(struct plan_argument *a, const struct plan_argument *b) {
  struct plan_pointer *pointers = (struct plan_pointer *)a->pointers;
  int kept = 0;
  for (int i = 0; i < a->n_pointers; i++) {
    const struct plan_pointer p = pointers[i], *q = pointer_at(b, p.at);
    bool memory = q && !p.doubt && !q->doubt; // of one place, or of two that contradict each other
    if (memory || !is_own_address(p.word) || p.word != word_at(b, p.at))
      pointers[kept++] = p;
    else
      memcpy((uint8_t *)a->bytes + p.at, &p.word, sizeof p.word);
  }
  a->n_pointers = kept;
}

// Of a word that is a pointer in one recording at most: halves that are the same are numbers next to padding.
static void settle_word(struct plan_argument *a, const struct plan_argument *b, uint32_t at) {
  uint64_t one = word_at(a, at), other = word_at(b, at);
  uint8_t *bytes = (uint8_t *)a->bytes + at;
  for (int half = 0; half < 2; half++) {
    bool same = memcmp((uint8_t *)&one + 4 * half, (uint8_t *)&other + 4 * half, 4) == 0;
    if (same)
      memcpy(bytes + 4 * half, (uint8_t *)&one + 4 * half, 4);
    else
      memset(bytes + 4 * half, 0, 4);
    a->unsettled += same ? 0 : 4;
  }
}

// Leaves in `a` what both have.
static void settle_bytes(struct plan_argument *a, const struct plan_argument *b) {
  uint8_t *bytes = (uint8_t *)a->bytes;
  struct plan_pointer *pointers = (struct plan_pointer *)a->pointers;
  int kept = 0;
  for (uint32_t k = 0; k < a->size; k++) {
    const struct plan_pointer *p = pointer_at(a, k), *q = pointer_at(b, k);
    if (p && q && !p->doubt && points_to(p, q)) { // the bytes under them are zero in both
      pointers[kept++] = *p;
      k += 7;
    } else if (p || q) {
      settle_word(a, b, k);
      k += 7;
    } else if (bytes[k] != b->bytes[k]) {
      bytes[k] = 0;
      a->unsettled++;
    }
  }
  a->n_pointers = kept;
}

static bool settle_argument(struct plan_argument *a, struct plan_argument *b, const char *kernel, int index) {
  if (a->kind != b->kind || a->size != b->size)
    return false;
  if (a->kind == PLAN_TENSOR_MAP)
    return same_map(a->map, b->map);
  if (a->kind != PLAN_BYTES)
    return true;
  restore_numbers(a, b);
  restore_numbers(b, a); // what is a number there by now, is one here
  if (same_pointers(a, b) && memcmp(a->bytes, b->bytes, a->size) == 0)
    return true;
  bool functor = functor_is_argument(kernel, index);
  struct functor_gaps gaps = functor ? functor_gaps(kernel, a, b) : (struct functor_gaps){{0}, {0}};
  if (!(functor && functor_is_leftover(kernel, a, b)) && (is_number(a, b) || contradiction(a, b, &gaps)))
    return false;
  settle_bytes(a, b);
  return true;
}

static bool same_code(const struct plan *a, const struct plan_step *s, const struct plan *b,
                      const struct plan_step *t) {
  const struct plan_module *m = &a->modules[s->module], *n = &b->modules[t->module];
  return m->size == n->size && memcmp(m->bytes, n->bytes, m->size) == 0;
}

static const char *kind_text(const struct plan_step *s, char shown[PLAN_SHOWN_BYTES]) {
  static const char *const kinds[] = {[PLAN_FILL] = "a fill", [PLAN_COPY] = "a copy", [PLAN_SET_SYMBOL] = "a symbol"};
  return s->kind == PLAN_LAUNCH ? plan_shown(s->label ? s->label : s->kernel, shown) : kinds[s->kind];
}

// What it computes, where its name says so, and in what its argument differs.
static void say_argument(const struct plan *a, const struct plan *b, const struct plan_step *s,
                         const struct plan_step *t, int index, char *text, size_t size) {
  const struct plan_argument *x = &s->arguments[index], *y = &t->arguments[index];
  char name[80], shown[2][PLAN_SHOWN_BYTES];
  const struct functor_gaps none = {{0}, {0}};
  const struct plan_pointer *p = contradiction(x, y, &none), *q = p ? pointer_at(y, p->at) : NULL;
  if (*functor_name(s->kernel, name, sizeof name)) {
    int n = snprintf(text, size, " of %s", name);
    text += n > 0 && (size_t)n < size ? n : 0;
    size -= n > 0 && (size_t)n < size ? (size_t)n : 0;
  }
  if (x->kind != PLAN_BYTES || y->kind != PLAN_BYTES)
    return;
  if (x->size == 8 && y->size == 8)
    snprintf(text, size, " (0x%016llx, 0x%016llx)", (unsigned long long)word_at(x, 0),
             (unsigned long long)word_at(y, 0));
  else if (q)
    snprintf(text, size, " (byte %u of %u points to %.60s%+lld, and to %.60s%+lld)", p->at, x->size,
             plan_shown(a->buffers[p->buffer].name, shown[0]), (long long)p->offset,
             plan_shown(b->buffers[q->buffer].name, shown[1]), (long long)q->offset);
}

static bool launches_differ(struct plan *a, const struct plan_step *s, const struct plan *b, const struct plan_step *t,
                            int index, char *text, size_t size) {
  char shown[PLAN_SHOWN_BYTES], other[PLAN_SHOWN_BYTES];
  kind_text(s, shown);
  if (strcmp(s->kernel, t->kernel) != 0 || !same_code(a, s, b, t))
    snprintf(text, size, "step %d launches %.80s and not %.80s", index, kind_text(t, other), shown);
  else if (memcmp(s->grid, t->grid, sizeof s->grid) != 0 || memcmp(s->block, t->block, sizeof s->block) != 0 ||
           memcmp(s->cluster, t->cluster, sizeof s->cluster) != 0 || s->shared_bytes != t->shared_bytes ||
           s->cooperative != t->cooperative || s->programmatic != t->programmatic || s->carveout != t->carveout)
    snprintf(text, size, "step %d launches %.80s in another configuration", index, shown);
  else if (s->n_arguments != t->n_arguments)
    snprintf(text, size, "step %d launches %.80s with %d arguments and not %d", index, shown, t->n_arguments,
             s->n_arguments);
  else {
    for (int i = 0; i < s->n_arguments; i++)
      if (!settle_argument((struct plan_argument *)&s->arguments[i], (struct plan_argument *)&t->arguments[i],
                           s->kernel, i)) {
        int n = snprintf(text, size, "argument %d of step %d, launch of %.80s, is another", i, index, shown);
        if (n > 0 && (size_t)n < size)
          say_argument(a, b, s, t, i, text + n, size - (size_t)n);
        return true;
      }
    return false;
  }
  return true;
}

static bool steps_differ(struct plan *a, const struct plan *b, int i, char *text, size_t size) {
  const struct plan_step *s = &a->steps[i], *t = &b->steps[i];
  char shown[PLAN_SHOWN_BYTES], other[PLAN_SHOWN_BYTES];
  if (s->kind != t->kind) {
    snprintf(text, size, "step %d is %.80s and not %.80s", i, kind_text(t, other), kind_text(s, shown));
    return true;
  }
  if (s->kind == PLAN_LAUNCH)
    return launches_differ(a, s, b, t, i, text, size);
  bool same = same_place(s->to, t->to) && same_place(s->from, t->from) && s->bytes == t->bytes &&
              s->value == t->value && s->width == t->width &&
              (s->kind != PLAN_SET_SYMBOL || (strcmp(s->symbol, t->symbol) == 0 && same_code(a, s, b, t)));
  if (!same)
    snprintf(text, size, "step %d, %s, is another", i, kind_text(s, shown));
  return !same;
}

static bool is_state(const struct plan_buffer *b) {
  return strncmp(b->name, "state ", strlen("state ")) == 0;
}

static bool buffers_differ(const struct plan_buffer *s, const struct plan_buffer *t, char *text, size_t size) {
  char shown[PLAN_SHOWN_BYTES];
  bool state = is_state(s), workspace = s->role == PLAN_SCRATCH && t->role == PLAN_CONSTANT && is_state(t);
  plan_shown(s->name, shown);
  if ((s->role != t->role && !workspace) || s->bytes != t->bytes)
    snprintf(text, size, "%.80s has %llu bytes and not %llu", shown, (unsigned long long)t->bytes,
             (unsigned long long)s->bytes);
  else if (s->role == PLAN_CONSTANT && !state && memcmp(s->data, t->data, s->bytes) != 0)
    snprintf(text, size, "what it copies from the host, %.80s, is something else", shown);
  else
    return false;
  return true;
}

// Memory from before that one recording left as it was, by chance or because its data were those of the call before,
// and the other did not: kernels write to it. Scratch it is only where it is large, and taken for workspace
// (lift_end_memory).
static void settle_workspace(struct plan *a, const struct plan *b) {
  for (int i = 0; i < a->n_buffers && i < b->n_buffers; i++) {
    struct plan_buffer *s = &a->buffers[i];
    const struct plan_buffer *t = &b->buffers[i];
    if (s->role == PLAN_CONSTANT && is_state(s) && t->role == PLAN_SCRATCH && t->bytes == s->bytes) {
      s->role = PLAN_SCRATCH;
      s->data = NULL;
      s->zeroed = true;
    }
  }
}

// Whether what lies outside of a buffer is still where the driver maps memory for it, so that it can be read.
static bool is_beside(const struct plan *p, const struct plan_pointer *q) {
  const int64_t granule = 2 << 20;
  return q->offset >= -granule && q->offset <= (int64_t)p->buffers[q->buffer].bytes + granule;
}

// A pointer of `one` that is meant in both recordings and that no plan can hold.
static const struct plan_pointer *outside_of_both(const struct plan *plan, const struct plan_argument *one,
                                                  const struct plan_argument *other, const struct functor_gaps *gaps) {
  for (int i = 0; i < one->n_pointers; i++) {
    const struct plan_pointer *p = &one->pointers[i], *q = pointer_at(other, p->at);
    if (functor_in_gap(gaps, p->at))
      continue;
    bool same_word = p->word == word_at(other, p->at);
    if (p->doubt == PLAN_UNSEEN && same_word)
      return p;
    // The same word is numbers, unless it is next to memory that was there in both.
    if (p->doubt == PLAN_OUTSIDE && q && points_to(p, q) && (!same_word || is_beside(plan, p)))
      return p;
  }
  return NULL;
}

static void say_outside(const struct plan *a, const struct plan_step *s, int argument, const struct plan_pointer *p,
                        char *text, size_t size) {
  char shown[PLAN_SHOWN_BYTES], place[PLAN_SHOWN_BYTES];
  const struct plan_buffer *buffer = &a->buffers[p->buffer];
  int n = snprintf(text, size, "launch of %.80s: kernel argument %d points to ", kind_text(s, shown), argument);
  if (n < 0 || (size_t)n >= size)
    return;
  if (p->doubt == PLAN_UNSEEN)
    snprintf(text + n, size - (size_t)n, "0x%llx, memory that nobody saw being allocated", (unsigned long long)p->word);
  else
    snprintf(text + n, size - (size_t)n, "%.60s%+lld bytes, outside of its %llu bytes", plan_shown(buffer->name, place),
             (long long)p->offset, (unsigned long long)buffer->bytes);
}

bool plan_points_outside(const struct plan *a, const struct plan *b, char *text, size_t size) {
  for (int i = 0; i < a->n_steps && i < b->n_steps; i++) {
    const struct plan_step *s = &a->steps[i], *t = &b->steps[i];
    for (int k = 0; k < s->n_arguments && k < t->n_arguments; k++) {
      const struct plan_argument *one = &s->arguments[k], *other = &t->arguments[k];
      if (one->kind != PLAN_BYTES || other->kind != PLAN_BYTES || one->size != other->size)
        continue;
      struct functor_gaps gaps = {{0}, {0}};
      if (s->kind == PLAN_LAUNCH && functor_is_argument(s->kernel, k))
        gaps = functor_gaps(s->kernel, one, other);
      const struct plan_pointer *p = outside_of_both(a, one, other, &gaps);
      const struct plan_pointer *q = p ? NULL : outside_of_both(b, other, one, &gaps);
      if (!p && !q)
        continue;
      say_outside(p ? a : b, s, k, p ? p : q, text, size);
      return true;
    }
  }
  return false;
}

bool plan_difference(struct plan *a, const struct plan *b, char *text, size_t size) {
  settle_workspace(a, b);
  int steps = a->n_steps < b->n_steps ? a->n_steps : b->n_steps;
  for (int i = 0; i < steps; i++)
    if (steps_differ(a, b, i, text, size))
      return true;
  if (a->n_steps != b->n_steps) {
    snprintf(text, size, "there are %d steps and not %d", b->n_steps, a->n_steps);
    return true;
  }
  if (a->n_prepare != b->n_prepare) {
    snprintf(text, size, "%d of its steps prepare, and not %d", b->n_prepare, a->n_prepare);
    return true;
  }
  if (a->n_buffers != b->n_buffers) {
    snprintf(text, size, "it uses %d buffers and not %d", b->n_buffers, a->n_buffers);
    return true;
  }
  for (int i = 0; i < a->n_buffers; i++)
    if (buffers_differ(&a->buffers[i], &b->buffers[i], text, size))
      return true;
  return false;
}
