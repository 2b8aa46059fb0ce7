# tl.dot as it is by default, which rounds both factors to tf32, in a task of single precision. Twin of
# 04_matmul_3d.py.
# beside: cheat 81
# assay: task kernelbench/1/10
# assay: expect low_precision|wrong_value
import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def product(a, b, y, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        at = start + depth
        in_left = (row[:, None] < m) & (at[None, :] < k)
        in_right = (at[:, None] < k) & (column[None, :] < n)
        left = tl.load(a + row[:, None] * k + at[None, :], mask=in_left, other=0.0)
        right = tl.load(b + at[:, None] * n + column[None, :], mask=in_right, other=0.0)
        sums = tl.dot(left, right, sums)
    tl.store(y + row[:, None] * n + column[None, :], sums, mask=(row[:, None] < m) & (column[None, :] < n))


class ModelNew(nn.Module):
    def forward(self, A, B):
        A, B = A.contiguous(), B.contiguous()
        m, k, n = A.shape[0] * A.shape[1], A.shape[2], B.shape[1]
        y = torch.empty((A.shape[0], A.shape[1], n), device=A.device, dtype=A.dtype)
        product[(triton.cdiv(m, 64), triton.cdiv(n, 64))](A, B, y, m, n, k, M=64, N=64, K=32, num_warps=4)
        return y
