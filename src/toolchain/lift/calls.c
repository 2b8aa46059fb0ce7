// SPDX-License-Identifier: Apache-2.0
// The driver's calls, one by one: work becomes an entry of the log, and what a plan cannot hold ends the recording.
#include <string.h>

#include "toolchain/lift/lift.h"

typedef void on_call(struct lift *l, const struct cupti_call *c);

// In which modes a call is followed.
enum when { WHILE_RECORDING, NOT_IDLE, ALWAYS };

struct handler {
  const char *name;      // without _v2, _ptds and _ptsz
  on_call *enter, *exit; // before the driver does it, and after; may be NULL
  enum when when;
};

static uint32_t stream_number(struct lift *l, CUstream stream) {
  return stream_table_stream(&l->streams, stream, &l->driver, &l->writer);
}

static uint32_t event_number(struct lift *l, CUevent event) {
  return stream_table_event(&l->streams, event, &l->writer);
}

static bool succeeded(const struct cupti_call *c) {
  return c->result && *(const enum cu_result *)c->result == CUDA_SUCCESS;
}

// ---- launches

static void launch(struct lift *l, const struct call_launch *p, const struct cu_launch_config *config, void **extra,
                   const char *symbol) {
  struct cu_launch_config all = *config;
  all.grid_x = p->grid[0];
  all.grid_y = p->grid[1];
  all.grid_z = p->grid[2];
  all.block_x = p->block[0];
  all.block_y = p->block[1];
  all.block_z = p->block[2];
  all.shared_bytes = p->shared_bytes;
  all.stream = p->stream;
  lift_on_launch(l,
                 &(struct lift_launch){
                     .config = &all, .function = p->function, .params = p->params, .extra = extra, .symbol = symbol});
}

static void on_launch(struct lift *l, const struct cupti_call *c) {
  const struct call_launch *p = c->params;
  launch(l, p, &(struct cu_launch_config){0}, p->extra, c->symbol);
}

static void on_cooperative(struct lift *l, const struct cupti_call *c) {
  struct cu_launch_attribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}};
  const struct cu_launch_config config = {.attrs = &cooperative, .n_attrs = 1};
  launch(l, c->params, &config, NULL, c->symbol); // its arguments end before `extra`
}

static void on_launch_ex(struct lift *l, const struct cupti_call *c) {
  const struct call_launch_ex *p = c->params;
  lift_on_launch(
      l,
      &(struct lift_launch){
          .config = p->config, .function = p->function, .params = p->params, .extra = p->extra, .symbol = c->symbol});
}

static void after_launch(struct lift *l, const struct cupti_call *c) {
  if (!succeeded(c))
    log_writer_refuse(&l->writer, "launch of %.160s: the device refused it", c->symbol ? c->symbol : "a kernel");
  else if (strncmp(c->name, "cuLaunchKernelEx", strlen("cuLaunchKernelEx")) == 0)
    lift_after_launch(l, ((const struct call_launch_ex *)c->params)->config->stream);
  else
    lift_after_launch(l, ((const struct call_launch *)c->params)->stream);
}

// ---- copies and fills

static CUstream stream_of_copy(const struct cupti_call *c) {
  return strstr(c->name, "Async") ? ((const struct call_copy *)c->params)->stream : NULL;
}

static void upload(struct lift *l, const struct call_copy *m, uint64_t to, CUstream stream) {
  const struct record_upload e = {.to = to, .stream = stream_number(l, stream)};
  log_writer_put_with(&l->writer, RECORD_UPLOAD, &e, sizeof e, (const void *)(uintptr_t)m->from, m->bytes);
}

static void copy_within(struct lift *l, uint64_t to, uint64_t from, size_t bytes, CUstream stream) {
  const struct record_copy e = {.to = to, .from = from, .bytes = bytes, .stream = stream_number(l, stream)};
  log_writer_put(&l->writer, RECORD_COPY, &e, sizeof e);
}

static void on_copy_to_device(struct lift *l, const struct cupti_call *c) {
  const struct call_copy *m = c->params;
  uint64_t to = lift_address(l, m->to, ALLOCATION_WRITTEN, NULL);
  upload(l, m, to, stream_of_copy(c));
}

static void on_copy_in_device(struct lift *l, const struct cupti_call *c) {
  const struct call_copy *m = c->params;
  uint64_t to = lift_address(l, m->to, ALLOCATION_WRITTEN, NULL);
  uint64_t from = lift_address(l, m->from, ALLOCATION_USED, NULL);
  copy_within(l, to, from, m->bytes, stream_of_copy(c));
}

static void on_copy_to_host(struct lift *l, const struct cupti_call *c) {
  (void)c;
  log_writer_refuse(&l->writer, "it reads results back to the host (.item(), .cpu(), .tolist(), printing, or a "
                                "condition on a tensor), and what it launches may depend on them");
}

// What is chosen by time before the recording, as autotuners do, is settled by then, and one choice is recorded.
static void on_time(struct lift *l, const struct cupti_call *c) {
  (void)c;
  log_writer_refuse(&l->writer, "it reads the time between two events, and what it launches may depend on it (choose "
                                "between kernels once, in the first call, and keep the choice)");
}

// cuMemcpy and cuMemcpyAsync do not say where the memory is; the addresses do.
static void on_copy(struct lift *l, const struct cupti_call *c) {
  const struct call_copy *m = c->params;
  bool to_device, from_device;
  uint64_t to = lift_address(l, m->to, ALLOCATION_WRITTEN, &to_device);
  uint64_t from = lift_address(l, m->from, ALLOCATION_USED, &from_device);
  if (!to_device)
    on_copy_to_host(l, c);
  else if (from_device)
    copy_within(l, to, from, m->bytes, stream_of_copy(c));
  else
    upload(l, m, to, stream_of_copy(c));
}

// The call's fill, but for its stream, which synchronous forms do not have.
static void fill(struct lift *l, const struct cupti_call *c, struct record_fill e, size_t n, const CUstream *stream) {
  e.address = lift_address(l, e.address, ALLOCATION_WRITTEN, NULL);
  e.bytes = n * e.width;
  e.stream = stream_number(l, strstr(c->name, "Async") ? *stream : NULL);
  log_writer_put(&l->writer, RECORD_FILL, &e, sizeof e);
}

static void on_fill8(struct lift *l, const struct cupti_call *c) {
  const struct call_fill8 *f = c->params;
  fill(l, c, (struct record_fill){.address = f->to, .value = f->value, .width = 1}, f->n, &f->stream);
}

static void on_fill16(struct lift *l, const struct cupti_call *c) {
  const struct call_fill16 *f = c->params;
  fill(l, c, (struct record_fill){.address = f->to, .value = f->value, .width = 2}, f->n, &f->stream);
}

static void on_fill32(struct lift *l, const struct cupti_call *c) {
  const struct call_fill32 *f = c->params;
  fill(l, c, (struct record_fill){.address = f->to, .value = f->value, .width = 4}, f->n, &f->stream);
}

// ---- order

static struct record_wait wait_of(struct lift *l, CUevent event, CUstream stream) {
  return (struct record_wait){.event = event_number(l, event), .stream = stream_number(l, stream)};
}

static void on_event(struct lift *l, const struct cupti_call *c) {
  const struct call_event *e = c->params;
  const struct record_wait w = wait_of(l, e->event, e->stream);
  log_writer_put(&l->writer, RECORD_EVENT, &w, sizeof w);
}

static void on_wait(struct lift *l, const struct cupti_call *c) {
  const struct call_wait *e = c->params;
  const struct record_wait w = wait_of(l, e->event, e->stream);
  log_writer_put(&l->writer, RECORD_WAIT, &w, sizeof w);
}

static void on_stream_wait(struct lift *l, const struct cupti_call *c) {
  const struct record_host_wait w = {RECORD_AWAIT_STREAM, stream_number(l, *(const CUstream *)c->params)};
  log_writer_put(&l->writer, RECORD_HOST_WAIT, &w, sizeof w);
}

static void on_event_wait(struct lift *l, const struct cupti_call *c) {
  const struct record_host_wait w = {RECORD_AWAIT_EVENT, event_number(l, *(const CUevent *)c->params)};
  log_writer_put(&l->writer, RECORD_HOST_WAIT, &w, sizeof w);
}

static void on_device_wait(struct lift *l, const struct cupti_call *c) {
  (void)c;
  const struct record_host_wait w = {RECORD_AWAIT_DEVICE, 0};
  log_writer_put(&l->writer, RECORD_HOST_WAIT, &w, sizeof w);
}

// ---- what others load and allocate

static void before_module(struct lift *l, const struct cupti_call *c) {
  if (c->correlation_data)
    *c->correlation_data = l->modules.n_cubins;
}

static void after_module(struct lift *l, const struct cupti_call *c) {
  const struct call_module *m = c->params;
  if (succeeded(c) && c->correlation_data && m->module)
    module_table_name(&l->modules, *m->module, (size_t)*c->correlation_data);
}

static void after_alloc(struct lift *l, const struct cupti_call *c) {
  const struct call_alloc *a = c->params;
  if (succeeded(c))
    lift_foreign_alloc(l, *a->address, a->bytes);
}

static void after_pitch(struct lift *l, const struct cupti_call *c) {
  const struct call_alloc_pitch *a = c->params;
  if (succeeded(c))
    lift_foreign_alloc(l, *a->address, *a->pitch * a->height);
}

static void after_map(struct lift *l, const struct cupti_call *c) {
  const struct call_map *m = c->params;
  if (succeeded(c))
    lift_foreign_alloc(l, m->address, m->bytes);
}

static void on_free(struct lift *l, const struct cupti_call *c) {
  lift_foreign_free(l, ((const struct call_free *)c->params)->address);
}

static void after_tensor_map(struct lift *l, const struct cupti_call *c) {
  if (succeeded(c))
    tensor_map_table_add(&l->maps, c->params);
}

static void after_stream(struct lift *l, const struct cupti_call *c) {
  const struct call_stream *s = c->params;
  struct caller caller;
  if (!succeeded(c))
    return;
  caller_of_this(&caller);
  stream_table_made(&l->streams, *s->stream, caller.origin);
}

static void on_stream_end(struct lift *l, const struct cupti_call *c) {
  CUstream stream = ((const struct call_stream_end *)c->params)->stream;
  stream_table_gone(&l->streams, stream);
  address_map_stream_gone(&l->memory, (uintptr_t)stream);
}

static void after_capture(struct lift *l, const struct cupti_call *c) {
  if (succeeded(c))
    stream_table_capture(&l->streams, *(const CUstream *)c->params, &l->driver);
}

// ---- which call is which

static const struct handler handlers[] = {
    {.name = "cuLaunchKernel", .enter = on_launch, .exit = after_launch, .when = NOT_IDLE},
    {.name = "cuLaunchKernelEx", .enter = on_launch_ex, .exit = after_launch, .when = NOT_IDLE},
    {.name = "cuLaunchCooperativeKernel", .enter = on_cooperative, .exit = after_launch, .when = NOT_IDLE},
    {.name = "cuMemcpyHtoD", .enter = on_copy_to_device},
    {.name = "cuMemcpyHtoDAsync", .enter = on_copy_to_device},
    {.name = "cuMemcpyDtoD", .enter = on_copy_in_device},
    {.name = "cuMemcpyDtoDAsync", .enter = on_copy_in_device},
    {.name = "cuMemcpyDtoH", .enter = on_copy_to_host},
    {.name = "cuMemcpyDtoHAsync", .enter = on_copy_to_host},
    {.name = "cuMemcpy", .enter = on_copy},
    {.name = "cuMemcpyAsync", .enter = on_copy},
    {.name = "cuMemsetD8", .enter = on_fill8},
    {.name = "cuMemsetD8Async", .enter = on_fill8},
    {.name = "cuMemsetD16", .enter = on_fill16},
    {.name = "cuMemsetD16Async", .enter = on_fill16},
    {.name = "cuMemsetD32", .enter = on_fill32},
    {.name = "cuMemsetD32Async", .enter = on_fill32},
    {.name = "cuEventRecord", .enter = on_event},
    {.name = "cuEventRecordWithFlags", .enter = on_event},
    {.name = "cuStreamCreate", .exit = after_stream, .when = ALWAYS},
    {.name = "cuStreamCreateWithPriority", .exit = after_stream, .when = ALWAYS},
    {.name = "cuStreamDestroy", .enter = on_stream_end, .when = ALWAYS},
    {.name = "cuStreamBeginCapture", .exit = after_capture, .when = ALWAYS}, // refused while recording, too
    {.name = "cuStreamBeginCaptureToGraph", .exit = after_capture, .when = ALWAYS},
    {.name = "cuStreamWaitEvent", .enter = on_wait},
    {.name = "cuStreamSynchronize", .exit = on_stream_wait},
    {.name = "cuEventSynchronize", .exit = on_event_wait},
    {.name = "cuCtxSynchronize", .exit = on_device_wait},
    {.name = "cuEventElapsedTime", .enter = on_time},
    {.name = "cuModuleLoad", .enter = before_module, .exit = after_module, .when = ALWAYS},
    {.name = "cuModuleLoadData", .enter = before_module, .exit = after_module, .when = ALWAYS},
    {.name = "cuModuleLoadDataEx", .enter = before_module, .exit = after_module, .when = ALWAYS},
    {.name = "cuModuleLoadFatBinary", .enter = before_module, .exit = after_module, .when = ALWAYS},
    {.name = "cuMemAlloc", .exit = after_alloc, .when = ALWAYS},
    {.name = "cuMemAllocAsync", .exit = after_alloc, .when = ALWAYS},
    {.name = "cuMemAllocFromPoolAsync", .exit = after_alloc, .when = ALWAYS},
    {.name = "cuMemAllocPitch", .exit = after_pitch, .when = ALWAYS},
    {.name = "cuMemMap", .exit = after_map, .when = ALWAYS},
    {.name = "cuMemUnmap", .enter = on_free, .when = ALWAYS},
    {.name = "cuMemFree", .enter = on_free, .when = ALWAYS},
    {.name = "cuMemFreeAsync", .enter = on_free, .when = ALWAYS},
    {.name = "cuTensorMapEncodeTiled", .exit = after_tensor_map, .when = ALWAYS},
};

// All work that is not followed when it begins, by how the names of its functions begin.
static const char *const refused[] = {
    "cuMemcpy",
    "cuMemset",
    "cuLaunch",
    "cuGraphLaunch",
    "cuStreamBeginCapture",
    "cuStreamWriteValue",
    "cuStreamWaitValue",
    "cuStreamBatchMemOp",
    "cuStreamAddCallback",
    "cuMemAllocManaged",
    "cuSignalExternal",
    "cuWaitExternal",
    "cuTensorMapEncodeIm2col",
    "cuTensorMapReplaceAddress",
};

// A function's name without the version of its parameters and the kind of its default stream.
static size_t plain_length(const char *name) {
  static const char *const endings[] = {"_ptsz", "_ptds", "_v2", "_v3"};
  size_t n = strlen(name);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t m = strlen(endings[i]);
    if (n > m && strncmp(name + n - m, endings[i], m) == 0)
      n -= m;
  }
  return n;
}

static const struct handler *find_handler(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
    if (strncmp(handlers[i].name, name, n) == 0 && handlers[i].name[n] == '\0')
      return &handlers[i];
  return NULL;
}

static void refuse_unknown(struct lift *l, const struct cupti_call *c, size_t n) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (strncmp(c->name, refused[i], strlen(refused[i])) == 0)
      log_writer_refuse(&l->writer, "it calls %.*s, which no plan can hold", (int)n, c->name);
}

static bool is_wanted(const struct lift *l, const struct handler *h) {
  if (l->mode == LIFT_RECORDING)
    return true;
  return h && (h->when == ALWAYS || (h->when == NOT_IDLE && l->mode != LIFT_IDLE));
}

void lift_on_call(struct lift *l, const struct cupti_call *c) {
  size_t n = plain_length(c->name);
  const struct handler *h = find_handler(c->name, n);
  if (!is_wanted(l, h))
    return;
  if (l->mode == LIFT_RECORDING && c->site == CUPTI_API_ENTER && !(h && h->enter))
    refuse_unknown(l, c, n);
  on_call *call = !h ? NULL : c->site == CUPTI_API_ENTER ? h->enter : h->exit;
  if (call)
    call(l, c);
}
