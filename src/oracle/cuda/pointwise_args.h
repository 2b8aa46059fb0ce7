// SPDX-License-Identifier: Apache-2.0
// Arguments of pointwise.cu, for both sides: an expression's program as data (ops/expr_program.h).
#ifndef ORACLE_CUDA_POINTWISE_ARGS_H
#define ORACLE_CUDA_POINTWISE_ARGS_H

#define POINTWISE_INSTRUCTIONS 128 // EXPR_MAX_INSTRUCTIONS
#define POINTWISE_CONSTANTS 64     // EXPR_MAX_CONSTANTS
#define POINTWISE_PARAMS 16        // EXPR_MAX_PARAMS
#define POINTWISE_TEMPORARIES 16   // EXPR_MAX_TEMPORARIES
#define POINTWISE_RANK 8           // SHAPE_MAX_RANK
#define POINTWISE_LANES 4          // elements of a thread
#define POINTWISE_NEIGHBOURS 32    // threads whose elements interleave
#define POINTWISE_NOWHERE 255      // target of a result that only the next instruction reads

struct pointwise_args {
  uint64_t out;
  int64_t n;
  struct gpu_ref in[3];
  struct convert_type types[3], out_type; // for integers: width and sign
  struct gpu_arith arith;
  // How the inputs are broadcast: extents of the output with adjacent ones merged where all inputs allow, and each
  // input's strides. rank 0: all lie as the output does, or (stride 0 in strides[k][0]) are one element.
  int64_t dims[POINTWISE_RANK], strides[3][POINTWISE_RANK];
  int32_t rank, n_in, is_unsigned, small; // small: n fits 32 bits
  int32_t n_instructions;
  uint8_t result_kind, result_index, pad[2];
  // Instruction i: operation, target, then kind and index of three operands, guards already decided. An operand may be
  // the result of the instruction before (OPERAND_LAST).
  uint8_t code[POINTWISE_INSTRUCTIONS][8];
  double values[POINTWISE_CONSTANTS + POINTWISE_PARAMS]; // constants, then parameters
};

#endif
