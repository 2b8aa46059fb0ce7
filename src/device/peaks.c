// SPDX-License-Identifier: Apache-2.0
// The machine's floor, measured: the best of many short rounds, since what a kernel of a candidate may reach is what
// the machine does at its best, before heat and power slow it down.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compute/cuda.h"
#include "device/monitor.h"

extern const char code_peaks[], code_peaks_matrix[];

enum {
  PIECE_BYTES = 16,
  PIECES = 8, // of each thread, as in peaks.cu
  MATRIX_THREADS = 128,
  MATRIX_SHARED = 64 * 128 + 2 * 256 * 128, // of the Hopper form, as in peaks_matrix.cu
};

struct bench {
  struct compute *compute;
  struct compute_cuda_part part;
  const struct cuda_driver *cu;
  CUevent start, end;
  CUmodule simple, matrix;
  device_ptr sink;
  int processors;
};

// One kernel as it is launched; `work` (operations or bytes) is that of one launch.
struct load {
  CUfunction kernel;
  unsigned int blocks, threads, shared;
  void **params;
  double work;
};

static enum assay_status launch(struct bench *b, const struct load *l, int times, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; !status && i < times; i++)
    status = cuda_check(
        b->cu,
        b->cu->cuLaunchKernel(l->kernel, l->blocks, 1, 1, l->threads, 1, 1, l->shared, b->part.stream, l->params, NULL),
        "launch a measuring kernel", err);
  return status;
}

// Seconds of `times` launches, back to back.
static enum assay_status seconds(struct bench *b, const struct load *l, int times, double *out,
                                 struct assay_error *err) {
  float ms = 0;
  enum assay_status status = cuda_check(b->cu, b->cu->cuEventRecord(b->start, b->part.stream), "record an event", err);
  if (!status)
    status = launch(b, l, times, err);
  if (!status)
    status = cuda_check(b->cu, b->cu->cuEventRecord(b->end, b->part.stream), "record an event", err);
  if (!status)
    status = cuda_check(b->cu, b->cu->cuEventSynchronize(b->end), "run a measuring kernel", err);
  if (!status)
    status = cuda_check(b->cu, b->cu->cuEventElapsedTime(&ms, b->start, b->end), "read the time", err);
  *out = (double)ms * 1e-3;
  return status;
}

// The best rate of rounds of about these lengths; short rounds see the highest clock, long ones a steady machine.
static enum assay_status best_rate(struct bench *b, const struct load *l, double *best, struct assay_error *err) {
  static const double rounds_s[] = {0.002, 0.002, 0.005, 0.005, 0.02, 0.02, 0.002, 0.002};
  double s = 0;
  enum assay_status status = seconds(b, l, 1, &s, err); // warm: code is loaded, clocks begin to rise
  if (!status)
    status = seconds(b, l, 1, &s, err);
  for (size_t i = 0; !status && i < sizeof rounds_s / sizeof *rounds_s; i++) {
    double one = s > 1e-6 ? s : 1e-6;
    int times = (int)(rounds_s[i] / one + 0.5);
    if (times < 1)
      times = 1;
    status = seconds(b, l, times, &s, err);
    s /= times;
    if (!status && s > 0 && l->work / s > *best)
      *best = l->work / s;
  }
  return status;
}

static enum assay_status find(struct bench *b, CUmodule module, const char *name, CUfunction *out,
                              struct assay_error *err) {
  enum assay_status status =
      cuda_check(b->cu, b->cu->cuModuleGetFunction(out, module, name), "find a measuring kernel", err);
  return status ? error_prefix(err, status, "%s: ", name) : ASSAY_OK;
}

// ---- memory

// A kernel over `bytes` at `to` (and as many at `from`), which moves `moved` bytes.
struct pass {
  const char *name;
  device_ptr to, from;
  size_t bytes;
  double moved;
};

// The best rate of a pass; which block size suits a memory differs.
static enum assay_status memory_rate(struct bench *b, struct pass p, double *best, struct assay_error *err) {
  static const unsigned int threads[] = {128, 256, 512};
  void *params[] = {&p.to, &p.from};
  CUfunction kernel;
  enum assay_status status = find(b, b->simple, p.name, &kernel, err);
  for (size_t i = 0; !status && i < sizeof threads / sizeof *threads; i++) {
    struct load l = {.kernel = kernel, .threads = threads[i], .params = params, .work = p.moved};
    l.blocks = (unsigned int)(p.bytes / ((size_t)threads[i] * PIECES * PIECE_BYTES));
    status = best_rate(b, &l, best, err);
  }
  return status;
}

// Two buffers, large compared with the cache: what it still holds of the last pass would make the memory look faster.
static enum assay_status two_buffers(struct bench *b, device_ptr p[2], size_t *bytes, struct assay_error *err) {
  struct compute_memory memory;
  compute_memory(b->compute, &memory);
  size_t n = (size_t)2 << 30;
  while (n > (size_t)64 << 20 && n > memory.available / 3)
    n /= 2;
  enum assay_status status = compute_alloc(b->compute, 2 * n, &p[0], err);
  p[1] = status ? 0 : p[0] + n;
  *bytes = n;
  return status;
}

static enum assay_status memory(struct bench *b, struct device_peaks *out, struct assay_error *err) {
  device_ptr p[2] = {0};
  size_t n = 0;
  enum assay_status status = two_buffers(b, p, &n, err);
  const double moved = 2.0 * (double)n;
  if (!status)
    status = compute_set32(b->compute, p[0], 0x3f8ccccdu, 2 * n / sizeof(uint32_t), err);
  if (!status)
    status = memory_rate(b, (struct pass){"peak_copy", p[1], p[0], n, moved}, &out->copy_bytes_per_s, err);
  if (!status)
    status = memory_rate(b, (struct pass){"peak_copy_streaming", p[1], p[0], n, moved}, &out->copy_bytes_per_s, err);
  if (!status)
    status = memory_rate(b, (struct pass){"peak_read", b->sink, p[0], 2 * n, moved}, &out->read_bytes_per_s, err);
  if (!status)
    status = memory_rate(b, (struct pass){"peak_write", p[0], p[0], 2 * n, moved}, &out->write_bytes_per_s, err);
  compute_free(b->compute, p[0]);
  compute_trim(b->compute); // gigabytes that nobody asks for again
  return status;
}

// ---- arithmetic

// A kernel's launch, and the operations of one block in one iteration.
struct sums {
  CUmodule module;
  const char *name;
  unsigned int threads, shared;
  double block_operations;
};

static enum assay_status arithmetic_rate(struct bench *b, struct sums k, double *best, struct assay_error *err) {
  int per_processor = 0, iterations = 64;
  double s = 0;
  void *params[] = {&iterations, &b->sink};
  struct load l = {.threads = k.threads, .shared = k.shared, .params = params};
  enum assay_status status = find(b, k.module, k.name, &l.kernel, err);
  if (!status && k.shared)
    status = cuda_check(
        b->cu, b->cu->cuFuncSetAttribute(l.kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)k.shared),
        "give a measuring kernel its memory", err);
  if (!status)
    status = cuda_check(
        b->cu, b->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, l.kernel, (int)k.threads, k.shared),
        "ask for a kernel's occupancy", err);
  l.blocks = (unsigned int)(b->processors * per_processor);
  // Iterations for about a millisecond, so that a kernel's start and end do not count.
  for (int i = 0; !status && i < 3; i++) {
    status = seconds(b, &l, 1, &s, err);
    double wanted = iterations * 1e-3 / (s > 1e-6 ? s : 1e-6);
    iterations = wanted < 16 ? 16 : wanted > 1e6 ? 1000000 : (int)wanted;
  }
  l.work = k.block_operations * l.blocks * iterations;
  return status ? status : best_rate(b, &l, best, err);
}

static enum assay_status single_threads(struct bench *b, bool has_matrix, struct device_peaks *out,
                                        struct assay_error *err) {
  enum { THREADS = 256 };
  enum assay_status status =
      arithmetic_rate(b, (struct sums){b->simple, "peak_fp32", THREADS, 0, 512.0 * THREADS}, &out->fp32_flops, err);
  if (!status)
    status =
        arithmetic_rate(b, (struct sums){b->simple, "peak_fp64", THREADS, 0, 512.0 * THREADS}, &out->fp64_flops, err);
  if (!status && has_matrix)
    status = arithmetic_rate(b, (struct sums){b->simple, "peak_fp64_matrix", THREADS, 0, 131072.0 * (THREADS / 32.0)},
                             &out->fp64_flops, err);
  return status;
}

static enum assay_status matrices(struct bench *b, bool hopper, struct device_peaks *out, struct assay_error *err) {
  const double operations = 2.0 * 4194304.0;
  unsigned int shared = hopper ? MATRIX_SHARED : 0;
  enum assay_status status = arithmetic_rate(
      b, (struct sums){b->matrix, "peak_bf16", MATRIX_THREADS, shared, operations}, &out->bf16_flops, err);
  if (!status)
    status = arithmetic_rate(b, (struct sums){b->matrix, "peak_fp16", MATRIX_THREADS, shared, operations},
                             &out->fp16_flops, err);
  if (!status)
    status = arithmetic_rate(b, (struct sums){b->matrix, "peak_tf32", MATRIX_THREADS, shared, operations / 2},
                             &out->tf32_flops, err);
  return status;
}

// ---- all of it

static enum assay_status load(struct bench *b, const char *name, const char *text, CUmodule *out,
                              struct assay_error *err) {
  void *cubin = NULL;
  size_t bytes = 0;
  enum assay_status status = compute_cuda_compile(b->compute, name, text, &cubin, &bytes, err);
  if (!status)
    status = cuda_check(b->cu, b->cu->cuModuleLoadDataEx(out, cubin, 0, NULL, NULL), "load measuring kernels", err);
  base_free(cubin);
  return status;
}

static enum assay_status set_up(struct bench *b, struct assay_error *err) {
  enum assay_status status = compute_cuda_part(b->compute, &b->part, err);
  if (status)
    return status;
  b->cu = b->part.driver;
  status = cuda_check(
      b->cu, b->cu->cuDeviceGetAttribute(&b->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, b->part.device),
      "count the processors", err);
  if (!status)
    status = cuda_check(b->cu, b->cu->cuEventCreate(&b->start, 0), "make an event", err);
  if (!status)
    status = cuda_check(b->cu, b->cu->cuEventCreate(&b->end, 0), "make an event", err);
  if (!status)
    status = compute_alloc(b->compute, 256, &b->sink, err);
  return status ? status : load(b, "peaks.cu", code_peaks, &b->simple, err);
}

static void take_down(struct bench *b) {
  if (!b->cu)
    return;
  compute_sync(b->compute, NULL);
  if (b->matrix)
    b->cu->cuModuleUnload(b->matrix);
  if (b->simple)
    b->cu->cuModuleUnload(b->simple);
  if (b->end)
    b->cu->cuEventDestroy(b->end);
  if (b->start)
    b->cu->cuEventDestroy(b->start);
  compute_free(b->compute, b->sink);
}

// Which tensor cores our matrix kernels can drive: Hopper's by its own instructions, those before it and the small
// Blackwells by the instructions of single warps. The large Blackwells need other instructions again. Their values stay
// 0, since with a floor that is too slow honest kernels would look like cheats.
static bool can_multiply(int architecture) {
  return (architecture >= 80 && architecture <= 90) || architecture >= 120;
}

enum assay_status peaks_measure(struct compute *c, struct device_peaks *out, struct assay_error *err) {
  struct bench b = {.compute = c};
  struct device_peaks peaks = {0};
  int architecture = 0;
  enum assay_status status = set_up(&b, err);
  if (!status && sscanf(b.part.target, "sm_%d", &architecture) != 1)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "unknown kind of GPU: %s", b.part.target);
  if (!status)
    status = memory(&b, &peaks, err);
  if (!status)
    status = single_threads(&b, architecture == 80 || architecture == 90, &peaks, err);
  if (!status && can_multiply(architecture))
    status = load(&b, "peaks_matrix.cu", code_peaks_matrix, &b.matrix, err);
  if (!status && can_multiply(architecture))
    status = matrices(&b, strcmp(b.part.target, "sm_90a") == 0, &peaks, err);
  take_down(&b);
  if (!status)
    *out = peaks;
  return status;
}
