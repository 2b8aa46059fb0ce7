// SPDX-License-Identifier: Apache-2.0
// Arguments and results of the comparing kernels. Read by the C compiler (after <stdint.h>) and by the
// device's compiler.
#ifndef COMPARE_DEVICE_COMPARE_ARGS_H
#define COMPARE_DEVICE_COMPARE_ARGS_H

#define COMPARE_BINS 24
#define COMPARE_MOST_SIZE 0x1p40 // as SCORE_MOST_SIZE

// How an element of the output lies in memory.
#define COMPARE_F32 0
#define COMPARE_F64 1
#define COMPARE_SMALL 2
#define COMPARE_INTEGER 3

// One thread's sums over its elements i = thread, thread + threads, ...
struct compare_sums {
  uint64_t n_nan, n_inf, n_poison, n_exact, n_over, n_not_close, n_not_loose;
  int64_t first_over, last_over; // -1: none
  double max_abs, max_rel, z_max, sum_z, sum_z_outward, sum_z_size, sum_size2;
  double worst; // of its worst element: 0 none; else z + 1, or infinity where classes differ
  uint64_t infinite;
  uint64_t histogram[COMPARE_BINS];
};

struct compare_args {
  uint64_t got, want, sigma, z; // z: float an element, filled by compare_elements
  uint64_t sums;                // struct compare_sums of each thread
  int64_t n, threads;
  double u_out, eta_out, z_limit, sigma_floor, overflow, rtol, atol, loose;
  int32_t storage, bytes, exponent_bits, mantissa_bits, finite_only, is_signed, is_unsigned64;
  int32_t format_bits, format_min_exponent, no_infinity;
  uint32_t poison;
  int32_t has_poison;
};

struct compare_merge_args {
  uint64_t sums, merged; // merged[t] takes in sums[t], sums[t + targets], ...
  int64_t threads, targets;
};

struct compare_group_args {
  uint64_t z, result; // result: 4 doubles: sum of squares, then largest mean squares of rows, columns, tiles
  int64_t rows, columns, down, across;
  int64_t rows_a_group, columns_a_group; // of the groups of this launch; 0: as far as the panel goes
  int64_t slots_down, slots_across;      // groups in the largest panel
  int32_t slot;                          // of the result: 1 rows, 2 columns, 3 tiles
  int32_t add_sum;                       // also add the squares to result[0]
  int32_t group_min, pad;
};

struct compare_gather_args {
  uint64_t got, want, sigma, threads_list,
      out; // out: for each listed thread and step: got, want (8 bytes), sigma (float)
  uint64_t out_want, out_sigma;
  int64_t n, threads, listed, steps;
  int32_t bytes, floating;
};

#endif
