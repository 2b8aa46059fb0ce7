// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and pooling against loops that scatter or gather one product at a time.
#include "op_case.h"

#include "ops/conv_core.h"

enum { SPATIAL = 3 };

// One convolution in three spatial dimensions (fewer: extents of 1).
struct problem {
  int spatial;
  int64_t n, c, m, groups, in[SPATIAL], k[SPATIAL], stride[SPATIAL], dilation[SPATIAL], begin[SPATIAL], end[SPATIAL],
      extra[SPATIAL];
  bool bias;
};

// 1 or what the problem says, for dimensions that it does not have.
static int64_t dim_of(const struct problem *p, const int64_t *values, int i, int64_t none) {
  return i < SPATIAL - p->spatial ? none : values[i - (SPATIAL - p->spatial)];
}

struct flat {
  int64_t in[SPATIAL], out[SPATIAL], k[SPATIAL], s[SPATIAL], d[SPATIAL], b[SPATIAL];
};

static struct flat flatten(const struct problem *p, const struct shape *y) {
  struct flat f;
  for (int i = 0; i < SPATIAL; i++) {
    f.in[i] = dim_of(p, p->in, i, 1);
    f.k[i] = dim_of(p, p->k, i, 1);
    f.s[i] = dim_of(p, p->stride, i, 1);
    f.d[i] = dim_of(p, p->dilation, i, 1);
    f.b[i] = dim_of(p, p->begin, i, 0);
    f.out[i] = dim_of(p, y->dims + 2, i, 1);
  }
  return f;
}

// Every pair of an "image side" position i and a kernel element k belongs to the "windowed side" position
// i * stride + k * dilation - begin. A convolution sums into i, a transposed one into the other.
static void naive(const struct problem *p, const struct flat *f, bool transposed, const double *x, const double *w,
                  const double *bias, long double *y) {
  const int64_t *small = transposed ? f->in : f->out, *large = transposed ? f->out : f->in;
  int64_t cg = p->c / p->groups, mg = p->m / p->groups;
  int64_t ks = f->k[0] * f->k[1] * f->k[2], ss = small[0] * small[1] * small[2], ls = large[0] * large[1] * large[2];
  int64_t os = transposed ? ls : ss;
  for (int64_t i = 0; i < p->n * p->m * os; i++)
    y[i] = bias ? bias[i / os % p->m] : 0;
  for (int64_t n = 0; n < p->n; n++)
    for (int64_t m = 0; m < p->m; m++)
      for (int64_t c = 0; c < cg; c++)
        for (int64_t i = 0; i < ss; i++)
          for (int64_t k = 0; k < ks; k++) {
            int64_t iz = i / small[2] / small[1], iy = i / small[2] % small[1], ix = i % small[2];
            int64_t kz = k / f->k[2] / f->k[1], ky = k / f->k[2] % f->k[1], kx = k % f->k[2];
            int64_t z = iz * f->s[0] + kz * f->d[0] - f->b[0], yy = iy * f->s[1] + ky * f->d[1] - f->b[1],
                    xx = ix * f->s[2] + kx * f->d[2] - f->b[2];
            if (z < 0 || yy < 0 || xx < 0 || z >= large[0] || yy >= large[1] || xx >= large[2])
              continue;
            int64_t l = (z * large[1] + yy) * large[2] + xx, g = m / mg, ci = g * cg + c;
            if (transposed)
              y[(n * p->m + m) * ls + l] += (long double)x[(n * p->c + ci) * ss + i] * w[(ci * mg + m % mg) * ks + k];
            else
              y[(n * p->m + m) * ss + i] += (long double)x[(n * p->c + ci) * ls + l] * w[(m * cg + c) * ks + k];
          }
}

static void problem_case(const struct problem *p, bool transposed, struct op_case *c) {
  int64_t dims[SPATIAL + 2] = {p->n, p->c}, weights[SPATIAL + 2], pads[2 * SPATIAL];
  case_begin(c, "", transposed ? "ConvTranspose" : "Conv", 11);
  weights[0] = transposed ? p->c : p->m;
  weights[1] = (transposed ? p->m : p->c) / p->groups;
  for (int i = 0; i < p->spatial; i++) {
    dims[i + 2] = p->in[i];
    weights[i + 2] = p->k[i];
    pads[i] = p->begin[i];
    pads[p->spatial + i] = p->end[i];
  }
  case_float_input(c, 1, -1, 1, p->spatial + 2, dims);
  case_float_input(c, 2, -1, 1, p->spatial + 2, weights);
  if (p->bias)
    case_float_input(c, 3, -1, 1, DIMS(p->m));
  case_ints(c, "strides", p->spatial, p->stride);
  case_ints(c, "dilations", p->spatial, p->dilation);
  case_ints(c, "pads", 2 * p->spatial, pads);
  case_int(c, "group", p->groups);
  if (transposed)
    case_ints(c, "output_padding", p->spatial, p->extra);
}

static const struct problem problems[] = {
    {1, 2, 3, 4, 1, {11}, {3}, {1}, {1}, {0}, {0}, {0}, true},
    {1, 2, 4, 6, 2, {13}, {3}, {2}, {2}, {2}, {1}, {1}, false},
    {1, 1, 3, 9, 3, {2500}, {5}, {1}, {3}, {6}, {6}, {0}, true}, // rows longer than one line
    {2, 2, 3, 5, 1, {8, 9}, {3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, {0, 0}, true},
    {2, 1, 4, 4, 4, {7, 10}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, {0, 3}, {1, 0}, false}, // depthwise
    {2, 2, 6, 8, 2, {12, 11}, {3, 5}, {2, 3}, {2, 1}, {1, 2}, {2, 1}, {1, 2}, true},
    {2, 1, 2, 3, 1, {6, 5}, {1, 1}, {3, 2}, {1, 1}, {0, 0}, {0, 0}, {2, 1}, false}, // outputs without any tap
    {3, 1, 2, 3, 1, {5, 6, 7}, {3, 1, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 1}, {1, 0, 1}, {0, 1, 0}, true},
    {2, 2, 16, 24, 1, {20, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, true}, // big enough for the product
    {2, 1, 32, 16, 2, {24, 40}, {3, 5}, {2, 3}, {2, 1}, {1, 2}, {1, 2}, {1, 0}, false},
    {3, 1, 8, 12, 1, {8, 9, 10}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, true},
    // A tile of 4096 positions ends two elements into a row of 89, which is less than the kernel reaches back.
    {2, 1, 2, 4, 1, {58, 83}, {3, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {0, 0}, true},
    // The padding is wider than a row of the output.
    {2, 2, 16, 24, 1, {20, 3}, {3, 11}, {1, 1}, {1, 1}, {1, 5}, {1, 5}, {0, 0}, true},
    {1, 2, 32, 8, 2, {4}, {5}, {2}, {6}, {16}, {14}, {0}, false},
};

static void check_problem(const struct problem *p, bool transposed) {
  struct op_case c;
  problem_case(p, transposed, &c);
  case_run(&c, case_exact(), 2);
  struct flat f = flatten(p, &c.out[0].shape);
  int64_t n = shape_count(&c.out[0].shape);
  for (int i = 0; i < SPATIAL; i++) {
    int64_t reach = (f.k[i] - 1) * f.d[i] + 1, end = dim_of(p, p->end, i, 0), extra = dim_of(p, p->extra, i, 0);
    int64_t want = transposed ? (f.in[i] - 1) * f.s[i] + extra + reach - f.b[i] - end
                              : (f.in[i] + f.b[i] + end - reach) / f.s[i] + 1;
    assert_int_equal(f.out[i], want);
  }
  long double *sums = arena_calloc(&c.arena, (size_t)n, sizeof *sums);
  double *want = arena_calloc(&c.arena, (size_t)n, sizeof *want);
  naive(p, &f, transposed, c.in[0].f64, c.in[1].f64, p->bias ? c.in[2].f64 : NULL, sums);
  for (int64_t i = 0; i < n; i++)
    want[i] = (double)sums[i];
  assert_close(c.out[0].f64, want, n, 1e-13);
  case_check_threads(&c);
  case_end(&c);
}

static void test_conv(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
    check_problem(&problems[i], false);
}

static void test_conv_transpose(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
    check_problem(&problems[i], true);
}

// A range of taps is what the definition says, and never leaves what was asked about.
static void check_range(const struct taps *t, int64_t i, int64_t begin, int64_t end) {
  int64_t from, to;
  taps_range(t, i, begin, end, &from, &to);
  assert_true(begin <= from && from <= to && to <= end);
  for (int64_t q = begin; q < end; q++) {
    int64_t at = q * t->in_step + t->offset[i];
    assert_int_equal(q >= from && q < to, at >= 0 && at < t->in);
  }
}

static void check_taps(const struct taps *t) {
  for (int64_t i = 0; i < t->n; i++)
    for (int64_t begin = 0; begin <= t->count; begin++)
      for (int64_t end = begin; end <= t->count; end++)
        check_range(t, i, begin, end);
}

static void test_taps_range(void **state) {
  (void)state;
  for (int i = 0; i < 6 * 4 * 3 * 3 * 5; i++) {
    struct arena arena = {0};
    struct taps t;
    struct window_dim d = {.in = 1 + i % 6,
                           .kernel = 1 + i / 6 % 4,
                           .stride = 1 + i / 24 % 3,
                           .dilation = 1 + i / 72 % 3,
                           .pad_begin = i / 216};
    int64_t reach = (d.kernel - 1) * d.dilation + 1;
    d.pad_end = reach > d.in + d.pad_begin ? reach - d.in - d.pad_begin : 1;
    d.out = (d.in + d.pad_begin + d.pad_end - reach) / d.stride + 1;
    assert_true(taps_forward(&d, &arena, &t));
    check_taps(&t);
    d.out = (d.in - 1) * d.stride + reach - d.pad_begin;
    for (int64_t residue = 0; residue < d.stride && d.out > 0; residue++) {
      assert_true(taps_transposed(&d, residue, &arena, &t));
      check_taps(&t);
    }
    arena_release(&arena);
  }
}

// Everything of a convolution that conv_run wants, but for where the result goes.
static struct conv problem_conv(const struct problem *p, bool transposed, struct op_case *c, const struct arith *a) {
  struct conv conv = {.batch = p->n,
                      .groups = p->groups,
                      .c = p->c / p->groups,
                      .m = p->m / p->groups,
                      .transposed = transposed,
                      .x = c->in[0].f64,
                      .w = c->in[1].f64,
                      .bias = p->bias ? c->in[2].f64 : NULL,
                      .arith = a,
                      .threads = 2};
  struct op_infer infer = {.node = &c->node, .n_in = 2, .n_out = 1, .in = c->in_list, .out = c->out};
  assert_int_equal(
      (transposed ? window_read_transposed : window_read)(&infer, c->in[1].shape.dims + 2, &conv.window, NULL),
      ASSAY_OK);
  return conv;
}

// Wherever a tile begins and ends, the product is the same: tiles of every size up to a few rows.
static void test_tiles(void **state) {
  (void)state;
  struct arith exact = case_exact();
  for (size_t i = 0; i < 2 * (sizeof problems / sizeof problems[0]); i++) {
    struct op_case c;
    const struct problem *p = &problems[i / 2];
    problem_case(p, i % 2, &c);
    case_run(&c, case_exact(), 1);
    int64_t n = shape_count(&c.out[0].shape), row = c.out[0].shape.dims[p->spatial + 1];
    struct conv conv = problem_conv(p, i % 2, &c, &exact);
    double *loops = arena_calloc(&c.arena, (size_t)n, sizeof *loops);
    conv.y = loops;
    assert_int_equal(conv_run(&conv, CONV_LOOPS, NULL), ASSAY_OK);
    conv.y = arena_calloc(&c.arena, (size_t)n, sizeof *conv.y);
    // Few tiles are small ones: of long rows only the sizes around a row's end.
    for (conv.tile = row > 100 ? row - 20 : 1; conv.tile <= 2 * row + 2 && conv.tile < row + 50; conv.tile++) {
      memset(conv.y, 0x5a, (size_t)n * sizeof *conv.y);
      assert_int_equal(conv_run(&conv, CONV_PRODUCT, NULL), ASSAY_OK);
      assert_close(conv.y, loops, n, 1e-13);
    }
    case_end(&c);
  }
}

// The loops are the reference of the matrix product: sums and their squares agree whichever way is taken.
static void test_ways_agree(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
    for (int transposed = 0; transposed < 2; transposed++) {
      struct op_case c;
      const struct problem *p = &problems[i];
      problem_case(p, transposed, &c);
      case_run(&c, case_exact(), 1);
      int64_t n = shape_count(&c.out[0].shape);
      struct arith exact = case_exact();
      struct conv conv = problem_conv(p, transposed, &c, &exact);
      double *loops = arena_calloc(&c.arena, (size_t)n, sizeof *loops);
      double *product = arena_calloc(&c.arena, (size_t)n, sizeof *product);
      conv.y = loops;
      assert_int_equal(conv_run(&conv, CONV_LOOPS, NULL), ASSAY_OK);
      conv.y = product;
      assert_int_equal(conv_run(&conv, CONV_PRODUCT, NULL), ASSAY_OK);
      assert_close(loops, c.out[0].f64, n, 1e-13);
      assert_close(product, loops, n, 1e-13);
      // The spread of both in a contract pass comes from the same variance. Its estimates from 32 n squares of nearly
      // normal deviates differ by 1/sqrt(2n) or so, more where a few elements carry most of the sum.
      double spread[2] = {0};
      for (uint64_t pass = 0; pass < 32; pass++) {
        struct arith fp32 = case_fp32(pass);
        conv.arith = &fp32;
        for (int way = 0; way < 2; way++) {
          conv.y = product;
          assert_int_equal(conv_run(&conv, way ? CONV_PRODUCT : CONV_LOOPS, NULL), ASSAY_OK);
          for (int64_t j = 0; j < n; j++)
            spread[way] += (product[j] - loops[j]) * (product[j] - loops[j]);
        }
      }
      assert_true(fabs(spread[0] / spread[1] - 1) < 6 / sqrt((double)n * 4));
      case_end(&c);
    }
}

static void test_auto_pad(void **state) {
  (void)state;
  static const struct {
    const char *auto_pad;
    int64_t begin, end;
  } cases[] = {{"SAME_UPPER", 1, 2}, {"SAME_LOWER", 2, 1}, {"VALID", 0, 0}};
  for (size_t i = 0; i < 3; i++) {
    struct op_case c, explicit_pads;
    case_begin(&c, "", "Conv", 11);
    case_float_input(&c, 1, -1, 1, DIMS(1, 2, 9));
    case_float_input(&c, 2, -1, 1, DIMS(3, 2, 4));
    case_string(&c, "auto_pad", cases[i].auto_pad);
    case_run(&c, case_exact(), 1);
    case_begin(&explicit_pads, "", "Conv", 11);
    case_float_input(&explicit_pads, 1, -1, 1, DIMS(1, 2, 9));
    case_float_input(&explicit_pads, 2, -1, 1, DIMS(3, 2, 4));
    case_ints(&explicit_pads, "pads", 2, (const int64_t[]){cases[i].begin, cases[i].end});
    case_run(&explicit_pads, case_exact(), 1);
    assert_true(shape_equal(&c.out[0].shape, &explicit_pads.out[0].shape));
    assert_memory_equal(c.out[0].f64, explicit_pads.out[0].f64, (size_t)shape_count(&c.out[0].shape) * 8);
    case_end(&c);
    case_end(&explicit_pads);
  }
}

static void test_output_shape(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "ConvTranspose", 11);
  case_float_input(&c, 1, -1, 1, DIMS(1, 1, 3, 3));
  case_float_input(&c, 2, -1, 1, DIMS(1, 2, 3, 3));
  case_ints(&c, "strides", 2, (const int64_t[]){3, 2});
  case_ints(&c, "output_shape", 2, (const int64_t[]){10, 8});
  case_run(&c, case_exact(), 1);
  struct shape want = shape_of(DIMS(1, 2, 10, 8));
  assert_true(shape_equal(&c.out[0].shape, &want));
  case_end(&c);
}

// A 3x3 image less 1 under 2x2 ones, with a border: onnx's test_convinteger_with_padding, and weights less a zero point
// of each channel.
static void test_integers(void **state) {
  (void)state;
  static const int64_t image[] = {2, 3, 4, 5, 6, 7, 8, 9, 10};
  static const int64_t want[] = {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9};
  struct op_case c;
  case_begin(&c, "", "ConvInteger", 10);
  memcpy(case_input(&c, DTYPE_UINT8, DIMS(1, 1, 3, 3))->i64, image, sizeof image);
  struct array *w = case_input(&c, DTYPE_INT8, DIMS(2, 1, 2, 2));
  for (int i = 0; i < 8; i++)
    w->i64[i] = i < 4 ? 1 : -1;
  case_input(&c, DTYPE_UINT8, DIMS(1))->i64[0] = 1;
  struct array *zero = case_input(&c, DTYPE_INT8, DIMS(2));
  zero->i64[0] = 0;
  zero->i64[1] = -3;
  case_ints(&c, "pads", 4, (const int64_t[]){1, 1, 1, 1});
  case_run(&c, case_exact(), 2);
  for (int i = 0; i < 16; i++) {
    assert_int_equal(c.out[0].i64[i], want[i]);
    assert_int_equal(c.out[0].i64[16 + i], 2 * want[i]);
  }
  case_end(&c);
}

static void test_errors(void **state) {
  (void)state;
  static const struct {
    int64_t weights[4], pads[4], groups;
    const char *says;
  } cases[] = {
      {{4, 2, 3, 3}, {0}, 1, "weights [4,2,3,3] do not fit 3 channels"},
      {{4, 3, 9, 3}, {0}, 1, "the window reaches over 9 elements"},
      {{4, 3, 3, 3}, {-1, 0, 0, 0}, 1, "pads: -1"},
      {{4, 3, 3, 3}, {0}, 2, "group = 2 does not divide"},
      {{4, 3, 3, 3}, {0}, 0, "group = 0 does not divide"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct op_case c;
    case_begin(&c, "", "Conv", 11);
    case_float_input(&c, 1, -1, 1, DIMS(1, 3, 8, 8));
    case_float_input(&c, 2, -1, 1, 4, cases[i].weights);
    case_ints(&c, "pads", 4, cases[i].pads);
    case_int(&c, "group", cases[i].groups);
    assert_int_equal(case_infer(&c), ASSAY_ERR_INVALID);
    if (!strstr(c.err.message, cases[i].says))
      fail_msg("\"%s\" does not say \"%s\"", c.err.message, cases[i].says);
    case_end(&c);
  }
}

// A naive fp32 convolution: one running sum for each output, padding skipped.
static void test_honest_fp32(void **state) {
  (void)state;
  for (int positive = 0; positive < 2; positive++) {
    enum { C = 16, M = 8, H = 12, W = 14 };
    struct op_case c;
    float y[M * H * W];
    double ratio;
    case_begin(&c, "", "Conv", 11);
    case_float_input(&c, 1, positive ? 0 : -1, 1, DIMS(1, C, H, W));
    case_float_input(&c, 2, positive ? 0 : -1, 1, DIMS(M, C, 3, 3));
    case_ints(&c, "pads", 4, (const int64_t[]){1, 1, 1, 1});
    for (int m = 0; m < M; m++)
      for (int i = 0; i < H; i++)
        for (int j = 0; j < W; j++) {
          float sum = 0;
          for (int k = 0; k < C; k++)
            for (int t = 0; t < 9; t++) {
              int a = i + t / 3 - 1, b = j + t % 3 - 1;
              if (a < 0 || b < 0 || a >= H || b >= W)
                continue;
              float p = (float)c.in[0].f64[(k * H + a) * W + b] * (float)c.in[1].f64[(m * C + k) * 9 + t];
              sum += p;
            }
          y[(m * H + i) * W + j] = sum;
        }
    assert_true(case_honest_z(&c, 0, y, &ratio) < 6);
    assert_true(ratio < 20);
    case_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_integers),   cmocka_unit_test(test_conv),        cmocka_unit_test(test_conv_transpose),
      cmocka_unit_test(test_ways_agree), cmocka_unit_test(test_auto_pad),    cmocka_unit_test(test_output_shape),
      cmocka_unit_test(test_errors),     cmocka_unit_test(test_honest_fp32), cmocka_unit_test(test_taps_range),
      cmocka_unit_test(test_tiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
