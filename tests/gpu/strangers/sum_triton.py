# SPDX-License-Identifier: Apache-2.0
# Triton, a block of columns each.
# assay: task kernelbench/1/47
# assay: expect pass
import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def ksum(x, y, M, N, BN: tl.constexpr, BM: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for m0 in range(0, M, BM):
        m = m0 + tl.arange(0, BM)
        p = x + b * M * N + m[:, None] * N + n[None, :]
        acc += tl.load(p, mask=(m[:, None] < M) & (n[None, :] < N), other=0.0)
    tl.store(y + b * N + n, tl.sum(acc, 0), mask=n < N)
class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
    def forward(self, x):
        B, M, N = x.shape
        y = torch.empty((B, 1, N), device=x.device, dtype=x.dtype)
        ksum[(B, triton.cdiv(N, 128))](x, y, M, N, BN=128, BM=32)
        return y
