// SPDX-License-Identifier: Apache-2.0
// modules: onnx oracle/cuda
// Reductions, extremes, scans, softmax, norms, losses and attention on a device, against the oracle on the CPU.
#include "gpu_graph.h"

// Rows that are contiguous, side by side and both; short, long enough to be cut, and cut so often that parts of parts
// are joined.
static const struct {
  int64_t rows;
  const char *text;
} reduce_shapes[] = {
    {35, "(float[7,5,3] x) => (float[7,5] y) <int64[1] axes = {2}> { y = %s<keepdims = 0>(x, axes) }"},
    {3, "(float[3,1021] x) => (float[3,1] y) <int64[1] axes = {1}> { y = %s(x, axes) }"},
    {5, "(float[257,5] x) => (float[1,5] y) <int64[1] axes = {0}> { y = %s(x, axes) }"},
    {15, "(float[3,67,5,7] x) => (float[3,5] y) <int64[2] axes = {1, 3}> { y = %s<keepdims = 0>(x, axes) }"},
    {1, "(float[1,40961] x) => (float[1,1] y) <int64[2] axes = {0, 1}> { y = %s(x, axes) }"},
    {11, "(float[11] x) => (float[11] y) { y = %s<noop_with_empty_axes = 1>(x) }"},
    {5, "(float16[5,33] x) => (float16[5] y) <int64[1] axes = {-1}> { y = %s<keepdims = 0>(x, axes) }"},
    {4, "(double[6,4,9] x) => (double[4] y) <int64[2] axes = {0, 2}> { y = %s<keepdims = 0>(x, axes) }"},
    {0, "(float[2,0,3] x) => (float[2,3] y) <int64[1] axes = {1}> { y = %s<keepdims = 0>(x, axes) }"},
};
static const char *const reduce_ops[] = {"ReduceSum",    "ReduceMean",     "ReduceMax", "ReduceMin",
                                         "ReduceProd",   "ReduceL1",       "ReduceL2",  "ReduceSumSquare",
                                         "ReduceLogSum", "ReduceLogSumExp"};

static void test_reductions(void **state) {
  (void)state;
  char text[256];
  for (size_t s = 0; s < sizeof reduce_shapes / sizeof *reduce_shapes; s++)
    for (size_t o = 0; o < sizeof reduce_ops / sizeof *reduce_ops; o++) {
      // Products near 1: of a row that vanishes there is nothing to compare.
      struct graph_draw d =
          strcmp(reduce_ops[o], "ReduceProd") == 0 ? (struct graph_draw){.low = 0.99, .high = 1.01} : POSITIVE;
      snprintf(text, sizeof text, reduce_shapes[s].text, reduce_ops[o]);
      graph_check(text, d, reduce_shapes[s].rows);
      graph_check(text, SPECIAL, 0);
    }
}

// Terms of both signs, whose squares are what their sum's error hangs on: of parts that are joined too.
static void test_sums_that_cancel(void **state) {
  (void)state;
  graph_check("(float[60,300] x) => (float[60] y) <int64[1] axes = {1}> { y = ReduceSum<keepdims = 0>(x, axes) }",
              SIGNED, 60);
  graph_check("(float[300,60] x) => (float[60] y) <int64[1] axes = {0}> { y = ReduceMean<keepdims = 0>(x, axes) }",
              SIGNED, 60);
  graph_check("(float[60,300] x) => (float[60,300] y) <int64 axis = {1}> { y = CumSum(x, axis) }", SIGNED, 60);
}

static void test_reductions_of_integers(void **state) {
  (void)state;
  static const char *const ops[] = {"ReduceSum",  "ReduceMean", "ReduceMax",      "ReduceMin",
                                    "ReduceProd", "ReduceL1",   "ReduceSumSquare"};
  static const char *const types[] = {"int32", "int64", "uint64", "uint8", "int8"};
  static const char *const shapes[] = {
      "(%s[3,67,5] x) => (%s[3,5] y) <int64[1] axes = {1}> { y = %s<keepdims = 0>(x, axes) }",
      "(%s[2,1500] x) => (%s[2] y) <int64[1] axes = {1}> { y = %s<keepdims = 0>(x, axes) }",
      "(%s[1,40961] x) => (%s[1,1] y) { y = %s(x) }",
      "(%s[3,0] x) => (%s[3] y) <int64[1] axes = {1}> { y = %s<keepdims = 0>(x, axes) }",
  };
  char text[256];
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
      for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        snprintf(text, sizeof text, shapes[s], types[t], types[t], ops[o]);
        graph_check(text, (struct graph_draw){.below = INT64_MAX}, 0);
      }
}

static void test_extremes(void **state) {
  (void)state;
  static const char *const texts[] = {
      "(float[7,1031] x) => (int64[7] y) { y = ArgMax<axis = 1, keepdims = 0>(x) }",
      "(float[1,70001] x) => (int64[1,1] y) { y = ArgMin<axis = 1, select_last_index = 1>(x) }",
      "(float[301,5] x) => (int64[1,5] y) { y = ArgMin<axis = 0>(x) }",
      "(float[3,131,5] x) => (int64[3,5] y) { y = ArgMax<axis = 1, keepdims = 0, select_last_index = 1>(x) }",
      "(float[2,37,3] x) => (float[2,5,3] v, int64[2,5,3] i) <int64[1] k = {5}> { v, i = TopK<axis = 1>(x, k) }",
      "(float[5,129] x) => (float[5,129] v, int64[5,129] i) <int64[1] k = {129}> { v, i = TopK<largest = 0>(x, k) }",
      "(float[5,33] x) => (float[5,33] y) { y = Hardmax(x) }",
      "(float[5,33,3] x) => (float[5,33,3] y) { y = Hardmax<axis = 1>(x) }",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    graph_check(texts[i], SIGNED, 0);
    graph_check(texts[i], SPECIAL, 0);
  }
  // Equal elements, and integers whose order depends on their type.
  const struct graph_draw few = {.below = 3}, wide = {.below = INT64_MAX};
  graph_check("(int32[3,500] x) => (int64[3] y) { y = ArgMax<axis = 1, keepdims = 0>(x) }", few, 0);
  graph_check("(int32[3,500] x) => (int64[3] y) { y = ArgMin<axis = 1, keepdims = 0, select_last_index = 1>(x) }", few,
              0);
  graph_check("(uint64[3,500] x) => (int64[3] y) { y = ArgMax<axis = 1, keepdims = 0>(x) }", wide, 0);
  graph_check("(int64[3,70] x) => (int64[3,9] v, int64[3,9] i) <int64[1] k = {9}> { v, i = TopK(x, k) }", few, 0);
  graph_check("(uint8[3,70] x) => (uint8[3,9] v, int64[3,9] i) <int64[1] k = {9}> { v, i = TopK<largest = 0>(x, k) }",
              wide, 0);
}

static void test_scans(void **state) {
  (void)state;
  static const char *const shapes[][2] = {{"3,1021", "1"},  {"1,20011", "1"}, {"5,17", "1"},  {"259,7", "0"},
                                          {"2,300,3", "1"}, {"4,5,33", "-1"}, {"2,1,3", "1"}, {"7", "0"}};
  static const int64_t rows[] = {3, 1, 5, 7, 6, 20, 6, 1};
  static const char *const attrs[] = {"", "<exclusive = 1>", "<reverse = 1>", "<exclusive = 1, reverse = 1>"};
  char text[256];
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (size_t a = 0; a < 4; a++) {
      const char *form = "(%s[%s] x) => (%s[%s] y) <int64 axis = {%s}> { y = %s%s(x, axis) }", *d = shapes[s][0];
      snprintf(text, sizeof text, form, "float", d, "float", d, shapes[s][1], "CumSum", attrs[a]);
      graph_check(text, SIGNED, rows[s]);
      graph_check(text, SPECIAL, 0);
      snprintf(text, sizeof text, form, "int32", d, "int32", d, shapes[s][1], "CumSum", attrs[a]);
      graph_check(text, (struct graph_draw){.below = INT64_MAX}, 0);
      snprintf(text, sizeof text, form, "float", d, "float", d, shapes[s][1], "CumProd", attrs[a]);
      graph_check(text, (struct graph_draw){.low = 0.99, .high = 1.01}, rows[s]);
      snprintf(text, sizeof text, form, "uint64", d, "uint64", d, shapes[s][1], "CumProd", attrs[a]);
      graph_check(text, (struct graph_draw){.below = INT64_MAX}, 0);
    }
  // So long that products too are cut.
  graph_check("(float[2,200001] x) => (float[2,200001] y) <int64 axis = {1}> { y = CumProd<reverse = 1>(x, axis) }",
              (struct graph_draw){.low = 0.999, .high = 1.001}, 0);
}

static void test_softmax(void **state) {
  (void)state;
  static const struct {
    int64_t rows;
    const char *text;
  } forms[] = {
      {5, "(float[5,1023] x) => (float[5,1023] y) { y = %s(x) }"},
      {21, "(float[3,131,7] x) => (float[3,131,7] y) { y = %s<axis = 1>(x) }"},
      {1, "(float[1,9001] x) => (float[1,9001] y) { y = %s(x) }"},
      {3, "(bfloat16[4,3] x) => (bfloat16[4,3] y) { y = %s<axis = 0>(x) }"},
      {3, "<ir_version: 7, opset_import: [\"\" : 11]> g (float[3,4,5] x) => (float[3,4,5] y) { y = %s(x) }"},
  };
  static const char *const ops[] = {"Softmax", "LogSoftmax"};
  char text[256];
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (size_t o = 0; o < 2; o++) {
      snprintf(text, sizeof text, forms[f].text, ops[o]);
      graph_check(text, (struct graph_draw){.low = -4, .high = 4}, forms[f].rows);
      graph_check(text, SPECIAL, 0);
    }
}

static void test_norms(void **state) {
  (void)state;
  static const struct {
    int64_t rows;
    const char *text;
  } texts[] = {
      {3, "(float[5,3,7,11] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[5,3,7,11] y) "
          "{ y = BatchNormalization(x, s, b, m, v) }"},
      {3, "(float[9,3,40,5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[9,3,40,5] y, float[3] rm, "
          "float[3] rv) { y, rm, rv = BatchNormalization<training_mode = 1, momentum = 0.7>(x, s, b, m, v) }"},
      {5, "(float[67,5] x, float[5] s, float[5] b, float[5] m, float[5] v) => (float[67,5] y, float[5] rm, "
          "float[5] rv) { y, rm, rv = BatchNormalization<training_mode = 1>(x, s, b, m, v) }"},
      {3,
       "<ir_version: 7, opset_import: [\"\" : 9]> g (float[6,3,5] x, float[3] s, float[3] b, float[3] m, float[3] v) "
       "=> (float[6,3,5] y, float[3] rm, float[3] rv, float[3] sm, float[3] sv) "
       "{ y, rm, rv, sm, sv = BatchNormalization(x, s, b, m, v) }"},
      {6,
       "(float[2,3,33,17] x, float[3] s, float[3] b) => (float[2,3,33,17] y) { y = InstanceNormalization(x, s, b) }"},
      {6, "(float[2,6,7,5] x, float[6] s, float[6] b) => (float[2,6,7,5] y) "
          "{ y = GroupNormalization<num_groups = 3>(x, s, b) }"},
      {4,
       "<ir_version: 8, opset_import: [\"\" : 18]> g (float[2,6,7,5] x, float[2] s, float[2] b) => (float[2,6,7,5] y) "
       "{ y = GroupNormalization<num_groups = 2>(x, s, b) }"},
      {15, "(float[3,5,129] x, float[129] s, float[129] b) => (float[3,5,129] y) { y = LayerNormalization(x, s, b) }"},
      {7, "(float[7,5,9] x, float[5,1] s) => (float[7,5,9] y, float[7,1,1] m, float[7,1,1] i) "
          "{ y, m, i = LayerNormalization<axis = 1>(x, s) }"},
      {3, "(float[3,1000] x, float[1000] s) => (float[3,1000] y) { y = RMSNormalization(x, s) }"},
      {3, "(float[4,3,5,7] x) => (float[4,3,5,7] y) { y = MeanVarianceNormalization(x) }"},
      {20, "(float[4,33,5] x) => (float[4,33,5] y) { y = LpNormalization<axis = 1, p = 1>(x) }"},
      {4, "(float[4,500] x) => (float[4,500] y) { y = LpNormalization(x) }"},
      {70, "(float[2,7,3,5] x) => (float[2,7,3,5] y) { y = LRN<size = 4, alpha = 0.1>(x) }"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    graph_check(texts[i].text, POSITIVE, texts[i].rows);
    graph_check(texts[i].text, (struct graph_draw){.low = -3, .high = 3, .special = 97}, 0);
  }
  graph_check("(float[4,0] x) => (float[4,0] y) { y = LpNormalization(x) }", SIGNED, 0);
  graph_check("(float[4,7] x) => (float[4,7] y) { z = Sub(x, x) y = LpNormalization(z) }", SIGNED, 0);
  // Many short rows: each step's rounding shows.
  graph_check("(float[900,3] x, float[3] s) => (float[900,3] y) { y = RMSNormalization(x, s) }", SIGNED, 900);
  graph_check(
      "(float[900,3] x, float[900,1] s, float[900,1] b) => (float[900,3] y) { y = LayerNormalization(x, s, b) }",
      SIGNED, 900);
}

static void test_losses(void **state) {
  (void)state;
  static const struct {
    int64_t rows;
    const char *text;
  } texts[] = {
      {1, "(float[70,5] x, int64[70] t, float[5] w) => (float y) { y = NegativeLogLikelihoodLoss(x, t, w) }"},
      {1, "(float[7,5,3] x, int32[7,3] t) => (float y) { y = NegativeLogLikelihoodLoss<reduction = \"sum\">(x, t) }"},
      {21, "(float[7,5,3] x, int64[7,3] t) => (float[7,3] y) { y = NegativeLogLikelihoodLoss<reduction = \"none\", "
           "ignore_index = 2>(x, t) }"},
      {1, "(float[2000,5] x, int64[2000] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }"},
      {1, "(float[7,5,33] x, int64[7,33] t, float[5] w) => (float y, float[7,5,33] p) "
          "{ y, p = SoftmaxCrossEntropyLoss<ignore_index = 1>(x, t, w) }"},
      {3, "(float[3,700] x, int64[3] t) => (float[3] y) { y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, t) }"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct graph_draw d = POSITIVE, s = SPECIAL;
    d.below = s.below = 5;
    graph_check(texts[i].text, d, texts[i].rows);
    graph_check(texts[i].text, s, 0);
  }
  graph_refused("(float[7,5] x) => (float y) <int64[7] t = {0, 1, 2, 3, 9, 1, 11}> "
                "{ y = SoftmaxCrossEntropyLoss(x, t) }",
                SIGNED, "label 9 (element 4) names none of the 5 classes");
}

static void test_attention(void **state) {
  (void)state;
  static const struct {
    int64_t rows;
    const char *text;
  } texts[] = {
      {30, "(float[2,3,5,8] q, float[2,3,7,8] k, float[2,3,7,6] v) => (float[2,3,5,6] y) { y = Attention(q, k, v) }"},
      {30, "(float[2,6,5,8] q, float[2,2,7,8] k, float[2,2,7,6] v) => (float[2,6,5,6] y) "
           "{ y = Attention<is_causal = 1, scale = 0.5>(q, k, v) }"},
      {30, "(float[2,5,24] q, float[2,7,8] k, float[2,7,5] v, bool[5,6] m) => (float[2,5,15] y) "
           "{ y = Attention<q_num_heads = 3, kv_num_heads = 1, softcap = 2.0>(q, k, v, m) }"},
      {30, "(float[2,5,24] q, float[2,7,8] k, float[2,7,8] v, float[2,1,5,7] m) => (float[2,5,24] y) "
           "{ y = Attention<q_num_heads = 3, kv_num_heads = 1>(q, k, v, m) }"},
      {12, "(float[2,2,3,4] q, float[2,2,3,4] k, float[2,2,3,5] v, float[2,2,6,4] pk, float[2,2,6,5] pv) "
           "=> (float[2,2,3,5] y, float[2,2,9,4] nk, float[2,2,9,5] nv, float[2,2,3,9] s) "
           "{ y, nk, nv, s = Attention<is_causal = 1, qk_matmul_output_mode = 3>(q, k, v, , pk, pv) }"},
      {30, "(float[2,3,5,8] q, float[2,3,7,8] k, float[2,3,7,6] v) => (float[2,3,5,6] y, float[2,3,5,7] s) "
           "{ y, , , s = Attention<softcap = 1.5, qk_matmul_output_mode = 1>(q, k, v) }"},
      {24, "(float[2,2,6,8] q, float[2,2,9,8] k, float[2,2,9,8] v) => (float[2,2,6,8] y) <int64[2] n = {7, 4}> "
           "{ y = Attention<left_window_size = 2, right_window_size = 0>(q, k, v, , , , n) }"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    graph_check(texts[i].text, SIGNED, texts[i].rows);
    graph_check(texts[i].text, (struct graph_draw){.low = -3, .high = 3, .special = 197, .below = 2}, 0);
  }
}

// Tensors without elements: no rows, or rows of nothing.
static void test_empty(void **state) {
  (void)state;
  static const char *const texts[] = {
      "(float[0,300] x) => (float[0] y) <int64[1] axes = {1}> { y = ReduceSum<keepdims = 0>(x, axes) }",
      "(float[0,300] x) => (float[300] y) <int64[1] axes = {0}> { y = ReduceMax<keepdims = 0>(x, axes) }",
      "(int32[0,300] x) => (int32[0] y) <int64[1] axes = {1}> { y = ReduceSum<keepdims = 0>(x, axes) }",
      "(float[0,300] x) => (int64[0] y) { y = ArgMax<axis = 1, keepdims = 0>(x) }",
      "(float[0,300] x) => (float[0,2] v, int64[0,2] i) <int64[1] k = {2}> { v, i = TopK(x, k) }",
      "(float[3,9] x) => (float[3,0] v, int64[3,0] i) <int64[1] k = {0}> { v, i = TopK(x, k) }",
      "(float[0,300] x) => (float[0,300] y) <int64 axis = {1}> { y = CumSum(x, axis) }",
      "(float[3,0] x) => (float[3,0] y) { y = Softmax(x) }",
      "(float[0,3] x) => (float[0,3] y) { y = Hardmax(x) }",
      "(float[0,3,5] x, float[3] s, float[3] b) => (float[0,3,5] y) { y = InstanceNormalization(x, s, b) }",
      ("(float[0,3,5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[0,3,5] y, float[3] rm, float[3] rv) "
       "{ y, rm, rv = BatchNormalization<training_mode = 1>(x, s, b, m, v) }"),
      "(float[0,5] x, int64[0] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }",
      "(float[0,5] x, int64[0] t) => (float[0] y) { y = NegativeLogLikelihoodLoss<reduction = \"none\">(x, t) }",
      "(float[2,3,0,8] q, float[2,3,7,8] k, float[2,3,7,6] v) => (float[2,3,0,6] y) { y = Attention(q, k, v) }",
      "(float[2,3,5,8] q, float[2,3,0,8] k, float[2,3,0,6] v) => (float[2,3,5,6] y) { y = Attention(q, k, v) }",
      "(float[2,3,5,0] q, float[2,3,4,0] k, float[2,3,4,6] v) => (float[2,3,5,6] y) { y = Attention(q, k, v) }",
      "(float x) => (float y) { y = ReduceMean(x) }",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    graph_check(texts[i], SIGNED, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_sums_that_cancel),
      cmocka_unit_test(test_reductions_of_integers),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_scans),
      cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_norms),
      cmocka_unit_test(test_losses),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_empty),
  };
  return cmocka_run_group_tests(tests, graph_open, graph_close);
}
