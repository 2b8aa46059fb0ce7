// SPDX-License-Identifier: Apache-2.0
#include "judge/machine.h"

#include <cblas.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/parallel.h"

enum { PROBE_STEPS = 4000, READ_ROUNDS = 4, GEMM_SIDE = 1024, GEMM_ROUNDS = 4 };
#define READ_BYTES ((int64_t)512 << 20)

int64_t machine_clock_probe_ns(void) {
  // A chain in which every step needs the one before: it takes a fixed number of clock cycles, whatever else the
  // processor could do at the same time.
  int64_t start = clock_monotonic_ns();
  uint64_t x = (uint64_t)start;
  for (int i = 0; i < PROBE_STEPS; i++)
    x = x * 6364136223846793005u + 1442695040888963407u;
  __asm__ volatile("" : : "r"(x));
  return clock_monotonic_ns() - start;
}

void machine_processor(char *model, size_t size) {
  FILE *f = fopen("/proc/cpuinfo", "re");
  char line[512];
  snprintf(model, size, "unknown processor");
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon)
      continue;
    line[strcspn(line, "\n")] = '\0';
    snprintf(model, size, "%s", colon + 2);
    break;
  }
  if (f)
    fclose(f);
}

static char *described(int processors) {
  char model[256];
  struct utsname u;
  memset(&u, 0, sizeof u);
  uname(&u);
  machine_processor(model, sizeof model);
  double gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30);
  json_t *j =
      json_pack("{s:s, s:s, s:i, s:f, s:s, s:s}", "processor", model, "architecture", u.machine, "logical_processors",
                processors, "memory_gib", (double)(int64_t)(gib * 10) / 10, "system", u.sysname, "kernel", u.release);
  char *text = j ? json_dumps(j, JSON_SORT_KEYS) : NULL;
  json_decref(j);
  return text;
}

char *machine_json(void) {
  return described(parallel_cpus());
}

// Adds the model that a file of the driver's names, unless it is there.
static void add_model(const char *path, struct buf *all) {
  FILE *f = fopen(path, "re");
  char line[512];
  while (f && fgets(line, sizeof line, f)) {
    if (strncmp(line, "Model:", 6) != 0)
      continue;
    line[strcspn(line, "\n")] = '\0';
    char *model = line + 6 + strspn(line + 6, " \t");
    bool known = false;
    for (const char *at = buf_str(all); *at && !known; at += strcspn(at, "\n") + 1)
      known = strncmp(at, model, strlen(model)) == 0 && at[strlen(model)] == '\n';
    if (!known)
      buf_printf(all, "%s\n", model);
    break;
  }
  if (f)
    fclose(f);
}

char *machine_gpus(const char *proc) {
  char pattern[4096];
  struct buf all;
  glob_t files = {0};
  buf_init(&all);
  snprintf(pattern, sizeof pattern, "%s/driver/nvidia/gpus/*/information", proc && proc[0] ? proc : "/proc");
  if (glob(pattern, 0, NULL, &files) == 0)
    for (size_t i = 0; i < files.gl_pathc; i++)
      add_model(files.gl_pathv[i], &all);
  globfree(&files);
  char *text = all.failed ? NULL : base_strndup(buf_str(&all), all.len);
  buf_release(&all);
  return text;
}

char *machine_identity(bool whole) {
  char *json = whole ? described((int)sysconf(_SC_NPROCESSORS_CONF)) : machine_json();
  char hex[HASH_HEX_BYTES];
  if (!json)
    return NULL;
  hash_sha256_hex(json, strlen(json), hex);
  base_free(json);
  return base_strndup(hex, 16);
}

struct reading {
  const uint64_t *words;
  _Atomic uint64_t sum;
};

static void read_range(void *arg, int64_t begin, int64_t end) {
  struct reading *r = arg;
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (int64_t i = begin; i + 4 <= end; i += 4) {
    a += r->words[i];
    b += r->words[i + 1];
    c += r->words[i + 2];
    d += r->words[i + 3];
  }
  r->sum += a + b + c + d;
}

// The best of several rounds: the floor is what the hardware can do, not what it does on average.
static double measure_read(int threads, uint64_t *words) {
  struct reading r = {.words = words};
  int64_t n = READ_BYTES / (int64_t)sizeof *words, best = INT64_MAX;
  for (int round = 0; round < READ_ROUNDS; round++) {
    int64_t start = clock_monotonic_ns();
    parallel_for(threads, n, 1 << 16, read_range, &r);
    int64_t ns = clock_monotonic_ns() - start;
    best = ns < best ? ns : best;
  }
  return (double)READ_BYTES * 1e9 / (double)best;
}

static double measure_gemm(float *m) {
  const int n = GEMM_SIDE;
  float *a = m, *b = m + (int64_t)n * n, *c = m + 2 * (int64_t)n * n;
  int64_t best = INT64_MAX;
  for (int round = 0; round < GEMM_ROUNDS; round++) {
    int64_t start = clock_monotonic_ns();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
    int64_t ns = clock_monotonic_ns() - start;
    best = ns < best ? ns : best;
  }
  return 2.0 * n * n * n * 1e9 / (double)best;
}

enum assay_status machine_measure(int threads, struct machine_peaks *out, struct assay_error *err) {
  float *m = base_alloc((size_t)READ_BYTES);
  if (!m)
    return error_nomem(err, "the buffer that measures memory bandwidth");
  for (int64_t i = 0; i < READ_BYTES / (int64_t)sizeof *m; i++)
    m[i] = (float)(i % 7) - 3;
  openblas_set_num_threads(threads);
  out->read_bytes_per_s = measure_read(threads, (uint64_t *)m);
  out->flops_per_s = measure_gemm(m);
  base_free(m);
  return ASSAY_OK;
}
