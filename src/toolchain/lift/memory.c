// Memory at addresses that a plan's reader knows, and what it held when the recording began.
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "toolchain/lift/lift.h"

enum { GRANULE = 2 << 20, OF_HOST = 1, OF_DEVICE = 2 }; // CUmemorytype
// What is larger is taken for workspace, whose contents nobody asks for.
static const uint64_t MOST_CONTENT = (uint64_t)64 << 20;

static struct allocation *add(void) {
  if (lift.n_allocations == lift.allocation_capacity) {
    size_t capacity = lift.allocation_capacity ? 2 * lift.allocation_capacity : 256;
    struct allocation *more = base_realloc(lift.allocations, capacity * sizeof *more);
    if (!more)
      return NULL;
    lift.allocations = more;
    lift.allocation_capacity = capacity;
  }
  struct allocation *a = &lift.allocations[lift.n_allocations];
  *a = (struct allocation){0};
  return a;
}

// Maps fresh memory for `bytes` bytes, with addresses on both sides that nobody else gets: at `address`, if the driver
// gives it there, else where it likes. The start lies in its granule as `address` does in its own.
static bool map(uint64_t address, uint64_t bytes, struct allocation *a) {
  const struct cu_mem_allocation_prop prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
  const struct cu_mem_access_desc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const struct cuda_driver *cu = lift.cu;
  uint64_t within = address % GRANULE, mapped = (within + bytes + GRANULE - 1) / GRANULE * GRANULE;
  uint64_t got = 0, handle = 0;
  if (cu->cuMemAddressReserve(&got, mapped + 2 * LIFT_NEAR, 0, address - within - LIFT_NEAR, 0) != CUDA_SUCCESS)
    return false;
  uint64_t base = got + LIFT_NEAR;
  enum cu_result made = cu->cuMemCreate(&handle, mapped, &prop, 0);
  lift.out_of_memory = made == CUDA_ERROR_OUT_OF_MEMORY;
  if (made != CUDA_SUCCESS)
    return false;
  if (cu->cuMemMap(base, mapped, 0, handle, 0) != CUDA_SUCCESS ||
      cu->cuMemSetAccess(base, mapped, &access, 1) != CUDA_SUCCESS) {
    (void)cu->cuMemRelease(handle);
    return false;
  }
  *a = (struct allocation){
      .address = address, .real = base + within, .bytes = bytes, .mapped = mapped, .handle = handle, .live = true};
  return true;
}

bool lift_map_tensor(const struct record_tensor *t, struct allocation *out) {
  return map(t->address, t->bytes ? t->bytes : 1, out);
}

void lift_unmap(const struct allocation *a) {
  (void)lift.cu->cuMemUnmap(a->real / GRANULE * GRANULE, a->mapped);
  (void)lift.cu->cuMemRelease(a->handle);
}

static uint64_t take_address(uint64_t bytes) {
  uint64_t address = lift.next_address;
  lift.next_address = record_next_address(address, bytes);
  return address;
}

// An address right behind one allocation may be the first of another, which is meant then.
struct allocation *lift_find(uint64_t address) {
  struct allocation *ended = NULL;
  for (size_t i = lift.n_allocations; i-- > 0;) {
    struct allocation *a = &lift.allocations[i];
    if (!a->live || address < a->real || address - a->real > a->bytes)
      continue;
    if (address - a->real < a->bytes)
      return a;
    ended = ended ? ended : a;
  }
  return ended;
}

static bool is_near(uint64_t word, const struct allocation *a) {
  return word + LIFT_NEAR >= a->real && word <= a->real + a->bytes + LIFT_NEAR;
}

// The task's tensor, or the live memory of PyTorch's, that the address is in or near to: nothing else lies there.
static struct allocation *find_near(uint64_t address) {
  for (size_t i = 0; i < lift.n_tensors[lift.log]; i++)
    if (is_near(address, &lift.tensors[lift.log][i]))
      return &lift.tensors[lift.log][i];
  for (size_t i = lift.n_allocations; i-- > 0;) {
    struct allocation *a = &lift.allocations[i];
    if (a->live && !a->foreign && is_near(address, a))
      return a;
  }
  return NULL;
}

// What maps memory (map() and the driver below it) leaves the ends of mappings, and of what is reserved where that is
// near enough, on this thread's stack, where structs with gaps are built next.
static bool is_end_of_mapping(uint64_t word, const struct allocation *a) {
  uint64_t start = a->real / GRANULE * GRANULE, end = start + a->mapped;
  bool outside = word < a->real || word > a->real + a->bytes;
  return outside && (word == start || word == end || word == start - LIFT_NEAR || word == end + LIFT_NEAR);
}

static struct allocation *add_foreign(uint64_t address, uint64_t bytes) {
  struct allocation *a = add();
  if (!a)
    return NULL;
  *a = (struct allocation){
      .address = take_address(bytes), .real = address, .bytes = bytes, .foreign = true, .live = true};
  lift.n_allocations++;
  return a;
}

// Words that the driver knew nothing of when it was asked, since lift_forget_words: pairs of numbers in structs are
// passed again and again.
enum { NOTHINGS = 4096 };
static uint64_t nothings[NOTHINGS];

static uint64_t *nothing_of(uint64_t word) {
  return &nothings[(word * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

void lift_forget_words(void) {
  memset(nothings, 0, sizeof nothings);
}

static bool ask_driver(uint64_t address, unsigned int *type, uint64_t *start, size_t *bytes) {
  enum { MEMORY_TYPE = 2, RANGE_START = 11, RANGE_BYTES = 12 }; // CUpointer_attribute
  const uint64_t least = (uint64_t)1 << 32, most = (uint64_t)1 << 57;
  *type = 0;
  *start = 0;
  *bytes = 0;
  if (address < least || address >= most || !lift.more.cuPointerGetAttribute || *nothing_of(address) == address)
    return false;
  *nothing_of(address) = address;
  if (lift.more.cuPointerGetAttribute(type, MEMORY_TYPE, address) != CUDA_SUCCESS ||
      (*type != OF_HOST && *type != OF_DEVICE) ||
      lift.more.cuPointerGetAttribute(start, RANGE_START, address) != CUDA_SUCCESS ||
      lift.more.cuPointerGetAttribute(bytes, RANGE_BYTES, address) != CUDA_SUCCESS)
    return false;
  if (*bytes == 0 || address < *start || address - *start >= *bytes)
    return false;
  *nothing_of(address) = 0;
  return true;
}

// Memory that nobody saw being taken (variables of modules, pools, pinned memory of the host), by what the driver knows
// of the address. It was there before: what is taken while it is recorded is seen.
static struct allocation *adopt(uint64_t address) {
  unsigned int type;
  uint64_t start;
  size_t bytes;
  struct allocation *a = ask_driver(address, &type, &start, &bytes) ? add_foreign(start, bytes) : NULL;
  if (a) {
    a->of_host = type == OF_HOST;
    a->before = true;
  }
  return a;
}

bool lift_is_unseen(uint64_t word) {
  unsigned int type;
  uint64_t start;
  size_t bytes;
  bool seen = word >= LIFT_NEAR && (lift_find(word) || find_near(word));
  return !seen && ask_driver(word, &type, &start, &bytes);
}

static uint64_t use(uint64_t address, bool written, bool *known) {
  struct allocation *a = address >= LIFT_NEAR ? lift_find(address) : NULL;
  if (!a && address >= LIFT_NEAR)
    a = find_near(address); // a mistake where it is outside, of which the reader has to hear
  if (!a)
    a = adopt(address);
  *known = a != NULL;
  if (!a)
    return address;
  a->mentioned = true;
  a->written = a->written || written;
  return a->address + (address - a->real);
}

uint64_t lift_address(uint64_t address, bool *known) {
  return use(address, false, known);
}

uint64_t lift_target(uint64_t address, bool *known) {
  return use(address, true, known);
}

uint64_t lift_word(uint64_t word, bool alone) {
  bool known;
  const struct allocation *near = word >= LIFT_NEAR && !lift_find(word) ? find_near(word) : NULL;
  if (near && is_end_of_mapping(word, near))
    return 0;
  uint64_t address = lift_address(word, &known);
  bool in_use = word >= RECORD_FIRST_ADDRESS - RECORD_GAP_BYTES && word < lift.next_address + RECORD_GAP_BYTES;
  return known || !in_use || !alone ? address : 0;
}

static void log_alloc(const struct allocation *a, uint64_t bytes) {
  const struct record_alloc e = {a->address, bytes, RECORD_NO_STREAM, 0};
  if (lift.mode == LIFT_RECORDING)
    lift_entry(RECORD_ALLOC, &e, sizeof e, NULL, 0, NULL, 0);
}

// What was there before is of the plan's whole life, also where the program gives it back.
static void log_free(const struct allocation *a) {
  const struct record_free e = {a->address, RECORD_NO_STREAM, 0};
  if (lift.mode == LIFT_RECORDING && !a->before)
    lift_entry(RECORD_FREE, &e, sizeof e, NULL, 0, NULL, 0);
}

void lift_foreign_alloc(uint64_t address, size_t bytes) {
  for (size_t i = 0; i < lift.n_allocations; i++) { // what is there now was freed unseen
    struct allocation *old = &lift.allocations[i];
    if (old->foreign && old->real < address + bytes && address < old->real + old->bytes)
      old->live = false;
  }
  const struct allocation *a = address && bytes ? add_foreign(address, bytes) : NULL;
  if (a)
    log_alloc(a, a->bytes);
}

void lift_foreign_free(uint64_t address) {
  struct allocation *a = lift_find(address);
  if (!a || !a->foreign || a->real != address)
    return;
  log_free(a);
  a->live = false;
}

// What is dead needs no books: a word that was left over of it is told by its range (lift_word). What was freed while
// it was recorded was kept for the recording's end.
static void forget_dead(void) {
  size_t n = 0;
  for (size_t i = 0; i < lift.n_allocations; i++) {
    struct allocation *a = &lift.allocations[i];
    if (a->live) {
      lift.allocations[n++] = *a;
      continue;
    }
    base_free(a->content);
    if (a->kept)
      lift_unmap(a);
  }
  lift.n_allocations = n;
}

void lift_renumber_memory(void) {
  forget_dead();
  lift.n_left_over = 0;
  for (size_t i = 0; i < lift.n_allocations; i++) {
    lift.allocations[i].address = take_address(lift.allocations[i].bytes);
    lift.allocations[i].left_over = false;
  }
}

// ---- PyTorch's allocator (torch.cuda.CUDAPluggableAllocator)

__attribute__((visibility("default"))) void *assay_lift_malloc(ssize_t size, int device, CUstream stream);
__attribute__((visibility("default"))) void assay_lift_free(void *p, ssize_t size, int device, CUstream stream);

void *assay_lift_malloc(ssize_t size, int device, CUstream stream) {
  (void)device, (void)stream;
  if (size <= 0 || !lift.cu)
    return NULL;
  bool was_inside = lift_enter();
  struct allocation *a = add();
  uint64_t rounded = ((uint64_t)size + RECORD_PYTORCH_BYTES - 1) / RECORD_PYTORCH_BYTES * RECORD_PYTORCH_BYTES;
  uint64_t address = take_address(rounded);
  bool mapped = a && map(address, (uint64_t)size, a);
  uint64_t real = mapped ? a->real : 0;
  if (mapped) {
    lift.n_allocations++;
    log_alloc(a, rounded);
  }
  lift_leave(was_inside);
  return mapped ? (void *)(uintptr_t)real : NULL; // PyTorch says that memory ran out
}

// The addresses are never used again: a pointer to what was freed is to be told from all others. The memory goes back
// when nothing can still use it; while a graph is captured that cannot be waited for, and it stays.
static void give_back(struct allocation *a, CUstream stream) {
  int capturing = 0;
  if (lift.more.cuStreamIsCapturing && (lift.more.cuStreamIsCapturing(stream, &capturing) != CUDA_SUCCESS || capturing))
    return;
  if (lift.cu->cuCtxSynchronize() != CUDA_SUCCESS)
    return;
  lift_unmap(a);
}

void assay_lift_free(void *p, ssize_t size, int device, CUstream stream) {
  (void)size, (void)device;
  if (!p || !lift.cu)
    return;
  bool was_inside = lift_enter();
  struct allocation *a = lift_find((uint64_t)(uintptr_t)p);
  if (a && !a->foreign && a->real == (uint64_t)(uintptr_t)p) {
    log_free(a);
    a->live = false;
    // What a recording mentions is looked at once more at its end.
    a->kept = a->before && lift.mode == LIFT_RECORDING;
    if (!a->kept)
      give_back(a, stream);
  }
  lift_leave(was_inside);
}

// ---- what memory held

static uint8_t *download(const struct allocation *a) {
  uint8_t *bytes = a->bytes <= MOST_CONTENT ? base_alloc(a->bytes) : NULL;
  if (bytes && a->of_host)
    memcpy(bytes, (const void *)(uintptr_t)a->real, a->bytes);
  else if (bytes && (lift.cu->cuMemcpyDtoHAsync(bytes, a->real, a->bytes, NULL) != CUDA_SUCCESS ||
                     lift.cu->cuStreamSynchronize(NULL) != CUDA_SUCCESS)) {
    base_free(bytes);
    bytes = NULL;
  }
  return bytes;
}

void lift_begin_memory(void) {
  (void)lift.cu->cuCtxSynchronize();
  lift_forget_words();
  forget_dead();
  for (size_t i = 0; i < lift.n_allocations; i++) {
    struct allocation *a = &lift.allocations[i];
    base_free(a->content);
    a->content = NULL;
    a->before = a->live;
    a->mentioned = a->written = false;
    if (a->live)
      a->content = download(a);
  }
}

static void put(struct buf *out, const struct record_state *e, const uint8_t *bytes, size_t n) {
  static const char zeros[8];
  const struct record_entry head = {RECORD_STATE, (uint32_t)(sizeof *e + n)};
  buf_append(out, &head, sizeof head);
  buf_append(out, e, sizeof *e);
  if (n)
    buf_append(out, bytes, n);
  buf_append(out, zeros, (8 - n % 8) % 8);
}

static bool is_zero(const struct allocation *a) {
  return a->content[0] == 0 && memcmp(a->content, a->content + 1, a->bytes - 1) == 0;
}

// What was there before and is used: a constant where it is what it was. Where it is not, it is either workspace, or
// something that is carried from call to call, of which the first call's beginning is kept. The same goes for what a
// fill or a copy writes to and leaves as it was. Where that is large, it is taken for workspace (cuBLAS sets counters
// in its own to zero), which is zeros at first; if it holds anything else, whether that is read is to be tried
// (lift_left_overs).
void lift_end_memory(struct buf *out) {
  enum { WORKSPACE = 1 << 20 };
  (void)lift.cu->cuCtxSynchronize();
  for (size_t i = 0; i < lift.n_allocations; i++) {
    struct allocation *a = &lift.allocations[i];
    if (!a->before || !a->mentioned)
      continue;
    uint8_t *now = a->content ? download(a) : NULL;
    bool same = now && memcmp(now, a->content, a->bytes) == 0;
    bool constant = same && !a->written;
    if (same && a->written && a->bytes >= WORKSPACE && !is_zero(a) && !a->left_over) {
      a->left_over = true;
      lift.n_left_over++;
    }
    size_t n = a->content && (constant || a->bytes < WORKSPACE) ? (size_t)a->bytes : 0;
    put(out, &(struct record_state){a->address, a->bytes, constant ? RECORD_STATE_CONSTANT : RECORD_STATE_RESTORED, 0},
        a->content, n);
    base_free(now);
  }
}

static void upload(const struct allocation *a, const uint8_t *bytes) {
  if (a->of_host)
    memcpy((void *)(uintptr_t)a->real, bytes, a->bytes);
  else
    (void)lift.cu->cuMemcpyHtoDAsync(a->real, bytes, a->bytes, NULL);
}

static bool empty(struct allocation *a) {
  base_free(a->content);
  a->content = download(a);
  if (a->content && a->of_host)
    memset((void *)(uintptr_t)a->real, 0, a->bytes);
  return a->content && (a->of_host || lift.cu->cuMemsetD8Async(a->real, 0, a->bytes, NULL) == CUDA_SUCCESS);
}

int lift_left_overs(enum lift_left_overs what) {
  int n = 0;
  bool done = lift.cu->cuCtxSynchronize() == CUDA_SUCCESS;
  for (size_t i = 0; i < lift.n_allocations; i++) {
    struct allocation *a = &lift.allocations[i];
    if (!a->left_over)
      continue;
    a->left_over = what != LIFT_PUT_BACK;
    if (!a->live)
      continue;
    n++;
    if (what == LIFT_EMPTY)
      done = empty(a) && done;
    else if (what == LIFT_PUT_BACK && a->content)
      upload(a, a->content);
  }
  if (what == LIFT_PUT_BACK)
    lift.n_left_over = n;
  done = done && n == lift.n_left_over && lift.cu->cuCtxSynchronize() == CUDA_SUCCESS;
  if (what == LIFT_PUT_BACK)
    lift.n_left_over = 0;
  return done ? n : -1;
}
