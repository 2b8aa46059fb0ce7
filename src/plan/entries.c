// The names of the kernels in PTX and SPIR-V. Of their parameters nothing is said here.
#include <string.h>

#include "plan/check.h"

enum { MAX_KERNELS = 65536 };

static bool is_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static enum assay_status add(struct arena *arena, struct cubin_info *out, size_t *capacity, const char *name, size_t n,
                             struct assay_error *err) {
  struct cubin_kernel *kernels = (struct cubin_kernel *)out->kernels;
  if (out->n_kernels == MAX_KERNELS || n > PLAN_MAX_NAME)
    return error_set(err, ASSAY_ERR_LIMIT, "more than %d kernels, or a name of more than %d bytes", MAX_KERNELS,
                     PLAN_MAX_NAME);
  if ((size_t)out->n_kernels == *capacity) {
    kernels = arena_grow(arena, kernels, *capacity, capacity, sizeof *kernels);
    if (!kernels)
      return error_nomem(err, "the names of kernels");
    out->kernels = kernels;
  }
  kernels[out->n_kernels].name = arena_strndup(arena, name, n);
  kernels[out->n_kernels].n_parameters = -1;
  return kernels[out->n_kernels++].name ? ASSAY_OK : error_nomem(err, "the names of kernels");
}

// ".entry NAME"; a comment that says the same does no harm, the driver looks the kernel up itself.
enum assay_status entries_of_ptx(const struct plan_module *m, struct arena *arena, struct cubin_info *out,
                                 struct assay_error *err) {
  const char *s = (const char *)m->bytes, *end = s + m->size;
  size_t capacity = 0;
  enum assay_status status = ASSAY_OK;
  while (!status && (s = memmem(s, (size_t)(end - s), ".entry", 6))) {
    s += 6;
    while (s < end && is_space(*s))
      s++;
    const char *name = s;
    while (s < end && is_identifier(*s))
      s++;
    if (s > name)
      status = add(arena, out, &capacity, name, (size_t)(s - name), err);
  }
  return status;
}

enum { SPIRV_MAGIC = 0x07230203, SPIRV_HEAD_WORDS = 5, SPIRV_ENTRY_POINT = 15 };

// OpEntryPoint (SPIR-V specification, 3.52.6): model, id, then the name as a string with a NUL.
enum assay_status entries_of_spirv(const struct plan_module *m, struct arena *arena, struct cubin_info *out,
                                   struct assay_error *err) {
  size_t n = m->size / 4, capacity = 0;
  uint32_t word = 0;
  if (n >= SPIRV_HEAD_WORDS)
    memcpy(&word, m->bytes, 4);
  if (m->size % 4 || word != SPIRV_MAGIC)
    return error_set(err, ASSAY_ERR_INVALID, "it is no SPIR-V: it does not begin with the magic number");
  for (size_t i = SPIRV_HEAD_WORDS; i < n;) {
    memcpy(&word, m->bytes + i * 4, 4);
    size_t words = word >> 16;
    if (words == 0 || words > n - i)
      return error_set(err, ASSAY_ERR_INVALID, "the SPIR-V is damaged: an instruction is longer than the module");
    const char *name = (const char *)m->bytes + (i + 3) * 4;
    if ((word & 0xffff) == SPIRV_ENTRY_POINT && words > 3) {
      enum assay_status status = add(arena, out, &capacity, name, strnlen(name, (words - 3) * 4), err);
      if (status)
        return status;
    }
    i += words;
  }
  return ASSAY_OK;
}
