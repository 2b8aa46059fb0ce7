// SPDX-License-Identifier: Apache-2.0
// What of the arguments of PyTorch's elementwise kernels nobody sets. They take a functor after the number of elements,
// which is copied whole from the stack: its padding, and room for dimensions that a tensor has not, hold what lay
// there.
#ifndef ASSAY_TOOLCHAIN_RECORD_FUNCTOR_H
#define ASSAY_TOOLCHAIN_RECORD_FUNCTOR_H

#include <stdbool.h>
#include <stdint.h>

struct plan_argument;

// Bytes first <= at < end of an argument, in two parts; none: all 0.
struct functor_gaps {
  uint32_t first[2], end[2];
};

bool functor_is_argument(const char *kernel, int index);

// Of 8 bytes, whether they are none but leftovers, in both recordings.
bool functor_is_leftover(const char *kernel, const struct plan_argument *a, const struct plan_argument *b);

// Where the functor holds strides of dimensions that there are not. Both recordings must have the same dimensions.
struct functor_gaps functor_gaps(const char *kernel, const struct plan_argument *a, const struct plan_argument *b);

bool functor_in_gap(const struct functor_gaps *g, uint32_t at);

// "pow_tensor_scalar_kernel_impl": what the kernel computes, by its name; "" where it does not say.
const char *functor_name(const char *kernel, char *text, int size);

#endif
