// SPDX-License-Identifier: Apache-2.0
// Models that use much of the syntax, for the tests of the ONNX module.
#ifndef TESTS_ONNX_SAMPLES_H
#define TESTS_ONNX_SAMPLES_H

static const char *const onnx_samples[] = {
    "<ir_version: 10, opset_import: [\"\" : 23]> relu (float[M, N] x) => (float[M, N] y) { y = Relu(x) }",

    "<ir_version: 9, opset_import: [\"\" : 23, \"local\" : 1, \"my-domain.x\" : 3], producer_name: \"p \\\"q\\\" "
    "\\\\\",\n"
    " producer_version: \"\", domain: \"d\", model_version: -7, doc_string: \"two\nlines\",\n"
    " metadata_props: [\"assay.input.x\" : \"uniform(0, 1)\", \"\" : \"\"]>\n"
    "\"a graph\" (float[N, 3, ?, \"n + 1\"] x, float s, double[] any, int64[2] z = {1,-2}, untyped)\n"
    "  => (float[N, 3, ?] y, u, int64[2] z, float16 \"float16\")\n"
    "<float[2] w = {1.0, -2e-1}, float[A] t, bool[3] b = {0, 1, 1}, float16[2] h = {15360, 65535},\n"
    " uint64 big = {18446744073709551615}, float[4] sp = {inf, -inf, nan, -0.0}, int8[0] none = {},\n"
    " float[6] hard = {0.1, 3.4028235e38, 1e-45, 16777217, 1.1754944e-38, 0.33333334},\n"
    " double[3] harder = {0.1, 5e-324, 1.7976931348623157e308}, int8[2] i8 = {-128, 127}, uint8 u8 = {255},\n"
    " int16 i16 = {-32768}, uint16 u16 = {65535}, int32 i32 = {-2147483648}, uint32 u32 = {4294967295},\n"
    " int64 i64 = {-9223372036854775808}, bfloat16[2] bf = {16256, 1}, float8e4m3fn f8 = {126}, float8e5m2 e5 = {1},\n"
    " int4[5] i4 = {-8, 7, -1, 0, 3}, uint4[2] u4 = {15, 8}, int2[5] i2 = {-2, 1, -1, 0, -2}, uint2[3] u2 = {3, 2, "
    "1},\n"
    " float6e2m3[7] f6 = {63, 1, 32, 31, 5, 0, 62}, float6e3m2[1] g6 = {33}, float4e2m1[3] f4 = {15, 1, 8},\n"
    " float8e8m0 e8 = {255}, float8e4m3fnuz n4 = {128}, float8e5m2fnuz n5 = {127}> "
    "{\n"
    "  [first] t, , \"odd name\" = Split<axis: int = 1, num_outputs = 3>(x)\n"
    "  u = Clip(t, , s)\n"
    "  y = local.leaky<alpha = 0.1>(u, \"\")\n"
    "  [\"\"] \"inf\" = \"my-domain\".x.\"op-1\"(u)\n"
    "  c0 = Constant<value = float[2,1] named = {1, 2}>()\n"
    "  c1 = Constant<value_floats: floats = [1, 2.5, inf]>()\n"
    "  c2 = Constant<value_ints: ints = []>()\n"
    "  c3 = Constant<value_float: float = 3>()\n"
    "  c4 = Constant<value_int = -9223372036854775808>()\n"
    "  \"float16\" = Cast<to = 10, saturate = 1>(s)\n"
    "}\n"
    "<domain: \"local\", opset_import: [\"\" : 16]>\n"
    "leaky <alpha, beta: float = 2.0, names: strings = [\"a\", \"b\"], k: ints = []> (a, b) => (c) {\n"
    "  d = Mul(a, a)\n"
    "  c = LeakyRelu<alpha: float = @alpha>(d)\n"
    "}\n"
    "<domain: \"my-domain.x\", opset_import: [\"\" : 16]> \"op-1\" (a) => (b) { b = Identity(a) }\n",
};

enum { N_ONNX_SAMPLES = sizeof onnx_samples / sizeof onnx_samples[0] };

#endif
