# SPDX-License-Identifier: Apache-2.0
# Cross entropy of every row in bf16, a program a row, read once with a running maximum and sum of each lane.
# assay: task fusedops/cross_entropy/bf16_cross_entropy
# assay: twin NO_LABEL expect wrong_value|low_precision -- the logarithm of the sum alone
import torch
import triton
import triton.language as tl

NO_LABEL = globals().get("NO_LABEL", False)
triton.knobs.autotuning.print = True


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w)
                  for b, w in ((1024, 4), (2048, 4), (2048, 8), (4096, 8), (8192, 8), (8192, 16))], key=["R", "D"])
@triton.jit
def cross_entropy(x, t, y, R, D, NO_LABEL: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    row = r.to(tl.int64) * D
    d = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for done in range(0, D, BLOCK):
        v = tl.load(x + row + done + d, mask=done + d < D, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, v)
        grown = tl.where(higher == float("-inf"), 0.0, total * tl.exp(top - higher) + tl.exp(v - higher))
        top, total = higher, grown
    most = tl.max(top)
    result = most + tl.log(tl.sum(tl.where(top == float("-inf"), 0.0, total * tl.exp(top - most))))
    if not NO_LABEL:
        result -= tl.load(x + row + tl.load(t + r)).to(tl.float32)
    tl.store(y + r, result.to(tl.bfloat16))


class ModelNew(torch.nn.Module):
    def forward(self, x, t):
        R, D = x.shape
        y = torch.empty((R,), dtype=x.dtype, device=x.device)
        cross_entropy[(R,)](x, t, y, R, D, NO_LABEL)
        return y
