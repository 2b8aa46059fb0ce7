// SPDX-License-Identifier: Apache-2.0
// Element types, with ONNX's names and numbers (TensorProto.DataType, onnx.proto).
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// X(enumerator, ONNX number, bits an element, name in ONNX's textual syntax, kind). Kinds: f floating, i signed
// integer, u unsigned integer, b bool, x no arithmetic here. Types with 0 bits are known by name only. Elements of less
// than 8 bits have a byte each in memory (a signed one sign-extended, a float its code); in files they are packed.
#define DTYPES(X)                                                                                                      \
  X(UNDEFINED, 0, 0, "undefined", 'x')                                                                                 \
  X(FLOAT, 1, 32, "float", 'f')                                                                                        \
  X(UINT8, 2, 8, "uint8", 'u')                                                                                         \
  X(INT8, 3, 8, "int8", 'i')                                                                                           \
  X(UINT16, 4, 16, "uint16", 'u')                                                                                      \
  X(INT16, 5, 16, "int16", 'i')                                                                                        \
  X(INT32, 6, 32, "int32", 'i')                                                                                        \
  X(INT64, 7, 64, "int64", 'i')                                                                                        \
  X(STRING, 8, 0, "string", 'x')                                                                                       \
  X(BOOL, 9, 8, "bool", 'b')                                                                                           \
  X(FLOAT16, 10, 16, "float16", 'f')                                                                                   \
  X(DOUBLE, 11, 64, "double", 'f')                                                                                     \
  X(UINT32, 12, 32, "uint32", 'u')                                                                                     \
  X(UINT64, 13, 64, "uint64", 'u')                                                                                     \
  X(COMPLEX64, 14, 0, "complex64", 'x')                                                                                \
  X(COMPLEX128, 15, 0, "complex128", 'x')                                                                              \
  X(BFLOAT16, 16, 16, "bfloat16", 'f')                                                                                 \
  X(FLOAT8E4M3FN, 17, 8, "float8e4m3fn", 'f')                                                                          \
  X(FLOAT8E4M3FNUZ, 18, 8, "float8e4m3fnuz", 'f')                                                                      \
  X(FLOAT8E5M2, 19, 8, "float8e5m2", 'f')                                                                              \
  X(FLOAT8E5M2FNUZ, 20, 8, "float8e5m2fnuz", 'f')                                                                      \
  X(UINT4, 21, 4, "uint4", 'u')                                                                                        \
  X(INT4, 22, 4, "int4", 'i')                                                                                          \
  X(FLOAT4E2M1, 23, 4, "float4e2m1", 'f')                                                                              \
  X(FLOAT8E8M0, 24, 8, "float8e8m0", 'f')                                                                              \
  X(UINT2, 25, 2, "uint2", 'u')                                                                                        \
  X(INT2, 26, 2, "int2", 'i')                                                                                          \
  X(FLOAT6E2M3, 27, 6, "float6e2m3", 'f')                                                                              \
  X(FLOAT6E3M2, 28, 6, "float6e3m2", 'f')

enum dtype {
#define DTYPE_ENUM(name, number, bits, text, kind) DTYPE_##name = (number),
  DTYPES(DTYPE_ENUM)
#undef DTYPE_ENUM
};

const char *dtype_name(enum dtype t); // "float"; "undefined" for a number that is not in the list
bool dtype_by_name(const char *name, size_t len, enum dtype *out);
bool dtype_by_number(int64_t number, enum dtype *out); // false for numbers that are not in the list
size_t dtype_bytes(enum dtype t);                      // 0 for types without arithmetic here
int dtype_bits(enum dtype t);                          // of an element; 8 for bool
bool dtype_is_signed(enum dtype t);                    // a signed integer
// Whether candidates can be given tensors of the type, and give them back. The types of less than 8 bits and float8's
// forms that no hardware here computes with exist within graphs only.
bool dtype_is_exchanged(enum dtype t);
bool dtype_is_float(enum dtype t);
bool dtype_is_integer(enum dtype t); // signed, unsigned or bool: evaluated in int64

// Significand bits including the hidden one (float 24, float16 11, bfloat16 8, float8e4m3fn 4, float8e5m2 3,
// double 53, float8e8m0 1), the exponent of the smallest normal number (float -126) and the largest finite value.
// False when the type is not floating.
struct float_format {
  int bits;
  int min_exponent;
  double max;
  // What the format lacks: infinities, NaN, -0, everything but powers of two and NaN.
  bool no_infinity, no_nan, no_minus_zero, powers_alone;
};
bool dtype_float_format(enum dtype t, struct float_format *out);

// The formats smaller than float that are exchanged, as sign, exponent field and mantissa field. finite_only:
// float8e4m3fn has no infinity, its all-ones exponent holds ordinary numbers except for the single NaN pattern (OCP
// 8-bit floating point specification, 2023). False when the type is none of them.
struct small_format {
  int exponent_bits, mantissa_bits;
  bool finite_only;
};
bool dtype_small_format(enum dtype t, struct small_format *out);

// Conversion of n elements between a tensor's own bytes and the two types the oracle computes in. Narrowing rounds to
// nearest even and overflows to infinity; to NaN where the type has no infinity (float8e4m3fn), to the largest value
// where it has no NaN either (float4e2m1; a NaN becomes 0 there). float8e8m0 has powers of two alone: halfway between
// two it rounds up, and what is not positive becomes NaN. Every value of every type above survives
// dtype_to_f64 -> dtype_from_f64 (floats) or dtype_to_i64 -> dtype_from_i64 (integers, bool; uint64 wraps).
// The caller guarantees the kind: f64 for floats, i64 for integers and bool. src of dtype_to_* has any alignment
// (arrays inside files begin wherever a header ends); dst of dtype_from_* has its type's.
void dtype_to_f64(enum dtype t, const void *src, int64_t n, double *dst);
void dtype_from_f64(enum dtype t, const double *src, int64_t n, void *dst);
void dtype_to_i64(enum dtype t, const void *src, int64_t n, int64_t *dst);
void dtype_from_i64(enum dtype t, const int64_t *src, int64_t n, void *dst);

#endif
