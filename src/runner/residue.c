// SPDX-License-Identifier: Apache-2.0
#include "runner/residue.h"

#include <malloc.h>
#include <string.h>

// The kinds of device/garbage.h, of one byte each, as that is all that the allocator takes. As floats:
// NaN, 12.1, 3.4e38; as double precision: NaN, 2.3e6, 1.4e306.
static int byte_of(unsigned round) {
  static const int bytes[] = {0xff, 0x41, 0x7f};
  return bytes[round % 3];
}

// Deeper than what a kernel's functions have for their own, mostly, and well within any stack.
enum { DEPTH_BYTES = 64 << 10 };

__attribute__((noinline)) void residue_leave_on_stack(unsigned round) {
  unsigned char room[DEPTH_BYTES];
  memset(room, byte_of(round), sizeof room);
  __asm__ volatile("" : : "r"(room) : "memory");
}

// glibc fills new blocks with the complement of the byte, and those that are given back with the byte itself.
void residue_leave(unsigned round) {
  mallopt(M_PERTURB, byte_of(round) ^ 0xff);
  residue_leave_on_stack(round);
}

void residue_end(void) {
  mallopt(M_PERTURB, 0);
}
