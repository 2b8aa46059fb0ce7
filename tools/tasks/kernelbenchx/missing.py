"""Categories of which nothing is made yet, and why."""
from kernelbenchx.suite import SUITE

RESIDUALS = "a factorisation, to be judged by residuals and invariants: no operator yet"
SUITE.missing("LinearAlgebra", RESIDUALS, "eig", "ldl_factor", "low_rank_svd_approximation", "lu", "matrix_power_eig",
              "pseudoinverse_svd", "qr", "solve_symmetric_ldl", "svd")
SUITE.missing("LinearAlgebra", "the operator is there; its inputs need a distribution of well-conditioned matrices",
              "cholesky", "cholesky_solve", "det", "determinant_lu", "determinant_via_qr", "invert_matrix_lu", "solve",
              "solve_and_add_scaled_vector")
SUITE.missing("Quantization", "integers and scales as inputs, and a contract for them, come first", "attention_w8a8",
              "bmm_w8a8", "conv2d_w8a8", "layernorm_w8a8", "linear_w4a16", "matmul_w8a8")
SUITE.missing("Random", "no tensor goes in", "logspace")
SUITE.missing("Random", "numbers of chance, to be judged as a distribution", "rand")
