// SPDX-License-Identifier: Apache-2.0
// assay-device-runner: the process that carries out launch plans on a device. Our code, with the device's driver; it
// holds the current call's inputs, the outputs and the plan, and nothing from which an answer follows.
//
//   assay-device-runner DEVICE FOLDER BUILD  (descriptor 3: the socket to the judge)
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/channel.h"
#include "base/last_words.h"
#include "runner/device_protocol.h"
#include "sandbox/sandbox.h"

struct state {
  struct device_control *control;
  const struct device_ops *ops;
  const char *folder;
  struct device *device;
  struct device_facts facts;
  struct plan plan;
  bool has_plan, locked;
  struct device_buffer buffers[PLAN_MAX_BUFFERS];
  int n_buffers;
};

// The one mutable global of the program: a signal handler has no other way to its state, and this process serves one
// device only.
static struct state state;

static void answer(uint32_t number, enum assay_status status, const struct assay_error *err,
                   const struct device_report *report) {
  struct device_answer *a = &state.control->answer;
  a->status = status;
  snprintf(a->text, sizeof a->text, "%.500s", status ? err->message : "");
  if (report)
    a->report = *report;
  fflush(NULL); // what kernels printed
  atomic_store(&state.control->answered, number);
  syscall(SYS_futex, &state.control->answered, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// Notes what is known and dies of the same signal.
static void on_signal(int number, siginfo_t *info, void *context) {
  (void)context;
  struct device_control *c = state.control;
  c->address = (uint64_t)(uintptr_t)info->si_addr;
  c->system_call = last_words_system_call(number, info);
  c->memory_exhausted = last_words_memory_exhausted();
  c->signal = number;
  last_words_die(number);
}

enum { SPINS = 1000 };

// Receives one message and the descriptors that came with it. Returns its size, 0 when the judge is gone.
static ssize_t receive(struct device_message *m, int *fds, int *n_fds) {
  ssize_t n = -1;
  // Between two calls the next message comes sooner than a sleeper would wake.
  for (int turn = 0; turn < SPINS && n < 0; turn++)
    if ((n = channel_receive(DEVICE_SOCKET, MSG_DONTWAIT, m, sizeof *m, fds, DEVICE_FDS, n_fds)) < 0)
      sched_yield();
  return n < 0 ? channel_receive(DEVICE_SOCKET, 0, m, sizeof *m, fds, DEVICE_FDS, n_fds) : n;
}

static int attach(const struct device_message *m, const int *fds, int n_fds) {
  if (n_fds != 1 || state.control)
    return -1;
  void *page = mmap(NULL, sizeof *state.control, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
  if (page == MAP_FAILED)
    return -1;
  state.control = page;
  answer(m->number, ASSAY_OK, NULL, NULL);
  return 0;
}

// A file in memory that the judge made: mapped, or NULL.
static void *map_file(const int *fds, int n_fds, uint64_t bytes, struct assay_error *err, enum assay_status *status) {
  void *p = n_fds == 1 && bytes > 0 ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fds[0], 0) : MAP_FAILED;
  if (p != MAP_FAILED)
    return p;
  *status = error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot map what the judge sent: %s",
                      n_fds == 1 ? strerror(errno) : "the message has no descriptor");
  return NULL;
}

static void open_device(const struct device_message *m) {
  struct assay_error err = {0};
  struct device_options o = {.index = m->index, .folder = state.folder};
  enum assay_status status = state.device ? error_set(&err, ASSAY_ERR_INVALID, "the device is open already")
                                          : state.ops->open(&o, &state.device, &err);
  if (!status) {
    state.ops->facts(state.device, &state.facts);
    state.control->answer.facts = state.facts;
  }
  answer(m->number, status, &err, NULL);
}

static void equip_device(const struct device_message *m, const int *fds, int n_fds) {
  struct assay_error err = {0};
  enum assay_status status = ASSAY_OK;
  void *utility = map_file(fds, n_fds, m->bytes, &err, &status);
  if (!status && (!state.device || !state.ops->equip))
    status = error_set(&err, ASSAY_ERR_INVALID, "there is no device that takes helper code");
  if (!status)
    status = state.ops->equip(state.device, utility, m->bytes, &err);
  if (utility)
    munmap(utility, m->bytes);
  answer(m->number, status, &err, NULL);
}

static void drop_plan(void) {
  if (state.has_plan) {
    state.ops->unload(state.device);
    plan_release(&state.plan);
  }
  state.has_plan = false;
  state.control->n_places = 0;
}

static void drop_buffers(void) {
  for (int i = 0; i < state.n_buffers; i++)
    close(state.buffers[i].fd);
  state.n_buffers = 0;
}

static void take_buffers(const struct device_message *m, const int *fds, int n_fds) {
  if (m->first == 0)
    drop_buffers();
  if (m->n != n_fds || m->first != state.n_buffers || m->first + m->n > PLAN_MAX_BUFFERS)
    return; // LOAD will find them missing
  for (int i = 0; i < m->n; i++) {
    state.buffers[m->first + i] = m->buffers[i];
    state.buffers[m->first + i].fd = fds[i];
  }
  state.n_buffers += m->n;
}

// The plan is read and checked again: what is carried out here is what this process has seen to be safe.
static enum assay_status read_plan(const struct device_message *m, const int *fds, int n_fds, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  void *packed = map_file(fds, n_fds, m->bytes, err, &status);
  if (status)
    return status;
  status = plan_unpack(packed, m->bytes, &state.plan, err);
  munmap(packed, m->bytes);
  if (status)
    return status;
  state.has_plan = true;
  return plan_check(&state.plan, &state.facts.limits, NULL, err);
}

static void note_places(void) {
  for (int i = 0; i < state.plan.n_buffers; i++)
    state.ops->place(state.device, i, &state.control->places[i]);
  state.control->n_places = state.plan.n_buffers;
}

static void load(const struct device_message *m, const int *fds, int n_fds) {
  struct assay_error err = {0};
  struct device_report report = {0};
  enum assay_status status = ASSAY_OK;
  if (!state.device || state.locked)
    status = error_set(&err, ASSAY_ERR_INVALID, "%s", state.device ? "locked down" : "the device is not open");
  else if (m->n_in < 0 || m->n_out < 0 || m->n_in + m->n_out != state.n_buffers)
    status = error_set(&err, ASSAY_ERR_INVALID, "%d buffers came for %d inputs and %d outputs", state.n_buffers,
                       m->n_in, m->n_out);
  if (!status) {
    drop_plan();
    status = read_plan(m, fds, n_fds, &err);
  }
  const struct device_work work = {&state.plan, m->n_in, m->n_out, state.buffers, state.buffers + m->n_in};
  if (!status)
    status = state.ops->load(state.device, &work, &report, &err);
  drop_buffers();
  // From here on foreign code runs in this process: memory, threads and time only. The handlers come this late because
  // a driver's compiler has handlers of its own for the same signals.
  if (!status && report.event == DEVICE_OK && state.ops->place) {
    note_places();
    status = last_words_install(on_signal, false, NULL, 0)
                 ? sandbox_lock_runner(false, &err)
                 : error_set(&err, ASSAY_ERR_ENVIRONMENT, "cannot handle signals: %s", strerror(errno));
    state.locked = true;
  }
  answer(m->number, status, &err, &report);
}

static void call(const struct device_message *m) {
  struct assay_error err = {0};
  struct device_report report = {0};
  enum assay_status status;
  if (!state.has_plan)
    status = error_set(&err, ASSAY_ERR_INVALID, "no plan is loaded");
  else
    status = state.ops->call(state.device, (enum device_mode)m->mode, &report, &err);
  answer(m->number, status, &err, &report);
}

int main(int argc, char **argv) {
  static struct device_message m;
  int fds[DEVICE_FDS], n_fds;
  if (!build_id_matches(argc == 4 ? argv[3] : NULL, "assay-device-runner"))
    return 2;
  const struct plan_device *device;
  struct assay_error unknown = {0};
  if (plan_device_parse(argv[1], &device, &unknown) != ASSAY_OK || !(state.ops = device_of(device)))
    return 2;
  state.folder = argv[2];
  while (receive(&m, fds, &n_fds) == (ssize_t)sizeof m) {
    if (m.verb == DEVICE_ATTACH ? attach(&m, fds, n_fds) != 0 : !state.control)
      return 3;
    if (m.verb == DEVICE_OPEN)
      open_device(&m);
    else if (m.verb == DEVICE_EQUIP)
      equip_device(&m, fds, n_fds);
    else if (m.verb == DEVICE_BUFFERS)
      take_buffers(&m, fds, n_fds);
    else if (m.verb == DEVICE_LOAD)
      load(&m, fds, n_fds);
    else if (m.verb == DEVICE_CALL)
      call(&m);
    for (int i = 0; i < n_fds && m.verb != DEVICE_BUFFERS; i++)
      close(fds[i]);
  }
  // Not by way of the driver's own ends: threads of kernels may still be about.
  _exit(0);
}
