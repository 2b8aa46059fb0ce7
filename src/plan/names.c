#include "plan/names.h"

#include <string.h>

const char *const plan_role_names[] = {"input", "output", "scratch", "constant", NULL};
const char *const plan_code_names[] = {"cubin", "ptx", "opencl_c", "spirv", NULL};
const char *const plan_step_names[] = {"launch", "fill", "copy", "set_symbol", NULL};

int plan_name_index(const char *const *names, const char *name) {
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0)
      return i;
  return -1;
}

static const struct {
  int32_t number;
  const char *name;
  int bytes;
} dtypes[] = {
#define PLAN_DTYPE_ROW(number, name, bytes) {number, name, bytes},
    PLAN_DTYPES(PLAN_DTYPE_ROW)
#undef PLAN_DTYPE_ROW
};

const char *plan_dtype_name(int32_t dtype) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].number == dtype)
      return dtypes[i].name;
  return NULL;
}

int plan_dtype_bytes(int32_t dtype) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (dtypes[i].number == dtype)
      return dtypes[i].bytes;
  return 0;
}

bool plan_dtype_by_name(const char *name, int32_t *out) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (strcmp(dtypes[i].name, name) == 0) {
      *out = dtypes[i].number;
      return true;
    }
  return false;
}

bool plan_tensor_bytes(const struct plan_tensor *t, uint64_t *bytes) {
  uint64_t n = (uint64_t)plan_dtype_bytes(t->dtype);
  if (n == 0 || t->rank < 0 || t->rank > PLAN_MAX_RANK)
    return false;
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] < 1 || __builtin_mul_overflow(n, (uint64_t)t->dims[i], &n))
      return false;
  *bytes = n;
  return n <= INT64_MAX;
}

size_t plan_utf8_length(const char *s, size_t n) {
  const unsigned char *u = (const unsigned char *)s;
  if (n == 0)
    return 0;
  if (u[0] < 0x80)
    return 1;
  size_t length = u[0] >= 0xc2 && u[0] <= 0xdf ? 2 : (u[0] & 0xf0) == 0xe0 ? 3 : u[0] >= 0xf0 && u[0] <= 0xf4 ? 4 : 0;
  if (length == 0 || length > n)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((u[i] & 0xc0) != 0x80)
      return 0;
  if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) || (u[0] == 0xf0 && u[1] < 0x90) ||
      (u[0] == 0xf4 && u[1] > 0x8f))
    return 0;
  return length;
}

// C0, DEL, and the C1 controls, which terminals obey too (they are C2 80 .. C2 9F in UTF-8).
static bool is_control(const char *s, size_t length) {
  unsigned char c = (unsigned char)s[0];
  return c < 0x20 || c == 0x7f || (length == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0);
}

const char *plan_shown(const char *name, char text[PLAN_SHOWN_BYTES]) {
  const char *s = name ? name : "";
  size_t used = 0, left = strlen(s);
  while (left) {
    size_t length = plan_utf8_length(s, left);
    size_t take = length ? length : 1;
    if (used + take + 4 > PLAN_SHOWN_BYTES) {
      memcpy(text + used, "...", 3);
      used += 3;
      break;
    }
    if (length == 0 || is_control(s, length))
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
