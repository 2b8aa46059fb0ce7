// SPDX-License-Identifier: Apache-2.0
// Launches: configurations, attributes, and parameters as the kernel gets them.
#include <string.h>

#include "toolchain/lift/lift.h"

static void read_attributes(struct lift *l, const struct cu_launch_config *config, struct record_launch *e) {
  enum { PROGRAMMATIC_EVENT = 7, COMPLETION_EVENT = 12, UPDATABLE = 13, CARVEOUT = 14 };
  for (unsigned int i = 0; i < config->n_attrs; i++) {
    const struct cu_launch_attribute *a = &config->attrs[i];
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
      log_writer_refuse(&l->writer, "a launch has the attribute %d, which no plan has", (int)a->id);
      break;
    default: // priorities, policies, preferences: hints
      break;
    }
  }
}

// If the parameter is a tensor map that was encoded before, its token replaces it, and its arguments are in the log.
static bool put_map(struct lift *l, uint8_t *bytes) {
  struct known_map *m = tensor_map_table_find(&l->maps, bytes);
  if (!m)
    return false;
  if (m->number < 0) {
    struct record_tensor_map e = m->arguments;
    e.address = lift_address(l, e.address, ALLOCATION_USED, NULL);
    m->number = (int)l->maps.n_logged++;
    log_writer_put(&l->writer, RECORD_TENSOR_MAP, &e, sizeof e);
  }
  tensor_map_token(bytes, m->number);
  return true;
}

// The addresses in the parameter at `p.offset` become those of the log.
static void put_pointers(struct lift *l, uint8_t *bytes, struct cubin_parameter p) {
  bool recording = l->mode == LIFT_RECORDING, alone = p.size == 8;
  for (uint32_t at = 0; at + 8 <= p.size; at += 8) {
    struct record_word e = {.at = p.offset + at};
    memcpy(&e.word, bytes + at, sizeof e.word);
    // What a struct points to was seen before, in a call that was looked at. What was not may be numbers.
    e.unseen = p.size > 8 && recording && lift_is_unseen(l, e.word);
    uint64_t address = e.unseen ? e.word : lift_word(l, e.word, alone);
    if (address == e.word && !e.unseen)
      continue;
    memcpy(bytes + at, &address, sizeof address);
    if (recording && address != 0)
      log_writer_put(&l->writer, RECORD_WORD, &e, sizeof e);
  }
}

// The packed parameters of a launch's `extra`, if it has them there.
static const uint8_t *find_packed(void **extra, size_t *n) {
  enum { PACKED_POINTER = 1, PACKED_SIZE = 2 }; // CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE, as pointers
  const uint8_t *packed = NULL;
  *n = 0;
  for (; extra && *extra; extra += 2) {
    if ((uintptr_t)extra[0] == PACKED_POINTER)
      packed = extra[1];
    else if ((uintptr_t)extra[0] == PACKED_SIZE)
      *n = *(size_t *)extra[1];
  }
  return packed;
}

// The parameters to l->parameters, at the offsets of the kernel's list, and where they end; false when they are not all
// there.
static bool gather(struct lift *l, const struct cubin_kernel *kernel, const struct lift_launch *launch, size_t *end) {
  uint8_t *out = l->parameters;
  size_t n_packed = 0;
  void **params = launch->params;
  const uint8_t *packed = params ? NULL : find_packed(launch->extra, &n_packed);
  memset(out, 0, sizeof l->parameters);
  *end = 0;
  for (int i = 0; i < kernel->n_parameters; i++) {
    struct cubin_parameter p = kernel->parameters[i];
    bool fits = p.offset <= PLAN_MAX_ARGUMENT_BYTES && p.size <= PLAN_MAX_ARGUMENT_BYTES - p.offset;
    if (!fits || (params ? !params[i] : !packed || p.offset + p.size > n_packed))
      return false;
    memcpy(out + p.offset, params ? params[i] : packed + p.offset, p.size);
    if (p.size != RECORD_TOKEN_BYTES || !put_map(l, out + p.offset))
      put_pointers(l, out + p.offset, p);
    *end = p.offset + p.size > *end ? p.offset + p.size : *end;
  }
  return true;
}

static void record_launch(struct lift *l, struct known_kernel *k, const struct lift_launch *launch) {
  const struct cu_launch_config *config = launch->config;
  size_t n = 0;
  struct record_launch e = {.grid = {config->grid_x, config->grid_y, config->grid_z},
                            .block = {config->block_x, config->block_y, config->block_z},
                            .shared_bytes = config->shared_bytes,
                            .carveout = -1};
  read_attributes(l, config, &e);
  if (!l->writer.launched_last) // there is nothing that it could overlap with
    e.flags &= ~(uint32_t)RECORD_PROGRAMMATIC;
  e.stream = stream_table_stream(&l->streams, config->stream, &l->driver, &l->writer);
  if (k->kernel->n_parameters < 0 || !gather(l, k->kernel, launch, &n)) {
    log_writer_refuse(&l->writer, "launch of %.160s: its parameters cannot be read", k->kernel->name);
    return;
  }
  if (l->mode == LIFT_LOOKING)
    return;
  e.kernel = module_table_number(&l->modules, k, &l->writer);
  log_writer_put_with(&l->writer, RECORD_LAUNCH, &e, sizeof e, l->parameters, n);
}

// The kernel that a launch means. Where several modules have one of that name and none was loaded under the handle's
// module, the number of kernels that the driver knows of decides.
static struct known_kernel *find_kernel(struct lift *l, CUfunction function, const char *symbol) {
  struct known_kernel *known = module_table_find(&l->modules, function, symbol);
  if (known)
    return known;
  CUmodule module = lift_driver_module(&l->driver, function);
  struct module_match match = module_table_search(&l->modules, module, symbol, -1);
  int64_t count = match.several ? lift_driver_kernel_count(&l->driver, module) : -1;
  if (count >= 0)
    match = module_table_search(&l->modules, module, symbol, count);
  if (match.several)
    log_writer_refuse(&l->writer, "%.160s is a kernel of several modules, and nothing says which one is launched",
                      symbol);
  if (match.several || !match.cubin)
    return NULL;
  struct caller caller;
  caller_of_launch(match.kernel->name, &caller);
  return module_table_add_kernel(&l->modules, function, &match, &caller);
}

void lift_on_launch(struct lift *l, const struct lift_launch *launch) {
  const char *symbol = launch->symbol ? launch->symbol : lift_driver_kernel_name(&l->driver, launch->function);
  struct known_kernel *k = symbol ? find_kernel(l, launch->function, symbol) : NULL;
  if (!k)
    log_writer_refuse(&l->writer, "launch of %.160s: its device code is not known",
                      symbol ? symbol : "a kernel without a name");
  else if (l->mode == LIFT_TIMING)
    kernel_timer_start(&l->timer, l->driver.cu, k->launched_by.origin, launch->config->stream);
  else
    record_launch(l, k, launch);
}

void lift_after_launch(struct lift *l, CUstream stream) {
  if (l->mode == LIFT_TIMING)
    kernel_timer_stop(&l->timer, l->driver.cu, stream);
}
