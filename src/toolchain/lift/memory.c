// SPDX-License-Identifier: Apache-2.0
// Memory of the device: mapped for PyTorch and for the task's tensors, allocated by others, or only known to the
// driver.
#include <string.h>

#include "toolchain/lift/lift.h"

static const uint64_t MOST_KEPT = (uint64_t)512 << 20, MOST_KEPT_ALL = (uint64_t)4 << 30;

// Maps fresh memory for `bytes` bytes, with a gap on both sides that nobody else gets: at `address`, if the driver
// gives it there, else where the driver likes. It starts as far into its granule as `address` is into its own.
static bool map(struct lift *l, uint64_t address, uint64_t bytes, struct allocation *out) {
  const struct cu_mem_allocation_prop prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
  const struct cu_mem_access_desc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const struct cuda_driver *cu = l->driver.cu;
  const uint64_t granule = ADDRESS_MAP_GRANULE, gap = ADDRESS_MAP_GAP;
  uint64_t within = address % granule, mapped = (within + bytes + granule - 1) / granule * granule;
  uint64_t got = 0, handle = 0;
  if (cu->cuMemAddressReserve(&got, mapped + 2 * gap, 0, address - within - gap, 0) != CUDA_SUCCESS)
    return false;
  uint64_t base = got + gap;
  enum cu_result made = cu->cuMemCreate(&handle, mapped, &prop, 0);
  l->out_of_memory = l->out_of_memory || made == CUDA_ERROR_OUT_OF_MEMORY;
  if (made != CUDA_SUCCESS)
    return false;
  if (cu->cuMemMap(base, mapped, 0, handle, 0) != CUDA_SUCCESS ||
      cu->cuMemSetAccess(base, mapped, &access, 1) != CUDA_SUCCESS) {
    (void)cu->cuMemRelease(handle);
    return false;
  }
  *out = (struct allocation){.address = address,
                             .real = base + within,
                             .bytes = bytes,
                             .mapped = mapped,
                             .handle = handle,
                             .owner = ALLOCATION_OWN,
                             .life = ALLOCATION_NEW};
  return true;
}

bool lift_map_tensor(struct lift *l, const struct record_tensor *t, struct allocation *out) {
  return map(l, t->address, t->bytes ? t->bytes : 1, out);
}

void lift_unmap(struct lift *l, const struct allocation *a) {
  (void)l->driver.cu->cuMemUnmap(a->real / ADDRESS_MAP_GRANULE * ADDRESS_MAP_GRANULE, a->mapped);
  (void)l->driver.cu->cuMemRelease(a->handle);
}

static void unmap_kept(void *arg, const struct allocation *a) {
  lift_unmap(arg, a);
}

void lift_forget_freed(struct lift *l) {
  address_map_forget(&l->memory, unmap_kept, l);
}

void lift_stop_warming(struct lift *l) {
  if (l->warming && l->driver.cu->cuCtxSynchronize() == CUDA_SUCCESS)
    lift_forget_freed(l);
  l->warming = false;
}

// ---- addresses

static uint64_t *asked_place(struct lift *l, uint64_t word) {
  _Static_assert(LIFT_ASKED_WORDS == 1 << (64 - 52), "the hash's upper bits");
  return &l->asked[(word * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

void lift_forget_words(struct lift *l) {
  memset(l->asked, 0, sizeof l->asked);
}

static bool ask_driver(struct lift *l, uint64_t address, struct driver_memory *out) {
  const uint64_t least = (uint64_t)1 << 32, most = (uint64_t)1 << 57;
  uint64_t *asked = asked_place(l, address);
  if (address < least || address >= most || !l->driver.cuPointerGetAttribute || *asked == address)
    return false;
  *asked = address;
  if (!lift_driver_memory(&l->driver, address, out))
    return false;
  *asked = 0;
  return true;
}

// Memory that nobody saw being allocated (variables of modules, pools, pinned memory of the host), as the driver
// describes it. It was there before: what is allocated while recording is seen.
static struct allocation *adopt(struct lift *l, uint64_t address) {
  struct driver_memory m;
  if (!ask_driver(l, address, &m))
    return NULL;
  return address_map_add_foreign(&l->memory, m.start, m.bytes, m.of_host ? ALLOCATION_HOST : ALLOCATION_FOREIGN,
                                 ALLOCATION_BEFORE);
}

bool lift_is_unseen(struct lift *l, uint64_t word) {
  struct driver_memory m;
  return !address_map_reach(&l->memory, word) && ask_driver(l, word, &m);
}

// An address in a gap is translated too: it is a mistake, and the log's reader has to see it.
uint64_t lift_address(struct lift *l, uint64_t address, enum allocation_use use, bool *known) {
  struct allocation *a = address_map_reach(&l->memory, address);
  if (!a)
    a = adopt(l, address);
  if (known)
    *known = a != NULL;
  if (!a)
    return address;
  allocation_note(a, use);
  return allocation_logged(a, address);
}

uint64_t lift_word(struct lift *l, uint64_t word, bool alone) {
  bool known;
  if (address_map_is_mapping_end(&l->memory, word))
    return 0;
  uint64_t address = lift_address(l, word, ALLOCATION_USED, &known);
  return known || !alone || !address_map_is_in_range(&l->memory, word) ? address : 0;
}

// ---- allocating and freeing

static void log_alloc(struct lift *l, uint64_t address, uint64_t bytes) {
  const struct record_alloc e = {.address = address, .bytes = bytes, .stream = RECORD_NO_STREAM};
  if (l->mode == LIFT_RECORDING)
    log_writer_put(&l->writer, RECORD_ALLOC, &e, sizeof e);
}

// What was there before belongs to the plan's whole life, also where the program frees it.
static void log_free(struct lift *l, const struct allocation *a) {
  const struct record_free e = {.address = a->address, .stream = RECORD_NO_STREAM};
  if (l->mode == LIFT_RECORDING && !allocation_was_before(a))
    log_writer_put(&l->writer, RECORD_FREE, &e, sizeof e);
}

void lift_foreign_alloc(struct lift *l, uint64_t address, size_t bytes) {
  address_map_free_range(&l->memory, address, bytes);
  if (!address || !bytes)
    return;
  const struct allocation *a = address_map_add_foreign(&l->memory, address, bytes, ALLOCATION_FOREIGN, ALLOCATION_NEW);
  if (a)
    log_alloc(l, a->address, a->bytes);
}

void lift_foreign_free(struct lift *l, uint64_t address) {
  struct allocation *a = address_map_find(&l->memory, address);
  if (!a || a->owner == ALLOCATION_OWN || a->real != address)
    return;
  log_free(l, a);
  allocation_end(a, l->mode == LIFT_RECORDING);
}

// Waits until the device has done all that it was given: never while a graph is captured, which that would break.
static bool settle(struct lift *l) {
  if (l->driver.cu->cuCtxSynchronize() != CUDA_SUCCESS)
    return false;
  address_map_settle(&l->memory);
  return true;
}

// Who may get what this stream allocates, once it is freed.
static enum allocation_order order_of(struct lift *l, CUstream stream) {
  enum { PER_THREAD = 2 }; // CU_STREAM_PER_THREAD: one handle, and each thread means another stream
  if (stream_table_is_capturing(&l->streams, stream, &l->driver))
    return ALLOCATION_OF_GRAPH;
  return (uintptr_t)stream == PER_THREAD ? ALLOCATION_OF_SEVERAL : ALLOCATION_OF_STREAM;
}

// While warming up, memory of that size which the program freed: to map some takes a millisecond, and a search for the
// fastest kernel allocates ten thousands of times. The stream that it was freed on gets it at once, since its later
// work comes after all that used it: a search takes times, and to wait here would be in them. For another stream the
// device is waited for first. A graph gets none: it may be replayed on any stream.
static uint64_t malloc_again(struct lift *l, uint64_t bytes, CUstream stream, enum allocation_order order) {
  bool may = l->warming && order != ALLOCATION_OF_GRAPH;
  struct allocation *a = may ? address_map_find_kept(&l->memory, bytes, (uintptr_t)stream) : NULL;
  if (!a || (!allocation_is_ordered(a, (uintptr_t)stream) && !settle(l)))
    return 0;
  a->life = ALLOCATION_NEW;
  a->order = order;
  a->stream = (uintptr_t)stream;
  return a->real;
}

// Maps memory; where there is none, what is only kept goes first, once nothing uses it any more.
static bool map_or_drop_kept(struct lift *l, uint64_t address, uint64_t bytes, struct allocation *out, bool may_wait) {
  const bool before = l->out_of_memory;
  if (map(l, address, bytes, out))
    return true;
  if (!l->warming || !may_wait || !settle(l))
    return false;
  lift_forget_freed(l);
  l->out_of_memory = before;
  return map(l, address, bytes, out);
}

uint64_t lift_malloc(struct lift *l, uint64_t bytes, CUstream stream) {
  struct allocation a;
  enum allocation_order order = order_of(l, stream);
  uint64_t again = malloc_again(l, bytes, stream, order);
  if (again)
    return again;
  bool room = address_map_reserve(&l->memory);
  uint64_t rounded = (bytes + RECORD_PYTORCH_BYTES - 1) / RECORD_PYTORCH_BYTES * RECORD_PYTORCH_BYTES;
  uint64_t address = address_map_next(&l->memory, rounded);
  if (!room || !map_or_drop_kept(l, address, bytes, &a, order != ALLOCATION_OF_GRAPH))
    return 0;
  a.order = order;
  a.stream = (uintptr_t)stream;
  (void)address_map_add(&l->memory, &a); // there is room
  log_alloc(l, address, rounded);
  return a.real;
}

// Once something is looked at or recorded the addresses are never used again, so that a pointer to freed memory differs
// from all others. The memory goes back when nothing can use it any more; or it is kept for the next call of a warm-up,
// unless it is much, which others may need. While a graph is captured that cannot be waited for, and the memory stays
// mapped; so does the graph's own, for its replays.
static void give_back(struct lift *l, struct allocation *a) {
  CUstream stream = a->order == ALLOCATION_OF_STREAM ? (CUstream)(uintptr_t)a->stream : NULL; // others may be gone
  if (a->order == ALLOCATION_OF_GRAPH || stream_table_is_capturing(&l->streams, stream, &l->driver))
    return;
  if (l->warming && a->bytes <= MOST_KEPT && address_map_kept_bytes(&l->memory) <= MOST_KEPT_ALL)
    a->life = ALLOCATION_KEPT;
  else if (settle(l))
    lift_unmap(l, a);
}

void lift_free(struct lift *l, uint64_t address, CUstream stream) {
  struct allocation *a = address_map_find(&l->memory, address);
  if (!a || a->owner != ALLOCATION_OWN || a->real != address)
    return;
  log_free(l, a);
  allocation_end(a, l->mode == LIFT_RECORDING);
  allocation_note_stream(a, (uintptr_t)stream);
  if (a->life != ALLOCATION_KEPT)
    give_back(l, a);
}

void lift_record_stream(struct lift *l, uint64_t address, CUstream stream) {
  struct allocation *a = address_map_find(&l->memory, address);
  if (a && a->owner == ALLOCATION_OWN)
    allocation_note_stream(a, (uintptr_t)stream);
}
