// SPDX-License-Identifier: Apache-2.0
// assay-recorder: the process in which a candidate's CUDA host code runs, once, for one workload. It has no device and
// no data; its own symbols are the CUDA runtime that the candidate finds, and what is asked of them goes into the log.
//
//   assay-recorder LIBRARY        (descriptor 3: the request, 4: the log; toolchain/record/format.h)
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "assay/candidate.h"
#include "base/build_id.h"
#include "base/last_words.h"
#include "sandbox/sandbox.h"
#include "toolchain/recorder/recorder.h"

#if defined(__SANITIZE_ADDRESS__)
// Host code that exits would have leaks looked for, in files that are out of reach by then.
EXPORT(int, __lsan_is_turned_off, void) {
  return 1;
}
#endif

typedef void entry_fn(const struct assay_args *args, void *stream);

// Notes what is known and dies of the same signal, as in the runner.
static void on_signal(int number, siginfo_t *info, void *context) {
  struct record_header *log = recorder.log;
  log->address = (uint64_t)(uintptr_t)info->si_addr;
  log->system_call = last_words_system_call(number, info);
#if defined(__x86_64__)
  enum { PAGE_FAULT_WRITE = 2 };
  log->writing = (((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_WRITE) != 0;
#else
  (void)context;
#endif
  log->signal = number;
  last_words_die(number);
}

static bool map_files(void) {
  struct stat st;
  if (fstat(RECORD_REQUEST_FD, &st) != 0 || st.st_size < (off_t)sizeof *recorder.request)
    return false;
  void *request = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, RECORD_REQUEST_FD, 0);
  void *log = mmap(NULL, RECORD_LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, RECORD_LOG_FD, 0);
  if (request == MAP_FAILED || log == MAP_FAILED)
    return false;
  close(RECORD_REQUEST_FD);
  close(RECORD_LOG_FD);
  recorder.request = request;
  recorder.log = log;
  return recorder.request->magic == RECORD_MAGIC;
}

// Candidates that look for CUDA's libraries themselves would find none, or one without a device.
EXPORT(void *, dlopen, const char *name, int flags) {
  static const char *const cuda[] = {"libcuda.so", "libcudart.so", "libnvrtc.so", "libcublas", "libcudnn", "libnvidia"};
  for (size_t i = 0; name && i < sizeof cuda / sizeof *cuda; i++)
    if (strstr(name, cuda[i]))
      refuse("dlopen(\"%s\") cannot be recorded: CUDA's functions are there without it, those of other libraries never",
             name);
  union {
    void *pointer;
    void *(*function)(const char *, int);
  } real = {dlsym(RTLD_NEXT, "dlopen")};
  return real.function ? real.function(name, flags) : NULL;
}

static void run_all(const struct assay_args *args, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end),
                    void *arg) {
  (void)args;
  if (n > 0)
    body(arg, 0, n);
}

static void stop(enum record_stage stage, const char *message) {
  snprintf(recorder.log->message, sizeof recorder.log->message, "%s", message);
  recorder.log->stage = stage;
  fflush(NULL);
  _exit(0);
}

static entry_fn *load(const char *library) {
  union {
    void *pointer;
    entry_fn *function;
  } entry;
  // Lazily: a function that is not there is refused when it is called, and not because it is mentioned.
  void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (!handle)
    stop(RECORD_NOT_LOADED, dlerror());
  entry.pointer = dlsym(handle, "assay_cuda_kernel");
  if (!entry.pointer)
    stop(RECORD_NOT_LOADED,
         "there is no extern \"C\" void assay_cuda_kernel(const struct assay_args *, cudaStream_t): "
         "write it, or a line for each launch, `// assay: launch KERNEL grid=... block=... args=...`");
  return entry.function;
}

// The entry gets what a C kernel gets, with addresses of the device.
static void enter(entry_fn *entry) {
  static struct assay_tensor tensors[RECORD_MAX_TENSORS];
  static int64_t strides[RECORD_MAX_TENSORS][SHAPE_MAX_RANK];
  const struct record_request *q = recorder.request;
  for (uint32_t i = 0; i < q->n_inputs + q->n_outputs; i++) {
    const struct record_tensor *t = &q->tensors[i];
    int64_t stride = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
      strides[i][d] = stride;
      stride *= t->dims[d];
    }
    tensors[i] = (struct assay_tensor){.data = (void *)(uintptr_t)t->address,
                                       .dims = t->dims,
                                       .strides = strides[i],
                                       .rank = t->rank,
                                       .dtype = t->dtype};
  }
  struct assay_args args = {.abi_version = ASSAY_ABI_VERSION,
                            .n_inputs = (int32_t)q->n_inputs,
                            .n_outputs = (int32_t)q->n_outputs,
                            .threads = 1,
                            .inputs = tensors,
                            .outputs = tensors + q->n_inputs,
                            .parallel = run_all};
  recorder.log->stage = RECORD_ENTERED;
  entry(&args, &recorder.streams[RECORD_ENTRY_STREAM]);
}

// The same addresses in every run: what is left of them in the gaps of structs makes two recordings of one thing differ
// otherwise. Where it is not allowed they differ.
static void settle_addresses(char **argv) {
  int now = personality(0xffffffff);
  if (now != -1 && !(now & ADDR_NO_RANDOMIZE) && personality((unsigned long)now | ADDR_NO_RANDOMIZE) != -1)
    execve(argv[0], argv, (char *[]){"LC_ALL=C", NULL});
}

int main(int argc, char **argv) {
  enum { LARGEST_IN_HEAP = 32 << 20 };
  static char signal_stack[64 << 10];
  struct assay_error err = {0};
  if (!build_id_matches(argc == 3 ? argv[2] : NULL, "assay-recorder"))
    return 2;
  settle_addresses(argv);
  if (!map_files()) {
    fprintf(stderr, "the files for the recording are not there\n");
    return 2;
  }
#if defined(__x86_64__)
  // The canary of stack frames is the other thing that the gaps of structs are full of and that differs from run to
  // run. main never returns, so nobody finds the change.
  __asm__ volatile("movq %0, %%fs:0x28" ::"r"(UINT64_C(0)) : "memory");
#endif
  recorder.next_address = recorder.request->first_free;
  recorder.n_streams = RECORD_ENTRY_STREAM + 1;
  recorder.streams[RECORD_DEFAULT_STREAM].alive = recorder.streams[RECORD_ENTRY_STREAM].alive = true;
  // Large blocks in the heap too, where host pointers are recognised.
  mallopt(M_MMAP_THRESHOLD, LARGEST_IN_HEAP);
  recorder.heap_begin = (uint64_t)(uintptr_t)sbrk(0);
  recorder.stack_end = (uint64_t)(uintptr_t)(argv[argc - 1] + strlen(argv[argc - 1]));
  if (!last_words_install(on_signal, true, signal_stack, sizeof signal_stack) ||
      sandbox_lock_runner(false, &err) != ASSAY_OK) {
    fprintf(stderr, "%s\n", err.message[0] ? err.message : "cannot handle signals");
    return 3;
  }
  if (write(STDOUT_FILENO, RECORD_READY, strlen(RECORD_READY)) < 0)
    return 3;
  recorder.log->magic = RECORD_MAGIC;
  recorder.log->stage = RECORD_LOADING;
  enter(load(argv[1]));
  stop(RECORD_RETURNED, "");
  return 1;
}
