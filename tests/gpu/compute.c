// SPDX-License-Identifier: Apache-2.0
// gpu_compute [GPU [LIBNVRTC]]: what a machine with a GPU can say about compute/compute.h. Runs the checks that every
// backend must pass, shares memory with another process, and times the first and the further calls. Exit 0: no
// fault.
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "compute_selftest.h"
#include "compute/cuda_driver.h"
#include "sandbox/sandbox.h"

enum { PATTERN = 0x1234abcd, ANSWER = 0x77665544 };

static int failures;

static void report(const char *name, const char *wrong) {
  printf("%-32s %s\n", name, wrong ? wrong : "ok");
  failures += wrong != NULL;
}

static double ms_since(int64_t start_ns) {
  return (double)(clock_monotonic_ns() - start_ns) / 1e6;
}

// ---- the other process: owns an allocation that it exports

static int send_fd(int socket, int fd, size_t bytes) {
  char control[CMSG_SPACE(sizeof fd)] = {0};
  struct iovec io = {&bytes, sizeof bytes};
  struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(c), &fd, sizeof fd);
  return sendmsg(socket, &m, 0) == (ssize_t)sizeof bytes ? 0 : -1;
}

static int receive_fd(int socket, int *fd, size_t *bytes) {
  char control[CMSG_SPACE(sizeof *fd)] = {0};
  struct iovec io = {bytes, sizeof *bytes};
  struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  if (recvmsg(socket, &m, 0) != (ssize_t)sizeof *bytes || !CMSG_FIRSTHDR(&m))
    return -1;
  memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof *fd);
  return 0;
}

#define MUST(d, call)                                                                                                  \
  do {                                                                                                                 \
    char text_[CUDA_RESULT_TEXT_BYTES];                                                                                \
    enum cu_result result_ = (call);                                                                                   \
    if (result_ != CUDA_SUCCESS) {                                                                                     \
      fprintf(stderr, "the other process: %s: %s\n", #call, cuda_result_text(d, result_, text_));                      \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

static int other_process(int socket, int gpu) {
  const struct cuda_driver *d;
  struct assay_error err = {0};
  CUdevice device;
  CUcontext context;
  uint64_t handle, address;
  size_t granularity;
  int fd;
  uint32_t word = 0;
  if (cuda_driver_open(&d, &err) != ASSAY_OK) {
    fprintf(stderr, "the other process: %s\n", err.message);
    return 1;
  }
  MUST(d, d->cuDeviceGet(&device, gpu));
  MUST(d, d->cuCtxCreate(&context, CU_CTX_SCHED_AUTO, device));
  struct cu_mem_allocation_prop prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .requested_handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                        .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
  struct cu_mem_access_desc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  MUST(d, d->cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  MUST(d, d->cuMemCreate(&handle, granularity, &prop, 0));
  MUST(d, d->cuMemAddressReserve(&address, granularity, 0, 0, 0));
  MUST(d, d->cuMemMap(address, granularity, 0, handle, 0));
  MUST(d, d->cuMemSetAccess(address, granularity, &access, 1));
  MUST(d, d->cuMemsetD32Async(address, PATTERN, granularity / 4, NULL));
  MUST(d, d->cuCtxSynchronize());
  MUST(d, d->cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  char done;
  if (send_fd(socket, fd, granularity) != 0 || read(socket, &done, 1) != 1)
    return 1;
  MUST(d, d->cuMemcpyDtoHAsync(&word, address + granularity - 4, sizeof word, NULL));
  MUST(d, d->cuCtxSynchronize());
  return word == ANSWER ? 0 : 1;
}

static const char *check_sharing(struct selftest *t, int socket, pid_t child) {
  int fd, ended;
  size_t bytes;
  device_ptr p;
  if (receive_fd(socket, &fd, &bytes) != 0)
    return "the other process sent no memory";
  SELFTEST_TRY(t, compute_map(t->compute, fd, bytes, &p, &t->err));
  close(fd);
  uint32_t *words = malloc(bytes);
  SELFTEST_TRY(t, compute_download(t->compute, words, p, bytes, &t->err));
  const char *wrong = NULL;
  for (size_t i = 0; i < bytes / 4 && !wrong; i++)
    if (words[i] != PATTERN)
      wrong = "the other process's memory reads wrong";
  free(words);
  SELFTEST_TRY(t, compute_set32(t->compute, p, ANSWER, bytes / 4, &t->err));
  SELFTEST_TRY(t, compute_sync(t->compute, &t->err));
  if (write(socket, "x", 1) != 1 || waitpid(child, &ended, 0) != child || !WIFEXITED(ended) || WEXITSTATUS(ended) != 0)
    wrong = wrong ? wrong : "the other process does not see what was written";
  compute_unmap(t->compute, p, bytes);
  return wrong;
}

// ---- times

static const char *time_calls(struct selftest *t) {
  enum { ROUNDS = 2000 };
  struct {
    uint64_t x, y;
    double factor, offset;
    int64_t n;
  } args = {.n = 1};
  device_ptr p;
  SELFTEST_TRY(t, compute_alloc(t->compute, 4096, &args.x, &t->err));
  SELFTEST_TRY(t, compute_alloc(t->compute, 4096, &args.y, &t->err));
  int64_t start = clock_monotonic_ns();
  for (int i = 0; i < ROUNDS; i++) {
    SELFTEST_TRY(t, compute_alloc(t->compute, 64 << 20, &p, &t->err));
    compute_free(t->compute, p);
  }
  printf("  %.2f us an allocation of kept memory\n", ms_since(start) * 1e3 / ROUNDS);
  start = clock_monotonic_ns();
  for (int i = 0; i < 20; i++) {
    SELFTEST_TRY(t, compute_alloc(t->compute, 64 << 20, &p, &t->err));
    compute_free(t->compute, p);
    compute_trim(t->compute);
  }
  printf("  %.2f us an allocation of fresh memory (64 MiB)\n", ms_since(start) * 1e3 / 20);
  start = clock_monotonic_ns();
  for (int i = 0; i < ROUNDS; i++)
    SELFTEST_TRY(t, compute_launch(t->compute, &selftest_code, "scale", 1, &args, sizeof args, &t->err));
  SELFTEST_TRY(t, compute_sync(t->compute, &t->err));
  printf("  %.2f us a launch in a row\n", ms_since(start) * 1e3 / ROUNDS);
  start = clock_monotonic_ns();
  for (int i = 0; i < ROUNDS; i++) {
    SELFTEST_TRY(t, compute_launch(t->compute, &selftest_code, "scale", 1, &args, sizeof args, &t->err));
    SELFTEST_TRY(t, compute_sync(t->compute, &t->err));
  }
  printf("  %.2f us a launch with its wait\n", ms_since(start) * 1e3 / ROUNDS);
  compute_free(t->compute, args.x);
  compute_free(t->compute, args.y);
  return NULL;
}

// ---- what must be said

static const char *check_messages(struct selftest *t) {
  static const char *const texts[] = {"KERNEL(wrong, struct nothing) { this is no C }\n", NULL};
  static const struct device_code wrong = {"wrong-code", texts, false};
  if (compute_prepare(t->compute, &wrong, &t->err) != ASSAY_ERR_ENVIRONMENT || !strstr(t->err.message, "wrong-code"))
    return "device code that is not C is not refused by its name";
  char args[8] = {0};
  if (t->compute && compute_launch(t->compute, &selftest_code, "scale", 1, args, sizeof args, &t->err) == ASSAY_OK)
    return "an argument of the wrong size is taken (the driver is older than cuFuncGetParamInfo?)";
  return NULL;
}

// Last, for the context is gone afterwards: a kernel that writes nowhere.
static const char *check_fault(struct selftest *t) {
  struct {
    uint64_t x, y;
    double factor, offset;
    int64_t n;
  } args = {.x = 0x10000, .y = 0x10000, .n = 32};
  SELFTEST_TRY(t, compute_launch(t->compute, &selftest_code, "scale", 32, &args, sizeof args, &t->err));
  if (compute_sync(t->compute, &t->err) != ASSAY_ERR_ENVIRONMENT || !strstr(t->err.message, "ILLEGAL_ADDRESS"))
    return "a fault on the GPU is not reported";
  return NULL;
}

static struct compute *open_timed(const struct compute_options *o, const char *what) {
  struct compute *c = NULL;
  struct assay_error err = {0};
  int64_t start = clock_monotonic_ns();
  if (compute_open_cuda(o, &c, &err) != ASSAY_OK) {
    report("open", err.message);
    return NULL;
  }
  printf("  %.1f ms to open\n", ms_since(start));
  start = clock_monotonic_ns();
  if (compute_prepare(c, &selftest_code, &err) != ASSAY_OK)
    report("compile", err.message);
  printf("  %.1f ms to load a program, %s\n", ms_since(start), what);
  return c;
}

// Some drivers open again in the same process, others refuse for good: then the message says what to do.
static const char *check_after_fault(const struct compute_options *o) {
  struct selftest t = {0};
  struct assay_error err = {0};
  if (compute_open_cuda(o, &t.compute, &err) != ASSAY_OK)
    return strstr(err.message, "start it again") ? NULL : "it does not open again, and does not say what to do";
  const char *wrong = selftest_scale(&t);
  compute_close(t.compute);
  return wrong;
}

int main(int argc, char **argv) {
  int sockets[2], gpu = argc > 1 ? atoi(argv[1]) : 0;
  char *folder;
  struct assay_error err = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  // Before this process has anything to do with CUDA.
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
    return 1;
  pid_t child = fork();
  if (child == 0) {
    close(sockets[0]);
    _exit(other_process(sockets[1], gpu));
  }
  close(sockets[1]);
  if (sandbox_folder_make("/tmp", &folder, &err) != ASSAY_OK)
    return 1;
  struct compute_options o = {.device = gpu, .cache_folder = folder, .nvrtc = argc > 2 ? argv[2] : NULL};
  struct selftest t = {.compute = open_timed(&o, "compiled")};
  if (t.compute) {
    for (int i = 0; i < SELFTEST_CHECKS; i++)
      report(selftest_checks[i].name, selftest_checks[i].run(&t));
    report("sharing memory", check_sharing(&t, sockets[0], child));
    report("messages", check_messages(&t));
    report("times", time_calls(&t));
    compute_close(t.compute);
    t.compute = open_timed(&o, "from the cache");
  }
  if (t.compute) {
    report("from the cache", selftest_scale(&t));
    report("fault", check_fault(&t));
    compute_close(t.compute);
    t.compute = NULL;
    report("after a fault", check_after_fault(&o));
  }
  compute_close(t.compute);
  sandbox_folder_remove(folder);
  base_free(folder);
  puts(failures ? "FAILED" : "ok");
  return failures != 0;
}
