// SPDX-License-Identifier: Apache-2.0
// A program for fused.cu, made term by term: what is the same in every pass is computed once, be it for the truth or
// for the passes, and once only where both ask for it.
#ifndef ORACLE_CUDA_FUSED_PROGRAM_H
#define ORACLE_CUDA_FUSED_PROGRAM_H

#include "oracle/cuda/fused.h"
#include "ops/expr_program.h"

enum fused_kind { FUSED_IS_CONSTANT, FUSED_IS_INPUT, FUSED_IS_TERM };

// A value of the program, for each element: a constant, an input's element, what an operation makes.
struct fused_value {
  uint8_t kind; // enum fused_kind
  int16_t index;
};

// The noise of an operation's error.
struct fused_noise {
  int error; // enum expr_error
  int key, draw;
};

enum { FUSED_TERMS = 256 };

struct fused_term {
  uint8_t operation;
  bool varies; // from pass to pass
  struct fused_noise noise;
  int n_from;
  struct fused_value from[3];
};

struct fused_program {
  int n_terms, n_constants, n_inputs;
  bool full; // it does not fit; what was added since is not valid
  struct fused_term terms[FUSED_TERMS];
  double constants[FUSED_CONSTANTS];
};

struct fused_value fused_constant(struct fused_program *p, double x);
// noise: NULL in the exact pass, or where the operation is exact.
struct fused_value fused_apply(struct fused_program *p, int operation, const struct fused_value *from,
                               const struct fused_noise *noise);
bool fused_same(struct fused_value a, struct fused_value b);

// Writes what `truth` and `pass` take as instructions. False where that is too much.
bool fused_lower(const struct fused_program *p, struct fused_value truth, struct fused_value pass,
                 struct fused_args *out);

#endif
