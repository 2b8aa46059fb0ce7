// SPDX-License-Identifier: Apache-2.0
// modules: oracle/cuda
// Matrix products, convolutions, pooling and resizing on a device, against the oracle on the CPU: the exact pass to
// rounding, the closed form of the error as exactly, and contract passes by the spread that they show. Runs on the host
// backend, that is, the very text that a GPU runs.
#include "host_device.h"
#include "op_case.h"

#include "compute/compute.h"
#include "oracle/cuda/conv.h"

enum { GPU_PASSES = 24 };

static struct compute *device;
static gpu_eval_fn *device_eval; // instead of the operator's own, where not NULL

static int open_device(void **state) {
  (void)state;
  struct compute_options o = host_device_options();
  struct assay_error err = {0};
  if (compute_open_host(&o, &device, &err) != ASSAY_OK) {
    print_error("%s\n", err.message);
    return -1;
  }
  return 0;
}

static int close_device(void **state) {
  (void)state;
  compute_close(device);
  return 0;
}

static void need(enum assay_status status, const struct assay_error *err) {
  if (status != ASSAY_OK)
    fail_msg("%s", err->message);
}

// An input as the candidate would see it: floats as float, half as 16 bits, integers in their own width.
static void *stored(const struct array *a, enum gpu_storage s, size_t *bytes) {
  int64_t n = shape_count(&a->shape);
  size_t size = gpu_storage_bytes(s);
  unsigned char *p = base_alloc((size_t)(n + 1) * size);
  assert_non_null(p);
  for (int64_t i = 0; i < n; i++)
    if (s == GPU_F32) {
      float f = (float)a->f64[i];
      memcpy(p + (size_t)i * size, &f, size);
    } else if (s == GPU_BF16) {
      float f = (float)a->f64[i];
      memcpy(p + (size_t)i * size, (unsigned char *)&f + 2, size);
    } else {
      memcpy(p + (size_t)i * size, &a->bits[i], size); // little-endian: the low bytes of an integer
    }
  *bytes = (size_t)n * size;
  return p;
}

struct on_device {
  struct gpu_array in[CASE_INPUTS], out[CASE_INPUTS];
  const struct gpu_array *in_list[CASE_INPUTS];
  struct gpu_eval eval;
  float *sigma; // of output 0, where asked for
};

static void device_inputs(const struct op_case *c, struct on_device *d) {
  struct assay_error err = {0};
  for (int i = 0; i < c->node.n_inputs; i++) {
    if (!c->in_list[i])
      continue;
    struct gpu_array *a = &d->in[i];
    size_t bytes;
    *a = (struct gpu_array){.dtype = c->in[i].dtype, .shape = c->in[i].shape};
    need(gpu_storage_of(a->dtype, &a->storage, &err), &err);
    void *host = stored(&c->in[i], a->storage, &bytes);
    need(compute_alloc(device, bytes + 1, &a->data, &err), &err);
    need(bytes ? compute_upload(device, a->data, host, bytes, &err) : ASSAY_OK, &err);
    base_free(host);
    d->in_list[i] = a;
  }
}

// One evaluation; the outputs are on the host, in values[i].
static void device_run(struct op_case *c, struct arith arith, bool want_sigma, struct on_device *d, uint64_t **values) {
  struct assay_error err = {0};
  memset(d, 0, sizeof *d);
  device_inputs(c, d);
  int64_t n0 = shape_count(&c->out[0].shape);
  for (int i = 0; i < c->node.n_outputs; i++) {
    struct gpu_array *a = &d->out[i];
    *a = (struct gpu_array){.dtype = c->out[i].dtype, .shape = c->out[i].shape};
    a->storage = dtype_is_float(a->dtype) ? GPU_F64 : GPU_I64;
    size_t bytes = (size_t)shape_count(&a->shape) * 8;
    need(compute_alloc(device, bytes + 8, &a->data, &err), &err);
    need(compute_set32(device, a->data, 0x5a5a5a5a, bytes / 4, &err), &err);
  }
  d->eval = (struct gpu_eval){.compute = device,
                              .node = &c->node,
                              .n_in = c->node.n_inputs,
                              .n_out = c->node.n_outputs,
                              .in = d->in_list,
                              .out = d->out,
                              .arith = arith};
  if (want_sigma)
    need(compute_alloc(device, (size_t)(n0 + 1) * 4, &d->eval.sigma, &err), &err);
  gpu_eval_fn *eval = device_eval ? device_eval : gpu_find(c->node.op);
  assert_non_null(eval);
  need(eval(&d->eval, &err), &err);
  need(compute_sync(device, &err), &err);
  for (int i = 0; i < c->node.n_outputs; i++) {
    size_t bytes = (size_t)shape_count(&d->out[i].shape) * 8;
    values[i] = arena_alloc(&c->arena, bytes + 8);
    need(bytes ? compute_download(device, values[i], d->out[i].data, bytes, &err) : ASSAY_OK, &err);
    compute_free(device, d->out[i].data);
  }
  if (want_sigma) {
    d->sigma = arena_alloc(&c->arena, (size_t)(n0 + 1) * 4);
    need(compute_download(device, d->sigma, d->eval.sigma, (size_t)n0 * 4, &err), &err);
    compute_free(device, d->eval.sigma);
  }
  for (int i = 0; i < d->eval.n_temporaries; i++)
    compute_free(device, d->eval.temporaries[i]);
  for (int i = 0; i < c->node.n_inputs; i++)
    compute_free(device, d->in[i].data);
}

// What the exact pass gives on the device is what it gives on the CPU: integers equal, floats to the rounding of sums.
static void check_exact(struct op_case *c) {
  struct on_device d;
  uint64_t *got[CASE_INPUTS];
  case_run(c, case_exact(), 2);
  device_run(c, case_exact(), false, &d, got);
  for (int o = 0; o < c->node.n_outputs; o++) {
    const struct array *want = &c->out[o];
    int64_t n = shape_count(&want->shape);
    if (dtype_is_float(want->dtype))
      assert_close((const double *)(void *)got[o], want->f64, n, 1e-12);
    else
      assert_memory_equal(got[o], want->bits, (size_t)n * 8);
  }
}

// The mean square deviation of contract passes from the exact one, over all elements.
static double spread_of(struct op_case *c, bool on_device) {
  struct on_device d;
  uint64_t *got[CASE_INPUTS];
  case_run(c, case_exact(), 2);
  const double *exact = c->out[0].f64;
  int64_t n = shape_count(&c->out[0].shape);
  double sum = 0;
  for (uint64_t k = 0; k < GPU_PASSES; k++) {
    struct arith arith = case_fp32(500 + k);
    if (on_device)
      device_run(c, arith, false, &d, got);
    else
      case_run(c, arith, 2);
    const double *pass = on_device ? (const double *)(void *)got[0] : c->out[0].f64;
    for (int64_t i = 0; i < n; i++)
      if (isfinite(exact[i]))
        sum += (pass[i] - exact[i]) * (pass[i] - exact[i]);
  }
  return sqrt(sum / (double)(n * GPU_PASSES));
}

static void check_spread(struct op_case *c) {
  double cpu = spread_of(c, false), gpu = spread_of(c, true);
  // Not closer than the sample allows: a few dozen elements in GPU_PASSES passes.
  double slack = 4 / sqrt((double)(shape_count(&c->out[0].shape) * GPU_PASSES)) + 0.03;
  if (!(fabs(gpu / cpu - 1) <= slack))
    fail_msg("%s: contract passes deviate by %g on the device, %g on the CPU", c->node.op_type, gpu, cpu);
}

static void check_sigma(struct op_case *c) {
  struct on_device d;
  uint64_t *got[CASE_INPUTS];
  struct arith arith = case_fp32(3);
  case_run(c, arith, 1);
  int64_t n = shape_count(&c->out[0].shape);
  float *want = arena_alloc(&c->arena, (size_t)(n + 1) * sizeof *want);
  struct arena scratch = {0};
  struct op_eval eval = {.node = &c->node,
                         .n_in = c->node.n_inputs,
                         .n_out = c->node.n_outputs,
                         .in = c->in_list,
                         .out = c->out,
                         .arith = arith,
                         .threads = 1,
                         .scratch = &scratch,
                         .sigma = want};
  need(c->node.op->eval(&eval, &c->err), &c->err);
  arena_release(&scratch);
  assert_true(eval.has_sigma);
  device_run(c, arith, true, &d, got);
  assert_true(d.eval.has_sigma);
  assert_close((const double *)(void *)got[0], c->out[0].f64, n, 1e-12);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs((double)d.sigma[i] - (double)want[i]) <= 1e-4 * (double)want[i]))
      fail_msg("%s: sigma %d is %g, want %g", c->node.op_type, (int)i, (double)d.sigma[i], (double)want[i]);
}

static void check_all(struct op_case *c, bool sigma) {
  check_exact(c);
  check_spread(c);
  if (sigma)
    check_sigma(c);
  case_end(c);
}

static void fill_integers(struct array *a, uint64_t seed, int64_t lo, int64_t hi) {
  for (int64_t i = 0; i < shape_count(&a->shape); i++)
    a->i64[i] = lo + (int64_t)(case_random(&seed) % (uint64_t)(hi - lo + 1));
}

// ---- products

static void test_matmul(void **state) {
  (void)state;
  // Ragged, narrow both ways, long sums (split), wide ones; nothing to sum; nothing to make.
  static const int64_t sizes[][3] = {{1, 1, 1},     {3, 5, 7},    {17, 65, 33},   {65, 64, 130}, {130, 7, 5},
                                     {5, 20000, 9}, {1, 3000, 1}, {2, 5000, 300}, {300, 70, 4},  {33, 200, 65},
                                     {4, 0, 3},     {40, 0, 30},  {0, 4, 3},      {96, 1, 64},   {8, 700, 8},
                                     {1, 40, 257},  {257, 40, 1}, {6, 129, 100}};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    int64_t m = sizes[s][0], k = sizes[s][1], n = sizes[s][2];
    struct op_case c;
    case_begin(&c, "", "MatMul", 13);
    case_float_input(&c, 1, -1, 1, DIMS(m, k));
    case_float_input(&c, 2, -1, 2, DIMS(k, n));
    check_exact(&c);
    check_sigma(&c);
    if (m * n > 30 && k > 0 && m * n * k < 100000)
      check_spread(&c);
    case_end(&c);
  }
}

static void test_matmul_batches(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MatMul", 13); // both broadcast
  case_float_input(&c, 1, -1, 1, DIMS(2, 1, 13, 40));
  case_float_input(&c, 2, -1, 1, DIMS(5, 40, 21));
  check_all(&c, true);
  case_begin(&c, "", "MatMul", 13); // one right-hand side
  case_float_input(&c, 1, -1, 1, DIMS(6, 30, 40));
  case_float_input(&c, 2, -1, 1, DIMS(40, 50));
  check_all(&c, true);
  case_begin(&c, "", "MatMul", 13); // one left-hand side
  case_float_input(&c, 1, -1, 1, DIMS(33, 40));
  case_float_input(&c, 2, -1, 1, DIMS(6, 40, 50));
  check_all(&c, true);
  case_begin(&c, "", "MatMul", 13); // narrow batches
  case_float_input(&c, 1, -1, 1, DIMS(7, 3, 1, 50));
  case_float_input(&c, 2, -1, 1, DIMS(3, 50, 3));
  check_all(&c, true);
  case_begin(&c, "", "MatMul", 13); // vectors
  case_float_input(&c, 1, -1, 1, DIMS(70));
  case_float_input(&c, 2, -1, 1, DIMS(3, 70, 11));
  check_all(&c, true);
  case_begin(&c, "", "MatMul", 13);
  case_float_input(&c, 1, -1, 1, DIMS(4, 11, 70));
  case_float_input(&c, 2, -1, 1, DIMS(70));
  check_all(&c, true);
}

static void test_matmul_types(void **state) {
  (void)state;
  struct op_case c;
  case_begin(&c, "", "MatMul", 13);
  case_fill(case_input(&c, DTYPE_DOUBLE, DIMS(20, 30)), 1, -1, 1);
  case_fill(case_input(&c, DTYPE_DOUBLE, DIMS(30, 40)), 2, -1, 1);
  check_all(&c, true);
  case_begin(&c, "", "MatMul", 13);
  for (int i = 0; i < 2; i++) { // multiples of 1/64 below 1 are exact in bfloat16
    struct array *a = case_input(&c, DTYPE_BFLOAT16, DIMS(20, 20));
    for (int64_t l = 0; l < 400; l++)
      a->f64[l] = (double)((l * 37 + i) % 127 - 63) / 64;
  }
  check_all(&c, true);
  static const enum dtype types[] = {DTYPE_INT32, DTYPE_INT64, DTYPE_UINT32, DTYPE_UINT64};
  for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
    case_begin(&c, "", "MatMul", 13);
    fill_integers(case_input(&c, types[t], DIMS(2, 1, 5, 9)), t, 0, INT32_MAX); // wraps
    fill_integers(case_input(&c, types[t], DIMS(3, 9, 6)), t + 10, 0, INT32_MAX);
    check_exact(&c);
    case_end(&c);
  }
}

static void test_matmul_integer(void **state) {
  (void)state;
  for (int zeros = 0; zeros < 3; zeros++) {
    struct op_case c;
    case_begin(&c, "", "MatMulInteger", 10);
    fill_integers(case_input(&c, DTYPE_UINT8, DIMS(3, 4, 9)), 1, 0, 255);
    fill_integers(case_input(&c, DTYPE_INT8, DIMS(9, 6)), 2, -128, 127);
    if (zeros) {
      fill_integers(case_input(&c, DTYPE_UINT8, DIMS(zeros == 1 ? 1 : 4)), 3, 0, 255);
      fill_integers(case_input(&c, DTYPE_INT8, DIMS(zeros == 1 ? 1 : 6)), 4, -128, 127);
    }
    check_exact(&c);
    case_end(&c);
  }
}

static void test_gemm(void **state) {
  (void)state;
  for (int ta = 0; ta < 2; ta++)
    for (int tb = 0; tb < 2; tb++)
      for (int bias = 0; bias < 4; bias++) {
        struct op_case c;
        case_begin(&c, "", "Gemm", 13);
        case_int(&c, "transA", ta);
        case_int(&c, "transB", tb);
        case_float(&c, "alpha", bias == 1 ? 1 : 0.75);
        case_float(&c, "beta", bias == 2 ? 1 : -1.5);
        int64_t k = 41, m = bias == 3 ? 3 : 37, n = 43;
        case_float_input(&c, 1, -1, 1, DIMS(ta ? k : m, ta ? m : k));
        case_float_input(&c, 2, -1, 1, DIMS(tb ? n : k, tb ? k : n));
        if (bias == 1)
          case_float_input(&c, 3, -1, 1, DIMS(n));
        else if (bias > 1)
          case_float_input(&c, 3, -1, 1, DIMS(m, 1));
        check_all(&c, false);
      }
}

struct einsum_case {
  const char *equation;
  int n;
  int64_t dims[3][5]; // ends with 0
};

static void test_einsum(void **state) {
  (void)state;
  static const struct einsum_case cases[] = {
      {"bil,lk->bik", 2, {{3, 21, 40}, {40, 33}}},
      {"bijl,lk->bijk", 2, {{2, 3, 4, 25}, {25, 17}}},
      {"ij,jk->ki", 2, {{20, 30}, {30, 40}}},
      {"bhqd,bkhd->bhqk", 2, {{2, 3, 9, 10}, {2, 11, 3, 10}}},
      {"bhqk,bkhd->bqhd", 2, {{2, 3, 9, 11}, {2, 11, 3, 10}}},
      {"ij,ij->", 2, {{90, 80}, {90, 80}}},
      {"i,j->ij", 2, {{40}, {50}}},
      {"ii->i", 1, {{13, 13}}},
      {"ii->", 1, {{50, 50}}},
      {"ijk->ik", 1, {{5, 300, 7}}},
      {"ijk->kj", 1, {{5, 30, 7}}},
      {"...ij, ...jk, k -> ...i", 3, {{5, 6, 7}, {5, 7, 8}, {8}}},
      {"ij,kj,lj->ikl", 3, {{5, 30}, {6, 30}, {7, 30}}},
      {"ijij,jk->ik", 2, {{6, 7, 6, 7}, {7, 9}}},
      {"ab,cd,ef", 3, {{2, 3}, {3, 4}, {4, 5}}},
  };
  for (size_t s = 0; s < sizeof cases / sizeof cases[0]; s++)
    for (int integers = 0; integers < 2; integers++) {
      struct op_case c;
      case_begin(&c, "", "Einsum", 13);
      case_string(&c, "equation", cases[s].equation);
      for (int i = 0; i < cases[s].n; i++) {
        int rank = 0;
        while (rank < 5 && cases[s].dims[i][rank])
          rank++;
        if (integers)
          fill_integers(case_input(&c, DTYPE_INT32, rank, cases[s].dims[i]), s, -100000, 100000);
        else
          case_float_input(&c, s + 7 * (uint64_t)i, -1, 1, rank, cases[s].dims[i]);
      }
      check_exact(&c);
      if (!integers && shape_count(&c.out[0].shape) > 20 && strchr(cases[s].equation, ','))
        check_spread(&c);
      case_end(&c);
    }
}

// ---- convolutions

struct conv_case {
  int64_t batch, c, m, groups; // channels in all
  int n;
  int64_t in[3], kernel[3], stride[3], dilation[3], pads[6];
  const char *auto_pad;
};

static const struct conv_case convs[] = {
    {2, 3, 8, 1, 2, {13, 17}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL},  // product, borders
    {2, 8, 40, 1, 2, {9, 10}, {3, 2}, {2, 1}, {1, 2}, {1, 0, 2, 1}, NULL},  // ragged everything
    {1, 70, 33, 1, 2, {5, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, NULL},  // pointwise
    {1, 200, 9, 1, 2, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL},  // few columns, long sums: split
    {2, 6, 6, 6, 2, {12, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL},  // depthwise
    {2, 6, 12, 6, 2, {12, 11}, {5, 3}, {2, 2}, {1, 1}, {2, 1, 2, 1}, NULL}, // with a multiplier
    {1, 90, 3, 1, 2, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, NULL},   // few channels, split
    {3, 8, 24, 4, 2, {9, 7}, {3, 3}, {1, 2}, {1, 1}, {1, 1, 1, 1}, NULL},   // groups, wide enough for panels
    {2, 4, 10, 2, 1, {50}, {5}, {3}, {2}, {3, 1}, NULL},                    // one dimension
    {1, 3, 7, 1, 3, {5, 6, 7}, {3, 2, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 1, 1, 1, 2}, NULL},
    {1, 2, 3, 1, 3, {4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0}, "SAME_UPPER"},
    {1, 2, 6, 1, 2, {9, 8}, {4, 4}, {2, 3}, {1, 1}, {0}, "SAME_LOWER"},
    {1, 2, 6, 1, 2, {4, 4}, {2, 2}, {3, 3}, {1, 1}, {0, 0, 0, 0}, NULL}, // steps over elements
};

static void conv_begin(struct op_case *c, const struct conv_case *k, bool transposed, bool bias) {
  int64_t x[5] = {k->batch, k->c}, w[5] = {transposed ? k->c : k->m, (transposed ? k->m : k->c) / k->groups};
  for (int i = 0; i < k->n; i++) {
    x[i + 2] = k->in[i];
    w[i + 2] = k->kernel[i];
  }
  case_begin(c, "", transposed ? "ConvTranspose" : "Conv", 11);
  case_float_input(c, 1, -1, 1, k->n + 2, x);
  case_float_input(c, 2, -1, 1.5, k->n + 2, w);
  if (bias)
    case_float_input(c, 3, -2, 2, DIMS(k->m));
  case_int(c, "group", k->groups);
  case_ints(c, "strides", k->n, k->stride);
  case_ints(c, "dilations", k->n, k->dilation);
  if (k->auto_pad)
    case_string(c, "auto_pad", k->auto_pad);
  else
    case_ints(c, "pads", 2 * k->n, k->pads);
}

static void test_conv(void **state) {
  (void)state;
  for (size_t s = 0; s < sizeof convs / sizeof convs[0]; s++)
    for (int bias = 0; bias < 2; bias++) {
      struct op_case c;
      conv_begin(&c, &convs[s], false, bias);
      check_all(&c, true);
    }
}

static void test_conv_transpose(void **state) {
  (void)state;
  for (size_t s = 0; s < sizeof convs / sizeof convs[0]; s++)
    for (int bias = 0; bias < 2; bias++) {
      struct op_case c;
      conv_begin(&c, &convs[s], true, bias);
      if (bias && !convs[s].auto_pad && convs[s].n == 2 && convs[s].stride[0] > 1)
        case_ints(&c, "output_padding", DIMS(1, 0));
      check_all(&c, true);
    }
}

// ---- pieces: the same with room for a few hundred elements at a time

static const struct product_budget little = {.pack_elements = 2500, .part_elements = 700, .columns = 64};
static const struct product_budget less = {.pack_elements = 100, .part_elements = 30, .columns = 32};

static enum assay_status conv_little(struct gpu_eval *c, struct assay_error *err) {
  return gpu_conv_run(c, strcmp(c->node->op_type, "ConvTranspose") == 0, &little, err);
}
static enum assay_status conv_less(struct gpu_eval *c, struct assay_error *err) {
  return gpu_conv_run(c, strcmp(c->node->op_type, "ConvTranspose") == 0, &less, err);
}

// [batch..., m, k] times [batch..., k, n], batches of both or shared.
static enum assay_status product_in_pieces(struct gpu_eval *c, const struct product_budget *budget,
                                           struct assay_error *err) {
  const int64_t *a = c->in[0]->shape.dims, *b = c->in[1]->shape.dims;
  int64_t batches = c->out[0].shape.dims[0];
  struct product p = {.batches = batches,
                      .m = a[1],
                      .n = b[2],
                      .k = a[2],
                      .a = gpu_ref_of(c->in[0]),
                      .b = gpu_ref_of(c->in[1]),
                      .a_batch = product_line(batches, a[0] == 1 ? 0 : a[1] * a[2]),
                      .a_line = product_line(a[1], a[2]),
                      .a_depth = product_line(a[2], 1),
                      .b_batch = product_line(batches, b[0] == 1 ? 0 : b[1] * b[2]),
                      .b_line = product_line(b[2], 1),
                      .b_depth = product_line(b[1], b[2]),
                      .arith = gpu_arith_of(&c->arith),
                      .out = c->out[0].data,
                      .sigma = c->sigma,
                      .products = true,
                      .sums = true,
                      .alpha = 1,
                      .budget = budget};
  c->has_sigma = c->sigma != 0;
  return product_run(c, &p, err);
}
static enum assay_status product_little(struct gpu_eval *c, struct assay_error *err) {
  return product_in_pieces(c, &little, err);
}
static enum assay_status product_less(struct gpu_eval *c, struct assay_error *err) {
  return product_in_pieces(c, &less, err);
}

static void test_pieces(void **state) {
  (void)state;
  static const int64_t sizes[][5] = {{7, 7, 9, 11, 10}, {5, 1, 40, 20, 130}, {1, 5, 100, 30, 70},
                                     {4, 4, 70, 9, 40}, {9, 9, 2, 300, 30},  {1, 1, 150, 8, 150}};
  static gpu_eval_fn *const products[] = {product_little, product_less}, *const few[] = {conv_little, conv_less};
  for (int b = 0; b < 2; b++) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      struct op_case c;
      case_begin(&c, "", "MatMul", 13);
      case_float_input(&c, 1, -1, 1, DIMS(sizes[s][0], sizes[s][2], sizes[s][3]));
      case_float_input(&c, 2, -1, 2, DIMS(sizes[s][1], sizes[s][3], sizes[s][4]));
      device_eval = products[b];
      check_exact(&c);
      check_sigma(&c);
      case_end(&c);
    }
    for (size_t s = 0; s < 2 * (sizeof convs / sizeof convs[0]); s++) {
      struct op_case c;
      conv_begin(&c, &convs[s / 2], s % 2, true);
      device_eval = few[b];
      check_exact(&c);
      check_sigma(&c);
      case_end(&c);
    }
  }
  device_eval = NULL;
}

// ---- windows

struct pool_case {
  int n;
  int64_t in[3], kernel[3], stride[3], dilation[3], pads[6];
  bool ceil_mode, include_pad;
};

static const struct pool_case pools[] = {
    {2, {8, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, false, false},
    {2, {8, 9}, {2, 4}, {1, 3}, {1, 1}, {1, 2, 0, 1}, false, true},
    {2, {10, 7}, {3, 2}, {2, 2}, {1, 1}, {1, 0, 1, 1}, true, true},
    {2, {10, 12}, {3, 2}, {2, 3}, {2, 3}, {2, 1, 1, 0}, true, false},
    {1, {50}, {8}, {1}, {2}, {4, 4}, false, true},
    {1, {17}, {3}, {2}, {1}, {0, 0}, true, true},
    {3, {5, 6, 7}, {2, 3, 2}, {2, 1, 2}, {1, 2, 1}, {1, 0, 1, 0, 2, 1}, true, false},
    {2, {9, 9}, {9, 9}, {1, 1}, {1, 1}, {0, 0, 0, 0}, false, false},
};

static void pool_attrs(struct op_case *c, const struct pool_case *k) {
  case_ints(c, "kernel_shape", k->n, k->kernel);
  case_ints(c, "strides", k->n, k->stride);
  case_ints(c, "dilations", k->n, k->dilation);
  case_ints(c, "pads", 2 * k->n, k->pads);
  case_int(c, "ceil_mode", k->ceil_mode);
}

static const int64_t *pool_dims(const struct pool_case *k, int64_t *dims) {
  dims[0] = 3;
  dims[1] = 4;
  memcpy(dims + 2, k->in, sizeof k->in);
  return dims;
}

static void test_pool_sums(void **state) {
  (void)state;
  for (size_t s = 0; s < sizeof pools / sizeof pools[0]; s++) {
    const struct pool_case *k = &pools[s];
    int64_t dims[5];
    struct op_case c;
    case_begin(&c, "", "AveragePool", 19);
    case_float_input(&c, 3, -1, 1, k->n + 2, pool_dims(k, dims));
    pool_attrs(&c, k);
    case_int(&c, "count_include_pad", k->include_pad);
    check_all(&c, false);
    for (int64_t p = 1; p <= 3; p++) {
      case_begin(&c, "", "LpPool", 18);
      case_float_input(&c, 3, -1, 1, k->n + 2, pool_dims(k, dims));
      pool_attrs(&c, k);
      case_int(&c, "p", p);
      check_all(&c, false);
    }
  }
}

static void test_pool_max(void **state) {
  (void)state;
  static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_DOUBLE, DTYPE_INT8, DTYPE_UINT8, DTYPE_INT32};
  for (size_t s = 0; s < sizeof pools / sizeof pools[0]; s++)
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
      for (int how = 0; how < 3; how++) { // values, indices, indices by columns
        const struct pool_case *k = &pools[s];
        int64_t dims[5];
        struct op_case c;
        case_begin(&c, "", "MaxPool", 12);
        struct array *x = case_input(&c, types[t], k->n + 2, pool_dims(k, dims));
        if (dtype_is_integer(types[t]))
          fill_integers(x, s, types[t] == DTYPE_UINT8 ? 0 : -5, 5); // ties
        else
          case_fill(x, s, -1, 1);
        if (types[t] == DTYPE_FLOAT) {
          x->f64[3] = (double)NAN;
          x->f64[20] = -INFINITY;
          x->f64[40] = INFINITY;
        }
        pool_attrs(&c, k);
        c.node.n_outputs = how ? 2 : 1;
        case_int(&c, "storage_order", how == 2);
        check_exact(&c);
        case_end(&c);
      }
}

static void test_global_pool(void **state) {
  (void)state;
  static const int64_t shapes[][4] = {{2, 3, 4, 5}, {1, 2, 300, 200}, {40, 50, 3, 3}, {3, 5, 1, 1}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    struct op_case c;
    case_begin(&c, "", "GlobalAveragePool", 13);
    case_float_input(&c, 3, -1, 1, 4, shapes[s]);
    check_exact(&c);
    if (s < 3)
      check_spread(&c);
    case_end(&c);
    case_begin(&c, "", "GlobalMaxPool", 13);
    case_float_input(&c, 3, -1, 1, 4, shapes[s])->f64[1] = (double)NAN;
    check_exact(&c);
    case_end(&c);
    for (int64_t p = 1; p <= 3; p++) {
      case_begin(&c, "", "GlobalLpPool", 13);
      case_float_input(&c, 3, -1, 1, 4, shapes[s]);
      case_int(&c, "p", p);
      check_exact(&c);
      if (s < 3)
        check_spread(&c);
      case_end(&c);
    }
  }
}

static void resize_begin(struct op_case *c, const char *mode, const char *coordinates, enum dtype t) {
  static const double regions[] = {0, 0, -0.2, 0.1, 1, 1, 1.1, 0.8};
  static const double scales[] = {1, 1, 1.6, 0.55};
  case_begin(c, "", "Resize", 19);
  struct array *x = case_input(c, t, DIMS(2, 3, 9, 11));
  if (dtype_is_integer(t))
    fill_integers(x, 1, -100, 100);
  else
    case_fill(x, 1, -1, 1);
  memcpy(case_input(c, DTYPE_FLOAT, DIMS(8))->f64, regions, sizeof regions);
  memcpy(case_input(c, DTYPE_FLOAT, DIMS(4))->f64, scales, sizeof scales);
  for (int i = 0; i < 12; i++) // as floats have them
    *(i < 8 ? &c->in[1].f64[i] : &c->in[2].f64[i - 8]) = (double)(float)(i < 8 ? regions[i] : scales[i - 8]);
  case_string(c, "mode", mode);
  case_string(c, "coordinate_transformation_mode", coordinates);
}

static void test_resize(void **state) {
  (void)state;
  static const char *const modes[] = {"nearest", "linear", "cubic"};
  static const char *const coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                            "asymmetric", "tf_crop_and_resize", "half_pixel_symmetric"};
  for (size_t m = 0; m < 3; m++)
    for (size_t k = 0; k < sizeof coordinates / sizeof coordinates[0]; k++)
      for (int antialias = 0; antialias < 2; antialias++) {
        struct op_case c;
        resize_begin(&c, modes[m], coordinates[k], DTYPE_FLOAT);
        case_float(&c, "extrapolation_value", 7.5);
        case_int(&c, "antialias", antialias);
        case_int(&c, "exclude_outside", antialias && m == 2);
        check_exact(&c);
        if (m > 0 && k == 0)
          check_spread(&c);
        case_end(&c);
      }
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  for (size_t r = 0; r < 4; r++) {
    struct op_case c;
    resize_begin(&c, "nearest", r < 2 ? "half_pixel" : "tf_crop_and_resize", r % 2 ? DTYPE_INT32 : DTYPE_INT8);
    case_string(&c, "nearest_mode", roundings[r]);
    case_float(&c, "extrapolation_value", -3);
    check_exact(&c);
    case_end(&c);
  }
}

static void test_resize_forms(void **state) {
  (void)state;
  static const int64_t sizes[] = {7, 20};
  struct op_case c;
  case_begin(&c, "", "Resize", 19); // sizes of two axes
  case_float_input(&c, 1, -1, 1, DIMS(1, 2, 5, 6));
  case_no_input(&c);
  case_no_input(&c);
  case_int64_input(&c, 2, sizes);
  case_ints(&c, "axes", DIMS(2, 3));
  case_string(&c, "mode", "linear");
  check_all(&c, false);
  static const double ones[] = {1, 1, 1}, twos[] = {1, 2, 3};
  case_begin(&c, "", "Resize", 19); // nothing to do
  case_float_input(&c, 1, -1, 1, DIMS(2, 3, 4));
  case_no_input(&c);
  memcpy(case_input(&c, DTYPE_FLOAT, DIMS(3))->f64, ones, sizeof ones);
  case_string(&c, "mode", "cubic");
  check_exact(&c);
  case_end(&c);
  case_begin(&c, "", "Resize", 13); // an empty region, as exporters write it
  case_float_input(&c, 1, -1, 1, DIMS(2, 3, 4));
  case_input(&c, DTYPE_FLOAT, DIMS(0));
  memcpy(case_input(&c, DTYPE_FLOAT, DIMS(3))->f64, twos, sizeof twos);
  case_string(&c, "mode", "linear");
  check_all(&c, false);
  static const char *const legacy[] = {"Upsample", "Resize"};
  for (int i = 0; i < 2; i++) {
    case_begin(&c, "", legacy[i], i ? 10 : 9);
    case_float_input(&c, 1, -1, 1, DIMS(2, 3, 4));
    memcpy(case_input(&c, DTYPE_FLOAT, DIMS(3))->f64, twos, sizeof twos);
    case_string(&c, "mode", i ? "linear" : "nearest");
    check_exact(&c);
    case_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul),         cmocka_unit_test(test_matmul_batches), cmocka_unit_test(test_matmul_types),
      cmocka_unit_test(test_matmul_integer), cmocka_unit_test(test_gemm),           cmocka_unit_test(test_einsum),
      cmocka_unit_test(test_conv),           cmocka_unit_test(test_conv_transpose), cmocka_unit_test(test_pieces),
      cmocka_unit_test(test_pool_sums),      cmocka_unit_test(test_pool_max),       cmocka_unit_test(test_global_pool),
      cmocka_unit_test(test_resize),         cmocka_unit_test(test_resize_forms),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
