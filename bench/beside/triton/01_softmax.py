# Softmax of long rows, a program a row: the maximum and the sum in one pass, piece by piece, the result in a second.
# beside: honest
# assay: task kernelbench/1/23
# assay: expect pass
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_rows(x, y, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    lanes = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, width, BLOCK):
        at = start + lanes
        v = tl.load(x + row + at, mask=at < width, other=float("-inf"))
        now = tl.maximum(largest, v)
        # A lane that has seen nothing yet has minus infinity here, less which nothing is a number.
        base = tl.where(now == float("-inf"), 0.0, now)
        total = total * tl.exp(largest - base) + tl.exp(v - base)
        largest = now
    peak = tl.max(largest, axis=0)
    whole = tl.sum(total * tl.exp(largest - peak), axis=0)
    for start in range(0, width, BLOCK):
        at = start + lanes
        v = tl.load(x + row + at, mask=at < width, other=float("-inf"))
        tl.store(y + row + at, tl.exp(v - peak) / whole, mask=at < width)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        softmax_rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=4096, num_warps=8)
        return y
