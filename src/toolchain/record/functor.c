// SPDX-License-Identifier: Apache-2.0
#include "toolchain/record/functor.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

// nvcc wraps a lambda for host and device into a struct whose first word is the address of the host's copy; the fields
// follow. Those of the legacy kernel begin with an OffsetCalculator: the number of dimensions, for each of at most 25 a
// divider of three words, then for each a stride of every operand. The operands' addresses follow, and then what is
// computed.
enum { MOST_DIMENSIONS = 25, DIVIDER_BYTES = 12, STRIDES_AT = 4 + MOST_DIMENSIONS * DIVIDER_BYTES, MOST_OPERANDS = 8 };

static const char PYTORCH[] = "_ZN2at6native";

bool functor_is_argument(const char *kernel, int index) {
  return index == 1 && strncmp(kernel, PYTORCH, strlen(PYTORCH)) == 0 && strstr(kernel, "elementwise_kernel");
}

static uint64_t bytes_of(const struct plan_argument *a, uint32_t at, uint32_t size) {
  uint64_t word = 0;
  if (at + size <= a->size)
    memcpy(&word, a->bytes + at, size);
  return word;
}

// Where malloc takes memory in a program at a fixed address, which Python is: the host's copy of a lambda. Blocks begin
// at multiples of 16.
static bool is_heap(const struct plan_argument *a) {
  uint64_t word = bytes_of(a, 0, 8);
  return a->n_pointers == 0 && word >= UINT64_C(0x400000) && word < UINT64_C(0x80000000) && word % 16 == 0;
}

// A lambda without fields is such an address and nothing else. That of x^2, x^3 and x^-2 may hold anything. (One that
// holds an exponent has 16 bytes, or is of complex numbers: those are of pow_tensor_scalar_kernel itself.)
bool functor_is_leftover(const char *kernel, const struct plan_argument *a, const struct plan_argument *b) {
  return a->size == 8 && (strstr(kernel, "pow_tensor_scalar_kernel_impl") || (is_heap(a) && is_heap(b)));
}

static const struct plan_pointer *meant_at(const struct plan_argument *a, uint32_t at) {
  for (int i = 0; i < a->n_pointers; i++)
    if (a->pointers[i].at == at)
      return a->pointers[i].doubt ? NULL : &a->pointers[i];
  return NULL;
}

// Whether so many operands' addresses stand where they do if there are so many and the fields begin at `base`.
static bool has_operands(const struct plan_argument *a, const struct plan_argument *b, uint32_t base,
                         uint32_t operands) {
  uint32_t first = (base + STRIDES_AT + 4 * MOST_DIMENSIONS * operands + 7) / 8 * 8;
  for (uint32_t i = 0; i < operands; i++) {
    uint32_t at = first + 8 * i;
    const struct plan_pointer *p = meant_at(a, at), *q = meant_at(b, at);
    if (!p || !q || p->buffer != q->buffer || p->offset != q->offset)
      return false;
  }
  return true;
}

static struct functor_gaps gaps_of(const struct plan_argument *a, const struct plan_argument *b, uint32_t base) {
  struct functor_gaps none = {{0}, {0}};
  uint32_t dims = (uint32_t)bytes_of(a, base, 4), operands = 1;
  if (dims > MOST_DIMENSIONS || dims != (uint32_t)bytes_of(b, base, 4))
    return none;
  while (operands <= MOST_OPERANDS && !has_operands(a, b, base, operands))
    operands++;
  if (operands > MOST_OPERANDS)
    return none;
  return (struct functor_gaps){
      .first = {base + 4 + dims * DIVIDER_BYTES, base + STRIDES_AT + 4 * operands * dims},
      .end = {base + STRIDES_AT, base + STRIDES_AT + 4 * operands * MOST_DIMENSIONS},
  };
}

struct functor_gaps functor_gaps(const char *kernel, const struct plan_argument *a, const struct plan_argument *b) {
  struct functor_gaps gaps = {{0}, {0}};
  bool legacy = functor_is_argument(kernel, 1) && !strstr(kernel, "vectorized_") && !strstr(kernel, "unrolled_");
  for (uint32_t base = 0; base <= 8 && legacy && a->size == b->size && !gaps.end[1]; base += 8)
    gaps = gaps_of(a, b, base);
  return gaps;
}

bool functor_in_gap(const struct functor_gaps *g, uint32_t at) {
  return (at >= g->first[0] && at < g->end[0]) || (at >= g->first[1] && at < g->end[1]);
}

// Past a number that is an argument of a template (Li4E), an earlier part (S0_) or one letter.
static const char *past(const char *s) {
  const char *e = s + 1;
  if (*s == 'L' && islower((unsigned char)s[1]))
    e = strchr(s, 'E');
  else if (*s == 'S' || *s == 'T')
    while (isdigit((unsigned char)*e) || isupper((unsigned char)*e))
      e++;
  bool part = e && ((*s == 'L' && e > s + 1) || ((*s == 'S' || *s == 'T') && *e == '_'));
  return part ? e + 1 : s + 1;
}

// A mangled name has identifiers with their lengths before them. The kernel's own comes first; what is given to it is
// the next one that ends like a function or class of PyTorch's.
const char *functor_name(const char *kernel, char *text, int size) {
  static const char *const ends[] = {"_kernel_impl", "_kernel_cuda", "_kernel", "KernelImpl", "Functor", "_cuda"};
  *text = '\0';
  if (!functor_is_argument(kernel, 1))
    return text;
  for (const char *s = strstr(kernel, "elementwise_kernel") + strlen("elementwise_kernel"); *s;) {
    char *name = NULL;
    long length = isdigit((unsigned char)*s) ? strtol(s, &name, 10) : 0;
    if (length <= 0 || (size_t)length > strlen(name)) {
      s = past(s);
      continue;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
      long tail = (long)strlen(ends[i]);
      if (length > tail && strncmp(name + length - tail, ends[i], (size_t)tail) == 0) {
        snprintf(text, (size_t)size, "%.*s", (int)length, name);
        return text;
      }
    }
    s = name + length;
  }
  return text;
}
