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

static const struct {
  uint32_t number, shared_bytes, max_cluster;
} known[] = {
    {70, 98304, 0},    {72, 98304, 0},   {75, 65536, 0},   {80, 166912, 0},   {86, 101376, 0},
    {87, 166912, 0},   {89, 101376, 0},  {90, 232448, 16}, {100, 232448, 16}, {103, 232448, 16},
    {110, 232448, 16}, {120, 101376, 8}, {121, 101376, 8},
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
