# SPDX-License-Identifier: Apache-2.0
"""Normalization: norms of rows and batches."""
from kernelbenchx.suite import DIGITS, NORMAL, SUITE, UNIT, Input, loads, powers

IMAGE = ["N", "C", "H", "W"]
VARIANCE = "uniform(0.25, 4) static fixed"
SUITE.task("Normalization", "batch_norm", "Batch normalisation of images with given statistics",
           [Input("input", IMAGE, NORMAL), Input("running_mean", ["C"], "normal(0, 1) static"),
            Input("running_var", ["C"], VARIANCE), Input("weight", ["C"], "normal(0, 1) static"),
            Input("bias", ["C"], "normal(0, 1) static")], IMAGE,
           ["y = BatchNormalization<epsilon = 1e-5>(input, weight, bias, running_mean, running_var)"],
           loads("N C H W", [(32, 32, 128 * k, 128) for k in range(5, 13)], (4, 16, 64, 32), (1, 1, 1, 1), (2, 3, 4, 4),
                 (3, 5, 7, 11), (2, 17, 3, 31), (1, 3, 13, 67)),
           "batch_norm(input, running_mean, running_var, weight, bias)", digits=DIGITS, probes="near_overflow(1e15)",
           note="the ladder's images are fp16; its variances, absolute values of normal numbers, are drawn from "
                "[0.25, 4) here")
SUITE.task("Normalization", "normalize_pairwise_distance",
           "Euclidean distances of pairs of rows, divided by the norm of all of them",
           [Input(x, ["B", "N", "D"], "slash(1)", UNIT) for x in ("x1", "x2")], ["B", "N"],
           ["d = Sub(x1, x2)", "n = ReduceL2<keepdims = 0>(d, rows)", "distance = Add(n, eps)",
            "norm = ReduceL2<keepdims = 1>(distance, all)", "kept = Max(norm, least)", "y = Div(distance, kept)"],
           loads("B N D", [(16, n, 128) for n in powers(4, 15)], (16, 64, 128), (1, 1, 1), (3, 5, 7), (2, 33, 17),
                 (1, 13, 131), (2, 1031, 2)), "normalize_pairwise_distance(x1, x2)",
           constants=["int64[1] rows = {-1}", "int64[1] all = {1}", "float eps = {1e-6}", "float least = {1e-12}"],
           probes="near_overflow(1e15), -subnormal",
           repair="published distances are alike, so that every output is 1/sqrt(N) within a few percent; heavy tails")
ROWS = loads("M N", [(m, 1024) for m in powers(6, 15)], (128, 512), (2, 1), (3, 7), (7, 1021), (13, 33), (1, 4099))
SUITE.task("Normalization", "normalized_cosine_similarity", "Cosines between rows that are normalised before",
           [Input("x1", ["M", "N"], "normal(0.5, 1)", UNIT), Input("x2", ["M", "N"], "normal(0.5, 1)", UNIT)], ["M"],
           ["n1 = ReduceL2<keepdims = 1>(x1, rows)", "k1 = Max(n1, least)", "a = Div(x1, k1)",
            "n2 = ReduceL2<keepdims = 1>(x2, rows)", "k2 = Max(n2, least)", "b = Div(x2, k2)",
            "ab = Mul(a, b)", "dot = ReduceSum<keepdims = 0>(ab, rows)",
            "na = ReduceL2<keepdims = 0>(a, rows)", "ka = Max(na, eps)", "nb = ReduceL2<keepdims = 0>(b, rows)",
            "kb = Max(nb, eps)", "kk = Mul(ka, kb)", "y = Div(dot, kk)"], ROWS,
           "normalized_cosine_similarity(x1, x2)",
           constants=["int64[1] rows = {1}", "float least = {1e-12}", "float eps = {1e-8}"],
           probes="near_overflow(1e17), -subnormal",
           repair="published rows all point the same way, and cosines are 0.75 within 0.02; signed inputs")
SUITE.task("Normalization", "symmetric_matrix_vector_norm", "Norm of a symmetric matrix times a vector, scaled twice",
           [Input("A", ["N", "N"], "normal(0, 1) * uniform_scalar(0.25, 4) symmetric", "uniform(0, 1) symmetric"),
            Input("x", ["N"], NORMAL, UNIT)], [],
           ["ax = MatMul(A, x)", "y0 = Mul(alpha, ax)", "y1 = Mul(beta, y0)", "y2 = Add(y0, y1)",
            "y = ReduceL2<keepdims = 0>(y2)"],
           loads("N", powers(2, 14), 384, 1, 7, 33, 67, 89),
           "symmetric_matrix_vector_norm(A, x, 1.0, 1.0)",
           constants=["float alpha = {1.0}", "float beta = {1.0}"], probes="near_overflow(1e8)",
           repair="the published norm is N to the power 3/2 over 2, within a percent, at the ladder's larger sizes; "
                  "signed inputs of a scale drawn anew",
           note="the text adds beta y, and y is no input: the published function takes alpha A x for it")
