// SPDX-License-Identifier: Apache-2.0
// The CUDA device, on a machine that has one: this process is the judge (its own context, buffers that it shares), and
// each scenario is a process that carries plans out, as the runner does. Prints what it saw; exit code 0 when all was
// as it must be. Not part of ctest: `gpu_device [scenario]`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "compute/cuda.h"
#include "device/garbage.h"
#include "device/monitor.h"
#include "device/utility.h"
#include "device_scenarios.h"

enum { POISON = 0x7fc1a5e3, MAX_SCENARIOS = 32 };

// ---- messages: one byte and the descriptors of all buffers

static bool send_descriptors(int socket, const int *fds, int n) {
  char byte = 1, control[CMSG_SPACE(sizeof(int) * BOARD_BUFFERS * 2)] = {0};
  struct iovec part = {&byte, 1};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
  if (n) {
    m.msg_control = control;
    m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)n);
  }
  return sendmsg(socket, &m, 0) == 1;
}

static bool receive_descriptors(int socket, int *fds, int n) {
  char byte, control[CMSG_SPACE(sizeof(int) * BOARD_BUFFERS * 2)];
  struct iovec part = {&byte, 1};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  if (recvmsg(socket, &m, 0) != 1)
    return false; // the judge has nothing for us
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  if (n && (!c || c->cmsg_len != CMSG_LEN(sizeof(int) * (size_t)n)))
    return false;
  if (n)
    memcpy(fds, CMSG_DATA(c), sizeof(int) * (size_t)n);
  return true;
}

// ---- the runner's side

static int child(int socket, struct board *b, const struct scenario *s) {
  int fds[2 * BOARD_BUFFERS];
  struct assay_error err = {0};
  int n_in = count_sizes(s->in), n_out = count_sizes(s->out);
  if (!receive_descriptors(socket, fds, n_in + n_out))
    return 3;
  for (int i = 0; i < n_in; i++)
    b->in[i].fd = fds[i];
  for (int i = 0; i < n_out; i++)
    b->out[i].fd = fds[n_in + i];
  struct runner r = {.board = b, .n_in = n_in, .n_out = n_out};
  struct device_options o = {.index = 0, .folder = "/tmp"};
  int64_t start = clock_monotonic_ns();
  if (device_cuda.open(&o, &r.device, &err) || device_cuda.equip(r.device, b->utility, b->utility_bytes, &err)) {
    printf("    cannot open the device: %s\n", err.message);
    return 1;
  }
  r.open_ns = clock_monotonic_ns() - start;
  int failures = s->runner(&r);
  if (!r.broken) { // after a fault the process is of no more use
    device_cuda.unload(r.device);
    device_cuda.close(r.device);
  }
  fflush(stdout);
  return failures ? 1 : 0;
}

// ---- the judge's side

struct judge {
  struct compute *compute;
  struct board *board;
  struct shared_memory in[BOARD_BUFFERS], out[BOARD_BUFFERS];
};

static bool make_one(struct judge *j, size_t bytes, struct shared_memory *m, struct device_buffer *b, bool input) {
  struct assay_error err = {0};
  enum assay_status status = shared_create(j->compute, bytes, m, &err);
  if (!status)
    status = shared_poison(m, POISON, true, &err);
  if (!status && input) {
    float *data = malloc(bytes);
    for (size_t i = 0; i < bytes / sizeof *data; i++)
      data[i] = input_value(i);
    status = shared_write(m, data, &err);
    free(data);
  }
  if (status)
    printf("    cannot make a shared buffer: %s\n", err.message);
  *b = (struct device_buffer){
      .fd = m->fd, .map_bytes = m->map_bytes, .offset = m->offset, .bytes = m->bytes, .writable = !input};
  return status == ASSAY_OK;
}

// Outputs as the scenario wants them, inputs as they were, and bands whole, except where a kernel was to damage them.
static int look(struct judge *j, const struct scenario *s) {
  int failures = 0;
  for (int i = 0; i < count_sizes(s->out) + count_sizes(s->in); i++) {
    bool is_input = i >= count_sizes(s->out), intact = false;
    struct shared_memory *m = is_input ? &j->in[i - count_sizes(s->out)] : &j->out[i];
    int64_t distance = 0;
    struct assay_error err = {0};
    float *data = malloc(m->bytes);
    if (shared_check_bands(m, POISON, &intact, &distance, &err) || shared_read(m, data, &err)) {
      printf("    the judge cannot read a buffer: %s\n", err.message);
      failures++;
    } else if ((distance != 0) != (!is_input && s->damage != 0) || (!intact && distance != s->damage)) {
      printf("    bands of %s %d: damage at %lld, expected at %lld\n", is_input ? "input" : "output", i,
             (long long)distance, (long long)(is_input ? 0 : s->damage));
      failures++;
    }
    for (size_t k = 0; is_input && k < m->bytes / sizeof *data && failures == 0; k++)
      failures += memcmp(&data[k], &(float){input_value(k)}, sizeof *data) != 0;
    if (!is_input && s->right && !failures)
      for (size_t k = 0; k < m->bytes / sizeof *data; k++)
        if (!s->right(i, k, data[k])) {
          printf("    output %d, element %zu: %g\n", i, k, (double)data[k]);
          failures++;
          break;
        }
    free(data);
  }
  return failures;
}

static int judge_one(struct judge *j, const struct scenario *s, int socket, pid_t pid) {
  int fds[2 * BOARD_BUFFERS], n_in = count_sizes(s->in), n_out = count_sizes(s->out), status = 0, failures = 0;
  struct assay_error err = {0};
  printf("%s\n", s->name);
  fflush(stdout);
  bool good = true;
  for (int i = 0; i < n_in; i++)
    good = make_one(j, s->in[i], &j->in[i], &j->board->in[i], true) && good;
  for (int i = 0; i < n_out; i++)
    good = make_one(j, s->out[i], &j->out[i], &j->board->out[i], false) && good;
  if (good && compute_sync(j->compute, &err) == ASSAY_OK) {
    for (int i = 0; i < n_in + n_out; i++)
      fds[i] = i < n_in ? j->in[i].fd : j->out[i - n_in].fd;
    good = send_descriptors(socket, fds, n_in + n_out);
  }
  close(socket);
  waitpid(pid, &status, 0);
  if (!good || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    failures = 1;
  if (good)
    failures += look(j, s);
  for (int i = 0; i < n_in; i++)
    shared_release(&j->in[i]);
  for (int i = 0; i < n_out; i++)
    shared_release(&j->out[i]);
  printf("  %s\n", failures ? "FAILED" : "ok");
  fflush(stdout);
  return failures != 0;
}

// What children need to know is put on the board, which they share.
static bool fill_board(struct judge *j) {
  struct assay_error err = {0};
  struct compute_cuda_part part;
  void *utility = NULL, *cubin = NULL;
  char *text = NULL;
  size_t n_text, n_utility = 0, n_cubin = 0;
  enum assay_status status = compute_cuda_part(j->compute, &part, &err);
  if (!status)
    status = utility_make(j->compute, &utility, &n_utility, &err);
  if (!status)
    status = file_read(ASSAY_SOURCE_DIR "/tests/gpu/device_kernels.cu", 1 << 20, &text, &n_text, &err);
  if (!status)
    status = compute_cuda_compile(j->compute, "device_kernels.cu", text, &cubin, &n_cubin, &err);
  if (!status && (n_utility > BOARD_CODE || n_cubin > BOARD_CODE))
    status = error_set(&err, ASSAY_ERR_LIMIT, "the board is too small");
  if (status) {
    printf("cannot prepare: %s\n", err.message);
  } else {
    memcpy(j->board->utility, utility, j->board->utility_bytes = n_utility);
    memcpy(j->board->cubin, cubin, j->board->cubin_bytes = n_cubin);
    snprintf(j->board->target, sizeof j->board->target, "%s", part.target);
  }
  base_free(utility);
  base_free(cubin);
  base_free(text);
  return status == ASSAY_OK;
}

static void show_peaks(struct judge *j) {
  struct device_peaks p;
  struct assay_error err = {0};
  int64_t start = clock_monotonic_ns();
  if (peaks_measure(j->compute, &p, &err)) {
    printf("peaks: %s\n", err.message);
    return;
  }
  printf("peaks, measured in %.1f s\n", (double)(clock_monotonic_ns() - start) * 1e-9);
  printf("  copy %.0f  read %.0f  write %.0f GB/s\n", p.copy_bytes_per_s * 1e-9, p.read_bytes_per_s * 1e-9,
         p.write_bytes_per_s * 1e-9);
  printf("  fp32 %.1f  tf32 %.0f  bf16 %.0f  fp16 %.0f  fp64 %.1f TFLOP/s\n", p.fp32_flops * 1e-12,
         p.tf32_flops * 1e-12, p.bf16_flops * 1e-12, p.fp16_flops * 1e-12, p.fp64_flops * 1e-12);
}

static void show_monitor(const char *uuid) {
  struct monitor *m = NULL;
  struct monitor_reading r;
  struct assay_error err = {0};
  char text[160];
  if (monitor_open(&m, &err) || monitor_find(m, uuid, &err)) {
    printf("monitor: %s\n", err.message);
  } else if (!monitor_read(m, &r)) {
    printf("monitor: no reading\n");
  } else {
    monitor_throttle_text(r.throttle, text, sizeof text);
    printf("monitor: SM %u of %u MHz, memory %u MHz, %u C, %.1f W, reasons: %s%s\n", r.sm_clock_mhz, r.max_sm_clock_mhz,
           r.memory_clock_mhz, r.temperature_c, r.power_mw * 1e-3, text, r.slowed ? " (slowed)" : "");
  }
  monitor_close(m);
}

int main(int argc, char **argv) {
  static struct judge j;
  int sockets[MAX_SCENARIOS], n = 0, failures = 0;
  pid_t pids[MAX_SCENARIOS];
  struct assay_error err = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  j.board = mmap(NULL, sizeof *j.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (j.board == MAP_FAILED)
    return 2;
  // All children are there before this process touches CUDA: after that a fork could not use it.
  for (; n < n_scenarios && n < MAX_SCENARIOS; n++) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 || (pids[n] = fork()) < 0)
      return 2;
    if (pids[n] == 0) {
      for (int i = 0; i < n; i++)
        close(sockets[i]);
      close(pair[0]);
      return child(pair[1], j.board, &scenarios[n]);
    }
    close(pair[1]);
    sockets[n] = pair[0];
  }
  struct compute_options o = {.device = 0};
  bool ready = compute_open_cuda(&o, &j.compute, &err) == ASSAY_OK;
  if (!ready)
    printf("no GPU to compute on: %s\n", err.message);
  ready = ready && fill_board(&j);
  for (int i = 0; i < n; i++)
    if (ready && (argc < 2 || strstr(scenarios[i].name, argv[1]))) {
      failures += judge_one(&j, &scenarios[i], sockets[i], pids[i]);
    } else {
      close(sockets[i]);
      waitpid(pids[i], NULL, 0);
    }
  if (ready && (argc < 2 || strcmp(argv[1], "peaks") == 0)) {
    show_monitor(j.board->uuid);
    show_peaks(&j);
    show_monitor(j.board->uuid);
  }
  compute_close(j.compute);
  printf("%s\n", !ready ? "not run" : failures ? "FAILED" : "all ok");
  return !ready ? 2 : failures != 0;
}
