// Launches: configurations, attributes, and parameters as the kernel gets them.
#include <string.h>

#include "toolchain/lift/lift.h"

static bool is_of_library(CUstream stream) {
  for (size_t i = 0; i < lift.n_library_streams; i++)
    if (lift.library_streams[i] == stream)
      return true;
  return false;
}

uint32_t lift_stream(CUstream stream) {
  unsigned int flags = 0;
  uintptr_t handle = (uintptr_t)stream;
  if (handle <= 1) // CU_STREAM_LEGACY
    return RECORD_DEFAULT_STREAM;
  for (uint32_t i = 2; i < lift.n_streams; i++)
    if (lift.streams[i] == stream)
      return i;
  if (lift.n_streams >= RECORD_MAX_STREAMS) {
    lift_refuse("it uses more than %d streams", RECORD_MAX_STREAMS - 2);
    return RECORD_DEFAULT_STREAM;
  }
  // The stream of a thread (2) waits for the default stream and is waited for.
  if (handle > 2 && lift.more.cuStreamGetFlags)
    (void)lift.more.cuStreamGetFlags(stream, &flags);
  const struct record_stream e = {lift.n_streams, flags & CU_STREAM_NON_BLOCKING, is_of_library(stream), 0};
  lift.streams[lift.n_streams] = stream;
  lift_entry(RECORD_STREAM, &e, sizeof e, NULL, 0, NULL, 0);
  return lift.n_streams++;
}

void lift_stream_made(CUstream stream, enum plan_origin origin) {
  lift_stream_gone(stream); // a handle that is used again
  if (origin != PLAN_LIBRARY)
    return;
  if (lift.n_library_streams == lift.library_stream_capacity) {
    void *more = arena_grow(&lift.arena, lift.library_streams, lift.n_library_streams, &lift.library_stream_capacity,
                            sizeof *lift.library_streams);
    if (!more)
      return;
    lift.library_streams = more;
  }
  lift.library_streams[lift.n_library_streams++] = stream;
}

void lift_stream_gone(CUstream stream) {
  for (size_t i = 0; i < lift.n_library_streams; i++)
    if (lift.library_streams[i] == stream)
      lift.library_streams[i--] = lift.library_streams[--lift.n_library_streams];
}

static void read_attributes(const struct cu_launch_config *config, struct record_launch *e) {
  for (unsigned int i = 0; i < config->n_attrs; i++) {
    const struct cu_launch_attribute *a = &config->attrs[i];
    enum { PROGRAMMATIC_EVENT = 7, PREFERRED_CLUSTER = 11, COMPLETION_EVENT = 12, UPDATABLE = 13, CARVEOUT = 14 };
    switch ((int)a->id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      e->cluster[0] = a->value.cluster_dim.x;
      e->cluster[1] = a->value.cluster_dim.y;
      e->cluster[2] = a->value.cluster_dim.z;
      break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      e->flags |= a->value.cooperative ? RECORD_COOPERATIVE : 0;
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      e->flags |= a->value.programmatic_stream_serialization_allowed ? RECORD_PROGRAMMATIC : 0;
      break;
    case CARVEOUT:
      e->carveout = a->value.cooperative; // an int too
      break;
    case PROGRAMMATIC_EVENT:
    case COMPLETION_EVENT:
    case UPDATABLE:
      lift_refuse("a launch has the attribute %d, which no plan has", (int)a->id);
      break;
    default: // priorities, policies, preferences: hints
      break;
    }
  }
}

// A tensor map that was encoded before; the token stands for it in the log.
static bool put_map(uint8_t *bytes) {
  for (size_t i = lift.n_maps; i-- > 0;) {
    struct known_map *m = &lift.maps[i];
    bool known;
    if (memcmp(bytes, m->bytes, sizeof m->bytes) != 0)
      continue;
    if (m->number < 0) {
      struct record_tensor_map e = m->arguments;
      e.address = lift_address(e.address, &known);
      m->number = (int)lift.n_maps_logged++;
      lift_entry(RECORD_TENSOR_MAP, &e, sizeof e, NULL, 0, NULL, 0);
    }
    memset(bytes, 0, RECORD_TOKEN_BYTES);
    size_t n = strlen(RECORD_TOKEN);
    memcpy(bytes, RECORD_TOKEN, n);
    char digits[12];
    size_t count = 0;
    for (int left = m->number; count == 0 || left > 0; left /= 10)
      digits[count++] = (char)('0' + left % 10);
    while (count > 0)
      bytes[n++] = (uint8_t)digits[--count];
    return true;
  }
  return false;
}

// Addresses as the log has them, in the parameter that begins at `offset`.
static void put_pointers(uint8_t *bytes, uint32_t offset, uint32_t size) {
  for (uint32_t at = 0; at + 8 <= size; at += 8) {
    struct record_word e = {.at = offset + at};
    memcpy(&e.word, bytes + at, sizeof e.word);
    // What a struct points to was seen before, in a call that was looked at. What was not may be numbers.
    e.unseen = size > 8 && lift.mode == LIFT_RECORDING && lift_is_unseen(e.word);
    uint64_t address = e.unseen ? e.word : lift_word(e.word, size == 8);
    if (address == e.word && !e.unseen)
      continue;
    memcpy(bytes + at, &address, sizeof address);
    if (lift.mode == LIFT_RECORDING && address != 0)
      lift_entry(RECORD_WORD, &e, sizeof e, NULL, 0, NULL, 0);
  }
}

enum { PACKED_POINTER = 1, PACKED_SIZE = 2 }; // CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE, as pointers

// The parameters, one behind the other, as the kernel's list has them; false when they are not all there.
static bool gather(const struct cubin_kernel *kernel, void **params, void **extra, uint8_t *out, size_t *end) {
  const uint8_t *packed = NULL;
  size_t n_packed = 0;
  for (; !params && extra && *extra; extra += 2) {
    if ((uintptr_t)extra[0] == PACKED_POINTER)
      packed = extra[1];
    else if ((uintptr_t)extra[0] == PACKED_SIZE)
      n_packed = *(size_t *)extra[1];
  }
  *end = 0;
  for (int i = 0; i < kernel->n_parameters; i++) {
    struct cubin_parameter p = kernel->parameters[i];
    bool fits = p.offset <= PLAN_MAX_ARGUMENT_BYTES && p.size <= PLAN_MAX_ARGUMENT_BYTES - p.offset;
    if (!fits || (params ? !params[i] : !packed || p.offset + p.size > n_packed))
      return false;
    memcpy(out + p.offset, params ? params[i] : packed + p.offset, p.size);
    if (p.size != RECORD_TOKEN_BYTES || !put_map(out + p.offset))
      put_pointers(out + p.offset, p.offset, p.size);
    *end = p.offset + p.size > *end ? p.offset + p.size : *end;
  }
  return true;
}

static void record_launch(struct known_kernel *k, const struct cu_launch_config *config, void **params, void **extra) {
  static uint8_t parameters[PLAN_MAX_ARGUMENT_BYTES + 4]; // the lock is held
  size_t n = 0;
  struct record_launch e = {.grid = {config->grid_x, config->grid_y, config->grid_z},
                            .block = {config->block_x, config->block_y, config->block_z},
                            .shared_bytes = config->shared_bytes,
                            .carveout = -1};
  read_attributes(config, &e);
  if (!lift.launched_last) // there is nothing that it could overlap with
    e.flags &= ~(uint32_t)RECORD_PROGRAMMATIC;
  e.stream = lift_stream(config->stream);
  memset(parameters, 0, sizeof parameters);
  if (k->kernel->n_parameters < 0 || !gather(k->kernel, params, extra, parameters, &n)) {
    lift_refuse("launch of %.160s: its parameters cannot be read", k->kernel->name);
    return;
  }
  if (lift.mode == LIFT_LOOKING)
    return;
  e.kernel = lift_kernel_number(k);
  lift_entry(RECORD_LAUNCH, &e, sizeof e, parameters, n, NULL, 0);
}

static void start_watch(const struct known_kernel *k, CUstream stream) {
  if (lift.n_watches == lift.watch_capacity) {
    void *more = arena_grow(&lift.arena, lift.watches, lift.n_watches, &lift.watch_capacity, sizeof *lift.watches);
    if (!more)
      return;
    lift.watches = more;
  }
  struct stopwatch *w = &lift.watches[lift.n_watches];
  *w = (struct stopwatch){.origin = k->origin};
  if (lift.cu->cuEventCreate(&w->start, 0) != CUDA_SUCCESS || lift.cu->cuEventCreate(&w->end, 0) != CUDA_SUCCESS)
    return;
  (void)lift.cu->cuEventRecord(w->start, stream);
  lift.n_watches++;
  lift.launches[k->origin]++;
}

void lift_launched(CUstream stream) {
  if (lift.mode == LIFT_TIMING && lift.n_watches > 0)
    (void)lift.cu->cuEventRecord(lift.watches[lift.n_watches - 1].end, stream);
}

void lift_launch(const struct cu_launch_config *config, CUfunction function, void **params, void **extra,
                 const char *symbol) {
  if (!symbol && lift.cu->cuFuncGetName && lift.cu->cuFuncGetName(&symbol, function) != CUDA_SUCCESS)
    symbol = NULL;
  if (!symbol && lift.more.cuKernelGetName && lift.more.cuKernelGetName(&symbol, (void *)function) != CUDA_SUCCESS)
    symbol = NULL;
  struct known_kernel *k = symbol ? lift_kernel(function, symbol) : NULL;
  if (!k)
    lift_refuse("launch of %.160s: its device code is not known", symbol ? symbol : "a kernel without a name");
  else if (lift.mode == LIFT_TIMING)
    start_watch(k, config->stream);
  else
    record_launch(k, config, params, extra);
}

// Kept from the moment the program encodes it: it may do so once and launch for ever.
void lift_tensor_map(const struct call_tensor_map *c) {
  if (lift.n_maps == lift.map_capacity) {
    void *more = arena_grow(&lift.arena, lift.maps, lift.n_maps, &lift.map_capacity, sizeof *lift.maps);
    if (!more)
      return;
    lift.maps = more;
  }
  if (c->rank < 1 || c->rank > 5)
    return;
  struct known_map *m = &lift.maps[lift.n_maps++];
  *m = (struct known_map){.number = -1};
  memcpy(m->bytes, c->map, sizeof m->bytes);
  m->arguments = (struct record_tensor_map){.address = (uint64_t)(uintptr_t)c->address,
                                            .data_type = (uint32_t)c->type,
                                            .rank = c->rank,
                                            .interleave = (uint32_t)c->interleave,
                                            .swizzle = (uint32_t)c->swizzle,
                                            .l2_promotion = (uint32_t)c->promotion,
                                            .oob_fill = (uint32_t)c->fill};
  memcpy(m->arguments.dims, c->dims, c->rank * sizeof *c->dims);
  memcpy(m->arguments.strides, c->strides, (c->rank - 1) * sizeof *c->strides);
  memcpy(m->arguments.box, c->box, c->rank * sizeof *c->box);
  memcpy(m->arguments.element_strides, c->element_strides, c->rank * sizeof *c->element_strides);
}
