# SPDX-License-Identifier: Apache-2.0
# Triton, parts of a sum added by atomics into zeros.
# assay: task kernelbench/1/4
# assay: expect pass
import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def mv(a, b, c, M, K, SPLIT, BK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    p = tl.program_id(1)
    acc = tl.zeros([BK], dtype=tl.float32)
    span = tl.cdiv(tl.cdiv(K, SPLIT), BK) * BK
    for k0 in range(0, span, BK):
        k = p * span + k0 + tl.arange(0, BK)
        m = k < K
        acc += tl.load(a + r * K + k, mask=m, other=0.0) * tl.load(b + k, mask=m, other=0.0)
    tl.atomic_add(c + r, tl.sum(acc, 0))
class ModelNew(nn.Module):
    def forward(self, A, B):
        M, K = A.shape
        c = torch.zeros((M, 1), device=A.device, dtype=torch.float32)
        mv[(M, 8)](A, B, c, M, K, 8, BK=1024)
        return c
