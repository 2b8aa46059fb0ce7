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

struct cast_args {
  struct gpu_ref in;
  uint64_t out;
  int64_t n;
  struct convert_type from, to;
  int32_t narrows;               // the target cannot hold every value of the source
  int32_t saturate, no_infinity; // float8: beyond the range to the largest value; e4m3fn has a NaN only
  int32_t pad;
  struct gpu_arith arith; // of the target format
};

#endif
