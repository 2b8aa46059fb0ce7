# SPDX-License-Identifier: Apache-2.0
# Triton, losses of rows, and PyTorch for their mean.
# assay: task kernelbench/1/95
# assay: expect pass
import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def ce(x, t, loss, C, stride, BC: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    m = float("-inf")
    s = 0.0
    for c0 in range(0, C, BC):
        c = c0 + tl.arange(0, BC)
        v = tl.load(x + r * stride + c, mask=c < C, other=float("-inf"))
        mn = tl.maximum(m, tl.max(v, 0))
        s = s * tl.exp(m - mn) + tl.sum(tl.exp(v - mn), 0)
        m = mn
    k = tl.load(t + r)
    tl.store(loss + r, m + tl.log(s) - tl.load(x + r * stride + k))
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, predictions, targets):
        N, C = predictions.shape
        loss = torch.empty(N, device=predictions.device, dtype=torch.float32)
        ce[(N,)](predictions, targets, loss, C, predictions.stride(0), BC=1024)
        return loss.mean()
