// Device code as CUPTI hands it over, and which kernel of it a launch means.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "toolchain/lift/lift.h"

void lift_module_loaded(const struct cupti_module *m) {
  struct cubin *c = arena_calloc(&lift.arena, 1, sizeof *c);
  if (lift.n_cubins == lift.cubin_capacity) {
    void *more = arena_grow(&lift.arena, lift.cubins, lift.n_cubins, &lift.cubin_capacity, sizeof *lift.cubins);
    if (!more)
      return;
    lift.cubins = more;
  }
  uint8_t *copy = c && m->bytes ? base_alloc(m->bytes) : NULL;
  if (!copy)
    return;
  memcpy(copy, m->cubin, m->bytes);
  *c = (struct cubin){.bytes = copy, .size = m->bytes, .number = -1};
  lift.cubins[lift.n_cubins++] = c;
}

void lift_module_named(CUmodule module, size_t since) {
  for (size_t i = since; i < lift.n_cubins; i++)
    lift.cubins[i]->module = module;
}

// The cubin's kernel of that name. A file of thousands of kernels is parsed only when the name stands in it.
static const struct cubin_kernel *find_in(struct cubin *c, const char *symbol) {
  static char section[PLAN_MAX_NAME + 16]; // the lock is held
  struct assay_error ignored = {0};
  int n = snprintf(section, sizeof section, ".text.%s", symbol);
  if (n < 0 || (size_t)n >= sizeof section || !memmem(c->bytes, c->size, section, (size_t)n + 1))
    return NULL;
  if (!c->parsed)
    c->readable = cubin_read(c->bytes, c->size, &lift.arena, &c->info, &ignored) == ASSAY_OK;
  c->parsed = true;
  return c->readable ? cubin_find(&c->info, symbol) : NULL;
}

// The module of a launch's handle, which may be a CUkernel's; NULL when nobody knows.
static CUmodule module_of(CUfunction function) {
  CUmodule module = NULL;
  CUfunction inner = NULL;
  if (lift.more.cuFuncGetModule && lift.more.cuFuncGetModule(&module, function) == CUDA_SUCCESS)
    return module;
  if (lift.more.cuKernelGetFunction && lift.more.cuFuncGetModule &&
      lift.more.cuKernelGetFunction(&inner, (void *)function) == CUDA_SUCCESS &&
      lift.more.cuFuncGetModule(&module, inner) == CUDA_SUCCESS)
    return module;
  return NULL;
}

// How many kernels the module of a handle has, by the driver; -1: nobody knows.
static int64_t kernels_of(CUmodule module) {
  unsigned int n = 0;
  bool known =
      module && lift.cu->cuModuleGetFunctionCount && lift.cu->cuModuleGetFunctionCount(&n, module) == CUDA_SUCCESS;
  return known ? (int64_t)n : -1;
}

static bool same_code(const struct cubin *a, const struct cubin *b) {
  return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

// The cubin that a kernel of that name is of, and whether there are others that it could be of. With count >= 0, only
// modules of so many kernels are asked.
static struct cubin *search(CUmodule module, const char *symbol, int64_t count, bool *several,
                            const struct cubin_kernel **kernel) {
  struct cubin *found = NULL;
  *several = false;
  for (size_t i = lift.n_cubins; i-- > 0;) { // a handle may be used again: the latest counts
    struct cubin *c = lift.cubins[i];
    const struct cubin_kernel *k = find_in(c, symbol);
    if (!k || (count >= 0 && c->info.n_kernels != count))
      continue;
    bool certain = module && c->module == module;
    if (certain || !found)
      *kernel = k;
    if (certain) {
      *several = false;
      return c;
    }
    *several = *several || (found && !same_code(found, c));
    found = found ? found : c;
  }
  return found;
}

// Where several modules have a kernel of that name and none was loaded under the handle's, the number of kernels tells.
static struct cubin *find_cubin(CUfunction function, const char *symbol, const struct cubin_kernel **kernel) {
  CUmodule module = module_of(function);
  bool several;
  struct cubin *found = search(module, symbol, -1, &several, kernel);
  int64_t count = several ? kernels_of(module) : -1;
  if (count >= 0)
    found = search(module, symbol, count, &several, kernel);
  if (several)
    lift_refuse("%.160s is a kernel of several modules, and nothing says which one is launched", symbol);
  return several ? NULL : found;
}

// ---- whose kernel it is: the first file on the stack that is no part of CUDA's own launching

static bool begins_with(const char *text, const char *const *starts) {
  for (; *starts; starts++)
    if (strncmp(text, *starts, strlen(*starts)) == 0)
      return true;
  return false;
}

struct object_search {
  uintptr_t address;
  const char *name; // NULL: not found
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg) {
  struct object_search *s = arg;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && s->address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz) {
      s->name = info->dlpi_name;
      return 1;
    }
  }
  return 0;
}

// The file name of the object that the address is in. (dladdr looks for the function's name too, among all that the
// object has: milliseconds in PyTorch's.)
static const char *object_at(void *address) {
  struct object_search s = {.address = (uintptr_t)address};
  if (!dl_iterate_phdr(find_object, &s) || !s.name)
    return NULL;
  const char *slash = strrchr(s.name, '/');
  return slash ? slash + 1 : s.name[0] ? s.name : "the program";
}

enum plan_origin lift_caller(char object[96]) {
  static const char *const launchers[] = {"libcuda.so", "libcudart", "libcupti", "assay-lift", "libcudadebugger", NULL};
  static const char *const libraries[] = {"libcublas", "libcudnn", "libcufft", "libcusolver", "libcusparse",
                                          "libcurand", "libnccl",  "libnvjit", NULL};
  static const char *const pytorch[] = {"libtorch", "libc10", NULL};
  void *frames[48];
  int n = backtrace(frames, sizeof frames / sizeof *frames);
  snprintf(object, 96, "?");
  for (int i = 0; i < n; i++) {
    const char *name = object_at(frames[i]);
    if (!name || begins_with(name, launchers))
      continue;
    snprintf(object, 96, "%.90s", name);
    return begins_with(name, libraries) ? PLAN_LIBRARY : begins_with(name, pytorch) ? PLAN_PYTORCH : PLAN_OWN;
  }
  return PLAN_OWN;
}

static void find_origin(struct known_kernel *k) {
  // Made by torch.compile for this candidate alone, though a file of PyTorch's launches them.
  static const char *const compiled[] = {"triton_", NULL};
  _Static_assert(sizeof k->object == 96, "as lift_caller writes it");
  k->origin = lift_caller(k->object);
  if (k->origin == PLAN_PYTORCH && begins_with(k->kernel->name, compiled)) {
    k->origin = PLAN_OWN;
    snprintf(k->object, sizeof k->object, "torch.compile");
  }
}

struct known_kernel *lift_kernel(CUfunction function, const char *symbol) {
  for (size_t i = lift.n_kernels; i-- > 0;)
    if (lift.kernels[i]->handle == function && lift.kernels[i]->kernel &&
        strcmp(lift.kernels[i]->kernel->name, symbol) == 0)
      return lift.kernels[i];
  if (lift.n_kernels == lift.kernel_capacity) {
    void *more = arena_grow(&lift.arena, lift.kernels, lift.n_kernels, &lift.kernel_capacity, sizeof *lift.kernels);
    if (!more)
      return NULL;
    lift.kernels = more;
  }
  struct known_kernel *k = arena_calloc(&lift.arena, 1, sizeof *k);
  if (!k)
    return NULL;
  k->handle = function;
  k->number = -1;
  k->cubin = find_cubin(function, symbol, &k->kernel);
  if (!k->cubin)
    return NULL;
  find_origin(k);
  return lift.kernels[lift.n_kernels++] = k;
}

static uint32_t module_number(const struct known_kernel *k) {
  static const char *const origins[] = {"own", "library", "PyTorch"};
  struct cubin *c = k->cubin;
  if (c->number < 0) {
    char name[128];
    c->number = (int)lift.n_modules_logged++;
    const struct record_name e = {.module = (uint32_t)c->number};
    snprintf(name, sizeof name, "%s: %s", origins[k->origin], k->object);
    lift_entry(RECORD_MODULE, NULL, 0, c->bytes, c->size, NULL, 0);
    lift_entry(RECORD_NAME, &e, sizeof e, name, strlen(name) + 1, NULL, 0);
  }
  return (uint32_t)c->number;
}

uint32_t lift_kernel_number(struct known_kernel *k) {
  if (k->number < 0) {
    const struct record_kernel e = {.module = module_number(k)};
    k->number = (int)lift.n_kernels_logged++;
    lift_entry(RECORD_KERNEL, &e, sizeof e, k->kernel->name, strlen(k->kernel->name) + 1, NULL, 0);
  }
  return (uint32_t)k->number;
}
