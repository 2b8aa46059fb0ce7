// SPDX-License-Identifier: Apache-2.0
// The usual way to time a kernel, to compare with: bench_plain_loop LIBRARY ROWS COLUMNS [CALLS]
//
// Loads a candidate for an elementwise task with one input and one output, calls it in a loop on the same data and
// prints the median of clock_gettime around each call, in nanoseconds.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assay/candidate.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "stats/stats.h"

static void alone(const struct assay_args *args, int64_t n, void (*body)(void *arg, int64_t begin, int64_t end),
                  void *arg) {
  (void)args;
  body(arg, 0, n);
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: bench_plain_loop LIBRARY ROWS COLUMNS [CALLS]\n");
    return 2;
  }
  int64_t dims[2] = {atoll(argv[2]), atoll(argv[3])}, strides[2] = {dims[1], 1}, n = dims[0] * dims[1];
  int calls = argc > 4 ? atoi(argv[4]) : 200;
  void *library = dlopen(argv[1], RTLD_NOW), *symbol = library ? dlsym(library, "assay_kernel") : NULL;
  void (*kernel)(const struct assay_args *args);
  float *x = base_calloc((size_t)n, sizeof *x), *y = base_calloc((size_t)n, sizeof *y);
  double *ns = base_calloc((size_t)calls + 1, sizeof *ns);
  if (!symbol || !x || !y || !ns) {
    fprintf(stderr, "bench_plain_loop: %s\n", symbol ? "out of memory" : dlerror());
    return 1;
  }
  memcpy(&kernel, &symbol, sizeof kernel);
  for (int64_t i = 0; i < n; i++)
    x[i] = (float)(i % 17) - 8;
  struct assay_tensor in = {x, dims, strides, 2, ASSAY_FLOAT}, out = {y, dims, strides, 2, ASSAY_FLOAT};
  struct assay_args args = {.abi_version = ASSAY_ABI_VERSION,
                            .n_inputs = 1,
                            .n_outputs = 1,
                            .threads = 1,
                            .inputs = &in,
                            .outputs = &out,
                            .parallel = alone};
  for (int i = 0; i < calls; i++) {
    int64_t start = clock_monotonic_ns();
    kernel(&args);
    ns[i] = (double)(clock_monotonic_ns() - start);
  }
  printf("%.0f\n", stats_median(ns, calls));
  base_free(x);
  base_free(y);
  base_free(ns);
  return 0;
}
