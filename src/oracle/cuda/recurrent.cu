// SPDX-License-Identifier: Apache-2.0
// The steps of RNN, LSTM and GRU, as ops/recurrent.c: products of the states with the recurrent weights, then the
// cells, one thread a hidden unit.

// Neighbouring threads take neighbouring columns.
KERNEL(recurrent_sums, struct recurrent_sum_args) {
  int64_t groups = (a->batch + RECURRENT_LANES - 1) / RECURRENT_LANES, t = THREAD;
  if (t >= a->splits * a->directions * groups * a->columns)
    return;
  int64_t column = t % a->columns, rest = t / a->columns;
  int64_t group = rest % groups, direction = rest / groups % a->directions, split = rest / groups / a->directions;
  int64_t begin = split * a->depth, end = begin + a->depth < a->hidden ? begin + a->depth : a->hidden;
  const double *w = (const double *)a->weights + direction * a->hidden * a->width + a->first_column + column;
  const double *state[RECURRENT_LANES];
  double y[RECURRENT_LANES], t2[RECURRENT_LANES];
  UNROLL_ALL
  for (int l = 0; l < RECURRENT_LANES; l++) {
    int64_t b = group * RECURRENT_LANES + l;
    state[l] = (const double *)a->state + (direction * a->batch + (b < a->batch ? b : a->batch - 1)) * a->hidden;
    y[l] = t2[l] = 0;
  }
  for (int64_t k = begin; k < end; k++) {
    double weight = w[k * a->width];
    UNROLL_ALL
    for (int l = 0; l < RECURRENT_LANES; l++) {
      double term = state[l][k] * weight;
      y[l] += term;
      t2[l] += term * term;
    }
  }
  UNROLL_ALL
  for (int l = 0; l < RECURRENT_LANES; l++) {
    int64_t b = group * RECURRENT_LANES + l;
    if (b >= a->batch)
      continue;
    int64_t at = ((split * a->directions + direction) * a->batch + b) * a->columns + column;
    ((double *)a->sums)[at] = y[l];
    if (a->squares)
      ((double *)a->squares)[at] = t2[l];
  }
}

// A hidden unit at a step.
struct unit {
  int64_t direction, batch, j;
  int64_t at;   // in [direction][batch][hidden]
  int64_t time; // its position in the sequence
  int ended;    // the sequence is over
  struct noise noise;
};

DEVICE_FN int unit_find(const struct recurrent_args *a, int64_t t, struct unit *u) {
  if (t >= a->directions * a->batch * a->hidden)
    return 0;
  u->at = t;
  u->j = t % a->hidden;
  u->batch = t / a->hidden % a->batch;
  u->direction = t / a->hidden / a->batch;
  int64_t length = a->lengths.data ? read_i64(&a->lengths, u->batch) : a->steps;
  u->ended = a->step >= length;
  u->time = (a->reverse || u->direction == 1) && !u->ended ? length - 1 - a->step : a->step;
  u->noise = noise_at(a->arith.key, (uint64_t)t);
  return 1;
}

// Roundings are long: expanded at every place, they would take many seconds to compile.
DEVICE_FN_LARGE double rounded(const struct recurrent_args *a, struct unit *u, double x) {
  return arith_round(&a->arith, &u->noise, x);
}

DEVICE_FN_LARGE double library(const struct recurrent_args *a, struct unit *u, double x) {
  return arith_round_ulps(&a->arith, &u->noise, x, LIBRARY_ULPS);
}

DEVICE_FN_LARGE double exponential(const struct recurrent_args *a, struct unit *u, double x) {
  return arith_round_power(&a->arith, &u->noise, exp(x));
}

DEVICE_FN double library_tanh(const struct recurrent_args *a, struct unit *u, double x) {
  return arith_reflect(library(a, u, tanh(x)));
}

// As err_as_libraries of ops/recurrent.c.
DEVICE_FN_LARGE double as_libraries(const struct recurrent_args *a, struct unit *u, double x) {
  if (a->arith.exact || a->arith.bits != SINGLE_BITS)
    return x;
  return arith_reflect(arith_round_ulps(&a->arith, &u->noise, x, FUNCTION_ULPS));
}

DEVICE_FN_LARGE double activate(const struct recurrent_args *a, struct unit *u, int i, double x) {
  double alpha = a->alpha[u->direction][i], beta = a->beta[u->direction][i];
  x = x > a->clip ? a->clip : x < -a->clip ? -a->clip : x;
  switch (a->functions[u->direction][i]) {
  case FUNCTION_RELU:
    return x > 0 || IS_NAN(x) ? x : 0;
  case FUNCTION_TANH:
    return as_libraries(a, u, library_tanh(a, u, x));
  case FUNCTION_SIGMOID:
    return as_libraries(a, u, rounded(a, u, 1 / rounded(a, u, 1 + exponential(a, u, -x))));
  case FUNCTION_AFFINE:
    return rounded(a, u, rounded(a, u, alpha * x) + beta);
  case FUNCTION_LEAKY_RELU:
    return x < 0 ? rounded(a, u, alpha * x) : x;
  case FUNCTION_THRESHOLDED_RELU:
    return x > alpha ? x : 0;
  case FUNCTION_SCALED_TANH:
    return rounded(a, u, alpha * library_tanh(a, u, rounded(a, u, beta * x)));
  case FUNCTION_HARD_SIGMOID:
    x = rounded(a, u, rounded(a, u, alpha * x) + beta);
    return x > 1 ? 1 : x < 0 ? 0 : x;
  case FUNCTION_ELU:
    return x < 0 ? rounded(a, u, alpha * rounded(a, u, exponential(a, u, x) - 1)) : x;
  case FUNCTION_SOFTSIGN:
    return rounded(a, u, x / rounded(a, u, 1 + fabs(x)));
  default: // FUNCTION_SOFTPLUS
    return rounded(a, u, (x > 0 || IS_NAN(x) ? x : 0) + library(a, u, log1p(exponential(a, u, -fabs(x)))));
  }
}

// x rounded to the storage type, where the pass does that.
DEVICE_FN_LARGE double stored(const struct recurrent_args *a, const struct unit *u, int place, int64_t gate, double x) {
  if (!(a->stores >> place & 1))
    return x;
  int64_t row = (u->direction * a->steps + a->step) * a->batch + u->batch;
  const struct gpu_narrowing *s = &a->storing[place];
  struct noise noise = noise_at(s->arith.key, (uint64_t)(row * a->width + gate * a->hidden + u->j));
  return narrow(s, &noise, x);
}

// ---- gates

DEVICE_FN double with_bias(const struct recurrent_args *a, struct unit *u, int64_t gate, int recurrent, double sum) {
  int64_t at = (2 * u->direction + recurrent) * a->width + gate * a->hidden + u->j;
  if (a->bias.data)
    sum = rounded(a, u, sum + read_f64(&a->bias, at));
  return stored(a, u, recurrent ? AT_STATE : AT_INPUT, gate, sum);
}

// The part of a gate that comes from the input.
DEVICE_FN_LARGE double input_part(const struct recurrent_args *a, struct unit *u, int64_t gate) {
  int64_t position = a->batch_first ? u->batch * a->steps + u->time : u->time * a->batch + u->batch;
  position += u->direction * a->steps * a->batch;
  return with_bias(a, u, gate, 0, ((const double *)a->from_x)[position * a->width + gate * a->hidden + u->j]);
}

// The part that comes from the state; `column` is where the sums of its product are.
DEVICE_FN_LARGE double state_part(const struct recurrent_args *a, struct unit *u, int64_t gate, int64_t column) {
  double y = 0, t2 = 0;
  for (int64_t s = 0; s < a->splits; s++) {
    int64_t at = ((s * a->directions + u->direction) * a->batch + u->batch) * a->columns + column + u->j;
    y += ((const double *)a->sums)[at];
    if (a->squares)
      t2 += ((const double *)a->squares)[at];
  }
  return with_bias(a, u, gate, 1, arith_sum(&a->arith, &u->noise, y, t2, (double)a->hidden, true));
}

DEVICE_FN double gate_sum(const struct recurrent_args *a, struct unit *u, int64_t gate) {
  double x = input_part(a, u, gate);
  return stored(a, u, AT_SUM, gate, rounded(a, u, x + state_part(a, u, gate, gate * a->hidden)));
}

DEVICE_FN void give(const struct recurrent_args *a, const struct unit *u, double y) {
  if (a->y)
    ((double *)a->y)[u->time * a->y_step + u->direction * a->y_direction + u->batch * a->y_batch + u->j] = y;
}

// ---- cells

KERNEL(recurrent_rnn, struct recurrent_args) {
  struct unit u;
  if (!unit_find(a, THREAD, &u))
    return;
  double h = u.ended ? 0 : stored(a, &u, AT_HIDDEN, 0, activate(a, &u, 0, gate_sum(a, &u, 0)));
  give(a, &u, h);
  if (!u.ended)
    ((double *)a->h)[u.at] = h;
}

#define LSTM_I 0
#define LSTM_O 1
#define LSTM_F 2
#define LSTM_C 3

DEVICE_FN double lstm_gate(const struct recurrent_args *a, struct unit *u, int64_t gate, double cell) {
  double sum = gate_sum(a, u, gate);
  if (a->peepholes.data)
    sum = rounded(
        a, u, sum + rounded(a, u, cell * read_f64(&a->peepholes, (3 * u->direction + gate) * a->hidden + u->j)));
  return stored(a, u, AT_GATE, gate, activate(a, u, 0, sum));
}

KERNEL(recurrent_lstm, struct recurrent_args) {
  struct unit u;
  if (!unit_find(a, THREAD, &u))
    return;
  if (u.ended) {
    give(a, &u, 0);
    return;
  }
  double *state = (double *)a->state + u.at;
  double i = lstm_gate(a, &u, LSTM_I, *state);
  double forget = a->coupled ? rounded(a, &u, 1 - i) : lstm_gate(a, &u, LSTM_F, *state);
  double candidate = stored(a, &u, AT_GATE, LSTM_C, activate(a, &u, 1, gate_sum(a, &u, LSTM_C)));
  double kept = stored(a, &u, AT_PRODUCT, LSTM_F, rounded(a, &u, forget * *state));
  double more = stored(a, &u, AT_PRODUCT, LSTM_C, rounded(a, &u, i * candidate));
  double cell = stored(a, &u, AT_CELL, 0, rounded(a, &u, kept + more));
  double o = lstm_gate(a, &u, LSTM_O, cell);
  double seen = stored(a, &u, AT_SEEN, 0, activate(a, &u, 2, cell));
  double h = stored(a, &u, AT_HIDDEN, 0, rounded(a, &u, o * seen));
  *state = cell;
  ((double *)a->h)[u.at] = h;
  give(a, &u, h);
}

#define GRU_Z 0
#define GRU_R 1
#define GRU_H 2

DEVICE_FN void gru_finish(const struct recurrent_args *a, struct unit *u, double z, double candidate) {
  double *h = (double *)a->h + u->at;
  candidate = stored(a, u, AT_GATE, GRU_H, activate(a, u, 1, candidate));
  double way = stored(a, u, AT_SEEN, 0, rounded(a, u, *h - candidate));
  way = stored(a, u, AT_PRODUCT, GRU_Z, rounded(a, u, z * way));
  *h = stored(a, u, AT_HIDDEN, 0, rounded(a, u, candidate + way));
  give(a, u, *h);
}

DEVICE_FN double gru_gate(const struct recurrent_args *a, struct unit *u, int64_t gate) {
  return stored(a, u, AT_GATE, gate, activate(a, u, 0, gate_sum(a, u, gate)));
}

KERNEL(recurrent_gru_linear, struct recurrent_args) {
  struct unit u;
  if (!unit_find(a, THREAD, &u))
    return;
  if (u.ended) {
    give(a, &u, 0);
    return;
  }
  double z = gru_gate(a, &u, GRU_Z), r = gru_gate(a, &u, GRU_R);
  double seen = stored(a, &u, AT_PRODUCT, GRU_H, rounded(a, &u, r * state_part(a, &u, GRU_H, GRU_H * a->hidden)));
  gru_finish(a, &u, z, stored(a, &u, AT_SUM, GRU_H, rounded(a, &u, input_part(a, &u, GRU_H) + seen)));
}

// Both gates and the state after the reset, which then goes through a product of its own.
KERNEL(recurrent_gru_reset, struct recurrent_args) {
  struct unit u;
  if (!unit_find(a, THREAD, &u) || u.ended)
    return;
  double *gates = (double *)a->gates;
  double r = gru_gate(a, &u, GRU_R);
  gates[u.at] = stored(a, &u, AT_PRODUCT, GRU_R, rounded(a, &u, r * ((const double *)a->h)[u.at]));
  gates[a->directions * a->batch * a->hidden + u.at] = gru_gate(a, &u, GRU_Z);
}

KERNEL(recurrent_gru, struct recurrent_args) {
  struct unit u;
  if (!unit_find(a, THREAD, &u))
    return;
  if (u.ended) {
    give(a, &u, 0);
    return;
  }
  double z = ((const double *)a->gates)[a->directions * a->batch * a->hidden + u.at];
  double x = input_part(a, &u, GRU_H);
  gru_finish(a, &u, z, stored(a, &u, AT_SUM, GRU_H, rounded(a, &u, x + state_part(a, &u, GRU_H, 0))));
}
