// SPDX-License-Identifier: Apache-2.0
#include "toolchain/lift/caller.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

// The file name of the object that the address is in. (dladdr also searches for the function's name among all that the
// object has, which takes milliseconds in PyTorch's.)
static const char *object_at(void *address) {
  struct object_search s = {.address = (uintptr_t)address};
  if (!dl_iterate_phdr(find_object, &s) || !s.name)
    return NULL;
  const char *slash = strrchr(s.name, '/');
  return slash ? slash + 1 : s.name[0] ? s.name : "the program";
}

void caller_of_this(struct caller *out) {
  static const char *const launchers[] = {"libcuda.so", "libcudart", "libcupti", "assay-lift", "libcudadebugger", NULL};
  static const char *const libraries[] = {"libcublas", "libcudnn", "libcufft", "libcusolver", "libcusparse",
                                          "libcurand", "libnccl",  "libnvjit", NULL};
  static const char *const pytorch[] = {"libtorch", "libc10", NULL};
  void *frames[48];
  int n = backtrace(frames, sizeof frames / sizeof *frames);
  *out = (struct caller){.origin = PLAN_OWN, .object = "?"};
  for (int i = 0; i < n; i++) {
    const char *name = object_at(frames[i]);
    if (!name || begins_with(name, launchers))
      continue;
    snprintf(out->object, sizeof out->object, "%.90s", name);
    out->origin = begins_with(name, libraries) ? PLAN_LIBRARY : begins_with(name, pytorch) ? PLAN_PYTORCH : PLAN_OWN;
    return;
  }
}

void caller_of_launch(const char *kernel, struct caller *out) {
  static const char *const compiled[] = {"triton_", NULL};
  caller_of_this(out);
  if (out->origin == PLAN_PYTORCH && begins_with(kernel, compiled))
    *out = (struct caller){.origin = PLAN_OWN, .object = "torch.compile"};
}
