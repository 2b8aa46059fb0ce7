# SPDX-License-Identifier: Apache-2.0
# Triton, three products of TF32 halves.
# assay: task kernelbench/1/1
# assay: expect pass
import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def mm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision="tf32x3")
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
class ModelNew(nn.Module):
    def forward(self, A, B):
        M, K = A.shape; N = B.shape[1]
        C = torch.empty((M, N), device=A.device, dtype=A.dtype)
        mm[(triton.cdiv(M, 64), triton.cdiv(N, 64))](A, B, C, M, N, K, BM=64, BN=64, BK=32)
        return C
