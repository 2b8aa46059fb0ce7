// SPDX-License-Identifier: Apache-2.0
// Arguments of convert.cu, for both sides.
#ifndef ORACLE_CUDA_CONVERT_ARGS_H
#define ORACLE_CUDA_CONVERT_ARGS_H

// An element type as the kernels see it: a floating format, or an integer of some width (1: bool).
struct convert_type {
  int32_t is_float, bits, is_unsigned, min_exponent;
  double max;
};

struct widen_args {
  struct gpu_ref in;
  uint64_t out;
  int64_t n;
};

// From what is computed with (double, int64) to a type's own bytes. others: elements none of which is that in `from`.
struct store_args {
  uint64_t from, to;
  int64_t n;
  int32_t is_float, is_bool, bytes;                  // of an element
  int32_t exponent_bits, mantissa_bits, finite_only; // of a floating type of 8 or 16 bits
  int32_t others, pad;
};

struct same_args {
  uint64_t a, b, differ; // words of 8 bytes; a word of 4 that is set where they are not the same
  int64_t n;
};

// How float8e8m0 is reached: ops/narrow.h.
#define NARROW_UP 0
#define NARROW_DOWN 1

// Rounding to a floating format, as ops/narrow.h.
struct gpu_narrowing {
  struct gpu_arith arith; // of the format
  struct convert_type to;
  int32_t saturate, no_infinity, no_nan, no_minus_zero, powers_alone, power;
  int32_t no_overflow; // what is finite and becomes infinite is a NaN; an infinity stays
};

struct cast_args {
  struct gpu_ref in;
  uint64_t out;
  int64_t n;
  struct convert_type from, to;
  int32_t narrows;    // the target cannot hold every value of the source
  int32_t other;      // arith.other_casts
  int32_t from_float; // the source's type is float, and not one like it
  struct gpu_narrowing narrowing;
};

struct bitcast_args {
  struct gpu_ref in;
  uint64_t out;
  int64_t n;
  int32_t bits, from_float, to_float, to_unsigned; // bits: of an element, 32 or 64
};

#endif
