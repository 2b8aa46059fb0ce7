// SPDX-License-Identifier: Apache-2.0
// Arguments of cache.cu, for both sides.
#ifndef ORACLE_CUDA_CACHE_ARGS_H
#define ORACLE_CUDA_CACHE_ARGS_H

struct cache_draw_args {
  struct gpu_arith arith;
  uint64_t exact, sigma, y; // double, float, double
  int64_t n;
  double wider; // how many times sigma the pass errs
};

#endif
