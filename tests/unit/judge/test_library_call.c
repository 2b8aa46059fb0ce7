// SPDX-License-Identifier: Apache-2.0
// Tasks as calls of libraries: which tasks of level 1 are one, that the call computes what the oracle says (by plain
// loops that read the call as BLAS and cuDNN do), and what happens to the others.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "judge/library_call.h"
#include "oracle/oracle.h"

#define ROOT ASSAY_SOURCE_DIR "/tasks"

// ---- what a library would compute

static double element(const struct library_matrix *m, const double *data, int64_t z, int64_t row, int64_t column) {
  int64_t at = m->transposed ? column + row * m->ld : row + column * m->ld;
  return data[z * m->stride + at];
}

static void compute_product(const struct library_product *p, double *const *in, double *out) {
  for (int64_t z = 0; z < p->batch; z++)
    for (int64_t j = 0; j < p->n; j++)
      for (int64_t i = 0; i < p->m; i++) {
        double sum = 0;
        for (int64_t l = 0; l < p->k; l++)
          sum += element(&p->a, in[p->a.input], z, i, l) * element(&p->b, in[p->b.input], z, l, j);
        sum *= p->alpha;
        sum += p->c.input >= 0 ? p->beta * element(&p->c, in[p->c.input], z, i, j) : 0;
        sum += p->bias >= 0 ? in[p->bias][i] : 0;
        out[z * p->d.stride + i + j * p->d.ld] = sum;
      }
}

struct position {
  int64_t at[LIBRARY_SPACE];
};

static bool next(struct position *p, const int64_t *extents, int n) {
  for (int i = n - 1; i >= 0; i--) {
    if (++p->at[i] < extents[i])
      return true;
    p->at[i] = 0;
  }
  return false;
}

static int64_t offset(const struct position *p, const int64_t *extents, int n) {
  int64_t sum = 0;
  for (int i = 0; i < n; i++)
    sum = sum * extents[i] + p->at[i];
  return sum;
}

// Every term of the convolution that reads `read` and writes `written`, which a transposed one has the other way round.
static void compute_convolution(const struct library_convolution *c, double *const *in, double *out) {
  const int64_t *read = c->transposed ? c->y : c->x, *written = c->transposed ? c->x : c->y;
  int n = c->space;
  int64_t positions = 1, per_group = c->w[1], group_of = c->w[0] / c->groups, taps = 1;
  for (int i = 0; i < n; i++)
    taps *= c->w[i + 2];
  for (int i = 0; i < n; i++)
    positions *= c->y[i + 2];
  for (int64_t i = 0; i < c->y[0] * c->y[1] * positions; i++)
    out[i] = c->bias >= 0 ? in[c->bias][i / positions % c->y[1]] : 0;
  int64_t read_size = 1, written_size = 1;
  for (int i = 0; i < n; i++) {
    read_size *= read[i + 2];
    written_size *= written[i + 2];
  }
  for (int64_t image = 0; image < c->x[0]; image++)
    for (int64_t k = 0; k < c->w[0]; k++)
      for (int64_t ch = 0; ch < per_group; ch++) {
        struct position q = {{0}};
        do {
          struct position tap = {{0}}, r;
          do {
            bool inside = true;
            for (int i = 0; i < n; i++) {
              r.at[i] = q.at[i] * c->strides[i] - c->pads[i] + tap.at[i] * c->dilations[i];
              inside = inside && r.at[i] >= 0 && r.at[i] < read[i + 2];
            }
            if (!inside)
              continue;
            int64_t channel = k / group_of * per_group + ch;
            int64_t at_read = (image * read[1] + channel) * read_size + offset(&r, read + 2, n);
            int64_t at_written = (image * written[1] + k) * written_size + offset(&q, written + 2, n);
            double w = in[c->w_input][(k * per_group + ch) * taps + offset(&tap, c->w + 2, n)];
            if (c->transposed)
              out[at_read] += in[c->x_input][at_written] * w;
            else
              out[at_written] += in[c->x_input][at_read] * w;
          } while (next(&tap, c->w + 2, n));
        } while (next(&q, written + 2, n));
      }
}

// ---- against the oracle

static void compare_one(const struct task *t, const struct workload *w, const struct library_call *c, bool product) {
  enum { MOST = 8 };
  struct array inputs[MOST] = {0}, output = {0};
  void *buffers[MOST];
  double *in[MOST];
  struct assay_error err = {0};
  assert_true(t->n_inputs <= MOST);
  assert_int_equal(task_input_shapes(t, w, inputs, &err), ASSAY_OK);
  for (int i = 0; i < t->n_inputs; i++) {
    int64_t n = shape_count(&inputs[i].shape);
    enum dtype dtype = inputs[i].dtype;
    struct shape shape = inputs[i].shape;
    assert_int_equal(array_create(dtype, &shape, &inputs[i], &err), ASSAY_OK);
    assert_non_null(buffers[i] = malloc((size_t)n * dtype_bytes(dtype)));
  }
  assert_int_equal(task_make_inputs(t, w, PROBE_DECLARED, 7, 1, buffers, &err), ASSAY_OK);
  for (int i = 0; i < t->n_inputs; i++) {
    dtype_to_f64(inputs[i].dtype, buffers[i], shape_count(&inputs[i].shape), inputs[i].f64);
    in[i] = inputs[i].f64;
  }
  const struct oracle_request request = {
      .graph = &t->model.flat, .inputs = inputs, .arith = arith_exact(), .threads = 1};
  assert_int_equal(oracle_eval(&request, &output, &err), ASSAY_OK);
  int64_t n = shape_count(&output.shape);
  double *y = malloc((size_t)n * sizeof *y);
  assert_non_null(y);
  for (int64_t i = 0; i < n; i++)
    y[i] = NAN;
  if (product)
    compute_product(&c->product, in, y);
  else
    compute_convolution(&c->convolution, in, y);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs(y[i] - output.f64[i]) <= 1e-9 * (1 + fabs(output.f64[i]))))
      fail_msg("%s, %s: element %lld is %g, not %g", t->name, w->name, (long long)i, y[i], output.f64[i]);
  free(y);
  array_release(&output);
  for (int i = 0; i < t->n_inputs; i++) {
    array_release(&inputs[i]);
    free(buffers[i]);
  }
}

static void compare(const struct task *t, const struct workload *w, const struct library_call *c) {
  assert_true(c->has_product || c->has_convolution);
  if (c->has_product)
    compare_one(t, w, c, true);
  if (c->has_convolution)
    compare_one(t, w, c, false);
}

// How many of these tasks are one call, and that they are at all their workloads.
static int count(const char *pattern, bool (*expected)(const char *name)) {
  char **paths;
  int n, supported = 0;
  struct assay_error err = {0};
  assert_int_equal(task_list(ROOT, pattern, &paths, &n, &err), ASSAY_OK);
  for (int i = 0; i < n; i++) {
    struct task t;
    struct library_call c;
    assert_int_equal(task_read(paths[i], false, &t, &err), ASSAY_OK);
    bool wanted = expected(t.name);
    for (int w = 0; w < t.n_workloads; w++) {
      enum assay_status status = library_call_of(&t, &t.workloads[w], &c, &err);
      if (status != (wanted ? ASSAY_OK : ASSAY_ERR_UNSUPPORTED))
        fail_msg("%s at %s: %s", t.name, t.workloads[w].name, status ? err.message : "is a call");
      if (!status && strncmp(t.workloads[w].name, "ragged", strlen("ragged")) == 0)
        compare(&t, &t.workloads[w], &c);
    }
    supported += wanted;
    task_release(&t);
  }
  task_list_release(paths, n);
  return supported;
}

static bool is_call_of_level_1(const char *name) {
  int number = atoi(strrchr(name, '/') + 1);
  bool product = number <= 18 && number != 5 && number != 12;
  bool convolution = (number >= 54 && number <= 87 && number != 86) || number == 50;
  return product || convolution;
}

static bool always(const char *name) {
  (void)name;
  return true;
}

static bool never(const char *name) {
  (void)name;
  return false;
}

static void level_1(void **state) {
  (void)state;
  assert_int_equal(count("kernelbench/1", is_call_of_level_1), 16 + 34);
}

static void contracts(void **state) {
  (void)state;
  assert_int_equal(count("contracts", always), 8);
}

// Fused tasks and networks are not a single call of any library.
static void other_levels(void **state) {
  (void)state;
  assert_int_equal(count("kernelbench/2/1", never), 0);
  assert_int_equal(count("kernelbench/2/45", never), 0);
  assert_int_equal(count("kernelbench/3/1", never), 0);
}

// ---- numbers

static struct library_call call_of(const char *name, const char *workload) {
  char *path;
  struct task t;
  struct library_call c;
  struct assay_error err = {0};
  assert_int_equal(task_find(ROOT, name, &path, &err), ASSAY_OK);
  assert_int_equal(task_read(path, false, &t, &err), ASSAY_OK);
  if (library_call_of(&t, task_workload(&t, workload), &c, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  task_release(&t);
  base_free(path);
  return c;
}

static void expect_product(const char *name, const char *workload, int64_t m, int64_t n, int64_t k, int64_t batch) {
  const struct library_call c = call_of(name, workload);
  const struct library_product *p = &c.product;
  assert_true(c.has_product);
  if (p->m != m || p->n != n || p->k != k || p->batch != batch)
    fail_msg("%s: m %lld, n %lld, k %lld, batch %lld", name, (long long)p->m, (long long)p->n, (long long)p->k,
             (long long)p->batch);
}

static void extents_of_products(void **state) {
  (void)state;
  expect_product("kernelbench/1/1", "full", 4096, 4096, 4096, 1);
  expect_product("kernelbench/1/2", "full", 4096, 2048, 8192, 1);
  expect_product("kernelbench/1/2", "ragged4", 5, 1, 131, 1); // a matrix and a vector
  expect_product("kernelbench/1/3", "full", 2048, 512, 1024, 128);
  expect_product("kernelbench/1/3", "ragged0", 1, 1, 1, 1);
  expect_product("kernelbench/1/4", "full", 2048, 1, 1048576, 1);
  expect_product("kernelbench/1/10", "full", 768, 16 * 1024, 2048, 1); // the batch is part of the rows
  expect_product("kernelbench/1/11", "full", 768, 8 * 256 * 512, 256, 1);
  expect_product("kernelbench/1/16", "ragged2", 33, 17, 65, 1);
  expect_product("kernelbench/1/87", "full", 1024 * 1024, 128, 64, 16); // points of images
  expect_product("contracts/1/2", "ragged3", 257, 64, 264, 1);
}

static void contracts_say_what_may_be_rounded(void **state) {
  (void)state;
  assert_false(call_of("contracts/1/1", "full").tf32);
  assert_true(call_of("contracts/1/2", "full").tf32);
  assert_false(call_of("contracts/1/3", "full").tf32);
  assert_int_equal(call_of("contracts/1/3", "full").dtype, DTYPE_FLOAT16);
  assert_int_equal(call_of("contracts/1/4", "full").dtype, DTYPE_BFLOAT16);
}

static void transposed_factors(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool a, b; // of BLAS: the task's second factor, and its first
  } cases[] = {{"kernelbench/1/2", false, false},
               {"kernelbench/1/16", false, true},
               {"kernelbench/1/17", true, false},
               {"kernelbench/1/18", true, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct library_call c = call_of(cases[i].name, "full");
    assert_int_equal(c.product.a.transposed, cases[i].a);
    assert_int_equal(c.product.b.transposed, cases[i].b);
    assert_int_equal(c.product.a.input, 1);
  }
}

static void extents_of_convolutions(void **state) {
  (void)state;
  const struct library_call lines = call_of("kernelbench/1/76", "full");
  const struct library_convolution *c = &lines.convolution;
  const int64_t x[] = {64, 64, 1, 524280}, w[] = {128, 64, 1, 3}, y[] = {64, 128, 1, 174758};
  assert_true(lines.has_convolution);
  assert_false(lines.has_product);
  assert_int_equal(c->space, 2);
  assert_memory_equal(c->x, x, sizeof x);
  assert_memory_equal(c->w, w, sizeof w);
  assert_memory_equal(c->y, y, sizeof y);
  assert_int_equal(c->strides[1], 3);
  assert_int_equal(c->dilations[1], 4);
  const struct library_call grouped = call_of("kernelbench/1/72", "full");
  c = &grouped.convolution;
  assert_true(c->transposed);
  assert_int_equal(c->space, 3);
  assert_int_equal(c->groups, 4);
  assert_int_equal(c->pads[2], 3);
  assert_int_equal(c->bias, -1);
  assert_int_equal(call_of("kernelbench/1/50", "small").convolution.bias, 2);
}

// ---- graphs of other kinds

// "M=3, N=5" for the dimensions that the signature has.
static const char *bindings(const char *signature, const int64_t *values, char text[64]) {
  static const char names[] = "MNK";
  text[0] = '\0';
  for (size_t i = 0; i < strlen(names); i++)
    if (strchr(signature, names[i]))
      sprintf(text + strlen(text), "%s%c=%d", text[0] ? ", " : "", names[i], (int)values[i]);
  return text;
}

static struct task parse(const char *signature, const char *body) {
  static const int64_t ordinary[] = {3, 5, 4}, narrow[] = {2, 1, 3};
  char text[2048], full[64], ragged[64];
  struct task t = {0};
  struct assay_error err = {0};
  bindings(signature, ordinary, full);
  bindings(signature, narrow, ragged);
  int n = snprintf(text, sizeof text,
                   "<ir_version: 10, opset_import: [\"\" : 23], metadata_props: [\"assay.task\" : \"test/1/1\","
                   " \"assay.contract\" : \"fp32\", \"assay.workload.small\" : \"%s\","
                   " \"assay.workload.full\" : \"%s\", \"assay.workload.ragged0\" : \"%s\","
                   " \"assay.input.a\" : \"normal(0, 1)\", \"assay.input.b\" : \"normal(0, 1)\"%s]>\n"
                   "test %s %s\n",
                   full, full, ragged, strstr(signature, " c)") ? ", \"assay.input.c\" : \"normal(0, 1)\"" : "",
                   signature, body);
  if (task_parse(text, (size_t)n, "test.onnxtxt", false, &t, &err) != ASSAY_OK)
    fail_msg("%s", err.message);
  return t;
}

static void expect_call(const char *signature, const char *body) {
  struct task t = parse(signature, body);
  struct library_call c;
  struct assay_error err = {0};
  for (int w = 0; w < t.n_workloads; w++) {
    if (library_call_of(&t, &t.workloads[w], &c, &err) != ASSAY_OK)
      fail_msg("%s: %s", body, err.message);
    compare(&t, &t.workloads[w], &c);
  }
  task_release(&t);
}

static void expect_none(const char *signature, const char *body, const char *part) {
  struct task t = parse(signature, body);
  struct library_call c;
  struct assay_error err = {0};
  assert_int_equal(library_call_of(&t, &t.workloads[0], &c, &err), ASSAY_ERR_UNSUPPORTED);
  if (!strstr(err.message, part))
    fail_msg("\"%s\" says nothing of \"%s\"", err.message, part);
  task_release(&t);
}

static void products_in_other_words(void **state) {
  (void)state;
  const char *two = "(float[M, K] a, float[K, N] b) => (float[M, N] y)";
  expect_call(two, "{ y = Gemm<alpha = 0.5>(a, b) }");
  expect_call("(float[K, M] a, float[N, K] b, float[N] c) => (float[M, N] y)",
              "{ y = Gemm<transA = 1, transB = 1>(a, b, c) }");
  expect_call("(float[M, K] a, float[K, N] b, float[M, N] c) => (float[M, N] y)", "{ y = Gemm<beta = 0.25>(a, b, c) }");
  expect_call("(float[M, K] a, float[N, K] b, float[N] c) => (float[M, N] y)",
              "{ t = Transpose<perm = [1, 0]>(b)\n p = MatMul(a, t)\n y = Add(p, c) }");
  expect_call("(float[M, K] a, float[K, N] b) => (float[N, M] y)",
              "{ p = MatMul(a, b)\n y = Transpose<perm = [1, 0]>(p) }");
  expect_call("(float[K] a, float[K, N] b) => (float[N] y)", "{ y = MatMul(a, b) }");
  expect_call("(float[M, K] a, float[K] b) => (float[M] y)", "{ y = MatMul(a, b) }");
  expect_call("(float[M, 7, K] a, float[7, K, N] b) => (float[7, M, N] y)",
              "{ t = Transpose<perm = [1, 0, 2]>(a)\n y = MatMul(t, b) }");
  // One matrix for all of a batch, on the left: the batch is not part of the columns there.
  expect_call("(float[M, K] a, float[7, K, N] b) => (float[7, M, N] y)", "{ y = MatMul(a, b) }");
  expect_call("(float[M, 7, K] a, float[N, 7, K] b) => (float[7, M, N] y)",
              "{ y = Einsum<equation = \"mzk,nzk->zmn\">(a, b) }");
  expect_call("(float[M, K, 2] a, float[K, 2, N] b) => (float[M, N] y)",
              "{ y = Einsum<equation = \"mkl,kln->mn\">(a, b) }");
}

static void what_is_no_call(void **state) {
  (void)state;
  const char *two = "(float[M, K] a, float[K, N] b) => (float[M, N] y)";
  expect_none(two, "{ p = MatMul(a, b)\n y = Relu(p) }", "Relu after it");
  expect_none(two, "{ t = Relu(a)\n y = MatMul(t, b) }", "Relu in front of it");
  expect_none(two, "{ y = Einsum<equation = \"mk,ln->mn\">(a, b) }", "sums over a dimension of one factor");
  expect_none("(float[M, K] a, float[K, N] b, float[M, 1] c) => (float[M, N] y)",
              "{ p = MatMul(a, b)\n y = Add(p, c) }", "adds something else");
  expect_none("(float[M, K] a, float[M, K] b) => (float[M, K] y)", "{ y = Mul(a, b) }", "this task has Mul");
  expect_none(two, "{ p = MatMul(a, b)\n y = Trilu<upper = 1>(p) }", "Trilu after it");
  expect_none("(float[1, 1, M, K] a, float[1, 1, 2, 2] b) => (float[1, 1, M, K] y)",
              "{ y = Conv<pads = [0, 0, 1, 1]>(a, b) }", "pads both sides by the same amount");
}

static void as_json(void **state) {
  (void)state;
  struct buf text = {0};
  struct assay_error err = {0};
  const struct library_call c = call_of("kernelbench/1/17", "full");
  assert_int_equal(library_call_print(&c, &text, &err), ASSAY_OK);
  assert_string_equal(buf_str(&text),
                      "{\"type\":\"float\",\"tf32\":false,\"product\":{\"m\":4096,\"n\":2048,\"k\":8192,\"batch\":1,"
                      "\"a\":{\"input\":1,\"transposed\":true,\"ld\":8192,\"stride\":0},"
                      "\"b\":{\"input\":0,\"transposed\":false,\"ld\":8192,\"stride\":0},"
                      "\"c\":{\"input\":-1,\"transposed\":false,\"ld\":0,\"stride\":0},"
                      "\"d\":{\"input\":-1,\"transposed\":false,\"ld\":4096,\"stride\":0},"
                      "\"alpha\":1.0,\"beta\":0.0,\"bias\":-1}}");
  buf_release(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(level_1),
      cmocka_unit_test(contracts),
      cmocka_unit_test(other_levels),
      cmocka_unit_test(extents_of_products),
      cmocka_unit_test(contracts_say_what_may_be_rounded),
      cmocka_unit_test(transposed_factors),
      cmocka_unit_test(extents_of_convolutions),
      cmocka_unit_test(products_in_other_words),
      cmocka_unit_test(what_is_no_call),
      cmocka_unit_test(as_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
