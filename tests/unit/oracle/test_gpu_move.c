// SPDX-License-Identifier: Apache-2.0
// modules: onnx oracle/cuda
// Movement, parts and borders, constants, bits, gathering and scattering on a device, against the oracle on the CPU.
#include "gpu_graph.h"

static const struct graph_draw wide = {.low = -1, .high = 1, .below = INT64_MAX};

static void check_all(const char *const *texts, struct graph_draw d) {
  for (; *texts; texts++)
    graph_check(*texts, d, 0);
}

static void test_order(void **state) {
  (void)state;
  static const char *const texts[] = {
      "(float[2,3,4,5] a) => (float[5,2,4,3] b) { b = Transpose<perm = [3, 0, 2, 1]>(a) }",
      "(bfloat16[7,9] a) => (bfloat16[9,7] b) { b = Transpose(a) }",
      "(float16[32,3,48] a) => (float16[48,3,32] b) { b = Transpose(a) }", // goes by tiles
      "(uint8[2,64,40] a) => (uint8[2,40,64] b) { b = Transpose<perm = [0, 2, 1]>(a) }",
      "(double[3] a) => (double[3] b) { b = Transpose(a) }",
      "(bool[3,1,2] a) => (bool[3,4,2] b) <int64[3] s = {1, 4, 1}> { b = Expand(a, s) }",
      "(int64 a) => (int64[2,3] b) <int64[2] s = {2, 3}> { b = Expand(a, s) }",
      "(float[2,1,3] a) => (float[4,3,3] b) <int64[3] r = {2, 3, 1}> { b = Tile(a, r) }",
      "(float[2,1] a) => (float[0,1] b) <int64[2] r = {0, 1}> { b = Tile(a, r) }",
      "(float[2,3,4] a, float[2,5,4] b, float[2,0,4] c) => (float[2,8,4] d) { d = Concat<axis = 1>(a, b, c) }",
      "(int8[2,3] a, int8[2,3] b) => (int8[4,3] d) { d = Concat<axis = -2>(a, b) }",
      "(float[7,3] a) => (float[3,3] b, float[3,3] c, float[1,3] d) { b, c, d = Split<num_outputs = 3>(a) }",
      "(float[2,7,3] a) => (float[2,2,3] b, float[2,4,3] d) <int64[3] p = {2, 1, 4}> { b, , d = Split<axis = 1>(a, p) "
      "}",
      "<ir_version: 7, opset_import: [\"\" : 11]> g (float[6,3] a) => (float[2,3] b, float[4,3] c) "
      "{ b, c = Split<split = [2, 4]>(a) }",
      "(float[2,12,3,5] a) => (float[2,3,6,10] b) { b = DepthToSpace<blocksize = 2>(a) }",
      "(float[2,12,3,5] a) => (float[2,3,6,10] b) { b = DepthToSpace<blocksize = 2, mode = \"CRD\">(a) }",
      "(float[1,2,4,6] a) => (float[1,8,2,3] b) { b = SpaceToDepth<blocksize = 2>(a) }",
      "(float[2,6] a) => (float[3,4] b) <int64[2] s = {3, -1}> { b = Reshape(a, s) }",
      "(int32[2,3,4] a) => (int32[6,4] b) { b = Flatten<axis = 2>(a) }",
      "(double[2,1,3] a) => (double[2,3] b) { b = Squeeze(a) }",
      "(uint16[2,3] a) => (uint16[2,1,3] b) <int64[1] s = {1}> { b = Unsqueeze(a, s) }",
      "(float[0,3] a) => (float[3,0] b) <int64[2] s = {3, 0}> { b = Reshape<allowzero = 1>(a, s) }",
      "(float[2,3] a) => (float[2,3] b, bool[2,3] m) { b, m = Dropout(a) }",
      "<ir_version: 3, opset_import: [\"\" : 7]> g (float[2,3] a) => (float[2,3] b, float[2,3] m) "
      "{ b, m = Dropout(a) }",
      NULL,
  };
  check_all(texts, wide);
  check_all(texts, SPECIAL);
}

static void test_parts(void **state) {
  (void)state;
  static const char *const texts[] = {
      "(float[7,9,5] a) => (float[3,2,5] b) <int64[2] s = {1, -1}, int64[2] e = {6, -9}, int64[2] x = {0, 1}, "
      "int64[2] t = {2, -5}> { b = Slice(a, s, e, x, t) }",
      "(int32[7,9] a) => (int32[5,9] b) <int64[1] s = {-5}, int64[1] e = {9223372036854775807}> "
      "{ b = Slice(a, s, e) }",
      "(float[4] a) => (float[1] b) <int64[1] s = {1}, int64[1] e = {4}, int64[1] x = {0}, "
      "int64[1] t = {9223372036854775807}> { b = Slice(a, s, e, x, t) }",
      "(float[4] a) => (float[0] b) <int64[1] s = {3}, int64[1] e = {1}> { b = Slice(a, s, e) }",
      "<ir_version: 5, opset_import: [\"\" : 9]> g (float[7,9] a) => (float[2,7] b) "
      "{ b = Slice<axes = [1, 0], starts = [1, 2], ends = [8, 4]>(a) }",
      "(float[2,3] a, float v) => (float[3,8] b) <int64[4] p = {0, 2, 1, 3}> { b = Pad(a, p, v) }",
      "(int64[3,4] a) => (int64[2,8] b) <int64[4] p = {-1, 2, 0, 2}> { b = Pad(a, p) }",
      "(float[3,4] a) => (float[9,12] b) <int64[4] p = {2, 5, 4, 3}> { b = Pad<mode = \"reflect\">(a, p) }",
      "(float16[3,4] a) => (float16[8,4] b) <int64[2] p = {2, 3}, int64[1] x = {0}> "
      "{ b = Pad<mode = \"edge\">(a, p, , x) }",
      "(float[3,4] a) => (float[3,14] b) <int64[2] p = {5, 5}, int64[1] x = {-1}> "
      "{ b = Pad<mode = \"wrap\">(a, p, , x) }",
      "<ir_version: 3, opset_import: [\"\" : 7]> g (float[2,3] a) => (float[2,6] b) "
      "{ b = Pad<pads = [0, 1, 0, 2], value = 1.5>(a) }",
      "(float[2,5,7] a) => (float[2,5,7] b) { b = Trilu(a) }",
      "(int32[7,5] a) => (int32[7,5] b) <int64 k = {-2}> { b = Trilu<upper = 0>(a, k) }",
      "(float[7,5] a) => (float[7,5] b) <int64 k = {9223372036854775807}> { b = Trilu(a, k) }",
      "(float[7,5] a) => (float[7,5] b) <int64 k = {-9223372036854775807}> { b = Trilu<upper = 0>(a, k) }",
      "(float[5,3,2] a) => (float[5,3,2] b) <int64[3] n = {5, 0, 3}> { b = ReverseSequence(a, n) }",
      "(float[3,5] a) => (float[3,5] b) <int64[3] n = {4, 1, 5}> "
      "{ b = ReverseSequence<time_axis = 1, batch_axis = 0>(a, n) }",
      NULL,
  };
  check_all(texts, wide);
  check_all(texts, SPECIAL);
  graph_refused("(float[5,3] a) => (float[5,3] b) <int64[3] n = {5, 0, 6}> { b = ReverseSequence(a, n) }", wide,
                "length 6 of sequence 2 is not in 0..5");
}

static void test_constants(void **state) {
  (void)state;
  static const char *const texts[] = {
      "() => (float16[3] b) { b = Constant<value = float16[3] {15360, 16640, 49664}>() }",
      "() => (float[2] b) { b = Constant<value_floats = [1.5, 2.0]>() }",
      "() => (int64 b) { b = Constant<value_int = 7>() }",
      "() => (int64[2,5] b) { s = Constant<value = int64[2] {2, 5}>() b = ConstantOfShape<value = int64[1] {-3}>(s) }",
      "() => (float[2,5] b) { s = Constant<value = int64[2] {2, 5}>() b = ConstantOfShape(s) }",
      "(float[2,3,4] a) => (int64[1] b, int64 c) { b = Shape<start = -2, end = -1>(a) c = Size(a) }",
      "(float[3,7] a) => (float[3,7] b) { b = EyeLike<k = 2>(a) }",
      "(float[7,3] a) => (int32[7,3] b) { b = EyeLike<k = -3, dtype = 6>(a) }",
      "() => (int64[4] b) { s = Constant<value_int = 9>() l = Constant<value_int = -1>()"
      " d = Constant<value_int = -3>() b = Range(s, l, d) }",
      NULL,
  };
  check_all(texts, wide);
  graph_check("() => (float[1000] b) { s = Constant<value_float = 1.0>() l = Constant<value_float = 301.0>()"
              " d = Constant<value_float = 0.3>() b = Range(s, l, d) }",
              wide, 900);
}

static void test_bits(void **state) {
  (void)state;
  static const char *const ops[] = {"BitwiseAnd", "BitwiseOr", "BitwiseXor"};
  static const char *const types[] = {"int8", "uint8", "int16", "uint32", "int64", "uint64"};
  static const char *const directions[] = {"LEFT", "RIGHT"};
  char text[256];
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    const char *n = types[t];
    for (size_t o = 0; o < 3; o++) {
      snprintf(text, sizeof text, "(%s[2,3,5] a, %s[3,1] b) => (%s[2,3,5] c) { c = %s(a, b) }", n, n, n, ops[o]);
      graph_check(text, wide, 0);
    }
    snprintf(text, sizeof text, "(%s[2,3] a) => (%s[2,3] c) { c = BitwiseNot(a) }", n, n);
    graph_check(text, wide, 0);
    for (size_t d = 0; d < 2; d++) {
      snprintf(text, sizeof text,
               "(%s[40,3] a) => (%s[40,3] c) <%s[3] b = {0, 3, 7}> { c = BitShift<direction = \"%s\">(a, b) }", n, n, n,
               directions[d]);
      graph_check(text, wide, 0);
      snprintf(text, sizeof text,
               "(%s[40,3] a) => (%s[40,3] c) <%s[3] b = {8, 63, 64}> { c = BitShift<direction = \"%s\">(a, b) }", n, n,
               n, directions[d]);
      graph_check(text, wide, 0);
    }
  }
}

static void test_gathering(void **state) {
  (void)state;
  static const char *const texts[] = {
      "(float[5,3,2] a) => (float[5,2,2,2] b) <int64[2,2] i = {0, -1, 2, 2}> { b = Gather<axis = 1>(a, i) }",
      "(uint8[7,3] a) => (uint8[3] b) <int32 i = {-7}> { b = Gather(a, i) }",
      "(float[7,0] a) => (float[2,0] b) <int64[2] i = {1, 2}> { b = Gather(a, i) }",
      "(float[4,3,5] a, int64[2,3,4] i) => (float[2,3,4] b) { b = GatherElements<axis = 0>(a, i) }",
      "(float[4,3,5] a, int32[4,2,5] i) => (float[4,2,5] b) { b = GatherElements<axis = 1>(a, i) }",
      "(float[2,3,4] a) => (float[2,4] b) <int64[2,2] i = {0, -1, 1, 0}> { b = GatherND(a, i) }",
      "(float[2,3,4] a) => (float[2,2] b) <int64[2,2,1] i = {0, 3, -1, 1}> {"
      " s = Constant<value = int64[2] {2, 4}>() z = Constant<value = int64[1] {0}>()"
      " c = Gather<axis = 1>(a, z) d = Reshape(c, s) b = GatherND<batch_dims = 1>(d, i) }",
      "(float[3,4] a) => (float[3,2] b) <bool[3] k = {1, 0, 1}> { b = Compress<axis = 1>(a, k) }",
      "(float[3,4] a) => (float[3] b) <bool[12] k = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}> { b = Compress(a, k) }",
      "(float[3,4] a) => (float[0] b) <bool[2] k = {0, 0}> { b = Compress(a, k) }",
      "() => (int64[3,3] b) { a = Constant<value = float[2,1,2] {1.0, 0.0, 2.0, 3.0}>() b = NonZero(a) }",
      "(float[2] v) => (float[3,4] b) <int64[3] i = {1, -1, 9}, int64 d = {4}> { b = OneHot(i, d, v) }",
      "(int32[2] v) => (int32[2,3,2] b) <float[2,2] i = {1.5, -3.0, 0.0, 2.0}, int64 d = {3}> "
      "{ b = OneHot<axis = 1>(i, d, v) }",
      NULL,
  };
  check_all(texts, SIGNED);
  check_all(texts, SPECIAL);
  graph_refused("(float[5,3] a) => (float[2,3] b) <int64[2] i = {1, 5}> { b = Gather(a, i) }", SIGNED,
                "index 5 is outside a dimension of 5 elements");
  graph_refused("(float[5,3] a) => (float[2] b) <int64[2,2] i = {1, 0, 4, -4}> { b = GatherND(a, i) }", SIGNED,
                "index -4 is outside a dimension of 3 elements");
}

// Random indices collide often, so that order and number of updates count.
static void test_scattering(void **state) {
  (void)state;
  static const char *const reductions[] = {"none", "add", "mul", "max", "min"};
  static const char *const forms[] = {
      "(%s[3,4,5] a, int64[2,4,5] i, %s[2,4,5] u) => (%s[3,4,5] b) { b = ScatterElements<reduction = \"%s\">(a, i, u) "
      "}",
      "(%s[3,40] a, int32[3,77] i, %s[3,77] u) => (%s[3,40] b) "
      "{ b = ScatterElements<axis = 1, reduction = \"%s\">(a, i, u) }",
      "(%s[3,4,5] a, int64[9,1] i, %s[9,4,5] u) => (%s[3,4,5] b) { b = ScatterND<reduction = \"%s\">(a, i, u) }",
      "(%s[3,4,5] a, int64[9,7,3] i, %s[9,7] u) => (%s[3,4,5] b) { b = ScatterND<reduction = \"%s\">(a, i, u) }",
      "(%s[3,4] a, int64[0,4] i, %s[0,4] u) => (%s[3,4] b) { b = ScatterElements<reduction = \"%s\">(a, i, u) }",
  };
  static const char *const types[] = {"float", "int8", "uint64"};
  char text[256];
  for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
    for (size_t r = 0; r < 5; r++)
      for (size_t t = 0; t < 3; t++) {
        snprintf(text, sizeof text, forms[f], types[t], types[t], types[t], reductions[r]);
        struct graph_draw d = {.low = 0.1, .high = 1, .below = 3},
                          s = {.low = -1, .high = 1, .special = 13, .below = 3};
        graph_check(text, d, t == 0 && f < 4 && r < 3 ? 5 : 0);
        graph_check(text, s, 0);
      }
  graph_check("<ir_version: 5, opset_import: [\"\" : 10]> g (float[3,2] a, float[2,2] u) => (float[3,2] b) "
              "<int64[2,2] i = {2, 0, -1, 0}> { b = Scatter(a, i, u) }",
              SIGNED, 0);
  graph_refused("(float[3,2] a, float[2,2] u) => (float[3,2] b) <int64[2,1] i = {2, 3}> { b = ScatterND(a, i, u) }",
                SIGNED, "index 3 is outside a dimension of 3 elements");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order), cmocka_unit_test(test_parts),     cmocka_unit_test(test_constants),
      cmocka_unit_test(test_bits),  cmocka_unit_test(test_gathering), cmocka_unit_test(test_scattering),
  };
  return cmocka_run_group_tests(tests, graph_open, graph_close);
}
