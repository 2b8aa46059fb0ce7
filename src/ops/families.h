// SPDX-License-Identifier: Apache-2.0
// The families of operators. Each is one file that ends in its rows; table.c lists those that exist.
#ifndef OPS_FAMILIES_H
#define OPS_FAMILIES_H

#include "ops/op.h"

extern const struct op_family ops_elementwise_family; // elementwise.c: arithmetic
extern const struct op_family ops_function_family;    // function.c: functions of one argument
extern const struct op_family ops_special_family;     // special.c: gamma, zeta, Bessel's and Airy's functions
extern const struct op_family ops_activation_family;
extern const struct op_family ops_logic_family;   // comparisons, logic, bits, selection
extern const struct op_family ops_convert_family; // convert.c: identity, casts, inference-time dropout
extern const struct op_family ops_quantize_family;
extern const struct op_family ops_reshape_family; // reshape.c: the same elements under another shape
extern const struct op_family ops_movement_family;
extern const struct op_family ops_slice_family; // slice.c: parts of a tensor, and borders around it
extern const struct op_family ops_gather_family;
extern const struct op_family ops_scatter_family;
extern const struct op_family ops_resize_family;
extern const struct op_family ops_grid_family; // grid.c: images sampled where a grid says
extern const struct op_family ops_constant_family;
extern const struct op_family ops_contraction_family;
extern const struct op_family ops_grouped_family; // grouped.c: products of groups whose sizes are data
extern const struct op_family ops_conv_family;
extern const struct op_family ops_conv_integer_family;
extern const struct op_family ops_causal_conv_family;
extern const struct op_family ops_linalg_family;    // linalg.c: inverses, systems, determinants
extern const struct op_family ops_spectral_family;  // spectral.c: eigenvalues and singular values
extern const struct op_family ops_decompose_family; // decompose.c: QR, SVD and their kind
extern const struct op_family ops_chance_family;    // chance.c: numbers of chance, and what is tested of them
extern const struct op_family ops_fourier_family;
extern const struct op_family ops_pool_family;
extern const struct op_family ops_norm_family;
extern const struct op_family ops_softmax_family;
extern const struct op_family ops_reduce_family;
extern const struct op_family ops_scan_family;
extern const struct op_family ops_arg_family;
extern const struct op_family ops_loss_family;
extern const struct op_family ops_attention_family;
extern const struct op_family ops_recurrent_family;
extern const struct op_family ops_linear_attention_family;
extern const struct op_family ops_rotary_family;
extern const struct op_family ops_boxes_family;

#endif
