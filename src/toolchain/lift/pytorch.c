// SPDX-License-Identifier: Apache-2.0
// What PyTorch calls: the memory allocator (torch.cuda.CUDAPluggableAllocator), and what that class lacks.
//
// Where torch.backends.cudnn.benchmark is on, PyTorch asks its allocator how large a block it could hand out, before it
// searches for cuDNN's fastest algorithm. CUDAPluggableAllocator only throws an exception, with which every convolution
// ends. Here is an answer: what the device has free. It replaces the method in the class's table of virtual functions;
// PyTorch exports both by name.
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "toolchain/lift/lift.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *assay_lift_malloc(ssize_t size, int device, CUstream stream);
EXPORTED void assay_lift_free(void *p, ssize_t size, int device, CUstream stream);
EXPORTED void assay_lift_record_stream(void *p,
                                       CUstream stream); // of Tensor.record_stream, and PyTorch's own calls of it
// Puts the answer in place, when PyTorch is loaded. 1: done; 0: this PyTorch is built otherwise, and whoever turns
// cuDNN's search on gets the exception.
EXPORTED int assay_lift_answer_largest_block(void);

// NULL: memory is exhausted. PyTorch does not look: its tensor is at address 0, and what uses it fails in any way.
void *assay_lift_malloc(ssize_t size, int device, CUstream stream) {
  (void)device;
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  uint64_t address = size > 0 && l->driver.cu ? lift_malloc(l, (uint64_t)size, stream) : 0;
  lift_leave(was_inside);
  return (void *)(uintptr_t)address;
}

void assay_lift_free(void *p, ssize_t size, int device, CUstream stream) {
  (void)size, (void)device;
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  if (p && l->driver.cu)
    lift_free(l, (uint64_t)(uintptr_t)p, stream);
  lift_leave(was_inside);
}

void assay_lift_record_stream(void *p, CUstream stream) {
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  if (p)
    lift_record_stream(l, (uint64_t)(uintptr_t)p, stream);
  lift_leave(was_inside);
}

// ---- the largest block

// torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator: its table, and cacheInfo(signed char, unsigned long *).
static const char table_name[] = "_ZTVN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocatorE",
                  method_name[] = "_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator9cacheInfoEaPm";

static void largest_block(void *allocator, signed char device, size_t *bytes) {
  size_t available = 0, total = 0;
  bool was_inside;
  (void)allocator, (void)device;
  struct lift *l = lift_enter(&was_inside);
  if (!l->driver.cu || l->driver.cu->cuMemGetInfo(&available, &total) != CUDA_SUCCESS)
    available = 0;
  else
    available += address_map_kept_bytes(&l->memory);
  lift_leave(was_inside);
  *bytes = available;
}

// The page stays writable: other things in it may have to be, and nothing in this process is protected anyway.
static bool put_word(void **slot, void *word) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void *start = (void *)((uintptr_t)slot / page * page);
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
    return false;
  *slot = word;
  return true;
}

int assay_lift_answer_largest_block(void) {
  void *library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  void **table = library ? dlsym(library, table_name) : NULL, *method = library ? dlsym(library, method_name) : NULL;
  void (*answer)(void *, signed char, size_t *) = largest_block;
  void *word;
  Dl_info info;
  ElfW(Sym) *symbol = NULL;
  if (!table || !method || !dladdr1(table, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
    return 0;
  memcpy(&word, &answer, sizeof word);
  for (size_t i = 0; i < symbol->st_size / sizeof *table; i++)
    if (table[i] == method)
      return put_word(&table[i], word);
  return 0;
}
