# SPDX-License-Identifier: Apache-2.0
"""LinearAlgebra, and what Fusion and Normalization have of it. Matrices are far from singular, and want a pivot."""
from kernelbenchx.suite import SUITE, Input, loads, powers
from task_files import Function

OUR = ("ai.assay",)
REGULAR, DEFINITE = "normal(0, 1) regular fixed", "uniform(-1, 1) definite fixed"
RIGHT = "normal(0, 1)"
DRAWN = "matrices are far from singular, and zero where elimination begins; the ladder's are of independent numbers"
RAGGED = (1, 2, 3, 17, 31, 61)


def square(ladder, small=96, full=None):
    return loads("N", ladder, small, *RAGGED, full=full)


def system(ladder, full=None):
    return loads("N R", [(n, 1) for n in ladder], (96, 4), (1, 1), (2, 3), (3, 1), (17, 5), (31, 2), (61, 7), full=full)


def matrices(category, name, title, body, workloads, call, outputs=("N", "N"), dist=REGULAR, more=(), note=DRAWN, **kw):
    SUITE.task(category, name, title, [Input("A", ["N", "N"], dist), *more], list(outputs), body, workloads, call,
               domains=OUR, note=note, **kw)


B = Input("b", ["N", "R"], RIGHT)
matrices("LinearAlgebra", "cholesky", "Cholesky's lower factor", ["y = ai.assay.Cholesky(A)"], square(powers(8, 13)),
         "cholesky(A)", dist=DEFINITE,
         note="the ladder's matrices, N N' and a millionth, are so near to singular ones that honest kernels find no factor "
              "at 2048 rows; definite ones far from that")
SUITE.task("LinearAlgebra", "cholesky_solve", "Systems of equations of which Cholesky's factor is given",
           [Input("B", ["N", "R"], RIGHT), Input("L", ["N", "N"], "uniform(-1, 1) tril regular fixed")], ["N", "R"],
           ["half = ai.assay.SolveTriangular(L, B)", "turned = Transpose<perm = [1, 0]>(L)",
            "y = ai.assay.SolveTriangular<upper = 1>(turned, half)"],
           loads("N R", [(n, 10) for n in powers(4, 15)], (96, 10), (1, 1), (2, 3), (3, 1), (17, 5), (31, 2), (61, 7),
                 full=(8192, 10)), "cholesky_solve(B, L)", domains=OUR,
           note=DRAWN + ". `full` is the third largest size: the largest has a factor of 4 GB")
for name, how in (("det", ""), ("determinant_lu", " by elimination"), ("determinant_via_qr", " by orthogonal factors")):
    ladder = powers(4, 10) if name == "determinant_lu" else powers(4, 13)
    SUITE.task("LinearAlgebra", name, f"Determinants{how}", [Input("A", ["B", "N", "N"], REGULAR)], ["B"], ["y = Det(A)"],
               loads("B N", [(1, n) for n in ladder], (7, 96), (1, 1), (5, 2), (3, 3), (2, 17), (1, 31), (2, 61)),
               "torch.stack([determinant_via_qr(a) for a in A])" if name == "determinant_via_qr" else f"{name}(A)",
               ladder=[["N", "N"]],
               note="the ladder's determinants are beyond fp32 from 64 rows on; " + DRAWN)
matrices("LinearAlgebra", "invert_matrix_lu", "Inverse", ["y = ai.assay.Inverse(A)"], square(powers(6, 11)),
         "torch.linalg.inv(A)",
         note="the published function applies the permutation where its inverse belongs; the inverse. " + DRAWN)
matrices("LinearAlgebra", "lu", "Factors by elimination with partial pivoting: a permutation, a lower and an upper triangle",
         ["P, L, U = ai.assay.LU(A)"], square(range(256, 1537, 128)), "lu(A)",
         outputs=[(name, "float", ["N", "N"]) for name in "PLU"],
         note="in every column one number is far larger than the others, so that the pivots are beyond doubt")
matrices("LinearAlgebra", "solve", "Systems of equations", ["y = ai.assay.Solve(A, b)"], system(powers(4, 11)), "solve(A, b)",
         outputs=("N", "R"), more=[B])
matrices("LinearAlgebra", "solve_and_add_scaled_vector", "Systems with an upper triangle, and a multiple of a vector",
         ["x = ai.assay.SolveTriangular<upper = 1>(A, b)", "scaled = Mul(vector, alpha)", "y = Add(x, scaled)"],
         system(powers(5, 10)), "solve_and_add_scaled_vector(A, b, vector, 1.0)", outputs=("N", "R"),
         dist="uniform(-1, 1) triu regular fixed", more=[B, Input("vector", ["N", 1], RIGHT)],
         constants=["float alpha = {-0.75}"], published_constants={"alpha": ("1", "-0.75")},
         mathematics="solve_and_add_scaled_vector(A, b, vector, -0.75)",
         repair="the ladder's factor is 1, so that a sum passes for it",
         ladder=[["N", "N"], ["N", "R"], ["N", 1]])
matrices("LinearAlgebra", "solve_symmetric_ldl", "Systems of equations with a symmetric, indefinite matrix",
         ["y = ai.assay.Solve(A, b)"], system(powers(3, 9)), "torch.linalg.solve(A, b)", outputs=("N", "R"), more=[B],
         dist="normal(0, 1) symmetric regular fixed",
         note="the published function takes the numbers of pivots for the diagonal factor; the system as described. " + DRAWN)
matrices("LinearAlgebra", "pseudoinverse_svd", "Pseudo-inverse", ["y = ai.assay.PseudoInverse(A)"], square(powers(2, 9)),
         "pseudoinverse_svd(A)")
matrices("LinearAlgebra", "low_rank_svd_approximation", "The nearest matrix of rank 50",
         ["y = ai.assay.LowRank<rank = 50>(A)"],
         loads("N", range(256, 1409, 128), 128, 1, 17, 51, 67, 90), "low_rank_svd_approximation(A, min(50, N))",
         dist="normal(0, 1) fixed", note="the ladder's matrices are of numbers from [0, 1), almost of rank one; normal ones")
matrices("LinearAlgebra", "matrix_power_eig", "A power of a symmetric matrix: 2.5",
         ["y = ai.assay.SymmetricPower<k = 2.5>(A)"], square(range(256, 1665, 128)), "matrix_power_eig(A, 2.5)", dist=DEFINITE,
         note="the ladder squares its matrices, which a product does; definite ones to the power 2.5")
matrices("Fusion", "fused_cholesky_solve", "Systems of equations with a definite matrix", ["y = ai.assay.Solve(A, b)"],
         system(powers(2, 9)), "torch.linalg.solve(A, b)", outputs=("N", "R"), more=[B], dist=DEFINITE,
         note="`torch.cholesky` of the published function is gone from PyTorch, so that it is compared with "
              "`torch.linalg.solve`")
SUITE.task("Fusion", "fused_lu_solve", "A system of equations",
           [Input("A", ["N", "N"], REGULAR), Input("b", ["N"], RIGHT)], ["N"],
           ["column = Unsqueeze(b, last)", "x = ai.assay.Solve(A, column)", "y = Squeeze(x, last)"],
           square(powers(8, 12)), "torch.linalg.solve(A, b)", constants=["int64[1] last = {1}"], domains=OUR,
           note="the published function forgets the permutation; the system as described. " + DRAWN)
SUITE.task("Fusion", "fused_qr_solve", "Systems with more equations than unknowns, in the sense of least squares",
           [Input("A", ["M", "N"], REGULAR), Input("b", ["M", "R"], RIGHT)], ["N", "R"],
           ["turned = Transpose<perm = [1, 0]>(A)", "square = MatMul(turned, A)", "right = MatMul(turned, b)",
            "y = ai.assay.Solve(square, right)"],
           loads("M N R", [(2 * n, n, 10) for n in powers(4, 12)], (128, 64, 10), (1, 1, 1), (3, 2, 1), (17, 17, 3),
                 (61, 31, 5), (127, 5, 2)), "fused_qr_solve(A, b)", domains=OUR,
           shapes="N=1..512, M~N+36, R=1..32", note=DRAWN)
matrices("Fusion", "fused_svd_reconstruct", "A matrix put together from its singular vectors and values",
         ["y = ai.assay.LowRank<rank = 8192>(A)"], square(powers(6, 10)), "fused_svd_reconstruct(A)",
         dist="normal(0, 1) fixed", note="the matrix itself",
         allow="input: the task's answer is its input; affine: the task's answer is its input")
SUITE.task("Normalization", "spectral_norm_eig", "The largest magnitude of an eigenvalue",
           [Input("A", ["B", "N", "N"], "normal(0, 1) * uniform_scalar(0.25, 4) fixed")], ["B"],
           ["y = ai.assay.SpectralRadius(A)"],
           loads("B N", [(1, n) for n in powers(2, 7)], (7, 64), (1, 1), (5, 2), (3, 3), (2, 17), (1, 31), (2, 61)),
           "spectral_norm_eig(A)", domains=OUR, ladder=[["N", "N"]],
           note="what the function is named after is the largest singular value; its reference and its text say eigenvalue")

# Factors that are not unique. The check computes what does not depend on the choice: what they multiply to, products that
# are the identity, triangles that are zero.
SUITE.task("LinearAlgebra", "qr", "An orthonormal factor and an upper triangle", [Input("A", ["M", "N"], "normal(0, 1)")],
           [("Q", "float", ["M", "N"]), ("R", "float", ["N", "N"])], ["Q, R = ai.assay.QR(A)"],
           loads("M N", [(n, n) for n in powers(4, 12)], (160, 96), (1, 1), (3, 2), (17, 17), (61, 31), (127, 5), (40, 39),
                 full=(1024, 1024)), "qr(A)", domains=OUR, probes="-subnormal", shapes="N=1..512, M~N+37",
           check=Function("factors", ["Q", "R"], ["product", "square", "below"],
                          ["product = MatMul(Q, R)", "turned = Transpose<perm = [1, 0]>(Q)", "square = MatMul(turned, Q)",
                           "upper = Trilu<upper = 1>(R)", "below = Sub(R, upper)"]),
           note="judged by Q R, Q' Q and what is below R's diagonal. `full` is the third largest size: a pass of the oracle "
                "takes a minute at the largest")
SUITE.task("LinearAlgebra", "svd", "Singular values and their vectors", [Input("A", ["M", "N"], "normal(0, 1)")],
           [("U", "float", ["M", "M"]), ("S", "float", ["N"]), ("V", "float", ["N", "N"])], ["U, S, V = ai.assay.SVD(A)"],
           loads("M N", [(n, n) for n in powers(4, 8)], (128, 96), (1, 1), (3, 2), (17, 17), (61, 31), (67, 5), (40, 39)),
           "svd(A)", domains=OUR, probes="-subnormal", shapes="N=1..256, M~N+37",
           check=Function("factors", ["U", "S", "V"], ["product", "values", "square_u", "square_v", "disorder"],
                          ["k = Shape(S)", "from = Constant<value_ints = [0]>()", "axis = Constant<value_ints = [1]>()",
                           "next = Constant<value_ints = [1]>()", "first = Constant<value_ints = [-1]>()",
                           "left = Slice(U, from, k, axis)", "column = Unsqueeze(S, axis)", "scaled = Mul(column, V)",
                           "product = MatMul(left, scaled)", "values = Identity(S)",
                           "turned_u = Transpose<perm = [1, 0]>(U)", "square_u = MatMul(turned_u, U)",
                           "turned_v = Transpose<perm = [1, 0]>(V)", "square_v = MatMul(V, turned_v)",
                           "larger = Slice(S, from, first, from)", "smaller = Slice(S, next, k, from)",
                           "rises = Less(larger, smaller)", "zero = CastLike(from, S)", "negative = Less(S, zero)",
                           "wrong = Concat<axis = 0>(rises, negative)", "disorder = Cast<to = 7>(wrong)"]),
           note="judged by U S V', U' U, V V' and the values, which descend")
SUITE.task("LinearAlgebra", "eig", "Eigenvalues and eigenvectors, which may be complex",
           [Input("A", ["N", "N"], "normal(0, 1) * uniform_scalar(0.25, 4) fixed")],
           [("w", "float", ["N", 2]), ("V", "float", ["N", "N", 2])], ["w, V = ai.assay.Eig(A)"],
           square(powers(6, 10), small=64, full=128), "tuple(torch.view_as_real(t) for t in eig(A))", domains=OUR,
           shapes="N=1..128",
           check=Function("pairs", ["A", "w", "V"], ["real", "imaginary", "lengths", "volume"],
                          ["re, im = Split<axis = 2, num_outputs = 2>(V)", "last = Constant<value_ints = [2]>()",
                           "x = Squeeze(re, last)", "y = Squeeze(im, last)",
                           "turned = Transpose<perm = [1, 0]>(w)", "a, b = Split<axis = 0, num_outputs = 2>(turned)",
                           "ax = MatMul(A, x)", "xa = Mul(x, a)", "yb = Mul(y, b)", "re_less = Sub(ax, xa)",
                           "real = Add(re_less, yb)",
                           "ay = MatMul(A, y)", "xb = Mul(x, b)", "ya = Mul(y, a)", "im_less = Sub(ay, xb)",
                           "imaginary = Sub(im_less, ya)",
                           "parts = Constant<value_ints = [0, 2]>()", "lengths = ReduceSumSquare<keepdims = 0>(V, parts)",
                           "minus = Neg(y)", "above = Concat<axis = 1>(x, minus)", "under = Concat<axis = 1>(y, x)",
                           "both = Concat<axis = 0>(above, under)", "sign, volume = ai.assay.SlogDet(both)"],
                          domains=OUR),
           note="judged by A V - V w, the vectors' lengths, and the logarithm of the determinant of V, which a vector that is "
                "there twice makes minus infinity. The ladder's matrices are of numbers from [0, 1), and have one eigenvalue "
                "far larger than all others. `full` is the second smallest size: a pass of the oracle takes half a minute at the "
                "largest")
matrices("LinearAlgebra", "ldl_factor", "Factors of symmetric matrices, with pivots on the diagonal",
         ["LD, pivots = ai.assay.LDL(A)"], square(powers(5, 10), full=512), "ldl_factor(A)",
         outputs=[("LD", "float", ["N", "N"]), ("pivots", "int32", ["N"])], dist="normal(0, 1) symmetric fixed",
         check=Function("product", ["LD", "pivots"], ["product"], ["product = ai.assay.LDLProduct(LD, pivots)"], domains=OUR),
         note="packed as LAPACK's sytrf does; judged by the matrix that the factors and pivots multiply to, so that the choice "
              "of pivots is free. Matrices are indefinite and want pivots, where the ladder's want none")
