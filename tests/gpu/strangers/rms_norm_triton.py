# SPDX-License-Identifier: Apache-2.0
# Triton, a row of the features in each program.
# assay: task kernelbench/1/36
# assay: expect pass
import torch, torch.nn as nn, triton, triton.language as tl

@triton.jit
def rms(x, y, F, S, eps, BS: tl.constexpr, BF: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    s = tl.program_id(0) * BS + tl.arange(0, BS)
    m = s < S
    base = b * F * S
    acc = tl.zeros([BS], dtype=tl.float32)
    for f in range(0, F):
        v = tl.load(x + base + f * S + s, mask=m, other=0.0)
        acc += v * v
    r = 1.0 / tl.sqrt(acc / F + eps)
    for f in range(0, F):
        v = tl.load(x + base + f * S + s, mask=m, other=0.0)
        tl.store(y + base + f * S + s, v * r, mask=m)

class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.num_features, self.eps = num_features, eps
    def forward(self, x):
        x = x.contiguous()
        B, F = x.shape[:2]
        S = x[0, 0].numel()
        y = torch.empty_like(x)
        rms[(triton.cdiv(S, 512), B)](x, y, F, S, self.eps, BS=512, BF=1)
        return y
