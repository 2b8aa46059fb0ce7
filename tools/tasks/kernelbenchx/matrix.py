# SPDX-License-Identifier: Apache-2.0
"""MatrixMultiply: products, and what is done with them."""
from kernelbenchx.suite import NORMAL, SIGNED, SUITE, UNIT, Input, loads, powers

SQUARES = [128 * i for i in range(2, 33)]
MKN = loads("M K N", SQUARES, (160, 256, 192), (1, 1, 1), (1, 37, 3), (17, 65, 33), (61, 7, 97), (5, 131, 1))
PROBES = "near_overflow(1e17), special"
HALF = "the ladder's tensors are fp16; the half-precision products are tasks of their own"


def matrix(name, title, inputs, outputs, body, workloads, call, dist=NORMAL, repair=SIGNED, **more):
    """inputs: (name, dims); dists: of inputs that are drawn otherwise."""
    others = more.pop("dists", {})
    published, kind = UNIT if repair else None, more.get("kind", "float")
    SUITE.task("MatrixMultiply", name, title, [Input(n, dims, others.get(n, dist), published, kind)
                                               for n, dims in inputs], outputs, body, workloads, call, repair=repair,
               **more)


AB = (("A", ["M", "K"]), ("B", ["K", "N"]))
SCALES = ["float alpha = {1.0}", "float beta = {0.5}"]
matrix("addmm", "A matrix plus the product of two", [("input", ["M", "N"]), ("mat1", ["M", "K"]), ("mat2", ["K", "N"])],
       ["M", "N"], ["y = Gemm(mat1, mat2, input)"], MKN, "addmm(input, mat1, mat2)", probes=PROBES, note=HALF)
matrix("matmul", "Product of two matrices", [("tensor1", ["M", "K"]), ("tensor2", ["K", "N"])], ["M", "N"],
       ["y = MatMul(tensor1, tensor2)"], MKN, "matmul(tensor1, tensor2)", probes=PROBES, note=HALF)
for suffix, kind in (("fp16", "float16"), ("bf16", "bfloat16")):
    matrix(f"matmul_{suffix}", f"Product of two matrices in {suffix}", [("input", ["M", "K"]), ("other", ["K", "N"])],
           ["M", "N"], ["y = MatMul(input, other)"], MKN, f"matmul_{suffix}(input, other)", repair=None, kind=kind)
TWO_ROWS = loads("M K N", SQUARES, (160, 256, 192), (2, 1, 1), (2, 37, 3), (17, 65, 33), (61, 7, 97), (5, 131, 1))
matrix("matrix_multiply_and_row_dot", "Scalar product of the first two rows of a product and a matrix",
       AB + (("C", ["M", "N"]),), [],
       ["p = MatMul(A, B)", "c = Add(p, C)", "first = Gather<axis = 0>(c, zero)", "second = Gather<axis = 0>(c, one)",
        "terms = Mul(first, second)", "y = ReduceSum<keepdims = 0>(terms)"], TWO_ROWS,
       "matrix_multiply_and_row_dot(A, B, 1.0, 1.0, C)", constants=["int64 zero = {0}", "int64 one = {1}"],
       probes="near_overflow(1e8)", contraction_part="1/2048", input_part="1/3", note=HALF + ". Two rows are all that the "
       "result needs: the floor counts no more")
N_SQUARE = loads("N K", SQUARES, (192, 160), (1, 1), (7, 3), (33, 17), (67, 61), (3, 131))
matrix("matrix_multiply_symmetric", "A product and a matrix, times its own transpose, plus itself",
       [("A", ["N", "K"]), ("B", ["K", "N"]), ("C", ["N", "N"])], ["N", "N"],
       ["p = MatMul(A, B)", "ap = Mul(p, alpha)", "bc = Mul(C, beta)", "c = Add(ap, bc)",
        "t = Transpose<perm = [1, 0]>(c)", "q = MatMul(c, t)", "aq = Mul(q, alpha)", "cc = Mul(c, beta)",
        "y = Add(aq, cc)"], N_SQUARE, "matrix_multiply_symmetric(A, B, C, 1.0, 0.5)", constants=SCALES,
       probes="near_overflow(1e8)", contraction_part="3/4", note=HALF + ". Half of the symmetric product can be copied")
matrix("matrix_vector_dot", "A matrix times a vector, plus a vector, and its scalar product with the first",
       [("A", ["N", "N"]), ("x", ["N"]), ("y", ["N"])], [("y_new", "float", ["N"]), ("result", "float", [])],
       ["ax = MatMul(A, x)", "y_new = Add(ax, y)", "terms = Mul(y_new, x)", "result = ReduceSum<keepdims = 0>(terms)"],
       loads("N", powers(6, 15), 384, 1, 7, 33, 67, 89),
       "(lambda dot: (y, dot))(matrix_vector_dot(A, x, y, 1.0, 1.0))", probes="near_overflow(1e8)",
       note=HALF + ". The new vector is an output of its own, not y overwritten")
matrix("symmetric_mm_and_abs_sum", "Sum of the absolute values of a product with the own transpose, plus a matrix",
       [("A", ["N", "K"]), ("C", ["N", "N"])], [],
       ["t = Transpose<perm = [1, 0]>(A)", "p = MatMul(A, t)", "ap = Mul(p, alpha)", "bc = Mul(C, beta)",
        "c = Add(ap, bc)", "a = Abs(c)", "y = ReduceSum<keepdims = 0>(a)"],
       loads("N K", powers(4, 11), (192, 160), (1, 1), (7, 3), (33, 17), (67, 61), (3, 131)),
       "symmetric_mm_and_abs_sum(A, C, 1.0, 0.5)", dist="normal(0, 1) * uniform_scalar(0.5, 2)",
       dists={"C": "normal(0, 1) * uniform_scalar(4, 60)"},
       repair="published sums hardly change from draw to draw; signed inputs of a scale drawn anew", constants=SCALES,
       probes="near_overflow(1e15)", contraction_part="1/2")
matrix("tensordot_rsqrt", "One over the square root of each element of a product",
       [("a", ["M", "K"]), ("b", ["K", "N"])], ["M", "N"],
       ["p = MatMul(a, b)", "s = Sqrt(p)", "y = Reciprocal(s)"],
       loads("M K N", powers(5, 11), (256, 16, 384), (1, 1, 1), (1, 37, 3), (17, 65, 33), (61, 7, 97), (5, 131, 1)),
       "tensordot_rsqrt(a, b, 1)", dist="uniform(0.1, 1) * uniform_scalar(0.2, 1.5) above(0)",
       repair="the published outputs are 2 / sqrt(K) within a few percent; inputs of a scale drawn anew, above zero as "
              "the root wants them")
matrix("tril_mm_and_scale", "Product of a lower triangle and a matrix, scaled",
       [("A", ["N", "N"]), ("B", ["N", "P"])], ["N", "P"],
       ["t = Trilu<upper = 0>(A)", "p = MatMul(t, B)", "s = Mul(p, alpha)", "y = Mul(s, beta)"],
       loads("N P", powers(4, 11), (192, 160), (1, 1), (7, 3), (33, 17), (67, 61), (3, 131)),
       "tril_mm_and_scale(A, B, 0.5, 0.5)", constants=["float alpha = {0.5}", "float beta = {0.5}"],
       probes="near_overflow(1e17)", contraction_part="1/2")
