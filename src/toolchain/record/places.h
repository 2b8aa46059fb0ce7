// SPDX-License-Identifier: Apache-2.0
// Private to src/toolchain: the memory of a recording, from addresses to buffers of the plan.
#ifndef TOOLCHAIN_RECORD_PLACES_H
#define TOOLCHAIN_RECORD_PLACES_H

#include "toolchain/record/order.h"
#include "toolchain/record/read.h"

enum {
  PLACES_OUTPUTS = 64,
  PLACES_MAX = 16384
}; // allocations of one recording; buffers of the plan are fewer, for memory is used again

// One allocation, or a tensor of the subject.
struct place {
  uint64_t address, bytes;
  int buffer; // of the plan
  bool freed;
  bool read_only; // an input: no step changes it, so steps that share it need no order
  // The last work on each stream that used it, and which step it was; -1 for what is not a step (frees).
  uint32_t number[RECORD_MAX_STREAMS];
  int32_t step[RECORD_MAX_STREAMS];
};

struct places {
  struct arena *arena; // the plan's for buffers and names, this one for the books
  struct plan *plan;
  struct place **all; // by address, ascending
  size_t n, capacity;
  size_t buffer_capacity;
  bool *idle; // by buffer: scratch whose allocation was freed
  int n_scratch, n_constants, n_promised;
  struct {
    uint64_t address;
    int buffer;
  } promised[PLACES_OUTPUTS]; // allocations to come that are outputs
  uint64_t constant_bytes;
};

enum found {
  FOUND_NONE,    // no address of the device
  FOUND_INSIDE,  // in an allocation, or at its end
  FOUND_FREED,   // in one that was freed
  FOUND_OUTSIDE, // near one: `offset` is negative or beyond the size
};

// False when memory fails.
bool places_init(struct places *p, struct arena *arena, struct plan *plan, const struct record_request *request,
                 const struct plan_subject *subject);

// False with *why when the log cannot be right, or a limit of plans is reached, or memory fails.
bool places_alloc(struct places *p, uint64_t address, uint64_t bytes, struct place **out, const char **why);
void places_free(struct places *p, struct place *place);

enum found places_find(const struct places *p, uint64_t address, struct place **place, int64_t *offset);

// The allocation that will be made at this address has the size of output `index`, and is it. False when there is no
// such output, or too many are promised.
bool places_promise_output(struct places *p, uint64_t address, uint32_t index);

// As places_alloc, for memory that is a buffer of the plan already: a constant.
bool places_alloc_as(struct places *p, uint64_t address, uint64_t bytes, int buffer, struct place **out,
                     const char **why);

// A constant buffer with a copy of the bytes; its index, or -1 with *why.
int places_constant(struct places *p, const uint8_t *bytes, size_t n, const char **why);

// The first place whose address stands in the bytes (at multiples of 8), or NULL.
const struct place *places_mentioned(const struct places *p, const uint8_t *bytes, size_t n);

// "input 0", "output 1", "scratch 3": for messages. Borrowed.
const char *place_name(const struct places *p, const struct place *place);

#endif
