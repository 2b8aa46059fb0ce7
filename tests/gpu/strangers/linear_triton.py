# SPDX-License-Identifier: Apache-2.0
# Triton, a product with its epilogue, autotuned.
# assay: task kernelbench/2/12
# assay: expect pass
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
        triton.Config({"BM": 128, "BN": 64, "BK": 32}, num_warps=8, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def fused_linear(x, w, b, y, M, N, K, mult, slope, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, tl.cdiv(K, BK)):
        k = k0 * BK + tl.arange(0, BK)
        xv = tl.load(x + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        wv = tl.load(w + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K), other=0.0)
        acc += tl.dot(xv, wv, input_precision="ieee")
    acc = (acc + tl.load(b + n, mask=n < N, other=0.0)[None, :]) * mult
    acc = tl.where(acc > 0, acc, acc * slope)
    tl.store(y + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, multiplier, negative_slope):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.multiplier = multiplier
        self.negative_slope = negative_slope

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.gemm.weight.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        fused_linear[grid](x, self.gemm.weight, self.gemm.bias, y, M, N, K, self.multiplier, self.negative_slope)
        return y
