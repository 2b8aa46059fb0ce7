// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift/module_table.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void module_table_release(struct module_table *t) {
  for (size_t i = 0; i < t->n_cubins; i++)
    base_free(t->cubins[i]->bytes);
  arena_release(&t->arena);
  *t = (struct module_table){0};
}

void module_table_begin(struct module_table *t) {
  t->n_modules_logged = t->n_kernels_logged = 0;
  for (size_t i = 0; i < t->n_cubins; i++)
    t->cubins[i]->number = -1;
  for (size_t i = 0; i < t->n_kernels; i++)
    t->kernels[i]->number = -1;
}

void module_table_add(struct module_table *t, const void *bytes, size_t n) {
  struct cubin *c = arena_calloc(&t->arena, 1, sizeof *c);
  if (t->n_cubins == t->cubin_capacity) {
    void *more = arena_grow(&t->arena, t->cubins, t->n_cubins, &t->cubin_capacity, sizeof *t->cubins);
    if (!more)
      return;
    t->cubins = more;
  }
  uint8_t *copy = c && n ? base_alloc(n) : NULL;
  if (!copy)
    return;
  memcpy(copy, bytes, n);
  *c = (struct cubin){.bytes = copy, .size = n, .number = -1};
  t->cubins[t->n_cubins++] = c;
}

void module_table_name(struct module_table *t, CUmodule module, size_t since) {
  for (size_t i = since; i < t->n_cubins; i++)
    t->cubins[i]->module = module;
}

// The cubin's kernel of that name. A file of thousands of kernels is parsed only when the name is in it.
static const struct cubin_kernel *find_in(struct module_table *t, struct cubin *c, const char *symbol) {
  struct assay_error ignored = {0};
  int n = snprintf(t->section, sizeof t->section, ".text.%s", symbol);
  if (n < 0 || (size_t)n >= sizeof t->section || !memmem(c->bytes, c->size, t->section, (size_t)n + 1))
    return NULL;
  if (!c->parsed)
    c->readable = cubin_read(c->bytes, c->size, &t->arena, &c->info, &ignored) == ASSAY_OK;
  c->parsed = true;
  return c->readable ? cubin_find(&c->info, symbol) : NULL;
}

static bool same_code(const struct cubin *a, const struct cubin *b) {
  return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

struct module_match module_table_search(struct module_table *t, CUmodule module, const char *symbol, int64_t count) {
  struct module_match found = {0};
  for (size_t i = t->n_cubins; i-- > 0;) {
    struct cubin *c = t->cubins[i];
    const struct cubin_kernel *k = find_in(t, c, symbol);
    if (!k || (count >= 0 && c->info.n_kernels != count))
      continue;
    if (module && c->module == module)
      return (struct module_match){.cubin = c, .kernel = k};
    if (!found.cubin)
      found = (struct module_match){.cubin = c, .kernel = k};
    else
      found.several = found.several || !same_code(found.cubin, c);
  }
  return found;
}

struct known_kernel *module_table_find(struct module_table *t, CUfunction handle, const char *symbol) {
  for (size_t i = t->n_kernels; i-- > 0;)
    if (t->kernels[i]->handle == handle && strcmp(t->kernels[i]->kernel->name, symbol) == 0)
      return t->kernels[i];
  return NULL;
}

struct known_kernel *module_table_add_kernel(struct module_table *t, CUfunction handle,
                                             const struct module_match *match, const struct caller *caller) {
  if (t->n_kernels == t->kernel_capacity) {
    void *more = arena_grow(&t->arena, t->kernels, t->n_kernels, &t->kernel_capacity, sizeof *t->kernels);
    if (!more)
      return NULL;
    t->kernels = more;
  }
  struct known_kernel *k = arena_calloc(&t->arena, 1, sizeof *k);
  if (!k)
    return NULL;
  *k = (struct known_kernel){
      .handle = handle, .cubin = match->cubin, .kernel = match->kernel, .launched_by = *caller, .number = -1};
  return t->kernels[t->n_kernels++] = k;
}

static uint32_t module_number(struct module_table *t, const struct known_kernel *k, struct log_writer *w) {
  static const char *const origins[] = {[PLAN_OWN] = "own", [PLAN_LIBRARY] = "library", [PLAN_PYTORCH] = "PyTorch"};
  struct cubin *c = k->cubin;
  if (c->number < 0) {
    char name[128];
    c->number = (int)t->n_modules_logged++;
    const struct record_name e = {.module = (uint32_t)c->number};
    snprintf(name, sizeof name, "%s: %s", origins[k->launched_by.origin], k->launched_by.object);
    log_writer_put_with(w, RECORD_MODULE, NULL, 0, c->bytes, c->size);
    log_writer_put_with(w, RECORD_NAME, &e, sizeof e, name, strlen(name) + 1);
  }
  return (uint32_t)c->number;
}

uint32_t module_table_number(struct module_table *t, struct known_kernel *k, struct log_writer *w) {
  if (k->number < 0) {
    const struct record_kernel e = {.module = module_number(t, k, w)};
    k->number = (int)t->n_kernels_logged++;
    log_writer_put_with(w, RECORD_KERNEL, &e, sizeof e, k->kernel->name, strlen(k->kernel->name) + 1);
  }
  return (uint32_t)k->number;
}
