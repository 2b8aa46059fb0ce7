// A hole in PyTorch's pluggable allocator. Where torch.backends.cudnn.benchmark is on, PyTorch asks its allocator how
// large a block it could hand out, before it looks for cuDNN's fastest algorithm; CUDAPluggableAllocator has no answer
// but an exception, with which every convolution ends. Here is one: what the device has free. It takes the place of the
// method in the class's table of virtual functions, both of which PyTorch exports by name.
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "toolchain/lift/lift.h"

// torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator: its table, and cacheInfo(signed char, unsigned long *).
static const char table_name[] = "_ZTVN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocatorE",
                  method_name[] = "_ZN5torch4cuda22CUDAPluggableAllocator22CUDAPluggableAllocator9cacheInfoEaPm";

static void largest_block(void *allocator, signed char device, size_t *bytes) {
  size_t available = 0, total = 0;
  (void)allocator, (void)device;
  if (!lift.cu || lift.cu->cuMemGetInfo(&available, &total) != CUDA_SUCCESS)
    available = 0;
  *bytes = available;
}

// The page stays writable: what else lies in it may have to be, and nothing in this process protects anything.
static bool put_word(void **slot, void *word) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void *start = (void *)((uintptr_t)slot / page * page);
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
    return false;
  *slot = word;
  return true;
}

// When PyTorch is there. 1: done; 0: this PyTorch is built otherwise, and whoever sets the flag gets the exception.
__attribute__((visibility("default"))) int assay_lift_answer_largest_block(void);
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
