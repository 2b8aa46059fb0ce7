// SPDX-License-Identifier: Apache-2.0
// What a recurrent node's attributes and shapes come to: shared by shape inference, cost, and the evaluators on the
// processor and on a device.
#ifndef OPS_RECURRENT_H
#define OPS_RECURRENT_H

#include "ops/op.h"

enum { RECURRENT_X, RECURRENT_W, RECURRENT_R, RECURRENT_B, RECURRENT_LENGTHS, RECURRENT_H, RECURRENT_C, RECURRENT_P };
enum { RECURRENT_OUT_Y, RECURRENT_OUT_H, RECURRENT_OUT_C };

// Where a pass may round to the storage type inside the operator (arith_stores_inside), at every step: what input and
// state say to a gate, with its bias; their sum; a gate; the product of a gate and something else; the new cell state,
// and its function; the new state. PyTorch's cells on a processor store all of it, its fused ones on a GPU both parts
// and both states, cuDNN's the state.
enum {
  RECURRENT_STORE_INPUT,
  RECURRENT_STORE_STATE,
  RECURRENT_STORE_SUM,
  RECURRENT_STORE_GATE,
  RECURRENT_STORE_PRODUCT,
  RECURRENT_STORE_CELL,
  RECURRENT_STORE_SEEN,
  RECURRENT_STORE_HIDDEN,
  RECURRENT_STORES,
};

// X(enumerator, ONNX's name, how many of alpha and beta it has, their defaults, its expression). NULL: that of the
// operator of this name. Defaults of NAN: there are none.
#define RECURRENT_FUNCTIONS(X)                                                                                         \
  X(RELU, "Relu", 0, 0, 0, NULL)                                                                                       \
  X(TANH, "Tanh", 0, 0, 0, NULL)                                                                                       \
  X(SIGMOID, "Sigmoid", 0, 0, 0, NULL)                                                                                 \
  X(AFFINE, "Affine", 2, 1, 0, "alpha * x + beta")                                                                     \
  X(LEAKY_RELU, "LeakyRelu", 1, 0.01, 0, NULL)                                                                         \
  X(THRESHOLDED_RELU, "ThresholdedRelu", 1, 1, 0, NULL)                                                                \
  X(SCALED_TANH, "ScaledTanh", 2, NAN, NAN, "alpha * tanh(beta * x)")                                                  \
  X(HARD_SIGMOID, "HardSigmoid", 2, 0.2, 0.5, NULL)                                                                    \
  X(ELU, "Elu", 1, 1, 0, NULL)                                                                                         \
  X(SOFTSIGN, "Softsign", 0, 0, 0, NULL)                                                                               \
  X(SOFTPLUS, "Softplus", 0, 0, 0, NULL)

// In single precision tanh and the sigmoid of a cell may be off by so many units in the last place, 2^-17 of the value:
// cuDNN's tanh is by 95 (bench/gpu/recurrent.py), and it is what PyTorch's own recurrent networks run on.
#define RECURRENT_SINGLE_BITS 24
#define RECURRENT_LIBRARY_ULPS 128.0

enum recurrent_kind {
#define RECURRENT_ENUM(name, ...) RECURRENT_##name,
  RECURRENT_FUNCTIONS(RECURRENT_ENUM)
#undef RECURRENT_ENUM
};

struct recurrent_function {
  enum recurrent_kind kind;
  double alpha, beta; // as floats hold them
};

// An operator's cell. Weights hold `gates` blocks of `hidden` rows for each direction.
struct recurrent_cell {
  int gates, n_functions;
  const char *functions[3]; // by default
  double operations;        // of one hidden unit and step, apart from products and functions
  int uses[3];              // of each function, of one hidden unit and step
  bool has_cell;            // a second state, and peepholes
};
extern const struct recurrent_cell recurrent_rnn, recurrent_lstm, recurrent_gru;

struct recurrent {
  const struct recurrent_cell *cell;
  int64_t steps, batch, input, hidden;
  int directions;
  bool reverse;     // direction 0 starts at the end; direction 1 always does
  bool batch_first; // layout 1
  bool linear_before_reset, coupled;
  double clip; // infinite: none
  struct recurrent_function functions[2][3];
  // Strides in elements: where (step, batch) stands in x and (step, direction, batch) in y; (direction, batch) in the
  // initial and last states.
  int64_t x_step, x_batch, y_step, y_direction, y_batch, h_direction, h_batch;
};

// Attributes and shapes, checked. ASSAY_ERR_INVALID says what does not fit.
enum assay_status recurrent_setup(const struct op_infer *c, const struct recurrent_cell *cell, struct recurrent *r,
                                  struct assay_error *err);

enum assay_status recurrent_infer(struct op_infer *c, const struct recurrent_cell *cell, struct assay_error *err);
void recurrent_cost(const struct op_infer *c, const struct recurrent_cell *cell, struct op_cost *cost);

// The function as an expression of x with the parameters alpha and beta (ops/expr.h).
const char *recurrent_expression(enum recurrent_kind kind);

// Sequence lengths must lie in [0, steps].
enum assay_status recurrent_check_lengths(const struct node *node, const struct recurrent *r, const int64_t *lengths,
                                          struct assay_error *err);

#endif
