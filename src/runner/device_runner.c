// SPDX-License-Identifier: Apache-2.0
// The judge's side of assay-device-runner: starts it, passes it plans and buffers, and finds out how it ended.
#include "runner/device_runner.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/build_id.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/limit.h"
#include "runner/device_classify.h"
#include "runner/device_protocol.h"
#include "runner/peer.h"
#include "sandbox/gpu_visible.h"
#include "sandbox/sandbox.h"

enum { AWAIT_SPINS = 20000, SPINS_A_YIELD = 64 };
enum { PATIENCE_NS = 5000000, SEND_SECONDS = 5, PATH_BYTES = 4096, MAX_PROCESSES = 4096 };

// What a driver's compiler may write into the folder, one file each.
static const size_t FILE_BYTES = (size_t)1 << 30;

struct device_runner {
  struct device_runner_options o;
  struct sandbox_child child;
  bool alive, in_process, locked, without_landlock;
  int socket;
  struct device_control *control;
  uint32_t number;     // of the last exchange
  int64_t deadline_ns; // of opening
  struct device_facts facts;
  struct device_names names; // of the loaded plan's buffers
  struct buf log;
  char weakness[160];
};

// ---- talking

// Waits for the answer to the last exchange. False: the process has ended, or the time is up (*late).
static bool await(struct device_runner *r, int64_t deadline_ns, bool *late) {
  int64_t looked_ns = clock_monotonic_ns();
  *late = false;
  for (int turn = 0;; turn++) {
    uint32_t answered = atomic_load_explicit(&r->control->answered, memory_order_acquire);
    if (answered == r->number)
      return true;
    if (turn < AWAIT_SPINS) { // most answers are there sooner than a sleeper wakes
      if (turn % SPINS_A_YIELD == 0)
        sched_yield();
      continue;
    }
    int64_t now_ns = clock_monotonic_ns(), stopped_ns = limit_stopped_ns(looked_ns, now_ns, PATIENCE_NS);
    looked_ns = now_ns;
    deadline_ns = deadline_ns < INT64_MAX - stopped_ns ? deadline_ns + stopped_ns : INT64_MAX;
    int64_t left = deadline_ns - now_ns;
    if (left <= 0) {
      *late = true;
      return false;
    }
    peer_sleep(&r->control->answered, answered, left < PATIENCE_NS ? left : PATIENCE_NS);
    device_runner_log(r); // a kernel that prints more than a pipe holds must not wait for us
    if (peer_ended(r->child.pid))
      return atomic_load(&r->control->answered) == r->number;
  }
}

static enum assay_status send_message(struct device_runner *r, struct device_message *m, const int *fds, int n_fds,
                                      struct assay_error *err) {
  if (m->verb != DEVICE_BUFFERS)
    m->number = ++r->number;
  int e = channel_send(r->socket, 0, m, sizeof *m, fds, n_fds);
  // A peer that has ended or does not read is not a failure of the machine; waiting for its answer shows what happened.
  if (!e || channel_is_deaf(e))
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot talk to the device's runner: %s", strerror(e));
}

// A file in memory that nobody can change any more.
static enum assay_status make_file(const void *bytes, size_t n, int *out, struct assay_error *err) {
  int fd = memfd_create("assay-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  size_t done = 0;
  while (fd >= 0 && done < n) {
    ssize_t written = write(fd, (const char *)bytes + done, n - done);
    if (written <= 0)
      break;
    done += (size_t)written;
  }
  if (done == n && fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0) {
    *out = fd;
    return ASSAY_OK;
  }
  enum assay_status status =
      error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a file of %zu bytes in memory: %s", n, strerror(errno));
  if (fd >= 0)
    close(fd);
  return status;
}

// ---- starting and ending

enum { MOST_VARIABLES = 16 };

static enum assay_status spawn(struct device_runner *r, int socket, struct assay_error *err) {
  const struct device_host *host = device_of(r->o.device)->host;
  char program[PATH_BYTES], device[32], folder[PATH_BYTES], cache[PATH_BYTES + 64];
  glob_t files = {0};
  snprintf(program, sizeof program, "%s", r->o.program);
  snprintf(device, sizeof device, "%s", r->o.device->name);
  snprintf(folder, sizeof folder, "%s", r->o.folder);
  char *argv[] = {program, device, folder, (char *)build_id, NULL};
  char *envp[MOST_VARIABLES] = {0};
  int n = 0;
  for (; host->environment[n] && n < MOST_VARIABLES - 4; n++)
    envp[n] = (char *)host->environment[n];
  if (host->cache_variable) {
    snprintf(cache, sizeof cache, "%.32s=%s", host->cache_variable, folder);
    envp[n++] = cache;
  }
  struct gpu_visible gpu;
  gpu_visible(r->o.index, &gpu);
  if (host->one_gpu) {
    envp[n++] = gpu.devices;
    envp[n++] = gpu.order;
  }
  if (host->files)
    (void)glob(host->files, GLOB_NOSORT, NULL, &files);
  const char *const no_files[] = {NULL};
  struct sandbox_policy policy = {.role = host->builds ? SANDBOX_BUILDER : SANDBOX_DEVICE,
                                  .folder = r->o.folder,
                                  .read_paths = host->read_paths,
                                  .device_paths = files.gl_pathv ? (const char *const *)files.gl_pathv : no_files,
                                  .without_landlock = r->without_landlock,
                                  .file_bytes = FILE_BYTES,
                                  .processes = MAX_PROCESSES};
  enum assay_status status = sandbox_spawn(&policy, argv, envp, &socket, 1, &r->child, err);
  r->alive = !status;
  globfree(&files);
  return status;
}

// Starts the process and asks it to open the device; the answer is awaited later.
static enum assay_status start(struct device_runner *r, struct assay_error *err) {
  struct device_message attach = {.verb = DEVICE_ATTACH};
  struct device_message open = {.verb = DEVICE_OPEN, .index = device_of(r->o.device)->host->one_gpu ? 0 : r->o.index};
  struct timeval patience = {.tv_sec = SEND_SECONDS};
  int pair[2] = {-1, -1}, page = -1;
  void *control = NULL;
  enum assay_status status = peer_share(sizeof *r->control, &control, &page, err);
  r->control = control;
  if (!status && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make a socket: %s", strerror(errno));
  r->socket = pair[0];
  if (!status)
    (void)setsockopt(r->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (!status)
    status = spawn(r, pair[1], err);
  r->deadline_ns = clock_monotonic_ns() + r->o.open_timeout_ns;
  if (!status)
    status = send_message(r, &attach, &page, 1, err);
  if (!status)
    status = send_message(r, &open, NULL, 0, err);
  if (pair[1] >= 0)
    close(pair[1]);
  if (page >= 0)
    close(page);
  return status;
}

// Ends the process and forgets everything about it but its log.
static void stop(struct device_runner *r, struct sandbox_end *end) {
  struct sandbox_end unused;
  device_runner_log(r);
  if (r->alive)
    sandbox_kill(&r->child, end ? end : &unused);
  r->alive = r->locked = false;
  r->child.output = -1;
  if (r->socket >= 0)
    close(r->socket);
  if (r->control)
    munmap(r->control, sizeof *r->control);
  r->socket = -1;
  r->control = NULL;
  r->number = 0;
}

enum assay_status device_runner_begin(const struct device_runner_options *o, struct device_runner **out,
                                      struct assay_error *err) {
  struct device_runner *r = base_calloc(1, sizeof *r);
  if (!r)
    return error_nomem(err, "a device's runner");
  r->o = *o;
  r->socket = r->child.output = r->child.pidfd = -1;
  enum assay_status status = start(r, err);
  if (status)
    device_runner_close(r);
  else
    *out = r;
  return status;
}

void device_runner_end(struct device_runner *r) {
  if (r && r->alive)
    kill(r->child.pid, SIGKILL);
}

void device_runner_close(struct device_runner *r) {
  if (!r)
    return;
  stop(r, NULL);
  device_names_release(&r->names);
  buf_release(&r->log);
  base_free(r);
}

// Copies the text of an answer, which may be malformed.
static enum assay_status answer_status(const struct device_answer *a, struct assay_error *err) {
  char text[DEVICE_TEXT_BYTES];
  if (a->status == ASSAY_OK)
    return ASSAY_OK;
  memcpy(text, a->text, sizeof text);
  text[sizeof text - 1] = '\0';
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "%s", text);
}

static enum assay_status await_open(struct device_runner *r, struct assay_error *err) {
  bool late;
  if (!await(r, r->deadline_ns, &late)) {
    const char *words = device_runner_log(r);
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner %s %s opening the %s device%s%.300s", r->o.program,
                     late ? "did not come back from" : "ended while", r->o.device->name, words[0] ? ": " : "", words);
  }
  struct device_answer a;
  memcpy(&a, &r->control->answer, sizeof a);
  enum assay_status status = answer_status(&a, err);
  if (status)
    return status;
  r->facts = a.facts;
  r->facts.name[sizeof r->facts.name - 1] = r->facts.uuid[sizeof r->facts.uuid - 1] = '\0';
  r->facts.driver[sizeof r->facts.driver - 1] = r->facts.target[sizeof r->facts.target - 1] = '\0';
  r->facts.limits.device = r->o.device;
  r->facts.limits.target = r->facts.target;
  r->in_process = device_of(r->o.device)->place != NULL;
  return ASSAY_OK;
}

static enum assay_status equip(struct device_runner *r, const void *utility, size_t bytes, struct assay_error *err) {
  struct device_message m = {.verb = DEVICE_EQUIP, .bytes = bytes};
  struct device_answer a;
  int file = -1;
  bool late;
  enum assay_status status = make_file(utility, bytes, &file, err);
  if (!status)
    status = send_message(r, &m, &file, 1, err);
  if (file >= 0)
    close(file);
  if (status)
    return status;
  if (!await(r, r->deadline_ns, &late))
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner %s %s loading its helper code", r->o.program,
                     late ? "did not come back from" : "ended while");
  memcpy(&a, &r->control->answer, sizeof a);
  return answer_status(&a, err);
}

enum assay_status device_runner_wait(struct device_runner *r, const void *utility, size_t utility_bytes,
                                     struct assay_error *err) {
  struct assay_error first = {0}, second = {0};
  enum assay_status status = await_open(r, &first);
  if (status && device_of(r->o.device)->host->opens_without_landlock && !r->without_landlock) {
    stop(r, NULL);
    r->without_landlock = true;
    status = start(r, &second);
    if (!status)
      status = await_open(r, &second);
    if (!status)
      snprintf(r->weakness, sizeof r->weakness, "the device's runner without landlock (under it: %.100s)",
               first.message);
  }
  if (status)
    return error_set(err, status, "%s", first.message);
  return utility ? equip(r, utility, utility_bytes, err) : ASSAY_OK;
}

const struct device_facts *device_runner_facts(const struct device_runner *r) {
  return &r->facts;
}

const char *device_runner_weakness(const struct device_runner *r) {
  return r->weakness;
}

// ---- plans

// The process is over, or is to be: says why in the report.
static void finish(struct device_runner *r, bool late, bool loading, struct runner_report *report) {
  struct device_notes notes;
  struct sandbox_end end = {0};
  device_notes_take(&notes, r->control);
  bool ended = late || peer_ended(r->child.pid);
  stop(r, &end);
  if (ended)
    device_classify_end(&notes, &end, &r->names, late, loading, report);
  else
    *report = (struct runner_report){
        .event = RUNNER_CRASHED,
        .detail = "gave an answer that the runner does not give: the kernel wrote to memory that is not its own"};
}

// One exchange about a plan; a load carries a descriptor, elsewhere it is -1. ASSAY_OK: the event is in *report; *a is
// the answer when that is RUNNER_OK.
static enum assay_status exchange(struct device_runner *r, struct device_message *m, int fd, struct device_answer *a,
                                  struct runner_report *report, struct assay_error *err) {
  bool late, loading = m->verb == DEVICE_LOAD;
  enum assay_status status = send_message(r, m, &fd, fd >= 0, err);
  if (status)
    return status;
  if (!await(r, clock_monotonic_ns() + (loading ? r->o.load_timeout_ns : r->o.call_timeout_ns), &late)) {
    finish(r, late, loading, report);
    return ASSAY_OK;
  }
  memcpy(a, &r->control->answer, sizeof *a);
  device_runner_log(r);
  if (r->locked && (a->status != ASSAY_OK || !device_report_is_sound(&a->report))) {
    finish(r, false, loading, report);
    return ASSAY_OK;
  }
  status = answer_status(a, err);
  if (!status)
    status = device_classify_report(&a->report, report, err);
  if (status || report->event != RUNNER_OK)
    stop(r, NULL);
  return status;
}

// Read-only for the runner whatever it does with the descriptor. Only ordinary memory can be reopened so; a GPU's is
// mapped read-only by the driver.
static int read_only(const struct shared_memory *m) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", m->fd);
  return m->host ? open(path, O_RDONLY | O_CLOEXEC) : fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
}

static enum assay_status send_buffers(struct device_runner *r, const struct shared_buffers *buffers,
                                      bool inputs_writable, struct assay_error *err) {
  int fds[DEVICE_FDS], n_in = buffers->n_in, n = n_in + buffers->n_out;
  enum assay_status status = ASSAY_OK;
  for (int first = 0; first < n && !status; first += DEVICE_FDS) {
    struct device_message m = {.verb = DEVICE_BUFFERS, .first = first};
    for (int i = first; i < n && i < first + DEVICE_FDS && !status; i++) {
      const struct shared_memory *s = i < n_in ? &buffers->in[i] : &buffers->out[i - n_in];
      const bool writable = i >= n_in || inputs_writable;
      m.buffers[m.n] = (struct device_buffer){.fd = -1,
                                              .map_bytes = s->map_bytes,
                                              .offset = s->offset,
                                              .bytes = s->bytes,
                                              .id = s->id,
                                              .writable = writable};
      fds[m.n] = writable ? fcntl(s->fd, F_DUPFD_CLOEXEC, 0) : read_only(s);
      if (fds[m.n] < 0)
        status =
            error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot hand a buffer to the device's runner: %s", strerror(errno));
      else
        m.n++;
    }
    if (!status)
      status = send_message(r, &m, fds, m.n, err);
    for (int i = 0; i < m.n; i++)
      close(fds[i]);
  }
  return status;
}

// What kernels in the process may take in addition to what is there when they are loaded.
#define SPARE_BYTES ((uint64_t)2 << 30)

// Kernels that are code in the process could ask the system for memory themselves.
static void limit_memory(const struct device_runner *r) {
#if !defined(__SANITIZE_ADDRESS__)
  char path[64];
  unsigned long long pages = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", (int)r->child.pid);
  FILE *f = fopen(path, "re");
  if (f && fscanf(f, "%llu", &pages) == 1) {
    rlim_t bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE) + SPARE_BYTES;
    struct rlimit limit = {bytes, bytes};
    prlimit(r->child.pid, RLIMIT_AS, &limit, NULL);
  }
  if (f)
    fclose(f);
#else
  (void)r; // the sanitizer's shadow memory is beyond any limit
#endif
}

// A process that has run kernels is not given another plan, where kernels run in it.
static enum assay_status renew(struct device_runner *r, struct assay_error *err) {
  stop(r, NULL);
  enum assay_status status = start(r, err);
  return status ? status : await_open(r, err);
}

enum assay_status device_runner_load(struct device_runner *r, const struct plan *p,
                                     const struct shared_buffers *buffers, bool inputs_writable,
                                     struct runner_report *report, struct assay_error *err) {
  const int n_in = buffers->n_in, n_out = buffers->n_out;
  struct device_message m = {.verb = DEVICE_LOAD, .n_in = n_in, .n_out = n_out};
  struct device_answer a;
  struct buf packed = {0};
  int fd = -1;
  memset(report, 0, sizeof *report);
  assert(r->alive);
  if (n_in < 0 || n_out < 0 || n_in > PLAN_MAX_BUFFERS || n_out > PLAN_MAX_BUFFERS - n_in)
    return error_set(err, ASSAY_ERR_LIMIT, "a task for a device has at most %d inputs and outputs", PLAN_MAX_BUFFERS);
  enum assay_status status = r->locked ? renew(r, err) : ASSAY_OK;
  if (!status)
    status = plan_pack(p, &packed, err);
  if (!status)
    status = make_file(packed.data, packed.len, &fd, err);
  if (!status)
    status = device_names_take(&r->names, p, err);
  if (!status)
    status = send_buffers(r, buffers, inputs_writable, err);
  m.bytes = packed.len;
  if (!status)
    status = exchange(r, &m, fd, &a, report, err);
  if (!status && report->event == RUNNER_OK && r->in_process) {
    r->locked = true;
    limit_memory(r);
  }
  if (fd >= 0)
    close(fd);
  buf_release(&packed);
  return status;
}

enum assay_status device_runner_call(struct device_runner *r, enum device_mode mode, struct runner_report *report,
                                     struct device_times *times, int64_t *wall_ns, struct assay_error *err) {
  struct device_message m = {.verb = DEVICE_CALL, .mode = (int32_t)mode};
  struct device_answer a;
  memset(report, 0, sizeof *report);
  memset(times, 0, sizeof *times);
  assert(r->alive);
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = exchange(r, &m, -1, &a, report, err);
  *wall_ns = clock_monotonic_ns() - start_ns;
  if (status || report->event != RUNNER_OK)
    return status;
  *times = a.report.times;
  report->elapsed_ns = mode == DEVICE_AS_CALLED ? times->called_ns : times->device_ns;
  return ASSAY_OK;
}

const char *device_runner_log(struct device_runner *r) {
  if (r->alive)
    peer_read_log(r->child.output, &r->log);
  return buf_str(&r->log);
}

void device_runner_clear_log(struct device_runner *r) {
  buf_clear(&r->log);
}
