// SPDX-License-Identifier: Apache-2.0
// The kernels in PTX and SPIR-V: names, and where PTX is as compilers write it, the sizes of parameters.
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

// --- PTX -------------------------------------------------------------------------------------------------------------

struct text {
  const char *at, *end;
};

static void skip_space(struct text *t) {
  while (t->at < t->end && is_space(*t->at))
    t->at++;
}

// The next word: letters and digits, with a dot before them in directives and types. Empty at anything else.
static struct text take_word(struct text *t) {
  skip_space(t);
  struct text word = {t->at, t->at};
  if (t->at < t->end && *t->at == '.')
    t->at++;
  while (t->at < t->end && is_identifier(*t->at))
    t->at++;
  word.end = t->at;
  return word;
}

static bool is_word(struct text w, const char *s) {
  return (size_t)(w.end - w.at) == strlen(s) && memcmp(w.at, s, strlen(s)) == 0;
}

static bool take_sign(struct text *t, char sign) {
  skip_space(t);
  if (t->at == t->end || *t->at != sign)
    return false;
  t->at++;
  return true;
}

// A number up to the most that parameters can have; 0: none.
static uint32_t take_number(struct text *t) {
  struct text w = take_word(t);
  uint32_t n = 0;
  for (; w.at < w.end; w.at++) {
    if (*w.at < '0' || *w.at > '9' || n > PLAN_MAX_ARGUMENT_BYTES)
      return 0;
    n = n * 10 + (uint32_t)(*w.at - '0');
  }
  return n > PLAN_MAX_ARGUMENT_BYTES ? 0 : n;
}

// ".u64" is 8; 0: no type that parameters of kernels have.
static uint32_t type_bytes(struct text w) {
  static const struct {
    const char *name;
    uint32_t bytes;
  } types[] = {{".b8", 1},  {".u8", 1},  {".s8", 1},  {".b16", 2}, {".u16", 2}, {".s16", 2}, {".f16", 2}, {".b32", 4},
               {".u32", 4}, {".s32", 4}, {".f32", 4}, {".b64", 8}, {".u64", 8}, {".s64", 8}, {".f64", 8}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (is_word(w, types[i].name))
      return types[i].bytes;
  return 0;
}

// ".param .u64 .ptr .global .align 4 x" or ".param .align 8 .b8 s[24]": the bytes, 0 when it is neither.
static uint32_t take_parameter(struct text *t) {
  uint32_t bytes = 0;
  if (!is_word(take_word(t), ".param"))
    return 0;
  for (;;) {
    struct text w = take_word(t);
    if (w.at == w.end)
      return 0;
    if (*w.at != '.')
      break; // the name
    if (is_word(w, ".align")) {
      if (!take_number(t))
        return 0;
    } else if (type_bytes(w)) {
      bytes = type_bytes(w);
    } else if (!is_word(w, ".ptr") && !is_word(w, ".global") && !is_word(w, ".const") && !is_word(w, ".shared") &&
               !is_word(w, ".local")) {
      return 0;
    }
  }
  if (!take_sign(t, '['))
    return bytes;
  uint32_t count = take_number(t);
  return take_sign(t, ']') && (uint64_t)bytes * count <= PLAN_MAX_ARGUMENT_BYTES ? bytes * count : 0;
}

// The list after the name. What is not understood leaves the kernel as one that does not say.
static enum assay_status read_parameters(struct text *t, struct arena *arena, struct cubin_kernel *k,
                                         struct assay_error *err) {
  struct cubin_parameter list[PLAN_MAX_ARGUMENTS];
  uint32_t n = 0, offset = 0;
  if (!take_sign(t, '('))
    return ASSAY_OK;
  struct text empty = *t;
  if (!take_sign(&empty, ')')) {
    do {
      uint32_t bytes = n < PLAN_MAX_ARGUMENTS ? take_parameter(t) : 0;
      if (!bytes)
        return ASSAY_OK;
      list[n++] = (struct cubin_parameter){offset, bytes}; // without padding: offsets are the compiler's affair
      offset += bytes;
    } while (take_sign(t, ','));
    if (!take_sign(t, ')'))
      return ASSAY_OK;
  }
  struct cubin_parameter *kept = arena_calloc(arena, n + 1, sizeof *kept);
  if (!kept)
    return error_nomem(err, "a kernel's parameters");
  memcpy(kept, list, n * sizeof *kept);
  k->parameters = kept;
  k->n_parameters = (int)n;
  return ASSAY_OK;
}

// ".entry NAME(...)"; in comments too, which only makes a name known that the driver then does not find.
enum assay_status entries_of_ptx(const struct plan_module *m, struct arena *arena, struct cubin_info *out,
                                 struct assay_error *err) {
  struct text t = {(const char *)m->bytes, (const char *)m->bytes + m->size};
  size_t capacity = 0;
  enum assay_status status = ASSAY_OK;
  while (!status && (t.at = memmem(t.at, (size_t)(t.end - t.at), ".entry", 6))) {
    t.at += 6;
    struct text name = take_word(&t);
    if (name.at == name.end || *name.at == '.')
      continue;
    status = add(arena, out, &capacity, name.at, (size_t)(name.end - name.at), err);
    if (!status)
      status = read_parameters(&t, arena, (struct cubin_kernel *)&out->kernels[out->n_kernels - 1], err);
  }
  return status;
}

// --- SPIR-V ----------------------------------------------------------------------------------------------------------

enum { SPIRV_MAGIC = 0x07230203, SPIRV_HEAD_WORDS = 5, SPIRV_ENTRY_POINT = 15 };

// OpEntryPoint (SPIR-V specification, 3.52.6): model, id, then the name as a string with a NUL.
enum assay_status entries_of_spirv(const struct plan_module *m, struct arena *arena, struct cubin_info *out,
                                   struct assay_error *err) {
  size_t n = m->size / 4, capacity = 0;
  uint32_t word = 0;
  if (n >= SPIRV_HEAD_WORDS)
    memcpy(&word, m->bytes, 4);
  if (m->size % 4 || word != SPIRV_MAGIC)
    return error_set(err, ASSAY_ERR_INVALID, "it is not SPIR-V: it does not begin with the magic number");
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
