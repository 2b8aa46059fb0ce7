// SPDX-License-Identifier: Apache-2.0
// What memory held before a recording and after it: whether it is a constant, a state that changes, or workspace.
#include <string.h>

#include "base/alloc.h"
#include "toolchain/lift/lift.h"

// Larger memory is taken for workspace. Its contents are not looked at unless it is tried whether anybody reads them.
static const uint64_t MOST_CONTENT = (uint64_t)64 << 20;

// ... and of all that is tried, on the host meanwhile.
static const uint64_t MOST_TRIED = (uint64_t)4 << 30;

// What the allocation holds; NULL when it is larger than `most` or cannot be read.
static uint8_t *download(const struct lift *l, const struct allocation *a, uint64_t most) {
  const struct cuda_driver *cu = l->driver.cu;
  uint8_t *bytes = a->bytes <= most ? base_alloc(a->bytes) : NULL;
  if (bytes && a->owner == ALLOCATION_HOST)
    memcpy(bytes, (const void *)(uintptr_t)a->real, a->bytes);
  else if (bytes && (cu->cuMemcpyDtoHAsync(bytes, a->real, a->bytes, NULL) != CUDA_SUCCESS ||
                     cu->cuStreamSynchronize(NULL) != CUDA_SUCCESS)) {
    base_free(bytes);
    bytes = NULL;
  }
  return bytes;
}

void lift_begin_contents(struct lift *l) {
  (void)l->driver.cu->cuCtxSynchronize();
  lift_forget_words(l);
  lift_forget_freed(l);
  address_map_begin(&l->memory);
  for (size_t i = 0; i < l->memory.n_allocations; i++) { // all of them are live
    struct allocation *a = &l->memory.allocations[i];
    base_free(a->content);
    a->life = ALLOCATION_BEFORE;
    a->use = ALLOCATION_UNUSED;
    a->content = download(l, a, MOST_CONTENT);
  }
}

static bool is_zero(const struct allocation *a) {
  return a->content[0] == 0 && memcmp(a->content, a->content + 1, a->bytes - 1) == 0;
}

// One allocation from before that the recording used. If it holds what it held before, and nothing wrote to it, it is a
// constant. Otherwise it is a state that calls carry on, and the plan brings back what the first call found, or, if it
// is large, workspace (cuBLAS sets counters in its own to zero), which is zeros at first. Workspace that was written in
// part and holds anything else is left over: whether that is read has to be tried (lift_left_overs). So is what is too
// large to be looked at: it may be a table.
static void end_allocation(struct lift *l, struct allocation *a) {
  enum { WORKSPACE = 1 << 20 };
  bool written = a->use == ALLOCATION_WRITTEN, large = a->bytes >= WORKSPACE;
  uint8_t *now = a->content ? download(l, a, MOST_CONTENT) : NULL;
  bool same = now && memcmp(now, a->content, a->bytes) == 0;
  bool constant = same && !written;
  bool in_part = same && written && large && !is_zero(a);
  if ((in_part || a->bytes > MOST_CONTENT) && !a->left_over) {
    a->left_over = true;
    l->n_left_over++;
  }
  const struct record_state e = {
      .address = a->address, .bytes = a->bytes, .kind = constant ? RECORD_STATE_CONSTANT : RECORD_STATE_RESTORED};
  log_writer_state(&l->writer, &e, a->content, a->content && (constant || !large) ? (size_t)a->bytes : 0);
  base_free(now);
}

void lift_end_contents(struct lift *l) {
  (void)l->driver.cu->cuCtxSynchronize();
  for (size_t i = 0; i < l->memory.n_allocations; i++) {
    struct allocation *a = &l->memory.allocations[i];
    if (allocation_was_before(a) && a->use != ALLOCATION_UNUSED)
      end_allocation(l, a);
  }
}

// ---- left-over memory

static void upload(const struct lift *l, const struct allocation *a) {
  if (a->owner == ALLOCATION_HOST)
    memcpy((void *)(uintptr_t)a->real, a->content, a->bytes);
  else
    (void)l->driver.cu->cuMemcpyHtoDAsync(a->real, a->content, a->bytes, NULL);
}

// Zeros, and what it held becomes its content, for which there is so much room.
static bool empty(const struct lift *l, struct allocation *a, uint64_t *room) {
  base_free(a->content);
  a->content = download(l, a, *room);
  if (!a->content)
    return false;
  *room -= a->bytes;
  if (a->owner != ALLOCATION_HOST)
    return l->driver.cu->cuMemsetD8Async(a->real, 0, a->bytes, NULL) == CUDA_SUCCESS;
  memset((void *)(uintptr_t)a->real, 0, a->bytes);
  return true;
}

int lift_left_overs(struct lift *l, enum lift_left_overs what) {
  int n = 0;
  uint64_t room = MOST_TRIED;
  bool done = l->driver.cu->cuCtxSynchronize() == CUDA_SUCCESS;
  for (size_t i = 0; i < l->memory.n_allocations; i++) {
    struct allocation *a = &l->memory.allocations[i];
    if (!a->left_over)
      continue;
    a->left_over = what != LIFT_PUT_BACK;
    if (!allocation_is_live(a))
      continue;
    n++;
    if (what == LIFT_EMPTY)
      done = empty(l, a, &room) && done;
    else if (what == LIFT_PUT_BACK && a->content)
      upload(l, a);
  }
  if (what == LIFT_PUT_BACK)
    l->n_left_over = n;
  done = done && n == l->n_left_over && l->driver.cu->cuCtxSynchronize() == CUDA_SUCCESS;
  if (what == LIFT_PUT_BACK)
    l->n_left_over = 0;
  return done ? n : -1;
}
