// The driver's calls, one by one: what is work becomes an entry of the log, what a plan cannot hold ends the recording.
#include <string.h>

#include "toolchain/lift/lift.h"

_Thread_local bool lift_inside;

bool lift_enter(void) {
  bool was_inside = lift_inside;
  lift_inside = true;
  if (!was_inside)
    pthread_mutex_lock(&lift.lock);
  return was_inside;
}

void lift_leave(bool was_inside) {
  if (!was_inside)
    pthread_mutex_unlock(&lift.lock);
  lift_inside = was_inside;
}

typedef void on_call(const struct cupti_call *c);

struct handler {
  const char *name; // without _v2, _ptds and _ptsz
  on_call *enter, *exit;
  bool always; // also when nothing is recorded
};

static void entry(enum record_kind kind, const void *fixed, size_t n) {
  lift_entry(kind, fixed, n, NULL, 0, NULL, 0);
}

static bool succeeded(const struct cupti_call *c) {
  return c->result && *(const enum cu_result *)c->result == CUDA_SUCCESS;
}

// ---- launches

static void on_launch(const struct cupti_call *c) {
  const struct call_launch *l = c->params;
  const struct cu_launch_config config = {.grid_x = l->grid[0],
                                          .grid_y = l->grid[1],
                                          .grid_z = l->grid[2],
                                          .block_x = l->block[0],
                                          .block_y = l->block[1],
                                          .block_z = l->block[2],
                                          .shared_bytes = l->shared_bytes,
                                          .stream = l->stream};
  lift_launch(&config, l->function, l->params, l->extra, c->symbol);
}

static void on_cooperative(const struct cupti_call *c) {
  const struct call_launch *l = c->params; // which ends before `extra`
  struct cu_launch_attribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}};
  const struct cu_launch_config config = {.grid_x = l->grid[0],
                                          .grid_y = l->grid[1],
                                          .grid_z = l->grid[2],
                                          .block_x = l->block[0],
                                          .block_y = l->block[1],
                                          .block_z = l->block[2],
                                          .shared_bytes = l->shared_bytes,
                                          .stream = l->stream,
                                          .attrs = &cooperative,
                                          .n_attrs = 1};
  lift_launch(&config, l->function, l->params, NULL, c->symbol);
}

static void on_launch_ex(const struct cupti_call *c) {
  const struct call_launch_ex *l = c->params;
  lift_launch(l->config, l->function, l->params, l->extra, c->symbol);
}

static void after_launch(const struct cupti_call *c) {
  if (!succeeded(c))
    lift_refuse("launch of %.160s: the device refused it", c->symbol ? c->symbol : "a kernel");
  else if (strncmp(c->name, "cuLaunchKernelEx", strlen("cuLaunchKernelEx")) == 0)
    lift_launched(((const struct call_launch_ex *)c->params)->config->stream);
  else
    lift_launched(((const struct call_launch *)c->params)->stream);
}

// ---- copies and fills

static CUstream stream_of_copy(const struct cupti_call *c) {
  return strstr(c->name, "Async") ? ((const struct call_copy *)c->params)->stream : NULL;
}

static void upload(const struct call_copy *m, uint64_t to, CUstream stream) {
  const struct record_upload e = {.to = to, .stream = lift_stream(stream)};
  lift_entry(RECORD_UPLOAD, &e, sizeof e, (const void *)(uintptr_t)m->from, m->bytes, NULL, 0);
}

static void copy_within(uint64_t to, uint64_t from, size_t bytes, CUstream stream) {
  const struct record_copy e = {.to = to, .from = from, .bytes = bytes, .stream = lift_stream(stream)};
  entry(RECORD_COPY, &e, sizeof e);
}

static void on_copy_to_device(const struct cupti_call *c) {
  const struct call_copy *m = c->params;
  bool known;
  uint64_t to = lift_target(m->to, &known);
  upload(m, to, stream_of_copy(c));
}

static void on_copy_in_device(const struct cupti_call *c) {
  const struct call_copy *m = c->params;
  bool known;
  uint64_t to = lift_target(m->to, &known), from = lift_address(m->from, &known);
  copy_within(to, from, m->bytes, stream_of_copy(c));
}

static void on_copy_to_host(const struct cupti_call *c) {
  (void)c;
  lift_refuse(
      "it reads results back to the host (.item(), .cpu(), .tolist(), printing, or a condition on a tensor), and "
      "what it launches may depend on them");
}

// By addresses: cuMemcpy and cuMemcpyAsync say no more.
static void on_copy(const struct cupti_call *c) {
  const struct call_copy *m = c->params;
  bool to_device, from_device;
  uint64_t to = lift_target(m->to, &to_device), from = lift_address(m->from, &from_device);
  if (!to_device)
    on_copy_to_host(c);
  else if (from_device)
    copy_within(to, from, m->bytes, stream_of_copy(c));
  else
    upload(m, to, stream_of_copy(c));
}

static void fill(uint64_t to, uint32_t value, uint32_t width, size_t n, CUstream stream) {
  bool known;
  const struct record_fill e = {.address = lift_target(to, &known),
                                .bytes = n * width,
                                .value = value,
                                .width = width,
                                .stream = lift_stream(stream)};
  entry(RECORD_FILL, &e, sizeof e);
}

static void on_fill8(const struct cupti_call *c) {
  const struct call_fill8 *f = c->params;
  fill(f->to, f->value, 1, f->n, strstr(c->name, "Async") ? f->stream : NULL);
}

static void on_fill16(const struct cupti_call *c) {
  const struct call_fill16 *f = c->params;
  fill(f->to, f->value, 2, f->n, strstr(c->name, "Async") ? f->stream : NULL);
}

static void on_fill32(const struct cupti_call *c) {
  const struct call_fill32 *f = c->params;
  fill(f->to, f->value, 4, f->n, strstr(c->name, "Async") ? f->stream : NULL);
}

// ---- order

static uint32_t event_number(CUevent event) {
  for (uint32_t i = 0; i < lift.n_events; i++)
    if (lift.events[i] == event)
      return i;
  if (lift.n_events == RECORD_MAX_EVENTS) {
    lift_refuse("it uses more than %d events", RECORD_MAX_EVENTS);
    return 0;
  }
  lift.events[lift.n_events] = event;
  return lift.n_events++;
}

static void on_event(const struct cupti_call *c) {
  const struct call_event *e = c->params;
  const struct record_wait w = {event_number(e->event), lift_stream(e->stream)};
  entry(RECORD_EVENT, &w, sizeof w);
}

static void on_wait(const struct cupti_call *c) {
  const struct call_wait *e = c->params;
  const struct record_wait w = {event_number(e->event), lift_stream(e->stream)};
  entry(RECORD_WAIT, &w, sizeof w);
}

static void on_stream_wait(const struct cupti_call *c) {
  const struct record_host_wait w = {RECORD_AWAIT_STREAM, lift_stream(*(const CUstream *)c->params)};
  entry(RECORD_HOST_WAIT, &w, sizeof w);
}

static void on_event_wait(const struct cupti_call *c) {
  const struct record_host_wait w = {RECORD_AWAIT_EVENT, event_number(*(const CUevent *)c->params)};
  entry(RECORD_HOST_WAIT, &w, sizeof w);
}

static void on_device_wait(const struct cupti_call *c) {
  (void)c;
  const struct record_host_wait w = {RECORD_AWAIT_DEVICE, 0};
  entry(RECORD_HOST_WAIT, &w, sizeof w);
}

// ---- what others load and take

static void before_module(const struct cupti_call *c) {
  if (c->correlation_data)
    *c->correlation_data = lift.n_cubins;
}

static void after_module(const struct cupti_call *c) {
  const struct call_module *m = c->params;
  if (succeeded(c) && c->correlation_data && m->module)
    lift_module_named(*m->module, (size_t)*c->correlation_data);
}

static void after_alloc(const struct cupti_call *c) {
  const struct call_alloc *a = c->params;
  if (succeeded(c))
    lift_foreign_alloc(*a->address, a->bytes);
}

static void after_pitch(const struct cupti_call *c) {
  const struct call_alloc_pitch *a = c->params;
  if (succeeded(c))
    lift_foreign_alloc(*a->address, *a->pitch * a->height);
}

static void after_map(const struct cupti_call *c) {
  const struct call_map *m = c->params;
  if (succeeded(c))
    lift_foreign_alloc(m->address, m->bytes);
}

static void on_free(const struct cupti_call *c) {
  lift_foreign_free(((const struct call_free *)c->params)->address);
}

static void after_tensor_map(const struct cupti_call *c) {
  if (succeeded(c))
    lift_tensor_map(c->params);
}

static void after_stream(const struct cupti_call *c) {
  const struct call_stream *s = c->params;
  char object[96];
  if (succeeded(c))
    lift_stream_made(*s->stream, lift_caller(object));
}

static void on_stream_end(const struct cupti_call *c) {
  lift_stream_gone(((const struct call_stream_end *)c->params)->stream);
}

// ----

static const struct handler handlers[] = {
    {"cuLaunchKernel", on_launch, after_launch, false},
    {"cuLaunchKernelEx", on_launch_ex, after_launch, false},
    {"cuLaunchCooperativeKernel", on_cooperative, after_launch, false},
    {"cuMemcpyHtoD", on_copy_to_device, NULL, false},
    {"cuMemcpyHtoDAsync", on_copy_to_device, NULL, false},
    {"cuMemcpyDtoD", on_copy_in_device, NULL, false},
    {"cuMemcpyDtoDAsync", on_copy_in_device, NULL, false},
    {"cuMemcpyDtoH", on_copy_to_host, NULL, false},
    {"cuMemcpyDtoHAsync", on_copy_to_host, NULL, false},
    {"cuMemcpy", on_copy, NULL, false},
    {"cuMemcpyAsync", on_copy, NULL, false},
    {"cuMemsetD8", on_fill8, NULL, false},
    {"cuMemsetD8Async", on_fill8, NULL, false},
    {"cuMemsetD16", on_fill16, NULL, false},
    {"cuMemsetD16Async", on_fill16, NULL, false},
    {"cuMemsetD32", on_fill32, NULL, false},
    {"cuMemsetD32Async", on_fill32, NULL, false},
    {"cuEventRecord", on_event, NULL, false},
    {"cuEventRecordWithFlags", on_event, NULL, false},
    {"cuStreamCreate", NULL, after_stream, true},
    {"cuStreamCreateWithPriority", NULL, after_stream, true},
    {"cuStreamDestroy", on_stream_end, NULL, true},
    {"cuStreamWaitEvent", on_wait, NULL, false},
    {"cuStreamSynchronize", NULL, on_stream_wait, false},
    {"cuEventSynchronize", NULL, on_event_wait, false},
    {"cuCtxSynchronize", NULL, on_device_wait, false},
    {"cuModuleLoad", before_module, after_module, true},
    {"cuModuleLoadData", before_module, after_module, true},
    {"cuModuleLoadDataEx", before_module, after_module, true},
    {"cuModuleLoadFatBinary", before_module, after_module, true},
    {"cuMemAlloc", NULL, after_alloc, true},
    {"cuMemAllocAsync", NULL, after_alloc, true},
    {"cuMemAllocFromPoolAsync", NULL, after_alloc, true},
    {"cuMemAllocPitch", NULL, after_pitch, true},
    {"cuMemMap", NULL, after_map, true},
    {"cuMemUnmap", on_free, NULL, true},
    {"cuMemFree", on_free, NULL, true},
    {"cuMemFreeAsync", on_free, NULL, true},
    {"cuTensorMapEncodeTiled", NULL, after_tensor_map, true},
};

// Work of every other kind, by what its functions begin with.
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

static void refuse_unknown(const struct cupti_call *c, size_t n) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (strncmp(c->name, refused[i], strlen(refused[i])) == 0)
      lift_refuse("it calls %.*s, which no plan can hold", (int)n, c->name);
}

static bool is_launch(const struct handler *h) {
  return h->exit == after_launch;
}

static void on_driver_call(const struct cupti_call *c) {
  size_t n = plain_length(c->name);
  const struct handler *h = find_handler(c->name, n);
  bool wanted = lift.mode == LIFT_RECORDING || (h && (h->always || (lift.mode != LIFT_IDLE && is_launch(h))));
  if (!wanted)
    return;
  if (!h && c->site == CUPTI_API_ENTER)
    refuse_unknown(c, n);
  on_call *call = !h ? NULL : c->site == CUPTI_API_ENTER ? h->enter : h->exit;
  if (call)
    call(c);
}

void lift_on_callback(void *arg, enum cupti_domain domain, uint32_t id, const void *data) {
  (void)arg;
  bool loaded = domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_LOADED;
  if (lift_inside && !loaded) // where modules are loaded late, our own question for one loads it
    return;
  bool was_inside = lift_enter();
  if (loaded)
    lift_module_loaded(((const struct cupti_resource *)data)->descriptor);
  else if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
    on_driver_call(data);
  lift_leave(was_inside);
}
