// SPDX-License-Identifier: Apache-2.0
// A causal convolution of every channel, as ops/causal_conv.c; a thread for each element.

DEVICE_FN double causal_input(const struct causal_conv_args *a, int64_t channel, int64_t at) {
  int64_t before = a->taps - 1;
  if (at >= before)
    return read_f64(&a->x, channel * a->length + at - before);
  return a->past.data ? read_f64(&a->past, channel * before + at) : 0;
}

KERNEL(causal_conv, struct causal_conv_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  int64_t channel = i / a->length, t = i - channel * a->length, own = channel % a->channels;
  double sum = 0, squares = 0;
  for (int64_t k = 0; k < a->taps; k++) {
    double term = read_f64(&a->w, own * a->taps + k) * causal_input(a, channel, t + k);
    sum += term;
    squares += term * term;
  }
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  double start = a->arith.exact ? 0 : start_at(&a->start, i);
  sum = arith_sum_from(&a->arith, &noise, start, sum, squares, (double)a->taps, true);
  if (a->bias.data)
    sum = arith_round(&a->arith, &noise, sum + read_f64(&a->bias, own));
  if (a->swish) {
    double power = arith_round_power(&a->arith, &noise, exp(-sum));
    sum = arith_round(&a->arith, &noise, sum / arith_round(&a->arith, &noise, 1 + power));
  }
  ((double *)a->y)[i] = sum;
}

KERNEL(causal_state, struct causal_conv_args) {
  int64_t i = THREAD;
  if (i >= a->states)
    return;
  int64_t channel = i / (a->taps - 1), k = i - channel * (a->taps - 1);
  ((double *)a->state)[i] = causal_input(a, channel, a->length + k);
}
