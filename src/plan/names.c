// SPDX-License-Identifier: Apache-2.0
#include "plan/names.h"

#include <string.h>

#include "base/printable.h"
#include "base/utf8.h"

const char *const plan_role_names[] = {
    [PLAN_INPUT] = "input", [PLAN_OUTPUT] = "output", [PLAN_SCRATCH] = "scratch", [PLAN_CONSTANT] = "constant", NULL};
const char *const plan_code_names[] = {
    [PLAN_CUBIN] = "cubin", [PLAN_PTX] = "ptx", [PLAN_OPENCL_C] = "opencl_c", [PLAN_SPIRV] = "spirv", NULL};
const char *const plan_step_names[] = {
    [PLAN_LAUNCH] = "launch", [PLAN_FILL] = "fill", [PLAN_COPY] = "copy", [PLAN_SET_SYMBOL] = "set_symbol", NULL};

int plan_name_index(const char *const *names, const char *name) {
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0)
      return i;
  return -1;
}

const char *plan_shown(const char *name, char text[PLAN_SHOWN_BYTES]) {
  const char *s = name ? name : "";
  size_t used = 0, left = strlen(s);
  while (left) {
    uint32_t c;
    size_t length = utf8_decode(s, left, &c);
    size_t take = length ? length : 1;
    if (used + take + 4 > PLAN_SHOWN_BYTES) {
      memcpy(text + used, "...", 3);
      used += 3;
      break;
    }
    if (length == 0 || c < 0x20 || c == 0x7f || printable_misleads(c))
      text[used++] = '?';
    else {
      memcpy(text + used, s, length);
      used += length;
    }
    s += take;
    left -= take;
  }
  text[used] = '\0';
  return text;
}
