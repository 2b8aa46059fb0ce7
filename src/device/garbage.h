// SPDX-License-Identifier: Apache-2.0
// What memory holds that a plan has not written: on each load, or call, other words of this list. A kernel that reads
// them may be right by chance with one (NaN is where some compute an element once more; 0 is where sums begin), and
// with another one not. As float, double, half and bfloat16 they are the same kind of number; none is a plausible
// index.
#ifndef DEVICE_GARBAGE_H
#define DEVICE_GARBAGE_H

#include <stdint.h>

#define GARBAGE_NAN 0xffc1ffc1u
#define GARBAGE_ORDINARY 0x3fc13fc1u // 1.51; half: 1.94, double: 0.14
#define GARBAGE_LARGE 0xf149f149u    // -1e30; half: -10826, double: -2e238

enum { GARBAGE_KINDS = 3 };
static inline uint32_t garbage_word(uint64_t number) {
  static const uint32_t words[GARBAGE_KINDS] = {GARBAGE_NAN, GARBAGE_ORDINARY, GARBAGE_LARGE};
  return words[number % GARBAGE_KINDS];
}

#endif
