# Instance normalisation, a program a plane: its mean, then the squared differences from it, then the result.
# beside: honest
# assay: task kernelbench/1/34
# assay: expect pass
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def instance_norm(x, y, pixels, epsilon, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64) * pixels
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, pixels, BLOCK):
        at = start + lanes
        total += tl.load(x + plane + at, mask=at < pixels, other=0.0)
    mean = tl.sum(total, axis=0) / pixels
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, pixels, BLOCK):
        at = start + lanes
        difference = tl.where(at < pixels, tl.load(x + plane + at, mask=at < pixels, other=0.0) - mean, 0.0)
        squares += difference * difference
    factor = 1.0 / tl.sqrt_rn(tl.sum(squares, axis=0) / pixels + epsilon)
    for start in range(0, pixels, BLOCK):
        at = start + lanes
        v = tl.load(x + plane + at, mask=at < pixels, other=0.0)
        tl.store(y + plane + at, (v - mean) * factor, mask=at < pixels)


class ModelNew(nn.Module):
    def __init__(self, num_features):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        planes, pixels = x.shape[0] * x.shape[1], x.shape[2] * x.shape[3]
        instance_norm[(planes,)](x, y, pixels, 1e-5, BLOCK=4096, num_warps=8)
        return y
