// SPDX-License-Identifier: Apache-2.0
// Reads what a cubin says of its kernels. A cubin is an ELF file for the machine 190 (EM_CUDA); what is written here
// beyond ELF was found by comparing what ptxas 12.4 and 13.0 write for known kernels:
//
//   e_flags        ABI version 7 (CUDA 12): bits 0-7 the architecture, 0x800 "a"; version 8 (CUDA 13): bits 8-15
//   .nv.compat     CUDA 13: attributes; number 9 is 1 for "sm_90a" and 0 for "sm_90"
//   .symtab        kernels are functions with 0x10 in st_other; variables are objects in .nv.global*, .nv.constant3
//   .nv.info       attributes of the whole file; 0x2f, 0x11, 0x12: registers, stack frame, and stack with what it
//   calls,
//                  of a function (index of its symbol, count)
//   .nv.info.NAME  attributes of a kernel; sh_info is the index of its .text.NAME, as in .nv.shared.NAME, whose size
//                  is the static shared memory, from sm_90 on with the 1024 bytes that the system reserves
//
// An attribute is a byte for the form, a byte for the number, and a value of two bytes; in form 4 the value is the size
// of a payload that follows.
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "plan/check.h"

enum {
  MACHINE_CUDA = 190,
  ABI_CUDA_13 = 8,
  FLAG_ACCELERATED_12 = 0x800,
  FLAG_ACCELERATED_13 = 0x8,
  SYMBOL_IS_KERNEL = 0x10,
  FORM_HALF = 3,
  FORM_PAYLOAD = 4,
  COMPAT_ISA = 9,
  ATTRIBUTE_MAX_THREADS = 0x05,
  ATTRIBUTE_PARAMETER_BANK = 0x0a,
  ATTRIBUTE_REQUIRED_BLOCK = 0x10,
  ATTRIBUTE_PARAMETER = 0x17,
  ATTRIBUTE_PARAMETER_BYTES = 0x19,
  ATTRIBUTE_FRAME = 0x11,
  ATTRIBUTE_STACK = 0x12, // with what it calls
  ATTRIBUTE_REGISTERS = 0x2f,
  ATTRIBUTE_CLUSTER = 0x3d,
  ATTRIBUTE_PARAMETER_WIDE = 0x45, // since CUDA 12.1, of kernels with more than 4096 bytes of parameters
  RESERVED_SHARED_BYTES = 1024,
  REGISTER_FILE = 65536,
  WARPS_SHARE = 4, // an SM's register file is in four parts, and a warp is in one of them
};

// What .nv.info.NAME says; read once for a section of code, however many symbols point there.
struct code {
  const Elf64_Shdr *info;
  uint64_t shared_bytes;
  bool read;
  int n_parameters;
  struct cubin_parameter *parameters;
  uint64_t max_threads;
  uint32_t block[3], cluster[3];
  bool has_parameter_bytes;
  uint32_t parameter_bytes;
};

struct reader {
  const uint8_t *bytes;
  size_t n;
  struct arena *arena;
  struct assay_error *err;
  Elf64_Ehdr head;
  const Elf64_Shdr *sections; // copies, each within the file
  int n_sections;
  Elf64_Shdr names;            // section of the sections' names
  struct code *codes;          // by section
  uint32_t *registers, *local; // by symbol
  size_t n_symbols;
};

static uint16_t get_u16(const uint8_t *p) {
  return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get_u32(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static enum assay_status bad(struct reader *r, const char *what) {
  return error_set(r->err, ASSAY_ERR_INVALID, "the cubin is damaged: %s", what);
}

static bool within(const struct reader *r, uint64_t offset, uint64_t size) {
  return offset <= r->n && size <= r->n - offset;
}

// A string of a string table, or NULL. Strings may overlap in a hostile file, hence the bound on each.
static const char *string_at(const struct reader *r, const Elf64_Shdr *table, uint64_t offset) {
  if (table->sh_type != SHT_STRTAB || offset >= table->sh_size)
    return NULL;
  const char *s = (const char *)r->bytes + table->sh_offset + offset;
  uint64_t left = table->sh_size - offset;
  return memchr(s, 0, left <= PLAN_MAX_NAME ? left : PLAN_MAX_NAME + 1) ? s : NULL;
}

static enum assay_status read_head(struct reader *r, struct cubin_info *out) {
  if (r->n < sizeof r->head || memcmp(r->bytes, ELFMAG, SELFMAG) != 0)
    return error_set(r->err, ASSAY_ERR_INVALID, "not a cubin: it does not begin as an ELF file");
  memcpy(&r->head, r->bytes, sizeof r->head);
  const unsigned char *ident = r->head.e_ident;
  if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB || r->head.e_machine != MACHINE_CUDA)
    return error_set(r->err, ASSAY_ERR_INVALID, "not a cubin: an ELF file, but not for the GPU (machine %u)",
                     r->head.e_machine);
  uint32_t flags = r->head.e_flags;
  bool new_form = ident[EI_ABIVERSION] >= ABI_CUDA_13;
  out->architecture = new_form ? flags >> 8 & 0xff : flags & 0xff;
  out->arch_specific = flags & (new_form ? FLAG_ACCELERATED_13 : FLAG_ACCELERATED_12);
  return out->architecture ? ASSAY_OK : bad(r, "it names no architecture");
}

static enum assay_status read_sections(struct reader *r) {
  size_t n = r->head.e_shnum;
  if (n == 0 || r->head.e_shentsize != sizeof(Elf64_Shdr) ||
      !within(r, r->head.e_shoff, (uint64_t)n * sizeof(Elf64_Shdr)))
    return bad(r, "its section table is missing or outside the file");
  Elf64_Shdr *sections = arena_calloc(r->arena, n, sizeof *sections);
  r->codes = arena_calloc(r->arena, n, sizeof *r->codes);
  if (!sections || !r->codes)
    return error_nomem(r->err, "a cubin's sections");
  memcpy(sections, r->bytes + r->head.e_shoff, n * sizeof *sections);
  for (size_t i = 0; i < n; i++)
    if (sections[i].sh_type != SHT_NOBITS && !within(r, sections[i].sh_offset, sections[i].sh_size))
      return bad(r, "a section lies outside the file");
  if (r->head.e_shstrndx >= n)
    return bad(r, "its section names are missing");
  r->sections = sections;
  r->n_sections = (int)n;
  r->names = sections[r->head.e_shstrndx];
  return ASSAY_OK;
}

static bool begins(const char *s, const char *prefix) {
  return strncmp(s, prefix, strlen(prefix)) == 0;
}

// One attribute; the payload is NULL in the short forms.
struct attribute {
  uint8_t form, number;
  uint16_t value;
  const uint8_t *payload;
  size_t size;
};
typedef enum assay_status attribute_fn(struct reader *r, const struct attribute *a, void *arg);

static enum assay_status each_attribute(struct reader *r, const Elf64_Shdr *s, attribute_fn *visit, void *arg) {
  if (s->sh_type == SHT_NOBITS)
    return ASSAY_OK; // it has no bytes in the file, and its offset may lie anywhere
  const uint8_t *p = r->bytes + s->sh_offset;
  size_t left = s->sh_size;
  while (left >= 4) {
    struct attribute a = {.form = p[0], .number = p[1], .value = get_u16(p + 2)};
    p += 4;
    left -= 4;
    if (a.form == FORM_PAYLOAD) {
      if (a.value > left)
        return bad(r, "an attribute is longer than its section");
      a.payload = p;
      a.size = a.value;
      p += a.size;
      left -= a.size;
    } else if (a.form == 0 || a.form > FORM_PAYLOAD) {
      return bad(r, "an attribute has an unknown form");
    }
    enum assay_status status = visit(r, &a, arg);
    if (status)
      return status;
  }
  return left ? bad(r, "an attribute is cut off") : ASSAY_OK;
}

static bool is_parameter(const struct attribute *a) {
  return (a->number == ATTRIBUTE_PARAMETER || a->number == ATTRIBUTE_PARAMETER_WIDE) && a->size == 12;
}

static enum assay_status count_parameter(struct reader *r, const struct attribute *a, void *arg) {
  (void)r;
  *(int *)arg += is_parameter(a);
  return ASSAY_OK;
}

// Index of something (4 bytes), ordinal (2), offset (2), then the size: in the upper 14 bits of 4 bytes, or in the
// wide form as the first 2 of them.
static enum assay_status read_parameter(struct reader *r, const struct attribute *a, struct code *c) {
  uint16_t ordinal = get_u16(a->payload + 4);
  struct cubin_parameter p = {.offset = get_u16(a->payload + 6),
                              .size = a->number == ATTRIBUTE_PARAMETER ? get_u32(a->payload + 8) >> 18
                                                                       : get_u16(a->payload + 8)};
  if (ordinal >= c->n_parameters || p.size == 0 || c->parameters[ordinal].size)
    return bad(r, "a kernel's list of parameters has gaps or repetitions");
  c->parameters[ordinal] = p;
  return ASSAY_OK;
}

static void get_three(const uint8_t *p, uint32_t out[3]) {
  for (int i = 0; i < 3; i++)
    out[i] = get_u32(p + (size_t)4 * (size_t)i);
}

static uint64_t product(const uint32_t v[3]) {
  uint64_t n = (uint64_t)v[0] * v[1];
  return __builtin_mul_overflow(n, (uint64_t)v[2], &n) ? UINT64_MAX : n;
}

static enum assay_status read_code_attribute(struct reader *r, const struct attribute *a, void *arg) {
  struct code *c = arg;
  uint32_t three[3];
  if (is_parameter(a))
    return read_parameter(r, a, c);
  if (a->number == ATTRIBUTE_PARAMETER_BYTES && a->form == FORM_HALF) {
    c->has_parameter_bytes = true;
    c->parameter_bytes = a->value;
  } else if (a->number == ATTRIBUTE_PARAMETER_BANK && a->size == 8 && !c->has_parameter_bytes) {
    c->has_parameter_bytes = true;
    c->parameter_bytes = get_u16(a->payload + 6);
  } else if (a->number == ATTRIBUTE_MAX_THREADS && a->size == 12) {
    get_three(a->payload, three);
    c->max_threads = product(three);
  } else if (a->number == ATTRIBUTE_REQUIRED_BLOCK && a->size == 12) {
    get_three(a->payload, c->block);
  } else if (a->number == ATTRIBUTE_CLUSTER && a->size == 12) {
    get_three(a->payload, c->cluster);
  }
  return ASSAY_OK;
}

static enum assay_status check_parameters(struct reader *r, struct code *c) {
  uint64_t end = 0;
  for (int i = 0; i < c->n_parameters; i++) {
    if (c->parameters[i].offset < end)
      return bad(r, "parameters of a kernel overlap");
    end = (uint64_t)c->parameters[i].offset + c->parameters[i].size;
  }
  if (c->has_parameter_bytes && end > c->parameter_bytes)
    return bad(r, "a kernel's parameters go beyond the bytes that it has for them");
  // Room for parameters, and no word on what they are: a stripped or foreign cubin.
  if (c->n_parameters == 0 && c->has_parameter_bytes && c->parameter_bytes)
    c->n_parameters = -1;
  return ASSAY_OK;
}

static enum assay_status read_code(struct reader *r, struct code *c) {
  if (c->read)
    return ASSAY_OK;
  c->read = true;
  c->n_parameters = -1;
  if (!c->info)
    return ASSAY_OK;
  int n = 0;
  enum assay_status status = each_attribute(r, c->info, count_parameter, &n);
  if (status)
    return status;
  c->parameters = arena_calloc(r->arena, (size_t)n + 1, sizeof *c->parameters);
  if (!c->parameters)
    return error_nomem(r->err, "a kernel's parameters");
  c->n_parameters = n;
  status = each_attribute(r, c->info, read_code_attribute, c);
  return status ? status : check_parameters(r, c);
}

// Registers and stack of a thread, by the kernel's symbol.
static enum assay_status read_thread(struct reader *r, const struct attribute *a, void *arg) {
  (void)arg;
  bool stack = a->number == ATTRIBUTE_FRAME || a->number == ATTRIBUTE_STACK;
  if (a->size != 8 || !(stack || a->number == ATTRIBUTE_REGISTERS))
    return ASSAY_OK;
  uint32_t symbol = get_u32(a->payload), n = get_u32(a->payload + 4);
  if (symbol < r->n_symbols && !stack)
    r->registers[symbol] = n;
  else if (symbol < r->n_symbols && n > r->local[symbol] && n != UINT32_MAX) // that many: it calls itself
    r->local[symbol] = n;
  return ASSAY_OK;
}

static enum assay_status read_compat(struct reader *r, const struct attribute *a, void *arg) {
  (void)r;
  struct cubin_info *out = arg;
  if (a->number == COMPAT_ISA && a->form != FORM_PAYLOAD && (a->value & 0xff) == 1)
    out->arch_specific = true;
  return ASSAY_OK;
}

// What the sections' names tell: attributes of kernels and their shared memory are tied to the code by sh_info.
static enum assay_status sort_sections(struct reader *r, struct cubin_info *out) {
  for (int i = 0; i < r->n_sections; i++) {
    const Elf64_Shdr *s = &r->sections[i];
    enum assay_status status = ASSAY_OK;
    const char *name = string_at(r, &r->names, s->sh_name);
    if (!name)
      return bad(r, "a section's name lies outside the table of names");
    bool of_code = s->sh_info > 0 && s->sh_info < (uint32_t)r->n_sections;
    if (of_code && begins(name, ".nv.info."))
      r->codes[s->sh_info].info = s;
    else if (of_code && begins(name, ".nv.shared."))
      r->codes[s->sh_info].shared_bytes = s->sh_size;
    else if (strcmp(name, ".nv.info") == 0 && s->sh_type != SHT_NOBITS)
      status = each_attribute(r, s, read_thread, NULL);
    else if (strcmp(name, ".nv.compat") == 0 && s->sh_type != SHT_NOBITS)
      status = each_attribute(r, s, read_compat, out);
    if (status)
      return status;
  }
  return ASSAY_OK;
}

// How many threads of so many registers fit: they are given out to warps in units of 256, and a block needs its warps
// in one SM.
static uint64_t threads_by_registers(uint32_t registers) {
  if (registers == 0 || registers > 255)
    return UINT64_MAX;
  uint64_t of_warp = ((uint64_t)registers * 32 + 255) / 256 * 256;
  return REGISTER_FILE / WARPS_SHARE / of_warp * WARPS_SHARE * 32;
}

static enum assay_status add_kernel(struct reader *r, const Elf64_Sym *symbol, size_t index, const char *name,
                                    const struct cubin_info *info, struct cubin_kernel *k) {
  struct code *c = &r->codes[symbol->st_shndx];
  enum assay_status status = read_code(r, c);
  if (status)
    return status;
  uint64_t threads = threads_by_registers(r->registers[index]);
  if (c->max_threads && c->max_threads < threads)
    threads = c->max_threads;
  uint64_t shared = c->shared_bytes;
  if (info->architecture >= 90 && shared >= RESERVED_SHARED_BYTES)
    shared -= RESERVED_SHARED_BYTES;
  *k = (struct cubin_kernel){.name = name,
                             .n_parameters = c->n_parameters,
                             .parameters = c->parameters,
                             .max_threads = threads > UINT32_MAX ? 0 : (uint32_t)threads,
                             .registers = r->registers[index],
                             .local_bytes = r->local[index],
                             .static_shared_bytes = shared > UINT32_MAX ? UINT32_MAX : (uint32_t)shared};
  memcpy(k->block, c->block, sizeof k->block);
  memcpy(k->cluster, c->cluster, sizeof k->cluster);
  return ASSAY_OK;
}

static const Elf64_Shdr *find_symbols(struct reader *r) {
  for (int i = 0; i < r->n_sections; i++)
    if (r->sections[i].sh_type == SHT_SYMTAB)
      return &r->sections[i];
  return NULL;
}

static bool is_kernel(const Elf64_Sym *s) {
  return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_other & SYMBOL_IS_KERNEL;
}

static enum assay_status read_symbols(struct reader *r, const Elf64_Shdr *table, struct cubin_info *out) {
  struct cubin_kernel *kernels = arena_calloc(r->arena, r->n_symbols + 1, sizeof *kernels);
  struct cubin_symbol *symbols = arena_calloc(r->arena, r->n_symbols + 1, sizeof *symbols);
  if (!kernels || !symbols)
    return error_nomem(r->err, "a cubin's kernels");
  if (table->sh_link >= (uint32_t)r->n_sections)
    return bad(r, "the symbols have no names");
  for (size_t i = 0; i < r->n_symbols; i++) {
    Elf64_Sym s;
    memcpy(&s, r->bytes + table->sh_offset + i * sizeof s, sizeof s);
    bool kernel = is_kernel(&s), variable = ELF64_ST_TYPE(s.st_info) == STT_OBJECT;
    if (s.st_shndx == SHN_UNDEF || s.st_shndx >= r->n_sections || !(kernel || variable))
      continue;
    const char *name = string_at(r, &r->sections[table->sh_link], s.st_name);
    if (!name)
      return bad(r, "a symbol's name lies outside the table of names");
    if (variable)
      symbols[out->n_symbols++] = (struct cubin_symbol){name, s.st_size};
    else {
      enum assay_status status = add_kernel(r, &s, i, name, out, &kernels[out->n_kernels]);
      if (status)
        return status;
      out->n_kernels++;
    }
  }
  out->kernels = kernels;
  out->symbols = symbols;
  return ASSAY_OK;
}

enum assay_status cubin_read(const uint8_t *bytes, size_t n, struct arena *arena, struct cubin_info *out,
                             struct assay_error *err) {
  struct reader r = {.bytes = bytes, .n = n, .arena = arena, .err = err};
  struct cubin_info info = {0};
  if (n > PLAN_MAX_MODULE_BYTES)
    return error_set(err, ASSAY_ERR_LIMIT, "the cubin has %zu bytes; at most %zu are read", n, PLAN_MAX_MODULE_BYTES);
  enum assay_status status = read_head(&r, &info);
  if (!status)
    status = read_sections(&r);
  if (status)
    return status;
  const Elf64_Shdr *table = find_symbols(&r);
  if (!table || table->sh_entsize != sizeof(Elf64_Sym))
    return bad(&r, "it has no table of symbols");
  r.n_symbols = table->sh_size / sizeof(Elf64_Sym);
  r.registers = arena_calloc(arena, r.n_symbols + 1, sizeof *r.registers);
  r.local = arena_calloc(arena, r.n_symbols + 1, sizeof *r.local);
  if (!r.registers || !r.local)
    return error_nomem(err, "a cubin's symbols");
  status = sort_sections(&r, &info);
  if (!status)
    status = read_symbols(&r, table, &info);
  if (status)
    return status;
  cubin_sort(&info);
  for (int i = 1; i < info.n_kernels; i++)
    if (strcmp(info.kernels[i - 1].name, info.kernels[i].name) == 0)
      return bad(&r, "two of its kernels have one name");
  *out = info;
  return ASSAY_OK;
}

static int compare_kernels(const void *a, const void *b) {
  return strcmp(((const struct cubin_kernel *)a)->name, ((const struct cubin_kernel *)b)->name);
}

static int compare_symbols(const void *a, const void *b) {
  return strcmp(((const struct cubin_symbol *)a)->name, ((const struct cubin_symbol *)b)->name);
}

void cubin_sort(struct cubin_info *c) {
  if (c->n_kernels)
    qsort((void *)c->kernels, (size_t)c->n_kernels, sizeof *c->kernels, compare_kernels);
  if (c->n_symbols)
    qsort((void *)c->symbols, (size_t)c->n_symbols, sizeof *c->symbols, compare_symbols);
}

const struct cubin_kernel *cubin_find(const struct cubin_info *c, const char *name) {
  const struct cubin_kernel key = {.name = name};
  return c->n_kernels ? bsearch(&key, c->kernels, (size_t)c->n_kernels, sizeof key, compare_kernels) : NULL;
}

const struct cubin_symbol *cubin_find_symbol(const struct cubin_info *c, const char *name) {
  const struct cubin_symbol key = {.name = name};
  return c->n_symbols ? bsearch(&key, c->symbols, (size_t)c->n_symbols, sizeof key, compare_symbols) : NULL;
}
