// SPDX-License-Identifier: Apache-2.0
#include "runner/classify.h"

#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Which buffer an address belongs to, its guards included. Returns false for none.
static bool describe_address(uint64_t address, const struct runner_control *hints, const struct buffer_list *buffers,
                             struct runner_report *report) {
  const int n_in = buffers->n_in;
  for (int i = 0; i < n_in + buffers->n_out; i++) {
    const struct buffer *b = &buffers->items[i];
    uint64_t base = hints->base[i], end = base + b->map_bytes;
    if (base == 0 || address + RUNNER_GUARD_BYTES < base || address >= end + RUNNER_GUARD_BYTES)
      continue;
    const char *what = i < n_in ? "input" : "output";
    int number = i < n_in ? i : i - n_in;
    if (address >= base && address < end) {
      report->event = i < n_in ? RUNNER_WROTE_INPUT : RUNNER_CRASHED;
      snprintf(report->detail, sizeof report->detail,
               i < n_in ? "wrote to %s %d at byte %lld; inputs are read-only"
                        : "touched %s %d at byte %lld, which it has unmapped or protected",
               what, number, (long long)(address - base - b->offset));
      return true;
    }
    report->event = RUNNER_OUT_OF_BOUNDS;
    if (address < base)
      snprintf(report->detail, sizeof report->detail, "touched memory %lld bytes before the start of %s %d",
               (long long)(base + b->offset - address), what, number);
    else
      snprintf(report->detail, sizeof report->detail, "touched memory %lld bytes after the end of %s %d",
               (long long)(address - (base + b->offset + b->data_bytes)), what, number);
    return true;
  }
  return false;
}

static void describe_call(const struct runner_control *hints, struct runner_report *report) {
  char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)hints->system_call);
  report->event = RUNNER_FORBIDDEN_CALL;
  if (hints->signal == SIGSYS && name)
    snprintf(report->detail, sizeof report->detail, "called %s; a kernel may use memory, threads and time only", name);
  else
    snprintf(report->detail, sizeof report->detail, "made a forbidden system call");
  free(name);
}

void classify_end(const struct runner_control *hints, const struct sandbox_end *end, const struct buffer_list *buffers,
                  bool late, bool loading, struct runner_report *report) {
  const char *when = loading ? " while being loaded" : "";
  report->signal = end->signal;
  if (late) {
    report->event = RUNNER_TIMED_OUT;
    snprintf(report->detail, sizeof report->detail, "did not %s in time", loading ? "load" : "return");
    return;
  }
  if (end->exited) {
    report->event = RUNNER_EXITED;
    snprintf(report->detail, sizeof report->detail, "the process exited with code %d%s", end->code, when);
    return;
  }
  if (end->signal == SIGSYS) {
    describe_call(hints, report);
    return;
  }
  bool segment = end->signal == SIGSEGV || end->signal == SIGBUS;
  if (segment && hints->signal == end->signal && describe_address(hints->address, hints, buffers, report))
    return;
  if (end->signal == SIGKILL || (hints->memory_exhausted && hints->signal == end->signal)) {
    report->event = RUNNER_OUT_OF_MEMORY;
    snprintf(report->detail, sizeof report->detail, "ended by %s with its memory used up%s",
             sigabbrev_np(end->signal) ? sigabbrev_np(end->signal) : "a signal", when);
    return;
  }
  report->event = RUNNER_CRASHED;
  int n = snprintf(report->detail, sizeof report->detail, "ended by SIG%s%s",
                   sigabbrev_np(end->signal) ? sigabbrev_np(end->signal) : "?", when);
  if (segment && hints->signal == end->signal && n > 0)
    snprintf(report->detail + n, sizeof report->detail - (size_t)n, " at address 0x%llx",
             (unsigned long long)hints->address);
}

void classify_raised(struct runner_report *report) {
  // CUDA's own texts of errors, as PyTorch has them in its exceptions.
  static const struct {
    const char *words;
    enum runner_event event;
  } known[] = {
      {"CUDA error: out of memory", RUNNER_OUT_OF_MEMORY},
      {"CUDA out of memory", RUNNER_OUT_OF_MEMORY},
      {"CUDA error: invalid configuration argument", RUNNER_LAUNCH_FAILED},
      {"CUDA error: too many resources requested", RUNNER_LAUNCH_FAILED},
      {"CUDA error: no kernel image", RUNNER_LAUNCH_FAILED},
      {"CUDA error: an illegal memory access", RUNNER_CRASHED},
      {"CUDA error: misaligned address", RUNNER_CRASHED},
      {"CUDA error: an illegal instruction", RUNNER_CRASHED},
      {"CUDA error: unspecified launch failure", RUNNER_CRASHED},
      {"CUDA error: device-side assert", RUNNER_CRASHED},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(report->detail, known[i].words)) {
      report->event = known[i].event;
      return;
    }
}

uint64_t classify_digest(const struct buffer *b) {
  const unsigned char *p = b->map + b->offset;
  uint64_t hash = 0xCBF29CE484222325u, word;
  size_t i = 0;
  for (; i + sizeof word <= b->data_bytes; i += sizeof word) {
    memcpy(&word, p + i, sizeof word);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  for (; i < b->data_bytes; i++)
    hash = (hash ^ p[i]) * 0x100000001B3u;
  return hash;
}
