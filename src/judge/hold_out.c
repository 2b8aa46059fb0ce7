// SPDX-License-Identifier: Apache-2.0
#include "judge/hold_out.h"

#include "base/rng.h"
#include "task/distribution.h"

enum { STREAM_PROBE = 1, STREAM_SHAPE };

unsigned hold_out_probes(uint64_t number, unsigned probes) {
  const unsigned always =
      1u << PROBE_DECLARED | 1u << PROBE_ZERO_MEAN | 1u << PROBE_ROW_SCALES | 1u << PROBE_STRIPES | 1u << PROBE_OPPOSED;
  unsigned others = probes & ~always;
  int n = __builtin_popcount(others);
  if (number == 0 || n == 0)
    return probes;
  int which = (int)(rng_mix64(rng_derive(number, STREAM_PROBE)) % (uint64_t)n);
  for (int i = 0; i < which; i++)
    others &= others - 1;
  return probes & ~(others & -others);
}

bool hold_out_shape(uint64_t number, enum shape_kind kind) {
  static const enum shape_kind kinds[] = {SHAPE_NEIGHBOUR, SHAPE_MULTIPLES, SHAPE_MIXED};
  uint64_t which = rng_mix64(rng_derive(number, STREAM_SHAPE)) % (sizeof kinds / sizeof *kinds);
  return number != 0 && kind == kinds[which];
}
