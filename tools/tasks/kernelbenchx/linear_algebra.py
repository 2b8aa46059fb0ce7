# SPDX-License-Identifier: Apache-2.0
"""LinearAlgebra, and what Fusion and Normalization have of it. Matrices are far from singular, and want a pivot."""
from kernelbenchx.suite import SUITE, Input, loads, powers

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
                 (61, 31, 5), (127, 5, 2)), "fused_qr_solve(A, b)", domains=OUR, note=DRAWN)
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
UNFREE = "a factorisation that is not unique, to be judged by residuals and invariants: not yet"
SUITE.missing("LinearAlgebra", UNFREE, "eig", "ldl_factor", "qr", "svd")
