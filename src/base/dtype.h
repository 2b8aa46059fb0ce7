// Element types, with ONNX's names and numbers (TensorProto.DataType, onnx.proto).
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// X(enumerator, ONNX number, bytes an element, name in ONNX's textual syntax, kind). Kinds: f floating, i signed
// integer, u unsigned integer, b bool, x no arithmetic here. Types with 0 bytes are known by name only.
#define DTYPES(X)                                                                                                      \
  X(UNDEFINED, 0, 0, "undefined", 'x')                                                                                 \
  X(FLOAT, 1, 4, "float", 'f')                                                                                         \
  X(UINT8, 2, 1, "uint8", 'u')                                                                                         \
  X(INT8, 3, 1, "int8", 'i')                                                                                           \
  X(UINT16, 4, 2, "uint16", 'u')                                                                                       \
  X(INT16, 5, 2, "int16", 'i')                                                                                         \
  X(INT32, 6, 4, "int32", 'i')                                                                                         \
  X(INT64, 7, 8, "int64", 'i')                                                                                         \
  X(STRING, 8, 0, "string", 'x')                                                                                       \
  X(BOOL, 9, 1, "bool", 'b')                                                                                           \
  X(FLOAT16, 10, 2, "float16", 'f')                                                                                    \
  X(DOUBLE, 11, 8, "double", 'f')                                                                                      \
  X(UINT32, 12, 4, "uint32", 'u')                                                                                      \
  X(UINT64, 13, 8, "uint64", 'u')                                                                                      \
  X(COMPLEX64, 14, 0, "complex64", 'x')                                                                                \
  X(COMPLEX128, 15, 0, "complex128", 'x')                                                                              \
  X(BFLOAT16, 16, 2, "bfloat16", 'f')                                                                                  \
  X(FLOAT8E4M3FN, 17, 1, "float8e4m3fn", 'f')                                                                          \
  X(FLOAT8E5M2, 19, 1, "float8e5m2", 'f')

enum dtype {
#define DTYPE_ENUM(name, number, bytes, text, kind) DTYPE_##name = (number),
  DTYPES(DTYPE_ENUM)
#undef DTYPE_ENUM
};

const char *dtype_name(enum dtype t); // "float"; "undefined" for a number that is not in the list
bool dtype_by_name(const char *name, size_t len, enum dtype *out);
bool dtype_by_number(int64_t number, enum dtype *out); // false for numbers that are not in the list
size_t dtype_bytes(enum dtype t);                      // 0 for types without arithmetic here
bool dtype_is_float(enum dtype t);
bool dtype_is_integer(enum dtype t); // signed, unsigned or bool: evaluated in int64

// Significand bits including the hidden one (float 24, float16 11, bfloat16 8, float8e4m3fn 4, float8e5m2 3,
// double 53), the exponent of the smallest normal number (float -126) and the largest finite value.
// False when the type is not floating.
struct float_format {
  int bits;
  int min_exponent;
  double max;
};
bool dtype_float_format(enum dtype t, struct float_format *out);

// The formats smaller than float, as sign, exponent field and mantissa field. finite_only: float8e4m3fn has no
// infinity, its all-ones exponent holds ordinary numbers except for the single NaN pattern (OCP 8-bit floating point
// specification, 2023). False when the type is none of them.
struct small_format {
  int exponent_bits, mantissa_bits;
  bool finite_only;
};
bool dtype_small_format(enum dtype t, struct small_format *out);

// Conversion of n elements between a tensor's own bytes and the two types the oracle computes in. Narrowing rounds to
// nearest even and overflows to infinity (float8e4m3fn: to NaN). Every value of every type above survives
// dtype_to_f64 -> dtype_from_f64 (floats) or dtype_to_i64 -> dtype_from_i64 (integers, bool; uint64 wraps).
// The caller guarantees the kind: f64 for floats, i64 for integers and bool. src of dtype_to_* has any alignment
// (arrays inside files begin wherever a header ends); dst of dtype_from_* has its type's.
void dtype_to_f64(enum dtype t, const void *src, int64_t n, double *dst);
void dtype_from_f64(enum dtype t, const double *src, int64_t n, void *dst);
void dtype_to_i64(enum dtype t, const void *src, int64_t n, int64_t *dst);
void dtype_from_i64(enum dtype t, const int64_t *src, int64_t n, void *dst);

#endif
