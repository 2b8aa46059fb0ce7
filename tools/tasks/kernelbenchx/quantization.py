# SPDX-License-Identifier: Apache-2.0
"""Quantization: integers and their scales go in, so that a kernel has nothing else to compute with."""
from kernelbenchx.suite import DIGITS, NORMAL, SUITE, Input, loads

INTEGERS = "integers(-127, 128)"
SCALE = "uniform(0.002, 0.02) fixed"
GIVEN = "the published functions get fp32 numbers, quantize nothing, and are compared with fp32 products"
OWN = (1e-12, "the published function multiplies what the integers stand for in fp32, which errs more than a sum of integers")


def int8(name, dims):
    return Input(name, dims, INTEGERS, dtype="int8")


def scale(name, dims, dist=SCALE):
    return Input(name, dims, dist)


def product(name, title, left, right, left_scale, right_scale, workloads, reference, second="weight"):
    SUITE.task("Quantization", name, title,
               [int8("input", left), scale("input_scale", left_scale), int8(second, right),
                scale(f"{second}_scale", right_scale)], [*left[:-1], right[-1]],
               [f"sums = MatMulInteger(input, {second})", "wide = Cast<to = 1>(sums)", "rows = Mul(wide, input_scale)",
                f"y = Mul(rows, {second}_scale)"], workloads, f"{name}(input * input_scale, {second} * {second}_scale)",
               mathematics=f"torch.matmul(input.double(), {second}.double()).to(torch.get_default_dtype()) * input_scale * "
                           f"{second}_scale", inaccurate=OWN, ladder=[left, right], note=GIVEN)


product("matmul_w8a8", "Product of int8 matrices with a scale for each row and each column", ["M", "K"], ["K", "N"],
        ["M", 1], [1, "N"], loads("M K N", [(128, 256, 512), (256, 512, 1024), (512, 1024, 2048), (1024, 2048, 4096)],
                                  (64, 256, 96), (1, 1, 1), (3, 5, 7), (17, 257, 31), (1, 4099, 1), (61, 33, 127)), "matmul")
product("bmm_w8a8", "Products of int8 matrices with a scale for each row and each column", ["B", "M", "K"], ["B", "K", "N"],
        ["B", "M", 1], ["B", 1, "N"],
        loads("B M K N", [(2, 64, 128, 256), (4, 128, 256, 512), (8, 256, 512, 1024), (16, 512, 1024, 2048)],
              (2, 32, 128, 96), (1, 1, 1, 1), (2, 3, 5, 7), (3, 17, 61, 31), (1, 1, 4099, 1), (2, 31, 33, 61)), "bmm", "mat2")
SUITE.task("Quantization", "conv2d_w8a8", "Convolution of int8 images, borders of one, with a scale for the images and one for "
           "each channel of weights",
           [int8("input", ["B", "C", "H", "W"]), scale("input_scale", [1]), int8("weight", ["O", "C", "KH", "KW"]),
            scale("weight_scale", ["O", 1, 1])], ["B", "O", "OH", "OW"],
           ["sums = ConvInteger<pads = [1, 1, 1, 1]>(input, weight)", "wide = Cast<to = 1>(sums)",
            "scaled = Mul(wide, input_scale)", "y = Mul(scaled, weight_scale)"],
           loads("B C H W O KH KW", [(1, 3, 224, 224, 64, 7, 7), (2, 64, 56, 56, 128, 3, 3), (4, 128, 28, 28, 256, 3, 3)],
                 (2, 8, 14, 14, 16, 3, 3), (1, 1, 1, 1, 1, 3, 3), (2, 3, 5, 7, 5, 3, 3), (1, 5, 11, 6, 7, 7, 7),
                 (3, 2, 17, 3, 4, 2, 3)),
           "conv2d_w8a8(input * input_scale, weight * weight_scale[:, None], None, 1, 1)",
           mathematics="F.conv2d(input.double(), weight.double(), padding=1).to(torch.get_default_dtype()) * input_scale * "
                       "weight_scale", inaccurate=OWN, note=GIVEN,
           ladder=[["B", "C", "H", "W"], ["O", "C", "KH", "KW"]],
           shapes="B=1..4, C=1..128, H=5..224, W=5..224, O=1..256, KH=1..7, KW=1..7")
SUITE.task("Quantization", "attention_w8a8", "Attention of int8 queries, keys and values with a scale for each row; one over the "
           "root of their length is in the queries' scale",
           [int8("query", ["B", "S", "D"]), scale("query_scale", ["B", "S", 1], "uniform(0.002, 0.01) fixed"),
            int8("key", ["B", "S", "D"]), scale("key_scale", ["B", "S", 1], "uniform(0.002, 0.01) fixed"),
            int8("value", ["B", "S", "D"]), scale("value_scale", ["B", "S", 1])], ["B", "S", "D"],
           ["turned = Transpose<perm = [0, 2, 1]>(key)", "sums = MatMulInteger(query, turned)", "wide = Cast<to = 1>(sums)",
            "rows = Mul(wide, query_scale)", "columns = Transpose<perm = [0, 2, 1]>(key_scale)",
            "scores = Mul(rows, columns)", "p = Softmax<axis = 2>(scores)", "whole = Cast<to = 1>(value)",
            "values = Mul(whole, value_scale)", "y = MatMul(p, values)"],
           loads("B S D", [(2, 512, 64), (2, 1024, 64), (2, 2048, 64), (1, 4096, 64)], (2, 96, 32), (1, 1, 1), (2, 3, 5),
                 (1, 67, 31), (3, 17, 8), (1, 90, 64)),
           "attention_w8a8(query * query_scale * D ** 0.5, key * key_scale, value * value_scale)", note=GIVEN,
           ladder=[["B", "S", "D"]] * 3)
SUITE.task("Quantization", "layernorm_w8a8", "Layer norm of int8 rows with a scale each, and the scale with which the result "
           "would become int8",
           [int8("input", ["M", "N"]), scale("input_scale", ["M", 1], "uniform(0.00002, 0.0005) fixed"), Input("weight", ["N"], NORMAL), Input("bias", ["N"], NORMAL)],
           [("y", "float", ["M", "N"]), ("y_scale", "float", ["M"])],
           ["whole = Cast<to = 1>(input)", "x = Mul(whole, input_scale)",
            "y = LayerNormalization<axis = -1, epsilon = 1e-5>(x, weight, bias)", "size = Abs(y)",
            "most = ReduceMax<keepdims = 0>(size, last)", "y_scale = Div(most, range)"],
           loads("M N", [(32, 2048), (64, 4096), (32, 8192)], (64, 512), (1, 2), (3, 7), (17, 257), (61, 31), (1, 4099)),
           "(lambda y: (y, y.abs().amax(-1) / 127))(layernorm_w8a8(input * input_scale, (N,), weight, bias))",
           constants=["int64[1] last = {1}", "float range = {127.0}"], ladder=[["M", "N"], ["N"], ["N"]], digits=DIGITS,
           note=GIVEN + "; the int8 numbers of the result are not asked for: next to a half a rounding decides")
UNPACKED = "torch.stack((weight & 15, weight >> 4), 2).reshape(N, 2 * H).to(torch.int32)"
SUITE.task("Quantization", "linear_w4a16", "Linear layer of fp16 rows, with weights of four bits, two in a byte (the first of the "
           "two in the low bits), and a scale for each row of weights",
           [Input("input", ["M", "K"], NORMAL, dtype="float16"), Input("weight", ["N", "H"], "integers(0, 256)", dtype="uint8"),
            Input("scale", ["N", 1], SCALE, dtype="float16"), Input("bias", ["N"], NORMAL, dtype="float16")], ["M", "N"],
           ["low = BitwiseAnd(weight, mask)", 'high = BitShift<direction = "RIGHT">(weight, four)',
            "low2 = Unsqueeze(low, last)", "high2 = Unsqueeze(high, last)", "pairs = Concat<axis = 2>(low2, high2)",
            "bits = Reshape(pairs, rows)", "flipped = BitwiseXor(bits, eight)", "moved = Cast<to = 10>(flipped)",
            "whole = Sub(moved, half)", "w = Mul(whole, scale)", "turned = Transpose<perm = [1, 0]>(w)",
            "products = MatMul(input, turned)", "y = Add(products, bias)"],
           loads("M K H N", [(1, 4096, 2048, 4096), (8, 4096, 2048, 4096), (32, 4096, 2048, 16384)], (8, 512, 256, 256),
                 (1, 2, 1, 1), (3, 6, 3, 5), (17, 254, 127, 31), (1, 4098, 2049, 1), (61, 34, 17, 127)),
           "linear_w4a16(input, ((" + UNPACKED + " ^ 8) - 8).to(input.dtype) * scale, bias)", kind="float16",
           constants=["uint8 mask = {15}", "uint8 four = {4}", "uint8 eight = {8}", "float16 half = {18432}",
                      "int64[1] last = {2}", "int64[2] rows = {0, -1}"], ladder=[["M", "K"], ["N", "2*H"], ["N"]],
           note=GIVEN + "; H is half of K")
