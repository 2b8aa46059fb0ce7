// SPDX-License-Identifier: Apache-2.0
// Arguments of fused.cu, for both sides: elementwise nodes as one program (fused_program.h).
#ifndef ORACLE_CUDA_FUSED_ARGS_H
#define ORACLE_CUDA_FUSED_ARGS_H

#define FUSED_INSTRUCTIONS 96
#define FUSED_CONSTANTS 48
#define FUSED_INPUTS 6
#define FUSED_MAPS 6                     // ways to find an element of a tensor by the output's; 0: the same number
#define FUSED_KEYS 16                    // sources of noise
#define FUSED_RANK 8                     // SHAPE_MAX_RANK
#define FUSED_SCALARS 12                 // values that are the same in every pass, inputs among them
#define FUSED_VECTORS 6                  // values of all passes
#define FUSED_PASSES 8                   // contract passes at once
#define FUSED_ELEMENTS 4                 // of a thread
#define FUSED_NEIGHBOURS 32              // threads whose elements interleave
#define FUSED_NOWHERE 255                // target of a result that only the next instruction reads
#define FUSED_ROUND EXPR_OPERATION_COUNT // one more operation than expressions have: the operand itself, with an error

// Kinds of operand.
#define FUSED_LAST 0 // the result of the instruction before
#define FUSED_VECTOR 1
#define FUSED_SCALAR 2
#define FUSED_CONSTANT 3

struct fused_code {
  uint8_t operation, target;
  uint8_t kind[3], index[3];
  uint8_t error;     // ERROR_*
  uint8_t draw, key; // of the error: which number of which source
  uint8_t pad;
};

struct fused_args {
  uint64_t y, sum, sigma, broken; // double or int64, float, float, one 32-bit word; 0: not wanted
  int64_t n;
  struct gpu_ref in[FUSED_INPUTS];
  struct convert_type types[FUSED_INPUTS];
  // Extents of the output with adjacent ones merged where all maps allow, and strides of each map.
  int64_t dims[FUSED_RANK], strides[FUSED_MAPS][FUSED_RANK];
  uint64_t keys[FUSED_KEYS][FUSED_PASSES];
  uint8_t in_maps[FUSED_INPUTS], key_maps[FUSED_KEYS], pad[2];
  int32_t rank, n_in, small; // small: n fits 32 bits
  // The instructions whose results are the same in every pass stand first; the others have one result a pass.
  int32_t n_scalar, n_instructions;
  int32_t passes, first; // of this launch; first: sums begin with it
  uint8_t truth_kind, truth_index, pass_kind, pass_index;
  int32_t is_float;        // the output; else it is a bool
  double unit, output_max; // rounding of the result, relative; the output's largest finite value
  struct gpu_arith arith;  // of contract passes
  double ratio;            // unit in the last place of 1: rounder.quantum / rounder.limit
  uint32_t low, span;      // numbers whose upper word is in [low, low + span) round without exceptions
  struct fused_code code[FUSED_INSTRUCTIONS];
  double constants[FUSED_CONSTANTS];
};

#endif
