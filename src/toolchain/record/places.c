// SPDX-License-Identifier: Apache-2.0
// Allocations of a recording, and which buffer of the plan each is.
#include "toolchain/record/places.h"

#include <string.h>

static const char no_memory[] = "memory failed",
                  too_many_buffers[] = "it uses more buffers than a plan may have (4096)";
_Static_assert(PLAN_MAX_BUFFERS == 4096, "as the text says");

// A buffer more in the plan; NULL when memory fails or there are too many.
static struct plan_buffer *add_buffer(struct places *p, const char *name, const char **why) {
  struct plan *plan = p->plan;
  *why = too_many_buffers;
  if (plan->n_buffers >= PLAN_MAX_BUFFERS)
    return NULL;
  *why = no_memory;
  if ((size_t)plan->n_buffers == p->buffer_capacity) {
    size_t capacity = p->buffer_capacity;
    void *grown = arena_grow(&plan->arena, plan->buffers, (size_t)plan->n_buffers, &capacity, sizeof *plan->buffers);
    if (!grown)
      return NULL;
    plan->buffers = grown;
    p->buffer_capacity = capacity;
  }
  if (!name)
    return NULL;
  struct plan_buffer *b = &plan->buffers[plan->n_buffers++];
  *b = (struct plan_buffer){.name = name, .alignment = RECORD_ALIGNMENT};
  return b;
}

// How many places begin at or before the address.
static size_t places_before(const struct places *p, uint64_t address) {
  size_t low = 0, high = p->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (p->all[middle]->address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static struct place *add_place(struct places *p, uint64_t address, uint64_t bytes, int buffer) {
  if (p->n == p->capacity) {
    size_t capacity = p->capacity;
    struct place **grown = arena_grow(p->arena, p->all, p->n, &capacity, sizeof *p->all);
    if (!grown)
      return NULL;
    p->all = grown;
    p->capacity = capacity;
  }
  struct place *place = arena_alloc(p->arena, sizeof *place);
  if (!place)
    return NULL;
  place->address = address;
  place->bytes = bytes;
  place->buffer = buffer;
  size_t at = places_before(p, address);
  memmove(p->all + at + 1, p->all + at, (p->n++ - at) * sizeof *p->all);
  return p->all[at] = place;
}

static bool name_is_taken(const struct plan *plan, const char *name) {
  for (int i = 0; i < plan->n_buffers; i++)
    if (!strcmp(plan->buffers[i].name, name))
      return true;
  return false;
}

// The subject's name when it has one that nobody else has (a graph may hand an input out again).
static const char *tensor_name(struct places *p, const char *name, bool input, int index) {
  struct arena *a = &p->plan->arena;
  if (name && name[0] && strlen(name) < PLAN_MAX_NAME && !name_is_taken(p->plan, name))
    return arena_strdup(a, name);
  return arena_printf(a, input ? "input %d" : "output %d", index);
}

static bool add_tensor(struct places *p, const struct record_tensor *t, const struct plan_subject *s, bool input,
                       int index) {
  const char *const *names = input ? s->input_names : s->output_names;
  const char *why;
  struct plan_buffer *b = add_buffer(p, tensor_name(p, names ? names[index] : NULL, input, index), &why);
  if (!b)
    return false;
  b->role = input ? PLAN_INPUT : PLAN_OUTPUT;
  b->index = index;
  b->tensor = input ? s->inputs[index] : s->outputs[index];
  b->bytes = t->bytes;
  struct place *place = add_place(p, t->address, t->bytes, p->plan->n_buffers - 1);
  if (place)
    place->read_only = input;
  return place != NULL;
}

bool places_init(struct places *p, struct arena *arena, struct plan *plan, const struct record_request *request,
                 const struct plan_subject *subject) {
  *p = (struct places){.arena = arena, .plan = plan};
  p->idle = arena_calloc(arena, PLAN_MAX_BUFFERS, sizeof *p->idle);
  bool complete = p->idle != NULL;
  for (uint32_t i = 0; complete && i < request->n_inputs; i++)
    complete = add_tensor(p, &request->tensors[i], subject, true, (int)i);
  for (uint32_t i = 0; complete && i < request->n_outputs; i++)
    complete = add_tensor(p, &request->tensors[request->n_inputs + i], subject, false, (int)i);
  return complete;
}

// Scratch that was freed and is as large: whoever allocates once more gets it again, as from CUDA's own pools. The plan
// runs in the order in which host code asked, so all that used it before has ended.
static int idle_buffer(struct places *p, uint64_t bytes) {
  for (int i = 0; i < p->plan->n_buffers; i++)
    if (p->idle[i] && p->plan->buffers[i].bytes == bytes) {
      p->idle[i] = false;
      return i;
    }
  return -1;
}

bool places_promise_output(struct places *p, uint64_t address, uint32_t index) {
  if (p->n_promised == PLACES_OUTPUTS)
    return false;
  for (int i = 0; i < p->plan->n_buffers; i++)
    if (p->plan->buffers[i].role == PLAN_OUTPUT && (uint32_t)p->plan->buffers[i].index == index) {
      p->promised[p->n_promised].address = address;
      p->promised[p->n_promised++].buffer = i;
      return true;
    }
  return false;
}

static int promised_output(const struct places *p, uint64_t address, uint64_t bytes) {
  for (int i = 0; i < p->n_promised; i++)
    if (p->promised[i].address == address) {
      uint64_t asked = p->plan->buffers[p->promised[i].buffer].bytes;
      return bytes >= asked && bytes - asked < RECORD_PYTORCH_BYTES ? p->promised[i].buffer : -1;
    }
  return -1;
}

// Most come in order; memory that a recording met late, and which was there before it, stands in front of its
// allocations.
static bool can_allocate(const struct places *p, uint64_t address, uint64_t bytes, const char **why) {
  size_t at = places_before(p, address);
  const struct place *last = at > 0 ? p->all[at - 1] : NULL, *next = at < p->n ? p->all[at] : NULL;
  *why = "the recording is damaged: an allocation where none can be";
  if (bytes == 0 || address % RECORD_ALIGNMENT != 0 || address >= RECORD_LAST_ADDRESS ||
      bytes > RECORD_LAST_ADDRESS - address ||
      address < (last ? record_next_address(last->address, last->bytes) : RECORD_FIRST_ADDRESS) ||
      (next && next->address < record_next_address(address, bytes)))
    return false;
  *why = "it allocates more than 16384 times";
  return p->n < PLACES_MAX;
}

bool places_alloc_as(struct places *p, uint64_t address, uint64_t bytes, int buffer, struct place **out,
                     const char **why) {
  if (!can_allocate(p, address, bytes, why))
    return false;
  *why = no_memory;
  *out = add_place(p, address, bytes, buffer);
  return *out != NULL;
}

bool places_alloc(struct places *p, uint64_t address, uint64_t bytes, struct place **out, const char **why) {
  if (!can_allocate(p, address, bytes, why))
    return false;
  int buffer = promised_output(p, address, bytes);
  if (buffer >= 0)
    bytes = p->plan->buffers[buffer].bytes;
  else
    buffer = idle_buffer(p, bytes);
  if (buffer < 0) {
    struct plan_buffer *b = add_buffer(p, arena_printf(&p->plan->arena, "scratch %d", p->n_scratch), why);
    if (!b)
      return false;
    p->n_scratch++;
    b->role = PLAN_SCRATCH;
    b->bytes = bytes;
    buffer = p->plan->n_buffers - 1;
  }
  *why = no_memory;
  *out = add_place(p, address, bytes, buffer);
  return *out != NULL;
}

void places_free(struct places *p, struct place *place) {
  place->freed = true;
  p->idle[place->buffer] = true;
}

enum found places_find(const struct places *p, uint64_t address, struct place **place, int64_t *offset) {
  if (p->n == 0 || address < RECORD_FIRST_ADDRESS - RECORD_GAP_BYTES || address >= RECORD_LAST_ADDRESS)
    return FOUND_NONE;
  size_t low = places_before(p, address);
  struct place *before = low > 0 ? p->all[low - 1] : NULL, *after = low < p->n ? p->all[low] : NULL;
  if (before && address - before->address <= before->bytes) {
    *place = before;
    *offset = (int64_t)(address - before->address);
    return before->freed ? FOUND_FREED : FOUND_INSIDE;
  }
  // In the gap: the nearer neighbour is meant.
  uint64_t behind = before ? address - before->address - before->bytes : UINT64_MAX;
  uint64_t ahead = after ? after->address - address : UINT64_MAX;
  if (behind > RECORD_GAP_BYTES && ahead > RECORD_GAP_BYTES)
    return FOUND_NONE;
  *place = behind <= ahead ? before : after;
  *offset = (int64_t)(address - (*place)->address);
  return FOUND_OUTSIDE;
}

int places_constant(struct places *p, const uint8_t *bytes, size_t n, const char **why) {
  struct arena *a = &p->plan->arena;
  *why = "it copies more than 256 MiB from the host to the device: make tables in a kernel";
  if (n > PLAN_MAX_CONSTANT_BYTES - p->constant_bytes)
    return -1;
  struct plan_buffer *b = add_buffer(p, arena_printf(a, "constant %d", p->n_constants), why);
  if (!b)
    return -1;
  *why = no_memory;
  uint8_t *copy = arena_alloc(a, n);
  if (!copy)
    return -1;
  memcpy(copy, bytes, n);
  b->role = PLAN_CONSTANT;
  b->bytes = n;
  b->data = copy;
  p->n_constants++;
  p->constant_bytes += n;
  return p->plan->n_buffers - 1;
}

const struct place *places_mentioned(const struct places *p, const uint8_t *bytes, size_t n) {
  for (size_t i = 0; i + 8 <= n; i += 8) {
    uint64_t word;
    struct place *place;
    int64_t offset;
    memcpy(&word, bytes + i, sizeof word);
    enum found found = places_find(p, word, &place, &offset);
    if (found == FOUND_INSIDE || found == FOUND_FREED)
      return place;
  }
  return NULL;
}

const char *place_name(const struct places *p, const struct place *place) {
  return p->plan->buffers[place->buffer].name;
}
