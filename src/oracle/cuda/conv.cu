// SPDX-License-Identifier: Apache-2.0
// Convolutions. Comes after common.cuh and conv_args.h.
//
// With more than a few channels a convolution is the product of its weights with the windows' contents, which are
// copied into panels piece by piece. With few, as in depthwise ones, a thread adds up its windows where they lie.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define UNROLL_ALL _Pragma("unroll")
#else
#define UNROLL_ALL
#endif

#define CONV_DEPTH 32 // terms that a thread copies
#define CONV_ROWS 8 // channels that a thread finishes

struct conv_place {
  int64_t at[CONV_DIMS]; // where the window's tap of offset 0 lies in the input
  int64_t image, base; // base: the same as one offset in a plane
  int inside; // the whole window lies in the input
};

DEVICE_FN struct conv_place conv_place_of(const struct conv_set *s, int64_t column) {
  struct conv_place p;
  p.image = column / s->positions;
  int64_t rest = column - p.image * s->positions, step = 1;
  p.base = 0;
  p.inside = 1;
  UNROLL_ALL
  for (int d = CONV_DIMS - 1; d >= 0; d--) {
    p.at[d] = 0;
    if (d >= CONV_DIMS - s->n) {
      int64_t next = rest / s->count[d];
      p.at[d] = (rest - next * s->count[d]) * s->in_step[d];
      rest = next;
      p.base += p.at[d] * step;
      step *= s->in[d];
      if (p.at[d] + s->low[d] < 0 || p.at[d] + s->high[d] >= s->in[d])
        p.inside = 0;
    }
  }
  return p;
}

// Whether tap t of a window at the border reads inside the input.
DEVICE_FN int conv_reads(const struct conv_set *s, const struct conv_place *p, int64_t t) {
  const int64_t *offset = (const int64_t *)s->offsets + t * CONV_DIMS;
  int inside = 1;
  UNROLL_ALL
  for (int d = 0; d < CONV_DIMS; d++)
    if (d >= CONV_DIMS - s->n) {
      int64_t at = p->at[d] + offset[d];
      if (at < 0 || at >= s->in[d])
        inside = 0;
    }
  return inside;
}

KERNEL(conv_pack, struct conv_pack_args) {
  const struct conv_set *s = &a->set;
  int64_t k = s->channels * s->taps, blocks = (k + CONV_DEPTH - 1) / CONV_DEPTH;
  int64_t lane = THREAD % a->width, rest = THREAD / a->width;
  int64_t panel = rest / blocks, l = (rest - panel * blocks) * CONV_DEPTH, group = panel / a->panels;
  if (group >= a->groups)
    return;
  int64_t column = (panel - group * a->panels) * a->width + lane, end = l + CONV_DEPTH < k ? l + CONV_DEPTH : k;
  double *to = (double *)a->to + (panel * k + l) * a->width + lane;
  if (column >= a->columns) {
    for (; l < end; l++, to += a->width)
      *to = 0;
    return;
  }
  struct conv_place p = conv_place_of(s, a->first_column + column);
  int64_t channel = l / s->taps, t = l - channel * s->taps;
  int64_t plane = (p.image * s->all_channels + (a->first_group + group) * s->channels + channel) * s->in_size + p.base;
  const int64_t *flat = (const int64_t *)s->flat;
  const float *plain = (const float *)(a->x.storage == STORAGE_F32 ? a->x.data : 0);
  for (; l < end; l++, to += a->width) {
    double v = 0;
    if (p.inside || conv_reads(s, &p, t)) {
      int64_t at = plane + flat[t];
      v = plain ? (double)plain[at] : read_f64(&a->x, at);
    }
    *to = v;
    if (++t == s->taps) {
      t = 0;
      plane += s->in_size;
    }
  }
}

KERNEL(conv_direct, struct conv_direct_args) {
  const struct conv_set *s = &a->set;
  int64_t rest = THREAD / a->columns, column = THREAD - rest * a->columns, split = rest / a->groups;
  int64_t group = rest - split * a->groups, channel = split * a->depth;
  if (split >= a->splits)
    return;
  int64_t end = channel + a->depth < s->channels ? channel + a->depth : s->channels;
  struct conv_place p = conv_place_of(s, a->first_column + column);
  double y[CONV_FEW], t2[CONV_FEW];
  UNROLL_ALL
  for (int i = 0; i < CONV_FEW; i++)
    y[i] = t2[i] = 0;
  const int64_t *flat = (const int64_t *)s->flat;
  const float *plain = (const float *)(a->x.storage == STORAGE_F32 ? a->x.data : 0);
  int64_t plane = (p.image * s->all_channels + (a->first_group + group) * s->channels + channel) * s->in_size + p.base;
  const double *w = (const double *)a->w + ((a->first_group + group) * s->channels + channel) * s->taps * CONV_FEW;
  for (; channel < end; channel++, plane += s->in_size)
    for (int64_t t = 0; t < s->taps; t++, w += CONV_FEW) {
      if (!p.inside && !conv_reads(s, &p, t))
        continue;
      int64_t at = plane + flat[t];
      double v = plain ? (double)plain[at] : read_f64(&a->x, at);
      UNROLL_ALL
      for (int i = 0; i < CONV_FEW; i++)
        if (i < a->m) {
          double term = w[i] * v;
          y[i] += term;
          t2[i] += term * term;
        }
    }
  int64_t to = (split * a->groups + group) * a->m * a->columns + column;
  UNROLL_ALL
  for (int i = 0; i < CONV_FEW; i++)
    if (i < a->m) {
      ((double *)a->y)[to + i * a->columns] = y[i];
      if (a->t2)
        ((double *)a->t2)[to + i * a->columns] = t2[i];
    }
}

// Where a column's result lies in a plane of the output, and how many taps of its window read inside the input.
struct conv_result {
  int64_t image, at;
  double inside;
};

DEVICE_FN struct conv_result conv_result_of(const struct conv_set *s, int64_t column) {
  struct conv_result r;
  r.image = column / s->positions;
  int64_t rest = column - r.image * s->positions, step = 1;
  r.at = 0;
  r.inside = 1;
  UNROLL_ALL
  for (int d = CONV_DIMS - 1; d >= 0; d--)
    if (d >= CONV_DIMS - s->n) {
      int64_t next = rest / s->count[d], q = rest - next * s->count[d];
      rest = next;
      r.at += (s->start[d] + q * s->step[d]) * step;
      step *= s->out[d];
      r.inside *= (double)((const int64_t *)s->inside[d])[q];
    }
  return r;
}

KERNEL(conv_norms, struct conv_norms_args) {
  int64_t rest = THREAD / a->channels, channel = THREAD - rest * a->channels, group = rest / a->m;
  int64_t i = rest - group * a->m;
  if (group >= a->groups)
    return;
  int64_t of = a->transposed ? (group * a->channels + channel) * a->m + i : rest * a->channels + channel;
  double sum = 0;
  for (int64_t k = 0; k < a->kernel; k++) {
    double w = read_f64(&a->w, of * a->kernel + k);
    sum += w * w;
  }
  ((double *)a->to)[THREAD] = sum;
}

// For channels [i, end) of a group: what the tiles hold, in out[0 ... end - i).
DEVICE_FN void conv_tiles(const struct conv_finish_args *a, int64_t group, int64_t i, int64_t end, int64_t column,
                          double *out) {
  const struct conv_set *s = &a->set;
  struct conv_place p = conv_place_of(s, column);
  const int64_t *flat = (const int64_t *)s->flat;
  const double *norms = (const double *)a->norms + ((a->first_group + group) * a->m + i) * s->channels;
  int64_t plane = (p.image * s->all_channels + (a->first_group + group) * s->channels) * s->in_size + p.base;
  for (int64_t channel = 0; channel < s->channels; channel++, plane += s->in_size) {
    double squares = 0;
    for (int64_t t = 0; t < s->taps; t++)
      if (p.inside || conv_reads(s, &p, t)) {
        double x = read_f64(&a->x, plane + flat[t]);
        squares += x * x;
      }
    UNROLL_ALL
    for (int k = 0; k < CONV_ROWS; k++)
      if (k < end - i)
        out[k] += norms[k * s->channels + channel] * squares;
  }
}

DEVICE_FN void conv_finish_one(const struct conv_finish_args *a, double y, double t2, double terms, double tile,
                               int64_t channel, int64_t at) {
  double start = a->t2 ? start_at(&a->start, at) : 0;
  if (a->t2 && a->sigma) {
    double variance = fmax(tile, arith_sum_variance_from(&a->arith, start, y, t2, terms, true));
    if (a->bias.data) {
      y += read_f64(&a->bias, channel);
      double half = arith_pow2(-a->arith.bits) * y;
      variance += half * half / 3;
    }
    ((float *)a->sigma)[at] = (float)sqrt(variance);
    ((double *)a->out)[at] = y;
    return;
  }
  struct noise noise = noise_at(a->arith.key, (uint64_t)at);
  if (a->t2)
    y = arith_sum_at_least(&a->arith, &noise, start, y, t2, terms, tile);
  if (a->bias.data)
    y = arith_round(&a->arith, &noise, y + read_f64(&a->bias, channel));
  ((double *)a->out)[at] = y;
}

KERNEL(conv_finish, struct conv_finish_args) {
  const struct conv_set *s = &a->set;
  int64_t blocks = (a->m + CONV_ROWS - 1) / CONV_ROWS, rest = THREAD / a->columns, column = THREAD - rest * a->columns;
  int64_t group = rest / blocks, i = (rest - group * blocks) * CONV_ROWS, size = a->groups * a->m * a->columns;
  if (group >= a->groups)
    return;
  int64_t end = i + CONV_ROWS < a->m ? i + CONV_ROWS : a->m;
  struct conv_result r = conv_result_of(s, a->first_column + column);
  double tiles[CONV_ROWS];
  UNROLL_ALL
  for (int k = 0; k < CONV_ROWS; k++)
    tiles[k] = 0;
  if (a->norms)
    conv_tiles(a, group, i, end, a->first_column + column, tiles);
  for (int64_t first = i; i < end; i++) {
    int64_t from = (group * a->m + i) * a->columns + column, channel = (a->first_group + group) * a->m + i;
    double y = 0, t2 = 0;
    for (int64_t split = 0; split < a->splits; split++, from += size) {
      y += ((const double *)a->y)[from];
      if (a->t2)
        t2 += ((const double *)a->t2)[from];
    }
    double terms = r.inside * (double)s->channels;
    arith_complete_window((double)(s->channels * s->taps), &t2, &terms);
    double tile = a->tile_scale * tiles[i - first];
    conv_finish_one(a, y, t2, terms, IS_FINITE(tile) ? tile : 0, channel,
                    (r.image * a->all_m + channel) * s->out_size + r.at);
  }
}
