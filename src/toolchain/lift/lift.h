// Private to src/toolchain/lift: recording what a Python program, or assay-library, asks of a GPU while it runs.
//
// assay-lift.so sits in the worker's process (worker.py lift). CUPTI tells it of every call of the driver and hands
// over every module that is loaded; PyTorch gets its memory from it. Between lift_begin and lift_end it writes the log
// that assay-recorder writes (record_format.h), which record_read.c makes a plan of, with the same distrust: the
// candidate shares this process and may forge all of it, and gets what it forged replayed and checked.
//
// Memory: PyTorch's memory, and the tensors of the task, have addresses of record_format.h's range in the log, and in
// the program too if the driver maps it there. Around each lie addresses that are nobody's, so that pointers are known
// for what they are, inside structs too. Memory that others took (cudaMalloc in an extension or a library) has such an
// address in the log only.
#ifndef TOOLCHAIN_LIFT_LIFT_H
#define TOOLCHAIN_LIFT_LIFT_H

#include <pthread.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "plan/plan.h"
#include "toolchain/lift/cupti.h"
#include "toolchain/program.h"
#include "toolchain/record_format.h"

struct allocation {
  uint64_t address; // as the log has it
  uint64_t real;    // as the program has it: the same, if the driver gave it there
  uint64_t bytes, mapped, handle;
  bool foreign, live;
  bool of_host;     // pinned memory of the host that kernels reach
  bool before;      // it was there when the recording began
  bool mentioned;   // by a step of the recording
  bool written;     // by a fill or a copy of the recording
  bool kept;        // freed while it was recorded, and still mapped
  bool left_over;   // it was there before, large and not empty; a recording set some of it and left it as it was
  uint8_t *content; // of one that was before, at the beginning; NULL: not known
};

struct cubin {
  uint8_t *bytes;
  size_t size;
  CUmodule module; // NULL: not known
  bool parsed, readable;
  struct cubin_info info;
  int number; // in the log, or -1
};

// A kernel as it is launched, by its handle.
struct known_kernel {
  CUfunction handle;
  struct cubin *cubin;
  const struct cubin_kernel *kernel;
  enum plan_origin origin;
  char object[96]; // the file name of whoever launched it first
  int number;      // in the log, or -1
};

struct known_map {
  uint8_t bytes[sizeof(struct cu_tensor_map)];
  struct record_tensor_map arguments;
  int number; // in the log, or -1
};

struct stopwatch {
  CUevent start, end;
  enum plan_origin origin;
};

// Looking: launches are read for addresses only, so that memory which nobody saw being taken is known before a
// recording.
enum lift_mode { LIFT_IDLE, LIFT_LOOKING, LIFT_RECORDING, LIFT_TIMING };
enum { LIFT_LOGS = 2 };
// Addresses in front of and behind PyTorch's memory and the task's tensors that are nobody's: as many as leave the
// driver no room between two of them (RECORD_GAP_BYTES) for memory of its own.
#define LIFT_NEAR ((uint64_t)126 << 20)

struct lift {
  pthread_mutex_t lock;
  const struct cuda_driver *cu;
  struct { // beyond the driver's table; NULL where the driver is older than they are
    enum cu_result (*cuFuncGetModule)(CUmodule *module, CUfunction function);
    enum cu_result (*cuKernelGetFunction)(CUfunction *function, void *kernel);
    enum cu_result (*cuKernelGetName)(const char **name, void *kernel);
    enum cu_result (*cuStreamGetFlags)(CUstream stream, unsigned int *flags);
    enum cu_result (*cuStreamIsCapturing)(CUstream stream, int *status);
    enum cu_result (*cuPointerGetAttribute)(void *data, int attribute, uint64_t address);
  } more;
  enum lift_mode mode;
  int log; // which one is written
  struct record_header *logs[LIFT_LOGS];
  const struct record_request *requests[LIFT_LOGS];
  struct allocation tensors[LIFT_LOGS][RECORD_MAX_TENSORS]; // of the requests
  size_t n_tensors[LIFT_LOGS];
  struct buf body;    // entries of the recording, behind those that are known at its end
  struct buf outputs; // struct record_output
  char refusal[sizeof((struct record_header *)0)->message]; // the first one, or ""
  uint64_t next_address;
  bool out_of_memory; // the driver said so when memory was mapped last
  struct arena arena;
  struct allocation *allocations; // own and foreign, in the order in which they were made
  size_t n_allocations, allocation_capacity;
  int n_left_over; // of them, also what is gone since
  struct cubin **cubins;
  size_t n_cubins, cubin_capacity;
  struct known_kernel **kernels;
  size_t n_kernels, kernel_capacity;
  struct known_map *maps;
  size_t n_maps, map_capacity;
  CUstream streams[RECORD_MAX_STREAMS]; // 2, 3, ...
  uint32_t n_streams;
  CUevent events[RECORD_MAX_EVENTS];
  CUstream *library_streams; // that a library made for itself
  size_t n_library_streams, library_stream_capacity;
  bool launched_last; // the last step in the log is a launch
  uint32_t n_events, n_modules_logged, n_kernels_logged, n_maps_logged;
  struct stopwatch *watches;
  size_t n_watches, watch_capacity;
  uint32_t launches[PLAN_ORIGINS];
};

// The one mutable global: CUPTI's callback and PyTorch's allocator have no other way to it.
extern struct lift lift;

// The recording is over: it did what no plan can hold. The program goes on.
void lift_refuse(const char *fmt, ...) ASSAY_PRINTF(1, 2);

// An entry more, while recording.
void lift_entry(enum record_kind kind, const void *fixed, size_t fixed_bytes, const void *a, size_t n_a, const void *b,
                size_t n_b);

// memory.c. The live allocation around this address of the program, or NULL.
struct allocation *lift_find(uint64_t address);
// As the log has it, and noted as mentioned; *known is false for what is no address of the device. What nobody saw
// being taken, but the driver knows, becomes known here.
uint64_t lift_address(uint64_t address, bool *known);
uint64_t lift_target(uint64_t address, bool *known); // the same of what is written to
// A word of a launch's parameters as the log has it: an address of the device as above. 0 for what is left over of who
// mapped memory; and, where the word is a parameter of its own, for what the log's reader would take for an address
// although nothing is there (of memory that was freed). In a struct that may be a pair of numbers, and a second
// recording tells (plan_difference).
uint64_t lift_word(uint64_t word, bool alone);
// Whether the driver knows of memory there that nobody saw being taken. What it does not know is remembered until
// lift_forget_words, which recordings and looks begin with.
bool lift_is_unseen(uint64_t word);
void lift_forget_words(void);
void lift_foreign_alloc(uint64_t address, size_t bytes);
void lift_foreign_free(uint64_t address);
bool lift_map_tensor(const struct record_tensor *t, struct allocation *out);
void lift_unmap(const struct allocation *a);
// What lives on from an earlier workload gets addresses for the log of the next, in order.
void lift_renumber_memory(void);
void lift_begin_memory(void);
void lift_end_memory(struct buf *out); // entries of the memory that was there before
// What assay_lift_left_overs says.
enum lift_left_overs { LIFT_COUNT, LIFT_EMPTY, LIFT_PUT_BACK, LIFT_SETTLED };
int lift_left_overs(enum lift_left_overs what);

// modules.c
void lift_module_loaded(const struct cupti_module *m);
void lift_module_named(CUmodule module, size_t since); // cubins from this one on came with this module
struct known_kernel *lift_kernel(CUfunction function, const char *symbol);
uint32_t lift_kernel_number(struct known_kernel *k);

// launches.c
void lift_launch(const struct cu_launch_config *config, CUfunction function, void **params, void **extra,
                 const char *symbol);
void lift_launched(CUstream stream); // its end, while timing
void lift_tensor_map(const struct call_tensor_map *c);
uint32_t lift_stream(CUstream stream);
// A stream that this origin made, and one that is no more.
void lift_stream_made(CUstream stream, enum plan_origin origin);
void lift_stream_gone(CUstream stream);
// Whose call it is that CUPTI tells of: the first file on the stack that is no part of CUDA's own launching, and its
// name.
enum plan_origin lift_caller(char object[96]);

// calls.c. Set while this thread is in here: what we ask of the driver is not the program's.
extern _Thread_local bool lift_inside;
bool lift_enter(void); // with the lock, unless it was inside; returns whether it was
void lift_leave(bool was_inside);
// What CUPTI calls.
void lift_on_callback(void *arg, enum cupti_domain domain, uint32_t id, const void *data);

#endif
