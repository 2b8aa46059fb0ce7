// Words for the enumerators of a plan, and the element types that plans know.
#ifndef PLAN_NAMES_H
#define PLAN_NAMES_H

#include <stdbool.h>

#include "plan/plan.h"

// X(ONNX's number, its name, bytes an element)
#define PLAN_DTYPES(X)                                                                                                 \
  X(1, "float", 4)                                                                                                     \
  X(2, "uint8", 1)                                                                                                     \
  X(3, "int8", 1)                                                                                                      \
  X(4, "uint16", 2)                                                                                                    \
  X(5, "int16", 2)                                                                                                     \
  X(6, "int32", 4)                                                                                                     \
  X(7, "int64", 8)                                                                                                     \
  X(9, "bool", 1)                                                                                                      \
  X(10, "float16", 2)                                                                                                  \
  X(11, "double", 8)                                                                                                   \
  X(12, "uint32", 4)                                                                                                   \
  X(13, "uint64", 8)                                                                                                   \
  X(16, "bfloat16", 2)                                                                                                 \
  X(17, "float8e4m3fn", 1)                                                                                             \
  X(19, "float8e5m2", 1)

const char *plan_dtype_name(int32_t dtype); // NULL: unknown
int plan_dtype_bytes(int32_t dtype);        // 0: unknown
bool plan_dtype_by_name(const char *name, int32_t *out);

// Names by enumerator, NULL at the end; an enumerator is in range when it is below the count.
extern const char *const plan_role_names[], *const plan_code_names[], *const plan_step_names[];
int plan_name_index(const char *const *names, const char *name); // -1: not among them

static inline bool plan_code_is_text(enum plan_code code) {
  return code == PLAN_PTX || code == PLAN_OPENCL_C;
}

// The bytes of a dense tensor; false when it has no sensible size (an unknown type, a dimension below 1, overflow).
bool plan_tensor_bytes(const struct plan_tensor *t, uint64_t *bytes);

// A name from a plan as it may stand in a message or on a terminal: control characters and bytes that are no UTF-8
// become '?', what is longer than the place ends in "...". Returns `text`.
enum { PLAN_SHOWN_BYTES = 80 };
const char *plan_shown(const char *name, char text[PLAN_SHOWN_BYTES]);

// The length of the UTF-8 sequence at s (of n bytes), 0 when it is none (RFC 3629: no surrogates, no longer forms).
size_t plan_utf8_length(const char *s, size_t n);

#endif
