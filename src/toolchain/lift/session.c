// The recording's beginning and end, and what worker.py calls.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/build_id.h"
#include "toolchain/lift/lift.h"

#define EXPORTED __attribute__((visibility("default")))

struct lift lift = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_address = RECORD_FIRST_ADDRESS};

void lift_refuse(const char *fmt, ...) {
  va_list args;
  if (lift.refusal[0])
    return; // the first reason counts
  va_start(args, fmt);
  vsnprintf(lift.refusal, sizeof lift.refusal, fmt, args);
  va_end(args);
}

static void append(struct buf *b, enum record_kind kind, const void *const parts[3], const size_t bytes[3]) {
  static const char zeros[8];
  size_t n = bytes[0] + bytes[1] + bytes[2];
  const struct record_entry head = {kind, (uint32_t)n};
  buf_append(b, &head, sizeof head);
  for (int i = 0; i < 3; i++)
    if (bytes[i])
      buf_append(b, parts[i], bytes[i]);
  buf_append(b, zeros, (8 - n % 8) % 8);
}

void lift_entry(enum record_kind kind, const void *fixed, size_t fixed_bytes, const void *a, size_t n_a, const void *b,
                size_t n_b) {
  if (lift.refusal[0])
    return;
  if (fixed_bytes + n_a + n_b + lift.body.len > RECORD_LOG_BYTES - ((uint64_t)1 << 20)) {
    lift_refuse("the recording is larger than %d MiB", (int)(RECORD_LOG_BYTES >> 20));
    return;
  }
  append(&lift.body, kind, (const void *const[]){fixed, a, b}, (const size_t[]){fixed_bytes, n_a, n_b});
  if (kind == RECORD_LAUNCH || kind == RECORD_FILL || kind == RECORD_COPY || kind == RECORD_UPLOAD)
    lift.launched_last = kind == RECORD_LAUNCH;
}

// ---- worker.py

// Asks CUPTI (the library's path) to tell of every call from now on; before PyTorch comes to the device. NULL, or what
// is wrong.
EXPORTED const char *assay_lift_subscribe(const char *cupti_path, const char *build);
// The device's memory for both requests of a workload; when the device is there. What an earlier workload had is given
// back, and its descriptors are closed by the caller.
EXPORTED const char *assay_lift_open(int request_a, int log_a, int request_b, int log_b);
EXPORTED int assay_lift_has_no_memory(void); // whether that failed because the device's memory is too small
// Inputs and outputs of a request, and one of them.
EXPORTED void assay_lift_counts(int log, uint32_t counts[2]);
EXPORTED void assay_lift_tensor(int log, uint32_t i, struct record_tensor *out);
EXPORTED void assay_lift_look(int on); // whether calls are looked at for the memory that they use
EXPORTED void assay_lift_begin(int log);
EXPORTED void assay_lift_output(uint64_t address, uint32_t index); // before the end: an allocation of this recording
EXPORTED const char *assay_lift_end(void);                         // NULL, or why there is no plan
EXPORTED int assay_lift_is_new(uint64_t address, uint64_t bytes);  // whether it is an allocation of this recording
// How much memory was taken for workspace though something may be read in it that an earlier call left there; -1: some
// of it is gone, or cannot be had. With 1 it is zeros from now on: a call that then returns something else does read
// it. With 2 it is again what it was, and no longer counted. From 0 on the recordings say that they are refused, unless
// there is none; until 3, for who has seen that it is not read.
EXPORTED int assay_lift_left_overs(int what);
EXPORTED void assay_lift_time(int on);
EXPORTED void assay_lift_failed(uint32_t stage, const char *message); // instead of an end

const char *assay_lift_subscribe(const char *cupti_path, const char *build) {
  void *subscriber = NULL;
  if (!build_id_matches(build, "assay-lift.so"))
    return "assay-lift.so is of another build";
  if (!dlopen("libcuda.so.1", RTLD_NOW)) // without it CUPTI calls itself for ever
    return "there is no NVIDIA driver (libcuda.so.1)";
  void *cupti = dlopen(cupti_path, RTLD_NOW);
  void *subscribe_symbol = cupti ? dlsym(cupti, "cuptiSubscribe") : NULL;
  void *enable_symbol = cupti ? dlsym(cupti, "cuptiEnableDomain") : NULL;
  cupti_subscribe_fn *subscribe;
  cupti_enable_domain_fn *enable;
  memcpy(&subscribe, &subscribe_symbol, sizeof subscribe);
  memcpy(&enable, &enable_symbol, sizeof enable);
  if (!subscribe || !enable)
    return dlerror();
  if (subscribe(&subscriber, lift_on_callback, NULL) != 0 || enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != 0 ||
      enable(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE) != 0)
    return "CUPTI does not subscribe: another profiler may have done so";
  return NULL;
}

// A file of the judge's, mapped whole.
static void *map_file(int fd, int protection) {
  struct stat st;
  if (fstat(fd, &st) != 0 || st.st_size <= 0)
    return NULL;
  void *p = mmap(NULL, (size_t)st.st_size, protection, MAP_SHARED, fd, 0);
  return p == MAP_FAILED ? NULL : p;
}

static void load_more(void) {
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  static const char *const names[] = {"cuFuncGetModule",  "cuKernelGetFunction", "cuKernelGetName",
                                      "cuStreamGetFlags", "cuStreamIsCapturing", "cuPointerGetAttribute"};
  void *const places[] = {&lift.more.cuFuncGetModule,     &lift.more.cuKernelGetFunction,
                          &lift.more.cuKernelGetName,     &lift.more.cuStreamGetFlags,
                          &lift.more.cuStreamIsCapturing, &lift.more.cuPointerGetAttribute};
  for (size_t i = 0; cuda && i < sizeof names / sizeof *names; i++) {
    void *symbol = dlsym(cuda, names[i]);
    memcpy(places[i], &symbol, sizeof symbol);
  }
}

static bool logs_are_held; // hold_logs

static const char *map_tensors(const struct record_request *r, int log) {
  for (uint32_t i = 0; i < r->n_inputs + r->n_outputs && i < RECORD_MAX_TENSORS; i++) {
    if (!lift_map_tensor(&r->tensors[i], &lift.tensors[log][i]))
      return lift.out_of_memory ? "the device has no memory for two sets of the task's tensors, which recording takes"
                                : "the device maps no memory for the task's tensors";
    lift.n_tensors[log] = i + 1;
  }
  return NULL;
}

static void unmap_workload(void) {
  if (lift.requests[0])
    (void)lift.cu->cuCtxSynchronize();
  for (int i = 0; i < LIFT_LOGS; i++) {
    for (size_t k = 0; k < lift.n_tensors[i]; k++)
      lift_unmap(&lift.tensors[i][k]);
    lift.n_tensors[i] = 0;
    if (lift.logs[i])
      munmap(lift.logs[i], RECORD_LOG_BYTES);
    lift.logs[i] = NULL;
    lift.requests[i] = NULL; // small, and stays mapped
  }
}

const char *assay_lift_open(int request_a, int log_a, int request_b, int log_b) {
  static struct assay_error err; // its message is handed out
  const int requests[] = {request_a, request_b}, logs[] = {log_a, log_b};
  const char *why = NULL;
  lift_inside = true;
  lift.out_of_memory = logs_are_held = false;
  if (!lift.cu && cuda_driver_open(&lift.cu, &err) != ASSAY_OK)
    why = err.message;
  else if (!lift.cu->cuMemCreate || !lift.cu->cuMemAddressReserve || !lift.cu->cuMemMap || !lift.cu->cuMemSetAccess)
    why = "the driver cannot map memory";
  load_more();
  if (!why)
    unmap_workload();
  lift.log = 0; // the warm-up calls' tensors are the first log's
  for (int i = 0; i < LIFT_LOGS && !why; i++) {
    lift.requests[i] = map_file(requests[i], PROT_READ);
    lift.logs[i] = map_file(logs[i], PROT_READ | PROT_WRITE);
    if (!lift.requests[i] || !lift.logs[i] || lift.requests[i]->magic != RECORD_MAGIC)
      why = "the judge's files cannot be mapped";
    if (!why) {
      *lift.logs[i] = (struct record_header){.magic = RECORD_MAGIC, .stage = RECORD_STARTED};
      why = map_tensors(lift.requests[i], i);
      lift.next_address = lift.requests[i]->first_free;
    }
  }
  lift_renumber_memory();
  for (int i = 0; i < LIFT_LOGS && !why; i++)
    lift.logs[i]->stage = RECORD_LOADING;
  lift_inside = false;
  return why;
}

int assay_lift_has_no_memory(void) {
  return lift.out_of_memory;
}

void assay_lift_counts(int log, uint32_t counts[2]) {
  counts[0] = lift.requests[log]->n_inputs;
  counts[1] = lift.requests[log]->n_outputs;
}

void assay_lift_tensor(int log, uint32_t i, struct record_tensor *out) {
  *out = lift.requests[log]->tensors[i];
  out->address = lift.tensors[log][i].real;
}

void assay_lift_look(int on) {
  pthread_mutex_lock(&lift.lock);
  lift_forget_words();
  lift.mode = on ? LIFT_LOOKING : LIFT_IDLE;
  pthread_mutex_unlock(&lift.lock);
}

void assay_lift_begin(int log) {
  lift_inside = true;
  pthread_mutex_lock(&lift.lock);
  lift.log = log;
  lift.refusal[0] = '\0';
  buf_clear(&lift.body);
  buf_clear(&lift.outputs);
  lift.n_streams = 2;
  lift.launched_last = false;
  lift.n_events = lift.n_modules_logged = lift.n_kernels_logged = lift.n_maps_logged = 0;
  for (size_t i = 0; i < lift.n_cubins; i++)
    lift.cubins[i]->number = -1;
  for (size_t i = 0; i < lift.n_kernels; i++)
    lift.kernels[i]->number = -1;
  for (size_t i = 0; i < lift.n_maps; i++)
    lift.maps[i].number = -1;
  lift_begin_memory();
  lift.mode = LIFT_RECORDING;
  pthread_mutex_unlock(&lift.lock);
  lift_inside = false;
}

void assay_lift_output(uint64_t address, uint32_t index) {
  pthread_mutex_lock(&lift.lock);
  const struct allocation *a = lift_find(address);
  const struct record_output e = {a ? a->address : address, index, 0};
  append(&lift.outputs, RECORD_OUTPUT, (const void *const[]){&e, NULL, NULL}, (const size_t[]){sizeof e, 0, 0});
  pthread_mutex_unlock(&lift.lock);
}

int assay_lift_is_new(uint64_t address, uint64_t bytes) {
  pthread_mutex_lock(&lift.lock);
  const struct allocation *a = lift_find(address);
  bool is_new = a && !a->before && !a->foreign && a->real == address && a->bytes == bytes;
  pthread_mutex_unlock(&lift.lock);
  return is_new;
}

static void put_log(struct record_header *to, const struct buf *state) {
  const struct buf *const parts[] = {&lift.outputs, state, &lift.body};
  uint64_t room = RECORD_LOG_BYTES - sizeof *to - ((uint64_t)1 << 16), used = 0;
  for (int i = 0; i < 3 && !lift.refusal[0]; i++) {
    if (parts[i]->failed || parts[i]->len > room - used) {
      lift_refuse("the recording is larger than %d MiB, or memory failed", (int)(RECORD_LOG_BYTES >> 20));
    } else if (parts[i]->len) {
      memcpy((uint8_t *)(to + 1) + used, parts[i]->data, parts[i]->len);
      used += parts[i]->len;
    }
  }
  to->used = used;
  to->stage = lift.refusal[0] ? RECORD_REFUSED : RECORD_RETURNED;
  snprintf(to->message, sizeof to->message, "%s", lift.refusal);
}

const char *assay_lift_end(void) {
  struct buf state;
  buf_init(&state);
  lift_inside = true;
  pthread_mutex_lock(&lift.lock);
  lift.mode = LIFT_IDLE;
  if (!lift.refusal[0])
    lift_end_memory(&state);
  put_log(lift.logs[lift.log], &state);
  pthread_mutex_unlock(&lift.lock);
  lift_inside = false;
  buf_release(&state);
  return lift.refusal[0] ? lift.refusal : NULL;
}

// Whoever ends while it is tried has not seen that there may be a plan.
static void hold_logs(bool held) {
  static uint32_t stages[LIFT_LOGS];
  for (int i = 0; i < LIFT_LOGS; i++) {
    struct record_header *log = lift.logs[i];
    if (!log || held == logs_are_held)
      continue;
    if (held) {
      stages[i] = log->stage;
      log->stage = RECORD_REFUSED;
      snprintf(log->message, sizeof log->message, "it ended while it was tried what it reads of memory from before");
    } else {
      log->stage = stages[i];
      log->message[0] = '\0';
    }
  }
  logs_are_held = held;
}

int assay_lift_left_overs(int what) {
  bool was_inside = lift_enter();
  int n = what == LIFT_SETTLED ? 0 : lift_left_overs((enum lift_left_overs)what);
  if (what == LIFT_SETTLED || (what == LIFT_COUNT && n != 0))
    hold_logs(what != LIFT_SETTLED);
  lift_leave(was_inside);
  return n;
}

void assay_lift_failed(uint32_t stage, const char *message) {
  for (int i = 0; i < LIFT_LOGS; i++)
    if (lift.logs[i]) {
      lift.mode = LIFT_IDLE;
      lift.logs[i]->stage = stage;
      snprintf(lift.logs[i]->message, sizeof lift.logs[i]->message, "%s", message);
    }
}

// ---- whose kernels took how long

static void put_shares(struct record_header *log) {
  uint64_t ns[PLAN_ORIGINS] = {0};
  for (size_t i = 0; i < lift.n_watches; i++) {
    struct stopwatch *w = &lift.watches[i];
    float ms = 0;
    if (lift.cu->cuEventElapsedTime(&ms, w->start, w->end) == CUDA_SUCCESS && ms > 0)
      ns[w->origin] += (uint64_t)(1e6f * ms);
    (void)lift.cu->cuEventDestroy(w->start);
    (void)lift.cu->cuEventDestroy(w->end);
  }
  for (uint32_t i = 0; i < PLAN_ORIGINS; i++) {
    const struct record_share e = {i, lift.launches[i], ns[i]};
    const struct record_entry head = {RECORD_SHARE, sizeof e};
    uint8_t *to = (uint8_t *)(log + 1) + log->used;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, &e, sizeof e);
    log->used += sizeof head + sizeof e;
  }
  lift.n_watches = 0;
}

// Between on and off, every launch is timed, by events around it; the sums go to the end of the first log.
void assay_lift_time(int on) {
  lift_inside = true;
  pthread_mutex_lock(&lift.lock);
  lift.mode = on ? LIFT_TIMING : LIFT_IDLE;
  lift.refusal[0] = '\0';
  if (on) {
    memset(lift.launches, 0, sizeof lift.launches);
  } else if (lift.logs[0] && lift.logs[0]->stage == RECORD_RETURNED) {
    (void)lift.cu->cuCtxSynchronize();
    put_shares(lift.logs[0]);
  }
  pthread_mutex_unlock(&lift.lock);
  lift_inside = false;
}
