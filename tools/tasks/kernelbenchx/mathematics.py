from kernelbenchx.suite import SUITE

SUITE.missing("Math", "not written yet",
              "abs", "add", "airy_ai", "asin", "bessel_j1", "bitwise_and", "bitwise_and_binomial", "chebyshev_polynomial_t", "cos", "digamma", "div", "erf", "erfc_sqrt", "exp_sqrt", "fftn", "floor", "gammaln", "i0", "ifftshift", "log", "log1p", "logit", "mul", "polygamma", "pow", "rad2deg_sqrt", "reciprocal", "rsqrt", "signbit", "signbit_bitwise_and", "softmax", "sqrt_exp", "sqrt_tanh", "sub", "trunc", "zeta", "mul_bf16", "mul_fp16")
