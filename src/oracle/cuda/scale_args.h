// SPDX-License-Identifier: Apache-2.0
// Arguments of scale.cu, for both sides.
#ifndef ORACLE_CUDA_SCALE_ARGS_H
#define ORACLE_CUDA_SCALE_ARGS_H

struct deviation_args {
  uint64_t y, pass, sum, broken; // double, double, float, one 32-bit word or 0
  int64_t n;
  double max;  // largest finite value of the output's format
  double part; // what the pass counts
};

// A pass that the scale must cover; or the scale of another answer, and pass is 0 then.
struct widen_scale_args {
  uint64_t y, pass, other, sigma; // double, double, float, float
  int64_t n;
};

#define LOST_PARTS 4096 // threads, each of which takes every so manieth element

struct lost_args {
  uint64_t y, pass, parts; // double, double; [2][LOST_PARTS] doubles: squares of deviations and of values
  int64_t n;
};

struct untold_args {
  uint64_t y, sigma, parts; // double, float; [LOST_PARTS] doubles: how many elements
  int64_t n;
  double part; // RUN_UNTOLD
};

#define SHRINK_EACH 8 // elements of a thread

struct shrink_args {
  uint64_t y, sum, sigma; // double, float, float
  int64_t n, row;
  double replicas, inverse; // inverse: 1 / replicas where that is exact, else 0
  double unit;              // rounding of the result, relative
};

#define KEPT_EACH 64 // neighbouring elements with one kept scale

// Of a group of neighbours, in one answer or another: the harmonic mean of their scales, in which those that err least
// count most, and, where scales differ much, that of their scales relative to themselves.
struct kept_scale {
  float absolute, relative;
};

struct keep_args {
  uint64_t y, sigma, kept; // double [n]; float [n]; struct kept_scale [n / KEPT_EACH, rounded up], which grow
  int64_t n;
};

struct borrow_args {
  uint64_t y, kept, sigma; // double [n]; as above; float [n]
  int64_t n;
  double unit, factor; // unit: as above
};

#endif
