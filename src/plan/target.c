// SPDX-License-Identifier: Apache-2.0
// Architectures of GPUs and what they allow (CUDA C++ Programming Guide, tables of compute capabilities).
#include <string.h>

#include "plan/check.h"

bool plan_target_parse(const char *text, struct plan_target *out) {
  struct plan_target t = {0};
  const char *s = text;
  if (!s || strncmp(s, "sm_", 3) != 0)
    return false;
  for (s += 3; *s >= '0' && *s <= '9'; s++) {
    if (t.number > 99)
      return false;
    t.number = t.number * 10 + (uint32_t)(*s - '0');
  }
  if (*s == 'a' || *s == 'f')
    t.variant = *s++;
  if (*s != '\0' || t.number < 10)
    return false;
  *out = t;
  return true;
}

bool plan_target_runs_on(struct plan_target code, struct plan_target device) {
  if (code.variant == 'a')
    return code.number == device.number;
  return code.number / 10 == device.number / 10 && code.number <= device.number;
}

enum { KIB = 1024, REGISTER_FILE = 65536, RESERVED_SHARED_BYTES = 1024 };

// Of a block, and of an SM (0: not known).
static const struct {
  uint32_t number, shared_bytes, max_cluster;
  uint32_t sm_threads, sm_blocks, sm_shared_kib;
} known[] = {
    {70, 98304, 0, 2048, 32, 96},     {72, 98304, 0, 0, 0, 0},         {75, 65536, 0, 1024, 16, 64},
    {80, 166912, 0, 2048, 32, 164},   {86, 101376, 0, 1536, 16, 100},  {87, 166912, 0, 1536, 16, 164},
    {89, 101376, 0, 1536, 24, 100},   {90, 232448, 16, 2048, 32, 228}, {100, 232448, 16, 2048, 32, 228},
    {103, 232448, 16, 2048, 32, 228}, {110, 232448, 16, 0, 0, 0},      {120, 101376, 8, 1536, 24, 100},
    {121, 101376, 8, 1536, 24, 100},
};

void plan_limits_of_target(const char *target, struct plan_limits *out) {
  struct plan_target t = {0};
  *out = (struct plan_limits){.device = &plan_device_cuda,
                              .target = target,
                              .max_grid = {2147483647, 65535, 65535},
                              .max_block = {1024, 1024, 64},
                              .max_threads = 1024};
  plan_target_parse(target, &t);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].number == t.number) {
      out->max_shared_bytes = known[i].shared_bytes;
      out->max_cluster = known[i].max_cluster;
    }
}

bool plan_sm_of_target(const char *target, struct plan_sm *out) {
  struct plan_target t = {0};
  plan_target_parse(target, &t);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].number == t.number && known[i].sm_threads) {
      *out = (struct plan_sm){.max_threads = known[i].sm_threads,
                              .max_blocks = known[i].sm_blocks,
                              .registers = REGISTER_FILE,
                              .shared_bytes = known[i].sm_shared_kib * KIB,
                              .reserved_shared_bytes = t.number >= 80 ? RESERVED_SHARED_BYTES : 0};
      return true;
    }
  return false;
}
