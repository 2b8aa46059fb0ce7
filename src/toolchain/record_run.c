// SPDX-License-Identifier: Apache-2.0
// Running the recorder, and what its end means.
#include "toolchain/record_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "toolchain/cc.h"
#include "toolchain/record/read.h"

enum { LOG_TEXT_BYTES = 16 << 10, THREADS = 16, LOADER_GAVE_UP = 127 };

// An anonymous file of that size with the bytes at its beginning, sealed: whoever has it cannot make it shorter under
// those who have it mapped.
static int make_file(const char *name, const void *bytes, size_t n, uint64_t size, int seals) {
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return -1;
  bool ok = ftruncate(fd, (off_t)size) == 0;
  for (size_t done = 0; ok && done < n;) {
    ssize_t put = write(fd, (const char *)bytes + done, n - done);
    ok = put > 0 || (put < 0 && errno == EINTR);
    done += put > 0 ? (size_t)put : 0;
  }
  if (ok && fcntl(fd, F_ADD_SEALS, seals) == 0)
    return fd;
  int e = errno;
  close(fd);
  errno = e;
  return -1;
}

enum assay_status record_make_files(const struct record_request *request, size_t bytes, int fds[2],
                                    struct assay_error *err) {
  const int fixed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  fds[0] = make_file("assay-request", request, bytes, bytes, fixed | F_SEAL_WRITE);
  fds[1] = make_file("assay-log", NULL, 0, RECORD_LOG_BYTES, fixed);
  if (fds[0] >= 0 && fds[1] >= 0)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot make the recorder's files: %s", strerror(errno));
}

// What the recorder left, copied where a text may be anything.
struct findings {
  const struct record_request *request;
  int log_fd;
  struct record_header head;
  struct sandbox_end end;
  const struct buf *log; // cleaned
};

// The recorder's message, as text of one line.
static void clean_message(struct findings *f, const char *folder) {
  struct buf raw, clean;
  buf_init(&raw);
  buf_init(&clean);
  buf_append(&raw, f->head.message, strnlen(f->head.message, sizeof f->head.message - 1));
  diagnostics_clean(&raw, folder, NULL, &clean);
  memset(f->head.message, 0, sizeof f->head.message);
  for (size_t i = 0; i < clean.len && i < sizeof f->head.message - 1; i++)
    f->head.message[i] = clean.data[i] == '\n' ? ' ' : clean.data[i];
  buf_release(&raw);
  buf_release(&clean);
}

// The name after "undefined symbol: " in a text, into `out`; false when it is not there.
static bool missing_symbol(const char *text, char *out, size_t size) {
  static const char phrase[] = "undefined symbol: ";
  const char *p = strstr(text, phrase);
  if (!p)
    return false;
  p += sizeof phrase - 1;
  size_t n = strcspn(p, " ,\n\t");
  n = n < size ? n : size - 1;
  memcpy(out, p, n);
  out[n] = '\0';
  return n > 0;
}

static void refuse_symbol(struct plan_report *report, const char *name) {
  plan_report_refuse(report, PLAN_REFUSED,
                     "%s cannot be recorded: it is neither in this file nor in CUDA's runtime, and other libraries "
                     "(cuBLAS, cuDNN, ...) are not linked: write the kernel in this file instead",
                     name);
}

static void report_signal(const struct findings *f, int number, struct plan_report *report) {
  char where[96];
  if ((number == SIGSEGV || number == SIGBUS) && f->head.signal == number &&
      record_describe_address(f->request, f->head.address, where, sizeof where)) {
    plan_report_refuse(report, PLAN_REFUSED,
                       "host code %s device memory (%s): decisions on data belong in kernels, initial values too",
                       f->head.writing ? "wrote" : "read", where);
  } else if (number == SIGXCPU || number == SIGKILL) {
    plan_report_refuse(report, PLAN_HOST_TIMED_OUT, "host code used up its time or memory");
  } else if (number == SIGSYS) {
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)f->head.system_call);
    plan_report_refuse(report, PLAN_HOST_CRASHED,
                       "host code made the system call %s, which ends it: it has no files, processes or network",
                       name ? name : "?");
    free(name);
  } else {
    plan_report_refuse(report, PLAN_HOST_CRASHED, "host code was ended by signal %d (%s)%s", number, strsignal(number),
                       f->head.stage == RECORD_LOADING ? " while the library was loaded" : "");
  }
}

// Says why there is nothing to read, and returns false; true when there is.
static bool returned(const struct record_options *o, const struct findings *f, struct plan_report *report) {
  char symbol[200];
  const struct record_header *h = &f->head;
  if (f->end.deadline)
    plan_report_refuse(report, PLAN_HOST_TIMED_OUT, "host code was still running after %.1f s",
                       (double)o->timeout_ns * 1e-9);
  else if (!f->end.exited)
    report_signal(f, f->end.signal, report);
  else if (f->end.code == LOADER_GAVE_UP && missing_symbol(buf_str(f->log), symbol, sizeof symbol))
    refuse_symbol(report, symbol);
  else if (h->stage == RECORD_NOT_LOADED && missing_symbol(h->message, symbol, sizeof symbol))
    refuse_symbol(report, symbol);
  else if (h->stage == RECORD_REFUSED)
    plan_report_refuse(report, PLAN_REFUSED, "%s", h->message);
  else if (h->stage == RECORD_NOT_LOADED)
    plan_report_refuse(report, PLAN_REFUSED, "the library cannot be used: %s", h->message);
  else if (h->stage != RECORD_RETURNED)
    plan_report_refuse(report, PLAN_HOST_CRASHED, "host code ended the process (exit code %d) instead of returning",
                       f->end.code);
  else
    return true;
  return false;
}

static enum assay_status spawn_and_wait(const struct record_options *o, int request_fd, int log_fd, struct buf *text,
                                        struct sandbox_end *end, struct assay_error *err) {
  char *const argv[] = {(char *)o->recorder, (char *)o->library, (char *)build_id, NULL};
  char *const envp[] = {"LC_ALL=C", NULL};
  const struct sandbox_policy policy = {
      .role = SANDBOX_RUNNER,
      .folder = o->folder,
      .cpu_seconds = o->timeout_ns / 1000000000 + 1,
      .memory_bytes = o->memory_bytes ? o->memory_bytes + RECORD_LOG_BYTES : 0,
      .file_bytes = 1,
      .processes = THREADS,
  };
  struct sandbox_child child;
  const int fds[] = {request_fd, log_fd};
  int64_t deadline_ns = clock_monotonic_ns() + o->timeout_ns;
  enum assay_status status = sandbox_spawn(&policy, argv, envp, fds, 2, &child, err);
  if (status == ASSAY_OK)
    status = sandbox_wait(&child, deadline_ns, text, LOG_TEXT_BYTES, end, err);
  return status;
}

// The recorder is gone and nobody else has the file: what is mapped stays as it is.
static enum assay_status read_log(const struct record_options *o, const struct plan_subject *subject,
                                  struct findings *f, struct plan *out, struct plan_report *report,
                                  struct assay_error *err) {
  const struct record_context context = {.reading = RECORD_ALONE,
                                         .request = f->request,
                                         .subject = subject,
                                         .target = o->target,
                                         .toolchain = o->toolchain,
                                         .source_name = o->source_name};
  enum assay_status status = ASSAY_OK;
  void *log = mmap(NULL, RECORD_LOG_BYTES, PROT_READ, MAP_SHARED, f->log_fd, 0);
  if (log == MAP_FAILED)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "cannot map the recording: %s", strerror(errno));
  memcpy(&f->head, log, sizeof f->head);
  clean_message(f, o->folder);
  if (returned(o, f, report))
    status = record_read(log, RECORD_LOG_BYTES, &context, out, report, err);
  munmap(log, RECORD_LOG_BYTES);
  return status;
}

enum assay_status record_run(const struct record_options *o, const struct plan_subject *subject, struct plan *out,
                             struct plan_report *report, struct assay_error *err) {
  struct arena arena = {0};
  struct record_device device;
  struct record_request *request = NULL;
  struct buf text, clean;
  struct findings f = {.log = &clean};
  size_t bytes = 0;
  int fds[2] = {-1, -1};
  buf_init(&text);
  buf_init(&clean);
  enum assay_status status = record_device_of_target(o->target, &device, err);
  if (status == ASSAY_OK)
    status = record_request_make(subject, &device, &arena, &request, &bytes, err);
  if (status != ASSAY_OK)
    goto out;
  status = record_make_files(request, bytes, fds, err);
  if (status == ASSAY_OK)
    status = spawn_and_wait(o, fds[0], fds[1], &text, &f.end, err);
  if (status != ASSAY_OK)
    goto out;
  if (text.len < strlen(RECORD_READY) || memcmp(text.data, RECORD_READY, strlen(RECORD_READY)) != 0) {
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s did not start: %.200s", o->recorder, buf_str(&text));
    goto out;
  }
  memmove(text.data, text.data + strlen(RECORD_READY), text.len - strlen(RECORD_READY) + 1);
  text.len -= strlen(RECORD_READY);
  diagnostics_clean(&text, o->folder, NULL, &clean);
  f.request = request;
  f.log_fd = fds[1];
  status = read_log(o, subject, &f, out, report, err);
  if (status == ASSAY_OK && clean.len > 0 && !(report->log = base_strndup(buf_str(&clean), clean.len)))
    status = error_nomem(err, "what host code printed");
out:
  for (int i = 0; i < 2; i++)
    if (fds[i] >= 0)
      close(fds[i]);
  buf_release(&text);
  buf_release(&clean);
  arena_release(&arena);
  return status;
}
