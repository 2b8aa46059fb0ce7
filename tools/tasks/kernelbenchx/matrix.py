from kernelbenchx.suite import SUITE

SUITE.missing("MatrixMultiply", "not written yet",
              "addmm", "matmul", "matmul_bf16", "matmul_fp16", "matrix_multiply_and_row_dot", "matrix_multiply_symmetric", "matrix_vector_dot", "symmetric_mm_and_abs_sum", "tensordot_rsqrt", "tril_mm_and_scale")
