// SPDX-License-Identifier: Apache-2.0
// What the reader of cubins says of files whose kernels are known (tests/fuzz/corpus/cubin/small.cu), and that it
// survives files that lie.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "plan/plan.h"

struct file {
  char *bytes;
  size_t n;
  struct arena arena;
  struct cubin_info info;
};

static void load(struct file *f, const char *name) {
  char path[512];
  struct assay_error err = {0};
  memset(f, 0, sizeof *f);
  snprintf(path, sizeof path, ASSAY_SOURCE_DIR "/tests/fuzz/corpus/cubin/%s", name);
  assert_int_equal(file_read(path, 1 << 20, &f->bytes, &f->n, &err), ASSAY_OK);
}

static void open_cubin(struct file *f, const char *name) {
  struct assay_error err = {0};
  load(f, name);
  if (cubin_read((const uint8_t *)f->bytes, f->n, &f->arena, &f->info, &err))
    fail_msg("%s: %s", name, err.message);
}

static void close_cubin(struct file *f) {
  arena_release(&f->arena);
  base_free(f->bytes);
}

static void check_parameters(const struct cubin_kernel *k, int n, const uint32_t (*expected)[2]) {
  assert_non_null(k);
  assert_int_equal(k->n_parameters, n);
  for (int i = 0; i < n; i++) {
    assert_int_equal(k->parameters[i].offset, expected[i][0]);
    assert_int_equal(k->parameters[i].size, expected[i][1]);
  }
}

// The same three kernels as three compilers' files, each with the facts that ptxas -v and the source give.
static void test_kernels(void **state) {
  (void)state;
  static const struct {
    const char *file;
    uint32_t architecture;
    bool specific;
  } files[] = {{"small_sm90.cubin", 90, false},
               {"small_sm90a.cubin", 90, true},
               {"small_sm90a_v7.cubin", 90, true},
               {"small_sm80.cubin", 80, false}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    struct file f;
    open_cubin(&f, files[i].file);
    assert_int_equal(f.info.architecture, files[i].architecture);
    assert_int_equal(f.info.arch_specific, files[i].specific);
    assert_int_equal(f.info.n_kernels, 3);
    check_parameters(cubin_find(&f.info, "scale"), 3, (const uint32_t[][2]){{0, 8}, {8, 8}, {16, 4}});
    check_parameters(cubin_find(&f.info, "turn"), 1, (const uint32_t[][2]){{0, 24}});
    const struct cubin_kernel *turn = cubin_find(&f.info, "turn");
    assert_int_equal(turn->static_shared_bytes, 256);
    assert_int_equal(turn->max_threads, 128);
    assert_true(turn->registers >= 4 && turn->registers <= 32);
    assert_int_equal(cubin_find(&f.info, "scale")->static_shared_bytes, 0);
    const struct cubin_symbol *coef = cubin_find_symbol(&f.info, "coef");
    assert_non_null(coef);
    assert_int_equal(coef->bytes, 16);
    assert_null(cubin_find(&f.info, "coef"));
    assert_null(cubin_find_symbol(&f.info, "scale"));
    if (files[i].architecture >= 90) {
      const struct cubin_kernel *tile = cubin_find(&f.info, "tile");
      check_parameters(tile, 2, (const uint32_t[][2]){{48, 128}, {176, 8}}); // 64-aligned in the bank
      assert_memory_equal(tile->cluster, ((const uint32_t[]){2, 1, 1}), sizeof tile->cluster);
    } else {
      check_parameters(cubin_find(&f.info, "none"), 0, NULL);
    }
    close_cubin(&f);
  }
}

// Beyond 4096 bytes of parameters the compiler writes another form of record.
static void test_wide_parameters(void **state) {
  (void)state;
  struct file f;
  open_cubin(&f, "wide_sm90.cubin");
  check_parameters(cubin_find(&f.info, "large"), 3, (const uint32_t[][2]){{0, 4100}, {4100, 1}, {4104, 8}});
  assert_int_equal(f.info.n_symbols, 0);
  close_cubin(&f);
}

static void expect(const struct file *f, size_t n, const char *words) {
  struct arena arena = {0};
  struct cubin_info info;
  struct assay_error err = {0};
  char *exact = malloc(n ? n : 1); // a sanitizer sees reads beyond the end
  memcpy(exact, f->bytes, n);
  assert_int_equal(cubin_read((const uint8_t *)exact, n, &arena, &info, &err), ASSAY_ERR_INVALID);
  if (!strstr(err.message, words))
    fail_msg("\"%s\" lacks \"%s\"", err.message, words);
  free(exact);
  arena_release(&arena);
}

static Elf64_Shdr *section(struct file *f, const char *name) {
  Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)f->bytes;
  Elf64_Shdr *s = (Elf64_Shdr *)(void *)(f->bytes + h->e_shoff);
  const char *names = f->bytes + s[h->e_shstrndx].sh_offset;
  for (int i = 0; i < h->e_shnum; i++)
    if (strcmp(names + s[i].sh_name, name) == 0)
      return &s[i];
  fail_msg("no section %s", name);
  return NULL;
}

static uint8_t *find(struct file *f, const char *in, const void *bytes, size_t n) {
  Elf64_Shdr *s = section(f, in);
  uint8_t *at = memmem(f->bytes + s->sh_offset, s->sh_size, bytes, n);
  assert_non_null(at);
  return at;
}

static void test_lies(void **state) {
  (void)state;
  struct file f;
  Elf64_Ehdr *h;
#define LIE(words, ...)                                                                                                \
  load(&f, "small_sm90.cubin");                                                                                        \
  h = (Elf64_Ehdr *)(void *)f.bytes;                                                                                   \
  (void)h;                                                                                                             \
  __VA_ARGS__;                                                                                                         \
  expect(&f, f.n, words);                                                                                              \
  close_cubin(&f);
  LIE("does not begin as an ELF file", f.bytes[0] = 0)
  LIE("not for the GPU (machine 62)", h->e_machine = EM_X86_64)
  LIE("not for the GPU", h->e_ident[EI_CLASS] = ELFCLASS32)
  LIE("names no architecture", h->e_flags = 0)
  LIE("section table is missing or outside", h->e_shoff = UINT64_MAX - 8)
  LIE("section table is missing or outside", h->e_shoff = f.n - 64)
  LIE("section table is missing or outside", h->e_shnum = 0)
  LIE("section table is missing or outside", h->e_shentsize = 32)
  LIE("section names are missing", h->e_shstrndx = 0xfff0)
  LIE("section lies outside", section(&f, ".nv.info")->sh_size = UINT64_MAX)
  LIE("section lies outside", section(&f, ".symtab")->sh_offset = UINT64_MAX - 100)
  LIE("section's name lies outside", section(&f, ".nv.info")->sh_name = 0x7fffffff)
  LIE("no table of symbols", section(&f, ".symtab")->sh_type = SHT_PROGBITS)
  LIE("no table of symbols", section(&f, ".symtab")->sh_entsize = 0)
  LIE("symbols have no names", section(&f, ".symtab")->sh_link = 0xffffff)
  LIE("symbol's name lies outside", section(&f, ".strtab")->sh_size = 1)
  LIE("longer than its section", *(uint16_t *)(void *)(f.bytes + section(&f, ".nv.info.scale")->sh_offset + 2) = 0xffff)
  LIE("unknown form", f.bytes[section(&f, ".nv.info.scale")->sh_offset] = 9)
  LIE("cut off", section(&f, ".nv.info.scale")->sh_size -= 5)
  // The record of scale's parameter 1 says ordinal 0, then 7; then it overlaps parameter 0; then all are too long.
  const uint8_t second[] = {1, 0, 8, 0, 0, 0xf0, 0x21, 0};
  LIE("gaps or repetitions", find(&f, ".nv.info.scale", second, 8)[0] = 0)
  LIE("gaps or repetitions", find(&f, ".nv.info.scale", second, 8)[0] = 7)
  LIE("gaps or repetitions", memset(find(&f, ".nv.info.scale", second, 8) + 4, 0, 4))
  LIE("overlap", find(&f, ".nv.info.scale", second, 8)[2] = 4)
  const uint8_t total[] = {3, 0x19, 20, 0};
  LIE("beyond the bytes", find(&f, ".nv.info.scale", total, 4)[2] = 19)
#undef LIE
}

// Without records, but with room for parameters, nothing is claimed.
static void test_silent_cubin(void **state) {
  (void)state;
  struct file f;
  struct assay_error err = {0};
  load(&f, "small_sm90.cubin");
  Elf64_Shdr *s = section(&f, ".nv.info.scale");
  for (uint8_t *p = (uint8_t *)f.bytes + s->sh_offset, *end = p + s->sh_size; p + 16 <= end; p++)
    if (p[0] == 4 && p[1] == 0x17 && p[2] == 12)
      p[1] = 0x7f; // an attribute that nobody knows
  assert_int_equal(cubin_read((const uint8_t *)f.bytes, f.n, &f.arena, &f.info, &err), ASSAY_OK);
  assert_int_equal(cubin_find(&f.info, "scale")->n_parameters, -1);
  assert_int_equal(cubin_find(&f.info, "turn")->n_parameters, 1);
  close_cubin(&f);
}

// Every length of the file, and many single wrong bytes: an answer or an error, and never a read outside (sanitizers).
static void test_damage(void **state) {
  (void)state;
  struct file f;
  struct assay_error err;
  load(&f, "small_sm90a_v7.cubin");
  const Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)f.bytes;
  size_t needed = h->e_shoff + (size_t)h->e_shnum * sizeof(Elf64_Shdr); // program headers follow, which nobody reads
  for (size_t n = 0; n < needed; n++) {
    struct arena arena = {0};
    struct cubin_info info;
    char *exact = malloc(n ? n : 1);
    memcpy(exact, f.bytes, n);
    assert_int_not_equal(cubin_read((const uint8_t *)exact, n, &arena, &info, &err), ASSAY_OK);
    free(exact);
    arena_release(&arena);
  }
  uint64_t x = 1;
  for (int i = 0; i < 20000; i++) {
    struct arena arena = {0};
    struct cubin_info info;
    x = x * 6364136223846793005u + 1442695040888963407u;
    size_t at = (x >> 33) % f.n;
    char old = f.bytes[at];
    f.bytes[at] = (char)(x >> 24);
    enum assay_status status = cubin_read((const uint8_t *)f.bytes, f.n, &arena, &info, &err);
    assert_true(status == ASSAY_OK || status == ASSAY_ERR_INVALID);
    f.bytes[at] = old;
    arena_release(&arena);
  }
  close_cubin(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kernels),      cmocka_unit_test(test_wide_parameters), cmocka_unit_test(test_lies),
      cmocka_unit_test(test_silent_cubin), cmocka_unit_test(test_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
