// SPDX-License-Identifier: Apache-2.0
// Names in the Itanium C++ ABI begin with _Z, then a length and a name, or N and several of them.
#include "toolchain/record/name.h"

#include <limits.h>
#include <string.h>

// Skips internal linkage's L in front of a name.
static const char *skip_marks(const char *p) {
  while (*p == 'L')
    p++;
  return p;
}

const char *record_short_name(const char *mangled, int *length) {
  const char *p = mangled, *name = NULL;
  int n = 0;
  size_t whole = strlen(mangled);
  *length = whole > INT_MAX ? INT_MAX : (int)whole;
  if (strncmp(p, "_Z", 2) != 0)
    return mangled;
  p += 2;
  int nested = *p == 'N', parts = 0;
  for (p = skip_marks(p + nested); *p >= '1' && *p <= '9' && (nested || parts == 0); p = skip_marks(p + n), parts++) {
    for (n = 0; *p >= '0' && *p <= '9' && n < INT_MAX / 10 - 1; p++)
      n = n * 10 + (*p - '0');
    if (strnlen(p, (size_t)n) < (size_t)n)
      return mangled;
    name = p;
    *length = n;
  }
  return name ? name : mangled;
}
