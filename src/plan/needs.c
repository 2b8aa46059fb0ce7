// SPDX-License-Identifier: Apache-2.0
// What a plan's kernels need of an SM.
#include <math.h>
#include <string.h>

#include "plan/plan.h"

enum {
  WARP = 32,
  REGISTER_UNIT = 256, // registers are given to a warp by so many
  PARTITIONS = 4,      // of an SM: warps are spread over them, each has its part of the registers
  SHARED_UNIT = 128,   // shared memory is given to a block by so many bytes
};

static uint32_t least(uint64_t a, uint64_t b) {
  uint64_t x = a < b ? a : b;
  return x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
}

uint32_t plan_resident_blocks(const struct plan_sm *sm, uint32_t threads, uint32_t registers, uint64_t shared_bytes) {
  uint64_t warps = ((uint64_t)threads + WARP - 1) / WARP;
  if (warps == 0)
    return 0;
  uint32_t blocks = least(sm->max_blocks, sm->max_threads / WARP / warps);
  uint64_t of_warp = ((uint64_t)registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
  if (of_warp > 0) {
    uint64_t resident = sm->registers / PARTITIONS / of_warp * PARTITIONS;
    blocks = least(blocks, resident / ((warps + PARTITIONS - 1) / PARTITIONS * PARTITIONS));
  }
  if (shared_bytes > sm->shared_bytes)
    return 0;
  uint64_t shared = (shared_bytes + sm->reserved_shared_bytes + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
  return shared > 0 ? least(blocks, sm->shared_bytes / shared) : blocks;
}

static const char *name_of(const struct plan_step *s) {
  return s->label && *s->label ? s->label : s->kernel;
}

static void note(const struct plan_step *s, const struct cubin_kernel *k, const struct plan_sm *sm,
                 struct plan_need *out) {
  *out = (struct plan_need){.name = name_of(s),
                            .registers = k->registers,
                            .local_bytes = k->local_bytes,
                            .shared_bytes = (uint64_t)k->static_shared_bytes + s->shared_bytes,
                            .threads = s->block[0] * s->block[1] * s->block[2],
                            .occupancy = NAN};
  if (!sm)
    return;
  out->blocks = plan_resident_blocks(sm, out->threads, out->registers, out->shared_bytes);
  out->occupancy = (double)out->blocks * out->threads / sm->max_threads;
}

// The need of the step's kernel among those that are there already.
static struct plan_need *find(struct plan_need *needs, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(needs[i].name, name) == 0)
      return &needs[i];
  return NULL;
}

enum assay_status plan_needs(const struct plan *p, struct plan_need *out, int most, int *n, struct assay_error *err) {
  struct arena arena = {0};
  struct plan_sm sm;
  bool known = plan_sm_of_target(p->target, &sm);
  enum assay_status status = ASSAY_OK;
  struct cubin_info *cubins = arena_calloc(&arena, (size_t)p->n_modules + 1, sizeof *cubins);
  if (!cubins)
    status = error_nomem(err, "what kernels need");
  for (int i = 0; i < p->n_modules && !status; i++)
    if (p->modules[i].code == PLAN_CUBIN)
      status = cubin_read(p->modules[i].bytes, p->modules[i].size, &arena, &cubins[i], err);
  *n = 0;
  for (int i = 0; i < p->n_steps && !status; i++) {
    const struct plan_step *s = &p->steps[i];
    const struct cubin_kernel *k = s->kind == PLAN_LAUNCH ? cubin_find(&cubins[s->module], s->kernel) : NULL;
    struct plan_need *need = k ? find(out, *n, name_of(s)) : NULL;
    if (k && !need && *n < most)
      note(s, k, known ? &sm : NULL, need = &out[(*n)++]);
    if (need)
      need->launches++;
  }
  arena_release(&arena);
  return status;
}
