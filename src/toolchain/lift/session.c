// SPDX-License-Identifier: Apache-2.0
// The session: the one mutable global, its lock, and what worker.py, assay-library and CUPTI call.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/build_id.h"
#include "toolchain/lift/lift.h"

#define EXPORTED __attribute__((visibility("default")))

// CUPTI's callback and PyTorch's allocator have no other way to their state.
static struct lift lift = {.lock = PTHREAD_MUTEX_INITIALIZER,
                           .memory = {.next_address = RECORD_FIRST_ADDRESS, .first_address = RECORD_FIRST_ADDRESS}};
// Set while this thread is in here: what we ask the driver for is not the program's.
static _Thread_local bool inside;

struct lift *lift_enter(bool *was_inside) {
  *was_inside = inside;
  inside = true;
  if (!*was_inside)
    pthread_mutex_lock(&lift.lock);
  return &lift;
}

void lift_leave(bool was_inside) {
  if (!was_inside)
    pthread_mutex_unlock(&lift.lock);
  inside = was_inside;
}

void lift_on_callback(void *arg, enum cupti_domain domain, uint32_t id, const void *data) {
  (void)arg;
  bool loaded = domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_LOADED, was_inside;
  if (inside && !loaded) // where modules are loaded late, a question of ours about one loads it
    return;
  struct lift *l = lift_enter(&was_inside);
  if (loaded) {
    const struct cupti_module *m = ((const struct cupti_resource *)data)->descriptor;
    module_table_add(&l->modules, m->cubin, m->bytes);
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    lift_on_call(l, data);
  }
  lift_leave(was_inside);
}

// ---- worker.py

// Subscribes to every call from now on with CUPTI (the library's path); before PyTorch opens the device. NULL, or what
// is wrong.
EXPORTED const char *assay_lift_subscribe(const char *cupti_path, const char *build);
// Maps both requests' tensors of a workload on the device. What an earlier workload had is given back; the caller
// closes the descriptors. NULL, or what is wrong.
EXPORTED const char *assay_lift_open(int request_a, int log_a, int request_b, int log_b);
EXPORTED int assay_lift_has_no_memory(void); // whether since then the device's memory was too small for something
// Inputs and outputs of a request, and one of them.
EXPORTED void assay_lift_counts(int log, uint32_t counts[2]);
EXPORTED void assay_lift_tensor(int log, uint32_t i, struct record_tensor *out);
EXPORTED void assay_lift_look(int on); // whether launches are looked at for the memory that they use
EXPORTED void assay_lift_begin(int log);
EXPORTED void assay_lift_output(uint64_t address, uint32_t index); // before the end: an allocation of this recording
EXPORTED void assay_lift_prepared(void);   // what was recorded so far depends on the weights alone
EXPORTED const char *assay_lift_end(void); // NULL, or why there is no plan
EXPORTED int assay_lift_is_new(uint64_t address, uint64_t bytes); // whether it is an allocation of this recording
// Left-over memory: it was taken for workspace, but something that an earlier call left there may be read. Returns how
// many such allocations there are; -1: some are gone or cannot be read.
//   0  only counts; if there are any, both logs say that they are refused from now on, until 3
//   1  zeros them: a call that then returns something else does read them
//   2  puts back what they held, and counts them no longer
//   3  it was seen that they are not read: the logs say again what they said before 0
EXPORTED int assay_lift_left_overs(int what);
EXPORTED void assay_lift_time(int on); // whether launches are timed; at the end the sums go to the first log
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

static const char *map_tensors(const struct record_request *r, int log) {
  struct address_map *m = &lift.memory;
  for (uint32_t i = 0; i < r->n_inputs + r->n_outputs && i < RECORD_MAX_TENSORS; i++) {
    if (!lift_map_tensor(&lift, &r->tensors[i], &m->tensors[log][i]))
      return lift.out_of_memory ? "the device has no memory for two sets of the task's tensors, which recording takes"
                                : "the device maps no memory for the task's tensors";
    m->n_tensors[log] = i + 1;
  }
  return NULL;
}

static void unmap_workload(void) {
  if (lift.requests[0])
    (void)lift.driver.cu->cuCtxSynchronize();
  for (int i = 0; i < LIFT_LOGS; i++) {
    for (size_t k = 0; k < lift.memory.n_tensors[i]; k++)
      lift_unmap(&lift, &lift.memory.tensors[i][k]);
    lift.memory.n_tensors[i] = 0;
    if (lift.logs[i])
      munmap(lift.logs[i], RECORD_LOG_BYTES);
    lift.logs[i] = NULL;
    lift.requests[i] = NULL; // small, and stays mapped
  }
}

static const char *open_log(int i, int request_fd, int log_fd) {
  lift.requests[i] = map_file(request_fd, PROT_READ);
  lift.logs[i] = map_file(log_fd, PROT_READ | PROT_WRITE);
  if (!lift.requests[i] || !lift.logs[i] || lift.requests[i]->magic != RECORD_MAGIC)
    return "the judge's files cannot be mapped";
  *lift.logs[i] = (struct record_header){.magic = RECORD_MAGIC, .stage = RECORD_STARTED};
  const char *why = map_tensors(lift.requests[i], i);
  lift.memory.next_address = lift.memory.first_address = lift.requests[i]->first_free;
  lift.memory.wrapped = false;
  return why;
}

const char *assay_lift_open(int request_a, int log_a, int request_b, int log_b) {
  const int requests[] = {request_a, request_b}, logs[] = {log_a, log_b};
  inside = true; // without the lock
  lift.out_of_memory = lift.logs_held = false;
  lift.warming = true;
  const char *why = lift_driver_open(&lift.driver, &lift.err);
  if (!why)
    unmap_workload();
  lift.memory.log = 0; // the warm-up calls' tensors are the first log's
  for (int i = 0; i < LIFT_LOGS && !why; i++)
    why = open_log(i, requests[i], logs[i]);
  lift_forget_freed(&lift);
  lift.n_left_over = 0;
  address_map_renumber(&lift.memory);
  for (int i = 0; i < LIFT_LOGS && !why; i++)
    lift.logs[i]->stage = RECORD_LOADING;
  inside = false;
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
  out->address = allocation_real(&lift.memory.tensors[log][i], out->address);
}

void assay_lift_look(int on) {
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  lift_forget_words(l);
  if (on)
    lift_stop_warming(l);
  l->mode = on ? LIFT_LOOKING : LIFT_IDLE;
  lift_leave(was_inside);
}

void assay_lift_begin(int log) {
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  lift_stop_warming(l);
  l->memory.log = log;
  log_writer_begin(&l->writer);
  stream_table_begin(&l->streams);
  module_table_begin(&l->modules);
  tensor_map_table_begin(&l->maps);
  lift_begin_contents(l);
  l->mode = LIFT_RECORDING;
  lift_leave(was_inside);
}

void assay_lift_output(uint64_t address, uint32_t index) {
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  const struct allocation *a = address_map_find(&l->memory, address);
  const struct record_output e = {.address = a ? a->address : address, .index = index};
  log_writer_output(&l->writer, &e);
  lift_leave(was_inside);
}

void assay_lift_prepared(void) {
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  log_writer_put(&l->writer, RECORD_PREPARED, NULL, 0);
  lift_leave(was_inside);
}

int assay_lift_is_new(uint64_t address, uint64_t bytes) {
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  const struct allocation *a = address_map_find(&l->memory, address);
  bool is_new = a && a->owner == ALLOCATION_OWN && a->life == ALLOCATION_NEW && a->real == address && a->bytes == bytes;
  lift_leave(was_inside);
  return is_new;
}

const char *assay_lift_end(void) {
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  l->mode = LIFT_IDLE;
  if (!log_writer_refused(&l->writer))
    lift_end_contents(l);
  log_writer_finish(&l->writer, l->logs[l->memory.log]);
  lift_leave(was_inside);
  return log_writer_refused(&l->writer) ? l->writer.refusal : NULL;
}

// A program that ends while its left-over memory is tried has not shown that there may be a plan.
static void hold_logs(struct lift *l, bool held) {
  for (int i = 0; i < LIFT_LOGS; i++) {
    struct record_header *log = l->logs[i];
    if (!log || held == l->logs_held)
      continue;
    if (held) {
      l->held_stages[i] = log->stage;
      log->stage = RECORD_REFUSED;
      snprintf(log->message, sizeof log->message,
               "it ended while Assay tried whether it reads what earlier calls left in memory");
    } else {
      log->stage = l->held_stages[i];
      log->message[0] = '\0';
    }
  }
  l->logs_held = held;
}

int assay_lift_left_overs(int what) {
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  int n = what == LIFT_SETTLED ? 0 : lift_left_overs(l, (enum lift_left_overs)what);
  if (what == LIFT_SETTLED || (what == LIFT_COUNT && n != 0))
    hold_logs(l, what != LIFT_SETTLED);
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

void assay_lift_time(int on) {
  struct record_share shares[PLAN_ORIGINS];
  bool was_inside;
  struct lift *l = lift_enter(&was_inside);
  l->mode = on ? LIFT_TIMING : LIFT_IDLE;
  l->writer.refusal[0] = '\0';
  if (on) {
    kernel_timer_reset(&l->timer);
  } else if (l->logs[0] && l->logs[0]->stage == RECORD_RETURNED) {
    (void)l->driver.cu->cuCtxSynchronize();
    kernel_timer_collect(&l->timer, l->driver.cu, shares);
    for (size_t i = 0; i < PLAN_ORIGINS; i++)
      log_writer_share(l->logs[0], &shares[i]);
  }
  lift_leave(was_inside);
}
